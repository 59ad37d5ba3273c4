/* Kernels of f32 that serve bf16: against the reference, against the f32 kernel whose results are
 * rounded, on shares, in pieces, in place; what is refused; errors of the kernel inside. */
#include "backends/widen/widen.h"

#include "backends/host/host.h"
#include "backends/native/native.h"
#include "backends/ref/ref.h"
#include "base/rng.h"
#include "ops/lib/all.h"
#include "ops/list.h"
#include "run/exec.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../ops/shares.h"
#include "support/operands.h"

static const pl_backend *const backends[] = { &pl_backend_native, &pl_backend_widen,
                                              &pl_backend_ref };

static pl_kernel_env env_of(int n_threads)
{
    return (pl_kernel_env){ .n_threads = n_threads, .n_backends = 3, .backends = backends };
}

/* -- a node in bf16, and the same in f32 ------------------------------------------------------- */

typedef struct trial {
    pl_arena *arena;
    const pl_node *node, *wide; /* inputs of the same numbers */
    void *whole[PL_MAX_OPERANDS], *whole_wide[PL_MAX_OPERANDS];
    uint64_t seed;
} trial;

/* What pl_op.types says of an input. */
static char letter_of(const pl_op *op, int input)
{
    char letters[2 * PL_MAX_OPERANDS + 1];
    int n = 0;
    for (const char *p = op->types ? op->types : "f"; *p; p++)
        if (!strchr(",->", *p)) letters[n++] = *p;
    return letters[n == 1 ? 0 : input];
}

static void draw(trial *t, int i, double lo, double hi)
{
    const pl_value *v = t->node->in[i], *w = t->wide->in[i];
    bool is_float = pl_type_is_float(v->type);
    pl_rng r = pl_rng_at(t->seed, (uint64_t)i);
    int64_t n = pl_shape_count(&v->shape);
    t->whole[i] = pl_arena_get(t->arena, (size_t)n + 1, 8);
    t->whole_wide[i] = pl_arena_get(t->arena, (size_t)n + 1, 8);
    if (lo == 0 && hi == 0) lo = is_float ? -1 : 0, hi = is_float ? 1 : 4;
    for (int64_t k = 0; k < n; k++) {
        double x = lo + (hi - lo) * pl_rng_uniform(r, (uint64_t)k);
        pl_type_put(v->type, t->whole[i], k, is_float ? x : floor(x));
        pl_type_put(w->type, t->whole_wide[i], k, pl_type_get(v->type, t->whole[i], k));
    }
}

static const pl_node *add_node(pl_builder *b, const pl_op *op, const char *spec, int n_in,
                               const pl_type type[], const pl_shape shape[])
{
    pl_value *in[PL_MAX_OPERANDS];
    for (int i = 0; i < n_in; i++)
        in[i] = pl_add_input(b, pl_builder_fmt(b, "%s%d", b->scope ? b->scope : "x", i), type[i],
                             shape[i]);
    const pl_node *n = pl_add_node(b, op, NULL, spec, n_in, in);
    if (!n) fail_msg("%s '%s': %s", op->name, spec ? spec : op->sig, b->err.msg);
    return n;
}

/* Floats of the example become bf16, but those that are f32 by the operator's word. */
static trial new_trial(const pl_op *op, const pl_example *x)
{
    trial t = { pl_arena_new("trial"), .seed = pl_rng_name(op->name) };
    pl_builder b = pl_builder_new(t.arena, &pl_ops_all, "test");
    pl_type type[PL_MAX_OPERANDS] = { 0 }, wide[PL_MAX_OPERANDS] = { 0 };
    pl_shape shape[PL_MAX_OPERANDS] = { 0 };
    int n = count_inputs(op, x);
    for (int i = 0; i < n; i++) {
        type[i] = PL_F32;
        assert_true(!x->in[i].type || pl_type_find(x->in[i].type, &type[i]));
        wide[i] = type[i] == PL_BF16 ? PL_F32 : type[i];
        if (type[i] == PL_F32 && letter_of(op, i) != 'F') type[i] = PL_BF16;
        shape[i].rank = x->in[i].rank;
        memcpy(shape[i].dim, x->in[i].dim, sizeof shape[i].dim);
    }
    t.node = add_node(&b, op, x->spec, n, type, shape);
    b.scope = "wide";
    t.wide = add_node(&b, op, x->spec, n, wide, shape);
    for (int i = 0; i < n; i++) draw(&t, i, x->in[i].lo, x->in[i].hi);
    return t;
}

