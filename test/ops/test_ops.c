/* Every operator, checked by execution on each of its examples: shapes and text form, gradient
 * against central differences, every cut against the whole, and the claims linear, elementwise,
 * inplace, view. The inputs are Philox numbers; a failure names operator, example, cut and seed. */
#include "eval.h"
#include "shares.h"
#include "graph/autodiff.h"
#include "graph/walk.h"
#include "ops/lib/all.h"
#include "ops/list.h"
#include "support/operands.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

/* One example of one operator. */
typedef struct trial {
    const pl_op *op;
    const pl_example *example;
    int index; /* of the example                       */
    int n_in;
    uint64_t seed;
    int checks, failed;     /* so far                               */
    int cuttable, composed; /* factors                          */
    pl_arena *arena;
} trial;

static bool check(trial *t, bool ok, const char *fmt, ...) PL_PRINTF(3, 4);
static bool check(trial *t, bool ok, const char *fmt, ...)
{
    t->checks++;
    if (ok) return true;
    if (t->failed++ < 8) {
        char text[1200];
        va_list ap;
        va_start(ap, fmt);
        vsnprintf(text, sizeof text, fmt, ap);
        va_end(ap);
        print_error("%s, example %d \"%s\", seed %llu: %s\n", t->op->name, t->index,
                    t->example->spec ? t->example->spec : "", (unsigned long long)t->seed, text);
    }
    return false;
}

/* -- graphs of an example ---------------------------------------------------------------------- */

static bool is_end(const pl_example *x)
{
    return !x->spec && x->in[0].rank == 0 && !x->in[0].type;
}

static void add_inputs(trial *t, pl_builder *b, pl_value *in[])
{
    for (int k = 0; k < t->n_in; k++) {
        pl_shape shape = { .rank = t->example->in[k].rank };
        pl_type type = PL_F32;
        const char *name = t->example->in[k].type;
        memcpy(shape.dim, t->example->in[k].dim, sizeof shape.dim);
        check(t, !name || pl_type_find(name, &type), "unknown type '%s'", name);
        in[k] = pl_add_input(b, pl_builder_fmt(b, "x%d", k), type, shape);
    }
}

/* The inputs and one node, all of whose outputs are reported. */
static pl_graph *make_node(trial *t)
{
    pl_builder b = pl_builder_new(t->arena, &pl_ops_all, t->op->name);
    pl_value *in[PL_MAX_OPERANDS];
    pl_err err = { 0 };
    pl_graph *g = NULL;
    add_inputs(t, &b, in);
    pl_node *n = pl_add_node(&b, t->op, "y", t->example->spec, t->n_in, in);
    for (int i = 0; n && i < n->n_out; i++) pl_add_output(&b, n->out[i]->name, n->out[i]);
    bool ok = pl_builder_done(&b, &g, &err);
    check(t, ok, "%s", err.msg);
    return g;
}

static void fill_input(const trial *t, int k, uint64_t round, const pl_value *v, void *array)
{
    pl_rng r = pl_rng_at(t->seed, pl_rng_mix((uint64_t)k, round));
    eval_random(v->type, &v->shape, array, r, t->example->in[k].lo, t->example->in[k].hi);
}

/* -- text form --------------------------------------------------------------------------------- */

static void check_text(trial *t, const pl_graph *g)
{
    pl_err err = { 0 };
    pl_graph *again = NULL;
    pl_text first = { .arena = t->arena }, second = first;
    check(t, pl_graph_check(g, &err), "check: %s", err.msg);
    pl_graph_print(g, &first);
    bool ok = pl_graph_parse(pl_text_get(&first), &pl_ops_all, t->arena, &again, &err);
    if (!check(t, ok, "parsing the printed graph: %s\n%s", err.msg, pl_text_get(&first))) return;
    pl_graph_print(again, &second);
    check(t, !strcmp(pl_text_get(&first), pl_text_get(&second)),
          "printed\n%sparsed and printed\n%s", pl_text_get(&first), pl_text_get(&second));
}

