/* The least of max(f1, f0), two sums of tables: computing with what cannot be hidden beside it, and
 * all messages. For every price p in [0, 1] the least of p f1 + (1 - p) f0 is a bound, concave in
 * p. The lines of two answers on either side of its top meet at the next price to try (Kelley's
 * cutting planes, in one dimension). */
#include "plan/tables.h"

#include <math.h>

/* -- tables at a price ------------------------------------------------------------------------- */

static const double *scale(const double *from, int n, double by, pl_arena *arena)
{
    if (by == 1) return from;
    double *to = PL_NEW_N(arena, double, n);
    for (int i = 0; i < n; i++) to[i] = isinf(from[i]) ? from[i] : by * from[i];
    return to;
}

static pl_sum priced_vars(const pl_vars *vars, double price, pl_arena *arena)
{
    int *sizes = PL_NEW_N(arena, int, vars->n + 1);
    const double **time = PL_NEW_N(arena, const double *, vars->n + 1);
    const double **memory = PL_NEW_N(arena, const double *, vars->n + 1);
    for (int i = 0; i < vars->n; i++) {
        const pl_var *v = &vars->at[i];
        sizes[i] = v->n;
        time[i] = scale(v->time, v->n, v->kind == PL_VAR_NODE ? price : 1, arena);
        memory[i] = v->memory;
    }
    return (pl_sum){ .n = vars->n, .n_values = sizes, .time = time, .memory = memory };
}

static const double *uncover(const pl_pair *p, int n, double price, pl_arena *arena)
{
    if (p->hidden <= 0 || price <= 0) return p->sum.time;
    double *to = PL_NEW_N(arena, double, n);
    for (int i = 0; i < n; i++) {
        double t = p->sum.time[i];
        to[i] = isinf(t) ? t : t - price * fmin(p->hidden * t, p->window);
    }
    return to;
}

static const pl_sum_pair *priced_pairs(const pl_tables *t, pl_pair_kind kind, double price,
                                       pl_arena *arena)
{
    const pl_pairs *from = &t->pairs[kind];
    const pl_vars *a = &t->vars[kind == PL_PAIR_BLOCK || kind == PL_PAIR_LINK];
    const pl_vars *b = &t->vars[kind != PL_PAIR_OUTSIDE];
    pl_sum_pair *to = PL_NEW_N(arena, pl_sum_pair, from->n + 1);
    for (int i = 0; i < from->n; i++) {
        const pl_pair *p = &from->at[i];
        to[i] = p->sum;
        to[i].time = uncover(p, a->at[p->sum.a].n * b->at[p->sum.b].n, price, arena);
    }
    return to;
}

pl_chain pl_tables_chain(const pl_tables *t, double price, pl_arena *arena)
{
    pl_chain c = { .outside = priced_vars(&t->vars[0], price, arena),
                   .block = priced_vars(&t->vars[1], price, arena),
                   .copies = t->copies };
    const pl_sum_pair *pair[PL_N_PAIRS];
    for (int k = 0; k < PL_N_PAIRS; k++) pair[k] = priced_pairs(t, (pl_pair_kind)k, price, arena);
    c.outside.pair = pair[PL_PAIR_OUTSIDE], c.outside.n_pairs = t->pairs[PL_PAIR_OUTSIDE].n;
    c.block.pair = pair[PL_PAIR_BLOCK], c.block.n_pairs = t->pairs[PL_PAIR_BLOCK].n;
    c.link = pair[PL_PAIR_LINK], c.n_links = t->pairs[PL_PAIR_LINK].n;
    c.first = pair[PL_PAIR_FIRST], c.n_first = t->pairs[PL_PAIR_FIRST].n;
    c.last = pair[PL_PAIR_LAST], c.n_last = t->pairs[PL_PAIR_LAST].n;
    c.every = pair[PL_PAIR_EVERY], c.n_every = t->pairs[PL_PAIR_EVERY].n;
    return c;
}

/* -- the price --------------------------------------------------------------------------------- */

enum { MOST_PRICES = 8, MOST_MIXES = 4 };
static const double ENOUGH = 1e-3; /* of a step: so near the top of the bound no price is sought */
static const double LEAST_PRICE = 1. / 16; /* below, too many choices take no time at all */

/* An answer at a price: the line p f1 + (1 - p) f0 of its choice. */
typedef struct line {
    double computing, sending; /* f1, f0 */
} line;

typedef struct prices {
    pl_tables *t;
    double cap;
    bool tied;
    const pl_search_options *options;
    pl_arena *out;
    pl_chain ends[2]; /* at price 0 and 1 */
    pl_answer *best;
    double bound, bound_price;
} prices;

pl_cost pl_tables_cost(const pl_tables *t, const int *value)
{
    pl_arena *tmp = pl_arena_new("tables cost");
    pl_chain computing = pl_tables_chain(t, 1, tmp), sending = pl_tables_chain(t, 0, tmp);
    pl_cost a = pl_chain_cost(&computing, value), b = pl_chain_cost(&sending, value);
    pl_arena_free(tmp);
    return (pl_cost){ fmax(a.time, b.time), a.memory };
}

/* The best choice at a price. Keeps the fastest, and the best bound. */
static bool try_price(prices *x, double price, line *l, pl_err *err)
{
    pl_chain c = price == 1 ? x->t->chain : pl_tables_chain(x->t, price, x->out);
    pl_answer a;
    PL_TRY(x->tied ? pl_chain_tied(&c, x->cap, x->options, x->out, &a, err)
                   : pl_chain_min(&c, x->cap, x->options, x->out, &a, err));
    l->computing = pl_chain_cost(&x->ends[1], a.value).time;
    l->sending = pl_chain_cost(&x->ends[0], a.value).time;
    a.time = fmax(l->computing, l->sending);
    int64_t work = x->best->work + a.work;
    if (a.bound > x->bound) x->bound = a.bound, x->bound_price = price;
    if (!x->best->value || a.time < x->best->time) *x->best = a;
    x->best->work = work;
    return true;
}

