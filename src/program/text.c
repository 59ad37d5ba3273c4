/* The text form of a program. It stands beside its plan, which has the graph, the mesh and what
 * each rank computes; so a line names nodes and tensors, and gives what the lowering has decided:
 * steps, their order, places and waits. Start at pl_program_print. */
#include "graph/op.h"
#include "reshard/move.h"
#include "plan/steps.h"
#include "program/program.h"
#include "program/summary.h"

#include <stdio.h>
#include <string.h>

static const char *const kinds[] = { "kernel", "message", "copy", "fill", "fold", "on-host" };
static const char *const forms[] = { "from", "outgoing", "incoming", "to" };
static const char *const monoids[PL_N_MONOIDS] = { "sum", "max", "min" };

/* -- print ------------------------------------------------------------------------------------- */

static void print_slot(const pl_slot *s, pl_text *out)
{
    pl_text_add(out, " %s%c%lld", s->host ? "h" : "", s->state ? 's' : 'w', (long long)s->at);
}

/* "data,tensor"; those of a copy to or from the host are none. */
static const char *axes_text(const pl_program *p, unsigned axes, pl_arena *a)
{
    return axes ? pl_summary_axes(a, &p->plan->mesh, axes) : "-";
}

static void print_port(const pl_program *p, const char *what, const pl_port *x, pl_text *out)
{
    const char *where =
        pl_placement_text(out->arena, &x->where, &p->plan->mesh, x->value->shape.rank);
    pl_text_add(out, "%s %s %s", what, x->value->name, where);
    print_slot(&x->slot, out);
    pl_text_add(out, " bytes %lld\n", (long long)x->bytes);
}

static void print_transfer(const pl_program *p, int number, const pl_transfer *t, pl_text *out)
{
    const pl_mesh *mesh = &p->plan->mesh;
    const int rank = t->value->shape.rank;
    pl_text_add(out, "transfer %d %s %s over %s %s %s", number, t->value->name,
                pl_collective_name(t->move.kind), axes_text(p, t->move.axes, out->arena),
                pl_placement_text(out->arena, &t->move.from, mesh, rank),
                pl_placement_text(out->arena, &t->move.to, mesh, rank));
    if (t->shift) pl_text_add(out, " shift %d", t->shift);
    pl_text_add(out, "\n");
}

/* The transfers of the steps so far, in the order of their numbers. */
typedef struct transfers {
    int n;
    const pl_transfer **at;
} transfers;

/* Its number; a new one gets a line of its own. */
static int number_transfer(const pl_program *p, transfers *seen, const pl_transfer *t, pl_text *out)
{
    for (int i = seen->n - 1; i >= 0; i--)
        if (seen->at[i] == t) return i;
    print_transfer(p, seen->n, t, out);
    seen->at[seen->n] = t;
    return seen->n++;
}

static void print_copy(const pl_copy *c, pl_text *out)
{
    pl_text_add(out, " copy %lld %lld %lld", (long long)c->bytes, (long long)c->from_at,
                (long long)c->to_at);
    for (int k = 0; k < c->n; k++)
        pl_text_add(out, " x%lld,%lld,%lld", (long long)c->count[k], (long long)c->from[k],
                    (long long)c->to[k]);
}

static void print_elements(const pl_step *x, pl_text *out)
{
    pl_text_add(out, " %lld %s", (long long)x->count, pl_type_name(x->type));
    if (x->monoid) pl_text_add(out, " %s", monoids[x->monoid]);
}

