/* An independent check of a program: replay its steps over byte ranges, ask at every read whether
 * the part of the value that the plan wants stands there, and look for steps of the two lanes that
 * may run at once and touch the same bytes. What the plan wants of a node is in pl_plan_operand;
 * nothing is taken from the lowering. The collectives of the ranks match when their programs have
 * the same messages in the same order; one program cannot tell. */
#include "graph/op.h"
#include "program/program.h"

#include <string.h>

/* A range of bytes that holds one part of a value. A range may have several: views, or two names
 * for the same share. */
typedef struct content {
    const pl_value *value;
    pl_placement where;
    int blocks; /* a gathered axis whose blocks still stand one after another, or -1 */
    int dim;    /* the dimension that they belong to                                 */
    pl_slot at;
    int64_t bytes;
} content;

typedef struct access {
    int step;
    bool write;
    pl_slot at;
    int64_t bytes;
} access;

typedef struct checker {
    const pl_program *p;
    const pl_mesh *mesh;
    pl_arena *tmp;
    pl_err *err;
    struct {
        int n, cap;
        content *at;
    } now; /* what memory holds at this point of the replay */
    struct {
        int n, cap;
        access *at;
    } log;      /* in the order of the steps                     */
    int *first; /* [steps + 1] first access of each step         */
} checker;

enum { BEFORE = -1 }; /* the "step" that fills inputs and states */

static const char *step_text(const checker *c, int i)
{
    if (i == BEFORE) return "what was there before the step";
    if (i == c->p->n_steps) return "the end of the step";
    return pl_arena_fmt(c->tmp, "step %d '%s'", i, c->p->step[i].label);
}

static const char *slot_text(const checker *c, pl_slot s, int64_t bytes)
{
    return pl_arena_fmt(c->tmp, "%s bytes %lld to %lld", s.state ? "state" : "work",
                        (long long)s.at, (long long)(s.at + bytes));
}

static const char *part_text(const checker *c, const pl_value *v, const pl_placement *where)
{
    return pl_arena_fmt(c->tmp, "'%s' at %s", v->name,
                        pl_placement_text(c->tmp, where, c->mesh, v->shape.rank));
}

static bool overlap(pl_slot a, int64_t a_bytes, pl_slot b, int64_t b_bytes)
{
    return a.state == b.state && a.at < b.at + b_bytes && b.at < a.at + a_bytes;
}

static bool same_slot(pl_slot a, pl_slot b)
{
    return a.state == b.state && a.at == b.at;
}

static int64_t part_bytes(const checker *c, const pl_value *v, const pl_placement *where)
{
    pl_shape s = pl_placement_local(where, c->mesh, &v->shape);
    return pl_shape_count(&s) * pl_type_bytes(v->type);
}

/* -- memory ------------------------------------------------------------------------------------ */

static bool touch(checker *c, int step, pl_slot at, int64_t bytes, bool write)
{
    int64_t size = at.state ? c->p->store->bytes : c->p->work_bytes;
    if (at.at < 0 || at.at > size - bytes)
        return pl_err_set(c->err, PL_EMISMATCH, "%s uses %s; the block has %lld",
                          step_text(c, step), slot_text(c, at, bytes), (long long)size);
    access a = { step, write, at, bytes };
    PL_PUSH(c->tmp, &c->log, a);
    return true;
}

/* What overlaps a write is lost. */
static bool write_range(checker *c, int step, pl_slot at, int64_t bytes)
{
    int n = 0;
    for (int i = 0; i < c->now.n; i++)
        if (!overlap(c->now.at[i].at, c->now.at[i].bytes, at, bytes)) c->now.at[n++] = c->now.at[i];
    c->now.n = n;
    return touch(c, step, at, bytes, true);
}

static void put(checker *c, const pl_value *v, const pl_placement *where, pl_slot at)
{
    content x = { v, *where, -1, 0, at, part_bytes(c, v, where) };
    PL_PUSH(c->tmp, &c->now, x);
}

static bool holds(const checker *c, const pl_value *v, const pl_placement *where, pl_slot at)
{
    for (int i = 0; i < c->now.n; i++) {
        const content *x = &c->now.at[i];
        if (x->value == v && x->blocks < 0 && same_slot(x->at, at) &&
            pl_placement_same(&x->where, where))
            return true;
    }
    return false;
}

