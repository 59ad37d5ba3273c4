#include "backends/onednn/prim.h"

#include <omp.h>
#include <string.h>

static const char *status_text(dnnl_status_t s)
{
    switch (s) {
    case dnnl_success: return "success";
    case dnnl_out_of_memory: return "out of memory";
    case dnnl_invalid_arguments: return "invalid arguments";
    case dnnl_unimplemented: return "not implemented for this CPU, layout or type";
    case dnnl_runtime_error: return "runtime error";
    default: return "failed";
    }
}

bool pl_prim_check(dnnl_status_t status, const char *what, pl_err *err)
{
    if (status == dnnl_success) return true;
    return pl_err_set(err, PL_EUNSUPPORTED, "oneDNN: %s: %s", what, status_text(status));
}

bool pl_prim_layout(int n, const int64_t dim[], const int64_t step[], pl_type type,
                    dnnl_memory_desc_t *out, pl_err *err)
{
    dnnl_dims_t d = { 0 }, s = { 0 };
    for (int i = 0; i < n; i++) d[i] = dim[i], s[i] = step[i];
    return pl_prim_check(
        dnnl_memory_desc_init_by_strides(out, n, d, type == PL_F32 ? dnnl_f32 : dnnl_bf16, s),
        "layout", err);
}

/* Primitives fix at creation how they spread over threads: the caller's setting at that moment. */
static int set_threads(int n)
{
    int before = omp_get_max_threads();
    omp_set_num_threads(n);
    return before;
}

static dnnl_status_t make_attr(bool add, dnnl_primitive_attr_t *attr)
{
    dnnl_status_t status = dnnl_primitive_attr_create(attr);
    if (status == dnnl_success)
        status = dnnl_primitive_attr_set_scratchpad_mode(*attr, dnnl_scratchpad_mode_user);
    if (status != dnnl_success || !add) return status;
    dnnl_post_ops_t ops = NULL;
    status = dnnl_post_ops_create(&ops);
    if (status == dnnl_success) status = dnnl_post_ops_append_sum(ops, 1);
    if (status == dnnl_success) status = dnnl_primitive_attr_set_post_ops(*attr, ops);
    if (ops) dnnl_post_ops_destroy(ops);
    return status;
}

/* oneDNN 2.6.3 generates its AMX convolution on brgemm from a table that it reads past the end of:
 * bf16, stride 2 on 2 threads dies while the primitive is created when that memory ends there. And
 * later versions mended wrong results of it for strides (oneDNN pull request 5494). There is
 * another AMX convolution, which comes next. */
static bool is_avoided(const_dnnl_primitive_desc_t pd)
{
    const char *name = NULL;
    dnnl_status_t status =
        dnnl_primitive_desc_query(pd, dnnl_query_impl_info_str, 0, (void *)&name);
    return status == dnnl_success && !strncmp(name, "brgconv", 7) && strstr(name, "amx");
}

/* The library's first choice that is not avoided. */
static dnnl_status_t choose(dnnl_engine_t engine, const_dnnl_op_desc_t desc,
                            const_dnnl_primitive_desc_t hint, const_dnnl_primitive_attr_t attr,
                            dnnl_primitive_desc_t *out)
{
    dnnl_primitive_desc_iterator_t it = NULL;
    dnnl_status_t status = dnnl_primitive_desc_iterator_create(&it, desc, attr, engine, hint);
    while (status == dnnl_success) {
        *out = dnnl_primitive_desc_iterator_fetch(it);
        if (!*out)
            status = dnnl_out_of_memory;
        else if (!is_avoided(*out))
            break;
        else {
            dnnl_primitive_desc_destroy(*out);
            *out = NULL;
            status = dnnl_primitive_desc_iterator_next(it);
        }
    }
    if (it) dnnl_primitive_desc_iterator_destroy(it);
    return status == dnnl_iterator_ends ? dnnl_unimplemented : status;
}

