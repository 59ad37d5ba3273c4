/* The setting of the loader. Read pl_congestion_add() at the end: congested, calm, or neither; then
 * find_loading(), which has the formulas. */
#include "data/congestion.h"

#include <math.h>
#include <stdbool.h>

enum { WINDOW = PL_CONGESTION_WINDOW, LONG = 8 * WINDOW };

static const double MOST_LAG = 1.5, /* steps: two slow batches, or many that are a little late */
    SPARE = 2,                      /* threads: of those that keep up on the average          */
    SPARE_AHEAD = 1.25,             /* batches under way: of those that there are on the average */
    CALM = 1.25;                    /* what is enough is so with a quarter to spare           */

pl_congestion pl_congestion_of(pl_loading least, pl_loading most, int cores)
{
    return (pl_congestion){ .least = least, .most = most, .now = least, .cores = cores };
}

/* Threads that keep up with such a batch: a step that took no time tells nothing. */
static double find_need(const pl_congestion *c, const pl_fetched *b)
{
    return b->fetch < c->most.threads * b->step ? b->fetch / b->step : c->most.threads;
}

/* Of the last n batches. */
static double find_mean_need(const pl_congestion *c, int64_t n)
{
    double sum = 0;
    for (int64_t i = c->n - n; i < c->n; i++) sum += find_need(c, &c->batch[i % WINDOW]);
    return sum / (double)n;
}

/* Threads that the processor has work for. */
static double find_useful(const pl_congestion *c, int64_t n)
{
    double fetch = 0, cpu = 0;
    for (int64_t i = c->n - n; i < c->n; i++) {
        fetch += c->batch[i % WINDOW].fetch;
        cpu += c->batch[i % WINDOW].cpu;
    }
    return c->cores * fetch < c->most.threads * cpu ? c->cores * fetch / cpu : c->most.threads;
}

static int clamp(double x, int least, int most)
{
    return x <= least ? least : x < most ? (int)x : most;
}

/* The setting that the last n batches ask for, when they are late. */
static pl_loading find_loading(const pl_congestion *c, int64_t n)
{
    const double need = find_mean_need(c, n),
                 pictures = (double)c->batch[(c->n - 1) % WINDOW].pictures;
    pl_loading s = c->least;
    s.threads = clamp(ceil(fmin(SPARE * need, find_useful(c, n))), s.threads, c->most.threads);
    if (s.threads == c->least.threads) return s;
    const double latency = ceil(pictures / s.threads) * need / pictures; /* of a batch, in steps */
    s.ahead = clamp(ceil(SPARE_AHEAD * latency) + 1, s.ahead, c->most.ahead);
    return s;
}

pl_loading pl_congestion_add(pl_congestion *c, const pl_fetched *batch)
{
    const double lag = c->lag + fmin(find_need(c, batch) / c->now.threads - 1, 1);
    c->batch[c->n++ % WINDOW] = *batch;
    c->since++;
    c->lag = fmin(fmax(0, lag), 2 * MOST_LAG);
    c->late = lag <= 0 ? 0 : c->late < WINDOW ? c->late + 1 : WINDOW;
    const bool congested = c->lag > MOST_LAG;
    if (!congested && c->since < WINDOW) return c->now;
    const bool calm = !congested && CALM * find_mean_need(c, WINDOW) <= c->least.threads;
    const pl_loading to = calm ? c->least : find_loading(c, congested ? c->late : WINDOW);
    c->fewer = 2 * to.threads <= c->now.threads ? c->fewer + 1 : 0;
    if (calm || c->fewer >= LONG || (congested && to.threads > c->now.threads)) {
        if (to.threads != c->now.threads) c->since = c->late = c->fewer = 0, c->lag = 0;
        c->now = to;
    }
    return c->now;
}
