/* The MPI transport: the shared cases, lost and stopped ranks, and the errors that name them.
 *
 * Started by hand or by ctest this program starts itself under mpirun, once per row of `runs`, and
 * looks at the exit code and the output. Started by mpirun it is a rank and plays the scene in
 * argv[1]. */
#include "base/clock.h"
#include "base/err.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define UNDER_TSAN 1
#endif
#elif defined(__SANITIZE_THREAD__)
#define UNDER_TSAN 1
#endif

#ifdef PLEAT_HAVE_MPI

#include "backends/mpi/mpi.h"
#include "comm_cases.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

static bool play_cases(pl_comm *c, pl_err *err)
{
    PL_TRY(cases_run(c, err));
    pl_mpi_set_piece(c, 3000);
    return cases_run(c, err);
}

static bool run_all_reduce(pl_comm *c, pl_err *err)
{
    float x[8] = { 0 };
    pl_message m = {
        .kind = PL_ALL_REDUCE, .type = PL_F32, .count = 8, .send = x, .recv = x, .label = "h0.w"
    };
    return pl_comm_run(c, c->world, &m, err);
}

static pl_collective stopped_in; /* of the scene that is played */

static bool run_stopped(pl_comm *c, pl_err *err)
{
    float send[32] = { 0 }, recv[32];
    pl_message m = {
        .kind = stopped_in, .type = PL_F32, .count = 8, .send = send, .recv = recv, .label = "h0.w"
    };
    m.peer = m.kind == PL_BROADCAST ? 2 : 0;
    PL_TRY(pl_comm_run(c, c->world, &m, err));
    return run_all_reduce(c, err); /* a root that is woken up to be ended has given already */
}

/* Rank 2 stops for good; rank 3 has no message of its own. */
static bool play_stop(pl_comm *c, pl_err *err)
{
    printf("pid %d\n", (int)getpid());
    fflush(stdout);
    PL_TRY(run_all_reduce(c, err)); /* everybody is up */
    if (c->rank == 2) raise(SIGSTOP);
    if (c->rank != 3) return run_stopped(c, err);
    while (c->ops->poll(c, err)) usleep(1000);
    return false;
}

static bool play_kill(pl_comm *c, pl_err *err)
{
    PL_TRY(run_all_reduce(c, err));
    if (c->rank == 0) printf("everybody is up\n");
    fflush(stdout);
    PL_TRY(run_all_reduce(c, err)); /* after rank 0 has printed */
    if (c->rank == 1) raise(SIGKILL);
    return run_all_reduce(c, err);
}

static bool play_abort(pl_comm *c, pl_err *err)
{
    return c->rank == 1 ? pl_err_set(err, PL_EINPUT, "no file") : run_all_reduce(c, err);
}

/* Each waits for the other. */
static bool play_cross(pl_comm *c, pl_err *err)
{
    float x[3];
    pl_message m = { .kind = PL_RECV,
                     .type = PL_F32,
                     .count = 3,
                     .peer = 1 - c->rank,
                     .recv = x,
                     .label = c->rank ? "b" : "a" };
    return pl_comm_run(c, c->world, &m, err);
}

static bool play_short(pl_comm *c, pl_err *err)
{
    float x[5] = { 0 };
    pl_message m = { .type = PL_F32, .peer = 1 - c->rank, .send = x, .recv = x, .label = "x" };
    m.kind = c->rank ? PL_RECV : PL_SEND;
    m.count = c->rank ? 5 : 3;
    PL_TRY(pl_comm_run(c, c->world, &m, err));
    return run_all_reduce(c, err); /* rank 0 waits to be ended */
}

static const struct {
    const char *name;
    bool (*play)(pl_comm *c, pl_err *err);
    double timeout_seconds;
    pl_collective stopped_in;
} scenes[] = {
    { "cases", play_cases, 90, 0 },
    { "stop", play_stop, 1, PL_ALL_REDUCE },
    { "stop-gather", play_stop, 2, PL_ALL_GATHER },
    { "stop-scatter", play_stop, 2, PL_REDUCE_SCATTER },
    { "stop-exchange", play_stop, 2, PL_ALL_TO_ALL },
    { "stop-broadcast", play_stop, 2, PL_BROADCAST },
    { "stop-barrier", play_stop, 2, PL_BARRIER },
    { "kill", play_kill, 60, 0 },
    { "abort", play_abort, 60, 0 },
    { "cross", play_cross, 1, 0 },
    { "short", play_short, 60, 0 },
};

