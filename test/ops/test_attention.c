/* attention against the nodes that it stands for: scores, cap, softmax, dropout, mix. Results and
 * gradients, of the reference kernels; test/backends holds the fast ones to these. And the
 * mistakes that a signature or an attribute may hold. */
#include "eval.h"
#include "graph/autodiff.h"
#include "ops/lib/all.h"
#include "ops/list.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

typedef struct form {
    const char *fused, *outs, *scores, *mix;
    pl_shape q, k, v;
} form;

static const form plain = { "bqhd,bkhd,bkhe",      "bqhe,bhq",
                            "bqhd,bkhd->bhqk",     "bhqk,bkhe->bqhe",
                            { 4, { 2, 7, 3, 5 } }, { 4, { 2, 9, 3, 5 } },
                            { 4, { 2, 9, 3, 4 } } };
static const form grouped = { "bqgrd,bkgd,bkge",        "bqgre,bgrq",
                              "bqgrd,bkgd->bgrqk",      "bgrqk,bkge->bqgre",
                              { 5, { 2, 9, 2, 3, 4 } }, { 4, { 2, 9, 2, 4 } },
                              { 4, { 2, 9, 2, 4 } } };
static const form chunked = { "b(cq)grd,bkgd,bkge", "b(cq)gre,bgr(cq)",       "bqgrd,bkgd->bgrqk",
                              "bgrqk,bkge->bqgre",  { 5, { 2, 9, 2, 3, 4 } }, { 4, { 2, 9, 2, 4 } },
                              { 4, { 2, 9, 2, 4 } } };

static const struct {
    const char *name;
    const form *form;
    const char *mask, *drop; /* attributes of both sides */
    double cap;
} cases[] = {
    { "all pairs", &plain, "", NULL, 0 },
    { "causal", &plain, " causal=1", NULL, 0 },
    { "causal, in groups", &grouped, " causal=1", NULL, 0 },
    { "a window", &grouped, " causal=1 window=4", NULL, 0 },
    { "capped", &plain, " causal=1", NULL, 0.8 },
    { "dropped", &plain, "", "p=0.3 stream=7", 0 },
    { "all of it", &grouped, " causal=1 window=4", "p=0.3 stream=7", 0.8 },
    { "in chunks", &chunked, " causal=1", NULL, 0 },
    { "all of it, in chunks", &chunked, " causal=1 window=4", "p=0.3 stream=7", 0.8 },
};

static const double scale = 0.7;

static pl_value *unfused(pl_builder *b, size_t i, pl_value *const in[3], pl_value *seed)
{
    const form *f = cases[i].form;
    const double cap = cases[i].cap;
    pl_value *p = PL_ADD(b, &pl_op_einsum, f->scores, in[0], in[1]);
    if (cap > 0) {
        p = PL_ADD(b, &pl_op_scale, pl_builder_fmt(b, "; value=%.17g", scale / cap), p);
        p = PL_ADD(b, &pl_op_tanh, NULL, p);
    }
    p = PL_ADD(b, &pl_op_softmax,
               pl_builder_fmt(b, "; scale=%.17g%s", cap > 0 ? cap : scale, cases[i].mask), p);
    if (seed) p = PL_ADD(b, &pl_op_dropout, pl_builder_fmt(b, "; %s", cases[i].drop), p, seed);
    return PL_ADD(b, &pl_op_einsum, f->mix, p, in[2]);
}

static pl_value *fused(pl_builder *b, size_t i, pl_value *const in[3], pl_value *seed)
{
    const form *f = cases[i].form;
    const char *spec = pl_builder_fmt(b, "%s%s->%s; scale=%.17g%s cap=%.17g %s%s", f->fused,
                                      seed ? "," : "", f->outs, scale, cases[i].mask, cases[i].cap,
                                      seed ? cases[i].drop : "", f == &chunked ? " c=3" : "");
    pl_value *const all[] = { in[0], in[1], in[2], seed };
    return pl_add_value(b, &pl_op_attention, NULL, spec, seed ? 4 : 3, all);
}

