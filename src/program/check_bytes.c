/* Which elements of the whole tensor stand where in a piece of memory, and whether copies bring
 * them there. Everything is a list of rows of successive elements; a part, or a block, has its
 * elements one after another in the order of the whole tensor. Not a line of pl_region_copy. */
#include "program/check.h"

#include <string.h>

/* -- rows -------------------------------------------------------------------------------------- */

static void add_row(rows *r, pl_arena *a, row x)
{
    row *last = r->n ? &r->at[r->n - 1] : NULL;
    if (last && last->at + last->n == x.at && last->global + last->n == x.global)
        last->n += x.n;
    else
        PL_PUSH(a, r, x);
}

/* The elements of a region, counted through digit by digit. */
static void list_rows(rows *r, pl_arena *a, const pl_region *x, const pl_shape *s)
{
    int64_t step[PL_MAX_RANK], unit[PL_MAX_DIGITS], i[PL_MAX_DIGITS] = { 0 };
    row y = { .n = 1 };
    int outer = x->n;
    pl_shape_strides(s, step);
    for (int k = 0; k < x->n; k++) {
        if (!x->digit[k].n) return;
        unit[k] = x->digit[k].unit * step[x->digit[k].dim];
        y.global += x->digit[k].lo * unit[k];
    }
    for (; outer && (x->digit[outer - 1].n == 1 || unit[outer - 1] == y.n); outer--)
        y.n *= x->digit[outer - 1].n;
    for (;;) {
        int k = outer - 1;
        add_row(r, a, y);
        y.at += y.n;
        for (; k >= 0; k--) {
            y.global += unit[k];
            if (++i[k] < x->digit[k].n) break;
            y.global -= i[k] * unit[k];
            i[k] = 0;
        }
        if (k < 0) return;
    }
}

rows pl_check_part_rows(const checker *c, const pl_value *v, const pl_placement *where, int rank,
                        pl_arena *out)
{
    pl_region x = pl_region_of(where, c->mesh, &v->shape, rank);
    rows r = { .room = pl_check_part_bytes(c, v, where) / pl_type_bytes(v->type) };
    list_rows(&r, out, &x, &v->shape);
    return r;
}

rows pl_check_region_rows(const pl_region *x, const pl_shape *s, pl_arena *out)
{
    rows r = { .room = pl_region_count(x) };
    list_rows(&r, out, x, s);
    return r;
}

rows pl_check_dense_rows(int64_t n, pl_arena *out)
{
    rows r = { .room = n };
    if (n) add_row(&r, out, (row){ .n = n });
    return r;
}

/* The elements that both have, one after another from `at` on; returns how many. */
static int64_t add_common(rows *r, pl_arena *a, const rows *x, const rows *y, int64_t at)
{
    int64_t n = 0;
    for (int i = 0, j = 0; i < x->n && j < y->n;) {
        const row *p = &x->at[i], *q = &y->at[j];
        int64_t lo = p->global > q->global ? p->global : q->global;
        int64_t p_end = p->global + p->n, q_end = q->global + q->n;
        int64_t hi = p_end < q_end ? p_end : q_end;
        if (lo < hi) {
            add_row(r, a, (row){ at + n, lo, hi - lo });
            n += hi - lo;
        }
        if (p_end <= q_end) i++;
        if (q_end <= p_end) j++;
    }
    return n;
}

int64_t pl_check_count_rows(const rows *r)
{
    int64_t n = 0;
    for (int i = 0; i < r->n; i++) n += r->at[i].n;
    return n;
}

/* One block for each member: what mine, my part of a placement, has in common with the members'
 * parts of the other one. `all`: every element of those. */
static bool list_blocks(const checker *c, const pl_transfer *t, const rows *mine,
                        const pl_placement *other, bool all, pl_arena *out, rows *r)
{
    int *group = PL_NEW_N(out, int, c->p->n_ranks), me;
    int n = pl_mesh_group(c->mesh, c->p->rank, t->move.axes, group, &me);
    r->room = n * t->move.block;
    for (int i = 0; i < n; i++) {
        rows his = pl_check_part_rows(c, t->value, other, group[i], out);
        int64_t count = add_common(r, out, all ? &his : mine, &his, i * t->move.block);
        if (t->move.kind == PL_REDUCE_SCATTER && count < pl_check_count_rows(&his))
            return pl_err_set(c->err, PL_EMISMATCH,
                              "member %d is to have %lld elements of '%s', of which %lld are here",
                              i, (long long)pl_check_count_rows(&his), t->value->name,
                              (long long)count);
        if (count > t->move.block)
            return pl_err_set(c->err, PL_EMISMATCH,
                              "block %d of '%s' has %lld elements, and room for %lld", i,
                              t->value->name, (long long)count, (long long)t->move.block);
    }
    return true;
}

/* The rank so many places on in this rank's group, or -1. */
static int neighbour_of(const checker *c, const pl_transfer *t, int by, pl_arena *tmp)
{
    int *group = PL_NEW_N(tmp, int, c->p->n_ranks), me;
    int n = pl_mesh_group(c->mesh, c->p->rank, t->move.axes, group, &me);
    return me + by >= 0 && me + by < n ? group[me + by] : -1;
}

