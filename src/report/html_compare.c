/* Weights that several plans place differently. What else the page compares are figures that each
 * plan has of its own. */
#include "report/html_page.h"

#include <string.h>

/* Weights that are alike in every plan: of the same group. */
typedef struct row {
    int count;
    int *group; /* [plans] which of the plan's `weights`; -1: it has none */
} row;

typedef struct rows {
    int n, cap;
    row *at;
} rows;

/* Does every device hold the same elements? Names of axes do not matter, nor does the mesh. */
static bool is_same(const pl_html_view *a, const pl_placement *p, const pl_html_view *b,
                    const pl_placement *q, const pl_shape *s)
{
    int n = pl_mesh_ranks(a->mesh);
    bool alike = a->mesh->n == b->mesh->n;
    if (n != pl_mesh_ranks(b->mesh) || !p->pending != !q->pending) return false;
    for (int i = 0; alike && i < a->mesh->n; i++)
        alike = a->mesh->axis[i].size == b->mesh->axis[i].size;
    if (alike && pl_placement_same(p, q)) return true;
    for (int rank = 0; rank < n; rank++) {
        pl_region x = pl_region_of(p, a->mesh, s, rank), y = pl_region_of(q, b->mesh, s, rank);
        if (!pl_region_count(&x) && !pl_region_count(&y)) continue;
        if (!pl_region_align(&x, &y) || x.n != y.n) return false;
        for (int i = 0; i < x.n; i++)
            if (x.digit[i].lo != y.digit[i].lo || x.digit[i].n != y.digit[i].n) return false;
    }
    return true;
}

static bool is_equal(int n, const pl_html_view view[], const row *r)
{
    for (int i = 0; i < n; i++)
        if (r->group[i] < 0) return false;
    const pl_html_view *a = &view[0];
    const pl_value *x = a->weights.at[r->group[0]].value;
    for (int i = 1; i < n; i++) {
        const pl_html_view *b = &view[i];
        const pl_value *y = b->weights.at[r->group[i]].value;
        if (x->type != y->type || !pl_shape_same(&x->shape, &y->shape) ||
            !is_same(a, &a->made[x->id], b, &b->made[y->id], &x->shape) ||
            !is_same(a, &a->used[x->id], b, &b->used[y->id], &x->shape))
            return false;
    }
    return true;
}

/* By name; in a graph of the same model it has the same number. */
static const pl_value *find_value(const pl_graph *g, const pl_value *x)
{
    if (x->id < g->values.n && !strcmp(g->values.at[x->id]->name, x->name))
        return g->values.at[x->id];
    return pl_graph_find(g, x->name);
}

/* Each weight is counted in the first plan that has it. */
static rows find_rows(int n, const pl_html_view view[], pl_arena *tmp)
{
    rows all = { 0 };
    for (int i = 0; i < n; i++)
        for (int k = 0; k < view[i].graph->values.n; k++) {
            bool seen = false;
            if (view[i].weight[k] < 0) continue;
            row r = { 0, PL_NEW_N(tmp, int, n) };
            for (int q = 0; q < n && !seen; q++) {
                const pl_value *y = find_value(view[q].graph, view[i].graph->values.at[k]);
                r.group[q] = y ? view[q].weight[y->id] : -1;
                seen = q < i && r.group[q] >= 0;
            }
            if (seen) continue;
            int j = 0;
            while (j < all.n && memcmp(all.at[j].group, r.group, (size_t)n * sizeof(int)) != 0) j++;
            if (j == all.n) PL_PUSH(tmp, &all, r);
            all.at[j].count++;
        }
    return all;
}

void pl_html_compare_put(int n, const pl_html_view view[], pl_arena *tmp, pl_json_out *out)
{
    const rows all = find_rows(n, view, tmp);
    int n_weights = 0;
    for (int i = 0; i < all.n; i++) n_weights += all.at[i].count;
    pl_json_open(out, "differences", PL_JSON_OBJECT);
    pl_json_put_int(out, "weights", n_weights);
    pl_json_open_lines(out, "rows", PL_JSON_LIST);
    for (int i = 0; i < all.n; i++) {
        if (is_equal(n, view, &all.at[i])) continue;
        pl_json_open(out, NULL, PL_JSON_OBJECT);
        pl_json_put_int(out, "count", all.at[i].count);
        pl_json_open(out, "of", PL_JSON_LIST); /* which of the weights of each plan; -1: none */
        for (int k = 0; k < n; k++) pl_json_put_int(out, NULL, all.at[i].group[k]);
        pl_json_close(out);
        pl_json_close(out);
    }
    pl_json_close(out);
    pl_json_close(out);
}
