/* The promises of fold.h, one after the other, each read from the graph itself. Read
 * pl_fold_check() at the end: every class, every slot of it (check_slot), what it takes
 * (check_taken) and gives (check_given). */
#include "graph/fold.h"

#include "graph/op.h"

#include <stdio.h>
#include <string.h>

typedef struct reader {
    const pl_node *node;
    int pos, next; /* next: of the same value, index into readers; -1: the last */
} reader;

/* What an instance takes there. */
typedef enum relation { NONE, SAME, BEFORE, AFTER, SHARED, OWN } relation;

typedef struct checker {
    const pl_graph *g;
    const pl_fold *f;
    int *first; /* [values] into readers, or -1                    */
    reader *readers;
    bool *reported;               /* [values]                                        */
    const pl_value **before_next; /* [values] the state it is the next of */
    int *n_before;                /* [values] how many these are                     */
    int c;                        /* the class that is checked                       */
    const pl_fold_class *k;
    int links, forward, back; /* from the instance before, less those from the one after: of all
                                 kinds (added up), of forward nodes, of nodes with `of` */
    pl_err *err;
} checker;

PL_PRINTF(4, 5)
static bool fail(const checker *x, int slot, int i, const char *fmt, ...)
{
    char what[120];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(what, sizeof what, fmt, ap);
    va_end(ap);
    const pl_node *n = x->g->nodes.at[x->k->node[i][slot]];
    return pl_err_set(x->err, PL_EINTERNAL, "class %d, slot %d, instance %d (node '%s'): %s", x->c,
                      slot, i, n->name, what);
}

static const pl_node *node_at(const checker *x, int slot, int i)
{
    return x->g->nodes.at[x->k->node[i][slot]];
}

static void prepare(checker *x, pl_arena *tmp)
{
    const pl_graph *graph = x->g;
    int n_in = 0;
    for (int i = 0; i < graph->nodes.n; i++) n_in += graph->nodes.at[i]->n_in;
    x->first = PL_NEW_N(tmp, int, graph->values.n + 1);
    x->readers = PL_NEW_N(tmp, reader, n_in + 1);
    x->reported = PL_NEW_N(tmp, bool, graph->values.n + 1);
    x->before_next = PL_NEW_N(tmp, const pl_value *, graph->values.n + 1);
    x->n_before = PL_NEW_N(tmp, int, graph->values.n + 1);
    for (int v = 0; v < graph->values.n; v++) x->first[v] = -1;
    for (int i = 0, at = 0; i < graph->nodes.n; i++) {
        const pl_node *n = graph->nodes.at[i];
        for (int k = 0; k < n->n_in; k++, at++) {
            const pl_value *v = n->in[k];
            x->readers[at] = (reader){ n, k, x->first[v->id] };
            x->first[v->id] = at;
        }
    }
    for (int i = 0; i < graph->outputs.n; i++) x->reported[graph->outputs.at[i]->id] = true;
    for (int v = 0; v < graph->values.n; v++) {
        const pl_value *next = graph->values.at[v]->next;
        if (!next) continue;
        x->before_next[next->id] = graph->values.at[v];
        x->n_before[next->id]++;
    }
}

/* -- the index --------------------------------------------------------------------------------- */

static bool check_index(const checker *x)
{
    const pl_fold *f = x->f;
    int n_inside = 0, n_listed = 0;
    for (int c = 0; c < f->n_classes; c++) {
        const pl_fold_class *k = &f->at[c];
        if (k->n_nodes < 1 || k->n_instances < 2)
            return pl_err_set(x->err, PL_EINTERNAL, "class %d: %d nodes in %d instances", c,
                              k->n_nodes, k->n_instances);
        for (int i = 0; i < k->n_instances; i++)
            for (int s = 0; s < k->n_nodes; s++, n_listed++) {
                int id = k->node[i][s];
                if (id < 0 || id >= x->g->nodes.n || f->class_of[id] != c ||
                    f->instance_of[id] != i || f->slot_of[id] != s)
                    return pl_err_set(x->err, PL_EINTERNAL,
                                      "class %d, slot %d, instance %d: node %d is listed elsewhere",
                                      c, s, i, id);
                if (!i && s && id <= k->node[0][s - 1])
                    return pl_err_set(x->err, PL_EINTERNAL,
                                      "class %d, slot %d: nodes do not ascend", c, s);
            }
    }
    for (int i = 0; i < x->g->nodes.n; i++) n_inside += f->class_of[i] >= 0;
    if (n_inside != n_listed)
        return pl_err_set(x->err, PL_EINTERNAL, "%d nodes have a class, the classes list %d",
                          n_inside, n_listed);
    return true;
}

