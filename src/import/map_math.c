/* Mappings of element-wise operators: those of one operand or of several that are broadcast. */
#include "graph/op.h"
#include "import/map.h"

#include "ops/list.h"

#include <float.h>
#include <math.h>

/* -- by name alone ----------------------------------------------------------------------------- */

static const struct pl_op *named(const pl_import *m)
{
    return pl_ops_find(m->b->graph->ops, pl_mapping_find(m->node->op_type)->with);
}

bool pl_map_unary(pl_import *m)
{
    pl_value *x = pl_in(m, 0);
    pl_out(m, 0, x ? PL_ADD(m->b, named(m), NULL, x) : NULL);
    return true;
}

/* Until opset 6 an attribute says at which dimension of x those of y begin. */
static pl_value *at_axis(pl_import *m, pl_value *y, const pl_value *x)
{
    if (!x || !y || !pl_attr_find(m, "axis")) return y;
    pl_shape s = y->shape;
    int64_t axis = pl_attr_int(m, "axis", 0);
    if (axis < 0) axis += x->shape.rank;
    while (s.rank < x->shape.rank - axis && s.rank < PL_MAX_RANK) s.dim[s.rank++] = 1;
    return pl_shaped(m, y, &s);
}

bool pl_map_binary(pl_import *m)
{
    pl_value *x = pl_in(m, 0), *y = at_axis(m, pl_in(m, 1), x);
    pl_out(m, 0, PL_EACH(m, named(m), "", x, y));
    return true;
}

/* a > b is b < a. */
bool pl_map_swapped(pl_import *m)
{
    pl_value *x = pl_in(m, 0), *y = pl_in(m, 1);
    pl_out(m, 0, PL_EACH(m, named(m), "", y, x));
    return true;
}

/* Sum, Max, Min of any number. */
bool pl_map_variadic(pl_import *m)
{
    pl_value *x = pl_in(m, 0);
    for (int k = 1; k < m->n_in; k++) x = PL_EACH(m, named(m), "", x, pl_in(m, k));
    pl_out(m, 0, x);
    return true;
}

bool pl_map_mean(pl_import *m)
{
    pl_value *x = pl_in(m, 0);
    for (int k = 1; k < m->n_in; k++) x = PL_EACH(m, &pl_op_add, "", x, pl_in(m, k));
    pl_out(m, 0, pl_scaled(m, x, 1.0 / m->n_in));
    return true;
}

/* -- arithmetic -------------------------------------------------------------------------------- */

/* One known number of floats. */
static bool is_number(const pl_import *m, int k, double *x)
{
    if (!pl_has(m, k) || !pl_item_known(m->in[k]) || m->trial) return false;
    const pl_tensor *t = m->in[k]->constant;
    if (!pl_type_is_float(t->type) || pl_shape_count(&t->shape) != 1) return false;
    *x = pl_tensor_get(t, 0);
    return true;
}

/* Has the product with input k the shape of the other input? */
static bool keeps_shape(const pl_import *m, int k)
{
    return pl_item_shape(m->in[k])->rank <= pl_item_shape(m->in[1 - k])->rank;
}

bool pl_map_mul(pl_import *m)
{
    double c;
    for (int k = 0; k < 2; k++)
        if (is_number(m, k, &c) && keeps_shape(m, k)) {
            pl_out(m, 0, pl_scaled(m, pl_in(m, 1 - k), c));
            return true;
        }
    return pl_map_binary(m);
}

bool pl_map_div(pl_import *m)
{
    double c;
    if (pl_has(m, 0) && !pl_type_is_float(pl_item_type(m->in[0]))) {
        pl_value *x = pl_in(m, 0), *y = pl_in(m, 1);
        pl_out(m, 0, PL_EACH(m, &pl_op_div_int, "", x, y));
        return true;
    }
    if (!is_number(m, 1, &c) || !keeps_shape(m, 1) || !(fabs(c) > 0)) return pl_map_binary(m);
    pl_out(m, 0, pl_scaled(m, pl_in(m, 0), 1 / c));
    return true;
}

