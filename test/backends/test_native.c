/* Every native kernel against its operator's reference: on the operator's own examples and on
 * larger shapes, on the whole node and on shares of it, with 1, 2 and 3 threads, and in place. */
#include "backends/native/native.h"

#include "backends/native/loops.h"
#include "base/rng.h"
#include "graph/walk.h"
#include "ops/lib/all.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../ops/shares.h"
#include "native_cases.h"
#include "support/operands.h"

enum { GUARD = 64, N_THREADS = 3 }; /* bytes around every array; most threads */

/* -- building a node --------------------------------------------------------------------------- */

typedef struct trial {
    pl_arena *arena;
    const pl_node *node;
    bool narrow; /* bf16 operands are f32 with bf16's numbers */
    uint64_t seed;
    void *whole[PL_MAX_OPERANDS]; /* inputs */
} trial;

/* The operand's elements. In steps of a quarter for gradients of maxima, so that windows and bags
 * have equal elements, and for a cast of large numbers, many of which then lie halfway between two
 * bf16. */
static void draw(const trial *t, int i, double lo, double hi)
{
    const pl_value *v = t->node->in[i];
    bool is_float = pl_type_is_float(v->type);
    const char *name = t->node->op->name;
    const bool max = !strcmp(name, "max_pool_grad") || !strcmp(name, "segment_max_grad"),
               stepped = (hi > 1000 ? !strcmp(name, "cast") : max) && !t->narrow;
    pl_rng r = pl_rng_at(t->seed, (uint64_t)i);
    if (lo == 0 && hi == 0) lo = is_float ? -1 : 0, hi = is_float ? 1 : 4;
    for (int64_t k = 0, n = pl_shape_count(&v->shape); k < n; k++) {
        double x = lo + (hi - lo) * pl_rng_uniform(r, (uint64_t)k);
        if (!is_float) x = floor(x);
        if (stepped) x = floor(4 * x) / 4;
        if (t->narrow) x = (double)pl_bf16_widen(pl_bf16_round((float)x));
        pl_type_put(v->type, t->whole[i], k, x);
    }
}

static trial new_trial(const char *op_name, const pl_example *x, bool narrow)
{
    trial t = { pl_arena_new("trial"), .narrow = narrow, .seed = pl_rng_name(op_name) };
    const pl_op *op = pl_ops_find(&pl_ops_all, op_name);
    pl_builder b = pl_builder_new(t.arena, &pl_ops_all, "test");
    pl_value *in[PL_MAX_OPERANDS];
    assert_non_null(op);
    int n_in = count_inputs(op, x);
    for (int i = 0; i < n_in; i++) {
        pl_type type = PL_F32;
        pl_shape shape = { .rank = x->in[i].rank };
        memcpy(shape.dim, x->in[i].dim, sizeof shape.dim);
        assert_true(!x->in[i].type || pl_type_find(x->in[i].type, &type));
        if (narrow && type == PL_BF16) type = PL_F32;
        in[i] = pl_add_input(&b, pl_builder_fmt(&b, "x%d", i), type, shape);
    }
    t.node = pl_add_node(&b, op, "node", x->spec, n_in, in);
    if (!t.node) fail_msg("%s", b.err.msg);
    for (int i = 0; i < n_in; i++) {
        t.whole[i] = pl_arena_get(t.arena, (size_t)pl_shape_count(&in[i]->shape) + 1, 8);
        draw(&t, i, x->in[i].lo, x->in[i].hi);
    }
    return t;
}

/* -- running ----------------------------------------------------------------------------------- */

static size_t operand_bytes(const pl_share *s, int o)
{
    const pl_node *n = s->node;
    pl_type type = o < n->n_in ? n->in[o]->type : n->out[o - n->n_in]->type;
    return (size_t)(pl_shape_count(&s->shape[o]) * pl_type_bytes(type));
}

/* An aligned array with a guard on both sides, all of it filled with 0xA5. */
static void *new_array(pl_arena *a, size_t bytes)
{
    char *p = pl_arena_get(a, bytes + 3 * GUARD, 1);
    p += GUARD - (uintptr_t)p % GUARD;
    memset(p, 0xA5, bytes + 2 * GUARD);
    return p + GUARD;
}

static void check_guards(const char *array, size_t bytes, const char *what)
{
    for (int i = 0; i < GUARD; i++)
        if ((unsigned char)array[-1 - i] != 0xA5 || (unsigned char)array[bytes + (size_t)i] != 0xA5)
            fail_msg("%s: wrote outside of its array", what);
}

