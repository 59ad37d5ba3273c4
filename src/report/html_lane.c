/* The two lanes of a stretch of time: steps as blocks, the smallest of them merged. */
#include "graph/op.h"
#include "report/html_page.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Pixels: heights of the lanes. Messages over different axes may pass side by side, so that each
 * axis has a row where there are several. */
enum { COMPUTE = 40, GAP = 6, MESSAGES = 28, ROW = 16, SEAM = 2 };
static const double least = 1.5; /* pixels: blocks below are merged */

/* A block: one step, or neighbours that are too small to be told apart. */
typedef struct block {
    double from, to; /* pixels                                      */
    int n, first;    /* steps; the first, and the longest of them   */
    int longest;
    double seconds[PL_HTML_KINDS];
    int64_t bytes;
} block;

/* Where steps of one kind are drawn: one stripe, or one for each run of neighbouring rows. */
typedef struct track {
    unsigned axes; /* of its messages; 0: computes */
    int n;
    double y[PL_MAX_AXES];
    int height[PL_MAX_AXES];
} track;

static double place(const pl_html_scale *s, double seconds)
{
    double x = (seconds - s->from) / (s->to - s->from) * PL_HTML_PLOT;
    return x < 0 ? 0 : x > PL_HTML_PLOT ? PL_HTML_PLOT : x;
}

/* -- names ------------------------------------------------------------------------------------- */

/* Without the number that makes names unique: "dropout.41" -> "dropout". */
static const char *drop_number(const char *name, size_t n, pl_arena *a)
{
    size_t end = n;
    while (end && strchr("0123456789", name[end - 1])) end--;
    return pl_arena_span(a, name, end > 1 && end < n && name[end - 1] == '.' ? end - 1 : n);
}

/* Without the block: "h.3.attn.c_attn" -> "attn.c_attn". */
static const char *drop_block(const char *name)
{
    for (const char *at = name; *at;) {
        size_t n = strcspn(at, "./"), digits = strspn(at, "0123456789");
        if (digits && digits == n && at[n] == '.' && at[n + 1]) return at + n + 1;
        at += n + (at[n] != 0);
    }
    return name;
}

/* The longest form of a step's name that fits: "mlp.fc/einsum", "mlp.fc", "fc"; else "". */
static const char *label(const pl_step *x, double width, pl_arena *a)
{
    const double letter = 5.7; /* pixels, of the font of 10 */
    const char *name = drop_block(x->label), *slash = strchr(name, '/');
    size_t n = slash ? (size_t)(slash - name) : strlen(name);
    size_t room = width > 14 ? (size_t)((width - 7) / letter) : 0;
    const char *text = drop_number(name, n, a);
    if (slash) {
        const char *tail = drop_number(slash + 1, strlen(slash + 1), a);
        const char *full = pl_arena_fmt(a, "%s/%s", text, tail);
        if (strlen(full) <= room) return pl_html_text(a, full);
    }
    const char *last = strrchr(text, '.');
    if (strlen(text) > room && last && last[1]) text = last + 1;
    return strlen(text) <= room ? pl_html_text(a, text) : "";
}

/* -- blocks ------------------------------------------------------------------------------------ */

static void say_step(pl_html_page *p, const pl_html_view *v, int i)
{
    const pl_step *x = &v->in->program->step[i];
    const pl_forecast *f = v->in->forecast;
    pl_text_add(p->out, "%s", pl_html_text(p->tmp, x->label));
    if (x->kind == PL_KERNEL)
        pl_text_add(p->out, " (%s)", pl_html_text(p->tmp, x->share->node->op->name));
    pl_text_add(p->out, "\n%s", pl_html_kind_name(pl_html_view_kind(x)));
    if (x->kind == PL_MESSAGE)
        pl_text_add(p->out, " over %s, %s received",
                    pl_html_text(p->tmp, pl_summary_axes(p->tmp, v->mesh, x->axes)),
                    pl_text_size(p->tmp, (double)x->bytes));
    pl_text_add(p->out, "\n%s, from %s", pl_html_seconds(p->tmp, f->end[i] - f->begin[i]),
                pl_html_seconds(p->tmp, f->begin[i]));
}

