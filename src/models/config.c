#include "models/config.h"
#include "base/file.h"
#include "base/text.h"
#include "graph/json.h"
#include "models/config_types.h"
#include "models/model.h"

#include <jansson.h>
#include <math.h>
#include <string.h>
#include <unistd.h>

enum { MOST_BYTES = 1 << 20, MOST_DEPTH = 16, MOST_SEQ = 2048, MOST_KEYS = 48 };

typedef struct reader {
    pl_arena *arena;
    const json_t *root;
    const pl_config_type *type;
    const pl_model *model;
    const char *keys; /* "batch=4,seq=128", those of the spec */
    struct {
        const char *key, *value, *field;
    } set[MOST_KEYS];
    int n;
    pl_text wrong, refused;
} reader;

/* -- values ------------------------------------------------------------------------------------ */

/* A member that is there and not null. */
static const json_t *find(const reader *r, const char *field)
{
    const json_t *v = json_object_get(r->root, field);
    return v && !json_is_null(v) ? v : NULL;
}

/* What a message or a choice calls a value: a text without its quotes, else its JSON. */
static const char *spell(const reader *r, const json_t *v)
{
    if (json_is_string(v))
        return pl_arena_span(r->arena, json_string_value(v), json_string_length(v));
    const size_t flags = JSON_ENCODE_ANY | JSON_COMPACT;
    size_t n = json_dumpb(v, NULL, 0, flags);
    char *text = PL_NEW_N(r->arena, char, n + 1);
    json_dumpb(v, text, n, flags);
    return text;
}

static void say(pl_text *t, const char *field, const char *value, const char *what)
{
    pl_text_add(t, "%s%s=%.60s %s", t->n ? "; " : "", field, value, what);
}

/* Is a name in a list "a b=1 c*"? `value`: what follows its "=", or NULL. */
static bool find_word(pl_arena *a, const char *list, const char *name, const char **value)
{
    for (const char *at = list; *at; at += strspn(at, " ")) {
        size_t n = strcspn(at, " "), word = strcspn(at, " =");
        bool open = word && at[word - 1] == '*';
        if (open ? !strncmp(at, name, word - 1)
                 : strlen(name) == word && !strncmp(at, name, word)) {
            if (value) *value = word < n ? pl_arena_span(a, at + word + 1, n - word - 1) : NULL;
            return true;
        }
        at += n;
    }
    return false;
}

/* Does the spec itself say what a key is? */
static bool is_given(const reader *r, const char *key)
{
    size_t n = strlen(key);
    for (const char *at = r->keys; *at; at += strcspn(at, ","), at += *at == ',')
        if (!strncmp(at, key, n) && at[n] == '=') return true;
    return false;
}

static const char *value_of(const reader *r, const char *key)
{
    for (int i = 0; i < r->n; i++)
        if (!strcmp(r->set[i].key, key)) return r->set[i].value;
    return NULL;
}

/* Two fields of one key have to agree. */
static void set(reader *r, const char *field, const char *key, const char *value)
{
    for (int i = 0; i < r->n; i++) {
        if (strcmp(r->set[i].key, key)) continue;
        if (strcmp(r->set[i].value, value))
            say(&r->refused, field, value,
                pl_arena_fmt(r->arena, "is not that of %s, %s: give one for both, e.g. %s=%s",
                             r->set[i].field, r->set[i].value, key, value));
        return;
    }
    PL_ASSERT_CMP(r->n, <, MOST_KEYS);
    r->set[r->n].key = key, r->set[r->n].value = value, r->set[r->n++].field = field;
}

/* -- fields ------------------------------------------------------------------------------------ */

/* A number in the range of its key, as a spec has it. NULL, and the message: it is none. */
static const char *read_number(reader *r, const pl_config_field *f, const json_t *v)
{
    double x = json_number_value(v), least = f->key ? 0 : 1;
    for (const pl_model_key *k = r->model->keys; f->key && k->name; k++)
        if (!strcmp(k->name, f->key)) least = k->least;
    bool whole = f->kind != PL_CONFIG_REAL;
    if (!json_is_number(v) || (whole && (fabs(x) > INT32_MAX || x > floor(x)))) {
        say(&r->wrong, f->name, spell(r, v), whole ? "is not a whole number" : "is not a number");
        return NULL;
    }
    if (x < least) {
        say(&r->wrong, f->name, spell(r, v), pl_arena_fmt(r->arena, "is below %g", least));
        return NULL;
    }
    return pl_arena_fmt(r->arena, whole ? "%.0f" : "%.17g", x);
}

