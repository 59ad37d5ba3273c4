/* Loops that are bags of rows: exporters write torch.nn.EmbeddingBag as a Loop over the bags, which
 * slices the ids, or the rows that were looked up by them, from one offset to the next, and reduces
 * what it got. TorchScript and torch.export differ in their nodes, and so do their releases. So a
 * loop is not read but tried: it is run with numbers in place of what is computed from the data,
 * and where it gives what bags of these would be, for several numbers, it is bags. Read
 * pl_loop_bags() at the end. */
#include "import/loop.h"

#include "base/rng.h"
#include "graph/op.h"
#include "import/map.h"
#include "ops/lib/segment.h"
#include "ops/list.h"

#include <math.h>
#include <string.h>

enum {
    MOST_FREE = 4,
    MOST_NESTED = 4, /* bodies in the body                                */
    MOST_ROWS = 1 << 16,
    TABLE = 64,        /* rows of a table that is tried, at most            */
    MOST = 1 << 15,    /* elements of the rows; else they have one column   */
    SPARED = 64 << 20, /* bytes of bodies, of those that may be unrolled    */
    TRIALS = 3,        /* the last one with empty bags, which may be refused */
};

/* -- what a loop reads ------------------------------------------------------------------------- */

/* Items around the body that are computed from the data, or weights. */
typedef struct reads {
    int n;
    bool others;
    pl_item *at[MOST_FREE];
} reads;

static void add_read(reads *r, pl_item *x)
{
    if (!x || pl_item_known(x)) return;
    for (int i = 0; i < r->n; i++)
        if (r->at[i] == x) return;
    if (x->part || r->n == MOST_FREE)
        r->others = true;
    else
        r->at[r->n++] = x;
}

static void find_reads(pl_import *m, const Onnx__GraphProto *g, int depth, reads *r)
{
    for (size_t i = 0; i < g->n_node && depth < MOST_NESTED; i++) {
        const Onnx__NodeProto *n = g->node[i];
        for (size_t k = 0; k < n->n_input; k++)
            if (n->input[k][0]) add_read(r, pl_item_find(m, n->input[k]));
        for (size_t k = 0; k < n->n_attribute; k++) {
            const Onnx__AttributeProto *a = n->attribute[k];
            const Onnx__GraphProto *inner =
                a->has_g ? pl_onnx_body(a->g.data, a->g.len, m->a) : NULL;
            if (inner) find_reads(m, inner, depth + 1, r);
        }
    }
}

/* What they may be to bags. */
typedef struct parts {
    pl_item *rows;    /* float [n, h], or the table that ids look up in                      */
    pl_item *ids;     /* [n]; NULL: none                                                     */
    pl_item *offsets; /* [bags + 1], the last one behind all; NULL: known, of bags of a size */
    pl_item *ends;    /* [bags] offsets without the first; NULL: none                        */
} parts;

static int64_t count_of(const pl_item *x)
{
    return x ? pl_item_shape(x)->dim[0] : 0;
}

static int64_t rows_of(const parts *p)
{
    return count_of(p->ids ? p->ids : p->rows);
}

/* Way number `way` to hand out the parts: three digits. False: it is none. */
static bool hand_out(const reads *r, int way, parts *out)
{
    pl_item *ints[MOST_FREE + 1] = { NULL };
    int n = 0, ids = way % MOST_FREE, offsets = way / MOST_FREE;
    *out = (parts){ 0 };
    for (int i = 0; i < r->n; i++) {
        pl_item *x = r->at[i];
        const int rank = pl_item_shape(x)->rank;
        const bool real = pl_type_is_float(pl_item_type(x));
        if (real ? rank != 2 || out->rows : rank != 1) return false;
        if (real)
            out->rows = x;
        else
            ints[1 + n++] = x;
    }
    if (!out->rows || ids > n || offsets > n || (ids && ids == offsets)) return false;
    out->ids = ints[ids];
    out->offsets = ints[offsets];
    for (int i = 1; i <= n; i++)
        if (i != ids && i != offsets) {
            if (out->ends) return false;
            out->ends = ints[i];
        }
    return !out->ends || count_of(out->ends) + 1 == count_of(out->offsets);
}

