/* Memory: of the heaviest device by item, and over the time of a step. */
#include "report/html_page.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { N_ITEMS = 6, BAR = 22, HEIGHT = 150, TOP = 18 };

static const char *const items[N_ITEMS] = { "weights",     "optimizer", "gradients",
                                            "activations", "buffers",   "transient" };

static void list_items(const pl_forecast_memory *m, int64_t out[N_ITEMS])
{
    const int64_t all[N_ITEMS] = { m->weights,     m->optimizer, m->gradients,
                                   m->activations, m->buffers,   m->transient };
    memcpy(out, all, sizeof all);
}

/* -- bar --------------------------------------------------------------------------------------- */

static void write_legend(pl_html_page *p, const int64_t *bytes)
{
    pl_text_add(p->out, "<p class=\"key\">");
    for (int i = 0; i < N_ITEMS; i++) {
        pl_text_add(p->out, "<span><i class=\"i%d\"></i>%s ", i, items[i]);
        if (bytes) pl_html_put_bytes(p, (double)bytes[i]);
        pl_text_add(p->out, "</span>");
    }
    pl_text_add(p->out, "</p>\n");
}

void pl_html_memory_key(pl_html_page *p)
{
    write_legend(p, NULL);
}

void pl_html_memory_bar(pl_html_page *p, const pl_html_view *v, double most, bool legend)
{
    int64_t bytes[N_ITEMS];
    double at = 0, limit = v->in->limit_bytes, peak = (double)v->in->forecast->memory.peak;
    list_items(&v->in->forecast->memory, bytes);
    pl_text_add(p->out,
                "<svg class=\"wide bar\" viewBox=\"0 0 %d %d\" role=\"img\" "
                "aria-label=\"memory of the heaviest device\"><path class=\"bed\" "
                "d=\"M0 0h%.1fv%dh-%.1fz\"/>",
                PL_HTML_WIDE, BAR, PL_HTML_WIDE * fmin(1, fmax(limit, peak) / most), BAR,
                PL_HTML_WIDE * fmin(1, fmax(limit, peak) / most));
    for (int i = 0; i < N_ITEMS; i++) {
        double x = at / most * PL_HTML_WIDE, w = (double)bytes[i] / most * PL_HTML_WIDE;
        at += (double)bytes[i];
        if (bytes[i] > 0)
            pl_text_add(p->out,
                        "<path class=\"i%d\" d=\"M%.1f 0h%.1fv%dh-%.1fz\"><title>%s %s</title>"
                        "</path>",
                        i, x, w, BAR, w, items[i], pl_text_size(p->tmp, (double)bytes[i]));
    }
    if (limit > 0 && limit < peak)
        pl_text_add(p->out, "<path class=\"limit\" d=\"M%.1f 0v%d\"/>", limit / most * PL_HTML_WIDE,
                    BAR);
    pl_text_add(p->out, "</svg>\n");
    if (legend) write_legend(p, bytes);
}

/* -- over time --------------------------------------------------------------------------------- */

typedef struct chart {
    double seconds, most; /* of the whole width and height    */
    double floor;         /* bytes of states, always there    */
} chart;

static double across(const chart *c, double seconds)
{
    return PL_HTML_LEFT + seconds / c->seconds * PL_HTML_PLOT;
}

static double up(const chart *c, double bytes)
{
    return TOP + HEIGHT - bytes / c->most * HEIGHT;
}

/* Bytes in use per pixel of time: the most of what runs then. Between two steps what ran last
 * still counts. */
static void draw_live(pl_html_page *p, const pl_html_view *v, const chart *c)
{
    const pl_forecast *f = v->in->forecast;
    double *live = PL_NEW_N(p->tmp, double, PL_HTML_PLOT);
    for (int i = 0; i < v->in->program->n_steps; i++) {
        int from = (int)(across(c, f->begin[i]) - PL_HTML_LEFT);
        int to = (int)(across(c, f->end[i]) - PL_HTML_LEFT);
        for (int x = from; x <= to && x < PL_HTML_PLOT; x++)
            live[x] = fmax(live[x], (double)f->live[i]);
    }
    for (int x = 1; x < PL_HTML_PLOT; x++)
        if (live[x] <= 0) live[x] = live[x - 1];
    pl_text_add(p->out, "<path class=\"live\" d=\"M%d %.1f", PL_HTML_LEFT, up(c, c->floor));
    for (int x = 0; x < PL_HTML_PLOT; x++)
        if (!x || live[x] > live[x - 1] || live[x] < live[x - 1])
            pl_text_add(p->out, "H%dV%.1f", PL_HTML_LEFT + x, up(c, c->floor + live[x]));
    pl_text_add(p->out, "H%dV%.1fz\"><title>in use while steps run</title></path>",
                PL_HTML_LEFT + PL_HTML_PLOT, up(c, c->floor));
}

static void draw_states(pl_html_page *p, const pl_html_view *v, const chart *c)
{
    const pl_forecast_memory *m = &v->in->forecast->memory;
    const double bytes[2] = { (double)m->weights, (double)m->optimizer };
    double at = 0;
    for (int i = 0; i < 2; at += bytes[i++])
        pl_text_add(p->out,
                    "<path class=\"i%d\" d=\"M%d %.1fh%dV%.1fh-%dz\"><title>%s %s</title></path>",
                    i, PL_HTML_LEFT, up(c, at), PL_HTML_PLOT, up(c, at + bytes[i]), PL_HTML_PLOT,
                    items[i], pl_text_size(p->tmp, bytes[i]));
}

