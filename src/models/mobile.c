/* Networks of inverted residuals. Read block() (widen, convolve each channel alone, narrow),
 * then features(), which stacks the blocks of all stages. */
#include "models/mobile.h"

#include "models/convnorm.h"
#include "ops/list.h"

#include <math.h>

typedef struct network {
    pl_convnorm c;
    const pl_mobile *net;
    double width, skip;
    int64_t divisor;
    int64_t n_blocks, at_block; /* all, and those before this one */
} network;

/* To the nearest multiple, but not below nine tenths. */
static int64_t round_channels(const network *m, double channels)
{
    int64_t d = m->divisor, n = (int64_t)(channels + (double)d / 2) / d * d;
    if (n < d) n = d;
    return (double)n < 0.9 * channels ? n + d : n;
}

static pl_value *norm(network *m, const char *name, pl_value *x)
{
    x = pl_convnorm_norm(&m->c, name, x, !m->net->act);
    return x && m->net->act ? PL_ADD(m->c.l.b, m->net->act, NULL, x) : x;
}

/* Squeeze and excitation: each channel is multiplied by a number in 0 .. 1 that two layers make of
 * the means of all of them. torchvision has those layers as 1x1 convolutions, weights
 * [out, in, 1, 1]. Source: Hu et al., "Squeeze-and-excitation networks", 2018. */
static pl_value *weigh(network *m, const char *name, int64_t inner, pl_value *x)
{
    if (!x) return NULL;
    pl_builder *b = m->c.l.b;
    int64_t c = x->shape.dim[3];
    const char *in = pl_layers_normal(b, sqrt(2 / (double)inner));
    const char *out = pl_layers_normal(b, sqrt(2 / (double)c));
    pl_value *y = pl_convnorm_linear(&m->c, pl_builder_fmt(b, "%s.fc1", name),
                                     pl_convnorm_mean(&m->c, x), inner, in, "zeros");
    y = y ? PL_ADD(b, m->net->act, NULL, y) : NULL;
    y = pl_convnorm_linear(&m->c, pl_builder_fmt(b, "%s.fc2", name), y, c, out, "zeros");
    return y ? PL_ADD(b, &pl_op_mul, "nyxc,nc->nyxc", x, PL_ADD(b, &pl_op_sigmoid, NULL, y)) : NULL;
}

/* Leaves out the block for some images of the batch, and scales it for the others.
 * Source: Huang et al., "Deep networks with stochastic depth", 2016. */
static pl_value *drop_block(network *m, pl_value *x)
{
    pl_builder *b = m->c.l.b;
    double p = m->skip * (double)m->at_block / (double)m->n_blocks;
    if (!x || !m->c.l.seed || p <= 0) return x;
    const char *ones = pl_builder_fmt(b, "->n; n=%lld value=1 to=%s", (long long)x->shape.dim[0],
                                      pl_type_name(x->type));
    pl_value *keep = pl_add_value(b, &pl_op_fill, NULL, ones, 0, NULL);
    return PL_ADD(b, &pl_op_mul, "nyxc,n->nyxc", x, pl_layers_drop_by(&m->c.l, p, keep));
}

static pl_value *block(network *m, int stage, int64_t out, int64_t stride, pl_value *x)
{
    if (!x) return NULL;
    const pl_mobile_stage *s = &m->net->stage[stage];
    int64_t in = x->shape.dim[3], inner = in / 4 > 1 ? in / 4 : 1;
    bool widens = s->widen > 1;
    bool skips = stride == 1 && in == out && (widens || m->net->plain_skips);
    pl_mobile_names a = m->net->names[widens].widen, d = m->net->names[widens].deep,
                    n = m->net->names[widens].narrow;
    pl_value *y = x;
    if (widens) y = norm(m, a.norm, pl_convnorm_conv(&m->c, a.conv, y, in * s->widen, 1, 1));
    y = norm(m, d.norm, pl_convnorm_depthwise(&m->c, d.conv, y, s->kernel, stride));
    if (m->net->squeeze) y = weigh(m, m->net->names[widens].weigh, inner, y);
    y = pl_convnorm_norm(&m->c, n.norm, pl_convnorm_conv(&m->c, n.conv, y, out, 1, 1), false);
    return skips ? PL_ADD(m->c.l.b, &pl_op_add, NULL, x, drop_block(m, y)) : y;
}

static pl_value *features(network *m, const pl_model_args *args, pl_value *x)
{
    pl_builder *b = m->c.l.b;
    const pl_mobile *net = m->net;
    int64_t stages = pl_model_int(args, "stages"), blocks = pl_model_int(args, "blocks");
    for (int i = 0; i < stages; i++) m->n_blocks += blocks ? blocks : net->stage[i].blocks;
    b->scope = net->scope(b, 0, -1, -1);
    x = pl_convnorm_conv(&m->c, net->stem.conv, x, round_channels(m, 32 * m->width), 3, 2);
    x = norm(m, net->stem.norm, x);
    for (int i = 0; i < stages; i++) {
        int64_t out = round_channels(m, net->stage[i].channels * m->width);
        int64_t n = blocks ? blocks : net->stage[i].blocks;
        for (int64_t k = 0; k < n && !b->err.code; k++, m->at_block++) {
            b->scope = net->scope(b, i, (int)k, (int)m->at_block);
            x = block(m, i, out, k ? 1 : net->stage[i].stride, x);
        }
    }
    b->scope = net->scope(b, net->n_stages, 0, (int)m->n_blocks);
    x = pl_convnorm_conv(&m->c, net->last.conv, x, pl_model_int(args, "last"), 1, 1);
    x = norm(m, net->last.norm, x);
    b->scope = "";
    return x;
}

void pl_mobile_build(pl_builder *b, const pl_model_args *args, pl_mode mode, const pl_mobile *net)
{
    network m = { .c = { .l = pl_layers_new(b, args), .mode = mode, .momentum = net->momentum },
                  .net = net,
                  .width = pl_model_real(args, "width"),
                  .skip = pl_model_has(args, "skip") ? pl_model_real(args, "skip") : 0,
                  .divisor = pl_model_int(args, "divisor") };
    const int64_t stages = pl_model_int(args, "stages");
    if (m.c.l.dropout >= 1 || m.skip >= 1)
        pl_err_set(&b->err, PL_EINPUT, "%s: %s=%g is not below 1", args->spec,
                   m.skip >= 1 ? "skip" : "dropout", m.skip >= 1 ? m.skip : m.c.l.dropout);
    if (m.width > 100)
        pl_err_set(&b->err, PL_EINPUT, "%s: width=%g is above 100", args->spec, m.width);
    if (stages > net->n_stages)
        pl_err_set(&b->err, PL_EINPUT, "%s: stages=%lld is more than %d", args->spec,
                   (long long)stages, net->n_stages);
    if (b->err.code) return;
    pl_value *x = pl_model_image(b, args);
    if (mode == PL_TRAIN && (m.c.l.dropout > 0 || m.skip > 0))
        m.c.l.seed = pl_add_input(b, "seed", PL_I64, PL_SCALAR);
    x = pl_convnorm_mean(&m.c, features(&m, args, x));
    x = pl_layers_drop(&m.c.l, x);
    x = pl_convnorm_linear(&m.c, "classifier.1", x, pl_model_int(args, "classes"), net->init,
                           "zeros");
    pl_model_finish_images(b, args, mode, x);
}
