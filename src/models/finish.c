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
static pl_value *cross_entropy(pl_builder *b, int64_t classes, double smoothing, pl_value *logits,
                               pl_value *targets)
{
    const char *spec = smoothing > 0 ? pl_builder_fmt(b, "; smoothing=%.17g", smoothing) : NULL;
    pl_value *top = PL_ADD_AS(b, &pl_op_reduce_max, "cross_entropy.top", NULL, logits);
    pl_node *sums = pl_add_node(b, &pl_op_cross_entropy_sums, "cross_entropy.sums", spec, 3,
                                (pl_value *const[]){ logits, targets, top });
    if (!sums) return NULL;
    return PL_ADD_AS(b, &pl_op_cross_entropy_loss, "cross_entropy",
                     pl_builder_fmt(b, "; classes=%lld", (long long)classes), sums->out[0],
                     sums->out[1], top, targets);
}

static pl_value *mean_cross_entropy(pl_builder *b, double smoothing, pl_value *logits,
                                    pl_value *targets)
{
    if (!logits || !targets) return NULL; /* the builder holds the error */
    const int64_t classes = logits->shape.dim[logits->shape.rank - 1];
    pl_value *loss = cross_entropy(b, classes, smoothing, logits, targets);
    if (!loss) return NULL;
    const char *mean =
        pl_builder_fmt(b, "; value=%.17g", 1 / (double)pl_shape_count(&targets->shape));
    loss = PL_ADD_AS(b, &pl_op_reduce_sum, "loss.sum", "...->", loss);
    return PL_ADD(b, &pl_op_scale, mean, loss);
}

pl_value *pl_model_cross_entropy(pl_builder *b, pl_value *logits, pl_value *targets)
{
    return mean_cross_entropy(b, 0, logits, targets);
}

static void finish(pl_builder *b, pl_mode mode, double smoothing, pl_value *logits,
                   const char *target)
{
    if (!logits) return; /* the builder holds the error */
    if (mode == PL_INFER) {
        pl_add_output(b, "logits", logits);
        return;
    }
    pl_shape rows = logits->shape;
    rows.rank--;
    pl_value *targets = pl_add_input(b, target, PL_I32, rows);
    pl_value *loss = mean_cross_entropy(b, smoothing, logits, targets);
    if (loss) pl_add_output(b, "loss", loss);
}

void pl_model_finish(pl_builder *b, pl_mode mode, pl_value *logits, const char *target)
{
    finish(b, mode, 0, logits, target);
}

void pl_model_finish_images(pl_builder *b, const pl_model_args *args, pl_mode mode,
                            pl_value *logits)
{
    finish(b, mode, mode == PL_TRAIN ? pl_model_real(args, "smoothing") : 0, logits, "label");
}
