/* cluster/cluster.h - devices and the links between them: what the planner prices with.
 *
 * Devices stand in nested groups: the first link level joins devices, the next one those groups,
 * and so on. Device d is the d-th in the order of the groups, and rank d of a mesh. A node, a rack
 * and a pod are such groups, with no names of their own here.
 *
 * Each number says where it is from (pl_figure). A cluster comes from a name (pl_cluster_find), a
 * text (pl_cluster_parse), or is filled by hand and finished (pl_cluster_finish); then it is const.
 *
 * Not modelled: links that differ between groups of one level (give the slowest), more than one
 * way between two devices, other jobs on the same links. */
#ifndef PL_CLUSTER_CLUSTER_H
#define PL_CLUSTER_CLUSTER_H
#include "base/text.h"
#include "cluster/link.h"

enum {
    PL_CLUSTER_DEVICES = 1 << 20, /* at most; so are the next */
    PL_CLUSTER_CLASSES = 64,
    PL_CLUSTER_LEVELS = 8,
    PL_CLUSTER_PARTS = 4096,
};

typedef struct pl_figure {
    double value;
    const char *source;          /* "V100 data sheet", "measured"; "": not said                   */
} pl_figure;

/* A class of devices. Flops are of dense matmuls. */
typedef struct pl_device_class {
    const char *name;
    pl_figure memory;            /* bytes                                                         */
    pl_figure f32_flops;         /* per second, f32 inputs and sums; peak                         */
    pl_figure bf16_flops;        /* per second, 16-bit inputs, f32 sums (fp16 where there is no
                                    bf16); peak                                                   */
    pl_figure memory_bandwidth;  /* bytes per second, read and written together; peak             */
    pl_figure matmul_efficiency; /* share of the peak flops that large matmuls reach, 0 .. 1      */
    pl_figure stream_efficiency; /* share of the peak bandwidth that element-wise kernels reach   */
    pl_figure kernel_start;      /* seconds that any kernel costs the device                      */
    pl_figure kernel_launch;     /* seconds that the host takes to hand one over, ahead of the
                                    device: a step takes no less than all of them                 */
    pl_figure conv_efficiency;   /* share of the peak flops that convolutions reach, 0 .. 1       */
    pl_figure attention_efficiency; /* the same of fused attention, 0 .. 1                        */
    pl_figure unaligned_efficiency; /* of 16-bit matmuls with rows of no multiple of 16 bytes; half
                                    of it where that is an odd number of elements                 */
    pl_figure tile_rows;         /* numbers of 16 bits in a tile of its matrix unit: the rows of a
                                    product, or its columns, are padded to a multiple of them     */
    pl_figure tile_columns;      /* the same of the others, and of what is summed; 0, 1: none is  */
    pl_figure vector_flops;      /* per second, of element-wise kernels, as achieved              */
    pl_figure memory_exposed;    /* share of the time that a product's operands take from memory
                                    that its computing does not hide, 0 .. 1                      */
    pl_figure host_memory;       /* bytes of the host's memory, its share of them; 0: none        */
    pl_figure host_bandwidth;    /* bytes per second to it, and as many from it at the same time,
                                    when all devices of the host copy                             */
    pl_figure host_stream;       /* bytes per second that the host's processor reads and writes in
                                    element-wise kernels for one device, when it does for all; as
                                    achieved                                                      */
    pl_figure host_overlap;      /* share of the time of both that compute can hide               */
} pl_device_class;

typedef struct pl_level {
    const char *name;            /* "nvlink", "ethernet"                                          */
    int size;                    /* devices, or groups of the level below, that it joins          */
    pl_figure start;             /* seconds per message or collective, whatever its hops          */
    pl_figure latency;           /* seconds per hop                                               */
    pl_figure bandwidth;         /* bytes per second, one direction; see shared                   */
    bool shared;                 /* false: bandwidth of each device to its neighbour. true: of the
                                    one uplink of each group below, divided by its devices        */
    pl_figure overlap;           /* share of a message's time that compute can hide               */
    const char *curve_source;    /* where link.point is from                                      */
    pl_link link;                /* what the planner reads: per_byte is 1 / bandwidth of one device
                                    when all devices of all groups talk at once                   */
} pl_level;

/* So many groups of the outermost level, one after the other, consist of devices of a class. */
typedef struct pl_part {
    int class, count;
} pl_part;

typedef struct pl_cluster {
    const char *name;
    int n_devices;               /* the product of the levels' sizes                              */
    int n_classes;
    pl_device_class *class;
    int n_levels;
    pl_level *level;             /* [n_levels] innermost first                                    */
    int n_parts;
    pl_part *part;               /* counts add up to the outermost level's size                   */
} pl_cluster;

