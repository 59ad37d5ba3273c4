/* The search for the least seconds: questions (search.c) that close in from both sides. What is not
 * possible is a bound; a cut that is found counts with what its stages really take. The last
 * question asks for less than the best cut by a billionth of it.
 *
 * Questions are asked of the ideals of one order first, then of all. Where these are too many to be
 * listed, of those that send least, and then, as long as that helps, of those that differ least
 * from the ends of the stages of the best cut; the bound is then that of the work alone. */
#include <math.h>
#include <string.h>

#include "stages/search.h"
#include "stages/twins.h"

enum {
    MOST_IDEALS = 300000, /* listed where all are wanted */
    SOME_IDEALS = 16000,  /* where not                   */
    NARROWEST = 4,        /* of one size then            */
    ROUNDS = 12           /* around the best cut         */
};
static const int64_t default_effort = 200000000; /* a few seconds */
static const double equal = 1e-9;                /* of the seconds: nothing below is looked for */
static const double close = 1e-4;                /* the same where not all ideals are listed */

/* A cut as a chain of ideals, from the empty one to the whole. */
typedef struct chain {
    int n, *at;           /* [n + 1] */
    const uint64_t **set; /* [n + 1] */
    bool *on_host;        /* [n]     */
    double *load;         /* [n]     */
} chain;

typedef struct finding {
    const pl_stages_problem *x;
    pl_stages_pieces p;
    pl_stages_ideals ideals;
    pl_stages_search *search;
    double bound, top;    /* seconds that no cut is below, and none above  */
    double high;          /* of the best cut; infinite: there is none yet  */
    int64_t effort, most; /* pairs looked at, and how many may be          */
    chain best, last;     /* of all cuts found so far                      */
    int *stage_of;        /* of each piece                                 */
    int *seen;            /* of each stage, a value                        */
    pl_arena *tmp;
} finding;

/* -- what a cut takes -------------------------------------------------------------------------- */

static void place_pieces(finding *f, const chain *c)
{
    for (int v = 0; v < f->p.n; v++) {
        int k = 0;
        while (!(c->set[k + 1][v / 64] >> (v % 64) & 1)) k++;
        f->stage_of[v] = k;
    }
}

static void add_sending(finding *f, const chain *c)
{
    const pl_stages_pieces *p = &f->p;
    for (int k = 0; k < c->n; k++) f->seen[k] = -1;
    for (int e = 0; e < p->pins.n; e++) {
        const int from = p->pins.at[e], to = p->pins.at[e + 1];
        bool across = false;
        for (int i = from; i < to; i++)
            across |= f->stage_of[p->pins.item[i]] != f->stage_of[p->pins.item[from]];
        for (int i = from; across && i < to; i++) {
            const int k = f->stage_of[p->pins.item[i]];
            if (f->seen[k] == e || c->on_host[k]) continue;
            f->seen[k] = e;
            c->load[k] += p->send[e];
        }
    }
}

/* The loads of a cut, and the greatest. */
static double measure(finding *f, const chain *c)
{
    double most = 0;
    place_pieces(f, c);
    for (int k = 0; k < c->n; k++) c->load[k] = 0;
    for (int v = 0; v < f->p.n; v++) {
        const int k = f->stage_of[v];
        c->load[k] += c->on_host[k] ? f->p.host[v] : f->p.seconds[v];
    }
    add_sending(f, c);
    for (int k = 0; k < c->n; k++) most = fmax(most, c->load[k]);
    return most;
}

/* Ask; a cut that is found is the best one. */
static pl_stages_answer ask(finding *f, double seconds)
{
    chain *last = &f->last;
    const pl_stages_answer answer =
        pl_stages_search_ask(f->search, seconds, &last->n, last->at, last->on_host);
    if (answer != PL_STAGES_YES) return answer;
    for (int k = 0; k <= last->n; k++) last->set[k] = f->ideals.set[last->at[k]];
    const double most = measure(f, last);
    if (most >= f->high) return PL_STAGES_NO; /* by rounding */
    const chain better = *last;
    *last = f->best;
    f->best = better;
    f->high = most;
    return PL_STAGES_YES;
}

/* -- closing in -------------------------------------------------------------------------------- */

/* More than any stage can take. */
static double find_top(const pl_stages_problem *x)
{
    double device = 0, host = 0;
    for (int u = 0; u < x->n_nodes; u++) {
        device += x->node[u].seconds + x->node[u].send;
        host += x->node[u].host_seconds;
    }
    return fmax(device, x->n_hosts ? host : 0) * (1 + 1e-6) + 1e-300;
}

/* Up from the bound by growing steps until there is a cut: whether there is one. */
static bool climb(finding *f, double *low)
{
    double step = 1.0 / 128;
    double seconds = fmax(*low * (1 + step), f->top * 1e-9);
    for (;;) {
        seconds = fmin(seconds, f->top);
        const pl_stages_answer answer = ask(f, seconds);
        if (answer == PL_STAGES_YES) return true;
        if (answer == PL_STAGES_NO) *low = fmax(*low, seconds);
        if (answer == PL_STAGES_UNKNOWN || seconds >= f->top) return false;
        step *= 2;
        seconds *= 1 + step;
    }
}

/* The best cut: halves what is left between the bound and the best cut so far. */
static void close_in(finding *f, double *low)
{
    while (*low < f->high * (1 - equal)) {
        const bool near = f->high - *low < 1e-4 * f->high;
        const double seconds = near ? f->high * (1 - equal) : (*low + f->high) / 2;
        const pl_stages_answer answer = ask(f, seconds);
        if (answer == PL_STAGES_UNKNOWN) return;
        if (answer == PL_STAGES_NO) *low = near ? f->high : seconds;
    }
}

