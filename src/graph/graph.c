/* Building and checking. Read pl_add_node(), through which every node comes: attributes and sizes
 * (infer.h), casts of mixed precision (narrow_inputs), types; then pl_builder_done(), which prunes,
 * and pl_graph_check() at the end, which trusts none of it. */
#include "graph/graph.h"

#include "graph/infer.h"
#include "graph/op.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const pl_op *pl_ops_find(const pl_ops *ops, const char *name)
{
    for (int i = 0; i < ops->n; i++)
        if (!strcmp(ops->at[i]->name, name)) return ops->at[i];
    return NULL;
}

pl_value *pl_node_value(const pl_node *node, int o)
{
    return o < node->n_in ? node->in[o] : node->out[o - node->n_in];
}

/* -- nodes ------------------------------------------------------------------------------------- */

static pl_value *add_value(pl_graph *graph, const char *name, pl_type type, pl_shape shape,
                           pl_role role)
{
    pl_value *v = PL_NEW(graph->arena, pl_value);
    *v = (pl_value){ .id = graph->values.n, .type = type, .shape = shape, .role = role };
    PL_PUSH(graph->arena, &graph->values, v);
    pl_graph_rename(graph, v, name);
    return v;
}

static void add_outputs(pl_graph *graph, pl_node *node, const pl_shape shape[],
                        const pl_type type[])
{
    node->n_out = node->sig->n_out;
    for (int i = 0; i < node->n_out; i++) {
        const char *name = i ? pl_arena_fmt(graph->arena, "%s:%d", node->name, i) : node->name;
        node->out[i] = add_value(graph, name, type[i], shape[i], PL_COMPUTED);
        node->out[i]->maker = node;
        node->out[i]->out = i;
    }
}

pl_builder pl_builder_new(pl_arena *arena, const pl_ops *ops, const char *name)
{
    pl_graph *graph = PL_NEW(arena, pl_graph);
    *graph =
        (pl_graph){ .arena = arena, .ops = ops, .name = pl_arena_text(arena, name), .micro = 1 };
    return (pl_builder){ .graph = graph, .scope = "" };
}

const char *pl_builder_fmt(pl_builder *b, const char *fmt, ...)
{
    char text[512];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    return pl_arena_text(b->graph->arena, text);
}

/* Is input i of the node one that mixed precision casts? */
static bool is_narrowed(const pl_builder *b, const pl_node *node, int i)
{
    const pl_value *v = node->in[i];
    bool leaf = v->role == PL_INPUT ? v->shape.rank > 0 : v->kind == PL_WEIGHT;
    return b->compute != PL_F32 && leaf && v->type == PL_F32 && pl_infer_rule(node, i) != 'F' &&
           (node->n_in > 1 || pl_infer_rule(node, 1) != 'a');
}

/* In the letters of the reader, but where a window of it slides: so it may be split as that is. */
static const char *cast_spec(pl_builder *b, const pl_node *node, int i)
{
    const char *type = pl_type_name(b->compute);
    for (int k = 0; k < node->sig->operand[i].rank; k++)
        if (node->sig->operand[i].dim[k].window >= 0) return pl_builder_fmt(b, "; to=%s", type);
    return pl_spec(b, node, pl_builder_fmt(b, "{%d}->{%d}; to=%s", i, i, type));
}

/* Casts are made once, for their first reader. */
static bool narrow_inputs(pl_builder *b, pl_node *node)
{
    const pl_op *cast = pl_ops_find(b->graph->ops, "cast");
    for (int i = 0; i < node->n_in && !b->err.code; i++) {
        pl_value *v = node->in[i];
        if (!is_narrowed(b, node, i)) continue;
        while (b->narrow.n <= v->id) PL_PUSH(b->graph->arena, &b->narrow, NULL);
        pl_value **to = &b->narrow.at[v->id];
        if (!*to) {
            const char *scope = b->scope, *spec = cast_spec(b, node, i);
            const char *name = pl_builder_fmt(b, "%s.%s", v->name, pl_type_name(b->compute));
            b->scope = ""; /* v's name has its own */
            *to = pl_add_value(b, cast, name, spec, 1, &v);
            b->scope = scope;
        }
        node->in[i] = *to;
    }
    return !b->err.code;
}

