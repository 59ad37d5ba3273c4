/* Windows: which border rows a neighbour lacks, and paths that end in a halo: pl_halo_find(). */
#include "reshard/halo.h"

#include "reshard/move.h"

#include <string.h>

bool pl_halo_is_end(const pl_placement *p)
{
    for (int i = 0; i < p->n; i++)
        if (p->split[i].stride) return true;
    return false;
}

/* -- blocks ------------------------------------------------------------------------------------ */

bool pl_halo_block(const pl_move *x, const pl_mesh *m, const pl_shape *s, int rank, int giver,
                   int getter, pl_region *out)
{
    int me, n = pl_move_group(m, rank, x->axes, &me);
    if (giver < 0 || giver >= n || getter < 0 || getter >= n || giver == getter) return false;
    pl_region a = pl_region_of(&x->from, m, s, pl_move_member(m, rank, x->axes, giver));
    pl_region b = pl_region_of(&x->to, m, s, pl_move_member(m, rank, x->axes, getter));
    return pl_region_meet(&a, &b, out) && pl_region_count(out) > 0;
}

static int64_t count_of(const pl_placement *p, const pl_mesh *m, const pl_shape *s, int rank)
{
    pl_region r = pl_region_of(p, m, s, rank);
    return pl_region_count(&r);
}

static bool meets(const pl_placement *x, const pl_placement *y, const pl_mesh *m, const pl_shape *s,
                  int rank, int64_t *count)
{
    pl_region a = pl_region_of(x, m, s, rank), b = pl_region_of(y, m, s, rank), both;
    if (!pl_region_meet(&a, &b, &both)) return false;
    *count = pl_region_count(&both);
    return true;
}

int64_t pl_halo_lack(const pl_move *x, const pl_mesh *m, const pl_shape *s, int rank)
{
    int64_t has = 0;
    bool ok = meets(&x->from, &x->to, m, s, rank, &has);
    PL_ASSERT(ok); /* the same digits but for ranges of a whole dimension */
    return count_of(&x->to, m, s, rank) - has;
}

static int64_t most_by(const pl_move *x, const pl_mesh *m, const pl_shape *s, int by)
{
    int64_t most = 0;
    for (int r = 0, ranks = pl_mesh_ranks(m); r < ranks; r++) {
        pl_region block;
        int me;
        pl_move_group(m, r, x->axes, &me);
        if (!pl_halo_block(x, m, s, r, me, me + by, &block)) continue;
        if (pl_region_count(&block) > most) most = pl_region_count(&block);
    }
    return most;
}

int pl_halo_shifts(const pl_move *x, const pl_mesh *m, const pl_shape *s,
                   pl_shift out[PL_MAX_SHIFTS])
{
    int n = 0, me, members = pl_move_group(m, 0, x->axes, &me);
    for (int k = 0; k < 2 * (members - 1); k++) {
        int by = k % 2 ? k / 2 + 1 : -(k / 2 + 1);
        int64_t most = most_by(x, m, s, by);
        if (!most) continue;
        if (n == PL_MAX_SHIFTS) return -1;
        out[n++] = (pl_shift){ by, most };
    }
    return n;
}

/* -- the last moves ---------------------------------------------------------------------------- */

static unsigned window_axes(const pl_placement *p, int dim)
{
    unsigned axes = 0;
    for (int i = 0; i < p->n; i++)
        if (p->split[i].stride && p->split[i].dim == dim) axes |= 1u << p->split[i].axis;
    return axes;
}

static unsigned window_dims(const pl_placement *p)
{
    unsigned dims = 0;
    for (int i = 0; i < p->n; i++)
        if (p->split[i].stride) dims |= 1u << p->split[i].dim;
    return dims;
}

/* The same without windows: the dimensions of `plain` are split plainly over their axes, the others
 * whole. */
static pl_placement without_windows(const pl_placement *p, unsigned plain, const pl_mesh *m,
                                    const pl_shape *s)
{
    pl_placement x = { .pending = p->pending, .monoid = p->monoid };
    for (int i = 0; i < p->n; i++) {
        const pl_split *y = &p->split[i];
        if (!y->stride)
            pl_placement_add(&x, *y);
        else if (plain >> y->dim & 1)
            pl_placement_split(&x, y->dim, y->axis);
    }
    return pl_placement_normal(&x, m, s);
}

/* `x` with the windows of one dimension of `to` in place of how it is split there. */
static pl_placement with_window(const pl_placement *x, const pl_placement *to, int dim,
                                const pl_mesh *m, const pl_shape *s)
{
    pl_placement y = { .pending = x->pending, .monoid = x->monoid };
    for (int i = 0; i < x->n; i++)
        if (x->split[i].dim != dim) pl_placement_add(&y, x->split[i]);
    for (int i = 0; i < to->n; i++)
        if (to->split[i].dim == dim) pl_placement_add(&y, to->split[i]);
    return pl_placement_normal(&y, m, s);
}

