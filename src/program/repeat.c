/* Finds the periods of a short model's program: pl_timeline_fold(). A step for the blocks that no
 * stretch has yet is an anchor: where it stands for those in the middle gives a period, which has
 * to be followed and preceded by an equal one (is_same). unroll() counts messages anew. */
#include "program/repeat.h"

#include "program/summary.h"

#include <stdlib.h>
#include <string.h>

enum {
    MOST_REGIONS = 32,
    MOST_PERIOD = 6,
    KINDS = PL_HOST_KERNEL + 1,
    KEYS = KINDS * PL_N_COLLECTIVES, /* of a value */
    BESIDE = 2
};

typedef struct finder {
    const pl_program *p;
    const pl_short *s;
    const double *seconds; /* [steps] */
    const pl_memory_changes *changes;
    pl_arena *tmp, *out;
    int *key;                     /* [steps] what it does for a block: equal for all blocks; -1  */
    int *block;                   /* [steps] for which; -1                                       */
    int *wait;                    /* [steps] as pl_step's, no less than before on the same lane, in
                                     each micro-batch that has the step                         */
    int *messages;                /* [steps + 1] before this one                                 */
    int64_t *extra[PL_N_CHANGES]; /* [steps] as pl_timeline's                               */
    int64_t *grown;               /* [steps] as pl_timeline's                               */
    int n;
    pl_repeat at[MOST_REGIONS];
} finder;

/* What a step is about: what its node makes, or what it moves. */
static const pl_value *subject_of(const pl_step *x)
{
    if (pl_step_is_kernel(x)) return x->share->node->out[0];
    if (x->transfer) return x->transfer->value;
    return x->piece ? x->piece->node->out[0] : NULL;
}

/* -- one step like another --------------------------------------------------------------------- */

static bool is_value_like(const finder *x, const pl_value *a, const pl_value *b)
{
    return x->s->like[a->id] == x->s->like[b->id];
}

static bool is_tensor_like(const finder *x, const pl_step *a, const pl_step *b)
{
    if (!a->transfer != !b->transfer) return false;
    if (a->transfer) return is_value_like(x, a->transfer->value, b->transfer->value);
    if (a->kind != PL_MESSAGE) return true;
    return !strcmp(pl_summary_fold(x->tmp, a->label), pl_summary_fold(x->tmp, b->label));
}

static bool is_work_like(const finder *x, const pl_step *a, const pl_step *b)
{
    if (a->kind != b->kind || a->once != b->once || a->n_in != b->n_in || a->n_out != b->n_out)
        return false;
    if (a->kind == PL_MESSAGE &&
        (a->collective != b->collective || a->axes != b->axes || a->bytes != b->bytes ||
         a->count != b->count || a->type != b->type || a->peer != b->peer))
        return false;
    if (pl_step_is_kernel(a) && !is_value_like(x, a->share->node->out[0], b->share->node->out[0]))
        return false;
    return is_tensor_like(x, a, b);
}

/* Do both wait for the same message of the period, or for one before the stretch? */
static bool is_wait_like(const finder *x, int i, int j, int before)
{
    const int a = x->wait[i], b = x->wait[j];
    return (a <= before && b <= before) || x->messages[j] - b == x->messages[i] - a;
}

static bool is_same(const finder *x, int i, int j, int before)
{
    if (x->seconds[i] != x->seconds[j] || !is_wait_like(x, i, j, before)) return false;
    for (int k = 0; k < PL_N_CHANGES; k++)
        if (x->changes->of[k][i] != x->changes->of[k][j]) return false;
    return is_work_like(x, &x->p->step[i], &x->p->step[j]);
}

/* -- stretches --------------------------------------------------------------------------------- */

/* Where something is first done for each block, along a program: in the backward pass the last
 * block comes first. Around a cut those are in order that choose alike, [low, high); elsewhere not
 * all may be. */
typedef struct positions {
    int *at;    /* [kept] steps; -1: not done */
    int middle; /* blocks before the cut */
    int low, high;
    bool falls;
} positions;

/* False: not done for the blocks beside the cut. */
static bool find_positions(const finder *x, int key, int cut, positions *p)
{
    const int kept = x->s->kept, right = x->s->cut[cut].at, left = right - 1;
    for (int k = 0; k < kept; k++) p->at[k] = -1;
    for (int i = x->p->n_steps - 1; i >= 0; i--)
        if (x->key[i] == key) p->at[x->block[i]] = i;
    if (left < 0 || right >= kept || p->at[left] < 0 || p->at[right] < 0) return false;
    p->falls = p->at[left] > p->at[right];
    for (int k = 0; p->falls && k < kept - 1 - k; k++) {
        const int was = p->at[k];
        p->at[k] = p->at[kept - 1 - k], p->at[kept - 1 - k] = was;
    }
    p->middle = p->falls ? kept - right : right;
    p->low = p->middle - 1, p->high = p->middle + 1;
    while (p->low > 0 && p->at[p->low - 1] >= 0 && p->at[p->low - 1] < p->at[p->low]) p->low--;
    while (p->high < kept && p->at[p->high] > p->at[p->high - 1]) p->high++;
    return true;
}

