/* report/compare.h - two plans of one model side by side: where the seconds and the bytes of a step
 * differ, and the first reason in one sentence. */
#ifndef PL_REPORT_COMPARE_H
#define PL_REPORT_COMPARE_H
#include "program/forecast.h"
#include "program/summary.h"

/* A plan as a program of rank 0, what its step will take and its messages. */
typedef struct pl_compare_side {
    const char *name;            /* as a sentence has it: "dp=16", "the found plan"              */
    const pl_program *program;
    const pl_forecast *forecast;
    const pl_summary *summary;
} pl_compare_side;

/* Messages of one kind over links alike (as many devices, equal figures), on both sides. */
typedef struct pl_compare_row {
    pl_collective collective;
    const char *tensor;          /* as in a summary; in a kind what tensors are: "gradients"     */
    const char *axes[2];         /* names of the mesh axes on each side; NULL: none there        */
    int64_t count[2], bytes[2];
    double seconds[2];           /* one after another                                            */
} pl_compare_row;

enum { PL_COMPARE_ITEMS = 6 };

typedef struct pl_compare_item {
    const char *name;            /* "weights"                                                    */
    int64_t bytes[2];
} pl_compare_item;

/* Index 0 is the one asked about, 1 what it is compared with. */
typedef struct pl_compare {
    const char *name[2];
    double step[2], compute[2], messages[2], exposed[2]; /* seconds; step = compute + exposed    */
    double bubble[2];            /* seconds of these: waiting for other stages                   */
    double again[2];             /* seconds of computing: what is not kept                       */
    int64_t peak[2];             /* bytes of one device, the sum of the items                    */
    pl_compare_item memory[PL_COMPARE_ITEMS];
    int n;
    pl_compare_row *row;         /* [n] the largest difference of seconds first                  */
    int n_kinds;
    pl_compare_row *kind;        /* [n_kinds] the same, of all gradients, weights, activations   */
} pl_compare;

/* `out` owns the rows. */
void pl_compare_make(const pl_compare_side *asked, const pl_compare_side *other, pl_arena *out,
                     pl_compare *c);

/* Why [1] rather than [0]: "dp=16 does not fit: it needs 23.1 GiB of 16.0 GiB (weights 6.2 GiB,
 * ...)", or what makes it slower. `cap`: bytes of a device that a plan may take; INFINITY: no
 * limit. */
const char *pl_compare_sentence(const pl_compare *c, double cap, pl_arena *out);

/* The same in fewer words, where [1] is what is told of already and needs no name. */
const char *pl_compare_brief(const pl_compare *c, double cap, pl_arena *out);

#endif
