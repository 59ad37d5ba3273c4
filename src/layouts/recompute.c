/* Recomputed activations (Chen et al., 2016; Korthikanti et al., MLSys 2023): what is not kept for
 * the backward pass but made again there (plan/recompute.h). Where anything lies is up to the other
 * words. */
#include "layouts/list.h"
#include "layouts/strategy.h"
#include "plan/recompute.h"

#include <limits.h>

static bool recompute_blocks(pl_plan *p, const pl_said *said, pl_arena *tmp)
{
    const pl_fold fold = pl_fold_find(p->graph, tmp);
    const int most = said->word->n_sizes ? said->size[0] : INT_MAX;
    return pl_plan_recompute(p, p->stages ? pl_recompute_in_stages(p, &fold, most, tmp)
                                          : pl_recompute_blocks(p->graph, &fold, most, tmp));
}

static bool finish(const pl_strategy *s, pl_plan *p, const pl_plan *like, pl_arena *out,
                   pl_err *err)
{
    (void)like;
    (void)out;
    const pl_said *blocks = pl_strategy_said(s, "recompute"),
                  *large = pl_strategy_said(s, "recompute=selective");
    if (!blocks && !large) return true;
    pl_arena *tmp = pl_arena_new("recompute");
    const bool inside = !blocks || recompute_blocks(p, blocks, tmp),
               any = !large || pl_plan_recompute(p, pl_recompute_large(p->graph, tmp));
    pl_arena_free(tmp);
    if (inside && any) return true;
    return pl_err_set(err, PL_EINPUT, "strategy '%s': %s", s->text,
                      any ? "the model has no equal blocks that could be recomputed"
                          : "nothing in the model is larger than what it is made from: the "
                            "operator attention keeps no scores; say e.g. recompute=full");
}

const pl_layout pl_layout_recompute = {
    .name = "recompute",
    .about = "recomputed activations (Chen et al., 2016; Korthikanti et al., MLSys 2023)",
    .words =
        (const pl_word[]){
            { "recompute=full", "recompute=full", 0, "recompute",
              "what goes from block to block is kept, all else of them is made again", NULL },
            { "recompute=selective", "recompute=selective", 0, "recompute=selective",
              "what is larger than what it is made from is made again: scores that have a bias",
              NULL },
            { "recompute=", "recompute=N", 1, "recompute",
              "as full, in the first N blocks (of all stages as many); with recompute=selective "
              "that in the others",
              NULL },
            { 0 },
        },
    .offers =
        (const pl_offer[]){
            { "zero=3,tp=N,sp,recompute=full", PL_OFFER_SMALL | PL_OFFER_TIGHT },
            { "zero=3,recompute=full", PL_OFFER_TIGHT },
            { 0 },
        },
    .finish = finish,
};
