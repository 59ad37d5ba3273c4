/* Reverse mode. Read pl_autodiff(): from the loss backwards step_back() lets each operator build
 * its gradient, and add_share() adds up what several readers give a value. */
#include "graph/autodiff.h"

#include "graph/op.h"

typedef struct tape {
    pl_builder *b;
    const pl_op *add;
    int n_values;    /* of the forward graph                    */
    bool *wanted;    /* [n_values] depends on a wrt value       */
    pl_value **grad; /* [n_values] sum of the shares so far     */
} tape;

static void find_wanted(tape *t, int n, pl_value *const wrt[])
{
    const pl_graph *graph = t->b->graph;
    for (int i = 0; i < n; i++) t->wanted[wrt[i]->id] = true;
    for (int i = 0; i < graph->nodes.n; i++) {
        const pl_node *x = graph->nodes.at[i];
        bool any = false;
        for (int k = 0; k < x->n_in; k++) any |= t->wanted[x->in[k]->id];
        for (int k = 0; k < x->n_out; k++)
            t->wanted[x->out[k]->id] |= any && pl_type_is_float(x->out[k]->type);
    }
}

/* The spec of an addition of values like this one: in the letters of its maker where it composes
 * factors (they may then be split there too), else NULL, which says the same in fewer words. */
static const char *find_spec(tape *t, const pl_value *value)
{
    const pl_node *n = value->maker;
    bool composes = false;
    for (int j = 0; n && j < value->shape.rank; j++) {
        const pl_sig_dim *d = &pl_sig_out(n->sig, value->out)->dim[j];
        composes |= d->n > 1;
        if (d->window >= 0) return NULL; /* a gradient has no windows of its own */
    }
    if (!composes) return NULL;
    int o = n->n_in + value->out;
    return pl_spec(t->b, n, pl_builder_fmt(t->b, "{%d},{%d}->{%d}", o, o, o));
}

static void add_share(tape *t, const pl_value *value, pl_value *share)
{
    pl_value **sum = &t->grad[value->id];
    if (!*sum) {
        *sum = share;
        return;
    }
    const pl_value *like[] = { value, *sum, share };
    const char *spec = NULL;
    for (int i = 0; i < 3 && !spec; i++) spec = find_spec(t, like[i]);
    *sum = PL_ADD(t->b, t->add, spec, *sum, share);
}

static void step_back(tape *t, const pl_node *node)
{
    pl_value *dy[PL_MAX_OPERANDS] = { 0 }, *dx[PL_MAX_OPERANDS] = { 0 };
    bool flows = false, wanted = false;
    for (int i = 0; i < node->n_out; i++) flows |= (dy[i] = t->grad[node->out[i]->id]) != NULL;
    for (int i = 0; i < node->n_in; i++) wanted |= t->wanted[node->in[i]->id];
    if (!flows || !wanted) return;
    if (!node->op->grad) {
        pl_err_set(&t->b->err, PL_EUNSUPPORTED, "node '%s': operator '%s' has no gradient",
                   node->name, node->op->name);
        return;
    }
    t->b->scope =
        pl_builder_fmt(t->b, "%s/", node->name); /* gradients are named after their node */
    t->b->of = node;
    node->op->grad(t->b, node, dy, dx);
    t->b->of = NULL;
    for (int i = 0; i < node->n_in && !t->b->err.code; i++)
        if (dx[i] && t->wanted[node->in[i]->id]) add_share(t, node->in[i], dx[i]);
}

void pl_autodiff(pl_builder *b, pl_value *loss, int n, pl_value *const wrt[], pl_value *grad[])
{
    for (int i = 0; i < n; i++) grad[i] = NULL;
    if (b->err.code) return;
    const pl_op *fill = pl_ops_find(b->graph->ops, "fill");
    tape t = { .b = b, .add = pl_ops_find(b->graph->ops, "add"), .n_values = b->graph->values.n };
    PL_ASSERT(fill && t.add);
    if (loss->shape.rank || !pl_type_is_float(loss->type)) {
        pl_err_set(&b->err, PL_EINPUT, "the loss '%s' is not a float scalar", loss->name);
        return;
    }
    pl_arena *tmp = pl_arena_new("autodiff");
    const char *scope = b->scope;
    const pl_phase phase = b->phase;
    int n_nodes = b->graph->nodes.n;
    t.wanted = PL_NEW_N(tmp, bool, t.n_values);
    t.grad = PL_NEW_N(tmp, pl_value *, t.n_values);
    find_wanted(&t, n, wrt);
    const char *one = pl_builder_fmt(b, "->; value=1 to=%s", pl_type_name(loss->type));
    b->scope = "";
    b->phase = PL_BACKWARD;
    const char *name = pl_builder_fmt(b, "d%s.%d", loss->name, n_nodes); /* losses may be several */
    t.grad[loss->id] = pl_add_value(b, fill, name, one, 0, NULL);
    for (int i = n_nodes - 1; i >= 0 && !b->err.code; i--) step_back(&t, b->graph->nodes.at[i]);
    for (int i = 0; i < n && !b->err.code; i++) grad[i] = t.grad[wrt[i]->id];
    for (int i = 0; i < n && !b->err.code; i++)
        if (grad[i] && wrt[i]->kind == PL_WEIGHT && !grad[i]->of) grad[i]->of = wrt[i];
    b->scope = scope;
    b->phase = phase;
    pl_arena_free(tmp);
}
