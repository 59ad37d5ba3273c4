/* sgd, adagrad, adam, adamw, adabelief, lamb: one pass over the weights, in place; memory is what
 * they wait for. */
#include "backends/native/kernels.h"

#include "ops/lib/adam.h"

#include <math.h>
#include <string.h>

typedef uint32_t __attribute__((may_alias)) word;

typedef struct optimizer {
    pl_loops loops; /* one loop over all elements */
    bool bf16;      /* the gradient's type */
    bool decoupled, nesterov;
    double beta1, beta2;
    float eps, decay, momentum;
} optimizer;

/* Weights, gradient and moments laid out alike: one loop over all elements. */
bool pl_optimizer_accepts(const pl_share *s, const pl_kernel_env *env, pl_err *why)
{
    const pl_node *n = s->node;
    int first[PL_MAX_FACTORS], other[PL_MAX_FACTORS];
    int count = pl_kernels_order(&n->sig->operand[0], first);
    (void)env;
    for (int o = 1; o < n->n_in + n->n_out; o++) {
        const pl_operand *p = &n->sig->operand[o];
        if (o < n->n_in && !n->in[o]->shape.rank) continue; /* scalars */
        if (count < 0 || pl_kernels_order(p, other) != count ||
            memcmp(first, other, (size_t)count * sizeof *first))
            return pl_err_set(why, PL_EUNSUPPORTED, "operand %d is not laid out as the weights", o);
    }
    return true;
}

bool pl_optimizer_make(const pl_share *s, const pl_kernel_env *env, void **state,
                       int64_t *scratch_bytes, pl_err *err)
{
    const pl_node *n = s->node;
    const int64_t step[1] = { 1 };
    optimizer a = { .bf16 = n->in[1]->type == PL_BF16, .decoupled = n->op != &pl_op_adam };
    (void)env;
    pl_loops_add(&a.loops, pl_shape_count(&s->shape[0]), step, 1, 0);
    pl_loops_close(&a.loops, 1);
    if (n->op != &pl_op_lamb) a.decay = (float)pl_node_real(n, "decay", 0);
    if (n->op == &pl_op_sgd) {
        a.momentum = (float)pl_node_real(n, "momentum", 0);
        a.nesterov = pl_node_int(n, "nesterov", 0);
    } else if (n->op == &pl_op_adagrad) {
        a.eps = (float)pl_node_real(n, "eps", 0);
    } else if (n->op != &pl_op_lamb) {
        a.beta1 = pl_node_real(n, "beta1", 0);
        a.beta2 = pl_node_real(n, "beta2", 0);
        a.eps = (float)pl_node_real(n, "eps", 0);
    }
    *scratch_bytes = 0;
    return pl_kernels_keep(&a, sizeof a, state, err);
}

/* What the elements of one step share; formulas in ops/lib/adam.h, adagrad.h, ops/sgd.c and
 * ops/lamb_direction.c. */
typedef struct job {
    const optimizer *o;
    const void *g;
    const float *from; /* weights that stay as they are */
    float *w, *m, *v;
    float lr, scale, rate, by_root, beta1, beta2, rest1, rest2;
} job;

/* A piece of the gradient as f32: straight from memory unless it is bf16. */
static const float *take_gradient(const job *j, int64_t at, int64_t n, float piece[])
{
    if (!j->o->bf16) return (const float *)j->g + at;
    const uint16_t *g = (const uint16_t *)j->g + at;
    word *bits = (word *)piece;
#pragma omp simd
    for (int64_t i = 0; i < n; i++) bits[i] = (uint32_t)g[i] << 16;
    return piece;
}

