/* Files that are wrong: each is refused with its code and a message that names the node or tensor,
 * the field and the numbers; none is believed about sizes. */
#include "import/onnx.h"
#include "ops/lib/all.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { MOST = 8 };

/* A model of one input x f32[2,3], one weight w f32[2,3], and nodes; what a case changes. */
typedef struct model {
    Onnx__ModelProto model;
    Onnx__GraphProto graph;
    Onnx__OperatorSetIdProto opset, *opsets[1];
    Onnx__ValueInfoProto in, out, *ins[1], *outs[1];
    Onnx__TypeProto type, out_type;
    Onnx__TypeProto__Tensor tensor, out_tensor;
    Onnx__TensorShapeProto shape;
    Onnx__TensorShapeProto__Dimension dim[2], *dims[2];
    Onnx__TensorProto weight, twin, *weights[2];
    int64_t sizes[MOST];
    float data[6];
    Onnx__NodeProto node[MOST], *nodes[MOST];
    char *names[MOST][4];
    Onnx__StringStringEntryProto entry[3], *entries[3];
    Onnx__AttributeProto attribute, *attributes[1];
    int64_t numbers[MOST];
} model;

static void add_node(model *m, const char *op, const char *a, const char *b, const char *out)
{
    const size_t i = m->graph.n_node++;
    Onnx__NodeProto *n = &m->node[i];
    onnx__node_proto__init(n);
    m->nodes[i] = n;
    n->op_type = (char *)(uintptr_t)op;
    n->name = (char *)(uintptr_t)out;
    m->names[i][0] = (char *)(uintptr_t)a;
    m->names[i][1] = (char *)(uintptr_t)b;
    m->names[i][2] = (char *)(uintptr_t)out;
    n->n_input = b ? 2 : 1;
    n->input = m->names[i];
    n->n_output = 1;
    n->output = &m->names[i][2];
}

static void init_ports(model *m)
{
    onnx__value_info_proto__init(&m->in);
    onnx__value_info_proto__init(&m->out);
    onnx__type_proto__init(&m->type);
    onnx__type_proto__init(&m->out_type);
    onnx__type_proto__tensor__init(&m->tensor);
    onnx__type_proto__tensor__init(&m->out_tensor);
    onnx__tensor_shape_proto__init(&m->shape);
    for (int i = 0; i < 2; i++) {
        onnx__tensor_shape_proto__dimension__init(&m->dim[i]);
        m->dim[i].has_dim_value = 1;
        m->dim[i].dim_value = 2 + i;
        m->dims[i] = &m->dim[i];
    }
    m->shape.n_dim = 2, m->shape.dim = m->dims;
    m->tensor.has_elem_type = 1, m->tensor.elem_type = 1, m->tensor.shape = &m->shape;
    m->out_tensor.has_elem_type = 1, m->out_tensor.elem_type = 1;
    m->type.tensor_type = &m->tensor;
    m->out_type.tensor_type = &m->out_tensor;
    m->in.name = (char *)(uintptr_t) "x", m->in.type = &m->type;
    m->out.name = (char *)(uintptr_t) "y", m->out.type = &m->out_type;
    m->ins[0] = &m->in, m->outs[0] = &m->out;
    m->graph.n_input = m->graph.n_output = 1;
    m->graph.input = m->ins, m->graph.output = m->outs;
}

static void init_weight(Onnx__TensorProto *t, model *m, const char *name)
{
    onnx__tensor_proto__init(t);
    t->name = (char *)(uintptr_t)name;
    t->has_data_type = 1, t->data_type = 1;
    t->n_dims = 2, t->dims = m->sizes;
    t->n_float_data = 6, t->float_data = m->data;
}

static void init(model *m)
{
    memset(m, 0, sizeof *m);
    onnx__model_proto__init(&m->model);
    onnx__graph_proto__init(&m->graph);
    onnx__operator_set_id_proto__init(&m->opset);
    onnx__attribute_proto__init(&m->attribute);
    m->model.has_ir_version = 1, m->model.ir_version = 8;
    m->model.graph = &m->graph;
    m->opset.has_version = 1, m->opset.version = 17;
    m->opsets[0] = &m->opset;
    m->model.n_opset_import = 1, m->model.opset_import = m->opsets;
    m->sizes[0] = 2, m->sizes[1] = 3;
    init_weight(&m->weight, m, "w");
    init_weight(&m->twin, m, "w");
    m->weights[0] = &m->weight, m->weights[1] = &m->twin;
    m->graph.n_initializer = 1, m->graph.initializer = m->weights;
    m->graph.node = m->nodes;
    init_ports(m);
    for (int i = 0; i < 3; i++) {
        onnx__string_string_entry_proto__init(&m->entry[i]);
        m->entries[i] = &m->entry[i];
    }
    m->attributes[0] = &m->attribute;
}

