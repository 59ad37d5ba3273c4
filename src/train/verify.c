#include "train/verify.h"

#include "models/model.h"
#include "ops/lib/all.h"
#include "train/data.h"
#include "train/state.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

/* The two programs: what training runs, and the same with all gradients as outputs. They share the
 * states. */
enum { STEP, GRADIENTS, N_PROGRAMS };

#define SUFFIX ".grad" /* of the name of a weight: its gradient, as an output */

/* What is compared, in the order of the graph: outputs of GRADIENTS, scalars of steps, states. */
typedef enum kind { GRADIENT, SCALAR, STATE } kind;

typedef struct tensor {
    kind kind;
    int index;        /* GRADIENT, SCALAR: of the program's outputs; STATE: of the store */
    int64_t step;     /* SCALAR: from 0                                                   */
    const char *text; /* what reports call it                                             */
    double value;     /* SCALAR: of the whole run                                         */
    double top;       /* largest magnitude in the whole run                               */
    double scale;     /* of differences                                                   */
} tensor;

struct pl_verify {
    pl_verify_options o;
    pl_arena *arena;
    pl_model_args args;
    int64_t below; /* synthetic integers */
    pl_graph *graph[N_PROGRAMS];
    const pl_program *program[N_PROGRAMS];
    const pl_store *store[N_PROGRAMS];
    pl_exec *exec[N_PROGRAMS]; /* one each: what the last step left is read again and again */
    int n;
    tensor *tensor;
};

struct pl_verify_case {
    const pl_verify *verify;
    int n_ranks;
    pl_plan *plan[N_PROGRAMS];
};

/* -- graphs ------------------------------------------------------------------------------------ */

/* The update of a weight reads (weight, gradient, ...). A gradient that is that of two weights is
 * one output. */
static void add_gradients(pl_builder *b)
{
    pl_graph *g = b->graph;
    for (int i = 0; i < g->values.n && !b->err.code; i++) {
        const pl_value *w = g->values.at[i];
        bool updated = w->trainable && w->next && w->next->maker && w->next->maker->n_in > 1;
        bool there = !updated;
        for (int k = 0; k < g->outputs.n; k++)
            there |= updated && g->outputs.at[k] == w->next->maker->in[1];
        if (!there)
            pl_add_output(b, pl_builder_fmt(b, "%s%s", w->name, SUFFIX), w->next->maker->in[1]);
    }
}

static bool build(pl_verify *v, int which, pl_err *err)
{
    pl_builder b = pl_builder_new(v->arena, &pl_ops_all, v->args.spec);
    v->args.model->build(&b, &v->args, PL_TRAIN);
    pl_optim_add(&b, &v->o.optim, b.err.code ? NULL : pl_graph_find(b.graph, "loss"));
    if (which == GRADIENTS) add_gradients(&b);
    return pl_builder_done(&b, &v->graph[which], err);
}

/* -- running ----------------------------------------------------------------------------------- */

static void fill_inputs(const pl_verify *v, pl_exec *e, int at, const pl_program *p, int64_t step)
{
    const pl_data synthetic = { 0 };
    const pl_feed f = { .data = &synthetic,
                        .seed = v->o.seed,
                        .lr = v->o.lr,
                        .step = step + 1,
                        .draw = step,
                        .below = v->below };
    for (int i = 0; i < p->n_inputs; i++)
        pl_data_feed(&f, &p->input[i], pl_exec_input(e, at, p->input[i].value->name, NULL));
}

static double read_scalar(const pl_exec *e, int at, const pl_program *p, int output)
{
    const pl_value *v = p->output[output].value;
    return pl_type_get(v->type, pl_exec_output(e, at, v->name, NULL), 0);
}

