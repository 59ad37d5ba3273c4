/* Times of the search on layout-like chains. Arguments: axes rich chains copies caps. */
#include "search/chain.h"
#include "layout.h"

#include <stdio.h>
#include <time.h>

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static double describe(const pl_chain *c)
{
    double entries = 0, values = 0;
    int most = 0;
    for (int v = 0; v < c->block.n; v++) {
        values += c->block.n_values[v];
        if (c->block.n_values[v] > most) most = c->block.n_values[v];
    }
    for (int p = 0; p < c->block.n_pairs; p++)
        entries +=
            (double)c->block.n_values[c->block.pair[p].a] * c->block.n_values[c->block.pair[p].b];
    printf("block of %d variables (%.0f values, at most %d), %d pairs of %.2g M entries, %d "
           "copies\n",
           c->block.n, values / c->block.n, most, c->block.n_pairs, entries / 1e6, c->copies);
    return entries;
}

static double run(const pl_chain *c, double cap, const char *what)
{
    pl_arena *a = pl_arena_new("bench");
    pl_answer x;
    pl_err err = { 0 };
    double t = now();
    bool ok = pl_chain_min(c, cap, NULL, a, &x, &err);
    t = now() - t;
    if (ok)
        printf("%-10s %8.1f ms  time %.6g  gap %.2e%s  memory %.4g  price %.3g  work %.1f M\n",
               what, t * 1e3, x.time, (x.time - x.bound) / x.time, x.proven ? " proven" : "",
               x.memory, x.price, (double)x.work / 1e6);
    else
        printf("%-10s %8.1f ms  %s\n", what, t * 1e3, err.msg);
    double memory = ok ? x.memory : 0;
    pl_arena_free(a);
    return memory;
}

int main(int argc, char **argv)
{
    int arg[5] = { 2, 1, 9, 192, 4 };
    for (int i = 1; i < argc && i < 6; i++) arg[i - 1] = atoi(argv[i]);
    pl_arena *a = pl_arena_new("bench chain");
    layout l = layout_gpt(arg[0], arg[1], arg[2], arg[3]);
    pl_chain c = layout_chain(&l, a);
    describe(&c);
    double free_memory = run(&c, INFINITY, "no cap");
    for (int i = 1; i <= arg[4]; i++) {
        char what[32];
        double part = 1 - 0.9 * i / (arg[4] + 1);
        snprintf(what, sizeof what, "cap %.0f%%", 100 * part);
        run(&c, part * free_memory, what);
    }
    pl_arena_free(a);
    return 0;
}
