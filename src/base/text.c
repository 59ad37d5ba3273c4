/* Text that grows by doubling, numbers and sizes out of text, sizes for people, and the edit
 * distance behind "did you mean". */
#include "base/text.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Room for n bytes and the 0 behind them. */
static void grow(pl_text *t, size_t n)
{
    if (t->n + n < t->cap) return;
    const size_t cap = (t->n + n + 1) * 2;
    char *p = pl_arena_get(t->arena, cap, 1);
    if (t->n) memcpy(p, t->at, t->n);
    t->at = p;
    t->cap = cap;
}

void pl_text_add(pl_text *t, const char *fmt, ...)
{
    va_list ap, again;
    va_start(ap, fmt);
    va_copy(again, ap);
    int need = vsnprintf(NULL, 0, fmt, ap);
    va_end(ap);
    PL_ASSERT_CMP(need, >=, 0);
    grow(t, (size_t)need);
    vsnprintf(t->at + t->n, t->cap - t->n, fmt, again);
    va_end(again);
    t->n += (size_t)need;
}

void pl_text_span(pl_text *t, const char *text, size_t n)
{
    grow(t, n);
    memcpy(t->at + t->n, text, n);
    t->n += n;
    t->at[t->n] = 0;
}

const char *pl_text_get(const pl_text *t)
{
    return t->at ? t->at : "";
}

bool pl_text_int(const char *text, int64_t *value)
{
    char *end;
    errno = 0;
    long long v = strtoll(text, &end, 10);
    if (end == text || *end || errno || *text == ' ') return false;
    *value = v;
    return true;
}

bool pl_text_real(const char *text, double *value)
{
    char *end;
    errno = 0;
    double v = strtod(text, &end);
    if (end == text || *end || !isfinite(v) || *text == ' ') return false;
    *value = v;
    return true;
}

double pl_text_round(double x, int digits)
{
    char text[32];
    snprintf(text, sizeof text, "%.*g", digits, x);
    return strtod(text, NULL);
}

static const struct {
    const char *name;
    double bytes;
} units[] = {
    { "KiB", 1024.0 },
    { "MiB", 1048576.0 },
    { "GiB", 1073741824.0 },
    { "TiB", 1099511627776.0 },
    { "KB", 1e3 },
    { "MB", 1e6 },
    { "GB", 1e9 },
    { "TB", 1e12 },
    { "B", 1 },
    { "", 1 },
};

bool pl_text_bytes(const char *text, int64_t *value)
{
    char *end;
    double v = strtod(text, &end);
    if (end == text || !isfinite(v) || v < 0 || *text == ' ') return false;
    for (size_t i = 0; i < sizeof units / sizeof *units; i++)
        if (!strcmp(end, units[i].name)) {
            v *= units[i].bytes;
            if (v >= 9.2e18) return false;
            *value = (int64_t)llround(v);
            return true;
        }
    return false;
}

const char *pl_text_size(pl_arena *arena, double bytes)
{
    static const char *const names[] = { "B", "KiB", "MiB", "GiB", "TiB", "PiB" };
    int u = 0;
    while (bytes >= 1024 && u < 5) {
        bytes /= 1024;
        u++;
    }
    return pl_arena_fmt(arena, u && bytes < 100 ? "%.1f %s" : "%.0f %s", bytes, names[u]);
}

static int lower(char c)
{
    return c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c;
}

const char *pl_text_after(const char *list, char mark)
{
    const char *at = strchr(list, mark);
    return at ? at + 1 : NULL;
}

int pl_text_distance(const char *a, const char *b)
{
    enum { MOST = 64 };
    int row[MOST + 1], n = (int)strlen(b);
    if (n > MOST) return MOST;
    for (int j = 0; j <= n; j++) row[j] = j;
    for (int i = 1; a[i - 1]; i++) {
        int diagonal = row[0];
        row[0] = i;
        for (int j = 1; j <= n; j++) {
            int above = row[j], best = diagonal + (lower(a[i - 1]) != lower(b[j - 1]));
            if (above + 1 < best) best = above + 1;
            if (row[j - 1] + 1 < best) best = row[j - 1] + 1;
            row[j] = best;
            diagonal = above;
        }
    }
    return row[n];
}

void pl_near_offer(pl_near *n, const char *name)
{
    int d = pl_text_distance(n->word, name);
    if (d > n->within) return;
    n->name = name;
    n->within = d - 1;
}
