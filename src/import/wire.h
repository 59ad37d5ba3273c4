/* import/wire.h - the bytes of an ONNX model without those of its large tensors.
 *
 * A parser of protocol buffers copies all that it reads. Weights are not wanted in memory to plan:
 * so they are left out before it sees them, and where they lie in the file is noted. */
#ifndef PL_IMPORT_WIRE_H
#define PL_IMPORT_WIRE_H
#include "base/arena.h"
#include "base/err.h"
#include <stdint.h>

/* Payload of an initializer that was left out: of field raw_data (9) or float_data (4), which are
 * both elements in little-endian order. */
typedef struct pl_wire_blob {
    int initializer;   /* which, in the order of the graph */
    int field;
    int64_t at, bytes; /* in the file                      */
} pl_wire_blob;

typedef struct pl_wire {
    uint8_t *data; /* the model without the blobs, the arena's */
    size_t bytes;
    int n, cap;    /* of blobs */
    pl_wire_blob *at;
} pl_wire;

/* Leave out payloads of more than `most` bytes. Fails with PL_EINPUT at bytes that are no messages
 * (truncated varints, lengths beyond the end), naming the place. */
PL_MUST_CHECK bool pl_wire_reduce(const uint8_t *file, size_t bytes, int64_t most, pl_arena *a,
                                  pl_wire *out, pl_err *err);

#endif
