/* The tables of config.json: the fields of each model_type, and those of all. Source: the
 * configuration classes of Hugging Face's transformers (4.x; 5 for rope_parameters): names of
 * fields, their defaults, what they do. */
#include "models/config_types.h"

#include <stddef.h>

#define FIELD(name, kind, key, usual, values)                                                      \
    {                                                                                              \
        name, PL_CONFIG_##kind, key, usual, values                                                 \
    }
#define WHOLE(name, key, usual) FIELD(name, WHOLE, key, usual, NULL)
#define SIZE(name, key) WHOLE(name, key, NULL)
#define REAL(name, key, usual) FIELD(name, REAL, key, usual, NULL)
#define CHOICE(name, key, usual, values) FIELD(name, CHOICE, key, usual, values)
#define ONLY(name, values) CHOICE(name, NULL, "", values) /* where the file has it */
#define POSITIONS(name, key, usual) FIELD(name, POSITIONS, key, usual, NULL)
#define ROPE(name) FIELD(name, ROPE, "base", "", NULL)
#define WINDOW(usual, only_if) FIELD("sliding_window", WHOLE_OFF, "window", usual, only_if)
#define LAYERS(usual) FIELD("layer_types", LAYERS, "windows", usual, NULL)
#define ACT(name, usual)                                                                           \
    CHOICE(name, "act", usual,                                                                     \
           "silu=silu swish=silu gelu=gelu gelu_python=gelu gelu_new=gelu_tanh "                   \
           "gelu_pytorch_tanh=gelu_tanh gelu_python_tanh=gelu_tanh gelu_fast=gelu_tanh "           \
           "gelu_accurate=gelu_tanh quick_gelu=quick_gelu relu=relu relu2=relu2 relu6=relu6 "      \
           "tanh=tanh sigmoid=sigmoid")

const pl_config_field pl_config_common[] = {
    ONLY("is_decoder", "false"),
    ONLY("add_cross_attention", "false"),
    ONLY("tie_encoder_decoder", "false"),
    ONLY("pruned_heads", "{}"),
    ONLY("position_embedding_type", "absolute"),
    { 0 },
};

const char pl_config_aside[] =
    "_* summary_* model_type architectures auto_map transformers_version torch_dtype dtype "
    "torchscript "
    "tokenizer_class language finetuning_task task_specific_params problem_type prefix "
    "id2label label2id num_labels initializer_range initializer_factor use_cache output_past "
    "gradient_checkpointing chunk_size_feed_forward pretraining_tp tf_legacy_loss use_bfloat16 "
    "return_dict return_dict_in_generate output_attentions output_hidden_states output_scores "
    "bos_token_id eos_token_id pad_token_id sep_token_id cls_token_id decoder_start_token_id "
    "forced_* bad_words_ids suppress_tokens begin_suppress_tokens max_length min_length do_sample "
    "early_stopping num_beams num_beam_groups diversity_penalty temperature top_k top_p typical_p "
    "repetition_penalty length_penalty no_repeat_ngram_size encoder_no_repeat_ngram_size "
    "num_return_sequences exponential_decay_length_penalty remove_invalid_values "
    "cross_attention_hidden_size cache_implementation n_special predict_special_tokens";

/* -- decoders ---------------------------------------------------------------------------------- */

static const pl_config_field gpt2[] = {
    CHOICE("architectures", NULL, "", "GPT2LMHeadModel"),
    SIZE("n_layer", "layers"),
    SIZE("n_embd", "hidden"),
    SIZE("n_head", "heads"),
    WHOLE("n_inner", "ffn", "0"),
    SIZE("vocab_size", "vocab"),
    POSITIONS("n_positions", "positions", "1024"),
    ACT("activation_function", "gelu_new"),
    REAL("layer_norm_epsilon", "eps", "0.00001"),
    REAL("resid_pdrop", "dropout", "0.1"),
    REAL("embd_pdrop", "dropout", "0.1"),
    REAL("attn_pdrop", "dropout", "0.1"),
    CHOICE("tie_word_embeddings", "tied", "true", "true=1 false=0"),
    CHOICE("scale_attn_weights", "scale", "true", "true=1 false=0"),
    CHOICE("scale_attn_by_inverse_layer_idx", "scale_layer", "false", "false=0 true=1"),
    { 0 },
};