/* -- trying ------------------------------------------------------------------------------------ */

/* Numbers in place of the parts. */
typedef struct trial {
    const parts *p;
    int64_t bags, n, table, h; /* bags 0: of known offsets */
    float *rows;               /* [table, h] */
    int64_t *ids, *offsets;    /* [n], [bags + 1] */
} trial;

/* Bags have a row at least, or, with `empties`, some none. */
static void draw_offsets(trial *t, pl_rng r, bool empties)
{
    for (int64_t i = 1; i <= t->bags; i++) {
        const int64_t last = t->offsets[i - 1], left = t->n - last,
                      most = empties ? left : left - (t->bags - i), least = empties ? 0 : 1,
                      even = 2 * left / (t->bags - i + 1), reach = even < most ? even : most;
        t->offsets[i] = last + least;
        if (reach > least)
            t->offsets[i] += (int64_t)pl_rng_below(r, (uint64_t)i, (uint64_t)(reach - least + 1));
        if (i == t->bags) t->offsets[i] = t->n;
    }
}

static trial make_trial(const pl_import *m, const parts *p, int number)
{
    const pl_rng r = pl_rng_at((uint64_t)number, pl_rng_name("bags"));
    trial t = { .p = p, .n = rows_of(p), .table = count_of(p->rows) };
    t.h = pl_item_shape(p->rows)->dim[1];
    if (p->ids && t.table > TABLE) t.table = TABLE;
    if ((t.n > t.table ? t.n : t.table) > MOST / (1 + t.h)) t.h = 1;
    t.bags = p->offsets ? count_of(p->offsets) - 1 : 0;
    t.rows = PL_NEW_N(m->a, float, t.table *t.h);
    t.ids = PL_NEW_N(m->a, int64_t, t.n);
    t.offsets = PL_NEW_N(m->a, int64_t, t.bags + 1);
    for (int64_t i = 0; i < t.table * t.h; i++)
        t.rows[i] = (float)(2 * pl_rng_uniform(r, (uint64_t)i) - 1);
    for (int64_t i = 0; i < t.n; i++)
        t.ids[i] =
            p->ids ? (int64_t)pl_rng_below(r, (uint64_t)(t.table * t.h + i), (uint64_t)t.table) : i;
    draw_offsets(&t, pl_rng_at((uint64_t)number, pl_rng_name("offsets")), number == TRIALS - 1);
    return t;
}

static bool put_known(pl_import *m, const pl_item *as, pl_shape shape, const int64_t *whole,
                      const float *real)
{
    const pl_type type = real ? PL_F32 : pl_item_type(as);
    const int64_t n = pl_shape_count(&shape);
    void *data = pl_arena_get(m->a, (size_t)n, (size_t)pl_type_bytes(type));
    for (int64_t i = 0; i < n; i++)
        pl_type_put(type, data, i, real ? (double)real[i] : (double)whole[i]);
    pl_tensor *t = PL_NEW(m->a, pl_tensor);
    *t = pl_tensor_of(type, &shape, data);
    const pl_item x = { .name = as->name, .constant = t };
    return pl_item_add(m, &x);
}

static bool put_all(pl_import *m, const trial *t)
{
    const parts *p = t->p;
    return put_known(m, p->rows, PL_SHAPE(t->table, t->h), NULL, t->rows) &&
           (!p->ids || put_known(m, p->ids, PL_SHAPE(t->n), t->ids, NULL)) &&
           (!p->offsets || put_known(m, p->offsets, PL_SHAPE(t->bags + 1), t->offsets, NULL)) &&
           (!p->ends || put_known(m, p->ends, PL_SHAPE(t->bags), t->offsets + 1, NULL));
}

