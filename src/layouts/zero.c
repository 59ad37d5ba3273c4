/* ZeRO (Rajbhandari et al., SC 2020), which PyTorch calls FSDP (Zhao et al., VLDB 2023), with its
 * hybrids. Nothing but where states are kept: optimizer states (1), among them the masters of
 * 16-bit weights, sums of gradients (2) and weights (3) are split over the devices that share the
 * batch, or positions of it (cp=N). Gathering a weight before its use, and scattering its gradient,
 * follow from that; when each starts is the program's affair (program/order.c: prefetch and its
 * limit). */
#include "layouts/list.h"
#include "layouts/strategy.h"

#include <string.h>

/* zero=N; 3 of the hybrids. */
static int find_level(const pl_strategy *s)
{
    const pl_said *zero = pl_strategy_said(s, "zero");
    if (pl_strategy_said(s, "hsdp")) return 3;
    return !zero ? 0 : zero->word->n_sizes ? zero->size[0] : 3;
}

static bool is_hpz(const pl_word *word)
{
    return !strcmp(word->name, "hpz=");
}

static bool say_level(pl_strategy *s, const pl_word *word, const int size[3], pl_err *err)
{
    (void)s;
    return !word->n_sizes || size[0] <= 3 ||
           pl_err_set(err, PL_EUSAGE, "strategy: 'zero=%d': there are zero=1, 2 and 3", size[0]);
}

static bool say_groups(pl_strategy *s, const pl_word *word, const int size[3], pl_err *err)
{
    (void)err;
    const char *name = is_hpz(word) ? "hpz" : "hsdp";
    return pl_strategy_axis(s, &pl_layout_zero, name, "shard", size[0], PL_AXIS_BATCH);
}

static int count_sharers(const pl_strategy *s)
{
    return pl_strategy_size(s, "data") * pl_strategy_size(s, "shard") *
           pl_strategy_size(s, "context");
}

static bool settle(pl_strategy *s, pl_err *err)
{
    const pl_said *zero = pl_strategy_said(s, "zero");
    const int level = zero && zero->word->n_sizes ? zero->size[0] : 3;
    if (pl_strategy_said(s, "hsdp") && level < 3)
        return pl_err_set(err, PL_EUSAGE,
                          "strategy '%s': hsdp, fsdp=N and hpz are zero=3 already: leave zero=%d "
                          "out",
                          s->text, level);
    if (count_sharers(s) == 1 && s->devices > 1)
        return pl_err_set(
            err, PL_EUSAGE,
            "strategy '%s': zero=%d splits over dp and cp, and of the %d devices none are "
            "left for that",
            s->text, find_level(s), s->devices);
    s->masters |= level < 3 && !s->wide_sums; /* what is split are masters, weights stay whole */
    return true;
}

/* hpz (ZeRO++; Wang et al., 2023) keeps weights split over both axes at rest, and gathers them
 * again for the backward pass within a group only. */
static pl_rest rest(const pl_strategy *s, pl_state_kind kind)
{
    static const int least[] = { [PL_BUFFER] = 4, [PL_ROWS] = 4,   [PL_WEIGHT] = 3,
                                 [PL_MOMENT] = 1, [PL_MASTER] = 1, [PL_GRAD_SUM] = 2 };
    const int data = pl_mesh_find(&s->mesh, "data"), shard = pl_mesh_find(&s->mesh, "shard");
    const int context = pl_mesh_find(&s->mesh, "context");
    const pl_said *hybrid = pl_strategy_said(s, "hsdp");
    const bool twice = data >= 0 && hybrid && is_hpz(hybrid->word);
    pl_rest r = { 0 };
    if (find_level(s) < least[kind]) return r;
    if (context >= 0) r.axis[r.n++] = context; /* the slowest last: it is gathered first */
    if (shard >= 0) r.axis[r.n++] = shard;
    if (data >= 0 && (twice || shard < 0)) r.axis[r.n++] = data;
    if (kind == PL_WEIGHT && r.n) r.regather = (uint8_t)(twice ? ~(1u << data) : UINT8_MAX);
    return r;
}

static void list(pl_texts *out, int n_devices)
{
    (void)n_devices;
    for (int level = 1; level <= 3; level++) pl_texts_fmt(out, "zero=%d", level);
    pl_texts_add(out, "hsdp=2");
    pl_texts_add(out, "hpz=2");
}

const pl_layout pl_layout_zero = {
    .name = "zero",
    .about = "ZeRO and FSDP (Rajbhandari et al., SC 2020; Zhao et al., VLDB 2023)",
    .words =
        (const pl_word[]){
            { "zero=", "zero=1|2|3", 1, "zero",
              "states over axes data and context: optimizer (1), gradients (2), weights (3, FSDP)",
              say_level },
            { "fsdp", "fsdp", 0, "zero", "the same as zero=3, PyTorch's name for it", NULL },
            { "fsdp=", "fsdp=N", 1, "hsdp", "the same as hsdp=N", say_groups },
            { "hsdp=", "hsdp=N", 1, "hsdp",
              "zero=3 over groups of N, axis shard (and context), and copies over the others, axis "
              "data",
              say_groups },
            { "hpz=", "hpz=N", 1, "hsdp",
              "zero=3 over all; groups of N keep what the backward pass reads again (ZeRO++)",
              say_groups },
            { 0 },
        },
    .offers =
        (const pl_offer[]){
            { "zero=1", PL_OFFER_KNOWN },
            { "zero=2", PL_OFFER_KNOWN },
            { "zero=3", PL_OFFER_KNOWN },
            { "hsdp=N", 0 },
            { "hsdp=N,tp=K,sp", 0 },
            { "hsdp=N,tp=K,sp,recompute=full", PL_OFFER_TIGHT },
            { "hpz=N", 0 },
            { 0 },
        },
    .settle = settle,
    .rest = rest,
    .list = list,
};
