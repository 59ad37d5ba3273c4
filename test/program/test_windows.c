/* Programs of convolutions and pools whose positions are split: random layers (strides, dilations,
 * pads, taps that do not fit the rows) under plans by lot on one or two axes give the numbers of
 * the graph itself, and their messages have the bytes that the definition of a window says. */
#include "support/rounds.h"
#include "support/trial.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

typedef struct window {
    int taps, stride, dilation, pad;
} window;

/* One that `size` rows have room for, and the positions that it leaves. */
static window window_by_lot(lot *l, int64_t size, int64_t *positions)
{
    for (;;) {
        window w = { 1 + lot_below(l, 5), 1 + lot_below(l, 3), 1 + lot_below(l, 2),
                     lot_below(l, 4) };
        int64_t reach = w.dilation * (w.taps - 1) + 1, room = size + 2 * w.pad - reach;
        *positions = room / w.stride + 1;
        if (room >= 0) return w;
    }
}

typedef struct layers {
    pl_builder b;
    lot lot;
    pl_value *x, *weight[8];
    int n_weights;
} layers;

static const char *attrs_of(layers *s, const window *y, const window *x, bool taps)
{
    const char *r = taps ? pl_builder_fmt(&s->b, "r=%d s=%d ", y->taps, x->taps) : "";
    return pl_builder_fmt(&s->b, "; %sstride=%d,%d dilation=%d,%d pad=%d,%d", r, y->stride,
                          x->stride, y->dilation, x->dilation, y->pad, x->pad);
}

/* The maximum of padding alone is no number. */
static bool sees_some(const window *w)
{
    return w->dilation == 1 && w->pad < w->taps;
}

static void add_layer(layers *s)
{
    int64_t rows, columns;
    pl_shape in = s->x->shape;
    window y = window_by_lot(&s->lot, in.dim[2], &rows);
    window x = window_by_lot(&s->lot, in.dim[3], &columns);
    int kind = lot_below(&s->lot, 6);
    const char *attrs = attrs_of(s, &y, &x, kind > 2);
    if (rows * columns > 100) return;
    if (kind == 3 && sees_some(&x) && sees_some(&y)) {
        s->x = PL_ADD(&s->b, &pl_op_max_pool, attrs, s->x);
    } else if (kind == 3 || kind == 4) {
        s->x = PL_ADD(&s->b, &pl_op_avg_pool, attrs, s->x);
    } else if (kind == 5) {
        const char *spec = pl_builder_fmt(&s->b, "%s count_pad=0", attrs);
        s->x = PL_ADD(&s->b, &pl_op_avg_pool, spec, s->x);
    } else {
        const char *name = pl_builder_fmt(&s->b, "w%d", s->n_weights);
        pl_shape shape = PL_SHAPE(1 + lot_below(&s->lot, 3), in.dim[1], y.taps, x.taps);
        pl_value *w = s->weight[s->n_weights++] = weight(&s->b, name, shape);
        s->x = PL_ADD(&s->b, &pl_op_conv2d, attrs, s->x, w);
    }
    if (lot_below(&s->lot, 3) == 0) s->x = PL_ADD(&s->b, &pl_op_relu, NULL, s->x);
}

/* Some layers on images of 3 to 11 rows, and a step of training. */
static pl_graph *make_layers(pl_arena *a, uint64_t seed)
{
    layers s = { .b = pl_builder_new(a, &pl_ops_all, "windows"), .lot = { pl_rng_at(seed, 1), 0 } };
    pl_shape shape = PL_SHAPE(1 + lot_below(&s.lot, 3), 1 + lot_below(&s.lot, 2),
                              3 + lot_below(&s.lot, 9), 3 + lot_below(&s.lot, 6));
    s.x = pl_add_input(&s.b, "x", PL_F32, shape);
    for (int i = 0, n = 1 + lot_below(&s.lot, 3); i < n || (!s.n_weights && i < 20); i++)
        add_layer(&s);
    pl_value *loss = PL_ADD_AS(&s.b, &pl_op_einsum, "square", "ncyx,ncyx->", s.x, s.x);
    loss = PL_ADD_AS(&s.b, &pl_op_scale, "mean", "; value=0.001", loss);
    if (s.n_weights) add_sgd(&s.b, loss, s.n_weights, s.weight);
    pl_add_output(&s.b, "loss", loss);
    pl_add_output(&s.b, "y", s.x);
    return graph_done(&s.b);
}

/* -- plans ------------------------------------------------------------------------------------- */

/* The positions of each node's windows over the axes by lot, as far as that is legal. */
static void split_positions(pl_plan *p, lot *l)
{
    for (int i = 0; i < p->graph->nodes.n; i++) {
        const pl_node *n = p->graph->nodes.at[i];
        for (int a = 0; a < p->mesh.n && n->sig->n_windows; a++) {
            int8_t *f = &p->choice[i].factor[a], was = *f;
            pl_err why = { 0 };
            if (!lot_below(l, 3)) continue;
            *f = (int8_t)n->sig->window[lot_below(l, n->sig->n_windows)].position;
            if (!pl_plan_check_node(p, n, &why)) *f = was;
        }
    }
}

