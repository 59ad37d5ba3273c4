/* Which initializers are weights, that train, and which are constants an exporter left there. */
#include "base/file.h"
#include "base/text.h"
#include "import/import.h"

#include <fnmatch.h>
#include <limits.h>
#include <string.h>

enum { MOST_GLOB = 1000, MOST_LIST = 1 << 24 };

/* Buffers that exported modules keep beside their weights, by the last part of the name. */
static const char *const buffers[] = {
    "running_mean",      "running_var",           "num_batches_tracked", "inv_freq",
    "original_inv_freq", "position_ids",          "masked_bias",         "relative_position_index",
    "attn_mask",         "causal_mask",           "token_type_ids",      "cos_cached",
    "sin_cached",        "relative_coords_table",
};

static bool is_buffer(const char *name)
{
    for (size_t i = 0; i < sizeof buffers / sizeof *buffers; i++) {
        size_t n = strlen(name), k = strlen(buffers[i]);
        if (n >= k && !strcmp(name + n - k, buffers[i]) &&
            (n == k || strchr("._/", name[n - k - 1])))
            return true;
    }
    return false;
}

/* As far as its type and name tell. */
static bool is_weight(const pl_tensor *t)
{
    return pl_type_is_float(t->type) && !is_buffer(t->name);
}

/* -- what constants hold ----------------------------------------------------------------------- */

static int n_wide(const pl_shape *s)
{
    int n = 0;
    for (int i = 0; i < s->rank; i++) n += s->dim[i] > 1;
    return n;
}

/* How many values there are among its elements, wherever they lie: 1, 2, or 3 for more; 0: none can
 * be read. *first is that of the first element. */
static int count_values(const pl_tensor *t, double *first, double *least)
{
    pl_tensor here = *t;
    pl_err err = { 0 };
    void *map;
    size_t bytes;
    double second = 0;
    int count = 1;
    if (!pl_shape_count(&t->shape) || !pl_tensor_map(t, &here.data, &map, &bytes, &err)) return 0;
    *least = *first = pl_tensor_get(&here, 0);
    for (int64_t i = 1, n = pl_shape_count(&t->shape); i < n && count < 3; i++) {
        const double x = pl_tensor_get(&here, i);
        const bool new = (x < *first || x > *first) && (count == 1 || x < second || x > second);
        if (new &&count++ == 1) second = x;
        if (x < *least) *least = x;
    }
    pl_tensor_unmap(map, bytes);
    return count;
}

/* Does it hide places, adding one of two numbers, or one that no sum comes back from? */
static bool is_mask(const pl_tensor *t)
{
    double first, least;
    const int n = count_values(t, &first, &least);
    return n && (least < -1e4 || (n < 3 && n_wide(&t->shape) > 1));
}

bool pl_weight_is_uniform(const pl_tensor *t, double *x)
{
    double least;
    return count_values(t, x, &least) == 1;
}

/* Is input k of this operator a place for weights? Scales are factors along one dimension, and what
 * is added may be a bias or a table of positions; a factor of more dimensions is a table such as a
 * rotary embedding's. */
static bool takes_weights(const char *op, size_t k, const pl_tensor *t)
{
    double x;
    static const char *const products[] = {
        "MatMul", "Gemm", "Conv",  "ConvTranspose", "LSTM",
        "GRU",    "RNN",  "PRelu", "Einsum",        "LayerNormalization"
    };
    for (size_t i = 0; i < sizeof products / sizeof *products; i++)
        if (!strcmp(op, products[i])) return true;
    if (!strcmp(op, "Gather") || !strcmp(op, "GatherND")) return k == 0;
    if (!strcmp(op, "Mul")) return n_wide(&t->shape) == 1;
    if (!strcmp(op, "Add")) return n_wide(&t->shape) > 0 && !is_mask(t);
    if (strstr(op, "Normalization")) return k < 3 && !pl_weight_is_uniform(t, &x);
    return !strcmp(op, "Transpose") || !strcmp(op, "Reshape") || !strcmp(op, "Unsqueeze") ||
           !strcmp(op, "Expand") || !strcmp(op, "Concat");
}

