/* The choice of a kernel (pl_kernel_find), and what a rank's thread computes with
 * (pl_kernel_thread): its number of threads, denormals flushed to zero. */
#include "run/kernel.h"

#include <omp.h>
#if defined(__SSE__)
#include <xmmintrin.h>
#endif

bool pl_kernel_find(const pl_share *share, const pl_kernel_env *env, pl_arena *arena,
                    const pl_backend **backend, const pl_kernel **kernel, pl_text *reasons,
                    pl_err *err)
{
    for (int i = 0; i < env->n_backends; i++) {
        const pl_backend *b = env->backends[i];
        if (b->find && b->find(share, env, arena, backend, kernel, reasons)) return true;
        for (int k = 0; k < b->n; k++) {
            const pl_kernel *x = &b->kernel[k];
            pl_err why = { 0 };
            if (x->op && x->op != share->node->op) continue;
            if (!x->accepts || x->accepts(share, env, &why)) {
                *backend = b;
                *kernel = x;
                return true;
            }
            if (reasons) pl_text_add(reasons, "%s/%s: %s\n", b->name, x->name, why.msg);
        }
    }
    return pl_err_set(err, PL_EUNSUPPORTED, "node '%s': no backend has a kernel for %s",
                      share->node->name, share->node->op->name);
}

static void flush_denormals(void)
{
#if defined(__SSE__)
    _mm_setcsr(_mm_getcsr() | 0x8040); /* FTZ | DAZ, Intel SDM vol. 1, 10.2.3 */
#elif defined(__aarch64__)
    uint64_t fpcr;
    __asm__ volatile("mrs %0, fpcr" : "=r"(fpcr));
    __asm__ volatile("msr fpcr, %0" : : "r"(fpcr | 1u << 24)); /* FZ, Arm ARM C5.2.8 */
#endif
}

void pl_kernel_thread(int n_threads)
{
    omp_set_num_threads(n_threads); /* per thread: in-process ranks do not share it */
    flush_denormals();
    if (n_threads > 1) {
#pragma omp parallel
        flush_denormals();
    }
}
