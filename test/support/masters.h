/* test/support/masters.h - a model's spec that says of its 16-bit weights that they have masters:
 * "masters MODEL". */
#ifndef PL_TEST_SUPPORT_MASTERS_H
#define PL_TEST_SUPPORT_MASTERS_H
#include <stdbool.h>
#include <string.h>

/* MODEL; *masters: does it? */
static inline const char *spec_of(const char *text, bool *masters)
{
    static const char word[] = "masters ";
    *masters = !strncmp(text, word, sizeof word - 1);
    return *masters ? text + sizeof word - 1 : text;
}

#endif
