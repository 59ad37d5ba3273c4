/* Strategies on whole models: which node splits what, where states are stored, and which messages
 * that leads to. */
#include "program/program.h"
#include "support/presets.h"

#define GPT2_ONE "gpt2:layers=2,hidden=32,heads=4,seq=16,vocab=64,batch=1,dropout=0"

/* Megatron: per layer two all-reduces of activations forward and two backward; one more each way
 * for the token table, which is split by vocabulary, and of three numbers a row for the loss. */
static void test_tensor_parallel(void **state)
{
    (void)state;
    for (int n = 2; n <= 4; n *= 2) {
        pl_arena *a = pl_arena_new("test");
        const pl_plan *p =
            plan(make_model(GPT2, PL_TRAIN, a), pl_arena_fmt(a, "tp=%d", n), n, NULL, a);
        volume v = find_volume(p, a);
        int forward = count_moves(&v, PL_ALL_REDUCE, 1, 3, false);
        int back = count_moves(&v, PL_ALL_REDUCE, 1, 3, true);
        EXPECT(v.n == 13 && forward == 5 && back == 5, "tp=%d: %d, %d forward, %d backward", n, v.n,
               forward, back);
        double want = 2. * (n - 1) / n * (10 * 8 * 16 * 32 + 3 * 8 * 16);
        EXPECT(fabs(v.elements - want) < 1e-6, "%.2f, not %.2f", v.elements, want);
        assert_string_equal(choice_text(p, "h.1.attn.qkv", a), "tensor=h");
        assert_string_equal(stored_text(p, "h.1.attn.c_attn.weight", a), "[;tensor:32x1]");
        assert_string_equal(stored_text(p, "h.1.attn.c_attn.bias.m", a), "[tensor:32x1]");
        assert_string_equal(stored_text(p, "h.1.attn.c_proj.weight.v", a), "[tensor;]");
        assert_string_equal(stored_text(p, "h.1.attn.c_proj.bias", a), "[]");
        assert_string_equal(stored_text(p, "h.1.mlp.c_fc.weight", a), "[;tensor]");
        assert_string_equal(stored_text(p, "wte.weight", a), "[tensor;]");
        pl_arena_free(a);
    }
}

/* Per layer four gathers and four scatters, and the two gathers of the columns' inputs again. The
 * token table adds a scatter forward and a gather backward, the logits the mirror of that and their
 * input again. */
static void test_sequence_parallel(void **state)
{
    (void)state;
    for (int n = 2; n <= 4; n *= 2) {
        pl_arena *a = pl_arena_new("test");
        const pl_plan *p =
            plan(make_model(GPT2, PL_TRAIN, a), pl_arena_fmt(a, "tp=%d,sp", n), n, NULL, a);
        volume v = find_volume(p, a);
        const int gathers[] = { count_moves(&v, PL_ALL_GATHER, 1, 3, false),
                                count_moves(&v, PL_ALL_GATHER, 1, 3, true) };
        const int scatters[] = { count_moves(&v, PL_REDUCE_SCATTER, 1, 3, false),
                                 count_moves(&v, PL_REDUCE_SCATTER, 1, 3, true) };
        EXPECT(gathers[0] == 5 && gathers[1] == 10 && scatters[0] == 5 && scatters[1] == 5,
               "gathers %d, %d, scatters %d, %d", gathers[0], gathers[1], scatters[0], scatters[1]);
        EXPECT(!count_moves(&v, PL_ALL_REDUCE, 1, 3, false) &&
                   !count_moves(&v, PL_ALL_REDUCE, 1, 3, true) &&
                   !count_moves(&v, PL_ALL_TO_ALL, 1, 1, false) &&
                   !count_moves(&v, PL_ALL_TO_ALL, 1, 1, true),
               "tp=%d,sp: other moves", n);
        assert_string_equal(choice_text(p, "h.0.ln_1", a), "tensor=1");
        assert_string_equal(stored_text(p, "wpe.weight", a), "[tensor;]");
        pl_arena_free(a);
    }
}

