/* The steps of a program as columns of numbers, few bytes each: a plan of 192 blocks has 25,000.
 *
 * Times are whole ticks, `ticks` of them in a second, so that those of a step differ by less than a
 * ten millionth of it. A step begins `gap` ticks after the end of the one before it in its lane,
 * compute or messages, and takes `length`. What steps have in common stands once in `whats`; their
 * labels have a 0 there for each number, which the next ones in `number` replace. */
#include "graph/op.h"
#include "report/html_page.h"

#include "base/map.h"

#include <math.h>
#include <string.h>

static const double least_ticks = 1e7; /* in a step */

typedef struct column {
    int n, cap;
    int64_t *at;
} column;

typedef struct writer {
    pl_map map; /* from a text with all of it to the place in `whats` */
    struct {
        int n, cap;
        const char **at;
    } texts;
    column what, gap, length, number;
    pl_arena *tmp;
    pl_json_out *out;
} writer;

/* A number is a 0, or up to 9 digits of which the first is no 0: it is written as it was read. */
static const char *take_numbers(const char *label, column *numbers, pl_arena *tmp)
{
    static const char digits[] = "0123456789";
    pl_text t = { .arena = tmp };
    while (*label) {
        size_t n = strcspn(label, digits);
        pl_text_span(&t, label, n);
        label += n;
        n = *label == '0' ? 1 : strspn(label, digits);
        if (!n) continue;
        int64_t number = 0;
        if (n > 9) n = 9;
        for (size_t i = 0; i < n; i++) number = 10 * number + (label[i] - '0');
        PL_PUSH(tmp, numbers, number);
        pl_text_span(&t, "0", 1);
        label += n;
    }
    return pl_text_get(&t);
}

/* What a message passes over, as bits: axes of the mesh, and after them the ways to and from the
 * host, and the host itself, for its kernels. */
static unsigned links_of(const pl_step *x)
{
    if (pl_step_is_compute(x)) return 0;
    const int lane = pl_step_lane(x);
    return lane > PL_LANE_RECV ? 1u << (PL_MAX_AXES + lane - PL_LANE_OUT) : x->axes;
}

/* Writes what the step is, unless a step before it was the same; and notes which it is. */
static void put_what(writer *w, const pl_step *x)
{
    const bool message = !pl_step_is_compute(x);
    const int kind = (int)pl_html_view_kind(x);
    const char *label = take_numbers(x->label, &w->number, w->tmp);
    const char *op = pl_step_is_kernel(x) ? x->share->node->op->name : "";
    const char *text = pl_arena_fmt(w->tmp, "%d %u %lld %s %s", kind, links_of(x),
                                    message ? (long long)x->bytes : 0, op, label);
    const uint64_t hash = pl_hash_text(0, text);
    PL_MAP_EACH (&w->map, hash, at)
        if (!strcmp(w->texts.at[at.value], text)) {
            PL_PUSH(w->tmp, &w->what, at.value);
            return;
        }
    pl_map_put(&w->map, hash, w->texts.n, w->tmp);
    PL_PUSH(w->tmp, &w->what, w->texts.n);
    PL_PUSH(w->tmp, &w->texts, text);
    pl_json_open(w->out, NULL, PL_JSON_OBJECT);
    PL_JSON_PUT(w->out, "label", label, "kind", kind);
    if (message) PL_JSON_PUT(w->out, "axes", links_of(x), "bytes", x->bytes);
    if (*op) pl_json_put_text(w->out, "op", op);
    pl_json_close(w->out);
}

static void add_times(writer *w, const pl_html_plan *x, double ticks)
{
    int64_t end[2] = { 0 }; /* of the last step: of compute, of messages */
    for (int i = 0; i < x->program->n_steps; i++) {
        int64_t *last = &end[!pl_step_is_compute(&x->program->step[i])];
        const int64_t from = llround(x->forecast->begin[i] * ticks);
        PL_PUSH(w->tmp, &w->gap, from - *last);
        *last = llround(x->forecast->end[i] * ticks);
        PL_PUSH(w->tmp, &w->length, *last - from);
    }
}

static void put_column(pl_json_out *out, const char *key, int n, const int64_t at[])
{
    pl_json_open(out, key, PL_JSON_LIST);
    for (int i = 0; i < n; i++) pl_json_put_int(out, NULL, at[i]);
    pl_json_close(out);
}

void pl_html_steps_put(const pl_html_plan *x, pl_arena *tmp, pl_json_out *out)
{
    writer w = { .tmp = tmp, .out = out };
    double ticks = 1;
    while (x->forecast->step_seconds > 0 && x->forecast->step_seconds * ticks < least_ticks)
        ticks *= 10;
    pl_json_open_lines(out, "steps", PL_JSON_OBJECT);
    pl_json_open_lines(out, "whats", PL_JSON_LIST);
    for (int i = 0; i < x->program->n_steps; i++) put_what(&w, &x->program->step[i]);
    pl_json_close(out);
    add_times(&w, x, ticks);
    PL_JSON_PUT(out, "ticks", ticks, "peak", x->forecast->peak_step);
    put_column(out, "what", w.what.n, w.what.at);
    put_column(out, "gap", w.gap.n, w.gap.at);
    put_column(out, "length", w.length.n, w.length.at);
    put_column(out, "live", x->program->n_steps, x->forecast->live);
    put_column(out, "number", w.number.n, w.number.at);
    pl_json_close(out);
}
