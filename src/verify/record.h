/* verify/record.h - how far a side of a verification is from the whole run: one number for
 * each tensor that is compared. */
#ifndef PL_VERIFY_RECORD_H
#define PL_VERIFY_RECORD_H
#include "verify/whole.h"

/* Run the steps of a side that was started: the first with gradients, then all. difference [w->n]
 * becomes the largest of each tensor, in units of its scale, over the elements that the side holds;
 * infinite where one is not a number. All ranks return the same verdict. */
PL_MUST_CHECK bool pl_verify_record(pl_verify_side *side, const pl_verify_whole *whole,
                                    double difference[], pl_err *err);

/* The same of a whole run from another one of the same tensors. */
void pl_verify_record_whole(const pl_verify_whole *a, const pl_verify_whole *w,
                            double difference[]);

#endif