/* The share of `wide` with the ranges of s. */
static pl_share share_like(const pl_share *s, const pl_node *wide)
{
    pl_share w = pl_share_whole(wide);
    for (int f = 0; f < wide->sig->n_factors; f++)
        if (s->factor[f].n != w.factor[f].n) pl_share_cut(&w, f, s->factor[f].lo, s->factor[f].n);
    return w;
}

static const pl_value *value_of(const pl_node *n, int o)
{
    return o < n->n_in ? n->in[o] : n->out[o - n->n_in];
}

static int64_t count_of(const pl_share *s, int o)
{
    return pl_shape_count(&s->shape[o]);
}

static size_t bytes_of(const pl_share *s, int o)
{
    return (size_t)(count_of(s, o) * pl_type_bytes(value_of(s->node, o)->type));
}

/* -- running ----------------------------------------------------------------------------------- */

/* Of exact size, so that a sanitizer sees what is read or written beyond, and with numbers in it
 * that are seen when they are not written over. */
static void *new_array(size_t bytes)
{
    void *p = NULL;
    assert_int_equal(posix_memalign(&p, 64, bytes ? bytes : 1), 0);
    memset(p, 0xA5, bytes);
    return p;
}

typedef struct arrays {
    const void *in[PL_MAX_OPERANDS];
    void *out[PL_MAX_OPERANDS];
} arrays;

/* Output 0 is input `over` too, unless that is -1. */
static arrays take(const pl_share *s, void *const whole[], int over)
{
    arrays x = { 0 };
    for (int i = 0; i < s->node->n_in; i++) {
        void *part = new_array(bytes_of(s, i));
        pl_share_take(s, i, whole[i], part);
        x.in[i] = part;
    }
    for (int i = 0; i < s->node->n_out; i++)
        x.out[i] = i == 0 && over >= 0 ? (void *)(uintptr_t)x.in[over]
                                       : new_array(bytes_of(s, s->node->n_in + i));
    return x;
}

static void drop(const pl_share *s, arrays *x)
{
    for (int i = 0; i < s->node->n_out; i++) {
        bool own = true;
        for (int k = 0; k < s->node->n_in; k++) own &= x->out[i] != x->in[k];
        if (own) free(x->out[i]);
    }
    for (int i = 0; i < s->node->n_in; i++) free((void *)(uintptr_t)x->in[i]);
}

/* Returns the bytes of scratch. */
static int64_t run_kernel(const pl_share *s, const pl_kernel *k, const pl_kernel_env *env,
                          const arrays *x)
{
    void *state = NULL;
    int64_t bytes = 0;
    pl_err err = { 0 };
    pl_kernel_thread(env->n_threads);
    if (k->make && !k->make(s, env, &state, &bytes, &err)) fail_msg("%s: %s", k->name, err.msg);
    void *scratch = new_array((size_t)bytes);
    k->run(s, env, state, x->in, x->out, scratch);
    if (state) k->free(state);
    free(scratch);
    return bytes;
}

/* -- comparing --------------------------------------------------------------------------------- */

static void print_share(const pl_share *s, const char *how)
{
    print_error("%s '%s', %s; share:", s->node->op->name, s->node->spec, how);
    for (int f = 0; f < s->node->sig->n_factors; f++)
        print_error(" %c=[%lld,%lld)", s->node->sig->factor[f].letter, (long long)s->factor[f].lo,
                    (long long)(s->factor[f].lo + s->factor[f].n));
    print_error("\n");
}

/* One rounding to bf16 apart, where f32 differs in its last digits: 2^-7 of the number. */
static void check_close(const pl_share *s, const arrays *got, const arrays *want)
{
    const pl_node *n = s->node;
    for (int i = 0; i < n->n_out; i++) {
        pl_type type = n->out[i]->type;
        double largest = 0, by = type == PL_BF16 ? 1.0 / 128 : 1e-5;
        int64_t count = pl_shape_count(pl_share_out(s, i));
        for (int64_t k = 0; k < count; k++) {
            const double x = fabs(pl_type_get(type, want->out[i], k));
            if (isfinite(x)) largest = fmax(largest, x); /* -inf: the maximum of no rows */
        }
        for (int64_t k = 0; k < count; k++) {
            double a = pl_type_get(type, got->out[i], k), b = pl_type_get(type, want->out[i], k);
            if (a == b || fabs(a - b) <= by * fabs(b) + 1e-5 * largest) continue;
            print_share(s, "against ref");
            fail_msg("output %d, element %lld: %.9g, the reference says %.9g", i, (long long)k, a,
                     b);
        }
    }
}

