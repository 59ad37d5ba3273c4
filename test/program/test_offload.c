/* What lies in the host's memory: which steps copy it, beside what, and what of the device's memory
 * that frees. That programs compute the same is tested with those of other plans, by lot
 * (test_ranks.c, test_bugs.c) and in verify/test_matrix.c. */
#include "support/forecasts.h"

#define DEEP "gpt2:layers=6,hidden=64,heads=4,vocab=128,seq=32,batch=4"

static pl_plan *plan_of(const pl_graph *g, const char *layout, int ranks, pl_arena *a)
{
    pl_plan *p = plan(g, layout, ranks, NULL, a);
    set_links(p, 1e-6, 1e-9);
    return p;
}

/* Of one micro-batch. */
static const pl_graph *deep(pl_arena *a)
{
    return make_micro(DEEP, 1, 1, a);
}

static pl_forecast forecast(const pl_program *p, pl_arena *a)
{
    const pl_speed speed = speed_of(1);
    pl_forecast f;
    pl_forecast_make(p, &speed, a, &f);
    return f;
}

/* -- memory ------------------------------------------------------------------------------------ */

static int64_t hosted(const pl_program *p, pl_state_kind kind)
{
    int64_t sum = 0;
    for (int i = 0; i < p->store->n; i++)
        if (p->store->state[i].slot.host && p->store->state[i].value->kind == kind)
            sum += p->store->state[i].bytes;
    return sum;
}

/* What is too small to move is so whatever the number of layers: few of them tell of many. */
static void test_any_depth(void **state)
{
    static const char *const model =
        "llama:hidden=64,heads=8,kv=1,ffn=128,vocab=4000,seq=8,batch=2";
    pl_arena *a = pl_arena_new("test");
    const pl_graph *few = make_micro(pl_arena_fmt(a, "%s,layers=3", model), 1, 1, a),
                   *many = make_micro(pl_arena_fmt(a, "%s,layers=24", model), 1, 1, a);
    const pl_plan *p = plan_of(few, "offload=weights", 1, a),
                  *q = plan_of(many, "offload=weights", 1, a);
    int hosted = 0, kept = 0;
    (void)state;
    for (int i = 0; i < few->values.n; i++) {
        const pl_value *v = few->values.at[i];
        if (v->kind != PL_WEIGHT || v->role != PL_STATE) continue;
        const pl_value *w = pl_graph_find(many, v->name);
        assert_int_equal(p->stored[v->id].host, q->stored[w->id].host);
        *(p->stored[v->id].host ? &hosted : &kept) += 1;
    }
    assert_true(hosted > 0 && kept > 0);
    pl_arena_free(a);
}

/* Nearly all states of a kind move, to the byte; the device has as much less. */
static void test_states(void **state)
{
    pl_arena *a = pl_arena_new("test");
    const pl_graph *g = deep(a);
    const pl_program *all = lower(plan_of(g, "dp", 1, a), 0, &(pl_lower_options){ 0 }, a);
    const pl_program *optimizer =
        lower(plan_of(g, "offload=optimizer", 1, a), 0, &(pl_lower_options){ 0 }, a);
    const pl_program *weights =
        lower(plan_of(g, "offload=weights", 1, a), 0, &(pl_lower_options){ 0 }, a);
    const int64_t moments = forecast(all, a).memory.optimizer;
    (void)state;
    assert_int_equal(all->store->host_bytes, 0);
    assert_true(hosted(optimizer, PL_MOMENT) >= moments / 100 * 99);
    assert_int_equal(hosted(optimizer, PL_WEIGHT), 0);
    assert_int_equal(hosted(weights, PL_MOMENT), 0);
    assert_true(hosted(weights, PL_WEIGHT) >= moments / 2 / 100 * 99);
    assert_int_equal(optimizer->store->bytes + optimizer->store->host_bytes, all->store->bytes);
    assert_int_equal(weights->store->bytes + weights->store->host_bytes, all->store->bytes);
    assert_int_equal(forecast(optimizer, a).memory.host, optimizer->store->host_bytes);
    pl_arena_free(a);
}

