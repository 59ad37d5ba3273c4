/* Lowering, between order and places: the same steps in an order that takes less memory.
 *
 * The slots of the order are the tasks of order/schedule.h, the memory that parts take over from
 * each other its tensors. Messages keep their order, as all ranks have to send them in the same
 * one, and stand between the same makers and readers: what makes the contents of one, the message,
 * and what reads them come in turn as before, so that as much computing as before passes beside it.
 * All else moves freely. Sizes are those of the largest share, so that all ranks find the same. */
#include "graph/op.h"
#include "order/schedule.h"
#include "program/lower.h"

#include <string.h>

/* By default a fraction of a second; each round but the last may use half of what is left. */
enum { MOVES = 1000000, ROUNDS = 4 };

static const char *const names[PL_N_ORDERS] = { "auto", "program", "lescea", "pleat" };

const char *pl_step_order_name(pl_step_order o)
{
    return names[o];
}

bool pl_step_order_find(const char *name, pl_step_order *order, pl_err *err)
{
    for (int i = 0; i < PL_N_ORDERS; i++)
        if (!strcmp(names[i], name)) {
            *order = (pl_step_order)i;
            return true;
        }
    return pl_err_set(err, PL_EUSAGE, "no order '%s' (one of: auto, program, lescea, pleat)", name);
}

typedef struct sparing {
    lowering *l;
    int n;        /* slots                                           */
    int *slot_of; /* [tasks]                                         */
    int *tensor;  /* [parts] another whose memory it counts as; itself */
    ints *touch;  /* [parts] by tensor: slots                        */
    bool *reads;  /* [parts] by tensor: it is there from the start   */
    bool *stays;  /* [parts] by tensor: the outside reads it         */
    ints *next;   /* [slots] that come later                         */
} sparing;

/* -- tensors ----------------------------------------------------------------------------------- */

static int find_root(const sparing *s, int p)
{
    while (s->tensor[p] != p) p = s->tensor[p];
    return p;
}

static void touch(sparing *s, int x, int at_slot)
{
    ints *at = &s->touch[x];
    if (s->l->parts.at[x].port >= 0 || (at->n && at->at[at->n - 1] == at_slot)) return;
    PL_PUSH(s->l->tmp, at, at_slot);
}

/* Memory of which a slot is the last to touch any, in the order so far. */
static bool ends_at(const sparing *s, int x, int at_slot)
{
    const ints *at = &s->touch[x];
    return !s->stays[x] && at->n && at->at[at->n - 1] == at_slot;
}

/* Slot i writes `out` over `in`, which it is the last to touch: in any order all others that touch
 * `in` come before it. */
static void join(sparing *s, int in, int out, int i)
{
    for (int r = 0; r < s->touch[in].n - 1; r++)
        PL_PUSH(s->l->tmp, &s->next[s->touch[in].at[r]], i);
    for (int r = 0; r < s->touch[out].n; r++) touch(s, in, s->touch[out].at[r]);
    s->stays[in] = s->stays[out];
    s->touch[out].n = 0;
    s->tensor[out] = in;
}

/* May task t of slot i write its output over input k, as place.c will have it? */
static bool may_join(const sparing *s, const task *t, int k, int i)
{
    const lowering *l = s->l;
    const int in = find_root(s, t->in[k]);
    if (in == t->out[0] || !ends_at(s, in, i)) return false;
    if (t->kind != TASK_REDUCE) return pl_lower_lies_over(l, t, k);
    const int h = pl_lower_home(l, t->in[k]);
    return l->parts.at[h].port < 0 && l->parts.at[h].maker >= 0 &&
           l->parts.at[t->in[k]].bytes == l->parts.at[h].bytes;
}

/* What lies over an input in the order so far does so in any: elements one by one, sums of
 * messages. */
static void join_in_place(sparing *s)
{
    const lowering *l = s->l;
    for (int i = 0; i < s->n; i++)
        for (int j = 0; j < l->order.at[i].tasks.n; j++) {
            const task *t = &l->tasks.at[l->order.at[i].tasks.at[j]];
            if (!t->n_out || find_root(s, t->out[0]) != t->out[0] ||
                pl_lower_home(l, t->out[0]) != t->out[0])
                continue;
            int k = 0;
            while (k < t->n_in && !may_join(s, t, k, i)) k++;
            if (k < t->n_in) join(s, find_root(s, t->in[k]), t->out[0], i);
        }
}

