/* Specs that talk of the same factors as another node: pl_spec() copies operands letter by
 * letter and adds the sizes and windows that the text does not give. */
#include "graph/graph.h"

#include <string.h>

/* The windows of the new node, in the order in which they come up, as attributes list them. */
typedef struct windows {
    int n, at[PL_MAX_WINDOWS]; /* which window of the other node */
    int64_t stride[PL_MAX_WINDOWS], dilation[PL_MAX_WINDOWS], pad[PL_MAX_WINDOWS];
    int64_t extent[PL_MAX_WINDOWS]; /* size of the windowed dimension, */
    bool in_input[PL_MAX_WINDOWS];  /* which an input knows by itself  */
} windows;

static void add_window(windows *w, const pl_sig *sig, int window, int64_t size, bool in_input)
{
    const pl_window *x = &sig->window[window];
    int i = 0;
    while (i < w->n && w->at[i] != window) i++;
    if (i == w->n) w->n++;
    w->at[i] = window;
    w->stride[i] = x->stride;
    w->dilation[i] = x->dilation;
    w->pad[i] = x->pad_lo;
    w->extent[i] = size;
    w->in_input[i] |= in_input;
}

static void add_operand(pl_text *out, windows *w, const pl_node *node, int operand, bool in_input)
{
    const pl_sig *sig = node->sig;
    const pl_operand *o = &sig->operand[operand];
    const pl_value *v = operand < node->n_in ? node->in[operand] : node->out[operand - node->n_in];
    for (int j = 0; j < o->rank; j++) {
        const pl_sig_dim *d = &o->dim[j];
        if (d->window >= 0) {
            const pl_window *x = &sig->window[d->window];
            pl_text_add(out, "[%c+%c]", sig->factor[x->position].letter,
                        sig->factor[x->tap].letter);
            add_window(w, sig, d->window, v->shape.dim[j], in_input);
        }
        if (d->n > 1) pl_text_add(out, "(");
        for (int k = 0; k < d->n; k++) pl_text_add(out, "%c", sig->factor[d->factor[k]].letter);
        if (d->n > 1) pl_text_add(out, ")");
    }
}

/* Sizes are needed of letters within parentheses, of letters that no input has, and of taps: a
 * window's position is solved from its tap. */
static void add_sizes(pl_text *out, const pl_sig *sig, const char *text)
{
    const char *arrow = strstr(text, "->");
    for (int f = 0; f < sig->n_factors; f++) {
        char c = sig->factor[f].letter;
        bool plain = false, seen = false, composite = false;
        for (const char *at = text; *at; at++) {
            composite = *at == '(' || (composite && *at != ')');
            if (*at == '[') {
                at += strcspn(at, "]");
                seen |= at[-1] == c;
            }
            if (*at != c) continue;
            seen = true;
            plain |= at < arrow && !composite;
        }
        if (seen && !plain) pl_text_add(out, " %c=%lld", c, (long long)sig->factor[f].size);
    }
}

/* " name=1,2", one for each window; nothing where all are what an operator takes them to be. */
static void add_list(pl_text *out, const char *name, int n, const int64_t x[], int64_t usual)
{
    bool any = false;
    for (int i = 0; i < n; i++) any |= x[i] != usual;
    for (int i = 0; i < n && any; i++)
        pl_text_add(out, "%s%s%s%lld", i ? "," : " ", i ? "" : name, i ? "" : "=", (long long)x[i]);
}

static void add_windows(pl_text *out, const windows *w)
{
    bool wanted = false;
    for (int i = 0; i < w->n; i++) wanted |= !w->in_input[i];
    add_list(out, "stride", w->n, w->stride, 1);
    add_list(out, "dilation", w->n, w->dilation, 1);
    add_list(out, "pad", w->n, w->pad, 0);
    if (wanted) add_list(out, "extent", w->n, w->extent, 0);
}

const char *pl_spec(pl_builder *b, const pl_node *node, const char *pattern)
{
    pl_text t = { .arena = b->graph->arena }, attrs = t;
    size_t len = strcspn(pattern, ";");
    const char *arrow = strstr(pattern, "->"), *own = pattern[len] ? pattern + len + 1 : "";
    windows w = { 0 };
    for (const char *at = pattern; at < pattern + len; at++) {
        if (*at == '{') {
            add_operand(&t, &w, node, at[1] - '0', at < arrow);
            at += 2;
        } else
            pl_text_add(&t, "%c", *at);
    }
    add_sizes(&attrs, node->sig, pl_text_get(&t));
    add_windows(&attrs, &w);
    if (attrs.n || *own) pl_text_add(&t, ";%s%s", pl_text_get(&attrs), own);
    return pl_text_get(&t);
}
