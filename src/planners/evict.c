/* What is kept of a plan, tensor by tensor: pl_candidates_evict(). A program's kernels are the ops
 * of an eviction problem (evict/evict.h), what they make its values; what its schedule makes again
 * or copies to the host, the plan does so too. The schedule counts what kernels make alone, so that
 * its budget is a share of its own peak, and the forecast of the whole says whether that was
 * enough. */
#include "policies/find.h"

#include "graph/op.h"
#include "plan/offload.h"
#include "planners/candidates.h"

#include <math.h>
#include <string.h>

enum { MOST_OPS = 2500, EFFORT = 1000000, STRETCHES = 2, TRIES = 4, MOST_RUNS = 2 };

/* Of the room: as good as full, and what a budget that was too large comes down to. */
static const double FULL = 0.95, LESS = 0.985;

/* Of a step: what is made again takes so much that copies may be better. */
static const double DEAR = 1.1;

typedef struct ints {
    int n, cap, *at;
} ints;

/* The problem while it is made, and what its parts are. */
typedef struct making {
    const pl_program *p;
    pl_arena *tmp;
    pl_evict_problem problem;
    pl_evict_facts facts;   /* of its order as it stands */
    const pl_value **value; /* [n_value] */
    int *now;               /* [values of the graph] the value that has its contents; -1: none */
    double *seconds;
    bool *once;
    int64_t *bytes;
    int *maker, *view_of;
    uint8_t *keep;
    int *read_at;
    ints read;
    int cap; /* values */
} making;

/* -- the problem ------------------------------------------------------------------------------- */

static int add_value(making *x, const pl_value *v, int maker, int view_of, int64_t bytes)
{
    const int id = x->problem.n_value++;
    PL_ASSERT_CMP(id, <, x->cap);
    x->value[id] = v;
    x->maker[id] = maker;
    x->view_of[id] = view_of;
    x->bytes[id] = view_of < 0 ? bytes : 0;
    return x->now[v->id] = id;
}

static void add_read(making *x, const pl_value *v)
{
    const int id = x->now[v->id], from = x->read_at[x->problem.n_op];
    if (id < 0) return; /* a state */
    for (int k = from; k < x->read.n; k++)
        if (x->read.at[k] == id) return;
    PL_PUSH(x->tmp, &x->read, id);
}

/* Does output o of a node lie over an input, as the next contents of a state do? */
static bool is_in_place(const pl_node *n, int o)
{
    const char *at = n->op->inplace;
    return at && o < (int)strlen(at) && at[o] != '-';
}

/* Was the storage of a value made by an op that runs once? */
static bool is_settled(const making *x, int value)
{
    while (x->view_of[value] >= 0) value = x->view_of[value];
    return x->maker[value] >= 0 && x->once[x->maker[value]];
}

/* The value in whose storage output o lies: of a view, or of what a kernel of the backward pass
 * writes over, since nobody reads it later; -1: its own. (What a forward kernel made may leave, and
 * come again: then there is more to lie over.) */
static int storage_of(const making *x, const pl_step *s, int o)
{
    const pl_node *n = s->share->node;
    if (n->op->view) return x->now[n->in[0]->id];
    for (int k = 0; k < n->n_in && n->n_out == 1 && n->phase != PL_FORWARD; k++) {
        const int in = x->now[n->in[k]->id];
        if (in >= 0 && pl_slot_same(s->in[k], s->out[o]) && is_settled(x, in)) return in;
    }
    return -1;
}

static void add_made(making *x, const pl_step *s, int op)
{
    const pl_node *n = s->share->node;
    for (int o = 0; o < n->n_out; o++) {
        const pl_value *v = n->out[o];
        const int64_t bytes = pl_shape_count(&s->share->out[o]) * pl_type_bytes(v->type);
        const int of = storage_of(x, s, o);
        if (is_in_place(n, o) || (n->op->view && of < 0))
            x->now[v->id] = -1;
        else
            add_value(x, v, op, of, bytes);
    }
}

static void add_op(making *x, const pl_step *s, const pl_speed *speed)
{
    const pl_node *n = s->share->node;
    const int op = x->problem.n_op;
    for (int k = 0; k < n->n_in; k++) add_read(x, n->in[k]);
    x->seconds[op] = pl_forecast_step(x->p, s, speed);
    x->once[op] = n->phase != PL_FORWARD || pl_op_changes_state(n->op);
    add_made(x, s, op);
    x->read_at[++x->problem.n_op] = x->read.n;
}

