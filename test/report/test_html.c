/* The page about plans: whatever the names are, its data stay data; and they say what plan, program
 * and forecast say. What a browser makes of them test_page.sh looks at. */
#include "report/html_page.h"

#include "graph/op.h"
#include "page.h"
#include "plans.h"
#include "program/summary.h"

#include <math.h>
#include <stdio.h>

#define GPT PLANS_GPT
#define MLP "mlp:layers=2,in=8,hidden=8,classes=8,batch=8"

static const char *write_page(int n, const pl_html_plan plan[], pl_arena *a)
{
    pl_text out = { .arena = a };
    pl_html_write(n, plan, &out);
    assert_int_equal(strlen(pl_text_get(&out)), out.n);
    return pl_text_get(&out);
}

static const pl_json *read_page(int n, const pl_html_plan plan[], pl_arena *a)
{
    return page_read(write_page(n, plan, a), a);
}

static const pl_json *plan_of(const pl_html_plan *x, pl_arena *a)
{
    return page_item(read_page(1, x, a), "plans", 0);
}

/* -- any plan, any names ----------------------------------------------------------------------- */

/* The template asks for nothing from outside, and its policy forbids it. */
static void test_offline(void **state)
{
    static const char *const forbidden[] = {
        "://",    "src=",      "@import",           "<link", "innerHTML", "document.write", "eval(",
        "fetch(", "outerHTML", "insertAdjacentHTML"
    };
    bool policy = false;
    (void)state;
    for (const char *const *line = pl_html_template; *line; line++) {
        for (size_t i = 0; i < sizeof forbidden / sizeof *forbidden; i++)
            if (strstr(*line, forbidden[i])) fail_msg("the template has: %s", *line);
        if (strstr(*line, "url(")) assert_non_null(strstr(*line, "url(#sum)"));
        policy |= strstr(*line, "\"default-src 'none'; ") != NULL;
    }
    assert_true(policy);
}

/* Of more parts than a picture shows the first are listed. */
static void check_bands(const pl_json *tensors, int *most)
{
    for (int i = 0; i < pl_json_items(tensors); i++)
        for (int k = 0; k < 2; k++) {
            const pl_json *cuts = page_get(page_item(&tensors->at[i], "at", k), "cuts");
            for (int c = 0; c < pl_json_items(cuts); c++) {
                const int n = pl_json_items(page_get(&cuts->at[c], "lo"));
                assert_true(n > 0 && n <= page_number(&cuts->at[c], "all"));
                if (n > *most) *most = n;
            }
        }
}

static void test_any_plan(void **state)
{
    static const struct {
        const char *model, *strategy;
        int devices;
    } cases[] = {
        { MLP, "dp", 1 },
        { MLP, "dp", 3 },
        { GPT, "tp=2,dp", 4 },
        { GPT, "zero=3", 4 },
        { GPT, "tp=2d:2x2", 4 },
        { "gpt2:layers=1,hidden=96,heads=96,vocab=97,seq=8,batch=8", "tp=96", 96 },
        { "moe:layers=2,batch=8", "ep=4", 4 },
        { "resnet18:size=32,batch=4", "spatial=4", 4 },
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        pl_arena *a = pl_arena_new("test");
        const pl_html_plan x = plans_make(cases[i].model, cases[i].strategy, cases[i].devices, a);
        const char *text = write_page(1, &x, a);
        const pl_json *data = page_read(text, a), *plan = page_item(data, "plans", 0);
        int most = 0;
        assert_int_equal(pl_json_items(page_get(data, "plans")), 1);
        assert_null(pl_json_find(data, "differences"));
        check_bands(page_get(plan, "weights"), &most);
        check_bands(page_get(plan, "activations"), &most);
        assert_true(cases[i].devices > 64 ? most == 64 : most < 64);
        assert_null(strstr(text, ":null"));
        pl_arena_free(a);
    }
}

