/* Source: the configuration classes of Hugging Face's transformers (4.x; 5 for rope_parameters):
 * names of fields, their defaults, what they do. */
#include "models/config_types.h"

#include <stddef.h>

#define WHOLE(name, key, usual)                                                                    \
    {                                                                                              \
        name, PL_CONFIG_WHOLE, key, usual, NULL, 0                                                 \
    }
#define SIZE(name, key) WHOLE(name, key, NULL)
#define REAL(name, key, usual)                                                                     \
    {                                                                                              \
        name, PL_CONFIG_REAL, key, usual, NULL, 0                                                  \
    }
#define CHOICE(name, key, usual, values)                                                           \
    {                                                                                              \
        name, PL_CONFIG_CHOICE, key, usual, values, 0                                              \
    }
#define ONLY(name, values) CHOICE(name, NULL, "", values) /* where the file has it */
#define POSITIONS(name, key, usual, padding)                                                       \
    {                                                                                              \
        name, PL_CONFIG_POSITIONS, key, usual, NULL, padding                                       \
    }
#define ROPE(name)                                                                                 \
    {                                                                                              \
        name, PL_CONFIG_ROPE, "base", "", NULL, 0                                                  \
    }

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
    "cross_attention_hidden_size";

/* -- decoders ---------------------------------------------------------------------------------- */

static const pl_config_field gpt2[] = {
    CHOICE("architectures", NULL, "", "GPT2LMHeadModel"),
    SIZE("n_layer", "layers"),
    SIZE("n_embd", "hidden"),
    SIZE("n_head", "heads"),
    WHOLE("n_inner", "ffn", "0"),
    SIZE("vocab_size", "vocab"),
    POSITIONS("n_positions", "positions", "1024", 0),
    CHOICE("activation_function", "act", "gelu_new",
           "gelu_new=0 gelu_pytorch_tanh=0 gelu=1 relu=2"),
    REAL("layer_norm_epsilon", "eps", "0.00001"),
    REAL("resid_pdrop", "dropout", "0.1"),
    REAL("embd_pdrop", "dropout", "0.1"),
    REAL("attn_pdrop", "dropout", "0.1"),
    ONLY("tie_word_embeddings", "true"),
    ONLY("scale_attn_weights", "true"),
    ONLY("scale_attn_by_inverse_layer_idx", "false"),
    ONLY("reorder_and_upcast_attn", "false"),
    { 0 },
};

/* What LLaMA and its relatives share. */
#define DECODER(arch, kv, positions, theta, head, norm_eps)                                        \
    ONLY("architectures", arch), SIZE("num_hidden_layers", "layers"),                              \
        SIZE("hidden_size", "hidden"), SIZE("num_attention_heads", "heads"),                       \
        WHOLE("num_key_value_heads", "kv", kv), SIZE("intermediate_size", "ffn"),                  \
        SIZE("vocab_size", "vocab"), POSITIONS("max_position_embeddings", NULL, positions, 0),     \
        WHOLE("head_dim", "head", head), REAL("rms_norm_eps", "eps", norm_eps),                    \
        ROPE("rope_scaling"), ROPE("rope_parameters"), WHOLE("rope_theta", "base", "?" theta),     \
        CHOICE("tie_word_embeddings", "tied", "false", "false=0 true=1"),                          \
        ONLY("hidden_act", "silu swish"), ONLY("attention_dropout", "0 0.0"),                      \
    {                                                                                              \
        "layer_types", PL_CONFIG_EACH, NULL, "", "full_attention", 0                               \
    }

static const pl_config_field llama[] = {
    DECODER("LlamaForCausalLM", "=num_attention_heads", "2048", "10000", "0", "0.000001"),
    CHOICE("attention_bias", "bias", "false", "false=0 true=2"),
    ONLY("mlp_bias", "false"),
    { 0 },
};

static const pl_config_field mistral[] = {
    DECODER("MistralForCausalLM", "8", "131072", "10000", "0", "0.000001"),
    WHOLE("sliding_window", "window", "0"),
    { 0 },
};

static const pl_config_field mixtral[] = {
    DECODER("MixtralForCausalLM", "8", "131072", "1000000", "0", "0.00001"),
    WHOLE("sliding_window", "window", "0"),
    SIZE("num_local_experts", "experts"),
    SIZE("num_experts_per_tok", "k"),
    ONLY("router_jitter_noise", "0 0.0"),
    ONLY("output_router_logits", "false"), /* true: a loss that balances the experts */
    { 0 },
};

static const pl_config_field qwen2[] = {
    DECODER("Qwen2ForCausalLM", "32", "32768", "10000", "0", "0.000001"),
    CHOICE("use_sliding_window", NULL, "false", "false"),
    CHOICE("attention_bias", "bias", "true", "true=1"), /* no field of theirs: they all have it */
    { 0 },
};

static const pl_config_field qwen3[] = {
    DECODER("Qwen3ForCausalLM", "32", "32768", "10000", "128", "0.000001"),
    CHOICE("use_sliding_window", NULL, "false", "false"),
    CHOICE("attention_bias", "bias", "false", "false=0 true=2"),
    CHOICE("qk_norm", "qknorm", "true", "true=1"), /* no field of theirs either */
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
        ONLY("tie_word_embeddings", "true"),                                                       \
        CHOICE("hidden_act", "act", "gelu", "gelu=1 gelu_new=0 gelu_pytorch_tanh=0 relu=2")

static const pl_config_field bert[] = {
    CHOICE("architectures", "classes", "BertForMaskedLM",
           "BertForMaskedLM=0 BertForTokenClassification=labels"),
    SIZE("vocab_size", "vocab"),
    POSITIONS("max_position_embeddings", "positions", "512", 0),
    ENCODER("0.000000000001"),
    TOKENS("2"),
    { 0 },
};

static const pl_config_field roberta[] = {
    CHOICE("architectures", "classes", "RobertaForMaskedLM",
           "RobertaForMaskedLM=0 RobertaForTokenClassification=labels"),
    SIZE("vocab_size", "vocab"),
    POSITIONS("max_position_embeddings", "positions", "512", 2),
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
    ONLY("qkv_bias", "true"),
    ONLY("hidden_act", "gelu"),
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
    CHOICE("feed_forward_proj", "gated", "relu", "relu=0 gated-gelu=1"),
    ONLY("dense_act_fn", "relu gelu_new"), /* both follow from feed_forward_proj */
    ONLY("is_gated_act", "false true"),
    CHOICE("tie_word_embeddings", "tied", "true", "true=1 false=0"),
    CHOICE("scale_decoder_outputs", "tied", "", "true=1 false=0"),
    REAL("layer_norm_epsilon", "eps", "0.000001"),
    REAL("dropout_rate", "dropout", "0.1"),
    ONLY("is_encoder_decoder", "true"),
    POSITIONS("n_positions", NULL, "512", 0),
    { 0 },
};

const pl_config_type pl_config_types[] = {
    { "gpt2", "gpt2", gpt2, "n_ctx" },
    { "llama", "llama", llama, "" },
    { "mistral", "llama", mistral, "" },
    { "mixtral", "llama", mixtral, "router_aux_loss_coef" },
    { "qwen2", "llama", qwen2, "sliding_window max_window_layers" },
    { "qwen3", "llama", qwen3, "sliding_window max_window_layers" },
    { "bert", "bert-base", bert, "pooler_*" },
    { "roberta", "roberta-base", roberta, "pooler_*" },
    { "t5", "t5", t5, "classifier_dropout" },
    { "vit", "vit-base", vit, "encoder_stride pooler_*" },
    { 0 },
};
