/* Mixed precision: what a split program computes in bf16 is as near to the f32 graph as what one
 * device computes in bf16; weights, moments and sums over micro-batches stay f32; what is gathered
 * and reduced is bf16 (FSDP's param_dtype and reduce_dtype: Zhao et al., VLDB 2023). */
#include "support/training.h"

#include "support/ranks.h"

static const char *const gpt2 =
    "gpt2:layers=2,hidden=32,heads=4,vocab=100,seq=16,batch=8,dropout=0.1";
static const char *const moe = "moe:hidden=16,batch=4";
static const char *const resnet = "resnet50:stages=2,blocks=1,width=8,size=32,classes=10,batch=4";

/* Leaves in order: the same numbers in both precisions. */
static void feed(eval *e)
{
    uint64_t leaf = 0;
    for (int i = 0; i < e->graph->values.n; i++) {
        const pl_value *v = e->graph->values.at[i];
        if (v->maker) continue;
        double most = v->role == PL_STATE ? (v->kind == PL_WEIGHT ? 0.3 : 0) : 1;
        if (!pl_type_is_float(v->type))
            eval_random(v->type, &v->shape, e->at[i], pl_rng_at(5, leaf), 1, 4);
        else
            eval_random(v->type, &v->shape, e->at[i], pl_rng_at(5, leaf), -most, most + 1e-30);
        leaf++;
    }
}

static eval run_whole(const pl_graph *g)
{
    eval e = eval_new(g);
    feed(&e);
    eval_run(&e, g->nodes.n);
    return e;
}

/* sum of (a - b)^2 and of b^2 over elements of a tensor */
typedef struct distance {
    double off, all;
} distance;

static void add_distance(distance *d, const pl_port *p, const void *part, const void *truth)
{
    for (int64_t i = 0, n = pl_region_count(p->region); i < n; i++) {
        int64_t at = pl_region_global(p->region, &p->value->shape, i);
        double a = pl_type_get(PL_F32, part, i), b = pl_type_get(PL_F32, truth, at);
        d->off += (a - b) * (a - b);
        d->all += b * b;
    }
}

static double relative(distance d)
{
    return d.all > 0 ? sqrt(d.off / d.all) : sqrt(d.off);
}

static bool is_first_moment(const pl_value *v)
{
    size_t n = strlen(v->name);
    return v->role == PL_STATE && n > 2 && !strcmp(v->name + n - 2, ".m");
}

/* Of all first moments, which after one step are gradients but for a scale, the one of this name:
 * how far the ranks' parts are from the truth. */
static double split_distance(const ranks *r, const eval *truth, const char *name)
{
    distance d = { 0 };
    for (int i = 0; i < r->n; i++) {
        const pl_store *s = r->program[i]->store;
        for (int k = 0; k < s->n; k++) {
            if (strcmp(s->state[k].value->name, name)) continue;
            const pl_value *v = pl_graph_find(truth->graph, name)->next;
            add_distance(&d, &s->state[k], ranks_at(r, i, s->state[k].slot), truth->at[v->id]);
        }
    }
    return relative(d);
}

static double whole_distance(const eval *e, const eval *truth, const pl_value *v)
{
    distance d = { 0 };
    const pl_value *w = pl_graph_find(e->graph, v->name)->next;
    for (int64_t i = 0, n = pl_shape_count(&v->shape); i < n; i++) {
        double a = pl_type_get(PL_F32, e->at[w->id], i);
        double b = pl_type_get(PL_F32, truth->at[v->next->id], i);
        d.off += (a - b) * (a - b);
        d.all += b * b;
    }
    return relative(d);
}

static void run_split(const pl_plan *plan, int n, const eval *before, ranks *r, pl_arena *a)
{
    pl_program **p = PL_NEW_N(a, pl_program *, n);
    for (int i = 0; i < n; i++) {
        pl_err err = { 0 };
        const pl_lower_options o = { 0 };
        if (!pl_program_lower(plan, i, pl_store_new(plan, i, a), &o, a, &p[i], &err) ||
            !pl_program_check(p[i], &err))
            fail_msg("%s: %s", plan->strategy, err.msg);
    }
    pl_err err = { 0 };
    if (!pl_program_check_ranks(n, (const pl_program *const *)p, &err)) fail_msg("%s", err.msg);
    *r = ranks_new(n, p);
    ranks_fill(r, before, true);
    assert_true(ranks_step(r, before, AS_LISTED, 1));
}

