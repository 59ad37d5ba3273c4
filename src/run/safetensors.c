/* Files of tensors. Read scan(): the header is parsed (read_spans), sorted by offset, and has to
 * cover the data without hole or overlap (check_cover). pl_safetensors_print() writes a header. */
#include "run/safetensors.h"

#include <stdlib.h>
#include <string.h>

enum {
    LENGTH_BYTES = 8,
    MOST_HEADER = 100000000, /* the limit of the public library */
    DEPTH = 3,               /* file, tensor, list              */
    START = 64,              /* the data starts at a multiple of a cache line */
};

static const char *const dtypes[PL_N_TYPES] = {
    [PL_F32] = "F32", [PL_BF16] = "BF16", [PL_F64] = "F64",
    [PL_I32] = "I32", [PL_I64] = "I64",   [PL_U8] = "U8",
};

/* Those of others, and a type of ours that is as wide. */
static const struct {
    const char *name;
    pl_type as_wide;
} foreign[] = {
    { "F16", PL_BF16 }, { "F8_E4M3", PL_U8 }, { "F8_E5M2", PL_U8 }, { "F8_E8M0", PL_U8 },
    { "I8", PL_U8 },    { "BOOL", PL_U8 },    { "I16", PL_BF16 },   { "U16", PL_BF16 },
    { "U32", PL_I32 },  { "U64", PL_I64 },    { "C64", PL_I64 },
};

typedef struct span {
    pl_safetensor tensor;
    int64_t begin, end; /* from the start of the data */
    int index;          /* in the header              */
} span;

static bool find_dtype(pl_safetensor *tensor, pl_type *wide, pl_err *err)
{
    for (int i = 0; i < PL_N_TYPES; i++)
        if (!strcmp(dtypes[i], tensor->dtype)) {
            *wide = tensor->type = (pl_type)i;
            tensor->ours = true;
            return true;
        }
    for (size_t i = 0; i < sizeof foreign / sizeof *foreign; i++)
        if (!strcmp(foreign[i].name, tensor->dtype)) {
            *wide = foreign[i].as_wide;
            return true;
        }
    return pl_err_set(err, PL_EINPUT, "dtype '%s' is unknown", tensor->dtype);
}

static bool parse_offsets(const pl_json *object, span *s, pl_err *err)
{
    const pl_json *v = pl_json_find(object, "data_offsets");
    if (pl_json_items(v) != 2 || !pl_json_is(&v->at[0], PL_JSON_INT) ||
        !pl_json_is(&v->at[1], PL_JSON_INT))
        return pl_err_set(err, PL_EINPUT, "'data_offsets' is not a list of two integers");
    s->begin = v->at[0].whole;
    s->end = v->at[1].whole;
    if (s->begin < 0 || s->end < s->begin)
        return pl_err_set(err, PL_EINPUT, "'data_offsets' [%lld, %lld] are not a range",
                          (long long)s->begin, (long long)s->end);
    return true;
}

static bool parse_tensor(const pl_json *object, pl_arena *arena, span *s, pl_err *err)
{
    pl_safetensor *t = &s->tensor;
    pl_type wide = PL_U8;
    if (!pl_json_is(object, PL_JSON_OBJECT))
        return pl_err_set(err, PL_EINPUT, "its entry is not an object");
    PL_TRY(pl_json_get_text(object, "dtype", &t->dtype, err));
    PL_TRY(find_dtype(t, &wide, err));
    PL_TRY(pl_shape_read(object, wide, &t->shape, &t->bytes, err));
    PL_TRY(parse_offsets(object, s, err));
    if (t->bytes == s->end - s->begin) return true;
    return pl_err_set(err, PL_EINPUT, "%s %s needs %lld bytes, but 'data_offsets' hold %lld",
                      t->dtype, pl_json_spell(arena, pl_json_find(object, "shape")),
                      (long long)t->bytes, (long long)(s->end - s->begin));
}

