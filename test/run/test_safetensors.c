/* The two texts of a checkpoint without any folder: safetensors files and manifests. */
#include "run/safetensors.h"

#include <limits.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/file.h"
#include "base/rng.h"
#include "run/manifest.h"

/* A file of this header and that many bytes of data. */
static const char *make_file(pl_arena *a, const char *header, size_t data, size_t *n)
{
    size_t length = strlen(header);
    *n = 8 + length + data;
    char *at = pl_arena_get(a, *n, 1);
    for (int i = 0; i < 8; i++) at[i] = (char)(length >> 8 * i & 0xFF);
    memcpy(at + 8, header, length);
    return at;
}

#define F32(begin, end) "\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[" #begin "," #end "]"

/* clang-format off */
static const struct {
    const char *header;
    size_t data;
    const char *says; /* NULL: valid */
} headers[] = {
    { "{}", 0, NULL },
    { "{\"a\":{" F32(0, 8) "}}   ", 8, NULL },
    { "{\"__metadata__\":{\"k\":\"v\"},\"b\":{" F32(8, 16) "},\"a\":{" F32(0, 8) "}}", 16, NULL },
    { "{\"a\":{\"dtype\":\"BF16\",\"shape\":[],\"data_offsets\":[0,2]}}", 2, NULL },
    { "{\"a\":{\"dtype\":\"U8\",\"shape\":[0,9],\"data_offsets\":[0,0]}}", 0, NULL },
    { "", 0, "bad JSON at line 1" },
    { "[]", 0, "an object {...} is needed" },
    { "{\"a\":\n{]}", 0, "bad JSON at line 2" },
    { "{\"a\":{" F32(0, 8) "}", 8, "bad JSON" },
    { "{\"a\":{" F32(0, 8) "},\"a\":{" F32(8, 16) "}}", 16, "duplicate object key" },
    { "{\"a\":{" F32(0, 8) "}} x", 8, "end of file expected" },
    { "{\"a\":7}", 0, "tensor 'a': its entry is not an object" },
    { "{\"a\":{}}", 0, "tensor 'a': 'dtype' is missing" },
    { "{\"a\":{\"dtype\":\"F16\",\"shape\":[4],\"data_offsets\":[0,8]}}", 8, "dtype 'F16'" },
    { "{\"a\":{\"dtype\":\"F32\",\"shape\":2,\"data_offsets\":[0,8]}}", 8, "'shape' is of" },
    { "{\"a\":{\"dtype\":\"F32\",\"shape\":[-2],\"data_offsets\":[0,8]}}", 8, "dimension 0" },
    { "{\"a\":{\"dtype\":\"F32\",\"shape\":[2.0],\"data_offsets\":[0,8]}}", 8, "dimension 0" },
    { "{\"a\":{\"dtype\":\"F32\",\"shape\":[1,1,1,1,1,1,1,1,2],\"data_offsets\":[0,8]}}", 8,
      "9 dimensions, at most 8" },
    { "{\"a\":{\"dtype\":\"F32\",\"shape\":[4294967296,4294967296],\"data_offsets\":[0,8]}}", 8,
      "overflows" },
    { "{\"a\":{\"dtype\":\"F32\",\"shape\":[4294967296,4294967296,0],\"data_offsets\":[0,0]}}", 0,
      "overflows" },
    { "{\"a\":{\"dtype\":\"F32\",\"shape\":[99999999999999999999],\"data_offsets\":[0,8]}}", 8,
      "bad JSON" },
    { "{\"a\":{\"dtype\":\"F32\",\"shape\":[2]}}", 8, "'data_offsets' is not a list" },
    { "{\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8,9]}}", 8, "a list of two" },
    { "{\"a\":{" F32(8, 0) "}}", 8, "are not a range" },
    { "{\"a\":{" F32(-8, 0) "}}", 8, "are not a range" },
    { "{\"a\":{" F32(0, 4) "}}", 4, "F32 [2] needs 8 bytes, but 'data_offsets' hold 4" },
    { "{\"a\":{" F32(4, 12) "}}", 12, "tensor 'a' starts at byte 4 of the data, leaving a hole" },
    { "{\"a\":{" F32(0, 8) "},\"b\":{" F32(12, 20) "}}", 20, "leaving a hole" },
    { "{\"a\":{" F32(0, 8) "},\"b\":{" F32(4, 12) "}}", 12, "overlapping" },
    { "{\"a\":{" F32(0, 8) "},\"b\":{" F32(0, 8) "}}", 8, "overlapping" },
    { "{\"a\":{" F32(0, 8) "}}", 7, "truncated: 69 bytes found, 70 needed" },
    { "{\"a\":{" F32(0, 8) "}}", 9, "too long: 71 bytes found, 70 needed" },
    { "{\"__metadata__\":{\"k\":1}}", 0, "'k' is not a text" },
    { "{\"__metadata__\":3}", 0, "'__metadata__' is not an object" },
    { "{\"a\":[[[[1]]]]}", 0, "nested deeper than 3" },
    { "{\"a\":[[],[],[],[],[],[],[],[],[],[],[],[],[],[],[],[],[],[],[],[],[],[],[],[],[],[],[],[]"
      ",[],[],[],[],[],[],[],[],[],[],[],[],[],[],[],[],[],[],[],[]]}", 0, "50 brackets" },
    { "{\"\xff\":{" F32(0, 8) "}}", 8, "bad JSON" },
};
/* clang-format on */

