/* Gradients and updates as nodes. Read pl_optim_add(): autodiff for all weights
 * (find_gradients), one norm over them (add_clip), and an update each by the row of rules[]
 * (add_update). */
#include "train/optim.h"

#include "graph/autodiff.h"
#include "graph/op.h"
#include "ops/lib/all.h"
#include "ops/list.h"
#include "train/objective.h"
#include "train/rows.h"

#include <string.h>

struct updating;
struct target;
typedef void adding(const struct updating *u, const struct target *t);

static adding add_fused, add_lamb, add_rowwise, add_unfused_adam, add_unfused_adagrad,
    add_unfused_sgd;

/* An optimizer: its fused update takes (weight, gradient, moments..., lr, [step,] scale), and that
 * of rows (weight, ids, rows, moments...) and the same scalars. */
static const struct rule {
    const char *name;
    const pl_op *op, *rows;
    const char *moment[2];
    int n_row_moments;
    adding *unfused; /* NULL: there is none in torch                                     */
    adding *fused;   /* NULL: add_fused                                                  */
    bool counts;     /* takes the step number                                            */
    bool lazy;       /* updates rows though that is not what the update of all rows does */
    bool plain;      /* has usually no decay, as PyTorch's for tables                    */
    bool never_decays;
} rules[] = {
    { "adamw", &pl_op_adamw, &pl_op_adam_rows, { "m", "v" }, 2, add_unfused_adam, .counts = true },
    { "adam", &pl_op_adam, &pl_op_adam_rows, { "m", "v" }, 2, add_unfused_adam, .counts = true },
    { "adabelief", &pl_op_adabelief, NULL, { "m", "s" }, 0, NULL, .counts = true },
    { "lamb", &pl_op_lamb_direction, NULL, { "m", "v" }, 0, NULL, add_lamb, .counts = true },
    { "adagrad",
      &pl_op_adagrad,
      &pl_op_adagrad_rows,
      { "sum", NULL },
      1,
      add_unfused_adagrad,
      .plain = true },
    { "rowwise-adagrad",
      &pl_op_adagrad,
      NULL,
      { "sum", NULL },
      0,
      NULL,
      add_rowwise,
      .plain = true,
      .never_decays = true },
    { "sgd", &pl_op_sgd, &pl_op_sgd_rows, { "momentum", NULL }, 0, add_unfused_sgd },
    { "lazy-adamw",
      &pl_op_adamw,
      &pl_op_adam_rows,
      { "m", "v" },
      2,
      add_unfused_adam,
      .counts = true,
      .lazy = true },
    { "lazy-adam",
      &pl_op_adam,
      &pl_op_adam_rows,
      { "m", "v" },
      2,
      add_unfused_adam,
      .counts = true,
      .lazy = true,
      .plain = true },
};

enum { N_RULES = sizeof rules / sizeof *rules };

/* NULL: no such optimizer. */
static const struct rule *rule_of(const char *name)
{
    for (int i = 0; i < N_RULES; i++)
        if (!strcmp(rules[i].name, name)) return &rules[i];
    return NULL;
}

pl_optim pl_optim_usual(const char *name)
{
    const struct rule *r = rule_of(name);
    return (pl_optim){ .name = name,
                       .beta1 = PL_OPTIM_BETA1,
                       .beta2 = PL_OPTIM_BETA2,
                       .eps = PL_OPTIM_EPS,
                       .momentum = PL_OPTIM_MOMENTUM,
                       .decay = r && r->plain ? 0 : PL_OPTIM_DECAY,
                       .clip = PL_OPTIM_CLIP };
}

void pl_optim_settle(pl_optim *optim)
{
    if (optim->decay < 0) optim->decay = pl_optim_usual(optim->name).decay;
}

const char *pl_optim_names(pl_arena *arena)
{
    pl_text t = { .arena = arena };
    for (int i = 0; i < N_RULES; i++) pl_text_add(&t, i ? ", %s" : "%s", rules[i].name);
    return pl_text_get(&t);
}

