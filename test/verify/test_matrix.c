/* Every published layout on up to 64 ranks: an MLP, a GPT block, a convolutional net with batch
 * norm and a routed layer, split, against the same whole: losses, gradients, weights and moments
 * after 3 steps of AdamW; and what the transport counted is what the programs said. */
#include "backends/onednn/onednn.h"
#include "support/rounds.h"
#include "ranks.h"

#include <stdio.h>

enum { EACH = PL_SANITIZED ? 9 : 1 }; /* of the layouts is tried */

typedef struct row {
    int n;
    const char *strategies; /* blanks between */
} row;

/* All of pl_strategy_all takes minutes (pleat verify --all); these are one or more of each kind. */
static const row mlp_rows[] = {
    { 4, "dp zero=1 zero=2 zero=3 hsdp=2 tp=4 tp=4,sp tp=2 zero=3,tp=2,sp tp=2d:2x2 grid:1x2x2 "
         "grid:2x2x1 grid:2x1x2 grid:1x1x4 auto" },
    { 8, "dp=4,tp=2 hsdp=4 tp=2.5d:2x2x2 tp=3d:2x2x2 grid:2x4x1 zero=2,tp=4,sp grid:1x4x2" },
    { 9, "dp zero=3 tp=9 tp=3,sp tp=2d:3x3 hsdp=3" },
    { 16, "zero=3,tp=4 tp=2d:4x4 tp=2.5d:2x2x4 grid:4x2x2 hsdp=4,tp=2" },
    { 27, "tp=3d:3x3x3 tp=2.5d:3x3x3" },
    { 64, "zero=3,tp=8,sp tp=3d:4x4x4" },
};
static const row gpt_rows[] = {
    { 4, "dp zero=3 tp=4 tp=2,sp tp=2d:2x2 grid:1x2x2 auto" },
    { 8, "tp=3d:2x2x2 tp=2.5d:2x2x2 zero=3,tp=2,sp hsdp=2,tp=2 auto" },
    { 9, "tp=3,sp zero=2" },
};
/* Positions split: as many as devices, fewer, uneven; with all else. */
static const row context_rows[] = {
    { 2, "cp=2 cp=gather:2 cp=ulysses:2 zero=3,cp=2" },
    { 4, "cp=gather:4 cp=ulysses:4 zero=1,cp=2 hsdp=2,cp=2 cp=2,tp=2,sp zero=3,cp=gather:2,"
         "recompute=full,offload=all" },
    { 8, "zero=3,cp=gather:2,tp=2,sp hsdp=2,cp=2 zero=2,cp=ulysses:2,tp=2" },
    { 9, "cp=3 zero=1,cp=gather:9" },
};
static const row long_rows[] = {
    { 4, "cp=gather:4 auto" },
};
static const row conv_rows[] = {
    { 4, "dp zero=3 tp=2 tp=4 tp=2d:2x2 grid:1x2x2 spatial=4 spatial=2 zero=3,spatial=2" },
    { 8, "tp=3d:2x2x2 zero=3,tp=2 spatial=2,dp=2,tp=2" },
    { 9, "zero=1 tp=3 spatial=3" },
};
static const row moe_rows[] = {
    { 4, "dp ep=4 ep=2 ep=2,tp=2 zero=3 tp=2,sp auto" },
    { 8, "ep=4,zero=3 ep=2,tp=2,zero=1 tp=3d:2x2x2" },
};
static const row routed_rows[] = {
    { 2, "dp zero=3 tp=2,sp ep=2" },
    { 4, "ep=2,zero=3 ep=2,tp=2" },
};

/* Experts without slots. */
static const row grouped_rows[] = {
    { 2, "dp tp=2,sp" },
    { 4, "zero=3 tp=2d:2x2 zero=3,tp=2 auto" },
};

static const row image_rows[] = {
    { 2, "dp zero=3 spatial=2" },
    { 4, "dp zero=3 tp=2 tp=2d:2x2 spatial=2 grid:1x2x2" },
};
static const row encoder_rows[] = {
    { 2, "dp tp=2,sp" },
    { 4, "zero=3 tp=4 tp=2d:2x2 tp=2,sp auto" },
};

#define N_ROWS(rows) (int)(sizeof rows / sizeof *rows)

static const row table_rows[] = {
    { 2, "dp embrace row-wise zero=3 tp=2 embrace,zero=1 embrace,offload=optimizer" },
    { 4, "embrace row-wise embrace,tp=2 row-wise,zero=3 auto" },
};

