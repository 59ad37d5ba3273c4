/* config.json of transformers: what is built of it, against the sizes of each layer written out and
 * published counts; names of weights; fields that are wrong or not supported. */
#include "built.h"

#include "../arena.h"
#include "models/config.h"

#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

/* -- files as transformers writes them --------------------------------------------------------- */

#define COMMON                                                                                     \
    "\"transformers_version\": \"4.40.0\", \"torch_dtype\": \"bfloat16\", \"use_cache\": true, "
#define LLAMA(layers, hidden, heads, kv, ffn, vocab, more)                                         \
    "{" COMMON "\"architectures\": [\"LlamaForCausalLM\"], \"model_type\": \"llama\", "            \
    "\"attention_bias\": false, \"attention_dropout\": 0.0, \"bos_token_id\": 1, "                 \
    "\"eos_token_id\": 2, \"hidden_act\": \"silu\", \"initializer_range\": 0.02, "                 \
    "\"pretraining_tp\": 1, \"rope_scaling\": null, \"tie_word_embeddings\": false, "              \
    "\"num_hidden_layers\": " #layers ", \"hidden_size\": " #hidden                                \
    ", \"num_attention_heads\": " #heads ", \"num_key_value_heads\": " #kv                         \
    ", \"intermediate_size\": " #ffn ", \"vocab_size\": " #vocab more "}"

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

/* -- sizes ------------------------------------------------------------------------------------- */

typedef struct sizes {
    int64_t layers, hidden, heads, kv, head, ffn, vocab;
} sizes;

/* A norm, projections of queries and output, of keys and values; a norm; `n` feed-forward layers of
 * three weights. */
static int64_t decoder(sizes s, int64_t n)
{
    return s.layers * (2 * s.hidden + 2 * s.hidden * s.heads * s.head +
                       2 * s.hidden * s.kv * s.head + n * 3 * s.hidden * s.ffn) +
           s.hidden;
}

/* Per block four projections and two layers with biases, two norms. */
static int64_t encoder(sizes s)
{
    return s.layers * (4 * (s.hidden * s.hidden + s.hidden) + 2 * s.hidden * s.ffn + s.hidden +
                       s.ffn + 4 * s.hidden);
}

static const sizes l8 = { 32, 4096, 32, 8, 128, 14336, 128256 },
                   l70 = { 80, 8192, 64, 8, 128, 28672, 128256 },
                   tiny = { 2, 48, 6, 3, 8, 100, 90 }, ms = { 3, 48, 6, 2, 16, 100, 90 },
                   mx = { 32, 4096, 32, 8, 128, 14336, 32000 },
                   q2 = { 24, 896, 14, 2, 64, 4864, 151936 },
                   q3 = { 28, 1024, 16, 8, 128, 3072, 151936 },
                   bl = { 24, 1024, 16, 16, 64, 4096, 30522 }, rs = { 2, 24, 3, 3, 8, 50, 100 },
                   vs = { 2, 24, 3, 3, 8, 60, 0 }, g2 = { 12, 768, 12, 12, 64, 3072, 50257 };

static const char *spec_of(const char *text, const char *keys)
{
    const char *spec;
    pl_err err = { 0 };
    if (!pl_config_parse(text, strlen(text), keys, arena, &spec, &err)) fail_msg("%s", err.msg);
    return spec;
}