static const char *count_labels(const reader *r)
{
    const json_t *names = find(r, "id2label"), *n = find(r, "num_labels");
    return pl_arena_fmt(r->arena, "%lld",
                        json_is_object(names) ? (long long)json_object_size(names)
                        : json_is_integer(n)  ? (long long)json_integer_value(n)
                                              : 2);
}

/* The usual value is one of the values. */
static void read_choice(reader *r, const pl_config_field *f, const json_t *v)
{
    const char *value = NULL, *text = f->usual;
    if (v) text = spell(r, json_is_array(v) && json_array_size(v) ? json_array_get(v, 0) : v);
    if (!*text) return;
    if (!find_word(r->arena, f->values, text, &value)) {
        const char *hint = f->key ? pl_arena_fmt(r->arena, ", or give %s=", f->key) : "";
        say(&r->refused, f->name, text,
            pl_arena_fmt(r->arena, "is not supported (only %s%s)", f->values, hint));
    } else if (f->key && value) {
        set(r, f->name, f->key, strcmp(value, "labels") ? value : count_labels(r));
    }
}

static void read_each(reader *r, const pl_config_field *f, const json_t *v)
{
    for (size_t i = 0; i < json_array_size(v); i++) {
        const char *text = spell(r, json_array_get(v, i));
        if (find_word(r->arena, f->values, text, NULL)) continue;
        say(&r->refused, f->name, text,
            pl_arena_fmt(r->arena, "of layer %zu is not supported (only %s)", i, f->values));
        return;
    }
}

static void read_rope(reader *r, const pl_config_field *f, const json_t *v)
{
    const json_t *type = json_object_get(v, "rope_type"), *base = json_object_get(v, "rope_theta");
    if (!type) type = json_object_get(v, "type");
    if (!json_is_object(v) || (type && strcmp(spell(r, type), "default")) || (!type && !base)) {
        say(&r->refused, f->name, spell(r, v),
            pl_arena_fmt(r->arena, "is not supported: give %s= for plain rotary positions",
                         f->key));
        return;
    }
    const pl_config_field theta = { "rope_theta", PL_CONFIG_WHOLE, f->key, NULL, NULL, 0 };
    const char *value = base ? read_number(r, &theta, base) : NULL;
    if (value) set(r, f->name, f->key, value);
}

static void read_positions(reader *r, const pl_config_field *f, const char *value)
{
    int64_t n = 0;
    if (!pl_text_int(value, &n)) return;
    n -= f->padding;
    if (n < 1) {
        say(&r->wrong, f->name, value, "leaves no positions");
        return;
    }
    set(r, f->name, "seq",
        pl_arena_fmt(r->arena, "%lld", (long long)(n < MOST_SEQ ? n : MOST_SEQ)));
}

static void read_field(reader *r, const pl_config_field *f)
{
    const json_t *v = find(r, f->name);
    bool positions = f->kind == PL_CONFIG_POSITIONS;
    if (f->key && !positions && is_given(r, f->key)) return;
    if (f->kind == PL_CONFIG_CHOICE) {
        read_choice(r, f, v);
    } else if (f->kind == PL_CONFIG_EACH) {
        read_each(r, f, v);
    } else if (f->kind == PL_CONFIG_ROPE) {
        if (v) read_rope(r, f, v);
    } else {
        const char *value = f->usual;
        if (!v && !value)
            pl_text_add(&r->wrong, "%s%s is missing", r->wrong.n ? "; " : "", f->name);
        if (!v && value && *value == '=') {
            v = find(r, value + 1);
            value = v ? value : NULL;
        }
        if (!v && value && *value == '?') value = value_of(r, f->key) ? NULL : value + 1;
        if (v) value = read_number(r, f, v);
        if (value && positions) read_positions(r, f, value);
        if (value && f->key && !(positions && is_given(r, f->key))) set(r, f->name, f->key, value);
    }
}

/* -- the whole --------------------------------------------------------------------------------- */

static bool is_known(const reader *r, const char *name)
{
    if (find_word(r->arena, pl_config_aside, name, NULL)) return true;
    if (find_word(r->arena, r->type->aside, name, NULL)) return true;
    for (const pl_config_field *f = pl_config_common; f->name; f++)
        if (!strcmp(f->name, name)) return true;
    for (const pl_config_field *f = r->type->field; f->name; f++)
        if (!strcmp(f->name, name)) return true;
    return false;
}

