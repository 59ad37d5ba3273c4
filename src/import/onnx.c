#include "import/onnx.h"

#include "import/import.h"

#include <string.h>

/* -- opening ----------------------------------------------------------------------------------- */

static bool read_dims(const Onnx__ValueInfoProto *v, pl_onnx_port *p, pl_err *err)
{
    const Onnx__TensorShapeProto *s = v->type->tensor_type->shape;
    p->rank = s ? (int)s->n_dim : -1;
    if (p->rank > PL_MAX_RANK)
        return pl_err_set(err, PL_EUNSUPPORTED, "'%s' has %d dimensions, the most is %d", p->name,
                          p->rank, PL_MAX_RANK);
    for (int i = 0; i < p->rank; i++) {
        const Onnx__TensorShapeProto__Dimension *d = s->dim[i];
        p->dim[i] = d->has_dim_value ? d->dim_value : -1;
        p->symbol[i] = d->dim_param ? d->dim_param : "";
        if (d->has_dim_value && (d->dim_value < 1 || d->dim_value > PL_MOST_SIZE))
            return pl_err_set(err, PL_EINPUT, "'%s': dimension %d is %lld", p->name, i,
                              (long long)d->dim_value);
    }
    return true;
}

/* Outputs need not say what they are. */
static bool read_port(const Onnx__ValueInfoProto *v, bool input, pl_onnx_port *p, pl_err *err)
{
    *p = (pl_onnx_port){ .name = v->name ? v->name : "", .rank = -1 };
    if (!*p->name) return pl_err_set(err, PL_EINPUT, "an input or output of the graph has no name");
    if (!v->type || !v->type->tensor_type)
        return !input || pl_err_set(err, PL_EUNSUPPORTED, "input '%s' is no tensor", p->name);
    const pl_stored *s = pl_stored_find(v->type->tensor_type->elem_type);
    if (!s && input)
        return pl_err_set(err, PL_EUNSUPPORTED, "input '%s' is of type %s", p->name,
                          pl_stored_name(v->type->tensor_type->elem_type));
    if (s) p->type = s->type;
    PL_TRY(read_dims(v, p, err));
    return p->rank >= 0 || !input ||
           pl_err_set(err, PL_EUNSUPPORTED, "input '%s' has no shape; symbolic sizes are enough",
                      p->name);
}

static bool is_initializer(const pl_onnx_file *f, const char *name)
{
    for (int i = 0; i < f->n; i++)
        if (!strcmp(f->tensor[i].name, name)) return true;
    return false;
}

static bool read_ports(pl_onnx *x, pl_arena *a, pl_err *err)
{
    const Onnx__GraphProto *g = x->file.graph;
    x->in = PL_NEW_N(a, pl_onnx_port, g->n_input + 1);
    x->out = PL_NEW_N(a, pl_onnx_port, g->n_output + 1);
    for (size_t i = 0; i < g->n_input; i++) {
        if (g->input[i]->name && is_initializer(&x->file, g->input[i]->name)) continue;
        PL_TRY(read_port(g->input[i], true, &x->in[x->n_in++], err));
    }
    for (size_t i = 0; i < g->n_output; i++)
        PL_TRY(read_port(g->output[i], false, &x->out[x->n_out++], err));
    return x->n_out > 0 || pl_err_set(err, PL_EINPUT, "the graph has no output");
}

static bool read_model(pl_onnx *x, pl_arena *a, pl_err *err)
{
    return (read_ports(x, a, err) && pl_origins_read(&x->file, a, &x->origins, err)) ||
           pl_err_in(err, "%s", x->file.path);
}

bool pl_onnx_parse(const void *bytes, size_t n, const char *path, pl_arena *a, pl_onnx **out,
                   pl_err *err)
{
    *out = PL_NEW(a, pl_onnx);
    return pl_onnx_file_parse(bytes, n, path, a, &(*out)->file, err) && read_model(*out, a, err);
}

bool pl_onnx_open(const char *path, pl_arena *a, pl_onnx **out, pl_err *err)
{
    *out = PL_NEW(a, pl_onnx);
    return pl_onnx_file_open(path, a, &(*out)->file, err) && read_model(*out, a, err);
}

/* -- operators that are not known -------------------------------------------------------------- */

typedef struct unknown {
    const char *op, *domain, *node;
    int count;
} unknown;

typedef struct unknowns {
    int n, cap;
    unknown *at;
} unknowns;

static const char *node_name(const Onnx__NodeProto *n)
{
    return n->name && *n->name ? n->name : n->n_output ? n->output[0] : "";
}

