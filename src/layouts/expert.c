/* Expert parallelism (Lepikhin et al., GShard, ICLR 2021): axis `expert` splits the batch, and in
 * layers with a factor that weights, activations and result share (their experts) that factor. The
 * all-to-all from one to the other follows. Experts without slots have no such factor: layouts that
 * split the width of a layer split them. */
#include "layouts/layer.h"
#include "layouts/list.h"

static bool say(pl_strategy *s, const pl_word *word, const int size[3], pl_err *err)
{
    (void)word, (void)err;
    return pl_strategy_axis(s, &pl_layout_expert, "ep", "expert", size[0],
                            PL_AXIS_BATCH | PL_AXIS_LAYERS);
}

static void choose(pl_layer *x)
{
    const int axis = pl_layer_axis(x, "expert");
    if (axis < 0 || !x->l.batch) return;
    pl_layer_offer(x, axis, x->l.batch);
    pl_layer_take(x, axis, pl_layer_pick(x, axis, x->l.batch));
}

static void list(pl_texts *out, int n_devices)
{
    for (int n = 2; n <= n_devices; n++) pl_texts_fmt(out, "ep=%d", n);
}

const pl_layout pl_layout_expert = {
    .name = "expert",
    .about = "expert parallelism (GShard: Lepikhin et al., ICLR 2021)",
    .words =
        (const pl_word[]){
            { "ep=", "ep=N", 1, "ep",
              "experts of routed layers over axis expert, which splits the batch too", say },
            { 0 },
        },
    .offers = (const pl_offer[]){ { "ep=N", 0 }, { 0 } },
    .split = "experts with slots",
    .needs = PL_HAS_EXPERTS,
    .layer = choose,
    .list = list,
};
