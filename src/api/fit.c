/* A fit: rows become jobs (open_rows), some are forecast again and again while figures move
 * (descend), and all that are looked at once with the figures that were found. */
#include "api/fit.h"

#include "base/each.h"
#include "train/step.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { HELD = 5, MOST_MOVES = 6, MOST_TRIED = 150 };

/* Figures of the class; then so many of each level. */
enum { START, MATMUL, STREAM, LAUNCH, OF_CLASS };
enum { BANDWIDTH, MESSAGE_START, LATENCY, OF_LEVEL };
enum { MOST_FIGURES = OF_CLASS + OF_LEVEL * PL_CLUSTER_LEVELS };
static const double FINE = 1.05, WORTH = 0.98;

typedef struct fitting {
    const pl_fit_options *o;
    pl_fit *fit;
    pl_arena *out;
    const pl_cluster *base; /* as it is known                                          */
    double value[MOST_FIGURES];
    int n_sample;
    pl_fit_row **sample; /* [n_sample] that the figures are moved by                */
    int tried, most;     /* trials so far, and about how many there will be                   */
} fitting;

/* -- figures ----------------------------------------------------------------------------------- */

static int level_of(int k)
{
    return (k - OF_CLASS) / OF_LEVEL;
}

/* Where figure k is in a cluster; NULL: a level that this one has not. Levels go by their names. */
static pl_figure *figure_at(const fitting *x, pl_cluster *c, int k)
{
    pl_device_class *d = &c->class[0];
    if (k == START) return &d->kernel_start;
    if (k == MATMUL) return &d->matmul_efficiency;
    if (k == STREAM) return &d->stream_efficiency;
    if (k == LAUNCH) return &d->kernel_launch;
    const char *name = x->base->level[level_of(k)].name;
    for (int i = 0; i < c->n_levels; i++) {
        pl_level *l = &c->level[i];
        if (strcmp(l->name, name) != 0) continue;
        const int what = (k - OF_CLASS) % OF_LEVEL;
        return what == BANDWIDTH ? &l->bandwidth : what == LATENCY ? &l->latency : &l->start;
    }
    return NULL;
}

static bool is_seconds(int k)
{
    if (k >= OF_CLASS) return (k - OF_CLASS) % OF_LEVEL != BANDWIDTH;
    return k == START || k == LAUNCH;
}

static void list_figures(fitting *x)
{
    static const char *const of_class[OF_CLASS] = { "kernel_start", "matmul_efficiency",
                                                    "stream_efficiency", "kernel_launch" },
                             *const of_level[OF_LEVEL] = { "bandwidth", "start", "latency" };
    const pl_cluster *c = x->base;
    pl_fit *f = x->fit;
    f->n_figures = OF_CLASS + OF_LEVEL * c->n_levels;
    f->figure = PL_NEW_N(x->out, pl_fit_figure, f->n_figures);
    for (int k = 0; k < f->n_figures; k++) {
        const int what = k < OF_CLASS ? k : (k - OF_CLASS) % OF_LEVEL;
        pl_fit_figure *y = &f->figure[k];
        if (k < OF_CLASS)
            *y =
                (pl_fit_figure){ c->class[0].name, of_class[what], is_seconds(k) ? "s" : "", 0, 0 };
        else
            *y = (pl_fit_figure){ c->level[level_of(k)].name, of_level[what],
                                  is_seconds(k) ? "s" : "B/s", 0, 0 };
        x->value[k] = figure_at(x, f->cluster, k)->value;
        y->before = x->value[k];
    }
}

/* Efficiencies are shares; a start that is 0 begins at a microsecond, and a launch at 16, as less
 * tells of nothing. What few runs tell of a figure is not believed where it is far from what was
 * known. */
static double moved(const fitting *x, int k, double by)
{
    enum { FAR_START = 32, FAR = 2 };
    const bool share = k == MATMUL || k == STREAM;
    const double least = k == LAUNCH     ? 16e-6
                         : is_seconds(k) ? 1e-6
                                         : 0,
                 far = is_seconds(k) ? FAR_START : FAR;
    const double known = fmax(x->fit->figure[k].before, least),
                 value = fmax(x->value[k], least) * by;
    return fmin(share ? fmin(1, known * far) : known * far, fmax(known / far, value));
}

