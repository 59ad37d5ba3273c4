/* Folders of pictures, one for each class. Read pl_classes_read() at the end: one such folder of
 * folders, or two of them; list_classes() and list_pictures() find names, check_files() looks at
 * how every file begins, by several threads. Nothing is decoded here. */
#include "data/album.h"

#include "base/file.h"
#include "run/manifest.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

typedef struct names {
    const char **at;
    int n, cap;
} names;

typedef struct found {
    names file; /* whole paths, class after class */
    struct {
        int32_t *at;
        int n, cap;
    } label;
} found;

static bool is_picture_name(const char *name)
{
    static const char *const endings[] = { ".jpg", ".jpeg", ".png" };
    const char *dot = strrchr(name, '.');
    for (size_t i = 0; dot && dot > name && *name != '.' && i < sizeof endings / sizeof *endings;
         i++)
        if (!strcasecmp(dot, endings[i])) return true;
    return false;
}

/* The folders in a folder, but for hidden ones, in the order of their names. */
static bool list_classes(const char *path, pl_arena *arena, names *out, pl_err *err)
{
    const char **name;
    int n;
    PL_TRY(pl_file_list(path, arena, &n, &name, err));
    for (int i = 0; i < n; i++)
        if (*name[i] != '.' && pl_file_is_folder(pl_file_join(arena, path, name[i])))
            PL_PUSH(arena, out, name[i]);
    return true;
}

static bool list_pictures(const char *path, int32_t label, pl_arena *arena, found *out, pl_err *err)
{
    const char **name;
    int n;
    const int before = out->file.n;
    PL_TRY(pl_file_list(path, arena, &n, &name, err));
    for (int i = 0; i < n; i++) {
        if (!is_picture_name(name[i])) continue;
        PL_PUSH(arena, &out->file, pl_file_join(arena, path, name[i]));
        PL_PUSH(arena, &out->label, label);
    }
    return out->file.n > before ||
           pl_err_set(err, PL_EINPUT,
                      "%s has no pictures: a class has .jpg, .jpeg or .png files in its folder",
                      path);
}

/* Its size; -1: it cannot be read, errno says why; 0: it is no picture. */
static int64_t look_at(const char *path)
{
    unsigned char head[8];
    struct stat s;
    int64_t bytes = -1;
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0) return -1;
    const ssize_t n = read(fd, head, sizeof head);
    if (n >= 0 && !fstat(fd, &s)) bytes = pl_picture_begins(head, (size_t)n) ? s.st_size : 0;
    const int reason = errno;
    close(fd);
    errno = reason;
    return bytes;
}

static void check_files(pl_album *a, pl_arena *arena, pl_problems *problems)
{
    int64_t *bytes = PL_NEW_N(arena, int64_t, a->n);
    int *reason = PL_NEW_N(arena, int, a->n);
    pl_text all = { .arena = arena };
#pragma omp parallel for schedule(dynamic, 64)
    for (int64_t i = 0; i < a->n; i++) {
        bytes[i] = look_at(a->file[i]);
        reason[i] = errno;
    }
    for (int64_t i = 0; i < a->n; i++) {
        if (bytes[i] < 0) pl_problems_add(problems, "%s: %s", a->file[i], strerror(reason[i]));
        if (!bytes[i]) pl_problems_add(problems, "%s is neither a JPEG nor a PNG", a->file[i]);
        a->bytes += bytes[i];
        pl_text_add(&all, "%s %lld\n", a->file[i] + strlen(a->path), (long long)bytes[i]);
    }
    a->hash = pl_manifest_hash(arena, pl_text_get(&all), all.n);
}

static void read_album(const char *path, const names *classes, pl_arena *arena, pl_albums *to,
                       pl_problems *problems)
{
    found f = { 0 };
    for (int i = 0; i < classes->n; i++) {
        pl_err problem = { 0 };
        if (!list_pictures(pl_file_join(arena, path, classes->at[i]), i, arena, &f, &problem))
            pl_problems_add(problems, "%s", problem.msg);
    }
    pl_album a = {
        .path = path, .n = f.file.n, .label = f.label.at, .classes = classes->n, .file = f.file.at
    };
    check_files(&a, arena, problems);
    PL_PUSH(arena, to, a);
}

/* What one has and the other lacks. */
static void compare(const char *path, const names *has, const char *other, const names *lacks,
                    pl_problems *problems)
{
    for (int i = 0, k = 0; i < has->n; i++) {
        while (k < lacks->n && strcmp(lacks->at[k], has->at[i]) < 0) k++;
        if (k == lacks->n || strcmp(lacks->at[k], has->at[i]) != 0)
            pl_problems_add(problems, "%s has a class '%s', and %s has not", path, has->at[i],
                            other);
    }
}

/* The folder beside "train" that validates; NULL: they are classes. */
static const char *find_valid(const names *folders)
{
    static const char *const words[] = { "val", "valid", "validation", "test" };
    bool train = false;
    for (int i = 0; i < folders->n; i++) train |= !strcmp(folders->at[i], "train");
    for (size_t k = 0; train && k < sizeof words / sizeof *words; k++)
        for (int i = 0; i < folders->n; i++)
            if (!strcmp(folders->at[i], words[k])) return words[k];
    return NULL;
}

static bool read_both(const char *path, const char *word, pl_arena *arena, pl_album_pair *pair,
                      pl_problems *problems, pl_err *err)
{
    const char *train = pl_file_join(arena, path, "train"),
               *valid = pl_file_join(arena, path, word);
    names classes = { 0 }, again = { 0 };
    PL_TRY(list_classes(train, arena, &classes, err) && list_classes(valid, arena, &again, err));
    compare(train, &classes, valid, &again, problems);
    compare(valid, &again, train, &classes, problems);
    read_album(train, &classes, arena, &pair->train, problems);
    read_album(valid, &again, arena, &pair->valid, problems);
    return true;
}

bool pl_classes_read(const char *path, pl_arena *arena, pl_album_pair *pair, pl_err *err)
{
    pl_problems problems = { .text.arena = arena };
    names folders = { 0 };
    PL_TRY(list_classes(path, arena, &folders, err));
    const char *valid = find_valid(&folders);
    if (!folders.n)
        return pl_err_set(err, PL_EINPUT,
                          "%s: there is no folder in it: pictures lie in one folder for each class",
                          path);
    if (valid)
        PL_TRY(read_both(path, valid, arena, pair, &problems, err));
    else
        read_album(path, &folders, arena, &pair->train, &problems);
    return !problems.n || pl_err_set(err, PL_EINPUT, "%s", pl_problems_text(&problems));
}
