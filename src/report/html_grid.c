/* Where tensors live: weights as they are stored and as the forward pass reads them, and the main
 * activations as they are made and read. */
#include "report/html_page.h"

#include <string.h>

enum { PIXELS = 56, MOST_ACTIVATIONS = 12 };

/* One of the two pictures of a tensor. */
static void draw(pl_html_page *p, const pl_html_view *v, const pl_html_group *g, const char *what,
                 const pl_placement *at, const int dim[2])
{
    pl_text_add(p->out, "<div class=\"pic\"><span>%s</span>", what);
    pl_html_cell_draw(p, v, g->value, at, dim, PIXELS);
    pl_text_add(p->out, "</div>");
}

/* Of more than two dimensions, those that are shown are underlined. */
static void say_shape(pl_html_page *p, const pl_value *x, const int dim[2])
{
    pl_text_add(p->out, "%s[", pl_type_name(x->type));
    for (int d = 0; d < x->shape.rank; d++) {
        bool shown = x->shape.rank > 2 && (d == dim[0] || d == dim[1]);
        pl_text_add(p->out, "%s%s%lld%s", d ? "," : "", shown ? "<u>" : "",
                    (long long)x->shape.dim[d], shown ? "</u>" : "");
    }
    pl_text_add(p->out, "]");
}

static void say_place(pl_html_page *p, const pl_html_view *v, const pl_value *x,
                      const pl_placement at[2], const char *const what[2])
{
    const char *first = pl_html_place(v, x, &at[0], p->tmp),
               *second = pl_html_place(v, x, &at[1], p->tmp);
    bool same = !strcmp(first, second);
    pl_text_add(p->out, "<br/><span class=\"dim\">%s%s%s</span> <code>%s</code>", what[0],
                same ? ", " : "", same ? what[1] : "", first);
    if (!same)
        pl_text_add(p->out, "<br/><span class=\"dim\">%s</span> <code>%s</code>", what[1], second);
}

static void write_card(pl_html_page *p, const pl_html_view *v, const pl_html_group *g,
                       const char *const what[2])
{
    const pl_value *x = g->value;
    const pl_placement at[2] = { v->made[x->id], v->used[x->id] };
    double whole = (double)(pl_shape_count(&x->shape) * pl_type_bytes(x->type));
    int dim[2];
    pl_html_cell_dims(v, x, 2, at, dim);
    pl_text_add(p->out, "<div class=\"card\"><div class=\"what\"><b>%s</b>",
                pl_html_text(p->tmp, g->name));
    if (g->count > 1) pl_text_add(p->out, "<i>\xc3\x97%d</i>", g->count);
    pl_text_add(p->out, "<br/><code>");
    say_shape(p, x, dim);
    pl_text_add(p->out, "</code><br/>");
    pl_html_put_bytes(p, (double)g->bytes);
    if ((double)g->bytes < whole)
        pl_text_add(p->out, "<span class=\"dim\"> of %s</span>", pl_text_size(p->tmp, whole));
    say_place(p, v, x, at, what);
    pl_text_add(p->out, "</div>");
    draw(p, v, g, what[0], &at[0], dim);
    draw(p, v, g, what[1], &at[1], dim);
    pl_text_add(p->out, "</div>\n");
}

static bool is_whole(const pl_html_view *v, const pl_html_group *g)
{
    const pl_placement *made = &v->made[g->value->id], *used = &v->used[g->value->id];
    return !made->n && !made->pending && !used->n && !used->pending;
}

/* Of those no picture says more than a word does. */
static void write_whole(pl_html_page *p, const pl_html_view *v, const pl_html_groups *g,
                        const char *const what[2])
{
    int n = 0;
    for (int i = 0; i < g->n; i++) {
        const pl_value *x = g->at[i].value;
        if (!is_whole(v, &g->at[i])) continue;
        if (!n++)
            pl_text_add(p->out,
                        "<p class=\"all-of\"><span class=\"dim\">%s and %s whole on every "
                        "device:</span>",
                        what[0], what[1]);
        pl_text_add(p->out, " <span><b>%s</b> <code>%s</code> ",
                    pl_html_text(p->tmp, g->at[i].name), pl_shape_text(p->tmp, x->type, &x->shape));
        pl_html_put_bytes(p, (double)g->at[i].bytes);
        if (g->at[i].count > 1) pl_text_add(p->out, "<i>\xc3\x97%d</i>", g->at[i].count);
        pl_text_add(p->out, "</span>");
    }
    if (n) pl_text_add(p->out, "</p>\n");
}

static void write_cards(pl_html_page *p, const pl_html_view *v, const char *name,
                        const pl_html_groups *g, const char *const what[2])
{
    int n = 0;
    pl_text_add(p->out, "<h3>%s</h3>\n", name);
    for (int i = 0; i < g->n; i++) {
        if (is_whole(v, &g->at[i])) continue;
        if (!n++) pl_text_add(p->out, "<div class=\"cards\">\n");
        write_card(p, v, &g->at[i], what);
    }
    if (n) pl_text_add(p->out, "</div>\n");
    write_whole(p, v, g, what);
}

void pl_html_grid_write(pl_html_page *p, const pl_html_view *v)
{
    static const char *const of_weights[2] = { "stored", "used" };
    static const char *const of_activations[2] = { "made", "read" };
    const pl_html_groups weights = pl_html_view_weights(v, p->tmp);
    const pl_html_groups made = pl_html_view_activations(v, MOST_ACTIVATIONS, p->tmp);
    pl_text_add(p->out,
                "<section><h2>Where tensors live</h2>\n<p class=\"dim\">A square is a tensor, "
                "cut as the devices hold it. Stored: between steps. Used: as the forward pass "
                "reads it. Bytes are those of one device; of more than two dimensions, the "
                "underlined ones are shown.</p>\n");
    pl_html_cell_legend(p, v);
    write_cards(p, v, "Weights", &weights, of_weights);
    write_cards(p, v, "Largest activations", &made, of_activations);
    pl_text_add(p->out, "</section>\n");
}