/* The loop with those numbers, in a graph that is thrown away; what it leaves is in *l. */
static bool run(pl_import *m, const trial *t, const pl_loop *loop, pl_loop *l)
{
    const pl_import before = *m;
    pl_builder b = pl_builder_new(m->a, m->b->graph->ops, "bags");
    *l = *loop;
    l->in = PL_NEW_N(m->a, pl_item, l->n_carried + 2);
    memcpy(l->in, loop->in, (size_t)(l->n_carried + 2) * sizeof *l->in);
    l->scan = PL_NEW_N(m->a, pl_scan, l->n_scans + 1);
    m->b = &b;
    m->known_only = true;
    m->unrolled -= SPARED; /* it leaves no nodes */
    m->items = pl_items_new(m->a, MOST_FREE, &before.items);
    const bool ok = put_all(m, t) && pl_loop_run(m, l) && !b.err.code;
    m->b = before.b;
    m->known_only = false;
    m->unrolled = before.unrolled;
    m->items = before.items;
    m->node = before.node;
    m->out = before.out;
    m->told = false;
    return ok;
}

/* -- is it bags? ------------------------------------------------------------------------------- */

/* Output k is the bags, a row each of `part`. */
typedef struct result {
    int k, n, rank; /* of a part: [h], which are stacked, or [1, h], of a sequence */
    const pl_item *part;
} result;

/* One output has what each round made, the others are known. */
static bool find_result(const pl_loop *l, result *out)
{
    *out = (result){ .k = -1 };
    if (l->n_scans > 1) return false;
    for (int k = 0; k < l->n_carried; k++) {
        const pl_item *x = &l->in[k + 2];
        if (!x->part && !pl_item_known(x)) return false;
        if (!x->part) continue;
        if (out->k >= 0) return false;
        *out = (result){ k, x->n_parts, 2, x->part };
    }
    if (l->n_scans == (out->k >= 0)) return false;
    if (l->n_scans) *out = (result){ l->n_carried, l->scan[0].n, 1, l->scan[0].at };
    return out->n > 0;
}

static bool is_near(double found, double want)
{
    return fabs(found - want) <= 1e-5 * (1 + fabs(want));
}

static double reduce(const trial *t, pl_bag how, int64_t from, int64_t to, int64_t column)
{
    double y = how == PL_BAG_MAX && to > from ? -INFINITY : 0;
    for (int64_t i = from; i < to; i++) {
        const double x = (double)t->rows[t->ids[i] * t->h + column];
        y = how == PL_BAG_MAX ? fmax(y, x) : y + x;
    }
    return how == PL_BAG_MEAN && to > from ? y / (double)(to - from) : y;
}

static bool is_row(const pl_shape *s, int rank, int64_t h)
{
    return s->rank == rank && s->dim[rank - 1] == h && pl_shape_count(s) == h;
}

static bool is_bag(const trial *t, const result *r, pl_bag how)
{
    for (int i = 0; i < r->n; i++) {
        const pl_item *x = &r->part[i];
        const int64_t from = t->bags ? t->offsets[i] : t->n / r->n * i,
                      to = t->bags ? t->offsets[i + 1] : from + t->n / r->n;
        if (!pl_item_known(x) || !is_row(&x->constant->shape, r->rank, t->h)) return false;
        for (int64_t c = 0; c < t->h; c++)
            if (!is_near(pl_tensor_get(x->constant, c), reduce(t, how, from, to, c))) return false;
    }
    return true;
}

/* Which ways to reduce fit one trial, bits; 0 too where the loop cannot be run. */
static unsigned try_once(pl_import *m, const pl_loop *loop, const parts *p, int number, pl_loop *l,
                         result *r)
{
    const trial t = make_trial(m, p, number);
    unsigned fits = 0;
    if (!run(m, &t, loop, l) || !find_result(l, r)) return 0;
    if (t.bags ? t.bags != r->n : t.n % r->n != 0) return 0;
    for (int how = 0; how < PL_BAGS; how++) fits |= (unsigned)is_bag(&t, r, (pl_bag)how) << how;
    return fits;
}

