/* The loader of pictures against storage that is ten times slower for a fifth of the time, as CSV:
 * as it was (half of four cores, one batch ahead), as it adapts, and every number of threads with
 * as many batches ahead as the one that adapts has in memory on the average, rounded up. Times are
 * in steps of the training. replay.h says what is simulated; nothing is measured. */
#include "replay.h"

#include <math.h>
#include <stdio.h>

enum { BATCHES = 20000, SEED = 1, TAKERS = 2 };

static const pl_loading before = { 2, 1 }, least = { 2, 2 },
                        most = { 64, PL_CONGESTION_WINDOW / 2 };

static replay run(const storage *s, const char *loader, pl_loading set)
{
    const bool adapts = *loader == 'a';
    const replay r = replay_run(s, BATCHES, set, most, adapts, TAKERS);
    printf("%s,%d,%g,%s,%d,%d,%.2f,%.2f,%.4f,%.4f,%.2f,%d,%lld\n", s->by_batch ? "batches" : "time",
           s->rows, s->length, loader, set.threads, set.ahead, r.memory, r.threads,
           r.stall / BATCHES, BATCHES / r.seconds, (double)r.changes / r.bursts, r.most_changes,
           (long long)r.slowest);
    fflush(stdout);
    return r;
}

int main(void)
{
    static const double lengths[] = { 50, 100, 200, 400 };
    static const int rows[] = { 1, 8, 32 };
    printf("bursts_of,rows,length,loader,threads,ahead,memory,mean_threads,stall,batches_per_step,"
           "changes_per_burst,most_changes,slowest_return\n");
    for (int by_batch = 0; by_batch < 2; by_batch++)
        for (int i = 0; i < 12; i++) {
            const storage s = { SEED, rows[i / 4], 0.8, 0.3, 10, 0.2, lengths[i % 4], by_batch };
            run(&s, "before", before);
            const replay r = run(&s, "adapts", least);
            for (int threads = 1; threads <= most.threads; threads += threads < 16 ? 1 : 16)
                run(&s, "fixed", (pl_loading){ threads, (int)ceil(r.memory) });
        }
    return 0;
}