/* A weight, and its gradient in the graph that updates it. */
typedef struct target {
    pl_value *weight, *grad;  /* grad NULL: the loss does not depend on it                    */
    pl_value *ids;            /* of the rows that the gradient is; NULL: it is like the weight */
    pl_value *master;         /* what the update changes: the weight, or its master           */
    bool table;               /* the gradient is that of one lookup                           */
    const char *dims, *sizes; /* its letters, "m(vhd)", and " v=3 h=4 d=16"; NULL: one each   */
} target;

typedef struct targets {
    int n;
    target *at;
} targets;

/* The letters of a gradient are those of its maker where that composes factors: so sums and updates
 * may be split in the same ways. */
static void find_letters(pl_builder *b, target *t)
{
    const pl_node *n = t->grad->maker;
    const pl_operand *o = pl_sig_out(n->sig, t->grad->out);
    bool composes = false, slides = false;
    for (int d = 0; d < o->rank; d++) {
        composes |= o->dim[d].n > 1;
        slides |= o->dim[d].window >= 0;
    }
    if (!composes || slides) return;
    int k = n->n_in + t->grad->out;
    const char *spec = pl_spec(b, n, pl_builder_fmt(b, "{%d}->{%d}", k, k));
    const char *sizes = strchr(spec, ';');
    t->dims = pl_builder_fmt(b, "%.*s", (int)(strstr(spec, "->") - spec), spec);
    t->sizes = sizes ? sizes + 1 : "";
}

/* The spec of a node all of whose operands are like the gradient, but for `n_scalars` inputs after
 * the first n_in, and the output when n_out is 0. */
static const char *spell(pl_builder *b, const target *t, int n_in, int n_scalars, int n_out,
                         const char *attrs)
{
    if (!t->dims) return pl_builder_fmt(b, ";%s", attrs);
    pl_text s = { .arena = b->graph->arena };
    for (int i = 0; i < n_in; i++) pl_text_add(&s, i ? ",%s" : "%s", t->dims);
    for (int i = 0; i < n_scalars; i++) pl_text_add(&s, ",");
    pl_text_add(&s, "->");
    for (int i = 0; i < n_out; i++) pl_text_add(&s, i ? ",%s" : "%s", t->dims);
    pl_text_add(&s, ";%s%s", t->sizes, attrs);
    return pl_text_get(&s);
}

/* A weight in a narrow type has a master. Its gradient is read as it is, but where several readers
 * of the weight give to it: stages add up each their own terms, in f32 (plan/terms.h). */
static void add_master(pl_builder *b, target *t)
{
    const pl_value *w = t->weight;
    const pl_phase phase = b->phase;
    t->master = t->weight;
    if (w->type == PL_F32 || b->err.code) return;
    t->master =
        pl_add_state_of(b, t->weight, PL_MASTER, pl_builder_fmt(b, "%s.master", w->name), w->init);
    if (t->grad->maker->op != &pl_op_add) return;
    b->phase = PL_BACKWARD;
    t->grad->of = NULL;
    t->grad = PL_ADD_AS(b, &pl_op_cast, pl_builder_fmt(b, "%s.grad.f32", w->name),
                        spell(b, t, 1, 0, 1, " to=f32"), t->grad);
    if (t->grad) t->grad->of = t->weight;
    b->phase = phase;
}

/* Are tables updated in the rows alone that a step has read? Where a gradient of zeros changes
 * nothing, that is what the update of all leaves. */
static bool updates_rows(const pl_optim *o, const struct rule *r)
{
    if (o->unfused || r->lazy) return r->lazy;
    return !r->counts && o->decay <= 0 && !(r->op == &pl_op_sgd && o->momentum > 0);
}

static void take_rows(pl_builder *b, target *t, bool lazy)
{
    pl_row_grad g;
    if (!lazy && !t->weight->rows && !pl_rows_are_few(t->grad)) return;
    if (!pl_rows_add(b, t->weight, t->grad, &g)) return;
    t->grad->of = NULL;
    *t = (target){
        .weight = t->weight, .grad = g.rows, .ids = g.ids, .master = t->weight, .table = true
    };
}

