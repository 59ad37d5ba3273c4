/* Lowering, third stage: the order of the steps.
 *
 * Tasks keep the graph's order but for six rules. An update of a state in place, what makes a mere
 * scalar, and what leads to a message that combines (a reduction) run as soon as they may: they end
 * the life of a gradient. A task whose result is larger than the memory that it frees is put off to
 * its first reader. A reduction to all joins the open bucket as soon as its input is made, wherever
 * its first reader stands. What waits for a reduction and runs as soon as it may (an update) is put
 * off until the next one is on its way, so that computing goes on beside the message (the bucketed,
 * overlapped all-reduce of PyTorch DDP, Li et al., VLDB 2020, here for any reduction). So is what
 * collects gradients of rows, whose all-to-all starts as soon as they are made. And what only moves
 * a state (the gather of a sharded weight), comes from the host, or looks up what needs nothing
 * computed (early.c), starts before its reader's turn, as far ahead as a limit in bytes allows
 * (prefetch and rate limiter of FSDP, Zhao et al., VLDB 2023). Where that reader runs as soon as it
 * may, an update, what it needs of states that lie elsewhere is asked for as soon as it has all
 * else, and it runs when as much is on its way behind it; its own part of a state that lies here is
 * cut out right before. */
#include "program/lower.h"

#include <limits.h>
#include <stdlib.h>

enum { DEFAULT_BUCKET_BYTES = 16 << 20, SCALAR_BYTES = 8 };

typedef struct schedule {
    lowering *l;
    ints open; /* reductions of the bucket being filled        */
    int64_t bytes;
    ints landing;          /* the bucket sent last; its readers still wait */
    ints fetching;         /* tasks that have all but what is on its way from the host, */
    int64_t fetched_bytes; /* so many bytes; those before `ran` have run                */
    int ran;
} schedule;

int64_t pl_lower_ahead(lowering *l)
{
    enum { FEW = 2 }; /* of a small model's tensors the usual limit would hold all */
    if (l->options.ahead_bytes) return l->options.ahead_bytes;
    for (int p = 0; p < l->parts.n && !l->counted; p++)
        if (l->parts.at[p].where.host && l->parts.at[p].bytes > l->largest_hosted)
            l->largest_hosted = l->parts.at[p].bytes;
    l->counted = true;
    const int64_t few = FEW * l->largest_hosted;
    return few && few < PL_LOWER_AHEAD ? few : PL_LOWER_AHEAD;
}

/* -- the order asked for ----------------------------------------------------------------------- */

typedef struct wish {
    int id;
    double at; /* place among the ids */
} wish;

static bool combines(const task *t)
{
    return t->kind == TASK_REDUCE ||
           (t->kind == TASK_MESSAGE && t->step.collective == PL_REDUCE_SCATTER);
}

/* Is nothing that it reads read by anything else? */
static bool reads_last(const lowering *l, const task *t)
{
    for (int k = 0; k < t->n_in; k++)
        if (l->parts.at[t->in[k]].readers.n > 1) return false;
    return true;
}

/* Does it move a state, as the last of some moves from where that lies that lead to nothing else,
 * and wait for no more? */
static bool brings_state(const lowering *l, int id)
{
    for (bool alone = true; alone;) {
        const task *t = &l->tasks.at[id];
        if (t->kind == TASK_NODE || t->kind == TASK_STAGE || t->n_in != 1) return false;
        const part *from = &l->parts.at[t->in[0]];
        if (t->unmet != (from->maker >= 0)) return false;
        if (from->maker < 0) return from->port >= 0;
        id = from->maker;
        alone = from->readers.n == 1;
    }
    return false;
}

static bool is_exchange(const task *t)
{
    return t->kind == TASK_MESSAGE && t->step.collective == PL_ALL_TO_ALL;
}

/* Is it light, and of the backward pass? */
static bool collects(const task *t)
{
    return pl_lower_is_light(t) && t->step.share->node->phase != PL_FORWARD;
}

/* Does it exchange what the backward pass only has to collect, and take no more memory than it
 * frees? Then nothing is gained by waiting until it is collected. */