/* -- gradient ---------------------------------------------------------------------------------- */

/* loss = sum over the outputs of sum(output * weight); weights are inputs of random numbers. */
typedef struct lossy {
    pl_graph *g;
    pl_value *in[PL_MAX_OPERANDS], *grad[PL_MAX_OPERANDS];
    pl_value *y[PL_MAX_OPERANDS], *w[PL_MAX_OPERANDS];
    int n_y, n_forward; /* outputs with a weight; nodes up to the loss */
} lossy;

static pl_value *add_loss(trial *t, pl_builder *b, lossy *l)
{
    pl_value *loss = NULL;
    if (t->example->build) {
        l->y[l->n_y] = t->example->build(b, t->example->spec, l->in);
        l->n_y += l->y[0] != NULL;
    } else {
        const pl_node *n = pl_add_node(b, t->op, "y", t->example->spec, t->n_in, l->in);
        for (int i = 0; n && i < n->n_out; i++)
            if (pl_type_is_float(n->out[i]->type)) l->y[l->n_y++] = n->out[i];
    }
    for (int i = 0; i < l->n_y && !b->err.code; i++) {
        l->w[i] = pl_add_input(b, pl_builder_fmt(b, "w%d", i), l->y[i]->type, l->y[i]->shape);
        pl_value *part = PL_ADD(b, &pl_op_einsum, "...,...->", l->y[i], l->w[i]);
        loss = loss ? PL_ADD(b, &pl_op_add, NULL, loss, part) : part;
    }
    return loss;
}

/* False when there is nothing to differentiate. */
static bool make_loss(trial *t, lossy *l)
{
    pl_builder b = pl_builder_new(t->arena, &pl_ops_all, t->op->name);
    pl_value *wrt[PL_MAX_OPERANDS], *grad[PL_MAX_OPERANDS];
    int k_of[PL_MAX_OPERANDS], n_wrt = 0;
    pl_err err = { 0 };
    add_inputs(t, &b, l->in);
    pl_value *loss = add_loss(t, &b, l);
    for (int k = 0; k < t->n_in && !b.err.code; k++)
        if (pl_type_is_float(l->in[k]->type)) k_of[n_wrt] = k, wrt[n_wrt++] = l->in[k];
    if (!b.err.code && (!loss || !n_wrt)) return false;
    if (!b.err.code) pl_add_output(&b, "loss", loss);
    if (!b.err.code) pl_autodiff(&b, loss, n_wrt, wrt, grad);
    for (int i = 0; i < n_wrt && !b.err.code; i++) {
        pl_value *copy = grad[i]; /* an output of its own: a gradient may be an input as it is */
        if (!copy) continue;
        check(t, copy->type == wrt[i]->type && pl_shape_same(&copy->shape, &wrt[i]->shape),
              "the gradient of input %d is %s", k_of[i],
              pl_shape_text(t->arena, copy->type, &copy->shape));
        l->grad[k_of[i]] = copy;
        if (copy->role == PL_COMPUTED) pl_add_output(&b, pl_builder_fmt(&b, "dx%d", k_of[i]), copy);
    }
    bool ok = pl_builder_done(&b, &l->g, &err);
    if (check(t, ok, "gradient: %s", err.msg)) l->n_forward = loss->maker->id + 1;
    return ok;
}

/* The loss in double, from the outputs of the forward nodes. */
static double find_loss(const lossy *l, eval *e)
{
    double sum = 0;
    eval_run(e, l->n_forward);
    for (int i = 0; i < l->n_y; i++)
        for (int64_t j = 0; j < pl_shape_count(&l->y[i]->shape); j++)
            sum += pl_type_get(l->y[i]->type, e->at[l->y[i]->id], j) *
                   pl_type_get(l->w[i]->type, e->at[l->w[i]->id], j);
    return sum;
}

