/* Every optimizer against its formula, written out as PyTorch's (or its authors') code has it, over
 * several steps of two weights; and as whole runs: split, in micro-batches, with masters, resumed.
 */
#include "jobs.h"

#include "ops/lib/all.h"
#include "ops/list.h"

#include "../ops/eval.h"

enum { STEPS = 5, MOST = 6 };

static const double lr = 0.05, beta1 = 0.9, beta2 = 0.97, eps = 1e-3, momentum = 0.8, decay = 0.1;

/* -- formulas ---------------------------------------------------------------------------------- */

/* A weight with what its optimizer remembers. */
typedef struct tensor {
    int n;
    double decay;
    double w[MOST], m[MOST], v[MOST];
} tensor;

static void step_adam(tensor *x, const double g[], int t)
{
    for (int i = 0; i < x->n; i++) {
        const double d = g[i] + x->decay * x->w[i];
        x->m[i] = beta1 * x->m[i] + (1 - beta1) * d;
        x->v[i] = beta2 * x->v[i] + (1 - beta2) * d * d;
        const double denominator = sqrt(x->v[i]) / sqrt(1 - pow(beta2, t)) + eps;
        x->w[i] -= lr / (1 - pow(beta1, t)) * x->m[i] / denominator;
    }
}

static void step_adamw(tensor *x, const double g[], int t)
{
    tensor plain = *x;
    for (int i = 0; i < x->n; i++) plain.w[i] *= 1 - lr * x->decay;
    plain.decay = 0;
    step_adam(&plain, g, t);
    plain.decay = x->decay;
    *x = plain;
}

/* As in the authors' adabelief_pytorch, with weight_decouple and without rectify and amsgrad. */
static void step_adabelief(tensor *x, const double g[], int t)
{
    for (int i = 0; i < x->n; i++) {
        x->w[i] *= 1 - lr * x->decay;
        x->m[i] = beta1 * x->m[i] + (1 - beta1) * g[i];
        const double residual = g[i] - x->m[i];
        x->v[i] = beta2 * x->v[i] + (1 - beta2) * residual * residual;
        x->v[i] += eps; /* in place there */
        const double denominator = sqrt(x->v[i]) / sqrt(1 - pow(beta2, t)) + eps;
        x->w[i] -= lr / (1 - pow(beta1, t)) * x->m[i] / denominator;
    }
}

static double norm(int n, const double x[])
{
    double sum = 0;
    for (int i = 0; i < n; i++) sum += x[i] * x[i];
    return sqrt(sum);
}

static void step_lamb(tensor *x, const double g[], int t)
{
    double update[MOST];
    for (int i = 0; i < x->n; i++) {
        x->m[i] = beta1 * x->m[i] + (1 - beta1) * g[i];
        x->v[i] = beta2 * x->v[i] + (1 - beta2) * g[i] * g[i];
        const double mean = x->m[i] / (1 - pow(beta1, t)), square = x->v[i] / (1 - pow(beta2, t));
        update[i] = mean / (sqrt(square) + eps) + x->decay * x->w[i];
    }
    const double size = norm(x->n, x->w), length = norm(x->n, update);
    const double trust = size > 0 && length > 0 ? size / length : 1;
    for (int i = 0; i < x->n; i++) x->w[i] -= lr * trust * update[i];
}

static void step_adagrad(tensor *x, const double g[], int t)
{
    (void)t;
    for (int i = 0; i < x->n; i++) {
        const double d = g[i] + x->decay * x->w[i];
        x->m[i] += d * d;
        x->w[i] -= lr * d / (sqrt(x->m[i]) + eps);
    }
}

static void step_sgd(tensor *x, const double g[], int t)
{
    (void)t;
    for (int i = 0; i < x->n; i++) {
        x->m[i] = momentum * x->m[i] + g[i] + x->decay * x->w[i];
        x->w[i] -= lr * x->m[i];
    }
}