/* Slots in the order so far, so that those of a tensor are in order. */
static void find_tensors(sparing *s)
{
    const lowering *l = s->l;
    for (int p = 0; p < l->parts.n; p++) s->tensor[p] = pl_lower_home(l, p);
    for (int i = 0; i < s->n; i++)
        for (int j = 0; j < l->order.at[i].tasks.n; j++) {
            const task *t = &l->tasks.at[l->order.at[i].tasks.at[j]];
            for (int k = 0; k < t->n_in; k++) touch(s, find_root(s, t->in[k]), i);
            for (int k = 0; k < t->n_out; k++) touch(s, find_root(s, t->out[k]), i);
        }
    for (int p = 0; p < l->parts.n; p++)
        if (l->parts.at[p].maker < 0) s->reads[find_root(s, p)] = true;
    for (int i = 0; i < l->plan->graph->outputs.n; i++) s->stays[find_root(s, l->output[i])] = true;
    join_in_place(s);
}

/* -- edges ------------------------------------------------------------------------------------- */

/* What makes the contents of a message, or reads them, and messages. */
static bool *find_anchors(const sparing *s)
{
    const lowering *l = s->l;
    bool *anchor = PL_NEW_N(l->tmp, bool, s->n + 1);
    for (int id = 0; id < l->tasks.n; id++) {
        const task *t = &l->tasks.at[id];
        if (!pl_lower_is_message(t)) continue;
        anchor[s->slot_of[id]] = true;
        for (int k = 0; k < t->n_in; k++) {
            const int maker = l->parts.at[t->in[k]].maker;
            if (maker >= 0) anchor[s->slot_of[maker]] = true;
        }
        for (int k = 0; k < t->n_out; k++) {
            const ints *readers = &l->parts.at[t->out[k]].readers;
            for (int i = 0; i < readers->n; i++) anchor[s->slot_of[readers->at[i]]] = true;
        }
    }
    return anchor;
}

static void add_edges(const sparing *s, pl_schedule_problem *p)
{
    const lowering *l = s->l;
    const bool *anchor = find_anchors(s);
    ints *next = s->next;
    int n = 0, last = -1;
    for (int id = 0; id < l->tasks.n; id++) {
        const ints *before = &l->tasks.at[id].before;
        for (int i = 0; i < before->n; i++)
            if (s->slot_of[before->at[i]] != s->slot_of[id])
                PL_PUSH(l->tmp, &next[s->slot_of[id]], s->slot_of[before->at[i]]);
    }
    for (int i = 0; i < s->n; i++) {
        if (!anchor[i]) continue;
        if (last >= 0) PL_PUSH(l->tmp, &next[last], i);
        last = i;
    }
    for (int i = 0; i < s->n; i++) n += next[i].n;
    int *at = PL_NEW_N(l->tmp, int, s->n + 1), *edge = PL_NEW_N(l->tmp, int, n + 1);
    for (int i = 0; i < s->n; i++) {
        at[i + 1] = at[i] + next[i].n;
        if (next[i].n) memcpy(edge + at[i], next[i].at, (size_t)next[i].n * sizeof *edge);
    }
    p->edge_at = at, p->edge = edge;
}

/* -- the problem ------------------------------------------------------------------------------- */

static void add_tensors(const sparing *s, pl_schedule_problem *p)
{
    const lowering *l = s->l;
    int n = 0;
    for (int x = 0; x < l->parts.n; x++) n += s->touch[x].n;
    int64_t *bytes = PL_NEW_N(l->tmp, int64_t, l->parts.n + 1);
    uint8_t *ends = PL_NEW_N(l->tmp, uint8_t, l->parts.n + 1);
    int *at = PL_NEW_N(l->tmp, int, l->parts.n + 1), *touch = PL_NEW_N(l->tmp, int, n + 1);
    for (int x = 0; x < l->parts.n; x++) {
        const int k = p->n_tensor;
        if (!s->touch[x].n) continue;
        bytes[k] = l->parts.at[x].bytes;
        ends[k] = (uint8_t)((s->reads[x] ? PL_SCHEDULE_FROM_START : 0) |
                            (s->stays[x] ? PL_SCHEDULE_TO_END : 0));
        at[k + 1] = at[k] + s->touch[x].n;
        memcpy(touch + at[k], s->touch[x].at, (size_t)s->touch[x].n * sizeof *touch);
        p->n_tensor++;
    }
    p->bytes = bytes, p->ends = ends, p->touch_at = at, p->touch = touch;
}

