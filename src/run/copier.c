#include "run/copier.h"

#include "base/clock.h"

#include <string.h>
#include <time.h>

enum { NAP_NS = 50 * 1000 };

typedef enum phase { IDLE, STEP, QUIT } phase;

struct pl_copier {
    pl_progress *progress;
    int rank;
    pl_collective way;
    double rate;
    pthread_t thread;
    atomic_int phase;
    const pl_lane_message *messages;
    pl_stream *stream; /* of the thread                 */
    pl_event *copied;  /* at the number of copies so far */
    int64_t copies, bytes;
};

/* -- its thread -------------------------------------------------------------------------------- */

/* A slow link would be busy until then. */
static void keep_to_rate(const pl_copier *c, double begin, int64_t bytes)
{
    const double left = c->rate > 0 ? begin + (double)bytes / c->rate - pl_clock_now() : 0;
    if (left <= 0) return;
    const time_t seconds = (time_t)left;
    nanosleep(&(struct timespec){ seconds, (long)((left - (double)seconds) * 1e9) }, NULL);
}

static bool copy(pl_copier *c, const pl_lane_message *m, pl_err *err)
{
    const pl_device *d = c->progress->device;
    const int64_t bytes = m->message.count * pl_type_bytes(m->message.type);
    const double begin = pl_clock_now();
    int tries = 0;
    if (m->begin) *m->begin = begin;
    (c->way == PL_TO_HOST ? d->to_host : d->from_host)(c->stream, m->message.send, m->message.recv,
                                                       bytes);
    d->record(c->stream, c->copied, ++c->copies);
    while (d->query(c->copied) < c->copies) pl_back_off(&tries, NAP_NS);
    if (!d->sync(c->stream, err))
        return pl_err_in(err, "%s of '%s'", pl_collective_name(c->way), m->message.label);
    c->bytes += bytes;
    keep_to_rate(c, begin, bytes);
    if (m->end) *m->end = pl_clock_now();
    return true;
}

static bool run_step(pl_copier *c, pl_err *err)
{
    pl_progress *p = c->progress;
    for (int i = 0; i < p->n; i++) {
        const pl_lane_message *m = &c->messages[i];
        int tries = 0;
        if (m->message.kind != c->way) continue;
        while (!pl_progress_reached(p, m->after, m->wait)) {
            if (atomic_load(&p->failed)) return true; /* who failed says why */
            pl_back_off(&tries, NAP_NS);
        }
        PL_TRY(copy(c, m, err));
        pl_progress_finish(p, i);
    }
    return true;
}

static bool open_stream(pl_copier *c, pl_err *err)
{
    const pl_device *d = c->progress->device;
    return c->stream || (d->stream_new(c->rank, &c->stream, err) && d->event_new(&c->copied, err));
}

static void *run_copier(void *arg)
{
    pl_copier *c = arg;
    pl_err err = { 0 };
    int tries = 0;
    for (;;) {
        const phase now = (phase)atomic_load(&c->phase);
        if (now == QUIT) break;
        if (now == IDLE) {
            pl_back_off(&tries, 2 * NAP_NS);
            continue;
        }
        if (!open_stream(c, &err) || !run_step(c, &err)) pl_progress_fail(c->progress, &err);
        tries = 0;
        atomic_store(&c->phase, IDLE);
    }
    if (c->copied) c->progress->device->event_free(c->copied);
    if (c->stream) c->progress->device->stream_free(c->stream);
    return NULL;
}

/* -- the compute thread's side ----------------------------------------------------------------- */

bool pl_copier_new(pl_progress *progress, int rank, pl_collective way, double rate, pl_arena *arena,
                   pl_copier **out, pl_err *err)
{
    pl_copier *c = PL_NEW(arena, pl_copier);
    *c = (pl_copier){ .progress = progress, .rank = rank, .way = way, .rate = rate };
    int rc = pthread_create(&c->thread, NULL, run_copier, c);
    if (rc) return pl_err_set(err, PL_ERUN, "cannot start a thread for copies: %s", strerror(rc));
    *out = c;
    return true;
}

void pl_copier_free(pl_copier *c)
{
    if (!c) return;
    int tries = 0;
    while (!pl_copier_idle(c)) pl_back_off(&tries, NAP_NS);
    atomic_store(&c->phase, QUIT);
    pthread_join(c->thread, NULL);
}

void pl_copier_begin(pl_copier *c, const pl_lane_message *messages)
{
    c->messages = messages;
    atomic_store(&c->phase, STEP);
}

bool pl_copier_idle(const pl_copier *c)
{
    return atomic_load(&c->phase) == IDLE;
}

int64_t pl_copier_bytes(const pl_copier *c)
{
    return c->bytes;
}
