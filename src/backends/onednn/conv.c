#include "backends/onednn/conv.h"
#include "backends/onednn/prim.h"

#include <stdlib.h>
#include <string.h>

/* The three operands: image [n, c, windows], result [n, o, positions], weights [o, c, taps]. */
enum { IMAGE, WEIGHTS, RESULT, N_ROLES };
enum { ALL = 1 << IMAGE | 1 << WEIGHTS | 1 << RESULT, MAX_DIMS = 3 + PL_MAX_WINDOWS };

/* One logical dimension of an operand. */
typedef struct dim {
    int64_t n, step;
} dim;

typedef struct conv {
    int operand[N_ROLES]; /* which operand of the node has the role       */
    int output;           /* the role that is computed                    */
    int letter[ALL + 1];  /* by the roles it stands in: group ALL, batch IMAGE|RESULT ...; or -1 */
    bool grouped;
    int rank; /* of image and result; weights have one more when grouped */
    dim dim[N_ROLES][MAX_DIMS];
    dnnl_dims_t stride, dilation, pad_lo, pad_hi;
} conv;

static bool has_window(const pl_operand *o)
{
    for (int j = 0; j < o->rank; j++)
        if (o->dim[j].window >= 0) return true;
    return false;
}

static bool find_roles(const pl_share *s, conv *x, pl_err *why)
{
    const pl_sig *sig = s->node->sig;
    for (int r = 0; r < N_ROLES; r++) x->operand[r] = -1;
    if (sig->n_in != 2 || sig->n_out != 1 || !sig->n_windows)
        return pl_err_set(why, PL_EUNSUPPORTED, "not a convolution of 2 inputs");
    for (int o = 0; o < 3; o++) {
        bool taps = pl_share_touches(s->node, o, sig->window[0].tap);
        int r = has_window(&sig->operand[o]) ? IMAGE : taps ? WEIGHTS : RESULT;
        x->operand[r] = o;
        if (o == 2) x->output = r;
    }
    for (int r = 0; r < N_ROLES; r++)
        if (x->operand[r] < 0)
            return pl_err_set(why, PL_EUNSUPPORTED, "no image, weights and result in its letters");
    return true;
}

static int find_window_of(const pl_sig *sig, int f)
{
    for (int w = 0; w < sig->n_windows; w++)
        if (sig->window[w].position == f || sig->window[w].tap == f) return w;
    return -1;
}

/* A letter's part is given by the operands it stands in; each part has one letter at most. */
static bool find_letters(const pl_share *s, conv *x, pl_err *why)
{
    const pl_sig *sig = s->node->sig;
    for (int i = 0; i <= ALL; i++) x->letter[i] = -1;
    for (int f = 0; f < sig->n_factors; f++) {
        int where = 0;
        if (s->factor[f].n < 1)
            return pl_err_set(why, PL_EUNSUPPORTED, "the share is empty: '%c' has size 0",
                              sig->factor[f].letter);
        if (s->factor[f].n == 1 || find_window_of(sig, f) >= 0) continue;
        for (int r = 0; r < N_ROLES; r++)
            if (pl_share_touches(s->node, x->operand[r], f)) where |= 1 << r;
        if (where == 1 << IMAGE || where == 1 << WEIGHTS || where == 1 << RESULT)
            return pl_err_set(why, PL_EUNSUPPORTED, "'%c' stands in one operand only",
                              sig->factor[f].letter);
        if (x->letter[where] >= 0)
            return pl_err_set(why, PL_EUNSUPPORTED, "'%c' and '%c' have the same part",
                              sig->factor[x->letter[where]].letter, sig->factor[f].letter);
        x->letter[where] = f;
    }
    x->grouped = x->letter[ALL] >= 0;
    return true;
}

static dim letter_dim(const pl_share *s, int f, const int64_t step[PL_MAX_FACTORS])
{
    return f < 0 ? (dim){ 1, 0 } : (dim){ s->factor[f].n, step[f] };
}

/* Groups and the channels of one group as one dimension of image or result. */
static bool join_groups(dim group, dim channel, dim *out, pl_err *why)
{
    *out = (dim){ group.n * channel.n, channel.n > 1 ? channel.step : group.step };
    if (group.n > 1 && channel.n > 1 && group.step != channel.n * channel.step)
        return pl_err_set(why, PL_EUNSUPPORTED, "groups and channels do not form one dimension");
    return true;
}

/* Logical dimensions in the order that oneDNN names them: batch, channels, space;
 * weights: groups, outputs, inputs, taps. */
