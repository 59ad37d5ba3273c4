#include "cli/sizes.h"

#include "models/model.h"

#include <string.h>

const char *pl_sizes_spec(const pl_sizes *s, const char *spec, pl_arena *a)
{
    spec = pl_model_sized(a, spec, s->batch, s->seq);
    if (s->bind) spec = pl_arena_fmt(a, "%s%c%s", spec, strchr(spec, ':') ? ',' : ':', s->bind);
    if (!s->loss) return spec;
    const size_t n = strcspn(s->loss, ":");
    spec = pl_model_with(a, spec, "loss", pl_arena_span(a, s->loss, n));
    return s->loss[n] ? pl_model_with(a, spec, "output", s->loss + n + 1) : spec;
}
