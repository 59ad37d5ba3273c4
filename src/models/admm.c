/* A sweep of ADMM over a recurrent net. What the net's equations would set, a_t, s_t and o, are
 * variables of their own, for each row of the batch; what they break of their equations is
 * penalised, and for the last step dualised:
 *
 *   L = sum over rows of loss(o, y)
 *       + w_t/2 |a_t - U x_t - W s_{t-1} - b - l1_t|^2 + w_t/2 |s_t - tanh(a_t) - l2_t|^2
 *       + rho/2 |o - V s_T - c - l3|^2
 *
 * with w_t = nu and no multipliers before the last step T, w_T = rho there. Each block of variables
 * in turn goes to where L is least, or lower, with the others as they are: backwards o, (V, c), s,
 * a, (U, W, b), then forwards (U, W, b), a and s step by step, (V, c), o; then the multipliers move
 * by what is left.
 * Weights are ridge least squares whose Gram matrices are sums over rows, so that ranks that share
 * the rows add these and no more. With age=S weights go by the sums of S sweeps before, which are
 * states: what ranks send of a sweep goes on beside its rest. All ranks have the same weights, so
 * that a sum is as old to the rank that has its rows as to others. The first S sweeps leave the
 * weights as they are.
 * Source: Tang et al., "ADMMiRNN: training RNN with stable convergence via an efficient ADMM
 * approach", ECML 2020, and its parallel versions (SP: age=0; AP, asynchronous: age bounded, here
 * fixed); Wang et al., dlADMM, KDD 2019 (backward, forward). Signs and the block of s are from the
 * derivation: the public code has others, and does not learn. */
#include "models/admm.h"
#include "ops/list.h"

enum { LOSS_STEPS = 20, TANH_STEPS = 2 }; /* of what has no closed form, in a sweep */

typedef struct admm {
    pl_builder *b;
    const pl_elman *net;
    double nu, rho, near;
    int64_t age;
    pl_value *u, *w, *bias, *v, *c; /* as the sweep has them so far */
    pl_value *a[PL_ADMM_STEPS], *s[PL_ADMM_STEPS], *o;
    pl_value *l1, *l2, *l3; /* multipliers by rho: [rows, hidden] twice, [rows, classes] */
    pl_value *y;            /* labels, one-hot */
} admm;

/* -- arithmetic -------------------------------------------------------------------------------- */

static pl_value *plus(admm *m, pl_value *x, pl_value *y)
{
    return PL_ADD(m->b, &pl_op_add, NULL, x, y);
}

static pl_value *minus(admm *m, pl_value *x, pl_value *y)
{
    return PL_ADD(m->b, &pl_op_sub, NULL, x, y);
}

static pl_value *times(admm *m, pl_value *x, pl_value *y)
{
    return PL_ADD(m->b, &pl_op_mul, NULL, x, y);
}

static pl_value *scaled(admm *m, double by, pl_value *x)
{
    return by == 1 ? x : PL_ADD(m->b, &pl_op_scale, pl_builder_fmt(m->b, "; value=%.17g", by), x);
}

/* x w^T + c of x [n, k], w [m, k] and c [m]. */
static pl_value *affine(admm *m, pl_value *x, pl_value *w, pl_value *c)
{
    x = PL_ADD(m->b, &pl_op_einsum, "nk,mk->nm", x, w);
    return PL_ADD(m->b, &pl_op_add, "nm,m->nm", x, c);
}

static bool is_last(const admm *m, int64_t t)
{
    return t + 1 == m->net->steps;
}

static double weight_at(const admm *m, int64_t t)
{
    return is_last(m, t) ? m->rho : m->nu;
}

/* U x_t + W s_{t-1} + b. */
static pl_value *input_at(admm *m, int64_t t)
{
    pl_value *z = affine(m, m->net->x[t], m->u, m->bias);
    return t ? plus(m, z, PL_ADD(m->b, &pl_op_einsum, "ng,hg->nh", m->s[t - 1], m->w)) : z;
}

/* The square root of shift I + by w^T w, of w [m, k]. */
static pl_value *factor(admm *m, pl_value *w, double by, double shift)
{
    pl_value *gram = PL_ADD(m->b, &pl_op_einsum, "mh,mg->hg", w, w);
    return PL_ADD(m->b, &pl_op_cholesky, pl_builder_fmt(m->b, "; shift=%.17g", shift),
                  scaled(m, by, gram));
}

/* -- blocks ------------------------------------------------------------------------------------ */

