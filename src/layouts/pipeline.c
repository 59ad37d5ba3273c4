/* Pipeline parallelism (GPipe, Huang et al., 2019; PipeDream, Narayanan et al., 2019 and 2021): the
 * forward nodes, in their order, are cut into stages, and devices along axis `pipe` have other
 * stages. When their passes run is data (schedules/).
 *
 * Stages are balanced: no other cuts of this kind have a shorter longest stage, what it takes to
 * send and to make blocks again counted in, each at the speed of its devices. Cuts lie where no
 * fewer bytes pass right before or behind. */
#include "layouts/list.h"
#include "layouts/strategy.h"
#include "graph/op.h"
#include "placement/speed.h"
#include "plan/stages.h"
#include "reshard/move.h"
#include "schedules/make.h"

#include <math.h>
#include <string.h>

static bool say_stages(pl_strategy *s, const pl_word *word, const int size[3], pl_err *err)
{
    (void)word, (void)err;
    return pl_strategy_axis(s, &pl_layout_pipeline, "pp", PL_STAGE_AXIS, size[0], 0);
}

/* Interleaved where a rank is to have several stages and nobody names another schedule. */
static bool make_order(const pl_strategy *s, pl_arena *out, pl_pipeline *order, pl_err *err)
{
    const pl_said *name = pl_strategy_said(s, "schedule"), *chunks = pl_strategy_said(s, "vpp");
    const char *usual = chunks && chunks->size[0] > 1 ? "interleaved" : "1f1b";
    const pl_pipeline_request r = { .ranks = pl_strategy_size(s, PL_STAGE_AXIS),
                                    .micro = (int)s->micro,
                                    .chunks = chunks ? chunks->size[0] : 0 };
    return pl_pipeline_make(name ? name->name : usual, &r, out, order, err) ||
           pl_err_in(err, "strategy '%s'", s->text);
}

static bool settle(pl_strategy *s, pl_err *err)
{
    const pl_said *pp = pl_strategy_said(s, "pp");
    if (!pp || pp->size[0] == 1)
        return pl_err_set(err, PL_EUSAGE,
                          "strategy '%s': a schedule needs stages: say pp=N too, N at least 2",
                          s->text);
    if (!s->micro)
        return pl_err_set(err, PL_EUSAGE,
                          "strategy '%s': with one micro-batch one stage works at a time, and the "
                          "others wait: say micro=N too, e.g. micro=%d",
                          s->text, 4 * pp->size[0]);
    pl_arena *tmp = pl_arena_new("pipeline words");
    pl_pipeline order;
    const bool ok = make_order(s, tmp, &order, err);
    pl_arena_free(tmp);
    return ok;
}

/* -- cuts -------------------------------------------------------------------------------------- */

typedef struct cutting {
    const pl_plan *plan;
    const pl_pipeline *order;
    int n;            /* forward nodes                                             */
    double **before;  /* [places][n + 1] seconds of the first so many, backward included */
    double *crossing; /* [n + 1] seconds to send what passes a cut before a node   */
    int n_cuts, *cut; /* places where a cut may be, 0 and n among them             */
    /* blocks, in the order of their first nodes, and how many of a stage are made again */
    int *begun;     /* [n + 1] that begin before a node                          */
    int *again;     /* [stages] at most; NULL: none                              */
    double **ahead; /* [places][blocks + 1] seconds of the first so many, forward alone */
} cutting;

static double node_seconds(const pl_plan *p, const pl_speed *speed, const pl_node *n)
{
    const pl_share share = pl_plan_share(p, n->id, 0);
    return speed ? pl_speed_share(&share, speed) : pl_op_flops(&share);
}

static double *find_seconds(const cutting *x, const pl_speed *speed, pl_arena *tmp)
{
    const pl_graph *g = x->plan->graph;
    double *seconds = PL_NEW_N(tmp, double, g->nodes.n + 1);
    for (int i = 0; i < g->nodes.n; i++) {
        const pl_node *n = g->nodes.at[i], *at = n;
        if (n->phase == PL_BACKWARD) at = n->of;
        if (n->phase != PL_UPDATE && at && at->phase == PL_FORWARD)
            seconds[at->id] += node_seconds(x->plan, speed, n);
    }
    double *before = PL_NEW_N(tmp, double, x->n + 1);
    for (int i = 0; i < x->n; i++) before[i + 1] = before[i] + seconds[i];
    return before;
}

/* Of forward nodes in blocks. */
static double *find_ahead(const cutting *x, const pl_fold *fold, const pl_speed *speed,
                          pl_arena *tmp)
{
    const int all = x->begun[x->n];
    double *ahead = PL_NEW_N(tmp, double, all + 1);
    for (int k = 0; k < fold->n_classes; k++)
        for (int i = 0; i < fold->at[k].n_instances; i++) {
            const int *node = fold->at[k].node[i], block = x->begun[node[0]];
            for (int j = 0; j < fold->at[k].n_nodes; j++) {
                const pl_node *n = x->plan->graph->nodes.at[node[j]];
                if (node[0] < x->n && n->phase == PL_FORWARD)
                    ahead[block + 1] += node_seconds(x->plan, speed, n);
            }
        }
    for (int b = 0; b < all; b++) ahead[b + 1] += ahead[b];
    return ahead;
}

