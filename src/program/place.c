/* Lowering, last stage: which parts share memory, how long each piece lives, where it lies. */
#include "graph/op.h"
#include "arena/offsets.h"
#include "program/lower.h"

#include <string.h>

typedef struct places {
    lowering *l;
    int n_order;
    int *last;    /* [parts] by home: the last position that touches it               */
    int *first;   /* [parts] by home: the position that makes it                      */
    int *bucket;  /* [parts] by home: the bucket it lies in, or -1                    */
    int *made;    /* [tasks] its position                                                 */
    int *wait;    /* [order] messages that must be finished before this position      */
    int *used;    /* [parts] by home: messages up to the last one so far that uses it */
    int *message; /* [order] the number of its (last) message, or -1                  */
    int *begins;  /* [passes] of a plan in stages: the position at which a pass begins    */
    int *done;    /* [order + 1] compute steps before this position                       */
    int *sent;    /* [n_messages] of the first so many those that this rank has: a shift may lack
                     its send or receive, but lives are the same on all ranks         */
    int n_messages;
    struct {
        int n, cap;
        int64_t *at;
    } buckets;            /* bytes of each                        */
    int *buf;             /* [parts] by home: index of its buffer                             */
    pl_offsets layout[2]; /* of the device's memory, of the host's                 */
    int most_steps;       /* that there is room for                                           */
} places;

bool pl_lower_is_message(const task *t)
{
    return t->kind == TASK_REDUCE || t->kind == TASK_MESSAGE || t->kind == TASK_SHIFT ||
           t->kind == TASK_STAGE || t->on_host;
}

bool pl_lower_is_fetch(const task *t)
{
    return t->kind == TASK_MESSAGE && t->step.collective == PL_FROM_HOST;
}

bool pl_lower_is_store(const task *t)
{
    return t->kind == TASK_MESSAGE && t->step.collective == PL_TO_HOST;
}

/* -- life -------------------------------------------------------------------------------------- */

static void touch(places *s, int p, int pos)
{
    int h = pl_lower_home(s->l, p);
    if (pos > s->last[h]) s->last[h] = pos;
    if (pos < s->first[h]) s->first[h] = pos;
}

/* The first position of each pass, or of a later one. */
static void find_begins(places *s)
{
    const lowering *l = s->l;
    for (int k = 0; k < l->stage.n_passes; k++) s->begins[k] = l->order.n;
    for (int pos = 0, seen = -1; pos < l->order.n; pos++)
        for (const int pass = l->tasks.at[l->order.at[pos].tasks.at[0]].pass; seen < pass;)
            s->begins[++seen] = pos;
}

static bool is_receive(const task *t)
{
    return t->kind == TASK_STAGE && t->n_out;
}

static void find_lives(places *s)
{
    lowering *l = s->l;
    if (l->plan->stages) find_begins(s);
    for (int p = 0; p < l->parts.n; p++) {
        s->first[p] = s->n_order;
        s->last[p] = s->bucket[p] = -1;
    }
    for (int pos = 0; pos < l->order.n; pos++)
        for (int i = 0; i < l->order.at[pos].tasks.n; i++) {
            const task *t = &l->tasks.at[l->order.at[pos].tasks.at[i]];
            for (int k = 0; k < t->n_in; k++) touch(s, t->in[k], pos);
            for (int k = 0; k < t->n_out; k++) touch(s, t->out[k], pos);
            if (is_receive(t)) touch(s, t->out[0], s->begins[t->asked_for]);
        }
    for (int p = 0; p < l->parts.n; p++)
        if (l->parts.at[p].maker < 0) touch(s, p, 0); /* inputs are filled before the step */
    for (int i = 0; i < l->plan->graph->outputs.n; i++) touch(s, l->output[i], s->n_order);
}

/* -- messages ---------------------------------------------------------------------------------- */

/* May the reduction at pos write over what it reads: nobody needs it later, it is all of its
 * memory. */
