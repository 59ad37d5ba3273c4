/* The executor: many ranks against one, reuse of memory against none, steps that allocate nothing,
 * and what happens when a rank fails or is lost. */
#include "backends/local/local.h"
#include "backends/native/native.h"
#include "backends/ref/ref.h"
#include "backends/widen/widen.h"
#include "base/clock.h"
#include "models/model.h"
#include "layouts/strategy.h"
#include "program/program.h"
#include "run/exec.h"
#include "data/data.h"
#include "support/rounds.h"
#include "train/optim.h"
#include "train/state.h"
#ifdef PLEAT_HAVE_ONEDNN
#include "backends/onednn/onednn.h"
#endif

#include <errno.h>
#include <link.h>
#include <math.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cmocka.h>

/* -- counting allocations ---------------------------------------------------------------------- */

static atomic_long allocations; /* but those that libraries make inside their own calls */

#if !PL_SANITIZED && defined(__GLIBC__)
#define COUNTS_ALLOCATIONS
/* oneDNN takes memory, some directly and some by operator new, in every call of dnnl_sgemm and
 * dnnl_primitive_execute, and clang's OpenMP in every parallel region; that is not ours to mend. */
static const char *const forgiven[] = { "/libdnnl.", "/libstdc++.", "/libomp." };
enum { N_FORGIVEN = sizeof forgiven / sizeof *forgiven };
static struct {
    uintptr_t from, to;
} ranges[N_FORGIVEN];

static int find_library(struct dl_phdr_info *info, size_t size, void *unused)
{
    (void)size, (void)unused;
    for (int i = 0; i < N_FORGIVEN; i++) {
        if (!strstr(info->dlpi_name, forgiven[i])) continue;
        ranges[i].from = ranges[i].to = info->dlpi_addr;
        for (int k = 0; k < info->dlpi_phnum; k++) {
            uintptr_t end =
                info->dlpi_addr + info->dlpi_phdr[k].p_vaddr + info->dlpi_phdr[k].p_memsz;
            if (info->dlpi_phdr[k].p_type == PT_LOAD && end > ranges[i].to) ranges[i].to = end;
        }
    }
    return 0;
}

static void count(const void *caller)
{
    uintptr_t at = (uintptr_t)caller;
    for (int i = 0; i < N_FORGIVEN; i++)
        if (at >= ranges[i].from && at < ranges[i].to) return;
    atomic_fetch_add(&allocations, 1);
}

/* Defined here they take the place of libc's for every library of the process, OpenMP's
 * included. */
#define SEEN __attribute__((visibility("default"), noinline))
#define COUNT() count(__builtin_return_address(0))
void *__libc_malloc(size_t n);
void *__libc_calloc(size_t n, size_t size);
void *__libc_realloc(void *p, size_t n);
void *__libc_memalign(size_t align, size_t n);

SEEN void *malloc(size_t n)
{
    COUNT();
    return __libc_malloc(n);
}

SEEN void *calloc(size_t n, size_t size)
{
    COUNT();
    return __libc_calloc(n, size);
}

SEEN void *realloc(void *p, size_t n)
{
    COUNT();
    return __libc_realloc(p, n);
}

SEEN void *aligned_alloc(size_t align, size_t n)
{
    COUNT();
    return __libc_memalign(align, n);
}

SEEN int posix_memalign(void **p, size_t align, size_t n)
{
    COUNT();
    *p = __libc_memalign(align, n);
    return *p ? 0 : ENOMEM;
}

SEEN void *mmap(void *at, size_t n, int protection, int flags, int fd, off_t from)
{
    COUNT();
    return (void *)syscall(SYS_mmap, at, n, protection, flags, fd, from);
}
#endif

/* -- a training step on n ranks ---------------------------------------------------------------- */

enum { MAX_RANKS = 4, MAX_STEPS = 5 };

static const pl_backend *const own_kernels[] = { &pl_backend_native, &pl_backend_ref };
#ifdef PLEAT_HAVE_ONEDNN
static const pl_backend *const all_kernels[] = { &pl_backend_onednn, &pl_backend_native,
                                                 &pl_backend_widen, &pl_backend_ref };
#else
static const pl_backend *const all_kernels[] = { &pl_backend_native, &pl_backend_ref };
#endif

typedef struct job {
    const char *spec, *optimizer;
    const char *words; /* the strategy */
    int n, steps, threads;
    bool no_reuse, poison, record, own_kernels; /* own_kernels: native and ref only */
    double timeout;
    int absent;      /* this rank never steps; -1: none                        */
    int failing;     /* this rank holds an error at the first border; -1: none */
    pl_arena *arena; /* of the graph and the plan, const while ranks run       */
    pl_plan *plan;
    int64_t below;
    pthread_barrier_t border;
    long allocated[MAX_STEPS + 1]; /* before each step, and at the end */
} job;

