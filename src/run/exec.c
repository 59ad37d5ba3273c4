/* The executor. Read pl_exec_new() and make(): kernels are chosen (make_kernel), one block of
 * memory is taken (make_block), offsets become pointers (bind). Then pl_exec_step(), which only
 * runs. */
#include "run/exec.h"

#include "base/clock.h"
#include "base/rng.h"
#include "base/table.h"
#include "plan/stages.h"
#include "run/fit.h"
#include "run/hostblock.h"
#include "run/lane.h"

#include <stdlib.h>
#include <string.h>

enum { WORK_ALIGN = 2 << 20, SCRATCH_ALIGN = 64 }; /* WORK_ALIGN: a huge page */

/* A step made ready that computes or is a kernel of the host: pointers instead of slots. */
typedef struct bound_step {
    const struct pl_exec *exec;
    const pl_step *step;
    const pl_kernel *kernel;
    const pl_backend *backend;
    void *state;
    const void *in[PL_MAX_OPERANDS];
    void *out[PL_MAX_OPERANDS];
    const char *reasons;
    double seconds; /* in all steps so far */
} bound_step;

typedef struct bound_program {
    const pl_program *program;
    int n;                    /* steps that compute, then kernels of the host */
    bound_step *step;         /* [n] */
    pl_lane_message *message; /* [n_messages] */
    double *begin, *end;      /* [n_steps] of the last run, on the clock; NULL: not recorded */
    bool whole;               /* the last run did not fail */
} bound_program;

struct pl_exec {
    pl_exec_options options;
    pl_comm *comm;
    pl_group *group[1 << PL_MAX_AXES]; /* by the set of axes; all programs have one mesh */
    const pl_device *device;
    pl_stream *stream;
    pl_lane *lane;
    int n_programs;
    bound_program *programs;
    const pl_store *store;
    char *block;
    size_t block_bytes;
    char *work, *scratch;
    pl_hostblock host;  /* states that lie there, then the work of the largest program there */
    int64_t host_work;  /* where that begins                                                 */
    char *host_scratch; /* of the host's kernels */
    pl_exec_stats stats;
    int wish; /* agreed on at the end of the last step */
};

/* -- memory ------------------------------------------------------------------------------------ */

static void *at(const pl_exec *e, pl_slot s)
{
    if (s.host) return e->host.at + (s.state ? 0 : e->host_work) + s.at;
    return (s.state ? e->block : e->work) + s.at;
}

static int64_t round_up(int64_t n, int64_t to)
{
    return (n + to - 1) / to * to;
}

/* One block, and one in the host's memory, kept until pl_exec_free. It starts as zeros: states
 * without an initial value and padding are defined. */
static bool make_block(pl_exec *exec, pl_err *err)
{
    int64_t state = round_up(exec->store->bytes, WORK_ALIGN);
    int64_t work = round_up(exec->stats.work_bytes, SCRATCH_ALIGN);
    exec->block_bytes =
        (size_t)round_up(state + work + exec->stats.scratch_bytes + SCRATCH_ALIGN, WORK_ALIGN);
    PL_TRY(exec->device->alloc(exec->block_bytes, &exec->block, err));
    exec->work = exec->block + state;
    exec->scratch = exec->work + work;
    exec->host_work = round_up(exec->store->host_bytes, WORK_ALIGN);
    const int64_t host = exec->stats.host_bytes ? exec->host_work + exec->stats.host_bytes : 0;
    return pl_hostblock_new((size_t)host, exec->options.host_dir, &exec->host, err);
}

/* -- making ------------------------------------------------------------------------------------ */

static bool make_kernel(pl_exec *exec, pl_arena *arena, bound_step *bound, int64_t *scratch,
                        pl_err *err)
{
    pl_text reasons = { .arena = arena };
    const pl_share *share = bound->step->share;
    int64_t want = 0;
    PL_TRY(pl_kernel_find(share, &exec->options.env, arena, &bound->backend, &bound->kernel,
                          &reasons, err));
    bound->reasons = pl_text_get(&reasons);
    if (bound->kernel->make &&
        !bound->kernel->make(share, &exec->options.env, &bound->state, &want, err))
        return pl_err_in(err, "node '%s': %s/%s", share->node->name, bound->backend->name,
                         bound->kernel->name);
    if (want > *scratch) *scratch = want;
    return true;
}