static bool reduces_in_place(const places *s, const task *t, int pos)
{
    const part *in = &s->l->parts.at[t->in[0]];
    int h = pl_lower_home(s->l, t->in[0]);
    return t->kind == TASK_REDUCE && s->last[h] == pos && s->l->parts.at[h].port < 0 &&
           s->l->parts.at[h].maker >= 0 && s->bucket[h] < 0 && in->bytes == s->l->parts.at[h].bytes;
}

static void join(places *s, int from, int into)
{
    s->l->parts.at[from].home = into;
    if (s->last[from] > s->last[into]) s->last[into] = s->last[from];
}

/* May it be one of several in a bucket? What another reduction left may lie in a bucket already. */
static bool can_join(const places *s, const slot *x, int i, int pos)
{
    const lowering *l = s->l;
    const task *t = &l->tasks.at[x->tasks.at[i]];
    int h = pl_lower_home(l, t->in[0]), maker = l->parts.at[h].maker;
    if (x->tasks.n == 1 || !reduces_in_place(s, t, pos)) return false;
    if (maker >= 0 && l->tasks.at[maker].kind == TASK_REDUCE) return false;
    for (int k = 0; k < x->tasks.n; k++)
        if (k != i && pl_lower_home(l, l->tasks.at[x->tasks.at[k]].in[0]) == h) return false;
    return true;
}

/* Reductions that cannot be done in place leave their bucket: each becomes a message of its own. */
static void split_buckets(places *s)
{
    lowering *l = s->l;
    struct {
        int n, cap;
        slot *at;
    } order = { 0 };
    for (int pos = 0; pos < l->order.n; pos++) {
        slot together = { 0 }, *x = &l->order.at[pos];
        for (int i = 0; i < x->tasks.n; i++) {
            slot alone = { 0 };
            bool joins = can_join(s, x, i, pos);
            PL_PUSH(l->tmp, joins ? &together.tasks : &alone.tasks, x->tasks.at[i]);
            if (!joins) PL_PUSH(l->tmp, &order, alone);
        }
        if (together.tasks.n) PL_PUSH(l->tmp, &order, together);
    }
    l->order.n = order.n, l->order.cap = order.cap, l->order.at = order.at;
}

static void join_reductions(places *s)
{
    lowering *l = s->l;
    for (int pos = 0; pos < l->order.n; pos++) {
        const ints *tasks = &l->order.at[pos].tasks;
        int64_t bytes = 0;
        for (int i = 0; i < tasks->n; i++) {
            const task *t = &l->tasks.at[tasks->at[i]];
            if (!reduces_in_place(s, t, pos)) continue;
            int h = pl_lower_home(l, t->in[0]);
            join(s, pl_lower_home(l, t->out[0]), h);
            if (tasks->n == 1) continue;
            s->bucket[h] = s->buckets.n;
            l->parts.at[h].at = bytes;
            bytes += l->parts.at[h].bytes;
        }
        if (bytes) PL_PUSH(l->tmp, &s->buckets, bytes);
    }
}

static void wait_for(places *s, int pos, int messages)
{
    if (messages > s->wait[pos]) s->wait[pos] = messages;
}

/* What a task waits for: messages that make its inputs or use memory that it takes over. */
static void find_task_waits(places *s, int pos, const task *t, const int *made)
{
    lowering *l = s->l;
    int m = s->message[pos];
    for (int k = 0; k < t->n_in; k++) {
        int maker = l->parts.at[t->in[k]].maker;
        if (maker >= 0) wait_for(s, pos, s->message[made[maker]] + 1);
    }
    for (int k = 0; k < t->n_out; k++) wait_for(s, pos, s->used[pl_lower_home(l, t->out[k])]);
    if (m < 0) return;
    for (int k = 0; k < t->n_in; k++) s->used[pl_lower_home(l, t->in[k])] = m + 1;
    for (int k = 0; k < t->n_out; k++) s->used[pl_lower_home(l, t->out[k])] = m + 1;
}

static bool is_once(const places *s, int pos)
{
    return s->l->tasks.at[s->l->order.at[pos].tasks.at[0]].once;
}

