/* Built-in models against what is published of them: parameters, multiplications, flops of a token,
 * bytes kept for the backward pass. */
#include "built.h"

#include "support/arena.h"

/* As published: the checkpoints of GPT-2, and torchvision's ResNets. */
static const struct {
    const char *spec;
    int64_t n;
} sizes[] = {
    { "gpt2", 124439808 },
    { "gpt2-medium", 354823168 },
    { "gpt2-large", 774030080 },
    { "gpt2-xl", 1557611200 },
    { "resnet18", 11689512 },
    { "dlrm-kaggle", 540677217 },     /* DLRM's own count: 33762577 rows of 16, and its MLPs */
    { "dlrm-terabyte", 24036595969 }, /* MLPerf's: 187767399 rows of 128                     */
    { "resnet50", 25557032 },
    { "llama2-7b", 6738415616 },
    { "llama2-13b", 13015864320 },
    { "llama2-70b", 68976648192 },
    { "llama3-8b", 8030261248 },
    { "llama3-70b", 70553706496 },
    { "llama3-405b", 405853388800 },
    { "mistral-7b", 7241732096 },
    { "mixtral-8x7b", 46702792704 },
    { "mixtral-8x22b", 140620634112 },
    { "qwen1.5-moe-a2.7b", 14315784192 },
    { "qwen2-57b-a14b", 57408658944 },
    { "qwen3-30b-a3b", 30532122624 },
    { "qwen3-235b-a22b", 235093634560 },
    { "deepseek-v2-lite", 15706484224 },
    { "deepseek-v2", 235741434880 },
    { "deepseek-v3", 671026404352 },
    { "qwen2-0.5b", 494032768 },
    { "qwen2-1.5b", 1543714304 },
    { "qwen2-7b", 7615616512 },
    { "qwen2-72b", 72706203648 },
    /* as transformers 5.23 counts them, built on its meta device of the config.json that is
         * published with each: AutoModelForCausalLM.from_config, the sum over parameters() */
    { "llama3.1-8b", 8030261248 },
    { "llama3.1-70b", 70553706496 },
    { "llama3.1-405b", 405853388800 },
    { "llama3.2-1b", 1235814400 },
    { "llama3.2-3b", 3212749824 },
    { "mistral-7b-v0.3", 7248023552 },
    { "qwen2.5-0.5b", 494032768 },
    { "qwen2.5-1.5b", 1543714304 },
    { "qwen2.5-3b", 3085938688 },
    { "qwen2.5-7b", 7615616512 },
    { "qwen2.5-14b", 14770033664 },
    { "qwen2.5-32b", 32763876352 },
    { "qwen2.5-72b", 72706203648 },
    { "qwen3-0.6b", 596049920 },
    { "qwen3-1.7b", 1720574976 },
    { "qwen3-4b", 4022468096 },
    { "qwen3-8b", 8190735360 },
    { "qwen3-14b", 14768307200 },
    { "qwen3-32b", 32762123264 },
    { "phi3-mini", 3821079552 },
    { "phi3-medium", 13960238080 },
    { "phi4", 14659507200 },
    { "gemma-2b", 2506172416 },
    { "gemma-7b", 8537680896 },
    { "gemma2-2b", 2614341888 },
    { "gemma2-9b", 9241705984 },
    { "gemma2-27b", 27227128320 },
    { "gemma3-270m", 268098176 },
    { "gemma3-1b", 999885952 },
    /* with the head for masked tokens, as BertForMaskedLM and RobertaForMaskedLM */
    { "bert-base", 109514298 },
    { "bert-large", 335174458 },
    { "roberta-base:classes=0", 124697433 },
    { "roberta-large", 355412057 },
    { "resnet34", 21797672 },
    { "resnet101", 44549160 },
    { "resnet152", 60192808 },
    { "vit-base", 86567656 },
    { "vit-large", 304326632 },
    /* a table of positions longer than what is read; the second of two blocks with 3 experts */
    { "gpt2:layers=1,positions=2000", 124439808 - 11 * (12 * 768 * 768 + 13 * 768) + 976 * 768 },
    { "gpt2:layers=2,hidden=8,heads=2,ffn=10,vocab=9,seq=4,experts=3",
      13 * 8 + 2 * (4 * 64 + 8 * 8) + 2 * 80 + 18 + 24 + 3 * 2 * 80 + 16 },
    /* two tables; of 4 layers projections with 2 of 8 heads for keys, three of SwiGLU, norms */
    { "llama", 2 * 256 * 256 + 4 * (2 * 65536 + 2 * 256 * 64 + 3 * 256 * 704 + 512) + 256 },
    /* one table, shared by encoder, decoder and output: with v tokens, width m, ffn f, h heads
         * of d and L layers each v m + L (12 m h d + 4 m f + 5 m) + 2 m, and for the positions
         * 32 h twice */
    { "t5-small", 60506624 },
    { "t5-base", 222903552 },
    { "t5-large", 737668096 },
    { "t5-3b", 2851598336 },
    { "t5-11b", 11307321344 },
    { "t5", 256 * 256 + 4 * (12 * 65536 + 4 * 256 * 1024 + 5 * 256) + 2 * 256 + 2 * 32 * 4 },
    { "t5:layers=2,decoder=1,hidden=8,ffn=6,heads=3,head=5,vocab=7,buckets=10",
      7 * 8 + 2 * (4 * 8 * 15 + 2 * 48 + 16) + (8 * 8 * 15 + 2 * 48 + 24) + 16 + 2 * 10 * 3 },
    { "alexnet", 61100840 },
    { "vgg11", 132863336 },
    { "vgg16:depth=13", 133047848 },
    { "vgg16", 138357544 },
    { "vgg16:depth=19", 143667240 },
    { "mobilenet_v2", 3504872 },
    { "mobilenet_v2:width=0.5", 1968680 },
    { "mnasnet0_5", 2218512 },
    { "mnasnet0_5:width=1", 4383312 },
    { "efficientnet_b0", 5288548 },
    { "gpt2-xl:classes=2", 1557611200 + 2 * 1600 },
    { "vit_b_16", 86567656 },
    { "vit_b_16:patch=32", 88224232 },
    /* the encoder's as published, 473.23 MiB; the classifier's */
    { "roberta-base", 124055040 + 768 * 256 + 256 },
    { "roberta-base:classes=2", 124055040 + 768 * 2 + 2 },
    /* PyTorch's nn.LSTM(200, 200, 2) has 643200; the two tables and a bias */
    { "lstm", 643200 + 2 * 10000 * 200 + 10000 },
    { "lstm:layers=3,hidden=4,embed=5,vocab=7,seq=2",
      (16 * (5 + 4) + 32) + 2 * (16 * (4 + 4) + 32) + 7 * 5 + 7 * 4 + 7 },
    { "mlp:in=4,hidden=8,classes=3", 4 * 8 + 8 + 8 * 8 + 8 + 8 * 3 + 3 },
    { "mlp:layers=1,in=4,classes=3", 4 * 3 + 3 },
    /* convolutions and their norms: stem, two in the stage; the layer out */
    { "resnet18:stages=1,blocks=1,width=8,size=16,classes=4",
      49 * 3 * 8 + 16 + 2 * (9 * 8 * 8 + 16) + 8 * 4 + 4 },
    /* the layer in; router, then per expert two layers; the layer out */
    { "moe:layers=1,in=4,hidden=8,experts=5,classes=3",
      4 * 8 + 8 + 5 * 8 + 5 * (8 * 32 + 32 + 32 * 8 + 8) + 8 * 3 + 3 },
    { "moe:layers=3,in=4,hidden=8,experts=5,classes=3",
      4 * 8 + 8 + 3 * (5 * 8 + 5 * (8 * 32 + 32 + 32 * 8 + 8)) + 8 * 3 + 3 },
};

