/* bench-published: tables of SoyBean and Tofu on the tables of cost/problem.h, as CSV rows.
 *
 *   bench-published conversions          what it costs to change one cut in two of a tensor (as in
 *                                        SoyBean's code): elements that both devices receive
 *   bench-published order                a linear layer and its weight's gradient, cut on a 2x2
 *                                        mesh: elements that all devices receive when the cuts are
 *                                        made in turn, with the best order of axes, and at least
 *   bench-published methods MODEL CLUSTER MESH [METHOD ...]
 *                                        what each method of planners/planner.h finds on a mesh
 *                                        (8, 2x2x2): elements, seconds of a step and of its
 *                                        messages, the latter's share of both, seconds of the
 *                                        processor that searching took (that of a busy machine too)
 *
 * Columns that say nothing of a row are "-". Ends with PL_EMISMATCH when a conversion costs other
 * than published, or the order of axes leaves a layer above the least. */
#include "base/rng.h"
#include "base/text.h"
#include "ops/lib/all.h"
#include "ops/list.h"
#include "planners/planner.h"
#include "planners/rules.h"
#include "reshard/convert.h"
#include "planners/find.h"
#include "train/optim.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static const double NOTHING = 1e-30; /* 0 stands for a default */

static void print_row(const char *table, const char *what, const char *method, double elements,
                      double published)
{
    printf("%s,\"%s\",%s,%.9g,-,-,-,-,%.9g\n", table, what, method, elements, published);
}

/* A mesh "2x2x2" whose links take a second for each element of f32 and for nothing else. */
static bool make_mesh(const char *text, pl_mesh *m)
{
    *m = (pl_mesh){ .copy_start = NOTHING, .copy_per_byte = NOTHING };
    for (const char *at = text;; at++) {
        char *end;
        long size = strtol(at, &end, 10);
        if (size < 1 || size > 4096 || m->n == PL_MAX_AXES || (*end && *end != 'x')) return false;
        pl_mesh_axis *x = &m->axis[m->n];
        snprintf(x->name, sizeof x->name, "%c", 'x' + m->n++);
        x->size = (int)size;
        x->latency = NOTHING;
        x->per_byte = 0.25;
        at = end;
        if (!*at) return true;
    }
}

/* -- conversions ------------------------------------------------------------------------------- */

enum { SIDE = 64, N_SPOTS = 4 };

static int show_conversions(void)
{
    static const char *const name[N_SPOTS] = { "Cut i", "Cut j", "Rep", "Red" };
    static const double published[N_SPOTS][3] = {
        /* of S elements, to Cut i, Cut j, Rep */
        { 0, .5, 1 },
        { .5, 0, 1 },
        { 0, 0, 0 },
        { 1, 1, 2 },
    };
    pl_arena *a = pl_arena_new("conversions");
    const pl_shape s = PL_SHAPE(SIDE, SIDE);
    pl_mesh m;
    if (!make_mesh("2", &m)) return PL_EINTERNAL;
    pl_placement at[N_SPOTS] = { { 0 } };
    for (int d = 0; d < 2; d++) {
        at[d].n = 1;
        at[d].split[0] = (pl_split){ .axis = 0, .dim = (signed char)d };
        at[d] = pl_placement_normal(&at[d], &m, &s);
    }
    at[3].pending = 1;
    pl_convert c = pl_convert_all(&m, PL_F32, &s, N_SPOTS, at, a);
    int wrong = 0;
    for (int from = 0; from < N_SPOTS; from++)
        for (int to = 0; to < 3; to++) {
            int row = c.row ? c.row[from] : from, col = c.row ? c.row[to] : to;
            double all = 2 * c.seconds[row * c.n + col];
            double known = published[from][to] * SIDE * SIDE;
            print_row("conversions", pl_arena_fmt(a, "%s to %s of 64x64", name[from], name[to]),
                      "-", round(all), known);
            wrong += fabs(all - known) > 1e-6 * SIDE * SIDE;
        }
    pl_arena_free(a);
    return wrong ? PL_EMISMATCH : 0;
}

/* -- order ------------------------------------------------------------------------------------- */

/* y = x w and the gradient of w, of x [m,k], w [k,n]. Each tensor comes from an operator, or goes
 * to one, that works element by element, so it lies somewhere, in parts. */