static void counts_of_parameters(void **state)
{
    (void)state;
    const int64_t h = bl.hidden, attention = 20 * 4 * 6, wide = 20 * 40;
    const struct {
        const char *text;
        int64_t want, published; /* 0: it is no published size */
    } rows[] = {
        { LLAMA(32, 4096, 32, 8, 14336, 128256, LLAMA3), decoder(l8, 1) + 2 * l8.vocab * l8.hidden,
          8030261248 },
        { LLAMA(80, 8192, 64, 8, 28672, 128256, LLAMA3),
          decoder(l70, 1) + 2 * l70.vocab * l70.hidden, 70553706496 },
        { LLAMA(2, 48, 6, 3, 100, 90, ""), decoder(tiny, 1) + 2 * 90 * 48, 0 },
        { gpt2_small, encoder(g2) + 2 * 768 + (50257 + 1024) * 768, 124439808 },
        { mistral, decoder(ms, 1) + 2 * 90 * 48, 0 },
        { mixtral, decoder(mx, 8) + 32 * 8 * mx.hidden + 2 * mx.vocab * mx.hidden, 46702792704 },
        { qwen2, decoder(q2, 1) + 24 * (14 + 2 + 2) * 64 + q2.vocab * q2.hidden, 494032768 },
        /* a norm of the queries' heads, one of the keys' */
        { qwen3, decoder(q3, 1) + 28 * 2 * 128 + q3.vocab * q3.hidden, 596049920 },
        /* tables and their norm; the head's layer, norm and bias. The checkpoint has 336226108: the
         * pooler and the head for the next sentence too */
        { bert_large, encoder(bl) + (bl.vocab + 512 + 2) * h + 2 * h + h * h + h + 2 * h + bl.vocab,
          336226108 - (h * h + h + 2 * h + 2) },
        { roberta, encoder(rs) + (100 + 66 + 1) * 24 + 2 * 24 + 3 * 24 + 3, 0 },
        /* two norms and an attention, in the decoder three and two; feed-forward; tables */
        { T5(", \"n_positions\": 512"),
          2 * (4 * attention + 2 * wide + 2 * 20) + 3 * (8 * attention + 2 * wide + 3 * 20) +
              2 * 20 + 2 * 32 * 4 + 50 * 20,
          0 },
        { T5(", \"feed_forward_proj\": \"gated-gelu\", \"tie_word_embeddings\": false, "
             "\"dense_act_fn\": \"gelu_new\", \"is_gated_act\": true"),
          2 * (4 * attention + 3 * wide + 2 * 20) + 3 * (8 * attention + 3 * wide + 3 * 20) +
              2 * 20 + 2 * 32 * 4 + 2 * 50 * 20,
          0 },
        /* patches, the token, 1 + 4x4 positions; a norm and the classes */
        { vit, encoder(vs) + 24 * (3 * 64) + 24 + 24 + 17 * 24 + 2 * 24 + 3 * 24 + 3, 0 },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const char *spec = spec_of(rows[i].text, "");
        int64_t n = pl_graph_params(build(spec, PL_TRAIN, NULL, arena));
        if (n != rows[i].want || (rows[i].published && n != rows[i].published))
            fail_msg("%s has %lld parameters, not %lld (published %lld)", spec, (long long)n,
                     (long long)rows[i].want, (long long)rows[i].published);
    }
}

/* -- what is read ------------------------------------------------------------------------------ */

static void specs_of_files(void **state)
{
    (void)state;
    static const struct {
        const char *text, *keys, *spec;
    } rows[] = {
        { LLAMA(2, 48, 6, 3, 100, 90, LLAMA3), "",
          "llama:layers=2,hidden=48,heads=6,kv=3,ffn=100,vocab=90,base=500000,seq=2048,batch=1" },
        { LLAMA(2, 48, 6, 3, 100, 90, ", \"max_position_embeddings\": 77"), "batch=5",
          "llama:layers=2,hidden=48,heads=6,kv=3,ffn=100,vocab=90,eps=1e-06,seq=77,batch=5" },
        { LLAMA(2, 48, 6, 3, 100, 90, LLAMA3), "layers=1,seq=9,batch=2,dtype=bf16",
          "llama:layers=1,hidden=48,heads=6,kv=3,ffn=100,vocab=90,base=500000,seq=9,batch=2,"
          "dtype=bf16" },
        /* a key stands for a field that is not supported */
        { LLAMA(2, 48, 6, 3, 100, 90,
                ", \"rope_parameters\": {\"rope_type\": \"llama3\", \"factor\": 8.0}"),
          "base=7",
          "llama:layers=2,hidden=48,heads=6,kv=3,ffn=100,vocab=90,base=7,eps=1e-06,seq=2048,"
          "batch=1" },
        { gpt2_small, "", "gpt2:positions=1024" },
        { gpt2_small, "seq=128,dropout=0", "gpt2:positions=1024,seq=128,dropout=0" },
        { mistral, "",
          "llama:layers=3,hidden=48,heads=6,ffn=100,vocab=90,head=16,window=4096,seq=2048,batch="
          "1" },
        { qwen3, "",
          "llama:layers=28,hidden=1024,heads=16,kv=8,ffn=3072,vocab=151936,base=1000000,head=128,"
          "eps=1e-06,qknorm=1,tied=1,seq=2048,batch=1" },
        { bert_large, "", "bert-base:layers=24,hidden=1024,ffn=4096,heads=16" },
        { bert_large, "classes=7", "bert-base:layers=24,hidden=1024,ffn=4096,heads=16,classes=7" },
        { roberta, "",
          "roberta-base:layers=2,hidden=24,ffn=50,heads=3,vocab=100,positions=66,classes=3,seq="
          "64" },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        pl_model_args args;
        parse_well(spec_of(rows[i].text, rows[i].keys), arena, &args);
        assert_string_equal(args.spec, rows[i].spec);
    }
}