bool pl_prim_describe(dnnl_engine_t engine, const_dnnl_op_desc_t desc,
                      const_dnnl_primitive_desc_t hint, bool add, int n_threads,
                      dnnl_primitive_desc_t *out, pl_err *err)
{
    dnnl_primitive_attr_t attr = NULL;
    dnnl_status_t status = make_attr(add, &attr);
    int before = set_threads(n_threads);
    if (status == dnnl_success) status = choose(engine, desc, hint, attr, out);
    set_threads(before);
    if (attr) dnnl_primitive_attr_destroy(attr);
    return pl_prim_check(status, "primitive descriptor", err);
}

static int64_t reserve(int64_t *total, size_t bytes)
{
    int64_t at = *total;
    *total += ((int64_t)bytes + 63) / 64 * 64;
    return at;
}

static dnnl_status_t make_memory(const dnnl_memory_desc_t *md, dnnl_engine_t engine,
                                 dnnl_memory_t *out)
{
    return dnnl_memory_create(out, md, engine, DNNL_MEMORY_NONE);
}

/* With scratchpads of the caller, since the library's own are shared by what one thread creates. */
static dnnl_status_t describe_reorder(dnnl_engine_t engine, const dnnl_memory_desc_t *from,
                                      const dnnl_memory_desc_t *to, dnnl_primitive_desc_t *out)
{
    dnnl_primitive_attr_t attr = NULL;
    dnnl_status_t status = make_attr(false, &attr);
    if (status == dnnl_success)
        status = dnnl_reorder_primitive_desc_create(out, from, engine, to, engine, attr);
    if (attr) dnnl_primitive_attr_destroy(attr);
    return status;
}

/* Between the layouts of one part; such a reorder wants no scratchpad (int8 ones do). */
static dnnl_status_t make_reorder(dnnl_engine_t engine, const dnnl_memory_desc_t *from,
                                  const dnnl_memory_desc_t *to, dnnl_primitive_t *out)
{
    dnnl_primitive_desc_t pd = NULL;
    dnnl_status_t status = describe_reorder(engine, from, to, &pd);
    if (status != dnnl_success) return status;
    const dnnl_memory_desc_t *pad =
        dnnl_primitive_desc_query_md(pd, dnnl_query_exec_arg_md, DNNL_ARG_SCRATCHPAD);
    if (pad && dnnl_memory_desc_get_size(pad))
        status = dnnl_unimplemented;
    else
        status = dnnl_primitive_create(out, pd);
    dnnl_primitive_desc_destroy(pd);
    return status;
}

static dnnl_status_t add_part(pl_prim *p, dnnl_engine_t engine, const_dnnl_primitive_desc_t pd,
                              const pl_prim_part *x, int64_t *bytes)
{
    const dnnl_memory_desc_t *md = dnnl_primitive_desc_query_md(pd, dnnl_query_exec_arg_md, x->arg);
    if (!md) return dnnl_runtime_error;
    int i = p->n++;
    p->part[i].arg = x->arg;
    p->part[i].is_output = x->is_output;
    dnnl_status_t status = make_memory(&x->plain, engine, &p->part[i].plain);
    if (status != dnnl_success) return status;
    if (dnnl_memory_desc_equal(&x->plain, md)) {
        p->part[i].wanted = p->part[i].plain;
        return status;
    }
    status = make_memory(md, engine, &p->part[i].wanted);
    if (status != dnnl_success) return status;
    p->part[i].wanted_at = reserve(bytes, dnnl_memory_desc_get_size(md));
    return make_reorder(engine, x->is_output ? md : &x->plain, x->is_output ? &x->plain : md,
                        &p->part[i].reorder);
}

static dnnl_status_t make_all(pl_prim *p, dnnl_engine_t engine, const_dnnl_primitive_desc_t pd,
                              int n, const pl_prim_part part[], int64_t *bytes)
{
    dnnl_status_t status = dnnl_stream_create(&p->stream, engine, dnnl_stream_default_flags);
    if (status == dnnl_success) status = dnnl_primitive_create(&p->primitive, pd);
    for (int i = 0; status == dnnl_success && i < n; i++)
        status = add_part(p, engine, pd, &part[i], bytes);
    const dnnl_memory_desc_t *pad =
        dnnl_primitive_desc_query_md(pd, dnnl_query_exec_arg_md, DNNL_ARG_SCRATCHPAD);
    size_t pad_bytes = pad ? dnnl_memory_desc_get_size(pad) : 0;
    if (status != dnnl_success || !pad_bytes) return status;
    p->scratchpad_at = reserve(bytes, pad_bytes);
    return make_memory(pad, engine, &p->scratchpad);
}