/* The stretch around steps [at, at + n) in which each is like that n steps on; a period at least on
 * either side. */
static bool find_stretch(const finder *x, int at, int n, pl_repeat *out)
{
    if (at < n || at + 2 * n > x->p->n_steps) return false;
    const int before = x->messages[at - n];
    for (int i = at - n; i < at + n; i++)
        if (!is_same(x, i, i + n, before)) return false;
    *out = (pl_repeat){ .first = at - n, .at = at, .n = n };
    return true;
}

/* The period that holds `period` blocks, around a cut. */
static bool add_stretch(finder *x, const positions *p, int cut, int period)
{
    const pl_cut *c = &x->s->cut[cut];
    const int middle = p->middle - period / 2;
    pl_repeat r;
    if (x->n == MOST_REGIONS || middle < p->low + period || middle + 2 * period >= p->high)
        return false;
    if (!find_stretch(x, p->at[middle], p->at[middle + period] - p->at[middle], &r)) return false;
    if ((c->to - c->from) % period) return false;
    r.times = (c->to - c->from) / period;
    r.cut = cut;
    x->at[x->n++] = r;
    return true;
}

static bool is_covered(const finder *x, const positions *p, int cut)
{
    for (int b = p->low; b < p->high; b++)
        for (int k = 0; k < x->n; k++)
            if (x->at[k].cut == cut && p->at[b] >= x->at[k].at &&
                p->at[b] < x->at[k].at + x->at[k].n)
                return true;
    return false;
}

static int by_place(const void *a, const void *b)
{
    return ((const pl_repeat *)a)->at - ((const pl_repeat *)b)->at;
}

/* The k-th tensor of what the lowering may put off or start ahead: a move of a state, a gradient or
 * an update; or what a kernel makes. NULL: it is none of these. */
static const pl_value *value_of(const pl_step *x, int k)
{
    if (x->n_bucket) return x->bucket[k];
    const pl_value *v = subject_of(x);
    if (pl_step_is_kernel(x)) return v;
    const bool moves =
        x->transfer && (v->of || pl_graph_state(v) || (v->maker && v->maker->phase == PL_UPDATE));
    return moves ? v : NULL;
}

static bool is_repeated(const finder *x, int step)
{
    for (int k = 0; k < x->n; k++)
        if (step >= x->at[k].at && step < x->at[k].at + x->at[k].n) return true;
    return false;
}

/* Elements of a bucket for each block beside a cut; 0: not as many for all of them. */
static int64_t find_share(const finder *x, const pl_step *step, const pl_cut *c)
{
    int64_t share[2 * BESIDE] = { 0 };
    for (int k = 0; k < step->n_bucket; k++) {
        const int block = x->s->block[step->bucket[k]->id] - (c->at - BESIDE);
        if (block >= 0 && block < 2 * BESIDE) share[block] += step->bucket_count[k];
    }
    for (int b = 1; b < 2 * BESIDE; b++)
        if (share[b] != share[0]) return 0;
    return share[0];
}

/* Would a bucket that has so many elements more be closed by what closes it here? By nothing, as it
 * is not full, or by its last tensor, which is of no block. */
static bool closes_alike(const finder *x, const pl_step *step, int64_t more)
{
    const int64_t each = pl_type_bytes(step->type), all = step->count * each, most = more * each;
    const int last = step->n_bucket - 1;
    if (all + most < x->p->bucket_bytes) return true;
    const bool outside = x->s->block[step->bucket[last]->id] < 0;
    return outside && all >= x->p->bucket_bytes &&
           all - step->bucket_count[last] * each + most < x->p->bucket_bytes;
}

/* A bucket that some of every block is in: with more blocks it is larger, as long as it is closed
 * in the same place. */
static void find_grown(finder *x)
{
    x->grown = PL_NEW_N(x->out, int64_t, x->p->n_steps + 1);
    for (int i = 0; i < x->p->n_steps; i++) {
        const pl_step *step = &x->p->step[i];
        int64_t more = 0;
        if (!step->n_bucket || is_repeated(x, i)) continue;
        for (int c = 0; c < x->s->n_cuts; c++) {
            const pl_cut *cut = &x->s->cut[c];
            more += find_share(x, step, cut) * (cut->to - cut->from);
        }
        if (closes_alike(x, step, more)) x->grown[i] = more;
    }
}

