/* softmax(q k^T) v out of its nodes: pl_attended() is asked with what a product multiplies. The
 * nodes that it stands for are pruned when nothing else reads them.
 *
 * Seen through: a dropout of the probabilities; where(isnan(p), 0, p), by which exporters guard
 * rows that are masked all over, and these masks have none; a mask that is a constant, added or
 * chosen by where, if it hides just what comes later or nothing; a factor of the scores. With any
 * other mask the nodes stay as they are. */
#include "import/import.h"

#include "graph/op.h"
#include "ops/lib/attention.h"
#include "ops/list.h"

static const double HIDES = -9999; /* below this a score is hidden: -1e4 was used once */

/* What is known of the chain so far. */
typedef struct chain {
    const pl_node *drop; /* or NULL */
    bool causal;
    double scale;
    const pl_node *scores;
} chain;

static const pl_node *made_by(const pl_value *v, const pl_op *op)
{
    return v->maker && v->maker->op == op ? v->maker : NULL;
}

/* What a value is but for its shape. */
static const pl_value *find_root(const pl_value *v)
{
    while (v->maker && v->maker->op->view) v = v->maker->in[0];
    return v;
}

static bool is_filled(const pl_value *v, double *x)
{
    const pl_node *fill = made_by(find_root(v), &pl_op_fill);
    if (fill) *x = pl_node_real(fill, "value", 0);
    return fill;
}

static const pl_value *skip_guard(const pl_value *p)
{
    double x;
    const pl_node *n = made_by(p, &pl_op_where), *is = n ? made_by(n->in[0], &pl_op_isnan) : NULL;
    return is && is->in[0] == n->in[2] && is_filled(n->in[1], &x) && x == 0.0 ? n->in[2] : p;
}

/* -- masks ------------------------------------------------------------------------------------- */

/* The constant that a value is, whose elements are known; or NULL. */
static const pl_tensor *find_constant(const pl_import *m, const pl_value *v)
{
    v = find_root(v);
    for (int i = 0; i < m->small.n; i++)
        if (m->small.at[i].value == v) return m->small.at[i].constant;
    for (const pl_items *x = &m->items; x; x = x->outer)
        for (int i = 0; i < x->n; i++)
            if (x->at[i].value == v && pl_item_known(&x->at[i])) return x->at[i].constant;
    return NULL;
}

/* A mask is added, or chooses by its numbers that are not 0 what is hidden, or what is spared. */
typedef enum reading { ADDED, CHOSEN, SPARED } reading;

/* Is it a constant for q by k scores that hides just what comes later? */
static bool is_causal(const pl_import *m, const pl_value *mask, const pl_shape *scores, reading how)
{
    const pl_tensor *t = find_constant(m, mask);
    const int64_t q = scores->dim[scores->rank - 2], k = scores->dim[scores->rank - 1];
    if (!t || !t->data || q != k || q < 2 || pl_shape_count(&t->shape) != q * k) return false;
    for (int64_t i = 0; i < q * k; i++) {
        const double x = pl_tensor_get(t, i);
        const bool hides = how == ADDED ? x < HIDES : (x != 0.0) == (how == CHOSEN);
        if (hides != (i % k > i / k) || (how == ADDED && !hides && x != 0.0)) return false;
    }
    return true;
}

/* The scores below a mask; NULL: it is another one. */
static const pl_value *skip_mask(const pl_import *m, const pl_value *s, chain *c)
{
    const pl_node *add = made_by(s, &pl_op_add), *where = made_by(s, &pl_op_where);
    double x;
    for (int i = 0; add && i < 2; i++) /* nothing is padded: exporters add zeros all the same */
        if (is_filled(add->in[i], &x) && x == 0.0) return add->in[1 - i];
    c->causal = true;
    for (int i = 0; add && i < 2; i++)
        if (is_causal(m, add->in[i], &s->shape, ADDED)) return add->in[1 - i];
    for (int i = 1; where && i < 3; i++)
        if (is_filled(where->in[i], &x) && x < HIDES &&
            is_causal(m, where->in[0], &s->shape, i == 1 ? CHOSEN : SPARED))
            return where->in[3 - i];
    c->causal = false;
    return add || where ? NULL : s;
}

