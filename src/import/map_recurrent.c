/* Mappings of recurrent layers: unrolled, a few nodes for each position. Shapes as in the
 * specification: x [s,b,i], w [d,gates h,i], r [d,gates h,h], biases [d,2 gates h], y [s,d,b,h]. */
#include "import/map.h"

#include "ops/list.h"

#include <string.h>

enum { MOST_STEPS = 4096 };

typedef struct layer {
    int gates;
    int64_t seq, batch, hidden;
    bool backward, relu;  /* relu: instead of tanh, in a plain cell */
    pl_value *x;          /* [s,b,gates h] of the inputs' product with w, and their bias */
    pl_value *r;          /* [gates h,h]       */
    pl_value *bias_r;     /* [gates h] or NULL */
    pl_value *peep;       /* [3h] or NULL: weights of c in the gates i, o, f of an LSTM */
    const int64_t *known; /* [b] positions of each row that count, NULL: not known     */
    pl_value *lengths;    /* [b] the same in the graph; NULL: all count                 */
    pl_value *h, *c;      /* [b,h], now        */
} layer;

/* Direction d of what has one first. */
static pl_value *direction_of(pl_import *m, pl_value *x, int d)
{
    return x ? pl_squeezed(m, pl_sliced(m, x, 0, d, 1), 0) : NULL;
}

static pl_value *direction(pl_import *m, int k, int d)
{
    return pl_has(m, k) ? direction_of(m, pl_in(m, k), d) : NULL;
}

/* layout=1 has the batch first in x, y, h and c. */
static pl_value *swapped(pl_import *m, pl_value *x)
{
    if (!pl_attr_int(m, "layout", 0) || !x || x->shape.rank != 3) return x;
    return pl_transposed(m, x, (const int[]){ 1, 0, 2 });
}

static pl_value *zeros(pl_import *m, const layer *l)
{
    return pl_filled(m, PL_F32, 0, &PL_SHAPE(l->batch, l->hidden));
}

static pl_value *gate(pl_import *m, pl_value *all, const layer *l, int g)
{
    return all ? pl_sliced(m, all, all->shape.rank - 1, g * l->hidden, l->hidden) : NULL;
}

static pl_value *sigmoid(pl_import *m, pl_value *x)
{
    return x ? PL_ADD(m->b, &pl_op_sigmoid, NULL, x) : NULL;
}

static pl_value *squash(pl_import *m, pl_value *x)
{
    return x ? PL_ADD(m->b, &pl_op_tanh, NULL, x) : NULL;
}

/* The product of h with (part of) r, and its bias. */
static pl_value *recur(pl_import *m, pl_value *h, pl_value *r, pl_value *bias)
{
    pl_value *y = h && r ? PL_ADD(m->b, &pl_op_einsum, "bh,gh->bg", h, r) : NULL;
    return y && bias ? PL_ADD(m->b, &pl_op_add, "bg,g->bg", y, bias) : y;
}

/* -- cells: x [b,gates h] ---------------------------------------------------------------------- */

static void step_rnn(pl_import *m, layer *l, pl_value *x)
{
    pl_value *y = PL_EACH(m, &pl_op_add, "", x, recur(m, l->h, l->r, l->bias_r));
    l->h = l->relu && y ? PL_ADD(m->b, &pl_op_relu, NULL, y) : squash(m, y);
}

/* What goes into gate g, with the part of c that its peephole lets through. */
static pl_value *peek(pl_import *m, pl_value *all, const layer *l, int g)
{
    pl_value *x = gate(m, all, l, g);
    if (!l->peep) return x;
    return PL_EACH(m, &pl_op_add, "", x, PL_EACH(m, &pl_op_mul, "", gate(m, l->peep, l, g), l->c));
}

/* Gates i, o, f, c; o sees the new c. */
static void step_lstm(pl_import *m, layer *l, pl_value *x)
{
    pl_value *all = PL_EACH(m, &pl_op_add, "", x, recur(m, l->h, l->r, l->bias_r));
    pl_value *i = sigmoid(m, peek(m, all, l, 0)), *f = sigmoid(m, peek(m, all, l, 2));
    pl_value *c = squash(m, gate(m, all, l, 3));
    l->c = PL_EACH(m, &pl_op_add, "", PL_EACH(m, &pl_op_mul, "", f, l->c),
                   PL_EACH(m, &pl_op_mul, "", i, c));
    l->h = PL_EACH(m, &pl_op_mul, "", sigmoid(m, peek(m, all, l, 1)), squash(m, l->c));
}