static targets find_gradients(pl_builder *b, const pl_objective *o, pl_value *loss)
{
    pl_graph *graph = b->graph;
    targets t = { 0, PL_NEW_N(graph->arena, target, graph->values.n + 1) };
    pl_value **w = PL_NEW_N(graph->arena, pl_value *, graph->values.n + 1),
             **grad = PL_NEW_N(graph->arena, pl_value *, graph->values.n + 1);
    for (int i = 0; i < graph->values.n; i++)
        if (pl_objective_trains(o, graph->values.at[i])) w[t.n++] = graph->values.at[i];
    pl_autodiff(b, loss, t.n, w, grad);
    for (int i = 0; i < t.n && !b->err.code; i++) {
        t.at[i] = (target){ .weight = w[i], .grad = grad[i] };
        t.at[i].table = grad[i] && pl_rows_are(grad[i]);
        if (grad[i]) find_letters(b, &t.at[i]);
        if (grad[i]) add_master(b, &t.at[i]);
    }
    return t;
}

/* -- updates ----------------------------------------------------------------------------------- */

typedef struct updating {
    pl_builder *b;
    const struct rule *rule;
    const pl_optim *optim;
    pl_value *lr, *step, *scale;
    /* Scalars of unfused updates: NULL where the update has no use for them. */
    pl_value *decay, *shrink, *rate, *root, *eps, *beta2, *momentum;
} updating;

static double decay_of(const updating *u, const pl_value *w)
{
    return w->shape.rank > 1 ? u->optim->decay : 0;
}

static const char *attributes(const updating *u, const target *t)
{
    const pl_optim *optim = u->optim;
    const pl_op *op = t->ids ? u->rule->rows : u->rule->op;
    pl_text s = { .arena = u->b->graph->arena };
    if (op == &pl_op_sgd) pl_text_add(&s, " momentum=%.17g", optim->momentum);
    if (u->rule->counts) pl_text_add(&s, " beta1=%.17g beta2=%.17g", optim->beta1, optim->beta2);
    if (u->rule->op != &pl_op_sgd) pl_text_add(&s, " eps=%.17g", optim->eps);
    pl_text_add(&s, " decay=%.17g", decay_of(u, t->weight));
    if (op == &pl_op_adam_rows) pl_text_add(&s, " decoupled=%d", u->rule->op == &pl_op_adamw);
    return pl_text_get(&s);
}

/* The states of a weight's moments; how many. */
static int add_moments(const updating *u, const target *t, pl_value *moment[2])
{
    pl_builder *b = u->b;
    const int most = t->ids ? u->rule->n_row_moments : 2;
    int n = 0;
    for (; n < most && u->rule->moment[n]; n++)
        moment[n] = pl_add_state_of(b, t->weight, PL_MOMENT,
                                    pl_builder_fmt(b, "%s.%s", t->weight->name, u->rule->moment[n]),
                                    "zeros");
    return n;
}

/* The node that an update is, or begins with: the weight or its master, [ids,] gradient, moments,
 * then scalars. Its last outputs are the moments. */
static pl_node *add_rule(const updating *u, const target *t, const char *name, bool takes_lr)
{
    pl_builder *b = u->b;
    const struct rule *r = u->rule;
    pl_value *in[PL_MAX_OPERANDS] = { t->master }, **moment;
    int n = 1;
    if (t->ids) in[n++] = t->ids;
    in[n++] = t->grad;
    moment = in + n;
    const int n_moments = add_moments(u, t, moment), n_alike = n + n_moments;
    n = n_alike;
    if (takes_lr) in[n++] = u->lr;
    if (r->counts) in[n++] = u->step;
    in[n++] = u->scale;
    const char *spec = spell(b, t, n_alike, n - n_alike, 1 + n_moments, attributes(u, t));
    pl_node *x = pl_add_node(b, t->ids ? r->rows : r->op, name, spec, n, in);
    for (int i = 0; x && i < n_moments; i++) moment[i]->next = x->out[1 + i];
    return x;
}

