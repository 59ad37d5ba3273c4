#include "report/compare.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* -- rows -------------------------------------------------------------------------------------- */

/* What the axes of a group are to its messages. */
typedef struct links {
    int devices;
    double latency, per_byte; /* the slowest */
} links;

typedef struct rows {
    int n, cap;
    pl_compare_row *at;
    links *links; /* [n], grown alike */
    int n_links, cap_links;
} rows;

static links links_of(const pl_mesh *m, unsigned axes)
{
    links l = { 1, 0, 0 };
    for (int i = 0; i < m->n; i++) {
        if (!(axes >> i & 1)) continue;
        l.devices *= m->axis[i].size;
        l.latency = fmax(l.latency, m->axis[i].latency);
        l.per_byte = fmax(l.per_byte, m->axis[i].per_byte);
    }
    return l;
}

static bool is_alike(const links *a, const links *b)
{
    return a->devices == b->devices && fabs(a->latency - b->latency) <= 1e-9 * a->latency &&
           fabs(a->per_byte - b->per_byte) <= 1e-9 * a->per_byte;
}

static pl_compare_row *find_row(rows *x, const pl_summary_row *r, const char *tensor, links l,
                                pl_arena *out)
{
    int i = 0;
    while (i < x->n && (x->at[i].collective != r->collective || !is_alike(&x->links[i], &l) ||
                        strcmp(x->at[i].tensor, tensor) != 0))
        i++;
    if (i < x->n) return &x->at[i];
    pl_compare_row row = { .collective = r->collective, .tensor = tensor };
    struct {
        int n, cap;
        links *at;
    } list = { x->n, x->cap_links, x->links };
    PL_PUSH(out, &list, l);
    x->cap_links = list.cap, x->links = list.at;
    PL_PUSH(out, x, row);
    return &x->at[i];
}

static void add_row(rows *x, int side, const pl_summary_row *r, const char *tensor,
                    const pl_mesh *m, pl_arena *out)
{
    pl_compare_row *row = find_row(x, r, tensor, links_of(m, r->axes), out);
    if (!row->axes[side]) row->axes[side] = pl_summary_axes(out, m, r->axes);
    row->count[side] += r->count;
    row->bytes[side] += r->bytes;
    row->seconds[side] += r->seconds;
}

static double more(const pl_compare_row *r)
{
    return r->seconds[0] - r->seconds[1];
}

static int by_difference(const void *a, const void *b)
{
    const pl_compare_row *x = a, *y = b;
    double dx = fabs(more(x)), dy = fabs(more(y));
    if (dx != dy) return dx > dy ? -1 : 1;
    if (x->collective != y->collective) return x->collective < y->collective ? -1 : 1;
    return strcmp(x->tensor, y->tensor);
}

static void add_side(const pl_compare_side *s, int side, rows *row, rows *kind, pl_arena *out)
{
    const pl_mesh *mesh = &s->program->plan->mesh;
    for (int i = 0; i < s->summary->n; i++) {
        const pl_summary_row *r = &s->summary->row[i];
        add_row(row, side, r, r->tensor, mesh, out);
        add_row(kind, side, r, r->kind, mesh, out);
    }
}

/* -- all --------------------------------------------------------------------------------------- */

static void add_memory(const pl_forecast_memory *m, int side, pl_compare *c)
{
    const pl_compare_item items[PL_COMPARE_ITEMS] = {
        { "weights", { m->weights } },         { "optimizer", { m->optimizer } },
        { "gradients", { m->gradients } },     { "activations", { m->activations } },
        { "message buffers", { m->buffers } }, { "transient", { m->transient } },
    };
    c->peak[side] = m->peak;
    for (int i = 0; i < PL_COMPARE_ITEMS; i++) {
        c->memory[i].name = items[i].name;
        c->memory[i].bytes[side] = items[i].bytes[0];
    }
}

void pl_compare_make(const pl_compare_side *asked, const pl_compare_side *other, pl_arena *out,
                     pl_compare *c)
{
    const pl_compare_side *const side[2] = { asked, other };
    rows row = { 0 }, kind = { 0 };
    *c = (pl_compare){ 0 };
    for (int i = 0; i < 2; i++) {
        const pl_forecast *f = side[i]->forecast;
        c->name[i] = side[i]->name;
        c->step[i] = f->step_seconds, c->compute[i] = f->compute_seconds;
        c->messages[i] = f->comm_seconds, c->exposed[i] = f->exposed_seconds;
        c->bubble[i] = f->bubble_seconds;
        c->again[i] = f->again_seconds;
        add_memory(&f->memory, i, c);
        add_side(side[i], i, &row, &kind, out);
    }
    c->n = row.n, c->row = row.at;
    c->n_kinds = kind.n, c->kind = kind.at;
    if (c->n) qsort(c->row, (size_t)c->n, sizeof *c->row, by_difference);
    if (c->n_kinds) qsort(c->kind, (size_t)c->n_kinds, sizeof *c->kind, by_difference);
}

/* -- the sentence ------------------------------------------------------------------------------ */