static bool is_free(const lowering *l, int id)
{
    const task *t = &l->tasks.at[id];
    if (!is_exchange(t)) return false;
    const part *from = &l->parts.at[t->in[0]], *to = &l->parts.at[t->out[0]];
    if (from->maker < 0 || from->readers.n != 1 || to->bytes > from->bytes) return false;
    while (to->readers.n == 1 && l->tasks.at[to->readers.at[0]].kind == TASK_COPY)
        to = &l->parts.at[l->tasks.at[to->readers.at[0]].out[0]];
    return to->readers.n == 1 && collects(&l->tasks.at[to->readers.at[0]]);
}

/* Does it collect what an exchange brings? */
static bool collects_exchange(const lowering *l, const task *t)
{
    bool reads = false;
    for (int k = 0; k < t->n_in; k++) {
        int maker = l->parts.at[t->in[k]].maker;
        while (maker >= 0 && l->tasks.at[maker].kind == TASK_COPY)
            maker = l->parts.at[l->tasks.at[maker].in[0]].maker;
        reads |= maker >= 0 && is_exchange(&l->tasks.at[maker]);
    }
    return reads && collects(t);
}

/* A move all of whose readers are prompt is so too: the packing of blocks for a scatter; and so is
 * what collects the gradients of rows that it brings. But what brings them a state would come first
 * of all, and lie there until they run: it is late. */
static void mark_prompt(lowering *l)
{
    for (int id = l->tasks.n - 1; id >= 0; id--) {
        task *t = &l->tasks.at[id];
        if (t->kind == TASK_STAGE) continue;
        const ints *readers = &l->parts.at[t->out[0]].readers;
        int64_t bytes = 0;
        for (int k = 0; k < t->n_out; k++) bytes += l->parts.at[t->out[k]].bytes;
        t->prompt = t->eager || combines(t) || is_free(l, id) ||
                    (t->kind == TASK_NODE && bytes <= SCALAR_BYTES && reads_last(l, t));
        bool leads =
            readers->n && (t->kind != TASK_NODE || (t->n_out == 1 && collects_exchange(l, t)));
        for (int i = 0; i < readers->n; i++)
            leads &= l->tasks.at[readers->at[i]].prompt || l->tasks.at[readers->at[i]].late;
        t->late = leads && t->kind != TASK_NODE && !t->prompt && brings_state(l, id);
        t->prompt |= leads && !t->late;
        for (int i = 0; i < readers->n && t->late; i++) l->tasks.at[readers->at[i]].n_late++;
    }
}

/* Bytes that come into being with a task, less those that nobody reads after its first reader
 * (where *first stands), which waiting would keep; < 0 for a task that has to stay where it is. */
static int64_t put_off_gain(const lowering *l, int id, const double *place, double *first)
{
    const task *t = &l->tasks.at[id];
    int64_t gain = 0;
    *first = l->tasks.n;
    if (t->kind != TASK_NODE || t->prompt || t->step.piece || t->on_host) return -1;
    for (int k = 0; k < t->n_out; k++) {
        const part *p = &l->parts.at[t->out[k]];
        if (p->home != t->out[k]) return -1; /* a view, or a change in place */
        gain += p->bytes;
        for (int r = 0; r < p->readers.n; r++) {
            if (l->tasks.at[p->readers.at[r]].kind == TASK_STAGE) return -1; /* others wait */
            if (place[p->readers.at[r]] < *first) *first = place[p->readers.at[r]];
        }
    }
    for (int k = 0; k < t->n_in; k++) {
        const part *p = &l->parts.at[t->in[k]];
        bool last = l->parts.at[pl_lower_home(l, t->in[k])].port < 0;
        for (int r = 0; r < p->readers.n; r++) last &= place[p->readers.at[r]] < *first;
        if (last) gain -= p->bytes;
    }
    return gain;
}

/* Is it early, or does it only move a state about, or what comes from the host, or cast it? */
static bool moves_state(const lowering *l, int id)
{
    if (l->tasks.at[id].early) return true;
    for (; id >= 0; id = l->parts.at[l->tasks.at[id].in[0]].maker) {
        const task *t = &l->tasks.at[id];
        if (pl_lower_is_fetch(t)) return true;
        if (t->kind == TASK_STAGE) return false;
        bool casts = t->kind == TASK_NODE && pl_graph_state(t->step.share->node->out[0]);
        if ((t->kind == TASK_NODE && !casts) || t->kind == TASK_REDUCE || t->n_in != 1)
            return false;
        const part *p = &l->parts.at[t->in[0]];
        if (p->maker < 0) return p->port >= 0;
    }
    return false;
}

