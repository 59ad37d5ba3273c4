/* Mixtures in a chain (mix.h): the run of copies as in run.c, with a front for each entry. */
#include "search/border.h"
#include "search/front.h"
#include "search/mix.h"

#include <string.h>

enum { MOST_PASSES = 16, LEAST_LABELS = 3 };

/* Labels of a run of copies, by the states at its two ends. */
typedef struct product {
    int steps;
    const struct product *left, *right; /* NULL: one copy */
    pl_front *cell;                     /* [states][states] */
} product;

typedef struct blend {
    const pl_ring *f;
    pl_mix *m;
    pl_border border;
    int states, hubs, half;
    int *inner, *outer; /* scopes: in the cell, in the ends                                  */
    pl_net *cell, *ends;
    pl_fronts *inside, *middle, *rest;
    const product **top; /* [hubs]                                                            */
    pl_arena *tmp;
} blend;

/* Passes make the least entry of every table zero, so that slack and budget mean something. */
static void settle(pl_net *net, int passes)
{
    for (int i = 0; i < passes; i++) pl_net_pass(net, i % 2 == 0, NULL);
}

/* Runs of half as many copies, thinned: the number of labels is states^3 labels^2 per product. */
static int labels_for(const blend *b)
{
    double cube = (double)b->states * b->states * b->states * b->hubs;
    double room = (double)b->m->o->work_limit / 128 / cube;
    int n = (int)sqrt(room);
    return n > b->m->o->front ? b->m->o->front : n;
}

static pl_fronts *fronts_of(const blend *b, pl_net *net, int more, double slack, int most)
{
    pl_fronts limits = { .price = b->m->price,
                         .slack = slack,
                         .budget = INFINITY,
                         .most = most,
                         .grain = 1e-13 * fabs(b->m->cost.time),
                         .work_limit = b->m->o->work_limit / 16 };
    int *size = PL_NEW_N(b->tmp, int, net->n + more);
    memcpy(size, net->size, (size_t)net->n * sizeof *size);
    for (int i = 0; i < more; i++) size[net->n + i] = 1;
    pl_fronts *f = pl_fronts_new(net->n + more, size, &limits, b->tmp);
    pl_fronts_net(f, net);
    return f;
}

/* The nets of one copy and of the ends, and what is left of the cap for their labels. */
static bool open_nets(blend *b, double most)
{
    const pl_ring *f = b->f;
    pl_net *all = pl_ring_ends(f, 1, 0, b->tmp);
    settle(all, 8);
    b->border = pl_border_of(f, b->tmp);
    b->half = b->border.n_left + b->border.n_right;
    if (b->border.states * b->border.states * b->border.hub_states > 1 << 14) return false;
    b->states = (int)b->border.states;
    b->hubs = (int)b->border.hub_states;
    int n = pl_border_scope_size(&b->border);
    bool *fixed = PL_NEW_N(b->tmp, bool, b->border.n_hubs + f->n_block + b->half);
    bool *fixed_ends;
    pl_net *cell = pl_border_cell(f, &b->border, fixed, b->tmp);
    b->cell = pl_net_keep(cell, pl_net_keeps(cell, b->tmp), fixed, true, b->tmp);
    b->inner = pl_border_scope(f, &b->border, b->tmp);
    b->outer = PL_NEW_N(b->tmp, int, n);
    b->ends = pl_border_ends(f, &b->border, b->outer, &fixed_ends, b->tmp);
    if (!b->cell) return false;
    settle(b->ends, 8);
    double slack = f->chain->copies > 3 ? most - all->bound : INFINITY;
    int labels = labels_for(b);
    if (labels < LEAST_LABELS) return false;
    b->inside = fronts_of(b, b->cell, 0, slack, labels);
    b->rest = fronts_of(b, b->ends, 1, most - b->ends->bound, b->m->o->front);
    double runs = f->chain->copies - 2, budget = b->m->cap + 1e-12 * fabs(b->m->cap);
    budget -= b->rest->memory + runs * b->inside->memory;
    b->inside->budget = b->rest->budget = budget;
    b->middle = pl_fronts_new(0, NULL, b->inside, b->tmp);
    b->middle->slack = most - b->ends->bound;
    b->middle->work_limit = b->m->o->work_limit;
    pl_order order = pl_fronts_order(b->inside, fixed);
    if (order.work > (double)b->inside->work_limit) return false;
    pl_fronts_run(b->inside, order);
    return !b->inside->stopped;
}

