/* Branch and bound. Read branch(): a section is chosen (choose_section), each block that may lie
 * on its floor is tried there (place), then none of them (lift); what is left falls into parts
 * that do not meet in time (finish). pl_exact_try() restarts it under growing limits. */
#include "arena/exact.h"

#include "base/hash.h"
#include "base/rng.h"
#include "arena/floors.h"

enum {
    RULES = 3,         /* of choice, see choose_section                                        */
    FIRST_RUN = 3000,  /* nodes; what is solved at all is mostly solved within 20,000        */
    MOST_DEPTH = 5000, /* calls on the stack */
    ENTRIES = 1024, /* looked at, at least, count as a node: of large problems one takes longer  */
    MEMO_BITS = 20
};

/* Sections [from, to) that no block left leaves, with this many entries left. */
typedef struct part {
    int from, to, size;
} part;

typedef struct failure {
    uint64_t hash[2];
} failure;

struct pl_exact {
    const pl_boxes *boxes;
    pl_floors *f;
    pl_arena *arena;
    unsigned off;
    int64_t nodes, limit, most; /* of a run; most: of the whole effort */
    int rule;
    double *weight, *plain; /* [n_blocks] heavy ones are tried first        */
    failure *memo;          /* [mask + 1], or NULL                          */
    uint64_t mask;
    struct {
        int n, cap;
        int *at;
    } picks; /* a stack: the blocks that each call tries                    */
    struct {
        int n, cap;
        part *at;
    } parts; /* a stack: what is left after each step                       */
};

static pl_outcome branch(pl_exact *x, part p, int depth);

pl_exact *pl_exact_new(const pl_boxes *boxes, unsigned off, int64_t effort, pl_arena *arena)
{
    pl_floors *f = boxes->has_windows ? NULL : pl_floors_new(boxes, off, arena);
    if (!f) return NULL;
    pl_exact *x = PL_NEW(arena, pl_exact);
    *x = (pl_exact){ .boxes = boxes, .f = f, .arena = arena, .off = off };
    x->weight = PL_NEW_N(arena, double, f->n_blocks);
    x->plain = PL_NEW_N(arena, double, f->n_blocks);
    double most = 1;
    for (int i = 0; i < f->n_blocks; i++)
        if ((double)f->block[i].bytes > most) most = (double)f->block[i].bytes;
    for (int i = 0; i < f->n_blocks; i++) { /* long lives first, of equal ones the large */
        const pl_boxed *item = &boxes->item[f->block[i].item];
        double life = (double)item->death - (double)item->birth;
        x->plain[i] = life * most + (double)f->block[i].bytes;
    }
    int bits = 8; /* small problems have few states */
    int64_t states = 64 * (int64_t)f->n_blocks * f->n_blocks;
    while (bits < MEMO_BITS && (int64_t)1 << bits < (states < effort ? states : effort)) bits++;
    x->mask = ((uint64_t)1 << bits) - 1;
    if (!(off & PL_OFFSETS_MEMO)) x->memo = PL_NEW_N(arena, failure, x->mask + 1);
    return x;
}

/* -- memory of failures ------------------------------------------------------------------------ */

static uint64_t scramble(uint64_t x)
{
    return pl_hash_mix(pl_hash_mix(0x243f6a8885a308d3u, x), x >> 32);
}

/* Whether a part can be finished depends on its floors and on who is left. Two states with the same
 * 128 bits are taken for one: among 10^9 states that happens with a chance of 10^-20. */
