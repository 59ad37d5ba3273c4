/* What a plan does with one operator or tensor, and what else it could do: as text and JSON. */
#include "api/job.h"
#include "base/table.h"
#include "graph/op.h"
#include "program/summary.h"
#include "report/why.h"
#include "report/words.h"
#include "train/optim.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct view {
    const char *asked, *name; /* as it was asked for; of all blocks alike */
    const pl_job *job;
    const pl_candidate *about; /* which plan */
    const pl_mesh *mesh;
    pl_reason r;
    const pl_value *value;
    const pl_node *node; /* NULL: a tensor is asked about */
    pl_alternatives choices;
    pl_reason_tensor way;
    bool has_way; /* false: a single number */
    int columns;  /* of a line of text */
    pl_text *out;
    pl_arena *arena;
} view;

/* -- finding ----------------------------------------------------------------------------------- */

/* Is the number at `at` in "{0,2-5,...,9}"? */
static bool is_in(const char *set, const char *at)
{
    const long long n = strtoll(at, NULL, 10);
    long long last = -1;
    bool open = false; /* behind "..." */
    while (*set == '{' || *set == ',') {
        char *end;
        if (!strncmp(++set, "...", 3)) {
            open = true;
            set += 3;
            continue;
        }
        const long long from = strtoll(set, &end, 10);
        const long long to = *end == '-' ? strtoll(end + 1, &end, 10) : from;
        if ((n >= from && n <= to) || (open && n > last && n < from)) return true;
        last = to, open = false, set = end;
    }
    return false;
}

/* "*" stands for letters, digits and "_", "{0,2-5}" for one of these numbers. */
static bool matches(const char *pattern, const char *name)
{
    for (; *pattern && *pattern != '*' && *pattern != '{'; pattern++, name++)
        if (*pattern != *name) return false;
    if (!*pattern) return !*name;
    if (*pattern == '{') {
        const char *after = strchr(pattern, '}');
        return after && isdigit((unsigned char)*name) && is_in(pattern, name) &&
               matches(after + 1, name + strspn(name, "0123456789"));
    }
    while (isalnum((unsigned char)*name) || *name == '_')
        if (matches(pattern + 1, ++name)) return true;
    return false;
}

/* The three names nearest to what was asked, numbers of blocks left out. */
static bool unknown(const view *v, pl_err *err)
{
    enum { N = 3, FAR = 1000 };
    const pl_graph *g = v->job->graph;
    const char *near[N] = { NULL }, *asked = pl_summary_fold(v->arena, v->asked);
    int far[N] = { FAR, FAR, FAR };
    for (int i = 0; i < g->values.n; i++) {
        const char *name = pl_summary_fold(v->arena, g->values.at[i]->name);
        int d = strstr(name, asked) ? 0 : pl_text_distance(asked, name), k = 0;
        bool known = false;
        for (int j = 0; j < N; j++) known |= near[j] && !strcmp(near[j], name);
        while (k < N && far[k] <= d) k++;
        if (known || k == N) continue;
        for (int j = N - 1; j > k; j--) far[j] = far[j - 1], near[j] = near[j - 1];
        far[k] = d, near[k] = name;
    }
    pl_text t = { .arena = v->arena };
    for (int k = 0; k < N && near[k]; k++) pl_text_add(&t, "%s'%s'", k ? ", " : "", near[k]);
    return pl_err_set(err, PL_EUSAGE,
                      "%s has no operator or tensor '%s'; nearest are %s. 'pleat graph %s --text' "
                      "lists all",
                      v->job->args.spec, v->asked, pl_text_get(&t), v->job->args.spec);
}

static bool several(const view *v, int n, const pl_value *const at[], pl_err *err)
{
    enum { MOST = 6 };
    pl_text t = { .arena = v->arena };
    for (int i = 0; i < n && i < MOST; i++) pl_text_add(&t, "%s'%s'", i ? ", " : "", at[i]->name);
    return pl_err_set(err, PL_EUSAGE, "'%s' matches %d operators and tensors that differ: %s%s",
                      v->asked, n, pl_text_get(&t), n > MOST ? ", ..." : "");
}