/* Has each rank all of its part of y in its part of x? */
static bool has_part(const pl_placement *x, const pl_placement *y, const pl_mesh *m,
                     const pl_shape *s)
{
    bool has = x->pending == y->pending && (!x->pending || x->monoid == y->monoid);
    for (int r = 0, ranks = pl_mesh_ranks(m); has && r < ranks; r++) {
        int64_t both;
        has = meets(x, y, m, s, r, &both) && both == count_of(y, m, s, r);
    }
    return has;
}

typedef struct ways {
    pl_reshard *r;
    pl_type type;
    const pl_shape *shape;
    int n, which;
    pl_placement from[PL_MAX_SOURCES];      /* without windows                     */
    const pl_placement *of[PL_MAX_SOURCES]; /* not NULL: a slice of this source's part */
    int source[PL_MAX_SOURCES];
    pl_path best; /* seconds 1e300: none yet             */
} ways;

static bool add_move(const ways *w, pl_path *path, pl_move x)
{
    if (path->n == PL_MAX_MOVES || !pl_move_price(&x, w->type, w->r->mesh, w->shape)) return false;
    path->move[path->n++] = x;
    path->bytes += x.bytes;
    path->seconds += x.seconds;
    return true;
}

static void take_better(ways *w, const pl_path *path, int which)
{
    if (path->seconds >= w->best.seconds) return;
    w->best = *path;
    w->which = which;
}

/* A slice of a windowed source goes before its way. */
static bool put_before(const ways *w, int k, pl_path *path)
{
    pl_path all = { 0 };
    if (!w->of[k]) return true;
    unsigned axes = pl_placement_differ(w->of[k], &w->from[k]);
    pl_move x = { .kind = PL_SLICE, .axes = axes, .from = *w->of[k], .to = w->from[k] };
    bool ok = add_move(w, &all, x);
    for (int i = 0; ok && i < path->n; i++) ok = add_move(w, &all, path->move[i]);
    *path = all;
    return ok;
}

/* The way where the dimensions of `plain` get their windows from neighbours, those others of `to`
 * that have windows by a slice of what is whole. */
static void try_way(ways *w, const pl_placement *to, unsigned plain)
{
    const pl_mesh *m = w->r->mesh;
    pl_placement at = without_windows(to, plain, m, w->shape);
    pl_path path;
    pl_err why = { 0 };
    int k;
    if (!w->n || !pl_reshard_find(w->r, w->type, w->shape, w->n, w->from, &at, &k, &path, &why) ||
        !put_before(w, k, &path))
        return;
    for (int pass = 0; pass < 2; pass++) /* slices first: less to send */
        for (int d = 0; d < w->shape->rank; d++) {
            if (!(window_dims(to) >> d & 1) || (plain >> d & 1) != (unsigned)pass) continue;
            pl_move x = { .kind = PL_SLICE, .axes = window_axes(to, d), .from = at };
            x.to = at = with_window(&at, to, d, m, w->shape);
            if (pass && !has_part(&x.from, &x.to, m, w->shape)) x.kind = PL_HALO;
            if (!pl_placement_same(&x.from, &x.to) && !add_move(w, &path, x)) return;
        }
    take_better(w, &path, w->source[k]);
}

static void add_source(ways *w, int i, const pl_placement *from, const pl_placement *of)
{
    for (int k = 0; k < w->n && of; k++)
        if (pl_placement_same(&w->from[k], from)) return;
    w->from[w->n] = *from;
    w->of[w->n] = of;
    w->source[w->n++] = i;
}

/* What a windowed source has at once: the target, or a plain part to go on with. */
static void see_window(ways *w, int i, const pl_placement *from, const pl_placement *to)
{
    const pl_mesh *m = w->r->mesh;
    pl_path path = { 0 };
    pl_placement plain = without_windows(from, ~0u, m, w->shape);
    if (has_part(from, to, m, w->shape)) {
        unsigned axes = pl_placement_differ(from, to);
        pl_move x = { .kind = PL_SLICE, .axes = axes, .from = *from, .to = *to };
        if (add_move(w, &path, x)) take_better(w, &path, i);
    }
    if (has_part(from, &plain, m, w->shape)) add_source(w, i, &plain, from);
}

bool pl_halo_find(pl_reshard *r, pl_type type, const pl_shape *shape, int n,
                  const pl_placement from[], const pl_placement *to, int *which, pl_path *path)
{
    pl_arena *tmp = pl_arena_new("ways to windows");
    ways *w = PL_NEW(tmp, ways);
    unsigned dims = window_dims(to);
    *w = (ways){ .r = r, .type = type, .shape = shape, .best = { .seconds = 1e300 } };
    for (int i = 0; i < n; i++)
        if (!pl_halo_is_end(&from[i])) add_source(w, i, &from[i], NULL);
    for (int i = 0; i < n; i++)
        if (pl_halo_is_end(&from[i])) see_window(w, i, &from[i], to);
    for (unsigned plain = dims;; plain = (plain - 1) & dims) { /* all subsets */
        try_way(w, to, plain);
        if (!plain) break;
    }
    bool found = w->best.seconds < 1e300;
    *path = w->best;
    *which = w->which;
    pl_arena_free(tmp);
    return found;
}
