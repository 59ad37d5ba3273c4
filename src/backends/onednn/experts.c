#include "backends/onednn/experts.h"

#include "graph/walk.h"
#include "ops/list.h"

#include <oneapi/dnnl/dnnl.h>
#include <stdlib.h>
#include <string.h>

enum { COLUMNS = 64 }; /* of a result that one piece of work adds up */

/* Of a share: x[..., h], y[..., m], w[e, h, m] or, `across`, w[e, m, h]. */
typedef struct experts {
    int w, y; /* operands */
    bool across;
    pl_range range;        /* of the experts */
    int64_t n, h, m, step; /* choices; sizes; from one expert's matrix to the next */
} experts;

/* Where the rows of a choice begin. */
typedef struct place {
    int64_t x, y;
} place;

/* What runs need, in `scratch`: rows stand by expert, those of expert e from first[e] on. */
typedef struct rows {
    int64_t *first; /* [experts + 1] */
    place *place;   /* [n]           */
    float *x, *y;   /* [n][h], [n][m] */
} rows;

/* The one factor of a set with its size; -1: there are more, or none. */
static int find_only(const pl_share *s, uint32_t set, int64_t *size)
{
    int found = -1;
    for (int f = 0; f < s->node->sig->n_factors; f++) {
        if (!(set >> f & 1)) continue;
        if (found >= 0) return -1;
        found = f;
    }
    *size = found < 0 ? 0 : s->factor[found].n;
    return found;
}

static bool describe(const pl_share *s, experts *out, pl_err *why)
{
    const pl_node *n = s->node;
    const bool is_grad = n->op == &pl_op_moe_matmul_grad;
    experts x = { .w = is_grad ? 3 : 2, .y = is_grad ? 2 : 3 };
    const uint32_t ids = pl_walk_mask(n, 1), w = pl_walk_mask(n, x.w);
    for (int o = 0; o < 4; o++)
        if (o != 1 && pl_node_value(n, o)->type != PL_F32)
            return pl_err_set(why, PL_EUNSUPPORTED, "multiplies f32, not %s",
                              pl_type_name(pl_node_value(n, o)->type));
    const int e = pl_sig_find(n->sig, 'e'), h = find_only(s, w & pl_walk_mask(n, 0), &x.h),
              m = find_only(s, w & pl_walk_mask(n, x.y), &x.m);
    if (h < 0 || m < 0)
        return pl_err_set(why, PL_EUNSUPPORTED, "a row is counted by more than one letter");
    pl_walk at = pl_walk_new(s, ids);
    x.range = s->factor[e], x.n = pl_walk_count(&at), x.step = at.stride[x.w][e];
    x.across = at.stride[x.w][h] == 1 && x.h > 1;
    if (at.stride[0][h] != 1 || at.stride[x.y][m] != 1 || x.step != x.h * x.m ||
        at.stride[x.w][x.across ? m : h] != (x.across ? x.h : x.m))
        return pl_err_set(why, PL_EUNSUPPORTED, "rows or matrices do not lie in one piece");
    *out = x;
    return true;
}

bool pl_experts_accepts(const pl_share *s, const pl_kernel_env *env, pl_err *why)
{
    experts x;
    (void)env;
    return describe(s, &x, why);
}

bool pl_experts_make(const pl_share *s, const pl_kernel_env *env, void **state,
                     int64_t *scratch_bytes, pl_err *err)
{
    experts x, *kept;
    (void)env;
    PL_TRY(describe(s, &x, err));
    kept = malloc(sizeof *kept);
    if (!kept) pl_bug(__FILE__, __LINE__, "no memory for %zu bytes", sizeof *kept);
    *kept = x;
    *state = kept;
    const int64_t bytes = (x.range.n + 1) * (int64_t)sizeof(int64_t) +
                          x.n * (int64_t)sizeof(place) + x.n * (x.h + x.m) * (int64_t)sizeof(float);
    *scratch_bytes = (bytes + 63) / 64 * 64;
    return true;
}

void pl_experts_free(void *state)
{
    free(state);
}

/* Which of the share's experts a choice names; -1: none of them. */
static int64_t expert_of(const experts *x, const pl_walk *w, const void *ids)
{
    double e = pl_type_get(w->share->node->in[1]->type, ids, w->at[1]) - (double)x->range.lo;
    return e >= 0 && e < (double)x->range.n ? (int64_t)e : -1;
}

