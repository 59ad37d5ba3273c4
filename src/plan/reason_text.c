/* Names and choices as text, and the plan in one sentence. */
#include "plan/reason.h"

#include <ctype.h>
#include <math.h>
#include <string.h>

/* -- names ------------------------------------------------------------------------------------- */

/* Letters, digits and "_" are a word; any other character stands alone. */
static size_t word(const char *at)
{
    size_t n = 0;
    while (isalnum((unsigned char)at[n]) || at[n] == '_') n++;
    return n ? n : *at != 0;
}

/* Words that differ become "*". Names of other make are left as they are. */
static const char *merge(const char *a, const char *b, pl_arena *out)
{
    pl_text t = { .arena = out };
    const char *name = a;
    while (*a && *b) {
        size_t n = word(a), m = word(b);
        bool same = n == m && !strncmp(a, b, n);
        if (same)
            pl_text_add(&t, "%.*s", (int)n, a);
        else
            pl_text_add(&t, "*");
        a += n, b += m;
    }
    return *a || *b ? name : pl_text_get(&t);
}

const char *pl_reason_node_name(const pl_tables *t, const pl_node *n, pl_arena *out)
{
    if (pl_tables_copy(t, n) < 0) return n->name;
    const pl_fold_class *c = &t->fold->at[t->fold->class_of[n->id]];
    int slot = t->fold->slot_of[n->id];
    const pl_node *first = t->graph->nodes.at[c->node[0][slot]];
    const pl_node *last = t->graph->nodes.at[c->node[c->n_instances - 1][slot]];
    return merge(first->name, last->name, out);
}

static const char *leaf_name(const pl_tables *t, const pl_value *v, pl_arena *out)
{
    const char *name = v->name;
    if (t->copy[v->id] < 0) return name;
    for (int i = 0; i < t->graph->values.n; i++)
        if (t->like[i] == t->like[v->id]) name = merge(name, t->graph->values.at[i]->name, out);
    return name;
}

/* The weight whose update reads v in its shape; or NULL. */
static const pl_value *weight_of(const pl_graph *g, const pl_value *v)
{
    for (int i = g->nodes.n - 1; i >= 0 && v->maker; i--) {
        const pl_node *n = g->nodes.at[i];
        const pl_value *weight = NULL;
        bool reads = false;
        for (int k = 0; k < n->n_in; k++) {
            const pl_value *x = n->in[k];
            bool changed = x->trainable && x->next && x->next->maker == n;
            if (changed && pl_shape_same(&x->shape, &v->shape)) weight = x;
            reads |= x == v;
        }
        if (reads && weight) return weight;
    }
    return NULL;
}

const char *pl_reason_value_name(const pl_tables *t, const pl_value *v, pl_arena *out)
{
    const pl_value *weight = weight_of(t->graph, v);
    if (weight) return pl_arena_fmt(out, "gradient of %s", leaf_name(t, weight, out));
    if (!v->maker) return leaf_name(t, v, out);
    const char *name = pl_reason_node_name(t, v->maker, out);
    return v->out ? pl_arena_fmt(out, "%s:%d", name, v->out) : name;
}

/* -- choices ----------------------------------------------------------------------------------- */

static void add_set(pl_text *t, unsigned set)
{
    bool more = (set & (set - 1)) != 0;
    pl_text_add(t, "sum pending in input%s", more ? "s" : "");
    for (int i = 0, n = 0; set >> i; i++)
        if (set >> i & 1) pl_text_add(t, "%s%d", n++ ? "," : " ", i + 1);
}

const char *pl_reason_choice(const pl_choice *c, const pl_node *n, const pl_mesh *m, pl_arena *out)
{
    pl_text t = { .arena = out };
    int axes[PL_MAX_AXES];
    unsigned done = 0;
    pl_choice_order(c, m, axes);
    for (int a = 0; a < m->n; a++) {
        int f = c->factor[a];
        if (f == PL_COPIED || m->axis[a].size == 1 || done >> a & 1) continue;
        pl_text_add(&t, "%s", t.n ? ", " : "");
        for (int i = 0, k = 0; i < m->n; i++) {
            bool same = f >= 0 ? c->factor[axes[i]] == f : axes[i] == a;
            if (!same || m->axis[axes[i]].size == 1) continue;
            pl_text_add(&t, "%s%s", k++ ? "+" : "", m->axis[axes[i]].name);
            done |= 1u << axes[i];
        }
        if (f >= 0)
            pl_text_add(&t, ": %c", n->sig->factor[f].letter);
        else {
            pl_text_add(&t, ": ");
            add_set(&t, pl_plan_linear_set(n, PL_LINEAR - f));
        }
    }
    return t.n ? pl_text_get(&t) : "all copied";
}

/* -- the sentence ------------------------------------------------------------------------------ */

static const char *const kinds[PL_N_MOVES] = {
    [PL_GATHER] = "all-gather",   [PL_REDUCE] = "all-reduce", [PL_SCATTER] = "reduce-scatter",
    [PL_EXCHANGE] = "all-to-all", [PL_PERMUTE] = "exchange",  [PL_HALO] = "border exchange",
    [PL_SLICE] = "slice",         [PL_MASK] = "mask",
};

