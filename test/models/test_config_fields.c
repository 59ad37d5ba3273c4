/* Fields of config.json: the spec that they give, what is said of them, those that are wrong or not
 * supported. */
#include "published.h"

/* -- what is read ------------------------------------------------------------------------------ */

static const struct {
    const char *text, *keys, *spec;
} read[] = {
    /* what the spec gives stands in for the file and for what all of the type have */
    { QWEN2("true"), "bias=2,batch=3,window=9,windows=wf,seq=5",
      "llama:layers=6,hidden=12,heads=3,kv=1,ffn=20,vocab=50,eps=1e-06,bias=2,window=9,windows=wf,"
      "seq=5,batch=3" },
    { LLAMA(2, 48, 6, 3, 100, 90, LLAMA3), "",
      "llama:layers=2,hidden=48,heads=6,kv=3,ffn=100,vocab=90,base=500000,seq=2048,batch=1" },
    { LLAMA(2, 48, 6, 3, 100, 90, ", \"max_position_embeddings\": 77"), "batch=5",
      "llama:layers=2,hidden=48,heads=6,kv=3,ffn=100,vocab=90,eps=1e-06,seq=77,batch=5" },
    { LLAMA(2, 48, 6, 3, 100, 90, LLAMA3), "layers=1,seq=9,batch=2,dtype=bf16",
      "llama:layers=1,hidden=48,heads=6,kv=3,ffn=100,vocab=90,base=500000,seq=9,batch=2,"
      "dtype=bf16" },
    /* a key stands for a field that is not supported */
    { LLAMA(2, 48, 6, 3, 100, 90,
            ", \"rope_parameters\": {\"rope_type\": \"other\", \"factor\": 8.0}"),
      "base=7,rope=default", TINY "base=7,eps=1e-06,seq=2048,batch=1" },
    { ROPED("\"rope_type\": \"linear\", \"factor\": 4"), "",
      TINY "rope=linear,rope_factor=4,eps=1e-06,seq=64,batch=1" },
    { ROPED("\"type\": \"dynamic\", \"factor\": 2.5"), "",
      TINY "rope=dynamic,rope_factor=2.5,rope_original=64,eps=1e-06,seq=64,batch=1" },
    { ROPED("\"rope_type\": \"yarn\", \"factor\": 4.0, \"beta_fast\": 16, \"attention_factor\": "
            "1.5, \"truncate\": false, \"original_max_position_embeddings\": 16"),
      "",
      TINY "rope=yarn,rope_factor=4,rope_original=16,rope_high=16,rope_truncate=0,rope_scale=1.5,"
           "eps=1e-06,seq=64,batch=1" },
    /* 0.1 ln 4 + 1 where nothing else is said; the file's length where none of the training's */
    { ROPED("\"rope_type\": \"yarn\", \"factor\": 4.0"), "",
      TINY "rope=yarn,rope_factor=4,rope_original=64,rope_high=32,"
           "rope_scale=1.138629436111989,eps=1e-06,seq=64,batch=1" },
    /* sqrt(1 + ln 4 / ln 16), of 64 positions where 16 were trained */
    { ROPED("\"type\": \"su\", \"short_factor\": [1, 1.5], \"long_factor\": [2, 4.0], "
            "\"original_max_position_embeddings\": 16"),
      "",
      TINY "rope=longrope,rope_original=16,rope_scale=1.224744871391589,rope_short=1/1.5,"
           "rope_long=2/4,eps=1e-06,seq=64,batch=1" },
    { ROPED("\"rope_theta\": 500000.0, \"partial_rotary_factor\": 1.0"), "",
      TINY "base=500000,eps=1e-06,seq=64,batch=1" },
    { GEMMA3("\"rope_parameters\": {\"full_attention\": {\"rope_type\": \"linear\", "
             "\"factor\": 8.0, "
             "\"rope_theta\": 1000000.0}, \"sliding_attention\": {\"rope_type\": \"default\", "
             "\"rope_theta\": 10000.0}}"),
      "",
      "llama:layers=6,hidden=12,heads=3,kv=1,ffn=20,vocab=50,base=1000000,rope=linear,rope_"
      "factor="
      "8,head=8,act=gelu_tanh,eps=1e-06,qknorm=1,tied=1,scaled=1,from_one=1,sandwich=1,"
      "query_scalar=256,window=4,windows=wwf,local_base=10000,seq=32,batch=1" },
    /* from the fourth layer on */
    { QWEN2("true"), "",
      "llama:layers=6,hidden=12,heads=3,kv=1,ffn=20,vocab=50,eps=1e-06,bias=1,window=4,windows="
      "fffwww,seq=32,batch=1" },
    { QWEN2("false"), "",
      "llama:layers=6,hidden=12,heads=3,kv=1,ffn=20,vocab=50,eps=1e-06,bias=1,seq=32,batch=1" },
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

/* So that a key that a user gives twice can be told from these. */
static void check_once(const char *spec)
{
    for (const char *at = strchr(spec, ':'); at; at = strchr(at + 1, ',')) {
        const char *key = pl_arena_span(arena, at + 1, strcspn(at + 1, "=") + 1);
        if (strstr(at + 1 + strlen(key), pl_arena_fmt(arena, ",%s", key)))
            fail_msg("%s has %s twice", spec, key);
    }
}

static void specs_of_files(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof read / sizeof *read; i++) {
        pl_model_args args;
        check_once(spec_of(read[i].text, read[i].keys));
        parse_well(spec_of(read[i].text, read[i].keys), arena, &args);
        assert_string_equal(args.spec, read[i].spec);
    }
}

