/* The manual page and the completion of bash, written from the rows that parse the command line. */
#include "options/manual.h"

#include "base/text.h"
#include "cluster/cluster.h"
#include "models/model.h"
#include "planners/planner.h"
#include "layouts/strategy.h"
#include "train/rate.h"

#include <string.h>

const pl_exit pl_exits[] = {
    { "0", "ok" },
    { "1", "internal error" },
    { "2", "usage: the command line is wrong" },
    { "3", "bad input: what is in a file is wrong, a file cannot be read, or may not be written" },
    { "4", "unsupported" },
    { "5", "infeasible: nothing fits in the memory given" },
    { "6", "mismatch: a check found different numbers" },
    { "7", "run failed or rank lost; or writing broke off: a full disk" },
    { "130, 138, 143", "ended by SIGINT, SIGUSR1, SIGTERM" },
    { "141", "ended by SIGPIPE: nobody reads any more what it prints" },
    { NULL, NULL },
};

/* -- man --------------------------------------------------------------------------------------- */

/* Text as roff reads it: minus signs, backslashes, and no line that looks like a request. */
static void put(FILE *to, const char *text)
{
    bool begins = true;
    for (; *text; text++) {
        if (begins && (*text == '.' || *text == '\'')) fputs("\\&", to);
        begins = *text == '\n';
        if (*text == '-')
            fputs("\\-", to);
        else if (*text == '\\')
            fputs("\\e", to);
        else
            fputc(*text, to);
    }
}

static void put_as_is(FILE *to, const char *text)
{
    fputs(".PP\n.nf\n", to);
    put(to, text);
    fputs("\n.fi\n", to);
}

static void put_option(FILE *to, const pl_opt *o)
{
    fputs(".TP\n\\fB", to);
    put(to, o->name[1] ? "--" : "-");
    put(to, o->name);
    fprintf(to, "\\fR%s%s%s\n", o->value ? " \\fI" : "", o->value ? o->value : "",
            o->value ? "\\fR" : "");
    put(to, o->about);
    if (o->usual) {
        fputs(" [", to);
        put(to, o->usual);
        fputs("]", to);
    }
    fputs("\n", to);
}

static void put_command(FILE *to, const pl_command *c)
{
    fputs(".SS \"pleat ", to);
    put(to, c->name);
    fprintf(to, "%s%s\"\n", *c->operands ? " " : "", c->operands);
    put(to, c->about);
    fputs("\n", to);
    for (const pl_opt *o = c->opts; o->name; o++) put_option(to, o);
    if (c->more) put_as_is(to, c->more);
}

void pl_manual_man(int n, const pl_command *const command[], const char *version, FILE *to)
{
    pl_arena *a = pl_arena_new("manual");
    pl_text strategies = { .arena = a }, clusters = { .arena = a }, rates = { .arena = a };
    fprintf(to, ".TH PLEAT 1 \"\" \"pleat %s\" \"User commands\"\n.SH NAME\n", version);
    put(to, "pleat - trains on many devices a model that was written for one\n");
    fputs(".SH SYNOPSIS\n.B pleat\n.I COMMAND\n[...]\n.SH COMMANDS\n", to);
    for (int i = 0; i < n; i++) put_command(to, command[i]);
    pl_strategy_words(&strategies);
    fputs(".SH STRATEGIES\nWords, joined by commas.\n", to);
    put_as_is(to, pl_text_get(&strategies));
    fputs(".SH SEARCHES\n", to);
    for (const pl_planner *const *p = pl_planners; *p; p++) {
        const pl_planner *b = *p;
        fprintf(to, ".TP\n\\fB%s\\fR\n", b->name);
        put(to, b->about);
        fputs("\n", to);
    }
    pl_cluster_words(&clusters);
    fputs(".SH CLUSTERS\n", to);
    put_as_is(to, pl_text_get(&clusters));
    pl_rate_words(&rates);
    fputs(".SH LEARNING RATES\nSchedules of \\-\\-lr\\-schedule; steps are those of the run.\n",
          to);
    put_as_is(to, pl_text_get(&rates));
    fputs(".SH EXIT STATUS\n", to);
    for (const pl_exit *e = pl_exits; e->about; e++)
        fprintf(to, ".TP\n%s\n%s\n", e->codes, e->about);
    pl_arena_free(a);
}

/* -- bash -------------------------------------------------------------------------------------- */

static void put_names(FILE *to, const pl_command *c, bool flags)
{
    for (const pl_opt *o = c->opts; o->name; o++)
        if (!flags || !o->value) fprintf(to, "%s%s ", o->name[1] ? "--" : "-", o->name);
}

void pl_manual_bash(int n, const pl_command *const command[], FILE *to)
{
    const pl_family *m;
    fputs("_pleat() {\n"
          "    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]}\n"
          "    local options= flags= models=\n"
          "    COMPREPLY=()\n"
          "    if [ \"$COMP_CWORD\" = 1 ]; then\n"
          "        COMPREPLY=($(compgen -W \"",
          to);
    for (int i = 0; i < n; i++) fprintf(to, "%s ", command[i]->name);
    fputs(
        "--help --version\" -- \"$cur\"))\n        return\n    fi\n    case ${COMP_WORDS[1]} in\n",
        to);
    for (int i = 0; i < n; i++) {
        fprintf(to, "    %s) options=\"", command[i]->name);
        put_names(to, command[i], false);
        fputs("--help\" flags=\"", to);
        put_names(to, command[i], true);
        fprintf(to, "\" models=%d ;;\n", strstr(command[i]->operands, "MODEL") != NULL);
    }
    fputs(
        "    esac\n"
        "    if [[ $cur == -* ]]; then\n"
        "        COMPREPLY=($(compgen -W \"$options\" -- \"$cur\"))\n"
        "    elif [ \"$models\" = 1 ] && [[ $prev != -* || \" $flags\" == *\" $prev \"* ]]; then\n"
        "        COMPREPLY=($(compgen -W \"",
        to);
    for (int i = 0; (m = pl_model_at(i)); i++) fprintf(to, "%s ", m->name);
    fputs("\" -- \"$cur\"))\n"
          "    fi\n"
          "}\n"
          "complete -o bashdefault -o default -F _pleat pleat # where nothing is said: files\n",
          to);
}

/* A bar in a cell would end it. */
static void put_cell(FILE *to, const char *text)
{
    for (; *text; text++) fprintf(to, *text == '|' ? "\\|" : "%c", *text);
}

static void put_row(FILE *to, const char *word, const char *about, const char *source)
{
    fputs("| `", to);
    put_cell(to, word);
    fputs("` | ", to);
    put_cell(to, about);
    fprintf(to, " | %s |\n", source);
}

void pl_manual_layouts(FILE *to)
{
    fputs("| word | what it does | layout |\n|---|---|---|\n", to);
    for (int i = 0; pl_layouts[i]; i++)
        for (const pl_word *w = pl_layouts[i]->words; w->name; w++)
            put_row(to, w->form, w->about, w == pl_layouts[i]->words ? pl_layouts[i]->about : "");
}

void pl_manual_searches(FILE *to)
{
    fputs("| `--search` | what it finds | published |\n|---|---|---|\n", to);
    for (const pl_planner *const *p = pl_planners; *p; p++)
        put_row(to, (*p)->name, (*p)->about, (*p)->source ? (*p)->source : "");
}