static void test_headers(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof headers / sizeof *headers; i++) {
        pl_arena *a = pl_arena_new("test");
        size_t n = 0, bytes = 0;
        const char *file = make_file(a, headers[i].header, headers[i].data, &n);
        int count = -1;
        pl_saved *t = NULL;
        pl_err err = { 0 };
        bool ok = pl_safetensors_parse(file, n, a, &count, &t, &err);
        if (ok != !headers[i].says) fail_msg("%s: %s", headers[i].header, ok ? "read" : err.msg);
        for (int k = 0; ok && k < count; k++) {
            assert_ptr_equal(t[k].data, file + n - headers[i].data + bytes);
            bytes += pl_safetensors_bytes(&t[k]);
        }
        if (ok) assert_int_equal(bytes, headers[i].data);
        if (!ok) assert_int_equal(err.code, PL_EINPUT);
        if (!ok && !strstr(err.msg, headers[i].says))
            fail_msg("'%s' is not in: %s", headers[i].says, err.msg);
        pl_arena_free(a);
    }
}

static void test_lengths(void **state)
{
    (void)state;
    static const struct {
        unsigned char bytes[10];
        size_t n;
        const char *says;
    } cases[] = {
        { { 0 }, 0, "truncated: 0 bytes found, at least 8 needed" },
        { { 2 }, 7, "truncated: 7 bytes found" },
        { { 2 }, 8, "truncated: 8 bytes found, 10 needed for the header" },
        { { 0, 0, 0, 0, 0, 0, 0, 0x80 }, 10, "not a safetensors file" },
        { { 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff }, 10, "not a safetensors file" },
    };
    pl_arena *a = pl_arena_new("test");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int n = 0;
        pl_saved *t = NULL;
        pl_err err = { 0 };
        assert_false(pl_safetensors_parse(cases[i].bytes, cases[i].n, a, &n, &t, &err));
        if (!strstr(err.msg, cases[i].says)) fail_msg("case %zu: %s", i, err.msg);
    }
    pl_arena_free(a);
}

static const pl_saved *find(int n, const pl_saved t[], const char *name)
{
    for (int i = 0; i < n; i++)
        if (!strcmp(t[i].name, name)) return &t[i];
    fail_msg("no tensor '%s'", name);
    return NULL;
}

/* A file of the public library; data/README.md says how it was made. */
static void test_public_file(void **state)
{
    (void)state;
    pl_arena *a = pl_arena_new("test");
    const char *file = NULL;
    size_t bytes = 0;
    int n = 0;
    pl_saved *t = NULL;
    pl_err err = { 0 };
    const char *source = getenv("PLEAT_SOURCE_DIR");
    const char *path = pl_file_join(a, source ? source : ".", "test/run/data/public.safetensors");
    if (!pl_file_read(path, 1024, a, &file, &bytes, &err)) fail_msg("%s", err.msg);
    if (!pl_safetensors_parse(file, bytes, a, &n, &t, &err)) fail_msg("%s", err.msg);
    assert_int_equal(n, 5);
    const float w[] = { 0, 0.25f, 0.5f, 0.75f, 1, 1.25f };
    const int64_t ids[] = { 1, -2, (int64_t)1 << 40 };
    const int32_t minus_five = -5;
    assert_memory_equal(find(n, t, "w")->data, w, sizeof w);
    assert_string_equal(pl_shape_text(a, find(n, t, "w")->type, &find(n, t, "w")->shape),
                        "f32[2,3]");
    assert_memory_equal(find(n, t, "ids")->data, ids, sizeof ids);
    assert_memory_equal(find(n, t, "mask")->data, "\7\0\377", 3);
    assert_memory_equal(find(n, t, "n")->data, &minus_five, sizeof minus_five);
    assert_int_equal(find(n, t, "n")->shape.rank, 0);
    assert_int_equal(pl_shape_count(&find(n, t, "none")->shape), 0);
    for (size_t k = 0; k < bytes; k++) { /* cut anywhere, it is refused */
        pl_err cut = { 0 };
        if (pl_safetensors_parse(file, k, a, &n, &t, &cut)) fail_msg("reads %zu bytes of it", k);
    }
    pl_arena_free(a);
}

