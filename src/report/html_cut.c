/* How tensors are cut: for each dimension that a placement splits the intervals that devices hold,
 * and which devices those are, by their coordinates on the axes that split it. */
#include "report/html_page.h"

#include <stdlib.h>

enum { MOST_BANDS = 64 };

/* An interval of one dimension, and the coordinates of those who hold it on the axes that split the
 * dimension. */
typedef struct band {
    int64_t lo, n;
    int coord[PL_MAX_AXES];
} band;

typedef struct bands {
    int n, cap;
    band *at;
    int64_t all; /* intervals, of which the first n are kept */
} bands;

static unsigned find_axes(const pl_placement *p, int dim)
{
    unsigned axes = 0;
    for (int i = 0; i < p->n; i++)
        if (p->split[i].dim == dim) axes |= 1u << p->split[i].axis;
    return axes;
}

/* The intervals that digits i to n of a region make in their dimension, outermost first, counted
 * from `base` on. Of a device's intervals no more are kept than any picture shows. */
static void add_bands(bands *b, pl_arena *tmp, const pl_digit d[], int n, int64_t base,
                      const band *like, int *left)
{
    bool dense = true;
    for (int i = 1; i < n; i++) dense &= d[i].n == d[i].size;
    if (!n || dense) {
        band x = *like;
        x.lo = base + (n ? d->lo * d->unit : 0), x.n = n ? d->n * d->unit : 1;
        if (x.n && (*left)-- > 0) PL_PUSH(tmp, b, x);
        return;
    }
    for (int64_t i = 0; i<d->n && * left> 0; i++)
        add_bands(b, tmp, d + 1, n - 1, base + (d->lo + i) * d->unit, like, left);
}

static int64_t count_bands(const pl_digit d[], int n)
{
    int64_t count = 1;
    while (n > 1 && d[n - 1].n == d[n - 1].size) n--; /* dense digits make no more of them */
    for (int i = 0; i < n; i++)
        if (!d[i].n) return 0;
    for (int i = 0; i + 1 < n; i++) count *= d[i].n;
    return count;
}

static int by_start(const void *a, const void *b)
{
    const band *x = a, *y = b;
    if (x->lo != y->lo) return x->lo < y->lo ? -1 : 1;
    return x->n < y->n ? -1 : x->n > y->n;
}

/* Neighbours in a window hold common rows: the first of them is drawn as their owner. */
static void trim(bands *b)
{
    int n = 0;
    int64_t end = 0;
    if (b->n) qsort(b->at, (size_t)b->n, sizeof *b->at, by_start);
    for (int i = 0; i < b->n && n < MOST_BANDS; i++) {
        band x = b->at[i];
        if (x.lo < end) x.n -= end - x.lo, x.lo = end;
        if (x.n <= 0) continue;
        b->at[n++] = x;
        end = x.lo + x.n;
    }
    b->n = n;
}

static bands cut(const pl_html_view *v, const pl_value *x, const pl_placement *p, int dim,
                 pl_arena *tmp)
{
    const unsigned axes = find_axes(p, dim);
    bands b = { 0 };
    for (int rank = 0; rank < pl_mesh_ranks(v->mesh); rank++) {
        band like = { 0 };
        bool wanted = true; /* one device of those that hold the same */
        for (int a = 0; a < v->mesh->n; a++) {
            like.coord[a] = pl_mesh_coord(v->mesh, rank, a);
            wanted &= axes >> a & 1 || !like.coord[a];
        }
        if (!wanted) continue;
        pl_region r = pl_region_of(p, v->mesh, &x->shape, rank);
        int n = 0, left = MOST_BANDS;
        for (int i = 0; i < r.n; i++)
            if (r.digit[i].dim == dim) r.digit[n++] = r.digit[i];
        b.all += count_bands(r.digit, n);
        add_bands(&b, tmp, r.digit, n, 0, &like, &left);
    }
    trim(&b);
    return b;
}

/* -- as data ----------------------------------------------------------------------------------- */

/* Columns: interval i is [lo[i], lo[i] + n[i]), and its coordinates on the k axes are coord[i k],
 * coord[i k + 1] and so on. */
static void put_cut(const pl_html_view *v, int dim, unsigned axes, const bands *b, pl_json_out *out)
{
    pl_json_open(out, NULL, PL_JSON_OBJECT);
    PL_JSON_PUT(out, "dim", dim, "all", b->all);
    pl_json_open(out, "axes", PL_JSON_LIST);
    for (int a = 0; a < v->mesh->n; a++)
        if (axes >> a & 1) pl_json_put_int(out, NULL, a);
    pl_json_close(out);
    pl_json_open(out, "lo", PL_JSON_LIST);
    for (int i = 0; i < b->n; i++) pl_json_put_int(out, NULL, b->at[i].lo);
    pl_json_close(out);
    pl_json_open(out, "n", PL_JSON_LIST);
    for (int i = 0; i < b->n; i++) pl_json_put_int(out, NULL, b->at[i].n);
    pl_json_close(out);
    pl_json_open(out, "coord", PL_JSON_LIST);
    for (int i = 0; i < b->n; i++)
        for (int a = 0; a < v->mesh->n; a++)
            if (axes >> a & 1) pl_json_put_int(out, NULL, b->at[i].coord[a]);
    pl_json_close(out);
    pl_json_close(out);
}

static void put_place(const pl_html_view *v, const pl_value *x, const pl_placement *p,
                      pl_arena *tmp, pl_json_out *out)
{
    const bool whole = !p->n && !p->pending;
    pl_json_open(out, NULL, PL_JSON_OBJECT);
    PL_JSON_PUT(out, "text", whole ? "whole" : pl_placement_text(tmp, p, v->mesh, x->shape.rank),
                "pending", (bool)(p->pending != 0));
    pl_json_open(out, "cuts", PL_JSON_LIST);
    for (int dim = 0; dim < x->shape.rank; dim++) {
        const unsigned axes = find_axes(p, dim);
        if (!axes) continue;
        const bands b = cut(v, x, p, dim, tmp);
        put_cut(v, dim, axes, &b, out);
    }
    pl_json_close(out);
    pl_json_close(out);
}

void pl_html_cut_put(const pl_html_view *v, const char *key, const pl_html_groups *groups,
                     pl_arena *tmp, pl_json_out *out)
{
    pl_json_open_lines(out, key, PL_JSON_LIST);
    for (int i = 0; i < groups->n; i++) {
        const pl_html_group *g = &groups->at[i];
        const pl_value *x = g->value;
        pl_json_open(out, NULL, PL_JSON_OBJECT);
        PL_JSON_PUT(out, "name", g->name, "count", g->count, "bytes", g->bytes, "whole",
                    pl_shape_count(&x->shape) * pl_type_bytes(x->type), "type",
                    pl_type_name(x->type));
        pl_json_open(out, "shape", PL_JSON_LIST);
        for (int d = 0; d < x->shape.rank; d++) pl_json_put_int(out, NULL, x->shape.dim[d]);
        pl_json_close(out);
        pl_json_open(out, "at", PL_JSON_LIST); /* as it is stored or made, and as it is read */
        put_place(v, x, &v->made[x->id], tmp, out);
        put_place(v, x, &v->used[x->id], tmp, out);
        pl_json_close(out);
        pl_json_close(out);
    }
    pl_json_close(out);
}
