/* stages/pieces.h - a problem in which nodes that lie together are one piece.
 *
 * Pieces are groups, circles of the order, and what is merged because cutting there never pays
 * (pieces.c). They are numbered in an order that the edges allow. */
#ifndef PL_STAGES_PIECES_H
#define PL_STAGES_PIECES_H
#include "stages/stages.h"

/* Lists of numbers, one after the other: list i is item[at[i]] .. item[at[i + 1] - 1]. */
typedef struct pl_stages_lists {
    int n;
    const int *at;   /* [n + 1]   */
    const int *item; /* [at[n]]   */
} pl_stages_lists;

typedef struct pl_stages_pieces {
    int n;
    const int *piece_of;    /* [n_nodes] */
    const double *seconds;  /* [n] */
    const double *host;     /* [n] seconds on a host */
    const int64_t *bytes;   /* [n] */
    pl_stages_lists after;  /* of each piece: pieces that come after it, each once */
    pl_stages_lists before; /* of each piece */
    const double *send;     /* of each value that more than one piece makes or reads */
    pl_stages_lists pins;   /* of each value: pieces that make or read it, ascending */
    pl_stages_lists values; /* of each piece: values of which it is a pin            */
} pl_stages_pieces;

/* `out` owns the pieces. */
void pl_stages_split(const pl_stages_problem *problem, pl_arena *out, pl_stages_pieces *pieces);

#endif
