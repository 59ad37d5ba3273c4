/* Pieces of known choices (splice.h). Sums over the copies up to each one are made once for what
 * stands outside (open_sums); then each splice is a few of them (try_cuts). */
#include "chain/splice.h"

#include <math.h>
#include <string.h>

/* Both times, and memory. */
typedef struct sums {
    double time[2], memory;
} sums;

typedef struct splices {
    pl_chain_pair pair;
    double cap;
    int n, copies;
    const int *const *known;
    const int *outside; /* the values outside of the splice                                       */
    sums *upto;         /* [n][copies + 1] copies and the links between them, up to a copy        */
    sums *link;         /* [n][n][copies] from the copy before of one to this copy of another     */
    sums *first, *last; /* [n] what stands outside with the first edges; the last edges           */
    double least;       /* the time of the best splice                                            */
    int from[4], cut[2]; /* and its pieces: outside, three choices; where they meet               */
    pl_arena *tmp;
} splices;

static sums add(sums a, sums b)
{
    return (sums){ { a.time[0] + b.time[0], a.time[1] + b.time[1] }, a.memory + b.memory };
}

static sums take_off(sums a, sums b)
{
    return (sums){ { a.time[0] - b.time[0], a.time[1] - b.time[1] }, a.memory - b.memory };
}

static const int *copy_of(const splices *s, int k, int i)
{
    const pl_chain *chain = s->pair.sum[0];
    return s->known[k] + chain->outside.n + (int64_t)i * chain->block.n;
}

static sums cost_of_copy(const splices *s, const int *block)
{
    sums all = { { 0 } };
    for (int k = 0; k < 2; k++) {
        const pl_chain *c = s->pair.sum[k];
        pl_cost own = pl_sum_cost(&c->block, block);
        pl_sum_add_edges(&own, c->n_every, c->every, c->block.n_values, s->outside, block);
        all.time[k] = own.time;
        all.memory = own.memory;
    }
    return all;
}

static sums cost_of_link(const splices *s, const int *a, const int *b)
{
    sums all = { { 0 } };
    for (int k = 0; k < 2; k++) {
        const pl_chain *c = s->pair.sum[k];
        pl_cost own = { 0, 0 };
        pl_sum_add_edges(&own, c->n_links, c->link, c->block.n_values, a, b);
        all.time[k] = own.time;
        all.memory = own.memory;
    }
    return all;
}

static sums cost_of_end(const splices *s, bool last, const int *block)
{
    sums all = { { 0 } };
    for (int k = 0; k < 2; k++) {
        const pl_chain *c = s->pair.sum[k];
        pl_cost own = last ? (pl_cost){ 0, 0 } : pl_sum_cost(&c->outside, s->outside);
        pl_sum_add_edges(&own, last ? c->n_last : c->n_first, last ? c->last : c->first,
                         c->block.n_values, s->outside, block);
        all.time[k] = own.time;
        all.memory = own.memory;
    }
    return all;
}

/* Links do not ask what stands outside. */
static void open_links(splices *s)
{
    s->link = PL_NEW_N(s->tmp, sums, s->n * s->n * s->copies);
    for (int a = 0; a < s->n; a++)
        for (int b = 0; b < s->n; b++)
            for (int i = 1; i < s->copies; i++)
                s->link[(a * s->n + b) * s->copies + i] =
                    cost_of_link(s, copy_of(s, a, i - 1), copy_of(s, b, i));
}

static void open_sums(splices *s)
{
    for (int k = 0; k < s->n; k++) {
        sums *upto = s->upto + (size_t)k * ((size_t)s->copies + 1);
        const sums *link = s->link + (k * s->n + k) * s->copies;
        upto[0] = (sums){ { 0 } };
        for (int i = 0; i < s->copies; i++) {
            upto[i + 1] = add(upto[i], cost_of_copy(s, copy_of(s, k, i)));
            if (i) upto[i + 1] = add(upto[i + 1], link[i]);
        }
        s->first[k] = cost_of_end(s, false, copy_of(s, k, 0));
        s->last[k] = cost_of_end(s, true, copy_of(s, k, s->copies - 1));
    }
}

/* From copy i of b, linked to the copy before of a. */
static sums meet(const splices *s, int a, int b, int i)
{
    const sums *own = s->link + (b * s->n + b) * s->copies;
    sums x = take_off(s->link[(a * s->n + b) * s->copies + i], s->upto[b * (s->copies + 1) + i]);
    return take_off(x, own[i]);
}

/* Known choices a, b, c in a row, cut at every two copies. An illegal piece is infinite, or no
 * number where one is taken off another: neither is less than anything. */
static void try_cuts(splices *s, int o, int a, int b, int c)
{
    const sums *upto = s->upto;
    const int n = s->copies, row = n + 1;
    for (int i = 1; i < (a == b ? 2 : n); i++) { /* all of one: wherever it is cut */
        const sums head = add(add(s->first[a], upto[a * row + i]), meet(s, a, b, i));
        for (int j = b == c ? n : i + 1; j < n + (b == c); j++) {
            sums x = add(add(head, upto[b * row + j]), s->last[c]);
            if (b != c) x = add(add(x, meet(s, b, c, j)), upto[c * row + n]);
            const double time = fmax(x.time[0], x.time[1]);
            if (!(x.memory <= s->cap && time < s->least)) continue;
            s->least = time;
            memcpy(s->from, (int[]){ o, a, b, c }, sizeof s->from);
            memcpy(s->cut, (int[]){ i, j }, sizeof s->cut);
        }
    }
}

static void write_best(const splices *s, int *value)
{
    const pl_chain *chain = s->pair.sum[0];
    const int block = chain->block.n, start[4] = { 0, s->cut[0], s->cut[1], s->copies };
    memcpy(value, s->known[s->from[0]], (size_t)chain->outside.n * sizeof *value);
    for (int k = 0; k < 3; k++)
        memcpy(value + chain->outside.n + start[k] * block, copy_of(s, s->from[k + 1], start[k]),
               (size_t)(start[k + 1] - start[k]) * (size_t)block * sizeof *value);
}

bool pl_chain_splice(pl_chain_pair pair, double cap, int n_known, const int *const *known,
                     int *value, pl_cost *cost)
{
    const int copies = pair.sum[0]->copies, n = n_known;
    splices s = {
        .pair = pair, .cap = cap, .n = n, .copies = copies, .known = known, .least = cost->time
    };
    bool found = false;
    if (copies < 2) return false;
    s.tmp = pl_arena_new("splices");
    s.upto = PL_NEW_N(s.tmp, sums, n * (copies + 1));
    s.first = PL_NEW_N(s.tmp, sums, n);
    s.last = PL_NEW_N(s.tmp, sums, n);
    open_links(&s);
    for (int o = 0; o < n; o++) {
        s.outside = known[o];
        open_sums(&s);
        for (int a = 0; a < n; a++)
            for (int b = 0; b < n; b++)
                for (int c = 0; c < n; c++)
                    if (a != b || b == c) try_cuts(&s, o, a, b, c);
    }
    if (s.least < cost->time) {
        write_best(&s, value);
        pl_cost real = pl_chain_pair_cost(pair, value); /* rounded otherwise */
        found = real.memory <= cap && real.time < cost->time;
        if (found) *cost = real;
    }
    pl_arena_free(s.tmp);
    return found;
}
