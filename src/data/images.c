/* Pictures as data. Opening: the inputs of the model (find_inputs), a reader by what the path is
 * (read_albums), what it gave against the model and itself (check_albums), which of it validates
 * (divide). A batch: pl_images_fill(), row by row, each by render_row(). */
#include "data/images.h"

#include "base/clock.h"
#include "base/file.h"
#include "data/ahead.h"
#include "data/album.h"
#include "data/congestion.h"
#include "data/ids.h"
#include "run/manifest.h"

#include <pthread.h>
#include <string.h>
#include <unistd.h>

static const char other_label[] = "label2", own_share[] = "share"; /* inputs, with mixup */

/* Of batch `step`: with it those behind `from` up to `until` are wanted, and those behind
 * `left_out` up to `gone` no longer, as no program reads them. Batches count from 0 in training,
 * and again from 0 in each evaluation. */
typedef struct wish {
    int64_t step, left_out, gone, from, until;
} wish;

enum { WISHES = 64 }; /* the most batches that one run of a program reads, and its ranks apart */

/* How far ahead pictures are decoded. All of it under the lock of the images. */
typedef struct outlook {
    pl_congestion congestion;
    bool filled;         /* what a run of a program reads (pl_images_check)       */
    double left;         /* when that was, on the clock                           */
    int64_t draws, each; /* batches of that run, so far; of the run before        */
    int64_t n;           /* begun since training, or an evaluation, last began    */
    wish recent[WISHES]; /* of the last of those, batch n at n % WISHES           */
    struct {
        int64_t last, wanted; /* the last batch begun, and wanted                 */
    } of[2];                  /* training; an evaluation                          */
} outlook;

struct pl_images {
    pl_album_pair pair;
    int n_albums;
    pl_album *album; /* [n_albums] those that train, then the others */
    pl_augment augment;
    pl_frame frame;  /* of the input                                 */
    pl_ahead *ahead; /* decodes files; NULL: pictures are in memory  */
    pthread_mutex_t lock;
    outlook outlook;
    pl_err problem; /* of a fill, under the lock                    */
};

bool pl_images_are(const char *path)
{
    return pl_file_is_folder(path) || pl_idx_is(path) || pl_cifar_is(path);
}

/* -- inputs ------------------------------------------------------------------------------------ */

typedef struct inputs {
    const pl_value *picture, *label; /* label NULL: the model has no use for it */
    const pl_graph *graph;           /* that has the label                      */
} inputs;

bool pl_images_frame(const pl_value *v, pl_frame *frame)
{
    const int64_t *dim = v->shape.dim;
    if (v->shape.rank != 4 || !pl_type_is_float(v->type)) return false;
    if (dim[3] == 1 || dim[3] == 3)
        *frame = (pl_frame){ dim[1], dim[2], (int)dim[3], false };
    else if (dim[1] == 1 || dim[1] == 3)
        *frame = (pl_frame){ dim[2], dim[3], (int)dim[1], true };
    else
        return false;
    return true;
}

static bool is_label(const pl_value *v)
{
    return v->shape.rank == 1 && !pl_type_is_float(v->type);
}

static bool find_inputs(int n, const pl_graph *const graph[], pl_frame *frame, inputs *out,
                        pl_err *err)
{
    *out = (inputs){ 0 };
    for (int i = 0; i < n; i++)
        for (int k = 0; k < graph[i]->values.n; k++) {
            const pl_value *v = graph[i]->values.at[k];
            if (v->role != PL_INPUT || pl_data_is_scalar(v->name)) continue;
            const bool own = !strcmp(v->name, other_label) || !strcmp(v->name, own_share);
            if (pl_images_frame(v, frame) &&
                (!out->picture || !strcmp(out->picture->name, v->name)))
                out->picture = v;
            else if (is_label(v) && !own && (!out->label || !strcmp(out->label->name, v->name)))
                *out = (inputs){ out->picture, v, graph[i] };
            else if (!own)
                return pl_err_set(err, PL_EUNSUPPORTED,
                                  "the model reads '%s' too, %s: pictures give f32[rows,height,"
                                  "width,3], or channels first, and a label i32[rows], alone",
                                  v->name, pl_shape_text(graph[i]->arena, v->type, &v->shape));
        }
    return out->picture || pl_err_set(err, PL_EUNSUPPORTED,
                                      "the model reads no f32[rows,height,width,3], which pictures "
                                      "give");
}

