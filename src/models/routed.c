/* Experts' slots: scores of the experts, the choice of k of them, their weights, the way there.
 * Source: Lepikhin et al., GShard, 2021 (groups, capacity, weights that sum to 1); Fedus, Zoph,
 * Shazeer, Switch Transformers, 2022 (weights are the softmax over all experts, so that k=1 trains
 * its router too); DeepSeek-V2, 2024 (experts of a few families only, a factor on the weights);
 * DeepSeek-V3, 2024 (sigmoids, and a bias that only chooses). */
#include "models/routed.h"
#include "ops/list.h"

#include <math.h>

static const double least_sum = 1e-20; /* in transformers: no division by 0 */

pl_routed pl_routed_new(pl_builder *b, const char *spec, int64_t experts, int64_t k, int64_t tokens,
                        double capacity)
{
    double slots = ceil(capacity * (double)tokens * (double)k / (double)experts);
    if (k > experts)
        pl_err_set(&b->err, PL_EINPUT, "%s: k=%lld experts of a token, but there are experts=%lld",
                   spec, (long long)k, (long long)experts);
    pl_routed r = { .b = b, .experts = experts, .k = k };
    if (capacity > 0) r.slots = slots > (double)tokens ? tokens : slots < 1 ? 1 : (int64_t)slots;
    return r;
}

static const pl_node *take_largest(pl_routed *r, const char *name, int64_t k, pl_value *x)
{
    const char *spec = pl_builder_fmt(r->b, "gte->gtk,gtk; k=%lld", (long long)k);
    return pl_add_node(r->b, &pl_op_topk, name, spec, 1, &x);
}

/* Of each family what it is chosen by: [group, token, family]. */
static pl_value *score_families(pl_routed *r, const char *n, pl_value *scores)
{
    pl_builder *b = r->b;
    if (!r->sigmoid)
        return PL_ADD_AS(b, &pl_op_reduce_max, "router.families",
                         pl_builder_fmt(b, "gt(ne)->gtn; %s", n), scores);
    const pl_node *two = pl_add_node(b, &pl_op_topk, "router.two",
                                     pl_builder_fmt(b, "gt(ne)->gtnk,gtnk; k=2 %s", n), 1, &scores);
    return two ? PL_ADD_AS(b, &pl_op_reduce_sum, "router.families", "gtnk->gtn", two->out[0])
               : NULL;
}

/* Scores of the families that are not chosen become lower than any other. */
static pl_value *keep_families(pl_routed *r, pl_value *scores)
{
    pl_builder *b = r->b;
    if (!r->families || !scores) return scores;
    const char *n = pl_builder_fmt(b, "n=%lld", (long long)r->families);
    pl_value *family = score_families(r, n, scores);
    const pl_node *best = family ? take_largest(r, "router.best", r->chosen, family) : NULL;
    if (!best) return NULL;
    const char *to = pl_builder_fmt(b, "gtk->gtkv; v=%lld to=u8", (long long)r->families);
    pl_value *kept = PL_ADD_AS(b, &pl_op_one_hot, "router.marks", to, best->out[1]);
    kept = PL_ADD_AS(b, &pl_op_reduce_sum, "router.kept", "gtkn->gtn", kept);
    const char *lowest = pl_builder_fmt(b, "->; value=-1e30 to=%s", pl_type_name(scores->type));
    return PL_ADD_AS(b, &pl_op_where, "router.masked",
                     pl_builder_fmt(b, "gtn,gt(ne),->gt(ne); %s", n), kept, scores,
                     pl_add_value(b, &pl_op_fill, NULL, lowest, 0, NULL));
}

static pl_value *divide_by_sum(pl_routed *r, pl_value *weight)
{
    pl_builder *b = r->b;
    if (!weight) return NULL;
    const char *least =
        pl_builder_fmt(b, "->; value=%.17g to=%s", least_sum, pl_type_name(weight->type));
    pl_value *sum = PL_ADD_AS(b, &pl_op_reduce_sum, "router.sum", "gtk->gt", weight);
    sum = PL_ADD(b, &pl_op_add, "gt,->gt", sum, pl_add_value(b, &pl_op_fill, NULL, least, 0, NULL));
    return PL_ADD_AS(b, &pl_op_div, "router.even", "gtk,gt->gtk", weight, sum);
}