/* Is it a compute step that waits for the message at `pos`, in all micro-batches that have that? */
static bool waits_for(const places *s, int end, int pos)
{
    return s->message[end] < 0 && s->wait[end] > s->message[pos] &&
           (is_once(s, pos) || !is_once(s, end));
}

/* A message is known to be finished where the first compute step waits for it (or for a later one).
 * Until then its memory must stay. */
static void extend_lives(places *s)
{
    lowering *l = s->l;
    for (int pos = 0; pos < l->order.n; pos++) {
        if (s->message[pos] < 0) continue;
        int end = pos + 1;
        while (end < l->order.n && !waits_for(s, end, pos)) end++;
        for (int i = 0; i < l->order.at[pos].tasks.n; i++) {
            const task *t = &l->tasks.at[l->order.at[pos].tasks.at[i]];
            for (int k = 0; k < t->n_in; k++) touch(s, t->in[k], end);
            for (int k = 0; k < t->n_out; k++) touch(s, t->out[k], end);
        }
    }
}

/* Computing waits for the oldest copies to the host when so many bytes are under way that more
 * would be too much of the device's memory, the last one's apart. */
static void bound_stores(places *s)
{
    lowering *l = s->l;
    const int64_t limit = pl_lower_ahead(l);
    ints open = { 0 }; /* positions, of which those before `from` are waited for */
    int64_t sum = 0;
    int from = 0;
    for (int pos = 0; pos < l->order.n; pos++) {
        const task *t = &l->tasks.at[l->order.at[pos].tasks.at[0]];
        if (pl_lower_is_store(t)) {
            PL_PUSH(l->tmp, &open, pos);
            sum += l->parts.at[t->out[0]].bytes;
        }
        if (s->message[pos] >= 0) continue;
        for (; from < open.n - 1 && sum > limit; from++) {
            const task *x = &l->tasks.at[l->order.at[open.at[from]].tasks.at[0]];
            wait_for(s, pos, s->message[open.at[from]] + 1);
            sum -= l->parts.at[x->out[0]].bytes;
        }
    }
}

static void find_waits(places *s)
{
    lowering *l = s->l;
    int *made = s->made = PL_NEW_N(l->tmp, int, l->tasks.n + 1);
    for (int pos = 0; pos < l->order.n; pos++) {
        const ints *tasks = &l->order.at[pos].tasks;
        const task *t = &l->tasks.at[tasks->at[0]];
        s->n_messages +=
            pl_lower_is_message(t) + (t->kind == TASK_SHIFT); /* a send and a receive */
        s->message[pos] = pl_lower_is_message(t) ? s->n_messages - 1 : -1;
        for (int i = 0; i < tasks->n; i++) made[tasks->at[i]] = pos;
    }
    for (int pos = 0; pos < l->order.n; pos++) {
        const ints *tasks = &l->order.at[pos].tasks;
        for (int i = 0; i < tasks->n; i++)
            find_task_waits(s, pos, &l->tasks.at[tasks->at[i]], made);
    }
    bound_stores(s);
    extend_lives(s);
}

/* -- elementwise steps in place ---------------------------------------------------------------- */

bool pl_lower_lies_over(const lowering *l, const task *t, int k)
{
    if (t->kind != TASK_NODE || t->on_host || t->step.piece ||
        !t->step.share->node->op->elementwise || l->options.apart)
        return false;
    const part *in = &l->parts.at[t->in[k]], *out = &l->parts.at[t->out[0]];
    int h = pl_lower_home(l, t->in[k]);
    pl_shape a = pl_placement_local(&in->where, &l->plan->mesh, &in->value->shape, 0);
    pl_shape b = pl_placement_local(&out->where, &l->plan->mesh, &out->value->shape, 0);
    if (l->parts.at[h].port >= 0 || l->parts.at[h].maker < 0) return false;
    if (in->value->type != out->value->type || !pl_shape_same(&a, &b)) return false;
    for (int i = 0; i < t->n_in; i++) /* the same memory may not be read in another shape */
        if (t->in[i] != t->in[k] && pl_lower_home(l, t->in[i]) == h) return false;
    return pl_share_same_index(t->step.share->node, k, t->n_in);
}

