/* The least of max(f1, f0), two sums of tables: computing with what cannot be hidden beside it, and
 * all messages. For every price p in [0, 1] the least of p f1 + (1 - p) f0 is a bound, concave in
 * p. The lines of two answers on either side of its top meet at the next price to try (Kelley's
 * cutting planes, in one dimension). */
#include "cost/problem.h"

#include <math.h>
#include <string.h>

/* -- tables at a price ------------------------------------------------------------------------- */

static const double *scale(const double *from, int n, double by, pl_arena *arena)
{
    if (by == 1) return from;
    double *to = PL_NEW_N(arena, double, n);
    for (int i = 0; i < n; i++) to[i] = isinf(from[i]) ? from[i] : by * from[i];
    return to;
}

static pl_sum priced_vars(const pl_variables *vars, double price, pl_arena *arena)
{
    int *sizes = PL_NEW_N(arena, int, vars->n + 1);
    const double **time = PL_NEW_N(arena, const double *, vars->n + 1);
    const double **memory = PL_NEW_N(arena, const double *, vars->n + 1);
    for (int i = 0; i < vars->n; i++) {
        const pl_variable *v = &vars->at[i];
        sizes[i] = v->n;
        time[i] = scale(v->time, v->n, v->kind == PL_VARIABLE_NODE ? price : 1, arena);
        memory[i] = v->memory;
    }
    return (pl_sum){ .n = vars->n, .n_values = sizes, .time = time, .memory = memory };
}

static const double *uncover(const pl_edge *p, int n, double price, pl_arena *arena)
{
    if (p->hidden <= 0 || price <= 0) return p->sum.time;
    double *to = PL_NEW_N(arena, double, n);
    for (int i = 0; i < n; i++) {
        double t = p->sum.time[i];
        to[i] = isinf(t) ? t : t - price * fmin(p->hidden * t, p->window);
    }
    return to;
}

static const pl_sum_edge *priced_edges(const pl_problem *t, pl_edge_kind kind, double price,
                                       pl_arena *arena)
{
    const pl_edges *from = &t->edges[kind];
    const pl_variables *a = &t->vars[kind == PL_EDGE_BLOCK || kind == PL_EDGE_LINK];
    const pl_variables *b = &t->vars[kind != PL_EDGE_OUTSIDE];
    pl_sum_edge *to = PL_NEW_N(arena, pl_sum_edge, from->n + 1);
    for (int i = 0; i < from->n; i++) {
        const pl_edge *p = &from->at[i];
        to[i] = p->sum;
        to[i].time = uncover(p, a->at[p->sum.a].n * b->at[p->sum.b].n, price, arena);
    }
    return to;
}

/* Computing at one price, messages at another. */
static pl_chain make_chain(const pl_problem *t, double computing, double messages, pl_arena *arena)
{
    pl_chain c = { .outside = priced_vars(&t->vars[0], computing, arena),
                   .block = priced_vars(&t->vars[1], computing, arena),
                   .copies = t->copies };
    const pl_sum_edge *edge[PL_N_EDGES];
    for (int k = 0; k < PL_N_EDGES; k++)
        edge[k] = priced_edges(t, (pl_edge_kind)k, messages, arena);
    c.outside.edge = edge[PL_EDGE_OUTSIDE], c.outside.n_edges = t->edges[PL_EDGE_OUTSIDE].n;
    c.block.edge = edge[PL_EDGE_BLOCK], c.block.n_edges = t->edges[PL_EDGE_BLOCK].n;
    c.link = edge[PL_EDGE_LINK], c.n_links = t->edges[PL_EDGE_LINK].n;
    c.first = edge[PL_EDGE_FIRST], c.n_first = t->edges[PL_EDGE_FIRST].n;
    c.last = edge[PL_EDGE_LAST], c.n_last = t->edges[PL_EDGE_LAST].n;
    c.every = edge[PL_EDGE_EVERY], c.n_every = t->edges[PL_EDGE_EVERY].n;
    return c;
}

