/* models/config.h - a model as Hugging Face's transformers describe it: config.json, read into the
 * spec of a built-in model.
 *
 * What a field changes in the computation is honoured, or refused by name; so is a field that this
 * does not know. What only concerns texts that are generated, labels' names, the type of saved
 * weights or their initial values is left aside, as are caches. */
#ifndef PL_MODELS_CONFIG_H
#define PL_MODELS_CONFIG_H
#include "base/arena.h"
#include "base/err.h"

/* Does a spec begin (up to its first colon) with the path of such a file? Its name ends in .json,
 * or it is no built-in model but a folder that holds config.json. */
bool pl_config_is(const char *spec, pl_arena *arena);

/* A note for a spec whose name is a built-in model's and a folder's, which is not taken, or "". */
const char *pl_config_twin(const char *spec, pl_arena *arena);

typedef struct pl_config_found {
    const char *spec; /* of a built-in model                                                  */
    const char *note; /* what was taken of what the file leaves open, lines; "": nothing       */
} pl_config_found;

/* "DIR/config.json:batch=4" to "llama:layers=32,...,batch=4": seq is what the model is made for,
 * but at most 2048, and batch 1, where the spec says nothing else. A key that the spec sets is not
 * asked of the file, so that it can stand for a field that is not supported. A field that is not
 * known but off (false, 0, "", [], {}) is left aside, with a note. Fails with
 *
 *   PL_EINPUT        no such file, no JSON, fields that are missing or make no sense
 *   PL_EUNSUPPORTED  a model_type that is not known (the message has those that are), or fields
 *                    that would change the computation
 *
 * and names all such fields at once. */
PL_MUST_CHECK bool pl_config_read(const char *spec, pl_arena *arena, pl_config_found *out,
                                  pl_err *err);

/* The same of a file's text and what follows the colon ("" for nothing). */
PL_MUST_CHECK bool pl_config_parse(const char *text, size_t n, const char *keys, pl_arena *arena,
                                   pl_config_found *out, pl_err *err);

#endif
