/* Where initializers come from, as far as lists, signatures and names of nodes tell. Names that a
 * training step has for itself get a "_" behind them. */
#include "import/origin.h"

#include "base/text.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_SCOPE = 1000 };

static const char *prop(size_t n, Onnx__StringStringEntryProto *const *at, const char *key)
{
    for (size_t i = 0; i < n; i++)
        if (at[i]->key && at[i]->value && !strcmp(at[i]->key, key)) return at[i]->value;
    return NULL;
}

/* -- scopes ------------------------------------------------------------------------------------ */

/* The last but one of "['', 'layers.0', 'layers.0.q_proj', 'linear']". */
static const char *scope_of_list(const char *list, pl_arena *a)
{
    const char *last = "", *before = "";
    for (const char *at = strchr(list, '\''); at; at = strchr(at, '\'')) {
        const char *end = strchr(++at, '\'');
        if (!end) break;
        before = last;
        last = pl_arena_span(a, at, (size_t)(end - at));
        at = end + 1;
    }
    return before;
}

/* "/features/features.1/features.1.0/attn/MatMul" is a node of features.1.0.attn: a part that
 * begins with the one before it stands for both. */
static const char *scope_of_path(const char *path, pl_arena *a)
{
    char out[MOST_SCOPE + 1];
    size_t n = 0, last = 0, last_n = 0; /* where the part before begins, and its length */
    if (*path != '/' || strlen(path) > MOST_SCOPE) return "";
    for (const char *at = path + 1, *end; (end = strchr(at, '/')); at = end + 1) {
        const size_t len = (size_t)(end - at);
        const bool again =
            last_n && len > last_n && !strncmp(at, out + last, last_n) && at[last_n] == '.';
        if (again)
            n = last;
        else if (n)
            out[n++] = '.';
        last = n;
        last_n = len;
        memcpy(out + n, at, len);
        n += len;
    }
    return n ? pl_arena_span(a, out, n) : "";
}

const char *pl_origin_scope(const Onnx__NodeProto *n, pl_arena *a)
{
    const char *list = prop(n->n_metadata_props, n->metadata_props, "pkg.torch.onnx.name_scopes");
    return list ? scope_of_list(list, a) : scope_of_path(n->name ? n->name : "", a);
}

/* -- initializers by name ---------------------------------------------------------------------- */

typedef struct named {
    const char *name;
    int i;
} named;

static int compare(const void *a, const void *b)
{
    const named *x = a, *y = b;
    return strcmp(x->name, y->name);
}

typedef struct reader {
    const pl_onnx_file *f;
    pl_origins *out;
    pl_arena *a;
    named *sorted; /* [f->n] */
} reader;

static int find(const reader *r, const char *name)
{
    const named key = { .name = name };
    const named *x = bsearch(&key, r->sorted, (size_t)r->f->n, sizeof *r->sorted, compare);
    return x ? x->i : -1;
}

static void sort_names(reader *r)
{
    r->sorted = PL_NEW_N(r->a, named, r->f->n + 1);
    for (int i = 0; i < r->f->n; i++) r->sorted[i] = (named){ r->f->tensor[i].name, i };
    qsort(r->sorted, (size_t)r->f->n, sizeof *r->sorted, compare);
}

/* -- what the exporter with dynamo=True says --------------------------------------------------- */

static void read_value_info(reader *r)
{
    const Onnx__GraphProto *g = r->f->graph;
    for (size_t i = 0; i < g->n_value_info; i++) {
        const Onnx__ValueInfoProto *v = g->value_info[i];
        const char *kind = prop(v->n_metadata_props, v->metadata_props,
                                "pkg.torch.export.graph_signature.InputSpec.kind");
        const char *from =
            prop(v->n_metadata_props, v->metadata_props, "pkg.onnxscript.optimizer.folded_from");
        const int k = v->name ? find(r, v->name) : -1;
        if (k < 0 || (!kind && !from)) continue;
        pl_origin *x = &r->out->at[k];
        if (kind && !strcmp(kind, "PARAMETER")) x->kind = PL_ORIGIN_PARAMETER;
        if (kind && (!strcmp(kind, "BUFFER") || !strcmp(kind, "CONSTANT_TENSOR")))
            x->kind = PL_ORIGIN_BUFFER;
        r->out->signature |= kind != NULL;
        if (!from) continue;
        const char *name = strchr(from, '\''), *end = name ? strrchr(name, '\'') : NULL;
        x->kind = PL_ORIGIN_FOLDED; /* of "a", or of "a', 'b" */
        x->from = end && end > name ? pl_arena_span(r->a, name + 1, (size_t)(end - name - 1)) : "";
    }
}

/* What a name in the signature is: the word after "p_w: ", with target='w'. */
static bool is_parameter(const char *signature, const char *target, pl_arena *a)
{
    return strstr(signature, pl_arena_fmt(a, ": PARAMETER target='%s'", target)) != NULL;
}

static bool is_source(const reader *r, const char *name)
{
    for (int i = 0; i < r->f->n; i++)
        if (r->out->at[i].from && !strcmp(r->out->at[i].from, name)) return true;
    return false;
}

