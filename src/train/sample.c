/* Text from a checkpoint: sample() runs the model for each token and draws the next one from its
 * logits. */
#include "train/sample.h"

#include "base/rng.h"
#include "data/vocab.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct sampler {
    const pl_sample_options *options;
    pl_arena *arena;
    pl_infer *model;
    int64_t seq, vocab;
    pl_vocab words;        /* n 0: tokens are bytes       */
    const pl_port *tokens; /* the input: a row of seq positions */
    const pl_port *logits; /* [seq, vocab]                      */
} sampler;

static bool start(sampler *s, pl_err *err)
{
    const pl_model_args *args = &s->model->args;
    if (strcmp(args->model->data, "text"))
        return pl_err_set(err, PL_EINPUT, "model '%s' reads %s, not text", args->spec,
                          args->model->data);
    s->seq = pl_model_int(args, "seq");
    s->vocab = pl_model_labels(args);
    if (s->options->words) PL_TRY(pl_vocab_read(s->options->words, s->arena, &s->words, err));
    if (s->words.n > s->vocab)
        return pl_err_set(err, PL_EINPUT, "%s has %lld words, the model in %s %lld",
                          s->options->words, (long long)s->words.n, s->model->path,
                          (long long)s->vocab);
    PL_TRY(pl_infer_build(s->model, 1, NULL, err));
    PL_TRY(pl_infer_start(s->model, &s->options->exec, err));
    s->tokens = pl_infer_input(s->model, "tokens");
    s->logits = pl_infer_output(s->model, "logits");
    return true;
}

static int by_size(const void *a, const void *b)
{
    float x = *(const float *)a, y = *(const float *)b;
    return (x < y) - (x > y);
}

/* Logits below the `top` largest do not take part. */
static float find_floor(const sampler *s, const float *x, float *sorted)
{
    if (s->options->top < 1 || s->options->top >= s->vocab) return -INFINITY;
    memcpy(sorted, x, (size_t)s->vocab * sizeof *x);
    qsort(sorted, (size_t)s->vocab, sizeof *sorted, by_size);
    return sorted[s->options->top - 1];
}

static int draw(const sampler *s, const float *x, int64_t n, float *sorted)
{
    int best = 0;
    for (int i = 1; i < s->vocab; i++)
        if (x[i] > x[best]) best = i;
    if (s->options->temperature <= 0) return best;
    float floor = find_floor(s, x, sorted);
    double sum = 0,
           u = pl_rng_uniform(pl_rng_at(s->options->seed, pl_rng_name("sample")), (uint64_t)n);
    for (int i = 0; i < s->vocab; i++)
        if (x[i] >= floor) sum += exp((double)(x[i] - x[best]) / s->options->temperature);
    u *= sum;
    for (int i = 0; i < s->vocab; i++) {
        if (x[i] < floor) continue;
        u -= exp((double)(x[i] - x[best]) / s->options->temperature);
        if (u < 0) return i;
    }
    return best;
}

/* Adds a token to a window that holds the newest n <= seq; returns the new n. */
static int64_t push(const sampler *s, int32_t *window, int64_t n, int token)
{
    if (n == s->seq) memmove(window, window + 1, (size_t)--n * sizeof *window);
    window[n] = token;
    return n + 1;
}

/* What the text goes on from; the newest tokens of it, as many as fit the window. Of words an empty
 * prompt is one that is not known. */
static int64_t take_prompt(const sampler *s, int32_t *window)
{
    const char *prompt = *s->options->prompt ? s->options->prompt : "\n";
    const size_t bytes = strlen(prompt);
    const bool words = s->words.n > 0;
    int64_t n = words ? pl_vocab_take(&s->words, prompt, bytes, NULL) : (int64_t)bytes;
    int32_t *token = PL_NEW_N(s->arena, int32_t, n + 1);
    if (words) n = pl_vocab_take(&s->words, prompt, bytes, token);
    for (int64_t i = 0; i < n && !words; i++) token[i] = (unsigned char)prompt[i];
    if (!n) n = 1;
    const int64_t first = n > s->seq ? n - s->seq : 0;
    for (int64_t i = first; i < n; i++) window[i - first] = token[i];
    return n - first;
}

static bool sample(sampler *s, void (*put)(void *to, const char *text, size_t n), void *to,
                   pl_err *err)
{
    int32_t *window = PL_NEW_N(s->arena, int32_t, s->seq);
    float *sorted = PL_NEW_N(s->arena, float, s->vocab);
    int64_t n = take_prompt(s, window); /* what follows in the window is not seen: it is masked */
    bool begins = !*s->options->prompt;
    for (int64_t made = 0; made < s->options->tokens; made++) {
        pl_infer_put(s->model, s->tokens, window);
        PL_TRY(pl_exec_step(s->model->exec, 0, err));
        float *logits = pl_exec_map(s->model->exec, s->logits, PL_READ);
        int token = draw(s, logits + (n - 1) * s->vocab, made, sorted);
        pl_exec_unmap(s->model->exec, s->logits, PL_READ, logits);
        pl_text text = { .arena = s->arena };
        if (s->words.n)
            pl_vocab_put(&s->words, token, begins, &text);
        else
            pl_text_add(&text, "%c", token & 0xFF);
        put(to, text.at, text.n);
        begins = text.n == 1 && *text.at == '\n';
        n = push(s, window, n, token);
    }
    return true;
}

bool pl_sample_run(pl_infer *model, const pl_sample_options *options,
                   void (*put)(void *to, const char *text, size_t n), void *to, pl_err *err)
{
    sampler s = { .options = options, .model = model, .arena = pl_arena_new("sample") };
    const bool ok = start(&s, err) && sample(&s, put, to, err);
    pl_arena_free(s.arena);
    return ok;
}
