/* run/kernel.h - what executes a compute step.
 *
 * A backend is a list of kernels by preference; the executor walks the backends it was given, in
 * order, and takes the first kernel that accepts a share. The last backend is `ref`, which accepts
 * everything. A refusal states its reason. */
#ifndef PL_RUN_KERNEL_H
#define PL_RUN_KERNEL_H
#include "graph/op.h"
#include "run/device.h"

struct pl_backend;

/* Where a kernel is made: one per rank, handed to every call. */
typedef struct pl_kernel_env {
    int n_threads;  /* OpenMP threads of this rank                                 */
    pl_type matmul; /* element type that matmuls of f32 may be computed in: PL_F32, or
                       PL_BF16 (inputs rounded, sums in f32)                       */
    int n_backends; /* all of this rank, by preference                             */
    const struct pl_backend *const *backends;
    pl_stream *stream; /* that runs are given to; kernels of the cpu do without    */
} pl_kernel_env;

typedef struct pl_kernel {
    const char *name; /* "sgemm", unique in its backend */
    const pl_op *op;  /* NULL: tried for every operator */
    /* Can it run this share? Returns false with the reason in why (any code). NULL: always. */
    bool (*accepts)(const pl_share *share, const pl_kernel_env *env, pl_err *why);
    /* Create, once, what the runs need (primitives). *scratch_bytes: working memory wanted at each
     * run, 64-byte aligned, not kept between runs. NULL: nothing to make. */
    bool (*make)(const pl_share *share, const pl_kernel_env *env, void **state,
                 int64_t *scratch_bytes, pl_err *err);
    /* Run on local, row-major arrays of the share's shapes, in the memory of the backend's device:
     * behind what env->stream was given before, at once or later. Called on the rank's own thread,
     * or, of a node that the host runs, on that of its lane, at once: the device's memory has to be
     * the host's, as that of all devices so far is. Allocates nothing, uses at most env->n_threads
     * threads. For operators with `inplace`,
     * in[k] == out[i]; for `elementwise` ones out[0] may be an input of its type with
     * pl_share_same_index. */
    void (*run)(const pl_share *share, const pl_kernel_env *env, void *state,
                const void *const in[], void *const out[], void *scratch);
    void (*free)(void *state); /* NULL when there is no make */
} pl_kernel;

typedef struct pl_backend {
    const char *name;        /* "onednn"                                        */
    const pl_device *device; /* whose memory its kernels work on                */
    int n;
    const pl_kernel *kernel; /* [n] by preference                               */
    const char *about;       /* one line for `pleat doctor`                     */
    /* Instead of a list: a kernel made for this share, in `arena`, of one that a backend before
     * this one has for another share; *backend is that one's. False with the reason in reasons. */
    bool (*find)(const pl_share *share, const pl_kernel_env *env, pl_arena *arena,
                 const struct pl_backend **backend, const pl_kernel **kernel, pl_text *reasons);
} pl_backend;

/* The first kernel of env->backends that accepts the share. `reasons` collects one line per refusal
 * ("onednn/sgemm: k is split over two strides"); NULL when nobody reads them. The kernel lasts as
 * long as `arena`. Fails with PL_EUNSUPPORTED when all refuse. */
PL_MUST_CHECK bool pl_kernel_find(const pl_share *share, const pl_kernel_env *env, pl_arena *arena,
                                  const pl_backend **backend, const pl_kernel **kernel,
                                  pl_text *reasons, pl_err *err);

/* Set up the calling thread for kernels: denormals flush to zero (a product of denormals costs 190
 * times a normal one) and OpenMP uses n_threads. Every rank thread calls it first. */
void pl_kernel_thread(int n_threads);

#endif
