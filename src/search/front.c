/* Elimination with two costs. Read pl_fronts_run(): as eliminate.c, but sums of entries are sums
 * of Pareto fronts (add), and the least of them is what take() leaves of all their
 * labels: sorted, without dominated ones, thinned. */
#include "search/front.h"

#include <stdlib.h>
#include <string.h>

/* Products of two fronts larger than this are made of thinned ones; more than this many times what
 * a front may have is not sorted. */
enum { MOST_PRODUCT = 1 << 16, BINNED = 16 };

pl_fronts *pl_fronts_new(int n, const int *size, const pl_fronts *like, pl_arena *arena)
{
    pl_fronts *fronts = PL_NEW(arena, pl_fronts);
    *fronts = (pl_fronts){ .n = n,
                           .size = size,
                           .price = like->price,
                           .slack = like->slack,
                           .budget = like->budget,
                           .grain = like->grain,
                           .most = like->most,
                           .work_limit = like->work_limit,
                           .arena = arena };
    return fronts;
}

static double time_of(const pl_fronts *f, const pl_label *l)
{
    return l->cost - f->price * l->memory;
}

static void push(pl_fronts *fronts, pl_label label)
{
    if (!(label.cost <= fronts->slack) || label.memory > fronts->budget) return;
    fronts->work++;
    PL_PUSH(fronts->arena, &fronts->made, label);
}

static int compare(const void *a, const void *b)
{
    const pl_label *x = a, *y = b;
    if (x->memory != y->memory) return x->memory < y->memory ? -1 : 1;
    return (x->cost > y->cost) - (x->cost < y->cost);
}

/* The cheapest label of each of `most` equal ranges of memory, the first and the last ones. */
static int thin(pl_label *label, int n, int most)
{
    double low = label[0].memory, width = label[n - 1].memory - low;
    int kept = 1, bin = -1;
    pl_label last = label[n - 1];
    for (int i = 1; i < n - 1; i++) {
        int mine = (int)((double)(most - 2) * (label[i].memory - low) / width);
        if (mine > most - 3) mine = most - 3;
        if (mine != bin)
            label[kept++] = label[i];
        else if (label[i].cost < label[kept - 1].cost)
            label[kept - 1] = label[i];
        bin = mine;
    }
    label[kept++] = last;
    return kept;
}

/* Very many labels are not worth sorting: the cheapest one of each of `bins` ranges of memory, in
 * the order of memory. */
static int bin(pl_fronts *fronts, int bins)
{
    const pl_label *l = fronts->made.at;
    int n = fronts->made.n, kept = 0, *best = PL_NEW_N(fronts->arena, int, bins);
    double low = INFINITY, high = -INFINITY;
    for (int i = 0; i < n; i++) {
        low = fmin(low, l[i].memory);
        high = fmax(high, l[i].memory);
    }
    double scale = high > low ? (bins - 1) / (high - low) : 0;
    for (int i = 0; i < n; i++) {
        int *mine = &best[(int)((l[i].memory - low) * scale)]; /* 1 + the label, 0: none */
        if (!*mine || l[i].cost < l[*mine - 1].cost) *mine = i + 1;
    }
    pl_label *few = PL_NEW_N(fronts->arena, pl_label, bins);
    for (int i = 0; i < bins; i++)
        if (best[i]) few[kept++] = l[best[i] - 1];
    memcpy(fronts->made.at, few, (size_t)kept * sizeof *few);
    fronts->thinned = true;
    return kept;
}

