/* Mapping of GridSample: elements of an image at places that are computed, between its pixels. Each
 * place is a sum of the pixels around it, which are looked up; the weights follow from how far they
 * are, and so does the gradient to the places. Source: ONNX, GridSample-16 and 20. */
#include "import/map.h"

#include "ops/list.h"

#include <string.h>

enum { MOST_TAPS = 4 };

typedef struct sampling {
    char mode;    /* 'n'earest, 'l'inear, 'c'ubic   */
    char padding; /* 'z'eros, 'b'order, 'r'eflection */
    bool corners;
} sampling;

/* The pixels along one dimension, with their weights. */
typedef struct taps {
    int n;
    pl_value *at[MOST_TAPS], *weight[MOST_TAPS];
} taps;

static pl_value *plus(pl_import *m, pl_value *x, double by)
{
    return x ? PL_EACH(m, &pl_op_add, "", x, pl_constant(m, x->type, by)) : NULL;
}

static pl_value *unary(pl_import *m, const struct pl_op *op, pl_value *x)
{
    return x ? PL_ADD(m->b, op, NULL, x) : NULL;
}

static pl_value *clipped(pl_import *m, pl_value *x, double lo, double hi)
{
    return x ? PL_ADD(m->b, &pl_op_clip, pl_arena_fmt(m->a, "; lo=%.17g hi=%.17g", lo, hi), x)
             : NULL;
}

/* Mirrored at both ends until it is within them. */
static pl_value *reflected(pl_import *m, const sampling *g, pl_value *x, double size)
{
    const double lo = g->corners ? 0 : -0.5, range = g->corners ? size - 1 : size;
    if (!x || range < 1) return x ? pl_scaled(m, x, 0) : NULL;
    x = unary(m, &pl_op_abs, plus(m, x, -lo));
    x = x ? PL_EACH(m, &pl_op_mod, "", x, pl_constant(m, x->type, 2 * range)) : NULL;
    x = pl_scaled(m, unary(m, &pl_op_abs, plus(m, x, -range)), -1);
    return plus(m, x, range + lo);
}

/* Where a coordinate that is outside counts. */
static pl_value *brought_in(pl_import *m, const sampling *g, pl_value *x, double size)
{
    if (g->padding == 'z') return x;
    if (g->padding == 'r') x = reflected(m, g, x, size);
    return clipped(m, x, 0, size - 1);
}

/* -1 .. 1 as 0 .. size - 1, or as the outer borders of these pixels. */
static pl_value *pixels_of(pl_import *m, const sampling *g, pl_value *x, double size)
{
    if (g->corners) return pl_scaled(m, plus(m, x, 1), (size - 1) / 2);
    return plus(m, pl_scaled(m, plus(m, x, 1), size / 2), -0.5);
}

/* What a pixel counts at distance d: ((a + 2) d - (a + 3)) d^2 + 1 within 1, and
 * ((a d - 5 a) d + 8 a) d - 4 a within 2, with a = -0.75. */
static pl_value *cubic(pl_import *m, pl_value *d, bool near)
{
    const double a = -0.75,
                 factor[2][4] = { { a, -5 * a, 8 * a, -4 * a }, { a + 2, -(a + 3), 0, 1 } };
    const double *c = factor[near];
    pl_value *y = plus(m, pl_scaled(m, d, c[0]), c[1]);
    for (int i = 2; i < 4; i++) y = plus(m, PL_EACH(m, &pl_op_mul, "", y, d), c[i]);
    return y;
}

static void find_weights(pl_import *m, const sampling *g, pl_value *x, taps *t)
{
    pl_value *low = unary(m, &pl_op_floor, x);
    pl_value *over = x && low ? PL_EACH(m, &pl_op_sub, "", x, low) : NULL;
    if (g->mode == 'n') {
        *t = (taps){ 1, { unary(m, &pl_op_round, x) }, { NULL } };
    } else if (g->mode == 'l') {
        *t = (taps){ 2, { low, plus(m, low, 1) }, { plus(m, pl_scaled(m, over, -1), 1), over } };
    } else {
        t->n = 4;
        for (int k = 0; k < 4; k++) {
            t->at[k] = plus(m, low, k - 1);
            pl_value *d = k < 2 ? plus(m, over, 1 - k) : plus(m, pl_scaled(m, over, -1), k - 1);
            t->weight[k] = cubic(m, d, k == 1 || k == 2);
        }
    }
}