static void add_fused(const updating *u, const target *t)
{
    const char *name = pl_builder_fmt(u->b, "%s.update", t->weight->name);
    const pl_node *x = add_rule(u, t, name, true);
    if (x) t->master->next = x->out[0];
}

/* How far it goes is a matter of two norms of whole tensors: a device sums the squares it has. */
static void add_lamb(const updating *u, const target *t)
{
    pl_builder *b = u->b;
    const char *name = t->weight->name, *squares = spell(b, t, 1, 0, 0, "");
    const pl_node *x = add_rule(u, t, pl_builder_fmt(b, "%s.direction", name), false);
    if (!x) return;
    pl_value *w = PL_ADD(b, &pl_op_square_sum, squares, t->master);
    pl_value *d = PL_ADD(b, &pl_op_square_sum, squares, x->out[0]);
    t->master->next = PL_ADD_AS(b, &pl_op_lamb, pl_builder_fmt(b, "%s.update", name),
                                spell(b, t, 2, 3, 1, ""), t->master, x->out[0], w, d, u->lr);
}

/* Of a table each row has one sum: its squares are added up over columns, wherever these are. */
static void add_rowwise(const updating *u, const target *t)
{
    pl_builder *b = u->b;
    if (!t->table) {
        add_fused(u, t);
        return;
    }
    const char *name = t->weight->name;
    const pl_shape *shape = &t->weight->shape;
    const long long columns = (long long)shape->dim[shape->rank - 1];
    pl_value *sum = pl_add_row_moment(
        b, t->weight, pl_builder_fmt(b, "%s.%s", name, u->rule->moment[0]), "zeros");
    pl_value *q = PL_ADD_AS(b, &pl_op_square_sum, pl_builder_fmt(b, "%s.squares", name),
                            "...h->...", t->grad);
    const char *attrs = pl_builder_fmt(b, "; columns=%lld", columns),
               *as = pl_builder_fmt(b, "%s.%s.update", name, u->rule->moment[0]);
    if (b->err.code) return;
    sum->next = t->ids ? PL_ADD_AS(b, &pl_op_rowwise_sum_rows, as, attrs, sum, t->ids, q, u->scale)
                       : PL_ADD_AS(b, &pl_op_rowwise_sum, as, attrs, sum, q, u->scale);
    attrs = pl_builder_fmt(b, "; eps=%.17g", u->optim->eps);
    name = pl_builder_fmt(b, "%s.update", name);
    t->master->next = t->ids ? PL_ADD_AS(b, &pl_op_rowwise_adagrad_rows, name, attrs, t->master,
                                         t->ids, t->grad, sum->next, u->lr, u->scale)
                             : PL_ADD_AS(b, &pl_op_rowwise_adagrad, name, attrs, t->master, t->grad,
                                         sum->next, u->lr, u->scale);
}

/* A master's weight is cast from what the update leaves. */
static void add_weight(const updating *u, const target *t)
{
    pl_builder *b = u->b;
    if (b->err.code || t->master == t->weight) return;
    const char *attrs = pl_builder_fmt(b, " to=%s", pl_type_name(t->weight->type));
    t->weight->next = PL_ADD_AS(b, &pl_op_cast, pl_builder_fmt(b, "%s.cast", t->weight->name),
                                spell(b, t, 1, 0, 1, attrs), t->master->next);
}

/* -- unfused updates --------------------------------------------------------------------------- */

/* The spec of a node in which each x of the form, "x,->x", is like the gradient. */
static const char *spell_form(pl_builder *b, const target *t, const char *form, const char *attrs)
{
    pl_text s = { .arena = b->graph->arena };
    for (; *form; form++)
        if (*form == 'x')
            pl_text_add(&s, "%s", t->dims ? t->dims : "...");
        else
            pl_text_add(&s, "%c", *form);
    pl_text_add(&s, ";%s%s", t->dims ? t->sizes : "", attrs);
    return pl_text_get(&s);
}

