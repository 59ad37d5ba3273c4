#include "search/eliminate.h"

#include <math.h>
#include <string.h>

/* The tables of one variable, as they were when it was eliminated. */
typedef struct pl_bucket {
    int var, n;
    pl_sum_table *table;
} pl_bucket;

pl_eliminate *pl_eliminate_new(int n, const int *size, pl_arena *a)
{
    pl_eliminate *e = PL_NEW(a, pl_eliminate);
    *e = (pl_eliminate){ .n = n, .size = size, .last_use = PL_NEW_N(a, int, n), .arena = a };
    return e;
}

void pl_eliminate_add(pl_eliminate *e, int n, const int *var, const double *cost)
{
    if (!n) {
        e->constant += cost[0];
        return;
    }
    if (e->n_tables == e->cap_tables)
        e->table = pl_arena_grow(e->arena, e->table, &e->cap_tables, sizeof *e->table);
    for (int d = 0; d < n; d++) {
        if (e->n_uses == e->cap_uses)
            e->use = pl_arena_grow(e->arena, e->use, &e->cap_uses, sizeof *e->use);
        e->use[e->n_uses] = (pl_use){ e->n_tables, e->last_use[var[d]] };
        e->last_use[var[d]] = ++e->n_uses;
    }
    e->table[e->n_tables++] = (pl_sum_table){ n, var, cost };
}

static bool has(const pl_sum_table *t, int v)
{
    for (int i = 0; i < t->n; i++)
        if (t->var[i] == v) return true;
    return false;
}

/* How far apart entries lie whose value of v differs by one; 0 when v is not in the table. */
static size_t stride_of(const pl_eliminate *e, const pl_sum_table *t, int v)
{
    size_t stride = 1;
    for (int i = t->n - 1; i >= 0; i--) {
        if (t->var[i] == v) return stride;
        stride *= (size_t)e->size[t->var[i]];
    }
    return 0;
}

/* The tables of a sum, seen from the entries of one scope. */
typedef struct view {
    int n;
    const double **at; /* [n] the entry of each table                                           */
    size_t *step;      /* [n] along the innermost variable of the scope                         */
    size_t *step_var;  /* [n] along the variable that is minimised                              */
    size_t **stride;   /* [n][scope] along the others                                           */
} view;

static view view_new(const pl_eliminate *e, int n, const pl_sum_table *table, int n_scope,
                     const int *scope, int v, pl_arena *a)
{
    view w = { n, PL_NEW_N(a, const double *, n), PL_NEW_N(a, size_t, n), PL_NEW_N(a, size_t, n),
               PL_NEW_N(a, size_t *, n) };
    for (int i = 0; i < n; i++) {
        w.at[i] = table[i].cost;
        w.step_var[i] = v < 0 ? 0 : stride_of(e, &table[i], v);
        w.stride[i] = PL_NEW_N(a, size_t, n_scope);
        for (int d = 0; d < n_scope; d++) w.stride[i][d] = stride_of(e, &table[i], scope[d]);
        w.step[i] = n_scope ? w.stride[i][n_scope - 1] : 0;
    }
    return w;
}

/* out[y] = min over x of the sum of the tables at (y, x); two tables is the common case. */
static void least_row(const view *w, int rows, int values, double *out)
{
    for (int y = 0; y < rows; y++) {
        double least = INFINITY;
        if (w->n == 2) {
            const double *p = w->at[0] + (size_t)y * w->step[0];
            const double *q = w->at[1] + (size_t)y * w->step[1];
            for (int x = 0; x < values; x++, p += w->step_var[0], q += w->step_var[1])
                least = *p + *q < least ? *p + *q : least;
        } else {
            for (int x = 0; x < values; x++) {
                double sum = 0;
                for (int i = 0; i < w->n; i++)
                    sum += w->at[i][(size_t)y * w->step[i] + (size_t)x * w->step_var[i]];
                least = sum < least ? sum : least;
            }
        }
        out[y] = least;
    }
}

