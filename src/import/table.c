/* The operators of ONNX that are known, in the order of strcmp. */
#include "import/map.h"

#include <stdlib.h>
#include <string.h>

static const pl_mapping table[] = {
    { "Abs", pl_map_unary, "abs" },
    { "Acos", pl_map_unary, "acos" },
    { "Acosh", pl_map_unary, "acosh" },
    { "Add", pl_map_binary, "add" },
    { "And", pl_map_binary, "and" },
    { "ArgMax", pl_map_arg_max, NULL },
    { "ArgMin", pl_map_arg_min, NULL },
    { "Asin", pl_map_unary, "asin" },
    { "Asinh", pl_map_unary, "asinh" },
    { "Atan", pl_map_unary, "atan" },
    { "Atanh", pl_map_unary, "atanh" },
    { "AveragePool", pl_map_average_pool, NULL },
    { "BatchNormalization", pl_map_batch_normalization, NULL },
    { "Cast", pl_map_cast, NULL },
    { "CastLike", pl_map_cast_like, NULL },
    { "Ceil", pl_map_unary, "ceil" },
    { "Celu", pl_map_celu, NULL },
    { "Clip", pl_map_clip, NULL },
    { "Concat", pl_map_concat, NULL },
    { "Constant", pl_map_constant, NULL },
    { "ConstantOfShape", pl_map_constant_of_shape, NULL },
    { "Conv", pl_map_conv, NULL },
    { "ConvTranspose", pl_map_conv_transpose, NULL },
    { "Cos", pl_map_unary, "cos" },
    { "Cosh", pl_map_unary, "cosh" },
    { "CumSum", pl_map_cum_sum, NULL },
    { "DepthToSpace", pl_map_depth_to_space, NULL },
    { "Div", pl_map_div, "div" },
    { "Dropout", pl_map_dropout, NULL },
    { "Einsum", pl_map_einsum, NULL },
    { "Elu", pl_map_elu, NULL },
    { "Equal", pl_map_binary, "equal" },
    { "Erf", pl_map_unary, "erf" },
    { "Exp", pl_map_unary, "exp" },
    { "Expand", pl_map_expand, NULL },
    { "Flatten", pl_map_flatten, NULL },
    { "Floor", pl_map_unary, "floor" },
    { "GRU", pl_map_gru, NULL },
    { "Gather", pl_map_gather, NULL },
    { "GatherElements", pl_map_gather_elements, NULL },
    { "GatherND", pl_map_gather_nd, NULL },
    { "Gelu", pl_map_gelu, NULL },
    { "Gemm", pl_map_gemm, NULL },
    { "GlobalAveragePool", pl_map_global_average_pool, NULL },
    { "GlobalMaxPool", pl_map_global_max_pool, NULL },
    { "Greater", pl_map_swapped, "less" },
    { "GreaterOrEqual", pl_map_swapped, "less_equal" },
    { "GroupNormalization", pl_map_group_normalization, NULL },
    { "HardSigmoid", pl_map_hard_sigmoid, NULL },
    { "HardSwish", pl_map_hard_swish, NULL },
    { "Identity", pl_map_identity, NULL },
    { "InstanceNormalization", pl_map_instance_normalization, NULL },
    { "IsInf", pl_map_is_inf, "isinf" },
    { "IsNaN", pl_map_unary, "isnan" },
    { "LSTM", pl_map_lstm, NULL },
    { "LayerNormalization", pl_map_layer_normalization, NULL },
    { "LeakyRelu", pl_map_leaky_relu, NULL },
    { "Less", pl_map_binary, "less" },
    { "LessOrEqual", pl_map_binary, "less_equal" },
    { "Log", pl_map_unary, "log" },
    { "LogSoftmax", pl_map_log_softmax, NULL },
    { "LpNormalization", pl_map_lp_normalization, NULL },
    { "MatMul", pl_map_matmul, NULL },
    { "Max", pl_map_variadic, "maximum" },
    { "MaxPool", pl_map_max_pool, NULL },
    { "Mean", pl_map_mean, NULL },
    { "MeanVarianceNormalization", pl_map_mean_variance_normalization, NULL },
    { "Min", pl_map_variadic, "minimum" },
    { "Mish", pl_map_mish, NULL },
    { "Mod", pl_map_mod, NULL },
    { "Mul", pl_map_mul, "mul" },
    { "Neg", pl_map_unary, "neg" },
    { "NegativeLogLikelihoodLoss", pl_map_negative_log_likelihood_loss, NULL },
    { "NonZero", pl_map_non_zero, NULL },
    { "Not", pl_map_unary, "not" },
    { "OneHot", pl_map_one_hot, NULL },
    { "Or", pl_map_binary, "or" },
    { "PRelu", pl_map_prelu, NULL },
    { "Pad", pl_map_pad, NULL },
    { "Pow", pl_map_pow, NULL },
    { "RMSNormalization", pl_map_rms_normalization, NULL },
    { "RNN", pl_map_rnn, NULL },
    { "Range", pl_map_range, NULL },
    { "Reciprocal", pl_map_unary, "reciprocal" },
    { "ReduceL1", pl_map_reduce, NULL },
    { "ReduceL2", pl_map_reduce, NULL },
    { "ReduceLogSum", pl_map_reduce, NULL },
    { "ReduceLogSumExp", pl_map_reduce, NULL },
    { "ReduceMax", pl_map_reduce, NULL },
    { "ReduceMean", pl_map_reduce, NULL },
    { "ReduceMin", pl_map_reduce, NULL },
    { "ReduceProd", pl_map_reduce, NULL },
    { "ReduceSum", pl_map_reduce, NULL },
    { "ReduceSumSquare", pl_map_reduce, NULL },
    { "Relu", pl_map_unary, "relu" },
    { "Reshape", pl_map_reshape, NULL },
    { "Resize", pl_map_resize, NULL },
    { "Round", pl_map_unary, "round" },
    { "ScatterND", pl_map_scatter_nd, NULL },
    { "Selu", pl_map_selu, NULL },
    { "SequenceAt", pl_map_sequence_at, NULL },
    { "Shape", pl_map_shape, NULL },
    { "Shrink", pl_map_shrink, NULL },
    { "Sigmoid", pl_map_unary, "sigmoid" },
    { "Sign", pl_map_unary, "sign" },
    { "Sin", pl_map_unary, "sin" },
    { "Sinh", pl_map_unary, "sinh" },
    { "Size", pl_map_size, NULL },
    { "Slice", pl_map_slice, NULL },
    { "Softmax", pl_map_softmax, NULL },
    { "SoftmaxCrossEntropyLoss", pl_map_softmax_cross_entropy_loss, NULL },
    { "Softplus", pl_map_unary, "softplus" },
    { "Softsign", pl_map_unary, "softsign" },
    { "SpaceToDepth", pl_map_space_to_depth, NULL },
    { "Split", pl_map_split, NULL },
    { "SplitToSequence", pl_map_split_to_sequence, NULL },
    { "Sqrt", pl_map_unary, "sqrt" },
    { "Squeeze", pl_map_squeeze, NULL },
    { "Sub", pl_map_binary, "sub" },
    { "Sum", pl_map_variadic, "add" },
    { "Swish", pl_map_swish, NULL },
    { "Tan", pl_map_unary, "tan" },
    { "Tanh", pl_map_unary, "tanh" },
    { "ThresholdedRelu", pl_map_thresholded_relu, NULL },
    { "Tile", pl_map_tile, NULL },
    { "TopK", pl_map_top_k, NULL },
    { "Transpose", pl_map_transpose, NULL },
    { "Trilu", pl_map_trilu, NULL },
    { "Unsqueeze", pl_map_unsqueeze, NULL },
    { "Upsample", pl_map_upsample, NULL },
    { "Where", pl_map_where, NULL },
    { "Xor", pl_map_binary, "xor" },
};
enum { N = sizeof table / sizeof *table };

static int by_name(const void *name, const void *row)
{
    return strcmp(name, ((const pl_mapping *)row)->op);
}

const pl_mapping *pl_mapping_find(const char *op)
{
    return bsearch(op, table, N, sizeof *table, by_name);
}

bool pl_onnx_knows(const char *op)
{
    return pl_mapping_find(op) != NULL;
}

int pl_onnx_n_known(void)
{
    return N;
}

const char *pl_onnx_known(int i)
{
    return table[i].op;
}