/* The one block of a shift. */
static bool list_border(const checker *c, const pl_transfer *t, bool outgoing, const rows *mine,
                        pl_arena *out, rows *r)
{
    int other = neighbour_of(c, t, outgoing ? t->shift : -t->shift, out);
    if (other < 0 || !t->shift)
        return pl_err_set(c->err, PL_EMISMATCH, "no member stands %d places %s", t->shift,
                          outgoing ? "on" : "before");
    rows his = pl_check_part_rows(c, t->value, outgoing ? &t->move.to : &t->move.from, other, out);
    r->room = add_common(r, out, mine, &his, 0);
    return true;
}

rows pl_check_common_rows(const rows *part, const rows *other, pl_arena *out)
{
    rows r = { .room = part->room };
    for (int i = 0, j = 0; i < part->n && j < other->n;) {
        const row *p = &part->at[i], *q = &other->at[j];
        int64_t lo = p->global > q->global ? p->global : q->global;
        int64_t p_end = p->global + p->n, q_end = q->global + q->n;
        int64_t hi = p_end < q_end ? p_end : q_end;
        if (lo < hi) add_row(&r, out, (row){ p->at + lo - p->global, lo, hi - lo });
        if (p_end <= q_end) i++;
        if (q_end <= p_end) j++;
    }
    return r;
}

rows pl_check_piece_rows(const checker *c, const pl_transfer *t, pl_arena *out)
{
    rows part = pl_check_part_rows(c, t->value, &t->move.to, c->p->rank, out), his = { 0 };
    int other = neighbour_of(c, t, -t->shift, out);
    if (other >= 0) his = pl_check_part_rows(c, t->value, &t->move.from, other, out);
    return pl_check_common_rows(&part, &his, out);
}

bool pl_check_rows(const checker *c, const pl_transfer *t, pl_form form, pl_arena *out, rows *r)
{
    pl_collective kind = t->move.kind;
    rows from = pl_check_part_rows(c, t->value, &t->move.from, c->p->rank, out);
    rows to = pl_check_part_rows(c, t->value, &t->move.to, c->p->rank, out);
    *r = form == PL_PART_FROM ? from : to;
    if (form == PL_PART_FROM || form == PL_PART_TO) return true;
    if (form == PL_INCOMING && kind == PL_REDUCE_SCATTER) { /* the one block is the part */
        r->room = t->move.block;
        return true;
    }
    *r = (rows){ 0 };
    if (kind == PL_HALO)
        return list_border(c, t, form == PL_OUTGOING, form == PL_OUTGOING ? &from : &to, out, r);
    if (form == PL_OUTGOING && (kind == PL_REDUCE_SCATTER || kind == PL_ALL_TO_ALL))
        return list_blocks(c, t, &from, &t->move.to, false, out, r);
    if (form == PL_INCOMING && (kind == PL_ALL_GATHER || kind == PL_ALL_TO_ALL))
        return list_blocks(c, t, &to, &t->move.from, kind == PL_ALL_GATHER, out, r);
    return pl_err_set(c->err, PL_EMISMATCH, "a %s has no %s blocks", pl_collective_name(kind),
                      form == PL_OUTGOING ? "outgoing" : "incoming");
}

/* -- comparing --------------------------------------------------------------------------------- */

/* The row that has the place `at`, or the first one behind it; r->n when there is none. *near is a
 * guess, and becomes the answer. */
static int find_row(const rows *r, int64_t at, int *near)
{
    int lo = 0, hi = r->n;
    for (int k = *near; k < *near + 2 && k < r->n; k++) {
        bool before = k == 0 || r->at[k - 1].at + r->at[k - 1].n <= at;
        if (before && at < r->at[k].at + r->at[k].n) return *near = k;
    }
    while (lo < hi) {
        int k = lo + (hi - lo) / 2;
        if (r->at[k].at + r->at[k].n <= at)
            lo = k + 1;
        else
            hi = k;
    }
    return *near = lo;
}

typedef struct pair {
    const rows *from, *to;
    int from_near, to_near;
    int64_t got, wanted; /* elements that differ; got -1: padding */
} pair;

/* Are the n elements from x on in p->from those that p->to wants from y on? What it does not want
 * may be anything. */
static bool same_elements(pair *p, int64_t x, int64_t y, int64_t n)
{
    while (n > 0) {
        int i = find_row(p->to, y, &p->to_near);
        if (i == p->to->n) return true;
        const row *to = &p->to->at[i];
        int64_t k = n;
        if (y < to->at) {
            if (to->at - y < k) k = to->at - y;
        } else {
            int j = find_row(p->from, x, &p->from_near);
            const row *from = j < p->from->n ? &p->from->at[j] : NULL;
            p->wanted = to->global + (y - to->at);
            p->got = from && x >= from->at ? from->global + (x - from->at) : -1;
            if (p->got != p->wanted) return false;
            if (to->at + to->n - y < k) k = to->at + to->n - y;
            if (from->at + from->n - x < k) k = from->at + from->n - x;
        }
        x += k, y += k, n -= k;
    }
    return true;
}

