/* Signatures: parsing, sizes, every error text; shares: the regions that a cut reads and writes.
 * Regions of shift_two and conv1d: Wang, Huang, Li, Tofu, EuroSys 2019, section 4. */
#include "base/rng.h"
#include "graph/walk.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

typedef struct sig_case {
    const char *text;
    int n_in;
    pl_shape in[3];
    const char *sizes; /* "h=2 d=3"                                                         */
    int64_t window[4]; /* stride, dilation, pad on both sides, extent in an output; 0: unset */
    const char *want;  /* shapes of the outputs "[2,3] []", or part of an error             */
} sig_case;

/* Sizes and windows as the attributes of a node would set them. */
static void set_sizes(const sig_case *c, pl_sig *sig)
{
    for (const char *at = c->sizes ? c->sizes : ""; *at; at += strcspn(at, " "), at += *at == ' ') {
        int f = pl_sig_find(sig, at[0]);
        assert_true(f >= 0);
        sig->factor[f].size = strtoll(at + 2, NULL, 10);
    }
    for (int w = 0; w < sig->n_windows; w++) {
        if (c->window[0]) sig->window[w].stride = c->window[0];
        if (c->window[1]) sig->window[w].dilation = c->window[1];
        sig->window[w].pad_lo = sig->window[w].pad_hi = c->window[2];
    }
}

static bool solve(const sig_case *c, pl_sig *sig, pl_shape out[], pl_err *err)
{
    const pl_shape *in[3] = { &c->in[0], &c->in[1], &c->in[2] };
    int64_t extent[PL_MAX_WINDOWS] = { c->window[3], c->window[3], c->window[3] };
    PL_TRY(pl_sig_parse(c->text, c->n_in, in, sig, err));
    set_sizes(c, sig);
    return pl_sig_solve(c->text, sig, in, extent, out, err);
}

static const char *shapes_text(pl_arena *a, const pl_sig *sig, const pl_shape out[])
{
    pl_text t = { .arena = a };
    for (int i = 0; i < sig->n_out; i++)
        pl_text_add(&t, "%s%s", i ? " " : "", pl_shape_text(a, PL_U8, &out[i]) + 2);
    return pl_text_get(&t);
}

