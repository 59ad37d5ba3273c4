/* Control flow that is known before anything runs: the branch of an If whose condition is a
 * constant, and a Loop whose number of rounds is, unrolled; but not one that is bags of rows
 * (bags.c). Conditions follow from shapes and constants, as the nodes of a body are computed on the
 * spot where their inputs are known. */
#include "import/loop.h"
#include "import/map.h"

enum {
    MOST_ROUNDS = 4096,
    MOST_DEPTH = 16,
    MOST_CARRIED = 64,
    MOST_UNROLLED = 16 << 20, /* bytes of all bodies, each as often as it is run       */
    A_RUN = 1 << 10,          /* counts as so many bytes more, and each node of it too, */
    A_NODE = 1 << 7,          /* as a node takes memory however short its text is       */
};

/* -- bodies ------------------------------------------------------------------------------------ */

/* The body that an attribute of the node holds; in the arena. */
static const Onnx__GraphProto *find_body(pl_import *m, const char *name)
{
    const Onnx__AttributeProto *x = pl_attr_find(m, name);
    const Onnx__GraphProto *g = x && x->has_g ? pl_onnx_body(x->g.data, x->g.len, m->a) : NULL;
    if (!g) {
        pl_map_fail(m, "attribute %s holds no graph", name);
        return NULL;
    }
    m->unrolled += A_RUN + (int64_t)x->g.len + A_NODE * (int64_t)g->n_node;
    if (m->unrolled <= MOST_UNROLLED) return g;
    pl_map_refuse(m, "bodies of more than %d MiB in all their rounds", MOST_UNROLLED >> 20);
    return NULL;
}

static bool add_inputs(pl_import *m, const Onnx__GraphProto *g, int n, const pl_item in[])
{
    if (g->n_input != (size_t)n)
        return pl_map_fail(m, "the body has %zu inputs, it is given %d", g->n_input, n);
    for (int k = 0; k < n; k++) {
        pl_item x = in[k];
        x.name = g->input[k]->name ? g->input[k]->name : "";
        PL_TRY(pl_item_add(m, &x));
    }
    return true;
}

/* Constants: weights are leaves of the model as a whole. */
static bool add_constants(pl_import *m, const Onnx__GraphProto *g)
{
    for (size_t i = 0; i < g->n_initializer; i++) {
        const Onnx__TensorProto *t = g->initializer[i];
        pl_tensor *constant = PL_NEW(m->a, pl_tensor);
        PL_TRY(pl_tensor_read(t, t->name ? t->name : "", m->a, constant, &m->b->err));
        if (!constant->data)
            return pl_map_refuse(m, "initializer '%s' of a body lies outside of it",
                                 constant->name);
        const pl_item x = { .name = constant->name, .constant = constant };
        PL_TRY(pl_item_add(m, &x));
    }
    return true;
}

static bool take_outputs(pl_import *m, const Onnx__GraphProto *g, int n, pl_item out[])
{
    if (g->n_output != (size_t)n)
        return pl_map_fail(m, "the body has %zu outputs, %d are wanted", g->n_output, n);
    for (int k = 0; k < n; k++) {
        pl_item *x = pl_item_find(m, g->output[k]->name ? g->output[k]->name : "");
        if (!x)
            return pl_map_fail(m, "no node of the body makes its output '%s'", g->output[k]->name);
        if (!pl_item_known(x) && !x->part && !pl_item_value(m, x)) return false;
        out[k] = *x;
    }
    return true;
}

/* One run of a body among the names around it. The node is the same again afterwards. */
static bool run_body(pl_import *m, const Onnx__GraphProto *g, int n_in, const pl_item in[],
                     int n_out, pl_item out[])
{
    const Onnx__NodeProto *node = m->node;
    pl_item *const taken = m->out;
    const pl_items around = m->items;
    if (m->depth == MOST_DEPTH)
        return pl_map_refuse(m, "bodies nested more than %d deep", MOST_DEPTH);
    m->depth++;
    m->items = pl_items_new(m->a, pl_import_names(g), &around);
    bool ok = add_inputs(m, g, n_in, in) && add_constants(m, g) && pl_import_nodes(m, g);
    m->node = node;
    ok = ok && take_outputs(m, g, n_out, out);
    m->items = around;
    m->out = taken;
    m->depth--;
    return ok;
}

/* -- If ---------------------------------------------------------------------------------------- */

/* One truth value that is known. */
static bool read_condition(pl_import *m, const pl_item *x, bool *truth)
{
    if (!pl_item_known(x) || pl_shape_count(&x->constant->shape) != 1)
        return pl_map_refuse(m,
                             "the condition '%s' is computed from the data; it has to be a "
                             "constant, or follow from the shapes of inputs",
                             x->name);
    const double y = pl_tensor_get(x->constant, 0);
    *truth = y < 0 || y > 0;
    return true;
}

