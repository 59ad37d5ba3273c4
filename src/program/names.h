/* program/names.h - names of a model's equal blocks told as one: "h.*.ln_1.bias". Only numbers that
 * really differ are left out, and what would be told alike is kept apart by its numbers. */
#ifndef PL_PROGRAM_NAMES_H
#define PL_PROGRAM_NAMES_H
#include "graph/shorten.h"

typedef struct pl_name {
    const char *text;
    int block; /* of the whole graph, that has what it names; -1: none, or nobody says */
} pl_name;

/* Names of one fold (pl_summary_fold), in any order; some may be there twice. */
typedef struct pl_names {
    int n, cap;
    pl_name *at;
    const pl_short *few; /* whose graph's they are; NULL: they are all there are. With the blocks on
                            both sides of a cut, those that it leaves out are named, too */
    const char *told;    /* by pl_names_tell */
} pl_names;

void pl_names_add(pl_names *x, const char *name, int block, pl_arena *a);

/* Makes all `told`. A number that is the same in all names of a row stands as it is, one that
 * differs is "*": "h.*.ln_1.bias", "layer2.0.conv1". Where two rows would be told alike, and are
 * not of the same names, it is the set of them: "h.{0,2-7}.ln_1.bias", the middle of a long one
 * left out. rows[i]->n > 0; `out` owns the texts. */
void pl_names_tell(int n, pl_names *const rows[], pl_arena *out);

#endif
