/* Pipeline schedules: closed forms, mistakes that are found, bounds and the search against brute
 * force, PyTorch's files. */
#include "support/expect.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/rng.h"
#include "schedules/bound.h"
#include "schedules/csv.h"
#include "schedules/make.h"
#include "support/arena.h"

static pl_pipeline make(const char *name, int ranks, int micro, int chunks)
{
    pl_pipeline s;
    pl_err err = { 0 };
    const pl_pipeline_request r = { .ranks = ranks, .micro = micro, .chunks = chunks };
    if (!pl_pipeline_make(name, &r, arena, &s, &err)) fail_msg("%s: %s", name, err.msg);
    return s;
}

static pl_pipeline_times play(const pl_pipeline *s)
{
    static const pl_pass_costs units = { .send = 0 };
    pl_pipeline_times t;
    pl_pipeline_play(s, &units, arena, &t);
    return t;
}

/* F, I and W take 1 each, B takes 2: the steps and what is held as their authors have it. */
static void test_closed_forms(void **state)
{
    (void)state;
    for (int p = 2; p <= 16; p++)
        for (int m = p; m <= 64; m += p) {
            pl_pipeline s = make("gpipe", p, m, 0);
            EXPECT(play(&s).seconds == 3 * (m + p - 1), "gpipe %d %d", p, m);
            EXPECT(play(&s).most_held == m, "gpipe %d %d holds", p, m);
            s = make("1f1b", p, m, 0);
            EXPECT(play(&s).seconds == 3 * (m + p - 1), "1f1b %d %d", p, m);
            EXPECT(play(&s).most_held == p, "1f1b %d %d holds", p, m);
            for (int v = 2; v <= 4; v++) {
                s = make("interleaved", p, m, v);
                EXPECT(play(&s).seconds == 3 * (m * v + p - 1), "interleaved %d %d %d", p, m, v);
            }
            s = make("zb-h1", p, m, 0);
            EXPECT(play(&s).seconds == 3 * m + p - 1, "zb-h1 %d %d", p, m);
            EXPECT(play(&s).most_held == p, "zb-h1 %d %d holds", p, m);
            if (m < 2 * p) continue;
            s = make("zbv", p, m, 0);
            EXPECT(play(&s).own_seconds == 6 * m, "zbv %d %d", p, m);
            EXPECT(play(&s).most_held == 2 * p, "zbv %d %d holds", p, m);
            s = make("dualpipev", p, m, 0);
            EXPECT(play(&s).seconds == 6 * m + p - 1, "dualpipev %d %d", p, m);
            EXPECT(play(&s).most_held == 2 * p + 1, "dualpipev %d %d holds", p, m);
            s = make("zb-h2", p, m, 0);
            EXPECT(play(&s).own_seconds == 3 * m, "zb-h2 %d %d", p, m);
            EXPECT(play(&s).most_held == 2 * p - 1, "zb-h2 %d %d holds", p, m);
        }
}

/* Any numbers make a schedule that can be run, of those there and back at least two micro-batches a
 * rank: the check says so for each that is made. */
static void test_ragged(void **state)
{
    (void)state;
    for (int p = 1; p <= 5; p++)
        for (int m = 1; m <= 10; m++)
            for (const pl_pipeline_generator *g = pl_pipeline_generators; g->name; g++)
                for (int v = 1; v <= (g->any_chunks ? 3 : 1) && (!g->is_v || m >= 2 * p); v++)
                    (void)make(g->name, p, m, g->any_chunks ? v : 0);
}

/* -- mistakes ---------------------------------------------------------------------------------- */