/* What convolutions and attention reach moves as what products do. */
static void move_products(pl_cluster *c, double by)
{
    pl_device_class *d = &c->class[0];
    d->conv_efficiency.value = fmin(1, d->conv_efficiency.value * by);
    d->attention_efficiency.value = fmin(1, d->attention_efficiency.value * by);
    d->unaligned_efficiency.value = fmin(1, d->unaligned_efficiency.value * by);
}

static bool set_figures(const fitting *x, const double value[], pl_cluster *c, pl_arena *arena)
{
    pl_err why = { 0 };
    for (int k = 0; k < x->fit->n_figures; k++) {
        pl_figure *at = figure_at(x, c, k);
        if (at) at->value = value[k];
    }
    move_products(c, value[MATMUL] / x->fit->figure[MATMUL].before);
    return pl_cluster_finish(c, arena, &why);
}

/* -- rows -------------------------------------------------------------------------------------- */

/* The forecast of a row with these figures; 0: none. */
static double forecast(const fitting *x, const pl_fit_row *row, const double value[])
{
    pl_arena *tmp = pl_arena_new("fit");
    pl_plan_request r = { .strategy = row->asked };
    pl_cluster *c;
    pl_found *f;
    pl_err why = { 0 };
    double seconds = 0;
    if (pl_cluster_find(row->cluster, tmp, &c, &why) && set_figures(x, value, c, tmp)) {
        r.cluster = c;
        if (pl_plan_find(&r, row->job.graph, tmp, &f, &why))
            seconds = f->take->forecast.step_seconds;
    }
    pl_arena_free(tmp);
    return seconds;
}

static bool open_row(pl_fit_row *row, pl_arena *out, pl_err *err)
{
    pl_cluster *c;
    PL_TRY(pl_cluster_find(row->cluster, out, &c, err));
    PL_TRY(pl_strategy_parse(row->strategy, c->n_devices, out, &row->asked, err));
    if (row->asked.automatic || row->asked.plan_path)
        return pl_err_set(err, PL_EUSAGE, "strategy '%s' is no layout", row->strategy);
    row->job = (pl_job){ .optimizer = "adamw" };
    PL_TRY(pl_model_parse(row->model, out, &row->job.args, err));
    return pl_job_build(&row->job, row->asked.micro ? row->asked.micro : 1, row->asked.masters, out,
                        err);
}

static bool is_of_kind(const fitting *x, const pl_fit_row *row)
{
    pl_cluster *c;
    pl_err why = { 0 };
    pl_arena *tmp = pl_arena_new("kind");
    const bool is = pl_cluster_find(row->cluster, tmp, &c, &why) && c->n_classes == 1 &&
                    !strcmp(c->class[0].name, x->base->class[0].name);
    pl_arena_free(tmp);
    return is;
}

/* So many of a list, evenly from it. */
static int take_evenly(int n, int most, pl_fit_row *from[], pl_fit_row *to[])
{
    const int take = n < most ? n : most;
    for (int i = 0; i < take; i++) to[i] = from[(int64_t)i * n / take];
    return take;
}

