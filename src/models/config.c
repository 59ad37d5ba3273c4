/* A config.json to a spec. Read read_root() near the end: the fields of a type one after the
 * other (config_types.c), each by its kind; then what is in the file and no field; then what no
 * field says alone. */
#include "models/config.h"
#include "base/file.h"
#include "models/config_reader.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MOST_BYTES = 1 << 20, MOST_DEPTH = 16, MOST_SEQ = 2048, MOST_LAYERS = 4096 };

static const pl_json *find(const pl_config_reader *r, const char *field)
{
    return pl_config_reader_find(r->root, field);
}

/* -- fields ------------------------------------------------------------------------------------ */

static const char *count_labels(const pl_config_reader *reader)
{
    const pl_json *names = find(reader, "id2label"), *n = find(reader, "num_labels");
    return pl_arena_fmt(reader->arena, "%lld",
                        pl_json_is(names, PL_JSON_OBJECT) ? (long long)names->n
                        : pl_json_is(n, PL_JSON_INT)      ? (long long)n->whole
                                                          : 2);
}

/* The words of a list without what they are to a key. */
static const char *list_of(const pl_config_reader *reader, const char *values)
{
    pl_text text = { .arena = reader->arena };
    for (const char *at = values; *at; at += strcspn(at, " "), at += strspn(at, " "))
        pl_text_add(&text, "%s%.*s", text.n ? ", " : "", (int)strcspn(at, " ="), at);
    return pl_text_get(&text);
}

/* The usual value is one of the values. */
static void read_choice(pl_config_reader *reader, const pl_config_field *field, const pl_json *v)
{
    const char *value = NULL, *text = field->usual;
    if (v) text = pl_config_reader_spell(reader, pl_json_items(v) ? &v->at[0] : v);
    if (!*text) return;
    if (!pl_config_reader_listed(reader->arena, field->values, text, &value)) {
        const char *hint =
            field->key ? pl_arena_fmt(reader->arena, ", or give %s=", field->key) : "";
        pl_config_reader_refuse(reader, field->name, text,
                                pl_arena_fmt(reader->arena, "is not supported (only %s%s)",
                                             list_of(reader, field->values), hint));
    } else if (field->key && value) {
        pl_config_reader_set(reader, field->name, field->key,
                             strcmp(value, "labels") ? value : count_labels(reader));
    }
}

/* The shortest pattern that, again and again, gives these letters. */
static const char *shorten(pl_config_reader *reader, const char *letters)
{
    size_t n = strlen(letters), period = 1, i = 1;
    while (i < n) {
        if (letters[i] == letters[i - period])
            i++;
        else
            i = ++period;
    }
    return pl_arena_span(reader->arena, letters, period);
}

/* "6=name": all but every sixth layer; "28<name": those from number 28 on. */
static const char *usual_layers(pl_config_reader *reader, const pl_config_field *field)
{
    char *end, how;
    long n = strtol(field->usual, &end, 10);
    if (end == field->usual) return field->usual;
    how = *end;
    const pl_json *v = find(reader, end + 1);
    const char *number =
        v ? pl_config_reader_number(reader, end + 1, how == '=' ? NULL : field->key, true, v)
          : NULL;
    if (number) n = strtol(number, NULL, 10);
    int64_t layers = pl_config_reader_int(reader, "layers");
    if (layers > MOST_LAYERS) layers = MOST_LAYERS;
    pl_text letters = { .arena = reader->arena };
    for (int64_t i = 0; i < layers; i++)
        pl_text_add(&letters, "%c", (how == '=' ? (i + 1) % n != 0 : i >= n) ? 'w' : 'f');
    return layers ? shorten(reader, pl_text_get(&letters)) : "f";
}

static void read_layers(pl_config_reader *reader, const pl_config_field *field,
                        const pl_json *value)
{
    pl_text letters = { .arena = reader->arena };
    if (!pl_json_items(value)) value = NULL;
    for (int i = 0; i < pl_json_items(value) && i < MOST_LAYERS; i++) {
        const char *text = pl_config_reader_spell(reader, &value->at[i]);
        bool local = field->key && !strcmp(text, "sliding_attention");
        pl_text_add(&letters, "%c", local ? 'w' : 'f');
        if (local || !strcmp(text, "full_attention")) continue;
        pl_config_reader_refuse(reader, field->name, text,
                                pl_arena_fmt(reader->arena,
                                             "of layer %d is not supported (only full_attention%s)",
                                             i, field->key ? ", sliding_attention" : ""));
        return;
    }
    bool windowed = field->key && pl_config_reader_int(reader, "window");
    if (!field->key || (!value && !windowed)) return;
    const char *pattern =
        value ? shorten(reader, pl_text_get(&letters)) : usual_layers(reader, field);
    if (value && strchr(pattern, 'w') && !windowed)
        pl_config_reader_wrong(reader, field->name, "sliding_attention",
                               "has no window: sliding_window is off");
    if (windowed) pl_config_reader_set(reader, field->name, field->key, pattern);
}