/* `wide` are results in f32; those in bf16 are these, rounded. */
static void check_rounded(const pl_share *s, const arrays *got, const arrays *wide, const char *how)
{
    const pl_node *n = s->node;
    for (int i = 0; i < n->n_out; i++)
        for (int64_t k = 0; k < pl_shape_count(pl_share_out(s, i)); k++) {
            const float *from = (const float *)wide->out[i] + k;
            bool same = true;
            if (n->out[i]->type == PL_BF16)
                same = ((const uint16_t *)got->out[i])[k] == pl_bf16_round(*from);
            else if (n->out[i]->type == PL_F32)
                same = !memcmp((const float *)got->out[i] + k, from, sizeof *from);
            if (same) continue;
            print_share(s, how);
            fail_msg("output %d, element %lld: %.9g, the kernel of f32 says %.9g", i, (long long)k,
                     pl_type_get(n->out[i]->type, got->out[i], k), (double)*from);
        }
}

typedef struct found {
    const pl_backend *backend;
    const pl_kernel *kernel;
    const char *reasons;
} found;

static found find(const pl_share *s, const pl_kernel_env *env, pl_arena *arena)
{
    pl_text reasons = { .arena = arena };
    pl_err err = { 0 };
    found x;
    if (!pl_kernel_find(s, env, arena, &x.backend, &x.kernel, &reasons, &err))
        fail_msg("%s", err.msg);
    x.reasons = pl_text_get(&reasons);
    return x;
}

static bool takes(const pl_share *s, const pl_kernel **k)
{
    const pl_kernel_env env = { .n_threads = 1, .n_backends = 1, .backends = backends };
    const pl_backend *backend;
    pl_err err = { 0 };
    return pl_kernel_find(s, &env, NULL, &backend, k, NULL, &err);
}

/* Who runs the share: native where it takes bf16; a wrapper named after the kernel that native has
 * for f32; else ref. Returns whether it is a wrapper. */
static bool check_found(const pl_share *s, const pl_share *wide, const found *x)
{
    const pl_kernel *plain, *inside;
    bool has_plain = takes(s, &plain), has_inside = takes(wide, &inside);
    bool by_attribute = s->node->op->types && strchr(s->node->op->types, 'a');
    if (has_plain) {
        assert_ptr_equal(x->kernel, plain);
    } else if (has_inside && !s->node->op->view && !by_attribute) {
        char name[64];
        snprintf(name, sizeof name, "%s bf16", inside->name);
        assert_string_equal(x->kernel->name, name);
        assert_ptr_equal(x->backend, &pl_backend_native);
        return true;
    } else {
        assert_ptr_equal(x->backend, &pl_backend_ref);
    }
    return false;
}

/* -- shares ------------------------------------------------------------------------------------ */

/* Results of the wrapper and of all that should give the same; returns the bytes of its scratch, -1
 * when the share has no wrapper. */
static int64_t check_share(const trial *t, const pl_share *s, bool against_ref)
{
    const pl_node *n = s->node;
    pl_arena *arena = pl_arena_new("share");
    const pl_kernel_env one = env_of(1), two = env_of(2);
    pl_share w = share_like(s, t->wide);
    found x = find(s, &one, arena);
    const pl_kernel *inside;
    int64_t bytes = -1;
    if (check_found(s, &w, &x) && takes(&w, &inside)) {
        arrays want = take(s, t->whole, -1), got = take(s, t->whole, -1);
        arrays wide = take(&w, t->whole_wide, -1), more = take(s, t->whole, -1);
        bytes = run_kernel(s, x.kernel, &one, &got);
        run_kernel(s, x.kernel, &two, &more);
        run_kernel(&w, inside, &one, &wide);
        check_rounded(s, &got, &wide, "one thread");
        check_rounded(s, &more, &wide, "two threads");
        if (against_ref) n->op->ref(s, want.in, want.out);
        if (against_ref) check_close(s, &got, &want);
        for (int i = 0; n->op->elementwise && i < n->n_in; i++) {
            if (n->in[i]->type != n->out[0]->type || !pl_share_same_index(n, i, n->n_in)) continue;
            arrays over = take(s, t->whole, i);
            run_kernel(s, x.kernel, &two, &over);
            check_rounded(s, &over, &wide, "output 0 over an input");
            drop(s, &over);
        }
        drop(s, &want), drop(s, &got), drop(s, &more), drop(&w, &wide);
    }
    pl_arena_free(arena);
    return bytes;
}

