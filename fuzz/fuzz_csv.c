/* libFuzzer target: any bytes as a layout problem; what is read is solved, checked, printed, and
 * reads as the same problem with its offsets fixed. */
#include "arena/csv.h"

#include <string.h>

enum { MOST = 40 }; /* buffers that are solved */

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n);

static void check_round_trip(const pl_csv *c, const pl_offsets *l, pl_arena *a)
{
    pl_text out = { .arena = a };
    pl_csv *again;
    pl_err err = { 0 };
    pl_csv_print(c, l->offset, &out);
    if (!pl_csv_parse(pl_text_get(&out), out.n, "again", a, &again, &err))
        pl_bug(__FILE__, __LINE__, "%s\n%s", err.msg, pl_text_get(&out));
    PL_ASSERT_CMP(again->n, ==, c->n);
    for (int i = 0; i < c->n; i++) {
        PL_ASSERT_CMP(again->buf[i].birth, ==, c->buf[i].birth);
        PL_ASSERT_CMP(again->buf[i].bytes, ==, c->buf[i].bytes);
        PL_ASSERT(again->buf[i].wish && again->buf[i].wish->is_fixed);
        PL_ASSERT_CMP(again->buf[i].wish->fixed, ==, l->offset[i]);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    pl_arena *a = pl_arena_new("fuzz");
    pl_csv *c;
    pl_offsets l;
    pl_err err = { 0 };
    const pl_offsets_options o = { .effort = 300 };
    if (!pl_csv_parse((const char *)bytes, n, "fuzz", a, &c, &err)) {
        PL_ASSERT_CMP(err.code, ==, PL_EINPUT);
        PL_ASSERT(!strncmp(err.msg, "fuzz: line ", 11));
    } else if (c->n <= MOST) {
        if (!pl_offsets_solve(c->n, c->buf, 1, INT64_MAX, &o, a, &l, &err)) {
            PL_ASSERT_CMP(err.code, ==, PL_EINFEASIBLE);
        } else {
            if (!pl_offsets_check(c->n, c->buf, 1, INT64_MAX, &l, &err))
                pl_bug(__FILE__, __LINE__, "%s", err.msg);
            check_round_trip(c, &l, a);
        }
    }
    pl_arena_free(a);
    return 0;
}
