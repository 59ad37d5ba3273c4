/* Many values as one and back, by recursion, as an operator has few operands. */
#include "models/join.h"

#include "ops/list.h"

enum { FAN = 9 }; /* pieces of one split or concat */

/* The sides of a split of `n` positions: "bsk" and "bk,bk,bk" when there are no more than FAN, else
 * "bsk" and "bpk,bqk", with the sizes of these. Returns how many pieces there are. */
static int list_pieces(pl_builder *b, int64_t n, const char **pieces, const char **sizes,
                       int64_t size[FAN])
{
    const char *letter = "pqrtuvwxy";
    int count = (int)(n <= FAN ? n : n <= FAN * FAN ? (n + FAN - 1) / FAN : FAN);
    *pieces = *sizes = "";
    for (int i = 0; i < count; i++) {
        size[i] = n / count + (i < n % count);
        *pieces = n <= FAN ? pl_builder_fmt(b, "%s,bk", *pieces)
                           : pl_builder_fmt(b, "%s,b%ck", *pieces, letter[i]);
        if (n > FAN)
            *sizes = pl_builder_fmt(b, "%s %c=%lld", *sizes, letter[i], (long long)size[i]);
    }
    ++*pieces; /* the first comma */
    return count;
}

void pl_join_split(pl_builder *b, pl_value *x, int64_t n, pl_value *row[])
{
    const char *pieces, *sizes;
    int64_t size[FAN];
    int count = list_pieces(b, n, &pieces, &sizes, size);
    const pl_node *split =
        pl_add_node(b, &pl_op_split, NULL, pl_builder_fmt(b, "bsk->%s;%s", pieces, sizes), 1, &x);
    for (int i = 0; split && i < count; i++) {
        if (n > FAN)
            pl_join_split(b, split->out[i], size[i], row);
        else
            *row = split->out[i];
        row += size[i];
    }
}

pl_value *pl_join_rows(pl_builder *b, pl_value *const row[], int64_t n)
{
    const char *pieces, *sizes;
    pl_value *piece[FAN];
    int64_t size[FAN];
    int count = list_pieces(b, n, &pieces, &sizes, size);
    for (int i = 0; i < count; i++) {
        piece[i] = n > FAN ? pl_join_rows(b, row, size[i]) : *row;
        row += size[i];
    }
    return pl_add_value(b, &pl_op_concat, NULL, pl_builder_fmt(b, "%s->bsk", pieces), count, piece);
}

/* n values, `own` their letters with '*' for the one along which they are joined; the
 * result has `all`. */
static pl_value *join(pl_builder *b, pl_value *const x[], int64_t n, const char *own,
                      const char *all)
{
    if (n == 1) return x[0];
    static const char letters[] = "pqrtuvwxy";
    pl_text spec = { .arena = b->graph->arena };
    pl_value *piece[FAN];
    const int64_t each = n <= FAN ? 1 : (n + FAN - 1) / FAN;
    int count = 0;
    for (int64_t i = 0; i < n; i += each, count++) {
        piece[count] = join(b, x + i, i + each < n ? each : n - i, own, all);
        if (count) pl_text_add(&spec, ",");
        for (const char *c = own; *c; c++)
            pl_text_add(&spec, "%c", *c == '*' ? letters[count] : *c);
    }
    pl_text_add(&spec, "->%s", all);
    return pl_add_value(b, &pl_op_concat, NULL, pl_text_get(&spec), count, piece);
}

pl_value *pl_join_columns(pl_builder *b, pl_value *const x[], int64_t n)
{
    return join(b, x, n, "b*", "bk");
}

pl_value *pl_join_stacks(pl_builder *b, pl_value *const x[], int64_t n)
{
    pl_value **stack = PL_NEW_N(b->graph->arena, pl_value *, n);
    bool single = true;
    for (int64_t i = 0; i < n && x[i]; i++) single &= x[i]->shape.rank == 2;
    if (single) return pl_join_rows(b, x, n);
    for (int64_t i = 0; i < n && x[i]; i++)
        stack[i] = x[i]->shape.rank == 2 ? PL_ADD(b, &pl_op_reshape, "bk->bsk", x[i]) : x[i];
    return join(b, stack, n, "b*k", "bsk");
}