/* Of activations little more stays than two blocks' worth, however many there are. */
static void test_activations(void **state)
{
    pl_arena *a = pl_arena_new("test");
    const pl_graph *g = deep(a);
    const pl_lower_options o = { .ahead_bytes = 1 << 14 };
    const pl_program *kept = lower(plan_of(g, "dp", 1, a), 0, &o, a);
    const pl_program *away = lower(plan_of(g, "offload=activations", 1, a), 0, &o, a);
    const pl_forecast before = forecast(kept, a), after = forecast(away, a);
    (void)state;
    assert_true(after.memory.activations < before.memory.activations / 3);
    assert_true(after.memory.peak < before.memory.peak);
    assert_int_equal(after.memory.host, away->host_bytes);
    assert_true(away->host_bytes > before.memory.activations / 2);
    pl_arena_free(a);
}

/* -- steps ------------------------------------------------------------------------------------- */

/* Every hosted moment comes once and goes once, and only where updates run; of the weights those of
 * blocks come for the forward pass, the backward pass and the update. */
static void test_copies(void **state)
{
    pl_arena *a = pl_arena_new("test");
    const pl_graph *g = make_micro(DEEP, 2, 1, a);
    const pl_program *p = lower(plan_of(g, "offload=all", 1, a), 0, &(pl_lower_options){ 0 }, a);
    int *in = PL_NEW_N(a, int, g->values.n), *out = PL_NEW_N(a, int, g->values.n);
    (void)state;
    for (int i = 0; i < p->n_steps; i++) {
        const pl_step *x = &p->step[i];
        if (!pl_step_is_host(x)) continue;
        const pl_value *v = x->transfer->value;
        ++*(x->collective == PL_TO_HOST ? &out[v->id] : &in[v->id]);
        EXPECT(v->kind != PL_MOMENT || x->once, "'%s' comes in every micro-batch", v->name);
    }
    for (int i = 0; i < g->values.n; i++) {
        const pl_value *v = g->values.at[i];
        const bool is_hosted = p->plan->stored[i].host;
        if (is_hosted && v->kind == PL_MOMENT)
            EXPECT(in[i] == 1 && out[v->next->id] == 1, "'%s': %d, %d", v->name, in[i],
                   out[v->next->id]);
        if (is_hosted && v->kind == PL_WEIGHT && !strncmp(v->name, "h.", 2) && v->shape.rank == 2)
            EXPECT(in[i] == 3 && out[v->next->id] == 1, "'%s': %d, %d", v->name, in[i],
                   out[v->next->id]);
    }
    pl_arena_free(a);
}

/* Where the host updates what lies there, gradients go there and weights come from there; moments
 * and sums of gradients do not, in whichever type they are. */
static void check_host_kernels(const char *model, int64_t micro)
{
    pl_arena *a = pl_arena_new("test");
    const pl_graph *g = make_micro(model, micro, 1, a);
    const pl_plan *plan = plan_of(g, "offload=weights,offload=updates", 1, a);
    const pl_program *p = lower(plan, 0, &(pl_lower_options){ 0 }, a);
    int updates = 0, adds = 0, casts = 0;
    for (int i = 0; i < p->n_steps; i++) {
        const pl_step *x = &p->step[i];
        const pl_value *v = x->transfer ? x->transfer->value : NULL;
        if (pl_step_is_host(x) && v->shape.rank == 2) {
            const bool gradient = v->maker && v->maker->phase == PL_BACKWARD;
            const bool weight = pl_graph_state(v) && pl_graph_state(v)->kind == PL_WEIGHT;
            EXPECT(x->collective == PL_TO_HOST ? gradient && !x->once : weight, "%s of '%s'",
                   pl_collective_name(x->collective), v->name);
        }
        if (x->kind != PL_HOST_KERNEL) continue;
        const pl_node *n = x->share->node;
        updates += n->phase == PL_UPDATE;
        adds += n->op == &pl_op_accumulate;
        casts += n->op == &pl_op_cast;
        EXPECT(micro == 1 || x->once == (n->phase == PL_UPDATE), "'%s' runs at another time",
               n->name);
    }
    assert_true(updates > 0 && (adds > 0) == (micro > 1));
    assert_int_equal(casts > 0, g->nodes.at[0]->op == &pl_op_cast || strstr(model, "bf16") != NULL);
    assert_int_equal(hosted(p, PL_GRAD_SUM) > 0, micro > 1);
    const pl_forecast f = forecast(p, a);
    assert_true(f.host_kernel_seconds > 0 &&
                f.step_seconds < f.compute_seconds + f.host_seconds + f.host_kernel_seconds);
    pl_arena_free(a);
}

