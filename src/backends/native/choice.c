/* less_equal and where: both are exact, so they compare and move bits, which -ffast-math leaves as
 * they are. */
#include "backends/native/kernels.h"
#include "graph/walk.h"

#include <string.h>

typedef uint32_t __attribute__((may_alias)) word;

typedef struct choice {
    const uint8_t *taken;
    const word *in[2];
    void *out;
    int64_t step[3]; /* of the inputs along a row, in their order; the output's is 1 */
} choice;

bool pl_less_equal_accepts(const pl_share *s, const pl_kernel_env *env, pl_err *why)
{
    const pl_type t = s->node->in[0]->type;
    (void)env;
    return t == PL_F32 || pl_err_set(why, PL_EUNSUPPORTED, "compares f32, not %s", pl_type_name(t));
}

bool pl_where_accepts(const pl_share *s, const pl_kernel_env *env, pl_err *why)
{
    const pl_type t = s->node->out[0]->type;
    (void)env;
    return pl_type_bytes(t) == sizeof(word) ||
           pl_err_set(why, PL_EUNSUPPORTED, "moves elements of 4 bytes, not %s", pl_type_name(t));
}

bool pl_choice_make(const pl_share *s, const pl_kernel_env *env, void **state,
                    int64_t *scratch_bytes, pl_err *err)
{
    const int out = s->node->n_in;
    const pl_loops l = pl_loops_make(s, pl_walk_mask(s->node, out), out);
    (void)env;
    *scratch_bytes = 0;
    return pl_kernels_keep(&l, sizeof l, state, err);
}

/* Whole numbers in the order of the floats; 0 and -0 are one. */
static inline int32_t place(uint32_t bits)
{
    const uint32_t size = bits & 0x7FFFFFFFu;
    return bits >> 31 ? -(int32_t)size : (int32_t)size;
}

static inline uint32_t is_nan(uint32_t bits)
{
    return (bits & 0x7FFFFFFFu) > 0x7F800000u;
}

static void compare_row(const void *arg, int64_t n, const int64_t at[])
{
    const choice *c = arg;
    const word *a = c->in[0] + at[0], *b = c->in[1] + at[1];
    const int64_t s = c->step[0], t = c->step[1];
    uint8_t *y = (uint8_t *)c->out + at[2];
#pragma omp simd
    for (int64_t i = 0; i < n; i++) {
        const uint32_t p = a[i * s], q = b[i * t];
        y[i] = place(p) <= place(q) && !is_nan(p) && !is_nan(q);
    }
}

/* y over a or over b is the same element, read before it is written. */
static void where_row(const void *arg, int64_t n, const int64_t at[])
{
    const choice *c = arg;
    const uint8_t *taken = c->taken + at[0];
    const word *a = c->in[0] + at[1], *b = c->in[1] + at[2];
    const int64_t r = c->step[0], s = c->step[1], t = c->step[2];
    word *y = (word *)c->out + at[3];
    if (r == 1 && s == 1 && t == 1)
#pragma omp simd
        for (int64_t i = 0; i < n; i++) y[i] = taken[i] ? a[i] : b[i];
    else
#pragma omp simd
        for (int64_t i = 0; i < n; i++) y[i] = taken[i * r] ? a[i * s] : b[i * t];
}

void pl_less_equal_run(const pl_share *s, const pl_kernel_env *env, void *state,
                       const void *const in[], void *const out[], void *scratch)
{
    const pl_loops *l = state;
    const int64_t *step = l->step[l->n - 1];
    const choice c = { NULL, { in[0], in[1] }, out[0], { step[0], step[1] } };
    (void)s, (void)scratch;
    pl_loops_run(l, 3, env->n_threads, compare_row, &c);
}

void pl_where_run(const pl_share *s, const pl_kernel_env *env, void *state, const void *const in[],
                  void *const out[], void *scratch)
{
    const pl_loops *l = state;
    const int64_t *step = l->step[l->n - 1];
    const choice c = { in[0], { in[1], in[2] }, out[0], { step[0], step[1], step[2] } };
    (void)s, (void)scratch;
    pl_loops_run(l, 4, env->n_threads, where_row, &c);
}
