/* Where nodes and states of a pipeline are: pl_stages_make() goes on from the forward nodes. */
#include "plan/stages.h"

pl_mesh pl_stages_mesh(const pl_plan *p)
{
    const int axis = p->stages ? p->stages->axis : pl_mesh_find(&p->mesh, PL_STAGE_AXIS);
    pl_mesh m = p->mesh;
    if (axis >= 0) m.axis[axis].size = 1;
    return m;
}

int pl_plan_place(const pl_plan *p, int rank)
{
    return p->stages ? pl_mesh_coord(&p->mesh, rank, p->stages->axis) : 0;
}

int pl_stages_rank(const pl_plan *p, int place)
{
    int rank = 0;
    while (pl_plan_place(p, rank) != place) rank++;
    return rank;
}

int pl_stages_place(const pl_stages *s, int stage)
{
    return s->order->rank_of[stage];
}

static bool is_here(const pl_plan *p, int stage, int rank)
{
    return stage == PL_EVERYWHERE || pl_stages_place(p->stages, stage) == pl_plan_place(p, rank);
}

void pl_stages_devices(const pl_mesh *m, int axis, int place, int *first, int *n)
{
    *n = pl_mesh_ranks(m) / (axis ? 1 : m->axis[axis].size);
    *first = axis ? 0 : place * *n;
}

pl_speed pl_stages_speed(const pl_mesh *m, int axis, const pl_cluster *c, int place)
{
    int first, n;
    pl_stages_devices(m, axis, place, &first, &n);
    return pl_speed_among(c, first, n);
}

bool pl_plan_runs(const pl_plan *p, const pl_node *n, int rank)
{
    return !p->stages || is_here(p, p->stages->of[n->id], rank);
}

bool pl_plan_holds(const pl_plan *p, const pl_value *state, int rank)
{
    return !p->stages || is_here(p, p->stages->home[state->id], rank);
}

const pl_value *pl_stages_read(const pl_value *v)
{
    const pl_value *state = pl_graph_state(v);
    return state ? state : v;
}

int pl_stages_source(const pl_stages *s, const pl_value *v)
{
    v = pl_stages_read(v);
    return v->maker ? s->of[v->maker->id] : v->role == PL_STATE ? s->home[v->id] : PL_EVERYWHERE;
}

pl_region pl_plan_region(const pl_plan *p, const pl_value *state, int rank)
{
    pl_region r = pl_region_of(&p->stored[state->id], &p->mesh, &state->shape, rank);
    if (pl_plan_holds(p, state, rank)) return r;
    if (!r.n) r = (pl_region){ .n = 1, .digit = { { .size = 1, .unit = 1 } } };
    for (int i = 0; i < r.n; i++) r.digit[i].lo = r.digit[i].n = 0;
    return r;
}

/* -- making ------------------------------------------------------------------------------------ */

typedef struct staging {
    const pl_graph *graph;
    int *of, *home;
    bool *shared; /* [values] states that more than one stage reads */
    pl_stages *s;
} staging;

static bool is_cast(const pl_node *n)
{
    return n->n_out && pl_graph_state(n->out[0]);
}

static int earlier(int a, int b)
{
    return a == PL_EVERYWHERE || (b != PL_EVERYWHERE && b < a) ? b : a;
}

/* The earliest stage that something which a node reads comes from; of states alone, if there are
 * any that lie somewhere. */
static int first_source(const staging *x, const pl_node *n, bool states)
{
    int first = PL_EVERYWHERE;
    for (int k = 0; k < n->n_in; k++)
        if (!states || !pl_stages_read(n->in[k])->maker)
            first = earlier(first, pl_stages_source(x->s, n->in[k]));
    return first;
}

/* The state that is to hold what this one holds now, as one slot of a buffer the next one's; NULL:
 * none. */
static const pl_value *find_heir(const pl_graph *g, const pl_value *state)
{
    for (int i = 0; i < g->values.n; i++) {
        const pl_value *v = g->values.at[i];
        if (v->next && v->next->maker && pl_graph_state(v->next) == state) return v;
    }
    return NULL;
}

/* A state that no node reads, but for an heir, lies where that does. */
static void place_unread(staging *x)
{
    for (bool any = true; any;) {
        any = false;
        for (int i = 0; i < x->graph->values.n; i++) {
            const pl_value *v = x->graph->values.at[i], *heir;
            if (!v->next || v->of || x->home[i] != PL_EVERYWHERE) continue;
            heir = find_heir(x->graph, v);
            if (!heir || x->home[heir->id] == PL_EVERYWHERE) continue;
            x->home[i] = x->home[heir->id];
            any = true;
        }
    }
}

