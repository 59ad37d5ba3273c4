/* libyaml's events to a tree (take), which refuses what a cluster file does not need; and the
 * quoting that makes a printed text read back as it was. */
#include "cluster/yaml.h"

#include <ctype.h>
#include <string.h>
#include <yaml.h>

typedef struct reader {
    yaml_parser_t parser;
    yaml_event_t event; /* the one at hand, or type YAML_NO_EVENT */
    pl_arena *arena;
    pl_err *err;
} reader;

static int line_of(const yaml_event_t *e)
{
    return (int)e->start_mark.line + 1;
}

/* Get the next event; the one before is given back. */
static bool advance(reader *r)
{
    yaml_event_delete(&r->event);
    if (yaml_parser_parse(&r->parser, &r->event)) return true;
    memset(&r->event, 0, sizeof r->event);
    const yaml_parser_t *p = &r->parser;
    const char *why = p->problem ? p->problem : "cannot be read";
    if (p->error == YAML_READER_ERROR)
        return pl_err_set(r->err, PL_EINPUT, "line 1: byte %zu: %s", p->problem_offset, why);
    return pl_err_set(r->err, PL_EINPUT, "line %zu: column %zu: %s%s%s", p->problem_mark.line + 1,
                      p->problem_mark.column + 1, why, p->context ? ", " : "",
                      p->context ? p->context : "");
}

static bool refuse(reader *r, const char *what)
{
    return pl_err_set(r->err, PL_EINPUT, "line %d: %s", line_of(&r->event), what);
}

/* A scalar's text, without NUL bytes. */
static bool take_text(reader *r, const char **out)
{
    const char *s = (const char *)r->event.data.scalar.value;
    if (strlen(s) != r->event.data.scalar.length) return refuse(r, "a NUL byte in a text");
    *out = pl_arena_text(r->arena, s);
    return true;
}

static bool is_decorated(const yaml_event_t *event)
{
    switch (event->type) {
    case YAML_SCALAR_EVENT: return event->data.scalar.anchor || event->data.scalar.tag;
    case YAML_SEQUENCE_START_EVENT:
        return event->data.sequence_start.anchor || event->data.sequence_start.tag;
    case YAML_MAPPING_START_EVENT:
        return event->data.mapping_start.anchor || event->data.mapping_start.tag;
    default: return event->type == YAML_ALIAS_EVENT;
    }
}

static bool add(reader *r, pl_yaml *parent, pl_yaml *item)
{
    if (parent->n == PL_YAML_MEMBERS) return refuse(r, "more than 4096 members");
    PL_PUSH(r->arena, parent, item);
    return true;
}

static bool take(reader *r, int depth, pl_yaml **out);

static bool take_list(reader *r, int depth, pl_yaml *list)
{
    PL_TRY(advance(r));
    while (r->event.type != YAML_SEQUENCE_END_EVENT) {
        pl_yaml *item;
        PL_TRY(take(r, depth + 1, &item));
        PL_TRY(add(r, list, item));
        PL_TRY(advance(r));
    }
    return true;
}

static bool take_map(reader *r, int depth, pl_yaml *map)
{
    PL_TRY(advance(r));
    while (r->event.type != YAML_MAPPING_END_EVENT) {
        pl_yaml *item;
        const char *key = "";
        int line = line_of(&r->event);
        if (is_decorated(&r->event)) return refuse(r, "anchors, aliases and tags are not read");
        if (r->event.type != YAML_SCALAR_EVENT) return refuse(r, "a key must be a plain word");
        PL_TRY(take_text(r, &key));
        const pl_yaml *first = pl_yaml_find(map, key);
        if (first)
            return pl_err_set(r->err, PL_EINPUT, "line %d: key '%s' again (first on line %d)", line,
                              key, first->line);
        PL_TRY(advance(r));
        PL_TRY(take(r, depth + 1, &item));
        item->key = key;
        item->line = line;
        PL_TRY(add(r, map, item));
        PL_TRY(advance(r));
    }
    return true;
}

/* The node that starts with the event at hand; leaves its last event at hand. */
static bool take(reader *r, int depth, pl_yaml **out)
{
    pl_yaml *yaml = *out = PL_NEW(r->arena, pl_yaml);
    yaml->line = line_of(&r->event);
    if (is_decorated(&r->event)) return refuse(r, "anchors, aliases and tags are not read");
    if (depth > PL_YAML_DEPTH) return refuse(r, "nested deeper than 16");
    switch (r->event.type) {
    case YAML_SCALAR_EVENT: return take_text(r, &yaml->text);
    case YAML_SEQUENCE_START_EVENT: yaml->kind = PL_YAML_LIST; return take_list(r, depth, yaml);
    default: yaml->kind = PL_YAML_MAP; return take_map(r, depth, yaml);
    }
}

