/* Two lanes of copies over the stages. place_out() and place_in() put them one behind the other,
 * the first from the front, the second from the back; pl_evict_swap_fill() adds the copy that frees
 * most. */
#include "evict/swap.h"

#include <math.h>
#include <stdlib.h>

enum { TRIES = 4, NEAR = 4 }; /* pairs tried at a stage; stages that are alike */

typedef struct wait { /* on the host between two uses */
    int item, k, from, to, gone, back;
    bool sent; /* it is on the host already */
} wait;

typedef struct swap {
    pl_evict_retain *r;
    double *start; /* [n_op + 2] seconds when each stage starts */
    int *over;     /* [n_op + 2] stages before that are above the budget */
    wait *wait;
    int n;
} swap;

static void start_stages(swap *s, double stretch)
{
    const pl_evict_retain *r = s->r;
    const double *seconds = r->items->problem->seconds;
    for (int t = 0; t <= r->items->n_op; t++) {
        double sum = t < r->items->n_op ? seconds[t] : 0;
        for (int k = 0; k < r->runs[t].n; k++) sum += seconds[r->runs[t].at[k].op];
        s->start[t + 1] = s->start[t] + stretch * sum;
    }
}

static int compare_from(const void *a, const void *b)
{
    const wait *p = a, *q = b;
    if (p->from != q->from) return p->from < q->from ? -1 : 1;
    return (p->item > q->item) - (p->item < q->item);
}

static int compare_to(const void *a, const void *b)
{
    const wait *p = a, *q = b;
    if (p->to != q->to) return p->to > q->to ? -1 : 1;
    return (p->item < q->item) - (p->item > q->item);
}

static void list_waits(swap *s)
{
    const pl_evict_retain *r = s->r;
    s->n = 0;
    for (int i = 0; i < r->items->n_item; i++) {
        bool sent = false;
        for (int k = 1; k < r->uses[i].n; k++) {
            const pl_evict_retain_use *use = &r->uses[i].at[k];
            if (use->how != PL_RETAIN_HOST) continue;
            s->wait[s->n++] =
                (wait){ .item = i, .k = k, .from = use[-1].stage, .to = use->stage, .sent = sent };
            sent = true;
        }
    }
}