static bool is_closed(const prices *x)
{
    return x->best->time - x->bound <= 1e-9 * x->best->time;
}

/* Between a choice that sends for longer than it computes and one the other way round. */
static bool close_in(prices *x, line sends, line computes, pl_err *err)
{
    for (int i = 2; i < MOST_PRICES && !is_closed(x); i++) {
        double falls = sends.sending - sends.computing;
        double rises = computes.computing - computes.sending;
        double price = (sends.sending - computes.sending) / (falls + rises);
        double meet = sends.sending - price * falls;
        line l;
        if (!(price > 0 && price < 1) || meet - x->bound <= ENOUGH * meet) break;
        PL_TRY(try_price(x, price, &l, err));
        *(l.sending > l.computing ? &sends : &computes) = l;
    }
    return true;
}

/* -- between two prices ------------------------------------------------------------------------ */

/* What is illegal is so by its time. */
static const double *drop_illegal(const double *from, int n, pl_arena *arena)
{
    double *to = PL_NEW_N(arena, double, n);
    for (int i = 0; i < n; i++) to[i] = isinf(from[i]) ? 0 : from[i];
    return to;
}

static pl_sum sum_of_two(const pl_sum *time, const pl_sum *other, pl_arena *arena)
{
    pl_sum s = *time;
    const double **memory = PL_NEW_N(arena, const double *, s.n + 1);
    for (int i = 0; i < s.n; i++) memory[i] = drop_illegal(other->time[i], s.n_values[i], arena);
    s.memory = memory;
    return s;
}

static const pl_sum_pair *pairs_of_two(const pl_sum_pair *time, const pl_sum_pair *other, int n,
                                       const int *n_a, const int *n_b, pl_arena *arena)
{
    pl_sum_pair *to = PL_NEW_N(arena, pl_sum_pair, n + 1);
    for (int i = 0; i < n; i++) {
        to[i] = time[i];
        to[i].memory = drop_illegal(other[i].time, n_a[time[i].a] * n_b[time[i].b], arena);
    }
    return to;
}

/* Computing is the time, and sending what there is a cap on. */
static pl_chain chain_of_two(const pl_chain *x, const pl_chain *y, pl_arena *arena)
{
    pl_chain c = *x;
    const int *out = x->outside.n_values, *block = x->block.n_values;
    c.outside = sum_of_two(&x->outside, &y->outside, arena);
    c.block = sum_of_two(&x->block, &y->block, arena);
    c.outside.pair =
        pairs_of_two(x->outside.pair, y->outside.pair, x->outside.n_pairs, out, out, arena);
    c.block.pair =
        pairs_of_two(x->block.pair, y->block.pair, x->block.n_pairs, block, block, arena);
    c.link = pairs_of_two(x->link, y->link, x->n_links, block, block, arena);
    c.first = pairs_of_two(x->first, y->first, x->n_first, out, block, arena);
    c.last = pairs_of_two(x->last, y->last, x->n_last, out, block, arena);
    c.every = pairs_of_two(x->every, y->every, x->n_every, out, block, arena);
    return c;
}

/* Equal blocks may be planned in two ways, some so and some so: the least computing of those that
 * send for no longer than the bound, or than what that took. */
static void mix(prices *x)
{
    pl_arena *tmp = pl_arena_new("mix");
    pl_chain c = chain_of_two(&x->ends[1], &x->ends[0], tmp);
    double limit = x->bound;
    for (int i = 0; i < MOST_MIXES; i++) {
        pl_answer a;
        pl_err none = { 0 };
        if (!pl_chain_min(&c, limit, x->options, x->out, &a, &none)) break;
        double bytes = pl_chain_cost(&x->ends[1], a.value).memory;
        double computing = a.time, sending = a.memory, bound = a.bound;
        a.time = fmax(computing, sending), a.memory = bytes, a.price = 0;
        x->best->work += a.work;
        a.work = x->best->work;
        if (a.time < x->best->time && bytes <= x->cap) a.bound = x->bound, *x->best = a;
        /* whatever sends for no longer than the limit computes for so long at least */
        x->bound = fmax(x->bound, fmin(limit, bound));
        if (computing <= limit * (1 + ENOUGH)) break;
        limit = (limit + computing) / 2;
    }
    pl_arena_free(tmp);
}

bool pl_tables_min(pl_tables *t, double cap, bool tied, const pl_search_options *options,
                   pl_arena *out, pl_answer *answer, pl_err *err)
{
    line hides, other;
    *answer = (pl_answer){ 0 };
    t->chain = pl_tables_chain(t, 1, out);
    prices x = {
        t, cap, tied, options, out, { pl_tables_chain(t, 0, out), t->chain }, answer, 0, 1
    };
    PL_TRY(try_price(&x, 1, &hides, err));
    for (double price = 0.5; hides.sending > hides.computing; price /= 2) {
        if (price < LEAST_PRICE || is_closed(&x)) break;
        PL_TRY(try_price(&x, price, &other, err));
        if (other.computing > other.sending) {
            PL_TRY(close_in(&x, hides, other, err));
            break;
        }
        hides = other;
    }
    if (!tied && answer->time - x.bound > ENOUGH * answer->time) mix(&x);
    answer->bound = fmin(x.bound, answer->time);
    answer->proven = is_closed(&x);
    if (x.bound_price != 1) t->chain = pl_tables_chain(t, x.bound_price, out);
    return true;
}