/* clang-format off */
static const sig_case good[] = {
    { "mk,kn->mn", 2, { { 2, { 4, 6 } }, { 2, { 6, 8 } } }, NULL, { 0 }, "[4,8]" },
    { " m k , k n -> m n ", 2, { { 2, { 4, 6 } }, { 2, { 6, 8 } } }, NULL, { 0 }, "[4,8]" },
    { "->", 0, { { 0 } }, NULL, { 0 }, "[]" },
    { "->ab", 0, { { 0 } }, "a=2 b=3", { 0 }, "[2,3]" },
    { "->b", 1, { { 0, { 0 } } }, "b=3", { 0 }, "[3]" },
    { "ab,->ab", 2, { { 2, { 4, 6 } }, { 0, { 0 } } }, NULL, { 0 }, "[4,6]" },
    { "ab->,a", 1, { { 2, { 4, 6 } } }, NULL, { 0 }, "[] [4]" },
    { "ab->b,a,ba", 1, { { 2, { 4, 6 } } }, NULL, { 0 }, "[6] [4] [6,4]" },
    { "...->...", 1, { { 3, { 2, 3, 4 } } }, NULL, { 0 }, "[2,3,4]" },
    { "...->...", 1, { { 0, { 0 } } }, NULL, { 0 }, "[]" },
    { "...v->...", 1, { { 3, { 2, 3, 4 } } }, NULL, { 0 }, "[2,3]" },
    { "...->...v", 1, { { 2, { 2, 3 } } }, "v=5", { 0 }, "[2,3,5]" },
    { "n,...n->...n", 2, { { 1, { 4 } }, { 3, { 2, 3, 4 } } }, NULL, { 0 }, "[2,3,4]" },
    { "a...b->b...a", 1, { { 4, { 2, 3, 4, 5 } } }, NULL, { 0 }, "[5,3,4,2]" },
    { "01v->10v", 1, { { 3, { 2, 3, 4 } } }, NULL, { 0 }, "[3,2,4]" },
    { "bs(hd)->bhsd", 1, { { 3, { 2, 5, 12 } } }, "h=4", { 0 }, "[2,4,5,3]" },
    { "bs(hd)->bhsd", 1, { { 3, { 2, 5, 12 } } }, "d=4", { 0 }, "[2,3,5,4]" },
    { "bhsd->bs(hd)", 1, { { 4, { 2, 4, 5, 3 } } }, NULL, { 0 }, "[2,5,12]" },
    { "a(hd),h->ad", 2, { { 2, { 2, 12 } }, { 1, { 4 } } }, NULL, { 0 }, "[2,3]" },
    { "bsm,m(vhd)->v bs(h d)", 2, { { 3, { 2, 5, 8 } }, { 2, { 8, 24 } } }, "v=3 h=2", { 0 },
      "[3,2,5,8]" },
    { "(hw)(ab),(ha)->wb", 2, { { 2, { 6, 20 } }, { 1, { 12 } } }, "h=3", { 0 }, "[2,5]" },
    { "b[x+k]c,kco->bxo", 2, { { 3, { 2, 10, 4 } }, { 3, { 3, 4, 5 } } }, NULL, { 0 }, "[2,8,5]" },
    { "[x+k],k->x", 2, { { 1, { 10 } }, { 1, { 3 } } }, NULL, { 2, 1, 1, 0 }, "[5]" },
    { "[x+k],k->x", 2, { { 1, { 10 } }, { 1, { 3 } } }, NULL, { 1, 3, 0, 0 }, "[4]" },
    { "[x+k]->x", 1, { { 1, { 10 } } }, "k=2", { 2, 1, 0, 0 }, "[5]" },
    { "[h+r][w+s],rs->hw", 2, { { 2, { 9, 7 } }, { 2, { 3, 1 } } }, NULL, { 2, 1, 0, 0 }, "[4,4]" },
    { "x,k->[x+k]", 2, { { 1, { 8 } }, { 1, { 3 } } }, NULL, { 1, 1, 0, 10 }, "[10]" },
    { "[x+k],k->[x+k]", 2, { { 1, { 10 } }, { 1, { 3 } } }, NULL, { 2, 1, 0, 0 }, "[10]" },
};

