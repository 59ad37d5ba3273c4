/* placement/speed.h - what the figures of a cluster mean to a plan on it: which links the axes of a
 * mesh cross, and how long its slowest device takes for its share of a node: a roofline (Williams
 * et al., CACM 2009), rounded off where a device hides less, and the time to start a kernel. */
#ifndef PL_PLACEMENT_SPEED_H
#define PL_PLACEMENT_SPEED_H
#include "cluster/cluster.h"
#include "placement/placement.h"

typedef struct pl_speed {
    double flops[PL_N_TYPES]; /* per second, of products of this element type, as achieved */
    double windows;           /* convolutions reach so much of flops[]; 0: all             */
    double fused;             /* products fused with what is between them do; 0: all       */
    double unaligned;         /* 16-bit products do whose rows are no multiple of 16 bytes;
                                 half as much for odd rows; 0: all                     */
    int64_t tile[2];          /* rows and columns of a matrix unit's tile, which 16-bit
                                 products are padded to; 0: none                         */
    double vector;            /* flops per second of all else; 0: those of products        */
    double stream;            /* bytes of memory per second, read or written, as achieved  */
    double start;             /* seconds to start a kernel                                 */
    double launch;            /* seconds of the host for each, ahead of the device       */
    double exposed;           /* of a product: share of the shorter of computing and memory
                                 that the longer does not hide; 0: a roofline              */
    double hidden;            /* share of the time of messages of states and their gradients
                                 that passes beside computing                              */
    double host_hidden;       /* the same of copies to and from the host, and its kernels  */
    double host_stream;       /* bytes per second of the host in its kernels               */
} pl_speed;

/* Of the slowest device of a cluster; a share of `hidden` messages of states passes unnoticed. */
pl_speed pl_speed_of(const pl_cluster *c);

/* The same of devices [first, first + n) alone. */
pl_speed pl_speed_among(const pl_cluster *c, int first, int n);

/* Gives the axes of a mesh the links that they cross. Fails with PL_EINPUT when one would cut a
 * group of devices unevenly. */
PL_MUST_CHECK bool pl_speed_links(pl_mesh *m, const pl_cluster *c, pl_err *err);

enum { PL_SPEED_ROW = 8 }; /* numbers of 16 bits in 16 bytes, which tensor cores load at a time */

/* How many numbers are in a row of a 16-bit product's operand or result that is no multiple of 16
 * bytes, odd ones rather than others; 0: all rows are, or it is no such product. */
int64_t pl_speed_ragged(const pl_share *s);

/* Is it a product that a matrix unit has tiles for? */
bool pl_speed_is_tiled(const pl_share *s, const pl_speed *speed);
/* Products that a matrix unit computes for each of a product's, >= 1: the rest is of zeros
 * that fill its tiles. Letters of a kind (rows, columns, sums) count as one dimension, but for taps
 * of a window, which are products of their own. */
double pl_speed_padding(const pl_share *s, const pl_speed *speed);

/* Seconds; 0 for a view. An empty share costs its start. */
double pl_speed_share(const pl_share *s, const pl_speed *speed);

/* Seconds of the host for a kernel that works element by element. */
double pl_speed_host_share(const pl_share *s, const pl_speed *speed);

#endif
