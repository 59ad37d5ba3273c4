#include "models/model.h"
#include "ops/list.h"

void pl_model_finish(pl_builder *b, pl_mode mode, pl_value *logits, const char *target)
{
    if (!logits) return; /* the builder holds the error */
    if (mode == PL_INFER) {
        pl_add_output(b, "logits", logits);
        return;
    }
    pl_shape rows = logits->shape;
    rows.rank--;
    pl_value *targets = pl_add_input(b, target, PL_I32, rows);
    pl_value *loss = PL_ADD_AS(b, &pl_op_cross_entropy, "cross_entropy", NULL, logits, targets);
    const char *mean = pl_builder_fmt(b, "; value=%.17g", 1 / (double)pl_shape_count(&rows));
    loss = PL_ADD_AS(b, &pl_op_reduce_sum, "loss.sum", "...->", loss);
    pl_add_output(b, "loss", PL_ADD(b, &pl_op_scale, mean, loss));
}
