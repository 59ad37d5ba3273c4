/* The layers that models share, each a few nodes with their weights. */
#include "models/layers.h"

#include "models/act.h"
#include "ops/lib/attention.h"
#include "ops/list.h"

#include <math.h>

pl_layers pl_layers_new(pl_builder *b, const pl_model_args *args)
{
    return (pl_layers){ .b = b,
                        .init = "normal std=0.02",
                        .eps = pl_model_has(args, "eps") ? pl_model_real(args, "eps") : 0,
                        .dropout =
                            pl_model_has(args, "dropout") ? pl_model_real(args, "dropout") : 0 };
}

void pl_layers_add_seed(pl_layers *l, const pl_model_args *args, pl_mode mode)
{
    if (l->dropout >= 1)
        pl_err_set(&l->b->err, PL_EINPUT, "%s: dropout=%g is not below 1", args->spec, l->dropout);
    if (mode == PL_TRAIN && l->dropout > 0) l->seed = pl_add_input(l->b, "seed", PL_I64, PL_SCALAR);
}

void pl_layers_check_sizes(pl_builder *b, const pl_model_args *args)
{
    long long hidden = (long long)pl_model_int(args, "hidden"),
              heads = (long long)pl_model_int(args, "heads"),
              classes = (long long)pl_model_int(args, "classes");
    if (hidden % heads)
        pl_err_set(&b->err, PL_EINPUT,
                   "%s: hidden=%lld does not divide into heads=%lld: make it a multiple, e.g. "
                   "hidden=%lld",
                   args->spec, hidden, heads, (hidden + heads - 1) / heads * heads);
    if (pl_model_has(args, "vocab") && classes > pl_model_int(args, "vocab"))
        pl_err_set(&b->err, PL_EINPUT,
                   "%s: classes=%lld are more than vocab=%lld: targets are tokens or fewer",
                   args->spec, classes, (long long)pl_model_int(args, "vocab"));
}

const char *pl_layers_normal(pl_builder *b, double std)
{
    return pl_builder_fmt(b, "normal std=%.17g", std);
}

const char *pl_layers_uniform(pl_builder *b, double a)
{
    return pl_builder_fmt(b, "uniform a=%.17g", a);
}

pl_value *pl_layers_weight(const pl_layers *l, const char *name, pl_shape shape, const char *init)
{
    pl_builder *b = l->b;
    const char *outer = b->scope;
    if (l->shared) {
        pl_value *there = pl_graph_find(b->graph, pl_builder_fmt(b, "%s%s", l->shared, name));
        if (there) return there;
        b->scope = l->shared;
    }
    pl_value *w = pl_add_state(b, name, PL_F32, shape, init ? init : l->init, PL_WEIGHT);
    b->scope = outer;
    return w;
}

static pl_value *add_part(const pl_layers *l, const char *name, const char *part, pl_shape shape,
                          const char *init)
{
    return pl_layers_weight(l, pl_builder_fmt(l->b, "%s.%s", name, part), shape, init);
}

pl_value *pl_layers_linear(const pl_layers *l, const char *name, const char *spec, pl_shape shape,
                           const char *init, pl_value *x)
{
    pl_value *w = add_part(l, name, "weight", shape, init);
    return PL_ADD_AS(l->b, &pl_op_einsum, name, spec, x, w);
}

pl_value *pl_layers_bias(const pl_layers *l, const char *name, const char *spec, pl_shape shape,
                         const char *init, pl_value *x)
{
    return PL_ADD(l->b, &pl_op_add, spec, x,
                  add_part(l, name, "bias", shape, init ? init : "zeros"));
}

pl_value *pl_layers_dense(const pl_layers *l, const char *scope, int64_t out, pl_value *x)
{
    if (!x) return NULL;
    pl_builder *b = l->b;
    int64_t in = x->shape.dim[1];
    const char *outer = b->scope, *init = pl_layers_uniform(b, 1 / sqrt((double)in));
    b->scope = pl_builder_fmt(b, "%s%s.", outer, scope);
    pl_value *w = pl_layers_weight(l, "weight", PL_SHAPE(out, in), init);
    pl_value *c = pl_layers_weight(l, "bias", PL_SHAPE(out), init);
    x = PL_ADD_AS(b, &pl_op_einsum, "linear", "ni,oi->no", x, w);
    x = PL_ADD(b, &pl_op_add, "no,o->no", x, c);
    b->scope = outer;
    return x;
}

static int64_t last_of(const pl_value *x)
{
    return x->shape.dim[x->shape.rank - 1];
}

pl_value *pl_layers_norm(const pl_layers *l, const char *name, pl_value *x)
{
    if (!x) return NULL;
    pl_value *scale = add_part(l, name, "weight", PL_SHAPE(last_of(x)), "ones");
    pl_value *bias = add_part(l, name, "bias", PL_SHAPE(last_of(x)), "zeros");
    pl_value *sum = PL_ADD(l->b, &pl_op_layer_norm_sum, NULL, x);
    pl_value *deviation = PL_ADD(l->b, &pl_op_layer_norm_deviation, NULL, x, sum);
    return PL_ADD_AS(l->b, &pl_op_layer_norm, name, pl_builder_fmt(l->b, "; eps=%.9g", l->eps), x,
                     sum, deviation, scale, bias);
}