/* -- what is not ------------------------------------------------------------------------------- */

#define TEN "0123456789"
#define LONG TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN

static const struct {
    const char *text, *keys;
    pl_code code;
    const char *words[5];
} refused[] = {
    { "{}", "", PL_EINPUT, { "model_type is missing", "llama", "vit" } },
    { "[]", "", PL_EINPUT, { "an object" } },
    { "{\"model_type\": \"mamba\"}",
      "",
      PL_EUNSUPPORTED,
      { "model_type=mamba is not known", "gpt2, llama, mistral, mixtral",
        "phi3, gemma, gemma2, gemma3_text, bert, roberta, t5, vit" } },
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
    { ROPED("\"rope_type\": \"ntk\", \"factor\": 2, \"new\": [1, 2]"),
      "",
      PL_EUNSUPPORTED,
      { "rope_parameters.rope_type=ntk is not supported", "only default, linear",
        "give rope=default", "rope_parameters.new=[1,2] is not known" } },
    { ROPED("\"rope_type\": \"llama3\", \"low_freq_factor\": 4, \"high_freq_factor\": 1"),
      "",
      PL_EINPUT,
      { "rope_parameters.factor is missing", "low_freq_factor=4 is not below" } },
    { ROPED("\"rope_type\": \"linear\", \"factor\": 0, \"rope_theta\": \"big\""),
      "",
      PL_EINPUT,
      { "rope_parameters.factor=0 is not a number above 0",
        "rope_parameters.rope_theta=big is not a whole number" } },
    { ROPED("\"rope_type\": \"longrope\", \"short_factor\": [1, 0], \"factor\": 2"),
      "",
      PL_EINPUT,
      { "short_factor=[1,0] is not a list of numbers above 0", "long_factor=null" } },
    { ROPED("\"partial_rotary_factor\": 0.5"),
      "",
      PL_EUNSUPPORTED,
      { "partial_rotary_factor=0.5 is not supported: the layers of this type turn whole" } },
    { GEMMA3("\"rope_scaling\": 7, \"layer_types\": [\"full_attention\", \"chunked\"]"),
      "",
      PL_EINPUT,
      { "rope_scaling=7 is not an object", "layer_types=chunked of layer 1 is not supported" } },
    { "{\"model_type\": \"roberta\", \"num_hidden_layers\": 1, \"hidden_size\": 8, "
      "\"num_attention_heads\": 2, \"intermediate_size\": 9, \"vocab_size\": 9, "
      "\"pad_token_id\": null}",
      "",
      PL_EINPUT,
      { "pad_token_id=null leaves positions without a beginning" } },
    /* all of it is named, whatever its size, and nothing is cut off in the middle */
    { LLAMA(2, 48, 6, 3, 100, 90,
            ", \"first_idea_of_all\": {\"a\": \"" LONG "\"}, \"next\": [\"" LONG
            "\"], \"text\": \"" LONG "\", \"last\": {\"a\": {\"b\": 1}}"),
      "",
      PL_EUNSUPPORTED,
      { "first_idea_of_all=(an object of 1 members) is not known", "next=(a list of 1)",
        "text=(a text of 120 bytes)", "last={\"a\":{\"b\":1}} is not known" } },
    { LLAMA(2, 48, 6, 3, 100, 90, ", \"attention_dropout\": 0.5, \"new_idea\": 3"),
      "",
      PL_EUNSUPPORTED,
      { "attention_dropout=0.5 is not supported (only 0, 0.0)", "new_idea=3 is not known" } },
    { LLAMA(2, 48, 6, 3, 100, 90, ", \"rope_theta\": 0.5"), "", PL_EINPUT, { "rope_theta=0.5" } },
    { LLAMA(2, 48, 6, 3, 100, 90, ", \"max_position_embeddings\": 0"),
      "",
      PL_EINPUT,
      { "max_position_embeddings=0" } },
    { "{\"model_type\": \"gpt2\", \"n_layer\": 1, \"n_embd\": 8, \"n_head\": 2, "
      "\"vocab_size\": 9, \"attn_pdrop\": 0.2, \"activation_function\": \"maxout\"}",
      "",
      PL_EUNSUPPORTED,
      { "attn_pdrop=0.20", "is not that of resid_pdrop", "activation_function=maxout",
        "gelu_new" } },
    { "{\"model_type\": \"t5\", \"num_layers\": 1, \"d_model\": 8, \"d_ff\": 8, \"d_kv\": 4, "
      "\"num_heads\": 2, \"vocab_size\": 9, \"feed_forward_proj\": \"gated-maxout\", "
      "\"is_encoder_decoder\": false}",
      "",
      PL_EUNSUPPORTED,
      { "feed_forward_proj=gated-maxout", "is_encoder_decoder=false" } },
};

