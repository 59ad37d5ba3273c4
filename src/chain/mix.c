/* Mixtures in a chain (mix.h): the run of copies as in ring_solve.c, with a Pareto front for
 * each entry. Read pl_mix_chain() at the end and mix_ring(). */
#include "chain/separator.h"
#include "search/front.h"
#include "chain/mix.h"

#include <string.h>

enum { MOST_PASSES = 16, LEAST_LABELS = 3 };

/* Labels of a run of copies, by the states at its two ends. */
typedef struct product {
    int steps;
    const struct product *left, *right; /* NULL: one copy */
    pl_front *cell;                     /* [states][states] */
} product;

typedef struct blend {
    const pl_ring *ring;
    pl_mix *mix;
    pl_separator separator;
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
    double room = (double)b->mix->options->work_limit / 128 / cube;
    int n = (int)sqrt(room);
    return n > b->mix->options->front ? b->mix->options->front : n;
}

static pl_fronts *fronts_of(const blend *b, pl_net *net, int more, double slack, int most)
{
    pl_fronts limits = { .price = b->mix->price,
                         .slack = slack,
                         .budget = INFINITY,
                         .most = most,
                         .grain = 1e-13 * fabs(b->mix->cost.time),
                         .work_limit = b->mix->options->work_limit / 16 };
    int *size = PL_NEW_N(b->tmp, int, net->n + more);
    memcpy(size, net->size, (size_t)net->n * sizeof *size);
    for (int i = 0; i < more; i++) size[net->n + i] = 1;
    pl_fronts *fronts = pl_fronts_new(net->n + more, size, &limits, b->tmp);
    pl_fronts_net(fronts, net);
    return fronts;
}

/* The nets of one copy and of the ends, and what is left of the cap for their labels. */
static bool open_nets(blend *b, double most)
{
    const pl_ring *ring = b->ring;
    pl_net *all = pl_ring_ends(ring, 1, 0, b->tmp);
    settle(all, 8);
    b->separator = pl_separator_of(ring, b->tmp);
    b->half = b->separator.n_left + b->separator.n_right;
    if (b->separator.states * b->separator.states * b->separator.hub_states > 1 << 14) return false;
    b->states = (int)b->separator.states;
    b->hubs = (int)b->separator.hub_states;
    int n = pl_separator_scope_size(&b->separator);
    bool *fixed = PL_NEW_N(b->tmp, bool, b->separator.n_hubs + ring->n_block + b->half);
    bool *fixed_ends;
    pl_net *cell = pl_separator_cell(ring, &b->separator, fixed, b->tmp);
    b->cell = pl_net_keep(cell, pl_net_keeps(cell, b->tmp), fixed, true, b->tmp);
    b->inner = pl_separator_scope(ring, &b->separator, b->tmp);
    b->outer = PL_NEW_N(b->tmp, int, n);
    b->ends = pl_separator_ends(ring, &b->separator, b->outer, &fixed_ends, b->tmp);
    if (!b->cell) return false;
    settle(b->ends, 8);
    double slack = ring->chain->copies > 3 ? most - all->bound : INFINITY;
    int labels = labels_for(b);
    if (labels < LEAST_LABELS) return false;
    b->inside = fronts_of(b, b->cell, 0, slack, labels);
    b->rest = fronts_of(b, b->ends, 1, most - b->ends->bound, b->mix->options->front);
    double runs = ring->chain->copies - 2, budget = b->mix->cap + 1e-12 * fabs(b->mix->cap);
    budget -= b->rest->memory + runs * b->inside->memory;
    b->inside->budget = b->rest->budget = budget;
    b->middle = pl_fronts_new(0, NULL, b->inside, b->tmp);
    b->middle->slack = most - b->ends->bound;
    b->middle->work_limit = b->mix->options->work_limit;
    pl_order order = pl_fronts_order(b->inside, fixed);
    if (order.work > (double)b->inside->work_limit) return false;
    pl_fronts_run(b->inside, order);
    return !b->inside->stopped;
}

/* The cell's fronts by hub and the two states; a variable in both separators has one value. */
static pl_front *read_cell(blend *b)
{
    int n = pl_separator_scope_size(&b->separator), distinct = 0;
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
    pl_fronts_add(b->rest, pl_separator_scope_size(&b->separator), b->outer, cell);
}

static void trace_run(const product *p, const pl_label *label, int *state, const pl_label **copy)
{
    if (!p->left) {
        copy[0] = label;
        return;
    }
    state[p->left->steps] = label->var;
    trace_run(p->left, label->a, state, copy);
    trace_run(p->right, label->b, state + p->left->steps, copy + p->left->steps);
}

static void write_values(blend *b, const pl_label *label, int *value)
{
    const pl_ring *ring = b->ring;
    int n = ring->n_outside, block = ring->n_block, copies = ring->chain->copies;
    int hubs = b->separator.n_hubs;
    int *index = PL_NEW_N(b->tmp, int, b->ends->n + 1), *state = PL_NEW_N(b->tmp, int, copies - 1);
    int *inner = PL_NEW_N(b->tmp, int, b->cell->n);
    const pl_label **copy = PL_NEW_N(b->tmp, const pl_label *, copies - 2);
    pl_label_trace(label, index);
    for (int v = 0; v < n + block; v++) value[v] = b->ends->value[v][index[v]];
    for (int v = n + block; v < n + 2 * block; v++)
        value[v + (copies - 2) * block] = b->ends->value[v][index[v]];
    int hub = pl_separator_state(b->ends, b->outer, hubs, index);
    state[0] = pl_separator_state(b->ends, b->outer + hubs, b->half, index);
    state[copies - 2] = pl_separator_state(b->ends, b->outer + hubs + b->half, b->half, index);
    const product *top = b->top[hub];
    trace_run(top, &top->cell[state[0] * b->states + state[copies - 2]].at[index[b->ends->n]],
              state, copy);
    for (int i = 0; i < copies - 2; i++) {
        pl_label_trace(copy[i], inner);
        pl_separator_set(b->cell, b->inner, hubs, hub, inner);
        pl_separator_set(b->cell, b->inner + hubs, b->half, state[i], inner);
        pl_separator_set(b->cell, b->inner + hubs + b->half, b->half, state[i + 1], inner);
        for (int v = 0; v < block; v++)
            value[n + (i + 1) * block + v] = b->cell->value[hubs + v][inner[hubs + v]];
    }
}

