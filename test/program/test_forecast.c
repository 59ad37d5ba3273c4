/* Forecasts of time: what is known in closed form, and a second, slow reckoning of two lanes. */
#include "support/forecasts.h"
#include "reshard/move.h"

#include <stdlib.h>

/* -- by hand ----------------------------------------------------------------------------------- */

enum { MOST_ROWS = 6, MESSAGE = 1 };

/* A step and when it begins and ends, with all of a message hidden, and with half of it. */
typedef struct row {
    int axes; /* 0: compute */
    int wait, after, seconds;
    double all[2], half[2];
} row;

typedef struct hand_case {
    const char *name;
    row row[MOST_ROWS];
} hand_case;

// clang-format off
static const hand_case by_hand[] = {
    { "nothing runs beside the message", {
        { 0, 0, 0, 4, { 0, 4 },   { 0, 4 } },
        { 1, 0, 1, 6, { 4, 10 },  { 4, 10 } },
        { 0, 1, 0, 5, { 10, 15 }, { 10, 15 } } } },
    { "compute runs beside it", {
        { 0, 0, 0, 4, { 0, 4 },   { 0, 4 } },
        { 1, 0, 1, 6, { 4, 10 },  { 4, 10 } },
        { 0, 0, 0, 8, { 4, 12 },  { 4, 15 } },
        { 0, 1, 0, 1, { 12, 13 }, { 15, 16 } } } },
    { "compute ends before the message", {
        { 1, 0, 0, 6, { 0, 6 },   { 0, 6 } },
        { 0, 0, 0, 2, { 0, 2 },   { 0, 4 } },
        { 0, 1, 0, 1, { 6, 7 },   { 6, 7 } } } },
    { "one after the other on a link", {
        { 0, 0, 0, 1, { 0, 1 },   { 0, 1 } },
        { 1, 0, 1, 5, { 1, 6 },   { 1, 6 } },
        { 1, 0, 1, 3, { 6, 9 },   { 6, 9 } },
        { 0, 2, 0, 1, { 9, 10 },  { 9, 10 } } } },
    { "side by side on two, in order for those who wait", {
        { 1, 0, 0, 5, { 0, 5 },   { 0, 5 } },
        { 2, 0, 0, 3, { 0, 3 },   { 0, 3 } },
        { 0, 0, 0, 4, { 0, 4 },   { 0, 6.5 } },
        { 0, 2, 0, 1, { 5, 6 },   { 6.5, 7.5 } } } },
    { "what waits for a link holds up no others", {
        { 1, 0, 0, 5, { 0, 5 },   { 0, 5 } },
        { 1, 0, 0, 4, { 5, 9 },   { 5, 9 } },
        { 2, 0, 0, 2, { 0, 2 },   { 0, 2 } },
        { 0, 3, 0, 1, { 9, 10 },  { 9, 10 } } } },
    { "a group over both axes", {
        { 3, 0, 0, 5, { 0, 5 },   { 0, 5 } },
        { 2, 0, 0, 1, { 5, 6 },   { 5, 6 } },
        { 3, 0, 0, 2, { 6, 8 },   { 6, 8 } },
        { 1, 0, 0, 1, { 8, 9 },   { 8, 9 } } } },
    { "handed over in order", {
        { 0, 0, 0, 3, { 0, 3 },   { 0, 3 } },
        { 1, 0, 1, 2, { 3, 5 },   { 3, 5 } },
        { 2, 0, 0, 1, { 3, 4 },   { 3, 4 } } } },
    { "a message that waits for another", {
        { 1, 0, 0, 5, { 0, 5 },   { 0, 5 } },
        { 2, 1, 0, 1, { 5, 6 },   { 5, 6 } },
        { 0, 0, 0, 8, { 0, 8 },   { 0, 11 } } } },
    { "it may begin before a step that is listed first", {
        { 0, 0, 0, 2, { 0, 2 },   { 0, 2 } },
        { 0, 0, 0, 6, { 2, 8 },   { 2, 10 } },
        { 1, 0, 1, 4, { 2, 6 },   { 2, 6 } },
        { 0, 1, 0, 1, { 8, 9 },   { 10, 11 } } } },
    { "a pause between messages", {
        { 0, 0, 0, 1, { 0, 1 },   { 0, 1 } },
        { 1, 0, 1, 2, { 1, 3 },   { 1, 3 } },
        { 0, 0, 0, 3, { 1, 4 },   { 1, 5 } },
        { 1, 0, 2, 2, { 4, 6 },   { 5, 7 } },
        { 0, 0, 0, 3, { 4, 7 },   { 5, 9 } } } },
};
// clang-format on

