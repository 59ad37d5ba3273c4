/* What a mapper asks of its node: inputs, attributes; and what it tells. */
#include "import/import.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* -- failing ----------------------------------------------------------------------------------- */

static bool fail(pl_import *m, pl_code code, const char *fmt, va_list args)
{
    char text[600];
    vsnprintf(text, sizeof text, fmt, args);
    const char *name = m->node && m->node->name ? m->node->name : "";
    const char *out = m->node && m->node->n_output ? m->node->output[0] : "";
    m->told = true;
    return pl_err_set(&m->b->err, code, "node '%s' (%s): %s", *name ? name : out,
                      m->node && m->node->op_type ? m->node->op_type : "", text);
}

bool pl_map_fail(pl_import *m, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    fail(m, PL_EINPUT, fmt, args);
    va_end(args);
    return false;
}

bool pl_map_refuse(pl_import *m, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    fail(m, PL_EUNSUPPORTED, fmt, args);
    va_end(args);
    return false;
}

/* -- inputs ------------------------------------------------------------------------------------ */

bool pl_has(const pl_import *m, int k)
{
    return k < m->n_in && m->in[k];
}

pl_value *pl_in(pl_import *m, int k)
{
    if (!pl_has(m, k)) {
        pl_map_fail(m, "input %d is missing", k);
        return NULL;
    }
    return pl_item_value(m, m->in[k]);
}

/* Whole numbers of a file, near enough that sums of a few are none too large: slices to the end of
 * the world end there. */
static int64_t tame(int64_t x)
{
    return x < -PL_MOST_SIZE ? -PL_MOST_SIZE : x > PL_MOST_SIZE ? PL_MOST_SIZE : x;
}

const int64_t *pl_in_ints(pl_import *m, int k, int most, int *n)
{
    if (!pl_has(m, k)) {
        pl_map_fail(m, "input %d is missing", k);
        return NULL;
    }
    const pl_item *x = m->in[k];
    if (!pl_item_known(x)) {
        pl_map_refuse(
            m,
            "input %d ('%s') is computed from the data; shapes, axes and sizes have to be "
            "constants, or follow from the shapes of inputs",
            k, x->name);
        return NULL;
    }
    int64_t count = pl_shape_count(&x->constant->shape);
    if (count > most) {
        pl_map_refuse(m, "input %d ('%s') has %lld elements, at most %d are supported", k, x->name,
                      (long long)count, most);
        return NULL;
    }
    int64_t *out = PL_NEW_N(m->a, int64_t, count + 1);
    *n = (int)count;
    for (int i = 0; i < *n; i++) {
        if (x->constant->type == PL_I64)
            memcpy(&out[i], (const char *)x->constant->data + 8 * i, 8);
        else
            out[i] = (int64_t)fmin(fmax(pl_tensor_get(x->constant, i), -0x1p53), 0x1p53);
        out[i] = tame(out[i]);
    }
    return out;
}

bool pl_in_real(pl_import *m, int k, double *x)
{
    if (!pl_has(m, k)) return pl_map_fail(m, "input %d is missing", k);
    const pl_item *in = m->in[k];
    if (!pl_item_known(in) || pl_shape_count(&in->constant->shape) != 1)
        return pl_map_refuse(m, "input %d ('%s') has to be one constant", k, in->name);
    *x = pl_tensor_get(in->constant, 0);
    return true;
}

bool pl_in_int(pl_import *m, int k, int64_t *x)
{
    double real;
    PL_TRY(pl_in_real(m, k, &real));
    if (!(fabs(real) < 0x1p53)) return pl_map_fail(m, "input %d is %g", k, real);
    *x = tame((int64_t)real);
    return true;
}

/* -- attributes -------------------------------------------------------------------------------- */

const Onnx__AttributeProto *pl_attr_find(const pl_import *m, const char *name)
{
    for (size_t i = 0; i < m->node->n_attribute; i++)
        if (m->node->attribute[i]->name && !strcmp(m->node->attribute[i]->name, name))
            return m->node->attribute[i];
    return NULL;
}

int64_t pl_attr_int(const pl_import *m, const char *name, int64_t usual)
{
    const Onnx__AttributeProto *x = pl_attr_find(m, name);
    return x && x->has_i ? tame(x->i) : usual;
}

double pl_attr_real(const pl_import *m, const char *name, double usual)
{
    const Onnx__AttributeProto *x = pl_attr_find(m, name);
    return x && x->has_f ? (double)x->f : usual;
}

const char *pl_attr_text(pl_import *m, const char *name, const char *usual)
{
    const Onnx__AttributeProto *x = pl_attr_find(m, name);
    return x && x->has_s ? pl_arena_span(m->a, (const char *)x->s.data, x->s.len) : usual;
}

const int64_t *pl_attr_ints(const pl_import *m, const char *name, int *n)
{
    const Onnx__AttributeProto *x = pl_attr_find(m, name);
    if (!x || x->n_ints > 64) return NULL;
    *n = (int)x->n_ints;
    int64_t *out = PL_NEW_N(m->a, int64_t, *n + 1); /* an empty list is there too */
    for (int i = 0; i < *n; i++) out[i] = tame(x->ints[i]);
    return out;
}

bool pl_ints_of(pl_import *m, int k, const char *name, int most, const int64_t **at, int *n)
{
    *n = -1;
    if (pl_has(m, k)) return (*at = pl_in_ints(m, k, most, n)) != NULL;
    *at = pl_attr_ints(m, name, n);
    return *n <= most ||
           pl_map_fail(m, "%s has %d numbers, at most %d are supported", name, *n, most);
}

bool pl_real_of(pl_import *m, int k, const char *name, double usual, double *x)
{
    *x = pl_attr_real(m, name, usual);
    return !pl_has(m, k) || pl_in_real(m, k, x);
}

bool pl_axis(pl_import *m, int64_t axis, int rank, int *out)
{
    if (axis < -rank || axis >= rank)
        return pl_map_fail(m, "axis %lld of %d dimensions", (long long)axis, rank);
    *out = (int)(axis < 0 ? axis + rank : axis);
    return true;
}

/* -- outputs ----------------------------------------------------------------------------------- */

void pl_out(pl_import *m, int k, pl_value *v)
{
    if (k < (int)m->node->n_output) m->out[k].value = v;
}

void pl_out_item(pl_import *m, int k, const pl_item *x)
{
    if (k >= (int)m->node->n_output) return;
    m->out[k] = *x;
    m->out[k].name = m->node->output[k];
}

void pl_out_constant(pl_import *m, int k, pl_type type, const pl_shape *shape, const void *data)
{
    if (k >= (int)m->node->n_output) return;
    pl_tensor *t = PL_NEW(m->a, pl_tensor);
    *t = pl_tensor_of(type, shape, data);
    t->name = m->node->output[k];
    m->out[k].constant = t;
}