static bool run_whole(pl_verify *v, int which, pl_err *err)
{
    pl_program *p;
    const pl_plan *plan = pl_plan_single(v->graph[which], v->arena);
    v->store[which] = pl_store_new(plan, 0, v->arena);
    PL_TRY(pl_program_lower(plan, 0, v->store[which], &v->o.lower, v->arena, &p, err));
    v->program[which] = p;
    PL_TRY(pl_exec_new(&v->o.exec, NULL, 1, &v->program[which], v->arena, &v->exec[which], err));
    return pl_state_init(v->exec[which], v->store[which], v->o.seed, err);
}

static const void *whole_data(const pl_verify *v, const tensor *t)
{
    if (t->kind == SCALAR) return NULL;
    if (t->kind == STATE) return pl_exec_state(v->exec[STEP], t->index);
    const pl_port *p = &v->program[GRADIENTS]->output[t->index];
    return pl_exec_output(v->exec[GRADIENTS], 0, p->value->name, NULL);
}

static const pl_value *value_of(const pl_verify *v, const tensor *t)
{
    if (t->kind == STATE) return v->store[STEP]->state[t->index].value;
    return v->program[t->kind == SCALAR ? STEP : GRADIENTS]->output[t->index].value;
}

/* -- what is compared -------------------------------------------------------------------------- */

static tensor *add_tensor(pl_verify *v, kind k, int index)
{
    tensor *t = &v->tensor[v->n++];
    *t = (tensor){ .kind = k, .index = index };
    return t;
}

static const char *output_text(pl_verify *v, const char *name)
{
    size_t n = strlen(name), end = strlen(SUFFIX);
    if (n <= end || strcmp(name + n - end, SUFFIX))
        return pl_arena_fmt(v->arena, "%s of step 1", name);
    return pl_arena_fmt(v->arena, "gradient of '%.*s'", (int)(n - end), name);
}

/* Outputs in the order in which the graph makes them: the first that differs is near the cause. */
static void add_in_order(pl_verify *v, const pl_program *p)
{
    int first = v->n;
    for (int i = 0; i < p->n_outputs; i++) {
        tensor *t = add_tensor(v, GRADIENT, i), x = *t;
        for (; t > &v->tensor[first]; t--) {
            if (value_of(v, t - 1)->maker->id < value_of(v, &x)->maker->id) break;
            *t = t[-1];
        }
        x.text = output_text(v, p->output[i].value->name);
        *t = x;
    }
}

static bool measure(pl_verify *v, tensor *t, pl_err *err)
{
    const pl_value *x = value_of(v, t);
    const void *data = whole_data(v, t);
    int64_t n = data ? pl_shape_count(&x->shape) : 1;
    bool finite = true;
    for (int64_t i = 0; i < n && finite; i++) {
        double y = fabs(data ? pl_type_get(x->type, data, i) : t->value);
        finite = isfinite(y);
        if (y > t->top) t->top = y;
    }
    return finite || pl_err_set(err, PL_ERUN,
                                "the whole run is not finite: %s (learning rate %g): lower --lr",
                                t->text, v->o.lr);
}

/* Gradients are of a kind, and so are states whose names end alike: weights, biases, moments. */
static bool same_family(const pl_verify *v, const tensor *a, const tensor *b)
{
    if (a->kind != b->kind || a->kind != STATE) return a->kind == b->kind;
    const char *x = strrchr(value_of(v, a)->name, '.'), *y = strrchr(value_of(v, b)->name, '.');
    return !strcmp(x ? x : "", y ? y : "");
}

/* A gradient that is zero but for rounding has no scale of its own: it takes that of the others. */
static void set_scales(pl_verify *v)
{
    for (int i = 0; i < v->n; i++) {
        double top = v->tensor[i].top;
        for (int k = 0; k < v->n; k++)
            if (1e-3 * v->tensor[k].top > top && same_family(v, &v->tensor[i], &v->tensor[k]))
                top = 1e-3 * v->tensor[k].top;
        v->tensor[i].scale = top;
    }
}

