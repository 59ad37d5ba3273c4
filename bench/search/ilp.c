#include "ilp.h"

#include "base/clock.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#ifndef PLEAT_HAVE_CBC
#define PLEAT_HAVE_CBC 0
#endif
#if PLEAT_HAVE_CBC
#include <Cbc_C_Interface.h>
#endif

/* Pairs of the same two variables, added up; a < b. */
typedef struct edge {
    int a, b;
    int row;               /* first of its rows: one per value of a, then one per value of b */
    double *time, *memory; /* [values of a][values of b] */
} edge;

typedef struct program {
    const pl_sum *s;
    pl_arena *arena;
    double cap, unit; /* unit: seconds that the objective counts in                  */
    int n_edges;
    edge *edge;
    int *first;                 /* [variables] column of value 0, of all values in turn        */
    int *n_of, **of;            /* [variables] the edges that it is in                         */
    int columns, rows, entries; /* so far */
    int *start, *index;         /* by column                                                   */
    double *value, *cost, *upper;
} program;

/* -- edges ------------------------------------------------------------------------------------- */

typedef struct place { /* of a pair in the sum */
    int a, b, pair;
} place;

static int by_ends(const void *x, const void *y)
{
    const place *p = x, *q = y;
    if (p->a != q->a) return p->a < q->a ? -1 : 1;
    if (p->b != q->b) return p->b < q->b ? -1 : 1;
    return (p->pair > q->pair) - (p->pair < q->pair);
}

static void add_table(edge *e, const pl_sum *s, const pl_sum_edge *p)
{
    int na = s->n_values[e->a], nb = s->n_values[e->b];
    for (int i = 0; i < na; i++)
        for (int j = 0; j < nb; j++) {
            int at = p->a == e->a ? i * nb + j : j * na + i;
            e->time[i * nb + j] += p->time[at];
            if (p->memory) e->memory[i * nb + j] += p->memory[at];
        }
}

static void merge_pairs(program *x)
{
    const pl_sum *s = x->s;
    place *at = PL_NEW_N(x->arena, place, s->n_edges + 1);
    x->edge = PL_NEW_N(x->arena, edge, s->n_edges + 1);
    for (int p = 0; p < s->n_edges; p++) {
        int a = s->edge[p].a, b = s->edge[p].b;
        at[p] = (place){ a < b ? a : b, a < b ? b : a, p };
    }
    qsort(at, (size_t)s->n_edges, sizeof *at, by_ends);
    for (int p = 0; p < s->n_edges; p++) {
        edge *e = p ? &x->edge[x->n_edges - 1] : NULL;
        if (!e || e->a != at[p].a || e->b != at[p].b) {
            int64_t n = (int64_t)s->n_values[at[p].a] * s->n_values[at[p].b];
            e = &x->edge[x->n_edges++];
            *e = (edge){ .a = at[p].a,
                         .b = at[p].b,
                         .time = PL_NEW_N(x->arena, double, n),
                         .memory = PL_NEW_N(x->arena, double, n) };
        }
        add_table(e, s, &s->edge[at[p].pair]);
    }
}

/* -- size -------------------------------------------------------------------------------------- */

static int64_t edge_entries(const program *x, const edge *e)
{
    return (int64_t)x->s->n_values[e->a] * x->s->n_values[e->b];
}

static int64_t count_columns(const program *x)
{
    int64_t n = 0;
    for (int v = 0; v < x->s->n; v++) n += x->s->n_values[v];
    for (int k = 0; k < x->n_edges; k++)
        for (int64_t i = 0; i < edge_entries(x, &x->edge[k]); i++)
            n += isfinite(x->edge[k].time[i]);
    return n;
}

/* Numbers the rows: one per variable, two sets per edge, one for the cap. */
static void number_rows(program *x)
{
    const pl_sum *s = x->s;
    x->rows = s->n;
    for (int k = 0; k < x->n_edges; k++) {
        x->edge[k].row = x->rows;
        x->rows += s->n_values[x->edge[k].a] + s->n_values[x->edge[k].b];
    }
    x->rows += isfinite(x->cap);
}

