/* Decoders with experts: what they compute against transformers, with weights by a formula; that
 * room for all tokens leaves none out; which layers are routed; what is refused. The numbers are
 * those of bench/torch/known_experts.py (transformers 5.23). */
#include "published.h"

enum { N_LOGITS = 6, VOCAB = 32 };

#define GROUPED "layers=2,hidden=16,heads=4,kv=2,ffn=24,vocab=32,seq=7,batch=2,capacity=0,"
#define QWEN GROUPED "expert=8,experts=6,k=2,names=qwen,eps=0.000001,"
#define LATENT                                                                                     \
    "layers=2,hidden=16,heads=4,kvrank=8,nope=4,turned=6,value=5,ffn=24,vocab=32,seq=7,batch=2,"   \
    "capacity=0,names=deepseek,expert=8,experts=8,k=3,"

/* Of queries and keys: (1 + 0.0707 ln 40) / (1 + 0.09 ln 40). */
#define YARN_SCALE "0.9465499858480512"

/* -- numbers ----------------------------------------------------------------------------------- */

static bool ends_in(const char *text, const char *end)
{
    size_t n = strlen(text), k = strlen(end);
    return n >= k && !strcmp(text + n - k, end);
}

static void fill_by_formula(eval *e)
{
    for (int i = 0; i < e->graph->values.n; i++) {
        const pl_value *v = e->graph->values.at[i];
        const int64_t n = pl_shape_count(&v->shape);
        double from = 0;
        for (const char *c = v->name; *c; c++) from += *c;
        for (int64_t k = 0; k < n && v->role == PL_STATE; k++) {
            double y = 0.4 * sin(0.7 * (double)k + from);
            ((float *)e->at[i])[k] = (float)(ends_in(v->name, "norm.weight") ? 1 + y / 4 : y);
        }
        for (int64_t k = 0; k < n && v->role == PL_INPUT; k++)
            ((int32_t *)e->at[i])[k] = (int32_t)(5 * k % VOCAB);
    }
}

static eval run_by_formula(const char *spec)
{
    eval e = eval_new(build(spec, PL_INFER, NULL, arena));
    fill_by_formula(&e);
    eval_run(&e, e.graph->nodes.n);
    return e;
}

static const float *last_logits(const eval *e)
{
    const pl_value *v = pl_graph_find(e->graph, "logits");
    return (const float *)e->at[v->id] + pl_shape_count(&v->shape) - VOCAB;
}

static void numbers_of_transformers(void **state)
{
    (void)state;
    static const struct {
        const char *spec;
        double logit[N_LOGITS];
    } rows[] = {
        { "llama:" GROUPED "experts=4",
          { -0.359781, 0.244865, 0.459198, -0.058426, -0.482920, -0.137644 } },
        { "llama:" QWEN "bias=1,shared=12,plain=0,even=0",
          { -0.363735, 0.188582, 0.440301, -0.009815, -0.444286, -0.170569 } },
        { "llama:" QWEN "head=8,qknorm=1,every=2",
          { 0.273772, 0.821822, 0.059895, -0.797504, -0.383690, 0.641722 } },
        { "deepseek:" LATENT "shared=2,groups=4,chosen=2,scale=4.0,even=0",
          { 0.118731, -0.067863, -0.146283, 0.008470, 0.149722, 0.052319 } },
        { "deepseek:" LATENT "qrank=12,score=sigmoid,groups=4,chosen=2,scale=2.5,even=1",
          { 0.288824, 0.199347, -0.207887, -0.283751, 0.092682, 0.321380 } },
        { "deepseek:" LATENT "shared=2,even=0,rope=yarn,rope_factor=40.0,rope_original=16,"
          "rope_high=32.0,rope_mscale=0.9,rope_scale=" YARN_SCALE,
          { 0.066922, -0.155191, -0.129931, 0.102438, 0.171522, -0.032798 } },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        eval e = run_by_formula(rows[i].spec);
        for (int k = 0; k < N_LOGITS; k++)
            if (fabs((double)last_logits(&e)[k] - rows[i].logit[k]) > 2e-6)
                fail_msg("%s: logit %d is %.7f, not %.7f", rows[i].spec, k,
                         (double)last_logits(&e)[k], rows[i].logit[k]);
        eval_free(&e);
    }
}

