/* Megatron's tensor parallelism (Shoeybi et al., 2019): of a pair of linear layers the first is cut
 * by columns (n), the second by rows (k), so that nothing moves between them and one sum is left;
 * with sequence parallelism (Korthikanti et al., MLSys 2023) the rows of activations between the
 * pairs are split over the same devices.
 *
 * No layer is named: one is cut by columns where its activations arrive whole, as far as the nodes
 * up to the next layer go on without communication, and by rows where they arrive split there. A
 * table whose rows give the logits too is split by them (vocabulary parallel), and one with more
 * rows than a device looks up at once: its gradient is larger than what is looked up. Another one
 * stays copied: of positions. */
#include "layouts/layer.h"
#include "layouts/list.h"

static bool say_ways(pl_strategy *s, const pl_word *word, const int size[3], pl_err *err)
{
    (void)word, (void)err;
    return pl_strategy_axis(s, &pl_layout_megatron, "tp", "tensor", size[0],
                            PL_AXIS_LAYERS | PL_AXIS_INNER);
}

static bool settle(pl_strategy *s, pl_err *err)
{
    if (!pl_strategy_said(s, "sp") || pl_strategy_add_use(s, "tensor", PL_AXIS_ROAM)) return true;
    return pl_err_set(err, PL_EUSAGE,
                      "strategy '%s': sp splits activations over the devices of tp=N, and there "
                      "are none: add e.g. tp=2",
                      s->text);
}

static bool splits_table(const pl_layer *x)
{
    const pl_value *ids = x->n->in[x->l.x];
    const pl_placement *home = pl_propagate_home(&x->on->follow, ids);
    const pl_mesh *mesh = &x->on->follow.plan->mesh;
    const pl_shape here = home ? pl_placement_local(home, mesh, &ids->shape, 0) : ids->shape;
    return pl_layer_uses(x) > 1 || pl_linear_widest(x->n, x->l.k) > pl_shape_count(&here);
}

/* The factor of the weights that is split, or -1: they stay copied. */
static int pick(pl_layer *x, int axis)
{
    const int at = x->arrives.factor[axis];
    if (!x->open) return x->stored.factor[axis];
    if (x->l.lookup) return splits_table(x) ? pl_layer_pick(x, axis, x->l.k) : -1;
    if (pl_layer_has(x->l.k, at)) return at;
    if (pl_layer_arrives_by_k(x, axis)) return pl_layer_pick(x, axis, x->l.k);
    return pl_layer_pick_free_columns(x, axis);
}

static void choose(pl_layer *x)
{
    const int axis = pl_layer_axis(x, "tensor");
    if (axis < 0) return;
    const bool sequence = pl_strategy_said(x->on->strategy, "sp");
    pl_layer_offer(x, axis, x->l.n | x->l.k);
    const int f = pick(x, axis);
    pl_layer_take(x, axis, f);
    if (sequence && f < 0) pl_layer_copy_rows(x, axis, pl_layer_pick_rows(x, axis));
    if (sequence && pl_layer_has(x->l.n, f)) pl_layer_regather(x, x->l.x);
}

static void list(pl_texts *out, int n_devices)
{
    static const char *const two[] = { "tp=2",        "tp=2,sp",        "zero=1,tp=2",
                                       "zero=3,tp=2", "zero=3,tp=2,sp", "hsdp=2,tp=2" };
    for (int i = 0; i < 6; i++) pl_texts_add(out, two[i]);
    if (n_devices == 2) return;
    pl_texts_fmt(out, "tp=%d", n_devices);
    pl_texts_fmt(out, "tp=%d,sp", n_devices);
}

const pl_layout pl_layout_megatron = {
    .name = "megatron",
    .about =
        "Megatron (Shoeybi et al., 2019), sequence parallelism (Korthikanti et al., MLSys 2023)",
    .words =
        (const pl_word[]){
            { "tp=", "tp=N", 1, "tp or grid",
              "Megatron: pairs of linear layers by columns, then by rows, over axis tensor",
              say_ways },
            { "sp", "sp", 0, "sp",
              "with tp=N: between the pairs activations are split over axis tensor too", NULL },
            { 0 },
        },
    .offers =
        (const pl_offer[]){
            { "zero=1,tp=N,sp", 0 },
            { "tp=N,sp", PL_OFFER_LARGER },
            { "zero=3,tp=N,sp", PL_OFFER_KNOWN | PL_OFFER_SMALL },
            { "tp=N", PL_OFFER_KNOWN },
            { 0 },
        },
    .settle = settle,
    .layer = choose,
    .list = list,
};
