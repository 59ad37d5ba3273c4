/* A mixture of experts: L layers, x += experts(x), between a linear layer in and one out. A router
 * sends each token to k of the experts, each a linear layer, GELU and a linear layer; what they
 * make is weighed by the router's probabilities. A token is a row of numbers with a label, so that
 * there is a routed model without a language.
 *
 * What finds no slot passes by on the residual. Groups split over devices as rows do, experts as
 * experts do; what moves between the two is an exchange of slots.
 * Source: see routed.c. Their losses that balance the experts' loads are left out. */
#include "models/layers.h"
#include "models/list.h"
#include "models/routed.h"
#include "ops/list.h"

#include <math.h>

typedef struct moe {
    pl_layers l;
    int64_t hidden;
    pl_routed routed;
} moe;

static const char *init_of(moe *m, int64_t in)
{
    return pl_layers_uniform(m->l.b, 1 / sqrt((double)in));
}

/* x [g, t, in] -> [g, t, out] */
static pl_value *linear(moe *m, const char *name, int64_t in, int64_t out, pl_value *x)
{
    x = pl_layers_linear(&m->l, name, "gti,oi->gto", PL_SHAPE(out, in), init_of(m, in), x);
    return pl_layers_bias(&m->l, name, "gto,o->gto", PL_SHAPE(out), init_of(m, in), x);
}

/* The same layer of every expert. */
static pl_value *expert_linear(moe *m, const char *name, int64_t in, int64_t out, pl_value *x)
{
    pl_builder *b = m->l.b;
    const int64_t n = m->routed.experts;
    pl_value *w = pl_layers_weight(&m->l, pl_builder_fmt(b, "%s.weight", name),
                                   PL_SHAPE(n, in, out), init_of(m, in));
    pl_value *c = pl_layers_weight(&m->l, pl_builder_fmt(b, "%s.bias", name), PL_SHAPE(n, out),
                                   init_of(m, in));
    return pl_routed_bias(&m->routed, c, pl_routed_linear(&m->routed, name, "eio", w, x));
}

static pl_value *layer(moe *m, pl_value *x)
{
    pl_builder *b = m->l.b;
    const int64_t n = m->routed.experts, h = m->hidden;
    pl_value *p =
        pl_layers_linear(&m->l, "router", "gth,eh->gte", PL_SHAPE(n, h), init_of(m, h), x);
    pl_value *y = pl_routed_send(&m->routed, p, NULL, x);
    y = expert_linear(m, "experts.fc", h, 4 * h, y);
    y = PL_ADD_AS(b, &pl_op_gelu, "experts.gelu", NULL, y);
    y = expert_linear(m, "experts.proj", 4 * h, h, y);
    return PL_ADD(b, &pl_op_add, NULL, x, pl_routed_return(&m->routed, y));
}

static void build(pl_builder *b, const pl_model_args *args, pl_mode mode)
{
    moe m = { .l = pl_layers_new(b, args), .hidden = pl_model_int(args, "hidden") };
    int64_t in = pl_model_int(args, "in"), tokens = pl_model_int(args, "tokens");
    m.routed = pl_routed_new(b, args->spec, pl_model_int(args, "experts"), pl_model_int(args, "k"),
                             tokens, pl_model_real(args, "capacity"));
    pl_value *x = pl_add_input(b, "x", PL_F32, PL_SHAPE(pl_model_int(args, "batch"), tokens, in));
    x = linear(&m, "embed", in, m.hidden, x);
    for (int64_t i = 0; i < pl_model_int(args, "layers") && !b->err.code; i++) {
        b->scope = pl_builder_fmt(b, "layers.%lld.", (long long)i);
        x = layer(&m, x);
    }
    b->scope = "";
    pl_model_finish(b, mode, linear(&m, "head", m.hidden, pl_model_int(args, "classes"), x),
                    "label");
}

static const pl_model_key keys[] = {
    { "layers", "2", 1, "routed layers" },
    { "in", "64", 1, "features of a token" },
    { "hidden", "128", 1, "width between the layers; inside an expert it is 4 times that" },
    { "experts", "8", 1, "of a layer" },
    { "k", "2", 1, "experts of a token" },
    { "capacity", "1.25", 0,
      "slots of the experts by choices of the tokens; 0: no slots, none is left out" },
    { "tokens", "64", 1, "of a group: they compete for slots" },
    { "classes", "10", 2, "of the labels" },
    { "batch", "8", 1, "groups per step, over all devices" },
    PL_MODEL_DTYPE,
    { 0 },
};

const pl_family pl_models_moe[] = {
    { "moe", "mixture of experts", NULL, "vectors", keys, build },
    { 0 },
};
