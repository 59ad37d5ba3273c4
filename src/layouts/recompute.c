/* Recomputed activations (Chen et al., 2016; Korthikanti et al., MLSys 2023): what is not kept for
 * the backward pass but made again there (plan/recompute.h). Where anything lies is up to the other
 * words. */
#include "base/text.h"
#include "layouts/list.h"
#include "layouts/strategy.h"
#include "plan/recompute.h"
#include "plan/stages.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_DIGITS = 6 };

/* -- of each place ----------------------------------------------------------------------------- */

/* Number `place` of "12-5-0"; 0: there are fewer. */
static int number_of(const char *list, int place)
{
    for (; list && place > 0; place--) list = pl_text_after(list, '-');
    return list ? atoi(list) : 0;
}

int pl_strategy_recomputed(const pl_strategy *s, int place)
{
    const pl_said *said = pl_strategy_said(s, "recompute");
    if (!said) return 0;
    if (said->name) return number_of(said->name, place);
    if (!said->word->n_sizes) return INT_MAX;
    const int places = pl_strategy_size(s, PL_STAGE_AXIS), all = said->size[0];
    return all / places + (place < all % places);
}

static bool is_list(const char *text)
{
    for (const char *at = text;; at++) {
        const size_t digits = strspn(at, "0123456789");
        if (!digits || digits > MOST_DIGITS) return false;
        at += digits;
        if (!*at) return true;
        if (*at != '-') return false;
    }
}

static bool settle(pl_strategy *s, pl_err *err)
{
    const pl_said *said = pl_strategy_said(s, "recompute");
    if (!said || !said->name) return true;
    const int places = pl_strategy_size(s, PL_STAGE_AXIS);
    int n = 1;
    for (const char *at = said->name; (at = strchr(at, '-')); at++) n++;
    if (places == 1)
        return pl_err_set(err, PL_EUSAGE,
                          "strategy '%s': recompute=stages:%s is of pipelines: say pp=N too, or "
                          "recompute=N",
                          s->text, said->name);
    if (!is_list(said->name))
        return pl_err_set(err, PL_EUSAGE,
                          "strategy '%s': recompute=stages:%s is no list of numbers of blocks, one "
                          "for each device of the pipeline, such as stages:8-4-0",
                          s->text, said->name);
    return n <= places ||
           pl_err_set(err, PL_EUSAGE,
                      "strategy '%s': recompute=stages:%s has %d numbers, and the pipeline %d "
                      "devices (pp=N)",
                      s->text, said->name, n, places);
}

/* -- the plan ---------------------------------------------------------------------------------- */

static const bool *find_set(const pl_strategy *s, const pl_plan *p, pl_arena *tmp)
{
    const pl_fold fold = pl_fold_find(p->graph, tmp);
    const pl_said *said = pl_strategy_said(s, "recompute");
    const int all = said->word->n_sizes ? said->size[0] : INT_MAX;
    if (!said->name || !p->stages) /* that of an evaluation is cut later, and has no use for it */
        return p->stages ? pl_recompute_in_stages(p, &fold, all, tmp)
                         : pl_recompute_blocks(p->graph, &fold, all, tmp);
    int *most = PL_NEW_N(tmp, int, p->stages->order->n_ranks);
    for (int c = 0; c < p->stages->order->n_ranks; c++) most[c] = pl_strategy_recomputed(s, c);
    return pl_recompute_at_places(p, &fold, most, tmp);
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
    const bool inside = !blocks || pl_plan_recompute(p, find_set(s, p, tmp)),
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
            { "recompute=stages:", "recompute=stages:N-N", PL_WORD_NAME, "recompute",
              "of each device of the pipeline in so many of its first blocks: 8-4 in 8 of the "
              "first, 4 "
              "of the second, none of the others",
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
    .settle = settle,
    .finish = finish,
};
