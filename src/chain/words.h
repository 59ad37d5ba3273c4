/* chain/words.h - the words of a text that is read in lines: for chains and cost problems. */
#ifndef PL_CHAIN_WORDS_H
#define PL_CHAIN_WORDS_H
#include "base/arena.h"
#include "base/err.h"

/* Where reading is. Words stand one blank apart, and each line ends with a newline. */
typedef struct pl_words {
    const char *at, *end;
    int line;
    pl_arena *arena;
    pl_err *err;
} pl_words;

/* "line 3: an edge is wanted, found 'x'"; returns false. */
bool pl_words_bad(const pl_words *w, const char *wanted);

/* Is the next word this one? Then it is read. */
bool pl_words_take(pl_words *w, const char *word);

/* Else an error says what is wanted. */
PL_MUST_CHECK bool pl_words_real(pl_words *w, const char *wanted, double *x);
PL_MUST_CHECK bool pl_words_int(pl_words *w, const char *wanted, int least, int most, int *x);
PL_MUST_CHECK bool pl_words_end_line(pl_words *w);

#endif
