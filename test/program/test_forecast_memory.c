/* Forecasts of memory: sums that must hold for any program, a second reckoning of one device's, and
 * what published layouts save. */
#include "support/forecasts.h"
#include "graph/op.h"

#include <stdlib.h>

static pl_forecast forecast(const pl_program *p, pl_arena *a)
{
    pl_speed speed = speed_of(1);
    pl_forecast f;
    pl_forecast_make(p, &speed, a, &f);
    return f;
}

/* -- any program ------------------------------------------------------------------------------- */

/* Rank 0 has the largest parts, except where windows are split. */
static bool is_largest(const pl_program *p)
{
    const pl_graph *g = p->plan->graph;
    bool windows = false;
    for (int i = 0; i < g->nodes.n; i++) windows |= g->nodes.at[i]->sig->n_windows > 0;
    return p->rank == 0 && !windows;
}

/* Where this rank has nothing to do in the step that waits for a copy to the host, what it copies
 * is live until its next one; the layout is of ranks that have. */
static bool waits_late(const pl_program *p)
{
    bool hosts = false, idle = false;
    for (int i = 0; i < p->n_steps; i++) {
        hosts |= pl_step_is_host(&p->step[i]);
        idle |= p->step[i].kind == PL_FILL;
    }
    return hosts && idle && p->rank;
}

/* What is live is never more than what the layout keeps, which is as much as the largest rank has
 * live: that one has it to the byte. */
static bool check_program(const char *name, const pl_program *p, bool reuse, pl_arena *a)
{
    pl_forecast f = forecast(p, a);
    const pl_forecast_memory *m = &f.memory;
    int64_t most = 0;
    for (int i = 0; i < p->n_steps; i++) {
        EXPECT(f.live[i] >= 0 && (f.live[i] <= p->work_bytes || waits_late(p)),
               "%s, step %d: %lld bytes of %lld live", name, i, (long long)f.live[i],
               (long long)p->work_bytes);
        if (f.live[i] > most) most = f.live[i];
    }
    EXPECT(!p->n_steps || f.live[f.peak_step] == most, "%s: another peak", name);
    bool exact = reuse && p->n_steps && is_largest(p);
    EXPECT(exact ? most == p->work_bound : most <= p->work_bound || waits_late(p),
           "%s, rank %d: %lld bytes live, the layout has %lld", name, p->rank, (long long)most,
           (long long)p->work_bound);
    int64_t items = m->weights + m->optimizer + m->gradients + m->activations + m->buffers;
    EXPECT(m->weights >= 0 && m->optimizer >= 0 && m->gradients >= 0 && m->activations >= 0 &&
               m->buffers >= 0 && m->transient >= 0,
           "%s: less than nothing", name);
    EXPECT(m->peak == p->store->bytes + p->work_bytes && items + m->transient == m->peak,
           "%s: items of %lld bytes, peak %lld", name, (long long)(items + m->transient),
           (long long)m->peak);
    return exact;
}

static void test_any_plan(void **state)
{
    int exact = 0, halos = 0, pieces = 0;
    (void)state;
    for (uint64_t seed = 0; seed < 400; seed++) {
        pl_arena *a = pl_arena_new("test");
        const char *name = pl_arena_fmt(a, "seed %llu", (unsigned long long)seed);
        bool reuse;
        const pl_program *p = program_by_lot(seed, seed % 2, &reuse, a);
        exact += check_program(name, p, reuse, a);
        for (int i = 0; i < p->n_steps; i++) {
            halos += p->step[i].transfer && p->step[i].transfer->move.kind == PL_HALO;
            pieces += p->step[i].piece != NULL;
        }
        pl_arena_free(a);
    }
    print_message("%d exact, %d steps of halos, %d of nodes in steps\n", exact, halos, pieces);
    assert_true(exact > 100 && halos > 20 && pieces > 100);
}

static void test_presets(void **state)
{
    pl_arena *a = pl_arena_new("test");
    const pl_graph *g = make_clipped(GPT2, PL_TRAIN, 1, a);
    (void)state;
    for (int k = 0; k < N_PRESETS; k++)
        check_program(presets[k].strategy, program_of(&presets[k], g, a), true, a);
    pl_arena_free(a);
}

