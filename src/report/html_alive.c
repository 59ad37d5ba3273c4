/* The tensors that the work block holds while a step runs, read off the program alone: the last
 * contents of each range of bytes, if a later step reads it before another overwrites it. */
#include "report/html_page.h"

#include "reshard/move.h"

#include <stdlib.h>
#include <string.h>

typedef struct held {
    const pl_value *value;
    pl_form form;
    int64_t at, bytes;
    bool read, lost; /* by the step or later; overwritten before */
} held;

typedef struct holding {
    int n, cap;
    held *at;
} holding;

/* -- ranges of a step -------------------------------------------------------------------------- */

/* Bytes of one form of a transfer. */
static int64_t form_bytes(const pl_mesh *mesh, const pl_transfer *t, pl_form form)
{
    const pl_move *m = &t->move;
    int64_t size = pl_type_bytes(t->value->type);
    if (form == PL_PART_FROM) return size * pl_placement_room(&m->from, mesh, &t->value->shape);
    if (form == PL_PART_TO) return size * pl_placement_room(&m->to, mesh, &t->value->shape);
    return size * m->block * (m->kind == PL_HALO ? 1 : pl_move_members(mesh, m->axes));
}

/* What operand k of a step (inputs, then outputs) is; false when the step does not say. */
static bool describe(const pl_mesh *mesh, const pl_step *x, int k, held *out)
{
    bool in = k < x->n_in;
    pl_slot slot = in ? x->in[k] : x->out[k - x->n_in];
    *out = (held){ .at = slot.at };
    if (slot.state || slot.host) return false;
    if (x->kind == PL_KERNEL) {
        const pl_node *n = x->share->node;
        if (in ? k >= n->n_in : k - x->n_in >= n->n_out) return false;
        const pl_shape *s = in ? &x->share->shape[k] : pl_share_out(x->share, k - x->n_in);
        out->value = in ? n->in[k] : n->out[k - x->n_in];
        out->form = PL_PART_TO;
        out->bytes = pl_shape_count(s) * pl_type_bytes(out->value->type);
    } else if (x->transfer) {
        out->value = x->transfer->value;
        out->form = in ? x->from : x->to;
        out->bytes = form_bytes(mesh, x->transfer, out->form);
    } else if (x->kind != PL_COPY) { /* of several tensors, in place; a fill, a fold */
        out->bytes = x->count * pl_type_bytes(x->type);
    }
    return out->bytes > 0;
}

static bool meets(const held *a, const held *b)
{
    return a->at < b->at + b->bytes && b->at < a->at + a->bytes;
}

/* -- before and after -------------------------------------------------------------------------- */

static void write_over(holding *h, const held *x, pl_arena *tmp)
{
    int n = 0;
    held made = *x;
    if (!x->value) return; /* in place, or zeros: the value follows */
    for (int i = 0; i < h->n; i++) {
        held *o = &h->at[i];
        if (!meets(o, x)) {
            h->at[n++] = *o;
        } else if (o->value == x->value && o->form == x->form) { /* block after block */
            int64_t end =
                made.at + made.bytes > o->at + o->bytes ? made.at + made.bytes : o->at + o->bytes;
            made.at = made.at < o->at ? made.at : o->at;
            made.bytes = end - made.at;
        }
    }
    h->n = n;
    PL_PUSH(tmp, h, made);
}

static void follow(const pl_mesh *mesh, const pl_step *x, holding *h)
{
    held r;
    for (int k = 0; k < x->n_in + x->n_out; k++) {
        if (!describe(mesh, x, k, &r)) continue;
        for (int i = 0; i < h->n; i++) {
            held *o = &h->at[i];
            if (!meets(o, &r) || o->lost) continue;
            if (k < x->n_in)
                o->read = true;
            else if (r.value && !(o->value == r.value && o->form == r.form))
                o->lost = true;
        }
    }
}

/* -- names ------------------------------------------------------------------------------------- */

static const char *name(const held *x, pl_arena *arena)
{
    static const char *const of[] = { "", "blocks to send of ", "received blocks of ", "" };
    const char *fold = pl_summary_fold(arena, x->value->name);
    bool moved = x->value->role == PL_STATE && x->form == PL_PART_TO;
    return pl_arena_fmt(arena, "%s%s", moved ? "gathered " : of[x->form], fold);
}

static int by_bytes(const void *a, const void *b)
{
    const pl_html_alive *x = a, *y = b;
    if (x->bytes != y->bytes) return x->bytes > y->bytes ? -1 : 1;
    return strcmp(x->name, y->name);
}

int pl_html_alive_find(const pl_program *p, int step, pl_arena *arena, pl_html_alive **at)
{
    const pl_mesh *mesh = &p->plan->mesh;
    holding h = { 0 };
    held x;
    int n = 0;
    for (int i = 0; i <= step; i++)
        for (int k = p->step[i].n_in; k < p->step[i].n_in + p->step[i].n_out; k++)
            if (describe(mesh, &p->step[i], k, &x)) write_over(&h, &x, arena);
    for (int i = step; i < p->n_steps; i++) follow(mesh, &p->step[i], &h);
    *at = PL_NEW_N(arena, pl_html_alive, h.n + 1);
    for (int i = 0; i < h.n; i++) {
        const char *text = name(&h.at[i], arena);
        int k = 0;
        if (!h.at[i].read) continue;
        while (k < n && strcmp((*at)[k].name, text)) k++;
        if (k == n) (*at)[n++] = (pl_html_alive){ text, 0, 0 };
        (*at)[k].count++;
        (*at)[k].bytes += h.at[i].bytes;
    }
    if (n) qsort(*at, (size_t)n, sizeof **at, by_bytes);
    return n;
}

void pl_html_alive_put(const pl_program *p, int step, pl_arena *tmp, pl_json_out *out)
{
    pl_html_alive *at;
    const int n = p->n_steps ? pl_html_alive_find(p, step, tmp, &at) : 0;
    pl_json_open_lines(out, "alive", PL_JSON_LIST);
    for (int i = 0; i < n; i++)
        PL_JSON_ROW(out, NULL, "name", at[i].name, "count", at[i].count, "bytes", at[i].bytes);
    pl_json_close(out);
}
