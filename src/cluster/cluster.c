/* What follows from the figures of a cluster (pl_cluster_finish), and a mesh laid over its
 * levels of links: pl_cluster_axes(), where lay_axis() finds the levels that one axis crosses
 * and what a message then costs. */
#include "cluster/cluster.h"
#include "cluster/field.h"

#include <math.h>
#include <string.h>

/* -- what follows from the rest ---------------------------------------------------------------- */

/* A figure of 0 that is like another one was left out. */
static bool check_figures(const pl_field fields[], void *row, pl_arena *arena, pl_err *err)
{
    for (const pl_field *f = fields; f->key; f++) {
        pl_figure *x = pl_field_at(f, row);
        if (f->like && fpclassify(x->value) == FP_ZERO) {
            const pl_figure *like = pl_field_at(pl_field_find(fields, f->like), row);
            *x = (pl_figure){ like->value, pl_arena_fmt(arena, "as %s", f->like) };
        }
        if (!(x->value >= f->least && x->value <= f->most))
            return pl_err_set(err, PL_EINPUT, "%s %g is not from %g to %g", f->key, x->value,
                              f->least, f->most);
        if (!x->source) x->source = "";
    }
    return true;
}

static bool check_name(const char *name, pl_err *err)
{
    if (!name || !*name || strlen(name) > PL_FIELD_NAME)
        return pl_err_set(err, PL_EINPUT, "a name has 1 to %d bytes", PL_FIELD_NAME);
    return true;
}

static bool finish_classes(pl_cluster *cluster, pl_arena *arena, pl_err *err)
{
    if (cluster->n_classes < 1 || cluster->n_classes > PL_CLUSTER_CLASSES)
        return pl_err_set(err, PL_EINPUT, "%d classes of devices; 1 to %d are possible",
                          cluster->n_classes, PL_CLUSTER_CLASSES);
    for (int i = 0; i < cluster->n_classes; i++) {
        pl_device_class *d = &cluster->class[i];
        PL_TRY(check_name(d->name, err));
        if (!check_figures(pl_field_class, d, arena, err))
            return pl_err_in(err, "class '%s'", d->name);
        for (int k = 0; k < i; k++)
            if (!strcmp(cluster->class[k].name, d->name))
                return pl_err_set(err, PL_EINPUT, "two classes are named '%s'", d->name);
    }
    return true;
}

/* `below`: devices of a group of the level below, which share an uplink. */
static bool finish_level(pl_level *level, int below, pl_arena *arena, pl_err *err)
{
    PL_TRY(check_name(level->name, err));
    if (!level->curve_source) level->curve_source = "";
    if (level->link.n_points) {
        PL_TRY(pl_link_check(level->link.n_points, level->link.point, err));
        pl_link_fit(level->link.n_points, level->link.point, &level->link.latency,
                    &level->link.per_byte);
        level->link.latency = fmax(level->link.latency - level->start.value, 0);
        level->latency = (pl_figure){ 0, "" };
        level->bandwidth = (pl_figure){ 0, "" };
        level->shared = false;
        PL_TRY(check_figures(pl_field_curved, level, arena, err));
    } else {
        PL_TRY(check_figures(pl_field_level, level, arena, err));
        level->link.latency = level->latency.value;
        level->link.per_byte = (level->shared ? below : 1) / level->bandwidth.value;
    }
    level->link.start = level->start.value;
    level->link.exchange_per_byte = level->link.per_byte;
    level->link.overlap = level->overlap.value;
    return true;
}

