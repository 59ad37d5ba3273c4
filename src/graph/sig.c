/* Signatures. First the parser, pl_sig_parse(); then sizes, pl_sig_solve(): rounds over the
 * inputs until no dimension gives a size any more (solve_rounds), then the outputs. */
#include "graph/sig.h"

#include <ctype.h>
#include <limits.h>
#include <string.h>

/* -- parsing ----------------------------------------------------------------------------------- */

typedef struct parser {
    const char *text, *at;
    pl_sig *sig;
    int ellipsis; /* dimensions that "..." stands for; -1: not known yet */
    pl_err *err;
} parser;

static bool fail(parser *p, const char *what)
{
    return pl_err_set(p->err, PL_EINPUT, "signature '%s', at '%.12s': %s", p->text,
                      *p->at ? p->at : "the end", what);
}

static void skip_space(parser *p)
{
    while (*p->at == ' ') p->at++;
}

int pl_sig_find(const pl_sig *sig, char letter)
{
    for (int f = 0; f < sig->n_factors; f++)
        if (sig->factor[f].letter == letter) return f;
    return -1;
}

static bool add_factor(parser *p, char letter, int8_t *f)
{
    *f = (int8_t)pl_sig_find(p->sig, letter);
    if (*f >= 0) return true;
    if (p->sig->n_factors == PL_MAX_FACTORS) return fail(p, "more than 20 letters");
    *f = (int8_t)p->sig->n_factors++;
    p->sig->factor[*f] = (pl_factor){ .letter = letter };
    return true;
}

static bool parse_letter(parser *p, int8_t *f)
{
    skip_space(p);
    if (!isalnum((unsigned char)*p->at)) return fail(p, "expected a letter");
    PL_TRY(add_factor(p, *p->at, f));
    p->at++;
    return true;
}

static bool parse_composite(parser *p, pl_sig_dim *dim)
{
    p->at++;
    for (skip_space(p); *p->at != ')'; skip_space(p)) {
        if (dim->n == PL_MAX_COMPOSE) return fail(p, "more than 5 factors in one dimension");
        PL_TRY(parse_letter(p, &dim->factor[dim->n]));
        dim->n++;
    }
    p->at++;
    return dim->n > 0 || fail(p, "empty parentheses");
}

static bool parse_window(parser *p, pl_sig_dim *dim)
{
    pl_sig *s = p->sig;
    pl_window w = { .stride = 1, .dilation = 1 };
    p->at++;
    PL_TRY(parse_letter(p, &w.position));
    skip_space(p);
    if (*p->at != '+') return fail(p, "a window reads [position+tap]");
    p->at++;
    PL_TRY(parse_letter(p, &w.tap));
    skip_space(p);
    if (*p->at != ']') return fail(p, "a window reads [position+tap]");
    p->at++;
    if (w.position == w.tap) return fail(p, "a window needs two letters");
    s->factor[w.tap].tap = true;
    for (dim->window = 0; dim->window < s->n_windows; dim->window++)
        if (s->window[dim->window].position == w.position && s->window[dim->window].tap == w.tap)
            return true;
    if (s->n_windows == PL_MAX_WINDOWS) return fail(p, "more than 3 windows");
    s->window[s->n_windows++] = w;
    return true;
}

static bool add_dim(parser *p, pl_operand *o, pl_sig_dim d)
{
    if (o->rank == PL_MAX_RANK) return fail(p, "more than 8 dimensions");
    o->dim[o->rank++] = d;
    return true;
}

static bool parse_ellipsis(parser *p, pl_operand *operand)
{
    p->at += 3;
    if (p->ellipsis < 0) return fail(p, "'...' stands in no input of known rank");
    for (int i = 0; i < p->ellipsis; i++) {
        pl_sig_dim d = { .n = 1, .window = -1 };
        PL_TRY(add_factor(p, (char)('0' + i), &d.factor[0]));
        PL_TRY(add_dim(p, operand, d));
    }
    return true;
}

static bool parse_operand(parser *p, pl_operand *operand)
{
    for (;;) {
        pl_sig_dim d = { .window = -1 };
        skip_space(p);
        if (!strncmp(p->at, "...", 3)) {
            PL_TRY(parse_ellipsis(p, operand));
            continue;
        }
        if (*p->at == '(')
            PL_TRY(parse_composite(p, &d));
        else if (*p->at == '[')
            PL_TRY(parse_window(p, &d));
        else if (isalnum((unsigned char)*p->at)) {
            d.n = 1;
            PL_TRY(parse_letter(p, &d.factor[0]));
        } else
            return true;
        PL_TRY(add_dim(p, operand, d));
    }
}