/* Fills of bytes and reductions, on a device and links that take a second for a byte. */
static pl_program program_by_hand(const hand_case *x, pl_plan *plan, pl_store *store, pl_step *step)
{
    pl_program p = { .plan = plan, .store = store, .n_ranks = 4, .step = step };
    for (int i = 0; i < MOST_ROWS && x->row[i].seconds; i++) {
        const row *r = &x->row[i];
        pl_step *s = &p.step[p.n_steps++];
        *s = (pl_step){ .kind = r->axes ? PL_MESSAGE : PL_FILL, .wait = r->wait, .n_out = 1 };
        s->label = "step";
        s->type = PL_U8;
        s->count = r->seconds;
        s->out[0] = (pl_slot){ .at = 64 * i };
        if (r->axes) {
            s->in[s->n_in++] = s->out[0];
            s->axes = (unsigned)r->axes;
            s->after = r->after;
            s->bytes = r->seconds;
            p.message_bytes += s->bytes;
        }
        *(r->axes ? &p.n_messages : &p.n_compute) += 1;
        p.work_bytes += 64;
    }
    return p;
}

static void check_by_hand(const hand_case *x, bool half)
{
    pl_arena *a = pl_arena_new("test");
    pl_builder b = pl_builder_new(a, &pl_ops_all, "nothing");
    pl_plan *one = pl_plan_single(graph_done(&b), a);
    pl_store store = { 0 };
    pl_step step[MOST_ROWS];
    one->mesh = mesh_of((int[]){ 2, 2, 0 });
    set_links(one, 1e-300, 1);
    one->mesh.axis[1].per_byte = 1;
    one->mesh.copy_start = 1e-300, one->mesh.copy_per_byte = 1;
    pl_program p = program_by_hand(x, one, &store, step);
    pl_speed speed = speed_of(half ? 0.5 : 1);
    pl_forecast f;
    pl_forecast_make(&p, &speed, a, &f);
    double compute = 0, comm = 0, last = 0;
    for (int i = 0; i < p.n_steps; i++) {
        const double *want = half ? x->row[i].half : x->row[i].all;
        EXPECT(f.begin[i] == want[0] && f.end[i] == want[1],
               "%s%s, step %d: %g to %g, not %g to %g", x->name, half ? ", half hidden" : "", i,
               f.begin[i], f.end[i], want[0], want[1]);
        *(x->row[i].axes ? &comm : &compute) += x->row[i].seconds;
        last = fmax(last, want[1]);
    }
    assert_true(f.step_seconds == last && f.exposed_seconds == last - compute);
    assert_true(f.compute_seconds == compute && f.comm_seconds == comm);
    assert_int_equal(f.comm_bytes, p.message_bytes);
    assert_int_equal(f.memory.peak, p.work_bytes);
    assert_int_equal(f.memory.transient, p.work_bytes);
    pl_arena_free(a);
}

static void test_by_hand(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof by_hand / sizeof *by_hand; i++) {
        check_by_hand(&by_hand[i], false);
        check_by_hand(&by_hand[i], true);
    }
}

/* -- closed forms ------------------------------------------------------------------------------ */

static void expect_close(double got, double want, const char *what)
{
    EXPECT(fabs(got - want) <= 1e-9 * fabs(want) + 1e-15, "%s: %.17g, not %.17g", what, got, want);
}