/* 1 where a pixel is within the image, else 0. */
static pl_value *inside(pl_import *m, pl_value *x, double size)
{
    if (!x) return NULL;
    pl_value *low = PL_EACH(m, &pl_op_less, "", pl_constant(m, x->type, -0.5), x);
    pl_value *high = PL_EACH(m, &pl_op_less, "", x, pl_constant(m, x->type, size - 0.5));
    return pl_cast_to(m, PL_EACH(m, &pl_op_and, "", low, high), x->type);
}

static void find_taps(pl_import *m, const sampling *g, pl_value *x, double size, taps *t)
{
    x = pixels_of(m, g, x, size);
    if (g->mode != 'c') x = brought_in(m, g, x, size);
    find_weights(m, g, x, t);
    for (int k = 0; k < t->n; k++) {
        pl_value *at = t->at[k];
        if (g->mode == 'c') at = brought_in(m, g, at, size);
        if (g->padding == 'z') {
            pl_value *in = inside(m, at, size);
            t->weight[k] = t->weight[k] ? PL_EACH(m, &pl_op_mul, "", t->weight[k], in) : in;
        }
        t->at[k] = clipped(m, at, 0, size - 1);
    }
}

/* The pixels [n, c, y x] at [n, k], times a weight [n, k] or NULL. */
static pl_value *looked_up(pl_import *m, pl_value *x, pl_value *row, pl_value *column, double width,
                           pl_value *by[2])
{
    pl_value *at = row ? PL_EACH(m, &pl_op_add, "", pl_scaled(m, row, width), column) : column;
    at = pl_cast_to(m, at, PL_I64);
    pl_value *y = at ? PL_ADD(m->b, &pl_op_gather_elements, "nce,nk->nck", x, at) : NULL;
    for (int i = 0; i < 2; i++)
        if (y && by[i]) y = PL_ADD(m->b, &pl_op_mul, "nck,nk->nck", y, by[i]);
    return y;
}

static bool read_sampling(pl_import *m, sampling *g)
{
    const char *mode = pl_attr_text(m, "mode", "linear");
    const char *padding = pl_attr_text(m, "padding_mode", "zeros");
    *g = (sampling){ strncmp(mode, "bi", 2) ? *mode : mode[2], *padding,
                     pl_attr_int(m, "align_corners", 0) };
    return (strchr("nlc", g->mode) && strchr("zbr", g->padding)) ||
           pl_map_refuse(m, "mode=%s padding_mode=%s", mode, padding);
}

bool pl_map_grid_sample(pl_import *m)
{
    sampling g;
    pl_value *x = pl_in(m, 0), *grid = pl_in(m, 1), *y = NULL;
    taps rows, columns;
    if (!x || !grid) return false;
    PL_TRY(read_sampling(m, &g));
    const pl_shape s = x->shape, at = grid->shape;
    if (s.rank != 4 || at.rank != 4) return pl_map_refuse(m, "images of %d dimensions", s.rank);
    if (at.dim[3] != 2 || at.dim[0] != s.dim[0])
        return pl_map_fail(m, "the grid is %s", pl_shape_text(m->a, grid->type, &at));
    const double height = (double)s.dim[2], width = (double)s.dim[3];
    if (height * width > 0x1p24) return pl_map_refuse(m, "images of more than 2^24 pixels");
    const pl_shape places = PL_SHAPE(at.dim[0], at.dim[1] * at.dim[2]);
    find_taps(m, &g, pl_shaped(m, pl_sliced(m, grid, 3, 1, 1), &places), height, &rows);
    find_taps(m, &g, pl_shaped(m, pl_sliced(m, grid, 3, 0, 1), &places), width, &columns);
    x = pl_shaped(m, x, &PL_SHAPE(s.dim[0], s.dim[1], s.dim[2] * s.dim[3]));
    for (int r = 0; r < rows.n && x; r++)
        for (int c = 0; c < columns.n; c++) {
            pl_value *by[2] = { rows.weight[r], columns.weight[c] };
            pl_value *part = looked_up(m, x, rows.at[r], columns.at[c], width, by);
            y = y ? PL_EACH(m, &pl_op_add, "", y, part) : part;
        }
    pl_out(m, 0, pl_shaped(m, y, &PL_SHAPE(s.dim[0], s.dim[1], at.dim[1], at.dim[2])));
    return true;
}
