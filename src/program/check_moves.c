/* The check of messages, copies and fills: each turns one form of a transfer into the next, or
 * combines partial results. That the other ranks do the same is for pl_program_check_ranks. */
#include "program/check.h"
#include "plan/stages.h"

#include <string.h>

enum { NOT_A_MOVE = -1 };

/* Which move a collective is part of. */
static int kind_of(pl_collective c)
{
    if (c == PL_BROADCAST) return PL_ALL_GATHER;
    if (c == PL_SEND || c == PL_RECV) return PL_PERMUTE;
    return c <= PL_FROM_HOST ? (int)c : NOT_A_MOVE;
}

static const char *move_text(const checker *c, const pl_transfer *t)
{
    const pl_value *v = t->value;
    return pl_arena_fmt(c->tmp, "the %s of '%s' from %s to %s", pl_collective_name(t->move.kind),
                        v->name, pl_placement_text(c->tmp, &t->move.from, c->mesh, v->shape.rank),
                        pl_placement_text(c->tmp, &t->move.to, c->mesh, v->shape.rank));
}

static bool fail_move(const checker *c, int i, const pl_transfer *t, const char *why)
{
    return pl_err_set(c->err, PL_EMISMATCH, "%s: %s: %s", pl_check_step_text(c, i), move_text(c, t),
                      why);
}

static bool is_normal(const checker *c, const pl_transfer *t, const pl_placement *x)
{
    pl_err why = { 0 };
    if (!pl_placement_check(x, c->mesh, &t->value->shape, &why)) return false;
    pl_placement normal = pl_placement_normal(x, c->mesh, &t->value->shape);
    return pl_placement_same(x, &normal);
}

/* What a move does to pending axes. Where elements go is seen when their bytes are traced. */
static bool check_move(const checker *c, int i, const pl_transfer *t)
{
    const pl_move *m = &t->move;
    unsigned before = m->from.pending, after = m->to.pending, wanted = before, rest = after;
    if (!is_normal(c, t, &m->from) || !is_normal(c, t, &m->to))
        return fail_move(c, i, t, "a placement is wrong, or not in normal form");
    if (!m->axes || m->axes >> c->mesh->n) return fail_move(c, i, t, "a group without axes");
    if (m->kind == PL_ALL_REDUCE || m->kind == PL_REDUCE_SCATTER) {
        if ((before & m->axes) != m->axes) return fail_move(c, i, t, "its axes are not pending");
        wanted = before & ~m->axes;
    } else if (m->kind == PL_MASK) {
        if (before & m->axes) return fail_move(c, i, t, "its axes are pending already");
        if (m->to.monoid != PL_SUM) return fail_move(c, i, t, "only a sum can be made so");
        if ((pl_placement_axes(&m->from) | pl_placement_axes(&m->to)) & m->axes)
            return fail_move(c, i, t, "its axes split the tensor");
        wanted = before | m->axes;
        rest = before;
    } else if (m->kind == PL_TO_STAGE) {
        if (!c->p->plan->stages || m->axes != 1u << c->p->plan->stages->axis)
            return fail_move(c, i, t, "its axis is not that of the stages");
        if (!pl_placement_same(&m->from, &m->to)) return fail_move(c, i, t, "it goes as it is");
    } else if (before & m->axes) {
        return fail_move(c, i, t, "partial results go to members that combine theirs");
    }
    if (after != wanted) return fail_move(c, i, t, "other axes are pending than before");
    if (rest && m->from.monoid != m->to.monoid) return fail_move(c, i, t, "another monoid");
    if (m->kind != PL_ALL_REDUCE) return true;
    pl_placement x = m->from;
    x.pending = m->to.pending;
    return pl_placement_same(&x, &m->to) || fail_move(c, i, t, "a reduction moves nothing");
}

static bool same_move(const pl_transfer *a, const pl_transfer *b)
{
    const pl_move *x = &a->move, *y = &b->move;
    return a->value == b->value && x->kind == y->kind && x->axes == y->axes &&
           x->block == y->block && pl_placement_same(&x->from, &y->from) &&
           pl_placement_same(&x->to, &y->to);
}

