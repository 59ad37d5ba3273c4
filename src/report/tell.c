#include "report/tell.h"

#include "base/table.h"
#include "graph/op.h"
#include "program/summary.h"
#include "report/ragged.h"
#include "report/stages.h"
#include "report/weights.h"
#include "report/why.h"
#include "report/words.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { BAR = 32, HEAD = 10, MOST_OTHERS = 3 };
static const double SHOWN = 0.99, /* of the time of all messages            */
    RAGGED = 0.01,                /* of a step: worth a word                 */
    UNSPLIT = 0.1,                /* of all weights: worth a word           */
    WAITING = 0.25;               /* of a step: worth a word                */

static const char *size(pl_text *out, double bytes)
{
    return pl_text_size(out->arena, bytes);
}

static double percent(double part, double of)
{
    return of > 0 ? 100 * part / of : 0;
}

/* Words under a head of ten columns. */
static void tell_line(const pl_told *t, const char *head, const char *words, pl_text *out)
{
    pl_text_add(out, "%-*s", HEAD, head);
    pl_words_wrap(words, HEAD, HEAD, t->columns ? t->columns : PL_WORDS_COLUMNS, out);
}

/* -- the step ---------------------------------------------------------------------------------- */

/* Of all devices, in bf16 where any tensor is, else in f32. */
static double peak_flops(const pl_told *t)
{
    bool narrow = false;
    double sum = 0;
    for (int i = 0; i < t->graph->values.n; i++) narrow |= t->graph->values.at[i]->type == PL_BF16;
    for (int d = 0; d < t->cluster->n_devices; d++) {
        const pl_device_class *c = pl_cluster_device(t->cluster, d);
        sum += narrow ? c->bf16_flops.value : c->f32_flops.value;
    }
    return sum;
}

double pl_told_mfu(const pl_told *t)
{
    return pl_graph_flops(t->graph) / t->best->take->forecast.step_seconds / peak_flops(t);
}

double pl_told_gap(const pl_auto *x)
{
    return x->bound > 0 && x->seconds > x->bound ? (x->seconds - x->bound) / x->seconds : 0;
}

static void tell_step(const pl_told *t, pl_text *out)
{
    const pl_forecast *f = &t->best->take->forecast;
    pl_text_add(out, "step      %.3f ms predicted: %.4g %s/s, %.1f %% of the devices' peak (MFU)\n",
                1e3 * f->step_seconds, (double)t->n_units / f->step_seconds, t->units,
                100 * pl_told_mfu(t));
    pl_text_add(out, "          %.3f ms computing, %.3f ms waiting; messages take %.3f ms for %s\n",
                1e3 * f->compute_seconds, 1e3 * f->exposed_seconds, 1e3 * f->comm_seconds,
                size(out, (double)f->comm_bytes));
    if (t->mean_seconds > 0)
        pl_text_add(out,
                    "          %.3f ms in the mean, %.4g %s/s: in some steps not all objectives "
                    "train\n",
                    1e3 * t->mean_seconds, (double)t->n_units / t->mean_seconds, t->units);
    if (f->step_seconds > f->device_seconds)
        pl_text_add(out,
                    "          the host hands kernels over in %.3f ms, which the devices would do "
                    "in %.3f ms\n",
                    1e3 * f->launch_seconds, 1e3 * f->device_seconds);
}

/* Most often a vocabulary: its table, and both of its gradients. */
static void tell_ragged(const pl_told *t, pl_text *out)
{
    const pl_candidate *k = t->best->take;
    const pl_ragged r = pl_ragged_of(k, t->cluster);
    const double least = RAGGED * k->forecast.step_seconds;
    if (r.seconds - r.aligned >= least)
        tell_line(
            t, "note",
            pl_arena_fmt(out->arena,
                         "16-bit products with ragged rows, most of %lld numbers, take %.3f ms of "
                         "it; padded to %lld, a multiple of 16 bytes, they would take %.3f ms",
                         (long long)r.row, 1e3 * r.seconds, (long long)r.fit, 1e3 * r.aligned),
            out);
    if (r.cut - r.whole >= least)
        tell_line(
            t, "note",
            pl_arena_fmt(out->arena,
                         "of what 16-bit products compute %.1f %% are zeros that fill tiles: they "
                         "take %.3f ms of it, without these %.3f ms",
                         100 * (1 - r.flops / r.filled), 1e3 * r.cut, 1e3 * r.whole),
            out);
}