/* Weights lie where they are read first. One that is only read, by several stages, lies in all. */
static void place_states(staging *x)
{
    const pl_graph *g = x->graph;
    for (int i = 0, n = pl_graph_forward(g); i < n; i++)
        for (int k = 0; k < g->nodes.at[i]->n_in; k++) {
            const pl_value *v = pl_stages_read(g->nodes.at[i]->in[k]);
            const int stage = x->of[i];
            if (v->role != PL_STATE || v->maker || is_cast(g->nodes.at[i])) continue;
            x->shared[v->id] |= x->home[v->id] != PL_EVERYWHERE && x->home[v->id] != stage;
            x->home[v->id] = earlier(x->home[v->id], stage);
        }
    place_unread(x);
    for (int i = 0; i < g->values.n; i++) {
        const pl_value *v = g->values.at[i];
        if (x->shared[i] && !v->next) x->home[i] = PL_EVERYWHERE;
        if (v->role == PL_STATE && v->of) x->home[i] = x->home[v->of->id];
    }
}

static int order_last(const staging *x)
{
    return x->s->order->n_stages - 1;
}

/* The stage of the first node that reads what n makes, by the node whose gradient that makes. */
static int first_reader(const staging *x, const pl_node *n)
{
    for (int i = n->id + 1; i < x->graph->nodes.n; i++) {
        const pl_node *r = x->graph->nodes.at[i];
        for (int k = 0; k < r->n_in; k++)
            if (r->in[k]->maker == n && r->of) return x->of[r->of->id];
    }
    return order_last(x);
}

static int place_backward(const staging *x, const pl_node *n)
{
    if (n->of && x->of[n->of->id] != PL_EVERYWHERE) return x->of[n->of->id];
    for (int k = 0; k < n->n_in; k++)
        if (n->in[k]->kind == PL_GRAD_SUM && !n->in[k]->maker) return first_source(x, n, true);
    const int first = first_source(x, n, false);
    return first == PL_EVERYWHERE ? first_reader(x, n) : first;
}

/* The latest stage that something which a node reads comes from. */
static int last_source(const staging *x, const pl_node *n)
{
    int last = PL_EVERYWHERE;
    for (int k = 0; k < n->n_in; k++) {
        const int from = pl_stages_source(x->s, n->in[k]);
        if (from > last) last = from;
    }
    return last;
}

/* Where its state lies; a sum over all weights goes from stage to stage. */
static int place_update(const staging *x, const pl_node *n)
{
    const int state = first_source(x, n, true);
    return state == PL_EVERYWHERE ? last_source(x, n) : state;
}

static staging begin(const pl_graph *g, int axis, const pl_pipeline *order, pl_arena *out)
{
    staging x = { .graph = g, .s = PL_NEW(out, pl_stages) };
    x.of = PL_NEW_N(out, int, g->nodes.n + 1);
    x.home = PL_NEW_N(out, int, g->values.n + 1);
    x.shared = PL_NEW_N(out, bool, g->values.n + 1);
    for (int i = 0; i < g->values.n; i++) x.home[i] = PL_EVERYWHERE;
    *x.s = (pl_stages){ .axis = axis, .order = order, .of = x.of, .home = x.home };
    return x;
}

static void place_rest(staging *x)
{
    for (int i = 0; i < x->graph->nodes.n; i++) {
        const pl_node *n = x->graph->nodes.at[i];
        if (n->phase == PL_FORWARD) continue;
        x->of[i] = is_cast(n)                ? PL_EVERYWHERE
                   : n->phase == PL_BACKWARD ? place_backward(x, n)
                                             : place_update(x, n);
    }
}

const pl_stages *pl_stages_make(const pl_graph *g, int axis, const pl_pipeline *order,
                                const int *forward, pl_arena *out)
{
    staging x = begin(g, axis, order, out);
    for (int i = 0, n = pl_graph_forward(g); i < n; i++)
        x.of[i] = is_cast(g->nodes.at[i]) ? PL_EVERYWHERE : forward[i];
    place_states(&x);
    place_rest(&x);
    return x.s;
}

/* Of stages that wait for no other: does it read what one makes, and is of another? Then it waits
 * for the last, which comes after both. */
static bool joins(const staging *x, const pl_node *n, int stage)
{
    if (!x->s->order->apart) return false;
    for (int k = 0; k < n->n_in; k++) {
        const pl_value *v = pl_stages_read(n->in[k]);
        if (v->maker && x->of[v->maker->id] != stage) return true;
    }
    return false;
}

const pl_stages *pl_stages_like(const pl_graph *g, const pl_plan *like, pl_arena *out)
{
    staging x = begin(g, like->stages->axis, like->stages->order, out);
    for (int i = 0; i < g->values.n; i++) {
        const pl_value *v = g->values.at[i], *y = pl_graph_find(like->graph, v->name);
        if (v->role == PL_STATE && y) x.home[i] = like->stages->home[y->id];
    }
    for (int i = 0, n_forward = pl_graph_forward(g); i < n_forward; i++) {
        const pl_node *n = g->nodes.at[i];
        int last = last_source(&x, n);
        if (last < 0) last = 0;
        if (joins(&x, n, last)) last = order_last(&x);
        x.of[i] = is_cast(n) ? PL_EVERYWHERE : last;
    }
    place_rest(&x);
    return x.s;
}

