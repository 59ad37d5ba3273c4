/* Every kernel priced twice, with the figure for such rows and without. */
#include "report/ragged.h"

pl_ragged pl_ragged_of(const pl_candidate *k, const pl_cluster *c)
{
    pl_ragged r = { 0 };
    const pl_speed speed = pl_speed_of(c);
    const pl_program *p = k->program;
    const int *times = k->forecast.times;
    pl_speed aligned = speed;
    double most = 0;
    aligned.unaligned = 1;
    for (int i = 0; i < p->n_steps; i++) {
        const pl_step *x = &p->step[i];
        const int64_t row = x->kind == PL_KERNEL ? pl_speed_ragged(x->share) : 0;
        if (!row) continue;
        const double runs = (double)(pl_program_runs(p, x) * (times ? times[i] : 1)),
                     now = runs * pl_speed_share(x->share, &speed),
                     then = runs * pl_speed_share(x->share, &aligned);
        r.seconds += now, r.aligned += then;
        if (now - then > most) most = now - then, r.row = row;
    }
    r.fit = (r.row + PL_SPEED_ROW - 1) / PL_SPEED_ROW * PL_SPEED_ROW;
    return r;
}
