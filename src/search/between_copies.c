#include "search/between.h"
#include "search/net.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* -- kinds ------------------------------------------------------------------------------------- */

/* Choices whose copies are the kinds: of the chain, or of one with SPLICED copies. */
enum { SPLICED = 4, ROUNDS = 20, BASE = 4, MOST_KNOWN = 2 + 2 * BASE * BASE };
static const double LEAST_PART = 0.125; /* of the variables of a block */

typedef struct known {
    int copies;
    const int *value;
} known;

typedef struct basis {
    const pl_chain *priced;
    int n, n_base;
    known at[MOST_KNOWN];
    const int *base[BASE]; /* copies */
    pl_arena *tmp;
} basis;

/* The copy that stands most often in a choice. */
static const int *find_usual(const pl_chain *c, const int *value, pl_arena *a)
{
    int o = c->outside.n, b = c->block.n, best = 0;
    int *count = PL_NEW_N(a, int, c->copies);
    for (int i = 0; i < c->copies; i++) {
        int j = 0;
        while (memcmp(value + o + i * b, value + o + j * b, (size_t)b * sizeof *value)) j++;
        if (++count[j] > count[best]) best = j;
    }
    return value + o + best * b;
}

/* Variables of the block that hang together: part[v] is the least of them. */
static int *find_parts(const pl_sum *s, pl_arena *a)
{
    int *part = PL_NEW_N(a, int, s->n);
    for (int v = 0; v < s->n; v++) part[v] = v;
    for (bool changed = true; changed;) {
        changed = false;
        for (int p = 0; p < s->n_pairs; p++) {
            int *x = &part[s->pair[p].a], *y = &part[s->pair[p].b];
            changed |= *x != *y;
            *x = *y = *x < *y ? *x : *y;
        }
    }
    return part;
}

/* A copy of two stacks, as of an encoder and a decoder, may be like the one choice in its first
 * part and like the other in the rest. */
static void cross(basis *k)
{
    const pl_sum *s = &k->priced->block;
    int *part = find_parts(s, k->tmp), first = 0;
    for (int v = 0; v < s->n; v++) first += part[v] == 0;
    if (first < LEAST_PART * s->n || s->n - first < LEAST_PART * s->n) return;
    for (int i = 0; i < 2; i++) {
        int *copy = PL_NEW_N(k->tmp, int, s->n);
        for (int v = 0; v < s->n; v++) copy[v] = k->base[part[v] == 0 ? i : !i][v];
        k->base[k->n_base++] = copy;
    }
}

/* A short chain of copies like `from`, then like `to`, changed variable by variable while that
 * lowers its priced cost: copies fit to each other where they meet, and to what is outside. */
static void splice(basis *k, pl_net *net, const int *from, const int *to, const int *outside)
{
    int o = k->priced->outside.n, b = k->priced->block.n;
    int *value = PL_NEW_N(k->tmp, int, net->n), *index = PL_NEW_N(k->tmp, int, net->n);
    memcpy(value, outside, (size_t)o * sizeof *value);
    for (int i = 0; i < SPLICED; i++)
        memcpy(value + o + i * b, i < SPLICED / 2 ? from : to, (size_t)b * sizeof *value);
    if (!pl_net_places(net, value, index)) return; /* one of them is illegal */
    pl_net_descend(net, index, ROUNDS);
    for (int v = 0; v < net->n; v++) value[v] = net->value[v][index[v]];
    k->at[k->n++] = (known){ SPLICED, value };
}

/* The known choice that is cheapest at the price, of those that have more of the one time than of
 * the other (or the other way round). */
static const int *find_side(const pl_between *p, bool more)
{
    const int *best = NULL;
    double least = INFINITY;
    for (int i = 0; i < p->n_known; i++) {
        double one = pl_chain_cost(p->one, p->known[i]).time;
        double other = pl_chain_cost(p->other, p->known[i]).time;
        double cost = p->price * one + (1 - p->price) * other;
        if ((one > other) == more && cost < least) best = p->known[i], least = cost;
    }
    return best;
}

static void find_known(basis *k, const int *const side[2])
{
    pl_chain part = *k->priced;
    for (int i = 0; i < 2; i++) {
        k->at[k->n++] = (known){ part.copies, side[i] };
        k->base[k->n_base++] = find_usual(k->priced, side[i], k->tmp);
    }
    cross(k);
    part.copies = SPLICED;
    pl_sum s = pl_chain_unroll(&part, k->tmp);
    pl_net *net = pl_net_of(&s, (pl_cost){ 1, 0 }, k->tmp);
    for (int i = 0; net && i < k->n_base; i++)
        for (int j = 0; j < k->n_base; j++)
            for (int out = 0; out < 2; out++) splice(k, net, k->base[i], k->base[j], side[out]);
}

/* -- the chain of kinds ------------------------------------------------------------------------ */

