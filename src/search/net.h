/* search/net.h - a sum with one number per entry, reparametrized by potentials, deleted values
 * gone.
 *
 * An edge carries potentials: reading its entry as cost[x][y] - to_a[x] - to_b[y], and a variable's
 * as unary[x] + the sum of the potentials sent to it, changes no total. Potentials are sent so that
 * the least entries of all tables add up to a lower bound that grows: sequential tree-reweighted
 * message passing (Kolmogorov, PAMI 2006; in the form of SRMP, PAMI 2015). */
#ifndef PL_SEARCH_NET_H
#define PL_SEARCH_NET_H
#include "search/search.h"
#include <math.h>

/* Illegal entries are infinite. Potentials are finite: values that some edge forbids altogether are
 * deleted before a pass sees them. */
static inline bool pl_net_is_legal(double cost)
{
    return cost < (double)INFINITY;
}

typedef struct pl_net_table {
    int rows, cols;
    const double *cost;   /* [rows][cols]                                                        */
    const double *memory; /* the same; NULL: none, or not asked for                              */
    bool holes;           /* some entry may be illegal                                           */
} pl_net_table;

typedef struct pl_net_edge {
    int a, b;
    pl_net_table table;  /* [values of a][values of b]                                           */
    double *to_a, *to_b; /* potentials                                                           */
    bool loose;          /* what it forbids stays: potentials of this net are also used where the
                            edge is missing                                                      */
} pl_net_edge;

typedef struct pl_net {
    int n;
    int *size;           /* [n] values that are left                                             */
    int **value;         /* [n][size] their numbers in the sum, rising                           */
    double **unary;      /* [n][size]                                                            */
    double **memory;     /* [n][size]; NULL rows: none, or not asked for                         */
    double **least;      /* [n][size] every choice with that value costs at least this           */
    int n_edges, cap_edges;
    pl_net_edge *edge;
    int *first, *incident; /* edges of v: incident[first[v]] .. incident[first[v + 1] - 1]       */
    int *order, *rank;   /* [n] what a pass visits in turn, and where each variable stands there */
    double bound;        /* what was taken out of unary tables: a lower bound of the total       */
    bool settled;        /* a pass has been made: what is left in every table is at least 0      */
    double step;         /* how far the next one goes (pl_net_round); 0: none was made           */
    double *scratch[2];  /* [largest size]                                                       */
    int64_t work;
} pl_net;

/* What of an entry counts: time * weights.time + memory * weights.memory. May be `time` itself. */
pl_net_table pl_net_weigh(const double *time, const double *memory, int rows, int cols,
                          pl_cost weights, pl_arena *arena);
/* One row: a unary table. */
double *pl_net_weigh_row(const double *time, const double *memory, int cols, pl_cost weights,
                         pl_arena *arena);

/* by > 0; its memory is left out. */
pl_net_table pl_net_scale(pl_net_table table, double by, pl_arena *arena);

/* A net of n variables without edges; unary tables are set by the caller. */
pl_net *pl_net_new(int n, pl_arena *arena);
void pl_net_var(pl_net *net, int v, int size, int *value, double *unary, pl_arena *arena);
/* Potentials are copied; NULL: zeros. */
void pl_net_join(pl_net *net, int a, int b, pl_net_table table, const double *to_a,
                 const double *to_b, pl_arena *arena);
void pl_net_index(pl_net *net, pl_arena *arena); /* after the last join */

/* Puts all variables that can be reached from queue[0] into queue[n], those far away last (breadth
 * first); seen[n] gets which they are. Returns how many. */
int pl_net_spread(const pl_net *net, int *queue, bool *seen);

/* The order of the passes: neighbours close together, so that costs come far in one pass. The next
 * variable is always the one that opens the fewest new ones (King, 1970). */
void pl_net_arrange(pl_net *net, pl_arena *arena);

pl_net *pl_net_of(const pl_sum *sum, pl_cost weights, pl_arena *arena); /* NULL: nothing is legal */

/* Memory for the values that are left: of a table (cols: of the whole one), of a row, of a net that
 * has all edges of the sum. NULL where the sum has none. */
const double *pl_net_recall(const double *memory, int cols, pl_net_table table, const int *row,
                            const int *col, pl_arena *arena);
double *pl_net_recall_row(const double *memory, int size, const int *value, pl_arena *arena);
void pl_net_remember(pl_net *net, const pl_sum *sum, pl_arena *arena);

/* One pass over all variables, forward or backward; `bound` and `least` never fall. pick, unless
 * NULL, gets a choice (places, not value numbers) made on the way. */
void pl_net_pass(pl_net *net, bool forward, int *pick);

/* Six passes, forward and back in turn, one pair of which starts from potentials that are
 * extrapolated (extrapolate.c). */
void pl_net_round(pl_net *net, int *pick);

/* The net's total for places index[n], potentials left out: an exact sum of raw entries. */
double pl_net_cost(const pl_net *net, const int *index);

/* Where v's number of a choice in value numbers stands in the net; -1: it has gone, or value is
 * NULL. Of all variables; false: one has gone. */
int pl_net_place(const pl_net *net, int v, const int *value);
bool pl_net_places(const pl_net *net, const int *value, int *index);

/* Improves index[n] one variable at a time until no single change helps (at most `rounds`). */
void pl_net_descend(pl_net *net, int *index, int rounds);

/* Only values with keep[v][x], less those that an edge (unless loose) then forbids altogether, with
 * the potentials and bounds found so far. Variables with fixed[v] (NULL: none) keep all. With
 * `fold`, edges of a variable with one value are taken into their neighbours. NULL when a variable
 * would have no value. Clears keep[][] where a value went. */
pl_net *pl_net_keep(const pl_net *net, bool **keep, const bool *fixed, bool fold, pl_arena *arena);
bool **pl_net_keeps(const pl_net *net, pl_arena *arena); /* all true */

/* Clears keep[v][x] where another kept value of v is at least as good whatever the neighbours take
 * (Goldstein's dead-end elimination, 1994); variables with fixed[v] (NULL: none) are left alone.
 * Returns how many. */
int pl_net_dominate(pl_net *net, const bool *fixed, bool **keep);

/* Its parts. Only the best few values are tried as the better one: a bad value is rarely better
 * than another everywhere, and trying all would cost size^2 tables. */
enum { PL_NET_RIVALS = 6 };
int pl_net_rivals(const pl_net *net, int v, const bool *kept, int rival[PL_NET_RIVALS]);
bool pl_net_is_beaten(pl_net *net, int v, int s, int t, bool *const *keep); /* s, by t           */

#endif