static bool same_transfer(const pl_transfer *a, const pl_transfer *b)
{
    return same_move(a, b) && a->shift == b->shift;
}

static bool is_part(pl_form f)
{
    return f == PL_PART_FROM || f == PL_PART_TO;
}

static const pl_placement *part_of(const pl_transfer *t, pl_form f)
{
    return f == PL_PART_FROM ? &t->move.from : &t->move.to;
}

static int find_group(const checker *c, unsigned axes, int group[], int *me)
{
    return pl_mesh_group(c->mesh, c->p->rank, axes, group, me);
}

/* Reads `bytes` that must be this form of a transfer. */
static bool read_form(checker *c, int i, const pl_transfer *t, pl_form form, int64_t bytes)
{
    const pl_step *s = &c->p->step[i];
    PL_TRY(pl_check_read(c, i, s->in[0], bytes));
    if (is_part(form)) return pl_check_read_part(c, i, t->value, part_of(t, form), s->in[0]);
    for (int k = 0; k < c->now.n; k++) {
        const content *x = &c->now.at[k];
        if (x->blocks && x->form == form && pl_slot_same(x->at, s->in[0]) &&
            same_transfer(x->blocks, t))
            return true;
    }
    return pl_check_fail_read(c, i, s->in[0], bytes,
                              pl_arena_fmt(c->tmp, "the %s blocks of %s",
                                           form == PL_OUTGOING ? "outgoing" : "incoming",
                                           move_text(c, t)));
}

static void put_form(checker *c, const pl_step *s, const pl_transfer *t, pl_form form,
                     int64_t bytes)
{
    content x = { .value = t->value, .blocks = t, .form = form, .at = s->out[0], .bytes = bytes };
    if (is_part(form))
        pl_check_put(c, t->value, part_of(t, form), s->out[0]);
    else
        PL_PUSH(c->tmp, &c->now, x);
}

bool pl_check_apart(const checker *c, int i, int64_t in, int64_t out)
{
    const pl_step *s = &c->p->step[i];
    if (!s->n_in || !s->n_out || !pl_check_overlap(s->in[0], in, s->out[0], out)) return true;
    return pl_err_set(c->err, PL_EMISMATCH, "%s: its result, in %s, lies over what it reads, in %s",
                      pl_check_step_text(c, i), pl_check_slot_text(c, s->out[0], out),
                      pl_check_slot_text(c, s->in[0], in));
}

/* -- messages ---------------------------------------------------------------------------------- */

static bool is_pending(const content *x, const pl_step *s)
{
    return pl_check_is_part(x) && x->value->type == s->type && x->where.monoid == s->monoid &&
           (x->where.pending & s->axes) == s->axes;
}

/* A rank without a share of some node may have nothing in its place: where the next partial result
 * starts. What lies between is of no use afterwards. */
static int64_t skip_empty(const checker *c, const pl_step *s, int64_t at, int64_t end)
{
    int64_t next = end;
    for (int k = 0; k < c->now.n; k++) {
        const content *x = &c->now.at[k];
        const pl_slot here = { .state = s->in[0].state, .at = x->at.at };
        if (pl_slot_same(x->at, here) && x->at.at > at && x->at.at < next && is_pending(x, s))
            next = x->at.at;
    }
    return c->idle ? next : at;
}

typedef struct contents {
    int n, cap;
    content *at;
} contents;

/* The message's memory is one partial result after another. */
static int64_t find_partials(const checker *c, const pl_step *s, int64_t bytes, contents *parts)
{
    int64_t begin = s->in[0].at, end = begin + bytes, at = begin;
    for (int64_t last = -1; at != last && at < end;) {
        last = at;
        for (int k = 0; k < c->now.n; k++) {
            content x = c->now.at[k];
            const pl_slot here = { .state = s->in[0].state, .at = last };
            if (!pl_slot_same(x.at, here) || last + x.bytes > end || !is_pending(&x, s)) continue;
            at = last + x.bytes;
            x.where.pending &= (uint8_t)~s->axes;
            x.at = (pl_slot){ .state = s->out[0].state, .at = s->out[0].at + last - begin };
            PL_PUSH(c->tmp, parts, x);
        }
        if (at == last) at = skip_empty(c, s, at, end);
    }
    return at - begin;
}

