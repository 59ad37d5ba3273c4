/* ResNet: residual blocks of convolutions with batch norm, channels last.
 * Source: He et al., "Deep residual learning for image recognition", 2016; the stride of a
 * bottleneck sits on its 3x3 convolution and weights are named and shaped as in torchvision
 * (ResNet v1.5). */
#include "models/models.h"
#include "ops/list.h"

#include <math.h>
#include <string.h>

typedef struct resnet {
    pl_builder *b;
    pl_mode mode;
    int64_t batch;
} resnet;

static pl_value *conv(resnet *r, const char *name, pl_value *x, int64_t out, int64_t k,
                      int64_t stride)
{
    if (!x) return NULL;
    pl_builder *b = r->b;
    const char *init = pl_builder_fmt(b, "normal std=%.17g", sqrt(2 / (double)(out * k * k)));
    pl_value *w = pl_add_state(b, pl_builder_fmt(b, "%s.weight", name), PL_F32,
                               PL_SHAPE(out, x->shape.dim[3], k, k), init, true);
    return PL_ADD_AS(b, &pl_op_conv2d, name,
                     pl_builder_fmt(b, "n[y+r][x+s]c,ocrs->nyxo; stride=%lld pad=%lld",
                                    (long long)stride, (long long)(k / 2)),
                     x, w);
}

static pl_value *channel_state(resnet *r, const char *name, const char *part, int64_t c, bool train)
{
    bool ones = !strcmp(part, "weight") || !strcmp(part, "running_var");
    return pl_add_state(r->b, pl_builder_fmt(r->b, "%s.%s", name, part), PL_F32, PL_SHAPE(c),
                        ones ? "ones" : "zeros", train);
}

static pl_value *norm(resnet *r, const char *name, pl_value *x, bool relu)
{
    if (!x) return NULL;
    pl_builder *b = r->b;
    int64_t c = x->shape.dim[3], count = pl_shape_count(&x->shape) / c;
    pl_value *scale = channel_state(r, name, "weight", c, true);
    pl_value *bias = channel_state(r, name, "bias", c, true);
    pl_value *mean = channel_state(r, name, "running_mean", c, false);
    pl_value *var = channel_state(r, name, "running_var", c, false);
    const char *spec = relu ? "; relu=1" : NULL;
    if (r->mode != PL_TRAIN)
        return PL_ADD_AS(b, &pl_op_batch_norm_eval, name, spec, x, mean, var, scale, bias);
    pl_node *stats =
        pl_add_node(b, &pl_op_batch_norm_stats, NULL, NULL, 1, (pl_value *const[]){ x });
    if (!stats) return NULL;
    pl_node *running = pl_add_node(b, &pl_op_batch_norm_running, NULL,
                                   pl_builder_fmt(b, "; count=%lld", (long long)count), 4,
                                   (pl_value *const[]){ mean, var, stats->out[0], stats->out[1] });
    if (!running) return NULL;
    mean->next = running->out[0];
    var->next = running->out[1];
    return PL_ADD_AS(b, &pl_op_batch_norm, name, spec, x, stats->out[0], stats->out[1], scale,
                     bias);
}

/* Two 3x3 convolutions (18 layers), or 1x1, 3x3, 1x1, the last with 4 times the channels (50). */
static pl_value *block(resnet *r, pl_value *x, int64_t width, int64_t stride, bool bottleneck)
{
    if (!x) return NULL;
    int64_t out = bottleneck ? 4 * width : width;
    pl_value *y = x, *skip = x;
    if (bottleneck) {
        y = norm(r, "bn1", conv(r, "conv1", y, width, 1, 1), true);
        y = norm(r, "bn2", conv(r, "conv2", y, width, 3, stride), true);
        y = norm(r, "bn3", conv(r, "conv3", y, out, 1, 1), false);
    } else {
        y = norm(r, "bn1", conv(r, "conv1", y, width, 3, stride), true);
        y = norm(r, "bn2", conv(r, "conv2", y, out, 3, 1), false);
    }
    if (stride > 1 || x->shape.dim[3] != out)
        skip = norm(r, "downsample.1", conv(r, "downsample.0", x, out, 1, stride), false);
    return PL_ADD(r->b, &pl_op_relu, NULL, PL_ADD(r->b, &pl_op_add, NULL, y, skip));
}

