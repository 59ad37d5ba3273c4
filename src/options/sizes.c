#include "options/sizes.h"

#include "models/model.h"

#include <stdio.h>
#include <string.h>

/* Commas stand between keys. */
static const char *as_value(const char *globs, pl_arena *a)
{
    char *text = pl_arena_text(a, globs);
    for (char *at = text; *at; at++)
        if (*at == ',') *at = ';';
    return text;
}

const char *pl_sizes_spec(const pl_sizes *s, const char *spec, pl_arena *a)
{
    if (s->bind)
        spec = pl_arena_fmt(a, "%s%c%s", spec, spec[pl_model_name(spec)] ? ',' : ':', s->bind);
    spec = pl_model_sized(a, spec, s->batch, s->seq);
    if (s->method) spec = pl_model_with(a, spec, "method", s->method);
    if (s->train) spec = pl_model_with(a, spec, "train", as_value(s->train, a));
    if (s->freeze) spec = pl_model_with(a, spec, "freeze", as_value(s->freeze, a));
    if (s->guess) spec = pl_model_with(a, spec, "guess", "yes");
    if (!s->loss) return spec;
    const size_t n = strcspn(s->loss, ":");
    spec = pl_model_with(a, spec, "loss", pl_arena_span(a, s->loss, n));
    return s->loss[n] ? pl_model_with(a, spec, "output", s->loss + n + 1) : spec;
}

void pl_sizes_tell(const pl_model_args *m)
{
    for (const char *line = m->note; *line;) {
        int n = (int)strcspn(line, "\n");
        fprintf(stderr, "note: %.*s\n", n, line);
        line += n + (line[n] == '\n');
    }
}