static void names_of_weights(void **state)
{
    (void)state;
    static const struct {
        const char *text, *names[6];
    } rows[] = {
        { gpt2_small, { "wte.weight", "wpe.weight", "h.11.attn.c_attn.bias", "ln_f.bias" } },
        { mistral,
          { "model.embed_tokens.weight", "model.layers.2.self_attn.q_proj.weight",
            "model.layers.0.mlp.down_proj.weight", "model.norm.weight", "lm_head.weight" } },
        { mixtral,
          { "model.layers.31.block_sparse_moe.gate.weight",
            "model.layers.0.block_sparse_moe.experts.w3.weight" } },
        { qwen2, { "model.layers.0.self_attn.k_proj.bias" } },
        { qwen3, { "model.layers.27.self_attn.q_norm.weight" } },
        { bert_large,
          { "bert.embeddings.token_type_embeddings.weight",
            "bert.encoder.layer.23.attention.self.query.weight",
            "bert.encoder.layer.0.output.LayerNorm.bias", "cls.predictions.bias",
            "cls.predictions.transform.LayerNorm.weight" } },
        { roberta, { "roberta.embeddings.word_embeddings.weight", "classifier.weight" } },
        { T5(", \"feed_forward_proj\": \"gated-gelu\", \"tie_word_embeddings\": false"),
          { "shared.weight", "encoder.block.1.layer.1.DenseReluDense.wi_1.weight",
            "decoder.block.2.layer.1.EncDecAttention.q.weight", "lm_head.weight" } },
        { vit,
          { "vit.embeddings.cls_token", "vit.encoder.layer.1.attention.attention.value.bias",
            "vit.encoder.layer.0.layernorm_after.weight", "vit.layernorm.bias",
            "vit.embeddings.patch_embeddings.projection.weight", "classifier.bias" } },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const pl_graph *g = build(spec_of(rows[i].text, ""), PL_TRAIN, NULL, arena);
        for (int k = 0; k < 6 && rows[i].names[k]; k++) {
            const pl_value *v = pl_graph_find(g, rows[i].names[k]);
            if (!v || !v->trainable) fail_msg("%s: no weight %s", g->name, rows[i].names[k]);
        }
    }
}

/* -- what is not ------------------------------------------------------------------------------- */

/* Long, as a table of what to refuse. */
static void refusals(void **state)
{
    (void)state;
    static const struct {
        const char *text, *keys;
        pl_code code;
        const char *words[5];
    } rows[] = {
        { "{}", "", PL_EINPUT, { "model_type is missing", "llama", "vit" } },
        { "[]", "", PL_EINPUT, { "an object" } },
        { "{\"model_type\": \"mamba\"}",
          "",
          PL_EUNSUPPORTED,
          { "model_type=mamba is not known", "gpt2, llama, mistral, mixtral",
            "roberta, t5, vit" } },
        { "{\"model_type\": 7}", "", PL_EUNSUPPORTED, { "model_type=7" } },
        { "{\"model_type\": \"llama\", \"hidden_size\": -4, \"vocab_size\": \"many\", "
          "\"num_hidden_layers\": 2.5}",
          "",
          PL_EINPUT,
          { "hidden_size=-4 is below 2", "vocab_size=many is not a whole number",
            "num_hidden_layers=2.5", "num_attention_heads is missing",
            "intermediate_size is missing" } },
        { LLAMA(2, 50, 6, 4, 100, 90, ""),
          "",
          PL_EINPUT,
          { "hidden=50 does not divide into heads=6", "heads=6 does not divide into kv=4" } },
        { LLAMA(2, 48, 6, 3, 100, 90, ", \"rope_parameters\": {\"rope_type\": \"yarn\"}"),
          "",
          PL_EUNSUPPORTED,
          { "rope_parameters={\"rope_type\":\"yarn\"}", "give base=" } },
        { LLAMA(2, 48, 6, 3, 100, 90, ", \"mlp_bias\": true, \"new_idea\": 3"),
          "",
          PL_EUNSUPPORTED,
          { "mlp_bias=true is not supported (only false)", "new_idea=3 is not known" } },
        { LLAMA(2, 48, 6, 3, 100, 90, ", \"rope_theta\": 0.5"),
          "",
          PL_EINPUT,
          { "rope_theta=0.5" } },
        { LLAMA(2, 48, 6, 3, 100, 90, ", \"max_position_embeddings\": 0"),
          "",
          PL_EINPUT,
          { "max_position_embeddings=0" } },
        { "{\"model_type\": \"gpt2\", \"n_layer\": 1, \"n_embd\": 8, \"n_head\": 2, "
          "\"vocab_size\": 9, \"attn_pdrop\": 0.2, \"activation_function\": \"swish\"}",
          "",
          PL_EUNSUPPORTED,
          { "attn_pdrop=0.20", "is not that of resid_pdrop", "activation_function=swish",
            "gelu_new" } },
        { "{\"model_type\": \"t5\", \"num_layers\": 1, \"d_model\": 8, \"d_ff\": 8, \"d_kv\": 4, "
          "\"num_heads\": 2, \"vocab_size\": 9, \"feed_forward_proj\": \"gated-silu\", "
          "\"is_encoder_decoder\": false}",
          "",
          PL_EUNSUPPORTED,
          { "feed_forward_proj=gated-silu", "is_encoder_decoder=false" } },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const char *spec;
        pl_err err = { 0 };
        if (pl_config_parse(rows[i].text, strlen(rows[i].text), rows[i].keys, arena, &spec, &err))
            fail_msg("accepted %s", rows[i].text);
        if (err.code != rows[i].code) fail_msg("code %d of: %s", (int)err.code, err.msg);
        for (int k = 0; k < 5 && rows[i].words[k]; k++)
            if (!strstr(err.msg, rows[i].words[k]))
                fail_msg("no '%s' in: %s", rows[i].words[k], err.msg);
    }
}

