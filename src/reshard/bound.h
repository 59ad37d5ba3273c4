/* reshard/bound.h - what the rest of a way costs at least.
 *
 * Forget where on a dimension an axis splits it, and that two axes may want the same place: what is
 * left of a placement is how each axis stands. What a move costs at least follows from that alone:
 * the axes that split something say how large a part is, and blocks that lie behind others in
 * memory have to be copied. So there are few of these and the cheapest ways between them are all
 * found at once, by Dijkstra's algorithm back from the target (a pattern database: Culberson and
 * Schaeffer, Computational Intelligence 14, 1998). */
#ifndef PL_RESHARD_BOUND_H
#define PL_RESHARD_BOUND_H
#include "reshard/memo.h"
#include "reshard/queue.h"

/* Sets of axes; those in none of them hold copies. */
typedef struct pl_stand {
    uint8_t pending, split;
    uint8_t home; /* of `split`: as in the target                                              */
    uint8_t back; /* of `split`, not home: more values of other digits lie before those of
                     this one than all axes together split: no blocks of it lie in order       */
} pl_stand;

enum { PL_BOUND_SLOTS = 128, PL_AXIS_SETS = 1 << PL_MAX_AXES };

/* Tables found before; they depend on little of the question. */
typedef struct pl_bounds {
    pl_arena *arena;
    pl_queue queue;
    struct pl_bound_table *slot[PL_BOUND_SLOTS];
} pl_bounds;

typedef struct pl_bound {
    const pl_question *q;
    bool even;        /* all ends are, and so is what lies between them                   */
    int64_t element;  /* bytes                                                            */
    unsigned axes;    /* of more than one device                                          */
    unsigned split;   /* by the target                                                    */
    unsigned back;    /* of them, those whose home is back                                */
    unsigned combine; /* pending at a source, not in the target                           */
    pl_split home[PL_MAX_AXES];  /* even: the digit that the axis alone has in the target;
                                    else the split there: home is any in its dimension    */
    int64_t part[PL_AXIS_SETS];  /* elements of a part that these axes split, rounded down */
    int64_t before[PL_MAX_RANK]; /* values of the dimensions before this one              */
    int place[PL_AXIS_SETS];     /* in the table: sums of powers of 5                     */
    const double *least;         /* the table                                             */
} pl_bound;

void pl_reshard_bound_start(pl_bound *b, pl_bounds *known, const pl_question *q);

pl_stand pl_reshard_bound_stand(const pl_bound *b, const pl_placement *p);
pl_stand pl_reshard_bound_copied(pl_stand x, unsigned axes); /* and these hold copies */
bool pl_reshard_bound_is_home(const pl_bound *b, const pl_split *digit);
bool pl_reshard_bound_is_back(const pl_bound *b, const pl_split *digit);

/* Seconds from here to the target at least, 1e300: no way. */
double pl_reshard_bound_rest(const pl_bound *b, pl_stand x);

/* No move of this kind over `axes` from `x` to `y` costs less. */
double pl_reshard_bound_step(const pl_bound *b, pl_collective kind, unsigned axes, pl_stand x,
                             pl_stand y);

/* The digit that split i alone has of its dimension, for a digit whose parts are even; else the
 * split with its size and unit written out. */
pl_split pl_reshard_bound_digit(const pl_placement *p, int i, const pl_mesh *m, const pl_shape *s);

#endif