/* Those that compute, or the host's kernels, which come behind them. */
static bool make_steps(pl_exec *exec, pl_arena *arena, bound_program *bound, bool host,
                       int64_t *scratch, pl_err *err)
{
    for (int i = 0; i < bound->program->n_steps; i++) {
        const pl_step *s = &bound->program->step[i];
        if (!(host ? s->kind == PL_HOST_KERNEL : pl_step_is_compute(s))) continue;
        bound_step *b = &bound->step[bound->n++];
        b->exec = exec;
        b->step = s;
        if (pl_step_is_kernel(s)) PL_TRY(make_kernel(exec, arena, b, scratch, err));
    }
    return true;
}

/* A kernel of the host, on its thread. */
static void run_on_host(void *of)
{
    bound_step *b = of;
    const double begin = pl_clock_now();
    pl_kernel_thread(b->exec->options.env.n_threads);
    b->kernel->run(b->step->share, &b->exec->options.env, b->state, b->in, b->out,
                   b->exec->host_scratch);
    b->seconds += pl_clock_now() - begin;
}

static bool make_messages(pl_exec *exec, pl_arena *arena, bound_program *bound, pl_err *err)
{
    const pl_mesh *m = &bound->program->plan->mesh;
    int *ranks = PL_NEW_N(arena, int, bound->program->n_ranks), me;
    PL_ASSERT_CMP(m->n, ==, exec->programs[0].program->plan->mesh.n);
    bound->message = PL_NEW_N(arena, pl_lane_message, bound->program->n_messages + 1);
    for (int i = 0, n = 0, k = bound->program->n_compute; i < bound->program->n_steps; i++) {
        const pl_step *s = &bound->program->step[i];
        if (pl_step_is_compute(s)) continue;
        const bool host = pl_step_lane(s) > PL_LANE_RECV;
        if (!host && !exec->group[s->axes]) {
            int size = pl_mesh_group(m, bound->program->rank, s->axes, ranks, &me);
            PL_TRY(pl_comm_group(exec->comm, size, ranks, &exec->group[s->axes], err));
        }
        bound->message[n++] = (pl_lane_message){
            .begin = bound->begin ? &bound->begin[i] : NULL,
            .end = bound->end ? &bound->end[i] : NULL,
            .group = host ? NULL : exec->group[s->axes],
            .lane = pl_step_lane(s),
            .work = s->kind == PL_HOST_KERNEL ? run_on_host : NULL,
            .work_of = s->kind == PL_HOST_KERNEL ? &bound->step[k++] : NULL,
            .after = s->after,
            .wait = s->wait,
            .message = { .kind = s->collective,
                         .type = s->type,
                         .monoid = s->monoid,
                         .count = s->count,
                         .peer = s->peer,
                         .label = s->label },
        };
    }
    return true;
}

static void bind(const pl_exec *exec, bound_program *bound)
{
    for (int i = 0; i < bound->n; i++) {
        bound_step *b = &bound->step[i];
        for (int k = 0; k < b->step->n_in; k++) b->in[k] = at(exec, b->step->in[k]);
        for (int k = 0; k < b->step->n_out; k++) b->out[k] = at(exec, b->step->out[k]);
    }
    for (int i = 0, m = 0; i < bound->program->n_steps; i++) {
        const pl_step *s = &bound->program->step[i];
        if (pl_step_is_compute(s)) continue;
        if (s->kind == PL_MESSAGE && s->n_in) bound->message[m].message.send = at(exec, s->in[0]);
        if (s->kind == PL_MESSAGE && s->n_out) bound->message[m].message.recv = at(exec, s->out[0]);
        m++;
    }
}

static bool make_programs(pl_exec *exec, pl_arena *arena, const pl_program *const programs[],
                          pl_err *err)
{
    pl_exec_stats s = { .state_bytes = exec->store->bytes };
    int64_t host = 0, host_scratch = 0;
    exec->options.env.stream = exec->stream;
    for (int i = 0; i < exec->n_programs; i++) {
        bound_program *p = &exec->programs[i];
        p->program = programs[i];
        PL_ASSERT(p->program->store == exec->store);
        PL_ASSERT_CMP(p->program->n_ranks, ==, exec->comm ? exec->comm->size : 1);
        if (p->program->work_bytes > s.work_bytes) s.work_bytes = p->program->work_bytes;
        if (p->program->host_bytes > host) host = p->program->host_bytes;
        if (exec->options.record) {
            p->begin = PL_NEW_N(arena, double, p->program->n_steps + 1);
            p->end = PL_NEW_N(arena, double, p->program->n_steps + 1);
        }
        p->step = PL_NEW_N(arena, bound_step, p->program->n_steps + 1);
        PL_TRY(make_steps(exec, arena, p, false, &s.scratch_bytes, err));
        PL_TRY(make_steps(exec, arena, p, true, &host_scratch, err));
        PL_TRY(make_messages(exec, arena, p, err));
    }
    char *at = PL_NEW_N(arena, char, host_scratch + SCRATCH_ALIGN);
    exec->host_scratch = at + -(uintptr_t)at % SCRATCH_ALIGN;
    s.host_bytes = exec->store->host_bytes + host;
    exec->stats = s;
    return true;
}

