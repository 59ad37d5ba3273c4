/* An independent check of a program: replay its steps over byte ranges, ask at every read whether
 * the part of the value that the plan wants stands there, and look for steps of the two lanes that
 * may run at once and touch the same bytes. What the plan wants of a node is in pl_plan_operand,
 * what a device holds in pl_region_of; nothing is taken from the lowering.
 *
 * Memory is counted as the largest part of any rank needs it, contents as this rank has them. */
#include "program/check.h"

#include "graph/op.h"
#include "plan/stages.h"

#include <string.h>

enum { BEFORE = -1 }; /* the "step" that fills inputs and states */

const char *pl_check_step_text(const checker *c, int i)
{
    if (i == BEFORE) return "what was there before the step";
    if (i == c->p->n_steps) return "the end of the step";
    return pl_arena_fmt(c->tmp, "step %d '%s'", i, c->p->step[i].label);
}

const char *pl_check_slot_text(const checker *c, pl_slot s, int64_t bytes)
{
    return pl_arena_fmt(c->tmp, "%s%s bytes %lld to %lld", s.host ? "host " : "",
                        s.state ? "state" : "work", (long long)s.at, (long long)(s.at + bytes));
}

const char *pl_check_part_text(const checker *c, const pl_value *v, const pl_placement *where)
{
    return pl_arena_fmt(c->tmp, "'%s' at %s", v->name,
                        pl_placement_text(c->tmp, where, c->mesh, v->shape.rank));
}

bool pl_check_is_part(const content *x)
{
    return !x->blocks && !x->region && !x->piece;
}

bool pl_check_overlap(pl_slot a, int64_t a_bytes, pl_slot b, int64_t b_bytes)
{
    return a.state == b.state && a.host == b.host && a.at < b.at + b_bytes && b.at < a.at + a_bytes;
}

static int64_t block_bytes(const pl_program *p, pl_slot at)
{
    if (at.host) return at.state ? p->store->host_bytes : p->host_bytes;
    return at.state ? p->store->bytes : p->work_bytes;
}

int64_t pl_check_part_bytes(const checker *c, const pl_value *v, const pl_placement *where)
{
    int64_t most = 0;
    bool window = false;
    for (int i = 0; i < where->n; i++) window |= where->split[i].stride > 0;
    for (int r = 0; r < (window ? c->p->n_ranks : 1); r++) {
        pl_region x = pl_region_of(where, c->mesh, &v->shape, r);
        if (pl_region_count(&x) > most) most = pl_region_count(&x);
    }
    return most * pl_type_bytes(v->type);
}

int64_t pl_check_part_count(const checker *c, const pl_value *v, const pl_placement *where)
{
    pl_region mine = pl_region_of(where, c->mesh, &v->shape, c->p->rank);
    return pl_region_count(&mine);
}

/* -- memory ------------------------------------------------------------------------------------ */

static bool touch(checker *c, int step, pl_slot at, int64_t bytes, bool write)
{
    int64_t size = block_bytes(c->p, at);
    if (at.at < 0 || at.at > size - bytes)
        return pl_err_set(c->err, PL_EMISMATCH, "%s uses %s; the block has %lld",
                          pl_check_step_text(c, step), pl_check_slot_text(c, at, bytes),
                          (long long)size);
    access a = { step, write, at, bytes };
    PL_PUSH(c->tmp, &c->log, a);
    return true;
}

bool pl_check_read(checker *c, int step, pl_slot at, int64_t bytes)
{
    return touch(c, step, at, bytes, false);
}

bool pl_check_write(checker *c, int step, pl_slot at, int64_t bytes)
{
    int n = 0;
    for (int i = 0; i < c->now.n; i++) {
        if (pl_check_overlap(c->now.at[i].at, c->now.at[i].bytes, at, bytes)) continue;
        if (n < i) c->now.at[n] = c->now.at[i];
        n++;
    }
    c->now.n = n;
    return touch(c, step, at, bytes, true);
}

void pl_check_put(checker *c, const pl_value *v, const pl_placement *where, pl_slot at)
{
    content x = { .value = v, .where = *where, .at = at };
    x.bytes = pl_check_part_bytes(c, v, where);
    PL_PUSH(c->tmp, &c->now, x);
}

static bool holds(const checker *c, const pl_value *v, const pl_placement *where, pl_slot at)
{
    for (int i = 0; i < c->now.n; i++) {
        const content *x = &c->now.at[i];
        if (x->value == v && pl_check_is_part(x) && pl_slot_same(x->at, at) &&
            pl_placement_same(&x->where, where))
            return true;
    }
    return false;
}

