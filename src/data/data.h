/* data/data.h - what a training step reads: text (text.h), rows of the tensors of a file (rows.h),
 * pictures (images.h) or, for timing, random numbers. All fill this device's part only, the same
 * under any plan. */
#ifndef PL_DATA_DATA_H
#define PL_DATA_DATA_H
#include "program/program.h"
#include "data/tensors.h"
#include "data/vocab.h"

typedef enum pl_data_kind {
    PL_DATA_SYNTHETIC,
    PL_DATA_TEXT,
    PL_DATA_TENSORS,
    PL_DATA_CLICKS, /* a log (clicks.h), whose columns become tensors */
    PL_DATA_IMAGES, /* pictures with labels (images.h)                 */
    PL_DATA_FED  /* what a caller has in memory */
} pl_data_kind;

/* What micro-batch k of a step reads for an input, whole. */
typedef struct pl_fed {
    const void *(*find)(void *of, const char *input, int64_t k);
    void *of;
    int64_t micro; /* micro-batches of a step */
} pl_fed;

typedef struct pl_data {
    pl_data_kind kind;
    const char *path;           /* NULL: synthetic                                                */
    int64_t n_bytes;            /* of the file                                                    */
    const char *hash;           /* XXH3-128 of the file, hex; of many, of their names and sizes   */
    int64_t n, n_train;         /* bytes, words or rows in all; the first n_train train           */
    const unsigned char *bytes; /* text: mapped                                                   */
    const pl_vocab *words;      /* NULL: its bytes are tokens                                     */
    const int32_t *ids;         /* [n] the numbers of its words                                   */
    pl_tensors tensors;
    bool in_order;              /* rows as they lie in the file, not at random; of a text the same
                                   in each step, spread over it                                   */
    int n_bags;                 /* tensors: bags of ids among the inputs                          */
    struct pl_bags_stored *bags;
    struct pl_images *images;   /* images                                                         */
    pl_fed fed;                 /* fed                                                            */
    double zipf;                /* synthetic: whole numbers follow Zipf's law with this exponent;
                                   0: each is as likely as another                                */
} pl_data;

/* The kind that a --data argument asks for: "synthetic", "zipf=1.2", or a file by the end of its
 * name; text, where that says nothing: train/source.h looks at the model and the contents too. */
pl_data_kind pl_data_kind_of(const char *path);

/* Fails with PL_EUSAGE for another exponent than one above 0. */
PL_MUST_CHECK bool pl_data_synthetic_open(const char *name, pl_data *out, pl_err *err);

void pl_data_free(pl_data *data);

/* What one run of a program reads: the scalars "lr", "step" (from 1) and "seed" (of dropout), and
 * the data of a batch, drawn for `draw`; see pl_data_fill. */
typedef struct pl_feed {
    const pl_data *data;
    uint64_t seed;
    double lr;
    int64_t step, draw, n_valid, below;
    const struct pl_bags *bags; /* synthetic: whose bounds it fills; NULL: no such input */
} pl_feed;

/* Is an input one of those scalars? */
bool pl_data_is_scalar(const char *input);

/* Fill an input's part, whichever it is. */
void pl_data_feed(const pl_feed *feed, const pl_port *port, void *to);

/* Fill an input's part for a batch. step < 0: validation batch -1 - step of n_valid, evenly spaced
 * rows. below: integers of synthetic inputs lie in [0, below). */
void pl_data_fill(const pl_data *data, const pl_port *port, uint64_t seed, int64_t step,
                  int64_t n_valid, int64_t below, void *to);

/* Was all that was filled so far what the data are to be? Fails with PL_EINPUT, naming a file that
 * turned out to be broken when it was wanted; other files are looked through before. */
PL_MUST_CHECK bool pl_data_check(const pl_data *data, pl_err *err);

/* The row of the data, 0 .. n - 1, that row `row` of the rows of a batch is; step as
 * pl_data_fill. */
int64_t pl_data_row(const pl_data *data, uint64_t seed, int64_t step, int64_t n_valid, int64_t row,
                    int64_t rows);

/* The place, 0 .. places - 1, of row `row` of the rows of batch `step`, of those that train. */
int64_t pl_data_place(uint64_t seed, int64_t step, int64_t row, int64_t rows, int64_t places);
/* The same of a validation batch, step < 0, of n_valid: from the first place to the last. */
int64_t pl_data_place_valid(int64_t step, int64_t n_valid, int64_t row, int64_t rows,
                            int64_t places);

#endif
