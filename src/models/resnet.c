/* ResNet: residual blocks of convolutions with batch norm, channels last.
 * Source: He et al., "Deep residual learning for image recognition", 2016; the stride of a
 * bottleneck sits on its 3x3 convolution and weights are named and shaped as in torchvision
 * (ResNet v1.5). */
#include "models/convnorm.h"
#include "models/models.h"
#include "ops/list.h"

#include <math.h>

static pl_value *layer(pl_convnorm *r, const char *name, const char *norm, pl_value *x, int64_t out,
                       int64_t kernel, int64_t stride, bool relu)
{
    return pl_convnorm_norm(r, norm, pl_convnorm_conv(r, name, x, out, kernel, stride), relu);
}

/* Two 3x3 convolutions (18 layers), or 1x1, 3x3, 1x1, the last with 4 times the channels (50). */
static pl_value *block(pl_convnorm *r, pl_value *x, int64_t width, int64_t stride, bool bottleneck)
{
    if (!x) return NULL;
    int64_t out = bottleneck ? 4 * width : width;
    pl_value *y = x, *skip = x;
    if (bottleneck) {
        y = layer(r, "conv1", "bn1", y, width, 1, 1, true);
        y = layer(r, "conv2", "bn2", y, width, 3, stride, true);
        y = layer(r, "conv3", "bn3", y, out, 1, 1, false);
    } else {
        y = layer(r, "conv1", "bn1", y, width, 3, stride, true);
        y = layer(r, "conv2", "bn2", y, out, 3, 1, false);
    }
    if (stride > 1 || x->shape.dim[3] != out)
        skip = layer(r, "downsample.0", "downsample.1", x, out, 1, stride, false);
    return PL_ADD(r->b, &pl_op_relu, NULL, PL_ADD(r->b, &pl_op_add, NULL, y, skip));
}

static pl_value *head(pl_convnorm *r, pl_value *x, int64_t classes)
{
    if (!x) return NULL;
    const char *init = pl_builder_fmt(r->b, "uniform a=%.17g", 1 / sqrt((double)x->shape.dim[3]));
    return pl_convnorm_linear(r, "fc", pl_convnorm_mean(r, x), classes, init, init);
}

static void build(pl_builder *b, const pl_model_args *a, pl_mode mode)
{
    static const int depth18[] = { 2, 2, 2, 2 }, depth50[] = { 3, 4, 6, 3 };
    int64_t stages = pl_model_int(a, "stages"), blocks = pl_model_int(a, "blocks");
    pl_convnorm r = { .b = b, .mode = mode };
    bool bottleneck = pl_model_int(a, "depth") == 50;
    int64_t size = pl_model_int(a, "size"), width = pl_model_int(a, "width");
    if (!bottleneck && pl_model_int(a, "depth") != 18)
        pl_err_set(&b->err, PL_EINPUT, "%s: depth=%lld is not 18 or 50", a->spec,
                   (long long)pl_model_int(a, "depth"));
    if (stages > 4)
        pl_err_set(&b->err, PL_EINPUT, "%s: stages=%lld is more than 4", a->spec,
                   (long long)stages);
    pl_value *x =
        pl_add_input(b, "image", PL_F32, PL_SHAPE(pl_model_int(a, "batch"), size, size, 3));
    x = layer(&r, "conv1", "bn1", x, width, 7, 2, true);
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
