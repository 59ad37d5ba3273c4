/* States of split plans: what the ranks of a random plan save is the whole, and loads under any
 * other plan. */
#include "train/state.h"

#include "backends/local/local.h"
#include "backends/ref/ref.h"
#include "base/rng.h"
#include "ops/lib/all.h"
#include "run/folder.h"
#include "data/init.h"

#include "support/ports.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

enum { N_STATES = 4, MAX_RANKS = 8, SEED = 3, ROUNDS = 40 };

static const pl_init initial = { .seed = SEED };

static const pl_backend *const backends[] = { &pl_backend_ref };
static const char *const dir = "saved";

/* -- random plans ------------------------------------------------------------------------------ */

static int64_t pick(pl_rng r, uint64_t *at, int64_t n)
{
    return (int64_t)pl_rng_below(r, (*at)++, (uint64_t)n);
}

static const pl_graph *make_graph(pl_arena *a, pl_rng r, uint64_t *at)
{
    static const pl_type types[] = { PL_F32, PL_BF16, PL_I64 };
    pl_builder b = pl_builder_new(a, &pl_ops_all, "states");
    for (int i = 0; i < N_STATES; i++) {
        pl_shape s = { (int)pick(r, at, 3) + (i == 0), { 0 } };
        for (int d = 0; d < s.rank; d++) s.dim[d] = 12 * (1 + pick(r, at, 3)) - pick(r, at, 2);
        pl_type t = types[pick(r, at, 3)];
        pl_value *v = pl_add_state(&b, pl_builder_fmt(&b, "w%d", i), t, s,
                                   pl_type_is_float(t) ? "normal std=1" : "ones", PL_WEIGHT);
        if (i % 2 && s.rank) pl_add_parts(&b, v, pl_builder_fmt(&b, "part.{}.of.w%d", i));
    }
    pl_add_state_of(&b, b.graph->values.at[0], PL_GRAD_SUM, "w0.grad", "zeros");
    pl_graph *g;
    pl_err err = { 0 };
    if (!pl_builder_done(&b, &g, &err)) fail_msg("%s", err.msg);
    return g;
}

/* Each axis splits a dimension, or one digit of it, or nothing. */
static pl_placement make_placement(const pl_mesh *m, const pl_shape *s, pl_rng r, uint64_t *at)
{
    pl_placement p = { 0 };
    for (int axis = 0; axis < m->n; axis++) {
        int d = (int)pick(r, at, s->rank + 1);
        if (d == s->rank) continue;
        pl_split x = { .dim = (int8_t)d };
        if (p.n && p.split[0].dim == d)
            x = p.split[0]; /* both axes split the same digit */
        else if (s->dim[d] % 12 == 0 && pick(r, at, 2))
            x.size = 4, x.unit = 3;
        x.axis = (int8_t)axis;
        pl_placement_add(&p, x);
    }
    return p;
}

/* The first state is split in any case; the last, a sum, waits for itself. */
static const pl_plan *make_plan(const pl_graph *g, pl_arena *a, int n_ranks, pl_rng r, uint64_t *at)
{
    pl_plan *p = pl_plan_single(g, a);
    pl_err err = { 0 };
    int first = n_ranks % 2 == 0 && pick(r, at, 2) ? 2 : n_ranks;
    p->mesh = (pl_mesh){ 2, { { .name = "a" }, { .name = "b" } } };
    p->mesh.axis[0].size = first, p->mesh.axis[1].size = n_ranks / first;
    for (int i = 0; i < N_STATES; i++)
        p->stored[i] = make_placement(&p->mesh, &g->values.at[i]->shape, r, at);
    p->stored[0] = (pl_placement){ 0 };
    pl_placement_split(&p->stored[0], 0, 0);
    p->stored[N_STATES] = (pl_placement){ .pending = 1 };
    if (!pl_plan_check(p, &err)) fail_msg("%s", err.msg);
    return p;
}

/* -- one rank ---------------------------------------------------------------------------------- */

