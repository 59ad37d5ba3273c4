/* One forward, one backward (PipeDream-Flush: Narayanan et al., ICML 2021): rank r of p begins
 * p - r micro-batches, then takes turns. It waits as in GPipe, and holds p - r micro-batches at
 * most. */
#include "schedules/make.h"

bool pl_pipeline_1f1b(const pl_pipeline_request *r, pl_arena *out, pl_pipeline *s, pl_err *err)
{
    (void)err;
    for (int rank = 0; rank < r->ranks; rank++) {
        const int ahead = r->ranks - rank < r->micro ? r->ranks - rank : r->micro;
        int begun = 0;
        for (; begun < ahead; begun++) pl_pipeline_add(s, rank, PL_PASS_F, rank, begun, out);
        for (int m = 0; m < r->micro; m++) {
            pl_pipeline_add(s, rank, PL_PASS_B, rank, m, out);
            if (begun < r->micro) pl_pipeline_add(s, rank, PL_PASS_F, rank, begun++, out);
        }
    }
    return true;
}