static const char *name_of(const view *v, const pl_value *x)
{
    const pl_problem *t = v->r.problem;
    return x->maker && !x->out ? pl_reason_node_name(t, x->maker, v->arena)
                               : pl_reason_value_name(t, x, v->arena);
}

/* The name that is told of equal blocks means these: the first and the last one may differ. */
static int choose_told(const view *v, int n, const pl_value *at[])
{
    int told = 0, which = 0;
    for (int i = 0; i < n; i++)
        if (!strcmp(name_of(v, at[i]), v->asked)) told++, which = i;
    if (n < 2 || told != 1) return n;
    at[0] = at[which];
    return 1;
}

/* The value, or what makes it alone. */
static bool is_named(const pl_value *x, const char *asked)
{
    return matches(asked, x->name) || (x->maker && !x->out && matches(asked, x->maker->name));
}

/* By its name, or by one that files have for a row of it (pl_value.parts). */
static const pl_value *find_exactly(const pl_graph *g, const char *name, pl_arena *arena)
{
    const pl_value *found = pl_graph_find(g, name);
    for (int i = 0; i < g->values.n && !found; i++) {
        const pl_value *v = g->values.at[i];
        for (int64_t k = 0; v->parts && k < v->shape.dim[0] && !found; k++)
            if (!strcmp(pl_graph_part(arena, v, k), name)) found = v;
    }
    return found;
}

static bool has_named(const pl_graph *g, const char *name, pl_arena *arena)
{
    for (int i = 0; i < g->values.n; i++)
        if (is_named(g->values.at[i], name)) return true;
    return find_exactly(g, name, arena) != NULL;
}

/* The plan that will be found may have masters. */
bool pl_job_knows(const pl_job *j, const char *name, pl_arena *arena, pl_err *err)
{
    const view v = { .asked = name, .job = j, .arena = arena };
    pl_job other = *j;
    pl_err why = { 0 };
    return has_named(j->graph, name, arena) ||
           (pl_job_build(&other, 1, true, arena, &why) && has_named(other.graph, name, arena)) ||
           unknown(&v, err);
}

/* Of equal blocks any will do: h.3.attn.qkv, or h.*.attn.qkv. */
static bool find(view *v, pl_err *err)
{
    const pl_problem *t = v->r.problem;
    const pl_graph *g = v->job->graph;
    const pl_value **at = PL_NEW_N(v->arena, const pl_value *, g->values.n + 1);
    int n = 0;
    v->value = find_exactly(g, v->asked, v->arena);
    for (int i = 0; i < g->values.n && !v->value; i++) {
        const pl_value *x = g->values.at[i], *like = t->counterpart[i];
        int k = 0;
        if (!is_named(x, v->asked)) continue;
        while (k < n && at[k] != like) k++;
        if (k == n) at[n++] = like;
    }
    n = choose_told(v, n, at);
    if (!n && !v->value) return unknown(v, err);
    if (n > 1) return several(v, n, at, err);
    if (n) v->value = at[0];
    if (!v->value->out) v->node = v->value->maker;
    v->name = name_of(v, v->value);
    return true;
}

/* -- texts ------------------------------------------------------------------------------------- */

static const char *placement_text(const view *v, const pl_placement *p)
{
    if (!p->n && !p->pending) return "whole";
    return pl_placement_text(v->arena, p, v->mesh, v->value->shape.rank);
}

static const char *value_text(const view *v, const pl_value *x)
{
    return pl_arena_fmt(v->arena, "%s %s", pl_reason_value_name(v->r.problem, x, v->arena),
                        pl_shape_text(v->arena, x->type, &x->shape));
}

static const char *times_text(const view *v)
{
    int n = v->r.problem->copy[v->value->id] >= 0 ? v->r.problem->copies : 1;
    return n > 1 ? pl_arena_fmt(v->arena, ", in each of %d equal blocks", n) : "";
}