/* What other numbers of micro-batches would take. */
static const char *tried_text(const pl_told *t, pl_arena *a)
{
    const pl_found *b = t->best;
    const double taken = b->take->forecast.step_seconds;
    pl_text text = { .arena = a }, none = { .arena = a }, slow = { .arena = a };
    for (int i = 0; i < b->n_tried; i++) {
        const pl_tried *x = &b->tried[i];
        const char *number = pl_arena_fmt(a, "%lld", (long long)x->micro);
        if (x->micro == t->graph->micro) continue;
        if (isfinite(x->seconds))
            pl_text_add(&text, x->outlined ? "; %s take about %+.0f %%" : "; %s take %+.1f %%",
                        number, percent(x->seconds - taken, taken));
        else if (x->fits)
            pl_text_add(&slow, "%s%s", slow.n ? ", " : "", number);
        else
            pl_text_add(&none, "%s%s", none.n ? ", " : "", number);
    }
    if (slow.n) pl_text_add(&text, "; no plan is faster with %s", pl_text_get(&slow));
    if (none.n) pl_text_add(&text, "; nothing fits with %s", pl_text_get(&none));
    return pl_text_get(&text);
}

static void tell_micro(const pl_told *t, pl_text *out)
{
    const pl_forecast *f = &t->best->take->forecast;
    const long long n = t->graph->micro;
    const double last = f->step_seconds - (double)(n - 1) * f->micro_seconds;
    pl_arena *a = out->arena;
    const char *tried = tried_text(t, a);
    if (n == 1 && !*tried) return;
    const char *what =
        n == 1
            ? "one micro-batch"
            : pl_arena_fmt(a, "%lld micro-batches of %lld %s, %.3f ms each, the last %.3f ms", n,
                           (long long)t->n_units / n, t->units, 1e3 * f->micro_seconds, 1e3 * last);
    tell_line(t, "micro", pl_arena_fmt(a, "%s%s", what, tried), out);
}

/* How near the search's own choice is to the least of its cost model. The forecast counts more than
 * that model, so that the two bounds are not of the step that is printed above. */
static void add_gap(const pl_auto *x, pl_text *line)
{
    const double gap = pl_told_gap(x);
    if (!(x->bound > 0))
        pl_text_add(line, ", which proves nothing about the best");
    else if (gap < 5e-5)
        pl_text_add(line, ": the least in its cost model (gap 0.00 %%)");
    else
        pl_text_add(line, ": near the least in its cost model (gap %.2f %%)", 100 * gap);
}

/* Of plans of any kind. */
static void tell_floor(const pl_told *t, pl_text *out)
{
    const pl_found *b = t->best;
    const double step = b->take->forecast.step_seconds;
    pl_arena *a = out->arena;
    if (!(b->floor > 0)) return;
    tell_line(
        t, "bound",
        pl_arena_fmt(a,
                     "no plan, in stages or not, takes less than %.3f ms, which its nodes take "
                     "shared out evenly (gap %.1f %%)",
                     1e3 * b->floor, percent(step - b->floor, step)),
        out);
}

/* Does a mesh divide the devices wherever the other one does, and perhaps further? */
static bool is_finer(const pl_mesh *fine, const pl_mesh *m)
{
    int64_t parts = 1, have = 1;
    for (int a = 0, k = 0; a < m->n; a++) {
        parts *= m->axis[a].size;
        while (have < parts && k < fine->n) have *= fine->axis[k++].size;
        if (have != parts) return false;
    }
    return true;
}

bool pl_told_searched(const pl_told *t)
{
    const pl_auto *x = t->best->search;
    const pl_plan *p = t->best->take->plan;
    bool found = p->stages;
    for (int i = 0; i < x->n; i++) found |= is_finer(&x->mesh[i].mesh, &p->mesh);
    return found;
}