typedef struct rank {
    job *job;
    int me;
    pl_comm *comm;
    pl_arena *arena;
    pl_store *store;
    char *states; /* the state block after the last step */
    double loss[MAX_STEPS];
    const pl_program *program;
    bool recorded;             /* the last step */
    double from, to;           /* of that step, on the clock */
    const double *begin, *end; /* of the program's steps     */
    pl_err err;
    bool ok;
    pthread_t thread;
} rank;

static void make_plan(job *j)
{
    pl_model_args args;
    pl_err err = { 0 };
    j->arena = pl_arena_new("test job");
    if (!pl_model_parse(j->spec, j->arena, &args, &err)) fail_msg("%s", err.msg);
    pl_optim o = pl_optim_usual(j->optimizer);
    o.eps = 1e-4;
    pl_builder b = pl_optim_step(&args, &o, 1, j->arena);
    pl_graph *g = NULL;
    if (!pl_builder_done(&b, &g, &err)) fail_msg("%s: %s", j->spec, err.msg);
    pl_strategy s;
    if (!pl_strategy_parse(j->words, j->n, j->arena, &s, &err) ||
        !pl_strategy_plan(&s, g, NULL, j->arena, &j->plan, &err))
        fail_msg("%s on %d ranks: %s", j->spec, j->n, err.msg);
    j->below = pl_model_int(&args, pl_model_has(&args, "vocab") ? "vocab" : "classes");
}

/* Those of the host's memory stand behind those of the device's. */
static void *state_of(const rank *r, int i)
{
    const pl_slot s = r->store->state[i].slot;
    return r->states + s.at + (s.host ? r->store->bytes : 0);
}

static void fill_inputs(const job *j, pl_exec *e, const pl_program *p, int step)
{
    static const pl_data synthetic = { 0 };
    for (int i = 0; i < p->n_inputs; i++) {
        const pl_port *port = &p->input[i];
        const char *name = port->value->name;
        void *at = pl_exec_map(e, port, PL_WRITE);
        if (!strcmp(name, "lr"))
            *(float *)at = 0.01f;
        else if (!strcmp(name, "step"))
            *(int64_t *)at = step + 1;
        else if (!strcmp(name, "seed"))
            *(int64_t *)at = 100 + step;
        else
            pl_data_fill(&synthetic, port, 1, step, 0, j->below, at);
        pl_exec_unmap(e, port, PL_WRITE, at);
    }
}

static void meet(job *j)
{
    if (j->absent < 0 && j->failing < 0) pthread_barrier_wait(&j->border);
}

/* The ranks stand still at the borders, so that the count is that of whole steps. */
static bool run_steps(rank *r, pl_exec *e, const pl_program *p)
{
    job *j = r->job;
    for (int i = 0; i < j->steps; i++) {
        meet(j);
        if (r->me == 0) j->allocated[i] = atomic_load(&allocations);
        meet(j);
        fill_inputs(j, e, p, i);
        r->from = pl_clock_now();
        PL_TRY(pl_exec_step(e, 0, &r->err));
        r->to = pl_clock_now();
        float loss;
        pl_exec_get(e, pl_port_find(p->n_outputs, p->output, "loss"), &loss, sizeof loss);
        r->loss[i] = (double)loss;
    }
    meet(j);
    if (r->me == 0) j->allocated[j->steps] = atomic_load(&allocations);
    meet(j);
    return true;
}

static bool use_exec(rank *r, pl_exec *e, const pl_program *p)
{
    job *j = r->job;
    PL_TRY(pl_state_init(e, r->store, &(pl_init){ .seed = 1 }, true, &r->err));
    if (j->failing == r->me) pl_err_set(&r->err, PL_ERUN, "the disk of rank %d is full", r->me);
    if (j->failing >= 0) return pl_exec_agree(e, &r->err);
    if (j->absent == r->me) { /* here, but not in step with the others */
        pthread_barrier_wait(&j->border);
        return true;
    }
    bool ok = run_steps(r, e, p);
    if (j->absent >= 0) pthread_barrier_wait(&j->border);
    for (int i = 0; i < r->store->n && ok; i++)
        pl_exec_get(e, &r->store->state[i], state_of(r, i), r->store->state[i].bytes);
    r->program = p;
    r->recorded = pl_exec_times(e, 0, &r->begin, &r->end);
    return ok;
}