/* What LLaMA and its relatives share. */
#define DECODER(arch, kv, positions, theta, head, norm_eps, tied)                                  \
    ONLY("architectures", arch), SIZE("num_hidden_layers", "layers"),                              \
        SIZE("hidden_size", "hidden"), SIZE("num_attention_heads", "heads"),                       \
        WHOLE("num_key_value_heads", "kv", kv), SIZE("intermediate_size", "ffn"),                  \
        SIZE("vocab_size", "vocab"), POSITIONS("max_position_embeddings", NULL, positions),        \
        WHOLE("head_dim", "head", head), REAL("rms_norm_eps", "eps", norm_eps),                    \
        ROPE("rope_scaling"), ROPE("rope_parameters"), WHOLE("rope_theta", "base", "?" theta),     \
        CHOICE("tie_word_embeddings", "tied", tied, "false=0 true=1"),                             \
        ONLY("attention_dropout", "0 0.0")
#define EACH_FULL FIELD("layer_types", LAYERS, NULL, "", NULL) /* where all are full_attention */
#define BIASED CHOICE("attention_bias", "bias", "false", "false=0 true=2")

static const pl_config_field llama[] = {
    DECODER("LlamaForCausalLM", "=num_attention_heads", "2048", "10000", "0", "0.000001", "false"),
    ACT("hidden_act", "silu"),
    BIASED,
    CHOICE("mlp_bias", "ffn_bias", "false", "false=0 true=1"),
    EACH_FULL,
    { 0 },
};

static const pl_config_field mistral[] = {
    DECODER("MistralForCausalLM", "8", "131072", "10000", "0", "0.000001", "false"),
    ACT("hidden_act", "silu"),
    WINDOW("4096", NULL),
    ONLY("attention_bias", "false"),
    EACH_FULL,
    { 0 },
};

/* A loss that balances the experts is one of output_router_logits. */
#define ROUTED ONLY("output_router_logits", "false")

static const pl_config_field mixtral[] = {
    DECODER("MixtralForCausalLM", "8", "131072", "1000000", "0", "0.00001", "false"),
    ACT("hidden_act", "silu"),
    WINDOW("0", NULL),
    SIZE("num_local_experts", "experts"),
    SIZE("num_experts_per_tok", "k"),
    ONLY("router_jitter_noise", "0 0.0"),
    ROUTED,
    EACH_FULL,
    { 0 },
};

/* Which layers of Qwen2-MoE and Qwen3-MoE have experts, and how these are weighed. */
#define QWEN_ROUTED                                                                                \
    WHOLE("decoder_sparse_step", "every", "1"), FIELD("mlp_only_layers", LIST, "plain", "", NULL), \
        CHOICE("norm_topk_prob", "even", "false", "false=0 true=1"), ROUTED, EACH_FULL

static const pl_config_field qwen2_moe[] = {
    DECODER("Qwen2MoeForCausalLM", "16", "32768", "10000", "0", "0.000001", "false"),
    ACT("hidden_act", "silu"),
    ONLY("use_sliding_window", "false"),
    CHOICE("qkv_bias", "bias", "true", "true=1 false=0"),
    WHOLE("num_experts", "experts", "60"),
    WHOLE("num_experts_per_tok", "k", "4"),
    WHOLE("moe_intermediate_size", "expert", "1408"),
    WHOLE("shared_expert_intermediate_size", "shared", "5632"),
    QWEN_ROUTED,
    { 0 },
};

static const pl_config_field qwen3_moe[] = {
    DECODER("Qwen3MoeForCausalLM", "4", "32768", "10000", "0", "0.000001", "false"),
    ACT("hidden_act", "silu"),
    WINDOW("4096", "use_sliding_window"),
    BIASED,
    WHOLE("num_experts", "experts", "=num_local_experts"),
    WHOLE("num_local_experts", "experts", "?128"),
    WHOLE("num_experts_per_tok", "k", "8"),
    WHOLE("moe_intermediate_size", "expert", "768"),
    QWEN_ROUTED,
    { 0 },
};

