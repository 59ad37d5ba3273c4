/* The ends of models: tokens or an image in, logits or the mean cross-entropy out. */
#include "models/model.h"
#include "ops/list.h"

pl_value *pl_model_tokens(pl_builder *b, const pl_model_args *args)
{
    pl_shape rows = PL_SHAPE(pl_model_int(args, "batch"), pl_model_int(args, "seq"));
    return pl_add_input(b, "tokens", PL_I32, rows);
}

pl_value *pl_model_image(pl_builder *b, const pl_model_args *args)
{
    int64_t batch = pl_model_int(args, "batch"), size = pl_model_int(args, "size");
    return pl_add_input(b, "image", PL_F32, PL_SHAPE(batch, size, size, 3));
}

/* In parts, so that the classes can be split: of each row its largest logit, two sums, the loss. */
static pl_value *cross_entropy(pl_builder *b, const char *name, double smoothing, pl_value *logits,
                               pl_value *targets)
{
    if (!logits || !targets) return NULL; /* the builder holds the error */
    const int64_t classes = logits->shape.dim[logits->shape.rank - 1];
    const char *spec = smoothing > 0 ? pl_builder_fmt(b, "; smoothing=%.17g", smoothing) : NULL;
    pl_value *top =
        PL_ADD_AS(b, &pl_op_reduce_max, pl_builder_fmt(b, "%s.top", name), NULL, logits);
    pl_node *sums = pl_add_node(b, &pl_op_cross_entropy_sums, pl_builder_fmt(b, "%s.sums", name),
                                spec, 3, (pl_value *const[]){ logits, targets, top });
    if (!sums) return NULL;
    return PL_ADD_AS(b, &pl_op_cross_entropy_loss, name,
                     pl_builder_fmt(b, "; classes=%lld", (long long)classes), sums->out[0],
                     sums->out[1], top, targets);
}

pl_value *pl_model_number(pl_builder *b, double x)
{
    return pl_add_value(b, &pl_op_fill, NULL, pl_builder_fmt(b, "->; value=%.17g", x), 0, NULL);
}

pl_value *pl_model_mean(pl_builder *b, const char *sum, pl_value *rows)
{
    if (!rows) return NULL;
    const char *part = pl_builder_fmt(b, "; value=%.17g", 1 / (double)pl_shape_count(&rows->shape));
    return PL_ADD(b, &pl_op_scale, part, PL_ADD_AS(b, &pl_op_reduce_sum, sum, "...->", rows));
}

pl_value *pl_model_past(pl_builder *b, const char *name, const char *init, pl_state_kind kind,
                        int64_t age, pl_value *x)
{
    for (int64_t i = age - 1; x && i >= 0; i--) {
        const char *as = pl_builder_fmt(b, "%s.%lld", name, (long long)i);
        pl_value *slot = pl_add_state(b, as, x->type, x->shape, init, kind);
        if (slot) slot->next = x;
        x = slot && i ? PL_ADD(b, &pl_op_detach, NULL, slot) : slot;
    }
    return x;
}

pl_value *pl_model_cross_entropy(pl_builder *b, pl_value *logits, pl_value *targets)
{
    return pl_model_mean(b, "loss.sum", cross_entropy(b, "cross_entropy", 0, logits, targets));
}

/* The output, with `more` added unless that is NULL. */
static void put_loss(pl_builder *b, pl_value *rows, pl_value *more)
{
    pl_value *loss = pl_model_mean(b, "loss.sum", rows);
    if (loss && more) loss = PL_ADD_AS(b, &pl_op_add, "loss.with", NULL, loss, more);
    if (loss) pl_add_output(b, "loss", loss);
}

static void finish(pl_builder *b, pl_mode mode, double smoothing, pl_value *logits,
                   const char *target, pl_value *more)
{
    if (!logits) return; /* the builder holds the error */
    if (mode == PL_INFER) {
        pl_add_output(b, "logits", logits);
        return;
    }
    pl_shape rows = logits->shape;
    rows.rank--;
    pl_value *targets = pl_add_input(b, target, PL_I32, rows);
    put_loss(b, cross_entropy(b, "cross_entropy", smoothing, logits, targets), more);
}

void pl_model_finish(pl_builder *b, pl_mode mode, pl_value *logits, const char *target)
{
    finish(b, mode, 0, logits, target, NULL);
}

void pl_model_accuracy(pl_builder *b, pl_value *logits)
{
    pl_value *label = b->err.code ? NULL : pl_graph_find(b->graph, "label");
    if (!logits || !label) return; /* the builder holds the error */
    pl_value *best = PL_ADD_AS(b, &pl_op_argmax, "best", "bv->b; to=i32", logits);
    pl_value *right = PL_ADD_AS(b, &pl_op_equal, "right", NULL, best, label);
    pl_value *share = pl_model_mean(b, "accuracy.sum", PL_ADD(b, &pl_op_cast, "; to=f32", right));
    if (share) pl_add_output(b, "accuracy", share);
}

/* share * loss by label + (1 - share) * loss by label2, of each row */
static void finish_mixed(pl_builder *b, double smoothing, pl_value *logits, pl_value *more)
{
    const pl_shape rows = PL_SHAPE(logits->shape.dim[0]);
    pl_value *label = pl_add_input(b, "label", PL_I32, rows),
             *other = pl_add_input(b, "label2", PL_I32, rows),
             *share = pl_add_input(b, "share", PL_F32, rows);
    pl_value *own = cross_entropy(b, "cross_entropy", smoothing, logits, label),
             *rest = cross_entropy(b, "cross_entropy2", smoothing, logits, other);
    share = PL_ADD(b, &pl_op_cast, "; to=f32", share); /* as losses are, whatever the model is in */
    pl_value *part = PL_ADD(b, &pl_op_mul, NULL, PL_ADD(b, &pl_op_sub, NULL, own, rest), share);
    put_loss(b, PL_ADD_AS(b, &pl_op_add, "mixed", NULL, rest, part), more);
}

void pl_model_finish_image(pl_builder *b, const pl_model_args *args, pl_mode mode, pl_value *logits,
                           pl_value *more)
{
    const bool trains = mode == PL_TRAIN;
    const double smoothing = trains ? pl_model_real(args, "smoothing") : 0;
    if (logits && trains && pl_model_int(args, "mixup")) {
        finish_mixed(b, smoothing, logits, more);
        return;
    }
    finish(b, mode, smoothing, logits, "label", trains ? more : NULL);
    if (mode == PL_EVAL) pl_model_accuracy(b, logits);
}
