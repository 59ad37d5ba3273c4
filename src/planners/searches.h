/* planners/searches.h - auto's search, again and again until what it finds fits, private to
 * planners/. */
#ifndef PL_PLANNERS_SEARCHES_H
#define PL_PLANNERS_SEARCHES_H
#include "planners/candidates.h"

enum { PL_SEARCHES_ROOM = 19 }; /* candidates of a mesh that all of them add at most */

/* Searches x->b->search, and adds what is found to x->b: below what a device has, and below less as
 * long as programs take more than that. Where memory binds x->some is searched, too, and becomes
 * x->b->search. Fails with PL_EINFEASIBLE when by the tables nothing fits. */
PL_MUST_CHECK bool pl_searches_run(choosing *x, pl_err *err);

/* Searches for one like a candidate that was found by a search, which takes `over` bytes less; adds
 * it if there is one. */
PL_MUST_CHECK bool pl_searches_less(choosing *x, const pl_candidate *k, double over, pl_err *err);

/* Adds the best layouts that were found with another schedule (r->as), whose search becomes
 * x->b->search. False: none of them fits with this one. */
bool pl_searches_as(choosing *x);

/* Where memory binds (x->tight) more plans that recompute blocks, unless those are told well by the
 * tables. Then x->b->search is the search of what is best so far, with the bound of all. */
PL_MUST_CHECK bool pl_searches_recompute(choosing *x, pl_err *err);

#endif
