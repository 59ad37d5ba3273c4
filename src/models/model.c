/* Specs. Read pl_model_parse(): a config.json becomes a spec, the name is a family or a file,
 * and its keys are read over the defaults (parse_keys), all problems named at once. What
 * builders ask of the keys is at the end. */
#include "models/model.h"
#include "models/config.h"

#include "models/file.h"
#include "models/routed.h"

#include <math.h>
#include <string.h>
#include <unistd.h>

static const pl_family *find_model(const char *name, size_t n)
{
    const pl_family *m;
    for (int i = 0; (m = pl_model_at(i)); i++)
        if (strlen(m->name) == n && !strncmp(m->name, name, n)) break;
    return m;
}

static int find_key(const pl_family *m, const char *name, size_t n)
{
    for (int i = 0; m->keys[i].name; i++)
        if (strlen(m->keys[i].name) == n && !strncmp(m->keys[i].name, name, n)) return i;
    return -1;
}

static bool is_real(const pl_model_key *k)
{
    return strchr(k->value, '.') != NULL;
}

static bool is_type(const pl_model_key *k)
{
    pl_type t;
    return pl_type_find(k->value, &t);
}

/* One of words that blanks part. */
static bool is_word(const char *words, const char *text)
{
    const size_t n = strlen(text);
    for (const char *at = words; n && (at = strstr(at, text)); at += n)
        if ((at == words || at[-1] == ' ') && (!at[n] || at[n] == ' ')) return true;
    return false;
}

size_t pl_model_name(const char *spec)
{
    pl_arena *tmp = pl_arena_new("name of a model");
    size_t n = strlen(spec);
    for (; n; n--)
        if ((!spec[n] || spec[n] == ':') && !access(pl_arena_span(tmp, spec, n), F_OK)) break;
    pl_arena_free(tmp);
    return n ? n : strcspn(spec, ":");
}

size_t pl_model_twice(const char *keys, const char **key)
{
    for (const char *at = keys; *at; at += strcspn(at, ","), at += *at == ',') {
        const size_t n = strcspn(at, "=,");
        *key = at;
        for (const char *next = strchr(at, ','); at[n] == '=' && next; next = strchr(next, ','))
            if (!strncmp(++next, at, n + 1)) return n;
    }
    return 0;
}

const char *pl_model_said(const char *keys, const char *key)
{
    const size_t n = strlen(key);
    const char *value = NULL;
    for (const char *at = keys; *at; at += strcspn(at, ","), at += *at == ',')
        if (!strncmp(at, key, n) && at[n] == '=') value = at + n + 1;
    return value;
}

/* -- messages ---------------------------------------------------------------------------------- */

/* The list has the first model of each family. */
static bool unknown_model(pl_arena *arena, const char *name, pl_err *err)
{
    pl_text list = { .arena = arena };
    pl_near near = { .word = name, .within = 2 };
    const pl_family *m;
    const pl_model_key *family = NULL;
    for (int i = 0; (m = pl_model_at(i)); i++) {
        pl_near_offer(&near, m->name);
        if (m->keys != family) pl_text_add(&list, i ? ", %s" : "%s", m->name);
        family = m->keys;
    }
    if (!access(name, F_OK))
        return pl_err_set(err, PL_EINPUT,
                          "'%s' is there, but no model: give an .onnx file, a .json of Hugging "
                          "Face, or a folder that holds config.json",
                          name);
    if (strchr(name, '/'))
        return pl_err_set(err, PL_EINPUT,
                          "no file or folder '%s': if it is a model of huggingface.co, fetch its "
                          "config.json (e.g. hf download %s config.json --local-dir DIR) and give "
                          "DIR/config.json",
                          name, name);
    const char *hint = near.name ? pl_arena_fmt(arena, "did you mean '%s'? ", near.name) : "";
    return pl_err_set(err, PL_EUSAGE,
                      "unknown model '%s' (%sbuilt in: %s and their sizes, see pleat "
                      "models; or give the path of an .onnx file or a config.json)",
                      name, hint, pl_text_get(&list));
}

