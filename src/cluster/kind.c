/* The presets: pl_kinds[], a row per machine, built of the macros above it. Peaks are those of
 * the makers' data sheets, dense (without sparsity). What NVLink carries is less than its peak:
 * NCCL's table topo.h has 20 GB/s for a link of 25 GB/s. Latencies inside a node and over
 * InfiniBand or EFA are NCCL's hop times as PyTorch's DTensor has them in its cost model; over
 * TCP half a round trip of some 50 us is assumed. The host's memory is that of a usual machine of
 * such devices, in equal shares; of PCIe's peak three quarters carry a tensor, less where two
 * devices share a switch; of its memory's peak half carries updates of weights. Efficiencies: see
 * kind.h. */
#include "cluster/kind.h"

#define SHEET_K80 "NVIDIA Tesla K80 data sheet, one of its two GPUs"
#define SHEET_V100 "NVIDIA V100 SXM2 data sheet"
#define SHEET_A100 "NVIDIA A100 SXM data sheet"
#define SHEET_H100 "NVIDIA H100 SXM data sheet"
#define SHEET_H200 "NVIDIA H200 SXM data sheet"
#define SHEET_B200 "NVIDIA HGX B200 data sheet, an eighth"
#define SHEET_GB200 "NVIDIA GB200 NVL72 data sheet, a 72nd"
#define SHEET_MI300X "AMD Instinct MI300X data sheet"
#define SHEET_L40S "NVIDIA L40S data sheet"
#define SHEET_L4 "NVIDIA L4 data sheet"
#define SHEET_A10 "NVIDIA A10 data sheet"
#define SHEET_ADA "NVIDIA Ada GPU architecture, RTX 4090"
#define SHEET_GA102 "NVIDIA Ampere GA102 GPU architecture, RTX 3090"
#define USUAL                                                                                      \
    .matmul_efficiency = PL_KIND_MATMUL, .attention_efficiency = PL_KIND_ATTENTION,                \
    .unaligned_efficiency = PL_KIND_UNALIGNED, .stream_efficiency = PL_KIND_STREAM,                \
    .kernel_start = PL_KIND_START, .kernel_launch = PL_KIND_LAUNCH,                                \
    .memory_exposed = PL_KIND_EXPOSED, .host_overlap = PL_KIND_HOST_OVERLAP
#define TILE(N, SOURCE) .tile_rows = { N, SOURCE }, .tile_columns = { N, SOURCE }
#define TENSOR_CORES                                                                               \
    USUAL, TILE(8, "NVIDIA's guide to matrix multiplication: 16 bytes; of others assumed")
#define HOST(MEMORY, MACHINE, RATE, LINK, ...)                                                     \
    .host_memory = { MEMORY, MACHINE ", an equal share" }, .host_bandwidth = { RATE, LINK },       \
    .host_stream = __VA_ARGS__
#define CHANNELS(N, RATE, DIMMS)                                                                   \
    {                                                                                              \
        (N) * (RATE) / 2 / 8, "assumed: half of " #N " channels of " DIMMS ", an eighth"           \
    }
#define DDR4_2400_8 CHANNELS(8, 19.2e9, "DDR4-2400")
#define DDR4_16 CHANNELS(16, 25.6e9, "DDR4-3200")
#define DDR5_16 CHANNELS(16, 38.4e9, "DDR5-4800")
#define PCIE_3_HALF "assumed: PCIe 3.0 x16, 12 of 15.75 GB/s, for two"
#define PCIE_4 "assumed: PCIe 4.0 x16, 24 of 31.5 GB/s"
#define PCIE_4_HALF "assumed: PCIe 4.0 x16, 24 of 31.5 GB/s, for two"
#define PCIE_5 "assumed: PCIe 5.0 x16, 48 of 63 GB/s"

/* name, memory, f32, 16 bits, memory bandwidth */
// clang-format off
#define K80                                                                                        \
    { "k80", { 12e9, SHEET_K80 }, { 4.37e12, SHEET_K80 ", boost clock" },                          \
      { 4.37e12, "none: as f32" }, { 240e9, SHEET_K80 }, USUAL, TILE(1, "none: no tensor cores"),  \
      HOST(61e9, "AWS p2.8xlarge: 488 GiB", 6e9, PCIE_3_HALF, DDR4_2400_8) }