/* -- ties -------------------------------------------------------------------------------------- */

enum { SAMPLES = 4096 };

/* Is y, [n,m], x transposed, [m,n]? Asked of SAMPLES elements all over them. */
static bool is_transposed(const pl_tensor *x, const pl_tensor *y)
{
    const int64_t m = x->shape.dim[0], n = x->shape.dim[1], count = m * n;
    const int64_t step = count <= SAMPLES ? 1 : count / SAMPLES;
    pl_tensor a = *x, b = *y;
    pl_err err = { 0 };
    void *map_a, *map_b;
    size_t bytes_a, bytes_b;
    if (!pl_tensor_map(x, &a.data, &map_a, &bytes_a, &err)) return false;
    const bool mapped = pl_tensor_map(y, &b.data, &map_b, &bytes_b, &err);
    bool ok = mapped && count, varies = false;
    const double first = ok ? pl_tensor_get(&a, 0) : 0;
    for (int64_t i = 0; ok && i < count; i += step) {
        const double p = pl_tensor_get(&a, i), q = pl_tensor_get(&b, i % n * m + i / n);
        ok = p >= q && p <= q;
        varies |= p < first || p > first;
    }
    if (mapped) pl_tensor_unmap(map_b, bytes_b);
    pl_tensor_unmap(map_a, bytes_a);
    return ok && varies;
}

/* A weight that the file has transposed too is one weight: exporters that transpose the second copy
 * cut the tie, and each half would train alone. */
static void tie_copies(pl_import *m)
{
    const pl_origins *o = &m->onnx->origins;
    for (int i = 0; i < m->onnx->file.n; i++) {
        pl_item *y = &m->items.at[i];
        const bool copy = o->at[i].kind == PL_ORIGIN_FOLDED || pl_origin_is_made(o, y->name);
        if (!y->trains || !copy || y->constant->shape.rank != 2) continue;
        for (int k = 0; k < m->onnx->file.n && !y->tied; k++) {
            pl_item *x = &m->items.at[k];
            const pl_tensor *t = x->constant;
            if (x->trains && !x->tied && x != y && !pl_origin_is_made(o, x->name) &&
                o->at[k].kind != PL_ORIGIN_FOLDED && t->shape.rank == 2 &&
                t->type == y->constant->type && t->shape.dim[0] == y->constant->shape.dim[1] &&
                t->shape.dim[1] == y->constant->shape.dim[0] && is_transposed(t, y->constant))
                y->tied = x;
        }
    }
}

/* -- a guess ----------------------------------------------------------------------------------- */

static void guess(pl_import *m)
{
    const Onnx__GraphProto *g = m->onnx->file.graph;
    const pl_origins *o = &m->onnx->origins;
    for (int i = 0; i < m->onnx->file.n; i++) {
        pl_item *x = &m->items.at[i];
        x->trains = is_weight(x->constant) && !pl_origin_is_made(o, x->name) && !o->signature;
        if (o->at[i].kind == PL_ORIGIN_PARAMETER) x->trains = pl_type_is_float(x->constant->type);
    }
    for (size_t i = 0; i < g->n_node; i++)
        for (size_t k = 0; k < g->node[i]->n_input; k++) {
            const char *op = g->node[i]->op_type;
            pl_item *x = pl_item_find(m, g->node[i]->input[k]);
            const int at = x ? (int)(x - m->items.at) : -1;
            if (at < 0 || at >= m->onnx->file.n || x->trains || !is_weight(x->constant)) continue;
            const bool made = pl_origin_is_made(o, x->name) || o->at[at].kind == PL_ORIGIN_FOLDED;
            const bool fused = o->signature && o->at[at].kind == PL_ORIGIN_UNSAID &&
                               (!strcmp(op, "Conv") || !strcmp(op, "ConvTranspose"));
            x->trains = fused || (made && takes_weights(op, k, x->constant));
        }
    tie_copies(m);
}

