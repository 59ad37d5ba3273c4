/* program/forecast_memory.h - what the memory of a program holds, step by step; private to
 * program/: for the forecast. */
#ifndef PL_PROGRAM_FORECAST_MEMORY_H
#define PL_PROGRAM_FORECAST_MEMORY_H
#include "program/forecast.h"

/* Sets memory, live and peak_step. `out` owns the array. */
void pl_forecast_memory_find(const pl_program *p, pl_arena *out, pl_forecast *f);

#endif