/* On one device a step takes what its kernels take; without start or memory: flops. */
static void test_one_device(void **state)
{
    pl_arena *a = pl_arena_new("test");
    (void)state;
    const pl_program *p = program_of(&presets[0], make_model(GPT2, PL_TRAIN, a), a);
    pl_speed speed = speed_of(0);
    pl_forecast f;
    double sum = 0;
    for (int i = 0; i < p->n_steps; i++) sum += pl_speed_share(p->step[i].share, &speed);
    pl_forecast_make(p, &speed, a, &f);
    assert_true(p->n_steps > 100 && f.comm_seconds == 0 && f.comm_bytes == 0);
    expect_close(f.step_seconds, sum, "sum of kernels");
    expect_close(f.compute_seconds, sum, "compute");
    speed.start = 0, speed.stream = 1e300;
    pl_forecast_make(p, &speed, a, &f);
    double flops = 0; /* of views the forecast asks none */
    for (int i = 0; i < p->n_steps; i++) {
        const pl_share *s = p->step[i].share;
        if (!s->node->op->view) flops += pl_op_work(s);
    }
    expect_close(f.step_seconds, flops / speed.flops[0], "flops");
    pl_arena_free(a);
}

/* Two devices: links without limits cost nothing, a device without limits only waits for messages,
 * and a message that hides nothing is added to the compute. */
static void test_two_devices(void **state)
{
    static const int64_t buckets[] = { 1, 4096, 1 << 20 };
    (void)state;
    for (int k = 0; k < 3; k++) {
        pl_arena *a = pl_arena_new("test");
        pl_plan *p = plan(make_model(GPT2, PL_TRAIN, a), "dp", 2, NULL, a);
        pl_lower_options o = { .bucket_bytes = buckets[k] };
        const pl_program *q = lower(p, 0, &o, a);
        pl_speed speed = speed_of(1);
        pl_forecast f, g;
        set_links(p, 1e-30, 1e-30);
        pl_forecast_make(q, &speed, a, &f);
        assert_true(q->n_messages > 0 && f.comm_seconds > 0);
        expect_close(f.step_seconds, f.compute_seconds, "free links");
        set_links(p, 1e-6, 1e-9);
        pl_forecast_make(q, &speed, a, &g);
        assert_true(k < 2 || g.exposed_seconds > 0); /* one message: all updates wait for it */
        speed.hidden = 0;
        pl_forecast_make(q, &speed, a, &f);
        expect_close(f.step_seconds, f.compute_seconds + f.comm_seconds, "nothing hidden");
        assert_true(k == 2 || g.step_seconds < f.step_seconds);
        speed = (pl_speed){ .stream = 1e300, .start = 0, .hidden = 1 };
        for (int t = 0; t < PL_N_TYPES; t++) speed.flops[t] = 1e300;
        p->mesh.copy_start = p->mesh.copy_per_byte = 1e-300;
        pl_forecast_make(q, &speed, a, &f);
        expect_close(f.step_seconds, f.comm_seconds, "free compute");
        pl_arena_free(a);
    }
}

/* A node in n steps does 1/n of its flops in each. */
static void test_steps(void **state)
{
    pl_arena *a = pl_arena_new("test");
    pl_plan *p = plan(make_model(GPT2, PL_TRAIN, a), "zero=3", 4, NULL, a);
    const pl_program *whole = lower(p, 1, &(pl_lower_options){ 0 }, a);
    const pl_program *steps = lower(p, 1, &(pl_lower_options){ .step_bytes = 1 }, a);
    pl_speed speed = { .stream = 1e300, .start = 0, .hidden = 1 };
    pl_forecast f, g;
    int pieces = 0;
    (void)state;
    for (int t = 0; t < PL_N_TYPES; t++) speed.flops[t] = 1e9;
    p->mesh.copy_start = p->mesh.copy_per_byte = 1e-300;
    pl_forecast_make(whole, &speed, a, &f);
    pl_forecast_make(steps, &speed, a, &g);
    for (int i = 0; i < steps->n_steps; i++) {
        const pl_step *x = &steps->step[i];
        if (x->kind != PL_KERNEL || !x->piece) continue;
        pl_share all = pl_plan_share(p, x->piece->node->id, 1);
        double seconds = pl_speed_share(&all, &speed) / x->piece->n;
        expect_close(pl_forecast_step(steps, x, &speed), seconds, x->label);
        pieces++;
    }
    assert_true(pieces > 0);
    expect_close(g.compute_seconds, f.compute_seconds, "all steps");
    pl_arena_free(a);
}

