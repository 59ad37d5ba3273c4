/* libFuzzer target: any bytes as a pipeline schedule; what is read is played, written, and reads as
 * the same rows. */
#include "schedules/csv.h"
#include "schedules/play.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n);

static void check_round_trip(const pl_pipeline *s, pl_arena *a)
{
    pl_text out = { .arena = a };
    pl_pipeline again;
    pl_err err = { 0 };
    pl_pipeline_csv_write(s, &out);
    if (!pl_pipeline_csv_read(pl_text_get(&out), out.n, "again", a, &again, &err))
        pl_bug(__FILE__, __LINE__, "%s\n%s", err.msg, pl_text_get(&out));
    PL_ASSERT_CMP(again.n_ranks, ==, s->n_ranks);
    for (int r = 0; r < s->n_ranks; r++) {
        PL_ASSERT_CMP(again.row[r].n, ==, s->row[r].n);
        for (int i = 0; i < s->row[r].n; i++) {
            PL_ASSERT_CMP(again.row[r].at[i].kind, ==, s->row[r].at[i].kind);
            PL_ASSERT_CMP(again.row[r].at[i].stage, ==, s->row[r].at[i].stage);
            PL_ASSERT_CMP(again.row[r].at[i].micro, ==, s->row[r].at[i].micro);
        }
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    pl_arena *a = pl_arena_new("fuzz");
    pl_pipeline s;
    pl_err err = { 0 };
    if (pl_pipeline_csv_read((const char *)bytes, n, "fuzz", a, &s, &err)) {
        check_round_trip(&s, a);
    } else {
        PL_ASSERT_CMP(err.code, ==, PL_EINPUT);
        PL_ASSERT(!strncmp(err.msg, "fuzz: ", 6));
    }
    pl_arena_free(a);
    return 0;
}
