/* libFuzzer target: any bytes as a log of clicks, compressed or not; what is read has labels of 0
 * and 1, finite numbers, and ids of the rows of their tables. */
#include "base/file.h"
#include "data/clicks.h"
#include "models/model.h"
#include "ops/lib/all.h"

#include <math.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n);

static const pl_graph *make_graph(pl_arena *a)
{
    pl_model_args args;
    pl_graph *g;
    pl_err err = { 0 };
    PL_ASSERT(
        pl_model_parse("dlrm:dense=2,sizes=3-50,embed=2,bottom=2,top=2,batch=1", a, &args, &err));
    pl_builder b = pl_builder_new(a, &pl_ops_all, "clicks");
    pl_model_build(&b, &args, PL_TRAIN);
    PL_ASSERT(pl_builder_done(&b, &g, &err));
    return g;
}

static void check(const pl_data *d)
{
    static const double below[] = { 3, 50 };
    const pl_tensors *t = &d->tensors;
    for (int64_t i = 0; i < d->n; i++) {
        const double label = pl_tensor_get(&t->tensor[pl_tensors_find(t, "label")], i);
        PL_ASSERT(label == 0 || label == 1);
        for (int k = 0; k < 2; k++) {
            const char *name = k ? "cat_1" : "cat_0";
            const double id = pl_tensor_get(&t->tensor[pl_tensors_find(t, name)], i);
            PL_ASSERT(id >= 0 && id < below[k]);
            PL_ASSERT(isfinite(pl_tensor_get(&t->tensor[pl_tensors_find(t, "dense")], 2 * i + k)));
        }
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    static const pl_graph *g;
    if (!g) g = make_graph(pl_arena_new("fuzzed model")); /* for as long as the process lives */
    const int fd = memfd_create("log", 0);
    char path[64];
    pl_arena *a = pl_arena_new("fuzz");
    pl_data d;
    pl_err err = { 0 };
    PL_ASSERT(fd >= 0 && write(fd, bytes, n) == (ssize_t)n);
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    if (pl_data_clicks_open(path, 0.5, false, 1, &g, a, &d, &err)) {
        PL_ASSERT(d.n > 1);
        check(&d);
        pl_data_free(&d);
    } else {
        PL_ASSERT_CMP(err.code, ==, PL_EINPUT);
    }
    close(fd);
    pl_arena_free(a);
    return 0;
}
