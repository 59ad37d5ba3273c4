/* One question: with stages of at most so many seconds, how few devices does each ideal need?
 *
 * Dynamic programming over ideals, as Tarnawski et al. have it, on counts of devices instead of
 * loads: the count of an ideal is one more than the least of those inside it from which what is
 * between makes a stage within the seconds. Three things make it fast. What an ideal holds and
 * sends across asks for some devices inside and some outside; where that is more than there are,
 * no cut goes through it, and few ideals are left as starts of stages. Ideals are in the order of
 * their seconds, so the start of a stage that may end at an ideal is in a window. And what is sent
 * across a stage is sent across one of its two ends, so it is known from the few values that do
 * that. */
#include "stages/search.h"

#include <math.h>
#include <stdlib.h>

/* A piece as what a host may take off the devices: worth, for some seconds of the host. */
typedef struct relief {
    double worth, host;
} relief;

/* An ideal at which a stage may start. */
typedef struct start {
    int ideal, n_across;
    double seconds, sent, host;
    const uint64_t *set;
    const pl_stages_across *across;
} start;

struct pl_stages_search {
    const pl_stages_problem *x;
    const pl_stages_pieces *p;
    const pl_stages_ideals *all;
    int64_t effort, most;
    int n_states;  /* of an ideal: hosts used, at most 0 .. n_hosts                          */
    relief *work;  /* [pieces] worth their seconds, the best first                           */
    relief *whole; /* [pieces] worth these and what they send and read, the best first       */
    double limit;
    double *credit, *work_credit; /* [n_states] that so many hosts may take off the devices  */
    int n;                        /* ideals at which a stage may start, in their order */
    start *start;                 /* [n]                                                   */
    double *seconds;              /* [n] of these                                          */
    double *host_most;            /* [n] the most on a host of all up to this one          */
    int *need;                    /* [n * n_states] devices, or `none`                     */
    int *from;                    /* [n * n_states] where the last stage starts            */
    bool *on_host;                /* [n * n_states] that stage                             */
    int *best, *least;            /* [n_states] of the ideal in work: so far, at least     */
    int *inside;                  /* [values] pins inside it; 0: all, or none              */
};

static const int none = 1 << 29;

/* -- bounds ------------------------------------------------------------------------------------ */

/* Of reliefs: a * host >= b * host, without dividing by 0. */
static int compare_relief(const void *x, const void *y)
{
    const relief *a = x, *b = y;
    const double l = a->worth * b->host, r = b->worth * a->host;
    if (l != r) return l > r ? -1 : 1;
    return (a->host > b->host) - (a->host < b->host);
}

/* The most worth that fits in so many seconds, were pieces to be split (Dantzig 1957). */
static double find_relief(const relief *list, int n, double seconds)
{
    double worth = 0;
    for (int i = 0; i < n; i++) {
        if (list[i].host > seconds) return worth + list[i].worth * seconds / list[i].host;
        worth += list[i].worth;
        seconds -= list[i].host;
    }
    return worth;
}

/* Pieces as reliefs, the best first, with what they send and read or without. */
static relief *list_reliefs(const pl_stages_pieces *p, bool with_sending, pl_arena *arena)
{
    relief *list = PL_NEW_N(arena, relief, p->n);
    for (int v = 0; v < p->n; v++) {
        list[v] = (relief){ p->seconds[v], p->host[v] };
        for (int k = p->values.at[v]; k < p->values.at[v + 1] && with_sending; k++)
            list[v].worth += p->send[p->values.item[k]];
    }
    qsort(list, (size_t)p->n, sizeof(relief), compare_relief);
    return list;
}

double pl_stages_bound(const pl_stages_problem *problem, const pl_stages_pieces *p)
{
    pl_arena *tmp = pl_arena_new("stage bound");
    const relief *work = list_reliefs(p, false, tmp);
    const int devices = problem->n_devices, hosts = problem->n_hosts;
    double sum = 0, low = 0;
    for (int v = 0; v < p->n; v++) {
        low = fmax(low, hosts ? fmin(p->seconds[v], p->host[v]) : p->seconds[v]);
        sum += p->seconds[v];
    }
    double high = fmax(low, sum / devices);
    for (int i = 0; i < 100; i++) {
        const double half = (low + high) / 2;
        const double eased = hosts ? find_relief(work, p->n, hosts * half) : 0;
        if (sum - eased > devices * half)
            low = half;
        else
            high = half;
    }
    pl_arena_free(tmp);
    return low;
}

/* Devices that so much needs where so many hosts may help: a host may take work, and with it what
 * it sends, but of this no more than is sent at all. */
