/* Checkpoint folders: round trip, every kind of damage, every system call failing, kill -9. */
#include "run/checkpoint.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <setjmp.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/file.h"
#include "base/rng.h"
#include "run/save.h"

enum { N = 4 };

#define RUN "00000000000000aa"

/* A folder of its own for each test, in the working directory, removed at the end. */
typedef struct place {
    pl_arena *arena;
    const char *dir;
} place;

static const char *join(place *p, const char *name)
{
    return pl_file_join(p->arena, p->dir, name);
}

static int list(place *p, const char ***name)
{
    int n = 0;
    pl_err err = { 0 };
    if (!pl_file_list(p->dir, p->arena, &n, name, &err)) return 0; /* not made yet */
    return n;
}

static void clear(place *p)
{
    const char **name = NULL;
    for (int i = 0, n = list(p, &name); i < n; i++) unlink(join(p, name[i]));
}

static int set_up(void **state)
{
    static place p;
    p.arena = pl_arena_new("test");
    char *parent = pl_arena_text(p.arena, "checkpoint-XXXXXX");
    if (!mkdtemp(parent)) return -1;
    p.dir = pl_file_join(p.arena, parent, "run");
    *state = &p;
    return 0;
}

static int tear_down(void **state)
{
    place *p = *state;
    clear(p);
    rmdir(p->dir);
    int rc = rmdir(pl_arena_span(p->arena, p->dir, strlen(p->dir) - strlen("/run")));
    pl_arena_free(p->arena);
    return rc;
}

/* The tensors of a step are a function of the step, so that a reader can check all of them. */
static const pl_saved *make_tensors(pl_arena *a, int64_t step)
{
    static const pl_saved form[N] = {
        { "bytes", PL_U8, { 1, { 5 } }, NULL },
        { "h0.weight", PL_F32, { 2, { 40, 50 } }, NULL },
        { "count", PL_I64, { 0, { 0 } }, NULL },
        { "none", PL_BF16, { 2, { 0, 3 } }, NULL },
    };
    pl_saved *t = PL_NEW_N(a, pl_saved, N);
    for (int i = 0; i < N; i++) {
        t[i] = form[i];
        int64_t n = pl_shape_count(&t[i].shape);
        void *data = pl_arena_get(a, (size_t)n + 1, 8);
        pl_rng r = pl_rng_at((uint64_t)step, (uint64_t)i);
        for (int64_t k = 0; k < n; k++)
            pl_type_put(t[i].type, data, k, (double)pl_rng_below(r, (uint64_t)k, 200));
        t[i].data = data;
    }
    return t;
}

static bool save_with(const pl_file_ops *ops, const char *dir, int64_t step, int keep, pl_err *err)
{
    pl_arena *a = pl_arena_new("save");
    const pl_keep kept = { .newest = keep };
    pl_manifest m = {
        "gpt2:layers=2", step, 7, step + 1, "data.txt", 99, "abc", "{\"lr\":0.1}", RUN
    };
    bool ok = pl_save_checkpoint(ops, dir, &m, N, make_tensors(a, step), kept, err);
    pl_arena_free(a);
    return ok;
}

static void save(place *p, int64_t step, int keep)
{
    pl_err err = { 0 };
    if (!save_with(&pl_file_system, p->dir, step, keep, &err)) fail_msg("%s", err.msg);
}

/* Opens, compares every byte, and returns the step; -1 when there is no checkpoint at all. */
static int64_t open_and_verify(place *p)
{
    pl_arena *a = pl_arena_new("open");
    pl_checkpoint c;
    pl_err err = { 0 };
    int64_t step = -1;
    if (pl_checkpoint_open(p->dir, a, &c, &err)) {
        step = c.manifest.step;
        const pl_saved *want = make_tensors(a, step);
        assert_int_equal(c.n, N);
        for (int i = 0; i < N; i++) {
            const pl_saved *t = pl_checkpoint_find(&c, want[i].name);
            assert_non_null(t);
            int64_t bytes = pl_shape_count(&t->shape) * pl_type_bytes(t->type);
            assert_true(t->type == want[i].type && pl_shape_same(&t->shape, &want[i].shape));
            assert_memory_equal(t->data, want[i].data, (size_t)bytes);
        }
        pl_checkpoint_free(&c);
    } else if (!strstr(err.msg, "no checkpoint in") && !strstr(err.msg, "No such file")) {
        fail_msg("%s", err.msg);
    }
    pl_arena_free(a);
    return step;
}