static void index_edges(program *x)
{
    x->n_of = PL_NEW_N(x->arena, int, x->s->n + 1);
    x->of = PL_NEW_N(x->arena, int *, x->s->n + 1);
    for (int k = 0; k < x->n_edges; k++) x->n_of[x->edge[k].a]++, x->n_of[x->edge[k].b]++;
    for (int v = 0; v < x->s->n; v++) {
        x->of[v] = PL_NEW_N(x->arena, int, x->n_of[v] + 1);
        x->n_of[v] = 0;
    }
    for (int k = 0; k < x->n_edges; k++) {
        int a = x->edge[k].a, b = x->edge[k].b;
        x->of[a][x->n_of[a]++] = k;
        x->of[b][x->n_of[b]++] = k;
    }
}

/* -- columns ----------------------------------------------------------------------------------- */

static void put(program *x, int row, double value)
{
    if (value == 0) return; /* of memory */
    x->index[x->entries] = row;
    x->value[x->entries++] = value;
}

static void end_column(program *x, double cost, double memory)
{
    if (isfinite(x->cap)) put(x, x->rows - 1, memory / fmax(fabs(x->cap), 1));
    x->cost[x->columns] = isfinite(cost) ? cost / x->unit : 0;
    x->upper[x->columns] = isfinite(cost) ? 1 : 0;
    x->start[++x->columns] = x->entries;
}

static double own(const double *const *rows, int v, int i)
{
    return rows && rows[v] ? rows[v][i] : 0;
}

static void add_variables(program *x)
{
    const pl_sum *s = x->s;
    for (int v = 0; v < s->n; v++) {
        x->first[v] = x->columns;
        for (int i = 0; i < s->n_values[v]; i++) {
            put(x, v, 1);
            for (int k = 0; k < x->n_of[v]; k++) {
                const edge *e = &x->edge[x->of[v][k]];
                put(x, e->row + (e->a == v ? i : s->n_values[e->a] + i), -1);
            }
            end_column(x, own(s->time, v, i), own(s->memory, v, i));
        }
    }
}

static void add_edges(program *x)
{
    for (int k = 0; k < x->n_edges; k++) {
        const edge *e = &x->edge[k];
        int na = x->s->n_values[e->a], nb = x->s->n_values[e->b];
        for (int i = 0; i < na; i++)
            for (int j = 0; j < nb; j++) {
                if (!isfinite(e->time[i * nb + j])) continue;
                put(x, e->row + i, 1);
                put(x, e->row + na + j, 1);
                end_column(x, e->time[i * nb + j], e->memory[i * nb + j]);
            }
    }
}

/* The largest finite entry becomes 10^6: CBC's tolerances are absolute, about 1e-7. */
static double find_unit(const program *x)
{
    double most = 0;
    for (int v = 0; v < x->s->n; v++)
        for (int i = 0; i < x->s->n_values[v]; i++) {
            double c = fabs(own(x->s->time, v, i));
            if (isfinite(c)) most = fmax(most, c);
        }
    for (int k = 0; k < x->n_edges; k++)
        for (int64_t i = 0; i < edge_entries(x, &x->edge[k]); i++) {
            double c = fabs(x->edge[k].time[i]);
            if (isfinite(c)) most = fmax(most, c);
        }
    return most > 0 ? most / 1e6 : 1;
}

static void write_program(program *x, int64_t columns)
{
    int64_t entries = 3 * columns;
    for (int v = 0; v < x->s->n; v++) entries += (int64_t)x->s->n_values[v] * (x->n_of[v] + 2);
    x->unit = find_unit(x);
    x->first = PL_NEW_N(x->arena, int, x->s->n + 1);
    x->start = PL_NEW_N(x->arena, int, columns + 1);
    x->cost = PL_NEW_N(x->arena, double, columns + 1);
    x->upper = PL_NEW_N(x->arena, double, columns + 1);
    x->index = PL_NEW_N(x->arena, int, entries);
    x->value = PL_NEW_N(x->arena, double, entries);
    add_variables(x);
    add_edges(x);
}

/* -- CBC --------------------------------------------------------------------------------------- */

