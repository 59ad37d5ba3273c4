/* libFuzzer target: any bytes as an ONNX model; what opens is made a graph with every symbol bound
 * to 3, and what is made passes the graph's own check. No more memory is asked for than a multiple
 * of what the file has, and ROOM for the rounds of its loops. */
#include "import/onnx.h"

#include "ops/lib/all.h"

#include <string.h>

enum { MOST_PORTS = 64, ROOM = 512 << 20, TIMES = 4096 };

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n);

static void check_code(const pl_err *err)
{
    PL_ASSERT(err->code == PL_EINPUT || err->code == PL_EUNSUPPORTED);
    PL_ASSERT(*err->msg);
}

static void build(const pl_onnx *f, pl_arena *a)
{
    pl_onnx_bind bind[MOST_PORTS * PL_MAX_RANK];
    pl_onnx_options o = { .bind = bind };
    pl_value *out[MOST_PORTS] = { 0 };
    pl_graph *g;
    pl_err err = { 0 };
    if (f->n_in > MOST_PORTS || f->n_out > MOST_PORTS) return;
    for (int i = 0; i < f->n_in; i++)
        for (int d = 0; d < f->in[i].rank; d++)
            if (f->in[i].dim[d] < 0) bind[o.n_binds++] = (pl_onnx_bind){ f->in[i].symbol[d], 3 };
    pl_builder b = pl_builder_new(a, &pl_ops_all, "fuzz");
    pl_onnx_add(&b, f, &o, out);
    if (!pl_builder_done(&b, &g, &err))
        check_code(&err);
    else if (!pl_graph_check(g, &err))
        pl_bug(__FILE__, __LINE__, "%s", err.msg);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    pl_arena *a = pl_arena_new("fuzz");
    pl_onnx *f;
    pl_err err = { 0 };
    if (pl_onnx_parse(bytes, n, "fuzz.onnx", a, &f, &err))
        build(f, a);
    else
        check_code(&err);
    PL_ASSERT_CMP(pl_arena_bytes(a), <=, ROOM + TIMES * (long long)n);
    pl_arena_free(a);
    return 0;
}