/* Is the tensor that a message says it combines among what it combines? */
static bool has_own(const checker *c, const pl_step *s, const contents *parts)
{
    const pl_transfer *t = s->transfer;
    if (!pl_check_part_count(c, t->value, &t->move.to)) return true;
    for (int k = 0; k < parts->n; k++) {
        const content *x = &parts->at[k];
        if (x->value == t->value && pl_placement_same(&x->where, &t->move.to) &&
            pl_slot_same(x->at, s->out[0]))
            return true;
    }
    return false;
}

/* Combined, partial results are the same values, less pending. */
static bool check_reduce(checker *c, int i)
{
    const pl_step *s = &c->p->step[i];
    contents parts = { 0 };
    int64_t bytes = s->count * pl_type_bytes(s->type);
    PL_TRY(pl_check_read(c, i, s->in[0], bytes));
    int64_t done = find_partials(c, s, bytes, &parts);
    if (done == bytes && s->transfer && !has_own(c, s, &parts)) done = 0;
    pl_slot stuck = { .state = s->in[0].state, .at = s->in[0].at + done };
    if (done < bytes)
        return pl_check_fail_read(c, i, stuck, bytes - done, "partial results on its axes");
    if (!pl_slot_same(s->in[0], s->out[0])) PL_TRY(pl_check_apart(c, i, bytes, bytes));
    PL_TRY(pl_check_write(c, i, s->out[0], bytes));
    for (int k = 0; k < parts.n; k++) PL_PUSH(c->tmp, &c->now, parts.at[k]);
    return true;
}

static bool check_numbers(const checker *c, int i, int n, int me)
{
    const pl_step *s = &c->p->step[i];
    const pl_transfer *t = s->transfer;
    int kind = kind_of(s->collective);
    if (kind == PL_PERMUTE && t && (t->move.kind == PL_HALO || t->move.kind == PL_TO_STAGE))
        kind = (int)t->move.kind;
    bool sends = s->collective != PL_RECV, gets = s->collective != PL_SEND;
    if (kind == NOT_A_MOVE || s->n_in != sends || s->n_out != gets || s->count < 1)
        return pl_err_set(c->err, PL_EMISMATCH,
                          "%s: no collective has %d inputs, %d outputs and %lld elements",
                          pl_check_step_text(c, i), s->n_in, s->n_out, (long long)s->count);
    int64_t bytes = pl_move_volume((pl_collective)kind, n, s->count, pl_type_bytes(s->type));
    if (s->collective == PL_BROADCAST)
        bytes = me == s->peer ? 0 : s->count * pl_type_bytes(s->type);
    if (s->bytes != (gets ? bytes : 0))
        return pl_err_set(c->err, PL_EMISMATCH, "%s receives %lld bytes, counted as %lld",
                          pl_check_step_text(c, i), (long long)(gets ? bytes : 0),
                          (long long)s->bytes);
    if (!t)
        return kind == PL_ALL_REDUCE ||
               pl_err_set(c->err, PL_EMISMATCH, "%s moves no tensor", pl_check_step_text(c, i));
    if (t->move.kind != (pl_collective)kind || t->move.axes != s->axes || t->value->type != s->type)
        return fail_move(c, i, t, "the message has another kind, type or group");
    if (kind == PL_REDUCE_SCATTER && s->monoid != t->move.from.monoid)
        return fail_move(c, i, t, "the message has another monoid");
    if (kind != PL_HALO && s->count != t->move.block)
        return pl_err_set(c->err, PL_EMISMATCH, "%s: blocks of %lld elements, the move has %lld",
                          pl_check_step_text(c, i), (long long)s->count, (long long)t->move.block);
    return check_move(c, i, t);
}

