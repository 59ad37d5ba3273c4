/* Letters, masks, scores and dropout of attention. */
#include "ops/lib/attention.h"

#include "graph/op.h"

#include <math.h>
#include <string.h>

enum { Q, K };

/* The dimension of an operand that has a factor, or NULL. */
static const pl_sig_dim *find_dim(const pl_operand *x, int factor)
{
    for (int j = 0; j < x->rank; j++)
        for (int k = 0; k < x->dim[j].n; k++)
            if (x->dim[j].factor[k] == factor) return &x->dim[j];
    return NULL;
}

/* What stands before q in its dimension, unless keys have it too; of a causal node. */
static int find_chunk(const pl_sig *sig)
{
    const int q = pl_sig_find(sig, 'q');
    const pl_sig_dim *dim = find_dim(&sig->operand[Q], q);
    const int chunk = dim && dim->n == 2 && dim->factor[1] == q ? dim->factor[0] : -1;
    return chunk >= 0 && find_dim(&sig->operand[K], chunk) ? -1 : chunk;
}

pl_attention pl_attention_of(const pl_node *n)
{
    const pl_sig *sig = n->sig;
    const bool causal = pl_node_int(n, "causal", 0);
    pl_attention a = { .chunk = causal ? find_chunk(sig) : -1,
                       .q = pl_sig_find(sig, 'q'),
                       .k = pl_sig_find(sig, 'k'),
                       .d = pl_sig_find(sig, 'd'),
                       .e = pl_sig_find(sig, 'e'),
                       .lse = sig->n_out == 2 ? sig->n_in + 1 : 4,
                       .causal = causal,
                       .window = pl_node_int(n, "window", 0),
                       .scale = pl_node_real(n, "scale", 0),
                       .cap = pl_node_real(n, "cap", 0),
                       .p = pl_node_real(n, "p", 0),
                       .stream = (uint64_t)pl_node_int(n, "stream", 0) };
    return a;
}

int64_t pl_attention_chunks(const char *attrs, int64_t queries)
{
    enum { CHUNKS = 16, LEAST = 64 }; /* the heaviest of N devices has 1 + (N - 1) / (16 N) */
    const bool balanced = !strstr(attrs, "causal=1") || strstr(attrs, "window=");
    return balanced || queries % CHUNKS || queries < CHUNKS * LEAST ? 1 : CHUNKS;
}

/* -- what makes a node ------------------------------------------------------------------------- */

/* Does a letter stand in operands of a kind? Other letters than q, k, d and e are rows or heads:
 * those of keys stand everywhere, others where queries are. */
static bool belongs(char letter, bool has_keys, char kind)
{
    const char *kinds = letter == 'q'   ? "QYL"
                        : letter == 'k' ? "KV"
                        : letter == 'd' ? "QK"
                        : letter == 'e' ? "VY"
                        : has_keys      ? "QKVYL"
                                        : "QYL";
    return strchr(kinds, kind);
}

static bool check_operand(const pl_sig *sig, int o, char kind, pl_err *err)
{
    const pl_operand *x = &sig->operand[o];
    for (int f = 0; f < sig->n_factors; f++) {
        char letter = sig->factor[f].letter;
        bool has_keys = pl_sig_has(&sig->operand[K], sig, f);
        if (belongs(letter, has_keys, kind) != pl_sig_has(x, sig, f))
            return pl_err_set(err, PL_EINPUT, "'%c' %s in operand %d (bqhd,bkhd,bkhe->bqhe,bhq)",
                              letter, pl_sig_has(x, sig, f) ? "has no place" : "is missing", o);
    }
    if (kind == 'L') return true;
    char last = strchr("QK", kind) ? 'd' : 'e';
    const pl_sig_dim *dim = &x->dim[x->rank - 1];
    return dim->factor[dim->n - 1] == pl_sig_find(sig, last) ||
           pl_err_set(err, PL_EINPUT, "'%c' has to be the last letter of operand %d", last, o);
}

static bool check_letters(const pl_sig *sig, const char *in, const char *out, pl_err *err)
{
    for (const char *letter = "qkde"; *letter; letter++)
        if (pl_sig_find(sig, *letter) < 0)
            return pl_err_set(err, PL_EINPUT, "its signature needs the letter '%c'", *letter);
    for (int i = 0; in[i]; i++) PL_TRY(check_operand(sig, i, in[i], err));
    for (int i = 0; out[i]; i++) PL_TRY(check_operand(sig, sig->n_in + i, out[i], err));
    return true;
}

