/* bench-quality: the plan that `pleat plan` takes against every published layout, as CSV rows; all
 * by the same forecast (program/forecast.h), so nothing is timed.
 *
 *   bench-quality [--all] MODEL CLUSTER [MODEL CLUSTER ...]
 *
 * A row per model and cluster, of a training step with AdamW. `found_s` is the step of the plan
 * taken (pl_plan_find) and `found` what it is, a mesh or a layout; `searched_s` the fastest of the
 * search's own plans, without layouts. `layout` is the fastest of `layouts` published ones, of
 * which `oom` do not fit a device and are not counted; `ratio` is layout_s / found_s. `tables_s`,
 * `bound_s` and `gap` are the search's figure of its plan, its lower bound and their distance. Then
 * the least step of each kind: of dp, zero, hsdp and hpz alone; of tp and sp with each of these, of
 * the others with dp and zero. "-": the kind does not apply; "oom": none of it fits. With --all
 * there is a row per layout instead. Ends with PL_EMISMATCH when a layout is faster than what was
 * found. */
#include "base/text.h"
#include "ops/lib/all.h"
#include "layouts/strategy.h"
#include "planners/find.h"
#include "train/optim.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* States: dp and zero, then hsdp and hpz in groups of 2, 4, ...; grids are taken with the first
 * two, and of more than MANY devices those of all devices only. What needs a mesh of four axes is
 * left out: lowering that takes 20 times as long. */
enum { MOST_LAYOUTS = 8192, ZEROS = 4, GRID_ZEROS = 2, MOST_WAYS = 44, MOST_AXES = 3, MANY = 16 };

/* -- published layouts ------------------------------------------------------------------------- */

/* Kinds of which each layout has one: the first whose word it has. */
static const struct {
    const char *name, *word;
} kinds[] = {
    { "2d", "tp=2d:" },     { "2.5d", "tp=2.5d:" },
    { "3d", "tp=3d:" },     { "grid", "grid:" },
    { "ep", "ep=" },        { "sp", ",sp" },
    { "tp", "tp=" },        { "spatial", "spatial=" },
    { "hpz", "hpz=" },      { "hsdp", "hsdp=" },
    { "zero=3", "zero=3" }, { "zero=2", "zero=2" },
    { "zero=1", "zero=1" }, { "dp", "dp" },
};
enum { N_KINDS = sizeof kinds / sizeof *kinds };

static int kind_of(const char *text)
{
    int i = 0;
    while (!strstr(text, kinds[i].word)) i++;
    return i;
}

typedef struct layouts {
    pl_arena *arena;
    int devices, n;
    const char *text[MOST_LAYOUTS];
} layouts;

/* With so many of the ways to keep states; those that the devices do not allow are left out. */
static void add_products(layouts *l, const char *layers, int ways)
{
    static const char *const zero[] = { "dp", "zero=3", "zero=1", "zero=2" };
    const char *text[MOST_WAYS];
    int n = 0;
    while (n < ZEROS) text[n] = zero[n], n++;
    for (int k = 2; k <= l->devices && n + 2 <= MOST_WAYS; k *= 2) {
        text[n++] = pl_arena_fmt(l->arena, "hsdp=%d", k);
        text[n++] = pl_arena_fmt(l->arena, "hpz=%d", k);
    }
    for (int i = 0; i < n && i < ways; i++) {
        const char *all = *layers ? pl_arena_fmt(l->arena, "%s,%s", text[i], layers) : text[i];
        pl_strategy s;
        pl_err why = { 0 };
        if (!pl_strategy_parse(all, l->devices, l->arena, &s, &why)) continue;
        const bool whole = pl_strategy_size(&s, "data") == 1; /* the first is zero=3 */
        if ((i >= ZEROS && whole) || s.mesh.n > MOST_AXES) continue;
        PL_ASSERT_CMP(l->n, <, MOST_LAYOUTS);
        l->text[l->n++] = all;
    }
}