static void offer_best(blend *b, pl_front front, pl_arena *out)
{
    int *value = pl_arena_get(out, (size_t)pl_chain_variables(b->ring->chain), sizeof *value);
    for (int i = front.n - 1; i >= 0; i--) {
        write_values(b, &front.at[i], value);
        pl_cost cost = pl_chain_cost(b->ring->chain, value);
        if (cost.memory > b->mix->cap) continue; /* by a rounding */
        if (cost.time < b->mix->cost.time) {
            b->mix->cost = cost;
            b->mix->value = value;
        }
        return;
    }
}

/* True when the fronts held every choice of the ring whose weighted cost is at most `most`. */
static bool mix_ring(const pl_ring *ring, double most, pl_mix *mix, pl_arena *out)
{
    blend b = { .ring = ring, .mix = mix, .tmp = pl_arena_new("mixed copies") };
    bool exact = false;
    if (open_nets(&b, most)) {
        pl_front *cell = read_cell(&b);
        int count = b.states * b.states;
        b.top = PL_NEW_N(b.tmp, const product *, b.hubs);
        for (int h = 0; h < b.hubs; h++)
            b.top[h] = power(&b, cell + h * count, ring->chain->copies - 2);
        add_runs(&b);
        bool *keep = PL_NEW_N(b.tmp, bool, b.ends->n + 1);
        keep[b.ends->n] = true; /* the number of a label is no choice */
        pl_fronts_run(b.rest, pl_fronts_order(b.rest, keep));
        const pl_front *rest = pl_fronts_rest(b.rest, 0, NULL);
        if (!b.rest->stopped) offer_best(&b, rest[0], out);
        exact = !b.rest->stopped && !b.inside->thinned && !b.middle->thinned && !b.rest->thinned;
        mix->work += b.middle->work + b.rest->work;
    }
    if (b.inside) mix->work += b.inside->work;
    pl_arena_free(b.tmp);
    return exact;
}

/* The values that the known choices have in any copy. */
static bool **list_known(const pl_ring *ring, int n_known, int *const *known, pl_arena *arena)
{
    bool **keep = PL_NEW_N(arena, bool *, ring->net->n);
    for (int v = 0; v < ring->net->n; v++) {
        int size = ring->net->size[v], n = ring->n_outside, step = ring->n_block;
        keep[v] = PL_NEW_N(arena, bool, size);
        for (int k = 0; k < n_known; k++)
            for (int i = 0; i < (v < n ? 1 : ring->chain->copies); i++)
                for (int x = 0; x < size; x++)
                    keep[v][x] |= ring->net->value[v][x] == known[k][v + i * step];
    }
    return keep;
}

/* Everything that could be better, when that is little. */
static bool mix_all(const pl_ring *ring, pl_mix *mix, pl_arena *out, pl_arena *tmp)
{
    double goal = pl_solve_goal(mix->cost.time, mix->options), most = goal + mix->price * mix->cap;
    pl_net *ends = pl_ring_ends(ring, 1, 0, tmp);
    settle(ends, MOST_PASSES);
    pl_ring_settle(ring, tmp);
    pl_ring *all = pl_ring_keep(ring, pl_ring_below(ring, ends, most, tmp), NULL, tmp);
    mix->work += ends->work;
    if (all) pl_ring_remember(all, tmp);
    if (all && !mix_ring(all, most, mix, out)) return false;
    mix->bound = fmax(mix->bound, fmin(goal, pl_solve_goal(mix->cost.time, mix->options)));
    return true;
}

static void mix_known(const pl_ring *ring, int n_known, int *const *known, pl_mix *mix,
                      pl_arena *out, pl_arena *tmp)
{
    pl_ring *few = pl_ring_keep(ring, list_known(ring, n_known, known, tmp), NULL, tmp);
    if (!few) return;
    pl_ring_remember(few, tmp);
    mix_ring(few, pl_solve_goal(mix->cost.time, mix->options) + mix->price * mix->cap, mix, out);
}

void pl_mix_chain(const pl_chain *chain, const pl_ring *like, int n_known, int *const *known,
                  pl_mix *mix, pl_arena *out)
{
    pl_arena *tmp = pl_arena_new("mixtures");
    pl_ring *ring = pl_ring_new(chain, (pl_cost){ 1, mix->price }, like, tmp);
    if (ring) {
        settle(ring->net, MOST_PASSES);
        bool small = ring->n_block <= 16; /* else fronts of all values are out of reach */
        if (!(small && mix_all(ring, mix, out, tmp))) {
            mix_known(ring, 2, known, mix, out, tmp);
            mix_known(ring, n_known, known, mix, out, tmp);
        }
        mix->work += ring->work;
    }
    pl_arena_free(tmp);
}
