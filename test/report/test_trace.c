/* The trace is JSON that holds every step of every plan once, in its row, at its time. */
#include "report/trace.h"

#include "plans.h"

#include <jansson.h>
#include <math.h>

typedef struct counts {
    int steps, names, levels;
    double busy; /* microseconds of all steps */
} counts;

static double number(const json_t *event, const char *key)
{
    const json_t *x = json_object_get(event, key);
    if (!json_is_number(x)) fail_msg("an event without '%s'", key);
    return json_number_value(x);
}

static counts count(const json_t *events, int process)
{
    counts c = { 0 };
    for (size_t i = 0; i < json_array_size(events); i++) {
        const json_t *e = json_array_get(events, i);
        const char phase = *json_string_value(json_object_get(e, "ph"));
        if ((int)number(e, "pid") != process) continue;
        c.steps += phase == 'X';
        c.names += phase == 'M';
        c.levels += phase == 'C';
        if (phase != 'X') continue;
        assert_true(number(e, "ts") >= 0 && number(e, "dur") >= 0);
        c.busy += number(e, "dur");
    }
    return c;
}

static void check_plan(const json_t *events, int process, const pl_html_plan *x)
{
    const pl_program *p = x->program;
    const pl_forecast *f = x->forecast;
    const counts c = count(events, process);
    int computing = 0;
    for (int i = 0; i < p->n_steps; i++) computing += p->step[i].kind != PL_MESSAGE;
    assert_int_equal(c.steps, p->n_steps);
    assert_int_equal(c.levels, computing);
    assert_true(c.names >= (computing < p->n_steps ? 3 : 2)); /* a process, its rows */
    const double busy = 1e6 * (f->compute_seconds + f->comm_seconds);
    if (fabs(c.busy - busy) > 1e-4 * p->n_steps) fail_msg("%g us of %g", c.busy, busy);
}

static void test_steps(void **state)
{
    pl_arena *a = pl_arena_new("test");
    (void)state;
    const pl_html_plan plan[] = { plans_make(PLANS_GPT, "tp=2,dp", 4, a),
                                  plans_make(PLANS_GPT, "zero=3", 4, a) };
    pl_text out = { .arena = a };
    pl_trace_write(2, plan, &out);
    json_error_t why;
    json_t *top = json_loads(pl_text_get(&out), JSON_REJECT_DUPLICATES, &why);
    if (!top) fail_msg("line %d: %s", why.line, why.text);
    for (int i = 0; i < 2; i++) check_plan(json_object_get(top, "traceEvents"), i, &plan[i]);
    json_decref(top);
    pl_arena_free(a);
}

/* Names of files and strategies may hold anything. */
static void test_names(void **state)
{
    pl_arena *a = pl_arena_new("test");
    (void)state;
    pl_html_plan plan = plans_make(PLANS_GPT, "dp", 2, a);
    plan.name = "a \"b\"\\\n.json";
    plan.model = "m\t{}";
    pl_text out = { .arena = a };
    pl_trace_write(1, &plan, &out);
    json_t *top = json_loads(pl_text_get(&out), 0, NULL);
    assert_non_null(top);
    assert_string_equal(
        json_string_value(json_object_get(json_object_get(top, "otherData"), "model")), plan.model);
    json_decref(top);
    pl_arena_free(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_steps),
                                        cmocka_unit_test(test_names) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