/* The largest items that make up nine tenths of the peak. */
static void add_items(const pl_compare *c, pl_arena *tmp, pl_text *t)
{
    bool told[PL_COMPARE_ITEMS] = { false };
    double sum = 0, peak = (double)c->peak[0];
    for (int k = 0; k < PL_COMPARE_ITEMS && sum < 0.9 * peak; k++) {
        int best = -1;
        for (int i = 0; i < PL_COMPARE_ITEMS; i++)
            if (!told[i] && (best < 0 || c->memory[i].bytes[0] > c->memory[best].bytes[0]))
                best = i;
        told[best] = true;
        sum += (double)c->memory[best].bytes[0];
        pl_text_add(t, "%s%s %s", k ? ", " : "", c->memory[best].name,
                    pl_text_size(tmp, (double)c->memory[best].bytes[0]));
    }
}

static const char *over(const pl_compare_row *r, int side, pl_arena *tmp)
{
    return pl_arena_fmt(tmp, "%s of %s over %s", pl_collective_name(r->collective), r->tensor,
                        r->axes[side]);
}

/* The kind of message that side a has most of beyond side b; NULL: none. */
static const pl_compare_row *find_most(const pl_compare *c, int a, int b)
{
    const pl_compare_row *best = NULL;
    double most = 0;
    for (int i = 0; i < c->n_kinds; i++) {
        double d = c->kind[i].seconds[a] - c->kind[i].seconds[b];
        if (d > most) most = d, best = &c->kind[i];
    }
    return best;
}

static void add_message(const pl_compare *c, const pl_compare_row *r, bool brief, pl_arena *tmp,
                        pl_text *t)
{
    const pl_compare_row *instead = find_most(c, 1, 0);
    pl_text_add(t, "%s takes %.3f ms", over(r, 0, tmp), 1e3 * r->seconds[0]);
    if (brief) {
        if (r->count[1]) pl_text_add(t, ", here %.3f ms", 1e3 * r->seconds[1]);
        return;
    }
    if (r->count[1])
        pl_text_add(t, ", %.3f ms in %s", 1e3 * r->seconds[1], c->name[1]);
    else if (instead)
        pl_text_add(t, "; %s has %s instead, %.3f ms", c->name[1], over(instead, 1, tmp),
                    1e3 * instead->seconds[1]);
    else
        pl_text_add(t, "; %s has none", c->name[1]);
}

static void add_computing(const pl_compare *c, double more, bool brief, pl_text *t)
{
    const double again = c->again[0] - c->again[1];
    pl_text_add(t, "a device computes %.3f ms longer", 1e3 * more);
    if (again > more / 2)
        pl_text_add(t, ", %.3f ms of it as less is kept", 1e3 * fmin(again, more));
    else if (!brief)
        pl_text_add(t, ", as more of the work is done alike on several devices or in parts that "
                       "are less efficient");
}

static void add_slower(const pl_compare *c, bool brief, pl_arena *tmp, pl_text *t)
{
    double compute = c->compute[0] - c->compute[1], exposed = c->exposed[0] - c->exposed[1];
    const pl_compare_row *r = find_most(c, 0, 1);
    pl_text_add(t, "%s is %.3f ms slower", c->name[0], 1e3 * (c->step[0] - c->step[1]));
    if (!brief)
        pl_text_add(t, " than %s (%.3f and %.3f ms)", c->name[1], 1e3 * c->step[0],
                    1e3 * c->step[1]);
    pl_text_add(t, ": ");
    const double bubble = c->bubble[0] - c->bubble[1];
    if (bubble > compute && bubble > exposed / 2)
        pl_text_add(t, "its devices wait %.3f ms for other stages%s", 1e3 * c->bubble[0],
                    brief ? "" : "; more micro-batches, or vpp=N, make that less");
    else if (exposed > compute && r)
        add_message(c, r, brief, tmp, t);
    else if (exposed > compute)
        pl_text_add(t, "%.3f ms more of the same messages are not hidden by computing",
                    1e3 * exposed);
    else
        add_computing(c, compute, brief, t);
}

const char *pl_compare_sentence(const pl_compare *c, double cap, pl_arena *out)
{
    pl_arena *tmp = pl_arena_new("sentence");
    pl_text t = { .arena = out };
    if ((double)c->peak[0] > cap) {
        pl_text_add(&t, "%s does not fit: it needs %s of %s (", c->name[0],
                    pl_text_size(tmp, (double)c->peak[0]), pl_text_size(tmp, cap));
        add_items(c, tmp, &t);
        pl_text_add(&t, ")");
    } else if (fabs(c->step[0] - c->step[1]) <= 1e-6 * c->step[1])
        pl_text_add(&t, "%s is as fast as %s (%.3f ms)", c->name[0], c->name[1], 1e3 * c->step[0]);
    else if (c->step[0] > c->step[1])
        add_slower(c, false, tmp, &t);
    else
        pl_text_add(&t,
                    "%s is %.3f ms faster than %s (%.3f and %.3f ms) by the forecast of their "
                    "programs: the tables of the search count some of it otherwise",
                    c->name[0], 1e3 * (c->step[1] - c->step[0]), c->name[1], 1e3 * c->step[0],
                    1e3 * c->step[1]);
    pl_text_add(&t, ".");
    pl_arena_free(tmp);
    return pl_text_get(&t);
}

const char *pl_compare_brief(const pl_compare *c, double cap, pl_arena *out)
{
    const bool fits = (double)c->peak[0] <= cap;
    if (!fits || c->step[0] <= c->step[1] * (1 + 1e-6)) return pl_compare_sentence(c, cap, out);
    pl_arena *tmp = pl_arena_new("sentence");
    pl_text t = { .arena = out };
    add_slower(c, true, tmp, &t);
    pl_text_add(&t, ".");
    pl_arena_free(tmp);
    return pl_text_get(&t);
}
