/* The page as a whole: its head, and per plan the sections in their order. */
#include "report/html.h"

#include "report/html_page.h"

#include <math.h>
#include <string.h>

/* -- one plan ---------------------------------------------------------------------------------- */

static void open_figure(pl_html_page *p, const char *name)
{
    pl_text_add(p->out, "<div><dt>%s</dt><dd>", name);
}

static void close_figure(pl_html_page *p, const char *note)
{
    if (*note) pl_text_add(p->out, "<small>%s</small>", note);
    pl_text_add(p->out, "</dd></div>\n");
}

static const char *share_text(pl_arena *a, double part, double whole, const char *of)
{
    return whole > 0 ? pl_arena_fmt(a, "%.1f %% %s", 100 * part / whole, of) : "";
}

static void write_times(pl_html_page *p, const pl_html_plan *x)
{
    const pl_forecast *f = x->forecast;
    open_figure(p, "step, predicted");
    pl_html_put_seconds(p, f->step_seconds);
    close_figure(p, "");
    if (x->n_units > 0 && f->step_seconds > 0) {
        const double rate = (double)x->n_units / f->step_seconds;
        open_figure(p, pl_arena_fmt(p->tmp, "%s in a second", pl_html_text(p->tmp, x->units)));
        pl_text_add(p->out, "<data value=\"%.17g\">%s</data>", rate,
                    pl_html_count(p->tmp, (int64_t)rate));
        close_figure(p, share_text(p->tmp, x->mfu, 1, "of the peak (MFU)"));
    }
    open_figure(p, "computing");
    pl_html_put_seconds(p, f->compute_seconds);
    close_figure(p, share_text(p->tmp, f->compute_seconds, f->step_seconds, "of the step"));
    open_figure(p, "messages");
    pl_html_put_seconds(p, f->comm_seconds);
    pl_text_add(p->out, "<small>computing waits ");
    pl_html_put_seconds(p, f->exposed_seconds);
    pl_text_add(p->out, "</small>");
    close_figure(p, "");
    open_figure(p, "received in a step");
    pl_html_put_bytes(p, (double)f->comm_bytes);
    close_figure(p, "by one device");
}

static void write_title(pl_html_page *p, const pl_html_view *v)
{
    const pl_html_plan *x = v->in;
    int ranks = pl_mesh_ranks(v->mesh);
    const char *model = pl_html_text(p->tmp, x->model), *name = pl_html_text(p->tmp, x->name);
    pl_text_add(p->out,
                "<h1>%s</h1>\n<p><b>%s</b> on %s <span class=\"dim\">(%d device%s: %s)</span><br/>"
                "<span class=\"dim\">%s \xc2\xb7 %s parameters, %d nodes, %d steps</span></p>\n",
                p->n > 1 ? name : model, pl_html_text(p->tmp, x->strategy),
                pl_html_text(p->tmp, x->cluster), ranks, ranks == 1 ? "" : "s",
                pl_html_mesh(p->tmp, v->mesh), p->n > 1 ? model : name,
                pl_html_count(p->tmp, pl_graph_params(v->graph)), v->graph->nodes.n,
                x->program->n_steps);
}

static void write_head(pl_html_page *p, const pl_html_view *v)
{
    const pl_html_plan *x = v->in;
    double peak = (double)x->forecast->memory.peak, limit = x->limit_bytes;
    write_title(p, v);
    pl_text_add(p->out, "<dl>\n");
    write_times(p, x);
    open_figure(p, "memory of the heaviest device");
    pl_html_put_bytes(p, peak);
    if (limit > 0) {
        pl_text_add(p->out, "<small>%.1f %% of ", 100 * peak / limit);
        pl_html_put_bytes(p, limit);
        pl_text_add(p->out, "%s</small>", peak > limit ? ": does not fit" : "");
    }
    close_figure(p, "");
    pl_text_add(p->out, "</dl>\n");
    pl_html_memory_bar(p, v, fmax(1, fmax(peak, limit)), true);
}

static void write_plan(pl_html_page *p, const pl_html_view *v)
{
    pl_text_add(p->out, "<article id=\"plan%d\">\n", v->index + 1);
    write_head(p, v);
    pl_html_grid_write(p, v);
    pl_html_time_write(p, v);
    pl_html_memory_write(p, v);
    pl_html_message_write(p, v);
    if (v->in->devices) pl_html_devices_write(p, v);
    pl_text_add(p->out, "</article>\n");
}