/* Nobody needs input k later. */
static bool can_overwrite(const places *s, const task *t, int k, int pos)
{
    const int h = pl_lower_home(s->l, t->in[k]);
    return s->last[h] == pos && s->bucket[h] < 0 && pl_lower_lies_over(s->l, t, k);
}

static void join_elementwise(places *s)
{
    lowering *l = s->l;
    for (int pos = 0; pos < l->order.n; pos++) {
        const task *t = &l->tasks.at[l->order.at[pos].tasks.at[0]];
        int out = pl_lower_home(l, t->out[0]);
        if (s->bucket[out] >= 0 || out != t->out[0]) continue;
        for (int k = 0; k < t->n_in; k++)
            if (can_overwrite(s, t, k, pos)) {
                join(s, out, pl_lower_home(l, t->in[k]));
                break;
            }
    }
}

/* -- offsets ----------------------------------------------------------------------------------- */

/* The buffers of the device's memory, or of the host's: those of buckets first. */
static int list_buffers(places *s, bool host, pl_buf buf[])
{
    const lowering *l = s->l;
    int n = host ? 0 : s->buckets.n;
    for (int b = 0; b < n; b++) buf[b] = (pl_buf){ s->n_order, 0, s->buckets.at[b], NULL };
    for (int i = 0; i < l->parts.n; i++) {
        const part *x = &l->parts.at[i];
        if (x->home != i || x->port >= 0 || x->where.host != host) continue;
        int b = s->buf[i] = s->bucket[i] >= 0 ? s->bucket[i] : n++;
        pl_buf life = { s->first[i], s->last[i] + 1, x->bytes, NULL };
        if (s->bucket[i] < 0) {
            buf[b] = life;
            continue;
        }
        if (life.birth < buf[b].birth) buf[b].birth = life.birth;
        if (life.death > buf[b].death) buf[b].death = life.death;
    }
    return n;
}

static bool lay_out(places *s, bool host, pl_program *p, pl_err *err)
{
    lowering *l = s->l;
    pl_buf *buf = PL_NEW_N(l->tmp, pl_buf, l->parts.n + s->buckets.n + 1);
    const int n = list_buffers(s, host, buf);
    if (l->options.lives && !host) {
        p->n_lives = n;
        pl_buf *life = PL_NEW_N(l->out, pl_buf, n + 1);
        memcpy(life, buf, (size_t)n * sizeof *buf);
        p->life = life;
    }
    if (l->options.no_reuse)
        for (int b = 0; b < n; b++) buf[b].birth = 0, buf[b].death = s->n_order + 1;
    int64_t limit = l->options.work_limit && !host ? l->options.work_limit : INT64_MAX / 4;
    pl_offsets *layout = &s->layout[host];
    PL_TRY(pl_offsets_place(n, buf, PL_WORK_ALIGN, limit, l->options.slack, l->tmp, layout, err));
    return pl_offsets_check(n, buf, PL_WORK_ALIGN, limit, layout, err);
}

static pl_slot slot_of(const places *s, int p)
{
    const lowering *l = s->l;
    int h = pl_lower_home(l, p);
    const part *x = &l->parts.at[h];
    const bool host = x->where.host;
    if (x->port >= 0) return l->store->state[x->port].slot;
    return (pl_slot){ .host = host, .at = s->layout[host].offset[s->buf[h]] + x->at };
}

/* -- steps ------------------------------------------------------------------------------------- */

static pl_step *add_step(const places *s, pl_program *p, const task *t, pl_step_kind kind, int pos)
{
    PL_ASSERT_CMP(p->n_steps, <, s->most_steps);
    pl_step *x = &p->step[p->n_steps++];
    *x = t->step;
    x->kind = kind;
    x->once = t->once;
    x->pass = t->pass;
    x->wait = s->sent[s->wait[pos]];
    x->n_in = x->n_out = 0;
    return x;
}

