/* Lowering, third stage: the order of the steps.
 *
 * Tasks keep the graph's order but for three rules. An update of a state in place runs as soon as it may:
 * it ends the life of its gradient. A reduction joins the open bucket as soon as its input is made,
 * wherever its first reader stands. And what waits for a reduction is put off until the next bucket is on
 * its way, so that computing goes on beside the message (the bucketed, overlapped all-reduce of PyTorch
 * DDP, Li et al., VLDB 2020, here for any reduction). */
#include "program/lower.h"

enum { DEFAULT_BUCKET_BYTES = 16 << 20 };

typedef struct schedule {
    lowering *l;
    ints open;      /* reductions of the bucket being filled        */
    int64_t bytes;
    ints landing;   /* the bucket sent last; its readers still wait */
} schedule;

static void emit(schedule *s, int id);

static void release(schedule *s, int id)
{
    const ints *before = &s->l->tasks.at[id].before;
    for (int i = 0; i < before->n; i++) {
        task *t = &s->l->tasks.at[before->at[i]];
        if (--t->unmet == 0 && (t->eager || t->kind == TASK_REDUCE)) emit(s, before->at[i]);
    }
}

/* The bucket sent last is taken as landed, `next` takes its place. */
static void land(schedule *s, ints next)
{
    ints done = s->landing;
    s->landing = next; /* first: releasing may send another bucket */
    for (int i = 0; i < done.n; i++) release(s, done.at[i]);
}

static void flush(schedule *s)
{
    ints sent = s->open;
    slot x = { .tasks = sent };
    if (!sent.n) return;
    PL_PUSH(s->l->tmp, &s->l->order, x);
    s->open = (ints){ 0 };
    s->bytes = 0;
    land(s, sent);
}

static bool fits_bucket(const schedule *s, const task *t)
{
    if (!s->open.n) return true;
    const task *first = &s->l->tasks.at[s->open.at[0]];
    return first->step.axes == t->step.axes && first->step.type == t->step.type &&
           first->step.monoid == t->step.monoid;
}

static void emit(schedule *s, int id)
{
    task *t = &s->l->tasks.at[id];
    t->unmet = -1; /* done */
    if (t->kind == TASK_REDUCE) {
        while (!fits_bucket(s, t)) flush(s);
        PL_PUSH(s->l->tmp, &s->open, id);
        s->bytes += s->l->parts.at[t->in[0]].bytes;
        if (s->bytes >= s->l->options.bucket_bytes) flush(s);
        return;
    }
    slot x = { 0 };
    PL_PUSH(s->l->tmp, &x.tasks, id);
    PL_PUSH(s->l->tmp, &s->l->order, x);
    release(s, id);
}

void pl_lower_order(lowering *l)
{
    schedule s = { .l = l };
    int left = l->tasks.n, before = left + 1;
    if (!l->options.bucket_bytes) l->options.bucket_bytes = DEFAULT_BUCKET_BYTES;
    while (left) {
        PL_ASSERT_CMP(left, <, before); /* else tasks wait for each other in a circle */
        before = left, left = 0;
        for (int id = 0; id < l->tasks.n; id++) {
            if (l->tasks.at[id].unmet == 0) emit(&s, id);
            left += l->tasks.at[id].unmet > 0;
        }
        do {
            flush(&s);
            land(&s, (ints){ 0 });
        } while (s.open.n || s.landing.n);
    }
}
