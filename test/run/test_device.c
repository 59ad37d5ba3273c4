/* Training on a device that works later, on a thread of its own, in memory that the host cannot
 * touch: the same losses and checkpoints as on the cpu. So the executor leaves memory to the
 * device, and messages wait until what they send is computed, not until it was asked for. */
#include "backends/host/host.h"
#include "backends/local/local.h"
#include "backends/ref/ref.h"
#include "run/checkpoint.h"
#include "train/train.h"

#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "../train/folders.h"

/* -- the device -------------------------------------------------------------------------------- */

typedef enum task_kind { KERNEL, COPY, FILL, FOLD, SET, PUT, RECORD, END } task_kind;

typedef struct task {
    task_kind kind;
    const pl_share *share;
    const pl_kernel_env *env;
    const void *in[PL_MAX_OPERANDS];
    void *out[PL_MAX_OPERANDS]; /* PUT: in[0] is of the host, and freed */
    const pl_copy *copy;
    pl_type type;
    pl_monoid monoid;
    int byte;
    int64_t n;
    pl_event *event;
    struct task *next;
} task;

typedef struct later {
    pl_stream head;
    pthread_t thread;
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    task *first, **end; /* given, not yet begun */
    int waiting, most;  /* how many, at most    */
    bool busy;
    char *block; /* what others take for its memory   */
    char *real;  /* where that is                     */
    size_t bytes;
} later;

struct pl_event {
    atomic_llong at;
};

static bool in_reach; /* is the memory where others take it to be: transports need it there */
static atomic_int most_waiting;
static _Thread_local later *mine; /* as a GPU is the thread's */

static void *real_of(const later *l, const void *p)
{
    const char *at = p;
    return at >= l->block && at < l->block + l->bytes ? l->real + (at - l->block) : NULL;
}

static void run_task(later *l, const task *t)
{
    const void *in[PL_MAX_OPERANDS];
    void *out[PL_MAX_OPERANDS];
    for (int k = 0; k < PL_MAX_OPERANDS; k++)
        in[k] = real_of(l, t->in[k]), out[k] = real_of(l, t->out[k]);
    switch (t->kind) {
    case KERNEL: pl_backend_ref.kernel->run(t->share, t->env, NULL, in, out, NULL); break;
    case COPY: pl_device_cpu.copy(NULL, t->copy, in[0], out[0]); break;
    case FILL: pl_device_cpu.fill(NULL, t->type, t->monoid, out[0], t->n); break;
    case FOLD: pl_device_cpu.fold(NULL, t->type, t->monoid, out[0], in[0], t->n); break;
    case SET: pl_device_cpu.set(NULL, out[0], t->byte, t->n); break;
    case PUT: memcpy(out[0], t->in[0], (size_t)t->n), free((void *)(uintptr_t)t->in[0]); break;
    case RECORD: atomic_store(&t->event->at, t->n); break;
    case END: break;
    }
}

static void *work(void *arg)
{
    later *l = arg;
    bool end = false;
    for (int i = 0; !end; i++) {
        pthread_mutex_lock(&l->mutex);
        l->busy = false;
        pthread_cond_broadcast(&l->changed);
        while (!l->first) pthread_cond_wait(&l->changed, &l->mutex);
        task *t = l->first;
        l->first = t->next;
        if (!l->first) l->end = &l->first;
        l->waiting--;
        l->busy = true;
        pthread_mutex_unlock(&l->mutex);
        if (i % 20 == 0) nanosleep(&(struct timespec){ 0, 50 * 1000 }, NULL);
        run_task(l, t);
        end = t->kind == END;
        free(t);
    }
    return NULL;
}

static void give(pl_stream *s, task x)
{
    later *l = (later *)s;
    task *t = malloc(sizeof *t);
    *t = x;
    t->next = NULL;
    pthread_mutex_lock(&l->mutex);
    *l->end = t;
    l->end = &t->next;
    if (++l->waiting > l->most) l->most = l->waiting;
    pthread_cond_broadcast(&l->changed);
    pthread_mutex_unlock(&l->mutex);
}

static int64_t memory(uint64_t *pool)
{
    *pool = 7;
    return (int64_t)1 << 40;
}

static bool alloc(size_t bytes, char **out, pl_err *err)
{
    (void)err;
    int all = PROT_READ | PROT_WRITE, shown = in_reach ? all : PROT_NONE, fd = memfd_create("", 0);
    mine->bytes = bytes;
    if (fd < 0 || ftruncate(fd, (off_t)bytes)) fail_msg("no memory");
    mine->real = mmap(NULL, bytes, all, MAP_SHARED, fd, 0);
    mine->block = in_reach ? mine->real : mmap(NULL, bytes, shown, MAP_SHARED, fd, 0);
    close(fd);
    *out = mine->block;
    return true;
}