static bool make_whole(pl_verify *v, pl_err *err)
{
    for (int i = 0; i < N_PROGRAMS; i++) PL_TRY(run_whole(v, i, err));
    const pl_program *p = v->program[STEP], *q = v->program[GRADIENTS];
    const pl_store *s = v->store[STEP];
    v->tensor = PL_NEW_N(v->arena, tensor, q->n_outputs + v->o.steps * p->n_outputs + s->n + 1);
    fill_inputs(v, v->exec[GRADIENTS], 0, q, 0);
    PL_TRY(pl_exec_step(v->exec[GRADIENTS], 0, err));
    add_in_order(v, q);
    for (int64_t step = 0; step < v->o.steps; step++) {
        fill_inputs(v, v->exec[STEP], 0, p, step);
        PL_TRY(pl_exec_step(v->exec[STEP], 0, err));
        for (int i = 0; i < p->n_outputs; i++) {
            if (p->output[i].value->shape.rank) continue;
            tensor *t = add_tensor(v, SCALAR, i);
            t->step = step;
            t->value = read_scalar(v->exec[STEP], 0, p, i);
            t->text = pl_arena_fmt(v->arena, "%s of step %lld", p->output[i].value->name,
                                   (long long)step + 1);
        }
    }
    for (int i = 0; i < s->n; i++)
        add_tensor(v, STATE, i)->text = pl_arena_fmt(
            v->arena, "'%s' after step %lld", s->state[i].value->name, (long long)v->o.steps);
    for (int i = 0; i < v->n; i++) PL_TRY(measure(v, &v->tensor[i], err));
    set_scales(v);
    return true;
}

static bool make(pl_verify *v, pl_err *err)
{
    PL_TRY(pl_model_parse(v->o.model, v->arena, &v->args, err));
    v->below = 256;
    if (pl_model_has(&v->args, "classes")) v->below = pl_model_int(&v->args, "classes");
    if (pl_model_has(&v->args, "vocab")) v->below = pl_model_int(&v->args, "vocab");
    for (int i = 0; i < N_PROGRAMS; i++) PL_TRY(build(v, i, err));
    return make_whole(v, err);
}

bool pl_verify_new(const pl_verify_options *o, pl_arena *arena, pl_verify **out, pl_err *err)
{
    pl_verify *v = PL_NEW(arena, pl_verify);
    *v = (pl_verify){ .o = *o, .arena = arena };
    *out = NULL;
    if (!make(v, err)) {
        pl_verify_free(v);
        return false;
    }
    *out = v;
    return true;
}

void pl_verify_free(pl_verify *v)
{
    for (int i = 0; v && i < N_PROGRAMS; i++) {
        if (v->exec[i]) pl_exec_free(v->exec[i]);
        v->exec[i] = NULL;
    }
}

const pl_graph *pl_verify_graph(const pl_verify *v)
{
    return v->graph[STEP];
}

bool pl_verify_split(const pl_verify *v, const char *strategy, int n_devices, pl_arena *arena,
                     const pl_verify_case **out, pl_err *err)
{
    pl_verify_case *c = PL_NEW(arena, pl_verify_case);
    *c = (pl_verify_case){ .verify = v, .n_ranks = n_devices };
    *out = c;
    pl_strategy s;
    PL_TRY(pl_strategy_parse(strategy, n_devices, arena, &s, err));
    PL_TRY(pl_strategy_plan(&s, v->graph[STEP], NULL, arena, &c->plan[STEP], err));
    return pl_strategy_plan(&s, v->graph[GRADIENTS], c->plan[STEP], arena, &c->plan[GRADIENTS],
                            err);
}

const pl_mesh *pl_verify_mesh(const pl_verify_case *c)
{
    return &c->plan[STEP]->mesh;
}

/* -- one rank ---------------------------------------------------------------------------------- */

