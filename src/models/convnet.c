#include "models/convnet.h"

#include "ops/list.h"

#include <math.h>

typedef struct making {
    pl_builder *b;
    const pl_convnet *net;
    double dropout;
    pl_value *seed; /* NULL: no dropout */
    int n_dropouts; /* each draws from its own stream */
} making;

/* He et al., "Delving deep into rectifiers", 2015: ReLU keeps the variance of what goes in. */
static pl_value *conv(making *m, int i, int index, int64_t width, pl_value *x)
{
    if (!x) return NULL;
    pl_builder *b = m->b;
    int64_t in = x->shape.dim[3], out = m->net->layer[i].channels * width;
    int64_t k = m->net->layer[i].kernel;
    const char *init = pl_builder_fmt(b, "normal std=%.17g", sqrt(2 / (double)(in * k * k)));
    b->scope = pl_builder_fmt(b, "features.%d.", index);
    pl_value *w = pl_add_state(b, "weight", PL_F32, PL_SHAPE(out, in, k, k), init, PL_WEIGHT);
    pl_value *c = pl_add_state(b, "bias", PL_F32, PL_SHAPE(out), "zeros", PL_WEIGHT);
    const char *spec = pl_builder_fmt(b, "n[y+r][x+s]c,ocrs->nyxo; stride=%d pad=%d",
                                      m->net->layer[i].stride, m->net->layer[i].pad);
    x = PL_ADD(b, &pl_op_add, "nyxo,o->nyxo", PL_ADD_AS(b, &pl_op_conv2d, "conv", spec, x, w), c);
    x = PL_ADD_AS(b, &pl_op_relu, "relu", NULL, x);
    if (m->net->layer[i].pool)
        x = PL_ADD_AS(b, &pl_op_max_pool, "maxpool",
                      pl_builder_fmt(b, "n[y+r][x+s]c->nyxc; r=%d s=%d stride=2", m->net->window,
                                     m->net->window),
                      x);
    b->scope = "";
    return x;
}

static pl_value *drop(making *m, pl_value *x)
{
    if (!m->seed) return x;
    const char *spec = pl_builder_fmt(m->b, "; p=%.17g stream=%d", m->dropout, ++m->n_dropouts);
    return PL_ADD(m->b, &pl_op_dropout, spec, x, m->seed);
}

static pl_value *linear(making *m, int index, int64_t out, pl_value *x)
{
    if (!x) return NULL;
    pl_builder *b = m->b;
    int64_t in = x->shape.dim[1];
    const char *init = pl_builder_fmt(b, "uniform a=%.17g", 1 / sqrt((double)in));
    b->scope = pl_builder_fmt(b, "classifier.%d.", index);
    pl_value *w = pl_add_state(b, "weight", PL_F32, PL_SHAPE(out, in), init, PL_WEIGHT);
    pl_value *c = pl_add_state(b, "bias", PL_F32, PL_SHAPE(out), init, PL_WEIGHT);
    x = PL_ADD(b, &pl_op_add, "no,o->no", PL_ADD_AS(b, &pl_op_einsum, "linear", "ni,oi->no", x, w),
               c);
    b->scope = "";
    return x;
}

/* Dropouts, linear layers and their ReLUs are numbered in their order. */
static pl_value *classify(making *m, int64_t hidden, int64_t classes, pl_value *x)
{
    int index = 0;
    for (int i = 0; i < 3; i++) {
        if (i == m->net->drop || i == m->net->drop + 1) {
            x = drop(m, x);
            index++;
        }
        x = linear(m, index, i < 2 ? hidden : classes, x);
        if (i < 2) x = PL_ADD(m->b, &pl_op_relu, NULL, x);
        index += 2;
    }
    return x;
}

void pl_convnet_build(pl_builder *b, const pl_model_args *a, pl_mode mode, const pl_convnet *net)
{
    making m = { .b = b, .net = net, .dropout = pl_model_real(a, "dropout") };
    int64_t size = pl_model_int(a, "size");
    if (m.dropout >= 1)
        pl_err_set(&b->err, PL_EINPUT, "%s: dropout=%g is not below 1", a->spec, m.dropout);
    pl_value *x =
        pl_add_input(b, "image", PL_F32, PL_SHAPE(pl_model_int(a, "batch"), size, size, 3));
    if (mode == PL_TRAIN && m.dropout > 0) m.seed = pl_add_input(b, "seed", PL_I64, PL_SCALAR);
    int index = 0; /* convolutions, ReLUs and poolings are numbered in their order */
    for (int i = 0; i < net->n && !b->err.code; i++) {
        x = conv(&m, i, index, pl_model_int(a, "width"), x);
        index += net->layer[i].pool ? 3 : 2;
    }
    if (x) x = PL_ADD_AS(b, &pl_op_transpose, "flatten", "nyxc->n(cyx)", x);
    x = classify(&m, pl_model_int(a, "hidden"), pl_model_int(a, "classes"), x);
    pl_model_finish(b, mode, x, "label");
}
