/* The ONNX project's own cases (Debian's libonnx-testdata): every one whose operators are mapped
 * has to give what the project says. Each case that is left out has a reason, and all of them are
 * counted. */
#include "base/file.h"
#include "graph/op.h"
#include "import/onnx.h"
#include "ops/lib/all.h"
#include "../ops/eval.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

enum { MOST = 16, MOST_REASONS = 64, MOST_OPS = 256 };

static const char usual[] = "/usr/lib/python3/dist-packages/onnx/backend/test/data";

typedef struct tally {
    char text[120];
    int n, of; /* cases of it that passed; all */
} tally;

typedef struct run {
    int passed, failed;
    int n_reasons, n_ops, n_unknown;
    tally reason[MOST_REASONS], op[MOST_OPS], unknown[MOST_OPS]; /* left out, by why; by operator */
} run;

static void count(tally at[], int *n, int most, const char *text, bool passed)
{
    int i = 0;
    while (i < *n && strcmp(at[i].text, text) != 0) i++;
    if (i == most) return;
    if (i == *n) {
        snprintf(at[i].text, sizeof at[i].text, "%s", text);
        ++*n;
    }
    at[i].n += passed;
    at[i].of++;
}

/* What the case is about: the operator of its last node. */
static const char *operator_of(const pl_onnx *f)
{
    const Onnx__GraphProto *g = f ? f->file.graph : NULL;
    return g && g->n_node ? g->node[g->n_node - 1]->op_type : "(not opened)";
}

/* -- a case ------------------------------------------------------------------------------------ */

typedef struct example {
    pl_arena *a;
    const char *folder;
    pl_onnx *onnx;
    int n_in, n_out;
    pl_tensor in[MOST], out[MOST];
} example;

static bool is_too_large(const pl_tensor *t)
{
    for (int64_t i = 0; i < pl_shape_count(&t->shape) && t->stored->bytes == 8; i++)
        if (t->type == PL_F32 && fabs(pl_tensor_get(t, i)) > 3.4e38) return true;
    return false;
}

/* Returns NULL, or why the tensor cannot be had. */
static const char *read_tensor(example *e, const char *kind, int i, pl_tensor *out)
{
    const char *path = pl_arena_fmt(e->a, "%s/test_data_set_0/%s_%d.pb", e->folder, kind, i), *text;
    pl_err err = { 0 };
    size_t n;
    struct stat s;
    if (stat(path, &s)) return "no such file";
    if (!pl_file_read(path, 1 << 30, e->a, &text, &n, &err)) return "unreadable";
    Onnx__TensorProto *m = onnx__tensor_proto__unpack(NULL, n, (const uint8_t *)text);
    if (!m) return "its data is no tensor";
    const char *why = NULL;
    if (!pl_tensor_read(m, "x", e->a, out, &err))
        why = pl_arena_fmt(e->a, "of type %s", pl_stored_name(m->data_type));
    else if (out->data && is_too_large(out))
        why = "of doubles that are no f32";
    else if (out->data) {
        void *copy = pl_arena_get(e->a, (size_t)out->bytes + 1, 1);
        memcpy(copy, out->data, (size_t)out->bytes);
        out->data = copy;
    } else
        why = "its data is no tensor";
    onnx__tensor_proto__free_unpacked(m, NULL);
    return why;
}

static const char *read_tensors(example *e, const char *kind, int most, pl_tensor at[], int *n)
{
    for (*n = 0; *n < most && *n < MOST; ++*n) {
        const char *why = read_tensor(e, kind, *n, &at[*n]);
        if (why && !strcmp(why, "no such file")) break;
        if (why) return why;
    }
    return NULL;
}

/* Cases whose numbers nobody has: the project scales by u s - 1, PyTorch and onnxruntime by the
 * size that there is, as the specification's text says. */
static bool is_disputed(const char *folder)
{
    static const char *const names[] = { "test_resize_downsample_scales_cubic_align_corners",
                                         "test_resize_downsample_scales_linear_align_corners" };
    for (int i = 0; i < 2; i++)
        if (strstr(folder, names[i])) return true;
    return false;
}

/* -- running it -------------------------------------------------------------------------------- */

static void fill_weight(const example *e, const pl_value *v, void *to)
{
    void *map;
    size_t bytes;
    const void *at;
    pl_err err = { 0 };
    for (int i = 0; i < e->onnx->file.n; i++) {
        const pl_tensor *t = &e->onnx->file.tensor[i];
        if (strcmp(t->name, v->name) != 0) continue;
        assert_true(pl_tensor_map(t, &at, &map, &bytes, &err));
        pl_tensor_convert(t, at, pl_shape_count(&v->shape), to);
        pl_tensor_unmap(map, bytes);
        return;
    }
    fail_msg("no tensor %s", v->name);
}