/* -- which tokens, which layers ---------------------------------------------------------------- */

/* Little room drops choices, which changes the logits; as much as all can need does not, and gives
 * what experts without slots give. */
static void room_for_all(void **state)
{
    (void)state;
    eval all = run_by_formula("llama:" GROUPED "experts=4"),
         wide = run_by_formula("llama:" GROUPED "experts=4,capacity=2"),
         tight = run_by_formula("llama:" GROUPED "experts=4,capacity=0.3");
    double most = 0;
    for (int i = 0; i < VOCAB; i++) {
        const double x = (double)last_logits(&all)[i];
        check_near((double)last_logits(&wide)[i], x, 1e-6);
        most = fmax(most, fabs((double)last_logits(&tight)[i] - x));
    }
    assert_true(most > 1e-6);
    eval_free(&all), eval_free(&wide), eval_free(&tight);
}

static void which_layers(void **state)
{
    (void)state;
    static const struct {
        const char *keys, *routed; /* of six layers */
    } rows[] = {
        { "every=1", "111111" },
        { "every=2", "010101" },
        { "every=3,plain=2", "000001" },
        { "plain=0", "011111" },
        { "plain=0+5+3", "011010" },
        { "plain=12", "111111" },
        { "every=2,plain=1+3+5", "000000" },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const pl_graph *g = build(pl_arena_fmt(arena, "llama:" QWEN "%s,layers=6", rows[i].keys),
                                  PL_TRAIN, NULL, arena);
        for (int k = 0; k < 6; k++) {
            const char *gate = pl_arena_fmt(arena, "model.layers.%d.mlp.gate.weight", k);
            if ((pl_graph_find(g, gate) != NULL) != (rows[i].routed[k] == '1'))
                fail_msg("%s: layer %d", rows[i].keys, k);
        }
    }
    const pl_graph *g = build("deepseek:layers=4,first=3", PL_TRAIN, NULL, arena);
    assert_non_null(pl_graph_find(g, "model.layers.2.mlp.up_proj.weight"));
    assert_null(pl_graph_find(g, "model.layers.2.mlp.gate.weight"));
    assert_non_null(pl_graph_find(g, "model.layers.3.mlp.gate.weight"));
}

/* Files have an expert's weights one by one; a bias that only chooses is not trained. */
static void names_in_files(void **state)
{
    (void)state;
    const pl_graph *g =
        build("deepseek:layers=2,score=sigmoid,qrank=8,bias=1", PL_TRAIN, NULL, arena);
    const pl_value *w = pl_graph_find(g, "model.layers.1.mlp.experts.up_proj.weight");
    assert_string_equal(pl_graph_part(arena, w, 7), "model.layers.1.mlp.experts.7.up_proj.weight");
    assert_true(pl_graph_find(g, "model.layers.1.mlp.gate.e_score_correction_bias")->kind ==
                PL_BUFFER);
    static const char *const names[] = {
        "self_attn.q_a_proj.weight",          "self_attn.q_a_proj.bias",
        "self_attn.q_a_layernorm.weight",     "self_attn.q_b_proj.weight",
        "self_attn.kv_a_proj_with_mqa.bias",  "self_attn.kv_a_layernorm.weight",
        "self_attn.kv_b_proj.weight",         "self_attn.o_proj.bias",
        "mlp.shared_experts.down_proj.weight"
    };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (!pl_graph_find(g, pl_arena_fmt(arena, "model.layers.1.%s", names[i])))
            fail_msg("no %s", names[i]);
}