static pl_value *head(resnet *r, pl_value *x, int64_t classes)
{
    if (!x) return NULL;
    pl_builder *b = r->b;
    int64_t c = x->shape.dim[3], area = x->shape.dim[1] * x->shape.dim[2];
    const char *init = pl_builder_fmt(b, "uniform a=%.17g", 1 / sqrt((double)c));
    x = PL_ADD_AS(b, &pl_op_reduce_sum, "avgpool", "nyxc->nc", x);
    x = PL_ADD(b, &pl_op_scale, pl_builder_fmt(b, "; value=%.17g", 1 / (double)area), x);
    pl_value *w = pl_add_state(b, "fc.weight", PL_F32, PL_SHAPE(classes, c), init, true);
    pl_value *bias = pl_add_state(b, "fc.bias", PL_F32, PL_SHAPE(classes), init, true);
    return PL_ADD(b, &pl_op_add, "no,o->no", PL_ADD_AS(b, &pl_op_einsum, "fc", "nc,oc->no", x, w),
                  bias);
}

static void build(pl_builder *b, const pl_model_args *a, pl_mode mode)
{
    static const int depth18[] = { 2, 2, 2, 2 }, depth50[] = { 3, 4, 6, 3 };
    int64_t stages = pl_model_int(a, "stages"), blocks = pl_model_int(a, "blocks");
    resnet r = { b, mode, pl_model_int(a, "batch") };
    bool bottleneck = pl_model_int(a, "depth") == 50;
    int64_t size = pl_model_int(a, "size"), width = pl_model_int(a, "width");
    if (!bottleneck && pl_model_int(a, "depth") != 18)
        pl_err_set(&b->err, PL_EINPUT, "%s: depth=%lld is not 18 or 50", a->spec,
                   (long long)pl_model_int(a, "depth"));
    if (stages > 4)
        pl_err_set(&b->err, PL_EINPUT, "%s: stages=%lld is more than 4", a->spec,
                   (long long)stages);
    pl_value *x = pl_add_input(b, "image", PL_F32, PL_SHAPE(r.batch, size, size, 3));
    x = norm(&r, "bn1", conv(&r, "conv1", x, width, 7, 2), true);
    if (x)
        x = PL_ADD_AS(b, &pl_op_max_pool, "maxpool", "n[y+r][x+s]c->nyxc; r=3 s=3 stride=2 pad=1",
                      x);
    for (int stage = 0; stage < stages && !b->err.code; stage++) {
        int64_t n = blocks ? blocks : (bottleneck ? depth50 : depth18)[stage];
        for (int64_t i = 0; i < n && !b->err.code; i++) {
            b->scope = pl_builder_fmt(b, "layer%d.%lld.", stage + 1, (long long)i);
            x = block(&r, x, width << stage, stage && !i ? 2 : 1, bottleneck);
        }
    }
    b->scope = "";
    pl_model_finish(b, mode, head(&r, x, pl_model_int(a, "classes")), "label");
}

static const pl_model_key keys[] = {
    { "depth", "50", 1, "18 or 50" },
    { "stages", "4", 1, "of the network: fewer make a small one" },
    { "blocks", "0", 0, "of each stage; 0: as published" },
    { "width", "64", 1, "channels after the stem" },
    { "size", "224", 1, "height and width of an image" },
    { "classes", "1000", 2, "of the labels" },
    { "batch", "16", 1, "images per step, over all devices" },
    PL_MODEL_DTYPE,
    { 0 },
};

const pl_model pl_model_resnet18 = { "resnet18", "ResNet-18, 11.7M", "depth=18", "images", keys,
                                     build };
const pl_model pl_model_resnet50 = { "resnet50", "ResNet-50, 25.6M", NULL, "images", keys, build };
