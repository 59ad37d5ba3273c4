/* jansson parses, behind the guards that bytes from a file need; its tree is copied into the arena
 * and given back. Writing has no tree: a value goes to the end of the text at once. */
#include "base/json.h"

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* -- reading ----------------------------------------------------------------------------------- */

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

static pl_json copy(json_t *from, const char *key, pl_arena *arena)
{
    static const pl_json_kind kinds[] = {
        [JSON_NULL] = PL_JSON_NULL,   [JSON_FALSE] = PL_JSON_FALSE,   [JSON_TRUE] = PL_JSON_TRUE,
        [JSON_INTEGER] = PL_JSON_INT, [JSON_REAL] = PL_JSON_REAL,     [JSON_STRING] = PL_JSON_TEXT,
        [JSON_ARRAY] = PL_JSON_LIST,  [JSON_OBJECT] = PL_JSON_OBJECT,
    };
    pl_json x = { .kind = kinds[json_typeof(from)] };
    if (key) x.key = pl_arena_text(arena, key);
    if (json_is_string(from))
        x.text = pl_arena_span(arena, json_string_value(from), json_string_length(from));
    x.whole = json_integer_value(from);
    x.real = json_number_value(from);
    const size_t n = json_array_size(from) + json_object_size(from);
    pl_json *at = n ? PL_NEW_N(arena, pl_json, n) : NULL;
    for (size_t i = 0; i < json_array_size(from); i++)
        at[x.n++] = copy(json_array_get(from, i), NULL, arena);
    for (void *i = json_object_iter(from); i; i = json_object_iter_next(from, i))
        at[x.n++] = copy(json_object_iter_value(i), json_object_iter_key(i), arena);
    x.at = at;
    return x;
}

bool pl_json_parse(const char *text, size_t n, int depth, pl_arena *arena, const pl_json **out,
                   pl_err *err)
{
    PL_ASSERT_CMP(depth, <=, PL_JSON_DEPTH);
    PL_TRY(check_brackets(text, n, depth, err));
    json_error_t e;
    json_t *root = json_loadb(text, n, JSON_REJECT_DUPLICATES, &e);
    if (!root)
        return pl_err_set(err, PL_EINPUT, "bad JSON at line %d, column %d: %s", e.line, e.column,
                          e.text);
    pl_json *x = PL_NEW(arena, pl_json);
    *x = copy(root, NULL, arena);
    json_decref(root);
    *out = x;
    return x->kind == PL_JSON_OBJECT ||
           pl_err_set(err, PL_EINPUT, "bad JSON at line 1: an object {...} is needed");
}

bool pl_json_is(const pl_json *x, pl_json_kind kind)
{
    return x && x->kind == kind;
}

bool pl_json_is_number(const pl_json *x)
{
    return pl_json_is(x, PL_JSON_INT) || pl_json_is(x, PL_JSON_REAL);
}

double pl_json_real(const pl_json *x)
{
    return x ? x->real : 0;
}

int pl_json_items(const pl_json *x)
{
    return pl_json_is(x, PL_JSON_LIST) ? x->n : 0;
}

const pl_json *pl_json_find(const pl_json *object, const char *key)
{
    for (int i = 0; pl_json_is(object, PL_JSON_OBJECT) && i < object->n; i++)
        if (!strcmp(object->at[i].key, key)) return &object->at[i];
    return NULL;
}

bool pl_json_get(const pl_json *object, const char *key, pl_json_kind kind, const pl_json **out,
                 pl_err *err)
{
    static const char *const kinds[] = {
        [PL_JSON_TEXT] = "a text", [PL_JSON_LIST] = "a list", [PL_JSON_OBJECT] = "an object"
    };
    *out = pl_json_find(object, key);
    return pl_json_is(*out, kind) || pl_err_set(err, PL_EINPUT, "'%s' is %s: %s is needed", key,
                                                *out ? "of another kind" : "missing", kinds[kind]);
}

bool pl_json_get_text(const pl_json *object, const char *key, const char **value, pl_err *err)
{
    const pl_json *x;
    PL_TRY(pl_json_get(object, key, PL_JSON_TEXT, &x, err));
    *value = x->text;
    return true;
}

bool pl_json_get_count(const pl_json *object, const char *key, int64_t *value, pl_err *err)
{
    const pl_json *x = pl_json_find(object, key);
    if (!pl_json_is(x, PL_JSON_INT) || x->whole < 0)
        return pl_err_set(err, PL_EINPUT, "'%s' is %s: an integer of at least 0 is needed", key,
                          x ? "another value" : "missing");
    *value = x->whole;
    return true;
}

/* -- writing ----------------------------------------------------------------------------------- */

static void add(const pl_json_out *o, const char *text)
{
    pl_text_span(o->text, text, strlen(text));
}

/* Bytes of the UTF-8 character at s, which has n bytes or more; 0 when there is none.
 * Source: RFC 3629, section 4. */
static size_t measure(const unsigned char *s, size_t n)
{
    const size_t want = s[0] < 0x80                   ? 1
                        : s[0] >= 0xc2 && s[0] < 0xe0 ? 2
                        : s[0] >= 0xe0 && s[0] < 0xf0 ? 3
                        : s[0] >= 0xf0 && s[0] < 0xf5 ? 4
                                                      : 0;
    if (!want || want > n) return 0;
    for (size_t i = 1; i < want; i++)
        if ((s[i] & 0xc0) != 0x80) return 0;
    const bool longer = (s[0] == 0xe0 && s[1] < 0xa0) || (s[0] == 0xf0 && s[1] < 0x90);
    const bool beyond = (s[0] == 0xed && s[1] > 0x9f) || (s[0] == 0xf4 && s[1] > 0x8f);
    return longer || beyond ? 0 : want;
}

