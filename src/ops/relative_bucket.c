/* relative_bucket: which row of a table of relative positions a query (first dimension) uses for a
 * key (second one). No inputs: "->qk; q=8 k=8". With n buckets for each direction, n = buckets / 2
 * when both=1 (keys after the query have the second half), else n = buckets (a later key counts as
 * distance 0):
 *   a distance below n/2 has a bucket of its own,
 *   others share: n/2 + floor(log(distance / (n/2)) / log(limit / (n/2)) (n - n/2)), at most n - 1
 * so that all from `limit` on is one bucket. Positions are those in the whole sequences: both may
 * be split. The bias itself is an embedding of the buckets, and its gradient that of an embedding.
 * Source: Raffel et al., T5, 2020, section 2.1; formula as in their published code. */
#include "graph/op.h"
#include "graph/walk.h"
#include "ops/lib/move.h"
#include "ops/list.h"

#include <math.h>

static bool infer(const pl_node *n, pl_sig *sig, pl_err *err)
{
    int64_t buckets = pl_node_int(n, "buckets", 0);
    double limit = pl_node_real(n, "limit", 0);
    int64_t each = pl_node_int(n, "both", 0) ? buckets / 2 : buckets;
    if (sig->operand[0].rank != 2)
        return pl_err_set(err, PL_EINPUT, "gives queries by keys: two dimensions, not %d",
                          sig->operand[0].rank);
    if (each < 2 || !(limit > (double)(each / 2)))
        return pl_err_set(
            err, PL_EINPUT,
            "buckets=%lld give %lld for a direction and limit=%g: it needs at least 2, "
            "and a limit above half of them",
            (long long)buckets, (long long)each, limit);
    return true;
}

static double find_bucket(int64_t offset, int64_t buckets, double limit, bool both)
{
    int64_t n = both ? buckets / 2 : buckets, own = n / 2;
    int64_t distance = offset < 0 ? -offset : both ? offset : 0;
    double first = both && offset > 0 ? (double)n : 0;
    if (distance < own) return first + (double)distance;
    double x = log((double)distance / (double)own) / log(limit / (double)own) * (double)(n - own);
    /* rounding must not put a power of the ratio below its own border */
    return first + fmin((double)own + floor(x + 1e-9), (double)(n - 1));
}

/* The present place along dimension j of the whole output. */
static int64_t find_position(const pl_walk *w, int j)
{
    const pl_sig *sig = w->share->node->sig;
    const pl_sig_dim *d = &sig->operand[0].dim[j];
    int64_t at = 0;
    for (int k = 0; k < d->n; k++) {
        int f = d->factor[k];
        at = at * sig->factor[f].size + w->share->factor[f].lo + w->index[f];
    }
    return at;
}

static void ref(const pl_share *s, const void *const in[], void *const out[])
{
    const pl_node *n = s->node;
    int64_t buckets = pl_node_int(n, "buckets", 0);
    double limit = pl_node_real(n, "limit", 0);
    bool both = pl_node_int(n, "both", 0);
    pl_walk w = pl_walk_new(s, pl_walk_mask(n, 0));
    (void)in;
    do {
        int64_t offset = find_position(&w, 1) - find_position(&w, 0);
        pl_type_put(n->out[0]->type, out[0], w.at[0], find_bucket(offset, buckets, limit, both));
    } while (pl_walk_next(&w));
}

const pl_op pl_op_relative_bucket = {
    .name = "relative_bucket",
    .form = "0>1 0",
    .types = "a",
    .attrs = "buckets=32 limit=128 both=1 to=i32",
    .infer = infer,
    .flops = pl_move_flops,
    .ref = ref,
    .examples = PL_EXAMPLES({ "->qk; q=40 k=40 buckets=8 limit=20", .in = { { 0 } } },
                            { "->qk; q=9 k=40 buckets=12 limit=30 both=0", .in = { { 0 } } },
                            { "->(ab)c; a=3 b=2 c=10 buckets=5 limit=3 to=i64", .in = { { 0 } } }),
};
