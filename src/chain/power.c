/* Min-plus powers by squaring: pl_power_of(), multiply(); pl_power_trace() finds the states of a
 * cheapest run by going down the products. */
#include "chain/power.h"
#include "search/net.h"

typedef struct pl_product {
    int steps;
    const struct pl_product *left, *right; /* NULL: one copy */
    double *cost;
} pl_product;

/* One way to go on: what it costs so far, and the rest from there to each state. */
typedef struct way {
    double first;
    const double *rest;
} way;

enum { WAYS = 4 }; /* at once, so that a row is read and written a quarter as often */

/* row[j] becomes the least of itself and of all ways. */
static void take_least(const way w[WAYS], int stride, double *restrict row)
{
    const double *a = w[0].rest, *b = w[1].rest, *c = w[2].rest, *d = w[3].rest;
#pragma omp simd
    for (int j = 0; j < stride; j++) {
        const double p = w[0].first + a[j], q = w[1].first + b[j], r = w[2].first + c[j],
                     s = w[3].first + d[j];
        const double low = p < q ? p : q, high = r < s ? r : s, least = low < high ? low : high;
        row[j] = least < row[j] ? least : row[j];
    }
}

static void multiply(pl_power *power, const double *left, const double *right, double *out)
{
    const size_t stride = (size_t)pl_power_stride(power->size);
    for (int i = 0; i < power->size; i++) {
        double *row = out + (size_t)i * stride;
        way w[WAYS];
        int n = 0;
        for (size_t j = 0; j < stride; j++) row[j] = INFINITY;
        for (int k = 0; k < power->size; k++) {
            const double first = left[(size_t)i * stride + (size_t)k];
            if (!pl_net_is_legal(first)) continue;
            power->work += power->size;
            w[n++] = (way){ first, right + (size_t)k * stride };
            if (n < WAYS) continue;
            take_least(w, (int)stride, row);
            n = 0;
        }
        if (!n) continue;
        for (int k = n; k < WAYS; k++) w[k] = w[0];
        take_least(w, (int)stride, row);
    }
}

static const pl_product *join(pl_power *power, const pl_product *left, const pl_product *right,
                              double most, pl_arena *arena)
{
    size_t count = (size_t)power->size * (size_t)pl_power_stride(power->size);
    pl_product *t = PL_NEW(arena, pl_product);
    *t = (pl_product){ left->steps + right->steps, left, right, PL_NEW_N(arena, double, count) };
    multiply(power, left->cost, right->cost, t->cost);
    for (size_t i = 0; t->steps < power->steps && i < count; i++)
        if (t->cost[i] > most) t->cost[i] = INFINITY;
    return t;
}

pl_power pl_power_of(const double *cost, int size, int steps, double most, pl_arena *arena)
{
    pl_power p = { size, steps, NULL, 0 };
    size_t count = (size_t)size * (size_t)pl_power_stride(size);
    pl_product *one = PL_NEW(arena, pl_product);
    *one = (pl_product){ 1, NULL, NULL, PL_NEW_N(arena, double, count) };
    for (size_t i = 0; i < count; i++)
        one->cost[i] = steps > 1 && cost[i] > most ? INFINITY : cost[i];
    const pl_product *square = one;
    for (int left = steps; left > 0; left /= 2) {
        if (left % 2) p.top = p.top ? join(&p, p.top, square, most, arena) : square;
        if (left > 1) square = join(&p, square, square, most, arena);
    }
    return p;
}

const double *pl_power_cost(const pl_power *power)
{
    return power->top->cost;
}

static void trace(const pl_power *power, const pl_product *t, int *state)
{
    if (!t->left) return;
    size_t stride = (size_t)pl_power_stride(power->size);
    const double *row = t->left->cost + (size_t)state[0] * stride;
    const double *column = t->right->cost + (size_t)state[t->steps];
    int best = 0;
    for (int k = 1; k < power->size; k++)
        if (row[k] + column[(size_t)k * stride] < row[best] + column[(size_t)best * stride])
            best = k;
    state[t->left->steps] = best;
    trace(power, t->left, state);
    trace(power, t->right, state + t->left->steps);
}

void pl_power_trace(const pl_power *power, int *state)
{
    trace(power, power->top, state);
}