static void print_step(const pl_program *p, const pl_step *x, transfers *seen, pl_text *out)
{
    const int moved = x->transfer ? number_transfer(p, seen, x->transfer, out) : -1;
    pl_text_add(out, "%s", kinds[x->kind]);
    if (pl_step_is_kernel(x))
        pl_text_add(out, " %s = %s", x->share->node->out[0]->name, x->share->node->op->name);
    if (x->kind == PL_HOST_KERNEL) pl_text_add(out, " after %d", x->after);
    if (x->kind == PL_MESSAGE)
        pl_text_add(out, " %s over %s peer %d bytes %lld after %d",
                    pl_collective_name(x->collective), axes_text(p, x->axes, out->arena), x->peer,
                    (long long)x->bytes, x->after);
    if (x->kind == PL_MESSAGE || x->kind == PL_FILL || x->kind == PL_FOLD) print_elements(x, out);
    if (moved >= 0) pl_text_add(out, " transfer %d %s %s", moved, forms[x->from], forms[x->to]);
    if (x->piece)
        pl_text_add(out, " block %d of %d over %c operand %d of %s", x->piece->i, x->piece->n,
                    x->piece->node->sig->factor[x->piece->factor].letter, x->piece->operand,
                    x->piece->node->out[0]->name);
    if (x->wait) pl_text_add(out, " wait %d", x->wait);
    if (x->once) pl_text_add(out, " once");
    pl_text_add(out, " (");
    for (int i = 0; i < x->n_in; i++) print_slot(&x->in[i], out);
    pl_text_add(out, " ->");
    for (int i = 0; i < x->n_out; i++) print_slot(&x->out[i], out);
    pl_text_add(out, " )");
    for (int i = 0; i < x->n_copies; i++) print_copy(&x->copy[i], out);
    pl_text_add(out, " : %s\n", x->label);
}

void pl_program_print(const pl_program *p, pl_text *out)
{
    transfers seen = { .at = PL_NEW_N(out->arena, const pl_transfer *, p->n_steps + 1) };
    pl_text_add(out, "program rank %d of %d\nstore %lld\n", p->rank, p->n_ranks,
                (long long)p->store->bytes);
    pl_text_add(out, "work %lld bound %lld order %lld", (long long)p->work_bytes,
                (long long)p->work_bound, (long long)p->order_bound);
    if (p->host_bytes) pl_text_add(out, " host %lld", (long long)p->host_bytes);
    pl_text_add(out, "\n");
    for (int i = 0; i < p->n_inputs; i++) print_port(p, "input", &p->input[i], out);
    for (int i = 0; i < p->n_outputs; i++) print_port(p, "output", &p->output[i], out);
    for (int i = 0; i < p->n_steps; i++) print_step(p, &p->step[i], &seen, out);
}

/* -- parse ------------------------------------------------------------------------------------- */

typedef struct reader {
    const char *at; /* of the line, after the last word      */
    int line;
    const pl_plan *plan;
    pl_program *p;
    pl_arena *out;
    int n_transfers;
    pl_transfer **transfer;
    pl_err *err;
} reader;

static bool bad(reader *r, const char *what, const char *word)
{
    return pl_err_set(r->err, PL_EINPUT, "%s '%s'", what, word && *word ? word : "(end of line)");
}

/* The next word of the line; "" at its end. */
static const char *read_word(reader *r)
{
    while (*r->at == ' ') r->at++;
    const char *from = r->at;
    r->at += strcspn(from, " \n");
    return pl_arena_span(r->out, from, (size_t)(r->at - from));
}

/* Is the next word this one? Then it is read. */
static bool take(reader *r, const char *word)
{
    const char *before = r->at;
    if (!strcmp(read_word(r), word)) return true;
    r->at = before;
    return false;
}

static bool expect(reader *r, const char *word)
{
    return take(r, word) ||
           bad(r, pl_arena_fmt(r->out, "expected '%s', found", word), read_word(r));
}

static bool read_number(reader *r, int64_t *x)
{
    const char *word = read_word(r);
    return (pl_text_int(word, x) && *x >= 0) || bad(r, "expected a number, found", word);
}

static bool read_int(reader *r, int *x)
{
    int64_t wide;
    PL_TRY(read_number(r, &wide));
    *x = (int)wide;
    return wide <= INT32_MAX || bad(r, "too large a number before", read_word(r));
}

/* One of n words; its number. */
static bool read_one(reader *r, int n, const char *const words[], const char *what, int *x)
{
    const char *word = read_word(r);
    for (*x = 0; *x < n; ++*x)
        if (!strcmp(words[*x], word)) return true;
    return bad(r, pl_arena_fmt(r->out, "expected %s, found", what), word);
}

