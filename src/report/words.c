#include "report/words.h"

#include <string.h>

void pl_words_wrap(const char *text, int at, int indent, int columns, pl_text *out)
{
    bool first = true;
    for (text += strspn(text, " "); *text; text += strspn(text, " ")) {
        const int n = (int)strcspn(text, " ");
        const bool fits = first || at + 1 + n <= columns;
        if (!fits) pl_text_add(out, "\n%*s", indent, "");
        pl_text_add(out, "%s%.*s", fits && !first ? " " : "", n, text);
        at = !fits ? indent + n : at + n + !first;
        first = false;
        text += n;
    }
    pl_text_add(out, "\n");
}
