/* A plan as a file: pl_plan_write(); the digest of a graph. */
#include "base/hash.h"
#include "graph/op.h"
#include "plan/file.h"
#include "plan/file_rows.h"
#include "plan/stages.h"
#include "schedules/csv.h"

#include <math.h>
#include <string.h>

/* -- digest ------------------------------------------------------------------------------------ */

static uint64_t mix_value(uint64_t h, const pl_value *v)
{
    h = pl_hash_text(pl_hash_text(h, v->name), pl_type_name(v->type));
    h = pl_hash_mix(h, (uint64_t)v->shape.rank);
    for (int d = 0; d < v->shape.rank; d++) h = pl_hash_mix(h, (uint64_t)v->shape.dim[d]);
    return h;
}

static uint64_t mix_leaf(uint64_t h, const pl_value *v)
{
    return pl_hash_mix(mix_value(h, v), (uint64_t)v->role << 1 | (v->kind == PL_WEIGHT));
}

/* `name` [values] stands for a value where it is read: ids change when a text is parsed. */
static uint64_t mix_node(uint64_t h, const pl_node *n, const uint64_t name[])
{
    h = pl_hash_span(pl_hash_text(h, n->op->name), n->spec,
                     strcspn(n->spec, ";")); /* the signature */
    h = pl_hash_mix(h, (uint64_t)n->n_in << 8 | (uint64_t)n->n_out);
    for (int i = 0; i < n->n_out; i++) h = mix_value(h, n->out[i]);
    for (int i = 0; i < n->n_in; i++) h = pl_hash_mix(h, name[n->in[i]->id]);
    return pl_hash_mix(h, n->of ? name[n->of->out[0]->id] : 0);
}

uint64_t pl_plan_digest(const pl_graph *g)
{
    pl_arena *tmp = pl_arena_new("digest of a graph");
    uint64_t h = 1, *name = PL_NEW_N(tmp, uint64_t, g->values.n + 1);
    for (int i = 0; i < g->values.n; i++) name[i] = pl_hash_text(2, g->values.at[i]->name);
    for (int i = 0; i < g->values.n; i++)
        if (!g->values.at[i]->maker) h = mix_leaf(h, g->values.at[i]);
    for (int i = 0; i < g->nodes.n; i++) h = mix_node(h, g->nodes.at[i], name);
    for (int i = 0; i < g->values.n; i++) {
        const pl_value *v = g->values.at[i];
        if (v->next) h = pl_hash_mix(pl_hash_mix(h, name[i]), name[v->next->id]);
    }
    h = pl_hash_mix(h, (uint64_t)g->nodes.n);
    if (g->micro > 1) h = pl_hash_mix(h, (uint64_t)g->micro);
    pl_arena_free(tmp);
    return pl_hash_mix(h, 3);
}

/* -- writing ----------------------------------------------------------------------------------- */

typedef struct writer {
    const pl_plan *p;
    pl_json_out out;
    pl_arena *tmp;
} writer;

static const char *or_empty(const char *text)
{
    return text ? text : "";
}

static void write_numbers(const pl_plan_numbers *x, pl_json_out *out)
{
    if (x->unclipped) pl_json_put_bool(out, "unclipped", true);
    if (x->no_momentum) pl_json_put_bool(out, "no_momentum", true);
    if (x->decayed) pl_json_put_bool(out, "decayed", true);
    if (x->undecayed) pl_json_put_bool(out, "undecayed", true);
}

