/* Pictures ahead of use. A slot is a picture that is wanted; it goes from WANTED, where it is in
 * the queue, by UNDER_WAY to READY, and is free again once all who want it have taken it. Whoever
 * takes one that no thread has begun decodes it itself. Read serve(), a thread, and
 * pl_ahead_take(). */
#include "data/ahead.h"

#include "base/clock.h"

#include <pthread.h>
#include <signal.h>

enum { SLOTS = PL_AHEAD_PICTURES, CHAINS = SLOTS / 4 };

typedef enum slot_state { FREE, WANTED, UNDER_WAY, READY } slot_state;

typedef struct slot {
    slot_state state;
    int64_t picture;
    int wants, users;            /* takers to come; those that read it now          */
    struct slot *next;           /* of its chain, or of the free ones               */
    struct slot *before, *after; /* in the queue                                    */
    pl_ahead_spent spent;        /* to decode it; 0 once that was told to a taker   */
    pl_arena *arena;             /* of the picture                                  */
    pl_picture decoded;
    pl_err err; /* it could not be */
} slot;

struct pl_ahead;

typedef struct server {
    struct pl_ahead *a;
    int number;
    pthread_t thread;
} server;

struct pl_ahead {
    pl_arena *arena;
    pl_ahead_decode *decode;
    const void *of;
    int64_t most, kept, largest; /* bytes: in all; of what is READY; of one so far */
    bool ends;
    int n_servers, n_active, n_under_way; /* started; those that decode; on any thread */
    server server[PL_AHEAD_THREADS];
    pthread_mutex_t lock;
    pthread_cond_t wanted, ready, active; /* active: more servers are */
    pl_ahead_spent spent;
    slot queue; /* its ends: the first is queue.after */
    slot *free, *chain[CHAINS];
    int n; /* slots [0, n) have been in use */
    slot slot[SLOTS];
};

static int64_t bytes_of(const slot *s)
{
    return s->arena ? (int64_t)pl_arena_bytes(s->arena) : 0;
}

/* -- slots, with the lock held ----------------------------------------------------------------- */

/* Where the slot of that picture hangs, or would. */
static slot **find(pl_ahead *a, int64_t picture)
{
    slot **at = &a->chain[(uint64_t)picture % CHAINS];
    while (*at && (*at)->picture != picture) at = &(*at)->next;
    return at;
}

/* Behind all that is wanted. */
static void add_slot(pl_ahead *a, int64_t picture)
{
    slot *s = a->free ? a->free : a->n < SLOTS ? &a->slot[a->n++] : NULL, **at = find(a, picture);
    if (!s) return;
    if (s == a->free) a->free = s->next;
    *s = (slot){ .state = WANTED, .picture = picture, .wants = 1 };
    *at = s;
    s->before = a->queue.before;
    s->after = &a->queue;
    s->before->after = s->after->before = s;
    pthread_cond_signal(&a->wanted);
}

static void free_slot(pl_ahead *a, slot *s)
{
    *find(a, s->picture) = s->next;
    a->kept -= bytes_of(s);
    pl_arena_free(s->arena);
    *s = (slot){ .next = a->free };
    a->free = s;
    pthread_cond_broadcast(&a->wanted); /* there is room again */
}

static void unlink_slot(slot *s) /* from the queue */
{
    s->before->after = s->after;
    s->after->before = s->before;
}

static void add_spent(pl_ahead_spent *to, const pl_ahead_spent *more)
{
    to->seconds += more->seconds;
    to->cpu += more->cpu;
    to->pictures += more->pictures;
}

/* -- decoding ---------------------------------------------------------------------------------- */

/* As the decoder, and says what it took. */
static bool decode_timed(const pl_ahead *a, int64_t picture, pl_arena *arena, pl_picture *out,
                         pl_ahead_spent *spent, pl_err *err)
{
    const double begin = pl_clock_now(), cpu = pl_clock_thread();
    const bool ok = a->decode(a->of, picture, arena, out, err);
    *spent = (pl_ahead_spent){ pl_clock_now() - begin, pl_clock_thread() - cpu, 1 };
    return ok;
}

/* With the lock held, and again on return, but not while it decodes. */
static void decode(pl_ahead *a, slot *s)
{
    unlink_slot(s);
    s->state = UNDER_WAY;
    a->n_under_way++;
    pthread_mutex_unlock(&a->lock);
    s->arena = pl_arena_new("picture ahead");
    s->err = (pl_err){ 0 };
    if (!decode_timed(a, s->picture, s->arena, &s->decoded, &s->spent, &s->err))
        PL_ASSERT(s->err.code);
    pthread_mutex_lock(&a->lock);
    a->n_under_way--;
    a->kept += bytes_of(s);
    if (bytes_of(s) > a->largest) a->largest = bytes_of(s);
    s->state = READY;
    pthread_cond_broadcast(&a->ready);
}

static void *serve(void *arg)
{
    const server *self = arg;
    pl_ahead *a = self->a;
    pthread_mutex_lock(&a->lock);
    while (!a->ends) {
        const bool active = self->number < a->n_active,
                   room = a->kept + a->n_under_way * a->largest < a->most;
        slot *s = active && room ? a->queue.after : &a->queue;
        if (s == &a->queue) {
            pthread_cond_wait(active ? &a->wanted : &a->active, &a->lock);
            continue;
        }
        decode(a, s);
        if (!s->wants && !s->users) free_slot(a, s); /* nobody does any longer */
    }
    pthread_mutex_unlock(&a->lock);
    return NULL;
}

