/* policies/online.h - policies that do not see ahead: ops run in their order, and when memory is
 * short a rule says which storage goes.
 *
 * Semantics of the DTR simulator (Kirisame et al., ICLR 2021; uwsampl/dtr-prototype, its runtime
 * "V2 eager optimized"): what an op reads is locked while it runs; a storage that the program lets
 * go of (evict.h: held) goes at once, and stays in the pool when a recompute brings it back. */
#ifndef PL_POLICIES_ONLINE_H
#define PL_POLICIES_ONLINE_H
#include "evict/play.h"

typedef struct pl_evict_online pl_evict_online;

typedef struct pl_evict_online_rule {
    double (*score)(pl_evict_online *online, int item); /* the least goes                         */
    /* Whether it goes to the host (true), or is dropped to be made again; NULL: always dropped. */
    bool (*to_host)(pl_evict_online *online, int item);
    double spared; /* storages below this share of the mean size stay, while others are there    */
    int prefetch;  /* so many that went to the host come back early, where they fit              */
} pl_evict_online_rule;

struct pl_evict_online {
    const pl_evict_items *items;
    const pl_evict_online_rule *rule;
    pl_evict_play *play;
    int64_t budget;
    int *pool, n_pool;  /* items that may go, in the order in which they came                    */
    int *locks;         /* [n_item]                                                              */
    double *accessed;   /* [n_item] seconds; -INFINITY: never                                    */
    double *compute;    /* [n_item] seconds of its maker and of the makers of its views so far   */
    bool *made;         /* [n_op] ran once, or runs now for the first time                       */
    struct pl_evict_region *region;
    struct {
        int *at;
        int n, cap;
    } queue, missing;    /* items that went to the host, the first first; reads to be made usable */
    int queue_from;
    double most_compute; /* seconds, then it gives up                                            */
    pl_arena *arena;
};

/* Plays the problem by a rule. False: it did not fit, or took 20 times the seconds of one run. */
bool pl_evict_online_play(const pl_evict_items *items, int64_t budget,
                          const pl_evict_online_rule *rule, pl_arena *out,
                          pl_evict_schedule *schedule);

/* What must be made again with an item, in seconds: gone storages that it is made from (over gone
 * storages), or that are made from it. */
double pl_evict_online_before(pl_evict_online *online, int item);
double pl_evict_online_after(pl_evict_online *online, int item);
double pl_evict_online_class(pl_evict_online *online, int item); /* of its gone neighbours' */

#endif
