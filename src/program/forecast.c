#include "program/forecast.h"

#include "graph/op.h"
#include "reshard/move.h"
#include "program/account.h"
#include "program/forecast_memory.h"

#include <math.h>
#include <string.h>

/* -- one step ---------------------------------------------------------------------------------- */

static int64_t copied_bytes(const pl_step *x)
{
    int64_t sum = 0;
    for (int i = 0; i < x->n_copies; i++) {
        int64_t bytes = x->copy[i].bytes;
        for (int k = 0; k < x->copy[i].n; k++) bytes *= x->copy[i].count[k];
        sum += bytes;
    }
    return sum;
}

/* A view that does not lie over its input is a copy of it. A kernel in steps has its part of the
 * node's share as a share of its own. */
static double kernel_seconds(const pl_program *p, const pl_step *x, const pl_speed *speed)
{
    const pl_node *n = x->share->node;
    if (!n->op->view) return pl_speed_share(x->share, speed);
    if (pl_slot_same(x->in[0], x->out[0])) return 0;
    int64_t bytes = pl_shape_count(pl_share_out(x->share, 0)) * pl_type_bytes(n->out[0]->type);
    return pl_move_copy_seconds(&p->plan->mesh, bytes);
}

double pl_forecast_step(const pl_program *p, const pl_step *x, const pl_speed *speed)
{
    switch (x->kind) {
    case PL_KERNEL: return kernel_seconds(p, x, speed);
    case PL_HOST_KERNEL: return pl_speed_host_share(x->share, speed);
    case PL_MESSAGE: return pl_account_message(p, x);
    case PL_COPY: return pl_move_copy_seconds(&p->plan->mesh, copied_bytes(x));
    case PL_FILL:
    case PL_FOLD: break;
    }
    return pl_move_copy_seconds(&p->plan->mesh, x->count * pl_type_bytes(x->type));
}

/* -- two lanes --------------------------------------------------------------------------------- */

/* What messages pass over: an axis of the mesh, or the way to or from the host's memory; and the
 * host, for its kernels. */
enum { LINK_OUT = PL_MAX_AXES, LINK_IN, LINK_HOST, N_LINKS };

/* The messages of which an axis is the lowest: in order, and never two at once. */
typedef struct link {
    int n, cap, *at; /* steps                                           */
    int from;        /* those before are over when compute goes on from */
} link;

typedef struct lanes {
    const pl_timeline *t;
    const double *seconds; /* [steps of the program] */
    double *begin, *end;   /* [t->n]                 */
    pl_arena *tmp;
    double hidden, host_hidden; /* of messages, of what is on the host's lanes */
    int n_computes, n_messages;
    double *computed; /* [n_computes + 1] when the first so many compute steps are finished */
    double *arrived;  /* [n_messages + 1] when the first so many messages are               */
    double handed[PL_N_LANES]; /* when the last message of a lane was handed over           */
    double free[N_LINKS];
    link link[N_LINKS];
} lanes;

static const pl_step *step_at(const lanes *l, int i)
{
    return &l->t->program->step[l->t->step[i]];
}

static unsigned links_of(const pl_step *message)
{
    if (message->kind == PL_HOST_KERNEL) return 1u << LINK_HOST;
    if (!pl_step_is_host(message)) return message->axes;
    return 1u << (message->collective == PL_TO_HOST ? LINK_OUT : LINK_IN);
}

static void run_message(lanes *l, int i)
{
    const int wait = l->t->wait[i], lane = pl_step_lane(step_at(l, i));
    const unsigned links = links_of(step_at(l, i));
    PL_ASSERT(links && !(links >> N_LINKS));
    PL_ASSERT_CMP(wait, <=, l->n_messages);
    l->handed[lane] = fmax(l->handed[lane], fmax(l->arrived[wait], l->computed[l->t->after[i]]));
    double begin = l->handed[lane];
    for (int a = 0; a < N_LINKS; a++)
        if (links >> a & 1) begin = fmax(begin, l->free[a]);
    const double end = begin + l->seconds[l->t->step[i]];
    l->begin[i] = begin;
    l->end[i] = end;
    for (int a = 0; a < N_LINKS; a++)
        if (links >> a & 1) l->free[a] = end;
    l->arrived[l->n_messages + 1] = fmax(l->arrived[l->n_messages], end);
    l->n_messages++;
    PL_PUSH(l->tmp, &l->link[__builtin_ctz(links)], i);
}

/* At what rate compute goes on at the time t: less than 1 beside messages. *until: when that may
 * change. Compute only asks for later and later times. */
static double rate_at(lanes *l, double t, double *until)
{
    double first_end = INFINITY, next_begin = INFINITY, rate = 1;
    for (int a = 0; a < N_LINKS; a++) {
        link *x = &l->link[a];
        while (x->from < x->n && l->end[x->at[x->from]] <= t) x->from++;
        if (x->from == x->n) continue;
        double begin = l->begin[x->at[x->from]], end = l->end[x->at[x->from]];
        if (begin > t) {
            next_begin = fmin(next_begin, begin);
            continue;
        }
        first_end = fmin(first_end, end);
        rate = fmin(rate, a < PL_MAX_AXES ? l->hidden : l->host_hidden);
    }
    *until = fmin(first_end, next_begin);
    return rate;
}

