#include "options/opt.h"

#include "base/text.h"
#include "api/launch.h"
#include "cluster/cluster.h"
#include "models/model.h"
#include "planners/planner.h"
#include "layouts/strategy.h"
#include "policies/policy.h"
#include "train/rate.h"

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

static void print_clusters(void)
{
    pl_text words = { .arena = pl_arena_new("clusters") };
    pl_cluster_words(&words);
    printf("\nclusters:\n%s", pl_text_get(&words));
    pl_arena_free(words.arena);
}

static void print_methods(void)
{
    printf("\nmethods of --search:\n");
    for (const pl_planner *const *p = pl_planners; *p; p++)
        printf("  %-14s  %s\n", (*p)->name, (*p)->about);
}

static void print_policies(void)
{
    printf("\npolicies of --evict:\n");
    for (const pl_evict_policy *p = pl_evict_policy_table; p->name; p++)
        printf("  %-14s  %s\n", p->name, p->about);
}

static void print_schedules(void)
{
    pl_text words = { .arena = pl_arena_new("schedules") };
    pl_rate_words(&words);
    printf("\nschedules of --lr-schedule; steps are those of the run:\n%s", pl_text_get(&words));
    pl_arena_free(words.arena);
}

/* -- what an option needs beside it ------------------------------------------------------------ */

/* One word of `needs`, taken apart. */
typedef struct need {
    const pl_opt *o;   /* NULL: the command has no such option        */
    bool not ;         /* "!name", "name!=value"                      */
    const char *value; /* NULL: that it is given at all; n characters */
    size_t n;
} need;

/* The next word; NULL after the last. */
static const char *next_need(const pl_command *c, const char *at, need *out)
{
    at += strspn(at, " ");
    if (!*at) return NULL;
    const size_t n = strcspn(at, " "), name = strcspn(at, " =") - (*at == '!');
    *out = (need){ .not = *at == '!' };
    const char *from = at + out->not ;
    if (name + (size_t)out->not == n) {
        out->o = find(c, from, name);
        return at + n;
    }
    out->not = from[name - 1] == '!';
    out->o = find(c, from, name - out->not );
    out->value = from + name + 1;
    out->n = n - name - 1;
    return at + n;
}

/* " (not with --optimizer sgd, adagrad; with --save)" */
static void print_needs(const pl_command *c, const pl_opt *o)
{
    need x, last = { 0 };
    for (const char *at = o->needs; (at = next_need(c, at, &x));) {
        if (!x.o) continue;
        if (x.o == last.o && x.not == last.not )
            printf(", ");
        else
            printf("%s%s %s%s%s", last.o ? "; " : " (", x.not ? "not with" : "with", dashes(x.o),
                   x.o->name, x.value ? " " : "");
        printf("%.*s", (int)x.n, x.value ? x.value : "");
        last = x;
    }
    if (last.o) printf(")");
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
        if (o->needs) print_needs(c, o);
        printf("\n");
    }
    printf("  %-24s %s\n", "--help", "this text");
    if (find(c, "strategy", 8) || strstr(c->operands, "STRATEGY")) print_words();
    if (find(c, "search", 6)) print_methods();
    if (find(c, "evict", 5)) print_policies();
    if (find(c, "lr-schedule", 11)) print_schedules();
    if (find(c, "cluster", 7)) print_clusters();
    if (c->more) printf("\n%s\n", c->more);
}

/* -- parsing ----------------------------------------------------------------------------------- */

typedef struct parser {
    const pl_command *c;
    int argc;
    char **argv;
    char *out;
    pl_arena *arena;    /* of the messages; values point into argv  */
    const char **given; /* by row: the value given; NULL: none      */
    const char *model;  /* the operand MODEL; NULL: there is none   */
    bool lost;          /* what follows may belong to what is wrong */
    pl_text problems;
} parser;

/* Of bytes, "40" is more likely a slip than 40 bytes. */
static bool has_unit(const char *text)
{
    double x;
    return !pl_text_real(text, &x) || x == 0;
}

/* Store one value; on a mistake adds to the problems. */
static void store(const pl_opt *o, const char *text, char *out, pl_text *problems)
{
    int64_t i = 0;
    double x = 0;
    const char *want = NULL;
    switch (o->kind) {
    case PL_OPT_PATH:
    case PL_OPT_TEXT:
        *(const char **)(void *)(out + o->at) = text;
        if (o->kind == PL_OPT_PATH && !*text)
            pl_text_add(problems, "%s%s: the name is empty, give %s\n", dashes(o), o->name,
                        o->value);
        return;
    case PL_OPT_FLAG: *(bool *)(void *)(out + o->at) = true; return;
    case PL_OPT_INT:
        if (!pl_text_int(text, &i)) want = "is not a whole number";
        x = (double)i;
        *(int64_t *)(void *)(out + o->at) = i;
        break;
    case PL_OPT_BYTES:
        if (!pl_text_bytes(text, &i))
            want = "is not a size such as 512MiB";
        else if (!has_unit(text))
            want = "has no unit: write B, KiB, MiB, GiB, KB, MB or GB after it";
        x = (double)i;
        *(int64_t *)(void *)(out + o->at) = i;
        break;
    case PL_OPT_REAL:
        if (!pl_text_real(text, &x)) want = "is not a number";
        *(double *)(void *)(out + o->at) = x;
        break;
    }
    if (want)
        pl_text_add(problems, "%s%s: '%s' %s\n", dashes(o), o->name, text, want);
    else if (x < o->least)
        pl_text_add(problems, "%s%s: %s is below %.7g\n", dashes(o), o->name, text, o->least);
    else if (o->most > 0 && x > o->most)
        pl_text_add(problems, "%s%s: %s is above %.7g\n", dashes(o), o->name, text, o->most);
}

