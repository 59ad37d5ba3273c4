/* Context parallelism: axis `context` splits the positions of every sequence, and with them all
 * that is done position by position; weights are copied, or split by zero=N over this axis too.
 * Where positions meet, in attention, either keys and values are gathered by those who have the
 * queries (Llama 3: Dubey et al., 2024; ring attention, Liu et al., 2023, receives as much), or
 * positions are exchanged for heads and back (Ulysses: Jacobs et al., 2023). Which of the two costs
 * less is found node by node, unless the word says it.
 *
 * Over gathered keys the last of causal queries see most. Where they come in chunks (attention.c),
 * each device takes some of every chunk, if moving them there costs less than waiting. */
#include "layouts/layer.h"
#include "layouts/list.h"

#include "graph/op.h"

#include <string.h>

enum { POSITIONS = 1 }; /* the dimension of an input */

static bool say(pl_strategy *s, const pl_word *word, const int size[3], pl_err *err)
{
    (void)err;
    unsigned use = PL_AXIS_POSITIONS | PL_AXIS_INNER;
    if (strcmp(word->name, "cp=gather:")) use |= PL_AXIS_ROAM;
    if (!strcmp(word->name, "cp=ulysses:")) use |= PL_AXIS_EXCHANGE;
    return pl_strategy_axis(s, &pl_layout_context, "cp", "context", size[0], use);
}

/* Sequences are rows of whole numbers: tokens, and what is to be said of each. */
static bool is_sequence(const pl_value *x)
{
    return x->role == PL_INPUT && x->shape.rank > POSITIONS && !pl_type_is_float(x->type);
}

static bool split_positions(pl_plan *p, pl_err *err)
{
    const int axis = pl_mesh_find(&p->mesh, "context");
    int64_t longest = 0;
    for (int v = 0; v < p->graph->values.n && axis >= 0; v++) {
        const pl_value *x = p->graph->values.at[v];
        if (!is_sequence(x)) continue;
        if (x->shape.dim[POSITIONS] > longest) longest = x->shape.dim[POSITIONS];
        if (x->shape.dim[POSITIONS] >= p->mesh.axis[axis].size)
            pl_placement_split(&p->stored[v], POSITIONS, axis);
    }
    return axis < 0 || longest >= p->mesh.axis[axis].size ||
           pl_err_set(err, PL_EINPUT,
                      "strategy '%s': the graph has no sequences whose positions %d devices could "
                      "share (the longest has %lld)",
                      p->strategy, p->mesh.axis[axis].size, (long long)longest);
}

static void choose(pl_layer *x)
{
    const int axis = pl_layer_axis(x, "context");
    if (axis >= 0) pl_layer_copy_rows(x, axis, pl_layer_pick_rows(x, axis));
}

static void list(pl_texts *out, int n_devices)
{
    static const char *const form[] = { "cp=%d", "cp=gather:%d", "cp=ulysses:%d", "zero=3,cp=%d" };
    for (int i = 0; i < 4; i++) pl_texts_fmt(out, form[i], n_devices);
    if (n_devices == 2) return;
    pl_texts_add(out, "cp=2");
    pl_texts_add(out, "zero=3,cp=2");
    pl_texts_add(out, "cp=2,tp=2,sp");
}

const pl_layout pl_layout_context = {
    .name = "context",
    .about = "context parallelism (Dubey et al., 2024), Ulysses (Jacobs et al., 2023)",
    .words =
        (const pl_word[]){
            { "cp=", "cp=N", 1, "cp",
              "positions of sequences over axis context; attention as the cheaper of the next two",
              say },
            { "cp=gather:", "cp=gather:N", 1, "cp",
              "the same; keys and values are gathered, by those who have the queries", say },
            { "cp=ulysses:", "cp=ulysses:N", 1, "cp",
              "the same; positions are exchanged for heads and back", say },
            { 0 },
        },
    .offers =
        (const pl_offer[]){
            { "zero=3,cp=N", 0 },
            { "zero=3,cp=N,recompute=full", PL_OFFER_TIGHT },
            { 0 },
        },
    .needs = PL_HAS_POSITIONS,
    .inputs = split_positions,
    .layer = choose,
    .list = list,
};
