/* layouts/layout.h - a published way to split a model: its words, its axes of the mesh, how it cuts
 * a linear layer, and where it keeps states. Each is one file here, and one row of the list
 * (list.h); parsing, help, manual, `pleat doctor` and the planners read that list.
 *
 * A layout only says where a few things lie: everything else follows from them (propagate.h). */
#ifndef PL_LAYOUTS_LAYOUT_H
#define PL_LAYOUTS_LAYOUT_H
#include "graph/graph.h"
#include "plan/plan.h"

struct pl_strategy;
struct pl_layer;

enum { PL_WORD_NAME = -1, PL_WORD_PATH = -2 }; /* for pl_word.n_sizes */

/* A word of the strategy language: a name, and sizes joined by x. */
typedef struct pl_word {
    const char *name;  /* "tp=2d:"                                                     */
    const char *form;  /* "tp=2d:QxQ"                                                  */
    int n_sizes;       /* 2; PL_WORD_NAME: a name takes their place                    */
    const char *kind;  /* "tp or grid": of the words of one kind a strategy has one    */
    const char *about; /* a line for the help                                          */
    /* Adds the axes it takes (pl_strategy_axis). Fails with PL_EUSAGE. NULL: it takes none. */
    bool (*say)(struct pl_strategy *s, const struct pl_word *word, const int size[3], pl_err *err);
} pl_word;

/* What an axis is for. */
enum {
    PL_AXIS_BATCH = 1,     /* splits the rows of every input: gradients are pending over it       */
    PL_AXIS_ROWS = 2,      /* splits rows of inputs, as far as there are enough                   */
    PL_AXIS_LAYERS = 4,    /* splits linear layers: one at least, or the strategy is refused;
                              states that no layer reads are stored as they are read first        */
    PL_AXIS_ROAM = 8,      /* between layers it may split any factor (propagate.h)              */
    PL_AXIS_BACKWARD = 16, /* so it may in the backward pass                                      */
    PL_AXIS_INNER = 32,    /* of rows it takes the innermost factor with room, not the outermost  */
    PL_AXIS_POSITIONS = 64, /* splits positions of inputs: gradients are pending over it too      */
    PL_AXIS_EXCHANGE = 128  /* between layers factors are exchanged rather than gathered          */
};

/* Where states of a kind are kept, beyond what the layers say: over these axes of the mesh too, one
 * after the other, the first of which decides whether the others are tried. */
typedef struct pl_rest {
    int n, axis[3];
    uint8_t regather; /* of weights: axes over which the backward pass gathers them again */
} pl_rest;

/* When a planner tries a layout that it did not find itself. */
enum {
    PL_OFFER_KNOWN = 1,  /* people look for it: it is listed, also where it is refused */
    PL_OFFER_LARGER = 2, /* with larger N, too, as long as that may be the fastest     */
    PL_OFFER_LATER = 4,  /* few of its blocks at first, all if that may be the fastest */
    PL_OFFER_SMALL = 8,  /* it takes least memory                                      */
    PL_OFFER_TIGHT = 16, /* only where memory binds: it trades time for memory         */
    PL_OFFER_SHORT = 32, /* only where it binds so that nothing fits, or that the best
                            recomputes                                                 */
    PL_OFFER_TABLES = 64, /* only of models most of whose weights are looked up in     */
    PL_OFFER_PARTS = 128, /* only of models of several objectives                      */
};

/* The text of a strategy, in which N stands for the size of a group, M for the number of groups,
 * and K for the size of groups within these: such a one needs two groups at least. */
typedef struct pl_offer {
    const char *text; /* "zero=3,tp=N,sp" */
    unsigned when;
} pl_offer;

/* What a model may have. */
enum {
    PL_HAS_EXPERTS = 1,
    PL_HAS_POSITIONS = 2,
    PL_HAS_TABLES = 4,
    PL_HAS_OBJECTIVES = 8,
    PL_HAS_STACKS = 16, /* tables that stand in one */
};

/* Texts of strategies are collected (pl_strategy_all). */
typedef struct pl_texts pl_texts;

typedef struct pl_layout {
    const char *name;       /* that of its file                                  */
    const char *about;      /* whose it is: authors, venue, year                 */
    const pl_word *words;   /* ends with a row without a name                    */
    const pl_offer *offers; /* the same; or NULL                                 */
    const char *split;      /* what its axes split, for messages: "experts"; NULL:
                               "linear layer"                                    */
    unsigned needs;         /* of a model, for what `list` adds: PL_HAS_...      */
    /* All below may be NULL. */
    /* All words are read and every axis has its size: do they fit each other? PL_EUSAGE if not. */
    bool (*settle)(struct pl_strategy *s, pl_err *err);
    /* Splits inputs beyond their rows. Fails with PL_EINPUT when nothing can be split. */
    bool (*inputs)(pl_plan *p, pl_err *err);
    /* Decides what its axes do in a linear layer (layer.h). */
    void (*layer)(struct pl_layer *x);
    pl_rest (*rest)(const struct pl_strategy *s, pl_state_kind kind);
    /* The plan is made: says what is made again, lies elsewhere, or is of another stage. Fails with
     * PL_EINPUT when there is nothing. `like`: pl_strategy_plan. `out` owns what it adds. */
    bool (*finish)(const struct pl_strategy *s, pl_plan *p, const pl_plan *like, pl_arena *out,
                   pl_err *err);
    /* Adds strategies that are worth verifying on n devices (pl_texts_add). */
    void (*list)(pl_texts *out, int n_devices);
} pl_layout;

extern const pl_layout *const pl_layouts[]; /* in the order of the mesh; ends with NULL */

void pl_layout_data_axis(struct pl_strategy *s, int size); /* it takes what others leave over */

/* Adds the text of a strategy; those that are none on so many devices are left out. */
void pl_texts_add(pl_texts *t, const char *text);
/* The same with sizes: "grid:NxNxN". */
void pl_texts_fmt(pl_texts *t, const char *fmt, ...) PL_PRINTF(2, 3);

#endif
