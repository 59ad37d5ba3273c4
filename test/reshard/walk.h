/* Runs a path of moves on data, by the definition of each move in reshard/reshard.h. */
#ifndef TEST_PLAN_WALK_H
#define TEST_PLAN_WALK_H
#include "support/universe.h"
#include "reshard/move.h"

enum { MOST_ELEMENTS = 64 * WORDS };

/* What each rank holds: for each element of its part the contributions (a bit for each coordinate
 * on the axes that the source has pending) that are combined in it; -1 where it has none. */
typedef struct data {
    int64_t who[RANKS][MOST_ELEMENTS];
} data;

typedef struct run {
    const pl_mesh *mesh;
    const pl_shape *shape;
    int64_t element; /* bytes */
    int ranks, elements;
    unsigned pending; /* of the source */
    const char *says; /* seed or texts */
} run;

static inline int coord_on(const pl_mesh *m, int rank, unsigned axes)
{
    int me;
    pl_move_group(m, rank, axes, &me);
    return me;
}

static inline data first_data(const run *x, const pl_placement *p)
{
    static data d;
    for (int r = 0; r < x->ranks; r++)
        for (int e = 0; e < x->elements; e++) {
            bool has = owns(p, x->mesh, x->shape, e, r);
            d.who[r][e] = has ? (int64_t)1 << coord_on(x->mesh, r, x->pending) : -1;
        }
    return d;
}

/* The block of sender and receiver: what the one has of `from` and the other of `to`. */
static inline int give_block(const run *x, const pl_move *v, const data *from, int sender,
                             int receiver, data *to)
{
    bool combines = v->kind == PL_ALL_REDUCE || v->kind == PL_REDUCE_SCATTER;
    int n = 0;
    for (int e = 0; e < x->elements; e++) {
        int64_t *put = &to->who[receiver][e];
        if (!owns(&v->from, x->mesh, x->shape, e, sender)) continue;
        if (!owns(&v->to, x->mesh, x->shape, e, receiver)) continue;
        n++;
        EXPECT(from->who[sender][e] >= 0, "%s: %s sends what it lacks", x->says,
               pl_collective_name(v->kind));
        EXPECT(*put < 0 || combines, "%s: %s gives twice", x->says, pl_collective_name(v->kind));
        EXPECT(*put < 0 || !(*put & from->who[sender][e]), "%s: counted twice", x->says);
        *put = (*put < 0 ? 0 : *put) | from->who[sender][e];
    }
    return n;
}

/* Can the block be cut out of the one part and put into the other by copies? */
static inline void check_copies(const run *x, const pl_move *v, int sender, int receiver)
{
    pl_region from = pl_region_of(&v->from, x->mesh, x->shape, sender), both;
    pl_region to = pl_region_of(&v->to, x->mesh, x->shape, receiver);
    pl_copy out, in;
    EXPECT(pl_region_meet(&from, &to, &both) && pl_region_copy(&from, &both, 4, &out) &&
               pl_region_copy(&both, &to, 4, &in),
           "%s: no copies for %s", x->says, pl_collective_name(v->kind));
}

static inline void keep_own(const run *x, const pl_move *v, const data *from, int rank,
                            data *to)
{
    for (int e = 0; e < x->elements; e++) {
        if (!owns(&v->to, x->mesh, x->shape, e, rank)) continue;
        EXPECT(from->who[rank][e] >= 0, "%s: %s of what is not there", x->says,
               pl_collective_name(v->kind));
        bool zero = v->kind == PL_MASK && coord_on(x->mesh, rank, v->axes);
        to->who[rank][e] = zero ? 0 : from->who[rank][e];
    }
}

static inline void make_move(const run *x, const pl_move *v, data *d)
{
    static data to;
    int most = 0, group[RANKS], me;
    memset(&to, 0xff, sizeof to);
    for (int r = 0; r < x->ranks; r++) {
        int n = pl_mesh_group(x->mesh, r, v->axes, group, &me), givers = 0;
        if (v->kind == PL_SLICE || v->kind == PL_MASK) {
            keep_own(x, v, d, r, &to);
            check_copies(x, v, r, r);
            continue;
        }
        for (int i = 0; i < n; i++) {
            int k = give_block(x, v, d, group[i], r, &to);
            check_copies(x, v, group[i], r);
            if (k > most) most = k;
            givers += k > 0;
        }
        EXPECT(v->kind != PL_PERMUTE || givers <= 1, "%s: a permute of %d senders", x->says,
               givers);
    }
    int n = pl_mesh_group(x->mesh, 0, v->axes, group, &me);
    EXPECT(v->kind == PL_SLICE || v->kind == PL_MASK || most == v->block,
           "%s: %s: the largest block is %d, not %d", x->says, pl_collective_name(v->kind), most,
           (int)v->block);
    EXPECT(v->bytes == pl_move_volume(v->kind, n, v->block, x->element), "%s: bytes", x->says);
    *d = to;
}

/* Each device has what it must, of all contributions: one of a group over pending axes, all of them
 * together once. */
static inline void check_end(const run *x, const pl_placement *p, const data *d)
{
    int parts = pl_move_group(x->mesh, 0, x->pending, &(int){ 0 });
    for (int r = 0; r < x->ranks; r++)
        for (int e = 0; e < x->elements; e++) {
            bool has = owns(p, x->mesh, x->shape, e, r);
            EXPECT(has == (d->who[r][e] >= 0), "%s: rank %d, element %d", x->says, r, e);
            if (!has) continue;
            int group[RANKS], me, n = pl_mesh_group(x->mesh, r, p->pending, group, &me);
            int64_t all = 0;
            for (int i = 0; i < n; i++) {
                EXPECT(!(all & d->who[group[i]][e]), "%s: counted twice", x->says);
                all |= d->who[group[i]][e];
            }
            EXPECT(all == (1ll << parts) - 1, "%s: rank %d, element %d lacks a contribution",
                   x->says, r, e);
        }
}

static inline void run_path(const char *says, const pl_mesh *m, pl_type type, const pl_shape *s,
                            const pl_placement *from, const pl_placement *to, const pl_path *path)
{
    static data d;
    pl_placement at = pl_placement_normal(from, m, s), end = pl_placement_normal(to, m, s);
    run x = { m, s, pl_type_bytes(type), pl_mesh_ranks(m), (int)pl_shape_count(s), at.pending,
              says };
    const int64_t least = pl_reshard_least_bytes(m, type, s, 1, &at, &end);
    double seconds = 0;
    int64_t bytes = 0;
    d = first_data(&x, &at);
    for (int i = 0; i < path->n; i++) {
        const pl_move *v = &path->move[i];
        EXPECT(pl_placement_same(&v->from, &at), "%s: move %d does not follow", says, i);
        make_move(&x, v, &d);
        at = v->to, seconds += v->seconds, bytes += v->bytes;
    }
    EXPECT(pl_placement_same(&at, &end), "%s: it ends elsewhere", says);
    EXPECT(bytes == path->bytes && seconds > path->seconds - 1e-12 &&
               seconds < path->seconds + 1e-12,
           "%s: sums", says);
    EXPECT(least <= bytes, "%s: %lld bytes, but at least %lld", says, (long long)bytes,
           (long long)least);
    check_end(&x, &end, &d);
}

#endif
