/* Files that a command was asked to write. Renaming a finished file over the old one keeps readers
 * from half a file, but would put a file in the place of a link, a pipe or a device: so links are
 * followed first, and only what is a regular file, or nothing yet, is replaced. */
#include "base/output.h"

#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

static bool refuse(const char *path, const char *why, const char *next, pl_err *err)
{
    return pl_err_set(err, PL_EINPUT, "%s: cannot be written: %s; %s", path, why, next);
}

/* -- where a path leads ------------------------------------------------------------------------ */

/* The number N of a link that the system keeps for the descriptor N of this process; -1: another
 * one. */
static int own_descriptor(const char *link, const char *folder)
{
    char own[64], real[4096];
    snprintf(own, sizeof own, "/proc/%d/fd", (int)getpid());
    if (!realpath(folder, real) || strcmp(own, real) != 0) return -1;
    return atoi(strrchr(link, '/') + 1);
}

/* From here on what is printed on stdout goes to stderr; `fd` is the stdout that was. */
static bool take_stdout(const char *asked, pl_output *out, pl_err *err)
{
    fflush(stdout);
    out->fd = dup(STDOUT_FILENO);
    if (out->fd >= 0 && dup2(STDERR_FILENO, STDOUT_FILENO) >= 0) return true;
    return refuse(asked, "stdout is closed", "name a file", err);
}

/* A link in /proc stands for what a process has open, and is no path. */
static bool take_descriptor(const char *asked, const char *link, const char *folder, pl_output *out,
                            pl_err *err)
{
    const int own = own_descriptor(link, folder);
    if (own == STDOUT_FILENO) return take_stdout(asked, out, err);
    out->fd = own >= 0 ? dup(own) : open(link, O_WRONLY | O_APPEND | O_NOCTTY | O_CLOEXEC);
    return out->fd >= 0 || refuse(asked, strerror(errno), "name a file, or - for stdout", err);
}

/* Follows links to a name that is none, or to a descriptor. */
static bool follow(const char *asked, pl_arena *arena, pl_output *out, pl_err *err)
{
    enum { MOST_LINKS = 40, LONGEST = 4096 };
    struct stat s;
    struct statfs disk;
    char to[LONGEST];
    for (int i = 0; i < MOST_LINKS && !lstat(out->path, &s) && S_ISLNK(s.st_mode); i++) {
        const char *folder = pl_file_folder(arena, out->path);
        if (!statfs(folder, &disk) && disk.f_type == PROC_SUPER_MAGIC)
            return take_descriptor(asked, out->path, folder, out, err);
        const ssize_t n = readlink(out->path, to, sizeof to);
        if (n < 0 || n == sizeof to)
            return refuse(asked, "its link cannot be read", "name a file", err);
        const char *target = pl_arena_span(arena, to, (size_t)n);
        const bool is_whole = *target == '/' || !strchr(out->path, '/');
        out->path = is_whole ? target : pl_file_join(arena, folder, target);
    }
    return true;
}

/* -- whether it can be written ----------------------------------------------------------------- */

/* In the folder of the file, a name that nobody else uses. */
static const char *name_temp(const pl_output *o, pl_arena *arena)
{
    struct stat s;
    const char *name = NULL;
    for (int i = 0; !name || !lstat(name, &s); i++)
        name = pl_file_join(arena, o->folder,
                            pl_arena_fmt(arena, ".pleat-%d-%d.tmp", (int)getpid(), i));
    return name;
}

static bool try_folder(const char *asked, const pl_output *o, pl_arena *arena, pl_err *err)
{
    struct stat s;
    if (stat(o->folder, &s))
        return refuse(asked, pl_arena_fmt(arena, "folder '%s': %s", o->folder, strerror(errno)),
                      pl_arena_fmt(arena, "mkdir -p '%s' makes it", o->folder), err);
    const char *temp = name_temp(o, arena);
    int fd = open(temp, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd >= 0) {
        close(fd);
        unlink(temp);
        return true;
    }
    return refuse(
        asked,
        pl_arena_fmt(arena, "no file can be made in folder '%s': %s", o->folder, strerror(errno)),
        "name one in a folder that you may write, or - for stdout", err);
}

