/* The larger of two sums at its least, within a cap (pair.h). Read search() near the end:
 * search_price() is the cap at one price, search_among() the same among mixtures of answers,
 * look_at() places without it, search_places() all places. */
#include "chain/pair.h"
#include "chain/among.h"
#include "chain/at_price.h"
#include "chain/seam.h"
#include "chain/splice.h"
#include "chain/top.h"
#include "search/cap.h"
#include "search/solve.h"

#include "base/each.h"

#include <math.h>
#include <string.h>

/* Answers kept; places looked at; answers that are spliced. */
enum { MOST_KNOWN = 32, MOST_LOOKS = 24, MOST_TOGETHER = 2, SPLICED = 4, MOST_SEEN = 64 };

/* Entries read at one place: at least so many, or so many passes through all tables, as far as that
 * is left of what was asked for (or the least of these); a part of them beside the top, where only
 * answers are looked for. After so many times that no place is begun; a search of the cap takes
 * twice that. */
enum {
    LEAST_EFFORT = 1 << 22,
    EFFORT = 1 << 26,
    LOOKS_EFFORT = 8,
    CAP_EFFORT = 2,
    ANSWER_PART = 4,
    SEAM_EFFORT = 1 << 23
};
static const double PASSES = 256;

/* Splices of many copies come near what a search of the cap finds. With few it is searched, at so
 * many prices: among all choices where tables have no more entries than this, else among mixtures
 * of the answers. */
enum { MOST_FEW = 3, MOST_EXACT = 1 << 16 };
static const double SAME_PRICE = 1e-2; /* what would be found again */

/* The gap of an answer at a place: a part of what the bound can still rise, within these. */
static const double ROUGH_PART = 0.1, ROUGH[] = { 1e-3, 1e-2 };

/* That of one that is only asked for its memory. */
static const double COARSE = 0.1;

/* So near the top, the bound is not raised further; nearer than that choices are spliced. With a
 * choice so near the bound all ends, with a few copies sooner. */
static const double AT_TOP = 1e-3, NEAR_TOP = 1e-2, ENOUGH = 2e-3, ENOUGH_FEW = 1e-2, NEAR = 1e-2;

/* Where only messages count, any computing is as good as another: with a little of it, a place
 * shows nearly as much, and much sooner. The second where the first does not show enough. */
static const double LEAST_PRICE = 0.02, LAST_PRICE = 0.005;

/* A place has no less than that part of the last one's price: answers far apart do not mix. */
static const double STEP = 8;

/* A place that was looked at, at any cap: at one so near there is no more to see. */
typedef struct seen {
    double price, memory_price;
    double bound, unsure; /* of the weighted sum; see prices.unsure */
    bool spent;           /* all its effort: looked at again, it would show no more */
} seen;
static const double SAME_PLACE = 1e-3;

typedef struct prices {
    pl_chain_pair pair;
    double cap;
    bool tied, few;            /* copies are */
    bool exact;                /* these are searched below the cap, not mixed */
    bool whole;                /* without a cap all was looked at */
    pl_search_options options; /* with defaults */
    pl_arena *out;
    int n;
    int *value[MOST_KNOWN]; /* answers, whether they fit or not */
    double memory[MOST_KNOWN];
    pl_plane plane[MOST_KNOWN];
    pl_answer best;                    /* of those that fit */
    int seam[2];                       /* answers whose mixtures were looked for */
    double bound, price, memory_price; /* the best bound, and where it was found */
    double last;          /* price of the last place, 0 before the first                         */
    double unsure;        /* how much higher it would be, had that place been searched to the end */
    int n_seen, n_before; /* before this search, by those of other caps */
    seen seen[MOST_SEEN];
    int64_t work, effort; /* entries read; to be read at one place                              */
    pl_chain_opened **opened;
} prices;

struct pl_chain_opened {
    prices found; /* without a cap; what is of one call alone is out of date (recall)           */
    int n;        /* the answers of the last cap                                                */
    int *value[MOST_KNOWN];
    double memory[MOST_KNOWN];
    int n_seen; /* the places of all caps */
    seen seen[MOST_SEEN];
};

pl_cost pl_chain_pair_cost(pl_chain_pair pair, const int *value)
{
    pl_cost a = pl_chain_cost(pair.sum[0], value), b = pl_chain_cost(pair.sum[1], value);
    return (pl_cost){ fmax(a.time, b.time), a.memory };
}

