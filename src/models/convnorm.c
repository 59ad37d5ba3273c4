/* Convolutions without bias and batch norm. Read pl_convnorm_norm(): in training it takes the
 * statistics of the batch and moves the running ones, else it takes those. */
#include "models/convnorm.h"

#include "ops/list.h"

#include <math.h>
#include <string.h>

/* He et al., "Delving deep into rectifiers", 2015, by what a pixel of the input goes to; as
 * torchvision counts it, whose depthwise convolutions start small. */
static pl_value *convolve(pl_convnorm *m, const char *name, const char *letters, pl_shape shape,
                          int64_t stride, pl_value *x)
{
    pl_builder *b = m->l.b;
    int64_t n = 1, kernel = shape.dim[shape.rank - 1];
    for (int i = 0; i < shape.rank; i++) n *= i == 1 && shape.rank == 4 ? 1 : shape.dim[i];
    pl_value *w = pl_layers_weight(&m->l, pl_builder_fmt(b, "%s.weight", name), shape,
                                   pl_layers_normal(b, sqrt(2 / (double)n)));
    const char *spec = pl_builder_fmt(b, "%s; stride=%lld pad=%lld", letters, (long long)stride,
                                      (long long)(kernel / 2));
    return PL_ADD_AS(b, &pl_op_conv2d, name, spec, x, w);
}

pl_value *pl_convnorm_conv(pl_convnorm *m, const char *name, pl_value *x, int64_t out,
                           int64_t kernel, int64_t stride)
{
    if (!x) return NULL;
    const pl_shape shape = PL_SHAPE(out, x->shape.dim[3], kernel, kernel);
    return convolve(m, name, "n[y+r][x+s]c,ocrs->nyxo", shape, stride, x);
}

pl_value *pl_convnorm_depthwise(pl_convnorm *m, const char *name, pl_value *x, int64_t kernel,
                                int64_t stride)
{
    if (!x) return NULL;
    const pl_shape shape = PL_SHAPE(x->shape.dim[3], kernel, kernel);
    return convolve(m, name, "n[y+r][x+s]c,crs->nyxc", shape, stride, x);
}

static pl_value *add_channels(pl_convnorm *m, const char *name, const char *part, int64_t c,
                              pl_state_kind kind)
{
    bool ones = !strcmp(part, "weight") || !strcmp(part, "running_var");
    return pl_add_state(m->l.b, pl_builder_fmt(m->l.b, "%s.%s", name, part), PL_F32, PL_SHAPE(c),
                        ones ? "ones" : "zeros", kind);
}

pl_value *pl_convnorm_norm(pl_convnorm *m, const char *name, pl_value *x, bool relu)
{
    if (!x) return NULL;
    pl_builder *b = m->l.b;
    int64_t c = x->shape.dim[3], count = pl_shape_count(&x->shape) / c;
    pl_value *scale = add_channels(m, name, "weight", c, PL_WEIGHT);
    pl_value *bias = add_channels(m, name, "bias", c, PL_WEIGHT);
    pl_value *mean = add_channels(m, name, "running_mean", c, PL_BUFFER);
    pl_value *var = add_channels(m, name, "running_var", c, PL_BUFFER);
    const char *spec = relu ? "; relu=1" : NULL;
    if (m->mode != PL_TRAIN)
        return PL_ADD_AS(b, &pl_op_batch_norm_eval, name, spec, x, mean, var, scale, bias);
    pl_node *stats =
        pl_add_node(b, &pl_op_batch_norm_stats, NULL, NULL, 1, (pl_value *const[]){ x });
    if (!stats) return NULL;
    const char *rate = pl_builder_fmt(b, "; count=%lld", (long long)count);
    if (m->momentum > 0) rate = pl_builder_fmt(b, "%s momentum=%.17g", rate, m->momentum);
    pl_node *running = pl_add_node(b, &pl_op_batch_norm_running, NULL, rate, 4,
                                   (pl_value *const[]){ mean, var, stats->out[0], stats->out[1] });
    if (!running) return NULL;
    mean->next = running->out[0];
    var->next = running->out[1];
    return PL_ADD_AS(b, &pl_op_batch_norm, name, spec, x, stats->out[0], stats->out[1], scale,
                     bias);
}

pl_value *pl_convnorm_mean(pl_convnorm *m, pl_value *x)
{
    if (!x) return NULL;
    int64_t area = x->shape.dim[1] * x->shape.dim[2];
    x = PL_ADD_AS(m->l.b, &pl_op_reduce_sum, "avgpool", "nyxc->nc", x);
    return PL_ADD(m->l.b, &pl_op_scale, pl_builder_fmt(m->l.b, "; value=%.17g", 1 / (double)area),
                  x);
}

pl_value *pl_convnorm_linear(pl_convnorm *m, const char *name, pl_value *x, int64_t out,
                             const char *weight_init, const char *bias_init)
{
    if (!x) return NULL;
    x = pl_layers_linear(&m->l, name, "nc,oc->no", PL_SHAPE(out, x->shape.dim[1]), weight_init, x);
    return pl_layers_bias(&m->l, name, "no,o->no", PL_SHAPE(out), bias_init, x);
}