static void adam_row(const void *arg, int64_t n, const int64_t at[])
{
    const job *j = arg;
    float piece[PL_LOOPS_PIECE], *w = j->w + at[0], *m = j->m + at[0], *v = j->v + at[0];
    const float *g = take_gradient(j, at[0], n, piece);
    const float scale = j->scale, beta1 = j->beta1, beta2 = j->beta2, rest1 = j->rest1,
                rest2 = j->rest2, rate = j->rate, by_root = j->by_root, eps = j->o->eps,
                add = j->o->decoupled ? 0 : j->o->decay,
                keep = j->o->decoupled ? 1 - j->lr * j->o->decay : 1;
#pragma omp simd
    for (int64_t i = 0; i < n; i++) {
        float x = scale * g[i] + add * w[i];
        float m1 = beta1 * m[i] + rest1 * x, v1 = beta2 * v[i] + rest2 * x * x;
        w[i] = keep * w[i] - rate * m1 / (sqrtf(v1) * by_root + eps);
        m[i] = m1;
        v[i] = v1;
    }
}

/* Adam's, but for the second moment. */
static void adabelief_row(const void *arg, int64_t n, const int64_t at[])
{
    const job *j = arg;
    float piece[PL_LOOPS_PIECE], *w = j->w + at[0], *m = j->m + at[0], *v = j->v + at[0];
    const float *g = take_gradient(j, at[0], n, piece);
    const float scale = j->scale, beta1 = j->beta1, beta2 = j->beta2, rest1 = j->rest1,
                rest2 = j->rest2, rate = j->rate, by_root = j->by_root, eps = j->o->eps,
                keep = 1 - j->lr * j->o->decay;
#pragma omp simd
    for (int64_t i = 0; i < n; i++) {
        const float x = scale * g[i], m1 = beta1 * m[i] + rest1 * x, off = x - m1,
                    v1 = beta2 * v[i] + rest2 * off * off + eps;
        w[i] = keep * w[i] - rate * m1 / (sqrtf(v1) * by_root + eps);
        m[i] = m1;
        v[i] = v1;
    }
}

/* The direction, into w, of a step from `from`. */
static void lamb_direction_row(const void *arg, int64_t n, const int64_t at[])
{
    const job *j = arg;
    float piece[PL_LOOPS_PIECE], *u = j->w + at[0], *m = j->m + at[0], *v = j->v + at[0];
    const float *g = take_gradient(j, at[0], n, piece), *w = j->from + at[0];
    const float scale = j->scale, beta1 = j->beta1, beta2 = j->beta2, rest1 = j->rest1,
                rest2 = j->rest2, rate = j->rate, by_root = j->by_root, eps = j->o->eps,
                decay = j->o->decay;
#pragma omp simd
    for (int64_t i = 0; i < n; i++) {
        const float x = scale * g[i], m1 = beta1 * m[i] + rest1 * x,
                    v1 = beta2 * v[i] + rest2 * x * x;
        u[i] = rate * m1 / (sqrtf(v1) * by_root + eps) + decay * w[i];
        m[i] = m1;
        v[i] = v1;
    }
}

/* lr 1: a direction has none. */
static job adam_job(const optimizer *o, const void *const in[], void *const out[], float lr,
                    double step, float scale)
{
    return (job){ .o = o,
                  .g = in[1],
                  .from = in[0],
                  .w = out[0],
                  .m = out[1],
                  .v = out[2],
                  .lr = lr,
                  .scale = scale,
                  .rate = (float)((double)lr / (1 - pow(o->beta1, step))),
                  .by_root = (float)(1 / sqrt(1 - pow(o->beta2, step))),
                  .beta1 = (float)o->beta1,
                  .rest1 = (float)(1 - o->beta1),
                  .beta2 = (float)o->beta2,
                  .rest2 = (float)(1 - o->beta2) };
}

static void run_adam(const pl_share *s, const pl_kernel_env *env, const optimizer *o,
                     const void *const in[], void *const out[], pl_loops_row *row)
{
    const double step = pl_type_get(s->node->in[5]->type, in[5], 0);
    const job j = adam_job(o, in, out, *(const float *)in[4], step, *(const float *)in[6]);
    pl_loops_run(&o->loops, 1, env->n_threads, row, &j);
}

void pl_optimizer_adam_run(const pl_share *s, const pl_kernel_env *env, void *state,
                           const void *const in[], void *const out[], void *scratch)
{
    (void)scratch;
    run_adam(s, env, state, in, out, adam_row);
}