/* The first stage that starts at or after that time, at least `least`. */
static int find_after(const swap *s, double time, int least)
{
    int low = least, high = s->r->items->n_op + 1;
    while (low < high) {
        int mid = (low + high) / 2;
        if (s->start[mid] < time)
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

static void place_out(swap *s)
{
    const pl_evict_problem *p = s->r->items->problem;
    double free = 0;
    qsort(s->wait, (size_t)s->n, sizeof *s->wait, compare_from);
    for (int k = 0; k < s->n; k++) {
        wait *w = &s->wait[k];
        w->gone = w->from + 1;
        if (w->sent) continue;
        double bytes = (double)s->r->items->item[w->item].bytes;
        free = fmax(free, s->start[w->from + 1]) + bytes / p->out_bytes_per_s;
        w->gone = find_after(s, free, w->from + 1);
    }
}

static void place_in(swap *s)
{
    const pl_evict_problem *p = s->r->items->problem;
    double free = s->start[s->r->items->n_op + 1];
    qsort(s->wait, (size_t)s->n, sizeof *s->wait, compare_to);
    for (int k = 0; k < s->n; k++) {
        wait *w = &s->wait[k];
        double bytes = (double)s->r->items->item[w->item].bytes;
        free = fmin(free, s->start[w->to]) - bytes / p->in_bytes_per_s;
        int after = find_after(s, free, 0);
        w->back = after > 0 && s->start[after] > free ? after - 1 : after;
        if (w->back > w->to) w->back = w->to;
        if (free < 0) w->back = -1;
    }
}

/* False: some pair is too short for its copies. Where `keep`, it is kept; else it ends there. */
static bool time_waits(swap *s, bool keep)
{
    bool ok = true;
    list_waits(s);
    s->r->steps += s->r->items->n_item / 4 + 4 * s->n;
    place_out(s);
    place_in(s);
    for (int k = 0; k < s->n; k++) {
        const wait *w = &s->wait[k];
        bool fits = w->gone < w->back;
        ok = ok && fits;
        if (!fits && !keep) return false;
        if (fits)
            (void)pl_evict_retain_change(s->r, w->item, w->k, PL_RETAIN_HOST, w->gone, w->back);
        else
            (void)pl_evict_retain_change(s->r, w->item, w->k, PL_RETAIN_KEEP, 0, 0);
    }
    return ok;
}

static swap open_swap(pl_evict_retain *r, pl_arena *tmp)
{
    int n = r->items->n_op, waits = 0;
    for (int i = 0; i < r->items->n_item; i++) waits += r->uses[i].n;
    return (swap){ .r = r,
                   .start = PL_NEW_N(tmp, double, n + 2),
                   .over = PL_NEW_N(tmp, int, n + 2),
                   .wait = PL_NEW_N(tmp, wait, waits + 1) };
}

void pl_evict_swap_time(pl_evict_retain *retain, double stretch)
{
    pl_arena *tmp = pl_arena_new("evict swap time");
    swap s = open_swap(retain, tmp);
    start_stages(&s, stretch);
    while (!time_waits(&s, true)) start_stages(&s, stretch);
    pl_arena_free(tmp);
}

static void count_over(swap *s)
{
    const pl_evict_retain *r = s->r;
    for (int t = 0; t <= r->items->n_op; t++)
        s->over[t + 1] = s->over[t] + (r->load[t] > r->budget);
}

/* Pairs kept around a stage, by in how many stages above the budget a byte copied could be away,
 * then those that begin first, as a lane that stands still at the start is lost; the best few. */
static int list_pairs(const swap *s, int stage, pl_evict_swap_style style, int item[], int use[])
{
    const pl_evict_retain *r = s->r;
    const pl_evict_problem *p = r->items->problem;
    double best[TRIES];
    int n = 0;
    for (int i = 0; i < r->items->n_item; i++) {
        if (!r->tracked[i]) continue;
        const pl_evict_retain_uses *u = &r->uses[i];
        int k = pl_evict_retain_find(r, i, stage);
        if (k == 0 || k == u->n || u->at[k].how != PL_RETAIN_KEEP) continue;
        int from = u->at[k - 1].stage, to = u->at[k].stage;
        if (to <= stage) continue;
        double bytes = (double)r->items->item[i].bytes;
        double room = s->start[to] - s->start[from + 1];
        if (room < bytes / p->out_bytes_per_s + bytes / p->in_bytes_per_s) continue;
        double rank = s->over[to] - s->over[from + 1] - 0.5 * from / (r->items->n_op + 1);
        if (style.dear > 0 && r->items->item[i].again)
            rank *= pow(r->items->item[i].again_seconds / bytes + 1e-15, style.dear);
        if (n == TRIES && rank <= best[n - 1]) continue;
        int at = n < TRIES ? n++ : n - 1;
        for (; at > 0 && best[at - 1] < rank; at--) {
            best[at] = best[at - 1];
            item[at] = item[at - 1];
            use[at] = use[at - 1];
        }
        best[at] = rank;
        item[at] = i;
        use[at] = k;
    }
    return n;
}

/* Tries a copy; what it takes away from the excess, with all other copies placed anew. */
static double try_pair(swap *s, int item, int k)
{
    pl_evict_retain *r = s->r;
    double over = r->over;
    int to = r->uses[item].at[k].stage, from = r->uses[item].at[k - 1].stage;
    if (!pl_evict_retain_change(r, item, k, PL_RETAIN_HOST, from + 1, to)) return 0;
    return time_waits(s, false) ? over - r->over : 0;
}

/* Stages where nothing helped are left, with those near them: another one above the budget is
 * looked at. */
void pl_evict_swap_fill(pl_evict_retain *retain, pl_evict_swap_style style)
{
    pl_arena *tmp = pl_arena_new("evict swap");
    pl_evict_retain *r = retain;
    swap s = open_swap(r, tmp);
    int n = r->items->n_op, item[TRIES], use[TRIES];
    bool *left = PL_NEW_N(tmp, bool, n + 1);
    start_stages(&s, style.stretch);
    (void)time_waits(&s, true);
    while (r->n_over > 0) {
        int stage = -1;
        for (int t = 0; t <= n; t++)
            if (!left[t] && r->load[t] > r->budget && (stage < 0 || r->load[t] > r->load[stage]))
                stage = t;
        if (stage < 0) break;
        count_over(&s);
        r->steps += r->items->n_item;
        int n_pair = list_pairs(&s, stage, style, item, use), best = -1;
        double most = 0;
        pl_evict_retain_accept(r);
        pl_evict_retain_mark mark = pl_evict_retain_here(r);
        for (int c = 0; c < n_pair; c++) {
            double gain = try_pair(&s, item[c], use[c]) / (double)r->items->item[item[c]].bytes;
            if (style.dear > 0 && r->items->item[item[c]].again)
                gain *= pow(r->items->item[item[c]].again_seconds /
                                (double)r->items->item[item[c]].bytes,
                            style.dear);
            if (gain > most) {
                most = gain;
                best = c;
            }
            pl_evict_retain_undo(r, mark);
        }
        if (best < 0)
            left[stage] = true;
        else
            (void)try_pair(&s, item[best], use[best]);
    }
    pl_evict_retain_accept(r);
    pl_arena_free(tmp);
}
