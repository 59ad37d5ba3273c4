/* Objectives apart (ParaGAN, Li et al., SoCC 2024): devices along axis `pipe` work for other
 * objectives, as the two networks of a GAN, and wait for no other within a step. What one needs of
 * another, as the weights that judge it, is sent as the step begins; what it leaves in states of
 * another, as pictures in a buffer, as it ends. So what they read of each other is one step old.
 *
 * Each is a stage of a pipeline of one micro-batch (plan/stages.h); a stage more, on the last
 * device, has what needs several, as the sum of their losses. */
#include "layouts/list.h"
#include "layouts/strategy.h"
#include "plan/stages.h"
#include "schedules/make.h"

enum { MOST = 8 };

static bool say(pl_strategy *s, const pl_word *word, const int size[3], pl_err *err)
{
    (void)word, (void)err;
    return pl_strategy_axis(s, &pl_layout_apart, "apart", PL_STAGE_AXIS, size[0], 0);
}

static bool settle(pl_strategy *s, pl_err *err)
{
    const pl_said *said = pl_strategy_said(s, "apart");
    if (said->size[0] < 2 || said->size[0] > MOST)
        return pl_err_set(err, PL_EUSAGE, "strategy '%s': apart=N is of 2 to %d objectives",
                          s->text, MOST);
    if (pl_strategy_said(s, "pp"))
        return pl_err_set(err, PL_EUSAGE,
                          "strategy '%s': objectives that are apart have no stages: leave out pp=N",
                          s->text);
    return s->micro < 2 ||
           pl_err_set(err, PL_EUSAGE,
                      "strategy '%s': objectives that are apart take a batch at once: leave out "
                      "micro=%lld",
                      s->text, (long long)s->micro);
}

/* A stage for each objective on a place of its own, and one more on the last. */
static const pl_pipeline *make_order(int n, pl_arena *out)
{
    pl_pipeline *order = PL_NEW(out, pl_pipeline);
    int *rank_of = PL_NEW_N(out, int, n + 1);
    for (int i = 0; i <= n; i++) rank_of[i] = i < n ? i : n - 1;
    *order = (pl_pipeline){ .name = PL_PIPELINE_APART,
                            .n_ranks = n,
                            .n_stages = n + 1,
                            .n_micro = 1,
                            .apart = true,
                            .rank_of = rank_of,
                            .row = PL_NEW_N(out, pl_pass_row, n) };
    for (int i = 0; i <= n; i++) {
        pl_pipeline_add(order, rank_of[i], PL_PASS_F, i, 0, out);
        pl_pipeline_add(order, rank_of[i], PL_PASS_B, i, 0, out);
    }
    return order;
}

/* -- whose a node is --------------------------------------------------------------------------- */

typedef struct parting {
    const pl_graph *g;
    int n, n_forward;
    unsigned *need; /* [nodes] the objectives that need it, bits */
} parting;

static void mark(parting *x, const pl_value *v, unsigned bits)
{
    if (v->maker && v->maker->phase == PL_FORWARD) x->need[v->maker->id] |= bits;
}

/* What losses need. */
static void mark_needs(parting *x)
{
    pl_value *loss[MOST];
    pl_graph_losses(x->g, MOST, loss);
    for (int i = 0; i < x->n; i++) mark(x, loss[i], 1u << i);
    for (int i = x->n_forward - 1; i >= 0; i--) {
        const pl_node *n = x->g->nodes.at[i];
        for (int k = 0; k < n->n_in; k++) mark(x, n->in[k], x->need[i]);
    }
}

/* The one bit that is set; -1: several are, or none. */
static int only(unsigned bits)
{
    int i = 0;
    if (!bits || bits & (bits - 1)) return -1;
    while (!(bits >> i & 1)) i++;
    return i;
}

/* What one objective needs is its own; what none does is of the stage that it reads from or, where
 * these are several, of the one behind all. *stage [nodes] is known of those before. */
static bool find_stage(const parting *x, const pl_node *n, int *stage, pl_err *err)
{
    const unsigned need = x->need[n->id];
    unsigned from = 0;
    if (need && only(need) < 0)
        return pl_err_set(err, PL_EINPUT,
                          "node '%s' serves several objectives in a step, which wait for each "
                          "other then: of a GAN write buffer=1, and not dtype=bf16, as both read "
                          "what a weight is rounded to",
                          n->name);
    for (int k = 0; k < n->n_in; k++)
        if (n->in[k]->maker) from |= 1u << stage[n->in[k]->maker->id];
    const unsigned bits = need ? need : from;
    stage[n->id] = !bits ? 0 : only(bits) >= 0 ? only(bits) : x->n;
    return true;
}

static bool part(parting *x, int *stage, pl_err *err)
{
    mark_needs(x);
    for (int i = 0; i < x->n_forward; i++) PL_TRY(find_stage(x, x->g->nodes.at[i], stage, err));
    return true;
}

static bool finish(const pl_strategy *s, pl_plan *p, const pl_plan *like, pl_arena *out,
                   pl_err *err)
{
    const pl_said *said = pl_strategy_said(s, "apart");
    pl_value *loss[MOST];
    if (!said || like) return true;
    parting x = { .g = p->graph,
                  .n = pl_graph_losses(p->graph, MOST, loss),
                  .n_forward = pl_graph_forward(p->graph) };
    if (x.n != said->size[0])
        return pl_err_set(err, PL_EINPUT, "strategy '%s': the model has %d objective%s", s->text,
                          x.n ? x.n : 1, x.n > 1 ? "s" : "");
    pl_arena *tmp = pl_arena_new("objectives apart");
    int *stage = PL_NEW_N(tmp, int, p->graph->nodes.n + 1);
    x.need = PL_NEW_N(tmp, unsigned, p->graph->nodes.n + 1);
    const bool ok = part(&x, stage, err) || pl_err_in(err, "strategy '%s'", s->text);
    if (ok)
        p->stages = pl_stages_make(p->graph, pl_mesh_find(&p->mesh, PL_STAGE_AXIS),
                                   make_order(x.n, out), stage, out);
    pl_arena_free(tmp);
    return ok;
}

static void list(pl_texts *out, int n_devices)
{
    if (n_devices % 2 == 0) pl_texts_add(out, "apart=2");
}

const pl_layout pl_layout_apart = {
    .name = "apart",
    .about = "objectives apart (ParaGAN: Li et al., SoCC 2024)",
    .words =
        (const pl_word[]){
            { "apart=", "apart=N", 1, "apart",
              "each of N objectives on devices of its own, a step apart (a GAN with buffer=1)",
              say },
            { 0 },
        },
    .offers =
        (const pl_offer[]){
            { "apart=2", PL_OFFER_KNOWN | PL_OFFER_PARTS },
            { 0 },
        },
    .split = "objective",
    .needs = PL_HAS_OBJECTIVES,
    .settle = settle,
    .finish = finish,
    .list = list,
};
