/* Clusters by name, by hand and over the axes of a mesh. */
#include "cluster/cluster.h"
#include "support/arena.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

static void is_near(double x, double want)
{
    if (fabs(x - want) > 1e-12 * fabs(want)) fail_msg("%.17g is not %.17g", x, want);
}

static void has(const char *text, const char *words)
{
    if (!strstr(text, words)) fail_msg("'%s' lacks '%s'", text, words);
}

static pl_cluster *find(const char *text)
{
    pl_cluster *c;
    pl_err err = { 0 };
    if (!pl_cluster_find(text, arena, &c, &err)) fail_msg("%s: %s", text, err.msg);
    return c;
}

static const char *print(const pl_cluster *c)
{
    pl_text t = { .arena = arena };
    pl_cluster_print(c, &t);
    return pl_text_get(&t);
}

/* -- names ------------------------------------------------------------------------------------- */

static void names_have_their_sizes(void **state)
{
    static const struct {
        const char *text, *name, *class, *inside, *between;
        int devices, inner;
    } cases[] = {
        { "2x8xv100", "2x8xv100", "v100", "nvlink", "ethernet", 16, 8 },
        { "8x8xh100", "8x8xh100", "h100", "nvlink", "infiniband", 64, 8 },
        { "64xh100", "8x8xh100", "h100", "nvlink", "infiniband", 64, 8 },
        { "4xh100", "1x4xh100", "h100", "nvlink", "infiniband", 4, 4 },
        { "1xV100-32GB", "1x1xv100-32gb", "v100-32gb", "nvlink", "ethernet", 1, 1 },
        { "8xp3.16xlarge", "8x8xp3.16xlarge", "v100", "nvlink", "ethernet", 64, 8 },
        { "1xp2.8xlarge", "1x8xp2.8xlarge", "k80", "pcie", "ethernet", 8, 8 },
        { "2x4xp4d.24xlarge", "2x4xp4d.24xlarge", "a100", "nvlink", "efa", 8, 4 },
        { "16xb200", "2x8xb200", "b200", "nvlink", "infiniband", 16, 8 },
        { "144xgb200", "2x72xgb200", "gb200", "nvlink", "infiniband", 144, 72 },
        { "8xMI300X", "1x8xmi300x", "mi300x", "infinity", "network", 8, 8 },
        { "8xl40s", "1x8xl40s", "l40s", "pcie", "ethernet", 8, 8 },
        { "2xrtx4090", "1x2xrtx4090", "rtx4090", "pcie", "ethernet", 2, 2 },
        { "local:5", "local:5", "local", "cores", NULL, 5, 5 },
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const pl_cluster *c = find(cases[i].text);
        assert_string_equal(c->name, cases[i].name);
        assert_int_equal(c->n_devices, cases[i].devices);
        assert_int_equal(c->level[0].size, cases[i].inner);
        assert_string_equal(c->level[0].name, cases[i].inside);
        assert_int_equal(c->n_levels, cases[i].between ? 2 : 1);
        if (cases[i].between) assert_string_equal(c->level[1].name, cases[i].between);
        assert_string_equal(pl_cluster_device(c, c->n_devices - 1)->name, cases[i].class);
    }
}

static void data_sheets(void **state)
{
    (void)state;
    const pl_cluster *c = find("2x8xv100");
    is_near(c->class[0].memory.value, 16e9);
    is_near(c->class[0].f32_flops.value, 15.7e12);
    is_near(c->class[0].bf16_flops.value, 125e12);
    is_near(c->class[0].memory_bandwidth.value, 900e9);
    has(c->class[0].memory.source, "data sheet");
    is_near(c->level[0].link.per_byte, 1 / 120e9);
    is_near(c->level[1].bandwidth.value, 25e9 / 8);
    is_near(c->level[1].link.per_byte, 8 / (25e9 / 8)); /* eight devices share it */
    is_near(find("1x8xh100")->class[0].bf16_flops.value, 989e12);
    is_near(find("1xp2.8xlarge")->level[0].link.per_byte, 1 / 21e9);
    is_near(find("8xb200")->class[0].bf16_flops.value,
            2250e12);                                         /* dense: half of what is printed */
    is_near(find("8xl4")->class[0].bf16_flops.value, 121e12); /* with sparsity                  */
    is_near(find("8xgb200")->level[0].link.per_byte, 1 / 721.8e9);
}

/* Every kind is whole: it prints, what it prints parses and prints the same, and each number of a
 * class and a level says where it is from. */