static void *run_rank(void *arg)
{
    rank *r = arg;
    const job *j = r->job;
    const pl_lower_options lower = { .no_reuse = j->no_reuse };
    const pl_exec_options options = {
        .n_backends = j->own_kernels ? sizeof own_kernels / sizeof *own_kernels
                                     : sizeof all_kernels / sizeof *all_kernels,
        .backends = j->own_kernels ? own_kernels : all_kernels,
        .env = { .n_threads = j->threads },
        .poison = j->poison,
        .record = j->record,
    };
    pl_program *p;
    pl_exec *e;
    r->arena = pl_arena_new("test rank");
    r->store = pl_store_new(j->plan, r->me, r->arena);
    r->states = PL_NEW_N(r->arena, char, r->store->bytes + r->store->host_bytes);
    if (!pl_program_lower(j->plan, r->me, r->store, &lower, r->arena, &p, &r->err)) return NULL;
    const pl_program *programs[] = { p };
    if (!pl_exec_new(&options, r->comm, 1, programs, r->arena, &e, &r->err)) return NULL;
    r->ok = use_exec(r, e, p);
    pl_exec_free(e);
    return NULL;
}

/* Run the job; the caller gives it back with end. */
static void run(job *j, rank *r)
{
    pl_comm *comm[MAX_RANKS] = { 0 };
    pl_err err = { 0 };
    make_plan(j);
    pthread_barrier_init(&j->border, NULL, (unsigned)j->n);
    if (j->n > 1 && !pl_local_new(j->n, j->timeout, comm, &err)) fail_msg("%s", err.msg);
    for (int i = 0; i < j->n; i++) {
        r[i] = (rank){ .job = j, .me = i, .comm = comm[i] };
        assert_int_equal(pthread_create(&r[i].thread, NULL, run_rank, &r[i]), 0);
    }
    for (int i = 0; i < j->n; i++) pthread_join(r[i].thread, NULL);
    for (int i = 0; i < j->n; i++) pl_comm_free(comm[i]);
    pthread_barrier_destroy(&j->border);
}

static void run_well(job *j, rank *r)
{
    run(j, r);
    for (int i = 0; i < j->n; i++)
        if (!r[i].ok) fail_msg("%s: rank %d of %d: %s", j->spec, i, j->n, r[i].err.msg);
}

static void end(job *j, rank *r)
{
    for (int i = 0; i < j->n; i++) pl_arena_free(r[i].arena);
    pl_arena_free(j->arena);
}

static job make_job(const char *spec, const char *optimizer, int n)
{
    return (job){ .spec = spec,
                  .optimizer = optimizer,
                  .words = "dp",
                  .n = n,
                  .steps = 3,
                  .threads = 1,
                  .timeout = 60,
                  .absent = -1,
                  .failing = -1 };
}

/* -- comparing --------------------------------------------------------------------------------- */

/* Data parallel ranks hold whole copies of every state. Relative to the largest element of a
 * tensor; what is below 1e-3 as a whole (gradients that are zero but for rounding) counts as
 * 1e-3. */
static void check_close(const rank *a, const rank *b)
{
    for (int i = 0; i < a->store->n; i++) {
        const pl_value *v = a->store->state[i].value;
        double top = 1e-3, most = 0;
        for (int64_t k = 0; k < pl_shape_count(&v->shape); k++) {
            double x = pl_type_get(v->type, state_of(a, i), k);
            double y = pl_type_get(v->type, state_of(b, i), k);
            assert_true(isfinite(x) && isfinite(y));
            top = fmax(top, fabs(x));
            most = fmax(most, fabs(x - y));
        }
        if (most > 1e-5 * top)
            fail_msg("%s on %d ranks: state '%s' is off by %g of %g", b->job->spec, b->job->n,
                     v->name, most, top);
    }
    for (int i = 0; i < a->job->steps; i++)
        if (fabs(a->loss[i] - b->loss[i]) > 1e-5 * fabs(a->loss[i]))
            fail_msg("%s on %d ranks: loss %d is %.9g, not %.9g", b->job->spec, b->job->n, i,
                     b->loss[i], a->loss[i]);
}

static void check_same(const rank *a, const rank *b, const char *what)
{
    for (int i = 0; i < a->store->n; i++)
        if (memcmp(state_of(a, i), state_of(b, i), (size_t)a->store->state[i].bytes))
            fail_msg("%s on %d ranks, %s: state '%s' has other bits", a->job->spec, a->job->n, what,
                     a->store->state[i].value->name);
    for (int i = 0; i < a->job->steps; i++)
        if (memcmp(&a->loss[i], &b->loss[i], sizeof *a->loss))
            fail_msg("%s, %s: loss %d is %.17g, not %.17g", a->job->spec, what, i, b->loss[i],
                     a->loss[i]);
}