/* Positions split: per layer either keys and values are gathered in each pass, and their gradients
 * scattered; or queries, keys, values and results are exchanged, and so are their gradients. Each
 * gradient of weights is summed, but that of the positions' table, of which each has rows. */
static void test_context(void **state)
{
    (void)state;
    for (int exchanged = 0; exchanged < 2; exchanged++) {
        const double n = 4, layers = 2, rows = 16 * 32, part = (n - 1) / n;
        pl_arena *a = pl_arena_new("test");
        const pl_graph *g = make_model(GPT2_ONE, PL_TRAIN, a);
        const pl_plan *p = plan(g, exchanged ? "cp=ulysses:4" : "cp=gather:4", 4, NULL, a);
        volume v = find_volume(p, a);
        double want = layers * rows * part * (exchanged ? 8 / n : 6);
        want += 2 * part * ((double)pl_graph_params(g) - rows + 1) + part * rows;
        EXPECT(fabs(v.elements - want) < 1e-6, "%.2f, not %.2f", v.elements, want);
        assert_string_equal(stored_text(p, "tokens", a), "[;context]");
        assert_string_equal(stored_text(p, "wte.weight", a), "[;]");
        assert_string_equal(choice_text(p, "h.1.attn.attend", a),
                            exchanged ? "context=h" : "context=q");
        assert_string_equal(choice_text(p, "h.1.attn.qkv", a), "context=s");
        assert_string_equal(choice_text(p, "h.1.attn.proj", a), "context=s");
        pl_arena_free(a);
    }
}

/* Queries that are far more work than bytes are dealt out: each device has some of every chunk. */
static void test_chunks(void **state)
{
    static const struct {
        const char *seq, *split;
    } cases[] = { { "1024", "context=c" }, { "65536", "context=q" } };
    (void)state;
    for (int i = 0; i < 2; i++) {
        pl_arena *a = pl_arena_new("test");
        const char *spec =
            pl_arena_fmt(a, "gpt2:layers=1,hidden=32,heads=1,vocab=64,seq=%s", cases[i].seq);
        const pl_plan *p = plan(make_model(spec, PL_TRAIN, a), "cp=gather:8", 8, NULL, a);
        assert_string_equal(choice_text(p, "h.0.attn.attend", a), cases[i].split);
        assert_string_equal(choice_text(p, "h.0.attn.qkv", a), "context=s");
        pl_arena_free(a);
    }
}

static bool is_read_back(const pl_graph *g, const pl_value *v)
{
    for (int i = 0; i < g->nodes.n; i++)
        for (int k = 0; k < g->nodes.at[i]->n_in && g->nodes.at[i]->of; k++)
            if (g->nodes.at[i]->in[k] == v) return true;
    return false;
}

/* Data parallel: nothing but one all-reduce of each gradient, and of the loss. Fully sharded: a
 * gather of each weight for each pass that reads it, and a reduce-scatter of its gradient. */
static void test_data_parallel(void **state)
{
    pl_arena *a = pl_arena_new("test");
    const pl_graph *g = make_model(GPT2, PL_TRAIN, a);
    volume v = find_volume(plan(g, "dp", 4, NULL, a), a);
    double params = (double)pl_graph_params(g);
    int n = count_moves(&v, PL_ALL_REDUCE, 1, 0, true);
    (void)state;
    EXPECT(v.n == n && fabs(v.elements - 1.5 * (params + 1)) < 1e-6, "%d of %d, %.2f for %.0f", n,
           v.n, v.elements, params);
    v = find_volume(plan(g, "zero=3", 4, NULL, a), a);
    double want = 1.5;
    for (int i = 0; i < g->values.n; i++) {
        const pl_value *x = g->values.at[i];
        int times = x->kind == PL_WEIGHT ? 2 + is_read_back(g, x) : 0;
        want += 0.75 * times * (double)pl_shape_count(&x->shape);
    }
    EXPECT(fabs(v.elements - want) < 1e-6, "zero=3: %.2f, not %.2f", v.elements, want);
    pl_arena_free(a);
}

