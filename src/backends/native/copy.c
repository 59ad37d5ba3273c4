/* What only moves elements: broadcast, transpose, split, concat, slice, slice_grad; and fill. Each
 * is a few moves of a strided array into another; rows that are dense on both sides are memcpy. */
#include "backends/native/kernels.h"

#include "graph/walk.h"

#include <string.h>

enum { TILE = 32 }; /* a transposed tile of 8-byte elements, read and written, is 16 KiB */

/* Element types by width; they may stand for any type. */
typedef uint8_t __attribute__((may_alias)) word1;
typedef uint16_t __attribute__((may_alias)) word2;
typedef uint32_t __attribute__((may_alias)) word4;
typedef uint64_t __attribute__((may_alias)) word8;

typedef struct move {
    int in, out;      /* which input, which output                                     */
    int64_t from, to; /* first element of each                                         */
    pl_loops loops;   /* operand 0 is the input, 1 the output                          */
    bool tiled;       /* the last loop is dense in the output, the one before in the input */
} move;

typedef struct copy {
    int64_t bytes; /* of an element                                                 */
    bool clear;    /* the moves leave gaps in the output: zeros                     */
    int n;
    move move[PL_MAX_OPERANDS];
} copy;

/* A transposition: bring the loop that is dense in the input next to the last one. */
static bool pair_dense_loops(pl_loops *l)
{
    int last = l->n - 1;
    if (l->step[last][0] == 1 || l->step[last][1] != 1) return false;
    for (int k = last - 1; k >= 0; k--) {
        if (l->step[k][0] != 1) continue;
        pl_loops old = *l;
        for (int i = k; i < last; i++) {
            int from = i == last - 1 ? k : i + 1;
            l->size[i] = old.size[from];
            memcpy(l->step[i], old.step[from], sizeof l->step[i]);
        }
        return true;
    }
    return false;
}

static void add_move(copy *c, move m)
{
    pl_loops_close(&m.loops, 2);
    m.tiled = pair_dense_loops(&m.loops);
    c->move[c->n++] = m;
}

/* broadcast, transpose: every output element from where its letters stand in the input. */
static void plan_whole(const pl_share *s, copy *c)
{
    pl_walk w = pl_walk_new(s, pl_walk_mask(s->node, 1));
    move m = { 0 };
    for (int k = 0; k < w.n; k++) {
        int f = w.factor[k];
        int64_t step[2] = { w.stride[0][f], w.stride[1][f] };
        pl_loops_add(&m.loops, s->factor[f].n, step, 2, 1);
    }
    add_move(c, m);
}

/* The factor that operand o has and the other lacks; -1 when there is none. */
static int find_own(const pl_node *n, int o, uint32_t others)
{
    uint32_t own = pl_walk_mask(n, o) & ~others;
    for (int f = 0; f < n->sig->n_factors; f++)
        if (own >> f & 1) return f;
    return -1;
}

/* split, concat (ops/lib/pieces.h): each piece is the range [lo, lo + size) of the letter v that
 * only the joined operand has. */
static void plan_pieces(const pl_share *s, int joined, copy *c)
{
    const pl_node *n = s->node;
    uint32_t all = 0;
    int64_t lo = 0;
    for (int o = 0; o < n->n_in + n->n_out; o++)
        if (o != joined) all |= pl_walk_mask(n, o);
    int v = find_own(n, joined, all);
    for (int o = 0; o < n->n_in + n->n_out; o++) {
        if (o == joined) continue;
        pl_walk w = pl_walk_new(s, pl_walk_mask(n, o));
        int own = find_own(n, o, pl_walk_mask(n, joined));
        move m = { .in = joined ? o : 0, .out = joined ? 0 : o - 1 };
        *(joined ? &m.to : &m.from) = lo * w.stride[joined][v];
        for (int k = 0; k < w.n; k++) {
            int f = w.factor[k];
            int64_t whole = w.stride[joined][f == own ? v : f], part = w.stride[o][f];
            int64_t step[2] = { joined ? part : whole, joined ? whole : part };
            pl_loops_add(&m.loops, s->factor[f].n, step, 2, 1);
        }
        add_move(c, m);
        lo += own < 0 ? 1 : s->factor[own].n;
    }
}

/* slice, slice_grad: letter v on the large side where the small side has u, v = at + u. */
static void plan_slice(const pl_share *s, int small, copy *c)
{
    const pl_node *n = s->node;
    int u = pl_sig_find(n->sig, 'u'), v = pl_sig_find(n->sig, 'v'), large = 1 - small;
    pl_walk w = pl_walk_new(s, pl_walk_mask(n, small));
    move m = { 0 };
    *(small ? &m.from : &m.to) = pl_node_int(n, "at", 0) * w.stride[large][v];
    for (int k = 0; k < w.n; k++) {
        int f = w.factor[k];
        int64_t part = w.stride[small][f], whole = w.stride[large][f == u ? v : f];
        int64_t step[2] = { small ? whole : part, small ? part : whole };
        pl_loops_add(&m.loops, s->factor[f].n, step, 2, 1);
    }
    c->clear = !small;
    add_move(c, m);
}

