/* chain/at_price.h - both sums of a pair as one: price sum[0] + (1 - price) sum[1]. */
#ifndef PL_CHAIN_AT_PRICE_H
#define PL_CHAIN_AT_PRICE_H
#include "chain/pair.h"

/* 0 <= price <= 1; what is illegal in either sum is. Tables are the pair's where they are alike. */
pl_chain pl_chain_at_price(pl_chain_pair pair, double price, pl_arena *arena);

#endif
