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

enum { ALIGN = 64, LEAST_ROOM = 1 << 20 }; /* bytes */

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

static int64_t part_bytes(const gathering *g, const pl_port *p)
{
    return pl_placement_room(&p->where, &g->plan->mesh, &p->value->shape) *
           pl_type_bytes(p->value->type);
}

static bool is_split(const gathering *g, const pl_port *p)
{
    pl_placement x = pl_placement_normal(&p->where, &g->plan->mesh, &p->value->shape);
    const bool whole = !x.n && pl_plan_holds(g->plan, p->value, 0);
    return !whole && pl_state_is_saved(p->value) && !p->value->rows;
}

static int64_t rows_of(const pl_value *v)
{
    return v->shape.rank ? v->shape.dim[0] : 1;
}

/* Positions [lo, lo + n) of a state's first dimension. */
typedef struct piece {
    int state, program;
    int64_t lo, n;
} piece;

typedef struct pieces {
    int n, cap;
    piece *at;
} pieces;

static pl_slot part_slot(const gathering *g)
{
    return (pl_slot){ .at = g->whole_bytes };
}

/* What `from` has of a piece; *skip: the elements of its part before that. */
static pl_region cut_part(const gathering *g, const pl_port *port, const piece *x, int from,
                          int64_t *skip)
{
    pl_region part = pl_plan_region(g->plan, port->value, from);
    *skip = 0;
    if (x->n == rows_of(port->value) || !pl_region_count(&part)) return part;
    pl_digit *d = &part.digit[0];
    const int64_t each = pl_region_count(&part) / d->n, lo = d->lo > x->lo ? d->lo : x->lo,
                  end = d->lo + d->n < x->lo + x->n ? d->lo + d->n : x->lo + x->n;
    *skip = (lo - d->lo) * each;
    d->lo = lo;
    d->n = end > lo ? end - lo : 0;
    return part;
}

static pl_slot slot_of(const pl_port *port, int64_t skip)
{
    pl_slot slot = port->slot;
    slot.at += skip * pl_type_bytes(port->value->type);
    return slot;
}

static void add_message(gathering *g, const pl_port *port, pl_slot own, int peer, int64_t count)
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
        s.n_in = 1, s.in[0] = own;
    } else {
        s.n_out = 1, s.out[0] = part_slot(g);
        s.after = g->steps.n - g->n_messages; /* the part before has been copied */
        s.bytes = count * pl_type_bytes(port->value->type);
    }
    g->n_messages++;
    PL_PUSH(g->out, &g->steps, s);
}

/* A part goes where it belongs in the piece `whole`. */
static bool add_copy(gathering *g, const pl_port *whole, const pl_region *part, pl_slot from,
                     pl_err *err)
{
    pl_copy *c = PL_NEW(g->out, pl_copy);
    if (!pl_region_copy(part, whole->region, pl_type_bytes(whole->value->type), c))
        return pl_err_set(err, PL_EUNSUPPORTED,
                          "state '%s': its parts do not lie in the whole in %d loops or fewer",
                          whole->value->name, PL_COPY_LOOPS);
    pl_step s = { .kind = PL_COPY,
                  .label = whole->value->name,
                  .n_in = 1,
                  .n_out = 1,
                  .in = { from },
                  .out = { whole->slot },
                  .wait = g->n_messages,
                  .type = whole->value->type,
                  .n_copies = 1,
                  .copy = c };
    PL_PUSH(g->out, &g->steps, s);
    return true;
}

/* `all`: every rank sends, if only nothing: ranks make the group of their messages together, so
 * each program has a message of each rank. */
