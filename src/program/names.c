/* Names with numbers in them as one name. A name is a list of words and what stands between them;
 * a word of digits alone is a number, and the rows that come here agree in all else. */
#include "program/names.h"

#include "base/text.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_RANGES = 4, WIDEST = 18 }; /* WIDEST: digits that are a number */

void pl_names_add(pl_names *x, const char *name, int block, pl_arena *a)
{
    PL_PUSH(a, x, ((pl_name){ name, block }));
}

static size_t word(const char *at)
{
    size_t n = 0;
    while (isalnum((unsigned char)at[n]) || at[n] == '_') n++;
    return n;
}

static bool is_number(const char *at, size_t n)
{
    return n > 0 && n < WIDEST && strspn(at, "0123456789") >= n;
}

static int by_value(const void *a, const void *b)
{
    const long long x = *(const long long *)a, y = *(const long long *)b;
    return x < y ? -1 : x > y;
}

/* Does b follow a? `ahead` is how much the numbers are ahead of the blocks, or NULL. */
static bool follows(const pl_names *x, const long long *ahead, long long a, long long b)
{
    for (int c = 0; ahead && x->few && c < x->few->n_cuts; c++)
        if (a - *ahead == x->few->cut[c].from - 1 && b - *ahead == x->few->cut[c].to) return true;
    return b == a + 1;
}

/* value[n] in order, each once: "{0,2-5}". */
static void add_set(const pl_names *x, const long long *ahead, int n, const long long value[],
                    pl_text *out)
{
    int n_ranges = 0, k = 0;
    for (int i = 0; i < n; i++) n_ranges += !i || !follows(x, ahead, value[i - 1], value[i]);
    pl_text_add(out, "{");
    for (int i = 0, end; i < n; i = end, k++) {
        for (end = i + 1; end < n && follows(x, ahead, value[end - 1], value[end]);) end++;
        const bool shown = n_ranges <= MOST_RANGES || k < MOST_RANGES - 1 || k == n_ranges - 1;
        if (shown)
            pl_text_add(out, "%s%lld", k ? "," : "", value[i]);
        else if (k == MOST_RANGES - 1)
            pl_text_add(out, ",...");
        if (shown && end > i + 1)
            pl_text_add(out, "%s%lld", value[end - 1] > value[i] + 1 ? "-" : ",", value[end - 1]);
    }
    pl_text_add(out, "}");
}

/* The numbers at[i] of all names: one of them, or "*", or their set. */
static void add_numbers(const pl_names *x, const char *const at[], bool apart, pl_arena *tmp,
                        pl_text *out)
{
    long long *value = PL_NEW_N(tmp, long long, x->n), ahead = 0;
    int n = 0;
    bool of_blocks = true;
    for (int i = 0; i < x->n; i++) {
        value[i] = strtoll(at[i], NULL, 10);
        if (!i) ahead = value[i] - x->at[i].block;
        of_blocks &= x->at[i].block >= 0 && value[i] - x->at[i].block == ahead;
    }
    qsort(value, (size_t)x->n, sizeof *value, by_value);
    for (int i = 0; i < x->n; i++)
        if (!i || value[i] != value[n - 1]) value[n++] = value[i];
    if (n == 1)
        pl_text_add(out, "%.*s", (int)word(at[0]), at[0]);
    else if (apart)
        add_set(x, of_blocks ? &ahead : NULL, n, value, out);
    else
        pl_text_add(out, "*");
}

static const char *join(const pl_names *x, bool apart, pl_arena *out)
{
    pl_arena *tmp = pl_arena_new("names");
    pl_text t = { .arena = out };
    const char **at = PL_NEW_N(tmp, const char *, x->n);
    for (int i = 0; i < x->n; i++) at[i] = x->at[i].text;
    while (*at[0]) {
        const size_t n = word(at[0]);
        if (is_number(at[0], n))
            add_numbers(x, at, apart, tmp, &t);
        else
            pl_text_add(&t, "%.*s", (int)(n ? n : 1), at[0]);
        for (int i = 0; i < x->n; i++) at[i] += n ? word(at[i]) : 1;
    }
    pl_arena_free(tmp);
    return pl_text_get(&t);
}

void pl_names_tell(int n, pl_names *const rows[], pl_arena *out)
{
    const char **star = PL_NEW_N(out, const char *, n + 1),
               **set = PL_NEW_N(out, const char *, n + 1);
    for (int i = 0; i < n; i++) {
        star[i] = join(rows[i], false, out);
        set[i] = join(rows[i], true, out);
    }
    for (int i = 0; i < n; i++) {
        bool apart = false;
        for (int k = 0; k < n && !apart; k++)
            apart = !strcmp(star[i], star[k]) && strcmp(set[i], set[k]) != 0;
        rows[i]->told = apart ? set[i] : star[i];
    }
}