static int find_least(const pl_stages_search *s, double seconds, double sent, int64_t bytes,
                      int hosts)
{
    const double left = fmax(seconds + sent - s->credit[hosts], seconds - s->work_credit[hosts]);
    const double by_time = left / s->limit - 1e-9;
    const double by_bytes = s->x->bytes && !hosts ? (double)bytes / (double)s->x->bytes - 1e-9 : 0;
    return (int)fmin(fmax(0, ceil(fmax(by_time, by_bytes))), none);
}

static int least_inside(const pl_stages_search *s, int ideal, int hosts)
{
    const pl_stages_ideals *all = s->all;
    return find_least(s, all->seconds[ideal], all->sent[ideal], all->bytes[ideal], hosts);
}

static int least_outside(const pl_stages_search *s, int ideal, int hosts)
{
    const pl_stages_ideals *all = s->all;
    const int whole = all->n - 1;
    return find_least(s, all->seconds[whole] - all->seconds[ideal], all->sent[ideal],
                      all->bytes[whole] - all->bytes[ideal], hosts);
}

/* -- stages ------------------------------------------------------------------------------------ */

static bool is_inside(const uint64_t *a, const uint64_t *b, size_t words)
{
    for (size_t w = 0; w < words; w++)
        if (a[w] & ~b[w]) return false;
    return true;
}

/* Does what is between two ideals, one inside the other, make a stage on a device? It sends what
 * goes across either end, each value once, and not those that go past it. */
static bool fits_device(const pl_stages_search *s, const start *from, int to)
{
    double sent = from->sent + s->all->sent[to];
    for (int i = 0; i < from->n_across; i++) {
        const pl_stages_across *a = &from->across[i];
        const int inside = s->inside[a->value];
        if (inside) sent -= (inside == a->inside ? 2 : 1) * s->p->send[a->value];
    }
    return s->all->seconds[to] - from->seconds + sent <= s->limit;
}

/* -- counts ------------------------------------------------------------------------------------ */

/* A stage from one of the starts to an ideal, where that makes the ideal need less. */
static void try_stage(pl_stages_search *s, int from, int to)
{
    const start *a = &s->start[from];
    const pl_stages_ideals *all = s->all;
    const int n = s->n_states, *need = s->need + (size_t)from * (size_t)n;
    bool device = false, host = false;
    for (int j = 0; j < n; j++) {
        device |= need[j] + 1 < s->best[j];
        host |= j && need[j - 1] < s->best[j];
    }
    device = device && all->seconds[to] - a->seconds + fabs(all->sent[to] - a->sent) <= s->limit &&
             (!s->x->bytes || all->bytes[to] - all->bytes[a->ideal] <= s->x->bytes);
    host = host && all->host[to] - a->host <= s->limit;
    if (!(device || host) || !is_inside(a->set, all->set[to], all->words)) return;
    device = device && fits_device(s, a, to);
    for (int j = 0; j < n; j++) {
        const size_t own = (size_t)s->n * (size_t)n + (size_t)j;
        if (device && need[j] + 1 < s->best[j]) {
            s->best[j] = need[j] + 1;
            s->from[own] = from, s->on_host[own] = false;
        }
        if (host && j && need[j - 1] < s->best[j]) {
            s->best[j] = need[j - 1];
            s->from[own] = from, s->on_host[own] = true;
        }
    }
}

/* The first of n ascending numbers that is not less. */
static int find_first(const double *x, int n, double least)
{
    int low = 0;
    while (low < n) {
        const int half = low + (n - low) / 2;
        if (x[half] < least)
            low = half + 1;
        else
            n = half;
    }
    return low;
}

static void try_stages(pl_stages_search *s, int to)
{
    const pl_stages_ideals *all = s->all;
    int from = find_first(s->seconds, s->n, all->seconds[to] - s->limit);
    if (s->n_states > 1) {
        const int other = find_first(s->host_most, s->n, all->host[to] - s->limit);
        from = other < from ? other : from;
    }
    for (int i = 0; i < all->n_across[to]; i++)
        s->inside[all->across[to][i].value] = all->across[to][i].inside;
    bool more = true;
    for (; from < s->n && more; from++) {
        s->effort++;
        try_stage(s, from, to);
        more = false;
        for (int j = 0; j < s->n_states; j++) more |= s->best[j] > s->least[j];
    }
    for (int i = 0; i < all->n_across[to]; i++) s->inside[all->across[to][i].value] = 0;
}

/* An ideal becomes a start, if a cut may go through it: the devices that it needs, for each number
 * of hosts; `none` where the rest needs more than are left then. */
