/* Where the letters of a node's own signature may stand. Read pl_form_check() at the end:
 * read_sig() or read_form() says what the operator allows, the check_...() compare. */
#include "graph/form.h"

#include "graph/op.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

enum { MAX_SETS = 20 };

/* Sets of operands are masks: bit i is operand i, inputs first. */
typedef struct form {
    int n_in, n_out;
    uint32_t named[128];    /* by letter: where it has to stand; 0: it is one of the others */
    uint32_t set[MAX_SETS]; /* where the others may                                         */
    int n_sets;
    uint32_t window, tap; /* where windows and their taps stand; 0: no windows            */
} form;

static void add_set(form *f, uint32_t set)
{
    for (int i = 0; i < f->n_sets; i++)
        if (f->set[i] == set) return;
    PL_ASSERT_CMP(f->n_sets, <, MAX_SETS);
    f->set[f->n_sets++] = set;
}

static bool is_marked(const pl_op *op, int letter)
{
    return (op->whole && strchr(op->whole, letter)) || (op->lookup && strchr(op->lookup, letter));
}

static void read_sig(form *f, const pl_op *op)
{
    uint32_t stands[128] = { 0 }; /* "..." counts as the letter '.' */
    bool is_tap[128] = { false };
    int *n = &f->n_in, o = 0;
    *n = 1;
    for (const char *at = op->sig; *at; at++) {
        unsigned char c = (unsigned char)*at;
        if (c == ',') ++*n, o++;
        if (c == '>') *(n = &f->n_out) = 1, o++;
        if (c == '[') f->window |= 1u << o;
        if (c == '+') is_tap[at[1] & 127] = true;
        if (c == '.' || isalnum(c)) stands[c] |= 1u << o;
    }
    for (const char *at = op->sig; *at; at++) {
        int c = *at & 127;
        if (is_tap[c])
            f->tap = stands[c];
        else if (is_marked(op, c))
            f->named[c] = stands[c];
        else if (stands[c])
            add_set(f, stands[c]);
    }
}

static uint32_t read_set(const char **at)
{
    uint32_t set = 0;
    while (isdigit((unsigned char)**at)) set |= 1u << (*(*at)++ - '0');
    return set;
}

static void read_form(form *f, const char *at)
{
    f->n_sets = 0;
    f->window = f->tap = 0;
    while (*(at += strspn(at, " "))) {
        int letter = at[1] == ':' ? *at : 0;
        bool has_windows = *at == '[';
        at += letter ? 2 : has_windows;
        if (at[1] == '>') {
            f->n_in = at[0] - '0';
            f->n_out = at[2] - '0';
            at += 3;
            continue;
        }
        uint32_t set = read_set(&at);
        if (letter)
            f->named[letter & 127] = set;
        else if (!has_windows)
            add_set(f, set);
        else {
            f->window = set;
            at++; /* ] */
            f->tap = read_set(&at);
        }
        PL_ASSERT(!*at || *at == ' ');
    }
}

static uint32_t find_set(const pl_sig *sig, int factor)
{
    uint32_t set = 0;
    for (int o = 0; o < sig->n_in + sig->n_out; o++)
        if (pl_sig_has(&sig->operand[o], sig, factor)) set |= 1u << o;
    return set;
}

/* Room for the words of a form in a message. */
typedef struct words {
    char text[160];
    size_t n;
} words;

static void add_word(words *w, const char *name, uint32_t set)
{
    char digits[PL_MAX_OPERANDS + 1];
    int n = 0;
    for (int o = 0; o < PL_MAX_OPERANDS; o++)
        if (set >> o & 1) digits[n++] = (char)('0' + o);
    digits[n] = 0;
    if (w->n < sizeof w->text)
        w->n += (size_t)snprintf(w->text + w->n, sizeof w->text - w->n, "%s%s%s", w->n ? " " : "",
                                 name, digits);
}

static bool refuse_letter(const form *f, char letter, uint32_t set, pl_err *err)
{
    words found = { 0 }, allowed = { 0 };
    add_word(&found, "", set);
    for (int c = 1; c < 128; c++)
        if (f->named[c]) add_word(&allowed, (char[]){ (char)c, ':', 0 }, f->named[c]);
    for (int i = 0; i < f->n_sets; i++) add_word(&allowed, "", f->set[i]);
    if (f->tap) add_word(&allowed, "taps:", f->tap);
    return pl_err_set(err, PL_EINPUT,
                      "'%c' stands in the operands %s; counted from 0, inputs first, a letter may "
                      "stand in: %s",
                      letter, found.text, allowed.n ? allowed.text : "none");
}

static bool check_letters(const form *f, const pl_sig *sig, pl_err *err)
{
    for (int i = 0; i < sig->n_factors; i++) {
        const pl_factor *x = &sig->factor[i];
        uint32_t set = find_set(sig, i), only = x->tap ? f->tap : f->named[x->letter & 127];
        bool fits = set == only;
        for (int k = 0; k < f->n_sets && !only; k++) fits |= set == f->set[k];
        if (!fits) return refuse_letter(f, x->letter, set, err);
    }
    for (int c = 1; c < 128; c++)
        if (f->named[c] && pl_sig_find(sig, (char)c) < 0)
            return pl_err_set(err, PL_EINPUT, "its signature needs the letter '%c'", c);
    return true;
}

static bool check_windows(const form *f, const pl_sig *sig, pl_err *err)
{
    if (f->window && !sig->n_windows)
        return pl_err_set(err, PL_EINPUT, "needs at least one window: write e.g. [y+r]");
    for (int o = 0; o < sig->n_in + sig->n_out; o++) {
        bool out = o >= sig->n_in, all = f->window >> o & 1;
        int n = 0;
        for (int j = 0; j < sig->operand[o].rank; j++) n += sig->operand[o].dim[j].window >= 0;
        if (n != (all ? sig->n_windows : 0))
            return pl_err_set(err, PL_EINPUT, "%s %d has %d of the %d windows, should have %s",
                              out ? "output" : "input", out ? o - sig->n_in : o, n, sig->n_windows,
                              all ? "all" : "none");
    }
    return true;
}

/* Has operand o every factor of output 0? */
static bool has_all(const pl_sig *sig, int o)
{
    for (int f = 0; f < sig->n_factors; f++)
        if (pl_sig_has(pl_sig_out(sig, 0), sig, f) && !pl_sig_has(&sig->operand[o], sig, f))
            return false;
    return true;
}

static bool check_order(const pl_node *node, pl_err *err)
{
    for (int i = 0; i < node->sig->n_in; i++)
        if (has_all(node->sig, i) && !pl_share_same_index(node, i, node->sig->n_in))
            return pl_err_set(err, PL_EINPUT,
                              "input %d has the letters of output 0 in another order: transpose it "
                              "first",
                              i);
    return true;
}

bool pl_form_check(const pl_node *node, pl_err *err)
{
    const pl_op *op = node->op;
    const pl_sig *sig = node->sig;
    form f = { 0 };
    if (!op->sig && !op->form) return true;
    if (op->sig) read_sig(&f, op);
    if (op->form) read_form(&f, op->form);
    if (sig->n_in != f.n_in || sig->n_out != f.n_out)
        return pl_err_set(err, PL_EINPUT,
                          "%d inputs and %d outputs, but the operator has %d and %d (%s)",
                          sig->n_in, sig->n_out, f.n_in, f.n_out, op->sig ? op->sig : op->form);
    PL_TRY(check_windows(&f, sig, err));
    PL_TRY(check_letters(&f, sig, err));
    return !op->elementwise || check_order(node, err);
}