/* The names in the folder, joined. */
static const char *print_folder(place *p)
{
    const char **name = NULL;
    pl_text t = { .arena = p->arena };
    for (int i = 0, n = list(p, &name); i < n; i++) pl_text_add(&t, i ? " %s" : "%s", name[i]);
    return pl_text_get(&t);
}

static void test_round_trip(void **state)
{
    place *p = *state;
    pl_arena *a = p->arena;
    const pl_saved *t = make_tensors(a, 40);
    pl_manifest m = { "gpt2:layers=2", 40,   UINT64_MAX,     41, "d.txt",
                      1 << 20,         "0f", "{\"a\": [1]}", RUN };
    pl_err err = { 0 };
    if (!pl_checkpoint_save(p->dir, &m, N, t, (pl_keep){ 1, false }, &err)) fail_msg("%s", err.msg);
    assert_string_equal(print_folder(p), "latest step-00000040.json step-00000040.safetensors");
    assert_int_equal(open_and_verify(p), 40);
    const char *both[] = { p->dir, join(p, "step-00000040.json") };
    for (int i = 0; i < 2; i++) {
        pl_checkpoint c;
        if (!pl_checkpoint_open(both[i], a, &c, &err)) fail_msg("%s", err.msg);
        assert_string_equal(c.manifest.model, m.model);
        assert_true(c.manifest.seed == UINT64_MAX);
        assert_int_equal(c.manifest.data_step, 41);
        assert_int_equal(c.manifest.data_bytes, 1 << 20);
        assert_string_equal(c.manifest.data_hash, "0f");
        assert_string_equal(c.manifest.run, RUN);
        assert_string_equal(c.manifest.settings, "{\"a\":[1]}");
        assert_string_equal(c.tensor[0].name, "count"); /* by falling element size */
        assert_string_equal(c.tensor[1].name, "h0.weight");
        assert_string_equal(c.tensor[3].name, "bytes");
        assert_null(pl_checkpoint_find(&c, "h0"));
        pl_checkpoint_free(&c);
        assert_null(c.map);
    }
}

static void test_same_bytes(void **state)
{
    place *p = *state;
    static const char *const names[] = { "step-00000003.json", "step-00000003.safetensors" };
    const char *text[2][2] = { { NULL } };
    size_t n[2][2] = { { 0 } };
    pl_err err = { 0 };
    for (int i = 0; i < 2; i++) {
        clear(p);
        save(p, 3, 1);
        for (int k = 0; k < 2; k++)
            assert_true(
                pl_file_read(join(p, names[k]), 1 << 20, p->arena, &text[i][k], &n[i][k], &err));
    }
    for (int k = 0; k < 2; k++) {
        assert_int_equal(n[0][k], n[1][k]);
        assert_memory_equal(text[0][k], text[1][k], n[0][k]);
    }
}

/* Saves of steps, one after the other, and what the folder holds then. */
static void test_keep(void **state)
{
    place *p = *state;
    /* clang-format off */
    static const struct {
        int64_t step;
        int keep;
        const char *holds;
    } saves[] = {
        { 10, 2, "10" },     { 20, 2, "10 20" },   { 30, 2, "20 30" }, { 40, 3, "20 30 40" },
        { 50, 1, "50" },     { 60, 2, "50 60" },
        { 60, 2, "60-1 60" },                      /* again: the latest is not written over     */
        { 60, 1, "60-2" },   { 20, 3, "20 60-2" }, /* back to an earlier step: 60 is now oldest */
        { 30, 2, "20 30" },
    };
    /* clang-format on */
    for (size_t i = 0; i < sizeof saves / sizeof *saves; i++) {
        save(p, saves[i].step, saves[i].keep);
        assert_int_equal(open_and_verify(p), saves[i].step);
        pl_text want = { .arena = p->arena };
        pl_text_add(&want, "latest");
        char steps[64], *at = steps;
        snprintf(steps, sizeof steps, "%s", saves[i].holds);
        for (const char *s; (s = strsep(&at, " "));)
            pl_text_add(&want, " step-000000%s.json step-000000%s.safetensors", s, s);
        if (strcmp(print_folder(p), want.at) != 0) /* sorted by bytes: '-' comes before '.' */
            fail_msg("save %zu: '%s', not '%s'", i, print_folder(p), want.at);
    }
}

