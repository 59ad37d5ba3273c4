/* test/support/ports.h - ports by hand: a named tensor, and the part of it that a device would
 * hold. */
#ifndef PL_TEST_PORTS_H
#define PL_TEST_PORTS_H
#include "program/program.h"

static inline pl_value make_value(const char *name, pl_type type, pl_shape shape, const char *init)
{
    return (pl_value){ .name = name, .type = type, .shape = shape, .init = init };
}

/* The part that device `rank` of a mesh holds. Its region stays until so many more are made. */
static inline pl_port port_of(const pl_value *v, pl_placement where, const pl_mesh *m, int rank)
{
    static pl_region room[32];
    static int made;
    pl_region *region = &room[made++ % 32];
    pl_shape largest = pl_placement_local(&where, m, &v->shape, 0);
    *region = pl_region_of(&where, m, &v->shape, rank);
    return (pl_port){ .value = v,
                      .where = where,
                      .shape = pl_placement_local(&where, m, &v->shape, rank),
                      .region = region,
                      .bytes = pl_shape_count(&largest) * pl_type_bytes(v->type) };
}

static inline pl_port port_of_whole(const pl_value *v)
{
    return port_of(v, (pl_placement){ 0 }, &(pl_mesh){ 0 }, 0);
}

/* Part i of n along one dimension. */
static inline pl_port port_of_part(const pl_value *v, int dim, int n, int i)
{
    pl_placement where = { 0 };
    pl_placement_split(&where, dim, 0);
    return port_of(v, where, &(pl_mesh){ 1, { { .name = "d", .size = n } } }, i);
}

#endif
