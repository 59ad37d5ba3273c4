/* Building and checking. Read pl_add_node(), through which every node comes: attributes, sizes
 * (infer), casts of mixed precision (narrow_inputs), types; then pl_builder_done(), which
 * prunes, and pl_graph_check() at the end, which trusts none of it. */
#include "graph/graph.h"

#include "graph/form.h"
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

/* -- attributes -------------------------------------------------------------------------------- */

/* "a=1 b=2,3" -> rows; split at blanks. */
static bool parse_attrs(pl_builder *b, const char *text, pl_node *node)
{
    struct {
        int n, cap;
        pl_attr *at;
    } list = { 0 };
    while (*(text += strspn(text, " "))) {
        size_t len = strcspn(text, " ");
        const char *eq = memchr(text, '=', len);
        if (!eq)
            return pl_err_set(&b->err, PL_EINPUT, "'%.*s' is not attribute=value", (int)len, text);
        for (int i = 0; i < list.n; i++)
            if (strlen(list.at[i].name) == (size_t)(eq - text) &&
                !memcmp(list.at[i].name, text, (size_t)(eq - text)))
                return pl_err_set(&b->err, PL_EINPUT, "attribute '%s' stands twice",
                                  list.at[i].name);
        pl_arena *a = b->graph->arena;
        PL_PUSH(a, &list,
                ((pl_attr){ pl_arena_span(a, text, (size_t)(eq - text)),
                            pl_arena_span(a, eq + 1, (size_t)(text + len - eq - 1)) }));
        text += len;
    }
    node->n_attrs = list.n;
    node->attr = list.at;
    return true;
}

/* The row "name=..." of an operator's attrs: its default value, or NULL. */
static const char *find_default(const pl_op *op, const char *name, size_t *len)
{
    size_t n = strlen(name);
    for (const char *at = op->attrs ? op->attrs : ""; *(at += strspn(at, " "));) {
        size_t word = strcspn(at, " ");
        if (word > n && !strncmp(at, name, n) && at[n] == '=') {
            *len = word - n - 1;
            return at + n + 1;
        }
        at += word;
    }
    return NULL;
}

static const char *find_attr(const pl_node *node, const char *name, size_t *len)
{
    for (int i = 0; i < node->n_attrs; i++)
        if (!strcmp(node->attr[i].name, name)) {
            *len = strlen(node->attr[i].text);
            return node->attr[i].text;
        }
    return find_default(node->op, name, len);
}

pl_value *pl_node_value(const pl_node *node, int o)
{
    return o < node->n_in ? node->in[o] : node->out[o - node->n_in];
}

double pl_node_real(const pl_node *node, const char *name, int k)
{
    size_t len;
    const char *text = find_attr(node, name, &len), *end = text ? text + len : NULL;
    if (!text) pl_bug(__FILE__, __LINE__, "%s has no attribute '%s'", node->op->name, name);
    for (const char *comma; k > 0 && (comma = memchr(text, ',', (size_t)(end - text))); k--)
        text = comma + 1;
    return strtod(text, NULL);
}

int64_t pl_node_int(const pl_node *node, const char *name, int k)
{
    double x = pl_node_real(node, name, k);
    return x >= 0x1p63 ? INT64_MAX : x < -0x1p63 ? INT64_MIN : (int64_t)x;
}

bool pl_node_is(const pl_node *node, const char *name, const char *text)
{
    size_t len;
    const char *is = find_attr(node, name, &len);
    if (!is) pl_bug(__FILE__, __LINE__, "%s has no attribute '%s'", node->op->name, name);
    return len == strlen(text) && !memcmp(is, text, len);
}

const char *pl_node_text(const pl_node *node, const char *name)
{
    for (int i = 0; i < node->n_attrs; i++)
        if (!strcmp(node->attr[i].name, name)) return node->attr[i].text;
    pl_bug(__FILE__, __LINE__, "%s '%s' does not say '%s'", node->op->name, node->name, name);
}

static bool has_attr(const pl_op *op, const char *name)
{
    size_t len;
    return find_default(op, name, &len) != NULL;
}

/* Infinite ones too, as masks add. */
static bool is_number(const char *word)
{
    double x;
    return pl_text_real(word, &x) || !strcmp(word, "inf") || !strcmp(word, "-inf");
}

/* Is [text, text + len) a list of numbers, "1,0.5"? */
static bool is_numbers(const char *text, size_t len)
{
    for (const char *at = text, *end = text + len;;) {
        char word[64];
        size_t n = 0;
        while (at + n < end && at[n] != ',') n++;
        if (n >= sizeof word) return false;
        memcpy(word, at, n);
        word[n] = 0;
        if (!is_number(word)) return false;
        at += n;
        if (at == end) return true;
        at++;
    }
}