static void every_kind_is_whole(void **state)
{
    char kinds[1000];
    int n = 0;
    (void)state;
    snprintf(kinds, sizeof kinds, "%s", pl_cluster_kinds(arena));
    for (char *rest = kinds, *k; (k = strtok_r(rest, ", ", &rest)); n++) {
        pl_err err = { 0 };
        pl_cluster *again;
        const pl_cluster *c = find(pl_arena_fmt(arena, "3x2x%s", k));
        const char *text = print(c);
        assert_int_equal(c->n_devices, 6);
        if (!pl_cluster_parse(text, strlen(text), k, arena, &again, &err)) fail_msg("%s", err.msg);
        assert_string_equal(print(again), text);
        for (const char *line = text; *line; line += strcspn(line, "\n") + 1)
            if (!strncmp(line, "    ", 4) && strncmp(line + 4, "size: ", 6) &&
                !memmem(line, strcspn(line, "\n"), "source: ", 8))
                fail_msg("%s: a number without a source: %.60s", k, line);
    }
    assert_true(n >= 8);
    pl_text words = { .arena = arena };
    pl_cluster_words(&words);
    has(words.at, "local:N");
    has(words.at, "p2.8xlarge");
}

static void bad_names_are_refused(void **state)
{
    static const struct {
        const char *text, *says;
        pl_code code;
    } cases[] = {
        { "", "write NODESxDEVICESxKIND", PL_EUSAGE },
        { "h100", "kinds: v100, ", PL_EUSAGE },
        { "2x8xv10", "did you mean 'v100'?", PL_EUSAGE },
        { "8xl40", "did you mean 'l40s'?", PL_EUSAGE },
        { "8xh100-sxm", "did you mean 'h100'?", PL_EUSAGE },
        { "8xa100-40gb", "did you mean 'a100'?", PL_EUSAGE },
        { "8xa10g", "did you mean 'a10'?", PL_EUSAGE },
        { "8xt4", "unknown kind 't4' (kinds: ", PL_EUSAGE }, /* near l4, and another device */
        { "8xtpu", "unknown kind 'tpu' (kinds: ", PL_EUSAGE },
        { "2x8", "unknown kind '8'", PL_EUSAGE },
        { "2x8x", "unknown kind ''", PL_EUSAGE },
        { "2x2x2xv100", "unknown kind '2xv100'", PL_EUSAGE },
        { "0x8xv100", "'0' is not a number from 1 to", PL_EUSAGE },
        { "2x0xv100", "'0' is not a number from 1 to", PL_EUSAGE },
        { "-2x8xv100", "no name", PL_EUSAGE },
        { "9223372036854775808x2xv100", "'9223372036854775808' is not a number", PL_EUSAGE },
        { "2x1048577xv100", "'1048577' is not a number", PL_EUSAGE },
        { "1024x1025xv100", "joins 1024 groups of 1025 devices", PL_EUSAGE },
        { "12xh100", "12 devices are no whole number of nodes of 8", PL_EUSAGE },
        { "local:", "'' is not a number", PL_EUSAGE },
        { "local:0", "'0' is not a number", PL_EUSAGE },
        { "local:2.5", "'2.5' is not a number", PL_EUSAGE },
        { "no/such/file", "No such file", PL_EINPUT },
        { "nothing.json", "nothing.json", PL_EINPUT },
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        pl_cluster *c;
        pl_err err = { 0 };
        if (pl_cluster_find(cases[i].text, arena, &c, &err)) fail_msg("%s", cases[i].text);
        has(err.msg, cases[i].says);
        if (err.code != cases[i].code) fail_msg("%s: code %d", cases[i].text, (int)err.code);
    }
}

static void a_file_is_found(void **state)
{
    (void)state;
    const pl_cluster *c = find("2x8xv100");
    FILE *f = fopen("found.yaml", "w");
    assert_non_null(f);
    fputs(print(c), f);
    assert_int_equal(fclose(f), 0);
    assert_string_equal(print(find("./found.yaml")), print(c));
    assert_string_equal(print(find("found.yaml")), print(c));
    remove("found.yaml");
}

/* -- axes over levels -------------------------------------------------------------------------- */

/* Three levels, 4 devices x 2 boards x 3 nodes, with latencies 1, 10, 100 us (and 3 times that to
 * start) and 100, 10 GB/s for a device, and 6 GB/s for the 8 devices of a node. */
