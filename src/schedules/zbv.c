/* The V schedule of Qi et al. ("Zero Bubble Pipeline Parallelism", ICLR 2024): of its two stages a
 * rank has one on the way to the last rank and one on the way back, so that the first rank has the
 * loss, too. With F, I and W alike nothing is waited for, in as much memory as 1f1b. */
#include "schedules/make.h"

/* What a rank did so far: passes of each kind through its stages. */
typedef struct turns {
    pl_pipeline *s;
    int rank, stage[2], n[2][PL_N_PASSES];
    pl_arena *out;
} turns;

static void take(turns *x, int kind, int chunk)
{
    const int micro = x->n[chunk][kind]++;
    if (micro < x->s->n_micro) pl_pipeline_add(x->s, x->rank, kind, x->stage[chunk], micro, x->out);
}

static bool is_left(const turns *x, int kind, int chunk)
{
    return x->n[chunk][kind] < x->s->n_micro;
}

/* I of a stage, and its W. */
static void turn_back(turns *x, int chunk)
{
    take(x, PL_PASS_I, chunk);
    take(x, PL_PASS_W, chunk);
}

static void make_rank(turns *x, int ranks)
{
    const int after = ranks - x->rank;
    for (int i = 0; i < 2 * after - 1; i++) take(x, PL_PASS_F, 0);
    for (int i = 0; i < x->rank; i++) take(x, PL_PASS_F, 1), take(x, PL_PASS_F, 0);
    for (int i = 0; i < after; i++) take(x, PL_PASS_F, 1), turn_back(x, 1);
    while (is_left(x, PL_PASS_F, 0) || is_left(x, PL_PASS_F, 1)) {
        take(x, PL_PASS_F, 0);
        turn_back(x, 0);
        take(x, PL_PASS_F, 1);
        turn_back(x, 1);
    }
    for (int i = 0; i < x->rank; i++) take(x, PL_PASS_I, 0), take(x, PL_PASS_I, 1);
    while (is_left(x, PL_PASS_I, 0)) turn_back(x, 0);
    while (is_left(x, PL_PASS_W, 1)) take(x, PL_PASS_W, 1);
    while (is_left(x, PL_PASS_W, 0)) take(x, PL_PASS_W, 0);
}

bool pl_pipeline_zbv(const pl_pipeline_request *r, pl_arena *out, pl_pipeline *s, pl_err *err)
{
    if (r->micro < 2 * r->ranks)
        return pl_err_set(err, PL_EUSAGE, "schedule zbv on %d ranks takes %d micro-batches or more",
                          r->ranks, 2 * r->ranks);
    for (int rank = 0; rank < r->ranks; rank++)
        make_rank(&(turns){ s, rank, { rank, 2 * r->ranks - 1 - rank }, { { 0 } }, out }, r->ranks);
    return true;
}
