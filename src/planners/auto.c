/* Meshes of a cluster, and the search on each: pl_auto_open() makes the tables, pl_auto_again()
 * searches them under a limit of memory. */
#include "planners/auto.h"

#include "base/clock.h"
#include "plan/stages.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { MOST_MESHES = 64 };

/* -- meshes ------------------------------------------------------------------------------------ */

typedef struct meshes {
    const pl_cluster *c;
    int stages, axes, most, n;
    pl_mesh *at;
} meshes;

static void finish_mesh(meshes *x, const pl_mesh *m)
{
    const int stages = pl_mesh_find(m, PL_STAGE_AXIS);
    pl_err why = { 0 };
    pl_mesh y = *m;
    if (x->n == x->most || !pl_speed_links(&y, x->c, &why)) return;
    if (stages >= 0) y.axis[stages].size = 1;
    x->at[x->n++] = y;
}

static int common_divisor(int a, int b)
{
    return b ? common_divisor(b, a % b) : a;
}

/* Stages take the outermost levels, or parts of them: what levels outside of one leave of them. */
static int stages_within(const meshes *x, int level)
{
    int left = x->stages;
    for (int k = x->c->n_levels - 1; k > level; k--)
        left /= common_divisor(x->c->level[k].size, left);
    return left;
}

/* What stages leave of a level. */
static int level_size(const meshes *x, int level)
{
    const int size = x->c->level[level].size;
    return size / common_divisor(size, stages_within(x, level));
}

/* The next axis is named after its level, and with others of the level by its number: with letters
 * that a plan file has in names (plan/file_read.c), and as no axis before it. */
static void name_axis(pl_mesh *m, const char *level, int part)
{
    enum { CUT = 12 };
    char base[CUT + 1], *name = m->axis[m->n].name;
    const size_t room = sizeof m->axis[0].name;
    snprintf(base, sizeof base, "%.*s", CUT, level);
    for (char *c = base; *c; c++)
        if (*c <= ' ' || *c > '~' || strchr(",:;]}", *c)) *c = '-';
    snprintf(name, room, part < 0 ? "%s" : "%s%d", base, part);
    for (int i = 2; pl_mesh_find(m, name) >= 0; i++) snprintf(name, room, "%.10s-%d", base, i);
}

/* Levels from `level` inwards; `left` devices of that level have no axis yet, and the next one has
 * at least `least`: on a level axes come in ascending order, as their order is all the same. */
static void add_axes(meshes *x, pl_mesh *m, int level, int left, int least, int part)
{
    if (left == 1) {
        if (level == 0)
            finish_mesh(x, m);
        else
            add_axes(x, m, level - 1, level_size(x, level - 1), 2, 0);
        return;
    }
    if (m->n == x->axes) return;
    for (int size = left; size >= least; size--) {
        bool rest = left / size == 1 || left / size >= size;
        if (left % size || !rest) continue;
        name_axis(m, x->c->level[level].name, part || size < left ? part : -1);
        m->axis[m->n].size = size;
        m->n++;
        add_axes(x, m, level, left / size, size, part + 1);
        m->n--;
    }
}

int pl_auto_meshes(const pl_cluster *c, int axes, int stages, int most, pl_mesh out[])
{
    meshes x = { .c = c, .stages = stages > 1 ? stages : 1, .axes = axes, .most = most, .at = out };
    pl_mesh m = { 0 };
    int levels = 0;
    for (int i = 0; i < c->n_levels; i++) levels += level_size(&x, i) > 1;
    if (stages_within(&x, -1) > 1) return 0;
    if (!x.axes) x.axes = levels > 2 ? levels : 2;
    if (x.stages > 1) {
        snprintf(m.axis[0].name, sizeof m.axis->name, "%s", PL_STAGE_AXIS);
        m.axis[m.n++].size = stages;
        x.axes++;
    }
    if (x.axes > PL_MAX_AXES) x.axes = PL_MAX_AXES;
    add_axes(&x, &m, c->n_levels - 1, level_size(&x, c->n_levels - 1), 2, 0);
    return x.n;
}

void pl_watch_tell(const pl_watch *w, const char *what, int i, int n)
{
    if (w) w->see(w->self, what, i, n);
}

double pl_auto_seconds(const pl_auto *x)
{
    return x->fold_seconds + x->tables_seconds + x->search_seconds;
}

const pl_auto_mesh *pl_auto_on(const pl_auto *x, const pl_mesh *m)
{
    for (int i = 0; i < x->n; i++)
        if (x->mesh[i].fits && pl_mesh_alike(&x->mesh[i].mesh, m)) return &x->mesh[i];
    return NULL;
}

