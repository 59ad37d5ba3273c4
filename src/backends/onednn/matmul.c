/* The inputs are rounded to bf16 in one linear pass each: a reorder, at the speed of memory.
 * Packing the right one as well costs about what it gains, at 512 as at 2048 rows of the left. */
#include "backends/onednn/matmul.h"
#include "backends/onednn/gemm.h"
#include "backends/onednn/prim.h"

#include <stdlib.h>

/* What one thread multiplies with: the first product of an output, and those added to it. */
typedef struct lane {
    pl_prim first, more;
} lane;

typedef struct matmul {
    pl_gemm g;
    pl_type in_type; /* of the tensors                                         */
    bool sum_apart;  /* bf16 output of several products: summed in f32 scratch */
    dnnl_engine_t engine;
    pl_prim round[2];      /* left and right to bf16, when they are f32 */
    pl_prim round_out;     /* f32 scratch to bf16, when sum_apart       */
    int64_t at[2], out_at; /* in scratch: rounded inputs, f32 sums      */
    int n_lanes;
    lane *lane;
} matmul;

static bool describe_product(const pl_gemm *g, pl_type out, pl_prim_part part[3],
                             dnnl_matmul_desc_t *desc, pl_err *err)
{
    const struct {
        int arg;
        int64_t rows, cols, ld;
        bool transposed;
    } x[3] = { { DNNL_ARG_SRC, g->m, g->k, g->left_ld, g->left_t },
               { DNNL_ARG_WEIGHTS, g->k, g->n, g->right_ld, g->right_t },
               { DNNL_ARG_DST, g->m, g->n, g->out_ld, false } };
    for (int i = 0; i < 3; i++) {
        int64_t dim[2] = { x[i].rows, x[i].cols };
        int64_t step[2] = { x[i].transposed ? 1 : x[i].ld, x[i].transposed ? x[i].ld : 1 };
        part[i] = (pl_prim_part){ .arg = x[i].arg, .is_output = i == 2 };
        PL_TRY(pl_prim_layout(2, dim, step, i == 2 ? out : PL_BF16, &part[i].plain, err));
    }
    return pl_prim_check(
        dnnl_matmul_desc_init(desc, &part[0].plain, &part[1].plain, NULL, &part[2].plain), "matmul",
        err);
}

/* The first product of an output, or (`add`) one that is added to what is there. */
static bool make_product(const matmul *x, dnnl_engine_t engine, pl_type out, bool add,
                         int n_threads, pl_prim *p, int64_t *bytes, pl_err *err)
{
    pl_prim_part part[3];
    dnnl_matmul_desc_t desc;
    dnnl_primitive_desc_t pd = NULL;
    PL_TRY(describe_product(&x->g, out, part, &desc, err));
    PL_TRY(pl_prim_describe(engine, &desc, NULL, add, n_threads, &pd, err));
    return pl_prim_make(p, engine, pd, 3, part, n_threads, bytes, err);
}

static bool check_product(const pl_gemm *g, pl_type out, pl_err *why)
{
    pl_prim_part part[3];
    dnnl_matmul_desc_t desc;
    dnnl_engine_t engine = NULL;
    dnnl_primitive_desc_t pd = NULL;
    PL_TRY(describe_product(g, out, part, &desc, why));
    bool ok = pl_prim_check(dnnl_engine_create(&engine, dnnl_cpu, 0), "engine", why) &&
              pl_prim_describe(engine, &desc, NULL, false, 1, &pd, why);
    if (pd) dnnl_primitive_desc_destroy(pd);
    if (engine) dnnl_engine_destroy(engine);
    return ok;
}

/* Attention over 128 positions, 128 flops for each element of its inputs, takes as long with
 * rounding as without; the layers of GPT-2, at 800 and more, a third of it (AMX, one thread). */
enum { MIN_FLOPS_PER_INPUT = 160 };

static double flops_per_input(const pl_share *s, const pl_gemm *g)
{
    double products = (double)g->products * (double)pl_gemm_sums(g);
    return 2 * products * (double)g->m * (double)g->n * (double)g->k /
           (double)(pl_shape_count(&s->shape[0]) + pl_shape_count(&s->shape[1]));
}

bool pl_matmul_accepts(const pl_share *s, const pl_kernel_env *env, pl_err *why)
{
    pl_gemm g = { 0 };
    pl_type t = s->node->out[0]->type;
    if (t != PL_F32 && t != PL_BF16)
        return pl_err_set(why, PL_EUNSUPPORTED, "multiplies bf16 and f32, not %s", pl_type_name(t));
    if (t == PL_F32 && env->matmul != PL_BF16)
        return pl_err_set(why, PL_EUNSUPPORTED, "this run multiplies f32 as f32");
    PL_TRY(pl_gemm_plan(s, &g, why));
    double per_element = flops_per_input(s, &g);
    if (t == PL_F32 && per_element < MIN_FLOPS_PER_INPUT)
        return pl_err_set(why, PL_EUNSUPPORTED,
                          "%.0f flops per element of the inputs: rounding them costs what it saves",
                          per_element);
    return check_product(&g, t, why);
}

static int64_t reserve(int64_t *total, int64_t bytes)
{
    int64_t at = *total;
    *total += (bytes + 63) / 64 * 64;
    return at;
}

