/* models/config_types.h - the fields of config.json by model_type, and what they are to a built-in
 * model. Defaults are those of transformers. */
#ifndef PL_MODELS_CONFIG_TYPES_H
#define PL_MODELS_CONFIG_TYPES_H

typedef enum pl_config_kind {
    PL_CONFIG_NONE,      /* ends a list                                                         */
    PL_CONFIG_WHOLE,     /* a whole number, also as 1e4 or 10000.0; a null that stands in the file
                            is wrong where `values` says why                                    */
    PL_CONFIG_REAL,
    PL_CONFIG_WHOLE_OFF, /* the same, where null is no default but 0: off; `values` names a field
                            that has to be true, or it is off too                               */
    PL_CONFIG_REAL_OFF,
    PL_CONFIG_CHOICE,    /* one of `values`; of a list, its first element is                    */
    PL_CONFIG_LIST,      /* of whole numbers: the key's value is 0+3, or none                   */
    PL_CONFIG_LAYERS,    /* a list of full_attention and sliding_attention as the key's letters */
    PL_CONFIG_POSITIONS, /* a whole number; seq comes from it too, without the rows for padding:
                            up to the one that key `values` says                                */
    PL_CONFIG_ROPE,      /* rotary positions: an object, or the share of a head that turns      */
} pl_config_kind;

typedef struct pl_config_field {
    const char *name;
    pl_config_kind kind;
    const char *key;    /* of the built-in model; NULL: none, the field is only checked          */
    const char *usual;  /* where the file has none or null; "=name": what field `name` says; "?7":
                           7 if no field before it set the key; NULL: the file has to have it. Of
                           LAYERS: letters, or "N=name": all but every N-th w, "N<name": those from
                           the N-th on w, where field `name` may say another N                  */
    const char *values; /* "silu swish", or with the key's values "relu=0 gated-gelu=1"; a value
                           of "labels" is the number of labels                                   */
} pl_config_field;

typedef struct pl_config_type {
    const char *type, *model;     /* model_type; the built-in model, "llama:bias=1" */
    const pl_config_field *field;
    const char *aside;            /* fields of this type that change nothing here   */
} pl_config_type;

extern const pl_config_type pl_config_types[]; /* ends with {0} */

/* For all types: fields that are checked, and names of those that change nothing ("summary_*": all
 * that begin so). */
extern const pl_config_field pl_config_common[];
extern const char pl_config_aside[];

#endif