static void read_list(pl_config_reader *reader, const pl_config_field *field, const pl_json *v)
{
    pl_text t = { .arena = reader->arena };
    for (int i = 0; i < pl_json_items(v) && i < MOST_LAYERS; i++) {
        const char *value =
            pl_config_reader_number(reader, field->name, field->key, true, &v->at[i]);
        if (!value) return;
        pl_text_add(&t, i ? "+%s" : "%s", value);
    }
    if (v && v->kind != PL_JSON_LIST)
        pl_config_reader_wrong(reader, field->name, pl_config_reader_spell(reader, v),
                               "is not a list");
    if (t.n) pl_config_reader_set(reader, field->name, field->key, pl_text_get(&t));
}

static void read_positions(pl_config_reader *reader, const pl_config_field *field,
                           const char *value)
{
    int64_t n = 0;
    if (!pl_text_int(value, &n)) return;
    if (field->values) n -= pl_config_reader_int(reader, field->values) + 1;
    if (n < 1) {
        pl_config_reader_wrong(reader, field->name, value, "leaves no positions");
        return;
    }
    reader->positions = n;
    pl_config_reader_set(
        reader, field->name, "seq",
        pl_arena_fmt(reader->arena, "%lld", (long long)(n < MOST_SEQ ? n : MOST_SEQ)));
}

/* Numbers, where null may be off: it is not the same as a field that is not there. */
static void read_number(pl_config_reader *reader, const pl_config_field *field, const pl_json *v)
{
    bool can_be_off = field->kind == PL_CONFIG_WHOLE_OFF || field->kind == PL_CONFIG_REAL_OFF;
    bool whole = field->kind != PL_CONFIG_REAL && field->kind != PL_CONFIG_REAL_OFF;
    const char *value = field->usual;
    if (can_be_off && ((!v && pl_json_find(reader->root, field->name)) ||
                       (field->values && !pl_json_is(find(reader, field->values), PL_JSON_TRUE))))
        return;
    if (field->kind == PL_CONFIG_WHOLE && field->values && !v &&
        pl_json_find(reader->root, field->name)) {
        pl_config_reader_wrong(reader, field->name, "null", field->values);
        return;
    }
    if (!v && !value)
        PL_PUSH(reader->arena, &reader->wrong,
                pl_arena_fmt(reader->arena, "%s is missing", field->name));
    if (!v && value && *value == '=') {
        v = find(reader, value + 1);
        value = NULL;
    }
    if (!v && value && *value == '?')
        value = pl_config_reader_value(reader, field->key) ? NULL : value + 1;
    if (v) value = pl_config_reader_number(reader, field->name, field->key, whole, v);
    if (!value) return;
    if (field->kind == PL_CONFIG_POSITIONS) read_positions(reader, field, value);
    if (field->key) pl_config_reader_set(reader, field->name, field->key, value);
}

static void read_field(pl_config_reader *reader, const pl_config_field *field)
{
    const pl_json *v = find(reader, field->name);
    bool given = field->key && pl_config_reader_given(reader, field->key);
    if (given && field->kind != PL_CONFIG_POSITIONS && field->kind != PL_CONFIG_ROPE) return;
    if (field->kind == PL_CONFIG_CHOICE)
        read_choice(reader, field, v);
    else if (field->kind == PL_CONFIG_LAYERS)
        read_layers(reader, field, v);
    else if (field->kind == PL_CONFIG_LIST)
        read_list(reader, field, v);
    else if (field->kind != PL_CONFIG_ROPE)
        read_number(reader, field, v);
    else if (v)
        pl_config_reader_rope(reader, field, v);
}

/* -- the whole --------------------------------------------------------------------------------- */

static bool is_known(const pl_config_reader *reader, const char *name)
{
    if (pl_config_reader_listed(reader->arena, pl_config_aside, name, NULL)) return true;
    if (pl_config_reader_listed(reader->arena, reader->type->aside, name, NULL)) return true;
    for (const pl_config_field *f = pl_config_common; f->name; f++)
        if (!strcmp(f->name, name)) return true;
    for (const pl_config_field *f = reader->type->field; f->name; f++)
        if (!strcmp(f->name, name)) return true;
    return false;
}

/* false, 0, "", [] and {} ask for nothing. */
static bool is_off(const pl_json *v)
{
    if (pl_json_is_number(v)) return !(v->real > 0 || v->real < 0);
    return v->text ? !*v->text : v->kind != PL_JSON_TRUE && !v->n;
}

