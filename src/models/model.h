/* models/model.h - built-in models: a name, keys with defaults, a builder of the forward graph. */
#ifndef PL_MODELS_MODEL_H
#define PL_MODELS_MODEL_H
#include "graph/graph.h"

/* One key of a model spec. Text of the default decides the kind: with a point it is a real number,
 * else a whole one; the name of a type: one of floats. */
typedef struct pl_model_key {
    const char *name, *value;
    double least;          /* smallest legal value; sizes: 1 */
    const char *about;
    const char *words;     /* NULL: a number or a type; else one of these, or any text: "*"   */
    double most;           /* largest legal value; 0: any                                     */
    const char *needs;     /* without which it has no effect: words, parted by blanks, that all
                              hold: "experts!=0", "rope=yarn|llama3". Those of keys that the model
                              lacks hold                                                       */
} pl_model_key;

/* The last key of every model. */
#define PL_MODEL_DTYPE { "dtype", "f32", 0, "computes in f32 or bf16; weights stay f32" }

/* Keys of models of images that pl_model_finish_image reads. */
#define PL_MODEL_IMAGE_KEYS                                                                        \
    { "smoothing", "0.0", 0, "of labels in training: this share of each goes to all classes" },    \
    { "mixup", "0", 0, "1: reads pictures mixed of two, with label2 and share", .most = 1 }

typedef struct pl_model_args pl_model_args;

typedef struct pl_family {
    const char *name, *about;
    const char *preset;    /* "hidden=1024,..." over the keys' defaults; NULL: none          */
    const char *data;      /* what it reads: "text" (inputs tokens, targets: i32[batch,seq])
                              or "images" (image f32[batch,size,size,3 or 1], label i32[batch]; with
                              the key mixup, where they train, label2 i32[batch], share f32[batch])
                              or "vectors" (x f32[batch,in], label i32[batch]; tokens
                              of such: x f32[batch,tokens,in], label i32[batch,tokens])
                              or "clicks" (dense f32[batch,dense], cat_0, cat_1 ... i32[batch] or
                              i32[batch,hots], label i32[batch], 0 or 1)                       */
    const pl_model_key *keys;   /* ends with {0}                                             */
    /* Adds inputs, weights and the forward graph; outputs "loss" (a float scalar, the mean over the
     * batch) or, for PL_INFER, "logits", or "image" of one that makes pictures; for PL_EVAL also,
     * of rows of two classes, "score" and "class", f32, one of each a row, and of images
     * "accuracy", an f32 scalar. Models with dropout, and those that make pictures, add the i64
     * scalar input "seed". Of several objectives there is a loss each (train/objective.h). What
     * layers of experts are told of, pl_routed_tell adds. */
    void (*build)(pl_builder *b, const pl_model_args *a, pl_mode mode);
    const char *objectives; /* of a model with several, what is usual (train/objective.h)    */
    const void *file;      /* of a model out of a file: what models/file.c knows of it        */
    bool own;              /* a caller's: not to be found by its name                         */
} pl_family;

/* The i-th of all of them, NULL after the last; those that share their keys (gpt2, gpt2-medium ...)
 * stand together. */
const pl_family *pl_model_at(int i);

/* A spec "gpt2:layers=4,hidden=256" or "dir/model.onnx:batch=8" taken apart. */
struct pl_model_args {
    const pl_family *model;
    int n;
    const char *const *value;  /* [n] by key */
    const char *spec;          /* canonical: keys that differ from their default, in key order */
    const char *note;          /* for people: what was taken of a config.json that leaves it open,
                                  or of two things of one name; lines, "" for nothing            */
};

/* In place of a name may stand a file of Hugging Face (models/config.h); `out` then says what it
 * gives in the terms of a built-in model. Fails with PL_EUSAGE: unknown model or key (with the
 * nearest one), bad or too small value; what is wrong in a file is PL_EINPUT.
 * All problems of the spec are named at once. `arena` owns the result. */
PL_MUST_CHECK bool pl_model_parse(const char *spec, pl_arena *arena, pl_model_args *out,
                                  pl_err *err);
/* The keys of a family over its defaults: "layers=4,hidden=256". Fails with PL_EUSAGE. */
PL_MUST_CHECK bool pl_model_parse_keys(const pl_family *family, const char *keys, pl_arena *arena,
                                       pl_model_args *out, pl_err *err);
/* The same model with a key set otherwise. Fails as pl_model_parse does. */
PL_MUST_CHECK bool pl_model_set(const pl_model_args *args, const char *key, const char *value,
                                pl_arena *arena, pl_model_args *out, pl_err *err);
