/* base/json.h - JSON: read into an arena, and written piece by piece.
 *
 * Nothing is given back: what is read lives as long as its arena. Reading fails with PL_EINPUT and
 * names the key, never the file, which the caller knows. */
#ifndef PL_BASE_JSON_H
#define PL_BASE_JSON_H
#include "base/text.h"

typedef enum pl_json_kind {
    PL_JSON_NULL,
    PL_JSON_FALSE,
    PL_JSON_TRUE,
    PL_JSON_INT,
    PL_JSON_REAL,
    PL_JSON_TEXT,
    PL_JSON_LIST,
    PL_JSON_OBJECT,
} pl_json_kind;

/* A value as it was read. What a value of its kind does not have is 0 or NULL. */
typedef struct pl_json {
    pl_json_kind kind;
    int n;                    /* items of a list, members of an object           */
    const struct pl_json *at; /* [n] in the order of the text                    */
    const char *key;          /* of a member of an object                        */
    const char *text;         /* UTF-8                                           */
    int64_t whole;            /* of an INT                                       */
    double real;              /* of an INT or REAL                               */
} pl_json;

enum { PL_JSON_DEPTH = 64 }; /* that can be read or written at most */

/* Parse one JSON object. Text nested deeper than `depth`, or with more than a bracket in four
 * bytes, is refused before anything is allocated, which bounds the memory by a small multiple of
 * n. The message gives line and column. */
PL_MUST_CHECK bool pl_json_parse(const char *text, size_t n, int depth, pl_arena *arena,
                                 const pl_json **out, pl_err *err);

/* These take NULL for a value that is not there. */
bool pl_json_is(const pl_json *x, pl_json_kind kind);
bool pl_json_is_number(const pl_json *x);
double pl_json_real(const pl_json *x); /* 0 of what is no number      */
int pl_json_items(const pl_json *x);   /* 0 of what is no list        */
const pl_json *pl_json_find(const pl_json *object, const char *key); /* a member, or NULL */

/* Members that have to be there. */
PL_MUST_CHECK bool pl_json_get(const pl_json *object, const char *key, pl_json_kind kind,
                               const pl_json **out, pl_err *err);
PL_MUST_CHECK bool pl_json_get_text(const pl_json *object, const char *key, const char **value,
                                    pl_err *err);
PL_MUST_CHECK bool pl_json_get_count(const pl_json *object, const char *key, int64_t *value,
                                     pl_err *err); /* an integer >= 0 */

/* What is being written, at the end of a text: start from {.text = &t}. Members stand in the order
 * in which they are put. `key` is NULL in a list and for the whole. */
typedef struct pl_json_out {
    pl_text *text;
    bool tight; /* no spaces */
    bool page;  /* for a <script> of an HTML page: texts have no '<', nor bytes that are no UTF-8 */
    int depth;
    struct {
        char closer;
        bool lines;
    } open[PL_JSON_DEPTH];
} pl_json_out;

/* A text of its own, in which an object is open; and all that is open closed, which gives it. */
pl_json_out pl_json_begin(pl_arena *arena);
const char *pl_json_end(pl_json_out *o);

/* A list or an object, up to its pl_json_close; in pl_json_open_lines each member or item has a
 * line of its own. */
void pl_json_open(pl_json_out *o, const char *key, pl_json_kind kind);
void pl_json_open_lines(pl_json_out *o, const char *key, pl_json_kind kind);
void pl_json_close(pl_json_out *o);

/* A real has the fewest digits that give it back, of 15 to 17; one that is not finite is null, as
 * JSON has none such. A text of NULL is null, and one that is not UTF-8 goes through as it is: the
 * parser refuses it. In a page each byte that is none is U+FFFD. */
void pl_json_put_null(pl_json_out *o, const char *key);
void pl_json_put_bool(pl_json_out *o, const char *key, bool value);
void pl_json_put_int(pl_json_out *o, const char *key, int64_t value);
void pl_json_put_real(pl_json_out *o, const char *key, double value);
void pl_json_put_text(pl_json_out *o, const char *key, const char *value);
void pl_json_put_span(pl_json_out *o, const char *key, const char *value, size_t n);
void pl_json_put_value(pl_json_out *o, const char *key, const pl_json *value); /* that was read */

/* Members by the type of their values: PL_JSON_PUT(o, "nodes", 3, "name", name), up to eight; and
 * an object of such members. A comparison is an int in C, as is true: write (bool)(a < b). */
#define PL_JSON_PUT(o, ...)                                                                        \
    PL_JSON_PICK_(__VA_ARGS__, 8, , 7, , 6, , 5, , 4, , 3, , 2, , 1, )(o, __VA_ARGS__)
#define PL_JSON_ROW(o, key, ...)                                                                   \
    (pl_json_open((o), (key), PL_JSON_OBJECT), PL_JSON_PUT((o), __VA_ARGS__), pl_json_close(o))
#define PL_JSON_PICK_(a, b, c, d, e, f, g, h, i, j, k, l, m, n, p, q, nth, ...) PL_JSON_PUT_##nth
#define PL_JSON_PUT_1(o, key, value)                                                               \
    _Generic((value), bool: pl_json_put_bool, float: pl_json_put_real, double: pl_json_put_real,   \
             char *: pl_json_put_text, const char *: pl_json_put_text,                             \
             const pl_json *: pl_json_put_value, default: pl_json_put_int)((o), (key), (value))
#define PL_JSON_PUT_2(o, k, v, ...) (PL_JSON_PUT_1(o, k, v), PL_JSON_PUT_1(o, __VA_ARGS__))
#define PL_JSON_PUT_3(o, k, v, ...) (PL_JSON_PUT_1(o, k, v), PL_JSON_PUT_2(o, __VA_ARGS__))
#define PL_JSON_PUT_4(o, k, v, ...) (PL_JSON_PUT_1(o, k, v), PL_JSON_PUT_3(o, __VA_ARGS__))
#define PL_JSON_PUT_5(o, k, v, ...) (PL_JSON_PUT_1(o, k, v), PL_JSON_PUT_4(o, __VA_ARGS__))
#define PL_JSON_PUT_6(o, k, v, ...) (PL_JSON_PUT_1(o, k, v), PL_JSON_PUT_5(o, __VA_ARGS__))
#define PL_JSON_PUT_7(o, k, v, ...) (PL_JSON_PUT_1(o, k, v), PL_JSON_PUT_6(o, __VA_ARGS__))
#define PL_JSON_PUT_8(o, k, v, ...) (PL_JSON_PUT_1(o, k, v), PL_JSON_PUT_7(o, __VA_ARGS__))

/* A value on one line, without spaces. */
const char *pl_json_spell(pl_arena *arena, const pl_json *value);

#endif