/* Name who wrote last where the wrong thing was found. */
static bool fail_read(checker *c, int step, pl_slot at, int64_t bytes, const char *wanted)
{
    for (int i = c->log.n - 1; i >= 0; i--) {
        const access *x = &c->log.at[i];
        if (!x->write || !overlap(x->at, x->bytes, at, bytes)) continue;
        return pl_err_set(c->err, PL_EMISMATCH, "%s wants %s in %s, but %s wrote there last",
                          step_text(c, step), wanted, slot_text(c, at, bytes),
                          step_text(c, x->step));
    }
    return pl_err_set(c->err, PL_EMISMATCH, "%s wants %s in %s, where nothing was written",
                      step_text(c, step), wanted, slot_text(c, at, bytes));
}

static bool read_part(checker *c, int step, const pl_value *v, const pl_placement *where,
                      pl_slot at)
{
    int64_t bytes = part_bytes(c, v, where);
    PL_TRY(touch(c, step, at, bytes, false));
    return holds(c, v, where, at) || fail_read(c, step, at, bytes, part_text(c, v, where));
}

/* -- kernels ----------------------------------------------------------------------------------- */

/* Each factor has the range that the choices and this rank's coordinates give. */
static bool check_share(checker *c, int i, const pl_share *s)
{
    const pl_node *n = s->node;
    for (int f = 0; f < n->sig->n_factors; f++) {
        int64_t size = n->sig->factor[f].size, lo = 0;
        for (int a = 0; a < c->mesh->n; a++) {
            if (c->p->plan->choice[n->id].factor[a] != f) continue;
            size /= c->mesh->axis[a].size;
            lo += size * pl_mesh_coord(c->mesh, c->p->rank, a);
        }
        if (s->factor[f].lo != lo || s->factor[f].n != size)
            return pl_err_set(c->err, PL_EMISMATCH,
                              "%s computes %lld of '%c' from %lld; the plan says "
                              "%lld from %lld",
                              step_text(c, i), (long long)s->factor[f].n, n->sig->factor[f].letter,
                              (long long)s->factor[f].lo, (long long)size, (long long)lo);
    }
    return true;
}

/* The input that output o has to lie over, or -1. */
static int takes_over(const pl_op *op, int o)
{
    const char *at = op->inplace ? op->inplace : "";
    for (int k = 0; k < o && *at; k++) at++;
    return *at && *at != '-' ? *at - '0' : -1;
}

/* May output o lie over input k: told to, a view of it, or element by element? */
static bool may_share(const pl_node *n, int o, int k)
{
    if (takes_over(n->op, o) == k) return true;
    if (o == 0 && k == 0 && n->op->view) return true;
    return o == 0 && n->op->elementwise && n->in[k]->type == n->out[0]->type &&
           pl_share_same_index(n, k, n->n_in);
}

static bool check_sharing(checker *c, int i, int o, pl_slot at, int64_t bytes)
{
    const pl_step *s = &c->p->step[i];
    const pl_node *n = s->share->node;
    int over = takes_over(n->op, o);
    if (over >= 0 && !same_slot(s->in[over], at))
        return pl_err_set(c->err, PL_EMISMATCH,
                          "%s updates its input %d in place, but its output %d is "
                          "elsewhere, in %s",
                          step_text(c, i), over, o, slot_text(c, at, bytes));
    for (int a = c->first[i]; a < c->log.n; a++) {
        const access *x = &c->log.at[a];
        if (!overlap(x->at, x->bytes, at, bytes)) continue;
        bool fits = !x->write && same_slot(x->at, at) && x->bytes == bytes;
        if (fits && may_share(n, o, a - c->first[i])) continue;
        return pl_err_set(c->err, PL_EMISMATCH,
                          "%s: output %d, in %s, lies over its own operand %d, in %s",
                          step_text(c, i), o, slot_text(c, at, bytes), a - c->first[i],
                          slot_text(c, x->at, x->bytes));
    }
    return true;
}

