/* A model of one's own, built node by node: planned for two devices, trained on data in memory,
 * saved.
 *
 *     cc own_model.c $(pkg-config --cflags --libs pleat) -o own_model && ./own_model [FOLDER]
 */
#include <pleat.h>
#include <stdio.h>

enum { BATCH = 32, IN = 16, HIDDEN = 64, CLASSES = 4, STEPS = 200 };

static pl_value *linear(pl_builder *b, const char *name, pl_value *x, int64_t in, int64_t out)
{
    char weight[64], bias[64];
    snprintf(weight, sizeof weight, "%s.weight", name);
    snprintf(bias, sizeof bias, "%s.bias", name);
    pl_value *w = pl_build_weight(b, weight, 2, (int64_t[]){ in, out }, "normal std=0.2");
    pl_value *v = pl_build_weight(b, bias, 1, (int64_t[]){ out }, "zeros");
    pl_value *y = pl_build_node(b, name, "einsum", "bm,mf->bf", 2, (pl_value *[]){ x, w });
    return pl_build_node(b, NULL, "add", "bf,f->bf", 2, (pl_value *[]){ y, v });
}

static void build(pl_builder *b, int64_t batch, pl_mode mode, void *self)
{
    (void)mode, (void)self;
    pl_value *x = pl_build_input(b, "x", "f32", 2, (int64_t[]){ batch, IN });
    pl_value *label = pl_build_input(b, "label", "i32", 1, (int64_t[]){ batch });
    pl_value *h = linear(b, "hidden", x, IN, HIDDEN);
    h = pl_build_node(b, NULL, "relu", "bf->bf", 1, &h);
    pl_value *logits = linear(b, "out", h, HIDDEN, CLASSES);
    pl_build_output(b, pl_build_cross_entropy(b, logits, label), "loss");
}

/* Points of one class are where one of four coordinates is largest. */
static void draw(unsigned *seed, float x[BATCH][IN], int32_t label[BATCH])
{
    for (int i = 0; i < BATCH; i++) {
        label[i] = 0;
        for (int k = 0; k < IN; k++) {
            *seed = *seed * 1664525u + 1013904223u;
            x[i][k] = (float)(*seed >> 8) / (1 << 23) - 1;
            if (k < CLASSES && x[i][k] > x[i][label[i]]) label[i] = k;
        }
    }
}

static int train(pl_context *c, const char *folder)
{
    static float x[BATCH][IN];
    static int32_t label[BATCH];
    unsigned seed = 1;
    pl_step_result step;
    pl_run_options o = PL_RUN_OPTIONS;
    o.lr = 1e-2, o.steps = STEPS, o.save = folder;
    pl_model *m = pl_model_new(c, "own", BATCH, build, NULL);
    pl_cluster *two = pl_cluster_open(c, "local:2");
    pl_plan *p = m && two ? pl_plan_new(m, two, NULL) : NULL;
    pl_run *r = p ? pl_run_new(p, &o) : NULL;
    if (!r) return 1;
    printf("%lld parameters on %d devices: %s\n", (long long)pl_model_parameters(m),
           pl_plan_devices(p), pl_plan_strategy(p));
    for (int i = 0; i < STEPS; i++) {
        draw(&seed, x, label);
        if (!pl_run_feed(r, "x", x, sizeof x) || !pl_run_feed(r, "label", label, sizeof label) ||
            !pl_run_step(r, &step))
            return 1;
        if (i % 50 == 0 || i == STEPS - 1)
            printf("step %lld loss %.4f\n", (long long)step.step, step.loss);
    }
    return pl_run_save(r) ? 0 : 1;
}

int main(int argc, char **argv)
{
    pl_context *c = pl_context_new();
    const int code = train(c, argc > 1 ? argv[1] : "own");
    if (code) fprintf(stderr, "%s\n", pl_context_error(c));
    pl_context_free(c);
    return code;
}
