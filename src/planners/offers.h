/* planners/offers.h - the layouts that are tried beside what a search finds (layouts/layout.h:
 * pl_offer), private to planners/. */
#ifndef PL_PLANNERS_OFFERS_H
#define PL_PLANNERS_OFFERS_H
#include "planners/candidates.h"

enum { PL_MOST_OFFERS = 128 }; /* of a request */

/* Those to try, those that were tried, and those of them that are candidates. */
typedef struct pl_offers pl_offers;

/* Those that people look for, and others with groups of the usual size; on one device none, nor
 * beside a published search. x->out owns them. */
pl_offers *pl_offers_usual(const choosing *x);

bool pl_offers_wait(const pl_offers *l); /* are there some that were not tried? */

/* Those that wait; `beat` and `what` as of pl_candidates_try. They need nothing of a search. */
void pl_offers_try(const choosing *x, const pl_candidate *beat, pl_offers *l, const char *what);

/* What was tried becomes candidates. */
void pl_offers_take(choosing *x, pl_offers *l);

/* Is a search worth it, by what layouts take with this number of micro-batches and with another
 * (x->r->like)? Fails with PL_EINFEASIBLE, and x->b->outlined is set. */
PL_MUST_CHECK bool pl_offers_check(choosing *x, pl_offers *l, pl_err *err);

/* Are there groups within groups among them? */
bool pl_offers_have_groups(const pl_offers *l);

/* Then before the search: tries all, and climbs the sizes of these, with blocks recomputed if the
 * fastest does not fit, which x->tight says. False: of the usual ones these are not so many times
 * as fast as others. */
bool pl_offers_climb(choosing *x, pl_offers *l, double times);

/* After the search: all of them; of the one that is fastest of the usual ones, where it is near the
 * best of all, groups of other sizes too; and where memory binds, those that trade time for it. */
void pl_offers_add(choosing *x, pl_offers *l);

/* The layouts that take least memory, of those that are one on so many devices. */
void pl_offers_add_small(choosing *x);

#endif