static void write_text(const char *path, const char *text, size_t n)
{
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(text, 1, n, f), n);
    assert_int_equal(fclose(f), 0);
}

/* A checkpoint of step 5 as another run would have written it; "" is an older version. */
static void save_other(place *p, const char *run)
{
    const pl_manifest m = { .model = "gpt2", .step = 5, .settings = "{}", .run = run };
    pl_err err = { 0 };
    if (!pl_checkpoint_save(p->dir, &m, 0, NULL, (pl_keep){ 1, false }, &err))
        fail_msg("%s", err.msg);
}

/* Checkpoints of other runs stay, whatever else goes, unless it is said that they may go. */
static void test_other_runs(void **state)
{
    place *p = *state;
    static const char *const runs[] = { "00000000000000bb", "" };
    const char *five = "latest step-00000005.json step-00000005.safetensors ";
    for (int i = 0; i < 2; i++) {
        clear(p);
        save_other(p, runs[i]);
        for (int64_t step = 1; step < 9; step++) save(p, step, 1);
        assert_int_equal(open_and_verify(p), 8);
        assert_string_equal(
            print_folder(p),
            pl_arena_fmt(p->arena, "%s%s", five, "step-00000008.json step-00000008.safetensors"));
        write_text(join(p, "step-00000007.safetensors"), "x", 1); /* a half: whose, who knows? */
        save(p, 9, 1);
        assert_int_equal(access(join(p, "step-00000007.safetensors"), F_OK), 0);
        pl_err err = { 0 };
        const pl_manifest m = { .model = "gpt2", .step = 2, .settings = "{}", .run = RUN };
        const pl_keep alone = { 2, true };
        if (!pl_checkpoint_save(p->dir, &m, 0, NULL, alone, &err)) fail_msg("%s", err.msg);
        assert_string_equal(print_folder(p), "latest step-00000002.json step-00000002.safetensors "
                                             "step-00000009.json step-00000009.safetensors");
    }
}

static void test_leftovers(void **state)
{
    place *p = *state;
    save(p, 10, 1);
    static const char *const ours[] = { "latest.tmp", "step-00000011.json.tmp",
                                        "step-00000011.safetensors.tmp",
                                        "step-00000012.safetensors", "step-00000013.json" };
    static const char *const others[] = { "notes.tmp", "step-1.json", "step-00000012.txt",
                                          "step-000000012.safetensors",
                                          "step-00000020-9223372036854775807.json" };
    for (int i = 0; i < 5; i++) write_text(join(p, ours[i]), "x", 1);
    for (int i = 0; i < 5; i++) write_text(join(p, others[i]), "x", 1);
    save(p, 20, 5);
    for (int i = 0; i < 5; i++) assert_int_equal(access(join(p, ours[i]), F_OK), -1);
    for (int i = 0; i < 5; i++) assert_int_equal(access(join(p, others[i]), F_OK), 0);
    assert_int_equal(access(join(p, "step-00000010.json"), F_OK), 0);
    assert_int_equal(open_and_verify(p), 20);
}

/* In which file which text is replaced (`from` NULL: the file becomes `to`; both NULL: it goes),
 * and what the reader says. */