static const pl_graph *make_layer(int64_t m, int64_t k, int64_t n, pl_arena *a, pl_err *err)
{
    pl_builder b = pl_builder_new(a, &pl_ops_all, "layer");
    const pl_shape shape[] = { PL_SHAPE(m, k), PL_SHAPE(k, n), PL_SHAPE(m, n) };
    static const char *const name[] = { "x", "w", "dy" };
    pl_value *in[3];
    pl_graph *g = NULL;
    for (int i = 0; i < 3; i++)
        in[i] = PL_ADD(&b, &pl_op_relu, NULL, pl_add_input(&b, name[i], PL_F32, shape[i]));
    pl_value *y = PL_ADD(&b, &pl_op_einsum, "mk,kn->mn", in[0], in[1]);
    pl_value *dw = PL_ADD(&b, &pl_op_einsum, "mk,mn->kn", in[0], in[2]);
    pl_add_output(&b, "y", PL_ADD(&b, &pl_op_relu, NULL, y));
    pl_add_output(&b, "dw", PL_ADD(&b, &pl_op_add, NULL, dw, in[1]));
    return pl_builder_done(&b, &g, err) ? g : NULL;
}

/* All cuts at once: everything is split over both axes, in any way. */
static bool cut_at_once(const pl_problem *t, pl_arena *a, pl_answer *x, pl_err *err)
{
    pl_space s = pl_space_new(t, 0, a);
    unsigned axes = pl_rules_axes(t->mesh);
    pl_space_only(&s, pl_rules_plain, NULL);
    for (int v = 0; v < s.n; v++) pl_space_prefer(&s, v, pl_rules_split, &axes);
    if (!pl_space_min(&s, PL_SPACE_MESSAGES, false, a, x, err)) return false;
    x->time = pl_problem_cost(t, x->value).time;
    return true;
}

typedef struct cuts {
    double turn, order, least; /* elements that all devices receive */
} cuts;

static bool cut_layer(const int64_t size[3], pl_arena *a, cuts *out, pl_err *err)
{
    pl_mesh m;
    pl_speed speed = { .stream = INFINITY };
    for (int i = 0; i < PL_N_TYPES; i++) speed.flops[i] = INFINITY;
    if (!make_mesh("2x2", &m)) return false;
    const pl_graph *g = make_layer(size[0], size[1], size[2], a, err);
    if (!g) return false;
    const pl_problem *t = pl_problem_new(g, NULL, &m, &speed, a);
    const pl_planner *tofu, *order;
    pl_answer x, y, z;
    if (!pl_planner_find("tofu", &tofu, err) || !pl_planner_find("tofu+order", &order, err) ||
        !pl_planner_run(tofu, t, INFINITY, a, &x, err) ||
        !pl_planner_run(order, t, INFINITY, a, &y, err) || !cut_at_once(t, a, &z, err))
        return false;
    *out = (cuts){ round(4 * x.time), round(4 * y.time), round(4 * z.time) };
    return true;
}

static int show_order(void)
{
    /* What exact regions of the tensors give, in turn and at the least. */
    static const int64_t known[][3] = { { 20, 16, 32 }, { 64, 64, 16 } };
    static const double turn[] = { 1920, 5120 }, least[] = { 1664, 4096 };
    enum { DRAWN = 800 };
    int worse = 0, mended = 0, failed = 0;
    double most = 1, left = 1;
    pl_err err = { 0 };
    for (int i = 0; i < 2 + DRAWN && !failed; i++) {
        pl_arena *a = pl_arena_new("order");
        int64_t size[3];
        cuts c;
        for (int d = 0; d < 3; d++)
            size[d] =
                i < 2 ? known[i][d]
                      : 4 * (1 + (int64_t)pl_rng_below(pl_rng_at(1, (uint64_t)i), (uint64_t)d, 16));
        if (!cut_layer(size, a, &c, &err)) {
            fprintf(stderr, "order: %s\n", err.msg);
            failed = (int)err.code;
        } else if (i < 2) {
            const char *name = pl_arena_fmt(a, "[%d,%d] x [%d,%d] and its gradient on 2x2",
                                            (int)size[0], (int)size[1], (int)size[1], (int)size[2]);
            print_row("order", name, "tofu", c.turn, turn[i]);
            print_row("order", name, "tofu+order", c.order, least[i]);
            print_row("order", name, "least", c.least, least[i]);
        } else {
            worse += c.turn > c.least, mended += c.turn > c.least && c.order == c.least;
            most = fmax(most, c.turn / c.least), left = fmax(left, c.order / c.least);
        }
        pl_arena_free(a);
    }
    if (failed) return failed;
    printf(
        "order,\"800 drawn layers: tofu above the least, of these equal with the order\",-,-,-,-,-,"
        "%d of %d,56 of 800\n",
        mended, worse);
    print_row("order", "the same: most that it is above (ratio)", "tofu", most, 1.25);
    print_row("order", "the same: most that it is above (ratio)", "tofu+order", left, 1);
    return mended < worse || left > 1 ? PL_EMISMATCH : 0;
}