/* Steps along the gradient of loss(o, y) + rho/2 |o - z|^2, which curves by rho + 1/2 at most. */
static void move_o(admm *m)
{
    pl_value *z = plus(m, affine(m, m->s[m->net->steps - 1], m->v, m->c), m->l3);
    for (int i = 0; i < LOSS_STEPS; i++) {
        pl_value *p = PL_ADD(m->b, &pl_op_softmax, NULL, m->o);
        pl_value *slope = plus(m, minus(m, p, m->y), scaled(m, m->rho, minus(m, m->o, z)));
        m->o = minus(m, m->o, scaled(m, 1 / (m->rho + 0.5), slope));
    }
}

/* What is known of least squares: sums over rows. */
typedef struct normal {
    pl_value *gram, *right; /* [k, k], [m, k]; NULL: none yet */
} normal;

/* Add weight/2 |y - theta x|^2 of x [n, k] and y [n, m]. The larger sum comes last: a
 * message that its size starts takes both. */
static void add_rows(admm *m, normal *to, double weight, pl_value *x, pl_value *y)
{
    pl_value *right = scaled(m, weight, PL_ADD(m->b, &pl_op_einsum, "nm,nk->mk", y, x));
    pl_value *gram = scaled(m, weight, PL_ADD(m->b, &pl_op_einsum, "nk,nl->kl", x, x));
    to->right = to->right ? plus(m, to->right, right) : right;
    to->gram = to->gram ? plus(m, to->gram, gram) : gram;
}

/* A sum over rows as weights go by it. */
static pl_value *old(admm *m, const char *of, const char *what, pl_value *x)
{
    const char *name = pl_builder_fmt(m->b, "old.%s.%s", of, what);
    return pl_model_past(m->b, name, "zeros", PL_BUFFER, m->age, x);
}

/* `times` in turn to the least of it and near/2 |theta - old|^2, from the old theta on. */
static pl_value *solve(admm *m, const char *name, const normal *n, pl_value *theta, int times)
{
    pl_value *gram = old(m, name, "gram", n->gram), *right = old(m, name, "right", n->right);
    pl_value *l =
        PL_ADD(m->b, &pl_op_cholesky, pl_builder_fmt(m->b, "; shift=%.17g", m->near), gram);
    for (int i = 0; i < times; i++)
        theta =
            PL_ADD(m->b, &pl_op_cholesky_solve, NULL, l, plus(m, right, scaled(m, m->near, theta)));
    return theta;
}

static pl_value *ones(admm *m)
{
    return pl_add_value(m->b, &pl_op_fill, NULL,
                        pl_builder_fmt(m->b, "->nk; value=1 n=%lld k=1", (long long)m->net->rows),
                        0, NULL);
}

static pl_value *column(admm *m, pl_value *bias)
{
    return PL_ADD(m->b, &pl_op_broadcast, "h->hk; k=1", bias);
}

static pl_value *flat(admm *m, pl_value *column)
{
    return PL_ADD(m->b, &pl_op_reshape, "hk->(hk)", column);
}

static void move_head(admm *m, const char *name)
{
    normal n = { 0 };
    const long long h = (long long)m->net->hidden;
    pl_value *x = PL_ADD(m->b, &pl_op_concat, "np,nq->nk", m->s[m->net->steps - 1], ones(m));
    pl_value *theta = PL_ADD(m->b, &pl_op_concat, "hp,hq->hk", m->v, column(m, m->c));
    add_rows(m, &n, m->rho, x, minus(m, m->o, m->l3));
    pl_value *new = solve(m, name, &n, theta, 1);
    pl_node *part = pl_add_node(m->b, &pl_op_split, NULL,
                                pl_builder_fmt(m->b, "hk->hp,hq; p=%lld", h), 1, &new);
    if (part) m->v = part->out[0], m->c = flat(m, part->out[1]);
}

/* Last on the way back and first on the way forth: twice, of the same sums over rows. */
static void move_cell(admm *m)
{
    normal n = { 0 };
    const pl_elman *net = m->net;
    for (int64_t t = 0; t < net->steps; t++) {
        const char *none = pl_builder_fmt(m->b, "->nk; n=%lld k=%lld", (long long)net->rows,
                                          (long long)net->hidden);
        pl_value *before = t ? m->s[t - 1] : pl_add_value(m->b, &pl_op_fill, NULL, none, 0, NULL);
        pl_value *x = PL_ADD(m->b, &pl_op_concat, "np,nq,nr->nk", net->x[t], before, ones(m));
        add_rows(m, &n, weight_at(m, t), x, is_last(m, t) ? minus(m, m->a[t], m->l1) : m->a[t]);
    }
    pl_value *theta = PL_ADD(m->b, &pl_op_concat, "hp,hq,hr->hk", m->u, m->w, column(m, m->bias));
    pl_value *new = solve(m, "cell", &n, theta, 2);
    const char *sizes = pl_builder_fmt(m->b, "hk->hp,hq,hr; p=%lld q=%lld", (long long)net->in,
                                       (long long)net->hidden);
    pl_node *part = pl_add_node(m->b, &pl_op_split, NULL, sizes, 1, &new);
    if (part) m->u = part->out[0], m->w = part->out[1], m->bias = flat(m, part->out[2]);
}