static bool check_kernel(checker *c, int i)
{
    const pl_step *s = &c->p->step[i];
    const pl_node *n = s->share->node;
    if (s->n_in != n->n_in || s->n_out != n->n_out)
        return pl_err_set(c->err, PL_EMISMATCH,
                          "%s has %d inputs and %d outputs, its node %d and %d", step_text(c, i),
                          s->n_in, s->n_out, n->n_in, n->n_out);
    PL_TRY(check_share(c, i, s->share));
    for (int k = 0; k < n->n_in; k++) {
        pl_placement where = pl_plan_operand(c->p->plan, n->id, k);
        PL_TRY(read_part(c, i, n->in[k], &where, s->in[k]));
    }
    for (int o = 0; o < n->n_out; o++) {
        pl_placement where = pl_plan_operand(c->p->plan, n->id, n->n_in + o);
        int64_t bytes = part_bytes(c, n->out[o], &where);
        PL_TRY(check_sharing(c, i, o, s->out[o], bytes));
        if (n->op->view && same_slot(s->in[0], s->out[0]))
            PL_TRY(touch(c, i, s->out[o], bytes, false)); /* nothing moves, the input stays */
        else
            PL_TRY(write_range(c, i, s->out[o], bytes));
    }
    for (int o = 0; o < n->n_out; o++) {
        pl_placement where = pl_plan_operand(c->p->plan, n->id, n->n_in + o);
        put(c, n->out[o], &where, s->out[o]);
    }
    return true;
}

/* -- messages ---------------------------------------------------------------------------------- */

static bool is_pending(const content *x, const pl_step *s)
{
    return x->blocks < 0 && x->value->type == s->type && x->where.monoid == s->monoid &&
           (x->where.pending & s->axes) == s->axes;
}

/* The range is one partial result after another; combined they are the same values, less
 * pending. */
static bool check_reduce(checker *c, int i)
{
    const pl_step *s = &c->p->step[i];
    struct {
        int n, cap;
        content *at;
    } parts = { 0 };
    int64_t bytes = s->count * pl_type_bytes(s->type), done = 0, moved = s->out[0].at - s->in[0].at;
    if (s->count < 1 || !s->axes)
        return pl_err_set(c->err, PL_EMISMATCH, "%s combines nothing", step_text(c, i));
    PL_TRY(touch(c, i, s->in[0], bytes, false));
    for (int64_t last = -1; done != last && done < bytes;) {
        last = done;
        for (int k = 0; k < c->now.n; k++) {
            content x = c->now.at[k];
            bool next = x.at.state == s->in[0].state && x.at.at == s->in[0].at + last;
            if (!next || !is_pending(&x, s) || last + x.bytes > bytes) continue;
            done = last + x.bytes;
            x.where.pending &= (uint8_t)~s->axes;
            x.at = (pl_slot){ s->out[0].state, x.at.at + moved };
            PL_PUSH(c->tmp, &parts, x);
        }
    }
    pl_slot stuck = { s->in[0].state, s->in[0].at + done };
    if (done < bytes) return fail_read(c, i, stuck, bytes - done, "partial results on its axes");
    if (moved && overlap(s->in[0], bytes, s->out[0], bytes))
        return pl_err_set(c->err, PL_EMISMATCH,
                          "%s: its result, in %s, lies over what it sends, in %s", step_text(c, i),
                          slot_text(c, s->out[0], bytes), slot_text(c, s->in[0], bytes));
    PL_TRY(write_range(c, i, s->out[0], bytes));
    for (int k = 0; k < parts.n; k++) PL_PUSH(c->tmp, &c->now, parts.at[k]);
    return true;
}

/* Elements before and within dimension d. */
static int64_t product(const pl_shape *s, int from, int to)
{
    int64_t n = 1;
    for (int d = from; d < to; d++) n *= s->dim[d];
    return n;
}

/* The part that a gather over `axes` makes of x; false when it cannot. */
static bool gathered(const checker *c, const pl_step *s, const content *x, content *out)
{
    if (x->blocks >= 0 || x->value->type != s->type) return false;
    *out = *x;
    out->at = s->out[0];
    for (int d = 0; d < x->value->shape.rank; d++) {
        int8_t *n = &out->where.n[d];
        if (!*n || s->axes != 1u << out->where.axis[d][*n - 1]) continue;
        pl_shape local = pl_placement_local(&x->where, c->mesh, &x->value->shape);
        out->dim = d;
        if (product(&local, 0, d) > 1) out->blocks = out->where.axis[d][*n - 1];
        --*n;
        out->bytes = part_bytes(c, x->value, &out->where);
        return pl_shape_count(&local) == s->count;
    }
    return false;
}

