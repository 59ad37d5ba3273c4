/* Built-in models: specs, graphs that check and survive their text form, losses
 * of a guess at the start, gradients. */
#include "built.h"

#include "graph/autodiff.h"

static void test_specs(void **state)
{
    static const struct {
        const char *spec, *canonical;
    } cases[] = {
        { "gpt2", "gpt2" },
        { "gpt2:layers=12", "gpt2" },
        { "gpt2:", "gpt2" },
        { "gpt2:seq=64,layers=4", "gpt2:layers=4,seq=64" },
        { "gpt2:layers=4,layers=5", "gpt2:layers=5" },
        { "gpt2:layers=012,hidden=+64", "gpt2:hidden=64" },
        { "gpt2:dropout=1e-1", "gpt2" },
        { "gpt2:dropout=0", "gpt2:dropout=0" },
        { "gpt2:dropout=0.30", "gpt2:dropout=0.3" },
        { "gpt2:dropout=0.123456789", "gpt2:dropout=0.123456789" },
        { "gpt2-medium:layers=24,hidden=512", "gpt2-medium:hidden=512" },
        { "resnet18:depth=18,size=32", "resnet18:size=32" },
        { "mlp:batch=1", "mlp:batch=1" },
        { "t5-small:layers=6,decoder=06", "t5-small:decoder=6" },
        { "llama3-8b:base=500000,seq=512", "llama3-8b:seq=512" },
        { "mobilenet_v2:width=1,stages=7", "mobilenet_v2" },
        { "mnasnet0_5:width=5e-1", "mnasnet0_5" },
        { "vit_b_16:dropout=0,layers=2", "vit_b_16:layers=2" },
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        pl_arena *a = pl_arena_new("test");
        pl_model_args args, again;
        parse_well(cases[i].spec, a, &args);
        assert_string_equal(args.spec, cases[i].canonical);
        parse_well(args.spec, a, &again);
        assert_string_equal(again.spec, args.spec);
        parse_well(pl_model_with(a, args.spec, "batch", "77"), a, &again);
        assert_int_equal(pl_model_int(&again, "batch"), 77);
        pl_arena_free(a);
    }
}

static void test_values(void **state)
{
    (void)state;
    pl_arena *a = pl_arena_new("test");
    pl_model_args args;
    parse_well("gpt2-xl:dropout=0.25,seq=2147483647", a, &args);
    assert_int_equal(pl_model_int(&args, "hidden"), 1600);
    assert_int_equal(pl_model_int(&args, "seq"), 2147483647);
    check_near(pl_model_real(&args, "dropout"), 0.25, 0);
    assert_true(pl_model_has(&args, "vocab") && !pl_model_has(&args, "patch"));
    assert_int_equal(pl_model_labels(&args), 50257);
    pl_arena_free(a);
}

/* All problems of a spec are named at once. */
/* What a command line is asked about, and how one key is set over another. */
static void test_keys(void **state)
{
    static const struct {
        const char *keys, *twice;
    } cases[] = {
        { "", "" },
        { "layers=2", "" },
        { "layers=2,layer=3", "" },
        { "a=1,b=2,c=a,b=2", "b" },
        { "batch=1,batch=1,seq=1,seq=2", "batch" },
        { "batch,batch", "" },
        { ",,", "" },
    };
    (void)state;
    pl_arena *a = pl_arena_new("test");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *key = "";
        const size_t n = pl_model_twice(cases[i].keys, &key);
        assert_string_equal(pl_arena_span(a, key, n), cases[i].twice);
    }
    assert_string_equal(pl_model_with(a, "gpt2", "seq", "4"), "gpt2:seq=4");
    assert_string_equal(pl_model_with(a, "gpt2:", "seq", "4"), "gpt2:seq=4");
    assert_string_equal(pl_model_with(a, "gpt2:seq=2,batch=3", "seq", "4"), "gpt2:batch=3,seq=4");
    assert_string_equal(pl_model_with(a, "x:batch=3,seq=2,seqs=1", "seq", "4"),
                        "x:batch=3,seqs=1,seq=4");
    assert_int_equal(pl_model_name("gpt2:seq=2"), 4);
    assert_int_equal(pl_model_name("no:such:file"), 2);
    assert_int_equal(pl_model_name("/:seq=2"), 1);
    pl_arena_free(a);
}

/* A spec, and words of its refusal; none: it is well. */
typedef struct bad_spec {
    const char *spec;
    const char *words[6];
} bad_spec;

static void check_spec(const bad_spec *x)
{
    pl_arena *a = pl_arena_new("test");
    pl_model_args args;
    pl_err err = { 0 };
    bool ok = pl_model_parse(x->spec, a, &args, &err);
    if (ok != !x->words[0]) fail_msg("'%s': %s", x->spec, ok ? "accepted" : err.msg);
    if (!ok) assert_int_equal(err.code, PL_EUSAGE);
    for (int k = 0; k < 6 && x->words[k]; k++)
        if (!strstr(err.msg, x->words[k]))
            fail_msg("'%s': no '%s' in: %s", x->spec, x->words[k], err.msg);
    pl_arena_free(a);
}

