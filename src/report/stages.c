#include "report/stages.h"

#include "base/table.h"
#include "plan/stages.h"
#include "report/words.h"
#include "schedules/bound.h"

#include <math.h>

static const pl_stages *stages_of(const pl_told *t)
{
    return t->best->take->plan->stages;
}

/* No schedule of these stages that holds as much is faster. */
static double bound_of(const pl_told *t)
{
    const pl_stages_forecast *s = t->best->take->stages;
    return pl_pipeline_bound(stages_of(t)->order, &s->costs, s->times.most_held, false);
}

/* How much longer a micro-batch takes on the place that takes longest than on all in the mean, as a
 * share: no cut of the same nodes goes below the mean. */
static double find_unbalance(const pl_told *t)
{
    const pl_stages *s = stages_of(t);
    const pl_pass_costs *c = &t->best->take->stages->costs;
    double sum = 0, most = 0;
    for (int r = 0; r < s->order->n_ranks; r++) {
        double place = 0;
        for (int k = 0; k < s->order->n_stages; k++)
            if (pl_stages_place(s, k) == r) place += c->forward[k] + c->input[k] + c->weight[k];
        sum += place;
        most = fmax(most, place);
    }
    return sum > 0 ? most * s->order->n_ranks / sum - 1 : 0;
}

void pl_tell_pipeline(const pl_told *t, pl_text *out)
{
    const pl_stages *s = stages_of(t);
    const pl_stages_forecast *f = t->best->take->stages;
    const pl_pipeline *order = s->order;
    const double bound = bound_of(t), seconds = f->times.seconds, gap = (seconds - bound) / seconds;
    pl_text line = { .arena = out->arena };
    pl_text_add(&line,
                "%s: %d stages on axis %s, %d micro-batch%s of %lld %s; the busiest device waits "
                "%.1f %% of the passes' %.3f ms, ",
                order->name, order->n_stages, t->best->take->plan->mesh.axis[s->axis].name,
                order->n_micro, order->n_micro == 1 ? "" : "es",
                (long long)t->n_units / order->n_micro, t->units,
                100 * pl_pipeline_bubble(&f->times), 1e3 * seconds);
    if (gap < 1e-9)
        pl_text_add(&line, "and no schedule of these stages that holds as much is faster (proven)");
    else
        pl_text_add(&line,
                    "and no schedule of these stages that holds as much takes less than %.3f ms "
                    "(gap %.1f %%)",
                    1e3 * bound, 100 * gap);
    pl_text_add(&line,
                "; the longest place takes %.1f %% more than all in the mean, below which no cut "
                "is",
                100 * find_unbalance(t));
    pl_text_add(out, "%-10s", "pipeline");
    pl_words_wrap(pl_text_get(&line), 10, 10, t->columns ? t->columns : PL_WORDS_COLUMNS, out);
}

/* The first and the last forward node of a stage. */
static const char *nodes_text(const pl_told *t, int stage, pl_arena *a)
{
    const pl_stages *s = stages_of(t);
    const pl_graph *g = t->best->take->plan->graph;
    const char *first = NULL, *last = "";
    for (int i = 0; i < g->nodes.n && g->nodes.at[i]->phase == PL_FORWARD; i++) {
        if (s->of[i] != stage) continue;
        last = g->nodes.at[i]->out[0]->name;
        if (!first) first = last;
    }
    return pl_arena_fmt(a, "%s .. %s", first ? first : "", last);
}

void pl_tell_stages(const pl_told *t, pl_text *out)
{
    const pl_stages *s = stages_of(t);
    enum { MOST_ROWS = 16 };
    const pl_stages_forecast *f = t->best->take->stages;
    pl_arena *a = out->arena;
    pl_table table = pl_table_new(
        a, "stage\t>device\t>forward\t>backward\t>a micro-batch\t>device in all\tnodes");
    for (int k = 0; k < s->order->n_stages; k++) {
        const int place = pl_stages_place(s, k);
        pl_table_add(&table, "%d\t%d\t%.3f ms\t%.3f ms\t%s\t%s\t%s", k,
                     pl_stages_rank(t->best->take->plan, place), 1e3 * f->costs.forward[k],
                     1e3 * (f->costs.input[k] + f->costs.weight[k]),
                     pl_text_size(a, pl_pass_held(&f->costs, k)),
                     pl_text_size(a, (double)f->memory[place].peak), nodes_text(t, k, a));
    }
    pl_text_add(out, "\n%s", pl_table_text(&table));
    if (s->order->n_ranks > MOST_ROWS) return;
    const int columns = t->columns ? t->columns : PL_WORDS_COLUMNS;
    pl_text_add(out, "\nplace  F: its micro-batch, B or I: a letter for it, A is 0; W ':'\n");
    pl_pipeline_picture(s->order, &f->times, columns - 7, out);
}

void pl_stages_json(const pl_told *t, pl_json_out *out)
{
    const pl_stages *s = stages_of(t);
    const pl_stages_forecast *f = t->best->take->stages;
    pl_json_open(out, "pipeline", PL_JSON_OBJECT);
    PL_JSON_PUT(out, "axis", t->best->take->plan->mesh.axis[s->axis].name, "schedule",
                s->order->name, "micro", (int64_t)s->order->n_micro, "seconds", f->times.seconds,
                "lower_bound_seconds", bound_of(t), "bubble", pl_pipeline_bubble(&f->times),
                "unbalance", find_unbalance(t));
    pl_json_open(out, "stages", PL_JSON_LIST);
    for (int k = 0; k < s->order->n_stages; k++) {
        const int place = pl_stages_place(s, k);
        PL_JSON_ROW(out, NULL, "stage", k, "place", place, "forward_seconds", f->costs.forward[k],
                    "input_seconds", f->costs.input[k], "weight_seconds", f->costs.weight[k],
                    "held_bytes", f->costs.held[k], "device_bytes", f->memory[place].peak);
    }
    pl_json_close(out);
    pl_json_close(out);
}