/* Characters of the name before the keys: the longest part that is a path which exists, else up to
 * the first colon. */
size_t pl_model_name(const char *spec);
/* Characters of the first key that is in "batch=8,seq=4" twice; 0: none. Of those the last one
 * counts: whoever asks a user for them has to ask which is meant. */
size_t pl_model_twice(const char *keys, const char **key);
/* What "batch=8,seq=4" says of a key, up to the next comma; NULL: nothing. The last one counts. */
const char *pl_model_said(const char *keys, const char *key);
/* Has a key no effect beside these, over the family's defaults (pl_model_key.needs)? */
bool pl_model_is_idle(const pl_family *family, const char *keys, const char *key);
/* The same spec with a key set, whether or not it is set there already. */
const char *pl_model_with(pl_arena *arena, const char *spec, const char *key, const char *value);
/* The same spec with its keys batch and seq set; 0: as they are. */
const char *pl_model_sized(pl_arena *arena, const char *spec, int64_t batch, int64_t seq);

/* The elements that a state of initial value "file" starts from; NULL: the model is from no file,
 * or has no such. */
struct pl_tensor;
const struct pl_tensor *pl_model_tensor(const pl_model_args *args, const char *name);

/* Of a model out of a file that does not say which of its tensors train: what the guess leaves
 * open, a line each. "" otherwise. */
const char *pl_model_doubts(const pl_model_args *args);

/* Adds the graph to a builder, computed in the type that the spec says. Keys of a built-in model
 * that do not go together are PL_EUSAGE. */
void pl_model_build(pl_builder *b, const pl_model_args *args, pl_mode mode);

pl_type pl_model_type(const pl_model_args *args); /* that it computes in */
int64_t pl_model_int(const pl_model_args *args, const char *key);
double pl_model_real(const pl_model_args *args, const char *key);
const char *pl_model_word(const pl_model_args *args, const char *key);
bool pl_model_has(const pl_model_args *args, const char *key);
/* Does each step take all rows there are, the same ones every time (its key method says so)? */
bool pl_model_takes_all(const pl_model_args *args);
/* What labels and tokens have to be below: classes, or without them vocab; 0: neither. */
int64_t pl_model_labels(const pl_model_args *args);

/* The inputs "tokens", i32[batch,seq], and "image", f32[batch,size,size,3], as the keys say. */
pl_value *pl_model_tokens(pl_builder *b, const pl_model_args *args);
pl_value *pl_model_image(pl_builder *b, const pl_model_args *args);

/* How every built-in model ends: the output "logits" for PL_INFER; else the i32 input `target`, of
 * the logits' shape without its last dimension, and the output "loss", the mean cross-entropy of
 * the rows. */
void pl_model_finish(pl_builder *b, pl_mode mode, pl_value *logits, const char *target);
/* The same of models of images, whose target is "label", i32[batch]. For PL_EVAL they also give
 * pl_model_accuracy. For PL_TRAIN `more`, a f32 scalar or NULL, is added to the loss; in the loss
 * of a row the key smoothing is the weight of the mean loss of all classes, the label's is the
 * rest; and where the key mixup is 1, a picture is made of two: the inputs are also label2,
 * i32[batch], and share, f32[batch], that of the first; the loss of a row is share times that by
 * label, and 1 - share times that by label2 (Zhang et al., "mixup", ICLR 2018). */
void pl_model_finish_image(pl_builder *b, const pl_model_args *args, pl_mode mode,
                           pl_value *logits, pl_value *more);
/* The output "accuracy", f32: the share of the rows whose largest logit, of f[rows,classes], is
 * that of the input "label". */
void pl_model_accuracy(pl_builder *b, pl_value *logits);
/* The number x, an f32 scalar. */
pl_value *pl_model_number(pl_builder *b, double x);
/* The mean of all elements, a scalar; `sum` names the node that adds them up. NULL of NULL. */
pl_value *pl_model_mean(pl_builder *b, const char *sum, pl_value *rows);
/* x as it was `age` steps ago, by states name.0 .. name.<age - 1> of that kind, each of which hands
 * on what the next one has. They begin as `init` says. */
pl_value *pl_model_past(pl_builder *b, const char *name, const char *init, pl_state_kind kind,
                        int64_t age, pl_value *x);
/* That loss of logits f[..., classes] and targets i32[...]. */
pl_value *pl_model_cross_entropy(pl_builder *b, pl_value *logits, pl_value *targets);

#endif
