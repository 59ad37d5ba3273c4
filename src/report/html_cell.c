/* A picture of how a tensor is cut: a square of its two main dimensions, each part in the colours
 * of the devices that hold it. An axis of the mesh has a colour, a device's coordinate on it a
 * shade; grey is what every device has. */
#include "report/html_page.h"

#include <stdlib.h>

enum { MOST_BANDS = 64, MOST_SQUARE = 16, MOST_NAMED = 8 };

/* An interval of one dimension, and the coordinates of those who hold it; -1: any. */
typedef struct band {
    int64_t lo, n;
    int coord[PL_MAX_AXES];
} band;

typedef struct bands {
    int n, cap;
    band *at;
    int64_t extent; /* indices that are drawn                       */
    int64_t all;    /* intervals, of which the first n are drawn    */
} bands;

/* -- colours ----------------------------------------------------------------------------------- */

/* First and last shade of each axis, which can be told apart on white and on black. */
static const unsigned char ramp[PL_MAX_AXES][2][3] = {
    { { 0xa6, 0xcb, 0xee }, { 0x1d, 0x5c, 0xa6 } }, { { 0xfc, 0xcf, 0x98 }, { 0xbf, 0x58, 0x08 } },
    { { 0xa8, 0xdf, 0xc3 }, { 0x16, 0x78, 0x58 } }, { { 0xee, 0xb2, 0xd4 }, { 0xa0, 0x26, 0x6d } },
    { { 0xe6, 0xdd, 0x86 }, { 0x8a, 0x79, 0x0c } }, { { 0xcb, 0xbb, 0xf0 }, { 0x5a, 0x3f, 0xa6 } },
};

static void draw_shade(pl_html_page *p, const pl_html_view *v, int axis, int coord,
                       const int box[4])
{
    const unsigned char(*r)[3] = ramp[v->colour[axis] % PL_MAX_AXES];
    int last = v->mesh->axis[axis].size - 1, c[3];
    for (int i = 0; i < 3; i++)
        c[i] = last > 0 ? (r[0][i] * (last - coord) + r[1][i] * coord) / last : r[1][i];
    pl_text_add(p->out, "<path fill=\"#%02x%02x%02x\" d=\"M%d %dh%dv%dh-%dz\"/>", (unsigned)c[0],
                (unsigned)c[1], (unsigned)c[2], box[0], box[1], box[2], box[3], box[2]);
}

static void draw_all(pl_html_page *p, const int box[4])
{
    pl_text_add(p->out, "<path class=\"all\" d=\"M%d %dh%dv%dh-%dz\"/>", box[0], box[1], box[2],
                box[3], box[2]);
}

static void draw_sum(pl_html_page *p, int width, int height)
{
    pl_text_add(p->out, "<path class=\"sum\" fill=\"url(#sum)\" d=\"M0 0h%dv%dh-%dz\"/>", width,
                height, width);
}

static void open_sample(pl_html_page *p, int n)
{
    pl_text_add(p->out, "<span><svg width=\"%d\" height=\"12\">", 12 * n);
}

void pl_html_cell_legend(pl_html_page *p, const pl_html_view *v)
{
    static const int box[4] = { 0, 0, 12, 12 }, inner[4] = { 3, 3, 6, 6 };
    pl_text_add(p->out, "<p class=\"key\">");
    for (int a = 0; a < v->mesh->n; a++) {
        int size = v->mesh->axis[a].size, n = size < MOST_SQUARE ? size : MOST_SQUARE;
        if (size == 1) continue;
        open_sample(p, n);
        for (int i = 0; i < n; i++)
            draw_shade(p, v, a, (int)((int64_t)i * (size - 1) / (n - 1)),
                       (const int[4]){ 12 * i, 0, 11, 12 });
        pl_text_add(p->out, "</svg> split over %s 0\xe2\x80\xa6%d</span>",
                    pl_html_text(p->tmp, v->mesh->axis[a].name), size - 1);
    }
    if (v->mesh->n > 1) {
        open_sample(p, 1);
        draw_shade(p, v, 0, 0, box);
        draw_shade(p, v, 1, 0, inner);
        pl_text_add(p->out, "</svg> over both</span>");
    }
    open_sample(p, 1);
    draw_all(p, box);
    pl_text_add(p->out, "</svg> on every device</span>");
    open_sample(p, 1);
    draw_all(p, box);
    draw_sum(p, 12, 12);
    pl_text_add(p->out, "</svg> a sum is pending</span></p>\n");
}