/* -- methods ----------------------------------------------------------------------------------- */

/* Of the communication in a step, Tofu's figure 10, RNN-4-8K. */
static const struct {
    const char *name;
    double share;
} figure[] = { { "allrow", .245 }, { "spartan", .211 }, { "equalchop", .138 },
               { "icml18", .132 }, { "tofu", .064 },    { 0 } };

static double published_share(const char *model, const char *method)
{
    for (int i = 0; figure[i].name && !strncmp(model, "rnn-4-8k", 8); i++)
        if (!strcmp(figure[i].name, method)) return figure[i].share;
    return NAN;
}

static bool show_method(const pl_planner *b, const pl_problem *t, const pl_cluster *c,
                        const char *what, const char *model, pl_err *err)
{
    const pl_plan_request r = { .cluster = c, .search.memory = INFINITY };
    pl_arena *a = pl_arena_new("method");
    pl_answer x;
    pl_found *best;
    clock_t start = clock();
    bool ok = pl_planner_run(b, t, INFINITY, a, &x, err);
    double seconds = (double)(clock() - start) / CLOCKS_PER_SEC,
           share = published_share(model, b->name);
    ok = ok &&
         pl_plan_forecast(&r, pl_problem_plan(t, x.value, NULL, b->name, NULL, a), a, &best, err);
    if (ok) {
        const pl_forecast *f = &best->take->forecast;
        double elements = (double)f->comm_bytes * c->n_devices / 4;
        printf("methods,\"%s\",%s,%.9g,%.6g,%.6g,%.4g,%.3g,%s\n", what, b->name, elements,
               f->step_seconds, f->comm_seconds,
               f->comm_seconds / (f->comm_seconds + f->compute_seconds), seconds,
               isnan(share) ? "-" : pl_arena_fmt(a, "%g", share));
        fflush(stdout);
    }
    pl_arena_free(a);
    return ok;
}

static bool show_methods(int n, char *const word[], pl_arena *a, pl_err *err)
{
    const pl_optim o = pl_optim_usual("sgd");
    pl_model_args args;
    pl_graph *g;
    pl_cluster *c;
    pl_mesh m;
    if (!make_mesh(word[2], &m))
        return pl_err_set(err, PL_EUSAGE, "'%s' is no mesh such as 8 or 2x2x2", word[2]);
    m.copy_start = m.copy_per_byte = 0;
    PL_TRY(pl_model_parse(word[0], a, &args, err));
    PL_TRY(pl_cluster_find(word[1], a, &c, err));
    PL_TRY(pl_speed_links(&m, c, err));
    pl_builder b = pl_optim_step(&args, &o, 1, a);
    PL_TRY(pl_builder_done(&b, &g, err));
    const pl_speed speed = pl_speed_of(c);
    const pl_fold fold = pl_fold_find(g, a);
    const pl_problem *t = pl_problem_new(g, &fold, &m, &speed, a);
    const char *what = pl_arena_fmt(a, "%s on %s %s", word[0], word[1], word[2]);
    for (const pl_planner *const *p = pl_planners; *p; p++) {
        const pl_planner *x = *p;
        bool asked = n == 3;
        for (int i = 3; i < n; i++) asked |= !strcmp(word[i], x->name);
        pl_err why = { 0 };
        if (asked && strcmp(x->name, "bruteforce") && !show_method(x, t, c, what, word[0], &why))
            fprintf(stderr, "%s: %s\n", what, why.msg);
    }
    return true;
}

int main(int argc, char **argv)
{
    const char *table = argc > 1 ? argv[1] : "";
    bool methods = !strcmp(table, "methods") && argc >= 5;
    pl_err err = { 0 };
    if (!methods && (argc != 2 || (strcmp(table, "conversions") && strcmp(table, "order")))) {
        fprintf(stderr, "usage: bench-published conversions | order | methods MODEL CLUSTER MESH "
                        "[METHOD ...]\n");
        return PL_EUSAGE;
    }
    puts("table,case,method,elements,step_s,messages_s,share,search_cpu_s,published");
    if (!strcmp(table, "conversions")) return show_conversions();
    if (!strcmp(table, "order")) return show_order();
    pl_arena *a = pl_arena_new("methods");
    bool ok = show_methods(argc - 2, argv + 2, a, &err);
    if (!ok) fprintf(stderr, "bench-published: %s\n", err.msg);
    pl_arena_free(a);
    return ok ? 0 : (int)err.code;
}
