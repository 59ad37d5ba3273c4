/* How a tensor gets from each place to each other one, as tables: pl_tables_ways_time(). */
#include "cost/ways.h"

#include "base/map.h"

#include <string.h>

struct pl_way {
    const pl_value *value;
    const pl_spots *spots;
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
    const double *time;
} known_table;

typedef struct known_turn {
    const double *of, *turned;
} known_turn;

struct pl_ways {
    const pl_mesh *mesh;
    pl_arena *arena, *tmp;
    pl_convert_memo *memo;
    struct {
        int n, cap;
        pl_way **at;
        pl_map map;
    } ways;
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

pl_ways *pl_tables_ways_new(const pl_mesh *m, pl_arena *arena, pl_arena *tmp)
{
    pl_ways *x = PL_NEW(tmp, pl_ways);
    *x = (pl_ways){ .mesh = m, .arena = arena, .tmp = tmp, .memo = pl_convert_memo_new(m, tmp) };
    return x;
}

/* -- ways -------------------------------------------------------------------------------------- */

static bool is_way_of(const pl_way *w, const pl_value *v, const pl_spots *s)
{
    const pl_spots *t = w->spots;
    bool same =
        w->value->type == v->type && pl_shape_same(&w->value->shape, &v->shape) && t->n == s->n;
    for (int i = 0; same && i < s->n; i++) same = pl_placement_same(&s->at[i], &t->at[i]);
    return same;
}

pl_way *pl_tables_ways_find(pl_ways *x, const pl_value *v, const pl_spots *spots)
{
    uint64_t hash = pl_hash_mix(spots->hash, (uint64_t)v->type);
    for (int d = 0; d < v->shape.rank; d++) hash = pl_hash_mix(hash, (uint64_t)v->shape.dim[d]);
    PL_MAP_EACH (&x->ways.map, hash, k)
        if (is_way_of(x->ways.at[k.value], v, spots)) return x->ways.at[k.value];
    pl_way *w = PL_NEW(x->tmp, pl_way);
    *w = (pl_way){ .value = v, .spots = spots };
    pl_map_put(&x->ways.map, hash, x->ways.n, x->tmp);
    PL_PUSH(x->tmp, &x->ways, w);
    return w;
}

const double *pl_tables_ways_bytes(pl_ways *x, pl_way *w)
{
    if (w->bytes) return w->bytes;
    double *bytes = PL_NEW_N(x->tmp, double, w->spots->n);
    for (int i = 0; i < w->spots->n; i++) {
        int64_t room = pl_placement_room(&w->spots->at[i], x->mesh, &w->value->shape);
        bytes[i] = (double)(room * pl_type_bytes(w->value->type));
    }
    return w->bytes = bytes;
}

static const pl_convert *find_paths(pl_ways *x, pl_way *w)
{
    if (!w->paths.seconds)
        w->paths =
            pl_convert_find(x->memo, w->value->type, &w->value->shape, w->spots->n, w->spots->at);
    return &w->paths;
}

/* -- tables ------------------------------------------------------------------------------------ */

/* The rows of a table of paths at which a variable's values are. */
static int find_rows(pl_ways *x, const pl_convert *c, pl_seats seats)
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
static const double *turn(pl_ways *x, const double *of, int n)
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
static const double *pick(pl_ways *x, const double *of, int n, const rows *r, const rows *c)
{
    double *to = PL_NEW_N(x->arena, double, (size_t)r->n *(size_t)c->n);
    int *before = PL_NEW_N(x->tmp, int, n); /* 1 + where it has been picked */
    for (int i = 0; i < r->n; i++) {
        double *row = to + (ptrdiff_t)i * c->n;
        const double *from = of + (ptrdiff_t)r->at[i] * n;
        int *first = &before[r->at[i]];
        if (*first)
            memcpy(row, to + (ptrdiff_t)(*first - 1) * c->n, (size_t)c->n * sizeof *row);
        else
            for (int j = 0; j < c->n; j++) row[j] = from[c->at[j]];
        if (!*first) *first = i + 1;
    }
    return to;
}

const double *pl_tables_ways_time(pl_ways *x, pl_way *w, pl_seats a, pl_seats b, bool turned)
{
    const pl_convert *c = find_paths(x, w);
    int from = find_rows(x, c, a), to = find_rows(x, c, b);
    known_table k = { c->seconds, from, to, NULL };
    if (turned) k = (known_table){ turn(x, c->seconds, c->n), to, from, NULL };
    const uint64_t hash =
        pl_hash_mix((uint64_t)(uintptr_t)k.of, (uint64_t)k.rows << 32 | (uint64_t)k.columns);
    PL_MAP_EACH (&x->tables.map, hash, i) {
        const known_table *y = &x->tables.at[i.value];
        if (y->of == k.of && y->rows == k.rows && y->columns == k.columns) return y->time;
    }
    k.time = pick(x, k.of, c->n, &x->rows.at[k.rows], &x->rows.at[k.columns]);
    pl_map_put(&x->tables.map, hash, x->tables.n, x->tmp);
    PL_PUSH(x->tmp, &x->tables, k);
    return k.time;
}

const double *pl_tables_ways_keep(pl_ways *x, pl_way *w)
{
    if (w->keep) return w->keep;
    const pl_convert *c = find_paths(x, w);
    const pl_spots *s = w->spots;
    const bool *part = pl_convert_parts(x->memo, w->value->type, &w->value->shape, s->n, s->at);
    double *time = PL_NEW_N(x->arena, double, (size_t)s->n *(size_t)s->n);
    for (int i = 0; i < s->n; i++)
        for (int j = 0; j < s->n; j++)
            time[i * s->n + j] = c->seconds[c->row[i] * s->n + c->row[j]];
    for (int j = 0; j < s->n; j++)
        for (int i = 0; i < s->n; i++)
            if (part[j * s->n + i]) time[i * s->n + j] = 0;
    return w->keep = time;
}

const double *pl_tables_ways_none(pl_ways *x, pl_way *w)
{
    size_t n = (size_t)w->spots->n;
    return w->none ? w->none : (w->none = PL_NEW_N(x->arena, double, n *n));
}

const double *pl_tables_ways_beside(pl_ways *x, pl_way *w)
{
    int n = w->spots->n;
    if (w->beside) return w->beside;
    const double *bytes = pl_tables_ways_bytes(x, w);
    double *memory = PL_NEW_N(x->arena, double, (size_t)n *(size_t)n);
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) memory[i * n + j] = i == j ? 0 : bytes[j];
    return w->beside = memory;
}