/* -- any program, by lines of bytes ------------------------------------------------------------ */

enum { LINE_BYTES = 64 };

/* Which lines of the work block must not be given away while a step runs: those that it uses, and
 * those that were written before and are read later. What messages use stays until a step waits. */
typedef struct lines {
    const pl_program *p;
    int64_t n;
    bool *held; /* [steps][n] */
    int *wrote; /* [n] the last step that did; -1: none, there is nothing (of an empty part) */
} lines;

static void hold(lines *l, int from, int to, int64_t line)
{
    for (int i = from; i <= to; i++) l->held[i * l->n + line] = true;
}

static void use(lines *l, int i, int until, pl_slot at, int64_t bytes, bool write)
{
    if (at.state || at.host) return;
    for (int64_t k = at.at / LINE_BYTES; k * LINE_BYTES < at.at + bytes; k++) {
        if (write || l->wrote[k] >= 0) hold(l, write ? i : l->wrote[k], until, k);
        if (write) l->wrote[k] = i;
    }
}

/* Element by element what the copies of a step read, or write. */
static void use_copies(lines *l, int i, bool write)
{
    const pl_step *x = &l->p->step[i];
    for (int k = 0; k < x->n_copies; k++) {
        const pl_copy *c = &x->copy[k];
        int64_t n = 1;
        for (int j = 0; j < c->n; j++) n *= c->count[j];
        for (int64_t e = 0; e < n && c->bytes; e++) {
            pl_slot at = write ? x->out[0] : x->in[0];
            int64_t rest = e;
            at.at += write ? c->to_at : c->from_at;
            for (int j = c->n - 1; j >= 0; rest /= c->count[j--])
                at.at += rest % c->count[j] * (write ? c->to[j] : c->from[j]);
            use(l, i, i, at, c->bytes, write);
        }
    }
}

static void use_kernel(lines *l, int i)
{
    const pl_step *x = &l->p->step[i];
    const pl_node *n = x->share->node;
    bool moves = !n->op->view || x->in[0].state || x->in[0].at != x->out[0].at;
    for (int k = 0; k < x->n_in; k++)
        use(l, i, i, x->in[k], pl_shape_count(&x->share->shape[k]) * pl_type_bytes(n->in[k]->type),
            false);
    for (int k = 0; k < x->n_out && moves; k++)
        use(l, i, i, x->out[k],
            pl_shape_count(pl_share_out(x->share, k)) * pl_type_bytes(n->out[k]->type), true);
}

static void use_message(lines *l, int i, int number)
{
    const pl_step *x = &l->p->step[i];
    int64_t block = x->count * pl_type_bytes(x->type), in = block, out = block;
    int me, n = pl_move_group(&l->p->plan->mesh, l->p->rank, x->axes, &me), until = i;
    bool exchange = x->collective == PL_ALL_TO_ALL;
    if (exchange || x->collective == PL_REDUCE_SCATTER) in *= n;
    if (exchange || x->collective == PL_ALL_GATHER) out *= n;
    while (until < l->p->n_steps - 1 &&
           (!pl_step_is_compute(&l->p->step[until]) || l->p->step[until].wait <= number ||
            (l->p->step[until].once && !x->once)))
        until++;
    if (x->n_in) use(l, i, until, x->in[0], in, false);
    if (x->n_out) use(l, i, until, x->out[0], out, true);
}

static void use_all(lines *l)
{
    const pl_program *p = l->p;
    for (int64_t k = 0; k < l->n; k++) l->wrote[k] = -1;
    for (int k = 0; k < p->n_inputs && p->n_steps; k++)
        use(l, 0, 0, p->input[k].slot, p->input[k].bytes, true);
    for (int i = 0, messages = 0; i < p->n_steps; i++) {
        const pl_step *x = &p->step[i];
        int64_t bytes = x->count * pl_type_bytes(x->type);
        if (x->kind == PL_KERNEL) use_kernel(l, i);
        if (x->kind == PL_MESSAGE) use_message(l, i, messages);
        messages += !pl_step_is_compute(x);
        if (x->kind == PL_COPY) use_copies(l, i, false), use_copies(l, i, true);
        if (x->kind == PL_FOLD) use(l, i, i, x->in[0], bytes, false);
        if (x->kind == PL_FOLD) use(l, i, i, x->out[0], bytes, false);
        if (x->kind == PL_FILL || x->kind == PL_FOLD) use(l, i, i, x->out[0], bytes, true);
    }
    for (int k = 0; k < p->n_outputs; k++) {
        const pl_port *x = &p->output[k];
        int64_t bytes = pl_shape_count(&x->shape) * pl_type_bytes(x->value->type);
        use(l, p->n_steps - 1, p->n_steps - 1, x->slot, bytes, false);
    }
}