bool pl_map_pow(pl_import *m)
{
    double c;
    pl_value *x = pl_in(m, 0), *y = NULL;
    if (is_number(m, 1, &c) && keeps_shape(m, 1) && x) {
        if (!(c < 2) && !(c > 2)) y = PL_ADD(m->b, &pl_op_mul, NULL, x, x);
        if (!(c < 3) && !(c > 3))
            y = PL_ADD(m->b, &pl_op_mul, NULL, x, PL_ADD(m->b, &pl_op_mul, NULL, x, x));
        if (!(c < 0.5) && !(c > 0.5)) y = PL_ADD(m->b, &pl_op_sqrt, NULL, x);
    }
    if (!y) y = PL_EACH(m, &pl_op_pow, "", x, pl_cast_to(m, pl_in(m, 1), x ? x->type : PL_F32));
    pl_out(m, 0, y);
    return true;
}

bool pl_map_mod(pl_import *m)
{
    const char *attrs = pl_attr_int(m, "fmod", 0) ? "; fmod=1" : "";
    pl_value *x = pl_in(m, 0), *y = pl_in(m, 1);
    pl_out(m, 0, PL_EACH(m, &pl_op_mod, attrs, x, y));
    return true;
}

bool pl_map_is_inf(pl_import *m)
{
    const bool below = pl_attr_int(m, "detect_negative", 1);
    const bool above = pl_attr_int(m, "detect_positive", 1);
    pl_value *x = pl_in(m, 0), *y = x ? PL_ADD(m->b, &pl_op_isinf, NULL, x) : NULL;
    if (!y) return false;
    pl_value *zero = pl_constant(m, x->type, 0);
    if (!above) y = PL_EACH(m, &pl_op_and, "", y, PL_EACH(m, &pl_op_less, "", x, zero));
    if (!below) y = PL_EACH(m, &pl_op_and, "", y, PL_EACH(m, &pl_op_less, "", zero, x));
    pl_out(m, 0, y);
    return true;
}

/* -- comparing --------------------------------------------------------------------------------- */

bool pl_map_where(pl_import *m)
{
    pl_value *c = pl_in(m, 0), *x = pl_in(m, 1), *y = pl_in(m, 2);
    pl_out(m, 0, PL_EACH(m, &pl_op_where, "", c, x, y));
    return true;
}

bool pl_map_cast(pl_import *m)
{
    const int to = (int)pl_attr_int(m, "to", 0);
    const pl_stored *s = pl_stored_find(to);
    pl_value *x = pl_in(m, 0);
    if (!s) return pl_map_refuse(m, "to=%d (%s) is not supported", to, pl_stored_name(to));
    if (x && to == 9) { /* what is not 0 is true */
        pl_value *zero = pl_constant(m, x->type, 0);
        x = PL_EACH(m, &pl_op_equal, "", x, zero);
        pl_out(m, 0, x ? PL_ADD(m->b, &pl_op_not, NULL, x) : NULL);
        return true;
    }
    pl_out(m, 0, pl_cast_to(m, x, s->type));
    return true;
}

bool pl_map_cast_like(pl_import *m)
{
    if (!pl_has(m, 0) || !pl_has(m, 1)) return pl_map_fail(m, "an input is missing");
    if (pl_item_known(m->in[0]) && !m->trial) { /* whatever the other is */
        const pl_tensor *t = m->in[0]->constant;
        const pl_type to = pl_item_type(m->in[1]);
        m->out[0].constant = t;
        if (t->type == to) return true;
        const int64_t n = pl_shape_count(&t->shape);
        void *data = pl_arena_get(m->a, (size_t)n + 1, (size_t)pl_type_bytes(to));
        for (int64_t i = 0; i < n; i++) pl_type_put(to, data, i, pl_tensor_get(t, i));
        pl_out_constant(m, 0, to, &t->shape, data);
        return true;
    }
    pl_out(m, 0, pl_cast_to(m, pl_in(m, 0), pl_item_type(m->in[1])));
    return true;
}

/* -- dropout ----------------------------------------------------------------------------------- */

