/* The communication lane. Read progress(): messages start when what they wait for is done, at
 * most OPEN_AT_MOST at once, and finish in order. First comes what the lane's own thread does,
 * then what the compute thread calls. */
#include "run/lane.h"

#include "base/clock.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <string.h>
#include <time.h>

enum { OPEN_AT_MOST = 8 }; /* messages under way at once: bounds what a transport has to hold */
enum { SPINS = 200, YIELDS = 50, NAP_NS = 50 * 1000, IDLE_NS = 2 * 1000 * 1000 };

typedef enum phase { IDLE, STEP, AGREE, QUIT } phase;

struct pl_lane {
    pl_comm *comm;
    pl_stream *stream;
    const pl_device *device; /* of the stream */
    pthread_t thread;
    const pl_lane_message *messages;
    int n;
    pl_event *computed;  /* at begun + compute steps finished          */
    int64_t begun, last; /* where the event is when this step begins, and when all is done that
                            the stream was given; it only rises        */
    atomic_int phase;    /* set by compute, back to IDLE by the lane   */
    atomic_int finished; /* messages finished, in order                */
    atomic_bool failed;  /* err is set and final                       */
    pl_err err;          /* of the lane; read after failed             */
    pl_err verdict;      /* of AGREE: in and out                       */
    int wish;            /* likewise                                   */
    double exposed, busy;
    pl_request *open[OPEN_AT_MOST];
    bool done[OPEN_AT_MOST];
    int started;
};

/* Wait a little longer each time: spin, then yield, then sleep. More ranks than cores must not
 * starve the one that computes. */
static void back_off(int *tries, long nap_ns)
{
    if (*tries <= SPINS + YIELDS) ++*tries;
    if (*tries <= SPINS) return;
    if (*tries <= SPINS + YIELDS)
        sched_yield();
    else
        nanosleep(&(struct timespec){ 0, nap_ns }, NULL);
}

/* -- the lane's thread ------------------------------------------------------------------------- */

static bool start_message(pl_lane *l, const pl_lane_message *m, int k, pl_err *err)
{
    l->done[k] = false;
    if (m->begin) *m->begin = pl_clock_now();
    return pl_comm_start(l->comm, m->group, &m->message, &l->open[k], err);
}

static bool test_message(pl_lane *l, const pl_lane_message *m, int k, pl_err *err)
{
    PL_TRY(pl_comm_test(l->comm, l->open[k], &l->done[k], err));
    if (l->done[k] && m->end) *m->end = pl_clock_now();
    return true;
}

/* Start what may start and test what is open; *moved says whether anything did. */
static bool progress(pl_lane *lane, bool *moved, pl_err *err)
{
    int finished = atomic_load(&lane->finished);
    int64_t computed = lane->device->query(lane->computed) - lane->begun;
    *moved = false;
    while (lane->started < lane->n && lane->started - finished < OPEN_AT_MOST &&
           lane->messages[lane->started].after <= computed &&
           lane->messages[lane->started].wait <= finished) {
        PL_TRY(
            start_message(lane, &lane->messages[lane->started], lane->started % OPEN_AT_MOST, err));
        lane->started++;
        *moved = true;
    }
    for (int i = finished; i < lane->started; i++) {
        int k = i % OPEN_AT_MOST;
        if (!lane->done[k]) PL_TRY(test_message(lane, &lane->messages[i], k, err));
        if (lane->done[k] && i == finished) {
            atomic_store(&lane->finished, ++finished);
            *moved = true;
        }
    }
    return true;
}

static bool run_step(pl_lane *lane, pl_err *err)
{
    int tries = 0;
    bool moved;
    while (atomic_load(&lane->finished) < lane->n) {
        double t = pl_clock_now();
        bool open = lane->started > atomic_load(&lane->finished);
        PL_TRY(progress(lane, &moved, err));
        if (!open && lane->started == atomic_load(&lane->finished))
            PL_TRY(lane->comm->ops->poll(lane->comm, err));
        if (moved) tries = 0;
        back_off(&tries, NAP_NS);
        if (open) lane->busy += pl_clock_now() - t;
    }
    return true;
}

