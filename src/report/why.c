#include "report/why.h"

#include "report/compare.h"

#include <math.h>
#include <string.h>

static bool is_same(const pl_plan *a, const pl_plan *b)
{
    const pl_graph *g = a->graph;
    if (g != b->graph || a->mesh.n != b->mesh.n) return false;
    for (int i = 0; i < a->mesh.n; i++)
        if (a->mesh.axis[i].size != b->mesh.axis[i].size) return false;
    for (int i = 0; i < g->nodes.n; i++)
        if (!pl_plan_runs_alike(a, i, b, i)) return false;
    for (int i = 0; i < g->values.n; i++) {
        const pl_value *v = g->values.at[i];
        bool differs = !pl_plan_kept_alike(a, i, b, i);
        if (!v->maker) differs |= !pl_placement_same(&a->stored[i], &b->stored[i]);
        if (differs) return false;
    }
    return true;
}

/* The answer of the mesh on which the plan was found. */
static bool open_found(const pl_found *b, const pl_plan *p, const pl_auto_options *o, pl_arena *out,
                       pl_reason *r)
{
    for (int i = 0; i < b->search->n; i++) {
        const pl_auto_mesh *m = &b->search->mesh[i];
        if (!m->fits) continue;
        *r = pl_reason_open(m, o, out);
        if (is_same(r->plan, p)) return true;
    }
    return false;
}

static double cap_of(const pl_found *b, const pl_candidate *k, const pl_reason *r)
{
    double more = (double)k->forecast.memory.peak - r->memory;
    return fmax(r->memory, b->limit - fmax(0, more));
}

/* The answer to the tables that a candidate was found in, where these know of recomputing. */
static bool open_recomputed(const pl_candidate *k, const pl_auto_options *o, pl_arena *out,
                            pl_reason *r)
{
    if (!k->problem || !k->problem->n_again) return false;
    *r = pl_reason_answer(k->problem, k->value, o, out);
    return true;
}

static bool open_one(const pl_found *b, const pl_candidate *k, const pl_auto_options *options,
                     pl_arena *out, pl_reason *r)
{
    const pl_speed speed = pl_speed_of(b->strategy.cluster);
    pl_err why = { 0 };
    bool ok = open_recomputed(k, options, out, r) || open_found(b, k->plan, options, out, r);
    if (!ok) ok = pl_reason_price(k->plan, &b->search->fold, &speed, NULL, out, r, &why);
    if (ok) r->cap = cap_of(b, k, r), r->tied = options->tied;
    return ok;
}

bool pl_why_open(const pl_found *b, pl_arena *out, pl_reason *r, const pl_candidate **about,
                 pl_err *err)
{
    const pl_auto_options o = { .memory = b->limit, .tied = b->search->tied };
    *about = b->take;
    if (open_one(b, b->take, &o, out, r)) return true;
    for (int i = 0; i < b->n; i++) {
        *about = &b->at[i];
        if (open_found(b, b->at[i].plan, &o, out, r)) {
            r->cap = cap_of(b, *about, r);
            return true;
        }
    }
    return pl_err_set(err, PL_EINFEASIBLE, "the search found no plan, and it does not know %s",
                      b->take->name);
}

/* -- the sentence ------------------------------------------------------------------------------ */

static const double SAME = 1e-4, /* of a step: no difference to speak of     */
    FULL = 0.95,                 /* of a device: its memory decides          */
    DEAR = 1e-3;                 /* of a step, for a GiB                     */

const char *pl_why_name(const pl_candidate *k, pl_arena *out)
{
    return k->searched ? pl_arena_fmt(out, "auto, mesh %s", k->name) : k->name;
}

/* The fastest that fits and is slower; a layout rather than another mesh. Else one that does not
 * fit. NULL: there is none. */
static const pl_candidate *next_best(const pl_found *b)
{
    const double taken = b->take->forecast.step_seconds;
    const pl_candidate *mesh = NULL, *large = NULL;
    for (int i = 0; i < b->n; i++) {
        const pl_candidate *k = &b->at[i];
        const bool slower = k->forecast.step_seconds > taken * (1 + SAME);
        if (k->fits && slower && !k->searched) return k;
        if (k->fits && slower && !mesh) mesh = k;
        if (!k->fits && !k->searched && !large) large = k;
    }
    return mesh ? mesh : large;
}

static pl_compare_side side_of(const pl_candidate *k, const char *name, pl_arena *tmp)
{
    pl_summary *s = PL_NEW(tmp, pl_summary);
    pl_summary_fold_make(k->program, &k->forecast, tmp, s);
    return (pl_compare_side){ name, k->program, &k->forecast, s };
}

/* What a GiB more per device is worth, as the search has it; 0: it does not know. */
static double price_of(const pl_found *b)
{
    const pl_auto_mesh *m = b->take->searched ? pl_auto_on(b->search, &b->take->plan->mesh) : NULL;
    return m ? m->answer.price * 0x1p30 : 0;
}

static void add_memory(const pl_found *b, pl_arena *tmp, pl_text *t)
{
    const double peak = (double)b->take->forecast.memory.peak, price = price_of(b);
    const bool dear = price > DEAR * b->take->forecast.step_seconds;
    const double limit = pl_candidate_limit(b, b->take);
    if (!isfinite(limit) || (peak < FULL * limit && !dear)) return;
    pl_text_add(t, "%sMemory binds: %s of %s", t->n ? " " : "", pl_text_size(tmp, peak),
                pl_text_size(tmp, limit));
    if (dear) pl_text_add(t, ", and a GiB more would save %.3g ms at most", 1e3 * price);
    pl_text_add(t, ".");
}

const char *pl_why_sentence(const pl_found *b, pl_arena *out)
{
    const pl_candidate *next = next_best(b);
    pl_arena *tmp = pl_arena_new("why");
    pl_text t = { .arena = out };
    if (next) {
        pl_compare c;
        const pl_compare_side other = side_of(next, pl_why_name(next, tmp), tmp),
                              taken = side_of(b->take, "this plan", tmp);
        pl_compare_make(&other, &taken, tmp, &c);
        pl_text_add(&t, "%s", pl_compare_brief(&c, b->limit, tmp));
    }
    add_memory(b, tmp, &t);
    pl_arena_free(tmp);
    return t.n ? pl_text_get(&t) : NULL;
}