/* The known outputs, which trials have in memory of their own. */
static void keep_outputs(const pl_import *m, const pl_loop *l, const result *r, pl_loop *out)
{
    *out = *l;
    out->in = PL_NEW_N(m->a, pl_item, l->n_carried + 2);
    for (int k = 0; k < l->n_carried; k++) {
        const pl_tensor *t = l->in[k + 2].constant;
        if (k == r->k) continue;
        pl_tensor *copy = PL_NEW(m->a, pl_tensor);
        void *data = pl_arena_get(m->a, (size_t)pl_shape_count(&t->shape) + 1,
                                  (size_t)pl_type_bytes(t->type));
        pl_tensor_convert(t, t->data, pl_shape_count(&t->shape), data);
        *copy = pl_tensor_of(t->type, &t->shape, data);
        out->in[k + 2].constant = copy;
    }
}

/* Bits of the ways to reduce that fit all trials; *l and *r as the first left them. */
static unsigned try_parts(pl_import *m, const pl_loop *loop, const parts *p, pl_loop *l, result *r)
{
    unsigned fits = (1u << PL_BAGS) - 1;
    const int64_t bags = p->offsets ? count_of(p->offsets) - 1 : 1;
    const int64_t elements = pl_shape_count(pl_item_shape(p->rows));
    const bool narrow = rows_of(p) > MOST / (1 + pl_item_shape(p->rows)->dim[1]);
    if (bags < 1 || bags > rows_of(p) || rows_of(p) > MOST_ROWS || elements < 1) return 0;
    for (int i = 0; i < TRIALS && fits; i++) {
        const bool empties = i == TRIALS - 1;
        if (empties && (!p->offsets || narrow)) break;
        pl_arena *const arena = m->a;
        pl_loop ran;
        result found = { 0 };
        m->a = pl_arena_new("trial of a loop");
        const unsigned fit = try_once(m, loop, p, i, &ran, &found);
        if (found.n || !empties) fits &= fit;
        pl_arena *const tmp = m->a;
        m->a = arena;
        if (!i && fits) {
            keep_outputs(m, &ran, &found, l);
            *r = (result){ found.k, found.n, found.rank, NULL };
        }
        pl_arena_free(tmp);
    }
    return fits;
}

/* -- the nodes in its place -------------------------------------------------------------------- */

static bool is_filled(const pl_value *v, double x)
{
    const pl_node *n = v->maker;
    return n && n->op == &pl_op_fill && is_near(pl_node_real(n, "value", 0), x);
}

/* Exporters multiply rows by weights, which are 1 where nobody gave any. */
static pl_value *skip_ones(pl_value *x)
{
    const pl_node *n = x ? x->maker : NULL;
    for (int i = 0; n && n->op == &pl_op_mul && i < 2; i++) {
        const pl_value *w = n->in[i];
        while (w->maker && w->maker->op->view) w = w->maker->in[0];
        if (is_filled(w, 1) && pl_shape_same(&n->in[1 - i]->shape, &x->shape)) return n->in[1 - i];
    }
    return x;
}

/* Of offsets with the number of rows behind them, as exporters add it, those without. */
static pl_value *skip_last(pl_value *x, int64_t rows)
{
    const pl_node *n = x->maker;
    const bool added = n && n->op == &pl_op_concat && n->n_in == 2 && n->in[1]->shape.dim[0] == 1 &&
                       is_filled(n->in[1], (double)rows);
    return added ? n->in[0] : NULL;
}

