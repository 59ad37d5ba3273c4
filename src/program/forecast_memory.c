/* What the work block holds: the steps are replayed over ranges of bytes. Whatever is written
 * begins a life there, which ends with the last step that reads it; what a message uses stays until
 * a compute step has waited for it, as the lowering has it (place.c). */
#include "program/forecast_memory.h"

#include "graph/op.h"
#include "reshard/move.h"
#include "program/account.h"

#include <string.h>

enum { LINE = 64 }; /* bytes: what place.c aligns buffers to */

/* Contents of a range of bytes, from the step that wrote them to the last one that reads them. */
typedef struct life {
    int64_t low, high;     /* bytes of the work block                                     */
    int first, last;       /* steps                                                       */
    const pl_value *value; /* of which this is a part, or some of one; NULL: nobody says  */
    bool blocks;           /* outgoing or incoming                                        */
    bool forward;          /* a node of the forward pass made or reads it                 */
    bool kept;             /* a later node reads it, or what was copied or sent from it   */
    bool host;             /* of the host's memory                                        */
} life;

typedef struct ints {
    int n, cap, *at;
} ints;

typedef struct edge {
    int from, into; /* lives: a copy or message made one of the other */
} edge;

typedef struct replay {
    const pl_program *p;
    pl_arena *tmp;
    const bool *again; /* [steps] pl_forecast_again */
    bool *copied;      /* [nodes] in steps, whose blocks are copied into the output       */
    int *arrived;      /* [messages] the compute step that waits for it, or the end       */
    int message;       /* number of the next one                                          */
    ints now;          /* lives whose bytes nothing else was written to, by address       */
    struct {
        int n, cap;
        life *at;
    } lives;
    struct {
        int n, cap;
        edge *at;
    } edges;
    struct {
        int n, cap;
        ints *at;
    } buckets; /* lives that one message combines */
} replay;

/* -- lives ------------------------------------------------------------------------------------- */

static life *now_at(const replay *r, int k)
{
    return &r->lives.at[r->now.at[k]];
}

/* The first life of `now` that does not end at or before byte `at`. */
static int find_place(const replay *r, int64_t at)
{
    int from = 0, to = r->now.n;
    while (from < to) {
        int mid = from + (to - from) / 2;
        if (now_at(r, mid)->high <= at)
            from = mid + 1;
        else
            to = mid;
    }
    return from;
}

/* The life at this slot: its number, or -1. */
static int find_life(const replay *r, pl_slot s)
{
    int k = s.state || s.host ? r->now.n : find_place(r, s.at);
    return k < r->now.n && now_at(r, k)->low <= s.at ? r->now.at[k] : -1;
}

static void extend(replay *r, int id, int until)
{
    if (id >= 0 && r->lives.at[id].last < until) r->lives.at[id].last = until;
}

/* What step i writes ends what was there: in place, the new contents take its turn. */
static int write_life(replay *r, int i, life x)
{
    if (x.low == x.high) return -1;
    int k = find_place(r, x.low), end = k;
    for (; end < r->now.n && now_at(r, end)->low < x.high; end++)
        if (now_at(r, end)->last >= i) now_at(r, end)->last = i - 1;
    if (end == k) PL_PUSH(r->tmp, &r->now, 0); /* room for one more */
    int left = r->now.n - (end == k) - end;
    memmove(r->now.at + k + 1, r->now.at + end, (size_t)left * sizeof *r->now.at);
    r->now.n = k + 1 + left;
    r->now.at[k] = r->lives.n;
    PL_PUSH(r->tmp, &r->lives, x);
    return r->now.at[k];
}

/* -- sizes ------------------------------------------------------------------------------------- */

/* From the place that copies write to to the end of what they write. */
static int64_t copy_extent(const pl_step *x)
{
    int64_t most = 0;
    for (int i = 0; i < x->n_copies; i++) {
        const pl_copy *c = &x->copy[i];
        int64_t end = c->to_at + c->bytes;
        for (int k = 0; k < c->n; k++) end += (c->count[k] - 1) * c->to[k];
        if (c->bytes && end > most) most = end;
    }
    return most;
}