/* A better cut where no answer is a bound: down by steps that get smaller where there is none. */
static void descend(finding *f)
{
    for (double step = 1.0 / 16; step > close && f->high > f->bound * (1 + close);) {
        const pl_stages_answer answer = ask(f, fmax(f->high * (1 - step), f->bound));
        if (answer == PL_STAGES_UNKNOWN) return;
        if (answer == PL_STAGES_NO) step /= 4;
    }
}

/* The best cut through the ideals that are listed, until so many pairs have been looked at. */
static void look(finding *f, int64_t most)
{
    double low = f->bound;
    bool any = f->high < INFINITY;
    f->search = pl_stages_search_new(f->x, &f->p, &f->ideals, most - f->effort, f->tmp);
    if (!any) any = climb(f, &low);
    if (any && f->ideals.all) close_in(f, &low);
    if (any && !f->ideals.all) descend(f);
    if (f->ideals.all) f->bound = low;
    f->effort += pl_stages_search_effort(f->search);
}

static bool is_proven(const finding *f)
{
    return f->bound >= f->high * (1 - equal);
}

static void look_around(finding *f)
{
    double before = INFINITY;
    for (int k = 0; k < ROUNDS && f->high < before * (1 - close) && f->effort < f->most; k++) {
        before = f->high;
        pl_stages_list_near(&f->p, f->best.n, f->best.set, SOME_IDEALS, f->tmp, &f->ideals);
        look(f, f->most);
    }
}

/* -- the whole --------------------------------------------------------------------------------- */

static void search(finding *f)
{
    (void)pl_stages_list_ideals(&f->p, INT32_MAX, 1, f->tmp, &f->ideals);
    f->bound = pl_stages_bound(f->x, &f->p);
    look(f, f->most / 8);
    if (f->ideals.all || is_proven(f)) return;
    if (pl_stages_list_ideals(&f->p, MOST_IDEALS, INT32_MAX, f->tmp, &f->ideals)) {
        look(f, f->most);
        return;
    }
    const int width = SOME_IDEALS / (f->p.n + 1) + NARROWEST;
    (void)pl_stages_list_ideals(&f->p, INT32_MAX, width, f->tmp, &f->ideals);
    look(f, f->most / 2);
    if (f->high < INFINITY && !is_proven(f)) look_around(f);
}

static chain new_chain(const pl_stages_problem *x, pl_arena *arena)
{
    const int most = x->n_devices + x->n_hosts;
    return (chain){ 0, PL_NEW_N(arena, int, most + 1), PL_NEW_N(arena, const uint64_t *, most + 1),
                    PL_NEW_N(arena, bool, most), PL_NEW_N(arena, double, most) };
}

static void begin(finding *f)
{
    pl_stages_split(f->x, f->tmp, &f->p);
    pl_stages_order_twins(&f->p, f->tmp);
    f->top = find_top(f->x);
    f->high = INFINITY;
    f->best = new_chain(f->x, f->tmp);
    f->last = new_chain(f->x, f->tmp);
    f->stage_of = PL_NEW_N(f->tmp, int, f->p.n);
    f->seen = PL_NEW_N(f->tmp, int, f->x->n_devices + f->x->n_hosts);
}

static void give(finding *f, pl_arena *out, pl_stages_cut *cut)
{
    const int n = f->best.n;
    int *stage_of = PL_NEW_N(out, int, f->x->n_nodes);
    bool *on_host = PL_NEW_N(out, bool, n);
    double *load = PL_NEW_N(out, double, n);
    place_pieces(f, &f->best);
    for (int u = 0; u < f->x->n_nodes; u++) stage_of[u] = f->stage_of[f->p.piece_of[u]];
    memcpy(on_host, f->best.on_host, sizeof(bool) * (size_t)n);
    memcpy(load, f->best.load, sizeof(double) * (size_t)n);
    cut->n_stages = n;
    cut->stage_of = stage_of, cut->on_host = on_host, cut->load = load;
}

static bool report_none(const finding *f, pl_err *err)
{
    int64_t sum = 0, most = 0;
    for (int v = 0; v < f->p.n; v++) {
        sum += f->p.bytes[v];
        most = f->p.bytes[v] > most ? f->p.bytes[v] : most;
    }
    return pl_err_set(
        err, PL_EINFEASIBLE,
        "no cut into %d stages of %lld bytes %s: all nodes need %lld bytes, and those "
        "of one piece %lld",
        f->x->n_devices, (long long)f->x->bytes,
        f->ideals.all && f->bound >= f->top ? "exists" : "was found", (long long)sum,
        (long long)most);
}

static bool find(finding *f, pl_arena *out, pl_stages_cut *cut, pl_err *err)
{
    begin(f);
    search(f);
    if (f->high == INFINITY) return report_none(f, err);
    give(f, out, cut);
    cut->max_load = f->high;
    cut->proven = is_proven(f);
    cut->bound = cut->proven ? f->high : f->bound;
    cut->n_pieces = f->p.n;
    cut->n_ideals = f->ideals.n;
    cut->all_ideals = f->ideals.all;
    cut->effort = f->effort;
    return true;
}

bool pl_stages_find(const pl_stages_problem *problem, int64_t effort, pl_arena *out,
                    pl_stages_cut *cut, pl_err *err)
{
    PL_TRY(pl_stages_validate(problem, err));
    finding f = { .x = problem,
                  .most = effort ? effort : default_effort,
                  .tmp = pl_arena_new("stages") };
    *cut = (pl_stages_cut){ 0 };
    const bool ok = find(&f, out, cut, err);
    pl_arena_free(f.tmp);
    return ok;
}
