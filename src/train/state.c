/* States of a device: first values, loading, and saving. Read pl_state_gather(): programs that
 * bring the parts of split states to rank 0, and pl_state_save(), which runs them and writes. */
#include "train/state.h"

#include "data/fill.h"
#include "plan/stages.h"
#include "train/optim.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { ALIGN = 64 };

bool pl_state_init(pl_exec *exec, const pl_store *store, const pl_init *from, bool caches,
                   pl_err *err)
{
    bool ok = true;
    for (int i = 0; i < store->n && ok; i++) {
        if (store->state[i].value->rows && !caches) continue;
        void *to = pl_exec_map(exec, &store->state[i], PL_WRITE);
        ok = !to || pl_init_fill(&store->state[i], from, to, err);
        pl_exec_unmap(exec, &store->state[i], PL_WRITE, to);
    }
    return ok;
}

void pl_state_clear(pl_exec *exec, const pl_store *store)
{
    for (int i = 0; i < store->n; i++)
        if (store->state[i].value->kind == PL_GRAD_SUM) pl_exec_zero(exec, &store->state[i]);
}

/* How many tensors of a checkpoint a state is, and which: the rows of one that files have row by
 * row (pl_value.parts). */
static int64_t n_parts(const pl_value *v)
{
    return v->parts ? v->shape.dim[0] : 1;
}

bool pl_state_is_saved(const pl_value *state)
{
    return state->kind != PL_GRAD_SUM && !pl_graph_is_copy(state);
}

bool pl_state_is_first(const pl_plan *plan, const pl_port *port, int rank)
{
    unsigned split = pl_placement_axes(&port->where);
    const pl_stages *s = plan->stages;
    if (s && s->home[port->value->id] != PL_EVERYWHERE)
        split |= 1u << s->axis; /* others hold nothing of it */
    for (int a = 0; a < plan->mesh.n; a++)
        if (!(split >> a & 1) && pl_mesh_coord(&plan->mesh, rank, a)) return false;
    return true;
}

/* As files have it: of masters by the names of their weights, of caches the whole tables. */
static pl_value saved_as(const pl_value *state)
{
    pl_value v = *pl_graph_known(state);
    v.type = pl_graph_is_copy(state) ? PL_F32 : state->type;
    v.shape = pl_graph_whole(state);
    return v;
}

static pl_saved part_of(const pl_value *value, int64_t i, const void *data, pl_arena *arena)
{
    pl_saved t = { value->name, value->type, value->shape, data };
    if (!value->parts) return t;
    t.name = pl_graph_part(arena, value, i);
    t.shape.rank--;
    for (int k = 0; k < t.shape.rank; k++) t.shape.dim[k] = value->shape.dim[k + 1];
    t.data = (const char *)data + i * pl_shape_count(&t.shape) * pl_type_bytes(value->type);
    return t;
}

/* A state of a checkpoint as a whole: its rows lie one after another there. NULL: they do not, or
 * some are missing. */
static const pl_saved *find_saved(const pl_checkpoint *checkpoint, const pl_value *value,
                                  pl_arena *arena)
{
    if (!value->parts) return pl_checkpoint_find(checkpoint, value->name);
    const pl_saved *first = pl_checkpoint_find(checkpoint, pl_graph_part(arena, value, 0));
    for (int64_t i = 0; first && i < n_parts(value); i++) {
        const pl_saved want = part_of(value, i, first->data, arena),
                       *t = pl_checkpoint_find(checkpoint, want.name);
        if (!t || t->type != want.type || !pl_shape_same(&t->shape, &want.shape)) return t;
        if (t->data != want.data) return NULL;
    }
    pl_saved *whole = PL_NEW(arena, pl_saved);
    if (first) *whole = (pl_saved){ value->name, value->type, value->shape, first->data };
    return first ? whole : NULL;
}

static bool fits(const pl_value *v, const pl_saved *t)
{
    return t && t->type == v->type && pl_shape_same(&t->shape, &v->shape);
}

static void add_problem(const pl_value *v, const pl_saved *saved, pl_arena *tmp, pl_text *problems)
{
    pl_text_add(problems, "%s'%s' is %s here, %s there", problems->n ? "; " : "", v->name,
                pl_shape_text(tmp, v->type, &v->shape),
                saved ? pl_shape_text(tmp, saved->type, &saved->shape) : "missing");
}

void pl_state_take(const pl_port *p, const void *whole, void *to)
{
    const pl_value as = saved_as(p->value);
    if (as.type == p->value->type) {
        pl_port_take(p, whole, to);
        return;
    }
    const pl_tensor master = pl_tensor_of(as.type, &as.shape, whole);
    pl_fill_stack(p, &(pl_stack){ 1, &master }, to);
}

