/* Bucket elimination. Read pl_eliminate_run(): the tables of a variable are added and its least
 * value is taken for each choice of its neighbours (project); pl_eliminate_trace() then reads
 * the values back in the opposite order. */
#include "search/eliminate.h"
#include "search/lanes.h"

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

/* What a table has of a row of the scope and of the values of what is minimised. */
typedef enum part { VALUES, ROW, BOTH, N_PARTS } part;

/* The tables of a sum, seen from the rows of a scope: a row is along its innermost variable. */
typedef struct view {
    int n, rows, values;         /* entries of a row, values of what is minimised                */
    const double **at;           /* [n] the first entry of each table                            */
    size_t *step;                /* [n] along the row                                            */
    size_t *step_var;            /* [n] along what is minimised                                  */
    size_t **stride;             /* [n][scope] along the others                                  */
    int first[N_PARTS + 1];      /* tables lie by their part                                     */
    double *of_values, *of_both; /* sums: [values], [values][rows]                               */
} view;

static double *project(const pl_eliminate *eliminate, int n, const pl_sum_table *table, int n_scope,
                       const int *scope, int v);

static part part_of(size_t step, size_t step_var)
{
    return !step ? VALUES : !step_var ? ROW : BOTH;
}

/* The table with v innermost: columns in one piece. */
static pl_sum_table turn(const pl_eliminate *e, const pl_sum_table *t, int v, pl_arena *arena)
{
    int *var = PL_NEW_N(arena, int, t->n + 1);
    int n = 0;
    for (int d = 0; d < t->n; d++)
        if (t->var[d] != v) var[n++] = t->var[d];
    var[n++] = v;
    if (n != t->n || t->var[n - 1] == v) return *t;
    return (pl_sum_table){ n, var, project(e, 1, t, n, var, -1) };
}

static view view_new(const pl_eliminate *e, int n, const pl_sum_table *table, int n_scope,
                     const int *scope, int v, pl_arena *arena)
{
    view w = { .n = n,
               .rows = n_scope ? e->size[scope[n_scope - 1]] : 1,
               .values = v < 0 ? 1 : e->size[v],
               .at = PL_NEW_N(arena, const double *, n),
               .step = PL_NEW_N(arena, size_t, n),
               .step_var = PL_NEW_N(arena, size_t, n),
               .stride = PL_NEW_N(arena, size_t *, n) };
    int k = 0;
    for (part p = VALUES; p < N_PARTS; p++) {
        w.first[p] = k;
        for (int i = 0; i < n; i++) {
            const size_t step = n_scope ? stride_of(e, &table[i], scope[n_scope - 1]) : 0,
                         step_var = v < 0 ? 0 : stride_of(e, &table[i], v);
            if (part_of(step, step_var) != p) continue;
            const pl_sum_table t = p == VALUES ? turn(e, &table[i], v, arena) : table[i];
            w.at[k] = t.cost, w.step[k] = step,
            w.step_var[k] = p == VALUES ? step_var > 0 : step_var;
            w.stride[k] = PL_NEW_N(arena, size_t, n_scope);
            for (int d = 0; d + 1 < n_scope; d++) w.stride[k][d] = stride_of(e, &t, scope[d]);
            k++;
        }
    }
    w.first[N_PARTS] = k;
    w.of_values = PL_NEW_N(arena, double, w.values);
    if (n - w.first[BOTH] > 0)
        w.of_both = PL_NEW_N(arena, double, (size_t)w.values *(size_t)w.rows);
    return w;
}

/* Table i, which has both, as a block whose lines are in one piece; false: it has none such. */
static bool view_block(const view *w, int i, bool *rows, pl_block *b)
{
    const int n = w->rows, values = w->values;
    *rows = w->step[i] != 1;
    *b = *rows ? (pl_block){ n, values, w->step[i], w->at[i] }
               : (pl_block){ values, n, w->step_var[i], w->at[i] };
    return w->step[i] == 1 || w->step_var[i] == 1;
}

/* The tables that have both, added up. */
static pl_block add_both(const view *w)
{
    const size_t rows = (size_t)w->rows;
    memset(w->of_both, 0, rows * (size_t)w->values * sizeof *w->of_both);
    for (int i = w->first[BOTH]; i < w->n; i++)
        for (size_t x = 0; x < (size_t)w->values; x++)
            pl_add_line(w->rows, w->at[i] + x * w->step_var[i], w->step[i], w->of_both + x * rows);
    return (pl_block){ w->values, w->rows, rows, w->of_both };
}

static const double *add_values(const view *w)
{
    if (w->first[ROW] == 0) return w->of_values;
    if (w->first[ROW] == 1) return w->at[0];
    memcpy(w->of_values, w->at[0], (size_t)w->values * sizeof *w->of_values);
    for (int i = 1; i < w->first[ROW]; i++) pl_add_line(w->values, w->at[i], 1, w->of_values);
    return w->of_values;
}

/* out[y] = min over x of the sum of the tables at (y, x) */
static void least_row(const view *w, double *restrict out)
{
    pl_block b;
    bool rows = false;
    const double *of_values = add_values(w);
    if (w->first[BOTH] == w->n) {
        double least = INFINITY;
        for (int x = 0; x < w->values; x++) least = pl_lesser(least, of_values[x]);
        for (int y = 0; y < w->rows; y++) out[y] = least;
    } else {
        if (w->first[BOTH] + 1 < w->n || !view_block(w, w->first[BOTH], &rows, &b))
            b = add_both(w), rows = false;
        (rows ? pl_least_of_rows : pl_least_of_columns)(b, of_values, out);
    }
    for (int i = w->first[ROW]; i < w->first[BOTH]; i++)
        pl_add_line(w->rows, w->at[i], w->step[i], out);
}

/* The table over scope[n_scope] of the sum of the tables, v (or -1) minimised. */
static double *project(const pl_eliminate *eliminate, int n, const pl_sum_table *table, int n_scope,
                       const int *scope, int v)
{
    int64_t count = 1;
    for (int d = 0; d < n_scope; d++) count *= eliminate->size[scope[d]];
    double *out = pl_arena_get(eliminate->arena, (size_t)count, sizeof *out);
    view w = view_new(eliminate, n, table, n_scope, scope, v, eliminate->arena);
    int *at = PL_NEW_N(eliminate->arena, int, n_scope);
    for (double *row = out; row < out + count; row += w.rows) {
        least_row(&w, row);
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
