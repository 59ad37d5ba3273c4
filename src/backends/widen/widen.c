#include "backends/widen/widen.h"

#include "backends/host/host.h"

#include <string.h>

enum {
    PIECE_BYTES =
        2 << 20,    /* of f32 copies: with what they are of, within the caches of few cores  */
    SERIAL = 32768, /* elements: up to here, starting threads costs more than it saves    */
    BLOCK = 4096,   /* elements that a thread converts at a time                          */
    ALIGN = 64,     /* of everything in scratch                                           */
};

/* A node in f32, and a share of it. Not to be copied: it points into itself. */
typedef struct twin {
    pl_node node;
    pl_value value[PL_MAX_OPERANDS];
    pl_share share;
} twin;

typedef struct piece {
    pl_share share;
    void *state;                    /* of the kernel inside                                  */
    int64_t start[PL_MAX_OPERANDS]; /* element of the share's operands where the piece's begin;
                                       from there on they are dense                          */
} piece;

typedef struct widened {
    pl_arena *arena; /* owns this */
    twin twin;
    const pl_kernel *kernel;
    int64_t at[PL_MAX_OPERANDS]; /* of the f32 copy in scratch; -1: none is needed */
    int64_t inner_at;            /* of the scratch of the kernel inside            */
    struct {
        int n, cap;
        piece *at;
    } pieces;
} widened;

/* -- conversions ------------------------------------------------------------------------------- */

typedef uint32_t __attribute__((may_alias)) word;

static void widen_block(const uint16_t *restrict x, word *restrict y, int64_t n)
{
#pragma omp simd
    for (int64_t i = 0; i < n; i++) y[i] = (uint32_t)x[i] << 16;
}

/* pl_bf16_round without a branch. */
static void narrow_block(const word *restrict x, uint16_t *restrict y, int64_t n)
{
#pragma omp simd
    for (int64_t i = 0; i < n; i++) {
        uint32_t bits = x[i], is_nan = (bits & 0x7FFFFFFFu) > 0x7F800000u;
        uint32_t rounded = bits + 0x7FFFu + (bits >> 16 & 1u), nan = bits | 0x400000u;
        y[i] = (uint16_t)((is_nan ? nan : rounded) >> 16);
    }
}

static int64_t block_at(int64_t lo, int64_t n)
{
    return n - lo < BLOCK ? n - lo : BLOCK;
}

static void widen(const void *from, void *to, int64_t n, int n_threads)
{
#pragma omp parallel for num_threads(n_threads) if (n > SERIAL) schedule(static)
    for (int64_t lo = 0; lo < n; lo += BLOCK)
        widen_block((const uint16_t *)from + lo, (word *)to + lo, block_at(lo, n));
}

static void narrow(const void *from, void *to, int64_t n, int n_threads)
{
#pragma omp parallel for num_threads(n_threads) if (n > SERIAL) schedule(static)
    for (int64_t lo = 0; lo < n; lo += BLOCK)
        narrow_block((const word *)from + lo, (uint16_t *)to + lo, block_at(lo, n));
}

/* -- the node in f32 --------------------------------------------------------------------------- */

static int64_t count_of(const pl_share *s, int o)
{
    return pl_shape_count(&s->shape[o]);
}

static bool is_bf16(const pl_node *n, int o)
{
    return pl_node_value(n, o)->type == PL_BF16;
}

static bool has_bf16(const pl_node *n)
{
    bool any = false;
    for (int o = 0; o < n->n_in + n->n_out; o++) any |= is_bf16(n, o);
    return any;
}

static bool may_widen(const pl_node *n, pl_err *why)
{
    const pl_op *op = n->op;
    const char *p = op->inplace ? op->inplace : "";
    if (op->view) return pl_err_set(why, PL_EUNSUPPORTED, "is a view");
    if (op->types && strchr(op->types, 'a'))
        return pl_err_set(why, PL_EUNSUPPORTED, "an attribute says its type");
    for (int i = 0; p[i] && i < n->n_out; i++)
        if (p[i] != '-' && is_bf16(n, p[i] - '0'))
            return pl_err_set(why, PL_EUNSUPPORTED, "operand %c is updated in place", p[i]);
    return true;
}

static void make_twin(const pl_share *s, twin *t)
{
    const pl_node *n = s->node;
    t->node = *n;
    for (int o = 0; o < n->n_in + n->n_out; o++) {
        t->value[o] = *pl_node_value(n, o);
        if (is_bf16(n, o)) t->value[o].type = PL_F32;
        *(o < n->n_in ? &t->node.in[o] : &t->node.out[o - n->n_in]) = &t->value[o];
    }
    t->share = *s;
    t->share.node = &t->node;
}

/* -- pieces ------------------------------------------------------------------------------------ */

/* An input whose copy serves output 0 too: an elementwise kernel may write over it. Or -1. */
static int find_shared(const pl_node *n)
{
    for (int i = 0; n->op->elementwise && is_bf16(n, n->n_in) && i < n->n_in; i++)
        if (is_bf16(n, i) && pl_share_same_index(n, i, n->n_in)) return i;
    return -1;
}

