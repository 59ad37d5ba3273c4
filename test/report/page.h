/* A page read back: it is the template with data in the one place for them, which cannot end where
 * they stand. */
#ifndef PL_TEST_REPORT_PAGE_H
#define PL_TEST_REPORT_PAGE_H
#include "base/json.h"
#include "report/html_page.h"

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <string.h>

#include <cmocka.h>

/* Skips the lines of the template, up to that of the data or to the end. */
static inline const char *const *page_skip(const char *const *line, const char **text)
{
    for (; *line && strcmp(*line, "@data@\n") != 0; line++) {
        const size_t n = strlen(*line);
        if (strncmp(*text, *line, n) != 0) fail_msg("not the template: %.80s", *text);
        *text += n;
    }
    return line;
}

static inline const pl_json *page_read(const char *text, pl_arena *a)
{
    const pl_json *data;
    pl_err err = { 0 };
    const char *const *line = page_skip(pl_html_template, &text);
    assert_non_null(*line);
    const char *end = strchr(text, '<');
    assert_non_null(end);
    for (const char *at = text; at < end; at++)
        if ((unsigned char)*at < 32 && *at != '\n') fail_msg("a control character: %.80s", at);
    if (!pl_json_parse(text, (size_t)(end - text), PL_JSON_DEPTH, a, &data, &err))
        fail_msg("%s", err.msg);
    assert_null(*page_skip(line + 1, &end));
    assert_string_equal(end, "");
    return data;
}

static inline const pl_json *page_get(const pl_json *x, const char *key)
{
    const pl_json *found = pl_json_find(x, key);
    if (!found) fail_msg("no '%s'", key);
    return found;
}

static inline const pl_json *page_item(const pl_json *x, const char *key, int i)
{
    const pl_json *list = page_get(x, key);
    if (pl_json_items(list) <= i) fail_msg("no %s[%d]", key, i);
    return &list->at[i];
}

static inline double page_number(const pl_json *x, const char *key)
{
    const pl_json *found = page_get(x, key);
    if (!pl_json_is_number(found)) fail_msg("'%s' is no number", key);
    return found->real;
}

static inline int page_int(const pl_json *x, const char *key, int i)
{
    return (int)page_item(x, key, i)->whole;
}

static inline const char *page_text(const pl_json *x, const char *key)
{
    const pl_json *found = page_get(x, key);
    if (!pl_json_is(found, PL_JSON_TEXT)) fail_msg("'%s' is no text", key);
    return found->text;
}

static inline void page_check_number(const pl_json *x, const char *key, double want)
{
    const double value = page_number(x, key);
    if (!(value >= want && value <= want)) fail_msg("%s is %.17g, not %.17g", key, value, want);
}

#endif
