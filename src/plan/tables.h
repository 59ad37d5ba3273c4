/* plan/tables.h - what a plan of a graph on a mesh costs, as a sum of tables (search/chain.h).
 *
 * The variables, each of few values:
 *
 *   node     what a node does: a choice of its domain; the time of its share
 *   store    where an input, or a state with several readers, lies between steps: its memory
 *   lie      where a value lies for its readers of one phase, if there are several
 *   save     where a value of the forward pass is kept for the backward pass: its memory
 *
 * and between two of them what it takes to move a tensor from where the one has it to where the
 * other needs it (plan/convert.h). So a value is moved once for all readers of a phase that need it
 * alike. States that one node reads and changes lie where that node works.
 *
 * Equal blocks of the graph (graph/fold.h) are the copies of the chain: one stands for all, and the
 * tables take no longer for more of them. Single numbers cost nothing here. */
#ifndef PL_PLAN_TABLES_H
#define PL_PLAN_TABLES_H
#include "graph/fold.h"
#include "plan/cost.h"
#include "plan/domain.h"
#include "search/chain.h"

typedef enum pl_var_kind { PL_VAR_NODE, PL_VAR_STORE, PL_VAR_LIE, PL_VAR_SAVE } pl_var_kind;

typedef struct pl_var {
    pl_var_kind kind;
    int id;             /* of the node or value; of a block: in the copy that stands for all     */
    int n;              /* choices of the node, spots of the value                               */
    double *time;       /* [n] seconds                                                           */
    double *memory;     /* [n] bytes of one device                                               */
} pl_var;

typedef struct pl_vars {
    int n, cap;
    pl_var *at;
} pl_vars;

typedef struct pl_tables {
    const pl_graph *graph;
    const pl_mesh *mesh;
    pl_arena *arena;
    const pl_fold *fold;
    int class;                  /* of the fold, whose instances are the copies; -1: none        */
    int copies, stands;         /* so many, of which this one stands for all                    */
    int *copy;                  /* [values] the copy that it belongs to, or -1                  */
    const pl_value **like;      /* [values] the same value of the copy that stands for all      */
    pl_vars vars[2];            /* outside, block                                               */
    const pl_domain **domain;   /* [nodes] NULL: all its operands are single numbers, or another
                                   copy stands for it                                           */
    const int16_t **at;         /* [nodes * PL_MAX_OPERANDS] spot of the operand, by choice     */
    pl_spots *spot;             /* [values]                                                     */
    int *node, *store, *lie[2], *save; /* by node or value: variables, or -1                   */
    pl_chain chain;
    double raw;                 /* log10 of the number of plans                                 */
} pl_tables;

/* `fold` may be NULL: every node has a variable of its own. The arena owns the tables. */
pl_tables *pl_tables_new(const pl_graph *g, const pl_fold *fold, const pl_mesh *m,
                         const pl_speed *speed, pl_arena *arena);

/* The copy that a node belongs to, or -1; the node that stands for it. */
int pl_tables_copy(const pl_tables *t, const pl_node *n);
const pl_node *pl_tables_stand(const pl_tables *t, const pl_node *n);

/* The plan of an answer to the chain; what has no variable follows. */
pl_plan *pl_tables_plan(const pl_tables *t, const int *value, const char *strategy, pl_arena *out);

/* The chain written out, with every node and every stored tensor as in a plan on the same mesh: the
 * least that it can cost. Fails with PL_EINPUT when something of it is no value of its variable. */
PL_MUST_CHECK bool pl_tables_fix(const pl_tables *t, const pl_plan *p, pl_arena *a, pl_sum *out,
                                 pl_err *err);

#endif
