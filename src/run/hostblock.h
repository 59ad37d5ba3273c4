/* run/hostblock.h - memory of the host that a rank keeps states and activations in: its own, or
 * that of a file. */
#ifndef PL_RUN_HOSTBLOCK_H
#define PL_RUN_HOSTBLOCK_H
#include "base/arena.h"

typedef struct pl_hostblock {
    char *at; /* zeros at first; NULL: none */
    size_t bytes;
    bool is_file;
} pl_hostblock;

/* dir NULL: memory. Else a file there that has no name, so that nothing of it is left behind: its
 * room is taken at once. Fails with PL_ERUN giving the bytes, the folder and the reason. */
PL_MUST_CHECK bool pl_hostblock_new(size_t bytes, const char *dir, pl_hostblock *out, pl_err *err);
void pl_hostblock_free(pl_hostblock *b);

/* It will be read here and there, or one after another. */
void pl_hostblock_scatter(const pl_hostblock *b, bool scattered);
/* These bytes of it will be read soon: of a file, reading them may begin now. */
void pl_hostblock_want(const pl_hostblock *b, const void *at, size_t bytes);

#endif
