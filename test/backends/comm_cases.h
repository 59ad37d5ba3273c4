/* comm_cases.h - what every transport must do, run by each rank; for test_local.c and
 * test_comm_mpi.c.
 *
 * A test program is one file, so these are static functions. They run outside cmocka's main thread:
 * failures come back as a pl_err. Values are small integers, so that sums are exact in every type
 * and every order, and each element is compared with one computed from the definition. */
#ifndef COMM_CASES_H
#define COMM_CASES_H
#include "base/rng.h"
#include "run/comm.h"
#include "run/request.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct job {
    pl_message m;
    pl_group *g;
    pl_request *r;
    int salt;
    bool done;
    unsigned char *block[2]; /* send, receive: guarded on both sides */
} job;

enum { GUARD = 64, GUARD_BYTE = 0xA5 };

/* Element i of what `rank` sends; with a sign where the type has one. */
static double value_of(pl_type t, int rank, int64_t i, int salt)
{
    return (double)((i * 7 + rank * 13 + salt * 5) % 15) - (t == PL_U8 ? 0 : 7);
}

static double combine(pl_monoid op, double a, double b)
{
    return op == PL_SUM ? a + b : (op == PL_MAX) == (a > b) ? a : b;
}

/* Element i of what I must receive. */
static double want_of(const job *j, int64_t i)
{
    const pl_group *g = j->g;
    const pl_message *m = &j->m;
    bool reduces = m->kind == PL_ALL_REDUCE || m->kind == PL_REDUCE_SCATTER;
    if (reduces) {
        if (m->kind == PL_REDUCE_SCATTER) i += g->me * m->count;
        double sum = value_of(m->type, g->rank[0], i, j->salt);
        for (int k = 1; k < g->n; k++)
            sum = combine(m->monoid, sum, value_of(m->type, g->rank[k], i, j->salt));
        return sum;
    }
    int from = m->kind == PL_BROADCAST || m->kind == PL_RECV ? m->peer : (int)(i / m->count);
    if (m->kind == PL_ALL_GATHER) i %= m->count;
    if (m->kind == PL_ALL_TO_ALL) i = g->me * m->count + i % m->count;
    return value_of(m->type, g->rank[from], i, j->salt);
}

static int64_t sent_elements(const job *j)
{
    bool blocks = j->m.kind == PL_REDUCE_SCATTER || j->m.kind == PL_ALL_TO_ALL;
    bool none = j->m.kind == PL_RECV || j->m.kind == PL_BARRIER ||
                (j->m.kind == PL_BROADCAST && j->m.peer != j->g->me);
    return none ? 0 : blocks ? j->g->n * j->m.count : j->m.count;
}

static int64_t received_elements(const job *j)
{
    bool blocks = j->m.kind == PL_ALL_GATHER || j->m.kind == PL_ALL_TO_ALL;
    bool none = j->m.kind == PL_SEND || j->m.kind == PL_BARRIER;
    return none ? 0 : blocks ? j->g->n * j->m.count : j->m.count;
}

static unsigned char *make_block(int64_t bytes)
{
    unsigned char *b = malloc((size_t)bytes + 2 * GUARD);
    if (!b) abort();
    memset(b, GUARD_BYTE, (size_t)bytes + 2 * GUARD);
    return b;
}

static bool guards_hold(const unsigned char *b, int64_t bytes)
{
    for (int i = 0; i < GUARD; i++)
        if (b[i] != GUARD_BYTE || b[GUARD + bytes + i] != GUARD_BYTE) return false;
    return true;
}

/* Buffers, filled; in place where the kind allows it and `in_place` asks for it. */
static job make_job(pl_group *g, pl_message m, int salt, bool in_place)
{
    job j = { .m = m, .g = g, .salt = salt };
    int64_t size = pl_type_bytes(m.type), out = sent_elements(&j), in = received_elements(&j);
    j.block[0] = make_block(out * size);
    j.block[1] = make_block(in * size);
    bool same = in_place && (m.kind == PL_ALL_REDUCE || m.kind == PL_BROADCAST);
    unsigned char *send = j.block[same ? 1 : 0] + GUARD;
    for (int64_t i = 0; i < out; i++)
        pl_type_put(m.type, send, i, value_of(m.type, g->rank[g->me], i, salt));
    j.m.send = send;
    j.m.recv = j.block[1] + GUARD;
    return j;
}

