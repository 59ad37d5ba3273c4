/* Verification: split programs that are right pass, and each kind of damage is found and named. */
#include "support/rounds.h"
#include "ranks.h"

#include "graph/op.h"

#include <math.h>

static const char *const mlp = "mlp:layers=3,in=12,hidden=16,classes=4,batch=8";
static const char *const gpt2 =
    "gpt2:layers=2,hidden=16,heads=4,vocab=32,seq=8,batch=8,dropout=0.1";

static const char *const plain = "gpt2:layers=1,hidden=16,heads=4,vocab=32,seq=8,batch=8,dropout=0";
static const char *const conv = "resnet18:stages=1,blocks=1,width=4,size=8,classes=4,batch=8";

static const char *spec_of(const char *model)
{
    if (!strcmp(model, "mlp")) return mlp;
    if (!strcmp(model, "plain")) return plain;
    return !strcmp(model, "conv") ? conv : gpt2;
}

/* -- what is right passes ---------------------------------------------------------------------- */

static void test_right_ones_pass(void **state)
{
    // clang-format off
    static const struct {
        const char *model, *strategy, *optimizer;
        int n;
        int64_t micro;
    } cases[] = {
        { "mlp", "dp", "adamw", 1 },          { "mlp", "dp", "adamw", 2 },
        { "mlp", "dp", "sgd", 4 },            { "mlp", "zero=1", "adam", 4 },
        { "mlp", "zero=2", "adamw", 2 },      { "mlp", "zero=3", "adamw", 4 },
        { "mlp", "tp=2", "adamw", 4 },        { "mlp", "grid:2x2x2", "sgd", 8 },
        { "gpt2", "dp", "adamw", 3 },         { "gpt2", "tp=2,sp", "adamw", 4 },
        { "gpt2", "zero=3,tp=2", "adam", 4 }, { "gpt2", "tp=2d:2x2", "adamw", 4 },
        { "mlp", "dp", "adamw", 1, 2 },       { "mlp", "dp", "adamw", 4, 2 },
        { "mlp", "zero=1", "sgd", 2, 4 },     { "mlp", "zero=2,tp=2", "adam", 4, 2 },
        { "mlp", "zero=3", "adamw", 3, 2 },   { "mlp", "tp=2.5d:2x2x2", "adamw", 8, 2 },
        { "plain", "dp", "adamw", 2, 2 },     { "plain", "zero=3,tp=2,sp", "adam", 4, 2 },
        { "gpt2", "dp", "adamw", 2, 2 },      { "gpt2", "hsdp=2", "adamw", 4, 4 },
        { "conv", "dp", "adamw", 2, 2 },      { "conv", "tp=2d:2x2", "adamw", 4, 2 },
        { "mlp", "zero=3", "lamb", 4 },       { "gpt2", "zero=1", "lamb", 4 },
        { "gpt2", "zero=3,tp=2", "lamb", 4 }, { "plain", "tp=2,sp", "lamb", 4, 2 },
        { "mlp", "zero=1", "adabelief", 2 },  { "gpt2", "zero=3,tp=2", "adabelief", 4 },
    };
    // clang-format on
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i += PL_SANITIZED ? 4 : 1) {
        pl_arena *a = pl_arena_new("test");
        pl_verify_options o = verify_options(spec_of(cases[i].model));
        pl_verify_found f;
        pl_err err;
        o.optim.name = cases[i].optimizer;
        o.micro = cases[i].micro;
        o.tolerance = -1; /* as the command has it: rounding is told from error */
        if (!verify(&o, cases[i].strategy, cases[i].n, a, &f, &err))
            fail_msg("%s, %s on %d in %d micro-batches: %s", cases[i].model, cases[i].strategy,
                     cases[i].n, (int)cases[i].micro, err.msg);
        assert_true(f.difference <= 2e-5 && f.tensor);
        assert_true((f.bytes_counted > 0) == (cases[i].n > 1));
        assert_int_equal(f.bytes_counted, f.bytes_predicted);
        pl_arena_free(a);
    }
}

/* In micro-batches the whole run is in one piece, unless the batch has statistics or the numbers
 * that are drawn are each micro-batch's own. */
static void test_whole_of_micro_batches(void **state)
{
    // clang-format off
    static const struct {
        const char *model;
        int64_t micro, runs;
    } cases[] = { { "mlp", 0, 1 }, { "mlp", 1, 1 }, { "mlp", 4, 1 }, { "plain", 2, 1 },
                  { "gpt2", 1, 1 }, { "gpt2", 2, 2 }, { "conv", 1, 1 }, { "conv", 4, 4 } };
    // clang-format on
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        pl_arena *a = pl_arena_new("test");
        pl_verify_options o = verify_options(spec_of(cases[i].model));
        pl_verify *v;
        pl_err err = { 0 };
        o.micro = cases[i].micro;
        if (!pl_verify_new(&o, a, &v, &err)) fail_msg("%s: %s", cases[i].model, err.msg);
        assert_int_equal(pl_verify_runs(v), cases[i].runs);
        assert_non_null(strstr(pl_verify_model(v), "batch=8")); /* of the step */
        pl_verify_free(v);
        pl_arena_free(a);
    }
}

