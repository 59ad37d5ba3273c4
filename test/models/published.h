/* test/models/published.h - config.json as transformers writes it and as models are published. */
#ifndef PL_TEST_PUBLISHED_H
#define PL_TEST_PUBLISHED_H
#include "built.h"

#include "support/arena.h"
#include "models/config.h"

#define COMMON                                                                                     \
    "\"transformers_version\": \"4.40.0\", \"torch_dtype\": \"bfloat16\", \"use_cache\": true, "
#define LLAMA(layers, hidden, heads, kv, ffn, vocab, more)                                         \
    "{" COMMON "\"architectures\": [\"LlamaForCausalLM\"], \"model_type\": \"llama\", "            \
    "\"attention_bias\": false, \"bos_token_id\": 1, "                                             \
    "\"eos_token_id\": 2, \"hidden_act\": \"silu\", \"initializer_range\": 0.02, "                 \
    "\"pretraining_tp\": 1, \"rope_scaling\": null, \"tie_word_embeddings\": false, "              \
    "\"num_hidden_layers\": " #layers ", \"hidden_size\": " #hidden                                \
    ", \"num_attention_heads\": " #heads ", \"num_key_value_heads\": " #kv                         \
    ", \"intermediate_size\": " #ffn ", \"vocab_size\": " #vocab more "}"

#define TINY "llama:layers=2,hidden=48,heads=6,kv=3,ffn=100,vocab=90,"
#define ROPED(members)                                                                             \
    LLAMA(2, 48, 6, 3, 100, 90,                                                                    \
          ", \"max_position_embeddings\": 64, \"rope_parameters\": {" members "}")
#define SMALL                                                                                      \
    "\"num_hidden_layers\": 6, \"hidden_size\": 12, \"num_attention_heads\": 3, "                  \
    "\"num_key_value_heads\": 1, \"intermediate_size\": 20, \"vocab_size\": 50, "                  \
    "\"max_position_embeddings\": 32, \"sliding_window\": 4, "
#define GEMMA3(more)                                                                               \
    "{\"model_type\": \"gemma3_text\", \"head_dim\": 8, \"sliding_window_pattern\": 3, " SMALL     \
        more "}"
#define QWEN2(windowed)                                                                            \
    "{\"model_type\": \"qwen2\", " SMALL                                                           \
    "\"max_window_layers\": 3, \"use_sliding_window\": " windowed "}"
#define LLAMA3                                                                                     \
    ", \"max_position_embeddings\": 8192, \"rms_norm_eps\": 1e-05, \"rope_theta\": 500000.0"

static const char gpt2_small[] =
    "{" COMMON "\"activation_function\": \"gelu_new\", \"architectures\": [\"GPT2LMHeadModel\"], "
    "\"attn_pdrop\": 0.1, \"bos_token_id\": 50256, \"embd_pdrop\": 0.1, \"eos_token_id\": 50256, "
    "\"initializer_range\": 0.02, \"layer_norm_epsilon\": 1e-05, \"model_type\": \"gpt2\", "
    "\"n_ctx\": 1024, \"n_embd\": 768, \"n_head\": 12, \"n_inner\": null, \"n_layer\": 12, "
    "\"n_positions\": 1024, \"resid_pdrop\": 0.1, \"summary_activation\": null, "
    "\"summary_first_dropout\": 0.1, \"summary_proj_to_labels\": true, \"summary_type\": "
    "\"cls_index\", \"summary_use_proj\": true, \"task_specific_params\": {\"text-generation\": "
    "{\"do_sample\": true, \"max_length\": 50}}, \"vocab_size\": 50257}";

static const char mistral[] =
    "{" COMMON "\"architectures\": [\"MistralForCausalLM\"], \"model_type\": \"mistral\", "
    "\"hidden_act\": \"silu\", \"hidden_size\": 48, \"intermediate_size\": 100, "
    "\"max_position_embeddings\": 32768, \"num_attention_heads\": 6, \"num_hidden_layers\": 3, "
    "\"num_key_value_heads\": 2, \"rms_norm_eps\": 1e-05, \"rope_theta\": 10000.0, "
    "\"sliding_window\": 4096, \"tie_word_embeddings\": false, \"vocab_size\": 90, \"head_dim\": "
    "16}";