static pl_front take(pl_fronts *fronts)
{
    pl_label *l = fronts->made.at;
    int n = fronts->made.n, kept = 0;
    if (n / BINNED > fronts->most) n = bin(fronts, 4 * fronts->most);
    if (n > 1) qsort(l, (size_t)n, sizeof *l, compare);
    for (int i = 0; i < n; i++)
        if (!kept || time_of(fronts, &l[i]) < time_of(fronts, &l[kept - 1]) - fronts->grain)
            l[kept++] = l[i];
    if (kept > fronts->most) {
        kept = thin(l, kept, fronts->most);
        fronts->thinned = true;
    }
    pl_label *at = PL_NEW_N(fronts->arena, pl_label, kept);
    if (kept) memcpy(at, l, (size_t)kept * sizeof *at);
    fronts->made.n = 0;
    return (pl_front){ kept, at };
}

static pl_front thin_front(pl_fronts *fronts, pl_front front, int most)
{
    if (front.n <= most || most < 3) return front;
    pl_label *at = PL_NEW_N(fronts->arena, pl_label, front.n);
    memcpy(at, front.at, (size_t)front.n * sizeof *at);
    fronts->thinned = true;
    return (pl_front){ thin(at, front.n, most), at };
}

/* A label without decisions need not be remembered. */
static const pl_label *part(const pl_label *l)
{
    return l->a || l->b || l->var >= 0 ? l : NULL;
}

static pl_front add(pl_fronts *fronts, pl_front front, pl_front y)
{
    if ((int64_t)front.n * y.n > MOST_PRODUCT) {
        front = thin_front(fronts, front, 256);
        y = thin_front(fronts, y, 256);
    }
    for (int i = 0; i < front.n; i++)
        for (int k = 0; k < y.n; k++) {
            const pl_label *p = &front.at[i], *q = &y.at[k];
            push(fronts,
                 (pl_label){ p->cost + q->cost, p->memory + q->memory, part(p), part(q), -1, 0 });
        }
    return take(fronts);
}

static int64_t entries_of(const pl_fronts *f, int n, const int *var)
{
    int64_t count = 1;
    for (int d = 0; d < n; d++) count *= f->size[var[d]];
    return count;
}

static void add_table(pl_fronts *fronts, int n, const int *var, const pl_front *cell)
{
    if (fronts->n_tables == fronts->cap_tables)
        fronts->table =
            pl_arena_grow(fronts->arena, fronts->table, &fronts->cap_tables, sizeof *fronts->table);
    fronts->table[fronts->n_tables++] = (pl_front_table){ n, var, cell };
}

/* A table of single labels; the least memory goes to the constant. */
static void add_single(pl_fronts *fronts, int n, const int *var, const double *cost, double *memory)
{
    int64_t count = entries_of(fronts, n, var);
    double least = INFINITY;
    for (int64_t i = 0; i < count; i++)
        if (pl_net_is_legal(cost[i])) least = fmin(least, memory[i]);
    if (!pl_net_is_legal(least)) least = 0;
    fronts->memory += least;
    fronts->budget -= least;
    pl_label *label = pl_arena_get(fronts->arena, (size_t)count, sizeof *label);
    pl_front *cell = pl_arena_get(fronts->arena, (size_t)count, sizeof *cell);
    for (int64_t i = 0; i < count; i++) {
        label[i] = (pl_label){ cost[i], memory[i] - least, NULL, NULL, -1, 0 };
        cell[i] = (pl_front){ pl_net_is_legal(cost[i]), &label[i] };
    }
    add_table(fronts, n, var, cell);
}

