/* What a device takes for a share: flops, bytes, and what of both adds up. */
#include "ops/lib/all.h"
#include "placement/speed.h"
#include "support/arena.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <cmocka.h>

/* Seconds of one node over inputs of a type, whose list ends with rank 0. */
static double seconds_over(pl_type type, const char *op, const char *spec, const pl_shape of[],
                           const pl_speed *speed)
{
    pl_builder b = pl_builder_new(arena, &pl_ops_all, "cost");
    pl_value *in[PL_MAX_OPERANDS];
    int n_in = 0;
    for (; of[n_in].rank; n_in++) in[n_in] = pl_add_input(&b, "x", type, of[n_in]);
    pl_node *n = pl_add_node(&b, pl_ops_find(&pl_ops_all, op), NULL, spec, n_in, in);
    if (!n) fail_msg("%s: %s", op, b.err.msg);
    pl_share s = pl_share_whole(n);
    return pl_speed_share(&s, speed);
}

/* Of f32 inputs, the second of rank 0 where there is none. */
static double seconds_of(const char *op, const char *spec, pl_shape x, pl_shape w,
                         const pl_speed *speed)
{
    return seconds_over(PL_F32, op, spec, (pl_shape[]){ x, w, { 0 } }, speed);
}

/* Of a product [m,k] [k,n] of 16-bit numbers. */
static double narrow_seconds(int64_t m, int64_t k, int64_t n, const pl_speed *speed)
{
    return seconds_over(PL_BF16, "einsum", "mk,kn->mn",
                        (pl_shape[]){ PL_SHAPE(m, k), PL_SHAPE(k, n), { 0 } }, speed);
}

static void is_near(double x, double y)
{
    if (!(fabs(x - y) <= 1e-12 * fabs(y))) fail_msg("%.17g, not %.17g", x, y);
}

static pl_speed speed_of(double flops, double stream)
{
    pl_speed s = { .stream = stream, .start = 1e-3, .hidden = 1 };
    for (int t = 0; t < PL_N_TYPES; t++) s.flops[t] = flops;
    return s;
}

static const pl_shape none = { 0 };

static void the_longer_of_both(void **state)
{
    (void)state;
    const pl_shape x = PL_SHAPE(4, 6), w = PL_SHAPE(6, 8);
    const double flops = 2 * 4 * 6 * 8, bytes = 4 * (4 * 6 + 6 * 8 + 4 * 8);
    pl_speed slow = speed_of(1e2, 1e9), far = speed_of(1e9, 1e2);
    is_near(seconds_of("einsum", "mk,kn->mn", x, w, &slow), 1e-3 + flops / 1e2);
    is_near(seconds_of("einsum", "mk,kn->mn", x, w, &far), 1e-3 + bytes / 1e2);
}

/* A product takes a share of the shorter, too; element-wise kernels stay as they are. */
static void what_memory_adds(void **state)
{
    (void)state;
    const pl_shape x = PL_SHAPE(4, 6), w = PL_SHAPE(6, 8);
    const double flops = 2 * 4 * 6 * 8, bytes = 4 * (4 * 6 + 6 * 8 + 4 * 8);
    pl_speed s = speed_of(1e2, 1e2);
    s.exposed = 0.25;
    is_near(seconds_of("einsum", "mk,kn->mn", x, w, &s),
            1e-3 + fmax(flops, bytes) / 1e2 + 0.25 * fmin(flops, bytes) / 1e2);
    is_near(seconds_of("add", NULL, PL_SHAPE(5), PL_SHAPE(5), &s), 1e-3 + 60 / 1e2);
}

static void products_convolutions_and_the_rest(void **state)
{
    (void)state;
    pl_speed s = speed_of(1e3, 1e9);
    s.windows = 0.5, s.vector = 10;
    is_near(seconds_of("einsum", "mk,kn->mn", PL_SHAPE(4, 6), PL_SHAPE(6, 8), &s),
            1e-3 + 2 * 4 * 6 * 8 / 1e3);
    is_near(seconds_of("conv2d", NULL, PL_SHAPE(1, 2, 4, 4), PL_SHAPE(3, 2, 1, 1), &s),
            1e-3 + 2 * 4 * 4 * 3 * 2 / 500.);
    is_near(seconds_of("add", NULL, PL_SHAPE(5), PL_SHAPE(5), &s), 1e-3 + 0.5);
    is_near(seconds_of("gelu", NULL, PL_SHAPE(5), none, &s), 1e-3 + 24 * 0.5);
    s.windows = s.vector = 0; /* as products */
    is_near(seconds_of("conv2d", NULL, PL_SHAPE(1, 2, 4, 4), PL_SHAPE(3, 2, 1, 1), &s),
            1e-3 + 2 * 4 * 4 * 3 * 2 / 1e3);
    is_near(seconds_of("add", NULL, PL_SHAPE(5), PL_SHAPE(5), &s), 1e-3 + 5 / 1e3);
}

/* One row after 8 others, in one head of width 4: all products of its scores and its mix. */
static void attention_by_itself(void **state)
{
    (void)state;
    pl_speed s = speed_of(1e3, 1e9);
    const pl_shape q = PL_SHAPE(1, 1, 1, 4), k = PL_SHAPE(1, 8, 1, 4);
    const pl_shape of[] = { q, k, k, { 0 } };
    const char *spec = "bqhd,bkhd,bkhe->bqhe,bhq";
    const double all = seconds_over(PL_F32, "attention", spec, of, &s) - 1e-3;
    s.fused = 0.5, s.windows = 0.1, s.unaligned = 0.1;
    is_near(seconds_over(PL_F32, "attention", spec, of, &s), 1e-3 + 2 * all);
}

