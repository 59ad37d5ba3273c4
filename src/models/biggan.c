/* Residual generative adversarial networks: SNGAN, whose discriminator's weights are divided by
 * their spectral norm, and BigGAN, which does so in both, steers each norm by the class and a part
 * of z, and attends in the middle.
 * Sources: Miyato et al., ICLR 2018 (SNGAN, CIFAR's architecture); Miyato & Koyama, "cGANs with
 * projection discriminator", ICLR 2018; Brock et al., "Large scale GAN training for high fidelity
 * natural image synthesis", ICLR 2019 (BigGAN), as in its authors' BigGAN-PyTorch. */
#include "models/gan.h"
#include "models/list.h"
#include "ops/list.h"

#include <string.h>

enum { FIRST = 4, BLOCKS = 7 };

/* Blocks for a size: channels in multiples of a width, from the input of the first on. */
typedef struct plan {
    int64_t size;
    int n_up, up[BLOCKS];     /* of the generator, each block doubles; [n_up + 1] */
    int n_down, down[BLOCKS]; /* of the discriminator, after each block; [n_down] */
    int halving;              /* so many of its blocks halve                      */
} plan;

static const plan plans[] = {
    { 32, 3, { 4, 4, 4, 4 }, 4, { 4, 4, 4, 4 }, 2 },
    { 64, 4, { 16, 16, 8, 4, 2 }, 5, { 1, 2, 4, 8, 16 }, 4 },
    { 128, 5, { 16, 16, 8, 4, 2, 1 }, 6, { 1, 2, 4, 8, 16, 16 }, 5 },
    { 256, 6, { 16, 16, 8, 8, 4, 2, 1 }, 7, { 1, 2, 4, 8, 8, 16, 16 }, 6 },
};

static const plan *find_plan(int64_t size)
{
    for (size_t i = 0; i < sizeof plans / sizeof *plans; i++)
        if (plans[i].size == size) return &plans[i];
    return NULL;
}

static bool is_big(const pl_gan *m)
{
    return m->classes > 0;
}

/* The resolution at which both attend. */
static int64_t attends_at(const pl_gan *m)
{
    return is_big(m) ? pl_model_int(m->args, "attention") : 0;
}

static const char *nth(pl_gan *m, int i, const char *what)
{
    return pl_builder_fmt(m->l.b, "%d.%s", i, what);
}

/* Norm and ReLU, steered by y if there is one. */
static pl_value *norm(pl_gan *m, const char *name, pl_value *x, pl_value *y)
{
    return y ? pl_gan_norm_by(m, name, x, y) : pl_gan_norm(m, name, x, true);
}

/* conv(double(relu(norm x))), conv(relu(norm)), beside x by a convolution of 1 pixel, doubled: that
 * is the same as doubled first, with a quarter of the work. */
static pl_value *block_up(pl_gan *m, int i, int64_t out, pl_value *x, pl_value *y)
{
    pl_value *h = norm(m, nth(m, i, "norm1"), x, y);
    if (!h) return NULL;
    h = pl_gan_conv(m, nth(m, i, "conv1"), pl_gan_double(m, h), out, 3, 1, 1, true);
    h = pl_gan_conv(m, nth(m, i, "conv2"), norm(m, nth(m, i, "norm2"), h, y), out, 3, 1, 1, true);
    x = pl_gan_double(m, pl_gan_conv(m, nth(m, i, "short"), x, out, 1, 1, 0, true));
    return PL_ADD(m->l.b, &pl_op_add, NULL, h, x);
}

/* The other way, halved before the convolution of 1 pixel; the first block has no ReLU in front. */
static pl_value *block_down(pl_gan *m, int i, int64_t out, bool halves, pl_value *x)
{
    if (!x) return NULL;
    const bool other = halves || x->shape.dim[3] != out;
    pl_value *h = i ? pl_gan_relu(m, x) : x;
    h = pl_gan_conv(m, nth(m, i, "conv1"), h, out, 3, 1, 1, true);
    h = pl_gan_conv(m, nth(m, i, "conv2"), pl_gan_relu(m, h), out, 3, 1, 1, true);
    if (halves) h = pl_gan_halve(m, h);
    if (halves) x = pl_gan_halve(m, x);
    if (other) x = pl_gan_conv(m, nth(m, i, "short"), x, out, 1, 1, 0, true);
    return PL_ADD(m->l.b, &pl_op_add, NULL, h, x);
}

/* A part of z for the first layer and one for each block, beside what is known of the class. */
static void split_z(pl_gan *m, int n, pl_value *z, pl_value *label, pl_value *part[])
{
    pl_builder *b = m->l.b;
    for (int i = 0; i < n; i++) part[i] = NULL;
    if (!is_big(m)) {
        part[0] = z;
        return;
    }
    pl_text t = { .arena = b->graph->arena };
    for (int i = 0; i < n; i++) pl_text_add(&t, i ? ",nz" : "n(iz)->nz");
    const char *spec = pl_builder_fmt(b, "%s; i=%d", pl_text_get(&t), n);
    pl_layers_split(&m->l, "parts", spec, n, z, part);
    pl_value *class = pl_gan_embed(m, "shared", label, pl_model_int(m->args, "embed"));
    for (int i = 1; i < n; i++) part[i] = PL_ADD(b, &pl_op_concat, "na,nb->nv", class, part[i]);
}

