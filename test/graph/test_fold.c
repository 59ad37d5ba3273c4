/* Folding: which blocks of real and made-up training graphs are found, whatever the names and the
 * order of the nodes; what is not to be folded; random chains. */
#include "support/rounds.h"
#include "base/rng.h"
#include "graph/fold.h"
#include "ops/list.h"
#include "support/arena.h"

#include "support/training.h"

#include <stdio.h>

typedef struct lot {
    pl_rng rng;
    uint64_t drawn, seed;
} lot;

static lot draw_from(uint64_t seed)
{
    return (lot){ .rng = pl_rng_at(seed, 0), .seed = seed };
}

static int draw(lot *l, int below)
{
    return (int)pl_rng_below(l->rng, l->drawn++, (uint64_t)below);
}

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

/* -- models ------------------------------------------------------------------------------------ */

static void layers_of_gpt2_are_instances(void **state)
{
    (void)state;
    static const int layers[] = { 2, 3, 4, 12 };
    for (int type = 0; type < 2; type++) {
        int n_nodes = 0, n_outside = 0;
        for (int k = 0; k < 4; k++) {
            const pl_graph *g = training_graph(
                pl_arena_fmt(arena, "gpt2:layers=%d,hidden=64,heads=4,vocab=256,dtype=%s",
                             layers[k], type ? "bf16" : "f32"),
                arena);
            pl_fold f = fold_of(g);
            assert_int_equal(f.n_classes, 1);
            assert_int_equal(f.at[0].n_instances, layers[k]);
            if (!k) n_nodes = f.at[0].n_nodes, n_outside = count_outside(g, &f);
            assert_int_equal(f.at[0].n_nodes, n_nodes);
            assert_int_equal(count_outside(g, &f), n_outside);
            /* in chain order: the names, which the finder does not see, count them */
            for (int i = 0; i < g->nodes.n; i++) {
                int layer;
                if (!g->nodes.at[i]->of && sscanf(g->nodes.at[i]->name, "h.%d.", &layer) == 1 &&
                    f.class_of[i] >= 0 && !strstr(g->nodes.at[i]->name, "/add"))
                    assert_int_equal(layer, f.instance_of[i]);
            }
        }
        assert_true(n_nodes > 70 && n_outside < 60);
    }
}

static void models_have_their_blocks(void **state)
{
    (void)state;
    static const struct {
        const char *model;
        int n_classes, n_instances[4];
    } rows[] = {
        { "gpt2:layers=1,hidden=64,heads=4,vocab=256", 0, { 0 } },
        { "gpt2:layers=5,hidden=64,heads=4,vocab=256,dropout=0.0", 1, { 5 } },
        { "mlp:layers=2", 0, { 0 } },
        { "mlp:layers=3", 0, { 0 } }, /* one hidden layer between two others */
        { "mlp:layers=8", 1, { 6 } },
        { "mlp:layers=8,in=256", 1, { 6 } }, /* the first layer has no gradient of its input */
        { "moe:layers=2", 1, { 2 } },
        { "moe:layers=5", 1, { 5 } },
        { "resnet18", 1, { 2 } },          /* later stages: one block with a stride, one without */
        { "resnet50", 4, { 2, 3, 5, 2 } }, /* stages but for their first blocks */
        { "resnet50:blocks=6", 4, { 5, 5, 5, 5 } },
        { "lstm:layers=4,hidden=32,vocab=64,seq=12", 1, { 4 } },
        { "vgg16", 3, { 2, 2, 3 } },
        { "t5:layers=6,decoder=9,hidden=64,ffn=64", 2, { 5, 8 } }, /* one adds up nothing */
        { "t5:layers=1,hidden=64,ffn=64", 0, { 0 } },
    };
    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
        pl_fold f = fold_of(training_graph(rows[r].model, arena));
        if (f.n_classes != rows[r].n_classes)
            fail_msg("%s: %d classes", rows[r].model, f.n_classes);
        for (int c = 0; c < f.n_classes; c++)
            if (f.at[c].n_instances != rows[r].n_instances[c])
                fail_msg("%s: class %d: %d instances", rows[r].model, c, f.at[c].n_instances);
    }
}

/* Any depth is one class for each stack, and nothing else grows. In T5 all blocks share position
 * biases, and those of the decoder what the encoder made: of their gradients the last block makes
 * the first part, and all before it add theirs. */
