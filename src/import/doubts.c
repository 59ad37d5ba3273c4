/* What a guess of the weights leaves open: told, or refused where it learns badly. A file with a
 * list, or a run with --train, has nothing to doubt. */
#include "import/import.h"

#include <string.h>

enum { SHOWN = 4 }; /* names of a doubt */

/* Tensors with the same doubt. */
typedef struct doubt {
    int n;
    pl_text names;
} doubt;

static void note(doubt *d, pl_arena *a, const char *name, const char *of)
{
    d->names.arena = a;
    if (d->n++ < SHOWN)
        pl_text_add(&d->names, "%s%s%s%s", d->n > 1 ? ", " : "", name, *of ? " of " : "", of);
}

static const char *print(pl_import *m, const doubt *d, const char *what)
{
    const char *more = d->n > SHOWN ? pl_arena_fmt(m->a, ", ... (%d in all)", d->n) : "";
    return pl_arena_fmt(m->a, "%s: %s%s", what, pl_text_get(&d->names), more);
}

static void tell(pl_import *m, const doubt *d, const char *what)
{
    if (d->n && m->options->doubts) pl_text_add(m->options->doubts, "%s\n", print(m, d, what));
}

/* A doubt that is refused, unless a guess is good enough. */
static bool refuse(pl_import *m, const doubt *d, const char *what)
{
    tell(m, d, what);
    if (!d->n || m->options->guess) return true;
    return pl_err_set(&m->b->err, PL_EINPUT,
                      "which tensors train is a guess here, and one that learns badly: %s. Export "
                      "with examples/pleat_export.py, which writes the list into the file, or name "
                      "what trains with --train or what does not with --freeze; --guess trains as "
                      "it is",
                      print(m, d, what));
}

/* -- constants that an exporter computed ------------------------------------------------------- */

static bool is_op(const Onnx__NodeProto *n, const char *ops)
{
    const size_t len = strlen(n->op_type);
    for (const char *at = ops; (at = strstr(at, n->op_type)); at += len)
        if ((at == ops || at[-1] == ' ') && (!at[len] || at[len] == ' ')) return true;
    return false;
}

/* Weights that exporters are known to rearrange: of recurrent layers, slopes. */
static bool is_rearranged(const Onnx__NodeProto *n)
{
    return is_op(n, "LSTM GRU RNN PRelu");
}

/* Does a module at this path do no more than a linear layer does? */
static bool is_linear_scope(const pl_import *m, const char *scope)
{
    const Onnx__GraphProto *g = m->onnx->file.graph;
    const size_t len = strlen(scope);
    int products = 0;
    for (size_t i = 0; i < g->n_node; i++) {
        const char *s = pl_origin_scope(g->node[i], m->a);
        if (strncmp(s, scope, len) != 0 || (s[len] && s[len] != '.')) continue;
        const bool product = is_op(g->node[i], "MatMul Gemm");
        if (s[len] || !(product || is_op(g->node[i], "Add Identity Reshape"))) return false;
        products += product;
    }
    return products == 1;
}

typedef struct doubts {
    doubt folded, fused, merged, missing, tied, plain, masked, fixed, turned;
    const char **scope; /* [initializers] of the first node that multiplies by it */
} doubts;

/* The weights of nn.MultiheadAttention keep their bias under its name. */
static bool is_attention(pl_import *m, const char *scope)
{
    return pl_item_find(m, pl_arena_fmt(m->a, "%s.in_proj_bias", scope)) != NULL;
}

/* A matrix that an exporter made, of a linear layer as far as its surroundings tell. */
static bool is_layer(pl_import *m, const Onnx__NodeProto *n, size_t k)
{
    const char *scope = pl_origin_scope(n, m->a);
    return k == 1 && is_op(n, "MatMul Gemm") && *scope &&
           (is_linear_scope(m, scope) || is_attention(m, scope));
}

static void doubt_made(pl_import *m, const Onnx__NodeProto *n, size_t k, pl_item *x, doubts *d)
{
    const pl_origin *o = &m->onnx->origins.at[x - m->items.at];
    const bool made = pl_origin_is_made(&m->onnx->origins, x->name);
    const bool copy = o->kind == PL_ORIGIN_FOLDED && o->transposed;
    if (copy || x->tied || is_rearranged(n)) return;
    if (is_op(n, "Conv ConvTranspose")) {
        const bool beside = made || (o->kind == PL_ORIGIN_UNSAID && m->onnx->origins.signature);
        if (beside && k == 1 + (size_t)!made) note(&d->fused, m->a, o->name, "");
        return;
    }
    const char *scope = pl_origin_scope(n, m->a);
    const char **first = &d->scope[x - m->items.at];
    const bool again = *first != NULL;
    if (again && made && strcmp(*first, scope) != 0)
        note(&d->merged, m->a, x->name, pl_arena_fmt(m->a, "%s and %s", *first, scope));
    *first = scope;
    if (again) return;
    if (o->kind == PL_ORIGIN_FOLDED)
        note(&d->folded, m->a, x->name, o->from);
    else if (made && !is_layer(m, n, k))
        note(&d->folded, m->a, x->name, "");
}

/* -- weights that were equal ------------------------------------------------------------------- */

static const char *last_part(const char *name)
{
    const char *dot = strrchr(name, '.');
    return dot ? dot + 1 : name;
}