pl_node *pl_add_node(pl_builder *b, const pl_op *op, const char *name, const char *spec, int n_in,
                     pl_value *const in[])
{
    if (b->err.code) return NULL;
    pl_graph *graph = b->graph;
    pl_node *n = PL_NEW(graph->arena, pl_node);
    *n = (pl_node){ .id = graph->nodes.n, .op = op, .n_in = n_in };
    n->phase = b->of && b->phase == PL_FORWARD ? PL_BACKWARD : b->phase;
    n->of = b->of;
    n->name = name ? pl_arena_fmt(graph->arena, "%s%s", b->scope, name)
                   : pl_arena_fmt(graph->arena, "%s%s.%d", b->scope, op->name, n->id);
    n->spec = spec ? pl_arena_text(graph->arena, spec) : "";
    if (n_in > PL_MAX_OPERANDS)
        pl_err_set(&b->err, PL_EINPUT, "%d inputs, at most %d", n_in, PL_MAX_OPERANDS);
    for (int i = 0; i < n_in && !b->err.code; i++) {
        if (!in[i]) pl_err_set(&b->err, PL_EINTERNAL, "input %d is missing", i);
        n->in[i] = in[i];
        if (in[i] && in[i]->maker && in[i]->maker->phase > n->phase) n->phase = in[i]->maker->phase;
    }
    pl_shape shape[PL_MAX_OPERANDS];
    pl_type type[PL_MAX_OPERANDS];
    if (b->err.code || !pl_infer(&b->kinds, graph->arena, n, shape, &b->err) ||
        !narrow_inputs(b, n) || !pl_infer_types(n, type, &b->err)) {
        pl_err_in(&b->err, "node '%s': %s", n->name, op->name);
        return NULL;
    }
    n->id = graph->nodes.n; /* casts came before it */
    add_outputs(graph, n, shape, type);
    PL_PUSH(graph->arena, &graph->nodes, n);
    return n;
}

pl_value *pl_add_value(pl_builder *b, const pl_op *op, const char *name, const char *spec, int n_in,
                       pl_value *const in[])
{
    pl_node *n = pl_add_node(b, op, name, spec, n_in, in);
    return n ? n->out[0] : NULL;
}

/* -- leaves and outputs ------------------------------------------------------------------------ */

static bool check_shape(pl_builder *b, const char *name, const pl_shape *shape)
{
    int64_t n = 1;
    for (int i = 0; i < shape->rank; i++)
        if (shape->dim[i] < 1 || __builtin_mul_overflow(n, shape->dim[i], &n) || n > INT64_MAX / 8)
            return pl_err_set(&b->err, PL_EINPUT, "'%s%s': dimension %d is %lld", b->scope, name, i,
                              (long long)shape->dim[i]);
    return true;
}

pl_value *pl_add_input(pl_builder *b, const char *name, pl_type type, pl_shape shape)
{
    if (b->err.code || !check_shape(b, name, &shape)) return NULL;
    return add_value(b->graph, pl_builder_fmt(b, "%s%s", b->scope, name), type, shape, PL_INPUT);
}

pl_value *pl_add_state(pl_builder *b, const char *name, pl_type type, pl_shape shape,
                       const char *init, pl_state_kind kind)
{
    if (b->err.code || !check_shape(b, name, &shape)) return NULL;
    pl_value *v =
        add_value(b->graph, pl_builder_fmt(b, "%s%s", b->scope, name), type, shape, PL_STATE);
    v->init = pl_arena_text(b->graph->arena, init);
    v->kind = kind;
    return v;
}

pl_value *pl_add_state_of(pl_builder *b, pl_value *weight, pl_state_kind kind, const char *name,
                          const char *init)
{
    if (b->err.code || !weight) return NULL;
    pl_value *v = pl_add_state(b, name, PL_F32, weight->shape, init, kind);
    if (v) v->of = weight, v->rows = kind == PL_GRAD_SUM ? 0 : weight->rows;
    return v;
}