/* Rows of the kind, of which some are looked at: those to fit, then those held out. */
static bool open_rows(fitting *x, int n, pl_fit_row *rows, pl_err *err)
{
    pl_fit *f = x->fit;
    pl_fit_row **side[2], **taken = PL_NEW_N(x->out, pl_fit_row *, n + 1);
    int count[2] = { 0 }, n_taken = 0;
    for (int k = 0; k < 2; k++) side[k] = PL_NEW_N(x->out, pl_fit_row *, n + 1);
    for (int i = 0; i < n; i++) {
        if (!is_of_kind(x, &rows[i])) {
            f->n_other++;
            continue;
        }
        rows[i].held = f->n_rows++ % HELD == HELD - 1;
        side[rows[i].held][count[rows[i].held]++] = &rows[i];
    }
    if (!f->n_rows)
        return pl_err_set(err, PL_EINFEASIBLE,
                          "none of %d runs is on devices of '%s', those of cluster '%s'", n,
                          x->base->class[0].name, x->o->cluster);
    f->row = PL_NEW_N(x->out, pl_fit_row, 2 * x->o->rows + 1);
    for (int k = 0; k < 2; k++) {
        n_taken = take_evenly(count[k], x->o->rows, side[k], taken);
        for (int i = 0; i < n_taken; i++) {
            pl_err why = { 0 };
            pl_fit_row *row = &f->row[f->n];
            *row = *taken[i];
            pl_watch_tell(x->o->watch, "runs read", f->n + 1, 2 * x->o->rows);
            if (open_row(row, x->out, &why))
                f->n++;
            else if (!f->n_refused++)
                f->refused = pl_arena_fmt(x->out, "line %d: %s", row->line, why.msg);
        }
    }
    return f->n || pl_err_set(err, PL_EINPUT, "no run can be planned: %s", f->refused);
}

/* -- errors ------------------------------------------------------------------------------------ */

typedef struct trial {
    const fitting *x;
    const double *value;
    pl_fit_row *const *row;
    double *seconds; /* [rows] */
} trial;

static void forecast_one(void *with, int i)
{
    const trial *t = with;
    t->seconds[i] = forecast(t->x, t->row[i], t->value);
}

/* The mean of |log(forecast / measured)| of the sample. */
static double error_of(fitting *x, const double value[])
{
    pl_arena *tmp = pl_arena_new("fit error");
    trial t = { x, value, x->sample, PL_NEW_N(tmp, double, x->n_sample + 1) };
    double sum = 0;
    pl_watch_tell(x->o->watch, "figures tried", ++x->tried, x->most);
    pl_each(x->n_sample, forecast_one, &t);
    for (int i = 0; i < x->n_sample; i++)
        sum += t.seconds[i] > 0 ? fabs(log(t.seconds[i] / x->sample[i]->measured)) : 10;
    pl_arena_free(tmp);
    return sum / x->n_sample;
}

