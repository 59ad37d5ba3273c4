/* Unfused updates: the work block of models whose largest weight, of G bytes, is more than their
 * activations. By the closed forms, an update takes a few times G: its gradient and transients. */
#include "support/training.h"

enum { SLACK = 1 << 17 }; /* bytes: small gradients and activations beside those of the update */

static const pl_program *lower(const char *model, const char *rule, const pl_lower_options *o,
                               pl_arena *a)
{
    pl_optim optim = pl_optim_usual(rule);
    pl_model_args args;
    pl_graph *g;
    pl_program *p = NULL;
    pl_err err = { 0 };
    optim.clip = 0;
    optim.unfused = true;
    if (!pl_model_parse(model, a, &args, &err)) fail_msg("%s", err.msg);
    pl_builder b = pl_optim_step(&args, &optim, 1, a);
    if (!pl_builder_done(&b, &g, &err)) fail_msg("%s: %s", model, err.msg);
    const pl_plan *plan = training_plan(g, "dp", 1, a);
    if (!pl_program_lower(plan, 0, pl_store_new(plan, 0, a), o, a, &p, &err) ||
        !pl_program_check(p, &err))
        fail_msg("%s: %s", model, err.msg);
    return p;
}

/* By rule, apart or not, and order: how many times G.
 *
 * Apart, the second moment of Adam is a third tensor beside the gradient and the scaled moment that
 * it is made of: 3. In an order that makes the first moment before, that waits beside them: 4. The
 * new weight of AdamW is made of a shrunk weight, a moment and a denominator: 4. The moment of SGD
 * is like the second of Adam: 3. A result that may lie over what it is made of saves one each. */
static const struct {
    const char *rule;
    bool apart;
    int times[PL_N_ORDERS]; /* 0: not asked for */
} rows[] = {
    { "adam", true, { [PL_ORDER_PROGRAM] = 4, [PL_ORDER_LESCEA] = 4, [PL_ORDER_PLEAT] = 3 } },
    { "adam", false, { [PL_ORDER_PROGRAM] = 3, [PL_ORDER_LESCEA] = 3, [PL_ORDER_PLEAT] = 2 } },
    { "adamw", true, { [PL_ORDER_PROGRAM] = 4, [PL_ORDER_LESCEA] = 4, [PL_ORDER_PLEAT] = 4 } },
    { "adamw", false, { [PL_ORDER_PROGRAM] = 3, [PL_ORDER_LESCEA] = 3, [PL_ORDER_PLEAT] = 3 } },
    { "sgd", true, { [PL_ORDER_PROGRAM] = 3, [PL_ORDER_LESCEA] = 3, [PL_ORDER_PLEAT] = 3 } },
    { "sgd", false, { [PL_ORDER_PROGRAM] = 2, [PL_ORDER_LESCEA] = 2, [PL_ORDER_PLEAT] = 2 } },
};

static void check_model(const char *model, int64_t g, size_t row, pl_step_order order)
{
    pl_arena *a = pl_arena_new("test");
    const pl_lower_options o = { .order = order, .apart = rows[row].apart };
    const pl_program *p = lower(model, rows[row].rule, &o, a);
    const int64_t want = rows[row].times[order] * g;
    if (p->work_bytes < want || p->work_bytes > want + SLACK)
        fail_msg("%s, %s, order %s%s: %.3f MiB of work, not %d times %.3f", model, rows[row].rule,
                 pl_step_order_name(order), rows[row].apart ? ", apart" : "",
                 (double)p->work_bytes / 0x1p20, rows[row].times[order], (double)g / 0x1p20);
    if (order == PL_ORDER_PLEAT) { /* and that it is the least, but for a thousandth, is proven */
        assert_true(p->order_bound <= p->work_bytes);
        assert_true((double)p->work_bytes <= 1.001 * (double)p->order_bound);
    }
    pl_arena_free(a);
}

static void test_closed_forms(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        for (int order = 0; order < PL_N_ORDERS; order++) {
            if (!rows[i].times[order]) continue;
            check_model("alexnet:batch=1", 4LL * 9216 * 4096, i, (pl_step_order)order);
            check_model("vgg11:batch=1", 4LL * 25088 * 4096, i, (pl_step_order)order);
        }
}

static bool reads(const pl_step *x, pl_slot at)
{
    for (int k = 0; k < x->n_in; k++)
        if (x->in[k].at == at.at && !x->in[k].state && !x->in[k].host) return true;
    return false;
}

/* Under zero=1 a device updates its part of each weight. It cuts that part out right before: all of
 * them cut out at once would lie there as one more share of the weights for the whole step. */
static void test_parts(void **state)
{
    (void)state;
    pl_arena *a = pl_arena_new("test");
    const pl_graph *g = training_graph("mlp:layers=4,in=8,hidden=8,classes=8,batch=4", a);
    const pl_program *p = training_program(training_plan(g, "zero=1", 4, a), 1, 0, a);
    int parts = 0;
    for (int i = 0; i < p->n_steps; i++) {
        const pl_step *x = &p->step[i];
        if (x->kind != PL_COPY || !x->transfer || !pl_graph_state(x->transfer->value)) continue;
        int next = i + 1;
        while (next < p->n_steps && p->step[next].kind == PL_MESSAGE) next++;
        assert_true(next < p->n_steps && reads(&p->step[next], x->out[0]));
        parts++;
    }
    assert_int_equal(parts, 8); /* weights and biases of four layers */
    pl_arena_free(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_closed_forms),
                                        cmocka_unit_test(test_parts) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