static bool gather_piece(gathering *g, const piece *x, const pl_port *whole, bool all, pl_err *err)
{
    const pl_mesh *m = &g->plan->mesh;
    const pl_port *port = &g->store->state[x->state];
    if (port->where.pending)
        return pl_err_set(err, PL_EUNSUPPORTED, "state '%s' waits for a sum: it cannot be saved",
                          port->value->name);
    for (int r = 0, n = pl_mesh_ranks(m); r < n; r++) {
        int64_t skip;
        if (g->rank && r != g->rank) continue; /* no message of its own */
        const pl_region part = cut_part(g, port, x, r, &skip);
        const int64_t count = pl_state_is_first(g->plan, port, r) ? pl_region_count(&part) : 0;
        const pl_slot own = slot_of(port, count ? skip : 0);
        if (r && (count || all)) add_message(g, port, own, g->rank ? 0 : r, count);
        if (count && g->rank == 0) PL_TRY(add_copy(g, whole, &part, r ? part_slot(g) : own, err));
    }
    return true;
}

/* The place of a piece, after those before it. */
static void add_whole(gathering *g, const piece *x)
{
    const pl_port *p = &g->store->state[x->state];
    pl_port whole = { .value = p->value, .shape = p->value->shape };
    pl_region *region = PL_NEW(g->out, pl_region);
    *region = pl_region_of(&whole.where, &g->plan->mesh, &whole.shape, 0);
    whole.bytes = pl_value_bytes(p->value);
    if (x->n < rows_of(p->value)) {
        whole.bytes = whole.bytes / whole.shape.dim[0] * x->n;
        whole.shape.dim[0] = region->digit[0].n = x->n;
        region->digit[0].lo = x->lo;
    }
    whole.region = region;
    whole.slot.at = g->whole_bytes;
    PL_PUSH(g->out, &g->wholes, whole);
    g->whole_bytes += round_up(whole.bytes);
    int64_t room = part_bytes(g, p);
    if (room > whole.bytes) room = whole.bytes;
    if (room > g->part_bytes) g->part_bytes = room;
}

/* Of one program: a place for each of its pieces, and the messages and copies that fill them. */
static bool make_program(gathering *g, int n, const piece x[], const pl_program **out, pl_err *err)
{
    for (int i = 0; i < n; i++) add_whole(g, &x[i]);
    for (int i = 0; i < n; i++) PL_TRY(gather_piece(g, &x[i], &g->wholes.at[i], i == 0, err));
    pl_program *p = PL_NEW(g->out, pl_program);
    *p = (pl_program){ .plan = g->plan,
                       .store = g->store,
                       .rank = g->rank,
                       .n_ranks = pl_mesh_ranks(&g->plan->mesh),
                       .n_steps = g->steps.n,
                       .n_compute = g->steps.n - g->n_messages,
                       .n_messages = g->n_messages,
                       .step = g->steps.at };
    *out = p;
    if (g->rank) return true;
    p->n_outputs = g->wholes.n, p->output = g->wholes.at;
    p->work_bytes = p->work_bound = g->whole_bytes + round_up(g->part_bytes);
    for (int i = 0; i < p->n_steps; i++) p->message_bytes += p->step[i].bytes;
    return true;
}

/* Is each part rows of the whole, and may it be gathered so many rows at a time? */
static bool has_rows(const gathering *g, const pl_port *p)
{
    for (int r = 0, n = pl_mesh_ranks(&g->plan->mesh); r < n; r++) {
        const pl_region part = pl_plan_region(g->plan, p->value, r);
        int first = 0;
        while (first < part.n && part.digit[first].dim == 0) first++;
        if (pl_region_count(&part) && first != 1) return false;
    }
    return p->value->shape.rank > 0;
}

/* Bytes that a program may gather: enough for each state, but no more than a quarter of the largest
 * part, so that what is larger than a device can be saved. */
static int64_t find_room(const gathering *g)
{
    int64_t whole = 0, part = LEAST_ROOM;
    for (int i = 0; i < g->store->n; i++) {
        const pl_port *p = &g->store->state[i];
        if (!is_split(g, p)) continue;
        if (pl_value_bytes(p->value) > whole) whole = pl_value_bytes(p->value);
        if (part_bytes(g, p) / 4 > part) part = part_bytes(g, p) / 4;
    }
    return round_up(whole < part ? whole : part);
}

