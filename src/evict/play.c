/* Three lanes and a memory: each action takes effect here as evict.h says. */
#include "evict/play.h"

#include <math.h>
#include <string.h>

static void note(pl_evict_play *y, pl_evict_do act, int what)
{
    pl_evict_action a = { .act = (uint8_t)act, .what = what };
    PL_PUSH(y->arena, &y->done, a);
}

static void hold(pl_evict_play *y, int64_t bytes)
{
    y->bytes += bytes;
    if (y->bytes > y->peak) y->peak = y->bytes;
}

void pl_evict_play_restart(pl_evict_play *play)
{
    const pl_evict_items *x = play->items;
    memset(play->here, 0, sizeof *play->here * (size_t)x->n_value);
    memset(play->kept, 0, sizeof *play->kept * (size_t)x->n_value);
    memset(play->present, 0, sizeof *play->present * (size_t)x->n_item);
    memset(play->copied, 0, sizeof *play->copied * (size_t)x->n_item);
    memset(play->runs, 0, sizeof *play->runs * (size_t)x->n_op);
    for (int i = 0; i < x->n_item; i++) play->ready[i] = play->out[i] = 0;
    play->now = play->compute = play->out_free = play->in_free = 0;
    play->bytes = play->peak = play->copied_bytes = 0;
    play->done.n = 0;
    for (int i = 0; i < x->n_item; i++)
        if (x->item[i].born < 0) {
            play->here[x->item[i].root] = play->present[i] = true;
            hold(play, x->item[i].bytes);
        }
}

pl_evict_play *pl_evict_play_new(const pl_evict_items *items, pl_arena *arena)
{
    pl_evict_play *y = PL_NEW(arena, pl_evict_play);
    y->items = items;
    y->arena = arena;
    y->here = PL_NEW_N(arena, bool, items->n_value);
    y->kept = PL_NEW_N(arena, bool, items->n_value);
    y->present = PL_NEW_N(arena, bool, items->n_item);
    y->copied = PL_NEW_N(arena, bool, items->n_item);
    y->ready = PL_NEW_N(arena, double, items->n_item);
    y->out = PL_NEW_N(arena, double, items->n_item);
    y->runs = PL_NEW_N(arena, int, items->n_op);
    pl_evict_play_restart(y);
    return y;
}

bool pl_evict_play_can_run(const pl_evict_play *play, int op)
{
    const pl_evict_problem *p = play->items->problem;
    for (int k = p->read_at[op]; k < p->read_at[op + 1]; k++)
        if (!play->here[p->read[k]]) return false;
    return true;
}

/* What a view is of is on the host as it was before an op that cannot run again made it. */
static void outdate_copy(pl_evict_play *play, int value)
{
    const pl_evict_items *x = play->items;
    const pl_evict_problem *p = x->problem;
    if (pl_evict_items_is_view(x, value) && p->once && p->once[p->maker[value]])
        play->copied[x->item_of[value]] = false;
}

void pl_evict_play_run(pl_evict_play *play, int op)
{
    const pl_evict_items *x = play->items;
    PL_ASSERT(pl_evict_play_can_run(play, op));
    for (int k = x->in_at[op]; k < x->in_at[op + 1]; k++)
        play->now = fmax(play->now, play->ready[x->in[k]]);
    hold(play, x->made[op]);
    for (int k = x->out_at[op]; k < x->out_at[op + 1]; k++) {
        int i = x->out[k];
        if (play->present[i]) play->bytes -= x->item[i].bytes;
        play->present[i] = true;
    }
    for (int k = x->make_at[op]; k < x->make_at[op + 1]; k++) {
        play->here[x->make[k]] = true;
        outdate_copy(play, x->make[k]);
    }
    play->now += x->problem->seconds[op];
    play->compute += x->problem->seconds[op];
    play->runs[op]++;
    note(play, PL_EVICT_RUN, op);
}

void pl_evict_play_drop(pl_evict_play *play, int item)
{
    const pl_evict_items *x = play->items;
    PL_ASSERT(play->present[item] && !x->item[item].pinned);
    play->now = fmax(play->now, fmax(play->out[item], play->ready[item]));
    for (int k = x->value_at[item]; k < x->value_at[item + 1]; k++) play->here[x->value[k]] = false;
    play->present[item] = false;
    play->bytes -= x->item[item].bytes;
    note(play, PL_EVICT_DROP, x->item[item].root);
}

void pl_evict_play_out(pl_evict_play *play, int item)
{
    const pl_evict_items *x = play->items;
    const pl_evict_problem *p = x->problem;
    PL_ASSERT(play->present[item] && p->out_bytes_per_s > 0);
    double from = fmax(fmax(play->now, play->ready[item]), play->out_free);
    play->out_free = play->out[item] = from + (double)x->item[item].bytes / p->out_bytes_per_s;
    play->copied_bytes += x->item[item].bytes;
    play->copied[item] = true;
    for (int k = x->value_at[item]; k < x->value_at[item + 1]; k++)
        play->kept[x->value[k]] = play->here[x->value[k]];
    note(play, PL_EVICT_OUT, x->item[item].root);
}

void pl_evict_play_in(pl_evict_play *play, int item)
{
    const pl_evict_items *x = play->items;
    PL_ASSERT(play->copied[item] && !play->present[item]);
    double from = fmax(fmax(play->now, play->out[item]), play->in_free);
    play->in_free = play->ready[item] =
        from + (double)x->item[item].bytes / x->problem->in_bytes_per_s;
    play->copied_bytes += x->item[item].bytes;
    play->present[item] = true;
    hold(play, x->item[item].bytes);
    for (int k = x->value_at[item]; k < x->value_at[item + 1]; k++)
        play->here[x->value[k]] = play->kept[x->value[k]];
    note(play, PL_EVICT_IN, x->item[item].root);
}

void pl_evict_play_end(pl_evict_play *play, pl_arena *out, pl_evict_schedule *schedule)
{
    const pl_evict_items *x = play->items;
    for (int i = 0; i < x->n_item; i++)
        if (x->item[i].at_end) play->now = fmax(play->now, play->ready[i]);
    *schedule = (pl_evict_schedule){ .n = play->done.n,
                                     .seconds = play->now,
                                     .compute = play->compute,
                                     .exposed = play->now - play->compute,
                                     .peak = play->peak,
                                     .copied = play->copied_bytes };
    schedule->action = PL_NEW_N(out, pl_evict_action, play->done.n);
    memcpy(schedule->action, play->done.at, sizeof *play->done.at * (size_t)play->done.n);
}
