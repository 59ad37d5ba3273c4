/* The page about plans: it is well-formed whatever the names are, asks for nothing from outside,
 * and says what plan, program and forecast say. */
#include "report/html_page.h"

#include "graph/op.h"
#include "page.h"
#include "plans.h"
#include "program/summary.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static const char *write_page(int n, const pl_html_plan plan[], pl_arena *a)
{
    pl_text out = { .arena = a };
    const char *place;
    pl_html_write(n, plan, &out);
    const char *text = pl_text_get(&out), *wrong = page_check(text, &place);
    assert_int_equal(strlen(text), out.n);
    if (wrong) fail_msg("%s, %s: %s: %.80s", plan[0].model, plan[0].strategy, wrong, place);
    return text;
}

#define GPT PLANS_GPT
#define MLP "mlp:layers=2,in=8,hidden=8,classes=8,batch=8"

/* -- the checker itself ------------------------------------------------------------------------ */

static void test_checker(void **state)
{
    static const struct {
        const char *body;
        bool ok;
    } cases[] = {
        { "<p a=\"1\" b-c=\"&lt;\">x &amp; y<br/></p>", true },
        { "<style>a>b{}</style>", true },
        { "<p>", false },
        { "</p>", false },
        { "<b><i></b></i>", false },
        { "<p a=1></p>", false },
        { "<p a=\"<\"></p>", false },
        { "<p a=\"1\" a=\"2\"></p>", false },
        { "a & b", false },
        { "a > b", false },
        { "\x01", false },
        { "<script>x", false },
    };
    pl_arena *a = pl_arena_new("test");
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        pl_text t = { .arena = a };
        const char *place;
        pl_text_add(&t, "<!DOCTYPE html>\n%s", cases[i].body);
        for (int k = 0; k < 20; k++) pl_text_add(&t, "<hr/>");
        if (!page_check(pl_text_get(&t), &place) != cases[i].ok) fail_msg("%s", cases[i].body);
    }
    pl_arena_free(a);
}

/* -- any plan, any names ----------------------------------------------------------------------- */

static void test_well_formed(void **state)
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
        assert_int_equal(page_count(text, "<section>"), 4);
        assert_int_equal(page_count(text, "<small>first 64 of") > 0, cases[i].devices > 64);
        assert_int_equal(page_count(text, "<article"), 1);
        /* nothing from outside */
        assert_int_equal(page_count(text, "://") + page_count(text, "src=") +
                             page_count(text, "@import") + page_count(text, "<link"),
                         0);
        assert_int_equal(page_count(text, "url("), page_count(text, "url(#sum)"));
        assert_int_equal(page_count(text, "href="), 0);
        assert_null(strstr(text, "nan"));
        assert_null(strstr(text, "inf\""));
        pl_arena_free(a);
    }
}

#define HOSTILE "</title><script>alert('1')</script>&\"\x07\xff\xc3\xa9"
#define HARMLESS                                                                                   \
    "&lt;/title&gt;&lt;script&gt;alert(&#39;1&#39;)&lt;/script&gt;&amp;&quot;\xef\xbf\xbd"         \
    "\xef\xbf\xbd\xc3\xa9"

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

static void test_escapes(void **state)
{
    pl_arena *a = pl_arena_new("test");
    const pl_html_plan two[] = { make_hostile("tp=2,dp", a), make_hostile("zero=3", a) };
    (void)state;
    for (int n = 1; n <= 2; n++) {
        const char *text = write_page(n, two, a);
        assert_int_equal(page_count(text, "<script"), 1);
        assert_int_equal(page_count(text, "alert('1')"), 0);
        assert_true(page_count(text, HARMLESS) > 20);
        assert_true(page_count(text, "&lt;a&gt;&amp;&quot;&#39;\xef\xbf\xbd\xef\xbf\xbd=") > 0);
    }
    pl_arena_free(a);
}

/* -- figures ----------------------------------------------------------------------------------- */

/* The figure that stands first after `name`, with all its digits. */
static void check_figure(const char *text, const char *name, double want)
{
    double value = NAN;
    const char *at = strstr(text, name);
    if (!at || !page_find_data(at, &value)) fail_msg("no figure '%s'", name);
    if (!(value == want)) fail_msg("%s is %.17g, not %.17g", name, value, want);
}

