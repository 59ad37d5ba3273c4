/* bench-search: how long the search of a plan takes, as CSV rows; against the same sum as an
 * integer program (ilp.h), without folding, and against published methods (planners/planner.h).
 *
 *   bench-search [--axes N] [--memory device|BYTES] [--unfolded] [--ilp SECONDS] [--columns N]
 *                [--methods] MODEL CLUSTER [MODEL CLUSTER ...]
 *
 * A row per model, cluster and mesh of at most --axes axes (2). `objective` and `bound` are seconds
 * of a training step (AdamW) by cost/problem.h, `exact_s` and `tied_s` take all prices of
 * pl_problem_min. `priced`: the one sum of tables (pl_problem_chain) whose least is the bound,
 * solved folded by pl_chain_min and written out by CBC; `ratio` is ilp_s / exact_s. With --methods
 * there is a row per method instead. What was not asked for, or did not end, is "-". */
#include "ilp.h"

#include "base/clock.h"
#include "base/text.h"
#include "graph/op.h"
#include "ops/lib/all.h"
#include "planners/auto.h"
#include "planners/planner.h"
#include "train/optim.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_MESHES = 64 };

typedef struct args {
    int axes;
    double memory,
        ilp_seconds; /* memory: bytes; 0: no cap; below 0: as the device has; ilp: 0: no */
    int64_t columns;
    bool methods, unfolded;
} args;

typedef struct job {
    const args *a;
    const char *model, *cluster;
    const pl_cluster *c;
    const pl_graph *graph;
    pl_fold fold;
    double fold_seconds, cap;
} job;

/* -- making ------------------------------------------------------------------------------------ */

static bool open_job(job *j, pl_arena *arena, pl_err *err)
{
    const pl_optim o = pl_optim_usual(PL_OPTIM_NAME);
    pl_model_args m;
    pl_graph *g;
    pl_cluster *c;
    PL_TRY(pl_cluster_find(j->cluster, arena, &c, err));
    PL_TRY(pl_model_parse(j->model, arena, &m, err));
    pl_builder b = pl_optim_step(&m, &o, 1, arena);
    PL_TRY(pl_builder_done(&b, &g, err));
    j->c = c, j->graph = g;
    j->cap = j->a->memory > 0 ? j->a->memory : INFINITY;
    for (int i = 0; i < c->n_classes && j->a->memory < 0; i++)
        j->cap = fmin(j->cap, c->class[i].memory.value);
    double start = pl_clock_now();
    j->fold = pl_fold_find(g, arena);
    j->fold_seconds = pl_clock_now() - start;
    return true;
}

static const char *mesh_text(const pl_mesh *m, pl_arena *a)
{
    pl_text t = { .arena = a };
    for (int i = 0; i < m->n; i++) pl_text_add(&t, "%s%d", i ? "x" : "", m->axis[i].size);
    return pl_text_get(&t);
}

/* A number, or "-" for one that is none. */
static const char *number(double x, pl_arena *a)
{
    return isfinite(x) ? pl_arena_fmt(a, "%.9g", x) : "-";
}

/* -- one row ----------------------------------------------------------------------------------- */

typedef struct row {
    double problem, exact, tied, unfolded, priced, ilp; /* seconds that it took; NAN: not done */
    double objective, bound, tied_objective, priced_objective, ilp_objective, ilp_bound;
    int64_t columns;
    const char *proven;
} row;

static double search(pl_problem *t, double cap, bool tied, pl_arena *arena, pl_answer *x)
{
    double start = pl_clock_now();
    pl_err err = { 0 };
    if (!pl_problem_min(t, cap, tied, NULL, arena, x, &err)) {
        fprintf(stderr, "%s: %s\n", t->graph->name, err.msg);
        x->time = x->bound = NAN;
    }
    return pl_clock_now() - start;
}

/* The sum whose least is the bound: both ways. */
static void search_priced(const job *j, const pl_problem *t, pl_arena *arena, row *r)
{
    pl_answer x;
    pl_err err = { 0 };
    double start = pl_clock_now();
    if (pl_chain_min(&t->chain, j->cap, NULL, arena, &x, &err)) r->priced_objective = x.time;
    r->priced = pl_clock_now() - start;
    if (j->a->ilp_seconds <= 0) return;
    pl_sum s = pl_chain_unroll(&t->chain, arena);
    ilp_result ilp;
    bool ok = ilp_min(&s, j->cap, j->a->ilp_seconds, j->a->columns, arena, &ilp, &err);
    r->columns = ilp.columns;
    r->proven = !ok ? "-" : ilp.proven ? "yes" : "no";
    if (!ok) fprintf(stderr, "%s: %s\n", j->model, err.msg);
    if (!ok) return;
    r->ilp = ilp.seconds;
    r->ilp_bound = ilp.bound;
    if (ilp.found) r->ilp_objective = ilp.objective;
}

static void print_row(const job *j, const pl_problem *t, const row *r, pl_arena *a)
{
    bool folds = t->n_classes > 0;
    double gap = r->objective > 0 ? (r->objective - r->bound) / r->objective : 0;
    printf("\"%s\",%s,%s,%d,%d,%d,%d", j->model, j->cluster, mesh_text(t->mesh, a),
           j->graph->nodes.n, j->fold.n_classes, pl_problem_block(t), folds ? t->copies : 1);
    const double after[] = { j->fold_seconds,   r->problem,   r->exact,           r->tied,
                             r->unfolded,       r->objective, r->bound,           gap,
                             r->tied_objective, r->priced,    r->priced_objective };
    for (size_t i = 0; i < sizeof after / sizeof *after; i++) printf(",%s", number(after[i], a));
    printf(",%lld,%s,%s,%s,%s,%s\n", (long long)r->columns, number(r->ilp, a),
           number(r->ilp_objective, a), number(r->ilp_bound, a), r->proven,
           number(r->ilp / r->exact, a));
    fflush(stdout);
}

