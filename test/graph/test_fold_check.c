/* What the check of a fold finds: nodes, slots and instances of a right one that were changed. */
#include "graph/fold.h"
#include "support/arena.h"

#include "support/training.h"

/* A copy of a fold that may be written to. */
static pl_fold copy_fold(const pl_fold *f, int ***node)
{
    pl_fold copy = { .n_classes = 1 };
    pl_fold_class *c = PL_NEW(arena, pl_fold_class);
    *c = f->at[0];
    *node = PL_NEW_N(arena, int *, c->n_instances);
    for (int i = 0; i < c->n_instances; i++) {
        (*node)[i] = PL_NEW_N(arena, int, c->n_nodes);
        memcpy((*node)[i], f->at[0].node[i], (size_t)c->n_nodes * sizeof(int));
    }
    c->node = (const int *const *)*node;
    copy.at = c;
    return copy;
}

static void index_fold(const pl_graph *g, pl_fold *f)
{
    int *at[3];
    for (int k = 0; k < 3; k++) {
        at[k] = PL_NEW_N(arena, int, g->nodes.n);
        for (int i = 0; i < g->nodes.n; i++) at[k][i] = -1;
    }
    for (int i = 0; i < f->at[0].n_instances; i++)
        for (int s = 0; s < f->at[0].n_nodes; s++) {
            int n = f->at[0].node[i][s];
            at[0][n] = 0, at[1][n] = i, at[2][n] = s;
        }
    f->class_of = at[0], f->instance_of = at[1], f->slot_of = at[2];
}

static void expect_caught(const pl_graph *g, pl_fold *f, const char *what, int k)
{
    pl_err err = { 0 };
    index_fold(g, f);
    if (pl_fold_check(g, f, &err)) fail_msg("%s %d is not caught", what, k);
    assert_int_equal(err.code, PL_EINTERNAL);
    assert_true(err.msg[0]);
}

static void swap(int *a, int *b)
{
    int x = *a;
    *a = *b;
    *b = x;
}

static void corrupted_folds_are_caught(void **state)
{
    (void)state;
    const pl_graph *g = training_graph("gpt2:layers=4,hidden=64,heads=4,vocab=256", arena);
    pl_fold f = pl_fold_find(g, arena), bad;
    pl_err err = { 0 };
    int **node, n = f.at[0].n_nodes;
    bad = copy_fold(&f, &node);
    index_fold(g, &bad);
    assert_true(pl_fold_check(g, &bad, &err));
    for (int s = 0; s < n; s++) { /* two nodes of a slot change places */
        bad = copy_fold(&f, &node);
        swap(&node[1][s], &node[2][s]);
        expect_caught(g, &bad, "swapped instances of slot", s);
    }
    for (int s = 1; s < n; s++) { /* two slots do, in one instance */
        bad = copy_fold(&f, &node);
        swap(&node[1][s], &node[1][s - 1]);
        expect_caught(g, &bad, "swapped slots before", s);
    }
    for (int s = 0; s < n; s++) { /* a slot is missing */
        bad = copy_fold(&f, &node);
        for (int i = 0; i < 4; i++)
            memmove(node[i] + s, node[i] + s + 1, (size_t)(n - s - 1) * sizeof(int));
        ((pl_fold_class *)bad.at)->n_nodes--;
        expect_caught(g, &bad, "missing slot", s);
    }
    for (int s = 0; s < n; s++) { /* a node outside stands in for one */
        bad = copy_fold(&f, &node);
        for (int i = 0; i < g->nodes.n; i++)
            if (f.class_of[i] < 0 && g->nodes.at[i]->op == g->nodes.at[node[3][s]]->op)
                node[3][s] = i;
        if (f.class_of[node[3][s]] < 0) expect_caught(g, &bad, "foreign node in slot", s);
    }
    for (int i = 0; i < 4; i++) { /* instances in the wrong order */
        bad = copy_fold(&f, &node);
        int *x = node[i];
        node[i] = node[(i + 1) % 4];
        node[(i + 1) % 4] = x;
        expect_caught(g, &bad, "swapped instance", i);
    }
    bad = copy_fold(&f, &node); /* all of them backwards */
    for (int i = 0; i < 2; i++) {
        int *x = node[i];
        node[i] = node[3 - i];
        node[3 - i] = x;
    }
    expect_caught(g, &bad, "reversed", 0);
    bad = copy_fold(&f, &node); /* every other instance */
    node[1] = node[2];
    ((pl_fold_class *)bad.at)->n_instances = 2;
    expect_caught(g, &bad, "left-out instance", 1);
    bad = copy_fold(&f, &node);
    ((pl_fold_class *)bad.at)->n_instances = 1;
    expect_caught(g, &bad, "single instance", 0);
    bad = copy_fold(&f, &node); /* one node in two slots */
    node[1][3] = node[1][4];
    expect_caught(g, &bad, "node twice", 0);
}

/* The index and the lists have to agree. */
static void a_wrong_index_is_caught(void **state)
{
    (void)state;
    const pl_graph *g = training_graph("mlp:layers=5", arena);
    pl_fold f = pl_fold_find(g, arena), bad;
    pl_err err = { 0 };
    int **node;
    for (int k = 0; k < 3; k++) {
        bad = copy_fold(&f, &node);
        index_fold(g, &bad);
        int *const at[] = { (int *)bad.class_of, (int *)bad.instance_of, (int *)bad.slot_of };
        at[k][node[1][2]]++;
        assert_false(pl_fold_check(g, &bad, &err));
    }
    bad = copy_fold(&f, &node); /* a node that no class lists */
    index_fold(g, &bad);
    for (int i = 0; i < g->nodes.n; i++)
        if (bad.class_of[i] < 0) ((int *)bad.class_of)[i] = 0, i = g->nodes.n;
    assert_false(pl_fold_check(g, &bad, &err));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(corrupted_folds_are_caught, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_wrong_index_is_caught, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