/* The kernels' walk gives an element of an operand one index per letter. */
static bool check_letters(parser *p, const pl_operand *operand)
{
    int times[PL_MAX_FACTORS] = { 0 };
    for (int j = 0; j < operand->rank; j++) {
        const pl_sig_dim *d = &operand->dim[j];
        for (int k = 0; k < d->n; k++) times[d->factor[k]]++;
        if (d->window < 0) continue;
        times[p->sig->window[d->window].position]++;
        times[p->sig->window[d->window].tap]++;
    }
    for (int f = 0; f < p->sig->n_factors; f++)
        if (times[f] > 1) return fail(p, "a letter stands twice in one operand");
    return true;
}

static bool parse_list(parser *p, int *n)
{
    for (*n = 0;; p->at++) {
        int total = p->sig->n_in + p->sig->n_out;
        if (total == PL_MAX_OPERANDS) return fail(p, "more than 12 operands");
        PL_TRY(parse_operand(p, &p->sig->operand[total]));
        PL_TRY(check_letters(p, &p->sig->operand[total]));
        ++*n;
        if (*p->at != ',') return true;
    }
}

/* Dimensions beside "..." in the operand that starts at `text`; *has says whether it has "...". */
static int count_dims(const char *text, bool *has)
{
    int n = 0, depth = 0;
    *has = false;
    for (; *text && *text != ',' && strncmp(text, "->", 2); text++) {
        if (*text == '(' || *text == '[')
            n += !depth++;
        else if (*text == ')' || *text == ']')
            depth--;
        else if (!strncmp(text, "...", 3))
            *has = true, text += 2;
        else if (!depth && isalnum((unsigned char)*text))
            n++;
    }
    return n;
}

/* "..." stands for as many dimensions as the first input that has it leaves over. */
static bool find_ellipsis(parser *p, int n_in, const pl_shape *const in[])
{
    const char *at = p->text;
    p->ellipsis = -1;
    for (int i = 0; i < n_in; i++) {
        bool has;
        int n = count_dims(at, &has);
        if (has && p->ellipsis < 0) {
            p->ellipsis = in[i]->rank - n;
            if (p->ellipsis < 0)
                return pl_err_set(p->err, PL_EINPUT,
                                  "input %d has %d dimensions, '%s' needs at least %d", i,
                                  in[i]->rank, p->text, n);
        }
        while (*at && *at != ',' && strncmp(at, "->", 2)) at++;
        if (*at != ',') break;
        at++;
    }
    return true;
}

bool pl_sig_parse(const char *text, int n_in, const pl_shape *const in[], pl_sig *out, pl_err *err)
{
    *out = (pl_sig){ 0 };
    parser p = { .text = text, .at = text, .sig = out, .err = err };
    PL_TRY(find_ellipsis(&p, n_in, in));
    if (n_in == 0) {
        skip_space(&p);
        if (strncmp(p.at, "->", 2)) return fail(&p, "an operator without inputs starts with '->'");
    } else {
        PL_TRY(parse_list(&p, &out->n_in));
    }
    skip_space(&p);
    if (strncmp(p.at, "->", 2)) return fail(&p, "expected ',' or '->'");
    p.at += 2;
    if (n_in == 0) out->n_in = 0;
    PL_TRY(parse_list(&p, &out->n_out));
    if (*p.at) return fail(&p, "expected ',' or the end");
    if (out->n_in != n_in)
        return pl_err_set(err, PL_EINPUT, "'%s' takes %d inputs, %d given", text, out->n_in, n_in);
    return true;
}

/* -- sizes ------------------------------------------------------------------------------------- */

const pl_operand *pl_sig_out(const pl_sig *sig, int i)
{
    return &sig->operand[sig->n_in + i];
}

bool pl_sig_has(const pl_operand *operand, const pl_sig *sig, int factor)
{
    for (int i = 0; i < operand->rank; i++) {
        const pl_sig_dim *d = &operand->dim[i];
        if (d->window >= 0) {
            const pl_window *w = &sig->window[d->window];
            if (w->position == factor || w->tap == factor) return true;
        }
        for (int k = 0; k < d->n; k++)
            if (d->factor[k] == factor) return true;
    }
    return false;
}

