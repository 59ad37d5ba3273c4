/* api/memory.h - the work memory of one device of a plan under several orders of its steps and
 * layouts of its buffers, beside what no order goes below. */
#ifndef PL_API_MEMORY_H
#define PL_API_MEMORY_H
#include "arena/offsets.h"
#include "planners/auto.h"
#include "program/program.h"

enum { PL_MEMORY_ROWS = 64 }; /* at most */

#define PL_MEMORY_MOVES 10000000 /* usually, of the search for an order  */
#define PL_MEMORY_NODES 500000   /* usually, of the search for a layout  */

typedef struct pl_memory_options {
    const char *order;     /* "program", "lescea", "pleat"; NULL: several                        */
    const char *layout;    /* a greedy key (arena/keys.h), "pytorch" (what its caching allocator
                              would hold), "pleat" (exact, as far as nodes go); NULL: several, or
                              of one order "pleat"                                               */
    int64_t moves, nodes;
    bool apart;            /* as in pl_lower_options                                             */
    const pl_watch *watch; /* told of each row before it is made; NULL: nobody                   */
} pl_memory_options;

typedef struct pl_memory_row {
    const char *order, *layout;
    int64_t live, block; /* bytes: live together at most, and what the layout takes */
    bool optimal;        /* no layout of this order is lower                        */
    double seconds;      /* of the layout                                           */
} pl_memory_row;

typedef struct pl_memory {
    const pl_plan *plan;
    const pl_store *store;
    const pl_program *program[PL_N_ORDERS]; /* NULL: this order is in no row               */
    double seconds[PL_N_ORDERS];            /* of lowering in this order                   */
    int64_t bound;                          /* bytes: no order has less live; 0: not known */
    int n;
    pl_memory_row at[PL_MEMORY_ROWS];       /* [n] */
} pl_memory;

/* Of device 0; of a pipeline with all its micro-batches. `out` owns it; names of the options stay
 * the caller's. Fails with PL_EUSAGE for an order or a layout that there is not, and as lowering
 * does. */
PL_MUST_CHECK bool pl_memory_study(const pl_plan *plan, const pl_memory_options *o, pl_arena *out,
                                   pl_memory **study, pl_err *err);

void pl_memory_text(const pl_memory *m, pl_text *out);
void pl_memory_json(const pl_memory *m, pl_text *out);

/* Of the search for a layout: a placing of 2,000 buffers counts as some 250 nodes. */
pl_offsets_options pl_memory_search(int64_t nodes);

#endif