void pl_optimizer_adabelief_run(const pl_share *s, const pl_kernel_env *env, void *state,
                                const void *const in[], void *const out[], void *scratch)
{
    (void)scratch;
    run_adam(s, env, state, in, out, adabelief_row);
}

void pl_optimizer_lamb_direction_run(const pl_share *s, const pl_kernel_env *env, void *state,
                                     const void *const in[], void *const out[], void *scratch)
{
    const optimizer *o = state;
    const double step = pl_type_get(s->node->in[4]->type, in[4], 0);
    const job j = adam_job(o, in, out, 1, step, *(const float *)in[5]);
    (void)scratch;
    pl_loops_run(&o->loops, 1, env->n_threads, lamb_direction_row, &j);
}

static void lamb_row(const void *arg, int64_t n, const int64_t at[])
{
    const job *j = arg;
    float *w = j->w + at[0], rate = j->rate;
    const float *u = j->from + at[0];
#pragma omp simd
    for (int64_t i = 0; i < n; i++) w[i] -= rate * u[i];
}

void pl_optimizer_lamb_run(const pl_share *s, const pl_kernel_env *env, void *state,
                           const void *const in[], void *const out[], void *scratch)
{
    const optimizer *o = state;
    const double lr = (double)*(const float *)in[4],
                 trust =
                     pl_lamb_trust((double)*(const float *)in[2], (double)*(const float *)in[3]);
    const job j = { .o = o, .from = in[1], .w = out[0], .rate = (float)(lr * trust) };
    (void)s, (void)scratch;
    pl_loops_run(&o->loops, 1, env->n_threads, lamb_row, &j);
}

static void sgd_row(const void *arg, int64_t n, const int64_t at[])
{
    const job *j = arg;
    float piece[PL_LOOPS_PIECE], *w = j->w + at[0], *u = j->m + at[0];
    const float *g = take_gradient(j, at[0], n, piece);
    const float scale = j->scale, decay = j->o->decay, momentum = j->o->momentum, lr = j->lr;
    const float a = j->o->nesterov ? 1 : 0, b = j->o->nesterov ? momentum : 1; /* a d + b u */
#pragma omp simd
    for (int64_t i = 0; i < n; i++) {
        float d = scale * g[i] + decay * w[i], u1 = momentum * u[i] + d;
        w[i] -= lr * (a * d + b * u1);
        u[i] = u1;
    }
}

static void adagrad_row(const void *arg, int64_t n, const int64_t at[])
{
    const job *j = arg;
    float piece[PL_LOOPS_PIECE], *w = j->w + at[0], *s = j->m + at[0];
    const float *g = take_gradient(j, at[0], n, piece);
    const float scale = j->scale, decay = j->o->decay, eps = j->o->eps, lr = j->lr;
#pragma omp simd
    for (int64_t i = 0; i < n; i++) {
        const float d = scale * g[i] + decay * w[i], sum = s[i] + d * d;
        w[i] -= sum > 0 ? lr * d / (sqrtf(sum) + eps) : 0;
        s[i] = sum;
    }
}

/* One moment, no step number. */
static void run_plain(const pl_kernel_env *env, const optimizer *o, const void *const in[],
                      void *const out[], pl_loops_row *row)
{
    const job j = { .o = o,
                    .g = in[1],
                    .w = out[0],
                    .m = out[1],
                    .lr = *(const float *)in[3],
                    .scale = *(const float *)in[4] };
    pl_loops_run(&o->loops, 1, env->n_threads, row, &j);
}

void pl_optimizer_sgd_run(const pl_share *s, const pl_kernel_env *env, void *state,
                          const void *const in[], void *const out[], void *scratch)
{
    (void)s, (void)scratch;
    run_plain(env, state, in, out, sgd_row);
}

void pl_optimizer_adagrad_run(const pl_share *s, const pl_kernel_env *env, void *state,
                              const void *const in[], void *const out[], void *scratch)
{
    (void)s, (void)scratch;
    run_plain(env, state, in, out, adagrad_row);
}