/* s_t has a part in its own equation and in that of what reads it, a_{t+1} or o. `root` is of the
 * matrix of both. */
static void move_s(admm *m, int64_t t, pl_value *root)
{
    pl_value *own = PL_ADD(m->b, &pl_op_tanh, NULL, m->a[t]), *right, *w = m->w;
    double by = m->rho;
    if (is_last(m, t)) {
        own = plus(m, own, m->l2);
        right = minus(m, PL_ADD(m->b, &pl_op_sub, "nm,m->nm", m->o, m->c), m->l3);
        w = m->v;
    } else {
        right = minus(m, m->a[t + 1], affine(m, m->net->x[t + 1], m->u, m->bias));
        if (is_last(m, t + 1)) right = minus(m, right, m->l1);
        by = weight_at(m, t + 1);
    }
    right = PL_ADD(m->b, &pl_op_einsum, "nm,mh->nh", right, w);
    right = plus(m, scaled(m, weight_at(m, t), own), scaled(m, by, right));
    m->s[t] = PL_ADD(m->b, &pl_op_cholesky_solve, NULL, root, right);
}

/* The matrices of s_t: the last, the one before it, all others. */
static pl_value *root_at(admm *m, int64_t t, pl_value *known[3])
{
    const int64_t i = m->net->steps - 1 - t, kind = i < 2 ? i : 2;
    if (!known[kind])
        known[kind] = kind ? factor(m, m->w, weight_at(m, t + 1), weight_at(m, t))
                           : factor(m, m->v, m->rho, m->rho);
    return known[kind];
}

/* weight/2 ((a - z)^2 + (tanh a - g)^2), element by element. */
static pl_value *cost_of_a(admm *m, pl_value *a, pl_value *z, pl_value *g)
{
    pl_value *r1 = minus(m, a, z), *r2 = minus(m, PL_ADD(m->b, &pl_op_tanh, NULL, a), g);
    return plus(m, times(m, r1, r1), times(m, r2, r2));
}

/* Gauss-Newton steps, each taken where the cost falls. Both weights are equal, and drop out. */
static void move_a(admm *m, int64_t t)
{
    pl_builder *b = m->b;
    pl_value *z = input_at(m, t), *g = m->s[t], *a = m->a[t];
    pl_value *one = pl_model_number(b, 1);
    if (is_last(m, t)) z = plus(m, z, m->l1), g = minus(m, g, m->l2);
    for (int i = 0; i < TANH_STEPS; i++) {
        pl_value *f = PL_ADD(b, &pl_op_tanh, NULL, a);
        pl_value *slope = PL_ADD(b, &pl_op_sub, ",nh->nh", one, times(m, f, f));
        pl_value *up = plus(m, minus(m, a, z), times(m, minus(m, f, g), slope));
        pl_value *down = PL_ADD(b, &pl_op_add, "nh,->nh", times(m, slope, slope), one);
        pl_value *next = minus(m, a, PL_ADD(b, &pl_op_div, NULL, up, down));
        pl_value *falls =
            PL_ADD(b, &pl_op_less_equal, NULL, cost_of_a(m, next, z, g), cost_of_a(m, a, z, g));
        a = PL_ADD(b, &pl_op_where, NULL, falls, next, a);
    }
    m->a[t] = a;
}

/* -- the sweep --------------------------------------------------------------------------------- */

static void sweep(admm *m)
{
    const int64_t steps = m->net->steps;
    pl_value *back[3] = { NULL }, *there[3] = { NULL };
    move_o(m);
    move_head(m, "back");
    for (int64_t t = steps - 1; t >= 0; t--) move_s(m, t, root_at(m, t, back));
    for (int64_t t = steps - 1; t >= 0; t--) move_a(m, t);
    move_cell(m);
    for (int64_t t = 0; t < steps; t++) {
        move_a(m, t);
        move_s(m, t, root_at(m, t, there));
    }
    move_head(m, "forth");
    move_o(m);
}

static void move_multipliers(admm *m)
{
    const int64_t last = m->net->steps - 1;
    m->l1 = minus(m, m->l1, minus(m, m->a[last], input_at(m, last)));
    m->l2 = minus(m, m->l2, minus(m, m->s[last], PL_ADD(m->b, &pl_op_tanh, NULL, m->a[last])));
    m->l3 = minus(m, m->l3, minus(m, m->o, affine(m, m->s[last], m->v, m->c)));
}