static void set_external(model *m, const char *location, const char *offset, const char *length)
{
    const char *keys[] = { "location", "offset", "length" },
               *values[] = { location, offset, length };
    m->weight.n_float_data = 0;
    m->weight.has_data_location = 1, m->weight.data_location = 1;
    m->weight.external_data = m->entries;
    for (int i = 0; i < 3 && values[i]; i++) {
        m->entry[i].key = (char *)(uintptr_t)keys[i];
        m->entry[i].value = (char *)(uintptr_t)values[i];
        m->weight.n_external_data = (size_t)i + 1;
    }
}

static void set_ints(model *m, int node, const char *name, int n, const int64_t at[])
{
    m->attribute.name = (char *)(uintptr_t)name;
    memcpy(m->numbers, at, (size_t)n * sizeof *at);
    m->attribute.n_ints = (size_t)n, m->attribute.ints = m->numbers;
    m->node[node].n_attribute = 1, m->node[node].attribute = m->attributes;
}

/* -- cases ------------------------------------------------------------------------------------- */

static void add_good(model *m)
{
    add_node(m, "Add", "x", "w", "y");
}
static void huge(model *m)
{
    add_good(m), m->sizes[0] = m->sizes[1] = INT64_C(1) << 31;
}
static void huge_product(model *m)
{
    add_good(m), m->sizes[0] = m->sizes[1] = INT64_C(1) << 40;
}
static void negative(model *m)
{
    add_good(m), m->sizes[1] = -3;
}
static void too_little(model *m)
{
    add_good(m), m->weight.n_float_data = 5;
}
static void no_data(model *m)
{
    add_good(m), m->weight.n_float_data = 0;
}
static void type_of_strings(model *m)
{
    add_good(m), m->weight.data_type = 8;
}
static void weight_of_bf16(model *m)
{
    add_good(m), m->weight.data_type = 16, m->weight.n_float_data = 0;
    m->weight.has_raw_data = 1;
    m->weight.raw_data = (ProtobufCBinaryData){ 12, (uint8_t *)m->data };
}
static void type_unknown(model *m)
{
    add_good(m), m->weight.data_type = 99;
}
static void no_name(model *m)
{
    add_good(m), m->weight.name = NULL;
}
static void same_name(model *m)
{
    add_good(m), m->graph.n_initializer = 2;
}
static void same_output(model *m)
{
    add_good(m), add_node(m, "Relu", "x", NULL, "y");
}
static void cycle(model *m)
{
    add_node(m, "Add", "x", "z", "y");
    add_node(m, "Relu", "y", NULL, "z");
}
static void missing(model *m)
{
    add_node(m, "Relu", "nobody", NULL, "y");
}
static void no_output(model *m)
{
    add_node(m, "Relu", "x", NULL, "z");
}
static void unknown(model *m)
{
    add_node(m, "Fancy", "x", NULL, "a");
    add_node(m, "Fancy", "a", NULL, "b");
    add_node(m, "Unheard", "b", NULL, "y");
}
static void shapes(model *m)
{
    add_good(m), m->dim[1].dim_value = 5;
}
static void escape(model *m)
{
    add_good(m), set_external(m, "../secret", NULL, NULL);
}
static void escape_inside(model *m)
{
    add_good(m), set_external(m, "a/../../b", NULL, NULL);
}
static void absolute(model *m)
{
    add_good(m), set_external(m, "/etc/passwd", NULL, NULL);
}
static void offset(model *m)
{
    add_good(m), set_external(m, "w.data", "-8", NULL);
}
static void length(model *m)
{
    add_good(m), set_external(m, "w.data", "0", "25");
}
static void permutation(model *m)
{
    static const int64_t twice[] = { 0, 0 };
    add_node(m, "Transpose", "x", NULL, "y");
    set_ints(m, 0, "perm", 2, twice);
}
static void axis(model *m)
{
    static const int64_t far[] = { 7 };
    add_node(m, "ReduceSum", "x", NULL, "y");
    m->opset.version = 11;
    set_ints(m, 0, "axes", 1, far);
}
static void left_out(model *m)
{
    add_node(m, "Mul", "x", "", "y");
}

static void no_equation(model *m)
{
    add_node(m, "Einsum", "x", NULL, "y");
    m->attribute.name = (char *)(uintptr_t) "equation";
    m->attribute.has_s = 1;
    m->node[0].n_attribute = 1, m->node[0].attribute = m->attributes;
}

