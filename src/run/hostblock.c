#include "run/hostblock.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static bool refuse(size_t bytes, const char *dir, int code, pl_err *err)
{
    return pl_err_set(err, PL_ERUN,
                      "%zu MiB for what is offloaded are not to be had%s%s: %s; offload less%s",
                      (bytes + (1 << 20) - 1) >> 20, dir ? " in " : "", dir ? dir : "",
                      strerror(code), dir ? ", or give --host-dir a folder with room" : "");
}

static bool refuse_folder(const char *dir, int code, pl_err *err)
{
    return pl_err_set(err, PL_EINPUT, "--host-dir %s: %s: name a folder that is there, for writing",
                      dir, strerror(code));
}

/* A file without a name; -1: errno says why not. */
static int open_file(const char *dir)
{
    pl_arena *tmp = pl_arena_new("host file");
    char *path = pl_arena_fmt(tmp, "%s/pleat-host-XXXXXX", dir);
    const int fd = mkstemp(path);
    if (fd >= 0) unlink(path);
    pl_arena_free(tmp);
    return fd;
}

bool pl_hostblock_new(size_t bytes, const char *dir, pl_hostblock *out, pl_err *err)
{
    int fd = -1, flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
    *out = (pl_hostblock){ 0 };
    if (!bytes) return true;
    if (dir) {
        flags = MAP_SHARED;
        fd = open_file(dir);
        if (fd < 0) return refuse_folder(dir, errno, err);
        const int code = posix_fallocate(fd, 0, (off_t)bytes);
        if (code) {
            close(fd);
            return refuse(bytes, dir, code, err);
        }
    }
    void *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, flags, fd, 0);
    const int code = errno;
    if (fd >= 0) close(fd);
    if (at == MAP_FAILED) return refuse(bytes, dir, code, err);
    *out = (pl_hostblock){ at, bytes, dir != NULL };
    return true;
}

void pl_hostblock_free(pl_hostblock *b)
{
    if (b->at) munmap(b->at, b->bytes);
    *b = (pl_hostblock){ 0 };
}

/* Both are advice: the contents are the same without. */
void pl_hostblock_scatter(const pl_hostblock *b, bool scattered)
{
    const int how = scattered ? POSIX_MADV_RANDOM : POSIX_MADV_SEQUENTIAL;
    if (b->is_file) (void)posix_madvise(b->at, b->bytes, how);
}

void pl_hostblock_want(const pl_hostblock *b, const void *at, size_t bytes)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE),
                 first = (size_t)((const char *)at - b->at) / page * page,
                 end = (size_t)((const char *)at - b->at) + bytes;
    if (b->is_file) (void)posix_madvise(b->at + first, end - first, POSIX_MADV_WILLNEED);
}