/* -- page -------------------------------------------------------------------------------------- */

/* Axes of one name have one colour. */
static void give_colours(pl_html_page *p)
{
    const char **name = PL_NEW_N(p->tmp, const char *, p->n *PL_MAX_AXES);
    int n = 0;
    for (int i = 0; i < p->n; i++)
        for (int a = 0; a < p->view[i].mesh->n; a++) {
            int k = 0;
            while (k < n && strcmp(name[k], p->view[i].mesh->axis[a].name)) k++;
            if (k == n) name[n++] = p->view[i].mesh->axis[a].name;
            p->view[i].colour[a] = k;
        }
}

void pl_html_open(pl_html_page *p, const char *title)
{
    pl_text_add(
        p->out,
        "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"/>\n"
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
        "style-src 'unsafe-inline'; script-src 'unsafe-inline'\"/>\n"
        "<meta name=\"viewport\" content=\"width=device-width\"/>\n"
        "<meta name=\"color-scheme\" content=\"light dark\"/>\n<title>%s</title>\n<style>\n",
        title);
    for (const char *const *line = pl_html_style; *line; line++) pl_text_add(p->out, "%s", *line);
    for (int k = 0; k < PL_HTML_KINDS; k++)
        pl_text_add(p->out, ".k%d{fill:var(--k%d);background:var(--k%d)}", k, k, k);
    for (int i = 0; i < 6; i++)
        pl_text_add(p->out, ".i%d{fill:var(--i%d);background:var(--i%d)}", i, i, i);
    pl_text_add(
        p->out,
        "\n</style></head>\n<body%s>\n<svg width=\"0\" height=\"0\" aria-hidden=\"true\">"
        "<defs><pattern id=\"sum\" width=\"5\" height=\"5\" patternUnits=\"userSpaceOnUse\" "
        "patternTransform=\"rotate(45)\"><path class=\"hatch\" d=\"M0 0v5\"/></pattern>"
        "</defs></svg>\n",
        p->n > 1 ? " class=\"several\"" : "");
}

void pl_html_close(pl_html_page *p)
{
    pl_text_add(p->out, "<script>\n");
    for (const char *const *line = pl_html_script; *line; line++) pl_text_add(p->out, "%s", *line);
    pl_text_add(p->out, "</script>\n</body></html>\n");
}

void pl_html_picture_open(pl_html_page *p, double height, const char *about)
{
    pl_text_add(p->out,
                "<div class=\"roll\"><svg class=\"wide\" viewBox=\"0 0 %d %.0f\" role=\"img\" "
                "aria-label=\"%s\">\n",
                PL_HTML_WIDE, height, about);
}

void pl_html_picture_close(pl_html_page *p)
{
    pl_text_add(p->out, "</svg></div>\n");
}

static void write_contents(pl_html_page *p)
{
    pl_text_add(p->out, "<h1>%d plans of %s</h1>\n<p class=\"dim\">", p->n,
                pl_html_text(p->tmp, p->view[0].in->model));
    for (int i = 0; i < p->n; i++)
        pl_text_add(p->out, "%s<a href=\"#plan%d\">%s</a> (%s on %s)", i ? " \xc2\xb7 " : "", i + 1,
                    pl_html_text(p->tmp, p->view[i].in->name),
                    pl_html_text(p->tmp, p->view[i].in->strategy),
                    pl_html_text(p->tmp, p->view[i].in->cluster));
    pl_text_add(p->out, "</p>\n");
}

void pl_html_write(int n, const pl_html_plan plan[], pl_text *out)
{
    PL_ASSERT_CMP(n, >=, 1);
    pl_html_page p = { .tmp = pl_arena_new("page"), .out = out, .n = n };
    p.view = PL_NEW_N(p.tmp, pl_html_view, n);
    for (int i = 0; i < n; i++) pl_html_view_make(&p.view[i], &plan[i], i, p.tmp);
    give_colours(&p);
    pl_html_open(
        &p, pl_html_text(p.tmp, pl_arena_fmt(p.tmp, "%s on %s", plan[0].model, plan[0].cluster)));
    if (n > 1) {
        write_contents(&p);
        pl_html_compare_write(&p);
    }
    for (int i = 0; i < n; i++) write_plan(&p, &p.view[i]);
    pl_html_close(&p);
    pl_arena_free(p.tmp);
}