#define HOSTILE "</title><script>alert('1')</script><!--&\"\x07\xff\xc3\xa9"
#define READ(n) "</title><script>alert('" n "')</script><!--&\"\x07\xef\xbf\xbd\xc3\xa9"

/* Every text that comes from outside is such: of the plan, of its axes, values and steps. */
static pl_html_plan make_hostile(const char *strategy, pl_arena *a)
{
    pl_plan *plan = plans_find(GPT, strategy, 4, a);
    for (int i = 0; i < plan->mesh.n; i++)
        snprintf(plan->mesh.axis[i].name, sizeof plan->mesh.axis[i].name, "<%c>&\"'\x07\xff",
                 'a' + i);
    for (int i = 0; i < plan->graph->values.n; i++)
        plan->graph->values.at[i]->name = pl_arena_fmt(a, HOSTILE "%d", i);
    pl_html_plan x = plans_lower(GPT, strategy, plan, a);
    for (int i = 0; i < x.program->n_steps; i++) x.program->step[i].label = HOSTILE;
    x.name = x.model = x.cluster = x.strategy = HOSTILE;
    return x;
}

static void test_texts(void **state)
{
    static const char *const keys[] = { "name", "model", "cluster", "strategy" };
    pl_arena *a = pl_arena_new("test");
    const pl_html_plan two[] = { make_hostile("tp=2,dp", a), make_hostile("zero=3", a) };
    (void)state;
    for (int n = 1; n <= 2; n++) {
        const pl_json *data = read_page(n, two, a), *plan = page_item(data, "plans", 0);
        for (int i = 0; i < 4; i++) assert_string_equal(page_text(plan, keys[i]), READ("1"));
        const pl_json *what = page_item(page_get(plan, "steps"), "whats", 0);
        assert_string_equal(page_text(what, "label"), READ("0")); /* a number of the step */
        assert_string_equal(page_text(page_item(plan, "mesh", 0), "axis"),
                            "<a>&\"'\x07\xef\xbf\xbd");
        const pl_json *weight = page_item(plan, "weights", 0);
        assert_non_null(strstr(page_text(weight, "name"), READ("*")));
        assert_non_null(strstr(page_text(page_item(weight, "at", 0), "text"), "<b>&\"'\x07"));
        assert_non_null(
            strstr(page_text(page_item(page_get(plan, "messages"), "rows", 0), "over"), ">&\"'"));
    }
    pl_arena_free(a);
}

/* -- figures ----------------------------------------------------------------------------------- */

static void check_messages(const pl_json *x, const pl_summary *s, pl_arena *a, const pl_mesh *m)
{
    page_check_number(x, "bytes", (double)s->message_bytes);
    page_check_number(x, "seconds", s->message_seconds);
    assert_int_equal(pl_json_items(page_get(x, "rows")), s->n);
    assert_true(s->n > 3);
    for (int i = 0; i < s->n; i++) {
        const pl_json *row = page_item(x, "rows", i);
        const char *kind = pl_html_kind_name((pl_html_kind)page_number(row, "kind"));
        assert_string_equal(page_text(row, "collective"), kind);
        assert_string_equal(kind, pl_collective_name(s->row[i].collective));
        assert_string_equal(page_text(row, "over"), pl_summary_axes(a, m, s->row[i].axes));
        assert_string_equal(page_text(row, "tensor"), s->row[i].told);
        page_check_number(row, "count", (double)s->row[i].count);
        page_check_number(row, "bytes", (double)s->row[i].bytes);
        page_check_number(row, "seconds", s->row[i].seconds);
    }
}

