/* A sum in the form that potentials reparametrize: made from a sum (pl_net_of), evaluated and
 * improved by local search (pl_net_descend), and made smaller (pl_net_keep). The passes are
 * bound.c. */
#include "search/net.h"

#include <string.h>

static double weigh(double time, double memory, pl_cost w)
{
    return isinf(time) ? INFINITY : w.time * time + w.memory * memory;
}

static void weigh_row(const double *time, const double *memory, int cols, pl_cost w, double *out)
{
    if (!time && !memory) return;
    for (int x = 0; x < cols; x++) out[x] = weigh(time ? time[x] : 0, memory ? memory[x] : 0, w);
}

double *pl_net_weigh_row(const double *time, const double *memory, int cols, pl_cost weights,
                         pl_arena *arena)
{
    double *row = PL_NEW_N(arena, double, cols);
    weigh_row(time, memory, cols, weights, row);
    return row;
}

pl_net_table pl_net_weigh(const double *time, const double *memory, int rows, int cols,
                          pl_cost weights, pl_arena *arena)
{
    pl_net_table t = { rows, cols, time, NULL, true };
    if (weights.time == 1 && (!memory || weights.memory == 0)) return t;
    double *cost = pl_arena_get(arena, (size_t)rows * (size_t)t.cols, sizeof *cost), sum = 0;
    for (int x = 0; x < rows; x++) {
        size_t at = (size_t)x * (size_t)cols;
        double *row = cost + (size_t)x * (size_t)t.cols;
        weigh_row(time + at, memory ? memory + at : NULL, cols, weights, row);
        for (int y = 0; y < cols; y++) sum += row[y];
    }
    t.cost = cost;
    t.holes = !pl_net_is_legal(sum);
    return t;
}

pl_net_table pl_net_scale(pl_net_table table, double by, pl_arena *arena)
{
    size_t n = (size_t)table.rows * (size_t)table.cols;
    double *cost = pl_arena_get(arena, n, sizeof *cost);
    for (size_t i = 0; i < n; i++) cost[i] = table.cost[i] * by;
    table.cost = cost;
    return table;
}

pl_net *pl_net_new(int n, pl_arena *arena)
{
    pl_net *net = PL_NEW(arena, pl_net);
    net->n = n;
    net->size = PL_NEW_N(arena, int, n);
    net->value = PL_NEW_N(arena, int *, n);
    net->unary = PL_NEW_N(arena, double *, n);
    net->memory = PL_NEW_N(arena, double *, n);
    net->least = PL_NEW_N(arena, double *, n);
    return net;
}

void pl_net_var(pl_net *net, int v, int size, int *value, double *unary, pl_arena *arena)
{
    net->size[v] = size;
    net->unary[v] = unary;
    net->least[v] = PL_NEW_N(arena, double, size);
    for (int x = 0; x < size; x++) net->least[v][x] = -INFINITY;
    net->value[v] = value ? value : PL_NEW_N(arena, int, size);
    for (int x = 0; !value && x < size; x++) net->value[v][x] = x;
}

static double *copy_row(const double *from, int size, pl_arena *a)
{
    double *to = PL_NEW_N(a, double, size);
    if (from) memcpy(to, from, (size_t)size * sizeof *to);
    return to;
}

void pl_net_join(pl_net *net, int a, int b, pl_net_table table, const double *to_a,
                 const double *to_b, pl_arena *arena)
{
    if (net->n_edges == net->cap_edges)
        net->edge = pl_arena_grow(arena, net->edge, &net->cap_edges, sizeof *net->edge);
    net->edge[net->n_edges++] = (pl_net_edge){
        a,     b, table, copy_row(to_a, net->size[a], arena), copy_row(to_b, net->size[b], arena),
        false,
    };
}

