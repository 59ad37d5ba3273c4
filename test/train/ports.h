/* test/train/ports.h - ports by hand: a named tensor, and the part of it that a device would
 * hold. */
#ifndef PL_TEST_PORTS_H
#define PL_TEST_PORTS_H
#include "program/program.h"

static inline pl_value make_value(const char *name, pl_type type, pl_shape shape, const char *init)
{
    return (pl_value){ .name = name, .type = type, .shape = shape, .init = init };
}

static inline pl_port port_of_whole(const pl_value *v)
{
    return (pl_port){ .value = v, .shape = v->shape,
                      .bytes = pl_shape_count(&v->shape) * pl_type_bytes(v->type) };
}

/* Part i of n along one dimension. */
static inline pl_port port_of_part(const pl_value *v, int dim, int n, int i)
{
    pl_port p = port_of_whole(v);
    p.shape.dim[dim] /= n;
    p.lo[dim] = i * p.shape.dim[dim];
    p.bytes /= n;
    return p;
}

#endif