typedef struct arrays {
    const void *in[PL_MAX_OPERANDS];
    void *out[PL_MAX_OPERANDS];
} arrays;

/* The share's parts of the inputs. Outputs of `inplace` are their inputs; output 0 is input `over`
 * too, unless that is -1. */
static arrays take(pl_arena *a, const trial *t, const pl_share *s, int over)
{
    const pl_node *n = s->node;
    const char *inplace = n->op->inplace ? n->op->inplace : "";
    arrays x = { 0 };
    for (int i = 0; i < n->n_in; i++) {
        void *part = new_array(a, operand_bytes(s, i));
        pl_share_take(s, i, t->whole[i], part);
        x.in[i] = part;
    }
    for (int i = 0; i < n->n_out; i++) {
        int from = i < (int)strlen(inplace) && inplace[i] != '-' ? inplace[i] - '0' : -1;
        if (i == 0 && over >= 0) from = over;
        x.out[i] =
            from >= 0 ? (void *)(uintptr_t)x.in[from] : new_array(a, operand_bytes(s, n->n_in + i));
    }
    return x;
}

static arrays run_native(pl_arena *a, const trial *t, const pl_share *s, const pl_kernel *k,
                         int over, int n_threads)
{
    pl_kernel_env env = { n_threads, PL_F32 };
    void *state = NULL, *scratch = NULL;
    int64_t bytes = 0;
    pl_err err = { 0 };
    arrays x = take(a, t, s, over);
    pl_kernel_thread(n_threads);
    if (k->make && !k->make(s, &env, &state, &bytes, &err)) fail_msg("%s", err.msg);
    scratch = new_array(a, (size_t)bytes);
    k->run(s, &env, state, x.in, x.out, scratch);
    check_guards(scratch, (size_t)bytes, k->name);
    for (int i = 0; i < s->node->n_out; i++)
        check_guards(x.out[i], operand_bytes(s, s->node->n_in + i), k->name);
    if (k->free) k->free(state);
    return x;
}

/* -- comparing --------------------------------------------------------------------------------- */

static void print_share(const trial *t, const pl_share *s, const char *how)
{
    print_error("%s '%s', seed %llu, %s; share:", t->node->op->name, t->node->spec,
                (unsigned long long)t->seed, how);
    for (int f = 0; f < t->node->sig->n_factors; f++)
        print_error(" %c=[%lld,%lld) of %lld", t->node->sig->factor[f].letter,
                    (long long)s->factor[f].lo, (long long)(s->factor[f].lo + s->factor[f].n),
                    (long long)t->node->sig->factor[f].size);
    print_error("\n");
}

/* Operators that move or cast numbers give the very same ones, dropout the same zeros. */
static void compare(const trial *t, const pl_share *s, const arrays *got, const arrays *want,
                    const char *how)
{
    const pl_node *n = t->node;
    bool exact = n->op->flops && n->op->flops(s) == 0, zeros = !strcmp(n->op->name, "dropout");
    for (int i = 0; i < n->n_out; i++) {
        pl_type type = n->out[i]->type;
        int64_t count = pl_shape_count(pl_share_out(s, i));
        double largest = 0, tolerance = exact || type != PL_F32 ? 0 : 1e-5;
        for (int64_t k = 0; k < count; k++)
            if (isfinite(pl_type_get(type, want->out[i], k)))
                largest = fmax(largest, fabs(pl_type_get(type, want->out[i], k)));
        for (int64_t k = 0; k < count; k++) {
            double a = pl_type_get(type, got->out[i], k), b = pl_type_get(type, want->out[i], k);
            const bool near = isinf(b) ? a == b : fabs(a - b) <= tolerance * (fabs(b) + largest);
            if (near && (!zeros || (a == 0) == (b == 0))) continue;
            print_share(t, s, how);
            fail_msg("output %d, element %lld of %lld: %.9g, the reference says %.9g", i,
                     (long long)k, (long long)count, a, b);
        }
    }
}

static void check_same_bits(const trial *t, const pl_share *s, const arrays *a, const arrays *b,
                            int n_threads)
{
    for (int i = 0; i < t->node->n_out; i++)
        if (memcmp(a->out[i], b->out[i], operand_bytes(s, t->node->n_in + i))) {
            print_share(t, s, "plain");
            fail_msg("output %d differs between 1 and %d threads", i, n_threads);
        }
}

