/* The odometer: pl_walk_next() moves the innermost loop that has not ended, and the elements of
 * all operands with it (move). */
#include "graph/walk.h"

/* Elements that the padding shifts the origin of an operand by. */
static int64_t pad_offset(const pl_share *share, int o)
{
    const pl_operand *p = &share->node->sig->operand[o];
    int64_t step[PL_MAX_RANK], off = 0;
    pl_shape_strides(&share->shape[o], step);
    for (int j = 0; j < p->rank; j++)
        if (p->dim[j].window >= 0) off += step[j] * share->window[p->dim[j].window].pad_lo;
    return off;
}

pl_walk pl_walk_new(const pl_share *share, uint32_t mask)
{
    pl_walk w = { .share = share, .n_operands = share->node->n_in + share->node->n_out };
    const pl_sig *sig = share->node->sig;
    int64_t size[PL_MAX_FACTORS] = { 0 };
    for (int f = 0; f < sig->n_factors; f++) {
        size[f] = share->factor[f].n;
        if (mask >> f & 1) w.factor[w.n++] = f;
    }
    for (int o = 0; o < w.n_operands; o++) {
        pl_sig_strides(sig, &sig->operand[o], &share->shape[o], size, w.stride[o]);
        w.at[o] = -pad_offset(share, o);
    }
    return w;
}

static void move(pl_walk *w, int f, int64_t by)
{
    w->index[f] += by;
    for (int o = 0; o < w->n_operands; o++) w->at[o] += by * w->stride[o][f];
}

bool pl_walk_next(pl_walk *w)
{
    for (int i = w->n - 1; i >= 0; i--) {
        int f = w->factor[i];
        if (w->index[f] + 1 < w->share->factor[f].n) {
            move(w, f, 1);
            return true;
        }
        move(w, f, -w->index[f]);
    }
    return false;
}

void pl_walk_to(pl_walk *w, const pl_walk *outer)
{
    for (int i = 0; i < outer->n; i++) {
        int f = outer->factor[i];
        move(w, f, outer->index[f] - w->index[f]);
    }
}

int64_t pl_walk_count(const pl_walk *w)
{
    int64_t n = 1;
    for (int i = 0; i < w->n; i++) n *= w->share->factor[w->factor[i]].n;
    return n;
}

int64_t pl_walk_points(const pl_share *share, uint32_t mask)
{
    int64_t n = 1;
    for (int f = 0; mask >> f; f++)
        if (mask >> f & 1) n *= share->factor[f].n;
    return n;
}

bool pl_walk_inside(const pl_walk *w, int o)
{
    const pl_operand *p = &w->share->node->sig->operand[o];
    for (int j = 0; j < p->rank; j++) {
        if (p->dim[j].window < 0) continue;
        const pl_window *x = &w->share->window[p->dim[j].window];
        int64_t at = x->stride * w->index[x->position] + x->dilation * w->index[x->tap] - x->pad_lo;
        if (at < 0 || at >= w->share->shape[o].dim[j]) return false;
    }
    return true;
}

uint32_t pl_walk_mask(const pl_node *node, int operand)
{
    uint32_t mask = 0;
    for (int f = 0; f < node->sig->n_factors; f++)
        if (pl_share_touches(node, operand, f)) mask |= 1u << f;
    return mask;
}

uint32_t pl_walk_letters(const pl_node *node, const char *letters)
{
    uint32_t mask = 0;
    for (; *letters; letters++) {
        int f = pl_sig_find(node->sig, *letters);
        if (f >= 0) mask |= 1u << f;
    }
    return mask;
}