/* Of rank 0: others may send what they have nothing in. Live may be more than is used, where room
 * is for parts of which some is written later; never less. */
static void check_lines(const char *name, const pl_program *p, int *same, int *more, pl_arena *a)
{
    pl_forecast f = forecast(p, a);
    lines l = { .p = p, .n = p->work_bytes / LINE_BYTES + 1 };
    l.held = PL_NEW_N(a, bool, l.n *(p->n_steps + 1));
    l.wrote = PL_NEW_N(a, int, l.n);
    use_all(&l);
    for (int i = 0; i < p->n_steps; i++) {
        int64_t held = 0;
        for (int64_t k = 0; k < l.n; k++) held += l.held[i * l.n + k] * LINE_BYTES;
        EXPECT(f.live[i] >= held, "%s, step %d: %lld bytes live, %lld in use", name, i,
               (long long)f.live[i], (long long)held);
        ++*(f.live[i] == held ? same : more);
    }
}

static void test_lines(void **state)
{
    pl_arena *b = pl_arena_new("test");
    const pl_graph *g = make_clipped(GPT2, PL_TRAIN, 1, b);
    int same = 0, more = 0;
    (void)state;
    for (uint64_t seed = 1000; seed < 1200; seed++) {
        pl_arena *a = pl_arena_new("test");
        bool reuse;
        const pl_program *p = program_by_lot(seed, true, &reuse, a);
        check_lines(pl_arena_fmt(a, "seed %llu", (unsigned long long)seed), p, &same, &more, a);
        pl_arena_free(a);
    }
    for (int k = 0; k < N_PRESETS; k++)
        check_lines(presets[k].strategy, program_of(&presets[k], g, b), &same, &more, b);
    print_message("%d steps with the lines in use, %d with more\n", same, more);
    assert_true(same > 2 * more);
    pl_arena_free(b);
}

/* A rank between two others has all that any rank has of windows that overlap. */
static void test_windows(void **state)
{
    pl_arena *a = pl_arena_new("test");
    pl_plan *plan = pl_plan_single(make_images(a, 8), a);
    int halos = 0;
    (void)state;
    plan->mesh = mesh_of((int[]){ 4, 0 });
    pl_placement_split(&plan->stored[pl_graph_find(plan->graph, "x")->id], 2, 0);
    pl_plan_propagate(plan, NULL);
    split_rows(plan);
    const pl_program *p = lower(plan, 1, &(pl_lower_options){ 0 }, a);
    check_program("images", p, true, a);
    pl_forecast f = forecast(p, a);
    for (int i = 0; i < p->n_steps; i++)
        halos += p->step[i].transfer && p->step[i].transfer->move.kind == PL_HALO;
    assert_true(halos > 4);
    assert_int_equal(f.live[f.peak_step], p->work_bound);
    for (int r = 0, same = 0, more = 0; r < 4; r++)
        check_lines("images", lower(plan, r, &(pl_lower_options){ 0 }, a), &same, &more, a);
    pl_arena_free(a);
}

/* -- one device, by values --------------------------------------------------------------------- */

/* On one device each value is made by one step, and stays for its readers and those of its views.
 * One whose memory its last reader's result takes is gone while that one runs. */
typedef struct stay {
    const pl_value *value;
    int made, last;
    bool kept; /* read in the backward pass */
} stay;

static bool is_backward(const pl_node *n)
{
    return n->phase != PL_FORWARD;
}

static bool is_output(const pl_program *p, const pl_value *v)
{
    for (int i = 0; i < p->n_outputs; i++)
        if (p->output[i].value == v) return true;
    return false;
}

