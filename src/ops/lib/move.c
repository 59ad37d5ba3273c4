#include "ops/lib/move.h"

#include "ops/lib/form.h"

#include <string.h>

void pl_move_element(pl_type t, void *to, int64_t i, const void *from, int64_t j)
{
    int64_t size = pl_type_bytes(t);
    memcpy((char *)to + i * size, (const char *)from + j * size, (size_t)size);
}

void pl_move_zero(pl_type t, void *to, int64_t count)
{
    memset(to, 0, (size_t)(count * pl_type_bytes(t))); /* zero is all bits zero in every type */
}

bool pl_move_infer_range(const pl_node *n, const pl_sig *sig, const char *form, pl_err *err)
{
    pl_sig solved = *sig;
    PL_TRY(pl_form_check(sig, 1, 1, form, err));
    PL_TRY(pl_form_solve(n, &solved, err));
    int64_t at = pl_node_int(n, "at", 0), v = solved.factor[pl_sig_find(sig, 'v')].size,
            u = solved.factor[pl_sig_find(sig, 'u')].size;
    return (at >= 0 && at <= v - u) ||
           pl_err_set(err, PL_EINPUT, "at=%lld u=%lld is not within 'v', which is %lld",
                      (long long)at, (long long)u, (long long)v);
}

double pl_move_flops(const pl_share *s)
{
    (void)s;
    return 0;
}
