/* pleat verify: the split program computes what the whole one does, on small real runs. */
#include "backends/host/host.h"
#include "base/table.h"
#include "cli/list.h"
#include "options/optim.h"
#include "options/request.h"
#include "options/sizes.h"
#include "api/launch.h"
#include "models/model.h"
#include "train/step.h"
#include "verify/verify.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

typedef struct verify_args {
    pl_verify_options o;
    const char *strategy, *backend, *order;
    pl_sizes sizes;
    pl_request_args request;
    pl_host_args host;
    int64_t devices, threads, seed;
    double timeout;
    bool all, json;
} verify_args;

#define AT(f) offsetof(verify_args, f)
// clang-format off
static const pl_opt opts[] = {
    { "strategy",  TEXT(strategy),     "TEXT", NULL,   "how it is split; words below" },
    { "all",       FLAG(all),          NULL,   NULL,   "every preset for so many devices" },
    { "devices",   INT(devices),       "N",    NULL,   "ranks: threads, or those of mpirun", 1 },
    { "steps",     INT(o.steps),       "N",    "3",    "updates", 1 },
    { "exact",     FLAG(o.exact),      NULL,   NULL,   "in f64 too, whatever the difference" },
    { "tolerance", REAL(o.tolerance),  "X",    NULL,   "largest difference; default: see below" },
    PL_SIZES_OPTS(sizes),
    { "micro",     INT(o.micro),       "N",    NULL,   "micro-batches of a step's batch", 1,
      .needs = "method!=admm" },
    { "lr",        REAL(o.lr),         "X",    USUAL(PL_OPTIM_LR), "learning rate",
      .needs = "method!=admm" },
    { "seed",      INT(seed),          "K",    "1",    "of weights, data and dropout" },
    PL_OPTIM_OPTS(o.optim, "1e-3", "of all but sgd; see below"),
    PL_REQUEST_OPTS(request),
    PL_HOST_OPTS(host),
    { "order",     TEXT(order),        "NAME", "auto", "of steps: program, lescea, pleat" },
    { "backend",   TEXT(backend),      "NAME", "auto", "kernels: onednn, native or ref" },
    { "threads",   INT(threads),       "N",    NULL,   "per rank; default: its share", 1, 4096 },
    { "timeout",   REAL(timeout),      "SECS", "120",  "a rank silent for longer is lost", 0.1 },
    { "json",      FLAG(json),         NULL,   NULL,   "one JSON object on stdout" },
    { 0 },
};
// clang-format on

enum { MOST_CASES = 256 };

/* Seen: 20 to 50 million on a core of 2023, convolutions and matrices alike. */
static const double REFERENCE_FLOPS_PER_S = 3e7;

typedef enum verdict { EQUAL, DIFFERS, UNFIT, FAILED, N_VERDICTS } verdict;

static const char *const verdicts[N_VERDICTS] = { "equal", "differs", "does not fit", "failed" };

typedef struct session {
    verify_args *a;
    pl_world *w;
    pl_arena *arena;
    pl_verify *verify;
    int n_cases;
    pl_strategy strategy[MOST_CASES];
    int count[N_VERDICTS];
    pl_err failure, unfit; /* of the first case of that kind */
    bool hosted;           /* a case has something in the host's memory */
    int told, measuring;
    pl_table table;   /* of the cases told so far */
    pl_json_out json; /* of --json, the same      */
} session;

/* A case as it runs. */
typedef struct trial {
    const pl_verify_case *c;
    bool planned; /* c has its plans */
    int first;    /* the rank of this process that tells */
    pl_verify_found found;
} trial;

/* -- telling ----------------------------------------------------------------------------------- */

/* The mesh of a case; while it has none that of its strategy. */
static const pl_mesh *mesh_of(const pl_strategy *strategy, const trial *t)
{
    return t && t->planned ? &pl_verify_plan(t->c)->mesh : &strategy->mesh;
}