bool pl_check_fail_read(checker *c, int step, pl_slot at, int64_t bytes, const char *wanted)
{
    for (int i = c->log.n - 1; i >= 0; i--) {
        const access *x = &c->log.at[i];
        if (!x->write || !pl_check_overlap(x->at, x->bytes, at, bytes)) continue;
        return pl_err_set(c->err, PL_EMISMATCH, "%s wants %s in %s, but %s wrote there last",
                          pl_check_step_text(c, step), wanted, pl_check_slot_text(c, at, bytes),
                          pl_check_step_text(c, x->step));
    }
    return pl_err_set(c->err, PL_EMISMATCH, "%s wants %s in %s, where nothing was written",
                      pl_check_step_text(c, step), wanted, pl_check_slot_text(c, at, bytes));
}

bool pl_check_read_part(checker *c, int step, const pl_value *v, const pl_placement *where,
                        pl_slot at)
{
    int64_t bytes = pl_check_part_bytes(c, v, where);
    PL_TRY(touch(c, step, at, bytes, false));
    return holds(c, v, where, at) || !pl_check_part_count(c, v, where) ||
           pl_check_fail_read(c, step, at, bytes, pl_check_part_text(c, v, where));
}

/* -- kernels ----------------------------------------------------------------------------------- */

/* The range of factor f that the choices and this rank's coordinates give: of n positions, each of
 * p devices has ceil(n / p) in turn. */
static pl_range find_range(const checker *c, const pl_node *n, int f)
{
    int64_t chunk = n->sig->factor[f].size;
    pl_range r = { 0, chunk };
    int axes[PL_MAX_AXES];
    pl_choice_order(&c->p->plan->choice[n->id], &c->p->plan->mesh, axes);
    for (int i = 0; i < c->mesh->n; i++) {
        int a = axes[i];
        int64_t parts = c->mesh->axis[a].size, skip;
        if (c->p->plan->choice[n->id].factor[a] != f) continue;
        chunk = (chunk + parts - 1) / parts;
        skip = chunk * pl_mesh_coord(c->mesh, c->p->rank, a);
        if (skip > r.n) skip = r.n;
        r = (pl_range){ r.lo + skip, r.n - skip };
        if (r.n > chunk) r.n = chunk;
    }
    return r;
}

bool pl_check_is_idle(const checker *c, const pl_node *n)
{
    for (int f = 0; f < n->sig->n_factors; f++)
        if (!find_range(c, n, f).n) return true;
    return false;
}