/* Returns false when the kernel refuses the share. */
static bool check_share(const trial *t, const pl_share *s, const pl_kernel *k, pl_err *why)
{
    const pl_node *n = t->node;
    pl_kernel_env env = { N_THREADS, PL_F32 };
    if (k->accepts && !k->accepts(s, &env, why)) return false;
    pl_arena *a = pl_arena_new("share");
    arrays want = take(a, t, s, -1), first = run_native(a, t, s, k, -1, 1);
    n->op->ref(s, want.in, want.out);
    compare(t, s, &first, &want, "plain");
    for (int threads = 2; threads <= N_THREADS; threads++) {
        arrays more = run_native(a, t, s, k, -1, threads);
        check_same_bits(t, s, &first, &more, threads);
    }
    for (int i = 0; n->op->elementwise && i < n->n_in; i++) {
        if (n->in[i]->type != n->out[0]->type || !pl_share_same_index(n, i, n->n_in)) continue;
        arrays over = run_native(a, t, s, k, i, 2);
        compare(t, s, &over, &want, pl_arena_fmt(a, "output 0 over input %d", i));
    }
    pl_arena_free(a);
    return true;
}

/* A part of factor f that starts and ends inside of it where it is large enough. */
static void cut(pl_share *s, int f)
{
    int64_t n = s->factor[f].n, lo = n > 2 ? n / 3 : 1;
    pl_share_cut(s, f, lo, n > 2 ? n - lo - n / 4 : 1);
}

/* Every third of each factor, and each two in thirds and halves. */
static void check_parts(const trial *t, const pl_kernel *k, const pl_share *whole)
{
    const pl_node *n = t->node;
    pl_err why = { 0 };
    for (int f = 0; f < n->sig->n_factors; f++) {
        if (!pl_share_can_cut(n, f)) continue;
        for (int p = 0; p < 3; p++) {
            pl_share s = *whole;
            if (shares_cut(&s, f, 3, p)) check_share(t, &s, k, &why);
        }
        for (int g = f + 1; g < n->sig->n_factors; g++)
            for (int p = 0; p < 6; p++) {
                pl_share s = *whole;
                if (pl_share_can_cut(n, g) && shares_cut(&s, f, 3, p % 3) &&
                    shares_cut(&s, g, 2, p / 3))
                    check_share(t, &s, k, &why);
            }
    }
}

static pl_share cut_all(const pl_node *n)
{
    pl_share s = pl_share_whole(n);
    for (int f = 0; f < n->sig->n_factors; f++)
        if (pl_share_can_cut(n, f)) cut(&s, f);
    return s;
}

/* Each factor of the node cut. */
static void check_each(const trial *t, const pl_kernel *k)
{
    pl_share whole = pl_share_whole(t->node);
    pl_err why = { 0 };
    for (int f = 0; f < t->node->sig->n_factors; f++) {
        pl_share s = whole;
        if (!pl_share_can_cut(t->node, f)) continue;
        cut(&s, f);
        check_share(t, &s, k, &why);
    }
    check_parts(t, k, &whole);
}

/* The whole node, all factors cut at once, perhaps each of them. Then again with a factor written
 * as two, each in turn: shares that are no blocks of the whole. Returns how many were accepted. */
static int check_trial(const trial *t, const pl_kernel *k, bool each, pl_err *why)
{
    pl_share whole = pl_share_whole(t->node), all = cut_all(t->node);
    int n = check_share(t, &whole, k, why);
    if (!n) return 0;
    n += check_share(t, &all, k, why);
    if (each) check_each(t, k);
    for (int f = 0; f < t->node->sig->n_factors; f++) {
        trial composed = *t;
        pl_err refusal = { 0 };
        composed.node = shares_compose(t->arena, &pl_ops_all, t->node, f);
        if (!composed.node) continue;
        all = cut_all(composed.node);
        check_share(&composed, &all, k, &refusal);
        if (each) check_each(&composed, k);
    }
    return n;
}

static const pl_kernel *find_kernel(const char *op)
{
    for (int i = 0; i < pl_backend_native.n; i++)
        if (!strcmp(pl_backend_native.kernel[i].op->name, op)) return &pl_backend_native.kernel[i];
    return NULL;
}

/* -- tests ------------------------------------------------------------------------------------- */

/* An example that is refused is tried again with f32 for bf16. */
static bool check_example(const pl_kernel *k, const pl_example *x, pl_err *why)
{
    bool accepted = false;
    for (int narrow = 0; narrow < 2 && !accepted; narrow++) {
        trial t = new_trial(k->op->name, x, narrow);
        *why = (pl_err){ 0 };
        accepted = check_trial(&t, k, true, why) > 0;
        if (!accepted) assert_true(why->code == PL_EUNSUPPORTED && why->msg[0]);
        pl_arena_free(t.arena);
    }
    return accepted;
}

