#include "search/chain.h"

#include <math.h>
#include <string.h>

static bool check_pairs(const char *what, int n, const pl_sum_pair *pair, const pl_sum *a,
                        const pl_sum *b, pl_err *err)
{
    for (int p = 0; p < n; p++) {
        if (pair[p].a < 0 || pair[p].a >= a->n || pair[p].b < 0 || pair[p].b >= b->n)
            return pl_err_set(err, PL_EINPUT,
                              "%s: pair %d joins variables %d and %d; they go up to %d and %d",
                              what, p, pair[p].a, pair[p].b, a->n - 1, b->n - 1);
        PL_TRY(pl_sum_check_pair(&pair[p], a->n_values[pair[p].a], b->n_values[pair[p].b], what, p,
                                 err));
    }
    return true;
}

bool pl_chain_check(const pl_chain *c, pl_err *err)
{
    if (c->copies < 1)
        return pl_err_set(err, PL_EINPUT, "a chain of %d copies; it needs one or more", c->copies);
    if (c->outside.n + (int64_t)c->copies * c->block.n > INT32_MAX / 2)
        return pl_err_set(err, PL_EINPUT, "a chain of %d copies of %d variables is too long",
                          c->copies, c->block.n);
    PL_TRY(pl_sum_check(&c->outside, "outside", err));
    PL_TRY(pl_sum_check(&c->block, "block", err));
    PL_TRY(check_pairs("links", c->n_links, c->link, &c->block, &c->block, err));
    PL_TRY(check_pairs("first", c->n_first, c->first, &c->outside, &c->block, err));
    PL_TRY(check_pairs("last", c->n_last, c->last, &c->outside, &c->block, err));
    return check_pairs("every", c->n_every, c->every, &c->outside, &c->block, err);
}

int64_t pl_chain_variables(const pl_chain *c)
{
    return c->outside.n + (int64_t)c->copies * c->block.n;
}

pl_cost pl_chain_cost(const pl_chain *c, const int *value)
{
    const int *block = value + c->outside.n, *last = block + (c->copies - 1) * c->block.n;
    pl_cost sum = pl_sum_cost(&c->outside, value);
    pl_sum_add_pairs(&sum, c->n_first, c->first, c->block.n_values, value, block);
    pl_sum_add_pairs(&sum, c->n_last, c->last, c->block.n_values, value, last);
    for (int i = 0; i < c->copies; i++, block += c->block.n) {
        pl_cost own = pl_sum_cost(&c->block, block);
        sum.time += own.time;
        sum.memory += own.memory;
        pl_sum_add_pairs(&sum, c->n_every, c->every, c->block.n_values, value, block);
        if (i + 1 < c->copies)
            pl_sum_add_pairs(&sum, c->n_links, c->link, c->block.n_values, block,
                             block + c->block.n);
    }
    return sum;
}

/* The pairs of a list, their variables moved to where the two sides start in the long sum. */
static pl_sum_pair *place_pairs(pl_sum_pair *to, int n, const pl_sum_pair *pair, int a, int b)
{
    for (int p = 0; p < n; p++)
        *to++ = (pl_sum_pair){ a + pair[p].a, b + pair[p].b, pair[p].time, pair[p].memory };
    return to;
}

pl_sum pl_chain_unroll(const pl_chain *c, pl_arena *a)
{
    const pl_sum *o = &c->outside, *b = &c->block;
    int n = (int)pl_chain_variables(c), last = o->n + (c->copies - 1) * b->n;
    int n_pairs = o->n_pairs + c->copies * (b->n_pairs + c->n_every) +
                  (c->copies - 1) * c->n_links + c->n_first + c->n_last;
    int *n_values = PL_NEW_N(a, int, n);
    const double **time = PL_NEW_N(a, const double *, n);
    const double **memory = PL_NEW_N(a, const double *, n);
    for (int i = 0; i < n; i++) {
        const pl_sum *part = i < o->n ? o : b;
        int v = i < o->n ? i : (i - o->n) % b->n;
        n_values[i] = part->n_values[v];
        time[i] = part->time ? part->time[v] : NULL;
        memory[i] = part->memory ? part->memory[v] : NULL;
    }
    pl_sum_pair *pair = PL_NEW_N(a, pl_sum_pair, n_pairs), *to = pair;
    to = place_pairs(to, o->n_pairs, o->pair, 0, 0);
    to = place_pairs(to, c->n_first, c->first, 0, o->n);
    for (int i = 0, at = o->n; i < c->copies; i++, at += b->n) {
        to = place_pairs(to, b->n_pairs, b->pair, at, at);
        to = place_pairs(to, c->n_every, c->every, 0, at);
        if (i + 1 < c->copies) to = place_pairs(to, c->n_links, c->link, at, at + b->n);
    }
    place_pairs(to, c->n_last, c->last, 0, last);
    return (pl_sum){ n, n_values, time, memory, n_pairs, pair };
}

