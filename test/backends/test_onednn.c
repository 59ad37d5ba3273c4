/* oneDNN kernels against the operators' reference kernels, on whole nodes and random shares. */
#include "backends/onednn/gemm.h"
#include "backends/onednn/onednn.h"
#include "base/rng.h"
#include "ops/list.h"

#include <math.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "../ops/shares.h"

#define ROW(name) &pl_op_##name,
static const pl_op *const all_ops[] = { PL_OP_LIST(ROW) };
static const pl_ops ops = { (int)(sizeof all_ops / sizeof *all_ops), all_ops };

enum { MAX_IN = 3, SEED = 20240607 };

/* A sequence of random numbers. */
typedef struct draw {
    pl_rng rng;
    uint64_t at;
} draw;

static draw draw_new(uint64_t stream)
{
    return (draw){ .rng = pl_rng_at(SEED, stream) };
}

static int64_t below(draw *d, int64_t n)
{
    return (int64_t)pl_rng_below(d->rng, d->at++, (uint64_t)n);
}

/* -- one node ------------------------------------------------------------------------------ */

static const pl_node *build(pl_arena *a, const pl_op *op, const char *spec, pl_type type, int n_in,
                            const pl_shape in[])
{
    pl_builder b = pl_builder_new(a, &ops, "test");
    pl_value *v[MAX_IN];
    pl_graph *g;
    pl_err err = { 0 };
    const int n_types = op->types ? (int)(strlen(op->types) + 1) / 2 : 0; /* "f,i,f->f" */
    for (int i = 0; i < n_in; i++)
        v[i] = pl_add_input(&b, pl_builder_fmt(&b, "in%d", i),
                            i < n_types && op->types[2 * i] == 'i' ? PL_I32 : type, in[i]);
    pl_value *y = pl_add_value(&b, op, "node", spec, n_in, v);
    if (y) pl_add_output(&b, "y", y);
    if (!pl_builder_done(&b, &g, &err)) fail_msg("%s %s: %s", op->name, spec, err.msg);
    return g->nodes.at[g->nodes.n - 1];
}

static void *array(int64_t count, pl_type t)
{
    size_t bytes = ((size_t)(count * pl_type_bytes(t)) + 64) / 64 * 64;
    void *p = aligned_alloc(64, bytes);
    assert_non_null(p);
    memset(p, 0xFF, bytes); /* NaN in every float type: what is read before it is written shows */
    return p;
}

/* A share with random inputs and the result of the reference kernel. */
typedef struct job {
    const pl_share *s;
    void *in[MAX_IN], *want;
} job;

static job job_new(const pl_share *s, uint64_t stream)
{
    job j = { .s = s };
    const pl_node *n = s->node;
    for (int i = 0; i < n->n_in; i++) {
        pl_rng r = pl_rng_at(SEED + 1, pl_rng_mix(stream, (uint64_t)i));
        int64_t count = pl_shape_count(&s->shape[i]);
        j.in[i] = array(count, n->in[i]->type);
        for (int64_t e = 0; e < count; e++) {
            double x = pl_rng_uniform(r, (uint64_t)e);
            pl_type_put(n->in[i]->type, j.in[i], e,
                        n->in[i]->type == PL_I32 ? floor(6 * x) - 1 : 2 * x - 1);
        }
    }
    j.want = array(pl_shape_count(pl_share_out(s, 0)), n->out[0]->type);
    n->op->ref(s, (const void *const *)j.in, &j.want);
    return j;
}

static void job_free(job *j)
{
    for (int i = 0; i < j->s->node->n_in; i++) free(j->in[i]);
    free(j->want);
}

/* Largest difference, relative to the largest element wanted. */
static double distance(const job *j, const void *got)
{
    pl_type t = j->s->node->out[0]->type;
    double worst = 0, top = 1e-6;
    for (int64_t i = 0, n = pl_shape_count(pl_share_out(j->s, 0)); i < n; i++) {
        double want = pl_type_get(t, j->want, i), diff = fabs(pl_type_get(t, got, i) - want);
        if (!(diff <= worst)) worst = diff; /* NaN is the worst */
        top = fmax(top, fabs(want));
    }
    return worst / top;
}

static const pl_kernel *find(const pl_share *s, const pl_kernel_env *env, char *why, size_t n)
{
    const pl_backend *backend, *only[] = { &pl_backend_onednn };
    const pl_kernel *k = NULL;
    pl_err err = { 0 };
    pl_arena *a = pl_arena_new("reasons");
    pl_text reasons = { .arena = a };
    pl_kernel_env here = *env;
    here.n_backends = 1, here.backends = only;
    if (!pl_kernel_find(s, &here, a, &backend, &k, &reasons, &err)) k = NULL;
    snprintf(why, n, "%s", pl_text_get(&reasons));
    pl_arena_free(a);
    return k;
}

