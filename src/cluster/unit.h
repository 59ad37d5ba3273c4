/* cluster/unit.h - numbers with a unit, as they stand in a cluster file: "16 GiB", "25 Gbit/s".
 *
 * A bare number is in the base unit: bytes, bytes per second, flops per second, seconds, a share,
 * a count.
 * A blank between number and unit may be left out. */
#ifndef PL_CLUSTER_UNIT_H
#define PL_CLUSTER_UNIT_H
#include "base/text.h"

typedef enum pl_unit {
    PL_UNIT_SHARE,   /* 0.7, 70 %                                 */
    PL_UNIT_COUNT,   /* 128                                       */
    PL_UNIT_BYTES,   /* B KB MB GB TB, KiB MiB GiB TiB            */
    PL_UNIT_RATE,    /* B/s KB/s MB/s GB/s TB/s, Mbit/s Gbit/s ... */
    PL_UNIT_FLOPS,   /* FLOP/s MFLOP/s GFLOP/s TFLOP/s PFLOP/s    */
    PL_UNIT_SECONDS, /* s ms us ns                                */
    PL_N_UNITS
} pl_unit;

/* Whole text -> value in the base unit; false for anything else, NaN and infinities included. No
 * error is set: the caller knows the place. */
PL_MUST_CHECK bool pl_unit_parse(const char *text, pl_unit unit, double *value);

/* The shortest text that pl_unit_parse reads as this very value, with a number of at least 1 where
 * there is one; of those the largest unit. */
const char *pl_unit_text(pl_arena *arena, pl_unit unit, double value);

const char *pl_unit_about(pl_unit unit); /* "a size such as 16 GiB" */

#endif
