/* A cluster file to a cluster. Read pl_cluster_parse() and read_all() at the end; each part of
 * the file has a function that notes its problems by line (complain) and reads on, so that one
 * message names them all (tell). */
#include "cluster/field.h"
#include "cluster/yaml.h"

#include <stdio.h>
#include <string.h>

enum { MOST_TOLD = 5, NEAR = 4 }; /* problems in one message; distance of "did you mean" */

/* Reads on after a problem: all are told at once, by line. */
typedef struct reader {
    pl_arena *arena;
    int n_problems;
    struct {
        int line;
        char text[200];
    } problem[MOST_TOLD + 1]; /* the first ones, and one more */
} reader;

PL_PRINTF(3, 4) static void complain(reader *r, int line, const char *fmt, ...)
{
    int i = r->n_problems < MOST_TOLD ? r->n_problems : MOST_TOLD;
    va_list ap;
    r->n_problems++;
    for (; i > 0 && r->problem[i - 1].line > line; i--) r->problem[i] = r->problem[i - 1];
    r->problem[i].line = line;
    va_start(ap, fmt);
    vsnprintf(r->problem[i].text, sizeof r->problem[i].text, fmt, ap);
    va_end(ap);
}

static bool tell(const reader *r, pl_err *err)
{
    pl_text t = { .arena = r->arena };
    if (!r->n_problems) return true;
    for (int i = 0; i < r->n_problems && i < MOST_TOLD; i++)
        pl_text_add(&t, "%sline %d: %s", i ? "; " : "", r->problem[i].line, r->problem[i].text);
    if (r->n_problems > MOST_TOLD) pl_text_add(&t, "; and %d more", r->n_problems - MOST_TOLD);
    return pl_err_set(err, PL_EINPUT, "%s", pl_text_get(&t));
}

/* -- members of maps --------------------------------------------------------------------------- */

static bool is_kind(reader *r, const pl_yaml *yaml, pl_yaml_kind kind, const char *what)
{
    static const char *const names[] = { "a single value", "a list", "a map of keys" };
    if (yaml->kind == kind) return true;
    complain(r, yaml->line, "%.40s is %s, not %s", what, names[yaml->kind], names[kind]);
    return false;
}

/* Every key is one of `known`, words with blanks between. */
static void check_keys(reader *r, const pl_yaml *map, const char *known)
{
    for (int i = 0; i < map->n; i++) {
        const char *key = map->at[i]->key;
        pl_near near = { .word = key, .within = NEAR - 1 };
        bool found = false;
        for (const char *w = known; *w; w += strcspn(w, " "), w += *w == ' ') {
            const char *word = pl_arena_span(r->arena, w, strcspn(w, " "));
            found |= !strcmp(key, word);
            pl_near_offer(&near, word);
        }
        if (found) continue;
        if (near.name)
            complain(r, map->at[i]->line, "unknown key '%.40s' (did you mean '%s'?)", key,
                     near.name);
        else
            complain(r, map->at[i]->line, "unknown key '%.40s' (known: %s)", key, known);
    }
}

/* The keys of a table, with a blank between two. */
static const char *list_keys(const reader *r, const pl_field *field)
{
    pl_text keys = { .arena = r->arena };
    for (; field->key; field++) pl_text_add(&keys, "%s%s", keys.n ? " " : "", field->key);
    return pl_text_get(&keys);
}

static const pl_yaml *find_needed(reader *r, const pl_yaml *map, const char *key)
{
    const pl_yaml *yaml = pl_yaml_find(map, key);
    if (!yaml) complain(r, map->line, "key '%s' is missing", key);
    return yaml;
}

/* A map of keys {value:, source:} is its value with a source; anything else is the value. */
static const pl_yaml *find_value(reader *r, const pl_yaml *yaml, const char **source)
{
    *source = "";
    if (yaml->kind != PL_YAML_MAP) return yaml;
    check_keys(r, yaml, "value source");
    const pl_yaml *s = pl_yaml_find(yaml, "source");
    if (s && is_kind(r, s, PL_YAML_SCALAR, "source")) *source = s->text;
    return find_needed(r, yaml, "value");
}

static bool read_number(reader *r, const pl_yaml *yaml, const char *key, pl_unit unit, double *out)
{
    if (!is_kind(r, yaml, PL_YAML_SCALAR, key)) return false;
    if (pl_unit_parse(yaml->text, unit, out)) return true;
    complain(r, yaml->line, "%s: '%.40s' is not %s", key, yaml->text, pl_unit_about(unit));
    return false;
}

static void read_figure(reader *r, const pl_yaml *yaml, const char *key, const pl_field *field,
                        pl_figure *out)
{
    const pl_yaml *value = find_value(r, yaml, &out->source);
    if (!value || !read_number(r, value, key, field->unit, &out->value)) return;
    if (!(out->value >= field->least && out->value <= field->most))
        complain(r, value->line, "%s: '%.40s' is not from %s to %s", key, value->text,
                 pl_unit_text(r->arena, field->unit, field->least),
                 pl_unit_text(r->arena, field->unit, field->most));
}

