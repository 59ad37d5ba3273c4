/* models/layers.h - the layers that models share. A layer's name is that of its node and stands in
 * the names of its states, NAME.weight and NAME.bias; before all of them comes the builder's scope.
 * Where x is NULL, so is what a layer gives: the builder then holds the error. */
#ifndef PL_MODELS_LAYERS_H
#define PL_MODELS_LAYERS_H
#include "models/model.h"

typedef struct pl_layers {
    pl_builder *b;
    const char *init; /* initial value of weights that say no other                      */
    double eps;       /* of the norms                                                    */
    bool from_one;    /* RMS norms multiply by 1 + their weight                          */
    double dropout;   /* probability                                                     */
    pl_value *seed;   /* NULL: there is no dropout                                       */
    int n_dropouts;   /* so far: each draws from its own stream                          */
    const char *shared; /* scope of weights that layers share: those of a name are one, whatever the
                           builder's scope is; NULL: a layer has its own                 */
} pl_layers;

/* Reads the keys eps and dropout, where the model has them; weights begin with std 0.02. */
pl_layers pl_layers_new(pl_builder *b, const pl_model_args *args);
/* The input "seed" of a training with dropout. A dropout that is not below 1 is an error of b. */
void pl_layers_add_seed(pl_layers *l, const pl_model_args *args, pl_mode mode);

/* What the ranges of the keys do not say: hidden divides into heads, classes are in the vocab. */
void pl_layers_check_sizes(pl_builder *b, const pl_model_args *args);

/* Initial values: normal with deviation std, and uniform in [-a, a). */
const char *pl_layers_normal(pl_builder *b, double std);
const char *pl_layers_uniform(pl_builder *b, double a);

/* The state `name`, f32; init NULL: that of l. */
pl_value *pl_layers_weight(const pl_layers *l, const char *name, pl_shape shape, const char *init);

/* y = x w^T; `spec` has the letters of x, w and y. */
pl_value *pl_layers_linear(const pl_layers *l, const char *name, const char *spec, pl_shape shape,
                           const char *init, pl_value *x);
/* x + c, of zeros where init is NULL; `spec` has the letters of x, c and x. */
pl_value *pl_layers_bias(const pl_layers *l, const char *name, const char *spec, pl_shape shape,
                         const char *init, pl_value *x);
/* A linear layer with bias of x [n, in], both uniform up to 1/sqrt(in), that is a scope of its own:
 * SCOPE.weight, SCOPE.bias, node SCOPE.linear. */
pl_value *pl_layers_dense(const pl_layers *l, const char *scope, int64_t out, pl_value *x);

/* Over the last dimension of x. `letters`: those of x, weight and outputs, or "". */
pl_value *pl_layers_norm(const pl_layers *l, const char *name, pl_value *x);
pl_value *pl_layers_rms_norm(const pl_layers *l, const char *name, const char *letters,
                             pl_value *x);

/* Dropout with the probability of l, or with p. */
pl_value *pl_layers_drop(pl_layers *l, pl_value *x);
pl_value *pl_layers_drop_by(pl_layers *l, double p, pl_value *x);

/* x in n parts. */
void pl_layers_split(const pl_layers *l, const char *name, const char *spec, int n, pl_value *x,
                     pl_value *out[]);

/* softmax(q k^T) v of qkv [b, s, h, d] each, one node NAME.attend; queries may be [b, s, g, r, d],
 * r heads to each of keys and values. `mask` are attributes of the operator attention, or "".
 * dropped: the probabilities are. With a bias [h, q, k], which may be NULL, they are the nodes
 * NAME.scores, NAME.softmax and NAME.mix, and `mask` is the softmax's. */
pl_value *pl_layers_attend(pl_layers *l, const char *name, pl_value *const qkv[3], pl_value *bias,
                           const char *mask, bool dropped);

/* down(act(gate(x)) * up(x)) of x [b, s, m], weights NAME.gate_proj.weight [width, m] ... */
pl_value *pl_layers_gated(const pl_layers *l, const char *name, const char *act, int64_t width,
                          bool biased, pl_value *x);

#endif