static void test_figures(void **state)
{
    pl_arena *a = pl_arena_new("test");
    const pl_html_plan x = plans_make(GPT, "tp=2,dp", 4, a);
    const pl_forecast *f = x.forecast;
    const char *text = write_page(1, &x, a);
    pl_summary s;
    (void)state;
    pl_summary_make(x.program, a, &s);
    check_figure(text, "<dt>step, predicted", f->step_seconds);
    assert_null(strstr(text, "no plan is below")); /* the search bounds its own sums, not these */
    check_figure(text, "<dt>computing", f->compute_seconds);
    check_figure(text, "<dt>messages", f->comm_seconds);
    check_figure(text, "computing waits ", f->exposed_seconds);
    check_figure(text, "<dt>received in a step", (double)f->comm_bytes);
    check_figure(text, "<dt>memory of the heaviest device", 21074);
    check_figure(text, " % of <data", 40000);
    const char *items = strstr(text, "<th>at the peak");
    check_figure(items, "weights", 1001);
    check_figure(items, "optimizer", 2003);
    check_figure(items, "gradients", 3007);
    check_figure(items, "activations", 4013);
    check_figure(items, "buffers", 5021);
    check_figure(items, "transient", 6029);
    check_figure(items, "<td>all", 21074);
    check_figure(strstr(text, "Messages of one step"), "<td>all", (double)s.message_bytes);
    assert_int_equal(page_count(strstr(text, "Messages of one step"), "<tr><td><i class"), s.n);
    pl_arena_free(a);
}

/* The program's order and the one of least memory: each with its peak and block, then the bound. */
static void test_orders(void **state)
{
    static const pl_step_order orders[] = { PL_ORDER_PROGRAM, PL_ORDER_PLEAT };
    pl_arena *a = pl_arena_new("test");
    pl_html_order x[2];
    pl_forecast f;
    pl_text out = { .arena = a };
    const char *place;
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
    const char *text = pl_text_get(&out), *wrong = page_check(text, &place);
    if (wrong) fail_msg("%s: %.80s", wrong, place);
    assert_int_equal(page_count(text, "alert('1')"), 0);
    pl_forecast_memory_make(x[1].program, a, &f);
    check_figure(text, "order after</dt>", (double)f.live[f.peak_step]);
    check_figure(text, "no order is below</dt>", (double)x[1].program->order_bound);
    check_figure(strstr(text, "in a block of "), "of ", (double)x[0].block);
    assert_int_equal(page_count(text, "<table>"), 2);
    assert_int_equal(page_count(text, "class=\"live\""), 2); /* and in the key */
    assert_int_equal(page_count(text, "://"), 0);
    pl_arena_free(a);
}

/* The parts of the first bar: side by side, each as wide as its share of the limit. */
static void test_memory_bar(void **state)
{
    static const double bytes[] = { 1001, 2003, 3007, 4013, 5021, 6029 };
    pl_arena *a = pl_arena_new("test");
    const pl_html_plan x = plans_make(MLP, "dp", 2, a);
    const char *at = strstr(write_page(1, &x, a), "<svg class=\"wide bar\"");
    double end = 0;
    (void)state;
    for (int i = 0; i < 6; i++) {
        char want[40];
        double from, wide;
        snprintf(want, sizeof want, "<path class=\"i%d\" d=\"", i);
        at = strstr(at, want);
        assert_non_null(at);
        assert_int_equal(sscanf(at + strlen(want), "M%lf 0h%lf", &from, &wide), 2);
        assert_true(fabs(from - end) < 0.11);
        assert_true(fabs(wide - 1180 * bytes[i] / 40000) < 0.06);
        end += 1180 * bytes[i] / 40000;
    }
    pl_arena_free(a);
}

typedef struct box {
    double x, y, wide, high;
} box;

typedef struct boxes {
    int n, cap;
    box *at;
} boxes;

