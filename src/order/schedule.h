/* order/schedule.h - in which order tasks run, so that the most memory live at one time is least.
 *
 * Pure data: knows no graph and no program. A task makes, reads or overwrites tensors. A tensor
 * lives from the first to the last of the tasks that touch it; what is there from the start or
 * stays to the end lives from the first or to the last task of all. The peak of an order is the
 * largest sum of bytes live during one task, what the task itself makes and last reads included. An
 * overwrite in place is one tensor touched by several tasks, with edges that order them. */
#ifndef PL_ORDER_SCHEDULE_H
#define PL_ORDER_SCHEDULE_H
#include "base/arena.h"
#include <stdint.h>

enum { PL_SCHEDULE_FROM_START = 1, PL_SCHEDULE_TO_END = 2 };

/* Tasks are 0 .. n-1, tensors 0 .. n_tensor-1. A tensor that no task touches lives throughout when
 * both its ends are kept, else never. */
typedef struct pl_schedule_problem {
    int n;
    const int *edge_at; /* [n + 1] task t runs before edge[edge_at[t]] .. edge[edge_at[t+1] - 1] */
    const int *edge;    /* [edge_at[n]] later tasks; the graph is acyclic                        */
    int n_tensor;
    const int64_t *bytes; /* [n_tensor] >= 0; all together at most INT64_MAX / 4                  */
    const uint8_t *ends; /* [n_tensor] PL_SCHEDULE_FROM_START | PL_SCHEDULE_TO_END, or 0          */
    const int *touch_at; /* [n_tensor + 1] tensor x is touched by the tasks touch[touch_at[x]] .. */
    const int *touch;    /* [touch_at[n_tensor]] each task at most once per tensor, in any order  */
} pl_schedule_problem;

typedef enum pl_schedule_method {
    PL_SCHEDULE_PLEAT, /* bounds, exact search where it is small, hills and valleys elsewhere    */
    PL_SCHEDULE_GIVEN, /* the given order itself                                                 */
    PL_SCHEDULE_LESCEA /* the greedy rule that ROAM compares with; see lescea.h                  */
} pl_schedule_method;

/* Techniques of PL_SCHEDULE_PLEAT that can be left out. Each changes time or quality of the answer,
 * never its validity. */
enum {
    PL_SCHEDULE_NO_SEGMENTS = 1, /* divide at key points                                         */
    PL_SCHEDULE_NO_REUSE = 2,    /* solve equal segments once                                    */
    PL_SCHEDULE_NO_EXACT = 4,    /* search over downsets                                         */
    PL_SCHEDULE_NO_CUT = 8,      /* min-cut bounds                                               */
    PL_SCHEDULE_NO_HILLS = 16,   /* list scheduling under a target peak                          */
    PL_SCHEDULE_NO_REVERSE = 32, /* ... backward in time too                                     */
    PL_SCHEDULE_NO_REPAIR = 64,  /* exact search in windows around the steps at the peak         */
    PL_SCHEDULE_NO_DOMINANCE = 128, /* run at once what fits and ends with no more memory         */
    PL_SCHEDULE_NO_IDLE = 256       /* leave out tasks that neither make nor free memory          */
};

typedef struct pl_schedule_options {
    pl_schedule_method method;
    unsigned without; /* PL_SCHEDULE_NO_*                                                       */
    int64_t effort;   /* moves, each under a microsecond; 0: a default that ends in seconds      */
    const int *given; /* [n] the order to start from, or NULL: always the least ready task next  */
} pl_schedule_options;

typedef struct pl_schedule {
    int *order;     /* [n] task at each step                                                   */
    int64_t given;  /* bytes: the peak of the order that it started from                       */
    int64_t peak;   /* bytes; of PLEAT never more than that                                    */
    int64_t bound;  /* bytes: no order has a lower peak                                        */
    int64_t effort; /* moves made                                                              */
    int n_segments; /* between key points                                                      */
    int n_reused;   /* segments whose order was copied from an equal one                       */
    bool optimal;   /* peak == bound                                                           */
} pl_schedule;

/* Find an order of low peak. Deterministic: the same problem and options give the same bytes; no
 * clock is read. `out` owns schedule->order. Fails with PL_EINPUT: the problem breaks a rule above
 * (the message says which, with the numbers; a cycle by one of its tasks), or the given order is
 * not an order of the tasks. */
PL_MUST_CHECK bool pl_schedule_find(const pl_schedule_problem *problem,
                                    const pl_schedule_options *options, pl_arena *out,
                                    pl_schedule *schedule, pl_err *err);

/* The rules of the problem: sizes, ranges, no task twice in a tensor, no cycle. */
PL_MUST_CHECK bool pl_schedule_validate(const pl_schedule_problem *problem, pl_err *err);

/* Independent judge, from the definition; O(n * tensors), shares no code with the rest. Fails with
 * PL_EMISMATCH: not a permutation, an edge runs backward, or the peak is another. */
PL_MUST_CHECK bool pl_schedule_check(const pl_schedule_problem *problem, const int order[],
                                     int64_t peak, pl_err *err);

#endif
