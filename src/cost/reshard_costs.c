/* How a tensor gets from each place to each other one, as tables: pl_reshard_costs_time(). */
#include "cost/reshard_costs.h"

#include "base/map.h"

#include <string.h>

struct pl_reshard_cost {
    const pl_value *value;
    const pl_placement_set *placements;
    pl_convert paths; /* seconds NULL: not found yet */
    const double *bytes, *keep, *none, *beside;
};

/* Rows of a table, by content. */
typedef struct rows {
    int n;
    int16_t *at;
} rows;

/* The table of these rows and columns of another one. */
typedef struct known_table {
    const double *of;
    int rows, columns;
    double times; /* as much as there */
    const double *time;
} known_table;

typedef struct known_turn {
    const double *of, *turned;
} known_turn;

struct pl_reshard_costs {
    const pl_mesh *mesh;
    double micro;
    pl_arena *arena, *tmp;
    pl_convert_memo *memo;
    struct {
        int n, cap;
        pl_reshard_cost **at;
        pl_map map;
    } costs;
    struct {
        int n, cap;
        rows *at;
        pl_map map;
    } rows;
    struct {
        int n, cap;
        known_table *at;
        pl_map map;
    } tables;
    struct {
        int n, cap;
        known_turn *at;
    } turns;
};

pl_reshard_costs *pl_reshard_costs_new(const pl_mesh *m, int64_t micro, pl_arena *arena,
                                       pl_arena *tmp)
{
    pl_reshard_costs *x = PL_NEW(tmp, pl_reshard_costs);
    *x = (pl_reshard_costs){ .mesh = m, .micro = (double)micro, .arena = arena, .tmp = tmp };
    x->memo = pl_convert_memo_new(m, tmp);
    return x;
}

/* -- costs ------------------------------------------------------------------------------------- */

static bool is_cost_of(const pl_reshard_cost *w, const pl_value *v, const pl_placement_set *s)
{
    const pl_placement_set *t = w->placements;
    bool same =
        w->value->type == v->type && pl_shape_same(&w->value->shape, &v->shape) && t->n == s->n;
    for (int i = 0; same && i < s->n; i++) same = pl_placement_same(&s->at[i], &t->at[i]);
    return same;
}

pl_reshard_cost *pl_reshard_costs_find(pl_reshard_costs *x, const pl_value *v,
                                       const pl_placement_set *placements)
{
    uint64_t hash = pl_hash_mix(placements->hash, (uint64_t)v->type);
    for (int d = 0; d < v->shape.rank; d++) hash = pl_hash_mix(hash, (uint64_t)v->shape.dim[d]);
    PL_MAP_EACH (&x->costs.map, hash, k)
        if (is_cost_of(x->costs.at[k.value], v, placements)) return x->costs.at[k.value];
    pl_reshard_cost *w = PL_NEW(x->tmp, pl_reshard_cost);
    *w = (pl_reshard_cost){ .value = v, .placements = placements };
    pl_map_put(&x->costs.map, hash, x->costs.n, x->tmp);
    PL_PUSH(x->tmp, &x->costs, w);
    return w;
}

const double *pl_reshard_costs_bytes(pl_reshard_costs *x, pl_reshard_cost *w)
{
    if (w->bytes) return w->bytes;
    double *bytes = PL_NEW_N(x->tmp, double, w->placements->n);
    for (int i = 0; i < w->placements->n; i++) {
        int64_t room = pl_placement_room(&w->placements->at[i], x->mesh, &w->value->shape);
        bytes[i] = (double)(room * pl_type_bytes(w->value->type));
    }
    return w->bytes = bytes;
}

static const pl_convert *find_paths(pl_reshard_costs *x, pl_reshard_cost *w)
{
    if (!w->paths.seconds)
        w->paths = pl_convert_find(x->memo, w->value->type, &w->value->shape, w->placements->n,
                                   w->placements->at);
    return &w->paths;
}

/* -- tables ------------------------------------------------------------------------------------ */

/* The rows of a table of paths at which a variable's values are. */
static int find_rows(pl_reshard_costs *x, const pl_convert *c, pl_variable_places seats)
{
    int16_t *at = PL_NEW_N(x->tmp, int16_t, seats.n);
    const size_t bytes = (size_t)seats.n * sizeof *at;
    for (int i = 0; i < seats.n; i++) at[i] = c->row[seats.at ? seats.at[i] : i];
    const uint64_t hash = pl_hash_span(0, at, bytes);
    PL_MAP_EACH (&x->rows.map, hash, k) {
        const rows *y = &x->rows.at[k.value];
        if (y->n == seats.n && !memcmp(y->at, at, bytes)) return k.value;
    }
    const rows y = { seats.n, at };
    pl_map_put(&x->rows.map, hash, x->rows.n, x->tmp);
    PL_PUSH(x->tmp, &x->rows, y);
    return x->rows.n - 1;
}

