/* Mappings of products: of matrices, einsum, Fourier transforms. */
#include "import/map.h"

#include "ops/list.h"

#include <ctype.h>
#include <math.h>
#include <string.h>

/* numpy.matmul: batches of a are letters from 'A' on, those of b end with the same; then a is m by
 * k, b is k by n. A batch of 1 that the other repeats is dropped. */
typedef struct side {
    pl_value *x;
    pl_text letters;
} side;

/* The batch dimensions of a side, of `most` that both have. */
static void add_batch(pl_import *m, side *s, int most, const pl_shape *batch)
{
    const int n = s->x->shape.rank - 2, lead = most - n;
    pl_shape kept = PL_SCALAR;
    for (int i = 0; i < n; i++) {
        if (s->x->shape.dim[i] == 1 && batch->dim[lead + i] != 1) continue;
        pl_text_add(&s->letters, "%c", pl_letter(lead + i));
        kept.dim[kept.rank++] = s->x->shape.dim[i];
    }
    for (int i = 0; i < 2; i++) kept.dim[kept.rank++] = s->x->shape.dim[n + i];
    s->x = pl_shaped(m, s->x, &kept);
}

/* The weight that y is, turned over: linear layers keep theirs as [out,in], and what reads the
 * weight itself is seen to be one. NULL: y is something else. */
static pl_value *find_turned(const pl_value *y)
{
    const pl_node *n = y->maker;
    return n && n->op == &pl_op_transpose && y->shape.rank == 2 && n->in[0]->role == PL_STATE
               ? n->in[0]
               : NULL;
}

static pl_value *matmul(pl_import *m, pl_value *x, pl_value *y)
{
    side a = { x, { .arena = m->a } }, b = { y, { .arena = m->a } };
    pl_shape batch_a = x->shape, batch_b = y->shape, batch;
    batch_a.rank -= 2, batch_b.rank -= 2;
    if (!pl_common_shape(m, 2, (const pl_shape *const[]){ &batch_a, &batch_b }, &batch))
        return NULL;
    add_batch(m, &a, batch.rank, &batch);
    add_batch(m, &b, batch.rank, &batch);
    if (!a.x || !b.x) return NULL;
    pl_value *turned = find_turned(b.x);
    const char *spec =
        pl_arena_fmt(m->a, "%smk,%s%s->%smn", pl_text_get(&a.letters), pl_text_get(&b.letters),
                     turned ? "nk" : "kn", pl_letters(m, 0, batch.rank));
    return PL_ADD(m->b, &pl_op_einsum, spec, a.x, turned ? turned : b.x);
}

bool pl_map_matmul(pl_import *m)
{
    pl_value *x = pl_in(m, 0), *y = pl_in(m, 1);
    if (!x || !y) return false;
    const bool row = x->shape.rank == 1, column = y->shape.rank == 1;
    if (!x->shape.rank || !y->shape.rank) return pl_map_fail(m, "a scalar is no matrix");
    if (row) x = pl_unsqueezed(m, x, 0);
    if (column) y = pl_unsqueezed(m, y, 1);
    pl_value *z = x && y ? pl_attended(m, x, y) : NULL;
    if (!z && x && y) z = matmul(m, x, y);
    if (z && column) z = pl_squeezed(m, z, z->shape.rank - 1);
    if (z && row) z = pl_squeezed(m, z, z->shape.rank - (column ? 1 : 2));
    pl_out(m, 0, z);
    return true;
}

bool pl_map_gemm(pl_import *m)
{
    pl_value *x = pl_in(m, 0), *y = pl_in(m, 1);
    const double alpha = pl_attr_real(m, "alpha", 1), beta = pl_attr_real(m, "beta", 1);
    if (!x || !y) return false;
    const char *spec = pl_arena_fmt(m->a, "%s,%s->mn", pl_attr_int(m, "transA", 0) ? "km" : "mk",
                                    pl_attr_int(m, "transB", 0) ? "nk" : "kn");
    pl_value *z = PL_ADD(m->b, &pl_op_einsum, spec, x, y);
    if (alpha < 1 || alpha > 1) z = pl_scaled(m, z, alpha);
    if (pl_has(m, 2) && (beta < 0 || beta > 0)) {
        pl_value *c = pl_in(m, 2);
        if (beta < 1 || beta > 1) c = pl_scaled(m, c, beta);
        z = PL_EACH(m, &pl_op_add, "", z, c);
    }
    pl_out(m, 0, z);
    return true;
}

