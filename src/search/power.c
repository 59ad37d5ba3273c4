#include "search/power.h"
#include "search/net.h"

typedef struct pl_product {
    int steps;
    const struct pl_product *left, *right; /* NULL: one copy */
    double *cost;
} pl_product;

static void multiply(pl_power *p, const double *left, const double *right, double *out)
{
    int stride = pl_power_stride(p->size);
    for (int i = 0; i < p->size; i++) {
        double *row = out + (size_t)i * (size_t)stride;
        for (int j = 0; j < stride; j++) row[j] = INFINITY;
        for (int k = 0; k < p->size; k++) {
            double first = left[(size_t)i * (size_t)stride + (size_t)k];
            if (!pl_net_is_legal(first)) continue;
            const double *rest = right + (size_t)k * (size_t)stride;
            p->work += p->size;
            for (int j = 0; j < stride; j += 4)
                for (int l = 0; l < 4; l++) {
                    double sum = first + rest[j + l];
                    row[j + l] = sum < row[j + l] ? sum : row[j + l];
                }
        }
    }
}

static const pl_product *join(pl_power *p, const pl_product *left, const pl_product *right,
                              double most, pl_arena *a)
{
    size_t count = (size_t)p->size * (size_t)pl_power_stride(p->size);
    pl_product *t = PL_NEW(a, pl_product);
    *t = (pl_product){ left->steps + right->steps, left, right, PL_NEW_N(a, double, count) };
    multiply(p, left->cost, right->cost, t->cost);
    for (size_t i = 0; t->steps < p->steps && i < count; i++)
        if (t->cost[i] > most) t->cost[i] = INFINITY;
    return t;
}

pl_power pl_power_of(const double *cost, int size, int steps, double most, pl_arena *a)
{
    pl_power p = { size, steps, NULL, 0 };
    size_t count = (size_t)size * (size_t)pl_power_stride(size);
    pl_product *one = PL_NEW(a, pl_product);
    *one = (pl_product){ 1, NULL, NULL, PL_NEW_N(a, double, count) };
    for (size_t i = 0; i < count; i++)
        one->cost[i] = steps > 1 && cost[i] > most ? INFINITY : cost[i];
    const pl_product *square = one;
    for (int left = steps; left > 0; left /= 2) {
        if (left % 2) p.top = p.top ? join(&p, p.top, square, most, a) : square;
        if (left > 1) square = join(&p, square, square, most, a);
    }
    return p;
}

const double *pl_power_cost(const pl_power *p)
{
    return p->top->cost;
}

static void trace(const pl_power *p, const pl_product *t, int *state)
{
    if (!t->left) return;
    size_t stride = (size_t)pl_power_stride(p->size);
    const double *row = t->left->cost + (size_t)state[0] * stride;
    const double *column = t->right->cost + (size_t)state[t->steps];
    int best = 0;
    for (int k = 1; k < p->size; k++)
        if (row[k] + column[(size_t)k * stride] < row[best] + column[(size_t)best * stride])
            best = k;
    state[t->left->steps] = best;
    trace(p, t->left, state);
    trace(p, t->right, state + t->left->steps);
}

void pl_power_trace(const pl_power *p, int *state)
{
    trace(p, p->top, state);
}
