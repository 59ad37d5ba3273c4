/* Runs beside the whole run that differ from it by rounding alone. Repetitions are sides like that
 * of a rank, and compared like one. */
#include "verify/noise.h"

#include "verify/record.h"

#include <math.h>

enum {
    LAST_PLACES = 4, /* that weights move by, at most: what sums in another order change is more
                        than one, for a sum of thousands of products some three or four */
};

double pl_verify_noise_flops(const pl_verify_whole *whole, int64_t steps)
{
    return pl_graph_flops(whole->graphs.graph[PL_VERIFY_STEP]) * (double)steps;
}

static bool start(pl_verify_side *s, pl_err *err)
{
    const pl_plan *plan[PL_VERIFY_GRAPHS];
    for (int i = 0; i < PL_VERIFY_GRAPHS; i++)
        plan[i] = pl_plan_single(s->graphs->graph[i], s->arena);
    return pl_verify_side_start(s, plan, false, err);
}

/* Weights are stored in f32 also where their casts to bf16 are what is read. */
static double last_place(const pl_verify_whole *w)
{
    if (w->of) return 0x1p-52;
    return pl_model_type(&w->graphs.args) == PL_BF16 ? 0x1p-8 : 0x1p-23;
}

bool pl_verify_noise(const pl_verify_whole *whole, const pl_verify_whole *twin, int repetitions,
                     double noise[], pl_err *err)
{
    pl_arena *arena = pl_arena_new("verify noise");
    double *sample = PL_NEW_N(arena, double, whole->n + 1);
    pl_verify_side s = { .options = whole->options, .graphs = &whole->graphs, .arena = arena };
    if (whole->of) s.narrow = &whole->of->graphs;
    for (int i = 0; i < whole->n; i++) noise[i] = 0;
    if (twin) pl_verify_record_whole(twin, whole, noise);
    bool ok = start(&s, err);
    for (int k = 0; ok && k < repetitions; k++) {
        s.stir = LAST_PLACES * last_place(whole);
        s.stirring = whole->options->seed + (uint64_t)k + 1;
        ok = pl_verify_record(&s, whole, sample, err);
        for (int i = 0; i < whole->n && ok; i++) noise[i] = fmax(noise[i], sample[i]);
    }
    pl_verify_side_free(&s);
    pl_arena_free(arena);
    return ok;
}