static bool reads(const pl_step *x, const pl_value *v)
{
    for (int k = 0; k < x->n_in; k++)
        if (x->share->node->in[k] == v) return true;
    return false;
}

/* Readers of v and its views from step `from` on. */
static void follow(const pl_program *p, const pl_value *v, int from, pl_slot at, stay *s)
{
    if (is_output(p, v)) s->last = p->n_steps - 1;
    for (int i = from; i < p->n_steps; i++) {
        const pl_step *x = &p->step[i];
        const pl_node *n = x->share->node;
        if (!reads(x, v)) continue;
        bool same = !x->out[0].state && x->out[0].at == at.at, over = same && !n->op->view;
        s->kept |= is_backward(n);
        if (s->last < i - over) s->last = i - over;
        if (n->op->view && same) follow(p, n->out[0], i + 1, at, s);
    }
}

static int64_t size_of(const pl_value *v)
{
    return (pl_shape_count(&v->shape) * pl_type_bytes(v->type) + 63) / 64 * 64;
}

/* What an update has as its second input, or what is added up to that. */
static bool is_gradient(const pl_graph *g, const pl_value *v)
{
    for (int i = 0; i < g->values.n; i++) {
        const pl_value *w = g->values.at[i];
        if (w->kind == PL_WEIGHT && w->next && w->next->maker->in[1] == v) return true;
    }
    for (int i = v->maker ? v->maker->id : g->nodes.n; i < g->nodes.n; i++) {
        const pl_node *n = g->nodes.at[i];
        if (n->op == &pl_op_add && (n->in[0] == v || n->in[1] == v) && is_backward(v->maker) &&
            is_gradient(g, n->out[0]))
            return true;
    }
    return false;
}

/* All that stays at some time, inputs first. */
static int list_stays(const pl_program *p, stay *s)
{
    int n = 0;
    for (int i = 0; i < p->n_inputs; i++) {
        s[n] = (stay){ .value = p->input[i].value };
        follow(p, s[n].value, 0, p->input[i].slot, &s[n]);
        n++;
    }
    for (int i = 0; i < p->n_steps; i++) {
        const pl_step *x = &p->step[i];
        const pl_node *node = x->share->node;
        for (int o = 0; o < x->n_out; o++) {
            bool same = x->n_in && !x->in[0].state && x->in[0].at == x->out[o].at;
            if (x->out[o].state || (node->op->view && same)) continue;
            s[n] = (stay){ .value = node->out[o], .made = i, .last = i };
            follow(p, s[n].value, i + 1, x->out[o], &s[n]);
            n++;
        }
    }
    return n;
}

static void check_alone(const char *name, const pl_graph *g, pl_arena *a)
{
    const pl_program *p = lower(pl_plan_single(g, a), 0, &(pl_lower_options){ 0 }, a);
    pl_forecast f = forecast(p, a);
    stay *s = PL_NEW_N(a, stay, 4 * p->n_steps + p->n_inputs + 1);
    int n = list_stays(p, s), at = f.peak_step;
    int64_t gradients = 0, activations = 0;
    for (int i = 0; i < p->n_steps; i++) {
        int64_t live = 0;
        for (int k = 0; k < n; k++)
            if (s[k].made <= i && i <= s[k].last) live += size_of(s[k].value);
        EXPECT(live == f.live[i], "%s, step %d: %lld bytes live, not %lld", name, i,
               (long long)f.live[i], (long long)live);
    }
    for (int k = 0; k < n; k++) {
        const pl_value *v = s[k].value;
        if (s[k].made > at || s[k].last < at) continue;
        if (is_gradient(g, v))
            gradients += size_of(v);
        else if (v->maker && !is_backward(v->maker) && s[k].kept)
            activations += size_of(v);
    }
    EXPECT(f.memory.activations == activations, "%s: activations of %lld bytes, not %lld", name,
           (long long)f.memory.activations, (long long)activations);
    EXPECT(f.memory.gradients == gradients, "%s: gradients of %lld bytes, not %lld", name,
           (long long)f.memory.gradients, (long long)gradients);
    assert_int_equal(f.memory.buffers, 0);
}

