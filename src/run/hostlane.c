#include "run/hostlane.h"

#include "base/clock.h"

#include <string.h>
#include <time.h>

typedef enum phase { IDLE, STEP, QUIT } phase;

struct pl_hostlane {
    pl_progress *progress;
    int rank;
    int lane;
    double rate;
    pthread_t thread;
    atomic_int phase;
    const pl_lane_message *messages;
    pl_stream *stream; /* of the thread                 */
    pl_event *copied;  /* at the number of copies so far */
    int64_t copies, bytes;
};

static void set_phase(pl_hostlane *h, phase to)
{
    atomic_store(&h->phase, to);
    pl_progress_ring(h->progress);
}

/* -- its thread -------------------------------------------------------------------------------- */

/* A slow link would be busy until then. */
static void keep_to_rate(const pl_hostlane *h, double begin, int64_t bytes)
{
    const double left = h->rate > 0 ? begin + (double)bytes / h->rate - pl_clock_now() : 0;
    if (left <= 0) return;
    const time_t seconds = (time_t)left;
    nanosleep(&(struct timespec){ seconds, (long)((left - (double)seconds) * 1e9) }, NULL);
}

static bool copy(pl_hostlane *h, const pl_lane_message *m, pl_err *err)
{
    const pl_device *d = h->progress->device;
    const int64_t bytes = m->message.count * pl_type_bytes(m->message.type);
    const double begin = pl_clock_now();
    pl_wait w = { 0 };
    (h->lane == PL_LANE_OUT ? d->to_host : d->from_host)(h->stream, m->message.send,
                                                         m->message.recv, bytes);
    d->record(h->stream, h->copied, ++h->copies);
    while (d->query(h->copied) < h->copies) pl_back_off(&w);
    if (!d->sync(h->stream, err))
        return pl_err_in(err, "%s of '%s'", pl_collective_name(m->message.kind), m->message.label);
    h->bytes += bytes;
    keep_to_rate(h, begin, bytes);
    return true;
}

static bool run(pl_hostlane *h, const pl_lane_message *m, pl_err *err)
{
    if (m->begin) *m->begin = pl_clock_now();
    if (m->work)
        m->work(m->work_of);
    else
        PL_TRY(copy(h, m, err));
    if (m->end) *m->end = pl_clock_now();
    return true;
}

/* For what is computed or finished. */
static pl_wait begin_wait(const pl_hostlane *h)
{
    pl_progress *p = h->progress;
    return (pl_wait){ .bell = p->device->prompt ? &p->bell : NULL };
}

static bool run_step(pl_hostlane *h, pl_err *err)
{
    pl_progress *p = h->progress;
    for (int i = 0; i < p->n; i++) {
        const pl_lane_message *m = &h->messages[i];
        pl_wait w = begin_wait(h);
        if (m->lane != h->lane) continue;
        while (!pl_progress_reached(p, m->after, m->wait)) {
            if (atomic_load(&p->failed)) return true; /* who failed says why */
            pl_back_off(&w);
        }
        PL_TRY(run(h, m, err));
        pl_progress_finish(p, i);
    }
    return true;
}

static bool open_stream(pl_hostlane *h, pl_err *err)
{
    const pl_device *d = h->progress->device;
    return h->stream || (d->stream_new(h->rank, &h->stream, err) && d->event_new(&h->copied, err));
}

static void *run_lane(void *arg)
{
    pl_hostlane *h = arg;
    pl_err err = { 0 };
    pl_wait w = { .bell = &h->progress->bell };
    for (;;) {
        const phase now = (phase)atomic_load(&h->phase);
        if (now == QUIT) break;
        if (now == IDLE) {
            pl_back_off(&w);
            continue;
        }
        if (!open_stream(h, &err) || !run_step(h, &err)) pl_progress_fail(h->progress, &err);
        w.tries = 0;
        set_phase(h, IDLE);
    }
    if (h->copied) h->progress->device->event_free(h->copied);
    if (h->stream) h->progress->device->stream_free(h->stream);
    return NULL;
}

/* -- the compute thread's side ----------------------------------------------------------------- */

bool pl_hostlane_new(pl_progress *progress, int rank, int lane, double rate, pl_arena *arena,
                     pl_hostlane **out, pl_err *err)
{
    pl_hostlane *h = PL_NEW(arena, pl_hostlane);
    *h = (pl_hostlane){ .progress = progress, .rank = rank, .lane = lane, .rate = rate };
    int rc = pthread_create(&h->thread, NULL, run_lane, h);
    if (rc) return pl_err_set(err, PL_ERUN, "cannot start a thread of the host: %s", strerror(rc));
    *out = h;
    return true;
}

void pl_hostlane_free(pl_hostlane *h)
{
    if (!h) return;
    pl_wait w = { .bell = &h->progress->bell };
    while (!pl_hostlane_idle(h)) pl_back_off(&w);
    set_phase(h, QUIT);
    pthread_join(h->thread, NULL);
}

void pl_hostlane_begin(pl_hostlane *h, const pl_lane_message *messages)
{
    h->messages = messages;
    set_phase(h, STEP);
}

bool pl_hostlane_idle(const pl_hostlane *h)
{
    return atomic_load(&h->phase) == IDLE;
}

int64_t pl_hostlane_bytes(const pl_hostlane *h)
{
    return h->bytes;
}