int64_t pl_sig_dim_size(const pl_sig *sig, const pl_sig_dim *dim)
{
    int64_t n = 1;
    for (int k = 0; k < dim->n; k++) n *= sig->factor[dim->factor[k]].size;
    return n;
}

/* One dimension of `size` elements: fill in the only factor that is not known yet. *open counts the
 * dimensions that cannot be solved yet. */
static bool solve_dim(const char *text, pl_sig *sig, const pl_sig_dim *dim, int operand,
                      int64_t size, int *open, pl_err *err)
{
    int unknown = -1, n_unknown = 0;
    int64_t known = 1;
    for (int k = 0; k < dim->n; k++) {
        int64_t s = sig->factor[dim->factor[k]].size;
        if (!s)
            unknown = dim->factor[k], n_unknown++;
        else if (__builtin_mul_overflow(known, s, &known))
            return pl_err_set(err, PL_EINPUT,
                              "the factors of dimension %lld in input %d multiply to "
                              "more than 2^63 (%s)",
                              (long long)size, operand, text);
    }
    if (n_unknown > 1) {
        ++*open;
        return true;
    }
    if (n_unknown == 1 && size % known == 0 && size > 0) {
        sig->factor[unknown].size = size / known;
        return true;
    }
    if (n_unknown == 0 && known == size) return true;
    if (dim->n == 1)
        return pl_err_set(err, PL_EINPUT, "'%c' is %lld in input %d but %lld elsewhere (%s)",
                          sig->factor[dim->factor[0]].letter, (long long)size, operand,
                          (long long)known, text);
    return pl_err_set(err, PL_EINPUT,
                      "dimension of %lld in input %d does not fit its factors, which multiply to "
                      "%s%lld (%s)",
                      (long long)size, operand, n_unknown ? "a multiple of " : "", (long long)known,
                      text);
}

static bool solve_window(const char *text, pl_sig *sig, const pl_window *window, int operand,
                         int64_t size, int *open, pl_err *err)
{
    pl_factor *position = &sig->factor[window->position];
    const pl_factor *tap = &sig->factor[window->tap];
    if (!tap->size) {
        ++*open;
        return true;
    }
    int64_t span = window->dilation * (tap->size - 1) + 1,
            room = size + window->pad_lo + window->pad_hi - span;
    int64_t n = room < 0 ? 0 : room / window->stride + 1;
    if (n <= 0)
        return pl_err_set(err, PL_EINPUT,
                          "window of %lld does not fit the %lld elements (with padding) of operand "
                          "%d (%s)",
                          (long long)span, (long long)(size + window->pad_lo + window->pad_hi),
                          operand, text);
    if (!position->size) position->size = n;
    if (position->size != n)
        return pl_err_set(err, PL_EINPUT,
                          "'%c' is %lld, the window over operand %d makes %lld (%s)",
                          position->letter, (long long)position->size, operand, (long long)n, text);
    return true;
}

static bool solve_round(const char *text, pl_sig *sig, const pl_shape *const in[], bool windows,
                        int *open, pl_err *err)
{
    *open = 0;
    for (int i = 0; i < sig->n_in; i++) {
        const pl_operand *o = &sig->operand[i];
        if (o->rank != in[i]->rank)
            return pl_err_set(err, PL_EINPUT, "input %d has %d dimensions, '%s' says %d", i,
                              in[i]->rank, text, o->rank);
        for (int j = 0; j < o->rank; j++) {
            const pl_sig_dim *d = &o->dim[j];
            const pl_window *w = d->window < 0 ? NULL : &sig->window[d->window];
            if (w && windows) PL_TRY(solve_window(text, sig, w, i, in[i]->dim[j], open, err));
            if (!w) PL_TRY(solve_dim(text, sig, d, i, in[i]->dim[j], open, err));
        }
    }
    return true;
}

/* Each round but the first must solve at least one more dimension. */
static bool solve_rounds(const char *text, pl_sig *sig, const pl_shape *const in[], bool windows,
                         pl_err *err)
{
    int open = INT_MAX, before;
    do {
        before = open;
        PL_TRY(solve_round(text, sig, in, windows, &open, err));
    } while (open && open < before);
    return true;
}

bool pl_sig_solve_inputs(const char *text, pl_sig *sig, const pl_shape *const in[], pl_err *err)
{
    return solve_rounds(text, sig, in, false, err);
}

static bool too_large(const char *text, int out, pl_err *err)
{
    return pl_err_set(err, PL_EINPUT, "output %d has more than 2^60 elements (%s)", out, text);
}