static pl_value *add_uniform(pl_import *m, const parts *p, pl_bag how, int64_t bags)
{
    const int64_t each = rows_of(p) / bags;
    pl_value *x = skip_ones(pl_item_value(m, p->rows));
    pl_value *ids = p->ids ? pl_item_value(m, p->ids) : NULL;
    if (p->ids) {
        x = PL_ADD(m->b, &pl_op_embedding, NULL, x, pl_shaped(m, ids, &PL_SHAPE(bags, each)));
    } else if (x) {
        x = pl_shaped(m, x, &PL_SHAPE(bags, each, x->shape.dim[1]));
    }
    if (!x || m->b->err.code) return NULL;
    x = pl_reduced(m, how == PL_BAG_MAX ? &pl_op_reduce_max : &pl_op_reduce_sum, x, 1u << 1, false);
    return how == PL_BAG_MEAN ? pl_scaled(m, x, 1 / (double)each) : x;
}

static pl_value *add_bags(pl_import *m, const parts *p, pl_bag how, int64_t bags)
{
    if (!p->offsets) return add_uniform(m, p, how, bags);
    pl_value *x = skip_ones(pl_item_value(m, p->rows)), *all = pl_item_value(m, p->offsets);
    pl_value *ids = p->ids ? pl_item_value(m, p->ids) : NULL;
    if (p->ids) x = PL_ADD(m->b, &pl_op_embedding, NULL, x, ids);
    if (!x || !all || m->b->err.code) return NULL;
    pl_value *begin = skip_last(all, rows_of(p));
    pl_value *end = begin ? pl_bag_ends(m->b, begin, rows_of(p)) : pl_sliced(m, all, 0, 1, bags);
    if (!begin) begin = pl_sliced(m, all, 0, 0, bags);
    return pl_bag_reduce(m->b, how, x, begin, end);
}

/* Is a sequence only put together, along its first dimension? */
static bool is_joined(const pl_import *m, const char *name)
{
    const Onnx__GraphProto *g = m->onnx->file.graph;
    int joins = 0, uses = 0;
    for (size_t i = 0; i < g->n_node; i++) {
        int64_t axis = 0;
        const Onnx__NodeProto *n = g->node[i];
        for (size_t k = 0; k < n->n_attribute; k++) axis |= n->attribute[k]->i;
        for (size_t k = 0; k < n->n_input; k++)
            if (!strcmp(n->input[k], name)) {
                uses++;
                joins += !axis && n->op_type && !strcmp(n->op_type, "ConcatFromSequence");
            }
    }
    return !m->depth && joins == 1 && uses == 1;
}

/* Outputs as the loop has them: a sequence of rows is one part, of all rows. */
static void put_outputs(pl_import *m, const pl_loop *l, const result *r, pl_value *bags)
{
    for (int k = 0; k < l->n_carried; k++)
        if (k != r->k) pl_out_item(m, k, &l->in[k + 2]);
    if (r->k == l->n_carried) {
        pl_out(m, r->k, bags);
        return;
    }
    m->out[r->k].part = PL_NEW_N(m->a, pl_item, 1);
    m->out[r->k].part[0].value = bags;
    m->out[r->k].n_parts = 1;
}

bool pl_loop_bags(pl_import *m, const pl_loop *l)
{
    reads r = { 0 };
    parts p;
    pl_loop ran = { 0 };
    result found = { 0 };
    find_reads(m, l->body, 0, &r);
    for (int way = 0; way < MOST_FREE * MOST_FREE && !r.others; way++) {
        if (!hand_out(&r, way, &p)) continue;
        const unsigned fits = try_parts(m, l, &p, &ran, &found);
        /* bags of one row are all three */
        const pl_bag how = fits & 1u << PL_BAG_SUM    ? PL_BAG_SUM
                           : fits & 1u << PL_BAG_MEAN ? PL_BAG_MEAN
                                                      : PL_BAG_MAX;
        if (!fits || (found.k < l->n_carried && !is_joined(m, m->node->output[found.k]))) continue;
        pl_value *bags = add_bags(m, &p, how, found.n);
        if (!bags) return false;
        put_outputs(m, &ran, &found, bags);
        return true;
    }
    return false;
}
