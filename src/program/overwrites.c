/* Lowering, second stage: who waits for whom, and what has to be copied before it is lost.
 *
 * A task that overwrites a part (an update in place, a state's new contents copied home) comes
 * after everyone who reads the old contents. Who reads them and yet depends on that task (the
 * change that an update made; two states that swap) cannot come before it and gets a copy of the
 * old contents. */
#include "graph/op.h"
#include "program/lower.h"

typedef struct overwrites {
    lowering *l;
    int n_parts, n_tasks; /* before any copy is added                                  */
    ints *same;           /* [parts] parts with the contents of this one, by the first */
    int *copied;          /* [parts] the copy of its contents, or -1                   */
    bool *updates;        /* [tasks] a link in what a step leaves in a state           */
    bool *after;          /* [tasks] depends on the task in hand                       */
} overwrites;

static void order_after(lowering *l, int first, int then)
{
    if (first == then || first < 0) return;
    PL_PUSH(l->tmp, &l->tasks.at[first].before, then);
    l->tasks.at[then].unmet++;
}

static bool is_view(const task *t)
{
    return t->kind == TASK_NODE && t->step.share->node->op->view;
}

/* The part that first held the contents of p: views hold what they look at. */
static int contents_of(const lowering *l, int p)
{
    for (int t; (t = l->parts.at[p].maker) >= 0 && is_view(&l->tasks.at[t]);)
        p = l->tasks.at[t].in[0];
    return p;
}

/* The part that task t overwrites with its k-th output, or -1. */
static int victim_of(const lowering *l, int t, int k)
{
    const task *x = &l->tasks.at[t];
    int home = l->parts.at[x->out[k]].home;
    return is_view(x) || home == x->out[k] ? -1 : home;
}

/* -- copies ------------------------------------------------------------------------------------ */

static int add_copy(overwrites *o, int p)
{
    lowering *l = o->l;
    const int copy = pl_lower_copy(l, p, l->parts.at[p].value), last = l->parts.at[copy].maker;
    const int between = l->tasks.at[last].in[0]; /* p, or on the device what is copied back */
    if (between != p) order_after(l, l->parts.at[between].maker, last);
    order_after(l, l->parts.at[p].maker, between != p ? l->parts.at[between].maker : last);
    return copy;
}

static int copy_of(overwrites *o, int p)
{
    if (o->copied[p] < 0) o->copied[p] = add_copy(o, p);
    return o->copied[p];
}

static void drop_reader(part *p, int t)
{
    int n = 0;
    for (int i = 0; i < p->readers.n; i++)
        if (p->readers.at[i] != t) p->readers.at[n++] = p->readers.at[i];
    p->readers.n = n;
}

/* Input k of task t becomes a copy, one of its own if t overwrites it; `before` (or -1) comes after
 * the copying. */
static void read_copy(overwrites *o, int t, int k, int before)
{
    lowering *l = o->l;
    int p = l->tasks.at[t].in[k], taken = -1;
    for (int i = 0; i < l->tasks.at[t].n_out; i++)
        if (l->parts.at[l->tasks.at[t].out[i]].home == p) taken = l->tasks.at[t].out[i];
    int copy = taken >= 0 ? add_copy(o, p) : copy_of(o, p);
    if (taken >= 0) l->parts.at[taken].home = copy;
    l->tasks.at[t].in[k] = copy;
    drop_reader(&l->parts.at[p], t);
    PL_PUSH(l->tmp, &l->parts.at[copy].readers, t);
    order_after(l, l->parts.at[copy].maker, t);
    if (before >= 0) order_after(l, l->parts.at[copy].maker, before);
}

/* -- states ------------------------------------------------------------------------------------ */

/* The chain of updates that ends in what the step leaves in a state, backwards. */
static void mark_updates(overwrites *o, int p)
{
    lowering *l = o->l;
    int victim = p;
    while (victim >= 0) {
        int t = l->parts.at[contents_of(l, victim)].maker;
        p = contents_of(l, victim);
        victim = -1;
        if (t < 0) return;
        for (int k = 0; k < l->tasks.at[t].n_out; k++)
            if (l->tasks.at[t].out[k] == p) victim = victim_of(l, t, k);
        o->updates[t] |= victim >= 0;
    }
}