/* -- nodes that look the same ------------------------------------------------------------------ */

static bool is_value_same(const pl_value *a, const pl_value *b)
{
    return a->type == b->type && pl_shape_same(&a->shape, &b->shape);
}

static bool is_sig_same(const pl_node *a, const pl_node *b)
{
    size_t n = strcspn(a->spec, ";"), m = strcspn(b->spec, ";");
    while (n && a->spec[n - 1] == ' ') n--;
    while (m && b->spec[m - 1] == ' ') m--;
    if (n != m || strncmp(a->spec, b->spec, n) || a->sig->n_factors != b->sig->n_factors)
        return false;
    for (int i = 0; i < a->sig->n_factors; i++) {
        const pl_factor *p = &a->sig->factor[i], *q = &b->sig->factor[i];
        if (p->letter != q->letter || p->size != q->size || p->whole != q->whole ||
            p->lookup != q->lookup || p->tap != q->tap)
            return false;
    }
    return true;
}

static bool has_attrs_of(const pl_node *a, const pl_node *b)
{
    for (int i = 0; i < a->n_attrs; i++) {
        bool any = a->op->ordinal_attr && !strcmp(a->attr[i].name, a->op->ordinal_attr),
             found = false;
        for (int k = 0; k < b->n_attrs; k++)
            found |= !strcmp(a->attr[i].name, b->attr[k].name) &&
                     (any || !strcmp(a->attr[i].text, b->attr[k].text));
        if (!found) return false;
    }
    return a->n_attrs == b->n_attrs;
}

static bool looks_same(const pl_node *a, const pl_node *b)
{
    if (a->op != b->op || a->n_in != b->n_in || a->n_out != b->n_out || !is_sig_same(a, b) ||
        !has_attrs_of(a, b))
        return false;
    for (int k = 0; k < a->n_in; k++)
        if (!is_value_same(a->in[k], b->in[k])) return false;
    for (int k = 0; k < a->n_out; k++)
        if (!is_value_same(a->out[k], b->out[k])) return false;
    return true;
}

/* -- what instances take ----------------------------------------------------------------------- */

static bool is_inside(const checker *x, const pl_value *v)
{
    return v && v->maker && x->f->class_of[v->maker->id] == x->c;
}

/* Made by instance `i`, in the place where w is made by its instance? */
static bool is_made_by(const checker *x, const pl_value *v, int i, const pl_value *w)
{
    return is_inside(x, v) && is_inside(x, w) && x->f->instance_of[v->maker->id] == i &&
           x->f->slot_of[v->maker->id] == x->f->slot_of[w->maker->id] && v->out == w->out;
}

/* Are the readers of the value, all in instance i, those of w of instance 0? */
static bool is_read_same(const checker *x, const pl_value *value, int i, const pl_value *w)
{
    int n = 0, m = 0;
    for (int at = x->first[w->id]; at >= 0; at = x->readers[at].next) m++;
    for (int at = x->first[value->id]; at >= 0; at = x->readers[at].next, n++) {
        const reader *r = &x->readers[at];
        if (x->f->class_of[r->node->id] != x->c || x->f->instance_of[r->node->id] != i ||
            node_at(x, x->f->slot_of[r->node->id], 0)->in[r->pos] != w)
            return false;
    }
    return n == m;
}

static bool is_own_leaf(const checker *x, const pl_value *value, int i, const pl_value *w)
{
    if (value->maker || w->maker || value->role != w->role || value->kind != w->kind ||
        !is_value_same(value, w) || !value->init != !w->init ||
        (value->init && strcmp(value->init, w->init)) || (i && value == w) ||
        !is_read_same(x, value, i, w))
        return false;
    return value->next ? w->next && is_made_by(x, value->next, i, w->next) : !w->next;
}

static const pl_value *taken_at(const checker *x, int slot, int k, int i)
{
    const pl_node *n = node_at(x, slot, i);
    return k >= 0 ? n->in[k] : n->of ? n->of->out[0] : NULL;
}

static bool holds(const checker *x, relation r, int slot, int k, int i)
{
    int last = x->k->n_instances - 1;
    const pl_value *v = taken_at(x, slot, k, i), *a = taken_at(x, slot, k, 0),
                   *b = taken_at(x, slot, k, 1);
    switch (r) {
    case NONE: return !v;
    case SAME: return is_made_by(x, v, i, a);
    case BEFORE: return i ? is_made_by(x, v, i - 1, b) : v && !is_inside(x, v);
    case AFTER: return i < last ? is_made_by(x, v, i + 1, a) : v && !is_inside(x, v);
    case SHARED: return v && v == a && !is_inside(x, v);
    case OWN: return k >= 0 && is_own_leaf(x, v, i, a);
    }
    return false;
}