/* A send or receive: what I have is what the peer gets, all of it. */
static bool check_peer(const checker *c, int i, int n, const int group[], pl_arena *tmp)
{
    const pl_step *s = &c->p->step[i];
    const pl_transfer *t = s->transfer;
    bool send = s->collective == PL_SEND;
    if (s->peer < 0 || s->peer >= n)
        return pl_err_set(c->err, PL_EMISMATCH, "%s: peer %d of %d", pl_check_step_text(c, i),
                          s->peer, n);
    const pl_placement *x = send ? &t->move.from : &t->move.to;
    const pl_placement *y = send ? &t->move.to : &t->move.from;
    rows mine = pl_check_part_rows(c, t->value, x, c->p->rank, tmp);
    rows his = pl_check_part_rows(c, t->value, y, group[s->peer], tmp);
    bool same = pl_check_has_rows(&mine, &his) && pl_check_has_rows(&his, &mine);
    if (same && pl_check_part_count(c, t->value, x) <= s->count) return true;
    return fail_move(c, i, t,
                     pl_arena_fmt(c->tmp, "the part of peer %d (rank %d) is not this rank's",
                                  s->peer, group[s->peer]));
}

/* A send or receive of a halo: all of the shift's block, to or from the member at that place. */
static bool check_border(const checker *c, int i, int n, int me, pl_arena *tmp)
{
    const pl_step *s = &c->p->step[i];
    const pl_transfer *t = s->transfer;
    bool send = s->collective == PL_SEND;
    int peer = me + (send ? t->shift : -t->shift);
    rows block;
    PL_TRY(pl_check_rows(c, t, send ? PL_OUTGOING : PL_INCOMING, tmp, &block));
    if (s->peer != peer || peer >= n)
        return pl_err_set(c->err, PL_EMISMATCH, "%s: peer %d of %d, not %d",
                          pl_check_step_text(c, i), s->peer, n, peer);
    return s->count == block.room ||
           pl_err_set(c->err, PL_EMISMATCH, "%s: %lld elements, the block has %lld",
                      pl_check_step_text(c, i), (long long)s->count, (long long)block.room);
}

/* Is the part's memory, as it is, what the message wants to read or write? */
static bool check_direct(const checker *c, int i, bool in, pl_arena *tmp)
{
    const pl_step *s = &c->p->step[i];
    const pl_transfer *t = s->transfer;
    pl_collective kind = t->move.kind;
    rows part, blocks;
    if (kind == PL_PERMUTE || kind == PL_TO_STAGE || (in && kind == PL_ALL_GATHER))
        return true; /* the part itself */
    PL_TRY(pl_check_rows(c, t, in ? PL_PART_FROM : PL_PART_TO, tmp, &part));
    PL_TRY(pl_check_rows(c, t, in ? PL_OUTGOING : PL_INCOMING, tmp, &blocks));
    if (in ? pl_check_has_rows(&part, &blocks) : pl_check_has_rows(&blocks, &part)) return true;
    return fail_move(c, i, t,
                     in ? "the part is not its outgoing blocks as it lies"
                        : "incoming blocks are not the part as they lie");
}

static bool check_layouts(const checker *c, int i, int n, int me, const int group[])
{
    const pl_step *s = &c->p->step[i];
    pl_arena *tmp = pl_arena_new("message layouts");
    bool ok = true;
    if (s->transfer->move.kind == PL_PERMUTE || s->transfer->move.kind == PL_TO_STAGE)
        ok = check_peer(c, i, n, group, tmp);
    if (s->transfer->move.kind == PL_HALO) ok = check_border(c, i, n, me, tmp);
    if (ok && s->n_in && is_part(s->from)) ok = check_direct(c, i, true, tmp);
    if (ok && s->n_out && is_part(s->to)) ok = check_direct(c, i, false, tmp);
    pl_arena_free(tmp);
    return ok;
}

/* Each member gives its part, in turn: all others have it then, as one block of a gather. */
static bool check_broadcast(checker *c, int i, int n, const int group[])
{
    const pl_step *s = &c->p->step[i];
    const pl_transfer *t = s->transfer;
    int64_t bytes = s->count * pl_type_bytes(s->type);
    if (s->peer < 0 || s->peer >= n)
        return pl_err_set(c->err, PL_EMISMATCH, "%s: root %d of %d", pl_check_step_text(c, i),
                          s->peer, n);
    pl_region *r = PL_NEW(c->tmp, pl_region);
    *r = pl_region_of(&t->move.from, c->mesh, &t->value->shape, group[s->peer]);
    if (s->from != PL_PART_FROM || s->to != PL_INCOMING || pl_region_count(r) != s->count)
        return fail_move(c, i, t, "a broadcast gives all of a part, as one incoming block");
    PL_TRY(pl_check_read_part(c, i, t->value, &t->move.from, s->in[0]));
    PL_TRY(pl_check_apart(c, i, bytes, bytes));
    PL_TRY(pl_check_write(c, i, s->out[0], bytes));
    content x = { .value = t->value, .where = t->move.from, .region = r, .at = s->out[0] };
    x.bytes = bytes;
    PL_PUSH(c->tmp, &c->now, x);
    return true;
}