static void far_away(model *m)
{
    static const int64_t far[] = { INT64_MIN, INT64_MAX };
    add_node(m, "Transpose", "x", NULL, "y");
    set_ints(m, 0, "perm", 2, far);
}

static void data_shape(model *m)
{
    add_node(m, "Reshape", "w", "x", "y");
}
static void old(model *m)
{
    add_good(m), m->opset.version = 1;
}
static void future(model *m)
{
    add_good(m), m->model.ir_version = 99;
}
static void empty_graph(model *m)
{
    m->graph.n_output = 0;
}
static void scalar_size(model *m)
{
    add_good(m), m->dim[0].dim_value = -2;
}

/* The shape of a scalar, given as a list of none. */
static void no_sizes(model *m)
{
    add_node(m, "Constant", "x", NULL, "s");
    set_ints(m, 0, "value_ints", 0, m->numbers);
    add_node(m, "Expand", "x", "s", "y");
}

/* The list of pleat_export.py, as anyone may have written it. */
static void set_list(model *m, const char *text)
{
    add_good(m);
    m->entries[0] = &m->entry[0];
    onnx__string_string_entry_proto__init(&m->entry[0]);
    m->entry[0].key = (char *)(uintptr_t) "pleat.tensors";
    m->entry[0].value = (char *)(uintptr_t)text;
    m->model.n_metadata_props = 1;
    m->model.metadata_props = m->entries;
}

#define LIST "{\"format\": \"pleat.tensors/1\", \"parameters\": ["
#define ROW "{\"name\": \"w\", \"shape\": [2, 3], \"trains\": true}"

static void list_good(model *m)
{
    set_list(m, LIST ROW "], \"buffers\": []}");
}
static void list_no_json(model *m)
{
    set_list(m, "{\"format\": ");
}
static void list_deep(model *m)
{
    set_list(m, "{\"a\": [[[[[[[[[[[[]]]]]]]]]]]]}");
}
static void list_format(model *m)
{
    set_list(m, "{\"format\": \"pleat.tensors/9\"}");
}
static void list_none(model *m)
{
    set_list(m, LIST ROW "]}");
}
static void list_twice(model *m)
{
    set_list(m, LIST ROW "], \"buffers\": [" ROW "]}");
}
static void list_stranger(model *m)
{
    set_list(m, LIST "{\"name\": \"v\", \"shape\": [2, 3]}], \"buffers\": []}");
}
static void list_shape(model *m)
{
    set_list(m, LIST "{\"name\": \"w\", \"shape\": [3, 2]}], \"buffers\": []}");
}
static void list_name(model *m)
{
    set_list(m, LIST "{\"name\": \"a b\", \"file\": \"w\", \"shape\": [2, 3]}], \"buffers\": []}");
}
static void list_kind(model *m)
{
    set_list(m, LIST "7], \"buffers\": []}");
}

