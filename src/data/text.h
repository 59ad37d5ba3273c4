/* data/text.h - text: the bytes of any file are the tokens, or its words; the first part trains,
 * the rest validates; a row starts at a random place that is a function of (seed, step, row), so
 * the position in the data is the step number. */
#ifndef PL_DATA_TEXT_H
#define PL_DATA_TEXT_H
#include "data/data.h"

/* Map a file, or with `words`, which stay the caller's, put the numbers of its words into memory;
 * `share` (0 < share < 1) of it trains. Fails with PL_EINPUT: missing, unreadable, a folder, or
 * either part shorter than one row of seq + 1 tokens (both numbers and the file's size). */
PL_MUST_CHECK bool pl_data_text_open(const char *path, const pl_vocab *words, double share,
                                     int64_t seq, pl_arena *arena, pl_data *out, pl_err *err);

/* As pl_data_fill: the input "targets" is one token ahead of the others. */
void pl_data_text_fill(const pl_data *data, const pl_port *port, uint64_t seed, int64_t step,
                       int64_t n_valid, void *to);

/* Nats per token of the validation part, taken one by one, under the frequencies of the training
 * part: what a model must beat there to have learned anything but frequencies. */
double pl_data_text_entropy(const pl_data *data);

int32_t pl_data_text_token(const pl_data *data, int64_t i); /* the i-th, 0 .. n - 1 */
const char *pl_data_text_unit(const pl_data *data); /* "bytes" or "words" */

#endif