static const char *phase_of(const view *v)
{
    const pl_node *n = v->node;
    if (n->of)
        return pl_arena_fmt(v->arena, "backward pass, of %s",
                            pl_reason_node_name(v->r.problem, n->of, v->arena));
    return n->phase == PL_UPDATE     ? "update"
           : n->phase == PL_BACKWARD ? "backward pass"
                                     : "forward pass";
}

static const char *move_text(const view *v, const pl_move *m)
{
    const char *kind = pl_reason_kind(m->kind);
    if (m->kind == PL_SLICE || m->kind == PL_MASK) return kind;
    return pl_arena_fmt(v->arena, "%s over %s (%s, %.3f ms)", kind,
                        pl_reason_axes(v->mesh, m->axes, v->arena),
                        pl_text_size(v->arena, (double)m->bytes), 1e3 * m->seconds);
}

static const char *stop_text(const view *v, const pl_stop *s)
{
    const char *name = s->node ? pl_reason_node_name(v->r.problem, s->node, v->arena) : "";
    if (s->kind == PL_STOP_READER) return pl_arena_fmt(v->arena, "for %s", name);
    if (s->kind == PL_STOP_NEXT) return pl_arena_fmt(v->arena, "back from %s", name);
    return pl_reason_stop(s->kind);
}

/* "wte, h.*.add.* and 3 more"; nodes of one name once. */
static const char *others_text(const view *v, const pl_alternative *a)
{
    enum { MOST = 2 };
    const char *told[MOST] = { "", "" };
    pl_text t = { .arena = v->arena };
    int n = 0, left = 0;
    for (int i = 0; i < a->n_others; i++) {
        const char *name = pl_reason_node_name(v->r.problem, a->other[i], v->arena);
        if (!strcmp(name, told[0]) || !strcmp(name, told[1])) continue;
        if (n == MOST) {
            left++;
            continue;
        }
        pl_text_add(&t, "%s%s", n ? ", " : "", name);
        told[n++] = name;
    }
    if (left) pl_text_add(&t, " and %d more", left);
    return pl_text_get(&t);
}

static const char *taken_text(const view *v, const pl_alternatives *x, const pl_alternative *a)
{
    if (!a->taken) return "";
    return a->taken == x->copies ? "taken"
                                 : pl_arena_fmt(v->arena, "taken in %d of %d", a->taken, x->copies);
}

/* -- printing ---------------------------------------------------------------------------------- */

/* Milliseconds; what would be printed as -0.000 is 0. */
static double ms(double seconds)
{
    return fabs(seconds) < 5e-7 ? 0 : 1e3 * seconds;
}

/* What there is to know of a factor beside its size. */
static const char *factor_text(const view *v, int f)
{
    const pl_node *n = v->node;
    const pl_choice *c = &v->r.plan->choice[n->id];
    pl_text t = { .arena = v->arena };
    int axes[PL_MAX_AXES], k = 0;
    pl_choice_order(c, v->mesh, axes);
    for (int i = 0; i < v->mesh->n; i++)
        if (c->factor[axes[i]] == f)
            pl_text_add(&t, "%s%s", k++ ? ", " : "split over ", v->mesh->axis[axes[i]].name);
    bool summed = false;
    for (int o = 0; o < n->n_out; o++) summed |= !pl_share_touches(n, n->n_in + o, f);
    const char *more = k ? "; " : "";
    if (!pl_share_can_cut(n, f))
        pl_text_add(&t, "%scannot be split", more);
    else if (summed)
        pl_text_add(&t, "%sa device with a part of it has a partial result", more);
    return pl_text_get(&t);
}