/* A norm that reads another's scale: theirs were equal, and the file has one of them. */
static void doubt_merged(pl_import *m, const Onnx__NodeProto *n, const pl_item *x, doubts *d)
{
    const pl_origins *o = &m->onnx->origins;
    const char *scope = pl_origin_scope(n, m->a);
    if (!*scope || !o->signature || is_op(n, "Conv ConvTranspose")) return;
    const char *own = pl_arena_fmt(m->a, "%s.%s", scope, last_part(x->name));
    if (!strcmp(own, x->name)) return;
    for (int i = 0; i < o->n_missing; i++)
        if (!strcmp(o->missing[i], own)) note(&d->merged, m->a, own, "");
}

/* An Identity gives a weight a second name: equal ones that were merged, or one that is tied. Those
 * of one value come apart again (map_shape.c). */
static void doubt_tied(pl_import *m, const Onnx__NodeProto *n, const pl_item *x, doubts *d)
{
    const Onnx__GraphProto *g = m->onnx->file.graph;
    double value;
    bool table = x->constant->shape.rank < 1;
    if (!is_op(n, "Identity") || !n->n_output || pl_weight_is_uniform(x->constant, &value)) return;
    for (size_t i = 0; i < g->n_node; i++)
        table |=
            is_op(g->node[i], "Gather") && g->node[i]->n_input &&
            (!strcmp(g->node[i]->input[0], x->name) || !strcmp(g->node[i]->input[0], n->output[0]));
    if (!table) note(&d->tied, m->a, n->output[0], x->name);
}

/* -- names that tell too little ---------------------------------------------------------------- */

static bool is_usual(const char *name)
{
    static const char *const usual[] = { "weight",     "bias",           "gamma",
                                         "beta",       "in_proj_weight", "cls_token",
                                         "pos_embed",  "alpha",          "weight_g",
                                         "weight_v",   "in_proj_bias",   "logit_scale",
                                         "temperature" };
    for (size_t i = 0; i < sizeof usual / sizeof *usual; i++)
        if (!strcmp(last_part(name), usual[i])) return true;
    return strstr(name, "weight_") || strstr(name, "bias_") || strstr(name, "original");
}

static void doubt_names(pl_import *m, doubts *d)
{
    const pl_origins *o = &m->onnx->origins;
    for (int i = 0; i < m->onnx->file.n; i++) {
        const pl_item *x = &m->items.at[i];
        if (x->trains && !x->tied && o->at[i].transposed) note(&d->turned, m->a, x->label, "");
        if (o->signature || pl_origin_is_made(o, x->name) || x->running ||
            !pl_type_is_float(x->constant->type))
            continue;
        if (x->trains && !is_usual(x->name)) note(&d->plain, m->a, x->label, "");
        if (!x->trains && !strstr(x->name, "running_") && !strstr(x->name, "inv_freq"))
            note(&d->masked, m->a, x->label, "");
    }
}

/* -- all of it --------------------------------------------------------------------------------- */

static void doubt_nodes(pl_import *m, doubts *d, int *n_dropouts)
{
    const Onnx__GraphProto *g = m->onnx->file.graph;
    for (size_t i = 0; i < g->n_node; i++) {
        const Onnx__NodeProto *n = g->node[i];
        bool trains = false;
        for (size_t k = 0; k < n->n_attribute; k++)
            trains |= n->attribute[k]->name && !strcmp(n->attribute[k]->name, "training_mode") &&
                      n->attribute[k]->i;
        if (is_op(n, "BatchNormalization") && !trains)
            note(&d->fixed, m->a, n->name && *n->name ? n->name : n->output[0], "");
        *n_dropouts += is_op(n, "Dropout");
        for (size_t k = 0; k < n->n_input; k++) {
            pl_item *x = pl_item_find(m, n->input[k]);
            if (!x || x - m->items.at >= m->onnx->file.n || !x->trains) continue;
            doubt_made(m, n, k, x, d);
            doubt_merged(m, n, x, d);
            doubt_tied(m, n, x, d);
        }
    }
}

static void doubt_missing(pl_import *m, doubts *d)
{
    const pl_origins *o = &m->onnx->origins;
    for (int i = 0; i < o->n_missing; i++)
        if (!d->merged.n) note(&d->missing, m->a, o->missing[i], "");
}

bool pl_doubts_tell(pl_import *m)
{
    doubts d = { .scope = PL_NEW_N(m->a, const char *, m->onnx->file.n + 1) };
    int n_dropouts = 0;
    const pl_onnx_options *o = m->options;
    if (m->onnx->origins.list || (o->weights && *o->weights)) return true;
    doubt_nodes(m, &d, &n_dropouts);
    doubt_names(m, &d);
    doubt_missing(m, &d);
    PL_TRY(refuse(m, &d.folded, "constants that the exporter computed, of weights or buffers"));
    PL_TRY(refuse(m, &d.merged, "weights that were equal, of which the file has one"));
    PL_TRY(refuse(m, &d.tied, "weights under two names, tied or equal when they were exported"));
    tell(m, &d.fused, "convolutions with a batch norm fused into them");
    tell(m, &d.missing, "parameters that are not in the file: unused, or part of others");
    tell(m, &d.plain, "tensors that train, and may be buffers");
    tell(m, &d.masked, "tensors that do not train, as their names are those of buffers");
    tell(m, &d.fixed, "batch norms with fixed statistics");
    tell(m, &d.turned, "weights that lie transposed, [in,out]");
    if (o->doubts && !n_dropouts) pl_text_add(o->doubts, "no dropout\n");
    return true;
}