#define V100(NAME, MEMORY)                                                                         \
    { NAME, { MEMORY, SHEET_V100 }, { 15.7e12, SHEET_V100 },                                       \
      { 125e12, SHEET_V100 ", tensor cores, fp16" }, { 900e9, SHEET_V100 }, TENSOR_CORES,          \
      HOST(64e9, "NVIDIA DGX-1: 512 GB", 6e9, PCIE_3_HALF, DDR4_2400_8) }
#define A100(NAME, MEMORY, BANDWIDTH, HOST_MEMORY, MACHINE)                                        \
    { NAME, { MEMORY, SHEET_A100 }, { 19.5e12, SHEET_A100 ", without TF32" },                      \
      { 312e12, SHEET_A100 ", tensor cores, dense" }, { BANDWIDTH, SHEET_A100 }, TENSOR_CORES,     \
      HOST(HOST_MEMORY, MACHINE, 12e9, PCIE_4_HALF, DDR4_16) }
#define H100                                                                                       \
    { "h100", { 80e9, SHEET_H100 }, { 67e12, SHEET_H100 ", without TF32" },                        \
      { 989e12, SHEET_H100 ", tensor cores, dense" }, { 3.35e12, SHEET_H100 }, TENSOR_CORES,       \
      HOST(256e9, "NVIDIA DGX H100: 2 TB", 48e9, PCIE_5, DDR5_16) }
#define H200                                                                                       \
    { "h200", { 141e9, SHEET_H200 }, { 67e12, SHEET_H200 ", without TF32" },                       \
      { 989e12, SHEET_H200 ", tensor cores, dense" }, { 4.8e12, SHEET_H200 }, TENSOR_CORES,        \
      HOST(256e9, "NVIDIA DGX H200: 2 TB", 48e9, PCIE_5, DDR5_16) }

#define GPU(NAME, SHEET, MEMORY, F32, BF16, BANDWIDTH, ...)                                        \
    { NAME, { MEMORY, SHEET }, { F32, SHEET ", without TF32" },                                    \
      { BF16, SHEET ", dense, f32 sums" }, { BANDWIDTH, SHEET }, TENSOR_CORES, HOST(__VA_ARGS__) }
#define B200                                                                                       \
    GPU("b200", SHEET_B200, 180e9, 75e12, 2250e12, 8e12, 256e9, "NVIDIA DGX B200: 2 TB", 48e9,     \
        PCIE_5, DDR5_16)
#define GB200                                                                                      \
    GPU("gb200", SHEET_GB200, 186e9, 80e12, 2500e12, 8e12, 240e9,                                  \
        "NVIDIA GB200: 480 GB for two", 150e9, "assumed: NVLink-C2C, 300 of 450 GB/s, for two", \
        { 128e9, "assumed: half of Grace's 512 GB/s, for two" })
#define MI300X                                                                                     \
    GPU("mi300x", SHEET_MI300X, 192e9, 163.4e12, 1307.4e12, 5.3e12, 256e9, "assumed: 2 TB", 48e9,  \
        PCIE_5, DDR5_16)
#define L40S                                                                                       \
    GPU("l40s", SHEET_L40S, 48e9, 91.6e12, 362.05e12, 864e9, 96e9, "assumed: 768 GB", 24e9,        \
        PCIE_4, DDR4_16)
#define L4                                                                                         \
    GPU("l4", SHEET_L4, 24e9, 30.3e12, 121e12, 300e9, 48e9, "assumed: 384 GB", 24e9,               \
        PCIE_4, DDR4_16)
#define A10                                                                                        \
    GPU("a10", SHEET_A10, 24e9, 31.2e12, 125e12, 600e9, 96e9, "AWS g5.48xlarge: 768 GiB", 24e9,    \
        PCIE_4, DDR4_16)
#define RTX4090                                                                                    \
    GPU("rtx4090", SHEET_ADA, 24e9, 82.6e12, 165.2e12, 1008e9, 64e9, "assumed: 512 GB", 24e9,      \
        PCIE_4, DDR4_16)
#define RTX3090                                                                                    \
    GPU("rtx3090", SHEET_GA102, 24e9, 35.6e12, 71e12, 936e9, 64e9, "assumed: 512 GB", 24e9,        \
        PCIE_4, DDR4_16)

