/* test/ops/eval.h - run a graph with the reference kernels, one node after the other.
 *
 * Every value has a malloc of its own and exact size, so that a sanitizer sees a kernel that reads
 * or writes beyond its operands. */
#ifndef PL_TEST_EVAL_H
#define PL_TEST_EVAL_H
#include "base/rng.h"
#include "graph/op.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct eval {
    const pl_graph *graph;
    void **at; /* by value id */
} eval;

static inline size_t eval_bytes(pl_type t, const pl_shape *s)
{
    return (size_t)(pl_type_bytes(t) * pl_shape_count(s));
}

static inline void *eval_alloc(size_t bytes)
{
    void *p = malloc(bytes);
    PL_ASSERT(p);
    memset(p, 0xA5, bytes); /* what a kernel forgets to write is seen */
    return p;
}

static inline eval eval_new(const pl_graph *g)
{
    eval e = { g, eval_alloc(sizeof(void *) * (size_t)(g->values.n + 1)) };
    for (int i = 0; i < g->values.n; i++)
        e.at[i] = eval_alloc(eval_bytes(g->values.at[i]->type, &g->values.at[i]->shape));
    return e;
}

static inline void eval_free(eval *e)
{
    for (int i = 0; i < e->graph->values.n; i++) free(e->at[i]);
    free(e->at);
}

/* Floats in [lo, hi), integers lo .. hi - 1; both 0: [-1, 1) and 0 .. 3. */
static inline void eval_random(pl_type t, const pl_shape *s, void *array, pl_rng r, double lo,
                               double hi)
{
    if (lo == 0 && hi == 0) lo = pl_type_is_float(t) ? -1 : 0, hi = pl_type_is_float(t) ? 1 : 4;
    for (int64_t i = 0, n = pl_shape_count(s); i < n; i++) {
        double x = lo + (hi - lo) * pl_rng_uniform(r, (uint64_t)i);
        pl_type_put(t, array, i, pl_type_is_float(t) ? x : floor(x));
    }
}

/* Run the kernel of a share. An output that takes over an input gets a copy of it first, and the
 * kernel sees that copy as its input: the caller's inputs stay as they are. */
static inline void eval_share(const pl_share *s, const void *const in[], void *const out[])
{
    const pl_node *n = s->node;
    const char *p = n->op->inplace ? n->op->inplace : "";
    const void *seen[PL_MAX_OPERANDS];
    for (int k = 0; k < n->n_in; k++) seen[k] = in[k];
    for (int i = 0; i < n->n_out && p[i]; i++) {
        if (p[i] == '-') continue;
        memcpy(out[i], in[p[i] - '0'], eval_bytes(n->out[i]->type, pl_share_out(s, i)));
        seen[p[i] - '0'] = out[i];
    }
    n->op->ref(s, seen, out);
}

/* Run the nodes with ids below n_nodes; inputs and states hold what the caller wrote. */
static inline void eval_run(eval *e, int n_nodes)
{
    for (int i = 0; i < n_nodes; i++) {
        const pl_node *n = e->graph->nodes.at[i];
        const void *in[PL_MAX_OPERANDS];
        void *out[PL_MAX_OPERANDS];
        for (int k = 0; k < n->n_in; k++) in[k] = e->at[n->in[k]->id];
        for (int k = 0; k < n->n_out; k++) out[k] = e->at[n->out[k]->id];
        pl_share s = pl_share_whole(n);
        eval_share(&s, in, out);
    }
}

#endif