/* When work that begins at t ends. All messages that may begin before are known. */
static double run_beside(lanes *l, double t, double work)
{
    if (l->hidden == 1 && l->host_hidden == 1) return t + work;
    while (work > 0) {
        double until, rate = rate_at(l, t, &until);
        if (rate * (until - t) >= work) return t + work / rate;
        work -= rate * (until - t);
        t = until;
    }
    return t;
}

static void run_compute(lanes *l, int i)
{
    const int wait = l->t->wait[i];
    PL_ASSERT_CMP(wait, <=, l->n_messages);
    l->begin[i] = fmax(l->computed[l->n_computes], l->arrived[wait]);
    l->end[i] = run_beside(l, l->begin[i], l->seconds[l->t->step[i]]);
    l->computed[++l->n_computes] = l->end[i];
}

/* The next step of a lane from i on. */
static int next_step(const lanes *l, int i, bool message)
{
    while (i < l->t->n && pl_step_is_compute(step_at(l, i)) == message) i++;
    return i;
}

/* A message comes before the compute step beside which it may begin, wherever it stands: so all is
 * known in the order in which it is asked for. */
static void run_lanes(lanes *l)
{
    const int n = l->t->n;
    int c = next_step(l, 0, false), m = next_step(l, 0, true);
    while (c < n || m < n) {
        if (m < n && l->t->after[m] <= l->n_computes) {
            run_message(l, m);
            m = next_step(l, m + 1, true);
        } else {
            PL_ASSERT_CMP(c, <, n);
            run_compute(l, c);
            c = next_step(l, c + 1, false);
        }
    }
}

static double *find_seconds(const pl_program *p, const pl_speed *speed, pl_arena *tmp)
{
    double *seconds = PL_NEW_N(tmp, double, p->n_steps + 1);
    for (int i = 0; i < p->n_steps; i++) seconds[i] = pl_forecast_step(p, &p->step[i], speed);
    return seconds;
}

/* A kernel of a node that is no view: every layout has those, whatever it copies beside them. */
static bool is_launched(const pl_step *x)
{
    return x->kind == PL_KERNEL && !x->share->node->op->view;
}

/* Seconds of the host until it has handed over what stands in the timeline. */
static double find_launches(const pl_timeline *t, const pl_speed *speed)
{
    int n = 0;
    for (int i = 0; i < t->n; i++) n += is_launched(&t->program->step[t->step[i]]);
    return n * speed->launch;
}

/* How long it takes. begin and end: [t->n], set. */
static double play(const pl_timeline *t, const double *seconds, const pl_speed *speed,
                   double *begin, double *end, pl_arena *tmp)
{
    lanes l = { .t = t, .seconds = seconds, .begin = begin, .end = end, .tmp = tmp };
    l.hidden = fmin(fmax(speed->hidden, 0), 1);
    l.host_hidden = fmin(fmax(speed->host_hidden, 0), 1);
    l.computed = PL_NEW_N(tmp, double, t->n_computes + 1);
    l.arrived = PL_NEW_N(tmp, double, t->n_messages + 1);
    run_lanes(&l);
    return fmax(l.computed[l.n_computes], l.arrived[l.n_messages]);
}

/* What a micro-batch takes the device, the host, and where the one waits for the other. */
typedef struct lasting {
    double device, host, all;
} lasting;

static lasting play_all(const pl_timeline *t, const double *seconds, const pl_speed *speed,
                        double *begin, double *end, pl_arena *tmp)
{
    const double device = play(t, seconds, speed, begin, end, tmp), host = find_launches(t, speed);
    return (lasting){ device, host, fmax(device, host) };
}

/* All micro-batches but the last. */
static lasting play_others(const pl_timeline *t, const double *seconds, const pl_speed *speed,
                           pl_arena *tmp)
{
    const pl_timeline x = pl_timeline_micro(t, tmp);
    double *begin = PL_NEW_N(tmp, double, x.n + 1), *end = PL_NEW_N(tmp, double, x.n + 1);
    return play_all(&x, seconds, speed, begin, end, tmp);
}

