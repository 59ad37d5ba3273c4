/* test/ops/shares.h - shares as plans make them: uneven parts of a factor; and a node again with
 * one factor written as two: "nc->n" becomes "n(cz)->n". Nothing else changes, so its outputs are
 * the same numbers; but now z can be cut alone, and a share's elements are no block of the whole.
 */
#ifndef PL_TEST_SHARES_H
#define PL_TEST_SHARES_H
#include "graph/op.h"

#include <stdlib.h>
#include <string.h>

/* Part p of `parts` of factor f: ceil(n / parts) positions in turn, the last parts shorter, or
 * empty, which gives false. */
static inline bool shares_cut(pl_share *s, int f, int parts, int p)
{
    int64_t chunk = s->factor[f].n;
    pl_range r = pl_range_part((pl_range){ 0, chunk }, &chunk, parts, p);
    if (r.n) pl_share_cut(s, f, r.lo, r.n);
    return r.n > 0;
}

static inline bool shares_is_window(const pl_sig *sig, int f)
{
    for (int w = 0; w < sig->n_windows; w++)
        if (sig->window[w].position == f || sig->window[w].tap == f) return true;
    return false;
}

static inline char shares_letter(const pl_node *n, char other)
{
    const char *c = "zqjwyxu";
    while (pl_sig_find(n->sig, *c) >= 0 || *c == other) c++;
    return *c;
}

/* Factor f becomes `major` and z where it stands; a digit, of "...", needs a letter for that. */
static inline void shares_operand(pl_text *t, const pl_node *n, int operand, int f, char major,
                                  char z)
{
    const pl_operand *o = &n->sig->operand[operand];
    const pl_factor *x = n->sig->factor;
    for (int j = 0; j < o->rank; j++) {
        const pl_sig_dim *d = &o->dim[j];
        const pl_window *w = d->window < 0 ? NULL : &n->sig->window[d->window];
        if (w) {
            pl_text_add(t, "[%c+%c]", x[w->position].letter, x[w->tap].letter);
            continue;
        }
        bool several = d->n > 1 || d->factor[0] == f;
        pl_text_add(t, several ? "(" : "");
        for (int k = 0; k < d->n; k++) {
            if (d->factor[k] == f)
                pl_text_add(t, "%c%c", major, z);
            else
                pl_text_add(t, "%c", x[d->factor[k]].letter);
        }
        pl_text_add(t, several ? ")" : "");
    }
}

/* The spec of n with factor f composed; NULL when f has a role, or a size that is prime. */
static inline const char *shares_spec(pl_arena *a, const pl_node *n, int f)
{
    const pl_factor *x = &n->sig->factor[f];
    int64_t minor = 2;
    while (minor < x->size && x->size % minor) minor++;
    if (!pl_share_can_cut(n, f) || x->lookup || shares_is_window(n->sig, f) || minor >= x->size)
        return NULL;
    bool digit = x->letter >= '0' && x->letter <= '9';
    char z = shares_letter(n, 0), major = digit ? shares_letter(n, z) : x->letter;
    pl_text t = { .arena = a };
    for (int o = 0; o < n->n_in + n->n_out; o++) {
        pl_text_add(&t, "%s", o == n->n_in ? "->" : o ? "," : "");
        shares_operand(&t, n, o, f, major, z);
    }
    pl_text_add(&t, "; %c=%lld %c=%lld", major, (long long)(x->size / minor), z, (long long)minor);
    for (int i = 0; i < n->n_attrs; i++)
        if (n->attr[i].name[0] != x->letter || n->attr[i].name[1])
            pl_text_add(&t, " %s=%s", n->attr[i].name, n->attr[i].text);
    return pl_text_get(&t);
}

/* A node like n with factor f composed, over inputs of the same shapes; NULL when the operator
 * wants f in one letter, or shares_spec does. */
static inline const pl_node *shares_compose(pl_arena *a, const struct pl_ops *ops, const pl_node *n,
                                            int f)
{
    const char *spec = shares_spec(a, n, f);
    pl_builder b = pl_builder_new(a, ops, "composed");
    pl_value *in[PL_MAX_OPERANDS];
    for (int k = 0; k < n->n_in; k++)
        in[k] = pl_add_input(&b, pl_builder_fmt(&b, "x%d", k), n->in[k]->type, n->in[k]->shape);
    return spec ? pl_add_node(&b, n->op, "y", spec, n->n_in, in) : NULL;
}

#endif
