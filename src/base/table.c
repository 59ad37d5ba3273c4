/* Text tables: rows are kept as text, widths are counted as rows come in, and pl_table_text()
 * lays out all of them. */
#include "base/table.h"

#include <string.h>

typedef struct cell {
    const char *text;
    int n, width; /* bytes; characters of UTF-8, each as wide as another */
} cell;

/* Cell k of a row whose cells up to it have been taken. */
static cell take(const pl_table *t, const char **row, int k)
{
    cell x = { .text = *row };
    x.n = (int)(k + 1 < t->n_columns ? strcspn(*row, "\t") : strlen(*row));
    for (int i = 0; i < x.n; i++) x.width += (x.text[i] & 0xC0) != 0x80;
    *row += x.n + (x.text[x.n] == '\t');
    return x;
}

pl_table pl_table_new(pl_arena *arena, const char *titles)
{
    pl_table t = { .arena = arena, .n_columns = 1 };
    pl_text row = { .arena = arena };
    t.right[0] = *titles == '>';
    for (const char *at = titles + t.right[0]; *at; at++) {
        pl_text_add(&row, "%c", *at);
        if (*at != '\t') continue;
        PL_ASSERT_CMP(t.n_columns, <, PL_TABLE_COLUMNS);
        t.right[t.n_columns] = at[1] == '>';
        at += t.right[t.n_columns++];
    }
    pl_table_add(&t, "%s", pl_text_get(&row));
    return t;
}

static void widen(pl_table *t, const char *row)
{
    for (int k = 0; k < t->n_columns; k++) {
        const cell x = take(t, &row, k);
        if (x.width > t->width[k]) t->width[k] = x.width;
    }
}

void pl_table_add(pl_table *t, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    const char *row = pl_arena_vfmt(t->arena, fmt, args);
    va_end(args);
    PL_PUSH(t->arena, &t->rows, row);
    widen(t, row);
}

void pl_table_fit(pl_table *t, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    widen(t, pl_arena_vfmt(t->arena, fmt, args));
    va_end(args);
}

static void add_line(const pl_table *t, const char *row, pl_text *out)
{
    int blanks = 0; /* that stand before the next text of the line */
    for (int k = 0; k < t->n_columns; k++) {
        const cell x = take(t, &row, k);
        const int pad = t->width[k] - x.width;
        if (t->right[k]) blanks += pad;
        if (x.n) pl_text_add(out, "%*s%.*s", blanks, "", x.n, x.text);
        blanks = (x.n ? 0 : blanks) + (t->right[k] ? 0 : pad) + 2;
    }
    pl_text_add(out, "\n");
}

const char *pl_table_text(const pl_table *t)
{
    pl_text out = { .arena = t->arena };
    const char *titles = t->rows.at[0];
    for (int i = !titles[strspn(titles, "\t")]; i < t->rows.n; i++)
        add_line(t, t->rows.at[i], &out);
    return pl_text_get(&out);
}

const char *pl_table_last(const pl_table *t)
{
    pl_text out = { .arena = t->arena };
    add_line(t, t->rows.at[t->rows.n - 1], &out);
    return pl_text_get(&out);
}
