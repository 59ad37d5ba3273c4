/* The manifest as JSON: pl_manifest_print(), and pl_manifest_read() with a function for each
 * part. */
#include "run/manifest.h"

#include <string.h>
#include <xxhash.h>

enum {
    DEPTH = 64, /* of the settings, which are the caller's */
    HASH_DIGITS = 32,
};

const char *pl_manifest_hash(pl_arena *arena, const void *data, size_t bytes)
{
    XXH128_hash_t h = XXH3_128bits(data, bytes);
    return pl_arena_fmt(arena, "%016llx%016llx", (unsigned long long)h.high64,
                        (unsigned long long)h.low64);
}

static bool put_settings(pl_json_out *out, const char *settings, pl_err *err)
{
    const pl_json *root;
    if (!pl_json_parse(settings, strlen(settings), DEPTH - 1, out->text->arena, &root, err))
        return pl_err_in(err, "settings");
    pl_json_open_lines(out, "settings", PL_JSON_OBJECT);
    for (int i = 0; i < root->n; i++) pl_json_put_value(out, root->at[i].key, &root->at[i]);
    pl_json_close(out);
    return true;
}

static void put_tensor(pl_json_out *out, const pl_manifest_tensor *tensor)
{
    pl_json_open(out, NULL, PL_JSON_OBJECT);
    PL_JSON_PUT(out, "name", tensor->name, "type", pl_type_name(tensor->type));
    pl_shape_write(&tensor->shape, out);
    PL_JSON_PUT(out, "bytes", tensor->bytes, "xxh3_128", tensor->hash);
    pl_json_close(out);
}

static const char *or_empty(const char *text)
{
    return text ? text : "";
}

/* The seed is a text: JSON readers hold no integer of 64 bits without a sign. */
static bool print(const pl_manifest_text *manifest, pl_text *t, pl_err *err)
{
    const pl_manifest *h = &manifest->head;
    pl_json_out out = { .text = t };
    pl_json_open_lines(&out, NULL, PL_JSON_OBJECT);
    pl_json_put_int(&out, "pleat_checkpoint", PL_CHECKPOINT_VERSION);
    if (h->run && *h->run) pl_json_put_text(&out, "run", h->run);
    PL_JSON_PUT(&out, "model", or_empty(h->model), "step", h->step, "seed",
                pl_arena_fmt(t->arena, "%llu", (unsigned long long)h->seed));
    pl_json_open_lines(&out, "data", PL_JSON_OBJECT);
    PL_JSON_PUT(&out, "path", or_empty(h->data), "bytes", h->data_bytes, "hash",
                or_empty(h->data_hash), "step", h->data_step);
    pl_json_close(&out);
    PL_TRY(put_settings(&out, h->settings ? h->settings : "{}", err));
    pl_json_put_text(&out, "file", or_empty(manifest->file));
    pl_json_open_lines(&out, "tensors", PL_JSON_LIST);
    for (int i = 0; i < manifest->n; i++) put_tensor(&out, &manifest->tensor[i]);
    pl_json_end(&out);
    pl_text_add(t, "\n");
    return true;
}

bool pl_manifest_print(const pl_manifest_text *manifest, pl_arena *arena, const char **text,
                       pl_err *err)
{
    pl_text t = { .arena = arena };
    PL_TRY(print(manifest, &t, err));
    *text = t.at;
    pl_manifest_text again;
    return pl_manifest_read(t.at, t.n, arena, &again, err);
}

static bool parse_version(const pl_json *root, pl_err *err)
{
    const pl_json *v = pl_json_find(root, "pleat_checkpoint");
    if (!pl_json_is(v, PL_JSON_INT) || v->whole < 1)
        return pl_err_set(err, PL_EINPUT,
                          "'pleat_checkpoint' is %s: not the manifest of a checkpoint",
                          v ? "not a version" : "missing");
    if (v->whole > PL_CHECKPOINT_VERSION)
        return pl_err_set(err, PL_EINPUT,
                          "written by a newer pleat: version %lld, this one reads up to %d; use "
                          "the pleat that wrote it, or a newer one",
                          (long long)v->whole, PL_CHECKPOINT_VERSION);
    return true;
}

static bool parse_seed(const pl_json *root, uint64_t *seed, pl_err *err)
{
    const char *text = NULL;
    PL_TRY(pl_json_get_text(root, "seed", &text, err));
    *seed = 0;
    bool ok = *text != 0;
    for (; ok && *text; text++)
        ok = *text >= '0' && *text <= '9' && !__builtin_mul_overflow(*seed, 10u, seed) &&
             !__builtin_add_overflow(*seed, (uint64_t)(*text - '0'), seed);
    return ok || pl_err_set(err, PL_EINPUT, "'seed' is not the text of a number below 2^64");
}