static bool check_metadata(const pl_json *object, pl_err *err)
{
    if (!pl_json_is(object, PL_JSON_OBJECT))
        return pl_err_set(err, PL_EINPUT, "'__metadata__' is not an object");
    for (int i = 0; i < object->n; i++)
        if (!pl_json_is(&object->at[i], PL_JSON_TEXT))
            return pl_err_set(err, PL_EINPUT, "'__metadata__': '%s' is not a text",
                              object->at[i].key);
    return true;
}

/* In order of the data; empty tensors before the one that starts at the same byte. */
static int by_offset(const void *left, const void *right)
{
    const span *a = left, *b = right;
    if (a->begin != b->begin) return a->begin < b->begin ? -1 : 1;
    if (a->end != b->end) return a->end < b->end ? -1 : 1;
    return (a->index > b->index) - (a->index < b->index);
}

/* No hole, no overlap; `end` becomes the bytes of the data. */
static bool check_cover(int n, const span s[], int64_t *end, pl_err *err)
{
    *end = 0;
    for (int i = 0; i < n; i++) {
        if (s[i].begin != *end)
            return pl_err_set(err, PL_EINPUT,
                              "tensor '%s' starts at byte %lld of the data, %s the end of the one "
                              "before it at %lld",
                              s[i].tensor.name, (long long)s[i].begin,
                              s[i].begin > *end ? "leaving a hole after" : "overlapping",
                              (long long)*end);
        *end = s[i].end;
    }
    return true;
}

static bool read_spans(const pl_json *root, pl_arena *arena, int *n, span **out, pl_err *err)
{
    span *s = PL_NEW_N(arena, span, root->n);
    int count = 0;
    for (int i = 0; i < root->n; i++) {
        const pl_json *x = &root->at[i];
        if (!strcmp(x->key, "__metadata__")) {
            PL_TRY(check_metadata(x, err));
            continue;
        }
        s[count].index = count;
        s[count].tensor.name = x->key;
        if (!parse_tensor(x, arena, &s[count], err)) return pl_err_in(err, "tensor '%s'", x->key);
        count++;
    }
    qsort(s, (size_t)count, sizeof *s, by_offset);
    *n = count;
    *out = s;
    return true;
}

/* The JSON of the header: the tensors in order of the data, and the bytes of the data. */
static bool parse_header(const char *json, size_t n, pl_arena *a, int *n_out, span **out,
                         int64_t *end, pl_err *err)
{
    const pl_json *root;
    return pl_json_parse(json, n, DEPTH, a, &root, err) && read_spans(root, a, n_out, out, err) &&
           check_cover(*n_out, *out, end, err);
}

static uint64_t read_length(const unsigned char *at)
{
    uint64_t v = 0;
    for (int i = LENGTH_BYTES - 1; i >= 0; i--) v = v << 8 | at[i];
    return v;
}

static bool scan(const void *bytes, size_t n, pl_arena *arena, int *n_out, span **out, pl_err *err)
{
    if (n < LENGTH_BYTES)
        return pl_err_set(err, PL_EINPUT, "truncated: %zu bytes found, at least 8 needed", n);
    uint64_t length = read_length(bytes);
    if (length > MOST_HEADER)
        return pl_err_set(err, PL_EINPUT,
                          "a header of %llu bytes, at most %d: not a safetensors file",
                          (unsigned long long)length, MOST_HEADER);
    if (length > n - LENGTH_BYTES)
        return pl_err_set(err, PL_EINPUT, "truncated: %zu bytes found, %llu needed for the header",
                          n, (unsigned long long)length + LENGTH_BYTES);
    const char *json = (const char *)bytes + LENGTH_BYTES, *data = json + length;
    size_t room = n - LENGTH_BYTES - (size_t)length;
    int64_t end = 0;
    if (!parse_header(json, (size_t)length, arena, n_out, out, &end, err))
        return pl_err_in(err, "header");
    for (int i = 0; i < *n_out; i++) (*out)[i].tensor.data = data + (*out)[i].begin;
    if ((uint64_t)end != room)
        return pl_err_set(err, PL_EINPUT, "%s: %zu bytes found, %llu needed",
                          (uint64_t)end > room ? "truncated" : "too long", n,
                          (unsigned long long)end + (n - room));
    return true;
}

