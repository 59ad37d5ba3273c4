/* program/forecast.h - what a step of a program will take: its two lanes played through with the
 * figures of a cluster, and what its memory holds when it holds most. Nothing is run. */
#ifndef PL_PROGRAM_FORECAST_H
#define PL_PROGRAM_FORECAST_H
#include "graph/shorten.h"
#include "placement/speed.h"
#include "program/program.h"

/* Bytes of one device at the moment when most is in use. The items add up to `peak`. */
typedef struct pl_forecast_memory {
    int64_t weights;     /* states that are neither of the next                                  */
    int64_t optimizer;   /* states that the update of a weight changes beside it: moments        */
    int64_t gradients;   /* of weights, from their first term to their update, sums over
                            micro-batches; these, which are states, alone:                       */
    int64_t sums;
    int64_t activations; /* made in the forward pass (not of states alone) and read in the
                            backward pass                                                        */
    int64_t buffers;     /* blocks that go out or come in (PL_OUTGOING, PL_INCOMING)             */
    int64_t transient;   /* all else that is live then, and what the layouts leave unused        */
    int64_t peak;        /* store->bytes + work_bytes                                            */
    int64_t host;        /* beside all that, in the host's memory: store->host_bytes + host_bytes */
} pl_forecast_memory;

typedef struct pl_forecast {
    double step_seconds;    /* of all micro-batches: each from the first step's start to the last
                               one's end                                                         */
    double device_seconds;  /* the same where no device waits for its host: pl_speed.launch      */
    double micro_seconds;   /* of one but the last; 0: there is one                              */
    double compute_seconds; /* of kernels and copies, added up                                   */
    double again_seconds;   /* of those the kernels of forward nodes that run a second time: what
                               is recomputed                                                     */
    double launch_seconds;  /* of the host, to hand over all kernels                             */
    double comm_seconds;    /* of messages, added up                                             */
    double exposed_seconds; /* step_seconds - compute_seconds: waiting for messages, or the host */
    double bubble_seconds;  /* of these: waiting for other stages of a pipeline                  */
    int64_t comm_bytes;     /* that the rank receives                                            */
    double host_seconds;    /* of copies to and from the host's memory, added up                 */
    int64_t host_moved;     /* bytes of these                                                    */
    double host_kernel_seconds; /* of kernels that the host runs, added up                       */
    pl_forecast_memory memory;
    double *begin, *end;    /* [n_steps] seconds, of the last micro-batch                        */
    int64_t *live;          /* [n_steps] bytes of the work block in use while the step runs, in
                               whole lines of the layout's alignment                             */
    int peak_step;          /* the first with the most of them                                   */
    const pl_program *program; /* whose steps these are: the one given, but pl_forecast_fold may
                               have to make its buckets larger                                   */
    int *times;             /* [n_steps] pl_forecast_fold: how often each step stands in the
                               whole graph's program; NULL: once                                 */
    const pl_short *few;    /* pl_forecast_fold: whose program that is; NULL: of the whole graph */
} pl_forecast;

/* Messages are handed over in order, when their `wait` and `after` are met. One that has been
 * handed over begins when the links of its axes are free: those that share a mesh axis pass one
 * after the other, in order; others pass side by side, and may overtake. While any message passes,
 * compute goes on at the rate `speed->hidden` (0 .. 1): the rest of the message's time is lost to
 * it. Copies to the host pass in order on a link of their own, those from it on another, and its
 * kernels run one after the other; beside all these compute goes on at the rate
 * `speed->host_hidden`. So faster links or devices never make a step slower, and
 * max(compute, the seconds of any one link) <= step <= compute + comm + host + its kernels, where
 * the host that hands kernels over is not slower: a micro-batch takes no less than that.
 *
 * Not modelled: other ranks that are late, copies that share the memory with kernels, that a rank
 * has no more than a few messages under way at once (run/lane.c), and the scratch of kernels, which
 * only a backend knows. `out` owns the arrays. */
void pl_forecast_make(const pl_program *p, const pl_speed *speed, pl_arena *out, pl_forecast *f);

/* The same of the whole graph that `s` is short of, from the program of the short one: begin, end
 * and live are NULL, and of the bytes that a layout leaves unused there are as many as in the
 * program. `out` owns times. False where no period is found (program/repeat.h): then the whole has
 * to be lowered. */
bool pl_forecast_fold(const pl_program *p, const pl_short *s, const pl_speed *speed,
                      pl_arena *out, pl_forecast *f);

/* What the passes of a rank take by themselves, by their numbers in its row. */
typedef struct pl_pass_times {
    int n_passes;    /* updates included */
    double *seconds; /* [n_passes] 0s    */
} pl_pass_times;

/* Of the program of one micro-batch of a plan in stages. */
void pl_forecast_passes(const pl_program *p, const pl_speed *speed, pl_pass_times *x,
                        pl_arena *tmp);

/* What needs no cluster: sets memory, live and peak_step alone. `out` owns the array. */
void pl_forecast_memory_make(const pl_program *p, pl_arena *out, pl_forecast *f);

/* Seconds of one of p's steps alone. A shift is a send and a receive at once: what is sent then
 * takes none. */
double pl_forecast_step(const pl_program *p, const pl_step *x, const pl_speed *speed);

#endif