/* A shift of a permutation: both ways at once, so that it counts once. */
static void test_shift(void **state)
{
    pl_arena *a = pl_arena_new("test");
    pl_builder b = pl_builder_new(a, &pl_ops_all, "shift");
    pl_value *x = pl_add_input(&b, "x", PL_F32, PL_SHAPE(4, 6));
    pl_err err = { 0 };
    (void)state;
    pl_add_output(&b, "y", PL_ADD_AS(&b, &pl_op_relu, "y", "mn->mn", x));
    pl_plan *p = pl_plan_single(graph_done(&b), a);
    p->mesh = mesh_of((int[]){ 2, 2, 0 });
    EXPECT(pl_placement_parse("[a,b;]", &p->mesh, &p->stored[0], &err), "%s", err.msg);
    p->choice[0].factor[0] = p->choice[0].factor[1] = 0; /* rows over a and b, b first */
    p->choice[0].level[0] = 1;
    set_links(p, 1e-6, 1e-9);
    int shifts = 0;
    for (int r = 0; r < 4; r++) {
        const pl_program *q = lower(p, r, &(pl_lower_options){ 0 }, a);
        pl_speed speed = speed_of(1);
        for (int i = 0; i < q->n_steps; i++) {
            const pl_step *s = &q->step[i];
            double seconds = pl_forecast_step(q, s, &speed);
            if (s->kind != PL_MESSAGE) continue;
            if (s->collective == PL_SEND) assert_true(seconds == 0);
            if (s->collective != PL_RECV) continue;
            expect_close(seconds, pl_move_seconds(PL_PERMUTE, &p->mesh, s->axes, 6 * 4), "shift");
            shifts++;
        }
    }
    assert_true(shifts > 0);
    pl_arena_free(a);
}

/* A device at the border sends without receiving: that takes its time. */
static void test_border(void **state)
{
    pl_arena *a = pl_arena_new("test");
    pl_plan *p = pl_plan_single(make_images(a, 8), a);
    pl_speed speed = speed_of(1);
    int alone = 0;
    (void)state;
    p->mesh = mesh_of((int[]){ 4, 0 });
    pl_placement_split(&p->stored[pl_graph_find(p->graph, "x")->id], 2, 0);
    pl_plan_propagate(p, NULL);
    split_rows(p);
    set_links(p, 1e-6, 1e-9);
    const pl_program *q = lower(p, 0, &(pl_lower_options){ 0 }, a);
    for (int i = 0; i + 1 < q->n_steps; i++) {
        const pl_step *s = &q->step[i];
        if (s->kind != PL_MESSAGE || s->collective != PL_SEND) continue;
        assert_true(s[1].collective != PL_RECV || s[1].transfer != s->transfer);
        expect_close(pl_forecast_step(q, s, &speed), 1e-6 + 1e-9 * 4 * (double)s->count, s->label);
        alone++;
    }
    assert_true(alone > 0);
    pl_arena_free(a);
}

/* -- any program ------------------------------------------------------------------------------- */

/* Is it on a lane of the host? */
static bool is_hosts(const pl_step *x)
{
    return !pl_step_is_compute(x) && pl_step_lane(x) > PL_LANE_RECV;
}

/* Seconds of [from, to) that messages take from computing: between any two times at which one
 * begins or ends the same ones pass all the time. */
static double lost_seconds(const pl_program *p, const pl_forecast *f, const pl_speed *speed,
                           double from, double to)
{
    double sum = 0, t = from;
    while (t < to) {
        double next = to, rate = 1;
        for (int i = 0; i < p->n_steps; i++) {
            const pl_step *x = &p->step[i];
            if (pl_step_is_compute(x)) continue;
            if (f->begin[i] <= t && t < f->end[i])
                rate = fmin(rate, is_hosts(x) ? speed->host_hidden : speed->hidden);
            if (f->begin[i] > t) next = fmin(next, f->begin[i]);
            if (f->end[i] > t) next = fmin(next, f->end[i]);
        }
        sum += (1 - rate) * (next - t);
        t = next;
    }
    return sum;
}

