/* config.json of transformers: what is built of it, against the sizes of each layer written out and
 * published counts and built-in sizes; names of weights; paths. */
#include "published.h"

#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

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

/* As published, with fields that change nothing or are off: the same model as the built-in one of
 * that name, whose parameters test_zoo.c holds to transformers' count. */
static void published_files_are_the_built_in_models(void **state)
{
    (void)state;
    static const struct {
        const char *text, *name;
    } rows[] = {
        { gpt2_medium, "gpt2-medium:positions=1024" },
        { llama31, "llama3.1-8b:seq=2048" },
        { llama32, "llama3.2-1b:seq=2048,head=64" },
        { qwen25, "qwen2.5-7b:seq=2048" },
        { mistral3, "mistral-7b-v0.3:seq=2048" },
        { phi3, "phi3-mini:seq=2048" },
        { gemma, "gemma-2b:seq=2048" },
        { gemma2, "gemma2-9b:seq=2048" },
        { gemma3, "gemma3-1b:seq=2048" },
        { gemma3_small, "gemma3-270m:seq=2048" },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        pl_model_args file, named;
        parse_well(spec_of(rows[i].text, ""), arena, &file);
        parse_well(rows[i].name, arena, &named);
        assert_ptr_equal(file.model->keys, named.model->keys);
        for (int k = 0; k < file.n; k++)
            if (strcmp(file.value[k], named.value[k]))
                fail_msg("%s: the file has %s=%s, not %s", rows[i].name, file.model->keys[k].name,
                         file.value[k], named.value[k]);
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
            if (!v || v->kind != PL_WEIGHT) fail_msg("%s: no weight %s", g->name, rows[i].names[k]);
        }
    }
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
    write_file("configs/config.json",
               LLAMA(2, 48, 6, 3, 100, 90, ", \"max_position_embeddings\": 4096"));
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
                                          { "tests", "unknown model 'tests'" },
                                          { "meta-llama/Llama-3.1-8B",
                                            "fetch its config.json (e.g. hf download "
                                            "meta-llama/Llama-3.1-8B config.json" },
                                          { "empty", "'empty' is there, but no model" } };
    mkdir("empty", 0777);
    for (int i = 0; i < 6; i++) {
        pl_err err = { 0 };
        assert_false(pl_model_parse(bad[i][0], arena, &args, &err));
        /* What a file has or lacks, and what the spec says. */
        assert_int_equal(err.code, i == 2 || i == 3 ? PL_EUSAGE : PL_EINPUT);
        if (!strstr(err.msg, bad[i][1])) fail_msg("no '%s' in: %s", bad[i][1], err.msg);
    }
    parse_well("configs:dtype=f32", arena, &args);
    assert_string_equal(args.note, "configs/config.json: seq=2048 is taken, where it is made for "
                                   "4096 positions (key seq)\n");
    mkdir("vit-large", 0777);
    write_file("vit-large/config.json", "{}");
    parse_well("vit-large", arena, &args);
    assert_string_equal(args.note, "'vit-large' is the built-in model; the folder of that name is "
                                   "'./vit-large'\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(counts_of_parameters, set_up, tear_down),
        cmocka_unit_test_setup_teardown(names_of_weights, set_up, tear_down),
        cmocka_unit_test_setup_teardown(published_files_are_the_built_in_models, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_path_is_a_model, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
