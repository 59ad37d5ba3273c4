#include "backends/onednn/reorder.h"
#include "backends/onednn/prim.h"

#include <stdlib.h>

typedef struct reorder {
    dnnl_engine_t engine;
    pl_prim copy;
} reorder;

/* Both sides as layouts over the letters of the share, in signature order. */
static bool describe(const pl_share *s, dnnl_memory_desc_t *from, dnnl_memory_desc_t *to,
                     pl_err *err)
{
    const pl_sig *sig = s->node->sig;
    pl_type t = s->node->out[0]->type;
    int64_t size[PL_MAX_FACTORS] = { 0 }, in[PL_MAX_FACTORS], out[PL_MAX_FACTORS];
    int n = 0;
    if (s->node->n_in != 1)
        return pl_err_set(err, PL_EUNSUPPORTED, "takes 1 input, the node has %d", s->node->n_in);
    if (t != PL_F32 && t != PL_BF16)
        return pl_err_set(err, PL_EUNSUPPORTED, "moves f32 and bf16, not %s", pl_type_name(t));
    for (int f = 0; f < sig->n_factors; f++) size[f] = s->factor[f].n;
    pl_sig_strides(sig, &sig->operand[0], &s->shape[0], size, in);
    pl_sig_strides(sig, &sig->operand[1], pl_share_out(s, 0), size, out);
    for (int f = 0; f < sig->n_factors; f++) {
        if (size[f] < 1)
            return pl_err_set(err, PL_EUNSUPPORTED, "the share is empty: '%c' has size 0",
                              sig->factor[f].letter);
        if (size[f] == 1) continue;
        if (!in[f] || !out[f])
            return pl_err_set(err, PL_EUNSUPPORTED, "'%c' is summed or repeated, not moved",
                              sig->factor[f].letter);
        size[n] = size[f], in[n] = in[f], out[n] = out[f], n++;
    }
    if (n > PL_PRIM_DIMS)
        return pl_err_set(err, PL_EUNSUPPORTED, "%d letters; a layout of oneDNN has at most %d", n,
                          PL_PRIM_DIMS);
    if (n == 0) size[0] = in[0] = out[0] = 1, n = 1;
    PL_TRY(pl_prim_layout(n, size, in, t, from, err));
    return pl_prim_layout(n, size, out, t, to, err);
}

bool pl_reorder_accepts(const pl_share *s, const pl_kernel_env *env, pl_err *why)
{
    dnnl_memory_desc_t from, to;
    (void)env;
    return describe(s, &from, &to, why);
}

bool pl_reorder_make(const pl_share *s, const pl_kernel_env *env, void **state,
                     int64_t *scratch_bytes, pl_err *err)
{
    dnnl_memory_desc_t from, to;
    PL_TRY(describe(s, &from, &to, err));
    reorder *r = calloc(1, sizeof *r);
    if (!r) pl_bug(__FILE__, __LINE__, "no memory for %zu bytes", sizeof *r);
    *scratch_bytes = 0;
    if (!pl_prim_check(dnnl_engine_create(&r->engine, dnnl_cpu, 0), "engine", err) ||
        !pl_prim_make_copy(&r->copy, r->engine, &from, &to, env->n_threads, scratch_bytes, err)) {
        pl_reorder_free(r);
        return false;
    }
    *state = r;
    return true;
}

void pl_reorder_run(const pl_share *s, const pl_kernel_env *env, void *state,
                    const void *const in[], void *const out[], void *scratch)
{
    reorder *r = state;
    (void)s, (void)env;
    pl_prim_run(&r->copy, (void *[]){ (void *)(uintptr_t)in[0], out[0] }, scratch);
}

void pl_reorder_free(void *state)
{
    reorder *r = state;
    pl_prim_free(&r->copy);
    if (r->engine) dnnl_engine_destroy(r->engine);
    free(r);
}
