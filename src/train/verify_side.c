#include "train/verify_side.h"

#include "base/rng.h"
#include "ops/lib/all.h"
#include "ops/list.h"
#include "train/data.h"
#include "train/state.h"

#include <string.h>

enum { STEP = PL_VERIFY_STEP, GRADIENTS = PL_VERIFY_GRADIENTS, UPDATE = PL_VERIFY_UPDATE };

/* -- graphs ------------------------------------------------------------------------------------ */

/* A sum of gradients is a state: it stays one beside the output. A gradient that is that of two
 * weights is one output. */
static void add_gradients(pl_builder *b)
{
    pl_graph *g = b->graph;
    b->phase = PL_UPDATE;
    for (int i = 0, n = g->values.n; i < n && !b->err.code; i++) {
        pl_value *d = g->values.at[i];
        const bool sum = d->kind == PL_GRAD_SUM;
        bool there = false;
        if (!d->of || (!d->maker && !sum)) continue;
        for (int k = 0; k < g->outputs.n; k++) there |= g->outputs.at[k] == d;
        if (there) continue;
        const char *name = pl_builder_fmt(b, "%s.gradient", d->of->name);
        pl_add_output(b, name, sum ? PL_ADD(b, &pl_op_scale, "; value=1", d) : d);
    }
}

/* Of a forward graph. Statistics of a batch leave running ones in states; numbers that are drawn
 * are drawn for a place in a batch, from a "seed" of its own. */
static bool stands_alone(const pl_graph *g)
{
    bool alone = true;
    for (int i = 0; i < g->values.n; i++) {
        const pl_value *v = g->values.at[i];
        alone &= !(v->role == PL_STATE && v->next);
        alone &= !(v->role == PL_INPUT && !strcmp(v->name, "seed"));
    }
    return alone;
}

/* STEP, each time the same, and with it `which`. */
static bool build_pieces(const pl_verify_options *o, int which, pl_arena *arena,
                         pl_verify_graphs *out, pl_err *err)
{
    pl_builder b = pl_optim_step(&out->args, NULL, arena);
    pl_builder update = pl_builder_new(arena, &pl_ops_all, out->args.spec);
    pl_value *loss = b.err.code ? NULL : pl_graph_find(b.graph, "loss");
    if (loss) out->alone = stands_alone(b.graph);
    pl_optim_accumulate(&b, &o->optim, loss, out->runs, &update);
    if (which == GRADIENTS) add_gradients(&update);
    return pl_builder_done(&b, &out->graph[STEP], err) &&
           pl_builder_done(&update, &out->graph[which], err);
}

static bool build_one(const pl_verify_options *o, int which, pl_arena *arena, pl_verify_graphs *out,
                      pl_err *err)
{
    pl_builder b = pl_optim_step(&out->args, &o->optim, arena);
    if (which == GRADIENTS) add_gradients(&b);
    return pl_builder_done(&b, &out->graph[which], err);
}

static bool parse_model(const pl_verify_options *o, int64_t runs, pl_arena *arena,
                        pl_verify_graphs *out, pl_err *err)
{
    pl_model_args whole;
    PL_TRY(pl_model_parse(o->model, arena, &whole, err));
    out->model = whole.spec;
    return pl_optim_micro(&whole, runs, arena, &out->args, err);
}

bool pl_verify_side_build(const pl_verify_options *o, int64_t runs, const pl_verify_graphs *draw,
                          pl_arena *arena, pl_verify_graphs *out, pl_err *err)
{
    *out = (pl_verify_graphs){ .runs = runs, .below = 256 };
    PL_TRY(parse_model(o, runs, arena, out, err));
    if (pl_model_labels(&out->args)) out->below = pl_model_labels(&out->args);
    out->n = runs > 1 ? PL_VERIFY_PROGRAMS : UPDATE;
    for (int i = runs > 1 ? GRADIENTS : STEP; i < out->n; i++)
        PL_TRY(runs > 1 ? build_pieces(o, i, arena, out, err) : build_one(o, i, arena, out, err));
    out->draw = draw ? draw->graph[STEP] : out->graph[STEP];
    return true;
}

bool pl_verify_side_twin(const pl_verify_options *o, const pl_verify_graphs *of, pl_arena *arena,
                         pl_verify_graphs *out, pl_err *err)
{
    PL_TRY(pl_verify_side_build(o, of->runs, NULL, arena, out, err));
    out->draw = of->draw;
    return true;
}

/* Casts and fills that name another type write what their output is. */
void pl_verify_side_widen(pl_verify_graphs *g)
{
    for (int i = 0; i < g->n; i++)
        for (int k = 0; k < g->graph[i]->values.n; k++) {
            pl_value *v = g->graph[i]->values.at[k];
            if (pl_type_is_float(v->type)) v->type = PL_F64;
        }
}