/* A table of n x n with rows and columns exchanged. */
static const double *turn(pl_reshard_costs *x, const double *of, int n)
{
    for (int i = 0; i < x->turns.n; i++)
        if (x->turns.at[i].of == of) return x->turns.at[i].turned;
    double *to = PL_NEW_N(x->tmp, double, (size_t)n *(size_t)n);
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) to[i * n + j] = of[j * n + i];
    known_turn k = { of, to };
    PL_PUSH(x->tmp, &x->turns, k);
    return to;
}

/* Rows and columns of a table of n x n; a row that has been picked before is copied. */
static const double *pick(pl_reshard_costs *x, const known_table *k, int n)
{
    const rows *r = &x->rows.at[k->rows], *c = &x->rows.at[k->columns];
    double *to = PL_NEW_N(x->arena, double, (size_t)r->n *(size_t)c->n);
    int *before = PL_NEW_N(x->tmp, int, n); /* 1 + where it has been picked */
    for (int i = 0; i < r->n; i++) {
        double *row = to + (ptrdiff_t)i * c->n;
        const double *from = k->of + (ptrdiff_t)r->at[i] * n;
        int *first = &before[r->at[i]];
        if (*first)
            memcpy(row, to + (ptrdiff_t)(*first - 1) * c->n, (size_t)c->n * sizeof *row);
        else
            for (int j = 0; j < c->n; j++) row[j] = k->times * from[c->at[j]];
        if (!*first) *first = i + 1;
    }
    return to;
}

const double *pl_reshard_costs_time(pl_reshard_costs *x, pl_reshard_cost *w, pl_variable_places a,
                                    pl_variable_places b, bool turned, bool each)
{
    const pl_convert *c = find_paths(x, w);
    const double times = each ? x->micro : 1;
    int from = find_rows(x, c, a), to = find_rows(x, c, b);
    known_table k = { c->seconds, from, to, times, NULL };
    if (turned) k = (known_table){ turn(x, c->seconds, c->n), to, from, times, NULL };
    const uint64_t hash = pl_hash_mix((uint64_t)(uintptr_t)k.of + (times > 1),
                                      (uint64_t)k.rows << 32 | (uint64_t)k.columns);
    PL_MAP_EACH (&x->tables.map, hash, i) {
        const known_table *y = &x->tables.at[i.value];
        if (y->of == k.of && y->rows == k.rows && y->columns == k.columns && y->times == times)
            return y->time;
    }
    k.time = pick(x, &k, c->n);
    pl_map_put(&x->tables.map, hash, x->tables.n, x->tmp);
    PL_PUSH(x->tmp, &x->tables, k);
    return k.time;
}

const double *pl_reshard_costs_keep(pl_reshard_costs *x, pl_reshard_cost *w)
{
    if (w->keep) return w->keep;
    const pl_convert *c = find_paths(x, w);
    const pl_placement_set *s = w->placements;
    const bool *part = pl_convert_parts(x->memo, w->value->type, &w->value->shape, s->n, s->at);
    double *time = PL_NEW_N(x->arena, double, (size_t)s->n *(size_t)s->n);
    for (int i = 0; i < s->n; i++)
        for (int j = 0; j < s->n; j++)
            time[i * s->n + j] = x->micro * c->seconds[c->row[i] * s->n + c->row[j]];
    for (int j = 0; j < s->n; j++)
        for (int i = 0; i < s->n; i++)
            if (part[j * s->n + i]) time[i * s->n + j] = 0;
    return w->keep = time;
}

const double *pl_reshard_costs_none(pl_reshard_costs *x, pl_reshard_cost *w)
{
    size_t n = (size_t)w->placements->n;
    return w->none ? w->none : (w->none = PL_NEW_N(x->arena, double, n *n));
}

const double *pl_reshard_costs_beside(pl_reshard_costs *x, pl_reshard_cost *w)
{
    int n = w->placements->n;
    if (w->beside) return w->beside;
    const double *bytes = pl_reshard_costs_bytes(x, w);
    double *memory = PL_NEW_N(x->arena, double, (size_t)n *(size_t)n);
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) memory[i * n + j] = i == j ? 0 : bytes[j];
    return w->beside = memory;
}
