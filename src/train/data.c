#include "train/data.h"

#include "base/file.h"
#include "base/rng.h"
#include "train/data_tensors.h"
#include "train/data_text.h"
#include "train/fill.h"

#include <string.h>

pl_data_kind pl_data_kind_of(const char *path)
{
    size_t n = strlen(path), k = sizeof PL_TENSORS_ENDING - 1;
    if (!strcmp(path, "synthetic")) return PL_DATA_SYNTHETIC;
    return n > k && !strcmp(path + n - k, PL_TENSORS_ENDING) ? PL_DATA_TENSORS : PL_DATA_TEXT;
}

void pl_data_free(pl_data *d)
{
    pl_file_unmap((void *)(uintptr_t)d->bytes, (size_t)d->n_bytes);
    d->bytes = NULL;
    pl_tensors_free(&d->tensors);
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

static void fill_random(const pl_port *port, uint64_t seed, int64_t step, int64_t below, void *data)
{
    const pl_value *v = port->value;
    const bool real = pl_type_is_float(v->type);
    const pl_law law = { .kind = real ? PL_LAW_UNIFORM : PL_LAW_BELOW,
                         .x = real ? 1 : (double)below,
                         .rng = pl_rng_at(seed, pl_rng_mix(pl_rng_name(v->name), (uint64_t)step)) };
    pl_fill_law(port, &law, data);
}

void pl_data_fill(const pl_data *d, const pl_port *port, uint64_t seed, int64_t step,
                  int64_t n_valid, int64_t below, void *data)
{
    switch (d->kind) {
    case PL_DATA_SYNTHETIC: fill_random(port, seed, step, below, data); return;
    case PL_DATA_TEXT: pl_data_text_fill(d, port, seed, step, n_valid, data); return;
    case PL_DATA_TENSORS: pl_data_tensors_fill(d, port, seed, step, n_valid, data); return;
    case PL_DATA_FED: pl_port_take(port, d->fed.find(d->fed.of, port->value->name), data); return;
    }
}

static const char *const scalars[] = { "lr", "step", "seed" };

bool pl_data_is_scalar(const char *input)
{
    for (size_t i = 0; i < sizeof scalars / sizeof *scalars; i++)
        if (!strcmp(input, scalars[i])) return true;
    return false;
}

void pl_data_feed(const pl_feed *f, const pl_port *port, void *to)
{
    const char *name = port->value->name;
    if (!strcmp(name, scalars[0]))
        *(float *)to = (float)f->lr;
    else if (!strcmp(name, scalars[1]))
        *(int64_t *)to = f->step;
    else if (!strcmp(name, scalars[2]))
        *(int64_t *)to = (int64_t)(pl_rng_mix(f->seed, (uint64_t)f->draw) >> 1);
    else
        pl_data_fill(f->data, port, f->seed, f->draw, f->n_valid, f->below, to);
}
