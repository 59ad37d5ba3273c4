/* The time line of a step, and of one repeated block from near. */
#include "report/html_page.h"

#include <string.h>

enum { TOP = 4 };

/* -- one block of many ------------------------------------------------------------------------- */

/* Names that start with the same text and a number: "h." and 0 to 11. */
typedef struct family {
    const char *prefix;
    size_t n_prefix;
    int steps;
    int64_t least, most;
} family;

typedef struct families {
    int n, cap;
    family *at;
} families;

/* The first number in a name that stands alone between points. */
static bool find_number(const char *name, size_t *n_prefix, int64_t *number)
{
    for (const char *at = name; *at;) {
        size_t n = strcspn(at, "."), digits = strspn(at, "0123456789");
        if (n && digits == n && n < 10) {
            *n_prefix = (size_t)(at - name);
            *number = 0;
            for (size_t i = 0; i < n; i++) *number = 10 * *number + (at[i] - '0');
            return true;
        }
        at += n + (at[n] != 0);
    }
    return false;
}

static bool is_of(const pl_step *x, const family *f, int64_t *number)
{
    size_t n;
    return x->kind == PL_KERNEL && find_number(x->label, &n, number) && n == f->n_prefix &&
           !strncmp(x->label, f->prefix, n);
}

/* The one with the most steps, if there are at least three of its blocks. */
static bool find_family(const pl_html_view *v, pl_arena *tmp, family *best)
{
    families all = { 0 };
    *best = (family){ 0 };
    for (int i = 0; i < v->in->program->n_steps; i++) {
        const pl_step *x = &v->in->program->step[i];
        family f = { .prefix = x->label };
        int64_t number;
        int k = 0;
        if (x->kind != PL_KERNEL || !find_number(x->label, &f.n_prefix, &number)) continue;
        while (k < all.n && !is_of(x, &all.at[k], &number)) k++;
        f.least = f.most = number;
        if (k == all.n) PL_PUSH(tmp, &all, f);
        family *at = &all.at[k];
        at->steps++;
        at->least = number < at->least ? number : at->least;
        at->most = number > at->most ? number : at->most;
        if (at->steps > best->steps) *best = *at;
    }
    for (int k = 0; k < all.n; k++) /* as it is after the last of its steps */
        if (all.at[k].prefix == best->prefix) *best = all.at[k];
    return best->most >= best->least + 2;
}

/* Steps of a block in one pass, one after the other. */
typedef struct stretch {
    double from, to, busy; /* seconds; of its own steps */
} stretch;

/* The longest stretch of block `number` in one pass: steps of other blocks may stand in between,
 * but more than STRANGE of them end it (what was put off runs with a later block). */
static bool find_span(const pl_html_view *v, const family *f, int64_t number, pl_html_kind kind,
                      double *from, double *to)
{
    enum { STRANGE = 16 };
    const pl_forecast *t = v->in->forecast;
    stretch here = { 0 }, best = { 0 };
    int strange = 0;
    for (int i = 0; i < v->in->program->n_steps; i++) {
        const pl_step *x = &v->in->program->step[i];
        int64_t at;
        if (!is_of(x, f, &at) || pl_html_view_kind(x) != kind) continue;
        strange = at == number ? 0 : strange + 1;
        if (strange > STRANGE) here = (stretch){ 0 };
        if (at != number) continue;
        if (here.busy <= 0) here.from = t->begin[i];
        here.to = t->end[i];
        here.busy += t->end[i] - t->begin[i];
        if (here.busy > best.busy) best = here;
    }
    *from = best.from;
    *to = best.to;
    return *from < *to;
}

/* -- pictures ---------------------------------------------------------------------------------- */

static void draw(pl_html_page *p, const pl_html_view *v, double from, double to, bool labels,
                 const char *about)
{
    const pl_html_scale s = { from, to, TOP, labels };
    int lanes = pl_html_lane_height(v);
    pl_html_picture_open(p, TOP + lanes + PL_HTML_AXIS + 4, about);
    pl_html_lane_axis(p, &s, lanes);
    pl_html_lane_draw(p, v, &s);
    pl_html_picture_close(p);
}

static void write_key(pl_html_page *p, const pl_html_view *v)
{
    double seconds[PL_HTML_KINDS] = { 0 };
    bool has[PL_HTML_KINDS] = { 0 };
    for (int i = 0; i < v->in->program->n_steps; i++) {
        pl_html_kind k = pl_html_view_kind(&v->in->program->step[i]);
        seconds[k] += v->in->forecast->end[i] - v->in->forecast->begin[i];
        has[k] = true;
    }
    pl_text_add(p->out, "<p class=\"key pick\">");
    for (int k = 0; k < PL_HTML_KINDS; k++) {
        if (!has[k]) continue;
        pl_text_add(p->out, "<span data-k=\"k%d\"><i class=\"k%d\"></i>%s ", k, k,
                    pl_html_kind_name((pl_html_kind)k));
        pl_html_put_seconds(p, seconds[k]);
        pl_text_add(p->out, "</span>");
    }
    pl_text_add(p->out, "</p>\n");
}

static void write_near(pl_html_page *p, const pl_html_view *v)
{
    static const pl_html_kind passes[] = { PL_HTML_FORWARD, PL_HTML_BACKWARD };
    family f;
    if (!find_family(v, p->tmp, &f)) return;
    int64_t number = f.least + (f.most - f.least) / 2;
    const char *name = pl_html_text(
        p->tmp, pl_arena_fmt(p->tmp, "%.*s%lld", (int)f.n_prefix, f.prefix, (long long)number));
    for (int i = 0; i < 2; i++) {
        double from, to;
        if (!find_span(v, &f, number, passes[i], &from, &to)) continue;
        const char *about = pl_arena_fmt(p->tmp, "%s, %s", name, pl_html_kind_name(passes[i]));
        pl_text_add(p->out, "<h3>%s pass of block %s <span class=\"dim\">",
                    i ? "Backward" : "Forward", name);
        pl_html_put_seconds(p, to - from);
        pl_text_add(p->out, "</span></h3>\n");
        draw(p, v, from, to, true, about);
    }
}

void pl_html_time_write(pl_html_page *p, const pl_html_view *v)
{
    pl_text_add(p->out, "<section><h2>One step in time</h2>\n");
    if (v->in->forecast->step_seconds <= 0) {
        pl_text_add(p->out, "<p>It takes no time.</p></section>\n");
        return;
    }
    pl_text_add(p->out,
                "<p class=\"dim\">As forecast for the device with the largest parts. What is "
                "computed beside messages is drawn as slow as they make it.</p>\n");
    write_key(p, v);
    draw(p, v, 0, v->in->forecast->step_seconds, false, "time line of one step");
    write_near(p, v);
    pl_text_add(p->out, "</section>\n");
}