bool pl_prim_make(pl_prim *p, dnnl_engine_t engine, dnnl_primitive_desc_t pd, int n,
                  const pl_prim_part part[], int n_threads, int64_t *scratch_bytes, pl_err *err)
{
    PL_ASSERT_CMP(n, <=, PL_PRIM_PARTS);
    int before = set_threads(n_threads);
    dnnl_status_t status = make_all(p, engine, pd, n, part, scratch_bytes);
    set_threads(before);
    dnnl_primitive_desc_destroy(pd);
    return pl_prim_check(status, "primitive", err);
}

bool pl_prim_make_copy(pl_prim *p, dnnl_engine_t engine, const dnnl_memory_desc_t *from,
                       const dnnl_memory_desc_t *to, int n_threads, int64_t *scratch_bytes,
                       pl_err *err)
{
    dnnl_primitive_desc_t pd = NULL;
    int before = set_threads(n_threads);
    dnnl_status_t status = describe_reorder(engine, from, to, &pd);
    set_threads(before);
    PL_TRY(pl_prim_check(status, "reorder", err));
    pl_prim_part part[2] = { { DNNL_ARG_FROM, false, *from }, { DNNL_ARG_TO, true, *to } };
    return pl_prim_make(p, engine, pd, 2, part, n_threads, scratch_bytes, err);
}

static void point(dnnl_memory_t m, void *at)
{
    dnnl_status_t status = dnnl_memory_set_data_handle(m, at);
    PL_ASSERT_CMP(status, ==, dnnl_success);
}

static void execute(const pl_prim *p, dnnl_primitive_t x, int n, const dnnl_exec_arg_t arg[])
{
    dnnl_status_t status = dnnl_primitive_execute(x, p->stream, n, arg);
    if (status != dnnl_success)
        pl_bug(__FILE__, __LINE__, "oneDNN: execute: %s", status_text(status));
}

static void run_reorder(const pl_prim *p, int i)
{
    bool out = p->part[i].is_output;
    dnnl_exec_arg_t arg[2] = { { DNNL_ARG_FROM, out ? p->part[i].wanted : p->part[i].plain },
                               { DNNL_ARG_TO, out ? p->part[i].plain : p->part[i].wanted } };
    execute(p, p->part[i].reorder, 2, arg);
}

void pl_prim_run(pl_prim *p, void *const data[], void *scratch)
{
    char *room = scratch;
    dnnl_exec_arg_t arg[PL_PRIM_PARTS + 1];
    int n = 0;
    for (int i = 0; i < p->n; i++) {
        point(p->part[i].plain, data[i]);
        if (p->part[i].reorder) point(p->part[i].wanted, room + p->part[i].wanted_at);
        if (p->part[i].reorder && !p->part[i].is_output) run_reorder(p, i);
        arg[n++] = (dnnl_exec_arg_t){ p->part[i].arg, p->part[i].wanted };
    }
    if (p->scratchpad) {
        point(p->scratchpad, room + p->scratchpad_at);
        arg[n++] = (dnnl_exec_arg_t){ DNNL_ARG_SCRATCHPAD, p->scratchpad };
    }
    execute(p, p->primitive, n, arg);
    for (int i = 0; i < p->n; i++)
        if (p->part[i].reorder && p->part[i].is_output) run_reorder(p, i);
}

void pl_prim_free(pl_prim *p)
{
    for (int i = 0; i < p->n; i++) {
        if (p->part[i].reorder) dnnl_primitive_destroy(p->part[i].reorder);
        if (p->part[i].wanted && p->part[i].wanted != p->part[i].plain)
            dnnl_memory_destroy(p->part[i].wanted);
        if (p->part[i].plain) dnnl_memory_destroy(p->part[i].plain);
    }
    if (p->scratchpad) dnnl_memory_destroy(p->scratchpad);
    if (p->primitive) dnnl_primitive_destroy(p->primitive);
    if (p->stream) dnnl_stream_destroy(p->stream);
    *p = (pl_prim){ 0 };
}
