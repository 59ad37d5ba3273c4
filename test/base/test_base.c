/* base/: how errors travel, arenas, text and its parsers; random numbers and checksums against
 * known answers. */
#include "base/arena.h"
#include "base/cpu.h"
#include "base/crc.h"
#include "base/each.h"
#include "base/err.h"
#include "base/rng.h"
#include "base/text.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static void err_keeps_the_first_failure(void **state)
{
    (void)state;
    pl_err err = { 0 };
    assert_int_equal(err.code, PL_OK);
    assert_false(pl_err_set(&err, PL_EINPUT, "k is %d but %d", 768, 1024));
    assert_false(pl_err_set(&err, PL_ERUN, "a consequence"));
    assert_int_equal(err.code, PL_EINPUT);
    assert_string_equal(err.msg, "k is 768 but 1024");
}

/* What a file has in it does not reach a terminal as it is. */
static void err_is_tame(void **state)
{
    (void)state;
    pl_err err = { 0 };
    pl_err_set(&err, PL_EINPUT, "no row '%s'", "\033[2Ja\tb\n");
    assert_false(pl_err_in(&err, "%s.csv", "\r\a"));
    assert_string_equal(err.msg, "??.csv: no row '?[2Ja\tb\n'");
}

static void err_collects_places_outermost_first(void **state)
{
    (void)state;
    pl_err err = { 0 };
    pl_err_set(&err, PL_EUSAGE, "no such letter");
    assert_false(pl_err_in(&err, "node '%s' (line %d)", "h3.fc1", 412));
    assert_false(pl_err_in(&err, "gpt2.json"));
    assert_int_equal(err.code, PL_EUSAGE);
    assert_string_equal(err.msg, "gpt2.json: node 'h3.fc1' (line 412): no such letter");
}

/* A message that does not fit loses its end, never its terminator, however often it is wrapped. */
static void err_truncates(void **state)
{
    (void)state;
    char lengthy[3000];
    memset(lengthy, 'x', sizeof lengthy - 1);
    lengthy[sizeof lengthy - 1] = 0;
    struct {
        pl_err err;
        char after[16];
    } s = { 0 };
    memset(s.after, 0x5A, sizeof s.after);
    pl_err_set(&s.err, PL_EINPUT, "start %s", lengthy);
    assert_int_equal(strlen(s.err.msg), sizeof s.err.msg - 1);
    assert_memory_equal(s.err.msg, "start xxx", 9);
    for (int i = 0; i < 9; i++) {
        pl_err_in(&s.err, "place %d %s", i, lengthy);
        assert_true(strlen(s.err.msg) <= sizeof s.err.msg - 1);
        char head[16];
        snprintf(head, sizeof head, "place %d x", i);
        assert_memory_equal(s.err.msg, head, strlen(head));
    }
    for (size_t i = 0; i < sizeof s.after; i++) assert_int_equal(s.after[i], 0x5A);
}

static bool fail_second(int *calls, pl_err *err)
{
    PL_TRY(++*calls > 0);
    PL_TRY(pl_err_set(err, PL_EINTERNAL, "stop"));
    ++*calls;
    return true;
}

static void try_returns_at_the_first_failure(void **state)
{
    (void)state;
    pl_err err = { 0 };
    int calls = 0;
    assert_false(fail_second(&calls, &err));
    assert_int_equal(calls, 1);
}

static bool is_zero(const unsigned char *p, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (p[i]) return false;
    return true;
}

/* Sizes around the alignment, the block size, and beyond: every piece must be aligned, zeroed and
 * apart from the others. Each is filled with its own byte and read back at the end. */
static void arena_gives_separate_zeroed_pieces(void **state)
{
    (void)state;
    static const size_t sizes[] = { 1,     15,    16,    17,     63,      4096, 65535,
                                    65536, 65537, 65520, 200000, 1 << 22, 3,    0 };
    enum { N = sizeof sizes / sizeof *sizes, ROUNDS = 40 };
    static unsigned char *piece[N * ROUNDS];
    pl_arena *a = pl_arena_new("test");
    assert_int_equal(pl_arena_bytes(a), 0);
    size_t total = 0;
    for (int i = 0; i < N * ROUNDS; i++) {
        size_t size = i / N ? sizes[i % N] % 70000 : sizes[i];
        piece[i] = pl_arena_get(a, size, 1);
        total += (size + 15) / 16 * 16;
        assert_non_null(piece[i]);
        assert_int_equal((uintptr_t)piece[i] % 16, 0);
        assert_true(is_zero(piece[i], size));
        memset(piece[i], 1 + i % 255, size);
        assert_int_equal(pl_arena_bytes(a), total);
    }
    for (int i = 0; i < N * ROUNDS; i++) {
        size_t size = i / N ? sizes[i % N] % 70000 : sizes[i];
        for (size_t j = 0; j < size; j++)
            if (piece[i][j] != (unsigned char)(1 + i % 255))
                fail_msg("piece %d, byte %zu of %zu was overwritten", i, j, size);
    }
    pl_arena_free(a);
}

