/* data/congestion.h - how many threads fetch pictures, and how many batches ahead of use, by how
 * long fetches take: storage that many share gets ten times slower for a while, and then what was
 * enough starves the training. Pure data: times are arguments, and there is no clock.
 *
 * The pictures of a batch take one thread `fetch` seconds, and the training uses them for `step`
 * seconds: need = fetch / step threads keep up (Little's law). With every batch the threads fall
 * behind by need / threads - 1 steps, at most 1, or catch up; that sum, at least 0, is the lag.
 *
 *   congested  lag > 1.5 steps: two slow batches in a row, or many that are a little late, but no
 *              single one. Threads become twice the mean need of the batches since the lag was 0,
 *              batches ahead ceil(1.25 latency) + 1, where latency = ceil(pictures / threads) *
 *              need / pictures is that of a batch, in steps
 *   calm       the mean need of a window of PL_CONGESTION_WINDOW batches is 4/5 of the least
 *              threads or less: back to the least setting. If it is more, and yet half of the
 *              threads or fewer would have been taken for 8 windows, they are
 *
 * As what is taken has room to spare, a burst makes two changes, one up and one down, and as there
 * is at most half a window ahead, memory is down again two windows after it. There are no more
 * threads than processors have work for, cores * fetch / cpu: who waits for nothing but a
 * processor gains nothing from threads.
 *
 * Source: ParaGAN (Hu et al., SoCC 2024), congestion-aware data pipeline, whose behaviour this is;
 * the formulas are ours. Lag: Lindley's recursion of a queue; as a test, Page's CUSUM (1954). */
#ifndef PL_DATA_CONGESTION_H
#define PL_DATA_CONGESTION_H
#include <stdint.h>

enum { PL_CONGESTION_WINDOW = 32 };

/* The loader's setting. */
typedef struct pl_loading {
    int threads;
    int ahead; /* batches that are wanted behind the one in use */
} pl_loading;

/* A batch that was used. Seconds. */
typedef struct pl_fetched {
    double fetch; /* reading and decoding its pictures, summed over whichever threads did    */
    double cpu;   /* of that on a processor                                                  */
    double step;  /* from when its pictures were all taken to when the next ones were wanted */
    int64_t pictures;
} pl_fetched;

typedef struct pl_congestion {
    pl_loading least, most, now;
    int cores;
    double lag;           /* steps                                                 */
    int64_t n;            /* batches seen                                          */
    int64_t since;        /* of those since the last change                        */
    int64_t late, fewer;  /* since the lag was 0; since more than half were asked for */
    pl_fetched batch[PL_CONGESTION_WINDOW]; /* the last ones, batch i at i % PL_CONGESTION_WINDOW */
} pl_congestion;

/* Begins at `least`, and stays between that and `most`. */
pl_congestion pl_congestion_of(pl_loading least, pl_loading most, int cores);

/* Sees a batch of at least one picture; returns the setting from here on. */
pl_loading pl_congestion_add(pl_congestion *c, const pl_fetched *batch);

#endif
