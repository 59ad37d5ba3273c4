/* models/convnet.h - plain networks for images: convolutions with bias and ReLU, some followed by a
 * pooling; then three linear layers. AlexNet and VGG are such. */
#ifndef PL_MODELS_CONVNET_H
#define PL_MODELS_CONVNET_H
#include "models/model.h"

enum { PL_CONVNET_LAYERS = 16 }; /* convolutions at most */

typedef struct pl_convnet {
    int n;                       /* convolutions                                                 */
    struct {
        int channels;            /* it gives, in units of the key width                          */
        int kernel, stride, pad;
        bool pool;               /* a maximum over windows with a stride of 2 comes after it     */
    } layer[PL_CONVNET_LAYERS];
    int window;                  /* of those poolings, height and width                          */
    int drop;                    /* dropout comes before this linear layer and the next one      */
} pl_convnet;

/* Reads the keys width, size, hidden, classes, batch, dropout and smoothing. Weights are named and
 * shaped as torchvision has them; activations have their channels last. What is left of an image
 * after the last pooling goes to the first linear layer as it is: torchvision averages it to a
 * fixed size, which at 224 it has. */
void pl_convnet_build(pl_builder *b, const pl_model_args *args, pl_mode mode,
                      const pl_convnet *net);

/* Their keys. */
#define PL_CONVNET_KEYS(BATCH)                                                                     \
    { "width", "64", 1, "channels of the first convolution; the others in proportion" },           \
    { "size", "224", 1, "height and width of an image" },                                          \
    { "hidden", "4096", 1, "width between the linear layers" },                                    \
    { "classes", "1000", 2, "of the labels" },                                                     \
    { "batch", BATCH, 1, "images per step, over all devices" },                                    \
    { "dropout", "0.5", 0, "of two linear layers' inputs" }

#endif
