/* Rotary positions stretched beyond a model's training: the angles are those that transformers
 * 5.23 computes (ROPE_INIT_FUNCTIONS of modeling_rope_utils.py, in f32), for the parameters of
 * published models; a part of a head; factors of pairs; attributes that make no sense. And the
 * window of softmax. */
#include "known.h"

#include "ops/lib/rope.h"

typedef struct pair {
    int i;
    double angle;
} pair;

static const struct {
    const char *what, *attrs;
    int pairs;
    pair at[9];
} angles[] = {
    { "Llama 3.1 8B",
      "base=500000 scaling=llama3 factor=8 low=1 high=4 original=8192",
      64,
      { { 0, 1 },
        { 8, 0.193922758 },
        { 16, 0.0376060307 },
        { 29, 0.00216657063 },
        { 32, 0.000524846022 },
        { 34, 0.000178507791 },
        { 38, 5.16590699e-05 },
        { 48, 6.64786967e-06 },
        { 63, 3.06892588e-07 } } },
    { "Llama 3.2 1B",
      "base=500000 scaling=llama3 factor=32 low=1 high=4 original=8192",
      32,
      { { 8, 0.0376060307 },
        { 13, 0.00483942125 },
        { 16, 0.000429556705 },
        { 18, 1.94616387e-05 },
        { 31, 9.41830649e-08 } } },
    { "linear", "factor=4", 4, { { 0, 0.25 }, { 1, 0.025 }, { 2, 0.0025 }, { 3, 0.00025 } } },
    { "Qwen2.5 with YaRN",
      "base=1000000 scaling=yarn factor=4 low=1 high=32 original=32768",
      64,
      { { 0, 1 },
        { 16, 0.0316227786 },
        { 29, 0.00140511245 },
        { 32, 0.000602941145 },
        { 34, 0.000334240554 },
        { 38, 9.26230132e-05 },
        { 48, 7.90569356e-06 },
        { 63, 3.10234441e-07 } } },
    { "DeepSeek-V2",
      "scaling=yarn factor=40 low=1 high=32 original=4096",
      32,
      { { 8, 0.1 },
        { 13, 0.0183781441 },
        { 16, 0.00550000044 },
        { 18, 0.00224936521 },
        { 22, 0.00017782794 },
        { 31, 3.33380353e-06 } } },
    { "YaRN without rounding",
      "base=150000 scaling=yarn factor=32 low=1 high=32 original=4096 truncate=0",
      32,
      { { 8, 0.0508132726 },
        { 13, 0.00386035908 },
        { 16, 0.000456483918 },
        { 18, 3.83088118e-05 },
        { 31, 3.0235114e-07 } } },
    { "LongRoPE",
      "factor=1,1.5,2,3",
      4,
      { { 0, 1 }, { 1, 0.0666666701 }, { 2, 0.005 }, { 3, 0.00033333333 } } },
};

static void angles_are_those_of_transformers(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof angles / sizeof *angles; i++) {
        pl_arena *a = pl_arena_new("test");
        pl_err err = { 0 };
        int d = 2 * angles[i].pairs;
        const pl_graph *g = known_parse(
            a,
            pl_arena_fmt(a, "input x f32[2,%d]\nforward y f32[2,%d] = rope \"; %s\" x\n", d, d,
                         angles[i].attrs),
            &err);
        if (!g) fail_msg("%s: %s", angles[i].what, err.msg);
        const pl_node *n = g->nodes.at[0];
        assert_int_equal(pl_rope_pairs(n, d), angles[i].pairs);
        for (const pair *p = angles[i].at; p < angles[i].at + 9 && p->angle > 0; p++) {
            double found = pl_rope_angle(n, p->i, angles[i].pairs);
            if (!(fabs(found / p->angle - 1) < 2e-6))
                fail_msg("%s: pair %d turns by %.9g, not %.9g", angles[i].what, p->i, found,
                         p->angle);
        }
        pl_arena_free(a);
    }
}

static const known_answer answers[] = {
    /* position 1: the pair (0, 1) turns by 1, what is behind it passes unscaled */
    { "a part of the head",
      "input x f32[2,4]\nforward y f32[2,4] = rope \"; part=2 scale=2\" x\n",
      { 0, 0, 0, 0, 1, 0, 5, 6 },
      { 0, 0, 0, 0, 2 * 0.540302306, 2 * 0.841470985, 5, 6 } },
    /* pairs (0, 2) by 1 / 2, (1, 3) by 1 / 2 / 5 */
    { "factors of pairs",
      "input x f32[2,4]\nforward y f32[2,4] = rope \"; base=4 factor=2,5\" x\n",
      { 0, 0, 0, 0, 1, 1, 0, 0 },
      { 0, 0, 0, 0, 0.877582562, 0.995004165, 0.479425539, 0.0998334166 } },
    { "a window of two positions",
      "input x f32[3,3]\nforward y f32[3,3] = softmax \"qv->qv; causal=1 window=2\" x\n",
      { 1, 9, 9, 2, 2, 9, 9, 0, 0 },
      { 1, 0, 0, 0.5, 0.5, 0, 0, 0.5, 0.5 } },
    { "a window of all",
      "input x f32[2,2]\nforward y f32[2,2] = softmax \"qv->qv; causal=1 window=7\" x\n",
      { 1, 9, 2, 2 },
      { 1, 0, 0.5, 0.5 } },
};

static void knows_answers(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof answers / sizeof *answers; i++) known_check_answer(&answers[i]);
}

#define ROPE(attrs) "input x f32[2,8]\nforward y f32[2,8] = rope \"; " attrs "\" x\n"

static const known_refusal refusals[] = {
    { ROPE("part=3"), "part=3 is no even number of 'd', 8" },
    { ROPE("part=10"), "part=10" },
    { ROPE("factor=2,0"), "factor=0 has to be above 0" },
    { ROPE("scaling=ntk"), "scaling=ntk is none of all, llama3, yarn" },
    { ROPE("scaling=llama3 factor=8"), "scaling=llama3 needs original=0 above 0" },
    { ROPE("scaling=yarn factor=8 original=9 low=4"), "low=4" },
    { "input x f32[2,2]\nforward y f32[2,2] = softmax \"; window=1\" x\n",
      "window=1 is for causal=1" },
    { "input x f32[3,2]\nforward y f32[3,2] = softmax \"qv->qv; causal=1 window=1\" x\n",
      "3 queries needs as many keys, not 2" },
};

static void refuses(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof refusals / sizeof *refusals; i++)
        known_check_refusal(&refusals[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(angles_are_those_of_transformers),
        cmocka_unit_test(knows_answers),
        cmocka_unit_test(refuses),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
