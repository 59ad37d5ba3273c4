/* One question: with stages of at most so many seconds, how few devices does each ideal need?
 *
 * Dynamic programming over ideals, as Tarnawski et al. have it, on counts of devices instead of
 * loads: the count of an ideal is one more than the least of those inside it from which what is
 * between makes a stage within the seconds. Three things make it fast. What an ideal holds and
 * sends across asks for some devices inside and some outside; an ideal is left out where that is
 * more than there are. Ideals are in the order of their seconds, so the start of a stage that may
 * end at an ideal is in a window. And sending across a stage is at least the difference of sending
 * across its two ends, which most pairs fail before the stage itself is looked at. */
#include "stages/search.h"

#include <math.h>
#include <stdlib.h>

/* A piece as what a host may take off the devices: worth, for some seconds of the host. */
typedef struct relief {
    double worth, host;
} relief;

struct pl_stages_search {
    const pl_stages_problem *x;
    const pl_stages_pieces *p;
    const pl_stages_ideals *all;
    int64_t effort, most;
    int n_states;  /* of an ideal: hosts used, at most 0 .. n_hosts                          */
    relief *work;  /* [pieces] worth their seconds, the best first                           */
    relief *whole; /* [pieces] worth these and what they send and read, the best first       */
    double limit;
    double *credit; /* [n_states] that so many hosts may take off the devices, as `whole`    */
    int n, *at;     /* ideals in work, of all                                                */
    double *seconds, *host_most; /* [n] of these; the most on a host of all up to this one   */
    int *need;      /* [n * n_states] devices, or `none`                                     */
    int *from;      /* [n * n_states] where the last stage starts                            */
    bool *on_host;  /* [n * n_states] that stage                                             */
    int *best, *least;            /* [n_states] of the ideal in work                         */
    int *count, *touched, *value; /* [values]   of the stage in work                         */
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

static void add_reliefs(pl_stages_search *s, pl_arena *arena)
{
    const pl_stages_pieces *p = s->p;
    s->work = PL_NEW_N(arena, relief, p->n);
    s->whole = PL_NEW_N(arena, relief, p->n);
    for (int v = 0; v < p->n; v++) {
        s->work[v] = s->whole[v] = (relief){ p->seconds[v], p->host[v] };
        for (int k = p->values.at[v]; k < p->values.at[v + 1]; k++)
            s->whole[v].worth += p->send[p->values.item[k]];
    }
    qsort(s->work, (size_t)p->n, sizeof(relief), compare_relief);
    qsort(s->whole, (size_t)p->n, sizeof(relief), compare_relief);
}

double pl_stages_search_bound(const pl_stages_search *s)
{
    const pl_stages_pieces *p = s->p;
    double sum = 0, low = 0;
    for (int v = 0; v < p->n; v++) {
        const double least = s->x->n_hosts ? fmin(p->seconds[v], p->host[v]) : p->seconds[v];
        low = fmax(low, least);
        sum += p->seconds[v];
    }
    double high = fmax(low, sum / s->x->n_devices);
    for (int i = 0; i < 100; i++) {
        const double half = (low + high) / 2;
        const double hosts = s->x->n_hosts ? find_relief(s->work, p->n, s->x->n_hosts * half) : 0;
        if (sum - hosts > s->x->n_devices * half)
            low = half;
        else
            high = half;
    }
    return low;
}

/* Devices that so much needs where so many hosts may help. */
static int find_least(const pl_stages_search *s, double seconds, double bytes, int hosts)
{
    const double by_time = (seconds - s->credit[hosts]) / s->limit - 1e-9;
    const double by_bytes = s->x->bytes && !hosts ? bytes / (double)s->x->bytes - 1e-9 : 0;
    return (int)fmin(fmax(0, ceil(fmax(by_time, by_bytes))), none);
}

static int least_inside(const pl_stages_search *s, int ideal, int hosts)
{
    const pl_stages_ideals *all = s->all;
    return find_least(s, all->seconds[ideal] + all->sent[ideal], (double)all->bytes[ideal], hosts);
}

static int least_outside(const pl_stages_search *s, int ideal, int hosts)
{
    const pl_stages_ideals *all = s->all;
    const int whole = all->n - 1;
    return find_least(s, all->seconds[whole] - all->seconds[ideal] + all->sent[ideal],
                      (double)(all->bytes[whole] - all->bytes[ideal]), hosts);
}

/* The ideals that a cut within the limit may go through. */
static void keep_ideals(pl_stages_search *s)
{
    const int hosts = s->n_states - 1;
    s->n = 0;
    for (int i = 0; i < s->all->n; i++) {
        bool kept = false;
        for (int j = 0; j <= hosts && !kept; j++)
            kept = least_inside(s, i, j) + least_outside(s, i, hosts - j) <= s->x->n_devices;
        if (!kept) continue;
        const double host = s->all->host[i];
        s->at[s->n] = i;
        s->seconds[s->n] = s->all->seconds[i];
        s->host_most[s->n] = s->n ? fmax(s->host_most[s->n - 1], host) : host;
        s->n++;
    }
}

/* -- stages ------------------------------------------------------------------------------------ */

static bool is_inside(const uint64_t *a, const uint64_t *b, size_t words)
{
    for (size_t w = 0; w < words; w++)
        if (a[w] & ~b[w]) return false;
    return true;
}

/* Seconds of sending across the stage between two ideals. */
static double find_sent(pl_stages_search *s, const uint64_t *from, const uint64_t *to)
{
    const pl_stages_pieces *p = s->p;
    double sent = 0;
    int n = 0;
    for (size_t w = 0; w < s->all->words; w++) {
        for (uint64_t left = to[w] & ~from[w]; left; left &= left - 1) {
            const int v = (int)(w * 64) + __builtin_ctzll(left);
            for (int k = p->values.at[v]; k < p->values.at[v + 1]; k++) {
                const int e = p->values.item[k];
                if (!s->count[e]++) s->touched[n++] = e;
            }
        }
    }
    for (int i = 0; i < n; i++) {
        const int e = s->touched[i];
        if (s->count[e] < p->pins.at[e + 1] - p->pins.at[e]) sent += p->send[e];
        s->count[e] = 0;
    }
    return sent;
}

/* Does what is between two ideals in work, `from` inside `to`, make a stage on a device? */
static bool fits_device(pl_stages_search *s, int from, int to)
{
    const int a = s->at[from], b = s->at[to];
    const double seconds = s->all->seconds[b] - s->all->seconds[a];
    return seconds + find_sent(s, s->all->set[a], s->all->set[b]) <= s->limit;
}

static bool may_fit_device(const pl_stages_search *s, int a, int b)
{
    const pl_stages_ideals *all = s->all;
    return all->seconds[b] - all->seconds[a] + fabs(all->sent[b] - all->sent[a]) <= s->limit &&
           (!s->x->bytes || all->bytes[b] - all->bytes[a] <= s->x->bytes);
}

/* -- counts ------------------------------------------------------------------------------------ */

/* A stage from one ideal in work to another, where that makes the other need less. */
static void try_stage(pl_stages_search *s, int from, int to)
{
    const int a = s->at[from], b = s->at[to], n = s->n_states;
    const int *need = s->need + (size_t)from * (size_t)n;
    bool device = false, host = false;
    for (int j = 0; j < n; j++) {
        device |= need[j] + 1 < s->best[j];
        host |= j && need[j - 1] < s->best[j];
    }
    device = device && may_fit_device(s, a, b);
    host = host && s->all->host[b] - s->all->host[a] <= s->limit;
    if (!(device || host) || !is_inside(s->all->set[a], s->all->set[b], s->all->words)) return;
    device = device && fits_device(s, from, to);
    for (int j = 0; j < n; j++) {
        const size_t own = (size_t)to * (size_t)n + (size_t)j;
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

/* The devices that an ideal needs, for each number of hosts; `none` where the rest needs more than
 * are left then. */
static void count_devices(pl_stages_search *s, int to)
{
    const int b = s->at[to], n = s->n_states;
    int *need = s->need + (size_t)to * (size_t)n;
    int start = find_first(s->seconds, to, s->seconds[to] - s->limit);
    if (n > 1) {
        const int other = find_first(s->host_most, to, s->all->host[b] - s->limit);
        start = other < start ? other : start;
    }
    for (int j = 0; j < n; j++) {
        s->least[j] = least_inside(s, b, j);
        s->best[j] = s->x->n_devices - least_outside(s, b, n - 1 - j) + 1;
        need[j] = s->best[j];
    }
    bool more = true;
    for (int i = start; i < to && more; i++) {
        s->effort++;
        try_stage(s, i, to);
        more = false;
        for (int j = 0; j < n; j++) more |= s->best[j] > s->least[j];
    }
    for (int j = 0; j < n; j++) {
        const size_t own = (size_t)to * (size_t)n + (size_t)j;
        need[j] = s->best[j] < need[j] ? s->best[j] : none;
        if (!j || need[j - 1] > need[j]) continue;
        need[j] = need[j - 1]; /* a host that is not used */
        s->from[own] = s->from[own - 1], s->on_host[own] = s->on_host[own - 1];
    }
}

static void follow(const pl_stages_search *s, int *n, int *chain, bool *on_host)
{
    int m = 0;
    for (int i = s->n - 1, j = s->n_states - 1; i;) {
        const size_t own = (size_t)i * (size_t)s->n_states + (size_t)j;
        chain[m] = s->at[i];
        on_host[m++] = s->on_host[own];
        i = s->from[own];
        j -= s->on_host[own];
    }
    chain[m] = s->at[0];
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
    for (int j = 0; j < s->n_states; j++)
        s->credit[j] = j ? find_relief(s->whole, s->p->n, j * seconds) : 0;
    keep_ideals(s);
    if (!s->n || s->at[0] != 0 || s->at[s->n - 1] != s->all->n - 1) return PL_STAGES_NO;
    for (int j = 0; j < s->n_states; j++) s->need[j] = 0;
    for (int i = 1; i < s->n; i++) {
        if (s->effort > s->most) return PL_STAGES_UNKNOWN;
        count_devices(s, i);
    }
    if (s->need[(size_t)s->n * (size_t)s->n_states - 1] == none) return PL_STAGES_NO;
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
    s->at = PL_NEW_N(arena, int, ideals->n);
    s->seconds = PL_NEW_N(arena, double, ideals->n);
    s->host_most = PL_NEW_N(arena, double, ideals->n);
    s->need = PL_NEW_N(arena, int, states);
    s->from = PL_NEW_N(arena, int, states);
    s->on_host = PL_NEW_N(arena, bool, states);
    s->count = PL_NEW_N(arena, int, pieces->pins.n);
    s->touched = PL_NEW_N(arena, int, pieces->pins.n);
    add_reliefs(s, arena);
    return s;
}

int64_t pl_stages_search_effort(const pl_stages_search *s)
{
    return s->effort;
}