/* The whole, and thirds of each factor together with halves of each other one. */
static int check_shares(const trial *t)
{
    const pl_node *n = t->node;
    pl_share whole = pl_share_whole(n);
    int runs = check_share(t, &whole, true) >= 0;
    for (int f = 0; f < n->sig->n_factors; f++) {
        for (int p = 0; pl_share_can_cut(n, f) && p < 3; p++) {
            pl_share s = whole;
            if (!shares_cut(&s, f, 3, p)) continue;
            runs += check_share(t, &s, true) >= 0;
            for (int g = f + 1; g < n->sig->n_factors; g++) {
                pl_share both = s;
                if (pl_share_can_cut(n, g) && shares_cut(&both, g, 2, p % 2))
                    runs += check_share(t, &both, true) >= 0;
            }
        }
    }
    return runs;
}

static void test_examples(void **unused)
{
    int n_ops = 0;
    (void)unused;
    for (int i = 0; i < pl_ops_all.n; i++) {
        const pl_op *op = pl_ops_all.at[i];
        int runs = 0;
        for (const pl_example *x = op->examples; x->spec || x->in[0].rank || x->in[0].type; x++) {
            trial t = new_trial(op, x);
            runs += check_shares(&t);
            pl_arena_free(t.arena);
        }
        n_ops += runs > 0;
    }
    print_message("%d of %d operators run widened\n", n_ops, pl_ops_all.n);
    assert_true(n_ops >= 30);
}

/* -- pieces ------------------------------------------------------------------------------------ */

enum { PIECE = 2 << 20 }; /* PIECE_BYTES of widen.c */

/* Shares whose copies are larger than a piece; with the bytes of scratch that they may take. */
static void test_pieces(void **unused)
{
    static const struct {
        const char *op;
        pl_example x;
        int64_t least, most;
    } rows[] = {
        /* in and out share a copy */
        { "gelu", { NULL, .in = { { 2, { 700, 2049 } } } }, PIECE / 2, PIECE },
        { "gelu", { NULL, .in = { { 1, { 700 * 2049 } } } }, PIECE / 2, PIECE },
        { "gelu_grad", { NULL, .in = { { 2, { 700, 1025 } }, { 2, { 700, 1025 } } } }, 1, PIECE },
        /* the operand without the rows is widened once */
        { "add",
          { "...n,n->...n", .in = { { 3, { 7, 101, 1001 } }, { 1, { 1001 } } } },
          1,
          PIECE + 4160 },
        /* a is cut to single positions, then b: the second input is widened for each a */
        { "mul",
          { "abc,bc->abc", .in = { { 3, { 2, 700, 1025 } }, { 2, { 700, 1025 } } } },
          1,
          PIECE },
        /* a is cut, c cannot be: the input without a stays whole */
        { "mul",
          { "abc,cb->abc", .in = { { 3, { 3, 700, 513 } }, { 2, { 513, 700 } } } },
          4 * 2 * 700 * 513,
          8 * 700 * 513 + 128 },
        { "mul",
          { "a(hd),ah->a(hd); h=12", .in = { { 2, { 1021, 960 } }, { 2, { 1021, 12 } } } },
          1,
          PIECE },
        { "softmax",
          { "; scale=0.125 causal=1", .in = { { 4, { 3, 2, 401, 401 }, .lo = -9, .hi = 9 } } },
          1,
          PIECE },
        { "dropout",
          { "; p=0.3", .in = { { 3, { 5, 301, 509 } }, { 0, { 0 }, "i64", 1, 9 } } },
          1,
          PIECE },
        { "reduce_sum", { "ab->a", .in = { { 2, { 1301, 509 } } } }, 1, PIECE + 64 },
        { "layer_norm_sum", { NULL, .in = { { 3, { 3, 401, 509 } } } }, 1, PIECE },
        /* nothing to cut: sums over the rows, an output in another order, a table */
        { "reduce_sum",
          { "ab->b", .in = { { 2, { 1301, 509 } } } },
          4 * 1301 * 509,
          8 * 1301 * 509 },
        { "embedding_grad",
          { "; v=301", .in = { { 2, { 11, 31 }, "i64", -1, 303 }, { 3, { 11, 31, 2049 } } } },
          4 * (341 + 301) * 2049,
          8 * 341 * 2049 },
    };
    (void)unused;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        trial t = new_trial(pl_ops_find(&pl_ops_all, rows[i].op), &rows[i].x);
        pl_share s = pl_share_whole(t.node);
        int64_t bytes = check_share(&t, &s, false);
        if (bytes < rows[i].least || bytes > rows[i].most)
            fail_msg("%s '%s': %lld bytes of scratch, not within %lld .. %lld", rows[i].op,
                     t.node->spec, (long long)bytes, (long long)rows[i].least,
                     (long long)rows[i].most);
        pl_arena_free(t.arena);
    }
}