static void check_model(const char *model, const char *const strategies[])
{
    pl_arena *a = pl_arena_new("test");
    const pl_graph *f32 = training_graph(model, a);
    const pl_graph *bf16 = training_graph(pl_arena_fmt(a, "%s,dtype=bf16", model), a);
    eval truth = run_whole(f32), whole = run_whole(bf16), before = eval_new(bf16);
    feed(&before);
    for (int s = 0; strategies[s]; s++) {
        ranks r;
        double worst = 0, most = 0;
        const char *where = "";
        run_split(training_plan(bf16, strategies[s], 4, a), 4, &before, &r, a);
        for (int i = 0; i < f32->values.n; i++) {
            const pl_value *v = f32->values.at[i];
            if (!is_first_moment(v)) continue;
            double one = whole_distance(&whole, &truth, v);
            double split = split_distance(&r, &truth, v->name);
            if (one > most) most = one;
            if (split / (one + 0.01) > worst) worst = split / (one + 0.01), where = v->name;
        }
        print_message("%-15s gradients in bf16 within %.3f of f32 on one device; on four %.2f "
                      "times as far at most ('%s')\n",
                      strategies[s], most, worst, where);
        assert_true(worst < 2);
        ranks_free(&r);
    }
    eval_free(&truth);
    eval_free(&whole);
    eval_free(&before);
    pl_arena_free(a);
}

static void test_near_f32(void **state)
{
    static const char *const all[] = { "dp",
                                       "zero=1",
                                       "zero=3",
                                       "hpz=2",
                                       "tp=2",
                                       "tp=2,sp",
                                       "zero=3,tp=2,sp",
                                       "tp=2d:2x2",
                                       "zero=1,reduce=f32",
                                       NULL };
    static const char *const experts[] = { "dp", "zero=3", "ep=2", NULL };
    static const char *const images[] = { "dp", "zero=3", "spatial=2", NULL };
    (void)state;
    check_model(gpt2, all);
    check_model(moe, experts);
    check_model(resnet, images);
}

/* -- what is sent ------------------------------------------------------------------------------ */

/* Bytes of messages by element type, but for single numbers. */
static void count_types(const pl_program *p, int64_t bytes[PL_N_TYPES])
{
    memset(bytes, 0, PL_N_TYPES * sizeof *bytes);
    for (int i = 0; i < p->n_steps; i++)
        if (p->step[i].kind == PL_MESSAGE && p->step[i].count > 4)
            bytes[p->step[i].type] += p->step[i].bytes;
}

/* Everything that dp and zero=3 send is weights and gradients, and half as many bytes in bf16;
 * zero=1 gathers the updated weights, which are f32. */
static void test_types_sent(void **state)
{
    (void)state;
    pl_arena *a = pl_arena_new("test");
    const pl_graph *f32 = training_graph(gpt2, a);
    const pl_graph *bf16 = training_graph(pl_arena_fmt(a, "%s,dtype=bf16", gpt2), a);
    static const char *const strategies[] = { "dp", "zero=3", "zero=1" };
    for (int s = 0; s < 3; s++) {
        int64_t wide[PL_N_TYPES], narrow[PL_N_TYPES];
        count_types(training_program(training_plan(f32, strategies[s], 4, a), 0, 0, a), wide);
        count_types(training_program(training_plan(bf16, strategies[s], 4, a), 0, 0, a), narrow);
        print_message("%s: %lld bytes of f32; %lld of bf16 and %lld of f32\n", strategies[s],
                      (long long)wide[PL_F32], (long long)narrow[PL_BF16],
                      (long long)narrow[PL_F32]);
        int64_t sums = s == 2 ? wide[PL_F32] / 2 : wide[PL_F32];
        /* an all-reduce counts whole elements */
        assert_in_range(narrow[PL_BF16], sums / 2 - sums / 1000, sums / 2 + sums / 1000);
        assert_int_equal(narrow[PL_F32], s == 2 ? sums : 0);
    }
    pl_arena_free(a);
}

/* Gradients are summed in f32, weights gathered in bf16: FSDP's reduce_dtype. */
static void test_sums_in_f32(void **state)
{
    (void)state;
    pl_arena *a = pl_arena_new("test");
    const pl_graph *g = training_graph(pl_arena_fmt(a, "%s,dtype=bf16", gpt2), a);
    static const char *const strategies[][2] = { { "dp", "dp,reduce=f32" },
                                                 { "zero=3", "zero=3,reduce=f32" } };
    for (int s = 0; s < 2; s++) {
        int64_t narrow[PL_N_TYPES], wide[PL_N_TYPES];
        count_types(training_program(training_plan(g, strategies[s][0], 4, a), 0, 0, a), narrow);
        count_types(training_program(training_plan(g, strategies[s][1], 4, a), 0, 0, a), wide);
        print_message("%s: %lld bytes of bf16 and %lld of f32\n", strategies[s][1],
                      (long long)wide[PL_BF16], (long long)wide[PL_F32]);
        int64_t moved = narrow[PL_BF16] - wide[PL_BF16]; /* sums, now twice as wide */
        assert_in_range(wide[PL_F32], 2 * moved - 64, 2 * moved + 64);
        assert_true(s ? moved < narrow[PL_BF16] / 2 : moved == narrow[PL_BF16]);
    }
    pl_arena_free(a);
}

