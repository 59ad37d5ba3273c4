/* pleat sample: text from a checkpoint, or pictures, by what its model makes. Options of the other
 * kind are refused when the checkpoint has said which it is; so that it is known what was given,
 * rows of either kind have no default, and the help tells what stands for it. */
#include "api/launch.h"
#include "base/output.h"
#include "cli/list.h"
#include "train/pictures.h"
#include "train/sample.h"
#include "train/score.h"

#include <stdio.h>
#include <string.h>

enum { BYTES = 500, PICTURES = 64, PICTURES_SCORED = 1000 };

#define TEMPERATURE 0.8

typedef struct sample_args {
    const char *prompt, *words, *file, *features, *data, *backend;
    int64_t tokens, top, pictures, seed, threads; /* the first three: -1 where they are not given */
    double temperature;                           /* the same                                     */
    bool json, begun;
    pl_text made; /* for --json */
} sample_args;

#define AT(f) offsetof(sample_args, f)
// clang-format off
static const pl_opt opts[] = {
    { "prompt",      TEXT(prompt),      "TEXT", NULL,   "what the text goes on from" },
    { "words",       PATH(words),       "FILE", NULL,   "the words that the model was trained on" },
    { "bytes",       INT(tokens),       "N",    NULL,
      "to make; with --words, as many words; default: 500" },
    { "temperature", REAL(temperature), "X",    NULL,   "0: always the likeliest; default: 0.8" },
    { "top",         INT(top),          "N",    NULL,
      "only among the N likeliest; 0, the default: all", .needs = "temperature!=0" },
    { "o",           PATH(file),        "FILE", NULL,
      "write the pictures as a PNG, side by side; of those that are scored the first 64" },
    { "pictures",    INT(pictures),     "N",    NULL,
      "to make; default: 64, with --features 1000", 1 },
    { "features",    PATH(features),    "DIR",  NULL,
      "score them by this checkpoint of a classifier: FID, inception score", .needs = "data" },
    { "data",        PATH(data),        "FILE", NULL,
      "the real pictures, a file or folder that train reads", .needs = "features" },
    { "seed",        INT(seed),         "K",    "1",    "of the draws", .needs = "temperature!=0" },
    { "backend",     TEXT(backend),     "NAME", "auto", "kernels: onednn, native or ref" },
    { "threads",     INT(threads),      "N",    NULL,   "default: all cores", 1, 4096 },
    { "json",        FLAG(json),        NULL,   NULL,   "one JSON object on stdout" },
    { 0 },
};
// clang-format on

/* -- text -------------------------------------------------------------------------------------- */