static bool find_dims(const pl_share *s, conv *x, pl_err *why)
{
    const pl_sig *sig = s->node->sig;
    int64_t size[PL_MAX_FACTORS] = { 0 }, step[N_ROLES][PL_MAX_FACTORS], plain[PL_MAX_RANK];
    x->rank = 2 + sig->n_windows;
    for (int f = 0; f < sig->n_factors; f++) size[f] = s->factor[f].n;
    for (int r = 0; r < N_ROLES; r++) {
        int o = x->operand[r], batch = x->letter[1 << IMAGE | 1 << RESULT];
        int channel =
            x->letter[r == IMAGE ? 1 << IMAGE | 1 << WEIGHTS : 1 << RESULT | 1 << WEIGHTS];
        pl_sig_strides(sig, &sig->operand[o], &s->shape[o], size, step[r]);
        if (r == WEIGHTS) continue;
        x->dim[r][0] = letter_dim(s, batch, step[r]);
        PL_TRY(join_groups(letter_dim(s, x->letter[ALL], step[r]), letter_dim(s, channel, step[r]),
                           &x->dim[r][1], why));
        for (int w = 0; r == RESULT && w < sig->n_windows; w++)
            x->dim[r][2 + w] = letter_dim(s, sig->window[w].position, step[r]);
    }
    const pl_operand *image = &sig->operand[x->operand[IMAGE]];
    const pl_shape *shape = &s->shape[x->operand[IMAGE]];
    pl_shape_strides(shape, plain);
    for (int j = 0; j < image->rank; j++)
        if (image->dim[j].window >= 0)
            x->dim[IMAGE][2 + image->dim[j].window] = (dim){ shape->dim[j], plain[j] };
    dim *w = x->dim[WEIGHTS];
    if (x->grouped) *w++ = letter_dim(s, x->letter[ALL], step[WEIGHTS]);
    *w++ = letter_dim(s, x->letter[1 << RESULT | 1 << WEIGHTS], step[WEIGHTS]);
    *w++ = letter_dim(s, x->letter[1 << IMAGE | 1 << WEIGHTS], step[WEIGHTS]);
    for (int i = 0; i < sig->n_windows; i++)
        *w++ = letter_dim(s, sig->window[i].tap, step[WEIGHTS]);
    return true;
}

/* pad_hi is what makes oneDNN's formula give the share's positions:
 * positions = (image - (dilation (taps - 1) + 1) + pad_lo + pad_hi) / stride + 1 */
static bool find_pads(const pl_share *s, conv *x, pl_err *why)
{
    for (int i = 0; i < s->node->sig->n_windows; i++) {
        const pl_window *w = &s->window[i];
        int64_t positions = s->factor[w->position].n, taps = s->factor[w->tap].n;
        int64_t image = x->dim[IMAGE][2 + i].n;
        x->stride[i] = w->stride;
        x->dilation[i] = w->dilation - 1; /* oneDNN counts the holes */
        x->pad_lo[i] = w->pad_lo;
        x->pad_hi[i] =
            (positions - 1) * w->stride + w->dilation * (taps - 1) + 1 - image - w->pad_lo;
        if (image < 1 || w->pad_lo < 0 || x->pad_hi[i] <= -w->stride)
            return pl_err_set(why, PL_EUNSUPPORTED,
                              "window %d: pads %lld and %lld around %lld elements", i,
                              (long long)x->pad_lo[i], (long long)x->pad_hi[i], (long long)image);
    }
    return true;
}

static bool plan(const pl_share *s, conv *x, pl_err *why)
{
    PL_TRY(find_roles(s, x, why));
    PL_TRY(find_letters(s, x, why));
    PL_TRY(find_dims(s, x, why));
    return find_pads(s, x, why);
}

/* -- layouts ------------------------------------------------------------------------------- */

static const dnnl_format_tag_t first[] = { dnnl_ncw, dnnl_nchw, dnnl_ncdhw };
static const dnnl_format_tag_t last[] = { dnnl_nwc, dnnl_nhwc, dnnl_ndhwc };

static dnnl_data_type_t type_of(pl_type t)
{
    return t == PL_F32 ? dnnl_f32 : dnnl_bf16;
}

static bool has_layout(int n, const dim d[], const dnnl_memory_desc_t *md)
{
    for (int i = 0; i < n; i++)
        if (d[i].n > 1 && d[i].step != md->format_desc.blocking.strides[i]) return false;
    return true;
}

enum { BLOCK = 8 }; /* floats of AVX2 */

/* Without AVX-512 a convolution of several taps takes 0.7 to 0.9 of the time on oneDNN's blocked
 * layout, also from channels last, where there are channels for whole blocks and rows are long. */