static void test_one_device(void **state)
{
    pl_arena *a = pl_arena_new("test");
    (void)state;
    check_alone("mlp", make_mlp(a, 8), a);
    check_alone("mlp, wide", make_mlp(a, 500), a);
    check_alone("gpt2", make_model(GPT2, PL_TRAIN, a), a);
    check_alone("evaluation", make_model(GPT2, PL_EVAL, a), a);
    check_alone("resnet", make_model("resnet18:stages=2,blocks=1,width=8,size=16", PL_TRAIN, a), a);
    check_alone("moe", make_model("moe", PL_TRAIN, a), a);
    pl_arena_free(a);
}

/* -- kinds ------------------------------------------------------------------------------------- */

#define NARROW "gpt2:layers=2,hidden=32,heads=4,seq=4,vocab=64,batch=1,dropout=0"

static int64_t weight_bytes(const pl_graph *g)
{
    return 4 * pl_graph_params(g);
}

static pl_forecast_memory memory_of(const pl_graph *g, const char *strategy, int n,
                                    const pl_lower_options *o, pl_arena *a)
{
    return forecast(lower(plan(g, strategy, n, NULL, a), 0, o, a), a).memory;
}

/* Adam has two moments; each stage of ZeRO shards one kind more (Rajbhandari et al., SC 2020). */
static void test_zero(void **state)
{
    pl_arena *a = pl_arena_new("test");
    const pl_graph *g = make_model(GPT2, PL_TRAIN, a);
    const pl_lower_options last = { .bucket_bytes = 1 << 20 }, each = { .bucket_bytes = 1 };
    int64_t w = weight_bytes(g);
    (void)state;
    pl_forecast_memory one = memory_of(g, "dp", 1, &each, a), dp = memory_of(g, "dp", 4, &last, a);
    pl_forecast_memory z1 = memory_of(g, "zero=1", 4, &each, a);
    pl_forecast_memory z3 = memory_of(g, "zero=3", 4, &each, a);
    assert_int_equal(one.weights, w);
    assert_int_equal(one.optimizer, 2 * w);
    assert_true(dp.weights == w && dp.optimizer == 2 * w);
    assert_true(dp.activations < one.activations / 3 && dp.activations > one.activations / 5);
    assert_true(z1.weights == w && z1.optimizer < 2 * w / 3 && z1.optimizer >= 2 * w / 4);
    assert_true(z3.weights < w / 3 && z3.optimizer == z1.optimizer);
    /* One bucket keeps all gradients until the last is made; alone each goes when it is used. */
    assert_true(dp.gradients >= w && one.gradients < w / 2 && z3.gradients < w / 4);
    pl_arena_free(a);
}

/* Blocks that go out and come in stand beside what they are made of. */
static void test_buffers(void **state)
{
    pl_arena *a = pl_arena_new("test");
    const pl_graph *g = make_model(GPT2, PL_TRAIN, a);
    (void)state;
    assert_true(memory_of(g, "tp=4,sp", 4, &(pl_lower_options){ 0 }, a).buffers > 0);
    assert_true(memory_of(g, "zero=3", 4, &(pl_lower_options){ .step_bytes = 1 }, a).buffers > 0);
    assert_int_equal(memory_of(g, "dp", 4, &(pl_lower_options){ 0 }, a).buffers, 0);
    pl_arena_free(a);
}

/* What four devices keep between them for the backward pass is a quarter each, wherever it is split
 * and whatever moves it back and forth; casts of weights are none of it. */
static void test_activations(void **state)
{
    pl_arena *a = pl_arena_new("test");
    const pl_graph *g = make_model(GPT2, PL_TRAIN, a);
    const pl_lower_options any = { 0 }, each = { .bucket_bytes = 1 };
    int64_t dp = memory_of(g, "dp", 4, &any, a).activations;
    int64_t two = memory_of(g, "tp=2d:2x2", 4, &any, a).activations;
    (void)state;
    assert_int_equal(memory_of(g, "tp=4,sp", 4, &any, a).activations, dp);
    EXPECT(two <= dp && two > dp / 20 * 18, "2-D: %lld bytes, dp %lld", (long long)two,
           (long long)dp);
    const pl_graph *f32 = make_model(NARROW, PL_TRAIN, a);
    const pl_graph *bf16 = make_model(NARROW ",dtype=bf16", PL_TRAIN, a);
    int64_t wide = memory_of(f32, "dp", 1, &each, a).activations;
    int64_t half = memory_of(bf16, "dp", 1, &each, a).activations;
    EXPECT(half < wide * 3 / 4, "%lld bytes in bf16, %lld in f32", (long long)half,
           (long long)wide);
    pl_arena_free(a);
}