void pl_fronts_net(pl_fronts *fronts, const pl_net *net)
{
    fronts->cost += net->bound;
    for (int v = 0; v < net->n; v++) {
        if (net->size[v] == 1 && net->first[v] == net->first[v + 1]) { /* nothing to decide */
            double memory = net->memory[v] ? net->memory[v][0] : 0;
            fronts->cost += net->unary[v][0];
            fronts->slack -= net->unary[v][0];
            fronts->memory += memory;
            fronts->budget -= memory;
            continue;
        }
        double *cost = PL_NEW_N(fronts->arena, double, net->size[v]);
        double *memory = PL_NEW_N(fronts->arena, double, net->size[v]);
        for (int x = 0; x < net->size[v]; x++) {
            cost[x] = net->unary[v][x];
            if (net->memory[v]) memory[x] = net->memory[v][x];
            for (int i = net->first[v]; i < net->first[v + 1]; i++) {
                const pl_net_edge *e = &net->edge[net->incident[i]];
                cost[x] += e->a == v ? e->to_a[x] : e->to_b[x];
            }
        }
        int *scope = PL_NEW(fronts->arena, int);
        *scope = v;
        add_single(fronts, 1, scope, cost, memory);
    }
    for (int p = 0; p < net->n_edges; p++) {
        const pl_net_edge *e = &net->edge[p];
        pl_net_table t = e->table;
        double *cost = PL_NEW_N(fronts->arena, double, t.rows *t.cols);
        double *memory = PL_NEW_N(fronts->arena, double, t.rows *t.cols);
        for (int x = 0; x < t.rows; x++)
            for (int y = 0; y < t.cols; y++) {
                size_t from = (size_t)x * (size_t)t.cols + (size_t)y;
                cost[x * t.cols + y] = t.cost[from] - e->to_a[x] - e->to_b[y];
                if (t.memory) memory[x * t.cols + y] = t.memory[from];
            }
        int *scope = PL_NEW_N(fronts->arena, int, 2);
        scope[0] = e->a;
        scope[1] = e->b;
        add_single(fronts, 2, scope, cost, memory);
    }
}

static pl_front entry(const pl_fronts *f, const pl_front_table *t, const int *index)
{
    size_t at = 0;
    for (int d = 0; d < t->n; d++) at = at * (size_t)f->size[t->var[d]] + (size_t)index[t->var[d]];
    return t->cell[at];
}

static pl_front sum_at(pl_fronts *fronts, int n, const pl_front_table *table, const int *index)
{
    static const pl_label zero = { 0, 0, NULL, NULL, -1, 0 };
    pl_front sum = { 1, &zero };
    for (int i = 0; i < n && sum.n; i++) {
        pl_front next = entry(fronts, &table[i], index);
        sum = i ? add(fronts, sum, next) : next;
    }
    return sum;
}

/* The front of the sum over the tables, v (or -1) decided. */
static pl_front least_at(pl_fronts *fronts, int n, const pl_front_table *table, int v, int *index)
{
    if (v < 0) return sum_at(fronts, n, table, index);
    pl_front *each = PL_NEW_N(fronts->arena, pl_front, fronts->size[v]);
    for (int x = 0; x < fronts->size[v]; x++) {
        index[v] = x;
        each[x] = sum_at(fronts, n, table, index);
    }
    for (int x = 0; x < fronts->size[v]; x++)
        for (int i = 0; i < each[x].n; i++) {
            const pl_label *l = &each[x].at[i];
            push(fronts, (pl_label){ l->cost, l->memory, part(l), NULL, v, x });
        }
    return take(fronts);
}

static pl_front *project(pl_fronts *fronts, int n, const pl_front_table *table, int n_scope,
                         const int *scope, int v)
{
    int64_t count = entries_of(fronts, n_scope, scope);
    pl_front *out = pl_arena_get(fronts->arena, (size_t)count, sizeof *out);
    if (!fronts->index) fronts->index = PL_NEW_N(fronts->arena, int, fronts->n);
    int *index = fronts->index;
    for (int d = 0; d < n_scope; d++) index[scope[d]] = 0;
    for (int64_t i = 0; i < count && !fronts->stopped; i++) {
        out[i] = least_at(fronts, n, table, v, index);
        fronts->stopped |= fronts->work > fronts->work_limit;
        for (int d = n_scope - 1; d >= 0; d--) {
            if (++index[scope[d]] < fronts->size[scope[d]]) break;
            index[scope[d]] = 0;
        }
    }
    return out;
}

