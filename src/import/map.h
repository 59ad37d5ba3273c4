/* import/map.h - one function for each operator of ONNX, or for several alike: it reads the node of
 * the importer and tells its outputs. False, or a sticky error, where it cannot. Private to
 * import/. */
#ifndef PL_IMPORT_MAP_H
#define PL_IMPORT_MAP_H
#include "import/import.h"

bool pl_map_arg_max(pl_import *m);
bool pl_map_arg_min(pl_import *m);
bool pl_map_average_pool(pl_import *m);
bool pl_map_batch_normalization(pl_import *m);
bool pl_map_binary(pl_import *m);
bool pl_map_cast(pl_import *m);
bool pl_map_cast_like(pl_import *m);
bool pl_map_celu(pl_import *m);
bool pl_map_clip(pl_import *m);
bool pl_map_col2im(pl_import *m);
bool pl_map_concat(pl_import *m);
bool pl_map_concat_from_sequence(pl_import *m);
bool pl_map_constant(pl_import *m);
bool pl_map_constant_of_shape(pl_import *m);
bool pl_map_conv(pl_import *m);
bool pl_map_conv_transpose(pl_import *m);
bool pl_map_cum_sum(pl_import *m);
bool pl_map_depth_to_space(pl_import *m);
bool pl_map_dft(pl_import *m);
bool pl_map_div(pl_import *m);
bool pl_map_dropout(pl_import *m);
bool pl_map_einsum(pl_import *m);
bool pl_map_elu(pl_import *m);
bool pl_map_expand(pl_import *m);
bool pl_map_eye_like(pl_import *m);
bool pl_map_flatten(pl_import *m);
bool pl_map_gather(pl_import *m);
bool pl_map_gather_elements(pl_import *m);
bool pl_map_gather_nd(pl_import *m);
bool pl_map_gelu(pl_import *m);
bool pl_map_gemm(pl_import *m);
bool pl_map_global_average_pool(pl_import *m);
bool pl_map_global_max_pool(pl_import *m);
bool pl_map_grid_sample(pl_import *m);
bool pl_map_group_normalization(pl_import *m);
bool pl_map_gru(pl_import *m);
bool pl_map_hard_sigmoid(pl_import *m);
bool pl_map_hard_swish(pl_import *m);
bool pl_map_hardmax(pl_import *m);
bool pl_map_identity(pl_import *m);
bool pl_map_if(pl_import *m);
bool pl_map_instance_normalization(pl_import *m);
bool pl_map_is_inf(pl_import *m);
bool pl_map_layer_normalization(pl_import *m);
bool pl_map_leaky_relu(pl_import *m);
bool pl_map_log_softmax(pl_import *m);
bool pl_map_loop(pl_import *m);
bool pl_map_lp_normalization(pl_import *m);
bool pl_map_lstm(pl_import *m);
bool pl_map_lrn(pl_import *m);
bool pl_map_matmul(pl_import *m);
bool pl_map_max_pool(pl_import *m);
bool pl_map_max_unpool(pl_import *m);
bool pl_map_mean(pl_import *m);
bool pl_map_mean_variance_normalization(pl_import *m);
bool pl_map_mish(pl_import *m);
bool pl_map_mod(pl_import *m);
bool pl_map_mul(pl_import *m);
bool pl_map_negative_log_likelihood_loss(pl_import *m);
bool pl_map_non_zero(pl_import *m);
bool pl_map_one_hot(pl_import *m);
bool pl_map_pad(pl_import *m);
bool pl_map_pow(pl_import *m);
bool pl_map_prelu(pl_import *m);
bool pl_map_range(pl_import *m);
bool pl_map_reduce(pl_import *m);
bool pl_map_reshape(pl_import *m);
bool pl_map_resize(pl_import *m);
bool pl_map_rms_normalization(pl_import *m);
bool pl_map_rnn(pl_import *m);
bool pl_map_scatter_elements(pl_import *m);
bool pl_map_scatter_nd(pl_import *m);
bool pl_map_selu(pl_import *m);
bool pl_map_sequence_at(pl_import *m);
bool pl_map_sequence_construct(pl_import *m); /* SequenceEmpty too */
bool pl_map_sequence_erase(pl_import *m);
bool pl_map_sequence_insert(pl_import *m);
bool pl_map_sequence_length(pl_import *m);
bool pl_map_shape(pl_import *m);
bool pl_map_shrink(pl_import *m);
bool pl_map_size(pl_import *m);
bool pl_map_slice(pl_import *m);
bool pl_map_softmax(pl_import *m);
bool pl_map_softmax_cross_entropy_loss(pl_import *m);
bool pl_map_space_to_depth(pl_import *m);
bool pl_map_split(pl_import *m);
bool pl_map_split_to_sequence(pl_import *m);
bool pl_map_squeeze(pl_import *m);
bool pl_map_swapped(pl_import *m);
bool pl_map_swish(pl_import *m);
bool pl_map_thresholded_relu(pl_import *m);
bool pl_map_tile(pl_import *m);
bool pl_map_top_k(pl_import *m);
bool pl_map_transpose(pl_import *m);
bool pl_map_trilu(pl_import *m);
bool pl_map_unary(pl_import *m);
bool pl_map_unsqueeze(pl_import *m);
bool pl_map_upsample(pl_import *m);
bool pl_map_variadic(pl_import *m);
bool pl_map_where(pl_import *m);

/* -- what several of them need ----------------------------------------------------------------- */
/* lo and hi more places at the ends of a dimension, or fewer where they are negative. */
pl_value *pl_padded(pl_import *m, pl_value *x, int dim, int64_t lo, int64_t hi, double value,
                    const char *mode);
/* A slice of input 0, whose elements are known; axes and steps may be NULL. */
PL_MUST_CHECK bool pl_known_slice(pl_import *m, const int64_t from[], const int64_t to[],
                                  const int64_t axes[], const int64_t steps[], int n);
/* Output k is n >= 1 parts one after the other along `axis`, or along a new one. */
PL_MUST_CHECK bool pl_out_stacked(pl_import *m, int k, pl_item part[], int n, int axis, bool stack);
/* x without any of dimension `axis`: a graph has no such value, but a constant may be one, which
 * Concat leaves out. */
pl_tensor *pl_empty(pl_import *m, const pl_value *x, int axis);
/* How many elements numpy's slice of a dimension has: *from, *from + step, ...; *from becomes the
 * first. */
int64_t pl_slice_count(int64_t whole, int64_t step, int64_t *from, int64_t to);
/* Known rows put into a known tensor: ScatterND without reduction. */
PL_MUST_CHECK bool pl_known_scatter_nd(pl_import *m);
/* Input k as indices of n places; negative ones count from the end. NULL after an error. */
pl_value *pl_indices(pl_import *m, int k, int64_t n);
/* Tuples of indices of x's first k dimensions, in the last dimension of the ids, as indices of
 * these dimensions made one, of *rows places. */
pl_value *pl_flat_indices(pl_import *m, const pl_value *x, pl_value *ids, int k, int64_t *rows);
/* "ABCD" with letter c in place of dimension `axis`. */
const char *pl_letters_with(pl_import *m, int rank, int axis, char c);
/* Numbers of a type, which are kept; the graph has them as a constant. */
pl_value *pl_table(pl_import *m, pl_type type, const pl_shape *s, const void *data);
/* n values one after the other. */
pl_value *pl_joined(pl_import *m, pl_value *const x[], int n, int axis);
/* log(sum(exp(x))) over axes, which stay as dimensions of 1. */
pl_value *pl_log_sum_exp(pl_import *m, pl_value *x, unsigned axes);

#endif