/* -- a kernel of f32 for every operator -------------------------------------------------------- */

enum { OWN_SCRATCH = 96 };

static struct {
    int made, freed, fails_at; /* makes so far; the one that fails */
    bool whole_only;
} inside;

static bool inside_accepts(const pl_share *s, const pl_kernel_env *env, pl_err *why)
{
    const pl_node *n = s->node;
    (void)env;
    for (int o = 0; o < n->n_in + n->n_out; o++)
        if (value_of(n, o)->type == PL_BF16)
            return pl_err_set(why, PL_EUNSUPPORTED, "no bf16 here");
    return !inside.whole_only || s->factor[0].n == n->sig->factor[0].size ||
           pl_err_set(why, PL_EUNSUPPORTED, "a part");
}

static bool inside_make(const pl_share *s, const pl_kernel_env *env, void **state,
                        int64_t *scratch_bytes, pl_err *err)
{
    (void)s, (void)env;
    if (inside.made == inside.fails_at) return pl_err_set(err, PL_ERUN, "no more of these");
    inside.made++;
    *state = malloc(1);
    *scratch_bytes = OWN_SCRATCH;
    return true;
}

static void inside_run(const pl_share *s, const pl_kernel_env *env, void *state,
                       const void *const in[], void *const out[], void *scratch)
{
    (void)env;
    assert_non_null(state);
    assert_int_equal((uintptr_t)scratch % 64, 0);
    memset(scratch, 0xFF, OWN_SCRATCH); /* NaN, should anything else lie there */
    s->node->op->ref(s, in, out);
}

static void inside_free(void *state)
{
    inside.freed++;
    free(state);
}

static const pl_kernel any_kernel = { .name = "any",
                                      .accepts = inside_accepts,
                                      .make = inside_make,
                                      .run = inside_run,
                                      .free = inside_free };
static const pl_backend any_backend = { .name = "any", .n = 1, .kernel = &any_kernel };
static const pl_backend *const any_and_ref[] = { &any_backend, &pl_backend_widen, &pl_backend_ref };

static pl_kernel_env any_env(int fails_at, bool whole_only)
{
    inside.made = inside.freed = 0;
    inside.fails_at = fails_at;
    inside.whole_only = whole_only;
    return (pl_kernel_env){ .n_threads = 1, .n_backends = 3, .backends = any_and_ref };
}

static void test_refused(void **unused)
{
    pl_op over = pl_op_accumulate; /* as no operator is: in place of any float */
    over.types = "t";
    const struct {
        const pl_op *op;
        pl_example x;
        const char *reason;
    } rows[] = {
        { &pl_op_reshape, { "(bs)h->bsh; b=4", .in = { { 2, { 8, 3 } } } }, "a view" },
        { &pl_op_cast, { "; to=i32", .in = { { 2, { 8, 3 } } } }, "an attribute says" },
        { &pl_op_fill, { "->b; b=3 value=2 to=bf16", .in = { { 0 } } }, "an attribute says" },
        { &over, { NULL, .in = { { 1, { 8 } }, { 1, { 8 } } } }, "operand 0 is updated in place" },
    };
    (void)unused;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        trial t = new_trial(rows[i].op, &rows[i].x);
        pl_share s = pl_share_whole(t.node);
        const pl_kernel_env env = any_env(-1, false);
        found x = find(&s, &env, t.arena);
        assert_ptr_equal(x.backend, &pl_backend_ref);
        if (!strstr(x.reasons, rows[i].reason))
            fail_msg("%s: '%s' does not say '%s'", rows[i].op->name, x.reasons, rows[i].reason);
        pl_arena_free(t.arena);
    }
}

