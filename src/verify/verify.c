/* The verification. Read pl_verify_new() (the whole run), pl_verify_run() (one rank of a case,
 * and the exchange of what all found), pl_verify_judge() (the verdict). */
#include "verify/verify.h"

#include "plan/stages.h"
#include "planners/find.h"
#include "verify/noise.h"
#include "verify/record.h"

#include <math.h>
#include <string.h>
#include <xxhash.h>

enum { STEP = PL_VERIFY_STEP, N_PROGRAMS = PL_VERIFY_PROGRAMS };

struct pl_verify {
    pl_verify_options options;
    pl_verify_options exact; /* of twins, run by the last backend, which takes any type */
    pl_verify_graphs graphs; /* of the ranks                                                   */
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
    const pl_plan *plan[PL_VERIFY_GRAPHS];
    pl_verify_worst **worst; /* [ranks][tensors] as that rank, of this process, found them */
};

bool pl_verify_new(const pl_verify_options *options, pl_arena *arena, pl_verify **out, pl_err *err)
{
    pl_verify *verify = PL_NEW(arena, pl_verify);
    *verify = (pl_verify){ .options = *options, .arena = arena };
    verify->strict = options->tolerance >= 0;
    if (!verify->options.micro) verify->options.micro = 1;
    verify->whole =
        (pl_verify_whole){ .options = &verify->options, .ranks = &verify->graphs, .arena = arena };
    *out = verify;
    if (pl_verify_side_build(&verify->options, verify->options.micro, NULL, arena, &verify->graphs,
                             err)) {
        bool rough = pl_model_type(&verify->graphs.args) == PL_BF16;
        if (verify->options.tolerance < 0) verify->options.tolerance = rough ? 0.1 : 1e-5;
        if (pl_verify_whole_run(&verify->whole, err)) return true;
    }
    pl_verify_free(verify);
    *out = NULL;
    return false;
}

void pl_verify_free(pl_verify *verify)
{
    if (!verify) return;
    pl_verify_whole_free(&verify->whole);
    pl_verify_whole_free(&verify->twin);
}

const pl_graph *pl_verify_graph(const pl_verify *verify)
{
    return verify->whole.graphs.graph[STEP];
}

double pl_verify_tolerance(const pl_verify *verify)
{
    return verify->options.tolerance;
}

const char *pl_verify_type(const pl_verify *verify)
{
    return pl_type_name(pl_model_type(&verify->graphs.args));
}

const char *pl_verify_model(const pl_verify *verify)
{
    return verify->graphs.model;
}

int64_t pl_verify_runs(const pl_verify *verify)
{
    return verify->whole.graphs.runs;
}

/* Twins get the plans of what they are twins of: floats become f64 afterwards. */
static bool make_case(pl_verify *verify, const pl_verify_graphs *graphs, bool exact,
                      const pl_strategy *strategy, pl_arena *arena, const pl_verify_case **out,
                      pl_err *err)
{
    pl_verify_case *c = PL_NEW(arena, pl_verify_case);
    *c = (pl_verify_case){ .verify = verify,
                           .strategy = *strategy,
                           .exact = exact,
                           .n_ranks = strategy->devices,
                           .graphs = *graphs };
    *out = c;
    pl_found *found;
    pl_plan_request r = verify->options.plan;
    r.strategy = *strategy;
    PL_TRY(pl_plan_find_all(&r, PL_VERIFY_GRAPHS, graphs->graph, arena, c->plan, &found, err));
    if (r.search.memory > 0 && !found->take->fits)
        return pl_err_set(err, PL_EINFEASIBLE, "a device needs %s, and is to have %s",
                          pl_text_size(arena, (double)found->take->forecast.memory.peak),
                          pl_text_size(arena, r.search.memory));
    if (exact) pl_verify_side_widen(&c->graphs);
    c->worst = PL_NEW_N(arena, pl_verify_worst *, c->n_ranks);
    for (int i = 0; i < c->n_ranks; i++)
        c->worst[i] = PL_NEW_N(arena, pl_verify_worst, verify->whole.n + 1);
    return true;
}

bool pl_verify_split(pl_verify *verify, const pl_strategy *strategy, pl_arena *arena,
                     const pl_verify_case **out, pl_err *err)
{
    return make_case(verify, &verify->graphs, false, strategy, arena, out, err);
}

bool pl_verify_exact(const pl_verify_case *c, pl_arena *arena, const pl_verify_case **out,
                     pl_err *err)
{
    pl_verify *verify = c->verify;
    pl_verify_graphs g;
    PL_ASSERT(verify->twin.n);
    PL_TRY(pl_verify_side_twin(&verify->exact, &verify->graphs, arena, &g, err));
    return make_case(verify, &g, true, &c->strategy, arena, out, err);
}

const pl_plan *pl_verify_plan(const pl_verify_case *c)
{
    return c->plan[STEP];
}

/* -- one rank ---------------------------------------------------------------------------------- */

