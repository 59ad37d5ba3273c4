#include "train/init.h"

#include "base/rng.h"

#include <string.h>

typedef enum kind { CONSTANT, NORMAL, UNIFORM } kind;

static bool parse(const pl_value *v, kind *k, double *x, pl_err *err)
{
    const char *number = strchr(v->init, '=');
    *x = !strcmp(v->init, "ones");
    *k = CONSTANT;
    if (!strncmp(v->init, "normal std=", 11))
        *k = NORMAL;
    else if (!strncmp(v->init, "uniform a=", 10))
        *k = UNIFORM;
    bool known = *k == CONSTANT ? !strcmp(v->init, "zeros") || !strcmp(v->init, "ones")
                                : pl_text_real(number + 1, x);
    if (!known)
        return pl_err_set(err, PL_EINPUT,
                          "state '%s': unknown initial value '%s': zeros, ones, 'normal "
                          "std=S' or 'uniform a=A'",
                          v->name, v->init);
    if (*k != CONSTANT && !pl_type_is_float(v->type))
        return pl_err_set(err, PL_EINPUT, "state '%s': '%s' needs a float type", v->name, v->init);
    return true;
}

/* Elements [from, from + n) of the part; in the whole they stand `step` apart from `global` on. */
static void fill_row(pl_type t, void *data, int64_t from, int64_t n, uint64_t global, uint64_t step,
                     kind k, double x, pl_rng r)
{
    double normal[4];
    uint64_t block = UINT64_MAX;
    pl_draw draw = { .rng = r };
    for (int64_t i = 0; i < n; i++) {
        uint64_t g = global + (uint64_t)i * step;
        double y = x;
        if (k == UNIFORM) y = x * (2 * pl_draw_uniform(&draw, g) - 1);
        if (k == NORMAL) {
            if (g / 4 != block) pl_rng_normals(r, block = g / 4, normal);
            y = x * normal[g % 4];
        }
        pl_type_put(t, data, from + i, y);
    }
}

bool pl_init_fill(const pl_port *port, uint64_t seed, void *data, pl_err *err)
{
    const pl_value *v = port->value;
    const pl_region *part = &port->region;
    int64_t count = pl_region_count(part), step, n = pl_region_row(part, &v->shape, &step);
    kind k;
    double x;
    PL_TRY(parse(v, &k, &x, err));
    if (!count) return true;
    const pl_rng r = pl_rng_at(seed, pl_rng_name(v->name));
#pragma omp parallel for if (count > 100000)
    for (int64_t row = 0; row < count / n; row++)
        fill_row(v->type, data, row * n, n, (uint64_t)pl_region_global(part, &v->shape, row * n),
                 (uint64_t)step, k, x, r);
    return true;
}