/* begin and end: [t->n], set: of the last micro-batch. */
static void find_times(const pl_timeline *t, const double *seconds, const pl_speed *speed,
                       double *begin, double *end, pl_arena *tmp, pl_forecast *f)
{
    const int64_t micro = t->program->micro ? 1 : t->program->plan->graph->micro;
    const bool *again = pl_forecast_again(t->program, tmp);
    for (int i = 0; i < t->n; i++) {
        const pl_step *x = &t->program->step[t->step[i]];
        const int64_t times = pl_program_runs(t->program, x);
        const double all = (double)times * seconds[t->step[i]];
        const bool host = pl_step_is_host(x), comm = pl_step_is_between(x);
        if (comm && pl_step_lane(x) == PL_LANE_SEND) continue; /* it counts where it is received */
        *(host                        ? &f->host_seconds
          : comm                      ? &f->comm_seconds
          : x->kind == PL_HOST_KERNEL ? &f->host_kernel_seconds
                                      : &f->compute_seconds) += all;
        if (host) f->host_moved += times * x->bytes;
        if (comm) f->comm_bytes += times * x->bytes;
        if (again[t->step[i]]) f->again_seconds += all;
    }
    lasting others = { 0 }, last = play_all(t, seconds, speed, begin, end, tmp);
    if (micro > 1) others = play_others(t, seconds, speed, tmp);
    f->micro_seconds = others.all;
    f->device_seconds = (double)(micro - 1) * others.device + last.device;
    f->launch_seconds = (double)(micro - 1) * others.host + last.host;
    f->step_seconds = (double)(micro - 1) * others.all + last.all;
    f->exposed_seconds = f->step_seconds - f->compute_seconds;
}

/* What goes from stage to stage takes no time here: who waits for it is up to the schedule. */
void pl_forecast_passes(const pl_program *p, const pl_speed *speed, pl_pass_times *x, pl_arena *tmp)
{
    const int n = x->n_passes;
    double *seconds = find_seconds(p, speed, tmp);
    for (int i = 0; i < p->n_steps; i++)
        if (pl_step_is_between(&p->step[i]) && pl_step_lane(&p->step[i]) != PL_LANE_COMM)
            seconds[i] = 0;
    const pl_timeline all = pl_timeline_plain(p, tmp), micro = pl_timeline_micro(&all, tmp);
    double *begin = PL_NEW_N(tmp, double, all.n + 1), *end = PL_NEW_N(tmp, double, all.n + 1);
    double *launched = PL_NEW_N(tmp, double, n), before = 0;
    (void)play(&micro, seconds, speed, begin, end, tmp);
    for (int i = 0; i < micro.n; i++) {
        const pl_step *s = &p->step[micro.step[i]];
        if (!pl_step_is_compute(s)) continue;
        x->seconds[s->pass] += end[i] - before;
        launched[s->pass] += is_launched(s) ? speed->launch : 0;
        before = end[i];
    }
    double *updates = &x->seconds[n - 1];
    *updates = play(&all, seconds, speed, begin, end, tmp);
    launched[n - 1] = find_launches(&all, speed);
    for (int k = 0; k < n - 1; k++) *updates -= x->seconds[k], launched[n - 1] -= launched[k];
    for (int k = 0; k < n; k++) x->seconds[k] = fmax(x->seconds[k], launched[k]);
}

void pl_forecast_make(const pl_program *p, const pl_speed *speed, pl_arena *out, pl_forecast *f)
{
    pl_arena *tmp = pl_arena_new("forecast");
    const pl_timeline t = pl_timeline_plain(p, tmp);
    *f = (pl_forecast){ .program = p };
    f->begin = PL_NEW_N(out, double, p->n_steps + 1);
    f->end = PL_NEW_N(out, double, p->n_steps + 1);
    find_times(&t, find_seconds(p, speed, tmp), speed, f->begin, f->end, tmp, f);
    pl_forecast_live(&t, out, f);
    pl_arena_free(tmp);
}

/* The program with the buckets that the whole has; the same one if none is larger. */
static const pl_program *grow(const pl_program *p, const int64_t more[], pl_arena *out)
{
    pl_program *to = NULL;
    for (int i = 0; i < p->n_steps; i++) {
        if (!more[i]) continue;
        if (!to) {
            to = PL_NEW(out, pl_program);
            *to = *p;
            to->step = PL_NEW_N(out, pl_step, p->n_steps);
            memcpy(to->step, p->step, (size_t)p->n_steps * sizeof *p->step);
        }
        pl_step *x = &to->step[i];
        const int members = pl_move_members(&p->plan->mesh, x->axes);
        x->count += more[i];
        x->bytes = pl_move_volume(x->collective, members, x->count, pl_type_bytes(x->type));
    }
    return to ? to : p;
}

bool pl_forecast_fold(const pl_program *p, const pl_short *s, const pl_speed *speed, pl_arena *out,
                      pl_forecast *f)
{
    pl_arena *tmp = pl_arena_new("folded forecast");
    const double *seconds = find_seconds(p, speed, tmp);
    const pl_memory_changes c = pl_forecast_changes(p, tmp);
    pl_timeline t;
    *f = (pl_forecast){ .program = p, .few = s };
    const bool ok = pl_timeline_fold(p, s, seconds, &c, tmp, &t);
    if (ok) {
        double *begin = PL_NEW_N(tmp, double, t.n + 1), *end = PL_NEW_N(tmp, double, t.n + 1);
        f->program = t.program = grow(p, t.grown, out);
        if (t.program != p) seconds = find_seconds(t.program, speed, tmp);
        find_times(&t, seconds, speed, begin, end, tmp, f);
        pl_forecast_peak(&t, &c, f);
        f->times = PL_NEW_N(out, int, p->n_steps + 1);
        for (int u = 0; u < t.n; u++) f->times[t.step[u]]++;
    }
    pl_arena_free(tmp);
    return ok;
}