/* -- what is known ----------------------------------------------------------------------------- */

static int64_t least_of(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* What is known will do: the time is over, or it is as fast as was asked for. */
static bool is_late(const prices *x)
{
    return x->best.value && (x->best.time < x->options.target || pl_solve_is_late(&x->options));
}

static bool is_near(const prices *x, double gap)
{
    return x->best.value && x->best.time - x->bound <= gap * x->best.time;
}

static bool is_closed(const prices *x)
{
    return is_near(x, 1e-9);
}

/* The last answer known computes for no less than it sends: there the time is that of one price. */
static bool is_hidden(const prices *x)
{
    return x->n && x->plane[x->n - 1].sending <= x->plane[x->n - 1].computing;
}

static void raise(prices *x, double bound, double unsure, double price, double memory_price)
{
    if (bound <= x->bound) return;
    x->bound = bound, x->unsure = unsure;
    x->price = price, x->memory_price = memory_price;
}

/* The answer's plane; false: one like it is known. With no room left it is only compared. */
static bool know(prices *x, const pl_answer *a)
{
    const pl_plane p = { pl_chain_cost(x->pair.sum[0], a->value).time,
                         pl_chain_cost(x->pair.sum[1], a->value).time,
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
    x->memory[x->n] = a->memory;
    x->plane[x->n++] = p;
    return true;
}

/* -- one place --------------------------------------------------------------------------------- */

/* The known answer that is best there. */
static const int *find_start(const prices *x, double price, double memory_price)
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
static bool search_price(prices *x, double price, pl_err *err)
{
    pl_arena *tmp = pl_arena_new("price");
    const pl_chain c = pl_chain_at_price(x->pair, price, tmp);
    pl_search_options o = x->options;
    pl_answer a;
    if (price < 1 || x->cap < INFINITY) o.effort = least_of(o.effort, CAP_EFFORT * x->effort);
    if (!o.start) o.start = x->best.value;
    const bool ok = (x->tied ? pl_chain_tied : pl_chain_min)(&c, x->cap, &o, x->out, &a, err);
    pl_arena_free(tmp);
    if (!ok) return false;
    raise(x, a.bound, a.time - a.bound, price, a.price);
    x->work += a.work;
    know(x, &a);
    return true;
}

/* All copies tied, as a chain of nothing but its outside. */
static bool search_tied(const pl_chain *chain, double memory_price, pl_search_options *o,
                        pl_arena *out, pl_answer *a, pl_err *err)
{
    pl_arena *tmp = pl_arena_new("tied copies");
    pl_chain one = { .outside = pl_chain_tie(chain, tmp), .copies = 1 };
    o->start = NULL;
    bool ok = pl_chain_priced(&one, memory_price, o, tmp, a, err);
    if (ok) a->value = pl_chain_untie(chain, a->value, out);
    pl_arena_free(tmp);
    return ok;
}

/* The bound of a place is one at any cap. */
static void see(prices *x, seen s)
{
    const double over = x->cap < INFINITY ? s.memory_price * x->cap : 0;
    raise(x, s.bound - over, s.unsure, s.price, s.memory_price);
    if (x->n_seen < MOST_SEEN) x->seen[x->n_seen++] = s;
}

static bool is_seen(const prices *x, double price, double memory_price)
{
    for (int i = 0; i < x->n_seen; i++) {
        const seen *s = &x->seen[i];
        if ((i < x->n_before || s->spent) && fabs(s->price - price) <= SAME_PLACE &&
            fabs(s->memory_price - memory_price) <= SAME_PLACE * memory_price)
            return true;
    }
    return false;
}

/* A place to look at, and what is found there. */
typedef struct look {
    double price, memory_price;
    double gap;     /* so near the bound comes to the answer (0: as near as can be), */
    int64_t effort; /* within this                                                   */
    pl_arena *out;
    pl_answer answer;
    bool found;
    pl_err why;
} look;

static void search_place(const prices *x, look *l)
{
    pl_arena *tmp = pl_arena_new("place");
    const pl_chain c = pl_chain_at_price(x->pair, l->price, tmp);
    pl_search_options o = x->options;
    o.effort = least_of(o.effort, l->effort);
    o.gap = fmax(o.gap, l->gap);
    o.start = find_start(x, l->price, l->memory_price);
    o.no_unroll = l->memory_price > 0; /* its bound is better */
    l->found = x->tied ? search_tied(&c, l->memory_price, &o, l->out, &l->answer, &l->why)
                       : pl_chain_priced(&c, l->memory_price, &o, l->out, &l->answer, &l->why);
    pl_arena_free(tmp);
}

/* What was found; *news: it was not known. */
static bool take_look(prices *x, look *l, bool *news, pl_err *err)
{
    const pl_answer *a = &l->answer;
    pl_arena_adopt(x->out, l->out);
    if (!l->found) {
        *err = l->why;
        return false;
    }
    see(x, (seen){ l->price, l->memory_price, a->bound,
                   a->time + l->memory_price * a->memory - a->bound, a->work >= l->effort });
    x->last = l->price;
    x->work += a->work;
    *news |= know(x, a);
    return true;
}

typedef struct looks {
    const prices *x;
    int n;
    look *at[MOST_TOGETHER];
} looks;

static void search_one(void *with, int i)
{
    const looks *all = with;
    search_place(all->x, all->at[i]);
}

/* Looks at places, side by side, of which those that were seen below another cap tell nothing, nor
 * those that were searched as long as any is. */
static bool look_at(prices *x, int n, look at[], bool *news, pl_err *err)
{
    looks all = { .x = x };
    bool ok = true;
    *news = false;
    for (int i = 0; i < n; i++) {
        if (is_seen(x, at[i].price, at[i].memory_price)) continue;
        look *l = all.at[all.n++] = &at[i];
        const int64_t left = x->options.effort - x->work;
        l->effort = least_of(l->effort, left > LEAST_EFFORT ? left : LEAST_EFFORT);
        l->out = pl_arena_new("look");
    }
    pl_each(all.n, search_one, &all);
    for (int i = 0; i < all.n; i++) ok &= take_look(x, all.at[i], news, err);
    return ok;
}

/* What takes the least memory fits, or nothing does. */
static bool look_least(prices *x, pl_err *err)
{
    pl_search_options o = x->options;
    pl_answer a;
    o.start = NULL;
    PL_TRY(pl_chain_least(x->pair.sum[0], &o, x->out, &a, err));
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
static void splice(prices *x, const pl_top *top)
{
    const int *known[SPLICED];
    bool taken[MOST_KNOWN] = { false };
    int n = 0;
    if (x->tied || x->pair.sum[0]->copies < 2) return;
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
    int *value = PL_NEW_N(x->out, int, pl_chain_variables(x->pair.sum[1]));
    if (pl_chain_splice(x->pair, x->cap, n, known, value, &cost))
        know(x, &(pl_answer){ .value = value, .memory = cost.memory });
}

/* Two answers that could be mixed, and what comes of it. */
typedef struct mixture {
    pl_seam seam;
    const pl_search_options *options;
    int *value;
    pl_cost cost;
    int64_t work;
    bool found;
} mixture;

static void mix_answers(void *with, int i)
{
    mixture *m = (mixture *)with + i;
    m->found = pl_chain_seam(&m->seam, m->options, m->value, &m->cost, &m->work);
}

/* The two known answers that would be fastest if copies could be mixed freely; false: no two are
 * faster than what is known. */
static bool find_two(const prices *x, int two[2])
{
    double least = x->best.value ? (1 - ENOUGH) * x->best.time : INFINITY;
    bool found = false;
    for (int i = 0; i < x->n; i++)
        for (int j = 0; j < i; j++) {
            const double time = pl_plane_mixed(&x->plane[i], &x->plane[j]);
            if (time < least) least = time, two[0] = i, two[1] = j, found = true;
        }
    return found;
}

/* Of those two, either first. Not below a cap: what fits so by the tables takes longer in programs,
 * as the copies of one kind wait for what the others send. */
static void search_seams(prices *x, const pl_top *top)
{
    mixture m[2] = { { .found = false } };
    pl_search_options o = x->options;
    int two[2];
    if (x->tied || x->few || x->cap < INFINITY || is_near(x, ENOUGH) || !find_two(x, two)) return;
    if (two[0] == x->seam[0] && two[1] == x->seam[1]) return;
    memcpy(x->seam, two, sizeof two);
    pl_arena *tmp = pl_arena_new("seams");
    const pl_chain chain = pl_chain_at_price(x->pair, top->price, tmp);
    o.effort = SEAM_EFFORT;
    o.gap = fmax(o.gap, ROUGH[0]);
    for (int i = 0; i < 2; i++)
        m[i] = (mixture){ .seam = { .pair = x->pair,
                                    .at_price = &chain,
                                    .memory_price = top->memory_price,
                                    .cap = x->cap,
                                    .from = x->value[two[i]],
                                    .to = x->value[two[!i]] },
                          .options = &o,
                          .value = PL_NEW_N(x->out, int, pl_chain_variables(&chain)) };
    pl_each(2, mix_answers, m);
    for (int i = 0; i < 2; i++) {
        x->work += m[i].work;
        if (m[i].found) know(x, &(pl_answer){ .value = m[i].value, .memory = m[i].cost.memory });
    }
    pl_arena_free(tmp);
}

/* What a look at the top would raise is what the last search left open, and the last look found
 * nothing better than `before`: another one would do no more. */
static bool is_idle(const prices *x, double rise, double most, double before)
{
    return is_near(x, NEAR) && x->best.time > (1 - AT_TOP) * before && rise - x->unsure <= most;
}

/* Where looks at the top find nothing new and its answers do not mix well, as they are far apart:
 * places on both sides of it have others. */
static bool search_beside(prices *x, const pl_top *top, int64_t stop, pl_err *err)
{
    static const double parts[] = { 1. / 8, 1. / 3 };
    for (int i = 0; i < 2 && !is_near(x, NEAR) && x->work < stop && !is_late(x); i++) {
        look at[2] = { 0 };
        int n = 0;
        bool news;
        for (int end = 0; end < 2; end++)
            if (top->price != end)
                at[n++] = (look){ .price = top->price + (end - top->price) * parts[i],
                                  .memory_price = top->memory_price,
                                  .gap = ROUGH[1],
                                  .effort = x->effort / ANSWER_PART };
        PL_TRY(look_at(x, n, at, &news, err));
        if (news) splice(x, top);
    }
    return true;
}

/* One place. Once another cap was searched, only its answers are asked for. */
static bool look_once(prices *x, double price, double memory_price, double gap, bool *news,
                      pl_err *err)
{
    const int64_t effort = x->n_before ? x->effort / ANSWER_PART : x->effort;
    look at = { .price = price, .memory_price = memory_price, .gap = gap, .effort = effort };
    return look_at(x, 1, &at, news, err);
}

/* Where the bound may still be highest, again and again. */
static bool search_places(prices *x, pl_err *err)
{
    const int64_t stop = x->work + least_of(x->options.effort, LOOKS_EFFORT * x->effort);
    const double least_price = x->few ? 0 : LEAST_PRICE;
    double before = INFINITY;
    bool news = true;
    for (int i = 0; i < MOST_LOOKS && news && x->work < stop && !is_late(x); i++) {
        const pl_top top = pl_top_of(x->n, x->plane);
        const double rise = top.height - x->bound, most = AT_TOP * top.height;
        if (rise <= NEAR_TOP * top.height) {
            splice(x, &top);
            search_seams(x, &top);
        }
        if (rise <= most || is_near(x, ENOUGH)) return true;
        if (is_idle(x, rise, most, before)) break;
        before = x->best.value ? x->best.time : INFINITY;
        const double gap = fmin(fmax(ROUGH_PART * rise / top.height, ROUGH[0]), ROUGH[1]);
        const double price = fmax(fmax(top.price, least_price), x->last / STEP);
        PL_TRY(look_once(x, price, top.memory_price, gap, &news, err));
    }
    pl_top top = pl_top_of(x->n, x->plane);
    splice(x, &top);
    if (top.price < least_price && !is_near(x, NEAR) && x->work < stop && !is_late(x)) {
        const double price = fmax(top.price, LAST_PRICE);
        PL_TRY(look_once(x, price, top.memory_price, ROUGH[0], &news, err));
        top = pl_top_of(x->n, x->plane);
        splice(x, &top);
    }
    search_seams(x, &top);
    return x->tied || x->pair.sum[0] == x->pair.sum[1] || search_beside(x, &top, stop, err);
}

/* The top under the answers that fit, whatever memory they leave. */
static pl_top top_of_fitting(const prices *x)
{
    pl_plane fits[MOST_KNOWN];
    int n = 0;
    for (int i = 0; i < x->n; i++)
        if (x->plane[i].over <= 0) fits[n] = x->plane[i], fits[n++].over = 0;
    return pl_top_of(n, fits);
}

/* The fastest mixture of all answers at a price. False: none that is new. */
static bool search_among(prices *x, double price)
{
    pl_arena *tmp = pl_arena_new("among known choices");
    const pl_among among = pl_chain_among(x->pair, x->n, x->value, tmp);
    const pl_chain c = pl_chain_at_price(among.pair, price, tmp);
    pl_search_options o = x->options;
    pl_answer a;
    pl_err why = { 0 };
    o.effort = least_of(o.effort, x->effort / ANSWER_PART);
    o.start = NULL;
    bool found = pl_chain_min(&c, x->cap, &o, tmp, &a, &why);
    if (found) {
        x->work += a.work;
        a.value = pl_among_choice(&among, a.value, x->out);
        found = know(x, &a);
    }
    pl_arena_free(tmp);
    return found;
}

/* Copies too few for their splices: the cap at prices where what fits computes and sends for about
 * as long. */
static bool search_few(prices *x, pl_err *err)
{
    const double enough = x->exact ? ENOUGH_FEW : ENOUGH;
    double last = x->exact ? 1 : -1;
    for (int k = 0; k < MOST_FEW && !is_near(x, enough) && !is_late(x); k++) {
        const double price = top_of_fitting(x).price;
        if (fabs(price - last) < SAME_PRICE) break;
        last = price;
        if (x->exact)
            PL_TRY(search_price(x, price, err));
        else if (!search_among(x, price))
            break;
    }
    return true;
}

/* What the caller knows. */
static void take_start(prices *x)
{
    const size_t n = (size_t)pl_chain_variables(x->pair.sum[0]);
    if (!x->options.start) return;
    int *value = pl_arena_get(x->out, n, sizeof *value);
    memcpy(value, x->options.start, n * sizeof *value);
    const pl_cost cost = pl_chain_pair_cost(x->pair, value);
    if (isfinite(cost.time)) know(x, &(pl_answer){ .value = value, .memory = cost.memory });
}

/* Without a cap, as far as what is fastest by computing is below `cap`. */
static bool search_open(prices *x, double cap, pl_err *err)
{
    const bool alone = x->pair.sum[0] == x->pair.sum[1],
               binds = cap < INFINITY && !(x->n && pl_cap_is_roomy(cap, x->best.memory));
    bool news;
    if (x->few) PL_TRY(search_price(x, 1, err));
    if (!x->few && (!alone || binds))
        PL_TRY(look_once(x, 1, 0, alone ? COARSE : ROUGH[1], &news, err));
    const bool exact = !x->few && (alone || is_hidden(x));
    x->whole = !exact || !x->n || x->best.memory <= cap;
    if (!x->whole || is_late(x)) return true;
    if (exact) PL_TRY(look_once(x, 1, 0, 0, &news, err));
    return alone || is_closed(x) || (x->few && is_near(x, ENOUGH_FEW)) || search_places(x, err);
}

static bool search_capped(prices *x, pl_err *err)
{
    PL_TRY(look_least(x, err));
    if (x->exact) PL_TRY(search_price(x, 1, err));
    if (is_closed(x) || (x->few && is_near(x, ENOUGH_FEW))) return true;
    PL_TRY(search_places(x, err));
    return !x->few || search_few(x, err);
}

static void recall(prices *x)
{
    const prices now = *x;
    *x = (*x->opened)->found;
    x->pair = now.pair, x->options = now.options, x->out = now.out;
    x->opened = now.opened;
}

static void keep(const prices *x)
{
    if (!*x->opened) *x->opened = PL_NEW(x->out, pl_chain_opened);
    (*x->opened)->found = *x;
}

/* [chain variables, with one more outside and in every copy] */
static int *add_values(const pl_chain *chain, const int *value, const int more[2], pl_arena *out)
{
    const int size[2] = { chain->outside.n, chain->block.n };
    int *to = PL_NEW_N(out, int, pl_chain_variables(chain) + 1 + chain->copies), n = 0;
    for (int part = 0; part <= chain->copies; part++) {
        const int inside = part > 0;
        memcpy(to + n, value, (size_t)size[inside] * sizeof *to);
        value += size[inside], n += size[inside];
        if (more[inside] >= 0) to[n++] = more[inside];
    }
    return to;
}

pl_chain_opened *pl_chain_opened_more(const pl_chain_opened *from, const pl_chain *chain,
                                      const int more[2], pl_arena *out)
{
    pl_chain_opened *o = PL_NEW(out, pl_chain_opened);
    prices *x = &o->found;
    *o = *from;
    for (int i = 0; i < x->n; i++) x->value[i] = add_values(chain, x->value[i], more, out);
    for (int i = 0; i < o->n; i++) o->value[i] = add_values(chain, o->value[i], more, out);
    o->n_seen = 0; /* memory may be less */
    x->best.value = add_values(chain, x->best.value, more, out);
    return o;
}

static void keep_known(const prices *x)
{
    pl_chain_opened *o = *x->opened;
    o->n = x->n;
    memcpy(o->value, x->value, (size_t)x->n * sizeof *x->value);
    memcpy(o->memory, x->memory, (size_t)x->n * sizeof *x->memory);
    o->n_seen = x->n_seen;
    memcpy(o->seen, x->seen, (size_t)x->n_seen * sizeof *x->seen);
}

static void see_again(prices *x, int n, const seen at[])
{
    for (int i = 0; i < n; i++) see(x, at[i]);
    x->n_before = x->n_seen;
}

static void know_all(prices *x, int n, int *const value[], const double memory[])
{
    for (int i = 0; i < n; i++) know(x, &(pl_answer){ .value = value[i], .memory = memory[i] });
}

/* What is fastest without a cap often fits, and its bound is one of all that does. */
static bool search(prices *x, pl_err *err)
{
    const double cap = x->cap;
    const bool again = x->opened && *x->opened;
    prices open = *x;
    open.cap = INFINITY;
    if (again)
        recall(&open);
    else
        take_start(&open);
    if (!again || (!open.whole && open.best.memory <= cap)) {
        PL_TRY(search_open(&open, cap, err));
        if (x->opened) keep(&open);
    }
    if (open.best.memory <= cap) {
        *x = open;
        return true;
    }
    x->work = open.work;
    raise(x, open.bound, open.unsure, open.price, 0);
    know_all(x, open.n, open.value, open.memory);
    if (x->opened) {
        const pl_chain_opened *o = *x->opened;
        know_all(x, o->n, o->value, o->memory);
        see_again(x, o->n_seen, o->seen);
    }
    const bool ok = search_capped(x, err);
    if (x->opened) keep_known(x);
    return ok;
}

bool pl_chain_pair_min(pl_chain_pair pair, double cap, bool tied, const pl_search_options *options,
                       pl_chain_opened **opened, pl_arena *out, pl_answer *answer, double *price,
                       pl_err *err)
{
    prices x = { .pair = pair,
                 .cap = cap,
                 .tied = tied,
                 .out = out,
                 .bound = -INFINITY,
                 .price = 1,
                 .opened = opened };
    PL_TRY(pl_cap_check(cap, err));
    for (int k = 0; k < 2; k++) PL_TRY(pl_chain_check(pair.sum[k], err));
    x.options = pl_solve_defaults(options);
    const int copies = pair.sum[0]->copies;
    const double outside = pl_chain_outside_entries(pair.sum[0]),
                 block = pl_chain_block_entries(pair.sum[0]), entries = outside + block;
    x.few = tied || copies < PL_MANY_COPIES;
    x.exact = tied || copies == 1 || (x.few && outside + copies * block <= MOST_EXACT);
    x.effort = (int64_t)fmax(EFFORT, x.few ? 0 : PASSES * entries);
    PL_TRY(search(&x, err));
    *answer = x.best;
    answer->proven = is_closed(&x);
    answer->bound = answer->proven ? answer->time : fmin(x.bound, answer->time);
    answer->price = x.memory_price;
    answer->work = x.work;
    if (price) *price = x.price;
    return true;
}
