/* data/vocab.h - words of a text as tokens: a vocabulary, counted, and texts as numbers in it.
 *
 * Words are runs of letters, digits, "_" and bytes above 127 (UTF-8 beyond ASCII), with ASCII
 * letters in lower case; every other character that can be seen is a word of its own. A line that
 * has words ends with the word "<eos>". Number 0 is "<unk>", all that the vocabulary lacks. */
#ifndef PL_DATA_VOCAB_H
#define PL_DATA_VOCAB_H
#include "base/err.h"
#include "base/map.h"
#include "base/text.h"

#define PL_VOCAB_UNKNOWN "<unk>"
#define PL_VOCAB_END "<eos>"

/* Those that are more frequent come first; of equal ones the one that the text has first. */
typedef struct pl_vocab {
    int64_t n;         /* words, "<unk>" among them   */
    const char **word; /* [n]                         */
    int64_t *count;    /* [n] how often each was seen */
    pl_map index;
} pl_vocab;

/* The vocabulary of a text: at most `most` words, 0: all. `arena` owns it. */
pl_vocab pl_vocab_count(const char *text, size_t n, int64_t most, pl_arena *arena);

/* The text form, a line for each word: the word, a tab, how often. */
void pl_vocab_print(const pl_vocab *words, pl_text *out);
/* Fails with PL_EINPUT: no such text, with the line; or a file that cannot be read. */
PL_MUST_CHECK bool pl_vocab_parse(const char *text, size_t n, pl_arena *arena, pl_vocab *out,
                                  pl_err *err);
PL_MUST_CHECK bool pl_vocab_read(const char *path, pl_arena *arena, pl_vocab *out, pl_err *err);

/* The numbers of a text's words; how many there are. ids NULL: they are counted alone. */
int64_t pl_vocab_take(const pl_vocab *words, const char *text, size_t n, int32_t *ids);

/* Put a word behind others as people write them; a line ends with "<eos>". `begins`: it is the
 * first, or behind the end of a line. */
void pl_vocab_put(const pl_vocab *words, int64_t word, bool begins, pl_text *out);

#endif
