/* test/support/trial.h - the programs of a plan against the graph itself: checked, executed under
 * several schedules, compared. */
#ifndef PL_TEST_SUPPORT_TRIAL_H
#define PL_TEST_SUPPORT_TRIAL_H
#include "support/graphs.h"
#include "support/plans.h"
#include "support/ranks.h"

enum { MAX_RANKS = 8 };

typedef struct trial {
    const pl_graph *graph;
    const pl_plan *plan;
    pl_arena *arena;
    eval before, truth; /* leaves as fed; the graph run node by node */
    const pl_program *failed; /* the last one that was looked at           */
    int seen[PL_HOST_KERNEL + 1]; /* steps by kind, */
    int collectives[PL_N_COLLECTIVES], moves[PL_N_COLLECTIVES]; /* and messages */
} trial;

static inline void trial_feed(eval *e, uint64_t seed)
{
    for (int i = 0; i < e->graph->values.n; i++) {
        const pl_value *v = e->graph->values.at[i];
        if (v->maker) continue;
        double lo = v->type == PL_I64 ? 1 : 0, hi = v->type == PL_I64 ? 5 : 0;
        if (strstr(v->name, ".v")) lo = 0.1, hi = 1; /* second moments are positive */
        eval_random(v->type, &v->shape, e->at[i], pl_rng_at(seed, (uint64_t)i), lo, hi);
    }
}

static inline trial trial_new(const pl_graph *g, uint64_t seed, pl_arena *a)
{
    trial t = { g, NULL, a, eval_new(g), eval_new(g), NULL, { 0 }, { 0 }, { 0 } };
    trial_feed(&t.before, seed);
    trial_feed(&t.truth, seed);
    eval_run(&t.truth, g->nodes.n);
    return t;
}

static inline void trial_free(trial *t)
{
    eval_free(&t->before);
    eval_free(&t->truth);
}

/* Are the programs right, each alone and all together? */
static inline bool trial_check(int n, pl_program *const program[], const pl_program **failed,
                               pl_err *err)
{
    const pl_program *p[MAX_RANKS];
    for (int i = 0; i < n; i++) {
        *failed = p[i] = program[i];
        if (!pl_program_check(program[i], err)) return pl_err_in(err, "rank %d", i);
    }
    return pl_program_check_ranks(n, p, err);
}

static inline void trial_count(trial *t, const pl_program *p)
{
    for (int i = 0; i < p->n_steps; i++) {
        const pl_step *s = &p->step[i];
        t->seen[s->kind]++;
        if (s->kind == PL_MESSAGE) t->collectives[s->collective]++;
        if (s->transfer) t->moves[s->transfer->move.kind]++;
    }
}

static inline bool trial_lower(trial *t, const pl_lower_options *o, pl_program *program[],
                               pl_err *err)
{
    int n = pl_mesh_ranks(&t->plan->mesh);
    for (int i = 0; i < n; i++) {
        pl_store *store = pl_store_new(t->plan, i, t->arena);
        if (!pl_program_lower(t->plan, i, store, o, t->arena, &program[i], err))
            return pl_err_in(err, "lowering for rank %d", i);
        trial_count(t, program[i]);
    }
    return trial_check(n, program, &t->failed, err);
}

/* Run the programs; false when they do not come to an end. */
static inline bool trial_run(const trial *t, pl_program *const program[], schedule how,
                             uint64_t seed, ranks *out)
{
    *out = ranks_new(program[0]->n_ranks, program);
    ranks_fill(out, &t->before, true);
    return ranks_step(out, &t->before, how, seed);
}

/* The plan's programs give the truth within `tolerance`, with and without each option, and the same
 * bits under all schedules. `thorough`: every option and schedule, else a few by lot, and steps. */
static inline bool trial_plan(trial *t, const pl_plan *p, double tolerance, uint64_t seed,
                              bool thorough, pl_err *err)
{
    static const pl_lower_options options[] = {
        { 0 }, { .no_reuse = true }, { .bucket_bytes = 1 }, { .bucket_bytes = 100 },
        { .ahead_bytes = -1 },
        { .no_strided = true, .ahead_bytes = 1 },
        { .step_bytes = 1 },
        { .order = PL_ORDER_PLEAT },
        { .order = PL_ORDER_LESCEA, .bucket_bytes = 100 },
    };
    enum { N_OPTIONS = sizeof options / sizeof *options };
    pl_program *program[N_OPTIONS][MAX_RANKS];
    ranks first = { 0 }, r;
    bool ok = true;
    t->plan = p;
    if (!pl_plan_check(p, err)) return false;
    for (int o = 0; o < N_OPTIONS && ok; o++) {
        bool chosen = o == 0 || options[o].step_bytes ||
                      (seed % 2 && o == 1 + (int)(seed / 2 % (N_OPTIONS - 1)));
        if (!thorough && !chosen) continue;
        ok = trial_lower(t, &options[o], program[o], err) || pl_err_in(err, "options %d", o);
        if (!ok && options[o].no_strided && err->code == PL_EUNSUPPORTED) {
            /* It knows no way without strided parts to some uneven splits over two axes. */
            *err = (pl_err){ 0 };
            ok = true;
            continue;
        }
        for (int how = AS_LISTED; how <= BY_LOT && ok; how++) {
            const char *worst = NULL;
            if (!thorough && how == AS_LISTED && o) continue;
            if (!thorough && how == LATE && !o) continue;
            if (!trial_run(t, program[o], (schedule)how, seed + (uint64_t)o, &r))
                ok = pl_err_set(err, PL_EMISMATCH, "options %d: the ranks wait for ever", o);
            double off = ok ? ranks_difference(&r, &t->truth, &worst) : 0;
            if (!(off <= tolerance))
                ok = pl_err_set(err, PL_EMISMATCH, "options %d, schedule %d: '%s' is off by %g", o,
                                how, worst, off);
            bool other = options[o].no_strided || options[o].step_bytes; /* ways, and sums */
            if (ok && first.program && !other && !ranks_same(&first, &r))
                ok = pl_err_set(err, PL_EMISMATCH, "options %d, schedule %d: other bits", o, how);
            if (first.program || !ok) ranks_free(&r);
            else first = r;
        }
    }
    if (first.program) ranks_free(&first);
    return ok;
}

#endif
