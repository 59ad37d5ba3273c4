/* reshard/moves.h - the moves that one can make from a placement. */
#ifndef PL_RESHARD_MOVES_H
#define PL_RESHARD_MOVES_H
#include "reshard/bound.h"

/* A digit that an axis may split on the way. */
typedef struct pl_cut {
    pl_split split;
    bool home, back; /* how the axis stands then, see pl_stand */
} pl_cut;

typedef struct pl_move_cuts {
    pl_cut *at;
    int n, cap;
} pl_move_cuts;

/* Of whole dimensions, and of digits that ends split: what the axis cuts below any of the other
 * axes, and what it has in the target. `few`: below those that cut the same by then. */
void pl_reshard_moves_cuts(pl_move_cuts *cuts, pl_arena *arena, const pl_bound *b, bool few);

/* Moves of a kind over `axes`. Of those that split something afterwards, `home` come where the
 * target has them, the others go anywhere else: to where they are `back`, or are not. Or two or
 * three axes, all split, turn: each takes the place of the next. */
typedef struct pl_change {
    pl_collective kind;
    unsigned axes, home, back;
    bool turn;
} pl_change;

typedef struct pl_moves {
    const pl_bound *b;
    const pl_move_cuts *cuts;
    void (*see)(void *search, pl_move *x); /* has kind, axes, from and to, and may be changed */
    void *search;
} pl_moves;

/* Shows `see` all moves of a change. */
void pl_reshard_moves_make(const pl_moves *m, const pl_placement *from, pl_change c);

#endif
