/* graph/shorten.h - a graph with fewer of its equal blocks: all that can be said of the whole one
 * from few, without looking at every block. */
#ifndef PL_GRAPH_SHORTEN_H
#define PL_GRAPH_SHORTEN_H
#include "graph/fold.h"

/* Instances [from, to), 0 < from < to < all, that are left out; `at` is the first one behind them,
 * counted in the short graph. */
typedef struct pl_cut {
    int from, to, at;
} pl_cut;

typedef struct pl_short {
    const pl_graph *whole, *graph;
    const int *node, *value; /* [of the short graph] ids in the whole one                        */
    int copies;              /* instances that each of them has in the whole graph               */
    int n_cuts;
    const pl_cut *cut;       /* [n_cuts] ascending                                               */
    int kept;                /* instances that stay                                              */
    const int *block;        /* [values of the short graph] the instance that has it, counted in
                                the short graph: that makes it, or alone reads it; -1: none      */
    const int *like;         /* [values of the short graph] the same value of the instance before
                                the first cut, by id in the short graph; itself, if it is in none */
} pl_short;

/* Leaves out instances [from, to) of each cut, between which some stay, of the class whose blocks
 * hold the most nodes, and of those that have as many. What read the last of them reads the one
 * before the first instead, and the other way round: the graph is what the model's builder makes
 * with fewer layers. Names, and the order of what stays, are those of the whole graph. False where
 * something outside reads a block that is left out, or a block farther away than the next one: then
 * there is no such graph. `out` owns it. */
bool pl_graph_shorten(const pl_graph *whole, const pl_fold *fold, int n_cuts, const pl_cut cut[],
                      pl_arena *out, pl_short *s);

/* The instance of the whole graph that is number i of those that stay. */
int pl_short_instance(const pl_short *s, int i);

/* Is a class of the fold one that is shortened? */
bool pl_fold_shortens(const pl_fold *fold, int class);

/* Instances of the classes that pl_graph_shorten would shorten; 0: none. */
int pl_fold_copies(const pl_fold *fold);

#endif