static pl_value *half_square(admm *m, double weight, pl_value *x)
{
    return scaled(m, weight / 2, PL_ADD(m->b, &pl_op_square_sum, "nh->", x));
}

/* L, but for what moving a weight costs. */
static void watch(admm *m, const char *when, pl_value *labels)
{
    pl_builder *b = m->b;
    b->scope = pl_builder_fmt(b, "admm.%s.", when);
    pl_value *sum = scaled(m, (double)m->net->rows, pl_model_cross_entropy(b, m->o, labels));
    for (int64_t t = 0; t < m->net->steps; t++) {
        pl_value *r1 = minus(m, m->a[t], input_at(m, t)),
                 *r2 = minus(m, m->s[t], PL_ADD(b, &pl_op_tanh, NULL, m->a[t]));
        if (is_last(m, t)) r1 = minus(m, r1, m->l1), r2 = minus(m, r2, m->l2);
        sum = plus(m, sum, half_square(m, weight_at(m, t), r1));
        sum = plus(m, sum, half_square(m, weight_at(m, t), r2));
    }
    pl_value *r3 = minus(m, m->o, affine(m, m->s[m->net->steps - 1], m->v, m->c));
    sum = plus(m, sum, half_square(m, m->rho, minus(m, r3, m->l3)));
    if (sum) pl_add_output(b, pl_builder_fmt(b, "lagrangian.%s", when), sum);
    b->scope = "admm.";
}

/* -- states ------------------------------------------------------------------------------------ */

static pl_value *add_state(admm *m, const char *name, int64_t width)
{
    return pl_add_state(m->b, name, PL_F32, PL_SHAPE(m->net->rows, width), "zeros", PL_ROWS);
}

/* A variable that is what the net computes in the first sweep. */
static pl_value *add_variable(admm *m, const char *name, pl_value *begun, pl_value *first,
                              pl_value **state)
{
    *state = add_state(m, name, first->shape.dim[1]);
    return PL_ADD(m->b, &pl_op_where, ",nh,nh->nh", begun, *state, first);
}

static void set_weights(const admm *m)
{
    const pl_elman *net = m->net;
    net->u->next = m->u, net->w->next = m->w, net->b->next = m->bias;
    net->v->next = m->v, net->c->next = m->c;
}

void pl_admm_add(pl_builder *b, const pl_model_args *args, const pl_elman *net, pl_value *const a[],
                 pl_value *const s[], pl_value *o, pl_value *labels)
{
    admm m = { .b = b,
               .net = net,
               .nu = pl_model_real(args, "nu"),
               .rho = pl_model_real(args, "rho"),
               .near = pl_model_real(args, "near"),
               .age = pl_model_int(args, "age"),
               .u = net->u,
               .w = net->w,
               .bias = net->b,
               .v = net->v,
               .c = net->c };
    pl_value *state[2][PL_ADMM_STEPS], *outer, *dual[3];
    b->scope = "admm.";
    pl_value *begun = pl_add_state(b, "begun", PL_F32, PL_SCALAR, "zeros", PL_BUFFER);
    pl_value *zero = pl_model_number(b, 0.5);
    pl_value *is_begun = PL_ADD(b, &pl_op_less_equal, NULL, zero, begun);
    for (int64_t t = 0; t < net->steps; t++) {
        const long long i = (long long)t;
        m.a[t] = add_variable(&m, pl_builder_fmt(b, "a.%lld", i), is_begun, a[t], &state[0][t]);
        m.s[t] = add_variable(&m, pl_builder_fmt(b, "s.%lld", i), is_begun, s[t], &state[1][t]);
    }
    m.o = add_variable(&m, "o", is_begun, o, &outer);
    m.l1 = dual[0] = add_state(&m, "l1", net->hidden);
    m.l2 = dual[1] = add_state(&m, "l2", net->hidden);
    m.l3 = dual[2] = add_state(&m, "l3", net->classes);
    m.y = PL_ADD(b, &pl_op_one_hot, pl_builder_fmt(b, "n->nv; v=%lld", (long long)net->classes),
                 labels);
    const bool watched = pl_model_int(args, "watch");
    if (watched) watch(&m, "before", labels);
    sweep(&m);
    if (watched) watch(&m, "after", labels);
    move_multipliers(&m);
    b->scope = "";
    if (b->err.code) return;
    set_weights(&m);
    for (int64_t t = 0; t < net->steps; t++) state[0][t]->next = m.a[t], state[1][t]->next = m.s[t];
    outer->next = m.o, dual[0]->next = m.l1, dual[1]->next = m.l2, dual[2]->next = m.l3;
    begun->next = pl_model_number(b, 1);
}