static void any_depth_folds(void **state)
{
    (void)state;
    static const struct {
        const char *model;
        int n_classes, n_less, layers[10];
    } rows[] = {
        { "llama:hidden=64,heads=4,ffn=64,layers=", 1, 0, { 2, 5, 8, 16, 17, 31, 32, 33, 64, 80 } },
        { "llama:hidden=64,heads=4,ffn=64,dtype=bf16,layers=", 1, 0, { 4, 16, 32, 33 } },
        { "gpt2:hidden=64,heads=4,vocab=256,layers=", 1, 0, { 12, 16, 33, 48, 64, 96, 192 } },
        { "gpt2:hidden=64,heads=4,vocab=256,dropout=0,layers=", 1, 0, { 12, 16, 33, 64 } },
        { "t5:hidden=64,ffn=64,layers=", 2, 1, { 4, 5, 6, 8, 12, 16, 24, 32, 48, 96 } },
        { "t5:hidden=64,ffn=64,dropout=0,layers=", 2, 1, { 4, 5, 6, 8, 12, 16, 24, 32, 48, 96 } },
        { "moe:layers=", 1, 0, { 2, 16, 24, 33 } },
    };
    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++)
        for (int k = 0, outside = 0; k < 10 && rows[r].layers[k]; k++) {
            int n = rows[r].layers[k];
            const char *model = pl_arena_fmt(arena, "%s%d", rows[r].model, n);
            const pl_graph *g = training_graph(model, arena);
            pl_fold f = fold_of(g);
            if (f.n_classes != rows[r].n_classes) fail_msg("%s: %d classes", model, f.n_classes);
            for (int c = 0; c < f.n_classes; c++)
                if (f.at[c].n_instances != n - rows[r].n_less)
                    fail_msg("%s: class %d: %d instances", model, c, f.at[c].n_instances);
            if (!k) outside = count_outside(g, &f);
            if (count_outside(g, &f) != outside)
                fail_msg("%s: %d nodes outside", model, count_outside(g, &f));
        }
}

/* Of two or three blocks none is left outside: fewer than three have no middle. */
static void few_blocks_stay_together(void **state)
{
    (void)state;
    for (int k = 0; k < 4; k++) {
        int n = 2 + k / 2;
        pl_fold f = fold_of(training_graph(
            pl_arena_fmt(arena, "t5:hidden=64,ffn=64,layers=%d%s", n, k & 1 ? ",dropout=0" : ""),
            arena));
        assert_int_equal(f.n_classes, 2);
        for (int c = 0; c < 2; c++) assert_int_equal(f.at[c].n_instances, n);
    }
}

/* -- names and order --------------------------------------------------------------------------- */

static pl_graph *print_and_parse(const pl_graph *g)
{
    pl_text t = { .arena = arena };
    pl_err err = { 0 };
    pl_graph *again;
    pl_graph_print(g, &t);
    if (!pl_graph_parse(pl_text_get(&t), &pl_ops_all, arena, &again, &err)) fail_msg("%s", err.msg);
    return again;
}

static void shuffle(lot *l, int n, int *at)
{
    for (int i = 0; i < n; i++) at[i] = i;
    for (int i = n - 1; i > 0; i--) {
        int k = draw(l, i + 1), x = at[i];
        at[i] = at[k], at[k] = x;
    }
}

static void names_do_not_matter(void **state)
{
    (void)state;
    static const char *const models[] = { "gpt2:layers=3,hidden=64,heads=4,vocab=256",
                                          "moe:layers=4", "resnet50", "mlp:layers=6" };
    lot l = draw_from(1);
    for (int m = 0; m < 4; m++) {
        const pl_graph *g = training_graph(models[m], arena);
        pl_fold f = fold_of(g);
        int *name = PL_NEW_N(arena, int, g->values.n);
        shuffle(&l, g->values.n, name);
        for (int i = 0; i < g->values.n; i++)
            g->values.at[i]->name = pl_arena_fmt(arena, "x%d", name[i]);
        pl_graph *other = print_and_parse(g);
        pl_fold again = fold_of(other);
        size_t bytes = (size_t)g->nodes.n * sizeof(int);
        assert_int_equal(g->nodes.n, other->nodes.n);
        assert_int_equal(f.n_classes, again.n_classes);
        assert_memory_equal(f.class_of, again.class_of, bytes);
        assert_memory_equal(f.instance_of, again.instance_of, bytes);
        assert_memory_equal(f.slot_of, again.slot_of, bytes);
    }
}

