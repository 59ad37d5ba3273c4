#include "options/cache.h"

bool pl_cache_args_read(const pl_cache_args *a, pl_cached *out, pl_err *err)
{
    *out = (pl_cached){ 0 };
    return !a->size || pl_cached_parse(a->size, out, err);
}
