/* Key points, the steps that a task has in every order: one pass backward, one forward. */
#include "order/segment.h"

/* The task at step i precedes all later ones iff each step j > i has a predecessor at a step >= i
 * (by induction it then follows from the task itself), and likewise backward. So the least over j >
 * i of the latest predecessor's step decides, with one pass from either end. */
void pl_segment_find(const pl_index *index, const int order[], bool key[])
{
    if (index->n == 0) return;
    pl_arena *tmp = pl_arena_new("key points");
    int *step = PL_NEW_N(tmp, int, index->n);
    for (int i = 0; i < index->n; i++) step[order[i]] = i;
    int least = index->n;
    for (int i = index->n - 1; i >= 0; i--) {
        key[i] = least >= i;
        int t = order[i], latest = -1;
        for (int e = index->pred_at[t]; e < index->pred_at[t + 1]; e++)
            latest = step[index->pred[e]] > latest ? step[index->pred[e]] : latest;
        least = latest < least ? latest : least;
    }
    int most = -1;
    for (int i = 0; i < index->n; i++) {
        key[i] = key[i] && most <= i;
        int t = order[i], soonest = index->n;
        for (int e = index->succ_at[t]; e < index->succ_at[t + 1]; e++)
            soonest = step[index->succ[e]] < soonest ? step[index->succ[e]] : soonest;
        most = soonest > most ? soonest : most;
    }
    pl_arena_free(tmp);
}
