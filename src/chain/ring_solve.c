/* A chain of few values, exactly. Read solve() near the end: the cell of one copy is eliminated
 * to a table over its two separators (open_cell, read_cell), a power of which joins the ends
 * (join_powers); write_values() goes all the way back. */
#include "chain/ring_solve.h"
#include "chain/separator.h"
#include "chain/power.h"

#include <string.h>

/* One chain being solved. */
typedef struct run {
    const pl_ring *ring;
    const pl_search_options *options;
    pl_separator separator;
    int states, hubs; /* products of the separator's values, of the hubs' values              */
    int *scope;       /* of the cell's table: hubs, left state, right state                 */
    pl_net *cell, *ends;
    pl_eliminate *inside, *rest;
    pl_power *power; /* [hubs]                                                             */
    int64_t work;
    pl_arena *tmp;
} run;

static bool fits(const run *r, pl_order order)
{
    return order.most <= (double)r->options->table_limit &&
           order.work <= (double)r->options->work_limit;
}

/* Eliminates the inside of a copy. */
static bool open_cell(run *r, pl_order *order)
{
    const pl_ring *ring = r->ring;
    pl_separator *sep = &r->separator;
    *sep = pl_separator_of(ring, r->tmp);
    if (sep->states * sep->states * sep->hub_states > (double)r->options->table_limit) return false;
    r->states = (int)sep->states;
    r->hubs = (int)sep->hub_states;
    bool *fixed = PL_NEW_N(r->tmp, bool, sep->n_hubs + ring->n_block + sep->n_left + sep->n_right);
    pl_net *cell = pl_separator_cell(ring, sep, fixed, r->tmp);
    r->cell = pl_solve_cut(cell, fixed, r->options, r->tmp);
    if (!r->cell) return true;
    r->scope = pl_separator_scope(ring, sep, r->tmp);
    r->inside = pl_solve_tables(r->cell, r->tmp);
    *order = pl_order_find(r->cell->n, r->cell->size, r->inside->n_tables, r->inside->table, fixed,
                           (double)r->options->work_limit, r->tmp);
    return fits(r, *order);
}

/* The table over both separators. A variable that is in both is there twice: where the two
 * differ the entry is illegal. */
static double *read_cell(const run *r)
{
    int n = pl_separator_scope_size(&r->separator), distinct = 0,
        stride = pl_power_stride(r->states);
    int *var = PL_NEW_N(r->tmp, int, n), *same = PL_NEW_N(r->tmp, int, n);
    int *at = PL_NEW_N(r->tmp, int, n);
    for (int d = 0; d < n; d++) {
        for (same[d] = 0; r->scope[same[d]] != r->scope[d];) same[d]++;
        if (same[d] == d) var[distinct++] = r->scope[d];
    }
    const double *rest = pl_eliminate_rest(r->inside, distinct, var);
    size_t rows = (size_t)r->hubs * (size_t)r->states;
    double *out = pl_arena_get(r->tmp, rows * (size_t)stride, sizeof *out);
    for (size_t row = 0; row < rows; row++)
        for (int y = 0; y < stride; y++) {
            size_t index = 0;
            bool legal = y < r->states;
            for (int d = 0; d < n; d++) {
                if (same[d] == d)
                    index = index * (size_t)r->cell->size[r->scope[d]] + (size_t)at[d];
                legal &= at[d] == at[same[d]];
            }
            out[row * (size_t)stride + (size_t)y] = legal ? rest[index] : INFINITY;
            for (int d = n - 1; d >= 0 && y < r->states; d--) {
                if (++at[d] < r->cell->size[r->scope[d]]) break;
                at[d] = 0;
            }
        }
    return out;
}

/* The run's table without the padding: [hubs][states][states]. */
static double *join_powers(const run *r)
{
    size_t n = (size_t)r->states, stride = (size_t)pl_power_stride(r->states);
    double *out = pl_arena_get(r->tmp, (size_t)r->hubs * n * n, sizeof *out), *to = out;
    for (int h = 0; h < r->hubs; h++)
        for (size_t i = 0; i < n; i++, to += n)
            memcpy(to, pl_power_cost(&r->power[h]) + i * stride, n * sizeof *to);
    return out;
}