static void fail(pl_lane *l)
{
    atomic_store(&l->failed, true);
    atomic_store(&l->phase, IDLE);
}

static void *run_lane(void *arg)
{
    pl_lane *lane = arg;
    int tries = 0;
    while (!atomic_load(&lane->failed)) {
        switch ((phase)atomic_load(&lane->phase)) {
        case QUIT: return NULL;
        case IDLE:
            if (!lane->comm->ops->poll(lane->comm, &lane->err)) fail(lane);
            back_off(&tries, IDLE_NS / 20);
            continue;
        case STEP:
            if (!run_step(lane, &lane->err))
                fail(lane);
            else
                atomic_store(&lane->phase, IDLE);
            break;
        case AGREE:
            if (!pl_comm_agree_wish(lane->comm, &lane->wish, &lane->verdict))
                PL_ASSERT(lane->verdict.code);
            atomic_store(&lane->phase, IDLE);
            break;
        }
        tries = 0;
    }
    return NULL;
}

/* -- the compute thread's side ----------------------------------------------------------------- */

bool pl_lane_new(pl_comm *comm, pl_stream *stream, pl_arena *arena, pl_lane **out, pl_err *err)
{
    pl_lane *lane = PL_NEW(arena, pl_lane);
    *lane = (pl_lane){ .comm = comm, .stream = stream, .device = stream->device };
    PL_TRY(lane->device->event_new(&lane->computed, err));
    int rc = pthread_create(&lane->thread, NULL, run_lane, lane);
    if (rc) {
        lane->device->event_free(lane->computed);
        return pl_err_set(err, PL_ERUN, "cannot start the communication thread: %s", strerror(rc));
    }
    *out = lane;
    return true;
}

void pl_lane_free(pl_lane *lane)
{
    if (!lane) return;
    atomic_store(&lane->phase, QUIT);
    pthread_join(lane->thread, NULL);
    lane->device->event_free(lane->computed);
}

void pl_lane_begin(pl_lane *lane, int n, const pl_lane_message *messages)
{
    lane->messages = messages;
    lane->n = n;
    lane->started = 0;
    lane->begun = ++lane->last;
    lane->device->record(lane->stream, lane->computed, lane->begun);
    atomic_store(&lane->finished, 0);
    atomic_store(&lane->phase, STEP);
}

void pl_lane_advance(pl_lane *lane, int n)
{
    lane->last = lane->begun + n;
    lane->device->record(lane->stream, lane->computed, lane->last);
}

static bool lane_failed(pl_lane *l, pl_err *err)
{
    if (!atomic_load(&l->failed)) return false;
    if (!err->code) *err = l->err;
    return true;
}

bool pl_lane_wait(pl_lane *lane, int n, pl_err *err)
{
    if (atomic_load(&lane->finished) >= n) return true;
    double t = pl_clock_now();
    int tries = 0;
    bool failed = false; /* read before `finished`: what a lane finished before it failed counts */
    while (atomic_load(&lane->finished) < n) {
        if (failed && lane_failed(lane, err)) return false;
        failed = atomic_load(&lane->failed);
        back_off(&tries, NAP_NS);
    }
    lane->exposed += pl_clock_now() - t;
    return true;
}

static bool wait_idle(pl_lane *lane, pl_err *err)
{
    double t = pl_clock_now();
    int tries = 0;
    /* A lane that has failed is gone: it may have ended before it saw the phase it was set to. */
    while (atomic_load(&lane->phase) != IDLE && !atomic_load(&lane->failed))
        back_off(&tries, NAP_NS);
    lane->exposed += pl_clock_now() - t;
    return !lane_failed(lane, err);
}

bool pl_lane_agree(pl_lane *lane, int *wish, pl_err *err)
{
    if (!wait_idle(lane, err)) return false;
    lane->verdict = *err;
    lane->wish = *wish;
    atomic_store(&lane->phase, AGREE);
    if (!wait_idle(lane, err)) return false;
    *err = lane->verdict;
    *wish = lane->wish;
    return err->code == PL_OK;
}

double pl_lane_exposed(const pl_lane *lane)
{
    return lane->exposed;
}

double pl_lane_busy(const pl_lane *lane)
{
    return lane->busy;
}
