/* A scheduling problem built task by task. */
#ifndef PL_TEST_MEMORY_TASKS_H
#define PL_TEST_MEMORY_TASKS_H
#include "base/arena.h"
#include "order/schedule.h"

typedef struct pair {
    int from, to;
} pair;

typedef struct tasks {
    pl_arena *a;
    int n, n_tensor;
    struct {
        pair *at;
        int n, cap;
    } edges, touches; /* task before task; tensor touched by task */
    struct {
        int64_t *at;
        int n, cap;
    } bytes;
    struct {
        uint8_t *at;
        int n, cap;
    } ends;
    struct {
        int *at;
        int n, cap;
    } maker; /* of each tensor: the task that wrote it last, or -1 */
} tasks;

static inline int add_task(tasks *b)
{
    return b->n++;
}

static inline void add_edge(tasks *b, int from, int to)
{
    pair e = { from, to };
    PL_PUSH(b->a, &b->edges, e);
}

static inline void add_touch(tasks *b, int tensor, int task)
{
    pair e = { tensor, task };
    PL_PUSH(b->a, &b->touches, e);
}

static inline int add_tensor(tasks *b, int64_t bytes, int ends)
{
    PL_PUSH(b->a, &b->bytes, bytes);
    PL_PUSH(b->a, &b->ends, (uint8_t)ends);
    PL_PUSH(b->a, &b->maker, -1);
    return b->n_tensor++;
}

/* What `task` makes. */
static inline int add_output(tasks *b, int task, int64_t bytes)
{
    int x = add_tensor(b, bytes, 0);
    b->maker.at[x] = task;
    add_touch(b, x, task);
    return x;
}

static inline void add_read(tasks *b, int task, int tensor)
{
    add_touch(b, tensor, task);
    if (b->maker.at[tensor] >= 0) add_edge(b, b->maker.at[tensor], task);
}

/* Later reads see what `task` wrote. */
static inline void add_overwrite(tasks *b, int task, int tensor)
{
    add_read(b, task, tensor);
    b->maker.at[tensor] = task;
}

static inline void group(pl_arena *a, int n, const pair *pairs, int n_pairs, int **at, int **list)
{
    *at = PL_NEW_N(a, int, n + 2);
    *list = PL_NEW_N(a, int, n_pairs);
    for (int k = 0; k < n_pairs; k++) (*at)[pairs[k].from + 2]++;
    for (int i = 0; i < n; i++) (*at)[i + 2] += (*at)[i + 1];
    for (int k = 0; k < n_pairs; k++) (*list)[(*at)[pairs[k].from + 1]++] = pairs[k].to;
}

static inline pl_schedule_problem build(tasks *b)
{
    int *edge_at, *edge, *touch_at, *touch;
    group(b->a, b->n, b->edges.at, b->edges.n, &edge_at, &edge);
    group(b->a, b->n_tensor, b->touches.at, b->touches.n, &touch_at, &touch);
    return (pl_schedule_problem){ b->n,        edge_at,    edge,     b->n_tensor,
                                  b->bytes.at, b->ends.at, touch_at, touch };
}

#endif