static failure hash_part(const pl_exact *x, part p)
{
    const pl_floors *f = x->f;
    failure h = { { scramble((uint64_t)f->capacity), ~(uint64_t)f->capacity } };
    for (int i = p.from; i < p.to; i++) {
        const pl_section *s = &f->section[i];
        if (!s->n) continue;
        uint64_t one = scramble(pl_hash_mix((uint64_t)i + 1, (uint64_t)s->floor));
        h.hash[0] += one;
        h.hash[1] ^= scramble(one + 0x9e3779b97f4a7c15u);
        for (int k = 0; k < s->n; k++) {
            const pl_entry *e = &f->entry[f->link[s->first + k]];
            if (f->entry[f->block[e->block].first].section != i) continue; /* once per block */
            one = scramble(~(uint64_t)e->block);
            h.hash[0] += one;
            h.hash[1] ^= scramble(one + 0x517cc1b727220a95u);
        }
    }
    return h;
}

static failure *find_failure(pl_exact *x, failure h)
{
    return x->memo ? &x->memo[(h.hash[0] ^ h.hash[0] >> 32) & x->mask] : NULL;
}

/* -- choice ------------------------------------------------------------------------------------ */

/* How many blocks may lie on the floor of a section; -1 when it is no valley: under one of these
 * there is room in another section, which something else may take. */
static int count_choices(const pl_floors *f, const pl_section *section, bool is_lowest)
{
    int count = 0;
    for (int i = 0; i < section->n; i++) {
        const pl_block *b = pl_floors_left(f, section, i);
        if (b->low != section->floor) continue;
        count++;
        for (int e = b->first; !is_lowest && e < b->first + b->n; e++)
            if (f->section[f->entry[e].section].floor != section->floor) return -1;
    }
    return count;
}

/* Fewest choices first, of equal ones the least to spare. Rule 0 takes only the lowest floors,
 * which are valleys always; rule 2 prefers low floors. None is best on all problems. */
static int choose_section(const pl_exact *x, part p)
{
    const pl_floors *f = x->f;
    int64_t lowest = INT64_MAX, best_spare = 0;
    int best = -1;
    double best_rank = 0;
    for (int i = p.from; i < p.to; i++)
        if (f->section[i].n && f->section[i].floor < lowest) lowest = f->section[i].floor;
    for (int i = p.from; i < p.to; i++) {
        const pl_section *s = &f->section[i];
        bool is_lowest = s->floor == lowest;
        if (!s->n || (x->rule == 0 && !is_lowest)) continue;
        int choices = count_choices(f, s, is_lowest);
        if (choices < 0) continue;
        int64_t spare = f->capacity - s->floor - s->rest;
        double rank = 2 * choices + (spare > 0 ? x->rule == 2 ? 1 : 2 : 0);
        if (x->rule == 2) rank += (double)(int)((double)s->floor / (double)f->capacity * 1e6) / 5e4;
        if (best >= 0 && (rank > best_rank || (rank == best_rank && spare >= best_spare))) continue;
        best = i;
        best_rank = rank;
        best_spare = spare;
    }
    return best;
}

static bool is_repeated(const pl_exact *x, int from, int block)
{
    if (x->off & PL_OFFSETS_CANONICAL) return false;
    for (int k = from; k < x->picks.n; k++)
        if (x->f->block[x->picks.at[k]].kind == x->f->block[block].kind) return true;
    return false;
}

/* Heavy first. */
static void add_pick(pl_exact *x, int from, int block)
{
    if (is_repeated(x, from, block)) return;
    PL_PUSH(x->arena, &x->picks, block);
    for (int k = x->picks.n - 1; k > from; k--) {
        int *at = &x->picks.at[k];
        double a = x->weight[at[0]], b = x->weight[at[-1]];
        if (a < b || (a == b && at[0] > at[-1])) break;
        int other = at[-1];
        at[-1] = at[0];
        at[0] = other;
    }
}

/* -- steps ------------------------------------------------------------------------------------- */

static bool is_apart(const part *p, const pl_block *b)
{
    return b && (p->to <= b->from || b->to <= p->from);
}

