/* Problems of src/evict for its tests: chains, small random ones, and the least cost by brute
 * force. */
#ifndef PL_TEST_EVICT_PROBLEMS_H
#define PL_TEST_EVICT_PROBLEMS_H
#include "policies/find.h"

#include "base/rng.h"

#include <math.h>

/* A problem being written down, op by op. */
enum { MOST_OPS = 96, MOST_VALUES = 96, MOST_READS = 400 };

typedef struct script {
    double seconds[MOST_OPS];
    bool once[MOST_OPS];
    int64_t bytes[MOST_VALUES];
    int maker[MOST_VALUES], view_of[MOST_VALUES];
    uint8_t keep[MOST_VALUES];
    int read_at[MOST_OPS + 1], read[MOST_READS];
    pl_evict_problem problem;
} script;

static inline void begin(script *s)
{
    *s = (script){ 0 };
    s->problem = (pl_evict_problem){ .seconds = s->seconds, .once = s->once, .bytes = s->bytes,
                                     .maker = s->maker, .view_of = s->view_of, .keep = s->keep,
                                     .read_at = s->read_at, .read = s->read };
}

/* The next op; reads is a list of values that -1 ends. Returns its number. */
static inline int add_op(script *s, double seconds, const int reads[])
{
    int t = s->problem.n_op++;
    s->seconds[t] = seconds;
    s->read_at[t + 1] = s->read_at[t];
    for (; reads && *reads >= 0; reads++) s->read[s->read_at[t + 1]++] = *reads;
    return t;
}

/* A value that the last op makes. */
static inline int add_value(script *s, int64_t bytes)
{
    int v = s->problem.n_value++;
    s->bytes[v] = bytes;
    s->maker[v] = s->problem.n_op - 1;
    s->view_of[v] = -1;
    return v;
}

/* One op that makes one value of as many bytes. */
static inline int add(script *s, double seconds, int64_t bytes, const int reads[])
{
    add_op(s, seconds, reads);
    return add_value(s, bytes);
}

/* n steps forward, one in the middle, n back, the k-th of which reads what step k of the forward
 * made: all of one second and one byte. */
static inline void make_chain(script *s, int n)
{
    begin(s);
    for (int i = 0; i <= n; i++) (void)add(s, 1, 1, (const int[]){ i - 1, -1 });
    for (int i = n - 1; i >= 0; i--)
        (void)add(s, 1, 1, (const int[]){ s->problem.n_value - 1, i, -1 });
}

typedef struct dice {
    pl_rng rng;
    uint64_t at;
} dice;

static inline int roll(dice *d, int below)
{
    return (int)pl_rng_below(d->rng, d->at++, (uint64_t)below);
}

/* n ops, each of which makes one value, or two where n_value is more, and reads up to three of
 * those before. */
static inline void make_random(script *s, int n, int n_value, dice *d)
{
    begin(s);
    for (int t = 0; t < n; t++) {
        int reads[4], m = 0, made = s->problem.n_value;
        int want = t == 0 ? 0 : 1 + roll(d, made < 3 ? made : 3);
        for (int tries = 0; tries < 20 && m < want; tries++) {
            int v = roll(d, made);
            bool twice = false;
            for (int k = 0; k < m; k++) twice = twice || reads[k] == v;
            if (!twice) reads[m++] = v;
        }
        reads[m] = -1;
        const int bytes = 1 + roll(d, 9), seconds = 1 + roll(d, 9);
        const int v = add(s, seconds, bytes, reads);
        s->once[t] = roll(d, 20) == 0;
        if (roll(d, 10) == 0) s->keep[v] = PL_EVICT_AT_END;
        if (t < n_value - n) (void)add_value(s, 1 + roll(d, 9));
    }
}

#endif
