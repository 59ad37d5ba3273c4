/* MobileNetV2, MNASNet and EfficientNet: what they compute, against the same written out in doubles
 * for one image at a time, with random numbers in every weight. */
#include "built.h"
#include "support/arena.h"

typedef struct image {
    int size, channels;
    double *at; /* [size][size][channels] */
} image;

static image new_image(int size, int channels)
{
    return (image){ size, channels, PL_NEW_N(arena, double, size *size *channels) };
}

static const float *part_of(const eval *e, const char *block, const char *layer, const char *part)
{
    return state_of(e, pl_arena_fmt(arena, "%s%s.%s", block, layer, part));
}

/* The sum over a window of input channel `in` times weights w [k][k]; 0 outside of the image. */
static double window(const image *x, const float *w, int k, int stride, int row, int column, int in)
{
    double sum = 0;
    for (int r = 0; r < k; r++)
        for (int s = 0; s < k; s++) {
            int i = row * stride + r - k / 2, j = column * stride + s - k / 2;
            if (i >= 0 && j >= 0 && i < x->size && j < x->size)
                sum += (double)w[r * k + s] * x->at[(i * x->size + j) * x->channels + in];
        }
    return sum;
}

/* `out` channels; 0: each channel by its own window. */
static image convolve(const float *w, image x, int out, int k, int stride)
{
    image y = new_image((x.size + stride - 1) / stride, out ? out : x.channels);
    double *at = y.at;
    for (int i = 0; i < y.size; i++)
        for (int j = 0; j < y.size; j++)
            for (int o = 0; o < y.channels; o++, at++)
                for (int c = out ? 0 : o; c < (out ? x.channels : o + 1); c++)
                    *at +=
                        window(&x, w + (out ? o * x.channels + c : c) * k * k, k, stride, i, j, c);
    return y;
}

static double relu(double x)
{
    return x > 0 ? x : 0;
}

static double relu6(double x)
{
    return fmin(fmax(x, 0), 6);
}

static double sigmoid(double x)
{
    return 1 / (1 + exp(-x));
}

static double silu(double x)
{
    return x * sigmoid(x);
}

static double same(double x)
{
    return x;
}

static image normalise(const eval *e, const char *block, const char *layer, double (*act)(double),
                       image x)
{
    const float *mean = part_of(e, block, layer, "running_mean");
    const float *var = part_of(e, block, layer, "running_var");
    const float *scale = part_of(e, block, layer, "weight");
    const float *bias = part_of(e, block, layer, "bias");
    for (int i = 0; i < x.size * x.size * x.channels; i++) {
        int c = i % x.channels;
        double hat = (x.at[i] - (double)mean[c]) / sqrt((double)var[c] + 1e-5);
        x.at[i] = act(hat * (double)scale[c] + (double)bias[c]);
    }
    return x;
}

static double *mean_of(const image *x)
{
    double *y = PL_NEW_N(arena, double, x->channels);
    for (int i = 0; i < x->size * x->size * x->channels; i++)
        y[i % x->channels] += x->at[i] / (x->size * x->size);
    return y;
}

static void weigh(const eval *e, const char *block, const char *layer, int inner, image *x)
{
    const char *in = pl_arena_fmt(arena, "%s.fc1", layer),
               *out = pl_arena_fmt(arena, "%s.fc2", layer);
    double *y = PL_NEW_N(arena, double, inner), *z = PL_NEW_N(arena, double, x->channels);
    dense(x->channels, inner, false, part_of(e, block, in, "weight"), part_of(e, block, in, "bias"),
          mean_of(x), y);
    for (int i = 0; i < inner; i++) y[i] = silu(y[i]);
    dense(inner, x->channels, false, part_of(e, block, out, "weight"),
          part_of(e, block, out, "bias"), y, z);
    for (int i = 0; i < x->size * x->size * x->channels; i++)
        x->at[i] *= sigmoid(z[i % x->channels]);
}

/* Names of the weights and the norm of the layers that widen, go by channel, weigh and narrow. */
typedef struct step {
    const char *block;
    const char *wide[2], *deep[2], *weigh, *narrow[2];
    int times, kernel, stride;
    bool skip;
} step;

static image run_step(const eval *e, const step *s, double (*act)(double), image x)
{
    const char *b = s->block;
    image y = x;
    if (s->wide[0])
        y = normalise(
            e, b, s->wide[1], act,
            convolve(part_of(e, b, s->wide[0], "weight"), y, s->times * x.channels, 1, 1));
    y = normalise(e, b, s->deep[1], act,
                  convolve(part_of(e, b, s->deep[0], "weight"), y, 0, s->kernel, s->stride));
    if (s->weigh) weigh(e, b, s->weigh, 1, &y);
    y = normalise(e, b, s->narrow[1], same,
                  convolve(part_of(e, b, s->narrow[0], "weight"), y, x.channels, 1, 1));
    for (int i = 0; s->skip && i < y.size * y.size * y.channels; i++) y.at[i] += x.at[i];
    return y;
}