/* Cuts what is left into parts that do not meet in time; small ones first. */
static void push_parts(pl_exact *x, part p)
{
    const pl_floors *f = x->f;
    int first = x->parts.n, end = p.from;
    part now = { p.from, p.from, 0 };
    for (int i = p.from; i <= p.to; i++) {
        if (i == p.to || (i >= end && !(x->off & PL_OFFSETS_DECOMPOSE))) {
            now.to = i;
            if (now.size) PL_PUSH(x->arena, &x->parts, now);
            now = (part){ i, i, 0 };
        }
        if (i == p.to) break;
        const pl_section *s = &f->section[i];
        for (int k = 0; k < s->n; k++) {
            const pl_block *b = pl_floors_left(f, s, k);
            if (b->to > end) end = b->to;
        }
        now.size += s->n;
        if (end <= i) end = i + 1;
    }
    for (int i = first + 1; i < x->parts.n; i++)
        for (int k = i; k > first && x->parts.at[k].size < x->parts.at[k - 1].size; k--) {
            part other = x->parts.at[k - 1];
            x->parts.at[k - 1] = x->parts.at[k];
            x->parts.at[k] = other;
        }
}

/* All of what is left. *apart: a part failed that the block placed last, if any, does not meet. */
static pl_outcome finish(pl_exact *x, part p, const pl_block *placed, int depth, bool *apart)
{
    int first = x->parts.n;
    push_parts(x, p);
    pl_outcome o = PL_EXACT_FOUND;
    for (int i = first; i < x->parts.n && o == PL_EXACT_FOUND; i++) {
        o = branch(x, x->parts.at[i], depth + 1);
        if (o == PL_EXACT_NONE) *apart = is_apart(&x->parts.at[i], placed);
    }
    x->parts.n = first;
    return o;
}

static pl_outcome place(pl_exact *x, part p, int block, int depth, bool *apart)
{
    pl_floors *f = x->f;
    int mark = f->log.n;
    pl_floors_place(f, block);
    pl_outcome o = PL_EXACT_NONE;
    if (pl_floors_spread(f)) o = finish(x, p, &f->block[block], depth, apart);
    if (o != PL_EXACT_FOUND) pl_floors_undo(f, mark);
    return o;
}

/* Where the floor of a section can be next when nothing lies on it: at the low of another, or on
 * top of something that keeps one of those up that would fit here. Such a thing meets it in a
 * section of the same floor. */
static int64_t find_next(const pl_exact *x, int section)
{
    const pl_floors *f = x->f;
    const pl_section *s = &f->section[section];
    int64_t next = INT64_MAX;
    bool hangs = x->off & PL_OFFSETS_DOMINANCE;
    for (int i = 0; i < s->n; i++) {
        const pl_block *b = pl_floors_left(f, s, i);
        if (b->low > s->floor) {
            if (b->low < next) next = b->low;
            continue;
        }
        if (hangs && s->floor + x->boxes->unit < next) next = s->floor + x->boxes->unit;
        for (int e = b->first; !hangs && e < b->first + b->n; e++) {
            const pl_section *t = &f->section[f->entry[e].section];
            for (int k = 0; k < t->n; k++) {
                const pl_block *c = pl_floors_left(f, t, k);
                if (c->low + c->bytes < next) next = c->low + c->bytes;
            }
        }
    }
    return next;
}

static pl_outcome lift(pl_exact *x, part p, int section, int depth)
{
    pl_floors *f = x->f;
    int mark = f->log.n;
    bool apart = false;
    pl_floors_raise(f, section, find_next(x, section));
    pl_outcome o = PL_EXACT_NONE;
    if (pl_floors_spread(f)) o = finish(x, p, NULL, depth, &apart);
    if (o != PL_EXACT_FOUND) pl_floors_undo(f, mark);
    return o;
}

/* What a run has used of the effort. Its length is in nodes alone: one that finds something goes
 * deep. */
static int64_t count(const pl_exact *x)
{
    const int64_t work = x->f->work / ENTRIES;
    return x->nodes > work ? x->nodes : work;
}

