/* Mistakes put into programs that are right: who sees each of them? The check of one program, the
 * check of all ranks together, or the numbers. What no check sees must give the same bits under
 * every schedule: then it was no mistake. */
#include "support/rounds.h"
#include "step_bugs.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static bool drop_message(site *s)
{
    s->at = find_step(s, is_message);
    if (s->at < 0) return false;
    drop_step(s);
    return true;
}

static bool drop_copy(site *s)
{
    s->at = find_step(s, is_copy);
    if (s->at < 0) return false;
    drop_step(s);
    return true;
}

/* A fill that stands for an empty share or a masked value; not one that clears. */
static bool is_needed_fill(const site *s, const pl_step *x)
{
    (void)s;
    return x->kind == PL_FILL && (!x->transfer || x->transfer->move.kind == PL_MASK);
}

static bool drop_fill(site *s)
{
    s->at = find_step(s, is_needed_fill);
    if (s->at < 0) return false;
    drop_step(s);
    return true;
}

static bool double_message(site *s)
{
    pl_program *p = s->p;
    s->at = find_step(s, is_message);
    if (s->at < 0) return false;
    pl_step *step = PL_NEW_N(s->arena, pl_step, p->n_steps + 1);
    memcpy(step, p->step, sizeof *step * (size_t)(s->at + 1));
    memcpy(step + s->at + 1, p->step + s->at, sizeof *step * (size_t)(p->n_steps - s->at));
    p->step = step;
    int number = 0;
    for (int i = 0; i <= s->at; i++) number += !pl_step_is_compute(&step[i]);
    p->n_steps++;
    p->n_messages++;
    p->message_bytes += step[s->at].bytes;
    step[s->at + 1].wait = number; /* it waits for the first */
    for (int i = s->at + 2; i < p->n_steps; i++)
        if (step[i].wait >= number) step[i].wait++;
    return true;
}

static bool wrong_axes(site *s)
{
    const pl_mesh *m = &s->p->plan->mesh;
    s->at = find_step(s, is_message);
    if (s->at < 0) return false;
    unsigned axes = step_of(s)->axes, other = 0;
    for (unsigned x = 1; x < 1u << m->n; x++)
        if (x != axes && m->axis[0].size > 1) other = x;
    step_of(s)->axes = other;
    return other != 0;
}

static bool is_send(const site *s, const pl_step *x)
{
    (void)s;
    return x->kind == PL_MESSAGE && x->collective == PL_SEND;
}

static bool swap_peers(site *s)
{
    int group[MAX_RANKS], me;
    s->at = find_step(s, is_send);
    if (s->at < 0) return false;
    pl_step *x = step_of(s);
    int n = pl_mesh_group(&s->p->plan->mesh, s->p->rank, x->axes, group, &me);
    x->peer = (x->peer + 1) % n;
    return true;
}

static bool is_exchange(const site *s, const pl_step *x)
{
    return is_message(s, x) && x->collective == PL_ALL_TO_ALL;
}

/* On all ranks: an all-gather where blocks are to be exchanged. */
static bool wrong_collective(site *s)
{
    s->at = find_step(s, is_exchange);
    if (s->at < 0) return false;
    for (int r = 0; r < s->n; r++) {
        pl_step *x = &s->program[r]->step[s->at];
        if (s->at < s->program[r]->n_steps && is_exchange(s, x)) x->collective = PL_ALL_GATHER;
    }
    return true;
}

static pl_copy *own_copies(const site *s)
{
    pl_step *x = step_of(s);
    pl_copy *c = PL_NEW_N(s->arena, pl_copy, x->n_copies);
    memcpy(c, x->copy, sizeof *c * (size_t)x->n_copies);
    x->copy = c;
    return c;
}

static bool wrong_offset(site *s)
{
    s->at = find_step(s, is_copy);
    if (s->at < 0) return false;
    pl_copy *c = own_copies(s);
    int64_t size = pl_type_bytes(step_of(s)->transfer->value->type);
    *(lot_below(s->lot, 2) ? &c->from_at : &c->to_at) += size;
    return true;
}

static bool has_loop(const site *s, const pl_step *x)
{
    return is_copy(s, x) && x->copy[0].n;
}

static bool wrong_stride(site *s)
{
    s->at = find_step(s, has_loop);
    if (s->at < 0) return false;
    pl_copy *c = own_copies(s);
    c->from[c->n - 1] += pl_type_bytes(step_of(s)->transfer->value->type);
    return true;
}

static bool short_loop(site *s)
{
    s->at = find_step(s, has_loop);
    if (s->at < 0) return false;
    own_copies(s)->count[0]--;
    return true;
}

