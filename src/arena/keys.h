/* arena/keys.h - greedy layouts: take the buffers in the order of a key, each into a gap.
 *
 * The key says which comes first; ties go to the earlier of the caller, unless said otherwise. The
 * fit says which gap: "low" is the lowest that fits, "tight" the smallest (ties: the lowest). */
#ifndef PL_ARENA_KEYS_H
#define PL_ARENA_KEYS_H
#include "arena/boxes.h"

/* name, what it is */
#define PL_KEYS(X)                                                                                 \
    X(BEST, "best", "size down, then birth; tight (Pisarchyk & Lee 2020)")                         \
    X(SIZE, "size", "size down, then duration down; low")                                          \
    X(DURATION, "duration", "duration down, then size down; tight (XLA temporal)")                 \
    X(AREA, "area", "size x duration down; tight (XLA spatial-temporal)")                          \
    X(START, "start", "birth up, then size down; tight (XLA start time)")                          \
    X(END, "end", "death up, then size down; tight (XLA end time)")                                \
    X(SPATIAL, "spatial", "size down, then duration down; tight (XLA spatial)")                    \
    X(TFLITE, "tflite", "those that live throughout, then size down, birth; tight (TFLite)")       \
    X(MICRO, "tflite-micro", "as tflite; low (TFLite-Micro)")                                      \
    X(BIRTH, "birth", "birth up; low: first fit, what an allocator does")                          \
    X(LLFB, "llfb", "lowest gap of the skyline, the longest-lived that fits inside it (ROAM)")     \
    X(HINT, "hint", "hint up; low: what the caller suggests")

typedef enum pl_key {
#define PL_KEYS_ENUM(name, text, what) PL_KEY_##name,
    PL_KEYS(PL_KEYS_ENUM)
#undef PL_KEYS_ENUM
    PL_KEYS_COUNT
} pl_key;

/* Those tried by default. The best of SIZE to END stands in the table of greedy ratios on
 * MiniMalloc's instances, which the tests reproduce to three digits. */
#define PL_KEYS_DEFAULT                                                                            \
    (1u << PL_KEY_BEST | 1u << PL_KEY_SIZE | 1u << PL_KEY_DURATION | 1u << PL_KEY_AREA |           \
     1u << PL_KEY_START | 1u << PL_KEY_END)

const char *pl_keys_name(pl_key key);
const char *pl_keys_what(pl_key key);
PL_MUST_CHECK bool pl_keys_find(const char *name, pl_key *key); /* false: no such key */

/* The order of a key, order [boxes->n], and whether it takes the lowest gap, not the tightest. */
void pl_keys_sort(const pl_boxes *boxes, pl_key key, int order[]);
bool pl_keys_is_low(pl_key key);

/* The height when they are placed in this order, those with a fixed offset before all others; -1
 * when two of these overlap. */
PL_MUST_CHECK int64_t pl_keys_place_order(const pl_boxes *boxes, const int order[], bool low,
                                          int64_t offset[]);

/* The height of the greedy layout; offset [boxes->n]. LLFB takes a buffer with gaps for one
 * without, and gives -1 when some offset is fixed. Fixed ones are placed first by all others; -1
 * also when two of them overlap. */
PL_MUST_CHECK int64_t pl_keys_place(const pl_boxes *boxes, pl_key key, int64_t offset[]);

#endif
