/* search/front.h - elimination with two costs: each entry is a Pareto front of labels.
 *
 * A label's cost is weighted: its time plus `price` times its memory, potentials taken in. Between
 * labels of one entry the potentials are the same, so time is compared as cost - price * memory.
 * Labels whose cost is above `slack` or whose memory is above `budget` go; both count from the
 * least of all other tables, so nothing of interest is lost. A front that grows beyond `most`
 * labels is thinned: what is left is still a choice each, but the best may be gone. */
#ifndef PL_SEARCH_FRONT_H
#define PL_SEARCH_FRONT_H
#include "search/eliminate.h"
#include "search/net.h"

typedef struct pl_label {
    double cost, memory;
    const struct pl_label *a, *b; /* what it is the sum of; NULL: no decision is in it           */
    int var, value;               /* and one decision more; var -1: none                         */
} pl_label;

typedef struct pl_front {
    int n;
    const pl_label *at; /* [n] memory rising, time falling                                       */
} pl_front;

typedef struct pl_front_table {
    int n;
    const int *var;
    const pl_front *cell; /* row-major over var[n]                                               */
} pl_front_table;

typedef struct pl_fronts {
    int n;
    const int *size;
    double price, slack, budget;
    double grain;             /* differences of time that are rounding                           */
    int most;
    int64_t work, work_limit; /* labels made; beyond the limit the run stops                     */
    bool thinned, stopped;
    double cost, memory;      /* constants: totals are label + these                             */
    int n_tables, cap_tables;
    pl_front_table *table;
    struct { pl_label *at; int n, cap; } made; /* labels of the entry in the making              */
    int *index; /* [n] places while a table is made                                      */
    pl_arena *arena;
} pl_fronts;

/* Copies the limits of `like` (price .. work_limit). */
pl_fronts *pl_fronts_new(int n, const int *size, const pl_fronts *like, pl_arena *arena);

/* Every table of a net with its memory (pl_net_remember). The least memory of each goes to the
 * constant and off the budget. */
void pl_fronts_net(pl_fronts *fronts, const pl_net *net);

/* The order for the tables added so far. */
pl_order pl_fronts_order(const pl_fronts *fronts, const bool *keep);
void pl_fronts_run(pl_fronts *fronts, pl_order order);
const pl_front *pl_fronts_rest(pl_fronts *fronts, int n, const int *var);

/* Writes a label's decisions. */
void pl_label_trace(const pl_label *label, int *index);

#endif