static void test_parameters(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        for (pl_mode mode = PL_TRAIN; mode <= PL_INFER; mode++) {
            pl_arena *a = pl_arena_new("test");
            pl_graph *g = build(sizes[i].spec, mode, NULL, a);
            if (pl_graph_params(g) != sizes[i].n)
                fail_msg("%s has %lld parameters", sizes[i].spec, (long long)pl_graph_params(g));
            pl_arena_free(a);
        }
}

/* Sizes that papers give rounded, in millions: GPT-3 (Brown et al., 2020), Alpa's tables (Zheng et
 * al., 2022, whose names these are), and Tofu's weights in GiB, three copies in f32 (Wang et al.,
 * 2019). That the 3x3 convolutions alone are wider in Alpa's is inferred from these sizes. */
static void test_rounded_parameters(void **state)
{
    static const struct {
        const char *spec;
        double published, within;
    } cases[] = {
        { "gpt3-175b", 175e3, .01 },
        { "gpt-350m", 350, .02 },
        { "gpt-760m", 760, .01 },
        { "gpt-1.3b", 1300, .02 },
        { "gpt-2.6b", 2600, .02 },
        { "gpt-6.7b", 6700, .01 },
        { "gpt-15b", 15e3, .03 },
        { "gpt-39b", 39e3, .01 },
        { "gpt-moe-380m", 380, .02 },
        { "gpt-moe-690m", 690, .01 },
        { "gpt-moe-1.3b", 1300, .04 },
        { "gpt-moe-2.4b", 2400, .01 },
        { "gpt-moe-10b", 10e3, .02 },
        { "gpt-moe-27b", 27e3, .02 },
        { "gpt-moe-70b", 70e3, .01 },
        { "wresnet-250m", 250, .02 },
        { "wresnet-500m", 500, .01 },
        { "wresnet-1b", 1000, .01 },
        { "wresnet-2b", 2000, .02 },
        { "wresnet-4b", 4000, .01 },
        { "wresnet-6.8b", 6800, .02 },
        { "wresnet-13b", 13e3, .03 },
        { "wresnet-152-10", 65.1 * 1073.741824 / 12, .01 },
        { "rnn-10-8k", 57.0 * 1073.741824 / 12, .01 },
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        pl_arena *a = pl_arena_new("test");
        double found = 1e-6 * (double)pl_graph_params(build(cases[i].spec, PL_TRAIN, NULL, a));
        if (!(fabs(found / cases[i].published - 1) < cases[i].within))
            fail_msg("%s has %g million parameters", cases[i].spec, found);
        pl_arena_free(a);
    }
}