/* -- search ------------------------------------------------------------------------------------ */

static bool search_mesh(const pl_auto *x, pl_auto_mesh *m, double cap, pl_arena *out, pl_err *err)
{
    const pl_search_options o = { .until = x->until, .gap = x->gap, .target = x->target };
    pl_answer a;
    m->fits = x->method ? pl_planner_run(x->method, m->problem, cap, out, &a, err)
                        : pl_problem_below(m->problem, cap, x->tied, &o, &m->opened, out, &a, err);
    if (!m->fits) return false;
    m->answer = a;
    m->seconds = a.time, m->memory = a.memory, m->proven = a.proven;
    if (cap > m->cap) m->cap = cap, m->bound = a.bound;
    return true;
}

bool pl_auto_again(pl_auto *x, double memory, pl_arena *out, pl_err *err)
{
    const double start = pl_clock_now();
    pl_err why = { 0 };
    int best = -1;
    x->cap = memory;
    for (int i = 0; i < x->n; i++) {
        pl_watch_tell(x->watch, "searching mesh", i + 1, x->n);
        if (!search_mesh(x, &x->mesh[i], memory, out, &why)) continue;
        x->bound = fmin(x->bound, x->mesh[i].bound);
        if (best < 0 || x->mesh[i].seconds < x->mesh[best].seconds) best = i;
        if (x->mesh[best].seconds < x->target) break;
    }
    x->search_seconds += pl_clock_now() - start;
    if (best < 0) {
        *err = why;
        return false;
    }
    const pl_auto_mesh *b = &x->mesh[best];
    x->best = best;
    x->seconds = b->seconds, x->memory = b->memory;
    return true;
}

bool pl_auto_open(const pl_graph *g, const pl_cluster *c, const pl_auto_options *options,
                  pl_arena *out, pl_auto **found, pl_err *err)
{
    pl_mesh mesh[MOST_MESHES];
    const pl_speed speed = pl_speed_of(c);
    pl_auto *x = *found = PL_NEW(out, pl_auto);
    *x = (pl_auto){ .tied = options->tied,
                    .method = options->method,
                    .watch = options->watch,
                    .until = options->seconds > 0 ? pl_clock_now() + options->seconds : 0,
                    .best = -1,
                    .bound = INFINITY,
                    .n = pl_auto_meshes(c, options->axes, options->stages, MOST_MESHES, mesh) };
    if (!x->n && options->stages > 1)
        return pl_err_set(err, PL_EINPUT,
                          "cluster '%s': %d stages do not divide its levels evenly, from the "
                          "outermost on",
                          c->name, options->stages);
    if (!x->n)
        return pl_err_set(err, PL_EINPUT,
                          "cluster '%s': its %d levels need as many axes, and a mesh may have %d",
                          c->name, c->n_levels, options->axes);
    x->mesh = PL_NEW_N(out, pl_auto_mesh, x->n);
    double start = pl_clock_now();
    x->fold = pl_fold_find(g, out);
    x->fold_seconds = pl_clock_now() - start;
    for (int i = 0; i < x->n; i++) {
        pl_watch_tell(x->watch, "tables of mesh", i + 1, x->n);
        x->mesh[i].mesh = mesh[i];
        x->mesh[i].problem = pl_problem_new(g, &x->fold, &x->mesh[i].mesh, &speed, out);
    }
    x->tables_seconds = pl_clock_now() - start - x->fold_seconds;
    return true;
}

bool pl_auto_plan(const pl_graph *g, const pl_cluster *c, const pl_auto_options *options,
                  pl_arena *out, pl_auto **found, pl_err *err)
{
    static const pl_auto_options usual = { 0 };
    const pl_auto_options *o = options ? options : &usual;
    PL_TRY(pl_auto_open(g, c, o, out, found, err));
    PL_TRY(pl_auto_again(*found, o->memory > 0 ? o->memory : INFINITY, out, err));
    const pl_auto_mesh *m = &(*found)->mesh[(*found)->best];
    (*found)->plan = pl_problem_plan(m->problem, m->answer.value, NULL, "auto", NULL, out);
    return pl_plan_check((*found)->plan, err);
}

pl_plan *pl_auto_least(const pl_auto *x, int mesh, pl_arena *out)
{
    pl_answer a;
    pl_err why = { 0 };
    const pl_problem *problem = x->mesh[mesh].problem;
    return pl_problem_least(problem, out, &a, &why)
               ? pl_problem_plan(problem, a.value, NULL, "least", NULL, out)
               : NULL;
}
