/* train/data.h - what a training step reads.
 *
 * Text: the bytes of any file are the tokens; the first part trains, the rest validates; a row
 * starts at a random place that is a function of (seed, step, row), so the position in the data is
 * the step number. Synthetic: random numbers for every input, for timing. Both fill this device's
 * part only. */
#ifndef PL_TRAIN_DATA_H
#define PL_TRAIN_DATA_H
#include "program/program.h"

typedef struct pl_data {
    const char *path;           /* NULL: synthetic                       */
    const unsigned char *bytes; /* mapped                                */
    int64_t n, n_train;         /* bytes in all; the first n_train train */
    const char *hash;           /* XXH3-128 of the file, hex             */
} pl_data;

/* Map a file; `share` (0 < share < 1) of it trains. Fails with PL_EINPUT: missing, unreadable, a
 * folder, or either part shorter than one row of seq + 1 bytes (both numbers and the file's
 * size). */
PL_MUST_CHECK bool pl_data_open(const char *path, double share, int64_t seq, pl_arena *a,
                                pl_data *out, pl_err *err);
void pl_data_free(pl_data *d);

/* What one run of a program reads: the scalars "lr", "step" (from 1) and "seed" (of dropout), and
 * the data of a batch, drawn for `draw`; see pl_data_fill. */
typedef struct pl_feed {
    const pl_data *data;
    uint64_t seed;
    double lr;
    int64_t step, draw, n_valid, below;
} pl_feed;

/* Fill an input's part, whichever it is. */
void pl_data_feed(const pl_feed *f, const pl_port *port, void *to);

/* Fill an input's part for a batch. step < 0: validation batch -1 - step of n_valid, evenly spaced
 * rows. below: integers of synthetic inputs lie in [0, below). */
void pl_data_fill(const pl_data *d, const pl_port *port, uint64_t seed, int64_t step,
                  int64_t n_valid, int64_t below, void *data);

/* Entropy of the file's bytes taken one by one, in nats: what a model must beat to have learned
 * anything but letter frequencies. */
double pl_data_entropy(const pl_data *d);

#endif
