/* The plans that published systems arrive at are found by the search, and what they send is not
 * less: grids of matrix products (Megatron, SUMMA, Tesseract, 3-D and all others), and the mix of
 * data and model parallelism of SoyBean (Wang et al., 2018). */
#include "support/training.h"
#include "ops/list.h"
#include "planners/auto.h"

#include <math.h>

/* -- products on grids ------------------------------------------------------------------------- */

enum { DEVICES = 64, WIDTHS = 3, SHORT = 5, LONG = 8 };

static const struct {
    int64_t m, h;
} widths[WIDTHS] = { { 6144, 3072 }, { 15360, 8192 }, { 196608, 8192 } };

/* Of layers h -> 4 h -> h on m rows: millions of elements that a device receives, forward and
 * backward, where what was gathered is kept for the backward pass. Megatron sums m h twice,
 * 4 (p-1)/p m h; the others follow from the blocks that they broadcast, gather and sum. A grid of
 * a x b x c parts of m, n and k sends 2 (mk/(ac) (1-1/b) + kn/(bc) (1-1/a) + mn/(ab) (1-1/c)) for
 * [m,k] x [k,n]; the next layer has the grid a x c x b, so that nothing moves between the two. */
static const struct {
    const char *name;
    int n, size[3]; /* a mesh that the scheme can lie on */
    double figure[WIDTHS];
} schemes[] = {
    { "1-D", 1, { 64 }, { 74.3, 495.5, 6342 } },
    { "2-D", 2, { 8, 8 }, { 37.2, 255.1, 1879 } },
    { "2.5-D and 3-D", 3, { 4, 4, 4 }, { 24.8, 168.3, 1007 } }, /* the better one */
    { "best grid", 3, { 2, 4, 8 }, { 20.1, 136.8, 553.6 } },
};
enum { N_SCHEMES = sizeof schemes / sizeof *schemes, BEST = N_SCHEMES - 1 };

static double product_volume(double m, double k, double n, double a, double b, double c)
{
    return 2 * (m * k / (a * c) * (1 - 1 / b) + k * n / (b * c) * (1 - 1 / a) +
                m * n / (a * b) * (1 - 1 / c));
}

/* Over all grids. */
static double least_grid_volume(double m, double h)
{
    double best = INFINITY;
    for (int a = 1; a <= DEVICES; a *= 2)
        for (int b = 1; a * b <= DEVICES; b *= 2) {
            int c = DEVICES / (a * b);
            best = fmin(best, product_volume(m, h, 4 * h, a, b, c) +
                                  product_volume(m, 4 * h, h, a, c, b));
        }
    return best;
}

static pl_value *add_layer(pl_builder *b, const char *name, int64_t in, int64_t out, pl_value *x)
{
    pl_value *w = pl_add_state(b, name, PL_F32, PL_SHAPE(in, out), "zeros", PL_WEIGHT);
    return PL_ADD(b, &pl_op_relu, NULL, PL_ADD(b, &pl_op_einsum, "mk,kn->mn", x, w));
}

/* So many blocks h -> 4 h -> h. */
static const pl_graph *stack_blocks(int64_t m, int64_t h, int blocks, pl_arena *a)
{
    const pl_optim sgd = { .name = "sgd" };
    pl_builder b = pl_builder_new(a, &pl_ops_all, "blocks");
    pl_graph *g;
    pl_err err = { 0 };
    pl_value *x = pl_add_input(&b, "x", PL_F32, PL_SHAPE(m, h));
    for (int i = 0; i < blocks; i++) {
        x = add_layer(&b, pl_builder_fmt(&b, "up.%d", i), h, 4 * h, x);
        x = add_layer(&b, pl_builder_fmt(&b, "down.%d", i), 4 * h, h, x);
    }
    pl_add_output(&b, "loss", PL_ADD(&b, &pl_op_reduce_sum, "...->", x));
    pl_optim_add(&b, &sgd, pl_graph_find(b.graph, "loss"));
    if (!pl_builder_done(&b, &g, &err)) fail_msg("%s", err.msg);
    return g;
}

/* Seconds of computing in an answer. */
static double computing_of(const pl_problem *t, const int *value)
{
    double sum = 0;
    for (int i = 0; i < t->vars[0].n; i++) sum += t->vars[0].at[i].time[*value++];
    for (int k = 0; k < t->copies; k++)
        for (int i = 0; i < t->vars[1].n; i++) sum += t->vars[1].at[i].time[*value++];
    return sum;
}

/* Elements that a device receives in the plan that receives least, of those that compute nothing
 * twice: no message is worth the time of that. Links cost a second for each element and nothing
 * else. */