static const struct {
    void (*make)(model *m);
    pl_code code;
    const char *says; /* parts, by blanks between '|' */
} cases[] = {
    { add_good, PL_OK, "" },
    { huge, PL_EINPUT, "tensor 'w'|dims multiply" },
    { huge_product, PL_EINPUT, "tensor 'w'|dims multiply" },
    { negative, PL_EINPUT, "tensor 'w'|dims[1] is -3" },
    { too_little, PL_EINPUT, "tensor 'w'|5 elements|dims say 6" },
    { no_data, PL_EINPUT, "tensor 'w'|no data|24 bytes" },
    { type_of_strings, PL_EUNSUPPORTED, "tensor 'w'|data_type 8 (string)" },
    { weight_of_bf16, PL_EUNSUPPORTED, "node 'y' (Add)|'w' trains and is bf16|in f32" },
    { type_unknown, PL_EUNSUPPORTED, "tensor 'w'|data_type 99" },
    { no_name, PL_EINPUT, "initializer 0 has no name" },
    { same_name, PL_EINPUT, "'w' is given twice" },
    { same_output, PL_EINPUT, "'y' is given twice" },
    { cycle, PL_EINPUT, "node 'y' (Add)|'z'|cycles" },
    { missing, PL_EINPUT, "node 'y' (Relu)|'nobody'" },
    { no_output, PL_EINPUT, "output 'y'" },
    { unknown, PL_EUNSUPPORTED, "2 operators|Fancy x2 (a)|Unheard x1 (y)" },
    { shapes, PL_EINPUT, "node 'y' (Add)|sizes" },
    { escape, PL_EINPUT, "tensor 'w'|location '../secret'" },
    { escape_inside, PL_EINPUT, "tensor 'w'|location 'a/../../b'" },
    { absolute, PL_EINPUT, "tensor 'w'|location '/etc/passwd'" },
    { offset, PL_EINPUT, "tensor 'w'|offset '-8'" },
    { length, PL_EINPUT, "tensor 'w'|length 25|24 bytes" },
    { permutation, PL_EINPUT, "node 'y' (Transpose)|perm has 0 twice" },
    { axis, PL_EINPUT, "node 'y' (ReduceSum)|axis 7 of 2" },
    { left_out, PL_EINPUT, "node 'y' (Mul)|input 1 is missing" },
    { no_equation, PL_EINPUT, "node 'y' (Einsum)" },
    { far_away, PL_EINPUT, "node 'y' (Transpose)|of 2 dimensions" },
    { data_shape, PL_EUNSUPPORTED, "node 'y' (Reshape)|'x'|computed from the data" },
    { old, PL_EUNSUPPORTED, "opset 1" },
    { future, PL_EUNSUPPORTED, "ir_version 99" },
    { empty_graph, PL_EINPUT, "no output" },
    { scalar_size, PL_EINPUT, "'x': dimension 0 is -2" },
    { no_sizes, PL_OK, "" },
    { list_good, PL_OK, "" },
    { list_no_json, PL_EINPUT, "pleat.tensors|bad JSON" },
    { list_deep, PL_EINPUT, "pleat.tensors|nested deeper" },
    { list_format, PL_EUNSUPPORTED, "pleat.tensors|'pleat.tensors/9'" },
    { list_none, PL_EINPUT, "pleat.tensors|buffers: not an array" },
    { list_twice, PL_EINPUT, "pleat.tensors|2 tensors, the file has 1" },
    { list_stranger, PL_EINPUT, "parameters 0|'v' is not in the file" },
    { list_shape, PL_EINPUT, "parameters 0|'w' has another shape in the file: f32[2,3]" },
    { list_name, PL_EINPUT, "parameters 0|'a b' is no name" },
    { list_kind, PL_EINPUT, "parameters 0|'name' is missing" },
};

static bool import(const void *bytes, size_t n, pl_err *err)
{
    pl_arena *a = pl_arena_new("hostile");
    const pl_onnx_options o = { 0 };
    pl_value *out[MOST];
    pl_onnx *f;
    pl_graph *g;
    bool ok = pl_onnx_parse(bytes, n, "dir/m.onnx", a, &f, err);
    if (ok) {
        pl_builder b = pl_builder_new(a, &pl_ops_all, "m");
        pl_onnx_add(&b, f, &o, out);
        if (!b.err.code) pl_add_output(&b, "out", out[0]);
        ok = pl_builder_done(&b, &g, err);
    }
    assert_true(pl_arena_bytes(a) < 1 << 20); /* nothing of the sizes that files claim */
    pl_arena_free(a);
    return ok;
}

static void check_text(const char *msg, const char *parts)
{
    char part[80];
    while (*parts) {
        const size_t n = strcspn(parts, "|");
        snprintf(part, sizeof part, "%.*s", (int)n, parts);
        if (!strstr(msg, part)) fail_msg("'%s' lacks '%s'", msg, part);
        parts += n + (parts[n] == '|');
    }
}

static void test_cases(void **state)
{
    static model m;
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        pl_err err = { 0 };
        init(&m);
        cases[i].make(&m);
        const size_t n = onnx__model_proto__get_packed_size(&m.model);
        uint8_t *bytes = malloc(n);
        onnx__model_proto__pack(&m.model, bytes);
        import(bytes, n, &err);
        if (err.code != cases[i].code) fail_msg("case %zu: code %d: %s", i, err.code, err.msg);
        check_text(err.msg, cases[i].says);
        if (err.code) assert_non_null(strstr(err.msg, "dir/m.onnx: "));
        free(bytes);
    }
}

/* Cut anywhere, or with any byte changed: an answer, never a crash. */
static void test_truncated(void **state)
{
    static model m;
    (void)state;
    init(&m);
    add_good(&m);
    const size_t n = onnx__model_proto__get_packed_size(&m.model);
    uint8_t *bytes = malloc(n), *some = malloc(n);
    onnx__model_proto__pack(&m.model, bytes);
    for (size_t i = 0; i < n; i++) {
        pl_err err = { 0 };
        memcpy(some, bytes, i);
        import(some, i, &err);
        for (int bit = 0; bit < 8; bit++) {
            memcpy(some, bytes, n);
            some[i] ^= (uint8_t)(1u << bit);
            err = (pl_err){ 0 };
            import(some, n, &err);
        }
    }
    free(bytes);
    free(some);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cases),
        cmocka_unit_test(test_truncated),
    };
    return cmocka_run_group_tests_name("hostile", tests, NULL, NULL);
}