static pl_cluster *three_levels(void)
{
    pl_err err = { 0 };
    pl_cluster *c = PL_NEW(arena, pl_cluster);
    *c = *find("1x1xh100");
    c->n_levels = 3;
    c->n_parts = 0;
    c->level = PL_NEW_N(arena, pl_level, 3);
    c->level[0] =
        (pl_level){ "board", 4, { 3e-6, "" }, { 1e-6, "" }, { 100e9, "" }, false, { 0.9, "" } };
    c->level[1] =
        (pl_level){ "node", 2, { 3e-5, "" }, { 1e-5, "" }, { 10e9, "" }, false, { 0.8, "" } };
    c->level[2] =
        (pl_level){ "net", 3, { 3e-4, "" }, { 1e-4, "" }, { 6e9, "" }, true, { 0.7, "" } };
    if (!pl_cluster_finish(c, arena, &err)) fail_msg("%s", err.msg);
    assert_int_equal(c->n_devices, 24);
    return c;
}

static void axes_cross_levels(void **state)
{
    static const struct {
        int n, size[4];
        double latency[4], bandwidth[4], exchange[4]; /* 1 / per_byte; 0: the axis has size 1 */
    } cases[] = {
        /* The three levels as they are. */
        { 3,
          { 3, 2, 4 },
          { 1e-4, 1e-5, 1e-6 },
          { 6e9 / 8, 10e9, 100e9 },
          { 6e9 / 8, 10e9, 100e9 } },
        /* 4 of a board are on the same axis: one of the 4 sends to the next board at a time. Of
         * what a device gets in an exchange 4/7 come from there. */
        { 2, { 3, 8 }, { 1e-4, 1e-5 }, { 6e9 / 8, 40e9 }, { 6e9 / 8, 10e9 * 7 / 4 } },
        /* All: 8 of a node on one axis. 16 of 23 come over the net. */
        { 1, { 24 }, { 1e-4 }, { 6e9 }, { 6e9 / 8 * 23 / 16 } },
        /* 2 of a node's boards on the outer axis. */
        { 2, { 6, 4 }, { 1e-4, 1e-6 }, { 6e9 / 4, 100e9 }, { 6e9 / 8 * 5 / 4, 100e9 } },
        /* Parts of a board; the axis of 2 that is in the middle crosses nothing else. */
        { 4,
          { 3, 2, 2, 2 },
          { 1e-4, 1e-5, 1e-6, 1e-6 },
          { 6e9 / 8, 10e9, 100e9, 100e9 },
          { 6e9 / 8, 10e9, 100e9, 100e9 } },
        { 3,
          { 3, 4, 2 },
          { 1e-4, 1e-5, 1e-6 },
          { 6e9 / 8, 20e9, 100e9 },
          { 6e9 / 8, 10e9 * 3 / 2, 100e9 } },
        /* An axis of size 1, anywhere. */
        { 4,
          { 1, 3, 8, 1 },
          { 0, 1e-4, 1e-5, 0 },
          { 0, 6e9 / 8, 40e9, 0 },
          { 0, 6e9 / 8, 10e9 * 7 / 4, 0 } },
    };
    (void)state;
    const pl_cluster *c = three_levels();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        pl_link link[4];
        pl_err err = { 0 };
        if (!pl_cluster_axes(c, cases[i].n, cases[i].size, link, &err)) fail_msg("%s", err.msg);
        for (int k = 0; k < cases[i].n; k++) {
            const double b = cases[i].bandwidth[k], e = cases[i].exchange[k];
            is_near(link[k].latency, cases[i].latency[k]);
            is_near(link[k].start, 3 * cases[i].latency[k]);
            is_near(link[k].per_byte, b > 0 ? 1 / b : 0);
            is_near(link[k].exchange_per_byte, e > 0 ? 1 / e : 0);
            is_near(link[k].overlap, b > 0 ? (b < 10e9 ? 0.7 : b < 100e9 ? 0.8 : 0.9) : 1);
        }
    }
}

static void uneven_axes_are_refused(void **state)
{
    static const struct {
        int n, size[3];
        const char *says;
    } cases[] = {
        { 2,
          { 4, 6 },
          "mesh 4x6 on cluster '1x1xh100': axis 1 cuts what level 'board' joins "
          "unevenly: 6 devices, 1 apart, over groups of 4" },
        { 2, { 8, 3 }, "axis 0 cuts what level 'board' joins unevenly: 8 devices, 3 apart" },
        { 2,
          { 2, 12 },
          "axis 1 cuts what level 'node' joins unevenly: 12 devices, 1 apart, over "
          "groups of 8" },
        { 2, { 2, 8 }, "16 devices; the cluster has 24" },
        { 3, { 1 << 30, 1 << 30, 1 << 30 }, "the cluster has 24" },
        { 1, { 0 }, "axis 0 of the mesh has size 0" },
        { 2, { -4, -6 }, "axis 0 of the mesh has size -4" },
    };
    (void)state;
    const pl_cluster *c = three_levels();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        pl_link link[3];
        pl_err err = { 0 };
        assert_false(pl_cluster_axes(c, cases[i].n, cases[i].size, link, &err));
        assert_int_equal(err.code, PL_EINPUT);
        has(err.msg, cases[i].says);
    }
}