static double central_difference(const lossy *l, eval *e, int k, int64_t i)
{
    const double eps = 4e-3;
    float *x = (float *)e->at[l->in[k]->id] + i, here = *x;
    volatile float up = (float)(here + eps), down = (float)(here - eps);
    *x = up;
    double high = find_loss(l, e);
    *x = down;
    double low = find_loss(l, e);
    *x = here;
    return (high - low) / ((double)up - (double)down);
}

/* At most 160 elements of input k. Bound: 1 % of the two numbers, 0.2 % of the largest gradient. */
static void compare_gradient(trial *t, const lossy *l, eval *e, int k)
{
    const pl_value *x = l->in[k], *dx = l->grad[k];
    int64_t n = pl_shape_count(&x->shape), step = n > 160 ? n / 160 | 1 : 1;
    double top = 0;
    eval_run(e, l->g->nodes.n);
    float *grad = calloc((size_t)n, sizeof *grad);
    PL_ASSERT(grad);
    if (dx) memcpy(grad, e->at[dx->id], (size_t)n * sizeof *grad);
    for (int64_t i = 0; i < n; i++) top = fmax(top, fabs((double)grad[i]));
    for (int64_t i = 0; i < n; i += step) {
        double want = central_difference(l, e, k, i), found = (double)grad[i];
        double bound = 1e-2 * fmax(fabs(want), fabs(found)) + 2e-3 * top + 2e-4;
        check(t, fabs(want - found) <= bound,
              "gradient of input %d at %lld is %g, central difference %g%s", k, (long long)i, found,
              want, dx ? "" : " (the operator gives no gradient)");
    }
    free(grad);
}

static bool is_exact(const lossy *l, int n_in) /* bf16 steps are larger than the differences */
{
    bool f32 = true;
    for (int i = 0; i < l->n_y; i++) f32 &= l->y[i]->type == PL_F32;
    for (int k = 0; k < n_in; k++) f32 &= l->in[k]->type != PL_BF16;
    return f32;
}

static void check_gradient(trial *t)
{
    lossy l = { 0 };
    if (!make_loss(t, &l)) return;
    check_text(t, l.g);
    if (!is_exact(&l, t->n_in)) return;
    eval e = eval_new(l.g);
    for (int k = 0; k < t->n_in; k++) fill_input(t, k, 0, l.in[k], e.at[l.in[k]->id]);
    for (int i = 0; i < l.n_y; i++)
        eval_random(l.w[i]->type, &l.w[i]->shape, e.at[l.w[i]->id],
                    pl_rng_at(t->seed, 1000 + (uint64_t)i), 0, 0);
    for (int k = 0; k < t->n_in; k++)
        if (pl_type_is_float(l.in[k]->type)) compare_gradient(t, &l, &e, k);
    eval_free(&e);
}

/* -- cuts -------------------------------------------------------------------------------------- */

/* The outputs as the shares make them: parts placed or combined, element by element. */
typedef struct joined {
    double *value[PL_MAX_OPERANDS];
    int *times[PL_MAX_OPERANDS]; /* how many shares gave the element */
} joined;

static joined joined_new(const pl_node *n)
{
    joined j = { 0 };
    for (int i = 0; i < n->n_out; i++) {
        size_t count = (size_t)pl_shape_count(&n->out[i]->shape);
        j.value[i] = calloc(count, sizeof(double));
        j.times[i] = calloc(count, sizeof(int));
        PL_ASSERT(j.value[i] && j.times[i]);
    }
    return j;
}

static void joined_free(joined *j, int n_out)
{
    for (int i = 0; i < n_out; i++) {
        free(j->value[i]);
        free(j->times[i]);
    }
}

static double combine(pl_monoid m, double a, double b)
{
    return m == PL_SUM ? a + b : m == PL_MAX ? fmax(a, b) : fmin(a, b);
}