typedef struct made {
    const pl_kernel *kernel;
    void *state, *scratch, *out;
} made;

static made make(const pl_kernel *k, const pl_share *s, const pl_kernel_env *env)
{
    made m = { .kernel = k,
               .out = array(pl_shape_count(pl_share_out(s, 0)), s->node->out[0]->type) };
    int64_t bytes = 0;
    pl_err err = { 0 };
    if (!k->make(s, env, &m.state, &bytes, &err))
        fail_msg("%s %s: %s", k->name, s->node->spec, err.msg);
    assert_int_equal(bytes % 64, 0);
    m.scratch = array(bytes, PL_U8);
    return m;
}

static void made_free(made *m)
{
    m->kernel->free(m->state);
    free(m->scratch);
    free(m->out);
}

static double tolerance(const pl_share *s, const pl_kernel_env *env)
{
    return s->node->out[0]->type == PL_BF16 || env->matmul == PL_BF16 ? 2e-2 : 1e-4;
}

/* Run the share's kernel twice: right, and the same bytes both times. False: all kernels refuse. */
static bool check_share(const pl_share *s, const pl_kernel_env *env, uint64_t stream, char *why,
                        size_t n_why)
{
    const pl_kernel *k = find(s, env, why, n_why);
    if (!k) return false;
    job j = job_new(s, stream);
    made m = make(k, s, env);
    size_t bytes =
        (size_t)(pl_shape_count(pl_share_out(s, 0)) * pl_type_bytes(s->node->out[0]->type));
    k->run(s, env, m.state, (const void *const *)j.in, &m.out, m.scratch);
    double d = distance(&j, m.out);
    if (!(d <= tolerance(s, env)))
        fail_msg("%s '%s' %d threads, stream %llu: off by %g", k->name, s->node->spec,
                 env->n_threads, (unsigned long long)stream, d);
    void *first = malloc(bytes);
    assert_non_null(first);
    memcpy(first, m.out, bytes);
    memset(m.out, 0xFF, bytes);
    k->run(s, env, m.state, (const void *const *)j.in, &m.out, m.scratch);
    if (memcmp(first, m.out, bytes)) fail_msg("%s '%s': two runs differ", k->name, s->node->spec);
    free(first);
    made_free(&m);
    job_free(&j);
    return true;
}

static pl_share random_share(const pl_node *n, draw *d)
{
    pl_share s = pl_share_whole(n);
    for (int f = 0; f < n->sig->n_factors; f++) {
        if (!pl_share_can_cut(n, f) || below(d, 2)) continue;
        int64_t size = n->sig->factor[f].size, lo = below(d, size);
        pl_share_cut(&s, f, lo, 1 + below(d, size - lo));
    }
    return s;
}

/* oneDNN multiplies bf16 with AVX-512 alone; on other CPUs its kernels refuse that type. */
static bool has_bf16(void)
{
    static int known;
    char text[200];
    if (!known) {
        assert_true(pl_onednn_isa(text, sizeof text));
        known = strstr(text, "AVX-512") || strstr(text, "avx512") ? 1 : -1;
        if (known < 0) printf("SKIPPED: what multiplies bf16: %s\n", text);
    }
    return known > 0;
}

static void set_threads(pl_kernel_env *env, int n)
{
    env->n_threads = n;
    pl_kernel_thread(n);
}

/* The whole node must be taken; of random shares those that are taken must be right. */
static int check_node(const pl_node *n, pl_kernel_env env, uint64_t stream, int n_shares)
{
    char why[2000];
    int taken = 0;
    draw d = draw_new(stream);
    for (int threads = 1; threads <= 2; threads++) {
        set_threads(&env, threads);
        pl_share whole = pl_share_whole(n);
        if (!check_share(&whole, &env, stream, why, sizeof why))
            fail_msg("'%s' is refused: %s", n->spec, why);
        for (int i = 0; i < n_shares; i++) {
            pl_share s = random_share(n, &d);
            taken += check_share(&s, &env, stream + (uint64_t)i, why, sizeof why);
        }
    }
    return taken;
}

