#include "search/cap.h"

/* Prices tried: first while none is high enough to fit, then between two that are known. */
enum { MOST_RAISES = 6, MOST_PRICES = 24, PRICE_PART = 16 };

/* Between prices an answer this near its bound will do: mixtures come later anyway. */
static const double PRICE_GAP = 1e-4;

/* A choice, and the line that its weighted cost is over the price. */
typedef struct point {
    int *value;
    pl_cost cost;
} point;

typedef struct state {
    const pl_capped *p;
    const pl_search_options *o;
    double cap;
    point over, under;   /* the last ones that do not fit, that fit                           */
    point best;          /* the fastest that fits                                             */
    double bound, price; /* the best dual bound and where it was found                        */
    int n_known;
    int *known[PL_CAP_KNOWN];
    int64_t work;
    pl_arena *out;
} state;

static void know(state *s, int *value)
{
    if (s->n_known < PL_CAP_KNOWN) {
        s->known[s->n_known++] = value;
        return;
    }
    for (int i = 1; i < PL_CAP_KNOWN; i++) s->known[i - 1] = s->known[i];
    s->known[PL_CAP_KNOWN - 1] = value;
}

/* Solves at a price; the answer takes the place of the end of the bracket on its side. */
static bool try_price(state *s, double price, point *found)
{
    pl_search_options o = *s->o;
    o.gap = fmax(o.gap, PRICE_GAP);
    o.effort /= PRICE_PART;
    pl_found f = s->p->solve(s->p->self, (pl_cost){ 1, price }, &o, s->out);
    s->work += f.work;
    double bound = f.bound - price * s->cap;
    if (bound > s->bound) {
        s->bound = bound;
        s->price = price;
    }
    if (!f.value) return false;
    *found = (point){ f.value, s->p->cost(s->p->self, f.value) };
    know(s, f.value);
    if (found->cost.memory > s->cap) {
        s->over = *found;
    } else {
        s->under = *found;
        if (!s->best.value || found->cost.time < s->best.cost.time) s->best = *found;
    }
    return true;
}

/* All prices together may take as long as one sum may. */
static bool is_spent(const state *s)
{
    return s->work >= s->o->effort;
}

/* The least memory of any legal choice; it fits or nothing does. */
static bool find_least_memory(state *s, pl_err *err)
{
    pl_search_options o = *s->o;
    o.effort /= PRICE_PART / 4;
    pl_found f = s->p->solve(s->p->self, (pl_cost){ 0, 1 }, &o, s->out);
    s->work += f.work;
    pl_cost cost = f.value ? s->p->cost(s->p->self, f.value) : (pl_cost){ INFINITY, INFINITY };
    if (cost.memory <= s->cap) {
        s->under = (point){ f.value, cost };
        if (!s->best.value) s->best = s->under;
        know(s, f.value);
        return true;
    }
    if (f.bound > s->cap || !f.value)
        return pl_err_set(err, PL_EINFEASIBLE,
                          "nothing fits in %.6g of memory: the least that any choice takes is %.6g",
                          s->cap, f.value ? cost.memory : f.bound);
    return pl_err_set(err, PL_EINFEASIBLE,
                      "found nothing that fits in %.6g of memory: the least found takes %.6g, and "
                      "%.6g is a lower bound; raise the limits of the search",
                      s->cap, cost.memory, f.bound);
}

/* Prices that rise until something fits; the first one makes memory cost about as much as time. */
static bool find_under(state *s, pl_err *err)
{
    pl_cost c = s->over.cost;
    double price = c.time > 0 ? 0.25 * c.time / c.memory : 1 / c.memory;
    point found;
    for (int i = 0; i < MOST_RAISES && !s->under.value && !is_spent(s); i++, price *= 8)
        if (!try_price(s, price, &found)) break;
    return s->under.value || find_least_memory(s, err);
}

/* Where the two lines meet the bound is largest, unless a choice lies below both. */
static void find_price(state *s)
{
    for (int i = 0; i < MOST_PRICES && !is_spent(s); i++) {
        pl_cost over = s->over.cost, under = s->under.cost;
        double price = (under.time - over.time) / (over.memory - under.memory);
        double line = over.time + price * (over.memory - s->cap);
        double goal = pl_solve_goal(s->best.cost.time, s->o);
        if (!(price > 0) || s->bound >= goal || line - s->bound <= PRICE_GAP * fabs(line)) return;
        point found;
        if (!try_price(s, price, &found)) return;
        double there = found.cost.time + price * (found.cost.memory - s->cap);
        if (there >= line - 1e-9 * fabs(line)) return;
    }
}

static void close_gap(state *s)
{
    if (s->o->no_mixing || s->bound >= pl_solve_goal(s->best.cost.time, s->o)) return;
    pl_mix m = { s->price, s->cap, s->o, s->best.value, s->best.cost, s->bound, 0 };
    int *known[2 + PL_CAP_KNOWN] = { s->over.value, s->under.value };
    for (int i = 0; i < s->n_known; i++) known[2 + i] = s->known[i];
    s->p->mix(s->p->self, 2 + s->n_known, known, &m, s->out);
    s->best = (point){ m.value, m.cost };
    s->bound = fmax(s->bound, m.bound);
    s->work += m.work;
}

bool pl_cap_min(const pl_capped *p, double cap, const pl_search_options *o, pl_arena *out,
                pl_answer *answer, pl_err *err)
{
    state s = { .p = p, .o = o, .cap = cap, .bound = -INFINITY, .out = out };
    point first;
    bool open = cap >= INFINITY;
    if (open) s.cap = 0;
    pl_found f = p->solve(p->self, (pl_cost){ 1, 0 }, o, out);
    s.work = f.work;
    s.bound = f.bound;
    if (!f.value)
        return pl_err_set(err, PL_EINFEASIBLE,
                          f.bound < INFINITY ? "no legal choice was found within the limits "
                                               "of the search; raise them"
                                             : "no choice is legal: every one has a term of "
                                               "infinite time");
    first = (point){ f.value, p->cost(p->self, f.value) };
    if (open || first.cost.memory <= cap) {
        s.best = first;
    } else {
        s.over = first;
        know(&s, first.value);
        PL_TRY(find_under(&s, err));
        find_price(&s);
        close_gap(&s);
    }
    double time = s.best.cost.time;
    bool proven = time - s.bound <= 1e-9 * fabs(time);
    *answer = (pl_answer){
        s.best.value, time,  s.best.cost.memory, proven || s.bound > time ? time : s.bound, proven,
        s.price,      s.work
    };
    return true;
}