/* Nodes of `n` kinds of their own come before those of the model: its kinds get other numbers. */
static const pl_graph *number_anew(const char *model, int n)
{
    const pl_optim adamw = { .name = "adamw", .beta1 = 0.9, .beta2 = 0.99, .eps = 1e-8, .clip = 1 };
    pl_builder b = pl_builder_new(arena, &pl_ops_all, model);
    pl_value *x = pl_add_input(&b, "x", PL_F32, PL_SHAPE(4));
    pl_model_args args;
    pl_graph *g;
    pl_err err = { 0 };
    for (int i = 0; i < n; i++)
        x = PL_ADD(&b, &pl_op_scale, pl_arena_fmt(arena, "; value=%d", 2 + i), x);
    pl_add_output(&b, "y", x);
    if (!pl_model_parse(model, arena, &args, &err)) fail_msg("%s", err.msg);
    pl_model_build(&b, &args, PL_TRAIN);
    pl_optim_add(&b, &adamw, pl_graph_find(b.graph, "loss"));
    if (!pl_builder_done(&b, &g, &err)) fail_msg("%s", err.msg);
    return g;
}

static void numbers_of_kinds_do_not_matter(void **state)
{
    (void)state;
    static const struct {
        const char *model;
        int n_classes, n_instances;
    } rows[] = {
        { "t5:layers=3,hidden=64,ffn=64,dropout=0", 2, 3 },
        { "gpt2:layers=3,hidden=64,heads=4,vocab=256,dropout=0", 1, 3 },
        { "llama:layers=3,hidden=64,heads=4,ffn=64", 1, 3 },
    };
    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++)
        for (int n = 1, outside = 0; n < 32; n++) {
            const pl_graph *g = number_anew(rows[r].model, n);
            pl_fold f = fold_of(g);
            int rest = count_outside(g, &f) - n;
            if (n == 1) outside = rest;
            if (f.n_classes != rows[r].n_classes || rest != outside ||
                f.at[0].n_instances != rows[r].n_instances)
                fail_msg("%s after %d nodes: %d classes, %d nodes outside", rows[r].model, n,
                         f.n_classes, rest);
        }
}

/* The same graph with its nodes in another order that is topological. */
static pl_graph *reorder(const pl_graph *g, lot *l)
{
    pl_graph other = *g;
    bool *done = PL_NEW_N(arena, bool, g->nodes.n);
    pl_node **ready = PL_NEW_N(arena, pl_node *, g->nodes.n);
    other.nodes.at = PL_NEW_N(arena, pl_node *, g->nodes.n);
    for (other.nodes.n = 0; other.nodes.n < g->nodes.n;) {
        int n_ready = 0;
        for (int i = 0; i < g->nodes.n; i++) {
            pl_node *n = g->nodes.at[i];
            bool is = !done[i] && (!n->of || done[n->of->id]);
            for (int k = 0; k < n->n_in && is; k++)
                is = !n->in[k]->maker || done[n->in[k]->maker->id];
            if (is) ready[n_ready++] = n;
        }
        pl_node *n = ready[draw(l, n_ready)];
        done[n->id] = true;
        other.nodes.at[other.nodes.n++] = n;
    }
    return print_and_parse(&other);
}

/* Classes of that size. */
static int count_like(const pl_fold *f, const pl_fold_class *c)
{
    int n = 0;
    for (int i = 0; i < f->n_classes; i++)
        n += f->at[i].n_nodes == c->n_nodes && f->at[i].n_instances == c->n_instances;
    return n;
}

static void expect_same_sizes(const pl_graph *g, const pl_graph *other, uint64_t seed)
{
    pl_fold f = fold_of(g), again = fold_of(other);
    bool same =
        f.n_classes == again.n_classes && count_outside(g, &f) == count_outside(other, &again);
    for (int c = 0; c < f.n_classes && same; c++)
        same = count_like(&f, &f.at[c]) == count_like(&again, &f.at[c]);
    if (!same)
        fail_msg("%s, seed %d: %d classes, %d nodes outside; in another order %d, %d", g->name,
                 (int)seed, f.n_classes, count_outside(g, &f), again.n_classes,
                 count_outside(other, &again));
}

