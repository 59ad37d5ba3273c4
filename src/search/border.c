#include "search/border.h"

/* n when v is not in the list */
static int find(int n, const int *list, int v)
{
    int i = 0;
    while (i < n && list[i] != v) i++;
    return i;
}

static void add_once(int *n, int *list, int v)
{
    if (find(*n, list, v) == *n) list[(*n)++] = v;
}

static int size_of(const pl_ring *f, int v)
{
    return f->ring->size[f->n_outside + v];
}

/* Left ends with a bit in `taken` are covered on the left, the links of others on the right. */
static double cover(const pl_ring *f, int n_ends, const int *end, unsigned taken, pl_border *b)
{
    b->n_left = b->n_right = 0;
    b->states = 1;
    for (int i = 0; i < n_ends; i++)
        if (taken >> i & 1) b->left[b->n_left++] = end[i];
    for (int l = 0; l < f->chain->n_links; l++)
        if (find(b->n_left, b->left, f->chain->link[l].a) == b->n_left)
            add_once(&b->n_right, b->right, f->chain->link[l].b);
    for (int i = 0; i < b->n_left; i++) b->states *= size_of(f, b->left[i]);
    for (int i = 0; i < b->n_right; i++) b->states *= size_of(f, b->right[i]);
    return b->states;
}

pl_border pl_border_of(const pl_ring *f, pl_arena *a)
{
    const pl_chain *c = f->chain;
    pl_border b = { 0,
                    0,
                    PL_NEW_N(a, int, c->n_links),
                    PL_NEW_N(a, int, c->n_links),
                    0,
                    PL_NEW_N(a, int, c->n_every),
                    1,
                    1 };
    int *end = PL_NEW_N(a, int, c->n_links), n_ends = 0;
    for (int l = 0; l < c->n_links; l++) add_once(&n_ends, end, c->link[l].a);
    for (int p = 0; p < c->n_every; p++) add_once(&b.n_hubs, b.hub, c->every[p].a);
    for (int i = 0; i < b.n_hubs; i++) b.hub_states *= f->ring->size[b.hub[i]];
    /* Covers are few: a block has a handful of links. With many, all left ends. */
    int n_bits = n_ends <= 12 ? n_ends : 0;
    unsigned best = n_bits ? 0 : ~0u;
    if (n_bits) {
        double least = cover(f, n_ends, end, 0, &b);
        for (unsigned taken = 1; taken < 1u << n_bits; taken++)
            if (cover(f, n_ends, end, taken, &b) < least) {
                least = b.states;
                best = taken;
            }
    }
    if (n_bits)
        cover(f, n_ends, end, best, &b);
    else {
        b.states = 1;
        for (int i = 0; i < n_ends; i++) b.states *= size_of(f, b.left[b.n_left++] = end[i]);
    }
    return b;
}

static void add_variable(const pl_ring *f, pl_net *net, int at, int ring, bool costs, pl_arena *a)
{
    const pl_net *r = f->ring;
    double *unary = PL_NEW_N(a, double, r->size[ring]);
    for (int x = 0; costs && x < r->size[ring]; x++) unary[x] = r->unary[ring][x];
    pl_net_var(net, at, r->size[ring], r->value[ring], unary, a);
    if (costs) net->memory[at] = r->memory[ring];
}

int pl_border_left(const pl_border *b, int variable)
{
    int i = find(b->n_left, b->left, variable);
    return i < b->n_left ? i : -1;
}

int pl_border_right(const pl_border *b, int variable)
{
    int i = find(b->n_right, b->right, variable);
    return i < b->n_right ? i : -1;
}

static void add_row(pl_net *net, int v, const double *row, double sign)
{
    for (int x = 0; row && x < net->size[v]; x++) net->unary[v][x] += sign * row[x];
}

/* A cell has the links of its left border that are covered on the left, and those of its right
 * border that are not. What such a link sends to a ghost is taken from the ghost: it is counted in
 * the copy that owns the variable, also when that copy does not have the link. */
static void add_cell_links(const pl_ring *f, const pl_border *b, pl_net *net, pl_arena *a)
{
    int own = b->n_hubs, before = own + f->n_block, after = before + b->n_left;
    for (int l = 0; l < f->chain->n_links; l++) {
        const pl_sum_pair *e = &f->chain->link[l];
        const double *to_a, *to_b;
        pl_net_table t = pl_ring_link(f, l, &to_a, &to_b, a);
        int left = pl_border_left(b, e->a), right = pl_border_right(b, e->b);
        if (left >= 0) {
            pl_net_join(net, before + left, own + e->b, t, to_a, to_b, a);
            add_row(net, before + left, to_a, -1);
            add_row(net, own + e->a, to_a, 1);
        } else {
            pl_net_join(net, own + e->a, after + right, t, to_a, to_b, a);
            add_row(net, after + right, to_b, -1);
            add_row(net, own + e->b, to_b, 1);
        }
    }
}

