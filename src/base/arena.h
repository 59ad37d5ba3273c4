/* base/arena.h - memory with one owner, freed at once.
 *
 * Memory is zeroed, aligned to 16 bytes, overflow-checked and never NULL: when the host has none
 * left the process aborts and names the arena. Not for tensors: those live in the block of memory
 * that run/ maps before step 1. */
#ifndef PL_BASE_ARENA_H
#define PL_BASE_ARENA_H
#include "base/err.h"
#include <stddef.h>

typedef struct pl_arena pl_arena;

pl_arena *pl_arena_new(const char *name); /* name is kept, not copied */
void pl_arena_free(pl_arena *a);          /* NULL is fine             */

void *pl_arena_get(pl_arena *a, size_t count, size_t size);
char *pl_arena_text(pl_arena *a, const char *text);            /* a copy   */
char *pl_arena_span(pl_arena *a, const char *text, size_t n);  /* a copy   */
char *pl_arena_fmt(pl_arena *a, const char *fmt, ...) PL_PRINTF(2, 3);
char *pl_arena_vfmt(pl_arena *a, const char *fmt, va_list args) PL_PRINTF(2, 0);
size_t pl_arena_bytes(const pl_arena *a);                      /* in use   */
void pl_arena_adopt(pl_arena *a, pl_arena *other); /* all of other's memory is a's; other is gone */

#define PL_NEW(a, T) ((T *)pl_arena_get((a), 1, sizeof(T)))
#define PL_NEW_N(a, T, n) ((T *)pl_arena_get((a), (size_t)(n), sizeof(T)))

/* A growing array in an arena: {T *at; int n, cap;}. Old copies stay until the arena goes. */
#define PL_PUSH(a, list, value)                                                                    \
    do {                                                                                           \
        if ((list)->n == (list)->cap)                                                              \
            (list)->at = pl_arena_grow((a), (list)->at, &(list)->cap, sizeof *(list)->at);         \
        (list)->at[(list)->n++] = (value);                                                         \
    } while (0)
void *pl_arena_grow(pl_arena *a, const void *old, int *cap, size_t size);

#endif