static void the_order_of_nodes_does_not_matter(void **state)
{
    (void)state;
    static const char *const models[] = { "gpt2:layers=4,hidden=64,heads=4,vocab=256",
                                          "moe:layers=3",
                                          "resnet50:blocks=3,stages=2",
                                          "mlp:layers=9",
                                          "llama:layers=16,hidden=64,heads=4,ffn=64",
                                          "t5:layers=3,hidden=64,ffn=64,dropout=0" };
    for (int m = 0; m < 6; m++)
        for (uint64_t seed = 0; seed < 8; seed++) {
            lot l = draw_from(seed);
            const pl_graph *g = training_graph(models[m], arena);
            expect_same_sizes(g, reorder(g, &l), seed);
        }
}

/* -- stacks of layers -------------------------------------------------------------------------- */

/* x += w3 act1(w2 act0(w1 norm(x))) */
typedef struct layer {
    const pl_op *act0, *act1;
    const char *eps;
    int64_t inner;
    bool residual; /* one more, around the inner layer                */
    bool report;   /* what it makes is an output of the graph         */
    int heads;     /* three equal layers where w2 is, like q, k and v, and after each of them
                      as many tanh less one */
} layer;

static pl_value *weight(pl_builder *b, const char *name, int64_t rows, int64_t columns)
{
    return pl_add_state(b, name, PL_F32, PL_SHAPE(rows, columns), "normal std=0.02", PL_WEIGHT);
}

static pl_value *add_layer(pl_builder *b, const layer *l, pl_value *x, pl_value *tied)
{
    int64_t width = x->shape.dim[1], inner = l->inner ? l->inner : 32;
    pl_value *scale = pl_add_state(b, "scale", PL_F32, PL_SHAPE(width), "ones", PL_WEIGHT);
    pl_node *norm = pl_add_node(b, &pl_op_rms_norm, "norm",
                                pl_builder_fmt(b, "; eps=%s", l->eps ? l->eps : "1e-6"), 2,
                                (pl_value *const[]){ x, scale });
    pl_value *w = tied ? tied : weight(b, "w1", width, inner);
    pl_value *h = PL_ADD(b, &pl_op_einsum, "bm,mf->bf", norm->out[0], w), *skip = h;
    h = PL_ADD(b, l->act0 ? l->act0 : &pl_op_gelu, NULL, h);
    if (l->heads) {
        pl_value *q = PL_ADD(b, &pl_op_einsum, "bf,fg->bg", h, weight(b, "q", inner, inner));
        pl_value *k = PL_ADD(b, &pl_op_einsum, "bf,fg->bg", h, weight(b, "k", inner, inner));
        pl_value *v = PL_ADD(b, &pl_op_einsum, "bf,fg->bg", h, weight(b, "v", inner, inner));
        for (int i = 1; i < l->heads; i++) {
            q = PL_ADD(b, &pl_op_tanh, NULL, q);
            k = PL_ADD(b, &pl_op_tanh, NULL, k);
            v = PL_ADD(b, &pl_op_tanh, NULL, v);
        }
        pl_value *p = PL_ADD(b, &pl_op_softmax, NULL, PL_ADD(b, &pl_op_einsum, "bf,cf->bc", q, k));
        h = PL_ADD(b, &pl_op_einsum, "bc,cf->bf", p, v);
    } else {
        h = PL_ADD(b, &pl_op_einsum, "bf,fg->bg", h, weight(b, "w2", inner, inner));
    }
    h = PL_ADD(b, l->act1 ? l->act1 : &pl_op_tanh, NULL, h);
    if (l->residual) h = PL_ADD(b, &pl_op_add, NULL, h, skip);
    h = PL_ADD(b, &pl_op_einsum, "bf,fm->bm", h, weight(b, "w3", inner, width));
    x = PL_ADD_AS(b, &pl_op_add, "sum", NULL, x, h);
    if (l->report) pl_add_output(b, pl_builder_fmt(b, "%sout", b->scope), x);
    return x;
}