static const sig_case bad[] = {
    { "(a,b)->a", 1, { { 1, { 4 } } }, NULL, { 0 }, "expected a letter" },
    { "(ab->a", 1, { { 1, { 4 } } }, NULL, { 0 }, "expected a letter" },
    { "abcdefg,hijklmn,opqrstu->", 3, { { 7, { 1 } }, { 7, { 1 } }, { 7, { 1 } } }, NULL, { 0 },
      "more than 20 letters" },
    { "(abcdef)->", 1, { { 1, { 1 } } }, NULL, { 0 }, "more than 5 factors" },
    { "()->", 1, { { 1, { 1 } } }, NULL, { 0 }, "empty parentheses" },
    { "[ab]->a", 1, { { 1, { 1 } } }, NULL, { 0 }, "a window reads [position+tap]" },
    { "[a+b->a", 1, { { 1, { 1 } } }, NULL, { 0 }, "a window reads [position+tap]" },
    { "[a", 1, { { 1, { 1 } } }, NULL, { 0 }, "a window reads [position+tap]" },
    { "[a+a]->a", 1, { { 1, { 1 } } }, NULL, { 0 }, "a window needs two letters" },
    { "[a+b][c+d][e+f][g+h]->", 1, { { 4, { 1 } } }, NULL, { 0 }, "more than 3 windows" },
    { "abcdefghi->", 1, { { 8, { 1 } } }, NULL, { 0 }, "more than 8 dimensions" },
    { "a->...", 1, { { 1, { 1 } } }, NULL, { 0 }, "'...' stands in no input of known rank" },
    { "a->,,,,,,,,,,,,", 1, { { 1, { 1 } } }, NULL, { 0 }, "more than 12 operands" },
    { "...ab->...", 1, { { 1, { 4 } } }, NULL, { 0 },
      "input 0 has 1 dimensions, '...ab->...' needs at least 2" },
    { "aa->a", 1, { { 2, { 4, 4 } } }, NULL, { 0 }, "a letter stands twice in one operand" },
    { "a->aa", 1, { { 1, { 4 } } }, NULL, { 0 }, "a letter stands twice in one operand" },
    { "[x+k]k->x", 1, { { 2, { 4, 4 } } }, NULL, { 0 }, "a letter stands twice in one operand" },
    { "a->a", 0, { { 0 } }, NULL, { 0 }, "an operator without inputs starts with '->'" },
    { "ab", 1, { { 2, { 1 } } }, NULL, { 0 }, "expected ',' or '->'" },
    { "a?->a", 1, { { 1, { 1 } } }, NULL, { 0 }, "expected ',' or '->'" },
    { "a->a->a", 1, { { 1, { 1 } } }, NULL, { 0 }, "at '->a': expected ',' or the end" },
    { "a,b->a", 1, { { 1, { 4 } } }, NULL, { 0 }, "'a,b->a' takes 2 inputs, 1 given" },
    { "mk,kn->mn", 2, { { 2, { 4, 6 } }, { 2, { 5, 8 } } }, NULL, { 0 },
      "'k' is 5 in input 1 but 6 elsewhere (mk,kn->mn)" },
    { "a->a", 1, { { 1, { 4 } } }, "a=3", { 0 }, "'a' is 4 in input 0 but 3 elsewhere" },
    { "...,...->...", 2, { { 2, { 4, 6 } }, { 2, { 4, 5 } } }, NULL, { 0 }, "'1' is 5 in input 1" },
    { "...,...->...", 2, { { 2, { 4, 6 } }, { 1, { 6 } } }, NULL, { 0 },
      "input 1 has 1 dimensions, '...,...->...' says 2" },
    { "(hd)->hd", 1, { { 1, { 12 } } }, "h=5", { 0 },
      "dimension of 12 in input 0 does not fit its factors, which multiply to a multiple of 5" },
    { "(hd)->hd", 1, { { 1, { 12 } } }, "h=5 d=2", { 0 }, "multiply to 10" },
    { "(hd)->hd", 1, { { 1, { 12 } } }, NULL, { 0 },
      "the size of 'h' is not known ((hd)->hd): write '; h=N'" },
    { "(abc)->abc", 1, { { 1, { 12 } } }, "a=4294967296 b=4294967296", { 0 }, "more than 2^63" },
    { "a->ab", 1, { { 1, { 4 } } }, NULL, { 0 }, "the size of 'b' is not known" },
    { "[x+k],k->x", 2, { { 1, { 4 } }, { 1, { 5 } } }, NULL, { 0 },
      "window of 5 does not fit the 4 elements (with padding) of operand 0" },
    { "[x+k],k,x->x", 3, { { 1, { 10 } }, { 1, { 3 } }, { 1, { 7 } } }, NULL, { 0 },
      "'x' is 7, the window over operand 0 makes 8" },
    { "x,[x+k],k->x", 3, { { 1, { 7 } }, { 1, { 10 } }, { 1, { 3 } } }, NULL, { 0 },
      "'x' is 7, the window over operand 1 makes 8" },
    { "[x+k]->x", 1, { { 1, { 4 } } }, NULL, { 0 }, "the size of 'k' is not known" },
    { "x,k->[x+k]", 2, { { 1, { 8 } }, { 1, { 3 } } }, NULL, { 0 },
      "output 0 needs the size of its window at 'x', not 0" },
    { "x,k->[x+k]", 2, { { 1, { 8 } }, { 1, { 3 } } }, NULL, { 0, 0, 0, 9 },
      "'x' is 8, the window over operand 2 makes 7" },
    { "[x+k],[x+k],k->x", 3, { { 1, { 10 } }, { 1, { 9 } }, { 1, { 3 } } }, NULL, { 2, 0, 0, 0 },
      "the window at 'x' is over 9 elements in input 1 but over 10 elsewhere" },
    { "->ab", 0, { { 0 } }, "a=4294967296 b=4294967296", { 0 }, "more than 2^60 elements" },
    { "->(ab)", 0, { { 0 } }, "a=4294967296 b=4294967296", { 0 }, "more than 2^60 elements" },
};
/* clang-format on */