static void put_head(writer *w, const pl_plan_about *about)
{
    const pl_graph *g = w->p->graph;
    pl_json_out *out = &w->out;
    const double step = about->step_seconds, bound = about->bound_seconds,
                 memory = about->memory_bytes;
    PL_ASSERT(isfinite(step) && isfinite(bound) && isfinite(memory));
    PL_ASSERT(step >= 0 && bound >= 0 && memory >= 0);
    PL_JSON_PUT(out, "schema", PL_PLAN_SCHEMA, "model", or_empty(about->model), "optimizer",
                or_empty(about->optimizer), "strategy",
                or_empty(about->strategy ? about->strategy : w->p->strategy), "cluster",
                or_empty(about->cluster), "micro", g->micro);
    if (pl_graph_has_masters(g)) pl_json_put_bool(out, "masters", true);
    write_numbers(&about->numbers, out);
    if (about->cache && *about->cache) PL_JSON_PUT(out, "cache", about->cache);
    if (about->objectives) PL_JSON_PUT(out, "objectives", about->objectives);
    PL_JSON_ROW(out, "graph", "nodes", g->nodes.n, "digest",
                pl_arena_fmt(w->tmp, "%016llx", (unsigned long long)pl_plan_digest(g)));
    pl_mesh_write(&w->p->mesh, out);
    PL_JSON_ROW(out, "predicted", "step_seconds", step, "lower_bound_seconds", bound,
                "memory_bytes", memory);
}

void pl_plan_caches_write(int n, const pl_plan_cache caches[], pl_json_out *out)
{
    if (!n) return;
    pl_json_open_lines(out, "caches", PL_JSON_LIST);
    for (int i = 0; i < n; i++) {
        const pl_plan_cache *x = &caches[i];
        PL_JSON_ROW(out, NULL, "cache", x->size, "found", x->found, "rows", x->rows, "bytes",
                    x->bytes, "move_seconds", x->move_seconds, "step_seconds", x->step_seconds,
                    "memory_bytes", x->memory_bytes, "fits", x->fits);
    }
    pl_json_close(out);
}

static void put_tensor(writer *w, const pl_value *v, const pl_placement *where)
{
    PL_JSON_ROW(&w->out, NULL, "tensor", v->name, "placement",
                pl_placement_text(w->tmp, where, &w->p->mesh, v->shape.rank));
}

static void put_stored(writer *w)
{
    pl_json_open_lines(&w->out, "stored", PL_JSON_LIST);
    for (int i = 0; i < w->p->graph->values.n; i++) {
        const pl_value *v = w->p->graph->values.at[i];
        if (v->maker) continue;
        pl_placement x = pl_placement_normal(&w->p->stored[i], &w->p->mesh, &v->shape);
        if (x.n || x.pending || x.host) put_tensor(w, v, &x);
    }
    pl_json_close(&w->out);
}

static void put_kept(writer *w)
{
    pl_json_open_lines(&w->out, "kept", PL_JSON_LIST);
    for (int i = 0; i < w->p->graph->values.n; i++) {
        const pl_value *v = w->p->graph->values.at[i];
        if (!w->p->kept[i]) continue;
        pl_placement x = pl_placement_normal(w->p->kept[i], &w->p->mesh, &v->shape);
        put_tensor(w, v, &x);
    }
    pl_json_close(&w->out);
}

static void put_recomputed(writer *w)
{
    pl_json_open_lines(&w->out, "recomputed", PL_JSON_LIST);
    for (int i = 0; i < w->p->graph->values.n; i++)
        if (w->p->recompute[i]) pl_json_put_text(&w->out, NULL, w->p->graph->values.at[i]->name);
    pl_json_close(&w->out);
}

/* The axes on the factor of axis a, major first. */
static int find_sharing(const pl_choice *c, const pl_mesh *m, int a, int axis[PL_MAX_AXES])
{
    int order[PL_MAX_AXES], n = 0;
    pl_choice_order(c, m, order);
    for (int i = 0; i < m->n; i++)
        if (c->factor[order[i]] == c->factor[a]) axis[n++] = order[i];
    return n;
}

/* Is a the first axis of the mesh on its factor, and are those on it not in the mesh's order? */
static bool is_turned(const pl_choice *c, int a, int n, const int axis[])
{
    bool turned = false;
    for (int b = 0; b < a; b++)
        if (c->factor[b] == c->factor[a]) return false;
    for (int i = 1; i < n; i++) turned |= axis[i] < axis[i - 1];
    return turned;
}

