/* The exact search: equal to brute force on small problems, whatever techniques are left out. */
#include "arena/exact.h"
#include "arena/offsets.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/rng.h"

enum { MOST = 6, TOP = 128 };

typedef struct problem {
    int n;
    pl_buf buf[MOST];
    pl_wish wish[MOST];
    pl_gap gap[MOST][2];
} problem;

/* What a problem may hold. */
enum { ALIGNED = 1, FIXED = 2, GAPS = 4 };

static int64_t draw(pl_rng r, uint64_t *at, int64_t most)
{
    return (int64_t)pl_rng_below(r, (*at)++, (uint64_t)most);
}

static void add_gaps(pl_rng r, uint64_t *at, problem *p, int i)
{
    const pl_buf *b = &p->buf[i];
    int64_t life = b->death - b->birth;
    if (life < 3 || draw(r, at, 3) == 0) return;
    int64_t from = b->birth + draw(r, at, life - 1), to = from + 1 + draw(r, at, 2);
    p->gap[i][p->wish[i].n_gaps++] = (pl_gap){ from, to > b->death ? b->death : to, 0, 0 };
    if (to + 1 < b->death && draw(r, at, 2))
        p->gap[i][p->wish[i].n_gaps++] = (pl_gap){ to + 1, b->death, 0, 0 };
    p->wish[i].gap = p->gap[i];
}

/* Sizes up to 6, on some 8 steps. */
static void make(uint64_t seed, unsigned holds, problem *p)
{
    pl_rng r = pl_rng_at(seed, pl_rng_name("small layout"));
    uint64_t at = 0;
    *p = (problem){ .n = 2 + (int)draw(r, &at, MOST - 1) };
    int64_t steps = 2 + draw(r, &at, 8), unit = 1 + draw(r, &at, 2);
    for (int i = 0; i < p->n; i++) {
        pl_wish *w = &p->wish[i];
        int64_t birth = draw(r, &at, steps), life = 1 + draw(r, &at, steps - birth);
        p->buf[i] = (pl_buf){ birth, birth + life, unit * draw(r, &at, 7), w };
        if (i && draw(r, &at, 6) == 0) p->buf[i] = p->buf[i - 1], p->buf[i].wish = w;
        if (holds & ALIGNED) w->align = 1 + draw(r, &at, 4);
        if (holds & FIXED && i == 0) {
            w->is_fixed = true;
            w->fixed = draw(r, &at, 4) * (w->align ? w->align : 1);
        }
        if (holds & GAPS) add_gaps(r, &at, p, i);
    }
}

static bool is_live(const pl_buf *b, int64_t step)
{
    if (step < b->birth || step >= b->death) return false;
    for (int g = 0; g < b->wish->n_gaps; g++)
        if (b->wish->gap[g].from <= step && step < b->wish->gap[g].to) return false;
    return true;
}

static bool is_free(const problem *p, const int64_t offset[], int i, int64_t at)
{
    for (int k = 0; k < i; k++) {
        if (!p->buf[k].bytes || at >= offset[k] + p->buf[k].bytes ||
            offset[k] >= at + p->buf[i].bytes)
            continue;
        for (int64_t step = p->buf[i].birth; step < p->buf[i].death; step++)
            if (is_live(&p->buf[i], step) && is_live(&p->buf[k], step)) return false;
    }
    return true;
}

/* Every offset of every buffer, from the definition: lowers *best. */
static void try_all(const problem *p, int i, int64_t height, int64_t offset[], int64_t *best)
{
    if (i == p->n) {
        *best = height;
        return;
    }
    const pl_wish *w = p->buf[i].wish;
    int64_t align = w->align ? w->align : 1, from = w->is_fixed ? w->fixed : 0;
    for (int64_t at = from; at + p->buf[i].bytes < *best; at += align) {
        if (p->buf[i].bytes == 0 || is_free(p, offset, i, at)) {
            int64_t top = at + p->buf[i].bytes;
            offset[i] = at;
            try_all(p, i + 1, top > height ? top : height, offset, best);
        }
        if (w->is_fixed || p->buf[i].bytes == 0) break;
    }
}

static int64_t find_least(const problem *p)
{
    int64_t offset[MOST], best = TOP;
    try_all(p, 0, 0, offset, &best);
    return best;
}

