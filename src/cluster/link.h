/* cluster/link.h - what a message between two devices costs.
 *
 * Hockney's model: latency + bytes per_byte (Parallel Computing 20, 1994), or a measured curve, and
 * `start` once. Either is of messages that every device of a group sends at the same time, each to
 * a neighbour: the hops of a ring. A collective of n devices has n-1 or 2 (n-1) hops, one start. */
#ifndef PL_CLUSTER_LINK_H
#define PL_CLUSTER_LINK_H
#include "base/err.h"

enum { PL_LINK_POINTS = 32 };

typedef struct pl_point {
    double bytes, seconds; /* of one message */
} pl_point;

typedef struct pl_link {
    double start;             /* seconds of a message or collective, whatever its hops and bytes:
                                 to hand it over, to wake who waits                               */
    double latency;           /* seconds of a hop, however short                                  */
    double per_byte;          /* seconds; 1 / bandwidth of one device to its neighbour            */
    double exchange_per_byte; /* seconds; the same where every device sends to all others
                                 (all-to-all), so that more of the bytes cross the slowest link   */
    double overlap;           /* share of a message's time that compute can hide, 0 .. 1          */
    int n_points;             /* 0: there is no curve; latency and per_byte are all               */
    pl_point point[PL_LINK_POINTS]; /* by bytes, start included; latency and per_byte are their
                                 best straight line without it                                    */
} pl_link;

/* Seconds of one message to a neighbour: start + one hop. A curve is linear between its points;
 * shorter messages cost what the first point costs, longer ones have the last one's bandwidth. */
double pl_link_seconds(const pl_link *link, double bytes);

/* Seconds of a collective of so many hops, one after the other, of so many bytes each. */
double pl_link_hops(const pl_link *link, int hops, double bytes);

/* The straight line latency + bytes per_byte, neither below 0, that is nearest to n points in the
 * sum of squared *relative* differences: short messages count as much as long ones. n >= 1, bytes
 * and seconds > 0. One point, or points of one size, give a line through the origin. */
void pl_link_fit(int n, const pl_point point[], double *latency, double *per_byte);

/* Points are 1 .. PL_LINK_POINTS, ascending by bytes, finite and above 0. Fails with PL_EINPUT
 * naming the point, counted from 1. */
PL_MUST_CHECK bool pl_link_check(int n, const pl_point point[], pl_err *err);

#endif