#define LATEST "latest"
#define MANIFEST "step-00000040.json"
#define TENSORS "step-00000040.safetensors"
/* clang-format off */
static const struct {
    const char *file, *from, *to, *says;
} damages[] = {
    { LATEST, NULL, NULL, "no checkpoint in" },
    { LATEST, NULL, "", "one line with the name of a manifest" },
    { LATEST, NULL, "../step-00000040.json\n", "one line with the name of a manifest" },
    { LATEST, NULL, "step-00000040.json\nmore\n", "one line with the name of a manifest" },
    { LATEST, NULL, "step-00000040.safetensors\n", "one line with the name of a manifest" },
    { LATEST, NULL, "step-00000041.json\n", "step-00000041.json: cannot open: No such file" },
    { MANIFEST, NULL, NULL, "step-00000040.json: cannot open: No such file" },
    { MANIFEST, NULL, "", "step-00000040.json: bad JSON at line 1" },
    { MANIFEST, "\"step\": 40", "\"step\": forty", "bad JSON at line 5" },
    { MANIFEST, "\"pleat_checkpoint\": 1", "\"pleat_checkpoint\": 2", "version 2, this one reads" },
    { MANIFEST, "40, 50", "50, 40", "'h0.weight' is f32[50,40] in the manifest, but f32[40,50]" },
    { MANIFEST, "\"f32\"", "\"i32\"", "'h0.weight' is i32[40,50] in the manifest, but f32[40,50]" },
    { MANIFEST, "[40, 50]", "[40, 51]", "'bytes' says 8000" },
    { MANIFEST, "\"name\": \"count\"", "\"name\": \"xount\"", "'count' is in the file, but not" },
    { MANIFEST, "\"name\": \"none\"", "\"name\": \"count\"", "'count' is in the manifest, but" },
    { MANIFEST, "\"name\": \"none\"", "\"name\": \"gone\"", "'gone' is in the manifest, but" },
    { MANIFEST, "\"file\": \"step-00000040.safetensors\"", "\"file\": \"/etc/passwd\"",
      "name of a file beside it" },
    { MANIFEST, "\"file\": \"step-00000040.safetensors\"", "\"file\": \"latest\"",
      "latest: a header of" },
    { TENSORS, NULL, NULL, "step-00000040.safetensors: cannot open: No such file" },
    { TENSORS, NULL, "", "truncated: 0 bytes found" },
    { TENSORS, NULL, "12345", "truncated: 5 bytes found" },
    { TENSORS, "F32", "I32", "'h0.weight' is f32[40,50] in the manifest, but i32[40,50] in" },
    { TENSORS, "data_offsets\":[8,8008]", "data_offsets\":[9,8009]", "leaving a hole" },
    { TENSORS, "data_offsets\":[8,8008]", "data_offsets\":[7,8007]", "overlapping" },
    { TENSORS, "\"h0.weight\"", "\"h1.weight\"", "'h0.weight' is in the manifest, but not in the" },
};
/* clang-format on */

/* Edits a file of the folder; a text is found in binary files too. */
static void damage(place *p, const char *file, const char *from, const char *to)
{
    const char *path = join(p, file), *text = NULL;
    size_t n = 0;
    pl_err err = { 0 };
    if (!to) {
        assert_int_equal(unlink(path), 0);
        return;
    }
    if (!from) {
        write_text(path, to, strlen(to));
        return;
    }
    assert_true(pl_file_read(path, 1 << 20, p->arena, &text, &n, &err));
    const char *at = memmem(text, n, from, strlen(from));
    if (!at) fail_msg("%s: no '%s' in it", file, from);
    size_t before = (size_t)(at - text), after = n - before - strlen(from);
    char *out = pl_arena_get(p->arena, n + strlen(to), 1);
    memcpy(out, text, before);
    memcpy(out + before, to, strlen(to));
    memcpy(out + before + strlen(to), at + strlen(from), after);
    write_text(path, out, before + strlen(to) + after);
}

static void test_damage(void **state)
{
    place *p = *state;
    for (size_t i = 0; i < sizeof damages / sizeof *damages; i++) {
        clear(p);
        save(p, 40, 1);
        damage(p, damages[i].file, damages[i].from, damages[i].to);
        pl_checkpoint c;
        pl_err err = { 0 };
        if (pl_checkpoint_open(p->dir, p->arena, &c, &err)) fail_msg("case %zu opens", i);
        assert_int_equal(err.code, PL_EINPUT);
        assert_null(c.map);
        assert_int_equal(c.n, 0);
        if (!strstr(err.msg, damages[i].says))
            fail_msg("case %zu: '%s' is not in: %s", i, damages[i].says, err.msg);
    }
}