static void test_figures(void **state)
{
    pl_arena *a = pl_arena_new("test");
    const pl_html_plan x = plans_make(GPT, "tp=2,dp", 4, a);
    const pl_forecast *f = x.forecast;
    const pl_json *plan = plan_of(&x, a), *memory = page_get(plan, "memory");
    pl_summary s;
    (void)state;
    page_check_number(plan, "step_seconds", f->step_seconds);
    page_check_number(plan, "compute_seconds", f->compute_seconds);
    page_check_number(plan, "comm_seconds", f->comm_seconds);
    page_check_number(plan, "exposed_seconds", f->exposed_seconds);
    page_check_number(plan, "comm_bytes", (double)f->comm_bytes);
    page_check_number(plan, "limit_bytes", 40000);
    page_check_number(plan, "parameters", (double)pl_graph_params(x.plan->graph));
    page_check_number(plan, "nodes", x.plan->graph->nodes.n);
    page_check_number(memory, "weights", 1001);
    page_check_number(memory, "optimizer", 2003);
    page_check_number(memory, "gradients", 3007);
    page_check_number(memory, "activations", 4013);
    page_check_number(memory, "buffers", 5021);
    page_check_number(memory, "transient", 6029);
    page_check_number(memory, "sums", 211);
    page_check_number(memory, "peak", 21074);
    page_check_number(plan, "micro", 1);
    page_check_number(plan, "last_seconds", f->step_seconds);
    assert_int_equal(pl_json_items(page_get(plan, "mesh")), 2);
    assert_string_equal(page_text(page_item(plan, "mesh", 1), "axis"), "tensor");
    page_check_number(page_item(plan, "mesh", 1), "size", 2);
    pl_summary_make(x.program, a, &s);
    check_messages(page_get(plan, "messages"), &s, a, &x.plan->mesh);
    pl_arena_free(a);
}

static void test_devices(void **state)
{
    pl_arena *a = pl_arena_new("test");
    pl_cluster *c;
    pl_err err = { 0 };
    bool found = false;
    (void)state;
    pl_html_plan x = plans_make(GPT, "tp=2,dp", 4, a);
    assert_null(pl_json_find(plan_of(&x, a), "devices"));
    assert_true(pl_cluster_find("1x4xv100", a, &c, &err));
    x.devices = c;
    x.units = "tokens";
    x.n_units = 64;
    x.mfu = 0.25;
    const pl_json *plan = plan_of(&x, a), *devices = page_get(plan, "devices");
    const pl_json *figures = page_get(devices, "figures");
    assert_string_equal(page_text(devices, "name"), "1x4xv100");
    for (int i = 0; i < pl_json_items(figures); i++)
        found |= !strcmp(page_text(&figures->at[i], "value"), "900 GB/s") &&
                 strstr(page_text(&figures->at[i], "source"), "NVIDIA V100 SXM2 data sheet");
    assert_true(found);
    assert_string_equal(page_text(plan, "units"), "tokens");
    page_check_number(plan, "n_units", 64);
    page_check_number(plan, "mfu", 0.25);
    pl_arena_free(a);
}

/* -- steps ------------------------------------------------------------------------------------- */

/* A label with its numbers put back. */
static const char *read_label(const pl_json *steps, const char *label, int *number, pl_arena *a)
{
    pl_text t = { .arena = a };
    for (; *label; label++)
        if (*label == '0')
            pl_text_add(&t, "%d", page_int(steps, "number", (*number)++));
        else
            pl_text_span(&t, label, 1);
    return pl_text_get(&t);
}

static void check_what(const pl_json *what, const pl_step *x)
{
    const bool message = !pl_step_is_compute(x);
    page_check_number(what, "kind", pl_html_view_kind(x));
    assert_int_equal(pl_json_find(what, "axes") != NULL, message);
    assert_int_equal(pl_json_find(what, "op") != NULL, pl_step_is_kernel(x));
    if (message) page_check_number(what, "axes", x->axes);
    if (message) page_check_number(what, "bytes", (double)x->bytes);
    if (pl_step_is_kernel(x)) assert_string_equal(page_text(what, "op"), x->share->node->op->name);
}