static bool read_value(reader *r, const pl_value **v)
{
    const char *word = read_word(r);
    *v = pl_graph_find(r->plan->graph, word);
    return *v || bad(r, "the graph has no tensor", word);
}

static bool read_node(reader *r, const pl_node **node)
{
    const pl_value *v;
    PL_TRY(read_value(r, &v));
    *node = v->maker;
    return *node || bad(r, "not made by an operator:", v->name);
}

static bool read_slot(reader *r, pl_slot *s)
{
    const char *word = read_word(r), *at = word + (*word == 'h');
    s->host = *word == 'h';
    s->state = *at == 's';
    return ((s->state || *at == 'w') && pl_text_int(at + 1, &s->at) && s->at >= 0) ||
           bad(r, "expected a place like s0, w64 or hs128, found", word);
}

static bool read_placement(reader *r, pl_placement *out)
{
    return pl_placement_parse(read_word(r), &r->plan->mesh, out, r->err);
}

/* "data,tensor" */
static bool read_axes(reader *r, unsigned *axes)
{
    const char *word = read_word(r);
    *axes = 0;
    if (!strcmp(word, "-")) return true;
    for (const char *at = word; *at; at += *at == ',') {
        size_t n = strcspn(at, ",");
        int a = pl_mesh_find(&r->plan->mesh, pl_arena_span(r->out, at, n));
        if (a < 0) return bad(r, "the mesh lacks an axis of", word);
        *axes |= 1u << a;
        at += n;
    }
    return *axes || bad(r, "expected axes of the mesh, found", word);
}

static bool parse_port(reader *r, pl_port *x)
{
    const pl_mesh *mesh = &r->plan->mesh;
    PL_TRY(read_value(r, &x->value));
    PL_TRY(read_placement(r, &x->where));
    PL_TRY(pl_placement_check(&x->where, mesh, &x->value->shape, r->err));
    PL_TRY(read_slot(r, &x->slot) && expect(r, "bytes") && read_number(r, &x->bytes));
    x->shape = pl_placement_local(&x->where, mesh, &x->value->shape, r->p->rank);
    x->region = pl_region_new(&x->where, mesh, &x->value->shape, r->p->rank, r->out);
    return true;
}

static bool read_collective(reader *r, const char *what, pl_collective *out)
{
    const char *names[PL_N_COLLECTIVES];
    int which;
    for (int k = 0; k < PL_N_COLLECTIVES; k++) names[k] = pl_collective_name((pl_collective)k);
    PL_TRY(read_one(r, PL_N_COLLECTIVES, names, what, &which));
    *out = (pl_collective)which;
    return true;
}

static bool parse_transfer(reader *r)
{
    pl_transfer *t = PL_NEW(r->out, pl_transfer);
    int number;
    PL_TRY(read_int(r, &number) && read_value(r, &t->value));
    if (number != r->n_transfers) return bad(r, "not the next transfer's number:", t->value->name);
    PL_TRY(read_collective(r, "a move", &t->move.kind) && expect(r, "over"));
    PL_TRY(read_axes(r, &t->move.axes));
    PL_TRY(read_placement(r, &t->move.from) && read_placement(r, &t->move.to));
    PL_TRY(!take(r, "shift") || read_int(r, &t->shift));
    PL_TRY(pl_placement_check(&t->move.from, &r->plan->mesh, &t->value->shape, r->err));
    PL_TRY(pl_placement_check(&t->move.to, &r->plan->mesh, &t->value->shape, r->err));
    if (!pl_move_price(&t->move, t->value->type, &r->plan->mesh, &t->value->shape))
        return bad(r, "no such move of", t->value->name);
    r->transfer[r->n_transfers++] = t;
    return true;
}

static bool parse_message(reader *r, pl_step *x)
{
    PL_TRY(read_collective(r, "a collective", &x->collective));
    PL_TRY(expect(r, "over") && read_axes(r, &x->axes));
    PL_TRY(expect(r, "peer") && read_int(r, &x->peer));
    PL_TRY(expect(r, "bytes") && read_number(r, &x->bytes));
    return expect(r, "after") && read_int(r, &x->after);
}

