/* Storages and readers of a problem, as arrays. */
#include "evict/items.h"

bool pl_evict_items_is_view(const pl_evict_items *x, int value)
{
    return x->problem->view_of && x->problem->view_of[value] >= 0;
}

static int find_root(const pl_evict_problem *p, int v)
{
    while (p->view_of && p->view_of[v] >= 0) v = p->view_of[v];
    return v;
}

static void add_items(pl_evict_items *x, pl_arena *arena)
{
    const pl_evict_problem *p = x->problem;
    x->item_of = PL_NEW_N(arena, int, p->n_value);
    x->item = PL_NEW_N(arena, pl_evict_item, p->n_value);
    for (int v = 0; v < p->n_value; v++)
        if (!pl_evict_items_is_view(x, v)) {
            int t = p->maker[v];
            x->item_of[v] = x->n_item;
            x->item[x->n_item++] =
                (pl_evict_item){ .root = v,
                                 .bytes = p->bytes[v],
                                 .born = t,
                                 .last = t,
                                 .again = t >= 0 && !(p->once && p->once[t]) && p->most_runs != 1,
                                 .again_seconds = t >= 0 ? p->seconds[t] : 0 };
        }
    for (int v = 0; v < p->n_value; v++) {
        int i = x->item_of[v] = x->item_of[find_root(p, v)];
        pl_evict_item *m = &x->item[i];
        uint8_t keep = p->keep ? p->keep[v] : 0;
        m->pinned = m->pinned || (keep & PL_EVICT_PINNED);
        m->at_end = m->at_end || (keep & PL_EVICT_AT_END);
        if (p->held && p->held[v] > m->held) m->held = p->held[v];
        if (!pl_evict_items_is_view(x, v)) continue;
        m->again_seconds += p->seconds[p->maker[v]];
        if (p->most_runs || (p->once && p->once[p->maker[v]])) m->again = false;
    }
    x->value_at = PL_NEW_N(arena, int, x->n_item + 1);
    x->value = PL_NEW_N(arena, int, p->n_value);
    for (int v = 0; v < p->n_value; v++) x->value_at[x->item_of[v] + 1]++;
    for (int i = 0; i < x->n_item; i++) x->value_at[i + 1] += x->value_at[i];
    int *fill = PL_NEW_N(arena, int, x->n_item);
    for (int v = 0; v < p->n_value; v++)
        if (!pl_evict_items_is_view(x, v))
            x->value[x->value_at[x->item_of[v]] + fill[x->item_of[v]]++] = v;
    for (int v = 0; v < p->n_value; v++)
        if (pl_evict_items_is_view(x, v))
            x->value[x->value_at[x->item_of[v]] + fill[x->item_of[v]]++] = v;
}

static void add_makes(pl_evict_items *x, pl_arena *arena)
{
    const pl_evict_problem *p = x->problem;
    x->make_at = PL_NEW_N(arena, int, p->n_op + 1);
    x->make = PL_NEW_N(arena, int, p->n_value);
    x->out_at = PL_NEW_N(arena, int, p->n_op + 1);
    x->out = PL_NEW_N(arena, int, p->n_value);
    x->made = PL_NEW_N(arena, int64_t, p->n_op);
    for (int v = 0; v < p->n_value; v++)
        if (p->maker[v] >= 0) x->make_at[p->maker[v] + 1]++;
    for (int t = 0; t < p->n_op; t++) x->make_at[t + 1] += x->make_at[t];
    int *fill = PL_NEW_N(arena, int, p->n_op);
    for (int v = 0; v < p->n_value; v++) {
        int t = p->maker[v];
        if (t < 0) continue;
        x->make[x->make_at[t] + fill[t]++] = v;
        x->made[t] += p->bytes[v];
    }
    for (int t = 0; t < p->n_op; t++) {
        x->out_at[t + 1] = x->out_at[t];
        for (int k = x->make_at[t]; k < x->make_at[t + 1]; k++)
            if (!pl_evict_items_is_view(x, x->make[k]))
                x->out[x->out_at[t + 1]++] = x->item_of[x->make[k]];
    }
}

