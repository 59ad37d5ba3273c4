/* arena/floors.h - what a search knows of a partial layout: the floor of each section of time,
 * the lowest offset of each buffer that is left, and how to take a step back.
 *
 * A section is a longest stretch of time over which the same buffers are live; those whose buffers
 * are all live in a neighbouring one say nothing more and are left out. Buffers are placed from the
 * bottom up. */
#ifndef PL_ARENA_FLOORS_H
#define PL_ARENA_FLOORS_H
#include "arena/boxes.h"

typedef struct pl_section {
    int64_t floor;    /* nothing that is left lies lower                    */
    int64_t rest;     /* bytes of those left                                */
    int first, n;     /* those left: entries link[first .. first + n)       */
    bool is_dirty;
} pl_section;

typedef struct pl_block {
    int64_t bytes, align, fixed; /* fixed: -1, or where it must lie                       */
    int64_t low;                 /* it cannot lie lower                                   */
    int64_t offset;              /* once placed                                           */
    int first, n;                /* entries                                               */
    int from, to;                /* sections, with those of its gaps                      */
    int kind;                    /* equal blocks have the same                            */
    int item;                    /* its index with the caller                             */
} pl_block;

/* One block in one section. */
typedef struct pl_entry {
    int block, section;
    int slot; /* its position in link[] */
} pl_entry;

typedef struct pl_undo {
    int64_t *at; /* NULL: block `old` was placed */
    int64_t old;
} pl_undo;

typedef struct pl_floors {
    int n_blocks, n_sections;
    pl_block *block;     /* [n_blocks]                                  */
    pl_section *section; /* [n_sections] by time                        */
    pl_entry *entry;     /* by block, then by section                   */
    int *link;           /* by section: entries; first those left       */
    int64_t capacity;
    int64_t work;        /* entries looked at                           */
    unsigned off;        /* techniques left out: INFERENCE, BUFFER_FLOORS */
    int *dirty, n_dirty; /* sections to look at                         */
    int64_t *head, *body;
    struct {
        int n, cap;
        pl_undo *at;
    } log;
    pl_arena *arena;
} pl_floors;

/* NULL when there are more entries than a search can use. */
pl_floors *pl_floors_new(const pl_boxes *boxes, unsigned off, pl_arena *arena);

/* Put a block at its low; raise a floor. Both want pl_floors_spread after them. */
void pl_floors_place(pl_floors *f, int block);
void pl_floors_raise(pl_floors *f, int section, int64_t floor);
void pl_floors_touch(pl_floors *f, int section); /* look at it in the next spread */

/* Raise what must be higher then; false when what is left cannot fit. */
PL_MUST_CHECK bool pl_floors_spread(pl_floors *f);

void pl_floors_undo(pl_floors *f, int mark); /* back to when log.n was mark */

static inline pl_block *pl_floors_left(const pl_floors *f, const pl_section *section, int i)
{
    return &f->block[f->entry[f->link[section->first + i]].block];
}

#endif