static pl_value *add_number(pl_builder *b, double value)
{
    return pl_add_value(b, &pl_op_fill, NULL, pl_builder_fmt(b, "->; value=%.17g", value), 0, NULL);
}

/* What all weights share: numbers that torch computes on the host. */
static void add_scalars(updating *u)
{
    pl_builder *b = u->b;
    const pl_optim *optim = u->optim;
    const bool decoupled = u->rule->op == &pl_op_adamw;
    if (optim->decay > 0) u->decay = add_number(b, optim->decay);
    if (optim->decay > 0 && decoupled) /* 1 - lr decay */
        u->shrink = PL_ADD(b, &pl_op_addcmul, "; value=-1", add_number(b, 1), u->lr, u->decay);
    if (u->rule->op == &pl_op_adagrad) u->eps = add_number(b, optim->eps);
    if (u->rule->op == &pl_op_sgd) u->momentum = add_number(b, optim->momentum);
    if (!u->rule->counts) return;
    const char *base = pl_builder_fmt(b, "; base=%.17g", optim->beta1);
    u->rate = PL_ADD(b, &pl_op_div, NULL, u->lr, PL_ADD(b, &pl_op_bias_correction, base, u->step));
    base = pl_builder_fmt(b, "; base=%.17g", optim->beta2);
    u->root = PL_ADD(b, &pl_op_sqrt, NULL, PL_ADD(b, &pl_op_bias_correction, base, u->step));
    u->eps = add_number(b, optim->eps);
    u->beta2 = add_number(b, optim->beta2);
}

/* The gradient in f32, scaled and, where the decay is a part of it, with that. */
static pl_value *add_gradient(const updating *u, const target *t)
{
    pl_builder *b = u->b;
    pl_value *g = t->grad;
    const bool decoupled = u->rule->op == &pl_op_adamw;
    if (g->type != PL_F32) g = PL_ADD(b, &pl_op_cast, spell_form(b, t, "x->x", " to=f32"), g);
    if (u->optim->clip > 0) g = PL_ADD(b, &pl_op_mul, spell_form(b, t, "x,->x", ""), g, u->scale);
    if (!decoupled && decay_of(u, t->weight) > 0)
        g = PL_ADD(b, &pl_op_addcmul, spell_form(b, t, "x,x,->x", ""), g, t->master, u->decay);
    return g;
}

/* The order and grain of torch.optim.SGD, single tensor. */
static void add_unfused_sgd(const updating *u, const target *t)
{
    pl_builder *b = u->b;
    pl_value *moment[2], *w = t->master;
    add_moments(u, t, moment);
    if (b->err.code) return;
    pl_value *g = add_gradient(u, t);
    pl_value *m = PL_ADD(b, &pl_op_mul, spell_form(b, t, "x,->x", ""), moment[0], u->momentum);
    moment[0]->next = m = PL_ADD(b, &pl_op_add, spell_form(b, t, "x,x->x", ""), m, g);
    w->next = PL_ADD_AS(b, &pl_op_addcmul, pl_builder_fmt(b, "%s.update", t->weight->name),
                        spell_form(b, t, "x,x,->x", " value=-1"), w, m, u->lr);
}

/* The order and grain of torch.optim.Adagrad, single tensor. */
static void add_unfused_adagrad(const updating *u, const target *t)
{
    pl_builder *b = u->b;
    pl_value *sum[2];
    add_moments(u, t, sum);
    if (b->err.code) return;
    pl_value *g = add_gradient(u, t);
    pl_value *s = PL_ADD(b, &pl_op_addcmul, spell_form(b, t, "x,x,x->x", ""), sum[0], g, g);
    pl_value *d = PL_ADD(b, &pl_op_sqrt, spell_form(b, t, "x->x", ""), s);
    d = PL_ADD(b, &pl_op_add, spell_form(b, t, "x,->x", ""), d, u->eps);
    sum[0]->next = s;
    t->master->next = PL_ADD_AS(b, &pl_op_addcdiv, pl_builder_fmt(b, "%s.update", t->weight->name),
                                spell_form(b, t, "x,x,x,->x", " value=-1"), t->master, g, d, u->lr);
}