static void fill_state(const example *e, const pl_value *v, void *to)
{
    const char *at = v->init + strlen("values");
    if (!strcmp(v->init, "file")) {
        fill_weight(e, v, to);
        return;
    }
    assert_int_equal(strncmp(v->init, "values", 6), 0);
    for (int64_t i = 0; i < pl_shape_count(&v->shape); i++) {
        char *end;
        pl_type_put(v->type, to, i, strtod(at, &end));
        assert_true(end > at);
        at = end;
    }
}

static void fill(const example *e, eval *x)
{
    for (int i = 0; i < x->graph->values.n; i++) {
        const pl_value *v = x->graph->values.at[i];
        if (v->role == PL_STATE) fill_state(e, v, x->at[i]);
        for (int k = 0; k < e->onnx->n_in && v->role == PL_INPUT; k++)
            if (!strcmp(e->onnx->in[k].name, v->name))
                pl_tensor_convert(&e->in[k], e->in[k].data, pl_shape_count(&v->shape), x->at[i]);
    }
}

static bool is_near(double got, double want)
{
    if (isnan(want)) return isnan(got);
    if (isinf(want)) return got == want || fabs(got) > 3e38;
    return fabs(got - want) <= 1e-5 + 1e-3 * fabs(want);
}

static bool compare(const pl_tensor *want, const pl_value *v, const void *got, char *why,
                    size_t room)
{
    if (!pl_shape_same(&want->shape, &v->shape)) {
        snprintf(why, room, "another shape: rank %d of %d elements for rank %d of %d",
                 v->shape.rank, (int)pl_shape_count(&v->shape), want->shape.rank,
                 (int)pl_shape_count(&want->shape));
        return false;
    }
    for (int64_t i = 0; i < pl_shape_count(&v->shape); i++) {
        double x = pl_type_get(v->type, got, i), y = pl_tensor_get(want, i);
        if (is_near(x, y)) continue;
        snprintf(why, room, "element %d is %g, not %g", (int)i, x, y);
        return false;
    }
    return true;
}

/* Every output through a node of its own: it may be an input, or one that another output is. */
static pl_value *own(pl_builder *b, pl_value *v, int i)
{
    if (!v) return NULL;
    v = PL_ADD(b, pl_ops_find(&pl_ops_all, "cast"),
               pl_builder_fmt(b, "; to=%s", pl_type_name(v->type)), v);
    if (v) pl_add_output(b, pl_builder_fmt(b, "out.%d", i), v);
    return v;
}

/* Build with inputs [from, n) known at import. 1: as it should be, 0: not, -1: not built (b's
 * error). */
static int run_from(example *e, int from, pl_err *err, char *why, size_t room)
{
    pl_onnx_fixed fixed[MOST];
    pl_onnx_options o = { .fixed = fixed, .train = true };
    pl_value *out[MOST] = { 0 };
    pl_builder b = pl_builder_new(e->a, &pl_ops_all, "case");
    pl_graph *g;
    for (int k = from; k < e->n_in; k++)
        fixed[o.n_fixed++] = (pl_onnx_fixed){ e->onnx->in[k].name, e->in[k] };
    pl_onnx_add(&b, e->onnx, &o, out);
    for (int i = 0; i < e->onnx->n_out; i++) out[i] = own(&b, out[i], i);
    if (!pl_builder_done(&b, &g, err)) return -1;
    if (pl_graph_find(g, "seed")) {
        *err = (pl_err){ 0 };
        return pl_err_set(err, PL_EUNSUPPORTED, "): its answer is one of random numbers"), -1;
    }
    eval x = eval_new(g);
    fill(e, &x);
    eval_run(&x, g->nodes.n);
    bool ok = true;
    for (int i = 0; i < e->n_out && ok; i++)
        ok = compare(&e->out[i], out[i], x.at[out[i]->id], why, room);
    eval_free(&x);
    return ok;
}

/* Shapes of the inputs are in the model; where one is empty nothing of it is read. */
static const char *left_out(const example *e)
{
    if (is_disputed(e->folder)) return "align_corners of a size that is not whole";
    for (int k = 0; k < e->onnx->n_in; k++)
        for (int i = 0; i < e->onnx->in[k].rank; i++)
            if (e->onnx->in[k].dim[i] < 0) return "an input's size is a symbol";
    for (int k = 0; k < e->n_out; k++)
        if (!pl_shape_count(&e->out[k].shape)) return "an empty output";
    if (e->n_in != e->onnx->n_in) return "an input that is left out";
    for (int k = 0; k < e->n_in; k++)
        if (e->in[k].type != e->onnx->in[k].type) return "data of another type than the input's";
    for (int k = 0; k < e->n_out; k++)
        if (e->out[k].type != e->onnx->out[k].type) return "data of another type than the output's";
    for (int k = 0; k < e->n_in; k++)
        if (e->onnx->in[k].rank != e->in[k].shape.rank)
            return "data of another shape than the input's";
    return NULL;
}

