/* Networks against each other: the published sizes; which weights a loss trains; spectral norms
 * against those of power steps by hand; pictures that a buffer hands on. */
#include "built.h"

#include "train/objective.h"

#define DCGAN "dcgan:size=16,width=4,z=8,channels=1,batch=4"
#define SNGAN "sngan:width=2,judge=2,z=8,channels=1,batch=2"

static pl_arena *arena;

static int64_t params_of(const pl_graph *g, const char *network)
{
    const pl_objective o = { .name = network };
    int64_t n = 0;
    for (int i = 0; i < g->values.n; i++)
        if (pl_objective_trains(&o, g->values.at[i])) n += pl_shape_count(&g->values.at[i]->shape);
    return n;
}

/* PyTorch's tutorial; Miyato's architecture for CIFAR-10; what BigGAN-PyTorch prints. */
static void counts(void **state)
{
    (void)state;
    static const struct {
        const char *spec;
        int64_t generator, discriminator;
    } rows[] = { { "dcgan:batch=2", 3576704, 2765568 },
                 { "sngan:batch=2", 4276739, 1053825 },
                 { "biggan:batch=2", 70433988, 87982370 } };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const pl_graph *g = build(rows[i].spec, PL_EVAL, NULL, arena);
        assert_int_equal(params_of(g, "generator"), rows[i].generator);
        assert_int_equal(params_of(g, "discriminator"), rows[i].discriminator);
    }
}

/* -- spectral norms ---------------------------------------------------------------------------- */

static double length(int n, const double *x)
{
    double sum = 0;
    for (int i = 0; i < n; i++) sum += x[i] * x[i];
    return sqrt(sum);
}

/* sigma = |W v|, v = W^T u / |W^T u|; next: W v / sigma. */
static double power_step(int rows, int columns, const float *w, const float *u, double next[])
{
    double v[128] = { 0 };
    assert_true(columns <= 128);
    for (int i = 0; i < rows; i++)
        for (int k = 0; k < columns; k++) v[k] += (double)w[i * columns + k] * (double)u[i];
    const double of_v = length(columns, v);
    for (int i = 0; i < rows; i++) {
        next[i] = 0;
        for (int k = 0; k < columns; k++) next[i] += (double)w[i * columns + k] * v[k] / of_v;
    }
    const double sigma = length(rows, next);
    for (int i = 0; i < rows; i++) next[i] /= sigma;
    return sigma;
}

static void spectral_norms(void **state)
{
    (void)state;
    const char *name = "discriminator.0.conv2.weight";
    eval e = eval_new(build(SNGAN, PL_TRAIN, NULL, arena));
    feed(&e, 2);
    const pl_value *w = pl_graph_find(e.graph, name),
                   *u = pl_graph_find(e.graph, "discriminator.0.conv2.weight.u"),
                   *y = pl_graph_find(e.graph, "discriminator.0.conv2.weight.normal");
    assert_true(w && u && y);
    const int rows = (int)w->shape.dim[0], columns = (int)(pl_shape_count(&w->shape) / rows);
    double next[16];
    const float *at = e.at[w->id];
    const double sigma = power_step(rows, columns, at, e.at[u->id], next);
    eval_run(&e, e.graph->nodes.n);
    const float *divided = e.at[y->id], *left = e.at[u->next->id];
    for (int i = 0; i < rows * columns; i++)
        check_near((double)divided[i], (double)at[i] / sigma, 1e-6);
    for (int i = 0; i < rows; i++) check_near((double)left[i], next[i], 1e-6);
    eval_free(&e);
}

/* -- the buffer -------------------------------------------------------------------------------- */

/* With a buffer the discriminator reads its oldest state, and the newest becomes what is made. */
static void buffer(void **state)
{
    (void)state;
    const pl_graph *g = build(DCGAN ",buffer=3", PL_TRAIN, NULL, arena);
    const pl_value *slot[3];
    for (int i = 0; i < 3; i++) {
        slot[i] = pl_graph_find(g, pl_arena_fmt(arena, "buffer.image.%d", i));
        assert_non_null(slot[i]);
        assert_int_equal(slot[i]->kind, PL_ROWS);
    }
    assert_string_equal(slot[2]->next->maker->op->name, "tanh");
    for (int i = 0; i < 2; i++)
        assert_ptr_equal(slot[i]->next->maker->in[0], slot[i + 1]); /* a copy */
    const pl_value *old = pl_graph_find(g, "discriminator.old.conv0");
    assert_non_null(old);
    assert_ptr_equal(old->maker->in[0], slot[0]);
    assert_null(pl_graph_find(build(DCGAN, PL_TRAIN, NULL, arena), "discriminator.old.conv0"));
}

/* In 16 bits spectral norms and losses stay f32. */
static void narrow(void **state)
{
    (void)state;
    static const char *const specs[] = {
        DCGAN ",dtype=bf16,buffer=1", SNGAN ",dtype=bf16",
        "biggan:size=32,width=2,judge=2,z=8,embed=4,attention=16,classes=3,batch=2,dtype=bf16"
    };
    for (int i = 0; i < 3; i++) {
        const pl_graph *g = build(specs[i], PL_TRAIN, "adam", arena);
        assert_int_equal(pl_graph_find(g, "loss")->type, PL_F32);
        const pl_value *w = pl_graph_find(g, "discriminator.0.conv1.weight.normal"),
                       *y = pl_graph_find(g, "discriminator.0.conv1.weight.normal.f32");
        assert_true(!i == !w);
        assert_true(!w || (w->type == PL_BF16 && y && y->type == PL_F32));
        g = build(specs[i], PL_INFER, NULL, arena);
        assert_int_equal(pl_graph_find(g, "image")->type, PL_F32);
    }
}

static void refusals(void **state)
{
    (void)state;
    static const struct {
        const char *spec, *says;
    } rows[] = {
        { "dcgan:size=24", "size=24 is not 8, 16, 32, 64" },
        { "sngan:size=48", "size=48 is not 32, 64, 128 or 256" },
        { "biggan:z=100", "z=100 does not divide into 6 parts" },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        pl_model_args args;
        pl_graph *g;
        pl_err err = { 0 };
        parse_well(rows[i].spec, arena, &args);
        pl_builder b = pl_builder_new(arena, &pl_ops_all, args.spec);
        pl_model_build(&b, &args, PL_TRAIN);
        assert_false(pl_builder_done(&b, &g, &err));
        if (!strstr(err.msg, rows[i].says)) fail_msg("%s: %s", rows[i].spec, err.msg);
    }
}

static int begin(void **state)
{
    (void)state;
    arena = pl_arena_new("test");
    return 0;
}

static int end(void **state)
{
    (void)state;
    pl_arena_free(arena);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(counts), cmocka_unit_test(spectral_norms), cmocka_unit_test(buffer),
        cmocka_unit_test(narrow), cmocka_unit_test(refusals),
    };
    return cmocka_run_group_tests(tests, begin, end);
}