static const char *const mlp = "mlp:layers=3,in=12,hidden=24,classes=5,batch=24";
static const char *const gpt2 =
    "gpt2:layers=2,hidden=24,heads=3,vocab=31,seq=10,batch=12,dropout=0.2";
static const char *const resnet = "resnet18:width=4,size=32,classes=10,batch=12";

/* -- tests ------------------------------------------------------------------------------------- */

static void compare_ranks(const char *spec, const char *optimizer)
{
    job one = make_job(spec, optimizer, 1);
    rank r[MAX_RANKS], whole[1];
    run_well(&one, whole);
    for (int n = 2; n <= MAX_RANKS; n++) {
        job j = make_job(spec, optimizer, n);
        run_well(&j, r);
        check_close(whole, &r[0]);
        for (int i = 1; i < n; i++) check_same(&r[0], &r[i], "one rank and another");
        end(&j, r);
    }
    end(&one, whole);
}

static void test_ranks_agree_with_one(void **state)
{
    (void)state;
    compare_ranks(mlp, "sgd");
    compare_ranks(mlp, "adamw");
    compare_ranks(gpt2, "sgd");
    compare_ranks(gpt2, "adam");
}

/* The same job in other memory, or again, gives the same bits. */
static void compare_memory(const char *spec, int n)
{
    static const struct {
        const char *name;
        bool no_reuse, poison;
    } ways[] = {
        { "run again", false, false },
        { "memory poisoned before each step", false, true },
        { "no reuse of memory, poisoned", true, true },
    };
    job first = make_job(spec, "adamw", n);
    rank a[MAX_RANKS], b[MAX_RANKS];
    run_well(&first, a);
    for (size_t w = 0; w < sizeof ways / sizeof *ways; w++) {
        job j = make_job(spec, "adamw", n);
        j.no_reuse = ways[w].no_reuse;
        j.poison = ways[w].poison;
        run_well(&j, b);
        for (int i = 0; i < n; i++) check_same(&a[i], &b[i], ways[w].name);
        end(&j, b);
    }
    end(&first, a);
}

static void test_same_bytes(void **state)
{
    (void)state;
    compare_memory(mlp, 1);
    compare_memory(mlp, 3);
    compare_memory(gpt2, 1);
    compare_memory(gpt2, 2);
    compare_memory(resnet, 2);
}

#define UPDATES "offload=weights,offload=updates"

/* Where states lie and who updates them changes no bit. */
static void test_host_updates(void **state)
{
    (void)state;
    for (int n = 1; n <= 2; n++) {
        job here = make_job(gpt2, "adamw", n), there = here;
        rank a[MAX_RANKS], b[MAX_RANKS];
        there.words = UPDATES;
        there.poison = true;
        run_well(&here, a);
        run_well(&there, b);
        assert_true(b[0].store->host_bytes > b[0].store->bytes);
        for (int i = 0; i < n; i++) check_same(&a[i], &b[i], there.words);
        end(&here, a);
        end(&there, b);
    }
}

#ifdef COUNTS_ALLOCATIONS
static void check_allocations(const char *spec, const char *words, int n, bool own)
{
    job j = make_job(spec, "adamw", n);
    j.words = words;
    j.own_kernels = own;
    j.record = true;
    rank r[MAX_RANKS];
    j.steps = MAX_STEPS;
    j.threads = n > 1 ? 1 : 2;
    run_well(&j, r);
    assert_true(j.allocated[1] > 0); /* the counter sees what making the ranks takes */
    for (int i = 1; i < j.steps; i++)
        if (j.allocated[i + 1] != j.allocated[i])
            fail_msg("%s on %d ranks: step %d allocated %ld times", spec, n, i + 1,
                     j.allocated[i + 1] - j.allocated[i]);
    end(&j, r);
}
#endif

static void test_steps_allocate_nothing(void **state)
{
    (void)state;
#ifdef COUNTS_ALLOCATIONS
    dl_iterate_phdr(find_library, NULL);
    for (int own = 0; own < 2; own++)
        for (int n = 1; n <= 2; n++) {
            check_allocations(gpt2, "dp", n, own);
            check_allocations(gpt2, UPDATES, n, own);
            check_allocations(resnet, "dp", n, own);
        }
#else
    print_message("skipped: malloc belongs to the sanitizer, or libc is not glibc\n");
    skip();
#endif
}

