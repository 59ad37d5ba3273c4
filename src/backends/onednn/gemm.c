#include "backends/onednn/gemm.h"

/* By the operands that a letter occurs in: left = 1, right = 2, output = 4. */
enum { SUMS = 3, ROWS = 5, COLS = 6, BATCH = 7, N_CLASSES = 8 };

typedef struct nest {
    int n[N_CLASSES];
    pl_gemm_loop loop[N_CLASSES][PL_MAX_FACTORS];
} nest;

static bool collect_loops(const pl_share *s, nest *x, pl_err *why)
{
    const pl_sig *sig = s->node->sig;
    int64_t size[PL_MAX_FACTORS] = { 0 }, step[3][PL_MAX_FACTORS];
    for (int f = 0; f < sig->n_factors; f++) size[f] = s->factor[f].n;
    for (int o = 0; o < 3; o++) pl_sig_strides(sig, &sig->operand[o], &s->shape[o], size, step[o]);
    for (int f = 0; f < sig->n_factors; f++) {
        int where = 0;
        char letter = sig->factor[f].letter;
        for (int o = 0; o < 3; o++)
            if (pl_share_touches(s->node, o, f)) where |= 1 << o;
        if (size[f] < 1)
            return pl_err_set(why, PL_EUNSUPPORTED, "the share is empty: '%c' has size 0", letter);
        if (size[f] == 1) continue;
        if (where < SUMS || where == 4)
            return pl_err_set(why, PL_EUNSUPPORTED,
                              where == 4 ? "'%c' stands in the output only"
                                         : "'%c' stands in one input and not in the output",
                              letter);
        x->loop[where][x->n[where]++] =
            (pl_gemm_loop){ size[f], step[0][f], step[1][f], step[2][f] };
    }
    return true;
}

/* Is `in` the fast half of one longer loop with `out`? */
static bool is_nested(const pl_gemm_loop *out, const pl_gemm_loop *in)
{
    return out->left == in->n * in->left && out->right == in->n * in->right &&
           out->out == in->n * in->out;
}

static void merge_loops(int *n, pl_gemm_loop loop[])
{
    for (int i = 0; i < *n; i++)
        for (int j = 0; j < *n; j++) {
            if (i == j || !is_nested(&loop[i], &loop[j])) continue;
            loop[j].n *= loop[i].n;
            loop[i] = loop[--*n];
            i = -1; /* the longer loop may nest with others: look at all pairs again */
            break;
        }
}

/* A matrix of rows x cols as row-major storage with a leading dimension, perhaps transposed. */
static bool fit(int64_t rows, int64_t cols, int64_t row_step, int64_t col_step, bool *transposed,
                int64_t *ld)
{
    *transposed = !(cols == 1 || col_step == 1);
    if (*transposed && rows > 1 && row_step != 1) return false;
    int64_t line = *transposed ? rows : cols, step = *transposed ? col_step : row_step;
    bool single = (*transposed ? cols : rows) == 1;
    *ld = single ? line : step;
    return *ld >= line;
}

static pl_gemm_loop turned(pl_gemm_loop x)
{
    return (pl_gemm_loop){ x.n, x.right, x.left, x.out };
}

/* The product that one loop (or none: size 1) of each class makes. */
static bool set_product(pl_gemm *g, pl_gemm_loop row, pl_gemm_loop col, pl_gemm_loop sum)
{
    g->swap = col.n > 1 && col.out != 1;
    if (g->swap) {
        pl_gemm_loop old_row = row;
        row = turned(col), col = turned(old_row), sum = turned(sum);
    }
    g->m = row.n, g->n = col.n, g->k = sum.n;
    g->dot = sum;
    bool out_t;
    return fit(g->m, g->k, row.left, sum.left, &g->left_t, &g->left_ld) &&
           fit(g->k, g->n, sum.right, col.right, &g->right_t, &g->right_ld) &&
           fit(g->m, g->n, row.out, col.out, &out_t, &g->out_ld) && !out_t;
}

/* Cost of a product per multiplication: short sides waste vector lanes, tiny products are all call
 * overhead. 16 is about where the measured rate of sgemm is half of its best, in each side. */
