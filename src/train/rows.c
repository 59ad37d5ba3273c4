#include "train/rows.h"

#include "graph/op.h"
#include "ops/list.h"

/* The node that gave a table's rows their gradient, before it was cast; NULL: there is none. */
static const pl_node *find_lookup(const pl_value *grad)
{
    const pl_node *n = grad->maker;
    if (n && n->op == &pl_op_cast) n = n->in[0]->maker;
    if (!n || n->op != &pl_op_embedding_grad || n->out[0]->shape.rank != 2) return NULL;
    const pl_operand *table = pl_sig_out(n->sig, 0);
    for (int d = 0; d < table->rank; d++)
        if (table->dim[d].n != 1) return NULL;
    return table->dim[0].factor[0] == pl_sig_find(n->sig, 'v') ? n : NULL;
}

bool pl_rows_are(const pl_value *grad)
{
    const pl_node *n = find_lookup(grad);
    return n && n->in[0]->shape.rank;
}

/* ids[a, b] as one list. */
static pl_value *flatten(pl_builder *b, pl_value *ids)
{
    static const char letters[] = "abcdefghij";
    const int rank = ids->shape.rank;
    if (rank == 1) return ids;
    return PL_ADD(b, &pl_op_reshape,
                  pl_builder_fmt(b, "%.*s->(%.*s)", rank, letters, rank, letters), ids);
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
    const pl_sig_dim *column = &pl_sig_out(n->sig, 0)->dim[1];
    const char m = find_letter(n), h = n->sig->factor[column->factor[0]].letter;
    const char *spec = pl_builder_fmt(b, "{0},%c,{1}->%c%c", m, m, h);
    pl_value *dy = n->in[1];
    if (dy->type != PL_F32) dy = PL_ADD(b, &pl_op_cast, "; to=f32", dy);
    out->ids = PL_ADD_AS(b, &pl_op_unique, pl_builder_fmt(b, "%s.grad.ids", weight->name), NULL,
                         flatten(b, n->in[0]));
    out->rows = PL_ADD_AS(b, &pl_op_coalesce, pl_builder_fmt(b, "%s.grad.rows", weight->name),
                          pl_spec(b, n, spec), n->in[0], out->ids, dy);
    b->phase = phase;
    return true;
}