static void test_bad_specs(void **state)
{
    static const bad_spec cases[] = {
        { "", { "unknown model ''", "gpt2, llama,", "resnet50", "pleat models" } },
        { "gpt3", { "unknown model 'gpt3'", "did you mean 'gpt2'?" } },
        { "resnet", { "unknown model 'resnet'", "did you mean 'resnet50'?" } },
        { "something", { "unknown model 'something' (built in: gpt2" } },
        { "gpt2:layer=3", { "no key 'layer' (did you mean 'layers'?)", "Its keys: layers=12" } },
        { "gpt2:colour=3",
          {
              "no key 'colour'.",
          } },
        { "gpt2:layers", { "'layers' is not key=value" } },
        { "gpt2:layers=4,", { NULL } },
        { "gpt2:,layers=4", { "'' is not key=value" } },
        { "gpt2:layers=", { "layers= is not a whole number" } },
        { "gpt2:layers=4.5", { "layers=4.5 is not a whole number" } },
        { "gpt2:layers=4x", { "layers=4x is not a whole number" } },
        { "gpt2:layers=0", { "layers=0 is out of range (at least 1" } },
        { "gpt2:layers=-4", { "layers=-4 is out of range" } },
        { "gpt2:vocab=1", { "vocab=1 is out of range (at least 2" } },
        { "gpt2:hidden=2147483648", { "out of range", "2147483647" } },
        { "gpt2:hidden=99999999999999999999", { "is not a whole number" } },
        { "gpt2:dropout=nan", { "dropout=nan is not a number" } },
        { "gpt2:dropout=-0.1", { "dropout=-0.1 is out of range" } },
        { "gpt2:layer=3,hiden=x,foo,vocab=z,batch=0",
          { "'layers'?", "'hidden'?", "'foo' is not key=value", "vocab=z", "batch=0",
            "seq=1024" } },
        { "resnet18:layers=3", { "no key 'layers'", "depth=18" } },
        { "GPT2", { "did you mean 'gpt2'?" } },
        { "ResNet18:size=32", { "did you mean 'resnet18'?" } },
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) check_spec(&cases[i]);
}

/* Keys that are out of their range, or without effect beside others. */
static void test_idle_keys(void **state)
{
    static const bad_spec cases[] = {
        { "gpt2:tied=2", { "tied=2 is out of range (at least 0, at most 1)" } },
        { "llama:bias=3", { "bias=3 is out of range (at least 0, at most 2)" } },
        { "elman:method=admm,age=65", { "age=65 is out of range (at least 0, at most 64)" } },
        { "dcgan:buffer=9", { "buffer=9 is out of range (at least 0, at most 8)" } },
        { "gpt2:k=4,tied=0,classes=9",
          { "tied=0 has no effect with classes=9, only with classes=0", "k=4 has no effect with "
                                                                        "experts=0." } },
        { "llama:windows=wf", { "windows=wf has no effect with window=0." } },
        { "llama:rope=linear,rope_low=2.0",
          { "rope_low=2 has no effect with rope=linear, only with rope=yarn|llama3" } },
        { "deepseek:chosen=2", { "chosen=2 has no effect with groups=1." } },
        { "elman:method=admm,watch=1,blocks=linear",
          { "watch=1 has no effect with blocks=linear, only with blocks=least" } },
        { "dlrm:sizes=20-30,tables=3",
          { "tables=3 has no effect with sizes=20-30, only without it" } },
        { "gpt2:k=2", { NULL } }, /* what goes without saying */
        { "llama3.1-8b:rope=default", { NULL } },
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) check_spec(&cases[i]);
}

