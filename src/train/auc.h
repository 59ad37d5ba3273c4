/* train/auc.h - the area under the ROC curve: how often, of two rows, the one of class 1 has the
 * higher score, where ties count half (Mann and Whitney, 1947). */
#ifndef PL_TRAIN_AUC_H
#define PL_TRAIN_AUC_H
#include "base/arena.h"

typedef struct pl_scored {
    float score;
    bool one; /* of class 1 */
} pl_scored;

typedef struct pl_auc {
    int n, cap;
    pl_scored *at;
} pl_auc;

/* The area for what was pushed (PL_PUSH), which it sorts; NaN where one class is missing. */
double pl_auc_find(pl_auc *rows);

#endif