/* The training step of a stack: kinds[i - '0'] for each digit of `stack`. */
static const pl_graph *stack_graph(const char *stack, const layer *kinds, bool tie, bool train)
{
    const pl_optim adamw = { .name = "adamw", .beta1 = 0.9, .beta2 = 0.99, .eps = 1e-8, .clip = 1 };
    pl_builder b = pl_builder_new(arena, &pl_ops_all, stack);
    pl_value *x = pl_add_input(&b, "x", PL_F32, PL_SHAPE(8, 16)), *tied = NULL;
    pl_graph *g;
    pl_err err = { 0 };
    x = PL_ADD(&b, &pl_op_einsum, "bi,im->bm", x, weight(&b, "embed", 16, 24));
    if (tie) tied = weight(&b, "tied", 24, 32);
    for (int i = 0; stack[i]; i++) {
        b.scope = pl_builder_fmt(&b, "l%d.", i);
        x = add_layer(&b, &kinds[stack[i] - '0'], x, tied);
    }
    b.scope = "";
    x = PL_ADD(&b, &pl_op_einsum, "bm,mc->bc", x, weight(&b, "head", 24, 10));
    pl_model_finish(&b, PL_TRAIN, x, "label");
    if (train) pl_optim_add(&b, &adamw, pl_graph_find(b.graph, "loss"));
    if (!pl_builder_done(&b, &g, &err)) fail_msg("%s", err.msg);
    return g;
}

static const layer kinds[] = {
    { 0 },                                        /* 0: usual                            */
    { .inner = 40 },                              /* 1: another width                    */
    { .residual = true },                         /* 2: an extra residual                */
    { .act0 = &pl_op_sigmoid },                   /* 3: another activation               */
    { .eps = "1e-5" },                            /* 4: another attribute                */
    { .act0 = &pl_op_tanh, .act1 = &pl_op_gelu }, /* 5: the same operators, wired anew   */
    { .report = true },                           /* 6: its result is reported           */
    { .heads = 1 },                               /* 7: readers that look alike          */
    { .heads = 8 },                               /* 8: and for many steps               */
};

/* Of one instance: each has one node named "sum". */
static int count_layers(const pl_graph *g, const pl_fold_class *c)
{
    int n = 0;
    for (int s = 0; s < c->n_nodes; s++) {
        const char *dot = strchr(g->nodes.at[c->node[0][s]]->name, '.');
        n += dot && !strcmp(dot, ".sum");
    }
    return n;
}

static void only_equal_layers_fold(void **state)
{
    (void)state;
    static const struct {
        const char *stack;
        int n_classes, n_instances[3], n_layers[3]; /* layers of an instance */
    } rows[] = {
        { "0", 0, { 0 }, { 0 } },
        { "00", 1, { 2 }, { 1 } },
        { "01", 0, { 0 }, { 0 } },
        { "0000", 1, { 4 }, { 1 } },
        { "7777", 1, { 4 }, { 1 } },
        { "000010000", 2, { 4, 4 }, { 1, 1 } },
        { "0000200000", 2, { 4, 5 }, { 1, 1 } },
        { "000030000", 2, { 4, 4 }, { 1, 1 } },
        { "000040000", 2, { 4, 4 }, { 1, 1 } },
        { "000050000", 2, { 4, 4 }, { 1, 1 } },
        { "00070000", 2, { 3, 4 }, { 1, 1 } },
        { "000060000", 2, { 4, 4 }, { 1, 1 } },
        { "0001111", 2, { 3, 4 }, { 1, 1 } },
        { "0001000200", 3, { 3, 3, 2 }, { 1, 1, 1 } },
        { "01010101", 1, { 4 }, { 2 } }, /* the period is two layers */
        { "05050505", 1, { 4 }, { 2 } },
        { "000100010001", 1, { 3 }, { 4 } }, /* not the runs of zeros */
    };
    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
        const pl_graph *g = stack_graph(rows[r].stack, kinds, false, true);
        pl_fold f = fold_of(g);
        if (f.n_classes != rows[r].n_classes)
            fail_msg("%s: %d classes", rows[r].stack, f.n_classes);
        for (int c = 0; c < f.n_classes; c++) {
            int n = count_layers(g, &f.at[c]);
            if (f.at[c].n_instances != rows[r].n_instances[c] || n != rows[r].n_layers[c])
                fail_msg("%s: class %d: %d instances of %d layers", rows[r].stack, c,
                         f.at[c].n_instances, n);
        }
    }
}

static void readers_that_look_alike_are_told_apart(void **state)
{
    (void)state;
    const pl_graph *g = stack_graph("77777", kinds, false, true);
    for (uint64_t seed = 0; seed < 20; seed++) {
        lot l = draw_from(seed);
        expect_same_sizes(g, reorder(g, &l), seed);
    }
}

