/* base/text.h - text that grows, and the small parsers every text form needs. */
#ifndef PL_BASE_TEXT_H
#define PL_BASE_TEXT_H
#include "base/arena.h"
#include <stdint.h>

/* A growing string in an arena; `at` is always 0-terminated. Start from {.arena = a}. */
typedef struct pl_text {
    pl_arena *arena;
    char *at;
    size_t n, cap;
} pl_text;

void pl_text_add(pl_text *t, const char *fmt, ...) PL_PRINTF(2, 3);
void pl_text_span(pl_text *t, const char *text, size_t n); /* n bytes as they are */
const char *pl_text_get(const pl_text *t); /* "" when nothing was added */

/* Whole text -> number; false when anything is left over or it does not fit. No error is set: the
 * caller knows the place. Bytes take the suffixes KiB MiB GiB TiB, KB MB GB TB, or none. */
PL_MUST_CHECK bool pl_text_int(const char *text, int64_t *value);
PL_MUST_CHECK bool pl_text_real(const char *text, double *value);
PL_MUST_CHECK bool pl_text_bytes(const char *text, int64_t *value);

/* The number with so many significant digits: more are noise, or too much to read. */
double pl_text_round(double x, int digits);

/* Bytes for people: "1.5 GiB". Writes into the arena. */
const char *pl_text_size(pl_arena *arena, double bytes);

/* What follows the first `mark` of a list; NULL: there is none. */
const char *pl_text_after(const char *list, char mark);

/* Edit distance; A is a. */
int pl_text_distance(const char *a, const char *b);

/* "Did you mean": offer every name that there is. `name` is then the first of those that differ
 * from the word in the fewest edits, or NULL where all do in more than `within`. */
typedef struct pl_near {
    const char *word;
    int within;
    const char *name;
} pl_near;
void pl_near_offer(pl_near *n, const char *name);

#endif
