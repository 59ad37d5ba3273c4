#include "train/verify.h"

#include "train/verify_whole.h"

#include <math.h>
#include <string.h>
#include <xxhash.h>

enum { STEP = PL_VERIFY_STEP, N_PROGRAMS = PL_VERIFY_PROGRAMS };

struct pl_verify {
    pl_verify_options o;
    pl_verify_graphs graphs; /* of the ranks */
    pl_verify_whole whole;
};

struct pl_verify_case {
    const pl_verify *verify;
    int n_ranks;
    pl_plan *plan[N_PROGRAMS];
};

bool pl_verify_new(const pl_verify_options *o, pl_arena *arena, pl_verify **out, pl_err *err)
{
    pl_verify *v = PL_NEW(arena, pl_verify);
    *v = (pl_verify){ .o = *o };
    if (!v->o.micro) v->o.micro = 1;
    v->whole = (pl_verify_whole){ .o = &v->o, .ranks = &v->graphs, .arena = arena };
    *out = v;
    if (pl_verify_side_build(&v->o, v->o.micro, NULL, arena, &v->graphs, err)) {
        bool rough = pl_model_type(&v->graphs.args) == PL_BF16;
        if (v->o.tolerance < 0) v->o.tolerance = rough ? 0.3 : 1e-5;
        if (pl_verify_whole_run(&v->whole, err)) return true;
    }
    pl_verify_free(v);
    *out = NULL;
    return false;
}

void pl_verify_free(pl_verify *v)
{
    if (v) pl_verify_whole_free(&v->whole);
}

const pl_graph *pl_verify_graph(const pl_verify *v)
{
    return v->whole.graphs.graph[STEP];
}

double pl_verify_tolerance(const pl_verify *v)
{
    return v->o.tolerance;
}

const char *pl_verify_model(const pl_verify *v)
{
    return v->graphs.model;
}

int64_t pl_verify_runs(const pl_verify *v)
{
    return v->whole.graphs.runs;
}

bool pl_verify_split(const pl_verify *v, const char *strategy, int n_devices, pl_arena *arena,
                     const pl_verify_case **out, pl_err *err)
{
    pl_verify_case *c = PL_NEW(arena, pl_verify_case);
    pl_graph *const *g = v->graphs.graph;
    *c = (pl_verify_case){ .verify = v, .n_ranks = n_devices };
    *out = c;
    pl_strategy s;
    PL_TRY(pl_strategy_parse(strategy, n_devices, arena, &s, err));
    for (int i = 0; i < v->graphs.n; i++) /* the others find the states where the step has them */
        PL_TRY(pl_strategy_plan(&s, g[i], c->plan[STEP], arena, &c->plan[i], err));
    return true;
}

const pl_mesh *pl_verify_mesh(const pl_verify_case *c)
{
    return &c->plan[STEP]->mesh;
}

/* -- one rank ---------------------------------------------------------------------------------- */

typedef struct runner {
    const pl_verify_case *c;
    const pl_verify_whole *w;
    pl_verify_side side;
    /* What this rank found, as all ranks exchange it: differences (the bits of a double), hashes of
     * states, books. */
    int n;
    int64_t *mine; /* [n] */
} runner;

/* Books of a rank, at the end of its record: of each program, and of the training steps. */
enum { N_BOOKS = N_PROGRAMS + 1, BOOK = 3, BOOKS = BOOK * N_BOOKS };