/* A rank alone needs one for copies to and from the host only. */
static bool make_lane(pl_exec *exec, pl_arena *arena, pl_err *err)
{
    pl_lane_options o = { .host = exec->stats.host_bytes > 0,
                          .host_rate = exec->options.host_rate,
                          .link_rate = exec->options.link_rate };
    for (int i = 0; i < exec->n_programs; i++) {
        const bound_program *p = &exec->programs[i];
        if (p->program->n_messages > o.most) o.most = p->program->n_messages;
        o.host_work |= p->n > p->program->n_compute;
    }
    if (!exec->comm && !o.host) return true;
    return pl_lane_new(exec->comm, exec->stream, &o, arena, &exec->lane, err);
}

/* Whoever cannot be made still tells the others so. */
static bool make(pl_exec *exec, pl_arena *arena, const pl_program *const programs[], pl_err *err)
{
    if (!exec->device->stream_new(exec->comm ? exec->comm->rank : 0, &exec->stream, err) ||
        !make_programs(exec, arena, programs, err))
        PL_ASSERT(err->code);
    const pl_fit need = { exec->stats.state_bytes, exec->stats.work_bytes,
                          exec->stats.scratch_bytes,
                          exec->options.host_dir ? 0 : exec->stats.host_bytes };
    PL_TRY(pl_fit_check(exec->device, exec->comm, &need, exec->options.memory_limit,
                        &exec->stats.most, err));
    PL_TRY(make_block(exec, err));
    for (int i = 0; i < exec->n_programs; i++) bind(exec, &exec->programs[i]);
    return make_lane(exec, arena, err);
}

/* -- matching ---------------------------------------------------------------------------------- */

/* A number that is the same for programs with the same messages in the same order, but for those of
 * halos: of these a rank at the border lacks some. */
static uint64_t hash_messages(const pl_program *program, uint64_t hash)
{
    for (int k = 0; k < program->n_steps; k++) {
        const pl_step *s = &program->step[k];
        if (s->kind != PL_MESSAGE || (s->transfer && s->transfer->move.kind == PL_HALO)) continue;
        uint64_t what = (uint64_t)s->collective | (uint64_t)s->axes << 8 | (uint64_t)s->type << 16 |
                        (uint64_t)s->monoid << 24;
        if (s->collective == PL_BROADCAST) what |= (uint64_t)s->peer << 32;
        hash = pl_rng_mix(hash ^ what, (uint64_t)s->count);
        hash = pl_rng_mix(hash, pl_rng_name(s->label));
    }
    return hash;
}

/* The first rank that has the stages of rank r. */
static int first_alike(const pl_plan *p, int r)
{
    int first = 0;
    while (pl_plan_place(p, first) != pl_plan_place(p, r)) first++;
    return first;
}

bool pl_exec_match(pl_comm *comm, int n_programs, const pl_program *const programs[], pl_err *err)
{
    uint64_t hash = 0;
    for (int i = 0; i < n_programs; i++) hash = pl_rng_mix(hash_messages(programs[i], hash), 1);
    pl_arena *tmp = pl_arena_new("matching programs");
    int64_t mine = (int64_t)hash, *all = PL_NEW_N(tmp, int64_t, comm->size);
    const pl_message m = { .kind = PL_ALL_GATHER,
                           .type = PL_I64,
                           .count = 1,
                           .send = &mine,
                           .recv = all,
                           .label = "programs" };
    bool ok = pl_comm_run(comm, comm->world, &m, err);
    for (int r = 1; ok && r < comm->size; r++) {
        const int first = first_alike(programs[0]->plan, r);
        if (all[r] != all[first])
            ok = pl_err_set(err, PL_EINTERNAL,
                            "the programs of ranks %d and %d do not have the same messages in the "
                            "same order",
                            first, r);
    }
    pl_arena_free(tmp);
    return ok;
}