static void add_start(pl_stages_search *s, int ideal)
{
    const pl_stages_ideals *all = s->all;
    const int n = s->n_states;
    const size_t own = (size_t)s->n * (size_t)n;
    bool may = false, is_start = false;
    for (int j = 0; j < n; j++) {
        s->least[j] = least_inside(s, ideal, j);
        s->best[j] = s->x->n_devices - least_outside(s, ideal, n - 1 - j) + 1;
        s->need[own + (size_t)j] = s->best[j];
        may |= s->least[j] < s->best[j];
    }
    if (!may) return;
    try_stages(s, ideal);
    for (int j = 0; j < n; j++) {
        int *need = &s->need[own + (size_t)j];
        *need = !ideal ? 0 : s->best[j] < *need ? s->best[j] : none;
        if (j && need[-1] <= *need) { /* a host that is not used */
            *need = need[-1];
            s->from[own + (size_t)j] = s->from[own + (size_t)j - 1];
            s->on_host[own + (size_t)j] = s->on_host[own + (size_t)j - 1];
        }
        is_start |= *need < none;
    }
    if (!is_start) return;
    s->start[s->n] = (start){ ideal,
                              all->n_across[ideal],
                              all->seconds[ideal],
                              all->sent[ideal],
                              all->host[ideal],
                              all->set[ideal],
                              all->across[ideal] };
    s->seconds[s->n] = all->seconds[ideal];
    s->host_most[s->n] = s->n ? fmax(s->host_most[s->n - 1], all->host[ideal]) : all->host[ideal];
    s->n++;
}

/* The chain of starts that leads to the last one. */
static void follow(const pl_stages_search *s, int *n, int *chain, bool *on_host)
{
    int m = 0;
    for (int i = s->n - 1, j = s->n_states - 1; i;) {
        const size_t own = (size_t)i * (size_t)s->n_states + (size_t)j;
        chain[m] = s->start[i].ideal;
        on_host[m++] = s->on_host[own];
        i = s->from[own];
        j -= s->on_host[own];
    }
    chain[m] = 0;
    for (int a = 0, b = m; a < b; a++, b--) {
        const int c = chain[a];
        chain[a] = chain[b], chain[b] = c;
    }
    for (int a = 0, b = m - 1; a < b; a++, b--) {
        const bool c = on_host[a];
        on_host[a] = on_host[b], on_host[b] = c;
    }
    *n = m;
}

pl_stages_answer pl_stages_search_ask(pl_stages_search *s, double seconds, int *n, int *chain,
                                      bool *on_host)
{
    s->limit = seconds;
    for (int j = 0; j < s->n_states; j++) {
        s->credit[j] = j ? find_relief(s->whole, s->p->n, j * seconds) : 0;
        s->work_credit[j] = j ? find_relief(s->work, s->p->n, j * seconds) : 0;
    }
    s->n = 0;
    for (int i = 0; i < s->all->n; i++) {
        if (s->effort > s->most) return PL_STAGES_UNKNOWN;
        add_start(s, i);
        if (!s->n) return PL_STAGES_NO;
    }
    if (s->start[s->n - 1].ideal != s->all->n - 1) return PL_STAGES_NO;
    follow(s, n, chain, on_host);
    return PL_STAGES_YES;
}

pl_stages_search *pl_stages_search_new(const pl_stages_problem *problem,
                                       const pl_stages_pieces *pieces,
                                       const pl_stages_ideals *ideals, int64_t effort,
                                       pl_arena *arena)
{
    pl_stages_search *s = PL_NEW(arena, pl_stages_search);
    s->x = problem, s->p = pieces, s->all = ideals, s->most = effort;
    s->n_states = problem->n_hosts + 1;
    const size_t states = (size_t)ideals->n * (size_t)s->n_states;
    s->credit = PL_NEW_N(arena, double, s->n_states);
    s->best = PL_NEW_N(arena, int, s->n_states);
    s->least = PL_NEW_N(arena, int, s->n_states);
    s->start = PL_NEW_N(arena, start, ideals->n);
    s->work_credit = PL_NEW_N(arena, double, s->n_states);
    s->seconds = PL_NEW_N(arena, double, ideals->n);
    s->host_most = PL_NEW_N(arena, double, ideals->n);
    s->need = PL_NEW_N(arena, int, states);
    s->from = PL_NEW_N(arena, int, states);
    s->on_host = PL_NEW_N(arena, bool, states);
    s->inside = PL_NEW_N(arena, int, pieces->pins.n);
    s->work = list_reliefs(pieces, false, arena);
    s->whole = list_reliefs(pieces, true, arena);
    return s;
}

int64_t pl_stages_search_effort(const pl_stages_search *s)
{
    return s->effort;
}
