/* Nodes whose signatures follow from shapes: views, broadcasts, reductions. Dimension i of the
 * result has letter 'A' + i; operators' own letters are small. */
#include "import/import.h"

#include "ops/list.h"

#include <string.h>

char pl_letter(int dim)
{
    return (char)('A' + dim);
}

const char *pl_letters(pl_import *m, int from, int n)
{
    char *text = pl_arena_get(m->a, (size_t)(n > 0 ? n : 0) + 1, 1);
    for (int i = 0; i < n; i++) text[i] = pl_letter(from + i);
    return text;
}

/* -- reshapes ---------------------------------------------------------------------------------- */

/* Factors that both shapes are made of: letters in order, with their sizes. */
typedef struct refined {
    pl_text from, to, sizes;
    int n;
} refined;

static void add_factor(refined *r, pl_text *only, int64_t size)
{
    char letter = (char)('a' + r->n++);
    if (only != &r->to) pl_text_add(&r->from, "%c", letter);
    if (only != &r->from) pl_text_add(&r->to, "%c", letter);
    pl_text_add(&r->sizes, " %c=%lld", letter, (long long)size);
}

static void open_dim(pl_text *t, bool open)
{
    pl_text_add(t, open ? "(" : ")");
}

/* The next dimension of more than one element; those of one before it are letters of their own. */
static int64_t next_dim(refined *r, pl_text *t, const pl_shape *s, int *at)
{
    while (*at < s->rank && s->dim[*at] == 1) {
        add_factor(r, t, 1);
        ++*at;
    }
    if (*at == s->rank) return 0;
    open_dim(t, true);
    return s->dim[(*at)++];
}

/* Both shapes as products of the same factors in the same order; false: there are none, as for
 * [2,3] and [3,2], or more than a signature takes. */
static bool refine(const pl_shape *a, const pl_shape *b, refined *r)
{
    int i = 0, j = 0;
    int64_t x = next_dim(r, &r->from, a, &i), y = next_dim(r, &r->to, b, &j);
    int in_a = 0, in_b = 0; /* factors of the present dimensions */
    while (x && y) {
        int64_t f = x < y ? x : y;
        if (x % f || y % f || ++in_a > PL_MAX_COMPOSE || ++in_b > PL_MAX_COMPOSE) return false;
        if (r->n >= PL_MAX_FACTORS - 1) return false;
        add_factor(r, NULL, f);
        x /= f, y /= f;
        if (x == 1) open_dim(&r->from, false), in_a = 0, x = next_dim(r, &r->from, a, &i);
        if (y == 1) open_dim(&r->to, false), in_b = 0, y = next_dim(r, &r->to, b, &j);
    }
    return !x && !y && r->n < PL_MAX_FACTORS;
}

/* Greedy from the left takes the smaller of the two rests as a factor: right when the products'
 * common refinement is one of divisors. */
static pl_value *reshape_once(pl_import *m, pl_value *x, const pl_shape *to)
{
    refined r = { .from = { .arena = m->a }, .to = { .arena = m->a }, .sizes = { .arena = m->a } };
    if (!refine(&x->shape, to, &r)) return NULL;
    const char *spec = pl_arena_fmt(m->a, "%s->%s;%s", pl_text_get(&r.from), pl_text_get(&r.to),
                                    pl_text_get(&r.sizes));
    return PL_ADD(m->b, &pl_op_reshape, spec, x);
}

pl_value *pl_shaped(pl_import *m, pl_value *x, const pl_shape *to)
{
    if (!x || pl_shape_same(&x->shape, to)) return x;
    if (pl_shape_count(&x->shape) != pl_shape_count(to) || !pl_shape_count(to)) {
        pl_map_fail(m, "%s does not have as many elements as %s",
                    pl_shape_text(m->a, x->type, &x->shape), pl_shape_text(m->a, x->type, to));
        return NULL;
    }
    pl_value *y = reshape_once(m, x, to);
    if (y || m->b->err.code) return y;
    const pl_shape flat = PL_SHAPE(pl_shape_count(to));
    y = reshape_once(m, x, &flat);
    return y ? reshape_once(m, y, to) : NULL;
}

