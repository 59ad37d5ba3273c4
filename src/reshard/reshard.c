/* The entry: pl_reshard_find() looks the question up, and has the search answer it where it is
 * new. */
#include "reshard/halo.h"
#include "reshard/move.h"
#include "reshard/search.h"

#include <pthread.h>

/* Memory of a search, when several may go on at once. */
typedef struct helper {
    pl_arena *arena; /* that owns it */
    pl_scratch scratch;
} helper;

struct pl_reshard_own {
    pl_memo memo;
    pl_scratch scratch;
    pthread_mutex_t *lock; /* of all but the helpers, where several threads ask; NULL: one does */
    struct {
        int n, cap;
        helper **at;
    } all, idle;
};

pl_reshard pl_reshard_new(const pl_mesh *m, pl_arena *arena)
{
    pl_reshard r = { .mesh = m, .own = PL_NEW(arena, struct pl_reshard_own) };
    r.own->memo.arena = r.own->scratch.arena = r.own->scratch.bounds.arena = arena;
    return r;
}

struct pl_paths {
    int n, cap;
    pl_reshard *at;
    pl_arena *arena;
    pthread_mutex_t lock; /* of all that is here */
};

pl_paths *pl_paths_new(pl_arena *arena)
{
    pl_paths *p = PL_NEW(arena, pl_paths);
    pthread_mutexattr_t again; /* a path of a window is made of others */
    p->arena = arena;
    pthread_mutexattr_init(&again);
    pthread_mutexattr_settype(&again, PTHREAD_MUTEX_RECURSIVE);
    pthread_mutex_init(&p->lock, &again);
    pthread_mutexattr_destroy(&again);
    return p;
}

static pl_reshard find_mesh(pl_paths *p, const pl_mesh *m)
{
    for (int i = 0; i < p->n; i++)
        if (pl_mesh_alike(p->at[i].mesh, m)) return p->at[i];
    pl_mesh *mesh = PL_NEW(p->arena, pl_mesh);
    *mesh = *m;
    pl_reshard r = pl_reshard_new(mesh, p->arena);
    r.own->lock = &p->lock;
    PL_PUSH(p->arena, p, r);
    return r;
}

pl_reshard pl_paths_on(pl_paths *p, const pl_mesh *m)
{
    pthread_mutex_lock(&p->lock);
    pl_reshard r = find_mesh(p, m);
    pthread_mutex_unlock(&p->lock);
    return r;
}

void pl_paths_finish(pl_paths *p)
{
    for (int i = 0; p && i < p->n; i++) {
        struct pl_reshard_own *own = p->at[i].own;
        for (int k = 0; k < own->all.n; k++) pl_arena_free(own->all.at[k]->arena);
        own->all.n = own->idle.n = 0;
    }
}

static helper *take_helper(struct pl_reshard_own *own)
{
    if (own->idle.n) return own->idle.at[--own->idle.n];
    pl_arena *arena = pl_arena_new("path search");
    helper *x = PL_NEW(arena, helper);
    if (!own->scratch.blocks) own->scratch.blocks = pl_blocks_memo_new(own->memo.arena, own->lock);
    x->arena = x->scratch.arena = x->scratch.bounds.arena = arena;
    x->scratch.blocks = own->scratch.blocks;
    PL_PUSH(own->memo.arena, &own->all, x);
    return x;
}

static bool has_window(const pl_question *q)
{
    bool has = false;
    for (int i = 0; i <= q->n; i++) has |= pl_halo_is_end(&q->end[i]);
    return has;
}

static bool refuse(const pl_question *q, pl_err *err)
{
    pl_arena *a = pl_arena_new("message");
    int rank = q->shape.rank;
    const char *from = q->n ? pl_placement_text(a, &q->end[0], q->mesh, rank) : "nothing";
    const char *to = pl_placement_text(a, &q->end[q->n], q->mesh, rank);
    const char *type = pl_shape_text(a, q->type, &q->shape);
    pl_err_set(err, PL_EUNSUPPORTED, "no messages turn %s of %s%s into %s%s", from, type,
               q->n > 1 ? " (or other placements)" : "", to,
               has_window(q) ? ": the parts of windows do not have all of it"
                             : ": what is whole does not become partial");
    pl_arena_free(a);
    return false;
}

static bool find_path(pl_reshard *r, pl_scratch *scratch, const pl_question *q, int *which,
                      pl_path *path)
{
    if (has_window(q))
        return pl_halo_find(r, q->type, &q->shape, q->n, q->end, &q->end[q->n], which, path);
    return pl_reshard_search_run(scratch, q, which, path);
}

/* Finds it while others may ask, and find the same. */
static bool find_unlocked(pl_reshard *r, const pl_question *q, int *which, pl_path *path)
{
    struct pl_reshard_own *own = r->own;
    helper *x = take_helper(own);
    pthread_mutex_unlock(own->lock);
    const bool found = find_path(r, &x->scratch, q, which, path);
    pthread_mutex_lock(own->lock);
    PL_PUSH(own->memo.arena, &own->idle, x);
    return found;
}

