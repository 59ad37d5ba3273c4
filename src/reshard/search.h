/* reshard/search.h - the cheapest way from some placements to another: A* with the bound of
 * reshard/bound.h.
 *
 * It is the cheapest as long as the numbers below are enough; they are for nearly all pairs on
 * meshes of three and four axes. Beyond them: what was found so far, or a cheaper way at fewer
 * digits, or straight to the target, by searches as long again. */
#ifndef PL_RESHARD_SEARCH_H
#define PL_RESHARD_SEARCH_H
#include "reshard/move.h"
#include "reshard/moves.h"

enum {
    PL_MOST_STATES = 8192,    /* placements                              */
    PL_MOST_TRIES = 30000,    /* moves looked at; uneven ones count five */
    PL_MOST_WAITING = 1 << 17 /* that may be of use and are not made yet */
};

typedef struct pl_states {
    struct pl_state *at;
    int n, cap;
} pl_states;

/* Memory that searches use one after the other. */
typedef struct pl_scratch {
    pl_arena *arena;
    pl_bounds bounds;
    pl_move_cuts cuts;
    pl_queue queue;
    pl_states states;
    pl_blocks_memo *blocks; /* made with the first search */
    int16_t slot[2 * PL_MOST_STATES]; /* 1 + state by hash, 0: none */
} pl_scratch;

/* Of ends without windows. False when there is no way. */
bool pl_reshard_search_run(pl_scratch *scratch, const pl_question *q, int *which, pl_path *path);

#endif