static void test_host_kernels(void **state)
{
    (void)state;
    check_host_kernels(DEEP, 1);
    check_host_kernels(DEEP, 2);
    check_host_kernels(DEEP ",dtype=bf16", 1);
    check_host_kernels(DEEP ",dtype=bf16", 4);
}

/* No more is on its way to the host than the limit, the last one's apart. */
static void check_bounded(const pl_program *p, int64_t limit)
{
    int64_t open[1024], sum = 0;
    int n = 0, from = 0, messages = 0, number[1024];
    for (int i = 0; i < p->n_steps; i++) {
        const pl_step *x = &p->step[i];
        if (x->kind == PL_MESSAGE) {
            messages++;
            if (x->collective != PL_TO_HOST) continue;
            assert_true(n < 1024);
            number[n] = messages, open[n++] = x->bytes;
            sum += x->bytes;
            continue;
        }
        for (; from < n && number[from] <= x->wait; from++) sum -= open[from];
        EXPECT(from >= n - 1 || sum <= limit, "step %d: %lld bytes under way", i, (long long)sum);
    }
}

static void test_bounds(void **state)
{
    static const int64_t limits[] = { 1, 1 << 14, 1 << 17 };
    (void)state;
    for (int k = 0; k < 3; k++) {
        pl_arena *a = pl_arena_new("test");
        const pl_lower_options o = { .ahead_bytes = limits[k] };
        const pl_program *p = lower(plan_of(deep(a), "offload=all", 1, a), 0, &o, a);
        check_bounded(p, limits[k]);
        pl_arena_free(a);
    }
}

/* With a wider limit what is copied passes beside more computing: no step is slower, and one with
 * all the time in the world is faster than one with none. */
static void test_ahead(void **state)
{
    pl_arena *a = pl_arena_new("test");
    const pl_graph *g = deep(a);
    double last = INFINITY, first = 0;
    (void)state;
    for (int64_t ahead = 1; ahead <= 1 << 22; ahead *= 16) {
        const pl_lower_options o = { .ahead_bytes = ahead };
        const pl_program *p = lower(plan_of(g, "offload=optimizer", 1, a), 0, &o, a);
        const double seconds = forecast(p, a).step_seconds;
        EXPECT(seconds <= last * 1.001, "%lld ahead: %g s, %g s with less", (long long)ahead,
               seconds, last);
        last = seconds;
        if (first == 0) first = seconds;
    }
    assert_true(last < first);
    pl_arena_free(a);
}

/* -- time -------------------------------------------------------------------------------------- */

/* Copies there and back pass side by side, and beside messages. */
static void test_lanes(void **state)
{
    pl_arena *a = pl_arena_new("test");
    const pl_program *p =
        lower(plan_of(deep(a), "zero=3,offload=all", 2, a), 0, &(pl_lower_options){ 0 }, a);
    const pl_forecast f = forecast(p, a);
    bool beside[PL_N_LANES][PL_N_LANES] = { { false } };
    (void)state;
    for (int i = 0; i < p->n_steps; i++)
        for (int k = 0; k < p->n_steps && p->step[i].kind == PL_MESSAGE; k++)
            if (p->step[k].kind == PL_MESSAGE && f.begin[i] < f.end[k] && f.begin[k] < f.end[i])
                beside[pl_step_lane(&p->step[i])][pl_step_lane(&p->step[k])] = true;
    assert_true(beside[PL_LANE_OUT][PL_LANE_IN] && beside[PL_LANE_COMM][PL_LANE_IN] &&
                beside[PL_LANE_COMM][PL_LANE_OUT]);
    assert_true(f.host_seconds > 0 &&
                f.step_seconds < f.compute_seconds + f.comm_seconds + f.host_seconds);
    pl_arena_free(a);
}