/* Is q a dimension by itself, or with its chunks, wherever it stands: it says where a query is. */
static bool is_position(const pl_sig *sig)
{
    const int q = pl_sig_find(sig, 'q'), chunk = find_chunk(sig);
    for (int o = 0; o < sig->n_in + sig->n_out; o++) {
        const pl_sig_dim *dim = find_dim(&sig->operand[o], q);
        if (dim && (dim->n != 1 + (chunk >= 0) || dim->factor[dim->n - 1] != q ||
                    (chunk >= 0 && dim->factor[0] != chunk)))
            return false;
    }
    return true;
}

/* As for softmax: with a window there are no more queries than keys, or a row would be empty. */
static bool check_mask(const pl_node *n, const pl_sig *sig, pl_err *err)
{
    if (pl_node_int(n, "causal", 0) && !is_position(sig))
        return pl_err_set(err, PL_EINPUT,
                          "causal=1 needs 'q' as a dimension of its own, or '(cq)'");
    int64_t window = pl_node_int(n, "window", 0);
    const int chunk = find_chunk(sig);
    long long q = (long long)sig->factor[pl_sig_find(sig, 'q')].size *
                  (long long)(chunk < 0 ? 1 : sig->factor[chunk].size),
              k = (long long)sig->factor[pl_sig_find(sig, 'k')].size;
    if (window < 0 || (window && !pl_node_int(n, "causal", 0)))
        return pl_err_set(err, PL_EINPUT, "window=%lld is for causal=1, and not below 0",
                          (long long)window);
    return !window || q <= k ||
           pl_err_set(err, PL_EINPUT, "window=%lld for %lld queries needs as many keys, not %lld",
                      (long long)window, q, k);
}

static bool check_numbers(const pl_node *n, pl_err *err)
{
    double p = pl_node_real(n, "p", 0), cap = pl_node_real(n, "cap", 0);
    long long stream = (long long)pl_node_int(n, "stream", 0);
    if (!(p >= 0 && p < 1)) return pl_err_set(err, PL_EINPUT, "p=%g is not in [0, 1)", p);
    if (!(cap >= 0)) return pl_err_set(err, PL_EINPUT, "cap=%g is negative", cap);
    return stream >= 0 || pl_err_set(err, PL_EINPUT, "stream=%lld is negative", stream);
}

bool pl_attention_infer(const pl_node *n, pl_sig *sig, const char *in, const char *out, pl_err *err)
{
    int n_in = (int)strlen(in), n_out = (int)strlen(out);
    PL_TRY(check_numbers(n, err));
    bool drops = pl_node_real(n, "p", 0) > 0;
    if (sig->n_windows) return pl_err_set(err, PL_EUNSUPPORTED, "has no windows");
    if (sig->n_in != n_in + drops || sig->n_out != n_out)
        return pl_err_set(err, PL_EINPUT,
                          "%d inputs and %d outputs, but with p=%g it has %d and %d", sig->n_in,
                          sig->n_out, pl_node_real(n, "p", 0), n_in + drops, n_out);
    if (drops && (n->in[n_in]->type != PL_I64 || sig->operand[n_in].rank))
        return pl_err_set(err, PL_EINPUT, "the seed is no scalar of type i64");
    PL_TRY(check_letters(sig, in, out, err));
    return check_mask(n, sig, err);
}

const char *pl_attention_attrs(pl_builder *b, const pl_node *n)
{
    const pl_attention a = pl_attention_of(n);
    const char *text = pl_builder_fmt(b, "scale=%.17g", a.scale);
    if (a.causal) text = pl_builder_fmt(b, "%s causal=1", text);
    if (a.window) text = pl_builder_fmt(b, "%s window=%lld", text, (long long)a.window);
    if (a.cap > 0) text = pl_builder_fmt(b, "%s cap=%.17g", text, a.cap);
    if (a.p > 0)
        text = pl_builder_fmt(b, "%s p=%.17g stream=%llu", text, a.p, (unsigned long long)a.stream);
    return text;
}

/* -- masks ------------------------------------------------------------------------------------- */

static int64_t clamp(int64_t x, int64_t most)
{
    return x < 0 ? 0 : x > most ? most : x;
}

int64_t pl_attention_position(const pl_attention *a, const pl_share *s, int64_t chunk, int64_t i)
{
    const int64_t before =
        a->chunk < 0 ? 0 : (s->factor[a->chunk].lo + chunk) * s->node->sig->factor[a->q].size;
    return before + s->factor[a->q].lo + i;
}

pl_range pl_attention_seen(const pl_attention *a, const pl_walk *row)
{
    const pl_share *s = row->share;
    pl_range keys = s->factor[a->k];
    if (!a->causal) return (pl_range){ 0, keys.n };
    int64_t at =
        pl_attention_position(a, s, a->chunk < 0 ? 0 : row->index[a->chunk], row->index[a->q]);
    int64_t end = at + 1 - keys.lo;
    int64_t first = a->window ? clamp(end - a->window, keys.n) : 0;
    return (pl_range){ first, clamp(end, keys.n) - first };
}