pl_net *pl_border_cell(const pl_ring *f, const pl_border *b, bool *fixed, pl_arena *a)
{
    const pl_net *ring = f->ring;
    int own = b->n_hubs, before = own + f->n_block, after = before + b->n_left;
    pl_net *net = pl_net_new(after + b->n_right, a);
    for (int i = 0; i < b->n_hubs; i++) add_variable(f, net, i, b->hub[i], false, a);
    for (int v = 0; v < f->n_block; v++) add_variable(f, net, own + v, f->n_outside + v, true, a);
    for (int i = 0; i < b->n_left; i++)
        add_variable(f, net, before + i, f->n_outside + b->left[i], false, a);
    for (int i = 0; i < b->n_right; i++)
        add_variable(f, net, after + i, f->n_outside + b->right[i], false, a);
    for (int p = f->at_block; p < f->at_link; p++) {
        const pl_net_pair *e = &ring->pair[p];
        pl_net_join(net, own + e->a - f->n_outside, own + e->b - f->n_outside, e->table, e->to_a,
                    e->to_b, a);
    }
    add_cell_links(f, b, net, a);
    for (int p = f->at_every; p < ring->n_pairs; p++) {
        const pl_net_pair *e = &ring->pair[p];
        int hub = find(b->n_hubs, b->hub, e->a);
        pl_net_join(net, hub, own + e->b - f->n_outside, e->table, e->to_a, e->to_b, a);
        add_row(net, hub, e->to_a, -1);
    }
    for (int i = 0; i < b->n_hubs; i++) fixed[i] = true;
    for (int i = 0; i < b->n_left; i++) fixed[own + b->left[i]] = true;
    for (int i = 0; i < b->n_right; i++) fixed[own + b->right[i]] = true;
    for (int i = before; i < net->n; i++) fixed[i] = true;
    pl_net_index(net, a);
    return net;
}

int *pl_border_scope(const pl_ring *f, const pl_border *b, pl_arena *a)
{
    int own = b->n_hubs, before = own + f->n_block, after = before + b->n_left;
    int *scope = PL_NEW_N(a, int, b->n_hubs + 2 * (b->n_left + b->n_right)), *to = scope;
    for (int i = 0; i < b->n_hubs; i++) *to++ = i;
    for (int i = 0; i < b->n_left; i++) *to++ = before + i;
    for (int i = 0; i < b->n_right; i++) *to++ = own + b->right[i];
    for (int i = 0; i < b->n_left; i++) *to++ = own + b->left[i];
    for (int i = 0; i < b->n_right; i++) *to++ = after + i;
    return scope;
}

int pl_border_scope_size(const pl_border *b)
{
    return b->n_hubs + 2 * (b->n_left + b->n_right);
}

static void add_ghost(const pl_ring *f, pl_net *net, int at, int variable, pl_arena *a)
{
    add_variable(f, net, at, f->n_outside + variable, false, a);
}

/* The links that no cell has. What they send is in the ends already, as if the ring were whole. */
static void add_end_links(const pl_ring *f, const pl_border *b, pl_net *net, pl_arena *a)
{
    int first = f->n_outside, last = first + f->n_block, second = last + f->n_block;
    int before = second + b->n_right;
    for (int l = 0; l < f->chain->n_links; l++) {
        const pl_sum_pair *e = &f->chain->link[l];
        const double *to_a, *to_b;
        pl_net_table t = pl_ring_link(f, l, &to_a, &to_b, a);
        int left = pl_border_left(b, e->a);
        int va = left < 0 ? first + e->a : before + left;
        int vb = left < 0 ? second + pl_border_right(b, e->b) : last + e->b;
        pl_net_join(net, va, vb, t, to_a, to_b, a);
        net->pair[net->n_pairs - 1].loose = true;
        add_row(net, va, to_a, -1);
        add_row(net, vb, to_b, -1);
    }
}

pl_net *pl_border_ends(const pl_ring *f, const pl_border *b, int *scope, bool **fixed, pl_arena *a)
{
    int first = f->n_outside, last = first + f->n_block, second = last + f->n_block;
    int before = second + b->n_right, n_scope = pl_border_scope_size(b);
    pl_net *net = pl_ring_ends(f, 1, b->n_left + b->n_right, a);
    for (int i = 0; i < b->n_right; i++) add_ghost(f, net, second + i, b->right[i], a);
    for (int i = 0; i < b->n_left; i++) add_ghost(f, net, before + i, b->left[i], a);
    add_end_links(f, b, net, a);
    pl_net_index(net, a);
    for (int i = 0; i < b->n_hubs; i++) *scope++ = b->hub[i];
    for (int i = 0; i < b->n_left; i++) *scope++ = first + b->left[i];
    for (int i = 0; i < b->n_right; i++) *scope++ = second + i;
    for (int i = 0; i < b->n_left; i++) *scope++ = before + i;
    for (int i = 0; i < b->n_right; i++) *scope++ = last + b->right[i];
    *fixed = PL_NEW_N(a, bool, net->n);
    for (int i = 0; i < n_scope; i++) (*fixed)[*--scope] = true;
    return net;
}

int pl_border_state(const pl_net *net, const int *scope, int n, const int *index)
{
    int state = 0;
    for (int d = 0; d < n; d++) state = state * net->size[scope[d]] + index[scope[d]];
    return state;
}

void pl_border_set(const pl_net *net, const int *scope, int n, int state, int *index)
{
    for (int d = n - 1; d >= 0; state /= net->size[scope[d--]])
        index[scope[d]] = state % net->size[scope[d]];
}
