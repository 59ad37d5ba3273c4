/* ResNet: residual blocks of convolutions with batch norm, channels last.
 * Source: He et al., "Deep residual learning for image recognition", 2016; the stride of a
 * bottleneck sits on its 3x3 convolution and weights are named and shaped as in torchvision
 * (ResNet v1.5). */
#include "models/convnorm.h"
#include "models/list.h"
#include "ops/list.h"

#include <math.h>

static pl_value *layer(pl_convnorm *r, const char *name, const char *norm, pl_value *x, int64_t out,
                       int64_t kernel, int64_t stride, bool relu)
{
    return pl_convnorm_norm(r, norm, pl_convnorm_conv(r, name, x, out, kernel, stride), relu);
}

/* Two 3x3 convolutions, or 1x1, 3x3 with `wide` times the channels, 1x1 with 4 times as many. */
static pl_value *block(pl_convnorm *r, pl_value *x, int64_t width, int64_t wide, int64_t stride,
                       bool bottleneck)
{
    if (!x) return NULL;
    int64_t out = bottleneck ? 4 * width : width;
    pl_value *y = x, *skip = x;
    if (bottleneck) {
        y = layer(r, "conv1", "bn1", y, width, 1, 1, true);
        y = layer(r, "conv2", "bn2", y, wide * width, 3, stride, true);
        y = layer(r, "conv3", "bn3", y, out, 1, 1, false);
    } else {
        y = layer(r, "conv1", "bn1", y, width, 3, stride, true);
        y = layer(r, "conv2", "bn2", y, out, 3, 1, false);
    }
    if (stride > 1 || x->shape.dim[3] != out)
        skip = layer(r, "downsample.0", "downsample.1", x, out, 1, stride, false);
    return PL_ADD(r->l.b, &pl_op_relu, NULL, PL_ADD(r->l.b, &pl_op_add, NULL, y, skip));
}

static pl_value *head(pl_convnorm *r, pl_value *x, int64_t classes)
{
    if (!x) return NULL;
    const char *init = pl_layers_uniform(r->l.b, 1 / sqrt((double)x->shape.dim[3]));
    return pl_convnorm_linear(r, "fc", pl_convnorm_mean(r, x), classes, init, init);
}

static void build(pl_builder *b, const pl_model_args *args, pl_mode mode)
{
    static const struct {
        int depth, blocks[4];
        bool bottleneck;
    } all[] = {
        { 18, { 2, 2, 2, 2 }, false },  { 34, { 3, 4, 6, 3 }, false },
        { 50, { 3, 4, 6, 3 }, true },   { 101, { 3, 4, 23, 3 }, true },
        { 152, { 3, 8, 36, 3 }, true },
    };
    int64_t depth = pl_model_int(args, "depth");
    size_t d = 0;
    while (d < 4 && all[d].depth != depth) d++;
    int64_t stages = pl_model_int(args, "stages"), blocks = pl_model_int(args, "blocks");
    pl_convnorm r = { .l = pl_layers_new(b, args), .mode = mode };
    int64_t width = pl_model_int(args, "width"), wide = pl_model_int(args, "wide");
    if (all[d].depth != depth)
        pl_err_set(&b->err, PL_EINPUT, "%s: depth=%lld is not 18, 34, 50, 101 or 152", args->spec,
                   (long long)depth);
    if (wide > 1 && !all[d].bottleneck)
        pl_err_set(&b->err, PL_EINPUT, "%s: wide=%lld needs a depth of 50, 101 or 152", args->spec,
                   (long long)wide);
    if (stages > 4)
        pl_err_set(&b->err, PL_EINPUT, "%s: stages=%lld is more than 4", args->spec,
                   (long long)stages);
    pl_value *x = pl_model_image(b, args);
    x = layer(&r, "conv1", "bn1", x, width, 7, 2, true);
    if (x)
        x = PL_ADD_AS(b, &pl_op_max_pool, "maxpool", "n[y+r][x+s]c->nyxc; r=3 s=3 stride=2 pad=1",
                      x);
    for (int stage = 0; stage < stages && !b->err.code; stage++) {
        int64_t n = blocks ? blocks : all[d].blocks[stage];
        for (int64_t i = 0; i < n && !b->err.code; i++) {
            b->scope = pl_builder_fmt(b, "layer%d.%lld.", stage + 1, (long long)i);
            x = block(&r, x, width << stage, wide, stage && !i ? 2 : 1, all[d].bottleneck);
        }
    }
    b->scope = "";
    pl_model_finish_image(b, args, mode, head(&r, x, pl_model_int(args, "classes")), NULL);
}

static const pl_model_key keys[] = {
    { "depth", "50", 1, "18, 34, 50, 101 or 152" },
    { "stages", "4", 1, "of the network: fewer make a small one" },
    { "blocks", "0", 0, "of each stage; 0: as published" },
    { "width", "64", 1, "channels after the stem" },
    { "wide", "1", 1,
      "times the channels, within blocks of depths from 50, of the 3x3 convolution" },
    { "size", "224", 1, "height and width of an image" },
    { "classes", "1000", 2, "of the labels" },
    { "batch", "16", 1, "images per step, over all devices" },
    PL_MODEL_IMAGE_KEYS,
    PL_MODEL_DTYPE,
    { 0 },
};

#define IMAGES(name, about, sizes)                                                                 \
    {                                                                                              \
        name, about, sizes, "images", keys, build                                                  \
    }
#define ALPA(name, sizes)                                                                          \
    IMAGES("wresnet-" name, "Wide-ResNet " name " of Alpa", sizes ",classes=1024,batch=1536")

const pl_family pl_models_resnet[] = {
    IMAGES("resnet50", "ResNet-50, 25.6M", NULL),
    IMAGES("resnet18", "ResNet-18, 11.7M", "depth=18"),
    IMAGES("resnet34", "ResNet-34, 21.8M", "depth=34"),
    IMAGES("resnet101", "ResNet-101, 44.5M", "depth=101"),
    IMAGES("resnet152", "ResNet-152, 60.2M", "depth=152"),
    IMAGES("wresnet-152-10", "Tofu's WResNet-152-10", "depth=152,width=640,batch=8"),
    ALPA("250m", "width=160,wide=2"),
    ALPA("500m", "width=224,wide=2"),
    ALPA("1b", "width=320,wide=2"),
    ALPA("2b", "width=448,wide=2"),
    ALPA("4b", "width=640,wide=2"),
    ALPA("6.8b", "width=320,wide=16"),
    { "wresnet-13b", "Wide-ResNet 13b of Alpa",
      "depth=101,width=320,wide=16,classes=1024,batch=1520", "images", keys, build },
    { 0 },
};