/* `as`: as it was written, dashes and all. */
static void unknown(parser *p, const char *as, const char *name)
{
    pl_near to = { .word = name, .within = strlen(name) < 6 ? (int)strlen(name) / 2 : 3 };
    for (const pl_opt *o = p->c->opts; o->name; o++) pl_near_offer(&to, o->name);
    const pl_opt *near = find(p->c, name, strlen(name)); /* "--o" */
    if (!near && to.name) near = find(p->c, to.name, strlen(to.name));
    pl_text_add(&p->problems, "unknown option '%s'", as);
    if (near) pl_text_add(&p->problems, " (did you mean '%s%s'?)", dashes(near), near->name);
    pl_text_add(&p->problems, "\n");
    p->lost = true;
}

static bool is_brief(const char *arg)
{
    return arg[0] == '-' && arg[1] && arg[1] != '-' && !(arg[1] >= '0' && arg[1] <= '9');
}

/* argv[*i] is an option; takes its value from the same or the next argument. */
static void parse_option(parser *p, int *i)
{
    const char *arg = p->argv[*i];
    bool brief = is_brief(arg);
    const char *name = arg + (brief ? 1 : 2), *eq = strchr(name, '=');
    size_t n = brief ? 1 : eq ? (size_t)(eq - name) : strlen(name);
    const pl_opt *o = brief || n > 1 ? find(p->c, name, n) : NULL;
    if (!o) {
        const size_t dash = brief ? 1 : 2;
        unknown(p, pl_arena_span(p->arena, arg, dash + n), pl_arena_span(p->arena, name, n));
        return;
    }
    const char *value = brief && name[1] ? name + 1 : !brief && eq ? eq + 1 : NULL;
    if (!o->value && value) {
        pl_text_add(&p->problems, "%s%s takes no value\n", dashes(o), o->name);
        return;
    }
    if (o->value && !value) {
        const char *next = *i + 1 < p->argc ? p->argv[*i + 1] : NULL;
        if (!next || (!strncmp(next, "--", 2) && find(p->c, next + 2, strlen(next + 2)))) {
            pl_text_add(&p->problems, "%s%s needs a value (%s)\n", dashes(o), o->name, o->value);
            return;
        }
        value = next;
        ++*i;
    }
    const char **given = &p->given[o - p->c->opts];
    if (*given) pl_text_add(&p->problems, "%s%s is given twice\n", dashes(o), o->name);
    *given = value ? value : "";
    store(o, value, p->out, &p->problems);
}

static bool is_same(const char *a, const char *b)
{
    double x, y;
    if (!pl_text_real(a, &x) || !pl_text_real(b, &y)) return !strcmp(a, b);
    return x >= y && x <= y;
}

/* Is it the value, or one of its words, which commas part? */
static bool has_word(const char *value, const char *word, pl_arena *arena)
{
    for (const char *at = value; at; at = pl_text_after(at, ','))
        if (is_same(pl_arena_span(arena, at, strcspn(at, ",")), word)) return true;
    return false;
}

static const char *model_keys(const char *spec)
{
    const size_t n = pl_model_name(spec);
    return spec + n + (spec[n] == ':');
}

/* Keys of the model that --bind adds; NULL: none. */
static const char *bound_keys(const parser *p)
{
    const pl_opt *bind = find(p->c, "bind", 4);
    return bind ? p->given[bind - p->c->opts] : NULL;
}

/* What the option was given; *as: how, to be followed by that value. A key of the model may say it
 * in its place. NULL: nobody says it. */
static const char *given_value(const parser *p, const pl_opt *o, const char **as)
{
    const char *value = p->given[o - p->c->opts];
    *as = pl_arena_fmt(p->arena, "%s%s ", dashes(o), o->name);
    if (value || !o->key || !p->model) return value;
    const char *bound = bound_keys(p);
    if (bound) value = pl_model_said(bound, o->name);
    if (!value) value = pl_model_said(model_keys(p->model), o->name);
    if (!value) return NULL;
    *as = pl_arena_fmt(p->arena, "the model's %s=", o->name);
    return pl_arena_span(p->arena, value, strcspn(value, ","));
}

