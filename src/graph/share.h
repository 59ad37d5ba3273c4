/* graph/share.h - the part of a node that one device computes: a range of every factor.
 *
 * A kernel never sees placements or meshes: it gets a share with local shapes, and where its answer
 * depends on *where* an element lies (dropout's mask, a causal row, a table's rows) it reads the
 * factor's global position from the share. */
#ifndef PL_GRAPH_SHARE_H
#define PL_GRAPH_SHARE_H
#include "graph/graph.h"

typedef struct pl_range {
    int64_t lo, n; /* [lo, lo + n) of the whole factor */
} pl_range;

/* The part of a range that member `me` of `parts` gets where *chunk positions are shared out: to
 * each ceil(*chunk / parts) in turn, to the last ones fewer (the range itself may be such a one,
 * shorter than *chunk). *chunk becomes what one member gets of them. */
pl_range pl_range_part(pl_range range, int64_t *chunk, int parts, int me);

typedef struct pl_share {
    const pl_node *node;
    pl_range factor[PL_MAX_FACTORS];
    pl_shape shape[PL_MAX_OPERANDS];  /* local; of inputs, then of outputs     */
    pl_window window[PL_MAX_WINDOWS]; /* pads as this share sees them          */
    pl_range halo[PL_MAX_WINDOWS];    /* range of the windowed input dimension */
} pl_share;

pl_share pl_share_whole(const pl_node *node);

/* The local shape of an output. */
static inline const pl_shape *pl_share_out(const pl_share *s, int o)
{
    return &s->shape[s->node->n_in + o];
}

/* Keep only [lo, lo + n) of factor f, counted within the share's present range. */
void pl_share_cut(pl_share *share, int f, int64_t lo, int64_t n);

/* May factor f be split at all: not whole, not a tap, size > 1, no window of it in an output. */
bool pl_share_can_cut(const pl_node *node, int f);

/* Does operand o (inputs first, then outputs) depend on factor f; for an output: if it does not, a
 * share of f gives a partial result of it. */
bool pl_share_touches(const pl_node *node, int o, int f);

/* Have operands a and b the same factors in the same dimensions? Then elements of the same index
 * belong together, in every share. Equal shapes alone do not say that. */
bool pl_share_same_index(const pl_node *node, int a, int b);

/* Range of a factor by letter, whole size included. Letters absent from the node: {0, 1}, 1. */
pl_range pl_share_range(const pl_share *share, char letter, int64_t *whole);

/* Copy between a whole operand (row-major, whole shape) and the share's part of it; used by tests,
 * by verification and to feed inputs. */
void pl_share_take(const pl_share *share, int operand, const void *whole, void *part);
void pl_share_give(const pl_share *share, int operand, const void *part, void *whole);

/* Global row-major index of element i of an operand's part, for counter-based random numbers. */
typedef struct pl_globals {
    int n;
    struct { int64_t n, local, global, lo; } level[PL_MAX_RANK * PL_MAX_COMPOSE];
} pl_globals;
void pl_share_globals(const pl_share *share, int operand, pl_globals *globals);
int64_t pl_globals_at(const pl_globals *globals, int64_t i);

#endif
