/* Choices by what they depend on: pl_known_find(). */
#include "layouts/known.h"

#include <string.h>

static int count_operands(const pl_node *n)
{
    return n->n_in + n->n_out;
}

uint64_t pl_known_hash(const pl_known_case *x, const pl_mesh *m)
{
    uint64_t hash = (uintptr_t)x->node->sig;
    for (int a = 0; a < m->n; a++) hash = pl_hash_mix(hash, (uint8_t)x->fixed.factor[a]);
    for (int o = 0; o < count_operands(x->node); o++) {
        const pl_known_operand *y = &x->operand[o];
        hash = pl_hash_mix(hash, (uint64_t)y->n << 2 | (uint64_t)y->open << 1 | y->state);
        for (int i = 0; i < y->n; i++) hash = pl_hash_mix(hash, pl_placement_hash(&y->at[i]));
    }
    return hash;
}

static bool is_operand_same(const pl_known_operand *a, const pl_known_operand *b)
{
    if (a->type != b->type || a->open != b->open || a->state != b->state || a->same != b->same ||
        a->n != b->n)
        return false;
    for (int i = 0; i < a->n; i++)
        if (!pl_placement_same(&a->at[i], &b->at[i])) return false;
    return true;
}

/* Nodes of one kind share their signature (graph/infer.h). */
static bool is_kind_same(const pl_node *a, const pl_node *b)
{
    return a->op == b->op && a->sig == b->sig && a->attr == b->attr && a->n_in == b->n_in &&
           a->n_out == b->n_out;
}

static bool is_same(const pl_known_case *a, const pl_known_case *b, const pl_mesh *m)
{
    if (!is_kind_same(a->node, b->node) || a->wide_sums != b->wide_sums ||
        memcmp(a->axes, b->axes, sizeof a->axes) != 0)
        return false;
    for (int i = 0; i < m->n; i++)
        if (a->fixed.factor[i] != b->fixed.factor[i] || a->fixed.level[i] != b->fixed.level[i])
            return false;
    for (int o = 0; o < count_operands(a->node); o++)
        if (!is_operand_same(&a->operand[o], &b->operand[o])) return false;
    return true;
}

const pl_choice *pl_known_find(const pl_known *k, const pl_known_case *x, const pl_mesh *m,
                               uint64_t hash)
{
    PL_MAP_EACH (&k->by_hash, hash, y)
        if (is_same(&k->at[y.value].of, x, m)) return &k->at[y.value].choice;
    return NULL;
}

void pl_known_add(pl_known *k, const pl_known_case *x, uint64_t hash, const pl_choice *choice,
                  pl_arena *arena)
{
    struct pl_known_entry y = { *x, *choice };
    for (int o = 0; o < count_operands(x->node); o++) {
        pl_known_operand *to = &y.of.operand[o];
        pl_placement *at = PL_NEW_N(arena, pl_placement, to->n + 1);
        if (to->n) memcpy(at, to->at, (size_t)to->n * sizeof *at);
        to->at = at;
    }
    pl_map_put(&k->by_hash, hash, k->n, arena);
    PL_PUSH(arena, k, y);
}