static int64_t part_bytes(const pl_program *p, const pl_value *v, const pl_placement *where)
{
    pl_region mine = pl_region_of(where, &p->plan->mesh, &v->shape, p->rank);
    return pl_region_count(&mine) * pl_type_bytes(v->type);
}

static bool is_halo_piece(const pl_step *x)
{
    return x->kind == PL_COPY && x->transfer && x->transfer->move.kind == PL_HALO &&
           x->to == PL_PART_TO;
}

static int64_t copy_bytes(const pl_program *p, const pl_step *x)
{
    const pl_transfer *t = x->transfer;
    if (x->piece && x->piece->operand == x->piece->node->n_in) {
        const pl_node *n = x->piece->node;
        pl_placement where = pl_plan_operand(p->plan, n->id, n->n_in);
        return part_bytes(p, n->out[0], &where);
    }
    if (is_halo_piece(x)) return part_bytes(p, t->value, &t->move.to);
    bool blocks = t && !x->piece && (x->to == PL_OUTGOING || x->to == PL_INCOMING);
    if (!blocks || t->move.kind == PL_HALO) return copy_extent(x);
    int n = pl_move_members(&p->plan->mesh, t->move.axes);
    return n * t->move.block * pl_type_bytes(t->value->type);
}

static int64_t message_bytes(const pl_program *p, const pl_step *x)
{
    int64_t block = x->count * pl_type_bytes(x->type);
    bool all = x->collective == PL_ALL_GATHER || x->collective == PL_ALL_TO_ALL;
    return all ? pl_move_members(&p->plan->mesh, x->axes) * block : block;
}

/* -- steps ------------------------------------------------------------------------------------- */

/* A life that step i begins at its output o. */
static life begin_life(const pl_step *x, int i, int o, int64_t bytes, const pl_value *v)
{
    int64_t at = x->out[o].at;
    return (life){ .low = at, .high = at + bytes, .first = i, .last = i, .value = v };
}

/* Is this the kernel of a later step, whose output goes on with what the earlier ones made? */
static bool goes_on(const replay *r, const pl_step *x)
{
    const pl_piece *s = x->piece;
    bool puts = s && pl_share_touches(s->node, s->node->n_in, s->factor);
    return puts && s->i > 0 && !r->copied[s->node->id];
}

static void replay_kernel(replay *r, int i)
{
    const pl_step *x = &r->p->step[i];
    const pl_node *n = x->share->node;
    const pl_piece *s = x->piece;
    bool late = n->phase != PL_FORWARD || r->again[i];
    for (int k = 0; k < x->n_in; k++) {
        int id = find_life(r, x->in[k]);
        if (id < 0) continue;
        extend(r, id, i);
        r->lives.at[id].kept |= late;
        r->lives.at[id].forward |= !late;
    }
    bool same = pl_slot_same(x->in[0], x->out[0]);
    if (n->op->view && same) return;
    for (int o = 0; o < x->n_out; o++) {
        if (x->out[o].state) continue;
        int64_t bytes = pl_shape_count(pl_share_out(x->share, o)) * pl_type_bytes(n->out[o]->type);
        bool puts = s && pl_share_touches(n, n->n_in, s->factor);
        if (puts && !r->copied[n->id]) bytes *= s->n; /* the first makes room for all */
        life y = begin_life(x, i, o, bytes, n->out[o]);
        y.forward = !late;
        if (goes_on(r, x))
            extend(r, find_life(r, x->out[o]), i);
        else
            write_life(r, i, y);
    }
}

/* A life made of another one by step i, which lives at least until `until`. */
static void make_of(replay *r, int i, int from, life y, int until)
{
    int into = write_life(r, i, y);
    extend(r, into, until);
    if (into >= 0 && from >= 0) PL_PUSH(r->tmp, &r->edges, ((edge){ from, into }));
}

