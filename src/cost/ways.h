/* cost/ways.h - the tables of what it takes to move values, for cost/tables.c: each is made
 * once for all that are equal. */
#ifndef PL_COST_WAYS_H
#define PL_COST_WAYS_H
#include "reshard/convert.h"
#include "cost/domain.h"

typedef struct pl_ways pl_ways;
typedef struct pl_way pl_way; /* of all values of one form with the same spots in the same order */

/* `arena` will own the tables, `tmp` the rest. */
pl_ways *pl_tables_ways_new(const pl_mesh *m, pl_arena *arena, pl_arena *tmp);

/* The spots are the caller's and stay as they are. */
pl_way *pl_tables_ways_find(pl_ways *x, const pl_value *v, const pl_spots *spots);

/* Of one device's part at each spot: [spots]. */
const double *pl_tables_ways_bytes(pl_ways *x, pl_way *w);

/* The values of a variable by the spot where each of them has the tensor; NULL: at that one. */
typedef struct pl_seats {
    int n;
    const int16_t *at;
} pl_seats;

/* Seconds from each of a to each of b: [a.n][b.n]; `turned`: [b.n][a.n]. */
const double *pl_tables_ways_time(pl_ways *x, pl_way *w, pl_seats a, pl_seats b, bool turned);

/* Seconds to each spot from each: [spots][spots] from, to; none where it is a part of what lies
 * there. */
const double *pl_tables_ways_keep(pl_ways *x, pl_way *w);

/* No seconds at all: [spots][spots]. */
const double *pl_tables_ways_none(pl_ways *x, pl_way *w);

/* Bytes of what is kept at a spot beside what is stored at one: [spots][spots] stored, kept. */
const double *pl_tables_ways_beside(pl_ways *x, pl_way *w);

#endif
