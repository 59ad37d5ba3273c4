/* Programs of graphs in micro-batches: which steps run after the last one alone, pl_lower_once(),
 * and what the others run without them: pl_program_micro(), pl_timeline_micro(). */
#include "graph/op.h"
#include "plan/terms.h"
#include "program/lower.h"
#include "program/repeat.h"

/* -- which steps ------------------------------------------------------------------------------- */

static bool is_update(const pl_node *n)
{
    return n && n->phase == PL_UPDATE;
}

/* Every micro-batch needs a task, and what makes what that reads. */
static void need(lowering *l, int id, ints *todo)
{
    if (id < 0 || !l->tasks.at[id].once) return;
    l->tasks.at[id].once = false;
    PL_PUSH(l->tmp, todo, id);
}

/* What goes to another stage once for all micro-batches, though nodes read it in each. */
static void mark_sent_once(lowering *l)
{
    const bool *once = pl_terms_once(l->plan->graph, l->plan->stages, l->tmp);
    for (int id = 0; id < l->tasks.n; id++) {
        task *t = &l->tasks.at[id];
        if (t->kind == TASK_STAGE && once[t->step.transfer->value->id]) t->once = true;
    }
}

void pl_lower_once(lowering *l)
{
    const pl_graph *g = l->plan->graph;
    ints todo = { 0 };
    if (g->micro == 1) return;
    for (int id = 0; id < l->tasks.n; id++) l->tasks.at[id].once = true;
    for (int id = 0; id < l->tasks.n; id++)
        if (l->tasks.at[id].kind == TASK_NODE && !is_update(l->tasks.at[id].step.share->node))
            need(l, id, &todo);
    for (int i = 0; i < g->outputs.n; i++)
        if (!is_update(g->outputs.at[i]->maker)) need(l, l->parts.at[l->output[i]].maker, &todo);
    for (int i = 0; i < g->values.n; i++) {
        const pl_value *next = g->values.at[i]->next;
        if (pl_lower_changes(l, g->values.at[i]) && !is_update(next->maker))
            need(l, l->parts.at[l->final[i]].maker, &todo);
    }
    while (todo.n) {
        const task *t = &l->tasks.at[todo.at[--todo.n]];
        for (int k = 0; k < t->n_in; k++) need(l, l->parts.at[t->in[k]].maker, &todo);
    }
    if (l->plan->stages) mark_sent_once(l);
}

/* -- without them ------------------------------------------------------------------------------ */

/* How many of the first so many of a lane run in every micro-batch. */
typedef struct counts {
    int *messages, *computes;
    int n_messages, n_computes; /* of the lane so far: all */
} counts;

static void count_step(counts *c, const pl_step *x)
{
    int *to = pl_step_is_compute(x) ? &c->computes[++c->n_computes] : &c->messages[++c->n_messages];
    *to = to[-1] + !x->once;
}

static counts new_counts(int n, pl_arena *out)
{
    return (counts){ .messages = PL_NEW_N(out, int, n + 1), .computes = PL_NEW_N(out, int, n + 1) };
}

pl_timeline pl_timeline_micro(const pl_timeline *t, pl_arena *out)
{
    pl_timeline x = *t;
    counts c = new_counts(t->n, out);
    for (int i = 0; i < t->n; i++) count_step(&c, &t->program->step[t->step[i]]);
    x.step = PL_NEW_N(out, int, t->n + 1);
    x.wait = PL_NEW_N(out, int, t->n + 1);
    x.after = PL_NEW_N(out, int, t->n + 1);
    x.n = 0;
    for (int i = 0; i < t->n; i++) {
        if (t->program->step[t->step[i]].once) continue;
        x.step[x.n] = t->step[i];
        x.wait[x.n] = c.messages[t->wait[i]];
        x.after[x.n++] = c.computes[t->after[i]];
    }
    x.n_messages = c.messages[t->n_messages];
    x.n_computes = c.computes[t->n_computes];
    return x;
}

static void keep_outputs(const pl_program *p, pl_program *x, pl_arena *out)
{
    x->output = PL_NEW_N(out, pl_port, p->n_outputs + 1);
    x->n_outputs = 0;
    for (int i = 0; i < p->n_outputs; i++)
        if (!is_update(p->output[i].value->maker)) x->output[x->n_outputs++] = p->output[i];
}

pl_program *pl_program_micro(const pl_program *p, pl_arena *out)
{
    pl_program *x = PL_NEW(out, pl_program);
    const pl_timeline all = pl_timeline_plain(p, out), t = pl_timeline_micro(&all, out);
    *x = *p;
    x->micro = true;
    x->step = PL_NEW_N(out, pl_step, t.n + 1);
    x->n_steps = t.n, x->n_compute = t.n_computes, x->n_messages = t.n_messages;
    x->message_bytes = 0;
    x->flops = 0;
    for (int i = 0; i < t.n; i++) {
        pl_step *s = &x->step[i];
        *s = p->step[t.step[i]];
        s->wait = t.wait[i], s->after = t.after[i];
        if (pl_step_is_between(s)) x->message_bytes += s->bytes;
        if (s->kind == PL_KERNEL) x->flops += pl_op_flops(s->share);
    }
    keep_outputs(p, x, out);
    return x;
}
