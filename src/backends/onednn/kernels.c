/* The kernels of this backend, one row each; for an operator the first that accepts is taken. */
#include "backends/host/host.h"
#include "backends/onednn/conv.h"
#include "backends/onednn/experts.h"
#include "backends/onednn/matmul.h"
#include "backends/onednn/onednn.h"
#include "backends/onednn/reorder.h"
#include "backends/onednn/sgemm.h"
#include "ops/list.h"

#include <oneapi/dnnl/dnnl.h>
#include <omp.h>
#include <stdio.h>

// clang-format off
static const pl_kernel kernels[] = {
    { "matmul_bf16",      &pl_op_einsum,             pl_matmul_accepts,  pl_matmul_make,
      pl_matmul_run,  pl_matmul_free },
    { "sgemm",            &pl_op_einsum,             pl_sgemm_accepts,   pl_sgemm_make,
      pl_sgemm_run,   pl_sgemm_free },
    { "einsum_reorder",   &pl_op_einsum,             pl_reorder_accepts, pl_reorder_make,
      pl_reorder_run, pl_reorder_free },
    { "transpose",        &pl_op_transpose,          pl_reorder_accepts, pl_reorder_make,
      pl_reorder_run, pl_reorder_free },
    { "conv",             &pl_op_conv2d,             pl_conv_accepts,    pl_conv_make,
      pl_conv_run,    pl_conv_free },
    { "conv_grad_data",   &pl_op_conv2d_grad_data,   pl_conv_accepts,    pl_conv_make,
      pl_conv_run,    pl_conv_free },
    { "conv_grad_weight", &pl_op_conv2d_grad_weight, pl_conv_accepts,    pl_conv_make,
      pl_conv_run,    pl_conv_free },
    { "experts",          &pl_op_moe_matmul,         pl_experts_accepts, pl_experts_make,
      pl_experts_run, pl_experts_free },
    { "experts_grad",     &pl_op_moe_matmul_grad,    pl_experts_accepts, pl_experts_make,
      pl_experts_grad_run, pl_experts_free },
};
// clang-format on

const pl_backend pl_backend_onednn = {
    .name = "onednn",
    .device = &pl_device_cpu,
    .n = (int)(sizeof kernels / sizeof *kernels),
    .kernel = kernels,
    .about = "matrix products and convolutions of f32 and bf16 by oneDNN",
};

static const char *isa_name(dnnl_cpu_isa_t isa)
{
    switch (isa) {
    case dnnl_cpu_isa_sse41: return "SSE4.1";
    case dnnl_cpu_isa_avx: return "AVX";
    case dnnl_cpu_isa_avx2: return "AVX2";
    case dnnl_cpu_isa_avx2_vnni: return "AVX2 VNNI";
    case dnnl_cpu_isa_avx512_core: return "AVX-512";
    case dnnl_cpu_isa_avx512_core_vnni: return "AVX-512 VNNI";
    case dnnl_cpu_isa_avx512_core_bf16: return "AVX-512 BF16";
    case dnnl_cpu_isa_avx512_core_amx: return "AVX-512 and AMX (bf16, int8)";
    default: return "baseline instructions";
    }
}

bool pl_onednn_isa(char *text, size_t n)
{
    const dnnl_version_t *v = dnnl_version();
    int threads = omp_get_max_threads();
    int wanted = snprintf(text, n, "oneDNN %d.%d.%d, %s, %d thread%s", v->major, v->minor, v->patch,
                          isa_name(dnnl_get_effective_cpu_isa()), threads, threads == 1 ? "" : "s");
    return wanted >= 0 && (size_t)wanted < n;
}