static void unknown_key(const pl_family *family, const char *key, pl_text *problems)
{
    pl_near near = { .word = key, .within = 2 };
    for (int i = 0; family->keys[i].name; i++) pl_near_offer(&near, family->keys[i].name);
    pl_text_add(problems, "%sno key '%s'", problems->n ? "; " : "", key);
    if (near.name) pl_text_add(problems, " (did you mean '%s'?)", near.name);
}

/* One text for every number, so that specs of the same model are the same: 04 is 4, 1e-1 is 0.1. */
static const char *print_number(pl_arena *arena, const pl_model_key *key, int64_t i, double x)
{
    double again = 0;
    if (!is_real(key)) return pl_arena_fmt(arena, "%lld", (long long)i);
    for (int digits = 6;; digits++) {
        const char *text = pl_arena_fmt(arena, "%.*g", digits, x);
        if (digits == 17 || (pl_text_real(text, &again) && again >= x && again <= x)) return text;
    }
}

/* The value of a key, as it is kept. */
static const char *read_value(const pl_model_key *key, const char *text, pl_arena *arena,
                              pl_text *problems)
{
    int64_t i = 0;
    double x = 0;
    pl_type t;
    if (key->words) {
        if (*key->words != '*' && !is_word(key->words, text))
            pl_text_add(problems, "%s%s=%s is none of: %s", problems->n ? "; " : "", key->name,
                        text, key->words);
        return text;
    }
    if (is_type(key)) {
        if (!pl_type_find(text, &t) || !pl_type_is_float(t))
            pl_text_add(problems, "%s%s=%s is not a type of floats (f32, bf16)",
                        problems->n ? "; " : "", key->name, text);
        return text;
    }
    bool ok = is_real(key) ? pl_text_real(text, &x) : pl_text_int(text, &i);
    if (!is_real(key)) x = (double)i;
    const double most = key->most > 0 ? key->most : INT32_MAX;
    if (!ok)
        pl_text_add(problems, "%s%s=%s is not %s", problems->n ? "; " : "", key->name, text,
                    is_real(key) ? "a number" : "a whole number");
    else if (x < key->least || ((key->most > 0 || !is_real(key)) && x > most))
        pl_text_add(problems, "%s%s=%s is out of range (at least %g, at most %.10g)",
                    problems->n ? "; " : "", key->name, text, key->least, most);
    return ok ? print_number(arena, key, i, x) : text;
}

/* -- parsing ----------------------------------------------------------------------------------- */

/* "a=1,b=2" into values by key. */
static void apply(const pl_family *family, const char *text, pl_arena *arena, const char **value,
                  pl_text *problems)
{
    while (*text) {
        size_t n = strcspn(text, ",");
        const char *eq = memchr(text, '=', n);
        if (!eq) {
            pl_text_add(problems, "%s'%.*s' is not key=value", problems->n ? "; " : "", (int)n,
                        text);
        } else {
            int k = find_key(family, text, (size_t)(eq - text));
            const char *v = pl_arena_span(arena, eq + 1, (size_t)(text + n - eq - 1));
            if (k < 0)
                unknown_key(family, pl_arena_span(arena, text, (size_t)(eq - text)), problems);
            else
                value[k] = read_value(&family->keys[k], v, arena, problems);
        }
        text += n + (text[n] == ',');
    }
}

/* Is `value` one of the n characters "yarn|llama3"? */
static bool is_one(const char *value, const char *of, size_t n)
{
    const size_t m = strlen(value);
    for (const char *at = of, *end = of + n; at <= end; at += strcspn(at, "|") + 1)
        if ((size_t)(end - at) >= m && !strncmp(at, value, m) && (at + m == end || at[m] == '|'))
            return true;
    return false;
}

/* The first word of `needs` that does not hold, *n characters, and *k, the key that it names. NULL:
 * they all do. */
static const char *find_broken(const pl_family *family, const char *needs,
                               const char *const value[], int *k, size_t *n)
{
    for (const char *at = needs; at && *at; at += *n, at += *at == ' ') {
        *n = strcspn(at, " ");
        const size_t name = strcspn(at, "!="), from = strcspn(at, "=") + 1;
        *k = find_key(family, at, name);
        if (*k >= 0 && is_one(value[*k], at + from, *n - from) == (at[name] == '!')) return at;
    }
    return NULL;
}

