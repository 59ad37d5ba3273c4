#include "program/program.h"

#include <string.h>

const pl_port *pl_port_find(int n, const pl_port ports[], const char *name)
{
    for (int i = 0; i < n; i++)
        if (!strcmp(ports[i].value->name, name)) return &ports[i];
    return NULL;
}

static void copy_part(const pl_port *p, const void *from, void *to, bool take)
{
    static const pl_placement nowhere = { 0 };
    static const pl_mesh one = { 0 };
    pl_region whole = pl_region_of(&nowhere, &one, &p->value->shape, 0);
    pl_copy c;
    int64_t size = pl_type_bytes(p->value->type);
    bool ok = pl_region_copy(take ? &whole : p->region, take ? p->region : &whole, size, &c);
    PL_ASSERT(ok); /* any region is a product of ranges of a whole tensor */
    pl_region_apply(&c, from, to);
}

void pl_port_take(const pl_port *p, const void *whole, void *part)
{
    copy_part(p, whole, part, true);
}

void pl_port_give(const pl_port *p, const void *part, void *whole)
{
    copy_part(p, part, whole, false);
}