/* Nothing is printed before it is known that there will be text. */
static void begin(sample_args *a)
{
    if (!a->begun && !a->json && a->prompt) fputs(a->prompt, stdout);
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

static bool write_text(sample_args *a, pl_infer *m, const pl_exec_options *exec, pl_err *err)
{
    const char *other = a->file ? "-o" : a->pictures >= 0 ? "--pictures" : "--features";
    if (a->file || a->pictures >= 0 || a->features)
        return pl_err_set(err, PL_EUSAGE, "%s is for pictures, and model '%s' writes text", other,
                          m->args.spec);
    const pl_sample_options o = { .prompt = a->prompt ? a->prompt : "",
                                  .words = a->words,
                                  .tokens = a->tokens >= 0 ? a->tokens : BYTES,
                                  .temperature = a->temperature >= 0 ? a->temperature : TEMPERATURE,
                                  .top = a->top,
                                  .seed = (uint64_t)a->seed,
                                  .exec = *exec };
    bool ok = pl_sample_run(m, &o, put, a, err);
    if (ok) begin(a);
    if (a->begun) end(a);
    return ok;
}

/* -- pictures ---------------------------------------------------------------------------------- */

static bool check_pictures(const sample_args *a, const pl_infer *m, pl_err *err)
{
    const char *other = a->prompt             ? "--prompt"
                        : a->words            ? "--words"
                        : a->tokens >= 0      ? "--bytes"
                        : a->temperature >= 0 ? "--temperature"
                        : a->top >= 0         ? "--top"
                                              : NULL;
    if (other)
        return pl_err_set(err, PL_EUSAGE, "%s is for text, and model '%s' makes pictures", other,
                          m->args.spec);
    if (!a->file && !a->features)
        return pl_err_set(err, PL_EUSAGE,
                          "model '%s' makes pictures: -o FILE.png writes them, --features DIR "
                          "--data PICTURES scores them",
                          m->args.spec);
    return !a->features || a->pictures != 1 ||
           pl_err_set(err, PL_EUSAGE, "--pictures 1: a score is of many");
}

/* Where pictures go. */
typedef struct pictures {
    pl_output file;
    pl_sheet sheet;    /* n 0: none   */
    pl_scorer *scorer; /* NULL: none  */
    pl_score score;
} pictures;

static void take_picture(void *with, int64_t i, const pl_picture *p)
{
    pictures *to = with;
    if (i < to->sheet.n) pl_sheet_put(&to->sheet, i, p);
    if (to->scorer) pl_score_add(to->scorer, p);
}

static void tell_score(const pl_score *s)
{
    printf("FID %.4f of %lld made pictures against %lld real ones, by %d features\n"
           "inception score %.4f, of the real ones %.4f (1 to %d)\n",
           s->distance, (long long)s->made, (long long)s->real, s->features, s->inception_made,
           s->inception_real, s->classes);
}

static void tell_json(const sample_args *a, const pictures *p, int64_t n, pl_arena *arena)
{
    const pl_score *s = &p->score;
    pl_json_out out = pl_json_begin(arena);
    PL_JSON_PUT(&out, "pictures", n, "seed", a->seed);
    if (a->file) PL_JSON_PUT(&out, "file", a->file, "in_file", p->sheet.n);
    if (a->features)
        PL_JSON_PUT(&out, "fid", s->distance, "inception_score", s->inception_made,
                    "inception_score_real", s->inception_real, "pictures_real", s->real, "features",
                    s->features, "classes", s->classes);
    puts(pl_json_end(&out));
}

/* The model is built. */
static bool make_pictures(const sample_args *a, pl_infer *m, const pl_exec_options *exec,
                          pictures *p, pl_err *err)
{
    const int64_t n = a->pictures > 0 ? a->pictures : a->features ? PICTURES_SCORED : PICTURES;
    pl_text png = { .arena = m->arena };
    if (a->file) {
        const int64_t shown = a->features && n > PICTURES ? PICTURES : n;
        PL_TRY(pl_sheet_new(m, shown, m->arena, &p->sheet, err));
        PL_TRY(pl_output_open(a->file, m->arena, &p->file, err));
    }
    if (a->features)
        PL_TRY(pl_score_open(a->features, a->data, n, exec, m->arena, &p->scorer, err));
    PL_TRY(pl_infer_start(m, exec, err));
    PL_TRY(pl_pictures_make(m, n, (uint64_t)a->seed, take_picture, p, err));
    if (a->file) {
        PL_TRY(pl_picture_encode(&p->sheet.whole, &png, err));
        PL_TRY(pl_output_write(&p->file, png.at, png.n, err));
        fprintf(stderr, "%s: %lld pictures side by side, %lld x %lld pixels, %s\n", a->file,
                (long long)p->sheet.n, (long long)p->sheet.whole.width,
                (long long)p->sheet.whole.height, pl_text_size(m->arena, (double)png.n));
    }
    if (a->features) PL_TRY(pl_score_end(p->scorer, &p->score, err));
    if (a->json)
        tell_json(a, p, n, m->arena);
    else if (a->features)
        tell_score(&p->score);
    return true;
}

static bool write_pictures(const sample_args *a, pl_infer *m, const pl_exec_options *exec,
                           pl_err *err)
{
    pictures p = { 0 };
    PL_TRY(pl_pictures_build(m, err));
    PL_TRY(check_pictures(a, m, err));
    const bool ok = make_pictures(a, m, exec, &p, err);
    pl_score_free(p.scorer);
    return ok;
}

/* -- both -------------------------------------------------------------------------------------- */

static bool sample(void *args, int n, const char *const checkpoint[], pl_arena *arena, pl_err *err)
{
    sample_args *a = args;
    pl_exec_options exec = { .env.n_threads = pl_launch_threads(a->threads, 1) };
    pl_infer m;
    (void)n;
    a->made.arena = arena;
    exec.backends = pl_launch_backends(a->backend, &exec.n_backends, err);
    if (!exec.backends) return false;
    PL_TRY(pl_infer_open(checkpoint[0], arena, &m, err));
    const bool ok = strcmp(m.args.model->data, "text") ? write_pictures(a, &m, &exec, err)
                                                       : write_text(a, &m, &exec, err);
    pl_infer_free(&m);
    return ok;
}

static int run(const pl_command *c, int argc, char **argv)
{
    sample_args a = { .tokens = -1, .top = -1, .pictures = -1, .temperature = -1 };
    return pl_opt_run(c, argc, argv, &a, 1, 1, sample);
}

const pl_command pl_command_sample = {
    .name = "sample",
    .operands = "DIR",
    .about = "print text from a checkpoint, or write the pictures that it makes",
    .more = "DIR is the folder that train --save wrote, or one manifest in it.\n"
            "example: pleat sample saved --prompt \"You may \" --bytes 200\n"
            "         pleat sample gan -o made.png --features classifier --data pictures",
    .opts = opts,
    .run = run,
    .computes = true,
};