/* The order and grain of torch.optim.Adam and AdamW, single tensor, where each operator makes a
 * tensor: formulas in ops/lib/adam.h. */
static void add_unfused_adam(const updating *u, const target *t)
{
    pl_builder *b = u->b;
    const pl_optim *optim = u->optim;
    pl_value *moment[2], *w = t->master;
    add_moments(u, t, moment);
    if (b->err.code) return;
    const char *scaled = spell_form(b, t, "x,->x", ""), *each = spell_form(b, t, "x->x", "");
    if (u->shrink && decay_of(u, w) > 0) w = PL_ADD(b, &pl_op_mul, scaled, w, u->shrink);
    pl_value *g = add_gradient(u, t);
    const char *share = pl_builder_fmt(b, " weight=%.17g", 1 - optim->beta1);
    pl_value *m = PL_ADD(b, &pl_op_lerp, spell_form(b, t, "x,x->x", share), moment[0], g);
    pl_value *v = PL_ADD(b, &pl_op_mul, scaled, moment[1], u->beta2);
    share = pl_builder_fmt(b, " value=%.17g", 1 - optim->beta2);
    v = PL_ADD(b, &pl_op_addcmul, spell_form(b, t, "x,x,x->x", share), v, g, g);
    pl_value *d = PL_ADD(b, &pl_op_sqrt, each, v);
    d = PL_ADD(b, &pl_op_div, scaled, d, u->root);
    d = PL_ADD(b, &pl_op_add, scaled, d, u->eps);
    moment[0]->next = m, moment[1]->next = v;
    t->master->next = PL_ADD_AS(b, &pl_op_addcdiv, pl_builder_fmt(b, "%s.update", t->weight->name),
                                spell_form(b, t, "x,x,x,->x", " value=-1"), w, m, d, u->rate);
}

/* -- all of them ------------------------------------------------------------------------------- */

static void add_one(const updating *u, const target *t)
{
    const struct rule *r = u->rule;
    /* torch's operators for rows are others */
    adding *unfused = u->optim->unfused && !t->ids ? r->unfused : NULL;
    adding *fused = r->fused ? r->fused : add_fused;
    (unfused ? unfused : fused)(u, t);
    add_weight(u, t);
}

/* Scale that brings the global norm of all gradients down to the limit (Pascanu et al., 2013). */
static pl_value *add_clip(pl_builder *b, const pl_objective *o, const targets *t)
{
    const char *norm = *o->name ? pl_builder_fmt(b, "grad_norm.%s", o->name) : "grad_norm",
               *clip = *o->name ? pl_builder_fmt(b, "clip.%s", o->name) : "clip";
    pl_value *sum = NULL;
    for (int i = 0; i < t->n; i++) {
        const target *x = &t->at[i];
        if (!x->grad) continue;
        pl_value *s = PL_ADD(b, &pl_op_square_sum, spell(b, x, 1, 0, 0, ""), x->grad);
        sum = sum ? PL_ADD(b, &pl_op_add, NULL, sum, s) : s;
    }
    pl_add_output(b, norm, PL_ADD(b, &pl_op_sqrt, NULL, sum));
    return PL_ADD_AS(b, &pl_op_clip_scale, clip,
                     pl_builder_fmt(b, "; max_norm=%.17g", o->optim.clip), sum);
}

