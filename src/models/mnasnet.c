/* MNASNet-B1. Source: Tan et al., "MnasNet: platform-aware neural architecture search for mobile",
 * 2019; sizes, momentum of the running statistics and names of the weights as in torchvision. */
#include "models/layers.h"
#include "models/list.h"
#include "models/mobile.h"
#include "ops/list.h"

#include <math.h>

/* The first stage, which does not widen, lies flat among the layers. */
static const char *scope(pl_builder *b, int stage, int block, int index)
{
    (void)index;
    if (stage == 7 || block < 0 || (stage == 0 && block == 0)) return "layers.";
    return pl_builder_fmt(b, "layers.%d.%d.layers.", stage + 7, block);
}

static void build(pl_builder *b, const pl_model_args *args, pl_mode mode)
{
    /* widen, kernel, stride, channels, blocks */
    static const pl_mobile_stage stages[] = {
        { 1, 3, 1, 16, 1 }, { 3, 3, 2, 24, 3 },  { 3, 5, 2, 40, 3 },  { 6, 5, 2, 80, 3 },
        { 6, 3, 1, 96, 2 }, { 6, 5, 2, 192, 4 }, { 6, 3, 1, 320, 1 },
    };
    pl_mobile net = {
        .stage = stages,
        .n_stages = sizeof stages / sizeof *stages,
        .momentum = 3e-4,
        .stem = { "0", "1" },
        .last = { "14", "15" },
        .names = { { .deep = { "3", "4" }, .narrow = { "6", "7" } },
                   { .widen = { "0", "1" }, .deep = { "3", "4" }, .narrow = { "6", "7" } } },
        .scope = scope,
    };
    net.init = pl_layers_uniform(b, sqrt(3 / (double)pl_model_int(args, "classes")));
    pl_mobile_build(b, args, mode, &net);
}

static const pl_model_key keys[] = {
    PL_MOBILE_KEYS("0.5"),
    PL_MODEL_IMAGE_KEYS,
    PL_MODEL_DTYPE,
    { 0 },
};

const pl_family pl_models_mnasnet[] = {
    { "mnasnet0_5", "MNASNet-B1 of half the width, 2.2M", NULL, "images", keys, build },
    { 0 },
};