/* All figures of a row, from the members of a map. */
static void read_figures(reader *r, const pl_yaml *map, const pl_field fields[], void *row)
{
    for (const pl_field *f = fields; f->key; f++) {
        pl_figure *x = pl_field_at(f, row);
        const pl_yaml *yaml = pl_yaml_find(map, f->key);
        *x = f->usual;
        if (f->like) {
            const pl_figure *like = pl_field_at(pl_field_find(fields, f->like), row);
            *x = (pl_figure){ like->value, pl_arena_fmt(r->arena, "as %s", f->like) };
        }
        if (yaml)
            read_figure(r, yaml, f->key, f, x);
        else if (f->needed)
            find_needed(r, map, f->key);
    }
}

static void check_name(reader *r, int line, const char *name)
{
    if (!*name || strlen(name) > PL_FIELD_NAME)
        complain(r, line, "a name of %zu bytes; names have 1 to %d", strlen(name), PL_FIELD_NAME);
}

static int read_count(reader *r, const pl_yaml *map, const char *key)
{
    int64_t n = 1;
    const pl_yaml *yaml = find_needed(r, map, key);
    if (!yaml || !is_kind(r, yaml, PL_YAML_SCALAR, key)) return 1;
    if (!pl_text_int(yaml->text, &n) || n < 1 || n > PL_CLUSTER_DEVICES) {
        complain(r, yaml->line, "%s: '%.40s' is not a whole number from 1 to %d", key, yaml->text,
                 PL_CLUSTER_DEVICES);
        return 1;
    }
    return (int)n;
}

/* -- the parts of a file ----------------------------------------------------------------------- */

static void read_classes(reader *r, const pl_yaml *yaml, pl_cluster *cluster)
{
    if (!yaml || !is_kind(r, yaml, PL_YAML_MAP, "classes")) return;
    if (yaml->n < 1 || yaml->n > PL_CLUSTER_CLASSES) {
        complain(r, yaml->line, "%d classes; 1 to %d are possible", yaml->n, PL_CLUSTER_CLASSES);
        return;
    }
    cluster->class = PL_NEW_N(r->arena, pl_device_class, yaml->n);
    cluster->n_classes = yaml->n;
    for (int i = 0; i < yaml->n; i++) {
        const pl_yaml *m = yaml->at[i];
        cluster->class[i].name = m->key;
        check_name(r, m->line, m->key);
        if (!is_kind(r, m, PL_YAML_MAP, m->key)) continue;
        check_keys(r, m, list_keys(r, pl_field_class));
        read_figures(r, m, pl_field_class, &cluster->class[i]);
    }
}

static void read_curve(reader *r, const pl_yaml *yaml, pl_level *level)
{
    pl_err err = { 0 };
    pl_link *link = &level->link;
    const pl_yaml *list = find_value(r, yaml, &level->curve_source);
    if (!list || !is_kind(r, list, PL_YAML_LIST, "messages")) return;
    if (list->n < 1 || list->n > PL_LINK_POINTS) {
        complain(r, list->line, "messages: %d points; 1 to %d are possible", list->n,
                 PL_LINK_POINTS);
        return;
    }
    for (int i = 0; i < list->n; i++) {
        const pl_yaml *p = list->at[i];
        if (p->kind != PL_YAML_LIST || p->n != 2) {
            complain(r, p->line, "messages: point %d is not [SIZE, TIME]", i + 1);
            return;
        }
        if (!read_number(r, p->at[0], "messages", PL_UNIT_BYTES, &link->point[i].bytes)) return;
        if (!read_number(r, p->at[1], "messages", PL_UNIT_SECONDS, &link->point[i].seconds)) return;
    }
    link->n_points = list->n;
    if (!pl_link_check(list->n, link->point, &err))
        complain(r, list->line, "messages: %s", err.msg);
}

/* The bandwidth stands under one of two keys. */
static void read_straight(reader *r, const pl_yaml *yaml, pl_level *level)
{
    const pl_yaml *own = pl_yaml_find(yaml, "bandwidth"), *uplink = pl_yaml_find(yaml, "uplink");
    const pl_field *latency = pl_field_find(pl_field_level, "latency");
    const pl_field *bandwidth = pl_field_find(pl_field_level, "bandwidth");
    const pl_yaml *wait = find_needed(r, yaml, "latency");
    if (wait) read_figure(r, wait, "latency", latency, &level->latency);
    if (!own == !uplink)
        complain(r, yaml->line, "give either bandwidth (of a device) or uplink (of a whole group)");
    else if (own)
        read_figure(r, own, "bandwidth", bandwidth, &level->bandwidth);
    else
        read_figure(r, uplink, "uplink", bandwidth, &level->bandwidth);
    level->shared = uplink != NULL;
}