/* What both DeepSeeks share. head_dim is that of the positions in transformers. */
#define DEEPSEEK(arch, positions)                                                                  \
    ONLY("architectures", arch), SIZE("num_hidden_layers", "layers"),                              \
        SIZE("hidden_size", "hidden"), SIZE("num_attention_heads", "heads"),                       \
        SIZE("intermediate_size", "ffn"), SIZE("vocab_size", "vocab"),                             \
        POSITIONS("max_position_embeddings", NULL, positions),                                     \
        REAL("rms_norm_eps", "eps", "0.000001"), ROPE("rope_scaling"), ROPE("rope_parameters"),    \
        WHOLE("rope_theta", "base", "?10000"), ACT("hidden_act", "silu"),                          \
        CHOICE("tie_word_embeddings", "tied", "false", "false=0 true=1"),                          \
        CHOICE("attention_bias", "bias", "false", "false=0 true=1"),                               \
        ONLY("attention_dropout", "0 0.0"),                                                        \
        FIELD("q_lora_rank", WHOLE_OFF, "qrank", "1536", NULL),                                    \
        WHOLE("kv_lora_rank", "kvrank", "512"), WHOLE("qk_nope_head_dim", "nope", "128"),          \
        WHOLE("qk_rope_head_dim", "turned", "64"), WHOLE("v_head_dim", "value", "128"),            \
        SIZE("n_routed_experts", "experts"), SIZE("num_experts_per_tok", "k"),                     \
        SIZE("moe_intermediate_size", "expert"), ONLY("moe_layer_freq", "1"),                      \
        ONLY("ep_size", "1"), ROUTED

static const pl_config_field deepseek_v2[] = {
    DEEPSEEK("DeepseekV2ForCausalLM", "2048"),
    WHOLE("n_shared_experts", "shared", "2"),
    WHOLE("first_k_dense_replace", "first", "0"),
    ONLY("scoring_func", "softmax"),
    CHOICE("topk_method", "limited", "greedy", "greedy=0 group_limited_greedy=1"),
    ONLY("norm_topk_prob", "false"), /* transformers passes over true */
    WHOLE("n_group", "groups", "1"),
    WHOLE("topk_group", "chosen", "1"),
    REAL("routed_scaling_factor", "scale", "1.0"),
    ONLY("mlp_bias", "false"),
    { 0 },
};

static const pl_config_field deepseek_v3[] = {
    DEEPSEEK("DeepseekV3ForCausalLM", "4096"),
    WHOLE("n_shared_experts", "shared", "1"),
    WHOLE("first_k_dense_replace", "first", "3"),
    ONLY("scoring_func", "sigmoid"),
    ONLY("topk_method", "noaux_tc"),
    CHOICE("norm_topk_prob", "even", "true", "true=1 false=0"),
    WHOLE("n_group", "groups", "8"),
    WHOLE("topk_group", "chosen", "4"),
    REAL("routed_scaling_factor", "scale", "2.5"),
    ONLY("rope_interleave", "true"),
    { 0 },
};

static const pl_config_field qwen2[] = {
    DECODER("Qwen2ForCausalLM", "32", "32768", "10000", "0", "0.000001", "false"),
    ACT("hidden_act", "silu"),
    WINDOW("4096", "use_sliding_window"),
    LAYERS("28<max_window_layers"),
    ONLY("use_mrope", "false"),
    ONLY("attention_bias", "true"), /* no field of theirs: they all have it */
    { 0 },
};

static const pl_config_field qwen3[] = {
    DECODER("Qwen3ForCausalLM", "32", "32768", "10000", "128", "0.000001", "false"),
    ACT("hidden_act", "silu"),
    WINDOW("4096", "use_sliding_window"),
    LAYERS("28<max_window_layers"),
    BIASED,
    { 0 },
};

static const pl_config_field phi3[] = {
    DECODER("Phi3ForCausalLM", "=num_attention_heads", "4096", "10000", "0", "0.00001", "false"),
    ROPE("partial_rotary_factor"),
    ACT("hidden_act", "silu"),
    WINDOW("0", NULL),
    ONLY("attention_bias", "false"),
    ONLY("resid_pdrop", "0 0.0"),
    ONLY("embd_pdrop", "0 0.0"),
    EACH_FULL,
    { 0 },
};