/* Every step is there, with its own label, at its time within a tick, with its memory. */
static void check_steps(const pl_html_plan *x, pl_arena *a)
{
    const pl_json *steps = page_get(plan_of(x, a), "steps");
    const pl_forecast *f = x->forecast;
    const double ticks = page_number(steps, "ticks");
    int64_t end[2] = { 0 };
    int number = 0;
    assert_true(ticks * f->step_seconds >= 1e7);
    assert_int_equal(pl_json_items(page_get(steps, "what")), x->program->n_steps);
    page_check_number(steps, "peak", f->peak_step);
    for (int i = 0; i < x->program->n_steps; i++) {
        const pl_step *step = &x->program->step[i];
        const pl_json *what = page_item(steps, "whats", page_int(steps, "what", i));
        int64_t *last = &end[!pl_step_is_compute(step)];
        const int64_t begin = *last + page_item(steps, "gap", i)->whole;
        *last = begin + page_item(steps, "length", i)->whole;
        assert_true(fabs((double)begin / ticks - f->begin[i]) < 0.6 / ticks);
        assert_true(fabs((double)*last / ticks - f->end[i]) < 0.6 / ticks);
        assert_int_equal(page_item(steps, "live", i)->whole, f->live[i]);
        check_what(what, step);
        assert_string_equal(read_label(steps, page_text(what, "label"), &number, a), step->label);
    }
    assert_int_equal(pl_json_items(page_get(steps, "number")), number);
}

/* By hand, one step after the other; and as it is forecast, with messages over both axes of the
 * mesh side by side, beside computing. */
static void test_steps(void **state)
{
    static const char *const strategies[] = { "tp=2,dp", "zero=3", "tp=2d:2x2" };
    const pl_speed speed = {
        .flops = { 1e10, 1e10, 1e10, 1e10, 1e10 }, .stream = 1e10, .start = 1e-6, .hidden = 0.8
    };
    (void)state;
    for (size_t i = 0; i < sizeof strategies / sizeof *strategies; i++) {
        pl_arena *a = pl_arena_new("test");
        pl_html_plan x = plans_make(GPT, strategies[i], 4, a);
        pl_forecast f;
        check_steps(&x, a);
        pl_forecast_make(x.program, &speed, a, &f);
        x.forecast = &f;
        check_steps(&x, a);
        pl_arena_free(a);
    }
}

/* Numbers of any kind come back. */
static void test_labels(void **state)
{
    static const char *const labels[] = { "",    "0",       "007.x",     "1234567890123456789",
                                          "a0b", "0.00.10", "999999999", "h.3/4.5" };
    pl_arena *a = pl_arena_new("test");
    pl_html_plan x = plans_make(MLP, "dp", 2, a);
    (void)state;
    assert_true(x.program->n_steps > 8);
    for (size_t i = 0; i < sizeof labels / sizeof *labels; i++)
        x.program->step[i].label = labels[i];
    check_steps(&x, a);
    pl_arena_free(a);
}

/* -- what is alive ----------------------------------------------------------------------------- */

/* The list of the page is what is found. */
static void check_alive_rows(const pl_json *list, const pl_program *p, int step, pl_arena *a)
{
    pl_html_alive *at;
    const int n = pl_html_alive_find(p, step, a, &at);
    assert_int_equal(pl_json_items(list), n);
    for (int i = 0; i < n; i++) {
        assert_string_equal(page_text(&list->at[i], "name"), at[i].name);
        page_check_number(&list->at[i], "count", at[i].count);
        page_check_number(&list->at[i], "bytes", (double)at[i].bytes);
    }
}