/* What a key's range alone does not tell. */
static void test_bad_sizes(void **state)
{
    static const struct {
        const char *spec, *words;
    } cases[] = {
        { "gpt2:heads=5", "hidden=768 does not divide into heads=5" },
        { "gpt2:dropout=1", "dropout=1 is not below 1" },
        { "resnet50:depth=20", "depth=20 is not 18, 34, 50, 101 or 152" },
        { "resnet18:stages=5", "stages=5 is more than 4" },
        { "vgg16:depth=12", "depth=12 is not 11, 13, 16 or 19" },
        { "vgg11:size=31", "window of 2 does not fit the 1 elements" },
        { "alexnet:size=62", "window of 3 does not fit the 2 elements" },
        { "alexnet:dropout=1", "dropout=1 is not below 1" },
        { "resnet18:size=32,batch=1", "at least 2" },
        { "moe:k=3,experts=2", "k=3 experts of a token, but there are experts=2" },
        { "llama:heads=7", "hidden=256 does not divide into heads=7" },
        { "llama:hidden=24,heads=8", "heads=8 of an even width: make it a multiple of 16" },
        { "llama:head=5", "head=5 is odd" },
        { "llama:experts=2,k=3", "k=3 experts of a token, but there are experts=2" },
        { "gpt2:positions=1000", "seq=1024 is more than positions=1000" },
        { "llama:window=4,windows=wx", "windows=wx is not made of the letters w and f" },
        { "llama:rotary=33", "rotary=33 is no even number of head=32" },
        { "llama:rope=yarn", "rope=yarn needs rope_original" },
        { "llama:rope=llama3,rope_original=9,rope_low=4.0", "rope_low=4 has to be above 0" },
        { "llama:rope=longrope,rope_original=9,rope_long=1.0/2.0",
          "rope_long has 2 factors, but 16 pairs of a head turn" },
        { "llama:rope=linear,rope_factor=0.0", "rope_factor=0" },
        { "llama:fused=1,bias=1", "fused=1 is without biases" },
        { "vit_b_16:qkv_bias=0", "qkv_bias=0 is for vit-base" },
        { "resnet18:wide=2", "wide=2 needs a depth of 50, 101 or 152" },
        { "bert-base:seq=513", "need positions=513" },
        { "bert-base:pad=2", "pad=2 is for roberta-base" },
        { "dlrm:bag=mean", "bag=mean needs hots of 2 or more, or offsets=1" },
        { "llama:kv=3", "heads=8 does not divide into kv=3 groups" },
        { "t5:dropout=1.5", "dropout=1.5 is not below 1" },
        { "t5:limit=16", "buckets=32 give 32 for a direction and limit=16" },
        { "mobilenet_v2:stages=8", "stages=8 is more than 7" },
        { "mnasnet0_5:width=101", "width=101 is above 100" },
        { "mobilenet_v2:dropout=1", "dropout=1 is not below 1" },
        { "efficientnet_b0:skip=1.5", "skip=1.5 is not below 1" },
        { "efficientnet_b0:size=32,batch=1", "at least 2" },
        { "vit_b_16:size=225", "size=225 does not divide into patches of patch=16" },
        { "vit_b_16:heads=7", "hidden=768 does not divide into heads=7" },
        { "vit_b_16:dropout=1", "dropout=1 is not below 1" },
        { "resnet18:smoothing=1.5", "smoothing is 1.5; it has to be in [0, 1]" },
        { "roberta-base:heads=5", "hidden=768 does not divide into heads=5" },
        { "roberta-base:seq=513", "need positions=515" },
        { "roberta-base:vocab=300,classes=301", "classes=301 are more than vocab=300" },
        { "roberta-base:dropout=1", "dropout=1 is not below 1" },
        { "gpt2:vocab=2000000000,hidden=2000000000,heads=1,layers=1", "2000000000" },
        { "mlp:in=2000000000,hidden=2000000000,batch=2000000000", "2000000000" },
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        pl_arena *a = pl_arena_new("test");
        pl_model_args args;
        pl_graph *g;
        pl_err err = { 0 };
        parse_well(cases[i].spec, a, &args);
        pl_builder b = pl_builder_new(a, &pl_ops_all, args.spec);
        pl_model_build(&b, &args, PL_TRAIN);
        if (pl_builder_done(&b, &g, &err)) fail_msg("accepted %s", cases[i].spec);
        assert_int_equal(err.code, PL_EUSAGE);
        if (!strstr(err.msg, cases[i].words)) fail_msg("no '%s' in: %s", cases[i].words, err.msg);
        pl_arena_free(a);
    }
}

