/* Bags of ids as data: drawn bounds ascend and fit together, a batch has the bags of its rows one
 * after another, and files whose offsets are none are refused. */
#include "data/bags.h"

#include "data/ids.h"
#include "data/rows.h"
#include "ops/lib/all.h"
#include "ops/lib/segment.h"
#include "ops/list.h"
#include "support/ports.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <unistd.h>

#include <cmocka.h>

#include "support/arena.h"
#include "support/tensor_file.h"

enum { BATCH = 4, PLACES = 12, TABLE = 10 };

static const char *const path = "bags.safetensors";

/* Bags of "ids" by "offsets"; with_ends: and by "ends", else the last ends with the places. */
static const pl_graph *make_graph(bool with_ends)
{
    pl_graph *g;
    pl_err err = { 0 };
    pl_builder b = pl_builder_new(arena, &pl_ops_all, "test");
    pl_value *ids = pl_add_input(&b, "ids", PL_I32, PL_SHAPE(PLACES));
    pl_value *offsets = pl_add_input(&b, "offsets", PL_I32, PL_SHAPE(BATCH));
    pl_value *table = pl_add_state(&b, "table", PL_F32, PL_SHAPE(TABLE, 2), "ones", PL_WEIGHT);
    pl_value *ends = with_ends ? pl_add_input(&b, "ends", PL_I32, PL_SHAPE(BATCH))
                               : pl_bag_ends(&b, offsets, PLACES);
    pl_value *x = PL_ADD(&b, &pl_op_embedding, NULL, table, ids);
    pl_add_output(&b, "y", pl_bag_reduce(&b, PL_BAG_MEAN, x, offsets, ends));
    if (!pl_builder_done(&b, &g, &err)) fail_msg("%s", err.msg);
    return g;
}

static void finds_and_draws(void **state)
{
    (void)state;
    const pl_graph *g = make_graph(true);
    const pl_limits limits = pl_ids_limits(g, 7, false, arena);
    const pl_data synthetic = { 0 };
    bool empty = false;
    assert_null(pl_ids_bags(&limits, "ids"));
    assert_int_equal(pl_ids_limit(&limits, "ids"), TABLE);
    for (int64_t draw = 0; draw < 50; draw++) {
        int32_t begin[BATCH], end[BATCH];
        pl_feed f = { .data = &synthetic, .seed = 3, .draw = draw };
        const pl_value *v[] = { pl_graph_find(g, "offsets"), pl_graph_find(g, "ends") };
        for (int i = 0; i < 2; i++) {
            const pl_port p = port_of_whole(v[i]);
            f.bags = pl_ids_bags(&limits, v[i]->name);
            assert_non_null(f.bags);
            pl_data_feed(&f, &p, i ? end : begin);
        }
        assert_int_equal(begin[0], 0);
        assert_int_equal(end[BATCH - 1], PLACES);
        for (int i = 0; i + 1 < BATCH; i++) {
            assert_int_equal(end[i], begin[i + 1]);
            assert_true(begin[i] <= end[i]);
            empty |= begin[i] == end[i];
        }
    }
    assert_true(empty);
}

/* -- of a file --------------------------------------------------------------------------------- */

/* Row r has r % 4 ids, each r. */
static const int64_t offsets[8] = { 0, 0, 1, 3, 6, 6, 7, 9 };
static const int32_t ids[12] = { 1, 2, 2, 3, 3, 3, 5, 6, 6, 7, 7, 7 };

#define IDS TENSOR("ids", "I32", ids, 1, 12)
#define OFFSETS TENSOR("offsets", "I64", offsets, 1, 8)

