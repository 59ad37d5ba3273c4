/* Pictures ahead of use. A slot is a picture that is wanted; it goes from WANTED by UNDER_WAY to
 * READY, and is free again once all who want it have taken it. Whoever takes one that no thread has
 * begun decodes it itself. */
#include "data/ahead.h"

#include <pthread.h>
#include <signal.h>

enum { MOST_THREADS = 16, SLOTS = 4096 };

typedef enum slot_state { FREE, WANTED, UNDER_WAY, READY } slot_state;

typedef struct slot {
    slot_state state;
    int64_t picture;
    int wants, users; /* takers to come; those that read it now */
    pl_arena *arena;  /* of the picture                         */
    pl_picture decoded;
    pl_err err; /* it could not be */
} slot;

struct pl_ahead {
    pl_arena *arena;
    pl_ahead_decode *decode;
    const void *of;
    int64_t most, kept; /* bytes */
    bool ends;
    int n_threads;
    pthread_t thread[MOST_THREADS];
    pthread_mutex_t lock;
    pthread_cond_t wanted, ready;
    int n; /* slots [0, n) may be in use */
    slot slot[SLOTS];
};

static int64_t bytes_of(const slot *s)
{
    return s->arena ? (int64_t)pl_arena_bytes(s->arena) : 0;
}

/* The slot of that picture, or the first in that state with picture -1; NULL: there is none. */
static slot *find(pl_ahead *a, int64_t picture, slot_state state)
{
    for (int i = 0; i < a->n; i++) {
        slot *s = &a->slot[i];
        if (picture < 0 ? s->state == state : s->state != FREE && s->picture == picture) return s;
    }
    return NULL;
}

/* With the lock held, and again on return, but not while it decodes. */
static void decode(pl_ahead *a, slot *s)
{
    s->state = UNDER_WAY;
    pthread_mutex_unlock(&a->lock);
    s->arena = pl_arena_new("picture ahead");
    s->err = (pl_err){ 0 };
    if (!a->decode(a->of, s->picture, s->arena, &s->decoded, &s->err)) PL_ASSERT(s->err.code);
    pthread_mutex_lock(&a->lock);
    a->kept += bytes_of(s);
    s->state = READY;
    pthread_cond_broadcast(&a->ready);
}

static void *serve(void *arg)
{
    pl_ahead *a = arg;
    pthread_mutex_lock(&a->lock);
    while (!a->ends) {
        slot *s = a->kept < a->most ? find(a, -1, WANTED) : NULL;
        if (s)
            decode(a, s);
        else
            pthread_cond_wait(&a->wanted, &a->lock);
    }
    pthread_mutex_unlock(&a->lock);
    return NULL;
}

pl_ahead *pl_ahead_new(int n, int64_t bytes, pl_ahead_decode *decoder, const void *of)
{
    pl_arena *arena = pl_arena_new("pictures ahead");
    pl_ahead *a = PL_NEW(arena, pl_ahead);
    sigset_t all, before;
    a->arena = arena;
    a->decode = decoder;
    a->of = of;
    a->most = bytes;
    pthread_mutex_init(&a->lock, NULL);
    pthread_cond_init(&a->wanted, NULL);
    pthread_cond_init(&a->ready, NULL);
    sigfillset(&all); /* signals are for other threads */
    pthread_sigmask(SIG_SETMASK, &all, &before);
    while (a->n_threads < n && a->n_threads < MOST_THREADS &&
           !pthread_create(&a->thread[a->n_threads], NULL, serve, a))
        a->n_threads++;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return a;
}

void pl_ahead_free(pl_ahead *a)
{
    pthread_mutex_lock(&a->lock);
    a->ends = true;
    pthread_cond_broadcast(&a->wanted);
    pthread_mutex_unlock(&a->lock);
    for (int i = 0; i < a->n_threads; i++) pthread_join(a->thread[i], NULL);
    for (int i = 0; i < a->n; i++) pl_arena_free(a->slot[i].arena);
    pthread_cond_destroy(&a->ready);
    pthread_cond_destroy(&a->wanted);
    pthread_mutex_destroy(&a->lock);
    pl_arena_free(a->arena);
}

void pl_ahead_want(pl_ahead *a, int64_t picture)
{
    pthread_mutex_lock(&a->lock);
    slot *s = a->n_threads ? find(a, picture, FREE) : NULL;
    if (s) s->wants++;
    if (!s && a->n_threads) {
        s = find(a, -1, FREE);
        if (!s && a->n < SLOTS) s = &a->slot[a->n++];
        if (s) *s = (slot){ .state = WANTED, .picture = picture, .wants = 1 };
        pthread_cond_signal(&a->wanted);
    }
    pthread_mutex_unlock(&a->lock);
}

static void let_go(pl_ahead *a, slot *s)
{
    if (--s->users || s->wants) return;
    a->kept -= bytes_of(s);
    pl_arena_free(s->arena);
    *s = (slot){ 0 };
    pthread_cond_broadcast(&a->wanted); /* there is room again */
}

/* Nobody has wanted it, or all who did have it. */
static bool take_alone(pl_ahead *a, int64_t picture, void (*use)(void *, const pl_picture *),
                       void *with, pl_err *err)
{
    pl_arena *tmp = pl_arena_new("picture");
    pl_picture p;
    const bool ok = a->decode(a->of, picture, tmp, &p, err);
    if (ok) use(with, &p);
    pl_arena_free(tmp);
    return ok;
}

bool pl_ahead_take(pl_ahead *a, int64_t picture, void (*use)(void *, const pl_picture *),
                   void *with, pl_err *err)
{
    pthread_mutex_lock(&a->lock);
    slot *s = find(a, picture, FREE);
    if (!s) {
        pthread_mutex_unlock(&a->lock);
        return take_alone(a, picture, use, with, err);
    }
    s->users++;
    s->wants -= s->wants > 0;
    if (s->state == WANTED) decode(a, s);
    while (s->state != READY) pthread_cond_wait(&a->ready, &a->lock);
    pthread_mutex_unlock(&a->lock);
    const bool ok = !s->err.code;
    if (ok)
        use(with, &s->decoded);
    else
        pl_err_set(err, s->err.code, "%s", s->err.msg);
    pthread_mutex_lock(&a->lock);
    let_go(a, s);
    pthread_mutex_unlock(&a->lock);
    return ok;
}