/* Fields that are not null and not known. */
static void check_names(reader *r)
{
    const char *name;
    json_t *v;
    json_object_foreach((json_t *)r->root, name, v) if (!json_is_null(v) && !is_known(r, name))
        say(&r->refused, name, spell(r, v), "is not known: take it out if it changes nothing");
}

/* What no range says of one field alone. */
static void check_heads(reader *r)
{
    static const char *const parts[][3] = { { "hidden", "heads", "head" }, { "heads", "kv", "" } };
    for (int i = 0; i < 2; i++) {
        const char *whole = value_of(r, parts[i][0]), *part = value_of(r, parts[i][1]),
                   *instead = value_of(r, parts[i][2]);
        int64_t a, b, c = 0;
        if (!whole || !part || !pl_text_int(whole, &a) || !pl_text_int(part, &b) || b < 1) continue;
        if (instead && pl_text_int(instead, &c) && c > 0) continue;
        if (a % b)
            pl_text_add(&r->wrong, "%s%s=%s does not divide into %s=%s", r->wrong.n ? "; " : "",
                        parts[i][0], whole, parts[i][1], part);
    }
}

static bool find_type(reader *r, pl_err *err)
{
    pl_text known = { .arena = r->arena };
    const json_t *v = find(r, "model_type");
    for (const pl_config_type *t = pl_config_types; t->type; t++) {
        if (v && !strcmp(spell(r, v), t->type)) r->type = t;
        pl_text_add(&known, "%s%s", known.n ? ", " : "", t->type);
    }
    if (!v)
        return pl_err_set(err, PL_EINPUT, "model_type is missing: one of %s", pl_text_get(&known));
    return r->type || pl_err_set(err, PL_EUNSUPPORTED, "model_type=%.60s is not known (only %s)",
                                 spell(r, v), pl_text_get(&known));
}

static bool read_root(reader *r, const char **out, pl_err *err)
{
    PL_TRY(find_type(r, err));
    pl_model_args args;
    PL_TRY(pl_model_parse(r->type->model, r->arena, &args, err));
    r->model = args.model;
    for (const pl_config_field *f = r->type->field; f->name; f++) read_field(r, f);
    for (const pl_config_field *f = pl_config_common; f->name; f++) read_field(r, f);
    check_names(r);
    check_heads(r);
    if (r->wrong.n || r->refused.n)
        return pl_err_set(err, r->wrong.n ? PL_EINPUT : PL_EUNSUPPORTED, "model_type=%s: %s%s%s",
                          r->type->type, pl_text_get(&r->wrong),
                          r->wrong.n && r->refused.n ? "; " : "", pl_text_get(&r->refused));
    pl_text spec = { .arena = r->arena };
    pl_text_add(&spec, "%s:batch=1", r->type->model);
    for (int i = 0; i < r->n; i++) pl_text_add(&spec, ",%s=%s", r->set[i].key, r->set[i].value);
    pl_text_add(&spec, "%s%s", *r->keys ? "," : "", r->keys);
    *out = pl_text_get(&spec);
    return true;
}

bool pl_config_parse(const char *text, size_t n, const char *keys, pl_arena *a, const char **out,
                     pl_err *err)
{
    json_t *root;
    PL_TRY(pl_json_parse(text, n, MOST_DEPTH, &root, err));
    reader r = { .arena = a, .root = root, .keys = keys };
    r.wrong.arena = r.refused.arena = a;
    bool ok = read_root(&r, out, err);
    json_decref(root);
    return ok;
}

static bool is_folder(const char *path, pl_arena *a)
{
    return *path && !access(pl_file_join(a, path, "config.json"), F_OK);
}

static bool is_built_in(const char *name)
{
    const pl_model *m;
    for (int i = 0; (m = pl_model_at(i)); i++)
        if (!strcmp(m->name, name)) return true;
    return false;
}

bool pl_config_is(const char *spec, pl_arena *a)
{
    size_t n = strcspn(spec, ":");
    const char *path = pl_arena_span(a, spec, n);
    if (n >= 5 && !strcmp(path + n - 5, ".json")) return true;
    return !is_built_in(path) && is_folder(path, a);
}

bool pl_config_read(const char *spec, pl_arena *a, const char **out, pl_err *err)
{
    size_t n = strcspn(spec, ":"), bytes;
    const char *path = pl_arena_span(a, spec, n), *text;
    if (is_folder(path, a)) path = pl_file_join(a, path, "config.json");
    PL_TRY(pl_file_read(path, MOST_BYTES, a, &text, &bytes, err));
    return pl_config_parse(text, bytes, spec[n] ? spec + n + 1 : "", a, out, err) ||
           pl_err_in(err, "%s", path);
}
