/* The cost of getting from each of a set of placements to each of another, all at once:
 * pl_convert_all(). */
#include "reshard/convert.h"

#include "reshard/convert_map.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_EXTRA = 512, MOST_WIDTH = 64, LANES = 8 };

/* A set of places of a map, and the ways between some of them. */
typedef struct answer {
    const pl_convert_map *map;
    int n_all, n;
    const int *all;  /* [n_all] ascending; 2 * place + 1 if it is one of the n */
    double *seconds; /* [n][n] */
} answer;

/* Memory that is used again. */
typedef struct buffer {
    size_t bytes;
    void *at;
} buffer;

enum { EDGES, FAR, N_BUFFERS };

struct pl_convert_memo {
    const pl_mesh *mesh;
    pl_arena *arena;
    buffer buffer[N_BUFFERS];
    struct {
        int n, cap;
        pl_convert_map **at;
    } maps;
    struct {
        int n, cap;
        answer *at;
        pl_map map; /* by the set */
    } answers;
};

pl_convert_memo *pl_convert_memo_new(const pl_mesh *m, pl_arena *arena)
{
    pl_convert_memo *x = PL_NEW(arena, pl_convert_memo);
    *x = (pl_convert_memo){ .mesh = m, .arena = arena };
    return x;
}

/* As it was left. */
static void *take(pl_convert_memo *x, int which, size_t bytes)
{
    buffer *b = &x->buffer[which];
    if (b->bytes < bytes) *b = (buffer){ 2 * bytes, pl_arena_get(x->arena, 2, bytes) };
    return b->at;
}

/* -- digits ------------------------------------------------------------------------------------ */

typedef struct digits {
    int n;
    pl_split at[PL_MOST_DIGITS];
    int order[PL_MOST_DIGITS]; /* the k-th in order of size, as a map has them */
} digits;

static int compare_numbers(int64_t a, int64_t b)
{
    return (a > b) - (a < b);
}

static int compare_digits(const pl_split *a, const pl_split *b)
{
    int c = compare_numbers(a->dim, b->dim);
    if (!c) c = compare_numbers(a->unit, b->unit);
    return c ? c : compare_numbers(a->size, b->size);
}

static void add_digit(digits *x, pl_split d)
{
    bool known = d.stride > 0; /* what sees windows is made by other moves */
    d.axis = -1;
    for (int k = 0; k < x->n && !known; k++) known = !compare_digits(&x->at[k], &d);
    if (!known && x->n < PL_MOST_DIGITS) x->at[x->n++] = d;
}

static digits find_digits(const pl_shape *shape, int n, const pl_placement at[])
{
    digits x = { .n = 0 };
    for (int i = 0; i < n; i++)
        for (int k = 0; k < at[i].n; k++) add_digit(&x, at[i].split[k]);
    for (int d = 0; d < shape->rank; d++) add_digit(&x, (pl_split){ .dim = (int8_t)d });
    for (int i = 0; i < x.n; i++) {
        int less = 0;
        for (int k = 0; k < x.n; k++) less += compare_digits(&x.at[k], &x.at[i]) < 0;
        x.order[i] = less;
    }
    return x;
}

static pl_convert_map *find_map(pl_convert_memo *memo, pl_type type, const pl_shape *shape,
                                const digits *d)
{
    pl_split sorted[PL_MOST_DIGITS];
    for (int i = 0; i < d->n; i++) sorted[d->order[i]] = d->at[i];
    for (int i = 0; i < memo->maps.n; i++) {
        pl_convert_map *x = memo->maps.at[i];
        bool same = x->type == type && pl_shape_same(&x->shape, shape) && x->n_digits == d->n;
        for (int k = 0; same && k < d->n; k++) same = !compare_digits(&x->digit[k], &sorted[k]);
        if (same) return x;
    }
    PL_PUSH(memo->arena, &memo->maps,
            pl_convert_map_new(memo->mesh, type, shape, d->n, sorted, memo->arena));
    return memo->maps.at[memo->maps.n - 1];
}

/* -- what is within reach ---------------------------------------------------------------------- */

typedef struct reach {
    pl_convert_map *map;
    int n, most;
    int *at; /* [n] places, whose mark is 1 + their index */
} reach;

