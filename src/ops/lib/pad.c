#include "ops/lib/pad.h"

const char *const pl_pad_modes[] = { "constant", "edge", "reflect", "wrap", NULL };

pl_pad_mode pl_pad_mode_of(const pl_node *n)
{
    return (pl_pad_mode)pl_line_word(n, "mode", pl_pad_modes, &(pl_err){ 0 });
}

pl_line_taps pl_pad_find(const pl_node *n, int64_t i)
{
    int64_t u = n->sig->factor[pl_sig_find(n->sig, 'u')].size, at = i - pl_node_int(n, "lo", 0);
    bool before = at < 0, behind = at >= u;
    if (before || behind) switch (pl_pad_mode_of(n)) {
        case PL_PAD_CONSTANT: return (pl_line_taps){ 0 };
        case PL_PAD_EDGE: at = before ? 0 : u - 1; break;
        case PL_PAD_REFLECT: at = before ? -at : 2 * (u - 1) - at; break;
        case PL_PAD_WRAP: at += before ? u : -u; break;
        }
    return (pl_line_taps){ 1, { at }, { 1 } };
}

bool pl_pad_infer(const pl_node *n, pl_sig *sig, pl_err *err)
{
    int64_t lo = pl_node_int(n, "lo", 0), hi = pl_node_int(n, "hi", 0);
    int64_t u = sig->factor[pl_sig_find(sig, 'u')].size;
    int64_t *v = &sig->factor[pl_sig_find(sig, 'v')].size;
    int mode = pl_line_word(n, "mode", pl_pad_modes, err);
    if (mode < 0) return false;
    int64_t most = mode == PL_PAD_REFLECT ? u - 1 : mode == PL_PAD_WRAP ? u : (int64_t)1 << 40;
    if (!u) return true; /* the solver says so */
    if (lo < 0 || hi < 0 || lo > most || hi > most)
        return pl_err_set(err, PL_EINPUT, "lo=%lld hi=%lld: mode %s makes 0 to %lld of each",
                          (long long)lo, (long long)hi, pl_pad_modes[mode], (long long)most);
    if (!*v) *v = lo + u + hi;
    return *v == lo + u + hi ||
           pl_err_set(err, PL_EINPUT, "'v' is %lld, but lo=%lld, 'u' of %lld and hi=%lld make %lld",
                      (long long)*v, (long long)lo, (long long)u, (long long)hi,
                      (long long)(lo + u + hi));
}