/* What is there and is no regular file. A pipe is not opened yet: its reader would see the end. */
static bool try_other(const char *asked, const char *path, mode_t mode, pl_err *err)
{
    if (S_ISDIR(mode)) return refuse(asked, "it is a folder", "name a file in it", err);
    if (!S_ISFIFO(mode) && !S_ISCHR(mode))
        return refuse(asked, S_ISBLK(mode) ? "it is a disk" : "it is a socket",
                      "name a file, a pipe, or - for stdout", err);
    return !access(path, W_OK) || refuse(asked, strerror(errno), "name another file", err);
}

/* The same pipe, terminal or file as stdout, by another name. */
static bool is_stdout(const struct stat *there)
{
    struct stat own;
    return !fstat(STDOUT_FILENO, &own) && own.st_dev == there->st_dev &&
           own.st_ino == there->st_ino && (!S_ISCHR(own.st_mode) || isatty(STDOUT_FILENO));
}

/* A new file cannot take the place of one that is mounted by itself, nor of one in a folder that is
 * not ours to write. */
static bool stays(const struct stat *there, const pl_output *o)
{
    struct stat folder;
    if (access(o->path, W_OK)) return false;
    return access(o->folder, W_OK) || (!stat(o->folder, &folder) && folder.st_dev != there->st_dev);
}

bool pl_output_open(const char *asked, pl_arena *arena, pl_output *out, pl_err *err)
{
    struct stat there;
    *out = (pl_output){ .path = asked, .fd = -1 };
    if (!*asked || asked[strlen(asked) - 1] == '/')
        return refuse(asked, "it names no file", "end it in the name of one", err);
    if (!strcmp(asked, "-")) return take_stdout(asked, out, err);
    const bool is_there = !stat(asked, &there);
    if (!is_there && errno != ENOENT && errno != ENOTDIR)
        return refuse(asked, strerror(errno), "name another file", err);
    if (is_there && is_stdout(&there)) return take_stdout(asked, out, err);
    PL_TRY(follow(asked, arena, out, err));
    if (out->fd >= 0) return true;
    if (is_there && !S_ISREG(there.st_mode)) return try_other(asked, out->path, there.st_mode, err);
    out->folder = pl_file_folder(arena, out->path);
    if (!is_there || !stays(&there, out)) return try_folder(asked, out, arena, err);
    out->folder = NULL;
    return true;
}

/* -- writing ----------------------------------------------------------------------------------- */

/* Whose reader went away is an error like a full disk, not the end of the command. */
static bool fill(int fd, const char *path, const pl_file_part *part, pl_err *err)
{
    void (*before)(int) = signal(SIGPIPE, SIG_IGN);
    bool ok = pl_file_fill(fd, path, 1, part, err);
    signal(SIGPIPE, before);
    return ok;
}

/* A new file in the place of the old one is its successor in owner and permissions too; where the
 * system does not let us, it is ours. */
static bool replace(const pl_output *o, const pl_file_part *part, pl_err *err)
{
    struct stat before;
    const bool was_there = !stat(o->path, &before);
    pl_arena *tmp = pl_arena_new("output");
    bool ok = pl_file_replace_through(o->folder, name_temp(o, tmp), o->path,
                                      was_there ? 0600 : 0666, 1, part, err);
    pl_arena_free(tmp);
    if (ok && was_there) {
        (void)!chown(o->path, before.st_uid, before.st_gid);
        (void)!chmod(o->path, before.st_mode & 0777);
    }
    return ok;
}

bool pl_output_write(pl_output *o, const char *text, size_t n, pl_err *err)
{
    const pl_file_part part = { text, n };
    fflush(stdout); /* what was told so far: a pipe may wait for its reader, or fail */
    if (o->folder) return replace(o, &part, err);
    if (o->fd < 0) o->fd = open(o->path, O_WRONLY | O_TRUNC | O_NOCTTY | O_CLOEXEC);
    if (o->fd < 0) return pl_err_set(err, PL_ERUN, "%s: cannot open: %s", o->path, strerror(errno));
    const int fd = o->fd;
    o->fd = -1;
    return fill(fd, o->path, &part, err);
}
