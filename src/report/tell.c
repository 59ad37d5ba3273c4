#include "report/tell.h"

#include "graph/op.h"
#include "program/summary.h"
#include "report/weights.h"

#include <math.h>
#include <string.h>

enum { BAR = 32, MOST_RUNNERS_UP = 3 };

static const char *size(pl_text *out, double bytes)
{
    return pl_text_size(out->arena, bytes);
}

static double percent(double part, double of)
{
    return of > 0 ? 100 * part / of : 0;
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

static void tell_step(const pl_told *t, pl_text *out)
{
    const pl_forecast *f = &t->best->take->forecast;
    pl_text_add(out, "step      %.3f ms predicted: %.4g %s/s, %.1f %% of the devices' peak (MFU)\n",
                1e3 * f->step_seconds, (double)t->n_units / f->step_seconds, t->units,
                100 * pl_told_mfu(t));
    pl_text_add(out, "          %.3f ms computing, %.3f ms waiting; messages take %.3f ms for %s\n",
                1e3 * f->compute_seconds, 1e3 * f->exposed_seconds, 1e3 * f->comm_seconds,
                size(out, (double)f->comm_bytes));
}

static void tell_search(const pl_told *t, pl_text *out)
{
    const pl_auto *x = t->best->found;
    const pl_tables *tables = x->mesh[x->best].tables;
    if (x->bound > 0)
        pl_text_add(
            out,
            "bound     %.3f ms in the search's figures, in which its plan takes %.3f ms: gap "
            "%.2f %%\n",
            1e3 * x->bound, 1e3 * x->seconds, percent(x->seconds - x->bound, x->seconds));
    else
        pl_text_add(
            out, "bound     none by this method; its plan takes %.3f ms in the search's figures\n",
            1e3 * x->seconds);
    pl_text_add(out, "search    %.0f ms among 1e%.0f plans on %d mesh%s", 1e3 * pl_auto_seconds(x),
                tables->raw, x->n, x->n == 1 ? "" : "es");
    if (tables->n_classes)
        pl_text_add(out, "; %d equal blocks of %d nodes count once", tables->copies,
                    pl_tables_block(tables));
    if (x->method) pl_text_add(out, " (%s)", x->method->name);
    pl_text_add(out, "%s\n", x->tied ? ", all planned alike" : "");
    pl_text_add(out, "programs  %.0f ms: %d plan%s lowered and played through\n",
                1e3 * (t->best->seconds - pl_auto_seconds(x)), t->best->n,
                t->best->n == 1 ? "" : "s");
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
    double limit = t->best->limit, peak = (double)m->peak;
    pl_text_add(out, "memory    %s", size(out, peak));
    if (isfinite(limit)) {
        int full = (int)ceil(BAR * fmin(1, peak / limit));
        pl_text_add(out, " of %s ", size(out, limit));
        pl_text_add(out, "[%.*s%.*s]", full, "################################", BAR - full,
                    "................................");
    }
    pl_text_add(out, ", the device that holds most\n         ");
    for (size_t i = 0; i < sizeof item / sizeof *item; i++)
        pl_text_add(out, "%s %s %s", i ? "," : "", item[i].name, size(out, (double)item[i].bytes));
    pl_text_add(out, "\n");
}

/* -- what else --------------------------------------------------------------------------------- */

static int wider(int width, const char *text)
{
    int n = (int)strlen(text);
    return n > width ? n : width;
}

static void tell_runners_up(const pl_told *t, pl_text *out)
{
    const pl_best *b = t->best;
    int n = b->n - 1 < MOST_RUNNERS_UP ? b->n - 1 : MOST_RUNNERS_UP, width = 7;
    double taken = b->take->forecast.step_seconds;
    if (n <= 0) return;
    for (int i = 1; i <= n; i++) width = wider(width, b->at[i].name);
    pl_text_add(out, "\n%-*s  %12s  %9s  %10s\n", width, "instead", "step", "", "memory");
    for (int i = 1; i <= n; i++) {
        const pl_contender *k = &b->at[i];
        pl_text_add(out, "%-*s  %9.3f ms  %+7.1f %%  %10s%s\n", width, k->name,
                    1e3 * k->forecast.step_seconds,
                    percent(k->forecast.step_seconds - taken, taken),
                    size(out, (double)k->forecast.memory.peak), k->fits ? "" : "  does not fit");
    }
}

/* -- tables ------------------------------------------------------------------------------------ */

static void tell_weights(const pl_told *t, pl_text *out)
{
    pl_weights w = pl_weights_of(t->best->take->plan, t->best->take->store, out->arena);
    int name = 6, shape = 5, stored = 6, used = 4;
    for (int i = 0; i < w.n; i++) {
        name = wider(name, w.row[i].name);
        shape = wider(shape, w.row[i].shape);
        stored = wider(stored, w.row[i].stored);
        used = wider(used, w.row[i].used);
    }
    pl_text_add(out, "\n%-*s  %5s  %-*s  %-*s  %-*s  %10s\n", name, "weight", "", shape, "shape",
                stored, "stored", used, "used", "one device");
    for (int i = 0; i < w.n; i++) {
        const pl_weights_row *r = &w.row[i];
        const char *count = r->count > 1 ? pl_arena_fmt(out->arena, "x%d", r->count) : "";
        pl_text_add(out, "%-*s  %5s  %-*s  %-*s  %-*s  %10s\n", name, r->name, count, shape,
                    r->shape, stored, r->stored, used, r->used, size(out, (double)r->bytes));
    }
}

static void tell_messages(const pl_told *t, pl_text *out)
{
    const pl_mesh *m = &t->best->take->plan->mesh;
    pl_summary s = { 0 };
    pl_summary_make(t->best->take->program, out->arena, &s);
    int tensor = 6, axes = 4;
    int64_t count = 0;
    if (!s.n) {
        pl_text_add(out, "\nno messages\n");
        return;
    }
    for (int i = 0; i < s.n; i++) {
        tensor = wider(tensor, s.row[i].tensor);
        axes = wider(axes, pl_summary_axes(out->arena, m, s.row[i].axes));
        count += s.row[i].count;
    }
    pl_text_add(out, "\n%-14s  %-*s  %-*s  %6s  %10s  %10s\n", "message", axes, "over", tensor,
                "tensor", "times", "received", "predicted");
    for (int i = 0; i < s.n; i++) {
        const pl_summary_row *r = &s.row[i];
        pl_text_add(out, "%-14s  %-*s  %-*s  %6lld  %10s  %7.3f ms\n",
                    pl_collective_name(r->collective), axes,
                    pl_summary_axes(out->arena, m, r->axes), tensor, r->tensor, (long long)r->count,
                    size(out, (double)r->bytes), 1e3 * r->seconds);
    }
    pl_text_add(out, "%-14s  %-*s  %-*s  %6lld  %10s  %7.3f ms\n", "one step", axes, "", tensor, "",
                (long long)count, size(out, (double)s.message_bytes), 1e3 * s.message_seconds);
}

void pl_tell_text(const pl_told *t, pl_text *out)
{
    const pl_mesh *m = &t->best->take->plan->mesh;
    int n = pl_mesh_ranks(m);
    pl_text_add(out, "%s: %lld parameters, %d nodes\n", t->graph->name,
                (long long)pl_graph_params(t->graph), t->graph->nodes.n);
    pl_text_add(out, "%s on %d device%s of %s: %s\n\n", t->best->take->plan->strategy, n,
                n == 1 ? "" : "s", t->cluster->name, pl_mesh_text(m, out->arena));
    tell_step(t, out);
    if (t->best->found) tell_search(t, out);
    tell_memory(t, out);
    if (t->why) pl_text_add(out, "why       %s\n", t->why);
    if (t->next) pl_text_add(out, "next      %s\n", t->next);
    tell_runners_up(t, out);
    tell_weights(t, out);
    tell_messages(t, out);
}
