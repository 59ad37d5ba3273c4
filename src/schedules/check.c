/* pl_pipeline_check(): each row by itself, then all of them run without a clock. */
#include "schedules/pipeline.h"

#include <stdio.h>
#include <string.h>

/* Which passes were found, or ran: a bit per kind. */
typedef struct checking {
    const pl_pipeline *s;
    uint8_t *seen; /* [n_stages * n_micro] */
    uint8_t *all;  /* the same, of all rows */
    int *next;     /* [n_ranks] the pass that is to run */
    pl_arena *tmp;
} checking;

static uint8_t *seen(const checking *x, int stage, int micro)
{
    return &x->seen[(size_t)stage * (size_t)x->s->n_micro + (size_t)micro];
}

static bool has(const checking *x, int stage, int micro, int kinds)
{
    return *seen(x, stage, micro) & kinds;
}

enum { F = 1 << PL_PASS_F, B = 1 << PL_PASS_B, I = 1 << PL_PASS_I, W = 1 << PL_PASS_W };

/* -- a row by itself --------------------------------------------------------------------------- */

static bool refuse(const checking *x, int rank, int i, const char *what, pl_err *err)
{
    const pl_pass *p = &x->s->row[rank].at[i];
    return pl_err_set(err, PL_EINPUT, "rank %d, pass %d, %s: %s", rank, i, pl_pass_text(p, x->tmp),
                      what);
}

static bool check_pass(const checking *x, int rank, int i, pl_err *err)
{
    const pl_pipeline *s = x->s;
    const pl_pass *p = &s->row[rank].at[i];
    if (p->stage < 0 || p->stage >= s->n_stages || p->micro < 0 || p->micro >= s->n_micro)
        return pl_err_set(
            err, PL_EINPUT,
            "rank %d, pass %d, %s: there are stages 0 to %d and micro-batches 0 to %d", rank, i,
            pl_pass_text(p, x->tmp), s->n_stages - 1, s->n_micro - 1);
    uint8_t *before = seen(x, p->stage, p->micro);
    if (s->rank_of[p->stage] != rank)
        return pl_err_set(err, PL_EINPUT, "rank %d, pass %d, %s: stage %d is on rank %d", rank, i,
                          pl_pass_text(p, x->tmp), p->stage, s->rank_of[p->stage]);
    if (*before >> p->kind & 1) return refuse(x, rank, i, "for the second time", err);
    if (p->kind == PL_PASS_W && *before & B)
        return refuse(x, rank, i, "its backward pass is a B, which has that in it", err);
    if (p->kind == PL_PASS_B && *before & (I | W))
        return refuse(x, rank, i, "its backward pass is in two, I and W", err);
    if (p->kind == PL_PASS_I && *before & B)
        return refuse(x, rank, i, "its backward pass is a B", err);
    if (p->kind == PL_PASS_W && !(*before & I)) return refuse(x, rank, i, "before its I", err);
    if (p->kind != PL_PASS_F && !(*before & F)) return refuse(x, rank, i, "before its F", err);
    *before |= (uint8_t)(1 << p->kind);
    return true;
}

/* Nothing is missing. */
static bool check_whole(const checking *x, pl_err *err)
{
    for (int stage = 0; stage < x->s->n_stages; stage++)
        for (int m = 0; m < x->s->n_micro; m++) {
            const int is = *seen(x, stage, m);
            if (is == (F | B) || is == (F | I | W)) continue;
            const char *what = !(is & F) ? "F" : is & I ? "W" : "B, or I and W";
            return pl_err_set(err, PL_EINPUT,
                              "stage %d has no %s of micro-batch %d, which rank %d is to do", stage,
                              what, m, x->s->rank_of[stage]);
        }
    return true;
}

static bool check_rows(const checking *x, pl_err *err)
{
    const pl_pipeline *s = x->s;
    for (int i = 0; i < s->n_stages; i++)
        if (s->rank_of[i] < 0 || s->rank_of[i] >= s->n_ranks)
            return pl_err_set(err, PL_EINPUT, "stage %d is on rank %d of %d", i, s->rank_of[i],
                              s->n_ranks);
    for (int r = 0; r < s->n_ranks; r++)
        for (int i = 0; i < s->row[r].n; i++) PL_TRY(check_pass(x, r, i, err));
    return check_whole(x, err);
}

