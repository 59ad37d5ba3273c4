/* A page read back: an independent check of its tags, and its figures. */
#ifndef PL_TEST_REPORT_PAGE_H
#define PL_TEST_REPORT_PAGE_H
#include "base/text.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PAGE_DEPTH = 64, PAGE_NAME = 16 };

typedef struct page_reader {
    const char *text, *at;
    const char *error;            /* NULL: none so far */
    int depth, tags;
    char open[PAGE_DEPTH][PAGE_NAME];
} page_reader;

static inline const char *page_fail(page_reader *r, const char *error)
{
    if (!r->error) r->error = error;
    return r->at += strlen(r->at);
}

static inline void page_read_name(page_reader *r, char name[PAGE_NAME])
{
    int n = 0;
    while (isalnum((unsigned char)*r->at) && n < PAGE_NAME - 1) name[n++] = *r->at++;
    name[n] = 0;
    if (!n) page_fail(r, "a tag without a name");
}

static inline void page_read_entity(page_reader *r)
{
    static const char *const known[] = { "&amp;", "&lt;", "&gt;", "&quot;", "&#39;" };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (!strncmp(r->at, known[i], strlen(known[i]))) {
            r->at += strlen(known[i]);
            return;
        }
    page_fail(r, "an '&' that starts no entity");
}

/* name="value", values without < and with entities alone; names not twice in a tag. */
static inline void page_read_attributes(page_reader *r)
{
    char seen[256] = " ";
    while (*r->at == ' ' || *r->at == '\n') {
        const char *from = ++r->at;
        char name[40];
        while (isalnum((unsigned char)*r->at) || *r->at == '-') r->at++;
        if (r->at == from) {
            page_fail(r, "a blank in a tag before no attribute");
            return;
        }
        snprintf(name, sizeof name, " %.*s ", (int)(r->at - from), from);
        if (strstr(seen, name)) page_fail(r, "an attribute twice");
        strncat(seen, name + 1, sizeof seen - strlen(seen) - 1);
        if (strncmp(r->at, "=\"", 2)) {
            page_fail(r, "an attribute without a quoted value");
            return;
        }
        for (r->at += 2; *r->at && *r->at != '"';) {
            if (*r->at == '<') page_fail(r, "a '<' in an attribute");
            if (*r->at == '&')
                page_read_entity(r);
            else if (*r->at)
                r->at++;
        }
        if (*r->at) r->at++;
    }
}

static inline void page_read_tag(page_reader *r)
{
    char name[PAGE_NAME];
    if (r->at[1] == '/') {
        r->at += 2;
        page_read_name(r, name);
        if (!r->depth || strcmp(r->open[r->depth - 1], name))
            page_fail(r, "a closing tag that closes another");
        else
            r->depth--;
    } else {
        r->at++;
        page_read_name(r, name);
        page_read_attributes(r);
        r->tags++;
        if (*r->at == '/') {
            r->at++;
        } else if (r->depth < PAGE_DEPTH) {
            strcpy(r->open[r->depth++], name);
        } else {
            page_fail(r, "tags nested too deeply");
        }
    }
    if (*r->at != '>') {
        page_fail(r, "a tag that does not end");
        return;
    }
    r->at++;
    if (r->depth && (!strcmp(r->open[r->depth - 1], "style") ||
                     !strcmp(r->open[r->depth - 1], "script"))) {
        const char *end = strstr(r->at, "</");
        if (end)
            r->at = end;
        else
            page_fail(r, "a style or script that does not end");
    }
}

/* NULL when every tag is closed in order and every text is escaped; else what is wrong, and where:
 * *place. */
static inline const char *page_check(const char *text, const char **place)
{
    static const char doctype[] = "<!DOCTYPE html>\n";
    page_reader r = { .text = text, .at = text };
    *place = text;
    if (strncmp(text, doctype, sizeof doctype - 1)) return "no doctype";
    for (r.at += sizeof doctype - 1; *r.at && !r.error;) {
        *place = r.at;
        if (*r.at == '<')
            page_read_tag(&r);
        else if (*r.at == '&')
            page_read_entity(&r);
        else if (*r.at == '>' || ((unsigned char)*r.at < 32 && *r.at != '\n') || *r.at == 127)
            return "a '>' or a control character in a text";
        else
            r.at++;
    }
    if (r.error) return r.error;
    return r.depth ? "a tag that is not closed" : r.tags < 20 ? "no tags to speak of" : NULL;
}

/* The n-th number in a <data> from `text` on, and where its text starts; NULL: there is none. */
static inline const char *page_find_data(const char *text, double *value)
{
    static const char tag[] = "<data value=\"";
    const char *at = strstr(text, tag);
    if (!at) return NULL;
    char *end;
    *value = strtod(at + sizeof tag - 1, &end);
    return strncmp(end, "\">", 2) ? NULL : end + 2;
}

static inline int page_count(const char *text, const char *what)
{
    int n = 0;
    for (const char *at = text; (at = strstr(at, what)); at += strlen(what)) n++;
    return n;
}

#endif
