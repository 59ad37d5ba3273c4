/* models/config_reader.h - a config.json under way to a spec: its members, the keys that they have
 * set so far, and what there is to say about it. For models/config*.c only. */
#ifndef PL_MODELS_CONFIG_READER_H
#define PL_MODELS_CONFIG_READER_H
#include "base/json.h"
#include "models/config_types.h"
#include "models/model.h"

enum { PL_CONFIG_KEYS = 64 };

typedef struct pl_config_reader {
    pl_arena *arena;
    const pl_json *root;
    const pl_config_type *type;
    const pl_family *model;
    const char *keys;      /* "batch=4,seq=128", those of the spec                    */
    struct {
        const char *key, *value, *field;
    } set[PL_CONFIG_KEYS];
    int n;
    int64_t positions;     /* that the file is made for                               */
    struct {
        int n, cap;
        const char **at;
    } wrong, refused, off; /* what makes no sense, what is not there, unknown and off */
} pl_config_reader;

/* A member of an object that is there and not null, or NULL. */
const pl_json *pl_config_reader_find(const pl_json *object, const char *field);

/* What a message or a choice calls a value: a text without its quotes, a short one as its JSON, of
 * a long one how much it holds. */
const char *pl_config_reader_spell(const pl_config_reader *reader, const pl_json *value);

/* What `field` has is wrong, or not supported: "field=value what". */
void pl_config_reader_wrong(pl_config_reader *reader, const char *field, const char *value,
                            const char *what);
void pl_config_reader_refuse(pl_config_reader *reader, const char *field, const char *value,
                             const char *what);

/* Is a name in a list "a b=1 c*"? *value (or NULL): what follows its "=", or NULL. */
bool pl_config_reader_listed(pl_arena *arena, const char *list, const char *name,
                             const char **value);

/* Is it set by the spec itself? */
bool pl_config_reader_given(const pl_config_reader *reader, const char *key);
/* As the spec gives it, else as set so far; NULL, or 0: neither. */
const char *pl_config_reader_value(const pl_config_reader *reader, const char *key);
int64_t pl_config_reader_int(const pl_config_reader *reader, const char *key);

/* Set a key, unless the spec gives it. Two fields of one key have to agree. */
void pl_config_reader_set(pl_config_reader *reader, const char *field, const char *key,
                          const char *value);

/* A number in the range of its key (NULL: at least 1), as a spec has it. NULL, and the message: it
 * is none. */
const char *pl_config_reader_number(pl_config_reader *reader, const char *field, const char *key,
                                    bool whole, const pl_json *value);

/* Rotary positions (models/config_rope.c): a field of kind PL_CONFIG_ROPE. */
void pl_config_reader_rope(pl_config_reader *reader, const pl_config_field *field,
                           const pl_json *value);

#endif
