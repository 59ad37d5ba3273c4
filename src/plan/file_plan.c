/* What was read becomes a plan of a graph: pl_plan_file_plan() names all that does not fit at
 * once. */
#include "plan/file.h"
#include "plan/file_rows.h"
#include "plan/stages.h"
#include "schedules/csv.h"

#include <string.h>

/* Mistakes that a file may have about a graph. */
enum {
    NO_NODE,
    NODE_TWICE,
    NO_TENSOR,
    TENSOR_TWICE,
    COMPUTED,
    KEPT_TWICE,
    AGAIN_TWICE,
    NOT_AGAIN,
    NO_LETTER,
    RANK,
    NO_FORWARD,
    STAGE_TWICE,
    NO_STAGE,
    OTHER_STAGE,
    N_MISTAKES,
    NAMED = 8, /* of each */
};

static const char *const mistakes[N_MISTAKES] = {
    [NO_NODE] = "nodes: the graph has none that are called",
    [NODE_TWICE] = "nodes: more than once there stand",
    [NO_TENSOR] = "stored, kept, recomputed: the graph has no tensors that are called",
    [TENSOR_TWICE] = "stored: more than once there stand",
    [COMPUTED] = "stored: neither inputs nor states are",
    [KEPT_TWICE] = "kept: more than once there stand",
    [AGAIN_TWICE] = "recomputed: more than once there stand",
    [NOT_AGAIN] = "recomputed: no node that changes no state makes in the forward pass",
    [NO_LETTER] = "nodes: their signatures lack the letters of",
    [RANK] = "stored, kept: placements of another rank have",
    [NO_FORWARD] = "stages: the forward pass has no nodes that are called",
    [STAGE_TWICE] = "stages: more than once there stand",
    [NO_STAGE] = "stages: missing are",
    [OTHER_STAGE] = "stages: the schedule has no such stages as those of",
};

typedef struct matcher {
    const pl_plan_rows *rows;
    const pl_graph *g;
    pl_plan *p;
    pl_arena *tmp;
    struct {
        int n;
        pl_text text;
    } found[N_MISTAKES];
} matcher;

static void add_mistake(matcher *m, int kind, const char *name, const char *detail)
{
    pl_text *t = &m->found[kind].text;
    t->arena = m->tmp;
    if (m->found[kind].n++ < NAMED) pl_text_add(t, "%s '%.60s'%s", t->n ? "," : "", name, detail);
}

static bool check_mistakes(const matcher *m, pl_err *err)
{
    for (int k = 0; k < N_MISTAKES; k++) {
        int more = m->found[k].n - NAMED;
        if (!m->found[k].n) continue;
        const char *rest = more > 0 ? pl_arena_fmt(m->tmp, " and %d more", more) : "";
        return pl_err_set(err, PL_EINPUT, "%s%s%s", mistakes[k], pl_text_get(&m->found[k].text),
                          rest);
    }
    return true;
}

static bool has_rank(matcher *m, const char *tensor, int dims, const pl_value *v)
{
    if (dims == (v->shape.rank ? v->shape.rank : 1)) return true;
    add_mistake(m, RANK, tensor, pl_arena_fmt(m->tmp, " (%d, not %d)", dims, v->shape.rank));
    return false;
}

static void match_stored(matcher *m)
{
    bool *seen = PL_NEW_N(m->tmp, bool, m->g->values.n + 1);
    for (int i = 0; i < m->rows->n_stored; i++) {
        const pl_stored_row *row = &m->rows->stored[i];
        const pl_value *v = pl_graph_find(m->g, row->tensor);
        if (!v)
            add_mistake(m, NO_TENSOR, row->tensor, "");
        else if (v->maker)
            add_mistake(m, COMPUTED, row->tensor, "");
        else if (seen[v->id])
            add_mistake(m, TENSOR_TWICE, row->tensor, "");
        else if (has_rank(m, row->tensor, row->dims, v))
            m->p->stored[v->id] = row->where;
        if (v) seen[v->id] = true;
    }
}