static void signatures_give_shapes(void **state)
{
    (void)state;
    pl_arena *a = pl_arena_new("test");
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        pl_sig sig;
        pl_shape out[PL_MAX_OPERANDS];
        pl_err err = { 0 };
        if (!solve(&good[i], &sig, out, &err)) fail_msg("'%s': %s", good[i].text, err.msg);
        const char *found = shapes_text(a, &sig, out);
        if (strcmp(found, good[i].want))
            fail_msg("'%s' gives %s, not %s", good[i].text, found, good[i].want);
    }
    pl_arena_free(a);
}

static void mistakes_are_named(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        pl_sig sig;
        pl_shape out[PL_MAX_OPERANDS];
        pl_err err = { 0 };
        if (solve(&bad[i], &sig, out, &err)) fail_msg("'%s' is accepted", bad[i].text);
        assert_int_equal(err.code, PL_EINPUT);
        if (!strstr(err.msg, bad[i].want))
            fail_msg("'%s': '%s' lacks '%s'", bad[i].text, err.msg, bad[i].want);
    }
}

/* -- shares ------------------------------------------------------------------------------------ */

/* A node by hand: a window's pads may be negative here, which attributes do not offer. */
typedef struct by_hand {
    pl_node node;
    pl_sig sig;
    pl_value value[PL_MAX_OPERANDS];
} by_hand;

static void make(by_hand *h, const sig_case *c)
{
    pl_shape out[PL_MAX_OPERANDS];
    pl_err err = { 0 };
    memset(h, 0, sizeof *h);
    if (!solve(c, &h->sig, out, &err)) fail_msg("'%s': %s", c->text, err.msg);
    h->node = (pl_node){ .sig = &h->sig, .n_in = h->sig.n_in, .n_out = h->sig.n_out };
    for (int o = 0; o < h->sig.n_in + h->sig.n_out; o++) {
        bool is_in = o < h->sig.n_in;
        h->value[o].type = PL_I32;
        h->value[o].shape = is_in ? c->in[o] : out[o - h->sig.n_in];
        if (is_in)
            h->node.in[o] = &h->value[o];
        else
            h->node.out[o - h->sig.n_in] = &h->value[o];
    }
}

static pl_share cut(const by_hand *h, char letter, int64_t lo, int64_t n)
{
    pl_share s = pl_share_whole(&h->node);
    pl_share_cut(&s, pl_sig_find(&h->sig, letter), lo, n);
    return s;
}

static void assert_shape(const pl_shape *s, int rank, const int64_t want[])
{
    assert_int_equal(s->rank, rank);
    for (int i = 0; i < rank; i++) assert_int_equal(s->dim[i], want[i]);
}
#define ASSERT_SHAPE(s, ...)                                                                       \
    assert_shape((s), (int)(sizeof((int64_t[]){ __VA_ARGS__ }) / sizeof(int64_t)),                 \
                 (int64_t[]){ __VA_ARGS__ })

/* B[i] = A[i + 2] with 10 elements: the halves of B need A in [2, 6] and [7, 11]. */
static void shift_two_reads_shifted_halves(void **state)
{
    (void)state;
    by_hand h;
    pl_shape in = PL_SHAPE(12), out;
    const pl_shape *ins[] = { &in };
    pl_err err = { 0 };
    memset(&h, 0, sizeof h);
    assert_true(pl_sig_parse("[i+k]->i", 1, ins, &h.sig, &err));
    h.sig.factor[pl_sig_find(&h.sig, 'k')].size = 1;
    h.sig.window[0].pad_lo = -2;
    assert_true(pl_sig_solve("[i+k]->i", &h.sig, ins, (int64_t[3]){ 0 }, &out, &err));
    ASSERT_SHAPE(&out, 10);
    h.value[0].shape = in, h.value[1].shape = out;
    h.node = (pl_node){ .sig = &h.sig, .n_in = 1, .n_out = 1 };
    h.node.in[0] = &h.value[0], h.node.out[0] = &h.value[1];
    pl_share low = cut(&h, 'i', 0, 5), high = cut(&h, 'i', 5, 5);
    assert_int_equal(low.halo[0].lo, 2);
    assert_int_equal(low.halo[0].n, 5);
    assert_int_equal(high.halo[0].lo, 7);
    assert_int_equal(high.halo[0].n, 5);
    assert_int_equal(low.window[0].pad_lo, 0);
}