static pl_outcome branch(pl_exact *x, part p, int depth)
{
    if (x->nodes >= x->limit || count(x) >= x->most) return PL_EXACT_OPEN;
    if (depth > MOST_DEPTH) return PL_EXACT_OPEN;
    x->nodes++;
    x->f->work += p.size;
    failure h = { 0 };
    if (x->memo) h = hash_part(x, p);
    failure *seen = find_failure(x, h);
    if (seen && seen->hash[0] == h.hash[0] && seen->hash[1] == h.hash[1]) return PL_EXACT_NONE;
    int section = choose_section(x, p), first = x->picks.n;
    const pl_section *s = &x->f->section[section];
    for (int i = 0; i < s->n; i++)
        if (pl_floors_left(x->f, s, i)->low == s->floor)
            add_pick(x, first, x->f->entry[x->f->link[s->first + i]].block);
    bool apart = false;
    pl_outcome o = PL_EXACT_NONE;
    for (int k = first; k < x->picks.n && o == PL_EXACT_NONE && !apart; k++) {
        o = place(x, p, x->picks.at[k], depth, &apart);
        if (x->off & PL_OFFSETS_HATLESS) apart = false;
    }
    if (o == PL_EXACT_NONE && !apart) o = lift(x, p, section, depth);
    x->picks.n = first;
    if (o == PL_EXACT_NONE && seen) *seen = h;
    return o;
}

/* -- restarts ---------------------------------------------------------------------------------- */

/* 1 1 2 1 1 2 4 1 1 2 ...: Luby, Sinclair & Zuckerman 1993, "Optimal speedup of Las Vegas
 * algorithms". i from 1. */
static int64_t find_luby(int64_t i)
{
    for (;;) {
        int bits = 1;
        while (((int64_t)1 << bits) - 1 < i) bits++;
        if (((int64_t)1 << bits) - 1 == i) return (int64_t)1 << (bits - 1);
        i -= ((int64_t)1 << (bits - 1)) - 1;
    }
}

/* The first run of each rule takes the plain order, later ones shake it. */
static void weigh(pl_exact *x, int64_t run)
{
    pl_rng r = pl_rng_at((uint64_t)run, pl_rng_name("layout order"));
    for (int i = 0; i < x->f->n_blocks; i++)
        x->weight[i] =
            run < RULES ? x->plain[i] : x->plain[i] * (1 + pl_rng_uniform(r, (uint64_t)i));
}

static pl_outcome search_all(pl_exact *x)
{
    pl_floors *f = x->f;
    bool apart = false;
    for (int i = 0; i < f->n_sections; i++) pl_floors_touch(f, i);
    if (!pl_floors_spread(f)) return PL_EXACT_NONE;
    return finish(x, (part){ 0, f->n_sections, 0 }, NULL, 0, &apart);
}

pl_outcome pl_exact_try(pl_exact *x, int64_t capacity, int64_t *nodes, int64_t offset[])
{
    pl_floors *f = x->f;
    pl_outcome o = PL_EXACT_OPEN;
    bool restarts = !(x->off & PL_OFFSETS_RESTARTS);
    f->capacity = capacity;
    for (int64_t run = 0; o == PL_EXACT_OPEN && *nodes > 0; run++) {
        x->nodes = f->work = 0;
        x->limit = restarts ? FIRST_RUN * find_luby(run / RULES + 1) : *nodes;
        x->most = *nodes;
        x->rule = restarts ? (int)(run % RULES) : 0;
        weigh(x, run);
        o = search_all(x);
        if (o == PL_EXACT_FOUND)
            for (int i = 0; i < f->n_blocks; i++) offset[f->block[i].item] = f->block[i].offset;
        pl_floors_undo(f, 0);
        *nodes -= count(x);
        if (!x->nodes) break; /* a depth that no run can reach, or none was needed */
    }
    return o;
}
