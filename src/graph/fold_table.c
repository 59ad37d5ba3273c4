/* Equal numbers for equal things: values by type and shape (find_forms), leaves, nodes
 * (find_nodes); read pl_fold_table_new(). Hashes find candidates, comparison decides. Colours
 * are refined at the end, when asked for. */
#include "graph/fold_table.h"

#include "base/map.h"
#include "graph/op.h"

#include <string.h>

int *pl_fold_ints(pl_arena *arena, int n, int value)
{
    int *x = PL_NEW_N(arena, int, n + 1);
    for (int i = 0; i <= n; i++) x[i] = value;
    return x;
}

/* -- equal numbers for equal things ------------------------------------------------------------ */

typedef struct numbering {
    const pl_graph *g;
    pl_fold_table *t;
    int *form;  /* [values] equal: type and shape; the first value of that form */
    pl_map map; /* the first items of their like                                */
} numbering;

typedef bool same_fn(const numbering *m, int a, int b);

/* The first item that is like this one: itself when it is new. */
static int find_first(numbering *m, uint64_t hash, int item, same_fn *is_same)
{
    PL_MAP_EACH (&m->map, hash, x)
        if (is_same(m, x.value, item)) return x.value;
    pl_map_put(&m->map, hash, item, m->t->arena);
    return item;
}

/* -- values ------------------------------------------------------------------------------------ */

static bool is_form_same(const numbering *m, int a, int b)
{
    const pl_value *x = m->g->values.at[a], *y = m->g->values.at[b];
    return x->type == y->type && pl_shape_same(&x->shape, &y->shape);
}

static void find_forms(numbering *m)
{
    pl_map_clear(&m->map);
    for (int i = 0; i < m->t->n_data; i++) {
        const pl_value *v = m->g->values.at[i];
        uint64_t h = pl_hash_mix(3, (uint64_t)v->type * 16 + (uint64_t)v->shape.rank);
        for (int d = 0; d < v->shape.rank; d++) h = pl_hash_mix(h, (uint64_t)v->shape.dim[d]);
        m->form[i] = find_first(m, h, i, is_form_same);
    }
}

static bool is_leaf_same(const numbering *m, int a, int b)
{
    const pl_value *x = m->g->values.at[a], *y = m->g->values.at[b];
    return x->role == y->role && m->form[a] == m->form[b] && x->kind == y->kind &&
           !x->next == !y->next && !x->init == !y->init &&
           (x->init == y->init || !strcmp(x->init, y->init));
}

static void find_leaves(numbering *m)
{
    pl_fold_table *t = m->t;
    pl_map_clear(&m->map);
    for (int i = 0; i < t->n_data; i++) {
        const pl_value *v = m->g->values.at[i];
        t->maker[i] = v->maker ? v->maker->id : -1;
        t->port[i] = v->out;
        t->number[i] = v->shape.rank == 0;
        if (v->next) {
            t->next[i] = v->next->id;
            int *of = &t->next_of[v->next->id];
            *of = *of == -1 ? i : -2;
        }
        if (v->maker) continue;
        uint64_t h = pl_hash_mix(5, (uint64_t)m->form[i] * 8 + (uint64_t)v->role * 2 + !v->next);
        if (v->init) h = pl_hash_text(h, v->init);
        t->leaf[i] = find_first(m, h, i, is_leaf_same);
    }
    for (int i = 0; i < m->g->outputs.n; i++) t->reported[m->g->outputs.at[i]->id] = true;
}

/* -- nodes ------------------------------------------------------------------------------------- */

static bool only_counts(const pl_node *n, const pl_attr *a)
{
    return n->op->ordinal_attr && !strcmp(a->name, n->op->ordinal_attr);
}

/* Of the signature in a node's spec: what stands before its attributes. */
static size_t sig_length(const char *spec)
{
    const char *end = strchr(spec, ';');
    size_t n = end ? (size_t)(end - spec) : strlen(spec);
    while (n && spec[n - 1] == ' ') n--;
    return n;
}

/* Text and shapes of inputs give the solved signature, so that need not be compared. */
static bool is_node_same(const numbering *m, int i, int j)
{
    const pl_node *a = m->g->nodes.at[i], *b = m->g->nodes.at[j];
    size_t len = sig_length(a->spec);
    if (a->op != b->op || a->n_in != b->n_in || a->n_out != b->n_out || a->n_attrs != b->n_attrs ||
        !a->of != !b->of || a->phase != b->phase || len != sig_length(b->spec) ||
        memcmp(a->spec, b->spec, len))
        return false;
    for (int k = 0; k < a->n_attrs; k++)
        if (strcmp(a->attr[k].name, b->attr[k].name) ||
            (!only_counts(a, &a->attr[k]) && strcmp(a->attr[k].text, b->attr[k].text)))
            return false;
    for (int k = 0; k < a->n_in; k++)
        if (m->form[a->in[k]->id] != m->form[b->in[k]->id]) return false;
    for (int k = 0; k < a->n_out; k++)
        if (m->form[a->out[k]->id] != m->form[b->out[k]->id]) return false;
    return true;
}

static uint64_t hash_node(const numbering *m, const pl_node *node)
{
    uint64_t h = pl_hash_text(7 + (uint64_t)node->phase, node->op->name);
    h = pl_hash_span(h, node->spec, sig_length(node->spec));
    for (int k = 0; k < node->n_attrs; k++) {
        if (only_counts(node, &node->attr[k])) continue;
        h = pl_hash_text(h, node->attr[k].name);
        h = pl_hash_text(h, node->attr[k].text);
    }
    for (int k = 0; k < node->n_in; k++) h = pl_hash_mix(h, (uint64_t)m->form[node->in[k]->id]);
    for (int k = 0; k < node->n_out; k++) h = pl_hash_mix(h, (uint64_t)m->form[node->out[k]->id]);
    return h;
}