/* Off unless the node asks for it and the graph is to train: then the seed is fed. */
bool pl_map_dropout(pl_import *m)
{
    double ratio, training = 0;
    pl_value *x = pl_in(m, 0);
    PL_TRY(pl_real_of(m, 1, "ratio", 0.5, &ratio));
    if (pl_has(m, 2)) PL_TRY(pl_in_real(m, 2, &training));
    if (x && training > 0 && ratio > 0 && m->options->train) {
        if (m->trial) return false; /* random numbers are no constants */
        pl_value *seed = pl_graph_find(m->b->graph, "seed");
        const char *scope = m->b->scope;
        m->b->scope = "";
        if (!seed) seed = pl_add_input(m->b, "seed", PL_I64, PL_SCALAR);
        m->b->scope = scope;
        x = PL_ADD(m->b, &pl_op_dropout,
                   pl_arena_fmt(m->a, "; p=%.17g stream=%d", ratio, ++m->n_dropouts), x, seed);
    }
    pl_out(m, 0, x);
    return true;
}

/* -- activations ------------------------------------------------------------------------------- */

static bool add_with(pl_import *m, const struct pl_op *op, const char *attr, double usual)
{
    pl_value *x = pl_in(m, 0);
    const char *spec = pl_arena_fmt(m->a, "; %s=%.17g", attr, pl_attr_real(m, attr, usual));
    pl_out(m, 0, x ? PL_ADD(m->b, op, spec, x) : NULL);
    return true;
}

bool pl_map_leaky_relu(pl_import *m)
{
    return add_with(m, &pl_op_leaky_relu, "alpha", 0.01);
}

bool pl_map_elu(pl_import *m)
{
    return add_with(m, &pl_op_elu, "alpha", 1);
}

bool pl_map_selu(pl_import *m)
{
    const double alpha = pl_attr_real(m, "alpha", 1.67326319217681884765625);
    pl_value *x = pl_in(m, 0);
    if (x) x = PL_ADD(m->b, &pl_op_elu, pl_arena_fmt(m->a, "; alpha=%.17g", alpha), x);
    pl_out(m, 0, pl_scaled(m, x, pl_attr_real(m, "gamma", 1.05070102214813232421875)));
    return true;
}

/* max(0, x) + min(0, alpha (e^(x / alpha) - 1)) is alpha elu(x / alpha) for alpha > 0. */
bool pl_map_celu(pl_import *m)
{
    const double alpha = pl_attr_real(m, "alpha", 1);
    pl_value *x = pl_scaled(m, pl_in(m, 0), 1 / alpha);
    if (x) x = PL_ADD(m->b, &pl_op_elu, "; alpha=1", x);
    pl_out(m, 0, pl_scaled(m, x, alpha));
    return true;
}

bool pl_map_gelu(pl_import *m)
{
    pl_value *x = pl_in(m, 0);
    const char *how = pl_attr_text(m, "approximate", "none");
    pl_out(m, 0, x ? PL_ADD(m->b, &pl_op_gelu, *how == 't' ? "; tanh=1" : "; tanh=0", x) : NULL);
    return true;
}

/* x sigmoid(alpha x) */
bool pl_map_swish(pl_import *m)
{
    pl_value *x = pl_in(m, 0), *y = pl_scaled(m, x, pl_attr_real(m, "alpha", 1));
    y = y ? PL_ADD(m->b, &pl_op_sigmoid, NULL, y) : NULL;
    pl_out(m, 0, PL_EACH(m, &pl_op_mul, "", x, y));
    return true;
}

static pl_value *clipped(pl_import *m, pl_value *x, double lo, double hi)
{
    return x ? PL_ADD(m->b, &pl_op_clip, pl_arena_fmt(m->a, "; lo=%.17g hi=%.17g", lo, hi), x)
             : NULL;
}

