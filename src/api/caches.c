/* Sizes of caches. Read pl_job_find_cache(): each size has a plan of its own (try_size), and rows
 * that move (add_moves). */
#include "api/caches.h"

#include "cache/hits.h"
#include "data/counts.h"
#include "data/data.h"
#include "plan/stages.h"

#include <string.h>

static const char *const sizes[] = { "0.1%", "0.2%", "0.5%", "1%",  "1.5%", "2%",
                                     "3%",   "5%",   "10%",  "20%", "50%",  "" };

enum { N_SIZES = sizeof sizes / sizeof *sizes };

/* How ids are drawn, found once for each input. */
typedef struct law {
    pl_data zipf; /* its exponent; 0: counted */
    pl_counts counts;
    pl_arena *arena;
    struct {
        int n, cap;
        struct drawn {
            const char *ids;
            pl_draws draws;
        } * at;
    } known;
} law;

static bool read_law(const pl_job *j, const char *ids, pl_arena *arena, law *out, pl_err *err)
{
    pl_graph *whole;
    *out = (law){ .arena = arena };
    if (pl_data_kind_of(ids) == PL_DATA_SYNTHETIC) {
        PL_TRY(pl_data_synthetic_open(ids, &out->zipf, err));
        return out->zipf.zipf > 0 ||
               pl_err_set(err, PL_EUSAGE, "--ids %s: zipf=1.2, or a file of pleat data", ids);
    }
    const pl_optim o = pl_optim_usual(j->optimizer);
    return pl_step_graph(&(pl_trained){ &j->args, &o, NULL }, 1, arena, &whole, err) &&
           pl_counts_read(ids, whole, arena, &out->counts, err);
}

static const pl_draws *draws_of(law *l, const char *ids, int64_t rows)
{
    for (int i = 0; i < l->known.n; i++)
        if (!strcmp(l->known.at[i].ids, ids)) return &l->known.at[i].draws;
    const int64_t *counts = pl_counts_find(&l->counts, ids);
    const pl_draws d = counts ? pl_draws_counted(rows, counts, l->arena)
                              : pl_draws_zipf(rows, l->zipf.zipf, l->arena);
    PL_PUSH(l->arena, &l->known, ((struct drawn){ ids, d }));
    return &l->known.at[l->known.n - 1].draws;
}

static pl_hits hits_of(law *l, const pl_graph *g, const pl_value *table)
{
    const pl_value *ids = pl_cached_ids(g, table);
    return pl_hits_of(draws_of(l, ids->name, table->rows), table->shape.dim[0],
                      g->micro * pl_shape_count(&ids->shape));
}

/* Of a plan, whose tables' moments move with them. */
static void add_moves(law *l, const pl_plan *p, pl_plan_cache *x)
{
    const pl_graph *g = p->graph;
    double lookups = 0;
    for (int i = 0; i < g->values.n; i++) {
        const pl_value *v = g->values.at[i];
        if (!v->rows) continue;
        const pl_hits h = hits_of(l, g, v);
        const pl_region part = pl_plan_region(p, v, 0);
        x->bytes += 2 * h.rows * (double)v->shape.dim[1] * (double)pl_type_bytes(v->type) *
                    (double)pl_region_count(&part) / (double)pl_shape_count(&v->shape);
        if (v->kind != PL_WEIGHT) continue;
        const double n = (double)pl_shape_count(&pl_cached_ids(g, v)->shape);
        lookups += n;
        x->found += n * h.found;
        x->rows += h.rows;
    }
    x->found = lookups > 0 ? x->found / lookups : 1;
    x->move_seconds = x->bytes * p->mesh.host_per_byte;
}

/* False: this size has no plan, as err says. `brief`: with a short search for an order of steps. */
static bool try_size(const pl_job *j, law *l, const char *strategy, bool brief, pl_arena *arena,
                     pl_job *with, pl_found **found, pl_plan_cache *x, pl_err *err)
{
    enum { BRIEF = 10000 };
    const char *size = x->size;
    *x = (pl_plan_cache){ .size = size };
    *with = *j;
    with->cache = size;
    if (brief && !with->request.lower.moves) with->request.lower.moves = BRIEF;
    PL_TRY(pl_job_build(with, 1, false, arena, err));
    PL_TRY(pl_job_find(with, strategy, arena, found, err));
    const pl_candidate *take = (*found)->take;
    x->step_seconds = take->forecast.step_seconds;
    x->memory_bytes = (double)take->forecast.memory.peak;
    x->fits = take->fits;
    add_moves(l, take->plan, x);
    return true;
}

static double seconds_of(const pl_plan_cache *x)
{
    return x->step_seconds + x->move_seconds;
}

/* What fits is better than what does not; of equal ones the larger, which comes later. */
static bool is_better(const pl_plan_cache *x, const pl_plan_cache *than)
{
    if (!than || x->fits != than->fits) return !than || x->fits;
    return seconds_of(x) <= seconds_of(than);
}

/* Sizes in turn, the best of them; NULL: none has a plan, as err says. More rows take more memory,
 * and less of it for the rest is never faster: where that alone takes longer than the best with
 * what it moves, or finds no plan, no larger size is better. *n: how many were tried. */
static const pl_plan_cache *compare(const pl_job *j, law *l, const char *strategy, int *n,
                                    pl_plan_cache *row, pl_arena *arena, pl_err *err)
{
    const pl_plan_cache *best = NULL;
    *n = 0;
    for (bool hopes = true; hopes && *n < N_SIZES;) {
        pl_plan_cache *x = &row[*n];
        pl_job with;
        pl_found *f;
        pl_err why = { 0 };
        x->size = sizes[*n];
        if (!try_size(j, l, strategy, true, arena, &with, &f, x, &why)) {
            if (!best) *err = why;
            break;
        }
        ++*n;
        hopes = !best || !best->fits || x->step_seconds <= seconds_of(best);
        if (is_better(x, best)) best = x;
    }
    return best;
}

bool pl_job_find_cache(pl_job *j, const char *ids, const char *strategy, pl_arena *arena,
                       pl_found **found, pl_err *err)
{
    pl_plan_cache *row = PL_NEW_N(arena, pl_plan_cache, N_SIZES), *take = row;
    const pl_job asked = *j;
    int n = 1;
    law l;
    PL_TRY(read_law(j, ids, arena, &l, err));
    row->size = j->cache;
    if (!strcmp(j->cache, "auto")) {
        const pl_plan_cache *best = compare(&asked, &l, strategy, &n, row, arena, err);
        if (!best) return false;
        take = row + (best - row);
    }
    PL_TRY(try_size(&asked, &l, strategy, false, arena, j, found, take, err));
    j->request.lower = asked.request.lower;
    j->n_caches = n, j->caches = row;
    return true;
}
