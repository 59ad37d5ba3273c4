/* The words of a text that is read in lines. */
#include "chain/words.h"

#include <stdlib.h>
#include <string.h>

bool pl_words_bad(const pl_words *w, const char *wanted)
{
    const int n = (int)strcspn(w->at, " \n");
    return pl_err_set(w->err, PL_EINPUT, "line %d: %s is wanted, found '%.*s'", w->line, wanted,
                      n < 40 ? n : 40, w->at);
}

bool pl_words_take(pl_words *w, const char *word)
{
    const size_t n = strlen(word);
    if (strncmp(w->at, word, n) != 0 || !strchr(" \n", w->at[n])) return false;
    w->at += n;
    w->at += *w->at == ' ';
    return true;
}

/* The word that ends at `end` was read. */
static bool pass(pl_words *w, const char *end, const char *wanted)
{
    if (end == w->at || !strchr(" \n", *end)) return pl_words_bad(w, wanted);
    w->at = end + (*end == ' ');
    return true;
}

bool pl_words_real(pl_words *w, const char *wanted, double *x)
{
    char *end;
    *x = strtod(w->at, &end);
    return pass(w, end, wanted);
}

bool pl_words_int(pl_words *w, const char *wanted, int least, int most, int *x)
{
    char *end;
    const long n = strtol(w->at, &end, 10);
    if (n < least || n > most) return pl_words_bad(w, wanted);
    *x = (int)n;
    return pass(w, end, wanted);
}

bool pl_words_end_line(pl_words *w)
{
    if (*w->at != '\n') return pl_words_bad(w, "the end of the line");
    w->at++, w->line++;
    return true;
}