bool pl_exec_new(const pl_exec_options *options, pl_comm *comm, int n_programs,
                 const pl_program *const programs[], pl_arena *arena, pl_exec **out, pl_err *err)
{
    pl_exec *exec = PL_NEW(arena, pl_exec);
    *out = NULL;
    *exec = (pl_exec){ .options = *options,
                       .comm = comm,
                       .device = options->backends[0]->device,
                       .n_programs = n_programs };
    for (int i = 0; i < options->n_backends; i++)
        PL_ASSERT(options->backends[i]->device == exec->device);
    exec->options.env.n_backends = options->n_backends;
    exec->options.env.backends = options->backends;
    exec->store = programs[0]->store;
    exec->programs = PL_NEW_N(arena, bound_program, n_programs);
    pl_kernel_thread(options->env.n_threads);
    if (!make(exec, arena, programs, err)) {
        pl_exec_free(exec);
        return false;
    }
    *out = exec;
    return true;
}

void pl_exec_free(pl_exec *exec)
{
    if (exec->stream)
        exec->device->sync(exec->stream, &(pl_err){ 0 }); /* a failed step left work */
    pl_lane_free(exec->lane);
    for (int i = 0; i < exec->n_programs; i++)
        for (int k = 0; k < exec->programs[i].n; k++) {
            bound_step *b = &exec->programs[i].step[k];
            if (b->state) b->kernel->free(b->state);
        }
    exec->device->free(exec->block, exec->block_bytes);
    exec->block = NULL;
    pl_hostblock_free(&exec->host);
    if (exec->stream) exec->device->stream_free(exec->stream);
}

/* -- running ----------------------------------------------------------------------------------- */

/* Freed memory must not be read: make it poison, so that it shows. Inputs are already in place. */
static void poison(pl_exec *exec, const bound_program *bound)
{
    for (int64_t from = 0, to; from < exec->stats.work_bytes; from = to) {
        const pl_port *next = NULL;
        for (int i = 0; i < bound->program->n_inputs; i++) {
            const pl_port *x = &bound->program->input[i];
            if (x->slot.at >= from && (!next || x->slot.at < next->slot.at)) next = x;
        }
        to = next ? next->slot.at : exec->stats.work_bytes;
        exec->device->set(exec->stream, exec->work + from, 0xFF,
                          to - from); /* a NaN in f32 and bf16 */
        if (next) to += next->bytes;
    }
    if (bound->program->host_bytes)
        memset(exec->host.at + exec->host_work, 0xFF, (size_t)bound->program->host_bytes);
}

static void run_step(const pl_exec *exec, const bound_step *bound)
{
    const pl_step *s = bound->step;
    const pl_device *d = exec->device;
    if (s->kind == PL_KERNEL)
        bound->kernel->run(s->share, &exec->options.env, bound->state, bound->in, bound->out,
                           exec->scratch);
    else if (s->kind == PL_FILL)
        d->fill(exec->stream, s->type, s->monoid, bound->out[0], s->count);
    else if (s->kind == PL_FOLD)
        d->fold(exec->stream, s->type, s->monoid, bound->out[0], bound->in[0], s->count);
    else
        for (int i = 0; i < s->n_copies; i++)
            d->copy(exec->stream, &s->copy[i], bound->in[0], bound->out[0]);
}

static bool run_steps(pl_exec *exec, const bound_program *bound, pl_err *err)
{
    for (int i = 0; i < bound->program->n_compute; i++) {
        bound_step *b = &bound->step[i];
        if (exec->lane && b->step->wait) PL_TRY(pl_lane_wait(exec->lane, b->step->wait, err));
        double begin = pl_clock_now();
        run_step(exec, b);
        double end = pl_clock_now();
        b->seconds += end - begin;
        ptrdiff_t at = b->step - bound->program->step;
        if (bound->begin) bound->begin[at] = begin, bound->end[at] = end;
        if (exec->lane) pl_lane_advance(exec->lane, i + 1);
    }
    return true;
}

static bool agree(pl_exec *e, int *wish, pl_err *err)
{
    return e->lane ? pl_lane_agree(e->lane, wish, err) : err->code == PL_OK;
}

bool pl_exec_step(pl_exec *exec, int program, pl_err *err)
{
    bound_program *p = &exec->programs[program];
    double start = pl_clock_now(), exposed = exec->lane ? pl_lane_exposed(exec->lane) : 0;
    if (exec->options.poison) poison(exec, p);
    if (exec->lane) pl_lane_begin(exec->lane, p->program->n_messages, p->message);
    bool ok = run_steps(exec, p, err) && exec->device->sync(exec->stream, err);
    exec->wish = exec->options.wish ? exec->options.wish(exec->options.wish_of) : 0;
    p->whole = ok = agree(exec, &exec->wish, err) && ok;
    double waited = exec->lane ? pl_lane_exposed(exec->lane) - exposed : 0;
    exec->stats.compute_seconds += pl_clock_now() - start - waited;
    exec->stats.steps++;
    return ok;
}