typedef struct runner {
    const pl_verify_case *c;
    const pl_verify_whole *whole;
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
        int64_t bytes = pl_region_count(p->region) * pl_type_bytes(p->value->type);
        void *part = pl_exec_map(r->side.exec, p, PL_READ);
        r->mine[r->whole->n + k] = (int64_t)XXH3_64bits(part, (size_t)bytes);
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
    r->n = r->whole->n + r->side.store->n + BOOKS;
    r->mine = PL_NEW_N(r->side.arena, int64_t, r->n);
    double *difference = PL_NEW_N(r->side.arena, double, r->whole->n + 1);
    PL_TRY(pl_verify_record(&r->side, r->whole, difference, err));
    memcpy(r->mine, difference, sizeof *difference * (size_t)r->whole->n);
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
static void find_copies(const runner *r, int state, const int64_t *all, pl_verify_found *found)
{
    const pl_port *p = &r->side.store->state[state];
    int n_ranks = r->c->n_ranks;
    pl_region *region = PL_NEW_N(r->side.arena, pl_region, n_ranks);
    int64_t held = 0;
    for (int i = 0; i < n_ranks; i++) {
        region[i] = pl_plan_region(r->side.program[STEP]->plan, p->value, i);
        int k = 0;
        while (k < i && !same_region(&region[i], &region[k])) k++;
        if (k == i) held += pl_region_count(&region[i]);
        int64_t at = r->whole->n + state;
        if (found->copies || p->where.pending || all[i * r->n + at] == all[k * r->n + at]) continue;
        found->copies = p->value->name;
        found->copy_rank[0] = k, found->copy_rank[1] = i;
    }
    if (!found->lost && held < pl_shape_count(&p->value->shape)) found->lost = p->value->name;
}

static void find_differences(const runner *r, const int64_t *all, pl_verify_found *found)
{
    pl_verify_worst *worst = r->c->worst[r->side.rank];
    for (int i = 0; i < r->whole->n; i++) {
        pl_verify_worst *most = &worst[i];
        *most = (pl_verify_worst){ 0 };
        for (int k = 0; k < r->c->n_ranks; k++) {
            double x = get_difference(all + (int64_t)k * r->n, i);
            if (x > most->difference) *most = (pl_verify_worst){ x, k };
        }
        if (!found->tensor || most->difference > found->difference)
            found->difference = most->difference, found->tensor = r->whole->tensor[i].text,
            found->rank = most->rank;
    }
    found->worst = worst;
}

/* Of the rank that receives most in a training step; or of the first program with books that do not
 * balance. */
static void find_bytes(const runner *r, const int64_t *all, pl_verify_found *found)
{
    found->bytes_rank = -1;
    for (int k = 0; k < r->c->n_ranks; k++)
        for (int i = 0; i < N_BOOKS; i++) {
            const int64_t *x = all + (int64_t)(k + 1) * r->n - BOOKS + BOOK * i;
            int64_t runs = x[0], predicted = x[1], received = x[2];
            bool steps = i == N_PROGRAMS, balanced = predicted == received;
            if (!runs) continue;
            if (balanced && (!steps || predicted / runs < found->bytes_predicted)) continue;
            found->bytes_predicted = predicted / runs;
            found->bytes_counted = received / runs;
            if (balanced) continue;
            found->bytes_rank = k;
            return;
        }
}

static bool exchange(const runner *r, pl_verify_found *found, pl_err *err)
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
    *found = (pl_verify_found){ 0 };
    find_differences(r, all, found);
    for (int i = 0; i < r->side.store->n; i++) find_copies(r, i, all, found);
    find_bytes(r, all, found);
    return true;
}

bool pl_verify_run(const pl_verify_case *c, pl_comm *comm, pl_verify_found *out, pl_err *err)
{
    const pl_verify *verify = c->verify;
    runner r = { .c = c,
                 .whole = &verify->whole,
                 .side = { .options = &verify->options, .graphs = &c->graphs } };
    if (c->exact)
        r.whole = &verify->twin, r.side.options = &verify->exact, r.side.narrow = &verify->graphs;
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
    return v->options.tolerance + (measured ? SAFETY * v->noise[i] : 0);
}

static double exact_limit_of(const pl_verify *v, int i)
{
    return EXACT + (v->twin_noise ? EXACT_SAFETY * v->twin_noise[i] : 0);
}

/* What is not a number is within no limit. */
static void find_first(const pl_verify *verify, pl_verify_found *found, bool measured)
{
    found->first = NULL;
    for (int i = 0; i < verify->whole.n && !found->first; i++) {
        double limit = limit_of(verify, measured, i), x = found->worst[i].difference;
        if (x <= limit && isfinite(x)) continue;
        found->first = verify->whole.tensor[i].text;
        found->first_difference = x;
        found->first_rank = found->worst[i].rank;
        found->first_limit = limit;
    }
}

/* The tensor beyond the tolerance that is nearest to its limit, or furthest beyond. */
static void find_rough(const pl_verify *verify, pl_verify_found *found)
{
    double most = 0;
    for (int i = 0; i < verify->whole.n; i++) {
        double x = found->worst[i].difference / limit_of(verify, true, i);
        found->n_blind += SAFETY * verify->noise[i] >= 1;
        if (found->worst[i].difference <= verify->options.tolerance) continue;
        found->n_rough++;
        found->ratio = fmax(found->ratio, (found->worst[i].difference - verify->options.tolerance) /
                                              verify->noise[i]);
        if (found->rough && x <= most) continue;
        most = x;
        found->rough = verify->whole.tensor[i].text;
        found->rough_difference = found->worst[i].difference;
        found->noise = verify->noise[i];
    }
}