static bool check_gather(checker *c, int i)
{
    const pl_step *s = &c->p->step[i];
    struct {
        int n, cap;
        content *at;
    } parts = { 0 };
    int64_t bytes = s->count * pl_type_bytes(s->type), all = bytes;
    PL_TRY(touch(c, i, s->in[0], bytes, false));
    for (int a = 0; a < c->mesh->n; a++)
        if (s->axes >> a & 1) all *= c->mesh->axis[a].size;
    for (int k = 0; k < c->now.n; k++) {
        content x;
        if (same_slot(c->now.at[k].at, s->in[0]) && gathered(c, s, &c->now.at[k], &x))
            PL_PUSH(c->tmp, &parts, x);
    }
    if (!parts.n) return fail_read(c, i, s->in[0], bytes, "a share along its axis");
    if (overlap(s->in[0], bytes, s->out[0], all))
        return pl_err_set(c->err, PL_EMISMATCH,
                          "%s: its result, in %s, lies over what it sends, in %s", step_text(c, i),
                          slot_text(c, s->out[0], all), slot_text(c, s->in[0], bytes));
    PL_TRY(write_range(c, i, s->out[0], all));
    for (int k = 0; k < parts.n; k++) PL_PUSH(c->tmp, &c->now, parts.at[k]);
    return true;
}

/* -- copies ------------------------------------------------------------------------------------ */

/* Is the step's loop nest this one? A loop of one round has no steps. */
static bool is_nest(const pl_step *s, int64_t bytes, int64_t n0, int64_t from0, int64_t to0,
                    int64_t n1, int64_t from1, int64_t to1)
{
    return s->bytes == bytes && s->n[0] == n0 && s->n[1] == n1 &&
           (n0 == 1 || (s->from[0] == from0 && s->to[0] == to0)) &&
           (n1 == 1 || (s->from[1] == from1 && s->to[1] == to1));
}

/* The blocks of a gather, put in their places. */
static bool assembled(const checker *c, const pl_step *s, const content *x, content *out)
{
    if (x->blocks < 0 || !same_slot(x->at, s->in[0])) return false;
    pl_shape whole = pl_placement_local(&x->where, c->mesh, &x->value->shape);
    int64_t n = c->mesh->axis[x->blocks].size, outer = product(&whole, 0, x->dim);
    int64_t run = product(&whole, x->dim, whole.rank) / n * pl_type_bytes(x->value->type);
    *out = *x;
    out->blocks = -1;
    return is_nest(s, run, n, outer * run, run, outer, run, n * run);
}

/* The share of x along one more axis. */
static bool sliced(const checker *c, const pl_step *s, const content *x, int d, int a, content *out)
{
    int64_t parts = c->mesh->axis[a].size;
    pl_shape whole = pl_placement_local(&x->where, c->mesh, &x->value->shape);
    if (x->blocks >= 0 || parts == 1 || whole.dim[d] % parts) return false;
    if (x->where.pending >> a & 1 || pl_placement_dim(&x->where, a) >= 0) return false;
    int64_t outer = product(&whole, 0, d);
    int64_t row = product(&whole, d, whole.rank) * pl_type_bytes(x->value->type), run = row / parts;
    if (s->in[0].at != x->at.at + run * pl_mesh_coord(c->mesh, c->p->rank, a)) return false;
    *out = *x;
    pl_placement_split(&out->where, d, a);
    return is_nest(s, run, 1, 0, 0, outer, row, run);
}

static bool whole_copy(const pl_step *s, const content *x, content *out)
{
    *out = *x;
    return same_slot(x->at, s->in[0]) && is_nest(s, x->bytes, 1, 0, 0, 1, 0, 0);
}

