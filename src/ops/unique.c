/* unique: the ids that differ, ascending, each once, and -1 in the places that are left; ids below
 * 0 are none. "n->n"; n is whole. With coalesce it makes a gradient of rows in which each row
 * stands once. Source: torch.Tensor.coalesce; Yang et al., "EmbRace", 2021. */
#include "graph/op.h"
#include "ops/list.h"

/* The smallest id above `last`; -1: there is none. */
static double find_next(pl_type t, const void *ids, int64_t count, double last)
{
    double next = -1;
    for (int64_t i = 0; i < count; i++) {
        const double id = pl_type_get(t, ids, i);
        if (id > last && (next < 0 || id < next)) next = id;
    }
    return next;
}

static void ref(const pl_share *s, const void *const in[], void *const out[])
{
    const pl_type t = s->node->in[0]->type;
    const int64_t count = pl_shape_count(&s->in[0]);
    double id = -1;
    for (int64_t k = 0; k < count; k++) {
        if (k == 0 || id >= 0) id = find_next(t, in[0], count, id);
        pl_type_put(t, out[0], k, id);
    }
}

const pl_op pl_op_unique = {
    .name = "unique",
    .sig = "n->n",
    .whole = "n",
    .types = "i->i",
    .flops_per_out = 16, /* about what sorting takes */
    .ref = ref,
    .examples = PL_EXAMPLES({ NULL, .in = { { 1, { 6 }, "i32", 0, 4 } } },
                            { NULL, .in = { { 1, { 5 }, "i64", -1, 3 } } }),
};
