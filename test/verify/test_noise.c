/* Verification of models whose rounding is larger than the tolerance: a norm takes biases before it
 * out again, whose gradient is rounding alone; ReLUs and maxima stand at ties; adam makes steps of
 * both. What is right passes, what is wrong is found all the same. */
#include "support/rounds.h"
#include "ranks.h"

#include "graph/op.h"
#include "run/exec.h"

#include <math.h>
#include <stdio.h>

static const char *const mobile =
    "mobilenet_v2:width=0.5,divisor=3,stages=3,blocks=1,last=8,size=15,classes=2,batch=8,dropout=0";
static const char *const efficient =
    "efficientnet_b0:width=0.2,divisor=3,stages=2,blocks=1,last=8,size=12,classes=4,batch=8";
static const char *const small =
    "mobilenet_v2:width=0.25,divisor=3,stages=3,blocks=1,last=5,size=8,classes=2,batch=8,dropout=0";
static const char *const resnet =
    "resnet50:depth=18,stages=2,blocks=1,width=3,size=12,classes=4,batch=8";
static const char *const vgg =
    "vgg16:depth=11,width=2,size=32,hidden=8,classes=3,batch=8,dropout=0";

static pl_verify_options rough_options(const char *model)
{
    pl_verify_options o = verify_options(model);
    o.steps = 2;
    o.tolerance = -1;
    o.plan.lower.bucket_bytes = 1; /* a message for each tensor */
    o.plan.lower.order = PL_ORDER_PROGRAM;
    return o;
}

/* -- what is right passes ---------------------------------------------------------------------- */

static void test_rounding_passes(void **state)
{
    // clang-format off
    static const struct {
        const char *const *model;
        const char *dtype, *strategy, *optimizer;
        int n;
        int64_t micro;
        double eps; /* 0: the usual one */
    } cases[] = {
        { &mobile, "f32", "spatial=2,dp", "adam", 4 },
        { &mobile, "f32", "dp", "adamw", 2, 2, 1e-8 },
        { &efficient, "f32", "tp=2", "sgd", 2 },
        { &vgg, "bf16", "tp=2,spatial=2", "adamw", 4 },
    };
    // clang-format on
    (void)state;
    for (size_t i = PL_SANITIZED ? 2 : 0; i < sizeof cases / sizeof *cases;
         i += PL_SANITIZED ? 4 : 1) {
        pl_arena *a = pl_arena_new("test");
        pl_verify_options o =
            rough_options(pl_arena_fmt(a, "%s,dtype=%s", *cases[i].model, cases[i].dtype));
        pl_verify_found f;
        pl_err err;
        o.optim.name = cases[i].optimizer;
        o.micro = cases[i].micro;
        if (cases[i].eps > 0) o.optim.eps = cases[i].eps;
        if (!verify(&o, cases[i].strategy, cases[i].n, a, &f, &err))
            fail_msg("%s, %s: %s", o.model, cases[i].strategy, err.msg);
        if (!f.measured) fail_msg("%s, %s: within the tolerance", o.model, cases[i].strategy);
        assert_true(f.n_rough > 0 && f.rough && f.noise > 0 && f.ratio > 0 && f.ratio <= 10);
        assert_true(f.exact_difference < (cases[i].eps > 0 ? 1e-3 : 1e-9));
        assert_null(f.first);
        print_message("%s, %s: %d of %d over, f64 %.1e, %.2f of the noise\n", o.model,
                      cases[i].strategy, f.n_rough, f.n_tensors, f.exact_difference, f.ratio);
        pl_arena_free(a);
    }
}

/* A tolerance that the user gave is the limit. */
static void test_given_tolerance(void **state)
{
    pl_arena *a = pl_arena_new("test");
    pl_verify_options o = rough_options(mobile);
    pl_verify_found f;
    pl_err err;
    (void)state;
    o.tolerance = 1e-5;
    assert_false(verify(&o, "spatial=2,dp", 4, a, &f, &err));
    assert_int_equal(err.code, PL_EMISMATCH);
    assert_false(f.measured);
    assert_non_null(strstr(err.msg, "(tolerance 1e-05)"));
    pl_arena_free(a);
}

/* Nobody waits for f64 where nothing is over the tolerance, unless it is asked for. */
static void test_asked_for(void **state)
{
    (void)state;
    for (int asked = 0; asked < 2; asked++) {
        pl_arena *a = pl_arena_new("test");
        pl_verify_options o = rough_options("mlp:layers=2,in=8,hidden=8,classes=3,batch=8");
        pl_verify_found f;
        pl_err err;
        o.exact = asked;
        if (!verify(&o, "tp=2,zero=1", 4, a, &f, &err)) fail_msg("%s", err.msg);
        assert_int_equal(f.measured, asked);
        assert_int_equal(f.n_rough, 0);
        assert_true(f.exact_difference < 1e-13 && (f.exact_difference > 0) == asked);
        pl_arena_free(a);
    }
}