static bool check_copy(checker *c, int i)
{
    const pl_step *s = &c->p->step[i];
    struct {
        int n, cap;
        content *at;
    } parts = { 0 };
    int64_t span = (s->n[0] - 1) * s->from[0] + (s->n[1] - 1) * s->from[1] + s->bytes;
    int64_t bytes = s->n[0] * s->n[1] * s->bytes;
    PL_TRY(touch(c, i, s->in[0], span, false));
    for (int k = 0; k < c->now.n; k++) {
        const content *x = &c->now.at[k];
        content y;
        if (!overlap(x->at, x->bytes, s->in[0], span)) continue;
        if (whole_copy(s, x, &y) || assembled(c, s, x, &y)) PL_PUSH(c->tmp, &parts, y);
        for (int d = 0; d < x->value->shape.rank; d++)
            for (int a = 0; a < c->mesh->n; a++)
                if (sliced(c, s, x, d, a, &y)) PL_PUSH(c->tmp, &parts, y);
    }
    if (!parts.n) return fail_read(c, i, s->in[0], span, "what it can copy, slice or assemble");
    if (overlap(s->in[0], span, s->out[0], bytes))
        return pl_err_set(c->err, PL_EMISMATCH, "%s: its copy, in %s, lies over %s",
                          step_text(c, i), slot_text(c, s->out[0], bytes),
                          slot_text(c, s->in[0], span));
    PL_TRY(write_range(c, i, s->out[0], bytes));
    for (int k = 0; k < parts.n; k++) {
        parts.at[k].at = s->out[0];
        parts.at[k].bytes = bytes;
        PL_PUSH(c->tmp, &c->now, parts.at[k]);
    }
    return true;
}

/* -- before and after -------------------------------------------------------------------------- */

static bool put_before(checker *c, const pl_value *v, const pl_placement *where, pl_slot at)
{
    int64_t bytes = part_bytes(c, v, where);
    for (int i = 0; i < c->now.n; i++)
        if (overlap(c->now.at[i].at, c->now.at[i].bytes, at, bytes))
            return pl_err_set(c->err, PL_EMISMATCH, "'%s' and '%s' are both in %s", v->name,
                              c->now.at[i].value->name, slot_text(c, at, bytes));
    PL_TRY(touch(c, BEFORE, at, bytes, true));
    put(c, v, where, at);
    return true;
}

/* The state of this graph that a store's port keeps, or NULL: another program's. */
static const pl_value *state_of(const checker *c, const pl_port *x)
{
    const pl_graph *g = c->p->plan->graph;
    for (int i = 0; i < g->values.n; i++)
        if (g->values.at[i]->role == PL_STATE && !strcmp(g->values.at[i]->name, x->value->name))
            return g->values.at[i];
    return NULL;
}

static bool start(checker *c)
{
    const pl_program *p = c->p;
    for (int i = 0; i < p->store->n; i++) {
        const pl_port *x = &p->store->state[i];
        pl_placement where = pl_placement_trim(&x->where, c->mesh);
        const pl_value *v = state_of(c, x);
        PL_TRY(put_before(c, v ? v : x->value, &where, x->slot));
    }
    for (int i = 0; i < p->n_inputs; i++) {
        const pl_port *x = &p->input[i];
        pl_placement where = pl_placement_trim(&p->plan->stored[x->value->id], c->mesh);
        PL_TRY(put_before(c, x->value, &where, x->slot));
    }
    return true;
}

static bool finish(checker *c)
{
    const pl_program *p = c->p;
    for (int i = 0; i < p->store->n; i++) {
        const pl_port *x = &p->store->state[i];
        const pl_value *v = state_of(c, x);
        pl_placement where = pl_placement_trim(&x->where, c->mesh);
        PL_TRY(read_part(c, p->n_steps, !v ? x->value : v->next ? v->next : v, &where, x->slot));
    }
    for (int i = 0; i < p->n_outputs; i++) {
        pl_placement whole = { 0 };
        PL_TRY(read_part(c, p->n_steps, p->output[i].value, &whole, p->output[i].slot));
    }
    return true;
}

/* -- lanes ------------------------------------------------------------------------------------- */

/* Two steps whose order nothing fixes: neither may write what the other touches. */
static bool check_pair(checker *c, int i, int k)
{
    for (int a = c->first[i]; a < c->first[i + 1]; a++)
        for (int b = c->first[k]; b < c->first[k + 1]; b++) {
            const access *x = &c->log.at[a], *y = &c->log.at[b];
            if (!(x->write || y->write) || !overlap(x->at, x->bytes, y->at, y->bytes)) continue;
            return pl_err_set(c->err, PL_EMISMATCH,
                              "%s and %s may run at once: one %s %s, the other %s %s",
                              step_text(c, i), step_text(c, k), x->write ? "writes" : "reads",
                              slot_text(c, x->at, x->bytes), y->write ? "writes" : "reads",
                              slot_text(c, y->at, y->bytes));
        }
    return true;
}

