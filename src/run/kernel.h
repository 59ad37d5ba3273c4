/* run/kernel.h - what executes a compute step.
 *
 * A backend is a list of kernels by preference; the executor walks the backends it was given, in
 * order, and takes the first kernel that accepts a share. The last backend is `ref`, which accepts
 * everything. A refusal states its reason. */
#ifndef PL_RUN_KERNEL_H
#define PL_RUN_KERNEL_H
#include "graph/op.h"

struct pl_backend;

/* Where a kernel is made: one per rank, handed to every call. */
typedef struct pl_kernel_env {
    int n_threads;  /* OpenMP threads of this rank                                 */
    pl_type matmul; /* element type that matmuls of f32 may be computed in: PL_F32, or
                       PL_BF16 (inputs rounded, sums in f32)                       */
    int n_backends; /* all of this rank, by preference, for kernels that run others */
    const struct pl_backend *const *backends;
} pl_kernel_env;

typedef struct pl_kernel {
    const char *name; /* "sgemm", unique in its backend */
    const pl_op *op;  /* NULL: tried for every operator */
    /* Can it run this share? Returns false with the reason in why (any code). NULL: always. */
    bool (*accepts)(const pl_share *s, const pl_kernel_env *env, pl_err *why);
    /* Create, once, what the runs need (primitives). *scratch_bytes: working memory wanted at each
     * run, 64-byte aligned, not kept between runs. NULL: nothing to make. */
    bool (*make)(const pl_share *s, const pl_kernel_env *env, void **state, int64_t *scratch_bytes,
                 pl_err *err);
    /* Run on local, row-major arrays of the share's shapes. Runs on the rank's own thread,
     * allocates nothing, uses at most env->n_threads threads. For operators with `inplace`,
     * in[k] == out[i]; for `elementwise` ones out[0] may be an input of its type with
     * pl_share_same_index. */
    void (*run)(const pl_share *s, const pl_kernel_env *env, void *state, const void *const in[],
                void *const out[], void *scratch);
    void (*free)(void *state); /* NULL when there is no make */
} pl_kernel;

typedef struct pl_backend {
    const char *name;        /* "onednn"                                        */
    int n;
    const pl_kernel *kernel; /* [n] by preference                               */
    const char *about;       /* one line for `pleat doctor`                     */
    bool dry;                /* touches no memory: more than the machine has is fine */
} pl_backend;

/* The first kernel of backends[0..n) that accepts the share. `reasons` collects one line per
 * refusal ("onednn/sgemm: k is split over two strides"); NULL when nobody reads them. Fails with
 * PL_EUNSUPPORTED when all refuse. */
PL_MUST_CHECK bool pl_kernel_find(int n, const pl_backend *const backends[], const pl_share *s,
                                  const pl_kernel_env *env, const pl_backend **backend,
                                  const pl_kernel **kernel, pl_text *reasons, pl_err *err);

/* Set up the calling thread for kernels: denormals flush to zero (a product of denormals costs 190
 * times a normal one) and OpenMP uses n_threads. Every rank thread calls it first. */
void pl_kernel_thread(int n_threads);

#endif
