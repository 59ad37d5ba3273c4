/* Plans side by side: their figures against those of the first, their steps on one scale of time,
 * and the tensors that they place differently. */
#include "report/html_page.h"

#include <math.h>
#include <string.h>

enum { PIXELS = 40, MOST_ROWS = 60 };

/* -- figures ----------------------------------------------------------------------------------- */

typedef struct figure {
    const char *name;
    bool bytes;
    double (*get)(const pl_html_plan *x);
} figure;

static double step(const pl_html_plan *x)
{
    return x->forecast->step_seconds;
}
static double compute(const pl_html_plan *x)
{
    return x->forecast->compute_seconds;
}
static double comm(const pl_html_plan *x)
{
    return x->forecast->comm_seconds;
}
static double exposed(const pl_html_plan *x)
{
    return x->forecast->exposed_seconds;
}
static double received(const pl_html_plan *x)
{
    return (double)x->forecast->comm_bytes;
}
static double peak(const pl_html_plan *x)
{
    return (double)x->forecast->memory.peak;
}
static double weights(const pl_html_plan *x)
{
    return (double)x->forecast->memory.weights;
}
static double optimizer(const pl_html_plan *x)
{
    return (double)x->forecast->memory.optimizer;
}
static double gradients(const pl_html_plan *x)
{
    return (double)x->forecast->memory.gradients;
}
static double activations(const pl_html_plan *x)
{
    return (double)x->forecast->memory.activations;
}
static double buffers(const pl_html_plan *x)
{
    return (double)x->forecast->memory.buffers;
}
static double transient(const pl_html_plan *x)
{
    return (double)x->forecast->memory.transient;
}

static const figure figures[] = {
    { "step", false, step },
    { "computing", false, compute },
    { "messages", false, comm },
    { "messages that computing waits for", false, exposed },
    { "received by one device", true, received },
    { "memory of the heaviest device", true, peak },
    { "\xe2\x80\x83weights", true, weights },
    { "\xe2\x80\x83optimizer", true, optimizer },
    { "\xe2\x80\x83gradients", true, gradients },
    { "\xe2\x80\x83"
      "activations",
      true, activations },
    { "\xe2\x80\x83"
      "buffers",
      true, buffers },
    { "\xe2\x80\x83transient", true, transient },
};

/* "-12 %", with a minus sign; of what was nothing before, nothing is said. */
static void write_change(pl_html_page *p, double first, double x)
{
    double change = first > 0 ? 100 * (x - first) / first : 0;
    if (first <= 0 && x > 0)
        pl_text_add(p->out, "<em>new</em>");
    else if (fabs(change) < 0.05)
        pl_text_add(p->out, "<em>=</em>");
    else if (change > 900)
        pl_text_add(p->out, "<em>\xc3\x97%.0f</em>", x / first);
    else
        pl_text_add(p->out, "<em>%s%.*f %%</em>", change < 0 ? "\xe2\x88\x92" : "+",
                    fabs(change) < 9.95 ? 1 : 0, fabs(change));
}

static void write_figure(pl_html_page *p, const figure *f)
{
    double first = f->get(p->view[0].in), least = first;
    for (int i = 1; i < p->n; i++) least = fmin(least, f->get(p->view[i].in));
    pl_text_add(p->out, "<tr><td>%s</td>", f->name);
    for (int i = 0; i < p->n; i++) {
        double x = f->get(p->view[i].in);
        pl_text_add(p->out, "<td class=\"n%s\">", x <= least ? " least" : "");
        if (f->bytes)
            pl_html_put_bytes(p, x);
        else
            pl_html_put_seconds(p, x);
        if (i) write_change(p, first, x);
        pl_text_add(p->out, "</td>");
    }
    pl_text_add(p->out, "</tr>\n");
}

static void write_figures(pl_html_page *p)
{
    pl_text_add(p->out, "<table class=\"full side\"><thead><tr><th></th>");
    for (int i = 0; i < p->n; i++)
        pl_text_add(p->out, "<th class=\"n\"><a href=\"#plan%d\">%s</a></th>", i + 1,
                    pl_html_text(p->tmp, p->view[i].in->name));
    pl_text_add(p->out, "</tr></thead><tbody>\n<tr><td>strategy</td>");
    for (int i = 0; i < p->n; i++)
        pl_text_add(p->out, "<td class=\"n\">%s</td>",
                    pl_html_text(p->tmp, p->view[i].in->strategy));
    pl_text_add(p->out, "</tr>\n<tr><td>mesh</td>");
    for (int i = 0; i < p->n; i++)
        pl_text_add(p->out, "<td class=\"n\">%s</td>", pl_html_mesh(p->tmp, p->view[i].mesh));
    pl_text_add(p->out, "</tr>\n");
    for (size_t i = 0; i < sizeof figures / sizeof *figures; i++) write_figure(p, &figures[i]);
    pl_text_add(p->out, "</tbody></table>\n");
}

