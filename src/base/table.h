/* base/table.h - rows in aligned columns, for people.
 *
 *     pl_table t = pl_table_new(arena, "operator\t>nodes\t>flops");
 *     pl_table_add(&t, "%s\t%d\t%.4g", op->name, n, flops);
 *     fputs(pl_table_text(&t), stdout);
 *
 * A tab ends a cell. A column is as wide as its widest cell, and flush right where its title begins
 * with ">". The last one takes what is left of a row, and lines end where their texts do. */
#ifndef PL_BASE_TABLE_H
#define PL_BASE_TABLE_H
#include "base/text.h"

enum { PL_TABLE_COLUMNS = 16 }; /* at most */

typedef struct pl_table {
    pl_arena *arena;
    int n_columns, width[PL_TABLE_COLUMNS]; /* characters */
    bool right[PL_TABLE_COLUMNS];
    struct {
        int n, cap;
        const char **at;
    } rows; /* the first has the titles */
} pl_table;

/* `a` owns the rows. */
pl_table pl_table_new(pl_arena *a, const char *titles);
void pl_table_add(pl_table *t, const char *fmt, ...) PL_PRINTF(2, 3);

/* All of it, titles first, a line per row. */
const char *pl_table_text(const pl_table *t);

#endif
