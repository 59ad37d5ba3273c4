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

double *pl_net_weigh_row(const double *time, const double *memory, int cols, pl_cost w, pl_arena *a)
{
    double *row = PL_NEW_N(a, double, cols);
    weigh_row(time, memory, cols, w, row);
    return row;
}

pl_net_table pl_net_weigh(const double *time, const double *memory, int rows, int cols, pl_cost w,
                          pl_arena *a)
{
    pl_net_table t = { rows, cols, time, NULL, true };
    if (w.time == 1 && (!memory || w.memory == 0)) return t;
    double *cost = pl_arena_get(a, (size_t)rows * (size_t)t.cols, sizeof *cost), sum = 0;
    for (int x = 0; x < rows; x++) {
        size_t at = (size_t)x * (size_t)cols;
        double *row = cost + (size_t)x * (size_t)t.cols;
        weigh_row(time + at, memory ? memory + at : NULL, cols, w, row);
        for (int y = 0; y < cols; y++) sum += row[y];
    }
    t.cost = cost;
    t.holes = !pl_net_is_legal(sum);
    return t;
}

pl_net_table pl_net_scale(pl_net_table t, double by, pl_arena *a)
{
    size_t n = (size_t)t.rows * (size_t)t.cols;
    double *cost = pl_arena_get(a, n, sizeof *cost);
    for (size_t i = 0; i < n; i++) cost[i] = t.cost[i] * by;
    t.cost = cost;
    return t;
}

pl_net *pl_net_new(int n, pl_arena *a)
{
    pl_net *net = PL_NEW(a, pl_net);
    net->n = n;
    net->size = PL_NEW_N(a, int, n);
    net->value = PL_NEW_N(a, int *, n);
    net->unary = PL_NEW_N(a, double *, n);
    net->memory = PL_NEW_N(a, double *, n);
    net->least = PL_NEW_N(a, double *, n);
    return net;
}

void pl_net_var(pl_net *net, int v, int size, int *value, double *unary, pl_arena *a)
{
    net->size[v] = size;
    net->unary[v] = unary;
    net->least[v] = PL_NEW_N(a, double, size);
    for (int x = 0; x < size; x++) net->least[v][x] = -INFINITY;
    net->value[v] = value ? value : PL_NEW_N(a, int, size);
    for (int x = 0; !value && x < size; x++) net->value[v][x] = x;
}

static double *copy_row(const double *from, int size, pl_arena *a)
{
    double *to = PL_NEW_N(a, double, size);
    if (from) memcpy(to, from, (size_t)size * sizeof *to);
    return to;
}

void pl_net_join(pl_net *net, int a, int b, pl_net_table t, const double *to_a, const double *to_b,
                 pl_arena *arena)
{
    if (net->n_pairs == net->cap_pairs)
        net->pair = pl_arena_grow(arena, net->pair, &net->cap_pairs, sizeof *net->pair);
    net->pair[net->n_pairs++] = (pl_net_pair){
        a, b, t, copy_row(to_a, net->size[a], arena), copy_row(to_b, net->size[b], arena), false,
    };
}

void pl_net_index(pl_net *net, pl_arena *a)
{
    int *first = PL_NEW_N(a, int, net->n + 2), most = 0;
    for (int p = 0; p < net->n_pairs; p++) {
        first[net->pair[p].a + 2]++;
        first[net->pair[p].b + 2]++;
    }
    for (int v = 0; v < net->n; v++) {
        first[v + 2] += first[v + 1];
        if (net->size[v] > most) most = net->size[v];
    }
    net->first = first;
    net->incident = PL_NEW_N(a, int, 2 * net->n_pairs);
    for (int p = 0; p < net->n_pairs; p++) {
        net->incident[first[net->pair[p].a + 1]++] = p;
        net->incident[first[net->pair[p].b + 1]++] = p;
    }
    if (!net->order) pl_net_arrange(net, a);
    for (int i = 0; i < 2; i++) net->scratch[i] = PL_NEW_N(a, double, most);
}

pl_net *pl_net_of(const pl_sum *s, pl_cost w, pl_arena *a)
{
    pl_net *net = pl_net_new(s->n, a);
    for (int v = 0; v < s->n; v++) {
        double *unary = pl_net_weigh_row(s->time ? s->time[v] : NULL,
                                         s->memory ? s->memory[v] : NULL, s->n_values[v], w, a);
        pl_net_var(net, v, s->n_values[v], NULL, unary, a);
    }
    for (int p = 0; p < s->n_pairs; p++) {
        const pl_sum_pair *e = &s->pair[p];
        int rows = s->n_values[e->a], cols = s->n_values[e->b];
        net->work += (int64_t)rows * cols;
        pl_net_join(net, e->a, e->b, pl_net_weigh(e->time, e->memory, rows, cols, w, a), NULL, NULL,
                    a);
    }
    pl_net_index(net, a);
    return pl_net_keep(net, pl_net_keeps(net, a), NULL, false, a);
}

