/* The least of max(f1, f0), two sums of tables, within a memory cap: computing with what cannot be
 * hidden beside it, and all messages. For every price p in [0, 1] of the one sum against the other
 * and every price m of memory, the least of
 *
 *   p f1 + (1 - p) f0 + m (memory - cap)
 *
 * is a bound. Answers at such prices are planes over (p, m), and the highest point under those
 * known is where to look next (top.h). The answers that meet there lie around the best one: of many
 * copies, so many like this and so many like that come near it (chain/splice.h). Where copies are
 * few, the cap is searched at one price first (chain/cap.h). Read search() near the end. */
#include "chain/splice.h"
#include "cost/problem.h"
#include "cost/top.h"

#include <math.h>
#include <string.h>

/* Answers kept; places looked at; answers that are spliced. */
enum { MOST_KNOWN = 32, MOST_LOOKS = 24, SPLICED = 4 };

/* Entries read at one place: at least so many, or so many passes through all tables. After so many
 * times that no place is begun; a search of the cap takes twice that. */
enum { EFFORT = 1 << 26, LOOKS_EFFORT = 8, CAP_EFFORT = 2 };
static const double PASSES = 256;

/* With so many copies their splices come near what a search of the cap finds; else the cap is
 * searched, at the first and at so many prices more. */
enum { MANY_COPIES = 8, MOST_FEW = 3 };
static const double SAME_PRICE = 1e-2; /* what would be found again */

/* The gap of an answer at a place: a part of what the bound can still rise, within these. */
static const double ROUGH_PART = 0.1, ROUGH[] = { 1e-3, 1e-2 };

/* So near the top, the bound is not raised further; nearer than that choices are spliced. With a
 * choice so near the bound all ends, with a few copies sooner. */
static const double AT_TOP = 1e-3, NEAR_TOP = 1e-2, ENOUGH = 2e-3, ENOUGH_FEW = 1e-2;

static const double NEAR_LEAST = 1.05; /* times the least memory is as good */

typedef struct least {
    pl_problem *t;
    double cap;
    bool tied;
    const pl_search_options *options;
    pl_arena *out;
    pl_chain ends[2]; /* at price 0 and 1 */
    int n;
    const int *value[MOST_KNOWN]; /* answers, whether they fit or not */
    pl_plane plane[MOST_KNOWN];
    pl_answer best;               /* of those that fit */
    double bound, price, memory_price; /* the best bound, and where it was found */
    int64_t work, effort; /* entries read; to be read at one place                              */
    pl_chain_last *last;
} least;

static pl_search_options options_of(const least *x)
{
    return x->options ? *x->options : (pl_search_options){ 0 };
}

static bool is_closed(const least *x)
{
    return x->best.value && x->best.time - x->bound <= 1e-9 * x->best.time;
}

static void raise(least *x, double bound, double price, double memory_price)
{
    if (bound > x->bound) x->bound = bound, x->price = price, x->memory_price = memory_price;
}

/* The answer's plane; false: one like it is known. With no room left it is only compared. */
static bool know(least *x, const pl_answer *a)
{
    const pl_plane p = { pl_chain_cost(&x->ends[1], a->value).time,
                         pl_chain_cost(&x->ends[0], a->value).time,
                         x->cap < INFINITY ? a->memory - x->cap : 0 };
    const double time = fmax(p.computing, p.sending);
    if (p.over <= 0 && (!x->best.value || time < x->best.time)) {
        x->best = *a;
        x->best.time = time;
    }
    for (int i = 0; i < x->n; i++)
        if (!memcmp(&x->plane[i], &p, sizeof p)) return false;
    if (x->n == MOST_KNOWN) return false;
    x->value[x->n] = a->value;
    x->plane[x->n++] = p;
    return true;
}

/* -- one place --------------------------------------------------------------------------------- */

/* The known answer that is best there. */
static const int *find_start(const least *x, double price, double memory_price)
{
    const int *best = NULL;
    double low = INFINITY;
    for (int i = 0; i < x->n; i++) {
        double height = pl_plane_height(&x->plane[i], price, memory_price);
        if (height < low) low = height, best = x->value[i];
    }
    return best;
}

