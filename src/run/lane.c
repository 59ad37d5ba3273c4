/* The lanes of messages. Read progress(): messages start when what they wait for is done, at most
 * OPEN_AT_MOST at once. First comes what the thread of the messages between ranks does, then what
 * the compute thread calls. */
#include "run/lane.h"

#include "base/clock.h"
#include "run/hostlane.h"
#include "run/progress.h"

#include <string.h>

enum { OPEN_AT_MOST = 8 }; /* messages under way at once: bounds what a transport has to hold */

typedef enum phase { IDLE, STEP, AGREE, QUIT } phase;

/* A message that was started. */
typedef struct under_way {
    pl_request *request;
    int message;
    bool here, done;
    double due; /* it is done no sooner, by the clock */
} under_way;

/* Messages between ranks that start in order. */
typedef struct queue {
    int next;                     /* of the messages: none before it is left to start */
    int started, ended;           /* of its own                                   */
    under_way open[OPEN_AT_MOST]; /* those from `ended` on, by their numbers      */
} queue;

enum { N_QUEUES = PL_LANE_RECV + 1, N_HOST = PL_N_LANES - N_QUEUES };

struct pl_lane {
    pl_progress progress;
    pl_comm *comm; /* NULL: no thread                              */
    pl_stream *stream;
    pthread_t thread;
    const pl_lane_message *messages;
    atomic_int phase; /* set by compute, back to IDLE by the lane     */
    pl_err verdict;   /* of AGREE: in and out                         */
    int wish;         /* likewise                                     */
    double exposed, busy;
    double link_rate, link_free; /* when what was started before has passed a link of that rate */
    queue queue[N_QUEUES];
    pl_hostlane *host[N_HOST]; /* to the host, from it, its kernels; NULL: none */
};

/* -- the lane's thread ------------------------------------------------------------------------- */

/* The bell does not say when a slow link is passed. */
static pl_bell *bell_of(const pl_lane *l)
{
    const bool rings = l->progress.device->prompt && l->link_rate <= 0;
    return rings ? l->progress.lane : NULL;
}

static void set_phase(pl_lane *l, phase to)
{
    atomic_store(&l->phase, to);
    pl_progress_ring(&l->progress);
}

/* When a message that starts now has passed the link; 0: at once. */
static double pass_link(pl_lane *l, const pl_lane_message *m)
{
    if (l->link_rate <= 0) return 0;
    const double now = pl_clock_now();
    if (l->link_free < now) l->link_free = now;
    l->link_free += (double)pl_message_bytes(&m->message, m->group) / l->link_rate;
    return l->link_free;
}

static bool start_message(pl_lane *l, queue *q, int message, pl_err *err)
{
    const pl_lane_message *m = &l->messages[message];
    under_way *x = &q->open[q->started++ % OPEN_AT_MOST];
    *x = (under_way){ .message = message, .due = pass_link(l, m) };
    if (m->begin) *m->begin = pl_clock_now();
    return pl_comm_start(l->comm, m->group, &m->message, &x->request, err);
}

static bool test_message(pl_lane *l, under_way *x, pl_err *err)
{
    const pl_lane_message *m = &l->messages[x->message];
    if (!x->here) PL_TRY(pl_comm_test(l->comm, x->request, &x->here, err));
    if (!x->here || (x->due > 0 && pl_clock_now() < x->due)) return true;
    x->done = true;
    if (m->end) *m->end = pl_clock_now();
    pl_progress_finish(&l->progress, x->message);
    return true;
}

/* Those of other lanes are passed over. True: there is one that may start. */
static bool may_start(pl_lane *l, int k)
{
    const pl_lane_message *m = l->messages;
    queue *q = &l->queue[k];
    while (q->next < l->progress.n && (!m[q->next].group || m[q->next].lane != k)) q->next++;
    return q->next < l->progress.n && q->started - q->ended < OPEN_AT_MOST &&
           pl_progress_reached(&l->progress, m[q->next].after, m[q->next].wait);
}

/* Start what may start and test what is open; *moved says whether anything did. */
static bool progress(pl_lane *lane, int k, bool *moved, pl_err *err)
{
    queue *q = &lane->queue[k];
    for (; may_start(lane, k); *moved = true) PL_TRY(start_message(lane, q, q->next++, err));
    for (int i = q->ended; i < q->started; i++) {
        under_way *x = &q->open[i % OPEN_AT_MOST];
        if (!x->done) PL_TRY(test_message(lane, x, err));
        if (x->done && i == q->ended) q->ended++, *moved = true;
    }
    return true;
}

static bool has_open(const pl_lane *l)
{
    bool open = false;
    for (int k = 0; k < N_QUEUES; k++) open |= l->queue[k].started > l->queue[k].ended;
    return open;
}

static bool has_more(const pl_lane *l)
{
    bool more = has_open(l);
    for (int k = 0; k < N_QUEUES; k++) more |= l->queue[k].next < l->progress.n;
    return more;
}

static bool run_step(pl_lane *lane, pl_err *err)
{
    pl_wait w = { .bell = bell_of(lane) };
    while (has_more(lane)) {
        double t = pl_clock_now();
        const bool open = has_open(lane);
        bool moved = false;
        for (int k = 0; k < N_QUEUES; k++) PL_TRY(progress(lane, k, &moved, err));
        if (atomic_load(&lane->progress.failed)) return true; /* a copy did: agree says so */
        if (!open && !has_open(lane)) PL_TRY(lane->comm->ops->poll(lane->comm, err));
        if (moved) w.tries = 0;
        pl_back_off(&w);
        if (open) lane->busy += pl_clock_now() - t;
    }
    return true;
}

