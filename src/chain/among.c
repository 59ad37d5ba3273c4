/* Values are gathered (list_values), then each table's entries (take_entries). */
#include "chain/among.h"

/* Of one variable. */
typedef struct values {
    int n, *at;
} values;

/* What is kept of a chain's variables: outside, then the block. */
typedef struct kept {
    const values *outside, *block;
    pl_arena *arena;
} kept;

static void mark(int n, const int *value, bool *const *has)
{
    for (int v = 0; v < n; v++) has[v][value[v]] = true;
}

static values list_marked(int n, const bool *has, pl_arena *arena)
{
    values x = { 0, PL_NEW_N(arena, int, n) };
    for (int i = 0; i < n; i++)
        if (has[i]) x.at[x.n++] = i;
    return x;
}

/* Values of a variable: outside, then block. */
static int count_values(const pl_chain *chain, int v)
{
    const int outside = chain->outside.n;
    return v < outside ? chain->outside.n_values[v] : chain->block.n_values[v - outside];
}

/* [outside, then block] */
static values *list_values(const pl_chain *chain, int n, int *const known[], pl_arena *arena)
{
    const int outside = chain->outside.n, block = chain->block.n;
    bool **has = PL_NEW_N(arena, bool *, outside + block + 1);
    values *x = PL_NEW_N(arena, values, outside + block + 1);
    for (int v = 0; v < outside + block; v++)
        has[v] = PL_NEW_N(arena, bool, count_values(chain, v));
    for (int k = 0; k < n; k++) {
        mark(outside, known[k], has);
        for (int i = 0; i < chain->copies; i++)
            mark(block, known[k] + outside + (int64_t)i * block, has + outside);
    }
    for (int v = 0; v < outside + block; v++)
        x[v] = list_marked(count_values(chain, v), has[v], arena);
    return x;
}

/* [rows][columns] of a table whose rows have `stride` entries. */
static const double *take_entries(const double *from, int stride, values rows, values cols,
                                  pl_arena *arena)
{
    if (!from) return NULL;
    double *to = PL_NEW_N(arena, double, rows.n *cols.n), *at = to;
    for (int i = 0; i < rows.n; i++)
        for (int j = 0; j < cols.n; j++) *at++ = from[(int64_t)rows.at[i] * stride + cols.at[j]];
    return to;
}

static const pl_sum_edge *take_edges(int n, const pl_sum_edge *edge, const int *cols,
                                     const values *a, const values *b, pl_arena *arena)
{
    pl_sum_edge *to = PL_NEW_N(arena, pl_sum_edge, n + 1);
    for (int i = 0; i < n; i++) {
        const pl_sum_edge *e = &edge[i];
        const int stride = cols[e->b];
        to[i] = (pl_sum_edge){ e->a, e->b, take_entries(e->time, stride, a[e->a], b[e->b], arena),
                               take_entries(e->memory, stride, a[e->a], b[e->b], arena) };
    }
    return to;
}

/* A row of each variable; NULL: there are none. */
static const double *const *take_rows(const pl_sum *sum, const double *const *row,
                                      const values *keep, pl_arena *arena)
{
    static int none[] = { 0 };
    const values one = { 1, none };
    const double **to = PL_NEW_N(arena, const double *, sum->n + 1);
    if (!row) return NULL;
    for (int v = 0; v < sum->n; v++) to[v] = take_entries(row[v], 0, one, keep[v], arena);
    return to;
}

static pl_sum take_sum(const pl_sum *sum, const values *keep, pl_arena *arena)
{
    pl_sum to = *sum;
    int *n_values = PL_NEW_N(arena, int, sum->n + 1);
    for (int v = 0; v < sum->n; v++) n_values[v] = keep[v].n;
    to.n_values = n_values;
    to.time = take_rows(sum, sum->time, keep, arena);
    to.memory = take_rows(sum, sum->memory, keep, arena);
    to.edge = take_edges(sum->n_edges, sum->edge, sum->n_values, keep, keep, arena);
    return to;
}

static const pl_chain *take_chain(const pl_chain *chain, const kept *k)
{
    const int *cols = chain->block.n_values;
    pl_chain *to = PL_NEW(k->arena, pl_chain);
    *to = *chain;
    to->outside = take_sum(&chain->outside, k->outside, k->arena);
    to->block = take_sum(&chain->block, k->block, k->arena);
    to->link = take_edges(chain->n_links, chain->link, cols, k->block, k->block, k->arena);
    to->first = take_edges(chain->n_first, chain->first, cols, k->outside, k->block, k->arena);
    to->last = take_edges(chain->n_last, chain->last, cols, k->outside, k->block, k->arena);
    to->every = take_edges(chain->n_every, chain->every, cols, k->outside, k->block, k->arena);
    return to;
}

pl_among pl_chain_among(pl_chain_pair pair, int n, int *const known[], pl_arena *arena)
{
    const pl_chain *chain = pair.sum[0];
    const values *x = list_values(chain, n, known, arena);
    const int all = chain->outside.n + chain->block.n;
    const kept k = { x, x + chain->outside.n, arena };
    int **value = PL_NEW_N(arena, int *, all + 1);
    for (int v = 0; v < all; v++) value[v] = x[v].at;
    const pl_chain *one = take_chain(chain, &k),
                   *other = pair.sum[1] == chain ? one : take_chain(pair.sum[1], &k);
    return (pl_among){ chain, { { one, other } }, value };
}

int *pl_among_choice(const pl_among *among, const int *value, pl_arena *arena)
{
    const int outside = among->of->outside.n, block = among->of->block.n,
              n = (int)pl_chain_variables(among->of);
    int *to = PL_NEW_N(arena, int, n);
    for (int i = 0; i < n; i++)
        to[i] = among->value[i < outside ? i : outside + (i - outside) % block][value[i]];
    return to;
}
