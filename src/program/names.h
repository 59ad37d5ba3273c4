/* program/names.h - names of a model's equal blocks told as one: "h.*.ln_1.bias". Only numbers that
 * really differ are left out, and what would be told alike is kept apart by its numbers. */
#ifndef PL_PROGRAM_NAMES_H
#define PL_PROGRAM_NAMES_H
#include "base/arena.h"

/* Names of one fold (pl_summary_fold), in any order; some may be there twice. */
typedef struct pl_names {
    int n, cap;
    const char **at;
    const char *told; /* by pl_names_tell */
} pl_names;

void pl_names_add(pl_names *x, const char *name, pl_arena *a);

/* Makes all `told`. A number that is the same in all names of a row stands as it is, one that
 * differs is "*": "h.*.ln_1.bias", "layer2.0.conv1". Where two rows would be told alike, and are
 * not of the same names, it is the set of them: "h.{0,2-7}.ln_1.bias", the middle of a long one
 * left out. rows[i]->n > 0; `out` owns the texts. */
void pl_names_tell(int n, pl_names *const rows[], pl_arena *out);

#endif