/* A pair that takes one of them for another is right on one side of itself only: no chain of them
 * is cut there. */
static void chains_of_such_readers_are_whole(void **state)
{
    (void)state;
    static const int layers[] = { 2, 3, 4, 8, 15, 16, 17, 32, 33, 48 };
    for (int k = 0; k < 40; k++) {
        char stack[64] = "";
        int n = layers[k / 4];
        bool train = k & 1;
        memset(stack, k & 2 ? '8' : '7', (size_t)n);
        pl_fold f = fold_of(stack_graph(stack, kinds, false, train));
        if (f.n_classes != 1 || f.at[0].n_instances != n)
            fail_msg("%s, %s: %d classes, %d instances", stack, train ? "training" : "forward",
                     f.n_classes, f.n_classes ? f.at[0].n_instances : 0);
    }
}

/* One weight of all layers: its gradient is a sum over them, to which the last gives the first
 * part. */
static void layers_may_share_a_weight(void **state)
{
    (void)state;
    for (int n = 2, n_nodes = 0, outside = 0; n < 9; n++) {
        const pl_graph *g = stack_graph(&"00000000"[8 - n], kinds, true, true);
        pl_fold f = fold_of(g);
        assert_int_equal(f.n_classes, 1);
        assert_int_equal(f.at[0].n_instances, n < 4 ? n : n - 1);
        if (n == 4) n_nodes = f.at[0].n_nodes, outside = count_outside(g, &f);
        if (n < 4) continue;
        assert_int_equal(f.at[0].n_nodes, n_nodes);
        assert_int_equal(count_outside(g, &f), outside);
    }
}

static void a_forward_pass_folds_too(void **state)
{
    (void)state;
    const pl_graph *g = stack_graph("00000", kinds, false, false);
    pl_fold f = fold_of(g);
    assert_int_equal(f.n_classes, 1);
    assert_int_equal(f.at[0].n_instances, 5);
    assert_int_equal(f.at[0].n_nodes, 7);
}

/* -- random chains ----------------------------------------------------------------------------- */

enum { MAX_OPS = 12, MAX_VALUES = 4 * MAX_OPS };

typedef struct random_op {
    int op, a, b; /* values: 0 the chain, 1 what all share, then what the block has made */
} random_op;

static int draw_block(lot *l, random_op *op)
{
    int n = 2 + draw(l, MAX_OPS - 3);
    for (int i = 0; i < n; i++) op[i] = (random_op){ draw(l, 7), draw(l, 2 + i), draw(l, 2 + i) };
    op[n - 1].a = n > 1 ? n : 0; /* the last reads the one before */
    return n;
}

/* Values that nothing in the block reads are added to its result. */
static pl_value *add_block(pl_builder *b, int n, const random_op *op, pl_value *x, pl_value *shared)
{
    static const pl_op *const unary[] = { &pl_op_tanh, &pl_op_sigmoid, &pl_op_gelu };
    pl_value *v[2 + MAX_OPS] = { x, shared };
    bool read[2 + MAX_OPS] = { false };
    for (int i = 0; i < n; i++) {
        pl_value *p = v[op[i].a], *q = v[op[i].b];
        read[op[i].a] = true;
        if (op[i].op < 3) {
            v[2 + i] = PL_ADD(b, unary[op[i].op], NULL, p);
        } else if (op[i].op < 5) {
            v[2 + i] = PL_ADD(b, op[i].op == 3 ? &pl_op_add : &pl_op_mul, NULL, p, q);
            read[op[i].b] = true;
        } else {
            pl_value *w = weight(b, pl_builder_fmt(b, "w%d", i), 6, 6);
            v[2 + i] = PL_ADD(b, &pl_op_einsum, op[i].op == 5 ? "bm,mn->bn" : "bm,nm->bn", p, w);
        }
    }
    pl_value *sum = v[1 + n];
    for (int i = 0; i <= n; i++)
        if (!read[i] && i != 1) sum = PL_ADD(b, i ? &pl_op_add : &pl_op_mul, NULL, sum, v[i]);
    return sum;
}