static bool parse_elements(reader *r, pl_step *x)
{
    PL_TRY(read_number(r, &x->count));
    const char *type = read_word(r);
    if (!pl_type_find(type, &x->type)) return bad(r, "expected a type, found", type);
    for (pl_monoid m = 1; m < PL_N_MONOIDS; m++)
        if (take(r, monoids[m])) x->monoid = m;
    return true;
}

static bool parse_moved(reader *r, pl_step *x)
{
    int number, from, to;
    PL_TRY(read_int(r, &number));
    if (number >= r->n_transfers) return bad(r, "no such transfer yet, before", read_word(r));
    PL_TRY(read_one(r, 4, forms, "a form", &from) && read_one(r, 4, forms, "a form", &to));
    x->transfer = r->transfer[number];
    x->from = (pl_form)from, x->to = (pl_form)to;
    return true;
}

static bool parse_piece(reader *r, pl_step *x)
{
    pl_piece *piece = PL_NEW(r->out, pl_piece);
    PL_TRY(read_int(r, &piece->i) && expect(r, "of") && read_int(r, &piece->n));
    PL_TRY(expect(r, "over"));
    const char *letter = read_word(r);
    PL_TRY(expect(r, "operand") && read_int(r, &piece->operand));
    PL_TRY(expect(r, "of") && read_node(r, &piece->node));
    piece->factor = *letter && !letter[1] ? pl_sig_find(piece->node->sig, *letter) : -1;
    if (piece->factor < 0) return bad(r, "the node has no factor", letter);
    x->piece = piece;
    return true;
}

/* What the rank computes in this step: its share, or one block of it. */
static bool find_share(reader *r, const pl_node *node, pl_step *x)
{
    pl_share *share = PL_NEW(r->out, pl_share);
    pl_steps steps;
    if (!x->piece)
        *share = pl_plan_share(r->plan, node->id, r->p->rank);
    else if (pl_steps_find(r->plan, node, x->piece->factor, x->piece->n, &steps))
        *share = pl_steps_share(&steps, r->p->rank, x->piece->i);
    else
        return bad(r, "there are no such steps of", node->name);
    x->share = share;
    r->p->flops += pl_op_flops(share);
    return true;
}

static bool parse_slots(reader *r, pl_step *x)
{
    PL_TRY(expect(r, "("));
    for (; !take(r, "->"); x->n_in++) {
        if (x->n_in == PL_MAX_OPERANDS) return bad(r, "too many places at", read_word(r));
        PL_TRY(read_slot(r, &x->in[x->n_in]));
    }
    for (; !take(r, ")"); x->n_out++) {
        if (x->n_out == PL_MAX_OPERANDS) return bad(r, "too many places at", read_word(r));
        PL_TRY(read_slot(r, &x->out[x->n_out]));
    }
    return true;
}

/* "copy 64 0 128 x4,64,256" */
static bool parse_copy(reader *r, pl_copy *c)
{
    PL_TRY(read_number(r, &c->bytes) && read_number(r, &c->from_at) && read_number(r, &c->to_at));
    for (; r->at[0] == ' ' && r->at[1] == 'x'; c->n++) {
        const char *word = read_word(r);
        long long count, from, to;
        int used = 0;
        if (c->n == PL_COPY_LOOPS ||
            sscanf(word, "x%18lld,%18lld,%18lld%n", &count, &from, &to, &used) != 3 || word[used])
            return bad(r, "expected a loop xCOUNT,FROM,TO, found", word);
        c->count[c->n] = count, c->from[c->n] = from, c->to[c->n] = to;
    }
    return true;
}

static bool parse_copies(reader *r, pl_step *x)
{
    pl_copy *copy = PL_NEW_N(r->out, pl_copy, strcspn(r->at, "\n") / strlen("copy 0 0 0") + 1);
    x->copy = copy;
    for (; take(r, "copy"); x->n_copies++) PL_TRY(parse_copy(r, &copy[x->n_copies]));
    return true;
}

