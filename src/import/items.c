/* Names of the file and what they stand for. */
#include "import/import.h"

#include <string.h>

pl_items pl_items_new(pl_arena *a, size_t n, const pl_items *outer)
{
    return (pl_items){ .cap = (int)n + 1, .at = PL_NEW_N(a, pl_item, n + 1), .outer = outer };
}

pl_item *pl_item_find(pl_import *m, const char *name)
{
    const uint64_t hash = pl_hash_text(0, name);
    for (const pl_items *x = &m->items; x; x = x->outer)
        PL_MAP_EACH (&x->names, hash, i)
            if (!strcmp(x->at[i.value].name, name)) return &x->at[i.value];
    return NULL;
}

bool pl_item_add(pl_import *m, const pl_item *x)
{
    const uint64_t hash = pl_hash_text(0, x->name);
    PL_MAP_EACH (&m->items.names, hash, i)
        if (!strcmp(m->items.at[i.value].name, x->name))
            return pl_err_set(&m->b->err, PL_EINPUT, "the name '%s' is given twice", x->name);
    PL_ASSERT_CMP(m->items.n, <, m->items.cap); /* items do not move: mappers hold pointers */
    pl_map_put(&m->items.names, hash, m->items.n, m->a);
    m->items.at[m->items.n++] = *x;
    return true;
}

/* An input that was left out, or a sequence, counts as a number nobody knows: who asks for its
 * value fails. */
const pl_shape *pl_item_shape(const pl_item *x)
{
    static const pl_shape none;
    if (x && x->value) return &x->value->shape;
    return x && x->constant ? &x->constant->shape : &none;
}

pl_type pl_item_type(const pl_item *x)
{
    if (x && x->value) return x->value->type;
    return x && x->constant ? x->constant->type : PL_F32;
}

bool pl_item_is(const pl_item *x)
{
    return x->value || x->constant || x->part || x->tied;
}

bool pl_item_known(const pl_item *x)
{
    return x && x->constant && x->constant->data && !x->trains && !x->running;
}

/* -- constants in the graph -------------------------------------------------------------------- */

static bool is_uniform(const pl_tensor *t, double *x)
{
    const int64_t n = pl_shape_count(&t->shape);
    const size_t size = (size_t)t->stored->bytes;
    const char *at = t->data;
    if (!n) return false;
    for (int64_t i = 1; i < n; i++)
        if (memcmp(at, at + (size_t)i * size, size) != 0) return false;
    *x = pl_tensor_get(t, 0);
    return true;
}

static bool is_same(const pl_tensor *a, const pl_tensor *b)
{
    return a->stored == b->stored && pl_shape_same(&a->shape, &b->shape) &&
           !memcmp(a->data, b->data, (size_t)a->bytes);
}

/* A state that lists its elements; constants of the same content share one, so that equal blocks of
 * a model stay equal. */
static pl_value *add_values(pl_import *m, const pl_tensor *t, const char *name)
{
    const int64_t n = pl_shape_count(&t->shape);
    pl_text init = { .arena = m->a };
    for (int i = 0; i < m->small.n; i++)
        if (is_same(m->small.at[i].constant, t)) return m->small.at[i].value;
    if (n > PL_MOST_LISTED) {
        pl_map_refuse(m, "constant '%s' has %lld elements; at most %d can be kept in the graph",
                      name, (long long)n, PL_MOST_LISTED);
        return NULL;
    }
    pl_text_add(&init, "values");
    for (int64_t i = 0; i < n; i++)
        pl_text_add(&init, t->stored->bytes > 4 ? " %.17g" : " %.9g", pl_tensor_get(t, i));
    const char *label = pl_arena_fmt(m->a, "constant.%d", m->small.n);
    const char *scope = m->b->scope;
    m->b->scope = ""; /* it may be shared */
    pl_value *v = pl_add_state(m->b, label, t->type, t->shape, pl_text_get(&init), PL_BUFFER);
    m->b->scope = scope;
    const pl_item x = { .name = label, .value = v, .constant = t };
    if (!m->trial) PL_PUSH(m->a, &m->small, x);
    return v;
}

/* A buffer of the file's list: its label is the list's text, not the file's. It keeps its name. */
static bool is_listed(const pl_import *m, const pl_item *x)
{
    return m->onnx->origins.list && x->label && x->label != x->name &&
           pl_type_is_float(x->constant->type) && x->constant->shape.rank && !m->trial;
}

/* A state under its own name, wherever its first reader stands. */
static pl_value *add_stored(pl_import *m, const pl_item *x)
{
    const char *scope = m->b->scope;
    m->b->scope = "";
    pl_value *v = pl_add_state(m->b, x->label ? x->label : x->name, x->constant->type,
                               x->constant->shape, "file", x->trains ? PL_WEIGHT : PL_BUFFER);
    m->b->scope = scope;
    return v;
}

pl_value *pl_item_value(pl_import *m, pl_item *x)
{
    double y;
    const pl_tensor *t = x->constant;
    pl_value *v;
    if (m->known_only && !m->trial) {
        pl_map_refuse(m, "not computed on the spot");
        return NULL;
    }
    if (x->value || m->b->err.code) return x->value;
    if (!x->tied && !t) {
        pl_map_refuse(m, "'%s' is a sequence, not a tensor", x->name);
        return NULL;
    }
    if (x->trains && t && t->type != PL_F32) {
        pl_map_refuse(m,
                      "'%s' trains and is %s; weights are f32 here, and dtype=bf16 computes in "
                      "bf16: export the module in f32",
                      x->name, pl_type_name(t->type));
        return NULL;
    }
    if (x->tied)
        v = pl_transposed(m, pl_item_value(m, x->tied), (const int[]){ 1, 0 });
    else if (x->trains || x->running || !t->data || is_listed(m, x))
        v = add_stored(m, x);
    else if (is_uniform(t, &y))
        v = pl_filled(m, t->type, y, &t->shape);
    else
        v = add_values(m, t, x->name);
    return x->value = v;
}