static void add_node(const view *v)
{
    const pl_node *n = v->node;
    const pl_share share = pl_plan_share(v->r.plan, n->id, 0);
    pl_text_add(v->out, "%s: %s \"%s\" (%s)%s\n", v->name, n->op->name, n->spec, phase_of(v),
                times_text(v));
    for (int k = 0; k < n->n_in; k++)
        pl_text_add(v->out, "  %-5s  %s\n", k ? "" : "reads", value_text(v, n->in[k]));
    for (int k = 0; k < n->n_out; k++)
        pl_text_add(v->out, "  %-5s  %s\n", k ? "" : "makes", value_text(v, n->out[k]));
    if (!n->sig->n_factors) return;
    pl_table table = pl_table_new(v->arena, "factor\t>size\t>one device\t");
    for (int f = 0; f < n->sig->n_factors; f++)
        pl_table_add(&table, "%c\t%lld\t%lld\t%s", n->sig->factor[f].letter,
                     (long long)n->sig->factor[f].size, (long long)share.factor[f].n,
                     factor_text(v, f));
    pl_text_add(v->out, "\n%s", pl_table_text(&table));
}

static void add_tensor(const view *v)
{
    const pl_value *x = v->value;
    const char *what = x->maker ? "" : x->role == PL_INPUT ? "input, " : "state, ";
    if (x->kind == PL_WEIGHT) what = "weight, ";
    pl_text_add(v->out, "%s: %s%s, %s%s\n", v->name, what,
                pl_shape_text(v->arena, x->type, &x->shape),
                pl_text_size(v->arena, (double)pl_value_bytes(x)), times_text(v));
    if (v->way.owner)
        pl_text_add(v->out, "it lies where %s works, which alone reads it\n",
                    pl_reason_node_name(v->r.problem, v->way.owner, v->arena));
}

static void add_rest(const view *v, const pl_alternatives *x)
{
    int next = 0;
    while (next < x->n && x->at[next].taken) next++;
    if (next < x->n && x->at[next].n_others)
        pl_text_add(v->out, "with '%s' %s do other things\n", x->at[next].text,
                    others_text(v, &x->at[next]));
    if (x->n_more)
        pl_text_add(v->out, "%d other%s at %s %.3f ms %s\n", x->n_more,
                    x->n_more > 1 ? "s are" : " is", x->at_least < 0 ? "most" : "least",
                    1e3 * fabs(x->at_least), x->at_least < 0 ? "faster" : "slower");
    if (x->n_illegal)
        pl_text_add(v->out, "%d %s not possible\n", x->n_illegal, x->n_illegal > 1 ? "are" : "is");
}

/* Where a search was cut short the fastest plan may be faster than the one that was found. */
static bool is_open(const view *v, const pl_alternative *a)
{
    return a->seconds - a->bound > 1e-6 * v->r.seconds;
}

/* The plan taken is the fastest of those that were lowered and played through. What the search's
 * sums say of it may be more than what they say of others. */
static bool is_passed_over(const view *v, const pl_alternative *a)
{
    return a->more < -1e-6 * v->r.seconds;
}

/* What the columns are. */
static void add_legend(const view *v, bool open, bool passed_over)
{
    pl_text out = { .arena = v->arena };
    const char *text = pl_arena_fmt(
        v->arena,
        "step: of the fastest plan that does this in all its copies, as the search "
        "counts; more: than the plan taken, of which computing is its own, messages "
        "are those of its operands, and the rest is of all that then does other things "
        "(changes: so many nodes).%s%s",
        passed_over
            ? " Less than the plan taken: by these sums alone; as programs, played through, "
              "the one taken was the fastest that fits."
            : "",
        open ? " At least: no plan with it is faster than so much more." : "");
    pl_words_wrap(text, 0, 0, v->columns, &out);
    pl_text_add(v->out, "%s", pl_text_get(&out));
}

static void add_choices(const view *v, const char *title, const pl_alternatives *x)
{
    pl_arena *a = v->arena;
    bool open = false, passed_over = false;
    for (int i = 0; i < x->n; i++) {
        open |= !x->at[i].taken && is_open(v, &x->at[i]);
        passed_over |= is_passed_over(v, &x->at[i]);
    }
    pl_table table = pl_table_new(
        a, pl_arena_fmt(
               a, "%s\t>step ms\t>more%s\t>computing\t>messages\t>the rest\t>memory\t>changes\t",
               title, open ? "\t>at least" : ""));
    for (int i = 0; i < x->n; i++) {
        const pl_alternative *k = &x->at[i];
        const double least = ms(k->taken ? k->more : k->bound - v->r.seconds);
        pl_table_add(&table, "%s\t%.3f\t%+.3f%s\t%+.3f\t%+.3f\t%+.3f\t%s%s\t%d\t%s", k->text,
                     1e3 * k->seconds, ms(k->more), open ? pl_arena_fmt(a, "\t%+.3f", least) : "",
                     ms(k->compute), ms(k->messages), ms(k->rest), k->memory < 0 ? "-" : "+",
                     pl_text_size(a, fabs(k->memory)), k->n_others, taken_text(v, x, k));
    }
    pl_text_add(v->out, "\n%s", pl_table_text(&table));
    add_rest(v, x);
    add_legend(v, open, passed_over);
}

