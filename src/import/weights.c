/* Which initializers are weights, that train, and which are constants an exporter left there. */
#include "import/import.h"

#include <string.h>

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

/* A number is one if it has a name in a submodule, as a learned temperature. */
bool pl_weight_is(const pl_tensor *t)
{
    return pl_type_is_float(t->type) && (t->shape.rank || strchr(t->name, '.')) &&
           !is_buffer(t->name);
}

/* -- names of an exporter's own ---------------------------------------------------------------- */

/* "onnx::MatMul_123" of PyTorch's TorchScript exporter and "val_48" of the other are results that
 * they computed: a weight transposed, or a constant. Weights of a module have names of its own, and
 * those in a submodule have a dot. */
static bool is_made(const char *name)
{
    const char *last = strrchr(name, '_');
    if (strstr(name, "::")) return true;
    return last && last[1] && !last[1 + strspn(last + 1, "0123456789")] && !strpbrk(name, "./");
}

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

enum { MOST_TABLES = 16, SAMPLES = 4096 };

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
    bool ok = mapped, varies = false;
    const double first = pl_tensor_get(&a, 0);
    for (int64_t i = 0; ok && i < count; i += step) {
        const double p = pl_tensor_get(&a, i), q = pl_tensor_get(&b, i % n * m + i / n);
        ok = p >= q && p <= q;
        varies |= p < first || p > first;
    }
    if (mapped) pl_tensor_unmap(map_b, bytes_b);
    pl_tensor_unmap(map_a, bytes_a);
    return ok && varies;
}

/* A table of embeddings that is the matrix before the logits too is tied; exporters that transpose
 * the second copy cut the tie, and each half would train alone. */
static void tie_tables(pl_import *m)
{
    const Onnx__GraphProto *g = m->onnx->file.graph;
    pl_item *table[MOST_TABLES];
    int n = 0;
    for (size_t i = 0; i < g->n_node && n < MOST_TABLES; i++) {
        pl_item *x = !strcmp(g->node[i]->op_type, "Gather") && g->node[i]->n_input
                         ? pl_item_find(m, g->node[i]->input[0])
                         : NULL;
        if (x && x->trains && x->constant->shape.rank == 2) table[n++] = x;
    }
    for (int i = 0; i < m->items.n; i++) {
        pl_item *y = &m->items.at[i];
        if (!y->trains || !is_made(y->name) || y->constant->shape.rank != 2) continue;
        for (int k = 0; k < n && !y->tied; k++) {
            const pl_tensor *t = table[k]->constant;
            if (t->type == y->constant->type && t->shape.dim[0] == y->constant->shape.dim[1] &&
                t->shape.dim[1] == y->constant->shape.dim[0] && is_transposed(t, y->constant))
                y->tied = table[k];
        }
    }
}

void pl_weights_mark(pl_import *m)
{
    const Onnx__GraphProto *g = m->onnx->file.graph;
    for (int i = 0; i < m->items.n; i++)
        if (m->items.at[i].trains && is_made(m->items.at[i].name)) m->items.at[i].trains = false;
    for (size_t i = 0; i < g->n_node; i++)
        for (size_t k = 0; k < g->node[i]->n_input; k++) {
            pl_item *x = pl_item_find(m, g->node[i]->input[k]);
            if (x && x->constant && !x->trains && pl_weight_is(x->constant) && is_made(x->name) &&
                takes_weights(g->node[i]->op_type, k, x->constant))
                x->trains = true;
        }
    tie_tables(m);
}
