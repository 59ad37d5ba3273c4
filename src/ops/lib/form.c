#include "ops/lib/form.h"

#include "graph/op.h"

#include <string.h>

static int count_in(const pl_operand *o, int factor)
{
    int n = 0;
    for (int j = 0; j < o->rank; j++)
        for (int k = 0; k < o->dim[j].n; k++) n += o->dim[j].factor[k] == factor;
    return n;
}

/* The operands that have the factor, as "02"; false when one has it twice. */
static bool find_operands(const pl_sig *sig, int factor, char text[PL_MAX_OPERANDS + 1])
{
    int n = 0;
    for (int o = 0; o < sig->n_in + sig->n_out; o++) {
        int times = count_in(&sig->operand[o], factor);
        if (times > 1) return false;
        if (times) text[n++] = (char)('0' + o);
    }
    text[n] = 0;
    return true;
}

/* Does a word of the form allow the letter to stand in just these operands? A letter that has its
 * own words may use no others. */
static bool allows(const char *form, char letter, const char *operands)
{
    bool named = false, fits = false;
    for (int pass = 0; pass < 2 && !named; pass++) {
        for (const char *at = form; *(at += strspn(at, " ")); at += strcspn(at, " ")) {
            bool has_name = at[1] == ':';
            if (has_name != (pass == 0) || (has_name && *at != letter)) continue;
            const char *digits = at + (has_name ? 2 : 0);
            named |= has_name;
            fits |= strcspn(digits, " ") == strlen(operands) &&
                    !strncmp(digits, operands, strlen(operands));
        }
    }
    return fits;
}

bool pl_form_check(const pl_sig *sig, int n_in, int n_out, const char *form, pl_err *err)
{
    char operands[PL_MAX_OPERANDS + 1];
    if (sig->n_in != n_in || sig->n_out != n_out)
        return pl_err_set(err, PL_EINPUT,
                          "takes %d inputs and gives %d outputs; the signature has %d and %d", n_in,
                          n_out, sig->n_in, sig->n_out);
    if (sig->n_windows) return pl_err_set(err, PL_EINPUT, "its signature has no windows");
    for (int f = 0; f < sig->n_factors; f++) {
        char letter = sig->factor[f].letter;
        if (!find_operands(sig, f, operands))
            return pl_err_set(err, PL_EINPUT, "'%c' stands twice in one operand", letter);
        if (!allows(form, letter, operands))
            return pl_err_set(err, PL_EINPUT,
                              "'%c' stands in the operands %s; counted from 0, inputs first, a "
                              "letter may stand in: %s",
                              letter, operands, *form ? form : "none");
    }
    for (const char *at = form; *(at += strspn(at, " ")); at += strcspn(at, " "))
        if (at[1] == ':' && pl_sig_find(sig, *at) < 0)
            return pl_err_set(err, PL_EINPUT, "its signature needs the letter '%c'", *at);
    return true;
}

bool pl_form_solve(const pl_node *n, pl_sig *copy, pl_err *err)
{
    const pl_shape *in[PL_MAX_OPERANDS];
    const int64_t extent[PL_MAX_WINDOWS] = { 0 };
    pl_shape out[PL_MAX_OPERANDS];
    bool own = *n->spec && *n->spec != ';';
    for (int i = 0; i < n->n_in; i++) in[i] = &n->in[i]->shape;
    return pl_sig_solve(own || !n->op->sig ? n->spec : n->op->sig, copy, in, extent, out, err);
}
