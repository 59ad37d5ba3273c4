/* Vocabularies. A text is cut into words by next_word(); they are found by hashes of their bytes in
 * lower case, without a copy of each. */
#include "data/vocab.h"

#include "base/file.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

typedef struct span {
    const char *at;
    size_t n;
} span;

typedef struct cutter {
    const char *at, *end;
    bool line; /* that has words, and goes on */
} cutter;

static bool is_letter(unsigned char c)
{
    return c >= 0x80 || c == '_' || isalnum(c);
}

static bool next_word(cutter *c, span *out)
{
    for (; c->at < c->end && !isgraph((unsigned char)*c->at) && (unsigned char)*c->at < 0x80;
         c->at++)
        if (*c->at == '\n' && c->line) {
            *out = (span){ PL_VOCAB_END, strlen(PL_VOCAB_END) };
            c->line = false;
            return true;
        }
    if (c->at == c->end) return false;
    *out = (span){ c->at, 1 };
    for (c->line = true; is_letter((unsigned char)*c->at);) {
        out->n = (size_t)(++c->at - out->at);
        if (c->at == c->end) return true;
    }
    if (c->at == out->at) c->at++;
    return true;
}

static char lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

static uint64_t hash_of(span s)
{
    uint64_t hash = s.n;
    for (size_t i = 0; i < s.n; i++) hash = pl_hash_mix(hash, (unsigned char)lower(s.at[i]));
    return hash;
}

static bool is_word(span s, const char *word)
{
    for (size_t i = 0; i < s.n; i++)
        if (!word[i] || lower(s.at[i]) != word[i]) return false;
    return !word[s.n];
}

/* 0: unknown. */
static int64_t find(const pl_vocab *w, span s)
{
    PL_MAP_EACH (&w->index, hash_of(s), x)
        if (is_word(s, w->word[x.value])) return x.value;
    return 0;
}

static void add(pl_vocab *w, int64_t *room, span s, int64_t count, pl_arena *arena)
{
    if (w->n == *room) {
        const int64_t n = *room ? 2 * *room : 1024;
        const char **word = PL_NEW_N(arena, const char *, n);
        int64_t *counts = PL_NEW_N(arena, int64_t, n);
        if (w->n) memcpy(word, w->word, (size_t)w->n * sizeof *word);
        if (w->n) memcpy(counts, w->count, (size_t)w->n * sizeof *counts);
        w->word = word;
        w->count = counts;
        *room = n;
    }
    char *copy = pl_arena_get(arena, s.n + 1, 1);
    for (size_t i = 0; i < s.n; i++) copy[i] = lower(s.at[i]);
    copy[s.n] = 0;
    w->word[w->n] = copy;
    w->count[w->n] = count;
    pl_map_put(&w->index, hash_of(s), (int)w->n++, arena);
}

static pl_vocab begin(int64_t *room, pl_arena *arena)
{
    pl_vocab w = { 0 };
    *room = 0;
    add(&w, room, (span){ PL_VOCAB_UNKNOWN, strlen(PL_VOCAB_UNKNOWN) }, 0, arena);
    return w;
}

/* A word's count, and its number, which parts equal ones. */
typedef struct rank {
    int64_t count, word;
} rank;

static int by_count(const void *a, const void *b)
{
    const rank *x = a, *y = b;
    if (x->count != y->count) return x->count < y->count ? 1 : -1;
    return x->word < y->word ? -1 : 1;
}

