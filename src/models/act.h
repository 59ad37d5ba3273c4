/* models/act.h - activations between layers, by the words of a model's key. */
#ifndef PL_MODELS_ACT_H
#define PL_MODELS_ACT_H
#include "graph/graph.h"

/* For pl_model_key.words. gelu is the definition by erf, gelu_tanh its approximation (also called
 * gelu_new), silu is swish, quick_gelu x sigmoid(1.702 x), relu2 the square of relu. */
#define PL_ACT_WORDS "gelu_tanh gelu relu silu quick_gelu relu2 relu6 tanh sigmoid"

/* act(x), one element each: a node "SCOPE.gelu", or as the operator names it where `scope` is NULL.
 * `act` is one of the words. NULL: the builder has an error. */
pl_value *pl_act_add(pl_builder *b, const char *act, const char *scope, pl_value *x);

#endif