bool pl_check_has_rows(const rows *have, const rows *want)
{
    pair p = { .from = have, .to = want };
    for (int i = 0; i < want->n; i++)
        if (!same_elements(&p, want->at[i].at, want->at[i].at, want->at[i].n)) return false;
    return true;
}

/* -- copies ------------------------------------------------------------------------------------ */

enum { BITS = 64 };

/* Which elements of the destination were written: a bit each. */
static void set_bits(uint64_t *set, int64_t at, int64_t n)
{
    for (int64_t k; n > 0; at += k, n -= k) {
        int64_t low = at % BITS;
        k = n < BITS - low ? n : BITS - low;
        set[at / BITS] |= (k == BITS ? ~0ull : (1ull << k) - 1) << low;
    }
}

/* First element in [at, at + n) that was not written, or -1. */
static int64_t find_hole(const uint64_t *set, int64_t at, int64_t n)
{
    for (int64_t end = at + n; at < end;) {
        if (at % BITS == 0 && end - at >= BITS && set[at / BITS] == ~0ull) {
            at += BITS;
            continue;
        }
        if (!(set[at / BITS] >> at % BITS & 1)) return at;
        at++;
    }
    return -1;
}

static bool is_multiple(const pl_copy *x, int64_t size)
{
    bool fits = x->from_at % size == 0 && x->to_at % size == 0 && x->bytes % size == 0;
    for (int k = 0; fits && k < x->n; k++)
        fits = x->count[k] > 0 && x->from[k] % size == 0 && x->to[k] % size == 0;
    return fits && x->n >= 0 && x->n <= PL_COPY_LOOPS && x->bytes >= 0;
}

static bool trace_row(const checker *c, pair *p, int64_t x, int64_t y, int64_t n, uint64_t *set)
{
    if (x < 0 || n > p->from->room - x || y < 0 || n > p->to->room - y)
        return pl_err_set(c->err, PL_EMISMATCH,
                          "%lld elements from %lld to %lld are copied, of %lld to %lld",
                          (long long)n, (long long)x, (long long)y, (long long)p->from->room,
                          (long long)p->to->room);
    set_bits(set, y, n);
    if (same_elements(p, x, y, n)) return true;
    if (p->got < 0)
        return pl_err_set(c->err, PL_EMISMATCH, "padding is copied where element %lld belongs",
                          (long long)p->wanted);
    return pl_err_set(c->err, PL_EMISMATCH, "element %lld is copied where %lld belongs",
                      (long long)p->got, (long long)p->wanted);
}

static bool trace_copy(const checker *c, const pl_copy *copy, int64_t size, pair *p, uint64_t *set)
{
    int64_t i[PL_COPY_LOOPS] = { 0 }, x = copy->from_at / size, y = copy->to_at / size, all = 1;
    if (!is_multiple(copy, size))
        return pl_err_set(c->err, PL_EMISMATCH, "copies do not fall on elements of %lld bytes",
                          (long long)size);
    if (!copy->bytes) return true;
    for (int k = 0; k < copy->n && all <= p->to->room; k++) all *= copy->count[k];
    if (all > p->to->room)
        return pl_err_set(c->err, PL_EMISMATCH, "more is copied than the %lld elements there are",
                          (long long)p->to->room);
    for (;;) {
        int k = copy->n - 1;
        PL_TRY(trace_row(c, p, x, y, copy->bytes / size, set));
        for (; k >= 0; k--) {
            x += copy->from[k] / size, y += copy->to[k] / size;
            if (++i[k] < copy->count[k]) break;
            x -= i[k] * (copy->from[k] / size), y -= i[k] * (copy->to[k] / size);
            i[k] = 0;
        }
        if (k < 0) return true;
    }
}

bool pl_check_trace(const checker *c, const pl_step *s, int64_t size, const rows *from,
                    const rows *to)
{
    pl_arena *tmp = pl_arena_new("copy trace");
    uint64_t *set = PL_NEW_N(tmp, uint64_t, to->room / BITS + 1);
    pair p = { .from = from, .to = to };
    bool ok = true;
    for (int i = 0; ok && i < s->n_copies; i++) ok = trace_copy(c, &s->copy[i], size, &p, set);
    for (int i = 0; ok && i < to->n; i++) {
        int64_t hole = find_hole(set, to->at[i].at, to->at[i].n);
        ok = hole < 0 || pl_err_set(c->err, PL_EMISMATCH, "element %lld is not copied",
                                    (long long)(to->at[i].global + hole - to->at[i].at));
    }
    pl_arena_free(tmp);
    return ok;
}

int64_t pl_check_count_copied(const pl_step *s, int64_t size)
{
    int64_t n = 0;
    for (int k = 0; k < s->n_copies; k++) {
        int64_t bytes = s->copy[k].bytes;
        for (int j = 0; j < s->copy[k].n; j++) bytes *= s->copy[k].count[j];
        n += bytes / size;
    }
    return n;
}
