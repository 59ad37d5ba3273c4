/* options/manual.h - what the rows of all commands say, for other readers: man(1), the shell. */
#ifndef PL_OPTIONS_MANUAL_H
#define PL_OPTIONS_MANUAL_H
#include "options/opt.h"
#include <stdio.h>

typedef struct pl_exit {
    const char *codes, *about; /* about NULL: the end */
} pl_exit;

extern const pl_exit pl_exits[]; /* what the codes of the command mean */

/* For man(1), and what bash completes by. */
void pl_manual_man(int n, const pl_command *const command[], const char *version, FILE *to);
void pl_manual_bash(int n, const pl_command *const command[], FILE *to);

/* The tables of layouts and of searches in Markdown, which README.md has between its lines. */
void pl_manual_layouts(FILE *to);
void pl_manual_searches(FILE *to);

#endif