/* Rows are told as the cases end, as wide as the widest will be. */
static void open_table(session *s)
{
    s->table = pl_table_new(s->arena, "strategy\tmesh\t>difference\t>bytes/step\t>counted\tverdict"
                                      "\tlargest difference");
    for (int i = 0; i < s->n_cases; i++)
        pl_table_fit(&s->table, "%s\t%s", s->strategy[i].text,
                     pl_mesh_text(&s->strategy[i].mesh, s->arena));
    for (int v = 0; v < (s->a->all ? N_VERDICTS : UNFIT); v++)
        pl_table_fit(&s->table, "\t\t\t%12s\t%12s\t%s", "", "", verdicts[v]);
}

static void print_start(const session *s)
{
    const pl_verify_options *o = &s->a->o;
    int64_t runs = pl_verify_runs(s->verify);
    int n = s->w->n_ranks;
    fprintf(stderr, "%s: %lld parameters; %lld step%s of %s, whole", pl_verify_model(s->verify),
            (long long)pl_graph_params(pl_verify_graph(s->verify)), (long long)o->steps,
            o->steps > 1 ? "s" : "", o->optim.name);
    if (runs > 1) fprintf(stderr, " in %lld micro-batches", (long long)runs);
    fprintf(stderr, " and on %d device%s", n, n > 1 ? "s" : "");
    if (runs > 1) fprintf(stderr, " in the same ones");
    if (o->micro > runs) fprintf(stderr, " in %lld micro-batches", (long long)o->micro);
    fprintf(stderr, "; tolerance %g\n", pl_verify_tolerance(s->verify));
}

/* What a case that is equal rests on when that is more than the tolerance. */
static void print_rounding(const session *s, const pl_verify_found *f)
{
    printf("    equal in f64 (%.2g)", f->exact_difference);
    if (f->rough)
        printf("; the rest is the rounding of %s: at %s %.2g for a noise of %.2g; %d of %d tensors "
               "are over the tolerance",
               pl_verify_type(s->verify), f->rough, f->rough_difference, f->noise, f->n_rough,
               f->n_tensors);
    if (f->n_blind) printf(", %d rounding alone", f->n_blind);
    printf("\n");
}

static void print_case(session *s, const pl_strategy *strategy, verdict v, const trial *t,
                       const pl_err *err)
{
    const pl_verify_found *f = &t->found;
    const char *mesh = pl_mesh_text(mesh_of(strategy, t), s->arena);
    if (!s->told++) fputs(pl_table_last(&s->table), stdout);
    if (v == EQUAL || v == DIFFERS)
        pl_table_add(&s->table, "%s\t%s\t%.2g\t%lld\t%lld\t%s\t%s", strategy->text, mesh,
                     f->difference, (long long)f->bytes_predicted, (long long)f->bytes_counted,
                     verdicts[v], f->tensor);
    else
        pl_table_add(&s->table, "%s\t%s\t\t\t\t%s", strategy->text, mesh, verdicts[v]);
    fputs(pl_table_last(&s->table), stdout);
    if (v != EQUAL)
        printf("    %s\n", err->msg);
    else if (f->measured)
        print_rounding(s, f);
    fflush(stdout);
}

/* What rounding says of a case; null where nobody had to ask. */
static void put_rounding(const pl_verify_found *f, pl_json_out *out)
{
    if (!f->measured) {
        pl_json_put_null(out, "rounding");
        return;
    }
    PL_JSON_ROW(out, "rounding", "tensors_over", f->n_rough, "tensors_blind", f->n_blind, "tensor",
                f->rough, "difference_f64", f->exact_difference, "difference",
                f->rough ? f->rough_difference : NAN, "noise", f->rough ? f->noise : NAN, "ratio",
                f->ratio);
}

static void open_json(const session *s, pl_json_out *out)
{
    const pl_verify_options *o = &s->a->o;
    PL_JSON_PUT(out, "schema", "pleat.verify/1", "model", pl_verify_model(s->verify), "params",
                pl_graph_params(pl_verify_graph(s->verify)), "devices", s->w->n_ranks, "steps",
                o->steps, "seed", s->a->seed, "micro", o->micro, "whole_micro",
                pl_verify_runs(s->verify));
    PL_JSON_PUT(out, "optimizer", o->optim.name, "lr", o->lr, "dtype", pl_verify_type(s->verify),
                "tolerance", pl_verify_tolerance(s->verify), "strict", (bool)(o->tolerance >= 0));
    pl_json_open(out, "cases", PL_JSON_LIST);
}

