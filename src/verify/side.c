/* One side of a verification. Graphs are built first (pl_verify_side_build), then lowered and
 * made ready (pl_verify_side_start), then run step by step: pl_verify_side_first() and
 * pl_verify_side_step(). */
#include "verify/side.h"

#include "base/rng.h"
#include "ops/list.h"
#include "data/bags.h"
#include "data/data.h"
#include "train/state.h"

#include <string.h>

enum { STEP = PL_VERIFY_STEP, GRADIENTS = PL_VERIFY_GRADIENTS, MICRO = PL_VERIFY_MICRO };

/* -- graphs ------------------------------------------------------------------------------------ */

/* A sum of gradients is a state: it stays one beside the output. A gradient that is that of two
 * weights is one output. */
static void add_gradients(pl_builder *b)
{
    pl_graph *graph = b->graph;
    const bool sums = graph->micro > 1;
    b->phase = PL_UPDATE;
    for (int i = 0, n = graph->values.n; i < n && !b->err.code; i++) {
        pl_value *d = graph->values.at[i];
        bool there = false;
        if (sums ? d->kind != PL_GRAD_SUM : !d->of || !d->maker) continue;
        for (int k = 0; k < graph->outputs.n; k++) there |= graph->outputs.at[k] == d;
        if (there) continue;
        const char *name = pl_builder_fmt(b, "%s.gradient", d->of->name);
        pl_add_output(b, name, sums ? PL_ADD(b, &pl_op_scale, "; value=1", d->next) : d);
    }
}

/* Statistics of a batch leave running ones in states; numbers that are drawn
 * are drawn for a place in a batch, from a "seed" of its own. */
static bool stands_alone(const pl_graph *graph)
{
    bool alone = true;
    for (int i = 0; i < graph->values.n; i++) {
        const pl_value *v = graph->values.at[i];
        alone &= !(v->kind <= PL_ROWS && v->next);
        alone &= !(v->role == PL_INPUT && !strcmp(v->name, "seed"));
    }
    return alone;
}

static bool build_graph(const pl_verify_options *o, int which, pl_arena *arena,
                        pl_verify_graphs *out, pl_err *err)
{
    pl_builder b = pl_optim_step(&out->args, &o->optim, out->runs, arena);
    if (!b.err.code) out->alone = stands_alone(b.graph);
    if (which == GRADIENTS) add_gradients(&b);
    return pl_builder_done(&b, &out->graph[which], err);
}

static bool parse_model(const pl_verify_options *options, int64_t runs, pl_arena *arena,
                        pl_verify_graphs *out, pl_err *err)
{
    pl_model_args whole;
    if (options->args) whole = *options->args;
    if (!options->args) PL_TRY(pl_model_parse(options->model, arena, &whole, err));
    out->model = whole.spec;
    return pl_optim_micro(&whole, runs, arena, &out->args, err);
}

bool pl_verify_side_build(const pl_verify_options *options, int64_t runs,
                          const pl_verify_graphs *draw, pl_arena *arena, pl_verify_graphs *out,
                          pl_err *err)
{
    *out = (pl_verify_graphs){ .runs = runs };
    PL_TRY(parse_model(options, runs, arena, out, err));
    const int64_t labels = pl_model_labels(&out->args);
    out->n = runs > 1 ? PL_VERIFY_PROGRAMS : PL_VERIFY_GRAPHS;
    for (int i = 0; i < PL_VERIFY_GRAPHS; i++) PL_TRY(build_graph(options, i, arena, out, err));
    out->limits = pl_ids_limits(out->graph[STEP], labels ? labels : 256, true, arena);
    out->draw = draw ? draw->graph[STEP] : out->graph[STEP];
    out->draws = pl_ids_limits(out->draw, 0, true, arena);
    return true;
}

bool pl_verify_side_twin(const pl_verify_options *options, const pl_verify_graphs *of,
                         pl_arena *arena, pl_verify_graphs *out, pl_err *err)
{
    PL_TRY(pl_verify_side_build(options, of->runs, NULL, arena, out, err));
    out->draw = of->draw;
    out->draws = of->draws;
    return true;
}

