/* evict/play.h - a schedule while it is being made: what is present, what it takes so far.
 *
 * The machine of evict.h. Policies issue actions on it; each is written down, and has to be legal
 * (a mistake is ours and aborts), but for the budget: that the caller compares. */
#ifndef PL_EVICT_PLAY_H
#define PL_EVICT_PLAY_H
#include "evict/items.h"

typedef struct pl_evict_play {
    const pl_evict_items *items;
    bool *here, *kept;    /* [n_value] usable now; remembered on the host                      */
    bool *present;        /* [n_item]                                                          */
    bool *copied;         /* [n_item] on the host, or on the way there, as it is               */
    double *ready, *out;  /* [n_item] seconds when it has come in; when it has gone out        */
    int *runs;            /* [n_op]                                                            */
    double now, compute, out_free, in_free; /* seconds                                         */
    int64_t bytes, peak, copied_bytes;
    struct {
        int n, cap;
        pl_evict_action *at;
    } done;
    pl_arena *arena;
} pl_evict_play;

/* `arena` owns it and its actions. */
pl_evict_play *pl_evict_play_new(const pl_evict_items *items, pl_arena *arena);
void pl_evict_play_restart(pl_evict_play *play); /* as new; its memory is kept */

void pl_evict_play_run(pl_evict_play *play, int op);
void pl_evict_play_drop(pl_evict_play *play, int item);
void pl_evict_play_out(pl_evict_play *play, int item);
void pl_evict_play_in(pl_evict_play *play, int item);

bool pl_evict_play_can_run(const pl_evict_play *play, int op); /* all it reads is usable */

/* Wait for what is needed at the end; copies the actions into `out`. */
void pl_evict_play_end(pl_evict_play *play, pl_arena *out, pl_evict_schedule *schedule);

#endif