static void put_case(session *s, const pl_strategy *strategy, verdict v, const trial *t,
                     const pl_err *err)
{
    const pl_verify_found *f = &t->found;
    pl_json_out *out = &s->json;
    if (!s->told++) open_json(s, out);
    pl_json_open(out, NULL, PL_JSON_OBJECT);
    pl_json_put_text(out, "strategy", strategy->text);
    pl_mesh_write(mesh_of(strategy, t), out);
    pl_json_put_text(out, "verdict", verdicts[v]);
    if (v == EQUAL || v == DIFFERS) {
        PL_JSON_PUT(out, "difference", f->difference, "tensor", f->tensor, "rank", f->rank,
                    "tensors", f->n_tensors, "first_over", f->first);
        put_rounding(f, out);
        PL_JSON_PUT(out, "replicas_differ", f->copies, "bytes_predicted", f->bytes_predicted,
                    "bytes_counted", f->bytes_counted);
    }
    if (v != EQUAL) pl_json_put_text(out, "error", err->msg);
    pl_json_close(out);
}

/* -- running ----------------------------------------------------------------------------------- */

static bool run_rank(void *arg, pl_comm *comm, pl_err *err)
{
    trial *t = arg;
    pl_verify_found found;
    PL_TRY(pl_verify_run(t->c, comm, &found, err));
    if (!comm || comm->rank == t->first) t->found = found;
    return true;
}

/* By reference kernels. A rank that computes for longer than the others wait is lost. */
static bool measure(session *s, pl_err *err)
{
    double seconds = pl_verify_flops(s->verify, 1) / REFERENCE_FLOPS_PER_S;
    double all = pl_verify_flops(s->verify, s->a->o.steps + 1) / REFERENCE_FLOPS_PER_S;
    if (seconds > s->w->timeout_seconds)
        return pl_err_set(err, PL_EINFEASIBLE,
                          "not run in f64: a step takes some %.3g s there, more than --timeout %g: "
                          "verify a smaller size or batch, or give more time",
                          seconds, s->w->timeout_seconds);
    if (!s->measuring++ && s->w->rank == 0)
        fprintf(stderr, "%s: running in f64 too, about %.0f s\n",
                s->a->o.exact ? "as asked" : "over the tolerance", 3 * all);
    return pl_verify_measure(s->verify, err);
}

/* All ranks once more, in f64. */
static bool run_exact(session *s, const trial *t, trial *exact, pl_err *err)
{
    if (measure(s, err)) (void)!pl_verify_exact(t->c, s->arena, &exact->c, err);
    return pl_launch_agree(s->w, err) && pl_launch_run(s->w, run_rank, exact, err);
}

/* Does it offload something? */
static bool is_hosted(const pl_plan *p)
{
    for (int i = 0; i < p->graph->values.n; i++)
        if (p->stored[i].host || (p->kept[i] && p->kept[i]->host)) return true;
    return false;
}

static verdict try_case(session *s, const pl_strategy *strategy, trial *t, pl_err *err)
{
    trial exact = { .first = t->first };
    pl_err why = { 0 };
    bool measured = false;
    if (!pl_verify_split(s->verify, strategy, s->arena, &t->c, err))
        return err->code == PL_EINPUT || err->code == PL_EUSAGE ? UNFIT : FAILED;
    t->planned = true;
    s->hosted |= is_hosted(pl_verify_plan(t->c));
    if (!pl_launch_run(s->w, run_rank, t, err)) return FAILED;
    if (pl_verify_doubts(t->c, &t->found)) measured = run_exact(s, t, &exact, &why);
    bool equal = pl_verify_judge(t->c, &t->found, measured ? &exact.found : NULL, err);
    if (!why.code) return equal ? EQUAL : err->code == PL_EMISMATCH ? DIFFERS : FAILED;
    if (!equal) (void)!pl_err_in(&why, "%s", err->msg); /* by rounding or by error: nobody knows */
    *err = why;
    return FAILED;
}

