/* pleat models: what is built in. */
#include "cli/list.h"
#include "models/model.h"

#include <stdio.h>
#include <string.h>

typedef struct models_args {
    bool json;
} models_args;

// clang-format off
static const pl_opt opts[] = {
    { "json", PL_OPT_FLAG, offsetof(models_args, json), NULL, NULL, "one JSON object on stdout" },
    { 0 },
};
// clang-format on

/* Of the models, those whose name has this in it, or whose family's first name; case aside. */
static bool is_wanted(const char *word, const pl_family *m)
{
    const pl_family *first = m, *k;
    for (int i = 0; (k = pl_model_at(i)) && k->keys != m->keys;) i++;
    if (k) first = k;
    return !word || strcasestr(m->name, word) || strcasestr(first->name, word);
}

/* The value a key has in this model: its preset's, or the key's default. */
static const char *value_of(pl_arena *a, const pl_family *m, int k)
{
    pl_model_args args;
    pl_err err = { 0 };
    bool ok = pl_model_parse(m->name, a, &args, &err);
    PL_ASSERT(ok);
    return args.value[k];
}

static void print_json(const char *word, pl_arena *a)
{
    pl_json_out out = pl_json_begin(a);
    const pl_family *m;
    pl_json_open_lines(&out, "models", PL_JSON_LIST);
    for (int i = 0; (m = pl_model_at(i)); i++) {
        if (!is_wanted(word, m)) continue;
        pl_json_open(&out, NULL, PL_JSON_OBJECT);
        PL_JSON_PUT(&out, "name", m->name, "about", m->about, "reads", m->data);
        pl_json_open(&out, "keys", PL_JSON_OBJECT);
        for (int k = 0; m->keys[k].name; k++) {
            const char *value = value_of(a, m, k);
            double x;
            if (pl_text_real(value, &x))
                pl_json_put_real(&out, m->keys[k].name, x);
            else
                pl_json_put_text(&out, m->keys[k].name, value);
        }
        pl_json_close(&out);
        pl_json_close(&out);
    }
    puts(pl_json_end(&out));
}

/* A family is told once: its first model with all keys and what they have there, of the others what
 * differs. */
static void print_text(const char *word, pl_arena *a)
{
    const pl_model_key *shown = NULL;
    const pl_family *m;
    for (int i = 0, n = 0; (m = pl_model_at(i)); i++) {
        if (!is_wanted(word, m)) continue;
        bool first = m->keys != shown;
        shown = m->keys;
        if (first)
            printf("%s%s: %s; reads %s\n", n++ ? "\n" : "", m->name, m->about, m->data);
        else
            printf("  %-15s %s: %s\n", m->name, m->about, m->preset);
        for (int k = 0; first && m->keys[k].name; k++)
            printf("    %-20s %s\n", pl_arena_fmt(a, "%s=%s", m->keys[k].name, value_of(a, m, k)),
                   m->keys[k].about);
    }
    printf(
        "\nwrite NAME:key=value,key=value; or for NAME the path of a Hugging Face config.json\n");
}

static bool is_any(const char *word)
{
    int i = 0;
    const pl_family *m;
    while ((m = pl_model_at(i)) && !is_wanted(word, m)) i++;
    return m != NULL;
}

static int run(const pl_command *c, int argc, char **argv)
{
    models_args a = { 0 };
    const char *word = NULL;
    int n, code;
    pl_err err = { 0 };
    if (!pl_opt_parse(c, argc, argv, &a, 0, 1, &word, &n, &code)) return code;
    if (!is_any(word)) {
        pl_err_set(&err, PL_EUSAGE, "no model has '%s' in its name: pleat models lists all", word);
        return pl_opt_fail(&err);
    }
    pl_arena *arena = pl_arena_new("models");
    if (a.json)
        print_json(word, arena);
    else
        print_text(word, arena);
    pl_arena_free(arena);
    return PL_OK;
}

const pl_command pl_command_models = {
    .name = "models",
    .operands = "[NAME]",
    .about = "what is built in, with its keys; those with NAME in theirs",
    .opts = opts,
    .run = run,
};
