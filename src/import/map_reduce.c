/* Mappings of reductions, softmax and norms. */
#include "import/map.h"

#include "ops/list.h"

#include <string.h>

/* -- reductions -------------------------------------------------------------------------------- */

static bool read_axes(pl_import *m, int rank, unsigned *out)
{
    const int64_t *axes;
    int n, axis;
    PL_TRY(pl_ints_of(m, 1, "axes", PL_MAX_RANK, &axes, &n));
    *out = 0;
    for (int i = 0; i < n; i++) {
        PL_TRY(pl_axis(m, axes[i], rank, &axis));
        *out |= 1u << axis;
    }
    if (n <= 0 && !pl_attr_int(m, "noop_with_empty_axes", 0)) *out = (1u << rank) - 1;
    return true;
}

static double count_of(const pl_value *x, unsigned axes)
{
    double n = 1;
    for (int i = 0; x && i < x->shape.rank; i++)
        if (axes >> i & 1) n *= (double)x->shape.dim[i];
    return n;
}

/* f(sum of g(x)), where the operator's name says which. */
static pl_value *before(pl_import *m, const char *op, pl_value *x)
{
    if (!strcmp(op, "ReduceL1")) return PL_ADD(m->b, &pl_op_abs, NULL, x);
    if (!strcmp(op, "ReduceL2") || !strcmp(op, "ReduceSumSquare"))
        return PL_ADD(m->b, &pl_op_mul, NULL, x, x);
    return x;
}

/* The square root of a sum of squares. At 0 its gradient is taken as 0, as PyTorch does for norms,
 * not as 0 / 0: sqrt(s + d) - d with d = 1 where s is 0. */
static pl_value *norm_of(pl_import *m, pl_value *s)
{
    if (!s) return NULL;
    pl_value *zero = PL_EACH(m, &pl_op_equal, "", s, pl_constant(m, s->type, 0));
    pl_value *d = zero ? pl_cast_to(m, zero, s->type) : NULL;
    pl_value *moved = PL_EACH(m, &pl_op_add, "", s, d);
    return moved ? PL_EACH(m, &pl_op_sub, "", PL_ADD(m->b, &pl_op_sqrt, NULL, moved), d) : NULL;
}

static pl_value *after(pl_import *m, const char *op, pl_value *y, double n)
{
    if (!y) return NULL;
    if (!strcmp(op, "ReduceL2")) return norm_of(m, y);
    if (!strcmp(op, "ReduceLogSum")) return PL_ADD(m->b, &pl_op_log, NULL, y);
    return !strcmp(op, "ReduceMean") ? pl_scaled(m, y, 1 / n) : y;
}

/* max + log(sum(exp(x - max))) */
pl_value *pl_log_sum_exp(pl_import *m, pl_value *x, unsigned axes)
{
    pl_value *top = pl_reduced(m, &pl_op_reduce_max, x, axes, true);
    pl_value *y = PL_EACH(m, &pl_op_sub, "", x, top);
    y = y ? pl_reduced(m, &pl_op_reduce_sum, PL_ADD(m->b, &pl_op_exp, NULL, y), axes, true) : NULL;
    return y ? PL_EACH(m, &pl_op_add, "", top, PL_ADD(m->b, &pl_op_log, NULL, y)) : NULL;
}

static pl_value *without(pl_import *m, pl_value *x, unsigned axes)
{
    pl_shape s = PL_SCALAR;
    for (int i = 0; x && i < x->shape.rank; i++)
        if (!(axes >> i & 1)) s.dim[s.rank++] = x->shape.dim[i];
    return pl_shaped(m, x, &s);
}

bool pl_map_reduce(pl_import *m)
{
    const char *op = m->node->op_type;
    const bool keep = pl_attr_int(m, "keepdims", 1);
    pl_value *x = pl_in(m, 0), *y;
    unsigned axes;
    if (!x) return false;
    PL_TRY(read_axes(m, x->shape.rank, &axes));
    if (!strcmp(op, "ReduceLogSumExp")) {
        y = pl_log_sum_exp(m, x, axes);
        pl_out(m, 0, keep ? y : without(m, y, axes));
        return true;
    }
    const struct pl_op *how = !strcmp(op, "ReduceMax")    ? &pl_op_reduce_max
                              : !strcmp(op, "ReduceMin")  ? &pl_op_reduce_min
                              : !strcmp(op, "ReduceProd") ? &pl_op_reduce_prod
                                                          : &pl_op_reduce_sum;
    x = before(m, op, x);
    pl_out(m, 0, after(m, op, pl_reduced(m, how, x, axes, keep), count_of(x, axes)));
    return true;
}

