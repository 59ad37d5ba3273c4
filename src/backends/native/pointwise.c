/* One element each: add, mul, gelu ... An operator is a row of the table below; its function is
 * written once, for one element, and expanded into the loops that its operands need. */
#include "backends/native/kernels.h"

#include "graph/walk.h"

#include <math.h>
#include <string.h>

/* -- functions of one element ------------------------------------------------------------------ */

/* Below -80 the result is 0 within f32; the limit keeps e^-x finite, as -ffast-math requires. */
static inline float sigmoid(float x)
{
    return 1 / (1 + expf(x < -80 ? 80 : -x));
}

/* Near 0, where the exponential form cancels, Lambert's continued fraction x / (1 + x^2 / (3 + x^2
 * / (5 + x^2 / (7 + x^2 / 9)))), multiplied out; its error at 0.6 is below 1e-9. */
static inline float tanh_of(float x)
{
    float a = fabsf(x), z = x * x;
    float near = x * (945 + z * (105 + z)) / (945 + z * (420 + z * 15));
    float far = 1 - 2 / (1 + expf(2 * (a > 20 ? 20 : a)));
    return a < 0.6f ? near : copysignf(far, x);
}

/* 0.5 (1 + tanh u) is sigmoid(2 u): see ops/gelu.c. */
static const float two_c = 1.5957691216057308f,
                   cubic = 0.044715f; /* 2 sqrt(2 / pi), Hendrycks & Gimpel */
static const float root_half = 0.70710678118654752f,
                   density = 0.39894228040143268f; /* 1 / sqrt(2 pi) */

static inline float gelu_tanh(float x)
{
    return x * sigmoid(two_c * (x + cubic * x * x * x));
}

/* With z = 2 u and s = sigmoid(z), s (1 - s) = e / (1 + e)^2 for e = e^-|z|: 1 - s itself would
 * cancel. */
static inline float gelu_tanh_grad(float x, float dy)
{
    float z = two_c * (x + cubic * x * x * x), a = fabsf(z);
    float e = expf(a > 80 ? -80 : -a), d = 1 / (1 + e);
    float s = z < 0 ? e * d : d;
    return dy * (s + x * (e * d * d) * two_c * (1 + 3 * cubic * x * x));
}

static inline float gelu_erf(float x)
{
    return 0.5f * x * (1 + erff(x * root_half));
}

static inline float gelu_erf_grad(float x, float dy)
{
    return dy * (0.5f * (1 + erff(x * root_half)) + x * density * expf(-0.5f * x * x));
}

static inline float silu_grad(float x, float dy)
{
    float s = sigmoid(x);
    return dy * s * (1 + x * (1 - s));
}

/* ln(1 + e^x) = max(x, 0) + ln(1 + e^-|x|): e^x alone would overflow. */
static inline float softplus(float x)
{
    float a = fabsf(x);
    return (x > 0 ? x : 0) + log1pf(expf(a > 80 ? -80 : -a));
}

/* Round to nearest even; NaN stays NaN (graph/type.h). In integers, so that it is exact under any
 * flags. */
static inline uint16_t round_bf16(uint32_t bits)
{
    uint32_t nan = (bits & 0x7FFFFFFFu) > 0x7F800000u;
    return (uint16_t)(nan ? bits >> 16 | 0x40u : (bits + 0x7FFFu + (bits >> 16 & 1u)) >> 16);
}

/* -- rows -------------------------------------------------------------------------------------- */

typedef struct job {
    const void *in[2];
    void *out;
    int64_t step[2]; /* of the inputs along a row; the output's is 1 */
    float value;
} job;

/* y over x or over b is the same element, read before it is written: no dependence between
 * iterations, which is what "omp simd" states. */
#define EACH(expression) _Pragma("omp simd") for (int64_t i = 0; i < n; i++) y[i] = (expression)