static void check_needs(const pl_family *family, const char *const usual[],
                        const char *const value[], pl_arena *arena, pl_text *problems)
{
    for (int i = 0; family->keys[i].name; i++) {
        int k;
        size_t n;
        const char *broken = find_broken(family, family->keys[i].needs, value, &k, &n);
        if (!broken || !strcmp(value[i], usual[i])) continue;
        pl_text_add(problems, "%s%s=%s has no effect with %s=%s", problems->n ? "; " : "",
                    family->keys[i].name, value[i], family->keys[k].name, value[k]);
        if (broken[n - 1] == '=')
            pl_text_add(problems, ", only without it");
        else if (!memchr(broken, '!', n))
            pl_text_add(problems, ", only with %s", pl_arena_span(arena, broken, n));
    }
}

static const char *canonical(pl_arena *arena, const pl_family *family, const char *const *value,
                             const char *const *usual)
{
    pl_text t = { .arena = arena };
    char mark = ':';
    pl_text_add(&t, "%s", family->name);
    for (int i = 0; family->keys[i].name; i++)
        if (strcmp(value[i], usual[i])) {
            pl_text_add(&t, "%c%s=%s", mark, family->keys[i].name, value[i]);
            mark = ',';
        }
    return pl_text_get(&t);
}

/* The values of a family's keys by default. */
static const char **usual_values(const pl_family *family, pl_arena *arena, int *n,
                                 pl_text *problems)
{
    *n = 0;
    while (family->keys[*n].name) ++*n;
    const char **value = PL_NEW_N(arena, const char *, *n + 1);
    for (int i = 0; i < *n; i++)
        value[i] = read_value(&family->keys[i], family->keys[i].value, arena, problems);
    apply(family, family->preset ? family->preset : "", arena, value, problems);
    return value;
}

bool pl_model_is_idle(const pl_family *family, const char *keys, const char *key)
{
    pl_arena *tmp = pl_arena_new("keys of a model");
    pl_text problems = { .arena = tmp };
    int n, other;
    size_t word;
    const char **value = usual_values(family, tmp, &n, &problems);
    const int k = find_key(family, key, strlen(key));
    apply(family, keys, tmp, value, &problems);
    const bool idle = k >= 0 && find_broken(family, family->keys[k].needs, value, &other, &word);
    pl_arena_free(tmp);
    return idle;
}

static bool parse_keys(const pl_family *family, const char *spec, const char *given,
                       const char *note, pl_arena *arena, pl_model_args *out, pl_err *err)
{
    int n_keys;
    pl_text problems = { .arena = arena };
    const char **usual = usual_values(family, arena, &n_keys, &problems),
               **value = PL_NEW_N(arena, const char *, n_keys);
    memcpy(value, usual, (size_t)n_keys * sizeof *value);
    apply(family, given, arena, value, &problems);
    if (!problems.n) check_needs(family, usual, value, arena, &problems);
    if (problems.n) {
        pl_text keys = { .arena = arena };
        for (int i = 0; i < n_keys; i++)
            pl_text_add(&keys, i ? ", %s=%s" : "%s=%s", family->keys[i].name, usual[i]);
        return pl_err_set(err, PL_EUSAGE, "model '%s': %s. Its keys: %s", spec,
                          pl_text_get(&problems), pl_text_get(&keys));
    }
    *out = (pl_model_args){ family, n_keys, value, canonical(arena, family, value, usual), note };
    return true;
}

bool pl_model_parse_keys(const pl_family *family, const char *keys, pl_arena *arena,
                         pl_model_args *out, pl_err *err)
{
    return parse_keys(family, family->name, keys, "", arena, out, err);
}