/* Of a forward pass of one image, as torchvision's documents tell, in thousands of millions. */
static void test_multiplications(void **state)
{
    static const struct {
        const char *spec;
        double published;
    } cases[] = {
        { "resnet18", 1.814 },   { "resnet50", 4.089 },        { "alexnet", 0.714 },
        { "vgg11", 7.609 },      { "vgg16", 15.470 },          { "mobilenet_v2", 0.301 },
        { "mnasnet0_5", 0.104 }, { "efficientnet_b0", 0.386 }, { "vit_b_16", 17.564 },
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        pl_arena *a = pl_arena_new("test");
        pl_graph *g = build(pl_model_with(a, cases[i].spec, "batch", "1"), PL_INFER, NULL, a);
        double found = 0;
        for (int k = 0; k < g->nodes.n; k++) {
            pl_share s = pl_share_whole(g->nodes.at[k]);
            if (pl_op_multiplies(g->nodes.at[k])) found += pl_op_flops(&s) / 2e9;
        }
        if (!(fabs(found - cases[i].published) < 0.0006))
            fail_msg("%s multiplies %g thousand million times", cases[i].spec, found);
        pl_arena_free(a);
    }
}

/* -- formulas ---------------------------------------------------------------------------------- */

/* Nodes of the forward pass: the first ones of the step. */
static int count_forward(const char *spec)
{
    return build(spec, PL_TRAIN, NULL, arena)->nodes.n;
}

/* Flops of a token, forward and backward. Of attention pleat counts the pairs that are seen, which
 * for a causal one are half of those of the formulas, and the scores that its gradient makes again:
 * seven products where the formulas have six. T5's with a bias are no such nodes. */
static double flops_per_token(const char *spec)
{
    const pl_graph *g = build(spec, PL_TRAIN, "sgd", arena);
    int n_forward = count_forward(spec);
    double sum = 0;
    for (int i = 0; i < g->nodes.n; i++) {
        pl_share whole = pl_share_whole(g->nodes.at[i]);
        if (i < n_forward || g->nodes.at[i]->of) sum += pl_op_flops(&whole);
    }
    return sum / (double)pl_shape_count(&pl_graph_find(g, "tokens")->shape);
}

/* Megatron's, Narayanan et al., SC 2021, without its second forward pass: 72 instead of 96. */
static double megatron(double layers, double h, double seq, double seen, double vocab)
{
    return 72 * layers * h * h * (1 + seen * seq / (6 * h) + vocab / (12 * layers * h));
}

