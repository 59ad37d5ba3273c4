/* Whole files. Read replace(): a file is written under a temporary name, synced, renamed over
 * the old one, and its folder synced. Below it are reading, mapping and listing. */
#include "base/file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

static int open_path(const char *path, int flags, mode_t mode)
{
    return open(path, flags | O_CLOEXEC, mode);
}

const pl_file_ops pl_file_system = { open_path, write, fsync, close, rename, unlink };

const char *pl_file_join(pl_arena *arena, const char *folder, const char *name)
{
    size_t n = strlen(folder);
    return pl_arena_fmt(arena, n && folder[n - 1] == '/' ? "%s%s" : "%s/%s", folder, name);
}

const char *pl_file_folder(pl_arena *arena, const char *path)
{
    const char *slash = strrchr(path, '/');
    return !slash ? "." : slash == path ? "/" : pl_arena_span(arena, path, (size_t)(slash - path));
}

bool pl_file_is_folder(const char *path)
{
    struct stat s;
    return !stat(path, &s) && S_ISDIR(s.st_mode);
}

bool pl_file_is_below(const char *path)
{
    if (!*path || *path == '/' || strchr(path, '\\')) return false;
    for (const char *at = path; at;) {
        size_t n = strcspn(at, "/");
        if (n == 2 && !strncmp(at, "..", 2)) return false;
        at = at[n] ? at + n + 1 : NULL;
    }
    return true;
}

/* One file on its way to the disk. */
typedef struct draft {
    const pl_file_ops *ops;
    const char *folder; /* NULL: on no disk */
    const char *path, *temp;
    const char *shown; /* in messages            */
    mode_t mode;       /* of a new file          */
    int fd;            /* -1: closed             */
    long long wanted, written;
} draft;

static bool fail(const draft *d, const char *verb, int reason, pl_err *err)
{
    struct statvfs disk;
    char room[64] = "";
    if (d->folder && !statvfs(d->folder, &disk))
        snprintf(room, sizeof room, ", %lld free on that disk",
                 (long long)disk.f_bavail * (long long)disk.f_frsize);
    return pl_err_set(err, PL_ERUN, "%s: cannot %s: %s (%lld bytes wanted, %lld written%s)",
                      d->shown, verb, strerror(reason), d->wanted, d->written, room);
}

static bool write_part(draft *d, const pl_file_part *p, pl_err *err)
{
    enum { CHUNK = 1 << 30 }; /* Linux writes at most 2^31 - 4096 bytes at once */
    const char *at = p->data;
    for (size_t left = p->bytes; left;) {
        ssize_t k = d->ops->write(d->fd, at, left < CHUNK ? left : CHUNK);
        if (k < 0 && errno == EINTR) continue;
        if (k <= 0) return fail(d, "write", k ? errno : EIO, err);
        at += k;
        left -= (size_t)k;
        d->written += k;
    }
    return true;
}

/* Closes in every case; a close that fails may be the first word of a lost write (NFS, quota). */
static bool finish(draft *d, bool ok, pl_err *err)
{
    if (ok && d->ops->fsync(d->fd)) ok = fail(d, "sync", errno, err);
    int fd = d->fd;
    d->fd = -1;
    if (d->ops->close(fd) && ok) ok = fail(d, "close", errno, err);
    return ok;
}

static bool write_temp(draft *d, int n, const pl_file_part part[], pl_err *err)
{
    d->fd = d->ops->open(d->temp, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, d->mode);
    if (d->fd < 0) return fail(d, "create", errno, err);
    bool ok = true;
    for (int i = 0; ok && i < n; i++) ok = write_part(d, &part[i], err);
    return finish(d, ok, err);
}

bool pl_file_fill(int fd, const char *path, int n, const pl_file_part part[], pl_err *err)
{
    draft d = { .ops = &pl_file_system, .shown = path, .fd = fd };
    bool ok = true;
    for (int i = 0; i < n; i++) d.wanted += (long long)part[i].bytes;
    for (int i = 0; ok && i < n; i++) ok = write_part(&d, &part[i], err);
    if (d.ops->close(fd) && ok) ok = fail(&d, "close", errno, err);
    return ok;
}

bool pl_file_sync_folder(const pl_file_ops *ops, const char *folder, pl_err *err)
{
    int fd = ops->open(folder, O_RDONLY | O_DIRECTORY, 0);
    if (fd < 0)
        return pl_err_set(err, PL_ERUN, "%s: cannot open the folder: %s", folder, strerror(errno));
    bool ok = !ops->fsync(fd) ||
              pl_err_set(err, PL_ERUN, "%s: cannot sync the folder: %s", folder, strerror(errno));
    ops->close(fd); /* nothing was written through it */
    return ok;
}

