#include "base/hash.h"
#include "graph/json.h"
#include "graph/op.h"
#include "plan/file.h"
#include "plan/file_rows.h"

#include <math.h>
#include <string.h>

/* -- digest ------------------------------------------------------------------------------------ */

/* Eight bytes, the first one lowest on every machine. */
static uint64_t load_word(const unsigned char *at)
{
    return (uint64_t)at[0] | (uint64_t)at[1] << 8 | (uint64_t)at[2] << 16 | (uint64_t)at[3] << 24 |
           (uint64_t)at[4] << 32 | (uint64_t)at[5] << 40 | (uint64_t)at[6] << 48 |
           (uint64_t)at[7] << 56;
}

static uint64_t mix_span(uint64_t h, const char *text, size_t n)
{
    const unsigned char *at = (const unsigned char *)text;
    unsigned char rest[8] = { 0 };
    h = pl_hash_mix(h, n);
    for (; n >= 8; n -= 8, at += 8) h = pl_hash_mix(h, load_word(at));
    memcpy(rest, at, n);
    return n ? pl_hash_mix(h, load_word(rest)) : h;
}

static uint64_t mix_text(uint64_t h, const char *text)
{
    return mix_span(h, text, strlen(text));
}

static uint64_t mix_value(uint64_t h, const pl_value *v)
{
    h = mix_text(mix_text(h, v->name), pl_type_name(v->type));
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
    h = mix_span(mix_text(h, n->op->name), n->spec, strcspn(n->spec, ";")); /* the signature */
    h = pl_hash_mix(h, (uint64_t)n->n_in << 8 | (uint64_t)n->n_out);
    for (int i = 0; i < n->n_out; i++) h = mix_value(h, n->out[i]);
    for (int i = 0; i < n->n_in; i++) h = pl_hash_mix(h, name[n->in[i]->id]);
    return pl_hash_mix(h, n->of ? name[n->of->out[0]->id] : 0);
}

uint64_t pl_plan_digest(const pl_graph *g)
{
    pl_arena *tmp = pl_arena_new("digest of a graph");
    uint64_t h = 1, *name = PL_NEW_N(tmp, uint64_t, g->values.n + 1);
    for (int i = 0; i < g->values.n; i++) name[i] = mix_text(2, g->values.at[i]->name);
    for (int i = 0; i < g->values.n; i++)
        if (!g->values.at[i]->maker) h = mix_leaf(h, g->values.at[i]);
    for (int i = 0; i < g->nodes.n; i++) h = mix_node(h, g->nodes.at[i], name);
    for (int i = 0; i < g->values.n; i++) {
        const pl_value *v = g->values.at[i];
        if (v->next) h = pl_hash_mix(pl_hash_mix(h, name[i]), name[v->next->id]);
    }
    h = pl_hash_mix(h, (uint64_t)g->nodes.n);
    pl_arena_free(tmp);
    return pl_hash_mix(h, 3);
}

/* -- writing ----------------------------------------------------------------------------------- */

typedef struct writer {
    const pl_plan *p;
    pl_text *out;
    pl_arena *tmp;
    bool first; /* in the list that is being written */
} writer;

static void print_text(pl_text *t, const char *key, const char *value)
{
    pl_text_add(t, "  \"%s\": ", key);
    pl_json_print_text(t, value ? value : "");
    pl_text_add(t, ",\n");
}

/* 17 digits give back every double (IEEE 754-2008); -0 becomes 0. */
static void print_real(pl_text *t, double x)
{
    PL_ASSERT(isfinite(x) && x >= 0);
    pl_text_add(t, "%.17g", x + 0.0);
}

static void print_head(const writer *w, const pl_plan_about *about)
{
    const pl_mesh *m = &w->p->mesh;
    const pl_graph *g = w->p->graph;
    pl_text *t = w->out;
    pl_text_add(t, "{\n");
    print_text(t, "schema", PL_PLAN_SCHEMA);
    print_text(t, "model", about->model);
    print_text(t, "optimizer", about->optimizer);
    print_text(t, "strategy", about->strategy ? about->strategy : w->p->strategy);
    print_text(t, "cluster", about->cluster);
    pl_text_add(t, "  \"graph\": {\"nodes\": %d, \"digest\": \"%016llx\"},\n  \"mesh\": [",
                g->nodes.n, (unsigned long long)pl_plan_digest(g));
    for (int a = 0; a < m->n; a++) {
        pl_text_add(t, a ? ", {\"axis\": " : "{\"axis\": ");
        pl_json_print_text(t, m->axis[a].name);
        pl_text_add(t, ", \"size\": %d}", m->axis[a].size);
    }
    pl_text_add(t, "],\n  \"predicted\": {\"step_seconds\": ");
    print_real(t, about->step_seconds);
    pl_text_add(t, ", \"lower_bound_seconds\": ");
    print_real(t, about->bound_seconds);
    pl_text_add(t, ", \"memory_bytes\": ");
    print_real(t, about->memory_bytes);
    pl_text_add(t, "},\n");
}

