/* report/words.h - sentences in lines. */
#ifndef PL_REPORT_WORDS_H
#define PL_REPORT_WORDS_H
#include "base/text.h"

enum { PL_WORDS_COLUMNS = 100 }; /* of a line, where nobody says otherwise */

/* The words of a text, in lines of at most so many columns where words are no longer; all lines but
 * the first begin with `indent` blanks, and the first stands behind `at` columns that are filled
 * already. Ends with a newline. */
void pl_words_wrap(const char *text, int at, int indent, int columns, pl_text *out);

#endif