bool pl_map_if(pl_import *m)
{
    bool then;
    const int n = (int)m->node->n_output;
    if (m->trial) return false;
    if (!pl_has(m, 0)) return pl_map_fail(m, "input 0 is missing");
    PL_TRY(read_condition(m, m->in[0], &then));
    const Onnx__GraphProto *g = find_body(m, then ? "then_branch" : "else_branch");
    pl_item *out = PL_NEW_N(m->a, pl_item, n + 1);
    if (!g || !run_body(m, g, 0, NULL, n, out)) return false;
    for (int k = 0; k < n; k++) pl_out_item(m, k, &out[k]);
    return true;
}

/* -- Loop -------------------------------------------------------------------------------------- */

static pl_item number(pl_import *m, const char *name, pl_type type, int64_t x)
{
    const pl_shape scalar = { 0, { 0 } };
    pl_tensor *t = PL_NEW(m->a, pl_tensor);
    void *data = pl_arena_get(m->a, 1, (size_t)pl_type_bytes(type));
    pl_type_put(type, data, 0, (double)x);
    *t = pl_tensor_of(type, &scalar, data);
    return (pl_item){ .name = name, .constant = t };
}

static bool open_loop(pl_import *m, pl_loop *l)
{
    const int n_out = (int)m->node->n_output;
    int64_t rounds = MOST_ROUNDS + 1; /* no number given */
    if (pl_has(m, 0)) PL_TRY(pl_in_int(m, 0, &rounds));
    l->rounds = rounds;
    l->bytes = -m->unrolled;
    l->body = find_body(m, "body");
    l->bytes += m->unrolled;
    l->n_carried = (int)m->node->n_input - 2;
    l->n_scans = n_out - l->n_carried;
    if (!l->body) return false;
    if (l->n_carried < 0 || l->n_carried > MOST_CARRIED || l->n_scans < 0)
        return pl_map_fail(m, "%zu inputs for %d outputs", m->node->n_input, n_out);
    l->in = PL_NEW_N(m->a, pl_item, l->n_carried + 2);
    l->out = PL_NEW_N(m->a, pl_item, n_out + 2);
    l->scan = PL_NEW_N(m->a, pl_scan, l->n_scans + 1);
    for (int k = 0; k < l->n_carried; k++) {
        pl_item *x = m->in[k + 2];
        if (k + 2 >= m->n_in || !x) return pl_map_fail(m, "input %d is missing", k + 2);
        if (!pl_item_known(x) && !x->part && !pl_item_value(m, x)) return false;
        l->in[k + 2] = *x;
    }
    l->in[1] = pl_has(m, 1) ? *m->in[1] : number(m, "condition", PL_U8, 1);
    return true;
}

bool pl_loop_run(pl_import *m, pl_loop *l)
{
    bool on;
    for (int64_t i = 0; i < l->rounds; i++) {
        PL_TRY(read_condition(m, &l->in[1], &on));
        if (!on) return true;
        if (i == MOST_ROUNDS)
            return pl_map_refuse(m, "more than %d rounds, each with nodes of its own", MOST_ROUNDS);
        if ((m->unrolled += l->bytes) > MOST_UNROLLED)
            return pl_map_refuse(m,
                                 "a loop too long to unroll: %lld rounds of a body of %lld bytes",
                                 (long long)i, (long long)l->bytes);
        l->in[0] = number(m, "round", PL_I64, i);
        PL_TRY(
            run_body(m, l->body, l->n_carried + 2, l->in, 1 + l->n_carried + l->n_scans, l->out));
        for (int k = 0; k <= l->n_carried; k++) l->in[k + 1] = l->out[k];
        for (int k = 0; k < l->n_scans; k++)
            PL_PUSH(m->a, &l->scan[k], l->out[1 + l->n_carried + k]);
    }
    return true;
}

bool pl_map_loop(pl_import *m)
{
    pl_loop l = { 0 };
    if (m->trial) return false;
    PL_TRY(open_loop(m, &l));
    if (pl_loop_bags(m, &l)) return true;
    PL_TRY(!m->b->err.code && pl_loop_run(m, &l));
    for (int k = 0; k < l.n_carried; k++) pl_out_item(m, k, &l.in[k + 2]);
    for (int k = 0; k < l.n_scans; k++) {
        if (!l.scan[k].n) return pl_map_refuse(m, "no round is run, so that output %d is empty", k);
        PL_TRY(pl_out_stacked(m, l.n_carried + k, l.scan[k].at, l.scan[k].n, 0, true));
    }
    return true;
}