/* Two costs of each row, or of each pair of rows. */
typedef struct costs {
    double one, other;
} costs;

typedef struct kinds {
    const pl_chain *chain[2];
    int n, n_ways;
    const int **copy, **way; /* [n], [n_ways] values                                             */
    costs *own, *link;       /* [n], [n][n]                                                      */
    costs *out;              /* [n_ways]                                                         */
    costs *first, *last, *every; /* [n_ways][n]                                                  */
} kinds;

static costs add(costs a, costs b)
{
    return (costs){ a.one + b.one, a.other + b.other };
}

static void add_row(const int **rows, int *n_rows, const int *row, int n)
{
    for (int i = 0; i < *n_rows; i++)
        if (!memcmp(rows[i], row, (size_t)n * sizeof *row)) return;
    rows[(*n_rows)++] = row;
}

typedef enum list { LINK, FIRST, LAST, EVERY } list;

static double read_list(const pl_chain *c, list l, const int *a, const int *b)
{
    const int n[] = { c->n_links, c->n_first, c->n_last, c->n_every };
    const pl_sum_pair *const pair[] = { c->link, c->first, c->last, c->every };
    pl_cost sum = { 0, 0 };
    pl_sum_add_pairs(&sum, n[l], pair[l], c->block.n_values, a, b);
    return sum.time;
}

static costs *read_rows(const kinds *k, bool outside, pl_arena *a)
{
    const pl_chain *one = k->chain[0], *other = k->chain[1];
    int n = outside ? k->n_ways : k->n;
    const int **rows = outside ? k->way : k->copy;
    costs *to = PL_NEW_N(a, costs, n);
    for (int i = 0; i < n; i++) {
        to[i].one = pl_sum_cost(outside ? &one->outside : &one->block, rows[i]).time;
        to[i].other = pl_sum_cost(outside ? &other->outside : &other->block, rows[i]).time;
    }
    return to;
}

static costs *read_lists(const kinds *k, list l, pl_arena *a)
{
    int rows = l == LINK ? k->n : k->n_ways;
    costs *to = pl_arena_get(a, (size_t)rows * (size_t)k->n, sizeof *to);
    for (int i = 0; i < rows; i++)
        for (int j = 0; j < k->n; j++) {
            const int *from = l == LINK ? k->copy[i] : k->way[i];
            to[i * k->n + j] = (costs){ read_list(k->chain[0], l, from, k->copy[j]),
                                        read_list(k->chain[1], l, from, k->copy[j]) };
        }
    return to;
}

static kinds read_kinds(const pl_chain *one, const pl_chain *other, const basis *from, pl_arena *a)
{
    int most = 0, o = one->outside.n, b = one->block.n;
    for (int i = 0; i < from->n; i++) most += from->at[i].copies;
    kinds k = { .chain = { one, other },
                .copy = PL_NEW_N(a, const int *, most),
                .way = PL_NEW_N(a, const int *, from->n) };
    for (int i = 0; i < from->n; i++) {
        add_row(k.way, &k.n_ways, from->at[i].value, o);
        for (int j = 0; j < from->at[i].copies; j++)
            add_row(k.copy, &k.n, from->at[i].value + o + j * b, b);
    }
    k.own = read_rows(&k, false, a);
    k.out = read_rows(&k, true, a);
    k.link = read_lists(&k, LINK, a);
    k.first = read_lists(&k, FIRST, a);
    k.last = read_lists(&k, LAST, a);
    k.every = read_lists(&k, EVERY, a);
    return k;
}

/* -- paths ------------------------------------------------------------------------------------- */

/* Labels of one kind and copy that are kept. */
enum { MOST_LABELS = 96 };

typedef struct label {
    costs sum;
    int kind;
    const struct label *before;
} label;

typedef struct labels {
    int n;
    label *at;
} labels;

typedef struct paths {
    const kinds *k;
    double price, most;
    int way;
    costs *copy;  /* [kinds] of a copy, with what it costs outside                         */
    double *rest; /* [copies][kinds] the least priced cost behind this copy                */
    const label *best;
    int best_way;
    int64_t work;
    pl_arena *tmp;
} paths;

static double weigh(const paths *x, costs c)
{
    return x->price * c.one + (1 - x->price) * c.other;
}

static int compare(const void *a, const void *b)
{
    const costs *x = &((const label *)a)->sum, *y = &((const label *)b)->sum;
    if (x->one != y->one) return x->one < y->one ? -1 : 1;
    return (x->other > y->other) - (x->other < y->other);
}

/* Of n labels, those that none beats in both costs; of more than are kept, the lowest in each of as
 * many equal parts of the range. */