static bool check_job(const job *j, pl_err *err)
{
    int64_t size = pl_type_bytes(j->m.type), n = received_elements(j);
    char text[PL_REQUEST_TEXT];
    pl_request_text(&j->m, j->g, text);
    for (int64_t i = 0; i < n; i++) {
        double got = pl_type_get(j->m.type, j->m.recv, i), want = want_of(j, i);
        if (got == want) continue;
        return pl_err_set(err, PL_EMISMATCH, "%s: element %lld on rank %d is %g, not %g", text,
                          (long long)i, j->g->rank[j->g->me], got, want);
    }
    if (!guards_hold(j->block[0], sent_elements(j) * size) || !guards_hold(j->block[1], n * size))
        return pl_err_set(err, PL_EMISMATCH, "%s wrote outside its buffers", text);
    return true;
}

static void free_job(job *j)
{
    free(j->block[0]);
    free(j->block[1]);
}

/* Starts all, tests them in rounds, each beginning at another one, and compares. Frees the jobs. */
static bool run_jobs(pl_comm *c, int n, job jobs[], int first, pl_err *err)
{
    bool ok = true;
    for (int i = 0; i < n && ok; i++) ok = pl_comm_start(c, jobs[i].g, &jobs[i].m, &jobs[i].r, err);
    for (int left = ok ? n : 0; left && ok;) {
        for (int i = 0; i < n && ok; i++) {
            job *j = &jobs[(first + i) % n];
            if (j->done) continue;
            ok = pl_comm_test(c, j->r, &j->done, err);
            left -= j->done;
        }
        sched_yield();
    }
    for (int i = 0; i < n; i++) {
        ok = ok && check_job(&jobs[i], err);
        free_job(&jobs[i]);
    }
    return ok;
}

/* The groups a case may use: all ranks, the ranks of my parity, all ranks once more. */
enum { GROUPS = 3 };

static bool make_groups(pl_comm *c, pl_group *groups[GROUPS], pl_err *err)
{
    int n = 0, *ranks = malloc((size_t)c->size * sizeof *ranks);
    if (!ranks) abort();
    for (int r = c->rank % 2; r < c->size; r += 2) ranks[n++] = r;
    groups[0] = c->world;
    bool ok = pl_comm_group(c, n, ranks, &groups[1], err);
    for (int r = 0; r < c->size; r++) ranks[r] = r;
    ok = ok && pl_comm_group(c, c->size, ranks, &groups[2], err);
    free(ranks);
    return ok;
}

static const struct { pl_collective kind; pl_monoid monoid; } shapes[] = {
    { PL_ALL_REDUCE, PL_SUM },     { PL_ALL_REDUCE, PL_MAX },     { PL_ALL_REDUCE, PL_MIN },
    { PL_ALL_GATHER, PL_SUM },     { PL_REDUCE_SCATTER, PL_SUM }, { PL_REDUCE_SCATTER, PL_MAX },
    { PL_REDUCE_SCATTER, PL_MIN }, { PL_ALL_TO_ALL, PL_SUM },     { PL_BROADCAST, PL_SUM },
    { PL_SEND, PL_SUM },           { PL_BARRIER, PL_SUM },
};
enum { SHAPES = sizeof shapes / sizeof *shapes };

/* Adds the jobs of one message to `jobs`: a send brings the receive of a ring shifted by `peer`. */
static int add_jobs(job jobs[], pl_group *g, pl_message m, int salt, bool in_place)
{
    int shift = m.peer % g->n;
    m.peer = m.kind == PL_SEND ? (g->me + shift) % g->n : shift;
    m.label = m.kind == PL_BARRIER ? NULL : "case";
    jobs[0] = make_job(g, m, salt, in_place);
    if (m.kind != PL_SEND) return 1;
    m.kind = PL_RECV;
    m.peer = (g->me + g->n - shift) % g->n;
    jobs[1] = make_job(g, m, salt, in_place);
    return 2;
}

/* One kind and type: every count, in place and not, all under way at once. */
static bool run_shape(pl_comm *c, pl_group *g, int shape, pl_type type, bool large, pl_err *err)
{
    static const int64_t counts[] = { 0, 1, 7, 1000, 100003 };
    enum { COUNTS = sizeof counts / sizeof *counts };
    job jobs[4 * COUNTS];
    int n = 0;
    pl_message m = { .kind = shapes[shape].kind, .type = type, .monoid = shapes[shape].monoid,
                     .peer = 1 + (int)type };
    bool both = m.kind == PL_ALL_REDUCE || m.kind == PL_BROADCAST;
    for (int k = 0; k < COUNTS - !large; k++) {
        m.count = counts[k];
        n += add_jobs(jobs + n, g, m, n + shape, false);
        if (both) n += add_jobs(jobs + n, g, m, n + shape, true);
    }
    return run_jobs(c, n, jobs, 0, err);
}