static bool is_better_blocked(const conv *x)
{
    const dim *w = x->dim[WEIGHTS] + x->grouped;
    bool taps = false;
    for (int i = 2; i < x->rank; i++) taps |= w[i].n > 1;
    return dnnl_get_effective_cpu_isa() < dnnl_cpu_isa_avx512_core && taps && w[0].n >= BLOCK &&
           w[1].n >= BLOCK && x->dim[RESULT][x->rank - 1].n >= BLOCK;
}

/* Image or result: `plain` as it lies in memory and `wanted`, what the convolution should get:
 * channels last as it is, if that is not better blocked, channels first as oneDNN likes it. There a
 * convolution is twice as fast on its own blocked layout, which pays for the reorders. */
static bool describe_image(const conv *x, int role, pl_type type, pl_type inner,
                           dnnl_memory_desc_t *plain, dnnl_memory_desc_t *wanted, pl_err *why)
{
    const dim *d = x->dim[role];
    const bool blocked = is_better_blocked(x);
    dnnl_dims_t dims = { 0 };
    for (int i = 0; i < x->rank; i++) dims[i] = d[i].n;
    for (int try = 0; try < 2; try++) {
        dnnl_format_tag_t tag = try ? first[x->rank - 3] : last[x->rank - 3];
        PL_TRY(pl_prim_check(dnnl_memory_desc_init_by_tag(plain, x->rank, dims, type_of(type), tag),
                             "layout", why));
        if (!has_layout(x->rank, d, plain)) continue;
        return pl_prim_check(
            dnnl_memory_desc_init_by_tag(wanted, x->rank, dims, type_of(inner),
                                         try || blocked ? dnnl_format_tag_any : tag),
            "layout", why);
    }
    return pl_err_set(why, PL_EUNSUPPORTED, "neither channels first nor channels last");
}

static bool describe_weights(const conv *x, pl_type type, pl_type inner, dnnl_memory_desc_t *plain,
                             dnnl_memory_desc_t *wanted, pl_err *why)
{
    int n = x->rank + x->grouped;
    int64_t size[MAX_DIMS], step[MAX_DIMS];
    dnnl_dims_t dims = { 0 };
    for (int i = 0; i < n; i++) {
        dims[i] = size[i] = x->dim[WEIGHTS][i].n;
        step[i] = size[i] > 1 ? x->dim[WEIGHTS][i].step : 1;
    }
    PL_TRY(pl_prim_layout(n, size, step, type, plain, why));
    return pl_prim_check(
        dnnl_memory_desc_init_by_tag(wanted, n, dims, type_of(inner), dnnl_format_tag_any),
        "layout", why);
}

static bool describe_forward(const conv *x, const dnnl_memory_desc_t wanted[N_ROLES],
                             dnnl_convolution_desc_t *desc, pl_err *err)
{
    return pl_prim_check(dnnl_dilated_convolution_forward_desc_init(
                             desc, dnnl_forward_training, dnnl_convolution_direct, &wanted[IMAGE],
                             &wanted[WEIGHTS], NULL, &wanted[RESULT], x->stride, x->dilation,
                             x->pad_lo, x->pad_hi),
                         "convolution", err);
}

static bool describe_backward(const conv *x, const dnnl_memory_desc_t wanted[N_ROLES],
                              dnnl_convolution_desc_t *desc, pl_err *err)
{
    dnnl_status_t status =
        x->output == IMAGE
            ? dnnl_dilated_convolution_backward_data_desc_init(
                  desc, dnnl_convolution_direct, &wanted[IMAGE], &wanted[WEIGHTS], &wanted[RESULT],
                  x->stride, x->dilation, x->pad_lo, x->pad_hi)
            : dnnl_dilated_convolution_backward_weights_desc_init(
                  desc, dnnl_convolution_direct, &wanted[IMAGE], &wanted[WEIGHTS], NULL,
                  &wanted[RESULT], x->stride, x->dilation, x->pad_lo, x->pad_hi);
    return pl_prim_check(status, "convolution gradient", err);
}