/* The rectangles of one path, "M1.0 2h3v4h-3z" each. */
static void read_boxes(const char *path, boxes *b, pl_arena *a)
{
    const char *at = strstr(path, " d=\"") + 4, *end = strchr(at, '"');
    for (; at < end; at = strchr(at, 'z') + 1) {
        box x;
        assert_int_equal(sscanf(at, "M%lf %lfh%lfv%lf", &x.x, &x.y, &x.wide, &x.high), 4);
        assert_true(x.x >= 75.9 && x.x + x.wide <= 1172.1);
        PL_PUSH(a, b, x);
    }
}

/* Blocks of the time line of the whole step: no step is lost, messages lie below what is computed,
 * and no two blocks lie over each other. */
static void check_time_line(const pl_html_plan *x, pl_arena *a)
{
    const char *at = strstr(write_page(1, x, a), "aria-label=\"time line of one step\"");
    const char *stop = strstr(at, "</svg>");
    boxes b = { 0 };
    int steps = 0;
    for (at = strstr(at, "<path class=\"k"); at && at < stop;
         at = strstr(at + 1, "<path class=\"k")) {
        int kind, n = 1, first = b.n;
        assert_int_equal(sscanf(at, "<path class=\"k%d", &kind), 1);
        read_boxes(at, &b, a);
        for (int i = first; i < b.n; i++) assert_int_equal(b.at[i].y > 20, kind >= 4);
        sscanf(strstr(at, "<title>"), "<title>%d steps,", &n);
        steps += n;
    }
    assert_int_equal(steps, x->program->n_steps);
    for (int i = 0; i < b.n; i++)
        for (int k = 0; k < i; k++) {
            const box *p = &b.at[i], *q = &b.at[k];
            double wide = fmin(p->x + p->wide, q->x + q->wide) - fmax(p->x, q->x);
            double high = fmin(p->y + p->high, q->y + q->high) - fmax(p->y, q->y);
            if (wide > 0.2 && high > 0) fail_msg("blocks at %g and %g, %g", p->x, q->x, p->y);
        }
}

/* By hand, one step after the other; and as it is forecast, with messages over both axes of the
 * mesh side by side, beside computing. */
static void test_time_line(void **state)
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
        check_time_line(&x, a);
        pl_forecast_make(x.program, &speed, a, &f);
        x.forecast = &f;
        check_time_line(&x, a);
        pl_arena_free(a);
    }
}

/* The look at one block from near ends where the block does, though some of its steps (copies of
 * weights in bf16, for the updates) were put off to the end of the pass. */
static void test_block(void **state)
{
    pl_arena *a = pl_arena_new("test");
    double seconds;
    (void)state;
    const pl_html_plan x =
        plans_make("llama:layers=12,hidden=16,heads=4,kv=2,ffn=32,vocab=64,seq=8,batch=8,"
                   "dtype=bf16",
                   "zero=3", 4, a);
    const char *at = strstr(write_page(1, &x, a), "Backward pass of block");
    assert_non_null(at);
    assert_int_equal(sscanf(strstr(at, "<data"), "<data value=\"%lf", &seconds), 1);
    if (seconds > x.forecast->step_seconds / 12)
        fail_msg("block 5 of 12: %g s of %g", seconds, x.forecast->step_seconds);
    pl_arena_free(a);
}

/* -- devices ----------------------------------------------------------------------------------- */

static void test_devices(void **state)
{
    pl_arena *a = pl_arena_new("test");
    pl_cluster *c;
    pl_err err = { 0 };
    (void)state;
    pl_html_plan x = plans_make(GPT, "tp=2,dp", 4, a);
    assert_null(strstr(write_page(1, &x, a), "Devices and links"));
    assert_true(pl_cluster_find("1x4xv100", a, &c, &err));
    x.devices = c;
    x.units = "tokens";
    x.n_units = 64;
    x.mfu = 0.25;
    const char *text = write_page(1, &x, a);
    assert_non_null(strstr(text, "rank = 2\xc3\x97<b>data</b> + <b>tensor</b>"));
    assert_non_null(strstr(text, "<td class=\"n\">900 GB/s</td><td>NVIDIA V100 SXM2 data sheet"));
    assert_non_null(strstr(text, "<dt>tokens in a second</dt>"));
    assert_non_null(strstr(text, "25.0 % of the peak (MFU)"));
    pl_arena_free(a);
}

/* -- what is alive ----------------------------------------------------------------------------- */