/* No earlier backend, no wrapper; and nobody at all is an error. */
static void test_backends(void **unused)
{
    static const pl_backend *const only[] = { &pl_backend_widen, &pl_backend_ref };
    static const pl_backend *const none[] = { &any_backend };
    static const pl_example x = { NULL, .in = { { 1, { 8 } } } };
    trial t = new_trial(&pl_op_gelu, &x);
    pl_share s = pl_share_whole(t.node);
    pl_kernel_env env = { .n_threads = 1, .n_backends = 2, .backends = only };
    pl_err err = { 0 };
    found f = find(&s, &env, t.arena);
    (void)unused;
    assert_ptr_equal(f.kernel, pl_backend_ref.kernel);
    env.backends = none, env.n_backends = 1;
    assert_false(pl_kernel_find(&s, &env, t.arena, &f.backend, &f.kernel, NULL, &err));
    assert_int_equal(err.code, PL_EUNSUPPORTED);
    pl_arena_free(t.arena);
}

/* Every piece has its own state; all are freed, also when one of them cannot be made. */
static void test_states(void **unused)
{
    static const pl_example x = { NULL, .in = { { 2, { 7, 300000 } } } };
    trial t = new_trial(&pl_op_relu, &x);
    pl_share s = pl_share_whole(t.node);
    const int64_t all = 4 * 7 * 300000;
    (void)unused;
    for (int whole = 0; whole < 2; whole++) {
        const pl_kernel_env env = any_env(-1, whole);
        found f = find(&s, &env, t.arena);
        arrays got = take(&s, t.whole, -1), want = take(&s, t.whole, -1);
        int64_t bytes = run_kernel(&s, f.kernel, &env, &got);
        assert_int_equal(bytes >= all + OWN_SCRATCH, whole);
        assert_int_equal(inside.made > 4, !whole);
        assert_int_equal(inside.made, inside.freed);
        pl_op_relu.ref(&s, want.in, want.out);
        assert_memory_equal(got.out[0], want.out[0], bytes_of(&s, 1));
        drop(&s, &got), drop(&s, &want);
    }
    for (int at = 0; at < 4; at++) {
        const pl_kernel_env env = any_env(at, false);
        found f = find(&s, &env, t.arena);
        pl_err err = { 0 };
        void *state = NULL;
        int64_t bytes = 0;
        assert_false(f.kernel->make(&s, &env, &state, &bytes, &err));
        assert_null(state);
        assert_string_equal(err.msg, "no more of these");
        assert_int_equal(inside.made, at);
        assert_int_equal(inside.freed, at);
    }
    pl_arena_free(t.arena);
}

/* Operands of f32 that are updated in place are handed through; only the gradient is bf16. In two
 * pieces. */
static void test_inplace(void **unused)
{
    static const pl_example x = { "; momentum=0.9 decay=0.1", .in = { { 2, { 900, 701 } },
                                                                      { 2, { 900, 701 }, "bf16" },
                                                                      { 2, { 900, 701 } },
                                                                      { 0, { 0 } },
                                                                      { 0, { 0 } } } };
    trial t = new_trial(&pl_op_sgd, &x);
    pl_share s = pl_share_whole(t.node);
    const pl_kernel_env env = any_env(-1, false);
    found f = find(&s, &env, t.arena);
    arrays a[2];
    (void)unused;
    assert_string_equal(f.kernel->name, "any bf16");
    for (int k = 0; k < 2; k++) {
        a[k] = take(&s, t.whole, 0);
        free(a[k].out[1]);
        a[k].out[1] = (void *)(uintptr_t)a[k].in[2];
    }
    run_kernel(&s, f.kernel, &env, &a[0]);
    assert_int_equal(inside.made, 2);
    pl_op_sgd.ref(&s, a[1].in, a[1].out);
    for (int k = 0; k < 2; k++)
        assert_memory_equal(a[0].out[k], a[1].out[k], bytes_of(&s, s.node->n_in + k));
    drop(&s, &a[0]), drop(&s, &a[1]);
    pl_arena_free(t.arena);
}

