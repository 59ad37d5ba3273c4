/* cluster/yaml.h - a YAML or JSON text as a tree whose nodes know their line.
 *
 * libyaml's events, made into maps, lists and scalars. JSON is read by the same parser, as YAML's
 * flow style. Left out on purpose, with an error: anchors, tags, several documents, keys that are
 * not plain scalars, a key twice in a map, more than 1 MiB, nesting deeper than 16, NUL bytes. */
#ifndef PL_CLUSTER_YAML_H
#define PL_CLUSTER_YAML_H
#include "base/text.h"

enum { PL_YAML_BYTES = 1 << 20, PL_YAML_DEPTH = 16, PL_YAML_MEMBERS = 4096 }; /* at most */

typedef enum pl_yaml_kind { PL_YAML_SCALAR, PL_YAML_LIST, PL_YAML_MAP } pl_yaml_kind;

typedef struct pl_yaml {
    pl_yaml_kind kind;
    int line;                   /* where it starts, from 1; of a member: that of its key */
    const char *key;            /* of a member of a map                                  */
    const char *text;           /* of a scalar                                           */
    int n, cap;
    struct pl_yaml **at;        /* [n] members or elements, in order                     */
} pl_yaml;

/* Fails with PL_EINPUT, the message starting "line N: ". */
PL_MUST_CHECK bool pl_yaml_parse(const char *text, size_t n, pl_arena *arena, pl_yaml **out,
                                 pl_err *err);

const pl_yaml *pl_yaml_find(const pl_yaml *map, const char *key); /* or NULL */

/* A scalar that reads back as this text, quoted where plain style would not do. */
void pl_yaml_print_text(pl_text *out, const char *text);

#endif