/* -- softmax ----------------------------------------------------------------------------------- */

/* Until opset 12 all dimensions from the axis on are one row. */
static pl_value *as_rows(pl_import *m, pl_value *x, int axis)
{
    int64_t rows = 1;
    for (int i = 0; i < axis; i++) rows *= x->shape.dim[i];
    return pl_shaped(m, x, &PL_SHAPE(rows, pl_shape_count(&x->shape) / rows));
}

static pl_value *log_softmax(pl_import *m, pl_value *x)
{
    return PL_EACH(m, &pl_op_sub, "", x, pl_log_sum_exp(m, x, 1u << (x->shape.rank - 1)));
}

static pl_value *softmax(pl_import *m, pl_value *x)
{
    const char *letters = pl_letters(m, 0, x->shape.rank - 1);
    return PL_ADD(m->b, &pl_op_softmax, pl_arena_fmt(m->a, "%sv->%sv", letters, letters), x);
}

/* 1 at the first of the largest elements, else 0. */
static pl_value *hardmax(pl_import *m, pl_value *x)
{
    const char *rows = pl_letters(m, 0, x->shape.rank - 1);
    const int64_t n = x->shape.dim[x->shape.rank - 1];
    pl_value *at = PL_ADD(m->b, &pl_op_argmax, pl_arena_fmt(m->a, "%sv->%s", rows, rows), x);
    const char *spec = pl_arena_fmt(m->a, "%s->%sv; v=%lld to=%s", rows, rows, (long long)n,
                                    pl_type_name(x->type));
    return at ? PL_ADD(m->b, &pl_op_one_hot, spec, at) : NULL;
}

/* A function of the axis's elements, which it gets as the last dimension. */
static bool along_axis(pl_import *m, pl_value *(*function)(pl_import *m, pl_value *x))
{
    pl_value *x = pl_in(m, 0);
    const bool old = m->onnx->file.opset < 13;
    int axis;
    if (!x) return false;
    const pl_shape was = x->shape;
    if (!was.rank) return pl_map_refuse(m, "of a scalar");
    PL_TRY(pl_axis(m, pl_attr_int(m, "axis", old ? 1 : -1), was.rank, &axis));
    x = old ? as_rows(m, x, axis) : pl_moved_last(m, x, axis);
    if (!x) return false;
    x = function(m, x);
    pl_out(m, 0, old ? pl_shaped(m, x, &was) : pl_moved_back(m, x, axis));
    return true;
}

bool pl_map_softmax(pl_import *m)
{
    return along_axis(m, softmax);
}

bool pl_map_log_softmax(pl_import *m)
{
    return along_axis(m, log_softmax);
}

bool pl_map_hardmax(pl_import *m)
{
    return along_axis(m, hardmax);
}

/* -- norms ------------------------------------------------------------------------------------- */

/* (x - mean) / sqrt(mean((x - mean)^2) + eps) over axes; *rstd its second factor, or NULL. */
static pl_value *standardised(pl_import *m, pl_value *x, unsigned axes, double eps, pl_value **mean,
                              pl_value **rstd)
{
    if (!x) return NULL;
    const double n = count_of(x, axes);
    *mean = pl_scaled(m, pl_reduced(m, &pl_op_reduce_sum, x, axes, true), 1 / n);
    pl_value *d = PL_EACH(m, &pl_op_sub, "", x, *mean);
    if (!d) return NULL;
    pl_value *var =
        pl_reduced(m, &pl_op_reduce_sum, PL_ADD(m->b, &pl_op_mul, NULL, d, d), axes, true);
    var = pl_scaled(m, var, 1 / n);
    if (!var) return NULL;
    var = PL_EACH(m, &pl_op_add, "", var, pl_constant(m, var->type, eps));
    *rstd =
        var ? PL_ADD(m->b, &pl_op_reciprocal, NULL, PL_ADD(m->b, &pl_op_sqrt, NULL, var)) : NULL;
    return PL_EACH(m, &pl_op_mul, "", d, *rstd);
}