static void read_signature(reader *r)
{
    const Onnx__GraphProto *g = r->f->graph;
    static const char mark[] = ": PARAMETER target='";
    const char *text = prop(g->n_metadata_props, g->metadata_props,
                            "pkg.torch.export.ExportedProgram.graph_signature");
    for (const char *at = text ? strstr(text, mark) : NULL; at; at = strstr(at, mark)) {
        at += sizeof mark - 1;
        const char *end = strchr(at, '\'');
        if (!end) break;
        const char *name = pl_arena_span(r->a, at, (size_t)(end - at));
        if (find(r, name) >= 0 || is_source(r, name)) continue;
        if (r->out->n_missing == r->out->missing_cap) {
            const int cap = 2 * r->out->missing_cap + 16;
            const char **more = PL_NEW_N(r->a, const char *, cap);
            if (r->out->n_missing)
                memcpy(more, r->out->missing, (size_t)r->out->n_missing * sizeof *more);
            r->out->missing = more;
            r->out->missing_cap = cap;
        }
        r->out->missing[r->out->n_missing++] = name;
    }
    for (int i = 0; text && i < r->f->n; i++) /* constants of buffers alone */
        if (r->out->at[i].from && !is_parameter(text, r->out->at[i].from, r->a))
            r->out->at[i] = (pl_origin){ PL_ORIGIN_BUFFER, r->f->tensor[i].name, NULL, false };
}

/* -- names ------------------------------------------------------------------------------------- */

bool pl_origin_is_made(const pl_origins *o, const char *name)
{
    const char *last = strrchr(name, '_');
    if (o->list) return false;
    if (strstr(name, "::")) return true;
    return !o->signature && last && last[1] && !last[1 + strspn(last + 1, "0123456789")] &&
           !strpbrk(name, "./");
}

static bool is_free(const reader *r, const char *name)
{
    if (find(r, name) >= 0) return false;
    for (int i = 0; i < r->f->n; i++)
        if (!strcmp(r->out->at[i].name, name)) return false;
    return true;
}

/* Is it one of PyTorch's linear layers, as far as the exporter with dynamo=True tells? */
static bool is_linear(const Onnx__NodeProto *n)
{
    const char *what =
        prop(n->n_metadata_props, n->metadata_props, "pkg.torch.onnx.class_hierarchy");
    return what && strstr(what, "aten.linear");
}

/* What a module at `scope` calls input k of the node that it is. */
static const char *name_in(const reader *r, const char *scope, size_t k)
{
    const bool attention = find(r, pl_arena_fmt(r->a, "%s.in_proj_bias", scope)) >= 0;
    return pl_arena_fmt(r->a, "%s.%s", scope,
                        k > 1       ? "bias"
                        : attention ? "in_proj_weight"
                                    : "weight");
}

/* A matrix that multiplies what comes in is a linear layer's, which PyTorch keeps as [out,in]. */
static void name_made(reader *r)
{
    const Onnx__GraphProto *g = r->f->graph;
    static const char *const ops[] = { "MatMul", "Gemm", "Conv", "ConvTranspose", "PRelu" };
    for (size_t i = 0; i < g->n_node; i++) {
        const Onnx__NodeProto *n = g->node[i];
        bool known = false;
        for (size_t k = 0; k < sizeof ops / sizeof *ops; k++)
            known |= n->op_type && !strcmp(n->op_type, ops[k]);
        for (size_t k = 1; known && k < n->n_input && k < 3; k++) {
            const int t = find(r, n->input[k]);
            pl_origin *x = t < 0 ? NULL : &r->out->at[t];
            const bool folded = x && x->kind == PL_ORIGIN_FOLDED;
            if (!x || (folded ? k != 1 || strchr(x->from, ',') || !is_linear(n)
                              : !pl_origin_is_made(r->out, n->input[k])))
                continue;
            const char *scope = pl_origin_scope(n, r->a);
            const char *name = folded ? x->from : name_in(r, scope, k);
            if ((!*scope && !folded) || !*name || !is_free(r, name)) continue;
            x->name = name;
            x->transposed = k == 1 && *n->op_type == 'M' && r->f->tensor[t].shape.rank == 2;
        }
    }
}

/* Names that a training step has for itself. */
static void avoid_reserved(reader *r)
{
    static const char *const reserved[] = { "lr",     "step",  "seed",    "scale", "loss",
                                            "target", "label", "targets", "logits" };
    const Onnx__GraphProto *g = r->f->graph;
    for (int i = 0; i < r->f->n; i++) {
        const char *name = r->out->at[i].name;
        bool taken = false;
        for (size_t k = 0; k < sizeof reserved / sizeof *reserved; k++)
            taken |= !strcmp(reserved[k], name);
        for (size_t k = 0; k < g->n_input; k++)
            taken |= g->input[k]->name && !strcmp(g->input[k]->name, name) &&
                     strcmp(r->f->tensor[i].name, name) != 0;
        if (taken) r->out->at[i].name = pl_arena_fmt(r->a, "%s_", name);
    }
}

bool pl_origins_read(const pl_onnx_file *f, pl_arena *a, pl_origins *out, pl_err *err)
{
    pl_list *list;
    *out = (pl_origins){ .at = PL_NEW_N(a, pl_origin, f->n + 1) };
    PL_TRY(pl_list_read(f, a, &list, err));
    out->list = list;
    reader r = { f, out, a, NULL };
    for (int i = 0; i < f->n; i++) {
        const pl_listed *x = list ? pl_list_find(list, &f->tensor[i]) : NULL;
        out->at[i].name = x ? x->name : f->tensor[i].name;
        if (list)
            out->at[i].kind = !x || !x->parameter ? PL_ORIGIN_BUFFER
                              : x->trains         ? PL_ORIGIN_PARAMETER
                                                  : PL_ORIGIN_FROZEN;
    }
    sort_names(&r);
    if (!list) {
        read_value_info(&r);
        read_signature(&r);
        name_made(&r);
    }
    avoid_reserved(&r);
    return true;
}