static void test_mistakes(void **state)
{
    (void)state;
    static const struct {
        const char *text, *says;
    } cases[] = {
        { "0F0,0B0\n1F0\n", "stage 1 has no B, or I and W of micro-batch 0, which rank 1" },
        { "0F0,0I0\n1F0,1B0\n", "stage 0 has no W of micro-batch 0" },
        { "0F0,0F0,0B0\n1F0,1B0\n", "rank 0, pass 1, 0F0: for the second time" },
        { "0B0,0F0\n1F0,1B0\n", "rank 0, pass 0, 0B0: before its F" },
        { "0F0,0W0,0I0\n1F0,1B0\n", "rank 0, pass 1, 0W0: before its I" },
        { "0F0,0B0,0W0\n1F0,1B0\n", "its backward pass is a B" },
        { "0F0,0I0,0B0,0W0\n1F0,1B0\n", "its backward pass is in two" },
        { "0F0,0B0\n2F0,2B0\n", "stage 1 of 3 is on no rank" },
        { "0F0,0B0,1F0\n1B0\n", "rank 1, pass 0, 1B0: stage 1 is on rank 0" },
        { "0F0,0B0,0F1,0B1\n1F0,1F1,1B0,1B1\n",
          "a deadlock: rank 0 waits in pass 1, 0B0, for rank 1's 1B0; rank 1 waits in pass 1, 1F1, "
          "for rank 0's 0F1" },
        { "0F0,0X0\n", "line 1 (rank 0), cell 1: '0X0' is no action" },
        { "0F0,F0\n", "cell 1: 'F0' is no action" },
        { "0F0,(0F1;0B0)OVERLAP\n", "is no action" },
        { "0F99999999\n", "is no action" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        pl_pipeline s;
        pl_err err = { 0 };
        const char *text = cases[i].text;
        EXPECT(!pl_pipeline_csv_read(text, strlen(text), "file", arena, &s, &err) &&
                   err.code == PL_EINPUT && strstr(err.msg, cases[i].says),
               "'%s', not '%s'", err.msg, cases[i].says);
    }
    pl_pipeline s;
    pl_err err = { 0 };
    assert_false(pl_pipeline_make("best", &(pl_pipeline_request){ 4, 8 }, arena, &s, &err));
    assert_non_null(strstr(err.msg, "there are: gpipe, 1f1b, "));
    err = (pl_err){ 0 };
    assert_false(pl_pipeline_make("1f1b", &(pl_pipeline_request){ 4, 8, 2 }, arena, &s, &err));
    assert_non_null(strstr(err.msg, "a rank has 1 stage in schedule 1f1b, not 2"));
    err = (pl_err){ 0 };
    assert_false(pl_pipeline_make("gpipe", &(pl_pipeline_request){ 0, 8 }, arena, &s, &err));
    assert_int_equal(err.code, PL_EUSAGE);
}

/* What is written reads as the same rows, and what PyTorch writes beside passes is left out. */
static void test_files(void **state)
{
    (void)state;
    for (const pl_pipeline_generator *g = pl_pipeline_generators; g->name; g++) {
        pl_pipeline s = make(g->name, 4, 8, 0), again;
        pl_text out = { .arena = arena };
        pl_err err = { 0 };
        pl_pipeline_csv_write(&s, &out);
        if (!pl_pipeline_csv_read(pl_text_get(&out), out.n, g->name, arena, &again, &err))
            fail_msg("%s: %s", g->name, err.msg);
        for (int r = 0; r < s.n_ranks; r++) {
            assert_int_equal(s.row[r].n, again.row[r].n);
            for (int i = 0; i < s.row[r].n; i++)
                assert_string_equal(pl_pass_text(&s.row[r].at[i], arena),
                                    pl_pass_text(&again.row[r].at[i], arena));
        }
    }
    static const char text[] = "0UNSHARD,0F0,0SEND_F0,,0F1,(0B0;0F2)OVERLAP_F_B,0B1,0B2\r\n"
                               "1F0,1RECV_F1,1B0,1F1,1B1,,\"1F2\",1B2,1REDUCE_GRAD\n";
    pl_pipeline s;
    pl_err err = { 0 };
    if (!pl_pipeline_csv_read(text, strlen(text), "torch", arena, &s, &err))
        fail_msg("%s", err.msg);
    assert_int_equal(s.row[0].n, 6);
    assert_int_equal(s.row[1].n, 6);
}

/* -- brute force ------------------------------------------------------------------------------- */

enum { MOST_RANKS = 3, MOST_MICRO = 3, MOST_PASSES = 3 * MOST_MICRO };

typedef struct brute {
    pl_pipeline_request r;
    pl_pipeline s;
    pl_pass pass[MOST_RANKS][MOST_PASSES];
    pl_pass_row row[MOST_RANKS];
    double best;
} brute;

static void judge(brute *x)
{
    pl_err why = { 0 };
    pl_pipeline_times t;
    if (!pl_pipeline_check(&x->s, &why)) return;
    pl_pipeline_play(&x->s, x->r.costs, arena, &t);
    const double took = x->r.apart ? t.own_seconds : t.seconds;
    if (t.most_held <= x->r.memory * (1 + 1e-9)) x->best = fmin(x->best, took);
}

/* All rows in which F, I and W each go through the micro-batches in order. */
static void enumerate(brute *x, int rank, int f, int i, int w)
{
    const int n = x->r.micro;
    if (rank == x->r.ranks) {
        judge(x);
        return;
    }
    if (w == n) {
        enumerate(x, rank + 1, 0, 0, 0);
        return;
    }
    pl_pass *at = &x->pass[rank][f + i + w];
    if (f < n) *at = (pl_pass){ PL_PASS_F, rank, f }, enumerate(x, rank, f + 1, i, w);
    if (i < f) *at = (pl_pass){ PL_PASS_I, rank, i }, enumerate(x, rank, f, i + 1, w);
    if (w < i) *at = (pl_pass){ PL_PASS_W, rank, w }, enumerate(x, rank, f, i, w + 1);
}

static double find_best(const pl_pipeline_request *r)
{
    brute x = { .r = *r, .best = INFINITY };
    int rank_of[MOST_RANKS];
    for (int k = 0; k < r->ranks; k++) {
        x.row[k] = (pl_pass_row){ .n = 3 * r->micro, .at = x.pass[k] };
        rank_of[k] = k;
    }
    x.s = (pl_pipeline){ "brute", r->ranks, r->ranks, r->micro, rank_of, x.row };
    enumerate(&x, 0, 0, 0, 0);
    return x.best;
}

static double find_bound(const pl_pipeline_request *r)
{
    static const int rank_of[] = { 0, 1, 2 };
    const pl_pipeline s = { "bound", r->ranks, r->ranks, r->micro, rank_of, NULL };
    return pl_pipeline_bound(&s, r->costs, r->memory, r->apart);
}

/* Random times and memory, with and without a common beginning: no bound is above the best of all
 * schedules, and none that is found below it. */
static void test_bounds(void **state)
{
    (void)state;
    const pl_rng rng = pl_rng_at(11, 0);
    int proven = 0, best_found = 0, n = 0;
    for (uint64_t at = 0, round = 0; round < 40; round++) {
        double x[4][MOST_RANKS], half[MOST_RANKS];
        for (int k = 0; k < 4; k++)
            for (int r = 0; r < MOST_RANKS; r++) x[k][r] = 1 + (double)pl_rng_below(rng, at++, 8);
        for (int r = 0; r < MOST_RANKS; r++) half[r] = 0.5 * x[3][r];
        const pl_pass_costs costs = { x[0], x[1], x[2], (double)(round % 3), x[3], half };
        const pl_pipeline_request r = { .ranks = round % 5 == 4 ? 3 : 2,
                                        .micro = 3,
                                        .chunks = 1,
                                        .costs = &costs,
                                        .memory = 8 + (double)pl_rng_below(rng, at++, 16),
                                        .apart = round % 4 < 2 };
        pl_pipeline s;
        pl_err err = { 0 };
        const double best = find_best(&r), bound = find_bound(&r);
        const bool found = pl_pipeline_make("search", &r, arena, &s, &err);
        if (best == INFINITY) {
            assert_false(found);
            continue;
        }
        EXPECT(bound <= best * (1 + 1e-9), "round %d: a bound of %g, and %g is best", (int)round,
               bound, best);
        if (!found) continue;
        pl_pipeline_times t;
        pl_pipeline_play(&s, &costs, arena, &t);
        const double took = r.apart ? t.own_seconds : t.seconds;
        EXPECT(took >= best * (1 - 1e-9) && t.most_held <= r.memory * (1 + 1e-9),
               "round %d: %g s, and %g is best", (int)round, took, best);
        n++, proven += bound >= best * (1 - 1e-9), best_found += took <= best * (1 + 1e-9);
    }
    EXPECT(n >= 30 && proven > n / 3 && best_found > n / 2, "%d: %d proven, %d best", n, proven,
           best_found);
}

/* -- two stages a rank ------------------------------------------------------------------------- */

enum { TWICE = 2, STAGES = 4, ROW = 8 }; /* ranks and micro-batches, stages, passes of a row */

typedef struct twice {
    pl_pipeline s;
    const pl_pass_costs *costs;
    double memory, best, best_apart;
    pl_pass pass[TWICE][ROW];
    pl_pass_row row[TWICE];
    int n[STAGES][2]; /* F and B so far */
} twice;

static void judge_twice(twice *x)
{
    pl_err why = { 0 };
    pl_pipeline_times t;
    if (!pl_pipeline_check(&x->s, &why)) return;
    pl_arena *tmp = pl_arena_new("twice");
    pl_pipeline_play(&x->s, x->costs, tmp, &t);
    if (t.most_held <= x->memory * (1 + 1e-9)) {
        x->best = fmin(x->best, t.seconds);
        x->best_apart = fmin(x->best_apart, t.own_seconds);
    }
    pl_arena_free(tmp);
}

/* All rows of F and B in which each stage goes through the micro-batches in order. */
static void enumerate_twice(twice *x, int rank, int at)
{
    if (at == ROW) rank++, at = 0;
    if (rank == TWICE) {
        judge_twice(x);
        return;
    }
    for (int k = 0; k < STAGES; k++) {
        int *n = x->n[k];
        if (x->s.rank_of[k] != rank) continue;
        for (int b = 0; b < 2; b++) {
            if (n[b] == (b ? n[0] : TWICE)) continue;
            x->pass[rank][at] = (pl_pass){ (uint8_t)(b ? PL_PASS_B : PL_PASS_F), k, n[b]++ };
            enumerate_twice(x, rank, at + 1);
            n[b]--;
        }
    }
}

/* Stages in turn, and there and back: no bound is above the best of all schedules with whole
 * backward passes. */
static void test_two_stages(void **state)
{
    (void)state;
    static const int rank_of[2][STAGES] = { { 0, 1, 0, 1 }, { 0, 1, 1, 0 } };
    const pl_rng rng = pl_rng_at(12, 0);
    int near = 0, n = 0;
    for (uint64_t at = 0, round = 0; round < 4; round++) {
        double x[4][STAGES];
        for (int k = 0; k < 4; k++)
            for (int s = 0; s < STAGES; s++)
                x[k][s] = round < 2 ? 1 : 1 + (double)pl_rng_below(rng, at++, 6);
        const pl_pass_costs costs = { x[0], x[1], x[2], (double)(round % 3), x[3], NULL };
        twice t = { .costs = &costs, .best = INFINITY, .best_apart = INFINITY };
        t.memory = 4 + (double)pl_rng_below(rng, at++, 12);
        for (int r = 0; r < TWICE; r++) t.row[r] = (pl_pass_row){ .n = ROW, .at = t.pass[r] };
        t.s = (pl_pipeline){ "twice", TWICE, STAGES, TWICE, rank_of[round % 2], t.row };
        enumerate_twice(&t, 0, 0);
        if (t.best == INFINITY) continue;
        const double bound = pl_pipeline_bound(&t.s, &costs, t.memory, false);
        const double apart = pl_pipeline_bound(&t.s, &costs, t.memory, true);
        EXPECT(bound <= t.best * (1 + 1e-9) && apart <= t.best_apart * (1 + 1e-9),
               "round %d: bounds %g and %g of %g and %g", (int)round, bound, apart, t.best,
               t.best_apart);
        n++, near += bound > 0.5 * t.best;
    }
    EXPECT(n >= 3 && near == n, "%d of %d bounds are near", near, n);
}

/* Two of the cases of Qi et al. (ICLR 2024): found as fast as they print, and proven. */
static void test_published(void **state)
{
    (void)state;
    static const struct {
        double k, bubble;
    } cases[] = { { 1, 0.1585 }, { 2, 0.0433 } };
    double f[8], i[8], w[8], held[8], rest[8];
    for (int r = 0; r < 8; r++)
        f[r] = 18522, i[r] = 18086, w[r] = 9337, held[r] = 201216, rest[r] = 73728;
    const pl_pass_costs costs = { f, i, w, 601, held, rest };
    for (int k = 0; k < 2; k++) {
        const pl_pipeline_request r = { 8, 24, 1, &costs, cases[k].k * 8 * 201216, true };
        pl_pipeline s;
        pl_pipeline_times t;
        pl_err err = { 0 };
        if (!pl_pipeline_make("search", &r, arena, &s, &err)) fail_msg("%s", err.msg);
        pl_pipeline_play(&s, &costs, arena, &t);
        EXPECT(pl_pipeline_own_bubble(&t) < cases[k].bubble + 5e-5, "k %g: %g", cases[k].k,
               pl_pipeline_own_bubble(&t));
        EXPECT(t.own_seconds <= pl_pipeline_bound(&s, &costs, r.memory, true) * (1 + 1e-9),
               "k %g is not proven", cases[k].k);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_closed_forms, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_ragged, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_mistakes, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_files, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_bounds, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_two_stages, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_published, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