/* In the bias's own type: it moves by less than bf16 tells apart. */
static pl_value *add_bias(pl_routed *r, pl_value *scores, pl_value *bias)
{
    if (scores && scores->type != bias->type)
        scores = PL_ADD(r->b, &pl_op_cast,
                        pl_builder_fmt(r->b, "; to=%s", pl_type_name(bias->type)), scores);
    return PL_ADD_AS(r->b, &pl_op_add, "router.biased", "gte,e->gte", scores, bias);
}

bool pl_routed_choose(pl_routed *r, pl_value *logits, pl_value *bias)
{
    pl_builder *b = r->b;
    /* The softmax of the largest logits is that of all, divided by their sum. */
    const bool late = r->even && !r->sigmoid && !r->families && !bias;
    pl_value *scores = logits, *by;
    if (r->sigmoid)
        scores = PL_ADD_AS(b, &pl_op_sigmoid, "router.sigmoid", NULL, logits);
    else if (!late)
        scores = PL_ADD_AS(b, &pl_op_softmax, "router.softmax", NULL, logits);
    by = bias ? add_bias(r, scores, bias) : scores;
    by = keep_families(r, by);
    const pl_node *choice = by ? take_largest(r, "router.topk", r->k, by) : NULL;
    if (!choice) return false;
    r->weight = choice->out[0], r->ids = choice->out[1], r->scores = scores, r->marks = NULL;
    if (by != scores)
        r->weight =
            PL_ADD_AS(b, &pl_op_gather_elements, "router.weight", "gte,gtk->gtk", scores, r->ids);
    if (late)
        r->weight = PL_ADD_AS(b, &pl_op_softmax, "router.softmax", NULL, r->weight);
    else if (r->even)
        r->weight = divide_by_sum(r, r->weight);
    if (r->scale > 0)
        r->weight = PL_ADD_AS(b, &pl_op_scale, "router.scaled",
                              pl_builder_fmt(b, "; value=%.17g", r->scale), r->weight);
    return r->weight;
}

pl_value *pl_routed_send(pl_routed *r, pl_value *logits, pl_value *bias, pl_value *x)
{
    if (!pl_routed_choose(r, logits, bias)) return NULL;
    if (!r->slots) return x;
    const char *to = pl_builder_fmt(r->b, "gth,gtk->gech; e=%lld c=%lld", (long long)r->experts,
                                    (long long)r->slots);
    return PL_ADD_AS(r->b, &pl_op_moe_dispatch, "dispatch", to, x, r->ids);
}

pl_value *pl_routed_linear(const pl_routed *r, const char *name, const char *letters, pl_value *w,
                           pl_value *x)
{
    if (!x) return NULL;
    if (r->slots)
        return PL_ADD_AS(r->b, &pl_op_einsum, name, pl_builder_fmt(r->b, "geci,%s->geco", letters),
                         x, w);
    const char *k = x->shape.rank == 4 ? "k" : "";
    return PL_ADD_AS(r->b, &pl_op_moe_matmul, name,
                     pl_builder_fmt(r->b, "gt%si,gtk,%s->gtko", k, letters), x, r->ids, w);
}

pl_value *pl_routed_return(const pl_routed *r, pl_value *y)
{
    if (r->slots) return PL_ADD_AS(r->b, &pl_op_moe_combine, "combine", NULL, y, r->ids, r->weight);
    return PL_ADD_AS(r->b, &pl_op_einsum, "combine", "gtkh,gtk->gth", y, r->weight);
}

/* As a matrix, so that what is picked by it has the gradient of a product. */
static pl_value *mark_chosen(pl_routed *r)
{
    pl_builder *b = r->b;
    if (r->marks || !r->ids) return r->marks;
    const char *all = pl_builder_fmt(b, "gtk->gtkv; v=%lld", (long long)r->experts);
    return r->marks = PL_ADD_AS(b, &pl_op_one_hot, "router.chosen", all, r->ids);
}