typedef struct rank {
    const pl_plan *plan;
    pl_comm *comm;
    const char *to;   /* save initial values there, or       */
    const char *from; /* load, and compare with those */
    int64_t room;     /* of pl_state_gather           */
    pl_err err;
    bool ok;
    pthread_t thread;
} rank;

static bool compare(pl_exec *e, const pl_store *s, pl_err *err)
{
    for (int i = 0; i < s->n; i++) {
        const pl_port *p = &s->state[i];
        void *want = malloc((size_t)p->bytes + 1), *got = pl_exec_map(e, p, PL_READ);
        bool same = pl_init_fill(p, &initial, want, err);
        size_t n = (size_t)(pl_region_count(p->region) * pl_type_bytes(p->value->type));
        same = same && !memcmp(want, got, n);
        pl_exec_unmap(e, p, PL_READ, got);
        free(want);
        if (!same) return pl_err_set(err, PL_EMISMATCH, "'%s' is another", p->value->name);
    }
    return true;
}

static bool load(pl_exec *e, const pl_store *s, const char *from, pl_arena *a, pl_err *err)
{
    pl_checkpoint c;
    PL_TRY(pl_checkpoint_open(from, a, &c, err));
    bool ok = pl_state_load(e, s, &c, err) && compare(e, s, err);
    pl_checkpoint_free(&c);
    return ok;
}

static bool run(rank *r, pl_arena *a, pl_err *err)
{
    const pl_exec_options o = { 1, backends, { .n_threads = 1 }, .poison = true };
    const pl_manifest m = { .model = "states", .settings = "{}" };
    const pl_store *s = pl_store_new(r->plan, r->comm->rank, a);
    const pl_gather *g;
    pl_exec *e;
    PL_TRY(pl_state_gather(r->plan, s, r->comm->rank, r->room, a, &g, err));
    if (!g->n) return pl_err_set(err, PL_EINTERNAL, "no program");
    PL_TRY(pl_exec_new(&o, r->comm, g->n, g->program, a, &e, err));
    bool ok = r->from ? load(e, s, r->from, a, err)
                      : pl_state_init(e, s, &initial, true, err) &&
                            pl_state_save(e, g, 0, NULL, r->to, &m, (pl_keep){ 1, false }, err);
    pl_exec_free(e);
    return ok;
}

static void *run_rank(void *arg)
{
    rank *r = arg;
    pl_arena *a = pl_arena_new("rank");
    r->ok = run(r, a, &r->err);
    pl_arena_free(a);
    return NULL;
}

/* Rank 0's verdict; all have the same. */
static bool run_ranks(const pl_plan *p, const char *to, const char *from, int64_t room, pl_err *err)
{
    int n = pl_mesh_ranks(&p->mesh);
    pl_comm *comm[MAX_RANKS];
    rank r[MAX_RANKS];
    PL_TRY(pl_local_new(n, 30, comm, err));
    for (int i = 0; i < n; i++) {
        r[i] = (rank){ .plan = p, .comm = comm[i], .to = to, .from = from, .room = room };
        assert_int_equal(pthread_create(&r[i].thread, NULL, run_rank, &r[i]), 0);
    }
    for (int i = 0; i < n; i++) pthread_join(r[i].thread, NULL);
    for (int i = 0; i < n; i++) pl_comm_free(comm[i]);
    for (int i = 0; i < n; i++)
        if (!r[i].ok && !err->code) *err = r[i].err;
    for (int i = 0; i < n && to; i++) assert_int_equal(r[i].err.code, r[0].err.code);
    return !err->code;
}

/* -- tests ------------------------------------------------------------------------------------- */