/* The primitive descriptor of a share and its parts, by role. */
static bool describe(const pl_share *s, const pl_kernel_env *env, const conv *x,
                     dnnl_engine_t engine, pl_prim_part part[N_ROLES], dnnl_primitive_desc_t *pd,
                     pl_err *err)
{
    static const int forward[] = { DNNL_ARG_SRC, DNNL_ARG_WEIGHTS, DNNL_ARG_DST };
    static const int backward[] = { DNNL_ARG_DIFF_SRC, DNNL_ARG_DIFF_WEIGHTS, DNNL_ARG_DIFF_DST };
    pl_type type = s->node->out[0]->type, inner = type == PL_F32 ? env->matmul : type;
    dnnl_memory_desc_t wanted[N_ROLES];
    for (int r = 0; r < N_ROLES; r++) {
        pl_type t = r == x->output ? type : inner;
        bool diff = x->output != RESULT && (r == x->output || r == RESULT);
        part[r] =
            (pl_prim_part){ .arg = diff ? backward[r] : forward[r], .is_output = r == x->output };
        if (r == WEIGHTS)
            PL_TRY(describe_weights(x, type, t, &part[r].plain, &wanted[r], err));
        else
            PL_TRY(describe_image(x, r, type, t, &part[r].plain, &wanted[r], err));
    }
    dnnl_convolution_desc_t desc;
    if (x->output == RESULT) {
        PL_TRY(describe_forward(x, wanted, &desc, err));
        return pl_prim_describe(engine, &desc, NULL, false, env->n_threads, pd, err);
    }
    dnnl_memory_desc_t any[N_ROLES]; /* a gradient asks for the forward convolution it belongs to */
    dnnl_primitive_desc_t hint = NULL;
    memcpy(any, wanted, sizeof any);
    for (int r = 0; r < N_ROLES; r++) any[r].data_type = type_of(inner);
    PL_TRY(describe_forward(x, any, &desc, err));
    PL_TRY(pl_prim_describe(engine, &desc, NULL, false, env->n_threads, &hint, err));
    bool ok = describe_backward(x, wanted, &desc, err) &&
              pl_prim_describe(engine, &desc, hint, false, env->n_threads, pd, err);
    dnnl_primitive_desc_destroy(hint);
    return ok;
}

/* -- the kernel ---------------------------------------------------------------------------- */

typedef struct state {
    int operand[N_ROLES];
    dnnl_engine_t engine;
    pl_prim prim;
} state;

bool pl_conv_accepts(const pl_share *s, const pl_kernel_env *env, pl_err *why)
{
    conv x = { 0 };
    pl_prim_part part[N_ROLES];
    dnnl_engine_t engine = NULL;
    dnnl_primitive_desc_t pd = NULL;
    pl_type t = s->node->out[0]->type;
    if (t != PL_F32 && t != PL_BF16)
        return pl_err_set(why, PL_EUNSUPPORTED, "computes f32 and bf16, not %s", pl_type_name(t));
    PL_TRY(plan(s, &x, why));
    bool ok = pl_prim_check(dnnl_engine_create(&engine, dnnl_cpu, 0), "engine", why) &&
              describe(s, env, &x, engine, part, &pd, why);
    if (pd) dnnl_primitive_desc_destroy(pd);
    if (engine) dnnl_engine_destroy(engine);
    return ok;
}

static bool make_all(state *st, const pl_share *s, const pl_kernel_env *env, const conv *x,
                     int64_t *bytes, pl_err *err)
{
    pl_prim_part part[N_ROLES];
    dnnl_primitive_desc_t pd = NULL;
    PL_TRY(pl_prim_check(dnnl_engine_create(&st->engine, dnnl_cpu, 0), "engine", err));
    PL_TRY(describe(s, env, x, st->engine, part, &pd, err));
    return pl_prim_make(&st->prim, st->engine, pd, N_ROLES, part, env->n_threads, bytes, err);
}

bool pl_conv_make(const pl_share *s, const pl_kernel_env *env, void **made, int64_t *scratch_bytes,
                  pl_err *err)
{
    conv x = { 0 };
    PL_TRY(plan(s, &x, err));
    state *st = calloc(1, sizeof *st);
    if (!st) pl_bug(__FILE__, __LINE__, "no memory for %zu bytes", sizeof *st);
    memcpy(st->operand, x.operand, sizeof st->operand);
    *scratch_bytes = 0;
    if (!make_all(st, s, env, &x, scratch_bytes, err)) {
        pl_conv_free(st);
        return false;
    }
    *made = st;
    return true;
}

void pl_conv_run(const pl_share *s, const pl_kernel_env *env, void *made, const void *const in[],
                 void *const out[], void *scratch)
{
    state *st = made;
    void *data[N_ROLES];
    (void)s, (void)env;
    for (int r = 0; r < N_ROLES; r++) {
        int o = st->operand[r];
        data[r] = o < 2 ? (void *)(uintptr_t)in[o] : out[0];
    }
    pl_prim_run(&st->prim, data, scratch);
}

void pl_conv_free(void *made)
{
    state *st = made;
    pl_prim_free(&st->prim);
    if (st->engine) dnnl_engine_destroy(st->engine);
    free(st);
}
