/* The text form of a graph: pl_graph_print(), and below it the parser, pl_graph_parse(), a
 * function for each kind of line. */
#include "base/rng.h"
#include "graph/graph.h"
#include "graph/op.h"

#include <string.h>

const char *pl_state_kind_name(pl_state_kind kind)
{
    static const char *const names[] = { "buffer", "rows",   "weight",
                                         "moment", "master", "gradient-sum" };
    return names[kind];
}

const char *pl_phase_name(pl_phase phase)
{
    static const char *const names[] = { "forward", "backward", "update" };
    return names[phase];
}

static void print_value(const pl_graph *graph, const pl_value *value, pl_text *out)
{
    pl_text_add(out, "%s %s %s", value->role == PL_INPUT ? "input" : "state", value->name,
                pl_shape_text(graph->arena, value->type, &value->shape));
    if (value->role == PL_STATE) pl_text_add(out, " %s", pl_state_kind_name(value->kind));
    if (value->of) pl_text_add(out, " of %s", value->of->name);
    if (value->rows) pl_text_add(out, " rows %lld", (long long)value->rows);
    if (value->role == PL_STATE) pl_text_add(out, " \"%s\"", value->init);
    if (value->parts) pl_text_add(out, " \"%s\"", value->parts);
    pl_text_add(out, "\n");
}

static void print_node(const pl_graph *graph, const pl_node *node, pl_text *out)
{
    pl_text_add(out, "%s", pl_phase_name(node->phase));
    for (int i = 0; i < node->n_out; i++)
        pl_text_add(out, " %s %s", node->out[i]->name,
                    pl_shape_text(graph->arena, node->out[i]->type, &node->out[i]->shape));
    pl_text_add(out, " = %s \"%s\"", node->op->name, node->spec);
    for (int i = 0; i < node->n_in; i++) pl_text_add(out, " %s", node->in[i]->name);
    if (node->of) pl_text_add(out, " / %s", node->of->out[0]->name);
    pl_text_add(out, "\n");
}

void pl_graph_print(const pl_graph *graph, pl_text *out)
{
    pl_text_add(out, "graph %s\n", graph->name);
    if (graph->micro > 1) pl_text_add(out, "micro %lld\n", (long long)graph->micro);
    for (int i = 0; i < graph->values.n; i++)
        if (!graph->values.at[i]->maker) print_value(graph, graph->values.at[i], out);
    for (int i = 0; i < graph->nodes.n; i++) print_node(graph, graph->nodes.at[i], out);
    for (int i = 0; i < graph->outputs.n; i++)
        pl_text_add(out, "output %s\n", graph->outputs.at[i]->name);
    for (int i = 0; i < graph->values.n; i++)
        if (graph->values.at[i]->next)
            pl_text_add(out, "next %s %s\n", graph->values.at[i]->name,
                        graph->values.at[i]->next->name);
    for (int i = 0; i < graph->values.n; i++)
        if (graph->values.at[i]->maker && graph->values.at[i]->of)
            pl_text_add(out, "gradient %s of %s\n", graph->values.at[i]->name,
                        graph->values.at[i]->of->name);
}

/* -- parse ------------------------------------------------------------------------------------- */

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
    size_t n = strcspn(from, quoted ? "\"\n" : " \"\n");
    r->at = from + n;
    if (quoted && *r->at == '"') r->at++;
    return pl_arena_span(r->b.graph->arena, from, n);
}

/* Names are printed without quotes, so they are read without. */
static const char *read_name(reader *r)
{
    while (*r->at == ' ') r->at++;
    return *r->at == '"' ? NULL : read_word(r);
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
    const char *at = open + 1, *close = word + strlen(word) - 1;
    bool ok = *close == ']';
    while (ok && at < close) {
        size_t n = strcspn(at, ",]");
        bool more = at[n] == ',' && at + n + 1 < close;
        ok = shape->rank < PL_MAX_RANK && (more || at + n == close) &&
             pl_text_int(pl_arena_span(a, at, n), &shape->dim[shape->rank]);
        shape->rank++;
        at += n + more;
    }
    return ok || bad(r, "expected a type and shape like f32[4,8], found", word);
}

static bool check_new(reader *r, const char *name)
{
    return !pl_graph_find(r->b.graph, name) || bad(r, "two values are named", name);
}

static bool parse_ref(reader *r, const char *name, pl_value **v)
{
    *v = name ? pl_graph_find(r->b.graph, name) : NULL;
    return *v || bad(r, "no earlier value is named", name);
}

static bool parse_of(reader *r, pl_value **weight)
{
    const char *word = read_word(r);
    if (!word || strcmp(word, "of")) return bad(r, "expected 'of WEIGHT', found", word);
    return parse_ref(r, read_word(r), weight);
}

/* "rows N" of a cache, before the initial value, which is read then. */
static bool parse_rows(reader *r, const pl_shape *shape, const char **word, int64_t *rows)
{
    if (strcmp(*word, "rows")) return true;
    const char *number = read_word(r);
    if (!number || !pl_text_int(number, rows) || !shape->rank || *rows <= shape->dim[0])
        return bad(r, "expected the rows of a table, more than are in its cache, found", number);
    *word = read_word(r);
    return *word || bad(r, "expected an initial value, found", NULL);
}

