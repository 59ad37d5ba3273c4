#include "ops/lib/move.h"

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

bool pl_move_infer_range(const pl_node *n, pl_sig *sig, pl_err *err)
{
    int64_t at = pl_node_int(n, "at", 0), v = sig->factor[pl_sig_find(sig, 'v')].size,
            u = sig->factor[pl_sig_find(sig, 'u')].size;
    return !v || !u || (at >= 0 && at <= v - u) ||
           pl_err_set(err, PL_EINPUT, "at=%lld u=%lld is not within 'v', which is %lld",
                      (long long)at, (long long)u, (long long)v);
}

double pl_move_flops(const pl_share *s)
{
    (void)s;
    return 0;
}