/* Tables that stand in one; three over two devices are uneven. */
static const row stacked_rows[] = {
    { 2, "dp embrace row-wise table-wise zero=3 table-wise,zero=1 table-wise,offload=optimizer" },
    { 3, "table-wise row-wise" },
    { 4, "table-wise table-wise,tp=2 table-wise,zero=3 auto" },
};

/* Two networks, which a buffer lets work apart. */
static const row gan_rows[] = {
    { 2, "dp zero=3 tp=2 apart=2 auto" },
    { 4, "apart=2 apart=2,zero=3 apart=2,tp=2 grid:2x2x1" },
};

/* Biases before a norm have no gradient but rounding, which a sum over devices changes. Apart
 * nothing changes; what is split otherwise: test/train/test_objectives.c. */
static const row apart_rows[] = { { 2, "apart=2" } };

/* What lies in the host's memory. */
static const row hosted_rows[] = {
    { 1, "offload=optimizer offload=weights offload=activations offload=all "
         "recompute=full,offload=all offload=updates offload=weights,offload=updates" },
    { 2, "zero=3,offload=weights,offload=updates tp=2,sp,recompute=full,offload=updates" },
    { 2, "offload=all zero=3,offload=all tp=2,sp,offload=activations recompute=1,offload=all" },
    { 4, "zero=1,offload=optimizer zero=2,offload=optimizer,offload=weights hsdp=2,offload=all "
         "tp=2,sp,offload=all tp=2d:2x2,offload=all zero=3,tp=2,sp,recompute=full,offload=all" },
};
static const row hosted_moe_rows[] = {
    { 4, "ep=2,zero=3,offload=all ep=2,tp=2,offload=weights ep=2,zero=3,offload=updates" },
};
static const row hosted_image_rows[] = {
    { 2, "spatial=2,offload=all zero=3,offload=activations" },
};

/* In micro-batches. */
static const row micro_rows[] = {
    { 2, "dp zero=3 tp=2,sp recompute=full" },
    { 4, "dp zero=1 zero=2 zero=3 hsdp=2 tp=2,sp tp=2d:2x2 zero=3,tp=2,sp,recompute=1 "
         "zero=2,cp=2 zero=3,offload=weights,offload=updates dp,offload=updates auto" },
};
static const row micro_moe_rows[] = {
    { 4, "ep=4 ep=2,tp=2 ep=2,zero=3 auto" },
};

static void check_strategy(pl_verify *v, const char *model, const char *strategy, int n,
                           double *most)
{
    pl_arena *a = pl_arena_new("test");
    pl_verify_found f;
    pl_err err = { 0 };
    if (!verify_strategy(v, strategy, n, a, &f, &err))
        fail_msg("%s, %s on %d: %s", model, strategy, n, err.msg);
    assert_true(f.bytes_counted > 0 || !strcmp(strategy, "auto")); /* copies may be fastest */
    if (f.difference > *most) *most = f.difference;
    pl_arena_free(a);
}

/* One of `each` layouts, from that number on. */
static void check_some(const pl_verify_options *o, const row *rows, int n_rows, int each, int from)
{
    pl_arena *a = pl_arena_new("test");
    const char *model = o->model;
    pl_verify *v;
    pl_err err = { 0 };
    double most = 0;
    int n = 0;
    if (!pl_verify_new(o, a, &v, &err)) fail_msg("%s: %s", model, err.msg);
    for (int i = 0; i < n_rows; i++) {
        char text[512], *rest = text;
        snprintf(text, sizeof text, "%s", rows[i].strategies);
        for (char *s; (s = strtok_r(rest, " ", &rest)); n++)
            if (n % (EACH * each) == from) check_strategy(v, model, s, rows[i].n, &most);
    }
    print_message("%s: %d cases, largest difference %.2g\n", model, n, most);
    pl_verify_free(v);
    pl_arena_free(a);
}

static void check_options(const pl_verify_options *o, const row *rows, int n_rows)
{
    check_some(o, rows, n_rows, 1, 0);
}

/* The i-th of several nets that are alike: these share the layouts. */
static void check_one_of(int i, const pl_verify_options *o, const row *rows, int n_rows)
{
    check_some(o, rows, n_rows, 2, i % 2);
}

