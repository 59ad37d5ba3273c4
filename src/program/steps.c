/* Lowering, behind the first stage: gathers broken up into steps of their readers.
 *
 * A node that alone reads a gathered part, and whose factor the gather's group splits, works on one
 * block after another: block i is broadcast by the member that has it, while the node computes with
 * block i - 1 (collective matmul: Wang et al., ASPLOS 2023; with two inputs gathered along the same
 * factor it is SUMMA: van de Geijn and Watts, 1997). Each device receives what it did before, every
 * block but its own, and keeps two blocks of each gathered input instead of all.
 *
 * An output that has the factor gets its blocks where they belong, by a copy if they do not lie
 * dense there; an output without it is the sum of the steps: the first writes, the later ones are
 * folded in. An input that lies there whole is read at the block's place, or copied out of it.
 *
 * All ranks decide alike: what rank 0 sees holds for all, since shares are even. */
#include "graph/op.h"
#include "program/lower.h"

#include "plan/steps.h"

typedef struct gather {
    int message, unpack; /* tasks, -1: none                                      */
    const pl_transfer *move;
    int64_t bytes; /* of the gathered part; 0: this operand is not gathered */
    int *block;    /* [n] parts                                             */
} gather;

typedef struct stepped {
    int id; /* of the node's task */
    const pl_node *node;
    pl_steps steps;
    gather of[PL_MAX_OPERANDS];
} stepped;

/* -- may it? ----------------------------------------------------------------------------------- */

/* The one reader of part p, when nothing outside the tasks wants it; else -1. */
static int only_reader(const lowering *l, int p)
{
    const pl_graph *g = l->plan->graph;
    for (int i = 0; i < g->outputs.n; i++)
        if (l->output[i] == p) return -1;
    for (int i = 0; i < g->values.n; i++)
        if (g->values.at[i]->next && l->final[i] == p) return -1;
    const ints *readers = &l->parts.at[p].readers;
    return readers->n == 1 ? readers->at[0] : -1;
}

/* The gather that makes part p for task `reader` alone, if it is larger than the limit. */
static gather find_gather(const lowering *l, int p, int reader)
{
    gather none = { .message = -1, .unpack = -1 }, x = none;
    x.message = l->parts.at[p].maker;
    x.bytes = l->parts.at[p].bytes;
    if (x.message < 0 || x.bytes <= l->options.step_bytes || only_reader(l, p) != reader)
        return none;
    const task *t = &l->tasks.at[x.message];
    if (t->kind == TASK_COPY && t->step.transfer && t->step.from == PL_INCOMING) {
        x.unpack = x.message;
        x.message = l->parts.at[t->in[0]].maker;
        t = &l->tasks.at[x.message];
    }
    if (t->kind != TASK_MESSAGE || t->step.collective != PL_ALL_GATHER) return none;
    x.move = t->step.transfer;
    bool even = pl_placement_even(&x.move->move.from, &l->plan->mesh, &x.move->value->shape);
    return even ? x : none;
}

static bool same_region(pl_region a, pl_region b)
{
    bool same = pl_region_align(&a, &b) && a.n == b.n;
    for (int k = 0; same && k < a.n; k++)
        same = a.digit[k].lo == b.digit[k].lo && a.digit[k].n == b.digit[k].n;
    return same;
}

/* Is what each member of the group has the block of operand o that one step reads? */
static bool fits(const lowering *l, const pl_steps *s, int o, const gather *x, int rank)
{
    const pl_mesh *mesh = &l->plan->mesh;
    const pl_transfer *t = x->move;
    int me;
    if (pl_move_group(mesh, rank, t->move.axes, &me) != s->n) return false;
    for (int i = 0; i < s->n; i++) {
        int member = pl_move_member(mesh, rank, t->move.axes, i);
        pl_region has = pl_region_of(&t->move.from, mesh, &t->value->shape, member);
        if (!same_region(has, pl_steps_region(s, o, rank, i))) return false;
    }
    return true;
}

/* The copy between a device's part of operand o and the block of step i, dense at its place. */
static bool find_copy(const lowering *l, const pl_steps *s, int o, int rank, int i, pl_copy *c)
{
    const pl_node *n = s->node;
    const pl_value *v = pl_node_value(n, o);
    pl_placement where = pl_plan_operand(l->plan, n->id, o);
    pl_region whole = pl_region_of(&where, &l->plan->mesh, &v->shape, rank);
    pl_region block = pl_steps_region(s, o, rank, i);
    bool in = o < n->n_in;
    return pl_region_copy(in ? &whole : &block, in ? &block : &whole, pl_type_bytes(v->type), c);
}

static bool can_copy(const lowering *l, const stepped *x)
{
    pl_copy c;
    for (int o = 0; o <= x->node->n_in; o++)
        if (!x->of[o].bytes && pl_share_touches(x->node, o, x->steps.factor) &&
            !find_copy(l, &x->steps, o, 0, 0, &c))
            return false;
    return true;
}

