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
    if (ok) pl_fill_tensor(port, &t, data);
    pl_arena_free(tmp);
    return ok;
}

/* -- stored ------------------------------------------------------------------------------------ */

static bool check_stored(const pl_value *v, const pl_tensor *t, pl_err *err)
{
    if (pl_shape_same(&v->shape, &t->shape) && pl_fill_converts(t->type, v->type)) return true;
    pl_arena *tmp = pl_arena_new("stored shape");
    pl_err_set(err, PL_EINPUT, "state '%s' is %s, and %s in the file", v->name,
               pl_shape_text(tmp, v->type, &v->shape), pl_shape_text(tmp, t->type, &t->shape));
    pl_arena_free(tmp);
    return false;
}

static bool fill_stored(const pl_port *port, const pl_tensor *t, void *data, pl_err *err)
{
    pl_tensor here = *t;
    void *map;
    size_t bytes;
    PL_TRY(check_stored(port->value, t, err));
    PL_TRY(pl_tensor_map(t, &here.data, &map, &bytes, err));
    pl_fill_tensor(port, &here, data);
    pl_tensor_unmap(map, bytes);
    return true;
}

static const pl_tensor *find(const pl_source *s, const char *state)
{
    return s->find ? s->find(s->of, state) : NULL;
}

static const pl_tensor *find_in_model(const void *of, const char *state)
{
    return pl_model_tensor(of, state);
}

pl_source pl_init_model(const pl_model_args *m)
{
    return (pl_source){ find_in_model, m };
}

bool pl_init_fill(const pl_port *port, const pl_init *from, void *data, pl_err *err)
{
    const pl_value *v = port->value;
    const bool in_file = !strcmp(v->init, "file");
    const pl_tensor *t = find(&from->weights, v->name);
    if (!t && in_file) t = find(&from->file, v->name);
    if (t) return fill_stored(port, t, data, err);
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