static void say_block(pl_html_page *p, const pl_html_view *v, const block *b)
{
    double all = 0;
    if (b->n == 1) {
        say_step(p, v, b->first);
        return;
    }
    for (int k = 0; k < PL_HTML_KINDS; k++) all += b->seconds[k];
    pl_text_add(p->out, "%d steps, %s:", b->n, pl_html_seconds(p->tmp, all));
    for (int k = 0; k < PL_HTML_KINDS; k++)
        if (b->seconds[k] > 0)
            pl_text_add(p->out, " %s %s", pl_html_kind_name((pl_html_kind)k),
                        pl_html_seconds(p->tmp, b->seconds[k]));
    if (b->bytes) pl_text_add(p->out, ", %s received", pl_text_size(p->tmp, (double)b->bytes));
    pl_text_add(p->out, "\nlongest: ");
    say_step(p, v, b->longest);
}

static void draw_block(pl_html_page *p, const pl_html_view *v, const block *b, const track *t,
                       bool labels)
{
    int kind = (int)pl_html_view_kind(&v->in->program->step[b->first]);
    double w = b->to - b->from, seam = w > 3 ? 0.5 : 0;
    for (int k = 0; k < PL_HTML_KINDS; k++)
        if (b->seconds[k] > b->seconds[kind]) kind = k;
    pl_text_add(p->out, "<path class=\"k%d\" d=\"", kind);
    for (int i = 0; i < t->n; i++)
        pl_text_add(p->out, "M%.1f %.0fh%.1fv%dh-%.1fz", PL_HTML_LEFT + b->from, t->y[i], w - seam,
                    t->height[i], w - seam);
    pl_text_add(p->out, "\"><title>");
    say_block(p, v, b);
    pl_text_add(p->out, "</title></path>");
    if (!labels || b->n > 1) return;
    const char *text = label(&v->in->program->step[b->first], w, p->tmp);
    if (*text)
        pl_text_add(p->out, "<text class=\"on o%d\" x=\"%.1f\" y=\"%.1f\">%s</text>", kind,
                    PL_HTML_LEFT + b->from + 3, t->y[0] + t->height[0] / 2.0 + 3.5, text);
}

/* Is a step of this track, and in the stretch of time for longer than a moment at its border? */
static bool is_in(const pl_html_view *v, const pl_html_scale *s, const track *t, int i)
{
    const pl_step *x = &v->in->program->step[i];
    double begin = v->in->forecast->begin[i], end = v->in->forecast->end[i];
    if ((x->kind == PL_MESSAGE ? x->axes : 0) != t->axes) return false;
    return !(end <= s->from && begin < s->from) && !(begin >= s->to && end > s->to);
}

/* Steps of one track come by time. A step joins the block before it while one of them is too small
 * to see, but no gap that could be seen is closed. */
static void draw_track(pl_html_page *p, const pl_html_view *v, const pl_html_scale *s,
                       const track *t)
{
    const pl_forecast *f = v->in->forecast;
    block b = { 0 };
    for (int i = 0; i < v->in->program->n_steps; i++) {
        const pl_step *x = &v->in->program->step[i];
        if (!is_in(v, s, t, i)) continue;
        double from = place(s, f->begin[i]), to = place(s, f->end[i]);
        bool small = to - from < least && b.to - b.from < least;
        if (b.n && !(small && from - b.to < least / 2)) {
            draw_block(p, v, &b, t, s->labels);
            b = (block){ 0 };
        }
        if (!b.n) b = (block){ .from = from, .first = i, .longest = i };
        b.n++;
        b.to = fmax(b.to, to);
        b.bytes += x->kind == PL_MESSAGE ? x->bytes : 0;
        b.seconds[pl_html_view_kind(x)] += f->end[i] - f->begin[i];
        if (f->end[i] - f->begin[i] > f->end[b.longest] - f->begin[b.longest]) b.longest = i;
    }
    if (b.n) draw_block(p, v, &b, t, s->labels);
}

