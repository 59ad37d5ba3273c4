/* models/gan.h - what generative adversarial networks share: layers whose weights may be divided by
 * their spectral norm, norms that a class may steer, and how two networks become two objectives.
 *
 * The generator makes pictures of random numbers z, the discriminator gives a picture a number, the
 * larger the more it takes it for a real one. Objective "discriminator" trains the one to tell, and
 * "generator" the other not to be told; both by what the step begins with. With buffer=S the
 * discriminator learns from pictures that the generator made S steps before (ParaGAN's buffer: then
 * neither network waits for the other within a step), with S = 0 from those of the step.
 * Pictures are [batch, size, size, channels] in -1 .. 1.
 * Sources: Goodfellow et al. 2014; Miyato et al., "Spectral normalization for generative
 * adversarial networks", ICLR 2018; Li et al., "ParaGAN", SoCC 2024. */
#ifndef PL_MODELS_GAN_H
#define PL_MODELS_GAN_H
#include "models/layers.h"

/* Keys of every such model, beside its own. */
#define PL_GAN_KEYS                                                                                \
    { "channels", "3", 1, "of a picture: 3, or 1 for grey", "1 3" },                               \
    { "buffer", "0", 0, "steps that the discriminator's made pictures are old",                    \
      .most = PL_GAN_BUFFER }

enum { PL_GAN_BUFFER = 8 };

typedef struct pl_gan {
    pl_layers l;
    const pl_model_args *args;
    pl_mode mode;
    int64_t batch, size, channels;
    int64_t classes;        /* of pictures that a label steers; 0: none does       */
    bool hinge;             /* losses are hinges; else those of logistic regression */
    bool spectral;          /* weights are divided by their spectral norm          */
    const char *own;        /* whose spectral norms are found anew for: those that are apart; NULL:
                               one is enough                                       */
    bool keeps;             /* norms have running statistics, which evaluations take */
} pl_gan;

typedef struct pl_gan_nets {
    int64_t z; /* random numbers for a picture */
    /* Pictures of z [batch, z] and label i32[batch] (NULL without classes). */
    pl_value *(*generate)(pl_gan *m, pl_value *z, pl_value *label);
    /* A number for each picture: [batch]. */
    pl_value *(*judge)(pl_gan *m, pl_value *image, pl_value *label);
} pl_gan_nets;

/* Reads the keys batch, size, channels, classes (if there), eps. */
pl_gan pl_gan_new(pl_builder *b, const pl_model_args *args, pl_mode mode);

/* Both networks and their losses; for PL_INFER the output "image" alone, of the input "seed". */
void pl_gan_build(pl_gan *m, const pl_gan_nets *nets);

/* Layers of x [n, y, x, c]; NULL is passed on: the builder then holds the error. Weights are
 * NAME.weight and NAME.bias. */

/* To `out` channels; a padding of kernel / 2 keeps the size, but for the stride. */
pl_value *pl_gan_conv(pl_gan *m, const char *name, pl_value *x, int64_t out, int64_t kernel,
                      int64_t stride, int64_t pad, bool biased);
/* The transposed convolution: of y positions stride (y - 1) + kernel - 2 pad. Without a bias;
 * weight [c, out, kernel, kernel]. */
pl_value *pl_gan_unfold(pl_gan *m, const char *name, pl_value *x, int64_t out, int64_t kernel,
                        int64_t stride, int64_t pad);
/* x [n, c] to [n, out]. */
pl_value *pl_gan_linear(pl_gan *m, const char *name, pl_value *x, int64_t out, bool biased);
/* A row of [classes, out] for each label. */
pl_value *pl_gan_embed(pl_gan *m, const char *name, pl_value *label, int64_t out);
/* Batch norm; relu: max(0, ...) of it. */
pl_value *pl_gan_norm(pl_gan *m, const char *name, pl_value *x, bool relu);
/* The same with scale and offset by what y [n, h] says of the picture: max(0, norm(x) (1 + A y) +
 * B y). */
pl_value *pl_gan_norm_by(pl_gan *m, const char *name, pl_value *x, pl_value *y);
pl_value *pl_gan_relu(pl_gan *m, pl_value *x);
/* Each pixel becomes two by two; of two by two the mean. */
pl_value *pl_gan_double(pl_gan *m, pl_value *x);
pl_value *pl_gan_halve(pl_gan *m, pl_value *x);
/* x + gamma attention(x) over all positions, gamma 0 at the start; keys and values of positions two
 * by two. Source: Zhang et al., "Self-attention generative adversarial networks", ICML 2019. */
pl_value *pl_gan_attend(pl_gan *m, const char *name, pl_value *x);

#endif