static const struct {
    const char *name;
    void (*step)(tensor *x, const double g[], int t);
} formulas[] = {
    { "adam", step_adam }, { "adamw", step_adamw },     { "adabelief", step_adabelief },
    { "lamb", step_lamb }, { "adagrad", step_adagrad }, { "sgd", step_sgd },
};

enum { N_FORMULAS = sizeof formulas / sizeof *formulas };

/* -- the graph --------------------------------------------------------------------------------- */

/* The gradient of the loss, sum x w + sum y c, by w is x, by c is y: which change by the step. */
static pl_graph *make_graph(const pl_optim *o, pl_arena *a)
{
    pl_builder b = pl_builder_new(a, &pl_ops_all, "t");
    pl_graph *g = NULL;
    pl_err err = { 0 };
    pl_value *w = pl_add_state(&b, "w", PL_F32, PL_SHAPE(2, 3), "zeros", PL_WEIGHT),
             *c = pl_add_state(&b, "c", PL_F32, PL_SHAPE(3), "zeros", PL_WEIGHT),
             *x = pl_add_input(&b, "x", PL_F32, PL_SHAPE(2, 3)),
             *y = pl_add_input(&b, "y", PL_F32, PL_SHAPE(3));
    pl_value *sum = PL_ADD(&b, &pl_op_reduce_sum, "...->", PL_ADD(&b, &pl_op_mul, NULL, x, w));
    pl_value *other = PL_ADD(&b, &pl_op_reduce_sum, "...->", PL_ADD(&b, &pl_op_mul, NULL, y, c));
    pl_value *loss = PL_ADD(&b, &pl_op_add, NULL, sum, other);
    if (loss) pl_add_output(&b, "loss", loss);
    pl_optim_add(&b, o, loss);
    if (!pl_builder_done(&b, &g, &err)) fail_msg("%s: %s", o->name, err.msg);
    return g;
}

static float *find(const eval *e, const char *name)
{
    const pl_value *v = pl_graph_find(e->graph, name);
    return v ? e->at[v->id] : NULL;
}

/* A step's next states are its states. */
static void take_over(const eval *e)
{
    for (int i = 0; i < e->graph->values.n; i++) {
        const pl_value *v = e->graph->values.at[i];
        if (v->next) memcpy(e->at[v->id], e->at[v->next->id], eval_bytes(v->type, &v->shape));
    }
}

static double gradient(int i, int t)
{
    return sin(3.0 * i + 1.7 * t) * (i % 2 ? 2 : 0.5);
}

static void compare(const char *name, int t, const tensor *x, const float *found)
{
    for (int i = 0; i < x->n; i++)
        if (!(fabs((double)found[i] - x->w[i]) <= 4e-6))
            fail_msg("%s: element %d of %d after step %d is %.9g, not %.9g", name, i, x->n, t,
                     (double)found[i], x->w[i]);
}

static void check_formula(int which, double clip)
{
    pl_optim o = { formulas[which].name, beta1, beta2, eps, momentum, decay, clip };
    pl_arena *a = pl_arena_new("test");
    eval e = eval_new(make_graph(&o, a));
    tensor w = { .n = 6, .decay = decay }, c = { .n = 3 }; /* c, a vector, starts at 0 */
    for (int i = 0; i < e.graph->values.n; i++) {
        const pl_value *v = e.graph->values.at[i];
        if (v->role == PL_STATE) memset(e.at[i], 0, eval_bytes(v->type, &v->shape));
    }
    for (int i = 0; i < w.n; i++) find(&e, "w")[i] = (float)(w.w[i] = cos(2.0 * i));
    *find(&e, "lr") = (float)lr;
    for (int t = 1; t <= STEPS; t++) {
        double g[9];
        for (int i = 0; i < 9; i++) g[i] = gradient(i, t);
        const double all = norm(9, g), scale = clip > 0 ? fmin(1, clip / (all + 1e-6)) : 1;
        for (int i = 0; i < 6; i++) find(&e, "x")[i] = (float)g[i];
        for (int i = 0; i < 3; i++) find(&e, "y")[i] = (float)g[6 + i];
        if (find(&e, "step")) *(int64_t *)(void *)find(&e, "step") = t;
        for (int i = 0; i < 9; i++) g[i] *= scale;
        eval_run(&e, e.graph->nodes.n);
        take_over(&e);
        formulas[which].step(&w, g, t);
        formulas[which].step(&c, g + 6, t);
        compare(o.name, t, &w, find(&e, "w"));
        compare(o.name, t, &c, find(&e, "c"));
    }
    eval_free(&e);
    pl_arena_free(a);
}

