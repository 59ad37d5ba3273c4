/* Files of IDX: two bytes of 0, the type (8: bytes), the number of dimensions, these as 32-bit
 * numbers, most significant byte first, then the elements. Read pl_idx_read() at the end: which
 * files there are (their names say), then each with its labels (read_album).
 * Source: LeCun, Cortes, Burges, "The MNIST database". */
#include "data/album.h"

#include "base/file.h"
#include "run/manifest.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <zlib.h>

enum { PICTURES = 3, LABELS = 1, BUFFER = 1 << 18, PIECE = 1 << 20 };
static const int64_t MOST_BYTES = INT64_C(1) << 40;

static bool is_file(const char *path)
{
    struct stat s;
    return !stat(path, &s) && S_ISREG(s.st_mode);
}

/* -- one file ---------------------------------------------------------------------------------- */

typedef struct idx {
    int64_t dim[PICTURES], total;
    unsigned char *at; /* mapped, `total` bytes */
} idx;

static bool read_header(gzFile f, int rank, idx *out)
{
    unsigned char head[4], dim[4];
    if (gzread(f, head, 4) != 4 || head[0] || head[1] || head[2] != 8 || head[3] != rank)
        return false;
    out->total = 1;
    for (int i = 0; i < rank; i++) {
        if (gzread(f, dim, 4) != 4) return false;
        out->dim[i] = (int64_t)dim[0] << 24 | dim[1] << 16 | dim[2] << 8 | dim[3];
        if (out->dim[i] > MOST_BYTES / (out->total ? out->total : 1)) return false;
        out->total *= out->dim[i];
    }
    return true;
}