/* A large piece must not cost the room that is left in the block in use. */
static void arena_goes_on_after_a_large_piece(void **state)
{
    (void)state;
    pl_arena *a = pl_arena_new("test");
    char *first = pl_arena_get(a, 1, 16);
    char *large = pl_arena_get(a, 1, 1 << 20);
    char *second = pl_arena_get(a, 1, 16);
    assert_non_null(large);
    assert_ptr_equal(second, first + 16);
    pl_arena_free(a);
    pl_arena_free(NULL);
}

static void arena_copies_text(void **state)
{
    (void)state;
    pl_arena *a = pl_arena_new("test");
    char source[] = "abc";
    char *text = pl_arena_text(a, source), *span = pl_arena_span(a, source, 2);
    char *empty = pl_arena_span(a, source, 0), *fmt = pl_arena_fmt(a, "%s-%05d", source, 42);
    memset(source, 'z', 3);
    assert_string_equal(text, "abc");
    assert_string_equal(span, "ab");
    assert_string_equal(empty, "");
    assert_string_equal(fmt, "abc-00042");
    char *wide = pl_arena_fmt(a, "%*d", 100000, 7);
    assert_int_equal(strlen(wide), 100000);
    assert_int_equal(wide[99999], '7');
    pl_arena_free(a);
}

static void arena_adopts_another(void **state)
{
    (void)state;
    for (int empty = 0; empty < 4; empty++) {
        pl_arena *a = pl_arena_new("test"), *b = pl_arena_new("other");
        char *x = empty & 1 ? NULL : pl_arena_text(a, "kept"), *y = NULL;
        if (!(empty & 2)) y = pl_arena_text(b, "adopted");
        const size_t bytes = pl_arena_bytes(a) + pl_arena_bytes(b);
        pl_arena_adopt(a, b);
        assert_int_equal(pl_arena_bytes(a), bytes);
        char *z = pl_arena_text(a, "new");
        if (x) assert_string_equal(x, "kept");
        if (y) assert_string_equal(y, "adopted");
        assert_string_equal(z, "new");
        pl_arena_free(a);
    }
}

static void arena_lists_grow(void **state)
{
    (void)state;
    pl_arena *a = pl_arena_new("test");
    struct {
        int n, cap;
        int64_t *at;
    } list = { 0 };
    for (int i = 0; i < 100000; i++) PL_PUSH(a, &list, (int64_t)i * i);
    assert_int_equal(list.n, 100000);
    assert_true(list.cap >= list.n);
    for (int i = 0; i < 100000; i++) assert_true(list.at[i] == (int64_t)i * i);
    pl_arena_free(a);
}

enum { PIECES = 1000 };

static void count_piece(void *with, int i)
{
    ((int *)with)[i]++;
}

static void each_piece_is_done_once(void **state)
{
    (void)state;
    int done[PIECES + 1] = { 0 };
    for (int n = 0; n <= PIECES; n += n < 4 ? 1 : 249) {
        memset(done, 0, sizeof done);
        pl_each(n, count_piece, done);
        for (int i = 0; i <= PIECES; i++) assert_int_equal(done[i], i < n);
    }
}

static void text_grows(void **state)
{
    (void)state;
    pl_arena *a = pl_arena_new("test");
    pl_text t = { .arena = a };
    assert_string_equal(pl_text_get(&t), "");
    pl_text_add(&t, "%s", "");
    assert_string_equal(pl_text_get(&t), "");
    for (int i = 0; i < 10000; i++) {
        pl_text_add(&t, "%d,", i % 10);
        if (strlen(t.at) != t.n || t.n >= t.cap)
            fail_msg("after %d: n %zu, cap %zu", i, t.n, t.cap);
    }
    assert_int_equal(t.n, 20000);
    assert_memory_equal(t.at, "0,1,2,3,", 8);
    assert_string_equal(t.at + 19990, "5,6,7,8,9,");
    pl_arena_free(a);
}

