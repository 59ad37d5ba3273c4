/* Comparisons: rows of both sides add up to their summaries; equal links are one row under any name
 * of the axes; the sentence names what the difference is of. */
#include "support/training.h"
#include "report/compare.h"

#include <math.h>

static const char model[] = "gpt2:layers=3,hidden=64,heads=4,vocab=96,seq=32,batch=8";

typedef struct side {
    pl_compare_side of;
    pl_forecast forecast;
    pl_summary summary;
} side;

/* A program of a strategy, whose forecast the test makes up. */
static void open_side(side *s, const char *strategy, const char *name, pl_arena *a)
{
    const pl_graph *g = training_graph(model, a);
    const pl_program *p = training_program(training_plan(g, strategy, 4, a), 0, 0, a);
    *s = (side){ .of = { .name = name, .program = p } };
    pl_summary_make(p, a, &s->summary);
    s->of.summary = &s->summary;
    s->of.forecast = &s->forecast;
}

static void set_times(side *s, double compute, double exposed)
{
    s->forecast.compute_seconds = compute;
    s->forecast.exposed_seconds = exposed;
    s->forecast.step_seconds = compute + exposed;
    s->forecast.comm_seconds = s->summary.message_seconds;
}

static void check_sums(const pl_compare *c, int n, const pl_compare_row *row, int k,
                       const pl_summary *s)
{
    double seconds = 0, want = 0;
    int64_t bytes = 0, count = 0, all = 0;
    for (int i = 0; i < s->n; i++) all += s->row[i].count, want += s->row[i].seconds;
    for (int i = 0; i < n; i++) {
        seconds += row[i].seconds[k];
        bytes += row[i].bytes[k];
        count += row[i].count[k];
        assert_int_equal(row[i].axes[k] != NULL, row[i].count[k] > 0);
    }
    assert_true(fabs(seconds - want) <= 1e-12 * want);
    assert_true(bytes == s->message_bytes);
    assert_true(count == all);
    assert_true(c->n >= c->n_kinds);
}

static void check_order(int n, const pl_compare_row *row)
{
    for (int i = 1; i < n; i++)
        assert_true(fabs(row[i].seconds[0] - row[i].seconds[1]) <=
                    fabs(row[i - 1].seconds[0] - row[i - 1].seconds[1]));
}

static void test_sums(void **state)
{
    static const char *const strategies[] = { "dp", "zero=3", "tp=4", "zero=1,tp=2", "tp=2d:2x2" };
    enum { N = sizeof strategies / sizeof *strategies };
    pl_arena *a = pl_arena_new("test");
    side s[N];
    (void)state;
    for (int i = 0; i < N; i++) open_side(&s[i], strategies[i], strategies[i], a);
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++) {
            pl_compare c;
            pl_compare_make(&s[i].of, &s[j].of, a, &c);
            check_sums(&c, c.n, c.row, 0, &s[i].summary);
            check_sums(&c, c.n, c.row, 1, &s[j].summary);
            check_sums(&c, c.n_kinds, c.kind, 0, &s[i].summary);
            check_sums(&c, c.n_kinds, c.kind, 1, &s[j].summary);
            check_order(c.n, c.row);
            check_order(c.n_kinds, c.kind);
            for (int k = 0; k < c.n && i == j; k++) {
                assert_true(c.row[k].count[0] == c.row[k].count[1]);
                assert_true(c.row[k].bytes[0] == c.row[k].bytes[1]);
            }
        }
    pl_arena_free(a);
}

static const pl_compare_row *find_kind(const pl_compare *c, pl_collective collective,
                                       const char *tensor)
{
    for (int i = 0; i < c->n_kinds; i++)
        if (c->kind[i].collective == collective && !strcmp(c->kind[i].tensor, tensor))
            return &c->kind[i];
    fail_msg("no %s of %s", pl_collective_name(collective), tensor);
    return NULL;
}

/* dp reduces gradients; zero=3 gathers weights and scatters gradients; both over four devices, of
 * axes with the same name. */