/* f32, f32 multiplied as bf16, and bf16. */
static void check_types(const pl_op *op, const char *spec, int n_in, const pl_shape in[],
                        uint64_t stream)
{
    for (int mode = 0; mode < (has_bf16() ? 3 : 1); mode++) {
        pl_arena *a = pl_arena_new("test");
        const pl_node *n = build(a, op, spec, mode == 2 ? PL_BF16 : PL_F32, n_in, in);
        pl_kernel_env env = { .matmul = mode == 1 ? PL_BF16 : PL_F32 };
        int taken = check_node(n, env, stream, 3);
        if (taken < 2) fail_msg("'%s': only %d of 6 shares are taken", spec, taken);
        pl_arena_free(a);
    }
}

/* -- einsum -------------------------------------------------------------------------------- */

// clang-format off
static const struct {
    const char *spec;
    int n_in;
    pl_shape in[2];
    int64_t m, n, k, products, sums; /* the nest that pl_gemm_plan should find */
} einsums[] = {
    { "mk,kn->mn",    2, { { 2, { 17, 33 } },       { 2, { 33, 65 } } },      17, 65, 33,  1, 1 },
    { "mk,nk->mn",    2, { { 2, { 17, 33 } },       { 2, { 65, 33 } } },      17, 65, 33,  1, 1 },
    { "km,kn->mn",    2, { { 2, { 33, 17 } },       { 2, { 33, 65 } } },      17, 65, 33,  1, 1 },
    { "km,nk->nm",    2, { { 2, { 33, 17 } },       { 2, { 65, 33 } } },      65, 17, 33,  1, 1 },
    { "mk,kn->nm",    2, { { 2, { 1, 3 } },         { 2, { 3, 5 } } },         1,  5,  3,  1, 1 },
    { "mk,kn->mn",    2, { { 2, { 9, 1 } },         { 2, { 1, 7 } } },         9,  7,  1,  1, 1 },
    { "mk,k->m",      2, { { 2, { 19, 40 } },       { 1, { 40 } } },          19,  1, 40,  1, 1 },
    { "k,kn->n",      2, { { 1, { 40 } },           { 2, { 40, 19 } } },       1, 19, 40,  1, 1 },
    { "m,n->mn",      2, { { 1, { 11 } },           { 1, { 13 } } },          11, 13,  1,  1, 1 },
    { "k,k->",        2, { { 1, { 103 } },          { 1, { 103 } } },          1, 1, 103,  1, 1 },
    { "bsv,bsv->bs",  2, { { 3, { 3, 5, 64 } },     { 3, { 3, 5, 64 } } },     1,  1, 64, 15, 1 },
    { "bvs,bvs->bs",  2, { { 3, { 3, 9, 5 } },      { 3, { 3, 9, 5 } } },      1,  1,  9, 15, 1 },
    { "bv,b->bv",     2, { { 2, { 6, 9 } },         { 1, { 6 } } },            9,  1,  1,  6, 1 },
    { "bsm,mn->bsn",  2, { { 3, { 3, 5, 7 } },      { 2, { 7, 9 } } },        15,  9,  7,  1, 1 },
    { "bsn,bsm->mn",  2, { { 3, { 3, 5, 9 } },      { 3, { 3, 5, 7 } } },      7,  9, 15,  1, 1 },
    { "ebm,emn->ebn", 2, { { 3, { 4, 5, 6 } },      { 3, { 4, 6, 7 } } },      5,  7,  6,  4, 1 },
    { "...k,k...->...", 2, { { 2, { 5, 7 } },       { 2, { 7, 5 } } },         1,  1,  7,  5, 1 },
    { "bshd,bthd->bhst", 2, { { 4, { 2, 9, 3, 8 } }, { 4, { 2, 7, 3, 8 } } },  9,  7,  8,  6, 1 },
    { "bhst,bthd->bshd", 2, { { 4, { 2, 3, 9, 7 } }, { 4, { 2, 7, 3, 8 } } },  9,  8,  7,  6, 1 },
    { "bhst,bshd->bthd", 2, { { 4, { 2, 3, 9, 7 } }, { 4, { 2, 9, 3, 8 } } },  7,  8,  9,  6, 1 },
    { "bhsd,bhtd->bhts", 2, { { 4, { 2, 3, 9, 8 } }, { 4, { 2, 3, 7, 8 } } },  7,  9,  8,  6, 1 },
    { "bsm,m(vhd)->bs(vhd); v=3 h=4",
                      2, { { 3, { 2, 5, 6 } },      { 2, { 6, 60 } } },       10, 60,  6,  1, 1 },
    { "bsm,m(vhd)->vbhsd; v=3 h=4",
                      2, { { 3, { 2, 9, 6 } },      { 2, { 6, 96 } } },        9,  8,  6, 24, 1 },
    { "vbhsd,bsm->m(vhd)",
                      2, { { 5, { 3, 2, 4, 9, 8 } }, { 3, { 2, 9, 6 } } },     6,  8,  9, 12, 2 },
    { "vbhsd,m(vhd)->bsm",
                      2, { { 5, { 3, 2, 4, 9, 8 } }, { 2, { 6, 96 } } },       9,  6,  8, 2, 12 },
    { "ab->ba",       1, { { 2, { 17, 33 } } },                                0,  0,  0,  0, 0 },
    { "bs(hd)->dbhs; h=3", 1, { { 3, { 2, 9, 24 } } },                         0,  0,  0,  0, 0 },
};
// clang-format on

