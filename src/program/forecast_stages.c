/* One micro-batch's passes, of each rank alone (read_place), then all of them as the schedule has
 * them. */
#include "program/forecast_stages.h"

#include "plan/terms.h"
#include "program/account.h"
#include "program/forecast_memory.h"

#include <math.h>

/* A rank's program, and where its passes of the one micro-batch are. */
typedef struct place {
    const pl_program *p;
    const pl_pass_row *row;
    int n_passes;
    pl_pass_times times;
    int *first_step, *last_step; /* [n_passes] compute steps; -1: none                          */
    int64_t other;               /* bytes at most while passes run that are not kept for others */
    int64_t other_updates;
    int64_t inputs;  /* bytes of one micro-batch                                    */
    int64_t passing; /* bytes that a pass sends and receives at most: so many are on
                                    their way beside it                                         */
} place;

static void find_steps(place *x, pl_arena *tmp)
{
    x->first_step = PL_NEW_N(tmp, int, x->n_passes);
    x->last_step = PL_NEW_N(tmp, int, x->n_passes);
    for (int k = 0; k < x->n_passes; k++) x->first_step[k] = x->last_step[k] = -1;
    for (int i = 0; i < x->p->n_steps; i++) {
        const pl_step *s = &x->p->step[i];
        if (!pl_step_is_compute(s)) continue;
        if (x->first_step[s->pass] < 0) x->first_step[s->pass] = i;
        x->last_step[s->pass] = i;
    }
}

/* Passes of a stage's one micro-batch on this rank, by kind; -1: none. */
static void find_passes(const place *x, int stage, int pass[PL_N_PASSES])
{
    for (int k = 0; k < PL_N_PASSES; k++) pass[k] = -1;
    for (int i = 0; i < x->row->n; i++)
        if (x->row->at[i].stage == stage && x->row->at[i].micro == 0) pass[x->row->at[i].kind] = i;
}

/* -- bytes ------------------------------------------------------------------------------------- */

/* Is it there from inside of pass `from` until behind it? */
static bool outlives(const place *x, const pl_step_life *y, int from)
{
    if (from < 0 || x->last_step[from] < 0) return false;
    return y->first >= x->first_step[from] && y->first <= x->last_step[from] &&
           y->end > x->last_step[from] + 1;
}

/* What other stages made may be there before the pass. */
static bool is_kept(const place *x, const pl_step_life *y, int forward)
{
    const bool made = y->value && y->value->maker && y->value->maker->phase == PL_FORWARD;
    return made && !pl_graph_state(y->value) &&
           (outlives(x, y, forward) ||
            (forward >= 0 && x->last_step[forward] >= 0 && y->first < x->first_step[forward] &&
             y->end > x->last_step[forward] + 1 &&
             !pl_plan_runs(x->p->plan, y->value->maker, x->p->rank)));
}

/* Bytes that stage holds from F to B, or to I and W, and marks them in `held`. */
static void find_held(const place *x, const pl_memory_changes *c, int stage, bool *held,
                      double *until_input, double *until_weight)
{
    int pass[PL_N_PASSES];
    find_passes(x, stage, pass);
    for (int i = 0; i < c->n_lives; i++) {
        const pl_step_life *y = &c->life[i];
        if (y->sum == PL_CHANGE_HOST || held[i]) continue;
        const bool kept = is_kept(x, y, pass[PL_PASS_F]), late = outlives(x, y, pass[PL_PASS_I]);
        const int weight = pass[PL_PASS_W];
        const bool needed = weight >= 0 && x->last_step[weight] >= 0 &&
                            y->end > x->first_step[weight] && (kept || late);
        if (!kept && !needed) continue;
        held[i] = true;
        if (kept) *until_input += (double)y->bytes;
        if (needed || (kept && weight < 0)) *until_weight += (double)y->bytes;
    }
}

/* Is it a state that a pass gathers, which is there before it is read? */
static bool is_gathered(const place *x, const pl_step_life *y)
{
    const pl_step *s = y->first < x->p->n_steps ? &x->p->step[y->first] : NULL;
    return s && y->value && pl_graph_state(y->value) && s->kind == PL_MESSAGE &&
           s->pass < x->n_passes - 1 && y->end < x->p->n_steps && y->end > y->first + 1;
}

/* In a step of many micro-batches the states of the passes to come are gathered while others run,
 * as far as the limit allows; of one alone that is seen of its own passes only. So what is gathered
 * counts in the step that reads it, and what is ahead, of two passes at most as seen, beside all.
 * Returns the latter's bytes. */
