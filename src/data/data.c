/* What a step reads. Read pl_data_feed() at the end: scalars, or a batch by the kind of data
 * (pl_data_fill). The places of rows, a function of (seed, step, row), are above. */
#include "data/data.h"

#include "data/bags.h"
#include "base/file.h"
#include "base/rng.h"
#include "data/images.h"
#include "data/rows.h"
#include "data/text.h"
#include "data/fill.h"

#include <string.h>

#define ZIPF "zipf="

static bool ends_with(const char *path, const char *ending)
{
    const size_t n = strlen(path), k = strlen(ending);
    return n > k && !strcmp(path + n - k, ending);
}

pl_data_kind pl_data_kind_of(const char *path)
{
    static const char *const logs[] = { ".tsv", ".csv", ".tsv.gz", ".csv.gz", ".txt.gz" };
    if (!strcmp(path, "synthetic") || !strncmp(path, ZIPF, strlen(ZIPF))) return PL_DATA_SYNTHETIC;
    for (size_t i = 0; i < sizeof logs / sizeof *logs; i++)
        if (ends_with(path, logs[i])) return PL_DATA_CLICKS;
    return ends_with(path, PL_TENSORS_ENDING) ? PL_DATA_TENSORS : PL_DATA_TEXT;
}

bool pl_data_synthetic_open(const char *name, pl_data *out, pl_err *err)
{
    *out = (pl_data){ .kind = PL_DATA_SYNTHETIC };
    if (strncmp(name, ZIPF, strlen(ZIPF)) != 0) return true;
    return (pl_text_real(name + strlen(ZIPF), &out->zipf) && out->zipf > 0 && out->zipf <= 8) ||
           pl_err_set(err, PL_EUSAGE,
                      "%s: the exponent of Zipf's law is above 0 and at most 8, as in zipf=1.2",
                      name);
}

void pl_data_free(pl_data *data)
{
    pl_file_unmap((void *)(uintptr_t)data->bytes, (size_t)data->n_bytes);
    data->bytes = NULL;
    pl_tensors_free(&data->tensors);
    if (data->images) pl_images_free(data->images);
    data->images = NULL;
}

bool pl_data_check(const pl_data *data, pl_err *err)
{
    for (int i = 0; i < data->n_bags; i++) PL_TRY(pl_bags_fit(&data->bags[i], err));
    return data->kind != PL_DATA_IMAGES || pl_images_check(data->images, err);
}

int64_t pl_data_place(uint64_t seed, int64_t step, int64_t row, int64_t rows, int64_t places)
{
    pl_rng r = pl_rng_at(seed, pl_rng_name("data"));
    return (int64_t)pl_rng_below(r, (uint64_t)(step * rows + row), (uint64_t)places);
}

int64_t pl_data_place_valid(int64_t step, int64_t n_valid, int64_t row, int64_t rows,
                            int64_t places)
{
    int64_t i = (-1 - step) * rows + row, n = n_valid * rows;
    return n > 1 ? (int64_t)((double)(places - 1) * (double)i / (double)(n - 1)) : 0;
}

int64_t pl_data_row(const pl_data *d, uint64_t seed, int64_t step, int64_t n_valid, int64_t row,
                    int64_t rows)
{
    if (step < 0)
        return d->n_train + pl_data_place_valid(step, n_valid, row, rows, d->n - d->n_train);
    if (d->in_order) return (step * rows + row) % d->n_train;
    return pl_data_place(seed, step, row, rows, d->n_train);
}

/* Batches one after another are one stream of rows, however many a micro-batch has; those to
 * validate are another. */
static void fill_random(const pl_data *from, const pl_port *port, uint64_t seed, int64_t step,
                        int64_t below, void *data)
{
    const pl_value *v = port->value;
    const bool real = pl_type_is_float(v->type), valid = step < 0;
    const int64_t batch = valid ? -1 - step : step;
    const pl_law law = { .kind = real             ? PL_LAW_UNIFORM
                                 : from->zipf > 0 ? PL_LAW_ZIPF
                                                  : PL_LAW_BELOW,
                         .x = real ? 1 : (double)below,
                         .exponent = from->zipf,
                         .rng = pl_rng_at(seed, pl_rng_mix(pl_rng_name(v->name), valid)),
                         .first = batch * pl_shape_count(&v->shape) };
    pl_fill_law(port, &law, data);
}

static void take_fed(const pl_fed *fed, const pl_port *port, int64_t step, void *to)
{
    const int64_t k = (step < 0 ? -1 - step : step) % fed->micro;
    pl_port_take(port, fed->find(fed->of, port->value->name, k), to);
}

void pl_data_fill(const pl_data *data, const pl_port *port, uint64_t seed, int64_t step,
                  int64_t n_valid, int64_t below, void *to)
{
    switch (data->kind) {
    case PL_DATA_SYNTHETIC: fill_random(data, port, seed, step, below, to); return;
    case PL_DATA_TEXT: pl_data_text_fill(data, port, seed, step, n_valid, to); return;
    case PL_DATA_CLICKS:
    case PL_DATA_TENSORS: pl_data_rows_fill(data, port, seed, step, n_valid, to); return;
    case PL_DATA_IMAGES: pl_images_fill(data, port, seed, step, n_valid, to); return;
    case PL_DATA_FED: take_fed(&data->fed, port, step, to); return;
    }
}

static const char *const scalars[] = { "lr", "step", "seed" };

bool pl_data_is_scalar(const char *input)
{
    for (size_t i = 0; i < sizeof scalars / sizeof *scalars; i++)
        if (!strcmp(input, scalars[i])) return true;
    return false;
}

void pl_data_feed(const pl_feed *feed, const pl_port *port, void *to)
{
    const char *name = port->value->name;
    if (!strcmp(name, scalars[0]))
        *(float *)to = (float)feed->lr;
    else if (!strcmp(name, scalars[1]))
        *(int64_t *)to = feed->step;
    else if (!strcmp(name, scalars[2]))
        *(int64_t *)to = (int64_t)(pl_rng_mix(feed->seed, (uint64_t)feed->draw) >> 1);
    else if (feed->bags)
        pl_bags_draw(feed->bags, port, feed->seed, feed->draw, to);
    else
        pl_data_fill(feed->data, port, feed->seed, feed->draw, feed->n_valid, feed->below, to);
}