static void count_steps(pl_program *p, void *arg)
{
    int *n = arg;
    for (int i = 0; p->rank == 0 && i < p->n_steps; i++)
        *n += p->step[i].kind == PL_MESSAGE && p->step[i].collective == PL_BROADCAST;
}

/* Gathers in steps with their readers: the same numbers, from the same bytes. */
static void test_gathers_in_steps(void **state)
{
    // clang-format off
    static const struct {
        const char *model, *strategy;
        int n;
    } cases[] = {
        { "mlp", "zero=3", 4 },      { "mlp", "tp=2d:2x2", 4 },  { "mlp", "grid:2x2x2", 8 },
        { "gpt2", "zero=3", 4 },     { "gpt2", "tp=2,sp", 4 },   { "gpt2", "tp=2d:2x2", 4 },
        { "gpt2", "grid:1x2x2", 4 }, { "mlp", "tp=2d:4x4", 16 }, { "gpt2", "zero=3,tp=2,sp", 8 },
    };
    // clang-format on
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i += PL_SANITIZED ? 3 : 1) {
        pl_arena *a = pl_arena_new("test");
        pl_verify_options o = verify_options(!strcmp(cases[i].model, "mlp") ? mlp : gpt2);
        int64_t bytes[2];
        o.tolerance = 2e-5; /* after the first step biases are small */
        int broadcasts = 0;
        for (int k = 0; k < 2; k++) {
            pl_verify_found f;
            pl_err err;
            broadcasts = 0;
            o.plan.lower.step_bytes = k;
            o.spoil = count_steps, o.spoil_arg = &broadcasts;
            if (!verify(&o, cases[i].strategy, cases[i].n, a, &f, &err))
                fail_msg("%s, %s on %d: %s", cases[i].model, cases[i].strategy, cases[i].n,
                         err.msg);
            assert_true(f.difference <= o.tolerance);
            assert_int_equal(f.bytes_counted, f.bytes_predicted);
            bytes[k] = f.bytes_counted;
            assert_true((broadcasts > 0) == (k == 1));
        }
        assert_int_equal(bytes[1], bytes[0]);
        print_message("%s, %s on %d: %d broadcasts\n", cases[i].model, cases[i].strategy,
                      cases[i].n, broadcasts);
        pl_arena_free(a);
    }
}

/* Without a tolerance the rounding of another order of sums shows. */
static void test_rounding_is_seen(void **state)
{
    pl_arena *a = pl_arena_new("test");
    pl_verify_options o = verify_options(gpt2);
    pl_verify_found f;
    pl_err err;
    (void)state;
    o.tolerance = 0;
    assert_false(verify(&o, "dp", 4, a, &f, &err));
    assert_int_equal(err.code, PL_EMISMATCH);
    assert_true(f.difference > 0 && f.difference < 1e-3);
    assert_non_null(f.first);
    pl_arena_free(a);
}

/* -- what is damaged is found ------------------------------------------------------------------ */

/* A kind of damage, done to one rank (or -1: all) of the programs with (or without) gradients as
 * outputs. `hits` counts what was damaged, by rank. */
typedef struct damage {
    bool (*harm)(struct damage *d, pl_program *p, pl_step *s);
    int rank;
    bool gradients, steps;
    const char *tensor; /* NULL: any */
    int hits[MAX_RANKS];
    int n_replaced; /* of the programs of the one rank */
    pl_node node[3];
    pl_share share[3];
    pl_attr attr[3][4];
} damage;

static bool has_gradients(const pl_program *p)
{
    for (int i = 0; i < p->n_outputs; i++)
        if (strstr(p->output[i].value->name, ".grad")) return true;
    return false;
}

/* The first step that the damage applies to. */
static void spoil(pl_program *p, void *arg)
{
    damage *d = arg;
    bool wanted = has_gradients(p) ? d->gradients : d->steps;
    if (!wanted || (d->rank >= 0 && p->rank != d->rank)) return;
    for (int i = 0; i < p->n_steps; i++) {
        bool named = !d->tensor || !strcmp(p->step[i].label, d->tensor);
        if (named && d->harm(d, p, &p->step[i])) {
            d->hits[p->rank]++;
            return;
        }
    }
}

/* Each combines with itself alone. */
static bool drop_reduce(damage *d, pl_program *p, pl_step *s)
{
    (void)d;
    (void)p;
    if (s->kind != PL_MESSAGE || s->collective != PL_ALL_REDUCE || s->count < 2) return false;
    s->axes = 0;
    return true;
}