/* When the first n messages, or compute steps, are finished. */
static double finished(const pl_program *p, const pl_forecast *f, bool messages, int n)
{
    double t = 0;
    for (int i = 0, k = 0; i < p->n_steps && k < n; i++) {
        if (pl_step_is_compute(&p->step[i]) == messages) continue;
        t = fmax(t, f->end[i]);
        k++;
    }
    return t;
}

static bool near(double x, double y)
{
    return fabs(x - y) <= 1e-9 * (fabs(x) + fabs(y)) + 1e-15;
}

static bool share_a_link(const pl_step *x, const pl_step *y)
{
    const bool host = is_hosts(x) || is_hosts(y);
    return host ? pl_step_lane(x) == pl_step_lane(y) : x->axes & y->axes;
}

/* Every step begins as soon as it may, and takes its time. */
static void check_lanes(const char *name, const pl_program *p, const pl_forecast *f,
                        const pl_speed *speed)
{
    double handed[PL_N_LANES] = { 0 }, last = 0;
    for (int i = 0, computes = 0; i < p->n_steps; i++) {
        const pl_step *x = &p->step[i];
        double seconds = pl_forecast_step(p, x, speed), begin = finished(p, f, true, x->wait);
        double takes = f->end[i] - f->begin[i];
        if (!pl_step_is_compute(x)) {
            double *lane = &handed[pl_step_lane(x)];
            *lane = begin = fmax(fmax(begin, *lane), finished(p, f, false, x->after));
            for (int k = 0; k < i; k++)
                if (!pl_step_is_compute(&p->step[k]) && share_a_link(&p->step[k], x))
                    begin = fmax(begin, f->end[k]);
        } else {
            begin = fmax(begin, finished(p, f, false, computes++));
            takes -= lost_seconds(p, f, speed, f->begin[i], f->end[i]);
        }
        EXPECT(near(f->begin[i], begin), "%s, step %d: begins at %g, not %g", name, i, f->begin[i],
               begin);
        EXPECT(fabs(takes - seconds) <= 1e-9 * f->step_seconds, "%s, step %d: takes %g, not %g",
               name, i, takes, seconds);
        last = fmax(last, f->end[i]);
    }
    EXPECT(last == f->step_seconds, "%s: ends at %g, not %g", name, f->step_seconds, last);
}

static void check_sums(const char *name, const pl_program *p, const pl_forecast *f,
                       const pl_speed *speed)
{
    double compute = 0, comm = 0, slack = 1e-9 * f->step_seconds;
    double link[PL_MAX_AXES + 3] = { 0 }; /* the last three: to the host, from it, its kernels */
    int64_t bytes = 0;
    for (int i = 0; i < p->n_steps; i++) {
        const pl_step *x = &p->step[i];
        double seconds = pl_forecast_step(p, x, speed);
        double *hosts = is_hosts(x) ? &link[PL_MAX_AXES + pl_step_lane(x) - PL_LANE_OUT] : NULL;
        *(pl_step_is_compute(x) ? &compute : hosts ? hosts : &comm) += seconds;
        if (x->kind == PL_MESSAGE && !hosts) bytes += x->bytes;
        for (int a = 0; a < PL_MAX_AXES; a++)
            if (x->kind == PL_MESSAGE && x->axes >> a & 1) link[a] += seconds;
    }
    const double host = link[PL_MAX_AXES] + link[PL_MAX_AXES + 1], on = link[PL_MAX_AXES + 2];
    EXPECT(near(compute, f->compute_seconds) && near(comm, f->comm_seconds) &&
               near(host, f->host_seconds) && near(on, f->host_kernel_seconds) &&
               near(f->exposed_seconds + compute, f->step_seconds) && bytes == f->comm_bytes,
           "%s: other sums", name);
    EXPECT(f->step_seconds <= compute + comm + host + on + slack,
           "%s: %g is more than %g, %g, %g and %g", name, f->step_seconds, compute, comm, host, on);
    EXPECT(f->step_seconds >= compute - slack, "%s: less than the compute", name);
    for (int a = 0; a < PL_MAX_AXES + 3; a++)
        EXPECT(f->step_seconds >= link[a] - slack, "%s: less than the link %d takes", name, a);
}