static void add_updates(pl_builder *b, const pl_objective *o, const targets *t)
{
    const struct rule *r = rule_of(o->optim.name);
    const pl_optim *optim = &o->optim;
    updating u = { .b = b, .rule = r, .optim = optim };
    u.lr = pl_objective_lr(b, o);
    if (r->counts) u.step = pl_objective_step(b, o);
    u.scale = optim->clip > 0
                  ? add_clip(b, o, t)
                  : pl_add_value(b, &pl_op_fill, *o->name ? NULL : "scale", "->; value=1", 0, NULL);
    if (optim->unfused && r->unfused && !b->err.code) add_scalars(&u);
    for (int i = 0; i < t->n && !b->err.code; i++)
        if (t->at[i].grad) add_one(&u, &t->at[i]);
}

/* NULL with a sticky error: no such optimizer. */
static const struct rule *find_rule(pl_builder *b, const pl_optim *optim)
{
    const struct rule *r = rule_of(optim->name);
    if (r) return r;
    pl_err_set(&b->err, PL_EUSAGE, "unknown optimizer '%s' (one of: %s)", optim->name,
               pl_optim_names(b->graph->arena));
    return NULL;
}

/* The sum of a weight's gradients is a state, to which each micro-batch adds its share of the mean
 * of them all; the update reads what the last one leaves. */
static pl_value *add_sum(pl_builder *b, const target *t)
{
    const pl_value *w = t->weight;
    const char *name = pl_builder_fmt(b, "%s.grad", w->name);
    pl_value *sum = pl_add_state_of(b, t->weight, PL_GRAD_SUM, name, "zeros");
    name = pl_builder_fmt(b, "%s.add", name);
    if (sum)
        sum->next = PL_ADD_AS(b, &pl_op_accumulate, name, spell(b, t, 2, 0, 1, ""), sum, t->grad);
    return sum ? sum->next : NULL;
}

static targets find_sums(pl_builder *b, const pl_objective *o, pl_value *loss)
{
    const char *mean = pl_builder_fmt(b, "; value=%.17g", 1 / (double)b->graph->micro),
               *share = loss ? pl_builder_fmt(b, "%s.share", loss->name) : "";
    targets t = find_gradients(b, o, PL_ADD_AS(b, &pl_op_scale, share, mean, loss));
    const pl_phase phase = b->phase;
    b->phase = PL_BACKWARD;
    for (int i = 0; i < t.n && !b->err.code; i++)
        if (t.at[i].grad) t.at[i].grad = add_sum(b, &t.at[i]);
    b->phase = phase;
    return t;
}

/* The rule of an objective; what it cannot have is an error of b. */
static const struct rule *check_rule(pl_builder *b, const pl_optim *optim)
{
    const struct rule *r = find_rule(b, optim);
    if (r && optim->unfused && !r->unfused)
        pl_err_set(&b->err, PL_EUSAGE, "an unfused update: PyTorch has no operators for %s",
                   optim->name);
    if (r && r->never_decays && optim->decay > 0)
        pl_err_set(&b->err, PL_EUSAGE, "a decay of %g: %s has none", optim->decay, optim->name);
    return r;
}

/* Sums over micro-batches are of all rows. */
static void refuse_lazy(pl_builder *b, const pl_optim *o, const targets *t)
{
    for (int i = 0; i < t->n; i++)
        if (t->at[i].table)
            pl_err_set(&b->err, PL_EUSAGE,
                       "%s in micro-batches would change rows of '%s' that no step has read: leave "
                       "them out, or take %s",
                       o->name, t->at[i].weight->name, o->name + strlen("lazy-"));
}

static targets find_targets(pl_builder *b, const pl_objective *o, pl_value *loss)
{
    const struct rule *r = check_rule(b, &o->optim);
    if (b->err.code) return (targets){ 0 };
    if (*o->name) loss = pl_objective_loss(b->graph, o);
    const bool sums = b->graph->micro > 1; /* which are like the weights */
    targets t = sums ? find_sums(b, o, loss) : find_gradients(b, o, loss);
    if (sums && r->lazy) refuse_lazy(b, &o->optim, &t);
    for (int i = 0; i < t.n && !sums && !b->err.code && updates_rows(&o->optim, r); i++)
        if (t.at[i].grad) take_rows(b, &t.at[i], r->lazy);
    return t;
}