static void check_need(parser *p, const pl_opt *o, const need *x)
{
    pl_text *t = &p->problems;
    const char *as, *own = dashes(o), *other = dashes(x->o), *value = given_value(p, x->o, &as);
    if (!x->value) {
        if (x->not == !value) return;
        pl_text_add(t,
                    x->not ? "give %s%s or %s%s, not both\n" : "%s%s has no effect without %s%s\n",
                    own, o->name, other, x->o->name);
        return;
    }
    if (!value && x->o->usual) as = pl_arena_fmt(p->arena, "the usual %s", as);
    if (!value) value = x->o->usual ? x->o->usual : "";
    const bool same = has_word(value, pl_arena_span(p->arena, x->value, x->n), p->arena);
    if (same != x->not ) return;
    pl_text_add(t, "%s%s has no effect with %s%s", own, o->name, as, value);
    if (!x->not ) pl_text_add(t, ", only with %s%s %.*s", other, x->o->name, (int)x->n, x->value);
    pl_text_add(t, "\n");
}

static void check_needs(parser *p)
{
    need x;
    for (const pl_opt *o = p->c->opts; o->name; o++) {
        const char *value = p->given[o - p->c->opts];
        if (!o->needs || !value) continue;
        const bool idle = o->usual && is_same(value, o->usual); /* says what goes without saying */
        for (const char *at = o->needs; (at = next_need(p->c, at, &x));)
            if (x.o && (!idle || (x.not &&!x.value))) check_need(p, o, &x);
    }
}

/* Of a model's key that is there twice: which one is meant? */
static void check_keys(parser *p, const char *as, const char *keys)
{
    const char *key;
    const size_t n = pl_model_twice(keys, &key);
    if (n) pl_text_add(&p->problems, "%s: key %.*s is given twice\n", as, (int)n, key);
}

static void check_model(parser *p, const char *spec)
{
    const char *more = bound_keys(p);
    check_keys(p, spec, model_keys(spec));
    if (more) check_keys(p, "--bind", more);
}

static void print_problems(const pl_command *c, const char *line)
{
    for (; *line; line += strcspn(line, "\n") + 1)
        fprintf(stderr, "error: %.*s\n", (int)strcspn(line, "\n"), line);
    fprintf(stderr, "see: pleat %s --help\n", c->name);
}

/* False: it was for help. */
static bool parse(parser *p, int most, const char *operand[], int *n_operands)
{
    for (int i = 0; i < p->argc; i++) {
        const char *arg = p->argv[i];
        if (!strcmp(arg, "--help") || !strcmp(arg, "-h")) {
            pl_opt_help(p->c);
            return false;
        }
        if (!strncmp(arg, "--", 2) || is_brief(arg))
            parse_option(p, &i);
        else if (*n_operands < most)
            operand[(*n_operands)++] = arg;
        else if (!p->lost)
            pl_text_add(&p->problems, "unexpected '%s'\n", arg);
    }
    return true;
}

bool pl_opt_parse(const pl_command *c, int argc, char **argv, void *out, int least, int most,
                  const char *operand[], int *n_operands, int *code)
{
    pl_arena *a = pl_arena_new("options");
    int n_rows = 0;
    while (c->opts[n_rows].name) n_rows++;
    parser p = { c, argc, argv, out, a, PL_NEW_N(a, const char *, n_rows), .problems = { a } };
    for (const pl_opt *o = c->opts; o->name; o++)
        if (o->usual) store(o, o->usual, out, &p.problems);
    *n_operands = 0;
    *code = PL_OK;
    bool ok = parse(&p, most, operand, n_operands);
    if (ok) {
        if (*n_operands < least && !p.lost)
            pl_text_add(&p.problems, "%s is missing\n", c->operands);
        for (int i = 0; i < *n_operands; i++)
            if (!*operand[i])
                pl_text_add(&p.problems, "an argument is empty, give %s\n", c->operands);
        if (*n_operands && strstr(c->operands, "MODEL")) p.model = operand[0];
        check_needs(&p);
        if (p.model) check_model(&p, p.model);
        ok = !p.problems.n;
        if (!ok) *code = PL_EUSAGE;
        if (!ok && pl_launch_is_first()) print_problems(c, p.problems.at);
    }
    pl_arena_free(a);
    return ok;
}

int pl_opt_fail(const pl_err *err)
{
    fprintf(stderr, "error: %s\n", err->msg);
    return (int)err->code;
}

int pl_opt_run(const pl_command *c, int argc, char **argv, void *args, int least, int most,
               pl_opt_work *work)
{
    const char *operand[PL_OPT_OPERANDS] = { NULL };
    int n, code;
    pl_err err = { 0 };
    PL_ASSERT_CMP(most, <=, PL_OPT_OPERANDS);
    if (!pl_opt_parse(c, argc, argv, args, least, most, operand, &n, &code)) return code;
    pl_arena *arena = pl_arena_new(c->name);
    const bool ok = work(args, n, operand, arena, &err);
    pl_arena_free(arena);
    return ok ? PL_OK : pl_opt_fail(&err);
}
