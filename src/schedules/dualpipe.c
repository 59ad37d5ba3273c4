/* DualPipeV (DeepSeek-AI, DualPipe, 2025): stages as in zbv.c; F of one stage and B of the other
 * stand together, so that the messages of each go beside the other. A rank waits (p - 1)
 * (F&B + B - 3 W), where F&B is a pair of them that runs at once and p are all ranks, and holds
 * 2 p + 1 micro-batches of a stage at most. */
#include "schedules/make.h"

typedef struct dual {
    pl_pipeline *s;
    int rank, stage[2], begun[2], back[2];
    struct {
        int n, done, cap;
        pl_pass *at;
    } later; /* W that is not done yet */
    pl_arena *out;
} dual;

static void forward(dual *x, int chunk)
{
    pl_pipeline_add(x->s, x->rank, PL_PASS_F, x->stage[chunk], x->begun[chunk]++, x->out);
}

static void backward(dual *x, int chunk)
{
    pl_pipeline_add(x->s, x->rank, PL_PASS_B, x->stage[chunk], x->back[chunk]++, x->out);
}

/* I alone; W comes later. */
static void inputs(dual *x, int chunk)
{
    const pl_pass w = { PL_PASS_W, x->stage[chunk], x->back[chunk]++ };
    pl_pipeline_add(x->s, x->rank, PL_PASS_I, w.stage, w.micro, x->out);
    PL_PUSH(x->out, &x->later, w);
}

static void weights(dual *x)
{
    const pl_pass w = x->later.at[x->later.done++];
    pl_pipeline_add(x->s, x->rank, PL_PASS_W, w.stage, w.micro, x->out);
}

/* The last backward passes of both stages: whole ones in the first half, in two from there on. */
static void end_both(dual *x, int n)
{
    const bool odd = x->rank % 2;
    for (int i = 0; i < n; i++) {
        const bool second = i > n / 2 || (i == n / 2 && odd), last = i >= n / 2;
        second ? inputs(x, 1) : backward(x, 1);
        last ? inputs(x, 0) : backward(x, 0);
    }
}

static void make_rank(dual *x, int ranks, int micro)
{
    const int after = ranks - x->rank - 1, both = x->rank + 1;
    for (int i = 0; i < 2 * after; i++) forward(x, 0);
    for (int i = 0; i < both; i++) forward(x, 0), forward(x, 1);
    for (int i = 0; i < after; i++) inputs(x, 1), weights(x), forward(x, 1);
    for (int i = 0; i < micro - 2 * ranks + both; i++)
        forward(x, 0), backward(x, 1), forward(x, 1), backward(x, 0);
    for (int i = 0; i < after; i++) backward(x, 1), forward(x, 1), backward(x, 0);
    end_both(x, both);
    for (int i = 0; i < after; i++) weights(x), inputs(x, 0);
    while (x->later.done < x->later.n) weights(x);
}

bool pl_pipeline_dualpipev(const pl_pipeline_request *r, pl_arena *out, pl_pipeline *s, pl_err *err)
{
    if (r->micro < 2 * r->ranks)
        return pl_err_set(err, PL_EUSAGE,
                          "schedule dualpipev on %d ranks takes %d micro-batches or more", r->ranks,
                          2 * r->ranks);
    for (int rank = 0; rank < r->ranks; rank++) {
        dual x = { .s = s, .rank = rank, .stage = { rank, 2 * r->ranks - 1 - rank }, .out = out };
        make_rank(&x, r->ranks, r->micro);
    }
    return true;
}