/* Blocks of two members change places: in the list of copies, or in the loop over them. */
static bool is_unpack(const site *s, const pl_step *x)
{
    return is_copy(s, x) && x->from == PL_INCOMING &&
           (x->n_copies > 1 ? x->copy[1].bytes == x->copy[0].bytes && x->copy[1].n == x->copy[0].n
                            : x->copy[0].n > 0);
}

static bool wrong_blocks(site *s)
{
    s->at = find_step(s, is_unpack);
    if (s->at < 0) return false;
    pl_copy *c = own_copies(s);
    if (step_of(s)->n_copies > 1) {
        int64_t at = c[0].to_at;
        c[0].to_at = c[1].to_at;
        c[1].to_at = at;
    } else { /* last block first */
        c->to_at += (c->count[0] - 1) * c->to[0];
        c->to[0] = -c->to[0];
    }
    return true;
}

static bool is_split(const site *s, const pl_step *x)
{
    if (!is_kernel(s, x)) return false;
    for (int f = 0; f < x->share->node->sig->n_factors; f++)
        if (x->share->factor[f].n < x->share->node->sig->factor[f].size) return true;
    return false;
}

static bool wrong_share(site *s)
{
    s->at = find_step(s, is_split);
    if (s->at < 0) return false;
    pl_share *x = PL_NEW(s->arena, pl_share);
    *x = *step_of(s)->share;
    for (int f = 0; f < x->node->sig->n_factors; f++) {
        int64_t whole = x->node->sig->factor[f].size;
        if (x->factor[f].n == whole) continue;
        x->factor[f].lo = x->factor[f].lo ? x->factor[f].lo - 1 : whole - x->factor[f].n;
        break;
    }
    step_of(s)->share = x;
    return true;
}

static bool has_input(const site *s, const pl_step *x)
{
    return is_kernel(s, x) && x->n_in > 0 && x > s->p->step;
}

/* Reads what the step before made, instead of its own input. */
static bool stale_buffer(site *s)
{
    s->at = find_step(s, has_input);
    if (s->at < 1) return false;
    pl_step *x = step_of(s);
    const pl_step *before = x - 1;
    pl_slot *in = &x->in[lot_below(s->lot, x->n_in)];
    if (!before->n_out || (before->out[0].at == in->at && before->out[0].state == in->state))
        return false;
    *in = before->out[0];
    return true;
}

static bool combines(const site *s, const pl_step *x)
{
    return is_message(s, x) &&
           (x->collective == PL_ALL_REDUCE || x->collective == PL_REDUCE_SCATTER);
}

/* On all ranks. */
static bool wrong_monoid(site *s)
{
    s->at = find_step(s, combines);
    if (s->at < 0) return false;
    int number = 0;
    for (int i = 0; i < s->at; i++) number += !pl_step_is_compute(&s->p->step[i]);
    for (int r = 0; r < s->n; r++)
        for (int i = 0, k = 0; i < s->program[r]->n_steps; i++) {
            pl_step *x = &s->program[r]->step[i];
            if (!pl_step_is_compute(x) && k++ == number)
                x->monoid = x->monoid == PL_SUM ? PL_MAX : PL_SUM;
        }
    return true;
}

static bool wrong_fill(site *s)
{
    s->at = find_step(s, is_needed_fill);
    if (s->at < 0) return false;
    step_of(s)->monoid = step_of(s)->monoid == PL_SUM ? PL_MAX : PL_SUM;
    return true;
}

static bool is_long(const site *s, const pl_step *x)
{
    return is_message(s, x) && x->count > 1;
}

static bool small_count(site *s)
{
    s->at = find_step(s, is_long);
    if (s->at < 0) return false;
    step_of(s)->count--;
    return true;
}

/* The count and the transfer agree, on all ranks: too small for the blocks. */
static bool small_block(site *s)
{
    int n;
    s->at = find_step(s, is_long);
    if (s->at < 0 || !step_of(s)->transfer) return false;
    for (int r = 0; r < s->n; r++)
        for (int i = 0; i < s->program[r]->n_steps; i++) {
            pl_step *x = &s->program[r]->step[i];
            if (x->transfer == NULL || x->transfer->value != step_of(s)->transfer->value) continue;
            pl_transfer *t = PL_NEW(s->arena, pl_transfer);
            *t = *x->transfer;
            t->move.block--;
            x->transfer = t;
            if (x->kind != PL_MESSAGE) continue;
            s->program[r]->message_bytes -= x->bytes;
            x->count--;
            n = pl_move_group(&s->p->plan->mesh, r, x->axes, &(int){ 0 });
            x->bytes = x->collective == PL_SEND
                           ? 0
                           : pl_move_volume(t->move.kind, n, x->count, pl_type_bytes(x->type));
            s->program[r]->message_bytes += x->bytes;
        }
    return true;
}

