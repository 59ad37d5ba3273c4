/* Bags of ids. Read pl_bags_find(), which nodes say it; pl_bags_draw(); then pl_bags_fill(). */
#include "data/bags.h"

#include "data/fill.h"
#include "graph/op.h"
#include "ops/list.h"

#include <math.h>
#include <string.h>

static const pl_value *input_of(const pl_value *v)
{
    const pl_value *leaf = pl_graph_leaf(v);
    return leaf && leaf->role == PL_INPUT ? leaf : NULL;
}

/* Of one node; ids NULL: it reduces no bags of what is looked up by an input. */
static pl_bags bags_of(const pl_node *n)
{
    const pl_bags none = { 0 };
    if (n->op != &pl_op_segment_sum && n->op != &pl_op_segment_max) return none;
    const pl_node *lookup = n->in[0]->maker;
    if (lookup && lookup->op == &pl_op_cast) lookup = lookup->in[0]->maker;
    if (!lookup || lookup->op != &pl_op_embedding) return none;
    const pl_bags b = { input_of(lookup->in[1]), input_of(n->in[1]), input_of(n->in[2]) };
    return b.ids && b.begin && b.ids->shape.rank == 1 ? b : none;
}

pl_bags pl_bags_find(const pl_graph *graph, const pl_value *input)
{
    for (int i = 0; i < graph->nodes.n; i++) {
        const pl_bags b = bags_of(graph->nodes.at[i]);
        if (b.ids && (b.ids == input || b.begin == input || b.end == input)) return b;
    }
    return (pl_bags){ 0 };
}

/* -- at random --------------------------------------------------------------------------------- */

typedef struct drawing {
    pl_type type;
    pl_rng rng;
    int64_t n, bags, ahead; /* places; of the next bag */
} drawing;

/* A bag begins somewhere in the share of the places that would be its own, often at an end of it:
 * so that some are empty. */
static void put_drawn(const void *of, const pl_fill_run *run, void *part)
{
    const drawing *d = of;
    for (int64_t i = 0; i < run->n; i++) {
        const int64_t bag = run->global + i * run->step + d->ahead;
        const double u = 2 * pl_rng_uniform(d->rng, (uint64_t)bag) - 0.5,
                     x = floor(((double)bag + fmin(fmax(u, 0), 1)) * (double)d->n /
                               (double)d->bags);
        pl_type_put(d->type, part, run->at + i, !bag ? 0 : bag == d->bags ? (double)d->n : x);
    }
}

void pl_bags_draw(const pl_bags *bags, const pl_port *port, uint64_t seed, int64_t step, void *to)
{
    const uint64_t name = pl_rng_name(bags->begin->name);
    const drawing d = { .type = port->value->type,
                        .rng = pl_rng_at(seed, pl_rng_mix(name, (uint64_t)step)),
                        .n = bags->ids->shape.dim[0],
                        .bags = bags->begin->shape.dim[0],
                        .ahead = bags->end && !strcmp(port->value->name, bags->end->name) };
    pl_fill_runs(port, put_drawn, &d, to);
}

void pl_bags_shift(const pl_bags *bags, pl_type type, int64_t k, void *bounds)
{
    const int64_t by = k * bags->ids->shape.dim[0], n = bags->begin->shape.dim[0];
    for (int64_t i = 0; i < n; i++)
        pl_type_put(type, bounds, i, pl_type_get(type, bounds, i) + (double)by);
}

/* -- of a file --------------------------------------------------------------------------------- */

/* A file's bags. */
typedef struct source {
    const pl_tensor *ids, *offsets;
    int64_t n, rows; /* ids; bags */
} source;

static source find_source(const pl_bags *bags, const pl_tensors *tensors)
{
    const pl_tensor *ids = &tensors->tensor[pl_tensors_find(tensors, bags->ids->name)],
                    *offsets = &tensors->tensor[pl_tensors_find(tensors, bags->begin->name)];
    return (source){ ids, offsets, ids->shape.dim[0], offsets->shape.dim[0] };
}

/* Where row r begins; r may be the number of rows. */
static int64_t begin_of(const source *s, int64_t row)
{
    return row < s->rows ? (int64_t)pl_tensor_get(s->offsets, row) : s->n;
}

int64_t pl_bags_ids(const pl_bags *bags, const pl_tensors *tensors, int64_t rows)
{
    const source s = find_source(bags, tensors);
    return begin_of(&s, rows);
}

int64_t pl_bags_row(const pl_bags *bags, const pl_tensors *tensors, int64_t at)
{
    const source s = find_source(bags, tensors);
    int64_t row = 0;
    while (row + 1 < s.rows && begin_of(&s, row + 1) <= at) row++;
    return row;
}