static void tell_search(const pl_told *t, pl_text *out)
{
    const pl_auto *x = t->best->search;
    const pl_problem *problem = x->mesh[x->best].problem;
    pl_text line = { .arena = out->arena };
    pl_text_add(&line, "%.0f ms among 1e%.0f plans on %d mesh%s", 1e3 * pl_auto_seconds(x),
                problem->log10_plans, x->n, x->n == 1 ? "" : "es");
    if (x->method) pl_text_add(&line, " by %s", x->method->name);
    if (t->best->outdone)
        pl_text_add(&line, ": by its cost model none takes less than %.3f ms, in any memory",
                    1e3 * x->bound);
    else
        add_gap(x, &line);
    if (problem->n_classes)
        pl_text_add(&line, "; %d equal blocks of %d nodes count once%s", problem->copies,
                    pl_problem_block(problem), x->tied ? ", all planned alike" : "");
    if (!pl_told_searched(t))
        pl_text_add(&line, "; the layout that is taken is faster, on a mesh that was not searched");
    tell_line(t, "search", pl_text_get(&line), out);
    pl_text_add(out, "programs  %.0f ms: %d plan%s lowered and played through%s\n",
                1e3 * (t->best->seconds - pl_auto_seconds(x)), t->best->n,
                t->best->n == 1 ? "" : "s", t->best->stopped ? "; the time was over" : "");
}

/* Stages send each other less than copies of blocks do, but are only looked at when asked for. */
static void tell_unstaged(const pl_told *t, pl_text *out)
{
    const pl_found *b = t->best;
    const pl_forecast *f = &b->take->forecast;
    const bool unasked = b->search && !b->search->method && !(b->floor > 0) && !b->take->stages;
    if (!unasked || pl_fold_copies(&b->search->fold) < 2 ||
        f->exposed_seconds < WAITING * f->step_seconds)
        return;
    tell_line(t, "note",
              pl_arena_fmt(out->arena,
                           "%.0f %% of the step waits for messages; pipelines, which send less, "
                           "are not among these plans: -O 3 looks at them, too",
                           percent(f->exposed_seconds, f->step_seconds)),
              out);
}

static void tell_memory(const pl_told *t, pl_text *out)
{
    const pl_forecast_memory *m = &t->best->take->forecast.memory;
    const struct {
        const char *name;
        int64_t bytes;
    } item[] = { { "weights", m->weights },     { "optimizer", m->optimizer },
                 { "gradients", m->gradients }, { "activations", m->activations },
                 { "transient", m->transient }, { "buffers", m->buffers } };
    const double limit = pl_candidate_limit(t->best, t->best->take);
    double peak = (double)m->peak;
    pl_text_add(out, "memory    %s", size(out, peak));
    if (isfinite(limit)) {
        int full = (int)ceil(BAR * fmin(1, peak / limit));
        pl_text_add(out, " of %s ", size(out, limit));
        pl_text_add(out, "[%.*s%.*s]", full, "################################", BAR - full,
                    "................................");
    }
    const bool alike = t->cluster->n_classes <= 1;
    pl_text_add(out, alike ? ", the device that holds most\n" : ", the fullest device\n");
    pl_text items = { .arena = out->arena };
    for (size_t i = 0; i < sizeof item / sizeof *item; i++)
        pl_text_add(&items, "%s%s %s", i ? ", " : "", item[i].name,
                    size(out, (double)item[i].bytes));
    tell_line(t, "", pl_text_get(&items), out);
}

static void tell_host(const pl_told *t, pl_text *out)
{
    const pl_forecast *f = &t->best->take->forecast;
    if (!f->memory.host) return;
    const char *updates = "";
    if (f->host_kernel_seconds > 0)
        updates = pl_arena_fmt(out->arena, "; its processor works for %.3f ms",
                               1e3 * f->host_kernel_seconds);
    const char *words = pl_arena_fmt(
        out->arena, "%s of %s lie in the host's memory; copies, to and from it, %s in %.3f ms%s",
        size(out, (double)f->memory.host), size(out, t->best->host_limit),
        size(out, (double)f->host_moved), 1e3 * f->host_seconds, updates);
    tell_line(t, "host", words, out);
}

static void tell_recomputed(const pl_told *t, pl_text *out)
{
    const pl_candidate *k = t->best->take;
    int n = 0;
    for (int i = 0; i < k->plan->graph->values.n; i++) n += k->plan->recompute[i];
    if (n)
        pl_text_add(out, "recompute %.3f ms of the computing: %d activations are not kept\n",
                    1e3 * k->forecast.again_seconds, n);
}