pl_order pl_fronts_order(const pl_fronts *fronts, const bool *keep)
{
    pl_sum_table *scope = PL_NEW_N(fronts->arena, pl_sum_table, fronts->n_tables);
    for (int t = 0; t < fronts->n_tables; t++)
        scope[t] = (pl_sum_table){ fronts->table[t].n, fronts->table[t].var, NULL };
    return pl_order_find(fronts->n, fronts->size, fronts->n_tables, scope, keep, INFINITY,
                         fronts->arena);
}

/* Tables by the first of their variables to be eliminated; [order.n]: by none. */
typedef struct buckets {
    int *rank;         /* [variables] when; order.n: never                                       */
    int *first, *next; /* 1 + a table; 0: none. The last one added comes first                   */
    int n;
} buckets;

static void put(buckets *b, const pl_fronts *fronts, int t)
{
    int at = b->n;
    for (int d = 0; d < fronts->table[t].n; d++)
        if (b->rank[fronts->table[t].var[d]] < at) at = b->rank[fronts->table[t].var[d]];
    b->next[t] = b->first[at];
    b->first[at] = t + 1;
}

static buckets sort_tables(const pl_fronts *fronts, pl_order order)
{
    buckets b = { .rank = PL_NEW_N(fronts->arena, int, fronts->n),
                  .first = PL_NEW_N(fronts->arena, int, order.n + 1),
                  .next = PL_NEW_N(fronts->arena, int, fronts->n_tables + order.n),
                  .n = order.n };
    for (int v = 0; v < fronts->n; v++) b.rank[v] = order.n;
    for (int i = 0; i < order.n; i++) b.rank[order.var[i]] = i;
    for (int t = fronts->n_tables - 1; t >= 0; t--) put(&b, fronts, t);
    return b;
}

/* The other variables of the tables of v. */
static int find_scope(int n, const pl_front_table *table, int v, bool *seen, int *scope)
{
    int n_scope = 0;
    for (int t = 0; t < n; t++)
        for (int d = 0; d < table[t].n; d++) {
            int u = table[t].var[d];
            if (u != v && !seen[u]) scope[n_scope++] = u;
            seen[u] = true;
        }
    for (int t = 0; t < n; t++)
        for (int d = 0; d < table[t].n; d++) seen[table[t].var[d]] = false;
    return n_scope;
}

void pl_fronts_run(pl_fronts *fronts, pl_order order)
{
    pl_front_table *mine = PL_NEW_N(fronts->arena, pl_front_table, fronts->n_tables + order.n);
    bool *seen = PL_NEW_N(fronts->arena, bool, fronts->n);
    buckets b = sort_tables(fronts, order);
    for (int i = 0; i < order.n && !fronts->stopped; i++) {
        int n = 0, most = 0;
        for (int t = b.first[i]; t; t = b.next[t - 1]) {
            mine[n++] = fronts->table[t - 1];
            most += fronts->table[t - 1].n - 1;
        }
        if (!n) continue;
        int *scope = PL_NEW_N(fronts->arena, int, most);
        int n_scope = find_scope(n, mine, order.var[i], seen, scope);
        add_table(fronts, n_scope, scope, project(fronts, n, mine, n_scope, scope, order.var[i]));
        put(&b, fronts, fronts->n_tables - 1);
    }
    int left = 0;
    for (int t = b.first[order.n]; t; t = b.next[t - 1]) mine[left++] = fronts->table[t - 1];
    if (left) memcpy(fronts->table, mine, (size_t)left * sizeof *mine);
    fronts->n_tables = left;
}

const pl_front *pl_fronts_rest(pl_fronts *fronts, int n, const int *var)
{
    return project(fronts, fronts->n_tables, fronts->table, n, var, -1);
}

void pl_label_trace(const pl_label *label, int *index)
{
    if (!label) return;
    if (label->var >= 0) index[label->var] = label->value;
    pl_label_trace(label->a, index);
    pl_label_trace(label->b, index);
}
