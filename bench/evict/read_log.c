/* Logs of the DTR simulator as problems. */
#include "read.h"

#include "base/file.h"
#include "base/json.h"
#include "base/map.h"

#include <stdlib.h>
#include <string.h>

typedef struct value {
    int64_t bytes, lies_in; /* bytes of its own; of the storage it lies in */
    int maker, view_of, refs, held;
    uint8_t keep;
} value;

typedef struct reader {
    pl_arena *arena;
    const char *text, *end;
    int line;
    pl_map map; /* of names */
    struct {
        struct name {
            const char *text;
            int value;
        } * at;
        int n, cap;
    } names;
    struct {
        value *at;
        int n, cap;
    } values;
    struct {
        struct op {
            double seconds;
            bool once;
            int reads;
        } * at;
        int n, cap;
    } ops;
    struct {
        int *at;
        int n, cap;
    } reads;
} reader;

static bool next_line(reader *r, const pl_json **out, pl_err *err)
{
    *out = NULL;
    if (r->text >= r->end) return true;
    const char *stop = memchr(r->text, '\n', (size_t)(r->end - r->text));
    if (!stop) stop = r->end;
    r->line++;
    PL_TRY(pl_json_parse(r->text, (size_t)(stop - r->text), 8, r->arena, out, err));
    r->text = stop + 1;
    return true;
}

static struct name *find_name(reader *r, const char *text)
{
    PL_MAP_EACH (&r->map, pl_hash_text(0, text), x)
        if (!strcmp(r->names.at[x.value].text, text)) return &r->names.at[x.value];
    return NULL;
}

static void name_value(reader *r, const char *text, int v)
{
    struct name *known = find_name(r, text), entry = { text, v };
    if (known) {
        known->value = v;
        return;
    }
    pl_map_put(&r->map, pl_hash_text(0, text), r->names.n, r->arena);
    PL_PUSH(r->arena, &r->names, entry);
}

static bool find_value(reader *r, const pl_json *line, const char *key, int *v, pl_err *err)
{
    const char *text;
    PL_TRY(pl_json_get_text(line, key, &text, err));
    struct name *n = find_name(r, text);
    if (!n) return pl_err_set(err, PL_EINPUT, "%s: there is no tensor '%s'", key, text);
    *v = n->value;
    return true;
}

static bool get_int(const pl_json *line, const char *key, int64_t *number, pl_err *err)
{
    const char *text;
    PL_TRY(pl_json_get_text(line, key, &text, err));
    *number = strtoll(text, NULL, 10);
    return true;
}

static void release(reader *r, int v)
{
    value *x = &r->values.at[v];
    if (--x->refs == 0) x->held = r->ops.n;
}

static void add_op(reader *r, double seconds, bool once)
{
    struct op o = { .seconds = seconds, .once = once, .reads = r->reads.n };
    PL_PUSH(r->arena, &r->ops, o);
}

static int add_value(reader *r, int64_t bytes, int view_of, uint8_t keep)
{
    value v = {
        .bytes = bytes, .maker = r->ops.n - 1, .view_of = view_of, .refs = 1, .keep = keep
    };
    v.lies_in = view_of < 0 ? bytes : r->values.at[view_of].lies_in;
    PL_PUSH(r->arena, &r->values, v);
    return r->values.n - 1;
}

static bool add_args(reader *r, const pl_json *line, const pl_json **args, pl_err *err)
{
    PL_TRY(pl_json_get(line, "ARGS", PL_JSON_LIST, args, err));
    int first = r->reads.n;
    for (int i = 0; i < (*args)->n; i++) {
        struct name *n = find_name(r, (*args)->at[i].text);
        bool twice = false;
        if (!n) return pl_err_set(err, PL_EINPUT, "there is no tensor '%s'", (*args)->at[i].text);
        for (int k = first; k < r->reads.n; k++) twice = twice || r->reads.at[k] == n->value;
        if (!twice) PL_PUSH(r->arena, &r->reads, n->value);
    }
    return true;
}

static bool read_call(reader *r, const pl_json *line, pl_err *err)
{
    const pl_json *args, *result, *memory, *alias;
    int64_t ns, bytes, at;
    PL_TRY(get_int(line, "TIME", &ns, err));
    add_op(r, (double)ns * 1e-9, false);
    PL_TRY(add_args(r, line, &args, err));
    PL_TRY(pl_json_get(line, "RESULT", PL_JSON_LIST, &result, err));
    for (int i = 0; i < result->n; i++) {
        PL_TRY(next_line(r, &memory, err));
        PL_TRY(next_line(r, &alias, err));
        PL_TRY(get_int(memory, "MEMORY", &bytes, err));
        PL_TRY(get_int(alias, "ALIAS", &at, err));
        int of = at < 0 ? -1 : find_name(r, args->at[at].text)->value;
        name_value(r, result->at[i].text, add_value(r, of < 0 ? bytes : 0, of, 0));
    }
    return true;
}