/* Whatever computes in bf16, a bias that only chooses stays f32. */
static void in_halves(void **state)
{
    (void)state;
    static const char *const specs[] = { "llama:" QWEN "shared=12,even=0,dtype=bf16",
                                         "deepseek:" LATENT "groups=4,chosen=2,dtype=bf16",
                                         "deepseek:" LATENT
                                         "score=sigmoid,groups=4,chosen=2,even=1,dtype=bf16" };
    for (size_t i = 0; i < 3; i++) build(specs[i], PL_TRAIN, "adamw", arena);
}

/* -- files ------------------------------------------------------------------------------------- */

static const char qwen15_moe[] =
    "{\"bos_token_id\": 0, \"eos_token_id\": 1, \"initializer_range\": 0.02, \"use_cache\": "
    "true, \"torch_dtype\": \"bfloat16\", \"transformers_version\": \"4.40.1\", "
    "\"hidden_act\": \"silu\", \"attention_dropout\": 0.0, \"tie_word_embeddings\": false, "
    "\"architectures\": [\"Qwen2MoeForCausalLM\"], \"hidden_size\": 2048, "
    "\"intermediate_size\": 5632, \"max_position_embeddings\": 8192, \"max_window_layers\": "
    "21, \"model_type\": \"qwen2_moe\", \"num_attention_heads\": 16, \"num_hidden_layers\": "
    "24, \"num_key_value_heads\": 16, \"rms_norm_eps\": 1e-06, \"rope_theta\": 1000000.0, "
    "\"sliding_window\": 32768, \"use_sliding_window\": false, \"vocab_size\": 151936, "
    "\"decoder_sparse_step\": 1, \"moe_intermediate_size\": 1408, "
    "\"shared_expert_intermediate_size\": 5632, \"num_experts_per_tok\": 4, \"num_experts\": "
    "60, \"norm_topk_prob\": false, \"output_router_logits\": false, "
    "\"router_aux_loss_coef\": 0.001}";

static const char qwen3_moe_30b[] =
    "{\"bos_token_id\": 0, \"eos_token_id\": 1, \"initializer_range\": 0.02, \"use_cache\": "
    "true, \"torch_dtype\": \"bfloat16\", \"transformers_version\": \"4.40.1\", "
    "\"hidden_act\": \"silu\", \"attention_dropout\": 0.0, \"tie_word_embeddings\": false, "
    "\"architectures\": [\"Qwen3MoeForCausalLM\"], \"attention_bias\": false, "
    "\"decoder_sparse_step\": 1, \"head_dim\": 128, \"hidden_size\": 2048, "
    "\"intermediate_size\": 6144, \"max_position_embeddings\": 40960, \"max_window_layers\": "
    "48, \"mlp_only_layers\": [], \"model_type\": \"qwen3_moe\", \"moe_intermediate_size\": "
    "768, \"norm_topk_prob\": true, \"num_attention_heads\": 32, \"num_experts\": 128, "
    "\"num_experts_per_tok\": 8, \"num_hidden_layers\": 48, \"num_key_value_heads\": 4, "
    "\"output_router_logits\": false, \"rms_norm_eps\": 1e-06, \"rope_scaling\": null, "
    "\"rope_theta\": 1000000.0, \"router_aux_loss_coef\": 0.001, \"sliding_window\": null, "
    "\"use_sliding_window\": false, \"vocab_size\": 151936}";

