/* test/ops/known.h - graphs written out with what they have to give, or be refused for. */
#ifndef PL_TEST_KNOWN_H
#define PL_TEST_KNOWN_H
#include "eval.h"
#include "ops/lib/all.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

enum { KNOWN_NUMBERS = 64 };

/* The inputs' numbers one after the other, in the order of the text, then the outputs'. */
typedef struct known_answer {
    const char *name, *graph;
    double in[KNOWN_NUMBERS], out[KNOWN_NUMBERS];
} known_answer;

typedef struct known_refusal {
    const char *graph, *error;
} known_refusal;

/* What a node makes is an output, else the graph would drop the node. */
static inline void known_report_all(pl_text *text, const char *graph)
{
    pl_text_add(text, "graph t\n%s", graph);
    for (const char *line = graph; (line = strstr(line, "forward ")); line++)
        for (const char *word = line + strlen("forward "); *word != '=';) {
            pl_text_add(text, "output %.*s\n", (int)strcspn(word, " "), word);
            word += strcspn(word, " ") + 1; /* its name, then its type */
            word += strcspn(word, " ") + 1;
        }
}

/* The graph is text without its first line and outputs; NULL when it is refused. */
static inline pl_graph *known_parse(pl_arena *a, const char *graph, pl_err *err)
{
    pl_graph *g = NULL;
    pl_text text = { .arena = a };
    known_report_all(&text, graph);
    bool ok = pl_graph_parse(pl_text_get(&text), &pl_ops_all, a, &g, err);
    return ok ? g : NULL;
}

static inline void known_check_answer(const known_answer *x)
{
    pl_arena *a = pl_arena_new("test");
    pl_err err = { 0 };
    pl_graph *g = known_parse(a, x->graph, &err);
    if (!g) fail_msg("%s: %s", x->name, err.msg);
    eval e = eval_new(g);
    int at = 0;
    for (int i = 0; i < g->values.n; i++) {
        const pl_value *v = g->values.at[i];
        for (int64_t k = 0; !v->maker && k < pl_shape_count(&v->shape); k++)
            pl_type_put(v->type, e.at[i], k, x->in[at++]);
    }
    eval_run(&e, g->nodes.n);
    at = 0;
    for (int i = 0; i < g->outputs.n; i++) {
        const pl_value *v = g->outputs.at[i];
        for (int64_t k = 0; k < pl_shape_count(&v->shape); k++, at++) {
            double found = pl_type_get(v->type, e.at[v->id], k);
            bool same = found == x->out[at] || (isnan(found) && isnan(x->out[at]));
            if (!same && !(fabs(found - x->out[at]) <= 1e-6 * fmax(1, fabs(x->out[at]))))
                fail_msg("%s: number %d is %.9g, not %.9g", x->name, at, found, x->out[at]);
        }
    }
    eval_free(&e);
    pl_arena_free(a);
}

static inline void known_check_refusal(const known_refusal *x)
{
    pl_arena *a = pl_arena_new("test");
    pl_err err = { 0 };
    const pl_graph *g = known_parse(a, x->graph, &err);
    if (g || !strstr(err.msg, x->error))
        fail_msg("%s: wanted '%s', found '%s'", x->graph, x->error, err.msg);
    pl_arena_free(a);
}

#endif
