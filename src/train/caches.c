/* A rank's caches. Read pl_caches_take(): the ids of a batch are read and the cache says who moves
 * (take_group), and move() copies rows between a table and this rank's part of a state. */
#include "train/caches.h"

#include "train/cached.h"
#include "train/state.h"

#include <string.h>

enum { SERIAL = 256 }; /* rows that one thread copies */

/* Columns that lie side by side in a part and in the whole. */
typedef struct columns {
    int64_t part, whole, n;
} columns;

/* A state, as one rank has it. */
typedef struct cached {
    const pl_port *port;
    const pl_table *table;
    bool writes;     /* this rank holds its part first     */
    int64_t *row_at; /* [places] in the part; -1: another's */
    struct {
        int n, cap;
        columns *at;
    } run;
} cached;

/* All that is looked up by the same ids. */
typedef struct group {
    const pl_value *ids; /* of one micro-batch              */
    pl_cache *cache;
    int64_t each;                /* ids of a micro-batch            */
    int32_t *batch;              /* of steps, a ring: [1 + ahead][micro * each] */
    int32_t *place;              /* [micro * each] of what was taken last       */
    const pl_cache_moves *moves; /* of that; NULL: it has no room */
    struct {
        int n, cap;
        cached *at;
    } states;
} group;

struct pl_caches {
    pl_caches_options o;
    const pl_tables *tables;
    int64_t next; /* step; -1: none was taken        */
    int n;
    group *at;
};

/* -- making ------------------------------------------------------------------------------------ */

/* A part is rows of columns, both in the order of the whole (placement/region.h). */
static cached open_state(const pl_plan *plan, const pl_port *port, int rank, const pl_table *table,
                         pl_arena *arena)
{
    cached s = { .port = port, .table = table, .writes = pl_state_is_first(plan, port, rank) };
    const pl_shape *shape = &port->value->shape;
    const int64_t count = pl_region_count(port->region), width = shape->dim[1];
    int64_t n_columns = 1;
    for (int i = 0; i < port->region->n; i++)
        if (port->region->digit[i].dim == 1) n_columns *= port->region->digit[i].n;
    s.row_at = PL_NEW_N(arena, int64_t, shape->dim[0]);
    for (int64_t i = 0; i < shape->dim[0]; i++) s.row_at[i] = -1;
    if (!count) return s;
    for (int64_t at = 0; at < count; at += n_columns)
        s.row_at[pl_region_global(port->region, shape, at) / width] = at;
    for (int64_t k = 0; k < n_columns; k++) {
        const int64_t column = pl_region_global(port->region, shape, k) % width;
        columns *last = s.run.n ? &s.run.at[s.run.n - 1] : NULL;
        if (last && last->whole + last->n == column)
            last->n++;
        else
            PL_PUSH(arena, &s.run, ((columns){ k, column, 1 }));
    }
    return s;
}

static group *find_group(pl_caches *c, const pl_value *ids)
{
    for (int i = 0; i < c->n; i++)
        if (c->at[i].ids == ids) return &c->at[i];
    return NULL;
}

static group *add_group(pl_caches *c, const pl_value *ids, const pl_value *state, pl_arena *arena)
{
    group *g = &c->at[c->n++];
    const pl_caches_options *o = &c->o;
    const int64_t *counts = pl_counts_find(o->counts, ids->name);
    *g = (group){ .ids = ids, .each = pl_shape_count(&ids->shape) };
    g->cache = pl_cache_new((int32_t)state->rows, (int32_t)state->shape.dim[0], o->policy, counts,
                            1 + (int32_t)o->ahead, (int32_t)(o->micro * g->each), arena);
    g->batch = PL_NEW_N(arena, int32_t, (1 + o->ahead) * o->micro * g->each);
    g->place = PL_NEW_N(arena, int32_t, o->micro * g->each);
    return g;
}

pl_caches *pl_caches_new(const pl_graph *graph, const pl_plan *plan, const pl_store *store,
                         int rank, const pl_tables *tables, const pl_caches_options *o,
                         pl_arena *arena)
{
    pl_caches *c = PL_NEW(arena, pl_caches);
    *c = (pl_caches){
        .o = *o, .tables = tables, .next = -1, .at = PL_NEW_N(arena, group, store->n + 1)
    };
    for (int i = 0; i < store->n; i++) {
        const pl_port *p = &store->state[i];
        if (!p->value->rows) continue;
        const pl_value *ids = pl_cached_ids(graph, p->value);
        group *g = find_group(c, ids);
        if (!g) g = add_group(c, ids, p->value, arena);
        const pl_table *t = pl_tables_find(tables, p->value->name);
        PL_PUSH(arena, &g->states, open_state(plan, p, rank, t, arena));
    }
    return c;
}

/* -- rows -------------------------------------------------------------------------------------- */

static void copy_row(const cached *s, const pl_cache_move *m, float *part, bool back)
{
    const int64_t at = s->row_at[m->slot];
    if (at < 0) return;
    for (int i = 0; i < s->run.n; i++) {
        const columns *c = &s->run.at[i];
        float *here = part + at + c->part,
              *there = s->table->row + m->row * s->table->width + c->whole;
        memcpy(back ? there : here, back ? here : there, (size_t)c->n * sizeof *here);
    }
}