/* -- checking ---------------------------------------------------------------------------------- */

static bool check_axis(const pl_plan *p, pl_err *err)
{
    const int a = p->stages->axis;
    const pl_pipeline *order = p->stages->order;
    if (a < 0 || a >= p->mesh.n || p->mesh.axis[a].size != order->n_ranks)
        return pl_err_set(err, PL_EINPUT, "a schedule for %d ranks, and no axis of as many",
                          order->n_ranks);
    for (int i = 0; i < p->graph->nodes.n; i++)
        if (p->choice[i].factor[a] != PL_COPIED)
            return pl_err_set(err, PL_EINPUT, "node '%s' is split over axis '%s', of the stages",
                              p->graph->nodes.at[i]->name, p->mesh.axis[a].name);
    for (int i = 0; i < p->graph->values.n; i++)
        if (pl_placement_find(&p->stored[i], a) >= 0)
            return pl_err_set(err, PL_EINPUT, "'%s' is split over axis '%s', of the stages",
                              p->graph->values.at[i]->name, p->mesh.axis[a].name);
    return true;
}

/* A pass waits for those of earlier stages alone, and of backward ones for those of later. */
static bool check_edge(const pl_plan *p, const pl_node *n, const pl_value *v, pl_err *err)
{
    const pl_stages *s = p->stages;
    const int from = pl_stages_source(s, v), to = s->of[n->id];
    const pl_node *maker = pl_stages_read(v)->maker;
    const bool host = !pl_stages_read(v)->maker && p->stored[pl_stages_read(v)->id].host;
    if (from == PL_EVERYWHERE || from == to || is_cast(n)) return true;
    if (host)
        return pl_err_set(err, PL_EUNSUPPORTED,
                          "state '%s' lies in the host's memory, and stages %d and %d read it: "
                          "only what one stage reads can",
                          pl_stages_read(v)->name, from, to);
    const bool wrong = to == PL_EVERYWHERE ||
                       (maker && maker->phase == n->phase && n->phase == PL_FORWARD && from > to) ||
                       (maker && maker->phase == n->phase && n->phase == PL_BACKWARD && from < to);
    return !wrong ||
           pl_err_set(err, PL_EINPUT, "node '%s' of stage %d reads '%s' of stage %d, which %s",
                      n->name, to, v->name, from,
                      n->phase == PL_BACKWARD ? "comes after it on the way back" : "comes later");
}

/* Do both make gradients of the same weights, or both go through the same stage? */
static bool is_of_turn(const pl_pass *a, const pl_pass *b)
{
    return a->stage == b->stage && b->kind != PL_PASS_I &&
           (a->kind == PL_PASS_F) == (b->kind == PL_PASS_F);
}

/* Sums of gradients, and statistics of batches, are made in the order of micro-batches. */
static bool check_turns(const pl_plan *p, pl_err *err)
{
    const pl_pipeline *order = p->stages->order;
    for (int r = 0; r < order->n_ranks; r++)
        for (int i = 0; i < order->row[r].n; i++) {
            const pl_pass *x = &order->row[r].at[i];
            if (!x->micro || x->kind == PL_PASS_I) continue;
            int k = i - 1;
            while (k >= 0 && !is_of_turn(x, &order->row[r].at[k])) k--;
            if (k >= 0 && order->row[r].at[k].micro == x->micro - 1) continue;
            return pl_err_set(
                err, PL_EUNSUPPORTED,
                "schedule '%s': rank %d runs %c of stage %d for micro-batch %d before "
                "that for %d: each stage has to take them in their order",
                order->name, r, PL_PASS_LETTERS[x->kind], x->stage, x->micro, x->micro - 1);
        }
    return true;
}

bool pl_plan_check_stages(const pl_plan *p, pl_err *err)
{
    const pl_stages *s = p->stages;
    PL_TRY(check_axis(p, err) && check_turns(p, err));
    for (int i = 0; i < p->graph->nodes.n; i++) {
        const pl_node *n = p->graph->nodes.at[i];
        if (s->of[i] < PL_EVERYWHERE || s->of[i] >= s->order->n_stages)
            return pl_err_set(err, PL_EINPUT, "node '%s' is of stage %d, and there are %d", n->name,
                              s->of[i], s->order->n_stages);
        if (p->on_host[i])
            return pl_err_set(err, PL_EUNSUPPORTED,
                              "node '%s' is to run on the host: of a plan in stages none can",
                              n->name);
        for (int k = 0; k < n->n_in; k++) PL_TRY(check_edge(p, n, n->in[k], err));
    }
    return true;
}

bool pl_plan_check_full(const pl_plan *p, pl_err *err)
{
    const pl_stages *s = p->stages;
    for (int stage = 0; stage < s->order->n_stages; stage++) {
        int i = 0;
        while (i < p->graph->nodes.n && s->of[i] != stage) i++;
        if (i == p->graph->nodes.n)
            return pl_err_set(err, PL_EINPUT, "stage %d of %d is empty", stage, s->order->n_stages);
    }
    return true;
}