static void add_part(joined *j, const pl_share *s, int i, const void *part)
{
    const pl_node *n = s->node;
    pl_globals where;
    pl_share_globals(s, n->n_in + i, &where);
    for (int64_t k = 0, count = pl_shape_count(pl_share_out(s, i)); k < count; k++) {
        int64_t at = pl_globals_at(&where, k);
        double x = pl_type_get(n->out[i]->type, part, k);
        PL_ASSERT_CMP(at, <, pl_shape_count(&n->out[i]->shape));
        j->value[i][at] = j->times[i][at]++ ? combine(n->op->monoid, j->value[i][at], x) : x;
    }
}

static void run_part(trial *t, const pl_share *s, const eval *e, joined *j)
{
    const pl_node *n = s->node;
    void *in[PL_MAX_OPERANDS], *kept[PL_MAX_OPERANDS], *out[PL_MAX_OPERANDS];
    for (int k = 0; k < n->n_in; k++) {
        size_t bytes = eval_bytes(n->in[k]->type, &s->shape[k]);
        in[k] = eval_alloc(bytes);
        kept[k] = eval_alloc(bytes);
        pl_share_take(s, k, e->at[n->in[k]->id], in[k]);
        memcpy(kept[k], in[k], bytes);
    }
    for (int i = 0; i < n->n_out; i++)
        out[i] = eval_alloc(eval_bytes(n->out[i]->type, pl_share_out(s, i)));
    eval_share(s, (const void *const *)in, out);
    double flops = n->op->flops ? n->op->flops(s) : pl_op_flops(s);
    check(t, flops >= 0 && flops < 1e12, "%g flops", flops);
    for (int k = 0; k < n->n_in; k++) {
        check(t, !memcmp(in[k], kept[k], eval_bytes(n->in[k]->type, &s->shape[k])),
              "the kernel writes into input %d", k);
        free(in[k]);
        free(kept[k]);
    }
    for (int i = 0; i < n->n_out; i++) {
        add_part(j, s, i, out[i]);
        free(out[i]);
    }
}

/* Integers are equal. Floats: 1e-5 of the number and of the largest one; bf16 has 8 bits. */
static bool is_near(pl_type t, double a, double b, double top)
{
    if (a == b || (isnan(a) && isnan(b))) return true;
    if (!pl_type_is_float(t)) return false;
    return fabs(a - b) <= (t == PL_BF16 ? 2e-2 : 1e-5) * (fabs(b) + top);
}

static double find_top(pl_type t, const void *array, int64_t n)
{
    double top = 1e-2;
    for (int64_t i = 0; i < n; i++) {
        double x = fabs(pl_type_get(t, array, i));
        if (isfinite(x)) top = fmax(top, x);
    }
    return top;
}

static void compare_joined(trial *t, const pl_node *n, const eval *e, const joined *j,
                           const int n_shares[], const char *cut)
{
    for (int i = 0; i < n->n_out; i++) {
        const pl_value *v = n->out[i];
        int64_t count = pl_shape_count(&v->shape), wrong = -1, missed = -1;
        double top = find_top(v->type, e->at[v->id], count);
        for (int64_t k = count - 1; k >= 0; k--) {
            if (j->times[i][k] != n_shares[i]) missed = k;
            if (!is_near(v->type, j->value[i][k], pl_type_get(v->type, e->at[v->id], k), top))
                wrong = k;
        }
        check(t, missed < 0, "%s: element %lld of output %d comes from %d shares, not %d", cut,
              (long long)missed, i, missed < 0 ? 0 : j->times[i][missed], n_shares[i]);
        check(t, wrong < 0, "%s: element %lld of output %d is %.9g, whole %.9g", cut,
              (long long)wrong, i, wrong < 0 ? 0 : j->value[i][wrong],
              wrong < 0 ? 0 : pl_type_get(v->type, e->at[v->id], wrong));
    }
}

/* Factor `factor` cut into `parts`; the second of two cuts of a factor cuts what the first left. */
typedef struct cut {
    int factor, parts;
} cut;

enum { MAX_CUTS = 2 };

/* The share with these coordinates; false: it is empty. Parts are those of a placement: ceil(n /
 * parts) positions in turn, the last ones fewer. */