static double least_volume(const pl_graph *g, int scheme, double flops, pl_arena *a)
{
    const double nothing = 1e-30; /* 0 stands for a default */
    pl_mesh m = { .n = schemes[scheme].n, .copy_start = nothing, .copy_per_byte = nothing };
    pl_speed speed = { .stream = INFINITY };
    pl_answer answer;
    pl_err err = { 0 };
    double whole = 0;
    for (int t = 0; t < PL_N_TYPES; t++) speed.flops[t] = flops;
    for (int i = 0; i < m.n; i++) {
        m.axis[i].name[0] = (char)('x' + i);
        m.axis[i].size = schemes[scheme].size[i];
        m.axis[i].latency = nothing;
        m.axis[i].per_byte = 0.25;
    }
    pl_fold fold = pl_fold_find(g, a);
    const pl_problem *t = pl_problem_new(g, &fold, &m, &speed, a);
    if (!pl_chain_min(&t->chain, INFINITY, NULL, a, &answer, &err)) fail_msg("%s", err.msg);
    if (scheme == BEST) assert_true(answer.proven);
    for (int i = 0; i < g->nodes.n; i++) {
        pl_share all = pl_share_whole(g->nodes.at[i]);
        whole += pl_speed_share(&all, &speed);
    }
    double computing = computing_of(t, answer.value);
    assert_true(computing >= whole / DEVICES * (1 - 1e-9) && computing <= whole / DEVICES * 1.01);
    return answer.time - computing;
}

/* What each further block of a stack adds. A block alone could have its input everywhere for
 * nothing; in a stack each is laid out such that the next one can follow. A mesh leaves more than
 * the scheme that it is named for: where less is found, the second layer has another grid than the
 * first, or weights are gathered where rows are many. */
static void test_grids(void **state)
{
    (void)state;
    for (int w = 0; w < WIDTHS; w++) {
        double m = (double)widths[w].m, h = (double)widths[w].h;
        double least = least_grid_volume(m, h);
        double flops = 2 * m * h * 4 * h / DEVICES / (4 * least); /* a product takes 4 times that */
        assert_true(fabs(least - schemes[BEST].figure[w] * 1e6) <= 0.05e6);
        for (int s = 0; s < N_SCHEMES; s++) {
            pl_arena *a = pl_arena_new("test");
            double less =
                least_volume(stack_blocks(widths[w].m, widths[w].h, SHORT, a), s, flops, a);
            double more =
                least_volume(stack_blocks(widths[w].m, widths[w].h, LONG, a), s, flops, a);
            double found = (more - less) / (LONG - SHORT), figure = schemes[s].figure[w] * 1e6;
            print_message("m %6.0f, h %4.0f, %-13s %8.2f million, found %8.2f\n", m, h,
                          schemes[s].name, figure / 1e6, found / 1e6);
            if (!(found <= (s == BEST ? least * (1 + 1e-6) : figure + 0.05e6)))
                fail_msg("%s has %.0f elements, the search found %.0f", schemes[s].name,
                         s == BEST ? least : figure, found);
            pl_arena_free(a);
        }
    }
}

/* -- data and model parallelism mixed ---------------------------------------------------------- */

static const pl_auto *plan_on_pcie(const pl_graph *g, pl_arena *a)
{
    pl_cluster *c;
    pl_auto *x;
    pl_err err = { 0 };
    if (!pl_cluster_find("1xp2.8xlarge", a, &c, &err)) fail_msg("%s", err.msg);
    if (!pl_auto_plan(g, c, NULL, a, &x, &err)) fail_msg("%s", err.msg);
    return x;
}

/* Axes on which node n of a plan splits one of these letters. */
static int count_axes(const pl_plan *p, const pl_node *n, const char *letters)
{
    int count = 0;
    for (int axis = 0; axis < p->mesh.n; axis++) {
        int f = p->choice[n->id].factor[axis];
        count += f >= 0 && strchr(letters, n->sig->factor[f].letter) != NULL;
    }
    return count;
}

/* Convolutions are split by images on all axes, a linear layer by channels on some. */
static void test_soybean(void **state)
{
    static const char *const models[] = { "alexnet:batch=128", "vgg16:batch=64" };
    (void)state;
    for (int k = 0; k < 2; k++) {
        pl_arena *a = pl_arena_new("test");
        const pl_graph *g = training_graph(models[k], a);
        const pl_auto *x = plan_on_pcie(g, a);
        int convolutions = 0, by_channel = 0;
        for (int i = 0; i < g->nodes.n; i++) {
            const pl_node *n = g->nodes.at[i];
            if (!strncmp(n->op->name, "conv2d", 6)) {
                convolutions++;
                if (count_axes(x->plan, n, "n") != x->plan->mesh.n)
                    fail_msg("%s: %s is not split by images alone", models[k], n->name);
            }
            if (!strncmp(n->name, "classifier.", 11) && n->op == &pl_op_einsum && !n->of)
                by_channel += count_axes(x->plan, n, "io") > 0;
        }
        print_message("%s: %d of 3 linear layers are split by channels\n", models[k], by_channel);
        assert_true(convolutions > 0 && by_channel > 0);
        pl_arena_free(a);
    }
}

/* Few weights and many rows: products are split by rows on all axes. */
static void test_data_parallel(void **state)
{
    (void)state;
    pl_arena *a = pl_arena_new("test");
    const pl_graph *g = training_graph("mlp:layers=4,in=256,hidden=256,batch=65536", a);
    const pl_auto *x = plan_on_pcie(g, a);
    for (int i = 0; i < g->nodes.n; i++) {
        const pl_node *n = g->nodes.at[i];
        if (n->op == &pl_op_einsum && count_axes(x->plan, n, "n") != x->plan->mesh.n)
            fail_msg("%s is not split by rows alone", n->name);
    }
    pl_arena_free(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_grids),
        cmocka_unit_test(test_soybean),
        cmocka_unit_test(test_data_parallel),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
