/* Texts and numbers of the page. */
#include "report/html_page.h"

#include <math.h>
#include <string.h>

/* Bytes of the UTF-8 character at `s`, or 0 when there is none. Source: RFC 3629, section 4. */
static size_t measure(const char *s)
{
    const unsigned char *c = (const unsigned char *)s;
    size_t n = c[0] < 0x80                   ? 1
               : c[0] >= 0xc2 && c[0] < 0xe0 ? 2
               : c[0] >= 0xe0 && c[0] < 0xf0 ? 3
               : c[0] >= 0xf0 && c[0] < 0xf5 ? 4
                                             : 0;
    for (size_t i = 1; i < n; i++)
        if ((c[i] & 0xc0) != 0x80) return 0;
    if ((c[0] == 0xe0 && c[1] < 0xa0) || (c[0] == 0xed && c[1] > 0x9f) ||
        (c[0] == 0xf0 && c[1] < 0x90) || (c[0] == 0xf4 && c[1] > 0x8f))
        return 0;
    return n == 1 && (c[0] < 0x20 || c[0] == 0x7f) ? 0 : n;
}

const char *pl_html_text(pl_arena *a, const char *raw)
{
    static const struct {
        char c;
        const char *text;
    } special[] = {
        { '&', "&amp;" }, { '<', "&lt;" }, { '>', "&gt;" }, { '"', "&quot;" }, { '\'', "&#39;" },
    };
    pl_text t = { .arena = a };
    while (*raw) {
        size_t n = measure(raw), i = 0;
        while (i < sizeof special / sizeof *special && special[i].c != *raw) i++;
        if (i < sizeof special / sizeof *special)
            pl_text_add(&t, "%s", special[i].text);
        else if (n)
            pl_text_add(&t, "%.*s", (int)n, raw);
        else
            pl_text_add(&t, "\xef\xbf\xbd");
        raw += n ? n : 1;
    }
    return pl_text_get(&t);
}

const char *pl_html_seconds(pl_arena *a, double seconds)
{
    static const struct {
        double unit;
        const char *name;
    } units[] = { { 1, "s" }, { 1e-3, "ms" }, { 1e-6, "\xc2\xb5s" } };
    int u = 0;
    while (u < 2 && fabs(seconds) < 0.9995 * units[u].unit) u++;
    double x = seconds / units[u].unit;
    int digits = fabs(x) < 9.995 ? 2 : fabs(x) < 99.95 ? 1 : 0;
    return seconds == 0 ? "0" : pl_arena_fmt(a, "%.*f %s", digits, x, units[u].name);
}

const char *pl_html_count(pl_arena *a, int64_t n)
{
    pl_text t = { .arena = a };
    int64_t unit = 1;
    while (n / unit >= 1000) unit *= 1000;
    pl_text_add(&t, "%lld", (long long)(n / unit));
    for (unit /= 1000; unit; unit /= 1000) pl_text_add(&t, ",%03lld", (long long)(n / unit % 1000));
    return pl_text_get(&t);
}

void pl_html_put_seconds(pl_html_page *p, double seconds)
{
    pl_text_add(p->out, "<data value=\"%.17g\">%s</data>", seconds,
                pl_html_seconds(p->tmp, seconds));
}

void pl_html_put_bytes(pl_html_page *p, double bytes)
{
    pl_text_add(p->out, "<data value=\"%.17g\">%s</data>", bytes, pl_text_size(p->tmp, bytes));
}

const char *pl_html_mesh(pl_arena *a, const pl_mesh *m)
{
    pl_text t = { .arena = a };
    for (int i = 0; i < m->n; i++)
        pl_text_add(&t, "%s%s=%d", i ? " " : "", pl_html_text(a, m->axis[i].name), m->axis[i].size);
    return m->n ? pl_text_get(&t) : "one device";
}

const char *pl_html_place(const pl_html_view *v, const pl_value *x, const pl_placement *p,
                          pl_arena *a)
{
    if (!p->n && !p->pending) return "whole";
    return pl_html_text(a, pl_placement_text(a, p, v->mesh, x->shape.rank));
}