static const struct {
    const char *spec;
    int classes;
} small[] = {
    { "gpt2:layers=2,hidden=16,heads=2,vocab=50,seq=8,batch=4,dropout=0.1", 50 },
    { "gpt2-medium:layers=1,hidden=16,heads=4,vocab=50,seq=8,batch=4,dropout=0", 50 },
    { "gpt2-large:layers=1,hidden=16,heads=1,vocab=20,seq=1,batch=4", 20 },
    { "gpt2-xl:layers=1,hidden=15,heads=5,vocab=30,seq=7,batch=4", 30 },
    { "mlp:layers=3,in=6,hidden=16,classes=7,batch=200", 7 },
    { "mlp:layers=1,in=6,classes=7,batch=200", 7 },
    { "resnet18:width=2,size=32,classes=10,batch=2", 10 },
    { "resnet50:width=2,size=32,classes=10,batch=2", 10 },
    { "resnet18:stages=2,blocks=1,width=3,size=11,classes=5,batch=7", 5 },
    { "alexnet:width=2,size=63,hidden=16,classes=10,batch=20", 10 },
    { "vgg11:width=2,size=32,hidden=16,classes=10,batch=3", 10 },
    { "vgg16:depth=13,width=1,size=33,hidden=8,classes=5,batch=2,dropout=0", 5 },
    { "mobilenet_v2:width=0.1,divisor=2,stages=3,blocks=1,last=8,size=16,classes=5,batch=6", 5 },
    { "mobilenet_v2:width=0.1,divisor=1,blocks=1,last=9,size=33,classes=5,batch=3,dropout=0", 5 },
    { "mnasnet0_5:width=0.1,divisor=3,stages=2,blocks=2,last=6,size=17,classes=5,batch=6", 5 },
    { "efficientnet_b0:width=0.1,divisor=2,stages=3,blocks=2,last=8,size=16,classes=5,batch=6", 5 },
    { "efficientnet_b0:width=0.01,divisor=3,blocks=1,last=7,size=33,classes=5,batch=3,skip=0", 5 },
    { "vit_b_16:layers=2,hidden=12,heads=3,ffn=10,patch=4,size=8,classes=5,batch=3", 5 },
    { "vit_b_16:layers=1,hidden=9,heads=1,ffn=7,patch=3,size=9,classes=5,batch=2,dropout=0.1", 5 },
    { "roberta-base:layers=2,hidden=12,heads=3,ffn=10,vocab=30,classes=5,seq=7,positions=9,batch=3",
      5 },
    { "roberta-base:layers=1,hidden=9,heads=1,ffn=7,vocab=9,classes=5,seq=1,batch=4,dropout=0", 5 },
    { "lstm:layers=2,hidden=16,vocab=20,seq=11,batch=3", 20 },
    { "lstm:layers=1,hidden=5,embed=3,vocab=9,seq=1,batch=4", 9 },
    { "lstm:layers=1,hidden=3,embed=2,vocab=5,seq=83,batch=1", 5 },
    { "gpt2:layers=1,hidden=21,heads=3,vocab=13,seq=7,batch=5,dropout=0.1", 13 },
    { "llama:layers=2,hidden=16,heads=4,kv=2,ffn=20,vocab=50,seq=8,batch=4", 50 },
    { "llama:layers=1,hidden=18,heads=3,kv=3,ffn=7,vocab=13,seq=7,batch=5", 13 },
    { "llama:layers=1,hidden=8,heads=4,kv=1,ffn=3,vocab=13,seq=1,batch=5", 13 },
    { "t5:layers=2,hidden=32,heads=4,head=8,ffn=24,vocab=50,seq=8,batch=8", 50 },
    { "t5-small:layers=1,decoder=2,hidden=31,heads=3,head=5,ffn=9,vocab=50,seq=9,batch=8,dropout=0",
      50 },
    { "llama:layers=2,hidden=16,heads=4,kv=2,head=6,bias=2,qknorm=1,tied=1,ffn=20,vocab=50,seq=8,"
      "batch=4",
      50 },
    { "llama:layers=2,hidden=16,heads=4,kv=2,ffn=20,experts=4,vocab=50,seq=8,batch=4", 50 },
    { "deepseek:layers=3,hidden=16,heads=4,kvrank=8,nope=4,turned=4,value=6,ffn=20,expert=8,"
      "score=sigmoid,groups=4,chosen=2,vocab=50,seq=8,batch=4",
      50 },
    { "llama:layers=2,hidden=16,heads=4,kv=2,head=6,fused=1,rotary=4,window=3,rope=longrope,"
      "rope_original=4,rope_short=1/1,rope_long=1.0/3.5,rope_scale=1.2,ffn=20,vocab=50,seq=8,"
      "batch=4",
      50 },
    { "llama:layers=3,hidden=16,heads=4,kv=2,head=6,ffn=20,act=gelu_tanh,tied=1,scaled=1,from_one="
      "1,"
      "sandwich=1,qknorm=1,query_scalar=5,cap=2.0,logit_cap=3.0,window=3,windows=wwf,local_base="
      "100,"
      "vocab=50,seq=8,batch=4",
      50 },
    { "gpt2:layers=4,hidden=16,heads=2,ffn=20,act=relu,experts=3,positions=9,vocab=50,seq=8,batch="
      "4",
      50 },
    { "bert-base:layers=2,hidden=12,heads=3,ffn=10,vocab=30,seq=7,positions=9,batch=3", 30 },
    { "bert-base:layers=1,hidden=12,heads=3,ffn=10,act=relu,vocab=30,classes=4,seq=7,positions=7,"
      "types=1,batch=3",
      4 },
    { "vit-base:layers=2,hidden=12,heads=3,ffn=10,patch=4,size=8,classes=5,batch=3,dropout=0.1",
      5 },
    { "t5:layers=2,hidden=32,heads=4,head=8,ffn=24,gated=1,tied=0,vocab=50,seq=8,batch=8", 50 },
    { "resnet50:depth=101,stages=1,blocks=1,wide=2,width=2,size=32,classes=10,batch=2", 10 },
    { "moe:layers=2,in=6,hidden=10,experts=4,k=2,tokens=9,classes=7,batch=20", 7 },
    { "moe:layers=1,in=6,hidden=5,experts=3,k=1,tokens=7,classes=7,batch=20,capacity=0.3", 7 },
    { "moe:layers=1,in=6,hidden=5,experts=3,k=3,tokens=7,classes=7,batch=20,capacity=9", 7 },
};

