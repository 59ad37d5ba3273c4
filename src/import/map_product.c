/* Mappings of products: of matrices, einsum. */
#include "import/map.h"

#include "ops/list.h"

#include <ctype.h>
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
    const char *spec = pl_arena_fmt(m->a, "%smk,%skn->%smn", pl_text_get(&a.letters),
                                    pl_text_get(&b.letters), pl_letters(m, 0, batch.rank));
    return PL_ADD(m->b, &pl_op_einsum, spec, a.x, b.x);
}

bool pl_map_matmul(pl_import *m)
{
    pl_value *x = pl_in(m, 0), *y = pl_in(m, 1);
    if (!x || !y) return false;
    const bool row = x->shape.rank == 1, column = y->shape.rank == 1;
    if (!x->shape.rank || !y->shape.rank) return pl_map_fail(m, "a scalar is no matrix");
    if (row) x = pl_unsqueezed(m, x, 0);
    if (column) y = pl_unsqueezed(m, y, 1);
    pl_value *z = x && y ? matmul(m, x, y) : NULL;
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

/* The equation is ours but for blanks, an output that is left out, and "...". */
bool pl_map_einsum(pl_import *m)
{
    const char *text = pl_attr_text(m, "equation", "");
    int count[128] = { 0 };
    bool arrow = false;
    pl_text spec = { .arena = m->a };
    pl_value *in[PL_MAX_OPERANDS];
    if (m->n_in > PL_MAX_OPERANDS - 1) return pl_map_refuse(m, "%d operands", m->n_in);
    for (int k = 0; k < m->n_in; k++)
        if (!(in[k] = pl_in(m, k))) return false;
    for (const char *at = text; *at; at++) {
        if (*at == ' ') continue;
        if (!strchr(",.->", *at) && !isalpha((unsigned char)*at))
            return pl_map_fail(m, "equation '%s': '%c'", text, *at);
        if (*at == '>') arrow = true;
        if (isalpha((unsigned char)*at) && !arrow) count[(int)*at]++;
        pl_text_add(&spec, "%c", *at);
    }
    if (!arrow) {
        pl_text_add(&spec, "->%s", strstr(text, "...") ? "..." : "");
        for (int c = 0; c < 128; c++)
            if (count[c] == 1) pl_text_add(&spec, "%c", c);
    }
    for (const char *at = pl_text_get(&spec), *from = at; *at; at++) {
        if (*at == ',' || *at == '-') from = at + 1;
        for (const char *p = from; p < at; p++)
            if (isalpha((unsigned char)*at) && *p == *at)
                return pl_map_refuse(m, "equation '%s': a diagonal ('%c' twice in an operand)",
                                     text, *at);
    }
    pl_out(m, 0, pl_add_value(m->b, &pl_op_einsum, NULL, pl_text_get(&spec), m->n_in, in));
    return true;
}
