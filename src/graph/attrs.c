/* Attributes: what the text of a node says behind its signature, and the operator's defaults. */
#include "graph/attrs.h"

#include "graph/op.h"

#include <stdlib.h>
#include <string.h>

bool pl_attrs_parse(pl_arena *arena, const char *text, pl_node *node, pl_err *err)
{
    struct {
        int n, cap;
        pl_attr *at;
    } list = { 0 };
    while (*(text += strspn(text, " "))) {
        size_t len = strcspn(text, " ");
        const char *eq = memchr(text, '=', len);
        if (!eq) return pl_err_set(err, PL_EINPUT, "'%.*s' is not attribute=value", (int)len, text);
        for (int i = 0; i < list.n; i++)
            if (strlen(list.at[i].name) == (size_t)(eq - text) &&
                !memcmp(list.at[i].name, text, (size_t)(eq - text)))
                return pl_err_set(err, PL_EINPUT, "attribute '%s' stands twice", list.at[i].name);
        PL_PUSH(arena, &list,
                ((pl_attr){ pl_arena_span(arena, text, (size_t)(eq - text)),
                            pl_arena_span(arena, eq + 1, (size_t)(text + len - eq - 1)) }));
        text += len;
    }
    node->n_attrs = list.n;
    node->attr = list.at;
    return true;
}

/* The row "name=..." of an operator's attrs: its default value, or NULL. */
static const char *find_default(const pl_op *op, const char *name, size_t *len)
{
    size_t n = strlen(name);
    for (const char *at = op->attrs ? op->attrs : ""; *(at += strspn(at, " "));) {
        size_t word = strcspn(at, " ");
        if (word > n && !strncmp(at, name, n) && at[n] == '=') {
            *len = word - n - 1;
            return at + n + 1;
        }
        at += word;
    }
    return NULL;
}

const char *pl_attrs_find(const pl_node *node, const char *name, size_t *len)
{
    for (int i = 0; i < node->n_attrs; i++)
        if (!strcmp(node->attr[i].name, name)) {
            *len = strlen(node->attr[i].text);
            return node->attr[i].text;
        }
    return find_default(node->op, name, len);
}

double pl_node_real(const pl_node *node, const char *name, int k)
{
    size_t len;
    const char *text = pl_attrs_find(node, name, &len), *end = text ? text + len : NULL;
    if (!text) pl_bug(__FILE__, __LINE__, "%s has no attribute '%s'", node->op->name, name);
    for (const char *comma; k > 0 && (comma = memchr(text, ',', (size_t)(end - text))); k--)
        text = comma + 1;
    return strtod(text, NULL);
}

int64_t pl_node_int(const pl_node *node, const char *name, int k)
{
    double x = pl_node_real(node, name, k);
    return x >= 0x1p63 ? INT64_MAX : x < -0x1p63 ? INT64_MIN : (int64_t)x;
}

bool pl_node_is(const pl_node *node, const char *name, const char *text)
{
    size_t len;
    const char *is = pl_attrs_find(node, name, &len);
    if (!is) pl_bug(__FILE__, __LINE__, "%s has no attribute '%s'", node->op->name, name);
    return len == strlen(text) && !memcmp(is, text, len);
}

const char *pl_node_text(const pl_node *node, const char *name)
{
    for (int i = 0; i < node->n_attrs; i++)
        if (!strcmp(node->attr[i].name, name)) return node->attr[i].text;
    pl_bug(__FILE__, __LINE__, "%s '%s' does not say '%s'", node->op->name, node->name, name);
}

bool pl_attrs_has(const pl_op *op, const char *name)
{
    size_t len;
    return find_default(op, name, &len) != NULL;
}

/* Infinite ones too, as masks add. */
static bool is_number(const char *word)
{
    double x;
    return pl_text_real(word, &x) || !strcmp(word, "inf") || !strcmp(word, "-inf");
}

/* Is [text, text + len) a list of numbers, "1,0.5"? */
static bool is_numbers(const char *text, size_t len)
{
    for (const char *at = text, *end = text + len;;) {
        char word[64];
        size_t n = 0;
        while (at + n < end && at[n] != ',') n++;
        if (n >= sizeof word) return false;
        memcpy(word, at, n);
        word[n] = 0;
        if (!is_number(word)) return false;
        at += n;
        if (at == end) return true;
        at++;
    }
}

bool pl_attrs_check(const pl_op *op, const pl_attr *a, pl_err *err)
{
    size_t len;
    const char *text = find_default(op, a->name, &len);
    if (!text)
        return pl_err_set(err, PL_EINPUT, "unknown attribute '%s' (known: %s)", a->name,
                          op->attrs ? op->attrs : "none, and the letters of the signature");
    if (is_numbers(text, len) && !is_numbers(a->text, strlen(a->text)))
        return pl_err_set(err, PL_EINPUT, "'%s=%s' is not a number", a->name, a->text);
    return true;
}