static void rows_that_tensor_cores_take_apart(void **state)
{
    (void)state;
    pl_speed s = speed_of(1e3, 1e9);
    s.flops[PL_BF16] = 1e3, s.unaligned = 0.5;
    is_near(narrow_seconds(3, 8, 16, &s), 1e-3 + 2 * 3 * 8 * 16 / 1e3);
    is_near(narrow_seconds(3, 8, 12, &s), 1e-3 + 2 * 3 * 8 * 12 / 500.);
    is_near(narrow_seconds(3, 12, 8, &s), 1e-3 + 2 * 3 * 12 * 8 / 500.);
    is_near(narrow_seconds(3, 8, 17, &s), 1e-3 + 2 * 3 * 8 * 17 / 250.);
    is_near(seconds_of("einsum", "mk,kn->mn", PL_SHAPE(4, 6), PL_SHAPE(6, 7), &s), /* of f32 */
            1e-3 + 2 * 4 * 6 * 7 / 1e3);
    s.unaligned = 0; /* as aligned */
    is_near(narrow_seconds(3, 8, 17, &s), 1e-3 + 2 * 3 * 8 * 17 / 1e3);
}

/* Of 8 x 128: a product's rows or its columns are what is cut by 8, whichever costs less. */
static void zeros_fill_tiles(void **state)
{
    (void)state;
    pl_speed s = speed_of(1e3, 1e9);
    s.flops[PL_BF16] = 1e3, s.tile[0] = 8, s.tile[1] = 128;
    is_near(narrow_seconds(16, 256, 128, &s), 1e-3 + 2 * 16 * 256 * 128 / 1e3);
    is_near(narrow_seconds(1, 256, 128, &s), 1e-3 + 2 * 8 * 256 * 128 / 1e3);
    is_near(narrow_seconds(256, 96, 24, &s), 1e-3 + 2 * 256 * 128 * 24 / 1e3);
    is_near(narrow_seconds(130, 1, 130, &s), 1e-3 + 2 * 136 * 128 * 256 / 1e3);
    is_near(seconds_of("einsum", "mk,kn->mn", PL_SHAPE(4, 6), PL_SHAPE(6, 7), &s), /* of f32 */
            1e-3 + 2 * 4 * 6 * 7 / 1e3);
    const pl_shape image[] = { PL_SHAPE(2, 8, 8, 3), PL_SHAPE(16, 3, 3, 3), { 0 } };
    const char *spec = "n[y+r][x+s]c,ocrs->nyxo; pad=1"; /* 9 taps, each with sums over channels */
    is_near(seconds_over(PL_BF16, "conv2d", spec, image, &s),
            1e-3 + 2 * (2 * 8 * 8) * 9 * 128 * 16 / 1e3);
    s.tile[0] = 0, s.tile[1] = 1;
    is_near(narrow_seconds(1, 3, 5, &s), 1e-3 + 2 * 1 * 3 * 5 / 1e3);
}

static void of_the_slowest_class(void **state)
{
    static const char text[] = "schema: pleat.cluster/1\n"
                               "classes:\n"
                               "  a: {memory: 1 GB, f32_flops: 1 TFLOP/s, bf16_flops: 8 TFLOP/s,\n"
                               "      memory_bandwidth: 10 GB/s, matmul_efficiency: 0.5, "
                               "conv_efficiency: 0.4, attention_efficiency: 0.25,\n"
                               "      unaligned_efficiency: 0.1, vector_flops: 3 GFLOP/s,\n"
                               "      tile_rows: 8, tile_columns: 128,\n"
                               "      memory_exposed: 0.3}\n"
                               "  b: {memory: 1 GB, f32_flops: 2 TFLOP/s, bf16_flops: 6 TFLOP/s,\n"
                               "      memory_bandwidth: 20 GB/s,\n"
                               "      matmul_efficiency: 0.5}\n"
                               "levels: [{name: in, size: 2, latency: 1 us, bandwidth: 1 GB/s}]\n"
                               "groups: [{class: a, count: 1}, {class: b, count: 1}]\n";
    pl_cluster *c;
    pl_err err = { 0 };
    (void)state;
    if (!pl_cluster_parse(text, strlen(text), "two", arena, &c, &err)) fail_msg("%s", err.msg);
    pl_speed s = pl_speed_of(c);
    is_near(s.flops[PL_F32], 0.5e12);
    is_near(s.flops[PL_BF16], 3e12); /* of the one class the f32, of the other the bf16 */
    is_near(pl_speed_among(c, 0, 1).flops[PL_BF16], 4e12);
    is_near(pl_speed_among(c, 1, 1).flops[PL_F32], 1e12);
    is_near(pl_speed_among(c, 0, 2).flops[PL_BF16], 3e12);
    is_near(s.windows, 0.8);
    is_near(s.vector, 3e9);
    is_near(s.stream, 7e9);
    is_near(s.exposed, 0.3);
    is_near(c->class[1].memory_exposed.value, 0);
    is_near(s.fused, 0.5);
    is_near(s.unaligned, 0.2);
    assert_int_equal(s.tile[1], 128); /* of the one class alone */
    assert_int_equal(pl_speed_among(c, 1, 1).tile[1], 1);
    is_near(c->class[1].conv_efficiency.value, 0.5);
    is_near(c->class[1].vector_flops.value, 2e12);
    assert_string_equal(c->class[1].conv_efficiency.source, "as matmul_efficiency");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_longer_of_both),
        cmocka_unit_test(what_memory_adds),
        cmocka_unit_test(products_convolutions_and_the_rest),
        cmocka_unit_test(attention_by_itself),
        cmocka_unit_test(zeros_fill_tiles),
        cmocka_unit_test(rows_that_tensor_cores_take_apart),
        cmocka_unit_test(of_the_slowest_class),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