enum { N_SMALL = sizeof small / sizeof *small };

static void check_text(const pl_graph *g, pl_arena *a)
{
    pl_text first = { .arena = a }, second = { .arena = a };
    pl_graph *again;
    pl_err err = { 0 };
    if (!pl_graph_check(g, &err)) fail_msg("%s: %s", g->name, err.msg);
    pl_graph_print(g, &first);
    if (!pl_graph_parse(pl_text_get(&first), &pl_ops_all, a, &again, &err))
        fail_msg("%s: %s", g->name, err.msg);
    pl_graph_print(again, &second);
    assert_string_equal(pl_text_get(&first), pl_text_get(&second));
    assert_int_equal(pl_graph_params(g), pl_graph_params(again));
}

static void test_graphs(void **state)
{
    static const char *const optimizers[] = { "adamw", "adam", "sgd", NULL };
    (void)state;
    for (int i = 0; i < N_SMALL; i++)
        for (pl_mode mode = PL_TRAIN; mode <= PL_INFER; mode++)
            for (int k = 0; k < (mode == PL_TRAIN ? 4 : 1); k++) {
                pl_arena *a = pl_arena_new("test");
                check_text(build(small[i].spec, mode, mode == PL_TRAIN ? optimizers[k] : NULL, a),
                           a);
                pl_arena_free(a);
            }
}

static double run_loss(const char *spec, pl_mode mode, int classes)
{
    pl_arena *a = pl_arena_new("test");
    eval e = eval_new(build(spec, mode, NULL, a));
    feed(&e, classes);
    eval_run(&e, e.graph->nodes.n);
    const pl_value *v = pl_graph_find(e.graph, "loss");
    double loss = pl_type_get(v->type, e.at[v->id], 0);
    eval_free(&e);
    pl_arena_free(a);
    return loss;
}

/* An untrained model guesses: the loss is near that of equal odds, ln(classes). In training mode a
 * ResNet's last block has outputs of variance 1 or 2, so its logits are wide and the limit is
 * too; T5's have variance 1; the last layers of MNASNet and EfficientNet start with weights of a
 * variance in proportion to 1/classes. */
static void test_first_loss(void **state)
{
    (void)state;
    for (int i = 0; i < N_SMALL; i++)
        for (pl_mode mode = PL_TRAIN; mode <= PL_EVAL; mode++) {
            bool wide = !strncmp(small[i].spec, "resnet", 6) || !strncmp(small[i].spec, "t5", 2) ||
                        !strncmp(small[i].spec, "mnasnet", 7) ||
                        !strncmp(small[i].spec, "efficientnet", 12);
            double loss = run_loss(small[i].spec, mode, small[i].classes);
            double guess = log(small[i].classes), limit = wide ? 1 : 0.15;
            if (!(fabs(loss - guess) < limit))
                fail_msg("%s: the loss is %g, a guess %g", small[i].spec, loss, guess);
        }
}

/* Labels are smoothed in training alone. */
static void test_smoothing(void **state)
{
    const char *plain =
                   "vit_b_16:layers=1,hidden=12,heads=3,ffn=12,patch=4,size=8,classes=5,batch=3",
               *smooth = "vit_b_16:layers=1,hidden=12,heads=3,ffn=12,patch=4,size=8,classes=5,"
                         "batch=3,smoothing=0.9";
    (void)state;
    const double loss = run_loss(plain, PL_TRAIN, 5);
    assert_true(run_loss(plain, PL_EVAL, 5) == loss);
    assert_true(run_loss(smooth, PL_EVAL, 5) == loss);
    assert_true(fabs(run_loss(smooth, PL_TRAIN, 5) - loss) > 1e-6);
}

/* -- the mixture of experts, written out ------------------------------------------------------- */

enum {
    EXPERTS = 3,
    CHOICES = 2,
    TOKENS = 7,
    WIDTH = 5,
    INNER = 20,
    IN = 4,
    CLASSES = 6,
    SLOTS = 4
};

static void add_expert(const eval *e, int expert, double weight, const double *x, double *y)
{
    double inner[INNER], out[WIDTH];
    dense(WIDTH, INNER, true, state_of(e, "layers.0.experts.fc.weight") + expert * WIDTH * INNER,
          state_of(e, "layers.0.experts.fc.bias") + expert * INNER, x, inner);
    for (int i = 0; i < INNER; i++)
        inner[i] *= 0.5 * (1 + tanh(sqrt(2 / acos(-1)) * (inner[i] + 0.044715 * pow(inner[i], 3))));
    dense(INNER, WIDTH, true, state_of(e, "layers.0.experts.proj.weight") + expert * WIDTH * INNER,
          state_of(e, "layers.0.experts.proj.bias") + expert * WIDTH, inner, out);
    for (int i = 0; i < WIDTH; i++) y[i] += weight * out[i];
}