static void add_grids(layouts *l)
{
    const int n = l->devices;
    for (int q = 2; q * q <= n; q++) {
        add_products(l, pl_arena_fmt(l->arena, "tp=2d:%dx%d", q, q), ZEROS);
        for (int d = 2; d * q * q <= n; d++)
            add_products(l, pl_arena_fmt(l->arena, "tp=2.5d:%dx%dx%d", q, q, d), ZEROS);
        if (q * q * q <= n)
            add_products(l, pl_arena_fmt(l->arena, "tp=3d:%dx%dx%d", q, q, q), ZEROS);
    }
    for (int a = 1; a <= n; a++)
        for (int b = 1; a * b <= n; b++)
            for (int c = 1; a * b * c <= n; c++)
                if (a * b * c == n || (a * b * c > 1 && n <= MANY))
                    add_products(l, pl_arena_fmt(l->arena, "grid:%dx%dx%d", a, b, c), GRID_ZEROS);
}

static void list_layouts(layouts *l, bool experts, bool images)
{
    add_products(l, "", MOST_WAYS);
    for (int k = 2; k <= l->devices; k++) {
        add_products(l, pl_arena_fmt(l->arena, "tp=%d", k), MOST_WAYS);
        add_products(l, pl_arena_fmt(l->arena, "tp=%d,sp", k), MOST_WAYS);
        for (int t = 1; t * k <= l->devices; t++) {
            const char *tp = t > 1 ? pl_arena_fmt(l->arena, ",tp=%d", t) : "";
            if (experts) add_products(l, pl_arena_fmt(l->arena, "ep=%d%s", k, tp), ZEROS);
            if (images) add_products(l, pl_arena_fmt(l->arena, "spatial=%d%s", k, tp), ZEROS);
        }
    }
    add_grids(l);
}

/* -- one row ----------------------------------------------------------------------------------- */

typedef struct row {
    const char *model, *cluster;
    const pl_cluster *c;
    const pl_graph *graph;
    double memory;
    bool all; /* print every layout */
    int n, oom;
    const char *best;
    double best_seconds; /* INFINITY: none fits */
    double least[N_KINDS];
    bool seen[N_KINDS];
} row;

static bool open_row(row *r, layouts *l, pl_err *err)
{
    const pl_optim o = pl_optim_usual(PL_OPTIM_NAME);
    pl_model_args m;
    pl_graph *g;
    pl_cluster *c;
    PL_TRY(pl_cluster_find(r->cluster, l->arena, &c, err));
    PL_TRY(pl_model_parse(r->model, l->arena, &m, err));
    pl_builder b = pl_optim_step(&m, &o, 1, l->arena);
    PL_TRY(pl_builder_done(&b, &g, err));
    r->c = c, r->graph = g;
    r->memory = pl_cluster_memory(c);
    r->best = "-", r->best_seconds = INFINITY;
    for (int k = 0; k < N_KINDS; k++) r->least[k] = INFINITY;
    bool images = false;
    for (int i = 0; i < g->values.n; i++)
        images |= g->values.at[i]->role == PL_INPUT && g->values.at[i]->shape.rank == 4;
    l->devices = c->n_devices;
    list_layouts(l, pl_model_has(&m, "experts"), images);
    return true;
}

/* Fails where the model cannot be split that way. */
static bool forecast(const row *r, const char *text, pl_arena *tmp, pl_found **best, pl_err *err)
{
    pl_plan_request ask = { .cluster = r->c, .search.memory = r->memory };
    return pl_strategy_parse(text, r->c->n_devices, tmp, &ask.strategy, err) &&
           pl_plan_find(&ask, r->graph, tmp, best, err);
}

static void try_layout(row *r, const char *text)
{
    pl_arena *tmp = pl_arena_new("layout");
    pl_found *b;
    pl_err why = { 0 };
    if (forecast(r, text, tmp, &b, &why)) {
        const pl_forecast *f = &b->take->forecast;
        int k = kind_of(text);
        r->n++;
        r->seen[k] = true;
        if (!b->take->fits)
            r->oom++;
        else
            r->least[k] = fmin(r->least[k], f->step_seconds);
        if (b->take->fits && f->step_seconds < r->best_seconds)
            r->best = text, r->best_seconds = f->step_seconds;
        if (r->all)
            printf("\"%s\",%s,\"%s\",%s,%.9g,%lld,%s\n", r->model, r->cluster, text, kinds[k].name,
                   f->step_seconds, (long long)f->memory.peak, b->take->fits ? "yes" : "oom");
    } else if (why.code == PL_EINTERNAL) {
        fprintf(stderr, "%s on %s, %s: %s\n", r->model, r->cluster, text, why.msg);
    }
    pl_arena_free(tmp);
}