static const char mixtral[] =
    "{" COMMON "\"architectures\": [\"MixtralForCausalLM\"], \"model_type\": \"mixtral\", "
    "\"attention_dropout\": 0.0, \"hidden_act\": \"silu\", \"hidden_size\": 4096, "
    "\"intermediate_size\": 14336, \"max_position_embeddings\": 32768, "
    "\"num_attention_heads\": 32, \"num_experts_per_tok\": 2, \"num_hidden_layers\": 32, "
    "\"num_key_value_heads\": 8, \"num_local_experts\": 8, \"output_router_logits\": false, "
    "\"rms_norm_eps\": 1e-05, \"rope_theta\": 1000000.0, \"router_aux_loss_coef\": 0.02, "
    "\"sliding_window\": null, \"tie_word_embeddings\": false, \"vocab_size\": 32000}";

static const char qwen2[] =
    "{" COMMON "\"architectures\": [\"Qwen2ForCausalLM\"], \"model_type\": \"qwen2\", "
    "\"attention_dropout\": 0.0, \"hidden_act\": \"silu\", \"hidden_size\": 896, "
    "\"intermediate_size\": 4864, \"max_position_embeddings\": 131072, \"max_window_layers\": 24, "
    "\"num_attention_heads\": 14, \"num_hidden_layers\": 24, \"num_key_value_heads\": 2, "
    "\"rms_norm_eps\": 1e-06, \"rope_theta\": 1000000.0, \"sliding_window\": 131072, "
    "\"tie_word_embeddings\": true, \"use_sliding_window\": false, \"vocab_size\": 151936}";

static const char qwen3[] =
    "{" COMMON "\"architectures\": [\"Qwen3ForCausalLM\"], \"model_type\": \"qwen3\", "
    "\"attention_bias\": false, \"attention_dropout\": 0.0, \"head_dim\": 128, "
    "\"hidden_act\": \"silu\", \"hidden_size\": 1024, \"intermediate_size\": 3072, "
    "\"layer_types\": [\"full_attention\", \"full_attention\"], "
    "\"max_position_embeddings\": 40960, \"max_window_layers\": 28, \"num_attention_heads\": 16, "
    "\"num_hidden_layers\": 28, \"num_key_value_heads\": 8, \"rms_norm_eps\": 1e-06, "
    "\"rope_parameters\": {\"rope_theta\": 1000000, \"rope_type\": \"default\"}, "
    "\"sliding_window\": null, \"tie_word_embeddings\": true, \"use_sliding_window\": false, "
    "\"vocab_size\": 151936}";

static const char gpt2_medium[] =
    "{\"activation_function\": \"gelu_new\", \"architectures\": [\"GPT2LMHeadModel\"], "
    "\"attn_pdrop\": 0.1, \"bos_token_id\": 50256, \"embd_pdrop\": 0.1, "
    "\"eos_token_id\": 50256, \"initializer_range\": 0.02, "
    "\"layer_norm_epsilon\": 1e-05, \"model_type\": \"gpt2\", \"n_ctx\": 1024, "
    "\"n_positions\": 1024, \"n_special\": 0, \"predict_special_tokens\": true, "
    "\"resid_pdrop\": 0.1, \"summary_activation\": null, "
    "\"summary_first_dropout\": 0.1, \"summary_proj_to_labels\": true, "
    "\"summary_type\": \"cls_index\", \"summary_use_proj\": true, "
    "\"task_specific_params\": {\"text-generation\": {\"do_sample\": true, "
    "\"max_length\": 50}}, \"vocab_size\": 50257, \"n_embd\": 1024, \"n_head\": 16, "
    "\"n_layer\": 24}";

static const char llama31[] =
    "{\"architectures\": [\"LlamaForCausalLM\"], \"model_type\": \"llama\", "
    "\"attention_bias\": false, \"attention_dropout\": 0.0, \"bos_token_id\": 128000, "
    "\"eos_token_id\": 128001, \"hidden_act\": \"silu\", \"initializer_range\": 0.02, "
    "\"max_position_embeddings\": 131072, \"mlp_bias\": false, \"pretraining_tp\": 1, "
    "\"rms_norm_eps\": 1e-05, \"rope_theta\": 500000.0, \"torch_dtype\": \"bfloat16\", "
    "\"use_cache\": true, \"vocab_size\": 128256, \"rope_scaling\": {\"factor\": 8.0, "
    "\"high_freq_factor\": 4.0, \"low_freq_factor\": 1.0, "
    "\"original_max_position_embeddings\": 8192, \"rope_type\": \"llama3\"}, "
    "\"tie_word_embeddings\": false, \"num_hidden_layers\": 32, "
    "\"hidden_size\": 4096, \"num_attention_heads\": 32, \"num_key_value_heads\": 8, "
    "\"intermediate_size\": 14336}";

