/* The search for the least seconds: questions (search.c) that close in from both sides. What is
 * not possible is a bound; a cut that is found counts with what its stages really take. The last
 * question asks for less than the best cut by a billionth of it. */
#include <math.h>
#include <string.h>

#include "stages/search.h"

enum { MOST_IDEALS = 300000 };
static const int64_t default_effort = 2000000000;
static const double equal = 1e-9; /* of the seconds: nothing below is looked for */

/* A cut as a chain of ideals, from the empty one to the whole. */
typedef struct chain {
    int n, *at;    /* [n + 1] */
    bool *on_host; /* [n]     */
    double *load;  /* [n]     */
} chain;

typedef struct finding {
    const pl_stages_problem *x;
    pl_stages_pieces p;
    pl_stages_ideals ideals;
    pl_stages_search *search;
    chain best, last; /* of all cuts found so far */
    int *stage_of;    /* of each piece            */
    int *seen;        /* of each stage, a value   */
    pl_arena *tmp;
} finding;

/* -- what a cut takes -------------------------------------------------------------------------- */

static void place_pieces(finding *f, const chain *c)
{
    for (int v = 0; v < f->p.n; v++) {
        int k = 0;
        while (!(f->ideals.set[c->at[k + 1]][v / 64] >> (v % 64) & 1)) k++;
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

/* Ask; a cut that is found is the best one, and *high what it takes. */
static pl_stages_answer ask(finding *f, double seconds, double *high)
{
    chain *last = &f->last;
    const pl_stages_answer answer =
        pl_stages_search_ask(f->search, seconds, &last->n, last->at, last->on_host);
    if (answer != PL_STAGES_YES) return answer;
    const double most = measure(f, last);
    if (most >= *high) return PL_STAGES_NO; /* by rounding */
    const chain better = *last;
    *last = f->best;
    f->best = better;
    *high = most;
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
static bool climb(finding *f, double top, double *low, double *high)
{
    double step = 1.0 / 128;
    double seconds = fmax(*low * (1 + step), top * 1e-9);
    for (;;) {
        seconds = fmin(seconds, top);
        const pl_stages_answer answer = ask(f, seconds, high);
        if (answer == PL_STAGES_YES) return true;
        if (answer == PL_STAGES_NO) *low = fmax(*low, seconds);
        if (answer == PL_STAGES_UNKNOWN || seconds >= top) return false;
        step *= 2;
        seconds *= 1 + step;
    }
}

static void close_in(finding *f, double *low, double *high)
{
    while (*low < *high * (1 - equal)) {
        const bool near = *high - *low < 1e-3 * *high;
        const double seconds = near ? *high * (1 - equal) : (*low + *high) / 2;
        const pl_stages_answer answer = ask(f, seconds, high);
        if (answer == PL_STAGES_UNKNOWN) return;
        if (answer == PL_STAGES_NO) *low = near ? *high : seconds;
    }
    *low = *high;
}

/* -- the whole --------------------------------------------------------------------------------- */

static chain new_chain(const pl_stages_problem *x, pl_arena *arena)
{
    const int most = x->n_devices + x->n_hosts;
    return (chain){ 0, PL_NEW_N(arena, int, most + 1), PL_NEW_N(arena, bool, most),
                    PL_NEW_N(arena, double, most) };
}

static void begin(finding *f, int64_t effort)
{
    pl_stages_split(f->x, f->tmp, &f->p);
    pl_stages_list_ideals(&f->p, MOST_IDEALS, f->tmp, &f->ideals);
    f->search =
        pl_stages_search_new(f->x, &f->p, &f->ideals, effort ? effort : default_effort, f->tmp);
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

static bool find(finding *f, int64_t effort, pl_arena *out, pl_stages_cut *cut, pl_err *err)
{
    begin(f, effort);
    const double bound = pl_stages_search_bound(f->search), top = find_top(f->x);
    double low = bound, high = INFINITY;
    if (!climb(f, top, &low, &high))
        return pl_err_set(err, PL_EINFEASIBLE, "no cut of %d nodes into %d stages of %lld bytes %s",
                          f->x->n_nodes, f->x->n_devices, (long long)f->x->bytes,
                          f->ideals.all && low >= top ? "exists" : "was found");
    close_in(f, &low, &high);
    give(f, out, cut);
    cut->max_load = high;
    cut->bound = fmin(f->ideals.all ? low : bound, high);
    if (cut->bound >= high * (1 - equal)) cut->bound = high;
    cut->proven = cut->bound == high;
    cut->n_pieces = f->p.n;
    cut->n_ideals = f->ideals.n;
    cut->all_ideals = f->ideals.all;
    cut->effort = pl_stages_search_effort(f->search);
    return true;
}

bool pl_stages_find(const pl_stages_problem *problem, int64_t effort, pl_arena *out,
                    pl_stages_cut *cut, pl_err *err)
{
    PL_TRY(pl_stages_validate(problem, err));
    finding f = { .x = problem, .tmp = pl_arena_new("stages") };
    *cut = (pl_stages_cut){ 0 };
    const bool ok = find(&f, effort, out, cut, err);
    pl_arena_free(f.tmp);
    return ok;
}
