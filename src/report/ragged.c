/* Every kernel priced twice, with the figure for such rows and without; the same of tiles. */
#include "report/ragged.h"

#include "graph/op.h"

/* What one kernel takes, runs times. */
static void add_kernel(pl_ragged *r, const pl_share *share, double runs, const pl_speed *speed,
                       double *most)
{
    pl_speed aligned = *speed, untiled = *speed;
    aligned.unaligned = 1;
    untiled.tile[0] = untiled.tile[1] = 0;
    const double now = runs * pl_speed_share(share, speed), flops = runs * pl_op_work(share),
                 filling = pl_speed_padding(share, speed);
    const int64_t row = pl_speed_ragged(share);
    if (row) {
        const double then = runs * pl_speed_share(share, &aligned);
        r->seconds += now, r->aligned += then;
        if (now - then > *most) *most = now - then, r->row = row;
    }
    if (pl_speed_is_tiled(share, speed)) {
        r->flops += flops, r->filled += flops * filling;
        r->cut += now, r->whole += runs * pl_speed_share(share, &untiled);
    }
}

pl_ragged pl_ragged_of(const pl_candidate *k, const pl_cluster *c)
{
    pl_ragged r = { 0 };
    const pl_speed speed = pl_speed_of(c);
    const pl_program *p = k->program;
    const int *times = k->forecast.times;
    double most = 0;
    for (int i = 0; i < p->n_steps; i++) {
        const pl_step *x = &p->step[i];
        if (x->kind != PL_KERNEL) continue;
        add_kernel(&r, x->share, (double)(pl_program_runs(p, x) * (times ? times[i] : 1)), &speed,
                   &most);
    }
    r.fit = (r.row + PL_SPEED_ROW - 1) / PL_SPEED_ROW * PL_SPEED_ROW;
    return r;
}