/* conv1d: split over batch, output channels, positions, input channels. */
static void conv1d_reads_what_it_needs(void **state)
{
    (void)state;
    const sig_case c = {
        "bc[x+d],ocd->box", 2, { { 3, { 4, 6, 10 } }, { 3, { 8, 6, 3 } } }, NULL, { 0 }, NULL
    };
    by_hand h;
    make(&h, &c);
    pl_share s = cut(&h, 'b', 2, 2); /* half the data, all filters */
    ASSERT_SHAPE(&s.shape[0], 2, 6, 10);
    ASSERT_SHAPE(&s.shape[1], 8, 6, 3);
    ASSERT_SHAPE(pl_share_out(&s, 0), 2, 8, 8);
    s = cut(&h, 'o', 0, 4); /* all data, half the filters */
    ASSERT_SHAPE(&s.shape[0], 4, 6, 10);
    ASSERT_SHAPE(&s.shape[1], 4, 6, 3);
    ASSERT_SHAPE(pl_share_out(&s, 0), 4, 4, 8);
    s = cut(&h, 'x', 4, 4); /* half the data and a halo, all filters */
    ASSERT_SHAPE(&s.shape[0], 4, 6, 6);
    ASSERT_SHAPE(&s.shape[1], 8, 6, 3);
    ASSERT_SHAPE(pl_share_out(&s, 0), 4, 8, 4);
    assert_int_equal(s.halo[0].lo, 4);
    s = cut(&h, 'c', 0, 3); /* half of both, the output partial */
    ASSERT_SHAPE(&s.shape[0], 4, 3, 10);
    ASSERT_SHAPE(&s.shape[1], 8, 3, 3);
    ASSERT_SHAPE(pl_share_out(&s, 0), 4, 8, 8);
    assert_false(pl_share_touches(&h.node, 2, pl_sig_find(&h.sig, 'c')));
    assert_true(pl_share_touches(&h.node, 2, pl_sig_find(&h.sig, 'x')));
    assert_true(pl_share_touches(&h.node, 0, pl_sig_find(&h.sig, 'x')));
    assert_false(pl_share_can_cut(&h.node, pl_sig_find(&h.sig, 'd'))); /* a tap */
    assert_true(pl_share_can_cut(&h.node, pl_sig_find(&h.sig, 'x')));
}

static void windows_clip_and_pad(void **state)
{
    (void)state;
    static const struct {
        int64_t in, k, stride, dilation, pad, lo, n; /* positions [lo, lo + n)           */
        int64_t halo_lo, halo_n, pad_lo, pad_hi;     /* read, and padding as it is left */
    } rows[] = {
        { 8, 3, 1, 1, 1, 0, 4, 0, 5, 1, 0 },  { 8, 3, 1, 1, 1, 4, 4, 3, 5, 0, 1 },
        { 8, 3, 1, 1, 1, 2, 4, 1, 6, 0, 0 },  { 9, 3, 2, 1, 0, 0, 2, 0, 5, 0, 0 },
        { 9, 3, 2, 1, 0, 2, 2, 4, 5, 0, 0 },  { 8, 1, 2, 1, 0, 0, 2, 0, 3, 0, 0 },
        { 8, 1, 2, 1, 0, 2, 2, 4, 3, 0, 0 },  { 8, 3, 1, 2, 2, 0, 2, 0, 4, 2, 0 },
        { 2, 3, 1, 1, 2, 0, 1, 0, 1, 2, 0 },  { 2, 3, 1, 1, 2, 3, 1, 1, 1, 0, 2 },
        { 4, 2, 3, 1, 3, 0, 1, 0, 0, 3, -1 }, /* reads only padding */
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        sig_case c = { "[x+k],k->x",
                       2,
                       { PL_SHAPE(rows[i].in), PL_SHAPE(rows[i].k) },
                       NULL,
                       { rows[i].stride, rows[i].dilation, rows[i].pad, 0 },
                       NULL };
        by_hand h;
        make(&h, &c);
        pl_share s = cut(&h, 'x', rows[i].lo, rows[i].n);
        if (s.halo[0].lo != rows[i].halo_lo || s.halo[0].n != rows[i].halo_n ||
            s.window[0].pad_lo != rows[i].pad_lo || s.window[0].pad_hi != rows[i].pad_hi)
            fail_msg("row %zu: reads [%lld, +%lld), pads %lld %lld", i, (long long)s.halo[0].lo,
                     (long long)s.halo[0].n, (long long)s.window[0].pad_lo,
                     (long long)s.window[0].pad_hi);
    }
}

