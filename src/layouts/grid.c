/* Layers on a grid of devices: one axis takes the rows m, one the columns n, one the sum k; weights
 * at rest are split over all of them. 2-D is SUMMA as in Optimus (Xu et al., 2021), 2.5-D Tesseract
 * (Wang et al., 2021), which puts D such grids side by side; 3-D (Bian et al., 2021) has results
 * where the next layer's rows are wanted, so that n and k change places from layer to layer.
 *
 * The gathers of rows and columns that SUMMA does in steps follow (plan/steps.h). */
#include "layouts/layer.h"
#include "layouts/list.h"

#include <string.h>

enum { GRID = PL_AXIS_LAYERS | PL_AXIS_ROAM };

static bool add_axes(pl_strategy *s, const char *m, const char *n, const int size[3])
{
    return pl_strategy_axis(s, &pl_layout_grid, "A", m, size[0], GRID | PL_AXIS_ROWS) &&
           pl_strategy_axis(s, &pl_layout_grid, "B", n, size[1], GRID);
}

static bool is_square(const pl_word *word, bool square, const int size[3], pl_err *err)
{
    return square ||
           pl_err_set(err, PL_EUSAGE,
                      "strategy: '%s%dx%d%s': its sides have to be equal (grid:AxBxC takes any)",
                      word->name, size[0], size[1], word->n_sizes > 2 ? "x..." : "");
}

static bool say_summa(pl_strategy *s, const pl_word *word, const int size[3], pl_err *err)
{
    return is_square(word, size[0] == size[1], size, err) &&
           pl_strategy_axis(s, &pl_layout_grid, "depth", "depth", size[2], GRID | PL_AXIS_ROWS) &&
           add_axes(s, "row", "column", size);
}

static bool say_cube(pl_strategy *s, const pl_word *word, const int size[3], pl_err *err)
{
    const bool cube = size[0] == size[1] && size[1] == size[2];
    return is_square(word, cube || !strcmp(word->name, "grid:"), size, err) &&
           add_axes(s, "i", "j", size) &&
           pl_strategy_axis(s, &pl_layout_grid, "C", "l", size[2], GRID);
}

static bool does_alternate(const pl_layer *x)
{
    const pl_said *said = pl_strategy_said(x->on->strategy, "tp or grid");
    return said && said->word->say == say_cube;
}

static void choose_rows(pl_layer *x, int axis)
{
    if (axis < 0) return;
    pl_layer_offer(x, axis, x->l.m | x->l.batch);
    pl_layer_take(x, axis, pl_layer_pick_rows(x, axis));
}

/* Which axis takes the columns here: what split the columns of the layer before splits the sum of
 * this one. Where the activations do not show it any more, what they come from does. A table comes
 * before the first layer. */
static void find_axes(const pl_layer *x, int *n, int *k)
{
    const int columns = *n, sum = *k;
    if (!does_alternate(x)) return;
    bool by_n = columns >= 0 && pl_layer_arrives_by_k(x, columns);
    bool by_k = sum >= 0 && pl_layer_arrives_by_k(x, sum);
    bool came = pl_layer_came_by(x) == columns || x->l.lookup;
    if (by_n || (!by_k && came)) *n = sum, *k = columns;
}

static int find_axis(const pl_layer *x, const char *name, const char *other)
{
    const int axis = pl_layer_axis(x, name);
    return axis >= 0 ? axis : pl_layer_axis(x, other);
}

static void choose(pl_layer *x)
{
    const int m = find_axis(x, "row", "i");
    int n = find_axis(x, "column", "j"), k = pl_layer_axis(x, "l");
    x->at_rest = m;
    choose_rows(x, pl_layer_axis(x, "depth"));
    choose_rows(x, m);
    find_axes(x, &n, &k);
    if (k >= 0) {
        pl_layer_offer(x, k, x->l.k);
        const int at = x->arrives.factor[k];
        pl_layer_take(x, k, pl_layer_has(x->l.k, at) ? at : pl_layer_pick(x, k, x->l.k));
    }
    if (n >= 0) {
        pl_layer_offer(x, n, x->l.n);
        pl_layer_take(x, n, pl_layer_pick_columns(x, n));
    }
    pl_layer_goes_by(x, n);
    if (m < 0 || does_alternate(x)) return;
    pl_layer_regather(x, x->l.x);
    pl_layer_regather(x, x->l.w);
}

static void list(pl_texts *out, int n_devices)
{
    for (int q = 2; q * q <= n_devices; q++) {
        pl_texts_fmt(out, "tp=2d:%dx%d", q, q);
        for (int d = 2; d * q * q <= n_devices; d++) pl_texts_fmt(out, "tp=2.5d:%dx%dx%d", q, q, d);
        pl_texts_fmt(out, "tp=3d:%dx%dx%d", q, q, q);
    }
    for (int a = 1; a <= n_devices; a++)
        for (int b = 1; a * b <= n_devices; b++)
            if (n_devices % (a * b) == 0)
                pl_texts_fmt(out, "grid:%dx%dx%d", a, b, n_devices / a / b);
}

const pl_layout pl_layout_grid = {
    .name = "grid",
    .about = "2-D (Xu et al., 2021), 2.5-D Tesseract (Wang et al., 2021), 3-D (Bian et al., 2021)",
    .words =
        (const pl_word[]){
            { "tp=2d:", "tp=2d:QxQ", 2, "tp or grid", "SUMMA (Optimus), over axes row and column",
              say_summa },
            { "tp=2.5d:", "tp=2.5d:QxQxD", 3, "tp or grid",
              "Tesseract: SUMMA on each of D layers, axis depth, which split the batch",
              say_summa },
            { "tp=3d:", "tp=3d:QxQxQ", 3, "tp or grid",
              "3-D: activations, weights and results each split over axes i, j and l", say_cube },
            { "grid:", "grid:AxBxC", 3, "tp or grid",
              "any layer [m,k] x [k,n]: A parts of m, B of n, C of k; the next one A, C, B",
              say_cube },
            { 0 },
        },
    .offers = (const pl_offer[]){ { "grid:MxNx1", PL_OFFER_LATER }, { 0 } },
    .layer = choose,
    .list = list,
};
