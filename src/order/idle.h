/* order/idle.h - leave out the tasks that neither make nor free memory. */
#ifndef PL_ORDER_IDLE_H
#define PL_ORDER_IDLE_H
#include "order/index.h"

/* The same problem without the tasks that touch no tensor of the index, such as updates of tensors
 * that live throughout; what they order stays ordered. A few remain where leaving them out would
 * take more edges than it saves. Whatever runs at a task's step but the task itself is live at a
 * neighbour's too, so neither peak nor bound changes. Task k of the result is kept[k]; `order` is
 * any order of the tasks of `index`. */
pl_index *pl_idle_drop(const pl_index *index, const int order[], int kept[], pl_arena *arena);

/* An order of all tasks from one of the kept: `less` [n_kept] holds numbers of the reduced problem.
 * Each idle task runs just before the first that waits for it. */
void pl_idle_insert(const pl_index *index, int n_kept, const int kept[], const int less[],
                    int order[]);

#endif
