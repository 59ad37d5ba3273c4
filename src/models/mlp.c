/* A multi-layer perceptron: linear layers with ReLU between, cross-entropy at the end. */
#include "models/layers.h"
#include "models/list.h"
#include "ops/list.h"

static void build(pl_builder *b, const pl_model_args *args, pl_mode mode)
{
    const pl_layers l = pl_layers_new(b, args);
    const int64_t layers = pl_model_int(args, "layers");
    pl_value *x = pl_add_input(b, "x", PL_F32,
                               PL_SHAPE(pl_model_int(args, "batch"), pl_model_int(args, "in")));
    for (int64_t i = 0; i < layers && !b->err.code; i++) {
        const bool last = i + 1 == layers;
        const char *scope = pl_builder_fmt(b, "layers.%lld", (long long)i);
        x = pl_layers_dense(&l, scope, pl_model_int(args, last ? "classes" : "hidden"), x);
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

const pl_family pl_models_mlp[] = {
    { "mlp", "multi-layer perceptron", NULL, "vectors", keys, build },
    { 0 },
};