/* -- what else --------------------------------------------------------------------------------- */

/* The plan on a mesh that is a layout of another row, or the same as one. */
static bool is_told(const pl_found *b, int i, const bool told[])
{
    const pl_candidate *k = &b->at[i];
    for (int j = 0; j < i; j++) {
        const pl_candidate *x = &b->at[j];
        const bool same = x->forecast.step_seconds == k->forecast.step_seconds &&
                          x->forecast.memory.peak == k->forecast.memory.peak;
        if (told[j] && (same || !strcmp(x->name, k->name))) return true;
    }
    return false;
}

/* told[n]: the one taken, the fastest others, and the layouts that people look for. */
static void choose_others(const pl_found *b, bool told[])
{
    told[0] = true;
    for (int i = 1, n = 0; i < b->n; i++) {
        const bool again = b->at[i].searched && is_told(b, i, told);
        told[i] = b->at[i].known || (!again && n < MOST_OTHERS && b->at[i].fits);
        n += told[i];
    }
}

static void tell_others(const pl_told *t, pl_text *out)
{
    const pl_found *b = t->best;
    const double taken = b->take->forecast.step_seconds;
    bool *told = PL_NEW_N(out->arena, bool, b->n + 1);
    pl_table table = pl_table_new(out->arena, "instead\t>step\t>\t>memory\t");
    if (b->n < 2) return;
    choose_others(b, told);
    for (int i = 1; i < b->n; i++) {
        const pl_candidate *k = &b->at[i];
        const double step = k->forecast.step_seconds, peak = (double)k->forecast.memory.peak;
        const char *over = k->fits ? "" : size(out, peak - pl_candidate_limit(b, k));
        if (told[i])
            pl_table_add(&table, "%s\t%.3f ms\t%+.1f %%\t%s\t%s%s%s", pl_why_name(k, out->arena),
                         1e3 * step, percent(step - taken, taken), size(out, peak),
                         *over ? "does not fit: " : "", over, *over ? " too much" : "");
    }
    pl_text_add(out, "\n%s", pl_table_text(&table));
    for (int i = 0; i < b->n_refused; i++)
        pl_words_wrap(pl_arena_fmt(out->arena, "%s is not possible: %s", b->refused[i].name,
                                   b->refused[i].why),
                      0, 2, t->columns ? t->columns : PL_WORDS_COLUMNS, out);
}

/* -- weights ----------------------------------------------------------------------------------- */

/* What the placements above say, as far as they say it. */
static void tell_legend(const pl_told *t, const pl_weight_rows *w, pl_text *out)
{
    bool split = false, digit = false;
    for (int i = 0; i < w->n; i++) {
        split |= strchr(w->row[i].stored, '[') || strchr(w->row[i].used, '[');
        digit |= strchr(w->row[i].stored, ':') || strchr(w->row[i].used, ':');
    }
    if (!split) return;
    pl_text line = { .arena = out->arena };
    pl_text_add(&line, "[a;b]: dimension 0 is split over axis a of the mesh, dimension 1 over b; "
                       "[a,b]: 0 over both; ");
    if (digit) pl_text_add(&line, "a:25x64: of a dimension of 25 x 64 the 25, in blocks of 64; ");
    pl_text_add(&line, "whole: a copy on every device. stored: between steps; used: as the forward "
                       "pass reads it (same: as stored).");
    pl_words_wrap(pl_text_get(&line), 0, 0, t->columns ? t->columns : PL_WORDS_COLUMNS, out);
}

/* What stands beside it is not said again, where that is longer. */
static const char *used_text(const pl_weights_row *r)
{
    return strchr(r->used, '[') && !strcmp(r->stored, r->used) ? "same" : r->used;
}

/* Where tp=N leaves a good part of the weights whole: a model of fewer heads than devices has its
 * attention on all of them. */