static double *scale(const double *table, int64_t n, double by, pl_arena *a)
{
    if (!table) return NULL;
    double *out = pl_arena_get(a, (size_t)n, sizeof *out);
    for (int64_t i = 0; i < n; i++) out[i] = table[i] * by;
    return out;
}

/* A link of a variable to itself costs, when both ends are tied, its diagonal. */
static double *add_diagonals(const pl_chain *c, int v, const double *row, bool memory, pl_arena *a)
{
    int n = c->block.n_values[v];
    double *out = PL_NEW_N(a, double, n);
    for (int x = 0; x < n; x++) out[x] = row ? row[x] * c->copies : 0;
    for (int p = 0; p < c->n_links; p++) {
        const double *table = memory ? c->link[p].memory : c->link[p].time;
        if (c->link[p].a != v || c->link[p].b != v || !table || c->copies == 1) continue;
        for (int x = 0; x < n; x++) out[x] += table[x * n + x] * (c->copies - 1);
    }
    return out;
}

static pl_sum_pair *tie_pairs(pl_sum_pair *to, int n, const pl_sum_pair *pair, int a, int b,
                              const int *n_values, double by, pl_arena *arena)
{
    for (int p = 0; p < n; p++) {
        int va = a + pair[p].a, vb = b + pair[p].b;
        int64_t count = (int64_t)n_values[va] * n_values[vb];
        if (va == vb || by <= 0) continue;
        *to++ = (pl_sum_pair){ va, vb, scale(pair[p].time, count, by, arena),
                               scale(pair[p].memory, count, by, arena) };
    }
    return to;
}

pl_sum pl_chain_tie(const pl_chain *c, pl_arena *a)
{
    const pl_sum *o = &c->outside, *b = &c->block;
    int n = o->n + b->n,
        most = o->n_pairs + b->n_pairs + c->n_links + c->n_first + c->n_last + c->n_every;
    int *n_values = PL_NEW_N(a, int, n);
    const double **time = PL_NEW_N(a, const double *, n);
    const double **memory = PL_NEW_N(a, const double *, n);
    for (int v = 0; v < o->n; v++) {
        n_values[v] = o->n_values[v];
        time[v] = o->time ? o->time[v] : NULL;
        memory[v] = o->memory ? o->memory[v] : NULL;
    }
    for (int v = 0; v < b->n; v++) {
        n_values[o->n + v] = b->n_values[v];
        time[o->n + v] = add_diagonals(c, v, b->time ? b->time[v] : NULL, false, a);
        memory[o->n + v] = add_diagonals(c, v, b->memory ? b->memory[v] : NULL, true, a);
    }
    pl_sum_pair *pair = PL_NEW_N(a, pl_sum_pair, most), *to = pair;
    to = tie_pairs(to, o->n_pairs, o->pair, 0, 0, n_values, 1, a);
    to = tie_pairs(to, c->n_first, c->first, 0, o->n, n_values, 1, a);
    to = tie_pairs(to, c->n_last, c->last, 0, o->n, n_values, 1, a);
    to = tie_pairs(to, c->n_every, c->every, 0, o->n, n_values, c->copies, a);
    to = tie_pairs(to, b->n_pairs, b->pair, o->n, o->n, n_values, c->copies, a);
    to = tie_pairs(to, c->n_links, c->link, o->n, o->n, n_values, c->copies - 1, a);
    return (pl_sum){ n, n_values, time, memory, (int)(to - pair), pair };
}

int *pl_chain_untie(const pl_chain *c, const int *tied, pl_arena *a)
{
    int n = c->outside.n, b = c->block.n;
    int *value = pl_arena_get(a, (size_t)pl_chain_variables(c), sizeof *value);
    for (int64_t v = 0; v < pl_chain_variables(c); v++)
        value[v] = tied[v < n ? v : n + (v - n) % b];
    return value;
}
