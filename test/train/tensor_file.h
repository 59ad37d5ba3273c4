/* test/train/tensor_file.h - safetensors files of any type, written for a test. */
#ifndef PL_TEST_TENSOR_FILE_H
#define PL_TEST_TENSOR_FILE_H
#include "graph/json.h"

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
    pl_text_add(&head, "--------{");
    for (int i = 0; i < n; i++) {
        pl_text_add(&head, "%s\"%s\":{\"dtype\":\"%s\",\"shape\":", i ? "," : "", t[i].name,
                    t[i].dtype);
        pl_json_print_shape(&head, &t[i].shape);
        pl_text_add(&head, ",\"data_offsets\":[%zu,%zu]}", end, end + t[i].bytes);
        end += t[i].bytes;
    }
    pl_text_add(&head, "}");
    char *file = pl_arena_get(a, head.n + end, 1);
    memcpy(file, head.at, head.n);
    for (int i = 0; i < 8; i++) file[i] = (char)((head.n - 8) >> 8 * i & 0xFF);
    for (int i = 0, at = (int)head.n; i < n; at += (int)t[i].bytes, i++)
        memcpy(file + at, t[i].data, t[i].bytes);
    write_bytes(path, file, head.n + end);
}

#endif
