/* options/opt.h - options as rows: parsing, --help and the manual read the same row. */
#ifndef PL_OPTIONS_OPT_H
#define PL_OPTIONS_OPT_H
#include "base/arena.h"
#include <stddef.h>
#include <stdint.h>

typedef enum pl_opt_kind {
    PL_OPT_TEXT,  /* const char *                          */
    PL_OPT_PATH,  /* the same, a file or folder: not empty */
    PL_OPT_INT,   /* int64_t                               */
    PL_OPT_REAL,  /* double                                */
    PL_OPT_BYTES, /* int64_t                               */
    PL_OPT_FLAG,  /* bool                                  */
} pl_opt_kind;

typedef struct pl_opt {
    const char *name;    /* without the dashes: two, or one before a single letter */
    pl_opt_kind kind;
    size_t at;           /* offsetof the field                    */
    const char *value;   /* what the help calls it; NULL: a flag  */
    const char *usual;   /* default; NULL: none                   */
    const char *about;
    double least;        /* numbers: smallest legal value         */
    double most;         /* numbers: largest legal value; 0: any  */
    const char *needs;   /* without which it has no effect: words, parted by blanks, that all hold:
                            "save" (--save is given), "!json" (is not), "optimizer=sgd",
                            "eval-batches!=0" (given, or by default). Those of options that the
                            command lacks hold                                                    */
    bool key;            /* the key of this name of a MODEL says the same                         */
} pl_opt;

/* Kind and field of a row, in a command's file that defines AT(field) as the field's offset. */
#define BYTES(f) PL_OPT_BYTES, AT(f)
#define FLAG(f) PL_OPT_FLAG, AT(f)
#define INT(f) PL_OPT_INT, AT(f)
#define PATH(f) PL_OPT_PATH, AT(f)
#define REAL(f) PL_OPT_REAL, AT(f)
#define TEXT(f) PL_OPT_TEXT, AT(f)

/* A number that is defined elsewhere, as the text of a default. */
#define USUAL(number) QUOTE(number)
#define QUOTE(text) #text

struct pl_command;
typedef int pl_command_run(const struct pl_command *c, int argc, char **argv);

typedef struct pl_command {
    const char *name, *operands, *about; /* operands: "MODEL", "" ...           */
    const char *more;                    /* examples and notes, shown by --help */
    const pl_opt *opts;                  /* ends with {0}                       */
    pl_command_run *run;
    bool computes;                       /* runs kernels on OpenMP threads            */
} pl_command;

/* Fill `out` (a struct of the rows' fields) with defaults, then the arguments. Operands go to
 * operand[], their number must be within [least, most]. Mistakes are an option that is unknown,
 * given twice, out of its range, or without effect beside the others; all are named at once. False
 * means *code is the exit code (0 after --help). */
PL_MUST_CHECK bool pl_opt_parse(const pl_command *c, int argc, char **argv, void *out, int least,
                                int most, const char *operand[], int *n_operands, int *code);
void pl_opt_help(const pl_command *c);

/* Print "error: ..." on stderr; returns the exit code. */
int pl_opt_fail(const pl_err *err);

enum { PL_OPT_OPERANDS = 8 }; /* at most, for pl_opt_run */

typedef bool pl_opt_work(void *args, int n, const char *const operand[], pl_arena *arena,
                         pl_err *err);

/* pl_opt_parse, then the work, with `args` filled and in an arena of its own; an error is printed.
 * For commands that start no ranks. Returns the exit code. */
int pl_opt_run(const pl_command *c, int argc, char **argv, void *args, int least, int most,
               pl_opt_work *work);

#endif
