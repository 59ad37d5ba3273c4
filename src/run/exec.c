#include "run/exec.h"

#include "base/clock.h"
#include "base/rng.h"
#include "base/table.h"
#include "run/fit.h"
#include "run/lane.h"

#include <stdlib.h>
#include <string.h>

enum { WORK_ALIGN = 2 << 20, SCRATCH_ALIGN = 64 }; /* WORK_ALIGN: a huge page */

/* A compute step made ready: pointers instead of slots. */
typedef struct bound_step {
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
    bound_step *step;         /* [n_compute] */
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
    pl_exec_stats stats;
    int wish; /* agreed on at the end of the last step */
};

/* -- memory ------------------------------------------------------------------------------------ */

static void *at(const pl_exec *e, pl_slot s)
{
    return (s.state ? e->block : e->work) + s.at;
}

static int64_t round_up(int64_t n, int64_t to)
{
    return (n + to - 1) / to * to;
}

/* One block, kept until pl_exec_free. It starts as zeros: states without an initial value and
 * padding are defined. */
static bool make_block(pl_exec *e, pl_err *err)
{
    int64_t state = round_up(e->store->bytes, WORK_ALIGN);
    int64_t work = round_up(e->stats.work_bytes, SCRATCH_ALIGN);
    e->block_bytes =
        (size_t)round_up(state + work + e->stats.scratch_bytes + SCRATCH_ALIGN, WORK_ALIGN);
    PL_TRY(e->device->alloc(e->block_bytes, &e->block, err));
    e->work = e->block + state;
    e->scratch = e->work + work;
    return true;
}

/* -- making ------------------------------------------------------------------------------------ */

static bool make_kernel(pl_exec *e, pl_arena *arena, bound_step *b, int64_t *scratch, pl_err *err)
{
    pl_text reasons = { .arena = arena };
    const pl_share *s = b->step->share;
    int64_t want = 0;
    PL_TRY(pl_kernel_find(s, &e->options.env, arena, &b->backend, &b->kernel, &reasons, err));
    b->reasons = pl_text_get(&reasons);
    if (b->kernel->make && !b->kernel->make(s, &e->options.env, &b->state, &want, err))
        return pl_err_in(err, "node '%s': %s/%s", s->node->name, b->backend->name, b->kernel->name);
    if (want > *scratch) *scratch = want;
    return true;
}

static bool make_steps(pl_exec *e, pl_arena *arena, bound_program *p, int64_t *scratch, pl_err *err)
{
    p->step = PL_NEW_N(arena, bound_step, p->program->n_compute + 1);
    for (int i = 0, n = 0; i < p->program->n_steps; i++) {
        const pl_step *s = &p->program->step[i];
        if (s->kind == PL_MESSAGE) continue;
        p->step[n].step = s;
        if (s->kind == PL_KERNEL) PL_TRY(make_kernel(e, arena, &p->step[n], scratch, err));
        n++;
    }
    return true;
}