static void find_nodes(numbering *m)
{
    pl_fold_table *t = m->t;
    int n_in = 0, n_out = 0;
    pl_map_clear(&m->map);
    for (int i = 0; i < t->n_nodes; i++) {
        const pl_node *n = m->g->nodes.at[i];
        int like = find_first(m, hash_node(m, n), i, is_node_same);
        t->kind[i] = like == i ? t->n_kinds++ : t->kind[like];
        t->backward[i] = n->phase != PL_FORWARD;
        for (int k = 0; k < n->n_in; k++) t->in[n_in++] = n->in[k]->id;
        if (n->of) t->in[n_in++] = t->n_data + n->of->id;
        for (int k = 0; k < n->n_out; k++) t->out[n_out++] = n->out[k]->id;
        t->out[n_out++] = t->n_data + i;
        t->maker[t->n_data + i] = i;
        t->port[t->n_data + i] = n->n_out;
        t->first_in[i + 1] = n_in;
        t->first_out[i + 1] = n_out;
    }
}

uint64_t pl_fold_key(int what, int pos)
{
    return pl_hash_mix(pl_hash_mix(~0ull, (uint64_t)what), (uint64_t)pos);
}

uint64_t pl_fold_reader_key(const pl_fold_table *table, const pl_reader *r)
{
    return pl_fold_key(table->kind[r->node], r->pos);
}

static void find_readers(pl_fold_table *table)
{
    for (int k = 0; k < table->first_in[table->n_nodes]; k++) table->first_reader[table->in[k]]++;
    for (int v = 0, end = 0; v <= table->n_values; v++)
        table->first_reader[v] = end += table->first_reader[v]; /* filling makes an end a start */
    for (int i = table->n_nodes - 1; i >= 0; i--)
        for (int k = table->first_in[i + 1] - 1; k >= table->first_in[i]; k--) {
            pl_reader r = { i, k - table->first_in[i] };
            table->reader[--table->first_reader[table->in[k]]] = r;
            table->sum[table->in[k]] += pl_fold_reader_key(table, &r);
        }
}

pl_fold_table pl_fold_table_new(const pl_graph *graph, pl_arena *arena)
{
    int n = graph->nodes.n, n_values = graph->values.n + n, n_in = 0;
    for (int i = 0; i < n; i++) n_in += graph->nodes.at[i]->n_in + !!graph->nodes.at[i]->of;
    pl_fold_table t = {
        .arena = arena,
        .n_nodes = n,
        .n_values = n_values,
        .n_data = graph->values.n,
        .kind = pl_fold_ints(arena, n, 0),
        .first_in = pl_fold_ints(arena, n, 0),
        .in = pl_fold_ints(arena, n_in, 0),
        .first_out = pl_fold_ints(arena, n, 0),
        .out = pl_fold_ints(arena, n_values, 0),
        .backward = PL_NEW_N(arena, bool, n + 1),
        .maker = pl_fold_ints(arena, n_values, -1),
        .port = pl_fold_ints(arena, n_values, 0),
        .leaf = pl_fold_ints(arena, n_values, -1),
        .next = pl_fold_ints(arena, n_values, -1),
        .next_of = pl_fold_ints(arena, n_values, -1),
        .reported = PL_NEW_N(arena, bool, n_values + 1),
        .number = PL_NEW_N(arena, bool, n_values + 1),
        .first_reader = pl_fold_ints(arena, n_values, 0),
        .reader = PL_NEW_N(arena, pl_reader, n_in + 1),
        .sum = PL_NEW_N(arena, uint64_t, n_values + 1),
    };
    numbering m = { .g = graph, .t = &t, .form = pl_fold_ints(arena, n_values, 0) };
    find_forms(&m);
    find_leaves(&m);
    find_nodes(&m);
    find_readers(&t);
    return t;
}

/* -- colours ----------------------------------------------------------------------------------- */

static uint64_t hash_around(const pl_fold_table *table, int n, const uint64_t *before)
{
    uint64_t h = pl_hash_mix(17, before[n]);
    for (int k = table->first_in[n]; k < table->first_in[n + 1]; k++) {
        int v = table->in[k], m = table->maker[v];
        h = pl_hash_mix(h, m < 0 ? pl_hash_mix(table->sum[v], (uint64_t)table->leaf[v])
                                 : pl_hash_mix(before[m], (uint64_t)table->port[v]));
    }
    for (int k = table->first_out[n]; k < table->first_out[n + 1]; k++) {
        uint64_t sum = 0;
        for (int r = table->first_reader[table->out[k]]; r < table->first_reader[table->out[k] + 1];
             r++)
            sum += pl_hash_mix(before[table->reader[r].node], (uint64_t)table->reader[r].pos);
        h = pl_hash_mix(h, sum);
    }
    return h;
}

void pl_fold_table_refine(pl_fold_table *table)
{
    if (table->colour[0]) return;
    uint64_t *before = PL_NEW_N(table->arena, uint64_t, table->n_nodes + 1);
    for (int i = 0; i < table->n_nodes; i++) before[i] = pl_fold_key(table->kind[i], 0);
    for (int r = 0; r < PL_FOLD_ROUNDS; r++) {
        table->colour[r] = PL_NEW_N(table->arena, uint64_t, table->n_nodes + 1);
        for (int i = 0; i < table->n_nodes; i++)
            table->colour[r][i] = hash_around(table, i, before);
        before = table->colour[r];
    }
}