static void test_any_plan(void **state)
{
    static const int meshes[][4] = { { 2 },    { 3 }, { 4 }, { 2, 2 }, { 3, 2 },
                                     { 2, 3 }, { 5 }, { 8 }, { 2, 4 } };
    const char *only = getenv("PLEAT_TEST_SEED");
    uint64_t first = only ? strtoull(only, NULL, 10) : 0, n = only ? 1 : ROUNDS_OF(400);
    int halos = 0, slices = 0;
    (void)state;
    for (uint64_t seed = first; seed < first + n; seed++) {
        pl_arena *a = pl_arena_new("test");
        lot l = { .rng = pl_rng_at(seed, 2) };
        pl_mesh m = mesh_of(meshes[lot_below(&l, sizeof meshes / sizeof *meshes)]);
        pl_graph *g = make_layers(a, seed);
        pl_plan *p = plan_by_lot(g, &m, seed, 1 + lot_below(&l, 3), a);
        split_positions(p, &l);
        trial t = trial_new(g, seed, a);
        pl_err err = { 0 };
        bool ok = trial_plan(&t, p, 1e-5, seed, false, &err);
        if (!ok) {
            pl_text text = { .arena = a };
            pl_graph_print(g, &text);
            pl_plan_print(p, &text);
            if (t.failed) pl_program_print(t.failed, &text);
            print_error("seed %llu: %s\n", (unsigned long long)seed, err.msg);
            fprintf(stderr, "%s", pl_text_get(&text));
        }
        assert_true(ok);
        halos += t.moves[PL_HALO], slices += t.moves[PL_SLICE];
        trial_free(&t);
        pl_arena_free(a);
    }
    print_message("%d steps of halos, %d of slices\n", halos, slices);
    assert_true(only || (halos > 1000 && slices > 100));
}

/* -- by hand ----------------------------------------------------------------------------------- */

/* One convolution of rows x 3 images of 2 channels with `taps` rows, "same" padding; the rows of
 * the input and of the result over all devices. */
static pl_plan *split_rows(int devices, int rows, int taps, pl_arena *a)
{
    pl_builder b = pl_builder_new(a, &pl_ops_all, "rows");
    pl_value *x = pl_add_input(&b, "x", PL_F32, PL_SHAPE(1, 2, rows, 3));
    pl_value *w = weight(&b, "w", PL_SHAPE(2, 2, taps, 1));
    const char *attrs = pl_builder_fmt(&b, "; pad=%d,0", taps / 2);
    pl_value *y = PL_ADD_AS(&b, &pl_op_conv2d, "y", attrs, x, w);
    pl_add_output(&b, "y", y);
    pl_graph *g = graph_done(&b);
    pl_plan *p = pl_plan_single(g, a);
    pl_mesh m = mesh_of((int[]){ devices, 0 });
    const pl_node *n = pl_graph_find(g, "y")->maker;
    p->mesh = m;
    pl_placement_split(&p->stored[pl_graph_find(g, "x")->id], 2, 0);
    p->choice[n->id].factor[0] = (int8_t)n->sig->window[0].position;
    return p;
}

static int64_t halo_bytes(const pl_program *p)
{
    int64_t n = 0;
    for (int i = 0; i < p->n_steps; i++) {
        const pl_step *s = &p->step[i];
        if (s->kind == PL_MESSAGE && s->transfer->move.kind == PL_HALO) n += s->bytes;
    }
    return n;
}

/* Between two neighbours pass the rows that a window has but one, in one direction or the other,
 * where each has as many rows. A device that has fewer gets those of the next but one. */
static void test_bytes(void **state)
{
    (void)state;
    for (int devices = 2; devices <= 6; devices++)
        for (int taps = 1; taps <= 7; taps += 2)
            for (int each = 1; each <= 4; each++) {
                pl_arena *a = pl_arena_new("test");
                pl_plan *p = split_rows(devices, devices * each, taps, a);
                trial t = trial_new(p->graph, 1, a);
                pl_program *program[MAX_RANKS];
                pl_err err = { 0 };
                int64_t sum = 0, most = 0, lack = 0;
                t.plan = p;
                assert_true(trial_lower(&t, &(pl_lower_options){ 0 }, program, &err));
                for (int r = 0; r < devices; r++) {
                    int rows = devices * each, lo = r * each - taps / 2;
                    int hi = (r + 1) * each + taps / 2;
                    int gets = (hi > rows ? rows : hi) - (lo < 0 ? 0 : lo) - each;
                    assert_int_equal(halo_bytes(program[r]), gets * 2 * 3 * 4);
                    sum += halo_bytes(program[r]), lack += gets;
                    if (gets > most) most = gets;
                }
                if (each >= taps / 2) assert_int_equal(sum, (devices - 1) * (taps - 1) * 2 * 3 * 4);
                for (int i = 0; i < program[0]->n_steps; i++) {
                    const pl_transfer *x = program[0]->step[i].transfer;
                    if (x && x->move.kind == PL_HALO)
                        assert_int_equal(x->move.bytes, most * 2 * 3 * 4);
                }
                assert_true(trial_plan(&t, p, 1e-5, 1, true, &err));
                assert_true(lack == 0 || t.moves[PL_HALO] > 0);
                trial_free(&t);
                pl_arena_free(a);
            }
}