#define UNARY(name, expression)                                                                    \
    static void run_##name(const void *arg, int64_t n, const int64_t at[])                         \
    {                                                                                              \
        const job *j = arg;                                                                        \
        const float *x = (const float *)j->in[0] + at[0];                                          \
        const float value = j->value;                                                              \
        float *y = (float *)j->out + at[1];                                                        \
        (void)value;                                                                               \
        EACH(expression);                                                                          \
    }

/* The common patterns are loops of their own: both dense, one of them repeated. The function may be
 * a macro that reads `value`. */
#define BINARY(name, function)                                                                     \
    static void run_##name(const void *arg, int64_t n, const int64_t at[])                         \
    {                                                                                              \
        const job *j = arg;                                                                        \
        const float *a = (const float *)j->in[0] + at[0], *b = (const float *)j->in[1] + at[1];    \
        const int64_t s = j->step[0], t = j->step[1];                                              \
        const float value = j->value;                                                              \
        float *y = (float *)j->out + at[2];                                                        \
        (void)value;                                                                               \
        if (s == 1 && t == 1) {                                                                    \
            EACH(function(a[i], b[i]));                                                            \
        } else if (s == 1 && t == 0) {                                                             \
            const float one = *b;                                                                  \
            EACH(function(a[i], one));                                                             \
        } else if (s == 0 && t == 1) {                                                             \
            const float one = *a;                                                                  \
            EACH(function(one, b[i]));                                                             \
        } else {                                                                                   \
            EACH(function(a[i * s], b[i * t]));                                                    \
        }                                                                                          \
    }

static inline float add(float a, float b)
{
    return a + b;
}

static inline float sub(float a, float b)
{
    return a - b;
}

static inline float mul(float a, float b)
{
    return a * b;
}

static inline float quotient(float a, float b)
{
    return a / b;
}

static inline float larger(float a, float b)
{
    return a >= b ? a : b;
}

static inline float relu_grad(float y, float dy)
{
    return y > 0 ? dy : 0;
}

static inline float relu6_grad(float y, float dy)
{
    return y > 0 && y < 6 ? dy : 0;
}

#define LEAKY_RELU_GRAD(x, dy) ((x) > 0 ? (dy) : value * (dy))

BINARY(add, add)
BINARY(sub, sub)
BINARY(mul, mul)
BINARY(div, quotient)
BINARY(maximum, larger)
BINARY(relu_grad, relu_grad)
BINARY(relu6_grad, relu6_grad)
BINARY(leaky_relu_grad, LEAKY_RELU_GRAD)
BINARY(silu_grad, silu_grad)
BINARY(gelu_tanh_grad, gelu_tanh_grad)
BINARY(gelu_erf_grad, gelu_erf_grad)
UNARY(exp, expf(x[i]))
UNARY(log, logf(x[i]))
UNARY(sqrt, sqrtf(x[i]))
UNARY(tanh, tanh_of(x[i]))
UNARY(sigmoid, sigmoid(x[i]))
UNARY(silu, x[i] * sigmoid(x[i]))
UNARY(relu, x[i] < 0 ? 0 : x[i])
UNARY(relu6, x[i]<0 ? 0 : x[i]> 6 ? 6 : x[i])
UNARY(leaky_relu, x[i] < 0 ? value * x[i] : x[i])
UNARY(neg, -x[i])
UNARY(softplus, softplus(x[i]))
UNARY(scale, value *x[i])
UNARY(gelu_tanh, gelu_tanh(x[i]))
UNARY(gelu_erf, gelu_erf(x[i]))

typedef uint32_t __attribute__((may_alias)) word;

static void run_to_bf16(const void *arg, int64_t n, const int64_t at[])
{
    const job *j = arg;
    const word *x = (const word *)j->in[0] + at[0];
    uint16_t *y = (uint16_t *)j->out + at[1];
    EACH(round_bf16(x[i]));
}