/* The window of attention holds for what the spec asks later, too. */
static void a_window_below_seq_is_refused(void **state)
{
    (void)state;
    pl_model_args args;
    pl_graph *g;
    pl_err err = { 0 };
    parse_well(spec_of(mistral, ""), arena, &args);
    parse_well(pl_model_sized(arena, args.spec, 0, 4097), arena, &args);
    pl_builder b = pl_builder_new(arena, &pl_ops_all, args.spec);
    pl_model_build(&b, &args, PL_TRAIN);
    assert_false(pl_builder_done(&b, &g, &err));
    assert_int_equal(err.code, PL_EUNSUPPORTED);
    assert_non_null(strstr(err.msg, "window=4096"));
}

/* -- files ------------------------------------------------------------------------------------- */

static void write_file(const char *path, const char *text)
{
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fputs(text, f);
    assert_int_equal(fclose(f), 0);
}

static void a_path_is_a_model(void **state)
{
    (void)state;
    static const char want[] =
        "llama:layers=2,hidden=48,heads=6,kv=3,ffn=100,vocab=90,eps=1e-06,seq=8,batch=3";
    mkdir("configs", 0777);
    write_file("configs/config.json", LLAMA(2, 48, 6, 3, 100, 90, ""));
    write_file("configs/bad.json", "{\"model_type\": \"llama\"");
    static const char *const good[] = { "configs/config.json:seq=8,batch=3",
                                        "configs:seq=8,batch=3", "./configs/:batch=3,seq=8" };
    pl_model_args args;
    for (int i = 0; i < 3; i++) {
        parse_well(good[i], arena, &args);
        assert_string_equal(args.spec, want);
    }
    parse_well(pl_model_sized(arena, "configs", 3, 8), arena, &args);
    assert_string_equal(args.spec, want);
    static const char *const bad[][2] = { { "configs/bad.json", "configs/bad.json: bad JSON" },
                                          { "configs/none.json", "configs/none.json" },
                                          { "configs:layer=2", "no key 'layer'" },
                                          { "tests", "unknown model 'tests'" } };
    for (int i = 0; i < 4; i++) {
        pl_err err = { 0 };
        assert_false(pl_model_parse(bad[i][0], arena, &args, &err));
        assert_int_equal(err.code, PL_EINPUT);
        if (!strstr(err.msg, bad[i][1])) fail_msg("no '%s' in: %s", bad[i][1], err.msg);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(counts_of_parameters, set_up, tear_down),
        cmocka_unit_test_setup_teardown(specs_of_files, set_up, tear_down),
        cmocka_unit_test_setup_teardown(names_of_weights, set_up, tear_down),
        cmocka_unit_test_setup_teardown(refusals, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_window_below_seq_is_refused, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_path_is_a_model, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