/* y and the gradients of q, k and v, of either side. */
static pl_graph *make(pl_arena *a, size_t i, bool is_fused)
{
    const form *f = cases[i].form;
    pl_builder b = pl_builder_new(a, &pl_ops_all, "test");
    pl_graph *g = NULL;
    pl_err err = { 0 };
    pl_value *const in[3] = { pl_add_input(&b, "q", PL_F32, f->q),
                              pl_add_input(&b, "k", PL_F32, f->k),
                              pl_add_input(&b, "v", PL_F32, f->v) };
    pl_value *seed = cases[i].drop ? pl_add_input(&b, "seed", PL_I64, PL_SCALAR) : NULL;
    pl_value *y = (is_fused ? fused : unfused)(&b, i, in, seed), *dx[3];
    if (y) {
        pl_value *w = pl_add_input(&b, "w", PL_F32, y->shape);
        pl_value *loss = PL_ADD(&b, &pl_op_einsum, "...,...->", y, w);
        pl_add_output(&b, "y", y);
        pl_autodiff(&b, loss, 3, in, dx);
        for (int k = 0; k < 3 && !b.err.code; k++)
            pl_add_output(&b, (const char *[]){ "dq", "dk", "dv" }[k], dx[k]);
    }
    if (!pl_builder_done(&b, &g, &err)) fail_msg("%s: %s", cases[i].name, err.msg);
    return g;
}

static void run(pl_graph *g, eval *e)
{
    *e = eval_new(g);
    for (int i = 0; i < g->values.n; i++) {
        const pl_value *v = g->values.at[i];
        if (v->role != PL_INPUT) continue;
        eval_random(v->type, &v->shape, e->at[i], pl_rng_at(5, pl_rng_name(v->name)), 0, 0);
    }
    eval_run(e, g->nodes.n);
}

static void compare(const eval *a, const eval *b, const char *name, const char *what)
{
    const pl_value *x = pl_graph_find(a->graph, what), *y = pl_graph_find(b->graph, what);
    assert_true(x && y && pl_shape_same(&x->shape, &y->shape));
    for (int64_t i = 0; i < pl_shape_count(&x->shape); i++) {
        const double found = pl_type_get(x->type, a->at[x->id], i),
                     want = pl_type_get(y->type, b->at[y->id], i);
        if (fabs(found - want) > 2e-6)
            fail_msg("%s: %s at %lld is %.9g, unfused %.9g", name, what, (long long)i, found, want);
    }
}

static void equals_the_nodes_it_stands_for(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        pl_arena *a = pl_arena_new("test");
        eval e[2];
        for (int k = 0; k < 2; k++) run(make(a, i, k == 0), &e[k]);
        for (int k = 0; k < 4; k++)
            compare(&e[0], &e[1], cases[i].name, (const char *[]){ "y", "dq", "dk", "dv" }[k]);
        for (int k = 0; k < 2; k++) eval_free(&e[k]);
        pl_arena_free(a);
    }
}

/* A causal share has half of the pairs, and its parts add up to it. What a step waits for is the
 * heaviest of them, wherever it lies. */
static void flops_are_those_of_the_pairs_that_are_seen(void **state)
{
    static const struct {
        const char *attrs;
        double pairs;
    } masks[] = { { "", 81 }, { "causal=1", 45 }, { "causal=1 window=4", 4 * 9 - 6 } };
    (void)state;
    for (size_t i = 0; i < sizeof masks / sizeof *masks; i++) {
        pl_arena *a = pl_arena_new("test");
        pl_builder b = pl_builder_new(a, &pl_ops_all, "test");
        pl_value *x = pl_add_input(&b, "x", PL_F32, PL_SHAPE(2, 9, 3, 5));
        const char *spec = pl_builder_fmt(&b, "bqhd,bkhd,bkhe->bqhe,bhq; %s", masks[i].attrs);
        const pl_node *n =
            pl_add_node(&b, &pl_op_attention, "y", spec, 3, (pl_value *const[]){ x, x, x });
        assert_non_null(n);
        const pl_share whole = pl_share_whole(n);
        double parts = 0, most = 0;
        for (int part = 0; part < 3; part++) {
            pl_share s = whole;
            pl_share_cut(&s, pl_sig_find(n->sig, 'q'), part * 4, part < 2 ? 4 : 1);
            parts += pl_op_flops(&s);
            if (part < 2) most = fmax(most, pl_op_flops(&s));
        }
        for (int part = 0; part < 2; part++) {
            pl_share s = whole;
            pl_share_cut(&s, pl_sig_find(n->sig, 'q'), part * 4, 4);
            assert_true(pl_op_work(&s) >= most && pl_op_work(&s) <= 1.25 * most);
        }
        assert_true(pl_op_work(&whole) == pl_op_flops(&whole));
        const double want = 2 * 2 * 3 * 10 * masks[i].pairs;
        assert_true(fabs(pl_op_flops(&whole) - want) < 0.5 && fabs(parts - want) < 0.5);
        assert_true(pl_op_multiplies(n));
        pl_arena_free(a);
    }
}

