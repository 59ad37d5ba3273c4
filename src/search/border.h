/* search/border.h - what two neighbouring copies of a chain must agree on.
 *
 * A border lies between two neighbouring copies. Of each link at least one end is a variable of the
 * border (a cover of the links): variables of the copy to its left in `left`, of the copy to its
 * right in `right`. A choice of them all is a state, and given two states the copy between them
 * is on its own. */
#ifndef PL_SEARCH_BORDER_H
#define PL_SEARCH_BORDER_H
#include "search/ring.h"

typedef struct pl_border {
    int n_left, n_right;
    int *left, *right;   /* variables of the block                                               */
    int n_hubs, *hub;    /* variables outside that every copy touches                            */
    double states;       /* the product of the border's values                                   */
    double hub_states;
} pl_border;

/* The border with the fewest states. */
pl_border pl_border_of(const pl_ring *f, pl_arena *a);

/* The place of a variable of the block in left[] or right[], -1: none. A link whose a is in left[]
 * counts as covered there. */
int pl_border_left(const pl_border *b, int variable);
int pl_border_right(const pl_border *b, int variable);

/* One copy and both borders as a net: hubs, the block, then ghosts: `left` of the copy before and
 * `right` of the copy after. Hubs and ghosts cost nothing of their own. fixed[] (of n_hubs +
 * n_block + n_left + n_right) is set for hubs, ghosts and the copy's own border variables. */
pl_net *pl_border_cell(const pl_ring *f, const pl_border *b, bool *fixed, pl_arena *a);

/* Where variables stand in the net of a cell, in the order of states: hubs, then left state (ghosts
 * of the copy before, own `right`), then right state (own `left`, ghosts of the copy after). */
int *pl_border_scope(const pl_ring *f, const pl_border *b, pl_arena *a);

int pl_border_scope_size(const pl_border *b);

/* Outside and both end copies, then ghosts of the borders next to them: `right` of the second copy,
 * `left` of the last but one. Has the links that no cell has. scope[] gets where the variables of a
 * run from the first copy's border to the last one's stand, (*fixed)[] is set for them. */
pl_net *pl_border_ends(const pl_ring *f, const pl_border *b, int *scope, bool **fixed, pl_arena *a);

/* The state that the values of scope[n] are, and the values that a state is. */
int pl_border_state(const pl_net *net, const int *scope, int n, const int *index);
void pl_border_set(const pl_net *net, const int *scope, int n, int state, int *index);

#endif
