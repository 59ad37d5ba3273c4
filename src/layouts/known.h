/* layouts/known.h - what nodes chose, for others of the same kind: where all that a choice depends
 * on is as it was, it is looked up. Blocks of a deep model are decided once. */
#ifndef PL_LAYOUTS_KNOWN_H
#define PL_LAYOUTS_KNOWN_H
#include "base/map.h"
#include "plan/plan.h"

/* What a choice depends on, of an operand. */
typedef struct pl_known_operand {
    pl_type type;
    bool open;              /* where it is stored is not decided                              */
    bool state;             /* it says nothing of how to split what reads it                  */
    int same;               /* the first operand that is the same value                       */
    int n;                  /* places: an input lies there, an output has to go to it         */
    const pl_placement *at; /* [n] */
} pl_known_operand;

typedef struct pl_known_case {
    const pl_node *node;
    unsigned axes[3]; /* what all nodes may do: equal for those that may do the same */
    bool wide_sums;
    pl_choice fixed;
    pl_known_operand operand[PL_MAX_OPERANDS];
} pl_known_case;

typedef struct pl_known {
    int n, cap;
    struct pl_known_entry {
        pl_known_case of;
        pl_choice choice;
    } *at;
    pl_map by_hash;
} pl_known;

uint64_t pl_known_hash(const pl_known_case *x, const pl_mesh *m);

/* What was chosen in the same case, on the same mesh; NULL: it is a new one. */
const pl_choice *pl_known_find(const pl_known *k, const pl_known_case *x, const pl_mesh *m,
                               uint64_t hash);

/* `arena` owns copies of the places. */
void pl_known_add(pl_known *k, const pl_known_case *x, uint64_t hash, const pl_choice *choice,
                  pl_arena *arena);

#endif