static bool make_messages(pl_exec *e, pl_arena *arena, bound_program *p, pl_err *err)
{
    const pl_mesh *m = &p->program->plan->mesh;
    int *ranks = PL_NEW_N(arena, int, p->program->n_ranks), me;
    PL_ASSERT_CMP(m->n, ==, e->programs[0].program->plan->mesh.n);
    p->message = PL_NEW_N(arena, pl_lane_message, p->program->n_messages + 1);
    for (int i = 0, n = 0; i < p->program->n_steps; i++) {
        const pl_step *s = &p->program->step[i];
        if (s->kind != PL_MESSAGE) continue;
        if (!e->group[s->axes]) {
            int size = pl_mesh_group(m, p->program->rank, s->axes, ranks, &me);
            PL_TRY(pl_comm_group(e->comm, size, ranks, &e->group[s->axes], err));
        }
        p->message[n++] = (pl_lane_message){
            .begin = p->begin ? &p->begin[i] : NULL,
            .end = p->end ? &p->end[i] : NULL,
            .group = e->group[s->axes],
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

static void bind(const pl_exec *e, bound_program *p)
{
    for (int i = 0, n = 0, m = 0; i < p->program->n_steps; i++) {
        const pl_step *s = &p->program->step[i];
        if (s->kind == PL_MESSAGE) {
            if (s->n_in) p->message[m].message.send = at(e, s->in[0]);
            if (s->n_out) p->message[m].message.recv = at(e, s->out[0]);
            m++;
            continue;
        }
        for (int k = 0; k < s->n_in; k++) p->step[n].in[k] = at(e, s->in[k]);
        for (int k = 0; k < s->n_out; k++) p->step[n].out[k] = at(e, s->out[k]);
        n++;
    }
}

static bool make_programs(pl_exec *e, pl_arena *arena, const pl_program *const programs[],
                          pl_err *err)
{
    pl_exec_stats s = { .state_bytes = e->store->bytes };
    e->options.env.stream = e->stream;
    for (int i = 0; i < e->n_programs; i++) {
        bound_program *p = &e->programs[i];
        p->program = programs[i];
        PL_ASSERT(p->program->store == e->store);
        PL_ASSERT_CMP(p->program->n_ranks, ==, e->comm ? e->comm->size : 1);
        if (p->program->work_bytes > s.work_bytes) s.work_bytes = p->program->work_bytes;
        if (e->options.record) {
            p->begin = PL_NEW_N(arena, double, p->program->n_steps + 1);
            p->end = PL_NEW_N(arena, double, p->program->n_steps + 1);
        }
        PL_TRY(make_steps(e, arena, p, &s.scratch_bytes, err));
        if (e->comm) PL_TRY(make_messages(e, arena, p, err));
    }
    e->stats = s;
    return true;
}

/* Whoever cannot be made still tells the others so. */
static bool make(pl_exec *e, pl_arena *arena, const pl_program *const programs[], pl_err *err)
{
    if (!e->device->stream_new(e->comm ? e->comm->rank : 0, &e->stream, err) ||
        !make_programs(e, arena, programs, err))
        PL_ASSERT(err->code);
    const pl_fit need = { e->stats.state_bytes, e->stats.work_bytes, e->stats.scratch_bytes };
    PL_TRY(pl_fit_check(e->device, e->comm, &need, e->options.memory_limit, err));
    PL_TRY(make_block(e, err));
    for (int i = 0; i < e->n_programs; i++) bind(e, &e->programs[i]);
    return !e->comm || pl_lane_new(e->comm, e->stream, arena, &e->lane, err);
}

/* -- matching ---------------------------------------------------------------------------------- */

/* A number that is the same for programs with the same messages in the same order, but for those of
 * halos: of these a rank at the border lacks some. */
static uint64_t hash_messages(const pl_program *p, uint64_t hash)
{
    for (int k = 0; k < p->n_steps; k++) {
        const pl_step *s = &p->step[k];
        if (s->kind != PL_MESSAGE || (s->transfer && s->transfer->move.kind == PL_HALO)) continue;
        uint64_t what = (uint64_t)s->collective | (uint64_t)s->axes << 8 | (uint64_t)s->type << 16 |
                        (uint64_t)s->monoid << 24;
        if (s->collective == PL_BROADCAST) what |= (uint64_t)s->peer << 32;
        hash = pl_rng_mix(hash ^ what, (uint64_t)s->count);
        hash = pl_rng_mix(hash, pl_rng_name(s->label));
    }
    return hash;
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
    for (int r = 1; ok && r < comm->size; r++)
        if (all[r] != all[0])
            ok = pl_err_set(err, PL_EINTERNAL,
                            "the programs of ranks 0 and %d do not have the same messages in the "
                            "same order",
                            r);
    pl_arena_free(tmp);
    return ok;
}

bool pl_exec_new(const pl_exec_options *o, pl_comm *comm, int n_programs,
                 const pl_program *const programs[], pl_arena *arena, pl_exec **out, pl_err *err)
{
    pl_exec *e = PL_NEW(arena, pl_exec);
    *out = NULL;
    *e = (pl_exec){
        .options = *o, .comm = comm, .device = o->backends[0]->device, .n_programs = n_programs
    };
    for (int i = 0; i < o->n_backends; i++) PL_ASSERT(o->backends[i]->device == e->device);
    e->options.env.n_backends = o->n_backends;
    e->options.env.backends = o->backends;
    e->store = programs[0]->store;
    e->programs = PL_NEW_N(arena, bound_program, n_programs);
    pl_kernel_thread(o->env.n_threads);
    if (!make(e, arena, programs, err)) {
        pl_exec_free(e);
        return false;
    }
    *out = e;
    return true;
}

void pl_exec_free(pl_exec *e)
{
    if (e->stream) e->device->sync(e->stream, &(pl_err){ 0 }); /* a failed step left work */
    pl_lane_free(e->lane);
    for (int i = 0; i < e->n_programs; i++)
        for (int k = 0; e->programs[i].step && k < e->programs[i].program->n_compute; k++) {
            bound_step *b = &e->programs[i].step[k];
            if (b->state) b->kernel->free(b->state);
        }
    e->device->free(e->block, e->block_bytes);
    e->block = NULL;
    if (e->stream) e->device->stream_free(e->stream);
}

/* -- running ----------------------------------------------------------------------------------- */

/* Freed memory must not be read: make it poison, so that it shows. Inputs are already in place. */
static void poison(pl_exec *e, const bound_program *p)
{
    for (int64_t from = 0, to; from < e->stats.work_bytes; from = to) {
        const pl_port *next = NULL;
        for (int i = 0; i < p->program->n_inputs; i++) {
            const pl_port *x = &p->program->input[i];
            if (x->slot.at >= from && (!next || x->slot.at < next->slot.at)) next = x;
        }
        to = next ? next->slot.at : e->stats.work_bytes;
        e->device->set(e->stream, e->work + from, 0xFF, to - from); /* a NaN in f32 and bf16 */
        if (next) to += next->bytes;
    }
}

static void run_step(const pl_exec *e, const bound_step *b)
{
    const pl_step *s = b->step;
    const pl_device *d = e->device;
    if (s->kind == PL_KERNEL)
        b->kernel->run(s->share, &e->options.env, b->state, b->in, b->out, e->scratch);
    else if (s->kind == PL_FILL)
        d->fill(e->stream, s->type, s->monoid, b->out[0], s->count);
    else if (s->kind == PL_FOLD)
        d->fold(e->stream, s->type, s->monoid, b->out[0], b->in[0], s->count);
    else
        for (int i = 0; i < s->n_copies; i++) d->copy(e->stream, &s->copy[i], b->in[0], b->out[0]);
}

static bool run_steps(pl_exec *e, const bound_program *p, pl_err *err)
{
    for (int i = 0; i < p->program->n_compute; i++) {
        bound_step *b = &p->step[i];
        if (e->lane && b->step->wait) PL_TRY(pl_lane_wait(e->lane, b->step->wait, err));
        double begin = pl_clock_now();
        run_step(e, b);
        double end = pl_clock_now();
        b->seconds += end - begin;
        ptrdiff_t at = b->step - p->program->step;
        if (p->begin) p->begin[at] = begin, p->end[at] = end;
        if (e->lane) pl_lane_advance(e->lane, i + 1);
    }
    return true;
}

static bool agree(pl_exec *e, int *wish, pl_err *err)
{
    return e->lane ? pl_lane_agree(e->lane, wish, err) : err->code == PL_OK;
}

bool pl_exec_step(pl_exec *e, int program, pl_err *err)
{
    bound_program *p = &e->programs[program];
    double start = pl_clock_now(), exposed = e->lane ? pl_lane_exposed(e->lane) : 0;
    if (e->options.poison) poison(e, p);
    if (e->lane) pl_lane_begin(e->lane, p->program->n_messages, p->message);
    bool ok = run_steps(e, p, err) && e->device->sync(e->stream, err);
    e->wish = e->options.wish ? e->options.wish(e->options.wish_of) : 0;
    p->whole = ok = agree(e, &e->wish, err) && ok;
    double waited = e->lane ? pl_lane_exposed(e->lane) - exposed : 0;
    e->stats.compute_seconds += pl_clock_now() - start - waited;
    e->stats.steps++;
    return ok;
}

int pl_exec_wish(const pl_exec *e)
{
    return e->wish;
}

bool pl_exec_agree(pl_exec *e, pl_err *err)
{
    int wish = 0;
    return agree(e, &wish, err);
}

/* -- looking ----------------------------------------------------------------------------------- */

void *pl_exec_map(pl_exec *e, const pl_port *p, pl_access how)
{
    return e->device->map(e->stream, at(e, p->slot), p->bytes, how);
}

void pl_exec_unmap(pl_exec *e, const pl_port *p, pl_access how, void *host)
{
    if (host) e->device->unmap(e->stream, at(e, p->slot), p->bytes, how, host);
}

void pl_exec_get(pl_exec *e, const pl_port *p, void *to, int64_t bytes)
{
    void *from = pl_exec_map(e, p, PL_READ);
    memcpy(to, from, (size_t)bytes);
    pl_exec_unmap(e, p, PL_READ, from);
}

void pl_exec_zero(pl_exec *e, const pl_port *p)
{
    e->device->set(e->stream, at(e, p->slot), 0, p->bytes);
}

pl_exec_stats pl_exec_stats_get(const pl_exec *e)
{
    pl_exec_stats s = e->stats;
    if (e->lane) {
        s.exposed_seconds = pl_lane_exposed(e->lane);
        s.busy_seconds = pl_lane_busy(e->lane);
    }
    return s;
}

void pl_exec_explain(const pl_exec *e, int program, pl_text *out)
{
    const bound_program *p = &e->programs[program];
    for (int i = 0; i < p->program->n_compute; i++) {
        const bound_step *b = &p->step[i];
        if (b->step->kind != PL_KERNEL)
            pl_text_add(out, "%-40s %s\n", b->step->label,
                        b->step->kind == PL_COPY   ? "copy"
                        : b->step->kind == PL_FOLD ? "fold"
                                                   : "fill");
        else
            pl_text_add(out, "%-40s %s: %s/%s\n%s", b->step->label, b->step->share->node->op->name,
                        b->backend->name, b->kernel->name, b->reasons);
    }
}

bool pl_exec_times(const pl_exec *e, int program, const double **begin, const double **end)
{
    const bound_program *p = &e->programs[program];
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

void pl_exec_profile(const pl_exec *e, int program, pl_text *out)
{
    const bound_program *p = &e->programs[program];
    profile_row *row = PL_NEW_N(out->arena, profile_row, p->program->n_compute + 1);
    double all = 0;
    int n = 0;
    for (int i = 0; i < p->program->n_compute; i++) {
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