/* The step with links that are so many times slower. */
static double step_with(const pl_program *p, double slower, const pl_speed *speed, pl_arena *a)
{
    pl_plan plan = *p->plan;
    pl_program q = *p;
    pl_forecast f;
    q.plan = &plan;
    set_links(&plan, 1e-6 * slower, 1e-9 * slower);
    pl_forecast_make(&q, speed, a, &f);
    return f.step_seconds;
}

static void check_program(const char *name, const pl_program *p, pl_arena *a)
{
    static const double hidden[] = { 1, 0.87, 0.3, 0 };
    double last = 0;
    for (int k = 0; k < 4; k++) {
        pl_speed speed = speed_of(hidden[k]);
        pl_forecast f;
        pl_forecast_make(p, &speed, a, &f);
        check_lanes(name, p, &f, &speed);
        check_sums(name, p, &f, &speed);
        EXPECT(f.step_seconds >= last * (1 - 1e-9), "%s: faster where less is hidden", name);
        double t = f.step_seconds;
        for (double slower = 1; slower < 1000; slower *= 1.7) {
            double s = step_with(p, slower, &speed, a);
            EXPECT(s >= t * (1 - 1e-9), "%s, hidden %g: faster on slower links (%g): %g after %g",
                   name, hidden[k], slower, s, t);
            t = s;
        }
        last = f.step_seconds;
    }
}

static void test_any_plan(void **state)
{
    int messages = 0;
    (void)state;
    for (uint64_t seed = 0; seed < 120; seed++) {
        pl_arena *a = pl_arena_new("test");
        bool reuse;
        const pl_program *p = program_by_lot(seed, false, &reuse, a);
        check_program(pl_arena_fmt(a, "seed %llu", (unsigned long long)seed), p, a);
        messages += p->n_messages;
        pl_arena_free(a);
    }
    assert_true(messages > 500);
}

/* What a gather's or exchange's blocks are put together to is all of a part, and so is a slice. */
static int check_copies(const pl_program *p)
{
    pl_speed speed = speed_of(1);
    int copies = 0;
    for (int i = 0; i < p->n_steps; i++) {
        const pl_step *x = &p->step[i];
        const pl_transfer *t = x->transfer;
        if (x->kind != PL_COPY || !t || x->piece || x->to != PL_PART_TO) continue;
        pl_region part = pl_region_of(&t->move.to, &p->plan->mesh, &t->value->shape, p->rank);
        int64_t bytes = pl_region_count(&part) * pl_type_bytes(t->value->type);
        expect_close(pl_forecast_step(p, x, &speed),
                     p->plan->mesh.copy_start + (double)bytes * p->plan->mesh.copy_per_byte,
                     x->label);
        copies++;
    }
    return copies;
}

static void test_presets(void **state)
{
    pl_arena *a = pl_arena_new("test");
    const pl_graph *g = make_clipped(GPT2, PL_TRAIN, 1, a);
    int copies = 0;
    (void)state;
    for (int k = 0; k < N_PRESETS; k++) {
        const pl_program *p = program_of(&presets[k], g, a);
        check_program(presets[k].strategy, p, a);
        copies += check_copies(p);
    }
    assert_true(copies > 50);
    pl_arena_free(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_by_hand),     cmocka_unit_test(test_one_device),
        cmocka_unit_test(test_two_devices), cmocka_unit_test(test_steps),
        cmocka_unit_test(test_shift),       cmocka_unit_test(test_border),
        cmocka_unit_test(test_any_plan),    cmocka_unit_test(test_presets),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