/* -- from the outside -------------------------------------------------------------------------- */

pl_ahead *pl_ahead_new(int n, int64_t bytes, pl_ahead_decode *decoder, const void *of)
{
    pl_arena *arena = pl_arena_new("pictures ahead");
    pl_ahead *a = PL_NEW(arena, pl_ahead);
    a->arena = arena;
    a->decode = decoder;
    a->of = of;
    a->most = bytes;
    a->queue.before = a->queue.after = &a->queue;
    pthread_mutex_init(&a->lock, NULL);
    pthread_cond_init(&a->wanted, NULL);
    pthread_cond_init(&a->ready, NULL);
    pthread_cond_init(&a->active, NULL);
    pl_ahead_set_threads(a, n);
    return a;
}

void pl_ahead_free(pl_ahead *a)
{
    pthread_mutex_lock(&a->lock);
    a->ends = true;
    pthread_cond_broadcast(&a->wanted);
    pthread_cond_broadcast(&a->active);
    pthread_mutex_unlock(&a->lock);
    for (int i = 0; i < a->n_servers; i++) pthread_join(a->server[i].thread, NULL);
    for (int i = 0; i < a->n; i++) pl_arena_free(a->slot[i].arena);
    pthread_cond_destroy(&a->active);
    pthread_cond_destroy(&a->ready);
    pthread_cond_destroy(&a->wanted);
    pthread_mutex_destroy(&a->lock);
    pl_arena_free(a->arena);
}

void pl_ahead_set_threads(pl_ahead *a, int n)
{
    sigset_t all, before;
    sigfillset(&all); /* signals are for other threads */
    pthread_sigmask(SIG_SETMASK, &all, &before);
    pthread_mutex_lock(&a->lock);
    while (a->n_servers < n && a->n_servers < PL_AHEAD_THREADS) {
        server *s = &a->server[a->n_servers];
        *s = (server){ .a = a, .number = a->n_servers };
        if (pthread_create(&s->thread, NULL, serve, s)) break;
        a->n_servers++;
    }
    a->n_active = n < a->n_servers ? n : a->n_servers;
    pthread_cond_broadcast(&a->active);
    pthread_cond_broadcast(&a->wanted); /* some are no longer to wait for that */
    pthread_mutex_unlock(&a->lock);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

void pl_ahead_want(pl_ahead *a, int64_t picture)
{
    pthread_mutex_lock(&a->lock);
    slot *s = *find(a, picture);
    if (s)
        s->wants++;
    else if (a->n_active)
        add_slot(a, picture);
    pthread_mutex_unlock(&a->lock);
}

void pl_ahead_drop(pl_ahead *a, int64_t picture)
{
    pthread_mutex_lock(&a->lock);
    slot *s = *find(a, picture);
    if (s && s->wants && !--s->wants && !s->users && s->state != UNDER_WAY) {
        if (s->state == WANTED) unlink_slot(s);
        free_slot(a, s);
    }
    pthread_mutex_unlock(&a->lock);
}

/* Nobody has wanted it, or all who did have it. */
static bool take_alone(pl_ahead *a, int64_t picture, void (*use)(void *, const pl_picture *),
                       void *with, pl_err *err)
{
    pl_arena *tmp = pl_arena_new("picture");
    pl_picture p;
    pl_ahead_spent spent;
    const bool ok = decode_timed(a, picture, tmp, &p, &spent, err);
    pthread_mutex_lock(&a->lock);
    add_spent(&a->spent, &spent);
    pthread_mutex_unlock(&a->lock);
    if (ok) use(with, &p);
    pl_arena_free(tmp);
    return ok;
}

bool pl_ahead_take(pl_ahead *a, int64_t picture, void (*use)(void *, const pl_picture *),
                   void *with, pl_err *err)
{
    pthread_mutex_lock(&a->lock);
    slot *s = *find(a, picture);
    if (!s) {
        pthread_mutex_unlock(&a->lock);
        return take_alone(a, picture, use, with, err);
    }
    s->users++;
    s->wants -= s->wants > 0;
    if (s->state == WANTED) decode(a, s);
    while (s->state != READY) pthread_cond_wait(&a->ready, &a->lock);
    add_spent(&a->spent, &s->spent);
    s->spent = (pl_ahead_spent){ 0 };
    pthread_mutex_unlock(&a->lock);
    const bool ok = !s->err.code;
    if (ok)
        use(with, &s->decoded);
    else
        pl_err_set(err, s->err.code, "%s", s->err.msg);
    pthread_mutex_lock(&a->lock);
    if (!--s->users && !s->wants) free_slot(a, s);
    pthread_mutex_unlock(&a->lock);
    return ok;
}

pl_ahead_spent pl_ahead_ask_spent(pl_ahead *a)
{
    pthread_mutex_lock(&a->lock);
    const pl_ahead_spent spent = a->spent;
    a->spent = (pl_ahead_spent){ 0 };
    pthread_mutex_unlock(&a->lock);
    return spent;
}
