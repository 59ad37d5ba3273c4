/* docs/planner.md is true: its tables are those of the planner, number by number. */
#include "base/file.h"
#include "cost/problem.h"
#include "graph/op.h"
#include "ops/lib/all.h"
#include "ops/list.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const char *const of_y[] = { "none", "b", "m", "f", "x partial", "W partial" };
static const char *const of_z[] = { "none", "b", "f", "y partial" };
enum { Y = 6, Z = 4 };

static const pl_problem *make(pl_arena *a)
{
    static pl_mesh m = { .n = 1,
                         .axis = { { .name = "d",
                                     .size = 2,
                                     .per_byte = 1e-9,
                                     .exchange_per_byte = 1e-9,
                                     .latency = 1e-30 } },
                         .copy_start = 1e-30,
                         .copy_per_byte = 1e-30 };
    pl_speed speed = { .stream = INFINITY, .vector = 1e9 };
    pl_graph *g;
    pl_err err = { 0 };
    for (int t = 0; t < PL_N_TYPES; t++) speed.flops[t] = 1e9;
    pl_builder b = pl_builder_new(a, &pl_ops_all, "worked");
    pl_value *x = pl_add_input(&b, "x", PL_F32, PL_SHAPE(8, 4));
    pl_value *w = pl_add_state(&b, "W", PL_F32, PL_SHAPE(4, 6), "zeros", PL_BUFFER);
    pl_value *y = PL_ADD_AS(&b, &pl_op_einsum, "y", "bm,mf->bf", x, w);
    pl_add_output(&b, "z", PL_ADD_AS(&b, &pl_op_reduce_sum, "sum", "bf->f", y));
    if (!pl_builder_done(&b, &g, &err)) fail_msg("%s", err.msg);
    return pl_problem_new(g, NULL, &m, &speed, a);
}

/* A letter, none, or the input that is partial: what value i of a node does. */
static const char *what(const pl_problem *t, const pl_node *n, int i, pl_arena *a)
{
    const pl_domain *d = t->domain[n->id];
    if (d->choice[i].factor[0] >= 0)
        return pl_arena_fmt(a, "%c", n->sig->factor[d->choice[i].factor[0]].letter);
    for (int o = 0; o < n->n_in; o++)
        if (d->placements[o].at[d->at[o][i]].pending)
            return pl_arena_fmt(a, "%s partial", n->in[o]->name);
    return "none";
}

static void add_row(pl_text *t, const char *head, int n, const double x[])
{
    pl_text_add(t, "| %s |", head);
    for (int i = 0; i < n; i++) pl_text_add(t, " %.0f |", 1e9 * x[i]);
    pl_text_add(t, "\n");
}

static void add_head(pl_text *t, const char *head, int n, const char *const name[])
{
    pl_text_add(t, "| %s |", head);
    for (int i = 0; i < n; i++) pl_text_add(t, " %s |", name[i]);
    pl_text_add(t, "\n|---|");
    for (int i = 0; i < n; i++) pl_text_add(t, "---|");
    pl_text_add(t, "\n");
}

static void expect(const char *page, pl_text *t)
{
    if (!strstr(page, pl_text_get(t)))
        fail_msg("docs/planner.md does not have\n%s", pl_text_get(t));
    t->n = 0;
}

static void test_page(void **state)
{
    (void)state;
    pl_arena *a = pl_arena_new("worked");
    const char *page, *root = getenv("PLEAT_SOURCE_DIR");
    size_t n;
    pl_err err = { 0 };
    const char *path = pl_arena_fmt(a, "%s/docs/planner.md", root ? root : ".");
    if (!pl_file_read(path, 1 << 20, a, &page, &n, &err)) fail_msg("%s", err.msg);
    const pl_problem *t = make(a);
    const pl_variable *y = &t->vars[0].at[0], *z = &t->vars[0].at[1];
    const pl_edge *p = t->edges[PL_EDGE_OUTSIDE].at;
    pl_text text = { .arena = a };
    assert_true(t->vars[0].n == 2 && t->edges[PL_EDGE_OUTSIDE].n == 1 && y->n == Y && z->n == Z);
    assert_true(p->sum.a == 0 && p->sum.b == 1);
    for (int i = 0; i < Y; i++) assert_string_equal(what(t, t->graph->nodes.at[0], i, a), of_y[i]);
    for (int i = 0; i < Z; i++) assert_string_equal(what(t, t->graph->nodes.at[1], i, a), of_z[i]);
    add_head(&text, "y", Y, of_y);
    add_row(&text, "computes", Y, y->time);
    expect(page, &text);
    add_head(&text, "z", Z, of_z);
    add_row(&text, "computes", Z, z->time);
    expect(page, &text);
    add_head(&text, "y \\ z", Z, of_z);
    for (int i = 0; i < Y; i++) add_row(&text, of_y[i], Z, p->sum.time + i * Z);
    expect(page, &text);
    double least[Y], with[Y], best = INFINITY;
    for (int i = 0; i < Y; i++) {
        least[i] = INFINITY;
        for (int k = 0; k < Z; k++) least[i] = fmin(least[i], p->sum.time[i * Z + k] + z->time[k]);
        with[i] = least[i] + y->time[i];
        best = fmin(best, with[i]);
    }
    add_head(&text, "y", Y, of_y);
    add_row(&text, "least of z", Y, least);
    add_row(&text, "with y", Y, with);
    expect(page, &text);
    pl_problem mine = *t;
    pl_answer answer;
    if (!pl_problem_min(&mine, INFINITY, false, NULL, a, &answer, &err)) fail_msg("%s", err.msg);
    assert_true(fabs(answer.time - best) < 1e-15 && fabs(answer.bound - best) < 1e-15);
    assert_string_equal(of_y[answer.value[0]], "b");
    assert_string_equal(of_z[answer.value[1]], "b");
    pl_text_add(&text, "The least of the last row is %.0f ns: **split b in", 1e9 * best);
    expect(page, &text);
    pl_arena_free(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_page) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