void pl_html_memory_scale(pl_html_page *p, double most, int top, int height)
{
    double tick = 1;
    while (most / tick > 5) tick *= 2; /* powers of two are round numbers of bytes */
    pl_text_add(p->out, "<g class=\"axis left\">");
    for (double at = 0; at <= most; at += tick) {
        const double y = top + height - at / most * height;
        pl_text_add(p->out, "<path d=\"M%d %.1fh%d\"/><text x=\"%d\" y=\"%.1f\">%s</text>",
                    PL_HTML_LEFT, y, PL_HTML_PLOT, PL_HTML_LEFT - 8, y + 4,
                    pl_text_size(p->tmp, at));
    }
    pl_text_add(p->out, "</g>\n");
}

static void draw_peak(pl_html_page *p, const pl_html_view *v, const chart *c)
{
    const pl_forecast *f = v->in->forecast;
    int i = f->peak_step;
    double x = across(c, f->begin[i]), y = up(c, c->floor + (double)f->live[i]);
    bool left = x > PL_HTML_LEFT + PL_HTML_PLOT / 2;
    pl_text_add(p->out,
                "<path class=\"peak\" d=\"M%.1f %.1fV%d\"/><circle class=\"peak\" cx=\"%.1f\" "
                "cy=\"%.1f\" r=\"3\"/><text class=\"note\" x=\"%.1f\" y=\"%d\" "
                "text-anchor=\"%s\">peak at %s: %s</text>\n",
                x, y, TOP + HEIGHT, x, y, x + (left ? -6 : 6), TOP - 5, left ? "end" : "start",
                pl_html_seconds(p->tmp, f->begin[i]),
                pl_html_text(p->tmp, v->in->program->step[i].label));
}

static void draw_chart(pl_html_page *p, const pl_html_view *v)
{
    const pl_forecast *f = v->in->forecast;
    double peak = (double)f->memory.peak, limit = v->in->limit_bytes;
    bool near = limit > 0 && limit < 1.6 * peak;
    const chart c = { .seconds = f->step_seconds > 0 ? f->step_seconds : 1,
                      .most = 1.02 * fmax(1, near ? fmax(peak, limit) : peak),
                      .floor = (double)(f->memory.weights + f->memory.optimizer) };
    const pl_html_scale s = { 0, c.seconds, TOP, false };
    pl_html_picture_open(p, TOP + HEIGHT + PL_HTML_AXIS, "memory over one step");
    pl_html_memory_scale(p, c.most, TOP, HEIGHT);
    pl_html_lane_axis(p, &s, HEIGHT);
    draw_states(p, v, &c);
    if (v->in->program->n_steps) draw_live(p, v, &c);
    if (near)
        pl_text_add(p->out,
                    "<path class=\"limit\" d=\"M%d %.1fh%d\"/><text class=\"note\" x=\"%d\" "
                    "y=\"%.1f\">limit %s</text>",
                    PL_HTML_LEFT, up(&c, limit), PL_HTML_PLOT, PL_HTML_LEFT + 6, up(&c, limit) + 13,
                    pl_text_size(p->tmp, limit));
    if (v->in->program->n_steps) draw_peak(p, v, &c);
    pl_html_picture_close(p);
}

/* -- what is alive ----------------------------------------------------------------------------- */

static void write_items(pl_html_page *p, const pl_html_view *v)
{
    const pl_forecast_memory *m = &v->in->forecast->memory;
    int64_t bytes[N_ITEMS];
    list_items(m, bytes);
    pl_text_add(p->out, "<table><thead><tr><th>at the peak</th><th class=\"n\">bytes</th>"
                        "<th class=\"n\">share</th></tr></thead><tbody>\n");
    for (int i = 0; i < N_ITEMS; i++) {
        pl_text_add(p->out, "<tr><td><i class=\"i%d\"></i>%s</td><td class=\"n\">", i, items[i]);
        pl_html_put_bytes(p, (double)bytes[i]);
        pl_text_add(p->out, "</td><td class=\"n\">%.1f %%</td></tr>\n",
                    m->peak ? 100 * (double)bytes[i] / (double)m->peak : 0);
    }
    pl_text_add(p->out, "</tbody><tfoot><tr><td>all</td><td class=\"n\">");
    pl_html_put_bytes(p, (double)m->peak);
    pl_text_add(p->out, "</td><td></td></tr></tfoot></table>\n");
}

void pl_html_memory_write(pl_html_page *p, const pl_html_view *v)
{
    pl_text_add(p->out, "<section><h2>Memory over the step</h2>\n");
    draw_chart(p, v);
    pl_text_add(p->out, "<div class=\"pair\">\n");
    write_items(p, v);
    if (v->in->program->n_steps)
        pl_html_alive_write(p, v, v->in->forecast->peak_step,
                            "largest tensors in the work block then");
    pl_text_add(p->out, "</div></section>\n");
}