static bool find_share(const pl_node *n, int n_cuts, const cut cuts[], const int me[],
                       pl_share *share)
{
    int64_t chunk[PL_MAX_FACTORS];
    *share = pl_share_whole(n);
    for (int f = 0; f < n->sig->n_factors; f++) chunk[f] = n->sig->factor[f].size;
    for (int i = 0; i < n_cuts; i++) {
        int f = cuts[i].factor;
        pl_range whole = share->factor[f];
        pl_range r = pl_range_part(whole, &chunk[f], cuts[i].parts, me[i]);
        if (!r.n) return false;
        pl_share_cut(share, f, r.lo - whole.lo, r.n);
    }
    return true;
}

/* Every share of the cuts that is not empty, against the whole. */
static void check_cut(trial *t, const pl_node *n, const eval *e, int n_cuts, const cut cuts[])
{
    joined j = joined_new(n);
    int n_shares[PL_MAX_OPERANDS] = { 0 }, total = 1;
    pl_text name = { .arena = t->arena };
    for (int i = 0; i < n_cuts; i++) {
        total *= cuts[i].parts;
        pl_text_add(&name, "%s%c cut into %d", i ? ", " : "", n->sig->factor[cuts[i].factor].letter,
                    cuts[i].parts);
    }
    for (int k = 0; k < total; k++) {
        int me[MAX_CUTS], rest = k;
        pl_share s;
        for (int i = 0; i < n_cuts; rest /= cuts[i++].parts) me[i] = rest % cuts[i].parts;
        if (!find_share(n, n_cuts, cuts, me, &s)) continue;
        run_part(t, &s, e, &j);
        for (int i = 0; i < n->n_out; i++) { /* an element comes from each part of what it lacks */
            bool first = true;
            for (int c = 0; c < n_cuts; c++)
                first &= !me[c] || !pl_share_touches(n, n->n_in + i, cuts[c].factor);
            n_shares[i] += first;
        }
    }
    compare_joined(t, n, e, &j, n_shares, pl_text_get(&name));
    joined_free(&j, n->n_out);
}

/* Each factor in halves, thirds, single positions and halves of halves; each two in halves and
 * thirds. Few sizes are multiples of all of these, so many parts are shorter than others. */
static void check_cuts(trial *t, const pl_node *n, const eval *e)
{
    for (int f = 0; f < n->sig->n_factors; f++) {
        int64_t size = n->sig->factor[f].size;
        if (!pl_share_can_cut(n, f)) continue;
        check_cut(t, n, e, 1, (cut[]){ { f, 2 } });
        if (size > 2) check_cut(t, n, e, 1, (cut[]){ { f, 3 } });
        if (size > 2) check_cut(t, n, e, 2, (cut[]){ { f, 2 }, { f, 2 } });
        if (size > 3 && size < 20) check_cut(t, n, e, 1, (cut[]){ { f, (int)size } });
        for (int g = f + 1; g < n->sig->n_factors; g++) {
            if (!pl_share_can_cut(n, g)) continue;
            check_cut(t, n, e, 2, (cut[]){ { f, 2 }, { g, 2 } });
            if (size > 2) check_cut(t, n, e, 2, (cut[]){ { f, 3 }, { g, 2 } });
            if (n->sig->factor[g].size > 2) check_cut(t, n, e, 2, (cut[]){ { f, 2 }, { g, 3 } });
        }
    }
}

/* The same node with one factor written as two: the same outputs, and every cut again. */
static void check_composed(trial *t, const pl_graph *g, const eval *e)
{
    const pl_node *n = g->nodes.at[0];
    for (int f = 0; f < n->sig->n_factors; f++) {
        t->cuttable += pl_share_can_cut(n, f) && !shares_is_window(n->sig, f);
        const pl_node *c = shares_compose(t->arena, &pl_ops_all, n, f);
        if (!c) continue;
        eval same = { g, eval_alloc(sizeof(void *) * (size_t)(g->values.n + 1)) };
        for (int k = 0; k < n->n_in; k++) same.at[c->in[k]->id] = e->at[n->in[k]->id];
        for (int i = 0; i < n->n_out; i++) same.at[c->out[i]->id] = e->at[n->out[i]->id];
        check_cut(t, c, &same, 0, NULL);
        check_cuts(t, c, &same);
        free(same.at);
        t->composed++;
    }
}