/* What follows from a refusal that is right. */
static const char *reason_of(const pl_err *err, pl_arena *a)
{
    const char *at = strstr(err->msg, "not supported: ");
    if (at) return "an operator that is not mapped";
    at = strstr(err->msg, "): ");
    return pl_arena_span(
        a, at ? at + 3 : err->msg,
        strcspn(at ? at + 3 : err->msg, "\n") > 100 ? 100 : strlen(at ? at + 3 : err->msg));
}

static void run_case(run *r, const char *folder)
{
    example e = { .a = pl_arena_new("case"), .folder = folder };
    pl_err err = { 0 };
    char text[200] = "";
    const char *why = NULL;
    int ok = -1;
    if (!pl_onnx_open(pl_arena_fmt(e.a, "%s/model.onnx", folder), e.a, &e.onnx, &err))
        why = pl_arena_text(e.a,
                            strstr(err.msg, ".onnx: ") ? strstr(err.msg, ".onnx: ") + 7 : err.msg);
    if (!why) why = read_tensors(&e, "input", e.onnx->n_in, e.in, &e.n_in);
    if (!why) why = read_tensors(&e, "output", e.onnx->n_out, e.out, &e.n_out);
    if (!why) why = left_out(&e);
    for (int from = e.n_in; !why && from >= 0 && ok<0; from = from> 1 ? 1 : from - 1) {
        err = (pl_err){ 0 };
        ok = run_from(&e, from, &err, text, sizeof text);
    }
    if (!why && ok < 0) {
        if (err.code == PL_EUNSUPPORTED)
            why = reason_of(&err, e.a);
        else
            snprintf(text, sizeof text, "%s", err.msg), ok = 0;
    }
    const bool known = !why || strcmp(why, "an operator that is not mapped") != 0;
    if (why) count(r->reason, &r->n_reasons, MOST_REASONS, why, false);
    if (!known) {
        count(r->unknown, &r->n_unknown, MOST_OPS, operator_of(e.onnx), false);
    } else {
        count(r->op, &r->n_ops, MOST_OPS, operator_of(e.onnx), ok == 1);
    }
    if (ok == 1) {
        r->passed++;
    } else if (!why) {
        r->failed++;
        printf("FAILED %s: %s\n", strrchr(folder, '/') + 1, text);
    }
    pl_arena_free(e.a);
}

static void run_folder(run *r, const char *data, const char *kind)
{
    pl_arena *a = pl_arena_new("cases");
    const char *folder = pl_file_join(a, data, kind), **name;
    pl_err err = { 0 };
    int n;
    if (!pl_file_list(folder, a, &n, &name, &err)) fail_msg("%s", err.msg);
    for (int i = 0; i < n; i++) run_case(r, pl_file_join(a, folder, name[i]));
    pl_arena_free(a);
}

static void test_cases(void **state)
{
    const char *data = getenv("ONNX_TEST_DATA") ? getenv("ONNX_TEST_DATA") : usual;
    static run r;
    struct stat s;
    (void)state;
    if (stat(data, &s)) {
        printf("SKIPPED: no cases at %s: install libonnx-testdata, or set ONNX_TEST_DATA\n", data);
        return;
    }
    run_folder(&r, data, "node");
    run_folder(&r, data, "pytorch-converted");
    run_folder(&r, data, "pytorch-operator");
    run_folder(&r, data, "simple");
    printf("%d passed, %d failed\npassed of all, by operator:", r.passed, r.failed);
    for (int i = 0; i < r.n_ops; i++) printf(" %s %d/%d", r.op[i].text, r.op[i].n, r.op[i].of);
    printf("\nnot mapped:");
    for (int i = 0; i < r.n_unknown; i++) printf(" %s %d", r.unknown[i].text, r.unknown[i].of);
    printf("\nleft out:\n");
    for (int i = 0; i < r.n_reasons; i++) printf("%6d  %s\n", r.reason[i].of, r.reason[i].text);
    assert_int_equal(r.failed, 0);
    assert_true(r.passed >= 400);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_cases) };
    return cmocka_run_group_tests_name("onnx cases", tests, NULL, NULL);
}
