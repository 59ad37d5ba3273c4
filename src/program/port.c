#include "program/program.h"

#include <string.h>

int64_t pl_port_global(const pl_port *p, int64_t i)
{
    int64_t step[PL_MAX_RANK], global = 0;
    pl_shape_strides(&p->value->shape, step);
    for (int d = p->shape.rank - 1; d >= 0; d--) {
        global += (i % p->shape.dim[d] + p->lo[d]) * step[d];
        i /= p->shape.dim[d];
    }
    return global;
}

/* Rows of the last dimension are dense in both. */
static void copy_rows(const pl_port *p, const char *from, char *to, bool take)
{
    int64_t size = pl_type_bytes(p->value->type), rank = p->shape.rank;
    int64_t n = rank ? p->shape.dim[rank - 1] : 1, rows = pl_shape_count(&p->shape) / n;
    for (int64_t r = 0; r < rows; r++) {
        int64_t part = r * n * size, whole = pl_port_global(p, r * n) * size;
        memcpy(to + (take ? part : whole), from + (take ? whole : part), (size_t)(n * size));
    }
}

void pl_port_take(const pl_port *p, const void *whole, void *part)
{
    copy_rows(p, whole, part, true);
}

void pl_port_give(const pl_port *p, const void *part, void *whole)
{
    copy_rows(p, part, whole, false);
}
