/* Chains as text: pl_chain_print(), and pl_chain_parse(), which reads word by word. */
#include "chain/text.h"

#include "chain/words.h"

#include <string.h>

enum { MOST = 1 << 20 }; /* copies, values, variables, edges of a list */

/* -- printing ---------------------------------------------------------------------------------- */

static void print_entries(const double *time, const double *memory, int n, pl_text *out)
{
    for (int i = 0; i < n; i++) pl_text_add(out, " %.17g", time ? time[i] : 0);
    for (int i = 0; memory && i < n; i++) pl_text_add(out, i ? " %.17g" : " / %.17g", memory[i]);
    pl_text_add(out, "\n");
}

static void print_edges(int n, const pl_sum_edge edge[], const pl_sum *a, const pl_sum *b,
                        pl_text *out)
{
    for (int i = 0; i < n; i++) {
        const pl_sum_edge *p = &edge[i];
        pl_text_add(out, "edge %d %d", p->a, p->b);
        print_entries(p->time, p->memory, a->n_values[p->a] * b->n_values[p->b], out);
    }
}

static void print_sum(const char *name, const pl_sum *sum, pl_text *out)
{
    pl_text_add(out, "%s %d %d\n", name, sum->n, sum->n_edges);
    for (int v = 0; v < sum->n; v++) {
        pl_text_add(out, "variable %d", sum->n_values[v]);
        print_entries(sum->time ? sum->time[v] : NULL, sum->memory ? sum->memory[v] : NULL,
                      sum->n_values[v], out);
    }
    print_edges(sum->n_edges, sum->edge, sum, sum, out);
}

void pl_chain_print(const pl_chain *chain, pl_text *out)
{
    pl_text_add(out, "chain %d\n", chain->copies);
    print_sum("outside", &chain->outside, out);
    print_sum("block", &chain->block, out);
    pl_text_add(out, "links %d\n", chain->n_links);
    print_edges(chain->n_links, chain->link, &chain->block, &chain->block, out);
    pl_text_add(out, "first %d\n", chain->n_first);
    print_edges(chain->n_first, chain->first, &chain->outside, &chain->block, out);
    pl_text_add(out, "last %d\n", chain->n_last);
    print_edges(chain->n_last, chain->last, &chain->outside, &chain->block, out);
    pl_text_add(out, "every %d\n", chain->n_every);
    print_edges(chain->n_every, chain->every, &chain->outside, &chain->block, out);
}

/* -- parsing ----------------------------------------------------------------------------------- */

static bool read_numbers(pl_words *r, int n, const double **out)
{
    double *x = PL_NEW_N(r->arena, double, n + 1);
    for (int i = 0; i < n; i++) PL_TRY(pl_words_real(r, "a number", &x[i]));
    *out = x;
    return true;
}

/* A number takes two characters at least: what is left of the text bounds the memory. */
static bool read_entries(pl_words *r, int64_t n, const double **time, const double **memory)
{
    if (n > (r->end - r->at) / 2 + 1) return pl_words_bad(r, "a line of that many numbers");
    PL_TRY(read_numbers(r, (int)n, time));
    return (!pl_words_take(r, "/") || read_numbers(r, (int)n, memory)) && pl_words_end_line(r);
}

static bool read_edges(pl_words *r, int n, const pl_sum *a, const pl_sum *b,
                       const pl_sum_edge **out)
{
    if (n > r->end - r->at) return pl_words_bad(r, "that many edges");
    pl_sum_edge *edge = PL_NEW_N(r->arena, pl_sum_edge, n + 1);
    for (int i = 0; i < n; i++) {
        pl_sum_edge *p = &edge[i];
        if (!pl_words_take(r, "edge")) return pl_words_bad(r, "an edge");
        PL_TRY(pl_words_int(r, "a variable", 0, a->n - 1, &p->a));
        PL_TRY(pl_words_int(r, "a variable", 0, b->n - 1, &p->b));
        const int64_t entries = (int64_t)a->n_values[p->a] * b->n_values[p->b];
        PL_TRY(read_entries(r, entries, &p->time, &p->memory));
    }
    *out = edge;
    return true;
}

static bool read_sum(pl_words *r, const char *name, pl_sum *sum)
{
    if (!pl_words_take(r, name)) return pl_words_bad(r, name);
    PL_TRY(pl_words_int(r, "a number of variables", 0, MOST, &sum->n));
    PL_TRY(pl_words_int(r, "a number of edges", 0, MOST, &sum->n_edges) && pl_words_end_line(r));
    if (sum->n > r->end - r->at) return pl_words_bad(r, "that many variables");
    int *n = PL_NEW_N(r->arena, int, sum->n + 1);
    const double **time = PL_NEW_N(r->arena, const double *, sum->n + 1);
    const double **memory = PL_NEW_N(r->arena, const double *, sum->n + 1);
    for (int v = 0; v < sum->n; v++) {
        if (!pl_words_take(r, "variable")) return pl_words_bad(r, "a variable");
        PL_TRY(pl_words_int(r, "a number of values", 1, MOST, &n[v]));
        PL_TRY(read_entries(r, n[v], &time[v], &memory[v]));
    }
    sum->n_values = n, sum->time = time, sum->memory = memory;
    return read_edges(r, sum->n_edges, sum, sum, &sum->edge);
}

static bool read_list(pl_words *r, const char *name, const pl_sum *a, const pl_sum *b, int *n,
                      const pl_sum_edge **out)
{
    if (!pl_words_take(r, name)) return pl_words_bad(r, name);
    PL_TRY(pl_words_int(r, "a number of edges", 0, MOST, n) && pl_words_end_line(r));
    return read_edges(r, *n, a, b, out);
}

bool pl_chain_parse(const char *text, pl_arena *arena, pl_chain *out, pl_err *err)
{
    pl_words r = { .at = text, .end = text + strlen(text), .line = 1, .arena = arena, .err = err };
    pl_chain *chain = out;
    const pl_sum *o = &chain->outside, *b = &chain->block;
    *out = (pl_chain){ 0 };
    if (!pl_words_take(&r, "chain")) return pl_words_bad(&r, "chain");
    PL_TRY(pl_words_int(&r, "a number of copies", 1, MOST, &chain->copies) &&
           pl_words_end_line(&r));
    PL_TRY(read_sum(&r, "outside", &chain->outside) && read_sum(&r, "block", &chain->block));
    PL_TRY(read_list(&r, "links", b, b, &chain->n_links, &chain->link));
    PL_TRY(read_list(&r, "first", o, b, &chain->n_first, &chain->first));
    PL_TRY(read_list(&r, "last", o, b, &chain->n_last, &chain->last));
    PL_TRY(read_list(&r, "every", o, b, &chain->n_every, &chain->every));
    if (*r.at) return pl_words_bad(&r, "the end");
    return pl_chain_check(chain, err);
}