/* States are f32 in every precision, so checkpoints are the same; casts are no states. */
static void test_states_are_f32(void **state)
{
    (void)state;
    pl_arena *a = pl_arena_new("test");
    const pl_graph *f32 = training_graph(gpt2, a);
    const pl_graph *bf16 = training_graph(pl_arena_fmt(a, "%s,dtype=bf16", gpt2), a);
    int n[2] = { 0 };
    for (int i = 0; i < f32->values.n; i++) n[0] += f32->values.at[i]->role == PL_STATE;
    for (int i = 0; i < bf16->values.n; i++) {
        const pl_value *v = bf16->values.at[i];
        if (v->role != PL_STATE) continue;
        assert_int_equal(v->type, PL_F32);
        assert_non_null(pl_graph_find(f32, v->name));
        n[1]++;
    }
    assert_int_equal(n[0], n[1]);
    pl_arena_free(a);
}

/* Most bytes of bf16 weights, cast or gathered, alive at a step of one device's program. */
static int64_t peak_of_casts(const pl_program *p)
{
    int64_t peak = 0, *live = calloc((size_t)p->n_steps + 1, sizeof *live);
    for (int i = 0; i < p->n_steps; i++) {
        const pl_step *s = &p->step[i];
        const pl_value *v = s->kind == PL_KERNEL                   ? s->share->node->out[0]
                            : s->kind == PL_MESSAGE && s->transfer ? s->transfer->value
                                                                   : NULL;
        if (!v || !v->maker || !pl_graph_state(v)) continue;
        int64_t bytes = s->kind == PL_KERNEL ? pl_shape_count(pl_share_out(s->share, 0)) * 2
                                             : pl_shape_count(&v->shape) * 2;
        int last = i;
        for (int k = i + 1; k < p->n_steps; k++) {
            bool over = false;
            for (int o = 0; o < p->step[k].n_out; o++)
                over |= !p->step[k].out[o].state && p->step[k].out[o].at == s->out[0].at;
            if (over) break;
            for (int o = 0; o < p->step[k].n_in; o++)
                if (!p->step[k].in[o].state && p->step[k].in[o].at == s->out[0].at) last = k;
        }
        for (int k = i; k <= last; k++) live[k] += bytes;
    }
    for (int k = 0; k < p->n_steps; k++)
        if (live[k] > peak) peak = live[k];
    free(live);
    return peak;
}

/* FSDP with mixed precision: K_full/F sum(psi) + K_low max(psi). Casts of shards are made for each
 * pass and not kept between; just in time, no more than the largest gathered weight, its shard, its
 * blocks as they came in, and the token table (read first and last) are there in bf16. */
static void test_peak_of_weights(void **state)
{
    (void)state;
    pl_arena *a = pl_arena_new("test");
    const char *model = "gpt2:layers=4,hidden=32,heads=4,vocab=100,seq=16,batch=8,dtype=bf16";
    const pl_graph *g = training_graph(model, a);
    const int n = 4;
    int64_t most = 0, sum = 0, root = 2 * pl_shape_count(&pl_graph_find(g, "wte.weight")->shape);
    for (int i = 0; i < g->values.n; i++) {
        const pl_value *v = g->values.at[i];
        int64_t count = v->kind == PL_WEIGHT ? pl_shape_count(&v->shape) : 0;
        sum += count;
        if (2 * count > most) most = 2 * count;
    }
    const pl_plan *plan = training_plan(g, "zero=3", n, a);
    int64_t peak = peak_of_casts(training_program(plan, 0, -1, a));
    print_message("%lld weights; largest %lld bytes in bf16, table %lld; most at once %lld\n",
                  (long long)sum, (long long)most, (long long)root, (long long)peak);
    assert_in_range(peak, most, 2 * most + most / n + root + root / n);
    assert_true(peak < 2 * sum / 4); /* far from all of them */
    pl_arena_free(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_near_f32),        cmocka_unit_test(test_types_sent),
        cmocka_unit_test(test_sums_in_f32),     cmocka_unit_test(test_states_are_f32),
        cmocka_unit_test(test_peak_of_weights),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