const char *pl_reason_kind(pl_move_kind k)
{
    return kinds[k];
}

const char *pl_reason_axes(const pl_mesh *m, unsigned axes, pl_arena *out)
{
    pl_text t = { .arena = out };
    for (int i = 0; i < m->n; i++)
        if (axes >> i & 1) pl_text_add(&t, "%s%s", t.n ? "," : "", m->axis[i].name);
    return pl_text_get(&t);
}

static void add_times(const pl_reason *r, const pl_reason_parts *p, pl_text *t)
{
    double exposed = p->messages - p->hidden;
    if (p->messages <= 0)
        pl_text_add(t, "the step is computing alone, without any message");
    else if (p->compute >= p->hidden)
        pl_text_add(t,
                    "in the search's figures computing takes %.0f %% of the step, and messages "
                    "that nothing hides %.0f %%",
                    100 * p->compute / r->seconds, 100 * exposed / r->seconds);
    else
        pl_text_add(t,
                    "in the search's figures messages take the whole step, as computing (%.0f %% "
                    "of it) is too short to hide those that could pass beside it",
                    100 * p->compute / r->seconds);
}

static void add_memory(const pl_reason *r, pl_arena *tmp, pl_text *t)
{
    double price = r->answer->price * 0x1p30 * 1e3;
    if (isinf(r->cap))
        pl_text_add(t, "; memory has no limit (%s)", pl_text_size(tmp, r->memory));
    else if (price > 0)
        pl_text_add(t,
                    "; memory binds (%s of %s%s): one GiB more per device would save %.3g ms "
                    "at most",
                    pl_text_size(tmp, r->memory), pl_text_size(tmp, r->cap),
                    r->memory < 0.9 * r->cap ? ", and no faster plan fits" : "", price);
    else
        pl_text_add(t, "; memory does not bind (%s of %s)", pl_text_size(tmp, r->memory),
                    pl_text_size(tmp, r->cap));
}

/* The fastest that does not do what the plan does. */
static const pl_alternative *next_best(const pl_alternatives *a)
{
    int i = 0;
    while (i < a->n && a->at[i].taken) i++;
    return i < a->n ? &a->at[i] : NULL;
}

/* Whose choice a message of the value is: where it is stored, or what its maker does. */
static bool ask_cause(const pl_reason *r, const pl_value *v, pl_arena *tmp, const char **who,
                      pl_alternatives *a)
{
    const pl_tables *t = r->tables;
    pl_err why = { 0 };
    *who = v->maker ? pl_reason_node_name(t, v->maker, tmp) : pl_reason_value_name(t, v, tmp);
    if (v->maker && t->node[v->maker->id] >= 0) return pl_reason_node(r, v->maker, 1, tmp, a, &why);
    return !v->maker && t->store[v->id] >= 0 && pl_reason_ask(r, v, PL_VAR_STORE, 1, tmp, a, &why);
}

static double waits_for(const pl_reason_parts *p, const pl_reason_row *row)
{
    return p->compute >= p->hidden ? row->seconds - row->hidden : row->seconds;
}

/* The row that the step waits for longest, and what could be done instead. */
static void add_longest(const pl_reason *r, const pl_reason_parts *p, pl_arena *tmp, pl_text *t)
{
    const char *who;
    pl_alternatives a = { 0 };
    const pl_reason_row *row = &p->row[0];
    for (int i = 1; i < p->n; i++)
        if (waits_for(p, &p->row[i]) > waits_for(p, row)) row = &p->row[i];
    pl_text_add(t, "; it waits longest for the %s of %s over %s (%.3f ms", kinds[row->kind],
                pl_reason_value_name(r->tables, row->value, tmp),
                pl_reason_axes(r->tables->mesh, row->axes, tmp), 1e3 * waits_for(p, row));
    if (row->count > 1) pl_text_add(t, " in %lld messages", (long long)row->count);
    pl_text_add(t, ")");
    const pl_alternative *next = ask_cause(r, row->value, tmp, &who, &a) ? next_best(&a) : NULL;
    if (!next) return;
    pl_text_add(t, ", where the next best for %s, '%s', ", who, next->text);
    if (next->more > 1e-9 * r->seconds)
        pl_text_add(t, "makes it %.3f ms slower", 1e3 * next->more);
    else
        pl_text_add(t, "is as fast");
}

const char *pl_reason_sentence(const pl_reason *r, pl_arena *out)
{
    pl_arena *tmp = pl_arena_new("sentence");
    pl_text t = { .arena = out };
    pl_reason_parts p;
    pl_reason_split(r, tmp, &p);
    add_times(r, &p, &t);
    add_memory(r, tmp, &t);
    if (p.n) add_longest(r, &p, tmp, &t);
    pl_text_add(&t, ".");
    pl_arena_free(tmp);
    return pl_text_get(&t);
}