static void read_level(reader *r, const pl_yaml *yaml, pl_level *level)
{
    if (!is_kind(r, yaml, PL_YAML_MAP, "a level")) return;
    check_keys(r, yaml, "name size start latency bandwidth uplink messages overlap");
    const pl_yaml *name = find_needed(r, yaml, "name"), *curve = pl_yaml_find(yaml, "messages");
    if (name && is_kind(r, name, PL_YAML_SCALAR, "name")) {
        level->name = name->text;
        check_name(r, name->line, name->text);
    }
    level->size = read_count(r, yaml, "size");
    read_figures(r, yaml, pl_field_curved, level);
    if (!curve)
        read_straight(r, yaml, level);
    else if (pl_yaml_find(yaml, "latency") || pl_yaml_find(yaml, "bandwidth") ||
             pl_yaml_find(yaml, "uplink"))
        complain(r, curve->line, "messages stand for latency and bandwidth: give one of the two");
    else
        read_curve(r, curve, level);
}

static void read_levels(reader *r, const pl_yaml *yaml, pl_cluster *cluster)
{
    if (!yaml || !is_kind(r, yaml, PL_YAML_LIST, "levels")) return;
    if (yaml->n < 1 || yaml->n > PL_CLUSTER_LEVELS) {
        complain(r, yaml->line, "%d levels; 1 to %d are possible", yaml->n, PL_CLUSTER_LEVELS);
        return;
    }
    cluster->level = PL_NEW_N(r->arena, pl_level, yaml->n);
    cluster->n_levels = yaml->n;
    for (int i = 0; i < yaml->n; i++) read_level(r, yaml->at[i], &cluster->level[i]);
}

static int find_class(reader *r, const pl_yaml *yaml, const pl_cluster *cluster)
{
    if (!yaml || !is_kind(r, yaml, PL_YAML_SCALAR, "class")) return 0;
    pl_near near = { .word = yaml->text, .within = NEAR - 1 };
    for (int i = 0; i < cluster->n_classes; i++) {
        if (!strcmp(yaml->text, cluster->class[i].name)) return i;
        pl_near_offer(&near, cluster->class[i].name);
    }
    if (near.name)
        complain(r, yaml->line, "no class '%.40s' (did you mean '%s'?)", yaml->text, near.name);
    else
        complain(r, yaml->line, "no class '%.40s' under classes", yaml->text);
    return 0;
}

static void read_parts(reader *r, const pl_yaml *yaml, pl_cluster *cluster)
{
    if (!yaml || !is_kind(r, yaml, PL_YAML_LIST, "groups")) return;
    if (yaml->n < 1 || yaml->n > PL_CLUSTER_PARTS) {
        complain(r, yaml->line, "%d rows of groups; 1 to %d are possible", yaml->n,
                 PL_CLUSTER_PARTS);
        return;
    }
    cluster->part = PL_NEW_N(r->arena, pl_part, yaml->n);
    cluster->n_parts = yaml->n;
    for (int i = 0; i < yaml->n; i++) {
        if (!is_kind(r, yaml->at[i], PL_YAML_MAP, "a row of groups")) continue;
        check_keys(r, yaml->at[i], "class count");
        cluster->part[i].class = find_class(r, find_needed(r, yaml->at[i], "class"), cluster);
        cluster->part[i].count = read_count(r, yaml->at[i], "count");
    }
}

static void read_head(reader *r, const pl_yaml *top, pl_cluster *cluster)
{
    const pl_yaml *schema = find_needed(r, top, "schema"), *name = pl_yaml_find(top, "name");
    check_keys(r, top, "schema name classes levels groups");
    if (schema && is_kind(r, schema, PL_YAML_SCALAR, "schema") &&
        strcmp(schema->text, "pleat.cluster/1"))
        complain(r, schema->line, "schema '%.40s'; pleat.cluster/1 is what is read", schema->text);
    if (name && is_kind(r, name, PL_YAML_SCALAR, "name")) {
        cluster->name = name->text;
        check_name(r, name->line, name->text);
    }
}

static bool read_all(reader *r, const pl_yaml *top, pl_cluster *cluster, pl_err *err)
{
    if (is_kind(r, top, PL_YAML_MAP, "a cluster")) {
        read_head(r, top, cluster);
        read_classes(r, find_needed(r, top, "classes"), cluster);
        read_levels(r, find_needed(r, top, "levels"), cluster);
        read_parts(r, pl_yaml_find(top, "groups"), cluster);
    }
    PL_TRY(tell(r, err));
    /* What is left concerns several lines together. */
    if (pl_cluster_finish(cluster, r->arena, err)) return true;
    const pl_yaml *groups = pl_yaml_find(top, "groups");
    return pl_err_in(err, "line %d", (groups ? groups : pl_yaml_find(top, "levels"))->line);
}

bool pl_cluster_parse(const char *text, size_t n, const char *file, pl_arena *arena,
                      pl_cluster **out, pl_err *err)
{
    pl_yaml *top;
    reader r = { .arena = arena };
    const char *base = strrchr(file, '/');
    *out = PL_NEW(arena, pl_cluster);
    (*out)->name = pl_arena_fmt(arena, "%.*s", PL_FIELD_NAME, base ? base + 1 : file);
    if (pl_yaml_parse(text, n, arena, &top, err) && read_all(&r, top, *out, err)) return true;
    return pl_err_in(err, "%s", file);
}