static int be_a_rank(const char *scene)
{
    for (size_t i = 0; i < sizeof scenes / sizeof *scenes; i++) {
        if (strcmp(scenes[i].name, scene)) continue;
        stopped_in = scenes[i].stopped_in;
        pl_comm *c;
        pl_err err = { 0 };
        if (!pl_mpi_new(scenes[i].timeout_seconds, &c, &err)) {
            printf("%s\n", err.msg);
            return (int)err.code;
        }
        if (!scenes[i].play(c, &err)) {
            printf("rank %d: %s\n", c->rank, err.msg);
            fflush(stdout);
            c->ops->abort(c, (int)err.code);
        }
        printf("rank %d: all well\n", c->rank);
        pl_comm_free(c);
        return 0;
    }
    return 99;
}

typedef struct output {
    char text[20000];
    size_t n;
    int status; /* of waitpid                        */
    bool in_time;
} output;

/* Reads until all writers are gone or the deadline has passed. */
static void read_output(int fd, double seconds, output *o)
{
    double end = pl_clock_now() + seconds;
    o->in_time = false;
    while (pl_clock_now() < end) {
        struct pollfd p = { .fd = fd, .events = POLLIN };
        if (poll(&p, 1, 100) <= 0) continue;
        char buf[512];
        ssize_t got = read(fd, buf, sizeof buf);
        if (got <= 0) {
            o->in_time = true;
            break;
        }
        size_t room = sizeof o->text - 1 - o->n, take = (size_t)got < room ? (size_t)got : room;
        memcpy(o->text + o->n, buf, take);
        o->n += take;
    }
    o->text[o->n] = '\0';
}

/* False when there is no mpirun. */
static bool launch(int n, const char *scene, double seconds, output *o)
{
    char self[4096], count[16];
    ssize_t len = readlink("/proc/self/exe", self, sizeof self - 1);
    assert_true(len > 0);
    self[len] = '\0';
    snprintf(count, sizeof count, "%d", n);
    char *const args[] = { "mpirun", "-n", count, self, (char *)(uintptr_t)scene, NULL };
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    posix_spawn_file_actions_t files;
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_adddup2(&files, ends[1], 1);
    posix_spawn_file_actions_adddup2(&files, ends[1], 2);
    posix_spawn_file_actions_addclose(&files, ends[0]);
    posix_spawn_file_actions_addclose(&files, ends[1]);
    pid_t pid;
    int rc = posix_spawnp(&pid, "mpirun", &files, NULL, args, environ);
    posix_spawn_file_actions_destroy(&files);
    close(ends[1]);
    memset(o, 0, sizeof *o);
    if (rc == 0) {
        read_output(ends[0], seconds, o);
        if (!o->in_time) kill(pid, SIGTERM);
        waitpid(pid, &o->status, 0);
    }
    close(ends[0]);
    if (rc == ENOENT) return false;
    assert_int_equal(rc, 0);
    return true;
}

enum { ANY = -1 }; /* exit code: not 0 */

/* The seconds are only a bound on a hang, far above what a run takes. */
/* clang-format off */
static const struct {
    const char *scene;
    int n, code;
    double seconds;
    const char *has[3], *has_not;
} runs[] = {
    { "cases", 1, 0, 100, { "rank 0: all well" }, NULL },
    { "cases", 2, 0, 100, { "rank 0: all well", "rank 1: all well" }, NULL },
    { "cases", 4, 0, 100, { "rank 0: all well", "rank 3: all well" }, NULL },
    { "stop", 4, PL_ERUN, 30,
      { ": all-reduce of 'h0.w' (8 f32, 4 ranks): no answer from rank 2 within 1 s "
        "(ranks 0, 1, 3 answered)" }, "although" },
    { "stop-gather", 4, PL_ERUN, 30,
      { ": all-gather of 'h0.w' (8 f32, 4 ranks): no answer from rank 2" }, "although" },
    { "stop-scatter", 4, PL_ERUN, 30,
      { ": reduce-scatter of 'h0.w' (8 f32, 4 ranks): no answer from rank 2" }, "although" },
    { "stop-exchange", 4, PL_ERUN, 30,
      { ": all-to-all of 'h0.w' (8 f32, 4 ranks): no answer from rank 2" }, "although" },
    { "stop-broadcast", 4, PL_ERUN, 30,
      { ": broadcast of 'h0.w' (8 f32, 4 ranks): no answer from rank 2" }, "although" },
    { "stop-barrier", 4, PL_ERUN, 30, { ": barrier", "no answer from rank 2" }, "although" },
    { "kill", 2, ANY, 30, { "everybody is up" }, "all well" },
    { "abort", 3, PL_EINPUT, 30, { "rank 1: no file" }, "all well" },
    { "cross", 2, PL_ERUN, 30,
      { "receive of 'a' (3 f32, from rank 1): not finished within 1 s although ranks 0, 1 "
        "answered: rank 0 in receive of 'a' (3 f32, from rank 1); rank 1 in receive of 'b' "
        "(3 f32, from rank 0)" },
      "all well" },
    { "short", 2, PL_EINTERNAL, 30,
      { "rank 1: receive of 'x' (5 f32, from rank 0): the sender sent 3 elements" }, "all well" },
};