/* -- cuts -------------------------------------------------------------------------------------- */

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
static void trim(bands *b, int most)
{
    int n = 0;
    int64_t end = 0;
    if (b->n) qsort(b->at, (size_t)b->n, sizeof *b->at, by_start);
    for (int i = 0; i < b->n && n < most; i++) {
        band x = b->at[i];
        if (x.lo < end) x.n -= end - x.lo, x.lo = end;
        if (x.n <= 0) continue;
        b->at[n++] = x;
        end = x.lo + x.n;
    }
    b->n = n;
    if (b->all > n) b->extent = end;
}

static bands cut(const pl_html_view *v, const pl_value *x, const pl_placement *p, int dim, int most,
                 pl_arena *tmp)
{
    unsigned axes = dim < 0 ? 0 : find_axes(p, dim);
    bands b = { .extent = dim < 0 ? 1 : x->shape.dim[dim] };
    for (int rank = 0; rank < pl_mesh_ranks(v->mesh); rank++) {
        band like = { 0 };
        bool wanted = true; /* one device of those that hold the same */
        for (int a = 0; a < v->mesh->n; a++) {
            int c = pl_mesh_coord(v->mesh, rank, a);
            like.coord[a] = axes >> a & 1 ? c : -1;
            wanted &= axes >> a & 1 || !c;
        }
        if (!wanted) continue;
        pl_region r = pl_region_of(p, v->mesh, &x->shape, rank);
        int n = 0, left = MOST_BANDS;
        for (int i = 0; i < r.n; i++)
            if (r.digit[i].dim == dim) r.digit[n++] = r.digit[i];
        b.all += count_bands(r.digit, n);
        add_bands(&b, tmp, r.digit, n, 0, &like, &left);
    }
    trim(&b, most);
    return b;
}

/* -- drawing ----------------------------------------------------------------------------------- */

/* The i-th device, ascending, of those that have these coordinates; -1 is any. */
static int find_device(const pl_mesh *m, const int coord[], int64_t i)
{
    int rank = 0, stride = 1;
    for (int a = m->n - 1; a >= 0; a--) {
        int size = m->axis[a].size, c = coord[a];
        if (c < 0) c = (int)(i % size), i /= size;
        rank += c * stride;
        stride *= size;
    }
    return rank;
}

/* "[0:192, 0:768] tensor=1; devices 1 5 9 13" */
static void write_title(pl_html_page *p, const pl_html_view *v, const pl_placement *at, bool rows,
                        const band *row, const band *col)
{
    int coord[PL_MAX_AXES];
    int64_t count = 1;
    bool elsewhere = false; /* an axis cuts a dimension that is not shown */
    pl_text_add(p->out, "<title>[");
    if (rows) pl_text_add(p->out, "%lld:%lld, ", (long long)row->lo, (long long)(row->lo + row->n));
    pl_text_add(p->out, "%lld:%lld]", (long long)col->lo, (long long)(col->lo + col->n));
    for (int a = 0; a < v->mesh->n; a++) {
        coord[a] = row->coord[a] >= 0 ? row->coord[a] : col->coord[a];
        if (coord[a] >= 0)
            pl_text_add(p->out, " %s=%d", pl_html_text(p->tmp, v->mesh->axis[a].name), coord[a]);
        else
            count *= v->mesh->axis[a].size, elsewhere |= pl_placement_axes(at) >> a & 1;
    }
    pl_text_add(p->out, "; device%s", count > 1 ? "s" : "");
    for (int64_t i = 0; i < count && i < MOST_NAMED; i++)
        pl_text_add(p->out, " %d", find_device(v->mesh, coord, i));
    if (count > MOST_NAMED) pl_text_add(p->out, " \xe2\x80\xa6 (%lld)", (long long)count);
    pl_text_add(p->out, "%s</title>", elsewhere ? "; cut in another dimension, too" : "");
}