/* Step `at` of the program stands where its lane may run it: in the step, after the last one of its
 * lane began (compute: ended), and after all that it waits for. */
static void check_time(const rank *r, int at, int before)
{
    const pl_step *s = &r->program->step[at];
    double earliest = r->from;
    if (before >= 0) earliest = pl_step_is_compute(s) ? r->end[before] : r->begin[before];
    for (int i = 0, computed = 0, messages = 0; i < r->program->n_steps; i++) {
        const bool message = !pl_step_is_compute(&r->program->step[i]);
        const bool waited = message ? messages++ < s->wait : computed++ < s->after;
        if (waited) earliest = fmax(earliest, r->end[i]);
    }
    if (!(r->begin[at] >= earliest && r->end[at] >= r->begin[at] && r->end[at] <= r->to))
        fail_msg("rank %d: '%s' from %.9f to %.9f; not before %.9f, the step ends at %.9f", r->me,
                 s->label, r->begin[at], r->end[at], earliest, r->to);
}

static void check_times(const rank *r)
{
    int before[1 + PL_N_LANES];
    assert_true(r->recorded);
    for (int k = 0; k <= PL_N_LANES; k++) before[k] = -1;
    for (int i = 0; i < r->program->n_steps; i++) {
        const pl_step *s = &r->program->step[i];
        int *last = &before[pl_step_is_compute(s) ? 0 : 1 + pl_step_lane(s)];
        check_time(r, i, *last);
        *last = i;
    }
}

static void test_records_the_last_step(void **state)
{
    (void)state;
    for (int k = 0; k < 6; k++) {
        const int n = 1 + k % 3;
        job j = make_job(gpt2, "adamw", n);
        rank r[MAX_RANKS];
        j.words = k < 3 ? "dp" : UPDATES;
        j.record = true;
        run_well(&j, r);
        for (int i = 0; i < n; i++) check_times(&r[i]);
        if (n > 1) assert_true(r[0].program->n_messages > 0);
        end(&j, r);
    }
}

static void test_records_nothing_unasked(void **state)
{
    (void)state;
    job j = make_job(mlp, "sgd", 2);
    rank r[MAX_RANKS];
    run_well(&j, r);
    for (int i = 0; i < j.n; i++) {
        assert_false(r[i].recorded);
        assert_null(r[i].begin);
    }
    end(&j, r);
    j.record = true;
    j.steps = 0;
    run_well(&j, r);
    for (int i = 0; i < j.n; i++) assert_false(r[i].recorded);
    end(&j, r);
}

static void test_failure_reaches_all(void **state)
{
    (void)state;
    for (int n = 2; n <= MAX_RANKS; n++) {
        job j = make_job(mlp, "sgd", n);
        rank r[MAX_RANKS];
        j.failing = n - 1;
        run(&j, r);
        for (int i = 0; i < n; i++) {
            assert_false(r[i].ok);
            assert_int_equal(r[i].err.code, PL_ERUN);
            assert_string_equal(r[i].err.msg, r[0].err.msg);
        }
        char who[64];
        snprintf(who, sizeof who, "rank %d: the disk of rank %d is full", n - 1, n - 1);
        assert_string_equal(r[0].err.msg, who);
        end(&j, r);
    }
}

static void test_lost_rank(void **state)
{
    (void)state;
    job j = make_job(mlp, "sgd", 3);
    rank r[MAX_RANKS];
    j.absent = 1;
    j.timeout = 0.5;
    run(&j, r);
    for (int i = 0; i < 3; i++) {
        if (i == j.absent) continue;
        assert_false(r[i].ok);
        assert_int_equal(r[i].err.code, PL_ERUN);
        const char *const words[] = { "rank 1", "all-reduce", "0.5 s", "of 'loss" };
        for (size_t k = 0; k < sizeof words / sizeof *words; k++)
            if (!strstr(r[i].err.msg, words[k]))
                fail_msg("rank %d: no '%s' in: %s", i, words[k], r[i].err.msg);
    }
    end(&j, r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ranks_agree_with_one),
        cmocka_unit_test(test_same_bytes),
        cmocka_unit_test(test_host_updates),
        cmocka_unit_test(test_steps_allocate_nothing),
        cmocka_unit_test(test_records_the_last_step),
        cmocka_unit_test(test_records_nothing_unasked),
        cmocka_unit_test(test_failure_reaches_all),
        cmocka_unit_test(test_lost_rank),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