/* Gates z, r, h; linear_before_reset: r multiplies the product, else what goes into it. */
static void step_gru(pl_import *m, layer *l, pl_value *x)
{
    const bool after = pl_attr_int(m, "linear_before_reset", 0);
    const int64_t h = l->hidden;
    pl_value *r2 = pl_sliced(m, l->r, 0, 0, 2 * h), *r1 = pl_sliced(m, l->r, 0, 2 * h, h);
    pl_value *b2 = l->bias_r ? pl_sliced(m, l->bias_r, 0, 0, 2 * h) : NULL;
    pl_value *b1 = l->bias_r ? pl_sliced(m, l->bias_r, 0, 2 * h, h) : NULL;
    pl_value *zr = PL_EACH(m, &pl_op_add, "", pl_sliced(m, x, 1, 0, 2 * h), recur(m, l->h, r2, b2));
    pl_value *z = sigmoid(m, gate(m, zr, l, 0)), *r = sigmoid(m, gate(m, zr, l, 1)), *n;
    if (after)
        n = PL_EACH(m, &pl_op_mul, "", r, recur(m, l->h, r1, b1));
    else
        n = recur(m, PL_EACH(m, &pl_op_mul, "", r, l->h), r1, b1);
    n = squash(m, PL_EACH(m, &pl_op_add, "", gate(m, x, l, 2), n));
    /* (1 - z) n + z h = n + z (h - n) */
    pl_value *d = PL_EACH(m, &pl_op_sub, "", l->h, n);
    l->h = PL_EACH(m, &pl_op_add, "", n, PL_EACH(m, &pl_op_mul, "", z, d));
}

/* -- layers ------------------------------------------------------------------------------------ */

typedef void stepper(pl_import *m, layer *l, pl_value *x);

static bool open_layer(pl_import *m, layer *l, int d)
{
    pl_value *x = swapped(m, pl_in(m, 0)), *w = direction(m, 1, d), *bias = direction(m, 3, d);
    if (!x || !w) return false;
    const int64_t wide = l->gates * l->hidden;
    l->r = direction(m, 2, d);
    l->x = PL_ADD(m->b, &pl_op_einsum, "sbi,gi->sbg", x, w);
    if (bias && l->x) {
        l->x = PL_ADD(m->b, &pl_op_add, "sbg,g->sbg", l->x, pl_sliced(m, bias, 0, 0, wide));
        l->bias_r = pl_sliced(m, bias, 0, wide, wide);
    }
    l->h = pl_has(m, 5) ? direction_of(m, swapped(m, pl_in(m, 5)), d) : zeros(m, l);
    l->c = pl_has(m, 6) ? direction_of(m, swapped(m, pl_in(m, 6)), d) : zeros(m, l);
    l->peep = direction(m, 7, d);
    return l->r && l->x && l->h && l->c && (l->peep || !pl_has(m, 7));
}

/* [b,1] does a row have position `at`? NULL: each of them. */
static pl_value *find_live(pl_import *m, const layer *l, int64_t at)
{
    bool all = l->known || !l->lengths;
    for (int64_t b = 0; b < l->batch && all && l->lengths; b++) all = at < l->known[b];
    if (all) return NULL;
    pl_value *here = pl_constant(m, l->lengths->type, (double)at);
    return pl_unsqueezed(m, PL_EACH(m, &pl_op_less, "", here, l->lengths), 1);
}

/* One position: rows that have ended keep h and c, and put out zeros. */
static pl_value *run_position(pl_import *m, layer *l, stepper *step, int64_t at)
{
    pl_value *const h = l->h, *const c = l->c, *const live = find_live(m, l, at);
    step(m, l, pl_squeezed(m, pl_sliced(m, l->x, 0, at, 1), 0));
    if (!live) return l->h;
    pl_value *y = PL_EACH(m, &pl_op_where, "", live, l->h, zeros(m, l));
    l->h = PL_EACH(m, &pl_op_where, "", live, l->h, h);
    if (l->c != c) l->c = PL_EACH(m, &pl_op_where, "", live, l->c, c);
    return y;
}

/* [b,h] of each position, joined to [s,1,b,h]. */
static pl_value *run_layer(pl_import *m, layer *l, stepper *step)
{
    pl_value **y = PL_NEW_N(m->a, pl_value *, l->seq);
    for (int64_t i = 0; i < l->seq; i++) {
        const int64_t at = l->backward ? l->seq - 1 - i : i;
        y[at] = pl_unsqueezed(m, run_position(m, l, step, at), 0);
        if (!y[at]) return NULL;
    }
    pl_value *all = pl_joined(m, y, (int)l->seq, 0);
    return pl_unsqueezed(m, all, 1);
}