static void test_formulas(void **state)
{
    (void)state;
    for (int i = 0; i < N_FORMULAS; i++) {
        check_formula(i, 0);
        check_formula(i, 1);
    }
}

/* -- row-wise ---------------------------------------------------------------------------------- */

enum { ROWS = 4, COLUMNS = 3, IDS = 3 };

/* The loss is sum x w[ids]: row ids[i] of the gradient is the sum of x[i] of all such i. */
static pl_graph *make_table(const pl_optim *o, pl_arena *a)
{
    pl_builder b = pl_builder_new(a, &pl_ops_all, "t");
    pl_graph *g = NULL;
    pl_err err = { 0 };
    pl_value *w = pl_add_state(&b, "w", PL_F32, PL_SHAPE(ROWS, COLUMNS), "zeros", PL_WEIGHT),
             *ids = pl_add_input(&b, "ids", PL_I32, PL_SHAPE(IDS)),
             *x = pl_add_input(&b, "x", PL_F32, PL_SHAPE(IDS, COLUMNS));
    pl_value *y = PL_ADD(&b, &pl_op_mul, NULL, x, PL_ADD(&b, &pl_op_embedding, NULL, w, ids));
    pl_value *loss = PL_ADD(&b, &pl_op_reduce_sum, "...->", y);
    if (loss) pl_add_output(&b, "loss", loss);
    pl_optim_add(&b, o, loss);
    if (!pl_builder_done(&b, &g, &err)) fail_msg("%s", err.msg);
    return g;
}

/* As FBGEMM's kernel has it: the mean square of a row is added to its one sum. */
static void step_rowwise(double w[], double sum[], const double g[])
{
    for (int r = 0; r < ROWS; r++) {
        double mean = 0;
        for (int j = 0; j < COLUMNS; j++) mean += pow(g[COLUMNS * r + j], 2) / COLUMNS;
        sum[r] += mean;
        for (int j = COLUMNS * r; j < COLUMNS * (r + 1) && mean > 0; j++)
            w[j] -= lr * g[j] / (sqrt(sum[r]) + eps);
    }
}

static void test_rowwise(void **state)
{
    const pl_optim o = { .name = "rowwise-adagrad", .eps = eps, .clip = 0.8 };
    pl_arena *a = pl_arena_new("test");
    eval e = eval_new(make_table(&o, a));
    double w[ROWS * COLUMNS], sum[ROWS] = { 0 };
    (void)state;
    const pl_value *moment = pl_graph_find(e.graph, "w.sum");
    assert_true(moment && moment->kind == PL_MOMENT && moment->shape.rank == 2);
    assert_true(moment->shape.dim[0] == ROWS && moment->shape.dim[1] == 1);
    memset(find(&e, "w.sum"), 0, ROWS * sizeof(float));
    for (int i = 0; i < ROWS * COLUMNS; i++) find(&e, "w")[i] = (float)(w[i] = cos(2.0 * i));
    *find(&e, "lr") = (float)lr;
    for (int t = 1; t <= STEPS; t++) {
        double g[ROWS * COLUMNS] = { 0 };
        for (int i = 0; i < IDS; i++) {
            const int id = i * t % ROWS; /* twice the same one in steps 2 and 4 */
            ((int32_t *)(void *)find(&e, "ids"))[i] = id;
            for (int j = 0; j < COLUMNS; j++) {
                const double x = gradient(COLUMNS * i + j, t);
                find(&e, "x")[COLUMNS * i + j] = (float)x;
                g[COLUMNS * id + j] += x;
            }
        }
        const double scale = fmin(1, o.clip / (norm(ROWS * COLUMNS, g) + 1e-6));
        for (int i = 0; i < ROWS * COLUMNS; i++) g[i] *= scale;
        eval_run(&e, e.graph->nodes.n);
        take_over(&e);
        step_rowwise(w, sum, g);
        for (int i = 0; i < ROWS * COLUMNS; i++)
            if (!(fabs((double)find(&e, "w")[i] - w[i]) <= 4e-6))
                fail_msg("element %d after step %d is %.9g, not %.9g", i, t,
                         (double)find(&e, "w")[i], w[i]);
    }
    eval_free(&e);
    pl_arena_free(a);
}