/* The fastest within the cap at a price. */
static bool search_price(least *x, double price, pl_err *err)
{
    pl_chain c = price == 1 ? x->t->chain : pl_problem_chain(x->t, price, x->out);
    pl_search_options o = options_of(x);
    pl_answer a;
    if (price < 1 || x->cap < INFINITY) o.effort = CAP_EFFORT * x->effort;
    if (!o.start) o.start = x->best.value;
    PL_TRY((x->tied ? pl_chain_tied : pl_chain_min)(&c, x->cap, &o, x->out, &a, err));
    raise(x, a.bound, price, a.price);
    x->work += a.work;
    know(x, &a);
    return true;
}

/* All copies tied, as a chain of nothing but its outside. */
static bool search_tied(const least *x, const pl_chain *chain, double memory_price,
                        pl_search_options *o, pl_answer *a, pl_err *err)
{
    pl_arena *tmp = pl_arena_new("tied copies");
    pl_chain one = { .outside = pl_chain_tie(chain, tmp), .copies = 1 };
    o->start = NULL;
    bool ok = pl_chain_priced(&one, memory_price, NULL, o, tmp, a, err);
    if (ok) a->value = pl_chain_untie(chain, a->value, x->out);
    pl_arena_free(tmp);
    return ok;
}

/* The least at a place, and its bound; *news: it was not known. */
static bool look(least *x, double price, double memory_price, double gap, bool *news, pl_err *err)
{
    pl_chain c = pl_problem_chain(x->t, price, x->out);
    pl_search_options o = options_of(x);
    pl_answer a;
    o.effort = x->effort;
    o.gap = fmax(o.gap, gap);
    o.start = find_start(x, price, memory_price);
    PL_TRY(x->tied ? search_tied(x, &c, memory_price, &o, &a, err)
                   : pl_chain_priced(&c, memory_price, x->last, &o, x->out, &a, err));
    raise(x, a.bound - (x->cap < INFINITY ? memory_price * x->cap : 0), price, memory_price);
    x->work += a.work;
    *news = know(x, &a);
    return true;
}

/* What takes the least memory fits, or nothing does. */
static bool look_least(least *x, pl_err *err)
{
    pl_search_options o = options_of(x);
    pl_answer a;
    o.start = NULL;
    PL_TRY(pl_chain_least(&x->ends[1], &o, x->out, &a, err));
    x->work += a.work;
    if (a.memory > x->cap)
        return pl_err_set(err, PL_EINFEASIBLE,
                          "nothing fits in %.6g of memory: the least that %s takes is %.6g", x->cap,
                          a.proven ? "any choice" : "was found", a.memory);
    know(x, &a);
    return true;
}

/* -- all places -------------------------------------------------------------------------------- */

/* Of the answers that meet at the top, and those that pass it nearest. */
static void splice(least *x, const pl_top *top)
{
    const pl_chain_pair pair = { { &x->ends[1], &x->ends[0] } };
    const int *known[SPLICED];
    bool taken[MOST_KNOWN] = { false };
    int n = 0;
    if (x->tied || x->t->copies < 2) return;
    for (; n < SPLICED && n < x->n; n++) {
        int best = -1;
        double low = INFINITY;
        for (int i = 0; i < x->n; i++) {
            double height = pl_plane_height(&x->plane[i], top->price, top->memory_price);
            if (!taken[i] && height < low) low = height, best = i;
        }
        if (best < 0) break;
        taken[best] = true;
        known[n] = x->value[best];
    }
    pl_cost cost = { x->best.value ? x->best.time : INFINITY, 0 };
    int *value = PL_NEW_N(x->out, int, pl_chain_variables(&x->ends[0]));
    if (pl_chain_splice(pair, x->cap, n, known, value, &cost))
        know(x, &(pl_answer){ .value = value, .memory = cost.memory });
}

static bool is_near(const least *x, double gap)
{
    return x->best.value && x->best.time - x->bound <= gap * x->best.time;
}