static void add_way(const view *v)
{
    const pl_reason_tensor *t = &v->way;
    pl_table table =
        pl_table_new(v->arena, pl_arena_fmt(v->arena, "%s\tplacement\t>one device\tmoved there by",
                                            v->node ? "its result" : "where"));
    for (int i = 0; i < t->n_stops; i++) {
        const pl_stop *s = &t->stop[i];
        pl_table_add(&table, "%s\t%s\t%s\t%s", stop_text(v, s), placement_text(v, &s->at),
                     pl_text_size(v->arena, (double)s->bytes),
                     s->path.n ? move_text(v, &s->path.move[0]) : "");
        for (int k = 1; k < s->path.n; k++)
            pl_table_add(&table, "\t\t\t%s", move_text(v, &s->path.move[k]));
    }
    pl_text_add(v->out, "\n%s", pl_table_text(&table));
}

static const char *about_text(pl_variable_kind k)
{
    return k == PL_VARIABLE_STORED  ? "stored"
           : k == PL_VARIABLE_SAVED ? "kept"
                                    : "lies for readers";
}

static void add_text(const view *v)
{
    if (v->node)
        add_node(v);
    else
        add_tensor(v);
    pl_text_add(v->out, "\n%s on %s by %s: step %.3f ms in the search's tables\n",
                v->job->args.spec, pl_mesh_text(v->mesh, v->arena),
                v->about->searched ? "search" : v->about->name, 1e3 * v->r.seconds);
    if (v->node && v->choices.n) add_choices(v, "choice", &v->choices);
    if (v->has_way) add_way(v);
    if (v->has_way && v->way.other.n) add_choices(v, about_text(v->way.about), &v->way.other);
}

/* -- JSON -------------------------------------------------------------------------------------- */

static void put_choice(const view *v, const pl_alternative *a, pl_json_out *out)
{
    pl_json_open(out, NULL, PL_JSON_OBJECT);
    PL_JSON_PUT(out, "choice", a->text, "taken", a->taken, "step_seconds", a->seconds,
                "bound_seconds", a->bound);
    PL_JSON_ROW(out, "more", "seconds", a->more, "compute", a->compute, "messages", a->messages,
                "rest", a->rest, "bytes", a->memory);
    pl_json_open(out, "changes", PL_JSON_LIST);
    for (int k = 0; k < a->n_others; k++)
        pl_json_put_text(out, NULL, pl_reason_node_name(v->r.problem, a->other[k], v->arena));
    pl_json_close(out);
    pl_json_close(out);
}

static void put_choices(const view *v, const char *key, const pl_alternatives *x, pl_json_out *out)
{
    pl_json_open(out, key, PL_JSON_OBJECT);
    pl_json_put_int(out, "copies", x->copies);
    pl_json_open(out, "choices", PL_JSON_LIST);
    for (int i = 0; i < x->n; i++) put_choice(v, &x->at[i], out);
    pl_json_close(out);
    PL_JSON_ROW(out, "others", "count", x->n_more, "at_least_seconds", x->at_least);
    pl_json_put_int(out, "impossible", x->n_illegal);
    pl_json_close(out);
}

