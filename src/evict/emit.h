/* evict/emit.h - what is retained, written out as actions. */
#ifndef PL_EVICT_EMIT_H
#define PL_EVICT_EMIT_H
#include "evict/play.h"
#include "evict/retain.h"

/* Plays the whole of it. The peak is the most of retain->load, or less. */
void pl_evict_emit_all(const pl_evict_retain *retain, pl_evict_play *play);

#endif