#define LEVEL(NAME, LATENCY, LATENCY_SOURCE, SHARED, BANDWIDTH, BANDWIDTH_SOURCE)                  \
    { .name = NAME, .start = { 6.6e-6, "DTensor: of any collective" },                             \
      .latency = { LATENCY, LATENCY_SOURCE }, .shared = SHARED,                                    \
      .bandwidth = { BANDWIDTH, BANDWIDTH_SOURCE }, .overlap = PL_KIND_OVERLAP }
#define NVLINK(BANDWIDTH, SOURCE)                                                                  \
    LEVEL("nvlink", 0.6e-6, "NCCL's NVLink hop, as in DTensor", false, BANDWIDTH, SOURCE)
#define NVLINK2 NVLINK(120e9, "6 links of 20 GB/s: NCCL's table for SM70")
#define NVLINK3 NVLINK(240e9, "12 links of 20 GB/s: NCCL's table for SM80")
#define NVLINK4 NVLINK(370.8e9, "18 links of 20.6 GB/s: NCCL's table for SM90")
#define NVLINK5 NVLINK(721.8e9, "18 links of 40.1 GB/s: NCCL's table for SM100")
#define INFINITY                                                                                   \
    LEVEL("infinity", 0.6e-6, "assumed: as NVLink's hop", false, 448e9,                            \
          SHEET_MI300X ": 7 links of 64 GB/s, peak")
#define PCIE4                                                                                      \
    LEVEL("pcie", 10e-6, "assumed: a copy between GPUs over PCIe", false, 24e9,                    \
          "PCIe 4.0 x16: NCCL's table; less without peer to peer")
#define FABRIC(NAME, BANDWIDTH, SOURCE)                                                            \
    LEVEL(NAME, 2.7e-6, "NCCL's network hop, as in DTensor", true, BANDWIDTH, SOURCE)
#define ETHERNET(BANDWIDTH, SOURCE)                                                                \
    LEVEL("ethernet", 25e-6, "assumed: TCP, half a round trip", true, BANDWIDTH, SOURCE)
#define GBIT 125e6

