#include "train/init.h"

#include "train/fill.h"

#include <stdlib.h>
#include <string.h>

/* -- drawn ------------------------------------------------------------------------------------- */

static bool parse_law(const pl_value *v, pl_law *law, pl_err *err)
{
    const char *number = strchr(v->init, '=');
    law->x = !strcmp(v->init, "ones");
    law->kind = PL_LAW_CONSTANT;
    if (!strncmp(v->init, "normal std=", 11))
        law->kind = PL_LAW_NORMAL;
    else if (!strncmp(v->init, "uniform a=", 10))
        law->kind = PL_LAW_UNIFORM;
    bool known = law->kind == PL_LAW_CONSTANT
                     ? !strcmp(v->init, "zeros") || !strcmp(v->init, "ones")
                     : pl_text_real(number + 1, &law->x);
    if (!known)
        return pl_err_set(err, PL_EINPUT,
                          "state '%s': unknown initial value '%s': zeros, ones, 'normal "
                          "std=S', 'uniform a=A', 'values V V ...' or file",
                          v->name, v->init);
    if (law->kind != PL_LAW_CONSTANT && !pl_type_is_float(v->type))
        return pl_err_set(err, PL_EINPUT, "state '%s': '%s' needs a float type", v->name, v->init);
    return true;
}

/* -- listed ------------------------------------------------------------------------------------ */

/* An i64 keeps all its digits; floats may be infinite or no number. */
static bool put_number(pl_type t, const char *text, void *array, int64_t i)
{
    int64_t whole;
    char *end;
    if (t == PL_I64 && pl_text_int(text, &whole)) {
        ((int64_t *)array)[i] = whole;
        return true;
    }
    double x = strtod(text, &end);
    if (*end) return false;
    if (t == PL_U8 && !(x >= 0 && x <= UINT8_MAX)) return false;
    if (t == PL_I32 && !(x >= INT32_MIN && x <= INT32_MAX)) return false;
    if (t == PL_I64 && !(x >= -0x1p63 && x < 0x1p63)) return false;
    pl_type_put(t, array, i, x);
    return pl_type_is_float(t) || pl_type_get(t, array, i) == x;
}

static bool parse_values(const pl_value *v, const char *text, pl_arena *tmp, pl_tensor *out,
                         pl_err *err)
{
    const int64_t count = pl_shape_count(&v->shape);
    void *array = pl_arena_get(tmp, (size_t)count + 1, (size_t)pl_type_bytes(v->type));
    int64_t n = 0;
    char *rest = NULL;
    for (char *word = strtok_r(pl_arena_text(tmp, text), " ", &rest); word;
         word = strtok_r(NULL, " ", &rest), n++)
        if (n < count && !put_number(v->type, word, array, n))
            return pl_err_set(err, PL_EINPUT, "state '%s': its value %lld, '%.40s', is no %s",
                              v->name, (long long)n, word, pl_type_name(v->type));
    if (n != count)
        return pl_err_set(err, PL_EINPUT, "state '%s': %lld values are listed, and %s has %lld",
                          v->name, (long long)n, pl_shape_text(tmp, v->type, &v->shape),
                          (long long)count);
    *out = pl_tensor_of(v->type, &v->shape, array);
    return true;
}

static bool fill_values(const pl_port *port, const char *text, void *data, pl_err *err)
{
    pl_arena *tmp = pl_arena_new("listed values");
    pl_tensor t;
    bool ok = parse_values(port->value, text, tmp, &t, err);
    if (ok) pl_fill_stack(port, &(pl_stack){ 1, &t }, data);
    pl_arena_free(tmp);
    return ok;
}

/* -- stored ------------------------------------------------------------------------------------ */

static bool check_stored(const pl_value *v, const pl_stack *s, pl_err *err)
{
    pl_shape row = v->shape;
    if (s->n > 1) row.dim[0] = 1;
    int64_t count = pl_shape_count(&row);
    bool ok = s->n == 1 || (v->shape.rank && v->shape.dim[0] == s->n);
    for (int i = 0; i < s->n && ok; i++) {
        const pl_tensor *t = &s->tensor[i];
        ok = pl_fill_converts(t->type, v->type) && pl_shape_count(&t->shape) == count &&
             (s->n > 1 || pl_shape_same(&v->shape, &t->shape));
    }
    if (ok) return true;
    pl_arena *tmp = pl_arena_new("stored shape");
    pl_err_set(err, PL_EINPUT, "state '%s' is %s, and %s in the file", v->name,
               pl_shape_text(tmp, v->type, &v->shape),
               pl_shape_text(tmp, s->tensor->type, &s->tensor->shape));
    pl_arena_free(tmp);
    return false;
}

/* Rows are in memory; one tensor may be in a file. */
static bool fill_stored(const pl_port *port, const pl_stack *s, void *data, pl_err *err)
{
    pl_tensor here = *s->tensor;
    void *map;
    size_t bytes;
    PL_TRY(check_stored(port->value, s, err));
    PL_TRY(pl_tensor_map(s->tensor, &here.data, &map, &bytes, err));
    pl_fill_stack(port, s->n > 1 ? s : &(pl_stack){ 1, &here }, data);
    pl_tensor_unmap(map, bytes);
    return true;
}

static pl_stack find(const pl_source *s, const char *state)
{
    return s->find ? s->find(s->of, state) : (pl_stack){ 0 };
}

static pl_stack find_in_model(const void *of, const char *state)
{
    const pl_tensor *t = pl_model_tensor(of, state);
    return (pl_stack){ t != NULL, t };
}

pl_source pl_init_model(const pl_model_args *m)
{
    return (pl_source){ find_in_model, m };
}

bool pl_init_fill(const pl_port *port, const pl_init *from, void *data, pl_err *err)
{
    const pl_value *v = port->value;
    const bool in_file = !strcmp(v->init, "file");
    pl_stack s = find(&from->weights, v->name);
    if (!s.n && in_file) s = find(&from->file, v->name);
    if (s.n) return fill_stored(port, &s, data, err);
    if (in_file)
        return pl_err_set(err, PL_EINPUT, "state '%s' comes from a file, which does not have it",
                          v->name);
    if (!strncmp(v->init, "values", 6) && (!v->init[6] || v->init[6] == ' '))
        return fill_values(port, v->init + 6, data, err);
    pl_law law;
    PL_TRY(parse_law(v, &law, err));
    law.rng = pl_rng_at(from->seed, pl_rng_name(v->name));
    pl_fill_law(port, &law, data);
    return true;
}
