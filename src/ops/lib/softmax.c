#include "ops/lib/softmax.h"

bool pl_softmax_infer(const pl_node *n, pl_sig *sig, pl_err *err)
{
    const pl_operand *x = &sig->operand[0];        /* all others are laid out like it */
    const pl_sig_dim *last = &x->dim[x->rank - 1]; /* v is needed: the rank is not 0 */
    (void)n;
    return (last->n == 1 && last->factor[0] == pl_sig_find(sig, 'v')) ||
           pl_err_set(err, PL_EINPUT, "'v' has to be the last dimension: transpose it first");
}