/* The cell's fronts by hub and the two states; a variable in both borders has one value. */
static pl_front *read_cell(blend *b)
{
    int n = pl_border_scope_size(&b->border), distinct = 0;
    int *var = PL_NEW_N(b->tmp, int, n), *same = PL_NEW_N(b->tmp, int, n);
    int *at = PL_NEW_N(b->tmp, int, n);
    for (int d = 0; d < n; d++) {
        for (same[d] = 0; b->inner[same[d]] != b->inner[d];) same[d]++;
        if (same[d] == d) var[distinct++] = b->inner[d];
    }
    const pl_front *rest = pl_fronts_rest(b->inside, distinct, var);
    int count = b->hubs * b->states * b->states;
    pl_front *out = PL_NEW_N(b->tmp, pl_front, count);
    for (int i = 0; i < count; i++) {
        size_t index = 0;
        bool legal = true;
        for (int d = 0; d < n; d++) {
            if (same[d] == d) index = index * (size_t)b->cell->size[b->inner[d]] + (size_t)at[d];
            legal &= at[d] == at[same[d]];
        }
        if (legal) out[i] = rest[index];
        for (int d = n - 1; d >= 0; d--) {
            if (++at[d] < b->cell->size[b->inner[d]]) break;
            at[d] = 0;
        }
    }
    return out;
}

static const product *join(blend *b, const product *left, const product *right)
{
    int n = b->states;
    product *p = PL_NEW(b->tmp, product);
    *p = (product){ left->steps + right->steps, left, right, PL_NEW_N(b->tmp, pl_front, n * n) };
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) {
            for (int k = 0; k < n; k++) {
                pl_front x = left->cell[i * n + k], y = right->cell[k * n + j];
                for (int u = 0; u < x.n; u++)
                    for (int v = 0; v < y.n; v++)
                        pl_fronts_push(b->middle, (pl_label){ x.at[u].cost + y.at[v].cost,
                                                              x.at[u].memory + y.at[v].memory,
                                                              &x.at[u], &y.at[v], k, 0 });
            }
            p->cell[i * n + j] = pl_fronts_take(b->middle);
        }
    return p;
}

static const product *power(blend *b, pl_front *cell, int steps)
{
    product *one = PL_NEW(b->tmp, product);
    *one = (product){ 1, NULL, NULL, cell };
    const product *square = one, *all = NULL;
    for (int left = steps; left > 0; left /= 2) {
        if (left % 2) all = all ? join(b, all, square) : square;
        if (left > 1) square = join(b, square, square);
    }
    return all;
}

/* A label of a run stands in the ends' tables as the value of one variable more: its number. */
static void add_runs(blend *b)
{
    int count = b->states * b->states;
    pl_front *cell = PL_NEW_N(b->tmp, pl_front, b->hubs * count);
    for (int h = 0; h < b->hubs; h++)
        for (int i = 0; i < count; i++) {
            pl_front run = b->top[h]->cell[i];
            pl_label *at = PL_NEW_N(b->tmp, pl_label, run.n);
            for (int k = 0; k < run.n; k++)
                at[k] = (pl_label){ run.at[k].cost, run.at[k].memory, NULL, NULL, b->ends->n, k };
            cell[h * count + i] = (pl_front){ run.n, at };
        }
    pl_fronts_add(b->rest, pl_border_scope_size(&b->border), b->outer, cell);
}

static void trace_run(const product *p, const pl_label *l, int *state, const pl_label **copy)
{
    if (!p->left) {
        copy[0] = l;
        return;
    }
    state[p->left->steps] = l->var;
    trace_run(p->left, l->a, state, copy);
    trace_run(p->right, l->b, state + p->left->steps, copy + p->left->steps);
}

static void write_values(blend *b, const pl_label *label, int *value)
{
    const pl_ring *f = b->f;
    int n = f->n_outside, block = f->n_block, copies = f->chain->copies;
    int hubs = b->border.n_hubs;
    int *index = PL_NEW_N(b->tmp, int, b->ends->n + 1), *state = PL_NEW_N(b->tmp, int, copies - 1);
    int *inner = PL_NEW_N(b->tmp, int, b->cell->n);
    const pl_label **copy = PL_NEW_N(b->tmp, const pl_label *, copies - 2);
    pl_label_trace(label, index);
    for (int v = 0; v < n + block; v++) value[v] = b->ends->value[v][index[v]];
    for (int v = n + block; v < n + 2 * block; v++)
        value[v + (copies - 2) * block] = b->ends->value[v][index[v]];
    int hub = pl_border_state(b->ends, b->outer, hubs, index);
    state[0] = pl_border_state(b->ends, b->outer + hubs, b->half, index);
    state[copies - 2] = pl_border_state(b->ends, b->outer + hubs + b->half, b->half, index);
    const product *top = b->top[hub];
    trace_run(top, &top->cell[state[0] * b->states + state[copies - 2]].at[index[b->ends->n]],
              state, copy);
    for (int i = 0; i < copies - 2; i++) {
        pl_label_trace(copy[i], inner);
        pl_border_set(b->cell, b->inner, hubs, hub, inner);
        pl_border_set(b->cell, b->inner + hubs, b->half, state[i], inner);
        pl_border_set(b->cell, b->inner + hubs + b->half, b->half, state[i + 1], inner);
        for (int v = 0; v < block; v++)
            value[n + (i + 1) * block + v] = b->cell->value[hubs + v][inner[hubs + v]];
    }
}

