/* max_pool, avg_pool and their gradients, one to three windows. The letters before the windows are
 * batches, those after them are channels: with channels last the inner loop runs along them, else
 * along a row of positions. */
#include "backends/native/kernels.h"

#include "graph/walk.h"

#include <float.h>
#include <string.h>

enum { CHANNELS = 256 }; /* that the gradient of max_pool handles side by side */

typedef struct window {
    int64_t size, n, taps, stride, dilation, pad; /* of the input, positions; this share's */
} window;

typedef struct pool {
    bool is_max, count_pad;
    int64_t batches, channels;
    window w[3]; /* z, y, x; unused ones are 1 wide */
} pool;

/* The operand with the windows, and one without. */
static int windowed(const pl_node *n)
{
    return n->op == &pl_op_avg_pool_grad ? 1 : 0;
}

/* Windows' positions replaced, do both operands list the same factors in the same order? Gives the
 * batches and channels. */
static bool match(const pl_share *s, pool *p, pl_err *why)
{
    const pl_node *n = s->node;
    int full = windowed(n), flat[PL_MAX_FACTORS], at = 0, n_windows = 0;
    const pl_operand *o = &n->sig->operand[full];
    int n_flat = pl_kernels_order(&n->sig->operand[1 - full], flat);
    p->batches = p->channels = 1;
    for (int j = 0; j < o->rank; j++) {
        const pl_sig_dim *d = &o->dim[j];
        bool is_window = d->window >= 0;
        if (is_window && n_windows && o->dim[j - 1].window < 0)
            return pl_err_set(why, PL_EUNSUPPORTED, "the windows are not next to each other");
        n_windows += is_window;
        for (int k = 0; k < (is_window ? 1 : d->n); k++, at++) {
            int f = is_window ? n->sig->window[d->window].position : d->factor[k];
            if (at >= n_flat || flat[at] != f)
                return pl_err_set(why, PL_EUNSUPPORTED, "the operands' letters differ in order");
            if (!is_window) *(n_windows ? &p->channels : &p->batches) *= s->factor[f].n;
        }
    }
    return at == n_flat || pl_err_set(why, PL_EUNSUPPORTED, "the operands' letters differ");
}

/* The gradient of max_pool: y and dy alike, x and dx alike. */
static bool is_alike(const pl_operand *a, const pl_operand *b)
{
    bool same = a->rank == b->rank;
    for (int j = 0; same && j < a->rank; j++)
        same = a->dim[j].n == b->dim[j].n && a->dim[j].window == b->dim[j].window &&
               !memcmp(a->dim[j].factor, b->dim[j].factor,
                       (size_t)a->dim[j].n * sizeof a->dim[j].factor[0]);
    return same;
}

/* Does some window lie in the padding alone? Its maximum would be minus infinity. */
static bool has_empty_window(const window *w)
{
    for (int64_t i = 0; i < w->n; i++) {
        bool inside = false;
        for (int64_t t = 0; t < w->taps; t++) {
            int64_t at = i * w->stride + t * w->dilation - w->pad;
            inside |= at >= 0 && at < w->size;
        }
        if (!inside) return true;
    }
    return false;
}

static void find_windows(const pl_share *s, pool *p)
{
    const pl_node *n = s->node;
    int full = windowed(n), k = 3 - n->sig->n_windows;
    const pl_operand *o = &n->sig->operand[full];
    const pl_shape *shape = &s->shape[full];
    for (int i = 0; i < k; i++) p->w[i] = (window){ 1, 1, 1, 1, 1, 0 };
    for (int j = 0; j < o->rank; j++) {
        if (o->dim[j].window < 0) continue;
        const pl_window *x = &s->window[o->dim[j].window];
        p->w[k++] = (window){ shape->dim[j],       s->factor[x->position].n,
                              s->factor[x->tap].n, x->stride,
                              x->dilation,         x->pad_lo };
    }
}

static bool is_max(const pl_node *n)
{
    return n->op == &pl_op_max_pool || n->op == &pl_op_max_pool_grad;
}

bool pl_pool_accepts(const pl_share *s, const pl_kernel_env *env, pl_err *why)
{
    pool p;
    PL_TRY(pl_kernels_all_f32(s, env, why));
    PL_TRY(match(s, &p, why));
    find_windows(s, &p);
    const pl_operand *o = s->node->sig->operand;
    if (s->node->op == &pl_op_max_pool_grad && !(is_alike(&o[0], &o[3]) && is_alike(&o[1], &o[2])))
        return pl_err_set(why, PL_EUNSUPPORTED, "dx is not laid out as x, or dy not as y");
    for (int k = 0; k < 3; k++)
        if (is_max(s->node) && has_empty_window(&p.w[k]))
            return pl_err_set(why, PL_EUNSUPPORTED, "a window lies in the padding alone");
    return true;
}