static bool waits(const site *s, const pl_step *x)
{
    (void)s;
    return x->wait > 0 && (x == s->p->step || x[-1].wait < x->wait);
}

static bool small_wait(site *s)
{
    s->at = find_step(s, waits);
    if (s->at < 0) return false;
    int wait = step_of(s)->wait, less = wait - 1;
    for (int i = s->at; i < s->p->n_steps && s->p->step[i].wait == wait; i++)
        s->p->step[i].wait = less;
    return true;
}

static bool small_after(site *s)
{
    s->at = find_step(s, is_message);
    if (s->at < 0 || !step_of(s)->after) return false;
    int after = step_of(s)->after, less = after - 1;
    for (int i = s->at; i < s->p->n_steps; i++)
        if (!pl_step_is_compute(&s->p->step[i]) && s->p->step[i].after == after)
            s->p->step[i].after = less;
    return true;
}

/* Two messages in a row change places on one rank. */
static bool swap_messages(site *s)
{
    s->at = find_step(s, is_message);
    if (s->at < 0 || s->at + 1 >= s->p->n_steps || !is_message(s, step_of(s) + 1)) return false;
    pl_step *x = step_of(s), y = x[0];
    x[0] = x[1], x[1] = y;
    if (x[0].wait > x[1].wait) x[0].wait = x[1].wait;
    return true;
}

/* A result lies 64 bytes beside its place. */
static bool wrong_output(site *s)
{
    s->at = find_step(s, has_input);
    if (s->at < 0) return false;
    step_of(s)->out[0].at += lot_below(s->lot, 2) ? 64 : -64;
    return true;
}

static bool is_mask_copy(const site *s, const pl_step *x)
{
    return is_copy(s, x) && x->transfer->move.kind == PL_MASK;
}

/* Another rank than the first keeps the values as well: the sum has them twice. */
static bool unmasked(site *s)
{
    const pl_program *first = s->program[0];
    for (int i = 0; i < first->n_steps; i++) {
        const pl_step *x = &first->step[i];
        if (!is_mask_copy(s, x)) continue;
        for (int k = 0; k < s->p->n_steps; k++) {
            pl_step *y = &s->p->step[k];
            if (y->kind != PL_FILL || !y->transfer || y->transfer->value != x->transfer->value ||
                y->transfer->move.kind != PL_MASK)
                continue;
            pl_step fill = *y;
            *y = *x;
            y->wait = fill.wait, y->transfer = fill.transfer;
            return true;
        }
    }
    return false;
}

typedef struct bug {
    const char *name;
    bool (*put)(site *s);
    bool harmless; /* there are sites where nothing depends on it */
} bug;

static const bug bugs[] = {
    { "a message is missing on one rank", drop_message, true },
    { "a message is done twice on one rank", double_message, false },
    { "another group", wrong_axes, false },
    { "sent to another peer", swap_peers, false },
    { "another collective, on all ranks", wrong_collective, false },
    { "a copy starts an element later", wrong_offset, false },
    { "a copy with another stride", wrong_stride, false },
    { "a copy ends a round early", short_loop, false },
    { "blocks in another order of ranks", wrong_blocks, false },
    { "a kernel of another share", wrong_share, false },
    { "a kernel reads what the step before made", stale_buffer, false },
    { "a result 64 bytes beside its place", wrong_output, true },
    { "a fill is missing", drop_fill, true },
    { "a copy is missing", drop_copy, true },
    { "another monoid, on all ranks", wrong_monoid, false },
    { "a fill for another monoid", wrong_fill, true },
    { "one element less in a message", small_count, false },
    { "room for one element less in blocks, on all ranks", small_block, true },
    { "waits for one message less", small_wait, true },
    { "starts one compute step early", small_after, true },
    { "two messages in another order on one rank", swap_messages, true },
    { "a masked rank keeps the values too", unmasked, false },
    { "another root of a broadcast", wrong_root, false },
    { "another root of a broadcast, on all ranks", wrong_root_everywhere, false },
    { "a step of a node, its copy or its fold is missing", drop_piece, true },
    { "a step is folded in twice", double_fold, false },
    { "a fold of another monoid", wrong_fold, false },
    { "another step of a node", wrong_step, false },
    { "a step reads the block of the one before", stale_block, false },
};
enum { N_BUGS = sizeof bugs / sizeof *bugs };

