/* The least of max(f1, f0), two sums of tables: computing with what cannot be hidden beside it, and
 * all messages. For every price p in [0, 1] the least of p f1 + (1 - p) f0 is a bound, concave in
 * p. The lines of two answers on either side of its top meet at the next price to try (Kelley's
 * cutting planes, in one dimension). */
#include "plan/tables.h"

#include <math.h>

enum { MOST_PRICES = 8 };

/* An answer at a price: the line p f1 + (1 - p) f0 of its choice. */
typedef struct line {
    double computing, sending; /* f1, f0 */
} line;

typedef struct prices {
    pl_tables *t;
    double cap;
    bool tied;
    const pl_search_options *options;
    pl_arena *out;
    pl_chain ends[2]; /* at price 0 and 1 */
    pl_answer *best;
    double bound, bound_price;
} prices;

pl_cost pl_tables_cost(const pl_tables *t, const int *value)
{
    pl_arena *tmp = pl_arena_new("tables cost");
    pl_chain computing = pl_tables_chain(t, 1, tmp), sending = pl_tables_chain(t, 0, tmp);
    pl_cost a = pl_chain_cost(&computing, value), b = pl_chain_cost(&sending, value);
    pl_arena_free(tmp);
    return (pl_cost){ fmax(a.time, b.time), a.memory };
}

/* The best choice at a price. Keeps the fastest, and the best bound. */
static bool try_price(prices *x, double price, line *l, pl_err *err)
{
    pl_chain c = price == 1 ? x->t->chain : pl_tables_chain(x->t, price, x->out);
    pl_answer a;
    PL_TRY(x->tied ? pl_chain_tied(&c, x->cap, x->options, x->out, &a, err)
                   : pl_chain_min(&c, x->cap, x->options, x->out, &a, err));
    l->computing = pl_chain_cost(&x->ends[1], a.value).time;
    l->sending = pl_chain_cost(&x->ends[0], a.value).time;
    a.time = fmax(l->computing, l->sending);
    int64_t work = x->best->work + a.work;
    if (a.bound > x->bound) x->bound = a.bound, x->bound_price = price;
    if (!x->best->value || a.time < x->best->time) *x->best = a;
    x->best->work = work;
    return true;
}

static bool is_closed(const prices *x)
{
    return x->best->time - x->bound <= 1e-9 * x->best->time;
}

/* Between a choice that sends for longer than it computes and one the other way round. */
static bool close_in(prices *x, line sends, line computes, pl_err *err)
{
    for (int i = 2; i < MOST_PRICES && !is_closed(x); i++) {
        double falls = sends.sending - sends.computing;
        double rises = computes.computing - computes.sending;
        double price = (sends.sending - computes.sending) / (falls + rises);
        double meet = sends.sending - price * falls;
        line l;
        if (!(price > 0 && price < 1) || meet - x->bound <= 1e-9 * meet) break;
        PL_TRY(try_price(x, price, &l, err));
        *(l.sending > l.computing ? &sends : &computes) = l;
    }
    return true;
}

bool pl_tables_min(pl_tables *t, double cap, bool tied, const pl_search_options *options,
                   pl_arena *out, pl_answer *answer, pl_err *err)
{
    line hides, waits;
    *answer = (pl_answer){ 0 };
    t->chain = pl_tables_chain(t, 1, out);
    prices x = {
        t, cap, tied, options, out, { pl_tables_chain(t, 0, out), t->chain }, answer, 0, 1
    };
    PL_TRY(try_price(&x, 1, &hides, err));
    if (hides.sending > hides.computing) {
        PL_TRY(try_price(&x, 0, &waits, err));
        if (waits.computing > waits.sending) PL_TRY(close_in(&x, hides, waits, err));
    }
    answer->bound = fmin(x.bound, answer->time);
    answer->proven = is_closed(&x);
    if (x.bound_price != 1) t->chain = pl_tables_chain(t, x.bound_price, out);
    return true;
}
