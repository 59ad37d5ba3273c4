/* graph/json.h - jansson behind the guards that bytes from a file need, and getters that explain.
 *
 * All fail with PL_EINPUT and name the key, never the file: the caller knows it. */
#ifndef PL_GRAPH_JSON_H
#define PL_GRAPH_JSON_H
#include "graph/type.h"

struct json_t;

/* Parse one JSON object; the caller gives it back with json_decref. Text nested deeper than
 * `depth`, or with more than a bracket in four bytes, is refused before anything is allocated,
 * which bounds the memory by a small multiple of n. The message gives line and column. */
PL_MUST_CHECK bool pl_json_parse(const char *text, size_t n, int depth, struct json_t **out,
                                 pl_err *err);

/* Members of an object. A text is copied into the arena. */
PL_MUST_CHECK bool pl_json_text(const struct json_t *object, const char *key, pl_arena *a,
                                const char **value, pl_err *err);
PL_MUST_CHECK bool pl_json_count(const struct json_t *object, const char *key, int64_t *value,
                                 pl_err *err); /* an integer >= 0 */

/* Member "shape", and the bytes of such a tensor; a product that does not fit 63 bits fails. */
PL_MUST_CHECK bool pl_json_shape(const struct json_t *object, pl_type type, pl_shape *shape,
                                 int64_t *bytes, pl_err *err);

/* Printing: "text" with escapes, and [1, 2]. Text that is not UTF-8 goes through as it is, and the
 * parser refuses it. */
void pl_json_print_text(pl_text *t, const char *text);
void pl_json_print_shape(pl_text *t, const pl_shape *s);

#endif
