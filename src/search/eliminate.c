/* Bucket elimination. Read pl_eliminate_run(): the tables of a variable are added and its least
 * value is taken for each choice of its neighbours (project); pl_eliminate_trace() then reads
 * the values back in the opposite order. */
#include "search/eliminate.h"

#include <math.h>
#include <string.h>

/* The tables of one variable, as they were when it was eliminated. */
typedef struct pl_bucket {
    int var, n;
    pl_sum_table *table;
} pl_bucket;

pl_eliminate *pl_eliminate_new(int n, const int *size, pl_arena *arena)
{
    pl_eliminate *e = PL_NEW(arena, pl_eliminate);
    *e =
        (pl_eliminate){ .n = n, .size = size, .last_use = PL_NEW_N(arena, int, n), .arena = arena };
    return e;
}

void pl_eliminate_add(pl_eliminate *eliminate, int n, const int *var, const double *cost)
{
    if (!n) {
        eliminate->constant += cost[0];
        return;
    }
    if (eliminate->n_tables == eliminate->cap_tables)
        eliminate->table = pl_arena_grow(eliminate->arena, eliminate->table, &eliminate->cap_tables,
                                         sizeof *eliminate->table);
    for (int d = 0; d < n; d++) {
        if (eliminate->n_uses == eliminate->cap_uses)
            eliminate->use = pl_arena_grow(eliminate->arena, eliminate->use, &eliminate->cap_uses,
                                           sizeof *eliminate->use);
        eliminate->use[eliminate->n_uses] =
            (pl_use){ eliminate->n_tables, eliminate->last_use[var[d]] };
        eliminate->last_use[var[d]] = ++eliminate->n_uses;
    }
    eliminate->table[eliminate->n_tables++] = (pl_sum_table){ n, var, cost };
}

static bool has(const pl_sum_table *t, int v)
{
    for (int i = 0; i < t->n; i++)
        if (t->var[i] == v) return true;
    return false;
}

/* How far apart entries lie whose value of v differs by one; 0 when v is not in the table. */
static size_t stride_of(const pl_eliminate *eliminate, const pl_sum_table *table, int v)
{
    size_t stride = 1;
    for (int i = table->n - 1; i >= 0; i--) {
        if (table->var[i] == v) return stride;
        stride *= (size_t)eliminate->size[table->var[i]];
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

static view view_new(const pl_eliminate *eliminate, int n, const pl_sum_table *table, int n_scope,
                     const int *scope, int v, pl_arena *arena)
{
    view w = { n, PL_NEW_N(arena, const double *, n), PL_NEW_N(arena, size_t, n),
               PL_NEW_N(arena, size_t, n), PL_NEW_N(arena, size_t *, n) };
    for (int i = 0; i < n; i++) {
        w.at[i] = table[i].cost;
        w.step_var[i] = v < 0 ? 0 : stride_of(eliminate, &table[i], v);
        w.stride[i] = PL_NEW_N(arena, size_t, n_scope);
        for (int d = 0; d < n_scope; d++)
            w.stride[i][d] = stride_of(eliminate, &table[i], scope[d]);
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
static double *project(const pl_eliminate *eliminate, int n, const pl_sum_table *table, int n_scope,
                       const int *scope, int v)
{
    int64_t count = 1;
    for (int d = 0; d < n_scope; d++) count *= eliminate->size[scope[d]];
    double *out = pl_arena_get(eliminate->arena, (size_t)count, sizeof *out);
    view w = view_new(eliminate, n, table, n_scope, scope, v, eliminate->arena);
    int inner = n_scope ? eliminate->size[scope[n_scope - 1]] : 1,
        values = v < 0 ? 1 : eliminate->size[v];
    int *at = PL_NEW_N(eliminate->arena, int, n_scope);
    for (double *row = out; row < out + count; row += inner) {
        least_row(&w, inner, values, row);
        for (int d = n_scope - 2; d >= 0; d--) {
            bool wraps = ++at[d] == eliminate->size[scope[d]];
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
static int absorb(const pl_eliminate *eliminate, int n, pl_sum_table *table)
{
    for (int i = 0; i < n; i++)
        for (int k = 0; k < n; k++) {
            bool within = k != i;
            for (int d = 0; within && d < table[i].n; d++) within = has(&table[k], table[i].var[d]);
            if (!within) continue;
            const pl_sum_table both[2] = { table[k], table[i] };
            table[k].cost = project(eliminate, 2, both, table[k].n, table[k].var, -1);
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

void pl_eliminate_run(pl_eliminate *eliminate, pl_order order)
{
    eliminate->order = order;
    eliminate->bucket = PL_NEW_N(eliminate->arena, pl_bucket, order.n);
    for (int i = 0; i < order.n; i++) {
        int v = order.var[i], n = 0;
        pl_bucket *b = &eliminate->bucket[i];
        for (int u = eliminate->last_use[v]; u; u = eliminate->use[u - 1].before)
            n += eliminate->table[eliminate->use[u - 1].table].n > 0;
        *b = (pl_bucket){ v, n, PL_NEW_N(eliminate->arena, pl_sum_table, n) };
        for (int u = eliminate->last_use[v]; u; u = eliminate->use[u - 1].before) {
            pl_sum_table *t = &eliminate->table[eliminate->use[u - 1].table];
            if (!t->n) continue;
            b->table[--n] = *t;
            t->n = 0; /* used */
        }
        b->n = absorb(eliminate, b->n, b->table);
        int most = 0;
        for (int t = 0; t < b->n; t++) most += b->table[t].n;
        int *scope = PL_NEW_N(eliminate->arena, int, most),
            n_scope = find_scope(b->n, b->table, v, scope);
        pl_eliminate_add(eliminate, n_scope, scope,
                         project(eliminate, b->n, b->table, n_scope, scope, v));
    }
    eliminate->work += (int64_t)order.work;
}

double *pl_eliminate_rest(const pl_eliminate *eliminate, int n, const int *var)
{
    int n_left = 0;
    pl_sum_table *left = PL_NEW_N(eliminate->arena, pl_sum_table, eliminate->n_tables);
    for (int t = 0; t < eliminate->n_tables; t++)
        if (eliminate->table[t].n) left[n_left++] = eliminate->table[t];
    double *out = project(eliminate, n_left, left, n, var, -1);
    int64_t count = 1;
    for (int d = 0; d < n; d++) count *= eliminate->size[var[d]];
    for (int64_t i = 0; i < count; i++) out[i] += eliminate->constant;
    return out;
}

void pl_eliminate_trace(const pl_eliminate *eliminate, int *index)
{
    for (int i = eliminate->order.n - 1; i >= 0; i--) {
        const pl_bucket *b = &eliminate->bucket[i];
        double least = INFINITY;
        int best = 0;
        for (int x = 0; x < eliminate->size[b->var]; x++) {
            double sum = 0;
            index[b->var] = x;
            for (int t = 0; t < b->n; t++) {
                size_t at = 0;
                for (int d = 0; d < b->table[t].n; d++) {
                    int u = b->table[t].var[d];
                    at = at * (size_t)eliminate->size[u] + (size_t)index[u];
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
