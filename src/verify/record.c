/* A side runs, and what it leaves is compared with the whole run while it is there: its gradients
 * last until its next step, its states after the first step until the second. */
#include "verify/record.h"

#include <math.h>
#include <string.h>

static double element_difference(double a, double b, double scale)
{
    if (isnan(a) || isnan(b)) return INFINITY;
    return a == b ? 0 : fabs(a - b) / scale;
}

/* Largest difference of this side's part from the whole tensor. */
static double difference_of(const pl_verify_tensor *tensor, const pl_port *port, const void *part)
{
    double most = 0;
    pl_type whole = tensor->value->type, mine = port->value->type;
    for (int64_t i = 0, n = pl_region_count(port->region); i < n; i++) {
        int64_t at = pl_region_global(port->region, &port->value->shape, i);
        double x = element_difference(pl_type_get(whole, tensor->data, at),
                                      pl_type_get(mine, part, i), tensor->scale);
        if (x > most) most = x;
    }
    return most;
}

static double compare(const pl_verify_side *side, const pl_verify_tensor *tensor)
{
    if (!tensor->data)
        return element_difference(tensor->scalar, pl_verify_side_scalar(side, tensor->name),
                                  tensor->scale);
    const pl_port *p = pl_verify_side_port(side, tensor->kind == PL_VERIFY_FIRST, tensor->name);
    void *part = pl_exec_map(side->exec, p, PL_READ);
    double most = difference_of(tensor, p, part);
    pl_exec_unmap(side->exec, p, PL_READ, part);
    return most;
}

/* What a step left: `first`, the one with gradients. */
static void compare_step(const pl_verify_side *side, const pl_verify_whole *whole, bool first,
                         int64_t step, double difference[])
{
    for (int i = 0; i < whole->n; i++) {
        const pl_verify_tensor *t = &whole->tensor[i];
        bool is_first = t->kind == PL_VERIFY_FIRST;
        if (is_first == first && (first || t->step == step)) difference[i] = compare(side, t);
    }
}

bool pl_verify_record(pl_verify_side *side, const pl_verify_whole *whole, double difference[],
                      pl_err *err)
{
    PL_TRY(pl_verify_side_first(side, err));
    compare_step(side, whole, true, 0, difference);
    for (int64_t step = 0; step < whole->options->steps; step++) {
        PL_TRY(pl_verify_side_step(side, step, err));
        compare_step(side, whole, false, step, difference);
    }
    return true;
}

void pl_verify_record_whole(const pl_verify_whole *a, const pl_verify_whole *w, double difference[])
{
    PL_ASSERT_CMP(a->n, ==, w->n);
    for (int i = 0; i < w->n; i++) {
        const pl_verify_tensor *t = &w->tensor[i], *u = &a->tensor[i];
        PL_ASSERT(!strcmp(t->text, u->text));
        if (!t->data) {
            difference[i] = element_difference(t->scalar, u->scalar, t->scale);
            continue;
        }
        const pl_placement whole = { 0 };
        const pl_mesh one = { 0 };
        const pl_region region = pl_region_of(&whole, &one, &u->value->shape, 0);
        const pl_port p = { .value = u->value, .region = &region };
        difference[i] = difference_of(t, &p, u->data);
    }
}
