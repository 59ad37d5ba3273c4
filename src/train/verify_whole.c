#include "train/verify_whole.h"

#include <math.h>
#include <string.h>

enum { STEP = PL_VERIFY_STEP, GRADIENTS = PL_VERIFY_GRADIENTS };

/* -- what is compared -------------------------------------------------------------------------- */

static pl_verify_tensor *add_tensor(pl_verify_whole *w, pl_verify_kind k, const pl_value *value)
{
    pl_verify_tensor *t = &w->tensor[w->n++];
    *t = (pl_verify_tensor){ .kind = k, .name = value->name, .value = value };
    return t;
}

static void map_data(pl_verify_tensor *t, const pl_verify_side *from)
{
    t->exec = from->exec;
    t->port = pl_verify_side_port(from, t->kind == PL_VERIFY_FIRST, t->name);
    t->data = pl_exec_map(t->exec, t->port, PL_READ);
}

static const char *first_text(pl_verify_whole *w, const char *name)
{
    static const char suffix[] = ".gradient";
    size_t n = strlen(name), end = sizeof suffix - 1;
    if (n <= end || strcmp(name + n - end, suffix))
        return pl_arena_fmt(w->arena, "%s of step 1", name);
    return pl_arena_fmt(w->arena, "gradient of '%.*s'", (int)(n - end), name);
}

/* An output of the first step, made by node `made`: the first that differs is near the cause. What
 * is neither a scalar nor known to the ranks is of one micro-batch. */
static void add_first(pl_verify_whole *w, const pl_value *value, int64_t made)
{
    bool scalar = !value->shape.rank;
    if (!scalar && !pl_graph_find(w->ranks->graph[GRADIENTS], value->name)) return;
    pl_verify_tensor *t = add_tensor(w, PL_VERIFY_FIRST, value), x = *t;
    x.made = made;
    x.text = first_text(w, x.name);
    if (scalar)
        x.scalar = pl_verify_side_scalar(&w->first, x.name);
    else
        map_data(&x, &w->first);
    for (; t > w->tensor && t[-1].made > made; t--) *t = t[-1];
    *t = x;
}

/* Micro-batches come first, and their gradients are what was added to sums. */
static int64_t made_at(const pl_verify_whole *w, const pl_value *output)
{
    const pl_graph *step = w->graphs.graph[STEP];
    const pl_node *n = output->maker;
    if (w->graphs.runs == 1) return n->id;
    if (n->n_in != 1 || n->in[0]->kind != PL_GRAD_SUM) return step->nodes.n + n->id;
    return pl_graph_find(step, n->in[0]->name)->next->maker->id;
}

static void add_firsts(pl_verify_whole *w)
{
    const pl_program *p = w->first.program[STEP], *q = w->first.program[GRADIENTS];
    for (int i = 0; i < p->n_outputs && w->graphs.runs > 1; i++)
        if (!p->output[i].value->shape.rank)
            add_first(w, p->output[i].value, p->output[i].value->maker->id);
    for (int i = 0; i < q->n_outputs; i++)
        add_first(w, q->output[i].value, made_at(w, q->output[i].value));
}

static void add_scalars(pl_verify_whole *w, int64_t step)
{
    const pl_verify_side *s = &w->last;
    for (int i = 0; i < s->n_scalars; i++) {
        pl_verify_tensor *t = &w->tensor[w->n++];
        *t =
            (pl_verify_tensor){ .kind = PL_VERIFY_SCALAR, .name = s->scalar[i].name, .step = step };
        t->scalar = s->scalar[i].value;
        t->text = pl_arena_fmt(w->arena, "%s of step %lld", t->name, (long long)step + 1);
    }
}

/* Sums of gradients are no states beyond their step; constants stay what they are, masks of minus
 * infinity too. */
static void add_states(pl_verify_whole *w, const pl_verify_side *from, int64_t step)
{
    const pl_store *s = from->store;
    for (int i = 0; i < s->n; i++) {
        if (s->state[i].value->kind == PL_GRAD_SUM || !s->state[i].value->next) continue;
        pl_verify_tensor *t = add_tensor(w, PL_VERIFY_STATE, s->state[i].value);
        map_data(t, from);
        t->step = step;
        t->text = pl_arena_fmt(w->arena, "'%s' after step %lld", t->name, (long long)step + 1);
    }
}

