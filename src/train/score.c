/* Figures of made pictures. Opening finds the features in the classifier's graph (add_features) and
 * the real pictures; both kinds of pictures then go through it ROWS at a time (run), which leaves
 * their features and probabilities in a pl_looks. */
#include "train/score.h"

#include "data/images.h"
#include "graph/op.h"
#include "train/frechet.h"
#include "train/infer.h"
#include "train/source.h"

#include <math.h>

enum { ROWS = 32 };

static const char LOGITS[] = "logits", FEATURES[] = "features";

/* What the classifier says of pictures: a row each. */
typedef struct looks {
    int64_t n;
    double *feature, *probability; /* [most, features], [most, classes] */
} looks;

struct pl_scorer {
    pl_infer model;
    pl_data data;
    pl_frame frame;
    const pl_port *image, *logits, *features;
    int64_t n, n_real, waiting; /* rows of the batch that are filled */
    int n_features, n_classes;
    float *batch; /* [ROWS, picture]                   */
    looks made, real;
    pl_err problem; /* of pl_score_add                   */
};

/* -- features of a classifier ------------------------------------------------------------------ */

/* Does it depend on no input? */
static bool is_fixed(const pl_value *v)
{
    if (v->role != PL_COMPUTED) return v->role == PL_STATE;
    for (int i = 0; i < v->maker->n_in; i++)
        if (!is_fixed(v->maker->in[i])) return false;
    return true;
}

/* What the last product on the way to x multiplies with a weight; NULL: there is none. */
static pl_value *find_read(pl_value *x)
{
    while (x && x->maker) {
        const pl_node *n = x->maker;
        pl_value *read = NULL;
        int others = 0;
        for (int i = 0; i < n->n_in; i++)
            if (is_fixed(n->in[i]))
                others++;
            else if (!read)
                read = n->in[i];
        if (read && others && pl_op_multiplies(n)) return read;
        x = read;
    }
    return NULL;
}

static void add_features(pl_builder *b)
{
    pl_value *logits = pl_graph_find(b->graph, LOGITS), *x = logits ? find_read(logits) : NULL;
    if (x && x->maker && x->shape.rank == 2 && logits->shape.rank == 2)
        pl_add_output(b, FEATURES, x);
    else
        pl_err_set(&b->err, PL_EINPUT,
                   "%s: features are what the last product of a classifier reads, f32[rows,"
                   "features], and this model has no such",
                   b->graph->name);
}

/* -- opening ----------------------------------------------------------------------------------- */

static looks make_looks(const pl_scorer *s, int64_t n, pl_arena *arena)
{
    return (looks){ 0, PL_NEW_N(arena, double, n * s->n_features),
                    PL_NEW_N(arena, double, n * s->n_classes) };
}

static bool open_model(pl_scorer *s, const char *checkpoint, const pl_exec_options *exec,
                       pl_arena *arena, pl_err *err)
{
    PL_TRY(pl_infer_open(checkpoint, arena, &s->model, err));
    PL_TRY(pl_infer_build(&s->model, ROWS, add_features, err));
    PL_TRY(pl_infer_start(&s->model, exec, err));
    const pl_program *p = s->model.program;
    s->logits = pl_infer_output(&s->model, LOGITS);
    s->features = pl_infer_output(&s->model, FEATURES);
    s->n_classes = (int)s->logits->value->shape.dim[1];
    s->n_features = (int)s->features->value->shape.dim[1];
    for (int i = 0; i < p->n_inputs; i++)
        if (p->input[i].value->type == PL_F32 && pl_images_frame(p->input[i].value, &s->frame))
            s->image = &p->input[i];
    if (!s->image)
        return pl_err_set(err, PL_EINPUT, "model '%s' reads %s, not pictures", s->model.args.spec,
                          s->model.args.model->data);
    return s->n_features <= PL_SCORE_FEATURES ||
           pl_err_set(err, PL_EUNSUPPORTED,
                      "model '%s' has %d features, more than %d: take one with fewer",
                      s->model.args.spec, s->n_features, PL_SCORE_FEATURES);
}

/* All of the data are as those that validate, which are read at even distances. */
static bool open_data(pl_scorer *s, const char *data, int64_t n, pl_arena *arena, pl_err *err)
{
    const pl_data_source source = {
        .data = data, .train_share = 0.5, .n = 1, .graph = &s->model.graph
    };
    PL_TRY(pl_data_source_open(&source, &s->model.args, arena, &s->data, err));
    if (s->data.kind != PL_DATA_IMAGES)
        return pl_err_set(err, PL_EUSAGE, "--data %s: these are no pictures", data);
    s->data.n_train = 0;
    s->n_real = n < s->data.n ? n : s->data.n;
    return true;
}