static const char deepseek_v2_lite[] =
    "{\"bos_token_id\": 0, \"eos_token_id\": 1, \"initializer_range\": 0.02, \"use_cache\": "
    "true, \"torch_dtype\": \"bfloat16\", \"transformers_version\": \"4.40.1\", "
    "\"hidden_act\": \"silu\", \"attention_dropout\": 0.0, \"tie_word_embeddings\": false, "
    "\"attention_bias\": false, \"aux_loss_alpha\": 0.001, \"ep_size\": 1, \"kv_lora_rank\": "
    "512, \"max_position_embeddings\": 163840, \"moe_layer_freq\": 1, \"qk_nope_head_dim\": "
    "128, \"qk_rope_head_dim\": 64, \"rms_norm_eps\": 1e-06, \"rope_theta\": 10000, "
    "\"seq_aux\": true, \"v_head_dim\": 128, \"pretraining_tp\": 1, \"auto_map\": "
    "{\"AutoConfig\": \"configuration_deepseek.DeepseekV2Config\"}, \"rope_scaling\": "
    "{\"beta_fast\": 32, \"beta_slow\": 1, \"factor\": 40, \"mscale\": 0.707, "
    "\"mscale_all_dim\": 0.707, \"original_max_position_embeddings\": 4096, \"type\": "
    "\"yarn\"}, \"architectures\": [\"DeepseekV2ForCausalLM\"], \"model_type\": "
    "\"deepseek_v2\", \"first_k_dense_replace\": 1, \"hidden_size\": 2048, "
    "\"intermediate_size\": 10944, \"moe_intermediate_size\": 1408, \"n_group\": 1, "
    "\"n_routed_experts\": 64, \"n_shared_experts\": 2, \"norm_topk_prob\": false, "
    "\"num_attention_heads\": 16, \"num_experts_per_tok\": 6, \"num_hidden_layers\": 27, "
    "\"num_key_value_heads\": 16, \"q_lora_rank\": null, \"routed_scaling_factor\": 1.0, "
    "\"scoring_func\": \"softmax\", \"topk_group\": 1, \"topk_method\": \"greedy\", "
    "\"vocab_size\": 102400}";

static const char deepseek_v2_large[] =
    "{\"bos_token_id\": 0, \"eos_token_id\": 1, \"initializer_range\": 0.02, \"use_cache\": "
    "true, \"torch_dtype\": \"bfloat16\", \"transformers_version\": \"4.40.1\", "
    "\"hidden_act\": \"silu\", \"attention_dropout\": 0.0, \"tie_word_embeddings\": false, "
    "\"attention_bias\": false, \"aux_loss_alpha\": 0.001, \"ep_size\": 1, \"kv_lora_rank\": "
    "512, \"max_position_embeddings\": 163840, \"moe_layer_freq\": 1, \"qk_nope_head_dim\": "
    "128, \"qk_rope_head_dim\": 64, \"rms_norm_eps\": 1e-06, \"rope_theta\": 10000, "
    "\"seq_aux\": true, \"v_head_dim\": 128, \"pretraining_tp\": 1, \"auto_map\": "
    "{\"AutoConfig\": \"configuration_deepseek.DeepseekV2Config\"}, \"rope_scaling\": "
    "{\"beta_fast\": 32, \"beta_slow\": 1, \"factor\": 40, \"mscale\": 0.707, "
    "\"mscale_all_dim\": 0.707, \"original_max_position_embeddings\": 4096, \"type\": "
    "\"yarn\"}, \"architectures\": [\"DeepseekV2ForCausalLM\"], \"model_type\": "
    "\"deepseek_v2\", \"first_k_dense_replace\": 1, \"hidden_size\": 5120, "
    "\"intermediate_size\": 12288, \"moe_intermediate_size\": 1536, \"n_group\": 8, "
    "\"n_routed_experts\": 160, \"n_shared_experts\": 2, \"norm_topk_prob\": false, "
    "\"num_attention_heads\": 128, \"num_experts_per_tok\": 6, \"num_hidden_layers\": 60, "
    "\"num_key_value_heads\": 128, \"q_lora_rank\": 1536, \"routed_scaling_factor\": 16.0, "
    "\"scoring_func\": \"softmax\", \"topk_group\": 3, \"topk_method\": "
    "\"group_limited_greedy\", \"vocab_size\": 102400}";