/* Any byte of the data turned over names its tensor; any cut says the bytes found and needed. */
static void test_damaged_data(void **state)
{
    place *p = *state;
    save(p, 40, 1);
    const char *path = join(p, TENSORS), *text = NULL;
    size_t n = 0;
    pl_err none = { 0 };
    assert_true(pl_file_read(path, 1 << 20, p->arena, &text, &n, &none));
    size_t data = n - (8 + 8000 + 5);
    assert_int_equal(data % 64, 0);
    char *bad = pl_arena_span(p->arena, text, n);
    pl_rng r = pl_rng_at(1, pl_rng_name("damage"));
    for (uint64_t i = 0; i < 40; i++) {
        size_t at = i ? data + pl_rng_below(r, i, n - data) : n - 1;
        bad[at] ^= (char)(1 << i % 8);
        write_text(path, bad, n);
        bad[at] = text[at];
        const char *name = at < data + 8 ? "count" : at < data + 8008 ? "h0.weight" : "bytes";
        pl_checkpoint c;
        pl_err err = { 0 };
        assert_false(pl_checkpoint_open(p->dir, p->arena, &c, &err));
        if (!strstr(err.msg, pl_arena_fmt(p->arena, "tensor '%s' is damaged", name)))
            fail_msg("byte %zu: %s", at, err.msg);
        size_t cut = at + 1 < n ? at + 1 : n - 1;
        write_text(path, text, cut);
        pl_err found = { 0 };
        assert_false(pl_checkpoint_open(p->dir, p->arena, &c, &found));
        if (!strstr(found.msg,
                    pl_arena_fmt(p->arena, "truncated: %zu bytes found, %zu needed", cut, n)))
            fail_msg("cut at %zu: %s", cut, found.msg);
    }
}

static void test_no_folder(void **state)
{
    place *p = *state;
    static const struct {
        const char *name, *says;
    } cases[] = {
        { "", "run: cannot open the checkpoint: No such file" },
        { "/a.json", "a.json: cannot open the checkpoint: No such file" },
    };
    pl_checkpoint c;
    for (size_t i = 0; i < 2; i++) {
        pl_err err = { 0 };
        assert_false(pl_checkpoint_open(pl_arena_fmt(p->arena, "%s%s", p->dir, cases[i].name),
                                        p->arena, &c, &err));
        if (!strstr(err.msg, cases[i].says)) fail_msg("%s", err.msg);
    }
    pl_err err = { 0 };
    assert_false(save_with(&pl_file_system, join(p, "deeper"), 1, 1, &err));
    assert_int_equal(err.code, PL_ERUN);
    assert_non_null(strstr(err.msg, "cannot create the folder: No such file"));
    write_text(p->dir, "a file", 6);
    pl_err second = { 0 };
    assert_false(save_with(&pl_file_system, p->dir, 1, 1, &second));
    assert_non_null(strstr(second.msg, "Not a directory"));
    assert_int_equal(unlink(p->dir), 0);
}

/* A full disk, as the limit on the size of a file shows it: the write stops half-way. */
static void test_no_room(void **state)
{
    place *p = *state;
    save(p, 10, 1);
    const char *before = print_folder(p);
    struct rlimit old, small;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
    small = (struct rlimit){ 4096, old.rlim_max };
    void (*handler)(int) = signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    pl_err err = { 0 };
    bool ok = save_with(&pl_file_system, p->dir, 20, 1, &err);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
    signal(SIGXFSZ, handler);
    assert_false(ok);
    assert_int_equal(err.code, PL_ERUN);
    static const char *const says[] = {
        "step-00000020.safetensors.tmp: cannot write: File too large",
        " bytes wanted, 4096 written, ", " free on that disk",
        "step-00000010.json stays the latest checkpoint"
    };
    for (int i = 0; i < 4; i++)
        if (!strstr(err.msg, says[i])) fail_msg("'%s' is not in: %s", says[i], err.msg);
    assert_string_equal(print_folder(p), before);
    assert_int_equal(open_and_verify(p), 10);
}

/* System calls that are counted and written down; call number `bad` goes wrong, as `how` says. */
static struct {
    enum how { FAIL, DO_AND_FAIL, SHORT, DIE } how;
    int bad, count;
    bool is_unlink; /* the one that failed */
    pl_text trace;
} fault;

static bool is_bad(const char *call, const char *path)
{
    const char *name = path ? strrchr(path, '/') : NULL;
    if (fault.trace.arena) pl_text_add(&fault.trace, "%s%s\n", call, name ? name : "");
    if (++fault.count != fault.bad) return false;
    if (fault.how == DIE) _exit(0);
    fault.is_unlink = !strcmp(call, "unlink ");
    errno = ENOSPC;
    return true;
}