/* What --cluster takes: NODESxDEVICESxKIND (2x8xv100); NxKIND, N devices in nodes as large as the
 * kind's usual ones (64xh100 is 8x8xh100, 4xh100 is 1x4xh100), or N instances of a kind that is one
 * (8xp3.16xlarge); local:N, this machine's N ranks with guessed numbers; else a file. `out` lives
 * in the arena.
 *
 * Fails with PL_EUSAGE on a name that is none of these, with the kinds; with PL_EINPUT on a file,
 * which the message names. */
PL_MUST_CHECK bool pl_cluster_find(const char *text, pl_arena *arena, pl_cluster **out,
                                   pl_err *err);

/* YAML or JSON, the same keys; `file` is for messages and names a cluster that has no name.
 *
 *   schema: pleat.cluster/1
 *   name: two nodes                             (may be left out)
 *   classes:
 *     v100:                                     (of these, only the first three must be there)
 *       memory: 16 GB
 *       f32_flops: {value: 15.7 TFLOP/s, source: V100 data sheet}
 *       memory_bandwidth: 900 GB/s
 *       bf16_flops: 125 TFLOP/s                 (default: f32_flops)
 *       matmul_efficiency: 0.7                  (default, as of the next two)
 *       stream_efficiency: 0.7
 *       kernel_start: 7 us
 *       kernel_launch: 18 us                    (default: 0)
 *       conv_efficiency: 0.7                    (default: matmul_efficiency)
 *       attention_efficiency: 0.5               (default: matmul_efficiency)
 *       unaligned_efficiency: 0.25              (default: matmul_efficiency)
 *       tile_rows: 8                            (default: 1, as of the next)
 *       tile_columns: 128
 *       vector_flops: 15.7 TFLOP/s              (default: f32_flops)
 *       memory_exposed: 0                       (default)
 *       host_memory: 64 GB                      (default: 0, nothing is kept there)
 *       host_bandwidth: 12 GB/s                 (default: 10 GB/s)
 *       host_stream: 20 GB/s                    (default: 10 GB/s)
 *       host_overlap: 1                         (default)
 *   levels:                                     (innermost first)
 *     - {name: nvlink, size: 8, latency: 0.6 us, bandwidth: 150 GB/s}
 *     - name: ethernet
 *       size: 2
 *       latency: 25 us
 *       uplink: 25 Gbit/s                       (one for all devices of a node)
 *       overlap: 0.87                           (default)
 *       start: 0 s                              (default)
 *   groups:                                     (left out: all of the first class)
 *     - {class: v100, count: 2}
 *
 * Any number may be {value:, source:}. A measured level has, for latency and bandwidth, a curve of
 * sizes and times, start included: messages: [[1 KiB, 5 us], [1 MiB, 120 us]].
 *
 * Fails with PL_EINPUT, "FILE: line N: ...", all problems at once where the text is YAML at all. */
PL_MUST_CHECK bool pl_cluster_parse(const char *text, size_t n, const char *file, pl_arena *arena,
                                    pl_cluster **out, pl_err *err);

/* As YAML with all numbers and sources; what it prints parses, and prints the same. */
void pl_cluster_print(const pl_cluster *cluster, pl_text *out);

/* Makes what follows from the rest: n_devices, link of every level (whose points may be set), and
 * checks all. No parts: all groups are of class 0. Fails with PL_EINPUT. */
PL_MUST_CHECK bool pl_cluster_finish(pl_cluster *cluster, pl_arena *arena, pl_err *err);

/* Lay a mesh of n axes over the cluster, the first slowest, the last fastest; the product of their
 * sizes is n_devices. out[i] is what a message costs between neighbours on axis i, while all do it:
 * the slowest of the levels that the axis crosses. Where k devices of a group are on the same axis,
 * one of the k sends out of the group at a time, so that each message has k times the bandwidth of
 * the level; of an exchange, which all k send, exchange_per_byte counts the share of the bytes that
 * crosses the level. An axis of size 1 costs nothing.
 *
 * Fails with PL_EINPUT when an axis would cut a group unevenly: 6 of 8 devices. */
PL_MUST_CHECK bool pl_cluster_axes(const pl_cluster *cluster, int n, const int sizes[],
                                   pl_link out[], pl_err *err);

double pl_cluster_memory(const pl_cluster *cluster); /* bytes of the device with the least */
/* Classes of devices [first, first + n), a bit each; bytes of the one with the least among them. */
uint64_t pl_cluster_classes(const pl_cluster *cluster, int first, int n);
double pl_cluster_memory_among(const pl_cluster *cluster, int first, int n);
double pl_cluster_host_memory(const pl_cluster *cluster); /* of its host, the same */
const pl_device_class *pl_cluster_device(const pl_cluster *cluster, int device);
/* Devices that the levels below it join. */
int pl_cluster_group_size(const pl_cluster *cluster, int level);

const char *pl_cluster_kinds(pl_arena *arena); /* "v100, a100, ..." */
void pl_cluster_words(pl_text *out); /* what pl_cluster_find takes, a line each, for help */

#endif
