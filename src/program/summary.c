#include "program/summary.h"

#include "plan/move.h"

#include <stdlib.h>
#include <string.h>

#define DIGITS "0123456789"
#define WORD DIGITS "_abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"

const char *pl_summary_fold(pl_arena *a, const char *name)
{
    char *out = pl_arena_text(a, name), *to = out;
    while (*name) {
        size_t n = strspn(name, WORD);
        bool number = n && strspn(name, DIGITS) == n;
        if (number) *to++ = '*';
        for (size_t i = 0; i < n && !number; i++) *to++ = name[i];
        name += n;
        if (*name) *to++ = *name++;
    }
    *to = 0;
    return out;
}

const char *pl_summary_axes(pl_arena *a, const pl_mesh *m, unsigned axes)
{
    pl_text t = { .arena = a };
    for (int i = 0; i < m->n; i++)
        if (axes >> i & 1) pl_text_add(&t, "%s%s", t.n ? "," : "", m->axis[i].name);
    return pl_text_get(&t);
}

/* -- memory ------------------------------------------------------------------------------------ */

static void add_states(const pl_program *p, pl_arena *tmp, pl_summary *s)
{
    const pl_graph *g = p->plan->graph;
    bool *updates = PL_NEW_N(tmp, bool, g->nodes.n + 1); /* a weight */
    for (int i = 0; i < g->values.n; i++) {
        const pl_value *v = g->values.at[i];
        if (v->trainable && v->next && v->next->maker) updates[v->next->maker->id] = true;
    }
    for (int i = 0; i < p->store->n; i++) {
        const pl_value *v = p->store->state[i].value;
        bool moment = !v->trainable && v->next && v->next->maker && updates[v->next->maker->id];
        *(moment ? &s->optimizer_bytes : &s->weights_bytes) += p->store->state[i].bytes;
    }
}

/* -- messages ---------------------------------------------------------------------------------- */

typedef struct names {
    const pl_graph *graph;
    pl_arena *arena;
    const char **of; /* [values] what it is to a state; NULL: nothing */
} names;

/* What the update of a weight reads beside states and inputs, in the weight's shape, is its
 * gradient. */
static void name_gradient(names *n, const pl_value *weight)
{
    const pl_node *update = weight->next->maker;
    for (int k = 0; k < update->n_in; k++) {
        const pl_value *x = update->in[k];
        if (x->maker && pl_shape_same(&x->shape, &weight->shape))
            n->of[x->id] =
                pl_arena_fmt(n->arena, "gradient of %s", pl_summary_fold(n->arena, weight->name));
    }
}

static names make_names(const pl_graph *g, pl_arena *arena)
{
    names n = { g, arena, PL_NEW_N(arena, const char *, g->values.n + 1) };
    for (int i = 0; i < g->values.n; i++) {
        const pl_value *v = g->values.at[i];
        if (v->role != PL_STATE || !v->next || !v->next->maker) continue;
        n.of[v->next->id] = pl_arena_fmt(arena, "new %s", pl_summary_fold(arena, v->name));
        if (v->trainable) name_gradient(&n, v);
    }
    return n;
}

static const char *value_text(const names *n, const pl_value *v)
{
    return n->of[v->id] ? n->of[v->id] : pl_summary_fold(n->arena, v->name);
}

/* A message of several tensors carries the name of the first, and how many more there are. */
static const char *tensor_text(const names *n, const pl_step *x)
{
    if (x->transfer) return value_text(n, x->transfer->value);
    const char *more = strstr(x->label, " (");
    const char *first =
        pl_arena_span(n->arena, x->label, more ? (size_t)(more - x->label) : strlen(x->label));
    const pl_value *v = pl_graph_find(n->graph, first);
    return pl_arena_fmt(n->arena, "%s and others",
                        v ? value_text(n, v) : pl_summary_fold(n->arena, first));
}

/* Several tensors share a message in a reduction only. A broadcast is passed on along the group in
 * small pieces (van de Geijn and Watts, SUMMA, 1997): it takes its root as long as the others. */
static double price(const pl_program *p, const pl_step *x)
{
    int64_t block = x->count * pl_type_bytes(x->type);
    if (x->collective == PL_COLLECTIVE_BROADCAST)
        return pl_move_seconds(PL_PERMUTE, &p->plan->mesh, x->axes, block);
    pl_move_kind kind = x->transfer ? x->transfer->move.kind : PL_REDUCE;
    return pl_move_seconds(kind, &p->plan->mesh, x->axes, x->bytes);
}

static pl_summary_row *find_row(pl_summary *s, const pl_step *x, const char *tensor)
{
    int i = 0;
    while (i < s->n && (s->row[i].collective != x->collective || s->row[i].axes != x->axes ||
                        strcmp(s->row[i].tensor, tensor)))
        i++;
    if (i == s->n) s->row[s->n++] = (pl_summary_row){ x->collective, x->axes, tensor, 0, 0, 0 };
    return &s->row[i];
}

static int by_bytes(const void *a, const void *b)
{
    const pl_summary_row *x = a, *y = b;
    if (x->bytes != y->bytes) return x->bytes > y->bytes ? -1 : 1;
    if (x->collective != y->collective) return x->collective < y->collective ? -1 : 1;
    if (x->axes != y->axes) return x->axes < y->axes ? -1 : 1;
    return strcmp(x->tensor, y->tensor);
}

/* A shift is a send and a receive: it is counted where it is received. */
static void add_messages(const pl_program *p, pl_arena *out, pl_summary *s)
{
    const names n = make_names(p->plan->graph, out);
    s->row = PL_NEW_N(out, pl_summary_row, p->n_messages + 1);
    for (int i = 0; i < p->n_steps; i++) {
        const pl_step *x = &p->step[i];
        if (x->kind != PL_MESSAGE || x->collective == PL_COLLECTIVE_SEND) continue;
        pl_summary_row *row = find_row(s, x, tensor_text(&n, x));
        double seconds = price(p, x);
        row->count++;
        row->bytes += x->bytes;
        row->seconds += seconds;
        s->message_seconds += seconds;
    }
    qsort(s->row, (size_t)s->n, sizeof *s->row, by_bytes);
}

void pl_summary_make(const pl_program *p, pl_arena *out, pl_summary *s)
{
    pl_arena *tmp = pl_arena_new("summary");
    *s = (pl_summary){ .work_bytes = p->work_bytes,
                       .work_bound_bytes = p->work_bound,
                       .message_bytes = p->message_bytes };
    add_states(p, tmp, s);
    pl_arena_free(tmp);
    add_messages(p, out, s);
}