/* Items read by each op, and ops that touch each item. */
static void add_uses(pl_evict_items *x, pl_arena *arena)
{
    const pl_evict_problem *p = x->problem;
    int *seen = PL_NEW_N(arena, int, x->n_item);
    x->in_at = PL_NEW_N(arena, int, p->n_op + 1);
    x->in = PL_NEW_N(arena, int, p->read_at[p->n_op]);
    x->use_at = PL_NEW_N(arena, int, x->n_item + 1);
    for (int i = 0; i < x->n_item; i++) x->use_at[i + 1] = x->item[i].born >= 0;
    for (int t = 0; t < p->n_op; t++) {
        x->in_at[t + 1] = x->in_at[t];
        for (int k = p->read_at[t]; k < p->read_at[t + 1]; k++) {
            int i = x->item_of[p->read[k]];
            if (seen[i] == t + 1) continue;
            seen[i] = t + 1;
            x->in[x->in_at[t + 1]++] = i;
            x->use_at[i + 1]++;
            x->item[i].last = t;
        }
    }
    for (int i = 0; i < x->n_item; i++) x->use_at[i + 1] += x->use_at[i];
    x->use = PL_NEW_N(arena, int, x->use_at[x->n_item]);
    int *fill = PL_NEW_N(arena, int, x->n_item);
    for (int t = 0; t < p->n_op; t++) {
        for (int k = x->out_at[t]; k < x->out_at[t + 1]; k++)
            x->use[x->use_at[x->out[k]] + fill[x->out[k]]++] = t;
        for (int k = x->in_at[t]; k < x->in_at[t + 1]; k++)
            x->use[x->use_at[x->in[k]] + fill[x->in[k]]++] = t;
    }
    for (int i = 0; i < x->n_item; i++) {
        pl_evict_item *m = &x->item[i];
        if (m->at_end) m->last = p->n_op;
        int least = m->last < p->n_op ? m->last + 1 : p->n_op;
        if (!p->held || m->held < least || m->at_end) m->held = least;
    }
}

pl_evict_items *pl_evict_items_new(const pl_evict_problem *problem, pl_arena *arena)
{
    pl_evict_items *x = PL_NEW(arena, pl_evict_items);
    x->problem = problem;
    x->n_op = problem->n_op;
    x->n_value = problem->n_value;
    add_items(x, arena);
    add_makes(x, arena);
    add_uses(x, arena);
    return x;
}

/* Bytes present while each op runs where each item goes before op gone(item). */
static int64_t sum_peak(const pl_evict_items *x, bool held, int64_t *change)
{
    for (int t = 0; t <= x->n_op; t++) change[t] = 0;
    for (int i = 0; i < x->n_item; i++) {
        const pl_evict_item *m = &x->item[i];
        int gone = held ? m->held : m->pinned ? x->n_op : m->last + 1;
        change[m->born < 0 ? 0 : m->born] += m->bytes;
        if (gone <= x->n_op) change[gone] -= m->bytes;
    }
    int64_t now = 0, peak = 0;
    for (int t = 0; t < x->n_op; t++) {
        now += change[t];
        peak = now > peak ? now : peak;
    }
    return peak;
}

static pl_evict_facts measure(const pl_evict_problem *p, pl_arena *tmp)
{
    const pl_evict_items *x = pl_evict_items_new(p, tmp);
    int64_t *change = PL_NEW_N(tmp, int64_t, x->n_op + 1);
    pl_evict_facts f = { .peak = sum_peak(x, false, change),
                         .held_peak = sum_peak(x, true, change) };
    int64_t pinned = 0;
    for (int i = 0; i < x->n_item; i++)
        if (x->item[i].pinned && x->item[i].born < 0) pinned += x->item[i].bytes;
    for (int t = 0; t < x->n_op; t++) {
        int64_t need = pinned + x->made[t];
        for (int k = x->in_at[t]; k < x->in_at[t + 1]; k++)
            need += x->item[x->in[k]].pinned ? 0 : x->item[x->in[k]].bytes;
        for (int k = x->out_at[t]; k < x->out_at[t + 1]; k++)
            pinned += x->item[x->out[k]].pinned ? x->item[x->out[k]].bytes : 0;
        if (need > f.need) {
            f.need = need;
            f.need_op = t;
        }
        f.seconds += p->seconds[t];
    }
    return f;
}

pl_evict_facts pl_evict_measure(const pl_evict_problem *problem)
{
    pl_arena *tmp = pl_arena_new("evict measure");
    pl_evict_facts f = measure(problem, tmp);
    pl_arena_free(tmp);
    return f;
}
