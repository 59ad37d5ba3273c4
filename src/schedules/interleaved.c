/* Several stages a rank, p apart (Megatron: Narayanan et al., SC 2021): groups of p micro-batches
 * go through a rank's first stage, then through its second. With v stages a rank the wait is 1 / v
 * of that of 1f1b, for v times the messages. Where p does not divide the micro-batches the last
 * group is larger: were it smaller, its ranks would wait for each other. */
#include "schedules/make.h"

/* The k-th forward pass of a rank, or the k-th backward one: its stages in turn from the other
 * end. */
static pl_pass turn(const pl_pipeline_request *r, int rank, int kind, int k)
{
    const int p = r->ranks, v = r->chunks, last = r->micro < p ? 0 : r->micro / p - 1;
    const int group = k / (p * v) < last ? k / (p * v) : last;
    const int size = group < last ? p : r->micro - last * p, within = k - group * p * v;
    const int chunk = within / size, from_end = v - 1 - chunk;
    return (pl_pass){ (uint8_t)kind, (kind == PL_PASS_F ? chunk : from_end) * p + rank,
                      group * p + within % size };
}

static void add(pl_pipeline *s, const pl_pipeline_request *r, int rank, int kind, int k,
                pl_arena *out)
{
    const pl_pass pass = turn(r, rank, kind, k);
    pl_pipeline_add(s, rank, kind, pass.stage, pass.micro, out);
}

bool pl_pipeline_interleaved(const pl_pipeline_request *r, pl_arena *out, pl_pipeline *s,
                             pl_err *err)
{
    (void)err;
    const int all = r->micro * r->chunks, p = r->ranks;
    const int largest = r->micro < p ? r->micro : p + r->micro % p; /* group */
    for (int rank = 0; rank < r->ranks; rank++) {
        int begun = 0, ahead = 2 * (p - 1 - rank) + (r->chunks - 1) * largest + 1;
        if (ahead > all) ahead = all;
        while (begun < ahead) add(s, r, rank, PL_PASS_F, begun++, out);
        for (int k = 0; k < all; k++) {
            add(s, r, rank, PL_PASS_B, k, out);
            if (begun < all) add(s, r, rank, PL_PASS_F, begun++, out);
        }
    }
    return true;
}
