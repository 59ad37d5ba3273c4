/* evict/evict.h - which values to drop and make again, or to copy to the host and back, so that
 * operators in a fixed order fit a budget of bytes, in the least time.
 *
 * Pure data: knows no graph and no program. Op 0 runs first, op n_op - 1 last. An op reads values
 * and makes values. A value lies in storage of its own, or is a view: it shares the storage of
 * another value, has no bytes of its own and goes where that storage goes. Ops may run again
 * before a later op, which makes their values again, at the price of their seconds.
 *
 * A schedule is a list of actions, in the order in which they are issued (pl_evict_action). While
 * an op runs there are in memory all storages present and what the op makes, also where a copy of
 * it is there already: that one stays and the new one is gone when the op ends. Compute and the
 * two directions of the host link are three lanes; a lane does one thing at a time, in the order
 * issued. An op waits until what it reads has come in, a drop until the copy of that storage is
 * out, and everything issued after waits with it. */
#ifndef PL_EVICT_EVICT_H
#define PL_EVICT_EVICT_H
#include "base/arena.h"
#include <stdint.h>

enum {
    PL_EVICT_AT_END = 1, /* of a value: has to be there, usable, after the last action    */
    PL_EVICT_PINNED = 2  /* its storage may never be dropped once it is there             */
};

typedef struct pl_evict_problem {
    int n_op;
    const double *seconds; /* [n_op] of one run, finite, >= 0                                    */
    const bool *once;      /* [n_op] true: can not be run again; NULL: every op can              */
    int n_value;
    const int64_t *bytes;  /* [n_value] of its storage, 0 of a view; all <= INT64_MAX / 4        */
    const int *maker;      /* [n_value] op that makes it, or -1: there from the start            */
    const int *view_of;    /* [n_value] value of which it is a view, or -1; NULL: there are none.
                            * The maker of a view reads that and makes nothing but views of it;
                            * one that cannot run again writes there: copies before it are old   */
    const uint8_t *keep;   /* [n_value] PL_EVICT_AT_END | PL_EVICT_PINNED; NULL: none            */
    const int *held;       /* [n_value] the program holds it until this op starts, n_op: to the
                            * end; online policies, who do not see ahead, go by it.
                            * NULL: until after its last reader                                  */
    const int *read_at;    /* [n_op + 1] op t reads read[read_at[t]] .. read[read_at[t + 1] - 1] */
    const int *read;       /* values made before op t, each at most once per op                  */
    double out_bytes_per_s, in_bytes_per_s; /* link to and from the host; both 0: there is none  */
    int most_runs;         /* of one op, the first included; 0: as often as wanted               */
} pl_evict_problem;

typedef enum pl_evict_do { PL_EVICT_RUN, PL_EVICT_DROP, PL_EVICT_OUT, PL_EVICT_IN } pl_evict_do;

/* RUN: `what` is an op; all it reads is present. DROP, OUT, IN: `what` is a value with storage of
 * its own. DROP frees it: it and its views are present no more. OUT copies it to the host, where it
 * stays for good; its views are remembered as they are. IN takes memory again and makes present
 * what was remembered. */
typedef struct pl_evict_action {
    uint8_t act; /* pl_evict_do */
    int what;
} pl_evict_action;

typedef struct pl_evict_schedule {
    int n;
    pl_evict_action *action; /* [n]                                                               */
    double seconds;          /* of the whole: compute, and copies that were waited for            */
    double compute;          /* seconds of all runs                                               */
    double exposed;          /* seconds that compute waited for copies: seconds - compute         */
    int64_t peak;            /* bytes, the most present while any op ran, or a copy came in       */
    int64_t copied;          /* bytes copied out and in                                           */
    double bound;            /* seconds: no schedule within the budget is faster                  */
    int64_t effort;          /* steps made                                                        */
    bool optimal;            /* proven: no schedule within the budget is faster                   */
} pl_evict_schedule;

/* The rules of the problem; fails with PL_EINPUT and the numbers. */
PL_MUST_CHECK bool pl_evict_validate(const pl_evict_problem *problem, pl_err *err);

/* Of the order as it stands: seconds of one run of each op; bytes at the most where each value is
 * gone after its last reader, and where it goes when the program holds it no more, pinned or not;
 * and the most that one op needs at once (what is pinned by then, what it reads and makes): no
 * budget can be below that. */
typedef struct pl_evict_facts {
    double seconds;
    int64_t peak, held_peak, need;
    int need_op;
} pl_evict_facts;
pl_evict_facts pl_evict_measure(const pl_evict_problem *problem);

/* Independent judge: plays the actions by the definition above; shares no code with the policies.
 * Compares seconds (relative 1e-9) and peak with what the schedule says. Fails with PL_EMISMATCH:
 * the action, what is wrong there, the numbers. */
PL_MUST_CHECK bool pl_evict_check(const pl_evict_problem *problem, int64_t budget,
                                  const pl_evict_schedule *schedule, pl_err *err);

#endif