static void meet(reach *x, int place)
{
    if (place < 0 || x->map->mark.at[place] || x->n == x->most) return;
    x->at[x->n++] = place;
    x->map->mark.at[place] = x->n;
}

/* All that the moves from a place lead to, digits in the order in which they were met. */
static void look_around(reach *x, int from, const digits *d)
{
    pl_convert_map_open(x->map, from);
    const pl_place *p = x->map->at[from];
    int axes = x->map->mesh->n, *to = p->to;
    unsigned used = p->where.pending | pl_placement_axes(&p->where);
    for (int a = 0; a < axes; a++, to += 1 + d->n) {
        if (used >> a & 1) meet(x, to[0]);
        for (int k = 0; k < d->n; k++) meet(x, to[1 + d->order[k]]);
        if (!(used >> a & 1)) meet(x, to[0]);
    }
    for (; to < p->to + p->n_moves; to++) meet(x, *to);
}

/* The places within reach, ascending: 2 * place + 1 for each of the first n. row[i] of those n is
 * where the i-th stands among them. */
static int *list_reach(const reach *x, int n, int16_t *row, pl_arena *tmp)
{
    int *all = PL_NEW_N(tmp, int, x->n);
    for (int i = 0, k = 0, met = 0; k < x->n; i++) {
        int mark = x->map->mark.at[i];
        if (!mark) continue;
        all[k++] = 2 * i + (mark <= n);
        if (mark <= n) row[mark - 1] = (int16_t)met++;
    }
    return all;
}

/* -- paths ------------------------------------------------------------------------------------- */

typedef struct edge {
    int from;
    double seconds;
} edge;

/* Moves by where they lead to, and the seconds from `width` places to all: rows of places, those of
 * smaller parts first. */
typedef struct graph {
    int n, width;
    int *place; /* [n] place of a row                     */
    int *first; /* [n + 1] edges to a row                 */
    edge *edge, *some;
    double *far;         /* [n][width]                             */
    int *changed, *seen; /* [n] when a row last changed, was found */
} graph;

typedef struct sorted {
    int64_t count;
    int place;
} sorted;

static int compare_sorted(const void *a, const void *b)
{
    const sorted *x = a, *y = b;
    int c = compare_numbers(x->count, y->count);
    return c ? c : compare_numbers(x->place, y->place);
}

/* The mark of a place becomes 1 + its row. */
static void sort_rows(graph *g, pl_convert_map *map, const int *all, pl_arena *tmp)
{
    sorted *s = PL_NEW_N(tmp, sorted, g->n);
    g->place = PL_NEW_N(tmp, int, g->n);
    for (int i = 0; i < g->n; i++) s[i] = (sorted){ map->at[all[i] / 2]->count, all[i] / 2 };
    qsort(s, (size_t)g->n, sizeof *s, compare_sorted);
    for (int i = 0; i < g->n; i++) {
        g->place[i] = s[i].place;
        map->mark.at[s[i].place] = i + 1;
    }
}

/* The edges from a row, or how many they are where there is no room for them yet. */
static void add_edges(graph *g, pl_convert_map *map, int row, int *next)
{
    const pl_place *p = map->at[g->place[row]];
    for (int k = 0; k < p->n_moves; k++) {
        int to = p->to[k] < 0 ? 0 : map->mark.at[p->to[k]];
        if (!to) continue;
        double seconds = p->seconds[k];
        if (isnan(seconds)) seconds = pl_convert_map_price(map, g->place[row], k);
        if (isinf(seconds)) continue;
        if (g->edge) g->edge[next[to - 1]] = (edge){ row, seconds };
        next[to - 1]++;
    }
}

static int most_edges(const graph *g)
{
    int most = 0;
    for (int i = 0; i < g->n; i++)
        if (g->first[i + 1] - g->first[i] > most) most = g->first[i + 1] - g->first[i];
    return most;
}

