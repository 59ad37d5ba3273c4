/* plan/terms.h - gradients that come from two stages: of a weight that both read (tied embeddings).
 * Each stage adds up its own terms, and the sums meet once a step. */
#ifndef PL_PLAN_TERMS_H
#define PL_PLAN_TERMS_H
#include "plan/stages.h"

enum { PL_TERM_BETWEEN = 4 };

/* A sum of gradients, `sum`, adds what the nodes `between` make of add->out, of which one operand
 * comes from another stage than the sum. */
typedef struct pl_term {
    const pl_node *sum, *add;
    int far, stage; /* which operand, and its stage                */
    int n;
    const pl_node *between[PL_TERM_BETWEEN]; /* from `add` to `sum`: casts */
} pl_term;

/* The term of each sum, by the number of its node; NULL: it has none. `out` owns them. */
const pl_term **pl_terms_find(const pl_graph *g, const pl_stages *s, pl_arena *out);

/* [values] What another stage sends once a step, not for every micro-batch: states, and such terms.
 * `out` owns it. */
const bool *pl_terms_once(const pl_graph *g, const pl_stages *s, pl_arena *out);

#endif