static void test_kinds(void **state)
{
    pl_arena *a = pl_arena_new("test");
    side dp, zero, tp;
    pl_compare c;
    (void)state;
    open_side(&dp, "dp", "dp", a);
    open_side(&zero, "zero=3", "zero=3", a);
    open_side(&tp, "tp=4", "tp=4", a);
    pl_compare_make(&dp.of, &zero.of, a, &c);
    const pl_compare_row *r = find_kind(&c, PL_ALL_REDUCE, "gradients");
    assert_true(r->count[0] > 0);
    r = find_kind(&c, PL_ALL_GATHER, "weights");
    assert_true(r->count[0] == 0 && r->count[1] > 0);
    assert_null(r->axes[0]);
    assert_string_equal(r->axes[1], "data");
    r = find_kind(&c, PL_REDUCE_SCATTER, "gradients");
    assert_true(r->count[0] == 0 && r->count[1] > 0);
    pl_compare_make(&tp.of, &dp.of, a, &c);
    r = find_kind(&c, PL_ALL_REDUCE, "activations");
    assert_true(r->count[0] > 0);
    assert_string_equal(r->axes[0], "tensor");
    pl_arena_free(a);
}

/* The same links under two names are one row; other links are two. */
static void test_links(void **state)
{
    pl_arena *a = pl_arena_new("test");
    side s[2];
    pl_compare c;
    (void)state;
    for (int i = 0; i < 2; i++) open_side(&s[i], "dp", i ? "x" : "y", a);
    pl_mesh *m = (pl_mesh *)&s[1].of.program->plan->mesh;
    strcpy(m->axis[0].name, "nvlink");
    pl_compare_make(&s[0].of, &s[1].of, a, &c);
    int n = c.n;
    for (int i = 0; i < n; i++) {
        assert_true(c.row[i].count[0] == c.row[i].count[1]);
        assert_string_equal(c.row[i].axes[0], "data");
        assert_string_equal(c.row[i].axes[1], "nvlink");
    }
    m->axis[0].per_byte = 1e-9;
    pl_compare_make(&s[0].of, &s[1].of, a, &c);
    assert_int_equal(c.n, 2 * n);
    pl_arena_free(a);
}

static void expect(const side *x, const side *y, double cap, pl_arena *a, const char *const want[])
{
    pl_compare c;
    pl_compare_make(&x->of, &y->of, a, &c);
    const char *said = pl_compare_sentence(&c, cap, a);
    print_message("%s\n", said);
    for (int i = 0; want[i]; i++)
        if (!strstr(said, want[i])) fail_msg("no '%s' in: %s", want[i], said);
    assert_int_equal(said[strlen(said) - 1], '.');
}

static void test_sentences(void **state)
{
    pl_arena *a = pl_arena_new("test");
    side dp, zero;
    (void)state;
    open_side(&dp, "dp", "dp", a);
    open_side(&zero, "zero=3", "the found plan", a);
    set_times(&dp, 0.1, 0.2);
    set_times(&zero, 0.1, 0.05);
    expect(&dp, &zero, INFINITY, a,
           (const char *const[]){ "dp is 150.000 ms slower than the found plan (300.000 and 150",
                                  "all-reduce of gradients over data takes ", NULL });
    set_times(&dp, 0.3, 0.05);
    expect(&dp, &zero, INFINITY, a,
           (const char *const[]){ "dp is 200.000 ms slower", "a device computes 200.000 ms longer",
                                  NULL });
    expect(&dp, &dp, INFINITY, a, (const char *const[]){ "dp is as fast as dp", NULL });
    expect(&zero, &dp, INFINITY, a,
           (const char *const[]){ "the found plan is 200.000 ms faster than dp", NULL });
    dp.forecast.memory = (pl_forecast_memory){ .weights = 3 << 20,
                                               .optimizer = 6 << 20,
                                               .activations = 5 << 20,
                                               .transient = 1 << 20,
                                               .peak = 15 << 20 };
    expect(&dp, &zero, 8 << 20, a,
           (const char *const[]){ "dp does not fit: it needs 15.0 MiB of 8.0 MiB (optimizer 6.0",
                                  " MiB, activations 5.0 MiB, weights 3.0 MiB)", NULL });
    expect(&dp, &zero, 15 << 20, a, (const char *const[]){ "dp is 200.000 ms slower", NULL });
    pl_arena_free(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sums),
        cmocka_unit_test(test_kinds),
        cmocka_unit_test(test_links),
        cmocka_unit_test(test_sentences),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
