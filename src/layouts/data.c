/* Data parallelism (Li et al., VLDB 2020): the rows of every input are split over axis `data`, and
 * all else is copied. That gradients are summed over the axis follows. */
#include "layouts/list.h"
#include "layouts/strategy.h"

void pl_layout_data_axis(pl_strategy *s, int size)
{
    (void)pl_strategy_axis(s, &pl_layout_data, "dp", "data", size, PL_AXIS_BATCH);
}

static bool say_size(pl_strategy *s, const pl_word *word, const int size[3], pl_err *err)
{
    (void)word, (void)err;
    pl_layout_data_axis(s, size[0]);
    return true;
}

static void list(pl_texts *out, int n_devices)
{
    (void)n_devices;
    pl_texts_add(out, "dp");
}

const pl_layout pl_layout_data = {
    .name = "data",
    .about = "data parallelism, as DDP (Li et al., VLDB 2020)",
    .words =
        (const pl_word[]){
            { "dp", "dp", 0, "dp",
              "data parallel: the batch over axis data, which takes the devices left over", NULL },
            { "ddp", "ddp", 0, "dp", "the same as dp, PyTorch's name for it", NULL },
            { "dp=", "dp=N", 1, "dp",
              "the same over N devices, which have to be all that are left over", say_size },
            { 0 },
        },
    .offers = (const pl_offer[]){ { "dp", PL_OFFER_KNOWN }, { 0 } },
    .list = list,
};