void pl_net_index(pl_net *net, pl_arena *arena)
{
    int *first = PL_NEW_N(arena, int, net->n + 2), most = 0;
    for (int p = 0; p < net->n_edges; p++) {
        first[net->edge[p].a + 2]++;
        first[net->edge[p].b + 2]++;
    }
    for (int v = 0; v < net->n; v++) {
        first[v + 2] += first[v + 1];
        if (net->size[v] > most) most = net->size[v];
    }
    net->first = first;
    net->incident = PL_NEW_N(arena, int, 2 * net->n_edges);
    for (int p = 0; p < net->n_edges; p++) {
        net->incident[first[net->edge[p].a + 1]++] = p;
        net->incident[first[net->edge[p].b + 1]++] = p;
    }
    if (!net->order) pl_net_arrange(net, arena);
    for (int i = 0; i < 2; i++) net->scratch[i] = PL_NEW_N(arena, double, most);
}

pl_net *pl_net_of(const pl_sum *sum, pl_cost weights, pl_arena *arena)
{
    pl_net *net = pl_net_new(sum->n, arena);
    for (int v = 0; v < sum->n; v++) {
        double *unary =
            pl_net_weigh_row(sum->time ? sum->time[v] : NULL, sum->memory ? sum->memory[v] : NULL,
                             sum->n_values[v], weights, arena);
        pl_net_var(net, v, sum->n_values[v], NULL, unary, arena);
    }
    for (int p = 0; p < sum->n_edges; p++) {
        const pl_sum_edge *e = &sum->edge[p];
        int rows = sum->n_values[e->a], cols = sum->n_values[e->b];
        net->work += (int64_t)rows * cols;
        pl_net_join(net, e->a, e->b, pl_net_weigh(e->time, e->memory, rows, cols, weights, arena),
                    NULL, NULL, arena);
    }
    pl_net_index(net, arena);
    return pl_net_keep(net, pl_net_keeps(net, arena), NULL, false, arena);
}

const double *pl_net_recall(const double *memory, int cols, pl_net_table table, const int *row,
                            const int *col, pl_arena *arena)
{
    if (!memory) return NULL;
    double *out = pl_arena_get(arena, (size_t)table.rows * (size_t)table.cols, sizeof *out);
    for (int x = 0; x < table.rows; x++)
        for (int y = 0; y < table.cols; y++)
            out[(size_t)x * (size_t)table.cols + (size_t)y] =
                memory[(size_t)row[x] * (size_t)cols + (size_t)col[y]];
    return out;
}

double *pl_net_recall_row(const double *memory, int size, const int *value, pl_arena *arena)
{
    if (!memory) return NULL;
    double *out = PL_NEW_N(arena, double, size);
    for (int x = 0; x < size; x++) out[x] = memory[value[x]];
    return out;
}

void pl_net_remember(pl_net *net, const pl_sum *sum, pl_arena *arena)
{
    for (int v = 0; v < net->n; v++)
        net->memory[v] = pl_net_recall_row(sum->memory ? sum->memory[v] : NULL, net->size[v],
                                           net->value[v], arena);
    for (int p = 0; p < net->n_edges; p++) {
        pl_net_edge *e = &net->edge[p];
        e->table.memory = pl_net_recall(sum->edge[p].memory, sum->n_values[e->b], e->table,
                                        net->value[e->a], net->value[e->b], arena);
    }
}

double pl_net_cost(const pl_net *net, const int *index)
{
    double sum = net->bound;
    for (int v = 0; v < net->n; v++) sum += net->unary[v][index[v]];
    for (int p = 0; p < net->n_edges; p++) {
        const pl_net_edge *e = &net->edge[p];
        sum += e->table.cost[(size_t)index[e->a] * (size_t)e->table.cols + (size_t)index[e->b]];
    }
    return sum;
}

/* The cost of each value of v when the neighbours stay. */
static void add_neighbours(const pl_net *net, int v, const int *index, double *sum)
{
    memcpy(sum, net->unary[v], (size_t)net->size[v] * sizeof *sum);
    for (int i = net->first[v]; i < net->first[v + 1]; i++) {
        const pl_net_edge *e = &net->edge[net->incident[i]];
        const double *cost = e->table.cost;
        size_t stride = (size_t)e->table.cols;
        if (e->a == v)
            for (int x = 0; x < net->size[v]; x++)
                sum[x] += cost[(size_t)x * stride + (size_t)index[e->b]];
        else
            for (int x = 0; x < net->size[v]; x++)
                sum[x] += cost[(size_t)index[e->a] * stride + (size_t)x];
    }
}