/* What is alive at a step fits into the work block together, and has all that the step reads. */
static void check_alive(const pl_html_view *v, int i, pl_arena *a)
{
    const pl_step *x = &v->in->program->step[i];
    pl_html_alive *at;
    int64_t bytes = 0;
    int n = pl_html_alive_find(v, i, a, &at);
    for (int k = 0; k < n; k++) {
        bytes += at[k].bytes;
        assert_true(at[k].count > 0 && (!k || at[k].bytes <= at[k - 1].bytes));
    }
    assert_true(bytes <= v->in->program->work_bytes);
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
static int count_alive(const pl_html_view *v, pl_html_kind kind, const char *name, pl_arena *a)
{
    int last = 0, count = 0;
    pl_html_alive *at;
    for (int i = 0; i < v->in->program->n_steps; i++)
        if (pl_html_view_kind(&v->in->program->step[i]) == kind) last = i;
    int n = pl_html_alive_find(v, last, a, &at);
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
        pl_html_view v;
        pl_html_view_make(&v, &x, 0, a);
        for (int i = 0; i < x.program->n_steps; i += 3) check_alive(&v, i, a);
        /* the last step leaves nothing to be read */
        const pl_step *last = &x.program->step[x.program->n_steps - 1];
        pl_html_alive *at;
        assert_true(pl_html_alive_find(&v, x.program->n_steps - 1, a, &at) <= last->n_in);
        /* kept for the backward pass, and no longer */
        assert_int_equal(count_alive(&v, PL_HTML_FORWARD, "h.*.attn.softmax", a), 3);
        assert_int_equal(count_alive(&v, PL_HTML_BACKWARD, "h.*.attn.softmax", a), 0);
        pl_arena_free(a);
    }
}

/* -- cells ------------------------------------------------------------------------------------- */

/* Cards of weights: each cell lies within what the devices that it names hold of the tensor. */
static int check_cells(const char *card, const char *stop, const pl_plan *p, const pl_value *x,
                       const pl_placement *where)
{
    int n = 0;
    for (const char *at = card; (at = strstr(at, "<title>[")) && at < stop; at++, n++) {
        long long lo[2] = { 0, 0 }, hi[2] = { 1, 1 };
        if (x->shape.rank == 2)
            assert_int_equal(
                sscanf(at, "<title>[%lld:%lld, %lld:%lld]", &lo[0], &hi[0], &lo[1], &hi[1]), 4);
        else
            assert_int_equal(sscanf(at, "<title>[%lld:%lld]", &lo[1], &hi[1]), 2);
        const char *device = strstr(at, "; device");
        device += strcspn(device, "0123456789<");
        assert_true(*device != '<');
        int64_t cols = x->shape.dim[x->shape.rank - 1];
        while (*device != '<') {
            pl_region r =
                pl_region_of(where, &p->mesh, &x->shape, (int)strtol(device, (char **)&device, 10));
            int64_t found = 0;
            for (int64_t i = 0; i < pl_region_count(&r); i++) {
                int64_t g = pl_region_global(&r, &x->shape, i), row = g / cols, col = g % cols;
                found += row >= lo[0] && row < hi[0] && col >= lo[1] && col < hi[1];
            }
            assert_int_equal(found, (hi[0] - lo[0]) * (hi[1] - lo[1]));
        }
    }
    return n;
}

static void test_cells(void **state)
{
    static const char *const strategies[] = { "tp=2,dp", "zero=3", "tp=2d:2x2", "tp=4" };
    int n = 0, checked = 0;
    (void)state;
    for (size_t i = 0; i < sizeof strategies / sizeof *strategies; i++) {
        pl_arena *a = pl_arena_new("test");
        const pl_html_plan x = plans_make(GPT, strategies[i], 4, a);
        const char *text = strstr(write_page(1, &x, a), "<h3>Weights</h3>");
        for (int k = 0; k < x.plan->graph->values.n; k++) {
            const pl_value *v = x.plan->graph->values.at[k];
            const char *name =
                pl_arena_fmt(a, "<div class=\"what\"><b>%s</b>", pl_summary_fold(a, v->name));
            const char *card = v->kind == PL_WEIGHT ? strstr(text, name) : NULL;
            if (!card) continue;
            const char *stored = strstr(card, "<span>stored</span>"),
                       *used = strstr(card, "<span>used</span>");
            n += check_cells(stored, used, x.plan, v, &x.plan->stored[k]);
            checked++;
        }
        pl_arena_free(a);
    }
    assert_true(checked > 40);
    assert_true(n > 100);
}

