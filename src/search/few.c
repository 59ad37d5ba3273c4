#include "search/few.h"

#include <math.h>
#include <string.h>

typedef struct parting {
    const pl_chain *c;
    int n_outside, n_block, *size, **value; /* of outside, then of the block                    */
    pl_arena *arena;
} parting;

static int count_whole(const parting *p, int v)
{
    return v < p->n_outside ? p->c->outside.n_values[v] : p->c->block.n_values[v - p->n_outside];
}

/* The values that a variable has in any choice and copy, rising. */
static void find_values(parting *p, int v, int n, int *const *known)
{
    int count = count_whole(p, v), copies = v < p->n_outside ? 1 : p->c->copies;
    bool *is_known = PL_NEW_N(p->arena, bool, count);
    for (int k = 0; k < n; k++)
        for (int i = 0; i < copies; i++) is_known[known[k][v + i * p->n_block]] = true;
    p->value[v] = PL_NEW_N(p->arena, int, count);
    for (int x = 0; x < count; x++)
        if (is_known[x]) p->value[v][p->size[v]++] = x;
}

static double *take_row(const parting *p, const double *row, int v)
{
    double *out = PL_NEW_N(p->arena, double, p->size[v]);
    for (int x = 0; row && x < p->size[v]; x++) out[x] = row[p->value[v][x]];
    return out;
}

/* Illegal entries cost an infinite time, and no memory. */
static double *take_table(const parting *p, const double *table, int a, int b, bool legal)
{
    if (!table) return NULL;
    size_t cols = (size_t)count_whole(p, b);
    double *out = pl_arena_get(p->arena, (size_t)p->size[a] * (size_t)p->size[b], sizeof *out);
    double *to = out;
    for (int x = 0; x < p->size[a]; x++)
        for (int y = 0; y < p->size[b]; y++, to++) {
            *to = table[(size_t)p->value[a][x] * cols + (size_t)p->value[b][y]];
            if (legal && isinf(*to)) *to = 0;
        }
    return out;
}

static pl_sum_pair *take_pairs(const parting *p, int n, const pl_sum_pair *from,
                               const pl_sum_pair *other, int at_a, int at_b)
{
    pl_sum_pair *to = PL_NEW_N(p->arena, pl_sum_pair, n);
    for (int i = 0; i < n; i++) {
        int a = at_a + from[i].a, b = at_b + from[i].b;
        const double *memory = other ? other[i].time : from[i].memory;
        to[i] = (pl_sum_pair){ from[i].a, from[i].b, take_table(p, from[i].time, a, b, false),
                               take_table(p, memory, a, b, other != NULL) };
    }
    return to;
}

static pl_sum take_sum(const parting *p, const pl_sum *from, const pl_sum *other, int at)
{
    const double **time = PL_NEW_N(p->arena, const double *, from->n);
    const double **memory = PL_NEW_N(p->arena, const double *, from->n);
    for (int v = 0; v < from->n; v++) {
        const double *const *rows = other ? other->time : from->memory;
        double *more = take_row(p, rows ? rows[v] : NULL, at + v);
        for (int x = 0; x < p->size[at + v]; x++)
            if (isinf(more[x])) more[x] = 0;
        time[v] = take_row(p, from->time ? from->time[v] : NULL, at + v);
        memory[v] = more;
    }
    return (pl_sum){ .n = from->n,
                     .n_values = p->size + at,
                     .time = time,
                     .memory = memory,
                     .n_pairs = from->n_pairs,
                     .pair = take_pairs(p, from->n_pairs, from->pair, other ? other->pair : NULL,
                                        at, at) };
}

pl_few pl_few_of(const pl_chain *c, const pl_chain *other, int n, int *const *known, pl_arena *a)
{
    int o = c->outside.n, all = o + c->block.n;
    parting p = { c, o, c->block.n, PL_NEW_N(a, int, all), PL_NEW_N(a, int *, all), a };
    for (int v = 0; v < all; v++) find_values(&p, v, n, known);
    const pl_chain *d = other;
    pl_few few = { *c, p.value };
    few.chain.outside = take_sum(&p, &c->outside, d ? &d->outside : NULL, 0);
    few.chain.block = take_sum(&p, &c->block, d ? &d->block : NULL, o);
    few.chain.link = take_pairs(&p, c->n_links, c->link, d ? d->link : NULL, o, o);
    few.chain.first = take_pairs(&p, c->n_first, c->first, d ? d->first : NULL, 0, o);
    few.chain.last = take_pairs(&p, c->n_last, c->last, d ? d->last : NULL, 0, o);
    few.chain.every = take_pairs(&p, c->n_every, c->every, d ? d->every : NULL, 0, o);
    return few;
}

int *pl_few_whole(const pl_few *p, const int *value, pl_arena *out)
{
    int o = p->chain.outside.n, b = p->chain.block.n, n = (int)pl_chain_variables(&p->chain);
    int *whole = pl_arena_get(out, (size_t)n, sizeof *whole);
    for (int v = 0; v < n; v++) whole[v] = p->value[v < o ? v : o + (v - o) % b][value[v]];
    return whole;
}