/* Two layers on a grid change places without a conversion, with what lies between them. */
static void test_alternate(void **state)
{
    pl_arena *a = pl_arena_new("test");
    const pl_plan *p =
        plan(make_model("mlp:in=6,hidden=16,classes=4,batch=8,layers=2", PL_TRAIN, a), "grid:2x2x2",
             8, NULL, a);
    (void)state;
    assert_string_equal(choice_text(p, "layers.0.linear", a), "i=n j=o l=i");
    assert_string_equal(choice_text(p, "layers.1.linear", a), "i=n j=i l=o");
    assert_string_equal(stored_text(p, "layers.0.weight", a), "[j;l,i]");
    assert_string_equal(stored_text(p, "layers.0.bias", a), "[j]");
    assert_string_equal(stored_text(p, "layers.1.weight", a), "[l;j,i]");
    volume v = find_volume(p, a);
    for (int i = 0; i < v.n; i++) {
        const pl_value *x = v.at[i].value;
        bool hidden = x->shape.rank == 2 && x->shape.dim[0] == 8 && x->shape.dim[1] == 16;
        EXPECT(!hidden || v.at[i].path.n == 1, "'%s' takes %d moves", x->name, v.at[i].path.n);
        EXPECT(!hidden || v.at[i].path.move[0].kind != PL_ALL_TO_ALL, "'%s' is exchanged", x->name);
    }
    pl_arena_free(a);
}

static int find_exchange(const volume *v, const pl_plan *p, const char *from, const char *to,
                         pl_arena *a)
{
    int n = 0;
    for (int i = 0; i < v->n; i++)
        for (int k = 0; k < v->at[i].path.n; k++) {
            const pl_move *x = &v->at[i].path.move[k];
            const pl_shape *s = &v->at[i].value->shape;
            n += x->kind == PL_ALL_TO_ALL && !v->at[i].backward &&
                 !strcmp(pl_placement_text(a, &x->from, &p->mesh, s->rank), from) &&
                 !strcmp(pl_placement_text(a, &x->to, &p->mesh, s->rank), to);
        }
    return n;
}

/* Routed: groups are exchanged for experts before the experts' layers and back after them. */
static void test_experts(void **state)
{
    pl_arena *a = pl_arena_new("test");
    const char *spec = "moe:layers=1,experts=4,classes=4";
    const pl_plan *p = plan(make_model(spec, PL_TRAIN, a), "ep=4", 8, NULL, a);
    volume v = find_volume(p, a);
    (void)state;
    assert_string_equal(stored_text(p, "x", a), "[data,expert;;]");
    assert_string_equal(choice_text(p, "layers.0.dispatch", a), "data=g expert=g");
    assert_string_equal(choice_text(p, "layers.0.experts.fc", a), "data=g expert=e");
    assert_string_equal(choice_text(p, "layers.0.experts.proj", a), "data=g expert=e");
    assert_string_equal(choice_text(p, "layers.0.combine", a), "data=g expert=g");
    assert_string_equal(stored_text(p, "layers.0.experts.fc.weight", a), "[expert;;]");
    assert_string_equal(stored_text(p, "layers.0.experts.fc.bias.m", a), "[expert;]");
    assert_string_equal(stored_text(p, "layers.0.router.weight", a), "[;]");
    int out = find_exchange(&v, p, "[data,expert;;;]", "[data;expert;;]", a);
    int back = find_exchange(&v, p, "[data;expert;;]", "[data,expert;;;]", a);
    EXPECT(out == 1 && back == 1, "%d exchanges for experts, %d back", out, back);
    pl_arena_free(a);
}

