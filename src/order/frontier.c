/* An order in progress, kept up to date as tasks run and are taken back. Read the fields of
 * pl_frontier first: `last` holds the xor of the users that are left, so that with one left it
 * is that user. */
#include "order/frontier.h"

pl_frontier *pl_frontier_new(const pl_index *index, pl_arena *arena)
{
    pl_frontier *f = PL_NEW(arena, pl_frontier);
    f->x = index;
    f->born = PL_NEW_N(arena, int64_t, index->n);
    f->dying = PL_NEW_N(arena, int64_t, index->n);
    f->wait = PL_NEW_N(arena, int, index->n);
    f->ready = PL_NEW_N(arena, int, index->n);
    f->slot = PL_NEW_N(arena, int, index->n);
    f->seen = PL_NEW_N(arena, int, index->m);
    f->left = PL_NEW_N(arena, int, index->m);
    f->last = PL_NEW_N(arena, int, index->m);
    pl_frontier_reset(f);
    return f;
}

static void add_ready(pl_frontier *f, int task)
{
    f->slot[task] = f->n_ready;
    f->ready[f->n_ready++] = task;
}

static void drop_ready(pl_frontier *f, int task)
{
    int moved = f->ready[--f->n_ready];
    f->ready[f->slot[task]] = moved;
    f->slot[moved] = f->slot[task];
}

void pl_frontier_reset(pl_frontier *f)
{
    const pl_index *x = f->x;
    f->live = x->base;
    f->n_done = f->n_ready = 0;
    for (int t = 0; t < x->n; t++) {
        f->born[t] = f->dying[t] = 0;
        f->wait[t] = x->pred_at[t + 1] - x->pred_at[t];
        if (f->wait[t] == 0) add_ready(f, t);
    }
    for (int k = 0; k < x->m; k++) {
        f->seen[k] = x->start[k];
        f->left[k] = x->user_at[k + 1] - x->user_at[k];
        f->last[k] = 0;
        if (x->start[k]) f->live += x->bytes[k];
        for (int u = x->user_at[k]; u < x->user_at[k + 1]; u++) {
            f->last[k] ^= x->user[u];
            if (!x->start[k]) f->born[x->user[u]] += x->bytes[k];
        }
        if (f->left[k] == 1 && !x->end[k]) f->dying[f->last[k]] += x->bytes[k];
    }
}

static void add_born(pl_frontier *f, int tensor, int64_t bytes)
{
    const pl_index *x = f->x;
    for (int u = x->user_at[tensor]; u < x->user_at[tensor + 1]; u++) f->born[x->user[u]] += bytes;
}

void pl_frontier_run(pl_frontier *f, int task)
{
    const pl_index *x = f->x;
    f->live += f->born[task] - f->dying[task];
    for (int k = x->use_at[task]; k < x->use_at[task + 1]; k++) {
        int t = x->use[k];
        if (f->seen[t]++ == 0) add_born(f, t, -x->bytes[t]);
        f->last[t] ^= task;
        if (--f->left[t] == 1 && !x->end[t]) f->dying[f->last[t]] += x->bytes[t];
    }
    drop_ready(f, task);
    for (int e = x->succ_at[task]; e < x->succ_at[task + 1]; e++)
        if (--f->wait[x->succ[e]] == 0) add_ready(f, x->succ[e]);
    f->n_done++;
}

void pl_frontier_undo(pl_frontier *f, int task)
{
    const pl_index *x = f->x;
    f->n_done--;
    for (int e = x->succ_at[task]; e < x->succ_at[task + 1]; e++)
        if (f->wait[x->succ[e]]++ == 0) drop_ready(f, x->succ[e]);
    add_ready(f, task);
    for (int k = x->use_at[task]; k < x->use_at[task + 1]; k++) {
        int t = x->use[k];
        if (f->left[t]++ == 1 && !x->end[t]) f->dying[f->last[t]] -= x->bytes[t];
        f->last[t] ^= task;
        if (--f->seen[t] == 0) add_born(f, t, x->bytes[t]);
    }
    f->live -= f->born[task] - f->dying[task];
}