static void test_einsums(void **unused)
{
    (void)unused;
    for (size_t i = 0; i < sizeof einsums / sizeof *einsums; i++)
        check_types(&pl_op_einsum, einsums[i].spec, einsums[i].n_in, einsums[i].in, 100 * (i + 1));
}

/* Choices of experts from -1 to 4: some are of none. */
static void test_experts(void **unused)
{
    static const struct {
        const pl_op *op;
        const char *spec;
        pl_shape in[3];
    } cases[] = {
        { &pl_op_moe_matmul,
          "gth,gtk,ehm->gtkm",
          { { 3, { 3, 37, 64 } }, { 3, { 3, 37, 2 } }, { 3, { 4, 64, 91 } } } },
        { &pl_op_moe_matmul,
          "gtkm,gtk,ehm->gtkh",
          { { 4, { 3, 37, 2, 91 } }, { 3, { 3, 37, 2 } }, { 3, { 5, 640, 91 } } } },
        { &pl_op_moe_matmul,
          "gtkm,gtk,ehm->gth",
          { { 4, { 2, 41, 3, 33 } }, { 3, { 2, 41, 3 } }, { 3, { 5, 17, 33 } } } },
        { &pl_op_moe_matmul,
          "ktm,tk,emh->tkh",
          { { 3, { 2, 1, 1 } }, { 2, { 1, 2 } }, { 3, { 7, 1, 3 } } } },
        { &pl_op_moe_matmul_grad,
          "gth,gtk,gtkm->ehm; e=5",
          { { 3, { 3, 37, 64 } }, { 3, { 3, 37, 2 } }, { 4, { 3, 37, 2, 91 } } } },
        { &pl_op_moe_matmul_grad,
          "gtkm,gtk,gth->ehm; e=7",
          { { 4, { 2, 41, 3, 33 } }, { 3, { 2, 41, 3 } }, { 3, { 2, 41, 17 } } } },
    };
    (void)unused;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        pl_arena *a = pl_arena_new("test");
        const pl_node *n = build(a, cases[i].op, cases[i].spec, PL_F32, 3, cases[i].in);
        const pl_kernel_env env = { .matmul = PL_F32 };
        if (!check_node(n, env, 900 + i, 4)) fail_msg("'%s': no share is taken", cases[i].spec);
        pl_arena_free(a);
    }
}

/* Large enough that rounding f32 inputs to bf16 pays; small ones are multiplied in f32 even so. */
static void test_rounded(void **unused)
{
    static const struct {
        const char *spec;
        pl_shape in[2];
        const char *kernel;
    } cases[] = {
        { "mk,kn->mn", { { 2, { 170, 180 } }, { 2, { 180, 190 } } }, "matmul_bf16" },
        { "bkm,bnk->bnm", { { 3, { 2, 165, 190 } }, { 3, { 2, 170, 165 } } }, "matmul_bf16" },
        { "kbm,nbk->mbn", { { 3, { 165, 2, 170 } }, { 3, { 190, 2, 165 } } }, "matmul_bf16" },
        { "mbk,nkb->mn", { { 3, { 180, 2, 90 } }, { 3, { 170, 90, 2 } } }, "matmul_bf16" },
        { "mk,kn->mn", { { 2, { 100, 100 } }, { 2, { 100, 100 } } }, "sgemm" },
        { "mk,k->m", { { 2, { 300, 300 } }, { 1, { 300 } } }, "sgemm" },
    };
    (void)unused;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        pl_arena *a = pl_arena_new("test");
        const pl_node *n = build(a, &pl_op_einsum, cases[i].spec, PL_F32, 2, cases[i].in);
        pl_share s = pl_share_whole(n);
        pl_kernel_env env = { .matmul = PL_BF16 };
        char why[2000];
        set_threads(&env, 1 + (int)i % 2);
        const pl_kernel *k = find(&s, &env, why, sizeof why);
        assert_non_null(k);
        assert_string_equal(k->name, has_bf16() ? cases[i].kernel : "sgemm");
        assert_true(check_share(&s, &env, i, why, sizeof why));
        pl_arena_free(a);
    }
}