/* A table of logits of its own is split by its columns where that is worth it: when the rows of the
 * logits are long. */
static void test_wide_logits(void **state)
{
    (void)state;
    for (int wide = 0; wide < 2; wide++) {
        pl_arena *a = pl_arena_new("test");
        const char *spec =
            pl_arena_fmt(a, "mlp:in=16,hidden=16,layers=3,batch=16,classes=%d", wide ? 4096 : 4);
        const pl_plan *p = plan(make_model(spec, PL_TRAIN, a), "tp=2", 2, NULL, a);
        assert_string_equal(choice_text(p, "layers.0.linear", a), "tensor=o");
        assert_string_equal(choice_text(p, "layers.1.linear", a), "tensor=i");
        assert_string_equal(choice_text(p, "layers.2.linear", a), wide ? "tensor=o" : "");
        pl_arena_free(a);
    }
}

/* Three heads on two devices, ten columns on four: legal, with less for the last ones. */
static void test_uneven(void **state)
{
    pl_arena *a = pl_arena_new("test");
    const char *spec = "gpt2:layers=1,hidden=30,heads=3,seq=7,vocab=33,batch=5,dropout=0";
    const pl_plan *p = plan(make_model(spec, PL_TRAIN, a), "tp=2", 4, NULL, a);
    volume v = find_volume(p, a);
    (void)state;
    assert_string_equal(choice_text(p, "h.0.attn.qkv", a), "data=b tensor=h");
    assert_string_equal(stored_text(p, "h.0.attn.c_attn.weight", a), "[;tensor:3x10]");
    assert_string_equal(stored_text(p, "tokens", a), "[data;]");
    assert_string_equal(stored_text(p, "wte.weight", a), "[tensor;]"); /* 17 rows and 16 */
    assert_int_equal(count_moves(&v, PL_ALL_REDUCE, 2, 3, false), 3);
    assert_int_equal(count_moves(&v, PL_ALL_REDUCE, 2, 3, true), 3);
    pl_arena_free(a);
}

/* What a seed alone makes is split as the rows are that it is for. A layer whose input is a state,
 * as in the power method of a spectral norm, is one that tp may split. */
static void test_drawn(void **state)
{
    pl_arena *a = pl_arena_new("test");
    const pl_graph *g = make_model("sngan:width=4,judge=4,batch=4,z=16", PL_TRAIN, a);
    const pl_plan *p = plan(g, "dp=2", 2, NULL, a);
    (void)state;
    assert_string_equal(choice_text(p, "z", a), "data=n");
    assert_string_equal(choice_text(p, "generator.linear", a), "data=n");
    plan(g, "tp=2,sp", 2, NULL, a);
    pl_arena_free(a);
}

/* -- states ------------------------------------------------------------------------------------ */

static void test_zero(void **state)
{
    static const struct {
        const char *text, *weight, *moment, *bias, *small, *rows;
    } cases[] = {
        { "dp", "[;]", "[;]", "[]", "[]", "[;]" },
        { "zero=1", "[;]", "[data;]", "[]", "[data:32x1]", "[data;]" },
        { "zero=2", "[;]", "[data;]", "[]", "[data:32x1]", "[data;]" },
        { "zero=3", "[data;]", "[data;]", "[data:32x1]", "[data:32x1]", "[data;]" },
        { "hsdp=2", "[shard;]", "[shard;]", "[shard:32x1]", "[shard:32x1]", "[shard;]" },
        { "zero=1,tp=2", "[;tensor:32x1]", "[data;tensor:32x1]", "[tensor:32x1]",
          "[tensor:32x1,data:32x1]", "[tensor,data;]" },
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        pl_arena *a = pl_arena_new("test");
        const pl_plan *p = plan(make_model(GPT2, PL_TRAIN, a), cases[i].text, 4, NULL, a);
        const char *got[] = { stored_text(p, "h.0.attn.c_attn.weight", a),
                              stored_text(p, "h.0.attn.c_attn.weight.m", a),
                              stored_text(p, "h.0.attn.c_attn.bias", a),
                              stored_text(p, "h.0.attn.c_attn.bias.v", a),
                              stored_text(p, "h.0.mlp.c_proj.weight.m", a) };
        const char *const want[] = { cases[i].weight, cases[i].moment, cases[i].bias,
                                     cases[i].small, cases[i].rows };
        for (int k = 0; k < 5; k++)
            EXPECT(!strcmp(got[k], want[k]), "%s: %d at %s", cases[i].text, k, got[k]);
        assert_string_equal(stored_text(p, "step", a), "[]");
        pl_arena_free(a);
    }
}

