/* unique: along n, which is whole, the ids that differ, ascending, each once, and -1 in the places
 * that are left; ids below 0 are none. Each of the leading dimensions is a list of its own. With
 * coalesce it makes a gradient of rows in which each row stands once. Source:
 * torch.Tensor.coalesce; Yang et al., "EmbRace", 2021. */
#include "graph/op.h"
#include "ops/list.h"

/* The smallest id above `last` among `count` from the first on; -1: there is none. */
static double find_next(pl_type t, const void *ids, int64_t first, int64_t count, double last)
{
    double next = -1;
    for (int64_t i = first; i < first + count; i++) {
        const double id = pl_type_get(t, ids, i);
        if (id > last && (next < 0 || id < next)) next = id;
    }
    return next;
}

static void ref(const pl_share *s, const void *const in[], void *const out[])
{
    const pl_type t = s->node->in[0]->type;
    const int64_t all = pl_shape_count(&s->in[0]), count = s->in[0].dim[s->in[0].rank - 1];
    double id = -1;
    for (int64_t k = 0; k < all; k++) {
        const int64_t first = k / count * count;
        if (k == first) id = -1;
        if (k == first || id >= 0) id = find_next(t, in[0], first, count, id);
        pl_type_put(t, out[0], k, id);
    }
}

const pl_op pl_op_unique = {
    .name = "unique",
    .sig = "...n->...n",
    .whole = "n",
    .types = "i->i",
    .flops_per_out = 16, /* about what sorting takes */
    .ref = ref,
    .examples = PL_EXAMPLES({ NULL, .in = { { 1, { 6 }, "i32", 0, 4 } } },
                            { NULL, .in = { { 1, { 5 }, "i64", -1, 3 } } },
                            { NULL, .in = { { 2, { 4, 6 }, "i32", -1, 4 } } }),
};