/* Blocks of a node in steps that wait for their copies lie wherever there is room: behind each
 * other too, which the check of programs took for a mistake. */
static void test_blocks_beside_each_other(void **state)
{
    pl_arena *a = pl_arena_new("test");
    pl_verify_options o = rough_options("resnet50:depth=50,stages=2,width=4,size=16,classes=7,"
                                        "blocks=1,batch=4,dtype=bf16");
    pl_verify_found f;
    pl_err err;
    (void)state;
    o.steps = 1;
    o.plan.lower =
        (pl_lower_options){ .bucket_bytes = 64, .step_bytes = 1, .order = PL_ORDER_PLEAT };
    if (!verify(&o, "auto", 8, a, &f, &err)) fail_msg("%s", err.msg);
    pl_arena_free(a);
}

/* -- what is wrong is found -------------------------------------------------------------------- */

struct damage;

/* An operator of one rank that computes something else. No fast kernel knows it. */
typedef struct patch {
    pl_op op; /* first: a node's op is one of these */
    const pl_op *was;
    const struct damage *d;
    int calls;
} patch;

enum { MOST_PROGRAMS = 6 }; /* of a rank: those that train, in f32 or bf16 and in f64 */

typedef struct damage {
    bool (*harm)(struct damage *d, pl_program *p, pl_step *s);
    const char *op; /* of a KERNEL                                       */
    int nth;        /* which of the steps that it applies to, from 0     */
    int rank;       /* -1: all                                           */
    bool gradients; /* also in the programs with gradients as outputs    */
    double factor;  /* of outputs; or what is added to one element, in
                       units of the largest                              */
    bool one;       /* of its first output: the element in the middle    */
    bool drop;      /* every other call does nothing                     */
    int hits[MAX_RANKS];
    patch patch[MAX_RANKS][MOST_PROGRAMS];
    pl_node node[MAX_RANKS][MOST_PROGRAMS];
    pl_share share[MAX_RANKS][MOST_PROGRAMS];
} damage;

static void run_patched(const pl_share *s, const void *const in[], void *const out[])
{
    patch *p = (patch *)(uintptr_t)s->node->op;
    const damage *d = p->d;
    int64_t n = pl_shape_count(pl_share_out(s, 0));
    if (d->drop && p->calls++ % 2) return;
    p->was->ref(s, in, out);
    for (int k = 0; k < s->node->n_out; k++) {
        pl_type t = s->node->out[k]->type;
        if (d->one && k) break;
        double top = 0;
        for (int64_t i = 0; i < n; i++) top = fmax(top, fabs(pl_type_get(t, out[k], i)));
        for (int64_t i = 0; i < n && !d->drop && !d->one; i++)
            pl_type_put(t, out[k], i, d->factor * pl_type_get(t, out[k], i));
        if (d->one) pl_type_put(t, out[k], n / 2, pl_type_get(t, out[k], n / 2) + d->factor * top);
        n = k + 1 < s->node->n_out ? pl_shape_count(pl_share_out(s, k + 1)) : 0;
    }
}

static bool patch_kernel(damage *d, pl_program *p, pl_step *s)
{
    if (s->kind != PL_KERNEL || strcmp(s->share->node->op->name, d->op)) return false;
    int r = p->rank, k = d->hits[r];
    assert_in_range(k, 0, MOST_PROGRAMS - 1);
    patch *x = &d->patch[r][k];
    *x = (patch){ .op = *s->share->node->op, .was = s->share->node->op, .d = d };
    x->op.ref = run_patched;
    d->node[r][k] = *s->share->node;
    d->node[r][k].op = &x->op;
    d->share[r][k] = *s->share;
    d->share[r][k].node = &d->node[r][k];
    s->share = &d->share[r][k];
    return true;
}

/* Each combines with itself alone. */
static bool drop_reduce(damage *d, pl_program *p, pl_step *s)
{
    (void)d, (void)p;
    if (s->kind != PL_MESSAGE || s->collective != PL_ALL_REDUCE || s->count < 2) return false;
    s->axes = 0;
    return true;
}

/* What came in is not put in its place: its reader sees what was there before. */
static bool skip_copy(damage *d, pl_program *p, pl_step *s)
{
    (void)d, (void)p;
    if (s->kind != PL_COPY || !s->transfer || s->from != PL_INCOMING || !s->n_copies) return false;
    s->n_copies = 0;
    return true;
}

static bool skip_halo(damage *d, pl_program *p, pl_step *s)
{
    if (s->kind != PL_COPY || !s->transfer || s->transfer->move.kind != PL_HALO) return false;
    return skip_copy(d, p, s);
}

static bool has_gradients(const pl_program *p)
{
    for (int i = 0; i < p->n_outputs; i++)
        if (strstr(p->output[i].value->name, ".gradient")) return true;
    return false;
}