/* Does this copy go on with a part of which earlier ones have written pieces? */
static bool copies_on(const pl_program *p, int i)
{
    const pl_step *x = &p->step[i], *last = x - 1;
    if (x->piece) return x->piece->operand == x->piece->node->n_in && x->piece->i > 0;
    return is_halo_piece(x) && i && is_halo_piece(last) && last->out[0].at == x->out[0].at &&
           last->transfer->value == x->transfer->value;
}

static void replay_copy(replay *r, int i)
{
    const pl_step *x = &r->p->step[i];
    int from = find_life(r, x->in[0]), into;
    extend(r, from, i);
    if (x->out[0].state) return;
    if (copies_on(r->p, i)) {
        extend(r, into = find_life(r, x->out[0]), i);
        if (from >= 0 && into >= 0) PL_PUSH(r->tmp, &r->edges, ((edge){ from, into }));
        return;
    }
    life y = begin_life(x, i, 0, copy_bytes(r->p, x), from >= 0 ? r->lives.at[from].value : NULL);
    if (x->piece) y.value = pl_node_value(x->piece->node, x->piece->operand);
    if (x->transfer) y.value = x->transfer->value;
    y.blocks = x->transfer && (x->to == PL_OUTGOING || x->to == PL_INCOMING);
    make_of(r, i, from, y, i);
}

/* What a message makes something else of: a receive, of what the send of the same shift gave. */
static int find_source(const replay *r, int i)
{
    const pl_step *x = &r->p->step[i], *last = x - 1;
    if (x->n_in) return find_life(r, x->in[0]);
    bool shift = i && last->kind == PL_MESSAGE && last->transfer == x->transfer && last->n_in;
    return shift ? find_life(r, last->in[0]) : -1;
}

/* The last life at this place of the host's work block. */
static int find_hosted(const replay *r, pl_slot s)
{
    int k = s.state ? -1 : r->lives.n - 1;
    while (k >= 0 && (!r->lives.at[k].host || r->lives.at[k].low != s.at)) k--;
    return k;
}

/* A copy to the host begins a life there, one from it ends that and begins one here. */
static void replay_host(replay *r, int i)
{
    const pl_step *x = &r->p->step[i];
    const int until = r->arrived[r->message++];
    life y = begin_life(x, i, 0, x->bytes, x->transfer->value);
    y.last = until;
    if (x->collective == PL_TO_HOST) {
        extend(r, find_life(r, x->in[0]), until);
        y.host = true;
        if (!x->out[0].state && x->bytes) PL_PUSH(r->tmp, &r->lives, y);
        return;
    }
    extend(r, find_hosted(r, x->in[0]), until);
    y.forward = !x->in[0].state;
    if (!x->out[0].state) extend(r, write_life(r, i, y), until);
}

/* In place, what lies there goes on. */
static void replay_host_kernel(replay *r, int i)
{
    const pl_step *x = &r->p->step[i];
    const pl_node *n = x->share->node;
    const int until = r->arrived[r->message++];
    for (int k = 0; k < x->n_in; k++) extend(r, find_hosted(r, x->in[k]), until);
    for (int o = 0; o < x->n_out; o++) {
        bool over = x->out[o].state;
        for (int k = 0; k < x->n_in; k++) over |= pl_slot_same(x->in[k], x->out[o]);
        const int64_t bytes =
            pl_shape_count(pl_share_out(x->share, o)) * pl_type_bytes(n->out[o]->type);
        life y = begin_life(x, i, o, bytes, n->out[o]);
        y.host = true, y.last = until;
        if (!over && bytes) PL_PUSH(r->tmp, &r->lives, y);
    }
}