/* Bytes that rank 0 receives: of a micro-batch before the last, and of the last one beyond that. */
static void find_bytes(const pl_plan *p, pl_arena *a, int64_t *micro, int64_t *update)
{
    pl_program *x;
    pl_err err = { 0 };
    EXPECT(pl_program_lower(p, 0, pl_store_new(p, 0, a), &(pl_lower_options){ 0 }, a, &x, &err),
           "%s", err.msg);
    const pl_program *y = pl_program_micro(x, a);
    EXPECT(pl_program_check(x, &err) && pl_program_check(y, &err), "%s", err.msg);
    *micro = y->message_bytes;
    *update = x->message_bytes - y->message_bytes;
}

/* Gradients of micro-batches add up in WEIGHT.grad: pending, or split with zero=2. */
static void test_accumulator(void **state)
{
    static const struct {
        const char *text, *at, *choice;
        int micro, update; /* elements that a micro-batch receives, and that the update does */
    } cases[] = {
        { "dp", "[;]+{data}", "data=linear:0", 0, 24 },
        { "zero=1", "[;]+{data}", "data=linear:0", 0, 24 },
        { "zero=2", "[data;]", "data=0", 12, 12 },
        { "zero=3", "[data;]", "data=0", 24, 0 },
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        pl_arena *a = pl_arena_new("test");
        const pl_optim sgd = { "sgd", 0, 0, 0, 0.9, 0, 0 };
        pl_builder b = pl_builder_new(a, &pl_ops_all, "micro");
        b.graph->micro = 2;
        pl_value *x = pl_add_input(&b, "x", PL_F32, PL_SHAPE(8, 4));
        pl_value *w = weight(&b, "w", PL_SHAPE(4, 4));
        pl_value *y = PL_ADD(&b, &pl_op_einsum, "mk,kn->mn", x, w);
        pl_optim_add(&b, &sgd,
                     PL_ADD(&b, &pl_op_reduce_sum, "mn->", PL_ADD(&b, &pl_op_mul, NULL, y, y)));
        const pl_plan *p = plan(graph_done(&b), cases[i].text, 4, NULL, a);
        const char *at = stored_text(p, "w.grad", a), *choice = choice_text(p, "w.grad.add", a);
        int64_t micro, update;
        EXPECT(!strcmp(at, cases[i].at) && !strcmp(choice, cases[i].choice), "%s: at %s, %s",
               cases[i].text, at, choice);
        assert_string_equal(stored_text(p, "w.momentum", a), i ? "[data;]" : "[;]");
        find_bytes(p, a, &micro, &update);
        EXPECT(micro == 4 * cases[i].micro && update == 4 * cases[i].update,
               "%s: %d bytes, then %d", cases[i].text, (int)micro, (int)update);
        pl_arena_free(a);
    }
}

/* The norm of all gradients is summed in the same way, split or not, and reduced once per axis. */
static void test_norm(void **state)
{
    pl_arena *a = pl_arena_new("test");
    const pl_plan *p = plan(make_clipped(GPT2, PL_TRAIN, 1, a), "zero=3,tp=2", 4, NULL, a);
    volume v = find_volume(p, a);
    int norms = 0;
    (void)state;
    for (int i = 0; i < v.n; i++)
        if (!v.at[i].value->shape.rank && strcmp(v.at[i].value->name, "loss"))
            for (int k = 0; k < v.at[i].path.n; k++)
                norms += v.at[i].path.move[k].kind == PL_ALL_REDUCE;
    EXPECT(norms >= 1 && norms <= 2, "%d reductions of numbers", norms);
    pl_arena_free(a);
}