static void count_unknown(pl_import *m, unknowns *u, const Onnx__NodeProto *n)
{
    const char *domain = n->domain ? n->domain : "", *op = n->op_type ? n->op_type : "";
    const bool own = !*domain || !strcmp(domain, "ai.onnx");
    if (own && pl_mapping_find(op)) return;
    for (int i = 0; i < u->n; i++)
        if (!strcmp(u->at[i].op, op) && !strcmp(u->at[i].domain, domain)) {
            u->at[i].count++;
            return;
        }
    const unknown x = { op, domain, node_name(n), 1 };
    PL_PUSH(m->a, u, x);
}

static bool check_operators(pl_import *m)
{
    const Onnx__GraphProto *g = m->onnx->file.graph;
    unknowns u = { 0 };
    pl_text list = { .arena = m->a };
    for (size_t i = 0; i < g->n_node; i++) count_unknown(m, &u, g->node[i]);
    for (int i = 0; i < u.n; i++)
        pl_text_add(&list, "%s%s%s%s x%d (%s)", i ? ", " : "", u.at[i].domain,
                    *u.at[i].domain ? "." : "", u.at[i].op, u.at[i].count, u.at[i].node);
    return !u.n || pl_err_set(&m->b->err, PL_EUNSUPPORTED, "%d operator%s not supported: %s", u.n,
                              u.n == 1 ? " is" : "s are", pl_text_get(&list));
}

/* -- leaves ------------------------------------------------------------------------------------ */

static bool add_initializers(pl_import *m)
{
    for (int i = 0; i < m->onnx->file.n; i++) {
        const pl_tensor *t = &m->onnx->file.tensor[i];
        const pl_item x = { .name = t->name, .label = m->onnx->origins.at[i].name, .constant = t };
        PL_TRY(pl_item_add(m, &x));
    }
    return pl_weights_mark(m) && pl_doubts_tell(m);
}

static const pl_tensor *find_fixed(const pl_import *m, const char *name)
{
    for (int i = 0; i < m->options->n_fixed; i++)
        if (!strcmp(m->options->fixed[i].input, name)) return &m->options->fixed[i].tensor;
    return NULL;
}

static bool bind(const pl_import *m, const pl_onnx_port *p, pl_shape *s)
{
    *s = (pl_shape){ p->rank, { 0 } };
    for (int i = 0; i < p->rank; i++) {
        s->dim[i] = p->dim[i];
        for (int k = 0; k < m->options->n_binds && s->dim[i] < 0; k++)
            if (!strcmp(m->options->bind[k].symbol, p->symbol[i]))
                s->dim[i] = m->options->bind[k].size;
        if (s->dim[i] < 1)
            return pl_err_set(
                &m->b->err, PL_EINPUT,
                "dimension %d of input '%s' is the symbol '%s': say its size with %s=N", i, p->name,
                p->symbol[i], *p->symbol[i] ? p->symbol[i] : "a name");
    }
    return true;
}

static bool add_inputs(pl_import *m)
{
    for (int i = 0; i < m->onnx->n_in; i++) {
        const pl_onnx_port *p = &m->onnx->in[i];
        pl_item x = { .name = p->name, .constant = find_fixed(m, p->name) };
        pl_shape s;
        if (!x.constant) {
            PL_TRY(bind(m, p, &s));
            x.value = pl_add_input(m->b, p->name, p->type, s);
        }
        PL_TRY(pl_item_add(m, &x));
    }
    return true;
}

/* -- nodes ------------------------------------------------------------------------------------- */

static bool find_inputs(pl_import *m)
{
    const Onnx__NodeProto *n = m->node;
    if (n->n_input > PL_MOST_INPUTS)
        return pl_map_refuse(m, "%zu inputs, the most is %d", n->n_input, PL_MOST_INPUTS);
    m->n_in = (int)n->n_input;
    for (int k = 0; k < m->n_in; k++) {
        m->in[k] = *n->input[k] ? pl_item_find(m, n->input[k]) : NULL;
        if (*n->input[k] && !m->in[k])
            return pl_map_fail(
                m,
                "no node before it makes its input '%s'; the graph has to be sorted, "
                "without cycles",
                n->input[k]);
        if (m->in[k] && m->in[k]->part && !pl_mapping_find(n->op_type)->sequences)
            return pl_map_refuse(m, "input '%s' is a sequence", n->input[k]);
    }
    while (m->n_in && !m->in[m->n_in - 1]) m->n_in--;
    return true;
}

