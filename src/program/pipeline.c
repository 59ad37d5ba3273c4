/* Lowering a plan in stages: in which pass of its row a rank runs each node, and what goes from
 * stage to stage when, pl_lower_pipeline().
 *
 * All is decided on a clock that all ranks share: the schedule played with usual seconds. What a
 * pass makes is sent when it is made; the other rank asks for it at the beginning of the pass in
 * which it is by then, and counts on it from its next pass on; the sender counts it as gone one
 * pass later. So every wait is for what comes earlier on that clock, and whatever passes take in
 * truth, no ranks wait for each other for ever. Messages between two ranks keep the order in which
 * they are sent. Updates come after all passes, and what they send each other goes node by node. */
#include "program/lower.h"
#include "plan/stages.h"
#include "schedules/play.h"

#include <math.h>
#include <stdlib.h>

typedef struct timetable {
    const pl_plan *plan;
    const pl_stages *stages;
    int n_micro, n_places;
    pl_pipeline_times times;
    int *pass[PL_N_PASSES]; /* [stage * n_micro + micro] its number in the row of its rank; -1 */
    bool *leads;            /* [nodes] backward ones that another stage waits for              */
    pl_arena *tmp;
} timetable;

/* -- which pass a node is of ------------------------------------------------------------------- */

/* A backward node of a pass in two pieces is of the first if it leads to another stage. */
static void find_leads(timetable *c)
{
    const pl_graph *g = c->plan->graph;
    c->leads = PL_NEW_N(c->tmp, bool, g->nodes.n + 1);
    for (int i = g->nodes.n - 1; i >= 0; i--) {
        const pl_node *n = g->nodes.at[i];
        for (int k = 0; k < n->n_in && n->phase == PL_BACKWARD; k++) {
            const pl_node *maker = n->in[k]->maker;
            if (!maker || maker->phase != PL_BACKWARD) continue;
            c->leads[maker->id] |= c->stages->of[maker->id] != c->stages->of[i] || c->leads[i];
        }
    }
}

static void find_passes(timetable *c)
{
    const pl_pipeline *order = c->stages->order;
    const int n = order->n_stages * c->n_micro;
    for (int k = 0; k < PL_N_PASSES; k++) {
        c->pass[k] = PL_NEW_N(c->tmp, int, n + 1);
        for (int i = 0; i < n; i++) c->pass[k][i] = -1;
    }
    for (int r = 0; r < order->n_ranks; r++)
        for (int i = 0; i < order->row[r].n; i++) {
            const pl_pass *x = &order->row[r].at[i];
            if (x->micro < c->n_micro) c->pass[x->kind][x->stage * c->n_micro + x->micro] = i;
        }
}

static timetable make_timetable(const pl_plan *p, pl_arena *tmp)
{
    timetable c = { .plan = p, .stages = p->stages, .tmp = tmp };
    const pl_pipeline *order = p->stages->order;
    c.n_micro = p->stages->micro ? order->n_micro : 1;
    c.n_places = order->n_ranks;
    pl_pipeline_play(order, &(pl_pass_costs){ 0 }, tmp, &c.times);
    find_passes(&c);
    find_leads(&c);
    return c;
}

/* Of a place's passes; those of its row, then updates. */
static int count_passes(const timetable *c, int place)
{
    return c->stages->order->row[place].n + 1;
}

/* The pass of a node on the rank that has its stage; PL_EVERYWHERE: updates. */
static int pass_of(const timetable *c, const pl_node *n)
{
    const int stage = c->stages->of[n->id];
    if (n->phase == PL_UPDATE || stage == PL_EVERYWHERE) return PL_EVERYWHERE;
    const int micro = c->stages->micro ? c->stages->micro[n->id] : 0;
    const int at = stage * c->n_micro + micro;
    if (n->phase == PL_FORWARD) return c->pass[PL_PASS_F][at];
    if (c->pass[PL_PASS_B][at] >= 0) return c->pass[PL_PASS_B][at];
    return c->pass[c->leads[n->id] ? PL_PASS_I : PL_PASS_W][at];
}

/* -- what goes from stage to stage ------------------------------------------------------------- */

typedef struct list {
    int n, cap;
    pl_handover *at;
} list;

/* When it is made; INFINITY: in updates. */
static double made_at(const timetable *c, int place, int pass)
{
    if (pass < 0) return 0;
    return pass < c->stages->order->row[place].n ? c->times.end[place][pass] : INFINITY;
}

/* Passes of a rank that begin before a moment. */
static int begun_before(const timetable *c, int place, double t)
{
    const int n = c->stages->order->row[place].n;
    int k = 0;
    while (k < n && c->times.begin[place][k] < t - 1e-9) k++;
    return k;
}