pl_vocab pl_vocab_count(const char *text, size_t n, int64_t most, pl_arena *arena)
{
    pl_arena *tmp = pl_arena_new("words");
    int64_t room;
    pl_vocab seen = begin(&room, tmp);
    cutter c = { text, text + n, false };
    for (span s; next_word(&c, &s);) {
        const int64_t at = find(&seen, s);
        if (at)
            seen.count[at]++;
        else
            add(&seen, &room, s, 1, tmp);
    }
    rank *order = PL_NEW_N(tmp, rank, seen.n);
    for (int64_t i = 1; i < seen.n; i++) order[i - 1] = (rank){ seen.count[i], i };
    qsort(order, (size_t)seen.n - 1, sizeof *order, by_count);
    pl_vocab out = begin(&room, arena);
    for (int64_t i = 0; i < seen.n - 1; i++) {
        const char *word = seen.word[order[i].word];
        if (!most || out.n < most)
            add(&out, &room, (span){ word, strlen(word) }, order[i].count, arena);
        else
            out.count[0] += order[i].count;
    }
    pl_arena_free(tmp);
    return out;
}

void pl_vocab_print(const pl_vocab *words, pl_text *out)
{
    for (int64_t i = 0; i < words->n; i++)
        pl_text_add(out, "%s\t%lld\n", words->word[i], (long long)words->count[i]);
}

/* A line without its end. */
static bool read_line(pl_vocab *w, int64_t *room, int64_t line, span s, pl_arena *arena,
                      pl_err *err)
{
    const char *tab = memchr(s.at, '\t', s.n);
    const span word = { s.at, tab ? (size_t)(tab - s.at) : s.n };
    int64_t count = -1;
    if (tab && !pl_text_int(pl_arena_fmt(arena, "%.*s", (int)(s.n - word.n - 1), tab + 1), &count))
        count = -1;
    if (!word.n || count < 0 || memchr(word.at, 0, word.n))
        return pl_err_set(err, PL_EINPUT, "line %lld is no word, a tab, and how often it was seen",
                          (long long)line);
    const bool first = line == 1;
    if (first != is_word(word, PL_VOCAB_UNKNOWN) || (!first && find(w, word)))
        return pl_err_set(err, PL_EINPUT,
                          first ? "line 1 is not of " PL_VOCAB_UNKNOWN
                                : "line %lld has '%.*s', which an earlier one has",
                          (long long)line, (int)word.n, word.at);
    if (first)
        w->count[0] = count;
    else
        add(w, room, word, count, arena);
    return true;
}

bool pl_vocab_parse(const char *text, size_t n, pl_arena *arena, pl_vocab *out, pl_err *err)
{
    int64_t room, line = 0;
    *out = begin(&room, arena);
    for (const char *at = text, *end; at < text + n; at = end + 1) {
        end = memchr(at, '\n', (size_t)(text + n - at));
        if (!end) end = text + n;
        PL_TRY(read_line(out, &room, ++line, (span){ at, (size_t)(end - at) }, arena, err));
    }
    return line > 1 || pl_err_set(err, PL_EINPUT, "there are no words in it");
}

bool pl_vocab_read(const char *path, pl_arena *arena, pl_vocab *out, pl_err *err)
{
    const char *text;
    size_t n;
    pl_err problem = { 0 };
    PL_TRY(pl_file_read(path, INT32_MAX, arena, &text, &n, err));
    return pl_vocab_parse(text, n, arena, out, &problem) ||
           pl_err_set(err, PL_EINPUT,
                      "%s: %s: count the words of a text: pleat data words TEXT -o FILE", path,
                      problem.msg);
}

int64_t pl_vocab_take(const pl_vocab *words, const char *text, size_t n, int32_t *ids)
{
    cutter c = { text, text + n, false };
    int64_t made = 0;
    for (span s; next_word(&c, &s); made++)
        if (ids) ids[made] = (int32_t)find(words, s);
    return made;
}

void pl_vocab_put(const pl_vocab *words, int64_t word, bool begins, pl_text *out)
{
    const char *s = word >= 0 && word < words->n ? words->word[word] : PL_VOCAB_UNKNOWN;
    const bool closes = s[0] && !s[1] && strchr(".,;:!?)", s[0]);
    if (!strcmp(s, PL_VOCAB_END))
        pl_text_add(out, "\n");
    else
        pl_text_add(out, "%s%s", begins || closes ? "" : " ", s);
}