/* -- the executor ------------------------------------------------------------------------------ */

enum { ROWS = 613, COLUMNS = 1021 };

static pl_graph *make_graph(pl_arena *arena)
{
    pl_builder b = pl_builder_new(arena, &pl_ops_all, "bf16");
    pl_graph *g = NULL;
    pl_err err = { 0 };
    pl_value *x = pl_add_input(&b, "x", PL_F32, PL_SHAPE(ROWS, COLUMNS));
    pl_value *h = PL_ADD(&b, &pl_op_cast, "; to=bf16", x);
    pl_value *y = PL_ADD(&b, &pl_op_gelu, NULL, h);
    pl_value *z =
        PL_ADD(&b, &pl_op_add, "...,...->...", PL_ADD(&b, &pl_op_scale, "; value=3", y), h);
    pl_add_output(&b, "y", PL_ADD(&b, &pl_op_cast, "; to=f32", z));
    if (!pl_builder_done(&b, &g, &err)) fail_msg("%s", err.msg);
    return g;
}

/* One step of the graph; `text` takes what ran. */
static float *run_graph(const pl_graph *g, int n, const pl_backend *const list[], pl_arena *arena,
                        pl_text *text)
{
    const pl_exec_options options = {
        .n_backends = n, .backends = list, .env = { .n_threads = 2 }, .poison = true
    };
    const pl_lower_options lower = { 0 };
    pl_plan *plan = pl_plan_single(g, arena);
    pl_store *store = pl_store_new(plan, 0, arena);
    pl_program *p;
    pl_exec *e;
    pl_err err = { 0 };
    if (!pl_program_lower(plan, 0, store, &lower, arena, &p, &err)) fail_msg("%s", err.msg);
    const pl_program *programs[] = { p };
    if (!pl_exec_new(&options, NULL, 1, programs, arena, &e, &err)) fail_msg("%s", err.msg);
    float *x = pl_exec_map(e, &p->input[0], PL_WRITE), *y = PL_NEW_N(arena, float, ROWS *COLUMNS);
    pl_rng r = pl_rng_at(7, 0);
    for (int i = 0; i < ROWS * COLUMNS; i++) x[i] = (float)(6 * pl_rng_uniform(r, (uint64_t)i) - 3);
    pl_exec_unmap(e, &p->input[0], PL_WRITE, x);
    if (!pl_exec_step(e, 0, &err)) fail_msg("%s", err.msg);
    pl_exec_get(e, &p->output[0], y, ROWS * COLUMNS * sizeof *y);
    pl_exec_explain(e, 0, text);
    pl_exec_profile(e, 0, text);
    pl_exec_free(e);
    return y;
}

/* The executor lays elementwise outputs over their inputs; it says which kernel ran. */
static void test_executor(void **unused)
{
    pl_arena *arena = pl_arena_new("executor");
    const pl_graph *g = make_graph(arena);
    pl_text text = { .arena = arena }, slow = { .arena = arena };
    float *y = run_graph(g, 3, backends, arena, &text);
    float *z = run_graph(g, 1, backends + 2, arena, &slow);
    (void)unused;
    for (int i = 0; i < ROWS * COLUMNS; i++) /* the sum cancels, its summands are below 16 */
        if (!(fabsf(y[i] - z[i]) <= 0.125f)) fail_msg("%d: %.9g, not %.9g", i, y[i], z[i]);
    assert_non_null(strstr(pl_text_get(&text), "gelu: native/gelu bf16\n"));
    assert_non_null(strstr(pl_text_get(&text), "add: native/add bf16\n"));
    assert_non_null(strstr(pl_text_get(&text), " gelu bf16  "));
    assert_null(strstr(pl_text_get(&slow), "bf16\n"));
    pl_arena_free(arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_examples), cmocka_unit_test(test_pieces),
        cmocka_unit_test(test_refused),  cmocka_unit_test(test_backends),
        cmocka_unit_test(test_states),   cmocka_unit_test(test_inplace),
        cmocka_unit_test(test_executor),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
