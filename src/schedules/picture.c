#include "schedules/play.h"

#include <math.h>
#include <string.h>

static char mark(const pl_pass *p)
{
    const int digit = p->micro % 10;
    if (p->kind == PL_PASS_W) return ':';
    return (char)((p->kind == PL_PASS_F ? '0' : 'A') + digit);
}

/* The shortest pass gets a column, as long as all fit. */
static double seconds_per_column(const pl_pipeline *s, const pl_pipeline_times *t, int columns)
{
    double shortest = t->seconds;
    for (int r = 0; r < s->n_ranks; r++)
        for (int i = 0; i < s->row[r].n; i++) {
            const double takes = t->end[r][i] - t->begin[r][i];
            if (takes > 0) shortest = fmin(shortest, takes);
        }
    return fmax(shortest, t->seconds / columns);
}

void pl_pipeline_picture(const pl_pipeline *s, const pl_pipeline_times *t, int columns,
                         pl_text *out)
{
    if (!(t->seconds > 0)) return;
    const double unit = seconds_per_column(s, t, columns);
    const int n = (int)ceil(t->seconds / unit - 1e-6);
    char *line = pl_arena_get(out->arena, (size_t)n + 1, 1);
    for (int r = 0; r < s->n_ranks; r++) {
        memset(line, '.', (size_t)n);
        for (int i = 0; i < s->row[r].n; i++) {
            const int from = (int)lround(t->begin[r][i] / unit),
                      to = (int)lround(t->end[r][i] / unit);
            for (int k = from; k < to && k < n; k++) line[k] = mark(&s->row[r].at[i]);
        }
        pl_text_add(out, "%5d  %.*s\n", r, n, line);
    }
}