static void test_print_header(void **state)
{
    (void)state;
    static const pl_saved two[] = {
        { "a\"\\\n\xc3\xa9", PL_I64, { 2, { 2, 3 } }, NULL },
        { "b", PL_BF16, { 0, { 0 } }, NULL },
    };
    pl_arena *a = pl_arena_new("test");
    const char *head = NULL;
    size_t n = 0, total = 0;
    pl_err err = { 0 };
    assert_true(pl_safetensors_print(2, two, a, &head, &n, &total, &err));
    static const char json[] =
        "{\"__metadata__\":{\"writer\":\"pleat\"},"
        "\"a\\\"\\\\\\u000a\xc3\xa9\":{\"dtype\":\"I64\",\"shape\":[2,3],\"data_offsets\":[0,48]},"
        "\"b\":{\"dtype\":\"BF16\",\"shape\":[],\"data_offsets\":[48,50]}}";
    assert_int_equal(n % 64, 0);
    assert_int_equal(total, n + 50);
    assert_int_equal((unsigned char)head[0] + 256 * (unsigned char)head[1], n - 8);
    assert_memory_equal(head + 2, "\0\0\0\0\0\0", 6);
    assert_memory_equal(head + 8, json, sizeof json - 1);
    for (size_t i = 8 + sizeof json - 1; i < n; i++) assert_int_equal(head[i], ' ');
    pl_arena_free(a);
}

static void test_print_refuses(void **state)
{
    (void)state;
    static const struct {
        const char *name[2], *says;
    } cases[] = {
        { { "w", "w" }, "duplicate object key" },
        { { "w", "__metadata__" }, "duplicate object key" },
        { { "w", "\xc3" }, "bad JSON" },
    };
    pl_arena *a = pl_arena_new("test");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        pl_saved t[2] = { { cases[i].name[0], PL_U8, { 1, { 4 } }, NULL },
                          { cases[i].name[1], PL_U8, { 1, { 4 } }, NULL } };
        const char *head = NULL;
        size_t n = 0, total = 0;
        pl_err err = { 0 };
        assert_false(pl_safetensors_print(2, t, a, &head, &n, &total, &err));
        if (!strstr(err.msg, cases[i].says)) fail_msg("case %zu: %s", i, err.msg);
    }
    pl_arena_free(a);
}

/* Random tensors: what is printed is parsed back, in order. */
static void test_random_round_trip(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 300; seed++) {
        pl_arena *a = pl_arena_new("test");
        pl_rng r = pl_rng_at(seed, pl_rng_name("safetensors"));
        int n = (int)pl_rng_below(r, 0, 20), count = 0;
        pl_saved *t = PL_NEW_N(a, pl_saved, n), *back = NULL;
        for (int i = 0; i < n; i++) {
            uint64_t at = 16 * (uint64_t)(i + 1);
            t[i].name =
                pl_arena_fmt(a, "t.%d.%llx", i, (unsigned long long)pl_rng_below(r, at, 99));
            t[i].type = (pl_type)pl_rng_below(r, at + 1, PL_N_TYPES);
            t[i].shape.rank = (int)pl_rng_below(r, at + 2, 5);
            for (int d = 0; d < t[i].shape.rank; d++) /* an empty one now and then */
                t[i].shape.dim[d] = (int64_t)pl_rng_below(r, at + 3 + (uint64_t)d, 7);
        }
        const char *head = NULL;
        size_t bytes = 0, total = 0;
        pl_err err = { 0 };
        if (!pl_safetensors_print(n, t, a, &head, &bytes, &total, &err)) fail_msg("%s", err.msg);
        char *file = pl_arena_get(a, total, 1);
        memcpy(file, head, bytes);
        if (!pl_safetensors_parse(file, total, a, &count, &back, &err))
            fail_msg("seed %llu: %s", (unsigned long long)seed, err.msg);
        assert_int_equal(count, n);
        for (int i = 0; i < n; i++)
            if (strcmp(t[i].name, back[i].name) != 0 || t[i].type != back[i].type ||
                !pl_shape_same(&t[i].shape, &back[i].shape))
                fail_msg("seed %llu: tensor %d differs", (unsigned long long)seed, i);
        pl_arena_free(a);
    }
}