bool pl_safetensors_scan(const void *bytes, size_t n, pl_arena *arena, int *n_out,
                         pl_safetensor **out, pl_err *err)
{
    span *s = NULL;
    PL_TRY(scan(bytes, n, arena, n_out, &s, err));
    *out = PL_NEW_N(arena, pl_safetensor, *n_out);
    for (int i = 0; i < *n_out; i++) (*out)[i] = s[i].tensor;
    return true;
}

static bool parse(const void *bytes, size_t n, pl_arena *tmp, pl_arena *arena, int *n_out,
                  pl_saved **out, pl_err *err)
{
    int count = 0;
    span *s = NULL;
    PL_TRY(scan(bytes, n, tmp, &count, &s, err));
    *out = PL_NEW_N(arena, pl_saved, count);
    *n_out = count;
    for (int i = 0; i < count; i++) {
        const pl_safetensor *t = &s[i].tensor;
        if (!t->ours)
            return pl_err_set(err, PL_EINPUT,
                              "tensor '%s': dtype '%s' is not one of F32, BF16, F64, I32, I64, U8: "
                              "convert the tensor",
                              t->name, t->dtype);
        (*out)[i] = (pl_saved){ pl_arena_text(arena, t->name), t->type, t->shape, t->data };
    }
    return true;
}

bool pl_safetensors_parse(const void *bytes, size_t n, pl_arena *arena, int *n_out, pl_saved **out,
                          pl_err *err)
{
    pl_arena *tmp = pl_arena_new("safetensors scratch");
    bool ok = parse(bytes, n, tmp, arena, n_out, out, err);
    pl_arena_free(tmp);
    return ok;
}

size_t pl_safetensors_bytes(const pl_saved *tensor)
{
    return (size_t)(pl_shape_count(&tensor->shape) * pl_type_bytes(tensor->type));
}

static void put_tensor(pl_json_out *out, const pl_saved *saved, size_t begin, size_t end)
{
    pl_json_open(out, saved->name, PL_JSON_OBJECT);
    pl_json_put_text(out, "dtype", dtypes[saved->type]);
    pl_shape_write(&saved->shape, out);
    pl_json_open(out, "data_offsets", PL_JSON_LIST);
    pl_json_put_int(out, NULL, (int64_t)begin);
    pl_json_put_int(out, NULL, (int64_t)end);
    pl_json_close(out);
    pl_json_close(out);
}

bool pl_safetensors_print(int n, const pl_saved tensor[], pl_arena *arena, const char **head,
                          size_t *head_bytes, size_t *total, pl_err *err)
{
    pl_text t = { .arena = arena };
    pl_json_out out = { .text = &t, .tight = true };
    size_t end = 0;
    pl_text_add(&t, "--------");
    pl_json_open(&out, NULL, PL_JSON_OBJECT);
    PL_JSON_ROW(&out, "__metadata__", "writer", "pleat");
    for (int i = 0; i < n; i++) {
        size_t begin = end;
        end += pl_safetensors_bytes(&tensor[i]);
        put_tensor(&out, &tensor[i], begin, end);
    }
    pl_json_close(&out);
    pl_text_add(&t, "%*s", (int)((START - t.n % START) % START), "");
    uint64_t length = t.n - LENGTH_BYTES;
    for (int i = 0; i < LENGTH_BYTES; i++) t.at[i] = (char)(length >> 8 * i & 0xFF);
    *head = t.at;
    *head_bytes = t.n;
    *total = t.n + end;
    if (length > MOST_HEADER)
        return pl_err_set(err, PL_EINPUT,
                          "the names and shapes of %d tensors take %llu bytes, at most %d can be "
                          "read",
                          n, (unsigned long long)length, MOST_HEADER);
    int count = 0; /* what is written can be read: the reader is the one judge of names */
    span *s = NULL;
    int64_t data = 0;
    return parse_header(t.at + LENGTH_BYTES, length, arena, &count, &s, &data, err);
}
