/* stages/ideals.h - the prefixes of the order of pieces, between which a cut's boundaries lie.
 *
 * An ideal is a set of pieces with all that come before each. The stages of a cut are what lies
 * between one ideal and the next of a chain from the empty one to the whole. */
#ifndef PL_STAGES_IDEALS_H
#define PL_STAGES_IDEALS_H
#include "stages/pieces.h"

/* A value of which some pins are inside an ideal and some are not. */
typedef struct pl_stages_across {
    int value, inside; /* how many */
} pl_stages_across;

/* Sorted so that an ideal stands after all that it contains. */
typedef struct pl_stages_ideals {
    int n;
    bool all;              /* these are all there are                                   */
    size_t words;          /* of a set                                                  */
    const uint64_t **set;  /* [n][words] one bit per piece                              */
    const double *seconds; /* [n] of the pieces inside; this and the next two ascend
                            * with inclusion, to the last bit                           */
    const double *host;    /* [n] the same on a host                                    */
    const int64_t *bytes;  /* [n]                                                       */
    const double *sent;    /* [n] seconds of sending each value that goes across, once  */
    const int *n_across;   /* [n]                                                       */
    const pl_stages_across **across; /* [n][n_across] */
} pl_stages_ideals;

/* All ideals, or, where there are more than `width` of one size, those of it that send least.
 * False where there are more than `most`, and then none are listed. `out` owns them. */
bool pl_stages_list_ideals(const pl_stages_pieces *pieces, int most, int width, pl_arena *out,
                           pl_stages_ideals *ideals);

/* Of the ideals that differ least from those given, [n + 1] from the empty one to the whole, about
 * `most`: those that send least among equally near ones. `out` owns them. */
void pl_stages_list_near(const pl_stages_pieces *pieces, int n, const uint64_t *const set[],
                         int most, pl_arena *out, pl_stages_ideals *ideals);

#endif
