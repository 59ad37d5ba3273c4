/* A program's kernels as an eviction problem, and its schedule as a plan. */
#include "planners/eviction.h"

#include "graph/op.h"
#include "plan/offload.h"

#include <string.h>

typedef struct ints {
    int n, cap, *at;
} ints;

/* The problem while it is made. */
typedef struct making {
    const pl_program *p;
    pl_arena *tmp;
    pl_evict_problem problem;
    const pl_value **value; /* [n_value] */
    const pl_node **node;   /* [n_op]    */
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
        const int64_t bytes = pl_shape_count(pl_share_out(s->share, o)) * pl_type_bytes(v->type);
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
    x->node[op] = n;
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
    x.node = PL_NEW_N(tmp, const pl_node *, p->n_steps + 1);
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

pl_eviction pl_eviction_make(const pl_program *p, const pl_speed *speed, double host_limit,
                             pl_arena *out)
{
    const double per_byte = p->plan->mesh.host_per_byte;
    making x = open_problem(p, out);
    for (int i = 0; i < p->n_inputs; i++)
        x.keep[add_value(&x, p->input[i].value, -1, -1, p->input[i].bytes)] = PL_EVICT_PINNED;
    for (int i = 0; i < p->n_steps; i++)
        if (p->step[i].kind == PL_KERNEL && !p->step[i].piece) add_op(&x, &p->step[i], speed);
    pin_small(&x);
    pl_evict_problem *e = &x.problem;
    e->seconds = x.seconds, e->once = x.once;
    e->bytes = x.bytes, e->maker = x.maker, e->view_of = x.view_of, e->keep = x.keep;
    e->read_at = x.read_at, e->read = x.read.at;
    if (host_limit > 0 && per_byte > 0) e->out_bytes_per_s = e->in_bytes_per_s = 1 / per_byte;
    return (pl_eviction){ *e, pl_evict_measure(e), x.value, x.node };
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

/* What is copied lies in the host's memory; views of it are made again. */
static void host_values(const pl_eviction *e, const bool hosted[], pl_plan *p, pl_arena *out)
{
    for (int v = 0; v < e->problem.n_value; v++) {
        if (hosted[v]) keep_hosted(p, e->value[v], out);
        int of = v;
        while (e->problem.view_of[of] >= 0) of = e->problem.view_of[of];
        if (of != v && hosted[of]) make_again(p, e->value[v], out);
    }
}

/* What the actions drop before a run makes it again, or copy. */
static void apply(const pl_eviction *x, const pl_evict_schedule *s, pl_plan *p, pl_arena *tmp,
                  pl_arena *out)
{
    const pl_evict_problem *e = &x->problem;
    bool *ran = PL_NEW_N(tmp, bool, e->n_op + 1), *gone = PL_NEW_N(tmp, bool, e->n_value + 1);
    bool *hosted = PL_NEW_N(tmp, bool, e->n_value + 1);
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
    host_values(x, hosted, p, out);
}

static pl_plan *copy_plan(const pl_plan *p, pl_arena *out)
{
    const int n = p->graph->values.n;
    pl_plan *x = PL_NEW(out, pl_plan);
    *x = *p;
    x->kept = PL_NEW_N(out, const pl_placement *, n + 1);
    x->recompute = PL_NEW_N(out, bool, n + 1);
    memcpy(x->kept, p->kept, (size_t)n * sizeof *x->kept);
    memcpy(x->recompute, p->recompute, (size_t)n * sizeof *x->recompute);
    return x;
}

pl_plan *pl_eviction_plan(const pl_eviction *e, const pl_evict_schedule *s, const pl_plan *plan,
                          pl_arena *out)
{
    pl_arena *tmp = pl_arena_new("eviction");
    pl_plan *p = copy_plan(plan, out);
    apply(e, s, p, tmp, out);
    pl_arena_free(tmp);
    return p;
}