static void test_plans(void **unused)
{
    (void)unused;
    for (size_t i = 0; i < sizeof einsums / sizeof *einsums; i++) {
        if (einsums[i].n_in != 2) continue;
        pl_arena *a = pl_arena_new("test");
        const char *spec = einsums[i].spec;
        const pl_node *n = build(a, &pl_op_einsum, spec, PL_F32, 2, einsums[i].in);
        pl_share s = pl_share_whole(n);
        pl_gemm g = { 0 };
        pl_err err = { 0 };
        if (!pl_gemm_plan(&s, &g, &err)) fail_msg("%s: %s", spec, err.msg);
        if (g.m != einsums[i].m || g.n != einsums[i].n || g.k != einsums[i].k ||
            g.products != einsums[i].products || pl_gemm_sums(&g) != einsums[i].sums)
            fail_msg("%s: %lld x %lld x %lld, %lld products of %lld", spec, (long long)g.m,
                     (long long)g.n, (long long)g.k, (long long)g.products,
                     (long long)pl_gemm_sums(&g));
        pl_arena_free(a);
    }
}

/* Letters of each class in random order and number, neighbours joined to one dimension at times. */
static void add_operand(char *spec, size_t n, const char *letters, draw *d)
{
    char mixed[PL_MAX_FACTORS];
    size_t count = strlen(letters);
    memcpy(mixed, letters, count);
    for (size_t i = count; i > 1; i--) {
        size_t k = (size_t)below(d, (int64_t)i);
        char c = mixed[i - 1];
        mixed[i - 1] = mixed[k], mixed[k] = c;
    }
    for (size_t i = 0; i < count; i++) {
        size_t at = strlen(spec);
        if (i + 1 < count && !below(d, 4)) {
            snprintf(spec + at, n - at, "(%c%c)", mixed[i], mixed[i + 1]);
            i++;
        } else {
            snprintf(spec + at, n - at, "%c", mixed[i]);
        }
    }
}

/* The shape that an operand's text has when letters have these sizes. */
static pl_shape shape_of(const char *text, const int64_t size[128])
{
    pl_shape s = { 0 };
    bool open = false;
    for (; *text && *text != ',' && *text != '-'; text++) {
        if (*text == '(' || *text == ')') {
            open = *text == '(';
            if (open) s.dim[s.rank++] = 1;
        } else if (open) {
            s.dim[s.rank - 1] *= size[(int)*text];
        } else {
            s.dim[s.rank++] = size[(int)*text];
        }
    }
    return s;
}

static void test_random_einsums(void **unused)
{
    static const char *const from[4] = { "bcd", "mop", "nqr", "kls" }; /* batch, m, n, k */
    (void)unused;
    int summed = 0;
    for (uint64_t t = 0; t < 80; t++) {
        draw d = draw_new(5000 + t);
        int64_t size[128] = { 0 };
        char part[4][4] = { "" }, side[3][12], spec[120] = "";
        for (int c = 0; c < 4; c++) {
            int count = (int)below(&d, c ? 3 : 4) + (c == 3);
            snprintf(part[c], sizeof part[c], "%.*s", count > 3 ? 3 : count, from[c]);
            for (const char *p = part[c]; *p; p++) size[(int)*p] = 1 + below(&d, 7);
        }
        snprintf(side[0], sizeof side[0], "%s%s%s", part[0], part[1], part[3]);
        snprintf(side[1], sizeof side[1], "%s%s%s", part[0], part[2], part[3]);
        snprintf(side[2], sizeof side[2], "%s%s%s", part[0], part[1], part[2]);
        for (int o = 0; o < 3; o++) {
            add_operand(spec, sizeof spec, side[o], &d);
            if (o < 2) strcat(spec, o ? "->" : ",");
        }
        pl_shape in[2] = { shape_of(spec, size), shape_of(strchr(spec, ',') + 1, size) };
        for (int c = 'a'; c <= 'z'; c++) {
            size_t at = strlen(spec);
            if (size[c])
                snprintf(spec + at, sizeof spec - at, "%s%c=%lld", strchr(spec, ';') ? " " : "; ",
                         c, (long long)size[c]);
        }
        pl_arena *a = pl_arena_new("test");
        pl_kernel_env env = { .matmul = t % 3 == 1 ? PL_BF16 : PL_F32 };
        const pl_node *n =
            build(a, &pl_op_einsum, spec, t % 3 == 2 && has_bf16() ? PL_BF16 : PL_F32, 2, in);
        char why[2000] = "";
        for (int i = 0; i < 6; i++) {
            set_threads(&env, 1 + i % 2);
            pl_share s = i < 2 ? pl_share_whole(n) : random_share(n, &d);
            bool ok = check_share(&s, &env, t, why, sizeof why);
            if (!ok && !strstr(why, "elementwise product")) fail_msg("'%s': %s", spec, why);
            summed += ok;
        }
        pl_arena_free(a);
    }
    assert_true(summed > 300);
}