pl_chain pl_problem_chain(const pl_problem *t, double price, pl_arena *arena)
{
    return make_chain(t, price, price, arena);
}

pl_chain pl_problem_raw(const pl_problem *t, pl_arena *arena)
{
    return make_chain(t, 1, 0, arena);
}

/* -- the price --------------------------------------------------------------------------------- */

enum { MOST_PRICES = 5, MOST_SIDES = 4, EFFORT = 1 << 27, CAPPED_EFFORT = 1 << 27 };
static const double ROUGH = 1e-2;  /* gap of the answers between the ends of the range, of copies */
static const double ENOUGH = 1e-3; /* of a step: so near the top of the bound no price is sought */
static const double SAME_PRICE = 1e-2; /* what would be found again */
static const double NEAR_LEAST =
    1.05; /* times the least memory is as good                           */
static const double LEAST_PRICE = 1. / 16; /* below, too many choices take no time at all */

/* An answer at a price: the line p f1 + (1 - p) f0 of its choice. */
typedef struct line {
    double computing, sending; /* f1, f0 */
} line;

typedef struct sides {
    int n;
    pl_answer at[MOST_SIDES];
} sides;

typedef struct prices {
    pl_problem *t;
    double cap;
    bool tied;
    const pl_search_options *options;
    pl_arena *out;
    pl_chain ends[2]; /* at price 0 and 1 */
    pl_answer *best;
    sides side[2]; /* answers that compute, and that send, for longer */
    double bound, bound_price;
} prices;

pl_cost pl_problem_cost(const pl_problem *t, const int *value)
{
    pl_arena *tmp = pl_arena_new("tables cost");
    pl_chain computing = pl_problem_chain(t, 1, tmp), sending = pl_problem_chain(t, 0, tmp);
    pl_cost a = pl_chain_cost(&computing, value), b = pl_chain_cost(&sending, value);
    pl_arena_free(tmp);
    return (pl_cost){ fmax(a.time, b.time), a.memory };
}

static void keep_best(prices *x, pl_answer a, line l)
{
    a.time = fmax(l.computing, l.sending);
    a.work += x->best->work;
    if (!x->best->value || a.time < x->best->time)
        *x->best = a;
    else
        x->best->work = a.work;
}

/* The line of an answer, which is kept where it is the fastest. */
static line keep(prices *x, pl_answer a)
{
    line l = { pl_chain_cost(&x->ends[1], a.value).time, pl_chain_cost(&x->ends[0], a.value).time };
    sides *s = &x->side[l.sending > l.computing];
    s->at[s->n < MOST_SIDES ? s->n++ : MOST_SIDES - 1] = a;
    keep_best(x, a, l);
    return l;
}

/* Of all answers the best one at a price: the next one is to be better. */
static const int *find_start(const prices *x, const pl_chain *priced)
{
    const int *best = NULL;
    double least = INFINITY;
    for (int k = 0; k < 2; k++)
        for (int i = 0; i < x->side[k].n; i++) {
            double time = pl_chain_cost(priced, x->side[k].at[i].value).time;
            if (time < least) least = time, best = x->side[k].at[i].value;
        }
    return best;
}

/* The best choice at a price, and the best bound. Between the ends of the range, where many plans
 * cost nearly the same, a rough answer has to do. */
static bool try_price(prices *x, double price, line *l, pl_err *err)
{
    pl_chain c = price == 1 ? x->t->chain : pl_problem_chain(x->t, price, x->out);
    pl_search_options o = x->options ? *x->options : (pl_search_options){ 0 };
    pl_answer a;
    if (price < 1) o.effort = EFFORT;
    if (!o.start) o.start = find_start(x, &c);
    if (x->cap < INFINITY) o.effort = price < 1 ? CAPPED_EFFORT / 2 : CAPPED_EFFORT;
    if (price < 1 && x->t->copies > 1) o.gap = fmax(o.gap, ROUGH);
    PL_TRY((x->tied ? pl_chain_tied : pl_chain_min)(&c, x->cap, &o, x->out, &a, err));
    if (a.bound > x->bound) x->bound = a.bound, x->bound_price = price;
    *l = keep(x, a);
    return true;
}