static double cost(const pl_gemm *g)
{
    double m = (double)g->m, n = (double)g->n, k = (double)g->k;
    return (m + 16) / m * (n + 16) / n * (k + 16) / k;
}

/* The cheapest choice of one loop or none per class; pick[class] is -1 for none. All loops outside
 * is always legal, so there is one. */
static void choose(const nest *x, pl_gemm *best, int pick[N_CLASSES])
{
    const pl_gemm_loop one = { .n = 1 };
    bool found = false;
    for (int i = -1; i < x->n[ROWS]; i++)
        for (int j = -1; j < x->n[COLS]; j++)
            for (int k = -1; k < x->n[SUMS]; k++) {
                pl_gemm g = { 0 };
                if (!set_product(&g, i < 0 ? one : x->loop[ROWS][i], j < 0 ? one : x->loop[COLS][j],
                                 k < 0 ? one : x->loop[SUMS][k]))
                    continue;
                if (found && cost(&g) >= cost(best)) continue;
                *best = g;
                pick[ROWS] = i, pick[COLS] = j, pick[SUMS] = k;
                found = true;
            }
    PL_ASSERT(found);
}

static void keep_loops(const nest *x, int class, int but, bool swap, int *n, pl_gemm_loop to[])
{
    for (int i = 0; i < x->n[class]; i++) {
        if (i == but) continue;
        pl_gemm_loop l = swap ? turned(x->loop[class][i]) : x->loop[class][i];
        int at = (*n)++;
        for (; at > 0 && to[at - 1].out < l.out; at--) to[at] = to[at - 1]; /* output in order */
        to[at] = l;
    }
}

bool pl_gemm_plan(const pl_share *s, pl_gemm *g, pl_err *why)
{
    nest x = { 0 };
    int pick[N_CLASSES] = { 0 };
    if (s->node->n_in != 2)
        return pl_err_set(why, PL_EUNSUPPORTED, "takes 2 inputs, the node has %d", s->node->n_in);
    PL_TRY(collect_loops(s, &x, why));
    for (int c = 0; c < N_CLASSES; c++) merge_loops(&x.n[c], x.loop[c]);
    if (x.n[BATCH] && !x.n[ROWS] && !x.n[COLS] && !x.n[SUMS])
        return pl_err_set(why, PL_EUNSUPPORTED,
                          "every letter stands in all operands: an elementwise product");
    choose(&x, g, pick);
    keep_loops(&x, BATCH, -1, g->swap, &g->n_outer, g->outer);
    keep_loops(&x, ROWS, pick[ROWS], g->swap, &g->n_outer, g->outer);
    keep_loops(&x, COLS, pick[COLS], g->swap, &g->n_outer, g->outer);
    keep_loops(&x, SUMS, pick[SUMS], g->swap, &g->n_sum, g->sum);
    g->products = 1;
    for (int i = 0; i < g->n_outer; i++) g->products *= g->outer[i].n;
    return true;
}

static pl_gemm_at origin(int n, const pl_gemm_loop loop[], pl_gemm_at at, int64_t i)
{
    for (int l = n - 1; l >= 0; l--) {
        int64_t index = i % loop[l].n;
        i /= loop[l].n;
        at.left += index * loop[l].left;
        at.right += index * loop[l].right;
        at.out += index * loop[l].out;
    }
    return at;
}

pl_gemm_at pl_gemm_origin(const pl_gemm *g, int64_t i)
{
    return origin(g->n_outer, g->outer, (pl_gemm_at){ 0 }, i);
}

pl_gemm_at pl_gemm_sum_origin(const pl_gemm *g, pl_gemm_at at, int64_t j)
{
    return origin(g->n_sum, g->sum, at, j);
}

int64_t pl_gemm_sums(const pl_gemm *g)
{
    int64_t n = 1;
    for (int i = 0; i < g->n_sum; i++) n *= g->sum[i].n;
    return n;
}

bool pl_gemm_parallel(const pl_gemm *g, int n_threads)
{
    /* Below about 32 Mflop (0.2 ms of one core) the barriers inside a split product cost more than
     * what an uneven number of products per thread loses. */
    bool small = (double)g->m * (double)g->n * (double)g->k < 16e6;
    bool even = g->products % n_threads == 0 || g->products >= 4 * n_threads;
    return n_threads > 1 && small && even;
}