/* A twin's value as the other graphs have it: what fills it rounds to that type. */
static pl_value narrow_value(const pl_verify_side *s, int which, const pl_value *v)
{
    pl_value as = *v;
    if (s->narrow) as.type = pl_graph_find(s->narrow->graph[which], v->name)->type;
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
static void fill_draws(pl_feed *f, const pl_port *p, const pl_value *draw, int64_t n, char *to)
{
    const pl_placement whole = { 0 };
    const pl_mesh one = { 0 };
    const pl_port x = { .value = draw,
                        .shape = draw->shape,
                        .region = pl_region_of(&whole, &one, &draw->shape, 0) };
    int64_t bytes = pl_shape_count(&draw->shape) * pl_type_bytes(draw->type);
    PL_ASSERT_CMP(pl_shape_count(&p->value->shape), ==, n * pl_shape_count(&draw->shape));
    for (int64_t k = 0; k < n; k++, f->draw++, to += bytes) pl_data_feed(f, &x, to);
}

static void fill_inputs(pl_verify_side *s, int which, int64_t step, int64_t k)
{
    const pl_program *p = s->program[which];
    const pl_verify_graphs *g = s->graphs;
    const pl_data synthetic = { 0 };
    int64_t draws = s->o->micro;
    for (int i = 0; i < p->n_inputs; i++) {
        pl_feed f = { .data = &synthetic,
                      .seed = s->o->seed,
                      .lr = s->o->lr,
                      .step = step + 1,
                      .draw = step * draws + k,
                      .below = g->below };
        const pl_value *v = p->input[i].value, *draw = pl_graph_find(g->draw, v->name);
        const pl_value as = narrow_value(s, which, v);
        pl_port port = p->input[i];
        void *to = pl_exec_map(s->exec, &p->input[i], PL_WRITE);
        port.value = &as;
        if (!draw || pl_shape_same(&draw->shape, &v->shape))
            pl_data_feed(&f, &port, to);
        else
            fill_draws(&f, &port, draw, draws, to);
        widen(as.type, v->type, to, pl_region_count(&port.region));
        pl_exec_unmap(s->exec, &p->input[i], PL_WRITE, to);
    }
}

/* -- running ----------------------------------------------------------------------------------- */

static struct pl_verify_scalar *find_scalar(const pl_verify_side *s, const char *name)
{
    for (int i = 0; i < s->n_scalars; i++)
        if (!strcmp(s->scalar[i].name, name)) return &s->scalar[i];
    return NULL;
}

static void list_scalars(pl_verify_side *s)
{
    int most = 0;
    for (int w = 0; w < s->graphs->n; w++) most += s->program[w]->n_outputs;
    s->scalar = PL_NEW_N(s->arena, struct pl_verify_scalar, most + 1);
    for (int w = 0; w < s->graphs->n; w++)
        for (int i = 0; i < s->program[w]->n_outputs; i++) {
            const pl_value *v = s->program[w]->output[i].value;
            if (!v->shape.rank && !find_scalar(s, v->name))
                s->scalar[s->n_scalars++] = (struct pl_verify_scalar){ .name = v->name };
        }
}

static int64_t counted(const pl_verify_side *s)
{
    int64_t bytes = 0;
    for (int k = 0; s->comm && k < PL_N_COLLECTIVES; k++) bytes += s->comm->count.bytes[k];
    return bytes;
}

static void add_book(pl_verify_book *b, int64_t runs, int64_t predicted, int64_t received)
{
    b->runs += runs;
    b->predicted += predicted;
    b->counted += received;
}

/* Run number k of `runs` that a training step takes of a program. */
static bool run(pl_verify_side *s, int which, int64_t step, int64_t k, int64_t runs, pl_err *err)
{
    const pl_program *p = s->program[which];
    int64_t before = counted(s);
    fill_inputs(s, which, step, k);
    PL_TRY(pl_exec_step(s->exec, which, err));
    int64_t received = counted(s) - before;
    add_book(&s->book[which], 1, p->message_bytes, received);
    add_book(&s->steps, 0, p->message_bytes, received);
    for (int i = 0; i < p->n_outputs; i++) {
        const pl_value *v = p->output[i].value;
        if (v->shape.rank) continue;
        double x[1];
        pl_exec_get(s->exec, &p->output[i], x, pl_type_bytes(v->type));
        find_scalar(s, v->name)->value += pl_type_get(v->type, x, 0) / (double)runs;
    }
    return true;
}

/* `last` comes after the micro-batches, or is all there is. */
static bool run_step(pl_verify_side *s, int last, int64_t step, pl_err *err)
{
    int64_t n = s->graphs->runs;
    for (int i = 0; i < s->n_scalars; i++) s->scalar[i].value = 0;
    s->steps.runs++;
    if (n > 1) pl_state_clear(s->exec, s->store);
    for (int64_t k = 0; k < n && n > 1; k++) PL_TRY(run(s, STEP, step, k, n, err));
    return run(s, last, step, 0, 1, err);
}

/* Weights alone: what else is stored may be indices, masks or variances. */
static void stir(const pl_verify_side *s, const pl_port *p, void *array)
{
    pl_rng r = pl_rng_at(s->stirring, pl_rng_name(p->value->name));
    for (int64_t i = 0, n = pl_region_count(&p->region); i < n && p->value->kind == PL_WEIGHT;
         i++) {
        double x = pl_type_get(p->value->type, array, i), u = pl_rng_uniform(r, (uint64_t)i);
        pl_type_put(p->value->type, array, i, x * (1 + s->stir * (2 * u - 1)));
    }
}

static bool set_states(pl_verify_side *s, pl_err *err)
{
    const pl_init from = { .seed = s->o->seed, .file = pl_init_model(&s->graphs->args) };
    int which = s->graphs->runs > 1 ? UPDATE : STEP;
    if (!s->narrow && s->stir <= 0) return pl_state_init(s->exec, s->store, &from, err);
    bool ok = true;
    for (int i = 0; i < s->store->n && ok; i++) {
        const pl_port *p = &s->store->state[i];
        const pl_value as = narrow_value(s, which, p->value);
        pl_port port = *p;
        void *to = pl_exec_map(s->exec, p, PL_WRITE);
        port.value = &as;
        ok = pl_init_fill(&port, &from, to, err);
        if (ok) widen(as.type, p->value->type, to, pl_region_count(&p->region));
        if (ok && s->stir > 0) stir(s, p, to);
        pl_exec_unmap(s->exec, p, PL_WRITE, to);
    }
    return ok;
}

bool pl_verify_side_first(pl_verify_side *s, pl_err *err)
{
    PL_TRY(set_states(s, err));
    return run_step(s, GRADIENTS, 0, err);
}

bool pl_verify_side_step(pl_verify_side *s, int64_t step, pl_err *err)
{
    if (!step) {
        PL_TRY(set_states(s, err));
        s->steps = (pl_verify_book){ 0 };
    }
    return run_step(s, s->graphs->runs > 1 ? UPDATE : STEP, step, err);
}

/* What an update reads is more than what the step does that sums up. */
static bool lower(pl_verify_side *s, const pl_plan *const plan[], bool split, pl_err *err)
{
    s->store = pl_store_new(plan[s->graphs->runs > 1 ? UPDATE : STEP], s->rank, s->arena);
    for (int i = 0; i < s->graphs->n; i++) {
        pl_program *p;
        PL_TRY(pl_program_lower(plan[i], s->rank, s->store, &s->o->plan.lower, s->arena, &p, err));
        if (split) PL_TRY(pl_program_check(p, err));
        if (split && s->o->spoil) s->o->spoil(p, s->o->spoil_arg);
        s->program[i] = p;
    }
    list_scalars(s);
    return true;
}

/* No rank runs unless all can. */
bool pl_verify_side_start(pl_verify_side *s, const pl_plan *const plan[], bool split, pl_err *err)
{
    pl_exec_options o = s->o->exec;
    o.poison = split;
    bool ok = lower(s, plan, split, err);
    if (s->comm) ok = pl_comm_agree(s->comm, err);
    if (ok && s->comm && !s->o->spoil) ok = pl_exec_match(s->comm, s->graphs->n, s->program, err);
    if (!ok) return false;
    if (pl_exec_new(&o, s->comm, s->graphs->n, s->program, s->arena, &s->exec, err))
        return pl_exec_agree(s->exec, err);
    return s->comm ? pl_comm_agree(s->comm, err) : false;
}

void pl_verify_side_free(pl_verify_side *s)
{
    if (s->exec) pl_exec_free(s->exec);
    s->exec = NULL;
}

/* -- reading ----------------------------------------------------------------------------------- */

double pl_verify_side_scalar(const pl_verify_side *s, const char *name)
{
    const struct pl_verify_scalar *x = find_scalar(s, name);
    PL_ASSERT(x);
    return x->value;
}

const pl_port *pl_verify_side_port(const pl_verify_side *s, bool output, const char *name)
{
    const pl_program *p = s->program[GRADIENTS];
    return output ? pl_port_find(p->n_outputs, p->output, name)
                  : pl_port_find(s->store->n, s->store->state, name);
}