/* The comm is of no more use. */
static void *fail(pl_lane *l, const pl_err *err)
{
    pl_progress_fail(&l->progress, err);
    set_phase(l, IDLE);
    return NULL;
}

static void *run_lane(void *arg)
{
    pl_lane *lane = arg;
    pl_err err = { 0 };
    pl_wait w = { .bell = bell_of(lane) };
    for (;;) {
        switch ((phase)atomic_load(&lane->phase)) {
        case QUIT: return NULL;
        case IDLE:
            if (!lane->comm->ops->poll(lane->comm, &err)) return fail(lane, &err);
            pl_back_off(&w);
            continue;
        case STEP:
            if (!run_step(lane, &err)) return fail(lane, &err);
            set_phase(lane, IDLE);
            break;
        case AGREE:
            if (!pl_comm_agree_wish(lane->comm, &lane->wish, &lane->verdict))
                PL_ASSERT(lane->verdict.code);
            set_phase(lane, IDLE);
            break;
        }
        w.tries = 0;
    }
}

/* -- the compute thread's side ----------------------------------------------------------------- */

static bool start_threads(pl_lane *lane, const pl_lane_options *o, pl_arena *arena, pl_err *err)
{
    const int rank = lane->comm ? lane->comm->rank : 0;
    for (int k = 0; k < N_HOST && o->host; k++) {
        if (N_QUEUES + k == PL_LANE_HOST && !o->host_work) continue;
        PL_TRY(pl_hostlane_new(&lane->progress, rank, N_QUEUES + k, o->host_rate, arena,
                               &lane->host[k], err));
    }
    int rc = lane->comm ? pthread_create(&lane->thread, NULL, run_lane, lane) : 0;
    return !rc ||
           pl_err_set(err, PL_ERUN, "cannot start the communication thread: %s", strerror(rc));
}

static void free_books(pl_lane *lane)
{
    for (int k = 0; k < N_HOST; k++) pl_hostlane_free(lane->host[k]);
    pl_progress_close(&lane->progress);
}

bool pl_lane_new(pl_comm *comm, pl_stream *stream, const pl_lane_options *options, pl_arena *arena,
                 pl_lane **out, pl_err *err)
{
    pl_lane *lane = PL_NEW(arena, pl_lane);
    *lane = (pl_lane){ .comm = comm, .stream = stream, .link_rate = options->link_rate };
    bool ok = pl_progress_open(&lane->progress, stream, options->most, comm ? comm->bell : NULL,
                               arena, err);
    ok = ok && start_threads(lane, options, arena, err);
    if (ok)
        *out = lane;
    else
        free_books(lane);
    return ok;
}

void pl_lane_free(pl_lane *lane)
{
    if (!lane) return;
    set_phase(lane, QUIT);
    if (lane->comm) pthread_join(lane->thread, NULL);
    free_books(lane);
}

void pl_lane_begin(pl_lane *lane, int n, const pl_lane_message *messages)
{
    pl_progress_begin(&lane->progress, lane->stream, n);
    lane->messages = messages;
    for (int k = 0; k < N_QUEUES; k++)
        lane->queue[k].next = lane->queue[k].started = lane->queue[k].ended = 0;
    for (int k = 0; k < N_HOST; k++)
        if (lane->host[k]) pl_hostlane_begin(lane->host[k], messages);
    if (lane->comm) set_phase(lane, STEP);
}

void pl_lane_advance(pl_lane *lane, int n)
{
    pl_progress *p = &lane->progress;
    p->last = p->begun + n;
    p->device->record(lane->stream, p->computed, p->last);
    pl_progress_ring(p);
}

static bool lane_failed(pl_lane *l, pl_err *err)
{
    if (!atomic_load(&l->progress.failed)) return false;
    if (!err->code) *err = l->progress.err;
    return true;
}

bool pl_lane_wait(pl_lane *lane, int n, pl_err *err)
{
    atomic_int *finished = &lane->progress.finished;
    if (atomic_load(finished) >= n) return true;
    double t = pl_clock_now();
    pl_wait w = { .bell = &lane->progress.bell };
    bool failed = false; /* read before `finished`: what a lane finished before it failed counts */
    while (atomic_load(finished) < n) {
        if (failed && lane_failed(lane, err)) return false;
        failed = atomic_load(&lane->progress.failed);
        pl_back_off(&w);
    }
    lane->exposed += pl_clock_now() - t;
    return true;
}

static bool is_idle(pl_lane *lane)
{
    bool idle = atomic_load(&lane->phase) == IDLE;
    for (int k = 0; k < N_HOST; k++) idle &= !lane->host[k] || pl_hostlane_idle(lane->host[k]);
    return idle;
}

static bool wait_idle(pl_lane *lane, pl_err *err)
{
    double t = pl_clock_now();
    pl_wait w = { .bell = &lane->progress.bell };
    /* A lane that has failed is gone: it may have ended before it saw the phase it was set to. */
    while (!is_idle(lane) && !atomic_load(&lane->progress.failed)) pl_back_off(&w);
    lane->exposed += pl_clock_now() - t;
    return !lane_failed(lane, err);
}

bool pl_lane_agree(pl_lane *lane, int *wish, pl_err *err)
{
    if (!wait_idle(lane, err)) return false;
    if (!lane->comm) return err->code == PL_OK;
    lane->verdict = *err;
    lane->wish = *wish;
    set_phase(lane, AGREE);
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

int64_t pl_lane_copied(const pl_lane *lane)
{
    int64_t sum = 0;
    for (int k = 0; k < N_HOST; k++)
        if (lane->host[k]) sum += pl_hostlane_bytes(lane->host[k]);
    return sum;
}