/* Does it stand in the table? One that could not be run at all is an error alone, unless there are
 * others, or a program reads. */
static bool is_told(const session *s, verdict v)
{
    return s->w->rank == 0 && (s->a->all || s->a->json || v == EQUAL || v == DIFFERS);
}

static void keep_failure(session *s, const char *strategy, verdict v, pl_err *err)
{
    pl_err *keep = v == UNFIT ? &s->unfit : &s->failure;
    if (v == EQUAL || (keep->code && err->code != PL_ERUN)) return;
    if (s->a->all) pl_err_in(err, "%s", strategy);
    *keep = *err;
}

/* False when there is no going on: a rank was lost. */
static bool run_case(session *s, const pl_strategy *strategy)
{
    trial t = { .first = s->w->rank };
    pl_err err = { 0 };
    verdict v = try_case(s, strategy, &t, &err);
    if (is_told(s, v) && s->a->json) put_case(s, strategy, v, &t, &err);
    if (is_told(s, v) && !s->a->json) print_case(s, strategy, v, &t, &err);
    keep_failure(s, strategy->text, v, &err);
    s->count[v]++;
    return err.code != PL_ERUN;
}

/* Strategies that do not fit the model are no failure as long as others do. */
static bool conclude(const session *s, pl_err *err)
{
    int bad = s->count[DIFFERS] + s->count[FAILED];
    if (s->w->rank == 0)
        pl_request_tell_host(s->a->host.dir, (double)s->a->host.rate, s->hosted, false);
    if (s->a->all && s->count[UNFIT] && s->w->rank == 0)
        fprintf(stderr, "%d of %d strategies do not fit the model\n", s->count[UNFIT], s->n_cases);
    if (!bad && s->count[EQUAL]) return true;
    if (bad > 1 && s->failure.code != PL_ERUN)
        return pl_err_set(err, s->count[DIFFERS] ? PL_EMISMATCH : s->failure.code,
                          "of %d strategies %d differ from the whole program, %d could not be run",
                          s->n_cases, s->count[DIFFERS], s->count[FAILED]);
    *err = bad ? s->failure : s->unfit;
    return false;
}

/* What the rows do not fill as it stands. */
static bool finish_options(verify_args *a, const char *model, const pl_world *w, pl_arena *arena,
                           pl_err *err)
{
    pl_verify_options *o = &a->o;
    PL_TRY(pl_request_make(&a->request, arena, &o->plan, err));
    PL_TRY(pl_request_check_links(&a->host, w->n_ranks, err));
    o->exec.host_dir = a->host.dir;
    o->exec.host_rate = (double)a->host.rate;
    o->exec.link_rate = (double)a->host.link_rate;
    o->model = pl_sizes_spec(&a->sizes, model, arena);
    o->seed = (uint64_t)a->seed;
    o->exec.env.n_threads = pl_launch_threads(a->threads, w->n_local);
    if (o->exact && o->tolerance >= 0)
        return pl_err_set(err, PL_EUSAGE,
                          "--exact has no effect beside --tolerance: leave one out");
    if (!a->strategy == !a->all)
        return pl_err_set(err, PL_EUSAGE, "give --strategy TEXT, e.g. dp or tp=2, or --all");
    o->exec.backends = pl_launch_backends(a->backend, &o->exec.n_backends, err);
    if (o->exec.backends && o->exec.backends[0]->device == &pl_device_null)
        return pl_err_set(err, PL_EUSAGE, "--backend %s computes nothing that could be compared",
                          a->backend);
    return o->exec.backends && pl_step_order_find(a->order, &o->plan.lower.order, err);
}

/* Of embeddings. */
static bool has_tables(const pl_model_args *args)
{
    return pl_model_has(args, "vocab") || pl_model_has(args, "tables");
}

/* Of those, some that stand in one. */
static bool has_stacks(const pl_model_args *args)
{
    return pl_model_has(args, "sizes") && strchr(pl_model_word(args, "sizes"), 'x');
}