bool pl_check_share(checker *c, int i, const pl_share *s, const pl_piece *piece)
{
    const pl_node *n = s->node;
    for (int f = 0; f < n->sig->n_factors; f++) {
        pl_range r = find_range(c, n, f);
        if (piece && f == piece->factor) {
            r.n /= piece->n;
            r.lo += r.n * piece->i;
        }
        if (s->factor[f].lo != r.lo || s->factor[f].n != r.n || !r.n)
            return pl_err_set(c->err, PL_EMISMATCH,
                              "%s computes %lld of '%c' from %lld; the plan says "
                              "%lld from %lld",
                              pl_check_step_text(c, i), (long long)s->factor[f].n,
                              n->sig->factor[f].letter, (long long)s->factor[f].lo, (long long)r.n,
                              (long long)r.lo);
    }
    for (int o = 0; o < n->n_in + n->n_out; o++) {
        pl_placement where = pl_plan_operand(c->p->plan, n->id, o);
        int64_t has = pl_shape_count(&s->shape[o]);
        int64_t wanted = pl_check_part_count(c, pl_node_value(n, o), &where);
        if (piece && pl_share_touches(n, o, piece->factor)) wanted /= piece->n;
        if (has != wanted)
            return pl_err_set(c->err, PL_EMISMATCH,
                              "%s: operand %d has %lld elements, its part %lld",
                              pl_check_step_text(c, i), o, (long long)has, (long long)wanted);
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
    if (over >= 0 && !pl_slot_same(s->in[over], at))
        return pl_err_set(c->err, PL_EMISMATCH,
                          "%s updates its input %d in place, but its output %d is "
                          "elsewhere, in %s",
                          pl_check_step_text(c, i), over, o, pl_check_slot_text(c, at, bytes));
    for (int a = c->first[i]; a < c->log.n; a++) {
        const access *x = &c->log.at[a];
        if (!pl_check_overlap(x->at, x->bytes, at, bytes)) continue;
        bool fits = !x->write && pl_slot_same(x->at, at) && x->bytes == bytes;
        if (fits && may_share(n, o, a - c->first[i])) continue;
        return pl_err_set(c->err, PL_EMISMATCH,
                          "%s: output %d, in %s, lies over its own operand %d, in %s",
                          pl_check_step_text(c, i), o, pl_check_slot_text(c, at, bytes),
                          a - c->first[i], pl_check_slot_text(c, x->at, x->bytes));
    }
    return true;
}

static bool check_kernel(checker *c, int i)
{
    const pl_step *s = &c->p->step[i];
    const pl_node *n = s->share ? s->share->node : NULL;
    if (!n || s->n_in != n->n_in || s->n_out != n->n_out)
        return pl_err_set(
            c->err, PL_EMISMATCH, "%s has %d inputs and %d outputs, its node %d and %d",
            pl_check_step_text(c, i), s->n_in, s->n_out, n ? n->n_in : 0, n ? n->n_out : 0);
    PL_TRY(pl_check_share(c, i, s->share, NULL));
    if (c->p->plan->on_host[n->id] != (s->kind == PL_HOST_KERNEL))
        return pl_err_set(c->err, PL_EMISMATCH, "%s runs elsewhere than the plan says",
                          pl_check_step_text(c, i));
    for (int k = 0; k < n->n_in; k++) {
        pl_placement where = pl_plan_operand(c->p->plan, n->id, k);
        PL_TRY(pl_check_read_part(c, i, n->in[k], &where, s->in[k]));
    }
    for (int o = 0; o < n->n_out; o++) {
        pl_placement where = pl_plan_operand(c->p->plan, n->id, n->n_in + o);
        int64_t bytes = pl_check_part_bytes(c, n->out[o], &where);
        PL_TRY(check_sharing(c, i, o, s->out[o], bytes));
        if (n->op->view && pl_slot_same(s->in[0], s->out[0]))
            PL_TRY(touch(c, i, s->out[o], bytes, false)); /* nothing moves, the input stays */
        else
            PL_TRY(pl_check_write(c, i, s->out[o], bytes));
    }
    for (int o = 0; o < n->n_out; o++) {
        pl_placement where = pl_plan_operand(c->p->plan, n->id, n->n_in + o);
        pl_check_put(c, n->out[o], &where, s->out[o]);
    }
    return true;
}

/* -- before and after -------------------------------------------------------------------------- */

/* What the outside is told of a part that it writes or reads. */
static bool check_port(const checker *c, const pl_port *x, const pl_placement *where)
{
    pl_region r = pl_region_of(where, c->mesh, &x->value->shape, c->p->rank);
    bool same = pl_placement_same(&x->where, where) && r.n == x->region->n &&
                x->slot.host == where->host && pl_shape_count(&x->shape) == pl_region_count(&r) &&
                x->bytes == pl_check_part_bytes(c, x->value, where);
    for (int i = 0; same && i < r.n; i++) {
        const pl_digit *a = &r.digit[i], *b = &x->region->digit[i];
        same = a->dim == b->dim && a->size == b->size && a->unit == b->unit && a->lo == b->lo &&
               a->n == b->n;
    }
    return same || pl_err_set(c->err, PL_EMISMATCH, "the port of '%s' is not its part at %s",
                              x->value->name,
                              pl_placement_text(c->tmp, where, c->mesh, x->value->shape.rank));
}

static bool put_before(checker *c, const pl_value *v, const pl_placement *where, pl_slot at)
{
    int64_t bytes = pl_check_part_bytes(c, v, where);
    for (int i = 0; i < c->now.n; i++)
        if (pl_check_overlap(c->now.at[i].at, c->now.at[i].bytes, at, bytes))
            return pl_err_set(c->err, PL_EMISMATCH, "'%s' and '%s' are both in %s", v->name,
                              c->now.at[i].value->name, pl_check_slot_text(c, at, bytes));
    PL_TRY(touch(c, BEFORE, at, bytes, true));
    pl_check_put(c, v, where, at);
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

static pl_placement normal(const checker *c, const pl_placement *x, const pl_value *v)
{
    return pl_placement_normal(x, c->mesh, &v->shape);
}

/* Another stage holds it: here is no byte of it. */
static bool is_elsewhere(const checker *c, const pl_port *x, const pl_value *v)
{
    return !x->bytes && !pl_region_count(x->region) && c->p->plan->stages &&
           !(v && pl_plan_holds(c->p->plan, v, c->p->rank));
}

static bool start(checker *c)
{
    const pl_program *p = c->p;
    for (int i = 0; i < p->store->n; i++) {
        const pl_port *x = &p->store->state[i];
        const pl_value *v = state_of(c, x);
        if (is_elsewhere(c, x, v)) continue;
        pl_placement where = normal(c, v ? &p->plan->stored[v->id] : &x->where, x->value);
        PL_TRY(check_port(c, x, &where));
        PL_TRY(put_before(c, v ? v : x->value, &where, x->slot));
    }
    for (int i = 0; i < p->n_inputs; i++) {
        const pl_port *x = &p->input[i];
        pl_placement where = normal(c, &p->plan->stored[x->value->id], x->value);
        PL_TRY(check_port(c, x, &where));
        PL_TRY(put_before(c, x->value, &where, x->slot));
    }
    return true;
}

/* What a state has at the end. */
static const pl_value *left_in(const checker *c, const pl_value *v)
{
    const pl_node *maker = v->next ? v->next->maker : NULL;
    const bool waits = c->p->micro && maker && maker->phase == PL_UPDATE;
    return v->next && !waits ? v->next : v;
}

static bool finish(checker *c)
{
    const pl_program *p = c->p;
    for (int i = 0; i < p->store->n; i++) {
        const pl_port *x = &p->store->state[i];
        const pl_value *v = state_of(c, x);
        if (is_elsewhere(c, x, v)) continue;
        pl_placement where = normal(c, &x->where, x->value);
        PL_TRY(pl_check_read_part(c, p->n_steps, v ? left_in(c, v) : x->value, &where, x->slot));
    }
    for (int i = 0; i < p->n_outputs; i++) {
        pl_placement whole = { 0 };
        PL_TRY(check_port(c, &p->output[i], &whole));
        PL_TRY(pl_check_read_part(c, p->n_steps, p->output[i].value, &whole, p->output[i].slot));
    }
    return true;
}

static bool check_books(const checker *c)
{
    const pl_program *p = c->p;
    int64_t bytes = 0;
    for (int i = 0; i < p->n_steps; i++)
        if (pl_step_is_between(&p->step[i])) bytes += p->step[i].bytes;
    if (bytes != p->message_bytes)
        return pl_err_set(c->err, PL_EMISMATCH, "messages of %lld bytes, counted as %lld",
                          (long long)bytes, (long long)p->message_bytes);
    return p->work_bound <= p->work_bytes ||
           pl_err_set(c->err, PL_EMISMATCH, "work of %lld bytes is less than its bound of %lld",
                      (long long)p->work_bytes, (long long)p->work_bound);
}

/* Only copies to and from it, and kernels on it, touch the host's memory. */
static bool check_memory(const checker *c, int i)
{
    const pl_step *s = &c->p->step[i];
    const bool on = s->kind == PL_HOST_KERNEL, copies = pl_step_is_host(s);
    const bool in = on || (copies && s->collective == PL_FROM_HOST),
               out = on || (copies && s->collective == PL_TO_HOST);
    bool fits = true;
    for (int k = 0; k < s->n_in; k++) fits &= s->in[k].host == in;
    for (int k = 0; k < s->n_out; k++) fits &= s->out[k].host == out;
    return fits || pl_err_set(c->err, PL_EMISMATCH, "%s works in the wrong memory",
                              pl_check_step_text(c, i));
}

static bool check_step(checker *c, int i)
{
    PL_TRY(check_memory(c, i));
    if (c->p->step[i].piece) return pl_check_piece(c, i);
    switch (c->p->step[i].kind) {
    case PL_KERNEL:
    case PL_HOST_KERNEL: return check_kernel(c, i);
    case PL_MESSAGE: return pl_check_message(c, i);
    case PL_COPY: return pl_check_copy(c, i);
    case PL_FILL: return pl_check_fill(c, i);
    case PL_FOLD: break; /* only in steps */
    }
    return pl_err_set(c->err, PL_EMISMATCH, "%s is of no kind", pl_check_step_text(c, i));
}

static bool check(checker *c)
{
    const pl_program *p = c->p;
    const pl_graph *g = p->plan->graph;
    c->first = PL_NEW_N(c->tmp, int, p->n_steps + 1);
    for (int i = 0; i < g->nodes.n && !c->idle; i++) c->idle = pl_check_is_idle(c, g->nodes.at[i]);
    PL_TRY(check_books(c));
    PL_TRY(start(c));
    for (int i = 0; i < p->n_steps; i++) {
        c->first[i] = c->log.n;
        PL_TRY(check_step(c, i));
    }
    c->first[p->n_steps] = c->log.n;
    PL_TRY(finish(c));
    return pl_check_lanes(c);
}

bool pl_program_check(const pl_program *p, pl_err *err)
{
    pl_arena *tmp = pl_arena_new("program check");
    checker c = { .p = p, .mesh = &p->plan->mesh, .tmp = tmp, .err = err };
    bool ok = check(&c);
    pl_arena_free(tmp);
    return ok;
}