/* Casts and fills that name another type write what their output is. */
void pl_verify_side_widen(pl_verify_graphs *graphs)
{
    for (int i = 0; i < PL_VERIFY_GRAPHS; i++)
        for (int k = 0; k < graphs->graph[i]->values.n; k++) {
            pl_value *v = graphs->graph[i]->values.at[k];
            if (pl_type_is_float(v->type)) v->type = PL_F64;
        }
}

/* A value of a pipeline's step is that of one of its micro-batches, *k. */
static const pl_value *find_micro(const pl_verify_side *s, int which, const pl_value *v, int64_t *k)
{
    return which < PL_VERIFY_GRAPHS ? pl_unrolled_from(&s->pipeline[which], v, k) : v;
}

/* A twin's value as the other graphs have it: what fills it rounds to that type. */
static pl_value narrow_value(const pl_verify_side *s, int which, const pl_value *v)
{
    pl_value as = *v;
    const int graph = which == MICRO ? STEP : which;
    if (s->narrow) as.type = pl_graph_find(s->narrow->graph[graph], v->name)->type;
    return as;
}

/* n elements at the start of an array of another type, the last one first. */
static void widen(pl_type from, pl_type to, void *array, int64_t n)
{
    for (int64_t i = n - 1; i >= 0 && from != to; i--)
        pl_type_put(to, array, i, pl_type_get(from, array, i));
}

/* -- inputs ------------------------------------------------------------------------------------ */

/* The batch of a step in one piece is the micro-batches of the other side, one after another. */
static void fill_draws(pl_feed *feed, const pl_port *port, const pl_value *draw, int64_t n,
                       char *to)
{
    const pl_placement whole = { 0 };
    const pl_mesh one = { 0 };
    const pl_region region = pl_region_of(&whole, &one, &draw->shape, 0);
    const pl_port x = { .value = draw, .shape = draw->shape, .region = &region };
    int64_t bytes = pl_shape_count(&draw->shape) * pl_type_bytes(draw->type);
    PL_ASSERT_CMP(pl_shape_count(&port->value->shape), ==, n * pl_shape_count(&draw->shape));
    for (int64_t k = 0; k < n; k++, feed->draw++, to += bytes) {
        pl_data_feed(feed, &x, to);
        if (feed->bags) pl_bags_shift(feed->bags, draw->type, k, to);
    }
}

static void fill_inputs(pl_verify_side *side, int which, int64_t step, int64_t k)
{
    const pl_program *p = side->program[which];
    const pl_verify_graphs *g = side->graphs;
    const pl_data synthetic = { 0 };
    int64_t draws = side->options->micro;
    for (int i = 0; i < p->n_inputs; i++) {
        pl_feed f = { .data = &synthetic,
                      .seed = side->options->seed,
                      .lr = side->options->lr,
                      .step = step + 1 };
        int64_t of = k;
        const pl_value *v = find_micro(side, which, p->input[i].value, &of),
                       *draw = pl_graph_find(g->draw, v->name);
        const pl_value as = narrow_value(side, which, v);
        pl_port port = p->input[i];
        f.draw = step * draws + of;
        f.below = pl_ids_limit(&g->limits, v->name);
        f.bags = pl_ids_bags(&g->draws, v->name);
        void *to = pl_exec_map(side->exec, &p->input[i], PL_WRITE);
        port.value = &as;
        if (!draw || pl_shape_same(&draw->shape, &v->shape))
            pl_data_feed(&f, &port, to);
        else
            fill_draws(&f, &port, draw, draws, to);
        widen(as.type, v->type, to, pl_region_count(port.region));
        pl_exec_unmap(side->exec, &p->input[i], PL_WRITE, to);
    }
}

/* -- running ----------------------------------------------------------------------------------- */

static struct pl_verify_scalar *find_scalar(const pl_verify_side *s, const char *name)
{
    for (int i = 0; i < s->n_scalars; i++)
        if (!strcmp(s->scalar[i].name, name)) return &s->scalar[i];
    return NULL;
}

