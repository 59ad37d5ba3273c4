/* A sweep of ADMM whose blocks take a linear step each. Where a sweep begins all equations hold.
 * On the way back a variable moves by its slope over its weight, and what reads it gets that slope
 * whole. A block that goes to where the Lagrangian is least keeps about half of what its neighbour
 * asks for, so that after 28 steps nothing is left: this is why those learn little from long
 * sequences. The weights go to the least squares of what the slopes broke of their equations, and
 * on the way forth all equations hold again: multipliers, which move by what is left, stay 0.
 *
 * Penalties are in a metric that all steps of the cell share, |r|^2 = r^T M r, where M = slope
 * slope^T, mean over rows and steps, scaled to a trace of `hidden`, and `metric` I. With f_t the
 * slope of the loss by a_t and x_t what U, W and b meet there, the move of them is
 *
 *   - M^-1 (sum of f_t x_t^T) (nu sum of x_t x_t^T + near I)^-1, made no longer than `most`.
 *
 * That of V and c is the same with rho for nu, near / steps for near, and no metric.
 * So the f_t are what gradients are made of; the sums over rows are of a fixed size, as before.
 * Source: Frerix et al., "Proximal backpropagation", ICLR 2018 (linear steps, least squares of the
 * weights); Martens & Grosse, K-FAC, ICML 2015 (the metric, from a sum over the slopes; here all
 * steps share it, as in Martens et al., ICLR 2018). */
#include "models/admm.h"
#include "ops/list.h"

typedef struct linear {
    pl_builder *b;
    const pl_elman *net;
    double nu, rho, near, metric, most;
    pl_value *gram;   /* [k, k]: sum of x x^T, k = in + hidden + 1    */
    pl_value *pull;   /* [k, hidden]: sum of x f^T                    */
    pl_value *spread; /* [hidden, hidden]: sum of f f^T               */
    pl_value *length; /* []: sum of |f|^2, the trace of `spread`      */
} linear;

static pl_value *add(linear *m, pl_value *x, pl_value *y)
{
    return x ? PL_ADD(m->b, &pl_op_add, NULL, x, y) : y;
}

static pl_value *scaled(linear *m, double by, pl_value *x)
{
    return PL_ADD(m->b, &pl_op_scale, pl_builder_fmt(m->b, "; value=%.17g", by), x);
}

static pl_value *columns(linear *m, int64_t k, double x)
{
    return pl_add_value(m->b, &pl_op_fill, NULL,
                        pl_builder_fmt(m->b, "->nk; value=%.17g n=%lld k=%lld", x,
                                       (long long)m->net->rows, (long long)k),
                        0, NULL);
}

/* The root of x + shift I. */
static pl_value *root(linear *m, pl_value *x, double shift)
{
    return PL_ADD(m->b, &pl_op_cholesky, pl_builder_fmt(m->b, "; shift=%.17g", shift), x);
}

/* f of s = tanh(a) by a, of the slope by s. */
static pl_value *through_tanh(linear *m, pl_value *f, pl_value *s)
{
    pl_value *square = PL_ADD(m->b, &pl_op_mul, NULL, s, s);
    return PL_ADD(m->b, &pl_op_mul, NULL, f,
                  PL_ADD(m->b, &pl_op_sub, ",nh->nh", pl_model_number(m->b, 1), square));
}

/* What the equation of a_t adds to the sums. */
static void add_step(linear *m, int64_t t, pl_value *before, pl_value *f)
{
    pl_builder *b = m->b;
    pl_value *x = PL_ADD(b, &pl_op_concat, "np,nq,nr->nk", m->net->x[t], before, columns(m, 1, 1));
    m->gram = add(m, m->gram, PL_ADD(b, &pl_op_einsum, "nk,nl->kl", x, x));
    m->pull = add(m, m->pull, PL_ADD(b, &pl_op_einsum, "nk,nm->km", x, f));
    m->spread = add(m, m->spread, PL_ADD(b, &pl_op_einsum, "nh,ng->hg", f, f));
    m->length = add(m, m->length, PL_ADD(b, &pl_op_square_sum, "nh->", f));
}

static void way_back(linear *m, pl_value *const s[], pl_value *slope)
{
    const pl_elman *net = m->net;
    pl_value *f = PL_ADD(m->b, &pl_op_einsum, "nm,mh->nh", slope, net->v);
    for (int64_t t = net->steps - 1; t >= 0; t--) {
        f = through_tanh(m, f, s[t]);
        add_step(m, t, t ? s[t - 1] : columns(m, net->hidden, 0), f);
        if (t) f = PL_ADD(m->b, &pl_op_einsum, "nm,mh->nh", f, net->w);
    }
}