#if PLEAT_HAVE_CBC
static Cbc_Model *load(const program *x, double seconds)
{
    double *lower = PL_NEW_N(x->arena, double, x->rows + 1);
    double *upper = PL_NEW_N(x->arena, double, x->rows + 1);
    char limit[32];
    Cbc_Model *m = Cbc_newModel();
    for (int r = 0; r < x->s->n; r++) lower[r] = upper[r] = 1;
    if (isfinite(x->cap)) {
        lower[x->rows - 1] = -DBL_MAX; /* CBC's infinity */
        upper[x->rows - 1] = x->cap / fmax(fabs(x->cap), 1);
    }
    Cbc_loadProblem(m, x->columns, x->rows, x->start, x->index, x->value, NULL, x->upper, x->cost,
                    lower, upper);
    for (int v = 0; v < x->s->n; v++)
        for (int i = 0; i < x->s->n_values[v]; i++) Cbc_setInteger(m, x->first[v] + i);
    snprintf(limit, sizeof limit, "%.3f", seconds);
    Cbc_setParameter(m, "log", "0");
    Cbc_setParameter(m, "seconds", limit);
    Cbc_setParameter(m, "ratioGap", "0");
    /* With it CBC 2.10.8 fails an assertion of its own on small capped sums (lowerValue <=
     * upperValue), and takes longer on large ones. */
    Cbc_setParameter(m, "preprocess", "off");
    return m;
}

static void read_choice(const program *x, Cbc_Model *m, pl_arena *out, ilp_result *r)
{
    const double *at = Cbc_bestSolution(m);
    r->proven = Cbc_isProvenOptimal(m) && !Cbc_isSecondsLimitReached(m);
    r->bound = Cbc_getBestPossibleObjValue(m) * x->unit;
    r->found = at != NULL;
    if (!at) return;
    r->value = PL_NEW_N(out, int, x->s->n + 1);
    for (int v = 0; v < x->s->n; v++)
        for (int i = 1; i < x->s->n_values[v]; i++)
            if (at[x->first[v] + i] > at[x->first[v] + r->value[v]]) r->value[v] = i;
    pl_cost cost = pl_sum_cost(x->s, r->value);
    r->objective = cost.time, r->memory = cost.memory;
}

static bool solve(const program *x, double seconds, pl_arena *out, ilp_result *r, pl_err *err)
{
    Cbc_Model *m = load(x, seconds);
    Cbc_solve(m);
    read_choice(x, m, out, r);
    bool none = !r->found && Cbc_isProvenInfeasible(m);
    Cbc_deleteModel(m);
    return !none || pl_err_set(err, PL_EINFEASIBLE, "CBC: no choice is legal and fits");
}
#else
static bool solve(const program *x, double seconds, pl_arena *out, ilp_result *r, pl_err *err)
{
    (void)x, (void)seconds, (void)out, (void)r;
    return pl_err_set(err, PL_EUNSUPPORTED, "built without CBC (Debian: coinor-libcbc-dev)");
}
#endif

bool ilp_is_built(void)
{
    return PLEAT_HAVE_CBC;
}

static bool minimize(program *x, double seconds, int64_t limit, pl_arena *out, ilp_result *r,
                     pl_err *err)
{
    merge_pairs(x);
    r->columns = count_columns(x);
    if (r->columns > limit)
        return pl_err_set(err, PL_EUNSUPPORTED, "the program has %lld columns, %lld may be",
                          (long long)r->columns, (long long)limit);
    number_rows(x);
    index_edges(x);
    write_program(x, r->columns);
    r->rows = x->rows, r->entries = x->entries;
    return solve(x, seconds, out, r, err);
}

bool ilp_min(const pl_sum *s, double cap, double seconds_limit, int64_t columns_limit,
             pl_arena *out, ilp_result *result, pl_err *err)
{
    double start = pl_clock_now();
    pl_arena *tmp = pl_arena_new("integer program");
    program x = { .s = s, .arena = tmp, .cap = cap };
    *result = (ilp_result){ 0 };
    bool ok = minimize(&x, seconds_limit, columns_limit, out, result, err);
    result->seconds = pl_clock_now() - start;
    pl_arena_free(tmp);
    return ok;
}