static bool parse_data(const pl_json *root, pl_manifest *manifest, pl_err *err)
{
    const pl_json *data;
    PL_TRY(pl_json_get(root, "data", PL_JSON_OBJECT, &data, err));
    if (pl_json_get_text(data, "path", &manifest->data, err) &&
        pl_json_get_text(data, "hash", &manifest->data_hash, err) &&
        pl_json_get_count(data, "bytes", &manifest->data_bytes, err) &&
        pl_json_get_count(data, "step", &manifest->data_step, err))
        return true;
    return pl_err_in(err, "data");
}

static bool parse_head(const pl_json *root, pl_arena *arena, pl_manifest_text *manifest,
                       pl_err *err)
{
    pl_manifest *h = &manifest->head;
    const pl_json *settings;
    PL_TRY(parse_version(root, err));
    h->run = "";
    if (pl_json_find(root, "run")) PL_TRY(pl_json_get_text(root, "run", &h->run, err));
    PL_TRY(pl_json_get_text(root, "model", &h->model, err));
    PL_TRY(pl_json_get_count(root, "step", &h->step, err));
    PL_TRY(parse_seed(root, &h->seed, err));
    PL_TRY(parse_data(root, h, err));
    PL_TRY(pl_json_get(root, "settings", PL_JSON_OBJECT, &settings, err));
    h->settings = pl_json_spell(arena, settings);
    PL_TRY(pl_json_get_text(root, "file", &manifest->file, err));
    if (!*manifest->file || strchr(manifest->file, '/'))
        return pl_err_set(err, PL_EINPUT, "'file' is '%s': the name of a file beside it is needed",
                          manifest->file);
    return true;
}

static bool parse_tensor(const pl_json *object, pl_arena *arena, pl_manifest_tensor *tensor,
                         pl_err *err)
{
    const char *type = NULL;
    int64_t bytes = 0;
    PL_TRY(pl_json_get_text(object, "name", &tensor->name, err));
    PL_TRY(pl_json_get_text(object, "type", &type, err));
    if (!pl_type_find(type, &tensor->type))
        return pl_err_set(err, PL_EINPUT, "tensor '%s': type '%s' is not known", tensor->name,
                          type);
    if (!pl_shape_read(object, tensor->type, &tensor->shape, &bytes, err) ||
        !pl_json_get_count(object, "bytes", &tensor->bytes, err) ||
        !pl_json_get_text(object, "xxh3_128", &tensor->hash, err))
        return pl_err_in(err, "tensor '%s'", tensor->name);
    if (bytes != tensor->bytes)
        return pl_err_set(err, PL_EINPUT, "tensor '%s': %s has %lld bytes, 'bytes' says %lld",
                          tensor->name, pl_shape_text(arena, tensor->type, &tensor->shape),
                          (long long)bytes, (long long)tensor->bytes);
    if (strlen(tensor->hash) != HASH_DIGITS ||
        strspn(tensor->hash, "0123456789abcdef") != HASH_DIGITS)
        return pl_err_set(err, PL_EINPUT, "tensor '%s': 'xxh3_128' is not 32 hexadecimal digits",
                          tensor->name);
    return true;
}

static bool parse_tensors(const pl_json *root, pl_arena *arena, pl_manifest_text *manifest,
                          pl_err *err)
{
    const pl_json *list;
    PL_TRY(pl_json_get(root, "tensors", PL_JSON_LIST, &list, err));
    manifest->n = list->n;
    manifest->tensor = PL_NEW_N(arena, pl_manifest_tensor, manifest->n);
    for (int i = 0; i < manifest->n; i++)
        if (!parse_tensor(&list->at[i], arena, &manifest->tensor[i], err))
            return pl_err_in(err, "tensors[%d]", i);
    return true;
}

bool pl_manifest_read(const char *text, size_t n, pl_arena *arena, pl_manifest_text *out,
                      pl_err *err)
{
    const pl_json *root;
    pl_manifest_text manifest = { 0 };
    PL_TRY(pl_json_parse(text, n, DEPTH, arena, &root, err) &&
           parse_head(root, arena, &manifest, err) && parse_tensors(root, arena, &manifest, err));
    *out = manifest;
    return true;
}

bool pl_manifest_parse(const char *text, size_t n, pl_arena *arena, pl_manifest *out, pl_err *err)
{
    pl_manifest_text manifest;
    PL_TRY(pl_manifest_read(text, n, arena, &manifest, err));
    *out = manifest.head;
    return true;
}