bool pl_map_clip(pl_import *m)
{
    double lo, hi;
    PL_TRY(pl_real_of(m, 1, "min", -FLT_MAX, &lo));
    PL_TRY(pl_real_of(m, 2, "max", FLT_MAX, &hi));
    pl_value *x = pl_in(m, 0);
    if (x && !pl_type_is_float(x->type)) { /* limits that the type holds */
        if (lo < -9e15) lo = x->type == PL_U8 ? 0 : -9e15;
        if (hi > 9e15) hi = 9e15;
    }
    pl_out(m, 0, clipped(m, x, lo, hi));
    return true;
}

static pl_value *hard_sigmoid(pl_import *m, pl_value *x, double alpha, double beta)
{
    pl_value *y = pl_scaled(m, x, alpha);
    if (y) y = PL_EACH(m, &pl_op_add, "", y, pl_constant(m, y->type, beta));
    return clipped(m, y, 0, 1);
}

bool pl_map_hard_sigmoid(pl_import *m)
{
    pl_out(
        m, 0,
        hard_sigmoid(m, pl_in(m, 0), pl_attr_real(m, "alpha", 0.2), pl_attr_real(m, "beta", 0.5)));
    return true;
}

bool pl_map_hard_swish(pl_import *m)
{
    pl_value *x = pl_in(m, 0), *y = hard_sigmoid(m, x, 1.0 / 6, 0.5);
    pl_out(m, 0, PL_EACH(m, &pl_op_mul, "", x, y));
    return true;
}

/* x tanh(ln(1 + e^x)) */
bool pl_map_mish(pl_import *m)
{
    pl_value *x = pl_in(m, 0), *y = x ? PL_ADD(m->b, &pl_op_softplus, NULL, x) : NULL;
    y = y ? PL_ADD(m->b, &pl_op_tanh, NULL, y) : NULL;
    pl_out(m, 0, PL_EACH(m, &pl_op_mul, "", x, y));
    return true;
}

/* relu(x) - slope relu(-x) */
bool pl_map_prelu(pl_import *m)
{
    pl_value *x = pl_in(m, 0), *slope = pl_in(m, 1);
    if (m->onnx->file.opset < 7 && x && slope && slope->shape.rank == 1) { /* of the channels */
        pl_shape s = slope->shape;
        while (s.rank < x->shape.rank - 1) s.dim[s.rank++] = 1;
        slope = pl_shaped(m, slope, &s);
    }
    pl_value *low = pl_scaled(m, x, -1);
    if (!x || !low) return true;
    low = PL_EACH(m, &pl_op_mul, "", PL_ADD(m->b, &pl_op_relu, NULL, low), slope);
    pl_out(m, 0, PL_EACH(m, &pl_op_sub, "", PL_ADD(m->b, &pl_op_relu, NULL, x), low));
    return true;
}

/* x where x > alpha, else 0. */
bool pl_map_thresholded_relu(pl_import *m)
{
    pl_value *x = pl_in(m, 0);
    if (!x) return true;
    pl_value *limit = pl_constant(m, x->type, pl_attr_real(m, "alpha", 1));
    pl_value *above = PL_EACH(m, &pl_op_less, "", limit, x);
    pl_out(m, 0, PL_EACH(m, &pl_op_where, "", above, x, pl_constant(m, x->type, 0)));
    return true;
}

/* x < -lambd: x + bias; x > lambd: x - bias; else 0. */
bool pl_map_shrink(pl_import *m)
{
    pl_value *x = pl_in(m, 0);
    if (!x) return true;
    pl_value *lambda = pl_constant(m, x->type, pl_attr_real(m, "lambd", 0.5));
    pl_value *bias = pl_constant(m, x->type, pl_attr_real(m, "bias", 0));
    pl_value *high = PL_EACH(m, &pl_op_less, "", lambda, x);
    pl_value *low = PL_EACH(m, &pl_op_less, "", x, pl_scaled(m, lambda, -1));
    pl_value *y = PL_EACH(m, &pl_op_where, "", low, PL_EACH(m, &pl_op_add, "", x, bias),
                          pl_constant(m, x->type, 0));
    pl_out(m, 0, PL_EACH(m, &pl_op_where, "", high, PL_EACH(m, &pl_op_sub, "", x, bias), y));
    return true;
}
