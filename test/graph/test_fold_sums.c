/* What each block of a chain gives to a sum: the nodes that add it up are in the blocks. */
#include "graph/fold.h"
#include "ops/list.h"
#include "support/arena.h"

#include "support/training.h"

/* The fold of a graph, which is a right one. */
static pl_fold fold_of(const pl_graph *g)
{
    pl_err err = { 0 };
    pl_fold f = pl_fold_find(g, arena);
    if (!pl_fold_check(g, &f, &err)) fail_msg("%s: %s", g->name, err.msg);
    return f;
}

static int count_outside(const pl_graph *g, const pl_fold *f)
{
    int n = 0;
    for (int i = 0; i < g->nodes.n; i++) n += f->class_of[i] < 0;
    return n;
}

/* -- nodes torn off ---------------------------------------------------------------------------- */

static bool reads(const pl_node *n, const pl_value *v)
{
    for (int k = 0; k < n->n_in; k++)
        if (n->in[k] == v) return true;
    return false;
}

/* Is v made in the middle of a class that node n is not in, and not all instances give it to n? */
static bool is_torn(const pl_graph *g, const pl_fold *f, const pl_node *n, const pl_value *v)
{
    if (!v->maker || !v->shape.rank) return false; /* single numbers do not count */
    int class = f->class_of[v->maker->id], at = f->instance_of[v->maker->id];
    if (class < 0 || f->class_of[n->id] == class) return false;
    const pl_fold_class *c = &f->at[class];
    if (at == 0 || at == c->n_instances - 1) return false;
    for (int i = 0; i < c->n_instances; i++)
        if (!reads(n, g->nodes.at[c->node[i][f->slot_of[v->maker->id]]]->out[v->out])) return true;
    return false;
}

static int count_torn(const pl_graph *g, const pl_fold *f)
{
    int n = 0;
    for (int i = 0; i < g->nodes.n; i++) {
        const pl_node *r = g->nodes.at[i];
        bool torn = false;
        for (int k = 0; k < r->n_in; k++) torn |= is_torn(g, f, r, r->in[k]);
        n += torn;
    }
    return n;
}

/* -- stacks ------------------------------------------------------------------------------------ */

/* What layers have in common. */
enum {
    SHARE = 1,   /* a weight: its gradient is a sum, begun by the last layer       */
    MEMORY = 2,  /* a value that is computed: its gradient is such a sum           */
    TWICE = 4,   /* each reads that value twice, so each but the last adds two parts */
    COLLECT = 8, /* what they make is added up: a sum begun by the first layer     */
    PART = 16,   /* each has a part of an input for itself: nothing in common      */
};

typedef struct stack {
    pl_builder b;
    int what;
    pl_value *tied, *memory, *parts;
} stack;

static pl_value *weight(stack *s, const char *name, int64_t rows, int64_t columns)
{
    return pl_add_state(&s->b, name, PL_F32, PL_SHAPE(rows, columns), "normal std=0.02", PL_WEIGHT);
}

static pl_value *linear(stack *s, const char *name, pl_value *x, int64_t columns)
{
    return PL_ADD(&s->b, &pl_op_einsum, "bm,mf->bf", x, weight(s, name, x->shape.dim[1], columns));
}

/* x += w2 (gelu(w1 x) * w3 memory) */
static pl_value *add_layer(stack *s, pl_value *x, int i)
{
    pl_builder *b = &s->b;
    pl_value *h = linear(s, "w1", x, 32), *y;
    h = PL_ADD(b, &pl_op_gelu, NULL, h);
    if (s->tied) h = PL_ADD(b, &pl_op_einsum, "bm,mf->bf", h, s->tied);
    if (s->memory) h = PL_ADD(b, &pl_op_mul, NULL, h, linear(s, "w3", s->memory, 32));
    if (s->what & TWICE) h = PL_ADD(b, &pl_op_mul, NULL, h, linear(s, "w4", s->memory, 32));
    x = PL_ADD_AS(b, &pl_op_add, "sum", NULL, x, linear(s, "w2", h, 24));
    if (!s->parts) return x;
    y = PL_ADD(b, &pl_op_slice, pl_builder_fmt(b, "bv->bu; at=%d u=24", 24 * i), s->parts);
    pl_add_output(b, pl_builder_fmt(b, "%sy", b->scope), PL_ADD(b, &pl_op_mul, NULL, x, y));
    return x;
}

