#include "models/sampled.h"

#include "ops/list.h"

/* log(k + 1) of ids [g, n]: less a constant, -log of how often each is drawn. */
static pl_value *correct(pl_builder *b, pl_value *ids)
{
    pl_value *one = pl_model_number(b, 1);
    pl_value *x = PL_ADD(b, &pl_op_cast, "; to=f32", ids);
    return PL_ADD(b, &pl_op_log, NULL, PL_ADD(b, &pl_op_add, "gn,->gn", x, one));
}

/* Scores of the samples, by which a target's own is out of reach. */
static pl_value *score_samples(pl_builder *b, pl_value *x, pl_value *rows, pl_value *samples,
                               pl_value *targets)
{
    pl_value *y = PL_ADD_AS(b, &pl_op_einsum, "sampled.scores", "gnm,gkm->gnk", x, rows);
    if (b->compute != PL_F32) y = PL_ADD(b, &pl_op_cast, "; to=f32", y);
    y = PL_ADD(b, &pl_op_add, "gnk,gk->gnk", y, correct(b, samples));
    pl_value *hit = PL_ADD(b, &pl_op_equal, "gn,gk->gnk", targets, samples);
    pl_value *never = pl_model_number(b, -1e9);
    return PL_ADD_AS(b, &pl_op_where, "sampled.others", "gnk,,gnk->gnk", hit, never, y);
}

void pl_sampled_finish(pl_builder *b, const pl_sampled *s, pl_value *table, pl_value *x)
{
    if (!x || !table) return; /* the builder holds the error */
    const int64_t batch = x->shape.dim[0], seq = x->shape.dim[1], vocab = table->shape.dim[0];
    if (batch % s->groups) {
        pl_err_set(&b->err, PL_EUSAGE, "%s%lld does not divide into groups=%lld",
                   b->graph->micro > 1 ? "a micro-batch of " : "batch=", (long long)batch,
                   (long long)s->groups);
        return;
    }
    const char *by = pl_builder_fmt(b, "; g=%lld", (long long)s->groups);
    pl_value *seed = pl_add_input(b, "seed", PL_I64, PL_SCALAR);
    pl_value *targets = pl_add_input(b, "targets", PL_I32, PL_SHAPE(batch, seq));
    targets = PL_ADD(b, &pl_op_reshape, pl_builder_fmt(b, "(gr)s->g(rs)%s", by), targets);
    x = PL_ADD(b, &pl_op_reshape, pl_builder_fmt(b, "(gr)sm->g(rs)m%s", by), x);
    const char *draw = pl_builder_fmt(b, "->gk; g=%lld k=%lld classes=%lld", (long long)s->groups,
                                      (long long)s->n, (long long)vocab);
    pl_value *samples = PL_ADD_AS(b, &pl_op_draw_ids, "sampled.words", draw, seed);
    pl_value *ids = PL_ADD_AS(b, &pl_op_concat, "sampled.ids", "gn,gk->gv", targets, samples);
    pl_value *rows = PL_ADD_AS(b, &pl_op_embedding, "decoder", "vm,gn->gnm", table, ids);
    pl_node *part = pl_add_node(
        b, &pl_op_split, "sampled.rows",
        pl_builder_fmt(b, "gvm->gnm,gkm; n=%lld", (long long)(batch / s->groups * seq)), 1, &rows);
    if (!part) return;
    pl_value *picked =
        PL_ADD_AS(b, &pl_op_einsum, "sampled.target", "gnm,gnm->gn", x, part->out[0]);
    if (b->compute != PL_F32) picked = PL_ADD(b, &pl_op_cast, "; to=f32", picked);
    picked = PL_ADD(b, &pl_op_add, NULL, picked, correct(b, targets));
    pl_value *others = score_samples(b, x, part->out[1], samples, targets);
    pl_value *all = PL_ADD_AS(b, &pl_op_concat, "sampled.logits", "gn,gnk->gnv", picked, others);
    const char *first = pl_builder_fmt(b, "->gn; g=%lld n=%lld to=i32", (long long)s->groups,
                                       (long long)(batch / s->groups * seq));
    pl_value *loss =
        pl_model_cross_entropy(b, all, pl_add_value(b, &pl_op_fill, NULL, first, 0, NULL));
    if (loss) pl_add_output(b, "loss", loss);
}
