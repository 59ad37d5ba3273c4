/* The page about orders of one step: work memory from step to step, before and after. */
#include "report/html_page.h"

#include <math.h>

enum { TOP = 24, HEIGHT = 260, LINE = 14 };

typedef struct orders {
    pl_html_page page;
    int n;
    const pl_html_order *at;
    const pl_forecast *held; /* [n] live and peak_step */
    double most;             /* bytes of the whole height */
    int64_t bound;
} orders;

static double up(const orders *o, int64_t bytes)
{
    return TOP + HEIGHT - (double)bytes / o->most * HEIGHT;
}

static int across(const orders *o, int k, int step)
{
    return PL_HTML_LEFT + (int)((int64_t)PL_HTML_PLOT * step / o->at[k].program->n_steps);
}

/* All in one unit, with digits enough to compare them. */
static const char *size_text(const orders *o, int64_t bytes)
{
    const bool small = o->most < 1024 * 1024;
    return pl_arena_fmt(o->page.tmp, "%.1f %s", (double)bytes / (small ? 0x1p10 : 0x1p20),
                        small ? "KiB" : "MiB");
}

static void put_size(orders *o, int64_t bytes)
{
    pl_text_add(o->page.out, "<data value=\"%.17g\">%s</data>", (double)bytes, size_text(o, bytes));
}

static int64_t peak_of(const orders *o, int k)
{
    return o->held[k].live[o->held[k].peak_step];
}

/* -- the picture ------------------------------------------------------------------------------- */

/* Its class: the last is after, the first before, any other between. */
static const char *look(const orders *o, int k)
{
    return k == o->n - 1 ? "live" : k == 0 ? "before" : "between";
}

/* The most of the steps that share a pixel. The last order is filled, the others are lines. */
static void draw_order(orders *o, int k)
{
    const pl_program *p = o->at[k].program;
    const bool last = k == o->n - 1;
    pl_text *out = o->page.out;
    pl_text_add(out, "<path class=\"%s\" d=\"M%d %.1f", look(o, k), PL_HTML_LEFT,
                up(o, last ? 0 : o->held[k].live[0]));
    for (int i = 0; i < p->n_steps;) {
        const int x = across(o, k, i);
        int64_t most = 0;
        for (; i < p->n_steps && across(o, k, i) == x; i++)
            if (o->held[k].live[i] > most) most = o->held[k].live[i];
        pl_text_add(out, "H%dV%.1f", x, up(o, most));
    }
    pl_text_add(out, "H%d", PL_HTML_LEFT + PL_HTML_PLOT);
    if (last) pl_text_add(out, "V%.1fz", up(o, 0));
    pl_text_add(out, "\"><title>live in the order %s</title></path>\n",
                pl_html_text(o->page.tmp, o->at[k].name));
}

/* Not where the label of a later one stands. */
static void draw_peak(orders *o, int k)
{
    const int i = o->held[k].peak_step, x = across(o, k, i);
    const bool left = x > PL_HTML_LEFT + PL_HTML_PLOT / 2;
    const double y = up(o, peak_of(o, k));
    for (int later = k + 1; later < o->n; later++)
        if (fabs(y - up(o, peak_of(o, later))) < LINE) return;
    pl_text_add(o->page.out,
                "<path class=\"peak\" d=\"M%d %.1fV%d\"/><circle class=\"peak\" cx=\"%d\" "
                "cy=\"%.1f\" r=\"3\"/><text class=\"note\" x=\"%d\" y=\"%.1f\" "
                "text-anchor=\"%s\">%s: %s at %s</text>\n",
                x, y, TOP + HEIGHT, x, y, x + (left ? -6 : 6), y - 6, left ? "end" : "start",
                pl_html_text(o->page.tmp, o->at[k].name), size_text(o, peak_of(o, k)),
                pl_html_text(o->page.tmp, o->at[k].program->step[i].label));
}

static void draw_bound(orders *o)
{
    pl_text_add(o->page.out,
                "<path class=\"limit\" d=\"M%d %.1fh%d\"/><text class=\"note\" x=\"%d\" "
                "y=\"%.1f\">no order is below %s</text>\n",
                PL_HTML_LEFT, up(o, o->bound), PL_HTML_PLOT, PL_HTML_LEFT + 6, up(o, o->bound) - 5,
                size_text(o, o->bound));
}