static void fills_batches(void **state)
{
    (void)state;
    const pl_graph *g = make_graph(true);
    const tensor t[] = { IDS, OFFSETS };
    pl_data d;
    pl_err err = { 0 };
    write_tensors(path, 2, t, arena);
    if (!pl_data_rows_open(path, 0.5, true, 1, &g, arena, &d, &err)) fail_msg("%s", err.msg);
    assert_int_equal(d.n, 8);
    assert_int_equal(d.n_train, 4);
    int32_t found[PLACES], begin[BATCH], end[BATCH];
    const int32_t want[PLACES] = { 1, 2, 2, 3, 3, 3, -1, -1, -1, -1, -1, -1 };
    const int32_t begins[BATCH] = { 0, 0, 1, 3 }, ends[BATCH] = { 0, 1, 3, 6 };
    const pl_port p = port_of_whole(pl_graph_find(g, "ids")),
                  q = port_of_whole(pl_graph_find(g, "offsets")),
                  r = port_of_whole(pl_graph_find(g, "ends"));
    pl_data_fill(&d, &p, 1, 0, 1, 0, found);
    pl_data_fill(&d, &q, 1, 0, 1, 0, begin);
    pl_data_fill(&d, &r, 1, 0, 1, 0, end);
    assert_memory_equal(found, want, sizeof want);
    assert_memory_equal(begin, begins, sizeof begins);
    assert_memory_equal(end, ends, sizeof ends);
    assert_true(pl_data_check(&d, &err));
    pl_data_free(&d);
}

/* Some batch of the random rows has more ids than places; it is told, not read beyond. */
static void tells_overflow(void **state)
{
    (void)state;
    static const int64_t long_row[8] = { 0, 0, 0, 0, 8, 8, 8, 8 };
    const pl_graph *g = make_graph(true);
    const tensor t[] = { IDS, TENSOR("offsets", "I64", long_row, 1, 8) };
    pl_data d;
    pl_err err = { 0 };
    int32_t found[PLACES];
    write_tensors(path, 2, t, arena);
    if (!pl_data_rows_open(path, 0.5, false, 1, &g, arena, &d, &err)) fail_msg("%s", err.msg);
    const pl_port p = port_of_whole(pl_graph_find(g, "ids"));
    for (int64_t step = 0; step < 40; step++) pl_data_fill(&d, &p, 1, step, 1, 0, found);
    assert_false(pl_data_check(&d, &err));
    assert_non_null(strstr(err.msg, " ids of 'ids', and room for 12: write hots="));
    pl_data_free(&d);
}

static const int64_t late[8] = { 1, 1, 1, 3, 6, 6, 7, 9 }, falls[8] = { 0, 2, 1, 3, 6, 6, 7, 9 },
                     leaves[8] = { 0, 2, 2, 3, 6, 6, 7, 13 }, many[2] = { 0, 3 };
static const int32_t high[12] = { 1, 2, 2, 3, 3, 3, 5, 10, 6, 7, 7, 7 };

static const struct {
    const char *name;
    tensor tensor[2];
    bool without_ends;
    const char *words;
} cases[] = {
    { "not from 0",
      { IDS, TENSOR("offsets", "I64", late, 1, 8) },
      false,
      "row 0 of 'offsets' has 1: offsets begin with 0" },
    { "falling",
      { IDS, TENSOR("offsets", "I64", falls, 1, 8) },
      false,
      "row 2 of 'offsets' has 1, the one before 2: offsets ascend" },
    { "beyond the ids",
      { IDS, TENSOR("offsets", "I64", leaves, 1, 8) },
      false,
      "row 7 of 'offsets' has 13: 'ids' has 12 ids" },
    { "beyond the table",
      { TENSOR("ids", "I32", high, 1, 12), OFFSETS },
      false,
      "row 6 of 'ids' has 10: it has to be at least 0 and below 10, the rows of 'table'" },
    { "too many",
      { IDS, TENSOR("offsets", "I64", many, 1, 2) },
      false,
      "'ids' has 6 ids a row, and the model room for 3: write hots=6" },
    { "no offsets",
      { IDS, TENSOR("offset", "I64", offsets, 1, 8) },
      false,
      "'offsets' i32[rows] is missing (the file has 'offset': rename it)" },
    { "without ends",
      { IDS, OFFSETS },
      true,
      "row 0 of 'ids' has 0 ids: this graph, in which the last bag ends with the 12 ids of a "
      "batch, needs 3 in each" },
};

static void refuses(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const pl_graph *g = make_graph(!cases[i].without_ends);
        pl_data d;
        pl_err err = { 0 };
        write_tensors(path, 2, cases[i].tensor, arena);
        assert_false(pl_data_rows_open(path, 0.5, false, 1, &g, arena, &d, &err));
        assert_int_equal(err.code, PL_EINPUT);
        if (!strstr(err.msg, cases[i].words)) fail_msg("%s: %s", cases[i].name, err.msg);
    }
    unlink(path);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(finds_and_draws),
        TEST(fills_batches),
        TEST(tells_overflow),
        TEST(refuses),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
