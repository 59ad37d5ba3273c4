/* arena/csv.h - layout problems as MiniMalloc's text: one buffer per line, columns by name.
 *
 *   id | buffer | buffer_id    any text, no two equal
 *   lower | begin | start      first step of its life
 *   upper                      the step after its last; or `end`: its last step
 *   size                       bytes
 *   alignment, hint, offset    optional; empty: none. An offset given is where the buffer must lie
 *   gaps                       optional: FROM-TO or FROM-TO@LOW:HIGH, separated by blanks: on steps
 *                              [FROM, TO) only bytes [LOW, HIGH) are needed; where the column `end`
 *                              is used, TO is the last step of the gap
 *
 * Other columns are kept and not looked at. There are no quotes. */
#ifndef PL_ARENA_CSV_H
#define PL_ARENA_CSV_H
#include "base/text.h"
#include "arena/offsets.h"

typedef struct pl_csv {
    int n, n_columns;
    pl_buf *buf;        /* [n] in the order of the lines */
    const char **title; /* [n_columns]                   */
    const char **cell;  /* [n][n_columns]                */
    int offset;         /* the column `offset`, or -1    */
} pl_csv;

/* name begins each message, then comes "line L, column C" (of characters, from 1). Takes memory in
 * proportion to the text. Fails with PL_EINPUT. */
PL_MUST_CHECK bool pl_csv_parse(const char *text, size_t n, const char *name, pl_arena *arena,
                                pl_csv **csv, pl_err *err);

/* The same lines with the column `offset` filled in: [csv->n]. */
void pl_csv_print(const pl_csv *csv, const int64_t offset[], pl_text *out);

#endif
