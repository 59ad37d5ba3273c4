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

static bool is_kind(reader *r, const pl_yaml *y, pl_yaml_kind kind, const char *what)
{
    static const char *const names[] = { "a single value", "a list", "a map of keys" };
    if (y->kind == kind) return true;
    complain(r, y->line, "%.40s is %s, not %s", what, names[y->kind], names[kind]);
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

static const pl_yaml *find_needed(reader *r, const pl_yaml *map, const char *key)
{
    const pl_yaml *y = pl_yaml_find(map, key);
    if (!y) complain(r, map->line, "key '%s' is missing", key);
    return y;
}

/* A map of keys {value:, source:} is its value with a source; anything else is the value. */
static const pl_yaml *find_value(reader *r, const pl_yaml *y, const char **source)
{
    *source = "";
    if (y->kind != PL_YAML_MAP) return y;
    check_keys(r, y, "value source");
    const pl_yaml *s = pl_yaml_find(y, "source");
    if (s && is_kind(r, s, PL_YAML_SCALAR, "source")) *source = s->text;
    return find_needed(r, y, "value");
}

static bool read_number(reader *r, const pl_yaml *y, const char *key, pl_unit u, double *out)
{
    if (!is_kind(r, y, PL_YAML_SCALAR, key)) return false;
    if (pl_unit_parse(y->text, u, out)) return true;
    complain(r, y->line, "%s: '%.40s' is not %s", key, y->text, pl_unit_about(u));
    return false;
}

static void read_figure(reader *r, const pl_yaml *y, const char *key, const pl_field *f,
                        pl_figure *out)
{
    const pl_yaml *value = find_value(r, y, &out->source);
    if (!value || !read_number(r, value, key, f->unit, &out->value)) return;
    if (!(out->value >= f->least && out->value <= f->most))
        complain(r, value->line, "%s: '%.40s' is not from %s to %s", key, value->text,
                 pl_unit_text(r->arena, f->unit, f->least),
                 pl_unit_text(r->arena, f->unit, f->most));
}

/* All figures of a row, from the members of a map. */
static void read_figures(reader *r, const pl_yaml *map, const pl_field fields[], void *row)
{
    for (const pl_field *f = fields; f->key; f++) {
        pl_figure *x = pl_field_at(f, row);
        const pl_yaml *y = pl_yaml_find(map, f->key);
        *x = f->usual;
        if (f->like) {
            const pl_figure *like = pl_field_at(pl_field_find(fields, f->like), row);
            *x = (pl_figure){ like->value, pl_arena_fmt(r->arena, "as %s", f->like) };
        }
        if (y)
            read_figure(r, y, f->key, f, x);
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
    const pl_yaml *y = find_needed(r, map, key);
    if (!y || !is_kind(r, y, PL_YAML_SCALAR, key)) return 1;
    if (!pl_text_int(y->text, &n) || n < 1 || n > PL_CLUSTER_DEVICES) {
        complain(r, y->line, "%s: '%.40s' is not a whole number from 1 to %d", key, y->text,
                 PL_CLUSTER_DEVICES);
        return 1;
    }
    return (int)n;
}

/* -- the parts of a file ----------------------------------------------------------------------- */

static void read_classes(reader *r, const pl_yaml *y, pl_cluster *c)
{
    if (!y || !is_kind(r, y, PL_YAML_MAP, "classes")) return;
    if (y->n < 1 || y->n > PL_CLUSTER_CLASSES) {
        complain(r, y->line, "%d classes; 1 to %d are possible", y->n, PL_CLUSTER_CLASSES);
        return;
    }
    c->class = PL_NEW_N(r->arena, pl_device_class, y->n);
    c->n_classes = y->n;
    for (int i = 0; i < y->n; i++) {
        const pl_yaml *m = y->at[i];
        c->class[i].name = m->key;
        check_name(r, m->line, m->key);
        if (!is_kind(r, m, PL_YAML_MAP, m->key)) continue;
        check_keys(r, m,
                   "memory f32_flops bf16_flops memory_bandwidth matmul_efficiency "
                   "stream_efficiency conv_efficiency vector_flops kernel_start memory_exposed");
        read_figures(r, m, pl_field_class, &c->class[i]);
    }
}

static void read_curve(reader *r, const pl_yaml *y, pl_level *l)
{
    pl_err err = { 0 };
    pl_link *link = &l->link;
    const pl_yaml *list = find_value(r, y, &l->curve_source);
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
static void read_straight(reader *r, const pl_yaml *y, pl_level *l)
{
    const pl_yaml *own = pl_yaml_find(y, "bandwidth"), *uplink = pl_yaml_find(y, "uplink");
    const pl_field *latency = pl_field_find(pl_field_level, "latency");
    const pl_field *bandwidth = pl_field_find(pl_field_level, "bandwidth");
    const pl_yaml *wait = find_needed(r, y, "latency");
    if (wait) read_figure(r, wait, "latency", latency, &l->latency);
    if (!own == !uplink)
        complain(r, y->line, "give either bandwidth (of a device) or uplink (of a whole group)");
    else if (own)
        read_figure(r, own, "bandwidth", bandwidth, &l->bandwidth);
    else
        read_figure(r, uplink, "uplink", bandwidth, &l->bandwidth);
    l->shared = uplink != NULL;
}

static void read_level(reader *r, const pl_yaml *y, pl_level *l)
{
    if (!is_kind(r, y, PL_YAML_MAP, "a level")) return;
    check_keys(r, y, "name size start latency bandwidth uplink messages overlap");
    const pl_yaml *name = find_needed(r, y, "name"), *curve = pl_yaml_find(y, "messages");
    if (name && is_kind(r, name, PL_YAML_SCALAR, "name")) {
        l->name = name->text;
        check_name(r, name->line, name->text);
    }
    l->size = read_count(r, y, "size");
    read_figures(r, y, pl_field_curved, l);
    if (!curve)
        read_straight(r, y, l);
    else if (pl_yaml_find(y, "latency") || pl_yaml_find(y, "bandwidth") ||
             pl_yaml_find(y, "uplink"))
        complain(r, curve->line, "messages stand for latency and bandwidth: give one of the two");
    else
        read_curve(r, curve, l);
}

static void read_levels(reader *r, const pl_yaml *y, pl_cluster *c)
{
    if (!y || !is_kind(r, y, PL_YAML_LIST, "levels")) return;
    if (y->n < 1 || y->n > PL_CLUSTER_LEVELS) {
        complain(r, y->line, "%d levels; 1 to %d are possible", y->n, PL_CLUSTER_LEVELS);
        return;
    }
    c->level = PL_NEW_N(r->arena, pl_level, y->n);
    c->n_levels = y->n;
    for (int i = 0; i < y->n; i++) read_level(r, y->at[i], &c->level[i]);
}

static int find_class(reader *r, const pl_yaml *y, const pl_cluster *c)
{
    if (!y || !is_kind(r, y, PL_YAML_SCALAR, "class")) return 0;
    pl_near near = { .word = y->text, .within = NEAR - 1 };
    for (int i = 0; i < c->n_classes; i++) {
        if (!strcmp(y->text, c->class[i].name)) return i;
        pl_near_offer(&near, c->class[i].name);
    }
    if (near.name)
        complain(r, y->line, "no class '%.40s' (did you mean '%s'?)", y->text, near.name);
    else
        complain(r, y->line, "no class '%.40s' under classes", y->text);
    return 0;
}

static void read_parts(reader *r, const pl_yaml *y, pl_cluster *c)
{
    if (!y || !is_kind(r, y, PL_YAML_LIST, "groups")) return;
    if (y->n < 1 || y->n > PL_CLUSTER_PARTS) {
        complain(r, y->line, "%d rows of groups; 1 to %d are possible", y->n, PL_CLUSTER_PARTS);
        return;
    }
    c->part = PL_NEW_N(r->arena, pl_part, y->n);
    c->n_parts = y->n;
    for (int i = 0; i < y->n; i++) {
        if (!is_kind(r, y->at[i], PL_YAML_MAP, "a row of groups")) continue;
        check_keys(r, y->at[i], "class count");
        c->part[i].class = find_class(r, find_needed(r, y->at[i], "class"), c);
        c->part[i].count = read_count(r, y->at[i], "count");
    }
}

static void read_head(reader *r, const pl_yaml *top, pl_cluster *c)
{
    const pl_yaml *schema = find_needed(r, top, "schema"), *name = pl_yaml_find(top, "name");
    check_keys(r, top, "schema name classes levels groups");
    if (schema && is_kind(r, schema, PL_YAML_SCALAR, "schema") &&
        strcmp(schema->text, "pleat.cluster/1"))
        complain(r, schema->line, "schema '%.40s'; pleat.cluster/1 is what is read", schema->text);
    if (name && is_kind(r, name, PL_YAML_SCALAR, "name")) {
        c->name = name->text;
        check_name(r, name->line, name->text);
    }
}

static bool read_all(reader *r, const pl_yaml *top, pl_cluster *c, pl_err *err)
{
    if (is_kind(r, top, PL_YAML_MAP, "a cluster")) {
        read_head(r, top, c);
        read_classes(r, find_needed(r, top, "classes"), c);
        read_levels(r, find_needed(r, top, "levels"), c);
        read_parts(r, pl_yaml_find(top, "groups"), c);
    }
    PL_TRY(tell(r, err));
    /* What is left concerns several lines together. */
    if (pl_cluster_finish(c, r->arena, err)) return true;
    const pl_yaml *groups = pl_yaml_find(top, "groups");
    return pl_err_in(err, "line %d", (groups ? groups : pl_yaml_find(top, "levels"))->line);
}

bool pl_cluster_parse(const char *text, size_t n, const char *file, pl_arena *a, pl_cluster **out,
                      pl_err *err)
{
    pl_yaml *top;
    reader r = { .arena = a };
    const char *base = strrchr(file, '/');
    *out = PL_NEW(a, pl_cluster);
    (*out)->name = pl_arena_fmt(a, "%.*s", PL_FIELD_NAME, base ? base + 1 : file);
    if (pl_yaml_parse(text, n, a, &top, err) && read_all(&r, top, *out, err)) return true;
    return pl_err_in(err, "%s", file);
}