static void put_order(writer *w, const pl_node *n)
{
    const pl_choice *c = &w->p->choice[n->id];
    bool open = false;
    for (int a = 0; a < w->p->mesh.n; a++) {
        int axis[PL_MAX_AXES], k;
        if (c->factor[a] < 0) continue;
        k = find_sharing(c, &w->p->mesh, a, axis);
        if (!is_turned(c, a, k, axis)) continue;
        if (!open) pl_json_open(&w->out, "order", PL_JSON_OBJECT);
        open = true;
        pl_json_open(&w->out, (char[]){ n->sig->factor[c->factor[a]].letter, 0 }, PL_JSON_LIST);
        for (int i = 0; i < k; i++) pl_json_put_text(&w->out, NULL, w->p->mesh.axis[axis[i]].name);
        pl_json_close(&w->out);
    }
    if (open) pl_json_close(&w->out);
}

/* Those of a node that splits nothing are left out. */
static void put_splits(writer *w, const pl_node *n)
{
    const pl_choice *c = &w->p->choice[n->id];
    bool open = false;
    for (int a = 0; a < w->p->mesh.n; a++) {
        const int f = c->factor[a];
        if (f == PL_COPIED) continue;
        if (!open) pl_json_open(&w->out, "split", PL_JSON_OBJECT);
        open = true;
        pl_json_put_text(&w->out, w->p->mesh.axis[a].name,
                         f < 0 ? pl_arena_fmt(w->tmp, PL_PLAN_LINEAR "%d", PL_LINEAR - f)
                               : (char[]){ n->sig->factor[f].letter, 0 });
    }
    if (!open) return;
    pl_json_close(&w->out);
    put_order(w, n);
}

static void put_node(writer *w, const pl_node *n)
{
    bool any = w->p->on_host[n->id];
    for (int a = 0; a < w->p->mesh.n; a++) any |= w->p->choice[n->id].factor[a] != PL_COPIED;
    if (!any) return;
    pl_json_open(&w->out, NULL, PL_JSON_OBJECT);
    pl_json_put_text(&w->out, "node", n->out[0]->name);
    put_splits(w, n);
    if (w->p->on_host[n->id]) pl_json_put_text(&w->out, "on", PL_PLAN_HOST);
    pl_json_close(&w->out);
}

static void put_pipeline(writer *w)
{
    const pl_stages *s = w->p->stages;
    pl_json_open(&w->out, "pipeline", PL_JSON_OBJECT);
    if (s) {
        pl_text passes = { .arena = w->tmp };
        PL_JSON_PUT(&w->out, "axis", w->p->mesh.axis[s->axis].name, "schedule", s->order->name);
        pl_pipeline_csv_write(s->order, &passes);
        pl_json_open_lines(&w->out, "rows", PL_JSON_LIST);
        for (const char *at = pl_text_get(&passes); *at; at += *at == '\n') {
            const size_t n = strcspn(at, "\n");
            pl_json_put_text(&w->out, NULL, pl_arena_span(w->tmp, at, n));
            at += n;
        }
        pl_json_close(&w->out);
    }
    pl_json_close(&w->out);
}

static void put_stages(writer *w)
{
    const pl_stages *s = w->p->stages;
    pl_json_open_lines(&w->out, "stages", PL_JSON_LIST);
    for (int i = 0; s && i < w->p->graph->nodes.n; i++) {
        const pl_node *n = w->p->graph->nodes.at[i];
        if (n->phase == PL_FORWARD && s->of[i] != PL_EVERYWHERE)
            PL_JSON_ROW(&w->out, NULL, "node", n->out[0]->name, "stage", s->of[i]);
    }
    pl_json_close(&w->out);
}

void pl_plan_write(const pl_plan *p, const pl_plan_about *about, pl_text *out)
{
    writer w = { .p = p, .out.text = out, .tmp = pl_arena_new("plan file") };
    pl_json_open_lines(&w.out, NULL, PL_JSON_OBJECT);
    put_head(&w, about);
    pl_plan_caches_write(about->n_caches, about->caches, &w.out);
    put_stored(&w);
    put_kept(&w);
    put_recomputed(&w);
    put_pipeline(&w);
    put_stages(&w);
    pl_json_open_lines(&w.out, "nodes", PL_JSON_LIST);
    for (int i = 0; i < p->graph->nodes.n; i++) put_node(&w, p->graph->nodes.at[i]);
    pl_json_end(&w.out);
    pl_text_add(out, "\n");
    pl_arena_free(w.tmp);
}