typedef struct tally {
    int tried, check, ranks, numbers, harmless;
} tally;

/* -- trying ------------------------------------------------------------------------------------ */

/* Do the broken programs, which no check refuses, give the same bits as the right ones? */
static bool same_numbers(const trial *t, pl_program *const broken[], const ranks *truth)
{
    bool same = true;
    for (uint64_t k = 0; k < 8 && same; k++) {
        ranks r;
        same = trial_run(t, broken, k < 2 ? (schedule)k : BY_LOT, k, &r) && ranks_same(truth, &r);
        ranks_free(&r);
    }
    return same;
}

static pl_program *copy_program(const pl_program *p, pl_arena *a)
{
    pl_program *q = PL_NEW(a, pl_program);
    *q = *p;
    q->step = PL_NEW_N(a, pl_step, p->n_steps + 1);
    memcpy(q->step, p->step, sizeof *q->step * (size_t)p->n_steps);
    return q;
}

static void try_bug(trial *t, pl_program *const right[], int b, uint64_t seed, const ranks *truth,
                    tally *sum)
{
    pl_program *broken[MAX_RANKS];
    const pl_program *p[MAX_RANKS];
    pl_err err = { 0 };
    lot l = { .rng = pl_rng_at(seed, 50 + (uint64_t)b) };
    for (int i = 0; i < right[0]->n_ranks; i++) broken[i] = copy_program(right[i], t->arena);
    site s = { .arena = t->arena, .program = broken, .n = broken[0]->n_ranks, .lot = &l };
    s.p = broken[lot_below(&l, s.n)];
    if (!s.p->n_steps) return;
    s.at = lot_below(&l, s.p->n_steps);
    if (!bugs[b].put(&s)) return;
    sum->tried++;
    bool alone = true;
    for (int i = 0; i < s.n; i++) {
        pl_err why = { 0 };
        p[i] = broken[i];
        alone &= pl_program_check(broken[i], &why);
    }
    if (!alone)
        sum->check++;
    else if (!pl_program_check_ranks(s.n, p, &err))
        sum->ranks++;
    else if (!same_numbers(t, broken, truth))
        sum->numbers++;
    else
        sum->harmless++;
}

static void try_bugs(uint64_t seed, tally sum[])
{
    static const int meshes[][4] = { { 2 }, { 4 }, { 3 }, { 2, 2 }, { 2, 3 }, { 2, 2, 2 }, { 8 } };
    pl_arena *a = pl_arena_new("test");
    pl_mesh m = mesh_of(meshes[seed % (sizeof meshes / sizeof *meshes)]);
    pl_graph *g = seed % 5 == 0 ? make_tied(a, 7) : make_random(a, seed);
    trial t = trial_new(g, seed, a);
    pl_lower_options o = { .bucket_bytes = 1 + (int64_t)(seed % 2) * 100,
                           .step_bytes = (int64_t)(seed / 2 % 2) };
    pl_program *right[MAX_RANKS];
    pl_err err = { 0 };
    ranks truth;
    t.plan = plan_by_lot(g, &m, seed, 1 + (int)(seed % 3), a);
    bool ok = trial_lower(&t, &o, right, &err);
    if (!ok) print_error("seed %d: %s\n", (int)seed, err.msg);
    assert_true(ok && trial_run(&t, right, AS_LISTED, 0, &truth));
    for (int b = 0; b < N_BUGS; b++) try_bug(&t, right, b, seed, &truth, &sum[b]);
    ranks_free(&truth);
    trial_free(&t);
    pl_arena_free(a);
}

static void test_bugs(void **state)
{
    tally sum[N_BUGS] = { 0 };
    bool all = true;
    (void)state;
    for (uint64_t seed = 0; seed < (PL_SANITIZED ? 60 : 150); seed++) try_bugs(seed, sum);
    print_message("%-52s %6s %6s %6s %8s %9s\n", "", "tried", "check", "ranks", "numbers",
                  "harmless");
    for (int b = 0; b < N_BUGS; b++) {
        const tally *x = &sum[b];
        print_message("%-52s %6d %6d %6d %8d %9d\n", bugs[b].name, x->tried, x->check, x->ranks,
                      x->numbers, x->harmless);
        all &= x->check + x->ranks > 0 && x->numbers == 0 && (bugs[b].harmless || !x->harmless);
    }
    assert_true(all);
}

/* -- together ---------------------------------------------------------------------------------- */

/* Reductions, each of one element, over the axes of `axes`; after the first each waits for the one
 * before when `in_turn`. */