static bool finish_levels(pl_cluster *cluster, pl_arena *arena, pl_err *err)
{
    if (cluster->n_levels < 1 || cluster->n_levels > PL_CLUSTER_LEVELS)
        return pl_err_set(err, PL_EINPUT, "%d levels of links; 1 to %d are possible",
                          cluster->n_levels, PL_CLUSTER_LEVELS);
    cluster->n_devices = 1;
    for (int i = 0; i < cluster->n_levels; i++) {
        pl_level *l = &cluster->level[i];
        for (int k = 0; k < i; k++)
            if (l->name && !strcmp(cluster->level[k].name, l->name))
                return pl_err_set(err, PL_EINPUT, "two levels are named '%s'", l->name);
        if (!finish_level(l, cluster->n_devices, arena, err))
            return pl_err_in(err, "level '%s'", l->name ? l->name : "");
        if (l->size < 1 || l->size > PL_CLUSTER_DEVICES / cluster->n_devices)
            return pl_err_set(err, PL_EINPUT,
                              "level '%s' joins %d groups of %d devices; a cluster has 1 to %d "
                              "devices",
                              l->name, l->size, cluster->n_devices, PL_CLUSTER_DEVICES);
        cluster->n_devices *= l->size;
    }
    return true;
}

static bool finish_parts(pl_cluster *cluster, pl_arena *arena, pl_err *err)
{
    int sum = 0, top = cluster->level[cluster->n_levels - 1].size;
    if (!cluster->n_parts) {
        cluster->part = PL_NEW(arena, pl_part);
        cluster->part[cluster->n_parts++] = (pl_part){ 0, top };
    }
    if (cluster->n_parts > PL_CLUSTER_PARTS)
        return pl_err_set(err, PL_EINPUT, "%d rows of groups; at most %d are possible",
                          cluster->n_parts, PL_CLUSTER_PARTS);
    for (int i = 0; i < cluster->n_parts; i++) {
        const pl_part *p = &cluster->part[i];
        PL_ASSERT(p->class >= 0 && p->class < cluster->n_classes);
        if (p->count < 1 || p->count > PL_CLUSTER_DEVICES)
            return pl_err_set(err, PL_EINPUT, "%d groups of class '%s'", p->count,
                              cluster->class[p->class].name);
        sum += p->count;
    }
    return sum == top ||
           pl_err_set(err, PL_EINPUT, "the groups' counts add up to %d, but level '%s' joins %d",
                      sum, cluster->level[cluster->n_levels - 1].name, top);
}

bool pl_cluster_finish(pl_cluster *cluster, pl_arena *arena, pl_err *err)
{
    return finish_classes(cluster, arena, err) && finish_levels(cluster, arena, err) &&
           finish_parts(cluster, arena, err);
}

/* -- reading ----------------------------------------------------------------------------------- */

int pl_cluster_group_size(const pl_cluster *cluster, int level)
{
    int n = 1;
    for (int i = 0; i < level; i++) n *= cluster->level[i].size;
    return n;
}

double pl_cluster_memory(const pl_cluster *cluster)
{
    double least = INFINITY;
    for (int i = 0; i < cluster->n_classes; i++)
        least = fmin(least, cluster->class[i].memory.value);
    return least;
}

uint64_t pl_cluster_classes(const pl_cluster *cluster, int first, int n)
{
    const int group = pl_cluster_group_size(cluster, cluster->n_levels - 1);
    uint64_t classes = 0;
    for (int i = 0, at = 0; i < cluster->n_parts; at += cluster->part[i++].count * group)
        if (at < first + n && at + cluster->part[i].count * group > first)
            classes |= UINT64_C(1) << cluster->part[i].class;
    return classes;
}

double pl_cluster_memory_among(const pl_cluster *cluster, int first, int n)
{
    const uint64_t classes = pl_cluster_classes(cluster, first, n);
    double least = INFINITY;
    for (int i = 0; i < cluster->n_classes; i++)
        if (classes >> i & 1) least = fmin(least, cluster->class[i].memory.value);
    return least;
}

double pl_cluster_host_memory(const pl_cluster *cluster)
{
    double least = INFINITY;
    for (int i = 0; i < cluster->n_classes; i++)
        least = fmin(least, cluster->class[i].host_memory.value);
    return least;
}

const pl_device_class *pl_cluster_device(const pl_cluster *cluster, int device)
{
    int group = device / pl_cluster_group_size(cluster, cluster->n_levels - 1), i = 0;
    PL_ASSERT_CMP(device, >=, 0);
    PL_ASSERT_CMP(device, <, cluster->n_devices);
    while (group >= cluster->part[i].count) group -= cluster->part[i++].count;
    return &cluster->class[cluster->part[i].class];
}