/* The last dimension alone, with scale and bias of it: the operator that the built-in models
 * use. */
static pl_value *layer_norm(pl_import *m, pl_value *x, pl_value *scale, pl_value *bias, double eps)
{
    const char *rows = pl_letters(m, 0, x->shape.rank - 1);
    const char *to_rows = pl_arena_fmt(m->a, "%sh->%s", rows, rows);
    pl_value *sum = PL_ADD(m->b, &pl_op_layer_norm_sum, to_rows, x);
    pl_value *deviation = PL_ADD(m->b, &pl_op_layer_norm_deviation,
                                 pl_arena_fmt(m->a, "%sh,%s->%s", rows, rows, rows), x, sum);
    return PL_ADD(m->b, &pl_op_layer_norm,
                  pl_arena_fmt(m->a, "%sh,%s,%s,h,h->%sh; eps=%.17g", rows, rows, rows, rows, eps),
                  x, sum, deviation, scale, bias);
}

static bool asks_for(const pl_import *m, int k)
{
    return k < (int)m->node->n_output && *m->node->output[k];
}

bool pl_map_layer_normalization(pl_import *m)
{
    pl_value *x = pl_in(m, 0), *scale = pl_in(m, 1), *bias = pl_has(m, 2) ? pl_in(m, 2) : NULL;
    pl_value *mean = NULL, *rstd = NULL;
    const double eps = pl_attr_real(m, "epsilon", 1e-5);
    int axis;
    if (!x || !scale) return false;
    PL_TRY(pl_axis(m, pl_attr_int(m, "axis", -1), x->shape.rank, &axis));
    if (axis == x->shape.rank - 1 && axis > 0 && bias && scale->shape.rank == 1 &&
        bias->shape.rank == 1 && !asks_for(m, 1) && !asks_for(m, 2)) {
        pl_out(m, 0, layer_norm(m, x, scale, bias, eps));
        return true;
    }
    const unsigned axes = (1u << x->shape.rank) - (1u << axis);
    pl_value *y = PL_EACH(m, &pl_op_mul, "", standardised(m, x, axes, eps, &mean, &rstd), scale);
    pl_out(m, 0, bias ? PL_EACH(m, &pl_op_add, "", y, bias) : y);
    pl_out(m, 1, mean);
    pl_out(m, 2, rstd);
    return true;
}

/* x / sqrt(mean(x^2) + eps) scale */
bool pl_map_rms_normalization(pl_import *m)
{
    pl_value *x = pl_in(m, 0), *scale = pl_in(m, 1);
    int axis;
    if (!x || !scale) return false;
    PL_TRY(pl_axis(m, pl_attr_int(m, "axis", -1), x->shape.rank, &axis));
    const unsigned axes = (1u << x->shape.rank) - (1u << axis);
    pl_value *s =
        pl_reduced(m, &pl_op_reduce_sum, PL_ADD(m->b, &pl_op_mul, NULL, x, x), axes, true);
    s = pl_scaled(m, s, 1 / count_of(x, axes));
    if (!s) return false;
    s = PL_EACH(m, &pl_op_add, "", s, pl_constant(m, s->type, pl_attr_real(m, "epsilon", 1e-5)));
    s = s ? PL_ADD(m->b, &pl_op_reciprocal, NULL, PL_ADD(m->b, &pl_op_sqrt, NULL, s)) : NULL;
    pl_out(m, 0, PL_EACH(m, &pl_op_mul, "", PL_EACH(m, &pl_op_mul, "", x, s), scale));
    return true;
}

/* A number for each channel, dimension 1 of `rank`. */
static pl_value *by_channel(pl_import *m, pl_value *x, int rank)
{
    if (!x) return NULL;
    pl_shape s = { rank, { 1, pl_shape_count(&x->shape) } };
    for (int i = 2; i < rank; i++) s.dim[i] = 1;
    if (rank == 1) s.dim[0] = pl_shape_count(&x->shape);
    return pl_shaped(m, x, &s);
}

