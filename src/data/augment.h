/* data/augment.h - augmentation of pictures: what changes them at random while a model trains. All
 * of it is drawn by (seed, number of the row), so that it is the same however a batch is split, and
 * after a resume. */
#ifndef PL_DATA_AUGMENT_H
#define PL_DATA_AUGMENT_H
#include "data/view.h"

typedef struct pl_augment {
    bool crop, flip;
    double scale; /* 0: none; else the least share of the picture's area that is seen */
    double mixup; /* 0: none; else both parameters of the beta distribution           */
} pl_augment;

/* Words, for the help. */
#define PL_AUGMENT_WORDS "crop, flip, scale=0.08, mixup=0.2"

/* Read "crop,flip,mixup=0.5":
 *
 *   crop     moved by up to an eighth of its side, in both directions: 4 pixels of 32
 *            (He et al., "Deep residual learning", 2016, section 4.2)
 *   flip     left and right change places, for half of the pictures
 *   scale=S  a window of S to all of its area, with proportions from 3:4 to 4:3, becomes the whole
 *            (Szegedy et al., "Going deeper with convolutions", 2015); S is 0.08 where not given
 *   mixup=A  mixed with another picture of the batch, by shares that follow Beta(A, A)
 *            (Zhang et al., "mixup", ICLR 2018); A is 0.2 where not given
 *
 * NULL or "": nothing. Fails with PL_EUSAGE, naming the word. */
PL_MUST_CHECK bool pl_augment_parse(const char *words, pl_augment *out, pl_err *err);

/* How row number `row`, of all rows that a seed draws, sees its picture. */
pl_view pl_augment_view(const pl_augment *augment, uint64_t seed, int64_t row,
                        const pl_picture *picture, const pl_frame *frame);

/* Its share in its own picture, the rest being the other's: 1 without mixup. */
double pl_augment_share(const pl_augment *augment, uint64_t seed, int64_t row);

#endif