/* A linear copy of `count` elements into another type. */
static bool make_round(matmul *x, pl_type from, pl_type to, int64_t count, int n_threads,
                       pl_prim *p, int64_t *bytes, pl_err *err)
{
    dnnl_memory_desc_t a, b;
    int64_t one = 1;
    PL_TRY(pl_prim_layout(1, &count, &one, from, &a, err));
    PL_TRY(pl_prim_layout(1, &count, &one, to, &b, err));
    int64_t before = *bytes;
    PL_TRY(pl_prim_make_copy(p, x->engine, &a, &b, n_threads, bytes, err));
    PL_ASSERT_CMP(before, ==, *bytes); /* linear copies want no scratch */
    return true;
}

static bool make_all(matmul *x, const pl_share *s, const pl_kernel_env *env, int64_t *bytes,
                     pl_err *err)
{
    int n = env->n_threads;
    int64_t out_count = pl_shape_count(pl_share_out(s, 0));
    pl_type out = x->in_type == PL_F32 || x->sum_apart ? PL_F32 : PL_BF16;
    PL_TRY(pl_prim_check(dnnl_engine_create(&x->engine, dnnl_cpu, 0), "engine", err));
    for (int i = 0; i < 2 && x->in_type == PL_F32; i++) {
        int64_t count = pl_shape_count(&s->shape[x->g.swap ? !i : i]);
        x->at[i] = reserve(bytes, 2 * count);
        PL_TRY(make_round(x, PL_F32, PL_BF16, count, n, &x->round[i], bytes, err));
    }
    if (x->sum_apart) {
        x->out_at = reserve(bytes, 4 * out_count);
        PL_TRY(make_round(x, PL_F32, PL_BF16, out_count, n, &x->round_out, bytes, err));
    }
    for (int i = 0; i < x->n_lanes; i++) {
        int each = x->n_lanes > 1 ? 1 : n;
        PL_TRY(make_product(x, x->engine, out, false, each, &x->lane[i].first, bytes, err));
        if (pl_gemm_sums(&x->g) > 1)
            PL_TRY(make_product(x, x->engine, out, true, each, &x->lane[i].more, bytes, err));
    }
    return true;
}

bool pl_matmul_make(const pl_share *s, const pl_kernel_env *env, void **state,
                    int64_t *scratch_bytes, pl_err *err)
{
    pl_gemm g = { 0 };
    PL_TRY(pl_gemm_plan(s, &g, err));
    matmul *x = calloc(1, sizeof *x);
    if (!x) pl_bug(__FILE__, __LINE__, "no memory for %zu bytes", sizeof *x);
    x->g = g;
    x->in_type = s->node->out[0]->type;
    x->sum_apart = x->in_type == PL_BF16 && pl_gemm_sums(&g) > 1;
    x->n_lanes = pl_gemm_parallel(&g, env->n_threads) ? env->n_threads : 1;
    x->lane = calloc((size_t)x->n_lanes, sizeof *x->lane);
    if (!x->lane) pl_bug(__FILE__, __LINE__, "no memory for %d lanes", x->n_lanes);
    *scratch_bytes = 0;
    if (!make_all(x, s, env, scratch_bytes, err)) {
        pl_matmul_free(x);
        return false;
    }
    *state = x;
    return true;
}

void pl_matmul_free(void *state)
{
    matmul *x = state;
    for (int i = 0; i < x->n_lanes; i++) {
        pl_prim_free(&x->lane[i].first);
        pl_prim_free(&x->lane[i].more);
    }
    for (int i = 0; i < 2; i++) pl_prim_free(&x->round[i]);
    pl_prim_free(&x->round_out);
    if (x->engine) dnnl_engine_destroy(x->engine);
    free(x->lane);
    free(x);
}

/* Product i of the nest; left, right: bf16, out: f32 or bf16. */
static void multiply(const matmul *x, lane *l, int64_t i, char *left, char *right, char *out,
                     int64_t out_bytes, void *scratch)
{
    pl_gemm_at o = pl_gemm_origin(&x->g, i);
    for (int64_t j = 0, n = pl_gemm_sums(&x->g); j < n; j++) {
        pl_gemm_at at = pl_gemm_sum_origin(&x->g, o, j);
        pl_prim_run(
            j ? &l->more : &l->first,
            (void *[]){ left + 2 * at.left, right + 2 * at.right, out + out_bytes * at.out },
            scratch);
    }
}

void pl_matmul_run(const pl_share *s, const pl_kernel_env *env, void *state, const void *const in[],
                   void *const out[], void *scratch)
{
    matmul *x = state;
    char *room = scratch, *y = x->sum_apart ? room + x->out_at : out[0], *input[2];
    int64_t out_bytes = x->in_type == PL_F32 || x->sum_apart ? 4 : 2;
    (void)s, (void)env;
    for (int i = 0; i < 2; i++) {
        input[i] = (char *)(uintptr_t)in[x->g.swap ? !i : i];
        if (x->in_type != PL_F32) continue;
        pl_prim_run(&x->round[i], (void *[]){ input[i], room + x->at[i] }, scratch);
        input[i] = room + x->at[i];
    }
    if (x->n_lanes == 1) {
        for (int64_t i = 0; i < x->g.products; i++)
            multiply(x, &x->lane[0], i, input[0], input[1], y, out_bytes, scratch);
    } else {
#pragma omp parallel for schedule(static, 1) num_threads(x->n_lanes)
        for (int l = 0; l < x->n_lanes; l++)
            for (int64_t i = l; i < x->g.products; i += x->n_lanes)
                multiply(x, &x->lane[l], i, input[0], input[1], y, out_bytes, scratch);
    }
    if (x->sum_apart) pl_prim_run(&x->round_out, (void *[]){ y, out[0] }, scratch);
}
