/* VGG: stages of 3x3 convolutions, each stage on an image half as high and wide as the one before.
 * Source: Simonyan and Zisserman, "Very deep convolutional networks for large-scale image
 * recognition", ICLR 2015, configurations A, B, D and E; no batch norm. */
#include "models/convnet.h"
#include "models/list.h"

enum { STAGES = 5 };

static const struct {
    int depth, convs[STAGES];
} configurations[] = {
    { 11, { 1, 1, 2, 2, 2 } },
    { 13, { 2, 2, 2, 2, 2 } },
    { 16, { 2, 2, 3, 3, 3 } },
    { 19, { 2, 2, 4, 4, 4 } },
};
enum { N_CONFIGURATIONS = sizeof configurations / sizeof *configurations };

static void build(pl_builder *b, const pl_model_args *args, pl_mode mode)
{
    static const int channels[STAGES] = { 1, 2, 4, 8, 8 };
    pl_convnet net = { .window = 2, .drop = 1 };
    int64_t depth = pl_model_int(args, "depth");
    for (int i = 0; i < N_CONFIGURATIONS; i++)
        for (int stage = 0; stage < STAGES && configurations[i].depth == depth; stage++)
            for (int k = configurations[i].convs[stage]; k > 0; k--, net.n++) {
                net.layer[net.n].channels = channels[stage];
                net.layer[net.n].kernel = 3;
                net.layer[net.n].stride = net.layer[net.n].pad = 1;
                net.layer[net.n].pool = k == 1;
            }
    if (!net.n)
        pl_err_set(&b->err, PL_EINPUT, "%s: depth=%lld is not 11, 13, 16 or 19", args->spec,
                   (long long)depth);
    pl_convnet_build(b, args, mode, &net);
}

static const pl_model_key keys[] = {
    { "depth", "16", 1, "11, 13, 16 or 19" },
    PL_CONVNET_KEYS("64"),
    PL_MODEL_IMAGE_KEYS,
    PL_MODEL_DTYPE,
    { 0 },
};

const pl_family pl_models_vgg[] = {
    { "vgg16", "VGG-16 (D), 138.4M", NULL, "images", keys, build },
    { "vgg11", "VGG-11 (A), 132.9M", "depth=11", "images", keys, build },
    { 0 },
};
