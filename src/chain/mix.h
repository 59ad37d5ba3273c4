/* chain/mix.h - choices of a chain under a memory cap that no price of memory finds: mixtures of
 * known ones (search/mix.h). */
#ifndef PL_CHAIN_MIX_H
#define PL_CHAIN_MIX_H
#include "chain/ring.h"
#include "search/mix.h"

/* The values of the choices known[] are the ingredients where there are too many to take all: of
 * the first two, then of all. `like` has potentials for about that price (NULL: none). */
void pl_mix_chain(const pl_chain *chain, const pl_ring *like, int n_known, int *const *known,
                  pl_mix *mix, pl_arena *out);

#endif
