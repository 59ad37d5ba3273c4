/* program/forecast_stages.h - what a step of a plan in stages will take: what the passes of each
 * rank take by themselves, as one micro-batch's program has them, played as the schedule says. No
 * micro-batch is looked at but one. */
#ifndef PL_PROGRAM_FORECAST_STAGES_H
#define PL_PROGRAM_FORECAST_STAGES_H
#include "program/forecast.h"
#include "schedules/play.h"

typedef struct pl_stages_forecast {
    pl_pass_costs costs;        /* seconds of passes, bytes that they hold     */
    pl_pipeline_times times;    /* of all passes of a step                     */
    double *update;             /* [places] seconds                            */
    double step_seconds;
    pl_forecast_memory *memory; /* [places]                                    */
} pl_stages_forecast;

/* program[c] is that of a rank at place c of the axis of the stages, of the plan's graph of one
 * micro-batch; of a place that is like one before it, like[c] (pl_stages_alike; else c itself),
 * that one's says it all. f[c] becomes what pl_forecast_make says of it, but for the seconds of a
 * step and for memory, of which a rank holds as many micro-batches as the schedule has under way
 * there. `out` owns the arrays of s, `of_f` those of f.
 *
 * speed[c]: of the devices there; places that are alike have the same.
 *
 * Not modelled: that messages of gradients pass while a rank waits for other stages. */
void pl_forecast_stages(int n, const pl_program *const program[], const int like[],
                        const pl_speed speed[], pl_arena *out, pl_arena *of_f, pl_forecast f[],
                        pl_stages_forecast *s);

#endif