/* Are the activations the usual ones, or Relu throughout a plain cell? */
static bool read_activations(pl_import *m, int gates, bool *relu)
{
    static const char *const usual[] = { "Tanh", NULL, "Sigmoid Tanh", "Sigmoid Tanh Tanh" };
    const Onnx__AttributeProto *x = pl_attr_find(m, "activations");
    const int each = gates == 1 ? 1 : gates - 1;
    *relu = x && gates == 1 && x->n_strings && x->strings[0].len == 4 &&
            !memcmp(x->strings[0].data, "Relu", 4);
    for (size_t i = 0; x && i < x->n_strings; i += (size_t)each) {
        pl_text names = { .arena = m->a };
        for (size_t k = i; k < i + (size_t)each && k < x->n_strings; k++)
            pl_text_add(&names, "%s%.*s", k > i ? " " : "", (int)x->strings[k].len,
                        (const char *)x->strings[k].data);
        if (strcmp(pl_text_get(&names), *relu ? "Relu" : usual[gates - 1]) != 0)
            return pl_map_refuse(m, "activations %s", pl_text_get(&names));
    }
    return true;
}

static bool read_lengths(pl_import *m, layer *l)
{
    int n = 0;
    if (!pl_has(m, 4)) return true;
    if (pl_item_shape(m->in[4])->rank != 1 || pl_item_shape(m->in[4])->dim[0] != l->batch)
        return pl_map_fail(m, "sequence_lens has to have one number for each of %lld rows",
                           (long long)l->batch);
    if (pl_item_known(m->in[4])) l->known = pl_in_ints(m, 4, (int)l->batch, &n);
    return (l->lengths = pl_in(m, 4)) != NULL;
}

static bool out_all(pl_import *m, int n, pl_value *y[], pl_value *h[], pl_value *c[])
{
    pl_value *all = pl_joined(m, y, n, 1);
    if (pl_attr_int(m, "layout", 0) && all)
        all = pl_transposed(m, all, (const int[]){ 2, 0, 1, 3 }); /* [s,d,b,h] to [b,s,d,h] */
    pl_out(m, 0, all);
    pl_out(m, 1, swapped(m, pl_joined(m, h, n, 0)));
    pl_out(m, 2, swapped(m, pl_joined(m, c, n, 0)));
    return true;
}

static bool recurrent(pl_import *m, int gates, stepper *step)
{
    const char *way = pl_attr_text(m, "direction", "forward");
    const int n = !strcmp(way, "bidirectional") ? 2 : 1;
    pl_value *y[2] = { 0 }, *h[2] = { 0 }, *c[2] = { 0 };
    if (!pl_has(m, 0) || !pl_has(m, 2)) return pl_map_fail(m, "an input is missing");
    const pl_shape *x = pl_item_shape(m->in[0]), *r = pl_item_shape(m->in[2]);
    const bool first = pl_attr_int(m, "layout", 0);
    if (x->rank == 3 && x->dim[first] > MOST_STEPS)
        return pl_map_refuse(m, "%lld positions, each a few nodes; the most is %d",
                             (long long)x->dim[first], MOST_STEPS);
    if (x->rank != 3 || r->rank != 3) return pl_map_fail(m, "inputs have to have 3 dimensions");
    if (pl_attr_find(m, "clip") || pl_attr_int(m, "input_forget", 0))
        return pl_map_refuse(m, "clip or input_forget");
    bool relu;
    PL_TRY(read_activations(m, gates, &relu));
    for (int d = 0; d < n; d++) {
        layer l = { .gates = gates,
                    .seq = x->dim[first],
                    .batch = x->dim[!first],
                    .hidden = r->dim[2],
                    .relu = relu,
                    .backward = d == 1 || !strcmp(way, "reverse") };
        if (!read_lengths(m, &l) || !open_layer(m, &l, d)) return false;
        y[d] = run_layer(m, &l, step);
        h[d] = pl_unsqueezed(m, l.h, 0);
        c[d] = pl_unsqueezed(m, l.c, 0);
        if (!y[d] || !h[d] || !c[d]) return false;
    }
    return out_all(m, n, y, h, c);
}

bool pl_map_rnn(pl_import *m)
{
    return recurrent(m, 1, step_rnn);
}

bool pl_map_lstm(pl_import *m)
{
    return recurrent(m, 4, step_lstm);
}

bool pl_map_gru(pl_import *m)
{
    return recurrent(m, 3, step_gru);
}
