/* Paths that were found before, shared by threads. */
#include "reshard/memo.h"

#include <string.h>

struct pl_leg {
    pl_collective kind;
    unsigned axes;
    pl_placement to;
    int64_t block, bytes;
    double seconds;
};

static uint64_t hash_question(const pl_question *q)
{
    uint64_t h = pl_hash_mix((uint64_t)q->type, (uint64_t)q->most_bytes);
    for (int d = 0; d < q->shape.rank; d++) h = pl_hash_mix(h, (uint64_t)q->shape.dim[d]);
    for (int i = 0; i <= q->n; i++) h = pl_hash_mix(h, pl_placement_hash(&q->end[i]));
    return h;
}

static bool same_question(const pl_question *a, const pl_question *b)
{
    bool same = a->type == b->type && pl_shape_same(&a->shape, &b->shape) && a->n == b->n &&
                a->most_bytes == b->most_bytes && a->no_strided == b->no_strided &&
                a->mask == b->mask;
    for (int i = 0; same && i <= a->n; i++) same = pl_placement_same(&a->end[i], &b->end[i]);
    return same;
}

pl_reply *pl_reshard_memo_find(pl_memo *memo, const pl_question *q)
{
    const uint64_t hash = hash_question(q);
    PL_MAP_EACH (&memo->map, hash, x)
        if (same_question(&memo->replies.at[x.value]->question, q))
            return memo->replies.at[x.value];
    pl_reply *a = PL_NEW(memo->arena, pl_reply);
    pl_placement *end = PL_NEW_N(memo->arena, pl_placement, q->n + 1);
    memcpy(end, q->end, (size_t)(q->n + 1) * sizeof *end);
    a->question = *q;
    a->question.end = end;
    pl_map_put(&memo->map, hash, memo->replies.n, memo->arena);
    PL_PUSH(memo->arena, &memo->replies, a);
    return a;
}

void pl_reshard_memo_keep(pl_memo *memo, pl_reply *a, int which, const pl_path *path)
{
    a->known = true;
    a->which = which;
    a->n = path->n;
    a->leg = PL_NEW_N(memo->arena, pl_leg, path->n + 1);
    for (int i = 0; i < path->n; i++) {
        const pl_move *x = &path->move[i];
        a->leg[i] = (pl_leg){ x->kind, x->axes, x->to, x->block, x->bytes, x->seconds };
    }
}

void pl_reshard_memo_give(const pl_reply *a, int *which, pl_path *path)
{
    *which = a->which;
    path->n = a->n;
    path->bytes = 0, path->seconds = 0;
    for (int i = 0; i < a->n; i++) {
        const pl_leg *x = &a->leg[i];
        pl_move *y = &path->move[i];
        *y = (pl_move){ .kind = x->kind, .axes = x->axes, .to = x->to, .block = x->block };
        y->from = i ? a->leg[i - 1].to : a->question.end[a->which];
        y->bytes = x->bytes, y->seconds = x->seconds;
        path->bytes += x->bytes, path->seconds += x->seconds;
    }
}