bool pl_copy_make(const pl_share *s, const pl_kernel_env *env, void **state, int64_t *scratch_bytes,
                  pl_err *err)
{
    const pl_node *n = s->node;
    copy c = { .bytes = pl_type_bytes(n->out[0]->type) };
    (void)env;
    if (n->op == &pl_op_split)
        plan_pieces(s, 0, &c);
    else if (n->op == &pl_op_concat)
        plan_pieces(s, n->n_in, &c);
    else if (n->op == &pl_op_slice)
        plan_slice(s, 1, &c);
    else if (n->op == &pl_op_slice_grad)
        plan_slice(s, 0, &c);
    else
        plan_whole(s, &c);
    *scratch_bytes = 0;
    return pl_kernels_keep(&c, sizeof c, state, err);
}

#define STRIDED(word)                                                                              \
    for (int64_t i = 0; i < n; i++) ((word *)to)[i * t] = ((const word *)from)[i * f];             \
    return;

/* to[i t] = from[i f], steps in elements. */
static void copy_row(int64_t bytes, int64_t n, char *to, int64_t t, const char *from, int64_t f)
{
    if (t == 1 && f == 1) {
        memcpy(to, from, (size_t)(n * bytes));
        return;
    }
    switch (bytes) {
    case 1: STRIDED(word1)
    case 2: STRIDED(word2)
    case 4: STRIDED(word4)
    case 8: STRIDED(word8)
    default: pl_bug(__FILE__, __LINE__, "elements of %lld bytes", (long long)bytes);
    }
}

typedef struct job {
    int64_t bytes;
    const move *move;
    const char *from;
    char *to;
} job;

static void run_row(const void *arg, int64_t n, const int64_t at[])
{
    const job *j = arg;
    const int64_t *step = j->move->loops.step[j->move->loops.n - 1];
    copy_row(j->bytes, n, j->to + at[1] * j->bytes, step[1], j->from + at[0] * j->bytes, step[0]);
}

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* The last two loops in tiles: each line of memory is used whole while it is in the cache. */
static void run_tiles(const job *j, int n_threads)
{
    const pl_loops *l = &j->move->loops;
    int r = l->n - 2, c = l->n - 1;
    int64_t down = (l->size[r] + TILE - 1) / TILE, across = (l->size[c] + TILE - 1) / TILE;
    int64_t n_tasks = pl_loops_count(l, 0, r) * down * across, n = pl_loops_count(l, 0, l->n);
#pragma omp parallel for num_threads(n_threads) if (n > PL_LOOPS_SERIAL) schedule(static)
    for (int64_t t = 0; t < n_tasks; t++) {
        int64_t at[2] = { 0 }, i0 = t / across % down * TILE, k0 = t % across * TILE;
        int64_t rows = least(TILE, l->size[r] - i0), columns = least(TILE, l->size[c] - k0);
        pl_loops_seek(l, 0, r, t / across / down, 2, at);
        at[0] += i0 * l->step[r][0] + k0 * l->step[c][0];
        at[1] += i0 * l->step[r][1] + k0 * l->step[c][1];
        for (int64_t i = 0; i < rows; i++)
            copy_row(j->bytes, columns, j->to + (at[1] + i * l->step[r][1]) * j->bytes, 1,
                     j->from + (at[0] + i * l->step[r][0]) * j->bytes, l->step[c][0]);
    }
}

/* count copies of one element. */
static void fill(char *to, int64_t count, int64_t bytes, const void *element, int n_threads)
{
    int64_t pieces = (count + PL_LOOPS_PIECE - 1) / PL_LOOPS_PIECE;
#pragma omp parallel for num_threads(n_threads) if (count > PL_LOOPS_SERIAL) schedule(static)
    for (int64_t p = 0; p < pieces; p++) {
        int64_t from = p * PL_LOOPS_PIECE;
        copy_row(bytes, least(PL_LOOPS_PIECE, count - from), to + from * bytes, 1, element, 0);
    }
}

bool pl_fill_make(const pl_share *s, const pl_kernel_env *env, void **state, int64_t *scratch_bytes,
                  pl_err *err)
{
    word8 element = 0;
    (void)env;
    pl_type_put(s->node->out[0]->type, &element, 0, pl_node_real(s->node, "value", 0));
    *scratch_bytes = 0;
    return pl_kernels_keep(&element, sizeof element, state, err);
}

void pl_fill_run(const pl_share *s, const pl_kernel_env *env, void *state, const void *const in[],
                 void *const out[], void *scratch)
{
    (void)in, (void)scratch;
    fill(out[0], pl_shape_count(pl_share_out(s, 0)), pl_type_bytes(s->node->out[0]->type), state,
         env->n_threads);
}

void pl_copy_run(const pl_share *s, const pl_kernel_env *env, void *state, const void *const in[],
                 void *const out[], void *scratch)
{
    const copy *c = state;
    const word8 zero = 0;
    (void)scratch;
    if (c->clear) fill(out[0], pl_shape_count(pl_share_out(s, 0)), c->bytes, &zero, env->n_threads);
    for (int i = 0; i < c->n; i++) {
        const move *m = &c->move[i];
        job j = { c->bytes, m, (const char *)in[m->in] + m->from * c->bytes,
                  (char *)out[m->out] + m->to * c->bytes };
        if (m->tiled)
            run_tiles(&j, env->n_threads);
        else
            pl_loops_run(&m->loops, 2, env->n_threads, run_row, &j);
    }
}