/* What is alive at a step fits into the work block together, and has all that the step reads. */
static void check_alive(const pl_program *p, int i, pl_arena *a)
{
    const pl_step *x = &p->step[i];
    pl_html_alive *at;
    int64_t bytes = 0;
    int n = pl_html_alive_find(p, i, a, &at);
    for (int k = 0; k < n; k++) {
        bytes += at[k].bytes;
        assert_true(at[k].count > 0 && (!k || at[k].bytes <= at[k - 1].bytes));
    }
    assert_true(bytes <= p->work_bytes);
    for (int k = 0; x->kind == PL_KERNEL && k < x->n_in; k++) {
        const pl_value *read = x->share->node->in[k];
        bool found = x->in[k].state || !read->maker || x->share->node->op->view;
        /* what the step writes over, in place, goes by its new name */
        for (int o = 0; o < x->n_out; o++) found |= x->out[o].at == x->in[k].at;
        for (int j = 0; j < n; j++)
            found |= strstr(at[j].name, pl_summary_fold(a, read->name)) != NULL;
        if (!found)
            fail_msg("step %d '%s' reads '%s', which is not alive", i, x->label, read->name);
    }
}

/* How many tensors of a name are alive at the last step of a kind. */
static int count_alive(const pl_program *p, pl_html_kind kind, const char *name, pl_arena *a)
{
    int last = 0, count = 0;
    pl_html_alive *at;
    for (int i = 0; i < p->n_steps; i++)
        if (pl_html_view_kind(&p->step[i]) == kind) last = i;
    int n = pl_html_alive_find(p, last, a, &at);
    for (int k = 0; k < n; k++) count += strcmp(at[k].name, name) ? 0 : at[k].count;
    return count;
}

static void test_alive(void **state)
{
    static const char *const strategies[] = { "tp=2,dp", "zero=3", "tp=2d:2x2" };
    (void)state;
    for (size_t s = 0; s < sizeof strategies / sizeof *strategies; s++) {
        pl_arena *a = pl_arena_new("test");
        const pl_html_plan x = plans_make(GPT, strategies[s], 4, a);
        const pl_program *p = x.program;
        for (int i = 0; i < p->n_steps; i += 3) check_alive(p, i, a);
        /* the last step leaves nothing to be read */
        const pl_step *last = &p->step[p->n_steps - 1];
        pl_html_alive *at;
        assert_true(pl_html_alive_find(p, p->n_steps - 1, a, &at) <= last->n_in);
        /* kept for the backward pass, and no longer */
        assert_int_equal(count_alive(p, PL_HTML_FORWARD, "h.*.attn.attend", a), 3);
        assert_int_equal(count_alive(p, PL_HTML_BACKWARD, "h.*.attn.attend", a), 0);
        check_alive_rows(page_get(plan_of(&x, a), "alive"), p, x.forecast->peak_step, a);
        pl_arena_free(a);
    }
}

/* The program's order and the one of least memory: each with its memory, peak and block, then the
 * bound. */
static void test_orders(void **state)
{
    static const pl_step_order orders[] = { PL_ORDER_PROGRAM, PL_ORDER_PLEAT };
    pl_arena *a = pl_arena_new("test");
    pl_html_order x[2];
    pl_text out = { .arena = a };
    (void)state;
    for (int i = 0; i < 2; i++) {
        const pl_lower_options o = { .order = orders[i] };
        pl_plan *plan = plans_find(GPT, "dp", 1, a);
        pl_program *p;
        pl_err err = { 0 };
        assert_true(pl_program_lower(plan, 0, pl_store_new(plan, 0, a), &o, a, &p, &err));
        if (i == 0)
            for (int k = 0; k < p->n_steps; k++) p->step[k].label = HOSTILE;
        x[i] = (pl_html_order){ i ? "after" : HOSTILE, p, p->work_bytes };
    }
    pl_html_write_orders(HOSTILE, 2, x, x[1].program->order_bound, &out);
    const pl_json *data = page_read(pl_text_get(&out), a);
    assert_string_equal(page_text(data, "model"), READ("1"));
    page_check_number(data, "bound", (double)x[1].program->order_bound);
    page_check_number(data, "states", (double)x[0].program->store->bytes);
    assert_int_equal(pl_json_items(page_get(data, "orders")), 2);
    for (int i = 0; i < 2; i++) {
        const pl_json *order = page_item(data, "orders", i);
        pl_forecast f;
        pl_forecast_memory_make(x[i].program, a, &f);
        assert_string_equal(page_text(order, "name"), i ? "after" : READ("1"));
        page_check_number(order, "block", (double)x[i].block);
        page_check_number(order, "peak", f.peak_step);
        assert_int_equal(pl_json_items(page_get(order, "live")), x[i].program->n_steps);
        for (int k = 0; k < x[i].program->n_steps; k++)
            assert_int_equal(page_item(order, "live", k)->whole, f.live[k]);
        check_alive_rows(page_get(order, "alive"), x[i].program, f.peak_step, a);
    }
    pl_arena_free(a);
}