static void tell_unsplit(const pl_told *t, const pl_weight_rows *w, pl_text *out)
{
    enum { MOST = 3 };
    const pl_mesh *m = &t->best->take->plan->mesh;
    const int tensor = pl_mesh_find(m, "tensor");
    double whole = 0, all = 0;
    int n = 0;
    pl_text names = { .arena = out->arena };
    for (int i = 0; i < w->n && tensor >= 0; i++) {
        const pl_weights_row *r = &w->row[i];
        const double elements = (double)pl_shape_count(&r->one->shape) * r->count;
        all += elements;
        if (r->one->shape.rank < 2 || r->axes >> tensor & 1) continue;
        whole += elements;
        if (n++ < MOST) pl_text_add(&names, "%s%s", n > 1 ? ", " : "", r->name);
    }
    if (whole < UNSPLIT * all || !n) return;
    if (n > MOST) pl_text_add(&names, " and %d more", n - MOST);
    tell_line(
        t, "note",
        pl_arena_fmt(out->arena,
                     "axis tensor leaves %.0f %% of the weights whole, on all its %d devices: "
                     "%s. They have fewer heads or columns than that, or lose by it.",
                     100 * whole / all, m->axis[tensor].size, pl_text_get(&names)),
        out);
}

static void tell_weights(const pl_told *t, pl_text *out)
{
    pl_arena *a = out->arena;
    const pl_weight_rows w = pl_weights_of(t->best->take->plan, t->best->take->store, a);
    pl_table table = pl_table_new(a, "weight\t>\tshape\tstored\tused\t>one device");
    int count = 0;
    int64_t bytes = 0;
    for (int i = 0; i < w.n; i++) {
        const pl_weights_row *r = &w.row[i];
        const char *times = r->count > 1 ? pl_arena_fmt(a, "x%d", r->count) : "";
        pl_table_add(&table, "%s\t%s\t%s\t%s\t%s\t%s", r->name, times, r->shape, r->stored,
                     used_text(r), size(out, (double)r->bytes));
        count += r->count, bytes += r->bytes;
    }
    pl_table_add(&table, "all\tx%d\t\t\t\t%s", count, size(out, (double)bytes));
    pl_text_add(out, "\n%s", pl_table_text(&table));
    tell_legend(t, &w, out);
    tell_unsplit(t, &w, out);
}

/* -- messages ---------------------------------------------------------------------------------- */

static int by_seconds(const void *a, const void *b)
{
    const pl_summary_row *x = a, *y = b;
    if (x->seconds != y->seconds) return x->seconds > y->seconds ? -1 : 1;
    return x->bytes != y->bytes ? (x->bytes > y->bytes ? -1 : 1) : strcmp(x->told, y->told);
}

/* So many rows, the longest first, make up nearly all of the time; of a few all are told. */
static int count_shown(const pl_summary *s)
{
    enum { FEW = 4 };
    double all = 0, sum = 0;
    int n = 0;
    for (int i = 0; i < s->n; i++) all += s->row[i].seconds;
    while (n < s->n && sum < SHOWN * all) sum += s->row[n++].seconds;
    return s->n - n < FEW ? s->n : n;
}

static void tell_row(const char *message, const char *over, const pl_summary_row *r,
                     pl_table *table)
{
    pl_table_add(table, "%s\t%s\t%lld\t%s\t%.3f ms\t%s", message, over, (long long)r->count,
                 pl_text_size(table->arena, (double)r->bytes), 1e3 * r->seconds, r->told);
}

static void tell_messages(const pl_told *t, pl_text *out)
{
    pl_summary s = { 0 };
    pl_summary_row all = { .told = "" }, rest = { .told = "--json has all of them" };
    pl_table table =
        pl_table_new(out->arena, "message\tover\t>times\t>received\t>predicted\ttensor");
    pl_summary_fold_make(t->best->take->program, &t->best->take->forecast, out->arena, &s);
    if (!s.n) {
        pl_text_add(out, "\nno messages\n");
        return;
    }
    qsort(s.row, (size_t)s.n, sizeof *s.row, by_seconds);
    const int n = count_shown(&s);
    for (int i = 0; i < s.n; i++) {
        const pl_summary_row *r = &s.row[i];
        if (i < n)
            tell_row(pl_collective_name(r->collective),
                     pl_summary_axes(out->arena, &t->best->take->plan->mesh, r->axes), r, &table);
        else
            rest.count += r->count, rest.bytes += r->bytes, rest.seconds += r->seconds;
        all.count += r->count, all.bytes += r->bytes, all.seconds += r->seconds;
    }
    if (n < s.n) tell_row(pl_arena_fmt(out->arena, "%d smaller", s.n - n), "", &rest, &table);
    tell_row("one step", "", &all, &table);
    pl_text_add(out, "\n%s", pl_table_text(&table));
}

