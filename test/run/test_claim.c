/* Whose a folder of checkpoints is: the lock, and what a folder may hold. */
#include "run/claim.h"

#include <setjmp.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/file.h"
#include "run/checkpoint.h"

typedef struct place {
    pl_arena *arena;
    char *dir;
} place;

static int set_up(void **state)
{
    static place p;
    p.arena = pl_arena_new("test");
    p.dir = pl_arena_text(p.arena, "claim-XXXXXX");
    *state = &p;
    return mkdtemp(p.dir) ? 0 : -1;
}

static int tear_down(void **state)
{
    place *p = *state;
    int n = 0;
    const char **name = NULL;
    pl_err err = { 0 };
    if (!pl_file_list(p->dir, p->arena, &n, &name, &err)) return -1;
    for (int i = 0; i < n; i++) unlink(pl_file_join(p->arena, p->dir, name[i]));
    int rc = rmdir(p->dir);
    pl_arena_free(p->arena);
    return rc;
}

static pl_claim take(place *p, const char *resume, bool overwrite)
{
    const pl_claim_want w = { p->dir, resume, overwrite };
    pl_claim c;
    pl_err err = { 0 };
    if (!pl_claim_take(&w, p->arena, &c, &err)) fail_msg("%s", err.msg);
    return c;
}

static void refuse(place *p, const char *resume, const char *says)
{
    const pl_claim_want w = { p->dir, resume, false };
    pl_claim c;
    pl_err err = { 0 };
    if (pl_claim_take(&w, p->arena, &c, &err)) fail_msg("taken, not '%s'", says);
    assert_int_equal(err.code, PL_EINPUT);
    assert_null(c.lock);
    if (!strstr(err.msg, says)) fail_msg("'%s' is not in: %s", says, err.msg);
}

static void save(place *p, int64_t step)
{
    const pl_manifest m = { .model = "gpt2", .step = step, .settings = "{}", .run = "aa" };
    pl_err err = { 0 };
    if (!pl_checkpoint_save(p->dir, &m, 0, NULL, (pl_keep){ 9, false }, &err))
        fail_msg("%s", err.msg);
}

static bool has(place *p, const char *name)
{
    return !access(pl_file_join(p->arena, p->dir, name), F_OK);
}

static void test_one_at_a_time(void **state)
{
    place *p = *state;
    pl_claim c = take(p, NULL, false);
    assert_true(has(p, PL_CLAIM_LOCK));
    refuse(p, NULL,
           pl_arena_fmt(p->arena, "another run is saving in %s: process %d on ", p->dir,
                        (int)getpid()));
    refuse(p, p->dir, "another run is saving");
    pl_claim_release(&c);
    assert_false(has(p, PL_CLAIM_LOCK));
    c = take(p, NULL, false);
    pl_claim_release(&c);
    pl_claim_release(&c); /* twice is fine */
}

static void test_dead_holds_nothing(void **state)
{
    place *p = *state;
    int tube[2], status;
    char c;
    assert_int_equal(pipe(tube), 0);
    pid_t child = fork();
    if (child == 0) {
        take(p, NULL, false);
        if (write(tube[1], "", 1) == 1) pause();
        _exit(1);
    }
    assert_int_equal(read(tube[0], &c, 1), 1);
    refuse(p, NULL, pl_arena_fmt(p->arena, "process %d on ", (int)child));
    kill(child, SIGKILL);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(has(p, PL_CLAIM_LOCK));
    pl_claim mine = take(p, NULL, false);
    pl_claim_release(&mine);
    close(tube[0]);
    close(tube[1]);
}

static void test_what_it_holds(void **state)
{
    place *p = *state;
    save(p, 40);
    refuse(p, NULL, "holds a checkpoint of step 40, of another run: --resume claim-");
    save(p, 500);
    refuse(p, NULL, "holds 2 checkpoints, the newest of step 500, of another run");
    refuse(p, ".", "of another run than .: --overwrite replaces it");
    assert_false(has(p, PL_CLAIM_LOCK)); /* nothing is held after a refusal */
    const char *manifest = pl_file_join(p->arena, p->dir, "step-00000040.json");
    const char *same[] = { p->dir, manifest, pl_arena_fmt(p->arena, "./%s/", p->dir) };
    for (int i = 0; i < 3; i++) {
        pl_claim c = take(p, same[i], false);
        assert_true(c.same_run);
        pl_claim_release(&c);
    }
    pl_claim c = take(p, NULL, true);
    assert_false(c.same_run);
    pl_claim_release(&c);
    unlink(manifest);
    unlink(pl_file_join(p->arena, p->dir, "step-00000500.json"));
    refuse(p, NULL, "without its manifest: --overwrite begins anew");
}

/* Two processes that start at once and often: never do both hold the folder. */
static void test_race(void **state)
{
    enum { ROUNDS = 200, PROCESSES = 4 };
    place *p = *state;
    pid_t child[PROCESSES];
    for (int i = 0; i < PROCESSES; i++) {
        child[i] = fork();
        if (child[i]) continue;
        for (int k = 0; k < ROUNDS; k++) {
            const pl_claim_want w = { p->dir, NULL, false };
            const char *mark = pl_file_join(p->arena, p->dir, "mark");
            pl_claim c;
            pl_err err = { 0 };
            if (!pl_claim_take(&w, p->arena, &c, &err)) continue;
            FILE *f = fopen(mark, "wx"); /* exists when another one is here too */
            if (!f || fclose(f) || unlink(mark)) _exit(1);
            pl_claim_release(&c);
        }
        _exit(0);
    }
    for (int i = 0; i < PROCESSES; i++) {
        int status;
        assert_int_equal(waitpid(child[i], &status, 0), child[i]);
        assert_int_equal(status, 0);
    }
}

static void test_names(void **state)
{
    place *p = *state;
    const char *a = pl_claim_name_run(p->arena), *b = pl_claim_name_run(p->arena);
    assert_int_equal(strlen(a), 16);
    assert_string_not_equal(a, b);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_one_at_a_time), TEST(test_dead_holds_nothing),
        TEST(test_what_it_holds), TEST(test_race),
        TEST(test_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
