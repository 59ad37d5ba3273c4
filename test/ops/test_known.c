/* Known answers and refusals of the operators that move data, look up, route and update weights:
 * what the generic test cannot see, as a wrong offset or order is wrong in every share alike. */
#include "known.h"

/* clang-format off */
static const known_answer answers[] = {
    { "slice takes [at, at + u)",
      "input x f32[2,4]\nforward y f32[2,2] = slice \"; at=1 u=2\" x\n",
      { 0, 1, 2, 3, 4, 5, 6, 7 }, { 1, 2, 5, 6 } },
    { "slice of a composite",
      "input x f32[6]\nforward y f32[2] = slice \"(vh)->(uh); v=3 u=1 at=1\" x\n",
      { 0, 1, 2, 3, 4, 5 }, { 2, 3 } },
    { "slice_grad pads with zeros",
      "input x i64[2]\nforward y i64[5] = slice_grad \"; at=2 v=5\" x\n",
      { 7, 8 }, { 0, 0, 7, 8, 0 } },
    { "concat keeps the order of its inputs",
      "input a f32[2,1]\ninput b f32[2,2]\nforward y f32[2,3] = concat \"...a,...b->...v\" a b\n",
      { 1, 2, 3, 4, 5, 6 }, { 1, 3, 4, 2, 5, 6 } },
    { "concat within a composite",
      "input q f32[2,2]\ninput k f32[2,2]\nforward y f32[2,4] = concat \"sd,sd->s(vd)\" q k\n",
      { 1, 2, 3, 4, 5, 6, 7, 8 }, { 1, 2, 5, 6, 3, 4, 7, 8 } },
    { "split of a fused query, key and value",
      "input x f32[2,3]\n"
      "forward q f32[2,1] k f32[2,1] v f32[2,1] = split \"s(vd)->sd,sd,sd; v=3\" x\n",
      { 1, 2, 3, 4, 5, 6 }, { 1, 4, 2, 5, 3, 6 } },
    { "split with one size left open",
      "input x f32[5]\nforward p f32[2] q f32[3] = split \"v->a,b; a=2\" x\n",
      { 1, 2, 3, 4, 5 }, { 1, 2, 3, 4, 5 } },
    { "transpose of a composite",
      "input x f32[2,4]\nforward y f32[4,2] = transpose \"s(hd)->(dh)s; h=2\" x\n",
      { 0, 1, 2, 3, 4, 5, 6, 7 }, { 0, 4, 2, 6, 1, 5, 3, 7 } },
    { "embedding: ids outside of the table give zeros",
      "input t f32[2,2]\ninput i i32[4]\nforward y f32[4,2] = embedding \"\" t i\n",
      { 1, 2, 3, 4, 1, 0, -1, 2 }, { 3, 4, 1, 2, 0, 0, 0, 0 } },
    { "embedding_grad adds up equal ids",
      "input i i32[4]\ninput d f32[4]\nforward y f32[3] = embedding_grad \"n,n->v; v=3\" i d\n",
      { 2, 0, 2, 3, 1, 10, 100, 1000 }, { 10, 0, 101 } },
    /* bags of torch.nn.functional.embedding_bag; the second one is empty */
    { "segment_sum",
      "input x f32[6,2]\ninput b i32[4]\ninput e i32[4]\n"
      "forward y f32[4,2] = segment_sum \"\" x b e\n",
      { 3, 9, 1, 5, 3, 9, 2, -4, 4, 2, 4, 2, 0, 3, 3, 4, 3, 3, 4, 6 },
      { 7, 23, 0, 0, 2, -4, 8, 4 } },
    { "segment_sum: means",
      "input x f32[6,2]\ninput b i32[4]\ninput e i32[4]\n"
      "forward y f32[4,2] = segment_sum \"; mean=1\" x b e\n",
      { 3, 9, 1, 5, 3, 9, 2, -4, 4, 2, 4, 2, 0, 3, 3, 4, 3, 3, 4, 6 },
      { 7 / 3.0, 23 / 3.0, 0, 0, 2, -4, 4, 2 } },
    { "segment_max",
      "input x f32[6,2]\ninput b i32[4]\ninput e i32[4]\n"
      "forward y f32[4,2] = segment_max \"\" x b e\n",
      { 3, 9, 1, 5, 3, 9, 2, -4, 4, 2, 4, 2, 0, 3, 3, 4, 3, 3, 4, 6 },
      { 3, 9, 0, 0, 2, -4, 4, 2 } },
    { "segment_sum_grad: each row has its bag's, divided where bags are means",
      "input d f32[4,2]\ninput b i32[4]\ninput e i32[4]\n"
      "forward s f32[6,2] = segment_sum_grad \"; n=6\" d b e\n"
      "forward m f32[6,2] = segment_sum_grad \"; n=6 mean=1\" d b e\n",
      { 1, 2, 3, 4, 5, 6, 7, 8, 0, 3, 3, 4, 3, 3, 4, 6 },
      { 1, 2, 1, 2, 1, 2, 5, 6, 7, 8, 7, 8, 1 / 3.0, 2 / 3.0, 1 / 3.0, 2 / 3.0, 1 / 3.0, 2 / 3.0,
        5, 6, 3.5, 4, 3.5, 4 } },
    { "segment_max_grad: the first of the largest has it",
      "input x f32[6,2]\ninput y f32[4,2]\ninput d f32[4,2]\n"
      "input b i32[4]\ninput e i32[4]\n"
      "forward g f32[6,2] = segment_max_grad \"\" x y d b e\n",
      { 3, 9, 1, 5, 3, 9, 2, -4, 4, 2, 4, 2, 3, 9, 0, 0, 2, -4, 4, 2, 1, 2, 3, 4, 5, 6, 7, 8,
        0, 3, 3, 4, 3, 3, 4, 6 },
      { 1, 2, 0, 0, 0, 0, 5, 6, 7, 8, 0, 0 } },
    { "scatter: of two updates to one place the last counts; one outside of it none",
      "input x f32[4]\ninput i i64[4]\ninput u f32[4]\n"
      "forward y f32[4] = scatter \"e,k,k->e\" x i u\n",
      { 1, 2, 3, 4, 2, 0, 2, 9, 5, 6, 7, 8 }, { 6, 2, 7, 4 } },
    { "scatter: whole rows are added up",
      "input x f32[2,2]\ninput i i32[3]\ninput u f32[3,2]\n"
      "forward y f32[2,2] = scatter \"en,k,kn->en; how=add\" x i u\n",
      { 1, 2, 3, 4, 1, 0, 1, 10, 20, 30, 40, 50, 60 }, { 31, 42, 63, 84 } },
    { "scatter: the larger, by row",
      "input x f32[2,2]\ninput i i32[2,3]\ninput u f32[2,3]\n"
      "forward y f32[2,2] = scatter \"; how=max\" x i u\n",
      { 1, 2, 3, 4, 0, 0, 1, 1, 1, 1, 5, 0, 1, 9, 3, 4 }, { 5, 2, 3, 9 } },
    { "gather_elements picks whole rows",
      "input x f32[2,3]\ninput i i32[2]\nforward y f32[2,2] = gather_elements \"ne,k->nk\" x i\n",
      { 1, 2, 3, 4, 5, 6, 2, 0 }, { 3, 1, 6, 4 } },
    { "flip", "input x i64[2,3]\nforward y i64[2,3] = flip \"\" x\n",
      { 1, 2, 3, 4, 5, 6 }, { 3, 2, 1, 6, 5, 4 } },
    { "max_pool_index: places of the whole plane",
      "input x f32[1,1,3,3]\n"
      "forward y i64[1,1,2,2] = max_pool_index \"; r=2 s=2 pad=1 stride=2\" x\n",
      { 1, 2, 3, 4, 5, 6, 7, 8, 9 }, { 0, 2, 6, 8 } },
    { "reduce_prod_grad: no zero, one, two",
      "input x f32[3,3]\ninput d f32[3]\nforward y f32[3,3] = reduce_prod_grad \"\" x d\n",
      { 2, 3, 4, 0, 3, 4, 0, 3, 0, 1, 10, 1 }, { 12, 8, 6, 120, 0, 0, 0, 0, 0 } },
    { "cross entropy: log 4, log(1 + e), ignored",
      "input x f32[3,4]\ninput t i64[3]\nforward m f32[3] = reduce_max \"bv->b\" x\n"
      "forward s f32[3] p f32[3] = cross_entropy_sums \"\" x t m\n"
      "forward l f32[3] = cross_entropy_loss \"; classes=4\" s p m t\n",
      { 1, 1, 1, 1, 0, 1, -1e30, -1e30, 0, 0, 0, 0, 2, 0, -1 },
      { 1, 1, 0, 4, 1.3678794411714423, 4, 1, 0, 0, 1.3862943611198906, 1.3132616875182228, 0 } },
    { "smoothed cross entropy: 0.8 of the class, 0.2 of the mean of all; ignored",
      "input x f32[3,4]\ninput t i64[3]\nforward m f32[3] = reduce_max \"bv->b\" x\n"
      "forward s f32[3] p f32[3] = cross_entropy_sums \"; smoothing=0.2\" x t m\n"
      "forward l f32[3] = cross_entropy_loss \"; classes=4\" s p m t\n",
      { 0, 1, -1, 2, 3, 0.5, 1, -2, 1, 2, 3, 4, 2, 0, -1 },
      { 2, 3, 4, 1.55300179, 1.22415823, 1.55300179, -0.7, 2.525, 0.5, 3.1401897, 0.67725345, 0 } },
    { "cross entropy of large logits",
      "input x f32[1,2]\ninput t i64[1]\nforward m f32[1] = reduce_max \"bv->b\" x\n"
      "forward s f32[1] p f32[1] = cross_entropy_sums \"\" x t m\n"
      "forward l f32[1] = cross_entropy_loss \"; classes=2\" s p m t\n",
      { 1e30, -1e30, 0 }, { 1e30, 1, 1e30, 0 } },
    { "topk: the lower index of equal ones first",
      "input x f32[2,4]\nforward v f32[2,3] i i32[2,3] = topk \"; k=3\" x\n",
      { 1, 3, 3, 2, -1, -1, -1, -1 }, { 3, 3, 2, -1, -1, -1, 1, 2, 3, 0, 1, 2 } },
    /* First choices 0 0 1, then second choices 1 1 0: expert 0 is full when token 2 asks, expert 1
     * when token 1 does. */
    { "moe_dispatch: all first choices go before second ones",
      "input x f32[1,3,1]\ninput i i32[1,3,2]\n"
      "forward y f32[1,2,2,1] = moe_dispatch \"; e=2 c=2\" x i\n",
      { 5, 6, 7, 0, 1, 0, 1, 1, 0 }, { 5, 6, 7, 5 } },
    { "moe_combine: dropped choices add nothing",
      "input y f32[1,2,2,1]\ninput i i32[1,3,2]\ninput w f32[1,3,2]\n"
      "forward z f32[1,3,1] = moe_combine \"\" y i w\n",
      { 1, 10, 100, 1000, 0, 1, 0, 1, 1, 0, 1, 2, 3, 4, 5, 6 }, { 2001, 30, 500 } },
    /* Two own buckets a side; from 2 on 2 + floor(2 log(distance / 2) / log(8)), 3 at most; those
     * of later keys are 4 higher. */
    { "relative_bucket: keys before and after the query",
      "forward y i32[3,9] = relative_bucket \"->qk; q=3 k=9 buckets=8 limit=16\"\n",
      { 0 },
      { 0, 5, 6, 6, 6, 6, 7, 7, 7, 1, 0, 5, 6, 6, 6, 6, 7, 7, 2, 1, 0, 5, 6, 6, 6, 6, 7 } },
    /* Four own buckets; from 4 on 4 + floor(4 log(distance / 4) / log(4)): 8 is on a border. */
    { "relative_bucket: keys before the query",
      "forward y i32[13,2] = relative_bucket \"->qk; q=13 k=2 buckets=8 limit=16 both=0\"\n",
      { 0 },
      { 0, 0, 1, 0, 2, 1, 3, 2, 4, 3, 4, 4, 5, 4, 5, 5, 6, 5, 6, 6, 6, 6, 6, 6, 7, 6 } },
    { "square_sum and clip_scale: the norm is 5",
      "input x f32[2]\nforward s f32[] = square_sum \"\" x\n"
      "forward c f32[] = clip_scale \"; max_norm=2\" s\n"
      "forward d f32[] = clip_scale \"; max_norm=9\" s\n",
      { 3, 4 }, { 25, 0.4, 1 } },
    { 0 },
};

