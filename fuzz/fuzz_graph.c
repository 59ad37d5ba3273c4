/* libFuzzer target: any text as a graph; what is read passes the check, and prints and reads and
 * prints the same. */
#include "graph/graph.h"
#include "ops/lib/all.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n);

static const char *print(const pl_graph *g, pl_arena *a)
{
    pl_text t = { .arena = a };
    pl_graph_print(g, &t);
    return pl_text_get(&t);
}

static void check_again(const pl_graph *g, pl_arena *a)
{
    pl_graph *again;
    pl_err err = { 0 };
    const char *text = print(g, a);
    if (!pl_graph_check(g, &err)) pl_bug(__FILE__, __LINE__, "%s\n%s", err.msg, text);
    if (!pl_graph_parse(text, &pl_ops_all, a, &again, &err))
        pl_bug(__FILE__, __LINE__, "%s\n%s", err.msg, text);
    PL_ASSERT(!strcmp(text, print(again, a)));
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    pl_arena *a = pl_arena_new("fuzz");
    pl_graph *g;
    pl_err err = { 0 };
    if (pl_graph_parse(pl_arena_span(a, (const char *)bytes, n), &pl_ops_all, a, &g, &err))
        check_again(g, a);
    else {
        PL_ASSERT(err.code == PL_EINPUT || err.code == PL_EUNSUPPORTED);
        PL_ASSERT(*err.msg);
    }
    pl_arena_free(a);
    return 0;
}