/* All first choices are served before the second ones; an expert has SLOTS slots. Returns how many
 * choices are dropped. */
static int route_group(const eval *e, double x[TOKENS][WIDTH], double y[TOKENS][WIDTH])
{
    double p[TOKENS][EXPERTS];
    int used[EXPERTS] = { 0 }, dropped = 0;
    memcpy(y, x, sizeof(double) * TOKENS * WIDTH);
    for (int t = 0; t < TOKENS; t++) {
        double sum = 0;
        dense(WIDTH, EXPERTS, false, state_of(e, "layers.0.router.weight"), NULL, x[t], p[t]);
        for (int i = 0; i < EXPERTS; i++) sum += p[t][i] = exp(p[t][i]);
        for (int i = 0; i < EXPERTS; i++) p[t][i] /= sum;
    }
    for (int k = 0; k < CHOICES; k++)
        for (int t = 0; t < TOKENS; t++) {
            int best = 0;
            for (int i = 1; i < EXPERTS; i++)
                if (p[t][i] > p[t][best]) best = i;
            if (used[best]++ < SLOTS)
                add_expert(e, best, p[t][best], x[t], y[t]);
            else
                dropped++;
            p[t][best] = -1; /* taken */
        }
    return dropped;
}

static void test_moe(void **state)
{
    (void)state;
    pl_arena *a = pl_arena_new("test");
    eval e = eval_new(build("moe:layers=1,in=4,hidden=5,experts=3,k=2,tokens=7,capacity=0.8,"
                            "classes=6,batch=3",
                            PL_INFER, NULL, a));
    feed(&e, 0);
    eval_run(&e, e.graph->nodes.n);
    const float *in = state_of(&e, "x"), *logits = state_of(&e, "logits");
    int dropped = 0;
    for (int g = 0; g < 3; g++) {
        double x[TOKENS][WIDTH], y[TOKENS][WIDTH], one[IN], want[CLASSES];
        for (int t = 0; t < TOKENS; t++) {
            for (int i = 0; i < IN; i++) one[i] = (double)in[(g * TOKENS + t) * IN + i];
            dense(IN, WIDTH, false, state_of(&e, "embed.weight"), state_of(&e, "embed.bias"), one,
                  x[t]);
        }
        dropped += route_group(&e, x, y);
        for (int t = 0; t < TOKENS; t++) {
            dense(WIDTH, CLASSES, false, state_of(&e, "head.weight"), state_of(&e, "head.bias"),
                  y[t], want);
            for (int i = 0; i < CLASSES; i++)
                check_near((double)logits[(g * TOKENS + t) * CLASSES + i], want[i], 1e-5);
        }
    }
    assert_in_range(dropped, 1, 3 * TOKENS); /* else capacity is not tested */
    eval_free(&e);
    pl_arena_free(a);
}

/* -- gradients --------------------------------------------------------------------------------- */

typedef struct slopes {
    eval e;
    const pl_value *loss;
    pl_value **grad; /* by value id of the weight */
} slopes;

static slopes slopes_new(const char *spec, int classes, pl_arena *a)
{
    pl_model_args args;
    pl_graph *g;
    pl_err err = { 0 };
    slopes s = { 0 };
    parse_well(spec, a, &args);
    pl_builder b = pl_builder_new(a, &pl_ops_all, args.spec);
    pl_model_build(&b, &args, PL_TRAIN);
    pl_value *w[64], *grad[64];
    int n = 0;
    for (int i = 0; i < b.graph->values.n; i++)
        if (b.graph->values.at[i]->kind == PL_WEIGHT) w[n++] = b.graph->values.at[i];
    assert_in_range(n, 1, 64);
    pl_autodiff(&b, pl_graph_find(b.graph, "loss"), n, w, grad);
    for (int i = 0; i < n; i++) {
        if (!b.err.code && !grad[i]) fail_msg("%s: no gradient of %s", spec, w[i]->name);
        pl_add_output(&b, pl_builder_fmt(&b, "d%s", w[i]->name), grad[i]);
    }
    if (!pl_builder_done(&b, &g, &err)) fail_msg("%s: %s", spec, err.msg);
    s.e = eval_new(g);
    s.loss = pl_graph_find(g, "loss");
    s.grad = PL_NEW_N(a, pl_value *, g->values.n);
    for (int i = 0; i < n; i++) s.grad[w[i]->id] = grad[i];
    feed(&s.e, classes);
    return s;
}