/* -- einsum ------------------------------------------------------------------------------------ */

enum { MOST_TABLE = 1024 }; /* rows of a table */

pl_value *pl_table(pl_import *m, pl_type type, const pl_shape *s, const void *data)
{
    pl_tensor *t = PL_NEW(m->a, pl_tensor);
    *t = pl_tensor_of(type, s, data);
    t->name = "table";
    pl_item x = { .name = "table", .constant = t };
    return pl_item_value(m, &x);
}

static pl_value *identity(pl_import *m, int64_t n)
{
    if (n > MOST_TABLE) {
        pl_map_refuse(m, "a diagonal of %lld elements", (long long)n);
        return NULL;
    }
    float *data = PL_NEW_N(m->a, float, n *n);
    for (int64_t i = 0; i < n; i++) data[i * n + i] = 1;
    return pl_table(m, PL_F32, &PL_SHAPE(n, n), data);
}

/* An operand and the letters of its dimensions. */
typedef struct term {
    pl_value *x;
    char at[PL_MAX_RANK + 1];
} term;

typedef struct equation {
    const char *text;
    int n;
    term in[PL_MAX_OPERANDS];
    char out[PL_MAX_RANK + 1];
} equation;

/* Letters of the equation are small ones, in turn from 'a' on; those of "..." are capitals. */
typedef struct names {
    int n, dots; /* dimensions of the longest "..." */
    char of[128];
} names;

static bool name_letters(pl_import *m, const char *from, const char *end, int rank, names *known,
                         char to[])
{
    int n = 0, dots = 0;
    const int listed = (int)(end - from);
    for (const char *p = from; p < end; p++) dots += *p == '.';
    if (rank < 0) rank = listed - dots + (dots ? known->dots : 0);
    const int many = rank - (listed - dots);
    if ((dots && dots != 3) || many < 0 || (!dots && many) || rank > PL_MAX_RANK)
        return pl_map_fail(m, "'%.*s' of %d dimensions", listed, from, rank);
    if (many > known->dots) known->dots = many;
    for (; from < end; from++) {
        char *name = &known->of[*from & 127];
        if (*from == '.') {
            for (int i = 0; i < many; i++) to[n++] = pl_letter(PL_MAX_RANK - many + i);
            from += 2;
            continue;
        }
        if (!isalpha((unsigned char)*from)) return pl_map_fail(m, "'%c' is no letter", *from);
        if (!*name) *name = (char)('a' + known->n++);
        if (known->n > 25) return pl_map_refuse(m, "more than 25 letters");
        to[n++] = *name;
    }
    return true;
}

/* Without an arrow: the letters that are there once, in their order. */
static const char *implied(pl_import *m, const char *text)
{
    int count[128] = { 0 };
    pl_text out = { .arena = m->a };
    for (const char *p = text; *p; p++) count[*p & 127]++;
    pl_text_add(&out, "%s->%s", text, strstr(text, "...") ? "..." : "");
    for (int c = 'A'; c <= 'z'; c++)
        if (isalpha(c) && count[c] == 1) pl_text_add(&out, "%c", c);
    return pl_text_get(&out);
}

static bool read_equation(pl_import *m, equation *e)
{
    const char *given = pl_attr_text(m, "equation", "");
    pl_text plain = { .arena = m->a };
    names known = { 0 };
    for (; *given; given++)
        if (*given != ' ') pl_text_add(&plain, "%c", *given);
    e->text = pl_text_get(&plain);
    if (!strstr(e->text, "->")) e->text = implied(m, e->text);
    const char *at = e->text, *arrow = strstr(at, "->");
    for (;; at++) {
        const char *end = at + strcspn(at, ",-");
        if (e->n == m->n_in || e->n == PL_MAX_OPERANDS)
            return pl_map_fail(m, "equation '%s' of %d operands", e->text, m->n_in);
        term *t = &e->in[e->n];
        if (!(t->x = pl_in(m, e->n++))) return false;
        PL_TRY(name_letters(m, at, end, t->x->shape.rank, &known, t->at));
        if ((at = end) >= arrow) break;
    }
    if (e->n != m->n_in) return pl_map_fail(m, "equation '%s' of %d operands", e->text, m->n_in);
    return name_letters(m, arrow + 2, arrow + 2 + strlen(arrow + 2), -1, &known, e->out);
}