/* Steps along a factor that splits the largest gathered input. */
static bool find_factor(const lowering *l, stepped *x)
{
    int first = 0, me;
    for (int o = 1; o < x->node->n_in; o++)
        if (x->of[o].bytes > x->of[first].bytes) first = o;
    if (!x->of[first].bytes) return false;
    int n = pl_move_group(&l->plan->mesh, 0, x->of[first].move->move.axes, &me);
    for (int f = 0; f < x->node->sig->n_factors; f++)
        if (pl_share_touches(x->node, first, f) &&
            pl_steps_find(l->plan, x->node, f, n, &x->steps) &&
            fits(l, &x->steps, first, &x->of[first], 0))
            return true;
    return false;
}

static bool find_steps(const lowering *l, int id, stepped *x)
{
    const task *t = &l->tasks.at[id];
    if (t->kind != TASK_NODE) return false;
    const pl_node *n = t->step.share->node;
    if (n->n_out != 1 || n->op->inplace || n->op->view || n->n_in + 1 > PL_MAX_OPERANDS)
        return false;
    if (l->parts.at[t->out[0]].home != t->out[0]) return false; /* it makes a state's contents */
    *x = (stepped){ .id = id, .node = n };
    for (int o = 0; o < n->n_in; o++) x->of[o] = find_gather(l, t->in[o], id);
    if (!find_factor(l, x)) return false;
    for (int o = 0; o < n->n_in; o++)
        if (x->of[o].bytes && !fits(l, &x->steps, o, &x->of[o], 0)) x->of[o].bytes = 0;
    return can_copy(l, x);
}

/* -- tasks ------------------------------------------------------------------------------------- */

static int64_t block_bytes(const stepped *x, int o)
{
    pl_region r = pl_steps_region(&x->steps, o, 0, 0);
    return pl_region_count(&r) * pl_type_bytes(pl_node_value(x->node, o)->type);
}

static int add_block(lowering *l, const stepped *x, int o)
{
    pl_placement where = pl_plan_operand(l->plan, x->node->id, o);
    return pl_lower_part(l, pl_node_value(x->node, o), &where, block_bytes(x, o));
}

/* Parts for the blocks of a gathered input; what the gather made is the first two. */
static void add_blocks(lowering *l, stepped *x, int o, const task *old)
{
    gather *g = &x->of[o];
    int made[2] = { old[x->id].in[o], g->unpack >= 0 ? old[g->unpack].in[0] : -1 };
    PL_ASSERT(fits(l, &x->steps, o, g, l->rank)); /* as rank 0 has seen */
    g->block = PL_NEW_N(l->tmp, int, x->steps.n);
    for (int i = 0; i < x->steps.n; i++) {
        g->block[i] = i < 2 && made[i] >= 0 ? made[i] : add_block(l, x, o);
        l->parts.at[g->block[i]].bytes = block_bytes(x, o);
    }
}

static void add_broadcasts(lowering *l, const stepped *x, int i, const task *old)
{
    for (int o = 0; o < x->node->n_in && i < x->steps.n; o++) {
        if (!x->of[o].bytes) continue;
        const task *whole = &old[x->of[o].message];
        int into = x->of[o].block[i], me;
        int id = pl_lower_task(l, TASK_MESSAGE, whole->step.label, whole->in[0], into);
        pl_step *s = &l->tasks.at[id].step;
        *s = whole->step;
        pl_move_group(&l->plan->mesh, l->rank, s->axes, &me);
        s->collective = PL_BROADCAST;
        s->peer = i;
        s->to = PL_INCOMING;
        s->bytes = me == i ? 0 : s->count * pl_type_bytes(s->type);
    }
}

static const pl_piece *make_piece(lowering *l, const stepped *x, int i, int operand)
{
    pl_piece *p = PL_NEW(l->out, pl_piece);
    *p = (pl_piece){ x->node, x->steps.factor, x->steps.n, i, operand };
    return p;
}

/* A copy of one block out of a part, or into it. */
static int add_copy(lowering *l, const stepped *x, int i, int o, int from, int into,
                    const pl_copy *c)
{
    int id = pl_lower_task(l, TASK_COPY, x->node->name, from, into);
    pl_step *s = &l->tasks.at[id].step;
    s->piece = make_piece(l, x, i, o);
    s->n_copies = 1;
    s->copy = c;
    return id;
}

/* What step i reads of operand o: the part and, in bytes from its start, where. */
static int find_input(lowering *l, const stepped *x, int i, int o, int whole, int64_t *at)
{
    *at = 0;
    if (x->of[o].bytes) return x->of[o].block[i];
    if (!pl_share_touches(x->node, o, x->steps.factor)) return whole;
    pl_copy *c = PL_NEW(l->out, pl_copy);
    bool ok = find_copy(l, &x->steps, o, l->rank, i, c);
    PL_ASSERT(ok); /* can_copy */
    if (!c->n) {
        *at = c->from_at;
        return whole;
    }
    int block = add_block(l, x, o);
    add_copy(l, x, i, o, whole, block, c);
    return block;
}