static int thin(const paths *x, label *at, int n)
{
    int n_best = 0, kept = 0, last = -1;
    if (n) qsort(at, (size_t)n, sizeof *at, compare);
    for (int i = 0; i < n; i++)
        if (!n_best || at[i].sum.other < at[n_best - 1].sum.other) at[n_best++] = at[i];
    if (n_best <= MOST_LABELS) return n_best;
    double low = at[0].sum.one, part = (at[n_best - 1].sum.one - low) / MOST_LABELS;
    for (int i = 0; i < n_best; i++) {
        int here = (int)((at[i].sum.one - low) / part);
        if (here != last)
            at[kept++] = at[i];
        else if (weigh(x, at[i].sum) < weigh(x, at[kept - 1].sum))
            at[kept - 1] = at[i];
        last = here;
    }
    return kept;
}

static labels extend(paths *x, int copy, int kind, const labels *from)
{
    const kinds *k = x->k;
    int n = 0, most = 0;
    for (int i = 0; i < k->n; i++) most += from[i].n;
    labels to = { 0, pl_arena_get(x->tmp, (size_t)most, sizeof(label)) };
    for (int i = 0; i < k->n; i++) {
        costs step = add(k->link[i * k->n + kind], x->copy[kind]);
        if (isinf(step.one)) continue;
        for (int j = 0; j < from[i].n; j++) {
            costs sum = add(from[i].at[j].sum, step);
            if (weigh(x, sum) + x->rest[copy * k->n + kind] >= x->most) continue;
            to.at[n++] = (label){ sum, kind, &from[i].at[j] };
        }
    }
    x->work += most;
    to.n = thin(x, to.at, n);
    return to;
}

static void find_rest(paths *x)
{
    const kinds *k = x->k;
    int last = k->chain[0]->copies - 1;
    for (int i = 0; i < k->n; i++) x->rest[last * k->n + i] = weigh(x, k->last[x->way * k->n + i]);
    for (int c = last; c-- > 0;)
        for (int i = 0; i < k->n; i++) {
            double least = INFINITY;
            for (int j = 0; j < k->n; j++)
                least = fmin(least, weigh(x, add(k->link[i * k->n + j], x->copy[j])) +
                                        x->rest[(c + 1) * k->n + j]);
            x->rest[c * k->n + i] = least;
        }
}

static void search_way(paths *x)
{
    const kinds *k = x->k;
    int copies = k->chain[0]->copies;
    for (int i = 0; i < k->n; i++) x->copy[i] = add(k->own[i], k->every[x->way * k->n + i]);
    find_rest(x);
    labels *now = PL_NEW_N(x->tmp, labels, k->n);
    for (int i = 0; i < k->n; i++) {
        costs sum = add(add(k->out[x->way], k->first[x->way * k->n + i]), x->copy[i]);
        now[i].at = PL_NEW(x->tmp, label);
        *now[i].at = (label){ sum, i, NULL };
        now[i].n = !isinf(sum.one) && weigh(x, sum) + x->rest[i] < x->most;
    }
    for (int c = 1; c < copies; c++) {
        labels *next = PL_NEW_N(x->tmp, labels, k->n);
        for (int i = 0; i < k->n; i++) next[i] = extend(x, c, i, now);
        now = next;
    }
    for (int i = 0; i < k->n; i++)
        for (int j = 0; j < now[i].n; j++) {
            costs sum = add(now[i].at[j].sum, k->last[x->way * k->n + i]);
            if (isinf(sum.one) || fmax(sum.one, sum.other) >= x->most) continue;
            x->most = fmax(sum.one, sum.other);
            x->best = &now[i].at[j];
            x->best_way = x->way;
        }
}

static int *write_best(const paths *x, pl_arena *out)
{
    const kinds *k = x->k;
    const pl_chain *c = k->chain[0];
    if (!x->best) return NULL;
    int o = c->outside.n, b = c->block.n;
    int *value = pl_arena_get(out, (size_t)pl_chain_variables(c), sizeof *value);
    memcpy(value, k->way[x->best_way], (size_t)o * sizeof *value);
    int *to = value + o + c->copies * b;
    for (const label *l = x->best; l; l = l->before)
        memcpy(to -= b, k->copy[l->kind], (size_t)b * sizeof *to);
    return value;
}

int *pl_between_copies(const pl_between *p, double most, int64_t *work, pl_arena *out)
{
    const int *side[2] = { find_side(p, true), find_side(p, false) };
    if (!side[0] || !side[1]) return NULL;
    pl_arena *tmp = pl_arena_new("kinds of copies");
    basis from = { .priced = p->priced, .tmp = tmp };
    find_known(&from, side);
    kinds k = read_kinds(p->one, p->other, &from, tmp);
    paths x = { .k = &k, .price = p->price, .most = most, .tmp = tmp };
    x.copy = PL_NEW_N(tmp, costs, k.n);
    x.rest = pl_arena_get(tmp, (size_t)p->one->copies * (size_t)k.n, sizeof *x.rest);
    for (; x.way < k.n_ways; x.way++) search_way(&x);
    *work += x.work;
    int *value = write_best(&x, out);
    pl_arena_free(tmp);
    return value;
}
