#include "run/exec.h"

#include "base/clock.h"
#include "base/rng.h"
#include "graph/reduce.h"
#include "run/block.h"
#include "run/lane.h"
#include "run/widen.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { HUGE_PAGE = 2 << 20, SCRATCH_ALIGN = 64 };

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

/* A number that is the same for all processes of a machine, until it starts anew. */
static int64_t find_machine(void)
{
    char id[64] = "";
    FILE *f = fopen("/proc/sys/kernel/random/boot_id", "r");
    if (!f || !fgets(id, sizeof id, f)) gethostname(id, sizeof id - 1);
    if (f) fclose(f);
    return (int64_t)pl_rng_name(id);
}

/* What the devices that share this one's memory take. */
typedef struct neighbours {
    int n;
    int64_t all, largest; /* bytes */
} neighbours;

static int64_t device_bytes(const pl_exec *e)
{
    return e->stats.state_bytes + e->stats.work_bytes + e->stats.scratch_bytes;
}

/* All ranks tell each other where they are and what they take. */
static bool find_neighbours(const pl_exec *e, pl_arena *tmp, neighbours *out, pl_err *err)
{
    int64_t mine[2] = { find_machine(), device_bytes(e) };
    *out = (neighbours){ 1, mine[1], mine[1] };
    if (!e->comm) return true;
    int64_t *all = PL_NEW_N(tmp, int64_t, 2 * e->comm->size);
    pl_comm_count books = e->comm->count; /* no message of the program */
    const pl_message m = { .kind = PL_ALL_GATHER,
                           .type = PL_I64,
                           .count = 2,
                           .send = mine,
                           .recv = all,
                           .label = "bytes of each device" };
    PL_TRY(pl_comm_run(e->comm, e->comm->world, &m, err));
    e->comm->count = books;
    *out = (neighbours){ 0 };
    for (int r = 0; r < e->comm->size; r++) {
        if (all[2 * r] != mine[0]) continue;
        out->n++;
        out->all += all[2 * r + 1];
        if (all[2 * r + 1] > out->largest) out->largest = all[2 * r + 1];
    }
    return true;
}

static const char *const advice =
    "take a smaller batch or model, or split it (--strategy zero=3, tp=N)";

/* One device against the limit that the user gave it. */
static bool check_limit(const pl_exec *e, pl_arena *tmp, pl_err *err)
{
    const pl_exec_stats *s = &e->stats;
    int64_t limit = e->options.memory_limit;
    if (!limit || device_bytes(e) <= limit) return true;
    return pl_err_set(
        err, PL_EINFEASIBLE, "one device needs %s (states %s, work %s), its limit is %s: %s",
        pl_text_size(tmp, (double)device_bytes(e)), pl_text_size(tmp, (double)s->state_bytes),
        pl_text_size(tmp, (double)s->work_bytes), pl_text_size(tmp, (double)limit), advice);
}

/* Pages come when they are touched, and what does not fit is killed then, without a word. So
 * devices that are together larger than their machine are refused here. */
static bool check_machine(const pl_exec *e, const neighbours *x, pl_arena *tmp, pl_err *err)
{
    int64_t all = (int64_t)sysconf(_SC_PAGESIZE) * (int64_t)sysconf(_SC_PHYS_PAGES);
    const char *has = pl_text_size(tmp, (double)all);
    if (x->all <= all || e->options.backends[0]->dry) return true;
    if (x->n == 1)
        return pl_err_set(err, PL_EINFEASIBLE,
                          "one device needs %s (states %s, work %s), this machine has %s: %s",
                          pl_text_size(tmp, (double)x->all),
                          pl_text_size(tmp, (double)e->stats.state_bytes),
                          pl_text_size(tmp, (double)e->stats.work_bytes), has, advice);
    return pl_err_set(err, PL_EINFEASIBLE,
                      "%d devices need %s each, %s together; this machine has %s: %s, or more "
                      "machines",
                      x->n, pl_text_size(tmp, (double)x->largest),
                      pl_text_size(tmp, (double)x->all), has, advice);
}

/* All ranks come here, also one that could not be made and needs nothing (err says why): the others
 * wait for its number. */
static bool check_memory(const pl_exec *e, pl_err *err)
{
    neighbours x;
    pl_err lost = { 0 };
    pl_arena *tmp = pl_arena_new("memory check");
    bool told = find_neighbours(e, tmp, &x, &lost);
    if (!told && !err->code) *err = lost;
    bool ok = !err->code && check_limit(e, tmp, err) && check_machine(e, &x, tmp, err);
    pl_arena_free(tmp);
    return ok;
}