static const known_refusal refusals[] = {
    { "input x f32[4]\nforward y f32[2,2] = reshape \"(ab)->ba; a=2\" x\n", "use transpose" },
    { "input x f32[4,3]\nforward y f32[4] = reshape \"bu->b\" x\n",
      "'u' is 3 and stands on one side only" },
    { "input x f32[4]\nforward y f32[4] = transpose \"a->aa\" x\n", "twice" },
    { "input x f32[4,2]\nforward y f32[4] = transpose \"ab->a\" x\n",
      "'b' stands in the operands 0;" },
    { "input x f32[4]\nforward y f32[3] = slice \"; at=2 u=3\" x\n",
      "at=2 u=3 is not within 'v', which is 4" },
    { "input x f32[4]\nforward y f32[3] = slice \"; at=2\" x\n", "'u' is not known" },
    { "input x f32[4]\nforward y f32[3] = slice_grad \"; v=3\" x\n",
      "is not within 'v', which is 3" },
    { "input x f32[2]\nforward y f32[3] = concat \"a,a->v; v=3\" x x\n", "4 together, 'v' is 3" },
    { "input x f32[2]\nforward y f32[2] = concat \"a,a->a\" x x\n",
      "needs a letter that no piece has" },
    { "input x f32[6]\nforward y f32[6] = concat \"(ab)->v\" x\n", "two letters of its own" },
    { "input x f32[4]\ninput i i64[2]\ninput u f32[2]\n"
      "forward y f32[4] = scatter \"e,k,k->e; how=last\" x i u\n",
      "attribute 'how' is none of: none add mul max min" },
    { "input x f32[2,99]\nforward y f32[2,1] = resize \"; v=1 mode=linear antialias=1\" x\n",
      "antialias from 99 to 1 takes 198 places, at most 128" },
    { "input x f32[3]\nforward y f32[2] z f32[2] w f32[1] = split \"v->a,b,c; a=2\" x\n",
      "give the sizes" },
    { "input x f32[2]\nforward y f32[1] z f32[2] = split \"v->a,b; a=1 b=2\" x\n",
      "3 together, 'v' is 2" },
    { "input t f32[2,2]\ninput i i32[2]\nforward y f32[2,2] = embedding \"vh,n->vh\" t i\n",
      "'v' stands in the operands 02; counted from 0, inputs first, a letter may stand in: v:0" },
    { "input x f32[4]\nforward v f32[5] i i32[5] = topk \"; k=5\" x\n", "k=5 of only 4" },
    { "forward y i32[2,2] = relative_bucket \"->qk; q=2 k=2 buckets=3\"\n",
      "3 give 1 for a direction" },
    { "forward y i32[2,2] = relative_bucket \"->qk; q=2 k=2 buckets=8 limit=4 both=0\"\n",
      "a limit above half of them" },
    { "forward y i32[2] = relative_bucket \"->q; q=2\"\n", "two dimensions, not 1" },
    { "input s f32[]\nforward c f32[] = clip_scale \"; max_norm=0\" s\n", "max_norm is 0" },
    { "input w f32[2]\ninput s f32[]\ninput i i64[]\nforward a f32[2] m f32[2] v f32[2] = "
      "adamw \"; beta1=1\" w w w w s i s\n", "both have to be in [0, 1)" },
    { "input w f32[4,2]\ninput s f32[4,3]\ninput l f32[]\n"
      "forward a f32[4,2] = rowwise_adagrad \"\" w w s l l\n", "'u' is 3; a row has one sum" },
    { "input s f32[4,1]\ninput q f32[4]\ninput l f32[]\n"
      "forward a f32[4,1] = rowwise_sum \"\" s q l\n", "write columns=N" },
    { "input x f32[2,4]\ninput t i32[2]\ninput m f32[2]\n"
      "forward s f32[2] p f32[2] = cross_entropy_sums \"; smoothing=1.5\" x t m\n",
      "smoothing is 1.5; it has to be in [0, 1]" },
};
/* clang-format on */