/* Adds `times` for each tensor that steps [from, to) are about, by kind of step; of blocks [low,
 * high) alone. */
static void count_values(const finder *x, int from, int to, int low, int high, int times, int *n)
{
    for (int i = from; i < to; i++) {
        const pl_step *step = &x->p->step[i];
        const int tensors = x->grown[i] ? 0 : step->n_bucket ? step->n_bucket : 1;
        for (int k = 0; k < tensors; k++) {
            const pl_value *v = value_of(step, k);
            const int block = v ? x->s->block[v->id] : -1;
            if (v && block >= low && block < high)
                n[KINDS * x->s->like[v->id] + (int)step->kind] += times;
        }
    }
}

/* All that is done for a block beside a cut is in the periods, as often as there are blocks in one,
 * or in a bucket that grows: nothing else of a block that is left out waits for a later one. */
static bool check_cut(const finder *x, int cut)
{
    const pl_cut *c = &x->s->cut[cut];
    const int n = KINDS * x->s->graph->values.n, low = c->at - BESIDE, high = c->at + BESIDE;
    int *found = PL_NEW_N(x->tmp, int, n + 1), *all = PL_NEW_N(x->tmp, int, n + 1);
    count_values(x, 0, x->p->n_steps, low, high, 1, all);
    for (int k = 0; k < x->n; k++) {
        const pl_repeat *r = &x->at[k];
        if (r->cut == cut) count_values(x, r->at, r->at + r->n, 0, x->s->kept, r->times, found);
    }
    for (int i = 0; i < n; i++)
        if (found[i] * (high - low) != all[i] * (c->to - c->from)) return false;
    return true;
}

/* -- memory ------------------------------------------------------------------------------------ */

/* Blocks in the longest period beside a cut. */
static int find_period(const finder *x, int cut)
{
    const pl_cut *c = &x->s->cut[cut];
    int most = 1;
    for (int k = 0; k < x->n; k++)
        if (x->at[k].cut == cut && (c->to - c->from) / x->at[k].times > most)
            most = (c->to - c->from) / x->at[k].times;
    return most;
}

/* Does the same of the block so many on end with the same step (or begin, if not `ends`)? */
static bool is_beside(const finder *x, const pl_step_life *life, bool ends, int blocks)
{
    const int next = x->s->block[life->value->id] + blocks;
    for (int i = 0; i < x->changes->n_lives; i++) {
        const pl_step_life *y = &x->changes->life[i];
        if (y->value && x->s->block[y->value->id] == next &&
            is_value_like(x, y->value, life->value) && y->sum == life->sum &&
            y->bytes == life->bytes && (ends ? y->end == life->end : y->first == life->first))
            return true;
    }
    return false;
}

static void add_extra(finder *x, int step, const pl_step_life *life, int64_t bytes, int64_t left[])
{
    for (int k = pl_step_life_sum(life);; k = life->sum) {
        left[k] += bytes;
        if (step < x->p->n_steps) x->extra[k][step] += bytes;
        if (k == life->sum) break;
    }
}

/* Of more than two: what ends for one block may end where something else of the next one does. */
static bool is_loose(const finder *x, const pl_step_life *life, bool ends, int period)
{
    return is_beside(x, life, ends, period) && is_beside(x, life, ends, 2 * period);
}

/* What comes or goes for all blocks at once, as gradients that wait for the last message of a step,
 * does so for those that are put back. False: within a period. */
static bool find_extra(finder *x, int64_t left[])
{
    for (int k = 0; k < PL_N_CHANGES; k++)
        x->extra[k] = PL_NEW_N(x->out, int64_t, x->p->n_steps + 1);
    for (int c = 0; c < x->s->n_cuts; c++) {
        const pl_cut *cut = &x->s->cut[c];
        const int64_t times = cut->to - cut->from;
        const int period = find_period(x, c);
        for (int i = 0; i < x->changes->n_lives; i++) {
            const pl_step_life *life = &x->changes->life[i];
            if (!life->value || x->s->block[life->value->id] != cut->at - 1) continue;
            const bool begins = is_loose(x, life, false, period);
            const bool ends = is_loose(x, life, true, period);
            if ((begins && is_repeated(x, life->first)) || (ends && is_repeated(x, life->end)))
                return false;
            if (begins) add_extra(x, life->first, life, times * life->bytes, left);
            if (ends) add_extra(x, life->end, life, -times * life->bytes, left);
        }
    }
    return true;
}