/* The loss where weight w is w + t d. */
static double loss_at(slopes *s, const pl_value *w, const float *base, const double *d, double t)
{
    float *at = s->e.at[w->id];
    for (int64_t i = 0, n = pl_shape_count(&w->shape); i < n; i++)
        at[i] = (float)((double)base[i] + t * d[i]);
    eval_run(&s->e, s->loss->maker->id + 1);
    return pl_type_get(s->loss->type, s->e.at[s->loss->id], 0);
}

/* Along d, half the direction of the gradient and half a random one, the loss changes as the
 * gradient says: to 1 % and to the rounding of an f32 loss. */
static void check_slope(slopes *s, const char *spec, const pl_value *w)
{
    int64_t n = pl_shape_count(&w->shape);
    const double step = 1e-3;
    const float *g = s->e.at[s->grad[w->id]->id];
    float *base = eval_alloc((size_t)n * sizeof *base);
    double *d = eval_alloc((size_t)n * sizeof *d), length = 0, want = 0;
    memcpy(base, s->e.at[w->id], (size_t)n * sizeof *base);
    for (int64_t i = 0; i < n; i++) length += (double)g[i] * (double)g[i];
    if (!(length > 0)) fail_msg("%s: the gradient of %s is %g", spec, w->name, length);
    for (int64_t i = 0; i < n; i++) {
        double u = pl_rng_uniform(pl_rng_at(3, (uint64_t)w->id), (uint64_t)i);
        d[i] = (double)g[i] / sqrt(length) + (2 * u - 1) * sqrt(3 / (double)n);
        want += d[i] * (double)g[i];
    }
    double high = loss_at(s, w, base, d, step), low = loss_at(s, w, base, d, -step);
    double found = (high - low) / (2 * step);
    if (!(fabs(found - want) <= 1e-2 * fabs(want) + 1e-3 * sqrt(length) + 2.5e-4))
        fail_msg("%s: along its gradient and a random direction the loss changes by %g with %s, "
                 "the gradient says %g",
                 spec, found, w->name, want);
    memcpy(s->e.at[w->id], base, (size_t)n * sizeof *base);
    free(base);
    free(d);
}

static void test_gradients(void **state)
{
    static const struct {
        const char *spec;
        int classes;
    } cases[] = {
        { "mlp:layers=3,in=6,hidden=16,classes=7,batch=20", 7 },
        { "gpt2:layers=2,hidden=12,heads=3,vocab=13,seq=5,batch=3,dropout=0.1", 13 },
        { "llama:layers=2,hidden=16,heads=4,kv=2,ffn=10,vocab=13,seq=5,batch=3", 13 },
        { "t5:layers=2,hidden=14,heads=3,head=4,ffn=10,vocab=13,buckets=8,limit=9,seq=6,batch=3",
          13 }, /* of sizes that leave no relu near its kink */
        { "llama:layers=2,hidden=16,heads=4,kv=2,head=6,bias=2,qknorm=1,tied=1,ffn=10,vocab=13,"
          "seq=5,batch=3",
          13 },
        { "llama:layers=1,hidden=16,heads=4,kv=2,ffn=10,experts=2,vocab=13,seq=6,batch=2", 13 },
        { "llama:layers=2,hidden=16,heads=4,kv=2,ffn=10,experts=4,expert=6,shared=5,names=qwen,"
          "even=0,capacity=0,every=2,vocab=13,seq=4,batch=2",
          13 }, /* of sizes that leave no token near the choice of another expert */
        { "deepseek:layers=2,hidden=16,heads=2,kvrank=6,nope=4,turned=4,value=6,ffn=10,expert=6,"
          "experts=6,k=2,groups=3,chosen=2,scale=2.0,even=0,vocab=13,seq=4,batch=1",
          13 },
        { "deepseek:layers=1,first=0,hidden=16,heads=2,qrank=6,kvrank=6,nope=4,turned=4,value=6,"
          "ffn=10,expert=6,experts=6,k=3,score=sigmoid,groups=3,chosen=2,scale=2.5,even=1,"
          "vocab=13,seq=5,batch=2",
          13 },
        { "gpt2:layers=2,hidden=12,heads=3,experts=2,vocab=5,seq=5,batch=2,dropout=0.1", 5 },
        { "bert-base:layers=1,hidden=12,heads=3,ffn=10,vocab=9,seq=5,positions=8,batch=3", 9 },
        { "t5:layers=1,hidden=14,heads=3,head=4,ffn=10,gated=1,tied=0,vocab=13,buckets=8,limit=9,"
          "seq=6,batch=3",
          13 },
        { "vit-base:layers=1,hidden=12,heads=3,ffn=10,patch=4,size=8,classes=4,batch=3", 4 },
        { "moe:layers=2,in=6,hidden=5,experts=3,k=2,tokens=7,classes=4,batch=2", 4 },
        { "moe:layers=1,in=6,hidden=5,experts=4,k=1,tokens=9,classes=4,batch=3", 4 },
        { "resnet18:stages=2,blocks=1,width=3,size=16,classes=4,batch=5", 4 },
        { "alexnet:width=2,size=63,hidden=6,classes=4,batch=2", 4 },
        { "mobilenet_v2:width=0.1,divisor=2,stages=2,blocks=1,last=8,size=10,classes=4,batch=5",
          4 },
        { "mnasnet0_5:width=0.1,divisor=4,stages=2,blocks=1,last=7,size=12,classes=4,batch=5", 4 },
        { "efficientnet_b0:width=0.1,divisor=2,stages=2,blocks=2,last=8,size=10,classes=4,batch=5",
          4 },
        { "vit_b_16:layers=2,hidden=12,heads=3,ffn=10,patch=4,size=8,classes=4,batch=3", 4 },
        { "roberta-base:layers=2,hidden=12,heads=3,ffn=10,vocab=9,classes=4,seq=5,positions=8,"
          "batch=3",
          4 },
        { "lstm:layers=2,hidden=5,embed=4,vocab=6,seq=11,batch=2", 6 },
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        pl_arena *a = pl_arena_new("test");
        slopes s = slopes_new(cases[i].spec, cases[i].classes, a);
        const pl_graph *g = s.e.graph;
        eval_run(&s.e, g->nodes.n);
        for (int k = 0; k < g->values.n; k++)
            if (g->values.at[k]->kind == PL_WEIGHT) check_slope(&s, cases[i].spec, g->values.at[k]);
        eval_free(&s.e);
        pl_arena_free(a);
    }
}