static bool check_taken(checker *x, int slot, int k)
{
    int furthest = 0;
    for (relation r = NONE; r <= OWN; r++) {
        int i = 0;
        while (i < x->k->n_instances && holds(x, r, slot, k, i)) i++;
        if (i > furthest) furthest = i;
        if (i < x->k->n_instances) continue;
        const pl_node *n = node_at(x, slot, 0);
        int step = r == BEFORE ? 1 : r == AFTER ? -1 : 0;
        if (k < 0 || !step) return true;
        x->links++;
        if (n->phase == PL_FORWARD) x->forward += step;
        if (n->of) x->back += step;
        return true;
    }
    if (k < 0) return fail(x, slot, furthest, "its 'of' is not that of the other instances");
    return fail(x, slot, furthest, "input %d is not that of the other instances", k);
}

/* -- what they give ---------------------------------------------------------------------------- */

/* How many readers like r a value has outside the class. */
static int count_outside(const checker *x, const pl_value *value, const reader *r)
{
    int n = 0;
    for (int at = x->first[value->id]; at >= 0; at = x->readers[at].next) {
        const reader *q = &x->readers[at];
        bool outside = x->f->class_of[q->node->id] != x->c;
        n += outside && (!r || (q->pos == r->pos && looks_same(q->node, r->node)));
    }
    return n;
}

static bool is_read_alike_outside(const checker *x, const pl_value *value, const pl_value *w)
{
    if (count_outside(x, value, NULL) != count_outside(x, w, NULL)) return false;
    for (int at = x->first[value->id]; at >= 0; at = x->readers[at].next) {
        const reader *r = &x->readers[at];
        if (x->f->class_of[r->node->id] != x->c &&
            count_outside(x, value, r) != count_outside(x, w, r))
            return false;
    }
    return true;
}

static bool check_given(const checker *x, int slot, int o)
{
    const pl_value *a = node_at(x, slot, 0)->out[o], *b = node_at(x, slot, 1)->out[o];
    for (int i = 0; i < x->k->n_instances; i++) {
        const pl_value *v = node_at(x, slot, i)->out[o];
        if (x->reported[v->id] != x->reported[a->id])
            return fail(x, slot, i, "an output is reported, of other instances it is not");
        if (x->n_before[v->id] > 1 || x->n_before[v->id] != x->n_before[a->id] ||
            (x->n_before[v->id] &&
             !is_own_leaf(x, x->before_next[v->id], i, x->before_next[a->id])))
            return fail(x, slot, i, "the state that an output becomes is not like the others'");
        if (i > 1 && i < x->k->n_instances - 1 && !is_read_alike_outside(x, v, b))
            return fail(x, slot, i, "readers outside of the class differ");
    }
    return true;
}

static bool check_slot(checker *x, int slot)
{
    const pl_node *n = node_at(x, slot, 0);
    for (int i = 1; i < x->k->n_instances; i++)
        if (!looks_same(node_at(x, slot, i), n))
            return fail(x, slot, i,
                        "not the operator, signature, attributes and shapes of the "
                        "other instances");
    for (int k = -1; k < n->n_in; k++) PL_TRY(check_taken(x, slot, k));
    for (int k = 0; k < n->n_out; k++) PL_TRY(check_given(x, slot, k));
    return true;
}

static bool check_class(checker *x, int c)
{
    x->c = c;
    x->k = &x->f->at[c];
    x->links = x->forward = x->back = 0;
    for (int s = 0; s < x->k->n_nodes; s++) PL_TRY(check_slot(x, s));
    if (!x->links)
        return pl_err_set(x->err, PL_EINTERNAL, "class %d: no instance takes from another", c);
    if (x->forward < 0 || (!x->forward && x->back > 0))
        return pl_err_set(x->err, PL_EINTERNAL, "class %d: the last instance comes first", c);
    return true;
}

bool pl_fold_check(const pl_graph *graph, const pl_fold *fold, pl_err *err)
{
    pl_arena *tmp = pl_arena_new("fold check");
    checker x = { .g = graph, .f = fold, .err = err };
    prepare(&x, tmp);
    bool ok = check_index(&x);
    for (int c = 0; ok && c < fold->n_classes; c++) ok = check_class(&x, c);
    pl_arena_free(tmp);
    return ok;
}
