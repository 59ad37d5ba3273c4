/* The fields of a type one after the other (config_types.c), each by its kind; then what is in the
 * file and no field; then what no field says alone. */
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

static const char *count_labels(const pl_config_reader *r)
{
    const pl_json *names = find(r, "id2label"), *n = find(r, "num_labels");
    return pl_arena_fmt(r->arena, "%lld",
                        pl_json_is(names, PL_JSON_OBJECT) ? (long long)names->n
                        : pl_json_is(n, PL_JSON_INT)      ? (long long)n->whole
                                                          : 2);
}

/* The words of a list without what they are to a key. */
static const char *list_of(const pl_config_reader *r, const char *values)
{
    pl_text text = { .arena = r->arena };
    for (const char *at = values; *at; at += strcspn(at, " "), at += strspn(at, " "))
        pl_text_add(&text, "%s%.*s", text.n ? ", " : "", (int)strcspn(at, " ="), at);
    return pl_text_get(&text);
}

/* The usual value is one of the values. */
static void read_choice(pl_config_reader *r, const pl_config_field *f, const pl_json *v)
{
    const char *value = NULL, *text = f->usual;
    if (v) text = pl_config_reader_spell(r, pl_json_items(v) ? &v->at[0] : v);
    if (!*text) return;
    if (!pl_config_reader_listed(r->arena, f->values, text, &value)) {
        const char *hint = f->key ? pl_arena_fmt(r->arena, ", or give %s=", f->key) : "";
        pl_config_reader_refuse(
            r, f->name, text,
            pl_arena_fmt(r->arena, "is not supported (only %s%s)", list_of(r, f->values), hint));
    } else if (f->key && value) {
        pl_config_reader_set(r, f->name, f->key, strcmp(value, "labels") ? value : count_labels(r));
    }
}

/* The shortest pattern that, again and again, gives these letters. */
static const char *shorten(pl_config_reader *r, const char *letters)
{
    size_t n = strlen(letters), period = 1, i = 1;
    while (i < n) {
        if (letters[i] == letters[i - period])
            i++;
        else
            i = ++period;
    }
    return pl_arena_span(r->arena, letters, period);
}

/* "6=name": all but every sixth layer; "28<name": those from number 28 on. */
static const char *usual_layers(pl_config_reader *r, const pl_config_field *f)
{
    char *end, how;
    long n = strtol(f->usual, &end, 10);
    if (end == f->usual) return f->usual;
    how = *end;
    const pl_json *v = find(r, end + 1);
    const char *number =
        v ? pl_config_reader_number(r, end + 1, how == '=' ? NULL : f->key, true, v) : NULL;
    if (number) n = strtol(number, NULL, 10);
    int64_t layers = pl_config_reader_int(r, "layers");
    if (layers > MOST_LAYERS) layers = MOST_LAYERS;
    pl_text letters = { .arena = r->arena };
    for (int64_t i = 0; i < layers; i++)
        pl_text_add(&letters, "%c", (how == '=' ? (i + 1) % n != 0 : i >= n) ? 'w' : 'f');
    return layers ? shorten(r, pl_text_get(&letters)) : "f";
}

static void read_layers(pl_config_reader *r, const pl_config_field *f, const pl_json *v)
{
    pl_text letters = { .arena = r->arena };
    if (!pl_json_items(v)) v = NULL;
    for (int i = 0; i < pl_json_items(v) && i < MOST_LAYERS; i++) {
        const char *text = pl_config_reader_spell(r, &v->at[i]);
        bool local = f->key && !strcmp(text, "sliding_attention");
        pl_text_add(&letters, "%c", local ? 'w' : 'f');
        if (local || !strcmp(text, "full_attention")) continue;
        pl_config_reader_refuse(r, f->name, text,
                                pl_arena_fmt(r->arena,
                                             "of layer %d is not supported (only full_attention%s)",
                                             i, f->key ? ", sliding_attention" : ""));
        return;
    }
    bool windowed = f->key && pl_config_reader_int(r, "window");
    if (!f->key || (!v && !windowed)) return;
    const char *pattern = v ? shorten(r, pl_text_get(&letters)) : usual_layers(r, f);
    if (v && strchr(pattern, 'w') && !windowed)
        pl_config_reader_wrong(r, f->name, "sliding_attention",
                               "has no window: sliding_window is off");
    if (windowed) pl_config_reader_set(r, f->name, f->key, pattern);
}

