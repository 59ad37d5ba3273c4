/* Plain networks for images. Read pl_convnet_build(): convolutions by the list of layers (conv),
 * then three linear layers (classify). */
#include "models/convnet.h"

#include "models/layers.h"
#include "ops/list.h"

#include <math.h>

/* He et al., "Delving deep into rectifiers", 2015: ReLU keeps the variance of what goes in. */
static pl_value *conv(const pl_layers *l, const pl_convnet *net, int i, int index, int64_t width,
                      pl_value *x)
{
    if (!x) return NULL;
    pl_builder *b = l->b;
    const int64_t in = x->shape.dim[3], out = net->layer[i].channels * width;
    const int64_t k = net->layer[i].kernel;
    b->scope = pl_builder_fmt(b, "features.%d.", index);
    pl_value *w = pl_layers_weight(l, "weight", PL_SHAPE(out, in, k, k),
                                   pl_layers_normal(b, sqrt(2 / (double)(in * k * k))));
    pl_value *c = pl_layers_weight(l, "bias", PL_SHAPE(out), "zeros");
    const char *spec = pl_builder_fmt(b, "n[y+r][x+s]c,ocrs->nyxo; stride=%d pad=%d",
                                      net->layer[i].stride, net->layer[i].pad);
    x = PL_ADD(b, &pl_op_add, "nyxo,o->nyxo", PL_ADD_AS(b, &pl_op_conv2d, "conv", spec, x, w), c);
    x = PL_ADD_AS(b, &pl_op_relu, "relu", NULL, x);
    spec = pl_builder_fmt(b, "n[y+r][x+s]c->nyxc; r=%d s=%d stride=2", net->window, net->window);
    if (net->layer[i].pool) x = PL_ADD_AS(b, &pl_op_max_pool, "maxpool", spec, x);
    b->scope = "";
    return x;
}

/* Dropouts, linear layers and their ReLUs are numbered in their order. */
static pl_value *classify(pl_layers *l, const pl_convnet *net, int64_t hidden, int64_t classes,
                          pl_value *x)
{
    int index = 0;
    for (int i = 0; i < 3; i++) {
        if (i == net->drop || i == net->drop + 1) {
            x = pl_layers_drop(l, x);
            index++;
        }
        x = pl_layers_dense(l, pl_builder_fmt(l->b, "classifier.%d", index),
                            i < 2 ? hidden : classes, x);
        if (i < 2) x = PL_ADD(l->b, &pl_op_relu, NULL, x);
        index += 2;
    }
    return x;
}

void pl_convnet_build(pl_builder *b, const pl_model_args *args, pl_mode mode, const pl_convnet *net)
{
    pl_layers l = pl_layers_new(b, args);
    pl_value *x = pl_model_image(b, args);
    pl_layers_add_seed(&l, args, mode);
    int index = 0; /* convolutions, ReLUs and poolings are numbered in their order */
    for (int i = 0; i < net->n && !b->err.code; i++) {
        x = conv(&l, net, i, index, pl_model_int(args, "width"), x);
        index += net->layer[i].pool ? 3 : 2;
    }
    if (x) x = PL_ADD_AS(b, &pl_op_transpose, "flatten", "nyxc->n(cyx)", x);
    x = classify(&l, net, pl_model_int(args, "hidden"), pl_model_int(args, "classes"), x);
    pl_model_finish_images(b, args, mode, x);
}