/* Every kind, type and count with all ranks and with half of them; the largest count, whose checks
 * take long, with few ranks. */
static bool cases_table(pl_comm *c, pl_group *groups[GROUPS], pl_err *err)
{
    for (int s = 0; s < SHAPES; s++)
        for (int t = 0; t < PL_N_TYPES; t++) {
            PL_TRY(run_shape(c, groups[0], s, (pl_type)t, c->size <= 4, err));
            PL_TRY(run_shape(c, groups[1], s, (pl_type)t, false, err));
        }
    return true;
}

/* Messages drawn at random, up to twelve under way at once over several groups, tested by every
 * rank in its own order. */
static bool cases_mix(pl_comm *c, pl_group *groups[GROUPS], uint64_t seed, int rounds, pl_err *err)
{
    pl_rng rng = pl_rng_at(seed, pl_rng_name("messages"));
    uint64_t at = 0;
    for (int round = 0; round < rounds; round++) {
        job jobs[14];
        int n = 0, many = 1 + (int)pl_rng_below(rng, at++, 12);
        while (n < many) {
            uint64_t s = pl_rng_below(rng, at++, SHAPES);
            pl_message m = { .kind = shapes[s].kind, .monoid = shapes[s].monoid };
            m.type = (pl_type)pl_rng_below(rng, at++, PL_N_TYPES);
            uint64_t most = pl_rng_below(rng, at++, 8) ? 300 : 70000;
            m.count = (int64_t)pl_rng_below(rng, at++, most);
            m.peer = (int)pl_rng_below(rng, at++, 60);
            pl_group *g = groups[pl_rng_below(rng, at++, GROUPS)];
            n += add_jobs(jobs + n, g, m, (int)at, at % 2 == 0);
        }
        int first = (int)pl_rng_below(rng, at++ + (uint64_t)c->rank * 1000003, (uint64_t)n);
        if (!run_jobs(c, n, jobs, first, err))
            return pl_err_in(err, "seed %llu, round %d", (unsigned long long)seed, round);
    }
    return true;
}

/* More messages at once than a transport may keep slots for, and every rank waits for one message
 * at a time, odd ranks from the last to the first: nobody may depend on the order of the waits. */
static bool cases_many(pl_comm *c, pl_err *err)
{
    enum { MANY = 200 };
    job *jobs = malloc(2 * MANY * sizeof *jobs);
    if (!jobs) abort();
    int n = 0;
    bool ok = true;
    for (int i = 0; i < MANY; i++) {
        pl_message m = { .kind = i % 2 ? PL_SEND : PL_ALL_REDUCE, .type = PL_I64, .count = 5,
                         .peer = 1 };
        n += add_jobs(jobs + n, c->world, m, i, false);
    }
    for (int i = 0; i < n && ok; i++) ok = pl_comm_start(c, jobs[i].g, &jobs[i].m, &jobs[i].r, err);
    for (int i = 0; i < n; i++) {
        job *j = &jobs[c->rank % 2 ? n - 1 - i : i];
        for (; ok && !j->done; sched_yield()) ok = pl_comm_test(c, j->r, &j->done, err);
        ok = ok && check_job(j, err);
    }
    for (int i = 0; i < n; i++) free_job(&jobs[i]);
    free(jobs);
    return ok;
}

/* The same inputs, here not exact in f32, give the same bytes. */
static bool cases_twice(pl_comm *c, pl_err *err)
{
    enum { N = 5000 };
    static const pl_type types[] = { PL_F32, PL_BF16 };
    float send[N], got[2][N];
    pl_rng rng = pl_rng_at(7, (uint64_t)c->rank);
    for (int t = 0; t < 2; t++) {
        for (int64_t i = 0; i < N; i++)
            pl_type_put(types[t], send, i, pl_rng_normal(rng, (uint64_t)i));
        for (int k = 0; k < 2; k++) {
            pl_message m = { .kind = PL_ALL_REDUCE, .type = types[t], .count = N, .send = send,
                             .recv = got[k], .label = "twice" };
            PL_TRY(pl_comm_run(c, c->world, &m, err));
        }
        if (memcmp(got[0], got[1], (size_t)(N * pl_type_bytes(types[t]))))
            return pl_err_set(err, PL_EMISMATCH, "two sums of the same %s differ",
                              pl_type_name(types[t]));
    }
    return true;
}