static const char deepseek_v3_large[] =
    "{\"bos_token_id\": 0, \"eos_token_id\": 1, \"initializer_range\": 0.02, \"use_cache\": "
    "true, \"torch_dtype\": \"bfloat16\", \"transformers_version\": \"4.40.1\", "
    "\"hidden_act\": \"silu\", \"attention_dropout\": 0.0, \"tie_word_embeddings\": false, "
    "\"attention_bias\": false, \"aux_loss_alpha\": 0.001, \"ep_size\": 1, \"kv_lora_rank\": "
    "512, \"max_position_embeddings\": 163840, \"moe_layer_freq\": 1, \"qk_nope_head_dim\": "
    "128, \"qk_rope_head_dim\": 64, \"rms_norm_eps\": 1e-06, \"rope_theta\": 10000, "
    "\"seq_aux\": true, \"v_head_dim\": 128, \"pretraining_tp\": 1, \"auto_map\": "
    "{\"AutoConfig\": \"configuration_deepseek.DeepseekV2Config\"}, \"rope_scaling\": "
    "{\"beta_fast\": 32, \"beta_slow\": 1, \"factor\": 40, \"mscale\": 1.0, "
    "\"mscale_all_dim\": 1.0, \"original_max_position_embeddings\": 4096, \"type\": "
    "\"yarn\"}, \"architectures\": [\"DeepseekV3ForCausalLM\"], \"model_type\": "
    "\"deepseek_v3\", \"first_k_dense_replace\": 3, \"hidden_size\": 7168, "
    "\"intermediate_size\": 18432, \"moe_intermediate_size\": 2048, \"n_group\": 8, "
    "\"n_routed_experts\": 256, \"n_shared_experts\": 1, \"norm_topk_prob\": true, "
    "\"num_attention_heads\": 128, \"num_experts_per_tok\": 8, \"num_hidden_layers\": 61, "
    "\"num_key_value_heads\": 128, \"num_nextn_predict_layers\": 1, \"q_lora_rank\": 1536, "
    "\"quantization_config\": {\"activation_scheme\": \"dynamic\", \"fmt\": \"e4m3\", "
    "\"quant_method\": \"fp8\", \"weight_block_size\": [128, 128]}, "
    "\"routed_scaling_factor\": 2.5, \"scoring_func\": \"sigmoid\", \"topk_group\": 4, "
    "\"topk_method\": \"noaux_tc\", \"vocab_size\": 129280}";

/* As published: the built-in models, but that no token is left out. */
static void published_files(void **state)
{
    (void)state;
    static const struct {
        const char *text, *name;
    } rows[] = {
        { mixtral, "mixtral-8x7b" },          { qwen15_moe, "qwen1.5-moe-a2.7b" },
        { qwen3_moe_30b, "qwen3-30b-a3b" },   { deepseek_v2_lite, "deepseek-v2-lite" },
        { deepseek_v2_large, "deepseek-v2" }, { deepseek_v3_large, "deepseek-v3" },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const char *name = pl_arena_fmt(arena, "%s:seq=2048,capacity=0", rows[i].name);
        pl_model_args file, named;
        parse_well(spec_of(rows[i].text, ""), arena, &file);
        parse_well(name, arena, &named);
        assert_ptr_equal(file.model->keys, named.model->keys);
        for (int k = 0; k < file.n; k++)
            if (strcmp(file.value[k], named.value[k]))
                fail_msg("%s: the file has %s=%s, not %s", name, file.model->keys[k].name,
                         file.value[k], named.value[k]);
    }
}

