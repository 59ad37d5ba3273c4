/* run/device.h - where the tensors of a rank are, and what works on them beside kernels.
 *
 * A device (backends/host) fills a pl_device. Work is given to a *stream*, which does it in order,
 * at once or later. Nobody else touches the memory, so an address in it need mean nothing to the
 * host, which reads and writes contents by map; transports alone take addresses, and have to reach
 * them. An *event* is a number that a stream raises when it gets there; the host asks where it
 * is. */
#ifndef PL_RUN_DEVICE_H
#define PL_RUN_DEVICE_H
#include "placement/region.h"

typedef struct pl_event pl_event;

/* The head of every device's own struct. */
typedef struct pl_stream {
    const struct pl_device *device;
} pl_stream;

typedef enum pl_access {
    PL_READ,  /* what is there   */
    PL_WRITE, /* all of it, anew */
    PL_CHANGE, /* what is there, some of it anew */
} pl_access;

typedef struct pl_device {
    const char *name; /* "cpu" */
    bool prompt; /* all is done at once: an event is raised by who records it, not later         */

    /* -- memory -------------------------------------------------------------------------------- */
    /* Bytes of the memory that this device has its part of. *pool: a number of it, the same for all
     * ranks that share it. */
    int64_t (*memory)(uint64_t *pool);
    /* One block for all tensors of a rank: zeros, aligned to pages. Fails with PL_ERUN. */
    bool (*alloc)(size_t bytes, char **out, pl_err *err);
    void (*free)(char *block, size_t bytes); /* of alloc; NULL is fine */
    /* Host memory with the contents of [at, at + bytes) when all work is done, or for contents that
     * unmap puts there behind the work: the device's own, where the host reaches it. But
     * for PL_READ it may be NULL: no contents are kept, there is nothing to write. */
    void *(*map)(pl_stream *s, void *at, int64_t bytes, pl_access how);
    void (*unmap)(pl_stream *s, void *at, int64_t bytes, pl_access how, void *host);

    /* -- work, given to a stream --------------------------------------------------------------- */
    void (*copy)(pl_stream *s, const pl_copy *c, const void *from, void *to); /* pl_region_apply */
    void (*fill)(pl_stream *s, pl_type t, pl_monoid m, void *to, int64_t n);  /* pl_type_fill    */
    void (*fold)(pl_stream *s, pl_type t, pl_monoid m, void *to, const void *from,
                 int64_t n);                                                  /* pl_reduce_into  */
    void (*set)(pl_stream *s, void *to, int byte, int64_t bytes);             /* memset          */
    /* Copies between its memory and the host's. */
    void (*to_host)(pl_stream *s, const void *from, void *host, int64_t bytes);
    void (*from_host)(pl_stream *s, const void *host, void *to, int64_t bytes);

    /* -- streams ------------------------------------------------------------------------------- */
    /* For rank `rank`, used by the calling thread: where a machine has several such devices, the
     * rank says which. */
    bool (*stream_new)(int rank, pl_stream **out, pl_err *err);
    void (*stream_free)(pl_stream *s); /* that has nothing left to do */
    /* Wait until all is done that the stream was given. Fails with what went wrong in it. */
    bool (*sync)(pl_stream *s, pl_err *err);

    /* -- events -------------------------------------------------------------------------------- */
    bool (*event_new)(pl_event **out, pl_err *err); /* at 0 */
    void (*event_free)(pl_event *e);
    /* When the stream is done with all that it was given, or has failed in it, the event is at n:
     * no less than before. */
    void (*record)(pl_stream *s, pl_event *e, int64_t n);
    int64_t (*query)(const pl_event *e); /* where it is; any thread may ask */
} pl_device;

#endif
