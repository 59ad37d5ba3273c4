/* libFuzzer target: any text as rank 0's program of a small model on 2 x 2 devices. What is read
 * prints and reads and prints the same; the check says whether it is right, and never falls over
 * it. */
#include "models/model.h"
#include "ops/lib/all.h"
#include "layouts/strategy.h"
#include "program/program.h"
#include "train/optim.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n);

static const pl_plan *make_plan(pl_arena *a)
{
    const pl_optim sgd = pl_optim_usual("sgd");
    pl_model_args args;
    pl_strategy s;
    pl_graph *g;
    pl_plan *p;
    pl_err err = { 0 };
    bool ok = pl_model_parse("mlp:layers=2,in=4,hidden=8,classes=4,batch=4", a, &args, &err);
    PL_ASSERT(ok);
    pl_builder b = pl_builder_new(a, &pl_ops_all, args.spec);
    pl_model_build(&b, &args, PL_TRAIN);
    pl_optim_add(&b, &sgd, pl_graph_find(b.graph, "loss"));
    ok = pl_builder_done(&b, &g, &err) && pl_strategy_parse("zero=3,tp=2", 4, a, &s, &err) &&
         pl_strategy_plan(&s, g, NULL, a, &p, &err);
    PL_ASSERT(ok);
    return p;
}

static const char *print(const pl_program *p, pl_arena *a)
{
    pl_text t = { .arena = a };
    pl_program_print(p, &t);
    return pl_text_get(&t);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    pl_arena *a = pl_arena_new("fuzz");
    const pl_plan *plan = make_plan(a);
    pl_program *p, *again;
    pl_err err = { 0 }, wrong = { 0 };
    if (pl_program_parse(pl_arena_span(a, (const char *)bytes, n), plan, a, &p, &err)) {
        const char *text = print(p, a);
        if (!pl_program_parse(text, plan, a, &again, &err))
            pl_bug(__FILE__, __LINE__, "%s\n%s", err.msg, text);
        PL_ASSERT(!strcmp(text, print(again, a)));
        if (!pl_program_check(p, &wrong)) PL_ASSERT(*wrong.msg);
    } else {
        PL_ASSERT(err.code == PL_EINPUT && *err.msg);
    }
    pl_arena_free(a);
    return 0;
}