pl_value *pl_add_row_moment(pl_builder *b, pl_value *weight, const char *name, const char *init)
{
    pl_value *v = pl_add_state_of(b, weight, PL_MOMENT, name, init);
    if (v) v->shape.dim[v->shape.rank - 1] = 1;
    return v;
}

/* Where a pattern has its number: "{}", or "{3}" of rows that are counted from 3. */
typedef struct numbering {
    int length; /* of what stands before it  */
    long long first;
    const char *end; /* what follows; NULL: it has none */
} numbering;

static numbering find_numbering(const char *pattern)
{
    const char *open = strchr(pattern, '{'), *at = open ? open + 1 : "";
    numbering m = { open ? (int)(open - pattern) : 0, 0, NULL };
    while (*at >= '0' && *at <= '9' && m.first < INT32_MAX) m.first = m.first * 10 + (*at++ - '0');
    if (*at == '}') m.end = at + 1;
    return m;
}

pl_value *pl_add_parts(pl_builder *b, pl_value *value, const char *pattern)
{
    if (b->err.code || !value) return NULL;
    const numbering m = find_numbering(pattern);
    if (!m.end || strchr(m.end, '{') || !value->shape.rank) {
        pl_err_set(&b->err, PL_EINPUT, "state '%s': '%s' names no rows of it: it needs one {}",
                   value->name, pattern);
        return NULL;
    }
    value->parts = pl_builder_fmt(b, "%s%s", b->scope, pattern);
    return value;
}

const char *pl_graph_part(pl_arena *arena, const pl_value *value, int64_t i)
{
    const numbering m = find_numbering(value->parts);
    return pl_arena_fmt(arena, "%.*s%lld%s", m.length, value->parts, m.first + (long long)i, m.end);
}

void pl_add_output(pl_builder *b, const char *name, pl_value *value)
{
    if (b->err.code || !value) return;
    pl_graph_rename(b->graph, value, pl_arena_text(b->graph->arena, name));
    PL_PUSH(b->graph->arena, &b->graph->outputs, value);
}

/* -- done -------------------------------------------------------------------------------------- */

static void mark(const pl_graph *graph, bool *keep)
{
    for (int i = 0; i < graph->outputs.n; i++)
        if (graph->outputs.at[i]->maker) keep[graph->outputs.at[i]->maker->id] = true;
    for (int i = 0; i < graph->values.n; i++) {
        const pl_value *v = graph->values.at[i];
        if (v->role == PL_STATE && v->next && v->next->maker) keep[v->next->maker->id] = true;
    }
    for (int i = graph->nodes.n - 1; i >= 0; i--)
        for (int k = 0; keep[i] && k < graph->nodes.at[i]->n_in; k++)
            if (graph->nodes.at[i]->in[k]->maker) keep[graph->nodes.at[i]->in[k]->maker->id] = true;
}

static void prune(pl_graph *graph)
{
    bool *keep = PL_NEW_N(graph->arena, bool, graph->nodes.n + 1);
    int n_nodes = 0, n_values = 0;
    mark(graph, keep);
    for (int i = 0; i < graph->nodes.n; i++) {
        pl_node *n = graph->nodes.at[i];
        if (n->of && !keep[n->of->id]) n->of = NULL;
    }
    for (int i = 0; i < graph->values.n; i++) {
        pl_value *v = graph->values.at[i];
        if (v->maker && !keep[v->maker->id]) continue;
        v->id = n_values;
        graph->values.at[n_values++] = v;
    }
    for (int i = 0; i < graph->nodes.n; i++) {
        if (!keep[i]) continue;
        graph->nodes.at[i]->id = n_nodes;
        graph->nodes.at[n_nodes++] = graph->nodes.at[i];
    }
    graph->values.n = n_values;
    graph->nodes.n = n_nodes;
    pl_map_clear(&graph->names);
    for (int i = 0; i < n_values; i++)
        pl_graph_rename(graph, graph->values.at[i], graph->values.at[i]->name);
}