static int64_t count_ahead(const place *x, const pl_memory_changes *c, const bool *held,
                           int64_t change[], pl_arena *tmp)
{
    int64_t *of = PL_NEW_N(tmp, int64_t, x->n_passes), first = 0, second = 0;
    for (int i = 0; i < c->n_lives; i++) {
        const pl_step_life *y = &c->life[i];
        if (held[i] || y->sum == PL_CHANGE_HOST || !is_gathered(x, y)) continue;
        change[y->first] -= y->bytes;
        change[y->end - 1] += y->bytes;
        of[x->p->step[y->end - 1].pass] += y->bytes;
    }
    for (int k = 0; k < x->n_passes; k++)
        if (of[k] > first)
            second = first, first = of[k];
        else if (of[k] > second)
            second = of[k];
    const int64_t ahead = first + second;
    return ahead < x->p->ahead_bytes ? ahead : x->p->ahead_bytes;
}

/* The most that is there beside what is held. */
static void find_other(place *x, const pl_memory_changes *c, const bool *held, pl_arena *tmp)
{
    int64_t *change = PL_NEW_N(tmp, int64_t, x->p->n_steps + 1), now = 0;
    for (int i = 0; i < x->p->n_steps; i++) change[i] = c->of[PL_CHANGE_ALL][i];
    for (int i = 0; i < c->n_lives; i++) {
        const pl_step_life *y = &c->life[i];
        if (y->value && y->value->role == PL_INPUT) x->inputs += y->bytes;
        if (!held[i]) continue;
        change[y->first] -= y->bytes;
        change[y->end] += y->bytes;
    }
    const int64_t ahead = count_ahead(x, c, held, change, tmp);
    for (int i = 0; i < x->p->n_steps; i++) {
        now += change[i];
        int64_t *most = x->p->step[i].pass < x->n_passes - 1 ? &x->other : &x->other_updates;
        if (now > *most) *most = now;
    }
    x->other += ahead;
}

/* -- seconds ----------------------------------------------------------------------------------- */

/* What the slowest pass sends, and what is sent once. */
static double find_send(place *x, const bool *once, double *alone, pl_arena *tmp)
{
    double *sent = PL_NEW_N(tmp, double, x->n_passes + 1), most = 0;
    int64_t *bytes = PL_NEW_N(tmp, int64_t, x->n_passes + 1);
    for (int i = 0; i < x->p->n_steps; i++) {
        const pl_step *s = &x->p->step[i];
        const int lane = s->kind == PL_MESSAGE ? pl_step_lane(s) : PL_LANE_COMM;
        if (lane != PL_LANE_SEND && lane != PL_LANE_RECV) continue;
        if (!once[s->transfer->value->id]) bytes[s->pass] += s->transfer->move.bytes;
        if (bytes[s->pass] > x->passing) x->passing = bytes[s->pass];
        if (lane != PL_LANE_SEND) continue;
        const bool update = s->pass == x->n_passes - 1, apart = once[s->transfer->value->id];
        double *to = update || apart ? alone : &sent[s->pass];
        *to += pl_account_message(x->p, s);
        if (!update && !apart) most = fmax(most, *to);
    }
    return most;
}

typedef struct costs {
    double *forward, *input, *weight, *held, *rest;
} costs;

static costs new_costs(int n, pl_arena *out)
{
    return (costs){ PL_NEW_N(out, double, n + 1), PL_NEW_N(out, double, n + 1),
                    PL_NEW_N(out, double, n + 1), PL_NEW_N(out, double, n + 1),
                    PL_NEW_N(out, double, n + 1) };
}

static void read_place(place *x, const pl_pipeline *order, int c, const pl_speed *speed, costs *to,
                       pl_arena *tmp)
{
    const pl_memory_changes changes = pl_forecast_changes(x->p, tmp);
    bool *held = PL_NEW_N(tmp, bool, changes.n_lives + 1);
    x->row = &order->row[c];
    x->n_passes = x->row->n + 1;
    x->times = (pl_pass_times){ x->n_passes, PL_NEW_N(tmp, double, x->n_passes + 1) };
    pl_forecast_passes(x->p, speed, &x->times, tmp);
    find_steps(x, tmp);
    for (int s = 0; s < order->n_stages; s++) {
        int pass[PL_N_PASSES];
        if (order->rank_of[s] != c) continue;
        find_passes(x, s, pass);
        find_held(x, &changes, s, held, &to->held[s], &to->rest[s]);
        to->forward[s] = x->times.seconds[pass[PL_PASS_F]];
        to->input[s] = x->times.seconds[pass[pass[PL_PASS_B] >= 0 ? PL_PASS_B : PL_PASS_I]];
        if (pass[PL_PASS_W] >= 0) to->weight[s] = x->times.seconds[pass[PL_PASS_W]];
    }
    find_other(x, &changes, held, tmp);
}

