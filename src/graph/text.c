/* The text form of a graph: print and parse. */
#include "graph/graph.h"
#include "graph/op.h"

#include <string.h>

static void print_value(const pl_graph *g, const pl_value *v, pl_text *out)
{
    pl_text_add(out, "%s %s %s", v->role == PL_INPUT ? "input" : "state", v->name,
                pl_shape_text(g->arena, v->type, &v->shape));
    if (v->role == PL_STATE) pl_text_add(out, "%s \"%s\"", v->trainable ? " train" : "", v->init);
    pl_text_add(out, "\n");
}

static void print_node(const pl_graph *g, const pl_node *n, pl_text *out)
{
    pl_text_add(out, "node");
    for (int i = 0; i < n->n_out; i++)
        pl_text_add(out, " %s %s", n->out[i]->name,
                    pl_shape_text(g->arena, n->out[i]->type, &n->out[i]->shape));
    pl_text_add(out, " = %s \"%s\"", n->op->name, n->spec);
    for (int i = 0; i < n->n_in; i++) pl_text_add(out, " %s", n->in[i]->name);
    pl_text_add(out, "\n");
}

void pl_graph_print(const pl_graph *g, pl_text *out)
{
    pl_text_add(out, "graph %s\n", g->name);
    for (int i = 0; i < g->values.n; i++)
        if (!g->values.at[i]->maker) print_value(g, g->values.at[i], out);
    for (int i = 0; i < g->nodes.n; i++) print_node(g, g->nodes.at[i], out);
    for (int i = 0; i < g->outputs.n; i++) pl_text_add(out, "output %s\n", g->outputs.at[i]->name);
    for (int i = 0; i < g->values.n; i++)
        if (g->values.at[i]->next)
            pl_text_add(out, "next %s %s\n", g->values.at[i]->name, g->values.at[i]->next->name);
}

/* -- parse ------------------------------------------------------------------------------------------ */

typedef struct reader {
    const char *at;
    int line;
    pl_builder b;
} reader;

/* Next word of the line, or a "quoted text"; NULL at its end. */
static const char *read_word(reader *r)
{
    while (*r->at == ' ') r->at++;
    if (!*r->at || *r->at == '\n') return NULL;
    bool quoted = *r->at == '"';
    const char *from = r->at + quoted;
    size_t n = strcspn(from, quoted ? "\"\n" : " \n");
    r->at = from + n;
    if (quoted && *r->at == '"') r->at++;
    return pl_arena_span(r->b.graph->arena, from, n);
}

static bool bad(reader *r, const char *what, const char *word)
{
    return pl_err_set(&r->b.err, PL_EINPUT, "%s '%s'", what, word ? word : "(end of line)");
}

/* "f32[4,128]" */
static bool parse_shape(reader *r, const char *word, pl_type *type, pl_shape *shape)
{
    pl_arena *a = r->b.graph->arena;
    const char *open = word ? strchr(word, '[') : NULL;
    if (!open || !pl_type_find(pl_arena_span(a, word, (size_t)(open - word)), type))
        return bad(r, "expected a type and shape like f32[4,8], found", word);
    *shape = (pl_shape){ 0 };
    for (const char *at = open + 1; *at != ']';) {
        size_t n = strcspn(at, ",]");
        if (shape->rank == PL_MAX_RANK || !at[n] ||
            !pl_text_int(pl_arena_span(a, at, n), &shape->dim[shape->rank]))
            return bad(r, "expected a type and shape like f32[4,8], found", word);
        shape->rank++;
        at += n + (at[n] == ',');
    }
    return true;
}

static bool parse_leaf(reader *r, bool state)
{
    const char *name = read_word(r), *word = read_word(r);
    pl_type type;
    pl_shape shape;
    if (!name) return bad(r, "expected a name, found", name);
    PL_TRY(parse_shape(r, word, &type, &shape));
    if (!state) return pl_add_input(&r->b, name, type, shape) != NULL;
    const char *init = read_word(r);
    bool train = init && !strcmp(init, "train");
    if (train) init = read_word(r);
    if (!init) return bad(r, "expected an initial value, found", init);
    return pl_add_state(&r->b, name, type, shape, init, train) != NULL;
}

static bool parse_ref(reader *r, const char *name, pl_value **v)
{
    *v = name ? pl_graph_find(r->b.graph, name) : NULL;
    return *v || bad(r, "no earlier value is named", name);
}

static bool parse_node(reader *r)
{
    const char *name[PL_MAX_OPERANDS], *word;
    pl_type type[PL_MAX_OPERANDS];
    pl_shape shape[PL_MAX_OPERANDS];
    pl_value *in[PL_MAX_OPERANDS];
    int n_out = 0, n_in = 0;
    while ((word = read_word(r)) && strcmp(word, "=")) {
        if (n_out == PL_MAX_OPERANDS) return bad(r, "too many outputs at", word);
        name[n_out] = word;
        PL_TRY(parse_shape(r, read_word(r), &type[n_out], &shape[n_out]));
        n_out++;
    }
    const char *op_name = read_word(r), *spec = read_word(r);
    const pl_op *op = op_name ? pl_ops_find(r->b.graph->ops, op_name) : NULL;
    if (!op) return bad(r, "unknown operator", op_name);
    while ((word = read_word(r))) {
        if (n_in == PL_MAX_OPERANDS) return bad(r, "too many inputs at", word);
        PL_TRY(parse_ref(r, word, &in[n_in++]));
    }
    if (!n_out) return bad(r, "expected an output before '=', found", op_name);
    const pl_node *n = pl_add_node(&r->b, op, name[0], spec ? spec : "", n_in, in);
    if (!n) return false;
    if (n->n_out != n_out) return bad(r, "wrong number of outputs for", op_name);
    for (int i = 0; i < n_out; i++) {
        if (n->out[i]->type != type[i] || !pl_shape_same(&n->out[i]->shape, &shape[i]))
            return bad(r, "the signature gives another shape or type for", name[i]);
        n->out[i]->name = name[i];
    }
    return true;
}

static bool parse_line(reader *r, const char *word)
{
    pl_value *v, *next;
    if (!strcmp(word, "input")) return parse_leaf(r, false);
    if (!strcmp(word, "state")) return parse_leaf(r, true);
    if (!strcmp(word, "node")) return parse_node(r);
    if (!strcmp(word, "output")) {
        PL_TRY(parse_ref(r, read_word(r), &v));
        pl_add_output(&r->b, v->name, v);
        return true;
    }
    if (!strcmp(word, "next")) {
        PL_TRY(parse_ref(r, read_word(r), &v));
        PL_TRY(parse_ref(r, read_word(r), &next));
        v->next = next;
        return true;
    }
    return bad(r, "expected input, state, node, output or next, found", word);
}

bool pl_graph_parse(const char *text, const pl_ops *ops, pl_arena *arena, pl_graph **out, pl_err *err)
{
    reader r = { .at = text, .line = 1, .b = pl_builder_new(arena, ops, "") };
    const char *word = read_word(&r), *name = read_word(&r);
    if (!word || strcmp(word, "graph")) bad(&r, "expected 'graph NAME', found", word);
    r.b.graph->name = name ? name : "";
    while (!r.b.err.code && *r.at == '\n') {
        r.at++;
        r.line++;
        word = read_word(&r);
        if (word && parse_line(&r, word) && (word = read_word(&r))) bad(&r, "unexpected", word);
    }
    if (r.b.err.code) {
        *err = r.b.err;
        return pl_err_in(err, "line %d", r.line);
    }
    return pl_builder_done(&r.b, out, err);
}
