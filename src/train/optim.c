#include "train/optim.h"

#include "graph/autodiff.h"
#include "graph/op.h"
#include "ops/list.h"

#include <string.h>

/* An optimizer: its fused update takes (weight, gradient, moments..., lr, [step,] scale). */
static const struct rule {
    const char *name;
    const pl_op *op;
    const char *moment[2];
    bool counts; /* takes the step number */
} rules[] = {
    { "adamw", &pl_op_adamw, { "m", "v" }, true },
    { "adam", &pl_op_adam, { "m", "v" }, true },
    { "sgd", &pl_op_sgd, { "momentum", NULL }, false },
};

enum { N_RULES = sizeof rules / sizeof *rules };

const char *pl_optim_names(pl_arena *a)
{
    pl_text t = { .arena = a };
    for (int i = 0; i < N_RULES; i++) pl_text_add(&t, i ? ", %s" : "%s", rules[i].name);
    return pl_text_get(&t);
}

static const char *attributes(pl_builder *b, const struct rule *r, const pl_optim *o, double decay)
{
    if (!r->counts) return pl_builder_fmt(b, "; momentum=%.17g decay=%.17g", o->momentum, decay);
    return pl_builder_fmt(b, "; beta1=%.17g beta2=%.17g eps=%.17g decay=%.17g", o->beta1, o->beta2,
                          o->eps, decay);
}

static void add_update(pl_builder *b, const struct rule *r, const pl_optim *o, pl_value *w,
                       pl_value *g, pl_value *lr, pl_value *step, pl_value *scale)
{
    pl_value *in[PL_MAX_OPERANDS] = { w, g };
    int n = 2, n_moments = 0;
    for (; n_moments < 2 && r->moment[n_moments]; n_moments++)
        in[n++] = pl_add_state(b, pl_builder_fmt(b, "%s.%s", w->name, r->moment[n_moments]), PL_F32,
                               w->shape, "zeros", false);
    in[n++] = lr;
    if (r->counts) in[n++] = step;
    in[n++] = scale;
    pl_node *u = pl_add_node(b, r->op, pl_builder_fmt(b, "%s.update", w->name),
                             attributes(b, r, o, w->shape.rank > 1 ? o->decay : 0), n, in);
    if (!u) return;
    w->next = u->out[0];
    for (int i = 0; i < n_moments; i++) in[2 + i]->next = u->out[1 + i];
}

/* Scale that brings the global norm of all gradients down to the limit (Pascanu et al., 2013). */
static pl_value *add_clip(pl_builder *b, double limit, int n, pl_value *const grad[])
{
    pl_value *sum = NULL;
    for (int i = 0; i < n; i++) {
        if (!grad[i]) continue;
        pl_value *s = PL_ADD(b, &pl_op_square_sum, NULL, grad[i]);
        sum = sum ? PL_ADD(b, &pl_op_add, NULL, sum, s) : s;
    }
    pl_add_output(b, "grad_norm", PL_ADD(b, &pl_op_sqrt, NULL, sum));
    return PL_ADD_AS(b, &pl_op_clip_scale, "clip", pl_builder_fmt(b, "; max_norm=%.17g", limit),
                     sum);
}

void pl_optim_add(pl_builder *b, const pl_optim *o, pl_value *loss)
{
    const struct rule *r = rules;
    while (r < rules + N_RULES && strcmp(r->name, o->name)) r++;
    if (r == rules + N_RULES) {
        pl_err_set(&b->err, PL_EUSAGE, "unknown optimizer '%s' (one of: %s)", o->name,
                   pl_optim_names(b->graph->arena));
        return;
    }
    if (b->err.code) return;
    pl_graph *g = b->graph;
    pl_value **w = PL_NEW_N(g->arena, pl_value *, g->values.n),
             **grad = PL_NEW_N(g->arena, pl_value *, g->values.n);
    int n = 0;
    for (int i = 0; i < g->values.n; i++)
        if (g->values.at[i]->trainable) w[n++] = g->values.at[i];
    pl_autodiff(b, loss, n, w, grad);
    pl_value *lr = pl_add_input(b, "lr", PL_F32, PL_SCALAR);
    pl_value *step = r->counts ? pl_add_input(b, "step", PL_I64, PL_SCALAR) : NULL;
    pl_value *scale = o->clip > 0 ? add_clip(b, o->clip, n, grad)
                                  : pl_add_value(b, &pl_op_fill, "scale", "->; value=1", 0, NULL);
    for (int i = 0; i < n && !b->err.code; i++)
        if (grad[i]) add_update(b, r, o, w[i], grad[i], lr, step, scale);
}
