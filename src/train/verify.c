#include "train/verify.h"

#include "planners/find.h"
#include "train/verify_noise.h"
#include "train/verify_record.h"

#include <math.h>
#include <string.h>
#include <xxhash.h>

enum { STEP = PL_VERIFY_STEP, N_PROGRAMS = PL_VERIFY_PROGRAMS };

struct pl_verify {
    pl_verify_options o, exact; /* exact: of twins, run by the last backend, which takes any type */
    pl_verify_graphs graphs;    /* of the ranks                                                   */
    pl_verify_whole whole, twin;
    pl_arena *arena;
    bool strict;                /* the tolerance was given                                        */
    double *noise, *twin_noise; /* [tensors] of `whole` and `twin`; NULL: not measured            */
};

struct pl_verify_case {
    pl_verify *verify;
    pl_strategy strategy;
    bool exact; /* in f64 */
    int n_ranks;
    pl_verify_graphs graphs;
    const pl_plan *plan[N_PROGRAMS];
    pl_verify_worst **worst; /* [ranks][tensors] as that rank, of this process, found them */
};

bool pl_verify_new(const pl_verify_options *o, pl_arena *arena, pl_verify **out, pl_err *err)
{
    pl_verify *v = PL_NEW(arena, pl_verify);
    *v = (pl_verify){ .o = *o, .arena = arena };
    v->strict = o->tolerance >= 0;
    if (!v->o.micro) v->o.micro = 1;
    v->whole = (pl_verify_whole){ .o = &v->o, .ranks = &v->graphs, .arena = arena };
    *out = v;
    if (pl_verify_side_build(&v->o, v->o.micro, NULL, arena, &v->graphs, err)) {
        bool rough = pl_model_type(&v->graphs.args) == PL_BF16;
        if (v->o.tolerance < 0) v->o.tolerance = rough ? 0.1 : 1e-5;
        if (pl_verify_whole_run(&v->whole, err)) return true;
    }
    pl_verify_free(v);
    *out = NULL;
    return false;
}

void pl_verify_free(pl_verify *v)
{
    if (!v) return;
    pl_verify_whole_free(&v->whole);
    pl_verify_whole_free(&v->twin);
}

const pl_graph *pl_verify_graph(const pl_verify *v)
{
    return v->whole.graphs.graph[STEP];
}

double pl_verify_tolerance(const pl_verify *v)
{
    return v->o.tolerance;
}

const char *pl_verify_type(const pl_verify *v)
{
    return pl_type_name(pl_model_type(&v->graphs.args));
}

const char *pl_verify_model(const pl_verify *v)
{
    return v->graphs.model;
}

int64_t pl_verify_runs(const pl_verify *v)
{
    return v->whole.graphs.runs;
}

/* Twins get the plans of what they are twins of: floats become f64 afterwards. */
static bool make_case(pl_verify *v, const pl_verify_graphs *graphs, bool exact,
                      const pl_strategy *strategy, pl_arena *arena, const pl_verify_case **out,
                      pl_err *err)
{
    pl_verify_case *c = PL_NEW(arena, pl_verify_case);
    *c = (pl_verify_case){ .verify = v,
                           .strategy = *strategy,
                           .exact = exact,
                           .n_ranks = strategy->devices,
                           .graphs = *graphs };
    *out = c;
    pl_found *found;
    pl_plan_request r = v->o.plan;
    r.strategy = *strategy;
    PL_TRY(pl_plan_find_all(&r, graphs->n, graphs->graph, arena, c->plan, &found, err));
    if (exact) pl_verify_side_widen(&c->graphs);
    c->worst = PL_NEW_N(arena, pl_verify_worst *, c->n_ranks);
    for (int i = 0; i < c->n_ranks; i++)
        c->worst[i] = PL_NEW_N(arena, pl_verify_worst, v->whole.n + 1);
    return true;
}

bool pl_verify_split(pl_verify *v, const pl_strategy *strategy, pl_arena *arena,
                     const pl_verify_case **out, pl_err *err)
{
    return make_case(v, &v->graphs, false, strategy, arena, out, err);
}

bool pl_verify_exact(const pl_verify_case *c, pl_arena *arena, const pl_verify_case **out,
                     pl_err *err)
{
    pl_verify *v = c->verify;
    pl_verify_graphs g;
    PL_ASSERT(v->twin.n);
    PL_TRY(pl_verify_side_twin(&v->exact, &v->graphs, arena, &g, err));
    return make_case(v, &g, true, &c->strategy, arena, out, err);
}