/* Each message and each step that computes is of one of the two lanes. */
static bool parse_step(reader *r, pl_step_kind kind)
{
    pl_program *p = r->p;
    pl_step *x = &p->step[p->n_steps++];
    const pl_node *node = NULL;
    *x = (pl_step){ .kind = kind };
    if (pl_step_is_kernel(x))
        PL_TRY(read_node(r, &node) && expect(r, "=") && expect(r, node->op->name));
    if (kind == PL_HOST_KERNEL) PL_TRY(expect(r, "after") && read_int(r, &x->after));
    if (kind == PL_MESSAGE) PL_TRY(parse_message(r, x));
    if (kind == PL_MESSAGE || kind == PL_FILL || kind == PL_FOLD) PL_TRY(parse_elements(r, x));
    if (take(r, "transfer")) PL_TRY(parse_moved(r, x));
    if (take(r, "block")) PL_TRY(parse_piece(r, x));
    if (take(r, "wait")) PL_TRY(read_int(r, &x->wait));
    x->once = take(r, "once");
    if (node) PL_TRY(find_share(r, node, x));
    PL_TRY(parse_slots(r, x) && parse_copies(r, x) && expect(r, ":"));
    while (*r->at == ' ') r->at++;
    const size_t n = strcspn(r->at, "\n");
    x->label = pl_arena_span(r->out, r->at, n);
    r->at += n;
    *(pl_step_is_compute(x) ? &p->n_compute : &p->n_messages) += 1;
    if (!pl_step_is_host(x)) p->message_bytes += x->bytes;
    return true;
}

static bool parse_line(reader *r)
{
    pl_program *p = r->p;
    int kind;
    if (take(r, "input")) return parse_port(r, &p->input[p->n_inputs++]);
    if (take(r, "output")) return parse_port(r, &p->output[p->n_outputs++]);
    if (take(r, "transfer")) return parse_transfer(r);
    PL_TRY(read_one(r, sizeof kinds / sizeof *kinds, kinds,
                    "input, output, transfer or a kind of step", &kind));
    return parse_step(r, (pl_step_kind)kind);
}

static bool end_line(reader *r)
{
    const char *word = read_word(r);
    if (*word) return bad(r, "unexpected", word);
    r->at += *r->at == '\n';
    r->line++;
    return true;
}

static bool parse_head(reader *r)
{
    pl_program *p = r->p;
    int64_t bytes;
    PL_TRY(expect(r, "program") && expect(r, "rank") && read_int(r, &p->rank));
    PL_TRY(expect(r, "of") && read_int(r, &p->n_ranks));
    if (p->n_ranks != pl_mesh_ranks(&r->plan->mesh) || p->rank >= p->n_ranks)
        return bad(r, "no rank of the plan:", pl_arena_fmt(r->out, "%d", p->rank));
    p->store = pl_store_new(r->plan, p->rank, r->out);
    PL_TRY(end_line(r) && expect(r, "store") && read_number(r, &bytes));
    if (bytes != p->store->bytes) return bad(r, "not the states of the plan:", "store");
    PL_TRY(end_line(r) && expect(r, "work") && read_number(r, &p->work_bytes));
    PL_TRY(expect(r, "bound") && read_number(r, &p->work_bound));
    PL_TRY(expect(r, "order") && read_number(r, &p->order_bound));
    PL_TRY(!take(r, "host") || read_number(r, &p->host_bytes));
    return end_line(r);
}

bool pl_program_parse(const char *text, const pl_plan *plan, pl_arena *out, pl_program **program,
                      pl_err *err)
{
    pl_program *p = *program = PL_NEW(out, pl_program);
    reader r = { .at = text, .line = 1, .plan = plan, .p = p, .out = out, .err = err };
    int lines = 1;
    for (const char *at = text; (at = strchr(at, '\n')); at++) lines++;
    *p = (pl_program){ .plan = plan };
    p->step = PL_NEW_N(out, pl_step, lines);
    p->input = PL_NEW_N(out, pl_port, lines);
    p->output = PL_NEW_N(out, pl_port, lines);
    r.transfer = PL_NEW_N(out, pl_transfer *, lines);
    bool ok = parse_head(&r);
    while (ok && *r.at) ok = parse_line(&r) && end_line(&r);
    return ok || pl_err_in(err, "line %d", r.line);
}