int pl_net_place(const pl_net *net, int v, const int *value)
{
    for (int x = 0; value && x < net->size[v]; x++)
        if (net->value[v][x] == value[v]) return x;
    return -1;
}

bool pl_net_places(const pl_net *net, const int *value, int *index)
{
    for (int v = 0; v < net->n; v++)
        if ((index[v] = pl_net_place(net, v, value)) < 0) return false;
    return true;
}

void pl_net_descend(pl_net *net, int *index, int rounds)
{
    double *sum = net->scratch[0];
    for (bool better = true; better && rounds > 0; rounds--) {
        better = false;
        for (int v = 0; v < net->n; v++) {
            if (net->size[v] == 1) continue;
            add_neighbours(net, v, index, sum);
            for (int x = 0; x < net->size[v]; x++)
                if (sum[x] < sum[index[v]]) {
                    index[v] = x;
                    better = true;
                }
        }
    }
}

bool **pl_net_keeps(const pl_net *net, pl_arena *arena)
{
    bool **keep = PL_NEW_N(arena, bool *, net->n);
    for (int v = 0; v < net->n; v++) {
        keep[v] = PL_NEW_N(arena, bool, net->size[v]);
        memset(keep[v], 1, (size_t)net->size[v] * sizeof(bool));
    }
    return keep;
}

/* place[v][..] are the kept places of v in the old net. */
static void keep_variable(const pl_net *old, pl_net *net, int v, const int *place, pl_arena *arena)
{
    int size = net->size[v];
    int *value = PL_NEW_N(arena, int, size);
    double *unary = PL_NEW_N(arena, double, size);
    for (int x = 0; x < size; x++) {
        value[x] = old->value[v][place[x]];
        unary[x] = old->unary[v][place[x]];
    }
    pl_net_var(net, v, size, value, unary, arena);
    if (old->memory[v]) net->memory[v] = PL_NEW_N(arena, double, size);
    for (int x = 0; old->memory[v] && x < size; x++) net->memory[v][x] = old->memory[v][place[x]];
    for (int x = 0; x < size; x++) net->least[v][x] = old->least[v][place[x]];
}

static double *keep_entries(const double *from, int stride, pl_net_table to, const int *row,
                            const int *col, pl_arena *arena)
{
    double *out = pl_arena_get(arena, (size_t)to.rows * (size_t)to.cols, sizeof *out);
    for (int x = 0; x < to.rows; x++) {
        const double *old = from + (size_t)row[x] * (size_t)stride;
        double *new = out + (size_t)x *(size_t)to.cols;
        for (int y = 0; y < to.cols; y++) new[y] = old[col[y]];
    }
    return out;
}

static pl_net_table keep_table(pl_net_table table, int rows, const int *row, int cols,
                               const int *col, pl_arena *arena)
{
    if (rows == table.rows && cols == table.cols) return table;
    pl_net_table out = { rows, cols, NULL, NULL, table.holes };
    out.cost = keep_entries(table.cost, table.cols, out, row, col, arena);
    if (table.memory) out.memory = keep_entries(table.memory, table.cols, out, row, col, arena);
    return out;
}

static void add_line(double *to, const double *from, int n, int step)
{
    for (int x = 0; x < n; x++) to[x] += from[(size_t)x * (size_t)step];
}

/* An edge one of whose variables has a single value is a row that belongs to the other. */
static void fold_edge(pl_net *net, int a, int b, pl_net_table table, pl_arena *arena)
{
    int v = net->size[a] == 1 ? b : a, step = v == b ? 1 : table.cols;
    add_line(net->unary[v], table.cost, net->size[v], step);
    if (!table.memory) return;
    if (!net->memory[v]) net->memory[v] = PL_NEW_N(arena, double, net->size[v]);
    add_line(net->memory[v], table.memory, net->size[v], step);
}

/* Folding leaves unary tables whose least entry is not 0: into the bound with it. A fixed variable
 * may be left without a legal value. */
