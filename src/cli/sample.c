/* pleat sample: text from a checkpoint. */
#include "cli/list.h"
#include "api/launch.h"
#include "train/sample.h"

#include <stdio.h>

typedef struct sample_args {
    const char *prompt, *words, *backend;
    int64_t tokens, seed, top, threads;
    double temperature;
    bool json, begun;
    pl_text made; /* for --json */
} sample_args;

#define AT(f) offsetof(sample_args, f)
// clang-format off
static const pl_opt opts[] = {
    { "prompt",      TEXT(prompt),      "TEXT", "",     "what the text goes on from" },
    { "words",       TEXT(words),       "FILE", NULL,   "the words that the model was trained on" },
    { "bytes",       INT(tokens),       "N",    "500",  "to make; with --words, as many words" },
    { "temperature", REAL(temperature), "X",    "0.8",  "0: always the likeliest" },
    { "top",         INT(top),          "N",    "0",    "only among the N likeliest; 0: all",
      .needs = "temperature!=0" },
    { "seed",        INT(seed),         "K",    "1",    "of the draws", .needs = "temperature!=0" },
    { "backend",     TEXT(backend),     "NAME", "auto", "kernels: onednn, native or ref" },
    { "threads",     INT(threads),      "N",    NULL,   "default: all cores", 1, 4096 },
    { "json",        FLAG(json),        NULL,   NULL,   "one JSON object on stdout" },
    { 0 },
};
// clang-format on

/* Nothing is printed before it is known that there will be text. */
static void begin(sample_args *a)
{
    if (!a->begun && !a->json) fputs(a->prompt, stdout);
    a->begun = true;
}

/* A byte is a character of its own in JSON, whose texts are UTF-8; words are UTF-8. */
static void put(void *to, const char *text, size_t n)
{
    sample_args *a = to;
    begin(a);
    if (!a->json) {
        fwrite(text, 1, n, stdout);
        fflush(stdout);
        return;
    }
    const unsigned char byte = (unsigned char)*text;
    if (a->words || byte < 0x80)
        pl_text_span(&a->made, text, n);
    else
        pl_text_add(&a->made, "%c%c", 0xC0 | byte >> 6, 0x80 | (byte & 0x3F));
}

static void end(sample_args *a)
{
    if (!a->json) {
        puts("");
        return;
    }
    pl_json_out out = pl_json_begin(a->made.arena);
    pl_json_put_span(&out, "text", pl_text_get(&a->made), a->made.n);
    puts(pl_json_end(&out));
}

static bool sample(sample_args *a, const char *checkpoint, pl_err *err)
{
    pl_sample_options o = { .checkpoint = checkpoint,
                            .prompt = a->prompt,
                            .words = a->words,
                            .tokens = a->tokens,
                            .temperature = a->temperature,
                            .top = a->top,
                            .seed = (uint64_t)a->seed };
    o.exec.env.n_threads = pl_launch_threads(a->threads, 1);
    o.exec.backends = pl_launch_backends(a->backend, &o.exec.n_backends, err);
    if (!o.exec.backends) return false;
    bool ok = pl_sample_run(&o, put, a, err);
    if (ok) begin(a);
    if (a->begun) end(a);
    return ok;
}

static int run(const pl_command *c, int argc, char **argv)
{
    sample_args a = { 0 };
    const char *checkpoint;
    int n, code;
    pl_err err = { 0 };
    if (!pl_opt_parse(c, argc, argv, &a, 1, 1, &checkpoint, &n, &code)) return code;
    a.made.arena = pl_arena_new("sample");
    bool ok = sample(&a, checkpoint, &err);
    pl_arena_free(a.made.arena);
    return ok ? PL_OK : pl_opt_fail(&err);
}

const pl_command pl_command_sample = {
    .name = "sample",
    .operands = "DIR",
    .about = "print text from a checkpoint",
    .more = "DIR is the folder that train --save wrote, or one manifest in it.",
    .opts = opts,
    .run = run,
    .computes = true,
};
