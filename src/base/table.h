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

/* `arena` owns the rows. */
pl_table pl_table_new(pl_arena *arena, const char *titles);
void pl_table_add(pl_table *t, const char *fmt, ...) PL_PRINTF(2, 3);

/* All of it, titles first, a line per row. Titles that are all empty are left out. */
const char *pl_table_text(const pl_table *t);

/* For rows that are told one by one, as work goes on: columns are made as wide as a row that will
 * come; and the line of the row that was added last, at first that of the titles. */
void pl_table_fit(pl_table *t, const char *fmt, ...) PL_PRINTF(2, 3);
const char *pl_table_last(const pl_table *t);

#endif