static pl_value *affine(pl_import *m, pl_value *y, int scale, int bias)
{
    if (!y) return NULL;
    y = PL_EACH(m, &pl_op_mul, "", y, by_channel(m, pl_in(m, scale), y->shape.rank));
    return y ? PL_EACH(m, &pl_op_add, "", y, by_channel(m, pl_in(m, bias), y->shape.rank)) : NULL;
}

bool pl_map_instance_normalization(pl_import *m)
{
    pl_value *x = pl_in(m, 0), *mean, *rstd;
    if (!x) return false;
    const unsigned axes = (1u << x->shape.rank) - 4u;
    x = standardised(m, x, axes, pl_attr_real(m, "epsilon", 1e-5), &mean, &rstd);
    pl_out(m, 0, affine(m, x, 1, 2));
    return true;
}

/* Until opset 20 scale and bias are of the groups, then of the channels. */
bool pl_map_group_normalization(pl_import *m)
{
    pl_value *x = pl_in(m, 0), *mean, *rstd;
    const int64_t g = pl_attr_int(m, "num_groups", 1);
    if (!x) return false;
    const pl_shape was = x->shape;
    if (g < 1 || was.rank < 3 || was.dim[1] % g || was.rank >= PL_MAX_RANK)
        return pl_map_fail(m, "num_groups=%lld of %s", (long long)g,
                           pl_shape_text(m->a, x->type, &was));
    pl_shape s = { was.rank + 1, { was.dim[0], g, was.dim[1] / g } };
    memcpy(s.dim + 3, was.dim + 2, (size_t)(was.rank - 2) * sizeof *s.dim);
    x = standardised(m, pl_shaped(m, x, &s), (1u << s.rank) - 4u, pl_attr_real(m, "epsilon", 1e-5),
                     &mean, &rstd);
    const bool of_groups = pl_has(m, 1) && pl_item_shape(m->in[1])->dim[0] == g && g != was.dim[1];
    if (of_groups) x = affine(m, x, 1, 2);
    x = pl_shaped(m, x, &was);
    pl_out(m, 0, of_groups ? x : affine(m, x, 1, 2));
    return true;
}

/* What inference does: y = (x - mean) scale / sqrt(var + eps) + bias, by channel. */
static pl_value *norm_by(pl_import *m, pl_value *x, pl_value *mean, pl_value *var, double eps)
{
    if (!x || !var) return NULL;
    const int rank = x->shape.rank;
    var = PL_EACH(m, &pl_op_add, "", var, pl_constant(m, var->type, eps));
    pl_value *rstd =
        var ? PL_ADD(m->b, &pl_op_reciprocal, NULL, PL_ADD(m->b, &pl_op_sqrt, NULL, var)) : NULL;
    x = PL_EACH(m, &pl_op_sub, "", x, by_channel(m, mean, rank));
    return PL_EACH(m, &pl_op_mul, "", x, by_channel(m, rstd, rank));
}

/* old momentum + new (1 - momentum) */
static pl_value *moved_average(pl_import *m, pl_value *old, pl_value *new, double momentum)
{
    return PL_EACH(m, &pl_op_add, "", pl_scaled(m, old, momentum), pl_scaled(m, new, 1 - momentum));
}

/* Is this a buffer of the model, which a step may change? */
static bool is_running(const pl_value *x)
{
    return x->role == PL_STATE && x->kind != PL_WEIGHT && !x->next && x->type == PL_F32;
}