const pl_kind pl_kinds[] = {
    { "v100", "16 GB, NVLink; 25 Gbit/s Ethernet per node", 8, false, V100("v100", 16e9), NVLINK2,
      ETHERNET(25 * GBIT, "25 Gbit/s per node, as in the papers of Alpa and Rhino") },
    { "v100-32gb", "32 GB, else the same: the nodes of TAPAS", 8, false, V100("v100-32gb", 32e9),
      NVLINK2, ETHERNET(25 * GBIT, "25 Gbit/s per node, as in the papers of Alpa and Rhino") },
    { "a100", "40 GB, NVLink; 8 x 200 Gbit/s InfiniBand per node", 8, false,
      A100("a100", 40e9, 1.555e12, 128e9, "NVIDIA DGX A100: 1 TB"), NVLINK3,
      FABRIC("infiniband", 1600 * GBIT, "NVIDIA DGX A100 data sheet: 8 x 200 Gbit/s") },
    { "a100-80gb", "80 GB, else the same", 8, false,
      A100("a100-80gb", 80e9, 2.039e12, 256e9, "NVIDIA DGX A100: 2 TB"), NVLINK3,
      FABRIC("infiniband", 1600 * GBIT, "NVIDIA DGX A100 data sheet: 8 x 200 Gbit/s") },
    { "h100", "80 GB, NVLink; 8 x 400 Gbit/s InfiniBand per node", 8, false, H100, NVLINK4,
      FABRIC("infiniband", 3200 * GBIT, "NVIDIA DGX H100 data sheet: 8 x 400 Gbit/s") },
    { "h200", "141 GB, else the same", 8, false, H200, NVLINK4,
      FABRIC("infiniband", 3200 * GBIT, "NVIDIA DGX H200 data sheet: 8 x 400 Gbit/s") },
    { "b200", "180 GB, NVLink; 8 x 400 Gbit/s InfiniBand per node", 8, false, B200, NVLINK5,
      FABRIC("infiniband", 3200 * GBIT, "NVIDIA DGX B200 data sheet: 8 x 400 Gbit/s") },
    { "gb200", "186 GB, NVLink in a rack of 72; 400 Gbit/s each", 72, false, GB200, NVLINK5,
      FABRIC("infiniband", 28800 * GBIT, "NVIDIA DGX GB200: 72 x 400 Gbit/s per rack") },
    { "mi300x", "192 GB, Infinity Fabric; 8 x 400 Gbit/s per node", 8, false, MI300X, INFINITY,
      FABRIC("network", 3200 * GBIT, "assumed: 400 Gbit/s for each GPU") },
    { "l40s", "48 GB, PCIe; 100 Gbit/s Ethernet per node", 8, false, L40S, PCIE4,
      ETHERNET(100 * GBIT, "assumed: 100 Gbit/s per node") },
    { "l4", "24 GB, PCIe; 100 Gbit/s Ethernet per node", 8, false, L4, PCIE4,
      ETHERNET(100 * GBIT, "assumed: 100 Gbit/s per node") },
    { "a10", "24 GB, PCIe; 100 Gbit/s Ethernet per node", 8, false, A10, PCIE4,
      ETHERNET(100 * GBIT, "assumed: 100 Gbit/s per node") },
    { "rtx4090", "24 GB, PCIe; 10 Gbit/s Ethernet per node", 8, false, RTX4090, PCIE4,
      ETHERNET(10 * GBIT, "assumed: 10 Gbit/s per node") },
    { "rtx3090", "24 GB, PCIe; 10 Gbit/s Ethernet per node", 8, false, RTX3090, PCIE4,
      ETHERNET(10 * GBIT, "assumed: 10 Gbit/s per node") },
    { "k80", "12 GB, PCIe; 10 Gbit/s Ethernet per node", 8, false, K80,
      LEVEL("pcie", 10e-6, "assumed: a copy between GPUs over PCIe", false, 21e9,
            "Tofu, section 7: 21 GB/s from peer to peer"),
      ETHERNET(10 * GBIT, "10 Gbit/s per node, as p2.8xlarge") },
    { "p2.8xlarge", "8 k80: the machine of Tofu; 10 Gbit/s", 8, true, K80,
      LEVEL("pcie", 10e-6, "assumed: a copy between GPUs over PCIe", false, 21e9,
            "Tofu, section 7: 21 GB/s from peer to peer"),
      ETHERNET(10 * GBIT, "AWS: p2.8xlarge, 10 Gbit/s") },
    { "p3.16xlarge", "8 v100 of 16 GB: the machine of Alpa; 25 Gbit/s", 8, true,
      V100("v100", 16e9), NVLINK2, ETHERNET(25 * GBIT, "AWS: p3.16xlarge, 25 Gbit/s") },
    { "p4d.24xlarge", "8 a100 of 40 GB; 400 Gbit/s EFA", 8, true,
      A100("a100", 40e9, 1.555e12, 144e9, "AWS p4d.24xlarge: 1152 GiB"),
      NVLINK3, FABRIC("efa", 400 * GBIT, "AWS: p4d.24xlarge, 400 Gbit/s") },
    { "p5.48xlarge", "8 h100; 3200 Gbit/s EFA", 8, true, H100, NVLINK4,
      FABRIC("efa", 3200 * GBIT, "AWS: p5.48xlarge, 3200 Gbit/s") },
    { 0 },
};

/* A rank is a thread or a few; a modest core of today. */
#define GUESS "guess; pleat probe measures"
const pl_kind pl_kind_local = {
    "local", "ranks of this machine", 1, false,
    { "local", { 8e9, GUESS }, { 50e9, GUESS }, { 50e9, GUESS }, { 10e9, GUESS },
      { 0.7, GUESS }, { 0.7, GUESS }, { 2e-6, GUESS }, .memory_exposed = { 1, GUESS },
      TILE(1, "none: a CPU"),
      .host_memory = { 8e9, GUESS }, .host_bandwidth = { 5e9, GUESS },
      .host_stream = { 7e9, GUESS },
      .host_overlap = { 0, "none: all cores compute" } },
    { .name = "cores", .start = { 0, GUESS }, .latency = { 5e-6, GUESS },
      .bandwidth = { 10e9, GUESS }, .overlap = { 0, "none: all cores compute" } },
    { 0 },
};
// clang-format on
