/* reshard/convert_map.h - the placements that moves of one axis at a time lead a tensor to, and
 * what those moves cost: each found when it is asked for, and then known. */
#ifndef PL_RESHARD_CONVERT_MAP_H
#define PL_RESHARD_CONVERT_MAP_H
#include "base/map.h"
#include "reshard/reshard.h"

enum { PL_MOST_DIGITS = 24 };

/* A placement. Its moves: for each axis one group of 1 + n_digits of them, the first to where the
 * axis does nothing (from where it does nothing: to a sum pending), the others to where it splits
 * this digit; and behind them those of several axes. */
typedef struct pl_place {
    pl_placement where;
    unsigned found;   /* bits: axes whose group of moves is known             */
    bool open;        /* all moves are known                                  */
    bool seen;        /* what follows is known                                */
    bool plain;       /* sees no windows                                      */
    bool even;        /* all devices hold equally much                        */
    pl_shape local;   /* of rank 0's part, the largest                        */
    int64_t count;    /* its elements                                         */
    int n_moves;
    int *to;          /* [n_moves] a place; -1: no move                       */
    double *seconds;  /* [n_moves] INFINITY: none; NAN: see pl_convert_map_price */
    uint8_t *axes;    /* [n_moves - groups] of those of several axes          */
} pl_place;

typedef struct pl_convert_map {
    const pl_mesh *mesh;
    pl_type type;
    pl_shape shape;
    pl_arena *arena;
    int n_digits;
    pl_split digit[PL_MOST_DIGITS];
    int n, cap;
    pl_place **at;    /* [n]                          */
    pl_map map;       /* of the places, by placement  */
    struct {
        int n, cap;
        int *at;
    } mark;           /* [n] of the places, the caller's; 0 at first */
} pl_convert_map;

pl_convert_map *pl_convert_map_new(const pl_mesh *m, pl_type type, const pl_shape *shape,
                                   int n_digits, const pl_split digit[], pl_arena *arena);

/* The place of a placement in normal form. */
int pl_convert_map_add(pl_convert_map *x, const pl_placement *where);

/* Finds all moves from a place, and the place itself (`seen`). */
void pl_convert_map_open(pl_convert_map *x, int place);

/* The place that is left when the parts of an axis that splits something are put together; -1:
 * there is none. */
int pl_convert_map_gather(pl_convert_map *x, int place, int axis);

/* The seconds of a move from a place that is open. */
double pl_convert_map_price(pl_convert_map *x, int place, int move);

#endif