/* Bytes of the f32 copies that share s of node n, or of its twin, takes; of operands that have
 * factor f. */
static int64_t copies_bytes(const pl_node *n, const pl_share *s, int f)
{
    bool shares = find_shared(n) >= 0;
    int64_t bytes = 0;
    for (int o = 0; o < n->n_in + n->n_out; o++)
        if (is_bf16(n, o) && pl_share_touches(n, o, f) && !(shares && o == n->n_in))
            bytes += 4 * count_of(s, o);
    return bytes;
}

/* Is f the outermost factor of operand o that has more than one position. */
static bool is_outermost(const pl_share *s, int o, int f)
{
    const pl_operand *x = &s->node->sig->operand[o];
    const pl_shape *shape = &s->shape[o];
    for (int j = 0; j < x->rank; j++) {
        if (x->dim[j].window >= 0 && shape->dim[j] != 1) return false;
        for (int k = 0; k < x->dim[j].n; k++) {
            if (x->dim[j].factor[k] == f) return true;
            if (s->factor[x->dim[j].factor[k]].n != 1) return false;
        }
    }
    return false;
}

/* Do ranges of f give pieces that are whole results, dense in every operand. */
static bool gives_pieces(const pl_share *s, int f)
{
    const pl_node *n = s->node;
    if (s->factor[f].n < 2 || !pl_share_can_cut(n, f) || n->sig->factor[f].lookup) return false;
    for (int w = 0; w < n->sig->n_windows; w++)
        if (n->sig->window[w].position == f) return false;
    for (int o = 0; o < n->n_in + n->n_out; o++)
        if (pl_share_touches(n, o, f) ? !is_outermost(s, o, f) : o >= n->n_in) return false;
    return true;
}

static void add_piece(widened *w, const pl_share *s)
{
    const pl_share *all = &w->twin.share;
    const pl_node *n = all->node;
    int64_t size[PL_MAX_FACTORS] = { 0 }, stride[PL_MAX_FACTORS];
    piece p = { .share = *s };
    for (int f = 0; f < n->sig->n_factors; f++) size[f] = all->factor[f].n;
    for (int o = 0; o < n->n_in + n->n_out; o++) {
        const pl_shape *shape = &all->shape[o];
        pl_sig_strides(n->sig, &n->sig->operand[o], shape, size, stride);
        for (int f = 0; f < n->sig->n_factors; f++)
            p.start[o] += stride[f] * (s->factor[f].lo - all->factor[f].lo);
    }
    PL_PUSH(w->arena, &w->pieces, p);
}

/* Cut s until its copies fit, outermost factor first. One whose single positions still are too
 * large is out of the way of the next then. */
static void add_pieces(widened *w, const pl_node *n, const pl_share *s)
{
    int f = 0, n_factors = n->sig->n_factors;
    while (f < n_factors && !gives_pieces(s, f)) f++;
    int64_t bytes = f < n_factors ? copies_bytes(n, s, f) : 0;
    if (bytes <= PIECE_BYTES) {
        add_piece(w, s);
        return;
    }
    int64_t all = s->factor[f].n, pieces = (bytes + PIECE_BYTES - 1) / PIECE_BYTES;
    int64_t each = pieces < all ? (all + pieces - 1) / pieces : 1;
    for (int64_t lo = 0; lo < all; lo += each) {
        pl_share part = *s;
        pl_share_cut(&part, f, lo, all - lo < each ? all - lo : each);
        add_pieces(w, n, &part);
    }
}

static bool all_accepted(const widened *w, const pl_kernel_env *env)
{
    pl_err why = { 0 };
    for (int i = 0; w->kernel->accepts && i < w->pieces.n; i++)
        if (!w->kernel->accepts(&w->pieces.at[i].share, env, &why)) return false;
    return true;
}

/* What kernels inside may be of: the backends before this one. */
static pl_kernel_env env_before(const pl_kernel_env *env)
{
    pl_kernel_env before = *env;
    before.n_backends = 0;
    while (env->backends[before.n_backends] != &pl_backend_widen) before.n_backends++;
    return before;
}

/* -- the kernel -------------------------------------------------------------------------------- */

static int64_t reserve(int64_t *total, int64_t bytes)
{
    int64_t at = *total;
    *total += (bytes + ALIGN - 1) / ALIGN * ALIGN;
    return at;
}

/* Places in scratch: each copy has room for the largest piece of its operand. Returns the bytes. */
static int64_t place_copies(widened *w, const pl_node *n)
{
    int shared = find_shared(n);
    int64_t total = 0;
    for (int o = 0; o < n->n_in + n->n_out; o++) {
        int64_t most = 0;
        for (int i = 0; i < w->pieces.n; i++) {
            int64_t count = count_of(&w->pieces.at[i].share, o);
            if (count > most) most = count;
        }
        bool shares = o == n->n_in && shared >= 0;
        w->at[o] = !is_bf16(n, o) ? -1 : shares ? w->at[shared] : reserve(&total, 4 * most);
    }
    return total;
}

