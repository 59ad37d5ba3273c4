#include "ops/lib/triangle.h"

bool pl_triangle_infer(const pl_node *n, pl_sig *sig, pl_err *err)
{
    const int64_t h = sig->factor[pl_sig_find(sig, 'h')].size,
                  g = sig->factor[pl_sig_find(sig, 'g')].size;
    (void)n;
    return h == g || pl_err_set(err, PL_EINPUT, "a matrix of %lld by %lld is not square",
                                (long long)h, (long long)g);
}

double pl_triangle_dot(pl_type t, const void *a, int64_t i, int64_t step_a, const void *b,
                       int64_t j, int64_t n)
{
    double sum = 0;
    if (t == PL_F32) {
        const float *x = (const float *)a + i, *y = (const float *)b + j;
        for (int64_t k = 0; k < n; k++) sum += (double)x[k * step_a] * (double)y[k];
    } else {
        for (int64_t k = 0; k < n; k++)
            sum += pl_type_get(t, a, i + k * step_a) * pl_type_get(t, b, j + k);
    }
    return sum;
}
