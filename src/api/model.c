/* Models and clusters: by name, from files, or built node by node. */
#include "api/context.h"
#include "ops/lib/all.h"
#include "train/optim.h"

#include <string.h>

/* -- models ------------------------------------------------------------------------------------ */

pl_model *pl_model_open(pl_context *c, const char *spec)
{
    pl_model *m = PL_NEW(c->arena, pl_model);
    pl_err *err;
    m->context = c;
    return pl_context_ready(c, &err) && pl_model_parse(spec, c->arena, &m->args, err) ? m : NULL;
}

const char *pl_model_spec(const pl_model *m)
{
    return m->args.spec;
}

static pl_graph *step_of(const pl_model *m, pl_arena *arena)
{
    const pl_optim o = pl_optim_usual(PL_OPTIM_NAME);
    pl_graph *g;
    pl_builder b = pl_optim_step(&m->args, &o, 1, arena);
    return pl_builder_done(&b, &g, pl_context_begin(m->context)) ? g : NULL;
}

int64_t pl_model_parameters(const pl_model *m)
{
    pl_arena *tmp = pl_arena_new("parameters");
    const pl_graph *g = step_of(m, tmp);
    const int64_t n = g ? pl_graph_params(g) : -1;
    pl_arena_free(tmp);
    return n;
}

const char *pl_model_text(const pl_model *m)
{
    pl_arena *tmp = pl_arena_new("text of a model");
    const pl_graph *g = step_of(m, tmp);
    pl_text t = { .arena = m->context->arena };
    if (g) pl_graph_print(g, &t);
    pl_arena_free(tmp);
    return g ? pl_text_get(&t) : NULL;
}

/* -- models of a caller ------------------------------------------------------------------------ */

static void build_own(pl_builder *b, const pl_model_args *a, pl_mode mode)
{
    const pl_model *m = (const void *)((const char *)a->model - offsetof(pl_model, own));
    m->build(b, pl_model_int(a, "batch"), mode, m->self);
    if (!b->err.code && !pl_graph_find(b->graph, "loss"))
        pl_err_set(&b->err, PL_EINPUT, "model '%s' has no output 'loss'", a->model->name);
}

pl_model *pl_model_new(pl_context *c, const char *name, int64_t batch,
                       void (*build)(pl_builder *b, int64_t batch, pl_mode mode, void *self),
                       void *self)
{
    static const pl_model_key keys[] = { { "batch", "1", 1, "rows of a step" },
                                         PL_MODEL_DTYPE,
                                         { 0 } };
    static const char letters[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-";
    pl_err *err;
    pl_model *m = PL_NEW(c->arena, pl_model);
    if (!pl_context_ready(c, &err)) return NULL;
    if (!*name || strspn(name, letters) != strlen(name)) {
        pl_err_set(err, PL_EUSAGE, "model '%s': a name has letters, digits, and any of _.-", name);
        return NULL;
    }
    *m = (pl_model){ .context = c, .build = build, .self = self };
    m->own = (pl_family){ .name = pl_arena_text(c->arena, name),
                          .about = "a caller's",
                          .data = "tensors",
                          .keys = keys,
                          .build = build_own,
                          .own = true };
    const char *rows = pl_arena_fmt(c->arena, "batch=%lld", (long long)batch);
    return pl_model_parse_keys(&m->own, rows, c->arena, &m->args, err) ? m : NULL;
}

/* Type and shape of an input or weight; false after an error. */
static bool find_shape(pl_builder *b, const char *name, const char *type, int rank,
                       const int64_t dim[], pl_type *t, pl_shape *s)
{
    *s = (pl_shape){ .rank = rank };
    if (b->err.code) return false;
    if (!pl_type_find(type, t))
        return pl_err_set(&b->err, PL_EINPUT, "'%s': there is no element type '%s'", name, type);
    if (rank < 0 || rank > PL_MAX_RANK)
        return pl_err_set(&b->err, PL_EINPUT, "'%s' has %d dimensions; there are at most %d", name,
                          rank, PL_MAX_RANK);
    for (int d = 0; d < rank; d++) {
        s->dim[d] = dim[d];
        if (dim[d] < 1)
            return pl_err_set(&b->err, PL_EINPUT, "'%s': dimension %d has size %lld", name, d,
                              (long long)dim[d]);
    }
    return true;
}

pl_value *pl_build_input(pl_builder *b, const char *name, const char *type, int rank,
                         const int64_t dim[])
{
    pl_type t;
    pl_shape s;
    return find_shape(b, name, type, rank, dim, &t, &s) ? pl_add_input(b, name, t, s) : NULL;
}

pl_value *pl_build_weight(pl_builder *b, const char *name, int rank, const int64_t dim[],
                          const char *init)
{
    pl_type t;
    pl_shape s;
    if (!find_shape(b, name, "f32", rank, dim, &t, &s)) return NULL;
    return pl_add_state(b, name, t, s, init, PL_WEIGHT);
}

static const pl_op *find_op(pl_builder *b, const char *name)
{
    const pl_op *op = pl_ops_find(&pl_ops_all, name);
    if (!op)
        pl_err_set(&b->err, PL_EINPUT, "there is no operator '%s': pleat ops lists them", name);
    return op;
}

pl_value *pl_build_node(pl_builder *b, const char *name, const char *op, const char *spec, int n_in,
                        pl_value *const in[])
{
    for (int i = 0; i < n_in && !b->err.code; i++)
        if (!in[i])
            pl_err_set(&b->err, PL_EINPUT, "node '%s' of %s: input %d is NULL", name ? name : "",
                       op, i);
    if (b->err.code) return NULL;
    const pl_op *o = find_op(b, op);
    return o ? pl_add_value(b, o, name, spec, n_in, in) : NULL;
}

pl_value *pl_build_cross_entropy(pl_builder *b, pl_value *logits, pl_value *targets)
{
    if (b->err.code || !logits || !targets) return NULL;
    if (logits->shape.rank < 1 || logits->shape.rank != targets->shape.rank + 1) {
        pl_err_set(&b->err, PL_EINPUT,
                   "cross-entropy: logits have %d dimensions, targets %d; one less is wanted",
                   logits->shape.rank, targets->shape.rank);
        return NULL;
    }
    return pl_model_cross_entropy(b, logits, targets);
}

pl_value *pl_build_result(pl_value *v, int i)
{
    return v && v->maker && i >= 0 && i < v->maker->n_out ? v->maker->out[i] : NULL;
}

void pl_build_output(pl_builder *b, pl_value *v, const char *name)
{
    if (!b->err.code && v) pl_add_output(b, name, v);
}

int pl_build_rank(const pl_value *v)
{
    return v ? v->shape.rank : 0;
}

int64_t pl_build_dim(const pl_value *v, int d)
{
    return v && d >= 0 && d < v->shape.rank ? v->shape.dim[d] : 1;
}

void pl_build_refuse(pl_builder *b, const char *why)
{
    pl_err_set(&b->err, PL_EINPUT, "%s", why);
}

/* -- clusters ---------------------------------------------------------------------------------- */

pl_cluster *pl_cluster_open(pl_context *c, const char *name)
{
    pl_cluster *cluster;
    pl_err *err;
    return pl_context_ready(c, &err) && pl_cluster_find(name, c->arena, &cluster, err) ? cluster
                                                                                       : NULL;
}

int pl_cluster_devices(const pl_cluster *c)
{
    return c->n_devices;
}

const char *pl_cluster_text(pl_context *c, const pl_cluster *cluster)
{
    pl_text t = { .arena = c->arena };
    pl_cluster_print(cluster, &t);
    return pl_text_get(&t);
}