/* The table over scope[n_scope] of the sum of the tables, v (or -1) minimised. */
static double *project(const pl_eliminate *e, int n, const pl_sum_table *table, int n_scope,
                       const int *scope, int v)
{
    int64_t count = 1;
    for (int d = 0; d < n_scope; d++) count *= e->size[scope[d]];
    double *out = pl_arena_get(e->arena, (size_t)count, sizeof *out);
    view w = view_new(e, n, table, n_scope, scope, v, e->arena);
    int inner = n_scope ? e->size[scope[n_scope - 1]] : 1, values = v < 0 ? 1 : e->size[v];
    int *at = PL_NEW_N(e->arena, int, n_scope);
    for (double *row = out; row < out + count; row += inner) {
        least_row(&w, inner, values, row);
        for (int d = n_scope - 2; d >= 0; d--) {
            bool wraps = ++at[d] == e->size[scope[d]];
            for (int i = 0; i < n; i++)
                w.at[i] += wraps ? -(ptrdiff_t)(w.stride[i][d] * (size_t)(at[d] - 1))
                                 : (ptrdiff_t)w.stride[i][d];
            if (!wraps) break;
            at[d] = 0;
        }
    }
    return out;
}

/* Tables whose variables are all in another one are added to it: fewer to read per entry. */
static int absorb(const pl_eliminate *e, int n, pl_sum_table *table)
{
    for (int i = 0; i < n; i++)
        for (int k = 0; k < n; k++) {
            bool within = k != i;
            for (int d = 0; within && d < table[i].n; d++) within = has(&table[k], table[i].var[d]);
            if (!within) continue;
            const pl_sum_table both[2] = { table[k], table[i] };
            table[k].cost = project(e, 2, both, table[k].n, table[k].var, -1);
            table[i--] = table[--n];
            break;
        }
    return n;
}

static int find_scope(int n, const pl_sum_table *table, int v, int *scope)
{
    int size = 0;
    for (int i = 0; i < n; i++)
        for (int d = 0; d < table[i].n; d++) {
            int u = table[i].var[d], at = size;
            bool known = u == v;
            for (int k = 0; k < size; k++) known |= scope[k] == u;
            if (known) continue;
            for (; at > 0 && scope[at - 1] > u; at--) scope[at] = scope[at - 1];
            scope[at] = u;
            size++;
        }
    return size;
}

void pl_eliminate_run(pl_eliminate *e, pl_order order)
{
    e->order = order;
    e->bucket = PL_NEW_N(e->arena, pl_bucket, order.n);
    for (int i = 0; i < order.n; i++) {
        int v = order.var[i], n = 0;
        pl_bucket *b = &e->bucket[i];
        for (int u = e->last_use[v]; u; u = e->use[u - 1].before)
            n += e->table[e->use[u - 1].table].n > 0;
        *b = (pl_bucket){ v, n, PL_NEW_N(e->arena, pl_sum_table, n) };
        for (int u = e->last_use[v]; u; u = e->use[u - 1].before) {
            pl_sum_table *t = &e->table[e->use[u - 1].table];
            if (!t->n) continue;
            b->table[--n] = *t;
            t->n = 0; /* used */
        }
        b->n = absorb(e, b->n, b->table);
        int most = 0;
        for (int t = 0; t < b->n; t++) most += b->table[t].n;
        int *scope = PL_NEW_N(e->arena, int, most), n_scope = find_scope(b->n, b->table, v, scope);
        pl_eliminate_add(e, n_scope, scope, project(e, b->n, b->table, n_scope, scope, v));
    }
    e->work += (int64_t)order.work;
}

double *pl_eliminate_rest(const pl_eliminate *e, int n, const int *var)
{
    int n_left = 0;
    pl_sum_table *left = PL_NEW_N(e->arena, pl_sum_table, e->n_tables);
    for (int t = 0; t < e->n_tables; t++)
        if (e->table[t].n) left[n_left++] = e->table[t];
    double *out = project(e, n_left, left, n, var, -1);
    int64_t count = 1;
    for (int d = 0; d < n; d++) count *= e->size[var[d]];
    for (int64_t i = 0; i < count; i++) out[i] += e->constant;
    return out;
}

void pl_eliminate_trace(const pl_eliminate *e, int *index)
{
    for (int i = e->order.n - 1; i >= 0; i--) {
        const pl_bucket *b = &e->bucket[i];
        double least = INFINITY;
        int best = 0;
        for (int x = 0; x < e->size[b->var]; x++) {
            double sum = 0;
            index[b->var] = x;
            for (int t = 0; t < b->n; t++) {
                size_t at = 0;
                for (int d = 0; d < b->table[t].n; d++) {
                    int u = b->table[t].var[d];
                    at = at * (size_t)e->size[u] + (size_t)index[u];
                }
                sum += b->table[t].cost[at];
            }
            if (sum < least) {
                least = sum;
                best = x;
            }
        }
        index[b->var] = best;
    }
}
