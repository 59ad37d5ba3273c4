/* A loader against slow storage. Pictures are begun in the order of their use, by whichever thread
 * is free: those of the loader, or those of the training that have to wait (take_batch). Read
 * replay_run() at the end. */
#include "replay.h"

#include "base/rng.h"

#include <math.h>

enum { THREADS = 64, TAKERS = 8, RING = 1 << 14 };

typedef struct burst {
    int64_t i; /* its number, from 0 */
    double begin, end;
} burst;

typedef struct play {
    const storage *s;
    burst now, seen;         /* of the newest fetch; of the newest batch    */
    int64_t begun, until;    /* pictures: begun, wanted                     */
    double free_at[THREADS]; /* when a thread of the loader is              */
    struct {
        double begin, ready;
    } picture[RING]; /* of those begun, picture i at i % RING       */
    pl_loading set;
    int64_t over; /* the batch at which a burst was over, or -1  */
    int changes;  /* at the beginning of the last burst          */
    double held;  /* pictures times seconds                      */
    replay out;
} play;

static burst next_burst(const storage *s, burst b)
{
    const pl_rng r = pl_rng_at(s->seed, pl_rng_name("bursts"));
    const uint64_t i = (uint64_t)(2 * ++b.i);
    b.begin = b.end + s->length * (1 / s->share - 1) * (0.5 + pl_rng_uniform(r, i));
    b.end = b.begin + s->length * (0.5 + pl_rng_uniform(r, i + 1));
    return b;
}

/* Begin the next picture. */
static double fetch(play *p, double now)
{
    const storage *s = p->s;
    const pl_rng r = pl_rng_at(s->seed, pl_rng_name("latency"));
    const int64_t i = p->begun++;
    const double at = s->by_batch ? (double)(i / s->rows) : now;
    while (at >= p->now.end) p->now = next_burst(s, p->now);
    double took = s->latency / s->rows * exp(s->spread * pl_rng_normal(r, (uint64_t)i));
    if (at >= p->now.begin) took *= s->slow;
    p->picture[i % RING].begin = now;
    return p->picture[i % RING].ready = now + took;
}

/* What the loader's threads begin before that time. */
static void run_threads(play *p, double now)
{
    while (p->begun < p->until) {
        int first = 0;
        for (int i = 1; i < p->set.threads; i++)
            if (p->free_at[i] < p->free_at[first]) first = i;
        if (p->free_at[first] >= now) return;
        p->free_at[first] = fetch(p, p->free_at[first]);
    }
}

/* The takers share the rows of batch k; returns when the last of them is done. */
static double take_batch(play *p, int64_t k, int takers, double now)
{
    double at[TAKERS], last = now;
    for (int i = 0; i < takers; i++) at[i] = now;
    for (int64_t row = 0; row < p->s->rows; row++) {
        const int64_t picture = k * p->s->rows + row;
        int first = 0;
        for (int i = 1; i < takers; i++)
            if (at[i] < at[first]) first = i;
        run_threads(p, at[first]);
        if (p->begun == picture) fetch(p, at[first]);
        at[first] = fmax(at[first], p->picture[picture % RING].ready);
        p->held += at[first] - p->picture[picture % RING].begin;
        p->out.taken = pl_rng_mix(p->out.taken, (uint64_t)picture);
        last = fmax(last, at[first]);
    }
    return last;
}

static void set_loading(play *p, pl_loading to, double now)
{
    for (int i = p->set.threads; i < to.threads; i++) p->free_at[i] = fmax(p->free_at[i], now);
    p->out.changes += to.threads != p->set.threads || to.ahead != p->set.ahead;
    p->set = to;
}

/* Batch k is asked for, and with it later ones. */
static void want(play *p, int64_t k, double now)
{
    const int64_t until = (k + 1 + p->set.ahead) * p->s->rows;
    if (until <= p->until) return;
    run_threads(p, now);
    if (p->begun == p->until) /* they were idle */
        for (int i = 0; i < p->set.threads; i++) p->free_at[i] = fmax(p->free_at[i], now);
    p->until = until;
}

static void count_changes(play *p)
{
    const int n = p->out.changes - p->changes;
    if (n > p->out.most_changes) p->out.most_changes = n;
    p->changes = p->out.changes;
}

/* Batch k is asked for: has a burst begun, or ended, and what is still wanted because of it? */
static void look_back(play *p, int64_t k, double now, int ahead)
{
    const double at = p->s->by_batch ? (double)k : now;
    if (at >= p->seen.end) {
        const burst next = next_burst(p->s, p->seen);
        if (p->over < 0) p->over = k;
        if (at >= next.begin) {
            p->seen = next;
            p->out.bursts++;
            p->over = -1;
            count_changes(p);
        }
    }
    if (p->over >= 0 && p->until > (k + ahead) * p->s->rows && k - p->over > p->out.slowest)
        p->out.slowest = k - p->over;
}

/* What pl_congestion is told of batch k. */
static pl_fetched look_at(const play *p, int64_t k)
{
    pl_fetched b = { .step = 1, .pictures = p->s->rows };
    for (int64_t i = k * p->s->rows; i < (k + 1) * p->s->rows; i++)
        b.fetch += p->picture[i % RING].ready - p->picture[i % RING].begin;
    return b;
}

replay replay_run(const storage *s, int64_t n, pl_loading first, pl_loading most, bool adapts,
                  int takers)
{
    pl_arena *arena = pl_arena_new("replay");
    play *p = PL_NEW(arena, play);
    pl_congestion c = pl_congestion_of(first, most, most.threads);
    *p = (play){ .s = s, .now.i = -1, .seen.i = -1, .set = first };
    double now = 0;
    for (int64_t k = 0; k < n; k++) {
        look_back(p, k, now, first.ahead);
        want(p, k, now);
        const double there = take_batch(p, k, takers, now);
        p->out.stall += there - now;
        p->out.threads += (there + 1 - now) * p->set.threads;
        now = there + 1;
        run_threads(p, now);
        const pl_fetched b = look_at(p, k);
        if (adapts) set_loading(p, pl_congestion_add(&c, &b), now);
    }
    count_changes(p);
    p->out.seconds = now;
    p->out.threads /= now;
    p->out.memory = p->held / now / s->rows;
    const replay out = p->out;
    pl_arena_free(arena);
    return out;
}