static const pl_graph *random_graph(lot *l, int n_copies, bool train)
{
    const pl_optim adamw = { .name = "adamw", .beta1 = 0.9, .beta2 = 0.99, .eps = 1e-8, .clip = 1 };
    random_op block[MAX_OPS], noise[2][MAX_OPS];
    int n = draw_block(l, block), n_noise[2];
    pl_builder b = pl_builder_new(arena, &pl_ops_all, "random");
    pl_value *x = pl_add_input(&b, "x", PL_F32, PL_SHAPE(4, 6)),
             *shared = pl_add_input(&b, "mask", PL_F32, PL_SHAPE(4, 6));
    for (int k = 0; k < 2; k++) n_noise[k] = draw_block(l, noise[k]);
    b.scope = "before.";
    x = add_block(&b, n_noise[0], noise[0], x, shared);
    for (int i = 0; i < n_copies; i++) {
        b.scope = pl_builder_fmt(&b, "copy%d.", i);
        x = add_block(&b, n, block, x, shared);
    }
    b.scope = "after.";
    x = add_block(&b, n_noise[1], noise[1], x, shared);
    b.scope = "";
    x = PL_ADD(&b, &pl_op_einsum, "bm,mn->bn", x, weight(&b, "head", 6, 5));
    x = PL_ADD(&b, &pl_op_reduce_sum, "...->", x);
    pl_add_output(&b, "loss", x);
    pl_graph *g;
    pl_err err = { 0 };
    if (train) pl_optim_add(&b, &adamw, x);
    if (!pl_builder_done(&b, &g, &err)) fail_msg("seed %d: %s", (int)l->seed, err.msg);
    return g;
}

/* The block ends where it may: so pieces of the first and the last copy may be left over, but no
 * more than one copy in all. The one before the first has no gradient of its input at times. */
static int expect_copies(const pl_graph *g, int n_copies, uint64_t seed)
{
    pl_fold f = fold_of(g);
    int n_copy = 0, n_outside = 0, *n_in = PL_NEW_N(arena, int, f.n_classes + 1), most = 0;
    for (int i = 0; i < g->nodes.n; i++) {
        const pl_node *n = g->nodes.at[i];
        if (n->of || strncmp(n->name, "copy", 4)) continue;
        n_copy++;
        if (f.class_of[i] < 0)
            n_outside++;
        else
            n_in[f.class_of[i]]++;
    }
    n_copy /= n_copies;
    for (int c = 1; c < f.n_classes; c++)
        if (n_in[c] > n_in[most]) most = c;
    if (n_outside > n_copy || f.at[most].n_instances < n_copies - 1)
        fail_msg("seed %d: of %d copies of %d nodes %d are outside of the %d classes, %d instances",
                 (int)seed, n_copies, n_copy, n_outside, f.n_classes,
                 f.n_classes ? f.at[most].n_instances : 0);
    return n_outside;
}

static void copies_of_random_blocks_are_found(void **state)
{
    (void)state;
    int n_whole = 0;
    for (uint64_t seed = 0; seed < ROUNDS_OF(300); seed++) {
        lot l = draw_from(seed);
        int n_copies = 3 + draw(&l, 6);
        const pl_graph *g = random_graph(&l, n_copies, seed % 3 > 0);
        n_whole += !expect_copies(g, n_copies, seed);
        if (seed % 4 == 0) expect_copies(reorder(g, &l), n_copies, seed);
    }
    assert_true(n_whole > ROUNDS_OF(250));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(layers_of_gpt2_are_instances, set_up, tear_down),
        cmocka_unit_test_setup_teardown(models_have_their_blocks, set_up, tear_down),
        cmocka_unit_test_setup_teardown(any_depth_folds, set_up, tear_down),
        cmocka_unit_test_setup_teardown(few_blocks_stay_together, set_up, tear_down),
        cmocka_unit_test_setup_teardown(names_do_not_matter, set_up, tear_down),
        cmocka_unit_test_setup_teardown(numbers_of_kinds_do_not_matter, set_up, tear_down),
        cmocka_unit_test_setup_teardown(the_order_of_nodes_does_not_matter, set_up, tear_down),
        cmocka_unit_test_setup_teardown(only_equal_layers_fold, set_up, tear_down),
        cmocka_unit_test_setup_teardown(readers_that_look_alike_are_told_apart, set_up, tear_down),
        cmocka_unit_test_setup_teardown(chains_of_such_readers_are_whole, set_up, tear_down),
        cmocka_unit_test_setup_teardown(layers_may_share_a_weight, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_forward_pass_folds_too, set_up, tear_down),
        cmocka_unit_test_setup_teardown(copies_of_random_blocks_are_found, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