static void free_widened(void *state)
{
    widened *w = state;
    for (int i = 0; i < w->pieces.n; i++)
        if (w->pieces.at[i].state) w->kernel->free(w->pieces.at[i].state);
    pl_arena_free(w->arena);
}

static bool make_inside(widened *w, const pl_kernel_env *env, int64_t *scratch_bytes, pl_err *err)
{
    for (int i = 0; w->kernel->make && i < w->pieces.n; i++) {
        piece *p = &w->pieces.at[i];
        int64_t bytes = 0;
        PL_TRY(w->kernel->make(&p->share, env, &p->state, &bytes, err));
        if (bytes > *scratch_bytes) *scratch_bytes = bytes;
    }
    return true;
}

static bool make(const pl_share *s, const pl_kernel_env *env, void **state, int64_t *scratch_bytes,
                 pl_err *err)
{
    pl_arena *arena = pl_arena_new("a widened kernel");
    widened *w = PL_NEW(arena, widened);
    const pl_backend *backend;
    int64_t inside = 0;
    w->arena = arena;
    make_twin(s, &w->twin);
    const pl_kernel_env before = env_before(env);
    bool ok = pl_kernel_find(&w->twin.share, &before, arena, &backend, &w->kernel, NULL, err);
    if (ok) {
        add_pieces(w, s->node, &w->twin.share);
        if (!all_accepted(w, env)) {
            w->pieces.n = 0;
            add_piece(w, &w->twin.share);
        }
        w->inner_at = place_copies(w, s->node);
        ok = make_inside(w, env, &inside, err);
    }
    if (!ok) {
        free_widened(w);
        return false;
    }
    *scratch_bytes = w->inner_at + inside;
    *state = w;
    return true;
}

/* Widens what the piece before has not: an operand without a factor that was cut stays. */
static void run_piece(const widened *w, int i, const pl_share *s, const pl_kernel_env *env,
                      const void *const in[], void *const out[], char *scratch)
{
    const piece *p = &w->pieces.at[i];
    const pl_node *n = s->node;
    const void *x[PL_MAX_OPERANDS];
    void *y[PL_MAX_OPERANDS];
    for (int o = 0; o < n->n_in; o++) {
        const char *from = (const char *)in[o] + p->start[o] * pl_type_bytes(n->in[o]->type);
        x[o] = w->at[o] < 0 ? from : scratch + w->at[o];
        if (w->at[o] >= 0 && (i == 0 || p[-1].start[o] != p->start[o]))
            widen(from, scratch + w->at[o], count_of(&p->share, o), env->n_threads);
    }
    for (int k = 0; k < n->n_out; k++) {
        int o = n->n_in + k;
        char *to = (char *)out[k] + p->start[o] * pl_type_bytes(n->out[k]->type);
        y[k] = w->at[o] < 0 ? to : scratch + w->at[o];
    }
    w->kernel->run(&p->share, env, p->state, x, y, scratch + w->inner_at);
    for (int k = 0; k < n->n_out; k++) {
        int o = n->n_in + k;
        if (w->at[o] >= 0)
            narrow(y[k], (uint16_t *)out[k] + p->start[o], count_of(&p->share, o), env->n_threads);
    }
}

static void run(const pl_share *s, const pl_kernel_env *env, void *state, const void *const in[],
                void *const out[], void *scratch)
{
    const widened *w = state;
    for (int i = 0; i < w->pieces.n; i++) run_piece(w, i, s, env, in, out, scratch);
}

/* -- finding ----------------------------------------------------------------------------------- */

/* The kernel that a backend before this one has for s in f32. */
static bool find(const pl_share *s, const pl_kernel_env *env, pl_arena *arena,
                 const pl_backend **backend, const pl_kernel **kernel, pl_text *reasons)
{
    const pl_kernel_env before = env_before(env);
    pl_text more = { .arena = reasons ? reasons->arena : NULL };
    pl_err why = { 0 };
    twin t;
    if (!has_bf16(s->node) || !before.n_backends) return false;
    if (!may_widen(s->node, &why)) {
        if (reasons) pl_text_add(reasons, "in f32: %s\n", why.msg);
        return false;
    }
    make_twin(s, &t);
    bool ok =
        pl_kernel_find(&t.share, &before, arena, backend, kernel, reasons ? &more : NULL, &why);
    if (more.n) pl_text_add(reasons, "in f32:\n%s", pl_text_get(&more));
    if (!ok) return false;
    pl_kernel *k = PL_NEW(arena, pl_kernel);
    *k = (pl_kernel){ .name = pl_arena_fmt(arena, "%s bf16", (*kernel)->name),
                      .op = s->node->op,
                      .make = make,
                      .run = run,
                      .free = free_widened };
    *kernel = k;
    return true;
}

const pl_backend pl_backend_widen = {
    .name = "widen", .device = &pl_device_cpu, .about = "kernels of f32 for bf16", .find = find
};
