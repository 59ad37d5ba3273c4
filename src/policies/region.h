/* policies/region.h - the gone storages around a storage, and what they cost together: remembered
 * until a storage at their border comes or goes. */
#ifndef PL_POLICIES_REGION_H
#define PL_POLICIES_REGION_H
#include "policies/online.h"

typedef struct pl_evict_region pl_evict_region;

pl_evict_region *pl_evict_region_new(const pl_evict_items *items, pl_arena *arena);
void pl_evict_region_gone(pl_evict_online *online, int item); /* it has just gone     */
void pl_evict_region_back(pl_evict_online *online, int item); /* ... come back        */

#endif