/* -- how tensors are cut ----------------------------------------------------------------------- */

/* Has a device element `at` of a tensor, by the cuts of the page? */
static bool has_element(const pl_json *place, const pl_mesh *m, const pl_shape *s, int rank,
                        int64_t at)
{
    const pl_json *cuts = page_get(place, "cuts");
    int64_t index[PL_MAX_RANK];
    for (int d = s->rank - 1; d >= 0; at /= s->dim[d--]) index[d] = at % s->dim[d];
    for (int c = 0; c < pl_json_items(cuts); c++) {
        const pl_json *cut = &cuts->at[c];
        const int axes = pl_json_items(page_get(cut, "axes")), n = (int)page_number(cut, "all");
        const int64_t i = index[(int)page_number(cut, "dim")];
        bool found = false;
        for (int b = 0; b < n && !found; b++) { /* all are listed, or page_int fails */
            const int64_t lo = page_item(cut, "lo", b)->whole;
            found = i >= lo && i < lo + page_item(cut, "n", b)->whole;
            for (int k = 0; k < axes; k++)
                found &= page_int(cut, "coord", b * axes + k) ==
                         pl_mesh_coord(m, rank, page_int(cut, "axes", k));
        }
        if (!found) return false;
    }
    return true;
}

/* Every device has just the elements that its region has. */
static void check_place(const pl_json *place, const pl_plan *p, const pl_value *x,
                        const pl_placement *where)
{
    const int64_t count = pl_shape_count(&x->shape);
    assert_int_equal(pl_json_is(page_get(place, "pending"), PL_JSON_TRUE), where->pending != 0);
    for (int rank = 0; rank < pl_mesh_ranks(&p->mesh); rank++) {
        const pl_region r = pl_region_of(where, &p->mesh, &x->shape, rank);
        bool held[4096] = { 0 };
        assert_true(count <= 4096);
        for (int64_t i = 0; i < pl_region_count(&r); i++)
            held[pl_region_global(&r, &x->shape, i)] = true;
        for (int64_t i = 0; i < count; i++)
            if (has_element(place, &p->mesh, &x->shape, rank, i) != held[i])
                fail_msg("element %lld of '%s' on device %d", (long long)i, x->name, rank);
    }
}

/* Where the first node of the forward pass wants it. */
static pl_placement find_use(const pl_plan *p, const pl_value *x, const pl_placement *made)
{
    for (int i = 0; i < p->graph->nodes.n; i++) {
        const pl_node *n = p->graph->nodes.at[i];
        for (int k = n->n_in - 1; k >= 0 && n->phase == PL_FORWARD; k--)
            if (n->in[k] == x) return pl_plan_operand(p, i, k);
    }
    return *made;
}

static void check_tensor(const pl_json *at, const pl_plan *p, const pl_html_group *g, pl_arena *a)
{
    const pl_value *x = g->value;
    const pl_placement made =
        x->maker ? pl_plan_operand(p, x->maker->id, x->maker->n_in + x->out) : p->stored[x->id];
    const pl_placement used = find_use(p, x, &made);
    const int64_t size = pl_type_bytes(x->type);
    assert_string_equal(page_text(at, "name"), pl_summary_fold(a, x->name));
    assert_string_equal(page_text(at, "type"), pl_type_name(x->type));
    assert_int_equal(pl_json_items(page_get(at, "shape")), x->shape.rank);
    for (int d = 0; d < x->shape.rank; d++)
        assert_int_equal(page_int(at, "shape", d), x->shape.dim[d]);
    page_check_number(at, "count", g->count);
    page_check_number(at, "whole", (double)(size * pl_shape_count(&x->shape)));
    page_check_number(at, "bytes", (double)(size * pl_placement_room(&made, &p->mesh, &x->shape)));
    check_place(page_item(at, "at", 0), p, x, &made);
    check_place(page_item(at, "at", 1), p, x, &used);
}