bool pl_state_load(pl_exec *exec, const pl_store *store, const pl_checkpoint *checkpoint,
                   pl_err *err)
{
    enum { MOST = 4 }; /* problems that are told */
    pl_arena *tmp = pl_arena_new("state load");
    pl_text problems = { .arena = tmp };
    int n = 0;
    for (int i = 0; i < store->n; i++) {
        const pl_port *p = &store->state[i];
        if (p->value->kind == PL_GRAD_SUM) continue;
        const pl_value as = saved_as(p->value);
        const pl_saved *t = find_saved(checkpoint, &as, tmp);
        if (!fits(&as, t) && n++ < MOST) add_problem(&as, t, tmp, &problems);
        void *to = n || p->value->rows ? NULL : pl_exec_map(exec, p, PL_WRITE);
        if (to) pl_state_take(p, t->data, to);
        pl_exec_unmap(exec, p, PL_WRITE, to);
    }
    if (n > MOST) pl_text_add(&problems, "; and %d more", n - MOST);
    bool ok = !n || pl_err_set(err, PL_EINPUT, "the checkpoint is of another model: %s",
                               pl_text_get(&problems));
    pl_arena_free(tmp);
    return ok;
}

/* -- programs that gather ---------------------------------------------------------------------- */

typedef struct gathering {
    const pl_plan *plan;
    const pl_store *store;
    int rank;
    pl_arena *out;
    struct {
        int n, cap;
        pl_step *at;
    } steps;
    struct {
        int n, cap;
        pl_port *at;
    } wholes;
    int n_messages;
    int64_t whole_bytes, part_bytes; /* of work: wholes one after another, then room for a part */
} gathering;

static int64_t round_up(int64_t n)
{
    return (n + ALIGN - 1) / ALIGN * ALIGN;
}

static bool is_split(const gathering *g, const pl_port *p)
{
    pl_placement x = pl_placement_normal(&p->where, &g->plan->mesh, &p->value->shape);
    const bool whole = !x.n && pl_plan_holds(g->plan, p->value, 0);
    return !whole && pl_state_is_saved(p->value) && !p->value->rows;
}

static pl_slot part_slot(const gathering *g)
{
    return (pl_slot){ .at = g->whole_bytes };
}

static void add_message(gathering *g, const pl_port *port, int peer, int64_t count)
{
    bool sends = g->rank != 0;
    pl_step s = { .kind = PL_MESSAGE,
                  .label = port->value->name,
                  .type = port->value->type,
                  .collective = sends ? PL_SEND : PL_RECV,
                  .axes = (1u << g->plan->mesh.n) - 1,
                  .peer = peer,
                  .count = count };
    if (sends) {
        s.n_in = 1, s.in[0] = port->slot;
    } else {
        s.n_out = 1, s.out[0] = part_slot(g);
        s.after = g->steps.n - g->n_messages; /* the part before has been copied */
        s.bytes = count * pl_type_bytes(port->value->type);
    }
    g->n_messages++;
    PL_PUSH(g->out, &g->steps, s);
}

/* The part of rank `from` goes where it belongs in the whole, which starts at `at`. */
static bool add_copy(gathering *g, const pl_port *port, const pl_region *part, int from, int64_t at,
                     pl_err *err)
{
    const pl_region whole =
        pl_region_of(&(pl_placement){ 0 }, &g->plan->mesh, &port->value->shape, 0);
    pl_copy *c = PL_NEW(g->out, pl_copy);
    if (!pl_region_copy(part, &whole, pl_type_bytes(port->value->type), c))
        return pl_err_set(err, PL_EUNSUPPORTED,
                          "state '%s': its parts do not lie in the whole in %d loops or fewer",
                          port->value->name, PL_COPY_LOOPS);
    pl_step s = { .kind = PL_COPY,
                  .label = port->value->name,
                  .n_in = 1,
                  .n_out = 1,
                  .in = { from ? part_slot(g) : port->slot },
                  .out = { { .at = at } },
                  .wait = g->n_messages,
                  .type = port->value->type,
                  .n_copies = 1,
                  .copy = c };
    PL_PUSH(g->out, &g->steps, s);
    return true;
}

/* `all`: every rank sends, if only nothing: ranks make the group of their messages together, so
 * each program has a message of each rank. */
static bool gather_state(gathering *g, const pl_port *port, int64_t at, bool all, pl_err *err)
{
    const pl_mesh *m = &g->plan->mesh;
    if (port->where.pending)
        return pl_err_set(err, PL_EUNSUPPORTED, "state '%s' waits for a sum: it cannot be saved",
                          port->value->name);
    for (int r = 0, n = pl_mesh_ranks(m); r < n; r++) {
        pl_region part = pl_plan_region(g->plan, port->value, r);
        int64_t count = pl_state_is_first(g->plan, port, r) ? pl_region_count(&part) : 0;
        if (r && (count || all) && (g->rank == 0 || g->rank == r))
            add_message(g, port, g->rank ? 0 : r, count);
        if (count && g->rank == 0) PL_TRY(add_copy(g, port, &part, r, at, err));
    }
    return true;
}

