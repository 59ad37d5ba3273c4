/* Separators between copies. pl_separator_of() finds the one with the fewest states, among all
 * covers of the links; pl_separator_cell() and pl_separator_ends() cut the chain there. */
#include "chain/separator.h"

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
    return f->net->size[f->n_outside + v];
}

/* Left ends with a bit in `taken` are covered on the left, the links of others on the right. */
static double cover(const pl_ring *ring, int n_ends, const int *end, unsigned taken,
                    pl_separator *sep)
{
    sep->n_left = sep->n_right = 0;
    sep->states = 1;
    for (int i = 0; i < n_ends; i++)
        if (taken >> i & 1) sep->left[sep->n_left++] = end[i];
    for (int l = 0; l < ring->chain->n_links; l++)
        if (find(sep->n_left, sep->left, ring->chain->link[l].a) == sep->n_left)
            add_once(&sep->n_right, sep->right, ring->chain->link[l].b);
    for (int i = 0; i < sep->n_left; i++) sep->states *= size_of(ring, sep->left[i]);
    for (int i = 0; i < sep->n_right; i++) sep->states *= size_of(ring, sep->right[i]);
    return sep->states;
}

pl_separator pl_separator_of(const pl_ring *ring, pl_arena *arena)
{
    const pl_chain *chain = ring->chain;
    pl_separator sep = { 0,
                         0,
                         PL_NEW_N(arena, int, chain->n_links),
                         PL_NEW_N(arena, int, chain->n_links),
                         0,
                         PL_NEW_N(arena, int, chain->n_every),
                         1,
                         1 };
    int *end = PL_NEW_N(arena, int, chain->n_links), n_ends = 0;
    for (int l = 0; l < chain->n_links; l++) add_once(&n_ends, end, chain->link[l].a);
    for (int p = 0; p < chain->n_every; p++) add_once(&sep.n_hubs, sep.hub, chain->every[p].a);
    for (int i = 0; i < sep.n_hubs; i++) sep.hub_states *= ring->net->size[sep.hub[i]];
    /* Covers are few: a block has a handful of links. With many, all left ends. */
    int n_bits = n_ends <= 12 ? n_ends : 0;
    unsigned best = n_bits ? 0 : ~0u;
    if (n_bits) {
        double least = cover(ring, n_ends, end, 0, &sep);
        for (unsigned taken = 1; taken < 1u << n_bits; taken++)
            if (cover(ring, n_ends, end, taken, &sep) < least) {
                least = sep.states;
                best = taken;
            }
    }
    if (n_bits)
        cover(ring, n_ends, end, best, &sep);
    else {
        sep.states = 1;
        for (int i = 0; i < n_ends; i++)
            sep.states *= size_of(ring, sep.left[sep.n_left++] = end[i]);
    }
    return sep;
}

static void add_variable(const pl_ring *f, pl_net *net, int at, int ring, bool costs,
                         pl_arena *arena)
{
    const pl_net *r = f->net;
    double *unary = PL_NEW_N(arena, double, r->size[ring]);
    for (int x = 0; costs && x < r->size[ring]; x++) unary[x] = r->unary[ring][x];
    pl_net_var(net, at, r->size[ring], r->value[ring], unary, arena);
}

/* The place of a variable of the block in left[] or right[], -1: none. A link whose a is in left[]
 * counts as covered there. */
static int place_left(const pl_separator *sep, int variable)
{
    int i = find(sep->n_left, sep->left, variable);
    return i < sep->n_left ? i : -1;
}

static int place_right(const pl_separator *sep, int variable)
{
    int i = find(sep->n_right, sep->right, variable);
    return i < sep->n_right ? i : -1;
}

static void add_row(pl_net *net, int v, const double *row, double sign)
{
    for (int x = 0; row && x < net->size[v]; x++) net->unary[v][x] += sign * row[x];
}

/* A cell has the links of its left separator that are covered on the left, and those of its
 * right separator that are not. What such a link sends to a ghost is taken from the ghost: it is
 * counted in the copy that owns the variable, also when that copy does not have the link. */
static void add_cell_links(const pl_ring *ring, const pl_separator *sep, pl_net *net,
                           pl_arena *arena)
{
    int own = sep->n_hubs, before = own + ring->n_block, after = before + sep->n_left;
    for (int l = 0; l < ring->chain->n_links; l++) {
        const pl_sum_edge *e = &ring->chain->link[l];
        const double *to_a, *to_b;
        pl_net_table t = pl_ring_link(ring, l, &to_a, &to_b, arena);
        int left = place_left(sep, e->a), right = place_right(sep, e->b);
        if (left >= 0) {
            pl_net_join(net, before + left, own + e->b, t, to_a, to_b, arena);
            add_row(net, before + left, to_a, -1);
            add_row(net, own + e->a, to_a, 1);
        } else {
            pl_net_join(net, own + e->a, after + right, t, to_a, to_b, arena);
            add_row(net, after + right, to_b, -1);
            add_row(net, own + e->b, to_b, 1);
        }
    }
}