static void flops_are_those_of_the_formulas(void **state)
{
    (void)state;
    const double again = 7. / 6;
    const struct {
        const char *spec;
        double want;
    } rows[] = {
        /* the head for masked tokens has a layer more */
        { "bert-large", megatron(24, 1024, 512, again, 30522) + 6 * 1024 * 1024 },
        { "gpt2-xl", megatron(48, 1600, 1024, again / 2, 50257) },
        { "gpt3-175b", megatron(96, 12288, 2048, again / 2, 50257) },
        /* Chowdhery et al., PaLM, 2022, appendix B: 6 N + 12 L H Q T, of the parameters that are
         * multiplied with, which those of the input's table are not; T5 has three attentions in a
         * pair of blocks */
        { "llama3-8b", 6 * (8030261248. - 128256 * 4096) + again / 2 * 12. * 32 * 32 * 128 * 8192 },
        { "llama3-70b",
          6 * (70553706496. - 128256 * 8192) + again / 2 * 12. * 80 * 64 * 128 * 8192 },
        { "t5-large", 6 * 737668096. + (2 + again) * 12. * 24 * 16 * 64 * 512 },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        double found = flops_per_token(rows[i].spec);
        if (!(fabs(found / rows[i].want - 1) < 0.01))
            fail_msg("%s takes %g flops for a token, not %g", rows[i].spec, found, rows[i].want);
    }
}

/* Bytes that the forward pass makes, not from weights alone, and the backward pass reads. */
static double saved_bytes(const char *spec)
{
    const pl_graph *g = build(spec, PL_TRAIN, "sgd", arena);
    int n_forward = count_forward(spec);
    bool *read = PL_NEW_N(arena, bool, g->values.n);
    double sum = 0;
    for (int i = n_forward; i < g->nodes.n; i++)
        for (int k = 0; k < g->nodes.at[i]->n_in; k++) read[g->nodes.at[i]->in[k]->id] = true;
    for (int i = 0; i < g->values.n; i++) {
        const pl_value *v = g->values.at[i];
        if (v->maker && v->maker->id < n_forward && read[i] && !pl_graph_leaf(v))
            sum += (double)(pl_shape_count(&v->shape) * pl_type_bytes(v->type));
    }
    return sum;
}

/* Korthikanti et al., "Reducing activation recomputation", 2022: a layer of 16 bits keeps
 * s b h (34 + 5 a s / h) bytes, of which 2 s b h + a s s b are the masks of three dropouts, and
 * 4 a s s b the softmax and what its dropout made of it. Masks are drawn again here and attention
 * keeps no scores but an f32 for each row of them, so it is 32 s b h + 4 a s b, and four f32 for
 * each position from the norms: 33 % of the formula for GPT-2 XL, 43 % for BERT large. The others'
 * terms in turn: inputs and outputs of norms, queries, keys, values and what comes of them; the
 * feed-forward layer; what attention keeps, which in T5 is the softmax where it has a bias, and its
 * dropout. */
static void kept_bytes_of_a_layer_are_those_of_the_formula(void **state)
{
    (void)state;
    const double xl = 1024 * 1600, bl = 512 * 1024, ls = 2048, t = 512;
    const struct {
        const char *spec;
        double want;
    } rows[] = {
        { "gpt2-xl", xl * 32 + 4. * 25 * 1024 },
        { "bert-large", bl * 32 + 4. * 16 * 512 },
        { "llama3-8b:seq=2048", ls * (8 * 4096 + 4 * 4096 + 4 * 1024 + 8 * 14336 + 4 * 32) },
        { "t5-large", t * (8 * 1024 + 8 * 1024 + 4 * 4096 + 4 * 16 * t) +
                          t * (12 * 1024 + 16 * 1024 + 4 * 4096 + 4 * 16 * t + 4 * 16) },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const char *spec = pl_model_with(arena, rows[i].spec, "dtype", "bf16");
        double found = saved_bytes(pl_model_with(arena, spec, "layers", "3")) -
                       saved_bytes(pl_model_with(arena, spec, "layers", "2"));
        if (!(fabs(found / rows[i].want - 1) < 0.002))
            fail_msg("a layer of %s keeps %g bytes, not %g", spec, found, rows[i].want);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_parameters),
        cmocka_unit_test(test_rounded_parameters),
        cmocka_unit_test(test_multiplications),
        cmocka_unit_test_setup_teardown(flops_are_those_of_the_formulas, set_up, tear_down),
        cmocka_unit_test_setup_teardown(kept_bytes_of_a_layer_are_those_of_the_formula, set_up,
                                        tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