/* Weights in [-2, 2), which bring relu6 above 6; variances in [0.1, 0.8), pixels in [-1, 1). */
static eval run_model(const char *spec)
{
    eval e = eval_new(build(spec, PL_INFER, NULL, arena));
    for (int i = 0; i < e.graph->values.n; i++) {
        const pl_value *v = e.graph->values.at[i];
        bool var = strstr(v->name, "running_var") != NULL;
        double low = v->role == PL_INPUT ? -1 : var ? 0.1 : -2;
        double high = v->role == PL_INPUT ? 1 : var ? 0.8 : 2;
        if (!v->maker)
            eval_random(v->type, &v->shape, e.at[i], pl_rng_at(5, (uint64_t)i), low, high);
    }
    eval_run(&e, e.graph->nodes.n);
    return e;
}

typedef struct net {
    const char *name, *stem[2], *last[2];
    double (*act)(double);
    step step[5]; /* ends with one that has no block */
} net;

enum { SIZE = 9, CHANNELS = 3, LAST = 5, CLASSES = 4 };

static void check_net(const net *n)
{
    eval e = run_model(pl_arena_fmt(
        arena, "%s:width=0.1,divisor=3,stages=2,blocks=2,last=5,size=9,classes=4,batch=2",
        n->name));
    const float *pixels = state_of(&e, "image"), *logits = state_of(&e, "logits");
    for (int row = 0; row < 2; row++) {
        double want[CLASSES];
        image x = new_image(SIZE, 3);
        for (int i = 0; i < SIZE * SIZE * 3; i++) x.at[i] = (double)*pixels++;
        x = convolve(part_of(&e, "", n->stem[0], "weight"), x, CHANNELS, 3, 2);
        x = normalise(&e, "", n->stem[1], n->act, x);
        for (const step *s = n->step; s->block; s++) x = run_step(&e, s, n->act, x);
        x = convolve(part_of(&e, "", n->last[0], "weight"), x, LAST, 1, 1);
        x = normalise(&e, "", n->last[1], n->act, x);
        dense(LAST, CLASSES, false, state_of(&e, "classifier.1.weight"),
              state_of(&e, "classifier.1.bias"), mean_of(&x), want);
        for (int i = 0; i < CLASSES; i++)
            check_near((double)*logits++, want[i], 2e-5 * fmax(1, fabs(want[i])));
    }
    eval_free(&e);
}

/* Every block has 3 channels, so all with a stride of 1 have a residual. */
static void mobilenet_is_what_it_says(void **state)
{
    static const net n = {
        "mobilenet_v2",
        { "features.0.0", "features.0.1" },
        { "features.5.0", "features.5.1" },
        relu6,
        { { "features.1.conv.", { 0 }, { "0.0", "0.1" }, NULL, { "1", "2" }, 1, 3, 1, true },
          { "features.2.conv.", { 0 }, { "0.0", "0.1" }, NULL, { "1", "2" }, 1, 3, 1, true },
          { "features.3.conv.",
            { "0.0", "0.1" },
            { "1.0", "1.1" },
            NULL,
            { "2", "3" },
            6,
            3,
            2,
            false },
          { "features.4.conv.",
            { "0.0", "0.1" },
            { "1.0", "1.1" },
            NULL,
            { "2", "3" },
            6,
            3,
            1,
            true } },
    };
    (void)state;
    check_net(&n);
}

/* The two blocks that do not widen have none here. */
static void mnasnet_is_what_it_says(void **state)
{
    static const net n = {
        "mnasnet0_5",
        { "layers.0", "layers.1" },
        { "layers.14", "layers.15" },
        relu,
        { { "layers.", { 0 }, { "3", "4" }, NULL, { "6", "7" }, 1, 3, 1, false },
          { "layers.7.1.layers.", { 0 }, { "3", "4" }, NULL, { "6", "7" }, 1, 3, 1, false },
          { "layers.8.0.layers.", { "0", "1" }, { "3", "4" }, NULL, { "6", "7" }, 3, 3, 2, false },
          { "layers.8.1.layers.", { "0", "1" }, { "3", "4" }, NULL, { "6", "7" }, 3, 3, 1, true } },
    };
    (void)state;
    check_net(&n);
}

static void efficientnet_is_what_it_says(void **state)
{
    static const net n = {
        "efficientnet_b0",
        { "features.0.0", "features.0.1" },
        { "features.8.0", "features.8.1" },
        silu,
        { { "features.1.0.block.", { 0 }, { "0.0", "0.1" }, "1", { "2.0", "2.1" }, 1, 3, 1, true },
          { "features.1.1.block.", { 0 }, { "0.0", "0.1" }, "1", { "2.0", "2.1" }, 1, 3, 1, true },
          { "features.2.0.block.",
            { "0.0", "0.1" },
            { "1.0", "1.1" },
            "2",
            { "3.0", "3.1" },
            6,
            3,
            2,
            false },
          { "features.2.1.block.",
            { "0.0", "0.1" },
            { "1.0", "1.1" },
            "2",
            { "3.0", "3.1" },
            6,
            3,
            1,
            true } },
    };
    (void)state;
    check_net(&n);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(mobilenet_is_what_it_says, set_up, tear_down),
        cmocka_unit_test_setup_teardown(mnasnet_is_what_it_says, set_up, tear_down),
        cmocka_unit_test_setup_teardown(efficientnet_is_what_it_says, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