static const char llama32[] =
    "{\"architectures\": [\"LlamaForCausalLM\"], \"model_type\": \"llama\", "
    "\"attention_bias\": false, \"attention_dropout\": 0.0, \"bos_token_id\": 128000, "
    "\"eos_token_id\": 128001, \"hidden_act\": \"silu\", \"initializer_range\": 0.02, "
    "\"max_position_embeddings\": 131072, \"mlp_bias\": false, \"pretraining_tp\": 1, "
    "\"rms_norm_eps\": 1e-05, \"rope_theta\": 500000.0, \"torch_dtype\": \"bfloat16\", "
    "\"use_cache\": true, \"vocab_size\": 128256, \"rope_scaling\": {\"factor\": 32.0, "
    "\"high_freq_factor\": 4.0, \"low_freq_factor\": 1.0, "
    "\"original_max_position_embeddings\": 8192, \"rope_type\": \"llama3\"}, "
    "\"tie_word_embeddings\": true, \"head_dim\": 64, \"num_hidden_layers\": 16, "
    "\"hidden_size\": 2048, \"num_attention_heads\": 32, \"num_key_value_heads\": 8, "
    "\"intermediate_size\": 8192}";

static const char qwen25[] =
    "{\"architectures\": [\"Qwen2ForCausalLM\"], \"model_type\": \"qwen2\", "
    "\"attention_dropout\": 0.0, \"hidden_act\": \"silu\", \"initializer_range\": 0.02, "
    "\"max_position_embeddings\": 131072, \"rms_norm_eps\": 1e-06, "
    "\"rope_theta\": 1000000.0, \"sliding_window\": 32768, "
    "\"torch_dtype\": \"bfloat16\", \"use_cache\": true, \"use_mrope\": false, "
    "\"use_sliding_window\": false, \"vocab_size\": 152064, "
    "\"max_window_layers\": 28, \"tie_word_embeddings\": false, "
    "\"num_hidden_layers\": 28, \"hidden_size\": 3584, \"num_attention_heads\": 28, "
    "\"num_key_value_heads\": 4, \"intermediate_size\": 18944}";

static const char mistral3[] =
    "{\"architectures\": [\"MistralForCausalLM\"], \"model_type\": \"mistral\", "
    "\"bos_token_id\": 1, \"eos_token_id\": 2, \"hidden_act\": \"silu\", "
    "\"hidden_size\": 4096, \"initializer_range\": 0.02, "
    "\"intermediate_size\": 14336, \"max_position_embeddings\": 32768, "
    "\"num_attention_heads\": 32, \"num_hidden_layers\": 32, "
    "\"num_key_value_heads\": 8, \"rms_norm_eps\": 1e-05, \"rope_theta\": 1000000.0, "
    "\"sliding_window\": null, \"tie_word_embeddings\": false, "
    "\"torch_dtype\": \"bfloat16\", \"use_cache\": true, \"vocab_size\": 32768}";

static const char phi3[] =
    "{\"architectures\": [\"Phi3ForCausalLM\"], \"model_type\": \"phi3\", "
    "\"attention_bias\": false, \"attention_dropout\": 0.0, \"embd_pdrop\": 0.0, "
    "\"hidden_act\": \"silu\", \"initializer_range\": 0.02, \"rms_norm_eps\": 1e-05, "
    "\"resid_pdrop\": 0.0, \"rope_theta\": 10000.0, \"tie_word_embeddings\": false, "
    "\"torch_dtype\": \"bfloat16\", \"use_cache\": true, \"vocab_size\": 32064, "
    "\"bos_token_id\": 1, \"eos_token_id\": 32000, \"pad_token_id\": 32000, "
    "\"original_max_position_embeddings\": 4096, \"max_position_embeddings\": 4096, "
    "\"sliding_window\": 2047, \"rope_scaling\": null, \"num_hidden_layers\": 32, "
    "\"hidden_size\": 3072, \"num_attention_heads\": 32, \"num_key_value_heads\": 32, "
    "\"intermediate_size\": 8192}";