/* -- opening ----------------------------------------------------------------------------------- */

static bool read_albums(const char *path, pl_arena *arena, pl_album_pair *pair, pl_err *err)
{
    if (pl_idx_is(path)) return pl_idx_read(path, arena, pair, err);
    if (pl_file_is_folder(path) && !pl_cifar_is(path))
        return pl_classes_read(path, arena, pair, err);
    return pl_cifar_read(path, arena, pair, err);
}

/* Labels of an album that the model does not have. */
static void check_labels(const pl_album *a, int64_t below, pl_problems *problems)
{
    int64_t wrong = 0, first = -1, most = 0;
    for (int64_t i = 0; i < a->n; i++) {
        if (a->label[i] > most) most = a->label[i];
        if (a->label[i] >= below && !wrong++) first = i;
    }
    if (wrong && a->file)
        pl_problems_add(problems,
                        "%s has %lld classes, a folder each, and the model %lld: write "
                        "classes=%lld",
                        a->path, (long long)a->classes, (long long)below, (long long)a->classes);
    if (wrong && !a->file)
        pl_problems_add(problems,
                        "%s: picture %lld has the label %d, and the model has %lld classes, from 0 "
                        "on (%lld labels are too large): write classes=%lld",
                        a->path, (long long)first, a->label[first], (long long)below,
                        (long long)wrong, (long long)(most + 1));
}

/* All pictures in memory are of one size, and of one set of classes. */
static void check_kinds(const pl_album *a, const pl_album *first, pl_problems *problems)
{
    if (a->like.height != first->like.height || a->like.width != first->like.width)
        pl_problems_add(problems, "%s has pictures of %lld x %lld, and %s of %lld x %lld", a->path,
                        (long long)a->like.height, (long long)a->like.width, first->path,
                        (long long)first->like.height, (long long)first->like.width);
    if (a->classes != first->classes)
        pl_problems_add(problems, "%s is of %lld classes, and %s of %lld", a->path,
                        (long long)a->classes, first->path, (long long)first->classes);
}

static bool check_albums(const pl_images *m, int64_t below, pl_arena *arena, pl_err *err)
{
    pl_problems problems = { .text.arena = arena };
    for (int i = 0; i < m->n_albums; i++) {
        check_kinds(&m->album[i], &m->album[0], &problems);
        if (below) check_labels(&m->album[i], below, &problems);
    }
    return !problems.n || pl_err_set(err, PL_EINPUT, "%s", pl_problems_text(&problems));
}

/* The first share of every class, and then the rest of each, so that none is left out of either. */
static int64_t divide_classes(pl_album *a, double share, pl_arena *arena)
{
    const char **file = PL_NEW_N(arena, const char *, a->n);
    int32_t *label = PL_NEW_N(arena, int32_t, a->n);
    int64_t at = 0, trains = 0;
    for (int rest = 0; rest < 2; rest++)
        for (int64_t begin = 0, end; begin < a->n; begin = end) {
            for (end = begin; end < a->n && a->label[end] == a->label[begin];) end++;
            const int64_t part = (int64_t)((double)(end - begin) * share),
                          some = begin + (part ? part : 1);
            for (int64_t i = rest ? some : begin; i < (rest ? end : some); i++, at++) {
                file[at] = a->file[i];
                label[at] = a->label[i];
            }
            if (!rest) trains = at;
        }
    a->file = file;
    a->label = label;
    return trains;
}

static bool divide(pl_images *m, double share, pl_arena *arena, pl_data *d, pl_err *err)
{
    for (int i = 0; i < m->n_albums; i++) {
        d->n += m->album[i].n;
        d->n_train += i < m->pair.train.n ? m->album[i].n : 0;
    }
    if (m->pair.valid.n) return true;
    d->n_train = m->album[0].file ? divide_classes(&m->album[0], share, arena)
                                  : (int64_t)((double)d->n * share);
    if (d->n_train > 0 && d->n_train < d->n) return true;
    return pl_err_set(err, PL_EINPUT,
                      "%s: %lld pictures give %lld for training and %lld for validation: at least "
                      "one of each is needed (--train-share)",
                      d->path, (long long)d->n, (long long)d->n_train,
                      (long long)(d->n - d->n_train));
}

