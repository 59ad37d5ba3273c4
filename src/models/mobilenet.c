/* MobileNetV2. Source: Sandler et al., "MobileNetV2: inverted residuals and linear bottlenecks",
 * 2018, table 2; weights are named as in torchvision. */
#include "models/list.h"
#include "models/mobile.h"
#include "ops/list.h"

static const char *scope(pl_builder *b, int stage, int block, int index)
{
    const char *what = block < 0 || stage == 7 ? "" : "conv.";
    return pl_builder_fmt(b, "features.%d.%s", index + 1, what);
}

static void build(pl_builder *b, const pl_model_args *args, pl_mode mode)
{
    /* widen, kernel, stride, channels, blocks */
    static const pl_mobile_stage stages[] = {
        { 1, 3, 1, 16, 1 }, { 6, 3, 2, 24, 2 },  { 6, 3, 2, 32, 3 },  { 6, 3, 2, 64, 4 },
        { 6, 3, 1, 96, 3 }, { 6, 3, 2, 160, 3 }, { 6, 3, 1, 320, 1 },
    };
    static const pl_mobile net = {
        .stage = stages,
        .n_stages = sizeof stages / sizeof *stages,
        .act = &pl_op_relu6,
        .plain_skips = true,
        .init = "normal std=0.01",
        .stem = { "0", "1" },
        .last = { "0", "1" },
        .names = { { .deep = { "0.0", "0.1" }, .narrow = { "1", "2" } },
                   { .widen = { "0.0", "0.1" },
                     .deep = { "1.0", "1.1" },
                     .narrow = { "2", "3" } } },
        .scope = scope,
    };
    pl_mobile_build(b, args, mode, &net);
}

static const pl_model_key keys[] = {
    PL_MOBILE_KEYS("1.0"),
    PL_MODEL_IMAGE_KEYS,
    PL_MODEL_DTYPE,
    { 0 },
};

const pl_family pl_models_mobilenet[] = {
    { "mobilenet_v2", "MobileNetV2, 3.5M", NULL, "images", keys, build },
    { 0 },
};
