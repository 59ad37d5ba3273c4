/* program/forecast_memory.h - how what is alive changes from step to step, private to program/. */
#ifndef PL_PROGRAM_FORECAST_MEMORY_H
#define PL_PROGRAM_FORECAST_MEMORY_H
#include "program/forecast.h"
#include "program/repeat.h"

/* [steps] the kernel of a forward node whose kernel has run before: recomputed; of no cast of a
 * weight. */
const bool *pl_forecast_again(const pl_program *p, pl_arena *out);

pl_memory_changes pl_forecast_changes(const pl_program *p, pl_arena *out);

/* Sets memory, live and peak_step of a program as it stands. `out` owns live. */
void pl_forecast_live(const pl_timeline *plain, pl_arena *out, pl_forecast *f);

/* Sets memory and peak_step, and live where it has room: [t->n]. */
void pl_forecast_peak(const pl_timeline *t, const pl_memory_changes *c, pl_forecast *f);

#endif