/* An attribute whose default is a number is one. */
static bool check_attr(const pl_op *op, const pl_attr *a, pl_err *err)
{
    size_t len;
    const char *text = find_default(op, a->name, &len);
    if (!text)
        return pl_err_set(err, PL_EINPUT, "unknown attribute '%s' (known: %s)", a->name,
                          op->attrs ? op->attrs : "none, and the letters of the signature");
    if (is_numbers(text, len) && !is_numbers(a->text, strlen(a->text)))
        return pl_err_set(err, PL_EINPUT, "'%s=%s' is not a number", a->name, a->text);
    return true;
}

/* Sizes beyond these are mistakes, and below them no product of a size and a step can overflow. */
static const int64_t max_size = (int64_t)1 << 40, max_step = (int64_t)1 << 20;

/* Known names, numbers where numbers are needed; single letters set the sizes of factors. */
static bool apply_attrs(const pl_node *node, pl_sig *sig, pl_err *err)
{
    for (int i = 0; i < node->n_attrs; i++) {
        const pl_attr *a = &node->attr[i];
        int f = a->name[1] ? -1 : pl_sig_find(sig, a->name[0]);
        if (f < 0) {
            PL_TRY(check_attr(node->op, a, err));
            continue;
        }
        int64_t *size = &sig->factor[f].size;
        if (!pl_text_int(a->text, size) || *size < 1 || *size > max_size)
            return pl_err_set(err, PL_EINPUT, "'%s=%s' is not a positive size", a->name, a->text);
    }
    for (int w = 0; w < sig->n_windows; w++) {
        pl_window *x = &sig->window[w];
        if (has_attr(node->op, "stride")) x->stride = pl_node_int(node, "stride", w);
        if (has_attr(node->op, "dilation")) x->dilation = pl_node_int(node, "dilation", w);
        if (has_attr(node->op, "pad")) x->pad_lo = x->pad_hi = pl_node_int(node, "pad", w);
        if (x->stride < 1 || x->dilation < 1 || x->pad_lo < 0 || x->stride > max_step ||
            x->dilation > max_step || x->pad_lo > max_step)
            return pl_err_set(err, PL_EINPUT, "stride %lld, dilation %lld, pad %lld: out of range",
                              (long long)x->stride, (long long)x->dilation, (long long)x->pad_lo);
    }
    return true;
}

static void apply_marks(const pl_op *op, pl_sig *sig)
{
    for (int f = 0; f < sig->n_factors; f++) {
        pl_factor *x = &sig->factor[f];
        x->whole = op->whole && strchr(op->whole, x->letter);
        x->lookup = op->lookup && strchr(op->lookup, x->letter);
    }
}

/* -- types ------------------------------------------------------------------------------------- */

/* Of an operand of n: the last inputs may be missing. */
static char type_rule(const pl_node *n, int operand)
{
    const char *t = n->op->types ? n->op->types : "f";
    if (!t[1]) return t[0];
    if (operand >= n->n_in) t = strchr(t, '>') + 1, operand -= n->n_in;
    for (; *t; t++)
        if (*t != ',' && *t != '-' && *t != '>' && operand-- == 0) return *t;
    return '?';
}

static bool bind_type(const pl_node *node, int i, pl_type bound[128], bool is_bound[128],
                      pl_err *err)
{
    char rule = type_rule(node, i);
    pl_type t = node->in[i]->type;
    bool fits = rule == 't' || (rule == 'f' && pl_type_is_float(t)) ||
                (rule == 'i' && !pl_type_is_float(t)) || (rule == 'F' && t == PL_F32) ||
                (rule == 'b' && t == PL_U8);
    if (!fits)
        return pl_err_set(err, PL_EINPUT, "input %d is %s, wanted %s", i, pl_type_name(t),
                          rule == 'f'   ? "a float type"
                          : rule == 'i' ? "an integer type"
                          : rule == 'b' ? "u8"
                                        : "f32");
    if (is_bound[(int)rule] && bound[(int)rule] != t)
        return pl_err_set(err, PL_EINPUT, "input %d is %s, an earlier input %s: add a cast", i,
                          pl_type_name(t), pl_type_name(bound[(int)rule]));
    bound[(int)rule] = t;
    is_bound[(int)rule] = true;
    return true;
}

