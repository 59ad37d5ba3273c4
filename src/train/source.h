/* train/source.h - the data that a model is to learn from, opened by what the model reads. */
#ifndef PL_TRAIN_SOURCE_H
#define PL_TRAIN_SOURCE_H
#include "data/augment.h"
#include "data/data.h"
#include "models/model.h"

typedef struct pl_data_source {
    const char *data;    /* a file or folder, "synthetic" or "zipf=S": pl_data_kind_of */
    const char *words;   /* vocabulary of a text; NULL: its bytes are its tokens      */
    double train_share;  /* of its rows; the rest validates                           */
    bool in_order;       /* rows as they lie in the file, not at random               */
    const pl_augment *augment; /* of pictures; NULL: nothing                          */
    int n;
    const pl_graph *const *graph; /* [n] that read it: a training step is the first   */
} pl_data_source;

/* Fails with PL_EUNSUPPORTED: the model reads something else; PL_EUSAGE: words of what is no
 * text, augmentation of what is no picture, an order of what has no rows;
 * PL_EINPUT: as the readers of data/, and a vocabulary larger than the model's. `arena` owns what
 * the data do not. */
PL_MUST_CHECK bool pl_data_source_open(const pl_data_source *source, const pl_model_args *args,
                                  pl_arena *arena, pl_data *out, pl_err *err);

#endif