/* -- whole runs -------------------------------------------------------------------------------- */

static const char *const newer[] = { "adabelief", "lamb" };

/* With an eps as pleat verify has it: a gradient that is 0 but for rounding is else a step. */
static pl_train_options options_of(const char *optimizer)
{
    pl_train_options o = options();
    o.model = steady;
    o.optim.name = optimizer;
    o.optim.eps = 1e-3;
    return o;
}

static void test_split(void **state)
{
    static const char *const words[] = { "dp",   "zero=1",      "zero=3",
                                         "tp=2", "tp=2,zero=3", "zero=1,offload=optimizer" };
    (void)state;
    for (int k = 0; k < 2; k++) {
        pl_train_options o = options_of(newer[k]);
        diary whole, split;
        o.strategy = "dp";
        train_well(&o, 1, &whole);
        assert_true(whole.loss[11] < whole.loss[0]);
        for (int i = 0; i < 6; i++) {
            o.strategy = words[i];
            train_well(&o, i == 4 ? 4 : 2, &split);
            check_losses(words[i], &whole, &split, 0, 12, 1e-4);
        }
        o.strategy = "dp";
        o.micro = 4;
        train_well(&o, 1, &split);
        check_losses("4 micro-batches", &whole, &split, 0, 12, 1e-4);
    }
}

/* To the last bit, moments included. */
static void test_resume(void **state)
{
    (void)state;
    for (int k = 0; k < 4; k++) {
        pl_train_options o = options_of(newer[k % 2]);
        diary whole, rest;
        o.strategy = k / 2 ? "zero=3" : "dp";
        o.save_every = 5;
        o.save = "one";
        train_well(&o, 1 + k / 2, &whole);
        o.resume = "one/step-00000005.json";
        o.save = "many";
        train_well(&o, 1 + k / 2, &rest);
        assert_memory_equal(&whole.loss[5], rest.loss, 7 * sizeof *rest.loss);
        check_same_file("one/step-00000012.safetensors", "many/step-00000012.safetensors");
        remove_folder("one");
        remove_folder("many");
    }
}

/* PyTorch has none, so there are no operators like its. */
static void test_no_unfused(void **state)
{
    (void)state;
    for (int k = 0; k < 3; k++) {
        static const char *const names[] = { "adabelief", "lamb", "rowwise-adagrad" };
        pl_train_options o = options_of(names[k]);
        diary l;
        pl_err err = { 0 };
        o.optim.unfused = true;
        assert_false(train(&o, 1, &l, &err));
        assert_int_equal(err.code, PL_EUSAGE);
        assert_non_null(strstr(err.msg, names[k]));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_formulas),   cmocka_unit_test(test_rowwise),
        cmocka_unit_test(test_split),      cmocka_unit_test(test_resume),
        cmocka_unit_test(test_no_unfused),
    };
    return cmocka_run_group_tests(tests, make_text, clean_up);
}