static void put_difference(runner *r, int i, double x)
{
    memcpy(&r->mine[i], &x, sizeof x);
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
static double difference(const pl_verify_tensor *t, const pl_port *p, const void *part)
{
    double most = 0;
    pl_type type = p->value->type;
    for (int64_t i = 0, n = pl_region_count(&p->region); i < n; i++) {
        int64_t at = pl_region_global(&p->region, &p->value->shape, i);
        double x = element_difference(pl_type_get(type, t->data, at), pl_type_get(type, part, i),
                                      t->scale);
        if (x > most) most = x;
    }
    return most;
}

static void compare_scalar(runner *r, int i)
{
    const pl_verify_tensor *t = &r->w->tensor[i];
    double x = pl_verify_side_scalar(&r->side, t->name);
    put_difference(r, i, element_difference(t->scalar, x, t->scale));
}

static void compare_first(runner *r)
{
    for (int i = 0; i < r->w->n; i++) {
        const pl_verify_tensor *t = &r->w->tensor[i];
        const pl_port *port;
        if (t->kind != PL_VERIFY_FIRST) continue;
        if (!t->data) {
            compare_scalar(r, i);
            continue;
        }
        const void *part = pl_verify_side_tensor(&r->side, t->name, &port);
        put_difference(r, i, difference(t, port, part));
    }
}

static void compare_scalars(runner *r, int64_t step)
{
    for (int i = 0; i < r->w->n; i++)
        if (r->w->tensor[i].kind == PL_VERIFY_SCALAR && r->w->tensor[i].step == step)
            compare_scalar(r, i);
}

static void compare_states(runner *r)
{
    const pl_store *s = r->side.store;
    for (int i = 0; i < r->w->n; i++) {
        const pl_verify_tensor *t = &r->w->tensor[i];
        if (t->kind != PL_VERIFY_STATE) continue;
        int k = pl_verify_side_state(&r->side, t->name);
        put_difference(r, i, difference(t, &s->state[k], pl_exec_state(r->side.exec, k)));
    }
    for (int k = 0; k < s->n; k++) {
        const pl_port *p = &s->state[k];
        int64_t bytes = pl_region_count(&p->region) * pl_type_bytes(p->value->type);
        r->mine[r->w->n + k] = (int64_t)XXH3_64bits(pl_exec_state(r->side.exec, k), (size_t)bytes);
    }
}

static void keep_books(runner *r)
{
    for (int i = 0; i < N_BOOKS; i++) {
        const pl_verify_book *b = i < N_PROGRAMS ? &r->side.book[i] : &r->side.steps;
        const int64_t x[BOOK] = { b->runs, b->predicted, b->counted };
        memcpy(&r->mine[r->n - BOOKS + BOOK * i], x, sizeof x);
    }
}

static bool run_programs(runner *r, pl_err *err)
{
    PL_TRY(pl_verify_side_start(&r->side, r->c->plan, true, err));
    r->n = r->w->n + r->side.store->n + BOOKS;
    r->mine = PL_NEW_N(r->side.arena, int64_t, r->n);
    PL_TRY(pl_verify_side_first(&r->side, err));
    compare_first(r);
    for (int64_t step = 0; step < r->w->o->steps; step++) {
        PL_TRY(pl_verify_side_step(&r->side, step, err));
        compare_scalars(r, step);
    }
    compare_states(r);
    keep_books(r);
    return true;
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
    const pl_port *p = &r->side.store->state[state];
    const pl_mesh *m = &r->c->plan[STEP]->mesh;
    int n_ranks = r->c->n_ranks;
    pl_region *region = PL_NEW_N(r->side.arena, pl_region, n_ranks);
    int64_t held = 0;
    for (int i = 0; i < n_ranks; i++) {
        region[i] = pl_region_of(&p->where, m, &p->value->shape, i);
        int k = 0;
        while (k < i && !same_region(&region[i], &region[k])) k++;
        if (k == i) held += pl_region_count(&region[i]);
        int64_t at = r->w->n + state;
        if (f->copies || p->where.pending || all[i * r->n + at] == all[k * r->n + at]) continue;
        f->copies = p->value->name;
        f->copy_rank[0] = k, f->copy_rank[1] = i;
    }
    if (!f->lost && held < pl_shape_count(&p->value->shape)) f->lost = p->value->name;
}

static void find_differences(const runner *r, const int64_t *all, pl_verify_found *f)
{
    for (int i = 0; i < r->w->n; i++) {
        double most = 0;
        int rank = 0;
        for (int k = 0; k < r->c->n_ranks; k++) {
            double x = get_difference(all + (int64_t)k * r->n, i);
            if (x > most) most = x, rank = k;
        }
        if (!f->tensor || most > f->difference)
            f->difference = most, f->tensor = r->w->tensor[i].text, f->rank = rank;
        if (!f->first && most > r->w->o->tolerance)
            f->first = r->w->tensor[i].text, f->first_difference = most, f->first_rank = rank;
    }
}

/* Of the rank that receives most in a training step; or of the first program with books that do not
 * balance. */
static void find_bytes(const runner *r, const int64_t *all, pl_verify_found *f)
{
    f->bytes_rank = -1;
    for (int k = 0; k < r->c->n_ranks; k++)
        for (int i = 0; i < N_BOOKS; i++) {
            const int64_t *x = all + (int64_t)(k + 1) * r->n - BOOKS + BOOK * i;
            int64_t runs = x[0], predicted = x[1], received = x[2];
            bool steps = i == N_PROGRAMS, balanced = predicted == received;
            if (!runs) continue;
            if (balanced && (!steps || predicted / runs < f->bytes_predicted)) continue;
            f->bytes_predicted = predicted / runs;
            f->bytes_counted = received / runs;
            if (balanced) continue;
            f->bytes_rank = k;
            return;
        }
}

static bool exchange(const runner *r, pl_verify_found *f, pl_err *err)
{
    const int64_t *all = r->mine;
    if (r->side.comm) {
        int64_t *to = PL_NEW_N(r->side.arena, int64_t, r->c->n_ranks * r->n);
        const pl_message m = { .kind = PL_ALL_GATHER,
                               .type = PL_I64,
                               .count = r->n,
                               .send = r->mine,
                               .recv = to,
                               .label = "what verify found" };
        PL_TRY(pl_comm_run(r->side.comm, r->side.comm->world, &m, err));
        all = to;
    }
    *f = (pl_verify_found){ 0 };
    find_differences(r, all, f);
    for (int i = 0; i < r->side.store->n; i++) find_copies(r, i, all, f);
    find_bytes(r, all, f);
    return true;
}

bool pl_verify_run(const pl_verify_case *c, pl_comm *comm, pl_verify_found *out, pl_err *err)
{
    const pl_verify *v = c->verify;
    runner r = { .c = c, .w = &v->whole, .side = { .o = &v->o, .graphs = &v->graphs } };
    PL_ASSERT_CMP(comm ? comm->size : 1, ==, c->n_ranks);
    r.side.comm = comm, r.side.rank = comm ? comm->rank : 0;
    r.side.arena = pl_arena_new("verify rank");
    bool ok = run_programs(&r, err);
    pl_verify_side_free(&r.side); /* ends the lane: the comm is ours again */
    ok = ok && exchange(&r, out, err);
    pl_arena_free(r.side.arena);
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