static void free_block(char *block, size_t bytes)
{
    munmap(mine->real, bytes);
    if (!in_reach) munmap(block, bytes);
}

static bool sync_later(pl_stream *s, pl_err *err)
{
    later *l = (later *)s;
    (void)err;
    pthread_mutex_lock(&l->mutex);
    while (l->first || l->busy) pthread_cond_wait(&l->changed, &l->mutex);
    pthread_mutex_unlock(&l->mutex);
    return true;
}

static void *map(pl_stream *s, void *at, int64_t bytes, pl_access how)
{
    char *host = malloc((size_t)bytes + 1);
    pl_err err = { 0 };
    memset(host, 0xAB, (size_t)bytes);
    if (how == PL_WRITE) return host;
    if (!sync_later(s, &err)) fail_msg("%s", err.msg);
    return memcpy(host, real_of((later *)s, at), (size_t)bytes);
}

static void unmap(pl_stream *s, void *at, int64_t bytes, pl_access how, void *host)
{
    if (how == PL_READ)
        free(host);
    else
        give(s, (task){ .kind = PUT, .in = { host }, .out = { at }, .n = bytes });
}

static void copy(pl_stream *s, const pl_copy *c, const void *from, void *to)
{
    give(s, (task){ .kind = COPY, .in = { from }, .out = { to }, .copy = c });
}

static void fill(pl_stream *s, pl_type t, pl_monoid m, void *to, int64_t n)
{
    give(s, (task){ .kind = FILL, .out = { to }, .type = t, .monoid = m, .n = n });
}

static void fold(pl_stream *s, pl_type t, pl_monoid m, void *to, const void *from, int64_t n)
{
    give(s, (task){ .kind = FOLD, .in = { from }, .out = { to }, .type = t, .monoid = m, .n = n });
}

static void set(pl_stream *s, void *to, int byte, int64_t bytes)
{
    give(s, (task){ .kind = SET, .out = { to }, .byte = byte, .n = bytes });
}

static const pl_device device;

static bool stream_new(int rank, pl_stream **out, pl_err *err)
{
    later *l = mine = calloc(1, sizeof *l);
    (void)rank, (void)err;
    l->head.device = &device;
    l->end = &l->first;
    pthread_mutex_init(&l->mutex, NULL);
    pthread_cond_init(&l->changed, NULL);
    assert_int_equal(pthread_create(&l->thread, NULL, work, l), 0);
    *out = &l->head;
    return true;
}

static void stream_free(pl_stream *s)
{
    later *l = (later *)s;
    give(s, (task){ .kind = END });
    pthread_join(l->thread, NULL);
    if (l->most > atomic_load(&most_waiting)) atomic_store(&most_waiting, l->most);
    pthread_mutex_destroy(&l->mutex);
    pthread_cond_destroy(&l->changed);
    free(l);
}

static bool event_new(pl_event **out, pl_err *err)
{
    (void)err;
    *out = calloc(1, sizeof **out);
    return *out;
}

static void event_free(pl_event *e)
{
    free(e);
}

static void record(pl_stream *s, pl_event *e, int64_t n)
{
    give(s, (task){ .kind = RECORD, .event = e, .n = n });
}

static int64_t query(const pl_event *e)
{
    return atomic_load(&e->at);
}

static const pl_device device = { .name = "later",
                                  .memory = memory,
                                  .alloc = alloc,
                                  .free = free_block,
                                  .map = map,
                                  .unmap = unmap,
                                  .copy = copy,
                                  .fill = fill,
                                  .fold = fold,
                                  .set = set,
                                  .stream_new = stream_new,
                                  .stream_free = stream_free,
                                  .sync = sync_later,
                                  .event_new = event_new,
                                  .event_free = event_free,
                                  .record = record,
                                  .query = query };

static void run(const pl_share *s, const pl_kernel_env *env, void *state, const void *const in[],
                void *const out[], void *scratch)
{
    task t = { .kind = KERNEL, .share = s, .env = env };
    (void)state, (void)scratch;
    for (int k = 0; k < s->node->n_in; k++) t.in[k] = in[k];
    for (int k = 0; k < s->node->n_out; k++) t.out[k] = out[k];
    give(env->stream, t);
}

static const pl_kernel kernel = { .name = "later", .run = run };
static const pl_backend backend = { .name = "later", .device = &device, .n = 1, .kernel = &kernel };

static const pl_backend *const on_later[] = { &backend }, *const on_cpu[] = { &pl_backend_ref };

/* -- training ---------------------------------------------------------------------------------- */

enum { MAX_RANKS = 2, STEPS = 3, MOST = STEPS + 2 };

typedef struct diary {
    int n;
    double loss[MOST], norm[MOST];
} diary;

static void note(void *to, const pl_train_event *e)
{
    diary *d = to;
    if (e->what != PL_TOLD_STEP && e->what != PL_TOLD_EVAL) return;
    assert_true(d->n < MOST);
    d->loss[d->n] = e->loss;
    d->norm[d->n++] = e->grad_norm;
}

