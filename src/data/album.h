/* data/album.h - what the readers of pictures give: pictures of one place, with labels. idx.c and
 * cifar.c have their bytes in memory, classes.c names of files. */
#ifndef PL_DATA_ALBUM_H
#define PL_DATA_ALBUM_H
#include "data/picture.h"
#include "data/problems.h"

typedef struct pl_album {
    const char *path;      /* that it was read from                                    */
    int64_t n;
    const int32_t *label;  /* [n]                                                      */
    int64_t classes;       /* that there are; 0: only the labels say                   */
    const char **file;     /* [n] to be decoded; NULL: in memory, as follows           */
    pl_picture like;       /* the size and layout of all; its `at` is the first's      */
    int64_t stride;        /* bytes from one to the next                               */
    void *map;             /* what pl_file_unmap frees                                 */
    size_t map_bytes;
    int64_t bytes;         /* of its files                                             */
    const char *hash;      /* of their contents; of many files: of names and sizes     */
} pl_album;

typedef struct pl_albums {
    pl_album *at;
    int n, cap;
} pl_albums;

/* Those that train, and those that are there to validate, if any. */
typedef struct pl_album_pair {
    pl_albums train, valid;
} pl_album_pair;

void pl_album_free(pl_album_pair *pair);

/* A file of IDX pictures, plain or compressed, or a folder with one. */
bool pl_idx_is(const char *path);
/* A file of CIFAR, by its size and labels, or a folder with a .bin file. */
bool pl_cifar_is(const char *path);

/* Each adds to *pair, which the caller frees also when it fails. data/images.h says what they read;
 * problems are told with PL_EINPUT, all at once. `arena` owns what *pair does not. */
PL_MUST_CHECK bool pl_idx_read(const char *path, pl_arena *arena, pl_album_pair *pair, pl_err *err);
PL_MUST_CHECK bool pl_cifar_read(const char *path, pl_arena *arena, pl_album_pair *pair,
                                 pl_err *err);
PL_MUST_CHECK bool pl_classes_read(const char *path, pl_arena *arena, pl_album_pair *pair,
                                   pl_err *err);

#endif
