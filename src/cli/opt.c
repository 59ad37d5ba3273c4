#include "cli/opt.h"

#include "base/text.h"
#include "cli/launch.h"
#include "plan/baseline.h"
#include "plan/strategy.h"

#include <stdio.h>
#include <string.h>

/* Names of one letter have one dash: "-o FILE", "-O1". */
static const char *dashes(const pl_opt *o)
{
    return o->name[1] ? "--" : "-";
}

static const pl_opt *find(const pl_command *c, const char *name, size_t n)
{
    for (const pl_opt *o = c->opts; o->name; o++)
        if (strlen(o->name) == n && !strncmp(o->name, name, n)) return o;
    return NULL;
}

/* What --strategy takes, for every command that has it. */
static void print_words(void)
{
    pl_text words = { .arena = pl_arena_new("words") };
    pl_strategy_words(&words);
    printf("\nstrategies are words, joined by commas:\n%s", pl_text_get(&words));
    pl_arena_free(words.arena);
}

static void print_methods(void)
{
    printf("\nmethods of --search:\n");
    for (const pl_baseline *b = pl_baselines; b->name; b++)
        printf("  %-14s  %s\n", b->name, b->about);
}

void pl_opt_help(const pl_command *c)
{
    printf("usage: pleat %s%s%s [options]\n\n%s\n", c->name, *c->operands ? " " : "", c->operands,
           c->about);
    if (c->opts->name) printf("\noptions:\n");
    for (const pl_opt *o = c->opts; o->name; o++) {
        char left[64];
        snprintf(left, sizeof left, "%s%s%s%s", dashes(o), o->name, o->value ? " " : "",
                 o->value ? o->value : "");
        printf("  %-24s %s", left, o->about);
        if (o->usual) printf(" [%s]", o->usual);
        printf("\n");
    }
    printf("  %-24s %s\n", "--help", "this text");
    if (find(c, "strategy", 8)) print_words();
    if (find(c, "search", 6)) print_methods();
    if (c->more) printf("\n%s\n", c->more);
}

/* Store one value; on a mistake adds to the problems. */
static void store(const pl_opt *o, const char *text, char *out, pl_text *problems)
{
    int64_t i = 0;
    double x = 0;
    const char *want = NULL;
    switch (o->kind) {
    case PL_OPT_TEXT: *(const char **)(void *)(out + o->at) = text; return;
    case PL_OPT_FLAG: *(bool *)(void *)(out + o->at) = true; return;
    case PL_OPT_INT:
        if (!pl_text_int(text, &i)) want = "a whole number";
        x = (double)i;
        *(int64_t *)(void *)(out + o->at) = i;
        break;
    case PL_OPT_BYTES:
        if (!pl_text_bytes(text, &i)) want = "a size such as 512MiB";
        x = (double)i;
        *(int64_t *)(void *)(out + o->at) = i;
        break;
    case PL_OPT_REAL:
        if (!pl_text_real(text, &x)) want = "a number";
        *(double *)(void *)(out + o->at) = x;
        break;
    }
    if (want)
        pl_text_add(problems, "%s%s: '%s' is not %s\n", dashes(o), o->name, text, want);
    else if (x < o->least)
        pl_text_add(problems, "%s%s: %s is below %g\n", dashes(o), o->name, text, o->least);
    else if (o->most > 0 && x > o->most)
        pl_text_add(problems, "%s%s: %s is above %g\n", dashes(o), o->name, text, o->most);
}

static void unknown(const pl_command *c, const char *name, pl_text *problems)
{
    const pl_opt *near = NULL;
    int least = 4;
    for (const pl_opt *o = c->opts; o->name; o++) {
        int d = pl_text_distance(name, o->name);
        if (d < least) least = d, near = o;
    }
    pl_text_add(problems, "unknown option '--%s'", name);
    if (near) pl_text_add(problems, " (did you mean '--%s'?)", near->name);
    pl_text_add(problems, "\n");
}

static bool is_brief(const char *arg)
{
    return arg[0] == '-' && arg[1] && arg[1] != '-' && !(arg[1] >= '0' && arg[1] <= '9');
}

/* argv[*i] is an option; takes its value from the same or the next argument. */
static void parse_option(const pl_command *c, int argc, char **argv, int *i, char *out, pl_arena *a,
                         pl_text *problems)
{
    bool brief = is_brief(argv[*i]);
    const char *name = argv[*i] + (brief ? 1 : 2), *eq = strchr(name, '=');
    size_t n = brief ? 1 : eq ? (size_t)(eq - name) : strlen(name);
    const pl_opt *o = find(c, name, n);
    if (!o) {
        unknown(c, pl_arena_span(a, name, n), problems);
        return;
    }
    const char *value = brief && name[1] ? name + 1 : !brief && eq ? eq + 1 : NULL;
    if (!o->value && value) {
        pl_text_add(problems, "%s%s takes no value\n", dashes(o), o->name);
        return;
    }
    if (o->value && !value) {
        if (*i + 1 == argc) {
            pl_text_add(problems, "%s%s needs a value (%s)\n", dashes(o), o->name, o->value);
            return;
        }
        value = argv[++*i];
    }
    store(o, value, out, problems);
}

static void print_problems(const pl_command *c, const char *line)
{
    for (; *line; line += strcspn(line, "\n") + 1)
        fprintf(stderr, "error: %.*s\n", (int)strcspn(line, "\n"), line);
    fprintf(stderr, "see: pleat %s --help\n", c->name);
}

bool pl_opt_parse(const pl_command *c, int argc, char **argv, void *out, int least, int most,
                  const char *operand[], int *n_operands, int *code)
{
    pl_arena *a = pl_arena_new("options"); /* of the messages; values point into argv */
    pl_text problems = { .arena = a };
    for (const pl_opt *o = c->opts; o->name; o++)
        if (o->usual) store(o, o->usual, out, &problems);
    *n_operands = 0;
    *code = PL_OK;
    for (int i = 0; i < argc; i++) {
        if (!strcmp(argv[i], "--help") || !strcmp(argv[i], "-h")) {
            pl_opt_help(c);
            pl_arena_free(a);
            return false;
        }
        if (!strncmp(argv[i], "--", 2) || is_brief(argv[i]))
            parse_option(c, argc, argv, &i, out, a, &problems);
        else if (*n_operands < most)
            operand[(*n_operands)++] = argv[i];
        else
            pl_text_add(&problems, "unexpected '%s'\n", argv[i]);
    }
    if (*n_operands < least) pl_text_add(&problems, "%s is missing\n", c->operands);
    bool ok = !problems.n;
    if (!ok) {
        *code = PL_EUSAGE;
        if (pl_launch_is_first()) print_problems(c, problems.at);
    }
    pl_arena_free(a);
    return ok;
}

int pl_opt_fail(const pl_err *err)
{
    fprintf(stderr, "error: %s\n", err->msg);
    return (int)err->code;
}
