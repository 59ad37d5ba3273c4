/* Blocks of at least 64 KiB in a list; pl_arena_get() cuts from the top one and adds a block
 * when it is full. pl_arena_grow() is behind PL_PUSH. */
#include "base/arena.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCK_BYTES = 64 * 1024, ALIGN = 16 };

typedef struct block {
    struct block *next;
    size_t used, size;
    _Alignas(ALIGN) unsigned char data[];
} block;

struct pl_arena {
    const char *name;
    block *top;
    size_t bytes;
};

static _Noreturn void out_of_memory(const char *name, size_t bytes)
{
    fprintf(stderr, "pleat: out of host memory: arena '%s' asked for %zu bytes\n", name, bytes);
    abort();
}

pl_arena *pl_arena_new(const char *name)
{
    pl_arena *a = calloc(1, sizeof *a);
    if (!a) out_of_memory(name, sizeof *a);
    a->name = name;
    return a;
}

void pl_arena_free(pl_arena *a)
{
    if (!a) return;
    for (block *b = a->top, *next; b; b = next) {
        next = b->next;
        free(b);
    }
    free(a);
}

static block *add_block(pl_arena *a, size_t need)
{
    size_t size = need > BLOCK_BYTES ? need : BLOCK_BYTES;
    block *b = calloc(1, sizeof *b + size);
    if (!b) out_of_memory(a->name, size);
    b->size = size;
    if (a->top && need > BLOCK_BYTES) { /* a large block goes below: the top one still has room */
        b->next = a->top->next;
        a->top->next = b;
    } else {
        b->next = a->top;
        a->top = b;
    }
    return b;
}

void *pl_arena_get(pl_arena *a, size_t count, size_t size)
{
    size_t bytes;
    if (__builtin_mul_overflow(count, size, &bytes) || bytes > SIZE_MAX / 2)
        out_of_memory(a->name, SIZE_MAX);
    bytes = (bytes + ALIGN - 1) / ALIGN * ALIGN;
    block *b = a->top;
    if (!b || b->size - b->used < bytes) b = add_block(a, bytes);
    void *p = b->data + b->used;
    b->used += bytes;
    a->bytes += bytes;
    return p;
}

char *pl_arena_span(pl_arena *a, const char *text, size_t n)
{
    char *p = pl_arena_get(a, n + 1, 1);
    if (n) memcpy(p, text, n); /* nothing may be NULL */
    return p;
}

char *pl_arena_text(pl_arena *a, const char *text)
{
    return pl_arena_span(a, text, strlen(text));
}

char *pl_arena_vfmt(pl_arena *a, const char *fmt, va_list args)
{
    va_list again;
    va_copy(again, args);
    int n = vsnprintf(NULL, 0, fmt, args);
    PL_ASSERT_CMP(n, >=, 0);
    char *p = pl_arena_get(a, (size_t)n + 1, 1);
    vsnprintf(p, (size_t)n + 1, fmt, again);
    va_end(again);
    return p;
}

char *pl_arena_fmt(pl_arena *a, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    char *p = pl_arena_vfmt(a, fmt, args);
    va_end(args);
    return p;
}

void pl_arena_adopt(pl_arena *a, pl_arena *other)
{
    block **end = &a->top;
    while (*end) end = &(*end)->next;
    *end = other->top;
    a->bytes += other->bytes;
    free(other);
}

size_t pl_arena_bytes(const pl_arena *a)
{
    return a->bytes;
}

void *pl_arena_grow(pl_arena *a, const void *old, int *cap, size_t size)
{
    int more = *cap ? *cap * 2 : 8;
    void *p = pl_arena_get(a, (size_t)more, size);
    if (*cap) memcpy(p, old, (size_t)*cap * size);
    *cap = more;
    return p;
}