static void find_begun(cutting *x, const pl_fold *fold, pl_arena *tmp)
{
    x->begun = PL_NEW_N(tmp, int, x->n + 1);
    for (int k = 0; k < fold->n_classes; k++)
        for (int i = 0; i < fold->at[k].n_instances; i++)
            if (fold->at[k].node[i][0] < x->n) x->begun[fold->at[k].node[i][0] + 1]++;
    for (int i = 0; i < x->n; i++) x->begun[i + 1] += x->begun[i];
}

/* Stages of a place share what is made again there. */
static void find_again(cutting *x, const pl_strategy *s, const pl_cluster *c, int axis,
                       pl_arena *tmp)
{
    const pl_pipeline *order = x->order;
    const pl_fold fold = pl_fold_find(x->plan->graph, tmp);
    int *stages = PL_NEW_N(tmp, int, order->n_ranks), *seen = PL_NEW_N(tmp, int, order->n_ranks);
    x->again = PL_NEW_N(tmp, int, order->n_stages);
    x->ahead = PL_NEW_N(tmp, double *, order->n_ranks);
    find_begun(x, &fold, tmp);
    for (int i = 0; i < order->n_stages; i++) stages[order->rank_of[i]]++;
    for (int i = 0; i < order->n_stages; i++) {
        const int place = order->rank_of[i], all = pl_strategy_recomputed(s, place);
        x->again[i] = all / stages[place] + (seen[place]++ < all % stages[place]);
    }
    for (int place = 0; place < order->n_ranks; place++) {
        const pl_speed speed =
            c ? pl_stages_speed(&x->plan->mesh, axis, c, place) : (pl_speed){ 0 };
        const bool like = place && x->before[place] == x->before[place - 1];
        x->ahead[place] = like ? x->ahead[place - 1] : find_ahead(x, &fold, c ? &speed : NULL, tmp);
    }
}

/* Places of equal devices take equally long. */
static void find_places(cutting *x, const pl_cluster *c, int axis, pl_arena *tmp)
{
    const int n = x->order->n_ranks;
    pl_speed *speed = PL_NEW_N(tmp, pl_speed, n);
    x->before = PL_NEW_N(tmp, double *, n);
    for (int place = 0; place < n; place++) {
        int like = 0;
        if (c) speed[place] = pl_stages_speed(&x->plan->mesh, axis, c, place);
        while (like < place && memcmp(&speed[like], &speed[place], sizeof *speed)) like++;
        x->before[place] =
            like < place ? x->before[like] : find_seconds(x, c ? &speed[place] : NULL, tmp);
    }
}

/* A value passes all cuts between its maker and its last reader. */
static void find_crossing(cutting *x, const pl_speed *speed, int axis, pl_arena *tmp)
{
    const pl_plan *p = x->plan;
    int *last = PL_NEW_N(tmp, int, p->graph->values.n + 1);
    double *change = PL_NEW_N(tmp, double, x->n + 2);
    for (int i = 0; i < x->n; i++)
        for (int k = 0; k < p->graph->nodes.at[i]->n_in; k++)
            last[pl_stages_read(p->graph->nodes.at[i]->in[k])->id] = i;
    for (int v = 0; v < p->graph->values.n; v++) {
        const pl_value *y = p->graph->values.at[v];
        if (!y->maker || y->maker->id >= x->n || pl_graph_state(y) || last[v] <= y->maker->id)
            continue;
        const pl_placement where = pl_plan_operand(p, y->maker->id, y->maker->n_in + y->out);
        const int64_t bytes =
            pl_placement_room(&where, &p->mesh, &y->shape) * pl_type_bytes(y->type);
        const double seconds =
            speed ? pl_move_seconds(PL_PERMUTE, &p->mesh, 1u << axis, bytes) : (double)bytes;
        change[y->maker->id + 1] += seconds;
        change[last[v] + 1] -= seconds;
    }
    x->crossing = PL_NEW_N(tmp, double, x->n + 1);
    for (int i = 1; i < x->n; i++) x->crossing[i] = x->crossing[i - 1] + change[i];
}

static void find_cuts(cutting *x, pl_arena *tmp)
{
    x->cut = PL_NEW_N(tmp, int, x->n + 1);
    for (int i = 0; i <= x->n; i++) {
        const bool end = i == 0 || i == x->n;
        if (end || (x->crossing[i] <= x->crossing[i - 1] * (1 + 1e-9) &&
                    (i + 1 == x->n || x->crossing[i] <= x->crossing[i + 1] * (1 + 1e-9))))
            x->cut[x->n_cuts++] = i;
    }
}