/* -- convolution --------------------------------------------------------------------------- */

// clang-format off
static const struct {
    const pl_op *op;
    const char *spec;
    pl_shape in[2];
} convs[] = {
    { &pl_op_conv2d, "",
      { { 4, { 2, 3, 11, 9 } }, { 4, { 5, 3, 3, 2 } } } },
    { &pl_op_conv2d, "; stride=2 pad=1",
      { { 4, { 2, 16, 9, 8 } }, { 4, { 20, 16, 3, 3 } } } },
    { &pl_op_conv2d, "; stride=2,1 dilation=1,2 pad=0,2",
      { { 4, { 1, 2, 12, 9 } }, { 4, { 3, 2, 3, 3 } } } },
    { &pl_op_conv2d, "n[y+r][x+s]c,rsco->nyxo; stride=2 pad=3",
      { { 4, { 2, 13, 11, 3 } }, { 4, { 7, 7, 3, 8 } } } },
    { &pl_op_conv2d, "n[y+r][x+s]c,ocrs->nyxo; pad=1 dilation=2",
      { { 4, { 2, 9, 7, 16 } }, { 4, { 17, 16, 3, 3 } } } },
    { &pl_op_conv2d, "n(gc)[y+r][x+s],(go)crs->n(go)yx; g=2 pad=1",
      { { 4, { 2, 8, 6, 5 } }, { 4, { 6, 4, 3, 3 } } } },
    { &pl_op_conv2d, "nc[y+r][x+s],crs->ncyx; pad=1 stride=2",
      { { 4, { 2, 7, 9, 7 } }, { 3, { 7, 3, 3 } } } },
    { &pl_op_conv2d, "n[y+r][x+s]c,crs->nyxc; pad=2 stride=2",
      { { 4, { 2, 9, 7, 17 } }, { 3, { 17, 5, 5 } } } },
    { &pl_op_conv2d, "nc[y+r],ocr->noy; pad=1",
      { { 3, { 2, 3, 9 } }, { 3, { 4, 3, 3 } } } },
    { &pl_op_conv2d_grad_data, "; stride=2 pad=1 extent=9,8",
      { { 4, { 2, 5, 5, 4 } }, { 4, { 5, 6, 3, 3 } } } },
    { &pl_op_conv2d_grad_data, "; stride=3 extent=8,7",
      { { 4, { 1, 3, 3, 3 } }, { 4, { 3, 2, 2, 1 } } } },
    { &pl_op_conv2d_grad_data,
      "nyxo,rsco->n[y+r][x+s]c; stride=2,1 dilation=1,2 pad=0,2 extent=8,5",
      { { 4, { 2, 3, 5, 16 } }, { 4, { 3, 3, 9, 16 } } } },
    { &pl_op_conv2d_grad_data, "n(go)yx,(go)crs->n(gc)[y+r][x+s]; g=2 pad=1 extent=4,3",
      { { 4, { 2, 6, 4, 3 } }, { 4, { 6, 2, 3, 3 } } } },
    { &pl_op_conv2d_grad_data, "nyxc,crs->n[y+r][x+s]c; pad=1 stride=2 extent=9,8",
      { { 4, { 2, 5, 4, 17 } }, { 3, { 17, 3, 3 } } } },
    { &pl_op_conv2d_grad_weight, "; r=3 s=3 stride=2 pad=1",
      { { 4, { 2, 6, 9, 8 } }, { 4, { 2, 5, 5, 4 } } } },
    { &pl_op_conv2d_grad_weight, "n[y+r][x+s]c,nyxo->rsco; r=3 s=2 pad=1",
      { { 4, { 3, 9, 8, 5 } }, { 4, { 3, 9, 9, 16 } } } },
    { &pl_op_conv2d_grad_weight, "n(gc)[y+r][x+s],n(go)yx->(go)crs; g=2 r=3 s=3 pad=1",
      { { 4, { 2, 8, 6, 5 } }, { 4, { 2, 6, 6, 5 } } } },
    { &pl_op_conv2d_grad_weight, "n[y+r][x+s]c,nyxc->crs; r=3 s=3 pad=1 stride=2",
      { { 4, { 2, 9, 8, 17 } }, { 4, { 2, 5, 4, 17 } } } },
};
// clang-format on