static void matmul_cuts(void **state)
{
    (void)state;
    const sig_case c = { "mk,kn->mn", 2, { { 2, { 4, 6 } }, { 2, { 6, 1 } } }, NULL, { 0 }, NULL };
    by_hand h;
    make(&h, &c);
    pl_share s = cut(&h, 'm', 1, 3);
    ASSERT_SHAPE(&s.shape[0], 3, 6);
    ASSERT_SHAPE(&s.shape[1], 6, 1);
    ASSERT_SHAPE(pl_share_out(&s, 0), 3, 1);
    s = cut(&h, 'k', 4, 2);
    ASSERT_SHAPE(&s.shape[0], 4, 2);
    ASSERT_SHAPE(&s.shape[1], 2, 1);
    ASSERT_SHAPE(pl_share_out(&s, 0), 4, 1);
    assert_false(pl_share_touches(&h.node, 2, pl_sig_find(&h.sig, 'k')));
    assert_false(pl_share_can_cut(&h.node, pl_sig_find(&h.sig, 'n'))); /* of one element */
    int64_t whole;
    pl_range r = pl_share_range(&s, 'k', &whole);
    assert_true(r.lo == 4 && r.n == 2 && whole == 6);
    r = pl_share_range(&s, 'z', &whole);
    assert_true(r.lo == 0 && r.n == 1 && whole == 1);
    pl_share_cut(&s, pl_sig_find(&h.sig, 'k'), 1, 1); /* within the present range */
    r = pl_share_range(&s, 'k', &whole);
    assert_true(r.lo == 5 && r.n == 1);
    h.sig.factor[pl_sig_find(&h.sig, 'm')].whole = true;
    assert_false(pl_share_can_cut(&h.node, pl_sig_find(&h.sig, 'm')));
}

/* The position of a window in an output overlaps itself: a sum over a halo, not a cut. */
static void windows_in_outputs_are_not_cut(void **state)
{
    (void)state;
    const sig_case c = { "bx,k->b[x+k]",  2,   { { 2, { 2, 8 } }, { 1, { 3 } } }, NULL,
                         { 1, 1, 0, 10 }, NULL };
    by_hand h;
    make(&h, &c);
    assert_false(pl_share_can_cut(&h.node, pl_sig_find(&h.sig, 'x')));
    assert_true(pl_share_can_cut(&h.node, pl_sig_find(&h.sig, 'b')));
}

/* Cut one factor of a composite dimension: which elements of the row 0, 1, 2 ... a share has. */
static void composites_are_cut_with_strides(void **state)
{
    (void)state;
    static const struct {
        const char *text, *sizes;
        int64_t size;
        char letter;
        int64_t lo, n;
        int count;
        int32_t want[12];
    } rows[] = {
        { "(hd)->hd", "h=4", 12, 'h', 2, 2, 6, { 6, 7, 8, 9, 10, 11 } },
        { "(hd)->hd", "h=4", 12, 'd', 1, 1, 4, { 1, 4, 7, 10 } },
        { "(hd)->hd", "h=4", 12, 'd', 1, 2, 8, { 1, 2, 4, 5, 7, 8, 10, 11 } },
        { "(qhd)->qhd", "q=3 h=2", 12, 'h', 1, 1, 6, { 2, 3, 6, 7, 10, 11 } },
        { "(qhd)->qhd", "q=3 h=2", 12, 'q', 1, 1, 4, { 4, 5, 6, 7 } },
        { "(qhd)->qhd", "q=3 h=2", 12, 'd', 0, 1, 6, { 0, 2, 4, 6, 8, 10 } },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        sig_case c = { rows[i].text, 1, { PL_SHAPE(rows[i].size) }, rows[i].sizes, { 0 }, NULL };
        int32_t whole[12], part[12], back[12] = { 0 };
        by_hand h;
        make(&h, &c);
        for (int k = 0; k < 12; k++) whole[k] = k;
        pl_share s = cut(&h, rows[i].letter, rows[i].lo, rows[i].n);
        assert_int_equal(pl_shape_count(&s.shape[0]), rows[i].count);
        pl_share_take(&s, 0, whole, part);
        assert_memory_equal(part, rows[i].want, (size_t)rows[i].count * sizeof *part);
        for (int k = 0; k < rows[i].count; k++) part[k] += 100;
        pl_share_give(&s, 1, part, back); /* the output is the same block with other dimensions */
        for (int k = 0, n = 0; k < 12; k++) {
            bool mine = n < rows[i].count && rows[i].want[n] == k;
            assert_int_equal(back[k], mine ? 100 + k : 0);
            n += mine;
        }
    }
}