bool pl_pool_make(const pl_share *s, const pl_kernel_env *env, void **state, int64_t *scratch_bytes,
                  pl_err *err)
{
    pool p = { .is_max = is_max(s->node) };
    (void)env;
    PL_TRY(match(s, &p, err));
    find_windows(s, &p);
    p.count_pad = !p.is_max && pl_node_int(s->node, "count_pad", 0);
    *scratch_bytes = 0;
    return pl_kernels_keep(&p, sizeof p, state, err);
}

/* Input index of tap t at position i, or -1 in the padding. */
static int64_t index_of(const window *w, int64_t i, int64_t t)
{
    int64_t at = i * w->stride + t * w->dilation - w->pad;
    return at >= 0 && at < w->size ? at : -1;
}

/* What a mean over the window at position i divides by, along one dimension. */
static int64_t count_at(const window *w, int64_t i, bool count_pad)
{
    int64_t n = 0;
    for (int64_t t = 0; t < w->taps; t++) n += count_pad || index_of(w, i, t) >= 0;
    return n;
}

/* Positions [lo, hi) of which tap t is inside. */
static void range_of(const window *w, int64_t t, int64_t *lo, int64_t *hi)
{
    int64_t shift = w->pad - t * w->dilation; /* 0 <= i stride - shift < size */
    *lo = shift > 0 ? (shift + w->stride - 1) / w->stride : 0;
    *hi = w->size + shift > 0 ? (w->size + shift - 1) / w->stride + 1 : 0;
    if (*hi > w->n) *hi = w->n;
}

/* y[i] = larger of itself and x, or plus x: one tap for n outputs whose inputs lie `step` apart. */
static void add_tap(bool is_maximum, int64_t n, float *y, const float *x, int64_t step)
{
    if (!is_maximum) {
#pragma omp simd
        for (int64_t i = 0; i < n; i++) y[i] += x[i * step];
    } else if (step == 1) {
#pragma omp simd
        for (int64_t i = 0; i < n; i++) y[i] = x[i] > y[i] ? x[i] : y[i];
    } else {
#pragma omp simd
        for (int64_t i = 0; i < n; i++) y[i] = x[i * step] > y[i] ? x[i * step] : y[i];
    }
}

/* One row of positions: x is its batch, y its first output. */
static void pool_row(const pool *p, const float *x, int64_t oz, int64_t oy, float *y)
{
    const window *z = &p->w[0], *r = &p->w[1], *s = &p->w[2];
    int64_t c = p->channels;
    for (int64_t i = 0; i < s->n * c; i++) y[i] = p->is_max ? -FLT_MAX : 0;
    for (int64_t tap = 0; tap < z->taps * r->taps * s->taps; tap++) {
        int64_t t = tap % s->taps, lo, hi;
        int64_t iz = index_of(z, oz, tap / s->taps / r->taps);
        int64_t iy = index_of(r, oy, tap / s->taps % r->taps);
        if (iz < 0 || iy < 0) continue;
        int64_t row = (iz * r->size + iy) * s->size + t * s->dilation - s->pad;
        range_of(s, t, &lo, &hi);
        if (c == 1 && lo < hi)
            add_tap(p->is_max, hi - lo, y + lo, x + (row + lo * s->stride), s->stride);
        for (int64_t i = lo; c > 1 && i < hi; i++)
            add_tap(p->is_max, c, y + i * c, x + (row + i * s->stride) * c, 1);
    }
    if (p->is_max) return;
    int64_t count = count_at(z, oz, p->count_pad) * count_at(r, oy, p->count_pad);
    for (int64_t i = 0; i < s->n; i++) {
        int64_t n = count * count_at(s, i, p->count_pad);
        float by = n ? 1 / (float)n : 0;
        for (int64_t k = 0; k < c; k++) y[i * c + k] *= by;
    }
}

void pl_pool_run(const pl_share *s, const pl_kernel_env *env, void *state, const void *const in[],
                 void *const out[], void *scratch)
{
    const pool *p = state;
    int64_t planes = p->w[0].n, rows = p->w[1].n, width = p->w[2].n * p->channels;
    int64_t whole = p->w[0].size * p->w[1].size * p->w[2].size * p->channels;
    int64_t n_rows = p->batches * planes * rows;
    (void)scratch;
    bool parallel = pl_shape_count(&s->shape[0]) > PL_LOOPS_SERIAL;
#pragma omp parallel for num_threads(env->n_threads) if (parallel) schedule(static)
    for (int64_t i = 0; i < n_rows; i++)
        pool_row(p, (const float *)in[0] + i / rows / planes * whole, i / rows % planes, i % rows,
                 (float *)out[0] + i * width);
}