bool pl_builder_done(pl_builder *b, pl_graph **out, pl_err *err)
{
    if (b->err.code) {
        *err = b->err;
        return false;
    }
    prune(b->graph);
    PL_TRY(pl_graph_check(b->graph, err));
    *out = b->graph;
    return true;
}

pl_value *pl_graph_find(const pl_graph *graph, const char *name)
{
    const uint64_t hash = pl_hash_text(0, name);
    PL_MAP_EACH (&graph->names, hash, x)
        if (!strcmp(graph->values.at[x.value]->name, name)) return graph->values.at[x.value];
    return NULL;
}

void pl_graph_rename(pl_graph *graph, pl_value *value, const char *name)
{
    value->name = name;
    pl_map_put(&graph->names, pl_hash_text(0, name), value->id, graph->arena);
}

const pl_value *pl_graph_leaf(const pl_value *value)
{
    const pl_node *n = value->maker;
    if (!n) return value;
    if (n->n_in != 1 || n->n_out != 1 || n->in[0]->maker || !n->op->elementwise) return NULL;
    return pl_share_same_index(n, 0, 1) ? n->in[0] : NULL;
}

int64_t pl_value_bytes(const pl_value *value)
{
    return pl_shape_count(&value->shape) * pl_type_bytes(value->type);
}

int pl_graph_forward(const pl_graph *graph)
{
    int n = 0;
    while (n < graph->nodes.n && graph->nodes.at[n]->phase == PL_FORWARD) n++;
    return n;
}

const pl_value *pl_graph_state(const pl_value *value)
{
    const pl_value *leaf = pl_graph_leaf(value);
    return leaf && leaf->role == PL_STATE ? leaf : NULL;
}

pl_shape pl_graph_whole(const pl_value *state)
{
    pl_shape s = state->shape;
    if (state->rows) s.dim[0] = state->rows;
    return s;
}

int64_t pl_graph_params(const pl_graph *graph)
{
    int64_t n = 0;
    for (int i = 0; i < graph->values.n; i++) {
        const pl_shape whole = pl_graph_whole(graph->values.at[i]);
        if (graph->values.at[i]->kind == PL_WEIGHT) n += pl_shape_count(&whole);
    }
    return n;
}

/* -- check ------------------------------------------------------------------------------------- */

static bool check_name(const pl_graph *graph, const pl_value *value, pl_err *err)
{
    const char *name = value->name;
    if (!*name || !strcmp(name, "/") || name[strcspn(name, " \"\n")])
        return pl_err_set(err, PL_EINPUT,
                          "'%s' is not a name: it is empty, a mere '/', or holds blanks or quotes",
                          name);
    return pl_graph_find(graph, name) == value ||
           pl_err_set(err, PL_EINPUT, "two values are named '%s'", name);
}

static bool check_inplace(const pl_node *node, pl_err *err)
{
    const char *p = node->op->inplace ? node->op->inplace : "";
    for (int i = 0; p[i] && i < node->n_out; i++) {
        if (p[i] == '-') continue;
        const pl_value *from = node->in[p[i] - '0'], *to = node->out[i];
        if (from->type != to->type || !pl_shape_same(&from->shape, &to->shape))
            return pl_err_set(err, PL_EINTERNAL, "output %d cannot take over input %c", i, p[i]);
    }
    return true;
}

static bool check_phase(const pl_node *node, pl_err *err)
{
    if (node->of && node->phase != PL_BACKWARD)
        return pl_err_set(err, PL_EINPUT, "it is of '%s', and %s", node->of->name,
                          pl_phase_name(node->phase));
    for (int k = 0; k < node->n_in; k++) {
        const pl_node *from = node->in[k]->maker;
        if (from && from->phase > node->phase)
            return pl_err_set(err, PL_EINPUT, "it is %s, and reads '%s', which is %s",
                              pl_phase_name(node->phase), node->in[k]->name,
                              pl_phase_name(from->phase));
    }
    return true;
}

