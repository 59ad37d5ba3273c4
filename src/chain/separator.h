/* chain/separator.h - what two neighbouring copies of a chain must agree on.
 *
 * A separator lies between two neighbouring copies. Of each link at least one end is a variable of
 * the separator (a cover of the links): variables of the copy to its left in `left`, of the copy to
 * its right in `right`. A choice of them all is a state, and given two states the copy between them
 * is on its own. */
#ifndef PL_CHAIN_SEPARATOR_H
#define PL_CHAIN_SEPARATOR_H
#include "chain/ring.h"

typedef struct pl_separator {
    int n_left, n_right;
    int *left, *right;   /* variables of the block                                               */
    int n_hubs, *hub;    /* variables outside that every copy touches                            */
    double states;       /* the product of the separator's values                                */
    double hub_states;
} pl_separator;

/* The separator with the fewest states. */
pl_separator pl_separator_of(const pl_ring *ring, pl_arena *arena);

/* One copy and both separators as a net: hubs, the block, then ghosts: `left` of the copy before
 * and `right` of the copy after. Hubs and ghosts cost nothing of their own. fixed[] (of n_hubs +
 * n_block + n_left + n_right) is set for hubs, ghosts and the copy's own separator variables. */
pl_net *pl_separator_cell(const pl_ring *ring, const pl_separator *sep, bool *fixed,
                          pl_arena *arena);

/* Where variables stand in the net of a cell, in the order of states: hubs, then left state (ghosts
 * of the copy before, own `right`), then right state (own `left`, ghosts of the copy after). */
int *pl_separator_scope(const pl_ring *ring, const pl_separator *sep, pl_arena *arena);

int pl_separator_scope_size(const pl_separator *sep);

/* Outside and both end copies, then ghosts of the separators next to them: `right` of the second
 * copy, `left` of the last but one. Has the links that no cell has. scope[] gets where the
 * variables of a run from the first copy's separator to the last one's stand, (*fixed)[] is set
 * for them. */
pl_net *pl_separator_ends(const pl_ring *ring, const pl_separator *sep, int *scope, bool **fixed,
                          pl_arena *arena);

/* The state that the values of scope[n] are, and the values that a state is. */
int pl_separator_state(const pl_net *net, const int *scope, int n, const int *index);
void pl_separator_set(const pl_net *net, const int *scope, int n, int state, int *index);

#endif
