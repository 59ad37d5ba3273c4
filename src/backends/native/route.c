/* moe_dispatch, moe_combine and its gradient. */
#include "backends/native/kernels.h"
#include "graph/walk.h"

#include <string.h>

/* Of a share: which operands have a row for each token, for each slot, and a number for each
 * choice; -1: none has. */
typedef struct route {
    int tokens, slots, choices;
    int64_t n_tokens, k, width, n_experts;
} route;

/* Where choice k of a token has its rows and its weight; slot below 0: it was dropped. */
typedef struct place {
    int64_t token, slot, choice;
} place;

static bool describe(const pl_share *s, route *out, pl_err *why)
{
    const pl_node *n = s->node;
    const bool there = n->op == &pl_op_moe_dispatch;
    route r = { .tokens = there ? 0 : 3, .slots = there ? 2 : 0, .choices = there ? -1 : 2 };
    const uint32_t ids = pl_walk_mask(n, 1), row = pl_walk_mask(n, r.tokens) & ~ids;
    pl_walk w = pl_walk_new(s, ids);
    int h = -1;
    for (int f = 0; f < n->sig->n_factors; f++)
        if (row >> f & 1) h = h < 0 ? f : PL_MAX_FACTORS;
    if (h < 0 || h == PL_MAX_FACTORS || w.stride[r.tokens][h] != 1 || w.stride[r.slots][h] != 1)
        return pl_err_set(why, PL_EUNSUPPORTED, "rows of tokens or slots do not lie in one piece");
    r.k = s->factor[pl_sig_find(n->sig, 'k')].n;
    r.n_tokens = pl_walk_count(&w) / r.k, r.width = s->factor[h].n;
    r.n_experts = s->factor[pl_sig_find(n->sig, 'e')].n;
    *out = r;
    return true;
}

bool pl_route_accepts(const pl_share *s, const pl_kernel_env *env, pl_err *why)
{
    route r;
    for (int o = 0; o < s->node->n_in + s->node->n_out; o++)
        if (o != 1 && pl_node_value(s->node, o)->type != PL_F32)
            return pl_err_set(why, PL_EUNSUPPORTED, "moves f32, not %s",
                              pl_type_name(pl_node_value(s->node, o)->type));
    (void)env;
    return describe(s, &r, why);
}

bool pl_route_make(const pl_share *s, const pl_kernel_env *env, void **state,
                   int64_t *scratch_bytes, pl_err *err)
{
    route r;
    (void)env;
    PL_TRY(describe(s, &r, err));
    const int64_t bytes =
        r.n_tokens * r.k * (int64_t)sizeof(place) + r.n_experts * (int64_t)sizeof(int64_t);
    *scratch_bytes = (bytes + 63) / 64 * 64;
    return pl_kernels_keep(&r, sizeof r, state, err);
}

/* The choices of a group, which begins where `w` stands, in the order of ops/lib/route.h. */
static void list_group(const pl_share *s, const route *r, const void *ids, const pl_walk *w,
                       int64_t *used, place *out)
{
    const pl_node *n = s->node;
    const int t = pl_sig_find(n->sig, 't'), k = pl_sig_find(n->sig, 'k'),
              e = pl_sig_find(n->sig, 'e'), c = pl_sig_find(n->sig, 'c');
    memset(used, 0, (size_t)r->n_experts * sizeof *used);
    for (int64_t j = 0; j < r->k; j++)
        for (int64_t i = 0; i < s->factor[t].n; i++) {
            int64_t at[3];
            const int operand[3] = { r->tokens, 1, r->choices };
            for (int o = 0; o < 3; o++)
                at[o] = operand[o] < 0 ? 0
                                       : w->at[operand[o]] + i * w->stride[operand[o]][t] +
                                             j * w->stride[operand[o]][k];
            const int64_t expert = pl_kernels_row(n->in[1]->type, ids, at[1], s->factor[e]);
            place *p = &out[i * r->k + j];
            *p = (place){ at[0], -1, at[2] };
            if (expert < 0 || used[expert] == s->factor[c].n) continue;
            p->slot = w->at[r->slots] + expert * w->stride[r->slots][e] +
                      used[expert]++ * w->stride[r->slots][c];
        }
}

