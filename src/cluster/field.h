/* cluster/field.h - the numbers of a class and of a level as rows: reading, printing and checking
 * use the same ones (for the files of this folder). */
#ifndef PL_CLUSTER_FIELD_H
#define PL_CLUSTER_FIELD_H
#include "cluster/cluster.h"
#include "cluster/unit.h"

enum { PL_FIELD_NAME = 60 }; /* bytes of the name of a cluster, class or level, at most */

typedef struct pl_field {
    const char *key;
    size_t at;           /* of the pl_figure in its struct               */
    pl_unit unit;
    double least, most;  /* legal values                                 */
    bool needed;
    pl_figure usual;     /* when it is left out                          */
    const char *like;    /* when it is left out: as the field of this key */
} pl_field;

/* Of pl_device_class; of a pl_level; of a level that has a curve. Each ends with {0}. */
extern const pl_field pl_field_class[], pl_field_level[], pl_field_curved[];

pl_figure *pl_field_at(const pl_field *field, void *row);
const pl_field *pl_field_find(const pl_field *fields, const char *key); /* or NULL */

#endif
