/* base/output.h - a file that a command was asked to write: tried before the work, written after.
 *
 * A regular file, or one that is not there yet, is replaced at once: whoever looks sees the old or
 * the new, with the owner and permissions that the old one had. A symbolic link stays, and what it
 * points at is replaced. What cannot be replaced is written in place: a pipe, a character device,
 * an open descriptor (/dev/fd/N), a file that is mounted or whose folder is not ours to write. "-"
 * is stdout, as is any other name of it (/dev/stdout): it then has the file alone, since all else
 * that is printed on stdout goes to stderr. */
#ifndef PL_BASE_OUTPUT_H
#define PL_BASE_OUTPUT_H
#include "base/arena.h"

typedef struct pl_output {
    const char *path;   /* links resolved                                    */
    const char *folder; /* NULL: what is there is written, and stays         */
    int fd;             /* open for writing; -1: not open                    */
} pl_output;

/* Where `path` leads, and whether it can be written: in a folder by making a file there and
 * removing it. Nothing else changes. Fails with PL_EINPUT: what, why, and what to do. `arena` owns
 * the texts. */
PL_MUST_CHECK bool pl_output_open(const char *path, pl_arena *arena, pl_output *out, pl_err *err);

/* Write it; once. Fails with PL_ERUN; a file that was replaced is then as it was. */
PL_MUST_CHECK bool pl_output_write(pl_output *o, const char *text, size_t n, pl_err *err);

#endif
