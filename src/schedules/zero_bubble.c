/* The schedules H1 and H2 of Qi et al. ("Zero Bubble Pipeline Parallelism", ICLR 2024). */
#include "schedules/make.h"

/* A rank begins `ahead` micro-batches, then takes I and F in turn; W of a micro-batch waits until
 * `late` more have had their I, so that it fills what would be waited for at the end. */
static void make_rank(const pl_pipeline_request *r, pl_pipeline *s, int rank, int ahead, int late,
                      pl_arena *out)
{
    int begun = 0, done = 0;
    while (begun < ahead && begun < r->micro)
        pl_pipeline_add(s, rank, PL_PASS_F, rank, begun++, out);
    for (int m = 0; m < r->micro; m++) {
        pl_pipeline_add(s, rank, PL_PASS_I, rank, m, out);
        if (m >= late) pl_pipeline_add(s, rank, PL_PASS_W, rank, done++, out);
        if (begun < r->micro) pl_pipeline_add(s, rank, PL_PASS_F, rank, begun++, out);
    }
    while (done < r->micro) pl_pipeline_add(s, rank, PL_PASS_W, rank, done++, out);
}

/* No more memory than 1f1b: p micro-batches whose W is not done. */
bool pl_pipeline_zb_h1(const pl_pipeline_request *r, pl_arena *out, pl_pipeline *s, pl_err *err)
{
    (void)err;
    for (int rank = 0; rank < r->ranks; rank++) make_rank(r, s, rank, r->ranks - rank, rank, out);
    return true;
}

/* 2 p - 1 of them: enough forward passes for the time until the first I. */
bool pl_pipeline_zb_h2(const pl_pipeline_request *r, pl_arena *out, pl_pipeline *s, pl_err *err)
{
    (void)err;
    for (int rank = 0; rank < r->ranks; rank++)
        make_rank(r, s, rank, 2 * (r->ranks - rank) - 1, 2 * rank, out);
    return true;
}