/* An 8 x 8 weight over (data 2, tensor 2), columns over tensor. */
static void test_known_cells(void **state)
{
    pl_arena *a = pl_arena_new("test");
    const pl_html_plan x = plans_make(MLP, "tp=2,dp", 4, a);
    const char *text = write_page(1, &x, a);
    (void)state;
    assert_true(page_count(text, "<title>[0:4, 0:8] tensor=0; devices 0 2</title>") > 0);
    assert_true(page_count(text, "<title>[4:8, 0:8] tensor=1; devices 1 3</title>") > 0);
    pl_arena_free(a);
}

/* -- several plans ----------------------------------------------------------------------------- */

static void test_compare(void **state)
{
    pl_arena *a = pl_arena_new("test");
    const pl_html_plan x[] = { plans_make(GPT, "dp", 4, a), plans_make(GPT, "zero=1", 4, a),
                               plans_make(GPT, "zero=3", 4, a) };
    const pl_html_plan same[] = { x[0], x[0], x[0] };
    const char *text = write_page(3, x, a), *side = strstr(text, "Plans side by side");
    (void)state;
    assert_int_equal(page_count(text, "<article"), 3);
    assert_int_equal(page_count(text, "<section>"), 3 * 4 + 1);
    const char *at = strstr(side, "<tr><td>step</td>");
    for (int i = 0; i < 3; i++) {
        double value = 0;
        at = page_find_data(at, &value);
        assert_non_null(at);
        assert_true(value == x[i].forecast->step_seconds);
    }
    /* each anchor leads somewhere */
    for (int i = 1; i <= 3; i++) {
        assert_true(page_count(text, pl_arena_fmt(a, "href=\"#plan%d\"", i)) > 0);
        assert_int_equal(page_count(text, pl_arena_fmt(a, " id=\"plan%d\"", i)), 1);
    }
    int different = 0, all = 0;
    static const char heading[] = "Weights placed differently <span class=\"dim\">";
    assert_int_equal(
        sscanf(strstr(text, heading) + sizeof heading - 1, "%d of %d", &different, &all), 2);
    assert_int_equal(all, 4 + 3 * 12);
    assert_true(different > 0);
    text = write_page(3, same, a);
    assert_non_null(strstr(text, "Weights placed differently <span class=\"dim\">0 of 40"));
    pl_arena_free(a);
}

/* Plans that split over axes of other names alone place nothing differently. */
static void test_compare_names(void **state)
{
    pl_arena *a = pl_arena_new("test");
    pl_plan *p = plans_find(GPT, "zero=3", 4, a), *q = plans_find(GPT, "zero=3", 4, a);
    (void)state;
    strcpy(q->mesh.axis[0].name, "other");
    const pl_html_plan x[] = { plans_lower(GPT, "zero=3", p, a), plans_lower(GPT, "zero=3", q, a) };
    assert_non_null(
        strstr(write_page(2, x, a), "Weights placed differently <span class=\"dim\">0 of 40"));
    /* another model: most are not there, or have other shapes */
    const pl_html_plan y[] = { x[0], plans_make(MLP, "dp", 4, a) };
    assert_true(page_count(write_page(2, y, a), "not there") > 10);
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
        if (n > 500000) fail_msg("%s: %zu bytes", strategies[i], n);
        pl_arena_free(a);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_checker),    cmocka_unit_test(test_well_formed),
        cmocka_unit_test(test_escapes),    cmocka_unit_test(test_figures),
        cmocka_unit_test(test_orders),     cmocka_unit_test(test_memory_bar),
        cmocka_unit_test(test_time_line),  cmocka_unit_test(test_block),
        cmocka_unit_test(test_devices),    cmocka_unit_test(test_alive),
        cmocka_unit_test(test_cells),      cmocka_unit_test(test_known_cells),
        cmocka_unit_test(test_compare),    cmocka_unit_test(test_compare_names),
        cmocka_unit_test(test_same_bytes), cmocka_unit_test(test_size),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