bool pl_verify_doubts(const pl_verify_case *c, const pl_verify_found *found)
{
    const pl_verify *verify = c->verify;
    bool over = false;
    for (int i = 0; i < verify->whole.n; i++)
        over |= found->worst[i].difference > verify->options.tolerance;
    return (over || verify->options.exact) && !verify->strict && !found->copies && !found->lost &&
           found->bytes_rank < 0;
}

double pl_verify_flops(const pl_verify *verify, int64_t steps)
{
    return pl_verify_noise_flops(&verify->whole, steps);
}

bool pl_verify_measure(pl_verify *verify, pl_err *err)
{
    if (verify->twin.n) return true;
    verify->exact = verify->options;
    verify->exact.exec.backends += verify->options.exec.n_backends - 1;
    verify->exact.exec.n_backends = 1;
    verify->twin = (pl_verify_whole){ .options = &verify->exact,
                                      .ranks = &verify->graphs,
                                      .of = &verify->whole,
                                      .arena = verify->arena };
    if (pl_verify_whole_run(&verify->twin, err)) return true;
    pl_verify_whole_free(&verify->twin);
    verify->twin.n = 0;
    return pl_err_in(err, "in f64");
}

/* Both are measured when the first case needs them. */
static bool measure(pl_verify *verify, const pl_verify_whole *w, double **noise, pl_err *err)
{
    bool whole = w == &verify->whole;
    if (*noise) return true;
    double *x = PL_NEW_N(verify->arena, double, w->n + 1);
    PL_TRY(pl_verify_noise(w, whole ? &verify->twin : NULL, whole ? REPETITIONS : EXACT_REPETITIONS,
                           x, err));
    *noise = x;
    return true;
}

static bool refuse_first(const pl_verify *verify, const pl_verify_found *found, pl_err *err)
{
    if (!found->measured)
        return pl_err_set(err, PL_EMISMATCH,
                          "%s differs from the whole run by %.2g on rank %d (tolerance %g); the "
                          "largest difference is %.2g: %s on rank %d",
                          found->first, found->first_difference, found->first_rank,
                          verify->options.tolerance, found->difference, found->tensor, found->rank);
    return pl_err_set(
        err, PL_EMISMATCH,
        "%s differs from the whole run by %.2g on rank %d, of which rounding explains "
        "%.2g; the largest difference is %.2g: %s on rank %d",
        found->first, found->first_difference, found->first_rank, found->first_limit,
        found->difference, found->tensor, found->rank);
}

static bool is_balanced(const pl_verify_found *found, pl_err *err)
{
    if (found->copies)
        return pl_err_set(err, PL_EMISMATCH, "replicas differ: ranks %d and %d hold copies of '%s'",
                          found->copy_rank[0], found->copy_rank[1], found->copies);
    if (found->lost)
        return pl_err_set(err, PL_EMISMATCH, "no rank holds some elements of '%s'", found->lost);
    if (found->bytes_rank >= 0)
        return pl_err_set(err, PL_EMISMATCH, "rank %d received %lld bytes, its program says %lld",
                          found->bytes_rank, (long long)found->bytes_counted,
                          (long long)found->bytes_predicted);
    return true;
}

static bool is_exact(pl_verify *verify, const pl_verify_found *found, pl_err *err)
{
    if (found->difference > EXACT) PL_TRY(measure(verify, &verify->twin, &verify->twin_noise, err));
    for (int i = 0; i < verify->whole.n; i++) {
        double limit = exact_limit_of(verify, i), x = found->worst[i].difference;
        if (x <= limit && isfinite(x)) continue;
        return pl_err_set(err, PL_EMISMATCH,
                          "%s differs from the whole run by %.2g on rank %d also in f64, where "
                          "rounding explains %.2g; the largest difference is %.2g: %s on rank %d",
                          verify->whole.tensor[i].text, x, found->worst[i].rank, limit,
                          found->difference, found->tensor, found->rank);
    }
    return is_balanced(found, err);
}

bool pl_verify_judge(const pl_verify_case *c, pl_verify_found *found, const pl_verify_found *exact,
                     pl_err *err)
{
    pl_verify *verify = c->verify;
    found->n_tensors = verify->whole.n;
    found->measured = exact;
    found->exact_difference = exact ? exact->difference : 0;
    found->n_rough = found->n_blind = 0, found->rough = NULL, found->ratio = 0;
    find_first(verify, found, false);
    if (exact) PL_TRY(is_exact(verify, exact, err));
    if (exact && found->first) {
        PL_TRY(measure(verify, &verify->whole, &verify->noise, err));
        find_first(verify, found, true);
        find_rough(verify, found);
    }
    return found->first ? refuse_first(verify, found, err) : is_balanced(found, err);
}
