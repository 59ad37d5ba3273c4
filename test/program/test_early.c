/* Rows of tables on their way before their turn: of a model with two tables over the devices, what
 * is looked up in the second comes while the layers before it run, and gradients of rows go back
 * while the layers behind them do (EmbRace: Yang et al., 2021). */
#include "support/training.h"

static const char *const model = "word_lm:vocab=400,hidden=64,batch=8,seq=6,samples=16,groups=4";

static const pl_program *lower(int64_t ahead, pl_arena *a)
{
    const pl_optim optim = pl_optim_usual("lazy-adam");
    pl_model_args args;
    pl_graph *g;
    pl_err err = { 0 };
    if (!pl_model_parse(model, a, &args, &err)) fail_msg("%s", err.msg);
    pl_builder b = pl_optim_step(&args, &optim, 1, a);
    if (!pl_builder_done(&b, &g, &err)) fail_msg("%s", err.msg);
    return training_program(training_plan(g, "embrace", 4, a), 0, ahead, a);
}

/* The all-to-all of a tensor. */
static int find(const pl_program *p, const char *label)
{
    for (int i = 0; i < p->n_steps; i++)
        if (p->step[i].kind == PL_MESSAGE && p->step[i].collective == PL_ALL_TO_ALL &&
            strstr(p->step[i].label, label))
            return i;
    fail_msg("no all-to-all of %s", label);
    return -1;
}

/* Compute steps that run between the start of a message and the first that waits for it. */
static int count_beside(const pl_program *p, int message)
{
    int number = 0, run = 0;
    for (int i = 0; i <= message; i++) number += p->step[i].kind == PL_MESSAGE;
    for (int i = 0; i < p->n_steps; i++) {
        if (!pl_step_is_compute(&p->step[i])) continue;
        if (i > message && p->step[i].wait >= number) return run - p->step[message].after;
        run++;
    }
    return run - p->step[message].after;
}

static void test_lookups(void **state)
{
    pl_arena *a = pl_arena_new("test");
    const pl_program *p = lower(0, a), *late = lower(-1, a);
    const int encoder = find(p, "encoder"), decoder = find(p, "decoder");
    (void)state;
    assert_true(encoder < decoder); /* what is needed first goes first */
    assert_true(count_beside(p, decoder) > 100);
    assert_true(count_beside(late, find(late, "decoder")) < 10); /* no limit in bytes allows it */
    pl_arena_free(a);
}

/* That of the decoder's rows starts when it is made, at the beginning of the backward pass. */
static void test_gradients(void **state)
{
    pl_arena *a = pl_arena_new("test");
    const pl_program *p = lower(0, a);
    const int rows = find(p, "sampled.rows/");
    (void)state;
    assert_true(count_beside(p, rows) > 100);
    pl_arena_free(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lookups),
        cmocka_unit_test(test_gradients),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
