/* models/rotary.h - rotary positions of a decoder, and how they are stretched to more of them than
 * it was trained for: keys of a model, and what they are to the operator rope. */
#ifndef PL_MODELS_ROTARY_H
#define PL_MODELS_ROTARY_H
#include "models/model.h"

#define PL_ROTARY_WORDS "default linear dynamic yarn llama3 longrope"

/* Rows of a table of keys. Lists are numbers with / between them, one for each pair of a head. */
#define PL_ROTARY_KEYS                                                                             \
    { "base", "10000", 2, "of the rotary positions" },                                             \
    { "rotary", "0", 0, "numbers of a head that turn, even; 0: all" },                             \
    { "rope", "default", 0, "how positions are stretched", PL_ROTARY_WORDS },                      \
    { "rope_factor", "1.0", 0, "by which they are, but with longrope",                             \
      .needs = "rope!=default rope!=longrope" },                                                   \
    { "rope_original", "0", 0, "positions of the training; not for linear",                        \
      .needs = "rope!=default rope!=linear" },                                                     \
    { "rope_low", "1.0", 0, "turns within these below which all of the factor counts",             \
      .needs = "rope=yarn|llama3" },                                                               \
    { "rope_high", "4.0", 0, "turns above which none of it does (yarn: 32)",                       \
      .needs = "rope=yarn|llama3" },                                                               \
    { "rope_truncate", "1", 0, "yarn: 1: both are rounded to whole pairs",                         \
      .most = 1, .needs = "rope=yarn" },                                                           \
    { "rope_scale", "1.0", 0, "by which queries and keys are multiplied (yarn, longrope)" },       \
    { "rope_short", "", 0, "longrope: factors up to rope_original, 1.0/1.5/...", "*",              \
      .needs = "rope=longrope" },                                                                  \
    { "rope_long", "", 0, "longrope: factors beyond it", "*", .needs = "rope=longrope" }

/* Attributes of the operator rope for heads of `head` numbers and seq positions. Keys that make no
 * sense together are a sticky error of b, and "". */
const char *pl_rotary_attrs(pl_builder *b, const pl_model_args *args, int64_t head, int64_t seq);

#endif