pl_net *pl_separator_cell(const pl_ring *ring, const pl_separator *sep, bool *fixed,
                          pl_arena *arena)
{
    const pl_net *one = ring->net;
    int own = sep->n_hubs, before = own + ring->n_block, after = before + sep->n_left;
    pl_net *net = pl_net_new(after + sep->n_right, arena);
    for (int i = 0; i < sep->n_hubs; i++) add_variable(ring, net, i, sep->hub[i], false, arena);
    for (int v = 0; v < ring->n_block; v++)
        add_variable(ring, net, own + v, ring->n_outside + v, true, arena);
    for (int i = 0; i < sep->n_left; i++)
        add_variable(ring, net, before + i, ring->n_outside + sep->left[i], false, arena);
    for (int i = 0; i < sep->n_right; i++)
        add_variable(ring, net, after + i, ring->n_outside + sep->right[i], false, arena);
    for (int p = ring->at_block; p < ring->at_link; p++) {
        const pl_net_edge *e = &one->edge[p];
        pl_net_join(net, own + e->a - ring->n_outside, own + e->b - ring->n_outside, e->table,
                    e->to_a, e->to_b, arena);
    }
    add_cell_links(ring, sep, net, arena);
    for (int p = ring->at_every; p < one->n_edges; p++) {
        const pl_net_edge *e = &one->edge[p];
        int hub = find(sep->n_hubs, sep->hub, e->a);
        pl_net_join(net, hub, own + e->b - ring->n_outside, e->table, e->to_a, e->to_b, arena);
        add_row(net, hub, e->to_a, -1);
    }
    for (int i = 0; i < sep->n_hubs; i++) fixed[i] = true;
    for (int i = 0; i < sep->n_left; i++) fixed[own + sep->left[i]] = true;
    for (int i = 0; i < sep->n_right; i++) fixed[own + sep->right[i]] = true;
    for (int i = before; i < net->n; i++) fixed[i] = true;
    pl_net_index(net, arena);
    return net;
}

int *pl_separator_scope(const pl_ring *ring, const pl_separator *sep, pl_arena *arena)
{
    int own = sep->n_hubs, before = own + ring->n_block, after = before + sep->n_left;
    int *scope = PL_NEW_N(arena, int, sep->n_hubs + 2 * (sep->n_left + sep->n_right)), *to = scope;
    for (int i = 0; i < sep->n_hubs; i++) *to++ = i;
    for (int i = 0; i < sep->n_left; i++) *to++ = before + i;
    for (int i = 0; i < sep->n_right; i++) *to++ = own + sep->right[i];
    for (int i = 0; i < sep->n_left; i++) *to++ = own + sep->left[i];
    for (int i = 0; i < sep->n_right; i++) *to++ = after + i;
    return scope;
}

int pl_separator_scope_size(const pl_separator *sep)
{
    return sep->n_hubs + 2 * (sep->n_left + sep->n_right);
}

static void add_ghost(const pl_ring *f, pl_net *net, int at, int variable, pl_arena *a)
{
    add_variable(f, net, at, f->n_outside + variable, false, a);
}

/* The links that no cell has. What they send is in the ends already, as if the ring were whole. */
static void add_end_links(const pl_ring *ring, const pl_separator *sep, pl_net *net,
                          pl_arena *arena)
{
    int first = ring->n_outside, last = first + ring->n_block, second = last + ring->n_block;
    int before = second + sep->n_right;
    for (int l = 0; l < ring->chain->n_links; l++) {
        const pl_sum_edge *e = &ring->chain->link[l];
        const double *to_a, *to_b;
        pl_net_table t = pl_ring_link(ring, l, &to_a, &to_b, arena);
        int left = place_left(sep, e->a);
        int va = left < 0 ? first + e->a : before + left;
        int vb = left < 0 ? second + place_right(sep, e->b) : last + e->b;
        pl_net_join(net, va, vb, t, to_a, to_b, arena);
        net->edge[net->n_edges - 1].loose = true;
        add_row(net, va, to_a, -1);
        add_row(net, vb, to_b, -1);
    }
}

pl_net *pl_separator_ends(const pl_ring *ring, const pl_separator *sep, int *scope, bool **fixed,
                          pl_arena *arena)
{
    int first = ring->n_outside, last = first + ring->n_block, second = last + ring->n_block;
    int before = second + sep->n_right, n_scope = pl_separator_scope_size(sep);
    pl_net *net = pl_ring_ends(ring, 1, sep->n_left + sep->n_right, arena);
    for (int i = 0; i < sep->n_right; i++) add_ghost(ring, net, second + i, sep->right[i], arena);
    for (int i = 0; i < sep->n_left; i++) add_ghost(ring, net, before + i, sep->left[i], arena);
    add_end_links(ring, sep, net, arena);
    pl_net_index(net, arena);
    for (int i = 0; i < sep->n_hubs; i++) *scope++ = sep->hub[i];
    for (int i = 0; i < sep->n_left; i++) *scope++ = first + sep->left[i];
    for (int i = 0; i < sep->n_right; i++) *scope++ = second + i;
    for (int i = 0; i < sep->n_left; i++) *scope++ = before + i;
    for (int i = 0; i < sep->n_right; i++) *scope++ = last + sep->right[i];
    *fixed = PL_NEW_N(arena, bool, net->n);
    for (int i = 0; i < n_scope; i++) (*fixed)[*--scope] = true;
    return net;
}

int pl_separator_state(const pl_net *net, const int *scope, int n, const int *index)
{
    int state = 0;
    for (int d = 0; d < n; d++) state = state * net->size[scope[d]] + index[scope[d]];
    return state;
}

void pl_separator_set(const pl_net *net, const int *scope, int n, int state, int *index)
{
    for (int d = n - 1; d >= 0; state /= net->size[scope[d--]])
        index[scope[d]] = state % net->size[scope[d]];
}