static bool find_types(const pl_node *node, pl_type out[], pl_err *err)
{
    pl_type bound[128] = {
        ['f'] = PL_F32, ['F'] = PL_F32, ['i'] = PL_I32, ['t'] = PL_F32, ['b'] = PL_U8
    };
    bool is_bound[128] = { ['F'] = true };
    for (int i = 0; i < node->n_in; i++) PL_TRY(bind_type(node, i, bound, is_bound, err));
    for (int i = 0; i < node->sig->n_out; i++) {
        char rule = type_rule(node, node->n_in + i);
        out[i] = bound[(int)rule];
        if (rule != 'a') continue;
        size_t len;
        const char *name = find_attr(node, "to", &len);
        char text[8] = "";
        if (len < sizeof text) memcpy(text, name, len);
        if (!pl_type_find(text, &out[i]))
            return pl_err_set(err, PL_EINPUT, "unknown type '%.*s'", (int)len, name);
    }
    return true;
}

/* -- nodes ------------------------------------------------------------------------------------- */

/* Fill n->sig and give the shapes of the outputs. */
static bool infer(pl_arena *arena, pl_node *node, pl_shape shape[], pl_err *err)
{
    const pl_shape *in[PL_MAX_OPERANDS];
    int64_t extent[PL_MAX_WINDOWS] = { 0 };
    pl_sig *sig = PL_NEW(arena, pl_sig);
    size_t sig_len = strcspn(node->spec, ";");
    while (sig_len && node->spec[sig_len - 1] == ' ') sig_len--;
    const char *text = sig_len ? pl_arena_span(arena, node->spec, sig_len) : node->op->sig;
    if (!text) return pl_err_set(err, PL_EINPUT, "needs a signature");
    for (int i = 0; i < node->n_in; i++) in[i] = &node->in[i]->shape;
    PL_TRY(pl_sig_parse(text, node->n_in, in, sig, err));
    node->sig = sig;
    PL_TRY(pl_form_check(node, err));
    PL_TRY(apply_attrs(node, sig, err));
    apply_marks(node->op, sig);
    PL_TRY(pl_sig_solve_inputs(text, sig, in, err));
    if (node->op->infer) PL_TRY(node->op->infer(node, sig, err));
    for (int w = 0; w < sig->n_windows; w++)
        if (has_attr(node->op, "extent")) extent[w] = pl_node_int(node, "extent", w);
    return pl_sig_solve(text, sig, in, extent, shape, err);
}

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
    return b->compute != PL_F32 && leaf && v->type == PL_F32 && type_rule(node, i) != 'F' &&
           (node->n_in > 1 || type_rule(node, 1) != 'a');
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
    const char *attrs = strchr(n->spec, ';');
    if (b->err.code || !parse_attrs(b, attrs ? attrs + 1 : "", n) ||
        !infer(graph->arena, n, shape, &b->err) || !narrow_inputs(b, n) ||
        !find_types(n, type, &b->err)) {
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
    for (int k = 1; v && k < v->shape.rank; k++) v->shape.dim[k] = 1;
    return v;
}

pl_value *pl_add_parts(pl_builder *b, pl_value *value, const char *pattern)
{
    if (b->err.code || !value) return NULL;
    const char *mark = strstr(pattern, "{}");
    if (!mark || strstr(mark + 2, "{}") || !value->shape.rank) {
        pl_err_set(&b->err, PL_EINPUT, "state '%s': '%s' names no rows of it: it needs one {}",
                   value->name, pattern);
        return NULL;
    }
    value->parts = pl_builder_fmt(b, "%s%s", b->scope, pattern);
    return value;
}

const char *pl_graph_part(pl_arena *arena, const pl_value *value, int64_t i)
{
    const char *mark = strstr(value->parts, "{}");
    return pl_arena_fmt(arena, "%.*s%lld%s", (int)(mark - value->parts), value->parts, (long long)i,
                        mark + 2);
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
    bool one = n->n_in == 1 && n->n_out == 1 && n->op->elementwise && pl_share_same_index(n, 0, 1);
    return one && !n->in[0]->maker ? n->in[0] : NULL;
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

static bool check_node(const pl_graph *graph, int i, pl_arena *tmp, pl_err *err)
{
    const pl_node *n = graph->nodes.at[i];
    pl_node again = *n;
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
    PL_TRY(infer(tmp, &again, shape, err));
    PL_TRY(find_types(&again, type, err));
    for (int k = 0; k < n->n_out; k++)
        if (type[k] != n->out[k]->type || !pl_shape_same(&shape[k], &n->out[k]->shape))
            return pl_err_set(err, PL_EINTERNAL, "output %d should be %s", k,
                              pl_shape_text(tmp, type[k], &shape[k]));
    return check_inplace(n, err);
}

bool pl_graph_check(const pl_graph *graph, pl_err *err)
{
    pl_arena *tmp = pl_arena_new("graph check");
    bool ok = true;
    for (int i = 0; ok && i < graph->values.n; i++)
        ok = check_name(graph, graph->values.at[i], err);
    for (int i = 0; ok && i < graph->nodes.n; i++)
        if (!(ok = check_node(graph, i, tmp, err)))
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
