/* The check of nodes that do their share in steps: each reads one block of what its factor splits
 * and makes one block of the output, or one term of it; blocks are put side by side, or added up,
 * in the order of the steps, each once. */
#include "program/check.h"

#include "graph/op.h"
#include "plan/steps.h"

/* A step of a node on its way through the check. */
typedef struct piece_check {
    checker *c;
    int i; /* step of the program                      */
    const pl_step *s;
    const pl_piece *at;
    const pl_node *n;
    pl_steps steps;
    bool puts; /* the output has the factor; else: a sum   */
    pl_arena *tmp;
} piece_check;

static bool fail_piece(const piece_check *k, const char *why)
{
    return pl_err_set(k->c->err, PL_EMISMATCH, "%s (%d of %d of '%s'): %s",
                      pl_check_step_text(k->c, k->i), k->at->i, k->at->n, k->at->node->name, why);
}

static bool find_piece(piece_check *k)
{
    const pl_node *n = k->n = k->at->node;
    const pl_plan *plan = k->c->p->plan;
    if (k->at->factor < 0 || k->at->factor >= n->sig->n_factors ||
        !pl_steps_find(plan, n, k->at->factor, k->at->n, &k->steps))
        return fail_piece(k, "there are no such steps");
    if (n->n_out != 1 || n->op->inplace || n->op->view || k->at->i < 0 || k->at->i >= k->at->n ||
        k->at->operand < 0 || k->at->operand > n->n_in)
        return fail_piece(k, "no step of a node with one output of its own");
    k->puts = pl_share_touches(n, n->n_in, k->at->factor);
    return true;
}

static const pl_value *operand_of(const piece_check *k, int o)
{
    return o < k->n->n_in ? k->n->in[o] : k->n->out[0];
}

static pl_placement place_of(const piece_check *k, int o)
{
    return pl_plan_operand(k->c->p->plan, k->n->id, o);
}

/* The elements of operand o that step i has, from place `at` on. */
static rows block_rows(const piece_check *k, int o, int i, int64_t at)
{
    pl_region x = pl_steps_region(&k->steps, o, k->c->p->rank, i);
    rows r = pl_check_region_rows(&x, &operand_of(k, o)->shape, k->tmp);
    for (int j = 0; j < r.n; j++) r.at[j].at += at;
    return r;
}

static rows part_rows(const piece_check *k, int o)
{
    pl_placement where = place_of(k, o);
    return pl_check_part_rows(k->c, operand_of(k, o), &where, k->c->p->rank, k->tmp);
}

static int64_t size_of(const piece_check *k, int o)
{
    return pl_type_bytes(operand_of(k, o)->type);
}

/* Bytes of what one step makes of the output. */
static int64_t made_bytes(const piece_check *k)
{
    pl_placement where = place_of(k, k->n->n_in);
    int64_t bytes = pl_check_part_bytes(k->c, k->n->out[0], &where);
    return k->puts ? bytes / k->at->n : bytes;
}

/* -- inputs ------------------------------------------------------------------------------------ */

/* Does x have, from byte `at` on, what the step wants of operand o? */
static bool has_block(const piece_check *k, const content *x, int o, pl_slot at)
{
    const pl_value *v = operand_of(k, o);
    pl_placement where = place_of(k, o);
    bool same =
        x->where.pending == where.pending && (!where.pending || x->where.monoid == where.monoid);
    if (x->value != v || x->blocks || x->piece || !same) return false;
    if (!pl_check_overlap(x->at, x->bytes, at, 1)) return false;
    rows want = block_rows(k, o, k->at->i, (at.at - x->at.at) / size_of(k, o));
    rows have = x->region ? pl_check_region_rows(x->region, &v->shape, k->tmp)
                          : pl_check_part_rows(k->c, v, &x->where, k->c->p->rank, k->tmp);
    return (at.at - x->at.at) % size_of(k, o) == 0 && pl_check_has_rows(&have, &want);
}