/* Program k: a place for each of its wholes, and the messages and copies that fill them. */
static bool make_program(gathering *g, const int *by, int k, const pl_program **out, pl_err *err)
{
    gathering x = { g->plan, g->store, g->rank, g->out };
    for (int i = 0; i < x.store->n; i++) {
        const pl_port *p = &x.store->state[i];
        if (by[i] != k) continue;
        pl_port whole = { .value = p->value, .shape = p->value->shape };
        whole.region = pl_region_new(&whole.where, &x.plan->mesh, &whole.shape, 0, x.out);
        whole.slot.at = x.whole_bytes;
        whole.bytes = pl_value_bytes(p->value);
        PL_PUSH(x.out, &x.wholes, whole);
        x.whole_bytes += round_up(whole.bytes);
        const int64_t room = pl_placement_room(&p->where, &x.plan->mesh, &p->value->shape) *
                             pl_type_bytes(p->value->type);
        if (room > x.part_bytes) x.part_bytes = room;
    }
    for (int i = 0, n = 0; i < x.store->n; i++) {
        if (by[i] != k) continue;
        PL_TRY(gather_state(&x, &x.store->state[i], x.wholes.at[n].slot.at, n == 0, err));
        n++;
    }
    pl_program *p = PL_NEW(x.out, pl_program);
    *p = (pl_program){ .plan = x.plan,
                       .store = x.store,
                       .rank = x.rank,
                       .n_ranks = pl_mesh_ranks(&x.plan->mesh),
                       .n_steps = x.steps.n,
                       .n_compute = x.steps.n - x.n_messages,
                       .n_messages = x.n_messages,
                       .step = x.steps.at };
    *out = p;
    if (x.rank) return true;
    p->n_outputs = x.wholes.n, p->output = x.wholes.at;
    p->work_bytes = p->work_bound = x.whole_bytes + round_up(x.part_bytes);
    for (int i = 0; i < p->n_steps; i++) p->message_bytes += p->step[i].bytes;
    return true;
}

/* Shares the split states out to programs, in order; returns how many programs. */
static int share_out(const gathering *g, int by[])
{
    int64_t room = 0, used = 0;
    int n = 0;
    for (int i = 0; i < g->store->n; i++) {
        const pl_port *p = &g->store->state[i];
        by[i] = is_split(g, p) ? 0 : -1;
        if (!by[i] && pl_value_bytes(p->value) > room) room = pl_value_bytes(p->value);
    }
    for (int i = 0; i < g->store->n; i++) {
        if (by[i] < 0) continue;
        int64_t bytes = round_up(pl_value_bytes(g->store->state[i].value));
        if (!n || used + bytes > round_up(room)) n++, used = 0;
        used += bytes;
        by[i] = n - 1;
    }
    return n;
}

bool pl_state_gather(const pl_plan *plan, const pl_store *store, int rank, pl_arena *out,
                     const pl_gather **gather, pl_err *err)
{
    gathering g = { .plan = plan, .store = store, .rank = rank, .out = out };
    int *by = PL_NEW_N(out, int, store->n + 1);
    pl_gather *x = PL_NEW(out, pl_gather);
    *x = (pl_gather){ .store = store, .rank = rank, .n = share_out(&g, by), .by = by };
    x->program = PL_NEW_N(out, const pl_program *, x->n + 1);
    *gather = x;
    for (int k = 0; k < x->n; k++) PL_TRY(make_program(&g, by, k, &x->program[k], err));
    return true;
}

/* -- saving ------------------------------------------------------------------------------------ */

/* Where gathered tensors wait for the checkpoint to be written: pages of a file, which the system
 * may write back, not memory that it has to keep. */
typedef struct spool {
    char *map;
    size_t bytes, used;
} spool;

