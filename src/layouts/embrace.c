/* Tables of embeddings over the devices that share the batch, each of which looks up in its part
 * for all rows of the batch; everything else is copied, as dp has it. By columns it is EmbRace
 * (Yang et al., 2021): an all-to-all brings vectors to the rows' devices, another their gradients
 * back, and all devices have equal shares whatever is looked up. By rows it is TorchRec's row-wise,
 * and close to Parallax (Kim et al., EuroSys 2019): what was found is added up. By tables
 * (tables.c) a device has whole ones, and ids go only where they are looked up. */
#include "layouts/layer.h"
#include "layouts/list.h"
#include "reshard/move.h"

#include <string.h>

/* The dimension of the table that is a factor alone; -1: none is. */
static int find_dimension(const pl_layer *x, int factor)
{
    const pl_operand *w = &x->n->sig->operand[x->l.w];
    int d = w->rank - 1;
    while (d >= 0 && (w->dim[d].n != 1 || w->dim[d].factor[0] != factor)) d--;
    return d;
}

/* What the word says to split over an axis: tables that are fewer than the devices go by columns.
 */
static int pick(const pl_layer *x, const char *word, int axis)
{
    if (!strcmp(word, "row-wise")) return pl_layer_pick(x, axis, x->l.k);
    const int table = !strcmp(word, "table-wise") ? pl_layer_pick(x, axis, x->l.batch) : -1;
    return table < 0 ? pl_layer_pick(x, axis, x->l.n) : table;
}

static void choose(pl_layer *x)
{
    const pl_strategy *s = x->on->strategy;
    const pl_said *said = pl_strategy_said(s, "embrace");
    const unsigned axes = pl_strategy_axes(s, PL_AXIS_BATCH);
    pl_placement at = { 0 };
    if (!said || !x->l.lookup) return;
    for (int a = 0; axes >> a; a++) {
        const int factor = !(axes >> a & 1) ? -1
                           : x->open        ? pick(x, said->word->name, a)
                                            : x->stored.factor[a],
                  dim = factor < 0 ? -1 : find_dimension(x, factor);
        if (dim < 0) continue;
        pl_layer_take(x, a, factor);
        x->back |= 1u << a;
        pl_placement_split(&at, dim, a);
    }
    if (x->open) pl_propagate_store(&x->on->follow, pl_graph_state(x->n->in[x->l.w]), &at);
}

/* Is it one of many tables, of which devices have whole ones? */
static bool has_whole_tables(const pl_node *n, const pl_linear *l, const pl_placement *stored)
{
    const pl_sig_dim *first = &n->sig->operand[l->w].dim[0];
    return stored->split[0].dim == 0 && first->n == 1 && l->batch >> first->factor[0] & 1;
}

/* Did it split a table, or by `tables` give devices whole ones? */
static bool splits(const pl_plan *p, bool tables)
{
    pl_linear l;
    for (int i = 0; i < p->graph->nodes.n; i++) {
        const pl_node *n = p->graph->nodes.at[i];
        if (!pl_linear_find(n, &l) || !l.lookup) continue;
        const pl_placement *stored = &p->stored[pl_graph_state(n->in[l.w])->id];
        if (stored->n && (!tables || has_whole_tables(n, &l, stored))) return true;
    }
    return false;
}

static bool finish(const pl_strategy *s, pl_plan *p, const pl_plan *like, pl_arena *out,
                   pl_err *err)
{
    const pl_said *said = pl_strategy_said(s, "embrace");
    const bool tables = said && !strcmp(said->word->name, "table-wise");
    const int share = pl_move_members(&s->mesh, pl_strategy_axes(s, PL_AXIS_BATCH));
    (void)like, (void)out;
    if (!said || s->devices == 1 || splits(p, tables)) return true;
    if (tables && share > 1)
        return pl_err_set(err, PL_EINPUT,
                          "strategy '%s': of the model's tables that stand in one none are as many "
                          "as the %d devices that share the batch: of a recommender write "
                          "sizes=%dx1000",
                          s->text, share, share);
    return pl_err_set(err, PL_EINPUT,
                      "strategy '%s': the model has no table of embeddings that can be split over "
                      "the %d devices that share the batch",
                      s->text, share);
}

static void list(pl_texts *out, int n_devices)
{
    (void)n_devices;
    pl_texts_add(out, "embrace");
    pl_texts_add(out, "row-wise");
}

const pl_layout pl_layout_embrace = {
    .name = "embrace",
    .about = "hybrid embeddings (EmbRace: Yang et al., 2021; TorchRec)",
    .words =
        (const pl_word[]){
            { "embrace", "embrace", 0, "embrace",
              "dp, with the columns of tables over the devices: vectors go by all-to-all", NULL },
            { "row-wise", "row-wise", 0, "embrace", "the same with their rows", NULL },
            { 0 },
        },
    .offers =
        (const pl_offer[]){
            { "embrace", PL_OFFER_KNOWN | PL_OFFER_TABLES },
            { "row-wise", PL_OFFER_KNOWN | PL_OFFER_TABLES },
            { 0 },
        },
    .needs = PL_HAS_TABLES,
    .layer = choose,
    .finish = finish,
    .list = list,
};