/* The first files of Gemma say gelu and mean its approximation. */
static const pl_config_field gemma[] = {
    DECODER("GemmaForCausalLM", "16", "8192", "10000", "256", "0.000001", "true"),
    CHOICE("hidden_act", "act", "gelu_pytorch_tanh",
           "gelu=gelu_tanh gelu_pytorch_tanh=gelu_tanh gelu_new=gelu_tanh silu=silu relu=relu"),
    ONLY("hidden_activation", "gelu_pytorch_tanh"),
    BIASED,
    ONLY("use_bidirectional_attention", "false"),
    EACH_FULL,
    { 0 },
};

#define GEMMA(layers, cap, logit_cap)                                                              \
    ACT("hidden_activation", "gelu_pytorch_tanh"), BIASED,                                         \
        WHOLE("query_pre_attn_scalar", "query_scalar", "256"), WINDOW("4096", NULL),               \
        LAYERS(layers), FIELD("attn_logit_softcapping", REAL_OFF, "cap", cap, NULL),               \
        FIELD("final_logit_softcapping", REAL_OFF, "logit_cap", logit_cap, NULL),                  \
        ONLY("use_bidirectional_attention", "false")

static const pl_config_field gemma2[] = {
    DECODER("Gemma2ForCausalLM", "4", "8192", "10000", "256", "0.000001", "true"),
    GEMMA("wf", "50.0", "30.0"),
    { 0 },
};

static const pl_config_field gemma3[] = {
    DECODER("Gemma3ForCausalLM", "4", "131072", "1000000", "256", "0.000001", "true"),
    GEMMA("6=sliding_window_pattern", "0.0", "0.0"),
    WHOLE("rope_local_base_freq", "local_base", "?10000"),
    { 0 },
};

/* -- encoders ---------------------------------------------------------------------------------- */

#define ENCODER(eps)                                                                               \
    SIZE("num_hidden_layers", "layers"), SIZE("hidden_size", "hidden"),                            \
        SIZE("num_attention_heads", "heads"), SIZE("intermediate_size", "ffn"),                    \
        REAL("layer_norm_eps", "eps", eps)
#define TOKENS(types)                                                                              \
    WHOLE("type_vocab_size", "types", types), REAL("hidden_dropout_prob", "dropout", "0.1"),       \
        REAL("attention_probs_dropout_prob", "dropout", "0.1"),                                    \
        REAL("classifier_dropout", "dropout", "=hidden_dropout_prob"),                             \
        ONLY("tie_word_embeddings", "true"), ACT("hidden_act", "gelu")

static const pl_config_field bert[] = {
    CHOICE("architectures", "classes", "BertForMaskedLM",
           "BertForMaskedLM=0 BertForTokenClassification=labels"),
    SIZE("vocab_size", "vocab"),
    POSITIONS("max_position_embeddings", "positions", "512"),
    ENCODER("0.000000000001"),
    TOKENS("2"),
    { 0 },
};

static const pl_config_field roberta[] = {
    CHOICE("architectures", "classes", "RobertaForMaskedLM",
           "RobertaForMaskedLM=0 RobertaForTokenClassification=labels"),
    SIZE("vocab_size", "vocab"),
    FIELD("pad_token_id", WHOLE, "pad", "1", "leaves positions without a beginning"),
    FIELD("max_position_embeddings", POSITIONS, "positions", "512", "pad"),
    ENCODER("0.000000000001"),
    TOKENS("2"),
    { 0 },
};

static const pl_config_field vit[] = {
    CHOICE("architectures", "classes", "ViTForImageClassification",
           "ViTForImageClassification=labels"),
    ENCODER("0.000000000001"),
    SIZE("image_size", "size"),
    SIZE("patch_size", "patch"),
    REAL("hidden_dropout_prob", "dropout", "0.0"),
    ONLY("attention_probs_dropout_prob", "0 0.0"),
    ONLY("num_channels", "3"),
    CHOICE("qkv_bias", "qkv_bias", "true", "true=1 false=0"),
    ACT("hidden_act", "gelu"),
    { 0 },
};