static bool read_block(const piece_check *k, int o, pl_slot at)
{
    checker *c = k->c;
    rows want = block_rows(k, o, k->at->i, 0);
    int64_t bytes = pl_check_count_rows(&want) * size_of(k, o);
    PL_TRY(pl_check_read(c, k->i, at, bytes));
    for (int j = 0; j < c->now.n; j++)
        if (has_block(k, &c->now.at[j], o, at)) return true;
    return pl_check_fail_read(
        c, k->i, at, bytes,
        pl_arena_fmt(c->tmp, "block %d of %d of '%s'", k->at->i, k->at->n, operand_of(k, o)->name));
}

/* A copy of a block out of an input's part. */
static bool check_input_copy(const piece_check *k)
{
    checker *c = k->c;
    int o = k->at->operand;
    pl_placement where = place_of(k, o);
    rows from = part_rows(k, o), to = block_rows(k, o, k->at->i, 0);
    int64_t bytes = to.room * size_of(k, o);
    PL_TRY(pl_check_read_part(c, k->i, operand_of(k, o), &where, k->s->in[0]));
    PL_TRY(pl_check_apart(c, k->i, from.room * size_of(k, o), bytes));
    PL_TRY(pl_check_trace(c, k->s, size_of(k, o), &from, &to));
    PL_TRY(pl_check_write(c, k->i, k->s->out[0], bytes));
    content x = { .value = operand_of(k, o), .where = where, .at = k->s->out[0], .bytes = bytes };
    pl_region *r = PL_NEW(c->tmp, pl_region);
    *r = pl_steps_region(&k->steps, o, c->p->rank, k->at->i);
    x.region = r;
    PL_PUSH(c->tmp, &c->now, x);
    return true;
}

/* -- the output -------------------------------------------------------------------------------- */

/* What stands at `at` of this node's output: made by the steps from `first` to `last`. */
static content *find_made(const piece_check *k, pl_slot at, int first, int last)
{
    for (int j = 0; j < k->c->now.n; j++) {
        content *x = &k->c->now.at[j];
        const pl_piece *p = x->piece;
        if (p && p->node == k->n && p->factor == k->at->factor && p->n == k->at->n &&
            x->first == first && p->i == last && pl_slot_same(x->at, at))
            return x;
    }
    return NULL;
}

/* Here stands what the steps from `first` to this one made; all of them made the part. */
static void put_made(const piece_check *k, pl_slot at, int64_t bytes, int first)
{
    content x = { .value = k->n->out[0], .where = place_of(k, k->n->n_in), .piece = k->at };
    x.at = at, x.bytes = bytes, x.first = first;
    if (first == 0 && k->at->i == k->at->n - 1)
        pl_check_put(k->c, x.value, &x.where, at);
    else
        PL_PUSH(k->c->tmp, &k->c->now, x);
}

/* Do the blocks of the output lie one after another in its part? */
static bool is_dense(const piece_check *k, int i)
{
    rows part = part_rows(k, k->n->n_in);
    rows block = block_rows(k, k->n->n_in, i, i * made_bytes(k) / size_of(k, k->n->n_in));
    return pl_check_has_rows(&part, &block);
}

static void drop(checker *c, content *x)
{
    for (c->now.n--; x < c->now.at + c->now.n; x++) x[0] = x[1];
}

/* A kernel writes its block behind those made before, or somewhere else for a copy or a fold. */
static bool write_made(const piece_check *k)
{
    int i = k->at->i;
    int64_t bytes = made_bytes(k);
    pl_slot at = k->s->out[0], begin = { .state = at.state, .at = at.at - i * bytes };
    /* Blocks that are not dense in the part may lie so too, each waiting for its copy. */
    bool behind =
        k->puts && i > 0 && is_dense(k, i) && is_dense(k, 0) && find_made(k, begin, 0, i - 1);
    PL_TRY(pl_check_write(k->c, k->i, at, bytes));
    for (int a = k->c->first[k->i]; a < k->c->log.n - 1; a++) {
        const access *x = &k->c->log.at[a];
        if (pl_check_overlap(x->at, x->bytes, at, bytes))
            return fail_piece(k, "its output lies over what it reads");
    }
    if (behind) drop(k->c, find_made(k, begin, 0, i - 1)); /* what it says is said below */
    put_made(k, behind ? begin : at, behind ? (i + 1) * bytes : bytes, behind ? 0 : i);
    return true;
}

