/* A multi-layer perceptron: linear layers with ReLU between, cross-entropy at the end. */
#include "models/models.h"
#include "ops/list.h"

#include <math.h>

static pl_value *linear(pl_builder *b, int64_t layer, int64_t in, int64_t out, pl_value *x)
{
    b->scope = pl_builder_fmt(b, "layers.%lld.", (long long)layer);
    const char *init = pl_builder_fmt(b, "uniform a=%.17g", 1 / sqrt((double)in));
    pl_value *w = pl_add_state(b, "weight", PL_F32, PL_SHAPE(out, in), init, PL_WEIGHT);
    pl_value *c = pl_add_state(b, "bias", PL_F32, PL_SHAPE(out), init, PL_WEIGHT);
    x = PL_ADD(b, &pl_op_add, "no,o->no", PL_ADD_AS(b, &pl_op_einsum, "linear", "ni,oi->no", x, w),
               c);
    b->scope = "";
    return x;
}

static void build(pl_builder *b, const pl_model_args *a, pl_mode mode)
{
    int64_t batch = pl_model_int(a, "batch"), in = pl_model_int(a, "in"),
            layers = pl_model_int(a, "layers");
    int64_t hidden = pl_model_int(a, "hidden"), classes = pl_model_int(a, "classes");
    pl_value *x = pl_add_input(b, "x", PL_F32, PL_SHAPE(batch, in));
    for (int64_t i = 0; i < layers && !b->err.code; i++) {
        bool last = i + 1 == layers;
        x = linear(b, i, i ? hidden : in, last ? classes : hidden, x);
        if (!last) x = PL_ADD(b, &pl_op_relu, NULL, x);
    }
    pl_model_finish(b, mode, x, "label");
}

static const pl_model_key keys[] = {
    { "layers", "3", 1, "linear layers" },
    { "in", "64", 1, "features of a row" },
    { "hidden", "256", 1, "width between the layers" },
    { "classes", "10", 2, "of the labels" },
    { "batch", "32", 1, "rows per step, over all devices" },
    PL_MODEL_DTYPE,
    { 0 },
};

const pl_model pl_models_mlp[] = {
    { "mlp", "multi-layer perceptron", NULL, "vectors", keys, build },
    { 0 },
};
