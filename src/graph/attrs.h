/* graph/attrs.h - attributes of a node as text; pl_node_int() and others read them (graph.h). */
#ifndef PL_GRAPH_ATTRS_H
#define PL_GRAPH_ATTRS_H
#include "graph/graph.h"

/* "a=1 b=2,3", split at blanks, as node->attr. Fails with PL_EINPUT naming what is none, or stands
 * twice. */
PL_MUST_CHECK bool pl_attrs_parse(pl_arena *arena, const char *text, pl_node *node, pl_err *err);

/* Is it one of the operator's, a number where its default is one? Else fails with PL_EINPUT. */
PL_MUST_CHECK bool pl_attrs_check(const struct pl_op *op, const pl_attr *attr, pl_err *err);

bool pl_attrs_has(const struct pl_op *op, const char *name);

/* As given, or the default, `len` characters; NULL: the operator has none of that name. */
const char *pl_attrs_find(const pl_node *node, const char *name, size_t *len);

#endif