static void offer_best(blend *b, pl_front front, pl_arena *out)
{
    int *value = pl_arena_get(out, (size_t)pl_chain_variables(b->f->chain), sizeof *value);
    for (int i = front.n - 1; i >= 0; i--) {
        write_values(b, &front.at[i], value);
        pl_cost cost = pl_chain_cost(b->f->chain, value);
        if (cost.memory > b->m->cap) continue; /* by a rounding */
        if (cost.time < b->m->cost.time) {
            b->m->cost = cost;
            b->m->value = value;
        }
        return;
    }
}

/* True when the fronts held every choice of the ring whose weighted cost is at most `most`. */
static bool mix_ring(const pl_ring *f, double most, pl_mix *m, pl_arena *out)
{
    blend b = { .f = f, .m = m, .tmp = pl_arena_new("mixed copies") };
    bool exact = false;
    if (open_nets(&b, most)) {
        pl_front *cell = read_cell(&b);
        int count = b.states * b.states;
        b.top = PL_NEW_N(b.tmp, const product *, b.hubs);
        for (int h = 0; h < b.hubs; h++)
            b.top[h] = power(&b, cell + h * count, f->chain->copies - 2);
        add_runs(&b);
        bool *keep = PL_NEW_N(b.tmp, bool, b.ends->n + 1);
        keep[b.ends->n] = true; /* the number of a label is no choice */
        pl_fronts_run(b.rest, pl_fronts_order(b.rest, keep));
        const pl_front *rest = pl_fronts_rest(b.rest, 0, NULL);
        if (!b.rest->stopped) offer_best(&b, rest[0], out);
        exact = !b.rest->stopped && !b.inside->thinned && !b.middle->thinned && !b.rest->thinned;
        m->work += b.middle->work + b.rest->work;
    }
    if (b.inside) m->work += b.inside->work;
    pl_arena_free(b.tmp);
    return exact;
}

/* The values that the known choices have in any copy. */
static bool **list_known(const pl_ring *f, int n_known, int *const *known, pl_arena *a)
{
    bool **keep = PL_NEW_N(a, bool *, f->ring->n);
    for (int v = 0; v < f->ring->n; v++) {
        int size = f->ring->size[v], n = f->n_outside, step = f->n_block;
        keep[v] = PL_NEW_N(a, bool, size);
        for (int k = 0; k < n_known; k++)
            for (int i = 0; i < (v < n ? 1 : f->chain->copies); i++)
                for (int x = 0; x < size; x++)
                    keep[v][x] |= f->ring->value[v][x] == known[k][v + i * step];
    }
    return keep;
}

/* Everything that could be better, when that is little. */
static bool mix_all(const pl_ring *f, pl_mix *m, pl_arena *out, pl_arena *tmp)
{
    double goal = pl_solve_goal(m->cost.time, m->o), most = goal + m->price * m->cap;
    pl_net *ends = pl_ring_ends(f, 1, 0, tmp);
    settle(ends, MOST_PASSES);
    pl_ring_settle(f, tmp);
    pl_ring *all = pl_ring_keep(f, pl_ring_below(f, ends, most, tmp), NULL, tmp);
    m->work += ends->work;
    if (all) pl_ring_remember(all, tmp);
    if (all && !mix_ring(all, most, m, out)) return false;
    m->bound = fmax(m->bound, fmin(goal, pl_solve_goal(m->cost.time, m->o)));
    return true;
}

static void mix_known(const pl_ring *f, int n_known, int *const *known, pl_mix *m, pl_arena *out,
                      pl_arena *tmp)
{
    pl_ring *few = pl_ring_keep(f, list_known(f, n_known, known, tmp), NULL, tmp);
    if (!few) return;
    pl_ring_remember(few, tmp);
    mix_ring(few, pl_solve_goal(m->cost.time, m->o) + m->price * m->cap, m, out);
}

void pl_mix_chain(const pl_chain *c, const pl_ring *like, int n_known, int *const *known, pl_mix *m,
                  pl_arena *out)
{
    pl_arena *tmp = pl_arena_new("mixtures");
    pl_ring *f = pl_ring_new(c, (pl_cost){ 1, m->price }, like, tmp);
    if (f) {
        settle(f->ring, MOST_PASSES);
        bool small = f->n_block <= 16; /* else fronts of all values are out of reach */
        if (!(small && mix_all(f, m, out, tmp))) {
            mix_known(f, 2, known, m, out, tmp);
            mix_known(f, n_known, known, m, out, tmp);
        }
        m->work += f->work;
    }
    pl_arena_free(tmp);
}
