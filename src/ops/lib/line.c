#include "ops/lib/line.h"

#include "graph/walk.h"
#include "ops/lib/move.h"

#include <stdio.h>

/* All letters but u and v. */
static pl_walk walk_others(const pl_share *s, int u, int v)
{
    uint32_t all = (1u << s->node->sig->n_factors) - 1;
    return pl_walk_new(s, all & ~(1u << u | 1u << v));
}

void pl_line_gather(const pl_share *s, const void *const in[], void *const out[],
                    pl_line_find *find, double padding)
{
    const pl_node *n = s->node;
    pl_type t = n->out[0]->type;
    int u = pl_sig_find(n->sig, 'u'), v = pl_sig_find(n->sig, 'v');
    pl_walk w = walk_others(s, u, v);
    for (int64_t i = 0; i < s->factor[v].n; i++) {
        pl_line_taps taps = find(n, i);
        do {
            int64_t to = w.at[1] + i * w.stride[1][v];
            double sum = taps.n ? 0 : padding;
            for (int k = 0; k < taps.n; k++)
                sum +=
                    taps.weight[k] * pl_type_get(t, in[0], w.at[0] + taps.at[k] * w.stride[0][u]);
            pl_type_put(t, out[0], to, sum);
        } while (pl_walk_next(&w));
    }
}

void pl_line_scatter(const pl_share *s, const void *const in[], void *const out[],
                     pl_line_find *find)
{
    const pl_node *n = s->node;
    pl_type t = n->out[0]->type;
    int u = pl_sig_find(n->sig, 'u'), v = pl_sig_find(n->sig, 'v');
    pl_walk w = walk_others(s, u, v);
    pl_move_zero(t, out[0], pl_shape_count(pl_share_out(s, 0)));
    for (int64_t i = 0; i < s->factor[v].n; i++) {
        pl_line_taps taps = find(n, i);
        do {
            double x = pl_type_get(t, in[0], w.at[0] + i * w.stride[0][v]);
            for (int k = 0; k < taps.n; k++) {
                int64_t to = w.at[1] + taps.at[k] * w.stride[1][u];
                pl_type_put(t, out[0], to, pl_type_get(t, out[0], to) + taps.weight[k] * x);
            }
        } while (pl_walk_next(&w));
    }
}

int pl_line_word(const pl_node *n, const char *name, const char *const words[], pl_err *err)
{
    char known[128] = "";
    size_t len = 0;
    for (int i = 0; words[i]; i++) {
        if (pl_node_is(n, name, words[i])) return i;
        len += (size_t)snprintf(known + len, sizeof known - len, " %s", words[i]);
    }
    pl_err_set(err, PL_EUNSUPPORTED, "attribute '%s' is none of:%s", name, known);
    return -1;
}
