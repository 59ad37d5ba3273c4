/* Mappings of losses of classes: dimension 1 of the scores counts them. */
#include "import/map.h"

#include "ops/list.h"

#include <string.h>

typedef struct loss {
    pl_value *logs, *labels; /* of the classes' probabilities: [n,c,...]; [n,...] */
} loss;

/* How much each label counts: its class's weight, and nothing if it is to be ignored. NULL: one
 * each. */
static pl_value *weigh(pl_import *m, const loss *x, pl_value *hot)
{
    pl_value *w = NULL;
    if (pl_has(m, 2)) {
        const char *all = pl_letters(m, 0, hot->shape.rank);
        w = pl_reduced(
            m, &pl_op_reduce_sum,
            PL_ADD(m->b, &pl_op_mul, pl_arena_fmt(m->a, "%s,B->%s", all, all), hot, pl_in(m, 2)), 2,
            false);
    }
    if (!pl_attr_find(m, "ignore_index")) return w;
    const double ignored = (double)pl_attr_int(m, "ignore_index", 0);
    pl_value *is =
        PL_EACH(m, &pl_op_equal, "", x->labels, pl_constant(m, x->labels->type, ignored));
    pl_value *counts = is ? pl_cast_to(m, PL_ADD(m->b, &pl_op_not, NULL, is), PL_F32) : NULL;
    return w ? PL_EACH(m, &pl_op_mul, "", w, counts) : counts;
}

static unsigned all_of(const pl_value *x)
{
    return (1u << x->shape.rank) - 1;
}

static bool add_loss(pl_import *m, const loss *x)
{
    const char *how = pl_attr_text(m, "reduction", "mean");
    if (!x->logs || !x->labels) return false;
    const int rank = x->labels->shape.rank;
    const char *spec = pl_arena_fmt(m->a, "A%s->Av%s; v=%lld", pl_letters(m, 2, rank - 1),
                                    pl_letters(m, 2, rank - 1), (long long)x->logs->shape.dim[1]);
    pl_value *hot = PL_ADD(m->b, &pl_op_one_hot, spec, x->labels);
    pl_value *y = hot ? PL_ADD(m->b, &pl_op_mul, NULL, hot, x->logs) : NULL;
    y = pl_scaled(m, pl_reduced(m, &pl_op_reduce_sum, y, 2, false), -1);
    pl_value *w = hot ? weigh(m, x, hot) : NULL;
    if (!y) return false;
    if (w) y = PL_EACH(m, &pl_op_mul, "", y, w);
    if (strcmp(how, "none") != 0) {
        const double n = (double)pl_shape_count(&x->labels->shape);
        y = pl_reduced(m, &pl_op_reduce_sum, y, all_of(y), false);
        if (!strcmp(how, "mean"))
            y = w ? PL_EACH(m, &pl_op_div, "", y,
                            pl_reduced(m, &pl_op_reduce_sum, w, all_of(w), false))
                  : pl_scaled(m, y, 1 / n);
    }
    pl_out(m, 0, y);
    return true;
}

bool pl_map_negative_log_likelihood_loss(pl_import *m)
{
    const loss x = { pl_in(m, 0), pl_in(m, 1) };
    return add_loss(m, &x);
}

bool pl_map_softmax_cross_entropy_loss(pl_import *m)
{
    pl_value *x = pl_in(m, 0);
    if (!x) return false;
    pl_value *y = PL_EACH(m, &pl_op_sub, "", x, pl_log_sum_exp(m, x, 2));
    const loss l = { y, pl_in(m, 1) };
    pl_out(m, 1, y);
    return add_loss(m, &l);
}