static making open_problem(const pl_program *p, pl_arena *tmp)
{
    const int values = p->plan->graph->values.n;
    making x = { .p = p, .tmp = tmp, .cap = values + 1 };
    for (int i = 0; i < p->n_steps; i++)
        if (p->step[i].kind == PL_KERNEL) x.cap += p->step[i].n_out;
    x.value = PL_NEW_N(tmp, const pl_value *, x.cap);
    x.bytes = PL_NEW_N(tmp, int64_t, x.cap);
    x.maker = PL_NEW_N(tmp, int, x.cap);
    x.view_of = PL_NEW_N(tmp, int, x.cap);
    x.keep = PL_NEW_N(tmp, uint8_t, x.cap);
    x.now = PL_NEW_N(tmp, int, values + 1);
    x.seconds = PL_NEW_N(tmp, double, p->n_steps + 1);
    x.once = PL_NEW_N(tmp, bool, p->n_steps + 1);
    x.read_at = PL_NEW_N(tmp, int, p->n_steps + 2);
    for (int i = 0; i < values; i++) x.now[i] = -1;
    return x;
}

/* The smallest, a hundredth of all together, stay: there are many of them. */
static void pin_small(making *x)
{
    double all = 0;
    for (int i = 0; i < x->problem.n_value; i++) all += (double)x->bytes[i];
    const double small = all / 100 / (x->problem.n_value + 1);
    for (int i = 0; i < x->problem.n_value; i++)
        if (x->view_of[i] < 0 && (double)x->bytes[i] < small) x->keep[i] = PL_EVICT_PINNED;
}

/* The kernels of a program in their order; states, and what is on its way between placements, are
 * no part of it. */
static making make_problem(const choosing *c, const pl_program *p, pl_arena *tmp)
{
    making x = open_problem(p, tmp);
    for (int i = 0; i < p->n_inputs; i++)
        x.keep[add_value(&x, p->input[i].value, -1, -1, p->input[i].bytes)] = PL_EVICT_PINNED;
    for (int i = 0; i < p->n_steps; i++)
        if (p->step[i].kind == PL_KERNEL && !p->step[i].piece) add_op(&x, &p->step[i], &c->speed);
    pin_small(&x);
    pl_evict_problem *e = &x.problem;
    e->seconds = x.seconds, e->once = x.once;
    e->bytes = x.bytes, e->maker = x.maker, e->view_of = x.view_of, e->keep = x.keep;
    e->read_at = x.read_at, e->read = x.read.at;
    e->most_runs = MOST_RUNS;
    if (c->b->host_limit > 0 && p->plan->mesh.host_per_byte > 0)
        e->out_bytes_per_s = e->in_bytes_per_s = 1 / p->plan->mesh.host_per_byte;
    x.facts = pl_evict_measure(e);
    return x;
}

/* -- the plan ---------------------------------------------------------------------------------- */

static void keep_hosted(pl_plan *p, const pl_value *v, pl_arena *out)
{
    p->kept[v->id] = NULL; /* as its maker has it */
    p->recompute[v->id] = false;
    pl_plan_offload(p, v, out);
}

/* A weight that was cast is cast again. */
static void make_again(pl_plan *p, const pl_value *v, pl_arena *out)
{
    if (pl_graph_state(v))
        pl_plan_keep(p, v, UINT8_MAX, out);
    else if (!p->kept[v->id] || !p->kept[v->id]->host)
        p->recompute[v->id] = pl_plan_can_recompute(v), p->kept[v->id] = NULL;
}

/* What the actions drop before a run makes it again, or copy. */
static void apply(const making *x, const pl_evict_schedule *s, pl_plan *p, pl_arena *out)
{
    const pl_evict_problem *e = &x->problem;
    bool *ran = PL_NEW_N(x->tmp, bool, e->n_op + 1), *gone = PL_NEW_N(x->tmp, bool, e->n_value + 1);
    bool *hosted = PL_NEW_N(x->tmp, bool, e->n_value + 1);
    for (int i = 0; i < s->n; i++) {
        const int what = s->action[i].what;
        if (s->action[i].act == PL_EVICT_DROP) gone[what] = true;
        if (s->action[i].act == PL_EVICT_IN) gone[what] = false;
        if (s->action[i].act == PL_EVICT_OUT) hosted[what] = pl_plan_can_offload(x->value[what]);
        if (s->action[i].act != PL_EVICT_RUN) continue;
        for (int v = 0; v < e->n_value && ran[what]; v++)
            if (e->maker[v] == what && (gone[v] || e->view_of[v] >= 0))
                make_again(p, x->value[v], out), gone[v] = false;
        ran[what] = true;
    }
    for (int v = 0; v < e->n_value; v++) {
        if (hosted[v]) keep_hosted(p, x->value[v], out);
        int of = v;
        while (e->view_of[of] >= 0) of = e->view_of[of];
        if (of != v && hosted[of]) make_again(p, x->value[v], out);
    }
}

static pl_plan *copy_plan(const pl_plan *p, pl_arena *out)
{
    const int n = p->graph->values.n;
    pl_plan *x = PL_NEW(out, pl_plan);
    *x = *p;
    x->strategy = "auto";
    x->kept = PL_NEW_N(out, const pl_placement *, n + 1);
    x->recompute = PL_NEW_N(out, bool, n + 1);
    memcpy(x->kept, p->kept, (size_t)n * sizeof *x->kept);
    memcpy(x->recompute, p->recompute, (size_t)n * sizeof *x->recompute);
    return x;
}