static bool is_read(const pl_import *m, const char *name)
{
    const Onnx__GraphProto *g = m->onnx->file.graph;
    for (size_t i = 0; i < g->n_node; i++)
        for (size_t k = 0; k < g->node[i]->n_input; k++)
            if (!strcmp(g->node[i]->input[k], name)) return true;
    for (size_t i = 0; i < g->n_output; i++)
        if (g->output[i]->name && !strcmp(g->output[i]->name, name)) return true;
    return false;
}

/* Every output that something reads exists, as a value or a constant. */
static bool add_outputs(pl_import *m)
{
    for (size_t k = 0; k < m->node->n_output; k++) {
        pl_item *x = &m->out[k];
        x->name = m->node->output[k];
        if (!*x->name) continue;
        if (!pl_item_is(x)) {
            if (m->b->err.code) return false;
            if (is_read(m, x->name))
                return pl_map_refuse(m, "output %zu ('%s') is not offered", k, x->name);
            continue;
        }
        PL_TRY(pl_item_add(m, x));
    }
    return true;
}

static bool map_node(pl_import *m)
{
    m->told = false;
    const pl_mapping *row = m->node->op_type ? pl_mapping_find(m->node->op_type) : NULL;
    if (!row) return pl_map_refuse(m, "the operator is not supported");
    m->out = PL_NEW_N(m->a, pl_item, m->node->n_output + 1);
    PL_TRY(find_inputs(m));
    if (!m->node->n_output) return pl_map_fail(m, "no output");
    const char *outer = m->b->scope, *scope = pl_origin_scope(m->node, m->a);
    if (*scope) m->b->scope = pl_arena_fmt(m->a, "%s/", scope);
    bool ok = pl_fold_node(m, row->map) || row->map(m);
    m->b->scope = outer;
    if (m->b->err.code && !m->told)
        pl_err_in(&m->b->err, "node '%s' (%s)", node_name(m->node), m->node->op_type);
    if (!ok && !m->b->err.code) pl_map_refuse(m, "not understood");
    return !m->b->err.code && add_outputs(m);
}

size_t pl_import_names(const Onnx__GraphProto *g)
{
    size_t n = g->n_initializer + g->n_input;
    for (size_t i = 0; i < g->n_node; i++) n += g->node[i]->n_output;
    return n;
}

bool pl_import_nodes(pl_import *m, const Onnx__GraphProto *g)
{
    for (size_t i = 0; i < g->n_node; i++) {
        m->node = g->node[i];
        PL_TRY(map_node(m));
    }
    m->node = NULL;
    return true;
}

static bool find_outputs(pl_import *m, pl_value *output[])
{
    for (int i = 0; i < m->onnx->n_out; i++) {
        pl_item *x = pl_item_find(m, m->onnx->out[i].name);
        if (!x)
            return pl_err_set(&m->b->err, PL_EINPUT, "no node makes the output '%s'",
                              m->onnx->out[i].name);
        if (x->part)
            return pl_err_set(&m->b->err, PL_EUNSUPPORTED, "output '%s' is a sequence", x->name);
        output[i] = pl_item_value(m, x);
    }
    return !m->b->err.code;
}

const pl_tensor *pl_onnx_tensor(const pl_onnx *f, const char *state)
{
    for (int i = 0; i < f->file.n; i++)
        if (!strcmp(f->origins.at[i].name, state)) return &f->file.tensor[i];
    const Onnx__GraphProto *g = f->file.graph;
    for (size_t i = 0; i < g->n_node; i++) /* a second name (map_shape.c) */
        if (!strcmp(g->node[i]->op_type, "Identity") && g->node[i]->n_output == 1 &&
            g->node[i]->n_input == 1 && !strcmp(g->node[i]->output[0], state))
            for (int k = 0; k < f->file.n; k++)
                if (!strcmp(f->file.tensor[k].name, g->node[i]->input[0]))
                    return &f->file.tensor[k];
    return NULL;
}

/* -- all of it --------------------------------------------------------------------------------- */

void pl_onnx_add(pl_builder *b, const pl_onnx *f, const pl_onnx_options *o, pl_value *output[])
{
    pl_import m = { .b = b, .a = b->graph->arena, .onnx = f, .options = o };
    if (b->err.code) return;
    const Onnx__GraphProto *g = f->file.graph;
    m.items = pl_items_new(m.a, pl_import_names(g), NULL);
    bool ok = check_operators(&m) && add_initializers(&m) && add_inputs(&m) &&
              pl_import_nodes(&m, g) && find_outputs(&m, output);
    if (!ok) pl_err_in(&b->err, "%s", f->file.path);
}
