/* libFuzzer target: any bytes as measured runs; what is read has all its cells, and seconds. */
#include "api/fit.h"

#include <math.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    pl_arena *a = pl_arena_new("fuzz");
    pl_fit_row *row;
    pl_err err = { 0 };
    int rows;
    if (pl_fit_read((const char *)bytes, n, "fuzz", a, &rows, &row, &err)) {
        PL_ASSERT(rows > 0);
        for (int i = 0; i < rows; i++) {
            PL_ASSERT(*row[i].model && *row[i].cluster && *row[i].strategy && row[i].line > 1);
            PL_ASSERT(isfinite(row[i].measured) && row[i].measured > 0);
        }
    } else {
        PL_ASSERT_CMP(err.code, ==, PL_EINPUT);
        PL_ASSERT(!strncmp(err.msg, "fuzz", 4));
    }
    pl_arena_free(a);
    return 0;
}