/* Of a letter that stands twice the diagonal: times ones there, summed. */
static void take_diagonals(pl_import *m, term *t)
{
    for (int i = 0; t->at[i] && t->x; i++) {
        char *again = strchr(t->at + i + 1, t->at[i]), from[PL_LETTERS + 1];
        if (!again) continue;
        memcpy(from, t->at, sizeof t->at);
        from[again - t->at] = 'z';
        memmove(again, again + 1, strlen(again));
        pl_value *one = identity(m, t->x->shape.dim[i]);
        if (one && t->x->type != PL_F32) one = pl_cast_to(m, one, t->x->type);
        t->x = one ? PL_ADD(m->b, &pl_op_einsum,
                            pl_arena_fmt(m->a, "%s,%cz->%s", from, t->at[i], t->at), t->x, one)
                   : NULL;
        i--;
    }
}

/* Is the letter in another operand, or the result? */
static bool is_needed(const equation *e, int k, char letter)
{
    bool needed = strchr(e->out, letter) != NULL;
    for (int i = 0; i < e->n; i++) needed |= i != k && strchr(e->in[i].at, letter) != NULL;
    return needed;
}

static int64_t size_of(const equation *e, char letter)
{
    int64_t most = 1;
    for (int k = 0; k < e->n; k++)
        for (int i = 0; e->in[k].at[i]; i++)
            if (e->in[k].at[i] == letter && e->in[k].x->shape.dim[i] > most)
                most = e->in[k].x->shape.dim[i];
    return most;
}

/* Summed over what it has alone; without dimensions of 1 that the others repeat. */
static void drop_letters(pl_import *m, equation *e, int k)
{
    term *t = &e->in[k];
    for (int i = (int)strlen(t->at) - 1; i >= 0 && t->x; i--) {
        const bool alone = !is_needed(e, k, t->at[i]);
        if (alone)
            t->x = pl_reduced(m, &pl_op_reduce_sum, t->x, 1u << i, false);
        else if (t->x->shape.dim[i] == 1 && size_of(e, t->at[i]) > 1)
            t->x = pl_squeezed(m, t->x, i);
        else
            continue;
        memmove(t->at + i, t->at + i + 1, strlen(t->at + i));
    }
}

/* The first two as one, with the letters that are needed beyond them. */
static void join_two(pl_import *m, equation *e)
{
    term *a = &e->in[0], *b = &e->in[1];
    char to[2 * PL_MAX_RANK + 1] = "";
    size_t n = 0;
    const char *lists[] = { a->at, b->at };
    e->n -= 2; /* so that only the rest is asked */
    equation rest = *e;
    memmove(rest.in, rest.in + 2, (size_t)rest.n * sizeof *rest.in);
    for (int l = 0; l < 2; l++)
        for (const char *p = lists[l]; *p; p++)
            if (!strchr(to, *p) && is_needed(&rest, -1, *p)) to[n++] = *p, to[n] = 0;
    if (n > PL_MAX_RANK) {
        pl_map_refuse(m, "equation '%s': more than %d dimensions on the way", e->text, PL_MAX_RANK);
        return;
    }
    rest.in[rest.n].x =
        PL_ADD(m->b, &pl_op_einsum, pl_arena_fmt(m->a, "%s,%s->%s", a->at, b->at, to), a->x, b->x);
    memcpy(rest.in[rest.n++].at, to, n + 1);
    *e = rest;
}

/* The letters that stand in the equation, spelled for our operator: at most three operands, each
 * letter of which another needs, none twice in one. */
bool pl_map_einsum(pl_import *m)
{
    equation e = { 0 };
    pl_text spec = { .arena = m->a };
    pl_value *in[PL_MAX_OPERANDS];
    PL_TRY(read_equation(m, &e));
    for (int k = 0; k < e.n; k++) take_diagonals(m, &e.in[k]);
    for (int k = 0; k < e.n && !m->b->err.code; k++) drop_letters(m, &e, k);
    while (e.n > 3 && !m->b->err.code) join_two(m, &e);
    for (int k = 0; k < e.n; k++) {
        pl_text_add(&spec, "%s%s", k ? "," : "", e.in[k].at);
        if (!(in[k] = e.in[k].x)) return false;
    }
    for (const char *p = e.out; *p; p++)
        if (!strchr(pl_text_get(&spec), *p))
            return pl_map_fail(m, "equation '%s': a letter of the result is in no operand", e.text);
    pl_text_add(&spec, "->%s", e.out);
    pl_out(m, 0, pl_add_value(m->b, &pl_op_einsum, NULL, pl_text_get(&spec), e.n, in));
    return true;
}