pl_value *pl_routed_bias(pl_routed *r, pl_value *c, pl_value *x)
{
    if (r->slots) return PL_ADD(r->b, &pl_op_add, "geco,eo->geco", x, c);
    return PL_ADD(r->b, &pl_op_add, NULL, x,
                  PL_ADD(r->b, &pl_op_einsum, "gtke,em->gtkm", mark_chosen(r), c));
}

pl_value *pl_routed_balance(pl_routed *r)
{
    pl_builder *b = r->b;
    if (!r->scores || !r->ids) return NULL;
    const double groups = (double)r->ids->shape.dim[0], tokens = (double)r->ids->shape.dim[1];
    pl_value *chosen = PL_ADD_AS(b, &pl_op_reduce_sum, "router.load", "gtke->ge", mark_chosen(r));
    pl_value *p = r->scores;
    if (p->type != PL_F32) p = PL_ADD(b, &pl_op_cast, "; to=f32", p);
    p = PL_ADD_AS(b, &pl_op_reduce_sum, "router.likely", "gte->ge", p);
    p = PL_ADD_AS(b, &pl_op_einsum, "router.balance", "ge,ge->", p, chosen);
    return PL_ADD(b, &pl_op_scale,
                  pl_builder_fmt(b, "; value=%.17g",
                                 (double)r->experts / (groups * tokens * tokens * (double)r->k)),
                  p);
}

/* -- what is told of them ---------------------------------------------------------------------- */

/* Of all layers so far. */
typedef struct tally {
    pl_builder *b;
    pl_value *kept, *used;   /* choices that have a slot; experts that somebody chose */
    double choices, experts; /* all there are, of layers with slots; of all           */
} tally;

static void add_to(tally *t, pl_value **sum, pl_value *x)
{
    *sum = *sum ? PL_ADD(t->b, &pl_op_add, NULL, *sum, x) : x;
}

static int64_t size_of(const pl_node *n, char letter)
{
    return n->sig->factor[pl_sig_find(n->sig, letter)].size;
}

static void add_layer(tally *t, const pl_node *n)
{
    pl_builder *b = t->b;
    pl_value *ids = n->in[1];
    const int64_t experts = size_of(n, 'e');
    pl_value *load =
        PL_ADD(b, &pl_op_one_hot, pl_builder_fmt(b, "gtk->gtkv; v=%lld", (long long)experts), ids);
    load = PL_ADD(b, &pl_op_reduce_sum, "gtke->ge", load);
    if (n->op == &pl_op_moe_dispatch) {
        pl_value *slots = pl_model_number(b, (double)size_of(n, 'c'));
        pl_value *kept = PL_ADD(b, &pl_op_minimum, "ge,->ge", load, slots);
        add_to(t, &t->kept, PL_ADD(b, &pl_op_reduce_sum, "ge->", kept));
        t->choices += (double)pl_shape_count(&ids->shape);
    }
    load = PL_ADD(b, &pl_op_less, ",e->e", pl_model_number(b, 0),
                  PL_ADD(b, &pl_op_reduce_sum, "ge->e", load));
    add_to(t, &t->used,
           PL_ADD(b, &pl_op_reduce_sum, "e->", PL_ADD(b, &pl_op_cast, "; to=f32", load)));
    t->experts += (double)experts;
}

static void tell_rest(pl_builder *b, const char *name, pl_value *sum, double all)
{
    if (!sum) return;
    sum = PL_ADD(b, &pl_op_scale, pl_builder_fmt(b, "; value=%.17g", -1 / all), sum);
    pl_value *rest = PL_ADD_AS(b, &pl_op_add, name, NULL, pl_model_number(b, 1), sum);
    if (rest) pl_add_output(b, name, rest);
}

/* Nodes of a layer that has no slots have the same ids. */
void pl_routed_tell(pl_builder *b)
{
    tally t = { .b = b };
    const pl_value *last = NULL;
    const int n = b->graph->nodes.n;
    for (int i = 0; i < n && !b->err.code; i++) {
        const pl_node *x = b->graph->nodes.at[i];
        if ((x->op != &pl_op_moe_dispatch && x->op != &pl_op_moe_matmul) || x->in[1] == last)
            continue;
        last = x->in[1];
        add_layer(&t, x);
    }
    tell_rest(b, "dropped", t.kept, t.choices);
    tell_rest(b, "unused_experts", t.used, t.experts);
}