static bool measure(pl_verify_whole *w, pl_verify_tensor *t, pl_err *err)
{
    int64_t n = t->data ? pl_shape_count(&t->value->shape) : 1;
    bool finite = true;
    for (int64_t i = 0; i < n && finite; i++) {
        double y = fabs(t->data ? pl_type_get(t->value->type, t->data, i) : t->scalar);
        finite = isfinite(y);
        if (y > t->top) t->top = y;
    }
    return finite || pl_err_set(err, PL_ERUN,
                                "the whole run is not finite: %s (learning rate %g): lower --lr",
                                t->text, w->o->lr);
}

/* Are they of a kind? So are states whose names end alike: weights, biases, moments. */
static bool same_family(const pl_verify_tensor *a, const pl_verify_tensor *b)
{
    if (a->kind != b->kind || a->kind != PL_VERIFY_STATE) return a->kind == b->kind;
    if (a->step != b->step) return false;
    const char *x = strrchr(a->name, '.'), *y = strrchr(b->name, '.');
    return !strcmp(x ? x : "", y ? y : "");
}

/* A gradient that is zero but for rounding has no scale of its own: it takes that of the others. */
static void set_scales(pl_verify_whole *w)
{
    for (int i = 0; i < w->n; i++) {
        double top = w->tensor[i].top;
        for (int k = 0; k < w->n; k++)
            if (1e-3 * w->tensor[k].top > top && same_family(&w->tensor[i], &w->tensor[k]))
                top = 1e-3 * w->tensor[k].top;
        w->tensor[i].scale = top;
    }
}

/* -- running ----------------------------------------------------------------------------------- */

static bool start(pl_verify_whole *w, pl_verify_side *s, pl_err *err)
{
    const pl_plan *plan[PL_VERIFY_PROGRAMS];
    for (int i = 0; i < w->graphs.n; i++) plan[i] = pl_plan_single(w->graphs.graph[i], w->arena);
    *s = (pl_verify_side){ .o = w->o, .graphs = &w->graphs, .arena = w->arena };
    if (w->of) s->narrow = &w->of->graphs;
    return pl_verify_side_start(s, plan, false, err);
}

static void make_room(pl_verify_whole *w)
{
    int64_t n = w->last.store->n + w->o->steps * w->last.n_scalars + w->last.store->n;
    for (int i = 0; i < w->graphs.n; i++) n += w->first.program[i]->n_outputs;
    w->tensor = PL_NEW_N(w->arena, pl_verify_tensor, n + 1);
}

/* In one piece where that is the same mathematics. */
static bool find_graphs(pl_verify_whole *w, pl_err *err)
{
    if (w->of) return pl_verify_side_twin(w->o, &w->of->graphs, w->arena, &w->graphs, err);
    w->graphs = *w->ranks;
    if (w->o->micro == 1 || !w->ranks->alone) return true;
    return pl_verify_side_build(w->o, 1, w->ranks, w->arena, &w->graphs, err);
}

bool pl_verify_whole_run(pl_verify_whole *w, pl_err *err)
{
    PL_TRY(find_graphs(w, err));
    if (w->of) pl_verify_side_widen(&w->graphs);
    PL_TRY(start(w, &w->first, err));
    PL_TRY(start(w, &w->last, err));
    make_room(w);
    PL_TRY(pl_verify_side_first(&w->first, err));
    add_firsts(w);
    for (int64_t step = 0; step < w->o->steps; step++) {
        PL_TRY(pl_verify_side_step(&w->last, step, err));
        add_scalars(w, step);
        bool last = step == w->o->steps - 1;
        if (last || !step) add_states(w, last ? &w->last : &w->first, step);
    }
    for (int i = 0; i < w->n; i++) PL_TRY(measure(w, &w->tensor[i], err));
    set_scales(w);
    return true;
}

void pl_verify_whole_free(pl_verify_whole *w)
{
    for (int i = 0; i < w->n; i++)
        if (w->tensor[i].data)
            pl_exec_unmap(w->tensor[i].exec, w->tensor[i].port, PL_READ, w->tensor[i].data);
    pl_verify_side_free(&w->first);
    pl_verify_side_free(&w->last);
}
