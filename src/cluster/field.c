/* The figures of a class of devices and of a level of links, a row each: key, unit, limits, and
 * what is used when the file leaves it out. */
#include "cluster/field.h"
#include "cluster/kind.h"

#include <string.h>

#define CLASS(f) #f, offsetof(pl_device_class, f)
#define LEVEL(f) #f, offsetof(pl_level, f)

// clang-format off
const pl_field pl_field_class[] = {
    { CLASS(memory),            PL_UNIT_BYTES,   0x1p20, 0x1p50, true },
    { CLASS(f32_flops),         PL_UNIT_FLOPS,   1e6,    1e18,   true },
    { CLASS(bf16_flops),        PL_UNIT_FLOPS,   1e6,    1e18,   .like = "f32_flops" },
    { CLASS(memory_bandwidth),  PL_UNIT_RATE,    1e6,    1e15,   true },
    { CLASS(matmul_efficiency), PL_UNIT_SHARE,   1e-3,   1,      false, PL_KIND_MATMUL },
    { CLASS(stream_efficiency), PL_UNIT_SHARE,   1e-3,   1,      false, PL_KIND_STREAM },
    { CLASS(kernel_start),      PL_UNIT_SECONDS, 0,      1,      false, PL_KIND_START },
    { CLASS(kernel_launch),     PL_UNIT_SECONDS, 0,      1,      .usual = PL_KIND_LAUNCH },
    { CLASS(conv_efficiency),   PL_UNIT_SHARE,   1e-3,   1,      .like = "matmul_efficiency" },
    { CLASS(attention_efficiency), PL_UNIT_SHARE, 1e-3, 1, .like = "matmul_efficiency" },
    { CLASS(unaligned_efficiency), PL_UNIT_SHARE, 1e-3, 1, .like = "matmul_efficiency" },
    { CLASS(tile_rows),         PL_UNIT_COUNT,   0,      4096,   .usual = PL_KIND_TILE },
    { CLASS(tile_columns),      PL_UNIT_COUNT,   0,      4096,   .usual = PL_KIND_TILE },
    { CLASS(vector_flops),      PL_UNIT_FLOPS,   1e6,    1e18,   .like = "f32_flops" },
    { CLASS(memory_exposed),    PL_UNIT_SHARE,   0,      1,      .usual = PL_KIND_EXPOSED },
    { CLASS(host_memory),       PL_UNIT_BYTES,   0,      0x1p50, .usual = PL_KIND_HOST },
    { CLASS(host_bandwidth),    PL_UNIT_RATE,    1e6,    1e14,   .usual = PL_KIND_HOST_RATE },
    { CLASS(host_stream),       PL_UNIT_RATE,    1e6,    1e14,   .usual = PL_KIND_HOST_STREAM },
    { CLASS(host_overlap),      PL_UNIT_SHARE,   0,      1,      .usual = PL_KIND_HOST_OVERLAP },
    { 0 },
};

#define START { LEVEL(start), PL_UNIT_SECONDS, 0, 1, .usual = { 0, "usual: none" } }
#define OVERLAP { LEVEL(overlap), PL_UNIT_SHARE, 0, 1, false, PL_KIND_OVERLAP }

const pl_field pl_field_level[] = {
    { LEVEL(latency),   PL_UNIT_SECONDS, 0,   10,   true },
    { LEVEL(bandwidth), PL_UNIT_RATE,    1e3, 1e14, true },
    START,
    OVERLAP,
    { 0 },
};
// clang-format on

const pl_field pl_field_curved[] = { START, OVERLAP, { 0 } };

pl_figure *pl_field_at(const pl_field *field, void *row)
{
    return (pl_figure *)(void *)((char *)row + field->at);
}

const pl_field *pl_field_find(const pl_field *fields, const char *key)
{
    for (; fields->key; fields++)
        if (!strcmp(fields->key, key)) return fields;
    return NULL;
}
