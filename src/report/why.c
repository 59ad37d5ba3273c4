#include "report/why.h"

#include <math.h>

static bool is_same(const pl_plan *a, const pl_plan *b)
{
    const pl_graph *g = a->graph;
    if (g != b->graph || a->mesh.n != b->mesh.n) return false;
    for (int i = 0; i < a->mesh.n; i++)
        if (a->mesh.axis[i].size != b->mesh.axis[i].size) return false;
    for (int i = 0; i < g->nodes.n; i++)
        for (int k = 0; k < a->mesh.n; k++)
            if (a->choice[i].factor[k] != b->choice[i].factor[k] ||
                a->choice[i].level[k] != b->choice[i].level[k])
                return false;
    for (int i = 0; i < g->values.n; i++) {
        const pl_value *v = g->values.at[i];
        bool differs = a->regather[i] != b->regather[i];
        if (!v->maker) differs |= !pl_placement_same(&a->stored[i], &b->stored[i]);
        if (differs) return false;
    }
    return true;
}

/* The answer of the mesh on which the plan was found. */
static bool open_found(const pl_best *b, const pl_plan *p, const pl_auto_options *o, pl_arena *out,
                       pl_reason *r)
{
    for (int i = 0; i < b->found->n; i++) {
        const pl_auto_mesh *m = &b->found->mesh[i];
        if (!m->fits) continue;
        *r = pl_reason_open(m, o, out);
        if (is_same(r->plan, p)) return true;
    }
    return false;
}

static double cap_of(const pl_best *b, const pl_contender *k, const pl_reason *r)
{
    double more = (double)k->forecast.memory.peak - r->memory;
    return fmax(r->memory, b->limit - fmax(0, more));
}

static bool open_one(const pl_best *b, const pl_contender *k, const pl_cluster *c,
                     const pl_auto_options *options, pl_arena *out, pl_reason *r)
{
    const pl_speed speed = pl_cost_speed(c);
    pl_err why = { 0 };
    bool ok = open_found(b, k->plan, options, out, r);
    if (!ok) ok = pl_reason_price(k->plan, &b->found->fold, &speed, NULL, out, r, &why);
    if (ok) r->cap = cap_of(b, k, r), r->tied = options->tied;
    return ok;
}

bool pl_why_open(const pl_best *b, const pl_cluster *c, const pl_auto_options *options,
                 pl_arena *out, pl_reason *r, const pl_contender **about, pl_err *err)
{
    *about = b->take;
    if (open_one(b, b->take, c, options, out, r)) return true;
    for (int i = 0; i < b->n; i++) {
        *about = &b->at[i];
        if (open_found(b, b->at[i].plan, options, out, r)) {
            r->cap = cap_of(b, *about, r);
            return true;
        }
    }
    return pl_err_set(err, PL_EINFEASIBLE, "the search found no plan, and it does not know %s",
                      b->take->name);
}