/* -- mistakes ---------------------------------------------------------------------------------- */

static int find_copy(const pl_program *p, pl_collective way, int from)
{
    while (from < p->n_steps &&
           (!pl_step_is_host(&p->step[from]) || p->step[from].collective != way))
        from++;
    return from;
}

static void expect_caught(const char *what, const pl_program *p, const char *says)
{
    pl_err err = { 0 };
    EXPECT(!pl_program_check(p, &err), "%s is taken", what);
    EXPECT(strstr(err.msg, says), "%s: %s", what, err.msg);
}

static void test_mistakes(void **state)
{
    pl_arena *a = pl_arena_new("test");
    const pl_program *p =
        lower(plan_of(deep(a), "offload=all", 1, a), 0, &(pl_lower_options){ 0 }, a);
    const int out = find_copy(p, PL_TO_HOST, 0), in = find_copy(p, PL_FROM_HOST, out);
    pl_program x = *p;
    (void)state;
    x.step = PL_NEW_N(a, pl_step, p->n_steps);
#define MISTAKE(i, change, says)                                                                   \
    memcpy(x.step, p->step, (size_t)p->n_steps * sizeof *p->step);                                 \
    x.step[i].change;                                                                              \
    expect_caught(#change, &x, says)
    MISTAKE(out, out[0].host = false, "works in the wrong memory");
    MISTAKE(in, in[0].host = false, "works in the wrong memory");
    MISTAKE(out, out[0].at = p->host_bytes, "the block has");
    MISTAKE(out, bytes = 1, "it has other bytes than the part");
    MISTAKE(in, collective = PL_TO_HOST, "works in the wrong memory");
    MISTAKE(out, axes = 1, "copies no part of a tensor");
    MISTAKE(out, after = 0, "may run at once");
    int kernel = 0;
    while (p->step[kernel].kind != PL_KERNEL) kernel++;
    MISTAKE(kernel, out[0].host = true, "works in the wrong memory");
    int waits = in; /* for that */
    while (p->step[waits].kind == PL_MESSAGE || p->step[waits].wait == p->step[in - 1].wait)
        waits++;
    MISTAKE(waits, wait = 0, "");
    pl_arena_free(a);
}

static int find_host_kernel(const pl_program *p)
{
    int i = 0;
    while (p->step[i].kind != PL_HOST_KERNEL || p->step[i].n_in < 2) i++;
    return i;
}

static void test_kernel_mistakes(void **state)
{
    pl_arena *a = pl_arena_new("test");
    const pl_program *p = lower(plan_of(deep(a), "offload=weights,offload=updates", 1, a), 0,
                                &(pl_lower_options){ 0 }, a);
    const int at = find_host_kernel(p);
    pl_program x = *p;
    (void)state;
    x.step = PL_NEW_N(a, pl_step, p->n_steps);
    MISTAKE(at, out[0].host = false, "works in the wrong memory");
    MISTAKE(at, in[1].host = false, "works in the wrong memory");
    MISTAKE(at, in[1] = p->step[at].in[0], "wants");
    MISTAKE(at, wait = 0, "may run at once");
    bool on_host = x.plan->on_host[p->step[at].share->node->id];
    assert_true(on_host);
    pl_plan other = *x.plan;
    other.on_host = PL_NEW_N(a, bool, x.plan->graph->nodes.n);
    x.plan = &other;
    MISTAKE(at, n_in += 0, "runs elsewhere than the plan says");
    pl_arena_free(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_any_depth),       cmocka_unit_test(test_states),
        cmocka_unit_test(test_activations),     cmocka_unit_test(test_copies),
        cmocka_unit_test(test_bounds),          cmocka_unit_test(test_ahead),
        cmocka_unit_test(test_lanes),           cmocka_unit_test(test_mistakes),
        cmocka_unit_test(test_kernel_mistakes), cmocka_unit_test(test_host_kernels),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