static void refusals(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        pl_config_found found;
        pl_err err = { 0 };
        if (pl_config_parse(refused[i].text, strlen(refused[i].text), refused[i].keys, arena,
                            &found, &err))
            fail_msg("accepted %s", refused[i].text);
        if (err.code != refused[i].code) fail_msg("code %d of: %s", (int)err.code, err.msg);
        for (int k = 0; k < 5 && refused[i].words[k]; k++)
            if (!strstr(err.msg, refused[i].words[k]))
                fail_msg("no '%s' in: %s", refused[i].words[k], err.msg);
    }
}

/* More problems than a message holds: the last ones by their names. */
static void many_problems(void **state)
{
    (void)state;
    pl_config_found found;
    pl_err err = { 0 };
    pl_text text = { .arena = arena };
    pl_text_add(&text, "{\"model_type\": \"bert\"");
    for (int i = 0; i < 30; i++)
        pl_text_add(&text, ", \"field_%d\": \"%s\"", i, TEN TEN TEN TEN TEN TEN TEN TEN);
    pl_text_add(&text, "}");
    assert_false(pl_config_parse(pl_text_get(&text), text.n, "", arena, &found, &err));
    const char *const words[] = { "vocab_size is missing", "field_0=0123", "; and also field_",
                                  "field_29" };
    for (int i = 0; i < 4; i++)
        if (!strstr(err.msg, words[i])) fail_msg("no '%s' in: %s", words[i], err.msg);
}

/* What is taken where the file leaves it open, and unknown fields that are off. */
static void notes(void **state)
{
    (void)state;
    static const struct {
        const char *text, *keys, *note;
    } rows[] = {
        { llama31, "",
          "seq=2048 is taken, where it is made for 131072 positions (key seq); dtype=f32 is taken, "
          "where it has bfloat16 (key dtype)\n" },
        { llama31, "seq=7", "dtype=f32 is taken, where it has bfloat16 (key dtype)\n" },
        { llama31, "dtype=bf16,seq=7", "" },
        { gemma2, "dtype=f32",
          "seq=2048 is taken, where it is made for 8192 positions (key seq)\n" },
        { ROPED("\"rope_theta\": 10000.0}, \"new\": {}, \"old\": \"\", \"some\": [], \"x\": 0.0, "
                "\"y\": "
                "false, \"dtype\": {"),
          "dtype=f32", "not known, but off, so left aside: new={}, old=, some=[], x=0, y=false\n" },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        pl_config_found found;
        pl_err err = { 0 };
        if (!pl_config_parse(rows[i].text, strlen(rows[i].text), rows[i].keys, arena, &found, &err))
            fail_msg("%s", err.msg);
        assert_string_equal(found.note, rows[i].note);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(specs_of_files, set_up, tear_down),
        cmocka_unit_test_setup_teardown(refusals, set_up, tear_down),
        cmocka_unit_test_setup_teardown(many_problems, set_up, tear_down),
        cmocka_unit_test_setup_teardown(notes, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