/* -- pictures on one scale --------------------------------------------------------------------- */

static void draw_steps(pl_html_page *p)
{
    enum { TITLE = 17 };
    double to = 0, most = 1, height = 0;
    for (int i = 0; i < p->n; i++) {
        to = fmax(to, p->view[i].in->forecast->step_seconds);
        most = fmax(most, (double)p->view[i].in->forecast->memory.peak);
        height += TITLE + pl_html_lane_height(&p->view[i]);
    }
    pl_html_scale s = { 0, to > 0 ? to : 1, TITLE, false };
    pl_text_add(p->out, "<h3>One step of each, on one scale</h3>\n");
    pl_html_picture_open(p, height + PL_HTML_AXIS, "time lines of all plans");
    pl_html_lane_axis(p, &s, height - TITLE);
    for (int i = 0; i < p->n; i++) {
        pl_text_add(p->out, "<text class=\"note\" x=\"%d\" y=\"%.0f\">%s: %s</text>", PL_HTML_LEFT,
                    s.top - 4, pl_html_text(p->tmp, p->view[i].in->name),
                    pl_html_seconds(p->tmp, p->view[i].in->forecast->step_seconds));
        pl_html_lane_draw(p, &p->view[i], &s);
        s.top += pl_html_lane_height(&p->view[i]) + TITLE;
    }
    pl_html_picture_close(p);
    pl_text_add(p->out, "<h3>Memory of the heaviest device, on one scale</h3>\n");
    for (int i = 0; i < p->n; i++) {
        const pl_html_plan *x = p->view[i].in;
        pl_text_add(p->out, "<p class=\"row\">%s: ", pl_html_text(p->tmp, x->name));
        pl_html_put_bytes(p, (double)x->forecast->memory.peak);
        pl_text_add(p->out, "</p>");
        pl_html_memory_bar(p, &p->view[i], most, false);
    }
    pl_html_memory_key(p);
}

/* -- placements -------------------------------------------------------------------------------- */

/* Does every device hold the same elements? Names of axes do not matter, nor does the mesh. */
static bool is_same(const pl_html_view *a, const pl_placement *p, const pl_html_view *b,
                    const pl_placement *q, const pl_shape *s)
{
    int n = pl_mesh_ranks(a->mesh);
    bool alike = a->mesh->n == b->mesh->n;
    if (n != pl_mesh_ranks(b->mesh) || !p->pending != !q->pending) return false;
    for (int i = 0; alike && i < a->mesh->n; i++)
        alike = a->mesh->axis[i].size == b->mesh->axis[i].size;
    if (alike && pl_placement_same(p, q)) return true;
    for (int rank = 0; rank < n; rank++) {
        pl_region x = pl_region_of(p, a->mesh, s, rank), y = pl_region_of(q, b->mesh, s, rank);
        if (!pl_region_count(&x) && !pl_region_count(&y)) continue;
        if (!pl_region_align(&x, &y) || x.n != y.n) return false;
        for (int i = 0; i < x.n; i++)
            if (x.digit[i].lo != y.digit[i].lo || x.digit[i].n != y.digit[i].n) return false;
    }
    return true;
}

/* A tensor of the first plan that has it, and the same in the others; NULL: it is not there. */
typedef struct row {
    const char *name;
    int count;
    const pl_value **of; /* [plans] */
} row;

typedef struct rows {
    int n, cap;
    row *at;
} rows;

static bool is_equal(const pl_html_page *p, const row *r)
{
    const pl_value *x = r->of[0];
    for (int i = 1; i < p->n; i++) {
        const pl_value *y = r->of[i];
        const pl_html_view *a = &p->view[0], *b = &p->view[i];
        if (!x || !y || x->type != y->type || !pl_shape_same(&x->shape, &y->shape) ||
            !is_same(a, &a->made[x->id], b, &b->made[y->id], &x->shape) ||
            !is_same(a, &a->used[x->id], b, &b->used[y->id], &x->shape))
            return false;
    }
    return true;
}