/* Fields with a part of a file each: what they are to the keys, or why they are refused. */
static void fields(void **state)
{
    (void)state;
    static const struct {
        const char *fields, *keys, *words; /* of the note; keys NULL: of the refusal */
    } rows[] = {
#define QWEN3 "\"model_type\": \"qwen3_moe\", \"intermediate_size\": 24"
#define V2                                                                                         \
    "\"model_type\": \"deepseek_v2\", \"intermediate_size\": 24, \"n_routed_experts\": 8, "        \
    "\"num_experts_per_tok\": 2, \"moe_intermediate_size\": 8, \"qk_rope_head_dim\": 4"
        { QWEN3 ", \"num_local_experts\": 4", "experts=4", NULL },
        { QWEN3, "experts=128", NULL },
        { QWEN3 ", \"mlp_only_layers\": [0, 3]", "plain=0+3", NULL },
        { QWEN3 ", \"mlp_only_layers\": [-1]", NULL, "mlp_only_layers=-1" },
        { QWEN3 ", \"mlp_only_layers\": 3", NULL, "mlp_only_layers=3 is not a list" },
        { QWEN3 ", \"output_router_logits\": true", NULL, "output_router_logits=true" },
        { V2, "qrank=1536", NULL },
        { V2 ", \"q_lora_rank\": null", "hidden=16,heads=4,kvrank=512", NULL },
        { V2 ", \"norm_topk_prob\": true", NULL, "norm_topk_prob=true" },
        { V2 ", \"topk_method\": \"other\"", NULL, "topk_method=other is not supported" },
        { V2 ", \"scoring_func\": \"sigmoid\"", NULL, "scoring_func=sigmoid" },
        { V2 ", \"n_group\": 4, \"topk_group\": 2", "shared=2,limited=0", NULL },
        { V2 ", \"n_group\": 4, \"topk_group\": 2, \"topk_method\": \"group_limited_greedy\"",
          "groups=4,chosen=2", NULL },
#undef QWEN3
#undef V2
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const char *text = pl_arena_fmt(arena,
                                        "{\"hidden_size\": 16, \"num_hidden_layers\": 2, "
                                        "\"num_attention_heads\": 4, \"vocab_size\": 9, %s}",
                                        rows[i].fields);
        pl_config_found found;
        pl_model_args args;
        pl_err err = { 0 };
        bool ok = pl_config_parse(text, strlen(text), "", arena, &found, &err);
        if (ok != (rows[i].keys != NULL)) fail_msg("%s: %s", rows[i].fields, err.msg);
        if (!ok && !strstr(err.msg, rows[i].words)) fail_msg("%s: %s", rows[i].words, err.msg);
        if (!ok) continue;
        parse_well(found.spec, arena, &args);
        if (!strstr(args.spec, rows[i].keys)) fail_msg("no %s in %s", rows[i].keys, args.spec);
        if (rows[i].words && !strstr(found.note, rows[i].words))
            fail_msg("no %s in %s", rows[i].words, found.note);
    }
}

/* -- what is refused --------------------------------------------------------------------------- */

static void refusals(void **state)
{
    (void)state;
    static const struct {
        const char *spec, *words;
    } rows[] = {
        { "llama:experts=2,k=3", "k=3 experts of a token, but there are experts=2" },
        { "llama:experts=2,plain=x", "plain=x lists no layers" },
        { "llama:experts=2,plain=1++2", "plain=1++2 lists no layers" },
        { "llama:experts=2,plain=1+", "plain=1+ lists no layers" },
        { "deepseek:turned=7", "turned=7 is odd" },
        { "deepseek:experts=8,groups=3,chosen=1", "experts=8 in groups=3" },
        { "deepseek:experts=8,groups=4,chosen=5", "chosen=5" },
        { "deepseek:experts=8,k=3,groups=4,chosen=1", "takes k=3 from chosen=1" },
        { "deepseek:experts=8,groups=8,chosen=4,score=sigmoid", "two of each group at least" },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        pl_model_args args;
        pl_graph *g;
        pl_err err = { 0 };
        parse_well(rows[i].spec, arena, &args);
        pl_builder b = pl_builder_new(arena, &pl_ops_all, args.spec);
        pl_model_build(&b, &args, PL_TRAIN);
        assert_false(pl_builder_done(&b, &g, &err));
        assert_int_equal(err.code, PL_EUSAGE);
        if (!strstr(err.msg, rows[i].words)) fail_msg("no '%s' in: %s", rows[i].words, err.msg);
    }
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(numbers_of_transformers),
        TEST(room_for_all),
        TEST(which_layers),
        TEST(names_in_files),
        TEST(in_halves),
        TEST(published_files),
        TEST(fields),
        TEST(refusals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
