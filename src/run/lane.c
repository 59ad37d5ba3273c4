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
static bool progress(pl_lane *l, bool *moved, pl_err *err)
{
    int finished = atomic_load(&l->finished);
    int64_t computed = l->device->query(l->computed) - l->begun;
    *moved = false;
    while (l->started < l->n && l->started - finished < OPEN_AT_MOST &&
           l->messages[l->started].after <= computed && l->messages[l->started].wait <= finished) {
        PL_TRY(start_message(l, &l->messages[l->started], l->started % OPEN_AT_MOST, err));
        l->started++;
        *moved = true;
    }
    for (int i = finished; i < l->started; i++) {
        int k = i % OPEN_AT_MOST;
        if (!l->done[k]) PL_TRY(test_message(l, &l->messages[i], k, err));
        if (l->done[k] && i == finished) {
            atomic_store(&l->finished, ++finished);
            *moved = true;
        }
    }
    return true;
}

static bool run_step(pl_lane *l, pl_err *err)
{
    int tries = 0;
    bool moved;
    while (atomic_load(&l->finished) < l->n) {
        double t = pl_clock_now();
        bool open = l->started > atomic_load(&l->finished);
        PL_TRY(progress(l, &moved, err));
        if (!open && l->started == atomic_load(&l->finished))
            PL_TRY(l->comm->ops->poll(l->comm, err));
        if (moved) tries = 0;
        back_off(&tries, NAP_NS);
        if (open) l->busy += pl_clock_now() - t;
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
    pl_lane *l = arg;
    int tries = 0;
    while (!atomic_load(&l->failed)) {
        switch ((phase)atomic_load(&l->phase)) {
        case QUIT: return NULL;
        case IDLE:
            if (!l->comm->ops->poll(l->comm, &l->err)) fail(l);
            back_off(&tries, IDLE_NS / 20);
            continue;
        case STEP:
            if (!run_step(l, &l->err))
                fail(l);
            else
                atomic_store(&l->phase, IDLE);
            break;
        case AGREE:
            if (!pl_comm_agree_wish(l->comm, &l->wish, &l->verdict)) PL_ASSERT(l->verdict.code);
            atomic_store(&l->phase, IDLE);
            break;
        }
        tries = 0;
    }
    return NULL;
}

/* -- the compute thread's side ----------------------------------------------------------------- */

bool pl_lane_new(pl_comm *c, pl_stream *s, pl_arena *arena, pl_lane **out, pl_err *err)
{
    pl_lane *l = PL_NEW(arena, pl_lane);
    *l = (pl_lane){ .comm = c, .stream = s, .device = s->device };
    PL_TRY(l->device->event_new(&l->computed, err));
    int rc = pthread_create(&l->thread, NULL, run_lane, l);
    if (rc) {
        l->device->event_free(l->computed);
        return pl_err_set(err, PL_ERUN, "cannot start the communication thread: %s", strerror(rc));
    }
    *out = l;
    return true;
}

void pl_lane_free(pl_lane *l)
{
    if (!l) return;
    atomic_store(&l->phase, QUIT);
    pthread_join(l->thread, NULL);
    l->device->event_free(l->computed);
}

void pl_lane_begin(pl_lane *l, int n, const pl_lane_message *messages)
{
    l->messages = messages;
    l->n = n;
    l->started = 0;
    l->begun = ++l->last;
    l->device->record(l->stream, l->computed, l->begun);
    atomic_store(&l->finished, 0);
    atomic_store(&l->phase, STEP);
}

void pl_lane_advance(pl_lane *l, int n)
{
    l->last = l->begun + n;
    l->device->record(l->stream, l->computed, l->last);
}

static bool lane_failed(pl_lane *l, pl_err *err)
{
    if (!atomic_load(&l->failed)) return false;
    if (!err->code) *err = l->err;
    return true;
}

bool pl_lane_wait(pl_lane *l, int n, pl_err *err)
{
    if (atomic_load(&l->finished) >= n) return true;
    double t = pl_clock_now();
    int tries = 0;
    bool failed = false; /* read before `finished`: what a lane finished before it failed counts */
    while (atomic_load(&l->finished) < n) {
        if (failed && lane_failed(l, err)) return false;
        failed = atomic_load(&l->failed);
        back_off(&tries, NAP_NS);
    }
    l->exposed += pl_clock_now() - t;
    return true;
}

static bool wait_idle(pl_lane *l, pl_err *err)
{
    double t = pl_clock_now();
    int tries = 0;
    /* A lane that has failed is gone: it may have ended before it saw the phase it was set to. */
    while (atomic_load(&l->phase) != IDLE && !atomic_load(&l->failed)) back_off(&tries, NAP_NS);
    l->exposed += pl_clock_now() - t;
    return !lane_failed(l, err);
}

bool pl_lane_agree(pl_lane *l, int *wish, pl_err *err)
{
    if (!wait_idle(l, err)) return false;
    l->verdict = *err;
    l->wish = *wish;
    atomic_store(&l->phase, AGREE);
    if (!wait_idle(l, err)) return false;
    *err = l->verdict;
    *wish = l->wish;
    return err->code == PL_OK;
}

double pl_lane_exposed(const pl_lane *l)
{
    return l->exposed;
}

double pl_lane_busy(const pl_lane *l)
{
    return l->busy;
}