/* -- claims ------------------------------------------------------------------------------------ */

/* Is input k in the set, and of a kind that can be summed: an index cannot. */
static bool is_in_set(const pl_node *n, const char *set, size_t len, int k)
{
    bool index = !pl_type_is_float(n->in[k]->type) && pl_type_is_float(n->out[0]->type);
    return !index && memchr(set, '0' + k, len);
}

/* f(x + x') = f(x) + f(x') where x and x' differ in the inputs of the set. */
static void check_linear_set(trial *t, const pl_graph *g, const char *set, size_t len)
{
    const pl_node *n = g->nodes.at[0];
    eval e[3];
    bool any = false, rounded = false; /* the sum of the inputs is */
    for (int r = 0; r < 3; r++) {
        e[r] = eval_new(g);
        for (int k = 0; k < n->n_in; k++) {
            const pl_value *v = n->in[k];
            bool in = is_in_set(n, set, len, k);
            any |= in;
            rounded |= in && v->type == PL_BF16;
            fill_input(t, k, in && r == 1 ? 1 : 0, v, e[r].at[v->id]);
            for (int64_t i = 0; in && r == 2 && i < pl_shape_count(&v->shape); i++)
                pl_type_put(v->type, e[2].at[v->id], i,
                            pl_type_get(v->type, e[0].at[v->id], i) +
                                pl_type_get(v->type, e[1].at[v->id], i));
        }
        eval_run(&e[r], 1);
    }
    for (int o = 0; any && o < n->n_out; o++) {
        const pl_value *v = n->out[o];
        double top = find_top(v->type, e[2].at[v->id], pl_shape_count(&v->shape));
        for (int64_t i = 0; i < pl_shape_count(&v->shape); i++) {
            double a = pl_type_get(v->type, e[0].at[v->id], i),
                   b = pl_type_get(v->type, e[1].at[v->id], i),
                   c = pl_type_get(v->type, e[2].at[v->id], i);
            pl_type type = rounded ? PL_BF16 : v->type;
            check(t, is_near(type, c, a + b, top + fabs(a) + fabs(b)),
                  "not linear in \"%.*s\": output %d at %lld: f(x+x') is %g, f(x)+f(x') %g",
                  (int)len, set, o, (long long)i, c, a + b);
        }
    }
    for (int r = 0; r < 3; r++) eval_free(&e[r]);
}

static void check_linear(trial *t, const pl_graph *g)
{
    const pl_node *n = g->nodes.at[0];
    if (n->n_in && pl_type_is_float(n->in[0]->type) && !pl_type_is_float(n->out[0]->type))
        return; /* op.h */
    for (const char *set = t->op->linear; set && *set; set += *set == '|') {
        size_t len = strcspn(set, "|");
        check_linear_set(t, g, set, len);
        set += len;
    }
}

/* Output 0 over input i gives the bytes that it gives elsewhere. */
static void check_over(trial *t, const pl_node *n, const eval *e, int i)
{
    const pl_value *x = n->in[i], *y = n->out[0];
    if (!pl_share_same_index(n, i, n->n_in) || x->type != y->type) return;
    size_t bytes = eval_bytes(x->type, &x->shape);
    pl_share s = pl_share_whole(n);
    const void *in[PL_MAX_OPERANDS];
    void *out[PL_MAX_OPERANDS], *same = eval_alloc(bytes);
    memcpy(same, e->at[x->id], bytes);
    for (int k = 0; k < n->n_in; k++) in[k] = k == i ? same : e->at[n->in[k]->id];
    for (int o = 0; o < n->n_out; o++)
        out[o] = o ? eval_alloc(eval_bytes(n->out[o]->type, &n->out[o]->shape)) : same;
    n->op->ref(&s, in, out);
    check(t, !memcmp(same, e->at[y->id], bytes), "not elementwise: other bytes over input %d", i);
    for (int o = 0; o < n->n_out; o++) free(out[o]);
}