void pl_optim_add(pl_builder *b, const pl_optim *optim, pl_value *loss)
{
    pl_objectives list;
    targets t[PL_MOST_OBJECTIVES] = { 0 };
    if (b->err.code || !pl_objectives_find(b->graph, optim, &list, &b->err)) return;
    for (int i = 0; i < list.n; i++) t[i] = find_targets(b, &list.at[i], loss);
    if (b->err.code) return;
    b->phase = PL_UPDATE;
    b->compute = PL_F32; /* whatever the passes compute in */
    for (int i = 0; i < list.n; i++) add_updates(b, &list.at[i], &t[i]);
}

/* Rows that are not in a cache stay as they are: so an update of all rows would have to leave them
 * so. */
static void add_caches(pl_builder *b, const pl_optim *optim, int64_t micro)
{
    const struct rule *r = find_rule(b, optim);
    if (b->err.code) return;
    const bool fits = updates_rows(optim, r) && !(micro > 1 && r->lazy);
    if (!fits)
        pl_err_set(&b->err, PL_EUSAGE,
                   "a cache of tables: %s%s changes rows that no step has read; "
                   "say --optimizer adagrad, rowwise-adagrad%s, or sgd with --momentum 0 --decay 0",
                   optim->name, micro > 1 ? " in micro-batches" : "",
                   micro > 1 ? "" : ", lazy-adam, lazy-adamw");
    else if (!pl_cached_add(b, &optim->cache, micro))
        pl_err_set(&b->err, PL_EUSAGE,
                   "there is nothing to cache: no f32 table of this model that stands alone (a "
                   "recommender's sizes without 'x'), of less than 2^31 rows, is read by lookups "
                   "alone and has more rows than the cache of "
                   "it would have: leave out --cache");
}

/* A model with a method of its own says itself what a step leaves in its weights. */
static bool updates_itself(const pl_builder *b)
{
    for (int i = 0; i < b->graph->values.n; i++)
        if (b->graph->values.at[i]->kind == PL_WEIGHT && b->graph->values.at[i]->next) return true;
    return false;
}

pl_builder pl_optim_step(const pl_model_args *args, const pl_optim *optim, int64_t micro,
                         pl_arena *arena)
{
    pl_builder b = pl_builder_new(arena, &pl_ops_all, args->spec);
    b.graph->micro = micro;
    pl_model_build(&b, args, PL_TRAIN);
    const pl_optim own = optim ? pl_objectives_usual(optim, args) : (pl_optim){ 0 };
    if (optim) optim = &own;
    if (optim && optim->masters) pl_add_narrow_weights(&b);
    if (optim && pl_cached_are(&optim->cache)) add_caches(&b, optim, micro);
    if (optim && micro > 1 && !b.err.code && updates_itself(&b))
        pl_err_set(&b.err, PL_EUSAGE,
                   "micro-batches: a step of this method takes its whole batch at once: leave them "
                   "out, and stages");
    if (optim && !b.err.code && !updates_itself(&b)) {
        pl_optim_add(&b, optim, pl_graph_find(b.graph, "loss"));
        if (b.err.code == PL_EINPUT) b.err.code = PL_EUSAGE; /* its numbers are options */
    }
    return b;
}

/* -- micro-batches ----------------------------------------------------------------------------- */

bool pl_optim_micro(const pl_model_args *args, int64_t n, pl_arena *arena, pl_model_args *out,
                    pl_err *err)
{
    int64_t batch = pl_model_int(args, "batch");
    *out = *args;
    if (n == 1) return true;
    if (batch % n)
        return pl_err_set(err, PL_EUSAGE,
                          "batch=%lld does not divide into %lld micro-batches: give --batch %lld, "
                          "or another --micro",
                          (long long)batch, (long long)n, (long long)((batch / n + 1) * n));
    const char *rows = pl_arena_fmt(arena, "%lld", (long long)(batch / n));
    return pl_model_set(args, "batch", rows, arena, out, err);
}
