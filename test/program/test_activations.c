/* Bytes of activations that a layer of a transformer keeps for its backward pass, measured in the
 * programs of whole, tensor-parallel and sequence-parallel training, against the formulas of
 * Korthikanti et al., "Reducing activation recomputation in large transformer models", 2022:
 *   whole   s b h (34 + 5 a s / h)
 *   tp      s b h (10 + 24 / t + 5 a s / (h t))
 *   tp, sp  s b h / t (34 + 5 a s / h)
 * for 2 bytes an element and 1 byte for each element of a dropout mask. Ours are f32, masks are
 * drawn again, not kept, and attention keeps one number for a row of its scores: the formulas lose
 * 2 (of 34, 10, 34), 5 a s / h becomes 2 a / h, and doubled they are what has to come out. */
#include "support/training.h"

enum { S = 2048, B = 4, H = 6144, A = 64, T = 8 };

typedef struct span {
    int64_t from, to;
} span;

static bool overlaps(span a, span b)
{
    return a.from < b.to && b.from < a.to;
}

static int64_t bytes_out(const pl_program *p, const pl_step *s, int k)
{
    if (s->kind == PL_KERNEL)
        return pl_shape_count(pl_share_out(s->share, k)) *
               pl_type_bytes(s->share->node->out[k]->type);
    if (!s->transfer) return s->count * pl_type_bytes(s->type);
    const pl_transfer *t = s->transfer;
    pl_shape local = pl_placement_local(&t->move.to, &p->plan->mesh, &t->value->shape, p->rank);
    return pl_shape_count(&local) * pl_type_bytes(t->value->type);
}

/* The bytes of `x`, written by step i, are read from step `border` on, before they are lost. */
static bool is_kept(const pl_program *p, int i, int border, span x)
{
    for (int k = i + 1; k < p->n_steps; k++) {
        const pl_step *s = &p->step[k];
        for (int o = 0; o < s->n_in && k >= border; o++)
            if (!s->in[o].state && overlaps(x, (span){ s->in[o].at, s->in[o].at + 1 })) return true;
        for (int o = 0; o < s->n_out; o++)
            if (!s->out[o].state &&
                overlaps(x, (span){ s->out[o].at, s->out[o].at + bytes_out(p, s, o) }))
                return s->kind == PL_KERNEL && s->share->node->op->view && k < border;
    }
    return false;
}

static int by_place(const void *a, const void *b)
{
    const span *x = a, *y = b;
    return (x->from > y->from) - (x->from < y->from);
}

/* Bytes alive when the loss is known. */
static int64_t kept_bytes(const pl_program *p)
{
    int border = 0, n = 0;
    while (p->step[border].kind != PL_KERNEL ||
           strcmp(p->step[border].share->node->out[0]->name, "loss"))
        border++;
    span *kept = calloc((size_t)border * PL_MAX_OPERANDS + 1, sizeof *kept);
    for (int i = 0; i < border; i++)
        for (int o = 0; o < p->step[i].n_out; o++) {
            pl_slot at = p->step[i].out[o];
            span x = { at.at, at.at + bytes_out(p, &p->step[i], o) };
            if (!at.state && is_kept(p, i, border, x)) kept[n++] = x;
        }
    qsort(kept, (size_t)n, sizeof *kept, by_place);
    int64_t bytes = 0, end = 0;
    for (int i = 0; i < n; i++) {
        if (kept[i].from < end) kept[i].from = end < kept[i].to ? end : kept[i].to;
        bytes += kept[i].to - kept[i].from;
        if (kept[i].to > end) end = kept[i].to;
    }
    free(kept);
    return bytes;
}

static int64_t measure(int layers, const char *strategy, int n)
{
    pl_arena *a = pl_arena_new("test");
    const char *model =
        pl_arena_fmt(a, "gpt2:layers=%d,hidden=%d,heads=%d,seq=%d,batch=%d,vocab=512,dropout=0.1",
                     layers, H, A, S, B);
    const pl_graph *g = training_graph(model, a);
    int64_t bytes = kept_bytes(training_program(training_plan(g, strategy, n, a), 0, 0, a));
    pl_arena_free(a);
    return bytes;
}

static void check_layer(const char *strategy, int n, double formula)
{
    double got = (double)(measure(3, strategy, n) - measure(2, strategy, n));
    double want = 2. * S * B * H * formula;
    print_message("%s: %.1f MiB a layer, formula %.1f MiB (%+.2f %%)\n", strategy, got / (1 << 20),
                  want / (1 << 20), 100 * (got / want - 1));
    assert_true(got > 0.99 * want && got < 1.01 * want);
}

static void test_layers(void **state)
{
    const double rows = 2. * A / H;
    (void)state;
    check_layer("dp", 1, 32 + rows);
    check_layer("tp=8", T, 8 + 24. / T + rows / T);
    check_layer("tp=8,sp", T, (32 + rows) / T);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_layers) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
