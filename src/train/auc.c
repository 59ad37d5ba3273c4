#include "train/auc.h"

#include <math.h>
#include <stdlib.h>

static int by_score(const void *left, const void *right)
{
    const float a = ((const pl_scored *)left)->score, b = ((const pl_scored *)right)->score;
    return (a > b) - (a < b);
}

double pl_auc_find(pl_auc *rows)
{
    double pairs = 0; /* that are in order */
    int64_t ones = 0, zeros = 0;
    if (rows->n) qsort(rows->at, (size_t)rows->n, sizeof *rows->at, by_score);
    for (int i = 0, next; i < rows->n; i = next) { /* equal scores at once */
        int64_t one = 0, zero = 0;
        for (next = i; next < rows->n && rows->at[next].score == rows->at[i].score; next++)
            rows->at[next].one ? one++ : zero++;
        pairs += (double)one * ((double)zeros + 0.5 * (double)zero);
        ones += one, zeros += zero;
    }
    return ones && zeros ? pairs / ((double)ones * (double)zeros) : NAN;
}
