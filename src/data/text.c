/* Text as data: a file is mapped and its bytes are tokens, or its words are found;
 * pl_data_text_fill() puts rows of them into a device's part. */
#include "data/text.h"

#include "base/file.h"
#include "run/manifest.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static bool map_file(const char *path, pl_data *data, pl_err *err)
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
        data->bytes = ok ? p : NULL;
        data->n = data->n_bytes = s.st_size;
    }
    close(fd);
    return ok;
}

/* The words of the text, in place of the text. */
static void take_words(pl_data *d, pl_arena *arena)
{
    const char *text = (const char *)d->bytes;
    d->n = pl_vocab_take(d->words, text, (size_t)d->n_bytes, NULL);
    int32_t *ids = PL_NEW_N(arena, int32_t, d->n + 1);
    (void)pl_vocab_take(d->words, text, (size_t)d->n_bytes, ids);
    d->ids = ids;
    pl_file_unmap((void *)(uintptr_t)d->bytes, (size_t)d->n_bytes);
    d->bytes = NULL;
}

const char *pl_data_text_unit(const pl_data *data)
{
    return data->words ? "words" : "bytes";
}

bool pl_data_text_open(const char *path, const pl_vocab *words, double share, int64_t seq,
                       pl_arena *arena, pl_data *out, pl_err *err)
{
    pl_data d = { .kind = PL_DATA_TEXT, .path = path, .words = words };
    PL_TRY(map_file(path, &d, err));
    if (words) take_words(&d, arena);
    d.n_train = (int64_t)((double)d.n * share);
    int64_t least = d.n_train < d.n - d.n_train ? d.n_train : d.n - d.n_train;
    if (least < seq + 1) {
        pl_data_free(&d);
        return pl_err_set(err, PL_EINPUT,
                          "%s: %lld %s give %lld for training and %lld for validation; "
                          "one row of --seq %lld needs %lld: take a longer file or a smaller --seq",
                          path, (long long)d.n, pl_data_text_unit(&d), (long long)d.n_train,
                          (long long)(d.n - d.n_train), (long long)seq, (long long)seq + 1);
    }
    const size_t bytes = words ? (size_t)d.n * sizeof *d.ids : (size_t)d.n;
    d.hash = pl_manifest_hash(arena, words ? (const void *)d.ids : d.bytes, bytes);
    *out = d;
    return true;
}

int32_t pl_data_text_token(const pl_data *d, int64_t i)
{
    return d->words ? d->ids[i] : d->bytes[i];
}

/* Where row `row` (of the whole batch) starts. */
static int64_t row_start(const pl_data *d, uint64_t seed, int64_t step, int64_t n_valid,
                         int64_t row, int64_t rows, int64_t seq)
{
    if (step >= 0 && d->in_order) return row * ((d->n_train - seq) / rows);
    if (step >= 0) return pl_data_place(seed, step, row, rows, d->n_train - seq);
    return d->n_train + pl_data_place_valid(step, n_valid, row, rows, d->n - d->n_train - seq);
}

void pl_data_text_fill(const pl_data *data, const pl_port *port, uint64_t seed, int64_t step,
                       int64_t n_valid, void *to)
{
    int shift = !strcmp(port->value->name, "targets"); /* the target is the next token */
    int64_t rows = port->value->shape.dim[0], seq = port->value->shape.dim[1];
    int64_t row = -1, from = 0;
    for (int64_t i = 0, n = pl_shape_count(&port->shape); i < n; i++) {
        int64_t global = pl_region_global(port->region, &port->value->shape, i);
        if (global / seq != row) {
            row = global / seq;
            from = row_start(data, seed, step, n_valid, row, rows, seq) + shift;
        }
        pl_type_put(port->value->type, to, i, pl_data_text_token(data, from + global % seq));
    }
}

double pl_data_text_entropy(const pl_data *data)
{
    const int64_t kinds = data->words ? data->words->n : 256;
    pl_arena *tmp = pl_arena_new("entropy");
    int64_t *seen = PL_NEW_N(tmp, int64_t, kinds), *wanted = PL_NEW_N(tmp, int64_t, kinds);
    double h = 0;
    for (int64_t i = 0; i < data->n; i++)
        (i < data->n_train ? seen : wanted)[pl_data_text_token(data, i)]++;
    for (int64_t i = 0; i < kinds; i++) /* as if each had been seen once more: none is impossible */
        h -= (double)wanted[i] * log((double)(seen[i] + 1) / (double)(data->n_train + kinds));
    pl_arena_free(tmp);
    return data->n > data->n_train ? h / (double)(data->n - data->n_train) : 0;
}