static pl_program *make_messages(const pl_plan *plan, int rank, int n, const unsigned axes[],
                                 bool in_turn, pl_arena *a)
{
    pl_program *p = PL_NEW(a, pl_program);
    *p = (pl_program){ .plan = plan, .rank = rank, .n_ranks = pl_mesh_ranks(&plan->mesh) };
    p->n_steps = p->n_messages = n;
    p->step = PL_NEW_N(a, pl_step, n);
    for (int i = 0; i < n; i++)
        p->step[i] = (pl_step){ .kind = PL_MESSAGE,
                                .collective = PL_ALL_REDUCE,
                                .label = axes[i] == 1 ? "rows" : "columns",
                                .n_in = 1,
                                .n_out = 1,
                                .count = 1,
                                .axes = axes[i],
                                .wait = in_turn ? i : 0 };
    return p;
}

static void expect_ranks(int n, const pl_program *const p[], const char *first, const char *second)
{
    pl_err err = { 0 };
    bool ok = pl_program_check_ranks(n, p, &err);
    if (ok || !strstr(err.msg, first) || !strstr(err.msg, second))
        print_error("wanted '%s' and '%s': %s\n", first, second, err.msg);
    assert_false(ok);
    assert_int_equal(err.code, PL_EMISMATCH);
    assert_non_null(strstr(err.msg, first));
    assert_non_null(strstr(err.msg, second));
}

/* Rows and columns of a 2 x 2 mesh, on every other rank the other way round: all groups agree, yet
 * when each message waits for the one before they all wait for each other. */
static void test_deadlock(void **state)
{
    pl_arena *a = pl_arena_new("test");
    pl_plan plan = { .mesh = mesh_of((int[]){ 2, 2, 0 }) };
    const unsigned rows_first[] = { 1, 2 }, columns_first[] = { 2, 1 };
    const pl_program *p[4];
    (void)state;
    for (int in_turn = 0; in_turn < 2; in_turn++) {
        pl_err err = { 0 };
        for (int r = 0; r < 4; r++)
            p[r] = make_messages(&plan, r, 2, r == 0 || r == 3 ? rows_first : columns_first,
                                 in_turn, a);
        if (in_turn)
            expect_ranks(4, p, "the ranks wait for ever", "rank 0");
        else
            assert_true(pl_program_check_ranks(4, p, &err));
    }
    pl_arena_free(a);
}

static void test_ends_differ(void **state)
{
    pl_arena *a = pl_arena_new("test");
    pl_plan plan = { .mesh = mesh_of((int[]){ 2, 0 }) };
    const unsigned rows[] = { 1, 1 };
    (void)state;
    pl_program *q = make_messages(&plan, 1, 2, rows, false, a);
    pl_program *first = make_messages(&plan, 0, 2, rows, false, a);
    const pl_program *p[] = { first, q };
    q->n_steps = 1;
    expect_ranks(2, p, "rank 0 step 1 'rows'", "rank 1 has no such");
    q->n_steps = 2;
    q->step[1].count = 2;
    expect_ranks(2, p, "rank 1 step 1 'rows'", "different counts");
    q->step[1].count = 1;
    q->step[0].monoid = PL_MAX;
    expect_ranks(2, p, "rank 1 step 0 'rows'", "different monoids");
    q->step[0].monoid = PL_SUM;
    q->step[1].type = PL_BF16;
    expect_ranks(2, p, "of 1 bf16", "different types");
    q->step[1].type = PL_F32;
    q->step[1].label = "columns";
    expect_ranks(2, p, "'columns'", "different tensors");
    q->step[1].label = "rows";
    q->step[0].collective = PL_ALL_GATHER;
    expect_ranks(2, p, "all-gather", "different collectives");
    q->step[0].collective = first->step[0].collective = PL_BROADCAST;
    q->step[0].peer = 1;
    expect_ranks(2, p, "broadcast", "different roots");
    first->step[0].collective = PL_ALL_REDUCE;
    q->step[0].collective = PL_SEND;
    q->step[0].peer = 0;
    expect_ranks(2, p, "rank 0 step 1 'rows'", "rank 1 has no such");
    first->step[0].collective = PL_SEND; /* to itself; both to rank 0 */
    expect_ranks(2, p, "(send of 1 f32 over a) is number 0", "rank 0 has no such");
    q->step[0].peer = 2;
    expect_ranks(2, p, "peer 2 of 2", "rank 1");
    q->rank = 0;
    expect_ranks(2, p, "program 1 of 2", "rank 0 of 2");
    pl_arena_free(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bugs),
        cmocka_unit_test(test_deadlock),
        cmocka_unit_test(test_ends_differ),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