/* All weights a step of this length down the gradient. */
static void descend(slopes *s, double length)
{
    const pl_graph *g = s->e.graph;
    double sum = 0;
    for (int again = 0; again < 2; again++)
        for (int k = 0; k < g->values.n; k++) {
            const pl_value *w = g->values.at[k];
            if (w->kind != PL_WEIGHT) continue;
            float *at = s->e.at[w->id];
            const float *slope = s->e.at[s->grad[w->id]->id];
            for (int64_t i = 0, n = pl_shape_count(&w->shape); i < n; i++)
                if (again)
                    at[i] -= (float)(length / sqrt(sum) * (double)slope[i]);
                else
                    sum += (double)slope[i] * (double)slope[i];
        }
}

/* Gradient descent on one batch, with steps as long as `rate` says, halves the loss. */
static void test_learns(void **state)
{
    static const struct {
        const char *spec;
        int classes;
        double rate;
    } cases[] = {
        { "mlp:layers=3,in=6,hidden=16,classes=4,batch=8", 4, 0.3 },
        { "resnet18:stages=1,blocks=1,width=4,size=12,classes=4,batch=4", 4, 0.3 },
        { "alexnet:width=2,size=63,hidden=16,classes=4,batch=2,dropout=0", 4, 0.3 },
        { "vgg11:width=2,size=32,hidden=16,classes=4,batch=2,dropout=0", 4, 0.3 },
        { "mobilenet_v2:width=0.2,divisor=4,stages=2,blocks=1,last=16,size=12,classes=4,batch=4,"
          "dropout=0",
          4, 1 },
        { "efficientnet_b0:width=0.2,divisor=4,stages=2,blocks=1,last=16,size=12,classes=4,batch=4,"
          "dropout=0,skip=0",
          4, 1 },
        { "vit_b_16:layers=1,hidden=12,heads=3,ffn=20,patch=4,size=8,classes=4,batch=4", 4, 1 },
        { "roberta-base:layers=1,hidden=12,heads=3,ffn=20,vocab=9,classes=4,seq=5,batch=3,dropout="
          "0",
          4, 1 },
        { "lstm:layers=2,hidden=64,vocab=6,seq=3,batch=2", 6, 1 },
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        pl_arena *a = pl_arena_new("test");
        slopes s = slopes_new(cases[i].spec, cases[i].classes, a);
        const pl_graph *g = s.e.graph;
        double first = 0, loss = INFINITY;
        for (int step = 0; step < 30 && !(loss < 0.5 * first); step++) {
            eval_run(&s.e, g->nodes.n);
            loss = pl_type_get(s.loss->type, s.e.at[s.loss->id], 0);
            if (!step) first = loss;
            descend(&s, cases[i].rate);
        }
        if (!(loss < 0.5 * first))
            fail_msg("%s: the loss was %g and is %g", cases[i].spec, first, loss);
        eval_free(&s.e);
        pl_arena_free(a);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_specs),     cmocka_unit_test(test_values),
        cmocka_unit_test(test_keys),      cmocka_unit_test(test_bad_specs),
        cmocka_unit_test(test_idle_keys), cmocka_unit_test(test_bad_sizes),
        cmocka_unit_test(test_graphs),    cmocka_unit_test(test_first_loss),
        cmocka_unit_test(test_smoothing), cmocka_unit_test(test_gradients),
        cmocka_unit_test(test_moe),       cmocka_unit_test(test_learns),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