/* A copy of the share, and of its node, which may be changed. */
static pl_share *replace_share(damage *d, pl_step *s)
{
    int k = d->n_replaced++;
    assert_in_range(k, 0, 2);
    d->share[k] = *s->share;
    d->node[k] = *s->share->node;
    d->share[k].node = &d->node[k];
    s->share = &d->share[k];
    return &d->share[k];
}

/* Another attribute in the node of one rank. */
static void replace_attr(damage *d, pl_step *s, const char *name, const char *text)
{
    replace_share(d, s);
    pl_node *mine = &d->node[d->n_replaced - 1];
    pl_attr *attr = d->attr[d->n_replaced - 1];
    int k = 0;
    assert_in_range(mine->n_attrs, 1, 4);
    memcpy(attr, mine->attr, sizeof *mine->attr * (size_t)mine->n_attrs);
    while (k < mine->n_attrs && strcmp(mine->attr[k].name, name)) k++;
    assert_true(k < mine->n_attrs);
    attr[k].text = text;
    mine->attr = attr;
}

/* The gradient of the loss by itself is 2. */
static bool double_gradients(damage *d, pl_program *p, pl_step *s)
{
    (void)p;
    if (s->kind != PL_KERNEL || strncmp(s->label, "dloss", 5)) return false;
    replace_attr(d, s, "value", "2");
    return true;
}

/* The rows of the batch that are rank 0's. */
static bool take_wrong_rows(damage *d, pl_program *p, pl_step *s)
{
    bool any = false;
    (void)d;
    (void)s;
    for (int i = 0; i < p->n_inputs; i++) {
        pl_region *region = (pl_region *)p->input[i].region;
        for (int k = 0; k < region->n; k++) {
            any |= region->digit[k].lo > 0;
            region->digit[k].lo = 0;
        }
    }
    return any;
}

/* The mask of another rank. */
static bool draw_wrong_mask(damage *d, pl_program *p, pl_step *s)
{
    (void)p;
    if (s->kind != PL_KERNEL || strcmp(s->share->node->op->name, "dropout")) return false;
    pl_share *mine = replace_share(d, s);
    for (int f = 0; f < mine->node->sig->n_factors; f++) mine->factor[f].lo = 0;
    return true;
}

/* What a message brought is not put in its place: its reader sees what was there before. */
static bool skip_copy(damage *d, pl_program *p, pl_step *s)
{
    (void)d;
    (void)p;
    if (s->kind != PL_COPY || !s->transfer || s->from != PL_INCOMING) return false;
    s->n_copies = 0;
    return true;
}

/* The kernel reads its second input where the first one lies. */
static bool read_stale(damage *d, pl_program *p, pl_step *s)
{
    (void)d;
    (void)p;
    if (s->kind != PL_KERNEL || strcmp(s->share->node->op->name, "einsum")) return false;
    s->in[1] = s->in[0];
    return true;
}

/* A little more decay than on the other ranks. */
static bool decay_more(damage *d, pl_program *p, pl_step *s)
{
    (void)p;
    if (s->kind != PL_KERNEL || strcmp(s->share->node->op->name, "adamw")) return false;
    if (pl_node_real(s->share->node, "decay", 0) <= 0) return false;
    replace_attr(d, s, "decay", "0.1001");
    return true;
}

static bool predict_less(damage *d, pl_program *p, pl_step *s)
{
    (void)d;
    (void)s;
    p->message_bytes -= 4;
    return true;
}