/* Copies between the same two states are the same. */
static void write_middle(run *r, const int *state, int hub, int *value)
{
    int n_copies = r->ring->chain->copies - 2, n_block = r->ring->n_block,
        n_hubs = r->separator.n_hubs;
    int half = r->separator.n_left + r->separator.n_right;
    int *index = PL_NEW_N(r->tmp, int, r->cell->n), *seen = PL_NEW_N(r->tmp, int, n_copies);
    int n_seen = 0;
    for (int i = 0; i < n_copies; i++) {
        int *to = value + i * n_block, k = 0;
        while (k < n_seen && (state[seen[k]] != state[i] || state[seen[k] + 1] != state[i + 1]))
            k++;
        if (k < n_seen) {
            memcpy(to, value + seen[k] * n_block, (size_t)n_block * sizeof *to);
            continue;
        }
        seen[n_seen++] = i;
        pl_separator_set(r->cell, r->scope, n_hubs, hub, index);
        pl_separator_set(r->cell, r->scope + n_hubs, half, state[i], index);
        pl_separator_set(r->cell, r->scope + n_hubs + half, half, state[i + 1], index);
        pl_eliminate_trace(r->inside, index);
        for (int v = 0; v < n_block; v++) to[v] = r->cell->value[n_hubs + v][index[n_hubs + v]];
    }
}

static int *write_values(run *r, const int *scope, pl_arena *out)
{
    const pl_ring *ring = r->ring;
    int n = ring->n_outside, b = ring->n_block, copies = ring->chain->copies;
    int n_hubs = r->separator.n_hubs, half = r->separator.n_left + r->separator.n_right;
    int *value = pl_arena_get(out, (size_t)pl_chain_variables(ring->chain), sizeof *value);
    int *index = PL_NEW_N(r->tmp, int, r->ends->n), *state = PL_NEW_N(r->tmp, int, copies - 1);
    pl_eliminate_trace(r->rest, index);
    for (int v = 0; v < n + b; v++) value[v] = r->ends->value[v][index[v]];
    int *last = value + n + (copies - 1) * b;
    for (int v = 0; v < b; v++) last[v] = r->ends->value[n + b + v][index[n + b + v]];
    int hub = pl_separator_state(r->ends, scope, n_hubs, index);
    state[0] = pl_separator_state(r->ends, scope + n_hubs, half, index);
    state[copies - 2] = pl_separator_state(r->ends, scope + n_hubs + half, half, index);
    pl_power_trace(&r->power[hub], state);
    write_middle(r, state, hub, value + n + b);
    return value;
}

/* All but the answer's memory is in r->tmp. */
static pl_ring_answer solve(run *r, double slack, pl_arena *out)
{
    pl_ring_answer answer = { .cost = INFINITY };
    int copies = r->ring->chain->copies;
    pl_order inside, rest;
    if (!open_cell(r, &inside)) return answer;
    if (!r->cell) {
        answer.fits = true;
        return answer;
    }
    int *scope = PL_NEW_N(r->tmp, int, pl_separator_scope_size(&r->separator));
    bool *fixed;
    r->ends = pl_separator_ends(r->ring, &r->separator, scope, &fixed, r->tmp);
    r->ends = pl_solve_cut(r->ends, fixed, r->options, r->tmp);
    if (!r->ends) {
        answer.fits = true;
        return answer;
    }
    r->rest = pl_solve_tables(r->ends, r->tmp);
    if (pl_separator_scope_size(&r->separator))
        pl_eliminate_add(r->rest, pl_separator_scope_size(&r->separator), scope, NULL);
    rest = pl_order_find(r->ends->n, r->ends->size, r->rest->n_tables, r->rest->table, NULL,
                         (double)r->options->work_limit, r->tmp);
    if (!fits(r, rest)) return answer;
    answer.fits = true;
    pl_eliminate_run(r->inside, inside);
    const double *cost = read_cell(r);
    size_t size = (size_t)r->states * (size_t)pl_power_stride(r->states);
    r->power = PL_NEW_N(r->tmp, pl_power, r->hubs);
    for (int h = 0; h < r->hubs; h++) {
        r->power[h] = pl_power_of(cost + (size_t)h * size, r->states, copies - 2, slack, r->tmp);
        r->work += r->power[h].work;
    }
    if (pl_separator_scope_size(&r->separator))
        r->rest->table[r->rest->n_tables - 1].cost = join_powers(r);
    else
        r->rest->constant += pl_power_cost(&r->power[0])[0];
    pl_eliminate_run(r->rest, rest);
    answer.cost = *pl_eliminate_rest(r->rest, 0, NULL);
    answer.work = r->work + r->inside->work + r->rest->work + r->cell->work + r->ends->work;
    if (pl_net_is_legal(answer.cost)) answer.value = write_values(r, scope, out);
    return answer;
}

pl_ring_answer pl_ring_solve(const pl_ring *ring, double slack, const pl_search_options *options,
                             pl_arena *out)
{
    run r = { .ring = ring, .options = options, .tmp = pl_arena_new("run of copies") };
    pl_ring_answer answer = solve(&r, slack, out);
    pl_arena_free(r.tmp);
    return answer;
}