static graph make_graph(pl_convert_memo *memo, const answer *x, pl_convert_map *map, pl_arena *tmp)
{
    int n = x->n_all, blocks = 1 + (x->n - 1) / MOST_WIDTH;
    graph g = { .n = n, .width = ((x->n + blocks - 1) / blocks + LANES - 1) / LANES * LANES };
    int *next = PL_NEW_N(tmp, int, n + 1);
    sort_rows(&g, map, x->all, tmp);
    g.first = PL_NEW_N(tmp, int, n + 1);
    for (int i = 0; i < n; i++) add_edges(&g, map, i, next);
    for (int i = 0; i < n; i++) g.first[i + 1] = g.first[i] + next[i];
    memcpy(next, g.first, (size_t)n * sizeof *next);
    g.edge = take(memo, EDGES, (size_t)(g.first[n] + 1) * sizeof(edge));
    for (int i = 0; i < n; i++) add_edges(&g, map, i, next);
    g.far = take(memo, FAR, (size_t)n * (size_t)g.width * sizeof(double));
    g.some = PL_NEW_N(tmp, edge, most_edges(&g) + 1);
    g.changed = PL_NEW_N(tmp, int, n), g.seen = PL_NEW_N(tmp, int, n);
    return g;
}

/* A row becomes the least of itself and of what two edges make of the rows they come from. */
static void relax(const graph *g, double *restrict row, const edge *e, const edge *f)
{
    const double *restrict a = g->far + (ptrdiff_t)e->from * g->width;
    const double *restrict b = g->far + (ptrdiff_t)f->from * g->width;
    double by_e = e->seconds, by_f = f->seconds;
    for (int k = 0; k < g->width; k += LANES)
        for (int j = k; j < k + LANES; j++) {
            double x = a[j] + by_e, y = b[j] + by_f;
            x = x < y ? x : y;
            row[j] = x < row[j] ? x : row[j];
        }
}

/* The last moves to a place from those that have come nearer since it was found. Does it? */
static bool improve(graph *g, int i)
{
    double before[MOST_WIDTH], *row = g->far + (ptrdiff_t)i * g->width;
    size_t bytes = (size_t)g->width * sizeof *row;
    int n = 0;
    for (int e = g->first[i]; e < g->first[i + 1]; e++) {
        g->some[n] = g->edge[e];
        n += g->changed[g->edge[e].from] > g->seen[i];
    }
    if (!n) return false;
    memcpy(before, row, bytes);
    for (int e = 0; e < n; e += 2) relax(g, row, &g->some[e], &g->some[e + 1 < n ? e + 1 : e]);
    return memcmp(before, row, bytes) != 0;
}

/* From as many sources at once as there is room for in a row (Bellman, 1958, with each new figure
 * used at once): to smaller parts first and then to larger ones, and the other way round. */
static void walk(graph *g, int n, const int source[])
{
    int clock = 1;
    for (ptrdiff_t i = 0; i < (ptrdiff_t)g->n * g->width; i++) g->far[i] = INFINITY;
    memset(g->changed, 0, sizeof(int) * (size_t)g->n);
    memset(g->seen, 0, sizeof(int) * (size_t)g->n);
    for (int i = 0; i < n; i++) {
        g->far[(ptrdiff_t)source[i] * g->width + i] = 0;
        g->changed[source[i]] = clock;
    }
    bool more = true;
    for (int pass = 0; more; pass++) {
        more = false;
        for (int k = 0; k < g->n; k++) {
            int i = pass % 2 ? k : g->n - 1 - k;
            bool nearer = improve(g, i);
            g->seen[i] = clock;
            if (nearer) g->changed[i] = ++clock;
            more |= nearer;
        }
    }
}

static void find_ways(pl_convert_memo *memo, answer *x, pl_convert_map *map)
{
    pl_arena *tmp = pl_arena_new("convert paths");
    graph g = make_graph(memo, x, map, tmp);
    int *source = PL_NEW_N(tmp, int, x->n), n = 0;
    for (int i = 0; i < x->n_all; i++)
        if (x->all[i] % 2) source[n++] = map->mark.at[x->all[i] / 2] - 1;
    for (int from = 0; from < n; from += g.width) {
        int wide = n - from < g.width ? n - from : g.width;
        walk(&g, wide, source + from);
        for (int k = 0; k < wide; k++)
            for (int j = 0; j < n; j++)
                x->seconds[(ptrdiff_t)(from + k) * n + j] =
                    g.far[(ptrdiff_t)source[j] * g.width + k];
    }
    pl_arena_free(tmp);
}