/* A copy of a part between the memories of a device and its host. */
static bool check_host(checker *c, int i)
{
    const pl_step *s = &c->p->step[i];
    const pl_transfer *t = s->transfer;
    const bool out = s->collective == PL_TO_HOST;
    if (!t || s->n_in != 1 || s->n_out != 1 || s->axes || t->move.kind != s->collective)
        return pl_err_set(c->err, PL_EMISMATCH, "%s copies no part of a tensor",
                          pl_check_step_text(c, i));
    pl_placement there = t->move.from;
    there.host = out;
    if (t->move.from.host == out || !pl_placement_same(&there, &t->move.to) ||
        !is_normal(c, t, &t->move.from) || s->from != PL_PART_FROM || s->to != PL_PART_TO)
        return fail_move(c, i, t, "it only changes the memory that a part is in");
    const int64_t bytes = pl_check_part_bytes(c, t->value, &t->move.from);
    if (s->type != t->value->type || s->count * pl_type_bytes(s->type) != bytes ||
        s->bytes != bytes)
        return fail_move(c, i, t, "it has other bytes than the part");
    PL_TRY(pl_check_read_part(c, i, t->value, &t->move.from, s->in[0]));
    PL_TRY(pl_check_write(c, i, s->out[0], bytes));
    pl_check_put(c, t->value, &t->move.to, s->out[0]);
    return true;
}

bool pl_check_message(checker *c, int i)
{
    const pl_step *s = &c->p->step[i];
    const pl_transfer *t = s->transfer;
    if (pl_step_is_host(s)) return check_host(c, i);
    int *group = PL_NEW_N(c->tmp, int, c->p->n_ranks), me;
    if (!s->axes || s->axes >> c->mesh->n)
        return pl_err_set(c->err, PL_EMISMATCH, "%s: a group without axes",
                          pl_check_step_text(c, i));
    int n = find_group(c, s->axes, group, &me);
    PL_TRY(check_numbers(c, i, n, me));
    if (s->collective == PL_ALL_REDUCE) return check_reduce(c, i);
    if (s->collective == PL_BROADCAST) return check_broadcast(c, i, n, group);
    bool in_ok = s->from == PL_PART_FROM || s->from == PL_OUTGOING;
    bool out_ok = s->to == PL_PART_TO || s->to == PL_INCOMING;
    if ((s->n_in && !in_ok) || (s->n_out && !out_ok))
        return fail_move(c, i, t, "a message goes from what is sent to what comes in");
    int64_t block = s->count * pl_type_bytes(s->type), in = block, out = block;
    if (t->move.kind == PL_REDUCE_SCATTER || t->move.kind == PL_ALL_TO_ALL) in = n * block;
    if (t->move.kind == PL_ALL_GATHER || t->move.kind == PL_ALL_TO_ALL) out = n * block;
    if (s->n_in) PL_TRY(read_form(c, i, t, s->from, in));
    if (!check_layouts(c, i, n, me, group))
        return pl_err_in(c->err, "%s", pl_check_step_text(c, i));
    PL_TRY(pl_check_apart(c, i, in, out));
    if (!s->n_out) return true;
    PL_TRY(pl_check_write(c, i, s->out[0], out));
    put_form(c, s, t, s->to, out);
    return true;
}

/* -- copies ------------------------------------------------------------------------------------ */