static void add_text(const pl_json_out *o, const char *value, size_t n)
{
    const unsigned char *at = (const unsigned char *)value;
    pl_text *t = o->text;
    pl_text_span(t, "\"", 1);
    for (size_t i = 0, from = 0, end; i <= n; i = end) {
        const unsigned char c = i < n ? at[i] : 0;
        const size_t wide = i < n && o->page ? measure(at + i, n - i) : 1;
        const bool coded = c < 0x20 || (o->page && c == '<');
        end = i + (wide ? wide : 1);
        if (wide && !coded && c != '"' && c != '\\') continue;
        pl_text_span(t, value + from, i - from);
        if (i < n) pl_text_add(t, !wide ? "\\ufffd" : coded ? "\\u%04x" : "\\%c", c);
        from = end;
    }
    pl_text_span(t, "\"", 1);
}

static void add_line(const pl_json_out *o)
{
    add(o, "\n");
    for (int i = 0; i < o->depth; i++)
        if (o->open[i].lines) add(o, "  ");
}

/* Has the innermost list or object no members so far? No value ends in an opening bracket. */
static bool is_empty(const pl_json_out *o)
{
    return strchr("[{", o->text->at[o->text->n - 1]) != NULL;
}

/* All before a value. */
static void begin(const pl_json_out *o, const char *key)
{
    const bool first = !o->depth || is_empty(o), lines = o->depth && o->open[o->depth - 1].lines;
    if (!first) add(o, ",");
    if (lines)
        add_line(o);
    else if (!first && !o->tight)
        add(o, " ");
    if (!key) return;
    add_text(o, key, strlen(key));
    add(o, o->tight ? ":" : ": ");
}

static void open_as(pl_json_out *o, const char *key, pl_json_kind kind, bool lines)
{
    const bool list = kind == PL_JSON_LIST;
    PL_ASSERT(list || kind == PL_JSON_OBJECT);
    PL_ASSERT_CMP(o->depth, <, PL_JSON_DEPTH);
    begin(o, key);
    add(o, list ? "[" : "{");
    o->open[o->depth].closer = list ? ']' : '}';
    o->open[o->depth++].lines = lines;
}

void pl_json_open(pl_json_out *o, const char *key, pl_json_kind kind)
{
    open_as(o, key, kind, false);
}

void pl_json_open_lines(pl_json_out *o, const char *key, pl_json_kind kind)
{
    open_as(o, key, kind, true);
}

void pl_json_close(pl_json_out *o)
{
    PL_ASSERT_CMP(o->depth, >, 0);
    const bool lines = o->open[--o->depth].lines && !is_empty(o);
    if (lines) add_line(o);
    pl_text_span(o->text, &o->open[o->depth].closer, 1);
}

pl_json_out pl_json_begin(pl_arena *arena)
{
    pl_json_out o = { .text = PL_NEW(arena, pl_text) };
    o.text->arena = arena;
    pl_json_open(&o, NULL, PL_JSON_OBJECT);
    return o;
}

const char *pl_json_end(pl_json_out *o)
{
    while (o->depth) pl_json_close(o);
    return o->text->at;
}

void pl_json_put_null(pl_json_out *o, const char *key)
{
    begin(o, key);
    add(o, "null");
}

void pl_json_put_bool(pl_json_out *o, const char *key, bool value)
{
    begin(o, key);
    add(o, value ? "true" : "false");
}

void pl_json_put_int(pl_json_out *o, const char *key, int64_t value)
{
    begin(o, key);
    pl_text_add(o->text, "%lld", (long long)value);
}

/* 17 digits give back every double, and no decimal of 15 is lost (IEEE 754-2008). */
void pl_json_put_real(pl_json_out *o, const char *key, double value)
{
    char text[32];
    begin(o, key);
    for (int digits = 15; digits <= 17; digits++) {
        snprintf(text, sizeof text, "%.*g", digits, value + 0.0); /* -0 becomes 0 */
        const double back = strtod(text, NULL);
        if (!(back < value) && !(back > value)) break;
    }
    add(o, isfinite(value) ? text : "null");
}

void pl_json_put_text(pl_json_out *o, const char *key, const char *value)
{
    if (value)
        pl_json_put_span(o, key, value, strlen(value));
    else
        pl_json_put_null(o, key);
}

void pl_json_put_span(pl_json_out *o, const char *key, const char *value, size_t n)
{
    begin(o, key);
    add_text(o, value, n);
}

void pl_json_put_value(pl_json_out *o, const char *key, const pl_json *value)
{
    switch (value->kind) {
    case PL_JSON_NULL: pl_json_put_null(o, key); return;
    case PL_JSON_FALSE:
    case PL_JSON_TRUE: pl_json_put_bool(o, key, value->kind == PL_JSON_TRUE); return;
    case PL_JSON_INT: pl_json_put_int(o, key, value->whole); return;
    case PL_JSON_REAL: pl_json_put_real(o, key, value->real); return;
    case PL_JSON_TEXT: pl_json_put_text(o, key, value->text); return;
    case PL_JSON_LIST:
    case PL_JSON_OBJECT: break;
    }
    pl_json_open(o, key, value->kind);
    for (int i = 0; i < value->n; i++) pl_json_put_value(o, value->at[i].key, &value->at[i]);
    pl_json_close(o);
}

const char *pl_json_spell(pl_arena *arena, const pl_json *value)
{
    pl_text t = { .arena = arena };
    pl_json_put_value(&(pl_json_out){ .text = &t, .tight = true }, NULL, value);
    return pl_text_get(&t);
}