/* Remembers, or finds and keeps. */
static bool ask(pl_reshard *r, const pl_question *q, int *which, pl_path *path)
{
    pthread_mutex_t *lock = r->own->lock;
    if (lock) pthread_mutex_lock(lock);
    pl_reply *a = pl_reshard_memo_find(&r->own->memo, q);
    if (!a->known) {
        const bool found = lock ? find_unlocked(r, q, which, path)
                                : find_path(r, &r->own->scratch, q, which, path);
        if (!found) *which = -1;
        if (!a->known) pl_reshard_memo_keep(&r->own->memo, a, *which, path);
    }
    const bool there = a->which >= 0;
    if (there) pl_reshard_memo_give(a, which, path);
    if (lock) pthread_mutex_unlock(lock);
    return there;
}

/* -- the host's memory ------------------------------------------------------------------------- */

/* The same part on the device. */
static pl_placement on_device(pl_placement x)
{
    x.host = false;
    return x;
}

static void add_move(pl_path *path, pl_move x)
{
    path->move[path->n++] = x;
    path->bytes += x.bytes;
    path->seconds += x.seconds;
}

/* A copy to or from the host before or after a path on the device. */
static void add_copy(const pl_reshard *r, const pl_question *q, pl_collective kind,
                     const pl_placement *part, pl_path *path)
{
    pl_move x = { .kind = kind, .from = *part, .to = *part };
    *(kind == PL_TO_HOST ? &x.to.host : &x.from.host) = true;
    const bool ok = pl_move_price(&x, q->type, r->mesh, &q->shape);
    PL_ASSERT(ok);
    if (kind == PL_TO_HOST) {
        add_move(path, x);
        return;
    }
    const pl_path rest = *path;
    *path = (pl_path){ 0 };
    add_move(path, x);
    for (int i = 0; i < rest.n; i++) add_move(path, rest.move[i]);
}

/* -- the entry --------------------------------------------------------------------------------- */

/* Among sources that are all on the device. Is one of them the target, the path is empty. */
static bool find_between(pl_reshard *r, const pl_question *q, int *which, pl_path *path)
{
    *path = (pl_path){ 0 };
    for (*which = 0; *which < q->n; ++*which)
        if (pl_placement_same(&q->end[*which], &q->end[q->n])) return true;
    return q->n && ask(r, q, which, path);
}

/* From the sources in one kind of memory. */
static bool find_from(pl_reshard *r, const pl_question *q, bool host, int *which, pl_path *path)
{
    pl_placement end[PL_MAX_SOURCES + 1];
    int from[PL_MAX_SOURCES], k;
    pl_question x = *q;
    x.n = 0, x.end = end;
    for (int i = 0; i < q->n; i++) {
        if (q->end[i].host != host) continue;
        from[x.n] = i;
        end[x.n++] = on_device(q->end[i]);
    }
    end[x.n] = on_device(q->end[q->n]);
    if (!find_between(r, &x, &k, path)) return false;
    *which = from[k];
    if (host) add_copy(r, q, PL_FROM_HOST, &end[k], path);
    if (q->end[q->n].host) add_copy(r, q, PL_TO_HOST, &end[x.n], path);
    return true;
}

bool pl_reshard_find(pl_reshard *r, pl_type type, const pl_shape *shape, int n,
                     const pl_placement from[], const pl_placement *to, int *which, pl_path *path,
                     pl_err *err)
{
    pl_placement end[PL_MAX_SOURCES + 1];
    PL_ASSERT_CMP(n, <=, PL_MAX_SOURCES);
    *path = (pl_path){ 0 };
    end[n] = pl_placement_normal(to, r->mesh, shape);
    bool host = end[n].host;
    for (*which = 0; *which < n; ++*which) {
        end[*which] = pl_placement_normal(&from[*which], r->mesh, shape);
        if (pl_placement_same(&end[*which], &end[n])) return true;
        host |= end[*which].host;
    }
    pl_question q = { .mesh = r->mesh,
                      .type = type,
                      .shape = *shape,
                      .most_bytes = r->most_bytes,
                      .no_strided = r->no_strided,
                      .mask = r->mask,
                      .n = n,
                      .end = end };
    if (!host) return ask(r, &q, which, path) || refuse(&q, err);
    return find_from(r, &q, false, which, path) || find_from(r, &q, true, which, path) ||
           refuse(&q, err);
}

/* -- a bound ----------------------------------------------------------------------------------- */

/* Elements that rank 0 has to receive from others: of sums, all; of windows it is not known. */
static int64_t count_lacking(const pl_mesh *m, const pl_shape *shape, const pl_placement *from,
                             const pl_placement *to)
{
    const pl_region get = pl_region_of(to, m, shape, 0);
    const int64_t wanted = pl_region_count(&get);
    pl_region both;
    if (pl_halo_is_end(from) || pl_halo_is_end(to)) return 0;
    if (from->pending & ~to->pending) return wanted;
    const pl_region has = pl_region_of(from, m, shape, 0);
    if (pl_region_meet(&has, &get, &both)) return wanted - pl_region_count(&both);
    const int64_t count = pl_region_count(&has);
    return count < wanted ? wanted - count : 0;
}

int64_t pl_reshard_least_bytes(const pl_mesh *m, pl_type type, const pl_shape *shape, int n,
                               const pl_placement from[], const pl_placement *to)
{
    int64_t least = n ? INT64_MAX : 0;
    for (int i = 0; i < n && least; i++) {
        const int64_t lacks = count_lacking(m, shape, &from[i], to);
        if (lacks < least) least = lacks;
    }
    return least * pl_type_bytes(type);
}