static void text_reads_integers(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        bool ok;
        int64_t value;
    } cases[] = {
        { "0", true, 0 },
        { "-0", true, 0 },
        { "42", true, 42 },
        { "-7", true, -7 },
        { "007", true, 7 },
        { "9223372036854775807", true, INT64_MAX },
        { "-9223372036854775808", true, INT64_MIN },
        { "9223372036854775808", false, 0 },
        { "-9223372036854775809", false, 0 },
        { "99999999999999999999999999", false, 0 },
        { "", false, 0 },
        { "-", false, 0 },
        { " 1", false, 0 },
        { "1 ", false, 0 },
        { "1x", false, 0 },
        { "0x10", false, 0 },
        { "1.0", false, 0 },
        { "1e3", false, 0 },
        { "--1", false, 0 },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int64_t v = -12345;
        bool ok = pl_text_int(cases[i].text, &v);
        if (ok != cases[i].ok || v != (ok ? cases[i].value : -12345))
            fail_msg("'%s': ok %d, value %lld", cases[i].text, ok, (long long)v);
    }
}

static void text_reads_reals(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        bool ok;
        double value;
    } cases[] = {
        { "0", true, 0 },       { "1", true, 1 },
        { "-2.5", true, -2.5 }, { "1e-3", true, 1e-3 },
        { ".5", true, 0.5 },    { "1e308", true, 1e308 },
        { "1e309", false, 0 },  { "-1e309", false, 0 },
        { "inf", false, 0 },    { "nan", false, 0 },
        { "", false, 0 },       { " 1", false, 0 },
        { "1 ", false, 0 },     { "1.5.2", false, 0 },
        { "1e", false, 0 },     { "1,5", false, 0 },
        { "-", false, 0 },      { ".", false, 0 },
        { "0.1", true, 0.1 },   { "3.0000000000000004", true, 3.0000000000000004 },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        double v = -12345;
        bool ok = pl_text_real(cases[i].text, &v),
             same = !(v < cases[i].value || v > cases[i].value);
        if (ok != cases[i].ok || (ok && !same))
            fail_msg("'%s': ok %d, value %g", cases[i].text, ok, v);
    }
}

static void text_reads_bytes(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        bool ok;
        int64_t value;
    } cases[] = {
        { "0", true, 0 },
        { "17", true, 17 },
        { "17B", true, 17 },
        { "1KiB", true, 1024 },
        { "1KB", true, 1000 },
        { "1.5MiB", true, 1572864 },
        { "2MB", true, 2000000 },
        { "24GiB", true, 25769803776 },
        { "80GB", true, 80000000000 },
        { "3TiB", true, 3298534883328 },
        { "0.5TB", true, 500000000000 },
        { "8388608TiB", false, 0 }, /* 2^63 */
        { "1e30", false, 0 },
        { "-1", false, 0 },
        { "-1GiB", false, 0 },
        { "inf", false, 0 },
        { "nanB", false, 0 },
        { "", false, 0 },
        { "GiB", false, 0 },
        { " 1GiB", false, 0 },
        { "1 GiB", false, 0 },
        { "1gib", false, 0 },
        { "1GiBx", false, 0 },
        { "1Ki", false, 0 },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int64_t v = -12345;
        bool ok = pl_text_bytes(cases[i].text, &v);
        if (ok != cases[i].ok || v != (ok ? cases[i].value : -12345))
            fail_msg("'%s': ok %d, value %lld", cases[i].text, ok, (long long)v);
    }
}

static void text_prints_sizes(void **state)
{
    (void)state;
    static const struct {
        double bytes;
        const char *text;
    } cases[] = {
        { 0, "0 B" },
        { 1, "1 B" },
        { 1023, "1023 B" },
        { 1024, "1.0 KiB" },
        { 1536, "1.5 KiB" },
        { 1048576.0 * 99, "99.0 MiB" },
        { 1048576.0 * 100, "100 MiB" },
        { 0x1p40 * 1.5, "1.5 TiB" },
        { 0x1p50 * 5000, "5000 PiB" },
    };
    pl_arena *a = pl_arena_new("test");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_string_equal(pl_text_size(a, cases[i].bytes), cases[i].text);
    pl_arena_free(a);
}