static void check_model(const char *model, const row *rows, int n_rows)
{
    const pl_verify_options o = verify_options(model);
    check_options(&o, rows, n_rows);
}

#define CHECK_MODEL(model, rows) check_model(model, rows, (int)(sizeof rows / sizeof *rows))

static void test_mlp(void **state)
{
    (void)state;
    CHECK_MODEL("mlp:layers=3,in=12,hidden=20,classes=5,batch=18", mlp_rows);
}

static void test_gpt(void **state)
{
    (void)state;
    CHECK_MODEL("gpt2:layers=1,hidden=24,heads=6,vocab=20,seq=6,batch=6,dropout=0.1", gpt_rows);
}

static void test_context(void **state)
{
    (void)state;
    CHECK_MODEL("gpt2:layers=2,hidden=24,heads=6,vocab=20,seq=12,batch=4,dropout=0.1",
                context_rows);
    CHECK_MODEL("llama:layers=2,hidden=24,heads=6,kv=2,ffn=16,experts=4,expert=6,every=1,vocab=12,"
                "seq=9,batch=4",
                context_rows);
}

/* What takes long by reference kernels. */
static void check_fast(const char *model, const row *rows, int n_rows)
{
    static const pl_backend *const fast[] = {
#ifdef PLEAT_HAVE_ONEDNN
        &pl_backend_onednn,
#endif
        &pl_backend_native, &pl_backend_widen, &pl_backend_ref
    };
    pl_verify_options o = verify_options(model);
    o.exec.n_backends = sizeof fast / sizeof *fast, o.exec.backends = fast;
    check_options(&o, rows, n_rows);
}

/* One head over one row: its queries are split in chunks. */
static void test_long(void **state)
{
    (void)state;
    if (PL_SANITIZED) return; /* a quarter of all that is verified here */
    check_fast("gpt2:layers=1,hidden=32,heads=1,vocab=16,seq=4096,batch=1,dropout=0.1", long_rows,
               N_ROWS(long_rows));
}

static void test_conv(void **state)
{
    (void)state;
    CHECK_MODEL("resnet18:stages=1,blocks=1,width=6,size=12,classes=4,batch=8", conv_rows);
}

static void test_moe(void **state)
{
    (void)state;
    CHECK_MODEL("moe:layers=1,in=6,hidden=8,experts=4,k=2,tokens=6,classes=3,batch=8", moe_rows);
}

static void test_routed_decoders(void **state)
{
    static const char *const models[] = {
        "llama:layers=2,hidden=16,heads=4,kv=2,ffn=8,experts=4,expert=6,shared=10,names=qwen,even="
        "0,"
        "every=2,bias=1,vocab=12,seq=6,batch=8",
        "deepseek:layers=2,hidden=16,heads=4,kvrank=6,nope=4,turned=4,value=6,ffn=10,expert=6,"
        "experts=8,k=3,even=0,groups=4,chosen=2,scale=2.0,vocab=12,seq=6,batch=8",
        "deepseek:layers=2,hidden=16,heads=4,qrank=6,kvrank=6,nope=4,turned=4,value=6,ffn=10,"
        "expert=6,experts=8,k=3,score=sigmoid,groups=4,chosen=2,scale=2.5,even=1,"
        "vocab=12,seq=6,batch=8",
    };
    (void)state;
    for (int i = 0; i < (int)(sizeof models / sizeof *models); i++) {
        const pl_verify_options o = verify_options(models[i]);
        check_one_of(i, &o, routed_rows, N_ROWS(routed_rows));
    }
    CHECK_MODEL(
        "llama:layers=2,hidden=16,heads=4,kv=2,ffn=8,experts=4,expert=6,capacity=0,vocab=12,"
        "seq=6,batch=8",
        grouped_rows);
}

/* Blocks that share experts, with slots of all images, of two, and none. The tolerance is that of
 * test_depthwise: the biases of keys have no gradient but for rounding. */