/* Where the bound may still be highest, again and again. */
static bool search_places(least *x, pl_err *err)
{
    const int64_t stop = x->work + LOOKS_EFFORT * x->effort;
    bool news = true;
    for (int i = 0; i < MOST_LOOKS && news && x->work < stop; i++) {
        const pl_top top = pl_top_of(x->n, x->plane);
        const double rise = top.height - x->bound;
        if (rise <= NEAR_TOP * top.height) splice(x, &top);
        if (rise <= AT_TOP * top.height || is_near(x, ENOUGH)) return true;
        const double gap = fmin(fmax(ROUGH_PART * rise / top.height, ROUGH[0]), ROUGH[1]);
        PL_TRY(look(x, top.price, top.memory_price, gap, &news, err));
    }
    const pl_top top = pl_top_of(x->n, x->plane);
    splice(x, &top);
    return true;
}

/* Copies too few for their splices: the cap at prices where what fits computes and sends for about
 * as long. */
static bool search_few(least *x, pl_err *err)
{
    double last = 1;
    for (int k = 0; k < MOST_FEW && !is_near(x, ENOUGH_FEW); k++) {
        pl_plane fits[MOST_KNOWN];
        int n = 0;
        for (int i = 0; i < x->n; i++)
            if (x->plane[i].over <= 0) fits[n] = x->plane[i], fits[n++].over = 0;
        const pl_top top = pl_top_of(n, fits);
        if (fabs(top.price - last) < SAME_PRICE) break;
        last = top.price;
        PL_TRY(search_price(x, top.price, err));
    }
    return true;
}

static bool search(least *x, pl_err *err)
{
    const bool capped = x->cap < INFINITY, few = x->tied || x->t->copies < MANY_COPIES;
    bool news;
    if (!capped || few) PL_TRY(search_price(x, 1, err));
    if (is_closed(x) || (few && is_near(x, ENOUGH_FEW))) return true;
    if (capped && !few) {
        PL_TRY(look(x, 1, 0, 0, &news, err));
        if (is_closed(x)) return true;
    }
    if (capped) PL_TRY(look_least(x, err));
    PL_TRY(search_places(x, err));
    return !capped || !few || search_few(x, err);
}

static double count_entries(int n, const pl_sum_edge *edge, const int *na, const int *nb)
{
    double entries = 0;
    for (int i = 0; i < n; i++) entries += (double)na[edge[i].a] * nb[edge[i].b];
    return entries;
}

/* Of the edges' tables, of equal copies once. */
static double entries_of(const pl_chain *c)
{
    const int *outside = c->outside.n_values, *block = c->block.n_values;
    return count_entries(c->outside.n_edges, c->outside.edge, outside, outside) +
           count_entries(c->block.n_edges, c->block.edge, block, block) +
           count_entries(c->n_links, c->link, block, block) +
           count_entries(c->n_every, c->every, outside, block);
}

bool pl_problem_min(pl_problem *t, double cap, bool tied, const pl_search_options *options,
                    pl_arena *out, pl_answer *answer, pl_err *err)
{
    t->chain = pl_problem_chain(t, 1, out);
    least x = { .t = t, .cap = cap, .tied = tied, .options = options, .out = out,
                .ends = { pl_problem_chain(t, 0, out), t->chain },
                .bound = -INFINITY, .price = 1, .last = pl_chain_last_new() };
    x.effort = (int64_t)fmax(EFFORT, PASSES * entries_of(&t->chain));
    bool ok = search(&x, err);
    pl_chain_last_free(x.last);
    if (!ok) return false;
    *answer = x.best;
    answer->bound = fmin(x.bound, answer->time);
    answer->proven = is_closed(&x);
    answer->price = x.memory_price;
    answer->work = x.work;
    if (x.price != 1) t->chain = pl_problem_chain(t, x.price, out);
    return true;
}

bool pl_problem_least(const pl_problem *t, pl_arena *out, pl_answer *answer, pl_err *err)
{
    const pl_search_options o = { .gap = AT_TOP, .effort = EFFORT / 8, .no_mixing = true };
    pl_arena *tmp = pl_arena_new("least memory");
    pl_chain c = pl_problem_chain(t, 1, tmp);
    bool ok = pl_chain_least(&c, &o, out, answer, err);
    pl_answer fast;
    pl_err why = { 0 };
    if (ok && pl_chain_min(&c, answer->memory * NEAR_LEAST, &o, out, &fast, &why)) *answer = fast;
    pl_arena_free(tmp);
    return ok;
}
