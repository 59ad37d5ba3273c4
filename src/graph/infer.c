/* What a node's text, operator and inputs say of it. Read pl_infer(): a node of a new kind is read
 * (read_spec), others are like an earlier one; pl_infer_types() gives the types of its outputs. */
#include "graph/infer.h"

#include "graph/attrs.h"
#include "graph/form.h"
#include "graph/op.h"

#include <string.h>

/* -- signatures -------------------------------------------------------------------------------- */

/* Sizes beyond these are mistakes, and below them no product of a size and a step can overflow. */
static const int64_t max_size = (int64_t)1 << 40, max_step = (int64_t)1 << 20;

/* Known names, numbers where numbers are needed; single letters set the sizes of factors. */
static bool apply_attrs(const pl_node *node, pl_sig *sig, pl_err *err)
{
    for (int i = 0; i < node->n_attrs; i++) {
        const pl_attr *a = &node->attr[i];
        int f = a->name[1] ? -1 : pl_sig_find(sig, a->name[0]);
        if (f < 0) {
            PL_TRY(pl_attrs_check(node->op, a, err));
            continue;
        }
        int64_t *size = &sig->factor[f].size;
        if (!pl_text_int(a->text, size) || *size < 1 || *size > max_size)
            return pl_err_set(err, PL_EINPUT, "'%s=%s' is not a positive size", a->name, a->text);
    }
    for (int w = 0; w < sig->n_windows; w++) {
        pl_window *x = &sig->window[w];
        if (pl_attrs_has(node->op, "stride")) x->stride = pl_node_int(node, "stride", w);
        if (pl_attrs_has(node->op, "dilation")) x->dilation = pl_node_int(node, "dilation", w);
        if (pl_attrs_has(node->op, "pad")) x->pad_lo = x->pad_hi = pl_node_int(node, "pad", w);
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

/* n->attr, n->sig and the shapes of the outputs, from its text. */
static bool read_spec(pl_arena *arena, pl_node *node, pl_shape shape[], pl_err *err)
{
    const pl_shape *in[PL_MAX_OPERANDS];
    int64_t extent[PL_MAX_WINDOWS] = { 0 };
    pl_sig *sig = PL_NEW(arena, pl_sig);
    size_t sig_len = strcspn(node->spec, ";");
    const char *attrs = strchr(node->spec, ';');
    PL_TRY(pl_attrs_parse(arena, attrs ? attrs + 1 : "", node, err));
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
        if (pl_attrs_has(node->op, "extent")) extent[w] = pl_node_int(node, "extent", w);
    return pl_sig_solve(text, sig, in, extent, shape, err);
}

/* -- kinds ------------------------------------------------------------------------------------- */

struct pl_kind {
    const pl_node *node;
    pl_type type[PL_MAX_OPERANDS]; /* of its inputs, as they were before they were cast */
};

static uint64_t hash_kind(const pl_node *n)
{
    uint64_t hash = pl_hash_text(pl_hash_text(0, n->op->name), n->spec);
    for (int i = 0; i < n->n_in; i++) {
        const pl_value *v = n->in[i];
        hash = pl_hash_mix(hash, (uint64_t)v->type);
        hash = pl_hash_span(hash, v->shape.dim, (size_t)v->shape.rank * sizeof *v->shape.dim);
    }
    return hash;
}

static bool is_kind(const struct pl_kind *k, const pl_node *n)
{
    const pl_node *y = k->node;
    if (y->op != n->op || y->n_in != n->n_in || strcmp(y->spec, n->spec) != 0) return false;
    for (int i = 0; i < n->n_in; i++)
        if (k->type[i] != n->in[i]->type || !pl_shape_same(&y->in[i]->shape, &n->in[i]->shape))
            return false;
    return true;
}

static void add_kind(pl_kinds *kinds, const pl_node *n, uint64_t hash, pl_arena *arena)
{
    struct pl_kind k = { .node = n };
    for (int i = 0; i < n->n_in; i++) k.type[i] = n->in[i]->type;
    pl_map_put(&kinds->by_hash, hash, kinds->n, arena);
    PL_PUSH(arena, kinds, k);
}

bool pl_infer(pl_kinds *kinds, pl_arena *arena, pl_node *n, pl_shape shape[], pl_err *err)
{
    const uint64_t hash = hash_kind(n);
    PL_MAP_EACH (&kinds->by_hash, hash, x) {
        const pl_node *y = kinds->at[x.value].node;
        if (!is_kind(&kinds->at[x.value], n)) continue;
        n->sig = y->sig;
        n->n_attrs = y->n_attrs, n->attr = y->attr;
        for (int i = 0; i < y->n_out; i++) shape[i] = y->out[i]->shape;
        return true;
    }
    PL_TRY(read_spec(arena, n, shape, err));
    add_kind(kinds, n, hash, arena);
    return true;
}

/* -- types ------------------------------------------------------------------------------------- */

char pl_infer_rule(const pl_node *n, int operand)
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
    char rule = pl_infer_rule(node, i);
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

bool pl_infer_types(const pl_node *node, pl_type out[], pl_err *err)
{
    pl_type bound[128] = {
        ['f'] = PL_F32, ['F'] = PL_F32, ['i'] = PL_I32, ['t'] = PL_F32, ['b'] = PL_U8
    };
    bool is_bound[128] = { ['F'] = true };
    for (int i = 0; i < node->n_in; i++) PL_TRY(bind_type(node, i, bound, is_bound, err));
    for (int i = 0; i < node->sig->n_out; i++) {
        char rule = pl_infer_rule(node, node->n_in + i);
        out[i] = bound[(int)rule];
        if (rule != 'a') continue;
        size_t len;
        const char *name = pl_attrs_find(node, "to", &len);
        char text[8] = "";
        if (len < sizeof text) memcpy(text, name, len);
        if (!pl_type_find(text, &out[i]))
            return pl_err_set(err, PL_EINPUT, "unknown type '%.*s'", (int)len, name);
    }
    return true;
}
