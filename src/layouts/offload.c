/* States and activations in the host's memory (ZeRO-Offload: Ren et al., ATC 2021; Gemini: Fang et
 * al., 2022; DELTA: Tang et al., 2022; plan/offload.h). How they are split is up to the other
 * words; when they are copied is the program's affair (program/order.c). */
#include "layouts/list.h"
#include "layouts/strategy.h"
#include "plan/offload.h"
#include "plan/stages.h"

static bool is_said(const pl_strategy *s, const char *word)
{
    return pl_strategy_said(s, word) || pl_strategy_said(s, "offload=all");
}

static bool offload_activations(pl_plan *p, pl_arena *out)
{
    pl_arena *tmp = pl_arena_new("blocks");
    const pl_fold fold = pl_fold_find(p->graph, tmp);
    const bool any = pl_plan_offload_activations(p, &fold, out);
    pl_arena_free(tmp);
    return any;
}

static void list(pl_texts *out, int n_devices)
{
    pl_texts_add(out, "offload=weights");
    pl_texts_add(out, "offload=activations");
    pl_texts_fmt(out, "%soffload=all", n_devices > 1 ? "zero=3," : "");
}

static bool finish(const pl_strategy *s, pl_plan *p, const pl_plan *like, pl_arena *out,
                   pl_err *err)
{
    (void)like;
    const bool weights = is_said(s, "offload=weights"), moments = is_said(s, "offload=optimizer"),
               activations = is_said(s, "offload=activations"),
               updates = pl_strategy_said(s, "offload=updates");
    bool any = !weights && !moments && !activations && !updates;
    if (updates && pl_strategy_size(s, PL_STAGE_AXIS) > 1)
        return pl_err_set(err, PL_EUNSUPPORTED,
                          "strategy '%s': in stages updates run on devices: say offload=optimizer "
                          "for offload=updates",
                          s->text);
    if (weights) any |= pl_plan_offload_states(p, PL_WEIGHT);
    if (moments || updates) any |= pl_plan_offload_states(p, PL_MOMENT);
    if (moments || updates) any |= pl_plan_offload_states(p, PL_MASTER);
    if (updates) any |= pl_plan_offload_states(p, PL_GRAD_SUM);
    if (updates) any |= pl_plan_offload_updates(p);
    if (activations) any |= offload_activations(p, out);
    return any ||
           pl_err_set(err, PL_EINPUT,
                      "strategy '%s': the step has none of what is to lie in the host's memory",
                      s->text);
}

#define OFFLOAD(NAME, ABOUT)                                                                       \
    {                                                                                              \
        "offload=" NAME, "offload=" NAME, 0, "offload=" NAME, ABOUT, NULL                          \
    }

const pl_layout pl_layout_offload = {
    .name = "offload",
    .about = "ZeRO-Offload and Gemini (Ren et al., ATC 2021; Fang et al., 2022)",
    .words =
        (const pl_word[]){
            OFFLOAD("optimizer",
                    "moments (and masters) lie in the host's memory and pass through the device"),
            OFFLOAD("weights", "so do weights: they come for each pass, and for their update"),
            OFFLOAD("updates",
                    "moments and sums of gradients lie there, and the host updates them"),
            OFFLOAD("activations", "what is kept for the backward pass waits there"),
            OFFLOAD("all", "moments, weights and activations do"),
            { 0 },
        },
    .offers =
        (const pl_offer[]){
            { "zero=3,tp=N,sp,recompute=full,offload=all,offload=updates",
              PL_OFFER_SMALL | PL_OFFER_SHORT },
            { "zero=3,recompute=full,offload=all,offload=updates",
              PL_OFFER_SMALL | PL_OFFER_SHORT },
            { "zero=3,offload=optimizer", PL_OFFER_SHORT },
            { "zero=3,offload=weights,offload=updates", PL_OFFER_SMALL | PL_OFFER_SHORT },
            { "embrace,offload=optimizer", PL_OFFER_SHORT | PL_OFFER_TABLES },
            { "embrace,offload=updates", PL_OFFER_SHORT | PL_OFFER_TABLES },
            { "embrace,offload=weights,offload=updates",
              PL_OFFER_SMALL | PL_OFFER_SHORT | PL_OFFER_TABLES },
            { "embrace,recompute=full,offload=weights,offload=updates",
              PL_OFFER_SMALL | PL_OFFER_SHORT | PL_OFFER_TABLES },
            { "zero=3,recompute=full,offload=optimizer", PL_OFFER_SHORT },
            { "zero=3,recompute=full,offload=all", PL_OFFER_SHORT },
            { "zero=3,recompute=full,offload=weights,offload=updates", PL_OFFER_SHORT },
            { "zero=3,tp=N,sp,recompute=full,offload=all", PL_OFFER_SHORT },
            { "zero=3,tp=N,sp,recompute=full,offload=optimizer", PL_OFFER_SHORT },
            { "zero=3,tp=N,sp,recompute=full,offload=optimizer,offload=weights", PL_OFFER_SHORT },
            { "zero=3,tp=N,sp,recompute=full,offload=weights,offload=updates", PL_OFFER_SHORT },
            { 0 },
        },
    .finish = finish,
    .list = list,
};