/* -- all --------------------------------------------------------------------------------------- */

static const answer *find_answer(pl_convert_memo *memo, pl_convert_map *map, int n, int n_all,
                                 const int *all)
{
    size_t bytes = (size_t)n_all * sizeof *all;
    const uint64_t hash = pl_hash_span((uint64_t)(uintptr_t)map, all, bytes);
    PL_MAP_EACH (&memo->answers.map, hash, k) {
        const answer *y = &memo->answers.at[k.value];
        if (y->map == map && y->n_all == n_all && !memcmp(y->all, all, bytes)) return y;
    }
    int *copy = PL_NEW_N(memo->arena, int, n_all);
    memcpy(copy, all, bytes);
    answer y = { map, n_all, n, copy, PL_NEW_N(memo->arena, double, (size_t)n *(size_t)n) };
    find_ways(memo, &y, map);
    pl_map_put(&memo->answers.map, hash, memo->answers.n, memo->arena);
    PL_PUSH(memo->arena, &memo->answers, y);
    return &memo->answers.at[memo->answers.n - 1];
}

pl_convert pl_convert_find(pl_convert_memo *memo, pl_type type, const pl_shape *shape, int n,
                           const pl_placement at[])
{
    pl_arena *tmp = pl_arena_new("convert");
    const digits d = find_digits(shape, n, at);
    reach x = { .map = find_map(memo, type, shape, &d), .most = n + MOST_EXTRA };
    int16_t *row = PL_NEW_N(memo->arena, int16_t, n);
    x.at = PL_NEW_N(tmp, int, x.most);
    for (int i = 0; i < n; i++) {
        meet(&x, pl_convert_map_add(x.map, &at[i]));
        PL_ASSERT_CMP(x.n, ==, i + 1); /* they differ */
    }
    for (int i = 0; i < x.n; i++) look_around(&x, x.at[i], &d);
    const int *all = list_reach(&x, n, row, tmp);
    const answer *y = find_answer(memo, x.map, n, x.n, all);
    for (int i = 0; i < x.n; i++) x.map->mark.at[x.at[i]] = 0;
    pl_arena_free(tmp);
    return (pl_convert){ n, y->seconds, row };
}

/* All that some axes of the first `splits` splits of a place leave when they are gathered, the last
 * split first. */
static void find_wholes(pl_convert_map *map, int place, int splits, bool *part)
{
    int mark = map->mark.at[place];
    if (mark) part[mark - 1] = true;
    for (int i = splits - 1; i >= 0; i--) {
        int next = pl_convert_map_gather(map, place, map->at[place]->where.split[i].axis);
        if (next >= 0) find_wholes(map, next, i, part);
    }
}

const bool *pl_convert_parts(pl_convert_memo *memo, pl_type type, const pl_shape *shape, int n,
                             const pl_placement at[])
{
    const digits d = find_digits(shape, n, at);
    pl_convert_map *map = find_map(memo, type, shape, &d);
    bool *part = PL_NEW_N(memo->arena, bool, (size_t)n *(size_t)n);
    int *place = PL_NEW_N(memo->arena, int, n);
    for (int i = 0; i < n; i++) place[i] = pl_convert_map_add(map, &at[i]);
    for (int i = 0; i < n; i++) map->mark.at[place[i]] = i + 1;
    for (int i = 0; i < n; i++) find_wholes(map, place[i], at[i].n, part + (ptrdiff_t)i * n);
    for (int i = 0; i < n; i++) map->mark.at[place[i]] = 0;
    return part;
}

pl_convert pl_convert_all(const pl_mesh *m, pl_type type, const pl_shape *shape, int n,
                          const pl_placement at[], pl_arena *arena)
{
    pl_arena *tmp = pl_arena_new("convert all");
    double *seconds = PL_NEW_N(arena, double, (size_t)n *(size_t)n);
    pl_convert c = pl_convert_find(pl_convert_memo_new(m, tmp), type, shape, n, at);
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) seconds[i * n + j] = c.seconds[c.row[i] * n + c.row[j]];
    pl_arena_free(tmp);
    return (pl_convert){ n, seconds, NULL };
}
