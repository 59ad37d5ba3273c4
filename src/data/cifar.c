/* Binary files of CIFAR: records of a label (CIFAR-100: a coarse one, then a fine one, which is
 * what is learned) and 32 x 32 pixels of red, then of green, then of blue.
 * Source: Krizhevsky, "Learning multiple layers of features from tiny images", 2009. */
#include "data/album.h"

#include "base/file.h"
#include "run/manifest.h"

#include <string.h>

enum { SIDE = 32, PLANE = SIDE * SIDE, PIXELS = 3 * PLANE };
static const char ending[] = ".bin";

typedef struct kind {
    const char *name;
    int64_t labels, below[2]; /* bytes before the pixels, and what each is below */
} kind;

static const kind kinds[] = { { "CIFAR-10", 1, { 10 } }, { "CIFAR-100", 2, { 20, 100 } } };

/* Where in the file a label is too large; -1: nowhere. */
static int64_t find_strange(const kind *k, const unsigned char *at, int64_t bytes)
{
    for (int64_t from = 0; from < bytes; from += k->labels + PIXELS)
        for (int64_t i = 0; i < k->labels; i++)
            if (at[from + i] >= k->below[i]) return from + i;
    return -1;
}

static const kind *find_kind(const unsigned char *at, int64_t bytes, pl_err *err)
{
    int64_t strange = -1;
    const kind *whole = NULL;
    for (size_t i = 0; bytes && i < sizeof kinds / sizeof *kinds; i++) {
        if (bytes % (kinds[i].labels + PIXELS)) continue;
        whole = &kinds[i];
        strange = find_strange(whole, at, bytes);
        if (strange < 0) return whole;
    }
    if (whole)
        pl_err_set(err, PL_EINPUT, "byte %lld is %d: that is no label of %s", (long long)strange,
                   at[strange], whole->name);
    else
        pl_err_set(err, PL_EINPUT,
                   "it has %lld bytes, and neither begins as a file of IDX pictures does (0 0 8 3) "
                   "nor has records of %d bytes, as CIFAR-10, or of %d, as CIFAR-100",
                   (long long)bytes, 1 + PIXELS, 2 + PIXELS);
    return NULL;
}

static pl_album album_of(const char *path, const kind *k, unsigned char *at, int64_t bytes,
                         pl_arena *arena)
{
    const int64_t stride = k->labels + PIXELS, n = bytes / stride;
    int32_t *label = PL_NEW_N(arena, int32_t, n);
    for (int64_t i = 0; i < n; i++) label[i] = at[i * stride + k->labels - 1];
    return (pl_album){ .path = path,
                       .n = n,
                       .label = label,
                       .classes = k->below[k->labels - 1],
                       .like = { .height = SIDE,
                                 .width = SIDE,
                                 .channels = 3,
                                 .at = at + k->labels,
                                 .row = SIDE,
                                 .column = 1,
                                 .plane = PLANE },
                       .stride = stride,
                       .bytes = bytes };
}

static bool read_album(const char *path, pl_arena *arena, pl_albums *to, pl_err *err)
{
    void *map;
    size_t bytes;
    PL_TRY(pl_file_map(path, &map, &bytes, err));
    const kind *k = find_kind(map, (int64_t)bytes, err);
    if (!k) {
        pl_file_unmap(map, bytes);
        return pl_err_in(err, "%s", path);
    }
    pl_album a = album_of(path, k, map, (int64_t)bytes, arena);
    a.map = map;
    a.map_bytes = bytes;
    a.hash = pl_manifest_hash(arena, map, bytes);
    PL_PUSH(arena, to, a);
    return true;
}

static bool ends(const char *name)
{
    const size_t n = strlen(name), k = strlen(ending);
    return n > k && !strcmp(name + n - k, ending);
}

bool pl_cifar_is(const char *path)
{
    void *map;
    size_t bytes;
    const char **name;
    int n;
    bool is = false;
    pl_err none = { 0 };
    pl_arena *tmp = pl_arena_new("cifar");
    if (pl_file_is_folder(path)) {
        if (pl_file_list(path, tmp, &n, &name, &none))
            for (int i = 0; i < n; i++) is |= ends(name[i]);
    } else if (pl_file_map(path, &map, &bytes, &none)) {
        is = find_kind(map, (int64_t)bytes, &none) != NULL;
        pl_file_unmap(map, bytes);
    }
    pl_arena_free(tmp);
    return is;
}

bool pl_cifar_read(const char *path, pl_arena *arena, pl_album_pair *pair, pl_err *err)
{
    pl_problems problems = { .text.arena = arena };
    const char **name;
    int n;
    if (!pl_file_is_folder(path)) return read_album(path, arena, &pair->train, err);
    PL_TRY(pl_file_list(path, arena, &n, &name, err));
    for (int i = 0; i < n; i++) {
        pl_err problem = { 0 };
        pl_albums *to = strstr(name[i], "test") ? &pair->valid : &pair->train;
        if (ends(name[i]) && !read_album(pl_file_join(arena, path, name[i]), arena, to, &problem))
            pl_problems_add(&problems, "%s", problem.msg);
    }
    if (problems.n) return pl_err_set(err, PL_EINPUT, "%s", pl_problems_text(&problems));
    if (!pair->train.n) {
        pair->train = pair->valid;
        pair->valid = (pl_albums){ 0 };
    }
    return true;
}
