/* Names, choices and moves as text. */
#include "explain/reason.h"

#include <ctype.h>
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

const char *pl_reason_node_name(const pl_problem *t, const pl_node *n, pl_arena *out)
{
    if (pl_problem_copy(t, n) < 0) return n->name;
    const pl_fold_class *c = &t->fold->at[t->fold->class_of[n->id]];
    int slot = t->fold->slot_of[n->id];
    const pl_node *first = t->graph->nodes.at[c->node[0][slot]];
    const pl_node *last = t->graph->nodes.at[c->node[c->n_instances - 1][slot]];
    return merge(first->name, last->name, out);
}

static const char *leaf_name(const pl_problem *t, const pl_value *v, pl_arena *out)
{
    const char *name = v->name;
    if (t->copy[v->id] < 0) return name;
    for (int i = 0; i < t->graph->values.n; i++)
        if (t->counterpart[i] == t->counterpart[v->id])
            name = merge(name, t->graph->values.at[i]->name, out);
    return name;
}

const char *pl_reason_value_name(const pl_problem *t, const pl_value *v, pl_arena *out)
{
    const pl_value *weight = v->maker ? v->of : NULL;
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

/* -- moves ------------------------------------------------------------------------------------- */

static const char *const kinds[PL_N_COLLECTIVES] = {
    [PL_ALL_GATHER] = "all-gather",
    [PL_ALL_REDUCE] = "all-reduce",
    [PL_REDUCE_SCATTER] = "reduce-scatter",
    [PL_ALL_TO_ALL] = "all-to-all",
    [PL_PERMUTE] = "exchange",
    [PL_HALO] = "border exchange",
    [PL_SLICE] = "slice",
    [PL_MASK] = "mask",
    [PL_TO_STAGE] = "send to another stage",
    [PL_TO_HOST] = "copy to the host",
    [PL_FROM_HOST] = "copy from the host",
};

const char *pl_reason_kind(pl_collective k)
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