/* A state after its shape: kind, rows, initial value, names of parts. */
static bool parse_state(reader *r, const char *name, pl_type type, pl_shape shape, pl_value **v)
{
    const char *word = read_word(r), *init;
    pl_value *weight = NULL;
    int64_t rows = 0;
    pl_state_kind kind = 0;
    while (kind < PL_N_STATE_KINDS && (!word || strcmp(word, pl_state_kind_name(kind)))) kind++;
    if (kind == PL_N_STATE_KINDS) return bad(r, "expected a kind of state, found", word);
    if (kind >= PL_MOMENT) PL_TRY(parse_of(r, &weight));
    if (!(init = read_word(r))) return bad(r, "expected an initial value, found", init);
    PL_TRY(parse_rows(r, &shape, &init, &rows));
    *v = pl_add_state(&r->b, name, type, shape, init, kind);
    if (*v) (*v)->of = weight, (*v)->rows = rows;
    const char *parts = read_word(r);
    if (parts) *v = pl_add_parts(&r->b, *v, parts);
    return true;
}

static bool parse_leaf(reader *r, bool state)
{
    const char *name = read_name(r), *word = read_word(r);
    pl_type type;
    pl_shape shape;
    if (!name) return bad(r, "expected a name, found", word);
    PL_TRY(check_new(r, name) && parse_shape(r, word, &type, &shape));
    pl_value *v = NULL;
    if (state)
        PL_TRY(parse_state(r, name, type, shape, &v));
    else
        v = pl_add_input(&r->b, name, type, shape);
    return v != NULL;
}

static bool parse_node(reader *r, pl_phase phase)
{
    const char *name[PL_MAX_OPERANDS], *word;
    pl_type type[PL_MAX_OPERANDS];
    pl_shape shape[PL_MAX_OPERANDS];
    pl_value *in[PL_MAX_OPERANDS], *of = NULL;
    int n_out = 0, n_in = 0;
    while ((word = read_name(r)) && strcmp(word, "=")) {
        if (n_out == PL_MAX_OPERANDS) return bad(r, "too many outputs at", word);
        name[n_out] = word;
        PL_TRY(check_new(r, word));
        PL_TRY(parse_shape(r, read_word(r), &type[n_out], &shape[n_out]));
        n_out++;
    }
    const char *op_name = read_word(r), *spec = read_word(r);
    const pl_op *op = op_name ? pl_ops_find(r->b.graph->ops, op_name) : NULL;
    if (!op) return bad(r, "unknown operator", op_name);
    while ((word = read_word(r)) && strcmp(word, "/")) {
        if (n_in == PL_MAX_OPERANDS) return bad(r, "too many inputs at", word);
        PL_TRY(parse_ref(r, word, &in[n_in++]));
    }
    if (word) PL_TRY(parse_ref(r, read_word(r), &of));
    if (of && !of->maker) return bad(r, "expected the output of a node after '/', found", of->name);
    if (!n_out) return bad(r, "expected an output before '=', found", op_name);
    r->b.phase = phase;
    r->b.of = of ? of->maker : NULL;
    const pl_node *n = pl_add_node(&r->b, op, name[0], spec ? spec : "", n_in, in);
    r->b.of = NULL;
    if (!n) return false;
    if (n->phase != phase)
        return bad(r, "what it reads or is of makes it", pl_phase_name(n->phase));
    if (n->n_out != n_out) return bad(r, "wrong number of outputs for", op_name);
    for (int i = 0; i < n_out; i++) {
        if (n->out[i]->type != type[i] || !pl_shape_same(&n->out[i]->shape, &shape[i]))
            return bad(r, "the signature gives another shape or type for", name[i]);
        pl_graph_rename(r->b.graph, n->out[i], name[i]);
    }
    return true;
}

static bool parse_micro(reader *r)
{
    const char *word = read_word(r);
    int64_t n;
    if (!word || !pl_text_int(word, &n) || n < 1 || n > PL_GRAPH_MICRO)
        return bad(r, "expected a number of micro-batches, found", word);
    r->b.graph->micro = n;
    return true;
}

static bool parse_line(reader *r, const char *word)
{
    pl_value *v, *next;
    if (!strcmp(word, "micro")) return parse_micro(r);
    if (!strcmp(word, "input")) return parse_leaf(r, false);
    if (!strcmp(word, "state")) return parse_leaf(r, true);
    for (pl_phase p = 0; p < PL_N_PHASES; p++)
        if (!strcmp(word, pl_phase_name(p))) return parse_node(r, p);
    if (!strcmp(word, "output")) {
        PL_TRY(parse_ref(r, read_word(r), &v));
        pl_add_output(&r->b, v->name, v);
        return true;
    }
    if (!strcmp(word, "next")) {
        PL_TRY(parse_ref(r, read_word(r), &v));
        PL_TRY(parse_ref(r, read_word(r), &next));
        if (v->role != PL_STATE || v->type != next->type || !pl_shape_same(&v->shape, &next->shape))
            return bad(r, "not a state of the type and shape of its next value:", v->name);
        v->next = next;
        return true;
    }
    if (!strcmp(word, "gradient")) {
        PL_TRY(parse_ref(r, read_word(r), &v));
        if (!v->maker) return bad(r, "not made by a node:", v->name);
        return parse_of(r, &v->of);
    }
    return bad(r,
               "expected micro, input, state, forward, backward, update, output, next or gradient, "
               "found",
               word);
}

bool pl_graph_parse(const char *text, const pl_ops *ops, pl_arena *arena, pl_graph **out,
                    pl_err *err)
{
    reader r = { .at = text, .line = 1, .b = pl_builder_new(arena, ops, "") };
    const char *word = read_word(&r), *name = read_name(&r);
    if (!word || strcmp(word, "graph")) bad(&r, "expected 'graph NAME', found", word);
    r.b.graph->name = name ? name : "";
    if (!r.b.err.code && (word = read_word(&r))) bad(&r, "unexpected", word);
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
