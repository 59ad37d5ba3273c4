/* chain/top.h - the highest point under planes: where a bound on the larger of two times within a
 * memory cap may be largest.
 *
 * Every plan known gives a plane over the two prices,
 *
 *   height(p, m) = p computing + (1 - p) sending + m (memory - cap),    0 <= p <= 1, m >= 0,
 *
 * and the least over all plans, known or not, is a bound of the fastest within the cap (Lagrange)
 * that lies nowhere above a plane. The highest point under those of the plans known is where to
 * look next (Kelley's cutting planes). */
#ifndef PL_CHAIN_TOP_H
#define PL_CHAIN_TOP_H
#include <stdbool.h>

typedef struct pl_plane {
    double computing, sending; /* seconds                                                        */
    double over;               /* bytes of memory above the cap; below 0: it fits                */
} pl_plane;

typedef struct pl_top {
    double price, memory_price; /* p, m                                                          */
    double height;
} pl_top;

double pl_plane_height(const pl_plane *plane, double price, double memory_price);

/* Of n planes, at least one of which fits; all numbers finite. Time: n^4. */
pl_top pl_top_of(int n, const pl_plane *plane);

/* The least larger sum of so much of the one and so much of the other that fits; INFINITY: none. */
double pl_plane_mixed(const pl_plane *a, const pl_plane *b);

#endif