/* [k, m] -> [m, k] times the inverse of a matrix of that root. */
static pl_value *solved(linear *m, pl_value *root, pl_value *x)
{
    return PL_ADD(m->b, &pl_op_cholesky_solve, NULL, root,
                  PL_ADD(m->b, &pl_op_transpose, "km->mk", x));
}

/* Where |x| is larger than `most`, x that long. */
static pl_value *no_longer(linear *m, pl_value *x)
{
    pl_value *most = pl_model_number(m->b, m->most),
             *size = PL_ADD(m->b, &pl_op_sqrt, NULL, PL_ADD(m->b, &pl_op_square_sum, NULL, x));
    pl_value *by =
        PL_ADD(m->b, &pl_op_div, NULL, most, PL_ADD(m->b, &pl_op_maximum, NULL, size, most));
    return PL_ADD(m->b, &pl_op_mul, "mk,->mk", x, by);
}

/* A move [hidden, in + hidden + 1] is those of U, W and b side by side. */
static void move_cell(linear *m)
{
    pl_builder *b = m->b;
    const pl_elman *net = m->net;
    /* above 0 where all slopes are 0 */
    pl_value *trace = PL_ADD(b, &pl_op_maximum, NULL, m->length, pl_model_number(m->b, 1e-30));
    pl_value *metric =
        PL_ADD(b, &pl_op_div, "hg,->hg", scaled(m, (double)net->hidden, m->spread), trace);
    pl_value *move = PL_ADD(b, &pl_op_cholesky_solve, NULL, root(m, metric, m->metric), m->pull);
    move = no_longer(m, solved(m, root(m, scaled(m, m->nu, m->gram), m->near), move));
    pl_node *part = pl_add_node(b, &pl_op_split, NULL,
                                pl_builder_fmt(b, "hk->hp,hq,hr; p=%lld q=%lld", (long long)net->in,
                                               (long long)net->hidden),
                                1, &move);
    if (!part) return;
    net->u->next = PL_ADD(b, &pl_op_sub, NULL, net->u, part->out[0]);
    net->w->next = PL_ADD(b, &pl_op_sub, NULL, net->w, part->out[1]);
    net->b->next =
        PL_ADD(b, &pl_op_sub, NULL, net->b, PL_ADD(b, &pl_op_reshape, "hk->(hk)", part->out[2]));
}

static void move_head(linear *m, pl_value *last, pl_value *slope)
{
    pl_builder *b = m->b;
    const pl_elman *net = m->net;
    pl_value *x = PL_ADD(b, &pl_op_concat, "np,nq->nk", last, columns(m, 1, 1));
    pl_value *gram = PL_ADD(b, &pl_op_einsum, "nk,nl->kl", x, x),
             *pull = PL_ADD(b, &pl_op_einsum, "nk,nm->km", x, slope);
    pl_value *move =
        solved(m, root(m, scaled(m, m->rho, gram), m->near / (double)net->steps), pull);
    pl_node *part =
        pl_add_node(b, &pl_op_split, NULL,
                    pl_builder_fmt(b, "hk->hp,hq; p=%lld", (long long)net->hidden), 1, &move);
    if (!part) return;
    net->v->next = PL_ADD(b, &pl_op_sub, NULL, net->v, part->out[0]);
    net->c->next =
        PL_ADD(b, &pl_op_sub, NULL, net->c, PL_ADD(b, &pl_op_reshape, "hk->(hk)", part->out[1]));
}

void pl_admm_add_linear(pl_builder *b, const pl_model_args *args, const pl_elman *net,
                        pl_value *const s[], pl_value *o, pl_value *labels)
{
    linear m = { .b = b,
                 .net = net,
                 .nu = pl_model_real(args, "nu"),
                 .rho = pl_model_real(args, "rho"),
                 .near = pl_model_real(args, "near"),
                 .metric = pl_model_real(args, "metric"),
                 .most = pl_model_real(args, "most") };
    b->scope = "admm.";
    pl_value *y = PL_ADD(b, &pl_op_one_hot,
                         pl_builder_fmt(b, "n->nv; v=%lld", (long long)net->classes), labels);
    pl_value *slope = PL_ADD(b, &pl_op_sub, NULL, PL_ADD(b, &pl_op_softmax, NULL, o), y);
    way_back(&m, s, slope);
    move_cell(&m);
    move_head(&m, s[net->steps - 1], slope);
    b->scope = "";
}
