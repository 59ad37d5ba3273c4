#include "backends/host/host.h"

#include "base/rng.h"
#include "graph/reduce.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* -- memory ------------------------------------------------------------------------------------ */

enum { HUGE_PAGE = 2 << 20 };

/* The machine's, which is the same one for all processes until it starts anew. */
static int64_t cpu_memory(uint64_t *pool)
{
    char id[64] = "";
    FILE *f = fopen("/proc/sys/kernel/random/boot_id", "r");
    if (!f || !fgets(id, sizeof id, f)) gethostname(id, sizeof id - 1);
    if (f) fclose(f);
    *pool = pl_rng_name(id);
    return (int64_t)sysconf(_SC_PAGESIZE) * (int64_t)sysconf(_SC_PHYS_PAGES);
}

static int64_t null_memory(uint64_t *pool)
{
    *pool = 0;
    return INT64_MAX;
}

/* On huge pages where there are any (page faults cost a training step 30 %, small pages an addition
 * of long arrays 10 %); they come when they are touched. */
static bool map_pages(size_t bytes, char **out, pl_err *err)
{
    void *p = mmap(NULL, bytes + HUGE_PAGE, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    *out = NULL;
    if (p == MAP_FAILED)
        return pl_err_set(err, PL_ERUN, "%zu MiB of memory are not to be had: %s", bytes >> 20,
                          strerror(errno));
    madvise(p, bytes + HUGE_PAGE, MADV_HUGEPAGE);
    *out = p;
    return true;
}

static void unmap_pages(char *block, size_t bytes)
{
    if (block) munmap(block, bytes + HUGE_PAGE);
}

static void *map_itself(pl_stream *s, void *at, int64_t bytes, pl_access how)
{
    (void)s, (void)bytes, (void)how;
    return at;
}

static void *map_zeros(pl_stream *s, void *at, int64_t bytes, pl_access how)
{
    (void)s, (void)bytes;
    return how == PL_READ ? at : NULL;
}

static void unmap(pl_stream *s, void *at, int64_t bytes, pl_access how, void *host)
{
    (void)s, (void)at, (void)bytes, (void)how, (void)host;
}

/* -- work -------------------------------------------------------------------------------------- */

static void copy(pl_stream *s, const pl_copy *c, const void *from, void *to)
{
    (void)s;
    pl_region_apply(c, from, to);
}

static void fill(pl_stream *s, pl_type t, pl_monoid m, void *to, int64_t n)
{
    (void)s;
    pl_type_fill(t, m, to, n);
}

static void fold(pl_stream *s, pl_type t, pl_monoid m, void *to, const void *from, int64_t n)
{
    (void)s;
    pl_reduce_into(t, m, to, from, n);
}

static void set(pl_stream *s, void *to, int byte, int64_t bytes)
{
    (void)s;
    memset(to, byte, (size_t)bytes);
}

static void copy_bytes(pl_stream *s, const void *from, void *to, int64_t bytes)
{
    (void)s;
    memcpy(to, from, (size_t)bytes);
}

static void copy_no_bytes(pl_stream *s, const void *from, void *to, int64_t bytes)
{
    (void)s, (void)from, (void)to, (void)bytes;
}

static void copy_nothing(pl_stream *s, const pl_copy *c, const void *from, void *to)
{
    (void)s, (void)c, (void)from, (void)to;
}

static void fill_nothing(pl_stream *s, pl_type t, pl_monoid m, void *to, int64_t n)
{
    (void)s, (void)t, (void)m, (void)to, (void)n;
}

static void fold_nothing(pl_stream *s, pl_type t, pl_monoid m, void *to, const void *from,
                         int64_t n)
{
    (void)s, (void)t, (void)m, (void)to, (void)from, (void)n;
}

static void set_nothing(pl_stream *s, void *to, int byte, int64_t bytes)
{
    (void)s, (void)to, (void)byte, (void)bytes;
}

/* -- streams and events ------------------------------------------------------------------------ */

struct pl_event {
    atomic_llong at;
};

/* A stream is nothing but its device. */
static bool cpu_stream(int rank, pl_stream **out, pl_err *err)
{
    static pl_stream stream = { &pl_device_cpu };
    (void)rank, (void)err;
    *out = &stream;
    return true;
}

static bool null_stream(int rank, pl_stream **out, pl_err *err)
{
    static pl_stream stream = { &pl_device_null };
    (void)rank, (void)err;
    *out = &stream;
    return true;
}

static void free_stream(pl_stream *s)
{
    (void)s;
}

static bool sync_stream(pl_stream *s, pl_err *err)
{
    (void)s, (void)err;
    return true;
}

static bool new_event(pl_event **out, pl_err *err)
{
    *out = calloc(1, sizeof **out);
    return *out || pl_err_set(err, PL_ERUN, "no memory for an event");
}

static void free_event(pl_event *e)
{
    free(e);
}

static void record(pl_stream *s, pl_event *e, int64_t n)
{
    (void)s;
    atomic_store(&e->at, n);
}

static int64_t query(const pl_event *e)
{
    return atomic_load(&e->at);
}

const pl_device pl_device_cpu = {
    .name = "cpu",
    .prompt = true,
    .memory = cpu_memory,
    .alloc = map_pages,
    .free = unmap_pages,
    .map = map_itself,
    .unmap = unmap,
    .copy = copy,
    .fill = fill,
    .fold = fold,
    .set = set,
    .to_host = copy_bytes,
    .from_host = copy_bytes,
    .stream_new = cpu_stream,
    .stream_free = free_stream,
    .sync = sync_stream,
    .event_new = new_event,
    .event_free = free_event,
    .record = record,
    .query = query,
};

const pl_device pl_device_null = {
    .name = "null",
    .prompt = true,
    .memory = null_memory,
    .alloc = map_pages,
    .free = unmap_pages,
    .map = map_zeros,
    .unmap = unmap,
    .copy = copy_nothing,
    .fill = fill_nothing,
    .fold = fold_nothing,
    .set = set_nothing,
    .to_host = copy_no_bytes,
    .from_host = copy_no_bytes,
    .stream_new = null_stream,
    .stream_free = free_stream,
    .sync = sync_stream,
    .event_new = new_event,
    .event_free = free_event,
    .record = record,
    .query = query,
};