static const char gemma[] =
    "{\"attention_bias\": false, \"attention_dropout\": 0.0, \"bos_token_id\": 2, "
    "\"eos_token_id\": 1, \"head_dim\": 256, \"initializer_range\": 0.02, "
    "\"max_position_embeddings\": 8192, \"pad_token_id\": 0, \"rms_norm_eps\": 1e-06, "
    "\"use_cache\": true, \"vocab_size\": 256000, "
    "\"architectures\": [\"GemmaForCausalLM\"], \"model_type\": \"gemma\", "
    "\"hidden_act\": \"gelu\", \"rope_scaling\": null, \"rope_theta\": 10000.0, "
    "\"torch_dtype\": \"bfloat16\", \"num_hidden_layers\": 18, \"hidden_size\": 2048, "
    "\"num_attention_heads\": 8, \"num_key_value_heads\": 1, "
    "\"intermediate_size\": 16384}";

static const char gemma2[] =
    "{\"attention_bias\": false, \"attention_dropout\": 0.0, \"bos_token_id\": 2, "
    "\"eos_token_id\": 1, \"head_dim\": 256, \"initializer_range\": 0.02, "
    "\"max_position_embeddings\": 8192, \"pad_token_id\": 0, \"rms_norm_eps\": 1e-06, "
    "\"use_cache\": true, \"vocab_size\": 256000, "
    "\"architectures\": [\"Gemma2ForCausalLM\"], \"model_type\": \"gemma2\", "
    "\"attn_logit_softcapping\": 50.0, \"cache_implementation\": \"hybrid\", "
    "\"final_logit_softcapping\": 30.0, \"hidden_act\": \"gelu_pytorch_tanh\", "
    "\"hidden_activation\": \"gelu_pytorch_tanh\", \"query_pre_attn_scalar\": 256, "
    "\"rope_theta\": 10000.0, \"sliding_window\": 4096, \"torch_dtype\": \"float32\", "
    "\"sliding_window_size\": 4096, \"num_hidden_layers\": 42, \"hidden_size\": 3584, "
    "\"num_attention_heads\": 16, \"num_key_value_heads\": 8, "
    "\"intermediate_size\": 14336}";

static const char gemma3[] =
    "{\"attention_bias\": false, \"attention_dropout\": 0.0, \"bos_token_id\": 2, "
    "\"eos_token_id\": [1, 106], \"head_dim\": 256, \"initializer_range\": 0.02, "
    "\"max_position_embeddings\": 32768, \"pad_token_id\": 0, "
    "\"rms_norm_eps\": 1e-06, \"use_cache\": true, \"vocab_size\": 262144, "
    "\"architectures\": [\"Gemma3ForCausalLM\"], \"model_type\": \"gemma3_text\", "
    "\"attn_logit_softcapping\": null, \"cache_implementation\": \"hybrid\", "
    "\"final_logit_softcapping\": null, \"hidden_activation\": \"gelu_pytorch_tanh\", "
    "\"query_pre_attn_scalar\": 256, \"rope_local_base_freq\": 10000, "
    "\"rope_scaling\": null, \"rope_theta\": 1000000, \"sliding_window\": 512, "
    "\"sliding_window_pattern\": 6, \"torch_dtype\": \"bfloat16\", "
    "\"num_hidden_layers\": 26, \"hidden_size\": 1152, \"num_attention_heads\": 4, "
    "\"num_key_value_heads\": 1, \"intermediate_size\": 6912}";