static void match_kept(matcher *m)
{
    bool *seen = PL_NEW_N(m->tmp, bool, m->g->values.n + 1);
    for (int i = 0; i < m->rows->n_kept; i++) {
        const pl_kept_row *row = &m->rows->kept[i];
        const pl_value *v = pl_graph_find(m->g, row->tensor);
        if (!v)
            add_mistake(m, NO_TENSOR, row->tensor, "");
        else if (seen[v->id])
            add_mistake(m, KEPT_TWICE, row->tensor, "");
        else if (!row->by_axes && has_rank(m, row->tensor, row->dims, v))
            m->p->kept[v->id] = &row->where;
        if (v) seen[v->id] = true;
    }
}

static void match_recomputed(matcher *m)
{
    for (int i = 0; i < m->rows->n_recomputed; i++) {
        const char *name = m->rows->recomputed[i];
        const pl_value *v = pl_graph_find(m->g, name);
        if (!v)
            add_mistake(m, NO_TENSOR, name, "");
        else if (m->p->recompute[v->id])
            add_mistake(m, AGAIN_TWICE, name, "");
        else if (!pl_plan_can_recompute(v))
            add_mistake(m, NOT_AGAIN, name, "");
        else
            m->p->recompute[v->id] = true;
    }
}

static void match_letters(matcher *m, const pl_node *n, const pl_node_row *row, pl_choice *c)
{
    *c = row->choice;
    for (int a = 0; a < m->p->mesh.n; a++) {
        if (c->factor[a] < 0) continue;
        int f = pl_sig_find(n->sig, (char)c->factor[a]);
        if (f < 0)
            add_mistake(
                m, NO_LETTER, row->node,
                pl_arena_fmt(m->tmp, " (%c on axis '%s')", c->factor[a], m->p->mesh.axis[a].name));
        c->factor[a] = (int8_t)(f < 0 ? PL_COPIED : f);
    }
}

static void match_nodes(matcher *m)
{
    bool *seen = PL_NEW_N(m->tmp, bool, m->g->nodes.n + 1);
    for (int i = 0; i < m->rows->n_nodes; i++) {
        const pl_node_row *row = &m->rows->node[i];
        const pl_value *first = pl_graph_find(m->g, row->node);
        const pl_node *n = first && !first->out ? first->maker : NULL;
        if (!n)
            add_mistake(m, NO_NODE, row->node, "");
        else if (seen[n->id])
            add_mistake(m, NODE_TWICE, row->node, "");
        else {
            match_letters(m, n, row, &m->p->choice[n->id]);
            m->p->on_host[n->id] = row->on_host;
        }
        if (n) seen[n->id] = true;
    }
}

/* Forward nodes but casts, which are made where they are read. */
static bool has_stage(const pl_node *n)
{
    return n->phase == PL_FORWARD && !(n->n_out && pl_graph_state(n->out[0]));
}

static void match_stages(matcher *m, pl_arena *out)
{
    pl_pipeline *order = PL_NEW(out, pl_pipeline);
    pl_err err = { 0 };
    int *stage = PL_NEW_N(m->tmp, int, m->g->nodes.n + 1);
    for (int i = 0; i < m->g->nodes.n; i++) stage[i] = PL_EVERYWHERE;
    const bool ok = pl_pipeline_csv_read(m->rows->passes, strlen(m->rows->passes),
                                         pl_arena_text(out, m->rows->schedule), out, order, &err);
    PL_ASSERT(ok); /* it was read before */
    for (int i = 0; i < m->rows->n_stages; i++) {
        const pl_stage_row *row = &m->rows->stage[i];
        const pl_value *first = pl_graph_find(m->g, row->node);
        const pl_node *n = first && !first->out ? first->maker : NULL;
        if (!n || !has_stage(n))
            add_mistake(m, NO_FORWARD, row->node, "");
        else if (stage[n->id] != PL_EVERYWHERE)
            add_mistake(m, STAGE_TWICE, row->node, "");
        else if (row->stage >= order->n_stages)
            add_mistake(m, OTHER_STAGE, row->node, pl_arena_fmt(m->tmp, " (%d)", row->stage));
        else
            stage[n->id] = row->stage;
    }
    for (int i = 0; i < m->g->nodes.n && !m->found[OTHER_STAGE].n; i++)
        if (has_stage(m->g->nodes.at[i]) && stage[i] == PL_EVERYWHERE)
            add_mistake(m, NO_STAGE, m->g->nodes.at[i]->out[0]->name, "");
    m->p->stages = pl_stages_make(m->g, m->rows->axis, order, stage, out);
}

