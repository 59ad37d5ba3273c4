#include "schedules/play.h"

#include <math.h>

typedef struct playing {
    const pl_pipeline *s;
    const pl_pass_costs *c;
    pl_pipeline_times *t;
    double *ready[2]; /* [n_stages * n_micro] when F, and I or B, of it have ended; NAN: not yet */
    int *next;        /* [n_ranks] */
    double *free;     /* [n_ranks] seconds */
} playing;

double pl_pass_seconds(const pl_pass_costs *c, const pl_pass *p)
{
    const int s = p->stage;
    const double input = c->input ? c->input[s] : 1, weight = c->weight ? c->weight[s] : 1;
    switch ((pl_pass_kind)p->kind) {
    case PL_PASS_F: return c->forward ? c->forward[s] : 1;
    case PL_PASS_B: return input + weight;
    case PL_PASS_I: return input;
    default: return weight;
    }
}

double pl_pass_held(const pl_pass_costs *c, int stage)
{
    return c->held ? c->held[stage] : 1;
}

double pl_pass_rest(const pl_pass_costs *c, int stage)
{
    return c->rest ? c->rest[stage] : pl_pass_held(c, stage);
}

static double *ready(const playing *x, bool backward, int stage, int micro)
{
    return &x->ready[backward][(size_t)stage * (size_t)x->s->n_micro + (size_t)micro];
}

/* When what a pass waits for of another stage is there; NAN: not known yet. */
static double arrival(const playing *x, const pl_pass *p)
{
    const pl_pipeline *s = x->s;
    const bool forward = p->kind == PL_PASS_F;
    const int other = p->stage + (forward ? -1 : 1);
    if (s->apart || p->kind == PL_PASS_W || other < 0 || other == s->n_stages) return 0;
    const double sent = s->rank_of[other] == s->rank_of[p->stage] ? 0 : x->c->send;
    return *ready(x, !forward, other, p->micro) + sent;
}

static bool advance(const playing *x, int rank)
{
    const pl_pass_row *row = &x->s->row[rank];
    const int from = x->next[rank];
    for (; x->next[rank] < row->n; x->next[rank]++) {
        const int i = x->next[rank];
        const pl_pass *p = &row->at[i];
        const double at = arrival(x, p);
        if (isnan(at)) break;
        const double begin = fmax(x->free[rank], at), end = begin + pl_pass_seconds(x->c, p);
        x->t->begin[rank][i] = begin;
        x->t->end[rank][i] = x->free[rank] = end;
        if (p->kind != PL_PASS_W) *ready(x, p->kind != PL_PASS_F, p->stage, p->micro) = end;
    }
    return x->next[rank] > from;
}

static void sum_up(const playing *x, int rank)
{
    const pl_pass_row *row = &x->s->row[rank];
    const pl_pass_costs *c = x->c;
    double held = 0, most = 0, busy = 0;
    for (int i = 0; i < row->n; i++) {
        const pl_pass *p = &row->at[i];
        const double all = pl_pass_held(c, p->stage), rest = pl_pass_rest(c, p->stage);
        busy += pl_pass_seconds(c, p);
        if (p->kind == PL_PASS_F) held += all;
        most = fmax(most, held);
        if (p->kind == PL_PASS_B) held -= all;
        if (p->kind == PL_PASS_I) held -= all - rest;
        if (p->kind == PL_PASS_W) held -= rest;
    }
    pl_pipeline_times *t = x->t;
    t->held[rank] = most;
    t->most_held = fmax(t->most_held, most);
    t->busy = fmax(t->busy, busy);
    t->seconds = fmax(t->seconds, x->free[rank]);
    if (row->n) t->own_seconds = fmax(t->own_seconds, x->free[rank] - t->begin[rank][0]);
}

void pl_pipeline_play(const pl_pipeline *s, const pl_pass_costs *costs, pl_arena *out,
                      pl_pipeline_times *t)
{
    pl_arena *tmp = pl_arena_new("schedule play");
    const size_t n = (size_t)s->n_stages * (size_t)s->n_micro;
    playing x = { .s = s, .c = costs, .t = t };
    *t = (pl_pipeline_times){ 0 };
    t->begin = PL_NEW_N(out, double *, s->n_ranks);
    t->end = PL_NEW_N(out, double *, s->n_ranks);
    t->held = PL_NEW_N(out, double, s->n_ranks);
    x.next = PL_NEW_N(tmp, int, s->n_ranks);
    x.free = PL_NEW_N(tmp, double, s->n_ranks);
    for (int k = 0; k < 2; k++) {
        x.ready[k] = PL_NEW_N(tmp, double, n);
        for (size_t i = 0; i < n; i++) x.ready[k][i] = NAN;
    }
    for (int r = 0; r < s->n_ranks; r++) {
        t->begin[r] = PL_NEW_N(out, double, s->row[r].n + 1);
        t->end[r] = PL_NEW_N(out, double, s->row[r].n + 1);
    }
    for (bool any = true; any;) {
        any = false;
        for (int r = 0; r < s->n_ranks; r++) any |= advance(&x, r);
        for (int r = s->n_ranks - 1; r >= 0; r--) any |= advance(&x, r);
    }
    for (int r = 0; r < s->n_ranks; r++) sum_up(&x, r);
    pl_arena_free(tmp);
}

double pl_pipeline_bubble(const pl_pipeline_times *t)
{
    return t->seconds > 0 ? (t->seconds - t->busy) / t->seconds : 0;
}

double pl_pipeline_own_bubble(const pl_pipeline_times *t)
{
    return t->own_seconds > 0 ? (t->own_seconds - t->busy) / t->own_seconds : 0;
}
