/* EfficientNet-B0. Source: Tan & Le, "EfficientNet: rethinking model scaling for convolutional
 * neural networks", 2019, table 1; dropout of blocks and names of the weights as in torchvision. */
#include "models/layers.h"
#include "models/list.h"
#include "models/mobile.h"
#include "ops/list.h"

#include <math.h>

static const char *scope(pl_builder *b, int stage, int block, int index)
{
    (void)index;
    if (block < 0) return "features.0.";
    if (stage == 7) return "features.8.";
    return pl_builder_fmt(b, "features.%d.%d.block.", stage + 1, block);
}

static void build(pl_builder *b, const pl_model_args *args, pl_mode mode)
{
    /* widen, kernel, stride, channels, blocks */
    static const pl_mobile_stage stages[] = {
        { 1, 3, 1, 16, 1 },  { 6, 3, 2, 24, 2 },  { 6, 5, 2, 40, 2 },  { 6, 3, 2, 80, 3 },
        { 6, 5, 1, 112, 3 }, { 6, 5, 2, 192, 4 }, { 6, 3, 1, 320, 1 },
    };
    pl_mobile net = {
        .stage = stages,
        .n_stages = sizeof stages / sizeof *stages,
        .act = &pl_op_silu,
        .squeeze = true,
        .plain_skips = true,
        .stem = { "0", "1" },
        .last = { "0", "1" },
        .names = { { .deep = { "0.0", "0.1" }, .narrow = { "2.0", "2.1" }, .weigh = "1" },
                   { .widen = { "0.0", "0.1" },
                     .deep = { "1.0", "1.1" },
                     .narrow = { "3.0", "3.1" },
                     .weigh = "2" } },
        .scope = scope,
    };
    net.init = pl_layers_uniform(b, 1 / sqrt((double)pl_model_int(args, "classes")));
    pl_mobile_build(b, args, mode, &net);
}

static const pl_model_key keys[] = {
    PL_MOBILE_KEYS("1.0"),
    { "skip", "0.2", 0, "dropout of whole blocks: of the last one, others in proportion" },
    PL_MODEL_IMAGE_KEYS,
    PL_MODEL_DTYPE,
    { 0 },
};

const pl_family pl_models_efficientnet[] = {
    { "efficientnet_b0", "EfficientNet-B0, 5.3M", NULL, "images", keys, build },
    { 0 },
};