static bool read_mutate(reader *r, const pl_json *line, pl_err *err)
{
    const pl_json *args, *changed;
    int64_t ns;
    PL_TRY(get_int(line, "TIME", &ns, err));
    add_op(r, (double)ns * 1e-9, false);
    PL_TRY(add_args(r, line, &args, err));
    PL_TRY(pl_json_get(line, "MUTATE", PL_JSON_LIST, &changed, err));
    for (int i = 0; i < changed->n; i++) {
        const char *text = args->at[changed->at[i].whole].text;
        int old = find_name(r, text)->value;
        name_value(r, text, add_value(r, r->values.at[old].lies_in, -1, 0));
        release(r, old);
    }
    return true;
}

static bool read_line(reader *r, const pl_json *line, pl_err *err)
{
    const char *what, *text;
    int v, old;
    PL_TRY(pl_json_get_text(line, "INSTRUCTION", &what, err));
    if (!strcmp(what, "CALL")) return read_call(r, line, err);
    if (!strcmp(what, "MUTATE")) return read_mutate(r, line, err);
    if (!strcmp(what, "CONSTANT")) {
        const pl_json *memory;
        int64_t bytes;
        PL_TRY(pl_json_get_text(line, "NAME", &text, err));
        PL_TRY(next_line(r, &memory, err));
        PL_TRY(get_int(memory, "MEMORY", &bytes, err));
        add_op(r, 0, true);
        name_value(r, text, add_value(r, bytes, -1, PL_EVICT_PINNED));
    } else if (!strcmp(what, "COPY")) {
        PL_TRY(find_value(r, line, "SRC", &v, err));
        PL_TRY(pl_json_get_text(line, "DST", &text, err));
        name_value(r, text, v);
        r->values.at[v].refs++;
    } else if (!strcmp(what, "COPY_FROM")) {
        PL_TRY(find_value(r, line, "SRC", &v, err));
        PL_TRY(find_value(r, line, "DST", &old, err));
        PL_TRY(pl_json_get_text(line, "DST", &text, err));
        name_value(r, text, v);
        r->values.at[v].refs++;
        release(r, old);
    } else if (!strcmp(what, "RELEASE")) {
        PL_TRY(pl_json_get_text(line, "NAME", &text, err));
        if (find_name(r, text)) release(r, find_name(r, text)->value);
    }
    return true;
}

static void finish(const reader *r, pl_evict_problem *p)
{
    int n = r->ops.n, m = r->values.n;
    double *seconds = PL_NEW_N(r->arena, double, n);
    bool *once = PL_NEW_N(r->arena, bool, n);
    int *read_at = PL_NEW_N(r->arena, int, n + 1), *maker = PL_NEW_N(r->arena, int, m);
    int *view_of = PL_NEW_N(r->arena, int, m), *held = PL_NEW_N(r->arena, int, m);
    int64_t *bytes = PL_NEW_N(r->arena, int64_t, m);
    uint8_t *keep = PL_NEW_N(r->arena, uint8_t, m);
    for (int t = 0; t < n; t++) {
        seconds[t] = r->ops.at[t].seconds;
        once[t] = r->ops.at[t].once;
        read_at[t] = r->ops.at[t].reads;
    }
    read_at[n] = r->reads.n;
    for (int v = 0; v < m; v++) {
        const value *x = &r->values.at[v];
        bytes[v] = x->bytes;
        maker[v] = x->maker;
        view_of[v] = x->view_of;
        held[v] = x->refs > 0 ? n : x->held;
        keep[v] = (uint8_t)(x->keep | (x->refs > 0 ? PL_EVICT_AT_END : 0));
    }
    *p = (pl_evict_problem){ .n_op = n,
                             .seconds = seconds,
                             .once = once,
                             .n_value = m,
                             .bytes = bytes,
                             .maker = maker,
                             .view_of = view_of,
                             .keep = keep,
                             .held = held,
                             .read_at = read_at,
                             .read = r->reads.at };
}

static bool read_lines(reader *r, pl_err *err)
{
    const pl_json *line, *note;
    do {
        PL_TRY(next_line(r, &line, err));
        if (!line) return pl_err_set(err, PL_EINPUT, "there is no START");
        note = pl_json_find(line, "ANNOTATION");
    } while (!note || strcmp(note->text, "START") != 0);
    for (;;) {
        PL_TRY(next_line(r, &line, err));
        if (!line) return true;
        PL_TRY(read_line(r, line, err));
    }
}

bool read_log(const char *path, pl_arena *arena, pl_evict_problem *problem, pl_err *err)
{
    reader r = { .arena = arena };
    size_t n;
    PL_TRY(pl_file_read(path, (int64_t)1 << 30, arena, &r.text, &n, err));
    r.end = r.text + n;
    if (!read_lines(&r, err)) return pl_err_in(err, "%s: line %d", path, r.line);
    finish(&r, problem);
    return true;
}
