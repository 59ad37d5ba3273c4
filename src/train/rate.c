/* Schedules of the learning rate, a row each. Read pl_rate_at(), then pl_rate_schedules[]; a new
 * one is a function and a row. */
#include "train/rate.h"

#include <math.h>
#include <string.h>

static const double PI = 3.141592653589793;

/* From 0 behind the warm-up to 1 after the last step. */
static double fraction(const pl_rate *r, int64_t step)
{
    const double left = (double)(r->steps - r->warmup),
                 at = left > 0 ? (double)(step - r->warmup) / left : 1;
    return at < 1 ? at : 1;
}

static double at_constant(const pl_rate *r, int64_t step)
{
    (void)step;
    return r->lr;
}

static double at_linear(const pl_rate *r, int64_t step)
{
    return r->lr_min + (r->lr - r->lr_min) * (1 - fraction(r, step));
}

/* Loshchilov & Hutter, 2017, without restarts. */
static double at_cosine(const pl_rate *r, int64_t step)
{
    return r->lr_min + 0.5 * (r->lr - r->lr_min) * (1 + cos(PI * fraction(r, step)));
}

static double at_polynomial(const pl_rate *r, int64_t step)
{
    return r->lr_min + (r->lr - r->lr_min) * pow(1 - fraction(r, step), r->power);
}

static double at_step(const pl_rate *r, int64_t step)
{
    return r->lr * pow(r->factor, (double)(step / r->every));
}

static double at_multistep(const pl_rate *r, int64_t step)
{
    int n = 0;
    while (n < r->n_drops && step >= r->drop[n]) n++;
    return r->lr * pow(r->factor, n);
}

/* Vaswani et al., 2017; the warm-up ends where both of its laws meet. */
static double at_rsqrt(const pl_rate *r, int64_t step)
{
    return r->lr * sqrt((double)(r->warmup + 1) / (double)(step + 1));
}

const pl_rate_schedule pl_rate_schedules[] = {
    { "constant", "constant", "the rate stays", "", false, at_constant },
    { "linear", "linear", "straight down to --lr-min", "", true, at_linear },
    { "cosine", "cosine", "half a cosine, down to --lr-min", "", true, at_cosine },
    { "polynomial", "polynomial:power=X",
      "down to --lr-min with the share of steps left, to the power X (1)", " power ", true,
      at_polynomial },
    { "step", "step:every=N,factor=X", "times X (0.1) every N steps", " every factor ", false,
      at_step },
    { "multistep", "multistep:at=N-N-N,factor=X", "times X (0.1) from each of the steps N on",
      " at factor ", false, at_multistep },
    { "rsqrt", "rsqrt", "by 1 / sqrt(steps so far), the peak right after the warm-up", "", false,
      at_rsqrt },
    { 0 },
};

double pl_rate_at(const pl_rate *r, int64_t step)
{
    if (step < r->warmup) return r->lr * (double)(step + 1) / (double)(r->warmup + 1);
    const double rate = r->schedule->at(r, step);
    return r->schedule->ends || rate > r->lr_min ? rate : r->lr_min;
}

void pl_rate_words(pl_text *out)
{
    for (const pl_rate_schedule *s = pl_rate_schedules; s->name; s++)
        pl_text_add(out, "  %-27s  %s\n", s->form, s->about);
}

/* -- reading ----------------------------------------------------------------------------------- */

/* "30-60-80", rising. */
static bool read_drops(char *text, pl_rate *r)
{
    for (char *at = text, *next; at; at = next) {
        int64_t *to = &r->drop[r->n_drops];
        if ((next = strchr(at, '-'))) *next++ = 0;
        if (r->n_drops == PL_RATE_DROPS || !pl_text_int(at, to) || *to < 0) return false;
        if (r->n_drops && *to <= to[-1]) return false;
        r->n_drops++;
    }
    return true;
}

static bool read_value(const char *key, char *value, pl_rate *r)
{
    if (!strcmp(key, "at")) return read_drops(value, r);
    if (!strcmp(key, "every")) return pl_text_int(value, &r->every) && r->every > 0;
    double *x = !strcmp(key, "power") ? &r->power : &r->factor;
    return pl_text_real(value, x) && *x > 0;
}

/* "every=30,factor=0.5" */
static bool read_keys(char *text, pl_rate *r, pl_arena *scratch, pl_err *err)
{
    const pl_rate_schedule *s = r->schedule;
    for (char *at = text, *next; at; at = next) {
        char *value;
        if ((next = strchr(at, ','))) *next++ = 0;
        if ((value = strchr(at, '='))) *value++ = 0;
        if (!value || !strstr(s->keys, pl_arena_fmt(scratch, " %s ", at)))
            return pl_err_set(err, PL_EUSAGE, "'%s' is no key of it: write %s", at, s->form);
        if (!read_value(at, value, r))
            return pl_err_set(err, PL_EUSAGE, "%s: %s", at,
                              !strcmp(at, "at") ? "rising steps with dashes between, 30-60-80"
                                                : "a number above 0");
    }
    return true;
}

static const char *list_names(pl_arena *scratch)
{
    pl_text t = { .arena = scratch };
    for (const pl_rate_schedule *s = pl_rate_schedules; s->name; s++)
        pl_text_add(&t, t.n ? ", %s" : "%s", s->name);
    return pl_text_get(&t);
}

static bool read_schedule(char *text, pl_rate *r, pl_arena *scratch, pl_err *err)
{
    char *keys = strchr(text, ':');
    if (keys) *keys++ = 0;
    r->schedule = pl_rate_schedules;
    while (r->schedule->name && strcmp(r->schedule->name, text) != 0) r->schedule++;
    if (!r->schedule->name) return pl_err_set(err, PL_EUSAGE, "there are %s", list_names(scratch));
    if (keys) PL_TRY(read_keys(keys, r, scratch, err));
    const bool lacks = (strstr(r->schedule->keys, " every ") && !r->every) ||
                       (strstr(r->schedule->keys, " at ") && !r->n_drops);
    return !lacks || pl_err_set(err, PL_EUSAGE, "write %s", r->schedule->form);
}

bool pl_rate_read(const char *text, pl_rate *r, pl_arena *scratch, pl_err *err)
{
    r->power = 1, r->factor = 0.1, r->every = 0, r->n_drops = 0;
    if (!read_schedule(pl_arena_fmt(scratch, "%s", text), r, scratch, err))
        return pl_err_in(err, "--lr-schedule %s", text);
    if (r->lr_min < 0) r->lr_min = r->schedule->ends ? r->lr / 10 : 0;
    return r->lr_min <= r->lr ||
           pl_err_set(err, PL_EUSAGE, "--lr-min %g is above --lr %g: the rate would rise",
                      r->lr_min, r->lr);
}

bool pl_rate_scale(const char *text, int64_t batch, double *times, pl_err *err)
{
    const char *rows = strchr(text, ':');
    const size_t n = rows ? (size_t)(rows - text) : 0;
    const bool linear = n == 6 && !strncmp(text, "linear", n),
               root = n == 4 && !strncmp(text, "sqrt", n);
    int64_t of = 0;
    if (!(linear || root) || !pl_text_int(rows + 1, &of) || of < 1)
        return pl_err_set(err, PL_EUSAGE,
                          "--lr-scaling %s: linear:N or sqrt:N, for a rate of batches of N rows",
                          text);
    *times = (double)batch / (double)of;
    if (root) *times = sqrt(*times);
    return true;
}
