/* ROAM's greedy baseline: choose() is the rule, pl_lescea_order() applies it task by task. */
#include "order/lescea.h"

#include "order/frontier.h"

/* Least key first, then least number. */
static bool comes_first(int64_t key, int task, int64_t best_key, int best)
{
    return best < 0 || key < best_key || (key == best_key && task < best);
}

static int choose(const pl_frontier *f, int64_t peak)
{
    int fits = -1, rises = -1;
    int64_t fits_key = 0, rises_key = 0;
    for (int i = 0; i < f->n_ready; i++) {
        int t = f->ready[i];
        int64_t need = pl_frontier_need(f, t), after = f->live + pl_frontier_net(f, t);
        if (need <= peak && comes_first(after, t, fits_key, fits)) {
            fits = t;
            fits_key = after;
        } else if (need > peak && comes_first(need, t, rises_key, rises)) {
            rises = t;
            rises_key = need;
        }
    }
    return fits >= 0 ? fits : rises;
}

void pl_lescea_order(const pl_index *index, int order[])
{
    pl_arena *tmp = pl_arena_new("lescea");
    pl_frontier *f = pl_frontier_new(index, tmp);
    int64_t peak = f->live;
    for (int i = 0; i < index->n; i++) {
        int t = order[i] = choose(f, peak);
        int64_t need = pl_frontier_need(f, t);
        peak = need > peak ? need : peak;
        pl_frontier_run(f, t);
    }
    pl_arena_free(tmp);
}