/* A bucket is several parts beside each other; what is combined in place stays what it is. */
static void replay_message(replay *r, int i)
{
    const pl_step *x = &r->p->step[i];
    int until = r->arrived[r->message++], from = find_source(r, i);
    bool work_in = x->n_in && !x->in[0].state, work_out = x->n_out && !x->out[0].state;
    if (x->n_in) extend(r, from, until);
    if (!x->transfer && work_in) {
        int64_t end = x->in[0].at + x->count * pl_type_bytes(x->type);
        ints bucket = { 0 };
        for (int k = find_place(r, x->in[0].at); k < r->now.n && now_at(r, k)->low < end; k++) {
            extend(r, r->now.at[k], until);
            PL_PUSH(r->tmp, &bucket, r->now.at[k]);
        }
        PL_PUSH(r->tmp, &r->buckets, bucket);
    }
    if (!work_out || (work_in && x->in[0].at == x->out[0].at)) return;
    life y = begin_life(x, i, 0, message_bytes(r->p, x), x->transfer ? x->transfer->value : NULL);
    y.blocks = x->transfer && x->to == PL_INCOMING;
    make_of(r, i, from, y, until);
}

static void replay_fill(replay *r, int i)
{
    const pl_step *x = &r->p->step[i];
    const pl_value *v = x->transfer ? x->transfer->value : NULL;
    life y = begin_life(x, i, 0, x->count * pl_type_bytes(x->type), v);
    y.blocks = x->transfer && x->to == PL_OUTGOING;
    if (!x->out[0].state) write_life(r, i, y);
}

static void replay_fold(replay *r, int i)
{
    const pl_step *x = &r->p->step[i];
    extend(r, find_life(r, x->in[0]), i);
    extend(r, find_life(r, x->out[0]), i);
}

const bool *pl_forecast_again(const pl_program *p, pl_arena *tmp)
{
    bool *again = PL_NEW_N(tmp, bool, p->n_steps + 1);
    bool *ran = PL_NEW_N(tmp, bool, p->plan->graph->nodes.n + 1);
    for (int i = 0; i < p->n_steps; i++) {
        const pl_step *x = &p->step[i];
        const pl_node *n = x->kind == PL_KERNEL ? x->share->node : NULL;
        if (!n || n->phase != PL_FORWARD || pl_graph_state(n->out[0])) continue;
        again[i] = ran[n->id];
        ran[n->id] |= !x->piece || x->piece->i + 1 == x->piece->n;
    }
    return again;
}

/* -- a program --------------------------------------------------------------------------------- */

/* For each message the first compute step that waits for it or a later one, in all micro-batches
 * that have the message. */
static void find_arrivals(replay *r)
{
    const pl_program *p = r->p;
    bool *once = PL_NEW_N(r->tmp, bool, p->n_messages + 1);
    int n = 0, done[2] = { 0 }; /* of those that run in all, and once */
    r->arrived = PL_NEW_N(r->tmp, int, p->n_messages + 1);
    for (int i = 0; i < p->n_steps; i++)
        if (!pl_step_is_compute(&p->step[i])) once[n++] = p->step[i].once;
    for (int m = 0; m < n; m++) r->arrived[m] = p->n_steps - 1;
    for (int i = 0; i < p->n_steps; i++) {
        const pl_step *x = &p->step[i];
        if (!pl_step_is_compute(x)) continue;
        for (int k = x->once; k < 2; k++)
            for (; done[k] < x->wait; done[k]++)
                if (once[done[k]] == k) r->arrived[done[k]] = i;
    }
}

static void find_copied(replay *r)
{
    r->copied = PL_NEW_N(r->tmp, bool, r->p->plan->graph->nodes.n + 1);
    for (int i = 0; i < r->p->n_steps; i++) {
        const pl_piece *s = r->p->step[i].piece;
        if (r->p->step[i].kind == PL_COPY && s && s->operand == s->node->n_in)
            r->copied[s->node->id] = true;
    }
}

/* The memory of a bucket is there for all its parts from the first to the last one's use. */
static void join_bucket(replay *r, const ints *b)
{
    int first = r->p->n_steps, last = 0;
    for (int k = 0; k < b->n; k++) {
        const life *x = &r->lives.at[b->at[k]];
        if (x->first < first) first = x->first;
        if (x->last > last) last = x->last;
    }
    for (int k = 0; k < b->n; k++) r->lives.at[b->at[k]].first = first;
    for (int k = 0; k < b->n; k++) r->lives.at[b->at[k]].last = last;
}

