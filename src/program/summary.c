#include "program/summary.h"

#include "program/account.h"
#include "program/names.h"

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
    return axes ? pl_text_get(&t) : "host";
}

/* -- messages ---------------------------------------------------------------------------------- */

typedef struct names {
    const pl_graph *graph;
    pl_arena *arena;
    const char **of; /* [values] what it is to a state; NULL: nothing */
    bool *updated;   /* [values] the next one of a state              */
    bool *sum;       /* [values] the sum of a weight's gradients      */
    pl_names *row;   /* [rows] what is told of each                   */
} names;

static names make_names(const pl_graph *g, pl_arena *arena)
{
    names n = { .graph = g, .arena = arena };
    n.of = PL_NEW_N(arena, const char *, g->values.n + 1);
    n.updated = PL_NEW_N(arena, bool, g->values.n + 1);
    n.sum = PL_NEW_N(arena, bool, g->values.n + 1);
    for (int i = 0; i < g->values.n; i++) {
        const pl_value *v = g->values.at[i];
        if (!v->next || !v->next->maker) continue;
        const bool sum = v->kind == PL_GRAD_SUM;
        n.of[v->next->id] =
            pl_arena_fmt(arena, sum ? "gradient of %s" : "new %s", sum ? v->of->name : v->name);
        *(sum ? &n.sum[v->next->id] : &n.updated[v->next->id]) = true;
    }
    for (int i = 0; i < g->values.n; i++)
        if (g->values.at[i]->maker && g->values.at[i]->of)
            n.of[i] = pl_arena_fmt(arena, "gradient of %s", g->values.at[i]->of->name);
    return n;
}

static const char *value_text(const names *n, const pl_value *v)
{
    return n->of[v->id] ? n->of[v->id] : v->name;
}

/* A message of several tensors carries the name of the first, and how many more there are. */
static const pl_value *value_of(const names *n, const pl_step *x)
{
    if (x->transfer) return x->transfer->value;
    const char *more = strstr(x->label, " (");
    size_t length = more ? (size_t)(more - x->label) : strlen(x->label);
    return pl_graph_find(n->graph, pl_arena_span(n->arena, x->label, length));
}

static const char *tensor_text(const names *n, const pl_step *x, const pl_value *v)
{
    const char *name = v ? value_text(n, v) : x->label;
    return x->transfer ? name : pl_arena_fmt(n->arena, "%s and others", name);
}

/* A number (the loss) shares a message with larger tensors only among gradients: these alone wait
 * for each other. */
static const char *kind_of(const names *n, const pl_step *x, const pl_value *v)
{
    const pl_value *leaf = v ? pl_graph_leaf(v) : NULL;
    if (v && v->maker && (v->of || n->sum[v->id])) return "gradients";
    if (v && n->updated[v->id]) return "updated states";
    if (leaf && leaf->role == PL_INPUT) return "inputs";
    if (leaf) return leaf->kind == PL_WEIGHT ? "weights" : "states";
    if (v && v->maker && v->maker->phase == PL_UPDATE && v->shape.rank) return "terms of updates";
    return v && !x->transfer && !v->shape.rank ? "gradients" : "activations";
}

static pl_summary_row *find_row(pl_summary *s, const pl_step *x, const char *tensor)
{
    int i = 0;
    while (i < s->n && (s->row[i].collective != x->collective || s->row[i].axes != x->axes ||
                        strcmp(s->row[i].tensor, tensor)))
        i++;
    if (i == s->n)
        s->row[s->n++] =
            (pl_summary_row){ .collective = x->collective, .axes = x->axes, .tensor = tensor };
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

static void tell_names(const names *n, pl_summary *s)
{
    pl_names **row = PL_NEW_N(n->arena, pl_names *, s->n + 1);
    for (int i = 0; i < s->n; i++) row[i] = &n->row[i];
    pl_names_tell(s->n, row, n->arena);
    for (int i = 0; i < s->n; i++) s->row[i].told = row[i]->told;
}

/* The block that has a value, counted in the whole graph; -1: none, or all are here. */
static int block_of(const pl_short *few, const pl_value *v)
{
    const int block = few && v ? few->block[v->id] : -1;
    return block < 0 ? -1 : pl_short_instance(few, block);
}

/* A shift is a send and a receive: it is counted where it is received. */
static void add_messages(const pl_program *p, const pl_forecast *f, pl_arena *out, pl_summary *s)
{
    const int *times = f ? f->times : NULL;
    const pl_short *few = f ? f->few : NULL;
    names n = make_names(p->plan->graph, out);
    n.row = PL_NEW_N(out, pl_names, p->n_messages + 1);
    s->row = PL_NEW_N(out, pl_summary_row, p->n_messages + 1);
    for (int i = 0; i < p->n_steps; i++) {
        const pl_step *x = &p->step[i];
        if (x->kind != PL_MESSAGE || x->collective == PL_SEND) continue;
        const pl_value *v = value_of(&n, x);
        const char *tensor = tensor_text(&n, x, v);
        pl_summary_row *row = find_row(s, x, pl_summary_fold(out, tensor));
        if (!row->kind) row->kind = kind_of(&n, x, v);
        n.row[row - s->row].few = few;
        pl_names_add(&n.row[row - s->row], tensor, block_of(few, v), out);
        const int64_t runs = (times ? times[i] : 1) * pl_program_runs(p, x);
        const double seconds = (double)runs * pl_account_message(p, x);
        row->count += runs;
        row->bytes += runs * x->bytes;
        row->seconds += seconds;
        if (pl_step_is_host(x)) continue;
        s->message_bytes += runs * x->bytes;
        s->message_seconds += seconds;
    }
    tell_names(&n, s);
    qsort(s->row, (size_t)s->n, sizeof *s->row, by_bytes);
}

void pl_summary_make(const pl_program *p, pl_arena *out, pl_summary *s)
{
    pl_account states = pl_account_states(p->store);
    *s = (pl_summary){ .weights_bytes = states.weights + states.gradients,
                       .optimizer_bytes = states.optimizer,
                       .work_bytes = p->work_bytes,
                       .work_bound_bytes = p->work_bound };
    add_messages(p, NULL, out, s);
}

void pl_summary_fold_make(const pl_program *p, const pl_forecast *f, pl_arena *out, pl_summary *s)
{
    *s = (pl_summary){ 0 };
    add_messages(p, f, out, s);
}
