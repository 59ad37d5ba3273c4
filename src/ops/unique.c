/* unique: along n, which is whole, the ids that differ, ascending, each once; then -1 to the end.
 * Ids below 0 are none. The list has m places, as many as ids unless said: no more may differ. Each
 * of the leading dimensions is a list of its own. With coalesce it makes a gradient of rows in
 * which each row stands once. Source: torch.Tensor.coalesce; Yang et al., "EmbRace", 2021. */
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
    const int last = s->shape[0].rank - 1;
    const int64_t all = pl_shape_count(pl_share_out(s, 0)), count = s->shape[0].dim[last],
                  places = pl_share_out(s, 0)->dim[last];
    double id = -1;
    for (int64_t k = 0; k < all; k++) {
        const bool first = k % places == 0;
        if (first || id >= 0) id = find_next(t, in[0], k / places * count, count, first ? -1 : id);
        pl_type_put(t, out[0], k, id);
    }
}

static bool infer(const pl_node *n, pl_sig *sig, pl_err *err)
{
    pl_factor *m = &sig->factor[pl_sig_find(sig, 'm')];
    (void)n, (void)err;
    if (!m->size) m->size = sig->factor[pl_sig_find(sig, 'n')].size;
    return true;
}

const pl_op pl_op_unique = {
    .name = "unique",
    .sig = "...n->...m",
    .whole = "nm",
    .types = "i->i",
    .infer = infer,
    .flops_per_in = 16, /* about what sorting takes */
    .ref = ref,
    .examples = PL_EXAMPLES({ NULL, .in = { { 1, { 6 }, "i32", 0, 4 } } },
                            { NULL, .in = { { 1, { 5 }, "i64", -1, 3 } } },
                            { NULL, .in = { { 2, { 4, 6 }, "i32", -1, 4 } } },
                            { "; m=4", .in = { { 2, { 2, 6 }, "i32", -1, 4 } } }),
};