static void settle(pl_net *net)
{
    for (int v = 0; v < net->n; v++) {
        double least = INFINITY;
        for (int x = 0; x < net->size[v]; x++) {
            double sum = net->unary[v][x];
            for (int i = net->first[v]; i < net->first[v + 1]; i++) {
                const pl_net_edge *e = &net->edge[net->incident[i]];
                sum += e->a == v ? e->to_a[x] : e->to_b[x];
            }
            least = fmin(least, sum);
        }
        if (!pl_net_is_legal(least)) continue;
        for (int x = 0; x < net->size[v]; x++) net->unary[v][x] -= least;
        net->bound += least;
    }
}

/* Whether value x of variable v has a legal partner in the edge. */
static bool has_partner(const pl_net_edge *edge, int v, int x, bool *const *keep)
{
    size_t stride = (size_t)edge->table.cols, at = (size_t)x;
    const double *cost = edge->table.cost;
    if (edge->a == v) {
        for (size_t y = 0; y < (size_t)edge->table.cols; y++)
            if (keep[edge->b][y] && pl_net_is_legal(cost[at * stride + y])) return true;
    } else {
        for (size_t y = 0; y < (size_t)edge->table.rows; y++)
            if (keep[edge->a][y] && pl_net_is_legal(cost[y * stride + at])) return true;
    }
    return false;
}

/* Arc consistency: until every value has a partner in every edge. */
static void drop_forbidden(const pl_net *net, bool **keep, const bool *fixed)
{
    for (bool again = true; again;) {
        again = false;
        for (int v = 0; v < net->n; v++)
            for (int x = 0; x < net->size[v] && !(fixed && fixed[v]); x++) {
                bool legal = keep[v][x] && pl_net_is_legal(net->unary[v][x]);
                for (int i = net->first[v]; legal && i < net->first[v + 1]; i++) {
                    const pl_net_edge *e = &net->edge[net->incident[i]];
                    legal = e->loose || !e->table.holes || has_partner(e, v, x, keep);
                }
                again |= keep[v][x] && !legal;
                keep[v][x] = legal;
            }
    }
}

static int **list_places(const pl_net *net, bool *const *keep, int *size, pl_arena *arena)
{
    int **place = PL_NEW_N(arena, int *, net->n);
    for (int v = 0; v < net->n; v++) {
        place[v] = PL_NEW_N(arena, int, net->size[v]);
        for (int x = 0; x < net->size[v]; x++)
            if (keep[v][x]) place[v][size[v]++] = x;
        if (!size[v]) return NULL;
    }
    return place;
}

pl_net *pl_net_keep(const pl_net *old, bool **keep, const bool *fixed, bool fold, pl_arena *arena)
{
    pl_net *net = pl_net_new(old->n, arena);
    drop_forbidden(old, keep, fixed);
    int **place = list_places(old, keep, net->size, arena);
    if (!place) return NULL;
    for (int v = 0; v < net->n; v++) keep_variable(old, net, v, place[v], arena);
    net->bound = old->bound;
    net->settled = old->settled;
    net->step = old->step;
    net->work = old->work;
    net->order = old->order;
    net->rank = old->rank;
    for (int p = 0; p < old->n_edges; p++) {
        const pl_net_edge *e = &old->edge[p];
        int na = net->size[e->a], nb = net->size[e->b];
        net->work += (int64_t)na * nb;
        pl_net_table t = keep_table(e->table, na, place[e->a], nb, place[e->b], arena);
        if (fold && (na == 1 || nb == 1)) {
            fold_edge(net, e->a, e->b, t, arena);
            continue;
        }
        pl_net_join(net, e->a, e->b, t, NULL, NULL, arena);
        pl_net_edge *f = &net->edge[net->n_edges - 1];
        f->loose = e->loose;
        for (int x = 0; x < na; x++) f->to_a[x] = e->to_a[place[e->a][x]];
        for (int y = 0; y < nb; y++) f->to_b[y] = e->to_b[place[e->b][y]];
    }
    pl_net_index(net, arena);
    if (fold) settle(net);
    return net;
}