/* clang-format on */

/* Running or stopped; a dead process that nobody has waited for yet does not count. */
static bool is_alive(int pid)
{
    char path[64], stat[512];
    snprintf(path, sizeof path, "/proc/%d/stat", pid);
    FILE *f = fopen(path, "r");
    if (!f) return false;
    size_t n = fread(stat, 1, sizeof stat - 1, f);
    fclose(f);
    stat[n] = '\0';
    const char *state = strrchr(stat, ')'); /* pid (name) state ... */
    return state && strncmp(state, ") Z", 3) && strncmp(state, ") X", 3);
}

/* The ranks that printed their pid do not outlive the launcher, stopped or not. */
static void check_gone(const output *o)
{
    int pid;
    for (const char *at = o->text; (at = strstr(at, "pid ")); at += 4) {
        if (sscanf(at, "pid %d", &pid) != 1) continue;
        for (int wait = 0; wait < 500 && is_alive(pid); wait++) usleep(10000);
        if (is_alive(pid)) fail_msg("process %d is still there", pid);
    }
}

static void play(const char *scene)
{
    static output o;
    for (size_t i = 0; i < sizeof runs / sizeof *runs; i++) {
        if (strcmp(runs[i].scene, scene)) continue;
        if (!launch(runs[i].n, scene, runs[i].seconds, &o)) {
            print_message("skipped: no mpirun\n");
            skip();
        }
        if (!o.in_time)
            fail_msg("%s, %d ranks: no end in %g s\n%s", scene, runs[i].n, runs[i].seconds, o.text);
        int code = WIFEXITED(o.status) ? WEXITSTATUS(o.status) : 128 + WTERMSIG(o.status);
        if (runs[i].code == ANY ? code == 0 : code != runs[i].code)
            fail_msg("%s, %d ranks: exit code %d\n%s", scene, runs[i].n, code, o.text);
        for (int k = 0; k < 3 && runs[i].has[k]; k++)
            if (!strstr(o.text, runs[i].has[k]))
                fail_msg("%s: '%s' is not in\n%s", scene, runs[i].has[k], o.text);
        if (runs[i].has_not && strstr(o.text, runs[i].has_not))
            fail_msg("%s: '%s' is in\n%s", scene, runs[i].has_not, o.text);
        check_gone(&o);
    }
}

static void test_cases(void **state)
{
    (void)state;
    play("cases");
}

static void test_stopped(void **state)
{
    (void)state;
    play("stop");
    play("stop-gather");
    play("stop-scatter");
    play("stop-exchange");
    play("stop-broadcast");
    play("stop-barrier");
}

static void test_killed(void **state)
{
    (void)state;
    play("kill");
}

static void test_abort(void **state)
{
    (void)state;
    play("abort");
}

static void test_all_answer(void **state)
{
    (void)state;
    play("cross");
}

static void test_short(void **state)
{
    (void)state;
    play("short");
}

/* A launcher that is Open MPI's takes these; another ignores them. */
static void set_environment(void)
{
    static const char *const vars[][2] = {
        { "OMPI_ALLOW_RUN_AS_ROOT", "1" },
        { "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1" },
        { "OMPI_MCA_rmaps_base_oversubscribe", "1" },
        { "OMPI_MCA_hwloc_base_binding_policy", "none" },
        { "OMPI_MCA_mpi_yield_when_idle", "1" },
        { "OMPI_MCA_btl", "vader,self" },
    };
    for (size_t i = 0; i < sizeof vars / sizeof *vars; i++) setenv(vars[i][0], vars[i][1], 1);
    /* The library's own leaks, in modules it has unloaded, have no name to suppress; leaks of ours
     * in what the transports share show in test_local. */
    const char *asan = getenv("ASAN_OPTIONS");
    char options[1024];
    snprintf(options, sizeof options, "%s%sdetect_leaks=0", asan ? asan : "", asan ? ":" : "");
    setenv("ASAN_OPTIONS", options, 1);
}

int main(int argc, char **argv)
{
    if (argc > 1 && (getenv("OMPI_COMM_WORLD_SIZE") || getenv("PMI_SIZE")))
        return be_a_rank(argv[1]);
#ifdef UNDER_TSAN
    printf("skipped: ThreadSanitizer does not know what MPI synchronises\n");
    return 0;
#endif
    set_environment();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cases),      cmocka_unit_test(test_stopped),
        cmocka_unit_test(test_killed),     cmocka_unit_test(test_abort),
        cmocka_unit_test(test_all_answer), cmocka_unit_test(test_short),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

#else

int main(void)
{
    printf("skipped: built without MPI\n");
    return 0;
}

#endif