static const pl_graph *stack_graph(int n, int what)
{
    const pl_optim adamw = { .name = "adamw", .beta1 = 0.9, .beta2 = 0.99, .eps = 1e-8, .clip = 1 };
    stack s = { .b = pl_builder_new(arena, &pl_ops_all, "stack"), .what = what };
    pl_builder *b = &s.b;
    pl_value *x = pl_add_input(b, "x", PL_F32, PL_SHAPE(8, 16)), *sum = NULL;
    pl_graph *g;
    pl_err err = { 0 };
    if (what & PART) s.parts = pl_add_input(b, "parts", PL_F32, PL_SHAPE(8, 24 * n));
    if (what & SHARE) s.tied = weight(&s, "tied", 32, 32);
    if (what & MEMORY) s.memory = PL_ADD(b, &pl_op_tanh, NULL, linear(&s, "encode", x, 20));
    x = linear(&s, "embed", x, 24);
    for (int i = 0; i < n; i++) {
        b->scope = pl_builder_fmt(b, "l%d.", i);
        x = add_layer(&s, x, i);
        if (what & COLLECT) sum = sum ? PL_ADD(b, &pl_op_add, NULL, sum, x) : x;
    }
    b->scope = "";
    if (sum) x = PL_ADD(b, &pl_op_gelu, NULL, sum);
    pl_model_finish(b, PL_TRAIN, linear(&s, "head", x, 10), "label");
    pl_optim_add(b, &adamw, pl_graph_find(b->graph, "loss"));
    if (!pl_builder_done(b, &g, &err)) fail_msg("%s", err.msg);
    return g;
}

/* The class that has most nodes: what the layers left outside have that is alike may be others. */
static const pl_fold_class *find_largest(const pl_fold *f)
{
    const pl_fold_class *most = &f->at[0];
    for (int c = 1; c < f->n_classes; c++)
        if (f->at[c].n_nodes * f->at[c].n_instances > most->n_nodes * most->n_instances)
            most = &f->at[c];
    return most;
}

/* All layers but `n_less` at most are in one class; what is outside does not grow with them, and
 * none of it belongs to a layer. */
static void parts_of_a_sum_are_inside(void **state)
{
    (void)state;
    static const struct {
        int what, n_less;
    } rows[] = {
        { 0, 0 },
        { SHARE, 1 },
        { MEMORY, 1 },
        { MEMORY | TWICE, 1 },
        { SHARE | MEMORY | TWICE, 1 },
        { COLLECT, 2 }, /* the gradient of what the last layer made is no sum */
        { COLLECT | SHARE, 2 },
        { COLLECT | MEMORY | TWICE, 3 },
    };
    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++)
        for (int n = 6, outside = 0; n < 40; n += n < 12 ? 1 : 9) {
            const pl_graph *g = stack_graph(n, rows[r].what);
            pl_fold f = fold_of(g);
            assert_true(f.n_classes > 0);
            int n_instances = find_largest(&f)->n_instances;
            if (n == 6) outside = count_outside(g, &f);
            if (n_instances < n - rows[r].n_less || count_outside(g, &f) != outside ||
                count_torn(g, &f))
                fail_msg("%d layers, sums %d: %d instances, %d nodes outside, %d torn off", n,
                         rows[r].what, n_instances, count_outside(g, &f), count_torn(g, &f));
        }
}

/* No block has another part of an input in it, and no layer is left outside for that. */
static void parts_of_an_input_are_outside(void **state)
{
    (void)state;
    for (int n = 4; n < 20; n += 3)
        for (int k = 0; k < 2; k++) {
            const pl_graph *g = stack_graph(n, k ? PART | SHARE : PART);
            pl_fold f = fold_of(g);
            assert_int_equal(f.n_classes, 1);
            assert_int_equal(f.at[0].n_instances, n);
            assert_true(count_torn(g, &f) >= n - 2);
        }
}

/* Of two or three layers none is left outside: there would be no middle. */
static void few_layers_stay_together(void **state)
{
    (void)state;
    for (int n = 2; n < 4; n++) {
        pl_fold f = fold_of(stack_graph(n, MEMORY | SHARE));
        assert_int_equal(f.n_classes, 1);
        assert_int_equal(f.at[0].n_instances, n);
    }
}

/* -- T5 ---------------------------------------------------------------------------------------- */

/* All blocks of a stack share position biases, and those of the decoder read what the encoder
 * made, twice each. */
static void nothing_of_t5_is_torn_off(void **state)
{
    (void)state;
    static const char *const models[] = {
        "t5:hidden=64,ffn=64,layers=4",           "t5:hidden=64,ffn=64,layers=4,dropout=0",
        "t5:hidden=64,ffn=64,layers=9",           "t5:hidden=64,ffn=64,layers=9,dropout=0",
        "t5:hidden=64,ffn=64,layers=5,decoder=8", "t5:hidden=64,ffn=64,layers=7,dtype=bf16",
    };
    for (size_t m = 0; m < sizeof models / sizeof *models; m++) {
        const pl_graph *g = training_graph(models[m], arena);
        pl_fold f = fold_of(g);
        if (f.n_classes != 2 || count_torn(g, &f))
            fail_msg("%s: %d classes, %d nodes torn off", models[m], f.n_classes,
                     count_torn(g, &f));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(parts_of_a_sum_are_inside, set_up, tear_down),
        cmocka_unit_test_setup_teardown(parts_of_an_input_are_outside, set_up, tear_down),
        cmocka_unit_test_setup_teardown(few_layers_stay_together, set_up, tear_down),
        cmocka_unit_test_setup_teardown(nothing_of_t5_is_torn_off, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
