/* DCGAN: a generator of transposed convolutions, and a discriminator of convolutions with a stride,
 * both with batch norm but for their ends.
 * Source: Radford et al., "Unsupervised representation learning with deep convolutional generative
 * adversarial networks", ICLR 2016; weights and sizes as in PyTorch's tutorial. */
#include "models/gan.h"
#include "models/list.h"
#include "ops/list.h"

enum { SMALLEST = 4 }; /* height and width of the smallest picture inside */

/* How often the picture doubles. */
static int count_doublings(const pl_gan *m)
{
    int n = 0;
    while (SMALLEST << n < m->size) n++;
    return n;
}

static const char *nth(pl_gan *m, const char *what, int i)
{
    return pl_builder_fmt(m->l.b, "%s%d", what, i);
}

static pl_value *generate(pl_gan *m, pl_value *z, pl_value *label)
{
    pl_builder *b = m->l.b;
    const int n = count_doublings(m);
    const int64_t width = pl_model_int(m->args, "width");
    (void)label;
    pl_value *x = PL_ADD(b, &pl_op_reshape, "n(yxz)->nyxz; y=1 x=1", z);
    x = pl_gan_unfold(m, "deconv0", x, width << (n - 1), SMALLEST, 1, 0);
    for (int i = 1; i <= n; i++) {
        x = pl_gan_norm(m, nth(m, "norm", i - 1), x, true);
        x = pl_gan_unfold(m, nth(m, "deconv", i), x, i < n ? width << (n - 1 - i) : m->channels, 4,
                          2, 1);
    }
    return PL_ADD(b, &pl_op_tanh, NULL, x);
}

static pl_value *judge(pl_gan *m, pl_value *x, pl_value *label)
{
    pl_builder *b = m->l.b;
    const int n = count_doublings(m);
    const int64_t width = pl_model_int(m->args, "width");
    (void)label;
    for (int i = 0; i < n; i++) {
        x = pl_gan_conv(m, nth(m, "conv", i), x, width << i, 4, 2, 1, false);
        if (i) x = pl_gan_norm(m, nth(m, "norm", i), x, false);
        x = PL_ADD(b, &pl_op_leaky_relu, "; alpha=0.2", x);
    }
    x = pl_gan_conv(m, nth(m, "conv", n), x, 1, SMALLEST, 1, 0, false);
    return PL_ADD(b, &pl_op_reshape, "nyxc->(nyxc)", x);
}

static void build(pl_builder *b, const pl_model_args *args, pl_mode mode)
{
    pl_gan m = pl_gan_new(b, args, mode);
    if (m.size < 2 * SMALLEST || m.size != SMALLEST << count_doublings(&m))
        pl_err_set(&b->err, PL_EINPUT, "%s: size=%lld is not 8, 16, 32, 64 ...", args->spec,
                   (long long)m.size);
    if (b->err.code) return;
    const pl_gan_nets nets = { pl_model_int(args, "z"), generate, judge };
    pl_gan_build(&m, &nets);
}

static const pl_model_key keys[] = {
    { "width", "64", 1, "channels before the last layer of the generator, doubling inwards" },
    { "z", "100", 1, "random numbers that a picture is made of" },
    { "size", "64", 8, "height and width of a picture: a power of two" },
    PL_GAN_KEYS,
    { "eps", "0.00001", 0, "of the norms" },
    { "batch", "128", 2, "pictures per step, over all devices" },
    PL_MODEL_DTYPE,
    { 0 },
};

const pl_family pl_models_dcgan[] = {
    { .name = "dcgan",
      .about = "generative adversarial network of convolutions, 6.3M",
      .data = "images",
      .keys = keys,
      .build = build,
      .objectives = "generator:optimizer=adam,rate=0.2,beta1=0.5,beta2=0.999,decay=0,clip=0;"
                    "discriminator:optimizer=adam,rate=0.2,beta1=0.5,beta2=0.999,decay=0,clip=0" },
    { 0 },
};