static void test_widenet(void **state)
{
#define WIDENET "widenet-b:layers=2,hidden=16,ffn=24,heads=2,patch=4,size=8,classes=4,batch=8"
    static const struct {
        const char *model;
        const row *rows;
        int n;
    } cases[] = {
        { WIDENET ",group=2,capacity=0.8", moe_rows, N_ROWS(moe_rows) },
        { WIDENET ",group=0", routed_rows, N_ROWS(routed_rows) },
        { WIDENET ",capacity=0", grouped_rows, N_ROWS(grouped_rows) },
        { WIDENET ",share=nothing,every=2", routed_rows, N_ROWS(routed_rows) },
    };
    (void)state;
    for (int i = 0; i < (int)(sizeof cases / sizeof *cases); i++) {
        pl_verify_options o = verify_options(cases[i].model);
        o.optim.name = "sgd";
        o.tolerance = 1e-3;
        check_one_of(i, &o, cases[i].rows, cases[i].n);
    }
}

/* A sweep keeps a row of its own for each of the batch's. Its own rounding is enlarged by solving:
 * so the tolerance is that of test_depthwise. */
static void test_sweeps(void **state)
{
    static const row rows[] = {
        { 2, "dp tp=2" },
        { 4, "dp zero=3 tp=2,sp grid:1x2x2 auto" },
    };
    static const char *const models[] = {
        "elman:steps=3,size=6,hidden=8,classes=4,batch=24,method=admm,near=2.0",
        "elman:steps=3,size=6,hidden=8,classes=4,batch=24,method=admm,near=2.0,blocks=linear",
        "elman-text:seq=3,vocab=6,hidden=8,batch=24,method=admm,near=2.0",
        "elman:steps=3,size=6,hidden=8,classes=4,batch=24,method=admm,near=2.0,age=1",
    };
    (void)state;
    for (int i = 0; i < (int)(sizeof models / sizeof *models); i += PL_SANITIZED ? 4 : 1) {
        pl_verify_options o = verify_options(models[i]);
        o.tolerance = 2e-3;
        check_some(&o, rows, N_ROWS(rows), 3, i % 3);
    }
}

/* In these nets norms stand before convolutions without a ReLU between: the biases' gradients and
 * the next norms' means are 0 but for rounding, which adam would enlarge. So the tolerance is that
 * of sums of f32 of either sign, relative to a thousandth of the largest of a kind. */
static void test_depthwise(void **state)
{
    static const char *const models[] = {
        "mobilenet_v2:width=0.2,divisor=4,stages=2,blocks=1,last=8,size=12,classes=4,batch=8",
        "mnasnet0_5:width=0.2,divisor=4,stages=2,blocks=1,last=8,size=12,classes=4,batch=8",
        "efficientnet_b0:width=0.2,divisor=4,stages=2,blocks=2,last=8,size=12,classes=4,batch=8",
    };
    (void)state;
    for (int i = 0; i < (int)(sizeof models / sizeof *models); i++) {
        pl_verify_options o = verify_options(models[i]);
        o.optim.name = "sgd";
        o.tolerance = 1e-3;
        check_one_of(i, &o, image_rows, N_ROWS(image_rows));
    }
}

/* The class token's gradient is small beside what is added up in it: 1.4e-5 was seen of what clang
 * makes. */
static void test_encoders(void **state)
{
    (void)state;
    pl_verify_options o =
        verify_options("vit_b_16:layers=1,hidden=12,heads=6,ffn=12,patch=4,size=8,classes=4,"
                       "batch=8,smoothing=0.1");
    o.tolerance = 3e-5;
    check_options(&o, encoder_rows, N_ROWS(encoder_rows));
    CHECK_MODEL("roberta-base:layers=1,hidden=24,heads=6,ffn=12,vocab=20,classes=12,positions=9,"
                "seq=6,batch=6",
                encoder_rows);
}

/* Tables in columns and rows, and their gradients as rows. */
/* All optimizers with the first model, one with each of the others. */
static void check_tables(int n, const char *const model[], const row *rows, int n_rows)
{
    static const char *const optimizers[] = { "adagrad", "lazy-adam", "adamw", "rowwise-adagrad" };
    for (int i = 0; i < n; i++)
        for (int k = 0; k < 4; k++) {
            if (i && k != i % 4) continue;
            pl_verify_options o = verify_options(model[i]);
            o.optim.name = optimizers[k];
            o.optim.decay = k == 2 ? 0.1 : 0;
            if (strstr(model[i], "bf16")) o.tolerance = 0.05;
            if (strstr(model[i], "wide")) o.tolerance = 1e-4; /* a bias' gradient nearly cancels */
            check_one_of(i + k, &o, rows, n_rows);
        }
}