/* Train, then validate, in one list. */
static void join_albums(pl_images *m, pl_data *d, pl_arena *arena)
{
    pl_text all = { .arena = arena };
    pl_albums list = { 0 };
    for (int i = 0; i < m->pair.train.n; i++) PL_PUSH(arena, &list, m->pair.train.at[i]);
    for (int i = 0; i < m->pair.valid.n; i++) PL_PUSH(arena, &list, m->pair.valid.at[i]);
    for (int i = 0; i < list.n; i++) {
        pl_text_add(&all, "%s\n", list.at[i].hash);
        d->n_bytes += list.at[i].bytes;
    }
    m->album = list.at;
    m->n_albums = list.n;
    d->hash = pl_manifest_hash(arena, pl_text_get(&all), all.n);
}

static bool open_images(pl_images *m, double share, const inputs *in, pl_arena *arena, pl_data *d,
                        pl_err *err)
{
    int64_t least, below = 0;
    if (in->label) below = pl_ids_below(in->graph, in->label, &least);
    PL_TRY(read_albums(d->path, arena, &m->pair, err));
    join_albums(m, d, arena);
    PL_TRY(check_albums(m, below, arena, err));
    return divide(m, share, arena, d, err);
}

static const pl_album *find_album(const pl_images *m, int64_t *picture)
{
    int i = 0;
    while (*picture >= m->album[i].n) *picture -= m->album[i++].n;
    return &m->album[i];
}

/* Reads the file rather than mapping it: one that is cut short meanwhile is a broken picture then,
 * and not the end of the run (pl_file_map). */
static bool decode_file(const void *of, int64_t picture, pl_arena *arena, pl_picture *out,
                        pl_err *err)
{
    enum { MOST_BYTES = 1 << 29 };
    const pl_album *a = find_album(of, &picture);
    pl_arena *tmp = pl_arena_new("file of a picture");
    const char *file;
    size_t bytes;
    bool ok = pl_file_read(a->file[picture], MOST_BYTES, tmp, &file, &bytes, err);
    if (ok && !pl_picture_decode(file, bytes, arena, out, err))
        ok = pl_err_in(err, "%s", a->file[picture]);
    pl_arena_free(tmp);
    return ok;
}

/* Threads decode beside those that compute: at first half as many as there are cores, for two
 * batches; more, in time, while files are slow to come. */
static pl_ahead *start_ahead(pl_images *m)
{
    enum { FEW = 8, KEPT = 256 << 20 };
    const int cores = (int)sysconf(_SC_NPROCESSORS_ONLN), half = cores / 2;
    const pl_loading least = { half < 1     ? 1
                               : half > FEW ? FEW
                                            : half,
                               2 },
                     most = { PL_AHEAD_THREADS, PL_CONGESTION_WINDOW / 2 };
    if (!m->album[0].file) return NULL;
    m->outlook.each = 1;
    m->outlook.congestion = pl_congestion_of(least, most, cores < 1 ? 1 : cores);
    return pl_ahead_new(least.threads, KEPT, decode_file, m);
}

bool pl_images_open(const char *path, double share, bool in_order, int n,
                    const pl_graph *const graph[], const pl_augment *augment, pl_arena *arena,
                    pl_data *out, pl_err *err)
{
    inputs in;
    pl_images *m = PL_NEW(arena, pl_images);
    pl_data d = { .kind = PL_DATA_IMAGES,
                  .path = pl_arena_text(arena, path),
                  .in_order = in_order,
                  .images = m };
    m->augment = *augment;
    pthread_mutex_init(&m->lock, NULL);
    PL_TRY(find_inputs(n, graph, &m->frame, &in, err));
    if (!open_images(m, share, &in, arena, &d, err)) {
        pl_data_free(&d);
        return false;
    }
    m->ahead = start_ahead(m);
    *out = d;
    return true;
}

void pl_images_free(pl_images *m)
{
    if (m->ahead) pl_ahead_free(m->ahead);
    pl_album_free(&m->pair);
    pthread_mutex_destroy(&m->lock);
}

bool pl_images_check(pl_images *m, pl_err *err)
{
    pthread_mutex_lock(&m->lock);
    const pl_err problem = m->problem;
    m->outlook.filled = true;
    m->outlook.left = pl_clock_now();
    pthread_mutex_unlock(&m->lock);
    return !problem.code || pl_err_set(err, problem.code, "%s", problem.msg);
}

/* -- batches ----------------------------------------------------------------------------------- */

typedef struct batch {
    const pl_data *d;
    pl_images *m;
    const pl_augment *augment;
    uint64_t seed;
    int64_t step, n_valid, rows;
} batch;

