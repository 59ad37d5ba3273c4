/* base/map.h: what was put is found, and nothing else, through growth, copies and collisions. */
#include "base/map.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static int count(const pl_map *m, uint64_t hash)
{
    int n = 0;
    PL_MAP_EACH (m, hash, x) n++;
    return n;
}

static int find(const pl_map *m, uint64_t hash)
{
    return pl_map_seek(m, hash, hash).value;
}

static void test_numbers(void **state)
{
    enum { N = 5000 };
    pl_arena *a = pl_arena_new("test"), *b = pl_arena_new("copy");
    pl_map m = { 0 };
    (void)state;
    assert_int_equal(find(&m, 3), -1);
    for (int i = 0; i < N; i++) pl_map_put(&m, pl_hash_mix(0, 7 * (uint64_t)i), i, a);
    pl_map c = pl_map_copy(&m, b);
    for (int i = 0; i < 7 * N; i++) {
        const uint64_t hash = pl_hash_mix(0, (uint64_t)i);
        const int wanted = i % 7 ? -1 : i / 7;
        assert_int_equal(find(&m, hash), wanted);
        assert_int_equal(find(&c, hash), wanted);
    }
    assert_int_equal(m.n, N);
    assert_true(2 * m.n <= m.n_slots && c.n_slots <= m.n_slots);
    pl_map_clear(&m);
    assert_int_equal(find(&m, pl_hash_mix(0, 7)), -1);
    assert_int_equal(find(&c, pl_hash_mix(0, 7)), 1);
    pl_arena_free(a);
    assert_int_equal(find(&c, pl_hash_mix(0, 14)), 2); /* a copy stands alone */
    pl_arena_free(b);
}

/* Equal hashes, and different ones that want the same slots at the end of the table. */
static void test_collisions(void **state)
{
    pl_arena *a = pl_arena_new("test");
    pl_map m = { 0 };
    (void)state;
    for (int i = 0; i < 40; i++) {
        pl_map_put(&m, 15, i, a);
        pl_map_put(&m, 15 + 1024u * (uint64_t)(1 + i), 100 + i, a);
    }
    assert_int_equal(count(&m, 15), 40);
    uint64_t seen = 0;
    PL_MAP_EACH (&m, 15, x) {
        assert_in_range(x.value, 0, 39);
        seen |= (uint64_t)1 << x.value;
    }
    assert_int_equal(seen, ((uint64_t)1 << 40) - 1);
    for (int i = 0; i < 40; i++) {
        assert_int_equal(count(&m, 15 + 1024u * (uint64_t)(1 + i)), 1);
        assert_int_equal(find(&m, 15 + 1024u * (uint64_t)(1 + i)), 100 + i);
    }
    assert_int_equal(count(&m, 16), 0);
    pl_arena_free(a);
}

/* Hashes stand in plan files: they are the same on every machine. */
static void test_hashes(void **state)
{
    (void)state;
    assert_true(pl_hash_mix(0, 1) == 0x9e3779bd8ef1b1deu);
    assert_true(pl_hash_text(2, "h.0.attn.c_attn") == pl_hash_span(2, "h.0.attn.c_attn", 15));
    assert_true(pl_hash_text(0, "ab") != pl_hash_text(0, "ab "));
    assert_true(pl_hash_text(0, "abcdefgh") != pl_hash_text(0, "abcdefg"));
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_numbers),
                                        cmocka_unit_test(test_collisions),
                                        cmocka_unit_test(test_hashes) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