static int bad_open(const char *path, int flags, mode_t mode)
{
    return is_bad("open ", path) ? -1 : pl_file_system.open(path, flags, mode);
}

static ssize_t bad_write(int fd, const void *bytes, size_t n)
{
    if (!is_bad("write", NULL)) return write(fd, bytes, n);
    if (fault.how == SHORT) return write(fd, bytes, (n + 1) / 2); /* not an error: go on */
    if (fault.how == DO_AND_FAIL && write(fd, bytes, n / 2) < 0) return -1;
    errno = ENOSPC;
    return -1;
}

/* The calls that can happen and report failure all the same. */
#define BAD_CALL(NAME, PARAMETERS, CALL, PATH)                                                     \
    static int bad_##NAME PARAMETERS                                                               \
    {                                                                                              \
        if (!is_bad(#NAME " ", PATH) || fault.how == SHORT) return CALL;                           \
        int rc = fault.how == DO_AND_FAIL ? CALL : 0;                                              \
        errno = EIO;                                                                               \
        return rc < 0 ? rc : -1;                                                                   \
    }
BAD_CALL(fsync, (int fd), fsync(fd), NULL)
BAD_CALL(rename, (const char *from, const char *to), rename(from, to), to)
BAD_CALL(unlink, (const char *path), unlink(path), path)

static int bad_close(int fd)
{
    bool bad = is_bad("close", NULL);
    int rc = close(fd); /* Linux closes even when it reports a failure */
    errno = EIO;
    return bad && fault.how != SHORT ? -1 : rc;
}

static const pl_file_ops faulty = { bad_open,  bad_write,  bad_fsync,
                                    bad_close, bad_rename, bad_unlink };

/* Step 10 is there, call number `bad` of saving step 20 fails. True when there was no
 * such call; `survived` counts the saves that went well all the same. */
static bool save_with_fault(place *p, enum how how, int bad, int *survived)
{
    clear(p);
    save(p, 10, 1);
    memset(&fault, 0, sizeof fault);
    fault.how = how;
    fault.bad = bad;
    pl_err err = { 0 };
    bool ok = save_with(&faulty, p->dir, 20, 1, &err);
    int64_t step = open_and_verify(p);
    if (fault.count < bad) {
        assert_true(ok && step == 20);
        return true;
    }
    *survived += ok;
    if (step != 10 && step != 20) fail_msg("call %d: step %lld", bad, (long long)step);
    if (ok && step != 20) fail_msg("call %d: saved, but step %lld is there", bad, (long long)step);
    if (!ok && err.code != PL_ERUN) fail_msg("call %d: code %d", bad, (int)err.code);
    const char *latest = step == 10 ? "step-00000010.json" : "step-00000020.json";
    if (!ok && !fault.is_unlink && !strstr(err.msg, latest)) /* it says what stays valid */
        fail_msg("call %d: no %s in: %s", bad, latest, err.msg);
    if (!fault.is_unlink && strstr(print_folder(p), ".tmp"))
        fail_msg("call %d: left %s", bad, print_folder(p));
    save(p, 30, 1);
    assert_int_equal(open_and_verify(p), 30);
    assert_string_equal(print_folder(p), "latest step-00000030.json step-00000030.safetensors");
    return false;
}

static void test_every_call_fails(void **state)
{
    static const enum how hows[] = { FAIL, DO_AND_FAIL, SHORT };
    for (int h = 0; h < 3; h++) {
        int bad = 1, survived = 0;
        while (!save_with_fault(*state, hows[h], bad, &survived)) bad++;
        int calls = bad - 1;
        assert_int_equal(calls, 32); /* as test_order has them */
        /* Closing a folder may fail, three times; of the short calls only the six opens do. */
        assert_int_equal(survived, hows[h] == SHORT ? calls - 6 : 3);
    }
}

/* The process ends before call number `bad`: what a power-off without lost writes leaves. */
static void test_dies_at_every_call(void **state)
{
    place *p = *state;
    int status = 0, bad = 0, saw[2] = { 0, 0 };
    while (WEXITSTATUS(status) == 0) {
        clear(p);
        save(p, 10, 1);
        memset(&fault, 0, sizeof fault);
        fault.how = DIE;
        fault.bad = ++bad;
        pid_t child = fork();
        if (child == 0) {
            pl_err err = { 0 };
            _exit(save_with(&faulty, p->dir, 20, 1, &err) ? 1 : 2);
        }
        assert_int_equal(waitpid(child, &status, 0), child);
        int64_t step = open_and_verify(p);
        if (step != 10 && step != 20) fail_msg("call %d: step %lld", bad, (long long)step);
        saw[step == 20]++;
        save(p, 30, 1);
        assert_string_equal(print_folder(p), "latest step-00000030.json step-00000030.safetensors");
    }
    assert_int_equal(WEXITSTATUS(status), 1); /* at last it got through */
    assert_true(saw[0] > 10 && saw[1] > 3);
}

/* The order on which everything above rests, for power-offs that lose what was not synced. */
static void test_order(void **state)
{
    place *p = *state;
    save(p, 10, 1);
    memset(&fault, 0, sizeof fault);
    fault.trace.arena = p->arena;
    pl_err err = { 0 };
    assert_true(save_with(&faulty, p->dir, 20, 1, &err));
    pl_text want = { .arena = p->arena };
    static const struct {
        const char *name, *writes;
    } files[] = { { "step-00000020.safetensors", "write\nwrite\nwrite\nwrite\n" },
                  { "step-00000020.json", "write\n" },
                  { "latest", "write\n" } };
    for (int i = 0; i < 3; i++)
        pl_text_add(&want,
                    "unlink /%s.tmp\nopen /%s.tmp\n%sfsync \nclose\nrename /%s\nopen /run\n"
                    "fsync \nclose\n",
                    files[i].name, files[i].name, files[i].writes, files[i].name);
    pl_text_add(&want, "unlink /step-00000010.json\nunlink /step-00000010.safetensors\n");
    assert_string_equal(fault.trace.at, want.at);
}

/* Saves steps from `step` on without end, and says so after each. */
static _Noreturn void save_for_ever(const char *dir, int64_t step, int tell)
{
    pl_err err = { 0 };
    while (save_with(&pl_file_system, dir, step++, 2, &err) && write(tell, "", 1) == 1) continue;
    _exit(1);
}

/* It is killed at 30 moments; each time the latest is whole, and no save that returned is lost. */
static void test_kill(void **state)
{
    place *p = *state;
    uint64_t seed = 20;
    pl_rng r = pl_rng_at(seed, pl_rng_name("kill"));
    int64_t last = -1;
    for (uint64_t i = 0; i < 30; i++) {
        int tube[2], status = 0, told = (int)pl_rng_below(r, 2 * i, 3);
        assert_int_equal(pipe(tube), 0);
        pid_t child = fork();
        if (child == 0) save_for_ever(p->dir, last + 1, tube[1]);
        char c;
        for (int k = 0; k < told; k++) assert_int_equal(read(tube[0], &c, 1), 1);
        usleep((useconds_t)pl_rng_below(r, 2 * i + 1, 10000));
        kill(child, SIGKILL);
        assert_int_equal(waitpid(child, &status, 0), child);
        if (!WIFSIGNALED(status)) fail_msg("seed %llu: a save failed", (unsigned long long)seed);
        close(tube[0]);
        close(tube[1]);
        int64_t step = open_and_verify(p);
        if (step < last + told)
            fail_msg("seed %llu, kill %llu: step %lld, after %lld and %d more saves",
                     (unsigned long long)seed, (unsigned long long)i, (long long)step,
                     (long long)last, told);
        last = step;
    }
    assert_true(last > 10);
    save(p, last + 1, 1);
    const char **name = NULL;
    assert_int_equal(list(p, &name), 3);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_round_trip),
        TEST(test_same_bytes),
        TEST(test_keep),
        TEST(test_other_runs),
        TEST(test_leftovers),
        TEST(test_damage),
        TEST(test_damaged_data),
        TEST(test_no_folder),
        TEST(test_no_room),
        TEST(test_every_call_fails),
        TEST(test_dies_at_every_call),
        TEST(test_order),
        TEST(test_kill),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
