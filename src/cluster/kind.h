/* cluster/kind.h - the clusters that have a name: one row of text and numbers each (for the files
 * of this folder). */
#ifndef PL_CLUSTER_KIND_H
#define PL_CLUSTER_KIND_H
#include "cluster/cluster.h"

typedef struct pl_kind {
    const char *name, *about;
    int node;               /* devices that one node usually has                             */
    bool instance;          /* a whole node has this name: NxKIND counts nodes               */
    pl_device_class device; /* its name is that of the devices                               */
    pl_level inside, between; /* the links in a node and between nodes; sizes are not set    */
} pl_kind;

extern const pl_kind pl_kinds[]; /* ends with a row without a name */
extern const pl_kind pl_kind_local; /* ranks of this machine; one level, `inside` */

/* What a cluster file may leave out. */
#define PL_KIND_MATMUL { 0.7, "usual: AutoParallel's share of peak flops" }
#define PL_KIND_STREAM { 0.7, "usual: AutoParallel's share of peak bandwidth" }
#define PL_KIND_ATTENTION { 0.5, "usual: what PyTorch's reaches on an H100, bench/gpu_kernels.csv" }
#define PL_KIND_UNALIGNED { 0.25, "usual: what cuBLAS reaches on an H100, bench/gpu_kernels.csv" }
#define PL_KIND_TILE { 1, "usual: nothing is padded" }
#define PL_KIND_START { 7e-6, "usual: AutoParallel's least time of a kernel" }
#define PL_KIND_LAUNCH { 0, "usual: none, as in CUDA graphs" }
#define PL_KIND_EXPOSED { 0, "usual: none, as in a roofline" }
#define PL_KIND_HOST { 0, "usual: none is used" }
#define PL_KIND_HOST_RATE { 10e9, "usual: PCIe 3.0 x16, less than its peak" }
#define PL_KIND_HOST_STREAM { 10e9, "usual: half of 8 channels of DDR4, an eighth" }
#define PL_KIND_HOST_OVERLAP { 1, "usual: copies have engines of their own" }
/* Two streams at once are both slowed down by 1.1256 (Galvatron): of messages as long as the
 * computation 1 - 0.1256 are hidden. */
#define PL_KIND_OVERLAP { 0.87, "usual: Galvatron's slow-down 1.1256 of both" }

#endif
