/* data/problems.h - problems of a file, told at once: "a; b; and 3 more". */
#ifndef PL_DATA_PROBLEMS_H
#define PL_DATA_PROBLEMS_H
#include "base/text.h"

/* Start from {.text.arena = a}. */
typedef struct pl_problems {
    pl_text text;
    int n;
} pl_problems;

void pl_problems_add(pl_problems *problems, const char *fmt, ...) PL_PRINTF(2, 3);

/* The text of all of them, the first eight in full. */
const char *pl_problems_text(pl_problems *problems);

#endif
