#include "backends/ref/ref.h"

#include "backends/host/host.h"

static void run(const pl_share *s, const pl_kernel_env *env, void *state, const void *const in[],
                void *const out[], void *scratch)
{
    (void)env, (void)state, (void)scratch;
    s->node->op->ref(s, in, out);
}

static const pl_kernel kernels[] = { { .name = "ref", .run = run } };

const pl_backend pl_backend_ref = { .name = "ref",
                                    .device = &pl_device_cpu,
                                    .n = 1,
                                    .kernel = kernels,
                                    .about = "portable C, one thread, any type" };