/* -- all together ------------------------------------------------------------------------------ */

/* The pass of another stage that one waits for; false: of none. (That of its own stage stands
 * before it in its row.) */
static bool waits_for(const checking *x, const pl_pass *p, pl_pass *other)
{
    const pl_pipeline *s = x->s;
    const bool forward = p->kind == PL_PASS_F;
    const int stage = p->stage + (forward ? -1 : 1);
    if (s->apart || p->kind == PL_PASS_W || stage < 0 || stage == s->n_stages) return false;
    if (has(x, stage, p->micro, forward ? F : B | I)) return false;
    const size_t at = (size_t)stage * (size_t)s->n_micro + (size_t)p->micro;
    const int back = x->all[at] & B ? PL_PASS_B : PL_PASS_I;
    *other = (pl_pass){ (uint8_t)(forward ? PL_PASS_F : back), stage, p->micro };
    return true;
}

/* Runs what can run on a rank. False: nothing can. */
static bool advance(const checking *x, int rank)
{
    const pl_pass_row *row = &x->s->row[rank];
    const int from = x->next[rank];
    pl_pass other;
    for (; x->next[rank] < row->n; x->next[rank]++) {
        const pl_pass *p = &row->at[x->next[rank]];
        if (waits_for(x, p, &other)) break;
        *seen(x, p->stage, p->micro) |= (uint8_t)(1 << p->kind);
    }
    return x->next[rank] > from;
}

/* From one rank that waits to the one that it waits for, until one comes again. */
static bool tell_deadlock(const checking *x, int rank, pl_err *err)
{
    enum { MOST_TOLD = 4 };
    pl_text text = { .arena = x->tmp };
    bool *told = PL_NEW_N(x->tmp, bool, x->s->n_ranks);
    int n = 0;
    for (; !told[rank]; n++) {
        const pl_pass *p = &x->s->row[rank].at[x->next[rank]];
        pl_pass other;
        told[rank] = true;
        PL_ASSERT(waits_for(x, p, &other));
        const int of = x->s->rank_of[other.stage];
        if (n < MOST_TOLD)
            pl_text_add(&text, "%srank %d waits in pass %d, %s, for rank %d's %s", n ? "; " : "",
                        rank, x->next[rank], pl_pass_text(p, x->tmp), of,
                        pl_pass_text(&other, x->tmp));
        rank = of;
    }
    return pl_err_set(err, PL_EINPUT, "a deadlock: %s%s", pl_text_get(&text),
                      n > MOST_TOLD ? "; and so on" : "");
}

static bool check_waiting(const checking *x, pl_err *err)
{
    const pl_pipeline *s = x->s;
    const size_t n = (size_t)s->n_stages * (size_t)s->n_micro;
    memcpy(x->all, x->seen, n);
    memset(x->seen, 0, n);
    for (bool any = true; any;) {
        any = false;
        for (int r = 0; r < s->n_ranks; r++) any |= advance(x, r); /* along with F */
        for (int r = s->n_ranks - 1; r >= 0; r--) any |= advance(x, r);
    }
    for (int r = 0; r < s->n_ranks; r++)
        if (x->next[r] < s->row[r].n) return tell_deadlock(x, r, err);
    return true;
}

bool pl_pipeline_check(const pl_pipeline *s, pl_err *err)
{
    if (s->n_ranks < 1 || s->n_stages < 1 || s->n_micro < 1)
        return pl_err_set(err, PL_EINPUT, "a schedule of %d ranks, %d stages and %d micro-batches",
                          s->n_ranks, s->n_stages, s->n_micro);
    pl_arena *tmp = pl_arena_new("schedule check");
    const checking x = { .s = s,
                         .seen = PL_NEW_N(tmp, uint8_t, (size_t)s->n_stages * (size_t)s->n_micro),
                         .all = PL_NEW_N(tmp, uint8_t, (size_t)s->n_stages * (size_t)s->n_micro),
                         .next = PL_NEW_N(tmp, int, s->n_ranks),
                         .tmp = tmp };
    const bool ok = check_rows(&x, err) && check_waiting(&x, err);
    pl_arena_free(tmp);
    return ok;
}