typedef struct point {
    int64_t at[3], count; /* position in each window; what a mean divides by */
} point;

/* n channels of one window of max_pool: dy goes to the first element that equals y. `left` is what
 * is not given away yet. */
static void give_to_max(const pool *p, const point *o, int64_t n, const float *x, const float *y,
                        const float *dy, float *dx)
{
    const window *w = p->w;
    float left[CHANNELS];
    memcpy(left, dy, (size_t)n * sizeof *left);
    for (int64_t tap = 0; tap < w[0].taps * w[1].taps * w[2].taps; tap++) {
        int64_t iz = index_of(&w[0], o->at[0], tap / w[2].taps / w[1].taps);
        int64_t iy = index_of(&w[1], o->at[1], tap / w[2].taps % w[1].taps);
        int64_t ix = index_of(&w[2], o->at[2], tap % w[2].taps);
        if (iz < 0 || iy < 0 || ix < 0) continue;
        int64_t at = ((iz * w[1].size + iy) * w[2].size + ix) * p->channels;
#pragma omp simd
        for (int64_t i = 0; i < n; i++) {
            float give = x[at + i] == y[i] ? left[i] : 0;
            dx[at + i] += give;
            left[i] -= give;
        }
    }
}

/* n channels of one window of avg_pool: dy / count goes to all. */
static void give_to_all(const pool *p, const point *o, int64_t n, const float *dy, float *dx)
{
    const window *w = p->w;
    const float by = o->count ? 1 / (float)o->count : 0;
    for (int64_t tap = 0; tap < w[0].taps * w[1].taps * w[2].taps; tap++) {
        int64_t iz = index_of(&w[0], o->at[0], tap / w[2].taps / w[1].taps);
        int64_t iy = index_of(&w[1], o->at[1], tap / w[2].taps % w[1].taps);
        int64_t ix = index_of(&w[2], o->at[2], tap % w[2].taps);
        if (iz < 0 || iy < 0 || ix < 0) continue;
        float *to = dx + ((iz * w[1].size + iy) * w[2].size + ix) * p->channels;
#pragma omp simd
        for (int64_t i = 0; i < n; i++) to[i] += by * dy[i];
    }
}

/* All windows of one batch, for a range of channels. x and y are NULL for avg_pool. */
static void give_batch(const pool *p, int64_t lo, int64_t n, const float *x, const float *y,
                       const float *dy, float *dx)
{
    const window *w = p->w;
    int64_t c = p->channels, pixels = w[0].size * w[1].size * w[2].size;
    for (int64_t i = 0; i < pixels; i++) memset(dx + i * c + lo, 0, (size_t)n * sizeof *dx);
    for (int64_t i = 0; i < w[0].n * w[1].n * w[2].n; i++) {
        point o = { { i / w[2].n / w[1].n, i / w[2].n % w[1].n, i % w[2].n }, 0 };
        int64_t at = i * c + lo;
        if (p->is_max) {
            give_to_max(p, &o, n, x + lo, y + at, dy + at, dx + lo);
            continue;
        }
        o.count = count_at(&w[0], o.at[0], p->count_pad) * count_at(&w[1], o.at[1], p->count_pad) *
                  count_at(&w[2], o.at[2], p->count_pad);
        give_to_all(p, &o, n, dy + at, dx + lo);
    }
}

void pl_pool_grad_run(const pl_share *s, const pl_kernel_env *env, void *state,
                      const void *const in[], void *const out[], void *scratch)
{
    const pool *p = state;
    const window *w = p->w;
    int64_t c = p->channels, pieces = (c + CHANNELS - 1) / CHANNELS;
    int64_t large = w[0].size * w[1].size * w[2].size * c, small = w[0].n * w[1].n * w[2].n * c;
    const float *x = p->is_max ? in[0] : NULL, *y = p->is_max ? in[1] : NULL;
    const float *dy = in[p->is_max ? 2 : 0];
    (void)scratch;
    bool parallel = pl_shape_count(pl_share_out(s, 0)) > PL_LOOPS_SERIAL;
#pragma omp parallel for num_threads(env->n_threads) if (parallel) schedule(static)
    for (int64_t i = 0; i < p->batches * pieces; i++) {
        int64_t b = i / pieces, lo = i % pieces * CHANNELS,
                n = c - lo < CHANNELS ? c - lo : CHANNELS;
        give_batch(p, lo, n, x ? x + b * large : NULL, y ? y + b * small : NULL, dy + b * small,
                   (float *)out[0] + b * large);
    }
}