/* Does as much of what the blocks that are put back have in memory go as comes? */
static bool check_balance(finder *x)
{
    int64_t left[PL_N_CHANGES] = { 0 };
    if (!find_extra(x, left)) return false;
    for (int k = 0; k < PL_N_CHANGES; k++) {
        for (int r = 0; r < x->n; r++)
            for (int i = x->at[r].at; i < x->at[r].at + x->at[r].n; i++)
                left[k] += x->at[r].times * x->changes->of[k][i];
        if (left[k]) return false;
    }
    return true;
}

/* -- all stretches ----------------------------------------------------------------------------- */

/* Do they hold all that is to be put back, and does no other overlap with one? */
static bool check_cover(finder *x)
{
    qsort(x->at, (size_t)x->n, sizeof *x->at, by_place);
    for (int k = 1; k < x->n; k++)
        if (x->at[k].first < x->at[k - 1].at + x->at[k - 1].n) return false;
    find_grown(x);
    for (int c = 0; c < x->s->n_cuts; c++)
        if (!check_cut(x, c)) return false;
    return check_balance(x);
}

/* Gathers of weights that stand together, away from what reads them, are as far ahead as their
 * limit allows: with more blocks some would stand elsewhere. Those between other work, as copies
 * from the host are, are as far ahead as with any number of blocks. */
static bool is_ahead(const finder *x, const pl_repeat *r)
{
    bool moves = false, apart = true;
    for (int i = r->at; i < r->at + r->n; i++) {
        const pl_step *step = &x->p->step[i];
        const pl_value *v = subject_of(step);
        apart &= step->kind != PL_KERNEL || pl_graph_state(v);
        moves |= step->kind == PL_MESSAGE && v && pl_graph_state(v);
    }
    return moves && apart;
}

/* What is in order around the cut alone, check_cut knows whether it has to be in a period. */
static bool find_stretches(finder *x, int cut)
{
    positions p = { .at = PL_NEW_N(x->tmp, int, x->s->kept + 1) };
    bool *seen = PL_NEW_N(x->tmp, bool, KEYS * x->s->graph->values.n + 1);
    for (int i = 0; i < x->p->n_steps; i++) {
        const int key = x->key[i];
        if (key < 0 || seen[key]) continue;
        seen[key] = true;
        if (!find_positions(x, key, cut, &p)) continue;
        bool covered = is_covered(x, &p, cut);
        for (int period = 1; !covered && period <= MOST_PERIOD; period++)
            covered = add_stretch(x, &p, cut, period);
        if (!covered && p.low == 0 && p.high == x->s->kept) return false;
    }
    return true;
}

static bool find_all(finder *x)
{
    for (int c = 0; c < x->s->n_cuts; c++)
        if (!find_stretches(x, c)) return false;
    for (int k = 0; k < x->n; k++)
        if (is_ahead(x, &x->at[k])) return false;
    return x->n > 0 && check_cover(x);
}

/* -- the whole --------------------------------------------------------------------------------- */

static void read_steps(finder *x)
{
    const pl_program *p = x->p;
    int waited[1 + PL_N_LANES][2] = { { 0 } }; /* of computing, then of the lanes of messages; by
                                                  steps of all micro-batches, by all steps      */
    x->key = PL_NEW_N(x->tmp, int, p->n_steps + 1);
    x->block = PL_NEW_N(x->tmp, int, p->n_steps + 1);
    x->wait = PL_NEW_N(x->tmp, int, p->n_steps + 1);
    x->messages = PL_NEW_N(x->tmp, int, p->n_steps + 1);
    for (int i = 0; i < p->n_steps; i++) {
        const pl_step *step = &p->step[i];
        const pl_value *v = subject_of(step);
        const bool message = !pl_step_is_compute(step);
        const int lane = message ? 1 + pl_step_lane(step) : 0;
        for (int k = step->once; k < 2; k++)
            if (step->wait > waited[lane][k]) waited[lane][k] = step->wait;
        x->wait[i] = waited[lane][step->once];
        x->messages[i + 1] = x->messages[i] + message;
        x->block[i] = v ? x->s->block[v->id] : -1;
        const int does = KINDS * (int)step->collective + (int)step->kind;
        x->key[i] = x->block[i] >= 0 ? KEYS * x->s->like[v->id] + does : -1;
    }
}

static int count_steps(const finder *x)
{
    int n = x->p->n_steps;
    for (int k = 0; k < x->n; k++) n += x->at[k].times * x->at[k].n;
    return n;
}

