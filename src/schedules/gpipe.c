/* GPipe (Huang et al., NeurIPS 2019): all forward passes, then all backward ones. Of p ranks each
 * waits p - 1 of m + p - 1 turns, and holds all m micro-batches. */
#include "schedules/make.h"

bool pl_pipeline_gpipe(const pl_pipeline_request *r, pl_arena *out, pl_pipeline *s, pl_err *err)
{
    (void)err;
    for (int rank = 0; rank < r->ranks; rank++) {
        for (int m = 0; m < r->micro; m++) pl_pipeline_add(s, rank, PL_PASS_F, rank, m, out);
        for (int m = 0; m < r->micro; m++) pl_pipeline_add(s, rank, PL_PASS_B, rank, m, out);
    }
    return true;
}
