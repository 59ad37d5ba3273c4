/* layouts/states.h - where inputs, and the states that no forward node reads, are stored. */
#ifndef PL_LAYOUTS_STATES_H
#define PL_LAYOUTS_STATES_H
#include "layouts/roles.h"

/* Splits what is left of a dimension over one more axis, which becomes the minor-most. */
void pl_states_append(pl_placement *p, int dim, int axis);

/* Dimension 0 of every input that has several rows: over the axes that split the batch, and over
 * the grid's rows as far as there are enough. To be called before pl_roles_init. */
void pl_states_inputs(pl_plan *p);

/* States that the other plan's graph has too, by name and shape, are stored as there. */
void pl_states_like(pl_follow *f, const pl_plan *like);

/* All other states: moments like their weights; what zero=1|2|3 says. The axis that zero adds
 * splits dimension 0 when that divides, else the first dimension that does, else dimension 0
 * unevenly: a factor of the node that changes the state, which works as it is stored. Scalars stay
 * copied. */
void pl_states_finish(pl_roles *r, const pl_plan *like);

#endif