/* The stretch, with its periods on either side, in which step i is; NULL: it is in none. */
static const pl_repeat *find_own(const finder *x, int i)
{
    for (int k = 0; k < x->n; k++)
        if (i >= x->at[k].first && i < x->at[k].at + 2 * x->at[k].n) return &x->at[k];
    return NULL;
}

/* Does step i of a stretch wait for a message of an earlier one, and the step that is like it a
 * period on for the message that is like that? */
static bool goes_with(const finder *x, const pl_repeat *own, int i, const pl_repeat *r,
                      int messages)
{
    if (!own || own == r || own->times != r->times || own->cut != r->cut || !messages) return false;
    const int n = own->n, from = i < own->at + n ? i : i - n;
    return x->wait[i] <= x->messages[r->at + 2 * r->n] &&
           x->wait[from + n] - x->wait[from] == messages;
}

/* What step i waits for, in the t-th turn of its stretch if that is put in: of each stretch before,
 * and of its own, so many messages more as came in the turns that were put in. */
static int whole_wait(const finder *x, int i, int now, int t)
{
    const pl_repeat *own = find_own(x, i);
    int wait = x->wait[i], more = 0;
    for (int k = 0; k < x->n && x->at[k].at <= i; k++) {
        const pl_repeat *r = &x->at[k];
        const int messages = x->messages[r->at + r->n] - x->messages[r->at];
        const bool before = own && i < own->at;
        int turns = k == now ? t : r->times;
        if (goes_with(x, own, i, r, messages)) turns = now >= 0 ? t : before ? 0 : r->times;
        if (wait > x->messages[r->first]) more += turns * messages;
    }
    return wait + more;
}

static void add_step(const finder *x, int i, int now, int t, pl_timeline *out)
{
    const int u = out->n++;
    const bool message = !pl_step_is_compute(&x->p->step[i]);
    out->step[u] = i;
    out->wait[u] = whole_wait(x, i, now, t);
    out->after[u] = out->n_computes;
    *(message ? &out->n_messages : &out->n_computes) += 1;
}

static void unroll(const finder *x, pl_timeline *out)
{
    int i = 0;
    for (int k = 0; k < x->n; k++) {
        const pl_repeat *r = &x->at[k];
        for (; i < r->at; i++) add_step(x, i, -1, 0, out);
        for (int t = 0; t <= r->times; t++)
            for (i = r->at; i < r->at + r->n; i++) add_step(x, i, k, t, out);
    }
    for (; i < x->p->n_steps; i++) add_step(x, i, -1, 0, out);
}

static pl_timeline new_timeline(const pl_program *p, int n, pl_arena *out)
{
    return (pl_timeline){ .program = p,
                          .step = PL_NEW_N(out, int, n + 1),
                          .wait = PL_NEW_N(out, int, n + 1),
                          .after = PL_NEW_N(out, int, n + 1) };
}

/* States of the block before each cut, once for each that was left out there. */
static void add_states(const finder *x, pl_timeline *t)
{
    for (int i = 0; i < x->p->store->n; i++) {
        const pl_port *s = &x->p->store->state[i];
        const int64_t room = (s->bytes + PL_WORK_ALIGN - 1) / PL_WORK_ALIGN * PL_WORK_ALIGN;
        for (int c = 0; c < x->s->n_cuts; c++) {
            const pl_cut *cut = &x->s->cut[c];
            if (x->s->block[s->value->id] != cut->at - 1) continue;
            *(s->slot.host ? &t->more_host : &t->more_bytes) += (cut->to - cut->from) * room;
            if (!s->slot.host) t->more[s->value->kind] += (cut->to - cut->from) * s->bytes;
        }
    }
}

pl_timeline pl_timeline_plain(const pl_program *p, pl_arena *out)
{
    pl_timeline t = new_timeline(p, p->n_steps, out);
    t.n = p->n_steps, t.n_computes = p->n_compute, t.n_messages = p->n_messages;
    for (int i = 0; i < p->n_steps; i++)
        t.step[i] = i, t.wait[i] = p->step[i].wait, t.after[i] = p->step[i].after;
    return t;
}

bool pl_timeline_fold(const pl_program *p, const pl_short *s, const double seconds[],
                      const pl_memory_changes *changes, pl_arena *out, pl_timeline *t)
{
    pl_arena *tmp = pl_arena_new("periods");
    finder x = { p, s, seconds, changes, tmp, out };
    read_steps(&x);
    const bool ok = find_all(&x);
    if (ok) {
        *t = new_timeline(p, count_steps(&x), out);
        t->grown = x.grown;
        unroll(&x, t);
        add_states(&x, t);
        memcpy(t->extra, x.extra, sizeof x.extra);
    }
    pl_arena_free(tmp);
    return ok;
}
