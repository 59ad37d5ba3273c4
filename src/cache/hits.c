#include "cache/hits.h"

#include <math.h>
#include <stdlib.h>

/* Bins grow with the rank: within one p differs by a hundredth of s. */
pl_draws pl_draws_zipf(int64_t rows, double s, pl_arena *arena)
{
    pl_draws d = { 0 };
    double sum = 0;
    for (int64_t k = 0, n; k < rows; k += n) {
        n = 1 + k / 100;
        if (n > rows - k) n = rows - k;
        const double p = pow((double)k + 0.5 * (double)(n - 1) + 1, -s);
        PL_PUSH(arena, &d, ((struct pl_draws_bin){ p, (double)n }));
        sum += p * (double)n;
    }
    for (int i = 0; i < d.n; i++) d.at[i].p /= sum;
    return d;
}

static int by_count(const void *a, const void *b)
{
    const int64_t *x = a, *y = b;
    return (*x < *y) - (*x > *y);
}

/* Most rows were counted a few times: those stand in a table by their count, the others are
 * sorted. */
pl_draws pl_draws_counted(int64_t rows, const int64_t counts[], pl_arena *arena)
{
    enum { FEW = 1 << 12 };
    pl_draws d = { 0 };
    pl_arena *tmp = pl_arena_new("counts");
    int64_t *few = PL_NEW_N(tmp, int64_t, FEW), n = 0;
    double all = 0;
    for (int64_t i = 0; i < rows; i++) n += counts[i] >= FEW;
    int64_t *many = PL_NEW_N(tmp, int64_t, n + 1);
    n = 0;
    for (int64_t i = 0; i < rows; i++) {
        all += (double)counts[i];
        if (counts[i] < FEW)
            few[counts[i]]++;
        else
            many[n++] = counts[i];
    }
    qsort(many, (size_t)n, sizeof *many, by_count);
    for (int64_t i = 0; i < n; i++)
        PL_PUSH(arena, &d, ((struct pl_draws_bin){ (double)many[i] / all, 1 }));
    for (int64_t k = FEW - 1; k > 0; k--)
        if (few[k]) PL_PUSH(arena, &d, ((struct pl_draws_bin){ (double)k / all, (double)few[k] }));
    pl_arena_free(tmp);
    return d;
}

/* A row of probability p is in a batch of n with 1 - (1 - p)^n. */
pl_hits pl_hits_of(const pl_draws *d, int64_t slots, int64_t ids)
{
    pl_hits h = { 0 };
    double room = (double)slots;
    for (int i = 0; i < d->n; i++) {
        const struct pl_draws_bin *x = &d->at[i];
        const double here = fmin(x->rows, room), out = x->rows - here;
        room -= here;
        h.found += here * x->p;
        if (out > 0) h.rows -= out * expm1((double)ids * log1p(-fmin(x->p, 1 - 1e-15)));
    }
    return h;
}