static void run_from_bf16(const void *arg, int64_t n, const int64_t at[])
{
    const job *j = arg;
    const uint16_t *x = (const uint16_t *)j->in[0] + at[0];
    word *y = (word *)j->out + at[1];
    EACH((uint32_t)x[i] << 16);
}

/* -- kernels ----------------------------------------------------------------------------------- */

static const struct {
    const pl_op *op;
    pl_loops_row *row;
} rows[] = {
    { &pl_op_add, run_add },           { &pl_op_sub, run_sub },
    { &pl_op_mul, run_mul },           { &pl_op_div, run_div },
    { &pl_op_maximum, run_maximum },   { &pl_op_relu_grad, run_relu_grad },
    { &pl_op_exp, run_exp },           { &pl_op_silu_grad, run_silu_grad },
    { &pl_op_log, run_log },           { &pl_op_sqrt, run_sqrt },
    { &pl_op_tanh, run_tanh },         { &pl_op_sigmoid, run_sigmoid },
    { &pl_op_silu, run_silu },         { &pl_op_relu, run_relu },
    { &pl_op_scale, run_scale },       { &pl_op_accumulate, run_add },
    { &pl_op_relu6, run_relu6 },       { &pl_op_relu6_grad, run_relu6_grad },
    { &pl_op_neg, run_neg },           { &pl_op_leaky_relu, run_leaky_relu },
    { &pl_op_softplus, run_softplus }, { &pl_op_leaky_relu_grad, run_leaky_relu_grad },
};

static pl_loops_row *find_row(const pl_node *n)
{
    if (n->op == &pl_op_cast) return n->in[0]->type == PL_F32 ? run_to_bf16 : run_from_bf16;
    if (n->op == &pl_op_gelu) return pl_node_int(n, "tanh", 0) ? run_gelu_tanh : run_gelu_erf;
    if (n->op == &pl_op_gelu_grad)
        return pl_node_int(n, "tanh", 0) ? run_gelu_tanh_grad : run_gelu_erf_grad;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (rows[i].op == n->op) return rows[i].row;
    pl_bug(__FILE__, __LINE__, "no row function for %s", n->op->name);
}

bool pl_pointwise_cast_accepts(const pl_share *s, const pl_kernel_env *env, pl_err *why)
{
    pl_type from = s->node->in[0]->type, to = s->node->out[0]->type;
    (void)env;
    if ((from == PL_F32 && to == PL_BF16) || (from == PL_BF16 && to == PL_F32)) return true;
    return pl_err_set(why, PL_EUNSUPPORTED, "from %s to %s; only between f32 and bf16",
                      pl_type_name(from), pl_type_name(to));
}

typedef struct pointwise {
    pl_loops loops;
    pl_loops_row *row;
    float value;
} pointwise;

bool pl_pointwise_make(const pl_share *s, const pl_kernel_env *env, void **state,
                       int64_t *scratch_bytes, pl_err *err)
{
    const pl_node *n = s->node;
    pointwise e = { pl_loops_make(s, pl_walk_mask(n, n->n_in), n->n_in), find_row(n), 0 };
    (void)env;
    if (n->op == &pl_op_scale) e.value = (float)pl_node_real(n, "value", 0);
    if (n->op == &pl_op_leaky_relu || n->op == &pl_op_leaky_relu_grad)
        e.value = (float)pl_node_real(n, "alpha", 0);
    *scratch_bytes = 0;
    return pl_kernels_keep(&e, sizeof e, state, err);
}

void pl_pointwise_run(const pl_share *s, const pl_kernel_env *env, void *state,
                      const void *const in[], void *const out[], void *scratch)
{
    const pointwise *e = state;
    int n_in = s->node->n_in;
    const int64_t *step = e->loops.step[e->loops.n - 1];
    job j = { { in[0], in[n_in - 1] }, out[0], { step[0], step[n_in - 1] }, e->value };
    (void)scratch;
    pl_loops_run(&e->loops, n_in + 1, env->n_threads, e->row, &j);
}