static void open_list(writer *w, const char *key)
{
    pl_text_add(w->out, "  \"%s\": [", key);
    w->first = true;
}

/* A line of the list, up to the name of what it is about. */
static void open_row(writer *w, const char *key, const char *name)
{
    pl_text_add(w->out, "%s\n    {\"%s\": ", w->first ? "" : ",", key);
    pl_json_print_text(w->out, name);
    w->first = false;
}

static void close_list(const writer *w, const char *after)
{
    pl_text_add(w->out, "%s]%s\n", w->first ? "" : "\n  ", after);
}

static void print_stored(writer *w)
{
    open_list(w, "stored");
    for (int i = 0; i < w->p->graph->values.n; i++) {
        const pl_value *v = w->p->graph->values.at[i];
        if (v->maker) continue;
        pl_placement x = pl_placement_normal(&w->p->stored[i], &w->p->mesh, &v->shape);
        if (!x.n && !x.pending) continue;
        open_row(w, "tensor", v->name);
        pl_text_add(w->out, ", \"placement\": ");
        pl_json_print_text(w->out, pl_placement_text(w->tmp, &x, &w->p->mesh, v->shape.rank));
        pl_text_add(w->out, "}");
    }
    close_list(w, ",");
}

static void print_axes(const writer *w, int n, const int axis[])
{
    for (int i = 0; i < n; i++) {
        pl_text_add(w->out, i ? ", " : "[");
        pl_json_print_text(w->out, w->p->mesh.axis[axis[i]].name);
    }
    pl_text_add(w->out, "]");
}

/* An axis that the mesh lacks splits nothing: such a set says "always". */
static void print_regather(writer *w)
{
    const pl_mesh *m = &w->p->mesh;
    open_list(w, "regather");
    for (int i = 0; i < w->p->graph->values.n; i++) {
        unsigned bits = w->p->regather[i];
        int axis[PL_MAX_AXES], n = 0;
        if (!bits) continue;
        for (int a = 0; a < m->n; a++)
            if (bits >> a & 1) axis[n++] = a;
        open_row(w, "tensor", w->p->graph->values.at[i]->name);
        if (!(bits >> m->n)) {
            pl_text_add(w->out, ", \"unless\": ");
            print_axes(w, n, axis);
        }
        pl_text_add(w->out, "}");
    }
    close_list(w, ",");
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

static void print_order(const writer *w, const pl_node *n)
{
    const pl_choice *c = &w->p->choice[n->id];
    int lists = 0;
    for (int a = 0; a < w->p->mesh.n; a++) {
        int axis[PL_MAX_AXES], k;
        if (c->factor[a] < 0) continue;
        k = find_sharing(c, &w->p->mesh, a, axis);
        if (!is_turned(c, a, k, axis)) continue;
        pl_text_add(w->out, "%s\"%c\": ", lists++ ? ", " : ", \"order\": {",
                    n->sig->factor[c->factor[a]].letter);
        print_axes(w, k, axis);
    }
    if (lists) pl_text_add(w->out, "}");
}

static void print_node(writer *w, const pl_node *n)
{
    const pl_choice *c = &w->p->choice[n->id];
    bool first = true;
    for (int a = 0; a < w->p->mesh.n; a++) {
        int f = c->factor[a];
        if (f == PL_COPIED) continue;
        if (first) open_row(w, "node", n->out[0]->name);
        pl_text_add(w->out, first ? ", \"split\": {" : ", ");
        first = false;
        pl_json_print_text(w->out, w->p->mesh.axis[a].name);
        if (f >= 0)
            pl_text_add(w->out, ": \"%c\"", n->sig->factor[f].letter);
        else
            pl_text_add(w->out, ": \"" PL_PLAN_LINEAR "%d\"", PL_LINEAR - f);
    }
    if (first) return;
    pl_text_add(w->out, "}");
    print_order(w, n);
    pl_text_add(w->out, "}");
}

void pl_plan_write(const pl_plan *p, const pl_plan_about *about, pl_text *out)
{
    writer w = { .p = p, .out = out, .tmp = pl_arena_new("plan file") };
    print_head(&w, about);
    print_stored(&w);
    print_regather(&w);
    open_list(&w, "nodes");
    for (int i = 0; i < p->graph->nodes.n; i++) print_node(&w, p->graph->nodes.at[i]);
    close_list(&w, "");
    pl_text_add(out, "}\n");
    pl_arena_free(w.tmp);
}