/* Against the list of the system's. */
static void cpu_has_what_the_system_says(void **state)
{
    static const char *const asked[][2] = { { "avx2", " avx2 " },
                                            { "avx512f", " avx512f " },
                                            { "fma", " fma " } };
    (void)state;
    char line[16384] = "";
    FILE *in = fopen("/proc/cpuinfo", "r");
    while (in && fgets(line, sizeof line, in) && strncmp(line, "flags", 5) != 0) line[0] = 0;
    if (in) fclose(in);
    for (int i = 0; *line && i < 3; i++)
        assert_int_equal(pl_cpu_has(asked[i][0]), strstr(line, asked[i][1]) != NULL);
    assert_true(pl_cpu_has("nothing that is known here"));
}

static void text_finds_what_follows(void **state)
{
    (void)state;
    const char *rest = pl_text_after("ab,,c", ',');
    assert_string_equal(rest, ",c");
    assert_string_equal(rest = pl_text_after(rest, ','), "c");
    assert_null(pl_text_after(rest, ','));
    assert_null(pl_text_after("", ','));
    assert_string_equal(pl_text_after("8-", '-'), "");
}

static void text_measures_distance(void **state)
{
    (void)state;
    static const struct {
        const char *a, *b;
        int distance;
    } cases[] = {
        { "", "", 0 },
        { "", "abc", 3 },
        { "abc", "", 3 },
        { "kitten", "sitting", 3 },
        { "gpt2", "gpt2", 0 },
        { "gtp2", "gpt2", 2 },
        { "layers", "layer", 1 },
        { "flaw", "lawn", 2 },
        { "a", "b", 1 },
        { "GPT2", "gpt2", 0 }, /* case is no mistake */
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_int_equal(pl_text_distance(cases[i].a, cases[i].b), cases[i].distance);
        assert_int_equal(pl_text_distance(cases[i].b, cases[i].a), cases[i].distance);
    }
}

/* RFC 3720, B.4, and the check value of the catalogues of checksums. */
static void crc_gives_the_known_answers(void **state)
{
    (void)state;
    uint8_t zeros[32] = { 0 }, ones[32], up[32], down[32];
    for (int i = 0; i < 32; i++) ones[i] = 0xff, up[i] = (uint8_t)i, down[i] = (uint8_t)(31 - i);
    assert_int_equal(pl_crc_castagnoli(zeros, 32), 0x8a9136aa);
    assert_int_equal(pl_crc_castagnoli(ones, 32), 0x62a8ab43);
    assert_int_equal(pl_crc_castagnoli(up, 32), 0x46dd794e);
    assert_int_equal(pl_crc_castagnoli(down, 32), 0x113fdb5c);
    assert_int_equal(pl_crc_castagnoli("123456789", 9), 0xe3069283);
    assert_int_equal(pl_crc_castagnoli(NULL, 0), 0);
}

/* The known answers of Philox4x32-10 that its authors publish with Random123 (file kat_vectors):
 * counter words 0..3 are block low, block high, stream low, stream high. */
static void rng_gives_the_known_answers(void **state)
{
    (void)state;
    static const struct {
        uint32_t counter[4], key[2], out[4];
    } cases[] = {
        { { 0, 0, 0, 0 }, { 0, 0 }, { 0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8 } },
        { { 0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff },
          { 0xffffffff, 0xffffffff },
          { 0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd } },
        { { 0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344 }, /* digits of pi */
          { 0xa4093822, 0x299f31d0 },
          { 0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1 } },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const uint32_t *c = cases[i].counter, *k = cases[i].key;
        pl_rng r = pl_rng_at((uint64_t)k[1] << 32 | k[0], (uint64_t)c[3] << 32 | c[2]);
        uint32_t out[4];
        pl_rng_block(r, (uint64_t)c[1] << 32 | c[0], out);
        for (int w = 0; w < 4; w++) assert_int_equal(out[w], cases[i].out[w]);
    }
}

static void rng_words_are_those_of_the_blocks(void **state)
{
    (void)state;
    pl_rng r = pl_rng_at(0x123456789abcdefu, 77);
    static const uint64_t starts[] = { 0, 5, 0x3fffffffcu, UINT64_MAX - 3 };
    for (size_t s = 0; s < sizeof starts / sizeof *starts; s++)
        for (uint64_t i = starts[s]; i - starts[s] < 4; i++) {
            uint32_t w[4];
            pl_rng_block(r, i / 4, w);
            assert_int_equal(pl_rng_u32(r, i), w[i % 4]);
            assert_true(fabs(pl_rng_uniform(r, i) - w[i % 4] / 4294967296.0) < 1e-15);
        }
}