/* A file that is gone when it is closed, whatever happens. */
static int open_nameless(const char *dir, pl_arena *tmp)
{
    int fd = open(dir, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    if (fd >= 0 || (errno != EOPNOTSUPP && errno != EISDIR)) return fd;
    char *name = pl_arena_fmt(tmp, "%s/gather-XXXXXX", dir);
    fd = mkstemp(name);
    if (fd >= 0) unlink(name);
    return fd;
}

/* The room is taken at once: a full disk is an error here, not a signal later. */
static bool open_spool(spool *s, const char *dir, pl_arena *tmp, pl_err *err)
{
    int fd = open_nameless(dir, tmp), rc = fd < 0 ? errno : 0;
    if (!rc) rc = posix_fallocate(fd, 0, (off_t)s->bytes);
    void *p = MAP_FAILED;
    if (!rc) {
        p = mmap(NULL, s->bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        if (p == MAP_FAILED) rc = errno;
    }
    if (fd >= 0) close(fd);
    if (!rc) s->map = p;
    return !rc || pl_err_set(err, PL_ERUN,
                             "%s: cannot keep %zu bytes of split states there on their way to a "
                             "checkpoint: %s; make room or give another folder",
                             dir, s->bytes, strerror(rc));
}

static const void *put_on_spool(spool *s, pl_exec *exec, const pl_port *port, int64_t bytes)
{
    char *at = s->map + s->used;
    s->used += (size_t)round_up(bytes);
    PL_ASSERT_CMP(s->used, <=, s->bytes);
    pl_exec_get(exec, port, at, bytes);
    return at;
}

/* Runs the programs; on rank 0, data[i] of every split state i then points to its whole. */
static bool gather_all(pl_exec *exec, const pl_gather *gather, int first, spool *s,
                       const void *data[], pl_err *err)
{
    for (int k = 0; k < gather->n; k++) {
        PL_TRY(pl_exec_step(exec, first + k, err));
        for (int i = 0; i < gather->store->n && gather->rank == 0; i++) {
            const pl_value *v = gather->store->state[i].value;
            const pl_program *p = gather->program[k];
            if (gather->by[i] == k)
                data[i] = put_on_spool(s, exec, pl_port_find(p->n_outputs, p->output, v->name),
                                       pl_value_bytes(v));
        }
    }
    return true;
}

/* Rank 0 alone: the tensors in the order of the store; those without data it has whole. */
static bool write_checkpoint(pl_exec *exec, const pl_gather *gather, const void *const data[],
                             const char *dir, const pl_manifest *manifest, pl_keep keep,
                             pl_arena *tmp, pl_err *err)
{
    void **own = PL_NEW_N(tmp, void *, gather->store->n + 1);
    int64_t most = 1;
    for (int i = 0; i < gather->store->n; i++)
        most += n_parts(pl_graph_known(gather->store->state[i].value));
    pl_saved *t = PL_NEW_N(tmp, pl_saved, most);
    int n = 0;
    for (int i = 0; i < gather->store->n; i++) {
        const pl_value *v = gather->store->state[i].value, as = saved_as(v);
        if (!pl_state_is_saved(v)) continue;
        if (!data[i]) own[i] = pl_exec_map(exec, &gather->store->state[i], PL_READ);
        for (int64_t k = 0; k < n_parts(&as); k++)
            t[n++] = part_of(&as, k, data[i] ? data[i] : own[i], tmp);
    }
    bool ok = pl_checkpoint_save(dir, manifest, n, t, keep, err);
    for (int i = 0; i < gather->store->n; i++)
        pl_exec_unmap(exec, &gather->store->state[i], PL_READ, own[i]);
    return ok || pl_err_in(err, "saving step %lld", (long long)manifest->step);
}

static bool save(pl_exec *exec, const pl_gather *gather, int first, const pl_tables *tables,
                 spool *s, const char *dir, const pl_manifest *manifest, pl_keep keep,
                 pl_arena *tmp, pl_err *err)
{
    const void **data = PL_NEW_N(tmp, const void *, gather->store->n + 1);
    for (int i = 0; i < gather->store->n; i++) {
        const pl_value *v = gather->store->state[i].value;
        if (v->rows) data[i] = pl_tables_find(tables, v->name)->row;
    }
    if (gather->n) {
        for (int i = 0; i < gather->store->n; i++)
            if (gather->by[i] >= 0)
                s->bytes += (size_t)round_up(pl_value_bytes(gather->store->state[i].value));
        if (gather->rank == 0 && !open_spool(s, dir, tmp, err))
            pl_err_in(err, "saving step %lld", (long long)manifest->step);
        PL_TRY(pl_exec_agree(exec, err)); /* nobody sends what nobody will take */
        PL_TRY(gather_all(exec, gather, first, s, data, err));
    }
    if (gather->rank == 0 && !write_checkpoint(exec, gather, data, dir, manifest, keep, tmp, err))
        PL_ASSERT(err->code);
    return pl_exec_agree(exec, err);
}

bool pl_state_save(pl_exec *exec, const pl_gather *gather, int first, const pl_tables *tables,
                   const char *dir, const pl_manifest *manifest, pl_keep keep, pl_err *err)
{
    pl_arena *tmp = pl_arena_new("state save");
    spool s = { 0 };
    bool ok = save(exec, gather, first, tables, &s, dir, manifest, keep, tmp, err);
    if (s.map) munmap(s.map, s.bytes);
    pl_arena_free(tmp);
    return ok;
}