static const char gemma3_small[] =
    "{\"attention_bias\": false, \"attention_dropout\": 0.0, \"bos_token_id\": 2, "
    "\"eos_token_id\": 1, \"head_dim\": 256, \"initializer_range\": 0.02, "
    "\"max_position_embeddings\": 32768, \"pad_token_id\": 0, "
    "\"rms_norm_eps\": 1e-06, \"use_cache\": true, \"vocab_size\": 262144, "
    "\"architectures\": [\"Gemma3ForCausalLM\"], \"model_type\": \"gemma3_text\", "
    "\"_sliding_window_pattern\": 6, \"attn_logit_softcapping\": null, "
    "\"final_logit_softcapping\": null, \"hidden_activation\": \"gelu_pytorch_tanh\", "
    "\"layer_types\": [\"sliding_attention\", \"sliding_attention\", "
    "\"sliding_attention\", \"sliding_attention\", \"sliding_attention\", "
    "\"full_attention\", \"sliding_attention\", \"sliding_attention\", "
    "\"sliding_attention\", \"sliding_attention\", \"sliding_attention\", "
    "\"full_attention\", \"sliding_attention\", \"sliding_attention\", "
    "\"sliding_attention\", \"sliding_attention\", \"sliding_attention\", "
    "\"full_attention\"], \"query_pre_attn_scalar\": 256, "
    "\"rope_local_base_freq\": 10000.0, \"rope_scaling\": null, "
    "\"rope_theta\": 1000000.0, \"sliding_window\": 512, \"torch_dtype\": \"bfloat16\", "
    "\"use_bidirectional_attention\": false, \"num_hidden_layers\": 18, "
    "\"hidden_size\": 640, \"num_attention_heads\": 4, \"num_key_value_heads\": 1, "
    "\"intermediate_size\": 2048}";

static const char bert_large[] =
    "{\"architectures\": [\"BertForMaskedLM\"], \"attention_probs_dropout_prob\": 0.1, "
    "\"hidden_act\": \"gelu\", \"hidden_dropout_prob\": 0.1, \"hidden_size\": 1024, "
    "\"initializer_range\": 0.02, \"intermediate_size\": 4096, \"layer_norm_eps\": 1e-12, "
    "\"max_position_embeddings\": 512, \"model_type\": \"bert\", \"num_attention_heads\": 16, "
    "\"num_hidden_layers\": 24, \"pad_token_id\": 0, \"position_embedding_type\": \"absolute\", "
    "\"type_vocab_size\": 2, \"vocab_size\": 30522}";

static const char roberta[] =
    "{\"architectures\": [\"RobertaForTokenClassification\"], \"attention_probs_dropout_prob\": "
    "0.1, "
    "\"classifier_dropout\": null, \"hidden_act\": \"gelu\", \"hidden_dropout_prob\": 0.1, "
    "\"hidden_size\": 24, \"id2label\": {\"0\": \"O\", \"1\": \"B\", \"2\": \"I\"}, "
    "\"intermediate_size\": 50, \"label2id\": {\"O\": 0, \"B\": 1, \"I\": 2}, "
    "\"layer_norm_eps\": 1e-05, \"max_position_embeddings\": 66, \"model_type\": \"roberta\", "
    "\"num_attention_heads\": 3, \"num_hidden_layers\": 2, \"type_vocab_size\": 1, "
    "\"vocab_size\": 100}";

#define T5(more)                                                                                   \
    "{\"architectures\": [\"T5ForConditionalGeneration\"], \"d_ff\": 40, \"d_kv\": 6, "            \
    "\"d_model\": 20, \"decoder_start_token_id\": 0, \"dropout_rate\": 0.1, "                      \
    "\"initializer_factor\": 1.0, \"is_encoder_decoder\": true, \"layer_norm_epsilon\": 1e-06, "   \
    "\"model_type\": \"t5\", \"num_decoder_layers\": 3, \"num_heads\": 4, \"num_layers\": 2, "     \
    "\"relative_attention_num_buckets\": 32, \"vocab_size\": 50" more "}"

static const char vit[] =
    "{\"architectures\": [\"ViTForImageClassification\"], \"attention_probs_dropout_prob\": 0.0, "
    "\"encoder_stride\": 16, \"hidden_act\": \"gelu\", \"hidden_dropout_prob\": 0.0, "
    "\"hidden_size\": 24, \"id2label\": {\"0\": \"cat\", \"1\": \"dog\", \"2\": \"owl\"}, "
    "\"image_size\": 32, \"intermediate_size\": 60, \"layer_norm_eps\": 1e-12, "
    "\"model_type\": \"vit\", \"num_attention_heads\": 3, \"num_channels\": 3, "
    "\"num_hidden_layers\": 2, \"patch_size\": 8, \"qkv_bias\": true}";

/* What the text of a file, and keys, give. */
static inline const char *spec_of(const char *text, const char *keys)
{
    pl_config_found found;
    pl_err err = { 0 };
    if (!pl_config_parse(text, strlen(text), keys, arena, &found, &err)) fail_msg("%s", err.msg);
    return found.spec;
}

#endif
