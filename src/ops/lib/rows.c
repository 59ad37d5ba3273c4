#include "ops/lib/rows.h"

#include "ops/lib/lookup.h"

enum { W, IDS, ROWS };

pl_rows pl_rows_new(const pl_share *s, const void *const in[])
{
    return (pl_rows){ .walk = pl_walk_new(s, pl_walk_mask(s->node, ROWS)), .in = in };
}

bool pl_rows_next(pl_rows *r)
{
    int64_t row;
    do {
        if (r->begun && !pl_walk_next(&r->walk)) return false;
        r->begun = true;
        row = pl_lookup_row(&r->walk, r->in, IDS, W);
    } while (row < 0);
    r->to = r->walk.at[W] + row;
    return true;
}

double pl_rows_gradient(const pl_rows *r)
{
    return pl_type_get(r->walk.share->node->in[ROWS]->type, r->in[ROWS], r->walk.at[ROWS]);
}

double pl_rows_scalar(const pl_share *s, const void *const in[], int input)
{
    return pl_type_get(s->node->in[input]->type, in[input], 0);
}

double pl_rows_flops(const pl_share *s)
{
    return 10 * (double)pl_shape_count(&s->shape[ROWS]);
}
