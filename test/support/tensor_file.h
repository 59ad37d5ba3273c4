/* test/support/tensor_file.h - safetensors files of any type, written for a test. */
#ifndef PL_TEST_TENSOR_FILE_H
#define PL_TEST_TENSOR_FILE_H
#include "graph/type.h"

#include <stdio.h>
#include <string.h>

typedef struct tensor {
    const char *name, *dtype;
    pl_shape shape;
    const void *data;
    size_t bytes;
} tensor;

/* data: an array, whose elements are those of the type; then the rank, and the dimensions */
#define TENSOR(name, dtype, data, rank, ...)                                                       \
    { name, dtype, { rank, { __VA_ARGS__ } }, data, sizeof(data) }

static inline void write_bytes(const char *path, const void *bytes, size_t n)
{
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(bytes, 1, n, f), n);
    assert_int_equal(fclose(f), 0);
}

static inline void write_tensors(const char *path, int n, const tensor t[], pl_arena *a)
{
    pl_text head = { .arena = a };
    size_t end = 0;
    pl_json_out out = { .text = &head };
    pl_text_add(&head, "--------");
    pl_json_open(&out, NULL, PL_JSON_OBJECT);
    for (int i = 0; i < n; i++) {
        pl_json_open(&out, t[i].name, PL_JSON_OBJECT);
        pl_json_put_text(&out, "dtype", t[i].dtype);
        pl_shape_write(&t[i].shape, &out);
        pl_json_open(&out, "data_offsets", PL_JSON_LIST);
        pl_json_put_int(&out, NULL, (int64_t)end);
        pl_json_put_int(&out, NULL, (int64_t)(end += t[i].bytes));
        pl_json_close(&out);
        pl_json_close(&out);
    }
    pl_json_close(&out);
    char *file = pl_arena_get(a, head.n + end, 1);
    memcpy(file, head.at, head.n);
    for (int i = 0; i < 8; i++) file[i] = (char)((head.n - 8) >> 8 * i & 0xFF);
    for (int i = 0, at = (int)head.n; i < n; at += (int)t[i].bytes, i++)
        memcpy(file + at, t[i].data, t[i].bytes);
    write_bytes(path, file, head.n + end);
}

#endif