typedef struct runner {
    const pl_verify_case *c;
    const pl_verify *v;
    pl_comm *comm;
    pl_arena *arena;
    int rank;
    pl_exec *exec;
    const pl_store *store;
    const pl_program *program[N_PROGRAMS];
    /* What this rank found, as all ranks exchange it. */
    struct record {
        int n;
        int64_t *at; /* [n] differences (the bits of a double), hashes of states, books */
    } mine;
} runner;

/* Books of a rank: bytes of one run of each program as predicted and counted, at the end of its
 * record. */
enum { N_BOOKS = 2 * N_PROGRAMS };

static void put_difference(runner *r, int i, double x)
{
    memcpy(&r->mine.at[i], &x, sizeof x);
}

static double get_difference(const int64_t *record, int i)
{
    double x;
    memcpy(&x, &record[i], sizeof x);
    return x;
}

static double element_difference(double a, double b, double scale)
{
    if (isnan(a) || isnan(b)) return INFINITY;
    return a == b ? 0 : fabs(a - b) / scale;
}

/* Largest difference of this rank's part from the whole tensor. */
static double difference(const tensor *t, const pl_port *p, const void *part, const void *whole)
{
    double most = 0;
    pl_type type = p->value->type;
    for (int64_t i = 0, n = pl_region_count(&p->region); i < n; i++) {
        int64_t at = pl_region_global(&p->region, &p->value->shape, i);
        double x =
            element_difference(pl_type_get(type, whole, at), pl_type_get(type, part, i), t->scale);
        if (x > most) most = x;
    }
    return most;
}

static void compare_gradients(runner *r)
{
    const pl_program *p = r->program[GRADIENTS];
    for (int i = 0; i < r->v->n; i++) {
        const tensor *t = &r->v->tensor[i];
        if (t->kind != GRADIENT) continue;
        const pl_port *port = &p->output[t->index];
        const void *part = pl_exec_output(r->exec, GRADIENTS, port->value->name, NULL);
        put_difference(r, i, difference(t, port, part, whole_data(r->v, t)));
    }
}

static void compare_scalars(runner *r, int64_t step)
{
    for (int i = 0; i < r->v->n; i++) {
        const tensor *t = &r->v->tensor[i];
        if (t->kind != SCALAR || t->step != step) continue;
        double x = read_scalar(r->exec, STEP, r->program[STEP], t->index);
        put_difference(r, i, element_difference(t->value, x, t->scale));
    }
}

static void compare_states(runner *r)
{
    for (int i = 0; i < r->v->n; i++) {
        const tensor *t = &r->v->tensor[i];
        if (t->kind != STATE) continue;
        const pl_port *port = &r->store->state[t->index];
        const void *part = pl_exec_state(r->exec, t->index);
        int64_t bytes = pl_region_count(&port->region) * pl_type_bytes(port->value->type);
        put_difference(r, i, difference(t, port, part, whole_data(r->v, t)));
        r->mine.at[r->v->n + t->index] = (int64_t)XXH3_64bits(part, (size_t)bytes);
    }
}

static int64_t counted(const runner *r)
{
    int64_t bytes = 0;
    for (int k = 0; r->comm && k < PL_N_MESSAGE_KINDS; k++) bytes += r->comm->count.bytes[k];
    return bytes;
}

static void keep_books(runner *r, int which, int64_t runs, int64_t before)
{
    int64_t *books = &r->mine.at[r->mine.n - N_BOOKS + 2 * which];
    books[0] = runs * r->program[which]->message_bytes;
    books[1] = counted(r) - before;
}