/* A whole part to another place: whatever it is. */
static bool check_plain_copy(checker *c, int i)
{
    const pl_step *s = &c->p->step[i];
    contents parts = { 0 };
    int64_t span = 0;
    for (int k = 0; k < s->n_copies; k++)
        if (s->copy[k].n == 0 && !s->copy[k].from_at && !s->copy[k].to_at) span = s->copy[k].bytes;
    if (s->n_copies != 1 || !span)
        return pl_err_set(c->err, PL_EMISMATCH, "%s copies no whole part of a tensor",
                          pl_check_step_text(c, i));
    PL_TRY(pl_check_read(c, i, s->in[0], span));
    for (int k = 0; k < c->now.n; k++) {
        content x = c->now.at[k];
        int64_t size = pl_type_bytes(x.value->type);
        if (!pl_check_is_part(&x) || !pl_slot_same(x.at, s->in[0]) || x.bytes < span ||
            pl_check_part_count(c, x.value, &x.where) * size > span)
            continue;
        x.at = s->out[0];
        PL_PUSH(c->tmp, &parts, x);
    }
    if (!parts.n && !c->idle) return pl_check_fail_read(c, i, s->in[0], span, "what it can copy");
    PL_TRY(pl_check_apart(c, i, span, span));
    PL_TRY(pl_check_write(c, i, s->out[0], span));
    for (int k = 0; k < parts.n; k++) PL_PUSH(c->tmp, &c->now, parts.at[k]);
    return true;
}

/* May a copy take the way that a message takes otherwise? What is pending must stay so; of a mask
 * only the first device of a group keeps the values. */
static bool check_short_cut(const checker *c, int i, const pl_transfer *t)
{
    int *group = PL_NEW_N(c->tmp, int, c->p->n_ranks), me;
    find_group(c, t->move.axes, group, &me);
    if (t->move.kind == PL_MASK)
        return me == 0 || fail_move(c, i, t, "only the first of a group keeps its values");
    return t->move.from.pending == t->move.to.pending ||
           fail_move(c, i, t, "a copy combines nothing");
}

static bool trace(checker *c, int i, int64_t *in, int64_t *out)
{
    const pl_step *s = &c->p->step[i];
    const pl_transfer *t = s->transfer;
    pl_arena *tmp = pl_arena_new("copy rows");
    int64_t size = pl_type_bytes(t->value->type);
    rows from = { 0 }, to = { 0 };
    bool ok = pl_check_rows(c, t, s->from, tmp, &from) && pl_check_rows(c, t, s->to, tmp, &to) &&
              pl_check_trace(c, s, size, &from, &to);
    *in = from.room * size, *out = to.room * size;
    pl_arena_free(tmp);
    return ok || pl_err_in(c->err, "%s: %s", pl_check_step_text(c, i), move_text(c, t));
}

/* What stands at the slot of a halo's part, of the same move: pieces of it, each once. */
static int64_t find_pieces(const checker *c, const pl_step *s, contents *pieces)
{
    int64_t n = 0;
    for (int k = 0; k < c->now.n; k++) {
        content x = c->now.at[k];
        if (!x.blocks || x.form != PL_PART_TO || !pl_slot_same(x.at, s->out[0]) ||
            !same_move(x.blocks, s->transfer) || x.blocks->shift == s->transfer->shift)
            continue;
        n += x.pieces;
        PL_PUSH(c->tmp, pieces, x);
    }
    return n;
}

/* A copy of a piece of a halo's part writes that piece and nothing else; with the last one the part
 * is there. */
