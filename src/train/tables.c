#include "train/tables.h"

#include <string.h>

enum { ALIGN = 4096, PIECE = 1 << 22 }; /* bytes of a page; elements that are drawn at a time */

static int64_t bytes_of(const pl_value *v)
{
    const pl_shape whole = pl_graph_whole(v);
    const int64_t bytes = pl_shape_count(&whole) * pl_type_bytes(v->type);
    return (bytes + ALIGN - 1) / ALIGN * ALIGN;
}

int64_t pl_tables_bytes(const pl_graph *graph)
{
    int64_t bytes = 0;
    for (int i = 0; i < graph->values.n; i++)
        if (graph->values.at[i]->rows) bytes += bytes_of(graph->values.at[i]);
    return bytes;
}

/* -- contents ---------------------------------------------------------------------------------- */

/* Some rows at a time: pages that are full may be written to their file meanwhile. */
static bool draw(const pl_value *cache, const pl_init *from, const pl_table *t, pl_err *err)
{
    static const pl_mesh one;
    pl_value v = *cache;
    v.shape = pl_graph_whole(cache);
    v.rows = 0;
    pl_port port = { .value = &v, .shape = v.shape };
    pl_region some = pl_region_of(&port.where, &one, &v.shape, 0);
    port.region = &some;
    const int64_t most = PIECE / t->width + 1;
    for (int64_t r = 0; r < t->rows; r += most) {
        some.digit[0].lo = r;
        some.digit[0].n = t->rows - r < most ? t->rows - r : most;
        PL_TRY(pl_init_fill(&port, from, t->row + r * t->width, err));
    }
    return true;
}

static void take_saved(const pl_checkpoint *from, const pl_table *t)
{
    const pl_saved *s = pl_checkpoint_find(from, t->state);
    const pl_shape whole = PL_SHAPE(t->rows, t->width);
    if (s && s->type == PL_F32 && pl_shape_same(&s->shape, &whole))
        memcpy(t->row, s->data, (size_t)(t->rows * t->width) * sizeof *t->row);
}

/* Memory is zeros as it comes: it is not touched for them. */
static bool fill(const pl_value *v, const pl_init *from, const pl_checkpoint *resume,
                 const pl_table *t, pl_err *err)
{
    if (resume)
        take_saved(resume, t);
    else if (strcmp(v->init, "zeros") != 0)
        return draw(v, from, t, err);
    return true;
}

/* -- all of them ------------------------------------------------------------------------------- */

bool pl_tables_open(const pl_graph *graph, const char *dir, const pl_init *from,
                    const pl_checkpoint *resume, pl_arena *arena, pl_tables *out, pl_err *err)
{
    const int64_t bytes = pl_tables_bytes(graph);
    *out = (pl_tables){ .at = PL_NEW_N(arena, pl_table, graph->values.n + 1) };
    if (!bytes) return true;
    PL_TRY(pl_hostblock_new((size_t)bytes, dir, &out->block, err));
    char *at = out->block.at;
    for (int i = 0; i < graph->values.n; i++) {
        const pl_value *v = graph->values.at[i];
        if (!v->rows) continue;
        pl_table *t = &out->at[out->n++];
        *t = (pl_table){ v->name, v->rows, v->shape.dim[1], (float *)(void *)at };
        at += bytes_of(v);
        if (fill(v, from, resume, t, err)) continue;
        pl_tables_free(out);
        return false;
    }
    pl_hostblock_scatter(&out->block, true);
    return true;
}

void pl_tables_want(const pl_tables *t, const pl_table *table, int64_t row)
{
    pl_hostblock_want(&t->block, table->row + row * table->width,
                      (size_t)table->width * sizeof *table->row);
}

void pl_tables_free(pl_tables *t)
{
    pl_hostblock_free(&t->block);
    *t = (pl_tables){ 0 };
}

const pl_table *pl_tables_find(const pl_tables *t, const char *state)
{
    for (int i = 0; i < t->n; i++)
        if (!strcmp(t->at[i].state, state)) return &t->at[i];
    pl_bug(__FILE__, __LINE__, "no table of state '%s'", state);
}