static bool check_order(const source *s, pl_err *err)
{
    for (int64_t row = 0, last = 0; row < s->rows; row++) {
        const int64_t at = begin_of(s, row);
        if (!row && at)
            return pl_err_set(err, PL_EINPUT, "row 0 of '%s' has %lld: offsets begin with 0",
                              s->offsets->name, (long long)at);
        if (at < last)
            return pl_err_set(err, PL_EINPUT,
                              "row %lld of '%s' has %lld, the one before %lld: offsets ascend",
                              (long long)row, s->offsets->name, (long long)at, (long long)last);
        if (at > s->n)
            return pl_err_set(err, PL_EINPUT, "row %lld of '%s' has %lld: '%s' has %lld ids",
                              (long long)row, s->offsets->name, (long long)at, s->ids->name,
                              (long long)s->n);
        last = at;
    }
    return true;
}

/* Without an input for the ends, the last bag of a batch ends with its places. */
static bool check_room(const pl_bags *bags, const source *s, pl_err *err)
{
    const int64_t places = bags->ids->shape.dim[0], batch = bags->begin->shape.dim[0];
    const double each = (double)places / (double)batch, mean = (double)s->n / (double)s->rows;
    if (mean > each)
        return pl_err_set(err, PL_EINPUT,
                          "'%s' has %.3g ids a row, and the model room for %.3g: write hots=%.0f",
                          s->ids->name, mean, each, ceil(mean));
    for (int64_t row = 0; row < s->rows && !bags->end; row++) {
        const int64_t n = begin_of(s, row + 1) - begin_of(s, row);
        if (n * batch != places)
            return pl_err_set(err, PL_EINPUT,
                              "row %lld of '%s' has %lld ids: this graph, in which the last bag "
                              "ends with the %lld ids of a batch, needs %.6g in each",
                              (long long)row, s->ids->name, (long long)n, (long long)places, each);
    }
    return true;
}

bool pl_bags_check(const pl_bags *bags, const pl_tensors *tensors, pl_err *err)
{
    const source s = find_source(bags, tensors);
    return check_order(&s, err) && check_room(bags, &s, err);
}

bool pl_bags_fit(const pl_bags_stored *stored, pl_err *err)
{
    const pl_bags *b = &stored->bags;
    const int64_t batch = b->begin->shape.dim[0];
    return !stored->most ||
           pl_err_set(err, PL_EINPUT,
                      "a batch has %lld ids of '%s', and room for %lld: write hots=%lld",
                      (long long)stored->most, b->ids->name, (long long)b->ids->shape.dim[0],
                      (long long)((stored->most + batch - 1) / batch));
}

/* -- batches ----------------------------------------------------------------------------------- */

/* Where the bags of a batch begin in it, and in the file. */
typedef struct batch {
    const source *s;
    pl_type type;
    int64_t n, *begin, *from; /* bags; [n + 1]; [n] */
    int64_t places;
    bool ids, ends;
} batch;

static void find_begins(batch *b, const pl_data *data, uint64_t seed, int64_t step, int64_t n_valid)
{
    int64_t at = 0;
    for (int64_t i = 0; i < b->n; i++) {
        const int64_t row = pl_data_row(data, seed, step, n_valid, i, b->n);
        b->from[i] = begin_of(b->s, row);
        b->begin[i] = at;
        at += begin_of(b->s, row + 1) - b->from[i];
    }
    b->begin[b->n] = at;
}

/* The id at a place of the batch; -1: it is none's. */
static double find_id(const batch *b, int64_t place)
{
    int64_t lo = 0, hi = b->n; /* begin[lo] <= place < begin[hi] */
    if (place >= b->begin[b->n]) return -1;
    while (hi - lo > 1) {
        const int64_t mid = (lo + hi) / 2;
        if (b->begin[mid] <= place)
            lo = mid;
        else
            hi = mid;
    }
    return pl_tensor_get(b->s->ids, b->from[lo] + place - b->begin[lo]);
}

static void put_batch(const void *of, const pl_fill_run *run, void *part)
{
    const batch *b = of;
    for (int64_t i = 0; i < run->n; i++) {
        const int64_t at = run->global + i * run->step, bound = b->ids ? 0 : b->begin[at + b->ends];
        pl_type_put(b->type, part, run->at + i,
                    b->ids              ? find_id(b, at)
                    : bound > b->places ? (double)b->places
                                        : (double)bound);
    }
}

void pl_bags_fill(pl_bags_stored *stored, const pl_data *data, const pl_port *port, uint64_t seed,
                  int64_t step, int64_t n_valid, void *to)
{
    const pl_bags *bags = &stored->bags;
    const char *name = port->value->name;
    const source s = find_source(bags, &data->tensors);
    pl_arena *tmp = pl_arena_new("bags of a batch");
    batch b = { .s = &s,
                .type = port->value->type,
                .n = bags->begin->shape.dim[0],
                .places = bags->ids->shape.dim[0],
                .ids = !strcmp(name, bags->ids->name),
                .ends = bags->end && !strcmp(name, bags->end->name) };
    b.begin = PL_NEW_N(tmp, int64_t, b.n + 1);
    b.from = PL_NEW_N(tmp, int64_t, b.n);
    find_begins(&b, data, seed, step, n_valid);
    if (b.begin[b.n] > b.places) {
#pragma omp atomic write
        stored->most = b.begin[b.n];
    }
    pl_fill_runs(port, put_batch, &b, to);
    pl_arena_free(tmp);
}