/* stored: it is read by no node there, only left in a state. */
static void add_handover(const timetable *c, list *all, const pl_value *v, int from, int to,
                         bool stored)
{
    const bool updated = v->maker && v->maker->phase == PL_UPDATE;
    const int made = updated ? count_passes(c, from) - 1 : v->maker ? pass_of(c, v->maker) : -1;
    const double t = made_at(c, from, made);
    const int begun = begun_before(c, to, t), last = count_passes(c, to) - 1;
    const pl_handover x = { .value = v,
                            .from = from,
                            .to = to,
                            .made = made,
                            .asked = updated ? last
                                     : begun ? begun - 1
                                             : 0,
                            .there =
                                updated || (stored && c->stages->order->apart) ? last : begun };
    PL_PUSH(c->tmp, all, x);
}

/* What a place gives and takes. */
typedef struct finder {
    timetable *c;
    int place;
    list all;
    bool *seen; /* [values * places] */
} finder;

static void need(finder *x, const pl_value *v, int to, bool stored)
{
    v = pl_stages_read(v);
    const int stage = pl_stages_source(x->c->stages, v);
    if (stage == PL_EVERYWHERE) return;
    const int from = pl_stages_place(x->c->stages, stage);
    if (from == to || (from != x->place && to != x->place)) return;
    bool *seen = &x->seen[(int64_t)v->id * x->c->n_places + to];
    if (*seen) return;
    *seen = true;
    add_handover(x->c, &x->all, v, from, to, stored);
}

/* In the order in which a rank sends, and another one receives. */
static int by_time(const void *a, const void *b)
{
    const pl_handover *x = a, *y = b;
    if (x->there != y->there) return x->there < y->there ? -1 : 1;
    if (x->from != y->from) return x->from < y->from ? -1 : 1;
    if (x->made != y->made) return x->made < y->made ? -1 : 1;
    return (x->value->id > y->value->id) - (x->value->id < y->value->id);
}

static list find_all(timetable *c, int place)
{
    const pl_graph *g = c->plan->graph;
    finder x = { .c = c, .place = place };
    x.seen = PL_NEW_N(c->tmp, bool, (int64_t)g->values.n * c->n_places + 1);
    for (int i = 0; i < g->nodes.n; i++) {
        const int stage = c->stages->of[i];
        for (int k = 0; k < g->nodes.at[i]->n_in && stage != PL_EVERYWHERE; k++)
            need(&x, g->nodes.at[i]->in[k], pl_stages_place(c->stages, stage), false);
    }
    for (int i = 0; i < g->outputs.n; i++)
        for (int to = 0; to < c->n_places; to++) need(&x, g->outputs.at[i], to, false);
    for (int i = 0; i < g->values.n; i++) {
        const pl_value *v = g->values.at[i];
        const int home = c->stages->home[i];
        if (v->next && home != PL_EVERYWHERE)
            need(&x, v->next, pl_stages_place(c->stages, home), true);
    }
    return x.all;
}

/* -- the rank's own ---------------------------------------------------------------------------- */

/* Nodes in the order in which the rank runs them: by pass. */
static void list_nodes(const timetable *c, int place, pl_lower_stage *out, pl_arena *tmp)
{
    const pl_graph *g = c->plan->graph;
    int *of = PL_NEW_N(tmp, int, g->nodes.n + 1);
    out->n_passes = count_passes(c, place);
    out->first = PL_NEW_N(tmp, int, out->n_passes + 2);
    out->node = PL_NEW_N(tmp, int, g->nodes.n + 1);
    for (int i = 0; i < g->nodes.n; i++) {
        const int stage = c->stages->of[i], pass = pass_of(c, g->nodes.at[i]);
        const bool here = stage == PL_EVERYWHERE || pl_stages_place(c->stages, stage) == place;
        of[i] = !here ? -1 : pass == PL_EVERYWHERE ? out->n_passes - 1 : pass;
        if (here) out->first[of[i] + 2]++;
    }
    for (int k = 0; k < out->n_passes; k++) out->first[k + 2] += out->first[k + 1];
    for (int i = 0; i < g->nodes.n; i++)
        if (of[i] >= 0) out->node[out->first[of[i] + 1]++] = i;
}

void pl_lower_pipeline(const pl_plan *p, int rank, pl_lower_stage *out, pl_arena *tmp)
{
    timetable c = make_timetable(p, tmp);
    const int place = pl_plan_place(p, rank);
    const list all = find_all(&c, place);
    qsort(all.at, (size_t)all.n, sizeof *all.at, by_time);
    *out = (pl_lower_stage){ .place = place, .n = all.n, .at = all.at };
    list_nodes(&c, place, out, tmp);
    out->first_task = PL_NEW_N(tmp, int, out->n_passes + 1);
}