static void spoil(pl_program *p, void *arg)
{
    damage *d = arg;
    int left = d->nth;
    if ((has_gradients(p) && !d->gradients) || (d->rank >= 0 && p->rank != d->rank)) return;
    for (int i = 0; i < p->n_steps; i++) {
        pl_step was = p->step[i];
        if (!d->harm(d, p, &p->step[i])) continue;
        if (!left--) {
            d->hits[p->rank]++;
            return;
        }
        p->step[i] = was;
    }
}

// clang-format off
static const struct {
    const char *name, *strategy;
    int n;
    int64_t micro;
    bool subtle; /* below the tolerance of bf16: asked for in f64 */
    damage d;
    bool wide;   /* in bf16 too, and in another model             */
} damages[] = {
    { "lost all-reduce", "dp", 4, 0, false, { drop_reduce, .nth = 3, .rank = -1 }, true },
    { "lost all-reduce of a norm", "dp", 2, 0, false, { drop_reduce, .nth = 8, .rank = -1 } },
    { "scale of 1/n", "dp", 4, 0, false,
      { patch_kernel, "cross_entropy_loss_grad", 0, -1, true, 0.25 } },
    { "a share is missing", "dp", 4, 0, true,
      { patch_kernel, "conv2d_grad_weight", 2, 3, false, 0 } },
    { "a share divided by n", "dp", 4, 0, true,
      { patch_kernel, "conv2d_grad_weight", 1, 3, false, 0.125 }, true },
    { "a gradient off by 1e-3", "dp", 2, 0, true,
      { patch_kernel, "conv2d_grad_weight", 2, 1, false, 1.001 }, true },
    { "a gradient off by 1e-3 in the first step", "dp", 2, 0, true,
      { patch_kernel, "conv2d_grad_data", 1, 1, true, 1.001 } },
    { "a wrong element", "dp", 2, 0, true,
      { patch_kernel, "conv2d_grad_weight", 1, 0, false, 0.01, true } },
    { "a wrong element between", "tp=2", 2, 0, true,
      { patch_kernel, "conv2d", 1, 0, false, 0.01, true } },
    { "stale weights", "zero=3", 4, 0, false, { skip_copy, .nth = 2, .rank = 1 } },
    { "missing halo row", "spatial=2", 2, 0, true, { skip_halo, .nth = 1, .rank = 1 } },
    { "missing halo row in the first step", "spatial=2", 2, 0, true,
      { skip_halo, .nth = 0, .rank = 0, .gradients = true } },
    { "dropped micro-batch", "dp", 2, 2, true,
      { patch_kernel, "accumulate", 4, -1, false, 1, false, true } },
};
// clang-format on

static void find_damage(size_t i, const char *model, bool bf16)
{
    pl_arena *a = pl_arena_new("test");
    pl_verify_options o = rough_options(pl_arena_fmt(a, "%s%s", model, bf16 ? ",dtype=bf16" : ""));
    damage *d = PL_NEW(a, damage);
    pl_verify_found f;
    pl_err err;
    *d = damages[i].d;
    o.steps = 1;
    o.micro = damages[i].micro;
    o.exact = bf16 && damages[i].subtle;
    o.spoil = spoil;
    o.spoil_arg = d;
    bool passed = verify(&o, damages[i].strategy, damages[i].n, a, &f, &err);
    int hits = 0;
    for (int k = 0; k < MAX_RANKS; k++) hits += d->hits[k];
    if (!hits) fail_msg("%s, %s: nothing was damaged", o.model, damages[i].name);
    if (passed || err.code != PL_EMISMATCH)
        fail_msg("%s, %s: found '%s' (%.2g, in f64 %.2g)", o.model, damages[i].name, err.msg,
                 f.difference, f.exact_difference);
    print_message("%s, %s: %s\n", o.model, damages[i].name, err.msg);
    pl_arena_free(a);
}

static void find_wide(const char *model, bool bf16)
{
    for (size_t i = 0; i < sizeof damages / sizeof *damages; i++)
        if (damages[i].wide) find_damage(i, model, bf16);
}

static void test_damage_of_mobilenet(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof damages / sizeof *damages; i += 1 + PL_SANITIZED)
        find_damage(i, small, false);
}

static void test_damage_in_bf16(void **state)
{
    (void)state;
    find_wide(small, true);
}

static void test_damage_of_resnet(void **state)
{
    (void)state;
    find_wide(resnet, false);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rounding_passes),     cmocka_unit_test(test_given_tolerance),
        cmocka_unit_test(test_asked_for),           cmocka_unit_test(test_blocks_beside_each_other),
        cmocka_unit_test(test_damage_of_mobilenet), cmocka_unit_test(test_damage_in_bf16),
        cmocka_unit_test(test_damage_of_resnet),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