/* Are two rows of one folded name placed alike in every plan? */
static bool is_alike(const pl_html_page *p, const row *a, const row *b)
{
    if (strcmp(a->name, b->name)) return false;
    for (int i = 0; i < p->n; i++) {
        const pl_value *x = a->of[i], *y = b->of[i];
        const pl_html_view *v = &p->view[i];
        if (!x != !y) return false;
        if (x && (!pl_shape_same(&x->shape, &y->shape) ||
                  !pl_placement_same(&v->made[x->id], &v->made[y->id]) ||
                  !pl_placement_same(&v->used[x->id], &v->used[y->id])))
            return false;
    }
    return true;
}

/* By name; in a graph of the same model it has the same number. */
static const pl_value *find_value(const pl_graph *g, const pl_value *x)
{
    if (x->id < g->values.n && !strcmp(g->values.at[x->id]->name, x->name))
        return g->values.at[x->id];
    return pl_graph_find(g, x->name);
}

static rows find_rows(const pl_html_page *p, int *n_all)
{
    rows all = { 0 };
    *n_all = 0;
    for (int i = 0; i < p->n; i++)
        for (int k = 0; k < p->view[i].graph->values.n; k++) {
            const pl_value *x = p->view[i].graph->values.at[k];
            row r = { pl_summary_fold(p->tmp, x->name), 0,
                      PL_NEW_N(p->tmp, const pl_value *, p->n) };
            bool seen = false;
            int j = 0;
            if (x->kind != PL_WEIGHT) continue;
            for (int q = 0; q < p->n; q++) {
                const pl_value *y = find_value(p->view[q].graph, x);
                r.of[q] = y && y->kind == PL_WEIGHT ? y : NULL;
                seen |= q < i && r.of[q];
            }
            if (seen) continue;
            ++*n_all;
            if (is_equal(p, &r)) continue;
            while (j < all.n && !is_alike(p, &all.at[j], &r)) j++;
            if (j == all.n) PL_PUSH(p->tmp, &all, r);
            all.at[j].count++;
        }
    return all;
}

static void write_place(pl_html_page *p, const pl_html_view *v, const pl_value *x)
{
    int dim[2];
    if (!x) {
        pl_text_add(p->out, "<td class=\"dim\">not there</td>");
        return;
    }
    const pl_placement at[2] = { v->made[x->id], v->used[x->id] };
    pl_html_cell_dims(v, x, 2, at, dim);
    pl_text_add(p->out, "<td><div class=\"two\">");
    pl_html_cell_draw(p, v, x, &at[0], dim, PIXELS);
    pl_html_cell_draw(p, v, x, &at[1], dim, PIXELS);
    pl_text_add(p->out, "<code>%s<br/>%s</code></div></td>", pl_html_place(v, x, &at[0], p->tmp),
                pl_html_place(v, x, &at[1], p->tmp));
}

static void write_differences(pl_html_page *p)
{
    int n_all, n = 0;
    const rows r = find_rows(p, &n_all);
    for (int i = 0; i < r.n; i++) n += r.at[i].count;
    pl_text_add(p->out, "<h3>Weights placed differently <span class=\"dim\">%d of %d</span></h3>\n",
                n, n_all);
    if (!n) return;
    for (int i = 0; i < p->n; i++) {
        pl_text_add(p->out, "<div class=\"keys\"><b>%s</b>",
                    pl_html_text(p->tmp, p->view[i].in->name));
        pl_html_cell_legend(p, &p->view[i]);
        pl_text_add(p->out, "</div>\n");
    }
    pl_text_add(p->out, "<table class=\"full\"><thead><tr><th>weight</th>");
    for (int i = 0; i < p->n; i++)
        pl_text_add(p->out, "<th>%s: stored, used</th>", pl_html_text(p->tmp, p->view[i].in->name));
    pl_text_add(p->out, "</tr></thead><tbody>\n");
    for (int i = 0; i < r.n && i < MOST_ROWS; i++) {
        pl_text_add(p->out, "<tr><td>%s", pl_html_text(p->tmp, r.at[i].name));
        if (r.at[i].count > 1) pl_text_add(p->out, " <i>\xc3\x97%d</i>", r.at[i].count);
        pl_text_add(p->out, "</td>");
        for (int k = 0; k < p->n; k++) write_place(p, &p->view[k], r.at[i].of[k]);
        pl_text_add(p->out, "</tr>\n");
    }
    pl_text_add(p->out, "</tbody></table>\n");
    if (r.n > MOST_ROWS)
        pl_text_add(p->out, "<p class=\"dim\">and %d more rows</p>\n", r.n - MOST_ROWS);
}

void pl_html_compare_write(pl_html_page *p)
{
    pl_text_add(p->out, "<section><h2>Plans side by side</h2>\n");
    write_figures(p);
    draw_steps(p);
    write_differences(p);
    pl_text_add(p->out, "</section>\n");
}