/* Rows from more neighbours than a task can read: all are gathered. */
static void test_far(void **state)
{
    (void)state;
    pl_arena *a = pl_arena_new("test");
    pl_plan *p = split_rows(8, 8, 15, a);
    trial t = trial_new(p->graph, 1, a);
    pl_err err = { 0 };
    assert_true(trial_plan(&t, p, 1e-5, 1, true, &err));
    assert_int_equal(t.moves[PL_HALO], 0);
    assert_true(t.moves[PL_ALL_GATHER] > 0 && t.moves[PL_SLICE] > 0);
    trial_free(&t);
    pl_arena_free(a);
}

/* -- broken programs --------------------------------------------------------------------------- */

enum { LESS, MORE, OTHER_WAY, OTHER_PEER, OTHER_BYTES, OTHER_PLACE, NO_PIECE, N_FAULTS };

static pl_step *find_step(pl_program *p, pl_step_kind kind, int collective)
{
    for (int i = 0; i < p->n_steps; i++) {
        pl_step *s = &p->step[i];
        if (s->kind == kind && s->transfer && s->transfer->move.kind == PL_HALO &&
            (kind == PL_MESSAGE ? (int)s->collective == collective
                                : s->to == PL_PART_TO && s->transfer->shift))
            return s;
    }
    return NULL;
}

static void break_step(pl_program *p, int fault, pl_arena *a)
{
    pl_step *get = find_step(p, PL_MESSAGE, PL_RECV);
    pl_step *put = find_step(p, PL_COPY, 0);
    pl_copy *c = PL_NEW(a, pl_copy);
    pl_transfer *t = PL_NEW(a, pl_transfer);
    *c = put->copy[0];
    *t = *get->transfer;
    switch (fault) {
    case LESS: get->count--, get->bytes -= 4; break;
    case MORE: get->count++, get->bytes += 4; break;
    case OTHER_WAY: t->shift = -t->shift, get->transfer = t; break;
    case OTHER_PEER: get->peer = (get->peer + 1) % p->n_ranks; break;
    case OTHER_BYTES: get->bytes += 4, p->message_bytes += 4; break;
    case OTHER_PLACE: c->to_at += 4, put->copy = c; break;
    default: put->n_copies = 0;
    }
    if (fault == LESS || fault == MORE)
        p->message_bytes += 4 * (fault == MORE) - 4 * (fault == LESS);
}

static void test_faults(void **state)
{
    (void)state;
    for (int fault = 0; fault < N_FAULTS; fault++) {
        pl_arena *a = pl_arena_new("test");
        pl_plan *p = split_rows(3, 6, 3, a);
        trial t = trial_new(p->graph, 1, a);
        pl_program *program[MAX_RANKS];
        const pl_program *failed;
        pl_err err = { 0 };
        t.plan = p;
        assert_true(trial_lower(&t, &(pl_lower_options){ 0 }, program, &err));
        break_step(program[1], fault, a);
        assert_false(trial_check(3, program, &failed, &err));
        assert_int_equal(err.code, PL_EMISMATCH);
        trial_free(&t);
        pl_arena_free(a);
    }
}

/* A rank that drops a receive with its piece, or sends what nobody gets. */
static void test_missing(void **state)
{
    (void)state;
    for (int k = 0; k < 2; k++) {
        pl_arena *a = pl_arena_new("test");
        pl_plan *p = split_rows(2, 6, 3, a);
        trial t = trial_new(p->graph, 1, a);
        pl_program *program[MAX_RANKS];
        const pl_program *failed;
        pl_err err = { 0 };
        t.plan = p;
        assert_true(trial_lower(&t, &(pl_lower_options){ 0 }, program, &err));
        pl_program *q = program[k];
        pl_step *s = find_step(q, PL_MESSAGE, k ? PL_SEND : PL_RECV);
        int number = 0;
        for (const pl_step *x = q->step; x < s; x++) number += x->kind == PL_MESSAGE;
        q->message_bytes -= s->bytes;
        memmove(s, s + 1, (size_t)(q->step + q->n_steps - s - 1) * sizeof *s);
        q->n_steps--, q->n_messages--;
        for (int i = 0; i < q->n_steps; i++) q->step[i].wait -= q->step[i].wait > number;
        assert_false(trial_check(2, program, &failed, &err));
        assert_int_equal(err.code, PL_EMISMATCH);
        const char *says = k ? "has no such" : "incoming blocks of the halo of 'x'";
        assert_non_null(strstr(err.msg, says));
        trial_free(&t);
        pl_arena_free(a);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bytes),    cmocka_unit_test(test_far),
        cmocka_unit_test(test_faults),   cmocka_unit_test(test_missing),
        cmocka_unit_test(test_any_plan),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
