/* base/file.h - whole files: read, mapped, and replaced so that a crash leaves the old or the new.
 *
 * Failures name the file and the system's reason. */
#ifndef PL_BASE_FILE_H
#define PL_BASE_FILE_H
#include "base/arena.h"
#include <stdint.h>
#include <sys/types.h>

/* The system calls that change a disk, as POSIX has them (errno set on failure). A test hands in
 * its own, which fail at a chosen moment. */
typedef struct pl_file_ops {
    int (*open)(const char *path, int flags, mode_t mode);
    ssize_t (*write)(int fd, const void *bytes, size_t n);
    int (*fsync)(int fd);
    int (*close)(int fd);
    int (*rename)(const char *from, const char *to);
    int (*unlink)(const char *path);
} pl_file_ops;

extern const pl_file_ops pl_file_system; /* the real ones */

typedef struct pl_file_part {
    const void *data;
    size_t bytes;
} pl_file_part;

#define PL_FILE_TEMP ".tmp" /* ends the name of a file that is being written */

const char *pl_file_join(pl_arena *arena, const char *folder, const char *name); /* folder/name */
const char *pl_file_folder(pl_arena *arena, const char *path); /* that path is in: "/a" of "/a/b" */

bool pl_file_is_folder(const char *path); /* false too for what is not there */

/* Is it a path that stays below the folder it is taken from: not absolute, without ".."? */
bool pl_file_is_below(const char *path);

/* Make `name` in `folder` hold the parts, one after the other: write folder/name.tmp, fsync, close,
 * rename, fsync the folder. Fails with PL_ERUN: the file, the bytes wanted, written and free. Then
 * the temporary file is gone, and the file is as it was, unless the last fsync is what failed. */
PL_MUST_CHECK bool pl_file_replace(const pl_file_ops *ops, const char *folder, const char *name,
                                   int n, const pl_file_part part[], pl_err *err);

/* The same for the file `path` in `folder`, by way of `temp` in that folder, which must not be
 * there yet and is made with `mode` (less the umask); the message names `path`. */
PL_MUST_CHECK bool pl_file_replace_through(const char *folder, const char *temp, const char *path,
                                           mode_t mode, int n, const pl_file_part part[],
                                           pl_err *err);

/* Write the parts into what was opened for writing, and close it in every case; `path` is for the
 * message. Fails with PL_ERUN. */
PL_MUST_CHECK bool pl_file_fill(int fd, const char *path, int n, const pl_file_part part[],
                                pl_err *err);

/* Make the names in a folder last. Fails with PL_ERUN. */
PL_MUST_CHECK bool pl_file_sync_folder(const pl_file_ops *ops, const char *folder, pl_err *err);

/* The whole of a regular file of at most `most` bytes, 0-terminated. Fails with PL_EINPUT. */
PL_MUST_CHECK bool pl_file_read(const char *path, int64_t most, pl_arena *arena, const char **text,
                                size_t *n, pl_err *err);

/* Map a regular file read-only until pl_file_unmap; an empty one maps to NULL. Fails with
 * PL_EINPUT. A file that is cut short while it is mapped kills the reader (SIGBUS). */
PL_MUST_CHECK bool pl_file_map(const char *path, void **map, size_t *bytes, pl_err *err);
void pl_file_unmap(void *map, size_t bytes);

/* The names in a folder, without "." and "..", sorted by bytes. Fails with PL_EINPUT. */
PL_MUST_CHECK bool pl_file_list(const char *folder, pl_arena *arena, int *n, const char ***name,
                                pl_err *err);

#endif
