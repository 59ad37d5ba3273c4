/* The messages of a step, by kind, axes and tensor. */
#include "report/html_page.h"

enum { MOST_ROWS = 24 };

static void write_row(pl_html_page *p, const pl_html_view *v, const pl_summary_row *r, double most)
{
    const pl_step like = { .kind = PL_MESSAGE, .collective = r->collective };
    pl_text_add(p->out,
                "<tr><td><i class=\"k%d\"></i>%s</td><td>%s</td><td>%s</td><td class=\"n\">%lld"
                "</td><td class=\"n\">",
                pl_html_view_kind(&like), pl_collective_name(r->collective),
                pl_html_text(p->tmp, pl_summary_axes(p->tmp, v->mesh, r->axes)),
                pl_html_text(p->tmp, r->told), (long long)r->count);
    pl_html_put_bytes(p, (double)r->bytes);
    pl_text_add(p->out, "</td><td class=\"n\">");
    pl_html_put_seconds(p, r->seconds);
    pl_text_add(p->out,
                "</td><td><svg width=\"200\" height=\"10\"><path class=\"k%d\" "
                "d=\"M0 0h%.1fv10H0z\"/></svg></td></tr>\n",
                pl_html_view_kind(&like), most > 0 ? 200 * r->seconds / most : 0);
}

void pl_html_message_write(pl_html_page *p, const pl_html_view *v)
{
    const pl_summary *s = &v->sum;
    double most = 0;
    int64_t count = 0;
    pl_text_add(p->out, "<section><h2>Messages of one step</h2>\n");
    if (!s->n) {
        pl_text_add(p->out, "<p>There are none.</p></section>\n");
        return;
    }
    for (int i = 0; i < s->n; i++) {
        if (s->row[i].seconds > most) most = s->row[i].seconds;
        count += s->row[i].count;
    }
    pl_text_add(p->out,
                "<p class=\"dim\">What one device receives. Seconds are those of the messages one "
                "after another, alone on their links.</p>\n<table class=\"full\"><thead><tr>"
                "<th>message</th><th>over</th><th>tensor</th><th class=\"n\">times</th>"
                "<th class=\"n\">received</th><th class=\"n\">time</th><th></th></tr></thead>"
                "<tbody>\n");
    for (int i = 0; i < s->n && i < MOST_ROWS; i++) write_row(p, v, &s->row[i], most);
    if (s->n > MOST_ROWS) {
        int64_t bytes = 0;
        double seconds = 0;
        for (int i = MOST_ROWS; i < s->n; i++)
            bytes += s->row[i].bytes, seconds += s->row[i].seconds;
        pl_text_add(p->out,
                    "<tr class=\"dim\"><td>%d smaller rows</td><td></td><td></td><td></td>"
                    "<td class=\"n\">%s</td><td class=\"n\">%s</td><td></td></tr>\n",
                    s->n - MOST_ROWS, pl_text_size(p->tmp, (double)bytes),
                    pl_html_seconds(p->tmp, seconds));
    }
    pl_text_add(p->out,
                "</tbody><tfoot><tr><td>all</td><td></td><td></td><td class=\"n\">%lld</td>"
                "<td class=\"n\">",
                (long long)count);
    pl_html_put_bytes(p, (double)s->message_bytes);
    pl_text_add(p->out, "</td><td class=\"n\">");
    pl_html_put_seconds(p, s->message_seconds);
    pl_text_add(p->out, "</td><td></td></tr></tfoot></table></section>\n");
}
