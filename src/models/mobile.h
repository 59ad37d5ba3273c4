/* models/mobile.h - networks for small computers: blocks that widen, convolve each channel by its
 * own window, and narrow again ("inverted residuals"). MobileNetV2, MNASNet and EfficientNet are
 * such. */
#ifndef PL_MODELS_MOBILE_H
#define PL_MODELS_MOBILE_H
#include "graph/op.h"
#include "models/model.h"

typedef struct pl_mobile_stage {
    int widen, kernel, stride; /* the stride is that of the first block */
    int channels, blocks;      /* before the key width                  */
} pl_mobile_stage;

/* Names of a layer's weights and of its norm's, below the scope of its block. */
typedef struct pl_mobile_names {
    const char *conv, *norm;
} pl_mobile_names;

typedef struct pl_mobile {
    const pl_mobile_stage *stage;
    int n_stages;
    const pl_op *act;       /* one element each; NULL: relu within the norm                      */
    double momentum;        /* of the running statistics; 0: the operator's                      */
    bool squeeze;           /* channels are weighed by their means over the image                */
    bool plain_skips;       /* a block that does not widen may have a residual                   */
    const char *init;       /* initial weights of the last layer                                 */
    pl_mobile_names stem, last;
    struct {                /* of a block that does not widen, and of one that does              */
        pl_mobile_names widen, deep, narrow;
        const char *weigh;
    } names[2];
    /* The scope of block `block` of a stage, the index-th of all: the stem is -1 of stage 0, the
     * last convolution 0 of stage n_stages. Ends with a point. */
    const char *(*scope)(pl_builder *b, int stage, int block, int index);
} pl_mobile;

/* Reads the keys below, and "skip" where the model has it: the dropout of whole blocks, of the last
 * one; of the others in proportion to their place. Weights are named as torchvision has them. */
void pl_mobile_build(pl_builder *b, const pl_model_args *args, pl_mode mode, const pl_mobile *net);

#define PL_MOBILE_KEYS(WIDTH)                                                                      \
    { "width", WIDTH, 0.01, "channels of all layers but the last, by this factor" },               \
    { "divisor", "8", 1, "that channels are rounded to a multiple of" },                           \
    { "stages", "7", 1, "of blocks: fewer make a small one" },                                     \
    { "blocks", "0", 0, "of each stage; 0: as published" },                                        \
    { "last", "1280", 1, "channels of the last convolution" },                                     \
    { "size", "224", 1, "height and width of an image" },                                          \
    { "classes", "1000", 2, "of the labels" },                                                     \
    { "batch", "16", 1, "images per step, over all devices" },                                     \
    { "dropout", "0.2", 0, "of the last layer's input" }

#endif