const double *pl_net_recall(const double *memory, int cols, pl_net_table t, const int *row,
                            const int *col, pl_arena *a)
{
    if (!memory) return NULL;
    double *out = pl_arena_get(a, (size_t)t.rows * (size_t)t.cols, sizeof *out);
    for (int x = 0; x < t.rows; x++)
        for (int y = 0; y < t.cols; y++)
            out[(size_t)x * (size_t)t.cols + (size_t)y] =
                memory[(size_t)row[x] * (size_t)cols + (size_t)col[y]];
    return out;
}

double *pl_net_recall_row(const double *memory, int size, const int *value, pl_arena *a)
{
    if (!memory) return NULL;
    double *out = PL_NEW_N(a, double, size);
    for (int x = 0; x < size; x++) out[x] = memory[value[x]];
    return out;
}

void pl_net_remember(pl_net *net, const pl_sum *s, pl_arena *a)
{
    for (int v = 0; v < net->n; v++)
        net->memory[v] =
            pl_net_recall_row(s->memory ? s->memory[v] : NULL, net->size[v], net->value[v], a);
    for (int p = 0; p < net->n_pairs; p++) {
        pl_net_pair *e = &net->pair[p];
        e->table.memory = pl_net_recall(s->pair[p].memory, s->n_values[e->b], e->table,
                                        net->value[e->a], net->value[e->b], a);
    }
}

double pl_net_cost(const pl_net *net, const int *index)
{
    double sum = net->bound;
    for (int v = 0; v < net->n; v++) sum += net->unary[v][index[v]];
    for (int p = 0; p < net->n_pairs; p++) {
        const pl_net_pair *e = &net->pair[p];
        sum += e->table.cost[(size_t)index[e->a] * (size_t)e->table.cols + (size_t)index[e->b]];
    }
    return sum;
}

/* The cost of each value of v when the neighbours stay. */
static void add_neighbours(const pl_net *net, int v, const int *index, double *sum)
{
    memcpy(sum, net->unary[v], (size_t)net->size[v] * sizeof *sum);
    for (int i = net->first[v]; i < net->first[v + 1]; i++) {
        const pl_net_pair *e = &net->pair[net->incident[i]];
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

bool **pl_net_keeps(const pl_net *net, pl_arena *a)
{
    bool **keep = PL_NEW_N(a, bool *, net->n);
    for (int v = 0; v < net->n; v++) {
        keep[v] = PL_NEW_N(a, bool, net->size[v]);
        memset(keep[v], 1, (size_t)net->size[v] * sizeof(bool));
    }
    return keep;
}

/* place[v][..] are the kept places of v in the old net. */
static void keep_variable(const pl_net *old, pl_net *net, int v, const int *place, pl_arena *a)
{
    int size = net->size[v];
    int *value = PL_NEW_N(a, int, size);
    double *unary = PL_NEW_N(a, double, size);
    for (int x = 0; x < size; x++) {
        value[x] = old->value[v][place[x]];
        unary[x] = old->unary[v][place[x]];
    }
    pl_net_var(net, v, size, value, unary, a);
    if (old->memory[v]) net->memory[v] = PL_NEW_N(a, double, size);
    for (int x = 0; old->memory[v] && x < size; x++) net->memory[v][x] = old->memory[v][place[x]];
    for (int x = 0; x < size; x++) net->least[v][x] = old->least[v][place[x]];
}

static double *keep_entries(const double *from, int stride, pl_net_table to, const int *row,
                            const int *col, pl_arena *a)
{
    double *out = pl_arena_get(a, (size_t)to.rows * (size_t)to.cols, sizeof *out);
    for (int x = 0; x < to.rows; x++) {
        const double *old = from + (size_t)row[x] * (size_t)stride;
        double *new = out + (size_t)x *(size_t)to.cols;
        for (int y = 0; y < to.cols; y++) new[y] = old[col[y]];
    }
    return out;
}

static pl_net_table keep_table(pl_net_table t, int rows, const int *row, int cols, const int *col,
                               pl_arena *a)
{
    if (rows == t.rows && cols == t.cols) return t;
    pl_net_table out = { rows, cols, NULL, NULL, t.holes };
    out.cost = keep_entries(t.cost, t.cols, out, row, col, a);
    if (t.memory) out.memory = keep_entries(t.memory, t.cols, out, row, col, a);
    return out;
}

static void add_line(double *to, const double *from, int n, int step)
{
    for (int x = 0; x < n; x++) to[x] += from[(size_t)x * (size_t)step];
}

/* A pair one of whose variables has a single value is a row that belongs to the other. */
static void fold_pair(pl_net *net, int a, int b, pl_net_table t, pl_arena *arena)
{
    int v = net->size[a] == 1 ? b : a, step = v == b ? 1 : t.cols;
    add_line(net->unary[v], t.cost, net->size[v], step);
    if (!t.memory) return;
    if (!net->memory[v]) net->memory[v] = PL_NEW_N(arena, double, net->size[v]);
    add_line(net->memory[v], t.memory, net->size[v], step);
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
                const pl_net_pair *e = &net->pair[net->incident[i]];
                sum += e->a == v ? e->to_a[x] : e->to_b[x];
            }
            least = fmin(least, sum);
        }
        if (!pl_net_is_legal(least)) continue;
        for (int x = 0; x < net->size[v]; x++) net->unary[v][x] -= least;
        net->bound += least;
    }
}