static void test_cuts(void **state)
{
    static const char *const strategies[] = { "tp=2,dp", "zero=3", "tp=2d:2x2", "tp=4" };
    (void)state;
    for (size_t i = 0; i < sizeof strategies / sizeof *strategies; i++) {
        pl_arena *a = pl_arena_new("test");
        const pl_html_plan x = plans_make(GPT, strategies[i], 4, a);
        const pl_json *plan = plan_of(&x, a);
        int weights = 0, all = 0;
        pl_html_view v;
        pl_html_view_make(&v, &x, a);
        assert_int_equal(pl_json_items(page_get(plan, "weights")), v.weights.n);
        assert_int_equal(pl_json_items(page_get(plan, "activations")), v.activations.n);
        assert_true(v.activations.n > 8);
        for (int k = 0; k < v.weights.n; k++) {
            check_tensor(page_item(plan, "weights", k), x.plan, &v.weights.at[k], a);
            weights += v.weights.at[k].count;
        }
        for (int k = 0; k < v.activations.n; k++)
            check_tensor(page_item(plan, "activations", k), x.plan, &v.activations.at[k], a);
        for (int k = 0; k < x.plan->graph->values.n; k++)
            all += x.plan->graph->values.at[k]->kind == PL_WEIGHT;
        assert_int_equal(weights, all);
        pl_arena_free(a);
    }
}

/* An 8 x 8 weight over (data 2, tensor 2), its rows over tensor. */
static void test_known_cut(void **state)
{
    pl_arena *a = pl_arena_new("test");
    const pl_html_plan x = plans_make(MLP, "tp=2,dp", 4, a);
    const char *text = write_page(1, &x, a);
    (void)state;
    assert_non_null(strstr(text, "{\"text\":\"[tensor;]\",\"pending\":false,\"cuts\":[{\"dim\":0,"
                                 "\"all\":2,\"axes\":[1],\"lo\":[0,4],\"n\":[4,4],"
                                 "\"coord\":[0,1]}]}"));
    pl_arena_free(a);
}

/* -- several plans ----------------------------------------------------------------------------- */

static int count_differences(const pl_json *data)
{
    const pl_json *rows = page_get(page_get(data, "differences"), "rows");
    int n = 0;
    for (int i = 0; i < pl_json_items(rows); i++) n += (int)page_number(&rows->at[i], "count");
    return n;
}

/* A row is of one weight in all plans, which are placed differently. */
static void check_row(const pl_json *data, const pl_json *row, int n)
{
    const pl_json *first = NULL;
    bool differ = false;
    assert_int_equal(pl_json_items(page_get(row, "of")), n);
    for (int i = 0; i < n; i++) {
        const pl_json *plan = page_item(data, "plans", i);
        const pl_json *weight = page_item(plan, "weights", page_int(row, "of", i));
        if (!first) first = weight;
        assert_string_equal(page_text(weight, "name"), page_text(first, "name"));
        for (int k = 0; k < 2; k++)
            differ |= strcmp(page_text(page_item(weight, "at", k), "text"),
                             page_text(page_item(first, "at", k), "text")) != 0;
    }
    assert_true(differ);
}

