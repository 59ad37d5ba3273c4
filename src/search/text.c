/* Chains as text: pl_chain_print(), and pl_chain_parse(), which reads word by word. */
#include "search/text.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 1 << 20 }; /* copies, values, variables, pairs of a list */

/* -- printing ---------------------------------------------------------------------------------- */

static void print_entries(const double *time, const double *memory, int n, pl_text *out)
{
    for (int i = 0; i < n; i++) pl_text_add(out, " %.17g", time ? time[i] : 0);
    for (int i = 0; memory && i < n; i++) pl_text_add(out, i ? " %.17g" : " / %.17g", memory[i]);
    pl_text_add(out, "\n");
}

static void print_pairs(int n, const pl_sum_pair pair[], const pl_sum *a, const pl_sum *b,
                        pl_text *out)
{
    for (int i = 0; i < n; i++) {
        const pl_sum_pair *p = &pair[i];
        pl_text_add(out, "pair %d %d", p->a, p->b);
        print_entries(p->time, p->memory, a->n_values[p->a] * b->n_values[p->b], out);
    }
}

static void print_sum(const char *name, const pl_sum *s, pl_text *out)
{
    pl_text_add(out, "%s %d %d\n", name, s->n, s->n_pairs);
    for (int v = 0; v < s->n; v++) {
        pl_text_add(out, "variable %d", s->n_values[v]);
        print_entries(s->time ? s->time[v] : NULL, s->memory ? s->memory[v] : NULL, s->n_values[v],
                      out);
    }
    print_pairs(s->n_pairs, s->pair, s, s, out);
}

void pl_chain_print(const pl_chain *c, pl_text *out)
{
    pl_text_add(out, "chain %d\n", c->copies);
    print_sum("outside", &c->outside, out);
    print_sum("block", &c->block, out);
    pl_text_add(out, "links %d\n", c->n_links);
    print_pairs(c->n_links, c->link, &c->block, &c->block, out);
    pl_text_add(out, "first %d\n", c->n_first);
    print_pairs(c->n_first, c->first, &c->outside, &c->block, out);
    pl_text_add(out, "last %d\n", c->n_last);
    print_pairs(c->n_last, c->last, &c->outside, &c->block, out);
    pl_text_add(out, "every %d\n", c->n_every);
    print_pairs(c->n_every, c->every, &c->outside, &c->block, out);
}

/* -- parsing ----------------------------------------------------------------------------------- */

typedef struct reader {
    const char *at, *end;
    int line;
    pl_arena *arena;
    pl_err *err;
} reader;

static bool bad(const reader *r, const char *wanted)
{
    const int n = (int)strcspn(r->at, " \n");
    return pl_err_set(r->err, PL_EINPUT, "line %d: %s is wanted, found '%.*s'", r->line, wanted,
                      n < 40 ? n : 40, r->at);
}

static bool take(reader *r, const char *word)
{
    const size_t n = strlen(word);
    if (strncmp(r->at, word, n) != 0 || !strchr(" \n", r->at[n])) return false;
    r->at += n;
    r->at += *r->at == ' ';
    return true;
}

static bool end_line(reader *r)
{
    if (*r->at != '\n') return bad(r, "the end of the line");
    r->at++, r->line++;
    return true;
}

static bool read_int(reader *r, const char *what, int least, int most, int *out)
{
    char *end;
    const long x = strtol(r->at, &end, 10);
    if (end == r->at || x < least || x > most || !strchr(" \n", *end)) return bad(r, what);
    *out = (int)x;
    r->at = end + (*end == ' ');
    return true;
}

static bool read_numbers(reader *r, int n, const double **out)
{
    double *x = PL_NEW_N(r->arena, double, n + 1);
    for (int i = 0; i < n; i++) {
        char *end;
        x[i] = strtod(r->at, &end);
        if (end == r->at || !strchr(" \n", *end)) return bad(r, "a number");
        r->at = end + (*end == ' ');
    }
    *out = x;
    return true;
}

/* A number takes two characters at least: what is left of the text bounds the memory. */
static bool read_entries(reader *r, int64_t n, const double **time, const double **memory)
{
    if (n > (r->end - r->at) / 2 + 1) return bad(r, "a line of that many numbers");
    PL_TRY(read_numbers(r, (int)n, time));
    return (!take(r, "/") || read_numbers(r, (int)n, memory)) && end_line(r);
}

static bool read_pairs(reader *r, int n, const pl_sum *a, const pl_sum *b, const pl_sum_pair **out)
{
    if (n > r->end - r->at) return bad(r, "that many pairs");
    pl_sum_pair *pair = PL_NEW_N(r->arena, pl_sum_pair, n + 1);
    for (int i = 0; i < n; i++) {
        pl_sum_pair *p = &pair[i];
        if (!take(r, "pair")) return bad(r, "a pair");
        PL_TRY(read_int(r, "a variable", 0, a->n - 1, &p->a));
        PL_TRY(read_int(r, "a variable", 0, b->n - 1, &p->b));
        const int64_t entries = (int64_t)a->n_values[p->a] * b->n_values[p->b];
        PL_TRY(read_entries(r, entries, &p->time, &p->memory));
    }
    *out = pair;
    return true;
}

static bool read_sum(reader *r, const char *name, pl_sum *s)
{
    if (!take(r, name)) return bad(r, name);
    PL_TRY(read_int(r, "a number of variables", 0, MOST, &s->n));
    PL_TRY(read_int(r, "a number of pairs", 0, MOST, &s->n_pairs) && end_line(r));
    if (s->n > r->end - r->at) return bad(r, "that many variables");
    int *n = PL_NEW_N(r->arena, int, s->n + 1);
    const double **time = PL_NEW_N(r->arena, const double *, s->n + 1);
    const double **memory = PL_NEW_N(r->arena, const double *, s->n + 1);
    for (int v = 0; v < s->n; v++) {
        if (!take(r, "variable")) return bad(r, "a variable");
        PL_TRY(read_int(r, "a number of values", 1, MOST, &n[v]));
        PL_TRY(read_entries(r, n[v], &time[v], &memory[v]));
    }
    s->n_values = n, s->time = time, s->memory = memory;
    return read_pairs(r, s->n_pairs, s, s, &s->pair);
}

static bool read_list(reader *r, const char *name, const pl_sum *a, const pl_sum *b, int *n,
                      const pl_sum_pair **out)
{
    if (!take(r, name)) return bad(r, name);
    PL_TRY(read_int(r, "a number of pairs", 0, MOST, n) && end_line(r));
    return read_pairs(r, *n, a, b, out);
}

bool pl_chain_parse(const char *text, pl_arena *a, pl_chain *out, pl_err *err)
{
    reader r = { .at = text, .end = text + strlen(text), .line = 1, .arena = a, .err = err };
    pl_chain *c = out;
    const pl_sum *o = &c->outside, *b = &c->block;
    *out = (pl_chain){ 0 };
    if (!take(&r, "chain")) return bad(&r, "chain");
    PL_TRY(read_int(&r, "a number of copies", 1, MOST, &c->copies) && end_line(&r));
    PL_TRY(read_sum(&r, "outside", &c->outside) && read_sum(&r, "block", &c->block));
    PL_TRY(read_list(&r, "links", b, b, &c->n_links, &c->link));
    PL_TRY(read_list(&r, "first", o, b, &c->n_first, &c->first));
    PL_TRY(read_list(&r, "last", o, b, &c->n_last, &c->last));
    PL_TRY(read_list(&r, "every", o, b, &c->n_every, &c->every));
    if (*r.at) return bad(&r, "the end");
    return pl_chain_check(c, err);
}
