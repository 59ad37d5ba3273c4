/* test/models/written.h - parts of transformers written out in doubles, for one row of tokens at a
 * time, and the model they are compared with, which has random numbers in every weight. Rows are
 * [positions][width]; what they return lives as long as the test's arena. */
#ifndef PL_TEST_WRITTEN_H
#define PL_TEST_WRITTEN_H
#include "built.h"
#include "support/arena.h"

/* -- running a model --------------------------------------------------------------------------- */

/* Weights in [-0.7, 0.7), tokens by lot. */
static inline eval run_model(const char *spec)
{
    eval e = eval_new(build(spec, PL_INFER, NULL, arena));
    for (int i = 0; i < e.graph->values.n; i++) {
        const pl_value *v = e.graph->values.at[i];
        double low = v->role == PL_STATE ? -0.7 : 0, high = v->role == PL_STATE ? 0.7 : 9;
        if (!v->maker)
            eval_random(v->type, &v->shape, e.at[i], pl_rng_at(5, (uint64_t)i), low, high);
    }
    eval_run(&e, e.graph->nodes.n);
    return e;
}

static inline const int32_t *tokens_of(const eval *e)
{
    return (const int32_t *)e->at[pl_graph_find(e->graph, "tokens")->id];
}

static inline const float *weight_of(const eval *e, const char *block, const char *name)
{
    return state_of(e, pl_arena_fmt(arena, "%s%s.weight", block, name));
}

/* -- written out: a row is [positions][width] -------------------------------------------------- */

static inline double *zeros(int n)
{
    return PL_NEW_N(arena, double, n);
}

/* y = x w^T with w [out, in]. */
static inline double *apply(const float *w, int n, int in, int out, const double *x)
{
    double *y = zeros(n * out);
    for (int s = 0; s < n; s++)
        for (int o = 0; o < out; o++)
            for (int i = 0; i < in; i++) y[s * out + o] += (double)w[o * in + i] * x[s * in + i];
    return y;
}

static inline void add_to(double *x, const double *y, int n)
{
    for (int i = 0; i < n; i++) x[i] += y[i];
}

static inline double *look_up(const float *table, int n, int width, const int32_t *tokens)
{
    double *x = zeros(n * width);
    for (int i = 0; i < n * width; i++) x[i] = (double)table[tokens[i / width] * width + i % width];
    return x;
}

typedef struct heads {
    int n, n_queries_each, width; /* heads of the queries; of them, those of one key; numbers */
    double scale;
    bool causal;
    const double *bias; /* [heads][queries][keys], or NULL                              */
    int window;         /* the last so many positions, a query's own included; 0: all of them */
    double cap;         /* scores are cap tanh(score / cap); 0: as they are                   */
} heads;

/* q [nq][heads][width], k and v [nk][heads / n_queries_each][width] */
static inline double *attend(const heads *a, int nq, int nk, const double *q, const double *k,
                      const double *v)
{
    int d = a->width, kv = a->n / a->n_queries_each;
    double *y = zeros(nq * a->n * d), *p = zeros(nk);
    for (int h = 0; h < a->n; h++)
        for (int i = 0; i < nq; i++) {
            int g = h / a->n_queries_each, live = a->causal ? i + 1 : nk;
            int first = a->window && live > a->window ? live - a->window : 0;
            double sum = 0;
            for (int j = first; j < live; j++) {
                double dot = 0;
                for (int c = 0; c < d; c++)
                    dot += q[(i * a->n + h) * d + c] * k[(j * kv + g) * d + c];
                if (a->bias) dot += a->bias[(h * nq + i) * nk + j];
                dot *= a->scale;
                sum += p[j] = exp(a->cap > 0 ? a->cap * tanh(dot / a->cap) : dot);
            }
            for (int j = first; j < live; j++)
                for (int c = 0; c < d; c++)
                    y[(i * a->n + h) * d + c] += p[j] / sum * v[(j * kv + g) * d + c];
        }
    return y;
}

static inline void compare(const eval *e, int row, int n, const double *want)
{
    const float *logits = state_of(e, "logits");
    for (int i = 0; i < n; i++) {
        double found = (double)logits[row * n + i];
        if (!(fabs(found - want[i]) <= 2e-5 * fmax(1, fabs(want[i]))))
            fail_msg("%s: row %d, logit %d is %.9g, written out %.9g", e->graph->name, row, i,
                     found, want[i]);
    }
}

#endif
