/* models/convnorm.h - what the networks for images with batch norm share: convolutions without
 * bias, norms, the linear layer after a mean over the image. Activations have their channels
 * last. */
#ifndef PL_MODELS_CONVNORM_H
#define PL_MODELS_CONVNORM_H
#include "models/layers.h"

typedef struct pl_convnorm {
    pl_layers l;     /* dropout: of the linear layer's input                     */
    pl_mode mode;
    double momentum; /* of the running statistics; 0: that of batch_norm_running */
} pl_convnorm;

/* All of them pass a NULL x on: the builder then holds the error. A convolution keeps the size of
 * the image but for its stride. */
pl_value *pl_convnorm_conv(pl_convnorm *m, const char *name, pl_value *x, int64_t out,
                           int64_t kernel, int64_t stride);

/* Each channel by its own window: weights [channels, kernel, kernel], without the dimension of 1
 * that torchvision has between. */
pl_value *pl_convnorm_depthwise(pl_convnorm *m, const char *name, pl_value *x, int64_t kernel,
                                int64_t stride);

/* Statistics of the batch for PL_TRAIN, else the running ones. relu: max(0, ...) of it. */
pl_value *pl_convnorm_norm(pl_convnorm *m, const char *name, pl_value *x, bool relu);

/* The mean of each channel: x [n, y, x, c] to [n, c]. */
pl_value *pl_convnorm_mean(pl_convnorm *m, pl_value *x);

/* x [n, c] to [n, out], initial values as the two texts say. */
pl_value *pl_convnorm_linear(pl_convnorm *m, const char *name, pl_value *x, int64_t out,
                             const char *weight_init, const char *bias_init);

#endif