/* Every tensor of the file is what one device would have drawn; sums are not in it. */
static void check_file(const pl_graph *g, pl_arena *a, uint64_t round)
{
    pl_checkpoint c;
    pl_err err = { 0 };
    if (!pl_checkpoint_open(dir, a, &c, &err)) fail_msg("round %d: %s", (int)round, err.msg);
    int n_saved = 0;
    for (int i = 0; i < N_STATES; i++) {
        const pl_value *v = g->values.at[i];
        const int n = v->parts ? (int)v->shape.dim[0] : 1;
        pl_port whole = port_of_whole(v);
        size_t bytes = (size_t)whole.bytes / (size_t)n;
        char *want = malloc((size_t)whole.bytes);
        if (!pl_init_fill(&whole, &initial, want, &err)) fail_msg("%s", err.msg);
        for (int k = 0; k < n; k++) {
            const char *name = v->parts ? pl_graph_part(a, v, k) : v->name;
            const pl_saved *t = pl_checkpoint_find(&c, name);
            if (!t) fail_msg("no '%s'", name);
            assert_int_equal(t->shape.rank, v->shape.rank - (v->parts != NULL));
            if (memcmp(want + (size_t)k * bytes, t->data, bytes))
                fail_msg("round %d: '%s' differs", (int)round, name);
        }
        n_saved += n;
        free(want);
    }
    assert_int_equal(c.n, n_saved);
    pl_checkpoint_free(&c);
}

static void clear(void)
{
    unlink("saved/step-00000000.json");
    unlink("saved/step-00000000.safetensors");
    unlink("saved/latest");
    assert_int_equal(rmdir(dir), 0); /* and nothing else was left in it */
}

/* With little room large states come in pieces. */
static void test_random_plans(void **state)
{
    static const int sizes[] = { 2, 3, 4, 6, 8 };
    static const int64_t rooms[] = { 0, 1, 300, 4000 };
    (void)state;
    for (uint64_t round = 0; round < ROUNDS; round++) {
        pl_arena *a = pl_arena_new("test");
        pl_rng r = pl_rng_at(round, pl_rng_name("plans"));
        pl_err err = { 0 };
        uint64_t at = 0;
        const pl_graph *g = make_graph(a, r, &at);
        const pl_plan *p = make_plan(g, a, sizes[pick(r, &at, 5)], r, &at);
        const pl_plan *q = make_plan(g, a, sizes[pick(r, &at, 5)], r, &at);
        bool ok = pl_folder_open(dir, &err) && run_ranks(p, dir, NULL, rooms[round % 4], &err);
        if (ok) check_file(g, a, round);
        ok = ok && run_ranks(q, NULL, dir, 0, &err);
        if (!ok) fail_msg("round %d: %s", (int)round, err.msg);
        clear();
        pl_arena_free(a);
    }
}

/* Where rank 0 cannot write, nobody waits for it: all ranks fail with its words. */
static void test_no_folder(void **state)
{
    (void)state;
    pl_arena *a = pl_arena_new("test");
    pl_rng r = pl_rng_at(1, 1);
    pl_err err = { 0 };
    uint64_t at = 0;
    const pl_graph *g = make_graph(a, r, &at);
    assert_false(run_ranks(make_plan(g, a, 4, r, &at), "no/such", NULL, 0, &err));
    assert_int_equal(err.code, PL_ERUN);
    assert_non_null(strstr(err.msg, "rank 0: saving step 0: no/such: cannot keep"));
    pl_arena_free(a);
}

/* A sum that nobody took is no state to save. */
static void test_pending(void **state)
{
    (void)state;
    pl_arena *a = pl_arena_new("test");
    pl_err err = { 0 };
    pl_builder b = pl_builder_new(a, &pl_ops_all, "states");
    pl_add_state(&b, "w", PL_F32, PL_SHAPE(6, 6), "zeros", PL_WEIGHT);
    pl_graph *g;
    if (!pl_builder_done(&b, &g, &err)) fail_msg("%s", err.msg);
    pl_plan *p = pl_plan_single(g, a);
    p->mesh = (pl_mesh){ 2, { { .name = "a", .size = 2 }, { .name = "b", .size = 2 } } };
    p->stored[0].pending = 2;
    pl_placement_split(&p->stored[0], 0, 0);
    assert_false(run_ranks(p, dir, NULL, 0, &err));
    assert_int_equal(err.code, PL_EUNSUPPORTED);
    assert_non_null(strstr(err.msg, "state 'w' waits for a sum"));
    pl_arena_free(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_random_plans),
        cmocka_unit_test(test_no_folder),
        cmocka_unit_test(test_pending),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