/* 100000 draws: mean and variance within six standard errors of those of the distribution. */
static void rng_distributions_have_their_moments(void **state)
{
    (void)state;
    enum { N = 100000 };
    pl_rng r = pl_rng_at(1, pl_rng_name("moments"));
    double u1 = 0, u2 = 0, n1 = 0, n2 = 0, n4 = 0, pair = 0;
    for (uint64_t i = 0; i < N; i++) {
        double u = pl_rng_uniform(r, i), z = pl_rng_normal(r, i);
        if (u < 0 || u >= 1 || !isfinite(z)) fail_msg("draw %d: %g, %g", (int)i, u, z);
        u1 += u, u2 += u * u, n1 += z, n2 += z * z, n4 += z * z * z * z;
        if (i % 2) pair += z * pl_rng_normal(r, i - 1); /* both come from one block */
    }
    double root = sqrt((double)N);
    assert_true(fabs(u1 / N - 0.5) < 6 * sqrt(1.0 / 12) / root);
    assert_true(fabs(u2 / N - 1.0 / 3) < 6 * sqrt(4.0 / 45) / root);
    assert_true(fabs(n1 / N) < 6 / root);
    assert_true(fabs(n2 / N - 1) < 6 * sqrt(2.0) / root);
    assert_true(fabs(n4 / N - 3) < 6 * sqrt(96.0) / root);
    assert_true(fabs(pair / (N / 2)) < 6 * sqrt(2.0) / root);
}

static void rng_below_is_even(void **state)
{
    (void)state;
    enum { N = 70000, SIDES = 7 };
    int count[SIDES] = { 0 };
    pl_rng r = pl_rng_at(99, 0);
    for (uint64_t i = 0; i < N; i++) {
        uint64_t x = pl_rng_below(r, i, SIDES);
        assert_true(x < SIDES);
        count[x]++;
        assert_int_equal(pl_rng_below(r, i, 1), 0);
        assert_true(pl_rng_below(r, i, UINT64_MAX) < UINT64_MAX);
    }
    for (int i = 0; i < SIDES; i++) /* standard deviation 92.6 */
        if (count[i] < 10000 - 556 || count[i] > 10000 + 556) fail_msg("%d: %d", i, count[i]);
}

static void rng_streams_differ(void **state)
{
    (void)state;
    assert_true(pl_rng_name("") == 0xcbf29ce484222325u); /* FNV-1a's published offset and answer */
    assert_true(pl_rng_name("a") == 0xaf63dc4c8601ec8cu);
    assert_true(pl_rng_name("foobar") == 0x85944171f73967e8u);
    uint64_t seen[64];
    int n = 0;
    for (uint64_t a = 0; a < 8; a++)
        for (uint64_t b = 0; b < 8; b++) {
            uint64_t stream = pl_rng_mix(a, b);
            for (int i = 0; i < n; i++) assert_true(seen[i] != stream);
            seen[n++] = stream;
        }
    int same = 0;
    for (uint64_t i = 0; i < 1000; i++)
        same += pl_rng_u32(pl_rng_at(1, 2), i) == pl_rng_u32(pl_rng_at(1, 3), i) ||
                pl_rng_u32(pl_rng_at(1, 2), i) == pl_rng_u32(pl_rng_at(2, 2), i);
    assert_int_equal(same, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(err_keeps_the_first_failure),
        cmocka_unit_test(err_is_tame),
        cmocka_unit_test(err_collects_places_outermost_first),
        cmocka_unit_test(err_truncates),
        cmocka_unit_test(try_returns_at_the_first_failure),
        cmocka_unit_test(arena_gives_separate_zeroed_pieces),
        cmocka_unit_test(arena_goes_on_after_a_large_piece),
        cmocka_unit_test(arena_copies_text),
        cmocka_unit_test(arena_adopts_another),
        cmocka_unit_test(arena_lists_grow),
        cmocka_unit_test(each_piece_is_done_once),
        cmocka_unit_test(text_grows),
        cmocka_unit_test(text_reads_integers),
        cmocka_unit_test(text_reads_reals),
        cmocka_unit_test(text_reads_bytes),
        cmocka_unit_test(text_prints_sizes),
        cmocka_unit_test(text_finds_what_follows),
        cmocka_unit_test(text_measures_distance),
        cmocka_unit_test(cpu_has_what_the_system_says),
        cmocka_unit_test(crc_gives_the_known_answers),
        cmocka_unit_test(rng_gives_the_known_answers),
        cmocka_unit_test(rng_words_are_those_of_the_blocks),
        cmocka_unit_test(rng_distributions_have_their_moments),
        cmocka_unit_test(rng_below_is_even),
        cmocka_unit_test(rng_streams_differ),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
