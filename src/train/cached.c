#include "train/cached.h"

#include "ops/list.h"

#include <math.h>
#include <string.h>

bool pl_cached_parse(const char *text, pl_cached *out, pl_err *err)
{
    const size_t n = strlen(text);
    char number[32] = { 0 };
    *out = (pl_cached){ 0 };
    if (n < sizeof number && n && text[n - 1] == '%') {
        memcpy(number, text, n - 1);
        if (pl_text_real(number, &out->share) && out->share > 0 && out->share <= 100) {
            out->share /= 100;
            return true;
        }
    } else if (pl_text_int(text, &out->rows) && out->rows > 0 && out->rows < INT32_MAX)
        return true;
    return pl_err_set(
        err, PL_EUSAGE,
        "--cache %s: a share of the rows of each table, as 1.5%%, or a number of rows", text);
}

static bool is_lookup(const pl_node *n, const pl_value *ids)
{
    return n->op == &pl_op_embedding && n->in[1] == ids;
}

static int count_readers(const pl_graph *g, const pl_value *v)
{
    int readers = 0;
    for (int i = 0; i < g->nodes.n; i++)
        for (int k = 0; k < g->nodes.at[i]->n_in; k++) readers += g->nodes.at[i]->in[k] == v;
    return readers;
}

/* Its rows; 0: it cannot be cached. */
static int64_t rows_of(const pl_graph *g, const pl_node *lookup)
{
    const pl_value *w = lookup->in[0];
    if (w->kind != PL_WEIGHT || w->type != PL_F32 || w->shape.rank != 2 || w->parts) return 0;
    const pl_sig_dim *row = &lookup->sig->operand[0].dim[0];
    if (row->n != 1 || row->factor[0] != pl_sig_find(lookup->sig, 'v')) return 0;
    return count_readers(g, w) == 1 && w->shape.dim[0] < INT32_MAX ? w->shape.dim[0] : 0;
}

/* Rows of the tables that ids are of, all alike; 0: something else reads the ids, too. */
static int64_t rows_by(const pl_graph *g, const pl_value *ids)
{
    int64_t rows = 0;
    if (ids->role != PL_INPUT || ids->type != PL_I32) return 0;
    for (int i = 0; i < g->nodes.n; i++)
        for (int k = 0; k < g->nodes.at[i]->n_in; k++) {
            const pl_node *n = g->nodes.at[i];
            if (n->in[k] != ids) continue;
            const int64_t of = is_lookup(n, ids) ? rows_of(g, n) : 0;
            if (!of || (rows && of != rows)) return 0;
            rows = of;
        }
    return rows;
}

/* A share goes into 64 equal parts, as devices split it. */
static int64_t places_of(const pl_cached *want, int64_t rows, int64_t ids)
{
    enum { PARTS = 64 };
    if (want->rows) return want->rows;
    int64_t n = (int64_t)ceil(want->share * (double)rows);
    if (n < ids) n = ids;
    return (n + PARTS - 1) / PARTS * PARTS;
}

static void make_cache(pl_builder *b, pl_node *lookup, int64_t places)
{
    pl_value *w = lookup->in[0];
    pl_sig *sig = PL_NEW(b->graph->arena, pl_sig);
    *sig = *lookup->sig;
    sig->factor[pl_sig_find(sig, 'v')].size = places;
    lookup->sig = sig;
    w->rows = w->shape.dim[0];
    w->shape.dim[0] = places;
}

int pl_cached_add(pl_builder *b, const pl_cached *want, int64_t batches)
{
    const pl_graph *g = b->graph;
    int made = 0;
    for (int i = 0; i < g->values.n && !b->err.code; i++) {
        const pl_value *ids = g->values.at[i];
        const int64_t rows = rows_by(g, ids),
                      places = places_of(want, rows, batches * pl_shape_count(&ids->shape));
        if (places >= rows) continue;
        for (int k = 0; k < g->nodes.n; k++)
            if (is_lookup(g->nodes.at[k], ids)) make_cache(b, g->nodes.at[k], places), made++;
    }
    return made;
}

const pl_value *pl_cached_ids(const pl_graph *g, const pl_value *state)
{
    const char *table = state->of ? state->of->name : state->name;
    for (int i = 0; i < g->nodes.n; i++) {
        const pl_node *n = g->nodes.at[i];
        if (n->op == &pl_op_embedding && !strcmp(n->in[0]->name, table)) return n->in[1];
    }
    pl_bug(__FILE__, __LINE__, "nothing looks up in '%s'", table);
}
