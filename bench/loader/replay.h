/* replay.h - a loader of pictures and the training that uses them, event by event, against storage
 * that is slow in bursts: what pl_congestion decides, without threads or a clock. */
#ifndef PL_BENCH_REPLAY_H
#define PL_BENCH_REPLAY_H
#include "base/arena.h"
#include "data/congestion.h"

#include <stdbool.h>

/* Storage. By one thread a batch takes `latency` seconds, a picture its share of that, times a
 * random number whose logarithm has mean 0 and deviation `spread`; in bursts `slow` times as long.
 * Bursts last `length` and take the `share` of the time, both with gaps and lengths stretched at
 * random by up to a half; by_batch: of the batches, as in a trace that is replayed one fetch after
 * the other. A second here is a step of the training. */
typedef struct storage {
    uint64_t seed;
    int rows; /* pictures of a batch */
    double latency, spread, slow, share, length;
    bool by_batch;
} storage;

typedef struct replay {
    double seconds, stall; /* of all batches; of those waiting for pictures             */
    double memory;         /* mean of what is decoded or under way, in batches          */
    double threads;        /* mean of the setting                                       */
    int bursts, changes;   /* begun; of the setting                                     */
    int most_changes;      /* from where a burst begins to where the next one does      */
    int64_t slowest;       /* batches from a burst's end to where no more than at first */
                           /* are ahead                                                 */
    uint64_t taken;        /* a hash of what was taken, in order                        */
} replay;

/* n batches by a loader that keeps the setting `first`; adapts: that begins there and goes up to
 * `most`. `takers` threads of the training take the pictures, decoding what nobody has begun. */
replay replay_run(const storage *s, int64_t n, pl_loading first, pl_loading most, bool adapts,
                  int takers);

#endif
