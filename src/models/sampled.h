/* models/sampled.h - the softmax over a few samples of the words, for training with many. */
#ifndef PL_MODELS_SAMPLED_H
#define PL_MODELS_SAMPLED_H
#include "models/model.h"

typedef struct pl_sampled {
    int64_t n, groups; /* samples of each group of rows */
} pl_sampled;

/* The end of a training step of x [b, s, m]: adds the inputs "targets" and "seed" and the output
 * "loss", the mean over all targets of the cross-entropy of a target among itself and its group's
 * samples, by the rows of table [vocab, m]. A sample that is the target is none. Which word is k is
 * drawn with p ~ 1 / (k + 1), and log(k + 1) is added to its score (Jean et al., 2015). An error of
 * b: groups that do not divide the batch. */
void pl_sampled_finish(pl_builder *b, const pl_sampled *sampled, pl_value *table, pl_value *x);

#endif