typedef struct lanes {
    int n_computes, n_messages;
    int *compute, *message; /* step of each                                                    */
    int *waited;            /* [computes] messages finished before it, by its lane's order too */
    int *after, *finished;  /* [messages] computes and messages finished before it             */
} lanes;

static int more(int a, int b)
{
    return a > b ? a : b;
}

/* Number the steps of each lane and gather what is known to be finished before each of them: a lane
 * keeps its order, so what one step waited for all later ones have behind them. */
static bool find_lanes(checker *c, lanes *l)
{
    const pl_program *p = c->p;
    l->compute = PL_NEW_N(c->tmp, int, p->n_steps + 1);
    l->message = PL_NEW_N(c->tmp, int, p->n_steps + 1);
    l->waited = PL_NEW_N(c->tmp, int, p->n_steps + 1);
    l->after = PL_NEW_N(c->tmp, int, p->n_steps + 1);
    l->finished = PL_NEW_N(c->tmp, int, p->n_steps + 1);
    for (int i = 0; i < p->n_steps; i++) {
        const pl_step *s = &p->step[i];
        int k = l->n_computes, m = l->n_messages;
        if (s->wait < 0 || s->wait > m || (s->kind == PL_MESSAGE && (s->after < 0 || s->after > k)))
            return pl_err_set(c->err, PL_EMISMATCH,
                              "%s waits for %d messages and %d compute steps; %d and "
                              "%d come before it",
                              step_text(c, i), s->wait, s->kind == PL_MESSAGE ? s->after : k, m, k);
        if (s->kind != PL_MESSAGE) {
            l->compute[k] = i;
            l->waited[k] = more(s->wait, k ? l->waited[k - 1] : 0);
            l->n_computes++;
            continue;
        }
        l->message[m] = i;
        l->after[m] = more(s->after, m ? l->after[m - 1] : 0);
        l->finished[m] = more(s->wait, m ? l->finished[m - 1] : 0);
        if (l->after[m]) l->finished[m] = more(l->finished[m], l->waited[l->after[m] - 1]);
        l->n_messages++;
    }
    if (l->n_computes != p->n_compute || l->n_messages != p->n_messages)
        return pl_err_set(c->err, PL_EMISMATCH,
                          "%d compute steps and %d messages, counted as %d and %d", l->n_computes,
                          l->n_messages, p->n_compute, p->n_messages);
    return true;
}

static bool check_lanes(checker *c)
{
    lanes l = { 0 };
    PL_TRY(find_lanes(c, &l));
    for (int m = 0; m < l.n_messages; m++) {
        for (int k = l.after[m]; k < l.n_computes && l.waited[k] <= m; k++)
            PL_TRY(check_pair(c, l.message[m], l.compute[k]));
        for (int k = m + 1; k < l.n_messages && l.finished[k] <= m; k++)
            PL_TRY(check_pair(c, l.message[m], l.message[k]));
    }
    return true;
}

static bool check(checker *c)
{
    const pl_program *p = c->p;
    c->first = PL_NEW_N(c->tmp, int, p->n_steps + 1);
    if (p->work_bound > p->work_bytes)
        return pl_err_set(c->err, PL_EMISMATCH, "work of %lld bytes is less than its bound of %lld",
                          (long long)p->work_bytes, (long long)p->work_bound);
    PL_TRY(start(c));
    for (int i = 0; i < p->n_steps; i++) {
        const pl_step *s = &p->step[i];
        c->first[i] = c->log.n;
        if (s->kind == PL_KERNEL)
            PL_TRY(check_kernel(c, i));
        else if (s->kind == PL_COPY)
            PL_TRY(check_copy(c, i));
        else if (s->collective == PL_COLLECTIVE_REDUCE)
            PL_TRY(check_reduce(c, i));
        else
            PL_TRY(check_gather(c, i));
    }
    c->first[p->n_steps] = c->log.n;
    PL_TRY(finish(c));
    return check_lanes(c);
}

bool pl_program_check(const pl_program *p, pl_err *err)
{
    pl_arena *tmp = pl_arena_new("program check");
    checker c = { .p = p, .mesh = &p->plan->mesh, .tmp = tmp, .err = err };
    bool ok = check(&c);
    pl_arena_free(tmp);
    return ok;
}
