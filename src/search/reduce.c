/* Variables taken out where they have one neighbour or two. Read pl_sum_reduce() at the end:
 * take_out() makes one a part of its neighbours, build() the sum of what is left. */
#include "search/reduce.h"

#include "search/lanes.h"
#include "search/net.h"

#include <string.h>

/* A table between two neighbours is made where it is no more than so many times what it stands for,
 * and takes no longer than so many passes through that. */
enum { MOST_TIMES = 4, MOST_PASSES = 64 };

/* [values of a][values of b] */
typedef struct table {
    int a, b;
    const double *cost;
    double *own; /* the same where it may be changed; NULL: it is the sum's */
} table;

/* What it cost with each value: own[v], with those of its neighbours. */
struct pl_taken {
    int v, a, b;                     /* b -1: none      */
    int n_v, n_b;                    /* values          */
    const double *own, *by_a, *by_b; /* [v] [a][v] [v][b] */
};

typedef struct reducing {
    const int *size;
    const bool *keep;
    double **own; /* [variables][values] */
    int n_tables, cap_tables;
    table *table;
    int **at, *n_at, *cap_at;     /* [variables] tables of each that are left */
    int n, head, n_queue, *queue; /* [n] variables to look at, in a ring */
    bool *queued, *gone;
    pl_reduced *out;
    pl_arena *arena;
} reducing;

static int other_end(const table *t, int v)
{
    return t->a == v ? t->b : t->a;
}

/* [cols][rows] */
static double *transpose(const double *from, int rows, int cols, pl_arena *arena)
{
    double *to = pl_arena_get(arena, (size_t)rows * (size_t)cols, sizeof *to);
    for (int x = 0; x < rows; x++)
        for (int y = 0; y < cols; y++)
            to[(size_t)y * (size_t)rows + (size_t)x] = from[(size_t)x * (size_t)cols + (size_t)y];
    return to;
}

/* The costs of a table with v's values as its rows. */
static const double *rows_of(const reducing *r, const table *t, int v)
{
    return t->a == v ? t->cost : transpose(t->cost, r->size[t->a], r->size[t->b], r->arena);
}

/* Adds costs[a][b] to the table of these two, which may be the other way round. */
static void add_costs(reducing *r, table *t, int a, const double *cost)
{
    const int rows = r->size[t->a], cols = r->size[t->b];
    const int64_t n = (int64_t)rows * cols;
    if (t->a != a) cost = transpose(cost, cols, rows, r->arena);
    if (!t->own) {
        t->own = pl_arena_get(r->arena, (size_t)n, sizeof *t->own);
        memcpy(t->own, t->cost, (size_t)n * sizeof *t->own);
        t->cost = t->own;
    }
    for (int64_t i = 0; i < n; i++) t->own[i] += cost[i];
}

static void list_table(reducing *r, int v, int at)
{
    if (r->n_at[v] == r->cap_at[v])
        r->at[v] = pl_arena_grow(r->arena, r->at[v], &r->cap_at[v], sizeof *r->at[v]);
    r->at[v][r->n_at[v]++] = at;
}

static void drop_table(reducing *r, int v, int at)
{
    int n = 0;
    for (int i = 0; i < r->n_at[v]; i++)
        if (r->at[v][i] != at) r->at[v][n++] = r->at[v][i];
    r->n_at[v] = n;
}

static table *find_table(const reducing *r, int a, int b)
{
    for (int i = 0; i < r->n_at[a]; i++)
        if (other_end(&r->table[r->at[a][i]], a) == b) return &r->table[r->at[a][i]];
    return NULL;
}

/* One table for two variables: several are added up. */
static void add_table(reducing *r, int a, int b, const double *cost, double *own)
{
    table *shared = find_table(r, a, b);
    if (shared) {
        add_costs(r, shared, a, cost);
        return;
    }
    if (r->n_tables == r->cap_tables)
        r->table = pl_arena_grow(r->arena, r->table, &r->cap_tables, sizeof *r->table);
    list_table(r, a, r->n_tables);
    list_table(r, b, r->n_tables);
    r->table[r->n_tables++] = (table){ a, b, cost, own };
}

static void enqueue(reducing *r, int v)
{
    if (r->queued[v]) return;
    r->queued[v] = true;
    r->queue[(r->head + r->n_queue++) % r->n] = v;
}

static int next_in_queue(reducing *r)
{
    const int v = r->queue[r->head];
    r->head = (r->head + 1) % r->n;
    r->n_queue--;
    r->queued[v] = false;
    return v;
}

/* -- taking out -------------------------------------------------------------------------------- */

/* The least over v's values, for each of a's. */
static void fold_leaf(reducing *r, const struct pl_taken *t)
{
    const int n = r->size[t->a], cols = r->size[t->v];
    double *least = PL_NEW_N(r->arena, double, n);
    pl_least_of_rows((pl_block){ n, cols, (size_t)cols, t->by_a }, t->own, least);
    for (int x = 0; x < n; x++) r->own[t->a][x] += least[x];
    r->out->work += (int64_t)n * cols;
}

/* The least over v's values, for each of a's and b's. */
static void fold_middle(reducing *r, const struct pl_taken *t)
{
    const int na = r->size[t->a], nb = r->size[t->b], nv = r->size[t->v];
    double *cost = pl_arena_get(r->arena, (size_t)na * (size_t)nb, sizeof *cost);
    double *row = PL_NEW_N(r->arena, double, nv);
    for (int x = 0; x < na; x++) {
        const double *by_a = t->by_a + (size_t)x * (size_t)nv;
        for (int z = 0; z < nv; z++) row[z] = t->own[z] + by_a[z];
        pl_least_of_columns((pl_block){ nv, nb, (size_t)nb, t->by_b }, row,
                            cost + (size_t)x * (size_t)nb);
    }
    r->out->work += (int64_t)na * nb * nv;
    add_table(r, t->a, t->b, cost, cost);
}