/* Sorts the choices by their experts, in their order. Returns how many there are here. */
static int64_t sort(const pl_share *s, const experts *x, const void *ids, void *scratch, rows *r)
{
    pl_walk w = pl_walk_new(s, pl_walk_mask(s->node, 1));
    r->first = scratch;
    r->place = (place *)(r->first + x->range.n + 1);
    r->x = (float *)(r->place + x->n);
    r->y = r->x + x->n * x->h;
    memset(r->first, 0, (size_t)(x->range.n + 1) * sizeof *r->first);
    do {
        int64_t e = expert_of(x, &w, ids);
        if (e >= 0) r->first[e]++;
    } while (pl_walk_next(&w));
    int64_t here = 0;
    for (int64_t e = 0; e <= x->range.n; e++) { /* from counts to what the experts before have */
        const int64_t count = r->first[e];
        r->first[e] = here;
        here += count;
    }
    do {
        int64_t e = expert_of(x, &w, ids);
        if (e >= 0) r->place[r->first[e]++] = (place){ w.at[0], w.at[x->y] };
    } while (pl_walk_next(&w));
    memmove(r->first + 1, r->first, (size_t)x->range.n * sizeof *r->first);
    r->first[0] = 0;
    return here;
}

static void multiply(char left, char right, int64_t m, int64_t n, int64_t k, const float *a,
                     const float *b, float *c)
{
    dnnl_status_t status = dnnl_sgemm(left, right, m, n, k, 1, a, left == 'T' ? m : k, b,
                                      right == 'T' ? k : n, 0, c, n);
    PL_ASSERT_CMP(status, ==, dnnl_success);
}

static void gather(const float *from, int64_t width, int64_t n, const place *at, bool y, float *to,
                   int n_threads)
{
#pragma omp parallel for num_threads(n_threads) if (n * width > 32768)
    for (int64_t i = 0; i < n; i++)
        memcpy(to + i * width, from + (y ? at[i].y : at[i].x), (size_t)width * sizeof *to);
}

/* Rows of choices that y does not count are added up, each element in the order of the experts. */
static void add_rows(const experts *x, int64_t n, const rows *r, float *y, int n_threads)
{
#pragma omp parallel for num_threads(n_threads) if (n * x->m > 32768)
    for (int64_t lo = 0; lo < x->m; lo += COLUMNS) {
        const int64_t hi = lo + COLUMNS < x->m ? lo + COLUMNS : x->m;
        for (int64_t i = 0; i < n; i++)
            for (int64_t c = lo; c < hi; c++) y[r->place[i].y + c] += r->y[i * x->m + c];
    }
}

static void put_rows(const experts *x, int64_t n, const rows *r, float *y, int n_threads)
{
#pragma omp parallel for num_threads(n_threads) if (n * x->m > 32768)
    for (int64_t i = 0; i < n; i++)
        memcpy(y + r->place[i].y, r->y + i * x->m, (size_t)x->m * sizeof *y);
}

void pl_experts_run(const pl_share *s, const pl_kernel_env *env, void *state,
                    const void *const in[], void *const out[], void *scratch)
{
    const experts *x = state;
    const float *w = in[2];
    float *y = out[0];
    const int64_t all = pl_shape_count(pl_share_out(s, 0));
    rows r;
    const int64_t n = sort(s, x, in[1], scratch, &r);
    gather(in[0], x->h, n, r.place, false, r.x, env->n_threads);
    for (int64_t e = 0; e < x->range.n; e++) {
        const int64_t first = r.first[e], count = r.first[e + 1] - first;
        if (count)
            multiply('N', x->across ? 'T' : 'N', count, x->m, x->h, r.x + first * x->h,
                     w + e * x->step, r.y + first * x->m);
    }
    const bool each = all == x->n * x->m;
    if (!each || n < x->n) memset(y, 0, (size_t)all * sizeof *y);
    (each ? put_rows : add_rows)(x, n, &r, y, env->n_threads);
}

void pl_experts_grad_run(const pl_share *s, const pl_kernel_env *env, void *state,
                         const void *const in[], void *const out[], void *scratch)
{
    const experts *x = state;
    float *w = out[0];
    rows r;
    const int64_t n = sort(s, x, in[1], scratch, &r);
    gather(in[0], x->h, n, r.place, false, r.x, env->n_threads);
    gather(in[2], x->m, n, r.place, true, r.y, env->n_threads);
    for (int64_t e = 0; e < x->range.n; e++) {
        const int64_t first = r.first[e], count = r.first[e + 1] - first;
        const float *a = r.x + first * x->h, *b = r.y + first * x->m;
        if (!count)
            memset(w + e * x->step, 0, (size_t)x->step * sizeof *w);
        else if (x->across)
            multiply('T', 'N', x->m, x->h, count, b, a, w + e * x->step);
        else
            multiply('T', 'N', x->h, x->m, count, a, b, w + e * x->step);
    }
}
