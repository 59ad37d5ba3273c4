/* libFuzzer target: any text as a signature, for inputs of any shape. The first line gives the
 * shapes and the sizes that attributes would, "4,8 8,16 h=2 stride=2 pad=1 extent=9", the second
 * the signature. What is solved has sizes that agree with every operand. */
#include "graph/sig.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n);

typedef struct input {
    int n_in, n_sizes;
    pl_shape in[PL_MAX_OPERANDS];
    struct {
        char letter;
        int64_t size;
    } sizes[PL_MAX_FACTORS];
    int64_t stride, dilation, pad, extent;
    const char *text;
} input;

static bool read_shape(const char *word, pl_arena *a, pl_shape *s)
{
    *s = (pl_shape){ 0 };
    for (size_t n; *word; word += n + (word[n] == ',')) {
        n = strcspn(word, ",");
        if (s->rank == PL_MAX_RANK || !pl_text_int(pl_arena_span(a, word, n), &s->dim[s->rank]))
            return false;
        if (s->dim[s->rank] < 1 || s->dim[s->rank] > INT32_MAX)
            return false; /* as pl_graph has it */
        s->rank++;
    }
    return true;
}

static bool read_attribute(const char *word, input *x)
{
    const char *eq = strchr(word, '=');
    int64_t v;
    if (!pl_text_int(eq + 1, &v) || v < 0 || v > INT32_MAX) return false;
    if (eq == word + 1 && v > 0 && x->n_sizes < PL_MAX_FACTORS) {
        x->sizes[x->n_sizes].letter = *word;
        x->sizes[x->n_sizes++].size = v;
    } else if (!strncmp(word, "stride=", 7) && v > 0)
        x->stride = v;
    else if (!strncmp(word, "dilation=", 9) && v > 0)
        x->dilation = v;
    else if (!strncmp(word, "pad=", 4))
        x->pad = v;
    else if (!strncmp(word, "extent=", 7))
        x->extent = v;
    else
        return false;
    return true;
}

static bool read_input(char *text, pl_arena *a, input *x)
{
    char *end = strchr(text, '\n');
    if (!end) return false;
    *end = 0;
    *x = (input){ .stride = 1, .dilation = 1, .text = end + 1 };
    for (char *at = text, *word; (word = strtok_r(at, " ", &at));) {
        if (strchr(word, '=')) {
            if (!read_attribute(word, x)) return false;
        } else if (x->n_in == PL_MAX_OPERANDS || !read_shape(word, a, &x->in[x->n_in++]))
            return false;
    }
    return true;
}

/* Windows: the positions are those that fit; the other dimensions: the product of their factors. */
static void check_operand(const pl_sig *sig, const pl_operand *o, const pl_shape *s)
{
    PL_ASSERT_CMP(o->rank, ==, s->rank);
    for (int j = 0; j < o->rank; j++) {
        const pl_sig_dim *d = &o->dim[j];
        if (d->window < 0) {
            PL_ASSERT_CMP(pl_sig_dim_size(sig, d), ==, s->dim[j]);
            continue;
        }
        const pl_window *w = &sig->window[d->window];
        int64_t room =
            s->dim[j] + w->pad_lo + w->pad_hi - 1 - w->dilation * (sig->factor[w->tap].size - 1);
        int64_t last = w->stride * (sig->factor[w->position].size - 1);
        PL_ASSERT(last <= room && room - last < w->stride);
    }
}

static void check_solved(const input *x, const pl_sig *sig, const pl_shape out[])
{
    int64_t size[PL_MAX_FACTORS], stride[PL_MAX_FACTORS];
    for (int f = 0; f < sig->n_factors; f++) {
        size[f] = sig->factor[f].size;
        PL_ASSERT_CMP(size[f], >, 0);
        PL_ASSERT_CMP(pl_sig_find(sig, sig->factor[f].letter), ==, f);
    }
    for (int i = 0; i < sig->n_in; i++) check_operand(sig, &sig->operand[i], &x->in[i]);
    for (int i = 0; i < sig->n_out; i++) {
        const pl_operand *o = pl_sig_out(sig, i);
        check_operand(sig, o, &out[i]);
        PL_ASSERT_CMP(pl_shape_count(&out[i]), >, 0);
        pl_sig_strides(sig, o, &out[i], size, stride);
        for (int f = 0; f < sig->n_factors; f++)
            PL_ASSERT_CMP(stride[f] > 0, ==, pl_sig_has(o, sig, f));
    }
}

static void solve(const input *x)
{
    const pl_shape *in[PL_MAX_OPERANDS];
    pl_shape out[PL_MAX_OPERANDS];
    int64_t extent[PL_MAX_WINDOWS];
    pl_sig sig;
    pl_err err = { 0 };
    for (int i = 0; i < x->n_in; i++) in[i] = &x->in[i];
    bool ok = pl_sig_parse(x->text, x->n_in, in, &sig, &err);
    if (ok) {
        for (int i = 0; i < x->n_sizes; i++) {
            int f = pl_sig_find(&sig, x->sizes[i].letter);
            if (f >= 0) sig.factor[f].size = x->sizes[i].size;
        }
        for (int w = 0; w < PL_MAX_WINDOWS; w++) {
            sig.window[w].stride = x->stride;
            sig.window[w].dilation = x->dilation;
            sig.window[w].pad_lo = sig.window[w].pad_hi = x->pad;
            extent[w] = x->extent;
        }
        ok = pl_sig_solve(x->text, &sig, in, extent, out, &err);
    }
    if (ok)
        check_solved(x, &sig, out);
    else
        PL_ASSERT(err.code == PL_EINPUT && *err.msg);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    pl_arena *a = pl_arena_new("fuzz");
    input x;
    if (read_input(pl_arena_span(a, (const char *)bytes, n), a, &x)) solve(&x);
    pl_arena_free(a);
    return 0;
}