// clang-format off
static const struct {
    const char *name, *model, *strategy;
    int n;
    damage d;
    const char *found; /* within the message */
    int64_t micro;
} damages[] = {
    { "dropped reduce", "mlp", "dp", 2,
      { drop_reduce, -1, true, false, "layers.1.weight.gradient" },
      "gradient of 'layers.1.weight' differs" },
    { "dropped reduce", "mlp", "dp", 4,
      { drop_reduce, -1, true, false, "layers.0.bias.gradient" },
      "gradient of 'layers.0.bias' differs" },
    { "dropped reduce in the steps", "mlp", "dp", 2, { drop_reduce, -1, false, true },
      "differs from the whole run" },
    { "doubled gradients, all ranks", "mlp", "dp", 1, { double_gradients, 0, true, false },
      "gradient of 'layers.2.bias' differs from the whole run by 1 on rank 0" },
    { "doubled gradients, one rank", "gpt2", "tp=2", 2, { double_gradients, 1, true, true },
      "gradient of '" },
    { "wrong rows", "mlp", "dp", 2, { take_wrong_rows, 1, true, false },
      "loss of step 1 differs" },
    { "wrong rows in the steps", "gpt2", "dp", 2, { take_wrong_rows, 1, false, true },
      "loss of step 1 differs" },
    { "wrong mask", "gpt2", "dp", 2, { draw_wrong_mask, 1, true, false },
      "loss of step 1 differs" },
    { "skipped copy", "gpt2", "zero=3", 2, { skip_copy, 1, true, true }, "differs" },
    { "stale operand", "mlp", "dp", 2, { read_stale, 1, true, false },
      "loss of step 1 differs from the whole run" },
    { "copies drift", "mlp", "dp", 2, { decay_more, 1, false, true },
      "replicas differ: ranks 0 and 1 hold copies of 'layers." },
    { "wrong books", "mlp", "dp", 2, { predict_less, 1, false, true }, "rank 1 received" },
    { "micro: doubled gradients", "mlp", "dp", 1, { double_gradients, 0, true, true },
      "gradient of 'layers.2.bias' differs from the whole run by 1 on rank 0", 2 },
    { "micro: wrong rows", "gpt2", "dp", 2, { take_wrong_rows, 1, false, true },
      "loss of step 1 differs", 2 },
    { "micro: dropped reduce in the update", "mlp", "dp", 2,
      { drop_reduce, -1, false, true, "layers.2.weight.grad.add" },
      "grad_norm of step 1 differs", 2 },
    { "micro: dropped reduce of a gradient", "mlp", "dp", 2,
      { drop_reduce, -1, true, false, "layers.1.bias.grad.add" },
      "gradient of 'layers.1.bias' differs", 2 },
    { "micro: copies drift", "mlp", "dp", 2, { decay_more, 1, false, true },
      "replicas differ: ranks 0 and 1 hold copies of 'layers.", 2 },
    { "micro: wrong books", "mlp", "dp", 2, { predict_less, 1, false, true },
      "rank 1 received", 2 },
    { "micro: wrong books of an update", "mlp", "dp", 2, { predict_less, 1, true, false },
      "rank 1 received", 2 },
};
// clang-format on

static void test_damage_is_found(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof damages / sizeof *damages; i++) {
        pl_arena *a = pl_arena_new("test");
        pl_verify_options o = verify_options(spec_of(damages[i].model));
        damage d = damages[i].d;
        pl_verify_found f;
        pl_err err;
        o.micro = damages[i].micro;
        o.spoil = spoil;
        o.spoil_arg = &d;
        o.plan.lower.bucket_bytes = 1; /* so that a message has one tensor's name */
        bool passed = verify(&o, damages[i].strategy, damages[i].n, a, &f, &err);
        int hits = 0;
        for (int k = 0; k < MAX_RANKS; k++) hits += d.hits[k];
        if (!hits) fail_msg("%s: nothing was damaged", damages[i].name);
        if (passed || err.code != PL_EMISMATCH || !strstr(err.msg, damages[i].found))
            fail_msg("%s: found '%s'", damages[i].name, err.msg);
        pl_arena_free(a);
    }
}

/* -- what is refused --------------------------------------------------------------------------- */

static void test_refusals(void **state)
{
    // clang-format off
    static const struct {
        const char *model, *optimizer, *strategy, *text;
        double lr;
        pl_code code;
        int64_t micro;
    } cases[] = {
        { "mlp:nokey=1", "adamw", "dp", "nokey", 0.01, PL_EUSAGE },
        { "mlp", "newton", "dp", "unknown optimizer 'newton'", 0.01, PL_EUSAGE },
        { "mlp", "adamw", "magic=2", "magic", 0.01, PL_EUSAGE },
        { "mlp:batch=8", "sgd", "dp",
          "batch=8 does not divide into 3 micro-batches: give --batch 9, or another --micro", 0.01,
          PL_EUSAGE, 3 },
        { "mlp:batch=4", "sgd", "dp", "the whole run is not finite: loss of step", 1e30, PL_ERUN,
          2 },
        { "mlp:batch=4", "sgd", "dp", "the whole run is not finite: loss of step", 1e30, PL_ERUN },
    };
    // clang-format on
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        pl_arena *a = pl_arena_new("test");
        pl_verify_options o = verify_options(cases[i].model);
        pl_verify_found f;
        pl_err err;
        o.optim.name = cases[i].optimizer;
        o.lr = cases[i].lr;
        o.micro = cases[i].micro;
        if (cases[i].code == PL_ERUN) o.optim.clip = 0;
        assert_false(verify(&o, cases[i].strategy, 2, a, &f, &err));
        if (err.code != cases[i].code || !strstr(err.msg, cases[i].text))
            fail_msg("%s: %d %s", cases[i].model, (int)err.code, err.msg);
        pl_arena_free(a);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_right_ones_pass),        cmocka_unit_test(test_gathers_in_steps),
        cmocka_unit_test(test_whole_of_micro_batches), cmocka_unit_test(test_rounding_is_seen),
        cmocka_unit_test(test_damage_is_found),        cmocka_unit_test(test_refusals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