static bool is_closed(const prices *x)
{
    return x->best->time - x->bound <= 1e-9 * x->best->time;
}

/* Between a choice that sends for longer than it computes and one the other way round. */
static bool close_in(prices *x, line sends, line computes, pl_err *err)
{
    double last = 1;
    for (int i = 2; i < MOST_PRICES && !is_closed(x); i++) {
        double falls = sends.sending - sends.computing;
        double rises = computes.computing - computes.sending;
        double price = (sends.sending - computes.sending) / (falls + rises);
        double meet = sends.sending - price * falls;
        line l;
        if (!(price > 0 && price < 1) || meet - x->bound <= ENOUGH * meet) break;
        if (fabs(price - last) < SAME_PRICE) break;
        last = price;
        PL_TRY(try_price(x, price, &l, err));
        *(l.sending > l.computing ? &sends : &computes) = l;
    }
    return true;
}

/* Where the cheapest choice at price 1 sends for longer than it computes. */
static bool search_prices(prices *x, line hides, pl_err *err)
{
    for (double price = 0.5; hides.sending > hides.computing; price /= 2) {
        line other;
        if (price < LEAST_PRICE || is_closed(x)) break;
        PL_TRY(try_price(x, price, &other, err));
        if (other.computing > other.sending) {
            PL_TRY(close_in(x, hides, other, err));
            break;
        }
        hides = other;
    }
    return true;
}

/* -- under a cap ------------------------------------------------------------------------------- */

/* Without a cap prices are found sooner: a bound, and what is best then may fit. */
static bool search_capped(prices *x, line hides, pl_err *err)
{
    line l;
    pl_answer best = { 0 };
    prices open = *x;
    open.cap = INFINITY;
    open.best = &best;
    open.bound = 0, open.bound_price = 1;
    memset(open.side, 0, sizeof open.side);
    PL_TRY(try_price(&open, 1, &l, err));
    PL_TRY(search_prices(&open, l, err));
    x->best->work += best.work;
    if (open.bound > x->bound) x->bound = open.bound, x->bound_price = open.bound_price;
    if (best.memory <= x->cap) {
        best.work = x->best->work;
        if (best.time < x->best->time) *x->best = best;
        return true;
    }
    return search_prices(x, hides, err);
}

bool pl_problem_min(pl_problem *t, double cap, bool tied, const pl_search_options *options,
                    pl_arena *out, pl_answer *answer, pl_err *err)
{
    line hides;
    *answer = (pl_answer){ 0 };
    t->chain = pl_problem_chain(t, 1, out);
    prices x = { t,      cap,       tied, options, out, { pl_problem_chain(t, 0, out), t->chain },
                 answer, { { 0 } }, 0,    1 };
    PL_TRY(try_price(&x, 1, &hides, err));
    if (hides.sending > hides.computing && !is_closed(&x))
        PL_TRY(cap < INFINITY ? search_capped(&x, hides, err) : search_prices(&x, hides, err));
    answer->bound = fmin(x.bound, answer->time);
    answer->proven = is_closed(&x);
    if (x.bound_price != 1) t->chain = pl_problem_chain(t, x.bound_price, out);
    return true;
}

bool pl_problem_least(const pl_problem *t, pl_arena *out, pl_answer *answer, pl_err *err)
{
    const pl_search_options o = { .gap = ENOUGH, .effort = EFFORT / 8, .no_mixing = true };
    pl_arena *tmp = pl_arena_new("least memory");
    pl_chain c = pl_problem_chain(t, 1, tmp);
    bool ok = pl_chain_least(&c, &o, out, answer, err);
    pl_answer fast;
    pl_err why = { 0 };
    if (ok && pl_chain_min(&c, answer->memory * NEAR_LEAST, &o, out, &fast, &why)) *answer = fast;
    pl_arena_free(tmp);
    return ok;
}
