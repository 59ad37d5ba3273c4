/* Pictures from a checkpoint. The model makes ROWS of them a step, whatever number is wanted, as
 * the random numbers of a picture are drawn by its row and the step's seed. */
#include "train/pictures.h"

#include "base/rng.h"
#include "data/images.h"

#include <math.h>
#include <string.h>

enum { ROWS = 16 };

static const char IMAGE[] = "image", SEED[] = "seed";

/* -- made -------------------------------------------------------------------------------------- */

/* The output, and how it lies; NULL: the model makes no pictures. */
static const pl_value *find_image(const pl_graph *graph, pl_frame *frame)
{
    const pl_value *image = NULL;
    for (int i = 0; i < graph->outputs.n; i++)
        if (!strcmp(graph->outputs.at[i]->name, IMAGE)) image = graph->outputs.at[i];
    for (int i = 0; i < graph->values.n; i++) {
        const pl_value *v = graph->values.at[i];
        if (v->role == PL_INPUT && (strcmp(v->name, SEED) || v->type != PL_I64)) return NULL;
    }
    return image && pl_images_frame(image, frame) ? image : NULL;
}

bool pl_pictures_build(pl_infer *m, pl_err *err)
{
    pl_frame frame;
    PL_TRY(pl_infer_build(m, ROWS, NULL, err));
    return find_image(m->graph, &frame) ||
           pl_err_set(err, PL_EINPUT, "model '%s' reads %s, not text, and makes no pictures",
                      m->args.spec, m->args.model->data);
}

/* Picture `row` of an output as bytes, channels side by side. */
static void take_bytes(const pl_value *image, const void *from, int64_t row, const pl_frame *f,
                       unsigned char *to)
{
    const int64_t plane = f->height * f->width, size = plane * f->channels;
    for (int64_t i = 0; i < plane; i++)
        for (int64_t c = 0; c < f->channels; c++) {
            const int64_t at = f->planar ? c * plane + i : i * f->channels + c;
            const double x = (pl_type_get(image->type, from, row * size + at) + 1) * 127.5;
            to[i * f->channels + c] = (unsigned char)(x > 0 ? fmin(x, 255) + 0.5 : 0);
        }
}

bool pl_pictures_make(pl_infer *m, int64_t n, uint64_t seed, pl_pictures_use *use, void *with,
                      pl_err *err)
{
    pl_frame f;
    const pl_value *image = find_image(m->graph, &f);
    const pl_port *input = pl_infer_input(m, SEED), *output = pl_infer_output(m, IMAGE);
    pl_arena *tmp = pl_arena_new("pictures");
    const int64_t row = f.width * f.channels;
    unsigned char *bytes = PL_NEW_N(tmp, unsigned char, f.height *row);
    const pl_picture picture = { f.height, f.width, f.channels, bytes, row, f.channels, 1 };
    bool ok = true;
    for (int64_t i = 0; ok && i < n; i += ROWS) {
        const int64_t draw =
            (int64_t)(pl_rng_mix(pl_rng_mix(seed, pl_rng_name("sample")), (uint64_t)i) >> 1);
        if (input) pl_infer_put(m, input, &draw);
        ok = pl_exec_step(m->exec, 0, err);
        if (!ok) break;
        void *made = pl_exec_map(m->exec, output, PL_READ);
        for (int64_t k = 0; k < ROWS && i + k < n; k++) {
            take_bytes(image, made, k, &f, bytes);
            use(with, i + k, &picture);
        }
        pl_exec_unmap(m->exec, output, PL_READ, made);
    }
    pl_arena_free(tmp);
    return ok;
}

/* -- side by side ------------------------------------------------------------------------------ */

enum { GAP = 2, GREY = 96 };

bool pl_sheet_new(const pl_infer *m, int64_t n, pl_arena *arena, pl_sheet *out, pl_err *err)
{
    pl_frame f;
    (void)find_image(m->graph, &f);
    const int64_t columns = (int64_t)ceil(sqrt((double)n)), rows = (n + columns - 1) / columns;
    const int64_t width = columns * (f.width + GAP) + GAP, height = rows * (f.height + GAP) + GAP;
    if (height > PL_PICTURE_PIXELS / width)
        return pl_err_set(
            err, PL_EUSAGE,
            "%lld pictures of %lld x %lld are %lld x %lld pixels, more than the %d of "
            "a file: make fewer",
            (long long)n, (long long)f.width, (long long)f.height, (long long)width,
            (long long)height, PL_PICTURE_PIXELS);
    const size_t bytes = (size_t)(width * height * f.channels);
    unsigned char *at = PL_NEW_N(arena, unsigned char, bytes);
    memset(at, GREY, bytes);
    *out = (pl_sheet){
        n, columns, { height, width, f.channels, at, width * f.channels, f.channels, 1 }, at
    };
    return true;
}

void pl_sheet_put(pl_sheet *s, int64_t i, const pl_picture *p)
{
    const pl_picture *whole = &s->whole;
    const int64_t top = GAP + i / s->columns * (p->height + GAP),
                  left = GAP + i % s->columns * (p->width + GAP);
    for (int64_t y = 0; y < p->height; y++)
        memcpy(s->at + (top + y) * whole->row + left * whole->column, p->at + y * p->row,
               (size_t)(p->width * whole->column));
}