static void replay_steps(replay *r)
{
    const pl_program *p = r->p;
    for (int k = 0; k < p->n_inputs; k++) {
        const pl_port *x = &p->input[k];
        write_life(r, 0, (life){ x->slot.at, x->slot.at + x->bytes, .value = x->value });
    }
    for (int i = 0; i < p->n_steps; i++) switch (p->step[i].kind) {
        case PL_KERNEL: replay_kernel(r, i); break;
        case PL_MESSAGE: (pl_step_is_host(&p->step[i]) ? replay_host : replay_message)(r, i); break;
        case PL_COPY: replay_copy(r, i); break;
        case PL_FILL: replay_fill(r, i); break;
        case PL_FOLD: replay_fold(r, i); break;
        case PL_HOST_KERNEL: replay_host_kernel(r, i); break;
        }
    for (int k = 0; k < p->n_outputs; k++)
        extend(r, find_life(r, p->output[k].slot), p->n_steps - 1);
    for (int k = 0; k < r->buckets.n; k++) join_bucket(r, &r->buckets.at[k]);
    for (int k = r->edges.n - 1; k >= 0; k--) /* what a life goes into was made of it later */
        r->lives.at[r->edges.at[k].from].kept |= r->lives.at[r->edges.at[k].into].kept;
}

/* -- counting ---------------------------------------------------------------------------------- */

/* Bytes in whole lines; one that two parts of a bucket share is the first one's. */
static int64_t life_bytes(const life *x)
{
    return (x->high + LINE - 1) / LINE * LINE - (x->low + LINE - 1) / LINE * LINE;
}

/* -- kinds ------------------------------------------------------------------------------------- */

/* Is the sum of n's output that of this input, so that a gradient's terms may be told by it? */
static bool is_term(const pl_node *n, int k)
{
    return n->op->elementwise && n->op->linear && strchr(n->op->linear, '0' + k) && n->n_out == 1 &&
           pl_share_same_index(n, k, n->n_in);
}

/* [values] Gradients of weights, and the terms that they are sums of. */
static const bool *find_gradients(const pl_graph *g, pl_arena *tmp)
{
    bool *is = PL_NEW_N(tmp, bool, g->values.n + 1);
    for (int i = 0; i < g->values.n; i++) is[i] = g->values.at[i]->maker && g->values.at[i]->of;
    for (int i = g->nodes.n - 1; i >= 0; i--) {
        const pl_node *n = g->nodes.at[i];
        if (n->phase == PL_FORWARD || !is[n->out[0]->id]) continue;
        for (int k = 0; k < n->n_in; k++) {
            const pl_node *maker = n->in[k]->maker;
            if (maker && maker->phase != PL_FORWARD && is_term(n, k)) is[n->in[k]->id] = true;
        }
    }
    return is;
}

static bool is_activation(const life *x)
{
    const pl_value *v = x->value;
    return x->kept && x->forward && v && v->maker && v->maker->phase == PL_FORWARD &&
           !pl_graph_state(v);
}

static int kind_of(const life *x, const bool *gradient)
{
    if (x->host) return PL_CHANGE_HOST;
    if (x->blocks) return PL_CHANGE_BUFFERS;
    if (x->value && gradient[x->value->id]) return PL_CHANGE_GRADIENTS;
    return is_activation(x) ? PL_CHANGE_ACTIVATIONS : PL_CHANGE_ALL;
}

static void add_life(const pl_step_life *x, int n_steps, pl_memory_changes *c)
{
    for (int k = pl_step_life_sum(x);; k = x->sum) {
        c->of[k][x->first] += x->bytes;
        if (x->end < n_steps) c->of[k][x->end] -= x->bytes;
        if (k == x->sum) break;
    }
}