static void check_view(trial *t, const pl_node *n, const eval *e)
{
    const pl_value *x = n->in[0], *y = n->out[0];
    size_t bytes = eval_bytes(y->type, &y->shape);
    bool same = eval_bytes(x->type, &x->shape) == bytes;
    check(t, same && !memcmp(e->at[x->id], e->at[y->id], bytes),
          "not a view: output and input have other bytes");
}

static void check_claims(trial *t, const pl_graph *g, const eval *e)
{
    const pl_node *n = g->nodes.at[0];
    check_linear(t, g);
    for (int i = 0; t->op->elementwise && i < n->n_in; i++) check_over(t, n, e, i);
    if (t->op->view) check_view(t, n, e);
    eval again = eval_new(g);
    for (int k = 0; k < n->n_in; k++)
        memcpy(again.at[n->in[k]->id], e->at[n->in[k]->id],
               eval_bytes(n->in[k]->type, &n->in[k]->shape));
    eval_run(&again, 1);
    for (int i = 0; i < n->n_out; i++)
        check(t,
              !memcmp(again.at[n->out[i]->id], e->at[n->out[i]->id],
                      eval_bytes(n->out[i]->type, &n->out[i]->shape)),
              "a second run gives other bytes in output %d", i);
    eval_free(&again);
}

/* -- all of it --------------------------------------------------------------------------------- */

static void check_example(trial *t)
{
    t->n_in = count_inputs(t->op, t->example);
    t->seed = pl_rng_mix(pl_rng_name(t->op->name), (uint64_t)t->index);
    pl_graph *g = make_node(t);
    if (!g) return;
    const pl_node *n = g->nodes.at[0];
    eval e = eval_new(g);
    check_text(t, g);
    for (int k = 0; k < n->n_in; k++) fill_input(t, k, 0, n->in[k], e.at[n->in[k]->id]);
    eval_run(&e, 1);
    check_cut(t, n, &e, 0, NULL); /* the whole as its only share: no input is written */
    check_cuts(t, n, &e);
    check_composed(t, g, &e);
    check_claims(t, g, &e);
    if (t->op->grad) check_gradient(t);
    eval_free(&e);
}

static void check_op(void **state)
{
    trial t = { .op = *state };
    if (!t.op->ref || !t.op->examples || is_end(t.op->examples))
        fail_msg("%s needs a reference kernel and at least one example", t.op->name);
    for (t.example = t.op->examples; !is_end(t.example); t.example++, t.index++) {
        t.arena = pl_arena_new("test");
        check_example(&t);
        pl_arena_free(t.arena);
    }
    print_message("%-22s %2d examples %6d checks, %2d composed%s\n", t.op->name, t.index, t.checks,
                  t.composed, t.op->grad ? ", gradient" : "");
    if (t.cuttable && !t.composed)
        fail_msg("%s: give an example a letter whose size is not prime", t.op->name);
    if (t.failed) fail_msg("%s: %d of %d checks failed", t.op->name, t.failed, t.checks);
}

int main(void)
{
    struct CMUnitTest *tests = calloc((size_t)pl_ops_all.n, sizeof *tests);
    PL_ASSERT(tests);
    for (int i = 0; i < pl_ops_all.n; i++) {
        const pl_op *op = pl_ops_all.at[i];
        tests[i] = (struct CMUnitTest){ op->name, check_op, NULL, NULL, (void *)(uintptr_t)op };
    }
    int failed = _cmocka_run_group_tests("ops", tests, (size_t)pl_ops_all.n, NULL, NULL);
    free(tests);
    return failed;
}