/* -- all --------------------------------------------------------------------------------------- */

/* Messages over the axis count among those of the rank, as often as they pass. */
static void set_forecast(const place *x, int c, int64_t micro, const pl_stages_forecast *s,
                         pl_forecast *f)
{
    const int64_t held = (int64_t)s->times.held[c], inputs = (micro - 1) * x->inputs;
    const int64_t spare = x->p->work_bytes + x->p->store->bytes - f->memory.peak;
    const int64_t passes = held + x->other,
                  most = passes > x->other_updates ? passes : x->other_updates;
    pl_forecast_memory *m = &f->memory;
    m->peak = x->p->store->bytes + most + inputs + x->passing + (spare > 0 ? spare : 0);
    m->activations = passes >= x->other_updates ? held : 0;
    m->gradients = m->sums;
    m->buffers = x->passing; /* those inside of passes are among the rest */
    m->transient = m->peak - m->weights - m->optimizer - m->gradients - m->activations - m->buffers;
    f->micro_seconds = s->times.busy / (double)micro;
    f->step_seconds = f->device_seconds = s->step_seconds;
    f->exposed_seconds = f->step_seconds - f->compute_seconds;
    f->bubble_seconds = f->step_seconds - s->update[c];
    for (int k = 0; k < x->n_passes - 1; k++)
        f->bubble_seconds -= s->times.end[c][k] - s->times.begin[c][k];
}

/* Stage by stage, in their order. */
static void copy_costs(const pl_pipeline *order, int from, int at, costs *to)
{
    int a = 0;
    for (int s = 0; s < order->n_stages; s++) {
        if (order->rank_of[s] != at) continue;
        while (order->rank_of[a] != from) a++;
        to->forward[s] = to->forward[a], to->input[s] = to->input[a];
        to->weight[s] = to->weight[a], to->held[s] = to->held[a], to->rest[s] = to->rest[a];
        a++;
    }
}

void pl_forecast_stages(int n, const pl_program *const program[], const int like[],
                        const pl_speed speed[], pl_arena *out, pl_arena *of_f, pl_forecast f[],
                        pl_stages_forecast *s)
{
    const pl_plan *plan = program[0]->plan;
    const pl_pipeline *order = plan->stages->order;
    pl_arena *tmp = pl_arena_new("stages forecast");
    place *at = PL_NEW_N(tmp, place, n);
    pl_forecast *alone = PL_NEW_N(tmp, pl_forecast, n);
    costs to = new_costs(order->n_stages, out);
    const bool *once = pl_terms_once(plan->graph, plan->stages, tmp);
    *s = (pl_stages_forecast){ .update = PL_NEW_N(out, double, n) };
    s->memory = PL_NEW_N(out, pl_forecast_memory, n);
    for (int c = 0; c < n; c++) {
        if (like[c] != c) {
            at[c] = at[like[c]], at[c].row = &order->row[c];
            s->update[c] = s->update[like[c]];
            copy_costs(order, like[c], c, &to);
            continue;
        }
        at[c].p = program[c];
        read_place(&at[c], order, c, &speed[c], &to, tmp);
        s->update[c] = at[c].times.seconds[at[c].n_passes - 1];
        s->costs.send = fmax(s->costs.send, find_send(&at[c], once, &s->update[c], tmp));
    }
    s->costs = (pl_pass_costs){ .forward = to.forward,
                                .input = to.input,
                                .weight = to.weight,
                                .send = s->costs.send,
                                .held = to.held,
                                .rest = to.rest };
    pl_pipeline_play(order, &s->costs, out, &s->times);
    for (int c = 0; c < n; c++) {
        const int last = order->row[c].n - 1;
        s->step_seconds = fmax(s->step_seconds, s->times.end[c][last] + s->update[c]);
    }
    for (int c = 0; c < n; c++) {
        if (like[c] == c) pl_forecast_make(program[c], &speed[c], of_f, &alone[c]);
        f[c] = alone[like[c]];
        set_forecast(&at[c], c, plan->graph->micro, s, &f[c]);
        s->memory[c] = f[c].memory;
    }
    pl_arena_free(tmp);
}
