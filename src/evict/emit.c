/* A stage at a time: what is on the host goes and comes, what is made again runs, then the op;
 * what nobody wants later goes at once. Views are made again when an op reads them. */
#include "evict/emit.h"

#include <stdlib.h>

typedef struct event { /* of what is on the host between two uses */
    int stage, need, item;
    bool in;
} event;

typedef struct emit {
    const pl_evict_retain *r;
    const pl_evict_items *x;
    pl_evict_play *y;
    int *last;    /* [n_item] run of the stage that reads it last, counted from 0 */
    event *event; /* [n_event] by stage; drops before what comes in               */
    int n_event, next;
} emit;

static void make_view(emit *e, int value)
{
    const pl_evict_problem *p = e->x->problem;
    if (e->y->here[value]) return;
    PL_ASSERT(pl_evict_items_is_view(e->x, value)); /* a storage is there by what is retained */
    make_view(e, p->view_of[value]);
    pl_evict_play_run(e->y, p->maker[value]);
}

static void make_views(emit *e, int op)
{
    const pl_evict_problem *p = e->x->problem;
    for (int k = p->read_at[op]; k < p->read_at[op + 1]; k++) make_view(e, p->read[k]);
}

static const pl_evict_retain_use *find_use(const emit *e, int item, int stage, bool *stays,
                                           bool *host)
{
    const pl_evict_retain_uses *u = &e->r->uses[item];
    int k = pl_evict_retain_find(e->r, item, stage);
    if (k == u->n || u->at[k].stage != stage) return NULL;
    *stays = k + 1 < u->n && u->at[k + 1].how != PL_RETAIN_AGAIN;
    *host = k + 1 < u->n && u->at[k + 1].how == PL_RETAIN_HOST;
    return &u->at[k];
}

/* After its last run in a stage: an item goes, or starts on its way to the host. */
static void leave(emit *e, int item, int stage)
{
    bool stays, host;
    const pl_evict_retain_use *use = find_use(e, item, stage, &stays, &host);
    if (!e->y->present[item]) return;
    if (use && host && !e->y->copied[item]) pl_evict_play_out(e->y, item);
    if (use && !stays) pl_evict_play_drop(e->y, item);
}

static void run(emit *e, int op, int stage, int place)
{
    const pl_evict_items *x = e->x;
    bool stays, host;
    make_views(e, op);
    pl_evict_play_run(e->y, op);
    for (int k = x->out_at[op]; k < x->out_at[op + 1]; k++) {
        int i = x->out[k];
        if (!e->r->tracked[i]) continue;
        const pl_evict_retain_use *use = find_use(e, i, stage, &stays, &host);
        if (use && (op == stage || use->how == PL_RETAIN_AGAIN)) {
            if (e->last[i] <= place) leave(e, i, stage);
        } else if (!use) { /* made by the way: it was there already, or nobody wants it */
            int next = pl_evict_retain_find(e->r, i, stage);
            const pl_evict_retain_uses *u = &e->r->uses[i];
            bool kept = next > 0 && next < u->n &&
                        (u->at[next].how == PL_RETAIN_KEEP ||
                         (u->at[next].how == PL_RETAIN_HOST &&
                          (stage < u->at[next].gone || stage >= u->at[next].back)));
            if (!kept) pl_evict_play_drop(e->y, i);
        }
    }
    for (int k = x->in_at[op]; k < x->in_at[op + 1]; k++)
        if (e->r->tracked[x->in[k]] && e->last[x->in[k]] == place) leave(e, x->in[k], stage);
}

static int compare_events(const void *a, const void *b)
{
    const event *p = a, *q = b;
    if (p->stage != q->stage) return p->stage < q->stage ? -1 : 1;
    if (p->in != q->in) return p->in ? 1 : -1;
    if (p->need != q->need) return p->need < q->need ? -1 : 1;
    return (p->item > q->item) - (p->item < q->item);
}

static void add_events(emit *e, pl_arena *tmp)
{
    const pl_evict_retain *r = e->r;
    e->event = PL_NEW_N(tmp, event, 2 * r->n_host);
    for (int i = 0; i < e->x->n_item && r->n_host > 0; i++)
        for (int k = 1; k < r->uses[i].n; k++) {
            const pl_evict_retain_use *use = &r->uses[i].at[k];
            if (use->how != PL_RETAIN_HOST) continue;
            e->event[e->n_event++] = (event){ .stage = use->gone, .need = use->stage, .item = i };
            e->event[e->n_event++] =
                (event){ .stage = use->back, .need = use->stage, .item = i, .in = true };
        }
    if (e->n_event > 0) qsort(e->event, (size_t)e->n_event, sizeof *e->event, compare_events);
}

static void start_stage(emit *e, int stage)
{
    for (; e->next < e->n_event && e->event[e->next].stage == stage; e->next++)
        if (e->event[e->next].in)
            pl_evict_play_in(e->y, e->event[e->next].item);
        else
            pl_evict_play_drop(e->y, e->event[e->next].item);
}

static void run_stage(emit *e, int stage)
{
    const pl_evict_items *x = e->x;
    const pl_evict_retain_runs *again = &e->r->runs[stage];
    int n = again->n + (stage < x->n_op);
    for (int place = 0; place < n; place++) {
        int op = place < again->n ? again->at[place].op : stage;
        for (int k = x->out_at[op]; k < x->out_at[op + 1]; k++) e->last[x->out[k]] = -1;
    }
    for (int place = 0; place < n; place++) {
        int op = place < again->n ? again->at[place].op : stage;
        for (int k = x->in_at[op]; k < x->in_at[op + 1]; k++) e->last[x->in[k]] = place;
    }
    for (int k = 0; k < e->r->n_ends && stage == x->n_op; k++) e->last[e->r->ends[k]] = n;
    for (int place = 0; place < n; place++)
        run(e, place < again->n ? again->at[place].op : stage, stage, place);
}

static void end(emit *e)
{
    const pl_evict_problem *p = e->x->problem;
    for (int v = 0; v < p->n_value; v++)
        if (p->keep && (p->keep[v] & PL_EVICT_AT_END)) make_view(e, v);
}

void pl_evict_emit_all(const pl_evict_retain *retain, pl_evict_play *play)
{
    pl_arena *tmp = pl_arena_new("evict emit");
    emit e = { .r = retain, .x = retain->items, .y = play };
    e.last = PL_NEW_N(tmp, int, e.x->n_item);
    add_events(&e, tmp);
    pl_evict_play_restart(play);
    for (int i = 0; i < e.x->n_item; i++) {
        const pl_evict_retain_uses *u = &retain->uses[i];
        if (u->n > 1 && u->at[0].stage < 0 && u->at[1].how == PL_RETAIN_HOST)
            pl_evict_play_out(play, i);
        if (u->n == 1 && u->at[0].stage < 0) pl_evict_play_drop(play, i);
    }
    for (int t = 0; t <= e.x->n_op; t++) {
        start_stage(&e, t);
        run_stage(&e, t);
    }
    end(&e);
    pl_arena_free(tmp);
}