/* -- tables ------------------------------------------------------------------------------------ */

static void tell_cached(const pl_told *t, pl_text *out)
{
    int64_t bytes = 0, rows = 0, cached = 0;
    for (int i = 0; i < t->graph->values.n; i++) {
        const pl_value *v = t->graph->values.at[i];
        const pl_shape whole = pl_graph_whole(v);
        if (!v->rows) continue;
        bytes += pl_shape_count(&whole) * pl_type_bytes(v->type);
        if (v->kind == PL_WEIGHT) rows += v->rows, cached += v->shape.dim[0];
    }
    if (!bytes) return;
    const bool share = strchr(t->cache, '%') != NULL;
    const char *words = pl_arena_fmt(
        out->arena,
        "devices have %lld of %lld rows, %.3g %% (%s of each table%s), and the host's memory has "
        "all of them, %s%s",
        (long long)cached, (long long)rows, 100 * (double)cached / (double)rows,
        pl_arena_fmt(out->arena, share ? "%s" : "%s rows", t->cache),
        share ? ", and no less than a batch has ids" : "", size(out, (double)bytes),
        t->n_caches ? "" : "; --ids tells what moves");
    tell_line(t, "tables", words, out);
}

static void tell_cache(const pl_told *t, const pl_plan_cache *x, pl_table *table)
{
    const char *mark = !strcmp(x->size, t->cache ? t->cache : "") ? "*"
                       : x->fits                                  ? ""
                                                                  : "too large";
    pl_arena *a = table->arena;
    if (x->step_seconds <= 0) return;
    pl_table_add(table, "%s\t%.2f %%\t%.0f\t%s\t%.3f ms\t%.3f ms\t%.3f ms\t%s\t%s",
                 *x->size ? x->size : "all", 100 * x->found, x->rows, pl_text_size(a, x->bytes),
                 1e3 * x->move_seconds, 1e3 * x->step_seconds,
                 1e3 * (x->move_seconds + x->step_seconds), pl_text_size(a, x->memory_bytes), mark);
}

/* What caches of other sizes come to. */
static void tell_caches(const pl_told *t, pl_text *out)
{
    pl_table table = pl_table_new(
        out->arena,
        ">rows\t>ids found\t>rows in\t>moved\t>in\t>rest of the step\t>together\t>device\t");
    if (!t->n_caches) return;
    for (int i = 0; i < t->n_caches; i++) tell_cache(t, &t->caches[i], &table);
    pl_text_add(out, "\n%s", pl_table_text(&table));
}

/* -- all --------------------------------------------------------------------------------------- */

void pl_tell_text(const pl_told *t, pl_text *out)
{
    const pl_mesh *m = &t->best->take->plan->mesh;
    int n = pl_mesh_ranks(m);
    pl_text_add(out, "%s: %lld parameters, %d nodes\n", t->model,
                (long long)pl_graph_params(t->graph), t->graph->nodes.n);
    pl_text_add(out, "%s on %d device%s of %s: %s\n\n", t->best->take->plan->strategy, n,
                n == 1 ? "" : "s", t->cluster->name, pl_mesh_text(m, out->arena));
    tell_step(t, out);
    tell_ragged(t, out);
    if (t->best->take->stages)
        pl_tell_pipeline(t, out);
    else
        tell_micro(t, out);
    tell_floor(t, out);
    if (t->best->search) tell_search(t, out);
    tell_unstaged(t, out);
    tell_memory(t, out);
    tell_host(t, out);
    tell_cached(t, out);
    tell_recomputed(t, out);
    if (t->change) tell_line(t, "change", t->change, out);
    if (t->why) tell_line(t, "why", t->why, out);
    if (t->next) pl_text_add(out, "next      %s\n", t->next);
    tell_caches(t, out);
    tell_others(t, out);
    if (t->best->take->stages) pl_tell_stages(t, out);
    tell_weights(t, out);
    tell_messages(t, out);
}
