#include "graph/json.h"

#include <jansson.h>
#include <string.h>

/* jansson spends up to about 250 bytes on an empty object. */
static bool check_brackets(const char *text, size_t n, int most, pl_err *err)
{
    size_t count = 0;
    int depth = 0;
    bool inside = false; /* a string */
    for (size_t i = 0; i < n; i++) {
        char c = text[i];
        if (inside && c == '\\') i++;
        if (c == '"') inside = !inside;
        if (inside) continue;
        if (c == '}' || c == ']') depth--;
        if (c != '{' && c != '[') continue;
        count++;
        if (++depth > most)
            return pl_err_set(err, PL_EINPUT, "JSON is nested deeper than %d levels at byte %zu",
                              most, i);
    }
    if (count > n / 4 + 8)
        return pl_err_set(err, PL_EINPUT, "JSON of %zu bytes has %zu brackets: not a file of ours",
                          n, count);
    return true;
}

bool pl_json_parse(const char *text, size_t n, int depth, json_t **out, pl_err *err)
{
    PL_TRY(check_brackets(text, n, depth, err));
    json_error_t e;
    json_t *root = json_loadb(text, n, JSON_REJECT_DUPLICATES, &e);
    if (!root)
        return pl_err_set(err, PL_EINPUT, "bad JSON at line %d, column %d: %s", e.line, e.column,
                          e.text);
    if (!json_is_object(root)) {
        json_decref(root);
        return pl_err_set(err, PL_EINPUT, "bad JSON at line 1: an object {...} is needed");
    }
    *out = root;
    return true;
}

bool pl_json_text(const json_t *object, const char *key, pl_arena *a, const char **value,
                  pl_err *err)
{
    const json_t *v = json_object_get(object, key);
    if (!json_is_string(v))
        return pl_err_set(err, PL_EINPUT, "'%s' is %s: a text is needed", key,
                          v ? "of another kind" : "missing");
    *value = pl_arena_span(a, json_string_value(v), json_string_length(v));
    return true;
}

bool pl_json_count(const json_t *object, const char *key, int64_t *value, pl_err *err)
{
    const json_t *v = json_object_get(object, key);
    if (!json_is_integer(v) || json_integer_value(v) < 0)
        return pl_err_set(err, PL_EINPUT, "'%s' is %s: an integer of at least 0 is needed", key,
                          v ? "another value" : "missing");
    *value = json_integer_value(v);
    return true;
}

bool pl_json_shape(const json_t *object, pl_type type, pl_shape *shape, int64_t *bytes, pl_err *err)
{
    const json_t *v = json_object_get(object, "shape");
    if (!json_is_array(v))
        return pl_err_set(err, PL_EINPUT, "'shape' is %s: a list of sizes is needed",
                          v ? "of another kind" : "missing");
    if (json_array_size(v) > PL_MAX_RANK)
        return pl_err_set(err, PL_EINPUT, "'shape' has %zu dimensions, at most %d can be read",
                          json_array_size(v), PL_MAX_RANK);
    *shape = (pl_shape){ .rank = (int)json_array_size(v) };
    *bytes = pl_type_bytes(type);
    for (int i = 0; i < shape->rank; i++) {
        const json_t *d = json_array_get(v, (size_t)i);
        if (!json_is_integer(d) || json_integer_value(d) < 0)
            return pl_err_set(err, PL_EINPUT, "dimension %d of 'shape' is not an integer >= 0", i);
        shape->dim[i] = json_integer_value(d);
        if (__builtin_mul_overflow(*bytes, shape->dim[i], bytes))
            return pl_err_set(err, PL_EINPUT, "'shape' overflows: more than 2^63 bytes of %s",
                              pl_type_name(type));
    }
    return true;
}

void pl_json_print_text(pl_text *t, const char *text)
{
    pl_text_add(t, "\"");
    for (size_t i = 0, from = 0;; i++) {
        unsigned char c = (unsigned char)text[i];
        if (c >= 0x20 && c != '"' && c != '\\') continue;
        pl_text_add(t, "%.*s", (int)(i - from), text + from);
        from = i + 1;
        if (!c) break;
        pl_text_add(t, c < 0x20 ? "\\u%04x" : "\\%c", c);
    }
    pl_text_add(t, "\"");
}

void pl_json_print_shape(pl_text *t, const pl_shape *s)
{
    pl_text_add(t, "[");
    for (int i = 0; i < s->rank; i++) pl_text_add(t, i ? ", %lld" : "%lld", (long long)s->dim[i]);
    pl_text_add(t, "]");
}