/* A task that overwrites a state with anything else works on a copy of it. */
static void spare_state(overwrites *o, int t)
{
    lowering *l = o->l;
    for (int k = 0; k < l->tasks.at[t].n_out; k++) {
        int victim = victim_of(l, t, k);
        if (victim < 0 || l->parts.at[pl_lower_home(l, victim)].port < 0 || o->updates[t]) continue;
        for (int i = 0; i < l->tasks.at[t].n_in; i++)
            if (l->tasks.at[t].in[i] == victim) read_copy(o, t, i, -1);
    }
}

/* -- readers ----------------------------------------------------------------------------------- */

static void mark_after(overwrites *o, int t)
{
    lowering *l = o->l;
    ints todo = { 0 };
    for (int i = 0; i < l->tasks.n; i++) o->after[i] = false;
    PL_PUSH(l->tmp, &todo, t);
    while (todo.n) {
        const ints *before = &l->tasks.at[todo.at[--todo.n]].before;
        for (int i = 0; i < before->n; i++) {
            if (o->after[before->at[i]]) continue;
            o->after[before->at[i]] = true;
            PL_PUSH(l->tmp, &todo, before->at[i]);
        }
    }
}

/* Every reader of part p comes before task t, which overwrites its contents. */
static void keep_readers(overwrites *o, int p, int t, int victim)
{
    lowering *l = o->l;
    ints readers = { 0 };
    for (int i = 0; i < l->parts.at[p].readers.n; i++)
        PL_PUSH(l->tmp, &readers, l->parts.at[p].readers.at[i]);
    for (int i = 0; i < readers.n; i++) {
        int r = readers.at[i];
        if (is_view(&l->tasks.at[r]) || (r == t && p == victim)) continue;
        if (r != t && !o->after[r]) {
            order_after(l, r, t);
            continue;
        }
        for (int k = 0; k < l->tasks.at[r].n_in; k++)
            if (l->tasks.at[r].in[k] == p) read_copy(o, r, k, t);
    }
    for (int i = 0; i < l->plan->graph->outputs.n; i++) { /* the outside reads when all is done */
        if (l->output[i] != p) continue;
        l->output[i] = copy_of(o, p);
        order_after(l, l->parts.at[l->output[i]].maker, t);
    }
}

static void keep_contents(overwrites *o, int t)
{
    lowering *l = o->l;
    bool marked = false;
    for (int k = 0; k < l->tasks.at[t].n_out; k++) {
        int victim = victim_of(l, t, k);
        if (victim < 0 || victim >= o->n_parts) continue; /* its own copy has no other reader */
        const ints *same = &o->same[contents_of(l, victim)];
        if (!marked) mark_after(o, t);
        marked = true;
        for (int i = 0; i < same->n; i++) keep_readers(o, same->at[i], t, victim);
    }
}

void pl_lower_overwrites(lowering *l)
{
    overwrites o = { .l = l, .n_parts = l->parts.n, .n_tasks = l->tasks.n };
    o.same = PL_NEW_N(l->tmp, ints, o.n_parts + 1);
    o.copied = PL_NEW_N(l->tmp, int, o.n_parts + 1);
    o.updates = PL_NEW_N(l->tmp, bool, o.n_tasks + 1);
    o.after =
        PL_NEW_N(l->tmp, bool, o.n_tasks + 4 * o.n_parts + 1); /* copies: to read, to overwrite;
                                                                  each of two tasks at most */
    for (int p = 0; p < o.n_parts; p++) {
        o.copied[p] = -1;
        PL_PUSH(l->tmp, &o.same[contents_of(l, p)], p);
    }
    for (int i = 0; i < l->plan->graph->values.n; i++)
        if (pl_lower_changes(l, l->plan->graph->values.at[i])) mark_updates(&o, l->final[i]);
    for (int t = 0; t < o.n_tasks; t++)
        for (int k = 0; k < l->tasks.at[t].n_in; k++)
            order_after(l, l->parts.at[l->tasks.at[t].in[k]].maker, t);
    for (int t = 0; t < o.n_tasks; t++) spare_state(&o, t);
    for (int t = 0; t < o.n_tasks; t++) keep_contents(&o, t);
}