/* By the operators of the built-in models, which leave the running statistics as PyTorch does. */
static bool train_batch_norm(pl_import *m, pl_value *x, pl_value *mean, pl_value *var)
{
    const char *all = pl_letters(m, 0, x->shape.rank);
    const double count = (double)pl_shape_count(&x->shape) / (double)x->shape.dim[1];
    pl_value *scale = pl_in(m, 1), *bias = pl_in(m, 2);
    pl_node *stats =
        pl_add_node(m->b, &pl_op_batch_norm_stats, NULL, pl_arena_fmt(m->a, "%s->B,B", all), 1, &x);
    if (!stats || !scale || !bias) return false;
    const char *rate = pl_arena_fmt(m->a, "; count=%.17g momentum=%.17g", count,
                                    1 - pl_attr_real(m, "momentum", 0.9));
    pl_node *running = pl_add_node(m->b, &pl_op_batch_norm_running, NULL, rate, 4,
                                   (pl_value *const[]){ mean, var, stats->out[0], stats->out[1] });
    if (!running) return false;
    mean->next = running->out[0];
    var->next = running->out[1];
    pl_out(m, 0,
           PL_ADD(m->b, &pl_op_batch_norm,
                  pl_arena_fmt(m->a, "%s,B,B,B,B->%s; eps=%.17g", all, all,
                               pl_attr_real(m, "epsilon", 1e-5)),
                  x, stats->out[0], stats->out[1], scale, bias));
    pl_out(m, 1, mean->next);
    pl_out(m, 2, var->next);
    return true;
}

/* As the specification has it, for statistics that come from elsewhere. */
static bool standardise_batch(pl_import *m, pl_value *x, pl_value *mean, pl_value *var)
{
    const double momentum = pl_attr_real(m, "momentum", 0.9);
    const unsigned axes = ((1u << x->shape.rank) - 1) & ~2u;
    pl_value *now, *rstd;
    pl_value *y = standardised(m, x, axes, pl_attr_real(m, "epsilon", 1e-5), &now, &rstd);
    pl_out(m, 0, affine(m, y, 1, 2));
    pl_value *d = PL_EACH(m, &pl_op_sub, "", x, now), *spread = NULL;
    if (d)
        spread = pl_reduced(m, &pl_op_reduce_sum, PL_ADD(m->b, &pl_op_mul, NULL, d, d), axes, true);
    spread = pl_scaled(m, spread, 1 / count_of(x, axes));
    pl_out(m, 1, moved_average(m, mean, pl_shaped(m, now, &mean->shape), momentum));
    pl_out(m, 2, moved_average(m, var, pl_shaped(m, spread, &var->shape), momentum));
    return true;
}

bool pl_map_batch_normalization(pl_import *m)
{
    pl_value *x = pl_in(m, 0), *mean = pl_in(m, 3), *var = pl_in(m, 4);
    if (!x || !mean || !var) return false;
    if (pl_attr_int(m, "training_mode", 0) && m->options->train)
        return is_running(mean) && is_running(var) ? train_batch_norm(m, x, mean, var)
                                                   : standardise_batch(m, x, mean, var);
    pl_out(m, 0, affine(m, norm_by(m, x, mean, var, pl_attr_real(m, "epsilon", 1e-5)), 1, 2));
    if (asks_for(m, 1)) pl_out(m, 1, mean);
    if (asks_for(m, 2)) pl_out(m, 2, var);
    return true;
}

bool pl_map_lp_normalization(pl_import *m)
{
    pl_value *x = pl_in(m, 0), *n;
    int axis;
    if (!x) return false;
    PL_TRY(pl_axis(m, pl_attr_int(m, "axis", -1), x->shape.rank, &axis));
    const bool first = pl_attr_int(m, "p", 2) == 1;
    n = first ? PL_ADD(m->b, &pl_op_abs, NULL, x) : PL_ADD(m->b, &pl_op_mul, NULL, x, x);
    n = pl_reduced(m, &pl_op_reduce_sum, n, 1u << axis, true);
    if (!first) n = norm_of(m, n);
    pl_out(m, 0, PL_EACH(m, &pl_op_div, "", x, n));
    return true;
}

/* (x - mean) / sqrt(mean of squares), as the specification writes it. */
bool pl_map_mean_variance_normalization(pl_import *m)
{
    int n = 0, axis;
    const int64_t *at = pl_attr_ints(m, "axes", &n);
    pl_value *x = pl_in(m, 0), *mean, *rstd;
    unsigned axes = at ? 0 : 0xd;
    if (!x) return false;
    for (int i = 0; i < n; i++) {
        PL_TRY(pl_axis(m, at[i], x->shape.rank, &axis));
        axes |= 1u << axis;
    }
    pl_out(m, 0, standardised(m, x, axes, 1e-9, &mean, &rstd));
    return true;
}