static pl_schedule_problem make_problem(lowering *l)
{
    sparing s = { .l = l, .n = l->order.n };
    pl_schedule_problem p = { .n = s.n };
    s.slot_of = PL_NEW_N(l->tmp, int, l->tasks.n + 1);
    s.tensor = PL_NEW_N(l->tmp, int, l->parts.n + 1);
    s.touch = PL_NEW_N(l->tmp, ints, l->parts.n + 1);
    s.reads = PL_NEW_N(l->tmp, bool, l->parts.n + 1);
    s.stays = PL_NEW_N(l->tmp, bool, l->parts.n + 1);
    for (int i = 0; i < s.n; i++)
        for (int k = 0; k < l->order.at[i].tasks.n; k++) s.slot_of[l->order.at[i].tasks.at[k]] = i;
    s.next = PL_NEW_N(l->tmp, ints, s.n + 1);
    find_tensors(&s);
    add_edges(&s, &p);
    add_tensors(&s, &p);
    return p;
}

/* -- the order --------------------------------------------------------------------------------- */

static bool has_messages(const lowering *l)
{
    for (int id = 0; id < l->tasks.n; id++)
        if (pl_lower_is_message(&l->tasks.at[id])) return true;
    return false;
}

static void take_order(lowering *l, const int order[])
{
    slot *at = PL_NEW_N(l->tmp, slot, l->order.n + 1);
    for (int i = 0; i < l->order.n; i++) at[i] = l->order.at[order[i]];
    l->order.at = at;
    l->order.cap = l->order.n;
}

/* A better order than the present one, in which other steps may lie over their inputs: then there
 * may be one that is better still. */
static bool improve(lowering *l, pl_schedule_method how, int64_t moves, pl_schedule *s, pl_err *err)
{
    const pl_schedule_problem p = make_problem(l);
    int *given = PL_NEW_N(l->tmp, int, p.n + 1);
    for (int i = 0; i < p.n; i++) given[i] = i;
    const pl_schedule_options o = { .method = how, .given = given, .effort = moves };
    PL_TRY(pl_schedule_find(&p, &o, l->tmp, s, err));
    if (s->peak < s->given || how == PL_SCHEDULE_LESCEA) take_order(l, s->order);
    return true;
}

/* Rounds as long as they gain or were cut short. The bound is of what the last order writes in
 * place. */
static bool improve_all(lowering *l, int64_t moves, int64_t *bound, pl_err *err)
{
    bool gains = true, ends = false;
    for (int i = 0; i < ROUNDS && moves > 0 && (gains || !ends); i++) {
        const int64_t share = gains && i < ROUNDS - 1 ? (moves + 1) / 2 : moves;
        pl_schedule s;
        PL_TRY(improve(l, PL_SCHEDULE_PLEAT, share, &s, err));
        gains = s.peak < s.given;
        ends = s.effort < share;
        moves -= s.effort;
        *bound = !gains && s.bound < *bound ? *bound : s.bound;
    }
    if (!gains) return true;
    pl_schedule last;
    PL_TRY(improve(l, PL_SCHEDULE_GIVEN, 1, &last, err));
    *bound = last.bound;
    return true;
}

bool pl_lower_spare(lowering *l, pl_program *program, pl_err *err)
{
    pl_step_order how = l->options.order;
    const int64_t moves = l->options.moves ? l->options.moves : MOVES;
    pl_schedule s;
    if (how == PL_ORDER_AUTO)
        how = has_messages(l) || l->plan->stages ? PL_ORDER_PROGRAM : PL_ORDER_PLEAT;
    if (how == PL_ORDER_PROGRAM) return true;
    if (l->plan->stages)
        return pl_err_set(err, PL_EUNSUPPORTED,
                          "order '%s': the passes of a pipeline keep that of its schedule",
                          pl_step_order_name(how));
    if (how == PL_ORDER_PLEAT) return improve_all(l, moves, &program->order_bound, err);
    PL_TRY(improve(l, PL_SCHEDULE_LESCEA, moves, &s, err));
    program->order_bound = s.bound;
    return true;
}