/* The first task that does something else with what a move leads to. */
static int first_use(const lowering *l, int id)
{
    const task *t = &l->tasks.at[id];
    int first = l->tasks.n;
    for (int k = 0; k < t->n_out; k++) {
        const ints *readers = &l->parts.at[t->out[k]].readers;
        for (int i = 0; i < readers->n; i++) {
            int r = readers->at[i], use = moves_state(l, r) ? first_use(l, r) : r;
            if (use < first) first = use;
        }
    }
    return first;
}

typedef struct ahead {
    double use; /* place of its reader */
    int64_t bytes;
} ahead;

/* A block of a gather in steps. */
static bool is_block(const task *t)
{
    return t->kind == TASK_MESSAGE && t->step.collective == PL_BROADCAST;
}

/* The place of what it moves that was kept for the backward pass, which stays where it is. */
static double find_kept_place(const lowering *l, const task *t, const wish *w, const double *kept)
{
    double place = t->keeps ? w->at : -1;
    for (int k = 0; k < t->n_in; k++) {
        const int maker = l->parts.at[t->in[k]].maker;
        if (maker >= 0 && kept[maker] > place) place = kept[maker];
    }
    return place;
}

/* Of a plan in stages: where the pass before the task's own begins. */
static double pass_before(const lowering *l, const task *t)
{
    return !l->plan->stages || !t->pass ? -1 : l->stage.first_task[t->pass - 1] - 0.5;
}

/* What moves a state stands just before its reader; its messages start when the reader of an
 * earlier one has its turn: the earliest one after which no more than the limit waits. Blocks stand
 * right already, beside the reader's work on the one before; the first of them may start ahead.
 * `early`: pl_lower_early. */
static void move_ahead(lowering *l, int early, wish *w)
{
    ahead *moved = PL_NEW_N(l->tmp, ahead, l->tasks.n + 1);
    double *kept = PL_NEW_N(l->tmp, double, l->tasks.n + 1); /* [tasks] */
    int64_t limit = pl_lower_ahead(l), sum = 0;
    double last = l->tasks.n; /* where the last message starts; the host casts the next one then */
    int n = 0, from = 0;      /* moved[from, n) wait for their readers */
    for (int id = 0; id < l->tasks.n; id++) {
        const task *t = &l->tasks.at[id];
        const bool moves = moves_state(l, id);
        kept[id] = moves || t->keeps ? find_kept_place(l, t, &w[id], kept) : -1;
        bool stays = t->prompt || t->keeps || t->late || (is_block(t) && t->step.peer) || !moves;
        int use = stays ? l->tasks.n : first_use(l, id);
        if (use == l->tasks.n) continue;
        if (!is_block(t)) w[id].at = w[use].at - 0.25; /* equal places: in the order of ids */
        if (t->on_host && last < w[id].at) w[id].at = last;
        if (limit < 0 || t->kind != TASK_MESSAGE) continue;
        moved[n++] = (ahead){ w[use].at, l->parts.at[t->out[0]].bytes };
        sum += moved[n - 1].bytes;
        while (from < n - 1 && sum > limit) sum -= moved[from++].bytes;
        double start = from ? moved[from - 1].use - 0.25 : -1;
        if (start < kept[id]) start = kept[id];
        if (t->early && start < early - 0.5) start = early - 0.5;
        if (start < pass_before(l, t)) start = pass_before(l, t);
        if (start < w[id].at) w[id].at = start;
        last = w[id].at;
    }
    for (int id = l->tasks.n - 1; id >= 0; id--) { /* nor may a move come before what it moves */
        const task *t = &l->tasks.at[id];
        if (t->prompt || t->keeps || t->late || !moves_state(l, id)) continue;
        for (int i = 0; i < t->before.n; i++)
            if (w[t->before.at[i]].at < w[id].at) w[id].at = w[t->before.at[i]].at;
    }
}

static int by_place(const void *a, const void *b)
{
    const wish *x = a, *y = b;
    if (x->at != y->at) return x->at < y->at ? -1 : 1;
    return (x->id > y->id) - (x->id < y->id);
}