static void test_examples(void **unused)
{
    (void)unused;
    for (int i = 0; i < pl_backend_native.n; i++) {
        const pl_kernel *k = &pl_backend_native.kernel[i];
        int n_accepted = 0;
        pl_err why;
        for (const pl_example *x = k->op->examples; x->spec || x->in[0].rank || x->in[0].type; x++)
            n_accepted += check_example(k, x, &why);
        if (!n_accepted)
            fail_msg("native/%s takes none of its operator's examples: %s", k->name, why.msg);
    }
}

static void test_large(void **unused)
{
    (void)unused;
    for (size_t i = 0; i < sizeof large / sizeof *large; i++) {
        pl_err why = { 0 };
        const pl_kernel *k = find_kernel(large[i].op);
        if (!k) fail_msg("no kernel for %s", large[i].op);
        trial t = new_trial(large[i].op, &large[i].x, false);
        if (check_trial(&t, k, false, &why) < 2)
            fail_msg("native/%s refuses '%s': %s", k->name, t.node->spec, why.msg);
        pl_arena_free(t.arena);
    }
}

static void test_refused(void **unused)
{
    (void)unused;
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        pl_err why = { 0 };
        pl_kernel_env env = { 1, PL_F32 };
        const pl_kernel *k = find_kernel(refused[i].op);
        trial t = new_trial(refused[i].op, &refused[i].x, false);
        pl_share s = pl_share_whole(t.node);
        assert_non_null(k);
        if (k->accepts(&s, &env, &why)) fail_msg("native/%s accepts '%s'", k->name, t.node->spec);
        if (!strstr(why.msg, refused[i].reason))
            fail_msg("native/%s '%s': the reason '%s' does not say '%s'", k->name, t.node->spec,
                     why.msg, refused[i].reason);
        pl_arena_free(t.arena);
    }
}

/* Names are unique, every kernel's operator is known; prints the operators that are left to
 * others. */
static void test_list(void **unused)
{
    (void)unused;
    for (int i = 0; i < pl_backend_native.n; i++) {
        const pl_kernel *k = &pl_backend_native.kernel[i];
        assert_ptr_equal(pl_ops_find(&pl_ops_all, k->op->name), k->op);
        for (int j = 0; j < i; j++)
            assert_string_not_equal(k->name, pl_backend_native.kernel[j].name);
        if (!find_kernel(k->op->name)->run) fail_msg("native/%s does not run", k->name);
    }
    print_message("no native kernel:");
    for (int i = 0; i < pl_ops_all.n; i++)
        if (!find_kernel(pl_ops_all.at[i]->name)) print_message(" %s", pl_ops_all.at[i]->name);
    print_message("\n");
}

/* How many loops are left, and the size of the last. */
static void test_loops(void **unused)
{
    static const struct {
        const char *op;
        pl_example x;
        int n;
        int64_t last;
    } rows[] = {
        { "add", { NULL, .in = { T(4, 5, 6), T(4, 5, 6) } }, 1, 120 },
        { "add", { "...n,n->...n", .in = { T(4, 5, 6), V(6) } }, 2, 6 },
        { "add", { "...,->...", .in = { T(4, 5, 6), SCALAR(0) } }, 1, 120 },
        { "mul", { "nchw,c->nchw", .in = { Q(2, 3, 4, 5), V(3) } }, 3, 20 },
        { "mul", { "a(hd),ah->a(hd); h=2", .in = { M(3, 8), M(3, 2) } }, 2, 4 },
        { "mul", { "abc,b->abc", .in = { T(4, 1, 6), V(1) } }, 1, 24 },
        { "transpose", { "abcd->cdab", .in = { Q(2, 3, 4, 5) } }, 2, 6 },
        { "relu", { NULL, .in = { T(1, 1, 1) } }, 1, 1 },
    };
    (void)unused;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        trial t = new_trial(rows[i].op, &rows[i].x, false);
        pl_share s = pl_share_whole(t.node);
        pl_loops l = pl_loops_make(&s, pl_walk_mask(t.node, t.node->n_in), t.node->n_in);
        assert_int_equal(l.n, rows[i].n);
        assert_int_equal(l.size[l.n - 1], rows[i].last);
        assert_int_equal(pl_loops_count(&l, 0, l.n), pl_shape_count(pl_share_out(&s, 0)));
        pl_arena_free(t.arena);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_loops),   cmocka_unit_test(test_list),
        cmocka_unit_test(test_refused), cmocka_unit_test(test_examples),
        cmocka_unit_test(test_large),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