/* Nodes of 8, an axis of 6: the example of the header. */
static void six_of_eight(void **state)
{
    (void)state;
    pl_link link[2];
    pl_err err = { 0 };
    assert_false(pl_cluster_axes(find("3x8xh100"), 2, (int[]){ 4, 6 }, link, &err));
    has(err.msg, "axis 0 cuts what level 'nvlink' joins unevenly: 4 devices, 6 apart, over groups "
                 "of 8");
}

/* A measured curve: each device's message, divided where it has the way out for itself. */
static void axes_of_curves(void **state)
{
    (void)state;
    pl_link link[2];
    pl_err err = { 0 };
    pl_cluster *c = three_levels();
    c->level[2].link.n_points = 2;
    c->level[2].link.point[0] = (pl_point){ 1e3, 1e-4 };
    c->level[2].link.point[1] = (pl_point){ 1e9, 1.0001 };
    assert_true(pl_cluster_finish(c, arena, &err));
    assert_true(pl_cluster_axes(c, 2, (int[]){ 3, 8 }, link, &err));
    is_near(pl_link_seconds(&link[0], 1e3), 1e-4);
    is_near(pl_link_seconds(&link[0], 1e9), 1.0001);
    assert_true(pl_cluster_axes(c, 1, (int[]){ 24 }, link, &err));
    is_near(pl_link_seconds(&link[0], 1e3), 1e-4);
    is_near(pl_link_seconds(&link[0], 1e9), 1e-4 + 1.0 / 8);
    assert_true(link[0].per_byte > 0.9e-9 / 8 && link[0].per_byte < 1.1e-9 / 8);
}

/* -- by hand ----------------------------------------------------------------------------------- */

static void classes_by_device(void **state)
{
    (void)state;
    pl_err err = { 0 };
    pl_cluster *c = three_levels();
    pl_device_class two[] = { c->class[0], c -> class[0] };
    pl_part parts[] = { { 1, 1 }, { 0, 1 }, { 1, 1 } };
    two[1].name = "old";
    c->class = two;
    c->n_classes = 2;
    c->part = parts;
    c->n_parts = 3;
    assert_true(pl_cluster_finish(c, arena, &err));
    for (int d = 0; d < 24; d++)
        assert_ptr_equal(pl_cluster_device(c, d), &two[d / 8 == 1 ? 0 : 1]);
    parts[2].count = 2;
    assert_false(pl_cluster_finish(c, arena, &err));
    has(err.msg, "counts add up to 4, but level 'net' joins 3");
}

static void numbers_out_of_range(void **state)
{
    static const struct {
        size_t at;
        double value;
        const char *says;
    } cases[] = {
        { offsetof(pl_device_class, memory), 0, "class 'h100': memory 0 is not from" },
        { offsetof(pl_device_class, f32_flops), -1, "f32_flops -1" },
        { offsetof(pl_device_class, bf16_flops), (double)NAN, "bf16_flops" },
        { offsetof(pl_device_class, memory_bandwidth), (double)INFINITY, "memory_bandwidth inf" },
        { offsetof(pl_device_class, matmul_efficiency), 1.1, "matmul_efficiency 1.1" },
        { offsetof(pl_device_class, kernel_start), 2, "kernel_start 2" },
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        pl_err err = { 0 };
        pl_cluster *c = three_levels();
        pl_device_class d = c->class[0];
        c->class = &d;
        ((pl_figure *)(void *)((char *)&d + cases[i].at))->value = cases[i].value;
        assert_false(pl_cluster_finish(c, arena, &err));
        assert_int_equal(err.code, PL_EINPUT);
        has(err.msg, cases[i].says);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_have_their_sizes),  cmocka_unit_test(data_sheets),
        cmocka_unit_test(every_kind_is_whole),     cmocka_unit_test(bad_names_are_refused),
        cmocka_unit_test(a_file_is_found),         cmocka_unit_test(axes_cross_levels),
        cmocka_unit_test(uneven_axes_are_refused), cmocka_unit_test(six_of_eight),
        cmocka_unit_test(axes_of_curves),          cmocka_unit_test(classes_by_device),
        cmocka_unit_test(numbers_out_of_range),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
