#include "ops/lib/elementwise.h"

#include "graph/walk.h"

#include <math.h>
#include <string.h>

enum { MAX_ATTRS = 4 };

/* The numbers of n's attributes; their names are added to `text` where it is given. */
static void read_attrs(const pl_node *n, double attr[], pl_text *text)
{
    const char *at = n->op->attrs ? n->op->attrs : "";
    for (int k = 0; *at; k++, at += strcspn(at, " "), at += strspn(at, " ")) {
        char name[16] = "";
        PL_ASSERT_CMP(k, <, MAX_ATTRS);
        PL_ASSERT_CMP(strcspn(at, "="), <, sizeof name);
        memcpy(name, at, strcspn(at, "="));
        attr[k] = pl_node_real(n, name, 0);
        if (text) pl_text_add(text, "%s%s=%.17g", k ? " " : "", name, attr[k]);
    }
}

static double apply(const pl_op *op, const double x[], const double attr[])
{
    return op->unary ? op->unary(x[0]) : op->binary ? op->binary(x[0], x[1]) : op->element(x, attr);
}

static void run(const pl_share *s, const void *const in[], void *const out[], bool fit)
{
    const pl_node *n = s->node;
    const pl_type t = n->out[0]->type;
    double x[PL_MAX_OPERANDS], attr[MAX_ATTRS];
    pl_walk w = pl_walk_new(s, pl_walk_mask(n, n->n_in));
    if (n->op->element) read_attrs(n, attr, NULL);
    do {
        for (int k = 0; k < n->n_in; k++) x[k] = pl_type_get(n->in[k]->type, in[k], w.at[k]);
        double y = apply(n->op, x, attr);
        pl_type_put(t, out[0], w.at[n->n_in], fit ? pl_elementwise_fit(t, y) : y);
    } while (pl_walk_next(&w));
}

void pl_elementwise_ref(const pl_share *s, const void *const in[], void *const out[])
{
    run(s, in, out, false);
}

void pl_elementwise_ref_fit(const pl_share *s, const void *const in[], void *const out[])
{
    run(s, in, out, true);
}

double pl_elementwise_fit(pl_type t, double y)
{
    static const struct {
        double lo, end;
    } range[PL_N_TYPES] = {
        [PL_I32] = { -0x1p31, 0x1p31 }, [PL_I64] = { -0x1p63, 0x1p63 }, [PL_U8] = { 0, 0x1p8 }
    };
    if (pl_type_is_float(t)) return y;
    return trunc(y) >= range[t].lo && y < range[t].end ? trunc(y) : 0;
}

const pl_example pl_elementwise_compared[] = {
    { NULL, .in = { { 2, { 4, 7 } }, { 2, { 4, 7 } } } },
    { "...n,n->...n", .in = { { 3, { 2, 3, 5 } }, { 1, { 5 } } } },
    { NULL, .in = { { 1, { 8 }, "i64" }, { 1, { 8 }, "i64" } } },
    { "m,n->mn", .in = { { 1, { 4 }, "u8", 0, 3 }, { 1, { 6 }, "u8", 0, 3 } } },
    { 0 },
};

const pl_example pl_elementwise_logical[] = {
    { NULL, .in = { { 2, { 4, 7 }, "u8", 0, 2 }, { 2, { 4, 7 }, "u8", 0, 2 } } },
    { "...n,n->...n", .in = { { 3, { 2, 3, 5 }, "u8", 0, 2 }, { 1, { 5 }, "u8", 0, 2 } } },
    { 0 },
};

/* -- gradients --------------------------------------------------------------------------------- */

pl_value *pl_elementwise_add(pl_builder *b, const pl_node *n, const pl_op *op, const char *attrs,
                             int n_in, pl_value *const in[])
{
    pl_text pattern = { .arena = b->graph->arena };
    for (int i = 0; i < n_in; i++) pl_text_add(&pattern, "%s{%d}", i ? "," : "", n->n_in);
    pl_text_add(&pattern, "->{%d}%s%s", n->n_in, attrs ? "; " : "", attrs ? attrs : "");
    return pl_add_value(b, op, NULL, pl_elementwise_spec(b, n, pl_text_get(&pattern)), n_in, in);
}

const char *pl_elementwise_attrs(pl_builder *b, const pl_node *n)
{
    pl_text text = { .arena = b->graph->arena };
    read_attrs(n, (double[MAX_ATTRS]){ 0 }, &text);
    return pl_text_get(&text);
}

const char *pl_elementwise_spec(pl_builder *b, const pl_node *n, const char *pattern)
{
    bool own = n->spec[strspn(n->spec, " ")] && n->spec[strspn(n->spec, " ")] != ';';
    return own ? pl_spec(b, n, pattern) : pattern + strcspn(pattern, ";");
}

pl_value *pl_elementwise_fold(pl_builder *b, const pl_node *n, int i, pl_value *g)
{
    if (pl_share_same_index(n, i, n->n_in)) return g;
    return PL_ADD(b, &pl_op_reduce_sum, pl_spec(b, n, pl_builder_fmt(b, "{%d}->{%d}", n->n_in, i)),
                  g);
}

void pl_elementwise_flat(pl_builder *b, const pl_node *n, pl_value *const dy[], pl_value *dx[])
{
    (void)b, (void)n, (void)dy, (void)dx;
}

/* To b where in[high] is above the other input, else to a. */
static void choose(pl_builder *b, const pl_node *n, int high, pl_value *dy, pl_value *dx[])
{
    const char *spec = pl_elementwise_spec(b, n, high ? "{1},{0}->{2}" : "{0},{1}->{2}");
    pl_value *above = PL_ADD(b, &pl_op_sub, spec, n->in[high], n->in[!high]);
    pl_value *to_b = PL_LIKE(b, n, &pl_op_relu_grad, NULL, above, dy);
    pl_value *to_a = PL_LIKE(b, n, &pl_op_sub, NULL, dy, to_b);
    dx[0] = pl_elementwise_fold(b, n, 0, to_a);
    dx[1] = pl_elementwise_fold(b, n, 1, to_b);
}

void pl_elementwise_larger(pl_builder *b, const pl_node *n, pl_value *const dy[], pl_value *dx[])
{
    choose(b, n, 1, dy[0], dx);
}

void pl_elementwise_smaller(pl_builder *b, const pl_node *n, pl_value *const dy[], pl_value *dx[])
{
    choose(b, n, 0, dy[0], dx);
}