static bool check_kernel(const piece_check *k)
{
    const pl_step *s = k->s;
    if (!s->share || s->share->node != k->n || s->n_in != k->n->n_in || s->n_out != 1)
        return fail_piece(k, "it has other inputs or outputs than its node");
    PL_TRY(pl_check_share(k->c, k->i, s->share, k->at));
    for (int o = 0; o < s->n_in; o++) {
        pl_placement where = place_of(k, o);
        if (pl_share_touches(k->n, o, k->at->factor))
            PL_TRY(read_block(k, o, s->in[o]));
        else
            PL_TRY(pl_check_read_part(k->c, k->i, k->n->in[o], &where, s->in[o]));
    }
    return write_made(k);
}

/* Reads what the kernel of this step made, and sees that the steps before are in the output. */
static bool read_made(const piece_check *k, int64_t all)
{
    const pl_step *s = k->s;
    PL_TRY(pl_check_read(k->c, k->i, s->in[0], made_bytes(k)));
    PL_TRY(pl_check_apart(k->c, k->i, made_bytes(k), all));
    if (!find_made(k, s->in[0], k->at->i, k->at->i))
        return pl_check_fail_read(k->c, k->i, s->in[0], made_bytes(k), "what this step made");
    return k->at->i == 0 || find_made(k, s->out[0], 0, k->at->i - 1) ||
           pl_check_fail_read(k->c, k->i, s->out[0], all, "what the steps before it made");
}

/* A copy of a block into the output's part writes that block and nothing else. */
static bool check_output_copy(const piece_check *k)
{
    int o = k->n->n_in;
    rows part = part_rows(k, o), from = block_rows(k, o, k->at->i, 0);
    rows to = pl_check_common_rows(&part, &from, k->tmp);
    int64_t all = part.room * size_of(k, o);
    if (!k->puts) return fail_piece(k, "a sum is not copied together");
    PL_TRY(read_made(k, all));
    PL_TRY(pl_check_trace(k->c, k->s, size_of(k, o), &from, &to));
    if (pl_check_count_copied(k->s, size_of(k, o)) != from.room)
        return fail_piece(k, "a copy writes more than its block");
    PL_TRY(pl_check_write(k->c, k->i, k->s->out[0], all));
    put_made(k, k->s->out[0], all, 0);
    return true;
}

static bool check_fold(const piece_check *k)
{
    const pl_step *s = k->s;
    if (k->puts || !k->at->i) return fail_piece(k, "there is nothing to fold");
    if (s->type != k->n->out[0]->type || s->monoid != k->n->op->monoid ||
        s->count * pl_type_bytes(s->type) != made_bytes(k))
        return fail_piece(k, "a fold of another type, monoid or count");
    PL_TRY(read_made(k, made_bytes(k)));
    PL_TRY(pl_check_write(k->c, k->i, s->out[0], made_bytes(k)));
    put_made(k, s->out[0], made_bytes(k), 0);
    return true;
}

static bool check_kind(piece_check *k)
{
    PL_TRY(find_piece(k));
    if (k->s->kind == PL_KERNEL) return check_kernel(k);
    if ((k->s->kind != PL_COPY && k->s->kind != PL_FOLD) || k->s->n_in != 1 || k->s->n_out != 1)
        return fail_piece(k, "no kernel, copy or fold");
    if (k->s->kind == PL_FOLD) return check_fold(k);
    return k->at->operand < k->n->n_in ? check_input_copy(k) : check_output_copy(k);
}

bool pl_check_piece(checker *c, int i)
{
    const pl_step *s = &c->p->step[i];
    piece_check k = { .c = c, .i = i, .s = s, .at = s->piece, .tmp = pl_arena_new("steps check") };
    bool ok = check_kind(&k);
    pl_arena_free(k.tmp);
    return ok;
}