/* -- both -------------------------------------------------------------------------------------- */

static const pl_config_field t5[] = {
    ONLY("architectures", "T5ForConditionalGeneration T5WithLMHeadModel"),
    SIZE("num_layers", "layers"),
    WHOLE("num_decoder_layers", "decoder", "=num_layers"),
    SIZE("d_model", "hidden"),
    SIZE("d_ff", "ffn"),
    SIZE("num_heads", "heads"),
    SIZE("d_kv", "head"),
    SIZE("vocab_size", "vocab"),
    WHOLE("relative_attention_num_buckets", "buckets", "32"),
    WHOLE("relative_attention_max_distance", "limit", "128"),
    CHOICE("feed_forward_proj", "gated", "relu",
           "relu=0 gelu=0 gelu_new=0 silu=0 tanh=0 gated-relu=1 gated-gelu=1 gated-gelu_new=1 "
           "gated-silu=1 gated-tanh=1"),
    CHOICE("feed_forward_proj", "act", "relu",
           "relu=relu gelu=gelu gelu_new=gelu_tanh silu=silu tanh=tanh gated-relu=relu "
           "gated-gelu=gelu_tanh gated-gelu_new=gelu_tanh gated-silu=silu gated-tanh=tanh"),
    CHOICE("tie_word_embeddings", "tied", "true", "true=1 false=0"),
    CHOICE("scale_decoder_outputs", "scaled", "", "true=1 false=0"),
    REAL("layer_norm_epsilon", "eps", "0.000001"),
    REAL("dropout_rate", "dropout", "0.1"),
    ONLY("is_encoder_decoder", "true"),
    POSITIONS("n_positions", NULL, "512"),
    { 0 },
};

#define GEMMAS "scaled=1,from_one=1"

/* Losses that balance the experts are those of DeepSeek's own training code; the module that
 * predicts a second token is left out, as in transformers. */
#define DEEPSEEK_ASIDE                                                                             \
    "num_key_value_heads head_dim qk_head_dim aux_loss_alpha seq_aux num_nextn_predict_layers "    \
    "num_mtp_layers"

const pl_config_type pl_config_types[] = {
    { "gpt2", "gpt2", gpt2, "n_ctx reorder_and_upcast_attn" },
    { "llama", "llama", llama, "" },
    { "mistral", "llama", mistral, "" },
    /* the published models leave no token out */
    { "mixtral", "llama:capacity=0", mixtral, "router_aux_loss_coef" },
    { "qwen2_moe", "llama:names=qwen,capacity=0", qwen2_moe,
      "router_aux_loss_coef sliding_window max_window_layers" },
    { "qwen3_moe", "llama:names=qwen,capacity=0,qknorm=1", qwen3_moe,
      "router_aux_loss_coef use_sliding_window max_window_layers" },
    { "deepseek_v2", "deepseek:even=0,capacity=0", deepseek_v2, DEEPSEEK_ASIDE },
    { "deepseek_v3", "deepseek:score=sigmoid,capacity=0", deepseek_v3,
      DEEPSEEK_ASIDE " quantization_config" },
    { "qwen2", "llama:bias=1", qwen2, "use_sliding_window max_window_layers" },
    { "qwen3", "llama:qknorm=1", qwen3, "use_sliding_window max_window_layers" },
    { "phi3", "llama:fused=1", phi3, "original_max_position_embeddings" },
    { "gemma", "llama:" GEMMAS, gemma, "" },
    { "gemma2", "llama:sandwich=1," GEMMAS, gemma2, "hidden_act sliding_window_size" },
    { "gemma3_text", "llama:sandwich=1,qknorm=1," GEMMAS, gemma3,
      "hidden_act sliding_window_pattern" },
    { "bert", "bert-base", bert, "pooler_*" },
    { "roberta", "roberta-base", roberta, "pooler_*" },
    { "t5", "t5", t5, "classifier_dropout dense_act_fn is_gated_act" },
    { "vit", "vit-base", vit, "encoder_stride pooler_*" },
    { 0 },
};
