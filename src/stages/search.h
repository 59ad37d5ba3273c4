/* stages/search.h - is there a cut whose stages all take at most so many seconds? */
#ifndef PL_STAGES_SEARCH_H
#define PL_STAGES_SEARCH_H
#include "stages/ideals.h"

typedef struct pl_stages_search pl_stages_search;

/* Seconds that no cut is below: the work divided among all, and the largest piece. */
double pl_stages_bound(const pl_stages_problem *problem, const pl_stages_pieces *pieces);

/* `arena` owns the search; problem, pieces and ideals have to outlive it. */
pl_stages_search *pl_stages_search_new(const pl_stages_problem *problem,
                                       const pl_stages_pieces *pieces,
                                       const pl_stages_ideals *ideals, int64_t effort,
                                       pl_arena *arena);

/* What was asked of the ideals that there are. */
typedef enum pl_stages_answer { PL_STAGES_NO, PL_STAGES_YES, PL_STAGES_UNKNOWN } pl_stages_answer;

/* UNKNOWN: the effort is used up. After YES the chain of ideals is in `chain` [*n + 1], from the
 * empty one to the whole, and in `on_host` [*n] which stages lie on a host; both have room for
 * n_devices + n_hosts stages. */
pl_stages_answer pl_stages_search_ask(pl_stages_search *s, double seconds, int *n, int *chain,
                                      bool *on_host);

int64_t pl_stages_search_effort(const pl_stages_search *s); /* pairs of ideals looked at so far */

#endif
