#include "run/manifest.h"

#include "graph/json.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

enum {
    DEPTH = 64, /* of the settings, which are the caller's */
    HASH_DIGITS = 32,
    REAL_DIGITS_MIN = 15,
    REAL_DIGITS = 17, /* these give back every double (IEEE 754-2008) */
};

const char *pl_manifest_hash(pl_arena *a, const void *data, size_t bytes)
{
    XXH128_hash_t h = XXH3_128bits(data, bytes);
    return pl_arena_fmt(a, "%016llx%016llx", (unsigned long long)h.high64,
                        (unsigned long long)h.low64);
}

/* A JSON value on one line, its numbers with the fewest digits that give the same value back. */
static char *dump_value(const json_t *value, size_t flags, pl_arena *a)
{
    for (size_t digits = REAL_DIGITS_MIN;; digits++) {
        char *text = json_dumps(value, flags | JSON_ENCODE_ANY | JSON_REAL_PRECISION(digits));
        if (!text) pl_bug(__FILE__, __LINE__, "jansson cannot print what it has parsed");
        char *copy = pl_arena_text(a, text);
        free(text);
        if (digits == REAL_DIGITS) return copy;
        json_t *again = json_loads(copy, JSON_DECODE_ANY, NULL);
        bool same = json_equal(value, again);
        json_decref(again);
        if (same) return copy;
    }
}

static bool print_settings(pl_text *t, const char *settings, pl_err *err)
{
    json_t *root = NULL;
    const char *comma = "";
    if (!pl_json_parse(settings, strlen(settings), DEPTH - 1, &root, err))
        return pl_err_in(err, "settings");
    pl_text_add(t, "{");
    for (void *i = json_object_iter(root); i; i = json_object_iter_next(root, i)) {
        pl_text_add(t, "%s\n    ", comma);
        pl_json_print_text(t, json_object_iter_key(i));
        pl_text_add(t, ": %s", dump_value(json_object_iter_value(i), 0, t->arena));
        comma = ",";
    }
    pl_text_add(t, *comma ? "\n  }" : "}");
    json_decref(root);
    return true;
}

static void print_text(pl_text *t, const char *before, const char *value, const char *after)
{
    pl_text_add(t, "%s", before);
    pl_json_print_text(t, value ? value : "");
    pl_text_add(t, "%s", after);
}

static void print_tensor(pl_text *t, const pl_manifest_tensor *s)
{
    print_text(t, "    {\"name\": ", s->name, ", \"type\": ");
    pl_text_add(t, "\"%s\", \"shape\": ", pl_type_name(s->type));
    pl_json_print_shape(t, &s->shape);
    pl_text_add(t, ", \"bytes\": %lld", (long long)s->bytes);
    print_text(t, ", \"xxh3_128\": ", s->hash, "}");
}

/* The seed is a text: JSON readers hold no integer of 64 bits without a sign. */
static bool print(const pl_manifest_text *m, pl_text *t, pl_err *err)
{
    const pl_manifest *h = &m->head;
    pl_text_add(t, "{\n  \"pleat_checkpoint\": %d,\n", PL_CHECKPOINT_VERSION);
    if (h->run && *h->run) print_text(t, "  \"run\": ", h->run, ",\n");
    print_text(t, "  \"model\": ", h->model, ",\n");
    pl_text_add(t, "  \"step\": %lld,\n  \"seed\": \"%llu\",\n", (long long)h->step,
                (unsigned long long)h->seed);
    print_text(t, "  \"data\": {\n    \"path\": ", h->data, ",\n");
    pl_text_add(t, "    \"bytes\": %lld,\n", (long long)h->data_bytes);
    print_text(t, "    \"hash\": ", h->data_hash, ",\n");
    pl_text_add(t, "    \"step\": %lld\n  },\n  \"settings\": ", (long long)h->data_step);
    PL_TRY(print_settings(t, h->settings ? h->settings : "{}", err));
    print_text(t, ",\n  \"file\": ", m->file, ",\n  \"tensors\": [");
    for (int i = 0; i < m->n; i++) {
        pl_text_add(t, i ? ",\n" : "\n");
        print_tensor(t, &m->tensor[i]);
    }
    pl_text_add(t, m->n ? "\n  ]\n}\n" : "]\n}\n");
    return true;
}

bool pl_manifest_print(const pl_manifest_text *m, pl_arena *a, const char **text, pl_err *err)
{
    pl_text t = { .arena = a };
    PL_TRY(print(m, &t, err));
    *text = t.at;
    pl_manifest_text again;
    return pl_manifest_read(t.at, t.n, a, &again, err);
}

static bool parse_version(const json_t *root, pl_err *err)
{
    const json_t *v = json_object_get(root, "pleat_checkpoint");
    if (!json_is_integer(v) || json_integer_value(v) < 1)
        return pl_err_set(err, PL_EINPUT,
                          "'pleat_checkpoint' is %s: not the manifest of a checkpoint",
                          v ? "not a version" : "missing");
    long long found = json_integer_value(v);
    if (found > PL_CHECKPOINT_VERSION)
        return pl_err_set(err, PL_EINPUT,
                          "written by a newer pleat: version %lld, this one reads up to %d; use "
                          "the pleat that wrote it, or a newer one",
                          found, PL_CHECKPOINT_VERSION);
    return true;
}