static void test_compare(void **state)
{
    pl_arena *a = pl_arena_new("test");
    const pl_html_plan x[] = { plans_make(GPT, "dp", 4, a), plans_make(GPT, "zero=1", 4, a),
                               plans_make(GPT, "zero=3", 4, a) };
    const pl_html_plan same[] = { x[0], x[0], x[0] };
    const pl_json *data = read_page(3, x, a), *side = page_get(data, "differences");
    (void)state;
    assert_int_equal(pl_json_items(page_get(data, "plans")), 3);
    for (int i = 0; i < 3; i++)
        page_check_number(page_item(data, "plans", i), "step_seconds", x[i].forecast->step_seconds);
    page_check_number(side, "weights", 4 + 3 * 12);
    assert_true(count_differences(data) > 0);
    for (int i = 0; i < pl_json_items(page_get(side, "rows")); i++)
        check_row(data, page_item(side, "rows", i), 3);
    data = read_page(3, same, a);
    page_check_number(page_get(data, "differences"), "weights", 40);
    assert_int_equal(count_differences(data), 0);
    pl_arena_free(a);
}

/* Plans that split over axes of other names alone place nothing differently. */
static void test_compare_names(void **state)
{
    pl_arena *a = pl_arena_new("test");
    pl_plan *p = plans_find(GPT, "zero=3", 4, a), *q = plans_find(GPT, "zero=3", 4, a);
    int absent = 0;
    (void)state;
    strcpy(q->mesh.axis[0].name, "other");
    const pl_html_plan x[] = { plans_lower(GPT, "zero=3", p, a), plans_lower(GPT, "zero=3", q, a) };
    const pl_json *data = read_page(2, x, a);
    page_check_number(page_get(data, "differences"), "weights", 40);
    assert_int_equal(count_differences(data), 0);
    /* another model: most are not there, or have other shapes */
    const pl_html_plan y[] = { x[0], plans_make(MLP, "dp", 4, a) };
    data = read_page(2, y, a);
    const pl_json *rows = page_get(page_get(data, "differences"), "rows");
    for (int i = 0; i < pl_json_items(rows); i++)
        absent += page_int(&rows->at[i], "of", 0) < 0 || page_int(&rows->at[i], "of", 1) < 0;
    assert_true(absent > 10);
    pl_arena_free(a);
}

static void test_same_bytes(void **state)
{
    const char *text[2];
    pl_arena *a[2];
    (void)state;
    for (int i = 0; i < 2; i++) {
        a[i] = pl_arena_new("test");
        const pl_html_plan x[] = { plans_make(GPT, "tp=2,dp", 4, a[i]),
                                   plans_make(GPT, "zero=3", 4, a[i]) };
        text[i] = write_page(2, x, a[i]);
    }
    assert_string_equal(text[0], text[1]);
    pl_arena_free(a[0]);
    pl_arena_free(a[1]);
}

/* A page of 12 layers on 16 devices is one that a mail takes. */
static void test_size(void **state)
{
    static const char *const strategies[] = { "zero=3", "tp=8,dp", "tp=2d:4x4" };
    (void)state;
    for (size_t i = 0; i < sizeof strategies / sizeof *strategies; i++) {
        pl_arena *a = pl_arena_new("test");
        const pl_html_plan x = plans_make("gpt2:batch=64", strategies[i], 16, a);
        size_t n = strlen(write_page(1, &x, a));
        if (n > 160000) fail_msg("%s: %zu bytes", strategies[i], n);
        pl_arena_free(a);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_offline),       cmocka_unit_test(test_any_plan),
        cmocka_unit_test(test_texts),         cmocka_unit_test(test_figures),
        cmocka_unit_test(test_devices),       cmocka_unit_test(test_steps),
        cmocka_unit_test(test_labels),        cmocka_unit_test(test_alive),
        cmocka_unit_test(test_orders),        cmocka_unit_test(test_cuts),
        cmocka_unit_test(test_known_cut),     cmocka_unit_test(test_compare),
        cmocka_unit_test(test_compare_names), cmocka_unit_test(test_same_bytes),
        cmocka_unit_test(test_size),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