/* A program that shares the store of another one's states counts all of them, as they are there. */
static void test_shared_store(void **state)
{
    pl_arena *a = pl_arena_new("test");
    const pl_plan *train = plan(make_model(GPT2, PL_TRAIN, a), "dp", 2, NULL, a);
    const pl_plan *eval = plan(make_model(GPT2, PL_EVAL, a), "dp", 2, train, a);
    const pl_store *store = pl_store_new(train, 0, a);
    pl_program *p;
    pl_err err = { 0 };
    (void)state;
    EXPECT(pl_program_lower(eval, 0, store, &(pl_lower_options){ 0 }, a, &p, &err), "%s", err.msg);
    pl_forecast f = forecast(p, a);
    assert_int_equal(f.memory.weights, weight_bytes(train->graph));
    assert_int_equal(f.memory.optimizer, 2 * f.memory.weights);
    assert_int_equal(f.memory.activations, 0);
    assert_int_equal(f.memory.gradients, 0);
    pl_arena_free(a);
}

/* In micro-batches the sums of gradients are states; a gradient lives until it is added. */
static void test_sums(void **state)
{
    pl_arena *a = pl_arena_new("test");
    const pl_optim adamw = pl_optim_usual("adamw");
    pl_model_args args;
    pl_err err = { 0 };
    (void)state;
    EXPECT(pl_model_parse(GPT2, a, &args, &err), "%s", err.msg);
    pl_builder b = pl_optim_step(&args, &adamw, 2, a);
    const pl_graph *g = graph_done(&b);
    const int64_t w = weight_bytes(g);
    const pl_program *p = lower(pl_plan_single(g, a), 0, &(pl_lower_options){ 0 }, a);
    const pl_forecast_memory m = forecast(p, a).memory;
    assert_true(m.weights == w && m.optimizer == 2 * w && m.gradients >= w && m.activations > 0);
    int64_t most = 0; /* one that has not been added yet */
    for (int i = 0; i < g->values.n; i++) {
        const pl_value *v = g->values.at[i];
        if (v->kind == PL_WEIGHT && size_of(v) > most) most = size_of(v);
    }
    assert_true(m.gradients - w <= 2 * most);
    pl_arena_free(a);
}

/* A weight used twice: its gradient is a sum, whose terms count as well. */
static void test_terms(void **state)
{
    pl_arena *a = pl_arena_new("test");
    pl_builder b = pl_builder_new(a, &pl_ops_all, "twice");
    pl_value *x = pl_add_input(&b, "x", PL_F32, PL_SHAPE(2, 64));
    pl_value *w = weight(&b, "w", PL_SHAPE(64, 64));
    pl_value *y = PL_ADD_AS(&b, &pl_op_einsum, "y", "bm,mn->bn", x, w);
    pl_value *z = PL_ADD_AS(&b, &pl_op_einsum, "z", "bm,mn->bn", y, w);
    pl_value *loss = PL_ADD_AS(&b, &pl_op_einsum, "loss", "bn,bn->", z, z);
    (void)state;
    add_sgd(&b, loss, 1, &w);
    pl_add_output(&b, "loss", loss);
    pl_forecast_memory m = memory_of(graph_done(&b), "dp", 1, &(pl_lower_options){ 0 }, a);
    assert_int_equal(m.weights, 64 * 64 * 4);
    assert_int_equal(m.optimizer, 64 * 64 * 4);
    assert_int_equal(m.gradients, 2 * 64 * 64 * 4);
    pl_arena_free(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_any_plan),     cmocka_unit_test(test_presets),
        cmocka_unit_test(test_lines),        cmocka_unit_test(test_windows),
        cmocka_unit_test(test_one_device),   cmocka_unit_test(test_zero),
        cmocka_unit_test(test_buffers),      cmocka_unit_test(test_activations),
        cmocka_unit_test(test_shared_store), cmocka_unit_test(test_sums),
        cmocka_unit_test(test_terms),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
