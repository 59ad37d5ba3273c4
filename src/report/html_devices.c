/* The cluster that a forecast is for: every figure with its source, and which rank has which place
 * on the mesh. */
#include "cluster/field.h"
#include "report/html_page.h"

static void write_row(pl_html_page *p, const char *of, const char *key, const char *value,
                      const char *source)
{
    pl_text_add(p->out, "<tr><td>%s</td><td>%s</td><td class=\"n\">%s</td><td>%s</td></tr>\n",
                pl_html_text(p->tmp, of), key, value, pl_html_text(p->tmp, source));
}

/* `row` is a class or a level, which pl_field_at reads only. */
static void write_fields(pl_html_page *p, const char *of, const pl_field fields[], const void *row)
{
    for (const pl_field *f = fields; f->key; f++) {
        const pl_figure *x = pl_field_at(f, (void *)(uintptr_t)row);
        write_row(p, of, f->key, pl_unit_text(p->tmp, f->unit, x->value), x->source);
    }
}

static void write_level(pl_html_page *p, const pl_level *l)
{
    write_row(p, l->name, "size", pl_arena_fmt(p->tmp, "%d", l->size), "");
    if (l->link.n_points)
        write_row(p, l->name, "messages",
                  pl_arena_fmt(p->tmp, "%d measured times", l->link.n_points), l->curve_source);
    write_fields(p, l->name, l->link.n_points ? pl_field_curved : pl_field_level, l);
}

/* "rank = 8 ethernet + nvlink" */
static void write_ranks(pl_html_page *p, const pl_mesh *m)
{
    pl_text_add(p->out, "<p>rank =");
    int stride = pl_mesh_ranks(m);
    for (int i = 0; i < m->n; i++) {
        stride /= m->axis[i].size;
        pl_text_add(p->out, "%s ", i ? " +" : "");
        if (stride > 1) pl_text_add(p->out, "%d\xc3\x97", stride);
        pl_text_add(p->out, "<b>%s</b>", pl_html_text(p->tmp, m->axis[i].name));
    }
    pl_text_add(p->out, ", each counted from 0; rank <i>d</i> is device <i>d</i></p>\n");
}

void pl_html_devices_write(pl_html_page *p, const pl_html_view *v)
{
    const pl_cluster *c = v->in->devices;
    pl_text_add(p->out, "<section><h2>Devices and links</h2>\n");
    if (v->mesh->n) write_ranks(p, v->mesh);
    pl_text_add(p->out,
                "<details><summary>the figures of %s, and where they are from</summary>\n"
                "<table class=\"full\"><tbody>\n",
                pl_html_text(p->tmp, c->name));
    for (int i = 0; i < c->n_classes; i++)
        write_fields(p, c->class[i].name, pl_field_class, &c->class[i]);
    for (int i = 0; i < c->n_levels; i++) write_level(p, &c->level[i]);
    pl_text_add(p->out, "</tbody></table></details></section>\n");
}
