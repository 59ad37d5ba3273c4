/* models/config_types.h - the fields of config.json by model_type, and what they are to a built-in
 * model. Defaults are those of transformers. */
#ifndef PL_MODELS_CONFIG_TYPES_H
#define PL_MODELS_CONFIG_TYPES_H

typedef enum pl_config_kind {
    PL_CONFIG_NONE,      /* ends a list                                                         */
    PL_CONFIG_WHOLE,     /* a whole number, also as 1e4 or 10000.0                              */
    PL_CONFIG_REAL,
    PL_CONFIG_CHOICE,    /* one of `values`; of a list, its first element is                    */
    PL_CONFIG_EACH,      /* a list whose elements all are one of `values`                       */
    PL_CONFIG_POSITIONS, /* a whole number; seq comes from it too, without the key's `padding`  */
    PL_CONFIG_ROPE,      /* an object {"rope_type": "default", "rope_theta": the key}           */
} pl_config_kind;

typedef struct pl_config_field {
    const char *name;
    pl_config_kind kind;
    const char *key;    /* of the built-in model; NULL: none, the field is only checked          */
    const char *usual;  /* where the file has none or null; "=name": what field `name` says; "?7":
                           7 if no field before it set the key; NULL: the file has to have it    */
    const char *values; /* "silu swish", or with the key's values "relu=0 gated-gelu=1"; a value
                           of "labels" is the number of labels                                   */
    int padding;
} pl_config_field;

typedef struct pl_config_type {
    const char *type, *model;     /* model_type; the built-in model               */
    const pl_config_field *field;
    const char *aside;            /* fields of this type that change nothing here */
} pl_config_type;

extern const pl_config_type pl_config_types[]; /* ends with {0} */

/* For all types: fields that are checked, and names of those that change nothing ("summary_*": all
 * that begin so). */
extern const pl_config_field pl_config_common[];
extern const char pl_config_aside[];

#endif