/* Fields that are not null and not known. */
static void check_names(pl_config_reader *reader)
{
    for (int i = 0; i < reader->root->n; i++) {
        const pl_json *v = &reader->root->at[i];
        const char *name = v->key;
        if (v->kind == PL_JSON_NULL || is_known(reader, name)) continue;
        const char *value = pl_config_reader_spell(reader, v);
        if (is_off(v))
            PL_PUSH(reader->arena, &reader->off, pl_arena_fmt(reader->arena, "%s=%s", name, value));
        else
            pl_config_reader_refuse(reader, name, value,
                                    "is not known: take it out if it changes nothing");
    }
}

/* What no range says of one field alone. */
static void check_heads(pl_config_reader *reader)
{
    static const char *const parts[][3] = { { "hidden", "heads", "head" }, { "heads", "kv", "" } };
    for (int i = 0; i < 2; i++) {
        int64_t whole = pl_config_reader_int(reader, parts[i][0]),
                part = pl_config_reader_int(reader, parts[i][1]);
        if (part < 1 || pl_config_reader_int(reader, parts[i][2]) || whole % part == 0) continue;
        PL_PUSH(reader->arena, &reader->wrong,
                pl_arena_fmt(reader->arena, "%s=%lld does not divide into %s=%lld", parts[i][0],
                             (long long)whole, parts[i][1], (long long)part));
    }
}

static bool find_type(pl_config_reader *reader, pl_err *err)
{
    pl_text known = { .arena = reader->arena };
    const pl_json *v = find(reader, "model_type");
    for (const pl_config_type *t = pl_config_types; t->type; t++) {
        if (v && !strcmp(pl_config_reader_spell(reader, v), t->type)) reader->type = t;
        pl_text_add(&known, "%s%s", known.n ? ", " : "", t->type);
    }
    if (!v)
        return pl_err_set(err, PL_EINPUT, "model_type is missing: one of %s", pl_text_get(&known));
    return reader->type || pl_err_set(err, PL_EUNSUPPORTED, "model_type=%s is not known (only %s)",
                                      pl_config_reader_spell(reader, v), pl_text_get(&known));
}

/* All problems in one message, as far as it goes: the names alone of what is too much. */
static bool fail(const pl_config_reader *reader, pl_err *err)
{
    enum { MOST = 700 }; /* bytes; a pl_err has some for the path too */
    pl_text text = { .arena = reader->arena }, names = { .arena = reader->arena };
    for (int i = 0; i < reader->wrong.n + reader->refused.n; i++) {
        const char *at =
            i < reader->wrong.n ? reader->wrong.at[i] : reader->refused.at[i - reader->wrong.n];
        if (text.n + strlen(at) < MOST)
            pl_text_add(&text, "%s%s", text.n ? "; " : "", at);
        else
            pl_text_add(&names, "%s%.*s", names.n ? ", " : "", (int)strcspn(at, "= "), at);
    }
    return pl_err_set(err, reader->wrong.n ? PL_EINPUT : PL_EUNSUPPORTED, "model_type=%s: %s%s%s",
                      reader->type->type, pl_text_get(&text), names.n ? "; and also " : "",
                      pl_text_get(&names));
}

/* What was taken of what the file leaves open, a line each. */
static const char *tell(const pl_config_reader *reader)
{
    pl_text text = { .arena = reader->arena };
    const pl_json *dtype = find(reader, "dtype");
    if (!dtype) dtype = find(reader, "torch_dtype");
    const char *type = dtype ? pl_config_reader_spell(reader, dtype) : "float32";
    int64_t seq = pl_config_reader_int(reader, "seq");
    bool open_seq = !pl_config_reader_given(reader, "seq") && reader->positions > seq,
         open_type = !pl_config_reader_given(reader, "dtype") && strcmp(type, "float32");
    if (open_seq)
        pl_text_add(&text, "seq=%lld is taken, where it is made for %lld positions (key seq)",
                    (long long)seq, (long long)reader->positions);
    if (open_type)
        pl_text_add(&text, "%sdtype=f32 is taken, where it has %s (key dtype)",
                    open_seq ? "; " : "", type);
    if (open_seq || open_type) pl_text_add(&text, "\n");
    if (reader->off.n) pl_text_add(&text, "not known, but off, so left aside: ");
    for (int i = 0; i < reader->off.n; i++)
        pl_text_add(&text, "%s%s", i ? ", " : "", reader->off.at[i]);
    if (reader->off.n) pl_text_add(&text, "\n");
    return pl_text_get(&text);
}

