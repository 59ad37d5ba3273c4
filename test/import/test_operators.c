/* Single operators of ONNX against PyTorch: operators.onnx (bench/torch/onnx_operators.py) holds
 * cases, each an input of zeros to which it adds numbers of its own. Of case NAME the graph's
 * outputs are NAME.error, the answer's largest difference from PyTorch's; NAME.loss, a weighted sum
 * of the answer; and NAME.gradient, PyTorch's gradient of that sum to the input. */
#include "graph/autodiff.h"
#include "graph/op.h"
#include "import/onnx.h"
#include "ops/lib/all.h"
#include "../ops/eval.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { ERROR, LOSS, GRADIENT, KINDS };

/* Zeros, and the numbers that constants list. */
static void fill(eval *e)
{
    for (int i = 0; i < e->graph->values.n; i++) {
        const pl_value *v = e->graph->values.at[i];
        if (v->maker) continue;
        memset(e->at[i], 0, eval_bytes(v->type, &v->shape));
        if (v->role != PL_STATE) continue;
        assert_int_equal(strncmp(v->init, "values", 6), 0);
        const char *at = v->init + strlen("values");
        for (int64_t k = 0; k < pl_shape_count(&v->shape); k++) {
            char *end;
            pl_type_put(v->type, e->at[i], k, strtod(at, &end));
            assert_true(end > at);
            at = end;
        }
    }
}

static double largest_difference(const eval *e, const pl_value *a, const pl_value *b)
{
    double most = 0;
    assert_true(pl_shape_same(&a->shape, &b->shape));
    for (int64_t i = 0; i < pl_shape_count(&a->shape); i++) {
        const double x = pl_type_get(a->type, e->at[a->id], i);
        const double d = fabs(x - pl_type_get(b->type, e->at[b->id], i));
        if (!(d <= most)) most = isnan(d) ? INFINITY : d;
    }
    return most;
}

/* A node of its own: a value may be an input, or one that another output is. */
static pl_value *own(pl_builder *b, pl_value *x, const char *kind, int i)
{
    x = x ? PL_ADD(b, pl_ops_find(&pl_ops_all, "cast"), "; to=f32", x) : NULL;
    if (x) pl_add_output(b, pl_builder_fmt(b, "%s.%d", kind, i), x);
    return x;
}

static int count(const pl_graph *g, const char *op)
{
    int n = 0;
    for (int i = 0; i < g->nodes.n; i++) n += !strcmp(g->nodes.at[i]->op->name, op);
    return n;
}

/* All cases in one graph: their answers, and the gradients of their losses. */
static void agrees(void **state)
{
    pl_arena *a = pl_arena_new("operators");
    pl_builder b = pl_builder_new(a, &pl_ops_all, "operators");
    const pl_onnx_options o = { .train = true };
    pl_onnx *f;
    pl_graph *g;
    pl_err err = { 0 };
    int wrong = 0;
    (void)state;
    const char *source = getenv("PLEAT_SOURCE_DIR");
    const char *path = pl_arena_fmt(a, "%s/test/import/data/operators.onnx", source ? source : ".");
    if (!pl_onnx_open(path, a, &f, &err)) fail_msg("%s", err.msg);
    assert_int_equal(f->n_out, KINDS * f->n_in);
    assert_true(f->n_in >= 50);
    pl_value **out = PL_NEW_N(a, pl_value *, f->n_out), **grad = PL_NEW_N(a, pl_value *, f->n_in);
    pl_onnx_add(&b, f, &o, out);
    for (int i = 0; i < f->n_in && !b.err.code; i++) {
        pl_value *x = pl_graph_find(b.graph, f->in[i].name);
        pl_value **at = out + KINDS * i;
        pl_autodiff(&b, at[LOSS], 1, &x, &grad[i]);
        if (!b.err.code && !grad[i]) fail_msg("%s: no gradient", f->in[i].name);
        at[ERROR] = own(&b, at[ERROR], "error", i);
        at[GRADIENT] = own(&b, at[GRADIENT], "want", i);
        grad[i] = own(&b, grad[i], "gradient", i);
    }
    if (!pl_builder_done(&b, &g, &err)) fail_msg("%s", err.msg);
    /* one with no mask and three that hide what comes later; other masks stay what they are */
    assert_int_equal(count(g, "attention"), 4);
    assert_int_equal(count(g, "attention_grad"), 4);
    eval e = eval_new(g);
    fill(&e);
    eval_run(&e, g->nodes.n);
    for (int i = 0; i < f->n_in; i++) {
        const pl_value *error = out[KINDS * i + ERROR];
        double answer = pl_type_get(error->type, e.at[error->id], 0);
        double slope = largest_difference(&e, grad[i], out[KINDS * i + GRADIENT]);
        if (answer <= 1e-4 && slope <= 1e-3) continue;
        printf("%s: the answer differs by %g, the gradient by %g\n", f->in[i].name, answer, slope);
        wrong++;
    }
    eval_free(&e);
    pl_arena_free(a);
    assert_int_equal(wrong, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(agrees) };
    return cmocka_run_group_tests_name("operators", tests, NULL, NULL);
}
