/* Neighbours of items; sums over gone ones reached through gone ones, in one direction; and DTR's
 * approximation, classes of gone neighbours in a union-find forest that splits never undo. */
#include "policies/region.h"

#include <string.h>

enum { BEFORE, AFTER };

struct pl_evict_region {
    int *at[2], *to[2], *by; /* [n_item + 1], neighbours: made from, made into; AFTER: by that op */
    bool *known[2];          /* [n_item] the sum holds */
    double *sum[2];
    int stamp, *seen, *stack; /* [n_item] */
    int *class_of;            /* [n_item] node of a gone one, or -1 */
    struct {
        struct class {
            int parent, seen;
            double sum;
        } * at;
        int n, cap;
    } classes;
    pl_arena *arena;
};

static void add_neighbours(pl_evict_region *g, const pl_evict_items *x, pl_arena *arena)
{
    int n = 0;
    for (int t = 0; t < x->n_op; t++)
        n += (x->in_at[t + 1] - x->in_at[t]) * (x->make_at[t + 1] - x->make_at[t]);
    g->by = PL_NEW_N(arena, int, n);
    for (int way = 0; way < 2; way++) {
        g->at[way] = PL_NEW_N(arena, int, x->n_item + 1);
        g->to[way] = PL_NEW_N(arena, int, n);
        int *fill = PL_NEW_N(arena, int, x->n_item);
        for (int pass = 0; pass < 2; pass++) {
            for (int t = 0; t < x->n_op; t++)
                for (int k = x->in_at[t]; k < x->in_at[t + 1]; k++)
                    for (int m = x->make_at[t]; m < x->make_at[t + 1]; m++) {
                        int a = x->in[k], b = x->item_of[x->make[m]];
                        if (a == b) continue;
                        int from = way == AFTER ? a : b, to = way == AFTER ? b : a;
                        if (pass == 0) {
                            g->at[way][from + 1]++;
                            continue;
                        }
                        int at = g->at[way][from] + fill[from]++;
                        g->to[way][at] = to;
                        if (way == AFTER) g->by[at] = t;
                    }
            for (int i = 0; i < x->n_item && pass == 0; i++) g->at[way][i + 1] += g->at[way][i];
        }
    }
}

pl_evict_region *pl_evict_region_new(const pl_evict_items *items, pl_arena *arena)
{
    int n = items->n_item;
    pl_evict_region *g = PL_NEW(arena, pl_evict_region);
    g->arena = arena;
    add_neighbours(g, items, arena);
    for (int way = 0; way < 2; way++) {
        g->known[way] = PL_NEW_N(arena, bool, n);
        g->sum[way] = PL_NEW_N(arena, double, n);
    }
    g->seen = PL_NEW_N(arena, int, n);
    g->stack = PL_NEW_N(arena, int, n);
    g->class_of = PL_NEW_N(arena, int, n);
    for (int i = 0; i < n; i++) g->class_of[i] = -1;
    return g;
}

/* Walks gone storages from an item in one direction; their seconds. Storages at the border that are
 * there forget their sums in the other direction when `forget`. */
static double walk(pl_evict_online *online, int item, int way, bool forget)
{
    pl_evict_region *g = online->region;
    int n = 0;
    double sum = 0;
    g->stamp++;
    g->seen[item] = g->stamp;
    g->stack[n++] = item;
    while (n > 0) {
        int i = g->stack[--n];
        for (int k = g->at[way][i]; k < g->at[way][i + 1]; k++) {
            int to = g->to[way][k];
            if (g->seen[to] == g->stamp || (way == AFTER && !online->made[g->by[k]])) continue;
            if (online->play->present[to]) {
                if (forget) g->known[1 - way][to] = false;
                continue;
            }
            g->seen[to] = g->stamp;
            sum += online->compute[to];
            g->stack[n++] = to;
        }
    }
    return sum;
}

static double find_sum(pl_evict_online *online, int item, int way)
{
    pl_evict_region *g = online->region;
    if (!g->known[way][item]) {
        g->sum[way][item] = walk(online, item, way, false);
        g->known[way][item] = true;
    }
    return g->sum[way][item];
}

double pl_evict_online_before(pl_evict_online *online, int item)
{
    return find_sum(online, item, BEFORE);
}

double pl_evict_online_after(pl_evict_online *online, int item)
{
    return find_sum(online, item, AFTER);
}

static int find_class(pl_evict_region *g, int c)
{
    struct class *at = g->classes.at;
    for (; at[c].parent >= 0; c = at[c].parent) /* each step halves the way of the next time */
        if (at[at[c].parent].parent >= 0) at[c].parent = at[at[c].parent].parent;
    return c;
}

/* Adds the classes of gone neighbours, each once; or joins them to class `into`. */
static double visit_classes(pl_evict_online *online, int item, int into)
{
    pl_evict_region *g = online->region;
    double sum = 0;
    g->stamp++;
    for (int way = 0; way < 2; way++)
        for (int k = g->at[way][item]; k < g->at[way][item + 1]; k++) {
            int to = g->to[way][k];
            if (online->play->present[to] || g->class_of[to] < 0) continue;
            int c = find_class(g, g->class_of[to]);
            struct class *l = &g->classes.at[c];
            if (into >= 0 && c != into) {
                l->parent = into;
                g->classes.at[into].sum += l->sum;
            } else if (into < 0 && l->seen != g->stamp) {
                l->seen = g->stamp;
                sum += l->sum;
            }
        }
    return sum;
}

double pl_evict_online_class(pl_evict_online *online, int item)
{
    return visit_classes(online, item, -1);
}

void pl_evict_region_gone(pl_evict_online *online, int item)
{
    pl_evict_region *g = online->region;
    struct class c = { .parent = -1, .sum = online->compute[item] };
    (void)walk(online, item, BEFORE, true);
    (void)walk(online, item, AFTER, true);
    g->class_of[item] = g->classes.n;
    PL_PUSH(g->arena, &g->classes, c);
    (void)visit_classes(online, item, g->class_of[item]);
}

void pl_evict_region_back(pl_evict_online *online, int item)
{
    pl_evict_region *g = online->region;
    (void)walk(online, item, BEFORE, true);
    (void)walk(online, item, AFTER, true);
    g->known[BEFORE][item] = g->known[AFTER][item] = false;
    if (g->class_of[item] >= 0)
        g->classes.at[find_class(g, g->class_of[item])].sum -= online->compute[item];
    g->class_of[item] = -1;
}