static const wish *make_wishes(lowering *l, int early)
{
    wish *w = PL_NEW_N(l->tmp, wish, l->tasks.n + 1);
    double *place = PL_NEW_N(l->tmp, double, l->tasks.n + 1), first;
    for (int id = 0; id < l->tasks.n;
         id++) { /* what runs promptly stands after all that it waits for */
        const task *t = &l->tasks.at[id];
        if (t->late) continue;
        if (!t->prompt) place[id] = id;
        for (int i = 0; i < t->before.n; i++)
            if (place[id] > place[t->before.at[i]]) place[t->before.at[i]] = place[id];
    }
    for (int id = 0; id < l->tasks.n; id++) {
        w[id] = (wish){ id, l->tasks.at[id].prompt ? place[id] : id };
        if (put_off_gain(l, id, place, &first) > 0 && first > id + 1) w[id].at = first - 0.5;
    }
    move_ahead(l, early, w);
    qsort(w, (size_t)l->tasks.n, sizeof *w, by_place);
    return w;
}

/* -- the order made ---------------------------------------------------------------------------- */

static void emit(schedule *s, int id);

/* -- states brought for updates -- */

/* Is it late, and a message, or made of one that is? */
static bool is_under_way(const lowering *l, int id)
{
    for (; id >= 0 && l->tasks.at[id].late; id = l->parts.at[l->tasks.at[id].in[0]].maker)
        if (pl_lower_is_message(&l->tasks.at[id])) return true;
    return false;
}

/* Bytes on their way for a task. */
static int64_t late_bytes(const lowering *l, const task *t)
{
    int64_t sum = 0;
    for (int k = 0; k < t->n_in; k++) {
        const part *p = &l->parts.at[t->in[k]];
        if (is_under_way(l, p->maker)) sum += p->bytes;
    }
    return sum;
}

/* Tasks whose bytes are on their way run, the first first: all, or as long as more than the limit
 * is, the last one's apart. */
static void run_fetched(schedule *s, bool all)
{
    const int64_t limit = pl_lower_ahead(s->l);
    while (s->ran < s->fetching.n &&
           (all || (s->ran < s->fetching.n - 1 && s->fetched_bytes > limit))) {
        const int id = s->fetching.at[s->ran++];
        s->fetched_bytes -= late_bytes(s->l, &s->l->tasks.at[id]);
        emit(s, id);
    }
}

/* What is late of that which a task reads. */
static void bring(schedule *s, int id)
{
    lowering *l = s->l;
    for (int k = 0; k < l->tasks.at[id].n_in; k++) {
        const int maker = l->parts.at[l->tasks.at[id].in[k]].maker;
        if (maker < 0 || !l->tasks.at[maker].late || l->tasks.at[maker].unmet < 0) continue;
        bring(s, maker);
        emit(s, maker);
    }
}

/* A task has all but what is late. What needs no message runs at once. */
static void fetch(schedule *s, int id)
{
    lowering *l = s->l;
    const int64_t bytes = late_bytes(l, &l->tasks.at[id]);
    l->tasks.at[id].asked = true;
    bring(s, id);
    if (!bytes) {
        emit(s, id);
        return;
    }
    s->fetched_bytes += bytes;
    PL_PUSH(l->tmp, &s->fetching, id);
    run_fetched(s, false);
}

/* Task `id` is done, for those behind it that are prompt, or for the others. */
static void release(schedule *s, int id, bool prompt)
{
    const ints *before = &s->l->tasks.at[id].before;
    for (int i = 0; i < before->n; i++) {
        task *t = &s->l->tasks.at[before->at[i]];
        if (t->prompt != prompt) continue;
        if (--t->unmet != t->n_late || !t->prompt || t->asked) continue;
        if (t->n_late)
            fetch(s, before->at[i]);
        else
            emit(s, before->at[i]);
    }
}

/* The bucket sent last is taken as landed, `next` takes its place. Of other messages only what is
 * prompt waits so long: all else has its turn. */
static void land(schedule *s, ints next)
{
    ints done = s->landing;
    s->landing = next; /* first: releasing may send another bucket */
    for (int i = 0; i < done.n; i++) {
        if (combines(&s->l->tasks.at[done.at[i]])) release(s, done.at[i], false);
        release(s, done.at[i], true);
    }
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
           first->step.monoid == t->step.monoid && first->once == t->once;
}

/* What a task brings is no longer late for those that read it. */
static void bring_late(schedule *s, const task *t)
{
    const ints *readers = &s->l->parts.at[t->out[0]].readers;
    for (int i = 0; i < readers->n; i++) s->l->tasks.at[readers->at[i]].n_late--;
}