static void copy_rows(const cached *s, int32_t n, const pl_cache_move move[], float *part,
                      bool back)
{
#pragma omp parallel for if (n > SERIAL)
    for (int32_t i = 0; i < n; i++)
        if (!back || move[i].dirty) copy_row(s, &move[i], part, back);
}

/* What goes, then what comes: into places that are free by then. */
static void move(const group *g, pl_exec *exec, const pl_cache_moves *m)
{
    if (!m->n_in && !m->n_out) return;
    for (int i = 0; i < g->states.n; i++) {
        const cached *s = &g->states.at[i];
        float *part = pl_exec_map(exec, s->port, PL_CHANGE);
        if (!part) continue;
        if (s->writes) copy_rows(s, m->n_out, m->out, part, true);
        copy_rows(s, m->n_in, m->in, part, false);
        pl_exec_unmap(exec, s->port, PL_CHANGE, part);
    }
}

void pl_caches_warm(pl_caches *c, pl_exec *exec)
{
    for (int i = 0; i < c->n; i++) move(&c->at[i], exec, pl_cache_warm(c->at[i].cache, c->o.warm));
}

void pl_caches_flush(pl_caches *c, pl_exec *exec)
{
    for (int i = 0; i < c->n; i++) move(&c->at[i], exec, pl_cache_flush(c->at[i].cache));
}

/* -- batches ----------------------------------------------------------------------------------- */

/* Where a step's ids are. */
static int32_t *ids_of(const pl_caches *c, const group *g, int64_t step)
{
    return g->batch + step % (1 + c->o.ahead) * c->o.micro * g->each;
}

/* The ids of a step, and of those that the policy looks at: the ring has room for them, as the step
 * before has been taken. */
static const int32_t *read_ahead(const pl_caches *c, group *g, pl_caches_read *read, void *of,
                                 int64_t step)
{
    const int64_t last = step + c->o.ahead, n = c->o.micro * g->each;
    for (int64_t t = c->next < 0 ? step : last; t <= last; t++) {
        int32_t *to = ids_of(c, g, t);
        for (int64_t k = 0; k < c->o.micro; k++) read(of, g->ids, t, k, to + k * g->each);
        pl_cache_see(g->cache, (int32_t)n, to);
    }
    return ids_of(c, g, step);
}

/* What the next step lacks can come from a file while this one runs. */
static void want_next(const pl_caches *c, const group *g, int64_t step)
{
    const int32_t *ids = ids_of(c, g, step + 1);
    if (!c->o.ahead || !c->tables->block.is_file) return;
    for (int64_t i = 0; i < c->o.micro * g->each; i++)
        for (int k = 0; ids[i] >= 0 && k < g->states.n && pl_cache_slot(g->cache, ids[i]) < 0; k++)
            pl_tables_want(c->tables, g->states.at[k].table, ids[i]);
}

/* Which rows a group needs, and where: nothing moves yet. NULL: they have no room. */
static const pl_cache_moves *take_group(const pl_caches *c, group *g, pl_caches_read *read,
                                        void *of, int64_t step)
{
    const bool writes = step >= 0;
    const int64_t n = writes ? c->o.micro * g->each : g->each;
    const int32_t *ids = g->place;
    int64_t distinct;
    if (writes)
        ids = read_ahead(c, g, read, of, step);
    else
        read(of, g->ids, step, 0, g->place);
    const pl_cache_moves *m = pl_cache_take(g->cache, n, ids, writes, &distinct);
    for (int64_t i = 0; m && i < n; i++) g->place[i] = pl_cache_slot(g->cache, ids[i]);
    return m;
}

bool pl_caches_take(pl_caches *c, pl_exec *exec, pl_caches_read *read, void *of, int64_t step,
                    pl_err *err)
{
    const bool writes = step >= 0;
#pragma omp parallel for schedule(dynamic)
    for (int i = 0; i < c->n; i++) c->at[i].moves = take_group(c, &c->at[i], read, of, step);
    for (int i = 0; i < c->n; i++) {
        const group *g = &c->at[i];
        if (!g->moves)
            return pl_err_set(err, PL_ERUN,
                              "a batch (of step %lld) reads more than %d rows by '%s', and the "
                              "cache of %s has room for no more: give a larger --cache, or a "
                              "smaller batch",
                              (long long)(writes ? step + 1 : c->next), g->cache->slots,
                              g->ids->name, g->states.at[0].table->state);
        move(g, exec, g->moves);
        if (writes) want_next(c, g, step);
    }
    if (writes) c->next = step + 1;
    return true;
}

const int32_t *pl_caches_places(const pl_caches *c, const char *input, int64_t k)
{
    for (int i = 0; i < c->n; i++)
        if (!strcmp(c->at[i].ids->name, input)) return c->at[i].place + k * c->at[i].each;
    return NULL;
}

pl_cache_stats pl_caches_stats(const pl_caches *c)
{
    pl_cache_stats sum = { 0 };
    for (int i = 0; i < c->n; i++) {
        const pl_cache_stats *s = &c->at[i].cache->stats;
        sum.lookups += s->lookups, sum.hits += s->hits;
        sum.rows_in += s->rows_in, sum.rows_out += s->rows_out, sum.rows_back += s->rows_back;
    }
    return sum;
}