/* Has it objectives that do not wait for each other within a step? */
static bool are_apart(const pl_model_args *args)
{
    return args->model->objectives && pl_model_has(args, "buffer") &&
           pl_model_int(args, "buffer") > 0;
}

static bool find_cases(session *s, const char *model, pl_err *err)
{
    pl_model_args *args = PL_NEW(s->arena, pl_model_args);
    const char *text[MOST_CASES] = { s->a->strategy };
    const int n = s->w->n_ranks;
    PL_TRY(pl_model_parse(model, s->arena, args, err));
    s->a->o.args = args;
    const unsigned has = (pl_model_has(args, "experts") ? PL_HAS_EXPERTS : 0) |
                         (pl_model_has(args, "seq") ? PL_HAS_POSITIONS : 0) |
                         (has_tables(args) ? PL_HAS_TABLES : 0) |
                         (has_stacks(args) ? PL_HAS_STACKS : 0) |
                         (are_apart(args) ? PL_HAS_OBJECTIVES : 0);
    s->n_cases = s->a->all ? pl_strategy_all(n, has, s->arena, MOST_CASES, text) : 1;
    for (int i = 0; i < s->n_cases; i++)
        PL_TRY(pl_strategy_parse(text[i], n, s->arena, &s->strategy[i], err));
    PL_TRY(pl_step_settle(&s->strategy[0], &s->a->o.micro, &s->a->o.optim, s->arena, err));
    for (int i = 0; i < s->n_cases; i++) s->a->o.optim.masters |= s->strategy[i].masters;
    return true;
}

static bool verify(session *s, const char *model, pl_err *err)
{
    const pl_verify_options *o = &s->a->o;
    if (finish_options(s->a, model, s->w, s->arena, err) && find_cases(s, o->model, err))
        (void)!pl_verify_new(o, s->arena, &s->verify, err);
    PL_TRY(pl_launch_agree(s->w, err));
    open_table(s);
    if (s->w->rank == 0) print_start(s);
    for (int i = 0; i < s->n_cases; i++)
        if (!run_case(s, &s->strategy[i])) break;
    if (s->a->json && s->told) {
        puts(pl_json_end(&s->json));
    }
    return conclude(s, err);
}

static int run(const pl_command *c, int argc, char **argv)
{
    verify_args a = { .o = { .tolerance = -1, .optim.decay = -1 } };
    const char *model;
    int n, code;
    if (!pl_opt_parse(c, argc, argv, &a, 1, 1, &model, &n, &code)) return code;
    pl_optim_settle(&a.o.optim);
    session s = { .a = &a, .arena = pl_arena_new("verify") };
    s.json = pl_json_begin(s.arena);
    pl_err err = { 0 };
    pl_world w = { 0 };
    s.w = &w;
    if (pl_launch_open(a.devices, a.timeout, &w, &err)) (void)!verify(&s, model, &err);
    pl_verify_free(s.verify);
    pl_arena_free(s.arena);
    return pl_launch_close(&w, &err, pl_opt_fail);
}

const pl_command pl_command_verify = {
    .name = "verify",
    .operands = "MODEL",
    .about = "split program == whole program, on small real runs",
    // clang-format off
    .more =
        "Compared are losses, gradients and all states, relative to the largest element of each\n"
        "tensor: to 1e-5, in bf16 to 0.1. What differs by more is error or rounding: then both\n"
        "programs run in f64, where they have to agree to 1e-8, and the rest may be ten times\n"
        "what rounding is seen to do to the whole one. With --tolerance X it is X and no more.\n"
        "--eps is larger than in training: a gradient that is zero but for rounding would become\n"
        "a full step of adam.\n"
        "With --micro the devices run what train --micro runs; the whole program takes the same\n"
        "batch in one piece, or, where that is other mathematics (batch norm, dropout), in the\n"
        "same micro-batches: stderr says which.\n"
        "example: pleat verify gpt2:layers=2,hidden=64,heads=4,vocab=256,seq=32,batch=8 --all\n"
        "           --devices 4",
    // clang-format on
    .opts = opts,
    .run = run,
    .computes = true,
};