static void emit(schedule *s, int id)
{
    task *t = &s->l->tasks.at[id];
    t->unmet = -1; /* done */
    if (t->late) bring_late(s, t);
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
    const bool lands = combines(t) || (is_exchange(t) && t->prompt);
    if (!combines(t)) release(s, id, false);
    if (lands)
        land(s, x.tasks);
    else
        release(s, id, true);
}

/* Until t (or nothing) waits for a reduction. */
static void land_all(schedule *s, const task *t)
{
    while ((!t || t->unmet > 0) && (s->open.n || s->landing.n)) {
        flush(s);
        if (!t || t->unmet > 0) land(s, (ints){ 0 });
    }
}

/* States that change places: what runs after a fetch may be what its reader waits for. False: all
 * are on their way. */
static bool bring_rest(schedule *s)
{
    bool any = false;
    for (int id = 0; id < s->l->tasks.n; id++) {
        if (!s->l->tasks.at[id].late || s->l->tasks.at[id].unmet) continue;
        emit(s, id);
        any = true;
    }
    return any;
}

/* -- what is sent to other stages -------------------------------------------------------------- */

typedef struct sending {
    lowering *l;
    ints wait; /* sends that nobody counts as gone yet: tasks */
    struct {
        int n, cap;
        slot *at;
    } order;
} sending;

static bool is_send(const task *t)
{
    return t->kind == TASK_STAGE && t->n_in;
}

static bool comes_before(const task *t, int id)
{
    for (int i = 0; i < t->before.n; i++)
        if (t->before.at[i] == id) return true;
    return false;
}

/* Sends of passes before `pass`, and those up to one that slot x (or nothing) has to come after. */
static void settle_sends(sending *s, int pass, const slot *x)
{
    int n = 0;
    for (int i = 0; i < s->wait.n; i++) {
        const task *t = &s->l->tasks.at[s->wait.at[i]];
        bool due = t->pass < pass;
        for (int k = 0; x && k < x->tasks.n && !due; k++) due = comes_before(t, x->tasks.at[k]);
        if (due) n = i + 1;
    }
    for (int i = 0; i < n; i++) {
        slot sent = { 0 };
        PL_PUSH(s->l->tmp, &sent.tasks, s->wait.at[i]);
        PL_PUSH(s->l->tmp, &s->order, sent);
    }
    for (int i = n; i < s->wait.n; i++) s->wait.at[i - n] = s->wait.at[i];
    s->wait.n -= n;
}

/* A send starts when what it sends is made, and is counted on to be over a pass later: its place in
 * the order is there, at the end of the next pass. */
void pl_lower_sends(lowering *l)
{
    sending s = { .l = l };
    int pass = 0;
    for (int i = 0; i < l->order.n; i++) {
        const slot *x = &l->order.at[i];
        const task *t = &l->tasks.at[x->tasks.at[0]];
        if (t->pass > pass) pass = t->pass;
        settle_sends(&s, pass - 1, x);
        if (is_send(t))
            PL_PUSH(l->tmp, &s.wait, x->tasks.at[0]);
        else
            PL_PUSH(l->tmp, &s.order, *x);
    }
    settle_sends(&s, INT_MAX, NULL);
    l->order.n = s.order.n, l->order.cap = s.order.cap, l->order.at = s.order.at;
}

/* -- all --------------------------------------------------------------------------------------- */

void pl_lower_order(lowering *l)
{
    schedule s = { .l = l };
    const int early = pl_lower_early(l);
    mark_prompt(l);
    const wish *w = make_wishes(l, early);
    int left = l->tasks.n, before = left + 1;
    if (!l->options.bucket_bytes) l->options.bucket_bytes = DEFAULT_BUCKET_BYTES;
    while (left) {
        const bool stuck = left == before;
        PL_ASSERT(!stuck || bring_rest(&s)); /* else tasks wait for each other in a circle */
        before = left, left = 0;
        for (int i = 0; i < l->tasks.n; i++) {
            const task *t = &l->tasks.at[w[i].id];
            if (t->unmet > 0 && !t->prompt) land_all(&s, t); /* its turn has come */
            if (t->n_late && t->unmet == t->n_late && !t->late && !t->asked) fetch(&s, w[i].id);
            if (t->unmet == 0 && !t->late && !t->asked) emit(&s, w[i].id);
            left += t->unmet > 0;
        }
        land_all(&s, NULL);
        run_fetched(&s, true);
    }
}