static void add_key(const pl_config_reader *reader, const char *all, const char *key,
                    const char *value, pl_text *out)
{
    if (all && pl_model_is_idle(reader->model, all, key)) return;
    pl_text_add(out, "%s%s=%s", out->n ? "," : "", key, value);
}

/* Each key once: what the type has for all, where the file and the spec say nothing else of it;
 * what the file says; what the spec says. Of the first two without those that have no effect beside
 * `all` (NULL: they all have), as files say more than a model needs. */
static const char *list_keys(const pl_config_reader *reader, const char *all)
{
    const char *colon = strchr(reader->type->model, ':');
    pl_text keys = { .arena = reader->arena };
    if (!pl_config_reader_given(reader, "batch")) add_key(reader, NULL, "batch", "1", &keys);
    for (const char *at = colon ? colon + 1 : ""; *at; at += strcspn(at, ","), at += *at == ',') {
        const char *key = pl_arena_span(reader->arena, at, strcspn(at, "="));
        const char *value = at + strlen(key) + 1;
        value = pl_arena_span(reader->arena, value, strcspn(value, ","));
        if (!pl_config_reader_value(reader, key)) add_key(reader, all, key, value, &keys);
    }
    for (int i = 0; i < reader->n; i++)
        add_key(reader, all, reader->set[i].key, reader->set[i].value, &keys);
    if (*reader->keys) pl_text_add(&keys, "%s%s", keys.n ? "," : "", reader->keys);
    return pl_text_get(&keys);
}

static const char *make_spec(pl_config_reader *reader)
{
    const char *model = reader->type->model;
    return pl_arena_fmt(reader->arena, "%.*s:%s", (int)strcspn(model, ":"), model,
                        list_keys(reader, list_keys(reader, NULL)));
}

static bool read_root(pl_config_reader *reader, pl_config_found *out, pl_err *err)
{
    PL_TRY(find_type(reader, err));
    const char *model = reader->type->model;
    pl_model_args args;
    PL_TRY(pl_model_parse(pl_arena_span(reader->arena, model, strcspn(model, ":")), reader->arena,
                          &args, err));
    reader->model = args.model;
    for (const pl_config_field *f = reader->type->field; f->name; f++) read_field(reader, f);
    for (const pl_config_field *f = pl_config_common; f->name; f++) read_field(reader, f);
    check_names(reader);
    check_heads(reader);
    if (reader->wrong.n || reader->refused.n) return fail(reader, err);
    *out = (pl_config_found){ make_spec(reader), tell(reader) };
    return true;
}

bool pl_config_parse(const char *text, size_t n, const char *keys, pl_arena *arena,
                     pl_config_found *out, pl_err *err)
{
    const pl_json *root;
    PL_TRY(pl_json_parse(text, n, MOST_DEPTH, arena, &root, err));
    return read_root(&(pl_config_reader){ .arena = arena, .root = root, .keys = keys }, out, err);
}

static bool is_folder(const char *path, pl_arena *a)
{
    return *path && !access(pl_file_join(a, path, "config.json"), F_OK);
}

static bool is_built_in(const char *name)
{
    const pl_family *m;
    for (int i = 0; (m = pl_model_at(i)); i++)
        if (!strcmp(m->name, name)) return true;
    return false;
}

const char *pl_config_twin(const char *spec, pl_arena *arena)
{
    const char *path = pl_arena_span(arena, spec, strcspn(spec, ":"));
    if (!is_built_in(path) || !is_folder(path, arena)) return "";
    return pl_arena_fmt(arena, "'%s' is the built-in model; the folder of that name is './%s'\n",
                        path, path);
}

bool pl_config_is(const char *spec, pl_arena *arena)
{
    size_t n = pl_model_name(spec);
    const char *path = pl_arena_span(arena, spec, n);
    if (n >= 5 && !strcmp(path + n - 5, ".json")) return true;
    return !is_built_in(path) && is_folder(path, arena);
}

bool pl_config_read(const char *spec, pl_arena *arena, pl_config_found *out, pl_err *err)
{
    size_t n = pl_model_name(spec), bytes;
    const char *path = pl_arena_span(arena, spec, n), *text;
    if (is_folder(path, arena)) path = pl_file_join(arena, path, "config.json");
    PL_TRY(pl_file_read(path, MOST_BYTES, arena, &text, &bytes, err));
    if (!pl_config_parse(text, bytes, spec[n] ? spec + n + 1 : "", arena, out, err))
        return pl_err_in(err, "%s", path);
    pl_text note = { .arena = arena };
    for (const char *line = out->note; *line; line += strcspn(line, "\n") + 1)
        pl_text_add(&note, "%s: %.*s\n", path, (int)strcspn(line, "\n"), line);
    out->note = pl_text_get(&note);
    return true;
}