/* Axes of several devices, which have rows. */
static int find_rows(const pl_html_view *v, int axis[PL_MAX_AXES])
{
    int n = 0;
    for (int a = 0; a < v->mesh->n; a++)
        if (v->mesh->axis[a].size > 1) axis[n++] = a;
    return n;
}

int pl_html_lane_height(const pl_html_view *v)
{
    int axis[PL_MAX_AXES], n = find_rows(v, axis);
    return COMPUTE + GAP + (n > 1 ? n * (ROW + SEAM) - SEAM : MESSAGES);
}

static void draw_bed(pl_html_page *p, const char *name, double y, int height)
{
    pl_text_add(p->out,
                "<text class=\"lane\" x=\"%d\" y=\"%.0f\">%s</text><path class=\"bed\" "
                "d=\"M%d %.0fh%dv%dh-%dz\"/>\n",
                PL_HTML_LEFT - 8, y + height / 2 + 4, name, PL_HTML_LEFT, y, PL_HTML_PLOT, height,
                PL_HTML_PLOT);
}

static void draw_messages(pl_html_page *p, const pl_html_view *v, const pl_html_scale *s)
{
    int axis[PL_MAX_AXES], n = find_rows(v, axis), height = n > 1 ? ROW : MESSAGES;
    double y = s->top + COMPUTE + GAP;
    if (n < 2) draw_bed(p, "messages", y, height);
    for (int r = 0; r < n && n > 1; r++)
        draw_bed(p, pl_html_text(p->tmp, v->mesh->axis[axis[r]].name), y + r * (ROW + SEAM),
                 height);
    for (unsigned axes = 1; axes < 1u << v->mesh->n; axes++) {
        track t = { .axes = axes };
        bool beside = false;
        for (int r = 0; r < n; r++) {
            bool has = axes >> axis[r] & 1;
            if (has && beside) {
                t.height[t.n - 1] += ROW + SEAM;
            } else if (has) {
                t.y[t.n] = y + r * (ROW + SEAM);
                t.height[t.n++] = height;
            }
            beside = has;
        }
        draw_track(p, v, s, &t);
    }
}

void pl_html_lane_draw(pl_html_page *p, const pl_html_view *v, const pl_html_scale *s)
{
    const track compute = { .n = 1, .y = { s->top }, .height = { COMPUTE } };
    draw_bed(p, "compute", s->top, COMPUTE);
    draw_track(p, v, s, &compute);
    draw_messages(p, v, s);
    pl_text_add(p->out, "\n");
}

/* -- axis -------------------------------------------------------------------------------------- */

/* The round number, 1, 2 or 5 times a power of ten, of which 6 to 14 fit into `span`. */
static double find_tick(double span)
{
    static const double steps[] = { 1, 2, 5 };
    double power = 1e-12;
    int i = 0;
    while (span / (power * steps[i]) > 14) {
        i = (i + 1) % 3;
        if (!i) power *= 10;
    }
    return power * steps[i];
}

void pl_html_lane_axis(pl_html_page *p, const pl_html_scale *s, double height)
{
    double tick = find_tick(s->to - s->from);
    bool small = s->to < 1e-3; /* in microseconds, else in milliseconds */
    double unit = small ? 1e-6 : 1e-3;
    int digits = 0;
    for (double t = tick / unit; t < 0.999 && digits < 6; t *= 10) digits++;
    pl_text_add(p->out, "<g class=\"axis\">");
    for (double k = ceil(s->from / tick - 1e-9) + 0.0; k * tick <= s->to * (1 + 1e-12); k++) {
        double x = PL_HTML_LEFT + place(s, k * tick);
        pl_text_add(p->out, "<path d=\"M%.1f %.0fv%.0f\"/><text x=\"%.1f\" y=\"%.0f\">%.*f</text>",
                    x, s->top, height + 4, x, s->top + height + 16, digits, k * tick / unit + 0.0);
    }
    pl_text_add(p->out, "<text x=\"%d\" y=\"%.0f\">%s</text></g>\n", PL_HTML_LEFT - 24,
                s->top + height + 16, small ? "\xc2\xb5s" : "ms");
}
