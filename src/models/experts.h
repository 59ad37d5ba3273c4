/* models/experts.h - layers of experts in decoders, each a gated feed-forward layer, with the names
 * of the published checkpoints. x is [batch, seq, hidden]. */
#ifndef PL_MODELS_EXPERTS_H
#define PL_MODELS_EXPERTS_H
#include "models/layers.h"
#include "models/routed.h"

/* Keys that pl_experts_new reads, for a model's list; also act, ffn, hidden and seq. */
#define PL_EXPERTS_KEYS                                                                            \
    { "experts", "0", 0, "of a routed layer; 0: no layer is routed" },                             \
    { "k", "2", 1, "experts of a token", .needs = "experts!=0" },                                  \
    { "expert", "0", 0, "width inside an expert; 0: ffn", .needs = "experts!=0" },                 \
    { "every", "1", 1, "each so many-th layer is routed, the first ones are not",                  \
      .needs = "experts!=0" },                                                                     \
    { "plain", "none", 0, "layers that are not routed, from 0 on, as 0+3", "*",                    \
      .needs = "experts!=0" },                                                                     \
    { "names", "mixtral", 0, "of the experts' weights, as published by",                           \
      "mixtral qwen deepseek", .needs = "experts!=0" },                                            \
    { "even", "1", 0, "1: the weights of a token's experts sum to 1",                              \
      .most = 1, .needs = "experts!=0" },                                                          \
    { "capacity", "1.25", 0,                                                                       \
      "slots of the experts by choices of the tokens of a row; 0: no slots, none is left out",     \
      .needs = "experts!=0" }

typedef struct pl_experts {
    pl_layers l;
    pl_routed routed;     /* its other fields may be set                        */
    int64_t hidden, ffn;  /* width inside an expert                             */
    int64_t every;
    int64_t shared;       /* width inside what all tokens pass too; 0: nothing  */
    bool gated;           /* that is weighed by a sigmoid of its own            */
    bool biased;          /* a bias chooses the experts                         */
    const char *plain, *act;
    const struct pl_experts_names *names;
} pl_experts;

/* `routed.b` NULL: the model has no experts. Mistakes are errors of b. */
pl_experts pl_experts_new(pl_builder *b, const pl_model_args *args);
bool pl_experts_at(const pl_experts *e, int64_t layer); /* is that one routed? */

/* What the experts make of x, and what all tokens pass. */
pl_value *pl_experts_add(const pl_experts *e, pl_value *x);

#endif