static bool run_programs(runner *r, pl_err *err)
{
    const pl_verify *v = r->v;
    int64_t before = counted(r);
    PL_TRY(pl_state_init(r->exec, r->store, v->o.seed, err));
    fill_inputs(v, r->exec, GRADIENTS, r->program[GRADIENTS], 0);
    PL_TRY(pl_exec_step(r->exec, GRADIENTS, err));
    keep_books(r, GRADIENTS, 1, before);
    compare_gradients(r);
    PL_TRY(pl_state_init(r->exec, r->store, v->o.seed, err));
    before = counted(r);
    for (int64_t step = 0; step < v->o.steps; step++) {
        fill_inputs(v, r->exec, STEP, r->program[STEP], step);
        PL_TRY(pl_exec_step(r->exec, STEP, err));
        compare_scalars(r, step);
    }
    keep_books(r, STEP, v->o.steps, before);
    compare_states(r);
    return true;
}

static bool lower(runner *r, pl_err *err)
{
    const pl_verify_options *o = &r->v->o;
    r->store = pl_store_new(r->c->plan[STEP], r->rank, r->arena);
    for (int i = 0; i < N_PROGRAMS; i++) {
        pl_program *p;
        PL_TRY(pl_program_lower(r->c->plan[i], r->rank, r->store, &o->lower, r->arena, &p, err));
        PL_TRY(pl_program_check(p, err));
        if (o->spoil) o->spoil(p, o->spoil_arg);
        r->program[i] = p;
    }
    return true;
}

/* No rank runs unless all can. */
static bool start(runner *r, pl_err *err)
{
    pl_exec_options o = r->v->o.exec;
    o.poison = true;
    bool ok = lower(r, err);
    if (r->comm) ok = pl_comm_agree(r->comm, err);
    if (ok && r->comm && !r->v->o.spoil) ok = pl_exec_match(r->comm, N_PROGRAMS, r->program, err);
    if (!ok) return false;
    if (pl_exec_new(&o, r->comm, N_PROGRAMS, r->program, r->arena, &r->exec, err))
        return pl_exec_agree(r->exec, err);
    return r->comm ? pl_comm_agree(r->comm, err) : false;
}

/* -- what all ranks found ---------------------------------------------------------------------- */

static bool same_region(const pl_region *a, const pl_region *b)
{
    bool same = a->n == b->n;
    for (int i = 0; same && i < a->n; i++) {
        const pl_digit *x = &a->digit[i], *y = &b->digit[i];
        same = x->dim == y->dim && x->size == y->size && x->unit == y->unit && x->lo == y->lo &&
               x->n == y->n;
    }
    return same;
}

/* Ranks that hold the same elements of a state must hold the same bits; all parts together must be
 * the whole. */
static void find_copies(const runner *r, int state, const int64_t *all, pl_verify_found *f)
{
    const pl_port *p = &r->store->state[state];
    const pl_mesh *m = &r->c->plan[STEP]->mesh;
    int n_ranks = r->c->n_ranks;
    pl_region *region = PL_NEW_N(r->arena, pl_region, n_ranks);
    int64_t held = 0;
    for (int i = 0; i < n_ranks; i++) {
        region[i] = pl_region_of(&p->where, m, &p->value->shape, i);
        int k = 0;
        while (k < i && !same_region(&region[i], &region[k])) k++;
        if (k == i) held += pl_region_count(&region[i]);
        int64_t at = r->v->n + state;
        if (f->copies || all[i * r->mine.n + at] == all[k * r->mine.n + at]) continue;
        f->copies = p->value->name;
        f->copy_rank[0] = k, f->copy_rank[1] = i;
    }
    if (!f->lost && held < pl_shape_count(&p->value->shape)) f->lost = p->value->name;
}

static void find_differences(const runner *r, const int64_t *all, pl_verify_found *f)
{
    for (int i = 0; i < r->v->n; i++) {
        double most = 0;
        int rank = 0;
        for (int k = 0; k < r->c->n_ranks; k++) {
            double x = get_difference(all + (int64_t)k * r->mine.n, i);
            if (x > most) most = x, rank = k;
        }
        if (!f->tensor || most > f->difference)
            f->difference = most, f->tensor = r->v->tensor[i].text, f->rank = rank;
        if (!f->first && most > r->v->o.tolerance)
            f->first = r->v->tensor[i].text, f->first_difference = most, f->first_rank = rank;
    }
}