/* The books after one message of each kind with 12 elements of f32 (48 bytes) in the world of n:
 * bytes received by an optimal algorithm, and the agreement on errors is not in them. */
static bool cases_books(pl_comm *c, pl_err *err)
{
    int64_t n = c->size, block = 48;
    const int64_t want[PL_N_COLLECTIVES] = {
        [PL_ALL_REDUCE] = 2 * (n - 1) * block / n, [PL_ALL_GATHER] = (n - 1) * block,
        [PL_REDUCE_SCATTER] = (n - 1) * block,     [PL_ALL_TO_ALL] = (n - 1) * block,
        [PL_BROADCAST] = c->rank == 1 % n ? 0 : block, [PL_RECV] = block,
    };
    pl_comm_count before = c->count;
    for (int k = 0; k < PL_N_COLLECTIVES; k++) {
        job jobs[2];
        pl_message m = { .kind = (pl_collective)k, .type = PL_F32, .count = 12, .peer = 1 };
        if (!pl_collective_is_message(m.kind)) continue;
        if (k == PL_RECV) continue; /* comes with the send */
        PL_TRY(run_jobs(c, add_jobs(jobs, c->world, m, k, false), jobs, 0, err));
    }
    PL_TRY(pl_comm_agree(c, err));
    for (int k = 0; k < PL_N_COLLECTIVES; k++) {
        if (!pl_collective_is_message((pl_collective)k)) continue;
        int64_t calls = c->count.calls[k] - before.calls[k];
        int64_t bytes = c->count.bytes[k] - before.bytes[k];
        if (calls != 1 || bytes != want[k])
            return pl_err_set(err, PL_EMISMATCH, "books: %s: %lld calls, %lld bytes; not 1, %lld",
                              pl_collective_name((pl_collective)k), (long long)calls,
                              (long long)bytes, (long long)want[k]);
    }
    return true;
}

/* All ranks leave with the worst code, and the words of the lowest rank that has it. */
static bool cases_agree(pl_comm *c, pl_err *err)
{
    int last = c->size - 1;
    for (int round = 0; round < 3; round++) {
        /* 0: nobody; 1: the last rank only; 2: all, and the worst is with rank 0 and the last. */
        pl_err mine = { 0 };
        char want[64] = "";
        if (round == 1 && c->rank == last) pl_err_set(&mine, PL_EINPUT, "no file");
        if (round == 1) snprintf(want, sizeof want, "rank %d: no file", last);
        if (round == 2)
            pl_err_set(&mine, c->rank % last == 0 ? PL_ERUN : PL_EUSAGE, "of %d", c->rank);
        if (round == 2) snprintf(want, sizeof want, "rank 0: of 0");
        int wish = 3 + c->rank, want_wish = round == 0 ? 3 + last : 0;
        bool ok = pl_comm_agree_wish(c, &wish, &mine);
        if (wish != want_wish)
            return pl_err_set(err, PL_EMISMATCH, "agree, round %d: wish %d, not %d", round, wish,
                              want_wish);
        pl_code code = round == 0 ? PL_OK : round == 1 ? PL_EINPUT : PL_ERUN;
        if (ok != (round == 0) || mine.code != code || strcmp(mine.msg, want))
            return pl_err_set(err, PL_EMISMATCH, "agree, round %d: code %d, '%s'; not %d, '%s'",
                              round, (int)mine.code, mine.msg, (int)code, want);
    }
    return true;
}

static bool cases_run(pl_comm *c, pl_err *err)
{
    pl_group *groups[GROUPS];
    PL_TRY(make_groups(c, groups, err));
    PL_TRY(cases_table(c, groups, err));
    PL_TRY(cases_mix(c, groups, 1, 40, err));
    PL_TRY(cases_mix(c, groups, 2, 40, err));
    PL_TRY(cases_many(c, err));
    PL_TRY(cases_twice(c, err));
    PL_TRY(cases_books(c, err));
    return c->size == 1 || cases_agree(c, err);
}

#endif