bool pl_score_open(const char *checkpoint, const char *data, int64_t n, const pl_exec_options *exec,
                   pl_arena *arena, pl_scorer **out, pl_err *err)
{
    pl_scorer *s = PL_NEW(arena, pl_scorer);
    s->n = n;
    if (!open_model(s, checkpoint, exec, arena, err) || !open_data(s, data, n, arena, err)) {
        pl_score_free(s);
        return false;
    }
    s->batch = PL_NEW_N(arena, float, pl_shape_count(&s->image->value->shape));
    s->made = make_looks(s, n, arena);
    s->real = make_looks(s, s->n_real, arena);
    *out = s;
    return true;
}

void pl_score_free(pl_scorer *s)
{
    if (!s) return;
    pl_data_free(&s->data);
    pl_infer_free(&s->model);
}

/* -- looking at pictures ----------------------------------------------------------------------- */

static void put_softmax(int n, const pl_value *v, const void *logits, int64_t row, double *to)
{
    double top = -INFINITY, sum = 0;
    for (int i = 0; i < n; i++) top = fmax(top, pl_type_get(v->type, logits, row * n + i));
    for (int i = 0; i < n; i++) sum += to[i] = exp(pl_type_get(v->type, logits, row * n + i) - top);
    for (int i = 0; i < n; i++) to[i] /= sum;
}

/* A step, of whose rows the first `rows` are kept. */
static bool run(pl_scorer *s, int64_t rows, looks *to, pl_err *err)
{
    PL_TRY(pl_exec_step(s->model.exec, 0, err));
    const void *x = pl_exec_map(s->model.exec, s->features, PL_READ),
               *y = pl_exec_map(s->model.exec, s->logits, PL_READ);
    bool finite = true;
    for (int64_t r = 0; r < rows; r++, to->n++) {
        double *feature = to->feature + to->n * s->n_features;
        for (int i = 0; i < s->n_features; i++) {
            feature[i] = pl_type_get(s->features->value->type, x, r * s->n_features + i);
            finite = finite && isfinite(feature[i]);
        }
        put_softmax(s->n_classes, s->logits->value, y, r, to->probability + to->n * s->n_classes);
    }
    pl_exec_unmap(s->model.exec, s->features, PL_READ, (void *)(uintptr_t)x);
    pl_exec_unmap(s->model.exec, s->logits, PL_READ, (void *)(uintptr_t)y);
    return finite ||
           pl_err_set(err, PL_EINPUT, "%s: features of a picture are not finite", s->model.path);
}

static bool run_made(pl_scorer *s, pl_err *err)
{
    const int64_t rows = s->waiting;
    if (!rows) return true;
    pl_infer_put(&s->model, s->image, s->batch);
    s->waiting = 0;
    return run(s, rows, &s->made, err);
}

void pl_score_add(pl_scorer *s, const pl_picture *made)
{
    const int64_t size = s->frame.height * s->frame.width * s->frame.channels;
    const pl_view view = pl_view_middle(made, &s->frame);
    if (s->problem.code) return;
    PL_ASSERT_CMP(s->made.n + s->waiting, <, s->n);
    pl_view_render(&view, made, &s->frame, s->batch + size * s->waiting++);
    if (s->waiting == ROWS) (void)!run_made(s, &s->problem);
}

static bool run_real(pl_scorer *s, pl_err *err)
{
    const int64_t batches = (s->n_real + ROWS - 1) / ROWS;
    for (int64_t k = 0; k < batches; k++) {
        const int64_t left = s->n_real - k * ROWS;
        void *to = pl_exec_map(s->model.exec, s->image, PL_WRITE);
        pl_data_fill(&s->data, s->image, 0, -1 - k, batches, 0, to);
        pl_exec_unmap(s->model.exec, s->image, PL_WRITE, to);
        PL_TRY(pl_data_check(&s->data, err));
        PL_TRY(run(s, left < ROWS ? left : ROWS, &s->real, err));
    }
    return true;
}

bool pl_score_end(pl_scorer *s, pl_score *out, pl_err *err)
{
    if (s->problem.code) return pl_err_set(err, s->problem.code, "%s", s->problem.msg);
    PL_TRY(run_made(s, err));
    PL_TRY(run_real(s, err));
    PL_ASSERT_CMP(s->made.n, ==, s->n);
    pl_arena *tmp = pl_arena_new("score");
    const pl_gaussian made = pl_frechet_fit(s->made.n, s->n_features, s->made.feature, tmp),
                      real = pl_frechet_fit(s->real.n, s->n_features, s->real.feature, tmp);
    *out = (pl_score){ s->made.n,
                       s->real.n,
                       s->n_features,
                       s->n_classes,
                       pl_frechet_distance(&made, &real),
                       pl_frechet_inception(s->made.n, s->n_classes, s->made.probability),
                       pl_frechet_inception(s->real.n, s->n_classes, s->real.probability) };
    pl_arena_free(tmp);
    return true;
}
