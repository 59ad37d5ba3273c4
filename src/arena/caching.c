/* A replay of PyTorch's allocator. Read pl_caching_replay() at the end, then the lists of free
 * blocks above it. */
#include "arena/caching.h"

#include <stdlib.h>

#define KIB INT64_C(1024)
#define MIB (KIB * KIB)

static const int64_t unit = 512, small_size = MIB, small_segment = 2 * MIB, large_size = 10 * MIB,
                     large_segment = 20 * MIB, large_unit = 2 * MIB;

/* A part of a segment, in use or free; a list over the segment. */
typedef struct block {
    struct block *before, *after;         /* in its segment                 */
    struct block *free_left, *free_right; /* among the free ones of its pool */
    int64_t bytes;
    int segment, first; /* where it begins in its segment, in units */
    bool small, used;
} block;

typedef struct replay {
    block free[2]; /* large, small: heads of rings, sorted by size, then by place */
    pl_arena *arena;
    block *spare; /* by `after` */
    int64_t live;
    pl_caching out;
} replay;

static int64_t round_up(int64_t bytes, int64_t to)
{
    return (bytes + to - 1) / to * to;
}

static int64_t segment_bytes(int64_t bytes)
{
    if (bytes <= small_size) return small_segment;
    return bytes < large_size ? large_segment : round_up(bytes, large_unit);
}

/* -- free blocks ------------------------------------------------------------------------------- */

static bool comes_before(const block *a, const block *b)
{
    if (a->bytes != b->bytes) return a->bytes < b->bytes;
    return a->segment != b->segment ? a->segment < b->segment : a->first < b->first;
}

static void list(replay *r, block *b)
{
    block *head = &r->free[b->small], *at = head->free_right;
    while (at != head && comes_before(at, b)) at = at->free_right;
    b->used = false;
    b->free_left = at->free_left, b->free_right = at;
    at->free_left->free_right = b, at->free_left = b;
}

static void unlist(block *b)
{
    b->free_left->free_right = b->free_right;
    b->free_right->free_left = b->free_left;
}

static block *find_free(const replay *r, int64_t bytes, bool small)
{
    const block *head = &r->free[small];
    block *at = head->free_right;
    while (at != head && at->bytes < bytes) at = at->free_right;
    return at == head ? NULL : at;
}

/* -- blocks ------------------------------------------------------------------------------------ */

static block *new_block(replay *r)
{
    block *b = r->spare;
    if (!b) return PL_NEW(r->arena, block);
    r->spare = b->after;
    *b = (block){ 0 };
    return b;
}

static block *add_segment(replay *r, int64_t bytes, bool small)
{
    block *b = new_block(r);
    *b = (block){ .bytes = segment_bytes(bytes), .segment = r->out.n_segments++, .small = small };
    r->out.reserved += b->bytes;
    list(r, b);
    return b;
}

/* What it does not need stays free, where that is enough to be of use. */
static void split(replay *r, block *b, int64_t bytes)
{
    const int64_t rest = b->bytes - bytes;
    if (b->small ? rest < unit : rest <= small_size) return;
    block *c = new_block(r);
    *c = (block){ .before = b,
                  .after = b->after,
                  .bytes = rest,
                  .segment = b->segment,
                  .first = b->first + (int)(bytes / unit),
                  .small = b->small };
    if (c->after) c->after->before = c;
    b->after = c;
    b->bytes = bytes;
    list(r, c);
}

static block *allocate(replay *r, int64_t wanted)
{
    const int64_t bytes = round_up(wanted, unit);
    const bool small = bytes <= small_size;
    block *b = find_free(r, bytes, small);
    if (!b) b = add_segment(r, bytes, small);
    unlist(b);
    b->used = true;
    split(r, b, bytes);
    r->live += b->bytes;
    if (r->live > r->out.allocated) r->out.allocated = r->live;
    return b;
}

/* b takes in the free one after it. */
static void merge(replay *r, block *b)
{
    block *c = b->after;
    b->bytes += c->bytes;
    b->after = c->after;
    if (b->after) b->after->before = b;
    c->after = r->spare;
    r->spare = c;
}

static void give_back(replay *r, block *b)
{
    r->live -= b->bytes;
    if (b->after && !b->after->used) {
        unlist(b->after);
        merge(r, b);
    }
    if (b->before && !b->before->used) {
        b = b->before;
        unlist(b);
        merge(r, b);
    }
    list(r, b);
}

/* -- events ------------------------------------------------------------------------------------ */

typedef struct event {
    int64_t step;
    int index;
    bool is_birth;
} event;

static int by_step(const void *left, const void *right)
{
    const event *a = left, *b = right;
    if (a->step != b->step) return a->step < b->step ? -1 : 1;
    if (a->is_birth != b->is_birth) return a->is_birth ? 1 : -1;
    return a->index < b->index ? -1 : 1;
}

static int list_events(int n, const pl_buf buf[], event e[])
{
    int k = 0;
    for (int i = 0; i < n; i++) {
        if (!buf[i].bytes) continue;
        e[k++] = (event){ buf[i].birth, i, true };
        e[k++] = (event){ buf[i].death, i, false };
    }
    qsort(e, (size_t)k, sizeof *e, by_step);
    return k;
}

pl_caching pl_caching_replay(int n, const pl_buf buf[])
{
    pl_arena *arena = pl_arena_new("caching allocator");
    replay r = { .arena = arena };
    event *e = PL_NEW_N(arena, event, 2 * (size_t)n + 1);
    block **of = PL_NEW_N(arena, block *, n + 1);
    for (int i = 0; i < 2; i++) r.free[i].free_left = r.free[i].free_right = &r.free[i];
    const int n_events = list_events(n, buf, e);
    for (int i = 0; i < n_events; i++)
        if (e[i].is_birth)
            of[e[i].index] = allocate(&r, buf[e[i].index].bytes);
        else
            give_back(&r, of[e[i].index]);
    const pl_caching out = r.out;
    pl_arena_free(arena);
    return out;
}