static bool parse_seed(const json_t *root, pl_arena *a, uint64_t *seed, pl_err *err)
{
    const char *text = NULL;
    PL_TRY(pl_json_text(root, "seed", a, &text, err));
    *seed = 0;
    bool ok = *text != 0;
    for (; ok && *text; text++)
        ok = *text >= '0' && *text <= '9' && !__builtin_mul_overflow(*seed, 10u, seed) &&
             !__builtin_add_overflow(*seed, (uint64_t)(*text - '0'), seed);
    return ok || pl_err_set(err, PL_EINPUT, "'seed' is not the text of a number below 2^64");
}

static bool parse_data(const json_t *root, pl_arena *a, pl_manifest *h, pl_err *err)
{
    const json_t *data = json_object_get(root, "data");
    if (!json_is_object(data))
        return pl_err_set(err, PL_EINPUT, "'data' is %s: an object is needed",
                          data ? "of another kind" : "missing");
    if (pl_json_text(data, "path", a, &h->data, err) &&
        pl_json_text(data, "hash", a, &h->data_hash, err) &&
        pl_json_count(data, "bytes", &h->data_bytes, err) &&
        pl_json_count(data, "step", &h->data_step, err))
        return true;
    return pl_err_in(err, "data");
}

static bool parse_head(const json_t *root, pl_arena *a, pl_manifest_text *m, pl_err *err)
{
    pl_manifest *h = &m->head;
    PL_TRY(parse_version(root, err));
    h->run = "";
    if (json_object_get(root, "run")) PL_TRY(pl_json_text(root, "run", a, &h->run, err));
    PL_TRY(pl_json_text(root, "model", a, &h->model, err));
    PL_TRY(pl_json_count(root, "step", &h->step, err));
    PL_TRY(parse_seed(root, a, &h->seed, err));
    PL_TRY(parse_data(root, a, h, err));
    const json_t *settings = json_object_get(root, "settings");
    if (!json_is_object(settings))
        return pl_err_set(err, PL_EINPUT, "'settings' is %s: an object is needed",
                          settings ? "of another kind" : "missing");
    h->settings = dump_value(settings, JSON_COMPACT, a);
    PL_TRY(pl_json_text(root, "file", a, &m->file, err));
    if (!*m->file || strchr(m->file, '/'))
        return pl_err_set(err, PL_EINPUT, "'file' is '%s': the name of a file beside it is needed",
                          m->file);
    return true;
}

static bool parse_tensor(const json_t *object, pl_arena *a, pl_manifest_tensor *t, pl_err *err)
{
    const char *type = NULL;
    int64_t bytes = 0;
    PL_TRY(pl_json_text(object, "name", a, &t->name, err));
    PL_TRY(pl_json_text(object, "type", a, &type, err));
    if (!pl_type_find(type, &t->type))
        return pl_err_set(err, PL_EINPUT, "tensor '%s': type '%s' is not known", t->name, type);
    if (!pl_json_shape(object, t->type, &t->shape, &bytes, err) ||
        !pl_json_count(object, "bytes", &t->bytes, err) ||
        !pl_json_text(object, "xxh3_128", a, &t->hash, err))
        return pl_err_in(err, "tensor '%s'", t->name);
    if (bytes != t->bytes)
        return pl_err_set(err, PL_EINPUT, "tensor '%s': %s has %lld bytes, 'bytes' says %lld",
                          t->name, pl_shape_text(a, t->type, &t->shape), (long long)bytes,
                          (long long)t->bytes);
    if (strlen(t->hash) != HASH_DIGITS || strspn(t->hash, "0123456789abcdef") != HASH_DIGITS)
        return pl_err_set(err, PL_EINPUT, "tensor '%s': 'xxh3_128' is not 32 hexadecimal digits",
                          t->name);
    return true;
}

static bool parse_tensors(const json_t *root, pl_arena *a, pl_manifest_text *m, pl_err *err)
{
    const json_t *list = json_object_get(root, "tensors");
    if (!json_is_array(list))
        return pl_err_set(err, PL_EINPUT, "'tensors' is %s: a list is needed",
                          list ? "of another kind" : "missing");
    m->n = (int)json_array_size(list);
    m->tensor = PL_NEW_N(a, pl_manifest_tensor, m->n);
    for (int i = 0; i < m->n; i++)
        if (!parse_tensor(json_array_get(list, (size_t)i), a, &m->tensor[i], err))
            return pl_err_in(err, "tensors[%d]", i);
    return true;
}

bool pl_manifest_read(const char *text, size_t n, pl_arena *a, pl_manifest_text *out, pl_err *err)
{
    json_t *root = NULL;
    PL_TRY(pl_json_parse(text, n, DEPTH, &root, err));
    pl_manifest_text m = { 0 };
    bool ok = parse_head(root, a, &m, err) && parse_tensors(root, a, &m, err);
    json_decref(root);
    if (ok) *out = m;
    return ok;
}

bool pl_manifest_parse(const char *text, size_t n, pl_arena *a, pl_manifest *out, pl_err *err)
{
    pl_manifest_text m;
    PL_TRY(pl_manifest_read(text, n, a, &m, err));
    *out = m.head;
    return true;
}
