/* What FSDP promises of memory, measured in the programs of zero=3: a device holds its share of the
 * weights and, of gathered ones, the largest (PyTorch FSDP's peak, sum/F + max: Zhao et al., VLDB
 * 2023), one more where the next is gathered ahead, and no more than the limit says. The token
 * table, read first and last, stays gathered through the forward pass: FSDP's outermost unit. */
#include "support/training.h"

static const char *const model =
    "gpt2:layers=4,hidden=32,heads=4,vocab=100,seq=16,batch=8,dropout=0";

static bool is_weight_gather(const pl_step *s)
{
    return s->kind == PL_MESSAGE && s->collective == PL_ALL_GATHER && s->transfer &&
           s->transfer->value->kind == PL_WEIGHT;
}

static int64_t whole_bytes(const pl_value *v)
{
    return pl_shape_count(&v->shape) * pl_type_bytes(v->type);
}

static bool reads(const pl_step *s, pl_slot at, int64_t bytes)
{
    for (int k = 0; k < s->n_in; k++)
        if (!s->in[k].state && s->in[k].at >= at.at && s->in[k].at < at.at + bytes) return true;
    return false;
}

static bool writes(const pl_step *s, pl_slot at, int64_t bytes)
{
    for (int k = 0; k < s->n_out; k++)
        if (!s->out[k].state && s->out[k].at >= at.at && s->out[k].at < at.at + bytes) return true;
    return false;
}

/* The last step that reads what step i left in its output. */
static int last_reader(const pl_program *p, int i, int64_t bytes)
{
    pl_slot at = p->step[i].out[0];
    int last = i;
    for (int k = i + 1; k < p->n_steps && !writes(&p->step[k], at, bytes); k++)
        if (reads(&p->step[k], at, bytes)) last = k;
    return last;
}

/* Most bytes of gathered weights alive at a step. One whose blocks are put in place by a copy
 * counts once: from the gather to the last reader of the copy. */
static int64_t peak_gathered(const pl_program *p, int *n_gathers)
{
    int64_t peak = 0, *live = calloc((size_t)p->n_steps + 1, sizeof *live);
    *n_gathers = 0;
    for (int i = 0; i < p->n_steps; i++) {
        if (!is_weight_gather(&p->step[i])) continue;
        int64_t bytes = whole_bytes(p->step[i].transfer->value);
        int end = last_reader(p, i, bytes);
        const pl_step *s = &p->step[end];
        if (s->kind == PL_COPY && s->transfer == p->step[i].transfer)
            end = last_reader(p, end, bytes);
        for (int k = i; k <= end; k++) live[k] += bytes;
        ++*n_gathers;
    }
    for (int k = 0; k < p->n_steps; k++)
        if (live[k] > peak) peak = live[k];
    free(live);
    return peak;
}

static void test_peak_of_weights(void **state)
{
    (void)state;
    pl_arena *a = pl_arena_new("test");
    const pl_graph *g = training_graph(model, a);
    int64_t sum = 0, most = 0, root = whole_bytes(pl_graph_find(g, "wte.weight"));
    for (int i = 0; i < g->values.n; i++) {
        const pl_value *v = g->values.at[i];
        if (v->kind != PL_WEIGHT) continue;
        sum += whole_bytes(v);
        if (whole_bytes(v) > most) most = whole_bytes(v);
    }
    for (int n = 2; n <= 8; n *= 2) {
        const pl_plan *plan = training_plan(g, "zero=3", n, a);
        const struct {
            int64_t ahead, bound;
        } cases[] = { { -1, most }, { most, 2 * most }, { 3 * most, 4 * most } };
        pl_store *store = pl_store_new(plan, 0, a);
        int64_t weights = 0;
        for (int i = 0; i < store->n; i++)
            if (store->state[i].value->kind == PL_WEIGHT) weights += store->state[i].bytes;
        assert_in_range(weights, sum / n, sum / n + sum / 50); /* what does not divide */
        for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
            int n_gathers;
            int64_t peak = peak_gathered(training_program(plan, 0, cases[k].ahead, a), &n_gathers);
            print_message("%d devices, %lld bytes ahead: weights %lld + %lld gathered at most (%d "
                          "gathers), bound %lld + %lld + %lld\n",
                          n, (long long)cases[k].ahead, (long long)weights, (long long)peak,
                          n_gathers, (long long)(sum / n), (long long)cases[k].bound,
                          (long long)root);
            assert_in_range(peak, most, cases[k].bound + root);
            assert_true(n_gathers > 40); /* again for the backward pass */
        }
    }
    pl_arena_free(a);
}

/* A state that takes more than one move to its reader (the token table under tp=2d) is no reason to
 * put anything else off: gathering ahead costs what the limit says, and the next one. */
static void test_several_moves(void **state)
{
    static const char *const strategies[] = { "tp=2d:4x4", "tp=2d:2x2,dp=4", "zero=3,tp=2,sp" };
    (void)state;
    pl_arena *a = pl_arena_new("test");
    const pl_graph *g =
        training_graph("gpt2:layers=4,hidden=32,heads=4,vocab=64,seq=16,batch=32,dropout=0", a);
    int64_t most = whole_bytes(pl_graph_find(g, "h.0.mlp.c_fc.weight"));
    for (size_t k = 0; k < sizeof strategies / sizeof *strategies; k++) {
        const pl_plan *plan = training_plan(g, strategies[k], 16, a);
        int64_t just = training_program(plan, 0, -1, a)->work_bytes;
        int64_t ahead = training_program(plan, 0, most, a)->work_bytes;
        print_message("%s: work of %lld bytes, %lld ahead\n", strategies[k], (long long)just,
                      (long long)ahead);
        assert_true(ahead <= just + 2 * most);
    }
    pl_arena_free(a);
}

/* Bytes that a device receives: 2 W (n-1)/n of gradients and gathered weights under dp and zero=1,
 * half as much again under zero=3. */
static void test_volumes(void **state)
{
    (void)state;
    pl_arena *a = pl_arena_new("test");
    const pl_graph *g = training_graph(model, a);
    const int n = 4;
    double w = (double)pl_graph_params(g) * 4 * (n - 1) / n;
    const struct {
        const char *strategy;
        double least, most;
    } cases[] = {
        { "dp", 2, 2.01 }, { "zero=1", 2, 2.05 }, { "zero=2", 2, 2.05 }, { "zero=3", 2.7, 3.05 }
    };
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        const pl_program *p = training_program(training_plan(g, cases[k].strategy, n, a), 0, 0, a);
        double times = (double)p->message_bytes / w;
        print_message("%s: %lld bytes, %.3f W (n-1)/n\n", cases[k].strategy,
                      (long long)p->message_bytes, times);
        assert_true(times >= cases[k].least && times <= cases[k].most);
    }
    pl_arena_free(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_peak_of_weights),
                                        cmocka_unit_test(test_several_moves),
                                        cmocka_unit_test(test_volumes) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