static void list_scalars(pl_verify_side *side)
{
    int most = 0;
    for (int w = 0; w < side->n; w++) most += side->program[w]->n_outputs;
    side->scalar = PL_NEW_N(side->arena, struct pl_verify_scalar, most + 1);
    for (int w = 0; w < side->n; w++)
        for (int i = 0; i < side->program[w]->n_outputs; i++) {
            int64_t of;
            const pl_value *v = find_micro(side, w, side->program[w]->output[i].value, &of);
            if (!v->shape.rank && !find_scalar(side, v->name))
                side->scalar[side->n_scalars++] = (struct pl_verify_scalar){ .name = v->name };
        }
}

/* Bytes that a program is to receive from other ranks, and to copy to and from the host. */
static int64_t predicted(const pl_program *p)
{
    int64_t bytes = p->message_bytes;
    for (int i = 0; i < p->n_steps; i++)
        if (pl_step_is_host(&p->step[i])) bytes += p->step[i].bytes;
    return bytes;
}

static int64_t counted(const pl_verify_side *s)
{
    int64_t bytes = pl_exec_stats_get(s->exec).copied_bytes;
    for (int k = 0; s->comm && k < PL_N_COLLECTIVES; k++) bytes += s->comm->count.bytes[k];
    return bytes;
}

static void add_book(pl_verify_book *b, int64_t runs, int64_t predicted, int64_t received)
{
    b->runs += runs;
    b->predicted += predicted;
    b->counted += received;
}

/* Micro-batch k of a training step. */
static bool run(pl_verify_side *side, int which, int64_t step, int64_t k, pl_err *err)
{
    const pl_program *p = side->program[which];
    int64_t before = counted(side);
    fill_inputs(side, which, step, k);
    PL_TRY(pl_exec_step(side->exec, which, err));
    int64_t received = counted(side) - before;
    add_book(&side->book[which], 1, predicted(p), received);
    add_book(&side->steps, 0, predicted(p), received);
    for (int i = 0; i < p->n_outputs; i++) {
        int64_t of;
        const pl_value *v = find_micro(side, which, p->output[i].value, &of);
        if (v->shape.rank) continue;
        double x[1];
        pl_exec_get(side->exec, &p->output[i], x, pl_type_bytes(v->type));
        const double runs = v->maker->phase == PL_UPDATE ? 1 : (double)side->graphs->runs;
        find_scalar(side, v->name)->value += pl_type_get(v->type, x, 0) / runs;
    }
    return true;
}

/* `last` is the last micro-batch, or all there is. */
static bool run_step(pl_verify_side *side, int last, int64_t step, pl_err *err)
{
    const int64_t n = side->graphs->runs;
    for (int i = 0; i < side->n_scalars; i++) side->scalar[i].value = 0;
    side->steps.runs++;
    if (n > 1) pl_state_clear(side->exec, side->store);
    if (side->pipeline[STEP].graph) return run(side, last, step, 0, err);
    for (int64_t k = 0; k < n - 1; k++) PL_TRY(run(side, MICRO, step, k, err));
    return run(side, last, step, n - 1, err);
}

/* Weights alone: what else is stored may be indices, masks or variances. */
static void stir(const pl_verify_side *side, const pl_port *port, void *array)
{
    const pl_value *known = pl_graph_known(port->value);
    pl_rng r = pl_rng_at(side->stirring, pl_rng_name(known->name));
    for (int64_t i = 0, n = pl_region_count(port->region); i < n && known->kind == PL_WEIGHT; i++) {
        double x = pl_type_get(port->value->type, array, i), u = pl_rng_uniform(r, (uint64_t)i);
        pl_type_put(port->value->type, array, i, x * (1 + side->stir * (2 * u - 1)));
    }
}