/* Into fresh memory, and not a byte more or less than the header says. */
static bool read_elements(gzFile f, idx *x, pl_err *err)
{
    int64_t got = 0;
    int n = 1, code;
    char more;
    if (!x->total) return pl_err_set(err, PL_EINPUT, "its header says that it is empty");
    void *map =
        mmap(NULL, (size_t)x->total, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (map == MAP_FAILED)
        return pl_err_set(err, PL_EINPUT, "there is no memory for the %lld bytes that it says",
                          (long long)x->total);
    x->at = map;
    while (got < x->total && n > 0) {
        const int64_t left = x->total - got;
        n = gzread(f, x->at + got, (unsigned)(left < PIECE ? left : PIECE));
        got += n > 0 ? n : 0;
    }
    const char *why = gzerror(f, &code);
    const bool ends = got < x->total || gzread(f, &more, 1) < 1;
    if (n < 0 || (got < x->total && code != Z_OK && code != Z_STREAM_END))
        pl_err_set(err, PL_EINPUT, "%s", code == Z_ERRNO ? strerror(errno) : why);
    else if (got < x->total || !ends)
        pl_err_set(err, PL_EINPUT, "its header says %lld bytes, and %s", (long long)x->total,
                   ends ? "it has fewer" : "it has more");
    if (!err->code) return true;
    munmap(map, (size_t)x->total);
    return false;
}

static bool read_file(const char *path, int rank, idx *out, pl_err *err)
{
    gzFile f = is_file(path) ? gzopen(path, "rb") : NULL;
    *out = (idx){ 0 };
    if (!f) return pl_err_set(err, PL_EINPUT, "%s: cannot open: %s", path, strerror(errno));
    gzbuffer(f, BUFFER);
    const bool ok =
        read_header(f, rank, out)
            ? read_elements(f, out, err)
            : pl_err_set(err, PL_EINPUT, "it does not begin as an IDX file of %s does (0 0 8 %d)",
                         rank == LABELS ? "labels" : "pictures", rank);
    gzclose(f);
    return ok || pl_err_in(err, "%s", path);
}

static bool file_is(const char *path)
{
    idx x;
    gzFile f = is_file(path) ? gzopen(path, "rb") : NULL;
    const bool is = f && read_header(f, PICTURES, &x);
    if (f) gzclose(f);
    return is;
}

/* -- names ------------------------------------------------------------------------------------- */

/* With `to` in place of the last `from` of the file's name; NULL: that has none. */
static const char *rename_part(const char *path, const char *from, const char *to, pl_arena *arena)
{
    const char *slash = strrchr(path, '/'), *last = NULL;
    for (const char *at = slash ? slash : path; (at = strstr(at, from)); at++) last = at;
    return last ? pl_arena_fmt(arena, "%.*s%s%s", (int)(last - path), path, to, last + strlen(from))
                : NULL;
}

/* The file of that name, or the same compressed, or not; NULL: there is neither. */
static const char *find_file(const char *path, pl_arena *arena)
{
    static const char gz[] = ".gz";
    if (!path || is_file(path)) return path;
    const size_t n = strlen(path), k = strlen(gz);
    const bool ends = n > k && !strcmp(path + n - k, gz);
    path = pl_arena_fmt(arena, "%.*s%s", (int)(ends ? n - k : n), path, ends ? "" : gz);
    return is_file(path) ? path : NULL;
}

static const char *name_labels(const char *path, pl_arena *arena)
{
    const char *name = rename_part(path, "images", "labels", arena);
    const char *exact = name ? rename_part(name, "idx3", "idx1", arena) : NULL;
    return exact ? exact : name;
}

/* -- pictures and labels ----------------------------------------------------------------------- */

static pl_album album_of(const char *path, const idx *pictures, const int32_t *label)
{
    const int64_t height = pictures->dim[1], width = pictures->dim[2];
    return (pl_album){ .path = path,
                       .n = pictures->dim[0],
                       .label = label,
                       .like = { .height = height,
                                 .width = width,
                                 .channels = 1,
                                 .at = pictures->at,
                                 .row = width,
                                 .column = 1 },
                       .stride = height * width,
                       .map = pictures->at,
                       .map_bytes = (size_t)pictures->total };
}

static bool read_labels(const char *path, const idx *pictures, pl_arena *arena, const int32_t **out,
                        const char **hash, pl_err *err)
{
    idx x;
    const char *name = name_labels(path, arena), *found = find_file(name, arena);
    if (!found)
        return pl_err_set(err, PL_EINPUT, "%s: there are no labels for it: %s%s", path,
                          name ? name : "call it ...-images-idx3-ubyte",
                          name ? " is needed" : ", and them ...-labels-idx1-ubyte");
    PL_TRY(read_file(found, LABELS, &x, err));
    int32_t *label = PL_NEW_N(arena, int32_t, x.total);
    for (int64_t i = 0; i < x.total; i++) label[i] = x.at[i];
    *hash = pl_manifest_hash(arena, x.at, (size_t)x.total);
    *out = label;
    munmap(x.at, (size_t)x.total);
    return x.total == pictures->dim[0] ||
           pl_err_set(err, PL_EINPUT, "%s has %lld labels, and %s %lld pictures", found,
                      (long long)x.total, path, (long long)pictures->dim[0]);
}

static bool read_album(const char *path, pl_arena *arena, pl_albums *to, pl_err *err)
{
    idx x;
    const int32_t *label = NULL;
    const char *labels_hash = "";
    PL_TRY(read_file(path, PICTURES, &x, err));
    pl_album a = album_of(path, &x, label);
    const bool ok = read_labels(path, &x, arena, &a.label, &labels_hash, err);
    a.bytes = x.total + x.dim[0];
    a.hash =
        pl_arena_fmt(arena, "%s%s", pl_manifest_hash(arena, x.at, (size_t)x.total), labels_hash);
    PL_PUSH(arena, to, a); /* whoever frees the pair frees its memory */
    return ok;
}

/* -- which files ------------------------------------------------------------------------------- */

typedef struct files {
    const char **at;
    int n, cap;
} files;

static bool validates(const char *name)
{
    return strstr(name, "t10k") || strstr(name, "test");
}

/* Of a file that is there plain and compressed, the plain one. */
static bool is_copy(const char *name, int n, const char *const names[])
{
    for (int i = 0; i < n; i++) {
        const size_t k = strlen(names[i]);
        if (!strncmp(name, names[i], k) && !strcmp(name + k, ".gz")) return true;
    }
    return false;
}

static bool list_folder(const char *path, pl_arena *arena, files *train, files *valid, pl_err *err)
{
    const char **name;
    int n;
    PL_TRY(pl_file_list(path, arena, &n, &name, err));
    for (int i = 0; i < n; i++) {
        const char *file = pl_file_join(arena, path, name[i]);
        if (!strstr(name[i], "idx3") || is_copy(name[i], n, name) || !file_is(file)) continue;
        PL_PUSH(arena, validates(name[i]) ? valid : train, file);
    }
    return true;
}

bool pl_idx_is(const char *path)
{
    files train = { 0 }, valid = { 0 };
    pl_err none = { 0 };
    if (!pl_file_is_folder(path)) return file_is(path);
    pl_arena *tmp = pl_arena_new("idx");
    const bool is = list_folder(path, tmp, &train, &valid, &none) && train.n + valid.n > 0;
    pl_arena_free(tmp);
    return is;
}

bool pl_idx_read(const char *path, pl_arena *arena, pl_album_pair *pair, pl_err *err)
{
    pl_problems problems = { .text.arena = arena };
    files train = { 0 }, valid = { 0 };
    if (is_file(path)) {
        const char *other = find_file(rename_part(path, "train", "t10k", arena), arena);
        if (!other) other = find_file(rename_part(path, "train", "test", arena), arena);
        PL_PUSH(arena, &train, path);
        if (other) PL_PUSH(arena, &valid, other);
    } else {
        PL_TRY(list_folder(path, arena, &train, &valid, err));
        if (!train.n) train = valid, valid = (files){ 0 };
    }
    for (int i = 0; i < train.n + valid.n; i++) {
        const bool trains = i < train.n;
        pl_err problem = { 0 };
        if (!read_album(trains ? train.at[i] : valid.at[i - train.n], arena,
                        trains ? &pair->train : &pair->valid, &problem))
            pl_problems_add(&problems, "%s", problem.msg);
    }
    return !problems.n || pl_err_set(err, PL_EINPUT, "%s", pl_problems_text(&problems));
}
