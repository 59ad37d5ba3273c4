/* pleat: trains on many devices a model that was written for one. */
#include "cli/list.h"

#include "base/text.h"
#include "options/manual.h"

#include <errno.h>
#include <malloc.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ROW(name) &pl_command_##name,
static const pl_command *const commands[] = { PL_COMMAND_LIST(ROW) };

enum { N_COMMANDS = sizeof commands / sizeof *commands };

static void help(FILE *to)
{
    fprintf(to,
            "pleat %s - trains on many devices a model that was written for one\n\n"
            "usage: pleat COMMAND [...]\n\n",
            pl_version());
    for (int i = 0; i < N_COMMANDS; i++)
        fprintf(to, "  %-8s %-6s %s\n", commands[i]->name, commands[i]->operands,
                commands[i]->about);
    fprintf(to, "\npleat COMMAND --help tells more, pleat --version which one this is.\n\n"
                "exit codes:\n");
    for (const pl_exit *e = pl_exits; e->about; e++)
        fprintf(to, "  %-14s %s\n", e->codes, e->about);
}

static int unknown(const char *name)
{
    pl_near near = { .word = name, .within = strlen(name) < 6 ? (int)strlen(name) / 2 : 3 };
    for (int i = 0; i < N_COMMANDS; i++) pl_near_offer(&near, commands[i]->name);
    fprintf(stderr, "error: no command '%s'", name);
    if (near.name) fprintf(stderr, " (did you mean '%s'?)", near.name);
    fprintf(stderr, "\nsee: pleat --help\n");
    return PL_EUSAGE;
}

/* What the build installs comes from here too: "--man", "--bash"; and README.md has
 * "--layouts" and "--searches". */
static int run_help(const char *about)
{
    if (!about)
        help(stdout);
    else if (!strcmp(about, "--man"))
        pl_manual_man(N_COMMANDS, commands, pl_version(), stdout);
    else if (!strcmp(about, "--bash"))
        pl_manual_bash(N_COMMANDS, commands, stdout);
    else if (!strcmp(about, "--layouts"))
        pl_manual_layouts(stdout);
    else if (!strcmp(about, "--searches"))
        pl_manual_searches(stdout);
    else {
        for (int i = 0; i < N_COMMANDS; i++) {
            if (strcmp(about, commands[i]->name) != 0) continue;
            pl_opt_help(commands[i]);
            return PL_OK;
        }
        return unknown(about);
    }
    return PL_OK;
}

/* A result that could not be written is a failure, whatever the command says. */
static int end(int code)
{
    if (fflush(stdout) == 0 && !ferror(stdout)) return code;
    fprintf(stderr, "error: cannot write the result to stdout: %s\n", strerror(errno));
    return code ? code : PL_ERUN;
}

/* Threads that wait for each other spin 300,000 rounds by default; on cores that others use too,
 * the one that is waited for then gets no time. libgomp reads its settings before main, so they are
 * set here and the program starts over, once; the user's own settings stand. */
static void settle_threads(char **argv)
{
    if (getenv("GOMP_SPINCOUNT") || getenv("OMP_WAIT_POLICY")) return;
    if (setenv("GOMP_SPINCOUNT", "10000", 1) == 0) execv("/proc/self/exe", argv);
}

/* Memory that is freed is soon asked for again: to hand it back to the system between two searches
 * costs a fifth of their time. Threads ask for large blocks and seldom, so one heap is enough, and
 * what one of them frees another one gets. */
static void keep_memory(void)
{
    enum { MOST_KEPT = 1 << 28, MOST_BLOCK = 1 << 25 };
    mallopt(M_ARENA_MAX, 1);
    mallopt(M_MMAP_THRESHOLD, MOST_BLOCK);
    mallopt(M_TRIM_THRESHOLD, MOST_KEPT);
}

int main(int argc, char **argv)
{
    keep_memory();
    if (argc < 2) {
        help(stderr);
        return PL_EUSAGE;
    }
    if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h") || !strcmp(argv[1], "help"))
        return end(run_help(argc > 2 ? argv[2] : NULL));
    if (!strcmp(argv[1], "--version") || !strcmp(argv[1], "-V") || !strcmp(argv[1], "version")) {
        printf("pleat %s\n", pl_version());
        return PL_OK;
    }
    signal(SIGXFSZ, SIG_IGN); /* a file over the limit is an error like a full disk */
    for (int i = 0; i < N_COMMANDS; i++) {
        if (strcmp(argv[1], commands[i]->name)) continue;
        if (commands[i]->computes) settle_threads(argv);
        return end(commands[i]->run(commands[i], argc - 2, argv + 2));
    }
    return unknown(argv[1]);
}