typedef struct rank {
    const pl_train_job *job;
    pl_comm *comm;
    diary diary;
    pl_err err;
    bool ok;
    pthread_t thread;
} rank;

static void *run_rank(void *arg)
{
    rank *r = arg;
    r->ok = pl_train_run(r->job, r->comm, note, &r->diary, NULL, &r->err);
    return NULL;
}

typedef struct trial {
    const char *strategy;
    int n;
    int64_t micro;
} trial;

/* Saves in folder `to`; goes on from folder `from`, unless that is NULL. */
static diary train(const trial *t, const pl_backend *const list[], const char *from, const char *to)
{
    const pl_train_options o = {
        .model = "gpt2:layers=1,hidden=24,heads=4,vocab=32,seq=6,batch=4,dropout=0.1",
        .strategy = t->strategy,
        .data = "synthetic",
        .train_share = 0.9,
        .steps = from ? STEPS + 1 : STEPS,
        .micro = t->micro,
        .lr = 0.01,
        .seed = 5,
        .keep = 1,
        .eval_batches = 1,
        .save = to,
        .resume = from,
        .optim = { .name = "adamw", .beta1 = 0.9, .beta2 = 0.99, .eps = 1e-8, .clip = 1 },
        .exec = { 1, list, { .n_threads = 1 }, .poison = true },
    };
    pl_comm *comm[MAX_RANKS] = { 0 };
    rank r[MAX_RANKS] = { 0 };
    pl_arena *a = pl_arena_new("job");
    pl_train_job *j;
    pl_err err = { 0 };
    if (!pl_train_new(&o, t->n, a, &j, &err)) fail_msg("%s", err.msg);
    if (t->n > 1 && !pl_local_new(t->n, 60, comm, &err)) fail_msg("%s", err.msg);
    for (int i = 0; i < t->n; i++) {
        r[i].job = j, r[i].comm = comm[i];
        assert_int_equal(pthread_create(&r[i].thread, NULL, run_rank, &r[i]), 0);
    }
    for (int i = 0; i < t->n; i++) pthread_join(r[i].thread, NULL);
    for (int i = 0; i < t->n; i++) {
        if (!r[i].ok) fail_msg("%s: %s", t->strategy, r[i].err.msg);
        pl_comm_free(comm[i]);
    }
    pl_train_free(j);
    pl_arena_free(a);
    return r[0].diary;
}

static void check_same(const trial *t, const diary *x, const diary *y)
{
    assert_int_equal(x->n, y->n);
    for (int i = 0; i < x->n; i++)
        if (x->loss[i] != y->loss[i] || x->norm[i] != y->norm[i])
            fail_msg("%s on %d, step %d: %.9g, not %.9g", t->strategy, t->n, i, y->loss[i],
                     x->loss[i]);
}

static void check_saved(const trial *t, const char *left, const char *right)
{
    pl_arena *a = pl_arena_new("saved");
    pl_checkpoint x, y;
    pl_err err = { 0 };
    if (!pl_checkpoint_open(left, a, &x, &err) || !pl_checkpoint_open(right, a, &y, &err))
        fail_msg("%s", err.msg);
    assert_true(x.n > 0);
    for (int i = 0; i < x.n; i++) {
        const pl_saved *s = &x.tensor[i], *u = pl_checkpoint_find(&y, s->name);
        size_t bytes = (size_t)(pl_shape_count(&s->shape) * pl_type_bytes(s->type));
        if (!u || memcmp(s->data, u->data, bytes))
            fail_msg("%s on %d: '%s' is another", t->strategy, t->n, s->name);
    }
    pl_checkpoint_free(&x);
    pl_checkpoint_free(&y);
    pl_arena_free(a);
}

/* From the start, and on from where the cpu was. */
static void test_trains(void **state)
{
    static const trial trials[] = { { "dp", 1, 2 }, { "tp=2", 2, 1 }, { "zero=3", 2, 2 } };
    (void)state;
    for (size_t i = 0; i < sizeof trials / sizeof *trials; i++) {
        const trial *t = &trials[i];
        const char *const from[] = { NULL, "cpu" };
        for (int k = 0; k < 2; k++) {
            in_reach = t->n > 1;
            remove_folder("later"), remove_folder("cpu-on");
            const char *to = k ? "cpu-on" : "cpu";
            if (!k) remove_folder(to);
            diary x = train(t, on_cpu, from[k], to);
            diary y = train(t, on_later, from[k], "later");
            check_same(t, &x, &y);
            check_saved(t, to, "later");
        }
    }
    assert_true(atomic_load(&most_waiting) > 20); /* it was later indeed */
    remove_folder("later"), remove_folder("cpu"), remove_folder("cpu-on");
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_trains) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
