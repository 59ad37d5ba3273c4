#include "train/rows.h"

#include "graph/op.h"
#include "ops/list.h"

/* The node that gave a table's rows their gradient, before it was cast; NULL: there is none. The
 * table is one [v, h], or many [t, v, h] with ids of their own. */
static const pl_node *find_lookup(const pl_value *grad)
{
    const pl_node *n = grad->maker;
    if (n && n->op == &pl_op_cast) n = n->in[0]->maker;
    if (!n || n->op != &pl_op_embedding_grad) return NULL;
    const pl_operand *table = pl_sig_out(n->sig, 0);
    const int v = table->rank - 2;
    if (v < 0 || v > 1) return NULL;
    for (int d = 0; d < table->rank; d++)
        if (table->dim[d].n != 1) return NULL;
    const pl_operand *ids = &n->sig->operand[0];
    if (v && (ids->rank < 2 || !pl_sig_has(ids, n->sig, table->dim[0].factor[0]))) return NULL;
    return table->dim[v].factor[0] == pl_sig_find(n->sig, 'v') ? n : NULL;
}

bool pl_rows_are(const pl_value *grad)
{
    const pl_node *n = find_lookup(grad);
    return n && n->in[0]->shape.rank;
}

static int64_t rows_of(const pl_node *lookup)
{
    return lookup->sig->factor[pl_sig_find(lookup->sig, 'v')].size;
}

/* Ids of each table. */
static int64_t count_ids(const pl_node *lookup)
{
    const pl_shape *table = &lookup->out[0]->shape;
    return pl_shape_count(&lookup->in[0]->shape) / (table->rank > 2 ? table->dim[0] : 1);
}

bool pl_rows_are_few(const pl_value *grad)
{
    const pl_node *n = find_lookup(grad);
    return n && count_ids(n) < rows_of(n);
}

/* Of a dimension of the table. */
static char letter_of(const pl_node *lookup, int dimension)
{
    return lookup->sig->factor[pl_sig_out(lookup->sig, 0)->dim[dimension].factor[0]].letter;
}

/* The ids as one list, or one for each of many tables: "bts->t(bs)". */
static pl_value *flatten(pl_builder *b, const pl_node *lookup)
{
    const pl_operand *x = &lookup->sig->operand[0], *table = pl_sig_out(lookup->sig, 0);
    const bool many = table->rank > 2;
    pl_text rest = { .arena = b->graph->arena };
    if (x->rank == 1) return lookup->in[0];
    for (int d = 0; d < x->rank; d++)
        for (int k = 0; k < x->dim[d].n; k++)
            if (!many || x->dim[d].factor[k] != table->dim[0].factor[0])
                pl_text_add(&rest, "%c", lookup->sig->factor[x->dim[d].factor[k]].letter);
    const char *spec = pl_builder_fmt(b, rest.n > 1 ? "(%s)" : "%s", pl_text_get(&rest));
    if (many) spec = pl_builder_fmt(b, "%c%s", letter_of(lookup, 0), spec);
    spec = pl_spec(b, lookup, pl_builder_fmt(b, "{0}->%s", spec));
    return PL_ADD(b, many ? &pl_op_transpose : &pl_op_reshape, spec, lookup->in[0]);
}

/* A letter that a node does not use. */
static char find_letter(const pl_node *n)
{
    char letter = 'a';
    while (letter < 'z' && pl_sig_find(n->sig, letter) >= 0) letter++;
    return letter;
}

bool pl_rows_add(pl_builder *b, const pl_value *weight, const pl_value *grad, pl_row_grad *out)
{
    const pl_node *n = find_lookup(grad);
    if (!n || weight->type != PL_F32 || !n->in[0]->shape.rank || b->err.code) return false;
    const pl_phase phase = b->phase;
    b->phase = PL_BACKWARD;
    const pl_operand *table = pl_sig_out(n->sig, 0);
    const char m = find_letter(n), h = letter_of(n, table->rank - 1);
    const char *list = table->rank > 2 ? pl_builder_fmt(b, "%c%c", letter_of(n, 0), m)
                                       : pl_builder_fmt(b, "%c", m);
    const char *spec = pl_builder_fmt(b, "{0},%s,{1}->%s%c", list, list, h);
    pl_value *dy = n->in[1];
    if (dy->type != PL_F32) dy = PL_ADD(b, &pl_op_cast, "; to=f32", dy);
    const char *places =
        pl_rows_are_few(grad) ? NULL : pl_builder_fmt(b, "; m=%lld", (long long)rows_of(n));
    out->ids = PL_ADD_AS(b, &pl_op_unique, pl_builder_fmt(b, "%s.grad.ids", weight->name), places,
                         flatten(b, n));
    out->rows = PL_ADD_AS(b, &pl_op_coalesce, pl_builder_fmt(b, "%s.grad.rows", weight->name),
                          pl_spec(b, n, spec), n->in[0], out->ids, dy);
    b->phase = phase;
    return true;
}