static void add_in(const places *s, pl_step *x, const task *t, int k)
{
    x->in[x->n_in] = slot_of(s, t->in[k]);
    x->in[x->n_in++].at += t->in_at[k];
}

static void add_out(const places *s, pl_step *x, const task *t, int k)
{
    x->out[x->n_out] = slot_of(s, t->out[k]);
    x->out[x->n_out++].at += t->out_at;
}

static pl_step *add_message(const places *s, pl_program *p, const task *t, int pos)
{
    pl_step *x = add_step(s, p, t, PL_MESSAGE, pos);
    x->after = p->n_compute;
    p->n_messages++;
    return x;
}

static void add_shift(const places *s, pl_program *p, const task *t, int pos)
{
    if (t->to >= 0) {
        pl_step *x = add_message(s, p, t, pos);
        x->collective = PL_SEND;
        x->peer = t->to;
        x->bytes = 0;
        add_in(s, x, t, 0);
    }
    if (t->step.peer < 0) return;
    pl_step *x = add_message(s, p, t, pos);
    x->collective = PL_RECV;
    x->count = t->gets;
    p->message_bytes += x->bytes;
    add_out(s, x, t, 0);
}

/* A send starts when what it sends is made, a receive with the pass that asks for it. */
static void add_stage(const places *s, pl_program *p, const task *t, int pos)
{
    const lowering *l = s->l;
    pl_step *x = add_message(s, p, t, pos);
    if (t->n_in) {
        const int maker = l->parts.at[t->in[0]].maker;
        x->after = maker < 0 ? 0 : s->done[s->made[maker] + 1];
        add_in(s, x, t, 0);
    } else {
        const int begins = s->begins[t->asked_for];
        x->after = s->done[begins < pos ? begins : pos];
        add_out(s, x, t, 0);
        p->message_bytes += x->bytes;
    }
}

static const pl_value *const *list_values(const lowering *l, const ints *tasks)
{
    const pl_value **value = PL_NEW_N(l->out, const pl_value *, tasks->n);
    for (int i = 0; i < tasks->n; i++) value[i] = l->tasks.at[tasks->at[i]].step.transfer->value;
    return value;
}

static const int64_t *list_counts(const lowering *l, const ints *tasks)
{
    int64_t *count = PL_NEW_N(l->out, int64_t, tasks->n);
    for (int i = 0; i < tasks->n; i++) count[i] = l->tasks.at[tasks->at[i]].step.count;
    return count;
}

/* The messages of one position: the reductions of a bucket, or one. */
static void add_messages(const places *s, pl_program *p, const ints *tasks, int pos)
{
    const lowering *l = s->l;
    const task *t = &l->tasks.at[tasks->at[0]];
    pl_step *x = add_message(s, p, t, pos);
    add_in(s, x, t, 0);
    add_out(s, x, t, 0);
    for (int i = 1; i < tasks->n; i++) x->count += l->tasks.at[tasks->at[i]].step.count;
    if (tasks->n > 1) {
        int n, me;
        n = pl_move_group(&l->plan->mesh, l->rank, x->axes, &me);
        x->bytes = pl_move_volume(PL_ALL_REDUCE, n, x->count, pl_type_bytes(x->type));
        x->label = pl_arena_fmt(l->out, "%s (and %d more)", t->step.label, tasks->n - 1);
        x->n_bucket = tasks->n;
        x->bucket = list_values(l, tasks);
        x->bucket_count = list_counts(l, tasks);
        x->transfer = NULL;
    }
    if (!pl_step_is_host(x)) p->message_bytes += x->bytes;
}

static bool is_empty(const pl_share *share)
{
    for (int f = 0; f < share->node->sig->n_factors; f++)
        if (share->factor[f].n == 0) return true;
    return false;
}

/* A rank without a share of the node has nothing of what it makes either. */
static void add_host_kernel(const places *s, pl_program *p, const task *t, int pos)
{
    if (is_empty(t->step.share)) return;
    pl_step *x = add_message(s, p, t, pos);
    x->kind = PL_HOST_KERNEL;
    for (int k = 0; k < t->n_in; k++) add_in(s, x, t, k);
    for (int k = 0; k < t->n_out; k++) add_out(s, x, t, k);
}

