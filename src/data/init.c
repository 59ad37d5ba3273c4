/* Initial values. Read pl_init_fill() at the end: weights of a file first, else what the state's
 * `init` says, drawn, listed or stored. */
#include "data/init.h"

#include "data/fill.h"

#include <stdlib.h>
#include <string.h>

/* -- drawn ------------------------------------------------------------------------------------- */

static bool parse_law(const pl_value *value, pl_law *law, pl_err *err)
{
    const char *number = strchr(value->init, '=');
    *law = (pl_law){ .kind = PL_LAW_CONSTANT, .x = !strcmp(value->init, "ones") };
    if (!strncmp(value->init, "normal std=", 11))
        law->kind = PL_LAW_NORMAL;
    else if (!strncmp(value->init, "uniform a=", 10))
        law->kind = PL_LAW_UNIFORM;
    bool known = law->kind == PL_LAW_CONSTANT
                     ? !strcmp(value->init, "zeros") || !strcmp(value->init, "ones")
                     : pl_text_real(number + 1, &law->x);
    if (!known)
        return pl_err_set(err, PL_EINPUT,
                          "state '%s': unknown initial value '%s': zeros, ones, 'normal "
                          "std=S', 'uniform a=A', 'values V V ...' or file",
                          value->name, value->init);
    if (law->kind != PL_LAW_CONSTANT && !pl_type_is_float(value->type))
        return pl_err_set(err, PL_EINPUT, "state '%s': '%s' needs a float type", value->name,
                          value->init);
    return true;
}

/* -- listed ------------------------------------------------------------------------------------ */

/* An i64 keeps all its digits; floats may be infinite or no number. */
static bool put_number(pl_type type, const char *text, void *array, int64_t i)
{
    int64_t whole;
    char *end;
    if (type == PL_I64 && pl_text_int(text, &whole)) {
        ((int64_t *)array)[i] = whole;
        return true;
    }
    double x = strtod(text, &end);
    if (*end) return false;
    if (type == PL_U8 && !(x >= 0 && x <= UINT8_MAX)) return false;
    if (type == PL_I32 && !(x >= INT32_MIN && x <= INT32_MAX)) return false;
    if (type == PL_I64 && !(x >= -0x1p63 && x < 0x1p63)) return false;
    pl_type_put(type, array, i, x);
    return pl_type_is_float(type) || pl_type_get(type, array, i) == x;
}

static bool parse_values(const pl_value *value, const char *text, pl_arena *tmp, pl_tensor *out,
                         pl_err *err)
{
    const int64_t count = pl_shape_count(&value->shape);
    void *array = pl_arena_get(tmp, (size_t)count + 1, (size_t)pl_type_bytes(value->type));
    int64_t n = 0;
    char *rest = NULL;
    for (char *word = strtok_r(pl_arena_text(tmp, text), " ", &rest); word;
         word = strtok_r(NULL, " ", &rest), n++)
        if (n < count && !put_number(value->type, word, array, n))
            return pl_err_set(err, PL_EINPUT, "state '%s': its value %lld, '%.40s', is no %s",
                              value->name, (long long)n, word, pl_type_name(value->type));
    if (n != count)
        return pl_err_set(err, PL_EINPUT, "state '%s': %lld values are listed, and %s has %lld",
                          value->name, (long long)n, pl_shape_text(tmp, value->type, &value->shape),
                          (long long)count);
    *out = pl_tensor_of(value->type, &value->shape, array);
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

static bool check_stored(const pl_value *value, const pl_stack *stack, pl_err *err)
{
    pl_shape row = value->shape;
    if (stack->n > 1) row.dim[0] = 1;
    int64_t count = pl_shape_count(&row);
    bool ok = stack->n == 1 || (value->shape.rank && value->shape.dim[0] == stack->n);
    for (int i = 0; i < stack->n && ok; i++) {
        const pl_tensor *t = &stack->tensor[i];
        ok = pl_fill_converts(t->type, value->type) && pl_shape_count(&t->shape) == count &&
             (stack->n > 1 || pl_shape_same(&value->shape, &t->shape));
    }
    if (ok) return true;
    pl_arena *tmp = pl_arena_new("stored shape");
    pl_err_set(err, PL_EINPUT, "state '%s' is %s, and %s in the file", value->name,
               pl_shape_text(tmp, value->type, &value->shape),
               pl_shape_text(tmp, stack->tensor->type, &stack->tensor->shape));
    pl_arena_free(tmp);
    return false;
}

/* Rows are in memory; one tensor may be in a file. */
static bool fill_stored(const pl_port *port, const pl_stack *stack, void *data, pl_err *err)
{
    pl_tensor here = *stack->tensor;
    void *map;
    size_t bytes;
    PL_TRY(check_stored(port->value, stack, err));
    PL_TRY(pl_tensor_map(stack->tensor, &here.data, &map, &bytes, err));
    pl_fill_stack(port, stack->n > 1 ? stack : &(pl_stack){ 1, &here }, data);
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

pl_source pl_init_model(const pl_model_args *args)
{
    return (pl_source){ find_in_model, args };
}

/* Drawn or read as its master is, then rounded as a cast would. */
static bool fill_copy(const pl_port *port, const pl_init *from, void *data, pl_err *err)
{
    pl_value master = *port->value;
    pl_port wide = *port;
    const int64_t n = pl_region_count(port->region);
    pl_arena *tmp = pl_arena_new("masters");
    float *x = PL_NEW_N(tmp, float, n + 1);
    master.type = PL_F32;
    wide.value = &master;
    const bool ok = pl_init_fill(&wide, from, x, err);
    if (ok) pl_fill_round(port->value->type, n, x, data);
    pl_arena_free(tmp);
    return ok;
}

bool pl_init_fill(const pl_port *port, const pl_init *from, void *data, pl_err *err)
{
    const pl_value *v = pl_graph_known(port->value);
    if (pl_graph_is_copy(port->value)) return fill_copy(port, from, data, err);
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
    law.rng = pl_rng_at(from->seed, pl_rng_name(v->name)); /* a master draws as its weight */
    pl_fill_law(port, &law, data);
    return true;
}