/* Split by queries of all chunks, devices have about as many pairs each, and the heaviest is told
 * exactly. */
static void chunks_are_balanced(void **state)
{
    enum { CHUNKS = 8, QUERIES = 16, KEYS = CHUNKS * QUERIES, PARTS = 4 };
    pl_arena *a = pl_arena_new("test");
    pl_builder b = pl_builder_new(a, &pl_ops_all, "test");
    pl_value *x = pl_add_input(&b, "x", PL_F32, PL_SHAPE(1, KEYS, 1, 4));
    const pl_node *n =
        pl_add_node(&b, &pl_op_attention, "y", "b(cq)hd,bkhd,bkhe->b(cq)he,bh(cq); causal=1 c=8", 3,
                    (pl_value *const[]){ x, x, x });
    assert_non_null(n);
    const pl_share whole = pl_share_whole(n);
    static const struct {
        char letter;
        double most; /* times the mean: 1 + (N - 1) / (8 N), and with chunks alone nearly 2 */
    } by[] = { { 'q', 1.1 }, { 'c', 1.75 } };
    (void)state;
    for (int k = 0; k < 2; k++) {
        const int f = pl_sig_find(n->sig, by[k].letter);
        const int64_t part = n->sig->factor[f].size / PARTS;
        double sum = 0, most = 0, told = 0;
        for (int i = 0; i < PARTS; i++) {
            pl_share s = whole;
            pl_share_cut(&s, f, i * part, part);
            sum += pl_op_flops(&s), most = fmax(most, pl_op_flops(&s)), told = pl_op_work(&s);
        }
        assert_true(fabs(sum - pl_op_flops(&whole)) < 0.5);
        assert_true(fabs(told - most) < 0.5);
        assert_true(fabs(most / (sum / PARTS) - by[k].most) < 0.02);
    }
    pl_arena_free(a);
}

static void mistakes_are_named(void **state)
{
    static const char *const mistakes[][2] = {
        { "bshd,bkhd,bkhe->bshe,bhs", "needs the letter 'q'" },
        { "bqdh,bkhd,bkhe->bqhe,bhq", "'d' has to be the last letter of operand 0" },
        { "bqhd,bkhd,bkhe->bqhe,hq", "'b' is missing in operand 4" },
        { "bqhd,bkgd,bkhe->bqhe,bhq", "'g' is missing in operand 0" },
        { "bqhd,bkhd,bkhe->bqhe,bhq; p=0.5", "3 inputs and 2 outputs, but with p=0.5 it has 4" },
        { "bqhd,bkhd,bkhe->bqhe,bhq; p=1", "p=1 is not in [0, 1)" },
        { "bqhd,bkhd,bkhe->bqhe,bhq; cap=-1", "cap=-1 is negative" },
        { "bqhd,bkhd,bkhe->bqhe,bhq; window=2", "window=2 is for causal=1" },
        { "b(qc)hd,bkhd,bkhe->b(qc)he,bh(qc); causal=1 c=3", "or '(cq)'" },
        { "b(hq)gd,b(hk)gd,b(hk)ge->b(hq)ge,bg(hq); causal=1 h=3", "or '(cq)'" },
    };
    (void)state;
    for (size_t i = 0; i < sizeof mistakes / sizeof *mistakes; i++) {
        pl_arena *a = pl_arena_new("test");
        pl_builder b = pl_builder_new(a, &pl_ops_all, "test");
        pl_value *x = pl_add_input(&b, "x", PL_F32, PL_SHAPE(2, 3, 3, 3));
        const pl_node *n = pl_add_node(&b, &pl_op_attention, "y", mistakes[i][0], 3,
                                       (pl_value *const[]){ x, x, x });
        if (n || !strstr(b.err.msg, mistakes[i][1]))
            fail_msg("\"%s\" gives \"%s\", not \"%s\"", mistakes[i][0], b.err.msg, mistakes[i][1]);
        pl_arena_free(a);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equals_the_nodes_it_stands_for),
        cmocka_unit_test(flops_are_those_of_the_pairs_that_are_seen),
        cmocka_unit_test(chunks_are_balanced),
        cmocka_unit_test(mistakes_are_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
