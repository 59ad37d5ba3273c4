/* data/fill.h - elements of a device's part of a tensor: by a law of random numbers on the global
 * element index, or from where the whole is stored. Every device that holds an element, under any
 * plan, gets the same. */
#ifndef PL_DATA_FILL_H
#define PL_DATA_FILL_H
#include "base/rng.h"
#include "import/tensor.h"
#include "program/program.h"

/* Elements [at, at + n) of a part; in the whole they stand `step` apart from `global` on. */
typedef struct pl_fill_run {
    int64_t at, n, global, step;
} pl_fill_run;

/* Call `put` for runs that make up the part, in any order, from several threads. */
void pl_fill_runs(const pl_port *port,
                  void (*put)(const void *of, const pl_fill_run *r, void *part), const void *of,
                  void *part);

typedef enum pl_law_kind {
    PL_LAW_CONSTANT, /* x                                    */
    PL_LAW_NORMAL,   /* mean 0, deviation x                  */
    PL_LAW_UNIFORM,  /* in [-x, x)                           */
    PL_LAW_BELOW,    /* whole numbers in [0, x)              */
    PL_LAW_ZIPF,     /* the same, by Zipf's law              */
} pl_law_kind;

typedef struct pl_law {
    pl_law_kind kind;
    double x, exponent; /* exponent: of Zipf's law                        */
    pl_rng rng;
    int64_t first;      /* so many elements of the stream lie before ours */
} pl_law;

void pl_fill_law(const pl_port *port, const pl_law *law, void *part);

/* Can elements of a type be stored as another one with the same value, for some or all of them:
 * both are floats, or both whole numbers? */
bool pl_fill_converts(pl_type from, pl_type to);

/* Is every element of a tensor, which is in memory, also one of type `to`? Fails with PL_EINPUT
 * naming the tensor and the first that is not. */
PL_MUST_CHECK bool pl_fill_is_exact(const pl_tensor *tensor, pl_type to, pl_err *err);

/* Elements first, first + step, ... of a tensor, which is in memory, n in all, into elements
 * [at, at + n) of an array of a type that it converts to. */
void pl_fill_take(const pl_tensor *tensor, int64_t first, int64_t step, int64_t n, pl_type to,
                  void *array, int64_t at);

/* Where the elements of a whole are stored: in one tensor of its shape, or in n, its rows along the
 * first dimension, one after another. */
typedef struct pl_stack {
    int n; /* 0: nowhere */
    const pl_tensor *tensor; /* [n] */
} pl_stack;

/* n floats to another type, as casts round them. */
void pl_fill_round(pl_type type, int64_t n, const float from[], void *to);

/* The port's part of a whole that is in memory, and not nowhere. */
void pl_fill_stack(const pl_port *port, const pl_stack *stack, void *part);

#endif