static void add_fill(const places *s, pl_program *p, const task *t, int k, int pos)
{
    const part *out = &s->l->parts.at[t->out[k]];
    pl_step *x = add_step(s, p, t, PL_FILL, pos);
    add_out(s, x, t, k);
    x->share = NULL;
    x->type = out->value->type;
    x->monoid = out->where.pending ? out->where.monoid : PL_SUM;
    x->count = out->bytes / pl_type_bytes(x->type);
    p->n_compute++;
}

/* A rank without a share of a node has nothing to compute, and nothing to add to its sums. */
static void add_empty(const places *s, pl_program *p, const task *t, int pos)
{
    for (int k = 0; k < t->n_out; k++)
        if (pl_shape_count(pl_share_out(t->step.share, k)) &&
            s->l->parts.at[t->out[k]].home == t->out[k])
            add_fill(s, p, t, k, pos);
}

static void add_kernel(const places *s, pl_program *p, const task *t, int pos)
{
    if (is_empty(t->step.share)) {
        add_empty(s, p, t, pos);
        return;
    }
    pl_step *x = add_step(s, p, t, PL_KERNEL, pos);
    for (int k = 0; k < x->share->node->n_in; k++) add_in(s, x, t, k);
    for (int k = 0; k < t->n_out; k++) add_out(s, x, t, k);
    p->n_compute++;
    p->flops += pl_op_flops(x->share);
}

static void add_copy(const places *s, pl_program *p, const task *t, int pos)
{
    if (t->clear) add_fill(s, p, t, 0, pos);
    if (!t->step.n_copies) return;
    pl_step *x = add_step(s, p, t, PL_COPY, pos);
    add_in(s, x, t, 0);
    add_out(s, x, t, 0);
    p->n_compute++;
}

static void add_fold(const places *s, pl_program *p, const task *t, int pos)
{
    pl_step *x = add_step(s, p, t, PL_FOLD, pos);
    add_in(s, x, t, 0);
    add_out(s, x, t, 0);
    p->n_compute++;
}

/* One step for each input that this rank has something of. */
static void add_pieces(const places *s, pl_program *p, const task *t, int pos)
{
    for (int k = 0; k < t->n_in; k++) {
        if (!t->step.copy[k].bytes) continue;
        pl_step *x = add_step(s, p, t, PL_COPY, pos);
        x->transfer = t->piece[k];
        if (k) x->from = PL_INCOMING;
        x->n_copies = 1;
        x->copy = &t->step.copy[k];
        add_in(s, x, t, k);
        add_out(s, x, t, 0);
        p->n_compute++;
    }
}

/* Of a task, at most: few have more than one. */
static int most_steps(const task *t)
{
    switch (t->kind) {
    case TASK_NODE: return t->n_out > 1 ? t->n_out : 1;
    case TASK_COPY: return t->piece[0] ? t->n_in : 2;
    case TASK_SHIFT: return 2;
    default: return 1;
    }
}