static int64_t find_picture(const batch *b, int64_t row)
{
    return pl_data_row(b->d, b->seed, b->step, b->n_valid, row, b->rows);
}

static int32_t find_label(const batch *b, int64_t row)
{
    int64_t picture = find_picture(b, row);
    return find_album(b->m, &picture)->label[picture];
}

/* Rows of a batch are mixed from both of its ends, as timm has it: the first with the last. */
static int64_t find_other(const batch *b, int64_t row)
{
    return b->rows - 1 - row;
}

static float find_share(const batch *b, int64_t row)
{
    return (float)pl_augment_share(b->augment, b->seed, b->step * b->rows + row);
}

/* Call `use` with a picture. */
static bool take_picture(const pl_images *m, int64_t picture,
                         void (*use)(void *with, const pl_picture *p), void *with, pl_err *err)
{
    if (m->ahead) return pl_ahead_take(m->ahead, picture, use, with, err);
    const pl_album *a = find_album(m, &picture);
    pl_picture p = a->like;
    p.at += picture * a->stride;
    use(with, &p);
    return true;
}

static void keep_problem(pl_images *m, const pl_err *problem)
{
    pthread_mutex_lock(&m->lock);
    if (!m->problem.code) m->problem = *problem;
    pthread_mutex_unlock(&m->lock);
}

typedef struct rendering {
    const batch *b;
    int64_t row;
    float *to;
} rendering;

static void render_picture(void *with, const pl_picture *p)
{
    const rendering *r = with;
    const batch *b = r->b;
    const pl_view v =
        pl_augment_view(b->augment, b->seed, b->step * b->rows + r->row, p, &b->m->frame);
    pl_view_render(&v, p, &b->m->frame, r->to);
}

/* A row before it is mixed: as floats, all of the frame. */
static void render_alone(const batch *b, int64_t row, float *to)
{
    pl_err problem = { 0 };
    if (!take_picture(b->m, find_picture(b, row), render_picture, &(rendering){ b, row, to },
                      &problem))
        keep_problem(b->m, &problem);
}

static const float *render_row(const batch *b, int64_t row, pl_arena *arena)
{
    const int64_t n = b->m->frame.height * b->m->frame.width * b->m->frame.channels;
    float *own = PL_NEW_N(arena, float, n);
    const float share = find_share(b, row);
    render_alone(b, row, own);
    if (share >= 1) return own;
    float *other = PL_NEW_N(arena, float, n);
    render_alone(b, find_other(b, row), other);
    for (int64_t i = 0; i < n; i++) own[i] = share * own[i] + (1 - share) * other[i];
    return own;
}

/* The elements of a port that are of one row of the batch: n, from element `at` of the part on, in
 * runs that are evenly spaced in the row. */
static void put_row(const batch *b, const pl_port *port, int64_t at, int64_t n, void *to)
{
    const pl_shape *whole = &port->value->shape;
    const int64_t size = pl_shape_count(whole) / whole->dim[0],
                  row = pl_region_global(port->region, whole, at) / size;
    int64_t step, run = pl_region_row(port->region, whole, &step);
    pl_arena *tmp = pl_arena_new("pictures");
    const float *x = render_row(b, row, tmp);
    if (run > n) run = n;
    for (int64_t i = 0; i < n; i += run) {
        const int64_t from = pl_region_global(port->region, whole, at + i) - row * size;
        PL_ASSERT(from >= 0 && from + (run - 1) * step < size);
        for (int64_t k = 0; k < run; k++)
            pl_type_put(port->value->type, to, at + i + k, (double)x[from + k * step]);
    }
    pl_arena_free(tmp);
}

/* A program begins to read, so it is done with what it read before: how did the loader do? */
static void review_loading(pl_images *m)
{
    outlook *o = &m->outlook;
    const pl_ahead_spent spent = pl_ahead_ask_spent(m->ahead);
    const int threads = o->congestion.now.threads;
    if (o->draws && spent.pictures)
        pl_congestion_add(
            &o->congestion,
            &(pl_fetched){ spent.seconds, spent.cpu, pl_clock_now() - o->left, spent.pictures });
    if (o->congestion.now.threads != threads)
        pl_ahead_set_threads(m->ahead, o->congestion.now.threads);
    o->filled = false;
    o->each = o->draws ? o->draws : 1;
    o->draws = 0;
}