bool pl_model_parse(const char *spec, pl_arena *arena, pl_model_args *out, pl_err *err)
{
    pl_config_found config = { spec, pl_config_twin(spec, arena) };
    if (pl_config_is(spec, arena)) PL_TRY(pl_config_read(spec, arena, &config, err));
    spec = config.spec;
    size_t n = pl_model_name(spec);
    const pl_family *m = find_model(spec, n);
    const char *name = pl_arena_span(arena, spec, n);
    const char *given = spec[n] ? spec + n + 1 : "";
    if (!m && pl_file_model_is(name)) PL_TRY(pl_file_model_open(name, given, arena, &m, err));
    if (!m) return unknown_model(arena, pl_arena_span(arena, spec, n), err);
    return parse_keys(m, spec, given, config.note, arena, out, err);
}

bool pl_model_set(const pl_model_args *args, const char *key, const char *value, pl_arena *arena,
                  pl_model_args *out, pl_err *err)
{
    const char *spec = pl_model_with(arena, args->spec, key, value);
    if (!args->model->own) return pl_model_parse(spec, arena, out, err);
    return parse_keys(args->model, spec, spec + strlen(args->model->name) + 1, "", arena, out, err);
}

const char *pl_model_with(pl_arena *arena, const char *spec, const char *key, const char *value)
{
    const size_t n = pl_model_name(spec), m = strlen(key);
    pl_text t = { .arena = arena };
    pl_text_add(&t, "%.*s:", (int)n, spec);
    for (const char *at = spec + n + (spec[n] == ':'); *at;
         at += strcspn(at, ","), at += *at == ',')
        if (strncmp(at, key, m) != 0 || at[m] != '=')
            pl_text_add(&t, "%.*s,", (int)strcspn(at, ","), at);
    pl_text_add(&t, "%s=%s", key, value);
    return pl_text_get(&t);
}

const char *pl_model_sized(pl_arena *arena, const char *spec, int64_t batch, int64_t seq)
{
    if (batch)
        spec = pl_model_with(arena, spec, "batch", pl_arena_fmt(arena, "%lld", (long long)batch));
    if (seq) spec = pl_model_with(arena, spec, "seq", pl_arena_fmt(arena, "%lld", (long long)seq));
    return spec;
}

static const char *value_of(const pl_model_args *a, const char *key)
{
    int k = find_key(a->model, key, strlen(key));
    if (k < 0) pl_bug(__FILE__, __LINE__, "model %s has no key '%s'", a->model->name, key);
    return a->value[k];
}

pl_type pl_model_type(const pl_model_args *args)
{
    pl_type t;
    bool ok = pl_type_find(value_of(args, "dtype"), &t);
    PL_ASSERT(ok);
    return t;
}

void pl_model_build(pl_builder *b, const pl_model_args *args, pl_mode mode)
{
    const bool well = !b->err.code;
    b->compute = pl_model_type(args);
    args->model->build(b, args, mode);
    if (mode == PL_EVAL && !b->err.code) pl_routed_tell(b);
    const bool built_in = !args->model->file && !args->model->own;
    if (well && b->err.code == PL_EINPUT && built_in) b->err.code = PL_EUSAGE; /* its keys */
}

double pl_model_real(const pl_model_args *args, const char *key)
{
    double x = 0;
    bool ok = pl_text_real(value_of(args, key), &x);
    PL_ASSERT(ok);
    return x;
}

int64_t pl_model_int(const pl_model_args *args, const char *key)
{
    int64_t x = 0;
    bool ok = pl_text_int(value_of(args, key), &x);
    PL_ASSERT(ok);
    return x;
}

const char *pl_model_word(const pl_model_args *args, const char *key)
{
    return value_of(args, key);
}

const char *pl_model_doubts(const pl_model_args *args)
{
    return args->model->file ? pl_file_model_doubts(args->model) : "";
}

bool pl_model_has(const pl_model_args *args, const char *key)
{
    return find_key(args->model, key, strlen(key)) >= 0;
}

bool pl_model_takes_all(const pl_model_args *args)
{
    return pl_model_has(args, "method") && !strcmp(pl_model_word(args, "method"), "admm");
}

int64_t pl_model_labels(const pl_model_args *args)
{
    if (pl_model_has(args, "classes") && pl_model_int(args, "classes"))
        return pl_model_int(args, "classes");
    return pl_model_has(args, "vocab") ? pl_model_int(args, "vocab") : 0;
}