static bool set_states(pl_verify_side *side, pl_err *err)
{
    const pl_init from = { .seed = side->options->seed,
                           .file = pl_init_model(&side->graphs->args) };
    if (!side->narrow && side->stir <= 0)
        return pl_state_init(side->exec, side->store, &from, true, err);
    bool ok = true;
    for (int i = 0; i < side->store->n && ok; i++) {
        const pl_port *p = &side->store->state[i];
        const pl_value as = narrow_value(side, STEP, p->value);
        pl_port port = *p;
        void *to = pl_exec_map(side->exec, p, PL_WRITE);
        port.value = &as;
        ok = pl_init_fill(&port, &from, to, err);
        if (ok) widen(as.type, p->value->type, to, pl_region_count(p->region));
        if (ok && side->stir > 0) stir(side, p, to);
        pl_exec_unmap(side->exec, p, PL_WRITE, to);
    }
    return ok;
}

bool pl_verify_side_first(pl_verify_side *side, pl_err *err)
{
    PL_TRY(set_states(side, err));
    return run_step(side, GRADIENTS, 0, err);
}

bool pl_verify_side_step(pl_verify_side *side, int64_t step, pl_err *err)
{
    if (!step) {
        PL_TRY(set_states(side, err));
        side->steps = (pl_verify_book){ 0 };
    }
    return run_step(side, STEP, step, err);
}

/* What is spoiled of a step is spoiled of all its micro-batches. The whole gives the same numbers
 * in any order, so none is searched for it. */
static bool lower(pl_verify_side *side, const pl_plan *const plan[], bool split, pl_err *err)
{
    pl_lower_options options = side->options->plan.lower;
    if (!split) options.order = PL_ORDER_PROGRAM;
    const bool staged = plan[STEP]->stages != NULL;
    const pl_plan *runs[PL_VERIFY_GRAPHS];
    for (int i = 0; i < PL_VERIFY_GRAPHS; i++) {
        if (staged) PL_TRY(pl_plan_unroll(plan[i], side->arena, &side->pipeline[i], err));
        runs[i] = staged ? side->pipeline[i].plan : plan[i];
    }
    side->n = staged ? PL_VERIFY_GRAPHS : side->graphs->n;
    side->store = pl_store_new(runs[STEP], side->rank, side->arena);
    for (int i = 0; i < PL_VERIFY_GRAPHS; i++) {
        pl_program *p;
        PL_TRY(pl_program_lower(runs[i], side->rank, side->store, &options, side->arena, &p, err));
        if (split) PL_TRY(pl_program_check(p, err));
        if (split && side->options->spoil) side->options->spoil(p, side->options->spoil_arg);
        side->program[i] = p;
    }
    if (side->n > MICRO) {
        pl_program *p = pl_program_micro(side->program[STEP], side->arena);
        if (split && !side->options->spoil) PL_TRY(pl_program_check(p, err));
        side->program[MICRO] = p;
    }
    list_scalars(side);
    return true;
}

/* No rank runs unless all can. */
bool pl_verify_side_start(pl_verify_side *side, const pl_plan *const plan[], bool split,
                          pl_err *err)
{
    pl_exec_options o = side->options->exec;
    o.poison = split;
    bool ok = lower(side, plan, split, err);
    if (side->comm) ok = pl_comm_agree(side->comm, err);
    if (ok && side->comm && !side->options->spoil)
        ok = pl_exec_match(side->comm, side->n, side->program, err);
    if (!ok) return false;
    if (pl_exec_new(&o, side->comm, side->n, side->program, side->arena, &side->exec, err))
        return pl_exec_agree(side->exec, err);
    return side->comm ? pl_comm_agree(side->comm, err) : false;
}

void pl_verify_side_free(pl_verify_side *side)
{
    if (side->exec) pl_exec_free(side->exec);
    side->exec = NULL;
}

/* -- reading ----------------------------------------------------------------------------------- */

double pl_verify_side_scalar(const pl_verify_side *side, const char *name)
{
    const struct pl_verify_scalar *x = find_scalar(side, name);
    PL_ASSERT(x);
    return x->value;
}

const pl_port *pl_verify_side_port(const pl_verify_side *side, bool output, const char *name)
{
    const pl_program *p = side->program[GRADIENTS];
    return output ? pl_port_find(p->n_outputs, p->output, name)
                  : pl_port_find(side->store->n, side->store->state, name);
}