static void draw(orders *o)
{
    pl_text_add(o->page.out, "<p class=\"key\">");
    for (int k = 0; k < o->n; k++)
        pl_text_add(o->page.out,
                    "<span><svg width=\"18\" height=\"10\"><path class=\"%s\" d=\"M0 5h18%s\"/>"
                    "</svg>order %s</span>",
                    look(o, k), k == o->n - 1 ? "v5h-18z" : "",
                    pl_html_text(o->page.tmp, o->at[k].name));
    pl_text_add(o->page.out, "</p>\n");
    pl_html_picture_open(&o->page, TOP + HEIGHT + PL_HTML_AXIS, "work memory over one step");
    draw_order(o, o->n - 1);
    pl_html_memory_scale(&o->page, o->most, TOP, HEIGHT);
    for (int k = 0; k < o->n - 1; k++) draw_order(o, k);
    if (o->bound) draw_bound(o);
    for (int k = 0; k < o->n; k++) draw_peak(o, k);
    pl_text_add(o->page.out,
                "<text x=\"%d\" y=\"%d\">first step</text><text x=\"%d\" y=\"%d\" "
                "text-anchor=\"end\">last of %s steps</text>",
                PL_HTML_LEFT, TOP + HEIGHT + 16, PL_HTML_LEFT + PL_HTML_PLOT, TOP + HEIGHT + 16,
                pl_html_count(o->page.tmp, o->at[0].program->n_steps));
    pl_html_picture_close(&o->page);
}

/* -- tables ------------------------------------------------------------------------------------ */

static void write_figures(orders *o)
{
    pl_html_page *p = &o->page;
    pl_text_add(p->out, "<dl>\n");
    for (int k = 0; k < o->n; k++) {
        pl_text_add(p->out, "<div><dt>order %s</dt><dd>", pl_html_text(p->tmp, o->at[k].name));
        put_size(o, peak_of(o, k));
        pl_text_add(p->out, "<small>live at its peak, in a block of ");
        put_size(o, o->at[k].block);
        pl_text_add(p->out, "</small></dd></div>\n");
    }
    if (o->bound) {
        pl_text_add(p->out, "<div><dt>no order is below</dt><dd>");
        put_size(o, o->bound);
        pl_text_add(p->out, "<small>%.2f %% gap</small></dd></div>\n",
                    100 * ((double)peak_of(o, o->n - 1) / (double)o->bound - 1));
    }
    pl_text_add(p->out, "</dl>\n");
}

static void write_table(orders *o, int k)
{
    pl_html_page *p = &o->page;
    const pl_program *x = o->at[k].program;
    const pl_html_plan in = { .plan = x->plan, .program = x };
    pl_html_view v;
    pl_html_view_make(&v, &in, k, p->tmp);
    pl_html_alive_write(p, &v, o->held[k].peak_step,
                        pl_arena_fmt(p->tmp, "at the peak of order %s, the largest",
                                     pl_html_text(p->tmp, o->at[k].name)));
}

/* Before and after. */
static void write_tables(orders *o)
{
    pl_text_add(o->page.out, "<section><h2>What is alive at the peaks</h2><div class=\"pair\">\n");
    write_table(o, 0);
    if (o->n > 1) write_table(o, o->n - 1);
    pl_text_add(o->page.out, "</div></section>\n");
}

/* -- page -------------------------------------------------------------------------------------- */

static void hold(orders *o)
{
    pl_forecast *held = PL_NEW_N(o->page.tmp, pl_forecast, o->n);
    o->held = held;
    o->most = (double)o->bound;
    for (int k = 0; k < o->n; k++) {
        pl_forecast_memory_make(o->at[k].program, o->page.tmp, &held[k]);
        if ((double)peak_of(o, k) > o->most) o->most = (double)peak_of(o, k);
    }
    o->most = o->most * 1.04 + 1;
}

void pl_html_write_orders(const char *model, int n, const pl_html_order order[], int64_t bound,
                          pl_text *out)
{
    PL_ASSERT_CMP(n, >=, 1);
    orders o = { .n = n, .at = order, .bound = bound };
    o.page = (pl_html_page){ .tmp = pl_arena_new("page of orders"), .out = out };
    const char *title = pl_html_text(o.page.tmp, model);
    hold(&o);
    pl_html_open(&o.page, pl_arena_fmt(o.page.tmp, "memory of %s", title));
    pl_text_add(out,
                "<article><h1>%s</h1>\n<p>Work memory of one training step on one device: what is "
                "live while each step runs. Weights and moments (",
                title);
    pl_html_put_bytes(&o.page, (double)order[0].program->store->bytes);
    pl_text_add(out, ") come on top.</p>\n");
    write_figures(&o);
    if (order[0].program->n_steps) {
        draw(&o);
        write_tables(&o);
    }
    pl_text_add(out, "</article>\n");
    pl_html_close(&o.page);
    pl_arena_free(o.page.tmp);
}