static void compare(uint64_t seed, unsigned holds, unsigned off, const problem *p, int64_t least)
{
    pl_arena *a = pl_arena_new("test");
    pl_offsets l;
    pl_err err = { 0 };
    const pl_offsets_options o = { .effort = 1000000, .off = off, .keys = 1 };
    if (!pl_offsets_solve(p->n, p->buf, 1, INT64_MAX, &o, a, &l, &err) ||
        !pl_offsets_check(p->n, p->buf, 1, least, &l, &err))
        fail_msg("seed %d, kind %u, off %u: %s", (int)seed, holds, off, err.msg);
    if (l.height != least || !l.optimal)
        fail_msg("seed %d, kind %u, off %u: height %d, bound %d, brute force %d", (int)seed, holds,
                 off, (int)l.height, (int)l.bound, (int)least);
    pl_arena_free(a);
}

static void test_brute_force(void **state)
{
    (void)state;
    for (unsigned holds = 0; holds < 8; holds++)
        for (uint64_t seed = 0; seed < 400; seed++) {
            problem p;
            make(seed, holds, &p);
            compare(seed, holds, 0, &p, find_least(&p));
        }
}

static void test_switches(void **state)
{
    (void)state;
    for (unsigned holds = 0; holds < 8; holds++)
        for (uint64_t seed = 0; seed < 2; seed++) {
            problem p;
            make(1000 + seed, holds, &p);
            int64_t least = find_least(&p);
            for (unsigned off = 0; off <= PL_OFFSETS_ALL; off++)
                compare(1000 + seed, holds, off, &p, least);
        }
}

/* From the outcome alone: NONE below the optimum, FOUND at it. */
static void test_outcomes(void **state)
{
    (void)state;
    int above = 0;
    for (uint64_t seed = 0; seed < 600; seed++) {
        pl_arena *a = pl_arena_new("test");
        problem p;
        pl_boxes boxes;
        make(5000 + seed, seed % 8, &p);
        int64_t least = find_least(&p), offset[MOST] = { 0 }, nodes = 1000000;
        assert_true(pl_boxes_make(p.n, p.buf, 1, a, &boxes));
        if (boxes.bound > least) fail_msg("seed %d: bound above the optimum", (int)seed);
        pl_exact *x = pl_exact_new(&boxes, 0, nodes, a);
        assert_non_null(x);
        if (pl_exact_try(x, least, &nodes, offset) != PL_EXACT_FOUND)
            fail_msg("seed %d: not found at %d", (int)seed, (int)least);
        if (boxes.bound < least) {
            above++;
            if (pl_exact_try(x, least - 1, &nodes, offset) != PL_EXACT_NONE)
                fail_msg("seed %d: not refuted at %d", (int)seed, (int)least - 1);
        }
        pl_arena_free(a);
    }
    print_message("%d of 600 optima are above the bytes live at a step\n", above);
    assert_true(above > 5);
}

/* Out of nodes it knows nothing, and says so; more nodes never make it worse. */
static void test_effort(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 200; seed++) {
        pl_arena *a = pl_arena_new("test");
        problem p;
        make(9000 + seed, 0, &p);
        int64_t least = find_least(&p);
        for (int64_t effort = 0; effort < 12; effort++) {
            pl_offsets l, again;
            pl_err err = { 0 };
            const pl_offsets_options o = { .effort = effort, .keys = 1 };
            assert_true(pl_offsets_solve(p.n, p.buf, 1, INT64_MAX, &o, a, &l, &err));
            assert_true(pl_offsets_check(p.n, p.buf, 1, INT64_MAX, &l, &err));
            assert_true(l.bound <= least && l.height >= least && l.nodes <= effort);
            assert_true(pl_offsets_solve(p.n, p.buf, 1, INT64_MAX, &o, a, &again, &err));
            assert_memory_equal(l.offset, again.offset, (size_t)p.n * sizeof *l.offset);
        }
        pl_arena_free(a);
    }
}

/* A gap that keeps some bytes: no exact search, but a valid layout and a bound. */
static void test_windows(void **state)
{
    (void)state;
    static const pl_gap gap = { 2, 6, 4, 8 };
    static const pl_wish wish = { .n_gaps = 1, .gap = &gap };
    static const pl_buf buf[] = { { 0, 8, 10, &wish }, { 2, 6, 4, NULL }, { 3, 5, 2, NULL } };
    pl_arena *a = pl_arena_new("test");
    pl_offsets l;
    pl_err err = { 0 };
    const pl_offsets_options o = { .effort = 1000 };
    assert_true(pl_offsets_solve(3, buf, 1, INT64_MAX, &o, a, &l, &err));
    assert_true(pl_offsets_check(3, buf, 1, 10, &l, &err));
    assert_int_equal(l.height, 10);
    assert_true(l.optimal);
    l.offset[1] = 1;
    assert_false(pl_offsets_check(3, buf, 1, 10, &l, &err));
    pl_arena_free(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_brute_force), cmocka_unit_test(test_switches),
        cmocka_unit_test(test_outcomes),    cmocka_unit_test(test_effort),
        cmocka_unit_test(test_windows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