static void measure(const job *j, const pl_mesh *m, pl_arena *arena)
{
    const pl_speed speed = pl_speed_of(j->c);
    pl_answer exact = { 0 }, tied = { 0 }, flat = { 0 };
    row r = { .unfolded = NAN,
              .priced = NAN,
              .ilp = NAN,
              .priced_objective = NAN,
              .ilp_objective = NAN,
              .ilp_bound = NAN,
              .proven = "-" };
    double start = pl_clock_now();
    pl_problem *t = pl_problem_new(j->graph, &j->fold, m, &speed, arena), again = *t;
    r.problem = pl_clock_now() - start;
    r.exact = search(t, j->cap, false, arena, &exact);
    r.tied = search(&again, j->cap, true, arena, &tied);
    r.objective = exact.time, r.bound = exact.bound, r.tied_objective = tied.time;
    if (j->a->unfolded) {
        start = pl_clock_now();
        search(pl_problem_new(j->graph, NULL, m, &speed, arena), j->cap, false, arena, &flat);
        r.unfolded = pl_clock_now() - start;
        if (fabs(flat.time - exact.time) > 1e-6 * exact.time)
            fprintf(stderr, "%s: unfolded finds %.9g, folded %.9g\n", j->model, flat.time,
                    exact.time);
    }
    search_priced(j, t, arena, &r);
    print_row(j, t, &r, arena);
}

/* Every method of planners/planner.h on the same tables. */
static void compare(const job *j, const pl_mesh *m, pl_arena *arena)
{
    const pl_speed speed = pl_speed_of(j->c);
    const pl_problem *t = pl_problem_new(j->graph, &j->fold, m, &speed, arena);
    double exact = NAN;
    for (const pl_planner *const *p = pl_planners; *p; p++) {
        const pl_planner *b = *p;
        pl_answer x;
        pl_err err = { 0 };
        double start = pl_clock_now();
        bool ok = pl_planner_run(b, t, j->cap, arena, &x, &err);
        double seconds = pl_clock_now() - start;
        if (!ok) {
            fprintf(stderr, "%s on %s: %s\n", j->model, j->cluster, err.msg);
            continue;
        }
        if (p == pl_planners) exact = x.time;
        printf("\"%s\",%s,%s,%s,%.9g,%.6g,%.6g,%.9g\n", j->model, j->cluster, mesh_text(m, arena),
               b->name, seconds, x.time, x.memory, x.time / exact);
        fflush(stdout);
    }
}

static bool run_job(job *j, pl_arena *arena, pl_err *err)
{
    pl_mesh mesh[MOST_MESHES];
    PL_TRY(open_job(j, arena, err));
    int n = pl_auto_meshes(j->c, j->a->axes, 1, MOST_MESHES, mesh);
    for (int i = 0; i < n; i++) {
        if (j->a->methods)
            compare(j, &mesh[i], arena);
        else
            measure(j, &mesh[i], arena);
    }
    return n > 0 ||
           pl_err_set(err, PL_EINPUT, "cluster %s: no mesh of %d axes", j->cluster, j->a->axes);
}

/* -- command line ------------------------------------------------------------------------------ */

static int read_args(int argc, char **argv, args *a)
{
    int i = 1;
    for (; i < argc && !strncmp(argv[i], "--", 2); i++) {
        const char *name = argv[i] + 2;
        if (!strcmp(name, "methods") || !strcmp(name, "unfolded")) {
            *(!strcmp(name, "methods") ? &a->methods : &a->unfolded) = true;
            continue;
        }
        if (++i == argc) return -1;
        double value = strcmp(argv[i], "device") ? strtod(argv[i], NULL) : -1;
        if (!strcmp(name, "axes"))
            a->axes = (int)value;
        else if (!strcmp(name, "memory"))
            a->memory = value;
        else if (!strcmp(name, "ilp"))
            a->ilp_seconds = value;
        else if (!strcmp(name, "columns"))
            a->columns = (int64_t)value;
        else
            return -1;
    }
    return i;
}

int main(int argc, char **argv)
{
    args a = { .axes = 2, .columns = 2000000 };
    int i = read_args(argc, argv, &a), failed = 0;
    if (i < 0 || i == argc || (argc - i) % 2) {
        fprintf(stderr, "usage: bench-search [--axes N] [--memory device|BYTES] [--unfolded] "
                        "[--ilp SECONDS] [--columns N] [--methods] MODEL CLUSTER ...\n");
        return PL_EUSAGE;
    }
    puts(a.methods ? "model,cluster,mesh,method,search_s,objective,memory,ratio"
                   : "model,cluster,mesh,nodes,unique_blocks,block_nodes,copies,fold_s,tables_s,"
                     "exact_s,tied_s,unfolded_s,objective,bound,gap,tied_objective,priced_s,"
                     "priced_objective,ilp_columns,ilp_s,ilp_objective,ilp_bound,ilp_proven,ratio");
    for (; i < argc; i += 2) {
        pl_arena *arena = pl_arena_new("bench");
        job j = { .a = &a, .model = argv[i], .cluster = argv[i + 1] };
        pl_err err = { 0 };
        if (!run_job(&j, arena, &err)) {
            fprintf(stderr, "%s on %s: %s\n", argv[i], argv[i + 1], err.msg);
            failed = (int)err.code;
        }
        pl_arena_free(arena);
    }
    return failed;
}