const pl_plan *pl_verify_plan(const pl_verify_case *c)
{
    return c->plan[STEP];
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

static double get_difference(const int64_t *record, int i)
{
    double x;
    memcpy(&x, &record[i], sizeof x);
    return x;
}

static void keep_hashes(runner *r)
{
    const pl_store *s = r->side.store;
    for (int k = 0; k < s->n; k++) {
        const pl_port *p = &s->state[k];
        int64_t bytes = pl_region_count(&p->region) * pl_type_bytes(p->value->type);
        void *part = pl_exec_map(r->side.exec, p, PL_READ);
        r->mine[r->w->n + k] = (int64_t)XXH3_64bits(part, (size_t)bytes);
        pl_exec_unmap(r->side.exec, p, PL_READ, part);
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
    double *difference = PL_NEW_N(r->side.arena, double, r->w->n + 1);
    PL_TRY(pl_verify_record(&r->side, r->w, difference, err));
    memcpy(r->mine, difference, sizeof *difference * (size_t)r->w->n);
    keep_hashes(r);
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
    pl_verify_worst *worst = r->c->worst[r->side.rank];
    for (int i = 0; i < r->w->n; i++) {
        pl_verify_worst *most = &worst[i];
        *most = (pl_verify_worst){ 0 };
        for (int k = 0; k < r->c->n_ranks; k++) {
            double x = get_difference(all + (int64_t)k * r->n, i);
            if (x > most->difference) *most = (pl_verify_worst){ x, k };
        }
        if (!f->tensor || most->difference > f->difference)
            f->difference = most->difference, f->tensor = r->w->tensor[i].text,
            f->rank = most->rank;
    }
    f->worst = worst;
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
    runner r = { .c = c, .w = &v->whole, .side = { .o = &v->o, .graphs = &c->graphs } };
    if (c->exact) r.w = &v->twin, r.side.o = &v->exact, r.side.narrow = &v->graphs;
    PL_ASSERT_CMP(comm ? comm->size : 1, ==, c->n_ranks);
    r.side.comm = comm, r.side.rank = comm ? comm->rank : 0;
    r.side.arena = pl_arena_new("verify rank");
    bool ok = run_programs(&r, err);
    pl_verify_side_free(&r.side); /* ends the lane: the comm is ours again */
    ok = ok && exchange(&r, out, err);
    pl_arena_free(r.side.arena);
    return ok;
}

/* -- the verdict ------------------------------------------------------------------------------- */

/* What a tensor may differ by in f32 or bf16 (tolerance + SAFETY x noise), and in f64.
 *
 * SAFETY: two runs are as far from each other as both are from the twin, and a tensor of few
 * elements may have samples that are small by chance; of the tensors of 54 models that needed this
 * (bench/verify.sh), two were over 2.3 and none over 3.2. It guards kernels only.
 * EXACT: the rounding of f64 is 1e-16 and mostly grows to 1e-12 where that of f32 grows to 1e-3,
 * while what is wrong is as large in f64 as ever. Where it grows beyond EXACT (a gradient that is
 * rounding alone, under adam with a small eps) it is measured too, by fewer repetitions. */
static const double SAFETY = 10, EXACT = 1e-8, EXACT_SAFETY = 100;
enum { REPETITIONS = 8, EXACT_REPETITIONS = 2 };

static double limit_of(const pl_verify *v, bool measured, int i)
{
    return v->o.tolerance + (measured ? SAFETY * v->noise[i] : 0);
}

static double exact_limit_of(const pl_verify *v, int i)
{
    return EXACT + (v->twin_noise ? EXACT_SAFETY * v->twin_noise[i] : 0);
}

/* What is not a number is within no limit. */
static void find_first(const pl_verify *v, pl_verify_found *f, bool measured)
{
    f->first = NULL;
    for (int i = 0; i < v->whole.n && !f->first; i++) {
        double limit = limit_of(v, measured, i), x = f->worst[i].difference;
        if (x <= limit && isfinite(x)) continue;
        f->first = v->whole.tensor[i].text;
        f->first_difference = x;
        f->first_rank = f->worst[i].rank;
        f->first_limit = limit;
    }
}

/* The tensor beyond the tolerance that is nearest to its limit, or furthest beyond. */
static void find_rough(const pl_verify *v, pl_verify_found *f)
{
    double most = 0;
    for (int i = 0; i < v->whole.n; i++) {
        double x = f->worst[i].difference / limit_of(v, true, i);
        f->n_blind += SAFETY * v->noise[i] >= 1;
        if (f->worst[i].difference <= v->o.tolerance) continue;
        f->n_rough++;
        f->ratio = fmax(f->ratio, (f->worst[i].difference - v->o.tolerance) / v->noise[i]);
        if (f->rough && x <= most) continue;
        most = x;
        f->rough = v->whole.tensor[i].text;
        f->rough_difference = f->worst[i].difference;
        f->noise = v->noise[i];
    }
}

bool pl_verify_doubts(const pl_verify_case *c, const pl_verify_found *f)
{
    const pl_verify *v = c->verify;
    bool over = false;
    for (int i = 0; i < v->whole.n; i++) over |= f->worst[i].difference > v->o.tolerance;
    return (over || v->o.exact) && !v->strict && !f->copies && !f->lost && f->bytes_rank < 0;
}

double pl_verify_flops(const pl_verify *v, int64_t steps)
{
    return pl_verify_noise_flops(&v->whole, steps);
}

bool pl_verify_measure(pl_verify *v, pl_err *err)
{
    if (v->twin.n) return true;
    v->exact = v->o;
    v->exact.exec.backends += v->o.exec.n_backends - 1;
    v->exact.exec.n_backends = 1;
    v->twin = (pl_verify_whole){
        .o = &v->exact, .ranks = &v->graphs, .of = &v->whole, .arena = v->arena
    };
    if (pl_verify_whole_run(&v->twin, err)) return true;
    pl_verify_whole_free(&v->twin);
    v->twin.n = 0;
    return pl_err_in(err, "in f64");
}

/* Both are measured when the first case needs them. */
static bool measure(pl_verify *v, const pl_verify_whole *w, double **noise, pl_err *err)
{
    bool whole = w == &v->whole;
    if (*noise) return true;
    double *x = PL_NEW_N(v->arena, double, w->n + 1);
    PL_TRY(pl_verify_noise(w, whole ? &v->twin : NULL, whole ? REPETITIONS : EXACT_REPETITIONS, x,
                           err));
    *noise = x;
    return true;
}

static bool refuse_first(const pl_verify *v, const pl_verify_found *f, pl_err *err)
{
    if (!f->measured)
        return pl_err_set(err, PL_EMISMATCH,
                          "%s differs from the whole run by %.2g on rank %d (tolerance %g); the "
                          "largest difference is %.2g: %s on rank %d",
                          f->first, f->first_difference, f->first_rank, v->o.tolerance,
                          f->difference, f->tensor, f->rank);
    return pl_err_set(
        err, PL_EMISMATCH,
        "%s differs from the whole run by %.2g on rank %d, of which rounding explains "
        "%.2g; the largest difference is %.2g: %s on rank %d",
        f->first, f->first_difference, f->first_rank, f->first_limit, f->difference, f->tensor,
        f->rank);
}

static bool is_balanced(const pl_verify_found *f, pl_err *err)
{
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

static bool is_exact(pl_verify *v, const pl_verify_found *f, pl_err *err)
{
    if (f->difference > EXACT) PL_TRY(measure(v, &v->twin, &v->twin_noise, err));
    for (int i = 0; i < v->whole.n; i++) {
        double limit = exact_limit_of(v, i), x = f->worst[i].difference;
        if (x <= limit && isfinite(x)) continue;
        return pl_err_set(err, PL_EMISMATCH,
                          "%s differs from the whole run by %.2g on rank %d also in f64, where "
                          "rounding explains %.2g; the largest difference is %.2g: %s on rank %d",
                          v->whole.tensor[i].text, x, f->worst[i].rank, limit, f->difference,
                          f->tensor, f->rank);
    }
    return is_balanced(f, err);
}

bool pl_verify_judge(const pl_verify_case *c, pl_verify_found *f, const pl_verify_found *exact,
                     pl_err *err)
{
    pl_verify *v = c->verify;
    f->n_tensors = v->whole.n;
    f->measured = exact;
    f->exact_difference = exact ? exact->difference : 0;
    f->n_rough = f->n_blind = 0, f->rough = NULL, f->ratio = 0;
    find_first(v, f, false);
    if (exact) PL_TRY(is_exact(v, exact, err));
    if (exact && f->first) {
        PL_TRY(measure(v, &v->whole, &v->noise, err));
        find_first(v, f, true);
        find_rough(v, f);
    }
    return f->first ? refuse_first(v, f, err) : is_balanced(f, err);
}