/* At every point of a share, the element that the walk shows is the one that the formula
 * stride * position + dilation * tap - pad of the whole names, or padding. */
static void check_points(const by_hand *h, const pl_share *s, uint64_t seed)
{
    const pl_window *w = &h->sig.window[0];
    int x = pl_sig_find(&h->sig, 'x'), k = pl_sig_find(&h->sig, 'k'), b = pl_sig_find(&h->sig, 'b');
    int64_t extent = h->value[0].shape.dim[1], n_points = 0;
    pl_walk walk = pl_walk_new(s, (1u << h->sig.n_factors) - 1);
    pl_globals in, out;
    pl_share_globals(s, 0, &in);
    pl_share_globals(s, 2, &out);
    do {
        int64_t row = walk.index[b] + s->factor[b].lo, at = walk.index[x] + s->factor[x].lo;
        int64_t column = w->stride * at + w->dilation * walk.index[k] - w->pad_lo;
        bool inside = column >= 0 && column < extent;
        bool ok = inside == pl_walk_inside(&walk, 0) &&
                  (!inside || pl_globals_at(&in, walk.at[0]) == row * extent + column) &&
                  walk.at[1] == walk.index[k] &&
                  pl_globals_at(&out, walk.at[2]) == row * h->sig.factor[x].size + at;
        if (!ok)
            fail_msg("seed %llu: row %lld, position %lld, tap %lld", (unsigned long long)seed,
                     (long long)row, (long long)at, (long long)walk.index[k]);
        n_points++;
    } while (pl_walk_next(&walk));
    assert_int_equal(n_points, pl_walk_count(&walk));
}

static void walks_find_the_whole_elements(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 300; seed++) {
        pl_rng r = pl_rng_at(seed, 7);
        int64_t k = 1 + (int64_t)pl_rng_below(r, 0, 4),
                dilation = 1 + (int64_t)pl_rng_below(r, 1, 3);
        int64_t stride = 1 + (int64_t)pl_rng_below(r, 2, 3), pad = (int64_t)pl_rng_below(r, 3, 4);
        int64_t extent = dilation * (k - 1) + 1 + (int64_t)pl_rng_below(r, 4, 12);
        sig_case c = { "b[x+k],k->bx",
                       2,
                       { PL_SHAPE(3, extent), PL_SHAPE(k) },
                       NULL,
                       { stride, dilation, pad, 0 },
                       NULL };
        by_hand h;
        make(&h, &c);
        int x = pl_sig_find(&h.sig, 'x');
        pl_share s = pl_share_whole(&h.node);
        check_points(&h, &s, seed);
        int64_t size = h.sig.factor[x].size, lo = (int64_t)pl_rng_below(r, 5, (uint64_t)size);
        pl_share_cut(&s, x, lo, 1 + (int64_t)pl_rng_below(r, 6, (uint64_t)(size - lo)));
        pl_share_cut(&s, pl_sig_find(&h.sig, 'b'), 1, 2);
        check_points(&h, &s, seed);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(signatures_give_shapes),
        cmocka_unit_test(mistakes_are_named),
        cmocka_unit_test(shift_two_reads_shifted_halves),
        cmocka_unit_test(conv1d_reads_what_it_needs),
        cmocka_unit_test(windows_clip_and_pad),
        cmocka_unit_test(matmul_cuts),
        cmocka_unit_test(windows_in_outputs_are_not_cut),
        cmocka_unit_test(composites_are_cut_with_strides),
        cmocka_unit_test(walks_find_the_whole_elements),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