static pl_value *generate(pl_gan *m, pl_value *z, pl_value *label)
{
    pl_builder *b = m->l.b;
    const plan *p = find_plan(m->size);
    const int64_t width = pl_model_int(m->args, "width");
    pl_value *part[BLOCKS + 1];
    split_z(m, p->n_up + 1, z, label, part);
    pl_value *x = pl_gan_linear(m, "linear", part[0], FIRST * FIRST * width * p->up[0], true);
    x = PL_ADD(b, &pl_op_reshape, pl_builder_fmt(b, "n(yxc)->nyxc; y=%d x=%d", FIRST, FIRST), x);
    for (int i = 0; i < p->n_up; i++) {
        x = block_up(m, i, width * p->up[i + 1], x, part[i + 1]);
        if (x && x->shape.dim[1] == attends_at(m)) x = pl_gan_attend(m, "attention", x);
    }
    x = pl_gan_norm(m, "norm", x, true);
    x = pl_gan_conv(m, "conv", x, m->channels, 3, 1, 1, true);
    return PL_ADD(b, &pl_op_tanh, NULL, x);
}

static pl_value *judge(pl_gan *m, pl_value *x, pl_value *label)
{
    pl_builder *b = m->l.b;
    const plan *p = find_plan(m->size);
    const int64_t width = pl_model_int(m->args, "judge");
    const bool spectral = m->spectral;
    m->spectral = true;
    for (int i = 0; i < p->n_down; i++) {
        x = block_down(m, i, width * p->down[i], i < p->halving, x);
        if (x && x->shape.dim[1] == attends_at(m)) x = pl_gan_attend(m, "attention", x);
    }
    x = PL_ADD(b, &pl_op_reduce_sum, "nyxc->nc", pl_gan_relu(m, x));
    pl_value *y = pl_gan_linear(m, "linear", x, 1, true);
    y = PL_ADD(b, &pl_op_reshape, "no->(no)", y);
    if (m->classes && x) {
        pl_value *class = pl_gan_embed(m, "embed", label, x->shape.dim[1]);
        y = PL_ADD(b, &pl_op_add, NULL, y, PL_ADD(b, &pl_op_einsum, "nc,nc->n", class, x));
    }
    m->spectral = spectral;
    return y;
}

static void check_sizes(const pl_gan *m)
{
    pl_err *err = &m->l.b->err;
    const plan *p = find_plan(m->size);
    const long long z = (long long)pl_model_int(m->args, "z");
    if (!p)
        pl_err_set(err, PL_EINPUT, "%s: size=%lld is not 32, 64, 128 or 256", m->args->spec,
                   (long long)m->size);
    else if (is_big(m) && z % (p->n_up + 1))
        pl_err_set(err, PL_EINPUT,
                   "%s: z=%lld does not divide into %d parts, for the first layer and %d blocks",
                   m->args->spec, z, p->n_up + 1, p->n_up);
}

static void build(pl_builder *b, const pl_model_args *args, pl_mode mode)
{
    pl_gan m = pl_gan_new(b, args, mode);
    m.hinge = true;
    m.spectral = is_big(&m);
    check_sizes(&m);
    if (b->err.code) return;
    const pl_gan_nets nets = { pl_model_int(args, "z"), generate, judge };
    pl_gan_build(&m, &nets);
}

// clang-format off
#define NETS(g, d, sizes)                                                                          \
    { "width", g, 1, "channels of the generator's last block" },                                   \
    { "judge", d, 1, "channels of the discriminator's first block" },                              \
    { "z", sizes, 1, "random numbers that a picture is made of" },                                 \
    PL_GAN_KEYS,                                                                                   \
    { "eps", "0.00001", 0, "of the norms" },                                                       \
    PL_MODEL_DTYPE
// clang-format on

static const pl_model_key sngan_keys[] = {
    { "size", "32", 32, "height and width of a picture: 32, 64, 128 or 256" },
    { "batch", "64", 2, "pictures per step, over all devices" },
    NETS("64", "32", "128"),
    { 0 },
};

static const pl_model_key biggan_keys[] = {
    { "size", "128", 32, "height and width of a picture: 32, 64, 128 or 256" },
    { "batch", "256", 2, "pictures per step, over all devices" },
    { "classes", "1000", 2, "of the labels" },
    { "embed", "128", 1, "numbers that a class is to the generator" },
    { "attention", "64", 0, "height at which both networks attend; 0: nowhere" },
    NETS("96", "96", "120"),
    { 0 },
};

const pl_family pl_models_biggan[] = {
    { .name = "biggan",
      .about = "BigGAN, a large network that makes pictures of classes, 158M",
      .data = "images",
      .keys = biggan_keys,
      .build = build,
      .objectives = "generator:optimizer=adam,rate=0.05,every=2,beta1=0,beta2=0.999,decay=0,clip=0;"
                    "discriminator:optimizer=adam,rate=0.2,beta1=0,beta2=0.999,decay=0,clip=0" },
    { 0 },
};

const pl_family pl_models_sngan[] = {
    { .name = "sngan",
      .about = "SNGAN, a residual network that makes pictures, 5.3M",
      .data = "images",
      .keys = sngan_keys,
      .build = build,
      .objectives = "generator:optimizer=adam,rate=0.2,every=5,beta1=0,beta2=0.9,decay=0,clip=0;"
                    "discriminator:optimizer=adam,rate=0.2,beta1=0,beta2=0.9,decay=0,clip=0" },
    { 0 },
};
