/* AlexNet in one tower, without local response normalisation.
 * Source: Krizhevsky, "One weird trick for parallelizing convolutional neural networks", 2014,
 * sizes of the layers and padding as torchvision has them. */
#include "models/convnet.h"
#include "models/list.h"

static void build(pl_builder *b, const pl_model_args *args, pl_mode mode)
{
    /* channels, kernel, stride, padding, pooling */
    static const pl_convnet net = {
        5,
        { { 1, 11, 4, 2, true },
          { 3, 5, 1, 2, true },
          { 6, 3, 1, 1, false },
          { 4, 3, 1, 1, false },
          { 4, 3, 1, 1, true } },
        .window = 3,
        .drop = 0,
    };
    pl_convnet_build(b, args, mode, &net);
}

static const pl_model_key keys[] = {
    PL_CONVNET_KEYS("128"),
    PL_MODEL_IMAGE_KEYS,
    PL_MODEL_DTYPE,
    { 0 },
};

const pl_family pl_models_alexnet[] = {
    { "alexnet", "AlexNet, one tower, 61.1M", NULL, "images", keys, build },
    { 0 },
};
