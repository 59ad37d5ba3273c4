#include "train/data.h"

#include "base/rng.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

static const char *hash_text(pl_arena *a, const void *bytes, size_t n)
{
    XXH128_hash_t h = XXH3_128bits(bytes, n);
    return pl_arena_fmt(a, "%016llx%016llx", (unsigned long long)h.high64,
                        (unsigned long long)h.low64);
}

static bool map_file(const char *path, pl_data *d, pl_err *err)
{
    struct stat s;
    int fd = open(path, O_RDONLY | O_NONBLOCK); /* a pipe is refused, not waited for */
    if (fd < 0)
        return pl_err_set(err, PL_EINPUT,
                          "%s: cannot read the data: %s; give a text file, or synthetic", path,
                          strerror(errno));
    bool ok = fstat(fd, &s) == 0 && S_ISREG(s.st_mode);
    if (!ok)
        pl_err_set(err, PL_EINPUT, "%s: not a regular file: --data is mapped into memory", path);
    if (ok && s.st_size) {
        void *p = mmap(NULL, (size_t)s.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
        ok = p != MAP_FAILED;
        if (!ok) pl_err_set(err, PL_EINPUT, "%s: %s", path, strerror(errno));
        d->bytes = ok ? p : NULL;
        d->n = s.st_size;
    }
    close(fd);
    return ok;
}

bool pl_data_open(const char *path, double share, int64_t seq, pl_arena *a, pl_data *out,
                  pl_err *err)
{
    pl_data d = { .path = path };
    PL_TRY(map_file(path, &d, err));
    d.n_train = (int64_t)((double)d.n * share);
    int64_t least = d.n_train < d.n - d.n_train ? d.n_train : d.n - d.n_train;
    if (least < seq + 1) {
        pl_data_free(&d);
        return pl_err_set(err, PL_EINPUT,
                          "%s: %lld bytes give %lld for training and %lld for validation; "
                          "one row of --seq %lld needs %lld: take a longer file or a smaller --seq",
                          path, (long long)d.n, (long long)d.n_train, (long long)(d.n - d.n_train),
                          (long long)seq, (long long)seq + 1);
    }
    d.hash = hash_text(a, d.bytes, (size_t)d.n);
    *out = d;
    return true;
}

void pl_data_free(pl_data *d)
{
    if (d->bytes) munmap((void *)(uintptr_t)d->bytes, (size_t)d->n);
    d->bytes = NULL;
}

/* Where row `row` (of the whole batch) starts. */
static int64_t row_start(const pl_data *d, uint64_t seed, int64_t step, int64_t n_valid,
                         int64_t row, int64_t rows, int64_t seq)
{
    if (step >= 0) {
        pl_rng r = pl_rng_at(seed, pl_rng_name("data"));
        return (int64_t)pl_rng_below(r, (uint64_t)(step * rows + row),
                                     (uint64_t)(d->n_train - seq));
    }
    int64_t i = (-1 - step) * rows + row, n = n_valid * rows;
    double room = (double)(d->n - d->n_train - seq - 1);
    return d->n_train + (n > 1 ? (int64_t)(room * (double)i / (double)(n - 1)) : 0);
}

static void fill_text(const pl_data *d, const pl_port *port, uint64_t seed, int64_t step,
                      int64_t n_valid, void *data)
{
    int shift = !strcmp(port->value->name, "targets"); /* the target is the next byte */
    int64_t rows = port->value->shape.dim[0], seq = port->value->shape.dim[1];
    int64_t row = -1, from = 0;
    int32_t *at = data;
    for (int64_t i = 0, n = pl_shape_count(&port->shape); i < n; i++) {
        int64_t global = pl_region_global(&port->region, &port->value->shape, i);
        if (global / seq != row) {
            row = global / seq;
            from = row_start(d, seed, step, n_valid, row, rows, seq) + shift;
        }
        at[i] = d->bytes[from + global % seq];
    }
}

/* Elements [from, from + n) of the part; in the whole they stand `step` apart from `global` on. */
static void fill_row(pl_type t, void *data, int64_t from, int64_t n, uint64_t global, uint64_t step,
                     int64_t below, pl_rng r)
{
    const bool real = pl_type_is_float(t);
    pl_draw draw = { .rng = r };
    for (int64_t i = 0; i < n; i++) {
        double u = pl_draw_uniform(&draw, global + (uint64_t)i * step);
        pl_type_put(t, data, from + i, real ? 2 * u - 1 : floor(u * (double)below));
    }
}

static void fill_random(const pl_port *port, uint64_t seed, int64_t step, int64_t below, void *data)
{
    const pl_value *v = port->value;
    const pl_rng r = pl_rng_at(seed, pl_rng_mix(pl_rng_name(v->name), (uint64_t)step));
    int64_t apart, n = pl_region_row(&port->region, &v->shape, &apart);
    int64_t count = pl_shape_count(&port->shape);
    if (!count) return; /* a rank may have no rows */
#pragma omp parallel for if (count > 100000)
    for (int64_t at = 0; at < count; at += n)
        fill_row(v->type, data, at, n, (uint64_t)pl_region_global(&port->region, &v->shape, at),
                 (uint64_t)apart, below, r);
}

void pl_data_fill(const pl_data *d, const pl_port *port, uint64_t seed, int64_t step,
                  int64_t n_valid, int64_t below, void *data)
{
    if (d->path)
        fill_text(d, port, seed, step, n_valid, data);
    else
        fill_random(port, seed, step, below, data);
}

void pl_data_feed(const pl_feed *f, const pl_port *port, void *to)
{
    const char *name = port->value->name;
    if (!strcmp(name, "lr"))
        *(float *)to = (float)f->lr;
    else if (!strcmp(name, "step"))
        *(int64_t *)to = f->step;
    else if (!strcmp(name, "seed"))
        *(int64_t *)to = (int64_t)(pl_rng_mix(f->seed, (uint64_t)f->draw) >> 1);
    else
        pl_data_fill(f->data, port, f->seed, f->draw, f->n_valid, f->below, to);
}

double pl_data_entropy(const pl_data *d)
{
    int64_t count[256] = { 0 };
    double h = 0;
    for (int64_t i = 0; i < d->n; i++) count[d->bytes[i]]++;
    for (int i = 0; i < 256; i++) {
        double p = d->n ? (double)count[i] / (double)d->n : 0;
        if (p > 0) h -= p * log(p);
    }
    return h;
}
