/* train/pictures.h - pictures that the model of a checkpoint makes, and many of them as one. */
#ifndef PL_TRAIN_PICTURES_H
#define PL_TRAIN_PICTURES_H
#include "data/picture.h"
#include "train/infer.h"

/* What is done with picture i; its bytes are there during the call alone. */
typedef void pl_pictures_use(void *with, int64_t i, const pl_picture *picture);

/* Build the graph of a model that makes pictures, f[rows,height,width,channels] or channels first,
 * in -1 .. 1, of the input "seed". Fails with PL_EINPUT where it is none such. */
PL_MUST_CHECK bool pl_pictures_build(pl_infer *m, pl_err *err);

/* Make n pictures with a model that was so built and is started; `use` gets them in their order.
 * Picture i of a seed is the same however many are made. -1 .. 1 becomes 0 .. 255, rounded; what is
 * no number, 0. Fails as pl_exec_step does. */
PL_MUST_CHECK bool pl_pictures_make(pl_infer *m, int64_t n, uint64_t seed, pl_pictures_use *use,
                                    void *with, pl_err *err);

/* Pictures of one size side by side, in a grid about as high as it is wide. */
typedef struct pl_sheet {
    int64_t n, columns;
    pl_picture whole;
    unsigned char *at; /* its bytes: grey where no picture is */
} pl_sheet;

/* For the n pictures that a model built above makes. `arena` owns the bytes. Fails with PL_EUSAGE
 * where they are more than PL_PICTURE_PIXELS. */
PL_MUST_CHECK bool pl_sheet_new(const pl_infer *m, int64_t n, pl_arena *arena, pl_sheet *out,
                                pl_err *err);
void pl_sheet_put(pl_sheet *sheet, int64_t i, const pl_picture *picture);

#endif