/* Its shape, or that of a moment that is one number along some dimensions. */
static bool is_like(const pl_value *value, const pl_shape *weight)
{
    bool like = value->shape.rank == weight->rank;
    for (int k = 0; like && k < weight->rank; k++)
        like = value->shape.dim[k] == weight->dim[k] ||
               (value->kind == PL_MOMENT && value->shape.dim[k] == 1);
    return like;
}

/* A weight's own, and in its shape. */
static bool check_of(const pl_value *value, pl_err *err)
{
    bool state = value->role == PL_STATE, needs = state && value->kind >= PL_MOMENT;
    const char *what = value->maker ? "gradient" : pl_state_kind_name(value->kind);
    if (!state && value->kind)
        return pl_err_set(err, PL_EINTERNAL, "'%s' is no state", value->name);
    if (!value->of)
        return !needs || pl_err_set(err, PL_EINPUT, "'%s': %s of which weight?", value->name, what);
    if (!needs && !value->maker)
        return pl_err_set(err, PL_EINTERNAL, "'%s' has a weight, '%s', and is a %s", value->name,
                          value->of->name, what);
    if (value->of->kind != PL_WEIGHT)
        return pl_err_set(err, PL_EINPUT, "'%s': %s of '%s', which is no weight", value->name, what,
                          value->of->name);
    return is_like(value, &value->of->shape) ||
           pl_err_set(err, PL_EINPUT, "'%s': %s of '%s', which has another shape", value->name,
                      what, value->of->name);
}

static bool check_node(const pl_graph *graph, int i, pl_kinds *kinds, pl_arena *tmp, pl_err *err)
{
    const pl_node *n = graph->nodes.at[i];
    pl_node *again = PL_NEW(tmp, pl_node);
    pl_shape shape[PL_MAX_OPERANDS];
    pl_type type[PL_MAX_OPERANDS];
    if (n->id != i) return pl_err_set(err, PL_EINTERNAL, "id %d stands at %d", n->id, i);
    for (int k = 0; k < n->n_in; k++)
        if (n->in[k]->maker && n->in[k]->maker->id >= i)
            return pl_err_set(err, PL_EINTERNAL, "input %d is made later, by '%s'", k,
                              n->in[k]->maker->name);
    if (n->of && n->of->id >= i)
        return pl_err_set(err, PL_EINTERNAL, "it is of '%s', which comes later", n->of->name);
    PL_TRY(check_phase(n, err));
    *again = *n;
    PL_TRY(pl_infer(kinds, tmp, again, shape, err));
    PL_TRY(pl_infer_types(again, type, err));
    for (int k = 0; k < n->n_out; k++)
        if (type[k] != n->out[k]->type || !pl_shape_same(&shape[k], &n->out[k]->shape))
            return pl_err_set(err, PL_EINTERNAL, "output %d should be %s", k,
                              pl_shape_text(tmp, type[k], &shape[k]));
    return check_inplace(n, err);
}

bool pl_graph_check(const pl_graph *graph, pl_err *err)
{
    pl_arena *tmp = pl_arena_new("graph check");
    pl_kinds kinds = { 0 };
    bool ok = true;
    for (int i = 0; ok && i < graph->values.n; i++)
        ok = check_name(graph, graph->values.at[i], err);
    for (int i = 0; ok && i < graph->nodes.n; i++)
        if (!(ok = check_node(graph, i, &kinds, tmp, err)))
            pl_err_in(err, "node '%s'", graph->nodes.at[i]->name);
    for (int i = 0; ok && i < graph->values.n; i++) {
        const pl_value *v = graph->values.at[i];
        if (!(ok = check_of(v, err))) break;
        if (v->next && (v->role != PL_STATE || v->next->type != v->type ||
                        !pl_shape_same(&v->next->shape, &v->shape)))
            ok = pl_err_set(err, PL_EINTERNAL, "'%s' cannot become '%s'", v->name, v->next->name);
    }
    pl_arena_free(tmp);
    return ok;
}
