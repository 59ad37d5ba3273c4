/* Rotary positions, from a model's keys to the attributes of the operator rope:
 * pl_rotary_attrs(). Source: ROPE_INIT_FUNCTIONS of Hugging Face's transformers; ops/lib/rope.c
 * for what is computed. dynamic (NTK-aware, by the length at hand) is a larger base, and
 * longrope one of two lists: both follow from seq, and are plain by the time they reach the
 * operator. */
#include "models/rotary.h"

#include <math.h>
#include <string.h>

/* "1.0/1.5" as the attribute's "1.0,1.5"; it has to have a positive number for each pair. */
static const char *read_list(pl_builder *b, const pl_model_args *args, const char *key,
                             int64_t pairs)
{
    const char *text = pl_model_word(args, key);
    char *list = PL_NEW_N(b->graph->arena, char, strlen(text) + 1);
    memcpy(list, text, strlen(text));
    int64_t n = *list ? 1 : 0;
    for (char *at = list; *at; at++)
        if (*at == '/') *at = ',', n++;
    if (n != pairs)
        pl_err_set(&b->err, PL_EINPUT,
                   "%s: %s has %lld factors, but %lld pairs of a head turn: write one for each, "
                   "e.g. 1.0/1.5",
                   args->spec, key, (long long)n, (long long)pairs);
    return list;
}

/* bloc97's NTK scaling: at `seq` positions the slowest pair turns as far as it did in training. */
static double dynamic_base(double base, double factor, double original, double seq, double width)
{
    double length = fmax(seq, original);
    return base * pow(factor * length / original - (factor - 1), width / (width - 2));
}

static void check_keys(pl_builder *b, const pl_model_args *args, int64_t head)
{
    const char *kind = pl_model_word(args, "rope");
    double factor = pl_model_real(args, "rope_factor"), low = pl_model_real(args, "rope_low"),
           high = pl_model_real(args, "rope_high");
    int64_t original = pl_model_int(args, "rope_original"), turned = pl_model_int(args, "rotary");
    bool ramp = !strcmp(kind, "yarn") || !strcmp(kind, "llama3");
    if (turned % 2 || turned > head)
        pl_err_set(&b->err, PL_EINPUT, "%s: rotary=%lld is no even number of head=%lld", args->spec,
                   (long long)turned, (long long)head);
    if (!strcmp(kind, "dynamic") && (turned ? turned : head) < 4)
        pl_err_set(&b->err, PL_EINPUT, "%s: rope=dynamic needs two pairs of a head to turn",
                   args->spec);
    if (!(factor > 0) || !(pl_model_real(args, "rope_scale") > 0))
        pl_err_set(&b->err, PL_EINPUT, "%s: rope_factor=%g and rope_scale=%g have to be above 0",
                   args->spec, factor, pl_model_real(args, "rope_scale"));
    if (strcmp(kind, "default") && strcmp(kind, "linear") && !original)
        pl_err_set(&b->err, PL_EINPUT,
                   "%s: rope=%s needs rope_original, the positions of the training", args->spec,
                   kind);
    if (ramp && !(low > 0 && high > low))
        pl_err_set(&b->err, PL_EINPUT, "%s: rope_low=%g has to be above 0 and below rope_high=%g",
                   args->spec, low, high);
}

const char *pl_rotary_attrs(pl_builder *b, const pl_model_args *args, int64_t head, int64_t seq)
{
    const char *kind = pl_model_word(args, "rope");
    int64_t turned = pl_model_int(args, "rotary");
    double base = (double)pl_model_int(args, "base"), factor = pl_model_real(args, "rope_factor"),
           scale = pl_model_real(args, "rope_scale");
    long long original = (long long)pl_model_int(args, "rope_original");
    check_keys(b, args, head);
    if (b->err.code) return "";
    if (!turned) turned = head;
    if (!strcmp(kind, "dynamic"))
        base = dynamic_base(base, factor, (double)original, (double)seq, (double)turned);
    const char *attrs = pl_builder_fmt(b, "base=%.17g", base);
    if (turned < head) attrs = pl_builder_fmt(b, "%s part=%lld", attrs, (long long)turned);
    if (scale > 1 || scale < 1) attrs = pl_builder_fmt(b, "%s scale=%.17g", attrs, scale);
    if (!strcmp(kind, "linear")) return pl_builder_fmt(b, "%s factor=%.17g", attrs, factor);
    if (!strcmp(kind, "longrope"))
        return pl_builder_fmt(
            b, "%s factor=%s", attrs,
            read_list(b, args, seq > original ? "rope_long" : "rope_short", turned / 2));
    if (strcmp(kind, "yarn") && strcmp(kind, "llama3")) return attrs;
    return pl_builder_fmt(b, "%s scaling=%s factor=%.17g low=%.17g high=%.17g original=%lld%s",
                          attrs, kind, factor, pl_model_real(args, "rope_low"),
                          pl_model_real(args, "rope_high"), original,
                          pl_model_int(args, "rope_truncate") ? "" : " truncate=0");
}
