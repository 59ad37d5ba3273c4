/* What the reading of a config.json stands on: looking a member up, setting a key, noting what
 * is wrong. Numbers are read in the range of the key that they set, so that the spec made of
 * them parses. */
#include "models/config_reader.h"

#include <math.h>
#include <string.h>

enum { MOST_SPELT = 100 }; /* bytes of a value in a message */

const pl_json *pl_config_reader_find(const pl_json *object, const char *field)
{
    const pl_json *v = pl_json_find(object, field);
    return pl_json_is(v, PL_JSON_NULL) ? NULL : v;
}

const char *pl_config_reader_spell(const pl_config_reader *reader, const pl_json *value)
{
    const char *text = value->text ? value->text : pl_json_spell(reader->arena, value);
    const size_t n = strlen(text);
    if (n <= MOST_SPELT) return text;
    return value->kind == PL_JSON_OBJECT
               ? pl_arena_fmt(reader->arena, "(an object of %d members)", value->n)
           : value->kind == PL_JSON_LIST ? pl_arena_fmt(reader->arena, "(a list of %d)", value->n)
                                         : pl_arena_fmt(reader->arena, "(a text of %zu bytes)", n);
}

void pl_config_reader_wrong(pl_config_reader *reader, const char *field, const char *value,
                            const char *what)
{
    PL_PUSH(reader->arena, &reader->wrong,
            pl_arena_fmt(reader->arena, "%s=%s %s", field, value, what));
}

void pl_config_reader_refuse(pl_config_reader *reader, const char *field, const char *value,
                             const char *what)
{
    PL_PUSH(reader->arena, &reader->refused,
            pl_arena_fmt(reader->arena, "%s=%s %s", field, value, what));
}

bool pl_config_reader_listed(pl_arena *arena, const char *list, const char *name,
                             const char **value)
{
    for (const char *at = list; *at; at += strspn(at, " ")) {
        size_t n = strcspn(at, " "), word = strcspn(at, " =");
        bool open = word && at[word - 1] == '*';
        if (open ? !strncmp(at, name, word - 1)
                 : strlen(name) == word && !strncmp(at, name, word)) {
            if (value) *value = word < n ? pl_arena_span(arena, at + word + 1, n - word - 1) : NULL;
            return true;
        }
        at += n;
    }
    return false;
}

bool pl_config_reader_given(const pl_config_reader *reader, const char *key)
{
    return pl_model_said(reader->keys, key) != NULL;
}

const char *pl_config_reader_value(const pl_config_reader *reader, const char *key)
{
    const char *given = pl_model_said(reader->keys, key);
    if (given) return pl_arena_span(reader->arena, given, strcspn(given, ","));
    for (int i = 0; i < reader->n; i++)
        if (!strcmp(reader->set[i].key, key)) return reader->set[i].value;
    return NULL;
}

int64_t pl_config_reader_int(const pl_config_reader *reader, const char *key)
{
    const char *value = pl_config_reader_value(reader, key);
    int64_t n = 0;
    return value && pl_text_int(value, &n) ? n : 0;
}

void pl_config_reader_set(pl_config_reader *reader, const char *field, const char *key,
                          const char *value)
{
    if (pl_config_reader_given(reader, key)) return;
    for (int i = 0; i < reader->n; i++) {
        if (strcmp(reader->set[i].key, key)) continue;
        if (strcmp(reader->set[i].value, value))
            pl_config_reader_refuse(
                reader, field, value,
                pl_arena_fmt(reader->arena, "is not that of %s, %s: give one for both, e.g. %s=%s",
                             reader->set[i].field, reader->set[i].value, key, value));
        return;
    }
    PL_ASSERT_CMP(reader->n, <, PL_CONFIG_KEYS);
    reader->set[reader->n].key = key, reader->set[reader->n].value = value,
    reader->set[reader->n++].field = field;
}

const char *pl_config_reader_number(pl_config_reader *reader, const char *field, const char *key,
                                    bool whole, const pl_json *value)
{
    double x = pl_json_real(value), least = key ? 0 : 1;
    for (const pl_model_key *k = reader->model->keys; key && k->name; k++)
        if (!strcmp(k->name, key)) least = k->least;
    if (!pl_json_is_number(value) || (whole && (fabs(x) > INT32_MAX || x > floor(x)))) {
        pl_config_reader_wrong(reader, field, pl_config_reader_spell(reader, value),
                               whole ? "is not a whole number" : "is not a number");
        return NULL;
    }
    if (x < least) {
        pl_config_reader_wrong(reader, field, pl_config_reader_spell(reader, value),
                               pl_arena_fmt(reader->arena, "is below %g", least));
        return NULL;
    }
    return pl_arena_fmt(reader->arena, whole ? "%.0f" : "%.17g", x);
}