/* pl_sig_dim_size for sizes that anybody may have written. */
static bool multiply_sizes(const char *text, const pl_sig *sig, const pl_sig_dim *dim, int out,
                           int64_t *size, pl_err *err)
{
    *size = 1;
    for (int k = 0; k < dim->n; k++)
        if (__builtin_mul_overflow(*size, sig->factor[dim->factor[k]].size, size))
            return too_large(text, out, err);
    return true;
}

/* A window's dimension is as large in every operand; `extent` says how large where no input
 * does, and then has to fit the positions. */
static bool solve_extents(const char *text, pl_sig *sig, const pl_shape *const in[],
                          int64_t extent[PL_MAX_WINDOWS], pl_err *err)
{
    for (int o = 0; o < sig->n_in + sig->n_out; o++)
        for (int j = 0, open; j < sig->operand[o].rank; j++) {
            int w = sig->operand[o].dim[j].window;
            if (w < 0) continue;
            int64_t size = o < sig->n_in ? in[o]->dim[j] : extent[w];
            if (extent[w] && extent[w] != size)
                return pl_err_set(err, PL_EINPUT,
                                  "the window at '%c' is over %lld elements in input %d but over "
                                  "%lld elsewhere (%s)",
                                  sig->factor[sig->window[w].position].letter, (long long)size, o,
                                  (long long)extent[w], text);
            if (o >= sig->n_in && (size < 1 || size > (int64_t)1 << 40))
                return pl_err_set(err, PL_EINPUT,
                                  "output %d needs the size of its window at '%c', not %lld (%s): "
                                  "write '; extent=N', one for each window",
                                  o - sig->n_in, sig->factor[sig->window[w].position].letter,
                                  (long long)size, text);
            extent[w] = size;
            PL_TRY(solve_window(text, sig, &sig->window[w], o, size, &open, err));
        }
    return true;
}

bool pl_sig_solve(const char *text, pl_sig *sig, const pl_shape *const in[], const int64_t extent[],
                  pl_shape out[], pl_err *err)
{
    int64_t size[PL_MAX_WINDOWS];
    memcpy(size, extent, sizeof size);
    PL_TRY(solve_rounds(text, sig, in, true, err));
    const pl_factor *unknown = NULL; /* preferably a tap, which a position waits for */
    for (const pl_factor *f = sig->factor; f < sig->factor + sig->n_factors; f++)
        if (!f->size && (!unknown || (f->tap && !unknown->tap))) unknown = f;
    if (unknown)
        return pl_err_set(err, PL_EINPUT, "the size of '%c' is not known (%s): write '; %c=N'",
                          unknown->letter, text, unknown->letter);
    PL_TRY(solve_extents(text, sig, in, size, err));
    for (int i = 0; i < sig->n_out; i++) {
        const pl_operand *o = pl_sig_out(sig, i);
        out[i] = (pl_shape){ .rank = o->rank };
        int64_t count = 1;
        for (int j = 0; j < o->rank; j++) {
            const pl_sig_dim *d = &o->dim[j];
            if (d->window >= 0)
                out[i].dim[j] = size[d->window];
            else
                PL_TRY(multiply_sizes(text, sig, d, i, &out[i].dim[j], err));
            if (out[i].dim[j] <= 0)
                return pl_err_set(err, PL_EINPUT, "output %d: dimension %d is %lld (%s)", i, j,
                                  (long long)out[i].dim[j], text);
            if (__builtin_mul_overflow(count, out[i].dim[j], &count) || count > INT64_MAX / 8)
                return too_large(text, i, err);
        }
    }
    return true;
}

void pl_sig_strides(const pl_sig *sig, const pl_operand *operand, const pl_shape *shape,
                    const int64_t size[PL_MAX_FACTORS], int64_t stride[PL_MAX_FACTORS])
{
    int64_t step[PL_MAX_RANK];
    memset(stride, 0, PL_MAX_FACTORS * sizeof *stride);
    pl_shape_strides(shape, step);
    for (int j = 0; j < operand->rank; j++) {
        const pl_sig_dim *d = &operand->dim[j];
        if (d->window >= 0) {
            const pl_window *w = &sig->window[d->window];
            stride[w->position] += step[j] * w->stride;
            stride[w->tap] += step[j] * w->dilation;
        }
        int64_t s = step[j];
        for (int k = d->n - 1; k >= 0; k--) {
            stride[d->factor[k]] += s;
            s *= size[d->factor[k]];
        }
    }
}