/* An evaluation reads the weights where training keeps them. */
static void test_like(void **state)
{
    static const char *const texts[] = { "dp",      "zero=3",    "tp=4",
                                         "tp=2,sp", "tp=2d:2x2", "grid:1x2x2" };
    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        pl_arena *a = pl_arena_new("test");
        const pl_plan *train = plan(make_model(GPT2, PL_TRAIN, a), texts[i], 4, NULL, a);
        const pl_graph *g = make_model(GPT2, PL_EVAL, a);
        const pl_plan *eval = plan(g, texts[i], 4, train, a);
        for (int k = 0; k < g->values.n; k++) {
            const pl_value *v = g->values.at[k];
            if (v->role != PL_STATE) continue;
            const char *here = stored_text(eval, v->name, a);
            const char *there = stored_text(train, v->name, a);
            EXPECT(!strcmp(here, there), "%s: '%s' at %s and %s", texts[i], v->name, here, there);
        }
        const char *here = choice_text(eval, "h.1.attn.qkv", a);
        const char *there = choice_text(train, "h.1.attn.qkv", a);
        EXPECT(!strcmp(here, there), "%s: %s and %s", texts[i], here, there);
        pl_arena_free(a);
    }
}

/* -- all presets, all models ------------------------------------------------------------------- */

static void test_everything(void **state)
{
    static const struct {
        const char *spec;
        unsigned has;
    } models[] = {
        { "mlp:in=12,hidden=16,classes=8,batch=16", 0 },
        { "gpt2:layers=1,hidden=16,heads=4,seq=8,vocab=32,batch=8",
          PL_HAS_POSITIONS | PL_HAS_TABLES },
        { "moe:layers=1,in=8,hidden=8,experts=8,tokens=8,classes=8,batch=8", PL_HAS_EXPERTS },
        { "resnet18:size=16,width=8,classes=8,batch=8", 0 },
        { "dlrm:dense=4,sizes=8x30-9,embed=8,bottom=8,top=8,batch=8",
          PL_HAS_TABLES | PL_HAS_STACKS },
    };
    (void)state;
    for (int i = 0; i < 5; i++)
        for (int n = 2; n <= 8; n += 2) {
            pl_arena *a = pl_arena_new("test");
            const char *text[100];
            bool deep = !strncmp(models[i].spec, "resnet", 6);
            const pl_graph *g = make_model(models[i].spec, PL_TRAIN, a);
            int count = pl_strategy_all(n, models[i].has, a, 100, text);
            for (int k = 0; k < count; k += deep ? 3 : 1) {
                pl_arena *tmp = pl_arena_new("plan");
                volume v = find_volume(plan(g, text[k], n, NULL, tmp), tmp);
                EXPECT(v.n > 0, "%s on %s: nothing moves", text[k], models[i].spec);
                pl_arena_free(tmp);
            }
            pl_arena_free(a);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tensor_parallel),
        cmocka_unit_test(test_sequence_parallel),
        cmocka_unit_test(test_context),
        cmocka_unit_test(test_chunks),
        cmocka_unit_test(test_data_parallel),
        cmocka_unit_test(test_alternate),
        cmocka_unit_test(test_experts),
        cmocka_unit_test(test_wide_logits),
        cmocka_unit_test(test_uneven),
        cmocka_unit_test(test_drawn),
        cmocka_unit_test(test_zero),
        cmocka_unit_test(test_accumulator),
        cmocka_unit_test(test_norm),
        cmocka_unit_test(test_like),
        cmocka_unit_test(test_everything),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