pl_value *pl_layers_rms_norm(const pl_layers *l, const char *name, const char *letters, pl_value *x)
{
    if (!x) return NULL;
    pl_value *scale =
        add_part(l, name, "weight", PL_SHAPE(last_of(x)), l->from_one ? "zeros" : "ones");
    const char *spec =
        pl_builder_fmt(l->b, "%s; eps=%.9g%s", letters, l->eps, l->from_one ? " offset=1" : "");
    return PL_ADD_AS(l->b, &pl_op_rms_norm, name, spec, x, scale);
}

pl_value *pl_layers_drop(pl_layers *l, pl_value *x)
{
    return pl_layers_drop_by(l, l->dropout, x);
}

pl_value *pl_layers_drop_by(pl_layers *l, double p, pl_value *x)
{
    if (!x || !l->seed || p <= 0) return x;
    const char *spec = pl_builder_fmt(l->b, "; p=%.17g stream=%d", p, ++l->n_dropouts);
    return PL_ADD(l->b, &pl_op_dropout, spec, x, l->seed);
}

void pl_layers_split(const pl_layers *l, const char *name, const char *spec, int n, pl_value *x,
                     pl_value *out[])
{
    const pl_node *split = pl_add_node(l->b, &pl_op_split, name, spec, 1, &x);
    for (int i = 0; i < n; i++) out[i] = split ? split->out[i] : NULL;
}

/* With numbers that are added to the scores, which attention has no place for. */
static pl_value *attend_biased(pl_layers *l, const char *name, pl_value *const qkv[3],
                               pl_value *bias, const char *mask, bool dropped)
{
    pl_builder *b = l->b;
    pl_value *p = PL_ADD_AS(b, &pl_op_einsum, pl_builder_fmt(b, "%s.scores", name),
                            "bqhd,bkhd->bhqk", qkv[0], qkv[1]);
    p = PL_ADD(b, &pl_op_add, "bhqk,hqk->bhqk", p, bias);
    p = PL_ADD_AS(b, &pl_op_softmax, pl_builder_fmt(b, "%s.softmax", name),
                  *mask ? pl_builder_fmt(b, "; %s", mask) : NULL, p);
    if (dropped) p = pl_layers_drop(l, p);
    return PL_ADD_AS(b, &pl_op_einsum, pl_builder_fmt(b, "%s.mix", name), "bhqk,bkhd->bqhd", p,
                     qkv[2]);
}

pl_value *pl_layers_attend(pl_layers *l, const char *name, pl_value *const qkv[3], pl_value *bias,
                           const char *mask, bool dropped)
{
    pl_builder *b = l->b;
    if (bias) return attend_biased(l, name, qkv, bias, mask, dropped);
    if (!qkv[0]) return NULL;
    const bool groups = qkv[0]->shape.rank == 5, drops = dropped && l->seed && l->dropout > 0;
    const int64_t chunks = pl_attention_chunks(mask, qkv[0]->shape.dim[1]);
    const char *q = chunks > 1 ? "(cq)" : "q", *heads = groups ? "gr" : "h",
               *key = groups ? "g" : "h";
    const char *spec = pl_builder_fmt(b, "b%s%sd,bk%sd,bk%se%s->b%s%se,b%s%s; %s", q, heads, key,
                                      key, drops ? "," : "", q, heads, heads, q, mask);
    if (chunks > 1) spec = pl_builder_fmt(b, "%s c=%lld", spec, (long long)chunks);
    if (drops) spec = pl_builder_fmt(b, "%s p=%.17g stream=%d", spec, l->dropout, ++l->n_dropouts);
    const pl_node *n =
        pl_add_node(b, &pl_op_attention, pl_builder_fmt(b, "%s.attend", name), spec, drops ? 4 : 3,
                    (pl_value *[]){ qkv[0], qkv[1], qkv[2], l->seed });
    return n ? n->out[0] : NULL;
}

pl_value *pl_layers_gated(const pl_layers *l, const char *name, const char *act, int64_t width,
                          bool biased, pl_value *x)
{
    if (!x) return NULL;
    pl_builder *b = l->b;
    const int64_t m = last_of(x);
    pl_value *y[2];
    for (int i = 0; i < 2; i++) {
        const char *part = pl_builder_fmt(b, "%s.%s_proj", name, i ? "up" : "gate");
        y[i] = pl_layers_linear(l, part, "bsm,fm->bsf", PL_SHAPE(width, m), NULL, x);
        if (biased) y[i] = pl_layers_bias(l, part, "bsf,f->bsf", PL_SHAPE(width), NULL, y[i]);
    }
    y[0] = pl_act_add(b, act, name, y[0]);
    x = PL_ADD_AS(b, &pl_op_mul, pl_builder_fmt(b, "%s.gated", name), NULL, y[0], y[1]);
    const char *down = pl_builder_fmt(b, "%s.down_proj", name);
    x = pl_layers_linear(l, down, "bsf,mf->bsm", PL_SHAPE(m, width), NULL, x);
    return biased ? pl_layers_bias(l, down, "bsm,m->bsm", PL_SHAPE(m), NULL, x) : x;
}