/* -- Fourier ----------------------------------------------------------------------------------- */

/* x by a table of cos or sin(2 pi j k / n), [n, columns], over dimension `axis`. */
static pl_value *turned(pl_import *m, pl_value *x, int axis, int64_t columns, bool sine)
{
    if (!x) return NULL;
    const int64_t n = x->shape.dim[axis];
    float *data = PL_NEW_N(m->a, float, n *columns);
    for (int64_t j = 0; j < n; j++)
        for (int64_t k = 0; k < columns; k++) {
            const double turn = 2 * 3.14159265358979323846 * (double)(j * k % n) / (double)n;
            data[j * columns + k] = (float)(sine ? sin(turn) : cos(turn));
        }
    pl_value *table = pl_table(m, PL_F32, &PL_SHAPE(n, columns), data);
    const char *from = pl_letters_with(m, x->shape.rank, axis, 'v'),
               *to = pl_letters_with(m, x->shape.rank, axis, 'k');
    return table ? PL_ADD(m->b, &pl_op_einsum, pl_arena_fmt(m->a, "%s,vk->%s", from, to), x,
                          pl_cast_to(m, table, x->type))
                 : NULL;
}

/* sum of x e^(-2 pi i j k / n), of x whose last dimension is its real part, or that and the
 * imaginary one: two sums of each. The inverse turns the other way and divides by n. */
static pl_value *transformed(pl_import *m, pl_value *x, int axis, int64_t columns, bool inverse)
{
    const int last = x->shape.rank - 1;
    pl_value *part[2], *re = pl_sliced(m, x, last, 0, 1);
    pl_value *im = x->shape.dim[last] == 2 ? pl_sliced(m, x, last, 1, 1) : NULL;
    const double sign = inverse ? 1 : -1;
    part[0] = turned(m, re, axis, columns, false);
    part[1] = pl_scaled(m, turned(m, re, axis, columns, true), sign);
    if (im) {
        pl_value *across = pl_scaled(m, turned(m, im, axis, columns, true), -sign);
        part[0] = PL_EACH(m, &pl_op_add, "", part[0], across);
        part[1] = PL_EACH(m, &pl_op_add, "", part[1], turned(m, im, axis, columns, false));
    }
    if (!part[0] || !part[1]) return NULL;
    pl_value *y = pl_joined(m, part, 2, last);
    return inverse ? pl_scaled(m, y, 1 / (double)x->shape.dim[axis]) : y;
}

/* Until opset 19 the axis is an attribute. */
bool pl_map_dft(pl_import *m)
{
    const bool old = m->onnx->file.opset < 20, onesided = pl_attr_int(m, "onesided", 0);
    const bool inverse = pl_attr_int(m, "inverse", 0);
    int64_t at = old ? pl_attr_int(m, "axis", 1) : -2, n;
    int axis;
    pl_value *x = pl_in(m, 0);
    if (!x) return false;
    const int rank = x->shape.rank;
    if (!old && pl_has(m, 2)) PL_TRY(pl_in_int(m, 2, &at));
    if (rank < 2 || x->shape.dim[rank - 1] > 2)
        return pl_map_fail(m, "%s is of no real or complex numbers",
                           pl_shape_text(m->a, x->type, &x->shape));
    PL_TRY(pl_axis(m, at, rank, &axis));
    if (axis == rank - 1) return pl_map_fail(m, "axis %d is that of the parts", axis);
    n = x->shape.dim[axis];
    if (pl_has(m, 1)) PL_TRY(pl_in_int(m, 1, &n));
    if (onesided && inverse) return pl_map_refuse(m, "the inverse of one side");
    if (n < 1 || n > MOST_TABLE) return pl_map_refuse(m, "of %lld elements", (long long)n);
    x = pl_padded(m, x, axis, 0, n - x->shape.dim[axis], 0, "constant");
    pl_out(m, 0, x ? transformed(m, x, axis, onesided ? n / 2 + 1 : n, inverse) : NULL);
    return true;
}
