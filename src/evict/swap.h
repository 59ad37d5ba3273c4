/* evict/swap.h - which values wait on the host, and when they go and come. */
#ifndef PL_EVICT_SWAP_H
#define PL_EVICT_SWAP_H
#include "evict/retain.h"

/* How copies are chosen. */
typedef struct pl_evict_swap_style {
    double stretch; /* >= 1: time is planned as if each stage took so many times its seconds; what
                     * then is too early or too late is waited for                             */
    double dear;    /* 0: whatever frees most; 1: rather what takes long to make again         */
} pl_evict_swap_style;

/* When each copy goes and comes, anew: out as early as the lane allows, in as late. A pair of uses
 * that is too short for its copies is kept instead. */
void pl_evict_swap_time(pl_evict_retain *retain, double stretch);

/* Copy out and in until no stage is above the budget or nothing helps: greedily, at the stage that
 * is most above it. */
void pl_evict_swap_fill(pl_evict_retain *retain, pl_evict_swap_style style);

#endif
