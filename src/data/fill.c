/* Filling a part. pl_fill_runs() cuts it into runs, one element after another in the part and
 * evenly spaced in the whole; a run is drawn by a law (put_drawn) or taken from stored tensors
 * (put_taken). */
#include "data/fill.h"

#include <math.h>

enum { SERIAL = 100000, PIECE = 256 }; /* elements that one thread fills; converted at a time */

void pl_fill_runs(const pl_port *port,
                  void (*put)(const void *of, const pl_fill_run *r, void *part), const void *of,
                  void *part)
{
    const pl_shape *whole = &port->value->shape;
    int64_t count = pl_region_count(port->region), step;
    if (!count) return; /* a rank may have no rows */
    int64_t n = pl_region_row(port->region, whole, &step);
#pragma omp parallel for if (count > SERIAL)
    for (int64_t at = 0; at < count; at += n)
        put(of, &(pl_fill_run){ at, n, pl_region_global(port->region, whole, at), step }, part);
}

/* -- random numbers ---------------------------------------------------------------------------- */

typedef struct drawn {
    const pl_law *law;
    pl_type type;
} drawn;

static void put_drawn(const void *of, const pl_fill_run *run, void *part)
{
    const drawn *d = of;
    const pl_law *law = d->law;
    double normal[4];
    uint64_t block = UINT64_MAX;
    pl_draw draw = { .rng = law->rng };
    const pl_zipf zipf =
        law->kind == PL_LAW_ZIPF ? pl_zipf_of((uint64_t)law->x, law->exponent) : (pl_zipf){ 0 };
    for (int64_t i = 0; i < run->n; i++) {
        uint64_t g = (uint64_t)(law->first + run->global + i * run->step);
        double y = law->x;
        if (law->kind == PL_LAW_UNIFORM) y *= 2 * pl_draw_uniform(&draw, g) - 1;
        if (law->kind == PL_LAW_BELOW) y = floor(pl_draw_uniform(&draw, g) * y);
        if (law->kind == PL_LAW_ZIPF) y = (double)pl_rng_zipf(law->rng, g, &zipf);
        if (law->kind == PL_LAW_NORMAL) {
            if (g / 4 != block) pl_rng_normals(law->rng, block = g / 4, normal);
            y *= normal[g % 4];
        }
        pl_type_put(d->type, part, run->at + i, y);
    }
}

void pl_fill_law(const pl_port *port, const pl_law *law, void *part)
{
    pl_fill_runs(port, put_drawn, &(drawn){ law, port->value->type }, part);
}

/* -- stored elements --------------------------------------------------------------------------- */

bool pl_fill_converts(pl_type from, pl_type to)
{
    return pl_type_is_float(from) == pl_type_is_float(to);
}

/* Every element of the stored type is one of that type. */
static bool is_wider(const pl_stored *s, pl_type to)
{
    if (!s->exact) return false;
    return s->type == to || to == PL_F32 || to == PL_F64 || to == PL_I64 ||
           (to == PL_I32 && s->type == PL_U8);
}

static bool is_one_of(pl_type type, double x)
{
    switch (type) {
    case PL_F32: return (double)(float)x == x;
    case PL_BF16: return (double)pl_bf16_widen(pl_bf16_round((float)x)) == x;
    case PL_I32: return x >= INT32_MIN && x <= INT32_MAX;
    case PL_U8: return x >= 0 && x <= UINT8_MAX;
    case PL_F64:
    case PL_I64:
    case PL_N_TYPES: break;
    }
    return true;
}

bool pl_fill_is_exact(const pl_tensor *tensor, pl_type to, pl_err *err)
{
    if (!pl_fill_converts(tensor->type, to))
        return pl_err_set(err, PL_EINPUT, "'%s' is %s, and %s is needed: convert it", tensor->name,
                          tensor->stored->name, pl_type_name(to));
    if (is_wider(tensor->stored, to)) return true;
    for (int64_t i = 0, n = pl_shape_count(&tensor->shape); i < n; i++) {
        double x = pl_tensor_get(tensor, i);
        if (!is_one_of(to, x) && !isnan(x))
            return pl_err_set(err, PL_EINPUT,
                              "'%s' is %s, and %s is needed, which element %lld, %.17g, is not: "
                              "convert it",
                              tensor->name, tensor->stored->name, pl_type_name(to), (long long)i,
                              x);
    }
    return true;
}

void pl_fill_take(const pl_tensor *tensor, int64_t first, int64_t step, int64_t n, pl_type to,
                  void *array, int64_t at)
{
    _Alignas(8) unsigned char piece[8 * PIECE];
    if (tensor->type == to) {
        pl_tensor_pick(tensor, tensor->data, first, step, n,
                       (char *)array + at * pl_type_bytes(to));
        return;
    }
    for (int64_t i = 0; i < n; i += PIECE) {
        int64_t some = n - i < PIECE ? n - i : PIECE;
        pl_tensor_pick(tensor, tensor->data, first + i * step, step, some, piece);
        for (int64_t k = 0; k < some; k++)
            pl_type_put(to, array, at + i + k, pl_type_get(tensor->type, piece, k));
    }
}

typedef struct taken {
    const pl_stack *stack;
    int64_t each; /* elements of one of its tensors */
    pl_type type;
} taken;

/* A run may go through several tensors. */
static void put_taken(const void *of, const pl_fill_run *run, void *part)
{
    const taken *t = of;
    int64_t step = run->step > 0 ? run->step : 1;
    for (int64_t done = 0, n; done < run->n; done += n) {
        int64_t global = run->global + done * step, from = global % t->each;
        n = (t->each - from + step - 1) / step;
        if (n > run->n - done) n = run->n - done;
        pl_fill_take(&t->stack->tensor[global / t->each], from, step, n, t->type, part,
                     run->at + done);
    }
}

void pl_fill_stack(const pl_port *port, const pl_stack *stack, void *part)
{
    const int64_t each = pl_shape_count(&port->value->shape) / stack->n;
    pl_fill_runs(port, put_taken, &(taken){ stack, each, port->value->type }, part);
}

void pl_fill_round(pl_type type, int64_t n, const float from[], void *to)
{
#pragma omp parallel for if (n > SERIAL)
    for (int64_t i = 0; i < n; i++) pl_type_put(type, to, i, (double)from[i]);
}