static void find_bytes(const runner *r, const int64_t *all, pl_verify_found *f)
{
    int64_t steps = r->v->o.steps;
    f->bytes_rank = -1;
    for (int k = 0; k < r->c->n_ranks; k++) {
        const int64_t *books = all + (int64_t)(k + 1) * r->mine.n - N_BOOKS;
        if (!k || books[2 * STEP] / steps > f->bytes_predicted) {
            f->bytes_predicted = books[2 * STEP] / steps;
            f->bytes_counted = books[2 * STEP + 1] / steps;
        }
        for (int i = 0; i < N_PROGRAMS; i++) {
            if (books[2 * i] == books[2 * i + 1]) continue;
            int64_t runs = i == STEP ? steps : 1;
            f->bytes_rank = k;
            f->bytes_predicted = books[2 * i] / runs;
            f->bytes_counted = books[2 * i + 1] / runs;
            return;
        }
    }
}

static bool exchange(const runner *r, pl_verify_found *f, pl_err *err)
{
    const int64_t *all = r->mine.at;
    if (r->comm) {
        int64_t *to = PL_NEW_N(r->arena, int64_t, r->c->n_ranks * r->mine.n);
        const pl_message m = { .kind = PL_ALL_GATHER,
                               .type = PL_I64,
                               .count = r->mine.n,
                               .send = r->mine.at,
                               .recv = to,
                               .label = "what verify found" };
        PL_TRY(pl_comm_run(r->comm, r->comm->world, &m, err));
        all = to;
    }
    *f = (pl_verify_found){ 0 };
    find_differences(r, all, f);
    for (int i = 0; i < r->store->n; i++) find_copies(r, i, all, f);
    find_bytes(r, all, f);
    return true;
}

static bool run_rank(runner *r, pl_verify_found *out, pl_err *err)
{
    r->mine.n = r->v->n + r->v->store[STEP]->n + N_BOOKS;
    r->mine.at = PL_NEW_N(r->arena, int64_t, r->mine.n);
    bool ok = start(r, err) && run_programs(r, err);
    if (r->exec) pl_exec_free(r->exec); /* ends the lane: the comm is ours again */
    return ok && exchange(r, out, err);
}

bool pl_verify_run(const pl_verify_case *c, pl_comm *comm, pl_verify_found *out, pl_err *err)
{
    runner r = { .c = c, .v = c->verify, .comm = comm, .rank = comm ? comm->rank : 0 };
    PL_ASSERT_CMP(comm ? comm->size : 1, ==, c->n_ranks);
    r.arena = pl_arena_new("verify rank");
    bool ok = run_rank(&r, out, err);
    pl_arena_free(r.arena);
    return ok;
}

bool pl_verify_judge(const pl_verify_case *c, const pl_verify_found *f, pl_err *err)
{
    double tolerance = c->verify->o.tolerance;
    if (f->first)
        return pl_err_set(err, PL_EMISMATCH,
                          "%s differs from the whole run by %.2g on rank %d (tolerance %g); the "
                          "largest difference is %.2g: %s on rank %d",
                          f->first, f->first_difference, f->first_rank, tolerance, f->difference,
                          f->tensor, f->rank);
    if (f->copies)
        return pl_err_set(err, PL_EMISMATCH, "replicas differ: ranks %d and %d hold copies of '%s'",
                          f->copy_rank[0], f->copy_rank[1], f->copies);
    if (f->lost)
        return pl_err_set(err, PL_EMISMATCH, "no rank holds some elements of '%s'", f->lost);
    if (f->bytes_rank >= 0)
        return pl_err_set(err, PL_EMISMATCH, "rank %d received %lld bytes, its program says %lld",
                          f->bytes_rank, (long long)f->bytes_counted,
                          (long long)f->bytes_predicted);
    return true;
}