int pl_exec_wish(const pl_exec *exec)
{
    return exec->wish;
}

bool pl_exec_agree(pl_exec *exec, pl_err *err)
{
    int wish = 0;
    return agree(exec, &wish, err);
}

/* -- looking ----------------------------------------------------------------------------------- */

void *pl_exec_map(pl_exec *exec, const pl_port *port, pl_access how)
{
    if (port->slot.host) return at(exec, port->slot);
    return exec->device->map(exec->stream, at(exec, port->slot), port->bytes, how);
}

void pl_exec_unmap(pl_exec *exec, const pl_port *port, pl_access how, void *host)
{
    if (host && !port->slot.host)
        exec->device->unmap(exec->stream, at(exec, port->slot), port->bytes, how, host);
}

void pl_exec_get(pl_exec *exec, const pl_port *port, void *to, int64_t bytes)
{
    void *from = pl_exec_map(exec, port, PL_READ);
    memcpy(to, from, (size_t)bytes);
    pl_exec_unmap(exec, port, PL_READ, from);
}

void pl_exec_zero(pl_exec *exec, const pl_port *port)
{
    if (port->slot.host)
        memset(at(exec, port->slot), 0, (size_t)port->bytes);
    else
        exec->device->set(exec->stream, at(exec, port->slot), 0, port->bytes);
}

pl_exec_stats pl_exec_stats_get(const pl_exec *exec)
{
    pl_exec_stats s = exec->stats;
    if (exec->lane) {
        s.exposed_seconds = pl_lane_exposed(exec->lane);
        s.busy_seconds = pl_lane_busy(exec->lane);
        s.copied_bytes = pl_lane_copied(exec->lane);
    }
    return s;
}

void pl_exec_explain(const pl_exec *exec, int program, pl_text *out)
{
    const bound_program *p = &exec->programs[program];
    for (int i = 0; i < p->n; i++) {
        const bound_step *b = &p->step[i];
        if (!pl_step_is_kernel(b->step))
            pl_text_add(out, "%-40s %s\n", b->step->label,
                        b->step->kind == PL_COPY   ? "copy"
                        : b->step->kind == PL_FOLD ? "fold"
                                                   : "fill");
        else
            pl_text_add(out, "%-40s %s: %s/%s\n%s", b->step->label, b->step->share->node->op->name,
                        b->backend->name, b->kernel->name, b->reasons);
    }
}

bool pl_exec_times(const pl_exec *exec, int program, const double **begin, const double **end)
{
    const bound_program *p = &exec->programs[program];
    *begin = p->begin, *end = p->end;
    return p->begin && p->whole;
}

typedef struct profile_row {
    const char *op, *kernel;
    int steps;
    double seconds;
} profile_row;

static int by_seconds(const void *a, const void *b)
{
    double x = ((const profile_row *)a)->seconds, y = ((const profile_row *)b)->seconds;
    return (x < y) - (x > y);
}

void pl_exec_profile(const pl_exec *exec, int program, pl_text *out)
{
    const bound_program *p = &exec->programs[program];
    profile_row *row = PL_NEW_N(out->arena, profile_row, p->n + 1);
    double all = 0;
    int n = 0;
    for (int i = 0; i < p->n; i++) {
        const bound_step *b = &p->step[i];
        const char *op = b->kernel ? b->step->share->node->op->name : "copy";
        const char *kernel = b->kernel ? b->kernel->name : "copy";
        int k = 0;
        while (k < n && (strcmp(row[k].op, op) || strcmp(row[k].kernel, kernel))) k++;
        if (k == n) row[n++] = (profile_row){ op, kernel, 0, 0 };
        row[k].steps++;
        row[k].seconds += b->seconds;
        all += b->seconds;
    }
    qsort(row, (size_t)n, sizeof *row, by_seconds);
    pl_table table = pl_table_new(out->arena, "operator\tkernel\t>steps\t>seconds\t>share");
    for (int k = 0; k < n; k++)
        pl_table_add(&table, "%s\t%s\t%d\t%.4f\t%.1f %%", row[k].op, row[k].kernel, row[k].steps,
                     row[k].seconds, all > 0 ? 100 * row[k].seconds / all : 0);
    pl_text_add(out, "%s", pl_table_text(&table));
}