/* Part `so_far` becomes `next`, in the same memory. */
static void go_on(lowering *l, int id, int so_far, int next)
{
    if (so_far < 0) return;
    pl_lower_read(l, id, so_far);
    l->parts.at[next].home = so_far;
}

/* A task that adds block i to the output so far, or puts it in its place. */
static void add_block_to(lowering *l, const stepped *x, int i, int block, int so_far, int next,
                         const pl_copy *c)
{
    const pl_value *v = x->node->out[0];
    int id;
    if (c) {
        id = add_copy(l, x, i, x->node->n_in, block, next, c);
    } else {
        id = pl_lower_task(l, TASK_FOLD, x->node->name, block, next);
        pl_step *s = &l->tasks.at[id].step;
        s->piece = make_piece(l, x, i, x->node->n_in);
        s->type = v->type;
        s->monoid = x->node->op->monoid;
        s->count = l->parts.at[next].bytes / pl_type_bytes(v->type);
    }
    go_on(l, id, so_far, next);
}

/* Step i of the node; returns what it leaves of the output. */
static int add_step(lowering *l, const stepped *x, int i, const task *node, int so_far)
{
    const pl_node *n = x->node;
    bool puts = pl_share_touches(n, n->n_in, x->steps.factor), last = i == x->steps.n - 1;
    int in[PL_MAX_OPERANDS], next = last ? node->out[0] : add_block(l, x, n->n_in), block = next;
    int64_t at[PL_MAX_OPERANDS];
    pl_copy *c = puts ? PL_NEW(l->out, pl_copy) : NULL;
    bool ok = !puts || find_copy(l, &x->steps, n->n_in, l->rank, i, c);
    PL_ASSERT(ok); /* can_copy */
    l->parts.at[next].bytes = l->parts.at[node->out[0]].bytes;
    bool direct = puts ? !c->n : i == 0;
    for (int o = 0; o < n->n_in; o++) in[o] = find_input(l, x, i, o, node->in[o], &at[o]);
    if (!direct) block = add_block(l, x, n->n_in);
    int id = pl_lower_task(l, TASK_NODE, n->name, in[0], block);
    for (int o = 1; o < n->n_in; o++) pl_lower_read(l, id, in[o]);
    task *t = &l->tasks.at[id];
    for (int o = 0; o < n->n_in; o++) t->in_at[o] = at[o];
    pl_share *share = PL_NEW(l->out, pl_share);
    *share = pl_steps_share(&x->steps, l->rank, i);
    t->step.share = share;
    t->step.piece = make_piece(l, x, i, n->n_in);
    if (direct && puts) t->out_at = c->to_at;
    if (direct)
        go_on(l, id, so_far, next);
    else
        add_block_to(l, x, i, block, so_far, next, c);
    return next;
}

static void add_stepped(lowering *l, stepped *x, const task *old)
{
    int so_far = -1;
    for (int o = 0; o < x->node->n_in; o++)
        if (x->of[o].bytes) add_blocks(l, x, o, old);
    add_broadcasts(l, x, 0, old);
    for (int i = 0; i < x->steps.n; i++) {
        add_broadcasts(l, x, i + 1, old); /* it is under way while step i computes */
        so_far = add_step(l, x, i, &old[x->id], so_far);
    }
}

/* A task as it was, under its new number. */
static void add_again(lowering *l, const task *t)
{
    int id = l->tasks.n;
    PL_PUSH(l->tmp, &l->tasks, *t);
    for (int k = 0; k < t->n_in; k++) PL_PUSH(l->tmp, &l->parts.at[t->in[k]].readers, id);
    for (int k = 0; k < t->n_out; k++) l->parts.at[t->out[k]].maker = id;
}

static void rebuild(lowering *l, int n_stepped, stepped *x)
{
    int n = l->tasks.n;
    const task *old = l->tasks.at;
    bool *gone = PL_NEW_N(l->tmp, bool, n + 1);
    for (int k = 0; k < n_stepped; k++)
        for (int o = 0; o < x[k].node->n_in; o++) {
            if (!x[k].of[o].bytes) continue;
            gone[x[k].of[o].message] = true;
            if (x[k].of[o].unpack >= 0) gone[x[k].of[o].unpack] = true;
        }
    l->tasks.n = l->tasks.cap = 0;
    l->tasks.at = NULL;
    for (int p = 0; p < l->parts.n; p++) l->parts.at[p].readers = (ints){ 0 };
    for (int id = 0, k = 0; id < n; id++) {
        if (k < n_stepped && x[k].id == id)
            add_stepped(l, &x[k++], old);
        else if (!gone[id])
            add_again(l, &old[id]);
    }
}

void pl_lower_steps(lowering *l)
{
    if (!l->options.step_bytes) return;
    struct {
        int n, cap;
        stepped *at;
    } found = { 0 };
    stepped x;
    for (int id = 0; id < l->tasks.n; id++)
        if (find_steps(l, id, &x)) PL_PUSH(l->tmp, &found, x);
    if (found.n) rebuild(l, found.n, found.at);
}