static void test_convolutions(void **unused)
{
    (void)unused;
    for (size_t i = 0; i < sizeof convs / sizeof *convs; i++)
        check_types(convs[i].op, convs[i].spec, 2, convs[i].in, 9000 + 100 * i);
}

/* -- uneven parts ---------------------------------------------------------------------------- */

/* Every third of each factor, and each two in thirds and halves. Returns how many were taken. */
static int check_parts(const pl_node *n, uint64_t stream)
{
    pl_kernel_env env = { .matmul = PL_F32 };
    char why[2000];
    int taken = 0;
    set_threads(&env, 1 + (int)(stream % 2));
    for (int f = 0; f < n->sig->n_factors; f++) {
        if (!pl_share_can_cut(n, f)) continue;
        for (int p = 0; p < 3; p++) {
            pl_share s = pl_share_whole(n);
            if (shares_cut(&s, f, 3, p)) taken += check_share(&s, &env, stream, why, sizeof why);
        }
        for (int g = f + 1; g < n->sig->n_factors; g++)
            for (int p = 0; p < 6; p++) {
                pl_share s = pl_share_whole(n);
                if (pl_share_can_cut(n, g) && shares_cut(&s, f, 3, p % 3) &&
                    shares_cut(&s, g, 2, p / 3))
                    taken += check_share(&s, &env, stream, why, sizeof why);
            }
    }
    return taken;
}

/* The node, and again with a factor written as two, each in turn. */
static void check_all_parts(const pl_op *op, const char *spec, int n_in, const pl_shape in[],
                            uint64_t stream)
{
    pl_arena *a = pl_arena_new("test");
    const pl_node *n = build(a, op, spec, PL_F32, n_in, in);
    if (!check_parts(n, stream)) fail_msg("'%s': no part is taken", spec);
    for (int f = 0; f < n->sig->n_factors; f++) {
        const pl_node *composed = shares_compose(a, &ops, n, f);
        if (composed) check_parts(composed, stream + 1);
    }
    pl_arena_free(a);
}

static void test_parts(void **unused)
{
    (void)unused;
    for (size_t i = 0; i < sizeof einsums / sizeof *einsums; i++)
        check_all_parts(&pl_op_einsum, einsums[i].spec, einsums[i].n_in, einsums[i].in, i);
    for (size_t i = 0; i < sizeof convs / sizeof *convs; i++)
        check_all_parts(convs[i].op, convs[i].spec, 2, convs[i].in, 100 + i);
}

/* -- refusals, threads --------------------------------------------------------------------- */

// clang-format off
static const struct {
    const pl_op *op;
    const char *spec;
    pl_type type;
    int n_in;
    pl_shape in[3];
    const char *why;
} refusals[] = {
    { &pl_op_einsum, "mk,kn->mn", PL_I64, 2, { { 2, { 4, 6 } }, { 2, { 6, 8 } } },
      "onednn/sgemm: multiplies f32, not i64" },
    { &pl_op_einsum, "mk,kn,n->m", PL_F32, 3, { { 2, { 4, 6 } }, { 2, { 6, 8 } }, { 1, { 8 } } },
      "onednn/sgemm: takes 2 inputs, the node has 3" },
    { &pl_op_einsum, "mk,kn->n", PL_F32, 2, { { 2, { 4, 6 } }, { 2, { 6, 8 } } },
      "onednn/sgemm: 'm' stands in one input and not in the output" },
    { &pl_op_einsum, "ab,ab->ab", PL_F32, 2, { { 2, { 4, 6 } }, { 2, { 4, 6 } } },
      "every letter stands in all operands: an elementwise product" },
    { &pl_op_einsum, "ab->a", PL_F32, 1, { { 2, { 4, 6 } } },
      "onednn/einsum_reorder: 'b' is summed or repeated, not moved" },
    { &pl_op_transpose, "ab->ba", PL_I64, 1, { { 2, { 4, 6 } } },
      "onednn/transpose: moves f32 and bf16, not i64" },
    { &pl_op_conv2d, "c[y+r][x+s]n,ocrs->noyx", PL_F32, 2,
      { { 4, { 3, 5, 6, 2 } }, { 4, { 4, 3, 3, 2 } } },
      "onednn/conv: neither channels first nor channels last" },
    { &pl_op_conv2d, "abc[y+r][x+s],ocrs->aboyx", PL_F32, 2,
      { { 5, { 2, 2, 3, 5, 6 } }, { 4, { 4, 3, 3, 2 } } },
      "onednn/conv: 'a' and 'b' have the same part" },
};
// clang-format on