static bool replace(draft *d, int n, const pl_file_part part[], pl_err *err)
{
    for (int i = 0; i < n; i++) d->wanted += (long long)part[i].bytes;
    bool ok = write_temp(d, n, part, err);
    if (ok && d->ops->rename(d->temp, d->path)) ok = fail(d, "rename", errno, err);
    if (!ok) {
        d->ops->unlink(d->temp); /* the first failure is the one to report */
        return false;
    }
    return pl_file_sync_folder(d->ops, d->folder, err); /* a rename lasts when its folder does */
}

bool pl_file_replace(const pl_file_ops *ops, const char *folder, const char *name, int n,
                     const pl_file_part part[], pl_err *err)
{
    pl_arena *tmp = pl_arena_new("file replace");
    const char *path = pl_file_join(tmp, folder, name);
    const char *temp = pl_arena_fmt(tmp, "%s" PL_FILE_TEMP, path);
    draft d = { ops, folder, path, temp, .shown = temp, .mode = 0666, .fd = -1 };
    bool ok = !ops->unlink(temp) || errno == ENOENT || fail(&d, "remove", errno, err);
    ok = ok && replace(&d, n, part, err);
    pl_arena_free(tmp);
    return ok;
}

bool pl_file_replace_through(const char *folder, const char *temp, const char *path, mode_t mode,
                             int n, const pl_file_part part[], pl_err *err)
{
    draft d = { &pl_file_system, folder, path, temp, .shown = path, .mode = mode, .fd = -1 };
    return replace(&d, n, part, err);
}

/* The descriptor of a regular file and its size, or -1. */
static int open_regular(const char *path, int64_t *bytes, pl_err *err)
{
    struct stat s;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* a pipe must not block us */
    if (fd < 0) {
        pl_err_set(err, PL_EINPUT, "%s: cannot open: %s", path, strerror(errno));
        return -1;
    }
    if (!fstat(fd, &s) && S_ISREG(s.st_mode)) {
        *bytes = s.st_size;
        return fd;
    }
    pl_err_set(err, PL_EINPUT, "%s: is not a regular file", path);
    close(fd);
    return -1;
}

bool pl_file_read(const char *path, int64_t most, pl_arena *arena, const char **text, size_t *n,
                  pl_err *err)
{
    int64_t bytes = 0;
    int fd = open_regular(path, &bytes, err);
    if (fd < 0) return false;
    bool ok =
        bytes <= most || pl_err_set(err, PL_EINPUT, "%s: has %lld bytes, at most %lld are read",
                                    path, (long long)bytes, (long long)most);
    char *at = ok ? pl_arena_get(arena, (size_t)bytes + 1, 1) : NULL;
    size_t got = 0;
    while (ok && got < (size_t)bytes) {
        ssize_t k = read(fd, at + got, (size_t)bytes - got);
        if (k < 0 && errno == EINTR) continue;
        if (k < 0) ok = pl_err_set(err, PL_EINPUT, "%s: cannot read: %s", path, strerror(errno));
        if (k <= 0) break; /* 0: it was cut short since; the parser sees what is there */
        got += (size_t)k;
    }
    close(fd);
    *text = at;
    *n = got;
    return ok;
}

bool pl_file_map(const char *path, void **map, size_t *bytes, pl_err *err)
{
    int64_t size = 0;
    int fd = open_regular(path, &size, err);
    if (fd < 0) return false;
    *map = NULL;
    *bytes = (size_t)size;
    bool ok = true;
    if (size) {
        void *at = mmap(NULL, (size_t)size, PROT_READ, MAP_PRIVATE, fd, 0);
        ok = at != MAP_FAILED;
        if (ok) *map = at;
        if (!ok) pl_err_set(err, PL_EINPUT, "%s: cannot map: %s", path, strerror(errno));
    }
    close(fd);
    return ok;
}

void pl_file_unmap(void *map, size_t bytes)
{
    if (map) munmap(map, bytes);
}

static int by_bytes(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

bool pl_file_list(const char *folder, pl_arena *arena, int *n, const char ***name, pl_err *err)
{
    struct {
        const char **at;
        int n, cap;
    } list = { 0 };
    DIR *d = opendir(folder);
    if (!d) return pl_err_set(err, PL_EINPUT, "%s: cannot list: %s", folder, strerror(errno));
    const struct dirent *e;
    for (errno = 0; (e = readdir(d)); errno = 0)
        if (strcmp(e->d_name, ".") && strcmp(e->d_name, ".."))
            PL_PUSH(arena, &list, pl_arena_text(arena, e->d_name));
    int reason = errno;
    closedir(d);
    if (reason) return pl_err_set(err, PL_EINPUT, "%s: cannot list: %s", folder, strerror(reason));
    if (list.n) qsort(list.at, (size_t)list.n, sizeof *list.at, by_bytes);
    *n = list.n;
    *name = list.at;
    return true;
}