pl_value *pl_squeezed(pl_import *m, pl_value *x, int dim)
{
    if (!x) return NULL;
    pl_shape s = x->shape;
    memmove(s.dim + dim, s.dim + dim + 1, (size_t)(s.rank - dim - 1) * sizeof *s.dim);
    s.rank--;
    return pl_shaped(m, x, &s);
}

pl_value *pl_unsqueezed(pl_import *m, pl_value *x, int dim)
{
    if (!x) return NULL;
    pl_shape s = x->shape;
    if (s.rank == PL_MAX_RANK) {
        pl_map_refuse(m, "more than %d dimensions", PL_MAX_RANK);
        return NULL;
    }
    memmove(s.dim + dim + 1, s.dim + dim, (size_t)(s.rank - dim) * sizeof *s.dim);
    s.dim[dim] = 1;
    s.rank++;
    return pl_shaped(m, x, &s);
}

/* -- other moves ------------------------------------------------------------------------------- */

pl_value *pl_transposed(pl_import *m, pl_value *x, const int order[])
{
    if (!x) return NULL;
    char to[PL_LETTERS] = { 0 };
    bool same = true;
    for (int i = 0; i < x->shape.rank; i++) {
        to[i] = pl_letter(order[i]);
        same &= order[i] == i;
    }
    if (same) return x;
    return PL_ADD(m->b, &pl_op_transpose,
                  pl_arena_fmt(m->a, "%s->%s", pl_letters(m, 0, x->shape.rank), to), x);
}

static pl_value *move_dim(pl_import *m, pl_value *x, int from, int to)
{
    int order[PL_MAX_RANK], n = 0;
    if (!x) return NULL;
    for (int i = 0; i < x->shape.rank; i++) {
        if (n == to) order[n++] = from;
        if (i != from) order[n++] = i;
    }
    if (n == to) order[n] = from;
    return pl_transposed(m, x, order);
}

pl_value *pl_moved_last(pl_import *m, pl_value *x, int a)
{
    return x ? move_dim(m, x, a, x->shape.rank - 1) : NULL;
}

pl_value *pl_moved_back(pl_import *m, pl_value *x, int a)
{
    return x ? move_dim(m, x, x->shape.rank - 1, a) : NULL;
}

pl_value *pl_sliced(pl_import *m, pl_value *x, int dim, int64_t at, int64_t n)
{
    if (!x || (at == 0 && n == x->shape.dim[dim])) return x;
    char from[PL_LETTERS] = { 0 }, to[PL_LETTERS] = { 0 };
    for (int i = 0; i < x->shape.rank; i++) {
        from[i] = i == dim ? 'v' : pl_letter(i);
        to[i] = i == dim ? 'u' : pl_letter(i);
    }
    return PL_ADD(
        m->b, &pl_op_slice,
        pl_arena_fmt(m->a, "%s->%s; at=%lld u=%lld", from, to, (long long)at, (long long)n), x);
}

/* -- broadcasting ------------------------------------------------------------------------------ */

bool pl_common_shape(pl_import *m, int n, const pl_shape *const of[], pl_shape *out)
{
    *out = PL_SCALAR;
    for (int k = 0; k < n; k++)
        if (of[k]->rank > out->rank) out->rank = of[k]->rank;
    for (int i = 0; i < out->rank; i++) out->dim[i] = 1;
    for (int k = 0; k < n; k++)
        for (int i = 0; i < of[k]->rank; i++) {
            int64_t *d = &out->dim[out->rank - of[k]->rank + i];
            if (of[k]->dim[i] != 1 && *d != 1 && of[k]->dim[i] != *d)
                return pl_map_fail(m, "sizes %lld and %lld do not broadcast", (long long)*d,
                                   (long long)of[k]->dim[i]);
            if (of[k]->dim[i] != 1) *d = of[k]->dim[i];
        }
    return true;
}

/* Without the dimensions that are repeated; its letters in the result. */
static pl_value *drop_repeated(pl_import *m, pl_value *x, const pl_shape *to, char *letters)
{
    pl_shape s = PL_SCALAR;
    const int lead = to->rank - x->shape.rank;
    for (int i = 0; i < x->shape.rank; i++)
        if (x->shape.dim[i] != 1 || to->dim[lead + i] == 1) {
            letters[s.rank] = pl_letter(lead + i);
            s.dim[s.rank++] = x->shape.dim[i];
        }
    return pl_shaped(m, x, &s);
}

