/* The queue of the path search: lowest cost so far plus bound first. */
#include "reshard/queue.h"

/* Of equals first what has come further, then what is older: answers do not depend on chance. */
static bool is_before(const pl_queued *a, const pl_queued *b)
{
    if (a->order != b->order) return a->order < b->order;
    if (a->rest != b->rest) return a->rest < b->rest;
    return a->id < b->id;
}

void pl_reshard_queue_start(pl_queue *q, double weight)
{
    q->n = 0;
    q->weight = weight;
}

static void rise(pl_queue *q, int i)
{
    pl_queued x = q->at[i];
    for (; i > 0 && is_before(&x, &q->at[(i - 1) / 2]); i = (i - 1) / 2)
        q->at[i] = q->at[(i - 1) / 2];
    q->at[i] = x;
}

void pl_reshard_queue_weigh(pl_queue *q, double weight)
{
    q->weight = weight;
    for (int i = 0; i < q->n; i++) {
        q->at[i].order = q->at[i].seconds + weight * q->at[i].rest;
        rise(q, i);
    }
}

void pl_reshard_queue_add(pl_queue *q, pl_arena *arena, pl_queued x)
{
    x.order = x.seconds + q->weight * x.rest;
    PL_PUSH(arena, q, x);
    rise(q, q->n - 1);
}

bool pl_reshard_queue_take(pl_queue *q, pl_queued *x)
{
    if (!q->n) return false;
    *x = q->at[0];
    pl_queued last = q->at[--q->n];
    int i = 0;
    for (int next; (next = 2 * i + 1) < q->n; i = next) {
        if (next + 1 < q->n && is_before(&q->at[next + 1], &q->at[next])) next++;
        if (!is_before(&q->at[next], &last)) break;
        q->at[i] = q->at[next];
    }
    q->at[i] = last;
    return true;
}
