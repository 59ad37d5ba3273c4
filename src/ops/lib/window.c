#include "ops/lib/window.h"

#include "ops/lib/element.h"

double pl_window_flops(const pl_share *s)
{
    double flops = 2;
    for (int f = 0; f < s->node->sig->n_factors; f++) flops *= (double)s->factor[f].n;
    return flops;
}

void pl_window_convolve(const pl_share *s, const void *const in[], void *const out[])
{
    uint32_t outer = pl_walk_mask(s->node, 2), all = (1u << s->node->sig->n_factors) - 1;
    pl_walk o = pl_walk_new(s, outer), i = pl_walk_new(s, all & ~outer);
    do {
        double sum = 0;
        pl_walk_to(&i, &o);
        do {
            if (pl_walk_inside(&i, 0)) sum += pl_element_get(&i, in, 0) * pl_element_get(&i, in, 1);
        } while (pl_walk_next(&i));
        pl_element_put(&o, out, 0, sum);
    } while (pl_walk_next(&o));
}

/* The windowed dimensions of output 0: an odometer over their elements. */
typedef struct pixels {
    int n;
    struct {
        int window;
        int64_t index, size, step;
    } dim[PL_MAX_WINDOWS];
    int64_t at; /* element, counted from the first of the windowed dimensions */
} pixels;

static pixels find_pixels(const pl_share *s)
{
    const pl_operand *o = pl_sig_out(s->node->sig, 0);
    int64_t step[PL_MAX_RANK];
    pixels p = { 0 };
    pl_shape_strides(pl_share_out(s, 0), step);
    for (int j = 0; j < o->rank; j++) {
        if (o->dim[j].window < 0) continue;
        p.dim[p.n].window = o->dim[j].window;
        p.dim[p.n].size = pl_share_out(s, 0)->dim[j];
        p.dim[p.n++].step = step[j];
    }
    return p;
}

static bool next_pixel(pixels *p)
{
    for (int i = p->n - 1; i >= 0; i--) {
        p->at += p->dim[i].step;
        if (++p->dim[i].index < p->dim[i].size) return true;
        p->at -= p->dim[i].size * p->dim[i].step;
        p->dim[i].index = 0;
    }
    return false;
}

/* The positions from which the walk's present taps reach a pixel: put into `position`; false when
 * there are none. input index = stride * position + dilation * tap - pad_lo (sig.h) */
static bool find_positions(const pl_walk *w, const pixels *p, pl_walk *position)
{
    for (int i = 0; i < p->n; i++) {
        const pl_window *x = &w->share->window[p->dim[i].window];
        int64_t t = p->dim[i].index + x->pad_lo - x->dilation * w->index[x->tap];
        if (t < 0 || t % x->stride || t / x->stride >= w->share->factor[x->position].n)
            return false;
        position->factor[i] = x->position;
        position->index[x->position] = t / x->stride;
    }
    return true;
}

void pl_window_gather(const pl_share *s, const void *const in[], void *const out[],
                      double (*term)(const pl_walk *w, const void *const in[]))
{
    const pl_node *n = s->node;
    pixels p = find_pixels(s);
    pl_walk position = { .n = p.n }; /* serves as an origin for pl_walk_to */
    uint32_t inner = (1u << n->sig->n_factors) - 1, outer = pl_walk_mask(n, n->n_in);
    int64_t origin = 0; /* o.at counts from the padding, pixels from the first element */
    for (int i = 0; i < p.n; i++) {
        const pl_window *x = &s->window[p.dim[i].window];
        outer &= ~(1u << x->position | 1u << x->tap);
        inner &= ~(1u << x->position);
        origin += x->pad_lo * p.dim[i].step;
    }
    pl_walk o = pl_walk_new(s, outer), w = pl_walk_new(s, inner & ~outer);
    do {
        pl_walk_to(&w, &o);
        do {
            double sum = 0;
            do {
                if (!find_positions(&w, &p, &position)) continue;
                pl_walk_to(&w, &position);
                sum += term(&w, in);
            } while (pl_walk_next(&w));
            pl_type_put(n->out[0]->type, out[0], o.at[n->n_in] + origin + p.at, sum);
        } while (next_pixel(&p));
    } while (pl_walk_next(&o));
}