static void knows_answers(void **state)
{
    (void)state;
    for (const known_answer *x = answers; x->name; x++) known_check_answer(x);
}

static void refuses(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof refusals / sizeof *refusals; i++)
        known_check_refusal(&refusals[i]);
}

/* -- optimizers: steps on one weight, against sums written out over the steps ---------------- */

enum { STEPS = 5 };
static const double gradient[STEPS] = { 0.5, -1.25, 2, 0.125, -0.75 };
static const double lr = 0.1, scale = 0.5, start = 1.5;

/* Run the optimizer with `moments` states of zeros; where[] gets the weight after each step. */
static void run_optimizer(const char *line, int moments, double where[STEPS])
{
    pl_arena *a = pl_arena_new("test");
    pl_text text = { .arena = a };
    pl_err err = { 0 };
    pl_text_add(&text, "input w f32[1]\ninput g f32[1]\ninput m f32[1]\n");
    if (moments > 1) pl_text_add(&text, "input v f32[1]\ninput step i64[]\n");
    pl_text_add(&text, "input lr f32[]\ninput scale f32[]\n%s", line);
    pl_graph *g = known_parse(a, pl_text_get(&text), &err);
    if (!g) fail_msg("%s: %s", line, err.msg);
    const pl_node *n = g->nodes.at[0];
    const pl_value *step = pl_graph_find(g, "step");
    eval e = eval_new(g);
    float *w = e.at[n->in[0]->id];
    *w = (float)start;
    *(float *)e.at[pl_graph_find(g, "lr")->id] = (float)lr;
    *(float *)e.at[pl_graph_find(g, "scale")->id] = (float)scale;
    for (int i = 0; i < moments; i++) *(float *)e.at[n->in[2 + i]->id] = 0;
    for (int i = 0; i < STEPS; i++) {
        *(float *)e.at[n->in[1]->id] = (float)gradient[i];
        if (step) *(int64_t *)e.at[step->id] = i + 1;
        eval_run(&e, 1);
        for (int o = 0; o < n->n_out; o++) /* to the input whose memory it takes over */
            *(float *)e.at[n->in[n->op->inplace[o] - '0']->id] = *(float *)e.at[n->out[o]->id];
        where[i] = (double)*w;
    }
    eval_free(&e);
    pl_arena_free(a);
}