/* The fastest of the search's own plans that fits. */
static double find_searched(const pl_found *b)
{
    double least = INFINITY;
    for (int i = 0; i < b->n; i++)
        if (b->at[i].bound > 0 && b->at[i].fits)
            least = fmin(least, b->at[i].forecast.step_seconds);
    return least;
}

static const char *number(double x, const char *none, pl_arena *a)
{
    return isfinite(x) ? pl_arena_fmt(a, "%.9g", x) : none;
}

static void print_row(const row *r, const pl_found *b, pl_arena *a)
{
    double step = b->take->forecast.step_seconds, s = b->search->seconds;
    printf("\"%s\",%s,%.9g,\"%s\",%s,\"%s\",%s,%s,%d,%d,%.9g,%.9g,%.6g", r->model, r->cluster, step,
           b->take->name, number(find_searched(b), "-", a), r->best,
           number(r->best_seconds, "-", a), number(r->best_seconds / step, "-", a), r->n, r->oom, s,
           b->search->bound, s > 0 ? (s - b->search->bound) / s : 0);
    for (int k = N_KINDS - 1; k >= 0; k--)
        printf(",%s", r->seen[k] ? number(r->least[k], "oom", a) : "-");
    puts("");
    fflush(stdout);
}

typedef struct tally {
    int rows, least, strict;
} tally;

static bool run_row(row *r, tally *t, pl_arena *arena, pl_err *err)
{
    layouts *l = PL_NEW(arena, layouts);
    l->arena = arena;
    PL_TRY(open_row(r, l, err));
    pl_found *b;
    for (int i = 0; i < l->n; i++) try_layout(r, l->text[i]);
    PL_TRY(forecast(r, "auto", arena, &b, err));
    double step = b->take->forecast.step_seconds;
    t->rows++;
    t->least += step <= r->best_seconds * (1 + 1e-9);
    t->strict += step < r->best_seconds * (1 - 1e-9);
    if (!r->all) print_row(r, b, arena);
    return true;
}

/* -- command line ------------------------------------------------------------------------------ */

static void print_head(bool all)
{
    if (all) {
        puts("model,cluster,layout,kind,step_s,peak_bytes,fits");
        return;
    }
    printf("model,cluster,found_s,found,searched_s,layout,layout_s,ratio,layouts,oom,tables_s,"
           "bound_s,gap");
    for (int k = N_KINDS - 1; k >= 0; k--) printf(",%s", kinds[k].name);
    puts("");
}

int main(int argc, char **argv)
{
    bool all = argc > 1 && !strcmp(argv[1], "--all");
    int i = 1 + all, failed = 0;
    tally t = { 0 };
    if (i >= argc || (argc - i) % 2) {
        fprintf(stderr, "usage: bench-quality [--all] MODEL CLUSTER [MODEL CLUSTER ...]\n");
        return PL_EUSAGE;
    }
    print_head(all);
    for (; i < argc; i += 2) {
        pl_arena *arena = pl_arena_new("bench");
        row r = { .model = argv[i], .cluster = argv[i + 1], .all = all };
        pl_err err = { 0 };
        if (!run_row(&r, &t, arena, &err)) {
            fprintf(stderr, "%s on %s: %s\n", r.model, r.cluster, err.msg);
            failed = (int)err.code;
        }
        pl_arena_free(arena);
    }
    fprintf(stderr, "found no slower than the fastest layout on %d of %d rows, faster on %d\n",
            t.least, t.rows, t.strict);
    return failed ? failed : t.least < t.rows ? PL_EMISMATCH : 0;
}