/* Is the table of two neighbours worth making? */
static bool is_cheap(const reducing *r, int v, int a, int b)
{
    const double made = (double)r->size[a] * r->size[b], sides = (double)r->size[a] + r->size[b];
    return (find_table(r, a, b) || made <= MOST_TIMES * r->size[v] * sides) &&
           made <= MOST_PASSES * sides;
}

static void take_out(reducing *r, int v)
{
    const int n = r->n_at[v];
    if (r->gone[v] || (r->keep && r->keep[v]) || n < 1 || n > 2) return;
    const int first = r->at[v][0], second = r->at[v][n - 1];
    const int a = other_end(&r->table[first], v), b = other_end(&r->table[second], v);
    if (n == 2 && !is_cheap(r, v, a, b)) return;
    struct pl_taken *t = &r->out->taken[r->out->n_taken++];
    *t = (struct pl_taken){ .v = v,
                            .a = a,
                            .b = -1,
                            .n_v = r->size[v],
                            .own = r->own[v],
                            .by_a = rows_of(r, &r->table[first], a) };
    r->gone[v] = true;
    drop_table(r, a, first);
    if (n == 1) {
        fold_leaf(r, t);
    } else {
        t->b = b, t->n_b = r->size[b], t->by_b = rows_of(r, &r->table[second], v);
        drop_table(r, b, second);
        fold_middle(r, t);
        enqueue(r, b);
    }
    enqueue(r, a);
}

/* -- before and after -------------------------------------------------------------------------- */

static void open_sum(reducing *r, const pl_sum *sum, pl_cost weights)
{
    for (int v = 0; v < sum->n; v++)
        r->own[v] =
            pl_net_weigh_row(sum->time ? sum->time[v] : NULL, sum->memory ? sum->memory[v] : NULL,
                             r->size[v], weights, r->arena);
    for (int p = 0; p < sum->n_edges; p++) {
        const pl_sum_edge *e = &sum->edge[p];
        const pl_net_table t =
            pl_net_weigh(e->time, e->memory, r->size[e->a], r->size[e->b], weights, r->arena);
        add_table(r, e->a, e->b, t.cost, NULL);
    }
}

static void build(const reducing *r)
{
    const int n = r->n;
    pl_reduced *out = r->out;
    int *sizes = PL_NEW_N(r->arena, int, n + 1), left = 0;
    const double **time = PL_NEW_N(r->arena, const double *, n + 1);
    pl_sum_edge *edge = PL_NEW_N(r->arena, pl_sum_edge, r->n_tables + 1);
    out->left = PL_NEW_N(r->arena, int, n + 1);
    out->place = PL_NEW_N(r->arena, int, n + 1);
    for (int v = 0; v < n; v++) {
        out->place[v] = r->gone[v] ? -1 : left;
        if (r->gone[v]) continue;
        sizes[left] = r->size[v], time[left] = r->own[v];
        out->left[left++] = v;
    }
    out->sum = (pl_sum){ .n = left, .n_values = sizes, .time = time, .edge = edge };
    for (int i = 0; i < r->n_tables; i++) {
        const table *t = &r->table[i];
        if (r->gone[t->a] || r->gone[t->b]) continue;
        edge[out->sum.n_edges++] =
            (pl_sum_edge){ out->place[t->a], out->place[t->b], t->cost, NULL };
    }
}

pl_reduced *pl_sum_reduce(const pl_sum *sum, pl_cost weights, const bool *keep, pl_arena *arena)
{
    const int n = sum->n;
    pl_reduced *out = PL_NEW(arena, pl_reduced);
    reducing r = { .n = n,
                   .size = sum->n_values,
                   .keep = keep,
                   .own = PL_NEW_N(arena, double *, n + 1),
                   .at = PL_NEW_N(arena, int *, n + 1),
                   .n_at = PL_NEW_N(arena, int, n + 1),
                   .cap_at = PL_NEW_N(arena, int, n + 1),
                   .queue = PL_NEW_N(arena, int, n + 1),
                   .queued = PL_NEW_N(arena, bool, n + 1),
                   .gone = PL_NEW_N(arena, bool, n + 1),
                   .out = out,
                   .arena = arena };
    out->n = n;
    out->taken = PL_NEW_N(arena, struct pl_taken, n + 1);
    open_sum(&r, sum, weights);
    for (int v = 0; v < n; v++) enqueue(&r, v);
    while (r.n_queue) take_out(&r, next_in_queue(&r));
    build(&r);
    return out;
}

void pl_reduced_drop(const pl_reduced *reduced, const int *value, int *left)
{
    for (int i = 0; i < reduced->sum.n; i++) left[i] = value[reduced->left[i]];
}

static int find_best(const struct pl_taken *t, const int *value)
{
    const double *by_a = t->by_a + (size_t)value[t->a] * (size_t)t->n_v;
    double least = INFINITY;
    int best = 0;
    for (int z = 0; z < t->n_v; z++) {
        double cost = t->own[z] + by_a[z];
        if (t->b >= 0) cost += t->by_b[(size_t)z * (size_t)t->n_b + (size_t)value[t->b]];
        if (cost < least) least = cost, best = z;
    }
    return best;
}

void pl_reduced_restore(const pl_reduced *reduced, const int *left, int *value)
{
    for (int i = 0; i < reduced->sum.n; i++) value[reduced->left[i]] = left[i];
    for (int i = reduced->n_taken - 1; i >= 0; i--) {
        const struct pl_taken *t = &reduced->taken[i];
        value[t->v] = find_best(t, value);
    }
}