static void read_list(pl_config_reader *r, const pl_config_field *f, const pl_json *v)
{
    pl_text t = { .arena = r->arena };
    for (int i = 0; i < pl_json_items(v) && i < MOST_LAYERS; i++) {
        const char *value = pl_config_reader_number(r, f->name, f->key, true, &v->at[i]);
        if (!value) return;
        pl_text_add(&t, i ? "+%s" : "%s", value);
    }
    if (v && v->kind != PL_JSON_LIST)
        pl_config_reader_wrong(r, f->name, pl_config_reader_spell(r, v), "is not a list");
    if (t.n) pl_config_reader_set(r, f->name, f->key, pl_text_get(&t));
}

static void read_positions(pl_config_reader *r, const pl_config_field *f, const char *value)
{
    int64_t n = 0;
    if (!pl_text_int(value, &n)) return;
    if (f->values) n -= pl_config_reader_int(r, f->values) + 1;
    if (n < 1) {
        pl_config_reader_wrong(r, f->name, value, "leaves no positions");
        return;
    }
    r->positions = n;
    pl_config_reader_set(r, f->name, "seq",
                         pl_arena_fmt(r->arena, "%lld", (long long)(n < MOST_SEQ ? n : MOST_SEQ)));
}

/* Numbers, where null may be off: it is not the same as a field that is not there. */
static void read_number(pl_config_reader *r, const pl_config_field *f, const pl_json *v)
{
    bool can_be_off = f->kind == PL_CONFIG_WHOLE_OFF || f->kind == PL_CONFIG_REAL_OFF;
    bool whole = f->kind != PL_CONFIG_REAL && f->kind != PL_CONFIG_REAL_OFF;
    const char *value = f->usual;
    if (can_be_off && ((!v && pl_json_find(r->root, f->name)) ||
                       (f->values && !pl_json_is(find(r, f->values), PL_JSON_TRUE))))
        return;
    if (f->kind == PL_CONFIG_WHOLE && f->values && !v && pl_json_find(r->root, f->name)) {
        pl_config_reader_wrong(r, f->name, "null", f->values);
        return;
    }
    if (!v && !value)
        PL_PUSH(r->arena, &r->wrong, pl_arena_fmt(r->arena, "%s is missing", f->name));
    if (!v && value && *value == '=') {
        v = find(r, value + 1);
        value = NULL;
    }
    if (!v && value && *value == '?') value = pl_config_reader_value(r, f->key) ? NULL : value + 1;
    if (v) value = pl_config_reader_number(r, f->name, f->key, whole, v);
    if (!value) return;
    if (f->kind == PL_CONFIG_POSITIONS) read_positions(r, f, value);
    if (f->key) pl_config_reader_set(r, f->name, f->key, value);
}

static void read_field(pl_config_reader *r, const pl_config_field *f)
{
    const pl_json *v = find(r, f->name);
    bool given = f->key && pl_config_reader_given(r, f->key);
    if (given && f->kind != PL_CONFIG_POSITIONS && f->kind != PL_CONFIG_ROPE) return;
    if (f->kind == PL_CONFIG_CHOICE)
        read_choice(r, f, v);
    else if (f->kind == PL_CONFIG_LAYERS)
        read_layers(r, f, v);
    else if (f->kind == PL_CONFIG_LIST)
        read_list(r, f, v);
    else if (f->kind != PL_CONFIG_ROPE)
        read_number(r, f, v);
    else if (v)
        pl_config_reader_rope(r, f, v);
}

/* -- the whole --------------------------------------------------------------------------------- */