/* The sum of clamp(x, most) for x = from ... from + n - 1. */
static double sum_clamped(int64_t from, int64_t n, int64_t most)
{
    int64_t lo = clamp(-from, n), hi = clamp(most - from, n);
    double rising =
        ((double)from + (double)lo + (double)from + (double)hi - 1) / 2 * (double)(hi - lo);
    return rising + (double)most * (double)(n - hi);
}

/* Of queries with any head. */
static double count_pairs(const pl_attention *a, pl_range q, pl_range k)
{
    double pairs = (double)q.n * (double)k.n;
    if (a->causal) pairs = sum_clamped(q.lo + 1 - k.lo, q.n, k.n);
    if (a->window) pairs -= sum_clamped(q.lo + 1 - k.lo - a->window, q.n, k.n);
    return pairs;
}

static double count_heads(const pl_attention *a, const pl_share *s)
{
    double heads = 1;
    for (int f = 0; f < s->node->sig->n_factors; f++)
        if (f != a->q && f != a->k && f != a->d && f != a->e && f != a->chunk)
            heads *= (double)s->factor[f].n;
    return heads;
}

/* Of the queries `q` of each of these chunks. */
static double count_chunks(const pl_attention *a, pl_range chunks, int64_t queries, pl_range q,
                           pl_range k)
{
    double pairs = 0;
    for (int64_t i = chunks.lo; i < chunks.lo + chunks.n; i++)
        pairs += count_pairs(a, (pl_range){ i * queries + q.lo, q.n }, k);
    return pairs;
}

double pl_attention_pairs(const pl_attention *a, const pl_share *s)
{
    const pl_range chunks = a->chunk < 0 ? (pl_range){ 0, 1 } : s->factor[a->chunk];
    const int64_t queries = s->node->sig->factor[a->q].size;
    return count_heads(a, s) * count_chunks(a, chunks, queries, s->factor[a->q], s->factor[a->k]);
}

/* In a window a query sees so many keys, and a key is seen by so many queries. */
double pl_attention_most_pairs(const pl_attention *a, const pl_share *s)
{
    const pl_sig *sig = s->node->sig;
    const int64_t queries = sig->factor[a->q].size, rows = s->factor[a->q].n,
                  all = a->chunk < 0 ? 1 : sig->factor[a->chunk].size,
                  chunks = a->chunk < 0 ? 1 : s->factor[a->chunk].n;
    const pl_range k = { 0, s->factor[a->k].n }, keys = { 0, sig->factor[a->k].size };
    double pairs = count_chunks(a, (pl_range){ all - chunks, chunks }, queries,
                                (pl_range){ queries - rows, rows }, k);
    if (a->window)
        pairs = (double)(chunks * rows < k.n ? chunks * rows : k.n) *
                fmin((double)a->window, (double)(chunks * rows < k.n ? k.n : chunks * rows));
    return count_heads(a, s) * fmin(pairs, count_pairs(a, (pl_range){ 0, all * queries }, keys));
}

/* -- scores and dropout ------------------------------------------------------------------------ */

double pl_attention_score(const pl_attention *a, const pl_walk *row, const void *const in[],
                          int64_t key)
{
    pl_type t = row->share->node->in[Q]->type;
    int64_t q = row->at[Q], k = row->at[K] + key * row->stride[K][a->k];
    double dot = 0;
    for (int64_t i = 0; i < row->share->factor[a->d].n; i++)
        dot += pl_type_get(t, in[Q], q + i) * pl_type_get(t, in[K], k + i);
    return a->cap > 0 ? a->cap * tanh(a->scale * dot / a->cap) : a->scale * dot;
}

pl_attention_drop pl_attention_drops(const pl_attention *a, const pl_share *s, const void *seed)
{
    pl_attention_drop d = { .keys = s->node->sig->factor[a->k].size, .first = s->factor[a->k].lo };
    if (seed) d.draw.rng = pl_rng_at((uint64_t) * (const int64_t *)seed, a->stream);
    pl_share_globals(s, a->lse, &d.rows);
    return d;
}

double pl_attention_kept(const pl_attention *a, pl_attention_drop *drop, const pl_walk *row,
                         int64_t key)
{
    if (!(a->p > 0)) return 1;
    int64_t at = pl_globals_at(&drop->rows, row->at[a->lse]) * drop->keys + drop->first + key;
    return pl_draw_uniform(&drop->draw, (uint64_t)at) >= a->p ? 1 / (1 - a->p) : 0;
}