/* -- axes over levels -------------------------------------------------------------------------- */

static bool refuse_mesh(const pl_cluster *cluster, int n, const int sizes[], pl_err *err)
{
    pl_text t = { .arena = pl_arena_new("mesh text") };
    for (int i = 0; i < n; i++) pl_text_add(&t, "%s%d", i ? "x" : "", sizes[i]);
    pl_err_in(err, "mesh %s on cluster '%s'", pl_text_get(&t), cluster->name);
    pl_arena_free(t.arena);
    return false;
}

static bool check_sizes(const pl_cluster *cluster, int n, const int sizes[], pl_err *err)
{
    int64_t all = 1;
    for (int i = 0; i < n; i++) {
        if (sizes[i] < 1)
            return pl_err_set(err, PL_EINPUT, "axis %d of the mesh has size %d", i, sizes[i]);
        all = all > PL_CLUSTER_DEVICES ? all : all * sizes[i];
    }
    return all == cluster->n_devices ||
           pl_err_set(err, PL_EINPUT, "%lld devices; the cluster has %d", (long long)all,
                      cluster->n_devices);
}

/* A message of one of k devices that send in turn: what depends on its bytes shrinks to 1/k. */
static pl_link divide(const pl_link *link, int k)
{
    pl_link out = *link;
    out.per_byte /= k;
    for (int i = 0; i < link->n_points; i++)
        out.point[i].seconds =
            link->point[0].seconds + (link->point[i].seconds - link->point[0].seconds) / k;
    return out;
}

static void slow_down(pl_link *out, const pl_link *link)
{
    out->start = fmax(out->start, link->start);
    out->latency = fmax(out->latency, link->latency);
    out->per_byte = fmax(out->per_byte, link->per_byte);
    out->exchange_per_byte = fmax(out->exchange_per_byte, link->exchange_per_byte);
    for (int i = 0; i < out->n_points; i++)
        out->point[i].seconds =
            fmax(out->point[i].seconds, pl_link_seconds(link, out->point[i].bytes));
}

/* The axis steps over `step` devices, `size` times. A level whose groups have `group` devices and
 * join up to `top` is crossed when some step leaves such a group. */
static bool lay_axis(const pl_cluster *cluster, int64_t step, int size, pl_link *out, int *at,
                     pl_err *err)
{
    const int64_t end = step * size;
    int64_t group = 1;
    *out = (pl_link){ .overlap = 1 };
    for (int i = 0; i < cluster->n_levels && group < end; i++) {
        const int64_t top = group * cluster->level[i].size;
        if (step < group && (group % step || end % group)) {
            *at = i - 1;
            return pl_err_set(err, PL_EINPUT, "%lld devices, %lld apart, over groups of %lld",
                              (long long)size, (long long)step, (long long)group);
        }
        if (step < top && size > 1 && top > group) {
            const int k = step < group ? (int)(group / step) : 1; /* of a group, on this axis */
            const int far = top < end ? (int)(top / step) : size; /* and of what it joins     */
            const pl_link inner = *out;
            *out = divide(&cluster->level[i].link, k);
            out->exchange_per_byte *= (double)(far - k) / (size - 1);
            slow_down(out, &inner);
        }
        group = top;
    }
    return true;
}

bool pl_cluster_axes(const pl_cluster *cluster, int n, const int sizes[], pl_link out[],
                     pl_err *err)
{
    int64_t step = 1;
    if (!check_sizes(cluster, n, sizes, err)) return refuse_mesh(cluster, n, sizes, err);
    for (int i = n - 1, level; i >= 0; i--) {
        if (!lay_axis(cluster, step, sizes[i], &out[i], &level, err)) {
            pl_err_in(err, "axis %d cuts what level '%s' joins unevenly", i,
                      cluster->level[level].name);
            return refuse_mesh(cluster, n, sizes, err);
        }
        step *= sizes[i];
    }
    return true;
}