static bool is_known(const pl_config_reader *r, const char *name)
{
    if (pl_config_reader_listed(r->arena, pl_config_aside, name, NULL)) return true;
    if (pl_config_reader_listed(r->arena, r->type->aside, name, NULL)) return true;
    for (const pl_config_field *f = pl_config_common; f->name; f++)
        if (!strcmp(f->name, name)) return true;
    for (const pl_config_field *f = r->type->field; f->name; f++)
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
static void check_names(pl_config_reader *r)
{
    for (int i = 0; i < r->root->n; i++) {
        const pl_json *v = &r->root->at[i];
        const char *name = v->key;
        if (v->kind == PL_JSON_NULL || is_known(r, name)) continue;
        const char *value = pl_config_reader_spell(r, v);
        if (is_off(v))
            PL_PUSH(r->arena, &r->off, pl_arena_fmt(r->arena, "%s=%s", name, value));
        else
            pl_config_reader_refuse(r, name, value,
                                    "is not known: take it out if it changes nothing");
    }
}

/* What no range says of one field alone. */
static void check_heads(pl_config_reader *r)
{
    static const char *const parts[][3] = { { "hidden", "heads", "head" }, { "heads", "kv", "" } };
    for (int i = 0; i < 2; i++) {
        int64_t whole = pl_config_reader_int(r, parts[i][0]),
                part = pl_config_reader_int(r, parts[i][1]);
        if (part < 1 || pl_config_reader_int(r, parts[i][2]) || whole % part == 0) continue;
        PL_PUSH(r->arena, &r->wrong,
                pl_arena_fmt(r->arena, "%s=%lld does not divide into %s=%lld", parts[i][0],
                             (long long)whole, parts[i][1], (long long)part));
    }
}

static bool find_type(pl_config_reader *r, pl_err *err)
{
    pl_text known = { .arena = r->arena };
    const pl_json *v = find(r, "model_type");
    for (const pl_config_type *t = pl_config_types; t->type; t++) {
        if (v && !strcmp(pl_config_reader_spell(r, v), t->type)) r->type = t;
        pl_text_add(&known, "%s%s", known.n ? ", " : "", t->type);
    }
    if (!v)
        return pl_err_set(err, PL_EINPUT, "model_type is missing: one of %s", pl_text_get(&known));
    return r->type || pl_err_set(err, PL_EUNSUPPORTED, "model_type=%s is not known (only %s)",
                                 pl_config_reader_spell(r, v), pl_text_get(&known));
}

/* All problems in one message, as far as it goes: the names alone of what is too much. */
static bool fail(const pl_config_reader *r, pl_err *err)
{
    enum { MOST = 700 }; /* bytes; a pl_err has some for the path too */
    pl_text text = { .arena = r->arena }, names = { .arena = r->arena };
    for (int i = 0; i < r->wrong.n + r->refused.n; i++) {
        const char *at = i < r->wrong.n ? r->wrong.at[i] : r->refused.at[i - r->wrong.n];
        if (text.n + strlen(at) < MOST)
            pl_text_add(&text, "%s%s", text.n ? "; " : "", at);
        else
            pl_text_add(&names, "%s%.*s", names.n ? ", " : "", (int)strcspn(at, "= "), at);
    }
    return pl_err_set(err, r->wrong.n ? PL_EINPUT : PL_EUNSUPPORTED, "model_type=%s: %s%s%s",
                      r->type->type, pl_text_get(&text), names.n ? "; and also " : "",
                      pl_text_get(&names));
}

/* What it costs to leave no token out, as the published models do. */
static void tell_capacity(const pl_config_reader *r, pl_text *text)
{
    int64_t experts = pl_config_reader_int(r, "experts"), k = pl_config_reader_int(r, "k");
    if (experts < 1 || k < 1 || k >= experts || pl_config_reader_given(r, "capacity")) return;
    pl_text_add(text,
                "capacity=0 is taken: no token is left out, and experts work on %.1f times the "
                "slots that are used (key capacity)\n",
                (double)experts / (double)k);
}

/* What was taken of what the file leaves open, a line each. */
static const char *tell(const pl_config_reader *r)
{
    pl_text text = { .arena = r->arena };
    const pl_json *dtype = find(r, "dtype");
    if (!dtype) dtype = find(r, "torch_dtype");
    const char *type = dtype ? pl_config_reader_spell(r, dtype) : "float32";
    int64_t seq = pl_config_reader_int(r, "seq");
    bool open_seq = !pl_config_reader_given(r, "seq") && r->positions > seq,
         open_type = !pl_config_reader_given(r, "dtype") && strcmp(type, "float32");
    if (open_seq)
        pl_text_add(&text, "seq=%lld is taken, where it is made for %lld positions (key seq)",
                    (long long)seq, (long long)r->positions);
    if (open_type)
        pl_text_add(&text, "%sdtype=f32 is taken, where it has %s (key dtype)",
                    open_seq ? "; " : "", type);
    if (open_seq || open_type) pl_text_add(&text, "\n");
    tell_capacity(r, &text);
    if (r->off.n) pl_text_add(&text, "not known, but off, so left aside: ");
    for (int i = 0; i < r->off.n; i++) pl_text_add(&text, "%s%s", i ? ", " : "", r->off.at[i]);
    if (r->off.n) pl_text_add(&text, "\n");
    return pl_text_get(&text);
}

/* Each key once: what the type has for all, where the file and the spec say nothing else of it;
 * what the file says; what the spec says. */
static const char *make_spec(pl_config_reader *r)
{
    const char *model = r->type->model, *colon = strchr(model, ':');
    pl_text keys = { .arena = r->arena };
    if (!pl_config_reader_given(r, "batch")) pl_text_add(&keys, ",batch=1");
    for (const char *at = colon ? colon + 1 : ""; *at; at += strcspn(at, ","), at += *at == ',')
        if (!pl_config_reader_value(r, pl_arena_span(r->arena, at, strcspn(at, "="))))
            pl_text_add(&keys, ",%.*s", (int)strcspn(at, ","), at);
    for (int i = 0; i < r->n; i++) pl_text_add(&keys, ",%s=%s", r->set[i].key, r->set[i].value);
    if (*r->keys) pl_text_add(&keys, ",%s", r->keys);
    return pl_arena_fmt(r->arena, "%.*s:%s", (int)strcspn(model, ":"), model,
                        pl_text_get(&keys) + 1);
}

static bool read_root(pl_config_reader *r, pl_config_found *out, pl_err *err)
{
    PL_TRY(find_type(r, err));
    pl_model_args args;
    PL_TRY(pl_model_parse(r->type->model, r->arena, &args, err));
    r->model = args.model;
    for (const pl_config_field *f = r->type->field; f->name; f++) read_field(r, f);
    for (const pl_config_field *f = pl_config_common; f->name; f++) read_field(r, f);
    check_names(r);
    check_heads(r);
    if (r->wrong.n || r->refused.n) return fail(r, err);
    *out = (pl_config_found){ make_spec(r), tell(r) };
    return true;
}

bool pl_config_parse(const char *text, size_t n, const char *keys, pl_arena *a,
                     pl_config_found *out, pl_err *err)
{
    const pl_json *root;
    PL_TRY(pl_json_parse(text, n, MOST_DEPTH, a, &root, err));
    return read_root(&(pl_config_reader){ .arena = a, .root = root, .keys = keys }, out, err);
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

const char *pl_config_twin(const char *spec, pl_arena *a)
{
    const char *path = pl_arena_span(a, spec, strcspn(spec, ":"));
    if (!is_built_in(path) || !is_folder(path, a)) return "";
    return pl_arena_fmt(a, "'%s' is the built-in model; the folder of that name is './%s'\n", path,
                        path);
}

bool pl_config_is(const char *spec, pl_arena *a)
{
    size_t n = pl_model_name(spec);
    const char *path = pl_arena_span(a, spec, n);
    if (n >= 5 && !strcmp(path + n - 5, ".json")) return true;
    return !is_built_in(path) && is_folder(path, a);
}

bool pl_config_read(const char *spec, pl_arena *a, pl_config_found *out, pl_err *err)
{
    size_t n = pl_model_name(spec), bytes;
    const char *path = pl_arena_span(a, spec, n), *text;
    if (is_folder(path, a)) path = pl_file_join(a, path, "config.json");
    PL_TRY(pl_file_read(path, MOST_BYTES, a, &text, &bytes, err));
    if (!pl_config_parse(text, bytes, spec[n] ? spec + n + 1 : "", a, out, err))
        return pl_err_in(err, "%s", path);
    pl_text note = { .arena = a };
    for (const char *line = out->note; *line; line += strcspn(line, "\n") + 1)
        pl_text_add(&note, "%s: %.*s\n", path, (int)strcspn(line, "\n"), line);
    out->note = pl_text_get(&note);
    return true;
}
