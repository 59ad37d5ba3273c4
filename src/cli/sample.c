/* pleat sample: text from a checkpoint. */
#include "cli/commands.h"
#include "api/launch.h"
#include "train/sample.h"

#include <stdio.h>

typedef struct sample_args {
    const char *prompt, *backend;
    int64_t bytes, seed, top, threads;
    double temperature;
    bool json, begun;
} sample_args;

#define AT(f) offsetof(sample_args, f)
// clang-format off
static const pl_opt opts[] = {
    { "prompt",      TEXT(prompt),      "TEXT", "",     "what the text goes on from" },
    { "bytes",       INT(bytes),        "N",    "500",  "to make" },
    { "temperature", REAL(temperature), "X",    "0.8",  "0: always the likeliest byte" },
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
    if (!a->begun) fputs(a->json ? "{\"text\": \"" : a->prompt, stdout);
    a->begun = true;
}

static void put(void *to, int byte)
{
    sample_args *a = to;
    begin(a);
    if (!a->json)
        putchar(byte);
    else if (byte < 0x20 || byte == '"' || byte == '\\' || byte > 0x7E)
        printf("\\u%04x", byte);
    else
        putchar(byte);
    fflush(stdout);
}

static bool sample(sample_args *a, const char *checkpoint, pl_err *err)
{
    pl_sample_options o = { .checkpoint = checkpoint,
                            .prompt = a->prompt,
                            .bytes = a->bytes,
                            .temperature = a->temperature,
                            .top = a->top,
                            .seed = (uint64_t)a->seed };
    o.exec.env.n_threads = a->threads ? (int)a->threads : pl_launch_cores();
    o.exec.backends = pl_launch_backends(a->backend, &o.exec.n_backends, err);
    if (!o.exec.backends) return false;
    bool ok = pl_sample_run(&o, put, a, err);
    if (ok) begin(a);
    if (a->begun) fputs(a->json ? "\"}\n" : "\n", stdout);
    return ok;
}

static int run(const pl_command *c, int argc, char **argv)
{
    sample_args a = { 0 };
    const char *checkpoint;
    int n, code;
    pl_err err = { 0 };
    if (!pl_opt_parse(c, argc, argv, &a, 1, 1, &checkpoint, &n, &code)) return code;
    return sample(&a, checkpoint, &err) ? PL_OK : pl_opt_fail(&err);
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