static int by_size(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static pl_fit_error sum_up(const pl_fit *f, bool held, bool after, pl_arena *tmp)
{
    pl_fit_error e = { 0 };
    double *ratio = PL_NEW_N(tmp, double, f->n + 1);
    for (int i = 0; i < f->n; i++) {
        const pl_fit_row *r = &f->row[i];
        const double x = after ? r->after : r->before;
        if (r->held != held || !(x > 0)) continue;
        ratio[e.n++] = x / r->measured;
        e.mean += fabs(x / r->measured - 1);
    }
    qsort(ratio, (size_t)e.n, sizeof *ratio, by_size);
    if (e.n) e.mean /= e.n, e.median = ratio[e.n / 2];
    return e;
}

static void forecast_all(fitting *x, bool after)
{
    pl_fit *f = x->fit;
    pl_arena *tmp = pl_arena_new("forecasts");
    pl_fit_row **row = PL_NEW_N(tmp, pl_fit_row *, f->n + 1);
    trial t = { x, x->value, row, PL_NEW_N(tmp, double, f->n + 1) };
    for (int i = 0; i < f->n; i++) row[i] = &f->row[i];
    pl_each(f->n, forecast_one, &t);
    for (int i = 0; i < f->n; i++) *(after ? &f->row[i].after : &f->row[i].before) = t.seconds[i];
    f->fitted[after] = sum_up(f, false, after, tmp);
    f->held[after] = sum_up(f, true, after, tmp);
    pl_arena_free(tmp);
}

/* -- the search -------------------------------------------------------------------------------- */

/* Figure k goes up or down by a factor as long as that helps. */
static double move_figure(fitting *x, int k, double by, double least)
{
    for (int way = 0; way < 2; way++) {
        const double factor = way ? 1 / by : by;
        double value[MOST_FIGURES];
        bool any = false;
        for (int i = 0; i < MOST_MOVES; i++) {
            memcpy(value, x->value, sizeof value);
            value[k] = moved(x, k, factor);
            const double e = value[k] == x->value[k] ? INFINITY : error_of(x, value);
            if (!(e < least * (1 - 1e-4))) break;
            least = e;
            memcpy(x->value, value, sizeof value);
            any = true;
        }
        if (any) break;
    }
    return least;
}

/* Has any run's cluster it, with more than one device? */
static bool is_used(const fitting *x, int k)
{
    pl_arena *tmp = pl_arena_new("levels");
    bool used = k < OF_CLASS;
    for (int i = 0; i < x->n_sample && !used; i++) {
        pl_cluster *c;
        pl_err why = { 0 };
        if (!pl_cluster_find(x->sample[i]->cluster, tmp, &c, &why)) continue;
        for (int j = 0; j < c->n_levels; j++)
            used |=
                c->level[j].size > 1 && !strcmp(c->level[j].name, x->base->level[level_of(k)].name);
    }
    pl_arena_free(tmp);
    return used;
}

/* One figure after the other, in smaller and smaller steps. */
static void descend(fitting *x)
{
    int k[MOST_FIGURES], n = 0;
    for (int i = 0; i < x->fit->n_figures; i++)
        if (is_used(x, i)) k[n++] = i;
    x->most = MOST_TRIED;
    double least = error_of(x, x->value), before = INFINITY;
    for (double by = 2; by > FINE && x->tried < MOST_TRIED;) {
        if (least > WORTH * before) by = sqrt(by); /* steps of this size have done what they can */
        before = least;
        for (int i = 0; i < n; i++) least = move_figure(x, k[i], by, least);
    }
}

/* What is written says where its figures are from. */
static bool write_figures(fitting *x, const char *name, pl_err *err)
{
    pl_fit *f = x->fit;
    pl_cluster *c = f->cluster;
    const char *source =
        pl_arena_fmt(x->out, "fitted to %d runs of %s; off by %.1f %% of %d others", f->fitted[1].n,
                     name, 100 * f->held[1].mean, f->held[1].n);
    for (int k = 0; k < f->n_figures; k++) {
        pl_figure *at = figure_at(x, c, k);
        f->figure[k].after = x->value[k];
        if (!at || x->value[k] == f->figure[k].before) continue;
        *at = (pl_figure){ x->value[k], source };
    }
    move_products(c, x->value[MATMUL] / f->figure[MATMUL].before);
    pl_device_class *d = &c->class[0];
    d->conv_efficiency.source = d->attention_efficiency.source = d->unaligned_efficiency.source =
        d->matmul_efficiency.source;
    return pl_cluster_finish(c, x->out, err);
}

bool pl_fit_make(const char *text, size_t n, const char *name, const pl_fit_options *o,
                 pl_arena *out, pl_fit **fit, pl_err *err)
{
    pl_fit *f = *fit = PL_NEW(out, pl_fit);
    pl_cluster *base;
    pl_fit_row *rows;
    int n_rows;
    *f = (pl_fit){ .refused = "" };
    PL_TRY(pl_cluster_find(o->cluster, out, &base, err));
    PL_TRY(pl_cluster_find(o->cluster, out, &f->cluster, err));
    if (base->n_classes > 1)
        return pl_err_set(err, PL_EUNSUPPORTED,
                          "cluster '%s' has devices of %d classes: one can be "
                          "fitted",
                          o->cluster, base->n_classes);
    PL_TRY(pl_fit_read(text, n, name, out, &n_rows, &rows, err));
    fitting x = { .o = o, .fit = f, .out = out, .base = base };
    list_figures(&x);
    PL_TRY(open_rows(&x, n_rows, rows, err));
    x.sample = PL_NEW_N(out, pl_fit_row *, f->n + 1);
    for (int i = 0; i < f->n; i++)
        if (!f->row[i].held) x.sample[x.n_sample++] = &f->row[i];
    forecast_all(&x, false);
    descend(&x);
    forecast_all(&x, true);
    pl_watch_tell(o->watch, NULL, 0, 0);
    return write_figures(&x, name, err);
}