static bool take_document(reader *r, pl_yaml **out)
{
    PL_TRY(advance(r));
    PL_ASSERT(r->event.type == YAML_STREAM_START_EVENT);
    PL_TRY(advance(r));
    if (r->event.type == YAML_STREAM_END_EVENT) return refuse(r, "nothing in it");
    PL_TRY(advance(r));
    PL_TRY(take(r, 0, out));
    PL_TRY(advance(r));
    PL_TRY(advance(r));
    return r->event.type == YAML_STREAM_END_EVENT || refuse(r, "a second document");
}

bool pl_yaml_parse(const char *text, size_t n, pl_arena *arena, pl_yaml **out, pl_err *err)
{
    reader r = { .arena = arena, .err = err };
    if (n > PL_YAML_BYTES)
        return pl_err_set(err, PL_EINPUT, "line 1: %zu bytes; at most %d are read", n,
                          PL_YAML_BYTES);
    if (!yaml_parser_initialize(&r.parser))
        return pl_err_set(err, PL_EINTERNAL, "line 1: libyaml does not start");
    yaml_parser_set_encoding(&r.parser, YAML_UTF8_ENCODING);
    yaml_parser_set_input_string(&r.parser, (const unsigned char *)text, n);
    bool ok = take_document(&r, out);
    yaml_event_delete(&r.event);
    yaml_parser_delete(&r.parser);
    return ok;
}

const pl_yaml *pl_yaml_find(const pl_yaml *map, const char *key)
{
    for (int i = 0; i < map->n; i++)
        if (!strcmp(map->at[i]->key, key)) return map->at[i];
    return NULL;
}

/* Plain style: words of letters, digits and harmless signs that hold no ": " or " #", do not start
 * with a sign of YAML's own, and end in no blank or colon; in flow style no ",[]{}" either. */
static bool is_plain(const char *text)
{
    size_t n = strlen(text);
    if (!n || !isalnum((unsigned char)*text) || text[n - 1] == ' ' || text[n - 1] == ':')
        return false;
    if (strstr(text, ": ") || strstr(text, " #")) return false;
    for (size_t i = 0; i < n; i++)
        if (!isalnum((unsigned char)text[i]) && !strchr(" ._-+/:()%=*;", text[i])) return false;
    return true;
}

/* Code point of the UTF-8 sequence at *p, which moves on; '?' for a byte that begins none. */
static uint32_t next_code(const char **p)
{
    const unsigned char *s = (const unsigned char *)*p;
    int more = s[0] >= 0xf0 ? 3 : s[0] >= 0xe0 ? 2 : s[0] >= 0xc0 ? 1 : 0;
    uint32_t c = more ? s[0] & (0x3fu >> more) : s[0] < 0x80 ? s[0] : '?';
    ++*p;
    for (int i = 1; i <= more; i++) {
        if ((s[i] & 0xc0) != 0x80) return '?';
        c = c << 6 | (s[i] & 0x3f);
        ++*p;
    }
    return c;
}

/* May it stand in a double-quoted scalar as it is: no sign of control, no line break of Unicode. */
static bool is_printable(uint32_t c)
{
    if (c < 0xa0) return c >= 0x20 && c < 0x7f;
    return c != 0x2028 && c != 0x2029 && c != 0xfeff && c != 0xfffe && c != 0xffff;
}

void pl_yaml_print_text(pl_text *out, const char *text)
{
    if (is_plain(text)) {
        pl_text_add(out, "%s", text);
        return;
    }
    pl_text_add(out, "\"");
    for (const char *p = text; *p;) {
        const char *from = p;
        uint32_t c = next_code(&p);
        if (c == '"' || c == '\\')
            pl_text_add(out, "\\%c", (char)c);
        else if (!is_printable(c))
            pl_text_add(out, "\\u%04x", c);
        else if (c < 0x80)
            pl_text_add(out, "%c", (char)c);
        else
            pl_text_add(out, "%.*s", (int)(p - from), from);
    }
    pl_text_add(out, "\"");
}