static const place *list(const pl_share *s, const route *r, const void *ids, void *scratch)
{
    place *all = scratch, *next = all;
    int64_t *used = (int64_t *)(all + r->n_tokens * r->k);
    pl_walk w = pl_walk_new(s, pl_walk_mask(s->node, 1) & ~pl_walk_letters(s->node, "tk"));
    do {
        list_group(s, r, ids, &w, used, next);
        next += s->factor[pl_sig_find(s->node->sig, 't')].n * r->k;
    } while (pl_walk_next(&w));
    return all;
}

static void zero(float *x, int64_t n, int n_threads)
{
#pragma omp parallel for num_threads(n_threads) if (n > PL_LOOPS_SERIAL)
    for (int64_t i = 0; i < n; i++) x[i] = 0;
}

void pl_route_dispatch_run(const pl_share *s, const pl_kernel_env *env, void *state,
                           const void *const in[], void *const out[], void *scratch)
{
    const route *r = state;
    const place *at = list(s, r, in[1], scratch);
    const float *x = in[0];
    float *y = out[0];
    const int64_t n = r->n_tokens * r->k;
    zero(y, pl_shape_count(pl_share_out(s, 0)), env->n_threads);
#pragma omp parallel for num_threads(env->n_threads) if (n * r->width > PL_LOOPS_SERIAL)
    for (int64_t i = 0; i < n; i++)
        if (at[i].slot >= 0) memcpy(y + at[i].slot, x + at[i].token, (size_t)r->width * sizeof *y);
}

void pl_route_combine_run(const pl_share *s, const pl_kernel_env *env, void *state,
                          const void *const in[], void *const out[], void *scratch)
{
    const route *r = state;
    const place *at = list(s, r, in[1], scratch);
    const float *x = in[0], *weight = in[2];
    float *y = out[0];
#pragma omp parallel for num_threads(env->n_threads) if (r->n_tokens * r->width > PL_LOOPS_SERIAL)
    for (int64_t i = 0; i < r->n_tokens; i++) {
        const place *choice = at + i * r->k;
        float *to = y + choice->token;
        memset(to, 0, (size_t)r->width * sizeof *to);
        for (int64_t j = 0; j < r->k; j++) {
            if (choice[j].slot < 0) continue;
            const float w = weight[choice[j].choice], *from = x + choice[j].slot;
#pragma omp simd
            for (int64_t c = 0; c < r->width; c++) to[c] += w * from[c];
        }
    }
}

void pl_route_combine_grad_run(const pl_share *s, const pl_kernel_env *env, void *state,
                               const void *const in[], void *const out[], void *scratch)
{
    const route *r = state;
    const place *at = list(s, r, in[1], scratch);
    const float *x = in[0], *weight = in[2], *dy = in[3];
    float *dx = out[0], *dw = out[1];
    const int64_t n = r->n_tokens * r->k;
    zero(dx, pl_shape_count(pl_share_out(s, 0)), env->n_threads);
#pragma omp parallel for num_threads(env->n_threads) if (n * r->width > PL_LOOPS_SERIAL)
    for (int64_t i = 0; i < n; i++) {
        const float w = weight[at[i].choice], *from = dy + at[i].token;
        float sum = 0;
        if (at[i].slot >= 0) {
            const float *row = x + at[i].slot;
            float *to = dx + at[i].slot;
#pragma omp simd reduction(+ : sum)
            for (int64_t c = 0; c < r->width; c++) {
                to[c] = w * from[c];
                sum += row[c] * from[c];
            }
        }
        dw[at[i].choice] = sum;
    }
}
