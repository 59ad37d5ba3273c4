/* The least seconds of a small problem without views, from the definition in evict/evict.h: all
 * sets of values that can be present, and with copies all times that the lanes can have. */
#ifndef PL_TEST_EVICT_BRUTE_H
#define PL_TEST_EVICT_BRUTE_H
#include "problems.h"

#include <stdlib.h>
#include <string.h>

static inline int64_t sum_of(const pl_evict_problem *p, unsigned here)
{
    int64_t sum = 0;
    for (int v = 0; v < p->n_value; v++) sum += here >> v & 1 ? p->bytes[v] : 0;
    return sum;
}

static inline unsigned reads_of(const pl_evict_problem *p, int op)
{
    unsigned set = 0;
    for (int k = p->read_at[op]; k < p->read_at[op + 1]; k++) set |= 1u << p->read[k];
    return set;
}

static inline unsigned ends_of(const pl_evict_problem *p)
{
    unsigned set = 0;
    for (int v = 0; v < p->n_value; v++) set |= (unsigned)(p->keep[v] & PL_EVICT_AT_END) << v;
    return set;
}

static inline unsigned made_by(const pl_evict_problem *p, int op)
{
    unsigned set = 0;
    for (int v = 0; v < p->n_value; v++) set |= (unsigned)(p->maker[v] == op) << v;
    return set;
}

/* Without copies: rounds of relaxation over what is present and, where an op may run twice at most,
 * which have run twice, until nothing gets less. INFINITY: nothing fits. */
static inline double brute_recompute(const pl_evict_problem *p, int64_t budget)
{
    pl_arena *tmp = pl_arena_new("brute");
    unsigned sets = 1u << p->n_value, twices = p->most_runs == 2 ? 1u << p->n_op : 1;
    size_t row = (size_t)sets * twices;
    double *best = PL_NEW_N(tmp, double, row * (size_t)(p->n_op + 1));
    for (size_t k = 0; k < row * (size_t)(p->n_op + 1); k++) best[k] = INFINITY;
    best[0] = 0;
    for (bool changed = true; changed;) {
        changed = false;
        for (size_t k = 0; k < row * (size_t)(p->n_op + 1); k++) {
            int next = (int)(k / row);
            unsigned here = (unsigned)(k % row) / twices, twice = (unsigned)(k % row) % twices;
            if (best[k] == INFINITY) continue;
            for (int v = 0; v < p->n_value; v++) {
                double *to = &best[(size_t)next * row + (here & ~(1u << v)) * twices + twice];
                if (best[k] < *to) *to = best[k], changed = true;
            }
            for (int t = 0; t <= next && t < p->n_op; t++) {
                unsigned bit = twices > 1 && t < next ? 1u << t : 0, made = made_by(p, t);
                if ((t < next && p->once[t]) || (twice & bit) || (reads_of(p, t) & ~here)) continue;
                if (sum_of(p, here) + sum_of(p, made) > budget) continue;
                double *to = &best[(size_t)(next + (t == next)) * row + (here | made) * twices +
                                   (twice | bit)];
                double run = best[k] + p->seconds[t];
                if (run < *to) *to = run, changed = true;
            }
        }
    }
    double least = INFINITY;
    for (unsigned s = 0; s < sets; s++)
        for (unsigned twice = 0; twice < twices && !(ends_of(p) & ~s); twice++)
            least = fmin(least, best[(size_t)p->n_op * row + s * twices + twice]);
    pl_arena_free(tmp);
    return least;
}

/* With copies: what can be reached, with all times; of the same sets, those with no time earlier
 * than another's are left out. */
enum { MIXED_VALUES = 5 };
typedef struct label {
    double now, out_free, in_free, ready[MIXED_VALUES], out[MIXED_VALUES];
    unsigned here, copied;
    int next;
    struct label *other;
} label;

static inline bool is_no_worse(const label *a, const label *b, int n)
{
    bool ok = a->now <= b->now && a->out_free <= b->out_free && a->in_free <= b->in_free;
    for (int v = 0; v < n && ok; v++) ok = a->ready[v] <= b->ready[v] && a->out[v] <= b->out[v];
    return ok;
}

typedef struct mixed {
    const pl_evict_problem *p;
    int64_t budget;
    label *list[MIXED_VALUES + 1][1 << MIXED_VALUES][1 << MIXED_VALUES];
    struct {
        label **at;
        int n, cap;
    } queue;
    pl_arena *arena;
} mixed;

static inline void reach_label(mixed *m, label l)
{
    int n = m->p->n_value;
    l.out_free = fmax(l.out_free, l.now);
    l.in_free = fmax(l.in_free, l.now);
    for (int v = 0; v < n; v++) {
        l.ready[v] = fmax(l.ready[v], l.now);
        l.out[v] = fmax(l.out[v], l.now);
    }
    label **list = &m->list[l.next][l.here][l.copied];
    for (label *o = *list; o; o = o->other)
        if (is_no_worse(o, &l, n)) return;
    label *mine = PL_NEW(m->arena, label);
    *mine = l;
    mine->other = *list;
    *list = mine;
    PL_PUSH(m->arena, &m->queue, mine);
}

static inline void step_label(mixed *m, label l)
{
    const pl_evict_problem *p = m->p;
    for (int v = 0; v < p->n_value; v++) {
        unsigned bit = 1u << v;
        label to = l;
        if (v <= l.next && v < p->n_op && (v == l.next || !p->once[v]) &&
            !(reads_of(p, v) & ~l.here) && sum_of(p, l.here) + p->bytes[v] <= m->budget) {
            for (int r = 0; r < p->n_value; r++)
                if (reads_of(p, v) >> r & 1) to.now = fmax(to.now, l.ready[r]);
            to.now += p->seconds[v];
            to.here |= bit;
            to.next += v == l.next;
            reach_label(m, to);
        }
        to = l;
        if (l.here & bit) {
            to.here &= ~bit;
            to.now = fmax(l.now, fmax(l.out[v], l.ready[v]));
            reach_label(m, to);
            to = l;
            if (!(l.copied & bit)) {
                double from = fmax(fmax(l.now, l.ready[v]), l.out_free);
                to.out_free = to.out[v] = from + (double)p->bytes[v] / p->out_bytes_per_s;
                to.copied |= bit;
                reach_label(m, to);
            }
        } else if ((l.copied & bit) && sum_of(p, l.here | bit) <= m->budget) {
            double from = fmax(fmax(l.now, l.out[v]), l.in_free);
            to.in_free = to.ready[v] = from + (double)p->bytes[v] / p->in_bytes_per_s;
            to.here |= bit;
            reach_label(m, to);
        }
    }
}

static inline double brute_mixed(const pl_evict_problem *p, int64_t budget)
{
    pl_arena *tmp = pl_arena_new("brute");
    mixed *m = PL_NEW(tmp, mixed);
    m->p = p;
    m->budget = budget;
    m->arena = tmp;
    reach_label(m, (label){ 0 });
    double least = INFINITY;
    for (int k = 0; k < m->queue.n; k++) {
        label *l = m->queue.at[k];
        if (l->next == p->n_op && !(ends_of(p) & ~l->here)) {
            double end = l->now;
            for (int v = 0; v < p->n_value; v++)
                if (ends_of(p) >> v & 1) end = fmax(end, l->ready[v]);
            least = fmin(least, end);
        }
        if (l->now < least) step_label(m, *l);
    }
    pl_arena_free(tmp);
    return least;
}

#endif