/* -- the candidate ----------------------------------------------------------------------------- */

/* The fastest that keeps all, however much memory that takes. NULL: there is none. */
static const pl_candidate *find_base(const pl_found *b)
{
    const pl_candidate *k = NULL;
    for (int i = 0; i < b->n; i++) {
        const pl_forecast *f = &b->at[i].forecast;
        if (f->again_seconds > 0 || f->memory.host) continue;
        if (!k || f->step_seconds < k->forecast.step_seconds) k = &b->at[i];
    }
    return k;
}

static const char *name_of(const choosing *x, const pl_candidate *base, const pl_plan *p)
{
    int again = 0, hosted = 0;
    for (int i = 0; i < p->graph->values.n; i++) {
        again += p->recompute[i];
        hosted += p->kept[i] && p->kept[i]->host;
    }
    return pl_arena_fmt(x->out, "%s, %d tensors made again, %d on the host",
                        *base->name ? base->name : "one device", again, hosted);
}

/* Does a schedule take less beside its order than what is the fastest now does beside the base? */
static bool is_faster(const choosing *x, const pl_candidate *base, const making *m,
                      const pl_evict_schedule *s)
{
    const double longer = s->seconds - m->facts.seconds;
    return base->forecast.step_seconds + longer < pl_candidates_fastest(x->b);
}

/* One more candidate, by a schedule within so many bytes. *work: its work block. False: there is
 * none that is faster. */
static bool try_budget(choosing *x, const pl_candidate *base, const making *m, bool copies,
                       int64_t budget, double *work)
{
    const pl_evict_options o = {
        .budget = budget, .effort = EFFORT, .no_copies = !copies, .stretches = STRETCHES
    };
    pl_evict_schedule s;
    pl_err why = { 0 };
    if (!pl_evict_find(&m->problem, &o, m->tmp, &s, &why) || !is_faster(x, base, m, &s))
        return false;
    pl_plan *p = copy_plan(base->plan, x->out);
    apply(m, &s, p, x->out);
    if (!pl_plan_check(p, &why) || !pl_candidates_add(x, name_of(x, base, p), p, 0, &why))
        return false;
    const pl_candidate *k = &x->b->at[x->b->n - 1];
    *work = (double)k->forecast.memory.peak - (double)k->store->bytes;
    return true;
}

/* Budgets until the work block is as good as full. Only the fastest stays. */
static void search_budgets(choosing *x, const pl_candidate *base, const making *m, bool copies)
{
    const double room = x->b->limit - (double)base->store->bytes;
    double share = room / (double)base->program->work_bytes, low = 0, high = 1, work;
    const int first = x->b->n;
    for (int i = 0; i < TRIES && share < 1 && share > low; i++) {
        if (!try_budget(x, base, m, copies, (int64_t)(share * (double)m->facts.peak), &work)) {
            low = share, share = (share + high) / 2; /* less than it can do with */
            continue;
        }
        const pl_candidate *k = &x->b->at[x->b->n - 1];
        *(k->fits ? &low : &high) = share;
        if (x->b->n > first + 1) {
            const bool worse = pl_candidate_order(k, &x->b->at[first]) > 0;
            if (!worse) x->b->at[first] = *k;
            x->b->n = first + 1;
        }
        if (work <= room && work > FULL * room) break;
        share = fmin(fmax(share * room / work * (work > room ? LESS : 1), low), high);
    }
}

/* The one of any candidate, or of a search where memory does not bind; lowered whole. */
static bool make_base(choosing *x, pl_candidate *base, pl_err *err)
{
    const pl_candidate *found = find_base(x->b);
    pl_auto any;
    if (found) {
        *base = *found;
    } else {
        PL_TRY(pl_candidates_any_memory(x, 0, &any, err));
        const pl_auto_mesh *m = &any.mesh[any.best];
        *base = (pl_candidate){ .name = pl_mesh_text(&m->mesh, x->out), .problem = m->problem };
        base->plan = pl_problem_plan(m->problem, m->answer.value, NULL, "auto", x->out);
    }
    return pl_candidate_whole(x, base, err) && pl_candidate_forecast(x, base, err);
}

bool pl_candidates_evict(choosing *x, pl_err *err)
{
    const pl_candidate *k = pl_candidates_best(x->b);
    pl_candidate base;
    if (k && !(k->forecast.again_seconds > 0) && !k->forecast.memory.host) return true;
    if (x->g->nodes.n > MOST_OPS || pl_candidates_late(x)) return true;
    PL_TRY(make_base(x, &base, err));
    pl_arena *tmp = pl_arena_new("eviction");
    const making m = make_problem(x, base.program, tmp);
    x->brief = true;
    search_budgets(x, &base, &m, false);
    const double most = DEAR * base.forecast.step_seconds;
    if (m.problem.out_bytes_per_s > 0 && pl_candidates_fastest(x->b) > most)
        search_budgets(x, &base, &m, true);
    x->brief = false;
    pl_arena_free(tmp);
    return true;
}