static wish make_wish(const batch *b)
{
    outlook *o = &b->m->outlook;
    const bool evaluates = b->step < 0;
    const int64_t i = evaluates ? -1 - b->step : b->step, wanted = i ? o->of[evaluates].wanted : 0,
                  last = i ? o->of[evaluates].last : 0, most = PL_AHEAD_PICTURES / 2 / b->rows,
                  set = o->congestion.now.ahead * o->each, ahead = set < most ? set : most;
    wish w = { .step = b->step,
               .left_out = last,
               .gone = wanted < i ? wanted : i - 1,
               .from = wanted > i ? wanted : i };
    w.until = i + ahead > w.from ? i + ahead : w.from;
    if (evaluates && w.until >= b->n_valid) w.until = b->n_valid - 1;
    o->of[evaluates].last = i;
    o->of[evaluates].wanted = w.until;
    return w;
}

/* A rank begins with its part of a batch. The first that does decides for all what is wanted with
 * it: all have begun what one run of a program reads before any begins with the next, as they
 * agree at the end of each. */
static wish find_wish(const batch *b)
{
    outlook *o = &b->m->outlook;
    wish w = { 0 };
    bool known = false;
    pthread_mutex_lock(&b->m->lock);
    if (o->n && (b->step < 0) != (o->recent[(o->n - 1) % WISHES].step < 0)) o->n = 0;
    for (int64_t i = o->n - 1; !known && i >= 0 && i >= o->n - WISHES; i--) {
        w = o->recent[i % WISHES];
        known = w.step == b->step;
    }
    if (!known) {
        if (o->filled) review_loading(b->m);
        o->draws++;
        o->recent[o->n++ % WISHES] = w = make_wish(b);
    }
    pthread_mutex_unlock(&b->m->lock);
    return w;
}

/* What this part takes of another batch, which is wanted, or no longer is. */
static void tell_ahead(const batch *b, const pl_port *port, int64_t number,
                       void (*tell)(pl_ahead *a, int64_t picture))
{
    const int64_t n = pl_region_count(port->region), rows = port->shape.dim[0],
                  size = pl_shape_count(&port->value->shape) / b->rows;
    batch of = *b;
    of.step = b->step < 0 ? -1 - number : number;
    for (int64_t i = 0; i < rows; i++) {
        const int64_t row =
            pl_region_global(port->region, &port->value->shape, i * (n / rows)) / size;
        tell(b->m->ahead, find_picture(&of, row));
        if (find_share(&of, row) < 1) tell(b->m->ahead, find_picture(&of, find_other(&of, row)));
    }
}

static void put_pictures(const batch *b, const pl_port *port, void *to)
{
    const int64_t count = pl_region_count(port->region), rows = port->shape.dim[0];
    if (b->m->ahead) {
        const wish w = find_wish(b);
        for (int64_t i = w.left_out + 1; i <= w.gone; i++) tell_ahead(b, port, i, pl_ahead_drop);
        for (int64_t i = w.from + 1; i <= w.until; i++) tell_ahead(b, port, i, pl_ahead_want);
    }
#pragma omp parallel for schedule(dynamic)
    for (int64_t i = 0; i < rows; i++) put_row(b, port, i * (count / rows), count / rows, to);
}

/* Labels, those of the others, or shares. */
static void put_numbers(const batch *b, const pl_port *port, void *to)
{
    const pl_value *v = port->value;
    for (int64_t i = 0, n = pl_region_count(port->region); i < n; i++) {
        const int64_t row = pl_region_global(port->region, &v->shape, i);
        const bool other = !strcmp(v->name, other_label);
        const double x = !strcmp(v->name, own_share)
                             ? (double)find_share(b, row)
                             : (double)find_label(b, other ? find_other(b, row) : row);
        pl_type_put(v->type, to, i, x);
    }
}

void pl_images_fill(const pl_data *data, const pl_port *port, uint64_t seed, int64_t step,
                    int64_t n_valid, void *to)
{
    static const pl_augment none;
    const batch b = { .d = data,
                      .m = data->images,
                      .augment = step < 0 ? &none : &data->images->augment,
                      .seed = seed,
                      .step = step,
                      .n_valid = n_valid,
                      .rows = port->value->shape.dim[0] };
    if (!pl_region_count(port->region)) return; /* a rank may have no rows */
    if (port->value->shape.rank == 4)
        put_pictures(&b, port, to);
    else
        put_numbers(&b, port, to);
}
