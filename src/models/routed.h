/* models/routed.h - layers of experts: which of them a token goes to, and the way there and back.
 *
 * Tokens are routed within their group: an expert has room for some of them (its slots), and what
 * comes later passes by. */
#ifndef PL_MODELS_ROUTED_H
#define PL_MODELS_ROUTED_H
#include "models/model.h"

typedef struct pl_routed {
    pl_builder *b;
    int64_t experts, k;        /* of a layer; those a token goes to                            */
    int64_t slots;             /* of an expert, for a group; 0: none, its rows are the tokens
                                  that chose it, and nothing is left out                       */
    bool even;                 /* the weights of a token's k experts sum to 1                  */
    bool sigmoid;              /* a score is the sigmoid of a logit; else softmax over all     */
    /* Experts stand in `families` (DeepSeek's groups), 0: in one; a token's are of the `chosen`
     * best of them: by the largest score, or with `sigmoid` by the sum of the two largest. */
    int64_t families, chosen;
    double scale;              /* of the weights; 0: 1                                         */
    pl_value *ids, *weight;    /* [group, token, k], set by pl_routed_choose                   */
    pl_value *marks;           /* [group, token, k, expert], 1 and 0, where somebody asked     */
    pl_value *scores;          /* [group, token, expert], likewise: of all, before the choice  */
} pl_routed;

/* ceil(capacity tokens k / experts) slots, where `capacity` is the slots there are by the choices
 * there are; at least one, and at most `tokens`, as a token chooses an expert but once; 0: none.
 * `spec` names the model when k is more than experts: a sticky error of b. */
pl_routed pl_routed_new(pl_builder *b, const char *spec, int64_t experts, int64_t k, int64_t tokens,
                        double capacity);

/* Choose the k experts of each token that have the largest scores, made of `logits` [group, token,
 * expert]; `bias` [expert], or NULL, is added to them for the choice alone. False: the builder has
 * an error. */
bool pl_routed_choose(pl_routed *r, pl_value *logits, pl_value *bias);

/* x [group, token, width] to the slots [group, expert, slot, width] of the experts that are chosen
 * so; x itself where there are no slots. NULL: the builder has an error. */
pl_value *pl_routed_send(pl_routed *r, pl_value *logits, pl_value *bias, pl_value *x);

/* The same layer of every expert, of what pl_routed_send gave, or of such a layer's result, which
 * has slots too, or is [group, token, k, width]. Weights w[expert, ...] have the `letters` "eio" or
 * "eoi", i of x's width and o of the result's; a bias c is [expert, width]. */
pl_value *pl_routed_linear(const pl_routed *r, const char *name, const char *letters, pl_value *w,
                           pl_value *x);
pl_value *pl_routed_bias(pl_routed *r, pl_value *c, pl_value *x);

/* What the experts made of it, weighed and summed for each token: [group, token, width]. */
pl_value *pl_routed_return(const pl_routed *r, pl_value *y);

/* What is added to the loss so that experts are chosen equally often (Switch Transformers, 2.2):
 * the number of experts times the sum over them of their share of the choices times their mean
 * probability, mean over the groups; 1 where either is equal for all. f32. */
pl_value *pl_routed_balance(pl_routed *r);

/* Of a graph whose layers are all there: the outputs "dropped", the share of the tokens' choices
 * for which an expert had no slot left, and "unused_experts", the share of the experts that no
 * token chose; f32, of all layers of experts together. Nothing where there are none. */
void pl_routed_tell(pl_builder *b);

#endif