static void make_steps(places *s, pl_program *p)
{
    lowering *l = s->l;
    int waited[2] = { 0 }, carried[2] = { 0 }; /* in all micro-batches; once */
    for (int pos = 0; pos < l->order.n; pos++)
        s->most_steps += most_steps(&l->tasks.at[l->order.at[pos].tasks.at[0]]);
    p->step = PL_NEW_N(l->out, pl_step, s->most_steps + 1);
    for (int pos = 0; pos < l->order.n; pos++) {
        const ints *tasks = &l->order.at[pos].tasks;
        const task *t = &l->tasks.at[tasks->at[0]];
        const int once = t->once;
        s->done[pos] = p->n_compute;
        if (pl_lower_is_message(t)) {
            if (s->wait[pos] < carried[once]) s->wait[pos] = carried[once];
            if (t->on_host)
                add_host_kernel(s, p, t, pos);
            else if (t->kind == TASK_SHIFT)
                add_shift(s, p, t, pos);
            else if (t->kind == TASK_STAGE)
                add_stage(s, p, t, pos);
            else
                add_messages(s, p, tasks, pos);
            s->sent[s->message[pos] + 1] = p->n_messages;
            s->done[pos + 1] = p->n_compute;
            continue;
        }
        for (int k = once; k < 2; k++)
            if (s->wait[pos] > waited[k]) waited[k] = s->wait[pos];
        s->wait[pos] = waited[once];
        int before = p->n_compute;
        if (t->kind == TASK_NODE) add_kernel(s, p, t, pos);
        if (t->kind == TASK_COPY && t->piece[0]) add_pieces(s, p, t, pos);
        if (t->kind == TASK_COPY && !t->piece[0]) add_copy(s, p, t, pos);
        if (t->kind == TASK_FILL) add_fill(s, p, t, 0, pos);
        if (t->kind == TASK_FOLD) add_fold(s, p, t, pos);
        s->done[pos + 1] = p->n_compute;
        for (int k = once; k < 2; k++) /* nothing to do here: the next one waits */
            carried[k] = p->n_compute == before ? waited[k] : 0;
    }
}

static pl_port make_port(const places *s, const pl_value *v, int p)
{
    const lowering *l = s->l;
    pl_port x = { .value = v,
                  .where = l->parts.at[p].where,
                  .slot = slot_of(s, p),
                  .bytes = l->parts.at[p].bytes };
    x.shape = pl_placement_local(&x.where, &l->plan->mesh, &v->shape, l->rank);
    x.region = pl_region_new(&x.where, &l->plan->mesh, &v->shape, l->rank, l->out);
    return x;
}

static void make_ports(const places *s, pl_program *p)
{
    const pl_graph *g = s->l->plan->graph;
    int n = 0;
    for (int i = 0; i < g->values.n; i++) n += g->values.at[i]->role == PL_INPUT;
    p->input = PL_NEW_N(s->l->out, pl_port, n + 1);
    p->output = PL_NEW_N(s->l->out, pl_port, g->outputs.n + 1);
    for (int i = 0; i < g->values.n; i++)
        if (g->values.at[i]->role == PL_INPUT && s->l->of_value[i].n)
            p->input[p->n_inputs++] = make_port(s, g->values.at[i], s->l->of_value[i].at[0]);
    for (int i = 0; i < g->outputs.n; i++)
        p->output[p->n_outputs++] = make_port(s, g->outputs.at[i], s->l->output[i]);
}

bool pl_lower_places(lowering *l, pl_program *p, pl_err *err)
{
    places s = { .l = l };
    int n = l->parts.n + 1;
    s.last = PL_NEW_N(l->tmp, int, n);
    s.first = PL_NEW_N(l->tmp, int, n);
    s.bucket = PL_NEW_N(l->tmp, int, n);
    s.buf = PL_NEW_N(l->tmp, int, n);
    s.n_order = l->order.n;
    s.begins = PL_NEW_N(l->tmp, int, l->stage.n_passes + 1);
    find_lives(&s);
    split_buckets(&s);
    s.n_order = l->order.n; /* splitting may have added positions */
    s.wait = PL_NEW_N(l->tmp, int, s.n_order + 1);
    s.message = PL_NEW_N(l->tmp, int, s.n_order + 1);
    s.done = PL_NEW_N(l->tmp, int, s.n_order + 1);
    s.used = PL_NEW_N(l->tmp, int, n);
    find_lives(&s);
    join_reductions(&s);
    find_waits(&s);
    s.sent = PL_NEW_N(l->tmp, int, s.n_messages + 1);
    if (!l->options.no_reuse) join_elementwise(&s);
    PL_TRY(lay_out(&s, false, p, err) && lay_out(&s, true, p, err));
    make_steps(&s, p);
    make_ports(&s, p);
    p->work_bytes = s.layout[false].height;
    p->work_bound = s.layout[false].bound;
    p->host_bytes = s.layout[true].height;
    return true;
}