/* -- globs ------------------------------------------------------------------------------------- */

static const char *nearest(const pl_import *m, const char *glob)
{
    pl_near near = { .word = glob, .within = INT_MAX };
    for (int i = 0; i < m->onnx->file.n; i++) {
        const char *name = m->items.at[i].label;
        if (pl_type_is_float(m->items.at[i].constant->type) && strlen(name) <= MOST_GLOB)
            pl_near_offer(&near, name);
    }
    return near.name ? near.name : "";
}

/* One that names no float initializer is a mistake. */
static bool apply_glob(pl_import *m, const char *option, const char *glob, bool trains)
{
    int n = 0;
    if (strlen(glob) > MOST_GLOB)
        return pl_err_set(&m->b->err, PL_EINPUT, "%s: '%.40s...' is longer than a name", option,
                          glob);
    for (int i = 0; i < m->onnx->file.n; i++) {
        pl_item *x = &m->items.at[i];
        if (!pl_type_is_float(x->constant->type) ||
            (fnmatch(glob, x->label, 0) != 0 && fnmatch(glob, x->name, 0) != 0))
            continue;
        x->trains = trains;
        n++;
    }
    return n || pl_err_set(&m->b->err, PL_EINPUT,
                           "--%s '%s' matches no tensor of floats; the nearest is '%s'", option,
                           glob, nearest(m, glob));
}

static bool apply_globs(pl_import *m, const char *option, const char *text, const char *marks,
                        bool trains)
{
    for (size_t n; *text; text += n + (text[n] != 0)) {
        n = strcspn(text, marks);
        if (n && !apply_glob(m, option, pl_arena_span(m->a, text, n), trains)) return false;
    }
    return true;
}

/* Globs with ';' between them, or a file of them. */
static bool apply_option(pl_import *m, const char *option, const char *text, bool trains)
{
    size_t n;
    if (!text || !*text) return true;
    if (*text != '@') return apply_globs(m, option, text, ";", trains);
    return pl_file_read(text + 1, MOST_LIST, m->a, &text, &n, &m->b->err) &&
           apply_globs(m, option, text, "\n\r\t ", trains);
}

/* -- all of it --------------------------------------------------------------------------------- */

/* Batch norms that train move their statistics. */
static void keep_statistics(pl_import *m)
{
    const Onnx__GraphProto *g = m->onnx->file.graph;
    for (size_t i = 0; i < g->n_node; i++) {
        bool trains = false;
        if (!g->node[i]->op_type || strcmp(g->node[i]->op_type, "BatchNormalization") != 0)
            continue;
        for (size_t k = 0; k < g->node[i]->n_attribute; k++) {
            const Onnx__AttributeProto *x = g->node[i]->attribute[k];
            trains |= x->name && !strcmp(x->name, "training_mode") && x->i;
        }
        for (size_t k = 3; trains && k < g->node[i]->n_input && k < 5; k++) {
            pl_item *x = pl_item_find(m, g->node[i]->input[k]);
            if (x && x->constant && x->constant->type == PL_F32) x->running = true;
        }
    }
}

bool pl_weights_mark(pl_import *m)
{
    const pl_origins *o = &m->onnx->origins;
    const char *weights = m->options->weights;
    if (o->list)
        for (int i = 0; i < m->onnx->file.n; i++)
            m->items.at[i].trains = o->at[i].kind == PL_ORIGIN_PARAMETER;
    else
        guess(m);
    if (weights && *weights)
        for (int i = 0; i < m->onnx->file.n; i++)
            m->items.at[i].trains = false, m->items.at[i].tied = NULL;
    PL_TRY(apply_option(m, "train", weights, true));
    PL_TRY(apply_option(m, "freeze", m->options->frozen, false));
    keep_statistics(m);
    for (int i = 0; i < m->onnx->file.n; i++) {
        pl_item *x = &m->items.at[i];
        if (x->tied && !x->tied->trains) x->tied = NULL;
        x->running &= !x->trains;
    }
    return true;
}