pl_value *pl_expanded(pl_import *m, pl_value *x, const pl_shape *to)
{
    char letters[PL_LETTERS] = { 0 };
    if (!x || pl_shape_same(&x->shape, to)) return x;
    pl_value *y = drop_repeated(m, x, to, letters);
    if (y && y->shape.rank == to->rank) return y;
    pl_text spec = { .arena = m->a };
    pl_text_add(&spec, "%s->%s;", letters, pl_letters(m, 0, to->rank));
    for (int i = 0; i < to->rank; i++)
        if (!strchr(letters, pl_letter(i)))
            pl_text_add(&spec, " %c=%lld", pl_letter(i), (long long)to->dim[i]);
    return y ? PL_ADD(m->b, &pl_op_broadcast, pl_text_get(&spec), y) : NULL;
}

/* Some operand needs each letter: what no operand has is a dimension of 1, put in afterwards. */
pl_value *pl_each_of(pl_import *m, const struct pl_op *op, const char *attrs, int n,
                     pl_value *const x[])
{
    const pl_shape *of[PL_MAX_OPERANDS] = { 0 };
    pl_value *in[PL_MAX_OPERANDS] = { 0 };
    pl_shape to;
    pl_text spec = { .arena = m->a };
    for (int k = 0; k < n; k++) {
        if (!x[k]) return NULL;
        of[k] = &x[k]->shape;
    }
    if (!pl_common_shape(m, n, of, &to)) return NULL;
    for (int k = 0; k < n; k++) {
        char letters[PL_LETTERS] = { 0 };
        in[k] = drop_repeated(m, x[k], &to, letters);
        if (!in[k]) return NULL;
        pl_text_add(&spec, "%s%s", k ? "," : "", letters);
    }
    pl_text_add(&spec, "->%s%s", pl_letters(m, 0, to.rank), attrs);
    return pl_add_value(m->b, op, NULL, pl_text_get(&spec), n, in);
}

/* -- reductions and small things --------------------------------------------------------------- */

pl_value *pl_reduced(pl_import *m, const struct pl_op *op, pl_value *x, unsigned axes, bool keep)
{
    char to[PL_LETTERS] = { 0 };
    if (!x) return NULL;
    pl_shape s = x->shape;
    int n = 0;
    for (int i = 0; i < x->shape.rank; i++) {
        if (!(axes >> i & 1)) to[n++] = pl_letter(i);
        if (axes >> i & 1) s.dim[i] = 1;
    }
    pl_value *y = x;
    if (axes)
        y = PL_ADD(m->b, op, pl_arena_fmt(m->a, "%s->%s", pl_letters(m, 0, x->shape.rank), to), x);
    return keep ? pl_shaped(m, y, &s) : y;
}

pl_value *pl_scaled(pl_import *m, pl_value *x, double by)
{
    return x ? PL_ADD(m->b, &pl_op_scale, pl_arena_fmt(m->a, "; value=%.17g", by), x) : NULL;
}

pl_value *pl_filled(pl_import *m, pl_type type, double x, const pl_shape *s)
{
    pl_text spec = { .arena = m->a };
    pl_text_add(&spec, "->%s; value=%.17g to=%s", pl_letters(m, 0, s->rank), x, pl_type_name(type));
    for (int i = 0; i < s->rank; i++)
        pl_text_add(&spec, " %c=%lld", pl_letter(i), (long long)s->dim[i]);
    return pl_add_value(m->b, &pl_op_fill, NULL, pl_text_get(&spec), 0, NULL);
}

pl_value *pl_constant(pl_import *m, pl_type type, double x)
{
    return pl_filled(m, type, x, &PL_SCALAR);
}

pl_value *pl_cast_to(pl_import *m, pl_value *x, pl_type type)
{
    if (!x || x->type == type) return x;
    return PL_ADD(m->b, &pl_op_cast, pl_arena_fmt(m->a, "; to=%s", pl_type_name(type)), x);
}
