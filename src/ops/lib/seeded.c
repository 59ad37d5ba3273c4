#include "ops/lib/seeded.h"

bool pl_seeded_check(const pl_node *n, int seed, pl_err *err)
{
    const long long stream = (long long)pl_node_int(n, "stream", 0);
    if (stream < 0) return pl_err_set(err, PL_EINPUT, "stream=%lld is negative", stream);
    return n->in[seed]->type == PL_I64 || pl_err_set(err, PL_EINPUT, "the seed is not of type i64");
}

pl_rng pl_seeded_rng(const pl_node *n, const void *const in[], int seed)
{
    return pl_rng_at((uint64_t)(*(const int64_t *)in[seed]), (uint64_t)pl_node_int(n, "stream", 0));
}