/* sum over i <= t of beta^(t-i) x[i] */
static double weigh(double beta, const double x[], int t)
{
    double sum = 0;
    for (int i = 0; i <= t; i++) sum += pow(beta, t - i) * x[i];
    return sum;
}

static void compare_steps(const char *name, const double found[], const double want[])
{
    for (int t = 0; t < STEPS; t++)
        if (!(fabs(found[t] - want[t]) <= 2e-6))
            fail_msg("%s: after step %d the weight is %.9g, not %.9g", name, t + 1, found[t],
                     want[t]);
}

static void sgd_follows_its_sums(void **state)
{
    static const struct {
        double momentum, decay;
        bool nesterov;
    } rows[] = {
        { 0, 0, false },
        { 0.9, 0, false },
        { 0.9, 0.01, false },
        { 0.8, 0.02, true },
    };
    (void)state;
    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
        char line[200];
        double found[STEPS], want[STEPS], d[STEPS], w = start;
        snprintf(line, sizeof line,
                 "forward a f32[1] b f32[1] = sgd \"; momentum=%g decay=%g nesterov=%d\" "
                 "w g m lr scale\n",
                 rows[r].momentum, rows[r].decay, rows[r].nesterov);
        run_optimizer(line, 1, found);
        for (int t = 0; t < STEPS; t++) {
            d[t] = scale * gradient[t] + rows[r].decay * w;
            double u = weigh(rows[r].momentum, d, t);
            want[t] = w -= lr * (rows[r].nesterov ? d[t] + rows[r].momentum * u : u);
        }
        compare_steps(line, found, want);
    }
}