static void put_stop(const view *v, const pl_stop *s, pl_json_out *out)
{
    pl_json_open(out, NULL, PL_JSON_OBJECT);
    PL_JSON_PUT(out, "where", pl_reason_stop(s->kind), "placement", placement_text(v, &s->at),
                "bytes", s->bytes);
    pl_json_open(out, "moves", PL_JSON_LIST);
    for (int i = 0; i < s->path.n; i++) {
        const pl_move *m = &s->path.move[i];
        pl_json_open(out, NULL, PL_JSON_OBJECT);
        pl_json_put_text(out, "kind", pl_reason_kind(m->kind));
        pl_mesh_write_axes(v->mesh, "axes", m->axes, out);
        PL_JSON_PUT(out, "bytes", m->bytes, "seconds", m->seconds);
        pl_json_close(out);
    }
    pl_json_close(out);
    if (s->node) pl_json_put_text(out, "node", s->node->name);
    pl_json_close(out);
}

static void put_operator(const view *v, pl_json_out *out)
{
    const pl_node *n = v->node;
    const pl_share share = pl_plan_share(v->r.plan, n->id, 0);
    pl_json_open(out, "operator", PL_JSON_OBJECT);
    PL_JSON_PUT(out, "name", n->op->name, "signature", n->spec);
    pl_json_open(out, "factors", PL_JSON_LIST);
    for (int f = 0; f < n->sig->n_factors; f++) {
        const pl_factor *x = &n->sig->factor[f];
        PL_JSON_ROW(out, NULL, "letter", pl_arena_fmt(v->arena, "%c", x->letter), "size", x->size,
                    "part", share.factor[f].n, "can_split", pl_share_can_cut(n, f));
    }
    pl_json_close(out);
    pl_json_close(out);
}

static void add_json(const view *v)
{
    pl_json_out out = pl_json_begin(v->arena);
    PL_JSON_PUT(&out, "schema", "pleat.explain/1", "model", v->job->args.spec, "cluster",
                v->job->request.cluster->name, "name", v->name, "plan", v->about->name);
    pl_mesh_write(v->mesh, &out);
    pl_json_put_real(&out, "step_seconds", v->r.seconds);
    if (v->node) put_operator(v, &out);
    if (v->node && v->choices.n) put_choices(v, "does", &v->choices, &out);
    if (v->has_way) {
        pl_json_open(&out, "way", PL_JSON_LIST);
        for (int i = 0; i < v->way.n_stops; i++) put_stop(v, &v->way.stop[i], &out);
        pl_json_close(&out);
    }
    if (v->has_way && v->way.other.n) put_choices(v, about_text(v->way.about), &v->way.other, &out);
    pl_text_add(v->out, "%s\n", pl_json_end(&out));
}

/* -- all --------------------------------------------------------------------------------------- */

bool pl_job_explain(const pl_job *j, const pl_found *f, const char *name,
                    const pl_explain_options *o, pl_text *out, const char **note, pl_err *err)
{
    pl_arena *arena = out->arena;
    view v = { .asked = name, .job = j, .arena = arena, .out = out, .columns = o->columns };
    *note = NULL;
    if (!f->search)
        return pl_err_set(err, PL_EUSAGE,
                          "the plan is that of strategy '%s': a search can be asked what else it "
                          "looked at, with auto",
                          f->strategy.text);
    PL_TRY(pl_why_open(f, arena, &v.r, &v.about, err));
    v.mesh = v.r.problem->mesh;
    if (v.about != f->take)
        *note = pl_arena_fmt(arena,
                             "the plan to take is %s, which the search does not know; this is "
                             "about the best that it found",
                             f->take->name);
    PL_TRY(find(&v, err));
    if (v.node && v.r.problem->node[pl_problem_counterpart(v.r.problem, v.node)->id] >= 0)
        PL_TRY(pl_reason_node(&v.r, v.node, o->most, arena, &v.choices, err));
    v.has_way = v.value->shape.rank > 0;
    if (v.has_way) PL_TRY(pl_reason_value(&v.r, v.value, v.node ? 0 : o->most, arena, &v.way, err));
    if (v.node) v.way.other = (pl_alternatives){ 0 }; /* of the result: ask about the tensor */
    (o->json ? add_json : add_text)(&v);
    return true;
}