static bool check_piece(checker *c, int i)
{
    const pl_step *s = &c->p->step[i];
    const pl_transfer *t = s->transfer;
    pl_arena *tmp = pl_arena_new("copy of a piece");
    int64_t size = pl_type_bytes(t->value->type);
    content x = { .value = t->value, .blocks = t, .form = PL_PART_TO, .at = s->out[0] };
    contents pieces = { 0 };
    rows from = { 0 }, to = pl_check_piece_rows(c, t, tmp);
    bool ok = pl_check_rows(c, t, s->from, tmp, &from) && pl_check_trace(c, s, size, &from, &to);
    int64_t in = from.room * size, copied = ok ? pl_check_count_copied(s, size) : 0;
    x.bytes = to.room * size;
    x.pieces = pl_check_count_rows(&to);
    pl_arena_free(tmp);
    if (!ok) return pl_err_in(c->err, "%s: %s", pl_check_step_text(c, i), move_text(c, t));
    if (copied != x.pieces || (s->from == PL_PART_FROM) != !t->shift)
        return fail_move(c, i, t, "a copy writes more than its piece, or another piece");
    PL_TRY(read_form(c, i, t, s->from, in));
    PL_TRY(pl_check_apart(c, i, in, x.bytes));
    int64_t there = find_pieces(c, s, &pieces);
    PL_TRY(pl_check_write(c, i, s->out[0], x.bytes));
    PL_PUSH(c->tmp, &pieces, x);
    if (there + x.pieces == pl_check_part_count(c, t->value, &t->move.to))
        pl_check_put(c, t->value, &t->move.to, s->out[0]);
    else
        for (int k = 0; k < pieces.n; k++) PL_PUSH(c->tmp, &c->now, pieces.at[k]);
    return true;
}

bool pl_check_copy(checker *c, int i)
{
    const pl_step *s = &c->p->step[i];
    const pl_transfer *t = s->transfer;
    int64_t in, out;
    if (s->n_in != 1 || s->n_out != 1)
        return pl_err_set(c->err, PL_EMISMATCH, "%s copies %d things to %d",
                          pl_check_step_text(c, i), s->n_in, s->n_out);
    if (!t) return check_plain_copy(c, i);
    PL_TRY(check_move(c, i, t));
    if (s->from >= s->to) return fail_move(c, i, t, "a copy leads from a form to a later one");
    if (t->move.kind == PL_HALO && s->to == PL_PART_TO) return check_piece(c, i);
    if (s->from <= PL_OUTGOING && s->to >= PL_INCOMING) PL_TRY(check_short_cut(c, i, t));
    PL_TRY(trace(c, i, &in, &out));
    PL_TRY(read_form(c, i, t, s->from, in));
    PL_TRY(pl_check_apart(c, i, in, out));
    PL_TRY(pl_check_write(c, i, s->out[0], out));
    put_form(c, s, t, s->to, out);
    return true;
}

/* -- fills ------------------------------------------------------------------------------------- */

static bool is_nothing_of(const checker *c, const pl_step *s, const pl_value *v,
                          const pl_placement *where)
{
    return where->pending && v->type == s->type && where->monoid == s->monoid &&
           pl_check_part_count(c, v, where) <= s->count;
}

/* Nothing of a sum is what a rank without a share of the node adds to it. */
static void put_nothing(checker *c, const pl_step *s)
{
    const pl_graph *g = c->p->plan->graph;
    for (int k = 0; k < g->nodes.n; k++) {
        const pl_node *n = g->nodes.at[k];
        if (strcmp(n->name, s->label) || !pl_check_is_idle(c, n)) continue;
        for (int o = 0; o < n->n_out; o++) {
            pl_placement where = pl_plan_operand(c->p->plan, k, n->n_in + o);
            if (is_nothing_of(c, s, n->out[o], &where))
                pl_check_put(c, n->out[o], &where, s->out[0]);
        }
    }
}

/* A fill whose contents nobody needs (a part is cleared before it is written) is no mistake. */
bool pl_check_fill(checker *c, int i)
{
    const pl_step *s = &c->p->step[i];
    const pl_transfer *t = s->transfer;
    int *group = PL_NEW_N(c->tmp, int, c->p->n_ranks), me;
    if (s->n_in || s->n_out != 1 || s->count < 1)
        return pl_err_set(c->err, PL_EMISMATCH, "%s fills %d places from %d with %lld elements",
                          pl_check_step_text(c, i), s->n_out, s->n_in, (long long)s->count);
    PL_TRY(pl_check_write(c, i, s->out[0], s->count * pl_type_bytes(s->type)));
    if (!t) {
        put_nothing(c, s);
        return true;
    }
    if (t->move.kind != PL_MASK) return true;
    PL_TRY(check_move(c, i, t));
    find_group(c, t->move.axes, group, &me);
    if (me && is_nothing_of(c, s, t->value, &t->move.to))
        pl_check_put(c, t->value, &t->move.to, s->out[0]);
    return true;
}
