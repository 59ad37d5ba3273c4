#include "data/problems.h"

enum { MOST_TOLD = 8 };

void pl_problems_add(pl_problems *p, const char *fmt, ...)
{
    va_list args;
    if (p->n++ >= MOST_TOLD) return;
    va_start(args, fmt);
    pl_text_add(&p->text, "%s%s", p->n > 1 ? "; " : "", pl_arena_vfmt(p->text.arena, fmt, args));
    va_end(args);
}

const char *pl_problems_text(pl_problems *p)
{
    if (p->n > MOST_TOLD) pl_text_add(&p->text, "; and %d more", p->n - MOST_TOLD);
    return pl_text_get(&p->text);
}
