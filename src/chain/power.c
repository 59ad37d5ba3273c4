/* Min-plus powers by squaring: pl_power_of(), multiply(); pl_power_trace() finds the states of a
 * cheapest run by going down the products. */
#include "chain/power.h"
#include "search/net.h"

typedef struct pl_product {
    int steps;
    const struct pl_product *left, *right; /* NULL: one copy */
    double *cost;
} pl_product;

static void multiply(pl_power *power, const double *left, const double *right, double *out)
{
    int stride = pl_power_stride(power->size);
    for (int i = 0; i < power->size; i++) {
        double *row = out + (size_t)i * (size_t)stride;
        for (int j = 0; j < stride; j++) row[j] = INFINITY;
        for (int k = 0; k < power->size; k++) {
            double first = left[(size_t)i * (size_t)stride + (size_t)k];
            if (!pl_net_is_legal(first)) continue;
            const double *rest = right + (size_t)k * (size_t)stride;
            power->work += power->size;
            for (int j = 0; j < stride; j += 4)
                for (int l = 0; l < 4; l++) {
                    double sum = first + rest[j + l];
                    row[j + l] = sum < row[j + l] ? sum : row[j + l];
                }
        }
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