static const char golden[] =
    "{\n"
    "  \"pleat_checkpoint\": 1,\n"
    "  \"model\": \"gpt2:layers=4\",\n"
    "  \"step\": 40,\n"
    "  \"seed\": \"18446744073709551615\",\n"
    "  \"data\": {\n"
    "    \"path\": \"text/a \\\"b\\\".txt\",\n"
    "    \"bytes\": 1115394,\n"
    "    \"hash\": \"0123\",\n"
    "    \"step\": 41\n"
    "  },\n"
    "  \"settings\": {\n"
    "    \"lr\": 0.0003,\n"
    "    \"betas\": [0.9, 0.95],\n"
    "    \"third\": 0.3333333333333333,\n"
    "    \"optimizer\": {\"name\": \"adamw\"}\n"
    "  },\n"
    "  \"file\": \"step-00000040.safetensors\",\n"
    "  \"tensors\": [\n"
    "    {\"name\": \"w\", \"type\": \"f32\", \"shape\": [2, 3], \"bytes\": 24, \"xxh3_128\": "
    "\"0123456789abcdef0123456789abcdef\"},\n"
    "    {\"name\": \"b\", \"type\": \"bf16\", \"shape\": [], \"bytes\": 2, \"xxh3_128\": "
    "\"99aa06d3014798d86001c324468d497f\"}\n"
    "  ]\n"
    "}\n";

static void test_manifest_golden(void **state)
{
    (void)state;
    pl_arena *a = pl_arena_new("test");
    pl_manifest_tensor t[] = {
        { "w", "0123456789abcdef0123456789abcdef", PL_F32, { 2, { 2, 3 } }, 24 },
        { "b", pl_manifest_hash(a, "", 0), PL_BF16, { 0, { 0 } }, 2 },
    };
    pl_manifest_text m = {
        { "gpt2:layers=4", 40, UINT64_MAX, 41, "text/a \"b\".txt", 1115394, "0123",
          " {\"lr\": 3e-4, \"betas\":[0.9,0.95],\"third\":0.3333333333333333,"
          "\"optimizer\":{\"name\":\"adamw\"}}" },
        "step-00000040.safetensors",
        2,
        t,
    };
    const char *text = NULL, *again = NULL;
    pl_err err = { 0 };
    pl_manifest_text back;
    if (!pl_manifest_print(&m, a, &text, &err)) fail_msg("%s", err.msg);
    assert_string_equal(text, golden);
    assert_true(pl_manifest_read(text, strlen(text), a, &back, &err));
    assert_true(back.head.seed == UINT64_MAX);
    assert_int_equal(back.head.data_step, 41);
    assert_string_equal(back.head.data, m.head.data);
    assert_string_equal(back.head.settings,
                        "{\"lr\":0.0003,\"betas\":[0.9,0.95],\"third\":0.3333333333333333,"
                        "\"optimizer\":{\"name\":\"adamw\"}}");
    assert_true(pl_manifest_print(&back, a, &again, &err));
    assert_string_equal(again, golden);
    for (size_t n = 0; n + 2 < strlen(golden); n++) { /* cut anywhere, it is refused */
        pl_err cut = { 0 };
        if (pl_manifest_read(text, n, a, &back, &cut)) fail_msg("reads %zu bytes of it", n);
    }
    pl_arena_free(a);
}

