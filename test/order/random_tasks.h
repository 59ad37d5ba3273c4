/* Random scheduling problems. */
#ifndef PL_TEST_MEMORY_RANDOM_TASKS_H
#define PL_TEST_MEMORY_RANDOM_TASKS_H
#include "base/rng.h"
#include "tasks.h"

typedef struct dice {
    pl_rng rng;
    uint64_t n;
} dice;

static inline int roll(dice *d, int n)
{
    return (int)pl_rng_below(d->rng, d->n++, (uint64_t)n);
}

/* A random problem; the edges make task numbers no order of their own. Tensors have a maker and
 * readers after it, or are touched by any tasks; some are overwritten, some kept. */
static inline pl_schedule_problem make_random(pl_arena *a, dice *d, int n)
{
    tasks b = { .a = a, .n = n };
    int density = 5 + roll(d, 50), *name = PL_NEW_N(a, int, n);
    for (int i = 0; i < n; i++) {
        int j = roll(d, i + 1);
        name[i] = name[j];
        name[j] = i;
    }
    for (int i = 0; i < n; i++) {
        int outputs = roll(d, 5) == 0 ? 0 : 1 + roll(d, 2);
        for (int k = 0; k < outputs; k++) {
            int64_t bytes = roll(d, 8) == 0 ? 0 : 1 + roll(d, 30);
            int x = add_tensor(&b, bytes, roll(d, 10) == 0 ? roll(d, 4) : 0), last = name[i];
            bool wild = roll(d, 12) == 0, chain = roll(d, 6) == 0;
            add_touch(&b, x, name[i]);
            for (int j = i + 1; j < n; j++) {
                if (roll(d, 100) >= density) continue;
                add_touch(&b, x, name[j]);
                if (!wild) add_edge(&b, last, name[j]);
                if (chain) last = name[j];
            }
        }
        if (i > 0 && (outputs == 0 || roll(d, 4) == 0)) add_edge(&b, name[roll(d, i)], name[i]);
    }
    return build(&b);
}

#endif