/* One mapping, kept until pl_exec_free. It starts as zeros: states without an initial value and
 * padding are defined. */
static bool map_block(pl_exec *e, pl_err *err)
{
    int64_t state = round_up(e->store->bytes, HUGE_PAGE);
    int64_t work = round_up(e->stats.work_bytes, SCRATCH_ALIGN);
    e->block_bytes =
        (size_t)round_up(state + work + e->stats.scratch_bytes + SCRATCH_ALIGN, HUGE_PAGE);
    PL_TRY(pl_block_new(e->block_bytes, &e->block, err));
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
    PL_TRY(pl_widen_find(s, &e->options.env, arena, &b->backend, &b->kernel, &reasons, err));
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
    static const pl_message_kind kinds[] = { PL_ALL_REDUCE, PL_ALL_GATHER, PL_REDUCE_SCATTER,
                                             PL_ALL_TO_ALL, PL_BROADCAST,  PL_SEND,
                                             PL_RECV };
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
            .message = { .kind = kinds[s->collective],
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

static bool make(pl_exec *e, pl_arena *arena, const pl_program *const programs[], pl_err *err)
{
    if (!make_programs(e, arena, programs, err)) PL_ASSERT(err->code);
    PL_TRY(check_memory(e, err));
    PL_TRY(map_block(e, err));
    for (int i = 0; i < e->n_programs; i++) bind(e, &e->programs[i]);
    return !e->comm || pl_lane_new(e->comm, arena, &e->lane, err);
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
        if (s->collective == PL_COLLECTIVE_BROADCAST) what |= (uint64_t)s->peer << 32;
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
    *e = (pl_exec){ .options = *o, .comm = comm, .n_programs = n_programs };
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
    pl_lane_free(e->lane);
    for (int i = 0; i < e->n_programs; i++)
        for (int k = 0; e->programs[i].step && k < e->programs[i].program->n_compute; k++) {
            bound_step *b = &e->programs[i].step[k];
            if (b->state) b->kernel->free(b->state);
        }
    pl_block_free(e->block, e->block_bytes);
    e->block = NULL;
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
        memset(e->work + from, 0xFF, (size_t)(to - from)); /* all ones: a NaN in f32 and bf16 */
        if (next) to += next->bytes;
    }
}

static void run_step(const pl_exec *e, const bound_step *b)
{
    const pl_step *s = b->step;
    if (s->kind == PL_KERNEL)
        b->kernel->run(s->share, &e->options.env, b->state, b->in, b->out, e->scratch);
    else if (e->options.backends[0]->dry) /* the memory may not be there */
        return;
    else if (s->kind == PL_FILL)
        pl_type_fill(s->type, s->monoid, b->out[0], s->count);
    else if (s->kind == PL_FOLD)
        pl_reduce_into(s->type, s->monoid, b->out[0], b->in[0], s->count);
    else
        for (int i = 0; i < s->n_copies; i++) pl_region_apply(&s->copy[i], b->in[0], b->out[0]);
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
    bool ok = run_steps(e, p, err);
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

static const pl_port *find_port(int n, const pl_port *ports, const char *name)
{
    for (int i = 0; i < n; i++)
        if (!strcmp(ports[i].value->name, name)) return &ports[i];
    return NULL;
}

void *pl_exec_input(pl_exec *e, int program, const char *name, const pl_port **port)
{
    const pl_program *p = e->programs[program].program;
    const pl_port *x = find_port(p->n_inputs, p->input, name);
    if (port) *port = x;
    return x ? at(e, x->slot) : NULL;
}

const void *pl_exec_output(const pl_exec *e, int program, const char *name, const pl_port **port)
{
    const pl_program *p = e->programs[program].program;
    const pl_port *x = find_port(p->n_outputs, p->output, name);
    if (port) *port = x;
    return x ? at(e, x->slot) : NULL;
}

void *pl_exec_state(pl_exec *e, int index)
{
    return at(e, e->store->state[index].slot);
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
    pl_text_add(out, "%-24s %-24s %6s %10s %7s\n", "operator", "kernel", "steps", "seconds",
                "share");
    for (int k = 0; k < n; k++)
        pl_text_add(out, "%-24s %-24s %6d %10.4f %6.1f%%\n", row[k].op, row[k].kernel, row[k].steps,
                    row[k].seconds, all > 0 ? 100 * row[k].seconds / all : 0);
}