/* -- the chain --------------------------------------------------------------------------------- */

static bool is_letter(const pl_sig *sig, int o, int dim, int factor)
{
    const pl_sig_dim *d = &sig->operand[o].dim[dim];
    return d->n == 1 && d->window < 0 && d->factor[0] == factor;
}

/* Is it "...md,...dn->...mn", of the same leading letters? */
static bool is_product(const pl_node *n)
{
    const pl_sig *sig = n->sig;
    const int rank = n->out[0]->shape.rank, last = rank - 1;
    if (n->n_in != 2 || rank < 3) return false;
    for (int o = 0; o < 2; o++)
        if (sig->operand[o].rank != rank) return false;
    for (int i = 0; i < rank - 2; i++)
        for (int o = 0; o < 3; o++)
            if (!is_letter(sig, o, i, sig->operand[2].dim[i].factor[0])) return false;
    return is_letter(sig, 0, last - 1, sig->operand[2].dim[last - 1].factor[0]) &&
           is_letter(sig, 1, last, sig->operand[2].dim[last].factor[0]) &&
           is_letter(sig, 1, last - 1, sig->operand[0].dim[last].factor[0]);
}

static bool find_chain(const pl_import *m, const pl_value *p, chain *c)
{
    *c = (chain){ .drop = made_by(p, &pl_op_dropout), .scale = 1 };
    p = skip_guard(c->drop ? c->drop->in[0] : p);
    const pl_node *softmax = made_by(p, &pl_op_softmax);
    if (!softmax || softmax->n_attrs) return false;
    const pl_value *s = skip_mask(m, softmax->in[0], c);
    const pl_node *scale = s ? made_by(s, &pl_op_scale) : NULL;
    if (scale) c->scale = pl_node_real(scale, "value", 0), s = scale->in[0];
    c->scores = s ? made_by(s, &pl_op_einsum) : NULL;
    return c->scores && pl_shape_same(&s->shape, &p->shape) && is_product(c->scores);
}

static bool fits(const pl_value *p, const pl_value *v)
{
    bool same = v->shape.rank == p->shape.rank;
    for (int i = 0; same && i < v->shape.rank - 2; i++) same = v->shape.dim[i] == p->shape.dim[i];
    return same;
}

pl_value *pl_attended(pl_import *m, const pl_value *p, pl_value *v)
{
    chain c;
    if (m->trial || !find_chain(m, p, &c) || !fits(p, v)) return NULL;
    int order[PL_MAX_RANK];
    const int rank = v->shape.rank;
    for (int i = 0; i < rank; i++) order[i] = i < rank - 2 ? i : 2 * rank - 3 - i;
    pl_value *const in[] = { c.scores->in[0], pl_transposed(m, c.scores->in[1], order), v,
                             c.drop ? c.drop->in[1] : NULL };
    const char *x = pl_letters(m, 0, rank - 2);
    const char *mask = c.causal ? " causal=1" : "";
    const int64_t chunks = in[0] ? pl_attention_chunks(mask, in[0]->shape.dim[rank - 2]) : 1;
    const char *q = chunks > 1 ? "(cq)" : "q";
    const char *spec = pl_arena_fmt(m->a, "%s%sd,%skd,%ske%s->%s%se,%s%s; scale=%.17g%s", x, q, x,
                                    x, c.drop ? "," : "", x, q, x, q, c.scale, mask);
    if (chunks > 1) spec = pl_arena_fmt(m->a, "%s c=%lld", spec, (long long)chunks);
    if (c.drop)
        spec = pl_arena_fmt(m->a, "%s p=%.17g stream=%lld", spec, pl_node_real(c.drop, "p", 0),
                            (long long)pl_node_int(c.drop, "stream", 0));
    const pl_node *n =
        in[1] ? pl_add_node(m->b, &pl_op_attention, NULL, spec, c.drop ? 4 : 3, in) : NULL;
    return n ? n->out[0] : NULL;
}