/* The bias-corrected moments are weighted means of what was seen so far. */
static void adam_follows_its_means(void **state)
{
    static const double one[STEPS] = { 1, 1, 1, 1, 1 };
    const double beta1 = 0.8, beta2 = 0.95, eps = 1e-2, decay = 0.1;
    (void)state;
    for (int decoupled = 0; decoupled < 2; decoupled++) {
        const char *name = decoupled ? "adamw" : "adam";
        char line[200];
        double found[STEPS], want[STEPS], g[STEPS], square[STEPS], w = start;
        snprintf(line, sizeof line,
                 "forward a f32[1] b f32[1] c f32[1] = %s "
                 "\"; beta1=%g beta2=%g eps=%g decay=%g\" w g m v lr step scale\n",
                 name, beta1, beta2, eps, decay);
        run_optimizer(line, 2, found);
        for (int t = 0; t < STEPS; t++) {
            g[t] = scale * gradient[t] + (decoupled ? 0 : decay * w);
            square[t] = g[t] * g[t];
            double mean = weigh(beta1, g, t) / weigh(beta1, one, t);
            double power = weigh(beta2, square, t) / weigh(beta2, one, t);
            want[t] = w = w * (decoupled ? 1 - lr * decay : 1) - lr * mean / (sqrt(power) + eps);
        }
        compare_steps(name, found, want);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(knows_answers),
        cmocka_unit_test(refuses),
        cmocka_unit_test(sgd_follows_its_sums),
        cmocka_unit_test(adam_follows_its_means),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
