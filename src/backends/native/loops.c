#include "backends/native/loops.h"

#include "graph/walk.h"

#include <string.h>

/* Does loop a come outside of loop b: larger steps in the lead, then in the operands in order. */
static bool is_outer(const int64_t a[], const int64_t b[], int n_operands, int lead)
{
    if (a[lead] != b[lead]) return a[lead] > b[lead];
    for (int o = 0; o < n_operands; o++)
        if (a[o] != b[o]) return a[o] > b[o];
    return false;
}

void pl_loops_add(pl_loops *l, int64_t size, const int64_t step[], int n_operands, int lead)
{
    if (size == 1) return;
    int at = l->n++;
    for (; at > 0 && is_outer(step, l->step[at - 1], n_operands, lead); at--) {
        l->size[at] = l->size[at - 1];
        memcpy(l->step[at], l->step[at - 1], sizeof l->step[at]);
    }
    l->size[at] = size;
    memcpy(l->step[at], step, (size_t)n_operands * sizeof *step);
}

/* Is loop i, in every operand, just the continuation of loop i + 1? */
static bool nests(const pl_loops *l, int i, int n_operands)
{
    for (int o = 0; o < n_operands; o++)
        if (l->step[i][o] != l->step[i + 1][o] * l->size[i + 1]) return false;
    return true;
}

static void merge(pl_loops *l, int i)
{
    l->size[i] *= l->size[i + 1];
    memcpy(l->step[i], l->step[i + 1], sizeof l->step[i]);
    l->n--;
    for (int k = i + 1; k < l->n; k++) {
        l->size[k] = l->size[k + 1];
        memcpy(l->step[k], l->step[k + 1], sizeof l->step[k]);
    }
}

void pl_loops_close(pl_loops *l, int n_operands)
{
    for (int i = l->n - 2; i >= 0; i--)
        if (nests(l, i, n_operands)) merge(l, i);
    if (l->n > 0) return;
    l->n = 1; /* a single element: one loop, dense in all */
    l->size[0] = 1;
    for (int o = 0; o < n_operands; o++) l->step[0][o] = 1;
}

pl_loops pl_loops_make(const pl_share *s, uint32_t mask, int lead)
{
    pl_loops l = { 0 };
    pl_walk w = pl_walk_new(s, mask);
    int n_operands = s->node->n_in + s->node->n_out;
    for (int k = 0; k < w.n; k++) {
        int64_t step[PL_MAX_OPERANDS] = { 0 };
        for (int o = 0; o < n_operands; o++) step[o] = w.stride[o][w.factor[k]];
        pl_loops_add(&l, s->factor[w.factor[k]].n, step, n_operands, lead);
    }
    pl_loops_close(&l, n_operands);
    return l;
}

int64_t pl_loops_count(const pl_loops *l, int from, int to)
{
    int64_t n = 1;
    for (int i = from; i < to; i++) n *= l->size[i];
    return n;
}

void pl_loops_seek(const pl_loops *l, int from, int to, int64_t i, int n_operands, int64_t at[])
{
    for (int k = to - 1; k >= from; k--) {
        int64_t index = k == from ? i : i % l->size[k];
        if (k > from) i /= l->size[k];
        for (int o = 0; o < n_operands; o++) at[o] += index * l->step[k][o];
    }
}

void pl_loops_run(const pl_loops *l, int n_operands, int n_threads, pl_loops_row *row,
                  const void *arg)
{
    int last = l->n - 1;
    int64_t inner = l->size[last], rows = pl_loops_count(l, 0, last);
    int64_t pieces = (inner + PL_LOOPS_PIECE - 1) / PL_LOOPS_PIECE, n_tasks = rows * pieces;
#pragma omp parallel for num_threads(n_threads) if (rows * inner > PL_LOOPS_SERIAL) schedule(static)
    for (int64_t t = 0; t < n_tasks; t++) {
        int64_t at[PL_MAX_OPERANDS] = { 0 }, from = t % pieces * PL_LOOPS_PIECE;
        int64_t n = inner - from < PL_LOOPS_PIECE ? inner - from : PL_LOOPS_PIECE;
        pl_loops_seek(l, 0, last, t / pieces, n_operands, at);
        for (int o = 0; o < n_operands; o++) at[o] += from * l->step[last][o];
        row(arg, n, at);
    }
}
