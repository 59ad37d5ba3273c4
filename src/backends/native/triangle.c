/* cholesky and cholesky_solve. Sums are taken in double, as in the reference: that costs little, as
 * arrays of f32 are what memory has to bring. */
#include "backends/native/kernels.h"

#include <math.h>
#include <string.h>

enum {
    PANEL = 32,             /* columns that are finished before the rows below them */
    TILE = 16,              /* rows that are solved side by side                    */
    WORK = PL_LOOPS_SERIAL, /* multiplications: up to here, threads do not pay      */
};

static bool in_order(const pl_operand *o)
{
    int factor[PL_MAX_FACTORS];
    return pl_kernels_order(o, factor) >= 0;
}

bool pl_triangle_accepts(const pl_share *s, const pl_kernel_env *env, pl_err *why)
{
    const pl_node *n = s->node;
    PL_TRY(pl_kernels_all_f32(s, env, why));
    for (int o = 0; o < n->n_in + n->n_out; o++)
        if (!in_order(&n->sig->operand[o]))
            return pl_err_set(why, PL_EUNSUPPORTED, "operand %d has windows", o);
    return true;
}

/* -- cholesky ---------------------------------------------------------------------------------- */

/* Columns [at, at + width) of l, which are being made. across[n][PANEL] has the rows of l of the
 * same numbers, transposed: 0 where they are not made. */
typedef struct panel {
    const float *a;
    float *l;
    int64_t n, at, width;
    double shift, *across;
} panel;

bool pl_cholesky_make(const pl_share *s, const pl_kernel_env *env, void **state,
                      int64_t *scratch_bytes, pl_err *err)
{
    (void)env, (void)state, (void)err;
    *scratch_bytes = s->shape[0].dim[0] * PANEL * (int64_t)sizeof(double);
    return true;
}

static void turn(const panel *p)
{
    memset(p->across, 0, (size_t)((p->at + p->width) * PANEL) * sizeof *p->across);
    for (int64_t c = 0; c < p->width; c++)
        for (int64_t k = 0; k < p->at; k++)
            p->across[k * PANEL + c] = (double)p->l[(p->at + c) * p->n + k];
}

/* sum += x row, of PANEL. */
static inline void add_row(double x, const double *row, double *sum)
{
#pragma omp simd
    for (int c = 0; c < PANEL; c++) sum[c] += x * row[c];
}

/* The panel's part of row i. Rows of the panel itself end with the diagonal, and join `across`. */
static void factor_row(const panel *p, int64_t i)
{
    const float *a = p->a + i * p->n + p->at;
    float *row = p->l + i * p->n;
    double sum[PANEL] = { 0 };
    const int64_t own = i - p->at, end = own < p->width ? own : p->width;
    for (int64_t k = 0; k < p->at; k++) add_row((double)row[k], p->across + k * PANEL, sum);
    for (int64_t j = 0; j < end; j++) {
        double *column = p->across + (p->at + j) * PANEL;
        row[p->at + j] = (float)(((double)a[j] - sum[j]) / column[j]);
        if (own < p->width) column[own] = (double)row[p->at + j];
        add_row((double)row[p->at + j], column, sum);
    }
    if (own >= p->width) return;
    const double x = (double)a[own] + p->shift - sum[own];
    row[i] = (float)sqrt(x > 1e-30 ? x : 1e-30);
    p->across[i * PANEL + own] = (double)row[i];
    memset(row + i + 1, 0, (size_t)(p->n - 1 - i) * sizeof *row);
}

void pl_cholesky_run(const pl_share *s, const pl_kernel_env *env, void *state,
                     const void *const in[], void *const out[], void *scratch)
{
    const int64_t n = s->shape[0].dim[0];
    panel p = { in[0], out[0], n, 0, 0, pl_node_real(s->node, "shift", 0), scratch };
    (void)state;
    for (; p.at < n; p.at += PANEL) {
        const int64_t end = p.at + PANEL < n ? p.at + PANEL : n;
        p.width = end - p.at;
        turn(&p);
        for (int64_t i = p.at; i < end; i++) factor_row(&p, i);
#pragma omp parallel for num_threads(env->n_threads) if ((n - end) * end * PANEL > WORK)
        for (int64_t i = end; i < n; i++) factor_row(&p, i);
    }
}

/* -- cholesky_solve ---------------------------------------------------------------------------- */

bool pl_cholesky_solve_make(const pl_share *s, const pl_kernel_env *env, void **state,
                            int64_t *scratch_bytes, pl_err *err)
{
    (void)state, (void)err;
    *scratch_bytes = env->n_threads * s->shape[0].dim[0] * TILE * (int64_t)sizeof(double);
    return true;
}

/* z[n][TILE], a column for each row: l z = y from the first element on, then l^T x = z from the
 * last one on. */
static void solve_tile(const float *l, int64_t n, double *z)
{
    for (int64_t i = 0; i < n; i++) {
        const float *row = l + i * n;
        double x[TILE], *zi = z + i * TILE;
        memcpy(x, zi, sizeof x);
        for (int64_t j = 0; j < i; j++) {
            const double by = (double)row[j], *zj = z + j * TILE;
#pragma omp simd
            for (int r = 0; r < TILE; r++) x[r] -= by * zj[r];
        }
        for (int r = 0; r < TILE; r++) zi[r] = x[r] / (double)row[i];
    }
    for (int64_t i = n - 1; i >= 0; i--) {
        const float *row = l + i * n;
        double x[TILE];
        for (int r = 0; r < TILE; r++) x[r] = z[i * TILE + r] /= (double)row[i];
        for (int64_t j = 0; j < i; j++) {
            const double by = (double)row[j];
            double *zj = z + j * TILE;
#pragma omp simd
            for (int r = 0; r < TILE; r++) zj[r] -= by * x[r];
        }
    }
}

/* Rows [from, to), TILE of them at most; z has zeros where there are fewer. */
static void solve_rows(const float *l, int64_t n, int64_t from, int64_t to, const float *y,
                       float *out, double *z)
{
    if (to - from < TILE) memset(z, 0, (size_t)(n * TILE) * sizeof *z);
    for (int64_t r = from; r < to; r++)
        for (int64_t i = 0; i < n; i++) z[i * TILE + r - from] = (double)y[r * n + i];
    solve_tile(l, n, z);
    for (int64_t r = from; r < to; r++)
        for (int64_t i = 0; i < n; i++) out[r * n + i] = (float)z[i * TILE + r - from];
}

void pl_cholesky_solve_run(const pl_share *s, const pl_kernel_env *env, void *state,
                           const void *const in[], void *const out[], void *scratch)
{
    const int64_t n = s->shape[0].dim[0], rows = pl_shape_count(pl_share_out(s, 0)) / n;
    const int64_t each = (rows + env->n_threads - 1) / env->n_threads,
                  part = (each + TILE - 1) / TILE * TILE;
    (void)state;
#pragma omp parallel for num_threads(env->n_threads) if (rows * n * n > WORK) schedule(static, 1)
    for (int t = 0; t < env->n_threads; t++) {
        double *z = (double *)scratch + t * n * TILE;
        const int64_t end = (t + 1) * part < rows ? (t + 1) * part : rows;
        for (int64_t from = t * part; from < end; from += TILE)
            solve_rows(in[0], n, from, from + TILE < end ? from + TILE : end, in[1], out[0], z);
    }
}