/* Whether value x of variable v has a legal partner in the pair. */
static bool has_partner(const pl_net_pair *e, int v, int x, bool *const *keep)
{
    size_t stride = (size_t)e->table.cols, at = (size_t)x;
    const double *cost = e->table.cost;
    if (e->a == v) {
        for (size_t y = 0; y < (size_t)e->table.cols; y++)
            if (keep[e->b][y] && pl_net_is_legal(cost[at * stride + y])) return true;
    } else {
        for (size_t y = 0; y < (size_t)e->table.rows; y++)
            if (keep[e->a][y] && pl_net_is_legal(cost[y * stride + at])) return true;
    }
    return false;
}

/* Arc consistency: until every value has a partner in every pair. */
static void drop_forbidden(const pl_net *net, bool **keep, const bool *fixed)
{
    for (bool again = true; again;) {
        again = false;
        for (int v = 0; v < net->n; v++)
            for (int x = 0; x < net->size[v] && !(fixed && fixed[v]); x++) {
                bool legal = keep[v][x] && pl_net_is_legal(net->unary[v][x]);
                for (int i = net->first[v]; legal && i < net->first[v + 1]; i++) {
                    const pl_net_pair *e = &net->pair[net->incident[i]];
                    legal = e->loose || !e->table.holes || has_partner(e, v, x, keep);
                }
                again |= keep[v][x] && !legal;
                keep[v][x] = legal;
            }
    }
}

static int **list_places(const pl_net *net, bool *const *keep, int *size, pl_arena *a)
{
    int **place = PL_NEW_N(a, int *, net->n);
    for (int v = 0; v < net->n; v++) {
        place[v] = PL_NEW_N(a, int, net->size[v]);
        for (int x = 0; x < net->size[v]; x++)
            if (keep[v][x]) place[v][size[v]++] = x;
        if (!size[v]) return NULL;
    }
    return place;
}

pl_net *pl_net_keep(const pl_net *old, bool **keep, const bool *fixed, bool fold, pl_arena *a)
{
    pl_net *net = pl_net_new(old->n, a);
    drop_forbidden(old, keep, fixed);
    int **place = list_places(old, keep, net->size, a);
    if (!place) return NULL;
    for (int v = 0; v < net->n; v++) keep_variable(old, net, v, place[v], a);
    net->bound = old->bound;
    net->settled = old->settled;
    net->leap = old->leap;
    net->work = old->work;
    net->order = old->order;
    net->rank = old->rank;
    for (int p = 0; p < old->n_pairs; p++) {
        const pl_net_pair *e = &old->pair[p];
        int na = net->size[e->a], nb = net->size[e->b];
        net->work += (int64_t)na * nb;
        pl_net_table t = keep_table(e->table, na, place[e->a], nb, place[e->b], a);
        if (fold && (na == 1 || nb == 1)) {
            fold_pair(net, e->a, e->b, t, a);
            continue;
        }
        pl_net_join(net, e->a, e->b, t, NULL, NULL, a);
        pl_net_pair *f = &net->pair[net->n_pairs - 1];
        f->loose = e->loose;
        for (int x = 0; x < na; x++) f->to_a[x] = e->to_a[place[e->a][x]];
        for (int y = 0; y < nb; y++) f->to_b[y] = e->to_b[place[e->b][y]];
    }
    pl_net_index(net, a);
    if (fold) settle(net);
    return net;
}