pl_memory_changes pl_forecast_changes(const pl_program *p, pl_arena *out)
{
    replay r = { .p = p, .tmp = pl_arena_new("memory forecast") };
    const bool *gradient = find_gradients(p->plan->graph, r.tmp);
    pl_memory_changes c;
    for (int k = 0; k < PL_N_CHANGES; k++) c.of[k] = PL_NEW_N(out, int64_t, p->n_steps + 1);
    r.again = pl_forecast_again(p, r.tmp);
    find_arrivals(&r);
    find_copied(&r);
    if (p->n_steps) replay_steps(&r);
    pl_step_life *at = PL_NEW_N(out, pl_step_life, r.lives.n + 1);
    c.n_lives = 0;
    for (int k = 0; k < r.lives.n; k++) {
        const life *x = &r.lives.at[k];
        if (x->last < x->first) continue;
        at[c.n_lives] =
            (pl_step_life){ x->value, x->first, x->last + 1, kind_of(x, gradient), life_bytes(x) };
        add_life(&at[c.n_lives++], p->n_steps, &c);
    }
    c.life = at;
    pl_arena_free(r.tmp);
    return c;
}

/* -- the moment with the most ------------------------------------------------------------------ */

static void count_states(const pl_timeline *t, pl_forecast_memory *m)
{
    const pl_account states = pl_account_states(t->program->store);
    m->weights = states.weights + t->more[PL_WEIGHT] + t->more[PL_BUFFER] + t->more[PL_ROWS];
    m->optimizer = states.optimizer + t->more[PL_MOMENT] + t->more[PL_MASTER];
    m->sums = states.gradients + t->more[PL_GRAD_SUM];
    m->gradients = m->sums;
}

/* Of the program as it stands. */
static int64_t most_of(const pl_program *p, const pl_memory_changes *c, int sum)
{
    int64_t now = 0, most = 0;
    for (int i = 0; i < p->n_steps; i++) {
        now += c->of[sum][i];
        if (now > most) most = now;
    }
    return most;
}

/* What the layout leaves unused where most is live is taken to be as much for more blocks. */
void pl_forecast_peak(const pl_timeline *t, const pl_memory_changes *c, pl_forecast *f)
{
    const pl_program *p = t->program;
    pl_forecast_memory m = { 0 };
    int64_t now[PL_N_CHANGES] = { 0 }, most[PL_N_CHANGES] = { 0 }, host = 0;
    f->peak_step = 0;
    for (int u = 0; u < t->n; u++) {
        for (int k = 0; k < PL_N_CHANGES; k++)
            now[k] += c->of[k][t->step[u]] + (t->extra[k] ? t->extra[k][t->step[u]] : 0);
        if (f->live) f->live[u] = now[PL_CHANGE_ALL];
        if (now[PL_CHANGE_HOST] > host) host = now[PL_CHANGE_HOST];
        if (u && now[PL_CHANGE_ALL] <= most[PL_CHANGE_ALL]) continue;
        memcpy(most, now, sizeof most);
        f->peak_step = u;
    }
    count_states(t, &m);
    m.peak = p->store->bytes + t->more_bytes + most[PL_CHANGE_ALL] + p->work_bytes -
             most_of(p, c, PL_CHANGE_ALL);
    m.host =
        p->store->host_bytes + t->more_host + host + p->host_bytes - most_of(p, c, PL_CHANGE_HOST);
    m.gradients += most[PL_CHANGE_GRADIENTS];
    m.activations = most[PL_CHANGE_ACTIVATIONS];
    m.buffers = most[PL_CHANGE_BUFFERS];
    m.transient = m.peak - m.weights - m.optimizer - m.gradients - m.activations - m.buffers;
    f->memory = m;
}

void pl_forecast_live(const pl_timeline *plain, pl_arena *out, pl_forecast *f)
{
    pl_arena *tmp = pl_arena_new("live");
    const pl_memory_changes c = pl_forecast_changes(plain->program, tmp);
    f->live = PL_NEW_N(out, int64_t, plain->n + 1);
    pl_forecast_peak(plain, &c, f);
    pl_arena_free(tmp);
}

void pl_forecast_memory_make(const pl_program *p, pl_arena *out, pl_forecast *f)
{
    pl_arena *tmp = pl_arena_new("peak");
    const pl_timeline t = pl_timeline_plain(p, tmp);
    pl_forecast_live(&t, out, f);
    pl_arena_free(tmp);
}
