/* The whole run. Read pl_verify_whole_run(): first step and last, and in between the list of
 * tensors that they leave (add_firsts, add_scalars, add_states) with the scale of each. */
#include "verify/whole.h"

#include <math.h>
#include <string.h>

enum { GRADIENTS = PL_VERIFY_GRADIENTS };

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

static const char *first_text(pl_verify_whole *whole, const char *name)
{
    static const char suffix[] = ".gradient";
    size_t n = strlen(name), end = sizeof suffix - 1;
    if (n <= end || strcmp(name + n - end, suffix))
        return pl_arena_fmt(whole->arena, "%s of step 1", name);
    return pl_arena_fmt(whole->arena, "gradient of '%.*s'", (int)(n - end), name);
}

/* An output of the first step, made by node `made`: the first that differs is near the cause. What
 * is neither a scalar nor known to the ranks is of one micro-batch. */
static void add_first(pl_verify_whole *whole, const pl_value *value, int64_t made)
{
    bool scalar = !value->shape.rank;
    if (!scalar && !pl_graph_find(whole->ranks->graph[GRADIENTS], value->name)) return;
    pl_verify_tensor *t = add_tensor(whole, PL_VERIFY_FIRST, value), x = *t;
    x.made = made;
    x.text = first_text(whole, x.name);
    if (scalar)
        x.scalar = pl_verify_side_scalar(&whole->first, x.name);
    else
        map_data(&x, &whole->first);
    for (; t > whole->tensor && t[-1].made > made; t--) *t = t[-1];
    *t = x;
}

/* The gradients of micro-batches are what was added to sums. */
static int64_t made_at(const pl_value *output)
{
    const pl_node *n = output->maker, *from = n->n_in == 1 ? n->in[0]->maker : NULL;
    return from && from->n_in && from->in[0]->kind == PL_GRAD_SUM ? from->id : n->id;
}

static void add_firsts(pl_verify_whole *whole)
{
    const pl_program *p = whole->first.program[GRADIENTS];
    for (int i = 0; i < p->n_outputs; i++)
        add_first(whole, p->output[i].value, made_at(p->output[i].value));
}

static void add_scalars(pl_verify_whole *whole, int64_t step)
{
    const pl_verify_side *s = &whole->last;
    for (int i = 0; i < s->n_scalars; i++) {
        pl_verify_tensor *t = &whole->tensor[whole->n++];
        *t =
            (pl_verify_tensor){ .kind = PL_VERIFY_SCALAR, .name = s->scalar[i].name, .step = step };
        t->scalar = s->scalar[i].value;
        t->text = pl_arena_fmt(whole->arena, "%s of step %lld", t->name, (long long)step + 1);
    }
}

/* Sums of gradients are no states beyond their step; constants stay what they are, masks of minus
 * infinity too. */
static void add_states(pl_verify_whole *whole, const pl_verify_side *from, int64_t step)
{
    const pl_store *s = from->store;
    for (int i = 0; i < s->n; i++) {
        if (s->state[i].value->kind == PL_GRAD_SUM || !s->state[i].value->next) continue;
        pl_verify_tensor *t = add_tensor(whole, PL_VERIFY_STATE, s->state[i].value);
        map_data(t, from);
        t->step = step;
        t->text = pl_arena_fmt(whole->arena, "'%s' after step %lld", t->name, (long long)step + 1);
    }
}

static bool measure(pl_verify_whole *whole, pl_verify_tensor *tensor, pl_err *err)
{
    int64_t n = tensor->data ? pl_shape_count(&tensor->value->shape) : 1;
    bool finite = true;
    for (int64_t i = 0; i < n && finite; i++) {
        double y =
            fabs(tensor->data ? pl_type_get(tensor->value->type, tensor->data, i) : tensor->scalar);
        finite = isfinite(y);
        if (y > tensor->top) tensor->top = y;
    }
    return finite || pl_err_set(err, PL_ERUN,
                                "the whole run is not finite: %s (learning rate %g): lower --lr",
                                tensor->text, whole->options->lr);
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
static void set_scales(pl_verify_whole *whole)
{
    for (int i = 0; i < whole->n; i++) {
        double top = whole->tensor[i].top;
        for (int k = 0; k < whole->n; k++)
            if (1e-3 * whole->tensor[k].top > top &&
                same_family(&whole->tensor[i], &whole->tensor[k]))
                top = 1e-3 * whole->tensor[k].top;
        whole->tensor[i].scale = top;
    }
}

/* -- running ----------------------------------------------------------------------------------- */

static bool start(pl_verify_whole *whole, pl_verify_side *side, pl_err *err)
{
    const pl_plan *plan[PL_VERIFY_GRAPHS];
    for (int i = 0; i < PL_VERIFY_GRAPHS; i++)
        plan[i] = pl_plan_single(whole->graphs.graph[i], whole->arena);
    *side = (pl_verify_side){ .options = whole->options,
                              .graphs = &whole->graphs,
                              .arena = whole->arena };
    if (whole->of) side->narrow = &whole->of->graphs;
    return pl_verify_side_start(side, plan, false, err);
}

static void make_room(pl_verify_whole *w)
{
    int64_t n = w->last.store->n + w->options->steps * w->last.n_scalars + w->last.store->n;
    for (int i = 0; i < w->graphs.n; i++) n += w->first.program[i]->n_outputs;
    w->tensor = PL_NEW_N(w->arena, pl_verify_tensor, n + 1);
}

/* In one piece where that is the same mathematics. */
static bool find_graphs(pl_verify_whole *whole, pl_err *err)
{
    if (whole->of)
        return pl_verify_side_twin(whole->options, &whole->of->graphs, whole->arena, &whole->graphs,
                                   err);
    whole->graphs = *whole->ranks;
    if (whole->options->micro == 1 || !whole->ranks->alone) return true;
    return pl_verify_side_build(whole->options, 1, whole->ranks, whole->arena, &whole->graphs, err);
}

bool pl_verify_whole_run(pl_verify_whole *whole, pl_err *err)
{
    PL_TRY(find_graphs(whole, err));
    if (whole->of) pl_verify_side_widen(&whole->graphs);
    PL_TRY(start(whole, &whole->first, err));
    PL_TRY(start(whole, &whole->last, err));
    make_room(whole);
    PL_TRY(pl_verify_side_first(&whole->first, err));
    add_firsts(whole);
    for (int64_t step = 0; step < whole->options->steps; step++) {
        PL_TRY(pl_verify_side_step(&whole->last, step, err));
        add_scalars(whole, step);
        bool last = step == whole->options->steps - 1;
        if (last || !step) add_states(whole, last ? &whole->last : &whole->first, step);
    }
    for (int i = 0; i < whole->n; i++) PL_TRY(measure(whole, &whole->tensor[i], err));
    set_scales(whole);
    return true;
}

void pl_verify_whole_free(pl_verify_whole *whole)
{
    for (int i = 0; i < whole->n; i++)
        if (whole->tensor[i].data)
            pl_exec_unmap(whole->tensor[i].exec, whole->tensor[i].port, PL_READ,
                          whole->tensor[i].data);
    pl_verify_side_free(&whole->first);
    pl_verify_side_free(&whole->last);
}
