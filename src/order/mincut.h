/* order/mincut.h - the least that can be live during a task: a minimum cut. */
#ifndef PL_ORDER_MINCUT_H
#define PL_ORDER_MINCUT_H
#include "order/index.h"

/* A lower bound on the bytes live during `task` in every order that runs the tasks later[0 .. n-1]
 * after it: the least over the sets of tasks that can have run when it starts (its ancestors;
 * neither its descendants nor the later ones and theirs; closed under precedence) of what is live
 * then. Exact over those sets when *effort lasts; each edge looked at costs one, and a flow cut
 * short is still a bound. At least the forced-live bound of the task.
 *
 *   later  not ancestors of the task
 *   ran    [index->n] out, when not NULL: the tasks that a least set runs before without need, as
 *          they are neither ancestors of the task nor must they come later */
int64_t pl_mincut_live(const pl_index *index, int task, int n_later, const int later[], bool ran[],
                       int64_t *effort);

#endif