static bool check_graph(const pl_plan_file *f, const pl_graph *g, pl_err *err)
{
    const pl_plan_numbers *x = &f->about.numbers;
    uint64_t digest = pl_plan_digest(g);
    return (f->graph == digest && f->n_nodes == g->nodes.n && f->micro == g->micro) ||
           pl_err_set(err, PL_EINPUT,
                      "the plan is for another graph: %d nodes, digest %016llx; '%.200s' has %d, "
                      "digest %016llx. Build '%.200s' with %.40s, %s%s%s, else as usual, in %lld "
                      "micro-batch%s, "
                      "or plan again",
                      f->n_nodes, (unsigned long long)f->graph, g->name, g->nodes.n,
                      (unsigned long long)digest, f->about.model, f->about.optimizer,
                      x->unclipped ? "--clip 0" : "a --clip above 0",
                      x->no_momentum ? ", --momentum 0" : "",
                      x->undecayed ? ", --decay 0"
                      : x->decayed ? ", a --decay above 0"
                                   : "",
                      (long long)f->micro, f->micro == 1 ? "" : "es");
}

static bool match(const pl_plan_file *f, const pl_graph *g, pl_plan *p, pl_arena *out,
                  pl_arena *tmp, pl_err *err)
{
    matcher m = { .rows = f->rows, .g = g, .p = p, .tmp = tmp };
    match_stored(&m);
    match_kept(&m);
    match_recomputed(&m);
    match_nodes(&m);
    if (f->rows->axis >= 0) match_stages(&m, out);
    return check_mistakes(&m, err);
}

/* All in normal form, `out` owns them; of legal ones. Rows of version 1 go by them. */
static void settle_placements(const pl_plan_file *f, pl_plan *p, pl_arena *out)
{
    const pl_graph *g = p->graph;
    for (int i = 0; i < g->values.n; i++) {
        const pl_value *v = g->values.at[i];
        p->stored[i] = pl_placement_normal(&p->stored[i], &p->mesh, &v->shape);
        if (!p->kept[i]) continue;
        pl_placement *kept = PL_NEW(out, pl_placement);
        *kept = pl_placement_normal(p->kept[i], &p->mesh, &v->shape);
        p->kept[i] = kept;
    }
    for (int i = 0; i < f->rows->n_kept; i++) {
        const pl_kept_row *row = &f->rows->kept[i];
        if (row->by_axes) pl_plan_keep(p, pl_graph_find(g, row->tensor), row->axes, out);
    }
}

bool pl_plan_file_plan(const pl_plan_file *f, const pl_graph *g, pl_arena *out, pl_plan **plan,
                       pl_err *err)
{
    PL_TRY(check_graph(f, g, err));
    pl_plan *p = pl_plan_single(g, out);
    p->mesh = f->mesh;
    p->strategy = pl_arena_text(out, f->about.strategy);
    pl_arena *tmp = pl_arena_new("plan of a file");
    bool ok = match(f, g, p, out, tmp, err) && pl_plan_check(p, err) &&
              (!p->stages || pl_plan_check_full(p, err));
    pl_arena_free(tmp);
    if (!ok) return false;
    settle_placements(f, p, out);
    *plan = p;
    return true;
}
