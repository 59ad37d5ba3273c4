/* Layers of experts in decoders: a router gives each token to k of them, each a gated feed-forward
 * layer (Mixtral); beside them there may be one that all tokens pass (DeepSeek), weighed by a
 * sigmoid (Qwen2).
 *
 * A layer's experts are one weight, [experts, out, in], where checkpoints have one for each expert:
 * pl_add_parts says their names. In the published models an expert multiplies all tokens that chose
 * it (capacity=0); with room for `capacity` times the mean, what comes later passes by on the
 * residual.
 * Source: Jiang et al., "Mixtral of experts", 2024; Yang et al., Qwen2, 2024, and Qwen3, 2025;
 * DeepSeek-V2, 2024, and V3, 2024. Their losses that balance the experts' loads are left out. */
#include "models/experts.h"
#include "models/act.h"
#include "ops/list.h"

#include <stdlib.h>
#include <string.h>

struct pl_experts_names {
    const char *name, *scope, *gate, *up, *down;
    const char *shared, *shared_gate; /* what all tokens pass, and its sigmoid */
};

static const struct pl_experts_names names[] = {
    { "mixtral", "block_sparse_moe.", "w1", "w3", "w2", NULL, NULL },
    { "qwen", "mlp.", "gate_proj", "up_proj", "down_proj", "shared_expert", "shared_expert_gate" },
    { "deepseek", "mlp.", "gate_proj", "up_proj", "down_proj", "shared_experts", NULL },
};

static const char bias_name[] = "gate.e_score_correction_bias";

/* -- which layers ------------------------------------------------------------------------------ */

/* "0+3" has 3. */
static bool is_listed(const char *list, int64_t layer)
{
    for (const char *at = list; *at >= '0' && *at <= '9'; at += *at == '+') {
        char *end;
        if (strtoll(at, &end, 10) == layer) return true;
        at = end;
    }
    return false;
}

static bool is_list(const char *text)
{
    size_t n = strspn(text, "0123456789+");
    return !strcmp(text, "none") ||
           (n && !text[n] && *text != '+' && text[n - 1] != '+' && !strstr(text, "++"));
}

bool pl_experts_at(const pl_experts *e, int64_t layer)
{
    return e->routed.b && (layer + 1) % e->every == 0 && !is_listed(e->plain, layer);
}

pl_experts pl_experts_new(pl_builder *b, const pl_model_args *args)
{
    const int64_t n = pl_model_int(args, "experts"), width = pl_model_int(args, "expert");
    pl_experts e = { .l = pl_layers_new(b, args),
                     .hidden = pl_model_int(args, "hidden"),
                     .ffn = width ? width : pl_model_int(args, "ffn"),
                     .every = pl_model_int(args, "every"),
                     .plain = pl_model_word(args, "plain"),
                     .act = pl_model_word(args, "act") };
    if (!n) return e;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (!strcmp(names[i].name, pl_model_word(args, "names"))) e.names = &names[i];
    if (!is_list(e.plain))
        pl_err_set(&b->err, PL_EINPUT, "%s: plain=%s lists no layers: write e.g. 0+3, or none",
                   args->spec, e.plain);
    e.routed = pl_routed_new(b, args->spec, n, pl_model_int(args, "k"), pl_model_int(args, "seq"),
                             pl_model_real(args, "capacity"));
    e.routed.even = pl_model_int(args, "even");
    return e;
}

/* -- layers ------------------------------------------------------------------------------------ */

/* The same layer of every expert, weights [e, out, in]. */
static pl_value *expert_linear(const pl_experts *e, const pl_routed *r, const char *what,
                               int64_t rows, int64_t columns, pl_value *x)
{
    pl_builder *b = e->l.b;
    const char *name = pl_builder_fmt(b, "experts.%s", what);
    pl_value *w = pl_layers_weight(&e->l, pl_builder_fmt(b, "%s.weight", name),
                                   PL_SHAPE(r->experts, rows, columns), NULL);
    if (w && w->parts) return pl_routed_linear(r, name, "eoi", w, x); /* blocks share it */
    w = pl_add_parts(b, w, pl_builder_fmt(b, "experts.{}.%s.weight", what));
    return pl_routed_linear(r, name, "eoi", w, x);
}

static pl_value *add_routed(const pl_experts *e, pl_value *x)
{
    pl_routed r = e->routed;
    pl_builder *b = r.b;
    pl_value *bias = NULL, *y = pl_layers_linear(&e->l, "gate", "gth,eh->gte",
                                                 PL_SHAPE(r.experts, e->hidden), NULL, x);
    if (e->biased) /* training moves it by the experts' loads, no gradient does */
        bias = pl_add_state(b, bias_name, PL_F32, PL_SHAPE(r.experts), "zeros", PL_BUFFER);
    y = pl_routed_send(&r, y, bias, x);
    pl_value *gate = expert_linear(e, &r, e->names->gate, e->ffn, e->hidden, y);
    pl_value *up = expert_linear(e, &r, e->names->up, e->ffn, e->hidden, y);
    gate = pl_act_add(b, e->act, "experts", gate);
    y = PL_ADD_AS(b, &pl_op_mul, "experts.gated", NULL, gate, up);
    y = expert_linear(e, &r, e->names->down, e->hidden, e->ffn, y);
    return pl_routed_return(&r, y);
}

static pl_value *add_shared(const pl_experts *e, pl_value *x)
{
    pl_builder *b = e->routed.b;
    pl_value *y = pl_layers_gated(&e->l, e->names->shared, e->act, e->shared, false, x);
    if (!e->gated) return y;
    pl_value *gate = pl_layers_linear(&e->l, e->names->shared_gate, "bsm,om->bs",
                                      PL_SHAPE(1, e->hidden), NULL, x);
    gate = PL_ADD_AS(b, &pl_op_sigmoid, "shared_expert_sigmoid", NULL, gate);
    return PL_ADD_AS(b, &pl_op_mul, "shared_expert_gated", "bsm,bs->bsm", y, gate);
}

pl_value *pl_experts_add(const pl_experts *e, pl_value *x)
{
    pl_builder *b = e->routed.b;
    const char *scope = b->scope;
    b->scope = pl_builder_fmt(b, "%s%s", scope, e->names->scope);
    pl_value *y = add_routed(e, x);
    if (e->shared) y = PL_ADD(b, &pl_op_add, NULL, y, add_shared(e, x));
    b->scope = scope;
    return y;
}
