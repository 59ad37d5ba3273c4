#include "ops/lib/pieces.h"

#include "graph/walk.h"
#include "ops/lib/move.h"

typedef struct pieces {
    int v; /* the factor that counts through them */
    int n;
    int operand[PL_MAX_PIECES];
    int own[PL_MAX_PIECES]; /* factor of its size, or -1: size 1   */
} pieces;

static bool place_letter(const pl_sig *sig, int f, int joined, pieces *p, pl_err *err)
{
    char letter = sig->factor[f].letter;
    int n_has = 0;
    bool in_joined = pl_sig_has(&sig->operand[joined], sig, f);
    for (int i = 0; i < p->n; i++) {
        if (!pl_sig_has(&sig->operand[p->operand[i]], sig, f)) continue;
        n_has++;
        if (in_joined) continue;
        if (p->own[i] >= 0)
            return pl_err_set(err, PL_EINPUT, "piece %d has two letters of its own, '%c' and '%c'",
                              i, sig->factor[p->own[i]].letter, letter);
        p->own[i] = f;
    }
    if (!in_joined || n_has == p->n) return true;
    if (n_has)
        return pl_err_set(err, PL_EINPUT, "'%c' stands in %d of %d pieces; wanted: all or none",
                          letter, n_has, p->n);
    if (p->v >= 0)
        return pl_err_set(err, PL_EINPUT, "'%c' and '%c' stand in no piece; only one letter may",
                          sig->factor[p->v].letter, letter);
    p->v = f;
    return true;
}

static bool find_pieces(const pl_sig *sig, int joined, pieces *p, pl_err *err)
{
    int n_operands = sig->n_in + sig->n_out;
    *p = (pieces){ .v = -1 };
    if (n_operands - 1 < 1 || n_operands - 1 > PL_MAX_PIECES ||
        (joined ? sig->n_out : sig->n_in) != 1)
        return pl_err_set(err, PL_EUNSUPPORTED,
                          "takes 1 to %d pieces and one joined operand, found %d inputs and %d "
                          "outputs",
                          PL_MAX_PIECES, sig->n_in, sig->n_out);
    if (sig->n_windows) return pl_err_set(err, PL_EINPUT, "its signature has no windows");
    for (int o = 0; o < n_operands; o++) {
        if (o == joined) continue;
        p->own[p->n] = -1;
        p->operand[p->n++] = o;
    }
    for (int f = 0; f < sig->n_factors; f++) PL_TRY(place_letter(sig, f, joined, p, err));
    if (p->v < 0)
        return pl_err_set(err, PL_EINPUT,
                          "the joined operand needs a letter that no piece has, as in '...a,...b' "
                          "and '...v'");
    return true;
}

/* v is the sum of the pieces: whichever of them has no size gets it from the others. */
static bool find_sizes(pl_sig *sig, const pieces *p, pl_err *err)
{
    int64_t *v = &sig->factor[p->v].size, sum = 0;
    int n_open = 0;
    for (int i = 0; i < p->n; i++) {
        int64_t size = p->own[i] < 0 ? 1 : sig->factor[p->own[i]].size;
        n_open += !size;
        if (__builtin_add_overflow(sum, size, &sum))
            return pl_err_set(err, PL_EINPUT, "the pieces are more than 2^63 together");
    }
    if (!*v && n_open) return true; /* the solver names what is not known */
    if (!*v) *v = sum;
    int64_t rest = *v - sum;
    if (!n_open)
        return !rest || pl_err_set(err, PL_EINPUT, "the pieces are %lld together, '%c' is %lld",
                                   (long long)sum, sig->factor[p->v].letter, (long long)*v);
    if (rest <= 0 || rest % n_open)
        return pl_err_set(err, PL_EINPUT,
                          "'%c' is %lld: the %lld that are left do not divide over %d pieces; give "
                          "the sizes of their letters",
                          sig->factor[p->v].letter, (long long)*v, (long long)rest, n_open);
    for (int i = 0; i < p->n; i++)
        if (p->own[i] >= 0 && !sig->factor[p->own[i]].size)
            sig->factor[p->own[i]].size = rest / n_open;
    return true;
}

bool pl_pieces_infer(pl_sig *sig, int joined, pl_err *err)
{
    pieces p;
    PL_TRY(find_pieces(sig, joined, &p, err));
    PL_TRY(find_sizes(sig, &p, err));
    sig->factor[p.v].whole = true;
    for (int i = 0; i < p.n; i++)
        if (p.own[i] >= 0) sig->factor[p.own[i]].whole = true;
    return true;
}

void pl_pieces_ref(const pl_share *s, int joined, const void *const in[], void *const out[])
{
    const pl_node *n = s->node;
    pl_type t = n->out[0]->type;
    pieces p;
    int64_t lo = 0;
    bool found = find_pieces(n->sig, joined, &p, &(pl_err){ 0 });
    PL_ASSERT(found);
    for (int i = 0; i < p.n; i++) {
        int o = p.operand[i];
        pl_walk w = pl_walk_new(s, pl_walk_mask(n, o));
        do {
            int64_t k = lo + (p.own[i] < 0 ? 0 : w.index[p.own[i]]);
            int64_t at = w.at[joined] + k * w.stride[joined][p.v];
            if (joined)
                pl_move_element(t, out[0], at, in[o], w.at[o]);
            else
                pl_move_element(t, out[o - n->n_in], w.at[o], in[0], at);
        } while (pl_walk_next(&w));
        lo += p.own[i] < 0 ? 1 : n->sig->factor[p.own[i]].size;
    }
}
