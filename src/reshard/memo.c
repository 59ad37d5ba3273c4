#include "reshard/memo.h"

#include "base/hash.h"

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

/* Twice as many slots when there are as many answers. */
static void add_slots(pl_memo *memo)
{
    int slots = memo->slots ? 2 * memo->slots : 256;
    pl_reply **slot = PL_NEW_N(memo->arena, pl_reply *, slots);
    for (int i = 0; i < memo->slots; i++)
        for (pl_reply *a = memo->slot[i], *next; a; a = next) {
            pl_reply **at = &slot[a->hash & (uint64_t)(slots - 1)];
            next = a->next;
            a->next = *at;
            *at = a;
        }
    memo->slot = slot;
    memo->slots = slots;
}

pl_reply *pl_reshard_memo_find(pl_memo *memo, const pl_question *q)
{
    uint64_t hash = hash_question(q);
    if (memo->n == memo->slots) add_slots(memo);
    pl_reply **slot = &memo->slot[hash & (uint64_t)(memo->slots - 1)];
    for (pl_reply *a = *slot; a; a = a->next)
        if (a->hash == hash && same_question(&a->question, q)) return a;
    pl_reply *a = PL_NEW(memo->arena, pl_reply);
    pl_placement *end = PL_NEW_N(memo->arena, pl_placement, q->n + 1);
    memcpy(end, q->end, (size_t)(q->n + 1) * sizeof *end);
    *a = (pl_reply){ .next = *slot, .hash = hash, .question = *q };
    a->question.end = end;
    *slot = a;
    memo->n++;
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