static void test_tables(void **state)
{
    static const char *const models[] = {
        "dlrm:dense=3,sizes=7-20-3-50,embed=8,bottom=6,top=10,batch=12",
        "dlrm:dense=3,tables=2,rows=9,hots=3,embed=8,bottom=6,top=10,batch=12,dtype=bf16",
        "dlrm:dense=3,tables=2,rows=9,hots=3,bag=max,offsets=1,embed=8,bottom=6,top=10,batch=12",
        "wide_deep:dense=3,sizes=7-20-5,embed=8,deep=10,batch=12",
        "lstm:layers=1,hidden=8,embed=12,vocab=20,seq=3,batch=12",
    };
    (void)state;
    check_tables(N_ROWS(models), models, table_rows, N_ROWS(table_rows));
}

static void test_stacked(void **state)
{
    static const char *const models[] = {
        "dcn:dense=3,sizes=5x20-7-3x9,hots=3-2-1,embed=8-4-8,bottom=6,rank=4,top=10,batch=12",
        "dcn:dense=3,sizes=4x9,hots=2,bag=mean,embed=8,bottom=6,rank=4,top=10,batch=12,dtype=bf16",
        "dlrm:dense=3,sizes=4x20-7,embed=8,bottom=6,top=10,batch=12",
        "wide_deep:dense=3,sizes=5x20-7,hots=2,bag=max,embed=8,deep=10,batch=12",
    };
    (void)state;
    check_tables(N_ROWS(models), models, stacked_rows, N_ROWS(stacked_rows));
}

static void test_gans(void **state)
{
    (void)state;
    CHECK_MODEL("dcgan:size=16,width=4,z=8,channels=1,batch=8,buffer=1", gan_rows);
    if (PL_SANITIZED) return; /* the others take long */
    check_fast("sngan:width=2,judge=2,z=8,channels=1,batch=8,buffer=2", apart_rows,
               N_ROWS(apart_rows));
    check_fast("biggan:size=32,width=2,judge=2,z=8,embed=4,attention=16,channels=1,classes=3,"
               "batch=8,buffer=1",
               apart_rows, N_ROWS(apart_rows));
}

#define GPT_HOSTED "gpt2:layers=3,hidden=24,heads=6,vocab=20,seq=6,batch=12,dropout=0.1"
static void test_hosted(void **state)
{
    (void)state;
    CHECK_MODEL(GPT_HOSTED, hosted_rows);
    CHECK_MODEL("moe:layers=1,in=6,hidden=8,experts=4,k=2,tokens=6,classes=3,batch=8",
                hosted_moe_rows);
    CHECK_MODEL("resnet18:stages=1,blocks=1,width=6,size=12,classes=4,batch=8", hosted_image_rows);
}

/* Gradients of a few rows at a time are small beside what is added up in them: 1.2e-5 was seen. */
static void check_micro(int i, const char *model, int64_t micro, const row *rows, int n_rows)
{
    pl_verify_options o = verify_options(model);
    o.micro = micro;
    o.tolerance = 3e-5;
    check_one_of(i, &o, rows, n_rows);
}

static void test_micro(void **state)
{
    (void)state;
    check_micro(0, GPT_HOSTED, 3, hosted_rows, N_ROWS(hosted_rows));
    check_micro(0, "gpt2:layers=2,hidden=24,heads=6,vocab=20,seq=6,batch=12,dropout=0.1", 3,
                micro_rows, N_ROWS(micro_rows));
    check_micro(1, "gpt2:layers=2,hidden=24,heads=6,vocab=20,seq=6,batch=8,dropout=0", 2,
                micro_rows, N_ROWS(micro_rows));
    check_micro(1, "moe:layers=1,in=6,hidden=8,experts=4,k=2,tokens=6,classes=3,batch=16", 2,
                micro_moe_rows, N_ROWS(micro_moe_rows));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_stacked),  cmocka_unit_test(test_gans),
        cmocka_unit_test(test_mlp),      cmocka_unit_test(test_hosted),
        cmocka_unit_test(test_gpt),      cmocka_unit_test(test_conv),
        cmocka_unit_test(test_moe),      cmocka_unit_test(test_depthwise),
        cmocka_unit_test(test_encoders), cmocka_unit_test(test_routed_decoders),
        cmocka_unit_test(test_widenet),  cmocka_unit_test(test_sweeps),
        cmocka_unit_test(test_micro),    cmocka_unit_test(test_context),
        cmocka_unit_test(test_tables),   cmocka_unit_test(test_long),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