/* Of the first blocks of a stage. */
static double again_seconds(const cutting *x, int stage, int from, int to)
{
    const int first = x->begun[x->cut[from]], n = x->begun[x->cut[to]] - first,
              some = x->again[stage] < n ? x->again[stage] : n;
    const double *ahead = x->ahead[x->order->rank_of[stage]];
    return ahead[first + some] - ahead[first];
}

/* Of its nodes alone. */
static double work_seconds(const cutting *x, int stage, int from, int to)
{
    const double *before = x->before[x->order->rank_of[stage]];
    const double again = x->again ? again_seconds(x, stage, from, to) : 0;
    return before[x->cut[to]] - before[x->cut[from]] + again;
}

static double stage_seconds(const cutting *x, int stage, int from, int to)
{
    return work_seconds(x, stage, from, to) + x->crossing[x->cut[from]] + x->crossing[x->cut[to]];
}

/* best[s][j]: the shortest longest stage when the first s stages end at cut j. The last of them
 * begins ever earlier, until its nodes alone take longer than that. */
static bool balance(const cutting *x, int n_stages, int *stage, pl_arena *tmp)
{
    const int n = x->n_cuts;
    double *best = PL_NEW_N(tmp, double, (int64_t)(n_stages + 1) * n);
    int *from = PL_NEW_N(tmp, int, (int64_t)(n_stages + 1) * n);
    for (int j = 0; j < n; j++) best[j] = j ? INFINITY : 0;
    for (int s = 1; s <= n_stages; s++)
        for (int j = 0; j < n; j++) {
            double *to = &best[s * n + j];
            *to = INFINITY;
            for (int i = j - 1; i >= 0 && work_seconds(x, s - 1, i, j) <= *to; i--) {
                const double last = stage_seconds(x, s - 1, i, j), y = best[(s - 1) * n + i];
                if (y <= *to && last <= *to) *to = y > last ? y : last, from[s * n + j] = i;
            }
        }
    if (isinf(best[n_stages * n + n - 1])) return false;
    for (int s = n_stages, j = n - 1; s > 0; j = from[s * n + j], s--)
        for (int i = x->cut[from[s * n + j]]; i < x->cut[j]; i++) stage[i] = s - 1;
    return true;
}

static bool cut_stages(const pl_strategy *s, pl_plan *p, const pl_pipeline *order, int axis,
                       int *stage, pl_arena *tmp, pl_err *err)
{
    cutting x = { .plan = p, .order = order };
    pl_speed speed = { 0 };
    if (s->cluster) speed = pl_speed_of(s->cluster);
    x.n = pl_graph_forward(p->graph);
    find_places(&x, s->cluster, axis, tmp);
    if (pl_strategy_said(s, "recompute")) find_again(&x, s, s->cluster, axis, tmp);
    find_crossing(&x, s->cluster ? &speed : NULL, axis, tmp);
    find_cuts(&x, tmp);
    return balance(&x, order->n_stages, stage, tmp) ||
           pl_err_set(err, PL_EINPUT,
                      "strategy '%s': the model can be cut into %d stages at most, not %d", s->text,
                      x.n_cuts - 1, order->n_stages);
}

bool pl_strategy_cut(const pl_strategy *s, pl_plan *p, pl_arena *out, pl_err *err)
{
    const int axis = pl_mesh_find(&p->mesh, PL_STAGE_AXIS);
    pl_pipeline *order = PL_NEW(out, pl_pipeline);
    PL_TRY(make_order(s, out, order, err));
    pl_arena *tmp = pl_arena_new("stages");
    int *stage = PL_NEW_N(tmp, int, p->graph->nodes.n + 1);
    const bool ok = cut_stages(s, p, order, axis, stage, tmp, err);
    if (ok) p->stages = pl_stages_make(p->graph, axis, order, stage, out);
    pl_arena_free(tmp);
    return ok && pl_plan_check_full(p, err);
}

static bool finish(const pl_strategy *s, pl_plan *p, const pl_plan *like, pl_arena *out,
                   pl_err *err)
{
    const bool whole = like || !pl_strategy_said(s, "pp");
    return whole || pl_strategy_cut(s, p, out, err);
}

const pl_layout pl_layout_pipeline = {
    .name = "pipeline",
    .about = "pipelines (GPipe, Huang et al., NeurIPS 2019; 1F1B, Narayanan et al., SC 2021)",
    .words =
        (const pl_word[]){
            { "pp=", "pp=N", 1, "pp", "pipeline parallel: N stages along axis pipe; needs micro=N",
              say_stages },
            { "vpp=", "vpp=N", 1, "vpp", "N stages on each device of the pipeline (interleaved)",
              NULL },
            { "schedule=", "schedule=NAME", PL_WORD_NAME, "schedule",
              "when passes of the pipeline run: those of `pleat schedule`; usually 1f1b", NULL },
            { 0 },
        },
    .split = "stage",
    .settle = settle,
    .finish = finish,
};