static void test_refusals(void **unused)
{
    (void)unused;
    for (size_t i = 0; i < sizeof refusals / sizeof *refusals; i++) {
        pl_arena *a = pl_arena_new("test");
        const pl_node *n = build(a, refusals[i].op, refusals[i].spec, refusals[i].type,
                                 refusals[i].n_in, refusals[i].in);
        pl_share s = pl_share_whole(n);
        pl_kernel_env env = { .n_threads = 1, .matmul = PL_F32 };
        char why[2000];
        assert_null(find(&s, &env, why, sizeof why));
        if (!strstr(why, refusals[i].why))
            fail_msg("'%s': expected '%s' in '%s'", refusals[i].spec, refusals[i].why, why);
        pl_arena_free(a);
    }
}

/* A rank: a thread with kernels of its own, one OpenMP thread each. */
typedef struct rank {
    pthread_t thread;
    const pl_share *share;
    pl_type matmul;
    uint64_t stream;
    double worst;
} rank;

static void *run_rank(void *arg)
{
    rank *r = arg;
    pl_kernel_env env = { .matmul = r->matmul };
    char why[2000];
    set_threads(&env, 1);
    const pl_kernel *k = find(r->share, &env, why, sizeof why);
    job j = job_new(r->share, r->stream);
    made m = make(k, r->share, &env);
    for (int i = 0; i < 60; i++) {
        memset(m.out, 0xFF, 4 * (size_t)pl_shape_count(pl_share_out(r->share, 0)));
        k->run(r->share, &env, m.state, (const void *const *)j.in, &m.out, m.scratch);
        r->worst = fmax(r->worst, distance(&j, m.out));
    }
    r->worst /= tolerance(r->share, &env);
    made_free(&m);
    job_free(&j);
    return NULL;
}

static void test_two_ranks(void **unused)
{
    (void)unused;
    pl_arena *a = pl_arena_new("test"), *b = pl_arena_new("test");
    const pl_node *product = build(a, &pl_op_einsum, "mk,kn->mn", PL_F32, 2,
                                   (pl_shape[]){ { 2, { 170, 180 } }, { 2, { 180, 190 } } });
    const pl_node *conv = build(b, &pl_op_conv2d, "; pad=1", PL_F32, 2,
                                (pl_shape[]){ { 4, { 2, 8, 9, 9 } }, { 4, { 8, 8, 3, 3 } } });
    pl_share s[2] = { pl_share_whole(product), pl_share_whole(conv) };
    for (int what = 0; what < 4; what += has_bf16() ? 1 : 2) {
        rank r[2];
        for (int i = 0; i < 2; i++) {
            r[i] = (rank){ .share = &s[what / 2], .matmul = what % 2 ? PL_BF16 : PL_F32 };
            r[i].stream = (uint64_t)(50 + i);
            assert_int_equal(pthread_create(&r[i].thread, NULL, run_rank, &r[i]), 0);
        }
        for (int i = 0; i < 2; i++) {
            assert_int_equal(pthread_join(r[i].thread, NULL), 0);
            assert_true(r[i].worst <= 1);
        }
    }
    pl_arena_free(b);
    pl_arena_free(a);
}

static void test_isa(void **unused)
{
    (void)unused;
    char text[200], cut[8];
    assert_true(pl_onednn_isa(text, sizeof text));
    assert_non_null(strstr(text, "oneDNN "));
    assert_non_null(strstr(text, "thread"));
    assert_false(pl_onednn_isa(cut, sizeof cut));
    assert_memory_equal(cut, text, sizeof cut - 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rounded),        cmocka_unit_test(test_plans),
        cmocka_unit_test(test_einsums),        cmocka_unit_test(test_experts),
        cmocka_unit_test(test_random_einsums), cmocka_unit_test(test_convolutions),
        cmocka_unit_test(test_parts),          cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_two_ranks),      cmocka_unit_test(test_isa),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