/* `golden` with one text replaced. */
static const struct {
    const char *from, *to, *says; /* says NULL: still valid */
} edits[] = {
    { "0.0003", "3e-4", NULL },
    { "\"w\"", "\"another\"", NULL },
    { "\"pleat_checkpoint\": 1", "\"pleat_checkpoint\": 2",
      "written by a newer pleat: version 2, this one reads up to 1" },
    { "\"pleat_checkpoint\": 1", "\"pleat_checkpoint\": \"1\"", "not a version" },
    { "\"pleat_checkpoint\": 1", "\"x\": 1", "not the manifest of a checkpoint" },
    { "\"step\": 40,", "\"step\": 40 2,", "bad JSON at line 4" },
    { "\"step\": 40,", "\"step\": -1,", "'step'" },
    { "\"step\": 40,", "\"model\": \"x\",", "duplicate object key" },
    { "\"model\": \"gpt2:layers=4\"", "\"model\": 4", "'model' is of another kind" },
    { "18446744073709551615", "18446744073709551616", "'seed'" },
    { "\"18446744073709551615\"", "7", "'seed'" },
    { "18446744073709551615", "", "'seed'" },
    { "18446744073709551615", "-1", "'seed'" },
    { "1115394", "1115394.5", "data: 'bytes'" },
    { "\"data\"", "\"date\"", "'data' is missing" },
    { "\"settings\"", "\"set\"", "'settings' is missing" },
    { "step-00000040.safetensors", "../other", "name of a file beside it" },
    { "step-00000040.safetensors", "", "name of a file beside it" },
    { "\"tensors\": [", "\"tensors\": 3, \"x\": [", "'tensors' is of another kind" },
    { "\"f32\"", "\"f64\"", "type 'f64' is not known" },
    { "[2, 3]", "[2, 4]", "tensor 'w': f32[2,4] has 32 bytes, 'bytes' says 24" },
    { "[2, 3]", "[9223372036854775807, 3]", "tensors[0]: tensor 'w': 'shape' overflows" },
    { "\"0123456789abcdef0123456789abcdef\"", "\"0123456789abcdef0123456789abcdeg\"",
      "32 hexadecimal digits" },
    { "99aa06d3014798d86001c324468d497f", "99", "32 hexadecimal digits" },
    { "{\"name\": \"b\"", "{\"names\": \"b\"", "tensors[1]: 'name' is missing" },
};

static void test_manifest_edits(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof edits / sizeof *edits; i++) {
        pl_arena *a = pl_arena_new("test");
        const char *at = strstr(golden, edits[i].from);
        assert_non_null(at);
        const char *text = pl_arena_fmt(a, "%.*s%s%s", (int)(at - golden), golden, edits[i].to,
                                        at + strlen(edits[i].from));
        pl_manifest m;
        pl_err err = { 0 };
        bool ok = pl_manifest_parse(text, strlen(text), a, &m, &err);
        if (ok != !edits[i].says) fail_msg("%s: %s", edits[i].to, ok ? "read" : err.msg);
        if (!ok) assert_int_equal(err.code, PL_EINPUT);
        if (!ok && !strstr(err.msg, edits[i].says))
            fail_msg("'%s' is not in: %s", edits[i].says, err.msg);
        pl_arena_free(a);
    }
}

static void test_manifest_refuses(void **state)
{
    (void)state;
    static const struct {
        const char *settings, *data;
        int64_t step;
        const char *says;
    } cases[] = {
        { "[1]", "d", 0, "settings: bad JSON at line 1: an object" },
        { "{\"a\":1,\"a\":2}", "d", 0, "settings: bad JSON" },
        { "{}", "\xff.txt", 0, "bad JSON at line 7" },
        { "{}", "d", -1, "'step'" },
    };
    pl_arena *a = pl_arena_new("test");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        pl_manifest_text m = { .file = "f" };
        m.head.settings = cases[i].settings;
        m.head.data = cases[i].data;
        m.head.step = cases[i].step;
        const char *text = NULL;
        pl_err err = { 0 };
        assert_false(pl_manifest_print(&m, a, &text, &err));
        if (!strstr(err.msg, cases[i].says)) fail_msg("case %zu: %s", i, err.msg);
    }
    pl_arena_free(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_headers),          cmocka_unit_test(test_lengths),
        cmocka_unit_test(test_public_file),      cmocka_unit_test(test_print_header),
        cmocka_unit_test(test_print_refuses),    cmocka_unit_test(test_random_round_trip),
        cmocka_unit_test(test_manifest_golden),  cmocka_unit_test(test_manifest_edits),
        cmocka_unit_test(test_manifest_refuses),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