/* Shares the split states out to programs, in order, the large ones in pieces. */
static pieces list_pieces(const gathering *g, int64_t room)
{
    int64_t used = 0;
    pieces x = { 0 };
    for (int i = 0; i < g->store->n; i++) {
        const pl_port *p = &g->store->state[i];
        if (!is_split(g, p)) continue;
        const int64_t bytes = pl_value_bytes(p->value), rows = rows_of(p->value);
        int64_t each = rows;
        if (bytes > room && has_rows(g, p)) each = room / (bytes / rows);
        if (!each) each = 1;
        for (int64_t lo = 0; lo < rows; lo += each) {
            const int64_t n = rows - lo < each ? rows - lo : each, own = round_up(bytes / rows * n);
            const bool begins = !x.n || used + own > room;
            const int program = !x.n ? 0 : x.at[x.n - 1].program + begins;
            used = begins ? own : used + own;
            PL_PUSH(g->out, &x, ((piece){ i, program, lo, n }));
        }
    }
    return x;
}

/* Where states and their pieces lie among all that is gathered. */
static void lay_out(const pieces *x, pl_gather *out, pl_arena *arena)
{
    int64_t *at = PL_NEW_N(arena, int64_t, out->store->n + 1),
            *to = PL_NEW_N(arena, int64_t, x->n + 1);
    for (int i = 0; i < out->store->n; i++) at[i] = -1;
    for (int i = 0; i < x->n; i++) {
        const piece *p = &x->at[i];
        const pl_value *v = out->store->state[p->state].value;
        const int64_t bytes = pl_value_bytes(v);
        if (!p->lo) {
            at[p->state] = out->bytes;
            out->bytes += round_up(bytes);
        }
        to[i] = at[p->state] + bytes / rows_of(v) * p->lo;
    }
    out->at = at, out->to = to;
}

bool pl_state_gather(const pl_plan *plan, const pl_store *store, int rank, int64_t room,
                     pl_arena *out, const pl_gather **gather, pl_err *err)
{
    const gathering g = { .plan = plan, .store = store, .rank = rank, .out = out };
    const pieces list = list_pieces(&g, room ? room : find_room(&g));
    pl_gather *x = PL_NEW(out, pl_gather);
    *x = (pl_gather){ .store = store, .rank = rank };
    lay_out(&list, x, out);
    x->program = PL_NEW_N(out, const pl_program *, list.n + 1);
    *gather = x;
    for (int i = 0, n; i < list.n; i += n) {
        gathering own = g;
        for (n = 0; i + n < list.n && list.at[i + n].program == x->n;) n++;
        PL_TRY(make_program(&own, n, &list.at[i], &x->program[x->n++], err));
    }
    return true;
}

/* -- saving ------------------------------------------------------------------------------------ */

/* Where gathered tensors wait for the checkpoint to be written: pages of a file, which the system
 * may write back, not memory that it has to keep. */
typedef struct spool {
    char *map;
    size_t bytes;
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

/* Runs the programs; on rank 0, data[i] of every split state i then points to its whole. */
static bool gather_all(pl_exec *exec, const pl_gather *gather, int first, const spool *s,
                       const void *data[], pl_err *err)
{
    const int64_t *to = gather->to;
    for (int k = 0; k < gather->n; k++) {
        const pl_program *p = gather->program[k];
        PL_TRY(pl_exec_step(exec, first + k, err));
        for (int i = 0; i < p->n_outputs; i++)
            pl_exec_get(exec, &p->output[i], s->map + *to++, p->output[i].bytes);
    }
    for (int i = 0; i < gather->store->n && gather->rank == 0; i++)
        if (gather->at[i] >= 0) data[i] = s->map + gather->at[i];
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
        s->bytes = (size_t)gather->bytes;
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
