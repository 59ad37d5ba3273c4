/* data/text.h - text: the bytes of any file are the tokens; the first part trains, the rest
 * validates; a row starts at a random place that is a function of (seed, step, row), so the
 * position in the data is the step number. */
#ifndef PL_DATA_TEXT_H
#define PL_DATA_TEXT_H
#include "data/data.h"

/* Map a file; `share` (0 < share < 1) of it trains. Fails with PL_EINPUT: missing, unreadable, a
 * folder, or either part shorter than one row of seq + 1 bytes (both numbers and the file's
 * size). */
PL_MUST_CHECK bool pl_data_text_open(const char *path, double share, int64_t seq, pl_arena *arena,
                                     pl_data *out, pl_err *err);

/* As pl_data_fill: the input "targets" is one byte ahead of the others. */
void pl_data_text_fill(const pl_data *data, const pl_port *port, uint64_t seed, int64_t step,
                       int64_t n_valid, void *to);

/* Nats per byte of the validation part, taken one by one, under the frequencies of the training
 * part: what a model must beat there to have learned anything but letter frequencies. */
double pl_data_text_entropy(const pl_data *data);

#endif