/* A part that several axes cut has the colour of the first and, inside, that of the next: further
 * in along the direction that the next one does not cut, or in both where there is room. */
static void draw_part(pl_html_page *p, const pl_html_view *v, const band *row, const band *col,
                      const int part[4])
{
    enum { ROOM = 8 };
    int box[4] = { part[0], part[1], part[2], part[3] }, n = 0;
    for (int pass = 0; pass < 2; pass++)
        for (int a = 0; a < v->mesh->n; a++) {
            const band *x = pass ? col : row;
            int w = n && (!pass || box[2] >= ROOM) ? box[2] / 4 : 0;
            int h = n && (pass || box[3] >= ROOM) ? box[3] / 4 : 0;
            if (x->coord[a] < 0) continue;
            box[0] += w, box[2] -= 2 * w, box[1] += h, box[3] -= 2 * h;
            draw_shade(p, v, a, x->coord[a], box);
            n++;
        }
    if (!n) draw_all(p, box);
}

/* Pixels from..to of interval b; a seam of a pixel between parts where there is room for it. */
static void place(const bands *b, int i, int pixels, int *from, int *size)
{
    *from = (int)(b->at[i].lo * pixels / b->extent);
    int end = (int)((b->at[i].lo + b->at[i].n) * pixels / b->extent);
    *size = end - *from;
    if (pixels >= 5 * b->n && end < pixels) --*size;
    if (*size < 1) *size = 1;
}

static void say_less(pl_html_page *p, const bands *b)
{
    if (b->all > b->n)
        pl_text_add(p->out, "<small>first %d of %lld</small>", b->n, (long long)b->all);
}

void pl_html_cell_draw(pl_html_page *p, const pl_html_view *v, const pl_value *x,
                       const pl_placement *at, const int dim[2], int pixels)
{
    bands col = cut(v, x, at, dim[1], MOST_BANDS, p->tmp),
          row = cut(v, x, at, dim[0], MOST_BANDS, p->tmp);
    if (row.n * col.n > MOST_SQUARE * MOST_SQUARE) {
        row = cut(v, x, at, dim[0], MOST_SQUARE, p->tmp);
        col = cut(v, x, at, dim[1], MOST_SQUARE, p->tmp);
    }
    int height = dim[0] >= 0 ? pixels : pixels / 4;
    pl_text_add(p->out, "<svg class=\"cell\" width=\"%d\" height=\"%d\">", pixels, height);
    for (int i = 0; i < row.n; i++)
        for (int j = 0; j < col.n; j++) {
            int box[4];
            place(&col, j, pixels, &box[0], &box[2]);
            place(&row, i, height, &box[1], &box[3]);
            pl_text_add(p->out, "<g>");
            write_title(p, v, at, dim[0] >= 0, &row.at[i], &col.at[j]);
            draw_part(p, v, &row.at[i], &col.at[j], box);
            pl_text_add(p->out, "</g>");
        }
    if (at->pending) draw_sum(p, pixels, height);
    pl_text_add(p->out, "</svg>");
    say_less(p, &row);
    say_less(p, &col);
}

/* -- which dimensions -------------------------------------------------------------------------- */

void pl_html_cell_dims(const pl_html_view *v, const pl_value *x, int n, const pl_placement at[],
                       int dim[2])
{
    int64_t best[2] = { -1, -1 }, score;
    dim[0] = dim[1] = -1;
    for (int d = 0; d < x->shape.rank; d++) {
        int64_t parts = 1;
        for (int i = 0; i < n; i++)
            for (int k = 0; k < at[i].n; k++)
                if (at[i].split[k].dim == d) parts *= v->mesh->axis[at[i].split[k].axis].size;
        score = parts > 1 ? INT64_MAX / 2 + parts : x->shape.dim[d];
        if (x->shape.dim[d] < 2 && x->shape.rank > 1) continue;
        if (score > best[0]) {
            best[1] = best[0], dim[1] = dim[0];
            best[0] = score, dim[0] = d;
        } else if (score > best[1]) {
            best[1] = score, dim[1] = d;
        }
    }
    if (dim[1] < 0 || dim[0] > dim[1]) { /* a single one is drawn from left to right */
        int first = dim[0];
        dim[0] = dim[1], dim[1] = first;
    }
}
