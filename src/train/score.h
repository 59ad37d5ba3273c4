/* train/score.h - how good made pictures are: Frechet distance to real ones and inception score, by
 * the features of a classifier that was trained here.
 *
 * Features of a picture are what the classifier's last product with a weight reads, probabilities
 * the softmax of its logits. The figures compare runs that are measured by one classifier, on as
 * many pictures: another one, or another number, gives others (a distance falls with the number).
 * Of the published figures only the formulas are the same (train/frechet.h): those are of a network
 * that was trained on ImageNet. */
#ifndef PL_TRAIN_SCORE_H
#define PL_TRAIN_SCORE_H
#include "data/picture.h"
#include "run/exec.h"

enum {
    PL_SCORE_FEATURES = 2048, /* at most: the time grows with their cube */
};

typedef struct pl_score {
    int64_t made, real;                    /* pictures                              */
    int features, classes;                 /* of the classifier                     */
    double distance;                       /* Frechet, of the features              */
    double inception_made, inception_real; /* scores, 1 .. classes                  */
} pl_score;

typedef struct pl_scorer pl_scorer;

/* Open the classifier of a checkpoint and real pictures (data/images.h) for n made ones, n >= 2. Of
 * the real ones, those that train and those that validate, n are taken at even distances, or all.
 * Both kinds are brought to what the classifier reads: scaled by the shorter side, grey to colours
 * or back (data/view.h). `arena` owns all but what pl_score_free frees. Fails with PL_EINPUT: the
 * checkpoint is none, or its model no classifier of pictures with a layer before its last product;
 * and as pl_data_source_open and pl_infer_start do. */
PL_MUST_CHECK bool pl_score_open(const char *checkpoint, const char *data, int64_t n,
                                 const pl_exec_options *exec, pl_arena *arena, pl_scorer **out,
                                 pl_err *err);
void pl_score_free(pl_scorer *s); /* NULL is fine */

/* The next made picture. What fails, pl_score_end tells. */
void pl_score_add(pl_scorer *s, const pl_picture *made);

/* When all n are there: look at the real ones, and compare. Fails as pl_exec_step does, and with
 * PL_EINPUT where a file of a picture is none, or a feature is not finite. */
PL_MUST_CHECK bool pl_score_end(pl_scorer *s, pl_score *out, pl_err *err);

#endif
