/* libFuzzer target: any bytes as a plan file for one small graph; what is read is legal, and writes
 * and reads the same. The digest, which no fuzzer finds, is given to the file. */
#include "graph/graph.h"
#include "ops/lib/all.h"
#include "plan/file.h"

#include <string.h>

static const char graph[] = "graph tiny\n"
                            "input x f32[8,4]\n"
                            "input lr f32[]\n"
                            "state w f32[4,6] weight \"normal std=0.5\"\n"
                            "state b f32[6] weight \"zeros\"\n"
                            "forward fc f32[8,6] = einsum \"mk,kn->mn\" x w\n"
                            "forward act f32[8,6] = softmax \"\" fc\n"
                            "forward sum f32[8,6] = add \"mn,n->mn\" act b\n"
                            "backward g f32[4,6] = einsum \"mk,mn->kn\" x sum / fc\n"
                            "update step f32[4,6] = sub \"\" w g\n"
                            "forward total f32[] = reduce_sum \"mn->\" sum\n"
                            "output total\n"
                            "next w step\n";

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n);

static const char *write_plan(const pl_plan *p, const pl_plan_about *about, pl_arena *a)
{
    pl_text t = { .arena = a };
    pl_plan_write(p, about, &t);
    return pl_text_get(&t);
}

static void check_again(const pl_plan *p, const pl_plan_file *f, pl_arena *a)
{
    pl_plan_file again;
    pl_plan *q;
    pl_err err = { 0 };
    const char *text = write_plan(p, &f->about, a);
    if (!pl_plan_check(p, &err) || !pl_plan_file_read(text, strlen(text), a, &again, &err) ||
        !pl_plan_file_plan(&again, p->graph, a, &q, &err))
        pl_bug(__FILE__, __LINE__, "%s\n%s", err.msg, text);
    PL_ASSERT(!strcmp(text, write_plan(q, &again.about, a)));
    pl_text first = { .arena = a }, second = { .arena = a };
    pl_plan_print(p, &first);
    pl_plan_print(q, &second);
    PL_ASSERT(!strcmp(first.at, second.at));
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    pl_arena *a = pl_arena_new("fuzz");
    pl_graph *g;
    pl_plan_file f;
    pl_plan *p;
    pl_err err = { 0 };
    if (!pl_graph_parse(graph, &pl_ops_all, a, &g, &err)) pl_bug(__FILE__, __LINE__, "%s", err.msg);
    bool ok = pl_plan_file_read((const char *)bytes, n, a, &f, &err);
    if (ok) {
        f.graph = pl_plan_digest(g);
        f.n_nodes = g->nodes.n;
        ok = pl_plan_file_plan(&f, g, a, &p, &err);
    }
    if (ok)
        check_again(p, &f, a);
    else
        PL_ASSERT(err.code == PL_EINPUT && *err.msg);
    pl_arena_free(a);
    return 0;
}
